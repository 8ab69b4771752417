"""The places of a state: every name and what it leads to, and the areas of a Census place."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from svc_tools.service.ratebook.names import NICKNAMES, bare_county, name_key, name_keys
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area, PlaceRow, PostalRow

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """Every name of a state, by its key.

    Attributes:
        codes: official location codes -> area.
        official: full names of coded areas, as published and as shown -> area.
        cities: names of areas that are cities -> those areas, the first in rank first.
        places: names of Census places -> those places, incorporated ones first.
        counties: full names of counties, and those of named areas' kind -> FIPS codes.
        bare: counties' names without their last word -> FIPS codes.
        preferred: the names ZIPs go by -> those ZIPs.
        others: further names of ZIPs -> those ZIPs.
        spelled: key -> how the name is written.
        nicknames: keys of names in use -> keys of the names that they mean.
    """

    codes: dict[str, Area]
    official: dict[str, Area]
    cities: dict[str, list[Area]]
    places: dict[str, list[PlaceRow]]
    counties: dict[str, str]
    bare: dict[str, list[str]]
    preferred: dict[str, list[PostalRow]]
    others: dict[str, list[PostalRow]]
    spelled: dict[str, str]
    nicknames: dict[str, str]


def place_names(book: Book, state: str) -> PlaceNames:
    """The index of a state's names, built for the first lookup there."""
    memo = ("names", state)
    found = book.memo.get(memo)
    if isinstance(found, PlaceNames):
        return found
    means = NICKNAMES.get(state, {})
    nicknames = {name_key(name): name_key(meant) for name, meant in means.items()}
    places, cities = places_called(book, state), cities_called(book, state)
    zips = zips_called(book, state)
    names = PlaceNames({}, {}, cities, places, {}, {}, zips, {}, {}, nicknames)
    _add_areas(book, state, names)
    for key, (row, *_) in places.items():
        names.spelled.setdefault(key, next(name for name in row.names if name_key(name) == key))
    for (_, fips), county in book.counties.of(state).items():
        names.counties[name_key(county.name)] = fips
        names.spelled[name_key(county.name)] = county.name
        names.bare.setdefault(bare_county(county.name), []).append(fips)
    for place in book.zips.state(state).values():
        names.spelled.setdefault(name_key(place.city), place.city)
        for other in place.other_names:
            key = name_key(other)
            names.others.setdefault(key, []).append(place)
            names.spelled.setdefault(key, other)
    book.memo[memo] = names
    return names


def places_called(book: Book, state: str) -> dict[str, list[PlaceRow]]:
    """The Census places of a state by the key of each of their names, incorporated ones first."""

    def named() -> Iterator[tuple[str, PlaceRow]]:
        for row in sorted(book.places(state).values(), key=lambda row: row.kind == "CDP"):
            yield from ((name, row) for name in row.names)

    return _called(book, ("places called", state), named)


def cities_called(book: Book, state: str) -> dict[str, list[Area]]:
    """The areas of a state by the key of each name that they are found by, the first in rank first.

    A ZIP of boxes needs no more of the names of a state.
    """

    def named() -> Iterator[tuple[str, Area]]:
        for area in _ranked_areas(book, state):
            yield from ((name, area) for name in _own_names(area))

    return _called(book, ("cities called", state), named)


def zips_called(book: Book, state: str) -> dict[str, list[PostalRow]]:
    """The ZIPs of a state by the key of the name that they go by."""
    rows = book.zips.state(state)
    return _called(book, ("zips called", state), lambda: ((row.city, row) for row in rows.values()))


def _called(
    book: Book, memo: tuple[str, str], named: Callable[[], Iterable[tuple[str, _Row]]]
) -> dict[str, list[_Row]]:
    """Rows by the keys of their names, in their order; made once for a book."""
    known = book.memo.get(memo)
    if isinstance(known, dict):
        return known
    found: dict[str, list[_Row]] = {}
    for name, row in named():
        found.setdefault(name_key(name), []).append(row)
    book.memo[memo] = found
    return found


def is_place(book: Book, state: str, text: str) -> bool:
    """Whether a text is a name that the book knows in a state."""
    if state not in book.states:
        return False
    names = place_names(book, state)
    if name_key(text) in names.spelled:
        return True
    tables = (names.spelled, names.bare, names.official)
    return any(key in table for key in keys_of(names, text) for table in tables)


def is_zip(book: Book, state: str, zip5: str) -> bool:
    """Whether a ZIP lies in a state or reaches into it, as far as the book knows."""
    if state not in book.states:
        return False
    return zip5 in book.zips.state(state) or bool(book.zips.touched(zip5, state))


def keys_of(names: PlaceNames, text: str) -> list[str]:
    """The keys to try for what a caller wrote, the likeliest first.

    What a nickname means goes before the literal name: "LA" is a further name of ZIPs too. The
    "City of Richmond" is the independent city before it is any place of the name.
    """
    literal, *others = name_keys(text) or [""]
    if literal in names.nicknames:
        others = []  # the town of Barre is not the city
    means = [names.nicknames[key] for key in (literal, *others) if key in names.nicknames]
    city = [f"{key}city" for key in others if literal == f"cityof{key}"]
    independent = [key for key in city if key in names.counties]
    return [key for key in (*means, literal, *independent, *others) if key]


def _add_areas(book: Book, state: str, names: PlaceNames) -> None:
    """The official codes of a state's areas, and how their names are written."""
    for area in _ranked_areas(book, state):
        if area.code:
            names.codes[area.code] = area
            for written in (area.name, area.name.replace(" County)", ")")):  # AUBURN/KING RTA
                names.official.setdefault(name_key(written), area)
        for name in _own_names(area):
            names.spelled.setdefault(name_key(name), name)


def _ranked_areas(book: Book, state: str) -> list[Area]:
    return sorted(book.areas.of(state).values(), key=lambda area: (area.rank, area.id))


def _own_names(area: Area) -> dict[str, None]:
    """The names of the cities that lead to an area, and its own where that leads there too."""
    own = (area.name,) if area.kind in {"named", "unincorporated"} else ()
    return dict.fromkeys((*area.cities, *own))


TOWNS_TAX = frozenset({"VT"})
"""States where towns tax, which neither housing nor city limits tell apart."""
BASE_KINDS = frozenset({"county", "unincorporated"})
"""Kinds of area that hold whatever no city of a county takes."""
_ONE_COUNTY = 3  # digits of one code
_CITY_WIDE = frozenset({"MS"})
"""States of full lists whose cities levy their rate in every county they lie in."""
_BY_COUNTY = frozenset({"LA"})
"""States of listed cities whose rates are those of their part in one county."""
_PLACE_KINDS = frozenset({"city", "county"})
_Index = dict[str, tuple["Area", ...]]


def bases_of(book: Book, state: str, fips: str) -> list[Area]:
    """The areas that hold what no city of a county takes, the first in rank first."""
    return [area for area in book.county_areas.get((state, fips), ()) if area.kind in BASE_KINDS]


def no_rate(book: Book, state: str, fips: str) -> NotResolved:
    """The error for a place in a county that the book has no rate for."""
    row, name = book.states[state], book.counties[state, fips].name
    detail: dict[str, object] = {"state": state, "county": name}
    if row.tier == "none":
        return NotResolved(
            "NOT_FOUND",
            f"{row.name} has no state sales tax, and the book has the rates of some of its boroughs"
            f" and towns only: there is no rate for this place in {name}",
            detail,
        )
    return NotResolved("NOT_FOUND", f"the book has no rate for {name}, {state}", detail)


def areas_of_place(
    book: Book, state: str, place: PlaceRow, within: Collection[str] = ()
) -> list[Area]:
    """The areas that a place lies in, that of its main county first.

    A place without an area in a county has what is left of that county. Where cities are listed
    without their counties, a city's area is that of its parts in every county. `within` are the
    counties to look in: all of the place's if it is empty, or the place lies in none of them.
    """
    own = _index(book, state).get(place.fips, ())
    if len(place.counties) == _ONE_COUNTY and len(own) < 2:  # noqa: PLR2004 - most places
        if not own:
            return bases_of(book, state, place.counties)
        if own[0].counties == (place.counties,):
            return list(own)
    parts = (fips for area in own for fips in area.counties)  # the Census may not name them all
    every = list(dict.fromkeys((*place.counties.split(), *parts)))
    counties = [fips for fips in every if fips in within] or every
    found: list[Area] = []
    for fips in counties:
        here = [area for area in own if fips in area.counties]
        if not here and own and _is_city_wide(book, state):
            here = [own[0]]
        found += here[:1] or bases_of(book, state, fips)
    return list(dict.fromkeys(found))


def _is_city_wide(book: Book, state: str) -> bool:
    """Whether an area of a city stands for its parts in every county."""
    listed = book.states[state].tier == "D" and state not in _BY_COUNTY
    return listed or state in _CITY_WIDE


def own_areas(book: Book, state: str, place: PlaceRow) -> tuple[Area, ...]:
    """The areas that are a place or a part of it, that of its main county first."""
    return _index(book, state).get(place.fips, ())


def _index(book: Book, state: str) -> _Index:
    """The areas of each place by its code: those that name it, or bear its name in its county."""
    memo = ("place areas", state)
    known = book.memo.get(memo)
    if isinstance(known, dict):
        return known
    named = places_called(book, state)
    found: dict[str, list[Area]] = defaultdict(list)
    for area in book.areas.of(state).values():
        if area.kind not in _PLACE_KINDS:
            continue
        if area.place:
            found[area.place].append(area)
            continue
        for name in area.cities:
            for place in named.get(name_key(name), ()):
                if not set(area.counties).isdisjoint(place.counties.split()):
                    found[place.fips].append(area)
    index: _Index = {
        fips: tuple(sorted(dict.fromkeys(areas), key=lambda area: (area.rank, area.id)))
        for fips, areas in found.items()
    }
    book.memo[memo] = index
    return index
