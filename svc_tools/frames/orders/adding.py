"""The search for sums: which columns of money add up to which other one, to the cent.

A file of its own because it is an algorithm that knows nothing of sales: it is given figures, what
can be a total, what it can start from, and with which signs further figures can be part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from svc_tools.frames.orders.sums import Term

FIT = 0.9
"""The share of the rows that must add up."""
PART_FIT = 0.8
"""The share of the rows in which a part is not 0 that must add up, with the part or without it."""
NEAR_FIT = 0.5
"""The share of the rows with which a sum is nearly one."""
_FIRST, _EACH, _SAMPLE = 12, 12, 2_000
"""Rows that are tried first, further ones for each part, and then at most."""
_FIRST_FIT, _SAMPLE_FIT, _PART_SAMPLE_FIT = 0.4, 0.82, 0.55
"""The shares that a sum needs among these: low enough that hardly any that fits is lost."""
_NEAR = (0.15, 0.42, 0.0)
"""The same for a sum that is nearly one."""
_MOST_CHOICES, _MOST_TRIES, _MOST_FOUND = 2**17, 2**25, 40
_LOT = 400


class TooManyColumnsError(Exception):
    """There are so many columns of money that not all of their sums can be tried."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A sum that adds up in enough rows.

    Attributes:
        total: what it adds up to.
        base: what it starts from.
        parts: its further columns with their signs.
        fits: the rows that add up.
        rows: the rows in which the total or the base is not 0.
    """

    total: Term
    base: Term
    parts: tuple[tuple[Term, int], ...]
    fits: np.ndarray
    rows: np.ndarray

    @property
    def columns(self) -> frozenset[Term]:
        """Everything it is made of, without the total."""
        return frozenset({self.base, *(part for part, _ in self.parts)})

    @property
    def fitting(self) -> int:
        """How many rows add up."""
        return int(np.count_nonzero(self.fits))


@dataclass(frozen=True, eq=False)
class Columns:
    """What sums are made of.

    Attributes:
        cents: the figures, none of them 0 throughout.
        bases: what a sum can start from.
        signs: with which signs a column can be a part; one that can be a total or a base too is no
            part of its own sums.
        wrong: the rows with a cell that is no amount: they never add up.
    """

    cents: Mapping[Term, np.ndarray]
    bases: Sequence[Term]
    signs: Mapping[Term, tuple[int, ...]]
    wrong: Mapping[Term, np.ndarray]

    def can_be_tried(self, totals: int) -> bool:
        """Whether there are not too many sums for so many totals."""
        choices = prod(1 + len(each) for each in self.signs.values())
        return choices <= _MOST_CHOICES and choices * totals * len(self.bases) <= _MOST_TRIES


def sums_that_fit(columns: Columns, totals: Sequence[Term]) -> list[Fit]:
    """Every total that is a base with some of the parts.

    Raises:
        TooManyColumnsError: not all of the sums can be tried.
    """
    if not columns.can_be_tried(len(totals)):
        raise TooManyColumnsError
    found: list[Fit] = []
    for total in totals:
        search = _Search(columns, total)
        for base, parts in search.sums(_FIRST_FIT, _SAMPLE_FIT, _PART_SAMPLE_FIT):
            fit = _fit(columns, total, base, parts)
            if fit.fitting >= FIT * np.count_nonzero(fit.rows) and _holds_for_parts(columns, fit):
                found.append(fit)
        if len(found) > _MOST_FOUND:
            raise TooManyColumnsError
    return found


def nearly_adds_up(columns: Columns, total: Term) -> Literal["short", "over"] | None:
    """Whether a total is a sum in half of its rows or more, where it is none in enough of them.

    "over" is an amount that is nearly another one, and more wherever it is not: what it is before a
    discount. From any other something is taken, or may be, that has no column.
    """
    found: Literal["over"] | None = None
    for base, parts in _Search(columns, total).sums(*_NEAR):
        fit = _fit(columns, total, base, parts)
        if fit.fitting >= NEAR_FIT * np.count_nonzero(fit.rows):
            added = columns.cents[base] + sum(
                sign * columns.cents[part] for part, sign in fit.parts
            )
            rest = (columns.cents[total] - added) * np.where(columns.cents[base] < 0, -1, 1)
            if parts or (rest[fit.rows & ~fit.fits] < 0).any():
                return "short"
            found = "over"
    return found


class _Search:
    """The sums that may add up to one total, by a sample of the rows."""

    def __init__(self, columns: Columns, total: Term) -> None:
        """Draw the sample of rows, and compute all sums that parts can make in its first rows."""
        cents, parts = columns.cents, [*columns.signs]
        there = np.flatnonzero(cents[total])
        of_parts = [
            _spread(np.flatnonzero((cents[part] != 0) & (cents[total] != 0)), _EACH)
            for part in parts
        ]
        self._columns, self._total, self._parts = columns, total, parts
        self._options = [(0, *columns.signs[part]) for part in parts]
        self._sample = np.unique(np.concatenate([_spread(there, _SAMPLE), *of_parts]))
        self._of_parts = [np.searchsorted(self._sample, rows) for rows in of_parts]
        self._matrix = np.array([cents[part][self._sample] for part in parts], np.int64).reshape(
            len(parts), len(self._sample)
        )
        self._first = _spread(there, _FIRST)
        self._sums = [
            _all_sums([int(cents[part][row]) for part in parts], self._options)
            for row in self._first
        ]

    def sums(
        self, first_fit: float, fit: float, part_fit: float
    ) -> Iterator[tuple[Term, dict[Term, int]]]:
        """The bases with the parts that make them the total in such a share of the sample."""
        for base in self._columns.bases:
            if base != self._total:
                for parts in self._sums_from(base, first_fit, fit, part_fit):
                    yield base, parts

    def _sums_from(
        self, base: Term, first_fit: float, fit: float, part_fit: float
    ) -> Iterator[dict[Term, int]]:
        """The parts, with their signs, that make `base` the total in such shares of the sample.

        Args:
            base: the column that the parts are added to.
            first_fit: the share of the first rows that must add up, to try a sum at all.
            fit: the share of the whole sample.
            part_fit: the share of those rows of the sample where a part is not 0, for each part.
        """
        cents = self._columns.cents
        rest = cents[self._total] - cents[base]
        count = np.zeros(prod(map(len, self._options)), np.int16)
        for sums, row in zip(self._sums, rest[self._first], strict=True):
            count += sums == row
        places = np.flatnonzero(count >= max(first_fit * len(self._first), 1))
        for start in range(0, len(places), _LOT):
            signs = self._signs(places[start : start + _LOT])
            adds_up = signs @ self._matrix == rest[self._sample]
            good = adds_up.mean(axis=1) >= fit
            for rows in self._of_parts:
                if len(rows):
                    good &= adds_up[:, rows].mean(axis=1) >= part_fit
            for choice in signs[good]:
                if not self._uses(base, choice):
                    chosen = zip(self._parts, choice, strict=True)
                    yield {part: int(sign) for part, sign in chosen if sign}

    def _uses(self, base: Term, signs: np.ndarray) -> bool:
        """Whether the base or the total is among the parts."""
        return any(
            sign and part in (base, self._total)
            for part, sign in zip(self._parts, signs, strict=True)
        )

    def _signs(self, places: np.ndarray) -> np.ndarray:
        """The sign of each part in these choices."""
        signs = np.zeros((len(places), len(self._options)), np.int64)
        stride = 1
        for column, option in enumerate(self._options):
            signs[:, column] = np.array(option)[places // stride % len(option)]
            stride *= len(option)
        return signs


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    """Some of the rows, at equal distances."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def _all_sums(row: Sequence[int], options: Sequence[tuple[int, ...]]) -> np.ndarray:
    """What a row's parts come to by every choice of signs; the first part changes fastest."""
    sums = np.zeros(1, np.int64)
    for cents, option in zip(row, options, strict=True):
        sums = (np.array(option, np.int64)[:, None] * cents + sums[None, :]).ravel()
    return sums


def _fit(columns: Columns, total: Term, base: Term, parts: Mapping[Term, int]) -> Fit:
    """A sum on all rows."""
    cents = columns.cents
    rows = (cents[total] != 0) | (cents[base] != 0)
    rest = cents[total] - cents[base]
    for part, sign in parts.items():
        rest = rest - sign * cents[part]
    fits = rows & (rest == 0)
    for term in (total, base, *parts):
        if term in columns.wrong:
            fits &= ~columns.wrong[term]
    return Fit(total, base, tuple(parts.items()), fits, rows)


def _holds_for_parts(columns: Columns, fit: Fit) -> bool:
    """Whether a sum adds up in most rows of each part, with that part or without it."""
    for part in columns.signs:
        if part not in {fit.total, fit.base}:
            on = fit.rows & (columns.cents[part] != 0)
            if np.count_nonzero(fit.fits & on) < PART_FIT * np.count_nonzero(on):
                return False
    return True
