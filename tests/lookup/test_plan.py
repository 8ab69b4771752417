"""A plan says in figures and in words what a lookup will take."""

from __future__ import annotations

import re
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


def test_it_says_rows_places_cache_requests_and_what_is_never_asked():
    said = str(plan())
    assert "1,000 rows, 120 distinct places" in said
    assert "20 answered from the cache" in said
    assert "100 to be asked of https://rates.example" in said
    assert "requests by as_of_grain: day 100, month 40, quarter 20 (now: day)" in said
    assert "7 rows invalid, never asked\n  7: no ZIP" in said
    assert "2 rows unsupported, never asked\n  2: a territory" in said


def test_the_embedded_service_is_named_as_a_sentence_names_it():
    asked = plan(service="embedded service")
    assert "100 to be asked of the embedded service\n" in str(asked)
    assert "100 to be asked of the embedded service" in asked._repr_html_()


def test_the_price_is_exact_and_never_said_too_low():
    priced = plan(price=Decimal("0.0041"))
    assert priced.cost == Decimal("0.4100")
    assert "at most $0.41 at $0.0041 each" in str(priced)
    assert "at most $0.01" in str(plan(to_ask=1, price=Decimal("0.0001")))
    assert plan().cost is None


def test_a_quota_that_is_not_enough_is_said():
    assert plan().fits_quota is None
    assert plan(quota_remaining=100).fits_quota is True
    short = plan(quota_remaining=99)
    assert short.fits_quota is False
    assert "99 lookups left this month: NOT ENOUGH" in str(short)


def test_an_unknown_cache_is_not_taken_for_an_empty_one():
    said = str(plan(cached=None))
    assert "not known" in said
    assert "0 answered" not in said


def test_grains_that_take_the_same_are_not_listed():
    assert "as_of_grain" not in str(plan(grains={"day": 9, "month": 9, "quarter": 9}))


def test_many_reasons_are_cut_and_counted():
    many = tuple(Refused("invalid", f"reason {number}", 10) for number in range(8))
    said = str(plan(refused=many))
    assert "80 rows invalid" in said
    assert "30: 3 other reasons" in said


def test_a_fault_of_many_values_is_told_before_a_rarer_one():
    dates = tuple(
        Refused("invalid", f"as_of: '{day:02}/13/2026' is not an ISO date", 1 + (day == 4))
        for day in range(1, 13)
    )
    said = str(plan(refused=(Refused("invalid", "as_of: the row has no date", 5), *dates)))
    first = said.split("never asked\n")[1].splitlines()[0].strip()
    assert first == "13: as_of: '04/13/2026' (and 11 other values) is not an ISO date"
    assert "5: as_of: the row has no date" in said


@given(st.text(max_size=30))
def test_no_data_becomes_markup(text):
    empty = plan(refused=(Refused("invalid", "", 1),))._repr_html_()
    page = plan(refused=(Refused("invalid", f"<b>{text}", 1),))._repr_html_()
    assert page.count("<") == empty.count("<")
    assert "&lt;b&gt;" in page


def test_a_notebook_shows_what_will_be_asked_and_what_never_is():
    page = plan(quota_remaining=2, price=Decimal("0.004"))._repr_html_()
    cells = [cell.strip() for cell in re.sub(r"<[^>]+>", "\n", page).split("\n") if cell.strip()]
    assert cells[0].startswith(f"{plan().rows:,} rows, {plan().places:,} distinct places")
    assert "at $0.004 each" in cells[0]
    assert "2: NOT ENOUGH for this" in cells
    assert page.count("<caption") == 1 + bool(plan().refused)
    assert page.count("<th ") == page.count('<th scope="col"')


def test_a_cache_that_is_not_known_yet_is_no_zero_in_a_notebook():
    assert "not known before the service runs" in plan(cached=None)._repr_html_()
    assert "not known before" not in plan(cached=0)._repr_html_()


def test_a_notebook_counts_the_reasons_that_it_does_not_show():
    many = tuple(Refused("invalid", f"reason {number}", 10) for number in range(11))
    assert "and 30 rows for other reasons" in plan(refused=many)._repr_html_()


@pytest.mark.parametrize("value", ["0.004", Decimal("0.004"), "$0.004", 0.004])
def test_a_price_is_read_exactly(value):
    assert price_of(value) == Decimal("0.004")


@pytest.mark.parametrize("value", ["cheap", "-1", float("nan"), "inf", True, ""])
def test_what_is_no_price_is_refused(value):
    with pytest.raises(ValueError, match="price"):
        price_of(value)
