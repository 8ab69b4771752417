"""Columns of text as numbers: each distinct value once, so that rows are counted in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

__all__ = ["Coded", "coded", "combined", "first_column"]


class Coded(NamedTuple):
    """A column of text: row `i` holds `values[codes[i]]`."""

    codes: np.ndarray
    values: tuple[str, ...]

    def where(self, is_meant: Callable[[str], bool]) -> np.ndarray:
        """The rows whose value is meant, as a mask."""
        meant = np.fromiter(map(is_meant, self.values), bool, len(self.values))
        rows: np.ndarray = meant[self.codes]
        return rows

    def counts(self, rows: np.ndarray | None = None) -> list[tuple[str, int]]:
        """How many rows (of those in the mask) hold each value; values of no row are left out."""
        codes = self.codes if rows is None else self.codes[rows]
        counted = np.bincount(codes, minlength=len(self.values)).tolist()
        return [(value, n) for value, n in zip(self.values, counted, strict=True) if n]


def coded(frame: pd.DataFrame, name: Hashable, missing: str = "") -> Coded:
    """A column of text; `missing` stands where a value is missing or there is no such column.

    Of several columns of one name it is the first.
    """
    column = first_column(frame, name)
    if column is None:
        return Coded(np.zeros(len(frame), np.int64), (missing,))
    codes, distinct = pd.factorize(column)
    values = [str(value) for value in distinct]
    place = values.index(missing) if missing in values else len(values)
    if place == len(values):
        values.append(missing)
    return Coded(np.where(codes < 0, place, codes).astype(np.int64), tuple(values))


def first_column(frame: pd.DataFrame, name: Hashable) -> pd.Series | None:
    """The first column of that name; `None` where there is none."""
    # `items()` would make a Series, with a copy of `attrs`, of every column before it
    place = next((at for at, label in enumerate(frame.columns) if label == name), None)
    return None if place is None else frame.iloc[:, place]


def combined(columns: Sequence[Coded]) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Several columns of one length as one: the code of each row, and the values of each code."""
    codes = columns[0].codes
    for column in columns[1:]:
        wide = codes * len(column.values) + column.codes
        codes = pd.factorize(wide)[0]  # dense again: the product never overflows
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return codes, [
        tuple(column.values[column.codes[row]] for column in columns)  # noqa: PD011 - no frame's
        for row in first.tolist()
    ]
