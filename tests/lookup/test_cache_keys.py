"""Equal questions share a key, different ones never do."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import PLACES

from svc_tools.lookup.cache_store import place_key
from svc_tools.places import Place


@given(PLACES, PLACES)
def test_different_places_have_different_keys_and_equal_ones_the_same(one, other):
    assert (place_key(one) == place_key(other)) == (one == other)


@given(PLACES, PLACES, st.data())
def test_one_field_that_differs_is_enough(one, other, data):
    name = data.draw(st.sampled_from([field.name for field in dataclasses.fields(Place)]))
    changed = dataclasses.replace(one, **{name: getattr(other, name)})
    assert (place_key(one) == place_key(changed)) == (one == changed)


@given(PLACES)
def test_a_key_is_plain_ascii(place):
    key = place_key(place)
    assert key.isascii()
    assert key.isprintable()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Place("TX", "zip", zip="78701"), Place("TX", "zip", zip="78701 -")),
        (Place("TX", "zip", zip="78701"), Place("TX", "place", location="78701")),
        (Place("TX", "zip", zip="78701"), Place("TX", "address", address="", zip="78701")),
        (Place("TX", "place", location="-"), Place("TX", "place")),
        (Place("TX", "address", 'a" "b', None), Place("TX", "address", "a", "b")),
        (Place('"TX" - -', "zip", zip="inf"), Place("TX", "zip", zip="inf", lat=1.0)),
        (Place("TX", "coordinates", lat=0.1), Place("TX", "coordinates", lat=0.1 + 2**-55)),
    ],
)
def test_what_looks_alike_is_kept_apart(one, other):
    assert place_key(one) != place_key(other)


def test_numbers_that_are_equal_are_one_question():
    one = Place("TX", "coordinates", lat=30, lng=-0.0)
    assert place_key(one) == place_key(Place("TX", "coordinates", lat=30.0, lng=0.0))


def test_a_moment_counts_as_its_day():
    moment = datetime(2024, 5, 1, 23, 59)  # noqa: DTZ001 - as pandas gives them
    key = place_key(Place("TX", "zip", zip="78701", as_of=moment))
    assert key == place_key(Place("TX", "zip", zip="78701", as_of=date(2024, 5, 1)))
