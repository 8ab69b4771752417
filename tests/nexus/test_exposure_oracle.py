"""Exposure against an oracle that adds up day by day, over made-up thresholds and sales."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exposure_oracle import Sale, expected

from svc_tools.nexus import Threshold, Thresholds, exposure

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
    return Threshold(
        state=state,
        effective_from=None,
        effective_to=None,
        sales=draw(st.integers(1, 300)),
        transactions=None if logic == "sales" else draw(st.integers(1, 12)),
        logic=logic,
        period=draw(st.sampled_from(PERIODS)),
        base=draw(st.sampled_from(["gross", "retail", "taxable"])),
        marketplace_counts=draw(st.booleans()),
        trailing_months=draw(st.integers(0, 14)),
        transactions_dropped_on=None,
        certainty="high",
        source="made up",
        checked_on=date(2026, 1, 1),
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


@settings(max_examples=60)
@given(st.data(), st.sampled_from(AS_OF))
def test_every_figure_is_that_of_adding_up_by_hand(data, as_of):
    states = {state: data.draw(a_state(as_of, state)) for state in ("NY", "TX")}
    table = Thresholds(tuple(row for row, _ in states.values()))
    daily = daily_of({state: sales for state, (_, sales) in states.items()})
    found = exposure(daily, as_of=as_of, thresholds=table, covers=(LONG_AGO, LATER))
    found = found.set_index("state")
    for state, (row, sales) in states.items():
        by_hand = expected(sales, row, as_of)
        told = found.loc[state]
        assert told["band"] == by_hand.band, (row, sales)
        assert told["used"] == by_hand.used.quantize(Decimal("0.0001"), rounding="ROUND_DOWN")
        assert (told["sales"], told["transactions"]) == (by_hand.sales, by_hand.transactions)
        assert (told["period_from"], told["period_to"]) == (by_hand.first, by_hand.last)
        assert told["first_crossed"] == by_hand.crossed
        assert told["below_all"] is by_hand.below


@settings(max_examples=40)
@given(st.data(), st.sampled_from(AS_OF))
def test_what_is_not_known_is_never_said_to_be_below(data, as_of):
    row, sales = data.draw(a_state(as_of, "TX"))
    blank = data.draw(st.sampled_from(["base", "marketplace_counts", "trailing_months", "low"]))
    other = replace(row, **({"certainty": "low"} if blank == "low" else {blank: None}))
    told = exposure(
        daily_of({"TX": sales}),
        as_of=as_of,
        thresholds=Thresholds((other,)),
        covers=(LONG_AGO, LATER),
    ).iloc[0]
    assert told["below_all"] is not True
    if blank == "marketplace_counts" and told["band"] != "unknown":
        bands = {
            exposure(
                daily_of({"TX": sales}),
                as_of=as_of,
                thresholds=Thresholds((replace(row, marketplace_counts=counts),)),
                covers=(LONG_AGO, LATER),
            ).iloc[0]["band"]
            for counts in (True, False)
        }
        assert bands == {told["band"]}  # it is the same either way


@pytest.mark.parametrize("period", PERIODS)
def test_sales_that_do_not_cover_all_that_time_are_never_below(period):
    as_of = date(2026, 11, 21)
    row = Threshold(
        *("TX", None, None, 100, None, "sales", period, "gross", True, 12, None),
        *("high", "made up", date(2026, 1, 1)),
    )

    def said(begin):
        """What is said where the sales begin on a day."""
        covers = (begin, as_of)
        table = Thresholds((row,))
        return exposure(daily_of({}), as_of=as_of, thresholds=table, covers=covers).iloc[0]

    needed = said(date(2020, 1, 1))
    assert needed["below_all"] is True
    first = min(needed["trailing_from"], needed["period_from"])
    assert first <= date(2025, 11, 21)  # no less than the trailing time itself
    assert said(first)["below_all"] is True
    later = said(first + timedelta(days=1))
    assert later["below_all"] is None
    assert f"and {first} to {as_of} is needed: more may have been sold" in later["why"]
    early = exposure(
        daily_of({}),
        as_of=as_of,
        thresholds=Thresholds((row,)),
        covers=(first, as_of - timedelta(days=1)),
    )
    assert early["below_all"].tolist() == [None]  # nor where they end too early
