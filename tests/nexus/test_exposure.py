"""Exposure of each state: its period, its band, its figures, and what is not known of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus import Threshold, Thresholds, exposure, read_register, read_thresholds
from svc_tools.nexus.measured_sales import earlier_windows, months_before, windows

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


def told(rows, *thresholds, covers=COVERS, **more):
    frame = rows if isinstance(rows, pd.DataFrame) else daily(*rows)
    table = Thresholds(thresholds or (KNOWN,))
    return exposure(frame, as_of=AS_OF, thresholds=table, covers=covers, **more)


def one(rows, *thresholds, **more):
    return told(rows, *thresholds, **more).iloc[0]


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


def test_a_state_over_its_threshold_without_a_record_is_missing_and_comes_first():
    rows = [
        ("NY", "2026-01-05", "direct", 5_000, 1),
        ("TX", "2026-01-05", "direct", 1_200, 1),
        ("CA", "2026-01-05", "direct", 950, 1),
        ("WA", "2026-01-05", "direct", 100, 1),
    ]
    table = [replace(KNOWN, state=state) for state in ("CA", "NY", "OR", "TX", "WA")]
    table[2] = replace(KNOWN, state="OR", sales=None, logic="none", period=None, base=None)
    register = read_register(
        [
            {"state": "NY", "nexus_type": "physical"},
            {"state": "NY", "nexus_type": "economic"},
            {"state": "OR", "nexus_type": "economic"},
        ]
    )
    found = told(rows, *table, register=register)
    assert found["state"].tolist() == ["TX", "NY", "CA", "WA", "OR"]
    assert found["band"].tolist() == ["missing", "over", "90-100", "below 70", "no tax"]
    assert found["registered"].tolist() == ["", "physical, economic", "", "", "economic"]
    assert "The register has no record." in found["why"][0]
    assert (
        found["why"][4]
        == "The state has no general sales tax. The register has a record: economic."
    )
    assert found["below_all"].tolist() == [False, False, True, True, None]
    without = told(rows, *table)
    assert without["band"].tolist()[:2] == ["over", "over"]  # nobody said what is registered
    assert without["registered"].tolist() == [None] * 5
    assert "register" not in without["why"][0]


def test_refunds_reduce_but_a_threshold_that_was_met_stays_met():
    rows = [
        ("TX", "2026-03-01", "direct", 600, 2),
        ("TX", "2026-03-02", "direct", 500, 1),
        ("TX", "2026-04-01", "direct", -800, 0),
    ]
    row = one(rows)
    assert (row["band"], row["first_crossed"]) == ("over", date(2026, 3, 2))
    assert (row["sales"], row["transactions"]) == (Decimal("300.00"), 3)
    assert "Refunds have brought the total below it since." in row["why"]
    assert row["below_all"] is False


def test_of_two_years_the_one_that_says_more_is_shown_and_the_other_is_told():
    rows = [
        ("TX", "2025-06-01", "direct", 800, 1),
        ("TX", "2026-06-01", "direct", "300.50", 1),
        ("TX", "2024-12-31", "direct", 9_000, 1),
        ("TX", "2026-11-22", "direct", 9_000, 7),
    ]
    found = told(rows)
    row = found.iloc[0]
    assert row["period"].startswith("calendar year 2025 (the current or the previous")
    assert (row["period_from"], row["period_to"]) == (date(2025, 1, 1), date(2025, 12, 31))
    assert row["band"] == "70-90"
    assert "In calendar year 2026 to 2026-11-21 it is 30.0%." in row["why"]
    about = found.attrs["svc_exposure"]
    assert about["notes"] == ["Sales after 2026-11-21 do not count: 7 transactions."]


def test_where_both_tests_are_needed_the_lower_one_decides():
    row = replace(KNOWN, logic="and", transactions=10)
    rows = [("TX", "2026-06-01", "direct", 5_000, 9)]
    assert one(rows, row)["band"] == "90-100"
    assert one(rows, replace(row, logic="or"))["band"] == "over"
    less = one([("TX", "2026-06-01", "direct", 750, 1)], replace(row, logic="or"))
    assert (less["band"], less["used"]) == ("70-90", Decimal("0.7500"))
    rows.append(("TX", "2026-06-02", "direct", 0, 1))
    assert one(rows, row)["first_crossed"] == date(2026, 6, 2)
    assert "$1,000 and 10 transactions" in one(rows, row)["why"]


def test_marketplace_sales_count_as_the_state_does():
    rows = [
        ("TX", "2026-06-01", "direct", 600, 1),
        ("TX", "2026-06-02", "marketplace", 500, 1),
    ]
    assert one(rows)["band"] == "over"
    left_out = one(rows, replace(KNOWN, marketplace_counts=False))
    assert (left_out["band"], left_out["sales"]) == ("below 70", Decimal("600.00"))
    assert left_out["marketplace_sales"] == Decimal("500.00")
    assert "do not count here ($500.00 of them are left out)" in left_out["why"]


def test_where_it_is_not_known_whether_marketplaces_count_both_figures_are_shown():
    unknown = replace(KNOWN, marketplace_counts=None)
    rows = [
        ("TX", "2026-06-01", "direct", 600, 1),
        ("TX", "2026-06-02", "marketplace", 500, 1),
    ]
    row = one(rows, unknown)
    assert (row["band"], row["below_all"]) == ("unknown", None)
    assert row["sales"] == Decimal("1100.00")
    assert "(gross sales without marketplaces), it is 60.0% ($600.00)" in row["why"]
    # it may be over: it stands behind what is, and before what is not
    table = [replace(unknown, state=state) for state in ("CA", "TX", "WA")]
    more = [*rows, ("CA", "2026-06-02", "direct", 950, 1), ("WA", "2026-06-02", "direct", 2_000, 1)]
    assert told(more, *table)["state"].tolist() == ["WA", "TX", "CA"]
    both = one([("TX", "2026-06-02", "marketplace", 50, 1)], unknown)
    assert (both["band"], both["below_all"]) == ("below 70", None)
    assert both["marketplace_only"]
    assert "All sales were made through marketplaces." in both["why"]


def test_a_base_that_the_sales_do_not_have_is_said_and_gross_stands_in():
    retail = replace(KNOWN, base="retail")
    rows = daily(("TX", "2026-06-01", "direct", 1_500, 1))
    row = one(rows, retail)
    assert (row["base"], row["band"], row["below_all"]) == ("gross", "over", None)
    assert "The state counts retail sales, which are not in what was given" in row["why"]
    with_it = one(rows.assign(retail_cents=20_000), retail)
    assert (with_it["base"], with_it["band"], with_it["below_all"]) == ("retail", "below 70", True)


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


def test_a_base_that_is_not_known_is_read_in_every_way():
    unknown = replace(KNOWN, base=None)
    rows = daily(("TX", "2026-06-01", "direct", 1_500, 1))
    gross = one(rows, unknown)
    assert (gross["band"], gross["below_all"]) == ("over", None)
    assert "Which sales the state counts is not known: these are gross sales." in gross["why"]
    every = one(rows.assign(retail_cents=140_000, taxable_cents=50_000), unknown)
    assert every["band"] == "unknown"
    assert "(taxable sales), it is 50.0% ($500.00)" in every["why"]


def test_conflicting_sources_on_transactions_never_say_below():
    conflict = replace(KNOWN, logic="unknown", certainty="low")
    low = one([("TX", "2026-06-01", "direct", 10, 900)], conflict)
    assert (low["band"], low["below_all"]) == ("unknown", None)
    assert "Sources disagree on a test of transactions" in low["why"]
    nothing = told([], conflict).iloc[0]  # not a single sale: whatever the test is
    assert (nothing["band"], nothing["below_all"]) == ("below 70", None)
    high = one([("TX", "2026-06-01", "direct", 1_000, 1)], conflict)
    assert (high["band"], high["below_all"]) == ("over", False)


def test_the_trailing_time_must_be_below_too():
    rows = [("TX", "2024-06-01", "direct", 2_000, 1), ("TX", "2026-06-01", "direct", 10, 1)]
    assert one(rows)["below_all"] is True
    year = one(rows, replace(KNOWN, trailing_months=12))
    assert year["below_all"] is False
    assert (year["trailing_from"], year["trailing_to"]) == (date(2024, 1, 1), date(2024, 12, 31))
    assert year["trailing_sales"] == Decimal("2000.00")
    assert "The threshold of that time was met in calendar year 2024." in year["why"]
    unknown = one(rows, replace(KNOWN, trailing_months=None))
    assert (unknown["below_all"], unknown["trailing_sales"]) == (None, None)
    assert "How long the duty lasts once sales have fallen is not known." in unknown["why"]


def test_what_counts_from_the_next_period_on_is_not_below():
    previous = replace(KNOWN, period="previous_year")
    row = one([("TX", "2026-06-01", "direct", 1_000, 1)], previous)
    assert (row["band"], row["sales"], row["below_all"]) == ("below 70", Decimal("0.00"), False)
    assert "Sales from 2026-01-01 to 2026-11-21 meet the threshold already" in row["why"]


def test_a_rolling_year_that_was_over_some_months_ago_is_told():
    rolling = replace(KNOWN, period="rolling_12_months")
    rows = [("TX", "2025-03-01", "direct", 600, 1), ("TX", "2026-02-28", "direct", 600, 1)]
    row = one(rows, rolling)
    assert (row["band"], row["first_crossed"]) == ("below 70", date(2026, 2, 28))
    assert "The 12 months to 2026-02-28 met it; those to 2026-11-21 do not." in row["why"]
    assert row["below_all"] is True
    assert one(rows, replace(rolling, trailing_months=9))["below_all"] is False


def test_a_rolling_year_is_below_by_calendar_months_and_quarters_too():
    rolling = replace(KNOWN, period="rolling_12_months")
    # gone from the 12 months to 21 November, but not from those to 30 September or 31 October
    rows = [("TX", "2025-11-15", "direct", 1_000, 1)]
    row = one(rows, rolling)
    assert (row["band"], row["sales"], row["below_all"]) == ("below 70", Decimal("0.00"), False)


@pytest.mark.parametrize("months", [6, 9])
def test_a_rolling_year_that_met_it_stays_met_after_a_refund(months):
    """In the 12 months to a day of the trailing time $1,000 was reached, and then refunded."""
    rolling = replace(KNOWN, period="rolling_12_months", trailing_months=months)
    rows = [
        ("TX", "2025-03-01", "direct", -500, 0),
        ("TX", "2025-09-01", "direct", 1_000, 1),
        ("TX", "2026-02-01", "direct", -900, 0),
    ]
    row = one(rows, rolling)
    assert (row["band"], row["first_crossed"], row["below_all"]) == ("below 70", None, False)
    assert "The threshold of that time was met in the 12 months to 2026-0" in row["why"]
    assert one(rows, replace(rolling, trailing_months=2))["below_all"] is True


def test_a_transaction_test_that_was_dropped_lately_counts_for_its_own_time():
    kentucky = read_thresholds()
    rows = [("KY", "2025-06-01", "direct", 10, 250), ("WY", "2025-06-01", "direct", 10, 250)]
    found = exposure(daily(*rows), as_of=AS_OF, thresholds=kentucky, covers=COVERS)
    found = found.set_index("state")
    assert found.loc["KY", "band"] == found.loc["WY", "band"] == "below 70"
    assert found.loc["KY", "below_all"] is not True
    assert "no test of transactions any more since 2026-08-01" in found.loc["KY", "why"]
    assert "The threshold of that time was met in calendar year 2025." in found.loc["KY", "why"]
    assert "transactions any more" not in found.loc["WY", "why"]  # long ago


@pytest.mark.parametrize("day", ["2025-06-01", "2026-03-01"])
def test_below_but_for_a_test_that_was_dropped_since(day):
    before = replace(KNOWN, logic="or", transactions=200, effective_to=date(2026, 7, 31))
    after = replace(KNOWN, effective_from=date(2026, 8, 1))
    row = one([("TX", day, "direct", 10, 250)], before, after)
    assert (row["below_all"], row["below_now"]) == (False, True)
    # what was sold when the test was gone does not meet it
    row = one([("TX", "2026-08-01", "direct", 10, 250)], before, after)
    assert (row["below_all"], row["below_now"]) == (True, True)
    row = one([("TX", day, "direct", 2_000, 250)], before, after)
    assert (row["below_all"], row["below_now"]) == (False, False)
    unknown = one([("TX", day, "direct", 10, 250)], before, replace(after, trailing_months=None))
    assert (unknown["below_all"], unknown["below_now"]) == (False, None)


def test_all_states_have_a_row_and_what_the_table_lacks_is_said():
    shipped = exposure(daily(), as_of=AS_OF)
    assert sorted(shipped["state"]) == sorted(
        row.state for row in read_thresholds().rows if (row.covers(AS_OF))
    )
    assert shipped["below_all"].isna().all()  # no sales were given: nothing is known
    assert "No sales were given." in shipped.set_index("state").loc["TX", "why"]
    lacking = told([("NY", "2026-06-01", "direct", 5, 1)], KNOWN).set_index("state").loc["NY"]
    assert (lacking["band"], lacking["below_all"]) == ("unknown", None)
    assert lacking["why"] == "The thresholds have no row for NY on 2026-11-21."


def test_sales_of_one_year_do_not_cover_two():
    rows = [("TX", f"2026-{month:02}-01", "direct", 5, 1) for month in range(1, 12)]
    row = one([*rows, ("TX", "2026-11-21", "direct", 5, 1)], covers=None)
    assert (row["period_covered"], row["below_all"]) == (False, None)
    assert "The sales given are of 2026-01-01 to 2026-11-21, and 2025-01-01 to" in row["why"]


MONTHS = [f"{year}-{month:02}" for year in (2024, 2025, 2026) for month in range(1, 13)][:35]
"""From January 2024 to November 2026."""


def monthly(*without):
    """A small sale in each month, but for some."""
    days = [f"{month}-01" for month in MONTHS if month not in without]
    return [("TX", day, "direct", 5, 1) for day in [*days, str(AS_OF)]]


def test_a_month_without_any_sale_is_taken_for_one_that_is_missing():
    assert one(monthly(), covers=None)["below_all"] is True
    assert one(monthly("2026-03"), covers=None)["below_all"] is None
    found = told(monthly("2026-03", "2026-04"), covers=None)
    row = found.iloc[0]
    assert (row["below_all"], row["below_now"], row["period_covered"]) == (None, None, False)
    assert "The sales given are of 2026-05-01 to 2026-11-21, and 2025-01-01 to" in row["why"]
    (note,) = found.attrs["svc_exposure"]["notes"]
    assert note.startswith("Without any sale: 2026-03, 2026-04. Such a month is taken to be")
    assert one(monthly("2026-03"))["below_all"] is True  # it was said that they are complete
    assert one(monthly("2024-03"), covers=None)["below_all"] is True  # before what is needed
    other = [*monthly("2026-03"), ("NY", "2026-03-15", "direct", 5, 1)]
    assert told(other, covers=None).set_index("state").loc["TX", "below_all"] is True


@pytest.mark.parametrize("day", ["2031-01-01", "2015-01-01"])
def test_one_wrong_year_does_not_make_the_sales_complete_to_there(day):
    rows = [*monthly()[12:], ("TX", day, "direct", 5, 1)]
    assert told(rows, covers=None).attrs["svc_exposure"]["first_day"] == "2025-01-01"
    needs_more = replace(KNOWN, trailing_months=12)
    assert one(rows, needs_more, covers=None)["below_all"] is None
    ended = [row for row in rows if row[1] < "2026-07" or row[1] == day]
    found = told(ended, covers=None)
    assert found.attrs["svc_exposure"]["last_day"] == "2026-06-01"
    assert found.loc[0, "below_all"] is None


def lost(*parts, rows=None):
    """Daily totals, beside rows that could not be counted."""
    frame = daily(*(monthly() if rows is None else rows))
    names = ("state", "rows", "cents", "unsized")
    told_ = [dict(zip(names, part, strict=True)) for part in parts]
    frame.attrs["svc_sales"] = {"rows": 99, "left_out": [], "uncounted": told_, "notes": []}
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
        found = told(lost(("", rows, 0, 0)), *table, covers=COVERS).set_index("state")
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
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="count"), "no column 'count'"),
        (lambda frame: frame.assign(state="Texas"), "column 'state' has 'Texas'"),
        (lambda frame: frame.assign(channel="web"), "column 'channel' has 'web'"),
        (lambda frame: frame.assign(day=pd.NaT), "missing days"),
        (lambda frame: frame.assign(count=-1), "negative"),
        (lambda frame: frame.assign(gross_cents=pd.NA), "'gross_cents' has missing"),
        (lambda frame: frame.assign(gross_cents=2**62, count=[1, 1]), "more than can be held"),
    ],
)
def test_a_table_that_is_not_of_daily_totals_is_refused(change, said):
    frame = daily(*[("TX", "2026-06-01", "direct", 5, 1)] * 2)
    with pytest.raises(ValueError, match=said):
        exposure(change(frame), as_of=AS_OF)


def test_other_kinds_of_things_are_refused():
    frame = daily(("TX", "2026-06-01", "direct", 5, 1))
    with pytest.raises(TypeError, match="float64; expected whole numbers"):
        exposure(frame.assign(gross_cents=5.0), as_of=AS_OF)
    with pytest.raises(TypeError, match=r"as_of: expected a datetime\.date, not str"):
        exposure(frame, as_of="2026-11-21")
    with pytest.raises(TypeError, match="read_thresholds"):
        exposure(frame, as_of=AS_OF, thresholds="mine.csv")
    with pytest.raises(TypeError, match=r"expected a pandas\.DataFrame"):
        exposure([], as_of=AS_OF)
    with pytest.raises(ValueError, match="covers: 2026-01-01 lies before 2026-05-01"):
        told([], covers=(date(2026, 5, 1), date(2026, 1, 1)))
    with pytest.raises(ValueError, match="covers: 2026-01-01 lies before 2026-05-01"):
        told([], covers=("2026-05-01", date(2026, 1, 1)))
    with pytest.raises(ValueError, match="covers: 'May' is not a date such as '2026-05-01'"):
        told([], covers=("2026-01-01", "May"))
    with pytest.raises(TypeError, match=r"covers: expected a datetime\.date, not int"):
        told([], covers=(2026, 2027))


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
    whole = told(rows, *table)
    frame = daily(*reversed(rows))
    keys = ["state", "day", "channel"]
    summed = frame.groupby(keys, as_index=False)[["gross_cents", "count"]].sum()
    summed[["retail_cents", "taxable_cents"]] = pd.NA
    pd.testing.assert_frame_equal(told(frame, *table), whole)
    pd.testing.assert_frame_equal(told(summed, *table), whole)


DAYS = st.dates(date(2001, 1, 1), date(2099, 12, 31)) | st.sampled_from(
    [
        *(date(2024, 2, 29), date(2024, 2, 28), date(2025, 2, 28), date(2024, 3, 1)),
        *(date(2025, 9, 30), date(2025, 10, 1), date(2025, 12, 31), date(2026, 1, 1)),
        *(date(2025, 5, 31), date(2025, 6, 1), date(2025, 6, 30), date(2024, 11, 30)),
    ]
)
STATES = st.sampled_from(["NY", "IL"])
ONE = timedelta(days=1)


def spans(period, as_of, state=""):
    return [(one.first, one.last) for one in windows(period, as_of, state)]


@pytest.mark.parametrize(
    ("period", "state", "as_of", "expected"),
    [
        ("twelve_months_to_september", "CT", "2025-09-29", [("2023-10-01", "2024-09-30")]),
        ("twelve_months_to_september", "CT", "2025-09-30", [("2024-10-01", "2025-09-30")]),
        ("twelve_months_to_september", "CT", "2025-10-01", [("2024-10-01", "2025-09-30")]),
        ("four_quarters", "NY", "2024-02-28", [("2022-12-01", "2023-11-30")]),
        ("four_quarters", "NY", "2024-02-29", [("2023-03-01", "2024-02-29")]),
        ("four_quarters", "NY", "2026-11-21", [("2025-09-01", "2026-08-31")]),
        ("four_quarters", "IL", "2026-11-21", [("2025-10-01", "2026-09-30")]),
        ("four_quarters", "IL", "2026-12-31", [("2026-01-01", "2026-12-31")]),
        ("rolling_12_months", "TX", "2024-02-29", [("2023-03-01", "2024-02-29")]),
        ("rolling_12_months", "TX", "2025-02-28", [("2024-02-29", "2025-02-28")]),
        ("rolling_12_months", "TX", "2026-10-31", [("2025-11-01", "2026-10-31")]),
        ("previous_year", "FL", "2026-01-01", [("2025-01-01", "2025-12-31")]),
        (
            "current_or_previous_year",
            "WA",
            "2026-11-21",
            [("2025-01-01", "2025-12-31"), ("2026-01-01", "2026-11-21")],
        ),
    ],
)
def test_the_days_that_count(period, state, as_of, expected):
    found = spans(period, date.fromisoformat(as_of), state)
    assert [(str(first), str(last)) for first, last in found] == expected


@given(DAYS)
def test_rolling_months_end_on_the_day_and_leave_none_out(as_of):
    ((first, last),) = spans("rolling_12_months", as_of)
    assert last == as_of
    assert 365 <= (last - first).days + 1 <= 366
    ((_, before),) = spans("rolling_12_months", months_before(as_of, 12))
    assert before + ONE == first  # two of them in a row have no gap


@given(DAYS, STATES)
def test_four_quarters_are_whole_and_have_ended(as_of, state):
    ((first, last),) = spans("four_quarters", as_of, state)
    ends = {2, 5, 8, 11} if state == "NY" else {3, 6, 9, 12}
    assert last <= as_of < last + timedelta(days=93)
    assert last.month in ends
    assert (first.day, (last + ONE).day) == (1, 1)
    assert (last + ONE).replace(year=first.year) == first
    between = as_of
    while between > last:  # no other quarter has ended since
        assert not (between.month in ends and (between + ONE).day == 1)
        between -= ONE


@given(DAYS)
def test_connecticuts_months_run_from_october_to_september(as_of):
    ((first, last),) = spans("twelve_months_to_september", as_of)
    assert (first.month, first.day, last.month, last.day) == (10, 1, 9, 30)
    assert last.year == first.year + 1
    assert last <= as_of < date(last.year + 1, 9, 30)


@given(DAYS, st.integers(0, 40))
def test_months_before_a_day_keep_its_number_where_there_is_one(day, months):
    before = months_before(day, months)
    assert (day.year - before.year) * 12 + day.month - before.month == months
    assert before.day == day.day or (before + ONE).day == 1


@given(DAYS, st.sampled_from(["current_or_previous_year", "previous_year", "four_quarters"]))
def test_earlier_windows_end_before_and_are_no_current_ones(as_of, period):
    now = windows(period, as_of, "NY")
    found = earlier_windows(period, as_of, 12, "NY")
    assert found
    for window in found:
        assert window.last < as_of
        assert window not in now
        assert window.first < now[0].first
        assert window.last >= months_before(as_of, 24 if period != "previous_year" else 36)
    assert earlier_windows(period, as_of, 0, "NY") == ()


@given(DAYS, st.integers(0, 4))
def test_rolling_windows_end_on_each_day_since_the_last_quarters_end(as_of, months):
    ends = [window.last for window in earlier_windows("rolling_12_months", as_of, months)]
    assert ends == [ends[0] + ONE * number for number in range(len(ends))]
    assert ends[-1:] in ([], [as_of - ONE])
    first = ends[0] if ends else as_of
    assert first <= months_before(as_of, months)
    assert first == months_before(as_of, months) or ((first + ONE).day, first.month % 3) == (1, 0)
