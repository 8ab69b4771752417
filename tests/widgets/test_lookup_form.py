"""The fields of a lookup become one question, or a sentence at the field that is wrong."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_sdk import _requests
from svc_tools.places import STATES
from svc_tools.widgets.lookup_tab import ENTRIES, LookupQuery, query_of

_NAMES = [entry.name for entry in ENTRIES if entry.kind != "radio"]


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        (
            {"state": "Texas", "zip": " 78701 "},
            "client.lookup('TX', zip='78701')",
            "TX 78701",
        ),
        (
            {"zip": "02108", "mode": "zip"},
            "client.lookup('MA', zip='02108')",
            "MA 02108",
        ),
        (
            {"mode": "address", "state": "TX", "address": "1100 Congress Ave", "city": "Austin"},
            "client.lookup('TX', address='1100 Congress Ave', city='Austin')",
            "1100 Congress Ave, Austin, TX",
        ),
        (
            {"mode": "place", "state": "wa", "location": "Seattle", "zip": "no zip at all"},
            "client.lookup('WA', location='Seattle')",
            "Seattle, WA",
        ),
        (
            {"mode": "address", "address": "600 Congress Ave, Austin, TX 78701"},
            "client.lookup('TX', address='600 Congress Ave, Austin, TX 78701')",
            "600 Congress Ave, Austin, TX 78701",
        ),
        (
            {"mode": "address", "address": "600 Congress Ave", "city": "Austin, TX"},
            "client.lookup('TX', address='600 Congress Ave', city='Austin, TX')",
            "600 Congress Ave, Austin, TX",
        ),
        (
            {"mode": "address", "address": "600 Congress Ave", "address_zip": "78701"},
            "client.lookup('TX', address='600 Congress Ave', zip='78701')",
            "600 Congress Ave, TX 78701",
        ),
        (
            {"mode": "place", "location": "Austin, TX"},
            "client.lookup('TX', location='Austin, TX')",
            "Austin, TX",
        ),
        (
            {"mode": "coordinates", "state": "TX", "lat": "30.27", "lng": "-97.74"},
            "client.lookup('TX', lat=30.27, lng=-97.74)",
            "TX, 30.27, -97.74",
        ),
        (
            {"state": "TX", "zip": "78701", "when": "date", "as_of": "2024-05-01"},
            "client.lookup('TX', zip='78701', as_of='2024-05-01')",
            "TX 78701",
        ),
        (
            {"state": "TX", "zip": "78701", "when": "today", "as_of": "2024-05-01"},
            "client.lookup('TX', zip='78701')",
            "TX 78701",
        ),
    ],
)
def test_each_mode_asks_with_its_own_fields_alone(values, code, words):
    question = query_of(values)
    assert question.code() == code
    assert question.words == words


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({}, "zip", "Give a ZIP Code"),
        ({"state": "TX", "zip": "787"}, "zip", "not in TX"),
        ({"state": "TX", "zip": "K1A 0B1"}, "zip", "Canadian"),
        ({"state": "Texarkana", "zip": "78701"}, "state", "not a US state"),
        ({"state": "Puerto Rico", "zip": "00901"}, "zip", "territory"),
        ({"mode": "place", "location": "Austin"}, "state", "Give the state"),
        ({"mode": "place", "state": "TX"}, "location", "name of a place"),
        ({"zip": "42223"}, "state", "Give the state, such as TX: ZIP 42223 lies in KY and TN."),
        ({"mode": "address", "address": "600 Congress Ave"}, "state", "Give the state"),
        ({"mode": "coordinates", "lat": "30", "lng": "-97"}, "state", "Give the state"),
        ({"mode": "place", "state": "TX", "location": "x" * 65}, "location", "more than 64"),
        ({"mode": "coordinates", "state": "TX", "lat": "91", "lng": "0"}, "lat", "within"),
        ({"mode": "coordinates", "state": "TX", "lat": "north", "lng": "0"}, "lat", "number"),
        ({"mode": "address", "state": "TX", "address": "1 A", "city": ""}, "address", "expected"),
        (
            {"mode": "address", "state": "TX", "address": "1 A" * 90, "address_zip": "78701"},
            "address",
            "too long",
        ),
        (
            {"mode": "address", "state": "TX", "address": "1100 Congress", "address_zip": "1"},
            "address_zip",
            "not a ZIP",
        ),
        ({"state": "TX", "zip": "78701", "when": "date"}, "as_of", "Give the date"),
        ({"state": "TX", "zip": "78701", "when": "date", "as_of": "5/1"}, "as_of", "2026-05-01"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence_at_its_field(values, field, said):
    errors = query_of(values)
    assert said in errors[field]
    assert errors[field].endswith(".")


_TEXTS = st.text(max_size=20) | st.sampled_from(["78701", "TX", "Austin", "30.2", "2024-05-01"])


@given(
    st.dictionaries(st.sampled_from(_NAMES), _TEXTS),
    st.sampled_from(["zip", "address", "place", "coordinates"]),
    st.sampled_from(["today", "date"]),
)
def test_whatever_is_typed_is_a_question_of_the_chosen_mode_or_a_sentence(values, mode, when):
    question = query_of(values | {"mode": mode, "when": when})
    if isinstance(question, LookupQuery):
        place = question.place
        assert place.mode == mode
        assert place.state in STATES
        assert (place.as_of is not None) == (when == "date")
        arguments = dict.fromkeys(
            ("address", "city", "zip", "location", "lat", "lng", "as_of", "period")
        )
        _requests.lookup(place.state, **(arguments | place.arguments()), mode="simple")
    else:
        assert question
        assert set(question) <= set(_NAMES)


def test_a_day_is_that_day():
    values = {"state": "TX", "zip": "78701", "when": "date", "as_of": "2024-02-29"}
    assert query_of(values).day == date(2024, 2, 29)
