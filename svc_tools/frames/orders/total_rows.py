"""Rows of totals among the rows of a file: no sales, though they add up.

`TotalRows` reads a file slice by slice and carries the sums: slices give what a whole frame gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.orders.order_numbers import text_keys
from svc_tools.frames.values.arrow import bytes_of, is_number, is_text
from svc_tools.show.display import counted
from svc_tools.tables.states import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    import pandas as pd

    from svc_tools.frames.orders.order_numbers import Keys, OrderColumns
    from svc_tools.frames.values.money import Money


def total_rows(orders: OrderColumns) -> TotalRows:
    """What finds the rows of totals of a file, from its first row on."""
    day = [] if orders.day is None else [orders.day]
    return TotalRows(orders.number, [*day, *orders.place])


class TotalRows:
    """Finds the rows of totals of a file, slice by slice.

    A row of totals has no number of an order (in a file without such a column: neither day nor
    place), and one of these:

    - a cell with a word such as "Total", "Grand total:" or "Subtotal", unless both day and place
      stand in the row;
    - a cell such as "Ohio Total" or "Total of May", where nothing else but numbers stands in the
      row, or the amounts are the sums of the rows above;
    - a cell such as "Total WA" or "Total sales", where the amounts are the sums of the rows above
      and the file has a column of numbers of orders;
    - amounts that are the sums of two or more rows above, where nothing but numbers stands in the
      row.

    The sums are those of the rows since the last row of totals, or of all rows. In a file with
    neither numbers, days nor places both a word and the sums are needed.

    Attributes:
        found: how many rows of totals there were.
    """

    def __init__(self, number: Hashable | None, others: Iterable[Hashable] = ()) -> None:
        """Begin a file.

        Args:
            number: the column of the order's number; `None` where there is none.
            others: the columns of the day and the place.
        """
        self._number, self._others = number, (*others,)
        self._sums: dict[Hashable, _Sum] = {}
        self._rows = _Sum()
        self.found = 0

    def find(
        self,
        frame: pd.DataFrame,
        money: Mapping[Hashable, Money],
        whole: Callable[[], pd.DataFrame] | None = None,
    ) -> np.ndarray:
        """The rows of totals among the next rows of the file.

        Args:
            frame: the rows.
            money: the columns of money in these rows, each with its amounts.
            whole: gives the rows with all their columns, where the frame has some of them.
        """
        totals = np.zeros(len(frame), bool)
        running = {label: _Running(of.cents) for label, of in money.items()}
        some = totals.copy()
        for column in money.values():
            some |= (column.cents != 0).astype(bool)
        above = _Running(some.astype(np.int64))
        sums = {label: self._sums.setdefault(label, _Sum()) for label in money}
        rows = np.flatnonzero(self.nameless(frame))
        every = frame if whole is None or not len(rows) else whole()
        every = every.loc[:, ~every.columns.duplicated(keep=False)]
        cells = self._cells(every.iloc[rows], money)
        for at in np.flatnonzero(cells.may_be).tolist():
            row = int(rows[at])
            amounts = {
                label: int(of.cents[row])
                for label, of in money.items()
                if not of.missing[row] and of.cents[row]
            }
            for label, of in running.items():
                sums[label].add(of.upto(row))
            self._rows.add(above.upto(row))
            since = all(sums[label].since == cents for label, cents in amounts.items())
            of_all = all(sums[label].all == cents for label, cents in amounts.items())
            adds_up = bool(amounts) and (since or of_all)
            several = (since and self._rows.since > 1) or (of_all and self._rows.all > 1)
            if self._is_total(cells, at, adds_up=adds_up, several=several):
                totals[row] = True
                above.skip(row)
                if amounts:
                    self._rows.since = 0
                for label, of in running.items():
                    of.skip(row)
                    if amounts:
                        sums[label].since = 0
        for label, of in running.items():
            sums[label].add(of.upto(len(frame)))
        self._rows.add(above.upto(len(frame)))
        self.found += int(np.count_nonzero(totals))
        return totals

    def sentences(self) -> list[str]:
        """How many there were, for the user."""
        return [f"{counted(self.found, 'row')} of totals: no sales"] if self.found else []

    def nameless(self, frame: pd.DataFrame) -> np.ndarray:
        """The rows without a number, or else without a day and a place."""
        labels = self._others if self._number is None else (self._number,)
        blank = [_has_none(frame[label]) for label in labels if label in frame.columns]
        return np.logical_and.reduce(blank) if blank else np.ones(len(frame), bool)

    def _cells(self, frame: pd.DataFrame, money: Mapping[Hashable, Money]) -> _Cells:
        """What stands in the cells of these rows that hold no money."""
        size = len(frame)
        word, ending, within, texts = np.zeros((4, size), bool)
        cells = _Cells(word, ending, within, texts, np.ones(size, bool))
        others = [label for label in self._others if label in frame.columns]
        for label in frame.columns if size else []:
            if label not in money:
                keys = text_keys(frame[label])
                is_word, ends, has_word = _of_totals(keys.texts)
                is_text = ~is_word & ~ends
                if label in others:
                    cells.placed[~_onto(is_text, keys)] = False
                else:
                    is_text &= _matches(keys.texts, _TEXT)
                word |= _onto(is_word, keys)
                ending |= _onto(ends, keys)
                within |= _onto(has_word, keys)
                texts |= _onto(is_text, keys)
        if not others:
            cells.placed[:] = False
        return cells

    def _is_total(self, cells: _Cells, row: int, *, adds_up: bool, several: bool) -> bool:
        word, ending, alone = cells.word[row], cells.ending[row], not cells.texts[row]
        if self._number is None and not self._others:
            return adds_up and bool(word or ending)
        if adds_up and cells.within[row] and self._number is not None:
            return True
        if word:
            return adds_up or not cells.placed[row]
        return (adds_up or alone) if ending else (adds_up and several and alone)


@dataclass(slots=True)
class _Sum:
    """The sum of a column: of the rows since the last row of totals, and of all."""

    since: int = 0
    all: int = 0

    def add(self, cents: int) -> None:
        self.since += cents
        self.all += cents


class _Running:
    """Sums of the rows of a slice, from where the last sum ended to a row."""

    def __init__(self, cents: np.ndarray) -> None:
        most = int(np.abs(cents).max(initial=0)) * len(cents)
        self._cents = cents if most < _ROOM else cents.astype(object)
        self._start = 0

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self._cents)])

    def upto(self, row: int) -> int:
        """The sum up to the row, without it; the next one starts there."""
        start, self._start = self._start, row
        if row - start == len(self._cents):  # as in most slices, which have no rows of totals
            return int(self._cents.sum())
        return int(self._sums[row]) - int(self._sums[start])

    def skip(self, row: int) -> None:
        """Leave the row out of the next sum."""
        self._start = row + 1


class _Cells(NamedTuple):
    """What stands in the cells of each row that hold no money.

    Attributes:
        word: whether one is a word for a total.
        ending: whether one ends in such a word, or begins with it: "Ohio Total", "Total of May".
        within: whether one has such a word before a state, a time or "sales": "Total WA".
        texts: whether another one has more than a number, or is one of the day and the place.
        placed: whether day and place are there.
    """

    word: np.ndarray
    ending: np.ndarray
    within: np.ndarray
    texts: np.ndarray
    placed: np.ndarray

    @property
    def may_be(self) -> np.ndarray:
        """The rows that may be rows of totals."""
        may_be: np.ndarray = self.word | self.ending | self.within | ~self.texts
        return may_be


def _has_none(column: pd.Series) -> np.ndarray:
    """The rows whose cell is empty, or has a word for a total instead."""
    plain = is_number(column) or (
        is_text(column) and not _may_have_none(pa.array(column, from_pandas=True))
    )
    if plain:  # as in most columns
        return column.isna().to_numpy(bool)
    keys = text_keys(column)
    is_word, ends, has_word = _of_totals(keys.texts)
    rows: np.ndarray = np.append(is_word | ends | has_word, True)[keys.codes]
    return rows


def _may_have_none(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a text may be empty, or have a word for a total."""
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    every = bytes_of(texts).lower()
    if every.isascii() and b"total" not in every and b"sum" not in every:  # only short ones may be
        short = pc.less_equal(pc.binary_length(pc.ascii_trim_whitespace(texts)), _LONGEST_NONE)
        texts = texts.filter(short)
    return bool(pc.any(pc.match_substring_regex(texts, _NONE)).as_py())


_NONE = r"(?i)^\s*(?:nan|none|null|n/a|na|#n/a|<na>|nat|-|)\s*$|total|sum"
"""What an empty cell, or one with a word for a total, matches; others may, too."""
_LONGEST_NONE = 4
"""The length of the longest word for an empty cell."""


def _of_totals(texts: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which texts are words for a total, which ones end in one or begin with it, and have one."""
    if not pc.any(pc.match_substring_regex(texts, "total|sum", ignore_case=True)).as_py():
        none = np.zeros(len(texts), bool)
        return none, none, none
    word, ending, within = (_matches(texts, pattern) for pattern in (_WORD, _ENDING, _WITHIN))
    return word, ending, within


def _onto(of_texts: np.ndarray, keys: Keys) -> np.ndarray:
    """What holds of the texts of a column, by row; not of empty cells."""
    rows: np.ndarray = np.append(of_texts, False)[keys.codes]
    return rows


def _matches(texts: pa.Array, pattern: str) -> np.ndarray:
    found = pc.match_substring_regex(texts, pattern, ignore_case=True)
    matches: np.ndarray = found.to_numpy(zero_copy_only=False).astype(bool)
    return matches


_ROOM = 2**62
_WORD = (
    r"^(?:(?:grand|sub|report|overall|running|page|daily|weekly|monthly|yearly|period|net|gross)"
    r"[- ]?)?(?:totals?|sum) ?:?$"
)
_ENDING = r"^.+[- ](?:sub[- ]?)?totals? ?:?$|^(?:grand |sub[- ]?)?totals? (?:for|of|in) .+$"
_MONTHS = "jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
_WITHIN = (
    r"\b(?:sub)?totals? ?[:(-]* ?(?:"
    + "|".join([*STATES, *STATES.values()])
    + rf"|(?:{_MONTHS})[a-z]*\.?(?: [0-9]+)?|q[1-4]|[0-9][0-9/.-]*|usa?|united states"
    + r"|(?:net |gross )?(?:sales|orders|revenue|amounts?|usd|charged|all))\)?$"
)
_TEXT = r"[^0-9.,$%() -]|[0-9]-[0-9]"
