"""What else a place name may mean: counties of that name, ZIPs that carry it elsewhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.by_zip import BASE_KINDS
from svc_tools.service.ratebook.location import Option
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.place_names import keys_of, place_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.location import Location
    from svc_tools.service.ratebook.place_names import PlaceNames
    from svc_tools.service.ratebook.schema import Area
    from svc_tools.service.ratebook.zips import ZipPlace

__all__ = ["also_touched", "in_county", "overlays", "weigh", "with_namesakes"]

_NEARLY_ALL = 0.9
"""From this share on the ZIPs elsewhere are outliers: candidates, but no doubt of the name."""


def with_namesakes(
    book: Book, state: str, key: str, found: Location, names: PlaceNames
) -> Location:
    """Add the counties that a name may mean besides those it was found in.

    A county may bear the name of a town elsewhere, and ZIPs of other counties may carry it. The
    name is ambiguous unless nine in ten of its ZIPs lie where it was found.
    """
    if not found.options:
        return found
    inside = {fips for option in found.options if option.area for fips in option.area.counties}
    reasons = {
        fips: f"{book.counties[state, fips].name} has the same name"
        for fips in names.bare.get(key, ())
    }
    county_like = any(fips not in inside for fips in reasons)
    places = (*names.preferred.get(key, ()), *names.others.get(key, ()))
    for place in places:
        if place.county:
            reasons.setdefault(place.county, f"ZIP {place.zip} there goes by the name")
    counts = weigh(places)
    there = sum(count for fips, count in counts.items() if fips in inside)
    rare = there >= _NEARLY_ALL * counts.total()
    more = tuple(
        Option(area, why)
        for fips, why in reasons.items()
        if fips not in inside
        for area in book.county_areas.get((state, fips), ())
        if area.kind in BASE_KINDS
    )
    if not more:
        return found
    ambiguous = found.ambiguous or county_like or not rare
    return replace(found, options=(*found.options, *more), ambiguous=ambiguous)


def in_county(book: Book, state: str, found: Location, county: str) -> Location:
    """What a place leads to with the county that the caller names behind it.

    It chooses where the county decides, or where nothing else did; a county that the place is
    not known to reach into becomes a candidate.

    Args:
        book: the book.
        state: two-letter code.
        found: where the place leads without the county.
        county: the county's name; empty where none is given.
    """
    names = place_names(book, state)
    keys = keys_of(names, county) if county and found.options else []
    fips = next((names.counties[key] for key in keys if key in names.counties), None)
    first = found.options[0].area if found.options else None
    if fips is None or first is None or fips in first.counties:
        return found
    here = [option for option in found.options if option.area and fips in option.area.counties]
    if not here:
        areas = book.county_areas.get((state, fips), ())
        more = [Option(area, "is the county given") for area in areas if area.kind in BASE_KINDS]
        return replace(found, options=(*found.options, *more), ambiguous=bool(more))
    if book.states[state].local != "county" and not found.tied:
        return found
    rest = (option for option in found.options if option is not here[0])
    return replace(found, options=(here[0], *rest), county=fips, tied=())


def weigh(places: Sequence[ZipPlace]) -> Counter[str]:
    """How many ZIPs lie in each county; boxes and large users count where there is no other."""
    standard = Counter(p.county for p in places if p.county and p.kind == "STANDARD")
    return standard or Counter(place.county for place in places if place.county)


def also_touched(
    book: Book, state: str, places: Sequence[ZipPlace], counties: Sequence[str]
) -> list[str]:
    """Further counties that more than half of a place's ZIPs touch: it may lie in them too."""
    touched = [book.zips.touched(place.zip, state) for place in places]
    within = [codes for codes in touched if codes]
    counts = Counter(code for codes in within for code in codes if code not in counties)
    return sorted(code for code, count in counts.items() if 2 * count > len(within))


def overlays(book: Book, state: str, key: str) -> list[Area]:
    """The parts of other counties that a city reaches into."""
    memo = ("overlays", state)
    known = book.memo.get(memo)
    if isinstance(known, dict):
        return list(known.get(key, ()))
    found: dict[str, list[Area]] = defaultdict(list)
    for area in book.areas.values():
        if area.state == state and area.kind == "overlay":
            for name in {name_key(city) for city in area.cities}:
                found[name].append(area)
    book.memo[memo] = found
    return list(found.get(key, ()))
