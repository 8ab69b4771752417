"""Geocoders of the user: a function, one of geopy, and its rate limiter."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pandas as pd
import pytest
from support.census import FRONTENAC

import svc_tools
from svc_tools.geocoding.store import addresses_info, addresses_path

BY_ZIP, BY_POINT = "0.09000", "0.09500"


class Location(NamedTuple):
    """What the geocoders of geopy return."""

    address: str
    latitude: float
    longitude: float


class Nominatim:
    """As one of geopy: `geocode` takes a text."""

    domain = "nominatim.example"

    def __init__(self):
        self.asked = []

    def geocode(self, query):
        self.asked.append(query)
        return None if query.startswith("2 ") else Location(query, *FRONTENAC)


class RateLimiter:
    """As that of geopy: it holds the function that it calls."""

    def __init__(self, func):
        self.func = func

    def __call__(self, *given):
        return self.func(*given)


@pytest.fixture(scope="module")
def client():
    with svc_tools.connect("embedded") as client:
        yield client


@pytest.fixture
def look_up(client, tmp_path):
    def looked_up(*streets, **options):
        frame = pd.DataFrame({"street": streets, "zip": "66762", "state": "KS", "who": "Jane"})
        given = {"address": "street", "zip": "zip", "state": "state", "as_of": "2026-08-01"}
        given |= {"client": client, "cache": tmp_path / "results.db", "progress": False}
        found = frame.svc.lookup(**given | options)
        (record,) = found.attrs["svc"]["lookups"].values()
        return [str(rate) for rate in found["combined_rate"]], record["notes"]

    return looked_up


@pytest.fixture
def stored(tmp_path):
    return lambda: addresses_info(addresses_path(tmp_path / "results.db")).geocoders


def test_a_geocoder_of_geopy_decides_by_a_similar_match(look_up, stored):
    nominatim = Nominatim()
    found, notes = look_up("1 Oak St", "2 Oak St", geocode=nominatim)
    assert found == [BY_POINT, BY_ZIP]
    assert nominatim.asked == ["1 OAK ST, KS 66762", "2 OAK ST, KS 66762"]
    assert any("Nominatim (nominatim.example): 1 similar match, 1 no match" in one for one in notes)
    (info,) = stored()
    assert (info.geocoder, info.similar, info.unmatched) == ("Nominatim (nominatim.example)", 1, 1)
    limited = RateLimiter(nominatim.geocode)
    assert look_up("1 Oak St", "2 Oak St", geocode=limited)[0] == [BY_POINT, BY_ZIP]
    assert len(nominatim.asked) == 2  # the limited one is the same geocoder


def test_an_error_that_a_rate_limiter_returns_as_no_match_is_not_stored(look_up, stored):
    """That of geopy does so unless it is made with `swallow_exceptions=False`."""
    nominatim = Nominatim()
    limited = RateLimiter(nominatim.geocode)
    limited.swallow_exceptions = True
    found, notes = look_up("1 Oak St", "2 Oak St", geocode=limited)
    assert found == [BY_POINT, BY_ZIP]
    assert any("1 without a response" in note for note in notes)
    assert [one.addresses for one in stored()] == [1]
    limited.swallow_exceptions = False
    look_up("1 Oak St", "2 Oak St", geocode=limited)
    assert [(one.addresses, one.unmatched) for one in stored()] == [(2, 1)]
    assert len(nominatim.asked) == 3


def middle(address, asked=None):
    """A function from an address to a point."""
    if asked is not None:
        asked.append(address)
    return FRONTENAC


def test_a_function_is_stored_under_its_name_and_one_without_a_name_is_not(look_up, stored):
    asked = []
    for _ in range(2):
        assert look_up("1 Oak St", geocode=partial(middle, asked=asked))[0] == [BY_POINT]
    assert len(asked) == 1
    assert [one.geocoder for one in stored()] == [f"{__name__}.middle"]
    asked.clear()
    for _ in range(2):
        assert look_up("1 Oak St", geocode=lambda one: asked.append(one))[0] == [BY_ZIP]  # noqa: PLW0108 - a function without a name
    assert len(asked) == 2
    assert len(stored()) == 1


@pytest.mark.parametrize("nowhere", [None, (0, 0), (-94.69, 37.45), (float("nan"), 1.0), (51.5, 0)])
def test_what_is_no_point_of_the_states_is_no_match(look_up, nowhere):
    assert look_up("1 Oak St", geocode=lambda _: nowhere)[0] == [BY_ZIP]


@pytest.mark.parametrize("wrong", ["37.4, -94.6", 7, (1, 2, 3), object(), ("a", "b")])
def test_what_is_no_result_is_refused(look_up, wrong):
    with pytest.raises(TypeError, match="geocode: expected a location with latitude and longitude"):
        look_up("1 Oak St", geocode=lambda _: wrong)


def test_an_address_that_fails_is_left_out_and_a_geocoder_that_fails_is_given_up(look_up, stored):
    asked = []

    def fails(address):
        asked.append(address)
        if not address.startswith(("1 ", "3 ")):
            raise OSError("quota exceeded")
        return FRONTENAC

    streets = [f"{number} Oak St" for number in (1, 2, 3, 4, 5, 6, 7)]
    with pytest.warns(UserWarning, match="cannot be used now: OSError: quota exceeded"):
        found, notes = look_up(*streets, geocode=fails)
    assert found == [BY_POINT, BY_ZIP, BY_POINT, *[BY_ZIP] * 4]
    assert len(asked) == 6
    assert any("cannot be used now: OSError: quota exceeded" in note for note in notes)
    assert any("5 without a response" in note for note in notes)
    assert [one.addresses for one in stored()] == [2]


def test_what_was_found_before_an_interrupt_stays(look_up, stored):
    asked = []

    def interrupted(address):
        asked.append(address)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return FRONTENAC

    streets = [f"{number} Oak St" for number in range(1, 6)]
    with pytest.warns(UserWarning, match="interrupted"):
        assert look_up(*streets, geocode=interrupted)[0] == ["<NA>"] * 5
    assert [one.addresses for one in stored()] == [2]
    assert look_up(*streets, geocode=interrupted)[0] == [BY_POINT] * 5
    assert len(asked) == 6
