"""The month, quarter or year of each row: of a column of dates, or of the dates of the lookup."""

from __future__ import annotations

import io
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest
from support.frames import line, money, taxed

from svc_tools.frames import enrich_file
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.analysis.periods import periods_of
from svc_tools.tables.dates import DateTerms
from svc_tools.tables.roles import ColumnMissing
from svc_tools.tables.text_dtype import text_dtype

DAYS = [date(2026, 5, 31), None, date(1969, 12, 31), date(2026, 6, 1)]
LATE = time(23, 59)
MOMENTS = [None if day is None else datetime.combine(day, LATE) for day in DAYS]


def of(values, period):
    rows = Enriched(pd.DataFrame({"sold": values}))
    (codes, names), _ = periods_of(rows, period, "sold")
    return [names[code] for code in codes]


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        pd.array(DAYS, dtype=pd.ArrowDtype(pa.date32())),
        pd.to_datetime(MOMENTS),
        pd.array(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp("us"))),
        pd.array([None if day is None else str(day) for day in MOMENTS], dtype=text_dtype()),
        pd.Series([str(day) for day in DAYS], dtype="category"),
        [day or "?" for day in MOMENTS],
    ],
    ids=["dates", "date32", "datetime64", "timestamp", "text", "category", "mixed"],
)
def test_every_form_of_date_has_its_period(values):
    assert of(values, "month") == ["2026-05", "", "1969-12", "2026-06"]
    assert of(values, "quarter") == ["2026Q2", "", "1969Q4", "2026Q2"]
    assert of(values, "year") == ["2026", "", "1969", "2026"]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(MOMENTS).tz_localize("America/Chicago"),
        pd.to_datetime(["2026-06-01 04:59Z", None, "1970-01-01 05:59Z", "2026-06-02 04:59Z"]),
        ["2026-06-01T04:59:00Z", "", "1970-01-01 05:59:00 UTC", "2026-06-02T04:59:00Z"],
        ["2026-05-31T23:59:00-05:00", "", "12/31/1969", "June 1, 2026"],
    ],
    ids=["of a zone", "utc", "text in UTC", "text with an offset"],
)
def test_times_with_a_zone_have_the_period_of_their_date(values):
    label = "sold"
    dates = DateTerms(home=ZoneInfo("America/Chicago"))
    rows = Enriched(pd.DataFrame({label: values}))
    (codes, names), how = periods_of(rows, "month", label, dates)
    assert [names[code] for code in codes] == ["2026-05", "", "1969-12", "2026-06"]
    if "UTC" in str(values):
        assert "rows whose month is another one there: 2 of 3" in how[0]


@pytest.mark.parametrize("ask", ["reconcile", "filing"])
def test_rows_in_no_period_are_counted_in_words(ask):
    sold = ["2026-05-01", "soon", None]
    frame = taxed([line()] * 3, ["10.00"] * 3, sold=sold, collected=money(["0.89"] * 3))
    named = {"collected": "collected"} if ask == "reconcile" else {"state": "GA"}
    made = getattr(frame.svc, ask)(**named, period="month", date="sold")
    note = "Rows in no period, because their date is missing or cannot be read: 2."
    assert made.notes == (note,)
    assert note in str(made)
    assert getattr(frame.svc, ask)(**named).notes == ()


SOLD = ["2024-02-29", "2024-03-31", "2024-05-15"]
PERIODS = {
    "month": ["2024-02", "2024-03", "2024-05"],
    "quarter": ["2024Q1", "2024Q1", "2024Q2"],
    "year": ["2024", "2024", "2024"],
}


def sales(client, sold=SOLD, **options):
    """Sales that a service over HTTP was requested for, taxed."""
    columns = {} if sold is None else {"sold": sold}
    frame = pd.DataFrame({"state": "TX", "zip": ["78701", "78702", "78703"], **columns})
    frame = frame.assign(amount=money(["10.00", "20.00", "40.00"]))
    frame = frame.assign(tax_collected=money(["0.83", "1.65", "3.30"]))
    options = {"cache": False, "detail": True, "progress": False, **options}
    return frame.svc.lookup(client=client, **options).svc.tax("amount", progress=False)


def of_rows(frame, period, **options):
    """The period of each row, as a reconciliation and a return have it."""
    made = frame.svc.reconcile(by="zip", period=period, **options).by_group
    filed = frame.svc.filing("TX", period=period, **options).table
    found = made.sort_values("zip")[period].tolist()
    taxable = made.groupby(period)["rows"].sum().to_dict()
    assert filed.groupby("period")["rows"].sum().to_dict() == taxable
    return found


@pytest.mark.parametrize("grain", ["day", "month", "quarter"])
@pytest.mark.parametrize("period", PERIODS)
def test_sales_are_in_the_period_of_their_own_date_however_coarse_the_lookup(
    scripted, grain, period
):
    frame = sales(scripted, as_of_grain=grain)
    assert of_rows(frame, period) == PERIODS[period]
    assert of_rows(frame, period, date="lookup_as_of") == PERIODS[period]
    own = frame.svc.reconcile(period=period).notes
    assert any("'sold'" in note for note in own) == ((grain, period) == ("quarter", "month"))


def test_months_of_a_lookup_by_quarter_are_refused_without_the_dates_of_the_sales(scripted):
    frame = sales(scripted, as_of_grain="quarter").drop(columns="sold")
    for call in (frame.svc.reconcile, lambda **given: frame.svc.filing("TX", **given)):
        with pytest.raises(ColumnMissing) as caught:
            call(period="month")
        assert caught.value.role == "date"
        assert "date='…'" in str(caught.value)
    assert of_rows(frame, "quarter") == PERIODS["quarter"]
    assert of_rows(frame.assign(shipped=SOLD), "month", date="shipped") == PERIODS["month"]


def test_dates_are_read_as_the_lookup_has_read_them(scripted):
    late = ["2024-03-01T04:30:00Z", "2024-04-01T04:30:00Z", "2024-05-15T20:00:00Z"]
    frame = sales(scripted, late, as_of_grain="quarter", tz="America/Chicago")
    assert of_rows(frame, "month") == PERIODS["month"]
    assert of_rows(frame, "month", tz="UTC") == ["2024-03", "2024-04", "2024-05"]
    day_first = sales(scripted, ["29/02/2024", "03/03/2024", "05/05/2024"], as_of_grain="quarter")
    assert of_rows(day_first, "month") == PERIODS["month"]
    # of two rows the dates alone could be month first, too
    assert of_rows(day_first.iloc[1:], "month") == PERIODS["month"][1:]


def test_a_file_holds_how_the_dates_were_read(scripted):
    frame = sales(scripted, ["29/02/2024", "03/02/2024", "05/02/2024"], as_of_grain="quarter")
    stored = io.BytesIO()
    frame.iloc[1:].to_parquet(stored)
    assert of_rows(pd.read_parquet(stored), "month") == ["2024-02", "2024-02"]


def test_a_further_row_without_a_date_is_in_the_month_of_its_order(scripted):
    orders = {
        "order_id": ["1", "1", "2"],
        "sold": ["2024-02-29", None, "2024-03-31"],
        "state": ["TX", None, "TX"],
        "zip": ["78701", None, "78702"],
        "amount": money(["10.00", "20.00", "40.00"]),
        "tax_collected": money(["0.83", "1.65", "3.30"]),
    }
    options = {"as_of_grain": "quarter", "cache": False, "progress": False}
    frame = pd.DataFrame(orders).svc.lookup(client=scripted, **options)
    taxes = frame.svc.tax("amount", once=False, progress=False)
    made = taxes.svc.reconcile(period="month", once=False).by_group
    assert made.set_index("month")["rows"].to_dict() == {"2024-02": 2, "2024-03": 1}


def test_one_date_for_all_rows_is_their_period(scripted):
    frame = sales(scripted, None, as_of="2024-05-15", as_of_grain="quarter")
    assert set(frame["lookup_as_of"]) == {date(2024, 4, 1)}
    assert of_rows(frame, "month") == ["2024-05"] * 3


def test_without_dates_the_period_is_that_of_the_day_of_the_lookup(scripted):
    frame = sales(scripted, None, as_of_grain="quarter")
    (today,) = set(frame["lookup_as_of"])
    assert of_rows(frame, "month") == [f"{today:%Y-%m}"] * 3


@pytest.mark.parametrize(("grain", "notes"), [("quarter", 1), ("day", 0)])
def test_where_the_grain_is_not_stored_first_days_of_quarters_are_remarked_on(
    scripted, grain, notes
):
    frame = sales(scripted, as_of_grain=grain)
    frame.attrs.clear()  # as a CSV file has it
    assert len(frame.svc.reconcile(period="month").notes) == notes
    assert len(frame.svc.filing("TX", period="month").notes) == notes
    assert frame.svc.reconcile(period="quarter").notes == ()
    assert frame.svc.reconcile(period="month", date="sold").notes == ()


def test_sums_by_month_of_a_file_by_quarter_are_those_of_the_dates_in_it(scripted, tmp_path):
    source, result = tmp_path / "sales.csv", tmp_path / "sales.parquet"
    rows = {"sold": SOLD, "state": "TX", "zip": ["78701", "78702", "78703"], "amount": "10.00"}
    pd.DataFrame(rows).to_csv(source, index=False)
    run = enrich_file(
        *(source, result),
        tax={"amount": "amount"},
        client=scripted,
        as_of_grain="quarter",
        by_month=True,
        cache=False,
        progress=False,
    )
    of_file = run.totals.breakdowns["by_month"].as_json()
    assert [(one["month"], one["rows"]) for one in of_file] == [
        (one, 1) for one in PERIODS["month"]
    ]
    of_frame = pd.read_parquet(result).svc.by_month()
    assert of_frame["month"].tolist() == PERIODS["month"]
