"""The card in the panel: that of the answer, and why a person should look."""

from __future__ import annotations

from datetime import UTC, date, datetime

from support.cards import answer, text_of

from svc_tools.lookup.outcomes import of_answer
from svc_tools.places import Place
from svc_tools.widgets.lookup_tab import result_card

PLACE = Place("TX", "zip", zip="78701")


def carded(one, day=None):
    at = datetime(2026, 5, 20, tzinfo=UTC)
    return text_of(result_card(one, of_answer(PLACE, one, at=at), service="the one", day=day))


def test_the_panel_says_why_a_person_should_look():
    ranged = {
        "code": "zip_spans_jurisdictions",
        "message": "spans",
        "lowest_combined_rate": "0.06250",
        "highest_combined_rate": "0.08250",
    }
    said = carded(answer(warnings=[ranged]))
    assert "from 6.25% to 8.25%" in said
    assert "the one" in said
    assert "2026-05-20" in said
    odd = carded(answer({"city_rate": "0.02000"}))
    assert "The parts of the rate are not its sum" in odd
    later = answer(effective_date="2026-01-01", effective_date_basis="publisher_effective_date")
    assert "took effect after the day" in carded(later, date(2025, 6, 1))
    assert "took effect" not in carded(later, date(2026, 6, 1))


def test_what_the_service_warns_of_is_said_once():
    one = answer(warnings=[{"code": "source_conflict", "message": "Two lists differ"}])
    html = result_card(one, of_answer(PLACE, one), service="the one")
    assert html.count("<li>") == 1
    assert "Two lists differ (source_conflict)" in html
