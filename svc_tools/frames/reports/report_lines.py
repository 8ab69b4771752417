"""The lines of a report's page: as many as a browser bears, and how many are left out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.frames.reports.cells import is_missing
from svc_tools.frames.reports.report_markup import Markup, Right, Wide, table, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc_tools.frames.reports.report_columns import ReportColumns
    from svc_tools.frames.reports.report_facts import Facts
    from svc_tools.frames.reports.sheet_table import Column

__all__ = ["MOST_FLAGGED", "MOST_LINES", "failed_table", "lines_table", "review_table", "shown"]

MOST_LINES, MOST_FLAGGED = 500, 100
_ALL = "a report as .xlsx has them all"


def lines_table(columns: ReportColumns, rows: int) -> Markup:
    """The first lines with their main columns, and what is left out."""
    count = min(rows, MOST_LINES)
    left = f"The first {count:,} of {rows:,} lines" if rows > count else f"All {rows:,} lines"
    said = [f"{left}; {_ALL}." if rows > count else f"{left}."]
    if columns.details:
        said.append(f"{len(columns.details)} further columns are in a report as .xlsx.")
    heads = [Right("Line"), *map(_head, columns.main)]
    cells = [_cells(column, 0, count) for column in columns.main]
    body = [(number, *line) for number, line in enumerate(zip(*cells, strict=True), start=1)]
    return _folded(" ".join(said), "Lines", heads, body)


def failed_table(facts: Facts, columns: ReportColumns) -> Markup:
    """The first rows without a tax or a whole rate, with reason and advice, by urgency."""
    need = facts.need
    rows = need.rows[: need.failed]
    return _flagged(rows, facts, columns, "by urgency, then the largest sales", {})


def review_table(facts: Facts, columns: ReportColumns) -> Markup:
    """The first rows of the review, with their dollars, reason and advice."""
    listed, prefix = facts.review.rows.iloc[:MOST_FLAGGED], facts.prefix
    dollars, basis = (listed[f"{prefix}review_{name}"].tolist() for name in ("dollars", "basis"))
    first = {
        Right("Dollars"): [shown(value, "money") for value in dollars],
        "Basis": [shown(value, "plain") for value in basis],
    }
    order = "the most dollars first, those without a tax among them"
    return _flagged(facts.reviewed, facts, columns, order, first)


def _flagged(
    rows: np.ndarray,
    facts: Facts,
    columns: ReportColumns,
    order: str,
    first: Mapping[str, Sequence[str]],
) -> Markup:
    """The first of these rows with what is wrong; `first` are columns to stand before that."""
    need, count = facts.need, min(len(rows), MOST_FLAGGED)
    left = f"The first {count:,} of {len(rows):,} rows" if count < len(rows) else f"All {count:,}"
    said = f"{left}, {order}; {_ALL}." if count < len(rows) else f"{left}, {order}."
    taken = rows[:count]
    codes = np.zeros(len(need.sales.cents), np.int64)
    codes[need.rows] = need.codes
    faults = [need.faults[code] for code in codes[taken].tolist()]
    shown_columns = _of_interest(columns, facts.prefix)
    cells = [
        [f"{position + 1}" for position in taken.tolist()],
        *first.values(),
        [fault.reason for fault in faults],
        [fault.to_do for fault in faults],
        *(
            [shown(value, column.kind) for value in column.data.iloc[taken].tolist()]
            for column in shown_columns
        ),
    ]
    heads = [Right("Line"), *first, Wide("Reason"), Wide("What to do"), *map(_head, shown_columns)]
    body = list(zip(*cells, strict=True))
    return _folded(said, "Rows", heads, body)


def _of_interest(columns: ReportColumns, prefix: str) -> list[Column]:
    said_in_words = {f"{prefix}{name}" for name in ("warnings", "lookup_status")}
    return [column for column in columns.main if column.name not in said_in_words]


def _folded(said: str, name: str, heads: Sequence[str], body: Sequence[Sequence[object]]) -> Markup:
    """What is shown, in words, and a table that can be folded away: on paper, wide pages."""
    rows = tag("summary", f"{name}: {len(body):,}")
    whole = tag("details", rows, table(name, heads, body, captioned=False), open=True)
    return tag("div", tag("p", said), whole, class_="lines")


def _head(column: Column) -> str:
    figures = column.stands_right or column.kind == "row"
    return Right(column.name) if figures else column.name


def _cells(column: Column, start: int, stop: int) -> list[str]:
    return [shown(value, column.kind) for value in column.block(start, stop).tolist()]


def shown(value: object, kind: str) -> str:
    """A value as the page shows it; a rate or an amount that is none stays as it is."""
    if is_missing(value):
        return ""
    if kind in {"rate", "money"}:
        number = _number(value)
        if number is not None:
            return f"{number * 100:f} %" if kind == "rate" else f"{number:,.2f}"
    if isinstance(value, datetime):
        if value.tzinfo is not None and kind == "utc":
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return value.date().isoformat() if kind == "date" else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _number(value: object) -> Decimal | None:
    if isinstance(value, float):
        value = repr(value)
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    cents = number.as_tuple().exponent
    return number if number.is_finite() and isinstance(cents, int) else None
