"""Exposure of a frame and of files: which columns are read, what counts and what does not."""

from __future__ import annotations

import os
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

import svc_tools
from svc_tools.frames import exposure_of_file
from svc_tools.frames.options import ExposureOptions
from svc_tools.frames.sales import exposure as exposing
from svc_tools.nexus import ThresholdsError, read_thresholds
from svc_tools.tables import tabular
from svc_tools.tables.dates import DateStyle
from svc_tools.tables.roles import ColumnMissing, DatesAmbiguous

TEXAS = "TX"


def orders(**columns):
    usual = {
        "state": ["TX", "Texas", "tx", "NY"],
        "order_date": ["2026-01-05", "2026-02-01", "2026-02-01 23:59:59", "2026-03-09"],
        "amount": ["300000.10", "$250,000.05", "(50,000.15)", "10"],
    }
    told = usual | columns
    return pd.DataFrame({name: cells for name, cells in told.items() if cells is not None})


def exposure(frame, *, as_of="2026-11-21", progress=False, **more):
    return svc_tools.svc(frame).exposure(as_of=as_of, progress=progress, **more).set_index("state")


def left_out(found):
    about = found.attrs["svc_exposure"]
    return {one["reason"]: one["rows"] for one in about["left_out"]}


def notes(found):
    return " | ".join(found.attrs["svc_exposure"]["notes"])


def test_columns_of_usual_names_are_found_and_said(capsys):
    frame = orders(channel=["direct", "marketplace", "direct", "direct"], order_id=[1, 2, 3, 4])
    found = exposure(frame, progress=True, register=[{"state": "NY", "nexus_type": "economic"}])
    texas = found.loc[TEXAS]
    assert (texas["sales"], texas["transactions"]) == (Decimal("500000.00"), 2)
    assert texas["marketplace_sales"] == Decimal("250000.05")
    assert (texas["band"], texas["first_crossed"]) == ("missing", date(2026, 2, 1))
    assert found.loc["NY", "registered"] == "economic"
    assert capsys.readouterr().err.startswith(
        "svc: date from column 'order_date', state from column 'state', channel from column"
        " 'channel', order from column 'order_id'\nsvc: amount from 'amount', by its name\n"
    )


def test_what_is_needed_and_not_there_is_said_with_the_columns_there_are():
    with pytest.raises(ColumnMissing) as refused:
        exposure(orders(state=None))
    assert (refused.value.role, refused.value.columns) == ("state", ("order_date", "amount"))
    with pytest.raises(ColumnMissing, match="there is no column 'sum'"):
        exposure(orders(), amount="sum")
    assert exposure(orders(state=None), state="Texas").loc[TEXAS, "sales"] == Decimal("500010.00")
    with pytest.raises(ColumnMissing, match="there is no column True"):
        exposure(orders(), retail=True)
    twice = pd.concat([orders(), orders()[["amount"]]], axis=1)
    with pytest.raises(ValueError, match="several columns"):
        exposure(twice)


def test_rows_that_cannot_be_read_are_left_out_counted_and_said():
    frame = orders(
        state=["TX", "PR", "Nowhere", None, "TX", "TX", "TX", "TX", "TX"],
        order_date=[
            *("2026-01-05", "2026-01-05", "2026-01-05", "2026-01-05", "pending"),
            *("", "2206-01-05", "2026-01-05", "05/2026"),
        ],
        amount=["1", "2", "3", "4", "5", "6", "7", "ten", "8"],
    )
    found = exposure(frame)
    assert found.loc[TEXAS, "sales"] == Decimal("1.00")
    assert left_out(found) == {
        "amount: not a number of dollars such as 12.50": 1,
        "date: is not a date such as 2026-05-31, 05/31/2026 or May 31, 2026": 1,
        "date: missing": 1,
        "date: not between 2000 and 2099": 1,
        "date: is a month, and a rate is that of a day; name one, for instance the first": 1,
        "state: outside of the 50 states and DC": 1,
        "state: not known": 1,
        "state: missing": 1,
    }
    assert "left out, state: not known: 1 row, for instance 'Nowhere'" in notes(found)
    assert found.attrs["svc_exposure"]["rows"] == 9


LOST = [
    ("TX", "2026-01-05", "12", None),
    ("TX", "2026-01-05", "", (1, 0, 1)),
    ("TX", "2026-01-05", "12 or so", (1, 0, 1)),
    ("TX", "soon", "1,200.10", (1, 120_010, 0)),
    ("TX", None, "-7", (1, 0, 0)),
    ("Texxas", "2026-01-05", "30", ("", 1, 3_000, 0)),
    (None, "2026-01-05", "", ("", 1, 0, 1)),
    ("Ontario", "2026-01-05", "30", None),
    (None, "Total", "5000000", None),
    (None, None, None, None),
]
"""Rows of state, date and amount, and what of them may be sales that are not counted."""


@pytest.mark.parametrize("case", LOST)
@pytest.mark.parametrize("size", [1, 3, 500_000])
def test_what_is_left_out_and_may_be_a_sale_is_kept_in_mind(case, size, monkeypatch):
    *row, lost = case
    monkeypatch.setattr(exposing, "SLICE", size)
    rows = [("TX", "2026-01-05", "12"), ("NY", "2026-11-21", "12"), row]
    frame = pd.DataFrame(rows, columns=["state", "order_date", "amount"], dtype=object)
    daily = exposing.daily_sales(pd.concat([frame, frame.iloc[2:]]))
    names = ("state", "rows", "cents", "unsized")
    expected = []
    if lost is not None:
        where, *facts = lost if isinstance(lost[0], str) else ("TX", *lost)
        expected = [dict(zip(names, (where, *(2 * fact for fact in facts)), strict=True))]
    assert daily.attrs["svc_sales"]["uncounted"] == expected


def test_a_file_with_rows_that_cannot_be_read_never_says_below(tmp_path):
    """The largest sale is the one that is written in another way."""
    months = pd.date_range("2025-01-01", "2026-11-01", freq="MS").strftime("%Y-%m-%d").tolist()
    days = [*months, "2026-11-21"]
    sales = pd.DataFrame({"state": "TX", "order_date": days, "amount": "5.00"})
    paths = [tmp_path / "2025.csv", tmp_path / "2026.csv"]
    sales[:12].to_csv(paths[0], index=False)
    sales[12:].to_csv(paths[1], index=False)

    def texas():
        found = exposure_of_file(*paths, as_of="2026-11-21", progress=False)
        return found.set_index("state").loc["TX"]

    assert texas()["below_all"] is True
    with paths[0].open("a") as file:
        file.write("TX,2025-06-30,600000 dollars\nTX,06/31/2025,5\n")
    assert texas()["below_all"] is None
    assert (
        "Not counted: 2 rows that may be sales to the state ($5.00, and amounts" in texas()["why"]
    )
    with pytest.raises(ValueError, match=r"2026\.csv is given twice"):
        exposure_of_file(*paths, tmp_path / "." / "2026.csv")
    os.link(paths[1], tmp_path / "other.csv")
    with pytest.raises(ValueError, match=r"2026\.csv is given twice"):
        exposure_of_file(*paths, tmp_path / "other.csv")


def test_lines_of_one_order_count_once_also_over_slices(monkeypatch):
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "state": "TX",
            "date": "2026-05-01",
            "amount": random.integers(0, 5, 1_000),
            "order_id": random.integers(0, 200, 1_000).astype(str),
        }
    )
    frame.loc[::50, "order_id"] = None  # each of these is a sale by itself
    named = frame["order_id"].nunique()
    monkeypatch.setattr(exposing, "SLICE", 97)
    assert exposure(frame).loc[TEXAS, "transactions"] == named + 20
    assert exposure(frame, order=False).loc[TEXAS, "transactions"] == 1_000
    whole = frame.assign(order_id=frame["order_id"].astype("float64"))
    assert exposure(whole).loc[TEXAS, "transactions"] == named + 20


def test_a_channel_that_says_neither_counts_as_direct_and_is_said():
    frame = orders(channel=["Own Website", "facilitated", "Bazaar", None])
    found = exposure(frame)
    assert found.loc[TEXAS, "marketplace_sales"] == Decimal("250000.05")
    assert "channel: neither direct nor marketplace in 2 rows ('Bazaar')" in notes(found)
    assert "all sales count as direct" in notes(exposure(orders()))
    with pytest.raises(ValueError, match="channel: 'web shop' is neither a column"):
        exposure(orders(), channel="web shop")
    every = exposure(orders(), channel="marketplace")
    assert every.loc[TEXAS, "marketplace_only"]


def test_a_part_that_cannot_be_read_counts_in_full():
    frame = orders(taxable=["100000", "", "-20000", "4"], state=["FL"] * 4)
    frame["order_date"] = "2025-05-01"
    florida = exposure(frame).loc["FL"]
    assert (florida["base"], florida["sales"]) == ("taxable", Decimal("330004.05"))
    assert "taxable: not readable in 1 row" in notes(exposure(frame))


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(
            ["2026-01-05 08:00", "2026-02-01 00:00", "2026-02-01 23:59", "2026-03-09 01:00"]
        ),
        pd.array([date(2026, 1, 5), date(2026, 2, 1), date(2026, 2, 1), date(2026, 3, 9)]),
        pd.array(
            [date(2026, 1, 5), date(2026, 2, 1), date(2026, 2, 1), date(2026, 3, 9)],
            dtype=pd.ArrowDtype(pa.date32()),
        ),
        [20260105, 20260201, 20260201, 20260309],
        pd.Categorical(["2026-01-05", "2026-02-01", "2026-02-01", "2026-03-09"]),
        [pd.Timestamp("2026-01-05"), "2026-02-01", date(2026, 2, 1), "2026-03-09"],
    ],
    ids=["times", "dates", "arrow", "digits", "categories", "mixed"],
)
def test_dates_of_every_kind_give_the_same(column):
    expected = exposure(orders())
    pd.testing.assert_frame_equal(exposure(orders(order_date=column)), expected)


def test_moments_have_their_date_where_the_person_says():
    times = pd.to_datetime(["2026-01-01 03:00", "2026-06-01 12:00"], utc=True)
    frame = pd.DataFrame({"state": "WA", "date": times, "amount": [200_000, 5]})
    utc = exposure(frame)
    assert utc.loc["WA", "first_crossed"] == date(2026, 1, 1)
    assert "time zone: 1 of 2" in notes(utc)
    for column in (times, times.strftime("%Y-%m-%dT%H:%M:%SZ")):  # 31 December in Seattle
        found = exposure(frame.assign(date=column), tz="America/Los_Angeles").loc["WA"]
        assert found["first_crossed"] == date(2025, 12, 31)


@pytest.mark.parametrize("as_file", [False, True])
def test_the_dates_of_sales_are_read_by_the_column(tmp_path, monkeypatch, as_file):
    monkeypatch.setattr(exposing, "SLICE", 2)
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 40)

    def sold(*days, **arguments):
        frame = pd.DataFrame({"state": "WA", "date": days, "amount": "200000.00"})
        if not as_file:
            return exposure(frame, **arguments).loc["WA", "first_crossed"]
        frame.to_csv(tmp_path / "sales.csv", index=False)
        found = exposure_of_file(tmp_path / "sales.csv", progress=False, **arguments)
        return found.set_index("state").loc["WA", "first_crossed"]

    either = ["03/02/2026", "04/02/2026", "pending"]
    assert sold(*either, "02/13/26") == date(2026, 2, 13)
    assert sold(*either, "13/02/2026") == date(2026, 2, 3)
    with pytest.raises(DatesAmbiguous, match="'03/02/2026' and '04/02/2026'"):
        sold(*either)
    assert sold(*either, date_format="day first") == date(2026, 2, 3)
    assert sold("2026-03-01T02:00:00Z", tz="America/Los_Angeles") == date(2026, 2, 28)


def test_the_day_asked_about_is_the_last_day_with_a_sale_unless_it_is_given():
    found = svc_tools.svc(orders()).exposure(progress=False)
    assert found.attrs["svc_exposure"]["as_of"] == "2026-03-09"
    today = svc_tools.svc(orders()).exposure(as_of="today", progress=False)
    assert today.attrs["svc_exposure"]["as_of"] > "2026-03-09"
    with pytest.raises(ValueError, match="as_of: 'yesterday' is not a date"):
        exposure(orders(), as_of="yesterday")


def test_the_users_own_thresholds_are_used(tmp_path):
    own = read_thresholds().frame().query("state == 'NY'").tail(1)
    own = own.assign(sales=10, transactions=None, logic="sales")
    own.to_csv(tmp_path / "own.csv", index=False)
    assert exposure(orders(), thresholds=tmp_path / "own.csv").loc["NY", "band"] == "over"
    own.drop(columns="notes").to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(ThresholdsError, match="'notes'"):
        exposure(orders(), thresholds=str(tmp_path / "own.csv"))


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["TX", "NY", "CA", "??"]),
        st.dates(date(2024, 6, 1), date(2026, 12, 31)),
        st.sampled_from(["direct", "marketplace"]),
        st.decimals(-10_000, 90_000, places=2),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=40,
)
FORMS = st.sampled_from(["text", "float", "decimal", "arrow"])


@examples(10, of=40)
@given(ROWS, FORMS, st.integers(1, 9))
def test_daily_totals_are_those_of_a_loop(rows, form, size):
    frame = pd.DataFrame(rows, columns=["state", "date", "channel", "amount", "order_id"])
    amounts = {
        "text": [str(one) for one in frame["amount"]],
        "float": [float(one) for one in frame["amount"]],
        "decimal": list(frame["amount"]),
        "arrow": pd.array(list(frame["amount"]), dtype=pd.ArrowDtype(pa.decimal128(18, 2))),
    }
    frame["amount"] = amounts[form]
    expected: dict[tuple[str, date, str], list] = {}
    for state, day, channel, amount, order in rows:
        if state != "??":
            cell = expected.setdefault((state, day, channel), [0, 0, set()])
            cell[0] += int(amount * 100)
            cell[1] += min(int(amount * 100), 0)
            cell[2] |= {order} if amount >= 0 else set()
    columns = exposing.find_sales_columns(frame, ExposureOptions(once=False))
    total = exposing.DailyTotals(columns, DateStyle(), list)
    for start in range(0, len(frame), size):
        total.take(frame.iloc[start : start + size])
    daily = total.daily()
    found = {
        (state, day.date(), channel): [gross, refund, count]
        for state, day, channel, gross, refund, count in daily[
            ["state", "day", "channel", "gross_cents", "refund_cents", "count"]
        ].itertuples(index=False)
    }
    assert found == {key: [cell[0], cell[1], len(cell[2])] for key, cell in expected.items()}


# files


@pytest.fixture(scope="module")
def sales():
    random = np.random.default_rng(8)
    size = 3_000
    days = np.datetime64("2025-01-01") + random.integers(0, 600, size)
    return pd.DataFrame(
        {
            "Order ID": [f"A-{number}" for number in random.integers(0, 1_200, size)],
            "Ship State": random.choice(["TX", "New York", "ca", "OR", "Guam"], size),
            "Order Date": days.astype(str),
            "Customer": "x",
            "Amount": [f"{cents / 100:.2f}" for cents in random.integers(-900, 90_000, size)],
            "Channel": random.choice(["direct", "marketplace"], size),
        }
    )


def written(sales, path):
    if path.suffix == ".csv":
        sales.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        sales.to_parquet(path)
    else:
        days = pd.to_datetime(sales["Order Date"])
        amounts = sales["Amount"].astype(float)
        sales.assign(**{"Order Date": days, "Amount": amounts}).to_excel(path, index=False)
    return path


@pytest.mark.parametrize("name", ["sales.csv", "sales.parquet", "sales.xlsx"])
def test_a_file_gives_what_its_frame_gives(sales, tmp_path, monkeypatch, name):
    monkeypatch.setattr(tabular, "_BLOCK_BYTES", 20_000)  # so that orders lie in several chunks
    path = written(sales, tmp_path / name)
    expected = svc_tools.svc(sales).exposure(progress=False)
    found = exposure_of_file(path, progress=False)
    pd.testing.assert_frame_equal(found, expected)
    about = found.attrs["svc_exposure"]
    assert about["rows"] == 3_000
    guam = int((sales["Ship State"] == "Guam").sum())
    assert about["left_out"] == [
        {"reason": "state: outside of the 50 states and DC", "rows": guam, "example": "Guam"}
    ]


def test_columns_and_sheets_are_named_as_for_a_lookup(sales, tmp_path):
    sales = sales.head(400)
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        sales.head(5).to_excel(book, sheet_name="old", index=False)
        sales.to_excel(book, sheet_name="sales", index=False)
    found = exposure_of_file(
        path, sheet="sales", amount="Amount", order=False, channel=False, progress=False
    )
    as_of = found.attrs["svc_exposure"]["as_of"]
    last = found.set_index("state").loc["TX", ["period_from", "period_to"]].tolist()
    rows = sales["Ship State"].eq("TX") & ~sales["Amount"].str.startswith("-")
    rows &= sales["Order Date"].between(str(last[0]), str(last[1]))
    assert str(last[1]) == as_of
    assert found.set_index("state").loc["TX", "transactions"] == rows.sum()


SALES = pd.DataFrame(
    {
        "date": ["2026-01-02", "2026-01-02", "2026-02-03", "2026-03-04", "2026-03-04", "soon"],
        "state": ["TX", "TX", "TX", "CA", "TX", "TX"],
        "amount": ["100.10", "0.05", "-3.00", "7.77", "12.00", "9.00"],
        "channel": ["direct", "marketplace", "direct", "direct", "direct", "direct"],
    }
)


@pytest.mark.parametrize("cuts", [(0, 1), (0, 3), (0, 2, 4)])
def test_several_files_count_as_one(tmp_path, cuts):
    whole = tmp_path / "whole.csv"
    SALES.to_csv(whole, index=False)
    parts = []
    for start, end in zip(cuts, (*cuts[1:], len(SALES)), strict=True):
        parts.append(tmp_path / f"{start}.csv")
        SALES.iloc[start:end].to_csv(parts[-1], index=False)
    one = exposure_of_file(whole, progress=False)
    several = exposure_of_file(*parts, progress=False)
    pd.testing.assert_frame_equal(one, several, check_dtype=True)
    noted, told = (frame.attrs["svc_exposure"] for frame in (one, several))
    assert told["rows"] == noted["rows"] == 6
    assert sum(cause["rows"] for cause in told["left_out"]) == 1
    assert any(note.startswith(parts[-1].name) for note in told["notes"])


def test_files_of_different_kinds_are_refused(tmp_path):
    SALES.to_csv(tmp_path / "one.csv", index=False)
    SALES.assign(taxable=SALES["amount"]).to_csv(tmp_path / "two.csv", index=False)
    with pytest.raises(ValueError, match=r"one\.csv has no taxable amounts, which other files"):
        exposure_of_file(tmp_path / "one.csv", tmp_path / "two.csv", progress=False)
