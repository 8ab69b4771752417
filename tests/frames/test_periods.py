"""The period of a date, whatever the column holds."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone

import pandas as pd
import pyarrow as pa
import pytest
from support.taxed import line, money, taxed

from svc_tools.frames.analysis.periods import periods_of_rows

DAYS = [date(2026, 5, 31), None, date(1969, 12, 31), date(2026, 6, 1)]
LATE = time(23, 59)
MOMENTS = [None if day is None else datetime.combine(day, LATE) for day in DAYS]


def of(values, period):
    codes, names = periods_of_rows(pd.DataFrame({"sold": values}), "sold", period)
    return [names[code] for code in codes]


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        pd.array(DAYS, dtype=pd.ArrowDtype(pa.date32())),
        pd.to_datetime(MOMENTS),
        pd.array(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp("us"))),
        pd.array([None if day is None else str(day) for day in MOMENTS], dtype="str"),
        pd.Series([str(day) for day in DAYS], dtype="category"),
        [day or "?" for day in MOMENTS],
    ],
    ids=["dates", "date32", "datetime64", "timestamp", "text", "category", "mixed"],
)
def test_every_form_of_date_has_its_period(values):
    assert of(values, "month") == ["2026-05", "", "1969-12", "2026-06"]
    assert of(values, "quarter") == ["2026Q2", "", "1969Q4", "2026Q2"]
    assert of(values, "year") == ["2026", "", "1969", "2026"]


def test_no_rows_and_no_dates():
    assert of([], "month") == []
    assert of([None, None], "month") == ["", ""]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(MOMENTS).tz_localize("UTC"),
        pd.array(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp("us", "UTC"))),
        [datetime(2026, 5, 31, 23, tzinfo=timezone(timedelta(hours=-5))), "?"],
        ["2026-05-31", "2026-06-01T02:00:00Z"],
        ["2026-05-31T23:00:00-05:00"],
    ],
    ids=["datetime64", "timestamp", "objects", "text in UTC", "text with an offset"],
)
def test_moments_in_a_time_zone_have_no_date_of_their_own(values):
    with pytest.raises(ValueError, match="calendar date depends on the place"):
        of(values, "month")


@pytest.mark.parametrize("ask", ["reconcile", "filing"])
def test_rows_in_no_period_are_counted_in_words(ask):
    sold = ["2026-05-01", "05/03/2026", None]
    frame = taxed([line()] * 3, ["10.00"] * 3, sold=sold, collected=money(["0.89"] * 3))
    named = {"collected": "collected"} if ask == "reconcile" else {"state": "GA"}
    made = getattr(frame.svc, ask)(**named, period="month", date="sold")
    note = "Rows in no period, because their date is missing or is no ISO date: 2."
    assert made.notes == (note,)
    assert note in str(made)
    assert getattr(frame.svc, ask)(**named).notes == ()
