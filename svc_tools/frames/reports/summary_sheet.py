"""The Summary sheet of the workbook: a `Summary` laid out for reading and for print."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.reports.report_facts import stake_sentence
from svc_tools.frames.summary import other_date_sentence
from svc_tools.frames.what_to_do import meaning_of
from svc_tools.lookup.review import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.frames.attention import Group
    from svc_tools.frames.reports.book import Sheet
    from svc_tools.frames.reports.report_facts import Facts
    from svc_tools.frames.summary import Count, Summary
    from svc_tools.frames.totals import Totals

__all__ = ["Ties", "write_summary"]

_LAST_COLUMN = 7
_PER_LINE, _PER_REASON, _PER_ADVICE = 158, 106, 58
"""Characters of a line: over all columns, from the third, from the sixth."""


class Ties(NamedTuple):
    """Where the lines stand: the sheets with their rows, the columns of amounts and of taxes.

    `amount` is `None` where amounts are text, or some cannot be read: nothing adds them up then.
    """

    sheets: Sequence[tuple[str, int]]
    amount: str | None
    tax: str


def write_summary(sheet: Sheet, facts: Facts, ties: Ties | None) -> None:
    """Fill `sheet`: facts, what needs a person, counts, notes, and tax by state.

    The table of states comes last: where it goes on on another page, its header does too.
    """
    summary = facts.summary
    sheet.widths(32, 12, 16, 14, 14, 18, 14, 16)
    sheet.put(0, 0, f"{facts.title}: summary", "title")
    row = _facts(sheet, 2, facts)
    for failed, title in _ATTENTION.items():
        groups = [group for group in summary.attention if group.failed == failed]
        if groups:
            row = _attention(sheet, row, title, groups)
    if summary.money is not None:
        row = _by_confidence(sheet, row, summary)
        row = _by_level(sheet, row, facts)
        row = _due(sheet, row, facts)
        if ties is not None and ties.sheets:
            row = _tied(sheet, row, summary.money, ties)
    row = _counts(sheet, row, ("Rows by status", "Status"), summary.by_status)
    confidence = ("Answered rows by confidence", "Confidence")
    row = _counts(sheet, row, confidence, summary.by_confidence)
    if summary.by_warning:
        row = _counts(sheet, row, ("Rows by advisory", "Advisory"), summary.by_warning)
    if summary.failures:
        row = _failures(sheet, row, summary)
    row = _notes(sheet, row, facts.notes)
    if summary.money is not None:
        _states(sheet, row, summary, summary.money)
    sheet.on_paper(repeated_row=None if summary.money is None else row + 1)


def _facts(sheet: Sheet, row: int, facts: Facts) -> int:
    summary = facts.summary
    shown: list[tuple[str, object, str]] = [
        ("Rows", summary.rows, "count"),
        ("Distinct places asked", summary.places, "count"),
        ("Service", summary.service, "plain"),
        ("Rows that need a person", summary.attention_rows, "count"),
        ("Rows rated for another date", summary.other_date.rows, "count"),
    ]
    if summary.money is not None:
        shown += [
            ("Sales", summary.money.sales, "money"),
            ("Tax computed", summary.money.tax, "money"),
            ("Tax at rates of another date", summary.other_date.tax, "money"),
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
    for said in (other_date_sentence(summary), stake_sentence(facts), facts.review.sentence):
        if said is not None:
            sheet.paragraph(row, (0, _LAST_COLUMN), said, lines=_lines(said, _PER_LINE))
            row += 1
    return row + 1


_ATTENTION = {
    True: "Rows without a tax or a whole rate, in the order of the sheet Failures",
    False: "Rows whose rate or tax is in doubt (with the others on the sheet Review, by dollars)",
}


def _attention(sheet: Sheet, row: int, title: str, groups: Sequence[Group]) -> int:
    names = ("Group", ">Rows", ">Sales", ">Tax", ">At stake", "What to do")
    row = _header(sheet, row, title, names)
    for group in groups:
        sheet.put(row, 0, group.kind)
        sheet.put(row, 1, group.rows, "count")
        sheet.put(row, 2, group.sales, "money")
        sheet.put(row, 3, group.tax, "money")
        sheet.put(row, 4, group.at_stake or None, "money")
        text = (5, _LAST_COLUMN)
        sheet.paragraph(row, text, group.to_do, lines=_lines(group.to_do, _PER_ADVICE))
        row += 1
    return row + 1


def _by_level(sheet: Sheet, row: int, facts: Facts) -> int:
    if not facts.levels:
        return row
    row = _header(sheet, row, "Tax by level, US dollars", ("Level", ">Tax"))
    for name, tax in facts.levels:
        sheet.put(row, 0, name)
        sheet.put(row, 1, tax, "money")
        row += 1
    return row + 1


def _due(sheet: Sheet, row: int, facts: Facts) -> int:
    if facts.due is None:
        return row
    names = ("", ">Rows", ">Tax", "Meaning")
    row = _header(sheet, row, "Tax that the seller owes, US dollars", names)
    lines = [("due", facts.due.rows, facts.due.tax), *facts.due.not_due]
    for reason, rows, tax in lines:
        sheet.put(row, 0, reason if reason == "due" else f"not due: {reason}")
        sheet.put(row, 1, rows, "count")
        sheet.put(row, 2, tax, "money")
        sheet.put(row, 3, meaning_of(reason), "indented")
        row += 1
    return row + 1


def _tied(sheet: Sheet, row: int, money: Totals, ties: Ties) -> int:
    """The totals once more, added up by the spreadsheet itself from its own lines."""
    names = ("Added up again by this file", ">", ">Sheet Lines", ">Summary", ">Difference")
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


def _header(sheet: Sheet, row: int, title: str, names: Sequence[str]) -> int:
    """A section's title and its header row (names with a leading `>` stand right)."""
    sheet.put(row, 0, title, "section")
    for column in range(_LAST_COLUMN + 1):
        name = names[column] if column < len(names) else " "
        look = "header_right" if ">" in name else "header_indented" if column else "header"
        sheet.put(row + 1, column, name.lstrip(">") or " ", look)
    return row + 2


def _counts(sheet: Sheet, row: int, titles: tuple[str, str], counts: Sequence[Count]) -> int:
    """A section of counts: its title, the header of the first column, one line per count."""
    row = _header(sheet, row, titles[0], (titles[1], ">Rows", "Meaning"))
    for count in counts:
        sheet.put(row, 0, count.name)
        sheet.put(row, 1, count.rows, "count")
        sheet.put(row, 2, MEANINGS.get(count.name), "indented")
        row += 1
    return row + 1


def _by_confidence(sheet: Sheet, row: int, summary: Summary) -> int:
    names = ("Confidence of the rate", ">Rows", ">Sales, whole rate", ">Tax")
    row = _header(sheet, row, "Tax by confidence, US dollars", names)
    for part in summary.tax_by_confidence:
        sheet.put(row, 0, part.confidence)
        sheet.put(row, 1, part.rows, "count")
        sheet.put(row, 2, part.sales, "money")
        sheet.put(row, 3, part.tax, "money")
        row += 1
    return row + 1


_STATE_HEADERS = (
    "State",
    ">Rows",
    ">Sales, whole rate",
    ">Tax",
    ">Partial rows",
    ">Sales, partial rate",
    ">Other rows, no tax",
    ">Their sales",
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
            f"Besides, {money.partial_tax:,.2f} of tax was computed from partial rates, as asked:"
            " a lower bound, in no figure above.",
        )


def _totals(sheet: Sheet, row: int, name: str, totals: Totals, kinds: tuple[str, str, str]) -> None:
    """One line of the table; what a state has no rows of stays empty."""
    text, count, money = kinds
    partial, missing, whole = totals.partial_rows, totals.open_rows, totals.whole_rows
    sheet.put(row, 0, name, text)
    cells = (
        (totals.rows, count),
        (totals.taxed_sales if whole else None, money),
        (totals.tax if whole else None, money),
        (partial or None, count),
        (totals.untaxed_sales if partial else None, money),
        (missing or None, count),
        (totals.open_sales if missing else None, money),
    )
    for column, (value, kind) in enumerate(cells, start=1):
        sheet.put(row, column, value, kind)


def _failures(sheet: Sheet, row: int, summary: Summary) -> int:
    row = _header(sheet, row, "Why rows have no rate", ("Status", ">Rows", "Reason"))
    for failure in summary.failures:
        sheet.put(row, 0, failure.status)
        sheet.put(row, 1, failure.rows, "count")
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


def _lines(text: str, per_line: int) -> int:
    """How many lines a wrapped text takes: merged cells do not grow by themselves."""
    return max(1, len(wrap(text, per_line)))
