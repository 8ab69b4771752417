"""The statuses of rows, and what each means. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Collection

StatusText = Literal[
    "ok", "partial", "unresolved", "invalid", "unsupported", "failed", "not_attempted"
]
"""A status as it stands in an outcome, a column or a file."""
_FLAGS = ("usable", "partial", "known", "attempted", "again", "review", "abroad", "of_input")


def _set_flags(status: Status, flags: Collection[str]) -> None:
    for flag in _FLAGS:
        setattr(status, flag, flag in flags)


class Status(StrEnum):
    """What a status means, from the best to the least known.

    A member is one row: the text in `lookup_status`, and the flags that are true of it. They are
    the only place that says what a status means: ask `Status.of(text).usable`, or
    `outcome.means.usable`, and compare no texts.
    """

    OK = "ok", "usable", "known", "attempted"
    PARTIAL = "partial", "partial", "known", "attempted", "review"
    UNRESOLVED = "unresolved", "known", "attempted", "review"
    INVALID = "invalid", "of_input", "attempted", "review"
    UNSUPPORTED = "unsupported", "abroad", "attempted", "review"
    FAILED = "failed", "attempted", "again", "review"
    NOT_ATTEMPTED = "not_attempted", "again", "review"

    _value_: str
    usable: bool  # it has a whole rate
    partial: bool  # it has a rate that lacks a part
    known: bool  # the service has said what it knows of the place, be it that it has no rate
    attempted: bool  # the run came to it
    again: bool  # another run may find more
    review: bool  # it requires review by itself
    abroad: bool  # the place is outside the states and DC
    of_input: bool  # the row names no usable place or date

    def __new__(cls, text: str, *flags: str) -> Self:
        """A status with these flags."""
        one = str.__new__(cls, text)
        one._value_ = text
        _set_flags(one, flags)
        return one

    @classmethod
    def of(cls, text: str) -> Status:
        """The status of a text; a text that is none has no rate, and requires review."""
        return _BY_TEXT.get(text, _OTHER)

    @property
    def rated(self) -> bool:
        """Whether it has a rate, be it one that lacks a part."""
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


STATUSES: tuple[str, ...] = tuple(one.value for one in Status)
"""Every status a row can have, from the best to the least known."""
_BY_TEXT = {one.value: one for one in Status}
_OTHER = str.__new__(Status, "")  # no member: it is in no list of statuses
_set_flags(_OTHER, ("attempted", "review"))
