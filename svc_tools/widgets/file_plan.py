"""What asking for a file will take, before anything is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets

from svc_tools.widgets.file_spoken import spoken
from svc_tools.widgets.parts import heading, note, table_html

if TYPE_CHECKING:
    from svc_tools.lookup.plan import Plan

__all__ = ["PlanView"]

_MOST = 6


class PlanView:
    """The plan of a file.

    Attributes:
        text: the plan as HTML; empty while there is none.
    """

    def __init__(self) -> None:
        self.text = ipywidgets.HTML()
        self.view = ipywidgets.VBox([heading("Plan", 4), self.text])
        self.hide()

    def hide(self) -> None:
        """Show no plan."""
        self.text.value = ""
        self.view.layout.display = "none"

    def show(self, plan: Plan, name: str) -> None:
        """Show what asking will take for the file of this name, and what is never asked for."""
        rows = [("Rows", f"{plan.rows:,}"), ("Distinct places", f"{plan.places:,}")]
        if plan.cached is not None:
            rows.append(("Answered from the cache", f"{plan.cached:,}"))
        rows.append(("To be asked: billable lookups", f"{plan.to_ask:,}"))
        if plan.quota_remaining is not None:
            rows.append(("Lookups left this month, when last told", f"{plan.quota_remaining:,}"))
        refused = sum(one.rows for one in plan.refused)
        if refused:
            rows.append(("Rows that are never asked for", f"{refused:,}"))
        parts = [note(f"Service: {plan.service}").value]
        parts.append(table_html(("What", ">Number"), rows, "What a run will take"))
        if plan.fits_quota is False:
            parts.append(note("The account has not enough lookups left for it.").value)
        if refused:
            alike = plan.refused_alike()
            told = [(f"{one.rows:,}", one.status, spoken(one.reason)) for one in alike[:_MOST]]
            rest = sum(one.rows for one in alike[_MOST:])
            if rest:
                told.append((f"{rest:,}", "", "Other reasons."))
            heads = (">Rows", "Status", "~Reason")
            parts.append(table_html(heads, told, "Why rows are never asked for"))
        if not plan.rows:
            parts.append(note("The file has no rows below the names of its columns.").value)
        notes = dict.fromkeys(spoken(text, name) for text in plan.notes)
        parts += [note(text).value for text in notes]
        self.text.value = "".join(parts)
        self.view.layout.display = ""
