"""What the Nexus tab shows and asks to be typed, as functions of values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus import make_plan, read_register
from svc_tools.places import STATES
from svc_tools.widgets.nexus_changes import confirmation_of
from svc_tools.widgets.nexus_plan import Filter, carry_ticks, page_of
from svc_tools.widgets.nexus_tab import exposure_html, exposure_notes


def plan_of(*records):
    return make_plan(read_register(list(records)), as_of=date(2026, 11, 21))


def record(state, nexus_type="economic", **fields):
    return {"state": state, "nexus_type": nexus_type} | fields


@given(st.lists(st.sampled_from(sorted(STATES)), max_size=60), st.text(max_size=4))
def test_one_state_is_confirmed_by_its_code_several_by_the_count(states, typed):
    asked = confirmation_of(states, "remove {}")
    one = len(set(states)) == 1
    fitting = {states[0] if one else str(len(states))} if states else set()
    for text in (typed, "", "0", "3.0", "three", *states, str(len(states)), f"{len(states)}0"):
        assert asked.fits(text) == (text.strip().upper() in fitting)
    assert asked.fits(f" {asked.expected.lower()} ") == bool(states)
    assert asked.expected in asked.prompt


def test_rows_are_filtered_by_decision_state_type_and_words():
    plan = plan_of(
        record("DE", notes="closed"), record("TX", "physical"), record("TX"), record("MT")
    )

    def found(**chosen):
        return [(row.state, row.nexus_type) for row in Filter(**chosen).rows(plan)]

    assert found(decision="candidate") == [("DE", "economic"), ("MT", "economic")]
    assert sorted(found(state="TX")) == [("TX", "economic"), ("TX", "physical")]
    assert found(state="TX", nexus_type="physical") == [("TX", "physical")]
    assert found(text="CLOSED de") == [("DE", "economic")]
    assert found(text="no such words") == []
    assert len(found()) == 4


@given(st.integers(-3, 30), st.integers(0, 200), st.integers(1, 30))
def test_a_page_lies_within_the_rows(number, count, size):
    page, first, last = page_of(number, count, size)
    assert page >= 0
    assert 0 <= first <= last <= count
    assert last - first <= size
    assert last > first or count == 0


def exposed(**row):
    given_row = {
        "state": "TX",
        "band": "70-90",
        "registered": "economic",
        "used": Decimal("0.8"),
        "sales": Decimal("400000.00"),
        "marketplace_sales": Decimal("0.00"),
        "threshold_sales": Decimal(500000),
        "transactions": 12,
        "threshold_transactions": None,
        "first_crossed": None,
        "certainty": "high",
        "why": "Sales were $400,000.00.",
    }
    return pd.DataFrame([given_row | row])


@pytest.mark.parametrize(
    ("used", "words", "width"),
    [
        ("0.8", "80%", "80"),
        ("0.99999", "99%", "99"),
        ("12.5", "1,250%", "100"),
        ("0", "0%", "0"),
        ("-0.25", "-25%", "0"),
    ],
)
def test_the_share_is_rounded_down_and_the_bar_ends_at_the_threshold(used, words, width):
    html = exposure_html(exposed(used=Decimal(used)))
    assert f"width:{width}%" in html
    assert f">{words}<" in html


@pytest.mark.parametrize("used", [None, float("nan"), pd.NA, pd.NaT])
def test_an_unknown_share_is_a_dash_and_no_empty_bar(used):
    html = exposure_html(exposed(used=used))
    assert "svc-used" not in html
    assert '<td class="svc-number">\N{EN DASH}</td>' in html


def test_the_exposure_shows_each_standing_in_words_dollars_with_cents_and_the_threshold():
    html = exposure_html(exposed(first_crossed=date(2026, 3, 4)))
    for text in ("$400,000.00", "of $500,000", "2026-03-04", "high"):
        assert text in html
    for band, words in (
        ("missing", "Above, and no record"),
        ("over", "Above"),
        ("below 70", "Below 70"),
        ("unknown", "Unknown"),
        ("no tax", "No general sales tax"),
    ):
        assert words in exposure_html(exposed(band=band))


def test_a_tick_stays_only_where_record_decision_and_reasons_are_the_same():
    former = plan_of(record("DE"), record("MT"), record("TX", "physical", address="1 Main"))
    ticked = former.tick(("DE", "economic"), ("TX", "physical"))
    anew = plan_of(record("DE"), record("MT"), record("TX", "physical", address="2 Main"))
    kept, lost = carry_ticks(ticked, anew)
    assert [row.key for row in kept.ticked] == [("DE", "economic")]
    assert lost == 1
    assert carry_ticks(None, anew) == (anew, 0)


def test_states_without_sales_and_record_are_folded_away_and_no_others():
    nothing = {"sales": Decimal("0.00"), "transactions": 0, "used": Decimal(0)}
    quiet = exposed(state="WY", registered="", **nothing)
    held = exposed(state="VT", registered="economic", **nothing)
    unknown = exposed(state="UT", registered="", sales=None, transactions=0, used=None)
    html = exposure_html(pd.concat([exposed(), held, unknown, quiet]))
    loud, _, folded = html.partition("<details")
    assert "1 state without sales and without a record" in folded
    assert ">WY<" in folded
    for state in ("TX", "VT", "UT"):
        assert f">{state}<" in loud


def test_rows_left_out_of_the_exposure_are_said_before_its_figures():
    frame = exposed()
    frame.attrs["svc_exposure"] = {
        "as_of": "2026-11-21",
        "first_day": "2025-01-01",
        "last_day": "2026-11-21",
        "left_out": [{"reason": "state: not known", "rows": 2, "example": "<ZZ>"}],
        "notes": ["left out, state: not known: 2 rows, for instance '<ZZ>'"],
    }
    html = exposure_notes(frame)
    assert "2 rows left out" in html
    assert "Sales from 2025-01-01 to 2026-11-21." in html
    assert "&lt;ZZ&gt;" in html
    assert "<ZZ>" not in html
