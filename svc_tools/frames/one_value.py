"""One value given for all rows of a frame: checked, so that a mistyped column name is none."""

from __future__ import annotations

import difflib
from datetime import date, datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.places import day_of, normal_zip, state_code

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["one_value"]

_ALIKE = 0.8
_SHOWN = 12


def one_value(role: str, value: object, frame: pd.DataFrame, tz: tzinfo | None = None) -> object:
    """The value of an argument that is no column; of a moment its date in `tz`.

    Raises:
        ValueError: it is missing, or cannot be what the argument asks for, or is all but the
            name of a column.
        TypeError: it is a whole column, or another kind of thing.
    """
    if isinstance(value, np.generic):
        value = pd.Timestamp(value) if isinstance(value, np.datetime64) else value.item()
    if not isinstance(value, str | int | float | date) or isinstance(value, bool):
        raise TypeError(
            f"{role}: expected a column's name or one value, not {type(value).__name__}"
            " (a whole column goes into the frame first)"
        )
    if pd.isna(value):
        raise ValueError(f"{role}: the value is missing ({value}); leave the argument out instead")
    labels = [str(label) for label in frame.columns]
    there = ", ".join(labels[:_SHOWN])
    if isinstance(value, str):
        folded = {label.casefold(): label for label in labels}
        # a value that is clearly one is like other values that are columns: TX and tax
        alike = 1.0 if _is_clear(role, value) else _ALIKE
        close = difflib.get_close_matches(value.strip().casefold(), folded, 1, alike)
        if close:
            raise ValueError(
                f"{role}: there is no column {value!r}; did you mean {folded[close[0]]!r}?"
            )
    if not _fits(role, value):
        expected = _EXPECTED.get(role, "text")
        raise ValueError(f"{role}: {value!r} is neither a column ({there}) nor {expected}")
    return _day(value, there, tz) if role == "as_of" else value


_EXPECTED = {"state": "a state", "zip": "a ZIP", "lat": "degrees", "lng": "degrees"}


def _is_clear(role: str, value: str) -> bool:
    """Whether a text cannot but be a value of the argument, and is no mistyped name."""
    if role == "state":
        return state_code(value) is not None
    try:
        if role == "zip":
            normal_zip(value, None)
        elif role == "as_of":
            datetime.fromisoformat(value)
    except ValueError:
        return False
    return role in {"zip", "as_of"}


def _fits(role: str, value: object) -> bool:
    if role == "state":
        return isinstance(value, str) and state_code(value) is not None
    if role == "zip":
        return any(character.isdigit() for character in str(value))
    if role in {"lat", "lng"}:
        return isinstance(value, int | float)
    return role == "as_of" or isinstance(value, str)


def _day(value: object, there: str, tz: tzinfo | None) -> object:
    expected = "a column's name, a date such as '2026-05-01', or 'today'"
    if value == "today":
        return value
    if isinstance(value, date):
        return day_of(value, tz)
    if not isinstance(value, str):
        raise TypeError(f"as_of: expected {expected}, not {type(value).__name__}")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"as_of: {value!r} is not {expected}; the columns: {there}") from None
    return day_of(moment, tz)
