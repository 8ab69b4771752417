"""Areas for places whose rate no source has, so that none gets what is left of its county."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import date

    from svc_tools.service.ratebook.imports.draft import Draft
    from svc_tools.service.ratebook.schema import PlaceRow

_CDP = "CDP"
"""The kind of a place that is not incorporated: it has what is left of its county."""


def add_unlisted(
    state: str,
    counties: Collection[str],
    use: str,
    source: str,
    draft: Draft,
    *,
    begin: date | None = None,
) -> None:
    """Add the incorporated places in some counties that have no area there.

    Args:
        state: two-letter code.
        counties: FIPS codes of the counties.
        use: `partial` or `unknown`, as `RateRow.use`.
        source: id of the source that does not have them.
        draft: takes the areas.
        begin: the first day that a lower bound is known for.
    """
    have = {
        (area.place, fips)
        for area in draft.areas.values()
        if area.state == state and area.place
        for fips in area.counties
    }
    for place in draft.places:
        if place.state != state or place.kind == _CDP:
            continue
        for fips in place.counties.split():
            if fips in counties and (place.fips, fips) not in have:
                key = add_city(place, fips, draft)
                if key not in draft.rates:
                    draft.add_rate(key, 0, source, begin=begin, use=use)


def add_city(place: PlaceRow, fips: str, draft: Draft) -> str:
    """Add the part of a place in one county as an area with one rate; the id of both.

    The name of the place means its part in the main county.
    """
    state, main = place.state, fips == place.counties.split()[0]
    code = place.fips if main else f"{place.fips}-{fips}"
    key = draft.add_jurisdiction(state, "city", code, place.name)
    title = place.name if main else f"{place.name} ({draft.counties[state, fips].name})"
    leads = main or (state, place.fips, fips) in draft.divided
    draft.add_area(
        Area(
            key,
            state,
            "city",
            title,
            (fips,),
            (key,),
            (place.name,) if leads else (),
            "",
            0 if main else 1,
            place=place.fips,
        )
    )
    return key


def place_of(state: str, code: str, draft: Draft) -> PlaceRow | None:
    """The Census place of a code; `None` where the state has none."""
    return next((p for p in draft.places if (p.state, p.fips) == (state, code)), None)
