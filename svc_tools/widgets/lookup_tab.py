"""The tab "Lookup": one place, its rate as a card, and the lookups of the session."""

# MERGED lookup_form: What is asked in the tab "Lookup": its fields, and the question that they make. Pure.
# MERGED lookup_history: The lookups of a session: what was asked, when, and what came.
# MERGED card: The card of a lookup in the panel: with the service, the time and the reasons for a review.

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, ClassVar

import anywidget
import ipywidgets
import traitlets

from svc_sdk import SvcError
from svc_sdk.rates import rate_to_decimal, units_to_rate
from svc_tools.codes import percent
from svc_tools.display import capital, card, rate_headline, the_service
from svc_tools.frames.meanings import what_to_do
from svc_tools.lookup.errors import Trouble
from svc_tools.lookup.outcomes import failed, of_answer
from svc_tools.lookup.review import MEANINGS, REVIEW_REASONS, review_reasons
from svc_tools.places import STATES, Cells, Place, Refusal, question
from svc_tools.widgets.parts import (
    HERE,
    CopyButton,
    Entry,
    Form,
    Values,
    as_code,
    message_area,
    shown_code,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_sdk import Svc, TaxResponse
    from svc_tools.lookup import Found, Outcome
    from svc_tools.widgets.background import Job
    from svc_tools.widgets.session import Session

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
_CITY = "the line is too short or too long for an address; give the city beside the street"
_NO_STATE = "Give the state, such as TX or Texas: only a ZIP Code can tell it."

_MOST = 200
"""How many lookups are kept, the newest of them."""

_NO_SERVICE = Trouble(
    "No service is connected",
    "There is nobody to ask.",
    "Give a key above, or use the embedded service.",
)


class LookupTab:
    """Look up one place.

    Attributes:
        form: the question; "Cancel" while it is asked.
        message: what is under way, or went wrong.
        card: the answer.
        copy_rate: copies the rate as it came.
        code: the same question in Python.
        history: the lookups of this session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.job: Job | None = None
        self.form = Form(
            ENTRIES,
            submit="Look up",
            on_submit=self._ask,
            cancel="Cancel",
            on_cancel=self._cancel,
            label="Look up a rate",
        )
        self.message = message_area()
        self.card = ipywidgets.HTML()
        self.copy_rate = CopyButton("Copy rate", "")
        self.copy_code = CopyButton("Copy as code", "")
        self.code = shown_code()
        self.history = History(self._show)
        copies = ipywidgets.HBox([self.copy_rate, self.copy_code])
        copies.add_class("svc-copies")
        self.answer = ipywidgets.VBox([self.card, copies, self.code])
        self.answer.add_class("svc-answer")
        self.view = ipywidgets.VBox([self.form, self.message, self.answer, self.history])
        self.view.add_class("svc-lookup")
        self._hide()

    def _ask(self, values: Values) -> None:
        question = asked(values.texts)
        self._hide()  # an old rate must not stand beside a new question
        self.message.clear()
        self.form.errors = question if isinstance(question, dict) else {}
        if isinstance(question, dict):
            return
        client = self.session.client
        if client is None:
            self.message.show_trouble(_NO_SERVICE)
            return
        self.form.busy = True
        asked_one = the_service(self.session.service_name)
        self.message.show_note(f"Asking {asked_one} about {question.words} …")
        service, code = self.session.service_name, _code(self.session, question)
        self.job = self.session.background.start(
            lambda: _answer(client, question),
            done=lambda pair: self._answered(question, *pair, service=service, code=code),
            failed=lambda error: self._failed(question, error, code=code),
        )

    def _cancel(self) -> None:
        if self.job is None or not self.job.running:
            return
        self.job.cancel()
        self.form.busy = False
        self.message.show_note("Cancelled: its answer is not shown when it comes.")

    def _answered(
        self, question: Asked, answer: TaxResponse, outcome: Outcome, *, service: str, code: str
    ) -> None:
        at = outcome.looked_up_at or datetime.now(UTC)
        day = _day(question)
        if outcome.status == "failed":
            trouble = Trouble(
                "The answer cannot be used",
                f"{outcome.error or ''}.".removeprefix("the answer cannot be used: "),
                "Show it to whoever runs the service; no rate is taken from it.",
            )
            past = Past(at, question.words, day, "no rate", "failed", code=code, trouble=trouble)
        else:
            notes: tuple[str, ...] = ()
            if question.state_from_zip:
                notes = (f"No state was given; the ZIP Code lies in {question.place.state}.",)
            past = Past(
                at,
                question.words,
                day,
                rate_headline(answer),
                outcome.status,
                answer_card(answer, outcome, service=service, day=question.day, notes=notes),
                answer.combined_rate_string or "" if outcome.status == "ok" else "",
                code,
            )
        self._finish(past)

    def _failed(self, question: Asked, error: BaseException, *, code: str) -> None:
        status = failed(error).status if isinstance(error, SvcError) else "failed"
        day = _day(question)
        at = datetime.now(UTC)
        self._finish(
            Past(at, question.words, day, "no rate", status, code=code, trouble=told(error))
        )

    def _finish(self, past: Past) -> None:
        self.form.busy = False
        self.history.add(past)
        self._show(past)

    def _show(self, past: Past) -> None:
        self.card.value = past.card
        self.copy_rate.text = past.rate_text
        self.copy_rate.layout.display = "" if past.rate_text else "none"
        self.copy_code.text = past.code
        self.code.show(past.code)
        self.answer.layout.display = ""
        if past.trouble is not None:
            self.message.show_trouble(past.trouble)
        else:
            self.message.announce(f"{past.rate} for {past.what}, {past.day}.")

    def _hide(self) -> None:
        self.answer.layout.display = "none"
        self.card.value = ""
        self.copy_rate.text = ""
        self.copy_code.text = ""
        self.history.shown = -1


def _answer(client: Svc, question: Asked) -> tuple[TaxResponse, Outcome]:
    """Ask; in a thread of its own, so it touches no widget."""
    place = question.place
    answer = client.lookup(place.state, **place.arguments())
    return answer, of_answer(place, answer, at=datetime.now(UTC))


def _day(question: Asked) -> str:
    return str(question.day or datetime.now().astimezone().date())


def _code(session: Session, question: Asked) -> str:
    return f"{session.code}\n{question.code()}"


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


@dataclass(frozen=True, slots=True)
class Past:
    """A lookup that was made.

    Attributes:
        at: when.
        what: the place in words.
        day: the day asked for, as 2026-05-01.
        rate: the rate in words, or that there is none.
        status: its status (`svc_tools.lookup.STATUSES`).
        card: its card; empty where there is none.
        rate_text: the rate as it came, for the clipboard; empty where there is none.
        code: the Python that asks the same.
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
        shown: the number of the one whose answer is shown; -1 for none.
    """

    _esm = HERE / "history.js"
    HEADS: ClassVar[list[str]] = ["Answer", "Time", "Place", "Day", "Rate", "Status"]
    caption = traitlets.Unicode("Lookups of this session").tag(sync=True)
    heads = traitlets.List(traitlets.Unicode(), HEADS).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    shown = traitlets.Int(-1).tag(sync=True)

    def __init__(self, on_show: Callable[[Past], object]) -> None:
        self._on_show = on_show
        self._next = 0
        self.past: dict[int, Past] = {}
        super().__init__()
        self.on_msg(self._received)

    def add(self, past: Past) -> None:
        """Put a lookup on top; it is the one that is shown."""
        self.past[self._next] = past
        self.shown = self._next
        self._next += 1
        while len(self.past) > _MOST:
            del self.past[min(self.past)]
        self.rows = [
            {
                "number": number,
                "cells": [
                    f"{one.at.astimezone():%H:%M:%S}",
                    one.what,
                    one.day,
                    one.rate,
                    one.status.replace("_", " "),
                ],
            }
            for number, one in sorted(self.past.items(), reverse=True)
        ]

    def show(self, number: int) -> None:
        """Show the answer of a past lookup again, as its button does; nothing is asked."""
        if number in self.past:
            self.shown = number
            self._on_show(self.past[number])

    def _received(self, _widget: object, content: dict[str, object], _buffers: object) -> None:
        number = content.get("number")
        if content.get("event") == "show" and isinstance(number, int):
            self.show(number)


def answer_card(
    answer: TaxResponse,
    outcome: Outcome,
    *,
    service: str,
    day: date | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """The card as HTML without JavaScript; everything from the service is escaped.

    Args:
        answer: the answer.
        outcome: what became of the question; its reasons for a review are said.
        service: who answered.
        day: the day that was asked for; `None` for today.
        notes: what else to say of the question.
    """
    facts = [("Service", service)]
    at = outcome.looked_up_at
    if at is not None:
        facts.append(("Answered", at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z").strip()))
    return card(
        answer,
        day=day_in_words(day),
        facts=facts,
        notes=(*notes, *_reasons(outcome, day)),
        meanings=MEANINGS,
    )


def day_in_words(day: date | None) -> str:
    """The day that a rate was asked for."""
    return f"today, {datetime.now().astimezone().date()}" if day is None else f"on {day}"


def _reasons(outcome: Outcome, day: date | None) -> tuple[str, ...]:
    """Why a person should look at the answer, where its own warnings do not say so."""
    found = outcome.found
    if found is None:
        return ()
    own_day = day or datetime.now().astimezone().date()
    codes = review_reasons(outcome, found.warnings, own_day)
    unsaid = [code for code in codes if code not in found.warnings and code != "partial"]
    unsaid += [code for code in found.warnings if code == "parts_do_not_add_up"]
    return tuple(_reason(code, found) for code in unsaid)


def _reason(code: str, found: Found) -> str:
    said = f"{REVIEW_REASONS[code][0]}."
    if code == "several_rates" and found.low is not None and found.high is not None:
        low, high = (
            percent(rate_to_decimal(units_to_rate(units))) for units in (found.low, found.high)
        )
        said = f"{REVIEW_REASONS[code][0]}, from {low} to {high}."
    return f"{said} {what_to_do(code)}"
