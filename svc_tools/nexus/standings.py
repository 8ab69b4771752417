"""An exposure for people: the states that matter as a table, those far below in one line.

Only what is shown is decided here; which states are far below says `state_exposure.FAR_BELOW`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from html import escape
from typing import TYPE_CHECKING, Any

from svc_tools.nexus.notices import BAND_WORDS
from svc_tools.nexus.state_exposure import FAR_BELOW
from svc_tools.show.display import NOTHING, Note, Table, as_html, as_text, counted, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

StandingRow = dict[str, Any]
"""A row of the exposure; `None` where a cell is missing."""


@dataclass(frozen=True, slots=True)
class ExposureSummary:
    """What an exposure says of each state: printed as text, and shown in a notebook.

    Attributes:
        shown: the rows of the states that matter, those that need attention first.
        far_below: those of states far below every threshold, without a record.
        untaxed: those of states without a general sales tax, without a record.
        facts: the days of the sales, and what was left out of them.
    """

    shown: tuple[StandingRow, ...]
    far_below: tuple[StandingRow, ...]
    untaxed: tuple[StandingRow, ...]
    facts: Mapping[str, Any]

    @property
    def folded(self) -> dict[str, tuple[StandingRow, ...]]:
        """The rows that are shown in one line, by what they have in common."""
        found = {}
        if self.far_below:
            text = (
                f"{counted(len(self.far_below), 'state')} below {FAR_BELOW:.0%} of every threshold"
            )
            whole = all(row["period_covered"] for row in self.far_below)
            found[text if whole else f"{text}, as far as the sales given reach"] = self.far_below
        if self.untaxed:
            text = f"{counted(len(self.untaxed), 'state')} without a general sales tax"
            found[text] = self.untaxed
        return found

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for the states in one line, with their codes."""
        return tuple(
            f"{text}: {', '.join(sorted(row['state'] for row in rows))}."
            for text, rows in self.folded.items()
        )

    @property
    def table(self) -> Table:
        """The states that matter, with the sentences of the others below it."""
        caption = "Sales against the thresholds"
        return Table(_HEADS, map(_cells, self.shown), caption, " ".join(self.sentences) or None)

    def __str__(self) -> str:
        """The summary as text."""
        return as_text(Note(self._title), self.table)

    def _repr_html_(self) -> str:
        table = Table(_HEADS, map(_cells, self.shown), "Sales against the thresholds")
        return as_html(Note(self._title), table) + "".join(
            f"<details><summary>{escape(text)}</summary>"
            f"{as_html(Table(_HEADS, map(_cells, rows)))}</details>"
            for text, rows in self.folded.items()
        )

    @property
    def _title(self) -> str:
        first, last = self.facts.get("first_day"), self.facts.get("last_day")
        days = f", sales from {first} to {last}" if first and last else ""
        as_of = self.facts.get("as_of")
        return f"Exposure as of {as_of}{days}" if as_of else "Exposure"


def exposure_summary(exposure: pd.DataFrame) -> ExposureSummary:
    """An exposure for people: the states that matter, the others in a line each.

    A state is in such a line where it has no record and either its sales are far below every
    threshold (the column `far_below`: less than half of it is used), or it has no general sales
    tax. What was left out of the sales, and why, is in `attrs["svc_exposure"]`.

    Args:
        exposure: what `exposure` or `df.svc.exposure` returned.
    """
    rows = exposure.astype(object).where(exposure.notna(), None).to_dict("records")
    far: list[StandingRow] = []
    untaxed: list[StandingRow] = []
    shown: list[StandingRow] = []
    for row in rows:
        no_tax = row["band"] == "no tax" and not row.get("registered")
        place = untaxed if no_tax else far if row.get("far_below") is True else shown
        place.append({str(name): cell for name, cell in row.items()})
    facts = exposure.attrs.get("svc_exposure", {})
    return ExposureSummary(tuple(shown), tuple(far), tuple(untaxed), facts)


def percent_used(row: StandingRow) -> int | None:
    """The part of the threshold that is used, rounded down: 99.99% is not yet 100%."""
    used = row.get("used")
    if used is None:
        return None
    return int((Decimal(str(used)) * 100).to_integral_value(ROUND_DOWN))


_HEADS = ("State", "Standing", number("Used"), number("Sales"), "Threshold")


def _cells(row: StandingRow) -> tuple[str, ...]:
    sales, crossed, percent = row.get("sales"), row.get("first_crossed"), percent_used(row)
    standing = BAND_WORDS.get(row["band"], str(row["band"]))
    return (
        row["state"],
        standing if crossed is None else f"{standing} (first met {str(crossed)[:10]})",
        NOTHING if percent is None else f"{percent:,}%",
        NOTHING if sales is None else f"${Decimal(str(sales)):,.2f}",
        _threshold(row),
    )


def _threshold(row: StandingRow) -> str:
    sales, transactions = row.get("threshold_sales"), row.get("threshold_transactions")
    parts = [] if sales is None else [f"${Decimal(str(sales)):,.0f}"]
    if transactions is not None and row.get("logic") in {"and", "or"}:
        parts += [str(row["logic"]), f"{int(transactions):,} sales"]
    return " ".join(parts) or NOTHING
