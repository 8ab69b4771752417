"""The rates of an area on a day, the confidence of a result, and its warnings.

- `rate_area` adds up the rows in force.
- `confidence` follows one table of rules, each with its name and its reason: the first of `STARTS`
  that applies gives the level, then every one of `LIMITS` that applies lowers it, in order. `none`
  is not a level here: it comes with a 404.
- The functions that return `AdvisoryFields` write the warnings: objects with a `code`, a sentence
  and the fields behind it.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from svc_sdk.rates import units_to_rate
from svc_tools.base.positions import not_used
from svc_tools.base.shares import LIKELY_SHARE, SURE_SHARE, share_text
from svc_tools.service.ratebook.spans import QUARTER, YEAR, changes_of_area

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import (
        Area,
        DeliveryRule,
        Jurisdiction,
        RateRow,
        Source,
        StateRow,
    )

LEVELS = ("low", "medium", "high", "exact")
"""The confidence levels of a result with a rate, the lowest first."""

AdvisoryFields = dict[str, object]
"""One warning, ready for JSON."""

_HALF = 500
_ORDER = ("state", "county", "city", "district")


class RateShare(NamedTuple):
    """One jurisdiction's share of a rate and the row it was read from."""

    jurisdiction: Jurisdiction
    row: RateRow
    source: Source


class Rated(NamedTuple):
    """The rates of one area on one day; all in units of 10^-5.

    Attributes:
        area: the area; `None` for a state whose own part is all there is.
        components: state first, then county, city and districts.
        state: the part of this field of the response; the four parts add up to `combined`.
        county: likewise.
        city: likewise.
        district: likewise.
        combined: their sum.
        history_from: where the day lies before a component's first row: the oldest day the book
            knows them all for; else `None`.
        edition_end: the last day that every source is good for.
        firm_end: the same without the rows that a later table agrees with.
        likely_end: the last day that every figure is likely to be right still.
        effective: the latest legal begin of the components, where one is published and every
            other component was in force by then.
        basis: what `effective` rests on, as `effective_date_basis` (SPEC 2.3).
        conflicts: the components about which sources disagree.
        third_hand: whether a row is third hand.
        lacks: what the book does not have of the area that day: as `Area.lacks`.
        confirmed: where a row is stale, the last day that its figure is published for.
        likely: whether no source was read for all days of a row.
        published: the combined rate as it is published, where that has more than five decimals.
        origin: names and editions of the sources that decide: those of the local rows, where
            there are any.
        units: the rates by the field of a response that has them (SPEC 2.2).
    """

    area: Area | None
    components: tuple[RateShare, ...]
    state: int
    county: int
    city: int
    district: int
    combined: int
    history_from: date | None
    edition_end: date
    firm_end: date
    likely_end: date
    effective: date | None
    basis: str
    conflicts: tuple[RateShare, ...]
    third_hand: bool
    lacks: str
    confirmed: date | None
    likely: bool
    published: str
    origin: tuple[str, str]
    units: Mapping[str, int]


class Absent(NamedTuple):
    """No rate of an area can be given for a day.

    Attributes:
        area: the area.
        jurisdiction: whose rate is not there.
        existed: whether the jurisdiction has rates before and after the day: a hole in the
            source, not a jurisdiction that did not exist.
    """

    area: Area | None
    jurisdiction: Jurisdiction
    existed: bool


def rate_area(book: Book, state: str, area: Area | None, day: date) -> Rated | Absent:
    """Add up the rows in force on a day, from the state's to the last component's.

    Before a jurisdiction's first row its oldest row serves and `history_from` says so, unless
    the source lists every jurisdiction of that day: then the area did not exist (`Absent`).
    """
    key = ("rates", area.id, area.components) if area else ("rates", state)
    known = book.memo.get(key)
    if not isinstance(known, _AreaRates):
        known = book.remember(key, _AreaRates(changes_of_area(book, state, area), {}))
    span = bisect_right(known.changes, day.toordinal())
    found = known.by_span.get(span)
    if found is None:
        found = known.by_span[span] = _rate(book, state, area, day)
    return found


class _AreaRates(NamedTuple):
    """The rates of an area for each span of days in which they are the same."""

    changes: tuple[int, ...]
    by_span: dict[int, Rated | Absent]


def _rate(book: Book, state: str, area: Area | None, day: date) -> Rated | Absent:
    """The sum of the rates of a state and an area on a day, or the part that has none."""
    parts = dict.fromkeys(_ORDER, 0)
    components = []
    oldest: list[date] = []
    levying, rates = book.jurisdictions.of(state), book.rates.of(state)
    for key in (state, *_levying(rates, area, day)):
        jurisdiction, rows = levying[key], rates[key]
        row, known_from = _pick(rows, day)
        if known_from and _lists_all(book, rows, day):
            row = None
        if row is None:
            return Absent(area, jurisdiction, _between(rows, day))
        if known_from:
            oldest.append(known_from)
        components.append(RateShare(jurisdiction, row, book.sources[row.source]))
        parts[jurisdiction.level] += row.units
    components.sort(key=lambda component: _ORDER.index(component.jurisdiction.level))
    effective = None if oldest else _effective(components)
    stale = [c.row.begin for c in components if c.row.use == "stale" and c.row.begin]
    return Rated(
        area,
        tuple(components),
        **parts,
        combined=sum(parts.values()),
        history_from=max(oldest) if oldest else None,
        edition_end=min(_good_until(book, c) for c in components),
        firm_end=min(
            (_good_until(book, c) for c in components if not c.row.agreed), default=date.max
        ),
        likely_end=min(_likely_until(book, c) for c in components),
        effective=effective,
        basis=_basis(components, effective),
        conflicts=tuple(c for c in components if c.row.conflict_cap),
        third_hand=any(c.row.trust == "third_hand" for c in components),
        lacks=_lacks(area, components, day),
        confirmed=min(stale) - timedelta(days=1) if stale else None,
        likely=any(c.row.certainty == "likely" for c in components),
        published=_published(components),
        origin=_origin(components),
        units={
            "state_rate": parts["state"],
            "county_rate": parts["county"],
            "city_rate": parts["city"],
            "combined_district_rate": parts["district"],
            "combined_rate": sum(parts.values()),
        },
    )


def _levying(
    rates: Mapping[str, tuple[RateRow, ...]], area: Area | None, day: date
) -> Sequence[str]:
    """The jurisdictions whose rates add up in an area on a day: one alone that has the total."""
    parts = area.components if area else ()
    for key in parts if len(parts) > 1 else ():
        row, _ = _pick(rates[key], day)
        if row and row.use == "total":
            return (key,)
    return parts


def _good_until(book: Book, component: RateShare) -> date:
    """The last day that a row's source is good for; a row that a law ended held until then.

    A row without a figure has none that may have changed.
    """
    row, source = component.row, component.source
    if row.use == "unknown":
        return date.max
    if row.end:
        after = row.end + timedelta(days=1)
        if any(later.effective == after for later in book.rates[row.jurisdiction]):
            return date.max
    return source.state_until if component.jurisdiction.level == "state" else source.local_until


def _likely_until(book: Book, component: RateShare) -> date:
    """The last day that a row is likely to be right: some time after its source, or another."""
    last, agreed = _good_until(book, component), component.row.agreed
    later = agreed + YEAR if agreed else last
    return max(later, date.max if date.max - last < QUARTER else last + QUARTER)


def _published(components: Sequence[RateShare]) -> str:
    """The sum as it is published, where a part has more than five decimals; else empty."""
    if not any(component.row.published for component in components):
        return ""
    exact = (Decimal(c.row.published or units_to_rate(c.row.units)) for c in components)
    return format(sum(exact, Decimal(0)), "f")


def _effective(components: Sequence[RateShare]) -> date | None:
    """The day the sum took legal effect, where a source publishes it.

    That is the latest day of law, unless a part without one is not known to have been in force
    by then.
    """
    latest = max((c.row.effective for c in components if c.row.effective), default=None)
    if latest is None:
        return None
    undated = [c.row.begin for c in components if not c.row.effective]
    return latest if all(begin and begin <= latest for begin in undated) else None


def _basis(components: Sequence[RateShare], effective: date | None) -> str:
    """How the effective date is known: `publisher_effective_date`, or by the local sources."""
    if effective:
        return "publisher_effective_date"
    local = [c for c in components if c.jurisdiction.level != "state"] or components
    bases = {c.source.undated for c in local}
    return "edition_only" if "edition_only" in bases else "no_published_date"


def _lacks(area: Area | None, components: Sequence[RateShare], day: date) -> str:
    """What is missing of a rate: all of the local part, or districts; empty for a whole one."""
    missing = {c.row.use for c in components}
    of_area = area.lacks_on(day) if area else ""
    if "unknown" in missing or of_area == "local":
        return "local"
    return "districts" if "partial" in missing or of_area else ""


def _origin(components: Sequence[RateShare]) -> tuple[str, str]:
    sources = [c.source for c in components if c.jurisdiction.level != "state"]
    sources = sources or [components[0].source]
    names = "; ".join(dict.fromkeys(source.name for source in sources))
    return names, "; ".join(dict.fromkeys(source.edition for source in sources))


def _pick(rows: tuple[RateRow, ...], day: date) -> tuple[RateRow | None, date | None]:
    """The row for a day, and the oldest dated day where the day lies before it."""
    first = rows[0]
    if first.begin is None and first.end and day <= first.end:
        # it held before that day; since when is not known
        return first, first.end + timedelta(days=1)
    if first.begin and day < first.begin:
        return first, first.begin
    for row in reversed(rows):
        if row.begin is None or row.begin <= day:
            return (row if row.end is None or day <= row.end else None), None
    return None, None


def _lists_all(book: Book, rows: tuple[RateRow, ...], day: date) -> bool:
    complete_from = book.sources[rows[0].source].complete_from
    return complete_from is not None and complete_from <= day


def _between(rows: tuple[RateRow, ...], day: date) -> bool:
    return bool(rows[0].begin and rows[0].begin <= day) and any(
        row.begin is not None and day < row.begin for row in rows
    )


class Grounds(NamedTuple):
    """What a result rests on.

    Attributes:
        tier: the state's tier: `A`, `B`, `C`, `D`, `E`, or `none`.
        decided: what decided the rate: `state`, `code` (an official location code), `named` (a
            place or county named), `zip`, `postal` (a name of ZIPs), `nearest` (the ZIP place
            nearest to a point), or a boundary record: `address`, `zip4`, `street`,
            `boundary_zip`.
        several: more than one rate is possible.
        share: ten-thousandths of the housing of the ZIP, or of the name's ZIPs, that have the
            rate; `None`: not known.
        land: thousandths of their land that have it, where no housing is known; 0: unknown.
        further: the name is only a further one of ZIPs.
        no_crosswalk: the ZIP is one of boxes, or not in the crosswalk: its city decides.
        outside: the ZIP is named after a town that it does not touch.
        across: the ZIP is one of another state.
        mismatch: the city given is not one of the ZIP's: `same` where it has the same rate or no
            known one, `differs` where it has another; empty without a mismatch.
        zip_not_used: the ZIP given is unknown or damaged, and the city decided in its place.
        near_boundary: the point lies near a boundary that matters.
        off_map: the point lies in no county of the map.
        ambiguous: the name leads to several places with different rates.
        third_hand: a row that decides is third hand.
        likely: no source was read for all days of a row that decides.
        conflict_cap: the most that rows in conflict allow; empty without any.
        districts_unplaced: districts had rates on that day that the book cannot place.
        before_history: the day lies before the oldest row.
        after_edition: the day lies after what the edition covers.
        agreed_since: so it does, but a later table agrees with every figure that is older.
        long_after: it lies more than a quarter after the edition, or a year after that table.
        unknown_code: a boundary record names a code that no rate is known for.
        stale: no figure newer than some day is published.
        partial: a part of the rate is not known.
        limit: the doubt of a point near a limit beyond which the rate is another, one of `DOUBTS`;
            empty far from any.
        similar: the point is that of an address that is only similar to the one given.
    """

    tier: str
    decided: str
    several: bool = False
    share: int | None = None
    land: int = 0
    further: bool = False
    no_crosswalk: bool = False
    outside: bool = False
    across: bool = False
    mismatch: str = ""
    zip_not_used: bool = False
    near_boundary: bool = False
    off_map: bool = False
    ambiguous: bool = False
    third_hand: bool = False
    likely: bool = False
    conflict_cap: str = ""
    districts_unplaced: bool = False
    before_history: bool = False
    after_edition: bool = False
    agreed_since: bool = False
    long_after: bool = False
    unknown_code: bool = False
    stale: bool = False
    partial: bool = False
    limit: str = ""
    similar: bool = False


DOUBTS = ("apart", "unplaced", "close", "new", "growing", "near", "inexact", "far", "")
"""What a limit near a point may raise, the worst first: `apart` (an address whose position is too
inexact to decide), `unplaced` (of a part of the county, not known), `close`, `new` (of a new
place), `growing` (`near` a city that grew), `near`, `inexact` (an address whose position is exact
enough), `far`."""
FLAGGED = frozenset({"apart", "close", "new", "growing", "near"})
"""Doubts of which a warning says what lies beyond."""
SILENT = frozenset({"inexact", "far"})
"""Doubts that make no candidate of what lies beyond."""


class ConfidenceRule(NamedTuple):
    """One row of the table: `level` is a level, or `down` for one step less."""

    name: str
    applies: Callable[[Grounds], bool]
    level: str
    reason: str


STARTS = (
    ConfidenceRule(
        "boundary_record",
        lambda g: g.decided in {"address", "zip4"},
        "exact",
        "a boundary record of the ZIP+4 or the address decides",
    ),
    ConfidenceRule(
        "boundary_street",
        lambda g: g.decided == "street",
        "high",
        "a boundary record of the only street of that name with that number decides",
    ),
    ConfidenceRule(
        "boundary_zip",
        lambda g: g.decided == "boundary_zip",
        "high",
        "boundary records of the ZIP decide",
    ),
    ConfidenceRule(
        "state_alone", lambda g: g.tier == "A", "high", "no local tax: the state decides"
    ),
    ConfidenceRule(
        "state_part_only", lambda g: g.tier == "E", "low", "local rates are not covered"
    ),
    ConfidenceRule(
        "official_code",
        lambda g: g.decided == "code",
        "exact",
        "an official location code names the rate",
    ),
    ConfidenceRule(
        "listed_area",
        lambda g: g.tier in {"B", "C"},
        "high",
        "a county, city or town of a full list decides",
    ),
    ConfidenceRule(
        "listed_cities",
        lambda g: g.tier == "D",
        "medium",
        "a listed city decides; the state's list is not at hand in full",
    ),
    ConfidenceRule(
        "towns_of_a_table",
        lambda g: g.tier == "none" and g.third_hand,
        "low",
        "a town of a transcribed table, with rates that change by season",
    ),
    ConfidenceRule(
        "known_borough",
        lambda g: g.tier == "none",
        "high",
        "a borough without a sales tax, or a town of the list of those that sellers pay to",
    ),
)
"""Where confidence starts: the first that applies."""
LIMITS = (
    ConfidenceRule(
        "several_rates",
        lambda g: g.several and (g.share is None or g.share < SURE_SHARE),
        "medium",
        "more than one rate is possible",
    ),
    ConfidenceRule(
        "housing_elsewhere",
        lambda g: g.several and g.share is not None and g.share < LIKELY_SHARE,
        "low",
        "more than a tenth of the ZIP's housing has other rates",
    ),
    ConfidenceRule(
        "land_elsewhere",
        lambda g: g.several and 0 < g.land < _HALF and g.decided in {"zip", "postal"},
        "low",
        "no housing is known, and other rates apply in more than half of the ZIP's land",
    ),
    ConfidenceRule(
        "nearest_place",
        lambda g: g.several and g.decided == "nearest",
        "low",
        "the limits of the places near a point are not known",
    ),
    ConfidenceRule(
        "further_name",
        lambda g: g.several and g.further,
        "low",
        "the name is a further one of ZIPs with several rates",
    ),
    ConfidenceRule(
        "no_crosswalk",
        lambda g: g.no_crosswalk and g.tier != "A",
        "medium",
        "the ZIP has no land: its post office's place decides",
    ),
    ConfidenceRule(
        "zip_outside_its_city",
        lambda g: g.outside and g.tier != "A",
        "medium",
        "the ZIP is named after a town that it does not touch",
    ),
    ConfidenceRule(
        "zip_of_another_state", lambda g: g.across, "medium", "a part of another state's ZIP"
    ),
    ConfidenceRule(
        "place_mismatch",
        lambda g: bool(g.mismatch) and g.tier != "A",
        "medium",
        "the city is not the ZIP's",
    ),
    ConfidenceRule(
        "place_mismatch_rate",
        lambda g: g.mismatch == "differs",
        "low",
        "the city is not the ZIP's and has another rate",
    ),
    ConfidenceRule(
        "zip_not_used",
        lambda g: g.zip_not_used and g.tier != "A",
        "medium",
        "the ZIP given leads nowhere, and the city decides in its place",
    ),
    ConfidenceRule(
        "city_for_zip",
        lambda g: g.zip_not_used and g.tier == "C",
        "low",
        "mail bears the city's name outside of its limits too",
    ),
    ConfidenceRule(
        "near_boundary",
        lambda g: g.near_boundary,
        "medium",
        "within about a kilometer of a boundary that matters",
    ),
    ConfidenceRule(
        "limit_close",
        lambda g: g.limit == "close",
        "low",
        "within 25 m of a limit beyond which the rate is another, or 200 m of such a county line",
    ),
    ConfidenceRule(
        "limit_near",
        lambda g: g.limit in {"near", "growing"},
        "medium",
        "within 100 m of such a limit in a city, 300 m outside of cities, 500 m of a county line",
    ),
    ConfidenceRule(
        "limit_growing",
        lambda g: g.limit == "growing",
        "down",
        "the limit is that of a city whose land grew by 5% or more since it was drawn",
    ),
    ConfidenceRule(
        "limit_inexact",
        lambda g: g.limit == "inexact",
        "medium",
        "the position of an address, 300 to 500 m from such a limit",
    ),
    ConfidenceRule(
        "limit_far",
        lambda g: g.limit == "far",
        "down",
        "outside of cities, within 1,000 m of one with another rate",
    ),
    ConfidenceRule(
        "new_place",
        lambda g: g.limit == "new",
        "low",
        "near a new city, whose limits are not known, with another rate or none that is known",
    ),
    ConfidenceRule(
        "limits_unplaced",
        lambda g: g.limit == "unplaced",
        "low",
        "parts of the county have other rates, and their limits are not known",
    ),
    ConfidenceRule(
        "similar_address",
        lambda g: g.similar and g.tier != "A",
        "medium",
        "the position is that of an address that is only similar",
    ),
    ConfidenceRule("off_map", lambda g: g.off_map, "low", "in no county of the map, but near one"),
    ConfidenceRule("third_hand", lambda g: g.third_hand, "medium", "a deciding row is third hand"),
    ConfidenceRule(
        "likely", lambda g: g.likely, "medium", "no source was read for all days of the figure"
    ),
    ConfidenceRule(
        "stale", lambda g: g.stale, "medium", "no newer figure is published for the place"
    ),
    ConfidenceRule(
        "conflict_medium", lambda g: g.conflict_cap == "medium", "medium", "sources disagree"
    ),
    ConfidenceRule("conflict_low", lambda g: g.conflict_cap == "low", "low", "sources disagree"),
    ConfidenceRule(
        "unknown_code", lambda g: g.unknown_code, "medium", "a boundary code without a rate"
    ),
    ConfidenceRule("ambiguous_name", lambda g: g.ambiguous, "down", "the name has several rates"),
    ConfidenceRule(
        "after_edition",
        lambda g: g.after_edition and not g.agreed_since,
        "down",
        "later than the edition covers",
    ),
    ConfidenceRule(
        "agreed_since",
        lambda g: g.agreed_since,
        "medium",
        "later than the table covers, and another table of later agrees",
    ),
    ConfidenceRule(
        "long_after",
        lambda g: g.long_after,
        "low",
        "more than a quarter after the edition, or a year after the table that agrees",
    ),
    ConfidenceRule(
        "districts_unplaced", lambda g: g.districts_unplaced, "low", "districts not placed"
    ),
    ConfidenceRule("partial", lambda g: g.partial, "low", "a part of the rate is not known"),
    ConfidenceRule("before_history", lambda g: g.before_history, "low", "before the oldest row"),
)
"""What limits confidence: every one that applies, in order."""


@lru_cache(maxsize=1024)
def confidence(grounds: Grounds) -> str:
    """The confidence of a result on these grounds."""
    level = LEVELS.index(next(rule.level for rule in STARTS if rule.applies(grounds)))
    for rule in LIMITS:
        if rule.applies(grounds):
            below = rule.level == "down"
            level = max(level - 1, 0) if below else min(level, LEVELS.index(rule.level))
    return LEVELS[level]


def place_mismatch(given: str, resolved: str) -> AdvisoryFields:
    """The caller's city is not the place that decided (SPEC 2.4)."""
    return {
        "code": "place_input_mismatch",
        "message": f"The place given, {given}, is not the one the rate is for: {resolved}.",
        "customer_input_place": given,
        "resolved_place_name": resolved,
    }


def several_rates(what: str, rated: Sequence[Rated], share: int | None) -> AdvisoryFields:
    """A ZIP, name or point leads to areas with different rates; the lowest and the highest.

    Where only what is known of them is the same, there is no range: no one knows its end. `share`
    are the ten-thousandths of the housing that have the rate given, where they are known.
    """
    combined = {option.combined for option in rated}
    low, high = rate_text(min(combined)), rate_text(max(combined))
    place = f"{what[0].upper()}{what[1:]}"
    advisory: AdvisoryFields = {"code": "zip_spans_jurisdictions", "candidates": len(combined)}
    if share is not None:
        advisory["share"] = share_text(share)
    if low == high:
        advisory["candidates"] = len({option.lacks for option in rated})
        message = f"{place} lies in several jurisdictions; of one, a part of the rate is not known."
        return {**advisory, "message": message}
    known = ", as far as they are known" if any(option.lacks for option in rated) else ""
    return {
        **advisory,
        "message": f"{place} lies in jurisdictions with {len(combined)} different rates,"
        f" from {low} to {high}{known}.",
        "lowest_combined_rate": low,
        "highest_combined_rate": high,
    }


def address_near_boundary(
    what: str, meters: float, rated: Sequence[Rated], *, used: str = ""
) -> AdvisoryFields:
    """A point is near a limit beyond which the rate is another; the lowest and the highest.

    Args:
        what: the point, or the address.
        meters: how far the limit is.
        rated: the rates on both sides.
        used: what decided instead of the point, where that did not.
    """
    combined = {option.combined for option in rated}
    low, high = rate_text(min(combined)), rate_text(max(combined))
    instead = f" The rate is that of {used}, not of the point." if used else ""
    advisory: AdvisoryFields = {
        "code": "address_near_boundary",
        "distance_m": round(meters),
        "candidates": len(combined),
    }
    place = f"{what[0].upper()}{what[1:]}"
    if low == high:
        advisory["candidates"] = len({option.lacks for option in rated})
        message = (
            f"{place} is {round(meters)} m from a limit beyond which a part of the rate is not"
            f" known.{instead}"
        )
        return {**advisory, "message": message}
    return {
        **advisory,
        "message": f"{place} is {round(meters)} m from a limit beyond which the rate is another:"
        f" {len(combined)} rates from {low} to {high}.{instead}",
        "lowest_combined_rate": low,
        "highest_combined_rate": high,
    }


def near_new_city(what: str, meters: float) -> AdvisoryFields:
    """A point may lie in a city that is newer than the limits, of whose rate nothing is known."""
    return {
        "code": "address_near_boundary",
        "message": f"{what[0].upper()}{what[1:]} is in or near a city that is new since 2023: its"
        " limits are not known, nor is a rate of its own. The rate is that of the county.",
        "distance_m": round(meters),
        "candidates": 1,
    }


def point_not_used(what: str, why: str) -> AdvisoryFields:
    """The coordinates of a row were not used; its ZIP or address decided."""
    return {
        "code": "point_not_used",
        "message": not_used(why, what),
        "why": why,
    }


def address_match_contradicts(what: str, why: str) -> AdvisoryFields:
    """The address that a geocoder found contradicts the one given, which decided."""
    return {
        "code": "address_match_contradicts",
        "message": f"The address that the geocoder found contradicts the one given: {why}. The"
        f" rate is that of {what}.",
        "why": why,
    }


def zip_of_another_state(zip5: str, name: str, homes: Sequence[str]) -> AdvisoryFields:
    """The post office counts the ZIP to another state; part of it lies in the requested one."""
    return {
        "code": "zip_of_another_state",
        "message": f"ZIP {zip5} belongs to {' and '.join(homes)}; only a part of it lies in"
        f" {name}: make sure that the place does.",
        "zip": zip5,
        "states": tuple(homes),
    }


def zip_crosses_state_line(zip5: str, name: str, others: Sequence[str]) -> AdvisoryFields:
    """Some of the ZIP lies in another state, whose rates are not in the result."""
    return {
        "code": "zip_crosses_state_line",
        "message": f"A part of ZIP {zip5} lies in {' and '.join(others)}: the rate is that of its"
        f" places in {name}. Make sure of the state.",
        "zip": zip5,
        "states": tuple(others),
    }


_PLACE_REPLACED = frozenset({"place_input_mismatch", "address_not_matched", "zip_not_used"})
"""Warnings that name what decided instead of what was given."""


def with_range(advisory: AdvisoryFields, rated: Sequence[Rated]) -> AdvisoryFields:
    """A warning about the place, with the lowest and highest of the possible rates.

    Equal ends say that the place cannot change the rate: not so where a part of one is not known.
    """
    combined = [option.combined for option in rated]
    unknown = min(combined) == max(combined) and any(option.lacks for option in rated)
    if advisory["code"] not in _PLACE_REPLACED or unknown:
        return advisory
    return {
        **advisory,
        "lowest_combined_rate": rate_text(min(combined)),
        "highest_combined_rate": rate_text(max(combined)),
    }


def near_state_line(what: str, states: Sequence[str]) -> AdvisoryFields:
    """The point is so near another state that the simplified boundaries do not decide."""
    return {
        "code": "near_state_line",
        "message": f"Within about a kilometer of {what} lies {' and '.join(states)}, and"
        " the boundaries of the map are not finer than that. Make sure of the state.",
        "states": tuple(states),
    }


def near_map_edge(what: str) -> AdvisoryFields:
    """The point is near the end of the map: the sea, or another country."""
    return {
        "code": "near_map_edge",
        "message": f"Within about a kilometer of {what} the map of the United States ends, and its"
        " boundaries are not finer than that. Make sure of the country.",
    }


def off_map(what: str, county: str) -> AdvisoryFields:
    """The point lies in no county; the rate is that of the nearest one."""
    return {
        "code": "point_off_map",
        "message": f"{what[0].upper()}{what[1:]} lies in no county of the map: it may be at sea or"
        f" in another country. The rate is that of {county}, which is nearest.",
        "county": county,
    }


def local_rates_not_covered(state: StateRow) -> AdvisoryFields:
    """The rate is the state part alone; local tax is due on top of it."""
    return {
        "code": "local_rates_not_covered",
        "message": f"Only the state part is known: {state.name} also has local rates that this"
        " book does not cover.",
        "state": state.state,
    }


def districts_not_covered(state: StateRow, until: date) -> AdvisoryFields:
    """Districts had rates on that day and the book cannot say where they applied."""
    still = until == date.max
    span = "have" if still else "had"
    advisory: AdvisoryFields = {
        "code": "districts_not_covered",
        "message": f"{'S' if still else f'Until {until} s'}pecial districts of {state.name} {span}"
        " rates that the book cannot place on the map: the rate may be too low.",
        "state": state.state,
    }
    return advisory if still else {**advisory, "until": until.isoformat()}


def districts_possible(state: StateRow, area: str) -> AdvisoryFields:
    """A district that the book cannot place may apply in an area."""
    return {
        "code": "districts_not_covered",
        "message": f"A special district of {state.name} that the book cannot place on the map may"
        f" apply in {area}: the rate may be too low.",
        "state": state.state,
    }


def listed_cities_only(state: StateRow) -> AdvisoryFields:
    """The book has the whole rates of listed cities only, and the place is not one of them."""
    return {
        "code": "districts_not_covered",
        "message": f"Of {state.name} the book has the whole rates of listed cities only: in this"
        " place other city and district rates may come on top.",
        "state": state.state,
    }


def address_districts_not_covered(state: StateRow) -> AdvisoryFields:
    """The rate is the place's; districts drawn by address may add to it at single addresses."""
    return {
        "code": "address_districts_not_covered",
        "message": f"Districts of {state.name} that are drawn by address (business, improvement,"
        " economic development, metropolitan) are not in the rate.",
        "state": state.state,
    }


@lru_cache(maxsize=128)
def of_delivery(state: StateRow, rule: DeliveryRule | None) -> tuple[AdvisoryFields, ...]:
    """What is in doubt about the tax on delivery: the seller decides, or sources leave it open."""
    found: list[AdvisoryFields] = []
    if rule is not None and rule.treatment == "exempt_if_optional":
        found.append(
            {
                "code": "delivery_optional_unknown",
                "message": f"{state.name} does not tax separately stated delivery where the buyer"
                " could avoid the charge, such as by picking the goods up; a shop that only ships"
                " must tax it.",
                "state": state.state,
            }
        )
    if rule is not None and rule.doubt:
        found.append(
            {
                "code": "delivery_unsettled",
                "message": rule.doubt,
                "state": state.state,
                "certainty": rule.certainty,
            }
        )
    return tuple(found)


def stale_rate(confirmed: date) -> AdvisoryFields:
    """No figure newer than a day is published for the place."""
    return {
        "code": "stale_rate",
        "message": f"The rate is the last one published for the place, of {confirmed}; no newer"
        " exact figure is at hand.",
        "last_confirmed": confirmed.isoformat(),
    }


def seasonal_rates(state: StateRow) -> AdvisoryFields:
    """Towns of the state change their rate with the season, and the table has one."""
    return {
        "code": "seasonal_rates",
        "message": f"Several towns of {state.name} have other rates in winter: the table's is"
        " mostly the summer's.",
        "state": state.state,
    }


def codes_without_rate(codes: Sequence[str], file: str) -> AdvisoryFields:
    """Boundary records name codes that the state's rate file has no row for."""
    listed = ", ".join(codes)
    return {
        "code": "districts_not_covered",
        "message": f"Boundary records of {file} name codes without a rate ({listed}): the rate may"
        " be too low. Import the state's rate file of the same quarter.",
        "codes": tuple(codes),
    }


def before_history(day: date, oldest: date) -> AdvisoryFields:
    """The day lies before the oldest row, which was used."""
    return {
        "code": "as_of_before_history",
        "message": f"The book knows this rate from {oldest} on; for {day} it gives the oldest one"
        " it has.",
        "as_of": day.isoformat(),
        "oldest": oldest.isoformat(),
    }


@lru_cache(maxsize=1024)
def after_edition(day: date, end: date) -> AdvisoryFields:
    """The day lies after what the edition covers; the newest row was used."""
    return {
        "code": "as_of_after_edition",
        "message": f"The edition is good until {end}; for {day} it gives the newest rate it has,"
        " which may have changed since.",
        "as_of": day.isoformat(),
        "edition_end": end.isoformat(),
    }


def rate_rounded(state: StateRow, rated: Rated) -> AdvisoryFields:
    """The published rate has more than five decimals."""
    return {
        "code": "rate_rounded",
        "message": f"{state.name} publishes this rate as {rated.published}; it is rounded half up"
        f" to {rate_text(rated.combined)}: at most half a cent in a thousand dollars.",
        "published_rate": rated.published,
        "combined_rate": rate_text(rated.combined),
    }


def address_not_matched(used: str) -> AdvisoryFields:
    """The street was not looked at; the ZIP or the place of the address decided."""
    return {
        "code": "address_not_matched",
        "message": f"The street address was not matched: the rate is that of {used}.",
        "used": used,
    }


def zip_not_used(zip5: str, city: str, why: str) -> AdvisoryFields:
    """The ZIP of an address leads nowhere, and its city decided."""
    return {
        "code": "zip_not_used",
        "message": f"The rate is that of {city}, not of ZIP {zip5}: {why}.",
        "zip": zip5,
        "used": city,
    }


def source_conflict(component: RateShare) -> AdvisoryFields:
    """Sources disagree about a row that decides."""
    row, name = component.row, component.jurisdiction.name
    advisory: AdvisoryFields = {
        "code": "source_conflict",
        "message": f"Sources disagree about {name}. {row.note}",
        "jurisdiction": name,
        "rate": rate_text(row.units),
    }
    if row.conflict_units is not None:
        advisory["other_rate"] = rate_text(row.conflict_units)
    return advisory


@lru_cache(maxsize=4096)
def rate_text(units: int) -> str:
    """The five-decimal string of a rate in units of 10^-5: `8250` gives `"0.08250"`.

    Cached: a book has a few hundred different rates.
    """
    return units_to_rate(units)
