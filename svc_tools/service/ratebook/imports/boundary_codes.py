"""From the codes of a boundary record to the jurisdictions of the book.

A county or a place without a row in the rate file levies nothing. A special district without one
is not known. Two states write their codes in ways of their own:

- Washington: a special code `Lnnnn` is a location code of its Department of Revenue and holds the
  whole local rate; county, place and the other specials are parts of it already.
- Tennessee: districts of type 63 repeat the county and add nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.codes import CITY, COUNTY, SPECIAL, STATE, jurisdiction_id

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.boundary_lines import Composition
    from svc_tools.service.ratebook.schema import Area

__all__ = ["LOCATION_CODES", "Levied", "codes_without_rate", "levied"]

LOCATION_CODES = "WA"
"""The state whose records name location codes; every book has their rates."""

_NO_STATE = "state indicator"
"""Stands among the unknown codes where a record does not say that the state's rate applies."""

_NO_LOCATION = "location code"
"""Likewise where a record of Washington names none: every place there has one."""

_LOCATION = re.compile(r"L(\d{4})", re.ASCII)


class Levied(NamedTuple):
    """Whose rates add up, besides the state's.

    Attributes:
        ids: jurisdictions of the book that have rates, on any day.
        area: the official area that holds them all (Washington), else `None`.
        unknown: special districts (`type:code`) that the book has no rate of.
        silent: the county or the place, where the book has no rate of it: it levies nothing.
    """

    ids: tuple[str, ...]
    area: Area | None
    unknown: tuple[str, ...]
    silent: tuple[str, ...] = ()


def levied(book: Book, state: str, composition: Composition) -> Levied:
    """Whose rates the codes of a record mean."""
    if state == LOCATION_CODES:
        for special in composition.specials:
            if found := _LOCATION.fullmatch(special.partition(":")[2]):
                area = book.areas.get(f"WA:{found[1]}")
                return Levied(area.components if area else (), area, () if area else (special,))
        return Levied((), None, (_NO_LOCATION,))
    named = ((COUNTY, composition.county), (CITY, composition.place))
    places = [jurisdiction_id(state, kind, code) for kind, code in named if code]
    ids = [key for key in places if key in book.rates]
    silent = tuple(key for key in places if key not in book.rates)
    unknown = [] if composition.indicator else [_NO_STATE]
    for special in composition.specials:
        kind, _, code = special.partition(":")
        key = jurisdiction_id(state, kind, code)
        if kind == STATE or (state == "TN" and kind == SPECIAL):
            continue
        if key in book.rates:
            ids.append(key)
        else:
            unknown.append(special)
    # a file may name the county or the place among the districts once more
    return Levied(tuple(dict.fromkeys(ids)), None, tuple(unknown), silent)


def codes_without_rate(book: Book, state: str, composition: Composition) -> tuple[str, ...]:
    """The special districts of a record that the book has no rate of."""
    return levied(book, state, composition).unknown
