"""An answer: the rate of a place on a day, what it rests on, and how it is written (SPEC 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.figures import rate_text

if TYPE_CHECKING:
    from datetime import date

    from svc_tools.service.ratebook.advisories import Advisory
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.location import Location
    from svc_tools.service.ratebook.rating import Component, Rated
    from svc_tools.service.ratebook.schema import StateRow

__all__ = ["Answer"]

_ZERO = "0.00000"


class Answer(NamedTuple):
    """One resolved lookup. Immutable; `simple` and `full` write it as JSON objects.

    Attributes:
        book: the book it came from.
        state: what the book claims for the state.
        location: where the lookup led.
        rated: the rates of the possible areas with why each is one, the answered one first.
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
    advisories: tuple[Advisory, ...]
    period: str | None

    @property
    def chosen(self) -> Rated:
        """The rates that are answered."""
        return self.rated[0][0]

    def simple(self) -> dict[str, object]:
        """`{"rate": ..., "meta": ...}`: SPEC 2.2 and 2.3, with `source` and `edition`."""
        return {"rate": self._rate(), "meta": self._meta()}

    def full(self) -> dict[str, object]:
        """The simple body and `candidates`, `components`, `resolved_place` (SPEC 2.5)."""
        return {
            **self.simple(),
            "candidates": [
                _candidate(rank, rated, why, self.book)
                for rank, (rated, why) in enumerate(self.rated, 1)
            ],
            "components": [_component(component) for component in self.chosen.components],
            "resolved_place": self._place(),
        }

    def _rate(self) -> dict[str, object]:
        location, rated = self.location, self.chosen
        rate: dict[str, object] = {
            "state": self.state.state,
            "zip": location.zip,
            "city": location.city,
            "county": _county_name(self.book, self.state.state, location.county),
            "country": "US",
            "country_rate": _ZERO,
            **rated.written,
            "freight_taxable": self.state.freight_taxable,
        }
        if self.state.freight_note:
            rate["freight_note"] = self.state.freight_note
        return rate

    def _meta(self) -> dict[str, object]:
        effective, (name, edition) = self.chosen.effective, self.chosen.origin
        meta: dict[str, object] = {
            "resolved_via": self.location.via,
            "confidence": self.confidence,
            "effective_date": effective.isoformat() if effective else None,
            "effective_date_basis": "publisher_effective_date" if effective else "edition_only",
            "period": self.period,
            "warnings": [dict(advisory) for advisory in self.advisories],
            "source": name,
            "edition": edition,
        }
        if accepted := self._accepted_names():
            meta["accepted_places"] = accepted
        return meta

    def _accepted_names(self) -> list[str]:
        """The further names a ZIP goes by: a caller's city that is one of them is no mismatch."""
        zip5 = self.location.zip
        place = self.book.zips.state(self.state.state).get(zip5) if zip5 else None
        return [*place.accepted, *place.refused] if place else []

    def _place(self) -> dict[str, object]:
        location, area = self.location, self.chosen.area
        place: dict[str, object] = {
            "state": self.state.state,
            "state_name": self.state.name,
            "tier": self.state.tier,
            "zip": location.zip,
            "city": location.city,
            "county": _county_name(self.book, self.state.state, location.county),
            "county_fips": f"{self.state.fips}{location.county}" if location.county else None,
            "area": area.name if area else None,
            "area_code": (area.code or None) if area else None,
            "as_of": self.day.isoformat(),
        }
        if location.by_record:
            place["records"] = location.records
        if location.point:
            place["lat"], place["lng"] = location.point
            place["nearest_zip"] = location.nearest_zip
        return place


def _county_name(book: Book, state: str, fips: str | None) -> str | None:
    county = book.counties.get((state, fips)) if fips else None
    return county.name if county else None


def _candidate(rank: int, rated: Rated, why: str, book: Book) -> dict[str, object]:
    area = rated.area
    fips = area.counties[0] if area and area.counties else None
    return {
        "rank": rank,
        "chosen": rank == 1,
        "name": area.name if area else None,
        "code": (area.code or None) if area else None,
        "county": _county_name(book, area.state, fips) if area else None,
        "why": why,
        **rated.written,
    }


def _component(component: Component) -> dict[str, object]:
    jurisdiction, row, source = component
    written: dict[str, object] = {
        "level": jurisdiction.level,
        "name": jurisdiction.name,
        "code": jurisdiction.code,
        "rate": rate_text(row.units),
        "begin": row.begin.isoformat() if row.begin else None,
        "end": row.end.isoformat() if row.end else None,
        "effective_date": row.effective.isoformat() if row.effective else None,
        "source": source.name,
        "edition": source.edition,
        "trust": row.trust,
    }
    if row.note:
        written["note"] = row.note
    return written
