"""The month, quarter or year that a row's date lies in."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.arrow import Coded
from svc_tools.frames.lookup_columns import require_columns, require_one

if TYPE_CHECKING:
    from collections.abc import Hashable

Period = Literal["month", "quarter", "year"]


def periods_of_rows(frame: pd.DataFrame, label: Hashable, period: str) -> Coded:
    """Each row's period, such as 2026-05, 2026Q2 or 2026; empty where it has no readable date.

    Args:
        frame: the rows.
        label: the column of dates, times without a zone, or ISO texts.
        period: "month", "quarter" or "year".

    Raises:
        ValueError: the period is not known, there is no such column, or its times have a zone.
    """
    if period not in get_args(Period):
        raise ValueError(f"period: {period!r} is not known; expected 'month', 'quarter' or 'year'")
    require_columns(frame, (label,), "name the column of dates: date='…'")
    require_one(frame, label, "date")
    distinct, codes = np.unique(_months(frame[label]).view(np.int64), return_inverse=True)
    names = [_name(month, period) for month in distinct.tolist()]
    values = sorted({*names, ""}, key=lambda name: (not name, name))
    place = {name: number for number, name in enumerate(values)}
    return Coded(np.array([place[name] for name in names], np.int64)[codes], tuple(values))


def undated(rows: np.ndarray | None) -> tuple[str, ...]:
    """A note on the rows that lie in no period (a mask; `None` without periods)."""
    count = 0 if rows is None else int(np.count_nonzero(rows))
    if not count:
        return ()
    return (f"Rows in no period, because their date is missing or is no ISO date: {count:,}.",)


def _name(months: int, period: str) -> str:
    if months == np.iinfo(np.int64).min:  # NumPy's NaT
        return ""
    year, month = divmod(months, 12)
    year += 1970
    if period == "month":
        return f"{year:04}-{month + 1:02}"
    return f"{year:04}Q{month // 3 + 1}" if period == "quarter" else f"{year:04}"


def _months(column: pd.Series) -> np.ndarray:
    """The rows' months as NumPy counts them, NaT where the date is missing."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    zone = getattr(column.dtype, "tz", None) or getattr(kind, "tz", None)
    if zone is not None:
        raise ValueError(
            f"date: column {column.name!r} has times in {zone}, so its calendar date depends on"
            f" the place; convert it first: df[{column.name!r}].dt.tz_convert('America/Chicago')"
            ".dt.date"
        )
    if kind is not None and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        days = pa.chunked_array(column.array.__arrow_array__()).cast(pa.date32(), safe=False)
        months: np.ndarray = days.cast(pa.timestamp("s")).to_numpy().astype("datetime64[M]")
        return months
    if pd.api.types.is_datetime64_dtype(column.dtype):
        return column.to_numpy("datetime64[M]")
    codes, distinct = pd.factorize(column)
    days = [*map(_day, distinct.tolist()), None]
    return np.array(days, "datetime64[M]")[codes]


def _day(value: object) -> date | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, date):  # a datetime and a pandas timestamp are dates, too
        return None
    if getattr(value, "tzinfo", None) is not None:
        raise ValueError(
            f"date: {value} is a moment in a time zone, so its calendar date depends on the"
            " place; convert the column to dates first"
        )
    return date(value.year, value.month, value.day)
