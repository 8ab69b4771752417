"""Exposure of each state: its period, its band, its figures, and what is not known of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from svc_tools.nexus import Threshold, Thresholds, exposure, read_register
from svc_tools.tables.states import STATES

AS_OF = date(2026, 11, 21)
COVERS = (date(2020, 1, 1), AS_OF)
KNOWN = Threshold(
    *("TX", None, None, 1_000, None, "sales", "current_or_previous_year", "gross", True, 0, None),
    *("high", "made up", date(2026, 1, 1)),
)


def daily(*rows, **columns):
    """Rows of (state, day, channel, dollars, count)."""
    frame = pd.DataFrame(rows, columns=["state", "day", "channel", "gross_cents", "count"])
    frame["day"] = pd.to_datetime(frame["day"])
    frame["gross_cents"] = [int(Decimal(str(one)) * 100) for one in frame["gross_cents"]]
    for name in ("retail_cents", "taxable_cents"):
        frame[name] = columns.get(name, pd.array([None] * len(frame), dtype="Int64"))
    if "refund_cents" in columns:
        frame["refund_cents"] = columns["refund_cents"]
    return frame.astype({"gross_cents": "int64", "count": "int64"})


def measured(rows, *thresholds, covers=COVERS, **more):
    frame = rows if isinstance(rows, pd.DataFrame) else daily(*rows)
    table = Thresholds(thresholds or (KNOWN,))
    return exposure(frame, as_of=AS_OF, thresholds=table, covers=covers, **more)


def one(rows, *thresholds, **more):
    return measured(rows, *thresholds, **more).iloc[0]


@pytest.mark.parametrize(
    ("dollars", "band", "used"),
    [
        ("699.99", "below 70", "0.6999"),
        ("700.00", "70-90", "0.7000"),
        ("899.99", "70-90", "0.8999"),
        ("900.00", "90-100", "0.9000"),
        ("999.99", "90-100", "0.9999"),
        ("1000.00", "over", "1.0000"),
        ("0.00", "below 70", "0.0000"),
    ],
)
def test_bands_begin_exactly_and_a_cent_below_is_not_rounded_up(dollars, band, used):
    row = one([("TX", "2026-05-01", "direct", dollars, 1)])
    assert (row["band"], row["used"], row["sales"]) == (band, Decimal(used), Decimal(dollars))
    assert row["below_all"] is (band != "over")


RECORD = read_register([{"state": "TX", "nexus_type": "economic"}])
PREVIOUS = replace(KNOWN, period="previous_year")
ROLLING = replace(KNOWN, period="rolling_12_months")


@pytest.mark.parametrize(
    ("rows", "threshold", "register", "far"),
    [
        ([("2026-05-01", "499.99")], KNOWN, None, True),
        ([("2026-05-01", "500.00")], KNOWN, None, False),
        ([], KNOWN, None, True),
        ([("2026-05-01", "10")], KNOWN, RECORD, False),  # it has a record
        # half of it is used since the period's end, which counts from the next period on
        ([("2025-05-01", "10"), ("2026-05-01", "500")], PREVIOUS, None, False),
        ([("2022-05-01", "1000"), ("2026-05-01", "10")], ROLLING, None, False),  # it was met once
        # one reading of what the state counts is higher
        (
            [("2026-05-01", "10"), ("2026-05-01", "500", "marketplace")],
            replace(KNOWN, marketplace_counts=None),
            None,
            False,
        ),
        # below by its sales, and sources disagree on a number of transactions
        ([("2026-05-01", "10")], replace(KNOWN, logic="unknown"), None, False),
        # many small orders
        ([("2026-05-01", "10")], replace(KNOWN, logic="or", transactions=2), None, False),
        ([("2026-05-01", "10")], replace(KNOWN, logic="or", transactions=3), None, True),
    ],
)
def test_a_state_is_far_below_under_half_of_every_threshold_without_a_record(
    rows, threshold, register, far
):
    sales = [("TX", day, *(channel or ["direct"]), dollars, 1) for day, dollars, *channel in rows]
    assert bool(one(sales, threshold, register=register)["far_below"]) is far


def test_a_state_over_its_threshold_without_a_record_is_missing_and_comes_first():
    dollars = {"NY": 5_000, "TX": 1_200, "CA": 950, "WA": 100}
    rows = [(state, "2026-01-05", "direct", amount, 1) for state, amount in dollars.items()]
    table = [replace(KNOWN, state=state) for state in ("CA", "NY", "OR", "TX", "WA")]
    table[2] = replace(KNOWN, state="OR", sales=None, logic="none", period=None, base=None)
    register = read_register(
        [
            {"state": state, "nexus_type": kind}
            for state, kind in (("NY", "physical"), ("NY", "economic"), ("OR", "economic"))
        ]
    )
    found = measured(rows, *table, register=register)
    assert found["state"].tolist() == ["TX", "NY", "CA", "WA", "OR"]
    assert found["band"].tolist() == ["missing", "over", "90-100", "below 70", "no tax"]
    assert found["registered"].tolist() == ["", "physical, economic", "", "", "economic"]
    assert found["below_all"].tolist() == [False, False, True, True, None]
    without = measured(rows, *table)
    assert without["band"].tolist()[:2] == ["over", "over"]  # what is registered is not known
    assert without["registered"].tolist() == [None] * 5


def test_of_two_years_the_one_with_more_is_shown_and_the_other_in_words():
    rows = [
        ("TX", "2025-06-01", "direct", 800, 1),
        ("TX", "2026-06-01", "direct", "300.50", 1),
        ("TX", "2026-11-22", "direct", 9_000, 7),
    ]
    found = measured(rows)
    assert found["band"][0] == "70-90"
    assert found["period"][0].startswith("calendar year 2025")
    assert "In calendar year 2026 to 2026-11-21 it is 30.0%." in found["why"][0]
    (note,) = found.attrs["svc_exposure"]["notes"]
    assert "7 transactions" in note  # of the day after


def test_where_it_is_not_known_whether_marketplaces_count_both_figures_are_shown():
    unknown = replace(KNOWN, marketplace_counts=None)
    rows = [
        ("TX", "2026-06-01", "direct", 600, 1),
        ("TX", "2026-06-02", "marketplace", 500, 1),
    ]
    left_out = one(rows, replace(KNOWN, marketplace_counts=False))
    assert (left_out["sales"], left_out["marketplace_sales"]) == (Decimal(600), Decimal(500))
    row = one(rows, unknown)
    assert (row["band"], row["below_all"]) == ("unknown", None)
    assert row["sales"] == Decimal("1100.00")
    assert "60.0% ($600.00)" in row["why"]
    # it may be over: it stands behind what is, and before what is not
    table = [replace(unknown, state=state) for state in ("CA", "TX", "WA")]
    more = [*rows, ("CA", "2026-06-02", "direct", 950, 1), ("WA", "2026-06-02", "direct", 2_000, 1)]
    assert measured(more, *table)["state"].tolist() == ["WA", "TX", "CA"]
    both = one([("TX", "2026-06-02", "marketplace", 50, 1)], unknown)
    assert (both["band"], both["below_all"]) == ("below 70", None)
    assert both["marketplace_only"]


@pytest.mark.parametrize(
    ("base", "columns", "expected"),
    [
        ("retail", {}, ("gross", "over", None)),
        ("retail", {"retail_cents": 20_000}, ("retail", "below 70", True)),
        (None, {}, ("gross", "over", None)),
        (None, {"retail_cents": 140_000, "taxable_cents": 50_000}, (None, "unknown", None)),
    ],
)
def test_gross_stands_in_for_a_base_that_the_sales_lack(base, columns, expected):
    rows = daily(("TX", "2026-06-01", "direct", 1_500, 1)).assign(**columns)
    row = one(rows, replace(KNOWN, base=base))
    assert (row["band"], row["below_all"]) == expected[1:]
    assert expected[0] in (None, row["base"])
    assert expected[1] != "unknown" or "50.0% ($500.00)" in row["why"]  # of taxable sales


def test_gross_below_says_nothing_of_a_base_unless_its_refunds_are_known():
    retail = replace(KNOWN, base="retail")
    # a refund of what was no retail sale hides that retail sales reach the threshold
    rows = [
        ("TX", "2026-06-01", "direct", 900, 1),
        ("TX", "2026-06-02", "direct", -800, 0),
        ("TX", "2026-06-03", "direct", 500, 1),
    ]
    assert one(daily(*rows), retail)["below_all"] is None
    known = daily(*rows, refund_cents=[0, -80_000, 0])
    assert one(known, retail)["below_all"] is None
    less = daily(*rows[1:], refund_cents=[-80_000, 0])
    assert one(less, retail)["below_all"] is True


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("TX", "2026-06-01", "direct", 10, 900)], ("unknown", None)),
        ([], ("below 70", None)),  # not a single sale: whatever the test is
        ([("TX", "2026-06-01", "direct", 1_000, 1)], ("over", False)),
    ],
)
def test_conflicting_sources_on_transactions_never_mean_below(rows, expected):
    row = one(rows, replace(KNOWN, logic="unknown", certainty="low"))
    assert (row["band"], row["below_all"]) == expected


def test_the_trailing_time_is_shown_with_its_sales():
    rows = [("TX", "2024-06-01", "direct", 2_000, 1), ("TX", "2026-06-01", "direct", 10, 1)]
    year = one(rows, replace(KNOWN, trailing_months=12))
    assert year["below_all"] is False
    assert (year["trailing_from"], year["trailing_to"]) == (date(2024, 1, 1), date(2024, 12, 31))
    assert year["trailing_sales"] == Decimal("2000.00")
    unknown = one(rows, replace(KNOWN, trailing_months=None))
    assert (unknown["below_all"], unknown["trailing_sales"]) == (None, None)


def test_a_transaction_test_that_was_dropped_lately_counts_for_its_own_time():
    rows = [("KY", "2025-06-01", "direct", 10, 250), ("WY", "2025-06-01", "direct", 10, 250)]
    found = exposure(daily(*rows), as_of=AS_OF, covers=COVERS).set_index("state")
    assert found.loc["KY", "band"] == found.loc["WY", "band"] == "below 70"
    assert found.loc["KY", "below_all"] is not True
    assert "2026-08-01" in found.loc["KY", "why"]
    assert "transactions any more" not in found.loc["WY", "why"]  # long ago


@pytest.mark.parametrize(
    ("day", "dollars", "months", "expected"),
    [
        ("2025-06-01", 10, 0, (False, True)),
        ("2026-03-01", 10, 0, (False, True)),
        ("2026-08-01", 10, 0, (True, True)),  # sold when the test was gone
        ("2026-03-01", 2_000, 0, (False, False)),
        ("2026-03-01", 10, None, (False, None)),
    ],
)
def test_below_but_for_a_test_that_was_dropped_since(day, dollars, months, expected):
    before = replace(KNOWN, logic="or", transactions=200, effective_to=date(2026, 7, 31))
    after = replace(KNOWN, effective_from=date(2026, 8, 1), trailing_months=months)
    row = one([("TX", day, "direct", dollars, 250)], before, after)
    assert (row["below_all"], row["below_now"]) == expected


def test_all_states_have_a_row():
    shipped = exposure(daily(), as_of=AS_OF)
    assert set(shipped["state"]) == set(STATES)
    assert shipped["below_all"].isna().all()  # no sales were given: nothing is known
    lacking = measured([("NY", "2026-06-01", "direct", 5, 1)]).set_index("state").loc["NY"]
    assert (lacking["band"], lacking["below_all"]) == ("unknown", None)


MONTHS = [f"{year}-{month:02}" for year in (2024, 2025, 2026) for month in range(1, 13)][:35]
"""From January 2024 to November 2026."""


def monthly(*without):
    """A small sale in each month, but for some."""
    days = [f"{month}-01" for month in MONTHS if month not in without]
    return [("TX", day, "direct", 5, 1) for day in [*days, str(AS_OF)]]


def test_a_month_without_any_sale_is_taken_for_one_that_is_missing():
    assert one(monthly(), covers=None)["below_all"] is True
    assert one(monthly(*MONTHS[:24]), covers=None)["below_all"] is None  # one year of two
    assert one(monthly("2026-03"), covers=None)["below_all"] is None
    found = measured(monthly("2026-03", "2026-04"), covers=None)
    row = found.iloc[0]
    assert (row["below_all"], row["below_now"], row["period_covered"]) == (None, None, False)
    assert "2026-05-01 to 2026-11-21, and 2025-01-01 to" in row["why"]
    (note,) = found.attrs["svc_exposure"]["notes"]
    assert "2026-03, 2026-04" in note
    assert one(monthly("2026-03"))["below_all"] is True  # it was stated that they are complete
    assert one(monthly("2024-03"), covers=None)["below_all"] is True  # before what is needed
    other = [*monthly("2026-03"), ("NY", "2026-03-15", "direct", 5, 1)]
    assert measured(other, covers=None).set_index("state").loc["TX", "below_all"] is True


@pytest.mark.parametrize("day", ["2031-01-01", "2015-01-01"])
def test_one_wrong_year_does_not_make_the_sales_complete_to_there(day):
    rows = [*monthly()[12:], ("TX", day, "direct", 5, 1)]
    assert measured(rows, covers=None).attrs["svc_exposure"]["first_day"] == "2025-01-01"
    needs_more = replace(KNOWN, trailing_months=12)
    assert one(rows, needs_more, covers=None)["below_all"] is None
    ended = [row for row in rows if row[1] < "2026-07" or row[1] == day]
    found = measured(ended, covers=None)
    assert found.attrs["svc_exposure"]["last_day"] == "2026-06-01"
    assert found.loc[0, "below_all"] is None


def lost(*parts, rows=None):
    """Daily totals, beside rows that could not be counted."""
    frame = daily(*(monthly() if rows is None else rows))
    names = ("state", "rows", "cents", "unsized")
    parts = [dict(zip(names, part, strict=True)) for part in parts]
    frame.attrs["svc_sales"] = {"rows": 99, "left_out": [], "uncounted": parts, "notes": []}
    return frame


@pytest.mark.parametrize(
    ("parts", "below"),
    [
        ([("TX", 2, 10_000, 0)], True),
        ([("TX", 2, 93_999, 0)], True),  # 12 sales of $5 are counted in each year
        ([("TX", 2, 94_000, 0)], None),
        ([("NY", 2, 10**9, 2)], True),
        ([("", 2, 10**9, 0)], None),
        ([("TX", 1, 50_000, 0), ("", 1, 50_000, 0)], None),
        ([("TX", 1, 50_000, 0), ("TX", 1, 50_000, 0)], None),
        ([("TX", 1, 0, 1)], None),
        ([("", 1, 0, 1)], None),
    ],
)
def test_what_could_not_be_counted_may_have_been_sold(parts, below):
    row = one(lost(*parts))
    assert (row["below_all"], row["below_now"], row["band"]) == (below, below, "below 70")
    assert ("that may be sales to the state" in row["why"]) == (parts[0][0] != "NY")


def test_a_state_without_a_sale_may_have_those_that_could_not_be_counted():
    table = (KNOWN, replace(KNOWN, state="NY", logic="or", transactions=3))
    for rows, below in ((2, True), (3, None)):
        found = measured(lost(("", rows, 0, 0)), *table, covers=COVERS).set_index("state")
        assert (found.loc["NY", "below_all"], found.loc["TX", "below_all"]) == (below, True)
        assert f"Not counted: {rows} rows that may be sales" in found.loc["NY", "why"]
    rolling = replace(KNOWN, period="rolling_12_months")
    assert one(lost(("", 1, 99_900, 0)), rolling)["below_all"] is None
    assert one(lost(("", 1, 90_000, 0)), rolling)["below_all"] is True
    # of 12 months that end in the trailing time
    trailing, earlier = replace(rolling, trailing_months=24), ("TX", "2024-12-15", "direct", 600, 1)
    assert one(lost(rows=[*monthly(), earlier]), trailing)["below_all"] is True
    assert one(lost(("", 1, 40_000, 0), rows=[*monthly(), earlier]), trailing)["below_all"] is None


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        (lambda frame: frame.drop(columns="count"), ValueError, "'count'"),
        (lambda frame: frame.assign(state="Texas"), ValueError, "'Texas'"),
        (lambda frame: frame.assign(channel="web"), ValueError, "'web'"),
        (lambda frame: frame.assign(day=pd.NaT), ValueError, "missing days"),
        (lambda frame: frame.assign(count=-1), ValueError, "negative"),
        (lambda frame: frame.assign(gross_cents=pd.NA), ValueError, "'gross_cents' has missing"),
        (lambda frame: frame.assign(gross_cents=2**62), ValueError, "more than can be held"),
        (lambda frame: frame.assign(gross_cents=5.0), TypeError, "float64"),
        (lambda _: [], TypeError, "DataFrame"),
    ],
)
def test_a_table_that_is_not_of_daily_totals_is_refused(change, error, problem):
    frame = daily(*[("TX", "2026-06-01", "direct", 5, 1)] * 2)
    with pytest.raises(error, match=problem):
        exposure(change(frame), as_of=AS_OF)


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"as_of": "2026-11-21"}, TypeError, "as_of"),
        ({"thresholds": "mine.csv"}, TypeError, "read_thresholds"),
        ({"covers": (date(2026, 5, 1), date(2026, 1, 1))}, ValueError, "covers: 2026-01-01 lies"),
        ({"covers": ("2026-05-01", date(2026, 1, 1))}, ValueError, "covers: 2026-01-01 lies"),
        ({"covers": ("2026-01-01", "May")}, ValueError, "covers: 'May'"),
        ({"covers": (2026, 2027)}, TypeError, "covers"),
    ],
)
def test_other_kinds_of_arguments_are_refused(arguments, error, problem):
    with pytest.raises(error, match=problem):
        exposure(daily(), **({"as_of": AS_OF} | arguments))


def test_cents_of_any_size_stay_exact():
    rows = [("TX", "2026-06-01", "direct", "90000000000000.01", 1)] * 3
    assert one(rows)["sales"] == Decimal("270000000000000.03")


def test_the_same_sales_in_any_order_and_cut_give_the_same_table():
    random = np.random.default_rng(3)
    rows = [
        (state, str(np.datetime64("2025-01-01") + day), channel, int(dollars), 1)
        for state, day, channel, dollars in zip(
            random.choice(["TX", "NY"], 60).tolist(),
            random.integers(0, 600, 60).tolist(),
            random.choice(["direct", "marketplace"], 60).tolist(),
            random.integers(-50, 100, 60).tolist(),
            strict=True,
        )
    ]
    table = [KNOWN, replace(KNOWN, state="NY", period="four_quarters")]
    whole = measured(rows, *table)
    frame = daily(*reversed(rows))
    keys = ["state", "day", "channel"]
    summed = frame.groupby(keys, as_index=False)[["gross_cents", "count"]].sum()
    summed[["retail_cents", "taxable_cents"]] = pd.NA
    pd.testing.assert_frame_equal(measured(frame, *table), whole)
    pd.testing.assert_frame_equal(measured(summed, *table), whole)


@pytest.mark.parametrize(
    ("period", "state", "as_of", "first", "last"),
    [
        ("twelve_months_to_september", "CT", "2025-09-29", "2023-10-01", "2024-09-30"),
        ("twelve_months_to_september", "CT", "2025-09-30", "2024-10-01", "2025-09-30"),
        ("twelve_months_to_september", "CT", "2025-10-01", "2024-10-01", "2025-09-30"),
        ("four_quarters", "NY", "2024-02-28", "2022-12-01", "2023-11-30"),
        ("four_quarters", "NY", "2024-02-29", "2023-03-01", "2024-02-29"),
        ("four_quarters", "NY", "2026-11-21", "2025-09-01", "2026-08-31"),
        ("four_quarters", "IL", "2026-11-21", "2025-10-01", "2026-09-30"),
        ("four_quarters", "IL", "2026-12-31", "2026-01-01", "2026-12-31"),
        ("rolling_12_months", "TX", "2024-02-29", "2023-03-01", "2024-02-29"),
        ("rolling_12_months", "TX", "2025-02-28", "2024-02-29", "2025-02-28"),
        ("rolling_12_months", "TX", "2026-10-31", "2025-11-01", "2026-10-31"),
        ("previous_year", "FL", "2026-01-01", "2025-01-01", "2025-12-31"),
        ("current_or_previous_year", "WA", "2026-11-21", "2026-01-01", "2026-11-21"),
    ],
)
def test_the_days_that_count(period, state, as_of, first, last):
    table = Thresholds((replace(KNOWN, state=state, period=period),))
    row = exposure(daily(), as_of=date.fromisoformat(as_of), thresholds=table).iloc[0]
    assert (str(row["period_from"]), str(row["period_to"])) == (first, last)
