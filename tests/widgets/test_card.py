"""The card of an answer: exact, escaped, loud where a part is not known."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import GOOD

from svc_sdk import TaxResponse, units_to_rate
from svc_sdk._card import card, headline
from svc_tools.lookup.outcomes import of_answer
from svc_tools.places import Place
from svc_tools.widgets.card import answer_card

PLACE = Place("TX", "zip", zip="78701")
PLAIN = set("div p span strong table caption thead tbody tr th td ul li".split())  # noqa: SIM905
"""Tags that an untrusted notebook keeps."""
PARTIAL = {"code": "districts_not_covered", "message": "not 0.00125 but more"}


def answer(rate=None, **meta):
    body = json.loads(GOOD)
    body["rate"] |= rate or {}
    body["meta"] |= meta
    return TaxResponse.model_validate(body)


class Words(HTMLParser):
    """The text of HTML, which must be well formed."""

    def __init__(self):
        super().__init__()
        self.open, self.words, self.tags = [], [], set()

    def handle_starttag(self, tag, _attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def text_of(html):
    reader = Words()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert reader.tags <= PLAIN
    return re.sub(r"\s+", " ", " ".join(reader.words))


def test_the_card_says_what_the_answer_says():
    said = text_of(card(answer(source="The list", edition="2026-10"), day="on 2026-05-01"))
    assert "Austin, Travis, TX 78701" in said
    assert "8.25 % combined rate, on 2026-05-01" in said
    for part in ("State 6.25 %", "County 0.00 %", "City 1.00 %", "Districts 1.00 %"):
        assert part in said
    assert "high one published rate fits the place" in said
    assert "not published (the publisher gives an edition, and no date for the rate)" in said
    assert "The list" in said
    assert "2026-10" in said
    assert "The service has no warnings." in said


def test_an_answer_shows_itself_in_a_notebook_without_the_toolkit():
    html = answer()._repr_html_()
    assert "8.25 %" in text_of(html)
    assert "<script" not in html
    assert "var(" not in html  # untrusted notebooks keep plain values only


def test_a_partial_answer_suggests_no_whole_rate():
    one = answer({"combined_district_rate": "0.00000"}, warnings=[PARTIAL])
    said = text_of(card(one))
    assert headline(one) == "At least 8.25 %"
    assert "PARTIAL: a part of the rate is not known." in said
    assert "known so far: not the whole rate" in said
    assert "Districts not known" in said
    assert "combined rate" not in said
    assert "Not 0.125 % but more (districts_not_covered)" in said


@pytest.mark.parametrize("one", [answer({"combined_rate": None}), answer(confidence="none")])
def test_no_rate_is_no_rate_and_no_figure_stands_for_it(one):
    said = text_of(card(one))
    assert headline(one) == "No rate"
    assert "Combined no rate" in said
    assert "8.25 %" not in said


def test_everything_from_the_service_is_escaped():
    bad = "<script>alert('x')</script>\""
    one = answer(
        {"city": bad, "county": bad, "zip": bad, "state": bad},
        confidence=bad,
        resolved_via=bad,
        effective_date=bad,
        effective_date_basis=bad,
        warnings=[bad, {"code": bad, "message": bad}, {"code": bad}],
        source=bad,
        edition=bad,
    )
    html = card(one, day=bad, facts=[(bad, bad)], notes=[bad])
    assert "script" not in re.findall(r"<\s*/?\s*(\w+)", html)
    assert "alert('x')</script>" not in html
    text_of(html)


@given(
    st.lists(st.integers(0, 30_000), min_size=4, max_size=4),
    st.booleans(),
)
def test_the_figures_are_exact_and_the_bar_is_no_wider_than_its_place(units, partial):
    names = ("state_rate", "county_rate", "city_rate", "combined_district_rate")
    rates = dict(zip(names, map(units_to_rate, units), strict=True))
    rates["combined_rate"] = units_to_rate(sum(units))
    one = answer(rates, warnings=[PARTIAL] if partial else [])
    html = card(one)
    shown = Decimal(re.search(r"(\d+\.\d+) %", headline(one))[1])
    assert shown == Decimal(sum(units)) / 1000
    widths = [Decimal(width) for width in re.findall(r"width:(\d+\.\d+)%;background", html)]
    assert sum(widths) <= (Decimal("75.05") if partial else Decimal("100.05"))
    assert len(widths) == sum(1 for one in units if one)


def carded(one, day=None):
    at = datetime(2026, 5, 20, tzinfo=UTC)
    return text_of(answer_card(one, of_answer(PLACE, one, at=at), service="the one", day=day))


def test_the_panel_says_why_a_person_should_look():
    ranged = {
        "code": "zip_spans_jurisdictions",
        "message": "spans",
        "lowest_combined_rate": "0.06250",
        "highest_combined_rate": "0.08250",
    }
    said = carded(answer(warnings=[ranged]))
    assert "from 6.25 % to 8.25 %" in said
    assert "the one" in said
    assert "2026-05-20" in said
    odd = carded(answer({"city_rate": "0.02000"}))
    assert "The parts of the rate are not its sum" in odd
    later = answer(effective_date="2026-01-01", effective_date_basis="publisher_effective_date")
    assert "took effect after the day" in carded(later, date(2025, 6, 1))
    assert "took effect" not in carded(later, date(2026, 6, 1))
