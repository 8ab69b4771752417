"""Rows that cannot be counted: each with its first reason, counted, with an example."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LeftOut", "Unread"]

_TEXT_SHOWN = 40


class _ByRow(Protocol):
    def __getitem__(self, row: int, /) -> object: ...


class Unread:
    """Which rows of a slice one column leaves unread, and why."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int8)
        """For each row 0, or the number of its reason, from 1."""
        self.reasons: list[tuple[str, str]] = []
        """Each reason, with an example."""

    @property
    def rows(self) -> np.ndarray:
        """The rows that are unread, as a mask."""
        mask: np.ndarray = self.codes > 0
        return mask

    def add(
        self, mask: np.ndarray, reason: str, example: Callable[[int], object] | None = None
    ) -> None:
        """Give these rows a reason where they have none yet."""
        rows = np.flatnonzero(mask & (self.codes == 0))
        if len(rows):
            self._add(rows, reason, "" if example is None else str(example(int(rows[0]))))

    def add_rows(self, rows: np.ndarray, reason: str, cells: _ByRow | None = None) -> None:
        """The same by row numbers; the example is the first row's cell."""
        if len(rows):
            self._add(rows, reason, "" if cells is None else str(cells[int(rows[0])]))

    def _add(self, rows: np.ndarray, reason: str, example: str) -> None:
        self.reasons.append((reason, example[:_TEXT_SHOWN]))
        self.codes[rows] = len(self.reasons)


class LeftOut:
    """The rows that are not counted, over all slices."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    @property
    def total(self) -> int:
        """How many rows are left out; each is counted once."""
        return self._rows.total()

    def take(self, columns: list[Unread], rows: int) -> np.ndarray:
        """Count what a slice leaves out; the rows that stay, as a mask."""
        kept = np.ones(rows, bool)
        for unread in columns:
            counted = np.bincount(unread.codes[kept], minlength=len(unread.reasons) + 1).tolist()
            for (reason, example), count in zip(unread.reasons, counted[1:], strict=True):
                if count:
                    self._rows[reason] += count
                    self._examples.setdefault(reason, example)
            kept &= ~unread.rows
        return kept

    def told(self) -> list[dict[str, object]]:
        """The reasons with their numbers of rows, the most frequent first, in plain values."""
        return [
            {"reason": reason, "rows": rows, "example": self._examples[reason]}
            for reason, rows in self._rows.most_common()
        ]

    def sentences(self) -> list[str]:
        """The same in words."""
        said = []
        for reason, rows in self._rows.most_common():
            example = self._examples[reason]
            said.append(
                f"left out, {reason}: {rows:,} row{'' if rows == 1 else 's'}"
                + (f", for instance {example!r}" if example else "")
            )
        return said
