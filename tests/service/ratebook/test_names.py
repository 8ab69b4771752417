"""Comparing names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook.names import bare_county, name_key, name_keys, title_name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("St. Louis", "SAINT LOUIS"),
        ("Ft Myers", "Fort Myers"),
        ("Mt. Vernon", "mount vernon"),
        ("O'Fallon", "OFallon"),
        ("Winston-Salem", "Winston Salem"),
        ("La Cañada", "la canada"),
        ("N. Las Vegas", "North Las Vegas"),
        ("De Soto", "DeSoto"),
    ],
)
def test_one_name_written_in_two_ways(one, other):
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Richmond city", "Richmond County"), ("Kansas City", "Kansas")]
)
def test_two_names(one, other):
    assert name_key(one) != name_key(other)


def test_prefixes_are_tried_last():
    assert name_keys("City of Industry") == ["cityofindustry", "industry"]
    assert name_keys("County of Orange") == ["countyoforange", "orangecounty"]


def test_counties_without_their_last_word():
    assert bare_county("Miami-Dade County") == "miamidade"
    assert bare_county("Fairfax city") == "fairfax"
    assert bare_county("Orleans Parish") == "orleans"


def test_names_of_a_table_in_capitals():
    assert title_name("OAK HARBOR") == "Oak Harbor"
    assert title_name("KING COUNTY NON-RTA") == "King County Non-RTA"


@given(st.text(max_size=80))
def test_keys_are_plain_and_stable(text):
    key = name_key(text)
    assert key == name_key(text.strip()) == name_key(f"{text} ")
    assert key.isascii()
    assert key == key.casefold()
