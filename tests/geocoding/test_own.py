"""Geocoders of the user: a function, one of geopy, and its rate limiter."""

from __future__ import annotations

from decimal import Decimal
from functools import partial, wraps
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from svc_tools.geocoding.store import addresses_info, addresses_path

BY_ZIP, BY_POINT = "0.09000", "0.07500"
OUTSIDE = 37.43, -94.80  # of every city, in the same ZIP


class Location(NamedTuple):
    """What the geocoders of geopy return."""

    address: str
    latitude: float
    longitude: float


class Nominatim:
    """As one of geopy: `geocode` takes a text."""

    __module__ = "geopy.geocoders.nominatim"
    domain = "nominatim.example"

    def __init__(self):
        self.asked = []

    def geocode(self, query):
        self.asked.append(query)
        return None if query.startswith("2 ") else Location(query, *OUTSIDE)


class RateLimiter:
    """As that of geopy: it holds the function that it calls."""

    __module__ = "geopy.extra.rate_limiter"

    def __init__(self, func):
        self.func = func

    def __call__(self, *given):
        return self.func(*given)


@pytest.fixture
def look_up(embedded, tmp_path):
    def looked_up(*streets, **options):
        frame = pd.DataFrame({"street": streets, "zip": "66762", "state": "KS", "who": "Jane"})
        given = {"address": "street", "zip": "zip", "state": "state", "as_of": "2026-08-01"}
        given |= {"client": embedded, "cache": tmp_path / "results.db", "progress": False}
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
    assert any(
        "Nominatim (nominatim.example): 1 similar match, 1 without a match" in one for one in notes
    )
    (info,) = stored()
    name = "geopy.geocoders.nominatim.Nominatim (nominatim.example)"
    assert (info.geocoder, info.similar, info.unmatched) == (name, 1, 1)
    assert look_up("1 Oak St", "2 Oak St", geocode=nominatim.geocode)[0] == [BY_POINT, BY_ZIP]
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


ASKED = []


def middle(address):
    """A function from an address to a point."""
    ASKED.append(address)
    return OUTSIDE


@pytest.fixture
def asked():
    ASKED.clear()
    return ASKED


SAYS = {}


def saying(address):
    """A function of this module, of which each test says what it returns."""
    return SAYS["now"](address)


def made(point):
    """One of many functions of the same name."""

    def found_by(address):
        ASKED.append(address)
        return point

    return found_by


class Positions:
    """Many objects of the same class."""

    def __init__(self, point):
        self.point = point

    def __call__(self, address):
        return made(self.point)(address)

    def geocode(self, address):
        return made(self.point)(address)


class WithDomain(Positions):
    """One that is not geopy's, with a domain as that has."""

    domain = "nominatim.example"


class GeopyPositions(WithDomain):
    """A geocoder of geopy with more than the one method."""

    __module__ = "geopy.geocoders.positions"

    def reverse(self, address):
        return self.geocode(address)


def given(point, address):
    """A function with a further argument."""
    return made(point)(address)


def test_a_function_of_a_module_is_stored_under_its_name(look_up, stored, asked):
    for choice in (middle, middle, RateLimiter(middle)):
        found, notes = look_up("1 Oak St", geocode=choice)
        assert found == [BY_POINT]
        assert not any("not stored" in note for note in notes)
    assert len(asked) == 1
    assert [one.geocoder for one in stored()] == [f"{__name__}.middle"]


@pytest.mark.parametrize(
    "make",
    [
        made,
        lambda point: partial(given, point),
        lambda point: wraps(middle)(made(point)),
        lambda point: RateLimiter(made(point)),
        lambda point: RateLimiter(partial(given, point)),
        lambda point: partial(RateLimiter(given), point),
        lambda point: partial(GeopyPositions(point).geocode),
        lambda point: GeopyPositions(point).reverse,
        Positions,
        WithDomain,
        lambda point: WithDomain(point).geocode,
        lambda point: Positions(point).__call__,
        lambda point: lambda _: ASKED.append("") or point,
    ],
)
def test_what_shares_its_name_with_others_is_not_stored(look_up, stored, asked, make):
    """Else another one would be given its results."""
    for point, rate in ((None, BY_ZIP), (OUTSIDE, BY_POINT)):
        found, notes = look_up("1 Oak St", geocode=make(point))
        assert found == [rate]
        assert any("are not stored, because" in note for note in notes)
    assert len(asked) == 2
    assert stored() == ()


def test_what_a_notebook_or_a_script_defines_is_not_stored(look_up, stored, monkeypatch):
    """Its names are those of any other notebook, and it is changed and run again."""
    asked = []

    def found_by(address):
        asked.append(address)
        return OUTSIDE

    nominatim = Nominatim()
    monkeypatch.setattr(found_by, "__module__", "__main__")
    monkeypatch.setattr(Nominatim, "__module__", "__main__")
    choices = (found_by, partial(found_by), RateLimiter(found_by), nominatim, nominatim.geocode)
    for choice in choices:
        found, notes = look_up("1 Oak St", geocode=choice)
        assert found == [BY_POINT]
        (note,) = [note for note in notes if "are not stored, because" in note]
        assert "because what a notebook or script defines may change and keep its name" in note
        assert "those of a function imported from a module are stored" in note
    assert len(asked) == 3
    assert len(nominatim.asked) == 2
    assert not stored()
    # where nothing is to be stored, nothing is said of it
    notes = look_up("1 Oak St", geocode=found_by, cache=False)[1]
    assert not any("are not stored, because" in note for note in notes), notes


@pytest.mark.parametrize(
    "nowhere",
    [
        None,
        (None, None),
        (0, 0),
        (float("nan"), 1.0),
        (float("inf"), -94.7),
        (51.5, 0),
        (17.4, -94.7),
    ],
)
def test_what_is_no_point_of_the_states_is_no_match(look_up, nowhere):
    found, notes = look_up("1 Oak St", geocode=lambda _: nowhere)
    assert found == [BY_ZIP]
    assert any("1 without a match; sent now: 1" in note for note in notes)


@pytest.mark.parametrize(
    "point",
    [
        np.array(OUTSIDE),
        (np.float32(OUTSIDE[0]), np.float64(OUTSIDE[1])),
        [Decimal(str(degrees)) for degrees in OUTSIDE],
        pd.Series(OUTSIDE, index=["latitude", "longitude"]),
        pd.Series(OUTSIDE, index=["y", "x"]),
        Location("1 Oak St", *OUTSIDE),
    ],
)
def test_a_pair_of_numbers_of_any_kind_is_a_point(look_up, point):
    assert look_up("1 Oak St", geocode=lambda _: point)[0] == [BY_POINT]


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            "37.4, -94.6",
            "37",
            7,
            (1, 2, 3),
            object(),
            ("a", "b"),
            (37.4, None),
            {"lat": 1, "lng": 2},
        ),
        *({37.4, -94.6}, [Location("1 Oak St", *OUTSIDE)], np.array([OUTSIDE]), b"37"),
    ],
)
def test_what_is_no_result_is_an_error_of_its_address(look_up, stored, wrong):
    found, notes = look_up(
        *("1 Oak St", "2 Oak St", "3 Oak St"),
        geocode=lambda address: wrong if address.startswith("2 ") else OUTSIDE,
    )
    assert found == [BY_POINT, BY_ZIP, BY_POINT]
    (note,) = [note for note in notes if "sent now" in note]
    expected = "TypeError: geocode: expected a location with latitude and longitude, a pair of them"
    assert (
        f"1 without a response, so that its ZIP decides; sent now: 3; the last error: {expected}"
        in note
    )
    assert note.endswith(f"not {type(wrong).__name__}")
    with pytest.warns(UserWarning, match="cannot be used now: TypeError: geocode: expected"):
        look_up("4 Oak St", "5 Oak St", "6 Oak St", geocode=lambda _: wrong)


def exchanged(_):
    """A function with the longitude first."""
    return OUTSIDE[::-1]


@pytest.mark.parametrize("swapped", [OUTSIDE[::-1], Location("1 Oak St", *OUTSIDE[::-1])])
def test_a_longitude_that_comes_first_is_an_error_and_not_stored(look_up, stored, swapped):
    expected = r"returned longitude first, -94.8, 37.43: expected \(latitude, longitude\)"
    with pytest.raises(ValueError, match=expected):
        look_up("1 Oak St", "2 Oak St", geocode=lambda _: swapped)
    with pytest.raises(ValueError, match=expected):
        look_up("1 Oak St", geocode=exchanged)
    assert not stored()
    assert look_up("1 Oak St", geocode=middle)[0] == [BY_POINT]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("lat"), "KeyError: 'lat'"),
        (OSError(), "OSError"),
        (OSError("line 1\nline 2"), "OSError: line 1 line 2"),
        (
            OSError("401 for url: https://g.example/v1?key=s3cret&q=1 (GET)"),
            "OSError: 401 for url: https://g.example/v1?… (GET)",
        ),
    ],
)
def test_a_note_names_the_last_error_also_where_few_addresses_failed(look_up, error, words):
    def fails(address):
        if address.startswith("1 "):
            raise ValueError("not this one")
        if address.startswith("3 "):
            raise error
        return OUTSIDE

    found, notes = look_up("1 Oak St", "2 Oak St", "3 Oak St", geocode=fails)
    assert found == [BY_ZIP, BY_POINT, BY_ZIP]
    (note,) = [note for note in notes if "sent now" in note]
    assert note.endswith(
        f"1 similar match, 2 without a response, so that their ZIP decides; sent now: 3; the last"
        f" error: {words}"
    )
    _, notes = look_up("1 Oak St", "4 Oak St", geocode=fails)
    assert any(note.endswith("; the last error: ValueError: not this one") for note in notes)


def test_an_address_that_fails_is_left_out_and_a_geocoder_that_fails_is_given_up(
    look_up, stored, monkeypatch
):
    asked = []

    def fails(address):
        asked.append(address)
        if not address.startswith(("1 ", "3 ")):
            raise OSError("quota exceeded")
        return OUTSIDE

    monkeypatch.setitem(SAYS, "now", fails)
    streets = [f"{number} Oak St" for number in (1, 2, 3, 4, 5, 6, 7)]
    with pytest.warns(UserWarning, match="cannot be used now: OSError: quota exceeded"):
        found, notes = look_up(*streets, geocode=saying)
    assert found == [BY_POINT, BY_ZIP, BY_POINT, *[BY_ZIP] * 4]
    assert len(asked) == 6
    assert any("cannot be used now: OSError: quota exceeded" in note for note in notes)
    assert any("5 without a response" in note for note in notes)
    assert [one.addresses for one in stored()] == [2]


def test_what_was_found_before_an_interrupt_stays(look_up, stored, monkeypatch):
    asked = []

    def interrupted(address):
        asked.append(address)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return OUTSIDE

    monkeypatch.setitem(SAYS, "now", interrupted)
    streets = [f"{number} Oak St" for number in range(1, 6)]
    with pytest.warns(UserWarning, match="interrupted"):
        assert look_up(*streets, geocode=saying)[0] == ["<NA>"] * 5
    assert [one.addresses for one in stored()] == [2]
    assert look_up(*streets, geocode=saying)[0] == [BY_POINT] * 5
    assert len(asked) == 6
