"""Many points at once, as rows of a frame or of a list: each as it is alone and over HTTP."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

import svc_tools
from svc_sdk import SvcError
from svc_tools.lookup import look_up, lookup_many
from svc_tools.lookup.outcomes import failed, of_response
from svc_tools.tables.places import Place

DAY = date(2026, 8, 1)
GROTON = 45.46368, -98.09243  # on a limit beyond which the rate is another
AROUND = {  # a city with others around it, or a state's edge, of each kind of state
    "KS": (39.10, -94.65),
    "GA": (33.77, -84.30),
    "MN": (44.95, -93.20),
    "SD": GROTON,
    "TX": (30.27, -97.74),
    "VT": (44.48, -73.20),
    "NC": (35.23, -80.84),
    "NJ": (40.73, -74.17),
    "WA": (47.61, -122.33),
}


@pytest.fixture(scope="module")
def client():
    with svc_tools.connect("embedded", max_retries=0) as client:
        yield client


def requested(client, place):
    """The outcome of a request for a place."""
    try:
        response = client.lookup(place.state, mode="simple", **place.arguments())
    except SvcError as error:
        return replace(failed(error), support_reference=None)
    return of_response(place, response)


def plain(outcome):
    return replace(outcome, looked_up_at=None, support_reference=None)


@st.composite
def points(draw):
    state = draw(st.sampled_from(sorted(AROUND)))
    lat, lng = AROUND[state]
    lat, lng = lat + draw(st.floats(-0.05, 0.05)), lng + draw(st.floats(-0.05, 0.05))
    return Place(state, "coordinates", lat=lat, lng=lng, as_of=DAY)


@pytest.mark.timeout(240)  # a request for each on a busy machine
@examples(10, of=100)
@given(st.lists(points(), min_size=1, max_size=10, unique=True))
def test_many_points_at_once_have_the_outcomes_of_requests(client, places):
    run = look_up(client, places)
    assert list(run.outcomes) == places
    for place, outcome in run.outcomes.items():
        assert plain(outcome) == requested(client, place)
    one_by_one = [plain(outcome) for _, outcome in lookup_many(places, client=client)]
    assert one_by_one == [plain(outcome) for outcome in run.outcomes.values()]


def test_rows_near_a_limit_are_flagged_and_the_others_of_the_city_are_not(client):
    steps = [-600, -60, -12, 12, 60, 1500]
    frame = pd.DataFrame(
        {
            "state": "SD",
            "lat": [GROTON[0] + 0.7 * step / 111_195 for step in steps],
            "lng": [GROTON[1] + step / 111_195 for step in steps],
            "date": "2026-08-01",
        }
    )
    rated = frame.svc.lookup(client=client)
    assert rated["combined_rate"].tolist() == [Decimal("0.062")] * 3 + [Decimal("0.042")] * 3
    assert rated["confidence"].tolist() == ["high", "medium", "low", "low", "medium", "high"]
    assert rated["needs_review"].tolist() == [False, True, True, True, True, False]
    reasons = rated["lookup_review_reason"]
    assert set(reasons[rated["needs_review"]]) == {"address_near_boundary"}
    near = rated["needs_review"]
    assert rated.loc[near, "rate_low"].tolist() == [Decimal("0.042")] * 4
    assert rated.loc[near, "rate_high"].tolist() == [Decimal("0.062")] * 4
    assert rated.loc[~near, ["rate_low", "rate_high"]].isna().all(axis=None)
    for at in range(len(frame)):
        alone = frame.iloc[[at]].svc.lookup(client=client)
        pd.testing.assert_frame_equal(
            alone.drop(columns="looked_up_at"),
            rated.iloc[[at]].drop(columns="looked_up_at"),
            check_categorical=False,
            check_dtype=False,
        )


def test_a_city_that_is_a_name_of_the_zips_around_is_no_mismatch(client):
    """In Sandy Springs GA mail bears Atlanta's name."""
    row = {"state": "GA", "lat": 33.9304, "lng": -84.3733, "date": "2026-08-01"}
    rows = [{**row, "city": city} for city in ("Atlanta", "Sandy Springs", "Savannah")]
    rated = pd.DataFrame(rows).svc.lookup(client=client)
    assert set(rated["resolved_city"]) == {"Sandy Springs"}
    reasons = rated["lookup_review_reason"].astype(object)
    assert reasons.isna().tolist() == [True, True, False]
    assert reasons[2] == "place_input_mismatch"
