"""Any lookup in any mode: a refusal that says why, or a result that adds up and says how sure."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.gazetteer import PlaceNames, place_names

TODAY = date(2026, 11, 21)
RATE = re.compile(r"[0-9]\.[0-9]{5}")
PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")
STATES = sorted(load_book().states)
DAYS = st.none() | st.dates(date(2003, 1, 1), date(2031, 12, 31))
NOISE = st.text(min_size=1, max_size=60)
WORDS = st.sampled_from(
    ["12", "Main St,", "PO Box", "28202", "Suite 5", "Attn Bob", "zip", "1726", "NC", "USA", "Co."]
) | st.sampled_from(["County of", "LA", "Ontario,", "APO AE", "28202-1234", "and", "-", "Store"])


@lru_cache
def all_names(state):
    return sorted(place_names(load_book(), state).spelled.values())


@lru_cache
def all_zips(state):
    return load_book().zips.zips(state)


@st.composite
def queries(draw):
    """A query in one mode: places of the state, places of another, or noise."""
    book = load_book()
    state = draw(st.sampled_from(STATES))
    there = draw(st.sampled_from([state, state, state, draw(st.sampled_from(STATES))]))
    zips = all_zips(there)
    zip5 = draw(st.sampled_from(zips) | st.from_regex(r"[0-9]{5}", fullmatch=True))
    plus4 = draw(st.sampled_from(["", "-1234"]))
    name = draw(st.sampled_from(all_names(there)) | NOISE)
    mode = draw(st.sampled_from(["zip", "place", "line", "parts", "point", "words"]))
    day = draw(DAYS)
    if mode == "zip":
        return Query(state=state, zip=zip5 + plus4, as_of=day)
    if mode == "place":
        return Query(state=state, location=name, as_of=day)
    if mode == "line":
        form = draw(st.sampled_from(["1 Elm St, {}, {} {}", "1 Elm St {} {} {}", "{2} {0} {1}"]))
        return Query(state=state, address=form.format(name, there, zip5 + plus4), as_of=day)
    if mode == "parts":
        given_zip = draw(st.none() | st.just(zip5 + plus4))
        return Query(state=state, street="1 Elm St", city=name, zip=given_zip, as_of=day)
    if mode == "point":
        place = book.zips.state(there).get(zip5)
        lat, lng = (float(place.lat), float(place.lng)) if place else (39.0, -95.0)
        near = st.floats(-0.2, 0.2)
        return Query(state=state, lat=lat + draw(near), lng=lng + draw(near), as_of=day)
    words = " ".join(draw(st.lists(WORDS | st.just(name), min_size=1, max_size=8)))
    return Query(state=state, address=words, as_of=day)


def check_rates(row):
    """Every rate of a row is a five-decimal string, and its parts add up to the whole."""
    parts = [row[name] for name in PARTS if name in row]
    assert all(RATE.fullmatch(text) for text in (*parts, row["combined_rate"]))
    assert sum(map(Decimal, parts)) == Decimal(row["combined_rate"])


@examples(40, of=250)
@given(queries())
def test_a_refusal_says_why_and_an_answer_adds_up(query):
    try:
        answer = resolve(load_book(), query, today=TODAY)
    except NotResolved as reason:
        check_refusal(reason)
    else:
        check_answer(answer, query.state)


def check_refusal(reason):
    """It has a code and says what is the matter."""
    assert reason.code in {"NOT_FOUND", "STATE_NOT_SUPPORTED"}
    assert len(reason.message) > len("no such place")
    json.dumps(reason.detail)


def check_answer(answer, state):
    """Its parts add up, its warnings explain themselves, and it claims no more than it knows."""
    body = json.loads(json.dumps(answer.full()))
    rate, meta = body["rate"], body["meta"]
    check_rates(rate)
    assert rate["country"] == "US"
    assert rate["state"] == state
    assert meta["confidence"] in {"low", "medium", "high", "exact"}
    assert meta["resolved_via"] in {"address", "zip4", "zip5", "place", "coordinates", "state"}
    bases = {"publisher_effective_date", "edition_only", "no_published_date"}
    assert meta["effective_date_basis"] in bases
    assert (meta["effective_date"] is not None) == (
        meta["effective_date_basis"] == "publisher_effective_date"
    )
    assert all(warning["code"] and warning["message"] for warning in meta["warnings"])
    assert all(value is not None for warning in meta["warnings"] for value in warning.values())
    codes = [warning["code"] for warning in meta["warnings"]]
    for candidate in body["candidates"]:
        check_rates(candidate)
        assert candidate["why"]
    assert body["candidates"][0]["combined_rate"] == rate["combined_rate"]
    assert sum(Decimal(one["rate"]) for one in body["components"]) == Decimal(rate["combined_rate"])
    check_spans(body)
    if "place_input_mismatch" in codes:
        (mismatch,) = [w for w in meta["warnings"] if w["code"] == "place_input_mismatch"]
        assert mismatch["customer_input_place"]
        assert mismatch["resolved_place_name"]
        assert meta["confidence"] in {"low", "medium"} or body["resolved_place"]["tier"] == "A"
    simple = answer.simple()
    assert (simple["rate"], simple["meta"]) == (answer.full()["rate"], answer.full()["meta"])


def check_spans(body):
    """Several rates are told with their number and range, and nothing claims to be sure of one.

    Where all that is known is equal and a part of one is missing, there is no range.
    """
    first, *others = body["candidates"]
    rates = {candidate["combined_rate"] for candidate in body["candidates"]}
    unknown = not first["missing"] and any(candidate["missing"] for candidate in others)
    spans = [w for w in body["meta"]["warnings"] if w["code"] == "zip_spans_jurisdictions"]
    assert len(spans) == (len(rates) > 1 or unknown)
    for found in spans:
        assert body["meta"]["confidence"] in {"low", "medium"}
        if len(rates) == 1:
            assert "lowest_combined_rate" not in found
            continue
        low, high = found["lowest_combined_rate"], found["highest_combined_rate"]
        assert (found["candidates"], low, high) == (len(rates), min(rates), max(rates))
        assert low < high
        assert low <= body["rate"]["combined_rate"] <= high


SOME = ["CA", "IL", "KS", "MO", "NJ", "NY", "OH", "PA", "WA", "WI"]


@pytest.fixture
def fresh():
    """The shipped book, with a memory of its own."""
    book = load_book().copy()
    book.index()
    return book


@pytest.mark.unmeasured
@pytest.mark.parametrize("state", SOME)
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

    tables = (PlaceNames, dict)  # of the state, which depend on no lookup
    alone = []
    for query in queries:
        alone.append(ask(query))
        for key in [key for key, kept in fresh.memo.items() if not isinstance(kept, tables)]:
            del fresh.memo[key]
    assert [ask(query) for query in queries] == alone
    assert [ask(query) for query in reversed(queries)] == alone[::-1]


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
