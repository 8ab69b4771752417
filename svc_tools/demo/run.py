"""The demo's run: order lines to a summary on the terminal, an enriched CSV, a workbook and a map.

The tables of the summary fit 80 columns, and read well when piped or without color.
"""

from __future__ import annotations

import warnings
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from svc_tools.base.atomic import whole_file
from svc_tools.base.extras import require
from svc_tools.frames import SvcAccessor
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.reports.report import write_report_workbook
from svc_tools.frames.review.aggregates import shares_sentence
from svc_tools.frames.review.review import state_reason_table
from svc_tools.frames.review.split import parts_sentence, parts_table
from svc_tools.frames.review.summary import RATE_NOTE_SHORT, summarize
from svc_tools.show.codes import meaning_of
from svc_tools.show.display import (
    number,
    places_and_dates,
    print_line,
    print_table,
    print_text,
    prose,
)
from svc_tools.tables.statuses import Status
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from decimal import Decimal
    from pathlib import Path

    from rich.console import Console

    from svc_sdk import Svc
    from svc_tools.frames.review.aggregates import ConfidenceTax, Count, StateTotals
    from svc_tools.frames.review.review import Review
    from svc_tools.frames.review.summary import Summary
    from svc_tools.frames.values.money import Totals
    from svc_tools.show.display import Head

_FILES = ("enriched.csv", "orders.xlsx", "tax_map.png")

_MOST_STATES = 12
_MOST_REASONS = 6
_MOST_GROUPS = 15


def orders() -> pd.DataFrame:
    """The demo's order lines: about 2,400 rows, 860 orders, every state, as messy as an export.

    Everything is read as text first: a ZIP Code read as a number loses its leading zero (02134) and
    its dash, and an amount read as a float is no longer exact. Dates, counts and amounts are then
    converted by name. Other cells are unchanged: normalizing them is the lookup's work.
    """
    source = resources.files("svc_tools.demo") / "orders.csv"
    with source.open("rb") as file:
        frame = pd.read_csv(file, dtype=text_dtype())
    frame["order_date"] = pd.to_datetime(frame["order_date"], format="%Y-%m-%d")
    frame["quantity"] = frame["quantity"].astype("Int64")
    for name in ("unit_price", "amount"):
        text = frame[name].astype(pd.ArrowDtype(pa.string()))
        frame[name] = text.astype(pd.ArrowDtype(pa.decimal128(18, 2)))
    return frame


def run_demo(
    output_dir: Path,
    *,
    client: Svc | None = None,
    console: Console | None = None,
    progress: bool = True,
) -> int:
    """Look the demo's orders up, compute their tax, print a summary and write three files.

    Existing files are not replaced: the new ones get a number (`orders-2.xlsx`). Where the run
    ended early, they have the results so far, and names that say so (`orders-incomplete.xlsx`).

    Args:
        output_dir: the folder for `enriched.csv`, `orders.xlsx` and `tax_map.png`; created if
            missing.
        client: the service; by default the configured one, else the embedded one.
        console: where to print; by default the standard output.
        progress: show what was decided about the columns, and a progress bar.

    Returns:
        0, or 1 where lookups failed or were not attempted: the files then have the results so far,
        and the summary says what is missing.

    Raises:
        ImportError: the extra `report` is not installed.
        NotADirectoryError: `output_dir` is a file.
        OSError: a file cannot be written.
    """
    from rich.console import Console  # noqa: PLC0415  # only where none is given

    require("The demo", "report", "xlsxwriter", "matplotlib")  # before the work, not after it
    console = console or Console()
    if output_dir.exists() and not output_dir.is_dir():
        raise NotADirectoryError(
            f"output: {output_dir} is a file; name a folder for the demo's files"
        )
    output_dir.mkdir(parents=True, exist_ok=True)
    frame = _looked_up(client, progress=progress)
    frame = SvcAccessor(frame).tax(amount="amount", progress=progress)
    rows = Enriched(frame)
    summary = summarize(rows)
    render(summary, console)
    stopped = frame.attrs["svc"]["lookups"][""]["stopped"]
    paths = _free_paths(output_dir, "-incomplete" if stopped else "")
    table, workbook, picture = paths
    with whole_file(table) as draft:
        frame.to_csv(draft, index=False, lineterminator="\n")
    write_report_workbook(rows, workbook, summary=summary)
    tax_map = SvcAccessor(frame).plot.tax_map()
    with whole_file(picture) as draft:
        described = {"Description": tax_map.get_label()}
        tax_map.savefig(draft, format="png", dpi=150, metadata=described)
    print_text(console, "Files written:")
    for path in paths:
        print_line(console, f"  {path}")
    if stopped:
        print_text(console)
        print_text(console, (_ended_early(summary, stopped), "bold"))
    return 1 if any(Status.of(group.name).again for group in summary.by_status) else 0


def _looked_up(client: Svc | None, *, progress: bool) -> pd.DataFrame:
    with warnings.catch_warnings():
        # reported at the end, with the number of rows
        warnings.filterwarnings("ignore", "The lookup ended early", UserWarning)
        return SvcAccessor(orders()).lookup(client=client, progress=progress)


def _ended_early(summary: Summary, cause: str) -> str:
    start = "Interrupted" if cause == "interrupted" else f"Ended early ({cause})"
    missing = sum(group.rows for group in summary.by_status if Status.of(group.name).left)
    return f"{start}: {missing:,} of {summary.rows:,} rows not attempted."


def _free_paths(folder: Path, mark: str) -> tuple[Path, ...]:
    """Where to write: the three names, with the first number that keeps them all free."""
    marks = (mark if number == 1 else f"{mark}-{number}" for number in count(1))
    candidates = (
        tuple(folder / name.replace(".", f"{mark}.") for name in _FILES) for mark in marks
    )
    return next(paths for paths in candidates if not any(path.exists() for path in paths))


def render(summary: Summary, console: Console) -> None:
    """Print a summary: what can be used, tax by state, reasons, what to review, and the notes.

    All meaning is in words, so nothing is lost without color. Text from data is never read as
    markup.
    """
    print_text(console, _headline(summary))
    _paragraph(console, parts_sentence(summary.by_use))
    uses = parts_table(summary.by_use, "What can be used")
    _section(console, uses.caption, uses.columns, uses.rows)
    _counts(console, "Rows by status", "Status", summary.by_status)
    _counts(console, "Rows with a result by confidence", "Confidence", summary.by_confidence)
    _counts(console, "Advisories in the results", "Advisory", summary.by_warning)
    if summary.money is not None:
        _taxed(console, summary.states, summary.money)
        _by_confidence(console, summary.tax_by_confidence)
        _untaxed(console, summary.states, summary.money)
    if summary.failures:
        _failures(console, summary)
    if summary.review.totals.rows:
        _to_review(console, summary.review)
    review = summary.review
    texts = (review.expected_sentence, review.not_due_sentence, summary.unknown_warnings)
    rests = (shares_sentence(summary.on_shares), summary.rests_on.sentence)
    for text in (*texts, *rests, RATE_NOTE_SHORT):
        if text:
            _paragraph(console, text)


def _headline(summary: Summary) -> str:
    places = "" if summary.places is None else f", {places_and_dates(summary.places)} looked up"
    service = "" if summary.service is None else f", service: {summary.service}"
    return f"{summary.rows:,} rows{places}{service}"


def _counts(console: Console, title: str, head: str, counts: Sequence[Count]) -> None:
    rows = [(count.name, f"{count.rows:,}", meaning_of(count.name)) for count in counts]
    if rows:
        _section(console, title, (head, number("Rows"), prose("Meaning")), rows)


def _taxed(console: Console, states: Sequence[StateTotals], money: Totals) -> None:
    """The whole rates' tax, the largest first."""
    whole = [state for state in states if state.totals.whole_rows]
    rows = _by_state(whole, lambda totals: totals.tax, _tax)
    _section(
        console,
        "Tax by state, US dollars (whole rates only)",
        ("State", number("Rows"), number("Sales"), number("Tax")),
        rows,
        total=("Total", *_tax([money])),
    )
    if money.partial_tax:
        _paragraph(
            console,
            f"Besides, {_dollars(money.partial_tax)} of tax from partial rates, as requested: a"
            " lower bound, in no figure above.",
        )


def _tax(parts: Sequence[Totals]) -> tuple[str, str, str]:
    """Whole rows, their sales and their tax."""
    return (
        f"{sum(totals.whole_rows for totals in parts):,}",
        _dollars(sum(totals.taxed_sales for totals in parts)),
        _dollars(sum(totals.tax for totals in parts)),
    )


def _by_confidence(console: Console, parts: Sequence[ConfidenceTax]) -> None:
    """The tax by confidence: a tax from a doubtful rate must not look like any other."""
    rows = [
        (part.confidence, f"{part.rows:,}", _dollars(part.sales), _dollars(part.tax))
        for part in parts
    ]
    if rows:
        heads = ("Confidence", number("Rows"), number("Sales"), number("Tax"))
        _section(console, "The same tax by confidence of the rate", heads, rows)


def _untaxed(console: Console, states: Sequence[StateTotals], money: Totals) -> None:
    """Sales for which no tax was computed, by state, the largest first."""
    if not (money.partial_rows or money.open_rows):
        return
    rows = _by_state(
        [state for state in states if state.totals.partial_rows or state.totals.open_rows],
        lambda totals: totals.untaxed_sales + totals.open_sales,
        _stakes,
    )
    _section(
        console,
        "Sales without a tax, US dollars",
        ("State", number("Partial"), number("Sales"), number("No rate"), number("Sales")),
        rows,
        total=("Total", *_stakes([money])),
    )


def _by_state(
    states: Sequence[StateTotals],
    size: Callable[[Totals], Decimal],
    cells: Callable[[Sequence[Totals]], tuple[str, ...]],
) -> list[tuple[str, ...]]:
    """A row for each of the largest states, and one for the rest."""
    ordered = sorted(states, key=lambda state: (-size(state.totals), state.state))
    rows = [
        (state.state or "not known", *cells([state.totals])) for state in ordered[:_MOST_STATES]
    ]
    rest = [state.totals for state in ordered[_MOST_STATES:]]
    if rest:
        rows.append((f"{len(rest)} more", *cells(rest)))
    return rows


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
    rows = [
        (failure.status, f"{failure.rows:,}", failure.reason)
        for failure in summary.failures[:_MOST_REASONS]
    ]
    rest = summary.failures[_MOST_REASONS:]
    others = sum(failure.rows for failure in rest) + summary.other_failures
    if others:
        rows.append(("", f"{others:,}", "other reasons"))
    _section(console, "Why rows have no rate", ("Status", number("Rows"), prose("Reason")), rows)


def _to_review(console: Console, review: Review) -> None:
    totals = review.totals
    title = f"Rows to review by state and reason: {totals.rows:,} of {totals.frame_rows:,}"
    table = state_reason_table(title, review.state_reasons, _MOST_GROUPS)
    _section(console, table.caption, table.columns, table.rows)
    if table.more:
        _paragraph(console, table.more)
    _paragraph(console, review.sentence)


def _section(
    console: Console,
    title: str,
    heads: Sequence[Head],
    rows: Iterable[Sequence[str]],
    total: Sequence[str] | None = None,
) -> None:
    print_text(console, (title, "bold"))
    print_table(console, heads, rows, total=total)
    print_text(console)


def _paragraph(console: Console, text: str) -> None:
    print_text(console, text)
    print_text(console)


def _dollars(value: Decimal | int) -> str:
    return f"{value:,.2f}"
