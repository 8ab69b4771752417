"""Resolving one lookup: locate it, rate the areas it may lie in, grade the confidence.

`ResolvedRate` holds the rate of a place on a day with what it rests on, and writes it as JSON
(SPEC 2).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.base.shares import SHARES_PER_ONE, SURE_SHARE, share_text
from svc_tools.service.ratebook import rating
from svc_tools.service.ratebook.by_zip import SLIVER, locate_zip
from svc_tools.service.ratebook.names import OUTSIDE
from svc_tools.service.ratebook.query import AreaOption, NotResolved
from svc_tools.service.ratebook.rating import (
    Absent,
    Grounds,
    Rated,
    confidence,
    rate_area,
    rate_text,
)
from svc_tools.service.ratebook.spans import QUARTER, behind, changes_of_area

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc_tools.service.ratebook.address_line import Parts
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.by_point import Spot
    from svc_tools.service.ratebook.query import Limit, Location, Query
    from svc_tools.service.ratebook.rating import AdvisoryFields, RateShare
    from svc_tools.service.ratebook.schema import DeliveryRule, StateRow


class _Verdict(NamedTuple):
    """What is the same for all places of one kind on a day.

    Attributes:
        rated: as `ResolvedRate.rated`.
        several: whether more than one rate is possible.
        share: ten-thousandths of the housing that have the rate; `None`: not known.
        confidence: as `ResolvedRate.confidence`.
        notes: the warnings after those about the place itself.
        near: the limits near a point beyond which the rate is another, and that a warning is
            due of.
        apart: an address is too near one for its position to decide.
    """

    rated: tuple[tuple[Rated, str], ...]
    several: bool
    share: int | None
    confidence: str
    notes: tuple[AdvisoryFields, ...]
    near: tuple[Limit, ...] = ()
    apart: bool = False


_Ranked = tuple[tuple[Rated, str], ...]
_HALF = 5_000
_OFFICIAL = "official page read"
_BY_ADDRESS = frozenset({"CO", "IL", "LA", "MO"})
"""States whose districts drawn by address (business, improvement, economic development,
metropolitan) are in no list."""
_STATE_ALONE = (AreaOption(None, "the state part is all the book has"),)


def resolve(book: Book, query: Query, *, today: date) -> ResolvedRate:
    """Resolve one lookup against a book.

    A query without `as_of` is for `today`.

    Raises:
        NotResolved: no rate can honestly be given; HTTP 404.
    """
    day = query.as_of or today
    return rate(book, query, locate(book, query, day), day)


def locate(book: Book, query: Query, day: date, spot: Spot | None = None) -> Location:
    """Where a query leads on a day.

    Args:
        book: the rate book.
        query: the query.
        day: the day, where boundary records decide.
        spot: what the maps have at its point, where that is known already.

    Raises:
        NotResolved: nowhere that the book may have a rate for.
    """
    _supported(book, query.state)
    found = _locate(book, query, day, spot)
    if query.position is None:
        return found
    from svc_tools.service.ratebook.by_position import with_position  # noqa: PLC0415 - as below

    return with_position(book, query, found, spot)


def is_dated(book: Book, state: str) -> bool:
    """Whether where a query leads in a state may depend on the day: where records may decide."""
    return any(
        (edition.state, edition.kind) == (state, "boundary") for edition in book.own_editions
    )


def rate(book: Book, query: Query, location: Location, day: date) -> ResolvedRate:
    """The rate of a query that leads to a location, on a day.

    Raises:
        NotResolved: no rate can honestly be given. Where its text names the day, its `detail` has
            it as `as_of`.
    """
    state = book.states[query.state]
    verdict = _verdict(book, state, location, day)
    if verdict.apart and location.instead is not None:
        note = _near_boundary(location, verdict, used=location.instead.what)
        notes = (*location.instead.advisories, note)
        return rate(book, query, replace(location.instead, advisories=notes), day)
    notes, rated = location.advisories, verdict.rated
    if len(location.options) == 1:  # a verdict is shared by places that lead there otherwise
        rated = ((rated[0][0], location.options[0].why),)
    if verdict.several or verdict.near or (notes and (location.named_area or state.tier == "A")):
        possible = [option for option, _ in rated]
        notes = tuple(rating.with_range(note, possible) for note in notes)
        if verdict.near:
            notes = (*notes, _near_boundary(location, verdict))
        elif verdict.several:
            notes = (*notes, rating.several_rates(location.what, possible, verdict.share))
    return ResolvedRate(
        book,
        state,
        location,
        rated,
        day,
        verdict.confidence,
        notes + verdict.notes + rating.of_delivery(state, book.delivery_on(state.state, day)),
        query.period,
    )


def _near_boundary(location: Location, verdict: _Verdict, *, used: str = "") -> AdvisoryFields:
    """The warning of a point near a limit, with its own distance."""
    meters = dict(location.meters)
    away = min(meters[key] for limit in verdict.near for key in limit.beyond)
    possible = [option for option, _ in verdict.rated]
    if all(limit.doubt == "new" for limit in verdict.near) and not verdict.several:
        return rating.near_new_city(location.what, away)
    return rating.address_near_boundary(location.what, away, possible, used=used)


def days_of_change(book: Book, state: str, location: Location) -> tuple[int, ...]:
    """The days on which the result of a location may change, in order; see `spans`."""
    instead = location.instead.options if location.instead else ()
    areas = [option.area for option in (*location.options, *instead)] or [None]
    key = (
        "changes of",
        state,
        tuple([(area.id, area.components) for area in areas if area]),
        location.changes,
        location.edition_end,
    )
    known = book.memo.get(key)
    if isinstance(known, tuple):
        return known
    days = {rule.begin.toordinal() for rule in book.delivery.get(state, ()) if rule.begin}
    for last in (book.states[state].districts_until, location.edition_end):
        days.update(behind(last) if last else ())
    for area in areas:
        days.update(changes_of_area(book, state, area))
    return book.remember(key, tuple(sorted(days | location.changes)))


def _verdict(book: Book, state: StateRow, location: Location, day: date) -> _Verdict:
    """The verdict about a place; cached for a kind of place."""
    if not location.kind:
        return _judge(book, state, location, day)
    key = ("verdict", location.kind, day)
    known = book.memo.get(key)
    if isinstance(known, _Verdict):
        return known
    return book.remember(key, _judge(book, state, location, day))


def _judge(book: Book, state: StateRow, location: Location, day: date) -> _Verdict:
    """Choose the rate of a place among those of its options, and rate how sure it is, with notes.

    Raises:
        NotResolved: the name stands for several places with different rates.
    """
    rated, share = _ranked(location, _rate(book, state, location, day))
    rated, limits = _within_reach(location, rated)
    chosen = rated[0][0]
    _refuse_ties(location, state, rated, share)
    several = len({option.combined for option, _ in rated}) > 1 or (
        not chosen.lacks and any(option.lacks for option, _ in rated)
    )
    ambiguous = location.ambiguous and len(_rates_of_the_name(location, rated)) > 1
    caps = [component.row.conflict_cap for component in chosen.conflicts]
    unplaced = _unplaced(state, location, day)
    lacks = "" if location.by_record else chosen.lacks
    records_end = location.edition_end or date.max
    end = min(chosen.edition_end, records_end)
    history = max(filter(None, (chosen.history_from, location.history_from)), default=None)
    level = confidence(
        Grounds(
            tier=state.tier,
            decided=location.decided,
            several=several,
            share=share,
            land=_share_of_land(location, rated) if several and share is None else 0,
            further=location.further,
            no_crosswalk=location.no_crosswalk,
            outside=location.outside and not location.by_record,
            across=location.across,
            mismatch=_mismatch(location, rated),
            zip_not_used=location.zip_not_used,
            near_boundary=location.near_boundary,
            off_map=location.off_map,
            ambiguous=ambiguous,
            third_hand=chosen.third_hand,
            likely=chosen.likely,
            conflict_cap=min(caps, default=""),  # "low" sorts before "medium"
            districts_unplaced=unplaced,
            before_history=history is not None,
            after_edition=day > end,
            agreed_since=end < day <= min(chosen.firm_end, records_end),
            long_after=day > chosen.likely_end or day - records_end > QUARTER,
            unknown_code=location.unknown_code,
            stale=chosen.confirmed is not None,
            partial=bool(lacks),
            limit=limits[0].doubt if limits else "",
            similar=location.similar,
        )
    )
    notes: list[AdvisoryFields] = []
    if (state.local == "unknown" and not location.by_record) or lacks == "local":
        notes.append(rating.local_rates_not_covered(state))
    elif lacks and state.tier == "D":
        notes.append(rating.listed_cities_only(state))
    elif lacks and chosen.area:
        notes.append(rating.districts_possible(state, chosen.area.name))
    elif state.state in _BY_ADDRESS and not location.by_record:
        notes.append(rating.address_districts_not_covered(state))
    if chosen.confirmed:
        notes.append(rating.stale_rate(chosen.confirmed))
    if unplaced and state.districts_until:
        notes.append(rating.districts_not_covered(state, state.districts_until))
    notes += _of_figures(state, location, chosen)
    if history:
        notes.append(rating.before_history(day, history))
    if day > end:
        notes.append(rating.after_edition(day, end))
    near = tuple(limit for limit in limits if limit.doubt in rating.FLAGGED)
    apart = bool(limits) and limits[0].doubt == "apart"
    return _Verdict(rated, several, share, level, tuple(notes), near, apart)


def _of_figures(state: StateRow, location: Location, rated: Rated) -> Iterator[AdvisoryFields]:
    """The warnings about the figures themselves: seasons, rounding, sources that disagree."""
    if state.tier == "none" and rated.third_hand and not location.by_record:
        yield rating.seasonal_rates(state)
    if rated.published:
        yield rating.rate_rounded(state, rated)
    yield from map(rating.source_conflict, rated.conflicts)


def _within_reach(location: Location, rated: _Ranked) -> tuple[_Ranked, tuple[Limit, ...]]:
    """The rates that the doubts about a point leave possible, and the limits that matter.

    Those matter beyond which the rate is another that day, the worst doubt first.
    """
    if location.decided != "limits":
        return rated, ()
    chosen = rated[0][0]
    others = {
        option.area.id
        for option, _ in rated
        if option.area and (option.combined, option.lacks) != (chosen.combined, chosen.lacks)
    }
    others.add("")  # a rate that is not known may be another
    limits = [limit for limit in location.limits if limit.doubt and limit.area in others]
    limits.sort(key=lambda limit: rating.DOUBTS.index(limit.doubt))
    shown = {limit.area for limit in limits if limit.doubt not in rating.SILENT}
    possible = (pair for pair in rated[1:] if pair[0].area and pair[0].area.id in shown)
    return (rated[0], *possible), tuple(limits)


def _ranked(location: Location, rated: _Ranked) -> tuple[_Ranked, int | None]:
    """The rates by housing, where it decides between several, and the share of the chosen one.

    The share is in ten-thousandths, rounded down; `None` where there are not several, or where no
    housing is known.
    """
    rates = [(option.combined, option.lacks) for option, _ in rated]
    if not location.housing or rates.count(rates[0]) == len(rates):
        return rated, None
    units = {option.area.id: option.housing for option in location.options if option.area}
    by_rate: dict[tuple[int, str], int] = {}
    for (option, _), known in zip(rated, rates, strict=True):
        by_rate[known] = by_rate.get(known, 0) + units.get(_id(option), 0)
    most = max(by_rate, key=by_rate.__getitem__) if location.by_housing else rates[0]
    at = rates.index(most)  # of equal sums the first
    rated = (rated[at], *rated[:at], *rated[at + 1 :])
    share = by_rate[most] * SHARES_PER_ONE // location.housing
    return _without_slivers(location, rated, units), share


def _share_of_land(location: Location, rated: _Ranked) -> int:
    """Thousandths of the land of a ZIP that have the rate of the chosen area."""
    same = _same_rate(rated)
    return sum(option.land for option in location.options if option.area and option.area.id in same)


def _same_rate(rated: _Ranked) -> set[str]:
    """The areas with the rate of the chosen one."""
    chosen = rated[0][0].combined, rated[0][0].lacks
    return {_id(option) for option, _ in rated if (option.combined, option.lacks) == chosen}


def _without_slivers(location: Location, rated: _Ranked, units: dict[str, int]) -> _Ranked:
    """The areas without those of hardly any land and housing, where all others have the rest.

    Maps of ZIPs and of places do not agree that closely.
    """
    first, *others = rated
    parts = {option.area.id: option for option in location.options if option.area}
    kept = [
        entry
        for entry in others
        if (part := parts.get(_id(entry[0]))) is None
        or part.land >= SLIVER
        or not 0 < part.housing * 1000 < SLIVER * location.housing
    ]
    held = sum(units.get(_id(option), 0) for option, _ in (first, *kept))
    return (first, *kept) if held * SHARES_PER_ONE >= SURE_SHARE * location.housing else rated


def _id(rated: Rated) -> str:
    return rated.area.id if rated.area else ""


def _unplaced(state: StateRow, location: Location, day: date) -> bool:
    """Whether districts had rates that day and nothing says where: boundary records would."""
    until = state.districts_until
    return until is not None and day <= until and not location.by_record


def _mismatch(location: Location, rated: _Ranked) -> str:
    """Whether the city given is not the ZIP's, and whether its rate is another one."""
    if not location.mismatch:
        return ""
    differs = any(
        option.area.id == location.named_area and option.combined != rated[0][0].combined
        for option, _ in rated
        if option.area
    )
    return "differs" if differs else "same"


def _rates_of_the_name(location: Location, rated: _Ranked) -> set[int]:
    """The rates that the name may mean: with a ZIP, only those of the areas of that name."""
    chosen = rated[0][0].area
    if not location.zip or chosen is None or not chosen.cities:
        return {option.combined for option, _ in rated}
    called = [o for o, _ in rated if o.area and not set(chosen.cities).isdisjoint(o.area.cities)]
    return {option.combined for option in called}


def _supported(book: Book, code: str) -> StateRow:
    state = book.states.get(code)
    if state is None:
        reason = OUTSIDE.get(code, f"{code!r} is not a state or the District of Columbia")
        raise NotResolved("STATE_NOT_SUPPORTED", f"no rates for {code}: {reason}", {"state": code})
    if state.tier == "none" and state.local == "unknown":
        raise NotResolved(
            "NOT_FOUND",
            f"{state.name} has no state sales tax, and the book does not have the rates of its"
            " boroughs and cities: no rate can be given",
            {"state": code},
        )
    return state


def _locate(book: Book, query: Query, day: date, spot: Spot | None) -> Location:
    """Locate by the records of the user's own boundary file where it has some, else without.

    A ZIP alone is the commonest query: what reads addresses, names and points is loaded when one
    is given.
    """
    alone = query.address is None and query.street is None
    if query.zip is not None and alone and not book.own_editions:
        return locate_zip(book, query.state, query.zip)
    if query.lat is not None and query.lng is not None:
        from svc_tools.service.ratebook.by_point import locate_point  # noqa: PLC0415 - as above

        return locate_point(book, query.state, (query.lat, query.lng), spot)
    from svc_tools.service.ratebook.by_address import address_parts  # noqa: PLC0415 - as above

    parts = address_parts(book, query)
    if book.own_editions and parts and (parts.zip or (parts.street and parts.city)):
        from svc_tools.service.ratebook.by_boundary import (  # noqa: PLC0415 - as above, and SQLite
            boundary_edition,
            locate_by_boundary,
        )

        if edition := boundary_edition(book, query.state):
            return locate_by_boundary(
                book, edition, parts, day, lambda: _locate_unaided(book, query, parts)
            )
    return _locate_unaided(book, query, parts)


def _locate_unaided(book: Book, query: Query, parts: Parts | None) -> Location:
    """Locate without boundary records."""
    from svc_tools.service.ratebook.by_address import (  # noqa: PLC0415 - as above
        locate_address,
        locate_written,
    )
    from svc_tools.service.ratebook.by_place import locate_place  # noqa: PLC0415 - as above

    if parts is not None and (query.address is not None or query.street is not None):
        return locate_address(book, query.state, parts)
    if query.location is not None:
        if parts is not None:  # a name with its ZIP, or a ZIP alone
            return locate_written(book, query.state, parts)
        return locate_place(book, query.state, query.location)
    if query.zip is not None:
        return locate_zip(book, query.state, query.zip)
    raise NotResolved("NOT_FOUND", "the lookup names no place", {"state": query.state})


def _rate(
    book: Book, state: StateRow, location: Location, day: date
) -> tuple[tuple[Rated, str], ...]:
    """The rates of every possible area on the day, the chosen one first."""
    rated: list[tuple[Rated, str]] = []
    for number, (area, why, *_) in enumerate(location.options or _STATE_ALONE):
        found = rate_area(book, state.state, area, day)
        if isinstance(found, Rated):
            rated.append((found, why))
        elif number == 0 and (found.existed or len(location.options) <= 1):
            raise _absent(found, state, day)
    if not rated:
        raise NotResolved(
            "NOT_FOUND",
            f"none of the areas that {location.what} may lie in has a rate for {day}",
            {"state": state.state, "as_of": day.isoformat()},
        )
    return tuple(rated)


def _refuse_ties(location: Location, state: StateRow, rated: _Ranked, share: int | None) -> None:
    """Refuse a name whose places have different rates where nothing decides between them."""
    if not location.tied or (share is not None and share >= _HALF):
        return
    between = [
        area_rate for area_rate, _ in rated if area_rate.area and area_rate.area.id in location.tied
    ]
    if len({option.combined for option in between}) < 2:  # noqa: PLR2004 - two rates differ
        return
    candidates: list[dict[str, object]] = [
        {"name": option.area.name, "combined_rate": rate_text(option.combined)}
        for option, _ in rated
        if option.area
    ]
    listed = ", ".join(f"{c['name']} ({c['combined_rate']})" for c in candidates)
    raise NotResolved(
        "NOT_FOUND",
        f"{location.what!r} in {state.name} may mean places with different rates: {listed};"
        " give a ZIP or the county",
        {"location": location.what, "state": state.state, "candidates": candidates},
    )


def _absent(absent: Absent, state: StateRow, day: date) -> NotResolved:
    name = absent.jurisdiction.name
    reason = (
        "the row of that day is damaged in the source and was left out"
        if absent.existed
        else "the source lists no such jurisdiction for that day"
    )
    return NotResolved(
        "NOT_FOUND",
        f"no rate for {name}, {state.state}, on {day}: {reason}",
        {"state": state.state, "jurisdiction": name, "as_of": day.isoformat()},
    )


class ResolvedRate(NamedTuple):
    """One resolved lookup. Immutable; `simple` and `full` write it as JSON objects.

    Attributes:
        book: the book it came from.
        state: what the book claims for the state.
        location: where the lookup led.
        rated: the rates of the possible areas with why each is one, the chosen one first.
        day: the day the rate is for.
        confidence: `low`, `medium`, `high` or `exact`.
        advisories: the warnings.
        period: the quarter code as the caller gave it.
    """

    book: Book
    state: StateRow
    location: Location
    rated: tuple[tuple[Rated, str], ...]
    day: date
    confidence: str
    advisories: tuple[AdvisoryFields, ...]
    period: str | None

    @property
    def delivery(self) -> DeliveryRule | None:
        """The rule of delivery charges; `None` in a state without a sales tax."""
        return self.book.delivery_on(self.state.state, self.day)

    @property
    def chosen(self) -> Rated:
        """The rates of the likeliest area."""
        return self.rated[0][0]

    @property
    def county(self) -> str | None:
        """Three-digit FIPS code of the county, where one is known."""
        area = self.chosen.area
        by_area = self.location.by_housing and area is not None and area.counties
        return area.counties[0] if area and by_area else self.location.county

    def simple(self, written: Callable[[int], object] = rate_text) -> dict[str, object]:
        """`{"rate": ..., "meta": ...}`: SPEC 2.2 and 2.3, with `source` and `edition`.

        Args:
            written: how rates are written; `int` leaves them whole numbers of 10^-5.
        """
        return {"rate": self._rate(written), "meta": self._meta()}

    def full(self, written: Callable[[int], object] = rate_text) -> dict[str, object]:
        """The simple body and `candidates`, `components`, `resolved_place` (SPEC 2.5)."""
        return {
            **self.simple(written),
            "candidates": [
                {
                    **_candidate(rank, rated, why, self.book, written),
                    "share": self._share_of(rated),
                }
                for rank, (rated, why) in enumerate(self.rated, 1)
            ],
            "components": [_component(component, written) for component in self.chosen.components],
            "resolved_place": self._place(),
        }

    def _rate(self, written: Callable[[int], object]) -> dict[str, object]:
        location, rated, rule = self.location, self.chosen, self.delivery
        rate: dict[str, object] = {
            "state": self.state.state,
            "zip": location.zip,
            "city": location.city,
            "county": _county_name(self.book, self.state.state, self.county),
            "country": "US",
            "country_rate": written(0),
            **{name: written(units) for name, units in rated.units.items()},
            "freight_taxable": None if rule is None else rule.taxed,
        }
        if rule is not None and rule.certainty != _OFFICIAL:
            rate["freight_certainty"] = rule.certainty
        return rate

    def _meta(self) -> dict[str, object]:
        effective, (name, edition) = self.chosen.effective, self.chosen.origin
        meta: dict[str, object] = {
            "resolved_via": self.location.via,
            "confidence": self.confidence,
            "effective_date": effective.isoformat() if effective else None,
            "effective_date_basis": self.chosen.basis,
            "period": self.period,
            "warnings": [dict(advisory) for advisory in self.advisories],
            "source": name,
            "edition": edition,
        }
        if accepted := self._accepted_names():
            meta["accepted_places"] = accepted
        return meta

    def _accepted_names(self) -> list[str]:
        """The further names of a ZIP: a caller's city that is one of them is not a mismatch."""
        zip5 = self.location.zip
        place = self.book.zips.state(self.state.state).get(zip5) if zip5 else None
        if self.location.point:
            from svc_tools.service.ratebook.by_point import names_at  # noqa: PLC0415 - of points

            return names_at(self.book, self.state.state, self.location)
        return place.other_names if place else []

    def _share_of(self, rated: Rated) -> str | None:
        """The share of the housing that an area has, where it is known."""
        location = self.location
        if not location.housing:
            return None
        units = sum(o.housing for o in location.options if o.area is rated.area)
        return share_text(units * SHARES_PER_ONE // location.housing)

    def _nearest_zip(self) -> str | None:
        """The ZIP place nearest to the point, which decides nothing where a city holds it."""
        location = self.location
        if location.nearest_zip or not (location.point and location.county):
            return location.nearest_zip
        from svc_tools.service.ratebook.by_point import nearest_place  # noqa: PLC0415 - of points

        near = nearest_place(self.book, self.state.state, location.county, *location.point)
        return near.zip if near else None

    def _place(self) -> dict[str, object]:
        """The place as it is sent: where it is, and the area that decided the rate."""
        location, area = self.location, self.chosen.area
        place: dict[str, object] = {
            "state": self.state.state,
            "state_name": self.state.name,
            "tier": self.state.tier,
            "zip": location.zip,
            "city": location.city,
            "county": _county_name(self.book, self.state.state, self.county),
            "county_fips": f"{self.state.fips}{self.county}" if self.county else None,
            "area": area.name if area else None,
            "area_code": (area.code or None) if area else None,
            "as_of": self.day.isoformat(),
            "delivery": None if self.delivery is None else _rule(self.delivery),
        }
        if location.by_record:
            place["records"] = location.records
        if location.point:
            place["lat"], place["lng"] = location.point
            place["nearest_zip"] = self._nearest_zip()
        return place


def _rule(rule: DeliveryRule) -> dict[str, object]:
    return {
        "treatment": rule.treatment,
        "begin": rule.begin.isoformat() if rule.begin else None,
        "end": rule.end.isoformat() if rule.end else None,
        "certainty": rule.certainty,
        "law": rule.law or None,
        "source": rule.source,
        "url": rule.url or None,
        "checked": rule.checked.isoformat() if rule.checked else None,
        "note": " ".join(filter(None, (rule.doubt, rule.note))) or None,
    }


def _county_name(book: Book, state: str, fips: str | None) -> str | None:
    county = book.counties.of(state).get((state, fips)) if fips else None
    return county.name if county else None


def _candidate(
    rank: int, rated: Rated, why: str, book: Book, written: Callable[[int], object]
) -> dict[str, object]:
    area = rated.area
    fips = area.counties[0] if area and area.counties else None
    return {
        "rank": rank,
        "chosen": rank == 1,
        "name": area.name if area else None,
        "code": (area.code or None) if area else None,
        "county": _county_name(book, area.state, fips) if area else None,
        "why": why,
        "missing": rated.lacks or None,
        **{name: written(units) for name, units in rated.units.items()},
    }


def _component(component: RateShare, written: Callable[[int], object]) -> dict[str, object]:
    """A part of the rate as it is sent, with its days and source."""
    jurisdiction, row, source = component
    found: dict[str, object] = {
        "level": jurisdiction.level,
        "name": jurisdiction.name,
        "code": jurisdiction.code,
        "rate": written(row.units),
        "begin": row.begin.isoformat() if row.begin else None,
        "end": row.end.isoformat() if row.end else None,
        "effective_date": row.effective.isoformat() if row.effective else None,
        "source": source.name,
        "edition": source.edition,
        "trust": row.trust,
    }
    if row.note:
        found["note"] = row.note
    return found
