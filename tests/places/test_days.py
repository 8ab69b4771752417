"""The calendar date of a sale, time zones, periods; and places as keys."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
import subprocess
import sys
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.places import Place, day_of, first_day, time_zone

CHICAGO = ZoneInfo("America/Chicago")


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2024-03-01T02:30:00Z", dt.date(2024, 2, 29)),
        ("2024-03-01 02:30:00+00:00", dt.date(2024, 2, 29)),
        (dt.datetime(2024, 3, 1, 5, 59, tzinfo=dt.UTC), dt.date(2024, 2, 29)),
        (dt.datetime(2024, 3, 1, 6, 0, tzinfo=dt.UTC), dt.date(2024, 3, 1)),
        (dt.datetime(2024, 3, 1, 0, 0), dt.date(2024, 3, 1)),  # noqa: DTZ001 - it has no zone
        ("2024-03-01", dt.date(2024, 3, 1)),
        (None, None),
    ],
)
def test_a_moment_has_the_date_of_the_zone_that_counts(cell, day):
    assert day_of(cell, CHICAGO) == day


def test_without_a_zone_a_moment_has_no_date_and_the_error_says_what_to_do():
    with pytest.raises(ValueError, match="time zone whose date counts"):
        day_of("2024-03-01T02:30:00Z")


def test_a_moment_at_the_end_of_time_is_an_error_of_its_cell():
    with pytest.raises(ValueError, match="out of range"):
        day_of(dt.datetime(1, 1, 1, tzinfo=dt.UTC), CHICAGO)


@given(st.dates())
def test_the_first_day_of_a_period_lies_in_it_and_not_after_the_day(day):
    assert first_day(day, "day") == day
    month, quarter = first_day(day, "month"), first_day(day, "quarter")
    assert quarter <= month <= day
    assert (month.year, month.month, month.day) == (day.year, day.month, 1)
    assert quarter.month in {1, 4, 7, 10}
    assert (day.month - 1) // 3 == (quarter.month - 1) // 3


@pytest.mark.parametrize("name", ["Texas", "", "America/Nowhere", "../etc/passwd"])
def test_a_zone_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="tz:"):
        time_zone(name)


def test_a_zone_may_be_an_object_and_nothing_else():
    assert time_zone(CHICAGO) is CHICAGO
    assert time_zone(None) is None
    with pytest.raises(TypeError, match="tz"):
        time_zone(-6)


_PLACES = st.builds(
    Place,
    st.sampled_from(["TX", "CA"]),
    st.sampled_from(["zip", "place"]),
    zip=st.none() | st.sampled_from(["78701", "94105"]),
    location=st.none() | st.sampled_from(["Austin", "78701"]),
    as_of=st.none() | st.sampled_from([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
)


@given(_PLACES, _PLACES)
def test_equal_places_and_only_those_are_one_key(one, other):
    fields = [(p.state, p.mode, p.zip, p.location, p.as_of) for p in (one, other)]
    assert (one == other) == (fields[0] == fields[1])
    assert len({one, other}) == (1 if one == other else 2)
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert {one: 1}[copied] == 1


def test_a_place_from_another_process_is_the_same_key_here():
    place = Place("TX", "zip", zip="78701")
    hash(place)
    code = (
        "import pickle, sys; from svc_tools.places import Place;"
        " p = Place('TX', 'zip', zip='78701'); hash(p);"
        " sys.stdout.buffer.write(pickle.dumps(p))"
    )
    sent = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert {place: 1}[pickle.loads(sent)] == 1
