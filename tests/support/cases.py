"""Tests of rates: tables of cases, how a place is given, and the warnings of an answer."""

from __future__ import annotations


def cases(text):
    """`WI  Milwaukee = 7900 | 53202 = 7900` as rows: `("WI", "Milwaukee", "7900")`, and so on."""
    lines = (line.split(maxsplit=1) for line in text.strip().splitlines())
    return [
        (state, *(part.strip() for part in case.split(" = ")))
        for state, rest in lines
        for case in rest.split(" | ")
    ]


def named(place):
    """How a ZIP or the name of a place is given."""
    return {"zip" if len(place) == 5 and place.isdecimal() else "location": place}


def codes(answer):
    """The codes of an answer's warnings."""
    return [warning["code"] for warning in answer.advisories]
