"""The result of a reconciliation, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.display import as_html, as_text, counted, exact_dollars, plain
from svc_tools.frames.analysis.shown import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    import pandas as pd

    from svc_tools.display import Table
    from svc_tools.frames.analysis.compared import Sums

__all__ = ["Reconciliation"]

_STATES, _REASONS, _ROWS = 10, 15, 5


@dataclass(frozen=True, slots=True, eq=False)
class Reconciliation:
    """Collected against expected tax, exact to the cent.

    The sums over `by_state`, over `by_reason` and over `by_group` are those of `totals`.

    Attributes:
        collected: the column that was compared.
        expected: what it was compared with: `tax`, or `tax_due` where the tax was computed with
            a register of nexus or a channel.
        tolerance: the difference of one row that is let pass, in dollars.
        totals: rows by class, and dollars (see `Sums`).
        by_state: the same by state, with a column for each field of `totals`; the row without a
            code holds the rows whose state is not known.
        by_reason: rows and dollars by class and reason, the largest difference first, with what
            each reason states.
        by_group: as `by_state`, by the columns of `by=` and the `period=`; `None` without them.
        worst: the rows with the largest differences, and what was collected where nothing is
            due, the largest first, with the labels of the index.
        lines: every row, in its order, with the added columns of `LINE_COLUMNS`.
        prefix: the prefix of the columns of ours.
        snapped: floats that were off a whole cent by a rounding error and read as that cent.
        notes: what has changed in the frame since its tax was computed, and how many rows have no
            date for the period, in sentences.
    """

    collected: str
    expected: str
    tolerance: Decimal
    totals: Sums
    by_state: pd.DataFrame
    by_reason: pd.DataFrame
    by_group: pd.DataFrame | None
    worst: pd.DataFrame
    lines: pd.DataFrame
    prefix: str = ""
    snapped: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The reconciliation as text: totals, then the largest differences."""
        return as_text(self._title, self._sentences, self._tables)

    def __repr__(self) -> str:
        """One line: the column and what its comparison came to."""
        return f"<Reconciliation of {plain(self.collected)!r}: {self._counts}>"

    def _repr_html_(self) -> str:
        return as_html(self._title, self._sentences, self._tables)

    @property
    def _title(self) -> str:
        what = "the tax that is due" if self.expected == "tax_due" else "the tax at destination"
        return (
            f"Collected ({plain(self.collected)}) against {what};"
            f" tolerance {exact_dollars(self.tolerance)} a row"
        )

    @property
    def _counts(self) -> str:
        sums = self.totals
        counts = (
            (sums.over_rows, "over"),
            (sums.under_rows, "under"),
            (sums.within_rows, "within tolerance"),
            (sums.not_due_rows, "nothing due"),
            (sums.no_expectation_rows, "without a tax to compare with"),
            (sums.no_collected_rows, "with nothing readable collected"),
        )
        said = ", ".join(f"{rows:,} {what}" for rows, what in counts if rows)
        return f"{counted(sums.rows, 'row')}: {said}" if said else "no rows"

    @property
    def _sentences(self) -> Sequence[str]:
        sums = self.totals
        said = [f"{self._counts}."]
        if (
            sums.expected is not None
            and sums.collected is not None
            and sums.difference is not None
            and sums.over is not None
            and sums.under is not None
            and sums.within is not None
        ):
            said.append(
                f"Expected {exact_dollars(sums.expected)}, collected"
                f" {exact_dollars(sums.collected)}: {exact_dollars(sums.difference)} difference"
                f" ({exact_dollars(sums.over)} over, {exact_dollars(sums.under)} under,"
                f" {exact_dollars(sums.within)} within tolerance)."
            )
        if sums.collected_not_due:
            said.append(f"Collected where nothing is due: {exact_dollars(sums.collected_not_due)}.")
        if sums.collected_without_expectation is not None:
            said.append(
                "Collected in rows without a tax to compare with:"
                f" {exact_dollars(sums.collected_without_expectation)}."
            )
        if sums.expected_without_collected is not None:
            said.append(
                "Expected in rows where what was collected is missing or unreadable:"
                f" {exact_dollars(sums.expected_without_collected)} (if a blank means 0.00 in"
                " your books, fill it before)."
            )
        if self.snapped:
            said.append(f"Floats read as the whole cent they are nearest to: {self.snapped:,}.")
        return [*said, *self.notes]

    @property
    def _tables(self) -> Sequence[Table]:
        measures = (
            ("rows", ">Rows"),
            ("expected", ">Expected"),
            ("collected", ">Collected"),
            ("difference", ">Difference"),
            ("over", ">Over"),
            ("under", ">Under"),
        )
        largest = self.by_state.sort_values("difference", key=_size, kind="stable")
        tables = [
            table_of(
                "By state, the largest difference first",
                largest,
                (("state", "State"), *measures),
                rows=_STATES,
            ),
            table_of(
                "By reason",
                self.by_reason,
                (
                    ("class", "Class"),
                    ("reason", "Reason"),
                    *measures[:4],
                    ("meaning", "~What it states"),
                ),
                rows=_REASONS,
            ),
        ]
        if self.by_group is not None:
            keys = list(self.by_group.columns)[: -len(self.by_state.columns) + 1]
            named = [(key, plain(key)) for key in keys]
            tables.append(
                table_of(
                    f"By {', '.join(name for _, name in named)}",
                    self.by_group,
                    (*named, *measures),
                    rows=_STATES,
                )
            )
        columns = (
            ("expected_tax", ">Expected"),
            ("collected_tax", ">Collected"),
            ("tax_difference", ">Difference"),
            ("difference_reason", "Reason"),
            ("implied_rate", ">Implied rate"),
        )
        tables.append(
            table_of(
                "Rows with the largest differences",
                self.worst,
                [(self.prefix + name, head) for name, head in columns],
                rows=_ROWS,
                labelled="Index",
            )
        )
        return tables


def _size(column: pd.Series) -> pd.Series:
    """A key that puts the largest first, whatever the sign, and what is missing last."""
    return -column.abs()
