"""The finest boundary records in force that say something of an address, a ZIP+4 or a ZIP."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.boundary_address import matching, read_street
from svc_tools.service.ratebook.imports.boundary_lines import UNSURE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.service.ratebook.address_line import Parts
    from svc_tools.service.ratebook.imports.boundary_address import AskedAddress
    from svc_tools.service.ratebook.imports.boundary_store import (
        AddressRow,
        BoundaryReader,
        Span,
        ZipSpan,
    )

__all__ = ["Found", "Search"]


_KINDS = {"Z": "ZIP", "4": "ZIP+4"}


class Found(NamedTuple):
    """What decides.

    Attributes:
        via: `address`, `zip4` or `zip5` (WIRE `resolved_via`).
        decided: as `confidence.Grounds.decided`, if there is one composition only; within a
            search also `vague`, as `matching` says.
        composites: the compositions by number, each with why it is one.
        zip: the ZIP of the records; empty where they are of several.
    """

    via: str
    decided: str
    composites: tuple[tuple[int, str], ...]
    zip: str


class _ZipRecords(NamedTuple):
    """All that an edition says of a ZIP as a whole."""

    zips: tuple[ZipSpan, ...]
    within: tuple[Span, ...]
    has_addresses: bool


class Search:
    """A search among the records of one edition on one day.

    Args:
        memo: keeps what an edition says of whole ZIPs.
        edition_id: the edition.
        reader: reads its records.
        at: the day, as records keep it.
    """

    def __init__(
        self, memo: dict[object, object], edition_id: int, reader: BoundaryReader, at: int
    ) -> None:
        self._memo, self._edition, self._reader, self._at = memo, edition_id, reader, at

    def in_zip(self, parts: Parts) -> Found | None:
        """The finest records of a place whose ZIP is known."""
        whole = self._of_zip(parts.zip)
        unsure: Found | None = None
        if parts.street and whole.has_addresses and (asked := read_street(parts.street)):
            unsure = self._by_address(asked, parts.zip)
            if unsure and unsure.decided == "address":
                return unsure
            if unsure and unsure.decided == "vague":
                unsure = None  # what the ZIP+4 or the ZIP may be is all that is known
        if parts.plus4:
            why = f"the ZIP+4 record of {parts.zip}-{parts.plus4}"
            spans = self._reader.plus4(int(parts.zip), int(parts.plus4))
            spans += [found.span for found in whole.zips if found.kind == "4"]
            composites = _unique((span.composite, why) for span in spans if self._holds(span))
            if composites:
                return Found("zip4", "zip4", composites, parts.zip)
        if unsure:
            return unsure
        by_range = [
            (found.span.composite, f"the {_KINDS[found.kind]} record of {_zip_range(found)}")
            for found in whole.zips
            if self._holds(found.span)
        ]
        inside = f"a ZIP+4 or address record of ZIP {parts.zip}"
        by_record = [(span.composite, inside) for span in whole.within if self._holds(span)]
        composites = _unique((*by_range, *by_record))
        return Found("zip5", "boundary_zip", composites, parts.zip) if composites else None

    def in_city(self, street: str, zips: Sequence[str]) -> Found | None:
        """The address records of a street in any of a city's ZIPs, where all of it was said."""
        within = [zip5 for zip5 in zips if self._of_zip(zip5).has_addresses]
        asked = read_street(street) if within else None
        if asked is None:
            return None
        found = [(zip5, self._by_address(asked, zip5)) for zip5 in within]
        if any(one and one.decided == "vague" for _, one in found):
            return None
        sure = [(zip5, one) for zip5, one in found if one and one.decided == "address"]
        composites = _unique(pair for _, one in sure for pair in one.composites)
        if not composites:
            return None
        decided = "street" if len(composites) == 1 else "boundary_zip"
        return Found("address", decided, composites, sure[0][0] if len(sure) == 1 else "")

    def lists(self, zip5: str) -> bool:
        """Whether a record names this very ZIP, rather than a range it lies in."""
        whole = self._of_zip(zip5)
        return bool(whole.within) or any(found.low == found.high for found in whole.zips)

    def _by_address(self, asked: AskedAddress, zip5: str) -> Found | None:
        """The records of an address; of several house numbers those of the first and the last."""
        found = self._by_house(asked, zip5)
        if not (found and asked.last and asked.last.number > asked.house.number):
            return found
        other = self._by_house(asked._replace(house=asked.last), zip5)
        if other is None:
            return found._replace(decided="street") if found.decided == "address" else found
        composites = _unique((*found.composites, *other.composites))
        if found.decided == other.decided and len(composites) == len(found.composites):
            return found
        vague = "vague" in {found.decided, other.decided}
        return found._replace(decided="vague" if vague else "boundary_zip", composites=composites)

    def _by_house(self, asked: AskedAddress, zip5: str) -> Found | None:
        rows = self._reader.addresses(int(zip5), asked.street.name, asked.house)
        rows = [row for row in rows if self._holds(row.span)]
        matched, sure = matching(asked, rows)
        composites = _unique((row.span.composite, _address_record(row)) for row in matched)
        if not composites:
            return None
        decided = "boundary_zip" if sure == "street" and len(composites) > 1 else sure
        return Found("address", decided, composites, zip5)

    def _of_zip(self, zip5: str) -> _ZipRecords:
        key = ("boundary-zip", self._edition, zip5)
        found = self._memo.get(key)
        if not isinstance(found, _ZipRecords):
            number, reader = int(zip5), self._reader
            found = self._memo[key] = _ZipRecords(
                tuple(reader.zips(number)),
                tuple(reader.within(number)),
                reader.has_addresses(number),
            )
        return found

    def _holds(self, span: Span) -> bool:
        return span.begins <= self._at <= span.ends


def _unique(found: Iterable[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """Each composition once, with the first reason for it."""
    reasons: dict[int, str] = {}
    for composite, why in found:
        reasons.setdefault(composite, why)
    return tuple(reasons.items())


def _zip_range(found: ZipSpan) -> str:
    low, high = f"{found.low:05}", f"{found.high:05}"
    return f"ZIP {low}" if low == high else f"ZIPs {low} to {high}"


def _address_record(row: AddressRow) -> str:
    if row.parity == UNSURE:
        return f"an address record of {row.street.whole.title()} that does not say its numbers"
    side = {"O": "odd numbers ", "E": "even numbers ", "B": ""}[row.parity]
    lead, _, tail = row.letters.partition("|")
    numbers = f"{lead}{row.low}{tail} to {lead}{row.high}{tail}"
    unit = f", {row.unit or 'units'} {row.unit_low} to {row.unit_high}" if row.unit_low else ""
    return f"the address record of {side}{numbers} {row.street.whole.title()}{unit}"
