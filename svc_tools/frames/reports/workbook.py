"""An enriched frame as an Excel workbook: a summary, every line, and what needs a person.

Cells hold values, never formulas that came from the data: a text that starts with `=`, `+`, `-`
or `@` stays text, also after somebody edits it. Missing is an empty cell, never 0. The only
formulas are ours, on the sheet Summary: they add up the sheet Lines again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.atomic import whole_file
from svc_tools.frames.coded import first_column
from svc_tools.frames.reports import book as book_
from svc_tools.frames.reports.book import open_book
from svc_tools.frames.reports.report_columns import ReportColumns
from svc_tools.frames.reports.report_facts import facts_of
from svc_tools.frames.reports.sheet_table import Column, column_letters
from svc_tools.frames.reports.sources_sheet import write_sources
from svc_tools.frames.reports.summary_sheet import Ties, write_summary

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.frames.reports.book import Book
    from svc_tools.frames.reports.report_facts import Facts
    from svc_tools.frames.summary import Summary

__all__ = ["write_workbook"]


def write_workbook(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    summary: Summary | None = None,
    amount: Hashable | None = None,
    prefix: str = "",
    title: str | None = None,
) -> None:
    """Write an enriched frame as a workbook: Summary, Lines, Failures, Review, Sources.

    The file appears whole or not at all. On the sheet Lines the user's columns come first, then
    rate, tax, status, confidence and warnings, then the details, which are not printed. Rates are
    numbers shown as per cent, money is shown with cents, dates are dates. More lines than fit on
    a sheet go on on further ones (`Lines 2`). The summary's totals are added up again from the
    lines by formulas.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        path: where to write it, `.xlsx`; an existing file is replaced.
        summary: what `summarize(frame)` said, if you have it; otherwise it is made here.
        amount: the column of amounts; by default the one that the tax was computed from.
        prefix: the prefix of the lookup's columns.
        title: the title on the sheet Summary.

    Raises:
        ValueError: the frame has not been looked up, has too many columns for a sheet, or `path`
            does not end in `.xlsx`.
        FileNotFoundError: the folder does not exist.
    """
    path = Path(path)
    if path.suffix.lower() != ".xlsx":
        raise ValueError(f"path: {path.name!r} must end in .xlsx")
    if len(frame.columns) > book_.MOST_COLUMNS - 10:
        raise ValueError(
            f"a sheet holds {book_.MOST_COLUMNS:,} columns, the frame has"
            f" {len(frame.columns):,}: leave columns out, or write it as CSV or Parquet"
        )
    facts = facts_of(frame, amount=amount, title=title, prefix=prefix, summary=summary)
    columns = ReportColumns.of(frame, facts)
    with whole_file(path) as draft, open_book(draft, title=facts.title) as book:
        first = book.sheet("Summary")
        lines = book.table(
            "Lines",
            [*columns.main, *columns.details],
            len(frame),
            frozen_columns=1,
            printed=len(columns.main),
        )
        failed = facts.need.failed
        _flagged(
            book,
            "Failures",
            _Flagged(facts.need.rows[:failed], facts.need.codes[:failed]),
            facts,
            columns,
        )
        _flagged(book, "Review", _reviewed(facts), facts, columns)
        write_sources(book.sheet("Sources"), facts)
        write_summary(first, facts, _ties(frame, facts, columns, lines))


class _Flagged(NamedTuple):
    """Rows that need a person: where they stand, which fault they have, and what to say first."""

    rows: np.ndarray
    codes: np.ndarray
    before: Sequence[Column] = ()
    further: Sequence[str] = ()


def _reviewed(facts: Facts) -> _Flagged:
    """The rows of `df.svc.review()`, in its order and with its columns."""
    faults = np.zeros(len(facts.need.sales.cents), np.int64)
    faults[facts.need.rows] = facts.need.codes
    shown = (("dollars", "money"), ("basis", "indented"), ("place", "plain"), ("group", "row"))
    before = [
        Column(f"review_{name}", facts.review.rows[f"{facts.prefix}review_{name}"], kind)
        for name, kind in shown
    ]
    rows = facts.reviewed
    return _Flagged(rows, faults[rows], before, ("tax_low", "tax_high"))


def _flagged(
    book: Book, name: str, flagged: _Flagged, facts: Facts, columns: ReportColumns
) -> None:
    """A sheet of the rows that need a person, with the reasons before their own columns."""
    rows, codes, before, further = flagged
    said = pd.DataFrame(
        [(one.kind, one.reason, one.to_do) for one in facts.need.faults],
        columns=["group", "reason", "what_to_do"],
        dtype="str",
    )
    # from 1, and 1 for the header
    lines = rows % book_.MOST_ROWS + 2
    table = [
        *before,
        *([] if before else [Column("group", said["group"], "plain", 64, codes)]),
        Column("reason", said["reason"], "wrapped", 50, codes),
        Column("what_to_do", said["what_to_do"], "wrapped", 40, codes),
        Column("row_in_lines", pd.Series(lines, dtype="int64"), "row"),
    ]
    if len(facts.need.sales.cents) > book_.MOST_ROWS:
        sheets = pd.Series(rows // book_.MOST_ROWS + 1, dtype="int64")
        table.append(Column("lines_sheet", sheets, "row"))
    warnings = f"{facts.prefix}warnings"  # said in words
    names = {f"{facts.prefix}{one}" for one in further}
    shown = [column for column in columns.main if column.name != warnings]
    shown += [column for column in columns.details if column.name in names]
    table += [Column(one.name, one.data, one.kind, one.widest, rows) for one in shown]
    book.table(name, table, len(rows))


def _ties(
    frame: pd.DataFrame, facts: Facts, columns: ReportColumns, lines: Sequence[str]
) -> Ties | None:
    """Where on the sheets Lines the amounts and the taxes stand."""
    tax = columns.named(f"{facts.prefix}tax")
    if facts.amount is None or tax is None:
        return None
    amounts = first_column(frame, facts.amount)
    amount = columns.named(facts.amount)
    adds_up = (
        amounts is not None
        and not any(isinstance(value, str) for value in amounts.unique().tolist())
        and bool((facts.need.sales.missing == amounts.isna().to_numpy()).all())
    )
    starts = range(0, len(frame), book_.MOST_ROWS)
    lengths = [min(book_.MOST_ROWS, len(frame) - start) for start in starts]
    return Ties(
        tuple(zip(lines, lengths, strict=False)),
        column_letters(amount) if amount is not None and adds_up else None,
        column_letters(tax),
    )
