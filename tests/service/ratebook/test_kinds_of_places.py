"""Places of one kind share a verdict: each answer is what it would be if asked alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.by_zip import locate_zip

TODAY = date(2026, 11, 21)
STATES = ["CA", "IL", "KS", "MO", "NJ", "NY", "OH", "PA", "WA", "WI"]


@pytest.fixture
def fresh():
    """The shipped book, with a memory of its own."""
    book = load_book().copy()
    book.index()
    return book


@pytest.mark.unmeasured
@pytest.mark.parametrize("state", STATES)
def test_what_was_asked_before_changes_no_answer(fresh, state):
    zips = fresh.zips.zips(state)[::23]  # those of boxes too, which the crosswalk does not have
    queries = [
        Query(state, zip=zip5, as_of=day) for zip5 in zips for day in (None, date(2025, 2, 1))
    ]

    def ask(query):
        try:
            return resolve(fresh, query, today=TODAY).full()
        except NotResolved as nothing:
            return nothing.message

    alone = []
    for query in queries:
        fresh.memo.clear()
        alone.append(ask(query))
    assert [ask(query) for query in queries] == alone
    assert [ask(query) for query in reversed(queries)] == alone[::-1]


def test_a_place_that_is_changed_is_of_no_kind(fresh):
    place = locate_zip(fresh, "WI", "53202")
    assert place.kind
    assert replace(place, mismatch=True).kind == ()


def test_a_zip_is_told_to_cross_a_state_line_into_every_state_that_it_touches(fresh):
    touching = {}
    for state in fresh.states:
        for zip5 in fresh.zips.zips(state):
            if fresh.zips.touched(zip5, state):
                touching.setdefault(zip5, set()).add(state)
    for zip5, states in touching.items():
        for state in states:
            assert fresh.zips.crosses(zip5, state) == sorted(states - {state})
    assert max(map(len, touching.values())) > 1
