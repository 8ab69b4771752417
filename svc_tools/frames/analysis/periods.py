"""The month, quarter or year that a row's date lies in."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from svc_tools.dates import decide
from svc_tools.frames.added.names import require_columns, require_one
from svc_tools.frames.arrow import Coded
from svc_tools.frames.queries import DateColumn

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from svc_tools.dates import DateTerms

Period = Literal["month", "quarter", "year"]


def periods_of_rows(
    frame: pd.DataFrame, label: Hashable, period: str, dates: DateTerms
) -> tuple[Coded[str], list[str]]:
    """Each row's period, such as 2026-05, 2026Q2 or 2026; empty where it has no readable date.

    Args:
        frame: the rows.
        label: the column of dates.
        period: "month", "quarter" or "year".
        dates: what is said of how the column is read.

    Returns:
        The periods, and how the dates were read, in sentences.

    Raises:
        ValueError: the period is not known, or there is no such column.
        DatesAmbiguous: the column could be month first or day first.
    """
    if period not in get_args(Period):
        raise ValueError(f"period: {period!r} is not known; expected 'month', 'quarter' or 'year'")
    require_columns(frame, (label,), "name the column of dates: date='…'")
    require_one(frame, label, "date")
    known = dates.style("date", label)
    column = DateColumn.of(frame[label], known)
    style = decide([column.cells], known)
    read = column.days(style)
    names = [_name(day, period) if isinstance(day, date) else "" for day in read.each]
    values = sorted({*names, ""}, key=lambda name: (not name, name))
    place = {name: number for number, name in enumerate(values)}
    of_value = np.array([place[name] for name in names], np.int64)
    return Coded(of_value[read.codes], tuple(values)), style.notes(read.rests)


def undated(rows: np.ndarray | None) -> tuple[str, ...]:
    """A note on the rows that lie in no period (a mask; `None` without periods)."""
    count = 0 if rows is None else int(np.count_nonzero(rows))
    if not count:
        return ()
    return (f"Rows in no period, because their date is missing or cannot be read: {count:,}.",)


def _name(day: date, period: str) -> str:
    if period == "month":
        return f"{day.year:04}-{day.month:02}"
    return f"{day.year:04}Q{(day.month + 2) // 3}" if period == "quarter" else f"{day.year:04}"
