"""The warnings of an answer: objects with a `code`, a sentence and the fields behind it (WIRE)."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.figures import rate_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.rating import Component, Rated
    from svc_tools.service.ratebook.schema import StateRow

__all__ = [
    "Advisory",
    "address_not_matched",
    "after_edition",
    "before_history",
    "codes_without_rate",
    "districts_not_covered",
    "districts_possible",
    "local_rates_not_covered",
    "main_cities_only",
    "near_map_edge",
    "near_state_line",
    "off_map",
    "place_mismatch",
    "seasonal_rates",
    "several_areas",
    "source_conflict",
    "with_range",
    "zip_crosses_state_line",
    "zip_not_used",
    "zip_of_another_state",
]

Advisory = dict[str, object]
"""One warning, ready for JSON."""

_DOUBTS = frozenset({"place_input_mismatch", "address_not_matched", "zip_not_used"})
"""Warnings that say what decided in place of what was given."""


def place_mismatch(given: str, resolved: str) -> Advisory:
    """The caller's city is not the place that decided (SPEC 2.4)."""
    return {
        "code": "place_input_mismatch",
        "message": f"The place given, {given}, is not the one the rate is for: {resolved}.",
        "customer_input_place": given,
        "resolved_place_name": resolved,
    }


def several_areas(what: str, rated: Sequence[Rated]) -> Advisory:
    """A ZIP, name or point leads to several areas; the lowest and highest of their rates."""
    combined = [option.combined for option in rated]
    lowest, highest = min(combined), max(combined)
    low, high = rate_text(lowest), rate_text(highest)
    spread = f"all at {low}" if lowest == highest else f"with rates from {low} to {high}"
    return {
        "code": "zip_spans_jurisdictions",
        "message": f"{what} may lie in any of {len(rated)} jurisdictions, {spread}.",
        "candidates": len(rated),
        "lowest_combined_rate": low,
        "highest_combined_rate": high,
    }


def zip_of_another_state(zip5: str, name: str, homes: Sequence[str]) -> Advisory:
    """The post office counts the ZIP to another state; some of it lies in the one asked for."""
    return {
        "code": "zip_of_another_state",
        "message": f"ZIP {zip5} belongs to {' and '.join(homes)}; only a part of it lies in"
        f" {name}: make sure that the place does.",
        "zip": zip5,
        "states": tuple(homes),
    }


def zip_crosses_state_line(zip5: str, name: str, others: Sequence[str]) -> Advisory:
    """Some of the ZIP lies in another state, whose rates are not in the answer."""
    return {
        "code": "zip_crosses_state_line",
        "message": f"A part of ZIP {zip5} lies in {' and '.join(others)}: the rate is that of its"
        f" places in {name}. Make sure of the state.",
        "zip": zip5,
        "states": tuple(others),
    }


def with_range(advisory: Advisory, rated: Sequence[Rated]) -> Advisory:
    """A warning of a doubt about the place, with the lowest and highest rate that are at stake."""
    if advisory["code"] not in _DOUBTS:
        return advisory
    combined = [option.combined for option in rated]
    return {
        **advisory,
        "lowest_combined_rate": rate_text(min(combined)),
        "highest_combined_rate": rate_text(max(combined)),
    }


def near_state_line(what: str, states: Sequence[str]) -> Advisory:
    """The point is so near another state that the simplified boundaries do not decide."""
    return {
        "code": "near_state_line",
        "message": f"Within about a kilometre of {what} lies {' and '.join(states)}, and"
        " the boundaries of the map are not finer than that. Make sure of the state.",
        "states": tuple(states),
    }


def near_map_edge(what: str) -> Advisory:
    """The point is near the end of the map: the sea, or another country."""
    return {
        "code": "near_map_edge",
        "message": f"Within about a kilometre of {what} the map of the United States ends, and its"
        " boundaries are not finer than that. Make sure of the country.",
    }


def off_map(what: str, county: str) -> Advisory:
    """The point lies in no county, and the nearest one answers."""
    return {
        "code": "point_off_map",
        "message": f"{what[0].upper()}{what[1:]} lies in no county of the map: it may be at sea or"
        f" in another country. The rate is that of {county}, which is nearest.",
        "county": county,
    }


def local_rates_not_covered(state: StateRow) -> Advisory:
    """The answer is the state part alone, and there is more to pay."""
    return {
        "code": "local_rates_not_covered",
        "message": f"Only the state part is known: {state.name} also has local rates that this"
        " book does not cover.",
        "state": state.state,
    }


def districts_not_covered(state: StateRow, until: date) -> Advisory:
    """Districts had rates on that day and the book cannot say where they applied."""
    still = until == date.max
    span = "have" if still else "had"
    told: Advisory = {
        "code": "districts_not_covered",
        "message": f"{'S' if still else f'Until {until} s'}pecial districts of {state.name} {span}"
        " rates that the book cannot place on the map: the rate may be too low.",
        "state": state.state,
    }
    return told if still else {**told, "until": until.isoformat()}


def districts_possible(state: StateRow, area: str) -> Advisory:
    """A district that the book cannot place may apply in an area."""
    return {
        "code": "districts_not_covered",
        "message": f"A special district of {state.name} that the book cannot place on the map may"
        f" apply in {area}: the rate may be too low.",
        "state": state.state,
    }


def main_cities_only(state: StateRow) -> Advisory:
    """The state's table or rate file has counties and at most main cities, no further district."""
    return {
        "code": "districts_not_covered",
        "message": f"Of {state.name} the book has the rates of counties and at most of main cities:"
        " other cities and special districts may add to the rate.",
        "state": state.state,
    }


def seasonal_rates(state: StateRow) -> Advisory:
    """Towns of the state change their rate with the season, and the table has one."""
    return {
        "code": "seasonal_rates",
        "message": f"Several towns of {state.name} have other rates in winter: the table's is"
        " mostly the summer's.",
        "state": state.state,
    }


def codes_without_rate(codes: Sequence[str], file: str) -> Advisory:
    """Boundary records name codes that the state's rate file has no row for."""
    listed = ", ".join(codes)
    return {
        "code": "districts_not_covered",
        "message": f"Boundary records of {file} name codes without a rate ({listed}): the rate may"
        " be too low. Import the state's rate file of the same quarter.",
        "codes": tuple(codes),
    }


def before_history(day: date, oldest: date) -> Advisory:
    """The day lies before the oldest row, which was used."""
    return {
        "code": "as_of_before_history",
        "message": f"The book knows this rate from {oldest} on; for {day} it gives the oldest one"
        " it has.",
        "as_of": day.isoformat(),
        "oldest": oldest.isoformat(),
    }


@lru_cache(maxsize=1024)
def after_edition(day: date, end: date) -> Advisory:
    """The day lies after what the edition covers; the newest row was used."""
    return {
        "code": "as_of_after_edition",
        "message": f"The edition is good until {end}; for {day} it gives the newest rate it has,"
        " which may have changed since.",
        "as_of": day.isoformat(),
        "edition_end": end.isoformat(),
    }


def address_not_matched(used: str) -> Advisory:
    """The street was not looked at; the ZIP or the place of the address decided."""
    return {
        "code": "address_not_matched",
        "message": f"The street address was not matched: the rate is that of {used}.",
        "used": used,
    }


def zip_not_used(zip5: str, city: str, why: str) -> Advisory:
    """The ZIP of an address leads nowhere, and its city decided."""
    return {
        "code": "zip_not_used",
        "message": f"The rate is that of {city}, not of ZIP {zip5}: {why}.",
        "zip": zip5,
        "used": city,
    }


def source_conflict(component: Component) -> Advisory:
    """Sources disagree about a row that decides."""
    row, name = component.row, component.jurisdiction.name
    advisory: Advisory = {
        "code": "source_conflict",
        "message": f"Sources disagree about {name}. {row.note}",
        "jurisdiction": name,
        "rate": rate_text(row.units),
    }
    if row.conflict_units is not None:
        advisory["other_rate"] = rate_text(row.conflict_units)
    return advisory
