"""What the Nexus tab shows and asks to be typed, as functions of values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus import exposure_summary, make_plan, read_register
from svc_tools.nexus.notices import BAND_WORDS
from svc_tools.nexus.state_exposure import BANDS
from svc_tools.tables.states import STATES
from svc_tools.widgets.nexus_changes import confirmation_of
from svc_tools.widgets.nexus_exposure import exposure_html, exposure_notes
from svc_tools.widgets.nexus_plan import Filter, carry_ticks, page_of


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
    for band in BANDS:
        assert BAND_WORDS[band] in exposure_html(exposed(band=band))
    assert [BAND_WORDS[band] for band in BANDS if "%" in BAND_WORDS[band]] == [
        "90-100% of the threshold",
        "70-90% of the threshold",
        "Below 70% of the threshold",
    ]


def test_a_tick_stays_only_where_record_decision_and_reasons_are_the_same():
    former = plan_of(record("DE"), record("MT"), record("TX", "physical", address="1 Main"))
    ticked = former.tick(("DE", "economic"), ("TX", "physical"))
    anew = plan_of(record("DE"), record("MT"), record("TX", "physical", address="2 Main"))
    kept, lost = carry_ticks(ticked, anew)
    assert [row.key for row in kept.ticked] == [("DE", "economic")]
    assert lost == 1
    assert carry_ticks(None, anew) == (anew, 0)


FAR = {"band": "below 70", "registered": "", "far_below": True, "period_covered": True}


def test_states_far_below_are_one_line_that_opens_and_no_others():
    near = exposed(state="TX", far_below=False, period_covered=True)
    far = [exposed(state=state, **FAR) for state in ("WY", "AL")]
    held = exposed(state="VT", **FAR | {"far_below": False, "registered": "economic"})
    no_tax = exposed(state="MT", band="no tax", registered="", used=None, sales=None)
    taxed_record = exposed(state="OR", band="no tax", registered="economic", used=None)
    frame = pd.concat([near, held, *far, no_tax, taxed_record])
    frame = frame.assign(
        far_below=frame["far_below"].astype("boolean").fillna(value=False).astype(bool)
    )
    html = exposure_html(frame)
    shown, far_line, untaxed_line = html.split("<details")
    assert "2 states below 50% of every threshold" in far_line
    assert "1 state without a general sales tax" in untaxed_line
    for part, states in ((shown, "TX VT OR"), (far_line, "WY AL"), (untaxed_line, "MT")):
        for state in states.split():
            assert f">{state}<" in part
            assert html.count(f">{state}<") == 1
    summary = exposure_summary(frame)
    assert "2 states below 50% of every threshold: AL, WY." in str(summary)
    assert "1 state without a general sales tax: MT." in str(summary)
    assert summary._repr_html_().count("<details>") == 2
    assert [row["state"] for row in summary.shown] == ["TX", "VT", "OR"]


def test_the_line_says_where_the_sales_do_not_reach_the_whole_period():
    short = exposed(state="WY", **FAR | {"period_covered": False})
    assert "1 state below 50% of every threshold, as far as the sales given reach" in exposure_html(
        short
    )


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
