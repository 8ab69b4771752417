"""Answers, places and caches for the tests of what is kept."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import get_args

from hypothesis import strategies as st

from svc_tools.base.positions import Position, PositionMatch
from svc_tools.config import Source
from svc_tools.lookup.columns import FACTS
from svc_tools.lookup.outcomes import Component, Found, Outcome
from svc_tools.tables.places import Mode, Place
from svc_tools.tables.statuses import STATUSES

SOURCE = Source("https://rates.example", "0123456789abcdef")
OTHER = Source("https://rates.example", "fedcba9876543210")
NOW = datetime(2026, 5, 20, 17, 30, 1, 234567, tzinfo=UTC)
PAST = date(2024, 5, 1)

_TEXT = st.just("],[") | st.text(st.characters(exclude_categories=()), max_size=12)
"""Any text at all, with control characters, quotes and halves of surrogate pairs."""
_MAYBE = st.none() | _TEXT
_UNITS = st.integers(0, 99_999)
_NUMBERS = st.floats(-180, 180)
_DEGREES = st.none() | _NUMBERS

_ZIPS = st.builds(
    Place,
    state=st.sampled_from(["TX", "WA"]),
    mode=st.just("zip"),
    zip=st.sampled_from(["78701", "78701-1234", "98101"]),
    as_of=st.none() | st.dates(),
)
PLACES = _ZIPS | st.builds(
    Place,
    state=st.sampled_from(["TX", "WA", "NY"]) | _TEXT,
    mode=st.sampled_from(get_args(Mode)),
    address=_MAYBE,
    city=_MAYBE,
    zip=st.none() | st.sampled_from(["78701", "78701-1234"]) | _TEXT,
    location=_MAYBE,
    lat=_DEGREES,
    lng=_DEGREES,
    as_of=st.none() | st.dates(),
    position=st.none()
    | st.builds(
        Position,
        _NUMBERS,
        _NUMBERS,
        st.sampled_from(get_args(PositionMatch)),
        zip=_TEXT,
        city=_TEXT,
        state=_TEXT,
    ),
)
"""Any place that the types allow, not only those that cells can mean."""

COMPONENTS = st.builds(Component, level=_TEXT, name=_TEXT, code=_MAYBE, units=_UNITS)
_OF_FORMS = {
    "rate": st.none() | _UNITS,
    "share": st.none() | st.integers(0, 10_000),
    "truth": st.none() | st.booleans(),
}
_FACTS = {one.fact: _OF_FORMS.get(one.form, _MAYBE) for one in FACTS} | {
    "combined": _UNITS,
    "warnings": st.lists(_TEXT, max_size=3).map(tuple),
    "accepted_places": st.lists(_TEXT, max_size=2).map(tuple),
    "components": st.lists(COMPONENTS, max_size=2).map(tuple),
}
FOUND = st.builds(Found, **_FACTS)
OUTCOMES = st.builds(
    Outcome,
    status=st.sampled_from(STATUSES),
    error=_MAYBE,
    found=st.none() | FOUND,
    support_reference=_MAYBE,
    error_code=_MAYBE,
    looked_up_at=st.integers(0, 35 * 10**8).map(
        lambda microseconds: NOW - timedelta(microseconds=microseconds)
    ),
    cached=st.just(value=True),
)


def zip_place(number, as_of=PAST):
    """One of 100,000 places."""
    return Place("TX", "zip", zip=f"{number:05d}", as_of=as_of)


def places(count):
    """So many ZIPs of Texas, for today."""
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


def statuses(run):
    """How many places of a run have each status."""
    return Counter(outcome.status for outcome in run.outcomes.values())


def found(**changes):
    """What an ordinary answer finds; it proves its own date."""
    values = {
        "combined": 8250,
        "state": 6250,
        "county": 0,
        "city": 1000,
        "districts": 1000,
        "freight_taxable": True,
        "confidence": "high",
        "warnings": (),
        "resolved_via": "zip5",
        "effective_date": "2024-01-01",
        "effective_date_basis": "publisher_effective_date",
        "resolved_state": "TX",
        "resolved_zip": "78701",
        "resolved_city": "Austin",
        "resolved_county": "Travis",
        "source": "the publisher",
        "edition": "2026-04",
    }
    return Found(**(values | changes))


def ok(at=NOW, **changes):
    """An ordinary answer."""
    return Outcome("ok", None, found(**changes), looked_up_at=at)
