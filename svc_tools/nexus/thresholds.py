"""The states' economic thresholds: shipped rows with their sources, which a user's file overrides.

A row says what was true from one day to another, where that was read and how certain it is. What no
source says is blank, and a blank is never filled by a guess: `exposure` says what is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from svc_tools.nexus.problems import ProblemsError
from svc_tools.shown import NOTHING, Table, as_html, as_text, counted

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    import pandas as pd

__all__ = [
    "COLUMNS",
    "Base",
    "Certainty",
    "Logic",
    "Measured",
    "Threshold",
    "Thresholds",
    "ThresholdsError",
    "read_thresholds",
]

Logic = Literal["sales", "and", "or", "unknown", "none"]
Measured = Literal[
    "current_or_previous_year",
    "previous_year",
    "four_quarters",
    "rolling_12_months",
    "twelve_months_to_september",
]
Base = Literal["gross", "retail", "taxable"]
Certainty = Literal["high", "medium", "low"]


class ThresholdsError(ProblemsError):
    """A file of thresholds cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of = "thresholds"


@dataclass(frozen=True, slots=True)
class Threshold:
    """What one state asks of sellers without a presence there, for some time.

    Attributes:
        state: the postal code of one of the 50 states or DC.
        effective_from: the first day; `None`: as far back as the table goes.
        effective_to: the last day; `None`: until the state's next row, or still.
        sales: whole US dollars; `None` where sales are no test.
        transactions: how many sales; `None` where they are no test, or sources disagree.
        logic: "sales" alone, sales "and" transactions, sales "or" transactions, "unknown" where
            sources disagree on the transactions, "none" in a state without a general sales tax.
        period: over which time sales are measured; `None` in a state without a general sales tax.
        base: which sales count: "gross", "retail" (without sales for resale), "taxable"; `None`
            where no source says it.
        marketplace_counts: whether sales that a marketplace collects the tax of count; `None` where
            no source says it, or sources disagree.
        trailing_months: how many months the duty lasts after the end of a period in which the test
            was met; `None` where no source says it.
        transactions_dropped_on: since when there is no test of transactions any more.
        certainty: of the row; from a "low" one nothing is ever suggested.
        source: where the row was read.
        checked_on: when it was last compared with its source.
        notes: what else is to be known.
    """

    state: str
    effective_from: date | None
    effective_to: date | None
    sales: int | None
    transactions: int | None
    logic: Logic
    period: Measured | None
    base: Base | None
    marketplace_counts: bool | None
    trailing_months: int | None
    transactions_dropped_on: date | None
    certainty: Certainty
    source: str
    checked_on: date
    notes: str = ""

    def covers(self, day: date) -> bool:
        """Whether the row is that of this day."""
        begun = self.effective_from is None or self.effective_from <= day
        return begun and (self.effective_to is None or day <= self.effective_to)


COLUMNS = tuple(field.name for field in fields(Threshold))
"""The columns of a file of thresholds, all of them needed, in any order."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All rows, by state and time; for each day a state has at most one."""

    rows: tuple[Threshold, ...]

    def of(self, state: str, on: date) -> Threshold | None:
        """The state's row of this day; `None` where the table has none."""
        return next((row for row in self.rows if row.state == state and row.covers(on)), None)

    def frame(self) -> pd.DataFrame:
        """The rows as a table of the columns of a file; missing where a row is blank."""
        import pandas as pd  # noqa: PLC0415 - only who wants a frame needs it

        cells = [{name: getattr(row, name) for name in COLUMNS} for row in self.rows]
        frame = pd.DataFrame(cells, columns=list(COLUMNS))
        whole = dict.fromkeys(("sales", "transactions", "trailing_months"), "Int64")
        return frame.astype({**whole, "marketplace_counts": "boolean"})

    def __str__(self) -> str:
        """The rows as a table of text."""
        return as_text(*self._shown())

    def _repr_html_(self) -> str:
        return as_html(*self._shown())

    def _shown(self) -> tuple[str, list[str], list[Table]]:
        days = sorted({row.checked_on for row in self.rows})
        checked = " to ".join(map(str, dict.fromkeys((days[0], days[-1])))) if days else NOTHING
        said = [
            f"{counted(len(self.rows), 'row')}; last compared with their sources: {checked}.",
            "A blank cell is a fact that no source says; nothing is suggested from it.",
        ]
        rows = [
            (
                row.state,
                str(row.effective_from or NOTHING),
                str(row.effective_to or NOTHING),
                NOTHING if row.sales is None else f"{row.sales:,}",
                NOTHING if row.transactions is None else f"{row.transactions:,}",
                row.logic,
                (row.period or NOTHING).replace("_", " "),
                row.base or NOTHING,
                _word(row.marketplace_counts),
                NOTHING if row.trailing_months is None else str(row.trailing_months),
                row.certainty,
            )
            for row in self.rows
        ]
        heads = (
            *("state", "from", "to", ">sales, $", ">transactions", "logic", "period", "base"),
            *("marketplace counts", ">trailing months", "certainty"),
        )
        return "Economic thresholds", said, [Table("", heads, tuple(rows))]


def read_thresholds(path: str | Path | None = None) -> Thresholds:
    """The shipped thresholds, with the rows of a user's file in their place.

    A row of the file replaces the shipped row of its `state` and `effective_from`, and is added
    where there is none. A row without `effective_from` replaces every shipped row of its state.
    A row without `effective_to` lasts until the state's next row.

    Args:
        path: a CSV file (UTF-8, with a header) of the columns `COLUMNS`; blank cells are facts that
            are not known. `read_thresholds().frame().to_csv(path, index=False)` writes one.

    Raises:
        ThresholdsError: the file has other columns, or rows that cannot be read; it lists them.
        FileNotFoundError: there is no such file.
    """
    from svc_tools.nexus.threshold_rows import overridden, rows_of  # noqa: PLC0415 - it needs us

    shipped = _shipped()
    if path is None:
        return shipped
    return Thresholds(overridden(shipped.rows, rows_of(path)))


@cache
def _shipped() -> Thresholds:
    from svc_tools.nexus.threshold_rows import overridden, rows_in  # noqa: PLC0415 - it needs us

    text = (files("svc_tools.nexus") / "thresholds.csv").read_text(encoding="utf-8")
    return Thresholds(overridden((), rows_in(text)))


def _word(known: bool | None) -> str:  # noqa: FBT001 - the value is what is told
    return NOTHING if known is None else "yes" if known else "no"
