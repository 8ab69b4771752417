"""The rows of an enriched frame, and what is known of them: each fact is read once.

`Enriched` reads the columns that a lookup and a tax added. What follows from them is a fact, a
function with `@fact` in the module that it is about, such as `states_of(rows)`: it is found on
first use, and kept with the rows. A frame is one `Enriched`, a chunk of a file is one too.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from svc_tools.frames.added.names import known_labels, require_columns, require_one
from svc_tools.frames.added.rates import Rates, rates_of, shares_of, truths_of
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.values.arrow import Coded, coded, recoded
from svc_tools.frames.values.money import Money, money
from svc_tools.lookup.columns import TAXES
from svc_tools.show.codes import codes_in
from svc_tools.tables.statuses import Meaning, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import pandas as pd


class _ByRow(Protocol):
    """What is known of each row."""

    def at(self, rows: np.ndarray) -> Self:
        """What is known of these rows."""


_Fact = TypeVar("_Fact")
_OfRows = TypeVar("_OfRows", bound="_ByRow | None")
LOOKUP_FIRST = "look the rates up first: df.svc.lookup()"
TAX_FIRST = "compute the tax first: df.svc.tax(amount='…')"
NO_LABEL = object()
"""A label that no frame has."""


class Enriched:
    """The rows of a frame that was looked up.

    Columns are named without the prefix; one that the frame lacks is missing throughout.

    Attributes:
        prefix: the prefix of the lookup's columns.
        stamp: what the frame remembers.
    """

    __slots__ = ("_added", "_at", "_facts", "_frame", "_whole", "prefix", "stamp")

    def __init__(self, frame: pd.DataFrame, prefix: str = "") -> None:
        self.prefix, self.stamp = prefix, Stamp.of(frame)
        self._frame: pd.DataFrame | None = frame
        self._facts: dict[Hashable, Any] = {}
        self._whole: Enriched | None = None
        self._at = np.zeros(0, np.int64)
        self._added: frozenset[Hashable] | None = None

    def at(self, rows: np.ndarray) -> Enriched:
        """Some of the rows, by position; what is known of all of them is not read again."""
        part = Enriched(self._every.frame, self.prefix)
        part._frame, part._whole, part._at = None, self, rows
        return part

    @property
    def frame(self) -> pd.DataFrame:
        """The rows, with all columns: a copy of some rows is made where it is needed."""
        if self._frame is None:
            self._frame = self.part_of(self._every.frame)
        return self._frame

    def part_of(self, every: pd.DataFrame) -> pd.DataFrame:
        """These rows of a frame that has a row for each of all rows."""
        return every if self._whole is None else self._whole.part_of(every).iloc[self._at]

    def with_texts(self, name: str, texts: Coded[str]) -> Enriched:
        """All rows with other texts in an added column; the other columns are not read again."""
        frame = self.frame.copy(deep=False)
        frame[self.prefix + name] = texts.column()
        changed = Enriched(frame, self.prefix)
        # what follows from several columns is found again: one of them may be this one
        read = {key: of for key, of in self._facts.items() if isinstance(key, tuple)}
        changed._facts = {key: of for key, of in read.items() if key[1] != name}
        return changed

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.frame) if self._whole is None else len(self._at)

    def label(self, name: str) -> str:
        """The label of an added column."""
        return self.prefix + name

    def has(self, *names: str) -> bool:
        """Whether the frame has all of these added columns."""
        columns = self._every.frame.columns
        return all(self.prefix + name in columns and not self._is_own(name) for name in names)

    def _is_own(self, name: str) -> bool:
        """Whether a column with the name of one of a tax is the user's: their frame has no tax."""
        if name not in TAXES:
            return False
        if self._whole is not None:
            return self._whole._is_own(name)  # noqa: SLF001 - of the same class
        if self._added is None:
            self._added = known_labels(self.frame, self.prefix) or frozenset(self.frame.columns)
        return self.prefix + name not in self._added

    def _named(self, name: str) -> Hashable:
        """The label of an added column; one that no frame has, where it is the user's."""
        return NO_LABEL if self._is_own(name) else self.prefix + name

    def require(self, *names: str, remedy: str = LOOKUP_FIRST, argument: str = "lookup") -> Self:
        """Refuse a frame that lacks one of these added columns, or has one of them twice.

        Raises:
            ValueError: it names the columns, and the remedy.
        """
        labels = tuple(self.prefix + name for name in names)
        frame = self._every.frame
        if own := [name for name in names if self._is_own(name) and self.prefix + name in frame]:
            label = self.prefix + own[0]
            raise ValueError(f"the column {label!r} is yours, not that of a tax; {remedy}")
        require_columns(frame, labels, remedy)
        for label in labels:
            require_one(frame, label, argument)
        return self

    @property
    def status(self) -> Coded[str]:
        """The `lookup_status` of each row; a row without one was not attempted."""
        return self._once(Status, _status)

    def where(self, is_meant: Callable[[Meaning], bool]) -> np.ndarray:
        """The mask of the rows whose status is meant."""
        return self.status.where(lambda text: is_meant(Status.of(text)))

    @property
    def terms(self) -> Mapping[str, Any]:
        """The arguments of the tax, in plain values; empty where they are not known."""
        return self.stamp.terms.get(self.prefix, {})

    def coded(self, name: str, missing: str = "") -> Coded[str]:
        """The texts of an added column; `missing` stands for missing ones."""
        return self._once(
            (coded, name, missing),
            lambda rows: coded(rows.frame, rows._named(name), missing),  # noqa: SLF001 - of the same class
        )

    def codes(self, name: str) -> Coded[tuple[str, ...]]:
        """The codes in each cell of an added column."""

        def split(rows: Enriched) -> Coded[tuple[str, ...]]:
            numbers, cells = rows.coded(name)
            return recoded(numbers, map(codes_in, cells))

        return self._once((codes_in, name), split)

    def rates(self, name: str) -> Rates:
        """The rates of an added column, in units of 10^-5."""
        return self._once((rates_of, name), lambda rows: rates_of(rows.frame, rows._named(name)))  # noqa: SLF001 - of the same class

    def shares(self, name: str) -> Rates:
        """The shares of an added column, in units of 10^-4."""
        return self._once((shares_of, name), lambda rows: shares_of(rows.frame, rows._named(name)))  # noqa: SLF001 - of the same class

    def money(self, name: str) -> Money:
        """The dollars of an added column, in whole cents."""
        return self._once((money, name), lambda rows: money(rows.frame, rows._named(name)))  # noqa: SLF001 - of the same class

    def truths(self, name: str, *, missing: bool) -> np.ndarray | None:
        """The truth values of an added column; `None` where the frame has no such column.

        Raises:
            ValueError: a cell is neither true nor false.
        """
        if self._whole is not None:
            found = self._whole.truths(name, missing=missing)
            return None if found is None else found[self._at]
        key = (truths_of, name, missing)
        if key not in self._facts:
            self._facts[key] = truths_of(self.frame, self.prefix + name, missing=missing)
        truths: np.ndarray | None = self._facts[key]
        return truths

    def _once(self, key: Hashable, read: Callable[[Enriched], _OfRows]) -> _OfRows:
        if key not in self._facts:
            if self._whole is None:
                self._facts[key] = read(self)
            else:
                found = self._whole._once(key, read)  # noqa: SLF001 - of the same class
                self._facts[key] = None if found is None else found.at(self._at)
        known: _OfRows = self._facts[key]
        return known

    @property
    def _every(self) -> Enriched:
        return self if self._whole is None else self._whole._every  # noqa: SLF001 - as above

    def knows(self, find: Callable[[Enriched], object]) -> bool:
        """Whether a fact of all rows is known already; to find it for a few may cost less."""
        return self._whole is None or inspect.unwrap(find) in self._every._facts  # noqa: SLF001 - as above


def _status(rows: Enriched) -> Coded[str]:
    numbers, texts = rows.coded("lookup_status")
    return recoded(numbers, (text or Status.NOT_ATTEMPTED.text for text in texts))


def fact(find: Callable[[Enriched], _OfRows]) -> Callable[[Enriched], _OfRows]:
    """A function of enriched rows that is called once for them, and not again for some of them."""

    @functools.wraps(find)
    def known(rows: Enriched) -> _OfRows:
        return rows._once(find, find)  # noqa: SLF001 - where facts are kept

    return known


def fact_of_all(find: Callable[[Enriched], _Fact]) -> Callable[[Enriched], _Fact]:
    """Likewise of what is known of all rows together: it is the same for some of them."""

    @functools.wraps(find)
    def known(rows: Enriched) -> _Fact:
        every = rows._every  # noqa: SLF001 - where facts are kept
        if find not in every._facts:  # noqa: SLF001 - as above
            every._facts[find] = find(every)  # noqa: SLF001 - as above
        found: _Fact = every._facts[find]  # noqa: SLF001 - as above
        return found

    return known
