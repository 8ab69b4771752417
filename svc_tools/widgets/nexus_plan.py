"""Step 3 of the Nexus tab: the plan, a row for each record, and the person's ticks."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import ipywidgets as w

from svc_sdk import SvcError
from svc_tools import config, nexus
from svc_tools.nexus.journal import JournalError
from svc_tools.shown import counted
from svc_tools.widgets.actions import DownloadButton
from svc_tools.widgets.code import Name, as_code
from svc_tools.widgets.disclosure import Disclosure
from svc_tools.widgets.form import Entry, Form
from svc_tools.widgets.nexus_cleanup import carried
from svc_tools.widgets.nexus_kept import keep, kept
from svc_tools.widgets.nexus_rows import PAGE, PlanRows
from svc_tools.widgets.nexus_section import Section, actions, shown
from svc_tools.widgets.nexus_view import DECISIONS, Filter, page_of
from svc_tools.widgets.parts import button, field, note, shown_code
from svc_tools.widgets.trouble import told

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_tools.nexus import Abilities, Plan, PlanRow
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["PlanSection"]

_EVERY = [("All", "")]


class PlanSection(Section):
    """Makes the plan, shows its rows with why, and takes the ticks. Nothing is ticked in advance.

    Attributes:
        make_button: makes the plan of the register and the exposure.
        reopen, file, upload: open a plan file that was ticked elsewhere.
        decision, state, nexus_type, text: which rows are shown.
        rows: the rows of the page, with their checkboxes.
        back_button, next_button: other pages.
        tick_button: ticks the candidates that the filter lets through, on all pages.
        untick_button: takes all ticks away.
        download: the plan as a file.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "3. The plan")
        self._page = 0
        self._shown: list[PlanRow] = []
        self.make_button = button("Make the plan")
        self.file = Form(
            [
                Entry(
                    "path",
                    "Plan file",
                    help="A plan that was written here and ticked in a spreadsheet.",
                    placeholder="plan.csv",
                    width="whole",
                )
            ],
            submit="Open the plan file",
            on_submit=lambda values: self.open(values.texts["path"]),
            label="A plan made before",
        )
        self.upload = self.uploader(
            "Upload a plan", ".csv,.xlsx", lambda path: self.file.submit(path=str(path))
        )
        self.reopen = Disclosure("Open a plan made before", w.VBox([self.file, self.upload]))
        self.missing = w.HTML()
        self.summary = w.HTML()
        self.decision = w.Dropdown(
            options=[*_EVERY, *((words, code) for code, words in DECISIONS.items())],
            description="Decision",
        )
        self.state = w.Dropdown(options=_EVERY, description="State")
        self.nexus_type = w.Dropdown(
            options=[*_EVERY, *((one, one) for one in nexus.NEXUS_TYPES)], description="Type"
        )
        self.text = w.Text(placeholder="words of a reason, note or address", description="Search")
        self.rows = PlanRows(self._tick)
        self.back_button = button("Previous page", kind="plain")
        self.next_button = button("Next page", kind="plain")
        self.where = w.HTML()
        self.tick_button = button("Tick all shown candidates", kind="plain")
        self.untick_button = button("Untick all", kind="plain")
        self.download = DownloadButton("Download the plan")
        self.code = shown_code()
        self._connect()
        filters = w.HBox([field(one) for one in self._filters])
        filters.add_class("svc-filters")
        self.text.continuous_update = True  # rows follow the letters
        self._body = w.VBox(
            [
                self.missing,
                self.summary,
                filters,
                actions([self.tick_button, self.untick_button, self.download]),
                self.rows.view,
                actions([self.back_button, self.where, self.next_button]),
            ]
        )
        self.compose(
            note("It suggests, you decide: nothing is ticked in advance."),
            self.make_button,
            self.reopen.view,
            self.said,
            self._body,
            self.code,
        )
        self.show()

    @property
    def _filters(self) -> tuple[w.Dropdown, w.Dropdown, w.Dropdown, w.Text]:
        return self.decision, self.state, self.nexus_type, self.text

    def _connect(self) -> None:
        self.make_button.on_click(lambda _: self.make())
        for one in self._filters:
            one.observe(lambda _: self._turn(-self._page), "value")
        self.back_button.on_click(lambda _: self._turn(-1))
        self.next_button.on_click(lambda _: self._turn(1))
        self.tick_button.on_click(lambda _: self.tick_candidates())
        self.untick_button.on_click(lambda _: self.untick())

    def make(self) -> None:
        """Make the plan of what is known now."""
        register, listed = self.cleanup.register, self.cleanup.listed
        if register is None:
            self.message.show_note("There is no register yet: list the records, or read a file.")
            return
        client, exposure, as_of = self.session.client, self.cleanup.exposure, self.cleanup.as_of
        thresholds = self.cleanup.thresholds
        other = listed if register is not listed else None

        def work() -> tuple[Plan, Abilities | None]:
            whose = None if client is None else config.account_of(client)
            able = None
            if client is not None:
                with suppress(SvcError):  # a plan can be made while the service is away
                    able = nexus.abilities(client)
            plan = nexus.make_plan(
                register,
                exposure=exposure,
                thresholds=thresholds,
                as_of=as_of,
                listed=other,
                service="" if whose is None else whose.service,
                account="" if whose is None else whose.account,
            )
            return plan, able

        self.run(
            "Making the plan\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda made: self._made(client, *made),
            forms=[self.file],
        )

    def open(self, path: str) -> None:
        """Open a plan file."""
        if not path.strip():
            self.file.errors = {"path": "Give the path of a plan file, or upload one."}
            return
        self.file.errors = {}
        self.run(
            "Reading the plan\N{HORIZONTAL ELLIPSIS}",
            lambda: nexus.read_plan(Path(path.strip()).expanduser()),
            self.use,
            forms=[self.file],
        )

    def tick_candidates(self) -> None:
        """Tick the candidates that the filter lets through, and no other row."""
        if self.cleanup.plan is None:
            return
        rows = [row for row in self._shown if row.decision == "candidate" and not row.action]
        self.message.show_note(f"{counted(len(rows), 'candidate')} ticked, on all pages.")
        if rows:
            self._use(self.cleanup.plan.tick(*(row.number for row in rows)), "ticks")

    def untick(self) -> None:
        """Take all ticks away."""
        if self.cleanup.plan is not None:
            self.message.show_note("Nothing is ticked.")
            self._use(self.cleanup.plan.untick(), "ticks")

    def show(self) -> None:
        """Show the plan as it is now."""
        plan = self.cleanup.plan
        shown(self._body, plan is not None)
        self._show_code()
        if plan is None:
            return
        self.missing.value = _missing_html(plan)
        self.summary.value = f'<p role="status">{escape(plan.sentence)}</p>'
        chosen = Filter(
            self.decision.value, self.state.value, self.nexus_type.value, self.text.value
        )
        self._shown = chosen.rows(plan)
        self._page, first, last = page_of(self._page, len(self._shown), PAGE)
        self.rows.show(self._shown[first:last], replaceable=self._replaceable)
        waiting = sum(row.decision == "candidate" and not row.action for row in self._shown)
        self.tick_button.description = (
            f"Tick all {counted(waiting, 'shown candidate')}"
            if waiting
            else "Tick all shown candidates"
        )
        self.tick_button.disabled = not waiting
        self.untick_button.disabled = not plan.ticked
        self.where.value = (
            f"Rows {first + 1} to {last} of {len(self._shown):,}"
            if self._shown
            else "No row fits the filter."
        )
        self.back_button.disabled, self.next_button.disabled = first == 0, last >= len(self._shown)
        for one in (self.back_button, self.next_button):
            shown(one, len(self._shown) > PAGE)

    def register_changed(self) -> None:
        """A plan of the former register stays, with its ticks, and is said to be old."""
        if self.cleanup.plan is not None:
            self.message.show_note(
                "The register or the exposure has changed since this plan was made. Make it anew:"
                " your ticks stay on records that are the same."
            )

    def _made(self, client: Svc | None, made: Plan, able: Abilities | None) -> None:
        # another account may be in use by now: what its service can do is another question
        self.cleanup.abilities = able if client is self.session.client else None
        plan, lost = carried(self.cleanup.plan, made)
        if lost:
            self.message.show_note(
                f"{counted(lost, 'tick')} of the former plan could not be kept: the record, or"
                " what the plan says of it, is another one now."
            )
        self._take(plan)

    def use(self, plan: Plan) -> None:
        """Show a plan that was made or opened, with its ticks."""
        self.message.show_note(f"The plan was read: {counted(len(plan.ticked), 'tick')} in it.")
        self._take(plan)

    def _take(self, plan: Plan) -> None:
        states = sorted({row.state for row in plan.rows})
        former = self.state.value
        self.state.options = [*_EVERY, *((state, state) for state in states)]
        self.state.value = former if former in states else ""
        self._page = 0
        self._use(plan, "plan")

    def _use(self, plan: Plan, what: Literal["plan", "ticks"]) -> None:
        self.cleanup.plan = plan
        self.show()
        self.cleanup.changed(what)  # first: no preview of other ticks may outlive a full disk
        self._save(plan)

    def _save(self, plan: Plan) -> None:
        """Write it at each change: a tick is work that is not to be lost."""
        try:
            if plan.ticked or kept(plan.plan_id):
                keep(plan)
            folder = self.session.folder / "results"
            folder.mkdir(parents=True, exist_ok=True)
            self.download.show(plan.write(folder / f"{plan.plan_id}.csv"))
        except (JournalError, OSError, ValueError) as error:
            self.download.show(None)
            self.message.show_trouble(told(error))

    def _tick(self, row: PlanRow, action: str) -> None:
        plan = self.cleanup.plan
        if plan is None:
            return
        plan = plan.untick(row.key)
        same = sum(one.key == row.key for one in plan.rows)
        if action == "remove":
            plan = plan.tick(row.key)
        elif action == "replace":
            plan = plan.tick(row.number, action="replace")
        self.message.clear()
        if same > 1 and action == "remove":
            self.message.show_note(
                f"{row.state} {row.nexus_type} stands {same} times in the register. The service"
                " can only remove all of them together, so all are ticked."
            )
        self._use(plan, "ticks")

    def _replaceable(self, row: PlanRow) -> bool:
        able, plan = self.cleanup.abilities, self.cleanup.plan
        if able is None or not able.adds or plan is None:
            return False
        return max(row.expected, sum(one.key == row.key for one in plan.rows)) > 1

    def _turn(self, pages: int) -> None:
        self._page += pages
        self.show()

    def _show_code(self) -> None:
        plan = self.cleanup.plan
        made = as_code(
            "nexus.make_plan",
            Name("register"),
            exposure=None if self.cleanup.exposure is None else Name("exposure"),
            thresholds=None if self.cleanup.thresholds is None else Name("thresholds"),
            as_of=self.cleanup.as_of,
            service=Name("whose.service"),
            account=Name("whose.account"),
        )
        lines = [
            "from svc_tools import config, nexus",
            "",
            "whose = " + as_code("config.account_of", Name("client")),
            f"plan = {made}",
        ]
        if plan is not None and plan.ticked:
            removed = [row.number for row in plan.ticked if row.action == "remove"]
            if removed:
                lines.append("plan = " + as_code("plan.tick", *removed))
            lines += [
                "plan = " + as_code("plan.tick", row.number, action="replace")
                for row in plan.ticked
                if row.action == "replace"
            ]
        self.code.show("\n".join(lines))


def _missing_html(plan: Plan) -> str:
    if not plan.missing:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in plan.missing)
    return (
        '<div class="svc-box svc-trouble">'
        "<p><strong>Above the threshold, and no record:</strong></p>"
        f"<ul>{items}</ul></div>"
    )
