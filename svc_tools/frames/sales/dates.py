"""The days of sales as whole numbers, for columns of any kind; what is no day has a reason."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.factorizing import factorized
from svc_tools.frames.sales.left_out import Unread
from svc_tools.places import day_of

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["FIRST_DAY", "LAST_DAY", "days_of_rows"]

_EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (date(2000, 1, 1) - _EPOCH).days, (date(2099, 12, 31) - _EPOCH).days
"""Days outside of these are taken for mistakes."""
_NONE = int(np.iinfo(np.int64).min)
_SECONDS = 86_400
_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)?$"
"""ISO dates, and times without a zone: their first ten characters are the day."""
_ISO_DAY = 10
_MISSING = "date: missing"
_ODD = "date: not between 2000 and 2099"
_NO_DATE = "date: not an ISO date such as 2026-05-01"
_ZONED = "date: a moment in a time zone (say whose date counts: tz='America/Chicago', for one)"


def days_of_rows(column: pd.Series, tz: tzinfo | None) -> tuple[np.ndarray, Unread]:
    """Days since 1970-01-01 (0 where a row has none), and why rows have none.

    Args:
        column: dates, times, or ISO texts of them.
        tz: the time zone in which a moment of a column of such moments has its date.

    Raises:
        ValueError: the column has times in a time zone, and `tz` is not given.
    """
    unread = Unread(len(column))
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    zone = getattr(column.dtype, "tz", None) or getattr(kind, "tz", None)
    if zone is not None:
        if tz is None:
            raise ValueError(
                f"date: column {column.name!r} has times in {zone}, so its calendar date depends"
                " on the place; say whose date counts, for instance with tz='America/Chicago'"
            )
        column = column.dt.tz_convert(tz).dt.tz_localize(None)
        kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        days = _of_arrow(pa.array(column.array))
    elif pd.api.types.is_datetime64_dtype(column.dtype):
        days = column.to_numpy("datetime64[D]").astype(np.int64)
    else:
        days = _of_cells(column, tz, unread)
    missing = days == _NONE
    odd = ~missing & ((days < FIRST_DAY) | (days > LAST_DAY))
    unread.add(odd, _ODD, lambda row: np.datetime64(int(days[row]), "D"))
    unread.add(missing, _MISSING)
    return np.where(missing | odd, 0, days), unread


def _of_arrow(array: pa.Array | pa.ChunkedArray) -> np.ndarray:
    whole = array.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).fill_null(_NONE)
    seconds: np.ndarray = (
        whole.to_numpy(zero_copy_only=False) if isinstance(whole, pa.Array) else whole.to_numpy()
    )
    return np.where(seconds == _NONE, _NONE, seconds // _SECONDS)


def _of_cells(column: pd.Series, tz: tzinfo | None, unread: Unread) -> np.ndarray:
    """Texts and objects: plain ISO texts all at once by their days, the rest by distinct values."""
    days = np.full(len(column), _NONE)
    rest = np.arange(len(column))
    text = _text(column)
    if text is not None:
        plain = pc.match_substring_regex(text, _PLAIN).fill_null(False)  # noqa: FBT003 - Arrow's
        is_plain = plain.to_numpy(zero_copy_only=False)
        shortened = pc.utf8_slice_codeunits(text.filter(plain), 0, _ISO_DAY).dictionary_encode()
        read = [_iso(day) for day in shortened.dictionary.to_pylist()]
        rows = np.flatnonzero(is_plain)
        days[rows] = np.array([*read, _NONE])[shortened.indices.to_numpy(zero_copy_only=False)]
        rest = np.flatnonzero(days == _NONE)
    if not len(rest):
        return days
    codes, values = factorized(column.iloc[rest], column.name)
    found = [_one(value, tz) for value in values]
    days[rest] = np.array([*(_NONE if isinstance(one, str) else one for one in found), _NONE])[
        codes
    ]
    for reason in (_NO_DATE, _ZONED):
        mine = np.array([*(one == reason for one in found), False])[codes]
        unread.add_rows(rest[mine], reason, column.iloc)
    return days


def _text(column: pd.Series) -> pa.Array | None:
    """The column as Arrow text; nothing where it holds other things."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    is_text = isinstance(column.dtype, pd.StringDtype) or (
        kind is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
    )
    if not is_text and not (
        column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "string"
    ):
        return None
    array = pa.array(column, pa.large_string(), from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _iso(text: str) -> int:
    try:
        return (date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        return _NONE


def _one(value: object, tz: tzinfo | None) -> int | str:
    """The day of one cell, or why it has none."""
    try:
        day = day_of(value, tz)
    except ValueError as error:
        return _ZONED if "moment in a time zone" in str(error) else _NO_DATE
    return _NONE if day is None else (day - _EPOCH).days
