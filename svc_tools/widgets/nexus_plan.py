"""Step 3 of the Nexus tab: the plan, a row for each record, and the user's ticks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import ipywidgets as w

from svc_sdk import SvcError
from svc_tools import config, nexus
from svc_tools.nexus.journal import JournalError
from svc_tools.nexus.plan import figures_and_source
from svc_tools.show.display import counted
from svc_tools.widgets.nexus_section import Section, box_html, store_plan, stored_plan
from svc_tools.widgets.parts import (
    CodeView,
    Disclosure,
    Entry,
    Form,
    Name,
    as_code,
    button,
    field,
    line,
    note,
    set_visible,
)
from svc_tools.widgets.transfers import DownloadButton

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_sdk import Svc
    from svc_tools.nexus import Abilities, Plan, PlanRow
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_EVERY = [("All", "")]
_DECISIONS = {"candidate": "Candidate", "review": "Review", "keep": "Keep"}
"""A decision of the plan, as the tab shows it."""


class PlanSection(Section):
    """Makes the plan, shows its rows and their reasons, and takes the ticks.

    Nothing is ticked in advance.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        """Build the section without a plan: its buttons, files, filters and table."""
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
            options=[*_EVERY, *((words, code) for code, words in _DECISIONS.items())],
            description="Decision",
        )
        self.state = w.Dropdown(options=_EVERY, description="State")
        self.nexus_type = w.Dropdown(
            options=[*_EVERY, *((name, name) for name in nexus.NEXUS_TYPES)], description="Type"
        )
        self.text = w.Text(placeholder="words of a reason, note or address", description="Search")
        self.rows = PlanRows(self._tick)
        self.back_button = button("Previous page", kind="plain")
        self.next_button = button("Next page", kind="plain")
        self.where = w.HTML()
        self.tick_button = button("Tick all shown candidates", kind="plain")
        self.untick_button = button("Untick all", kind="plain")
        self.download = DownloadButton("Download the plan")
        self.code = CodeView()
        self._connect()
        filters = w.HBox([field(widget) for widget in self._filters])
        filters.add_class("svc-filters")
        self.text.continuous_update = True  # rows follow the letters
        self._body = w.VBox(
            [
                self.missing,
                self.summary,
                filters,
                line(self.tick_button, self.untick_button, self.download),
                self.rows.view,
                line(self.back_button, self.where, self.next_button),
            ]
        )
        self.compose(
            note("The plan only suggests: nothing is ticked in advance."),
            self.make_button,
            self.reopen.view,
            self.status,
            self._body,
            self.code,
        )
        self.show()

    @property
    def _filters(self) -> tuple[w.Dropdown, w.Dropdown, w.Dropdown, w.Text]:
        return self.decision, self.state, self.nexus_type, self.text

    def _connect(self) -> None:
        self.make_button.on_click(lambda _: self.make())
        for widget in self._filters:
            widget.observe(lambda _: self._turn(-self._page), "value")
        self.back_button.on_click(lambda _: self._turn(-1))
        self.next_button.on_click(lambda _: self._turn(1))
        self.tick_button.on_click(lambda _: self.tick_candidates())
        self.untick_button.on_click(lambda _: self.untick())

    def make(self) -> None:
        """Make the plan from what is known now."""
        register, listed = self.cleanup.register, self.cleanup.listed
        if register is None:
            self.message.show_note("There is no register yet: list the records, or read a file.")
            return
        client, exposure, as_of = self.session.client, self.cleanup.exposure, self.cleanup.as_of
        thresholds = self.cleanup.thresholds
        other = listed if register is not listed else None

        def work() -> tuple[Plan, Abilities | None]:
            """Make the plan, and find what the service can do; changes no widget."""
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
            "Making the plan…",
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
            "Reading the plan…",
            lambda: nexus.read_plan(Path(path.strip()).expanduser()),
            self.use,
            forms=[self.file],
        )

    def tick_candidates(self) -> None:
        """Tick the candidates that match the filter, and no other row."""
        if self.cleanup.plan is None:
            return
        rows = [row for row in self._shown if row.decision == "candidate" and not row.action]
        self.message.show_note(f"{counted(len(rows), 'candidate')} ticked, on all pages.")
        if rows:
            self._use(self.cleanup.plan.tick(*(row.number for row in rows)), "ticks")

    def untick(self) -> None:
        """Remove all ticks."""
        if self.cleanup.plan is not None:
            self.message.show_note("Nothing is ticked.")
            self._use(self.cleanup.plan.untick(), "ticks")

    def show(self) -> None:
        """Show the plan as it is now."""
        plan = self.cleanup.plan
        set_visible(self._body, plan is not None)
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
        for widget in (self.back_button, self.next_button):
            set_visible(widget, len(self._shown) > PAGE)

    def register_changed(self) -> None:
        """Keep a plan of the former register, with its ticks, and report that it is outdated."""
        if self.cleanup.plan is not None:
            self.message.show_note(
                "The register or the exposure has changed since this plan was made. Make it again:"
                " your ticks stay on records that are the same."
            )

    def _made(self, client: Svc | None, made: Plan, able: Abilities | None) -> None:
        # another account may be in use by now, whose service has other abilities
        self.cleanup.abilities = able if client is self.session.client else None
        plan, lost = carry_ticks(self.cleanup.plan, made)
        if lost:
            self.message.show_note(
                f"{counted(lost, 'tick')} of the former plan could not be carried over: the record,"
                " or what the plan says of it, has changed."
            )
        self._replace_plan(plan)

    def use(self, plan: Plan) -> None:
        """Show a plan that was made or opened, with its ticks."""
        self.message.show_note(f"The plan was read: {counted(len(plan.ticked), 'tick')} in it.")
        self._replace_plan(plan)

    def _replace_plan(self, plan: Plan) -> None:
        states = sorted({row.state for row in plan.rows})
        former = self.state.value
        self.state.options = [*_EVERY, *((state, state) for state in states)]
        self.state.value = former if former in states else ""
        self._page = 0
        self._use(plan, "plan")

    def _use(self, plan: Plan, what: Literal["plan", "ticks"]) -> None:
        self.cleanup.plan = plan
        self.show()
        self.cleanup.changed(what)  # first: a full disk must not leave a preview of other ticks
        self._save(plan)

    def _save(self, plan: Plan) -> None:
        """Write the plan at each change: ticks are work that must not be lost."""
        try:
            if plan.ticked or stored_plan(plan.plan_id):
                store_plan(plan)
            folder = self.session.folder / "results"
            folder.mkdir(parents=True, exist_ok=True)
            self.download.show(plan.write(folder / f"{plan.plan_id}.csv"))
        except (JournalError, OSError, ValueError) as error:
            self.download.show(None)
            self.message.show_trouble(error)

    def _tick(self, row: PlanRow, action: str) -> None:
        """Tick or untick a row as its menu was set; store the plan and say what the tick means."""
        plan = self.cleanup.plan
        if plan is None:
            return
        plan = plan.untick(row.key)
        same = sum(other.key == row.key for other in plan.rows)
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
        elif status := self._done(plan).get(row.key):
            self.message.show_note(
                f"{row.state} {row.nexus_type}: {status} by an earlier run of this plan. Its tick"
                " changes nothing of that; the undo of the receipt brings back what was removed."
            )
        self._use(plan, "ticks")

    def _done(self, plan: Plan) -> dict[tuple[str, str], str]:
        """What the receipt that is shown says was done for this plan, by state and type."""
        receipt = self.cleanup.receipt
        if receipt is None or receipt.plan_id != plan.plan_id or receipt.kind != "apply":
            return {}
        return {item.key: item.status for item in receipt.items if item.outcome == "done"}

    def _replaceable(self, row: PlanRow) -> bool:
        able, plan = self.cleanup.abilities, self.cleanup.plan
        if able is None or not able.adds or plan is None:
            return False
        return max(row.expected, sum(other.key == row.key for other in plan.rows)) > 1

    def _turn(self, pages: int) -> None:
        self._page += pages
        self.show()

    def _show_code(self) -> None:
        """Show the calls that make this plan with these ticks."""
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
    return box_html(
        f"<p><strong>Above the threshold, and no record:</strong></p><ul>{items}</ul>", trouble=True
    )


def carry_ticks(former: Plan | None, plan: Plan) -> tuple[Plan, int]:
    """A new plan with the ticks of the former one, and how many of them are lost.

    A tick is carried over only where the very same record, decision and reasons are in both.
    """
    if former is None:
        return plan, 0
    ticked, lost = plan, 0
    for old in former.ticked:
        same = [
            row
            for row in plan.rows
            if (row.state, row.nexus_type, row.registered_at, row.address, row.notes)
            == (old.state, old.nexus_type, old.registered_at, old.address, old.notes)
            and (row.decision, row.reasons) == (old.decision, old.reasons)
        ]
        if len(same) == 1 and old.action == "remove":
            ticked = ticked.tick(same[0].number)
        else:
            lost += 1
    return ticked, lost


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of a plan are shown; an empty value matches every row."""

    decision: str = ""
    state: str = ""
    nexus_type: str = ""
    text: str = ""

    def rows(self, plan: Plan) -> list[PlanRow]:
        """The rows that match, in the plan's order: candidates first, then those to review."""
        return [row for row in plan.rows if self._matches(row)]

    def _matches(self, row: PlanRow) -> bool:
        """Whether a row has the chosen decision, state and type, and all words that were typed."""
        words = self.text.casefold().split()
        text = " ".join(
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
            and all(word in text for word in words)
        )


def page_of(number: int, count: int, size: int) -> tuple[int, int, int]:
    """The nearest existing page, and the first and the end of its rows, counted from 0."""
    pages = max(1, -(-count // size))
    page = min(max(number, 0), pages - 1)
    return page, page * size, min(count, (page + 1) * size)


PAGE = 20
"""Rows on a page."""


class PlanRows:
    """A page of rows. `show` fills it; `ticked(row, action)` is called when a row is ticked.

    Making widgets is what costs time in a notebook: those of a page are made once and reused.
    """

    def __init__(self, ticked: Callable[[PlanRow, str], object]) -> None:
        self.rows: tuple[RowOfPlan, ...] = ()
        self._ticked = ticked
        self._looks = _SharedLooks()
        self.view = w.VBox()
        self.view.add_class("svc-plan-rows")

    def show(self, rows: Sequence[PlanRow], *, replaceable: Callable[[PlanRow], bool]) -> None:
        """Show these rows, at most a page of them."""
        if len(self.rows) < min(len(rows), PAGE):
            more = range(len(self.rows), min(len(rows), PAGE))
            self.rows += tuple(RowOfPlan(self._ticked, self._looks) for _ in more)
            self.view.children = [row.view for row in self.rows]
        for place, widgets in enumerate(self.rows):
            row = rows[place] if place < len(rows) else None
            widgets.fill(row, replaceable=row is not None and replaceable(row))


class RowOfPlan:
    """The widgets of one row: a checkbox to remove it, perhaps one to replace it, and its facts."""

    def __init__(self, ticked: Callable[[PlanRow, str], object], looks: _SharedLooks) -> None:
        self.row: PlanRow | None = None
        self._ticked = ticked
        self._looks = looks
        self._filling = False
        self.remove = looks.checkbox()
        self.replace: w.Checkbox | None = None
        self.facts = looks.html()
        self.view = w.Box([self.remove, self.facts], _dom_classes=["svc-plan-row"])
        self.remove.observe(self._changed, "value")

    def fill(self, row: PlanRow | None, *, replaceable: bool = False) -> None:
        """Show a row, or nothing."""
        self._filling = True
        try:
            self.row = row
            set_visible(self.view, row is not None)
            if row is None:
                return
            with self.remove.hold_sync():
                self.remove.description = f"Remove {row.state} {row.nexus_type}"
                self.remove.value = row.action == "remove"
            self._offer(row, offered=replaceable or row.action == "replace")
            self.facts.value = facts_html(row)
        finally:
            self._filling = False

    def _offer(self, row: PlanRow, *, offered: bool) -> None:
        if offered and self.replace is None:
            self.replace = self._looks.checkbox()
            self.replace.observe(self._changed, "value")
        boxes = [self.remove, self.replace] if offered else [self.remove]
        if len(self.view.children) != len(boxes) + 1:
            self.view.children = [*boxes, self.facts]
        if self.replace is not None:
            with self.replace.hold_sync():
                self.replace.description = (
                    f"Remove every {row.state} {row.nexus_type}, then add this one"
                )
                self.replace.value = row.action == "replace"

    def _changed(self, change: dict[str, object]) -> None:
        if self._filling or self.row is None:
            return
        chosen = change["owner"]
        action = "remove" if chosen is self.remove else "replace"
        self._ticked(self.row, action if change["new"] else "")


class _SharedLooks:
    """Layouts and styles that all rows share: one for each row would be one more message each."""

    def __init__(self) -> None:
        self.box = w.Layout(width="auto")
        self.facts = w.Layout()
        self.box_style = w.Checkbox.style.klass()
        self.facts_style = w.HTML.style.klass()

    def checkbox(self) -> w.Checkbox:
        return w.Checkbox(
            False,  # noqa: FBT003 - the widget's own first argument: nothing is ticked in advance
            indent=False,
            layout=self.box,
            style=self.box_style,
        )

    def html(self) -> w.HTML:
        return w.HTML(layout=self.facts, style=self.facts_style, _dom_classes=["svc-plan-facts"])


_MARKS = {"candidate": "\N{BLACK UP-POINTING TRIANGLE}", "review": "?", "keep": "\N{CHECK MARK}"}
"""Before a decision's word, so that color alone does not carry it."""


def facts_html(row: PlanRow) -> str:
    """The decision, its reasons and evidence, and the fields of the record; escaped."""
    fields = [
        f"registered {row.registered_at}" if row.registered_at else "no day of registration",
        row.address or "no address",
        row.notes or "",
    ]
    mark = (
        f'<span class="svc-mark svc-mark-{escape(row.decision)}">'
        f'<span aria-hidden="true">{_MARKS.get(row.decision, "")}</span>'
        f" {escape(_DECISIONS.get(row.decision, row.decision))}</span>"
    )
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in row.why)
    why = f'<ul class="svc-plan-why">{items}</ul>' if items else ""
    figures, source = figures_and_source(row.evidence)
    evidence = f'<p class="svc-plan-evidence">{escape(figures)}</p>' if figures else ""
    if source:
        evidence += (
            '<details class="svc-plan-evidence"><summary>Source</summary>'
            f"<p>{escape(source)}</p></details>"
        )
    record = escape(" \N{MIDDLE DOT} ".join(part for part in fields if part))
    return f'<p class="svc-plan-record">{mark} <span>{record}</span></p>{why}{evidence}'
