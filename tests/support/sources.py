"""The source files that the rate book is compiled from, where they lie beside the project."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from svc_tools.service.ratebook.gazetteer import areas_of_place, bases_of
from svc_tools.service.ratebook.names import name_key

SOURCES = Path(__file__).parents[3] / "shared" / "data"
at_hand = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the source files are not beside the project"
)


def units(text):
    """A five-decimal rate, or a fraction or percentage of a source, as whole units of 10^-5."""
    whole, _, fraction = text.partition(".")
    assert len(fraction.rstrip("0")) <= 5
    return int(whole + fraction.rstrip("0").ljust(5, "0"))


def read(path):
    """The rows of a source file."""
    return csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())


def areas_of_row(book, row):
    """The areas that a row of a list is of: the first is the likeliest."""
    state, fips, name = row["state"], row["county_fips"][2:], row["place_name"]
    if row["level"] == "place" and row["place_fips"]:
        return areas_of_place(book, state, book.places(state)[row["place_fips"]], (fips,))
    if name and row["level"] != "county":
        keys = {name_key(name), name_key(name.removesuffix(" City"))}
        cities = [a for a in book.areas.values() if (a.state, a.kind) == (state, "city")]
        return [area for area in cities if name_key(area.name) in keys]
    return bases_of(book, state, fips)
