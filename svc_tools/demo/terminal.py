"""A `Summary` on the terminal: tables that read well at 80 columns, piped and without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from svc_tools.frames.rate_notes import RATE_NOTE_SHORT
from svc_tools.frames.summary_words import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from rich.console import Console

    from svc_tools.frames.summary import ConfidenceTax, Count, StateTotals, Summary, Totals

__all__ = ["render"]

_MOST_STATES = 12
_MOST_REASONS = 6


def render(summary: Summary, console: Console) -> None:
    """Print a summary: rows by status and confidence, tax by state, reasons, and the notes.

    Meaning is in words alone, so nothing is lost without colour. Text from data is printed as it
    is, never read as markup.
    """
    _line(console, _headline(summary))
    _counts(console, "Rows by status", "Status", summary.by_status)
    _counts(console, "Answered rows by confidence", "Confidence", summary.by_confidence)
    if summary.by_warning:
        _counts(console, "Advisories in the answers", "Advisory", summary.by_warning)
    if summary.money is not None:
        _taxed(console, summary.states, summary.money)
        _by_confidence(console, summary.tax_by_confidence)
        _untaxed(console, summary.states, summary.money)
    if summary.failures:
        _failures(console, summary)
    _line(console, RATE_NOTE_SHORT)
    _line(console, _partial_note(summary))


def _headline(summary: Summary) -> str:
    places = "" if summary.places is None else f", {summary.places:,} distinct places asked"
    service = "" if summary.service is None else f" of: {summary.service}"
    return f"{summary.rows:,} rows{places}{service}"


def _partial_note(summary: Summary) -> str:
    rows = summary.status_rows("partial")
    if not rows:
        return "No rate here is known to lack a part."
    return (
        f"Partial: {rows:,} of {summary.rows:,} rows. Their local or district rates are not"
        " covered, so what is known is a lower bound and no whole tax is computed from it."
    )


def _counts(console: Console, title: str, header: str, counts: Sequence[Count]) -> None:
    table = _table(header, ">Rows", "Meaning")
    for count in counts:
        table.add_row(Text(count.name), f"{count.rows:,}", Text(MEANINGS.get(count.name, "")))
    _section(console, title, table)


def _taxed(console: Console, states: Sequence[StateTotals], money: Totals) -> None:
    """The whole rates' tax, the largest first."""
    shown = sorted(
        (state for state in states if state.totals.whole_rows),
        key=lambda state: (-state.totals.tax, state.state),
    )
    table = _table("State", ">Rows", ">Sales", ">Tax")
    for state in shown[:_MOST_STATES]:
        totals = state.totals
        cells = (f"{totals.whole_rows:,}", _dollars(totals.taxed_sales), _dollars(totals.tax))
        table.add_row(state.state or "not known", *cells)
    rest = [state.totals for state in shown[_MOST_STATES:]]
    if rest:
        table.add_row(
            f"{len(rest)} more",
            f"{sum(totals.whole_rows for totals in rest):,}",
            _dollars(sum(totals.taxed_sales for totals in rest)),
            _dollars(sum(totals.tax for totals in rest)),
        )
    table.add_section()
    table.add_row(
        "Total", f"{money.whole_rows:,}", _dollars(money.taxed_sales), _dollars(money.tax)
    )
    _section(console, "Tax by state, US dollars (whole rates only)", table)
    if money.partial_tax:
        _line(
            console,
            f"Besides, {_dollars(money.partial_tax)} of tax from partial rates, as asked: a lower"
            " bound, in no figure above.",
        )


def _by_confidence(console: Console, parts: Sequence[ConfidenceTax]) -> None:
    """How sure the tax is: a tax from a doubtful rate must not look like any other."""
    table = _table("Confidence of the rate", ">Rows", ">Sales", ">Tax")
    for part in parts:
        table.add_row(part.confidence, f"{part.rows:,}", _dollars(part.sales), _dollars(part.tax))
    if parts:
        _section(console, "The same tax by confidence", table)


def _untaxed(console: Console, states: Sequence[StateTotals], money: Totals) -> None:
    """What is at stake: sales for which no tax was computed, the largest first."""
    if not (money.partial_rows or money.open_rows):
        return
    shown = sorted(
        (state for state in states if state.totals.partial_rows or state.totals.open_rows),
        key=lambda state: (-_at_stake(state.totals), state.state),
    )
    table = _table("State", ">Partial rows", ">Their sales", ">No-rate rows", ">Their sales")
    for state in shown[:_MOST_STATES]:
        table.add_row(state.state or "not known", *_stakes([state.totals]))
    rest = [state.totals for state in shown[_MOST_STATES:]]
    if rest:
        table.add_row(f"{len(rest)} more", *_stakes(rest))
    table.add_section()
    table.add_row("Total", *_stakes([money]))
    _section(console, "Sales without a tax, US dollars", table)


def _at_stake(totals: Totals) -> Decimal:
    return totals.untaxed_sales + totals.open_sales


def _stakes(parts: Sequence[Totals]) -> tuple[str, str, str, str]:
    """Rows and sales, partial and open; empty where there are no such rows."""
    partial = sum(totals.partial_rows for totals in parts)
    without = sum(totals.open_rows for totals in parts)
    return (
        f"{partial:,}" if partial else "",
        _dollars(sum(totals.untaxed_sales for totals in parts)) if partial else "",
        f"{without:,}" if without else "",
        _dollars(sum(totals.open_sales for totals in parts)) if without else "",
    )


def _failures(console: Console, summary: Summary) -> None:
    table = _table("Status", ">Rows", "Reason")
    for failure in summary.failures[:_MOST_REASONS]:
        table.add_row(Text(failure.status), f"{failure.rows:,}", Text(failure.reason))
    rest = summary.failures[_MOST_REASONS:]
    others = sum(failure.rows for failure in rest) + summary.other_failures
    if others:
        table.add_row("", f"{others:,}", "other reasons")
    _section(console, "Why rows have no rate", table)


def _table(*headers: str) -> Table:
    """An empty table; a header with a leading `>` makes a column of numbers."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        right = header.startswith(">")
        table.add_column(
            header.lstrip(">"),
            justify="right" if right else "left",
            no_wrap=right or header in {"State", "Status"},
            overflow="fold",
        )
    return table


def _section(console: Console, title: str, table: Table) -> None:
    console.print(Text(title, "bold"))
    console.print(table)
    console.print()


def _line(console: Console, text: str) -> None:
    console.print(Text(text))
    console.print()


def _dollars(value: Decimal | int) -> str:
    return f"{value:,.2f}"
