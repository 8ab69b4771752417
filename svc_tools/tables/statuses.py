"""The statuses of rows, and what each means. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple

StatusText = Literal[
    "ok", "partial", "unresolved", "invalid", "unsupported", "failed", "not_attempted"
]
"""A status as it stands in an outcome, a column or a file."""


class Meaning(NamedTuple):
    """What a status means: its text in `lookup_status`, and what is true of it."""

    text: str
    usable: bool = False  # it has a whole rate
    partial: bool = False  # it has a rate that lacks a part
    not_found: bool = False  # the service has no rate for the place
    attempted: bool = False  # the run came to it
    again: bool = False  # another run may find more
    review: bool = False  # it requires review by itself
    abroad: bool = False  # the place is outside the states and DC
    of_input: bool = False  # the row names no usable place or date

    @property
    def rated(self) -> bool:
        """Whether it has a rate, even one that lacks a part."""
        return self.usable or self.partial

    @property
    def missing(self) -> bool:
        """Whether it has no rate and should have one."""
        return self.review and not self.rated

    @property
    def settled(self) -> bool:
        """Whether another run would not change it."""
        return not self.again

    @property
    def failed(self) -> bool:
        """Whether the run came to it and found nothing."""
        return self.attempted and self.again

    @property
    def left(self) -> bool:
        """Whether the run ended before it."""
        return self.again and not self.attempted

    def taxed(self, *, partial_used: bool) -> bool:
        """Whether a tax is computed from its rate."""
        return self.usable or (self.partial and partial_used)


class Status(Meaning, Enum):
    """The statuses, from the best to the least known.

    A member is its row, and the only place that says what the status means: ask
    `Status.of(text).usable`, or `outcome.means.usable`, and compare no texts.
    """

    OK = Meaning("ok", usable=True, attempted=True)
    PARTIAL = Meaning("partial", partial=True, attempted=True, review=True)
    UNRESOLVED = Meaning("unresolved", not_found=True, attempted=True, review=True)
    INVALID = Meaning("invalid", of_input=True, attempted=True, review=True)
    UNSUPPORTED = Meaning("unsupported", abroad=True, attempted=True, review=True)
    FAILED = Meaning("failed", attempted=True, again=True, review=True)
    NOT_ATTEMPTED = Meaning("not_attempted", again=True, review=True)

    @staticmethod
    def of(text: str) -> Meaning:
        """The status for a text; an unknown text has no rate and requires review."""
        return _BY_TEXT.get(text) or Meaning(text, attempted=True, review=True)


STATUSES: tuple[str, ...] = tuple(one.text for one in Status)
"""Every status a row can have, from the best to the least known."""
_BY_TEXT = {one.text: one for one in Status}
