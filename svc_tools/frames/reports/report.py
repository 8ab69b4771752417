"""A report of an enriched frame as a file: a workbook, written here, or a page for the browser.

Cells of the workbook are values, never formulas from the data: a text that starts with `=`, `+`,
`-` or `@` stays text, also after somebody edits it. Missing is an empty cell, never 0. The only
formulas, on the sheet Summary, sum the sheets Lines again.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.base.atomic import whole_file
from svc_tools.base.extras import require
from svc_tools.frames.options import AmountOptions
from svc_tools.frames.reports import xlsx
from svc_tools.frames.reports.facts import stake_sentence
from svc_tools.frames.reports.page import contents_of, write_page
from svc_tools.frames.reports.xlsx import Column, column_letters, open_book
from svc_tools.frames.review.aggregates import shares_sentence
from svc_tools.frames.review.review import official_pages_of
from svc_tools.frames.review.split import dollars_known
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.frames.values.money import money
from svc_tools.show import display
from svc_tools.show.codes import meaning_of
from svc_tools.show.display import FIRST_ROW, as_columns, capital, counted, number

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.reports.columns import ReportColumns
    from svc_tools.frames.reports.facts import Facts
    from svc_tools.frames.reports.xlsx import Book, Sheet
    from svc_tools.frames.review.aggregates import Count
    from svc_tools.frames.review.review import StateReason
    from svc_tools.frames.review.split import Part
    from svc_tools.frames.review.summary import Summary
    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.frames.values.money import Totals
    from svc_tools.show.display import Head

_LAST_COLUMN, _LAST_SOURCE_COLUMN = 7, 5
_PER_LINE, _PER_REASON, _PER_ADVICE = 158, 106, 72
"""Characters of a line on the sheet Summary: over all columns, from the third, from the fifth."""
_MOST_GROUPS = 30
"""Groups of rows to review on the sheet Summary; the sheet Review has all rows."""
_PER_TEXT, _PER_MEANING, _PER_SOURCE_ADVICE = 150, 62, 48
"""Characters of a line on the sheet Sources: of a text, of a meaning, of an advice."""


def write_report(
    rows: Enriched,
    path: str | Path,
    *,
    amount: Hashable | None = None,
    title: str | None = None,
    columns: Sequence[Hashable] | None = None,
    options: AmountOptions | None = None,
) -> Path:
    """Write a report; see `SvcAccessor.report`."""
    path = Path(path)
    suffix = path.suffix.lower()
    goods = goods_of(rows, amount, options or AmountOptions(), call="report")
    if suffix in {".html", ".htm"}:
        write_page(rows, path, amount=goods, title=title, columns=columns)
    elif suffix == ".xlsx":
        require("A report as .xlsx (unlike one as .html)", "report", "xlsxwriter")
        write_report_workbook(rows, path, amount=goods, title=title, columns=columns)
    else:
        given = f"ends in {path.suffix!r}" if path.suffix else "has no suffix"
        raise ValueError(
            f"path: {path.name!r} {given}; a report is a workbook (.xlsx) or a page (.html)"
        )
    return path


def write_report_workbook(
    rows: Enriched,
    path: str | Path,
    *,
    summary: Summary | None = None,
    amount: Hashable | Goods | None = None,
    title: str | None = None,
    columns: Sequence[Hashable] | None = None,
) -> None:
    """Write an enriched frame as a workbook: Summary, Lines, Failures, Review, Sources.

    The file appears whole or not at all. On the sheet Lines the user's columns come first, then
    rate, tax, status, confidence and warnings, then the details, which are not printed. Rates are
    numbers shown as per cent, money is shown with cents, dates are dates. Lines that do not fit on
    a sheet continue on the next one (`Lines 2`).

    Args:
        rows: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        path: where to write it, `.xlsx`; an existing file is replaced.
        summary: the result of `summarize(rows)`, if you have it.
        amount: the column of amounts, or its amounts; by default the one that the tax was computed
            from.
        title: the title on the sheet Summary.
        columns: the user's columns to show; by default those that are not personal.

    Raises:
        TypeError: the columns are not a list.
        ValueError: the frame has not been looked up, has no such columns, or too many for a sheet;
            or `path` does not end in `.xlsx`.
        FileNotFoundError: the folder does not exist.
    """
    path = Path(path)
    if path.suffix.lower() != ".xlsx":
        raise ValueError(f"path: {path.name!r} must end in .xlsx")
    if len(rows.frame.columns) > xlsx.MOST_COLUMNS - 10:
        raise ValueError(
            f"a sheet holds {xlsx.MOST_COLUMNS:,} columns, the frame has"
            f" {len(rows.frame.columns):,}: leave columns out, or write it as CSV or Parquet"
        )
    facts, shown = contents_of(rows, amount=amount, title=title, columns=columns, summary=summary)
    with whole_file(path) as draft, open_book(draft, title=facts.title) as book:
        first = book.sheet("Summary")
        lines = book.table(
            "Lines",
            shown.every,
            len(rows),
            frozen_columns=1,
            printed=len(shown.main),
        )
        failed = facts.reviewed.failed
        _flagged(book, "Failures", np.flatnonzero(failed), facts, shown)
        _flagged(book, "Review", np.arange(len(failed)), facts, shown)
        _write_sources(book.sheet("Sources"), facts)
        write_summary(first, facts, _ties(rows, facts, shown, lines), shown.choice.sentence)


_REVIEW_SHOWN = (
    ("review_dollars", "review_dollars", "money", 64),
    ("review_basis", "review_basis", "indented", 64),
    ("review_place", "review_place", "plain", 64),
    ("review_group", "review_group", "row", 64),
    ("review_reasons", "review_reasons", "plain", 64),
    ("review_why", "reason", "wrapped", 50),
    ("review_to_do", "what_to_do", "wrapped", 40),
)
"""Columns of the review: name, header, kind and width."""


def _flagged(
    book: Book, name: str, listed: np.ndarray, facts: Facts, columns: ReportColumns
) -> None:
    """A sheet of rows of the review, with its columns before those of Lines."""
    review, rows = facts.review.rows.iloc[listed], facts.reviewed.positions[listed]
    lines = rows % xlsx.MOST_ROWS + FIRST_ROW
    table = [
        Column(head, review[f"{facts.prefix}{column}"], kind, widest)
        for column, head, kind, widest in _REVIEW_SHOWN
    ]
    table.append(Column("row_in_lines", pd.Series(lines, dtype="int64"), "row"))
    if facts.rows > xlsx.MOST_ROWS:
        sheets = pd.Series(rows // xlsx.MOST_ROWS + 1, dtype="int64")
        table.append(Column("lines_sheet", sheets, "row"))
    warnings = f"{facts.prefix}warnings"  # the reason has them in words
    names = {f"{facts.prefix}{end}" for end in ("tax_low", "tax_high")}
    shown = [column for column in columns.main if column.name != warnings]
    shown += [column for column in columns.details if column.name in names]
    table += [
        Column(column.name, column.data, column.kind, column.widest, rows) for column in shown
    ]
    book.table(name, table, len(rows))


class Ties(NamedTuple):
    """The sheets of the lines with their rows, and the columns of amounts and of taxes.

    `amount` is `None` where amounts are text, some cannot be read, or they count once for each
    order: no formula can sum them.
    """

    sheets: Sequence[tuple[str, int]]
    amount: str | None
    tax: str


def _ties(
    rows: Enriched, facts: Facts, columns: ReportColumns, lines: Sequence[str]
) -> Ties | None:
    """Where the amounts and the taxes are on the sheets Lines."""
    tax = columns.named(f"{facts.prefix}tax")
    goods = facts.goods
    if goods is None or goods.label is None or tax is None:
        return None
    amount = columns.named(goods.label)
    amounts = None if amount is None else columns.every[amount].data
    adds_up = (
        amounts is not None
        and not any(isinstance(value, str) for value in amounts.unique().tolist())
        and bool((goods.money.missing == amounts.isna().to_numpy()).all())
        and bool((goods.money.cents == money(rows.frame, goods.label).cents).all())
    )
    starts = range(0, len(rows), xlsx.MOST_ROWS)
    lengths = [min(xlsx.MOST_ROWS, len(rows) - start) for start in starts]
    return Ties(
        tuple(zip(lines, lengths, strict=False)),
        column_letters(amount) if amount is not None and adds_up else None,
        column_letters(tax),
    )


def write_summary(sheet: Sheet, facts: Facts, ties: Ties | None, left_out: str = "") -> None:
    """Fill `sheet`: totals, columns left out, rows to review, counts, notes, and tax by state.

    The table of states comes last: its header is repeated where it continues on another page.
    """
    summary = facts.summary
    sheet.widths(32, 24, 16, 14, 14, 18, 14, 16)
    sheet.put(0, 0, f"{facts.title}: summary", "title")
    if headline := summary.rests_on.sentence:
        sheet.paragraph(1, (0, _LAST_COLUMN), headline, lines=_lines(headline, _PER_LINE))
    row = _uses(sheet, 3, summary.by_use)
    row = _facts(sheet, row, facts, left_out)
    row = _to_review(sheet, row, facts.review.state_reasons)
    row = _official_pages(sheet, row, facts.review.state_reasons)
    if summary.money is not None:
        row = _by_confidence(sheet, row, summary)
        row = _by_level(sheet, row, facts)
        row = _due(sheet, row, facts)
        if ties is not None and ties.sheets:
            row = _tied(sheet, row, summary.money, ties)
    row = _counts(sheet, row, ("Rows by status", "Status"), summary.by_status)
    confidence = ("Rows with a result by confidence", "Confidence")
    row = _counts(sheet, row, confidence, summary.by_confidence)
    row = _counts(sheet, row, ("Rows by advisory", "Advisory"), summary.by_warning)
    if summary.failures:
        row = _failures(sheet, row, summary)
    row = _notes(sheet, row, facts.notes)
    if summary.money is not None:
        _states(sheet, row, summary, summary.money)
    sheet.on_paper(repeated_row=None if summary.money is None else row + 1)


def _uses(sheet: Sheet, row: int, parts: Sequence[Part]) -> int:
    """What the rows can be used for, if that is known."""
    if not parts:
        return row
    shown = dollars_known(parts)
    names: list[Head] = ["Use", number("Rows"), *(number(head) for head, _ in shown), "Meaning"]
    rows = [
        (part.label, part.rows, *(column[at] for _, column in shown), meaning_of(part.name))
        for at, part in enumerate(parts)
    ]
    kinds = ("plain", "count", *["money"] * len(shown), "indented")
    return _section(sheet, row, "What can be used", names, rows, kinds=kinds)


def _facts(sheet: Sheet, row: int, facts: Facts, left_out: str) -> int:
    """Write the main figures and sentences to the sheet from this row on; the next free row."""
    summary, rests = facts.summary, facts.summary.rests_on
    due = " due" if rests.of_due else ""
    shown: list[tuple[str, object, str]] = [
        ("Rows", summary.rows, "count"),
        ("Distinct places and dates", summary.places, "count"),
        ("Service", summary.service, "plain"),
        ("Rows to review", facts.review.totals.rows, "count"),
        ("Rows at the rate of another date", rests.other_date.rows, "count"),
    ]
    if summary.money is not None:
        shown += [
            ("Sales", summary.money.sales, "money"),
            ("Tax computed", summary.money.tax, "money"),
            (f"Tax{due} at rates of another date", rests.other_date.tax, "money"),
            ("Sales with no tax", summary.money.untaxed_sales + summary.money.open_sales, "money"),
        ]
        if summary.money.partial_tax:
            besides = ("Tax from partial rates, besides", summary.money.partial_tax, "money")
            shown.insert(-1, besides)
    shown += [(name, value, "money") for name, value in facts.figures]
    for name, value, kind in shown:
        sheet.put(row, 0, name)
        sheet.put(row, 1, "not recorded" if value is None else value, kind)
        row += 1
    made = facts.review
    review = (made.sentence, made.expected_sentence, made.not_due_sentence)
    shares = shares_sentence(summary.on_shares)
    for text in (stake_sentence(facts), *review, shares, summary.unknown_warnings, left_out):
        if text:
            sheet.paragraph(row, (0, _LAST_COLUMN), text, lines=_lines(text, _PER_LINE))
            row += 1
    return row + 1


def _to_review(sheet: Sheet, row: int, groups: Sequence[StateReason]) -> int:
    """Write the groups of rows to review to the sheet from this row on; the next free row."""
    if not groups:
        return row
    names = ("State", "Reason", number("Rows"), number("Dollars"), "What to do, and where")
    row = _header(sheet, row, "Rows to review by state and reason", names)
    for group in groups[:_MOST_GROUPS]:
        cells = (group.state or "not known", group.reason, group.rows, group.dollars)
        _put_row(sheet, row, cells, ("plain", "plain", "count", "money"))
        lines = _lines(group.advice, _PER_ADVICE)
        sheet.paragraph(row, (4, _LAST_COLUMN), group.advice, lines=lines)
        row += 1
    rest = groups[_MOST_GROUPS:]
    if rest:
        rows = counted(sum(group.rows for group in rest), "row")
        sheet.put(row, 0, f"and {rows} in {len(rest):,} more groups: see the sheet Review")
        row += 1
    return row + 1


def _official_pages(sheet: Sheet, row: int, groups: Sequence[StateReason]) -> int:
    """Link the states' official pages that the groups name; the next free row."""
    pages = official_pages_of(groups)
    if not pages:
        return row
    row = _header(sheet, row, "Where to look up single addresses", ("State", "Official page"))
    for state, page in pages.items():
        sheet.put(row, 0, state)
        sheet.link(row, 1, capital(page.other or page.lookup), page.url)
        row += 1
    return row + 1


def _by_confidence(sheet: Sheet, row: int, summary: Summary) -> int:
    names = ("Confidence of the rate", number("Rows"), number("Sales, whole rate"), number("Tax"))
    rows = [
        (part.confidence, part.rows, part.sales, part.tax) for part in summary.tax_by_confidence
    ]
    kinds = ("plain", "count", "money", "money")
    return _section(sheet, row, "Tax by confidence, US dollars", names, rows, kinds=kinds)


def _by_level(sheet: Sheet, row: int, facts: Facts) -> int:
    if not facts.levels:
        return row
    names = ("Level", number("Tax"))
    return _section(
        sheet, row, "Tax by level, US dollars", names, facts.levels, kinds=("plain", "money")
    )


def _due(sheet: Sheet, row: int, facts: Facts) -> int:
    if facts.due is None:
        return row
    names = ("", number("Rows"), number("Tax"), "Meaning")
    rows = [
        ("due", facts.due.rows, facts.due.tax, meaning_of("due")),
        *(
            (f"not due: {reason}", count, tax, meaning_of(reason))
            for reason, count, tax in facts.due.not_due
        ),
    ]
    kinds = ("plain", "count", "money", "indented")
    return _section(sheet, row, "Tax that the seller owes, US dollars", names, rows, kinds=kinds)


def _tied(sheet: Sheet, row: int, money: Totals, ties: Ties) -> int:
    """The totals again, summed from the lines by the spreadsheet itself."""
    names = (
        "Added up again by this file",
        number(),
        number("Sheet Lines"),
        number("Summary"),
        number("Difference"),
    )
    row = _header(sheet, row, "The totals tie to the lines", names)
    totals = [("Tax, partial rates included", ties.tax, money.tax + money.partial_tax)]
    if ties.amount is not None:
        totals.insert(0, ("Sales", ties.amount, money.sales))
    for name, column, total in totals:
        cells = ",".join(f"'{title}'!{column}2:{column}{rows + 1}" for title, rows in ties.sheets)
        sheet.put(row, 0, name)
        sheet.formula(row, 2, f"=ROUND(SUM({cells}),2)", total, "money")
        sheet.put(row, 3, total, "money")
        sheet.formula(row, 4, f"=ROUND(C{row + 1}-D{row + 1},2)", 0, "money")
        row += 1
    return row + 1


def _counts(sheet: Sheet, row: int, titles: tuple[str, str], counts: Sequence[Count]) -> int:
    """A section of counts, if any; `titles` are its title and the header of its first column."""
    if not counts:
        return row
    rows = [(count.name, count.rows, meaning_of(count.name)) for count in counts]
    names = (titles[1], number("Rows"), "Meaning")
    return _section(sheet, row, titles[0], names, rows, kinds=("plain", "count", "indented"))


def _failures(sheet: Sheet, row: int, summary: Summary) -> int:
    row = _header(sheet, row, "Why rows have no rate", ("Status", number("Rows"), "Reason"))
    for failure in summary.failures:
        _put_row(sheet, row, (failure.status, failure.rows), ("plain", "count"))
        text = (2, _LAST_COLUMN)
        sheet.paragraph(row, text, failure.reason, lines=_lines(failure.reason, _PER_REASON))
        row += 1
    if summary.other_failures:
        sheet.put(row, 1, summary.other_failures, "count")
        sheet.put(row, 2, "other reasons: see the sheet Failures", "indented")
        row += 1
    return row + 1


def _notes(sheet: Sheet, row: int, notes: Sequence[str]) -> int:
    row = _header(sheet, row, "What these rates are and are not", ()) - 1
    for note in notes:
        text = f"\u2022 {note}"
        sheet.paragraph(row, (0, _LAST_COLUMN), text, lines=_lines(text, _PER_LINE))
        row += 1
    return row + 1


_STATE_HEADERS = (
    "State",
    number("Rows"),
    number("Sales, whole rate"),
    number("Tax"),
    number("Partial rows"),
    number("Sales, partial rate"),
    number("Other rows, no tax"),
    number("Their sales"),
)


def _states(sheet: Sheet, row: int, summary: Summary, money: Totals) -> None:
    row = _header(sheet, row, "Tax by state, US dollars", _STATE_HEADERS)
    for state in summary.states:
        _totals(sheet, row, state.state or "not known", state.totals, ("plain", "count", "money"))
        row += 1
    _totals(sheet, row, "Total", money, ("strong", "strong_count", "strong_money"))
    row += 1
    if money.partial_tax:
        sheet.put(
            row,
            0,
            f"Besides, {money.partial_tax:,.2f} of tax was computed from partial rates, as"
            " requested: a lower bound, in no figure above.",
        )


def _totals(sheet: Sheet, row: int, name: str, totals: Totals, kinds: tuple[str, str, str]) -> None:
    """One line of the table; cells for which a state has no rows stay empty."""
    text, count, money = kinds
    partial, missing, whole = totals.partial_rows, totals.open_rows, totals.whole_rows
    cells = (
        name,
        totals.rows,
        totals.taxed_sales if whole else None,
        totals.tax if whole else None,
        partial or None,
        totals.untaxed_sales if partial else None,
        missing or None,
        totals.open_sales if missing else None,
    )
    _put_row(sheet, row, cells, (text, count, money, money, count, money, count, money))


def _write_sources(sheet: Sheet, facts: Facts) -> None:
    """Fill `sheet`: sources, the lookup, the terms of the tax, columns and codes in words."""
    sheet.widths(30, 26, 10, 16, 42, 44)
    sheet.put(0, 0, "Sources and terms", "title")
    names = ("Edition", "", number("Rows"), number("Tax"), "Source")
    rows = [
        (source.edition, None, source.rows, source.tax, source.source)
        for source in facts.summary.sources
    ]
    kinds = ("plain", "plain", "count", "money", "indented")
    row = _section(
        sheet, 2, "Sources of the rates", names, rows, kinds=kinds, last=_LAST_SOURCE_COLUMN
    )
    row = _texts(sheet, row, "How the rates were looked up", facts.lookup)
    if facts.terms:
        row = _texts(sheet, row, "How the tax was computed", facts.terms)
    row = _codes(sheet, row, facts)
    _texts(sheet, row, "The columns that were added to the lines", facts.columns)
    sheet.on_paper(repeated_row=None)


def _texts(sheet: Sheet, row: int, title: str, texts: Sequence[tuple[str, str]]) -> int:
    row = _header(sheet, row, title, (), _LAST_SOURCE_COLUMN)
    for name, text in texts:
        sheet.put(row, 0, name)
        lines = _lines(text, _PER_TEXT)
        sheet.paragraph(row, (1, _LAST_SOURCE_COLUMN), text, lines=lines)
        row += 1
    return row + 1


def _codes(sheet: Sheet, row: int, facts: Facts) -> int:
    names = ("Code", "Column", number("Rows"), "Meaning", "", "What to do")
    row = _header(sheet, row, "The codes that occur in the lines", names, _LAST_SOURCE_COLUMN)
    for code in facts.codes:
        _put_row(sheet, row, (code.code, code.column, code.rows), ("plain", "plain", "count"))
        lines = max(_lines(code.meaning, _PER_MEANING), _lines(code.to_do, _PER_SOURCE_ADVICE))
        sheet.paragraph(row, (3, 4), code.meaning, lines=lines)
        sheet.put(row, 5, code.to_do, "wrapped")
        row += 1
    return row + 1


def _header(
    sheet: Sheet, row: int, title: str, names: Sequence[Head], last: int = _LAST_COLUMN
) -> int:
    """A section's title and its header row."""
    sheet.put(row, 0, title, "section")
    heads = as_columns(names)
    for column in range(last + 1):
        head = heads[column] if column < len(heads) else display.TableColumn("")
        # on the sheet Sources only these are above indented texts
        indented = column > 0 if last == _LAST_COLUMN else head.head in {"Source", "Meaning"}
        left = "header_indented" if indented else "header"
        look = "header_right" if head.kind == "number" else left
        sheet.put(row + 1, column, head.head or " ", look)
    return row + 2


def _section(
    sheet: Sheet,
    row: int,
    title: str,
    names: Sequence[Head],
    rows: Iterable[Sequence[object]],
    *,
    kinds: Sequence[str],
    last: int = _LAST_COLUMN,
) -> int:
    """A section of rows, each cell shown by the kind of its column; the row for the next one."""
    row = _header(sheet, row, title, names, last)
    for cells in rows:
        _put_row(sheet, row, cells, kinds)
        row += 1
    return row + 1


def _put_row(sheet: Sheet, row: int, cells: Sequence[object], kinds: Sequence[str]) -> None:
    for column, (value, kind) in enumerate(zip(cells, kinds, strict=True)):
        sheet.put(row, column, value, kind)


def _lines(text: str, per_line: int) -> int:
    """The lines that a wrapped text takes: merged cells do not grow by themselves."""
    return max(1, len(wrap(text, per_line)))
