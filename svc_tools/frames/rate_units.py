"""Rates of an enriched frame as whole numbers of 10^-5, and why what stands there is none."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units
from svc_tools.frames.exact import units_of

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Rates", "rates_of"]

_SHOWN = 40


class Rates(NamedTuple):
    """Rates by row, in units of 10^-5; 0 where there is none."""

    units: np.ndarray
    missing: np.ndarray
    """Where there is no rate, or what stands there is none."""
    wrong: dict[int, str]
    """Why what stands there is no rate, for the rows where something does."""


def rates_of(frame: pd.DataFrame, name: Hashable) -> Rates:
    """The rates of a column; all missing where the frame has no such column."""
    if name not in frame.columns:
        return Rates(np.zeros(len(frame), np.int64), np.ones(len(frame), bool), {})
    column = frame[name]
    try:
        units, missing = units_of(column)
    except TypeError:  # text or floats, as lookup(rates=…) gives them, or from a file
        return _of_others(column, str(name))
    inside = not len(units) or (units.min() >= 0 and units.max() < UNITS_PER_ONE)
    return Rates(units, missing, {}) if inside else _of_others(column, str(name))


def _of_others(column: pd.Series, name: str) -> Rates:
    codes, uniques = pd.factorize(column)
    read = [_rate(value, name) for value in list(uniques)]
    units = np.array([one if isinstance(one, int) else 0 for one in read] + [0], np.int64)
    none = np.array([not isinstance(one, int) for one in read] + [True], bool)
    wrong: dict[int, str] = {}
    for code, one in enumerate(read):
        if isinstance(one, str):
            wrong |= dict.fromkeys(np.flatnonzero(codes == code).tolist(), one)
    return Rates(units[codes], none[codes], wrong)


def _rate(value: object, name: str) -> int | str | None:
    """One rate in units, or why it is none; nothing where there is only blank text."""
    text = repr(float(value)) if isinstance(value, float) else str(value).strip()
    if not text:
        return None
    try:
        units = rate_to_units(Decimal(text))
    except (InvalidOperation, ValueError):
        return f"{name}: {text[:_SHOWN]!r} is not a rate such as 0.08250"
    if 0 <= units < UNITS_PER_ONE:
        return units
    return f"{name}: {text[:_SHOWN]} is not a fraction from 0 to 1"
