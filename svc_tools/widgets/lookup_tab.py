"""The tab "Lookup": one place, its rate as a card, and the lookups of the session."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import ipywidgets

from svc_sdk import SvcError
from svc_tools.display import rate_headline
from svc_tools.lookup.outcomes import failed, of_answer
from svc_tools.lookup.trouble import Trouble
from svc_tools.shown import the_service
from svc_tools.widgets.actions import CopyButton
from svc_tools.widgets.card import answer_card
from svc_tools.widgets.form import Form, Values
from svc_tools.widgets.lookup_form import ENTRIES, Asked, asked
from svc_tools.widgets.lookup_history import History, Past
from svc_tools.widgets.parts import message_area, shown_code
from svc_tools.widgets.trouble import told

if TYPE_CHECKING:
    from svc_sdk import Svc, TaxResponse
    from svc_tools.lookup import Outcome
    from svc_tools.widgets.background import Job
    from svc_tools.widgets.session import Session

__all__ = ["LookupTab"]

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
