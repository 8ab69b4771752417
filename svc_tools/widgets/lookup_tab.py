"""The tab "Lookup": a form, the rate as a card, and the history of the session's lookups.

`query_of` turns the fields of the form into a `LookupQuery`, or into messages at the fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, ClassVar

import anywidget
import ipywidgets
import traitlets

from svc_sdk import SvcError
from svc_tools.display import capital, card, rate_headline, the_service
from svc_tools.lookup.outcomes import Trouble, failed, further_reasons, of_response
from svc_tools.places import STATES, Cells, Place, Question, Refusal, question
from svc_tools.widgets.parts import (
    HERE,
    NO_SERVICE,
    CodeView,
    Entry,
    Form,
    MessageArea,
    Values,
    as_code,
    set_visible,
    trouble_of,
)
from svc_tools.widgets.transfers import CopyButton

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_sdk import Svc, TaxResponse
    from svc_tools.lookup import Outcome
    from svc_tools.widgets.session import Job, Session

_ZIP, _ADDRESS, _PLACE, _POINT = "zip", "address", "place", "coordinates"
_NEEDED = {
    _ZIP: {"zip": "Give a ZIP Code, such as 78701."},
    _ADDRESS: {"address": "Give the street address."},
    _PLACE: {"location": "Give the name of a place, such as Austin."},
    _POINT: {
        "lat": "Give the latitude in degrees, such as 30.27.",
        "lng": "Give the longitude in degrees, such as -97.74.",
    },
}
_CITY = "the line is too short or too long for an address; give the city in its own field"
_NO_STATE = "Give the state, such as TX or Texas: coordinates do not name it."

_HISTORY_LIMIT = 200
"""Lookups in the history; older ones are dropped."""


class LookupTab:
    """Look up one place."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.job: Job | None = None
        self.form = Form(
            ENTRIES,
            submit="Look up",
            on_submit=self._look_up,
            cancel="Cancel",
            on_cancel=self._cancel,
            label="Look up a rate",
        )
        self.message = MessageArea()
        self.card = ipywidgets.HTML()
        self.copy_rate = CopyButton("Copy rate", "")
        self.copy_code = CopyButton("Copy as code", "")
        self.code = CodeView()
        self.history = History(self._show)
        copies = ipywidgets.HBox([self.copy_rate, self.copy_code])
        copies.add_class("svc-copies")
        self.result = ipywidgets.VBox([self.card, copies, self.code])
        self.result.add_class("svc-result")
        self.view = ipywidgets.VBox([self.form, self.message, self.result, self.history])
        self.view.add_class("svc-lookup")
        self._hide()

    def _look_up(self, values: Values) -> None:
        query = query_of(values.texts)
        self._hide()  # an old rate must not be shown with a new query
        self.message.clear()
        self.form.errors = query if isinstance(query, dict) else {}
        if isinstance(query, dict):
            return
        client = self.session.client
        if client is None:
            self.message.show_trouble(NO_SERVICE)
            return
        self.form.busy = True
        service = self.session.service_name
        code = f"{self.session.code}\n{query.code()}"
        self.message.show_note(f"Looking up {query.words} at {the_service(service)} …")
        self.job = self.session.background.start(
            lambda: _look_up(client, query),
            done=lambda pair: self._show_result(query, *pair, service=service, code=code),
            failed=lambda error: self._show_error(query, error, code=code),
        )

    def _cancel(self) -> None:
        if self.job is None or not self.job.running:
            return
        self.job.cancel()
        self.form.busy = False
        self.message.show_note("Canceled: its result will not be shown.")

    def _show_result(
        self, query: LookupQuery, result: TaxResponse, outcome: Outcome, *, service: str, code: str
    ) -> None:
        at = outcome.looked_up_at or datetime.now(UTC)
        day = _day(query)
        if outcome.status == "failed":
            trouble = Trouble(
                "The response of the service cannot be used",
                capital(f"{outcome.error or ''}."),
                "Show it to whoever runs the service; no rate is taken from it.",
            )
            past = PastLookup(at, query.words, day, "no rate", "failed", code=code, trouble=trouble)
        else:
            notes = (query.note,) if query.note else ()
            past = PastLookup(
                at,
                query.words,
                day,
                rate_headline(result),
                outcome.status,
                result_card(result, outcome, service=service, day=query.day, notes=notes),
                result.combined_rate_string or "" if outcome.status == "ok" else "",
                code,
            )
        self._finish(past)

    def _show_error(self, query: LookupQuery, error: BaseException, *, code: str) -> None:
        status = failed(error).status if isinstance(error, SvcError) else "failed"
        at, trouble = datetime.now(UTC), trouble_of(error)
        self._finish(
            PastLookup(at, query.words, _day(query), "no rate", status, code=code, trouble=trouble)
        )

    def _finish(self, past: PastLookup) -> None:
        self.form.busy = False
        self.history.add(past)
        self._show(past)

    def _show(self, past: PastLookup) -> None:
        self.card.value = past.card
        self.copy_rate.text = past.rate_text
        set_visible(self.copy_rate, bool(past.rate_text))
        self.copy_code.text = past.code
        self.code.show(past.code)
        set_visible(self.result, visible=True)
        if past.trouble is not None:
            self.message.show_trouble(past.trouble)
        else:
            self.message.announce(f"{past.rate} for {past.what}, {past.day}.")

    def _hide(self) -> None:
        set_visible(self.result, visible=False)
        self.card.value = ""
        self.copy_rate.text = ""
        self.copy_code.text = ""
        self.history.shown = -1


def _look_up(client: Svc, query: LookupQuery) -> tuple[TaxResponse, Outcome]:
    """Look up; in a background thread, so it touches no widget."""
    place = query.place
    result = client.lookup(place.state, **place.arguments())
    return result, of_response(place, result, at=datetime.now(UTC))


def _day(query: LookupQuery) -> str:
    return str(query.day or datetime.now().astimezone().date())


ENTRIES = (
    Entry(
        "state",
        "State",
        "combo",
        placeholder="TX",
        options=tuple(STATES.items()),
        width="narrow",
        help="A code or a name; leave it empty if the ZIP Code or the address names it.",
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
        help="The street, with the city in its own field, or the whole address.",
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


@dataclass(frozen=True, slots=True)
class LookupQuery:
    """One query, ready to be sent.

    Attributes:
        place: the place and the day.
        note: where the state is from, if none was given.
    """

    place: Place
    note: str = ""

    @property
    def day(self) -> date | None:
        """The day of the rate; `None` for today."""
        return self.place.as_of

    @property
    def words(self) -> str:
        """The place in a few words."""
        place = self.place
        if place.mode == _POINT:
            return f"{place.state}, {place.lat}, {place.lng}"
        parts = (place.address, place.city, place.location)
        before = ", ".join(part for part in parts if part)
        if before and self.note and not place.zip:
            return before  # it ends in the state
        where = f"{place.state} {place.zip}" if place.zip else place.state
        return f"{before}, {where}" if before else where

    def code(self) -> str:
        """The same lookup as a call."""
        return as_code("client.lookup", self.place.state, **self.place.arguments())


def query_of(values: Mapping[str, str]) -> LookupQuery | dict[str, str]:
    """The query that the fields make; else what is wrong, by the name of a field.

    Only the fields of the chosen mode count. Nothing is sent for what cannot be a place.
    """
    mode = values.get("mode") or _ZIP
    errors = {
        name: message for name, message in _NEEDED[mode].items() if not values.get(name, "").strip()
    }
    if mode == _POINT and not values.get("state", "").strip():
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
    if found.place.mode != mode:  # a line that is not an address would be another query
        return {"address": _sentence(_CITY)}
    return LookupQuery(found.place, _note(found))


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


def _note(found: Question) -> str:
    """Where the state is from, as a sentence; empty where it was given."""
    state, named = found.place.state, "place name" if found.place.mode == _PLACE else "address"
    if found.state_from_zip:
        return f"No state was given; the ZIP Code lies in {state}."
    return f"No state was given; the {named} ends in {state}." if found.state_from_address else ""


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


@dataclass(frozen=True, slots=True)
class PastLookup:
    """A lookup of the history.

    Attributes:
        at: when.
        what: the place in words.
        day: the day of the rate, as 2026-05-01.
        rate: the rate in words, or "no rate".
        status: its status (`svc_tools.lookup.STATUSES`).
        card: its card; empty without a rate.
        rate_text: the rate as the service sent it, for the clipboard; empty without a rate.
        code: the same lookup in Python.
        trouble: what went wrong, else `None`.
    """

    at: datetime
    what: str
    day: str
    rate: str
    status: str
    card: str = ""
    rate_text: str = ""
    code: str = ""
    trouble: Trouble | None = None


class History(anywidget.AnyWidget):
    """The table of past lookups, the newest first.

    Attributes:
        rows: their numbers and cells.
        shown: the number of the one whose result is shown; -1 for none.
    """

    _esm = HERE / "history.js"
    HEADS: ClassVar[list[str]] = ["Result", "Place", "Day", "Rate", "Status", "Time"]
    caption = traitlets.Unicode("Lookups of this session").tag(sync=True)
    heads = traitlets.List(traitlets.Unicode(), HEADS).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    shown = traitlets.Int(-1).tag(sync=True)

    def __init__(self, on_show: Callable[[PastLookup], object]) -> None:
        self._on_show = on_show
        self._next = 0
        self.past: dict[int, PastLookup] = {}
        super().__init__()
        self.on_msg(self._received)

    def add(self, past: PastLookup) -> None:
        """Add a lookup on top; it is the one that is shown."""
        self.past[self._next] = past
        self.shown = self._next
        self._next += 1
        while len(self.past) > _HISTORY_LIMIT:
            del self.past[min(self.past)]
        self.rows = [
            {
                "number": number,
                "cells": [
                    one.what,
                    one.day,
                    one.rate,
                    one.status.replace("_", " "),
                    f"{one.at.astimezone():%H:%M:%S}",
                ],
            }
            for number, one in sorted(self.past.items(), reverse=True)
        ]

    def show(self, number: int) -> None:
        """Show the result of a past lookup again, as its button does; no request is sent."""
        if number in self.past:
            self.shown = number
            self._on_show(self.past[number])

    def _received(self, _widget: object, content: dict[str, object], _buffers: object) -> None:
        number = content.get("number")
        if content.get("event") == "show" and isinstance(number, int):
            self.show(number)


def result_card(
    result: TaxResponse,
    outcome: Outcome,
    *,
    service: str,
    day: date | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """The card as HTML without JavaScript; everything from the service is escaped.

    Args:
        result: the service's response.
        outcome: the same as an outcome, whose reasons for a review are shown.
        service: the name of the service.
        day: the day of the rate; `None` for today.
        notes: further remarks about the query.
    """
    facts = [("Service", service)]
    at = outcome.looked_up_at
    if at is not None:
        facts.append(("Looked up", at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z").strip()))
    return card(
        result,
        day=f"on {day}" if day else f"today, {datetime.now().astimezone().date()}",
        facts=facts,
        notes=(*notes, *further_reasons(outcome, day)),
    )
