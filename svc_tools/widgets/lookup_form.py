"""What is asked in the tab "Lookup": its fields, and the question that they make. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from svc_tools.places import STATES, Cells, Place, Refusal, question
from svc_tools.shown import capital
from svc_tools.widgets.code import as_code
from svc_tools.widgets.form import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ENTRIES", "Asked", "asked"]

_ZIP, _ADDRESS, _PLACE, _POINT = "zip", "address", "place", "coordinates"

ENTRIES = (
    Entry(
        "state",
        "State",
        "combo",
        placeholder="TX",
        options=tuple(STATES.items()),
        width="narrow",
        help="A code or a name.",
        longest=60,
    ),
    Entry(
        "mode",
        "Find the place by",
        "radio",
        options=(
            (_ZIP, "ZIP Code"),
            (_ADDRESS, "Address"),
            (_PLACE, "Place name"),
            (_POINT, "Coordinates"),
        ),
        value=_ZIP,
        width="whole",
    ),
    Entry(
        "zip",
        "ZIP Code or ZIP+4",
        placeholder="78701",
        shown_with=("mode", _ZIP),
        inputmode="numeric",
        longest=40,
        width="narrow",
    ),
    Entry(
        "address",
        "Street address",
        placeholder="1100 Congress Ave",
        shown_with=("mode", _ADDRESS),
        help="The street with the city beside it, or the whole line.",
        longest=400,
    ),
    Entry("city", "City", shown_with=("mode", _ADDRESS), longest=200, width="narrow"),
    Entry(
        "address_zip",
        "ZIP Code of the address",
        shown_with=("mode", _ADDRESS),
        inputmode="numeric",
        longest=40,
        width="narrow",
    ),
    Entry("location", "Place name", placeholder="Austin", shown_with=("mode", _PLACE), longest=200),
    Entry(
        "lat",
        "Latitude",
        placeholder="30.27",
        shown_with=("mode", _POINT),
        help="Degrees, north is positive.",
        longest=60,
        width="narrow",
    ),
    Entry(
        "lng",
        "Longitude",
        placeholder="-97.74",
        shown_with=("mode", _POINT),
        help="Degrees, west is negative.",
        longest=60,
        width="narrow",
    ),
    Entry(
        "when",
        "Rate in force",
        "radio",
        options=(("today", "Today"), ("date", "On a date")),
        value="today",
        width="whole",
    ),
    Entry("as_of", "Date of the sale", "date", shown_with=("when", "date"), width="narrow"),
)

_NEEDED = {
    _ZIP: {"zip": "Give a ZIP Code, such as 78701."},
    _ADDRESS: {"address": "Give the street address."},
    _PLACE: {"location": "Give the name of a place, such as Austin."},
    _POINT: {
        "lat": "Give the latitude in degrees, such as 30.27.",
        "lng": "Give the longitude in degrees, such as -97.74.",
    },
}
_CITY = "the line is too short or too long for an address; give the city beside the street"
_NO_STATE = "Give the state, such as TX or Texas: only a ZIP Code can tell it."


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, ready to be asked.

    Attributes:
        place: the place and the day.
        state_from_zip: whether the state was taken from the ZIP.
    """

    place: Place
    state_from_zip: bool = False

    @property
    def day(self) -> date | None:
        """The day that the rate is asked for; `None` for today."""
        return self.place.as_of

    @property
    def words(self) -> str:
        """The place in a few words, as it is asked for."""
        place = self.place
        if place.mode == _POINT:
            return f"{place.state}, {place.lat}, {place.lng}"
        parts = (place.address, place.city, place.location)
        before = ", ".join(part for part in parts if part)
        where = f"{place.state} {place.zip}" if place.zip else place.state
        return f"{before}, {where}" if before else where

    def code(self) -> str:
        """The call that asks the same."""
        return as_code("client.lookup", self.place.state, **self.place.arguments())


def asked(values: Mapping[str, str]) -> Asked | dict[str, str]:
    """The question that the fields make; else what is wrong, by the name of a field.

    Only the fields of the chosen mode count. Nothing is sent for what cannot be a place.
    """
    mode = values.get("mode") or _ZIP
    errors = {
        name: said for name, said in _NEEDED[mode].items() if not values.get(name, "").strip()
    }
    if mode != _ZIP and not values.get("state", "").strip():
        errors["state"] = _NO_STATE
    day = None
    if values.get("when") == "date":
        try:
            day = date.fromisoformat(values.get("as_of", ""))
        except ValueError:
            errors["as_of"] = "Give the date of the sale, as 2026-05-01."
    if errors:
        return errors
    cells = _cells(mode, values, day)
    found = question(cells, dated=day is not None)
    if isinstance(found, Refusal):
        return _refused(found.reason, mode)
    if found.place.mode != mode:  # of a line that is no address something else would be asked
        return {"address": _sentence(_CITY)}
    return Asked(found.place, state_from_zip=found.state_from_zip)


def _cells(mode: str, values: Mapping[str, str], day: date | None) -> Cells:
    state = values.get("state")
    if mode == _ADDRESS:
        address, city, zip_code = (values.get(name) for name in ("address", "city", "address_zip"))
        return Cells(state=state, address=address, city=city, zip=zip_code, as_of=day)
    if mode == _PLACE:
        return Cells(state=state, location=values.get("location"), as_of=day)
    if mode == _POINT:
        return Cells(state=state, lat=values.get("lat"), lng=values.get("lng"), as_of=day)
    return Cells(state=state, zip=values.get("zip"), as_of=day)


def _refused(reason: str, mode: str) -> dict[str, str]:
    """A refusal at the field that it is about; the first field where it names none."""
    name, colon, rest = reason.partition(": ")
    if name == "zip" and mode == _ADDRESS:
        name = "address_zip"
    if colon and name in {entry.name for entry in ENTRIES}:
        return {name: _sentence(rest)}
    return {"zip" if mode == _ZIP else "state": _sentence(reason)}


def _sentence(text: str) -> str:
    return f"{capital(text)}."
