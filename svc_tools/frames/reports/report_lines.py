"""The lines of a report's page: as many as a browser bears, and how many are left out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.reports.cells import is_missing
from svc_tools.frames.reports.report_markup import Markup, Right, Wide, joined, table, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from svc_tools.frames.reports.report_columns import ReportColumns
    from svc_tools.frames.reports.report_facts import Facts
    from svc_tools.frames.reports.sheet_table import Column

__all__ = ["MOST_FLAGGED", "MOST_LINES", "lines_table", "shown"]

MOST_LINES, MOST_FLAGGED = 500, 100
_RIGHT = frozenset({"rate", "money", "count", "row"})
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
    return joined([tag("p", " ".join(said)), _folded("Lines", heads, body)])


def flagged_table(facts: Facts, columns: ReportColumns, *, failed: bool) -> Markup:
    """The first rows that need a person, with the reason and what to do, most pressing first."""
    need = facts.need
    part = slice(None, need.failed) if failed else slice(need.failed, None)
    rows, codes = need.rows[part], need.codes[part]
    count = min(len(rows), MOST_FLAGGED)
    order = (
        "by urgency, then the largest sales"
        if failed
        else "the most dollars at stake first, then tax"
    )
    left = (
        f"The first {count:,} of {len(rows):,} rows" if len(rows) > count else f"All {count:,} rows"
    )
    said = f"{left}, {order}; {_ALL}." if len(rows) > count else f"{left}, {order}."
    shown_columns = _of_interest(columns, facts.prefix)
    heads = [Right("Line"), Wide("Reason"), Wide("What to do"), *map(_head, shown_columns)]
    taken: np.ndarray = rows[:count]
    cells = [
        [shown(value, column.kind) for value in column.data.iloc[taken].tolist()]
        for column in shown_columns
    ]
    faults = [need.faults[code] for code in codes[:count].tolist()]
    body = [
        (position + 1, fault.reason, fault.to_do, *line)
        for position, fault, line in zip(taken.tolist(), faults, _across(cells, count), strict=True)
    ]
    return joined([tag("p", said), _folded("Rows", heads, body)])


def _of_interest(columns: ReportColumns, prefix: str) -> list[Column]:
    said_in_words = {f"{prefix}{name}" for name in ("warnings", "lookup_status")}
    return [column for column in columns.main if column.name not in said_in_words]


def _across(cells: Sequence[Sequence[str]], count: int) -> list[tuple[str, ...]]:
    return list(zip(*cells, strict=True)) if cells else [()] * count


def _folded(name: str, heads: Sequence[str], body: Sequence[Sequence[object]]) -> Markup:
    return tag(
        "details",
        tag("summary", f"{name}: {len(body):,}"),
        tag("div", table(name, heads, body, captioned=False), class_="lines"),
        open=True,
    )


def _head(column: Column) -> str:
    figures = column.kind in _RIGHT or pd.api.types.is_numeric_dtype(column.data.dtype)
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
