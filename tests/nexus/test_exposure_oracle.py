"""Exposure against an oracle that adds up by hand: day by day, in Decimals, with no product code.

The oracle knows thresholds whose facts are all known; what is not known is tested one by one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.nexus import Threshold, Thresholds, exposure

ONE = timedelta(days=1)
ENDS = {"NY": (2, 5, 8, 11)}
BANDS = [(Decimal("0.9"), "90-100"), (Decimal("0.7"), "70-90"), (Decimal(-1), "below 70")]


class Sale(NamedTuple):
    """One sale; `base` names the amounts by base."""

    day: date
    channel: str
    base: dict[str, Decimal]


class Expected(NamedTuple):
    """What is expected of one state."""

    band: str
    used: Decimal
    sales: Decimal
    transactions: int
    first: date
    last: date
    crossed: date | None
    below: bool


def year_before(day: date) -> date:
    """The same day a year before; 28 February of a 29th."""
    try:
        return day.replace(year=day.year - 1)
    except ValueError:
        return day.replace(year=day.year - 1, day=28)


def months_back(day: date, months: int) -> date:
    keep = day.day
    for _ in range(months):
        before = day.replace(day=1) - ONE
        day = before.replace(day=min(keep, before.day))
    return day


def is_month_end(day: date) -> bool:
    return (day + ONE).day == 1


def spans(period: str, day: date, state: str) -> list[tuple[date, date]]:
    """The first and last days of what counts on a day."""
    this = (date(day.year, 1, 1), day)
    last = (date(day.year - 1, 1, 1), date(day.year - 1, 12, 31))
    if period == "current_or_previous_year":
        return [last, this]
    if period == "previous_year":
        return [last]
    if period == "rolling_12_months":
        return [(year_before(day) + ONE, day)]
    ends = (9,) if period == "twelve_months_to_september" else ENDS.get(state, (3, 6, 9, 12))
    end = day
    while not (is_month_end(end) and end.month in ends):
        end -= ONE
    # a quarter's or September's end lies at a month's end, and so does that of a year before
    begin = (end + ONE).replace(year=end.year + (end.month == 12) - 1)
    return [(begin, end)]


def expected(sales: list[Sale], row, as_of: date) -> Expected:
    """What the oracle finds; the threshold is taken as the plain record that it is."""
    counted = [
        sale
        for sale in sales
        if sale.day <= as_of and (row.marketplace_counts or sale.channel == "direct")
    ]

    by_day: dict[date, list[Sale]] = {}
    for sale in counted:
        by_day.setdefault(sale.day, []).append(sale)

    def run(first: date, last: date) -> tuple[Decimal, int, date | None]:
        """Sums of a span, and the day on which they first met the threshold."""
        total, count, met = Decimal(0), 0, None
        for day in sorted(day for day in by_day if first <= day <= last):
            for sale in by_day[day]:
                total += sale.base[row.base]
                count += sale.base["gross"] >= 0
            if met is None and is_met(total, count, row):
                met = day
        return total, count, met

    found = [(*run(*span), span) for span in spans(row.period, as_of, row.state)]
    best = max(reversed(found), key=lambda one: (one[2] is not None, used(one[0], one[1], row)))
    crossed = [one[2] for one in found if one[2]]
    below = all(run(*span)[2] is None for span in all_spans(row, as_of))
    if row.period == "rolling_12_months" and counted:
        begin = min(months_back(as_of, row.trailing_months), quarter_end(as_of))
        crossed += rolling(counted, row, as_of)
        # the duty lasts from each day on which the 12 months to it had met the threshold, and a
        # later refund does not undo that
        below &= all(run(year_before(day) + ONE, day)[2] is None for day in days(begin, as_of))
    part = used(best[0], best[1], row)
    band = "over" if best[2] else next(name for least, name in BANDS if part >= least)
    return Expected(band, part, best[0], best[1], *best[3], min(crossed, default=None), below)


def rolling(counted: list[Sale], row, as_of: date) -> list[date]:
    """The days on which the 12 months that ended on them met the threshold."""
    met = []
    for day in days(min(sale.day for sale in counted), as_of):
        total, count = Decimal(0), 0
        for sale in counted:
            if year_before(day) < sale.day <= day:
                total += sale.base[row.base]
                count += sale.base["gross"] >= 0
        if is_met(total, count, row):
            met.append(day)
    return met


def days(first: date, last: date) -> list[date]:
    return [first + ONE * number for number in range((last - first).days + 1)]


def all_spans(row, as_of: date) -> list[tuple[date, date]]:
    """All that must be below: what counts, has counted in the trailing time, and will count."""
    now = spans(row.period, as_of, row.state)
    found = set(now)
    for months in range(1, row.trailing_months + 1):
        for first, last in spans(row.period, months_back(as_of, months), row.state):
            whole = (first, last)
            if row.period == "current_or_previous_year":
                whole = (first, min(date(first.year, 12, 31), as_of))
            if row.period != "rolling_12_months":
                found.add(whole)
    if row.period == "four_quarters":
        found.add((year_before(as_of) + ONE, as_of))
    elif now[-1][1] < as_of:
        found.add((now[-1][1] + ONE, as_of))
    return sorted(found)


def quarter_end(day: date) -> date:
    while not (is_month_end(day) and day.month in {3, 6, 9, 12}):
        day -= ONE
    return day


def is_met(total: Decimal, count: int, row) -> bool:
    by_sales = total >= row.sales
    if row.logic == "sales":
        return by_sales
    by_count = count >= row.transactions
    return (by_sales and by_count) if row.logic == "and" else (by_sales or by_count)


def used(total: Decimal, count: int, row) -> Decimal:
    by_sales = max(total, Decimal(0)) / row.sales
    if row.logic == "sales":
        return by_sales
    by_count = Decimal(count) / row.transactions
    return min(by_sales, by_count) if row.logic == "and" else max(by_sales, by_count)


PERIODS = [
    "current_or_previous_year",
    "previous_year",
    "four_quarters",
    "rolling_12_months",
    "twelve_months_to_september",
]
AS_OF = [date(2026, 11, 21), date(2024, 2, 29), date(2025, 9, 30), date(2025, 10, 1)]
AS_OF += [date(2026, 12, 31), date(2025, 1, 1), date(2026, 2, 28), date(2026, 11, 30)]
LONG_AGO, LATER = date(2015, 1, 1), date(2030, 1, 1)
KNOWN = Threshold(
    *("TX", None, None, 1_000, None, "sales", PERIODS[0], "gross", True, 0, None),
    *("high", "made up", date(2026, 1, 1)),
)


def daily_of(sales_by_state):
    rows = [
        {
            "state": state,
            "day": pd.Timestamp(sale.day),
            "channel": sale.channel,
            **{f"{base}_cents": int(amount * 100) for base, amount in sale.base.items()},
            "count": int(sale.base["gross"] >= 0),
        }
        for state, sales in sales_by_state.items()
        for sale in sales
    ]
    columns = ["state", "day", "channel", "gross_cents", "retail_cents", "taxable_cents", "count"]
    return pd.DataFrame(rows, columns=columns)


@st.composite
def thresholds(draw, state):
    logic = draw(st.sampled_from(["sales", "and", "or"]))
    return replace(
        KNOWN,
        state=state,
        sales=draw(st.integers(1, 300)),
        transactions=None if logic == "sales" else draw(st.integers(1, 12)),
        logic=logic,
        period=draw(st.sampled_from(PERIODS)),
        base=draw(st.sampled_from(["gross", "retail", "taxable"])),
        marketplace_counts=draw(st.booleans()),
        trailing_months=draw(st.integers(0, 14)),
    )


@st.composite
def a_state(draw, as_of, state):
    sales = []
    for _ in range(draw(st.integers(0, 14))):
        gross = Decimal(draw(st.integers(-9_000, 20_000))).scaleb(-2)
        part = Decimal(draw(st.integers(0, 4))) / 4
        lesser = (gross * part).quantize(Decimal("0.01"))
        sales.append(
            Sale(
                as_of - timedelta(days=draw(st.integers(-20, 1_100))),
                draw(st.sampled_from(["direct", "direct", "marketplace"])),
                {"gross": gross, "retail": gross, "taxable": lesser},
            )
        )
    return draw(thresholds(state)), sales


def check(states, as_of):
    """Each figure of each state, whose threshold and sales these are."""
    table = Thresholds(tuple(row for row, _ in states.values()))
    daily = daily_of({state: sales for state, (_, sales) in states.items()})
    found = exposure(daily, as_of=as_of, thresholds=table, covers=(LONG_AGO, LATER))
    found = found.set_index("state")
    for state, (row, sales) in states.items():
        by_hand = expected(sales, row, as_of)
        one = found.loc[state]
        assert one["band"] == by_hand.band, (row, sales)
        assert one["used"] == by_hand.used.quantize(Decimal("0.0001"), rounding="ROUND_DOWN")
        assert (one["sales"], one["transactions"]) == (by_hand.sales, by_hand.transactions)
        assert (one["period_from"], one["period_to"]) == (by_hand.first, by_hand.last)
        assert one["first_crossed"] == by_hand.crossed
        assert one["below_all"] is by_hand.below


@settings(max_examples=60)
@given(st.data(), st.sampled_from(AS_OF))
def test_every_figure_is_that_of_adding_up_by_hand(data, as_of):
    check({state: data.draw(a_state(as_of, state)) for state in ("NY", "TX")}, as_of)


@pytest.mark.parametrize(
    ("period", "months", "sales"),
    [
        # refunds reduce, but a threshold that was met stays met
        (PERIODS[0], 0, {"2026-03-01": 600, "2026-03-02": 500, "2026-04-01": -800}),
        (PERIODS[0], 0, {"2024-06-01": 2_000, "2026-06-01": 10}),
        (PERIODS[0], 12, {"2024-06-01": 2_000, "2026-06-01": 10}),
        # what counts from the next period on
        (PERIODS[1], 0, {"2026-06-01": 1_000}),
        # 12 months that were over some months ago
        ("rolling_12_months", 0, {"2025-03-01": 600, "2026-02-28": 600}),
        ("rolling_12_months", 9, {"2025-03-01": 600, "2026-02-28": 600}),
        # gone from the 12 months to 21 November, not from those to 30 September or 31 October
        ("rolling_12_months", 0, {"2025-11-15": 1_000}),
        # reached in the 12 months to a day of the trailing time, and then refunded
        ("rolling_12_months", 2, {"2025-03-01": -500, "2025-09-01": 1_000, "2026-02-01": -900}),
        ("rolling_12_months", 6, {"2025-03-01": -500, "2025-09-01": 1_000, "2026-02-01": -900}),
        ("rolling_12_months", 9, {"2025-03-01": -500, "2025-09-01": 1_000, "2026-02-01": -900}),
    ],
)
@pytest.mark.parametrize(("logic", "transactions"), [("sales", None), ("and", 2), ("or", 2)])
def test_refunds_and_sales_of_long_ago(period, months, sales, logic, transactions):
    row = replace(
        KNOWN, period=period, trailing_months=months, logic=logic, transactions=transactions
    )
    bases = ("gross", "retail", "taxable")
    made = [
        Sale(date.fromisoformat(day), "direct", dict.fromkeys(bases, Decimal(dollars)))
        for day, dollars in sales.items()
    ]
    check({"TX": (row, made)}, AS_OF[0])


@settings(max_examples=40)
@given(st.data(), st.sampled_from(AS_OF))
def test_what_is_not_known_is_never_below(data, as_of):
    row, sales = data.draw(a_state(as_of, "TX"))

    def measured(**changes):
        table = Thresholds((replace(row, **changes),))
        daily = daily_of({"TX": sales})
        found = exposure(daily, as_of=as_of, thresholds=table, covers=(LONG_AGO, LATER))
        return found.iloc[0]

    blank = data.draw(st.sampled_from(["base", "marketplace_counts", "trailing_months", "low"]))
    found = measured(**({"certainty": "low"} if blank == "low" else {blank: None}))
    assert found["below_all"] is not True
    if blank == "marketplace_counts" and found["band"] != "unknown":
        bands = {measured(marketplace_counts=counts)["band"] for counts in (True, False)}
        assert bands == {found["band"]}  # it is the same either way


@pytest.mark.parametrize("period", PERIODS)
def test_sales_that_do_not_cover_all_that_time_are_never_below(period):
    as_of = AS_OF[0]
    table = Thresholds((replace(KNOWN, period=period, trailing_months=12),))

    def below(begin, end=as_of):
        """The exposure where the sales begin and end on these days."""
        return exposure(daily_of({}), as_of=as_of, thresholds=table, covers=(begin, end)).iloc[0]

    needed = below(date(2020, 1, 1))
    assert needed["below_all"] is True
    first = min(needed["trailing_from"], needed["period_from"])
    assert first <= date(2025, 11, 21)  # no less than the trailing time itself
    assert below(first)["below_all"] is True
    later = below(first + ONE)
    assert later["below_all"] is None
    assert f"{first} to {as_of} is needed" in later["why"]
    assert below(first, as_of - ONE)["below_all"] is None  # nor where they end too early
