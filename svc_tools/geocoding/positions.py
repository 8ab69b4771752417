"""The positions of the places of a run: those stored, and those that a geocoder finds now."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.base.progress import stage
from svc_tools.geocoding.addresses import street_address
from svc_tools.geocoding.geocoders import GeocoderError, Stored, chosen_geocoder
from svc_tools.geocoding.store import AddressStore, addresses_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from svc_tools.base.positions import Position
    from svc_tools.base.progress import Progress
    from svc_tools.geocoding.addresses import AddressMatch, StreetAddress
    from svc_tools.geocoding.geocoders import Geocoder
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.computed import Ends
    from svc_tools.tables.places import Place

_WORDS = {
    "exact": ("exact match", "exact matches"),
    "similar": ("similar match", "similar matches"),
    "tie": ("with several matches", "with several matches"),
    "none": ("without a match", "without a match"),
}
"""How addresses matched: of one address, and of several."""


class ToSend(NamedTuple):
    """What geocoding would take.

    Attributes:
        where: the geocoder, in words.
        addresses: how many addresses would be sent to it.
        known: how many further ones are stored from earlier runs.
    """

    where: str
    addresses: int
    known: int


class Geocoding:
    """The geocoding of one run.

    Args:
        geocoder: the geocoder.
        store: what it found before.
        not_stored: why what it finds now is not stored, where the user has to know.

    Attributes:
        name: the name that its results are stored under; empty where they are not.
        where: the geocoder, in words.
        notes: sentences for the user.
        trouble: why the geocoder could not be used for all addresses; `None` where it was.
    """

    def __init__(self, geocoder: Geocoder, store: AddressStore, not_stored: str = "") -> None:
        self.name, self.where = geocoder.name, geocoder.where
        self.notes: list[str] = []
        self.trouble: str | None = None
        self._geocoder, self._store, self._not_stored = geocoder, store, not_stored

    def plan(self, places: Iterable[Place]) -> ToSend:
        """What `positions` of these places would send; sends nothing."""
        distinct = set(_addresses(places).values())
        with self._store as store:
            known = len(store.known(distinct))
        return ToSend(self.where, len(distinct) - known, known)

    def positions(
        self, places: Iterable[Place], ends: Ends, progress: Progress | None = None
    ) -> dict[Place, Position]:
        """The position of each place that has one; each distinct address is sent once.

        What is found is stored at once, and stays stored however the run ends. Where the geocoder
        cannot be used, a note says so, and the rest has no position.
        """
        addresses = _addresses(places)
        distinct = dict.fromkeys(addresses.values())
        with self._store as store:
            found = store.known(distinct)
            left = [address for address in distinct if address not in found]
            if left:
                self._find(left, found, ends, progress)
            self.notes += [note for note in store.notes if note not in self.notes]
        if distinct:
            self._note(distinct, found, sent=len(left))
        every = ((place, found.get(address)) for place, address in addresses.items())
        return {place: one.position for place, one in every if one and one.position}

    def _find(
        self,
        left: list[StreetAddress],
        found: dict[StreetAddress, AddressMatch],
        ends: Ends,
        progress: Progress | None,
    ) -> None:
        """Add to what was found what the geocoder finds of the rest."""
        with stage(progress, "Geocoding", len(left), "addresses") as shown:

            def take(some: Mapping[StreetAddress, AddressMatch]) -> None:
                self._store.put(some, datetime.now().astimezone().date())
                found.update(some)
                shown.advance(len(some))

            try:
                self._geocoder.find(left, ends, take)
            except GeocoderError as error:
                how = "failed for some addresses" if error.partly else "cannot be used now"
                self.trouble = (
                    f"{self.where} {how}: {error}; run it again to go on with the addresses that"
                    " have no position"
                )
                self.notes.append(self.trouble)

    def _note(
        self,
        distinct: Iterable[StreetAddress],
        found: Mapping[StreetAddress, AddressMatch],
        *,
        sent: int,
    ) -> None:
        """How many addresses have a position, and how many the ZIP decides."""
        kinds = Counter(found[address].match if address in found else "" for address in distinct)
        named = [
            f"{kinds[kind]:,} {one if kinds[kind] == 1 else several}"
            for kind, (one, several) in _WORDS.items()
            if kinds[kind]
        ]
        if lacking := kinds[""]:
            whose = "its" if lacking == 1 else "their"
            named.append(f"{lacking:,} without a response, so that {whose} ZIP decides")
        note = f"street addresses by {self.where}: {', '.join(named)}; sent now: {sent:,}"
        if lacking and self._geocoder.last_error:
            note += f"; the last error: {self._geocoder.last_error}"
        self.notes.append(note)
        not_stored = (
            f"the results of {self.where} are not stored, because {self._not_stored}: the next run"
            " sends the addresses again; those of a function imported from a module are stored"
        )
        if sent and self._not_stored and not_stored not in self.notes:
            self.notes.append(not_stored)


def geocoding_of(choice: object, cache: CacheChoice = None) -> Geocoding | None:
    """The geocoding of a run; `None` where none is wanted.

    Args:
        choice: the argument `geocode`; see `chosen_geocoder`.
        cache: the cache, beside which its file is.

    Raises:
        ConfigurationError: a variable that it reads cannot be used.
    """
    geocoder = chosen_geocoder(choice)
    if geocoder is None:
        return None
    path = addresses_path(cache)
    store = AddressStore(path if geocoder.name else None, geocoder.name)
    return Geocoding(geocoder, store, geocoder.not_stored if path is not None else "")


def stored_geocoding(name: str, cache: CacheChoice = None) -> Geocoding:
    """The positions that a geocoder found before; sends nothing."""
    return Geocoding(Stored(name), AddressStore(addresses_path(cache), name))


def _addresses(places: Iterable[Place]) -> dict[Place, StreetAddress]:
    """The street address of each place that is to be sent."""
    every = ((place, street_address(place)) for place in places)
    return {place: address for place, address in every if address is not None}
