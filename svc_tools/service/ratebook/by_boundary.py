"""From an address, a ZIP+4 or a ZIP to the areas that the user's own boundary records name.

The finest record decides: an address record, else a ZIP+4 record, else the records of the ZIP. An
address without a ZIP is searched for in every ZIP of its city.
Where the ZIP's records differ, the lowest combined rate is chosen (section 305 of the Streamlined
Sales Tax agreement) and all of them are candidates. What the postal and census tables know of the
place (`usual`) stays: its city, a city that is not the ZIP's, another state.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.address_line import Parts
from svc_tools.service.ratebook.imports.boundary import BoundaryStore, Search
from svc_tools.service.ratebook.imports.boundary_lines import LOCATION_CODES, day_number, levied
from svc_tools.service.ratebook.imports.common import quarter_begin
from svc_tools.service.ratebook.place_names import keys_of, place_names
from svc_tools.service.ratebook.query import Location, NotResolved, Option
from svc_tools.service.ratebook.rating import Rated, codes_without_rate, rate_area
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.boundary import BoundaryReader, Found
    from svc_tools.service.ratebook.imports.boundary_lines import Composition
    from svc_tools.service.ratebook.imports.database import Edition


_FINER = frozenset({"address_not_matched", "zip_of_another_state"})
"""Warnings that a record of the very address or ZIP+4 settles."""


class _Composed(NamedTuple):
    """What a composition adds up to on a day.

    Attributes:
        area: whose rates.
        unknown: the codes that no rate is known for.
        since: the first day that the state's rate file is known to list every rate of, where a
            code has none on the day, which is earlier; else `None`.
    """

    area: Area
    unknown: tuple[str, ...]
    since: date | None = None


def boundary_edition(book: Book, state: str) -> Edition | None:
    """The boundary file of a state in the user's own book, if it is usable.

    It names jurisdictions by codes that only the state's own rate file has in full, so without
    that it is not used. Washington's are location codes, which every book has.
    """
    if not book.own_editions:
        return None
    own = {edition.kind: edition for edition in book.own_editions if edition.state == state}
    return own.get("boundary") if "rates" in own or state == LOCATION_CODES else None


def locate_by_boundary(
    book: Book,
    edition: Edition,
    parts: Parts,
    day: date,
    usual: Callable[[], Location],
) -> Location:
    """Where boundary records lead, on a day; where none holds, where the book leads without them.

    Args:
        book: the book, loaded with the user's own.
        edition: the boundary file of the state.
        parts: the address or ZIP: it has a ZIP, or a street and a city.
        day: the day the rate is for.
        usual: the way without boundary records.

    Raises:
        NotResolved: as `usual`, for a ZIP that no record lists either.
        OwnBookChanged: the own book holds other editions by now.
    """
    key = ("boundary-place", edition.id, parts.zip, day)
    alone = parts == Parts(zip=parts.zip)
    known = book.memo.get(key) if alone else None
    if isinstance(known, Location):
        return known
    found = _locate(book, edition, parts, day, usual)
    if alone:
        book.memo[key] = found
    return found


def _locate(
    book: Book, edition: Edition, parts: Parts, day: date, usual: Callable[[], Location]
) -> Location:
    in_state = not parts.zip or _in_state(book, edition.state, parts.zip)
    if not in_state and book.zips.states_of(parts.zip, book.states):
        return usual()  # a range of ZIPs may reach over the state line, a ZIP does not
    refusal: NotResolved | None = None
    try:
        base = usual()
    except NotResolved as error:
        base, refusal = _nowhere(parts), error
    with _store(book).reading(edition.id) as reader:
        at = day_number(max(day, edition.covers_from))
        search = Search(book.memo, edition.id, reader, at)
        if parts.zip:
            found = search.in_zip(parts)
            if found and found.via == "zip5" and not in_state and not search.lists(parts.zip):
                found = None
        else:
            found = search.in_city(parts.street, _zips_of(book, edition.state, parts.city))
        if found is None:
            if refusal:
                raise refusal
            return base
        composed = [
            (_compose(book, edition, reader, composite, day), why)
            for composite, why in found.composites
        ]
    if refusal and not _usable(edition, composed):
        raise refusal
    return _decided(book, edition, found, base, composed, day=day)


def _usable(edition: Edition, composed: Sequence[tuple[_Composed, str]]) -> bool:
    """Whether the compositions have a rate: in Washington only those with a known location code.

    Every place there has one: no place has the state's rate alone.
    """
    return edition.state != LOCATION_CODES or not all(one.unknown for one, _ in composed)


def _decided(
    book: Book,
    edition: Edition,
    found: Found,
    base: Location,
    composed: Sequence[tuple[_Composed, str]],
    *,
    day: date,
) -> Location:
    """The location by the records' compositions, or `base` where those have no rate."""
    unknown = tuple(dict.fromkeys(code for one, _ in composed for code in one.unknown))
    if not _usable(edition, composed):
        note = codes_without_rate(unknown, edition.file)
        return replace(base, advisories=(*base.advisories, note), unknown_code=True)
    if edition.state == LOCATION_CODES:
        composed = [(one, why) for one, why in composed if not one.unknown]
    options = _ranked(book, edition.state, composed, day)
    placed = _placed(edition, found, base, options, unknown)
    if day < edition.covers_from:
        return replace(placed, history_from=edition.covers_from)
    since = max((one.since for one, _ in composed if one.since), default=None)
    return replace(placed, history_from=since) if since else placed


def _nowhere(parts: Parts) -> Location:
    """A place that only records may know."""
    return Location("zip5", "boundary_zip", f"ZIP {parts.zip}", zip=parts.zip or None)


def _zips_of(book: Book, state: str, city: str) -> list[str]:
    """Every ZIP that a city's name is used for."""
    names = place_names(book, state)
    tables = (names.preferred, names.others)
    found = [p.zip for key in keys_of(names, city) for one in tables for p in one.get(key, ())]
    return list(dict.fromkeys(found))


def _in_state(book: Book, state: str, zip5: str) -> bool:
    """Whether the postal or the census table has a ZIP in a state."""
    return zip5 in book.zips.state(state) or bool(book.zips.touched(zip5, state))


def _store(book: Book) -> BoundaryStore:
    found = book.memo.get("boundaries")
    if not isinstance(found, BoundaryStore):
        if book.own_path is None:
            raise ValueError("a book with own editions has no path to them")
        found = book.memo["boundaries"] = BoundaryStore(book.own_path)
    return found


def _compose(
    book: Book, edition: Edition, reader: BoundaryReader, composite: int, day: date
) -> _Composed:
    """The area whose rates a composition adds up to on a day."""
    key = ("boundary-area", edition.id, composite, day)
    found = book.memo.get(key)
    if not isinstance(found, _Composed):
        composition = reader.composition(composite)
        found = book.memo[key] = _composed(book, edition, composite, composition, day)
    return found


def _composed(
    book: Book, edition: Edition, composite: int, composition: Composition, day: date
) -> _Composed:
    state = edition.state
    whose = levied(book, state, composition)
    if whose.area:
        return _Composed(whose.area, whose.unknown)
    ids = tuple(key for key in whose.ids if _levies_on(book, key, day))
    since = None
    if len(ids) < len(whose.ids) + len(whose.silent):
        since = _lists_all_from(book, state)
    names = [book.jurisdictions[key].name for key in ids]
    return _Composed(
        Area(
            f"{state}:boundary:{edition.id}:{composite}",
            state,
            "boundary",
            ", ".join(names) or f"{book.states[state].name}, no local tax",
            (composition.county,) if composition.county else (),
            ids,
            (),
            "",
            0,
        ),
        whose.unknown,
        since if since and day < since else None,
    )


def _lists_all_from(book: Book, state: str) -> date | None:
    """The first day on which a code without a row in the state's rate file levied nothing.

    A file has the rates that ended since some day, without naming the day: a tax that ended
    earlier is in no file. A local rate that ended shows that all since then are there. A file
    without any has the rates of its own quarter.
    """
    key = ("boundary-history", state)
    if key not in book.memo:
        ended = [
            row.end + timedelta(days=1)
            for jurisdiction, rows in book.rates.items()
            if jurisdiction != state and book.jurisdictions[jurisdiction].state == state
            for row in rows
            if row.end
        ]
        rates = [e for e in book.own_editions if (e.state, e.kind) == (state, "rates")]
        quarters = [quarter_begin(one.edition) for one in rates]
        book.memo[key] = min((*ended, *quarters), default=None)
    found = book.memo[key]
    return found if isinstance(found, date) else None


def _levies_on(book: Book, jurisdiction: str, day: date) -> bool:
    """Whether a jurisdiction has a rate on a day; without a row it adds nothing."""
    return any(
        (row.begin is None or row.begin <= day) and (row.end is None or day <= row.end)
        for row in book.rates[jurisdiction]
    )


def _placed(
    edition: Edition,
    found: Found,
    base: Location,
    options: list[Option],
    unknown: tuple[str, ...],
) -> Location:
    """The usual location with the areas of the records instead of its own."""
    finer = found.via != "zip5"
    sure = found.decided if len(options) == 1 else "boundary_zip"
    settled = {"zip_not_used", *(_FINER if finer else ())}  # a record knows the ZIP
    notes = [note for note in base.advisories if note["code"] not in settled]
    if unknown:
        notes.append(codes_without_rate(unknown, edition.file))
    if base.named_area:  # where the city given lies that is not the ZIP's
        options += [o for o in base.options if o.area and o.area.id == base.named_area]
    chosen = options[0].area
    return replace(
        base,
        via=found.via,
        decided=sure,
        options=tuple(options),
        zip_not_used=False,
        zip=found.zip or base.zip,
        county=(chosen.counties[0] if chosen and chosen.counties else base.county),
        no_crosswalk=False,
        across=base.across and not finer,
        near_boundary=False,
        ambiguous=False,
        tied=(),
        advisories=tuple(notes),
        records=edition.file,
        unknown_code=bool(unknown),
        edition_end=edition.covers_until,
    )


def _ranked(
    book: Book, state: str, composed: Sequence[tuple[_Composed, str]], day: date
) -> list[Option]:
    """The areas, the lowest combined rate first; those with the same parts are one."""
    unique = {one.area.components: Option(one.area, why) for one, why in reversed(composed)}
    ordered = list(reversed(unique.values()))
    if len(ordered) == 1:
        return ordered

    def combined(option: Option) -> tuple[int, str]:
        rated = rate_area(book, state, option.area, day)
        units = rated.combined if isinstance(rated, Rated) else 100_000
        return units, option.area.id if option.area else ""

    return sorted(ordered, key=combined)
