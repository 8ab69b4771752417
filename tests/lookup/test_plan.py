"""A plan says in figures and in words what a lookup will take."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.lookup.plan import Plan, Refused, price_of


def plan(**changes):
    made = {
        "rows": 1_000,
        "places": 120,
        "cached": 20,
        "to_ask": 100,
        "refused": (Refused("invalid", "no ZIP", 7), Refused("unsupported", "a territory", 2)),
        "grain": "day",
        "grains": {"day": 100, "month": 40, "quarter": 20},
        "service": "https://rates.example",
    }
    return Plan(**(made | changes))


def figures(shown):
    """The rows of the tables of a plan, as text."""
    return [" ".join(line.split()) for line in str(shown).splitlines()]


def test_a_plan_shows_rows_places_cache_lookups_and_what_is_never_looked_up():
    shown = figures(plan())
    assert (
        shown[0]
        == "1,000 rows, 120 distinct places and dates: 100 lookups of https://rates.example"
    )
    assert {"In the cache 20", "To look up, one request each 100"} < set(shown)
    assert {"To look up by day (as now) 100", "To look up by month 40"} < set(shown)
    assert {"invalid 7 no ZIP", "unsupported 2 a territory"} < set(shown)
    assert "month" not in str(plan(grains={"day": 9, "month": 9, "quarter": 9}))  # all the same
    assert "not known before the service runs" in plan(cached=None)._repr_html_()  # no zero
    others = tuple(Refused("invalid", f"reason {number}", 10) for number in range(11))
    assert "and 30 rows for other reasons" in plan(refused=others)._repr_html_()


def test_the_price_is_exact_and_never_too_low():
    priced = plan(price=Decimal("0.0041"))
    assert priced.cost == Decimal("0.4100")
    assert "at most $0.41 at $0.0041 each" in str(priced)
    assert "at most $0.01" in str(plan(to_ask=1, price=Decimal("0.0001")))
    assert plan().cost is None


@pytest.mark.parametrize(("left", "fits"), [(None, None), (100, True), (99, False)])
def test_a_quota_that_is_not_enough(left, fits):
    made = plan(quota_remaining=left)
    assert made.fits_quota is fits
    for shown in (str(made), made._repr_html_()):
        assert ("NOT ENOUGH" in shown) is (fits is False)


def test_a_fault_of_many_values_is_listed_before_a_rarer_one():
    dates = tuple(
        Refused("invalid", f"as_of: '{day:02}/13/2026' is not an ISO date", 1 + (day == 4))
        for day in range(1, 13)
    )
    shown = figures(plan(refused=(Refused("invalid", "as_of: the row has no date", 5), *dates)))
    first, second = (line for line in shown if line.startswith("invalid"))
    assert first == "invalid 13 as_of: '04/13/2026' (and 11 other values) is not an ISO date"
    assert second == "invalid 5 as_of: the row has no date"


@given(st.text(max_size=30))
def test_no_data_becomes_markup(text):
    empty = plan(refused=(Refused("invalid", "", 1),))._repr_html_()
    page = plan(refused=(Refused("invalid", f"<b>{text}", 1),))._repr_html_()
    assert page.count("<") == empty.count("<")
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize("value", ["0.004", Decimal("0.004"), "$0.004", 0.004])
def test_a_price_is_read_exactly(value):
    assert price_of(value) == Decimal("0.004")


@pytest.mark.parametrize("value", ["cheap", "-1", float("nan"), "inf", True, ""])
def test_what_is_no_price_is_refused(value):
    with pytest.raises(ValueError, match="price"):
        price_of(value)
