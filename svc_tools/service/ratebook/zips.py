"""Every ZIP of the covered states: its place, its accepted names, its counties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import zipcodes

from svc_tools.service.ratebook.fips import OUTSIDE
from svc_tools.service.ratebook.names import bare_county, name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from svc_tools.service.ratebook.schema import County, ZipCounties

__all__ = ["ZipIndex", "ZipPlace"]

_MAIL = "AE"
_filter_by: Callable[..., list[dict[str, Any]]] = zipcodes.filter_by
_matching: Callable[[str], list[dict[str, Any]]] = zipcodes.matching


class ZipPlace(NamedTuple):
    """One ZIP as the postal table has it.

    Attributes:
        zip: five digits.
        state: two-letter code.
        kind: `STANDARD`, `PO BOX` or `UNIQUE`.
        city: the preferred city name.
        accepted: further names the post office accepts.
        refused: names people use that it does not accept.
        county: FIPS code of the one county the table names; empty when it names none.
        lat: latitude in degrees as text; `0` when unknown.
        lng: longitude likewise.
    """

    zip: str
    state: str
    kind: str
    city: str
    accepted: tuple[str, ...]
    refused: tuple[str, ...]
    county: str
    lat: str
    lng: str


class ZipIndex:
    """The postal table and the census crosswalk, indexed by state and ZIP.

    The table is unpacked once; a state's ZIPs are indexed when the first of them is asked for.
    Filling an index twice from two threads gives the same index.
    """

    __slots__ = ("_counties", "_names", "_places", "_shared")

    def __init__(self, counties: Iterable[County], crosswalk: Iterable[ZipCounties]) -> None:
        """Index the crosswalk and unpack the postal table."""
        self._names = _county_names(counties)
        self._places: dict[str, Mapping[str, ZipPlace]] = {}
        shared: dict[str, tuple[str, ...]] = {}
        self._counties: dict[str, tuple[str, ...]] = {}
        self._shared: dict[str, tuple[str, ...]] = {}
        homes: dict[str, str] = {}
        for zip5, state, codes in crosswalk:
            if homes.setdefault(zip5, state) != state:
                self._shared[zip5] = (*self._shared.get(zip5, (homes[zip5],)), state)
            if codes not in shared:
                shared[codes] = tuple(codes.split())
            self._counties[zip5 + state] = shared[codes]
        self.state("DC")

    def state(self, state: str) -> Mapping[str, ZipPlace]:
        """Every ZIP of a state, by its five digits."""
        found = self._places.get(state)
        if found is None:
            found = self._places[state] = self._read(state)
        return found

    def touched(self, zip5: str, state: str) -> tuple[str, ...]:
        """FIPS codes of the counties of a state that a ZIP touches; none: not in the crosswalk."""
        return self._counties.get(zip5 + state, ())

    def crosses(self, zip5: str, state: str) -> list[str]:
        """The other states that a ZIP touches, in order: few ZIPs touch more than one."""
        return sorted(other for other in self._shared.get(zip5, ()) if other != state)

    def zips(self, state: str) -> list[str]:
        """Every ZIP that leads into a state, by either table, in order."""
        crossing = {key[:5] for key in self._counties if key[5:] == state}
        return sorted(crossing | set(self.state(state)))

    def states_of(self, zip5: str, states: Iterable[str]) -> list[str]:
        """The states, territories or mail regions a ZIP belongs to; empty for an unknown ZIP."""
        found = {_MAIL if _military(row) else str(row["state"]) for row in _matching(zip5)}
        return sorted(found | {state for state in states if zip5 + state in self._counties})

    def _read(self, state: str) -> dict[str, ZipPlace]:
        return {
            row["zip_code"]: ZipPlace(
                row["zip_code"],
                state,
                row["zip_code_type"],
                row["city"],
                tuple(row["acceptable_cities"]),
                tuple(row["unacceptable_cities"]),
                self._names.get((state, name_key(row["county"] or "")), ""),
                row["lat"] or "0",
                row["long"] or "0",
            )
            for row in _filter_by(state=state)
            if not _military(row)
        }


def _military(row: Mapping[str, Any]) -> bool:
    """Whether a ZIP is military or diplomatic mail; the table counts some of it to New Jersey."""
    return str(row["city"]).upper() in {"APO", "DPO", "FPO"} and row["state"] not in OUTSIDE


def _county_names(counties: Iterable[County]) -> dict[tuple[str, str], str]:
    """(state, key of a county's name) -> FIPS code, with the bare names that are unambiguous."""
    full: dict[tuple[str, str], str] = {}
    bare: dict[tuple[str, str], set[str]] = {}
    for county in counties:
        full[county.state, name_key(county.name)] = county.fips
        bare.setdefault((county.state, bare_county(county.name)), set()).add(county.fips)
    for key, codes in bare.items():
        if len(codes) == 1:
            full.setdefault(key, *codes)
    return full
