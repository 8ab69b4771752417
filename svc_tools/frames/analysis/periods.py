"""The month, quarter or year that a row's date lies in."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from svc_tools.frames.added.enriched import fact, fact_of_all
from svc_tools.frames.added.names import require_columns, require_one
from svc_tools.frames.lookup.queries import DateColumn
from svc_tools.frames.lookup.results import lookup_of, reading_of
from svc_tools.frames.lookup.row_states import inputs_of
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.taxes.due import grain_of
from svc_tools.frames.values.arrow import Coded
from svc_tools.tables.dates import DateTerms, decide, read_one
from svc_tools.tables.places import first_day
from svc_tools.tables.roles import ColumnMissing

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.tables.dates import DateStyle, Day

Period = Literal["month", "quarter", "year"]
_PLAIN = DateTerms()


def periods_of(
    rows: Enriched, period: str, date: Hashable | None = None, dates: DateTerms = _PLAIN
) -> tuple[Coded[str], list[str]]:
    """Each row's period, such as 2026-05, 2026Q2 or 2026; empty where it has no readable date.

    The dates are those that were looked up. Where the rates are those of the first days of
    quarters, these are in other months than the sales: months are then those of the dates that the
    lookup read.

    Args:
        rows: the rows: all of them, as these decide together how a column of dates is read.
        period: "month", "quarter" or "year".
        date: another column of dates.
        dates: what is specified about how the column is read.

    Returns:
        The periods, and how the dates were read, in sentences.

    Raises:
        ValueError: the period is not known, or there is no such column.
        ColumnMissing: the lookup was by quarter, and the frame lacks the column of its dates.
        DatesAmbiguous: the column could be month first or day first.
    """
    if period not in get_args(Period):
        raise ValueError(f"period: {period!r} is not known; expected 'month', 'quarter' or 'year'")
    found = _dated(rows, period, date, dates)
    codes, days = found.days
    names = [_name(day, period) if isinstance(day, dt.date) else "" for day in days]
    values = sorted({*names, ""}, key=lambda name: (not name, name))
    place = {name: number for number, name in enumerate(values)}
    of_value = np.array([place[name] for name in names], np.int64)
    return Coded(of_value[codes], tuple(values)), [*found.notes]


def undated(rows: np.ndarray | None) -> tuple[str, ...]:
    """A note on the rows that lie in no period (a mask; `None` without periods)."""
    count = 0 if rows is None else int(np.count_nonzero(rows))
    if not count:
        return ()
    return (f"Rows in no period, because their date is missing or cannot be read: {count:,}.",)


class _Dated(NamedTuple):
    """The day of each row, and how they were read, in sentences."""

    days: Coded[Day]
    notes: tuple[str, ...] = ()

    def at(self, rows: np.ndarray) -> _Dated:
        """Those of these rows."""
        return _Dated(self.days.at(rows), self.notes)


def _dated(rows: Enriched, period: str, date: Hashable | None, dates: DateTerms) -> _Dated:
    """The days that decide the periods; see `periods_of`."""
    label, grain = rows.label("lookup_as_of"), grain_of(rows)
    specified = dates.date_format is not None or dates.tz is not None
    if date is not None and date != label:
        return _read(rows.frame, date, dates.style("date", date))
    if period == "month" and grain == "quarter":
        own = _sale_days_by(rows, dates) if specified else _sale_days(rows)
        if own is not None:
            return own
    if specified:
        found = _read(rows.frame, label, dates.style("date", label))
    else:
        found = _days_looked_up(rows)
    if period == "month" and grain is None and _are_of_quarters(found):
        note = (
            f"all dates in {label!r} are first days of quarters, and whether the lookup was by"
            " quarter is not stored with the frame; if it was, name the column of the dates of the"
            " sales: date='…'"
        )
        found = found._replace(notes=(*found.notes, note))
    return found


@fact
def _days_looked_up(rows: Enriched) -> _Dated:
    """The days that were looked up."""
    label = rows.label("lookup_as_of")
    return _read(rows.frame, label, _PLAIN.style("date", label))


@fact
def _sale_days(rows: Enriched) -> _Dated | None:
    """The days of the sales of a lookup by quarter, read as the lookup has read them."""
    lookup = lookup_of(rows)
    return _sale_days_by(rows, _PLAIN if lookup is None else lookup.inputs.style)


def _sale_days_by(rows: Enriched, how: DateTerms | DateStyle) -> _Dated | None:
    """The days of the sales; `None` where all rates are of the day of the lookup itself.

    Raises:
        ColumnMissing: they are not known.
    """
    columns, values = inputs_of(rows)
    label, lookup = columns.get("as_of"), lookup_of(rows)
    style = how.style("date", label) if isinstance(how, DateTerms) else how
    if label is not None:
        found = _read(rows.part_of(_completed(rows)), label, style)
        note = f"date: months are those of {label!r}, as the rates are those of each quarter"
        return found._replace(notes=(note, *found.notes))
    if "as_of" in values:
        day = read_one(values["as_of"], style)
        return _Dated(Coded(np.zeros(len(rows), np.int64), (day,)))
    if lookup is not None and "as_of" not in lookup.inputs.columns:
        return None
    passed = f"{rows.label('lookup_as_of')!r} has the first days of quarters, as looked up"
    advice = "name the column of the dates of the sales: date='…'"
    raise ColumnMissing("date", [*rows.frame.columns], advice, [passed])


@fact_of_all
def _completed(rows: Enriched) -> pd.DataFrame:
    """All rows, with the date of each as the lookup read it: that of its order, where missing."""
    return Orders(rows.frame, reading_of(rows)).completed(inputs_of(rows).columns)


def _read(frame: pd.DataFrame, label: Hashable, known: DateStyle) -> _Dated:
    """Read a column of dates, each distinct one once.

    Raises:
        ValueError: there is no such column, or there are several.
        DatesAmbiguous: the column could be month first or day first.
    """
    require_columns(frame, (label,), "name the column of dates: date='…'")
    require_one(frame, label, "date")
    column = DateColumn.of(frame[label], known)
    style = decide([column.cells], known)
    read = column.days(style)
    codes = np.where(read.codes < 0, len(read.each) - 1, read.codes)  # the last one is missing
    return _Dated(Coded(codes, tuple(read.each)), tuple(style.notes(read.rests)))


def _are_of_quarters(found: _Dated) -> bool:
    """Whether all days are the first ones of quarters."""
    _, each = found.days
    days = [day for day in each if isinstance(day, dt.date)]
    return bool(days) and all(day == first_day(day, "quarter") for day in days)


def _name(day: dt.date, period: str) -> str:
    if period == "month":
        return f"{day.year:04}-{day.month:02}"
    return f"{day.year:04}Q{(day.month + 2) // 3}" if period == "quarter" else f"{day.year:04}"
