"""The tab "Lookup": a form, the rate as a card, and the history of the session's lookups.

`query_of` turns the fields of the form into a `LookupQuery`, or into messages at the fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

import anywidget
import ipywidgets
import numpy as np
import traitlets

from svc_sdk import SvcError
from svc_tools.config import address_checked
from svc_tools.frames.values.money import one_amount
from svc_tools.frames.values.rounding import ROOM, rounded_tax
from svc_tools.lookup.options import review_threshold
from svc_tools.lookup.outcomes import failed, of_response
from svc_tools.lookup.reviewing import reasons_on, remarks, status_word, with_point_warning
from svc_tools.lookup.troubles import Trouble
from svc_tools.show.codes import all_warnings
from svc_tools.show.display import capital, card, exact_dollars, rate_headline, the_service
from svc_tools.tables.places import Cells, Place, PlaceQuery, Refusal, place_query
from svc_tools.tables.states import STATES, state_and_zip
from svc_tools.widgets.parts import (
    HERE,
    NO_SERVICE,
    CodeView,
    Entry,
    Form,
    FormValues,
    MessageArea,
    as_code,
    set_visible,
    trouble_of,
)
from svc_tools.widgets.transfers import CopyButton

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_sdk import Svc, TaxResponse
    from svc_tools.lookup import Outcome
    from svc_tools.widgets.session import PanelJob, Session

_ANY, _ADDRESS, _POINT = "any", "address", "coordinates"
_NEEDED = {
    _ANY: {"place": "Give a ZIP Code, such as 78701, an address, or a place such as Austin, TX."},
    _ADDRESS: {"address": "Give the street address."},
    _POINT: {
        "lat": "Give the latitude in degrees, such as 30.27.",
        "lng": "Give the longitude in degrees, such as -97.74.",
    },
}
_CITY = "the line is too short or too long for an address; give the city in its own field"
_NO_STATE = "Give the state, such as TX or Texas: coordinates do not name it."
_SHORTEST_ADDRESS = 10
_FIRST_YEAR = 1900

_HISTORY_LIMIT = 200
"""Lookups in the history; older ones are dropped."""


class LookupTab:
    """Look up one place."""

    def __init__(self, session: Session) -> None:
        """Build the tab: form, messages, result and history; nothing is looked up yet."""
        self.session = session
        self.job: PanelJob | None = None
        self.form = Form(
            ENTRIES,
            submit="Look up",
            on_submit=self._look_up,
            cancel="Cancel",
            on_cancel=self._cancel,
            fold="Street and city, or coordinates",
            label="Look up a rate",
        )
        self.message = MessageArea()
        self.card = ipywidgets.HTML()
        self.copy_rate = CopyButton("Copy rate", "")
        self.copy_tax = CopyButton("Copy tax", "")
        self.copy_code = CopyButton("Copy as code", "")
        self.code = CodeView()
        self.history = History(self._show)
        copies = ipywidgets.HBox([self.copy_rate, self.copy_tax, self.copy_code])
        copies.add_class("svc-copies")
        self.result = ipywidgets.VBox([self.card, copies, self.code])
        self.result.add_class("svc-result")
        self.view = ipywidgets.VBox([self.form, self.message, self.result, self.history])
        self.view.add_class("svc-lookup")
        self._hide()

    def _look_up(self, values: FormValues) -> None:
        """Look up what was submitted, in the background; fields that are wrong get their error."""
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
        code = self.session.code
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
        """Show a result and add it to the history; one that cannot be used is shown as an error."""
        at = outcome.looked_up_at or datetime.now(UTC)
        day, tax = _day(query), query.tax_of(outcome)
        code = _code(code, query, taxed=tax is not None)
        if outcome.means.failed:
            trouble = Trouble(
                "The response of the service cannot be used",
                capital(f"{outcome.error or ''}."),
                "Show it to whoever runs the service; no rate is taken from it.",
            )
            past = PastLookup(at, query.words, day, "no rate", "failed", code=code, trouble=trouble)
        else:
            amount, taxed = _words_of(query.cents), _words_of(tax)
            past = PastLookup(
                at,
                query.words,
                day,
                rate_headline(result),
                status_word(outcome, reasons_on(outcome, query.day, below=review_threshold())),
                f"{taxed or 'not computed'} on {amount}" if amount else "",
                result_card(
                    result,
                    outcome,
                    service=service,
                    day=query.day,
                    amount=amount,
                    tax=taxed,
                    note=query.note,
                ),
                result.combined_rate_string or "" if outcome.means.usable else "",
                "" if tax is None else str(_dollars(tax)),
                code,
            )
        self._finish(past)

    def _show_error(self, query: LookupQuery, error: BaseException, *, code: str) -> None:
        status = failed(error).status if isinstance(error, SvcError) else "failed"
        at, trouble = datetime.now(UTC), trouble_of(error)
        code = _code(code, query, taxed=False)
        self._finish(
            PastLookup(at, query.words, _day(query), "no rate", status, code=code, trouble=trouble)
        )

    def _finish(self, past: PastLookup) -> None:
        self.form.busy = False
        self.history.add(past)
        self._show(past)

    def _show(self, past: PastLookup) -> None:
        self.card.value = past.card
        for copy, text in ((self.copy_rate, past.rate_text), (self.copy_tax, past.tax_text)):
            copy.text = text
            set_visible(copy, bool(text))
        self.copy_code.text = past.code
        self.code.show(past.code)
        set_visible(self.result, visible=True)
        if past.trouble is not None:
            self.message.show_trouble(past.trouble)
        else:
            tax = f" Tax: {past.tax}." if past.tax else ""
            self.message.announce(f"{past.rate} for {past.what}, {past.day}.{tax}")

    def _hide(self) -> None:
        set_visible(self.result, visible=False)
        self.card.value = ""
        for copy in (self.copy_rate, self.copy_tax, self.copy_code):
            copy.text = ""
        self.history.shown = -1


def _look_up(client: Svc, query: LookupQuery) -> tuple[TaxResponse, Outcome]:
    """Look up; in a background thread, so it touches no widget."""
    place = query.place
    with address_checked(client):
        result = client.lookup(place.state, **place.arguments())
    if query.read is not None:
        result = with_point_warning(result, query.read)
    return result, of_response(place, result, at=datetime.now(UTC))


def _code(client: str, query: LookupQuery, *, taxed: bool) -> str:
    """The lookup in Python, after the call that makes the client; with its tax, if there is one."""
    if not taxed or query.cents is None:
        return f"{client}\n{query.code()}"
    amount = repr(str(_dollars(query.cents)))
    return (
        f"from decimal import ROUND_HALF_UP, Decimal\n\n{client}\nresult = {query.code()}\n"
        f"exact = Decimal({amount}) * result.combined_rate_decimal\n"
        'tax = exact.quantize(Decimal("0.01"), ROUND_HALF_UP)'
    )


def _words_of(cents: int | None) -> str:
    return "" if cents is None else exact_dollars(_dollars(cents))


def _dollars(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


def _day(query: LookupQuery) -> str:
    return str(query.day or datetime.now().astimezone().date())


ENTRIES = (
    Entry(
        "place",
        "ZIP Code, address or place",
        placeholder="78701",
        help="Such as 78701, a whole address, or Austin, TX.",
        shown_with=("mode", _ANY),
        longest=400,
    ),
    Entry(
        "address",
        "Street address",
        placeholder="1100 Congress Ave",
        shown_with=("mode", _ADDRESS),
        longest=400,
    ),
    Entry("city", "City", shown_with=("mode", _ADDRESS), longest=200, width="narrow"),
    Entry(
        "address_zip",
        "ZIP Code",
        shown_with=("mode", _ADDRESS),
        inputmode="numeric",
        longest=40,
        width="narrow",
    ),
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
        "state",
        "State",
        "combo",
        placeholder="TX",
        options=tuple(STATES.items()),
        width="narrow",
        help="Not needed with a ZIP.",
        longest=60,
    ),
    Entry("as_of", "Date of the sale", "date", width="narrow", help="Empty means today."),
    Entry(
        "amount",
        "Amount",
        placeholder="100.00",
        inputmode="decimal",
        width="narrow",
        help="Optional: gives its tax.",
        longest=60,
    ),
    Entry(
        "mode",
        "Give the place as",
        "radio",
        options=((_ANY, "One line"), (_ADDRESS, "Street and city"), (_POINT, "Coordinates")),
        value=_ANY,
        width="whole",
        folded=True,
    ),
)


@dataclass(frozen=True, slots=True)
class LookupQuery:
    """One query, ready to be sent.

    Attributes:
        place: the place and the day.
        note: where the state is from, if none was given.
        cents: the amount whose tax is wanted; `None` without one.
        read: how the fields were read; `None` where that says nothing more.
    """

    place: Place
    note: str = ""
    cents: int | None = None
    read: PlaceQuery | None = None

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

    def tax_of(self, outcome: Outcome) -> int | None:
        """The tax of the amount in cents, as `df.svc.tax` computes it; `None` without one.

        A rate that lacks a part gives none.
        """
        if self.cents is None or outcome.found is None or not outcome.means.usable:
            return None
        factors = np.array([self.cents], np.int64), np.array([outcome.found.combined], np.int64)
        return int(rounded_tax(*factors)[0])


def query_of(values: Mapping[str, str]) -> LookupQuery | dict[str, str]:
    """The query that the fields make; else what is wrong, by the name of a field.

    Only the fields of the chosen mode count. Nothing is sent for what cannot be a place.
    """
    mode = values.get("mode") or _ANY
    errors = {
        name: message for name, message in _NEEDED[mode].items() if not values.get(name, "").strip()
    }
    if mode == _POINT and not values.get("state", "").strip():
        errors["state"] = _NO_STATE
    day = cents = None
    try:
        day = date.fromisoformat(values["as_of"]) if values.get("as_of") else None
    except ValueError:
        errors["as_of"] = "Give the date of the sale, as 2026-05-01."
    if day and day.year < _FIRST_YEAR:  # a browser reads 26 as the year 26
        errors["as_of"] = "Give the year in four digits, such as 2026."
    try:
        cents = _cents(values.get("amount", ""))
    except ValueError as error:
        errors["amount"] = _sentence(str(error).removeprefix("amount: "))
    if errors:
        return errors
    found = place_query(_cells(mode, values, day), dated=day is not None)
    if isinstance(found, Refusal):
        return _refused(found.reason, mode)
    if mode == _ADDRESS and found.place.mode != _ADDRESS:  # it would be another query
        return {"address": _sentence(_CITY)}
    return LookupQuery(found.place, _note(found), cents, found if found.point_warning else None)


def _cents(text: str) -> int | None:
    """An amount in cents; `None` for none. Raises a `ValueError` where it is not one."""
    if not text.strip():
        return None
    cents = one_amount(text, "amount")
    if abs(cents) >= ROOM:
        raise ValueError(f"amount: {text} is out of range")
    return cents


def _cells(mode: str, values: Mapping[str, str], day: date | None) -> Cells:
    """The fields of the form as cells of a row; in the field for a place, by what it looks like."""
    state = values.get("state")
    if mode == _ADDRESS:
        address, city, zip_code = (values.get(name) for name in ("address", "city", "address_zip"))
        return Cells(state=state, address=address, city=city, zip=zip_code, as_of=day)
    if mode == _POINT:
        return Cells(state=state, lat=values.get("lat"), lng=values.get("lng"), as_of=day)
    line = " ".join(values["place"].split())
    if point := re.fullmatch(r"(-?[\d.]+)\s*,\s*(-?[\d.]+)", line):
        return Cells(state=state, lat=point[1], lng=point[2], as_of=day)
    if not re.search(r"\d", line):
        return Cells(state=state, location=line, as_of=day)
    # "TX 78701" is a ZIP Code too, and is read as one from an address
    too_short = len(line) < _SHORTEST_ADDRESS and state_and_zip(line) is None
    if too_short or re.fullmatch(r"[\d -]*", line):
        return Cells(state=state, zip=line, as_of=day)
    return Cells(state=state, address=line, as_of=day)


def _note(found: PlaceQuery) -> str:
    """Where the state is from, as a sentence; empty where it was given."""
    state, named = found.place.state, "place name" if found.place.mode == "place" else "address"
    if found.state_from_zip or (found.state_from_address and found.place.mode == "zip"):
        return f"{state}, from the ZIP Code"
    return f"{state}, from the end of the {named}" if found.state_from_address else ""


def _refused(reason: str, mode: str) -> dict[str, str]:
    """A refusal at the field that it is about; the first field where it names none."""
    name, colon, rest = reason.partition(": ")
    if mode == _ANY and name in {"zip", "address", "location", "lat", "lng"}:
        name = "place"
    elif name == "zip":
        name = "address_zip"
    if colon and name in {entry.name for entry in ENTRIES}:
        return {name: _sentence(rest)}
    return {"place" if mode == _ANY else "state": _sentence(reason)}


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
        tax: the tax of an amount in words, such as "$8.25 on $100.00"; empty without one.
        status: its status (`svc_tools.lookup.STATUSES`).
        card: its card; empty without a rate.
        rate_text: the rate as the service sent it, for the clipboard; empty without a rate.
        tax_text: the tax in dollars, for the clipboard; empty without one.
        code: the same lookup in Python.
        trouble: what went wrong, else `None`.
    """

    at: datetime
    what: str
    day: str
    rate: str
    status: str
    tax: str = ""
    card: str = ""
    rate_text: str = ""
    tax_text: str = ""
    code: str = ""
    trouble: Trouble | None = None


class History(anywidget.AnyWidget):
    """The table of past lookups, the newest first.

    Attributes:
        rows: their numbers and cells.
        shown: the number of the one whose result is shown; -1 for none.
    """

    _esm = HERE / "history.js"
    HEADS: ClassVar[list[str]] = ["Result", "Place", "Day", "Rate", "Tax", "Status", "Time"]
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
                    lookup.what,
                    lookup.day,
                    lookup.rate,
                    lookup.tax,
                    lookup.status.replace("_", " "),
                    f"{lookup.at.astimezone():%H:%M:%S}",
                ],
            }
            for number, lookup in sorted(self.past.items(), reverse=True)
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
    amount: str = "",
    tax: str = "",
    note: str = "",
) -> str:
    """The card as HTML without JavaScript; everything from the service is escaped.

    Args:
        result: the service's response.
        outcome: the same as an outcome, whose reasons for a review are shown.
        service: the name of the service.
        day: the day of the rate; `None` for today.
        amount: the amount whose tax is wanted, in words; empty for none.
        tax: its tax in words; empty where there is none.
        note: where the state is from, if none was given.
    """
    facts = [("State", note)] if note else []
    facts.append(("Service", service))
    at = outcome.looked_up_at
    if at is not None:
        facts.append(("Looked up", at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z").strip()))
    return card(
        result,
        day=f"on {day}" if day else f"today, {datetime.now().astimezone().date()}",
        amount=amount,
        tax=tax,
        facts=facts,
        warnings=remarks(outcome, all_warnings(result), day, below=review_threshold()),
    )
