"""Rates that anyone can check against the states' own pages, from the client to the book."""

from __future__ import annotations

import pytest
from support.faults import KEY

from svc_sdk import Svc


@pytest.fixture(scope="module")
def client(service):
    with Svc(KEY, base_url=service) as one:
        yield one


@pytest.mark.parametrize(
    ("state", "arguments", "rate"),
    [
        ("CA", {"zip": "94105"}, "0.08625"),
        ("CA", {"lat": 34.0537, "lng": -118.2428}, "0.09750"),
        ("WA", {"location": "Seattle", "as_of": "2026-05-01"}, "0.10550"),
        ("WA", {"location": "Seattle"}, "0.10550"),
        ("WA", {"location": "Seattle", "as_of": "2024-06-01"}, "0.10350"),
        ("WA", {"location": "Seattle", "as_of": "2022-02-01"}, "0.10250"),
        ("NJ", {"zip": "07030"}, "0.06625"),
        ("OR", {"zip": "97201"}, "0.00000"),
        ("MI", {"zip": "48226"}, "0.06000"),
        ("PA", {"location": "Philadelphia"}, "0.08000"),
        ("PA", {"zip": "19103"}, "0.08000"),
        ("WI", {"location": "Milwaukee"}, "0.07900"),
        ("WI", {"address": "200 E Wells St", "city": "Milwaukee", "zip": "53202"}, "0.07900"),
    ],
    ids=str,
)
def test_the_rate_is_the_published_one(client, state, arguments, rate):
    answer = client.lookup(state, **arguments)
    assert answer.combined_rate_string == rate
    assert answer.rate.state == state


@pytest.mark.parametrize(("day", "warned"), [("2026-05-01", False), ("2027-02-01", True)])
def test_a_day_after_the_edition_is_said(client, day, warned):
    answer = client.lookup("WA", location="Seattle", as_of=day)
    codes = [warning.code for warning in answer.warnings]
    assert ("as_of_after_edition" in codes) is warned
    assert answer.confidence == ("medium" if warned else "high")
