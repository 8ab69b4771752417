"""The rows of a plan with their ticks: one page of them at a time, always in the same widgets.

Making widgets is what costs time in a notebook, so a page is made once and filled anew.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools.widgets.nexus_view import DECISIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.nexus import PlanRow

__all__ = ["PAGE", "PlanRows", "RowOfPlan", "facts_html"]

PAGE = 20
"""Rows on a page."""

_MARKS = {"candidate": "\N{BLACK UP-POINTING TRIANGLE}", "review": "?", "keep": "\N{CHECK MARK}"}
"""Before a decision's word, so that it can be told apart without colour."""


_SOURCE = "; source: "
"""Where the evidence of a row goes over to its sources, which are long and folded away."""


class _Looks:
    """Layouts and styles that all rows share: each of its own would be one more message each."""

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


class RowOfPlan:
    """The widgets of one row: a checkbox to remove it, perhaps one to replace it, and its facts.

    Attributes:
        remove: ticked to have the record removed.
        replace: ticked to have all of this state and type removed and this one added again; in
            `view` only where that is offered.
        facts: the decision, why, and on what evidence.
        row: what is shown, or `None`.
    """

    def __init__(self, ticked: Callable[[PlanRow, str], object], looks: _Looks) -> None:
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
            self.view.layout.display = "none" if row is None else None
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


class PlanRows:
    """A page of rows. `show` fills it; `ticked(row, action)` is called when a person ticks."""

    def __init__(self, ticked: Callable[[PlanRow, str], object]) -> None:
        self.rows: tuple[RowOfPlan, ...] = ()
        self._ticked = ticked
        self._looks = _Looks()
        self.view = w.VBox()
        self.view.add_class("svc-plan-rows")

    def show(self, rows: Sequence[PlanRow], *, replaceable: Callable[[PlanRow], bool]) -> None:
        """Show these rows, at most a page of them."""
        if len(self.rows) < min(len(rows), PAGE):
            more = range(len(self.rows), min(len(rows), PAGE))
            self.rows += tuple(RowOfPlan(self._ticked, self._looks) for _ in more)
            self.view.children = [one.view for one in self.rows]
        for place, widgets in enumerate(self.rows):
            row = rows[place] if place < len(rows) else None
            widgets.fill(row, replaceable=row is not None and replaceable(row))


def facts_html(row: PlanRow) -> str:
    """The decision, why and on what evidence, and what the record says of itself; escaped."""
    said = [
        f"registered {row.registered_at}" if row.registered_at else "no day of registration",
        row.address or "no address",
        row.notes or "",
    ]
    mark = (
        f'<span class="svc-mark svc-mark-{escape(row.decision)}">'
        f'<span aria-hidden="true">{_MARKS.get(row.decision, "")}</span>'
        f" {escape(DECISIONS.get(row.decision, row.decision))}</span>"
    )
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in row.why)
    why = f'<ul class="svc-plan-why">{items}</ul>' if items else ""
    figures, _, source = row.evidence.partition(_SOURCE)
    if source:
        figures += "."
    evidence = f'<p class="svc-plan-evidence">{escape(figures)}</p>' if figures else ""
    if source:
        evidence += (
            '<details class="svc-plan-evidence"><summary>Source</summary>'
            f"<p>{escape(source)}</p></details>"
        )
    record = escape(" \N{MIDDLE DOT} ".join(part for part in said if part))
    return f'<p class="svc-plan-record">{mark} <span>{record}</span></p>{why}{evidence}'
