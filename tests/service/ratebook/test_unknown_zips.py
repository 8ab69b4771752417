"""A ZIP that leads nowhere: its city answers, and never with more confidence than a real ZIP."""

from __future__ import annotations

from datetime import date

import pytest
from compile_book.facts import TIERS

from svc_tools.service.ratebook import NotResolved
from svc_tools.service.ratebook.rating import LEVELS

DAY = date(2026, 5, 1)
BY_COUNTY_OR_CITY = (TIERS["B"] + " " + TIERS["C"]).split()
EVERY = 12
"""One in so many ZIPs of a state is tried, which keeps the file short."""


def codes(answer):
    return [note["code"] for note in answer.advisories]


@pytest.mark.parametrize(
    ("state", "line", "confidence"),
    [
        ("WI", "1 Main St, Milwaukee, WI 53202", "high"),
        ("WI", "1 Main St, Milwaukee, WI 53299", "medium"),
        ("WI", "1 Main St, Milwaukee, WI 5320", "medium"),
        ("WI", "1 Main St, Milwaukee, WI", "high"),
    ],
)
def test_how_sure_an_address_with_a_bad_zip_is(ask, state, line, confidence):
    assert ask(state, address=line, as_of=DAY).confidence == confidence


def test_where_the_state_alone_decides_a_bad_zip_takes_nothing_away(ask):
    answer = ask("MD", address="1 Main St, Baltimore, MD 21299", as_of=date(2026, 8, 1))
    assert answer.confidence == "high"


@pytest.mark.parametrize("zip5", ["99998", "00000"])
def test_a_name_with_an_unknown_zip_says_so_and_is_at_most_medium(ask, zip5):
    answer = ask("NC", location=f"Charlotte {zip5}", as_of=DAY)
    assert "zip_not_used" in codes(answer)
    assert answer.confidence == "medium"
    assert ask("NC", location="Charlotte", as_of=DAY).confidence == "high"


@pytest.mark.parametrize("state", BY_COUNTY_OR_CITY)
def test_an_unknown_zip_in_place_of_a_citys_own_never_raises_the_confidence(book, ask, state):
    # a ZIP that does not touch the city given is a reason of its own to be less sure, which a ZIP
    # that leads nowhere cannot give
    surer = []
    for zip5, place in list(book.zips.state(state).items())[::EVERY]:
        for city in filter(None, (place.city, *place.accepted[:3])):
            try:
                real = ask(state, street="1 Main St", city=city, zip=zip5, as_of=DAY)
                unknown = ask(state, street="1 Main St", city=city, zip="00000", as_of=DAY)
            except NotResolved:
                continue
            touched = real.location.decided == "named"
            if touched and LEVELS.index(unknown.confidence) > LEVELS.index(real.confidence):
                surer.append((zip5, city, real.confidence, unknown.confidence))
    assert surer == []
