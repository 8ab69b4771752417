"""What the sections of the Nexus tab have in common: a heading, a message, work off the kernel."""

# MERGED nexus_view: What the Nexus tab shows and what it asks to be typed: functions of values. Pure.
# MERGED nexus_requests: Requests as they will be sent, as a table. Pure.
# MERGED nexus_kept: Ticked plans, kept beside the receipts: a tick is work, and outlives the page and the kernel.
# MERGED nexus_cleanup: What the sections of the Nexus tab know together, and who is told when it changes.
# MERGED nexus_confirm: A confirmation: the button rests until what has to be typed was typed.
# MERGED nexus_running: How far a removal or an undo is, and the button that ends it after the request under way.

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import ipywidgets as w

from svc_sdk import SvcError
from svc_tools import nexus
from svc_tools.display import NOTHING, counted
from svc_tools.nexus.journal import private_folder
from svc_tools.widgets.parts import button, field, heading, message_area, table_html, told
from svc_tools.widgets.uploads import UploadButton

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus import (
        Abilities,
        Plan,
        PlannedRequest,
        PlanRow,
        Receipt,
        Register,
        Thresholds,
    )
    from svc_tools.widgets.background import Job
    from svc_tools.widgets.parts import Form, MessageArea
    from svc_tools.widgets.session import Session

DECISIONS = {"candidate": "Candidate", "review": "Review", "keep": "Keep"}
"""A decision of the plan, as the tab writes it."""
_NAMED = 3
"""So many states are named in a sentence; more of them are counted."""

_LOOKED_AT = 20
"""So many of the newest plans are looked at; an older one is opened by its file."""

Change = Literal["register", "exposure", "plan", "ticks", "receipt", "account"]

T = TypeVar("T")


class Section:
    """One step of the cleanup.

    Attributes:
        message: where it says what happened, and what went wrong.
        cancel_button: gives up a question that takes long.
        said: the message, and that button while it is needed.
        view: all of its widgets.
    """

    def __init__(self, session: Session, cleanup: Cleanup, title: str) -> None:
        self.session = session
        self.cleanup = cleanup
        self.message = message_area()
        self.cancel_button = button("Cancel", kind="plain")
        self.cancel_button.add_class("svc-late")
        self.cancel_button.on_click(lambda _: self.give_up())
        shown(self.cancel_button, visible=False)
        self.said = w.HBox([self.message, self.cancel_button])
        self.said.add_class("svc-told")
        self._title = title
        self._job: Job | None = None
        self._vital = False
        self._rested: Callable[[], object] = _nothing
        self.view = w.VBox()
        self.view.add_class("svc-section")

    def compose(self, *children: w.Widget) -> None:
        """Put the widgets under the heading."""
        self.view.children = (heading(self._title), *children)

    def uploader(self, label: str, accept: str, done: Callable[[Path], object]) -> UploadButton:
        """A button that takes one file from the browser into the session's folder."""
        return UploadButton(
            label,
            accept,
            folder=lambda: self.session.folder / "uploads",
            done=done,
            failed=lambda error: self.message.show_trouble(told(error)),
            limit=self.session.upload_limit,
        )

    @property
    def busy(self) -> bool:
        """Whether work of this section is under way."""
        return self._job is not None and self._job.running

    def cancel(self) -> bool:
        """Drop the question under way, if there is one: its result will not be shown.

        What changes records is not dropped: it has to be seen to its end.
        """
        if self._job is None or not self._job.running or self._vital:
            return False
        self._job.cancel()
        self._rested()
        return True

    def give_up(self) -> None:
        """Drop the question under way, and say so."""
        if self.cancel():
            self.message.show_note("Cancelled. Nothing was changed; the answer is not waited for.")

    def run(
        self,
        saying: str,
        work: Callable[[], T],
        done: Callable[[T], object],
        *,
        forms: Sequence[Form] = (),
        always: Callable[[], object] | None = None,
        vital: bool = False,
    ) -> None:
        """Work in the background; a second click while it runs does nothing.

        No button is disabled meanwhile: it would lose the focus of whoever works by keyboard.

        Args:
            saying: what is said while it runs.
            work: what is done; it touches no widget.
            done: what is shown of its result.
            forms: those that rest meanwhile.
            always: called when it is over, however it went.
            vital: whether it changes records, and is not to be cut off: it cannot be cancelled,
                and the page asks before it is closed.
        """
        if self.busy:
            return

        def rested() -> None:
            self.said.remove_class("svc-busy")
            shown(self.cancel_button, visible=False)
            for form in forms:
                form.busy = False
            if always is not None:
                always()

        def succeeded(result: T) -> None:
            rested()
            self.message.clear()
            done(result)

        def failed(error: BaseException) -> None:
            rested()
            self.message.show_trouble(told(error))

        self._rested, self._vital = rested, vital
        if vital:  # on a box: a widget of our own script does not pass a later class on to the page
            self.said.add_class("svc-busy")
        shown(self.cancel_button, visible=not vital)
        for form in forms:
            form.busy = True
        self.message.show_note(saying)
        self._job = self.session.background.start(work, done=succeeded, failed=failed)


def _nothing() -> None:
    """What there is to do after no work."""


def shown(widget: w.Widget, visible: bool) -> None:  # noqa: FBT001 - says whether, at each call
    """Show a widget, or take it away from the page and from the keyboard."""
    widget.layout.display = None if visible else "none"


def actions(children: Sequence[w.Widget]) -> w.HBox:
    """Buttons beside each other, and below each other where it is narrow."""
    row = w.HBox(children)
    row.add_class("svc-actions")
    return row


def in_words(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What has to be typed before anything is sent.

    Attributes:
        expected: the text: a state's code, or the number of records.
        prompt: what the person is asked to do, in a sentence.
    """

    expected: str
    prompt: str

    def fits(self, typed: str) -> bool:
        """Whether that is what was typed: blanks around it and the case of letters are free."""
        return bool(self.expected) and typed.strip().upper() == self.expected


def confirmation_of(states: Iterable[str], act: str) -> Confirmation:
    """What to type for records of these states, one for each record: the state, or the count.

    Args:
        states: the state of each record.
        act: what is done to them, such as "remove {}".
    """
    each = list(states)
    distinct = sorted(set(each))
    if not each:
        return Confirmation("", "")
    if len(distinct) == 1:
        state, what = distinct[0], act.format(counted(len(each), "record"))
        return Confirmation(state, f"Type {state}, the state, to {what}.")
    where = in_words(distinct) if len(distinct) <= _NAMED else counted(len(distinct), "state")
    prompt = f"Type {len(each)}, the number of records, to {act.format('them')} in {where}."
    return Confirmation(str(len(each)), prompt)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of a plan are shown; an empty value lets everything through."""

    decision: str = ""
    state: str = ""
    nexus_type: str = ""
    text: str = ""

    def rows(self, plan: Plan) -> list[PlanRow]:
        """The rows that fit, in the plan's order: candidates first, then those to review."""
        return [row for row in plan.rows if self._fits(row)]

    def _fits(self, row: PlanRow) -> bool:
        words = self.text.casefold().split()
        said = " ".join(
            str(part)
            for part in (
                row.state,
                row.nexus_type,
                row.registered_at,
                row.address,
                row.notes,
                *row.why,
                row.evidence,
            )
            if part
        ).casefold()
        return (
            self.decision in {"", row.decision}
            and self.state in {"", row.state}
            and self.nexus_type in {"", row.nexus_type}
            and all(word in said for word in words)
        )


def page_of(number: int, count: int, size: int) -> tuple[int, int, int]:
    """Which page it is (the nearest that there is), and the first and last row on it, from 0.

    The last is not included.
    """
    pages = max(1, -(-count // size))
    page = min(max(number, 0), pages - 1)
    return page, page * size, min(count, (page + 1) * size)


def requests_html(requests: Sequence[PlannedRequest]) -> str:
    """Method, path and parameters as they go over the wire, the body where there is one, why."""
    with_body = any(one.body is not None for one in requests)
    with_count = any(one.expected is not None for one in requests)
    heads = ["Request"]
    heads += ["~Body"] if with_body else []
    heads += [">Records"] if with_count else []
    rows = []
    for one in requests:
        row: list[object] = [one.line]
        row += [_body(one)] if with_body else []
        row += [NOTHING if one.expected is None else one.expected] if with_count else []
        rows.append([*row, one.purpose])
    return table_html([*heads, "~What for"], rows, "The requests, as they are sent")


def _body(request: PlannedRequest) -> str:
    return NOTHING if request.body is None else json.dumps(request.body, ensure_ascii=False)


def keep(plan: Plan) -> Path:
    """Write a plan where `kept` finds it.

    Raises:
        JournalError: the folder cannot be used.
        OSError: the file cannot be written; what was there stays.
    """
    folder = private_folder(nexus.receipt_folder() / "plans")
    return plan.write(folder / f"{plan.plan_id}.csv")


def kept(plan_id: str) -> Path | None:
    """The file of a plan that was kept; `None` where there is none."""
    path = nexus.receipt_folder() / "plans" / f"{plan_id}.csv"
    return path if plan_id and path.is_file() else None


def not_applied(account: str | None, applied: Collection[str]) -> Plan | None:
    """The newest kept plan with ticks that no receipt is of; its file is `kept(plan.plan_id)`.

    Args:
        account: whose plans are looked at: of this account, or of none; `None` for all.
        applied: the plans that there are receipts of.
    """
    files = nexus.receipt_folder().joinpath("plans").glob("plan-*.csv")
    # the name begins with the moment at which it was made
    for path in sorted(files, reverse=True)[:_LOOKED_AT]:
        if path.stem in applied:
            continue
        with suppress(nexus.PlanError, OSError):
            plan = nexus.read_plan(path)
            if plan.ticked and (account is None or plan.account in {"", account}):
                return plan
    return None


class Cleanup:
    """One cleanup: the registers, the exposure, the plan, the receipt.

    Attributes:
        mine: the register from the user's own file, or `None`.
        mine_path: that file.
        listed: the service's own list, or `None` where it was not asked or does not list.
        use_mine: whether the plan is made of the user's own register, where both are there: it
            then says where the service's list differs, and what only that has.
        exposure: one row for each state, or `None`.
        thresholds: the thresholds that it was computed with, where they are the user's own.
        as_of: the day for which it was computed; `None` for its own choice.
        plan: the plan with its ticks, or `None`.
        abilities: whether the service lists and adds; `None` where that is not known.
        receipt: the receipt that is shown, or `None`.
    """

    def __init__(self) -> None:
        self.mine: Register | None = None
        self.mine_path: str = ""
        self.listed: Register | None = None
        self.use_mine = True
        self.exposure: pd.DataFrame | None = None
        self.thresholds: Thresholds | None = None
        self.as_of: date | None = None
        self.plan: Plan | None = None
        self.abilities: Abilities | None = None
        self.receipt: Receipt | None = None
        self._told: list[Callable[[Change], object]] = []

    @property
    def register(self) -> Register | None:
        """The register that a plan is made of."""
        if self.use_mine and self.mine is not None:
            return self.mine
        return self.listed if self.listed is not None else self.mine

    def on_change(self, told: Callable[[Change], object]) -> None:
        """Have a function called after each change, with what changed."""
        self._told.append(told)

    def ended(self, receipt: Receipt, listed: Register | None) -> None:
        """Show the receipt of what was done, and what the service lists since, where it does."""
        self.receipt = receipt
        self.changed("receipt")
        if listed is not None:
            self.listed = listed
            self.changed("register")

    def changed(self, what: Change) -> None:
        """Say that something changed."""
        for listener in self._told:
            listener(what)


def carried(former: Plan | None, plan: Plan) -> tuple[Plan, int]:
    """A new plan with the person's ticks of the former one, and how many could not be kept.

    A tick is kept only where the very same record, decision and reasons are in both.
    """
    if former is None:
        return plan, 0
    kept, lost = plan, 0
    for old in former.ticked:
        same = [
            row
            for row in plan.rows
            if (row.state, row.nexus_type, row.registered_at, row.address, row.notes)
            == (old.state, old.nexus_type, old.registered_at, old.address, old.notes)
            and (row.decision, row.reasons) == (old.decision, old.reasons)
        ]
        if len(same) == 1 and old.action == "remove":
            kept = kept.tick(same[0].number)
        else:
            lost += 1
    return kept, lost


def listed_if_it_lists(client: Svc) -> Register | None:
    """The service's records; `None` where it does not list them.

    Raises:
        SvcError: the call failed.
    """
    try:
        return nexus.list_register(client)
    except nexus.NotListedError:
        return None


def listed_since(client: Svc) -> Register | None:
    """What the service lists after a change; `None` where it cannot say: the receipt counts."""
    try:
        return listed_if_it_lists(client)
    except SvcError:
        return None


class ConfirmBox:
    """A text to type, and a button for the one act that it confirms.

    Attributes:
        typed: where the text is typed; its label says what to type.
        button: acts once, when the text fits.
    """

    def __init__(
        self, act: Callable[[str], object], *, kind: Literal["primary", "danger"] = "danger"
    ) -> None:
        self._act = act
        self._confirmation = Confirmation("", "")
        self.typed = w.Text(description="Confirm")
        self.button = button("Confirm", kind=kind)
        self.button.disabled = True
        self.view = w.VBox([field(self.typed), self.button])
        self.view.add_class("svc-confirm")
        self.view.add_class(f"svc-confirm-{kind}")
        # letter by letter, else the button would rest until the field is left
        self.typed.continuous_update = True
        self.typed.observe(lambda _: self._check(), "value")
        self.button.on_click(lambda _: self._clicked())
        self.rest()

    @property
    def expected(self) -> str:
        """What has to be typed; "" while nothing is asked."""
        return self._confirmation.expected

    def ask(self, confirmation: Confirmation, label: str) -> None:
        """Ask for a text; `label` is written on the button."""
        self._confirmation = confirmation
        self.typed.description = confirmation.prompt
        self.typed.value = ""
        self.button.description = label
        self.view.layout.display = ""
        self._check()

    def rest(self) -> None:
        """Ask nothing, and take back what was asked."""
        self._confirmation = Confirmation("", "")
        self.typed.value = ""
        self.button.disabled = True
        self.view.layout.display = "none"

    def _check(self) -> None:
        self.button.disabled = not self._confirmation.fits(self.typed.value)

    def _clicked(self) -> None:
        typed = self.typed.value
        if not self._confirmation.fits(typed):
            return
        self.rest()  # so that a second click finds nothing to confirm
        self._act(typed.strip())


class Running:
    """Shown only while requests are sent.

    Attributes:
        stop: set once the person wants it to end.
        progress: how many requests are through.
        stop_button: ends it after the request under way.
        view: both.
    """

    def __init__(self, message: MessageArea) -> None:
        self._message = message
        self.stop = threading.Event()
        self.progress = w.IntProgress()
        self.progress.add_class("svc-progress-bar")
        self.stop_button = button("Stop after the one under way", kind="plain")
        self.stop_button.on_click(lambda _: self.end_early())
        self.view = actions([self.progress, self.stop_button])
        shown(self.view, visible=False)

    def begin(self, total: int) -> None:
        """Nothing is through yet."""
        self.stop.clear()
        self.stop_button.disabled = False
        self.moved(0, total)
        shown(self.view, visible=True)

    def moved(self, through: int, total: int) -> None:
        """So many of so many are through."""
        self.progress.max, self.progress.value = max(1, total), through

    def over(self) -> None:
        """Nothing is sent any more."""
        shown(self.view, visible=False)

    def end_early(self) -> None:
        """End after the request under way."""
        self.stop.set()
        self.stop_button.disabled = True
        self._message.show_note("It stops after the request under way.")
