"""Rates and truth values of columns, whatever form they are in.

Rates are read as whole numbers of 10^-5: from exact decimals, from texts and floats, as
`lookup(rates=...)` gives them, and from files.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units
from svc_tools.base.shares import SHARES_PER_ONE, share_units
from svc_tools.frames.values.arrow import first_column, shares_in, units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Rates(NamedTuple):
    """Rates by row, in units of 10^-5 (shares in 10^-4); 0 where it is missing."""

    units: np.ndarray
    missing: np.ndarray
    """Rows without a value, or with one that is not a rate."""
    wrong: dict[int, str]
    """The rows with a value that is not a rate, and why it is not."""

    def at(self, rows: np.ndarray) -> Rates:
        """Those of these rows."""
        wrong = self.wrong and {
            place: self.wrong[row] for place, row in enumerate(rows.tolist()) if row in self.wrong
        }
        return Rates(self.units[rows], self.missing[rows], wrong)

    def block(self, here: slice) -> Rates:
        """Those of some rows that follow each other, without why they are none."""
        return Rates(self.units[here], self.missing[here], {})


def rates_of(frame: pd.DataFrame, name: Hashable) -> Rates:
    """The rates of a column; all missing where the frame has no such column."""
    if name not in frame.columns:
        return Rates(np.zeros(len(frame), np.int64), np.ones(len(frame), bool), {})
    column = frame[name]
    try:
        units, missing = units_of(column)
    except TypeError:  # text or floats, as lookup(rates=…) gives them, or from a file
        return _one_by_one(column, str(name), _rate)
    inside = not len(units) or (units.min() >= 0 and units.max() < UNITS_PER_ONE)
    return Rates(units, missing, {}) if inside else _one_by_one(column, str(name), _rate)


def shares_of(frame: pd.DataFrame, name: Hashable) -> Rates:
    """The shares of a column, in units of 10^-4; all missing where the frame has no such column."""
    if name not in frame.columns:
        return Rates(np.zeros(len(frame), np.int64), np.ones(len(frame), bool), {})
    column = frame[name]
    try:
        units, missing = shares_in(column)
    except TypeError:  # text or floats, from a file
        return _one_by_one(column, str(name), _share)
    inside = not len(units) or (units.min() >= 0 and units.max() <= SHARES_PER_ONE)
    return Rates(units, missing, {}) if inside else _one_by_one(column, str(name), _share)


def truths_of(frame: pd.DataFrame, name: Hashable, *, missing: bool) -> np.ndarray | None:
    """A column of truth values, also as text (True, false), as a CSV file has it.

    `None` where the frame has no such column; `missing` stands for missing and blank cells.

    Raises:
        ValueError: a cell is neither true nor false.
    """
    column = first_column(frame, name)
    if column is None:
        return None
    if pd.api.types.is_bool_dtype(column.dtype) and not column.hasnans:
        plain: np.ndarray = column.to_numpy(bool)
        return plain
    codes, uniques = pd.factorize(column)
    read = [_truth(value, name, missing=missing) for value in list(uniques)]
    truths: np.ndarray = np.array([*read, missing], bool)[codes]
    return truths


_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


def _truth(value: object, name: Hashable, *, missing: bool) -> bool:
    text = str(value).strip()
    if not text:
        return missing
    known = _TRUTHS.get(text.lower())
    if known is None:
        raise ValueError(f"{name}: expected True or False in each row, not {text[:40]!r}")
    return known


def _one_by_one(
    column: pd.Series, name: str, read_cell: Callable[[object, str], int | str | None]
) -> Rates:
    codes, uniques = pd.factorize(column)
    read = [read_cell(value, name) for value in list(uniques)]
    units = np.array([rate if isinstance(rate, int) else 0 for rate in read] + [0], np.int64)
    missing = np.array([not isinstance(rate, int) for rate in read] + [True], bool)
    wrong: dict[int, str] = {}
    for code, rate in enumerate(read):
        if isinstance(rate, str):
            wrong |= dict.fromkeys(np.flatnonzero(codes == code).tolist(), rate)
    return Rates(units[codes], missing[codes], wrong)


def _share(value: object, name: str) -> int | str | None:
    """One share in units, or why it is not one; `None` for blank text."""
    if isinstance(value, str) and not value.strip():
        return None
    units = share_units(float(value) if isinstance(value, float) else value)
    if units is None:
        return f"{name}: {str(value).strip()[:40]!r} is not a share such as 0.9300"
    return units


def _rate(value: object, name: str) -> int | str | None:
    """One rate in units, or why it is not one; `None` for blank text."""
    text = repr(float(value)) if isinstance(value, float) else str(value).strip()
    if not text:
        return None
    try:
        units = rate_to_units(Decimal(text))
    except (InvalidOperation, ValueError):
        return f"{name}: {text[:40]!r} is not a rate such as 0.08250"
    if 0 <= units < UNITS_PER_ONE:
        return units
    return f"{name}: {text[:40]} is not a fraction from 0 to 1"
