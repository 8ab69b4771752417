"""A report as one page for the browser: it holds all it needs, asks no network, runs no script."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.atomic import whole_file
from svc_tools.display import exact_dollars
from svc_tools.frames.reports.report_columns import ReportColumns
from svc_tools.frames.reports.report_facts import facts_of, stake_sentence
from svc_tools.frames.reports.report_lines import failed_table, lines_table, review_table
from svc_tools.frames.reports.report_map import svg_map
from svc_tools.frames.reports.report_markup import Markup, Right, joined, table, tag
from svc_tools.frames.reports.report_style import STYLE
from svc_tools.frames.summary import other_date_sentence
from svc_tools.frames.what_to_do import meaning_of
from svc_tools.lookup.review import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from pathlib import Path

    import pandas as pd

    from svc_tools.frames.reports.report_facts import Facts

__all__ = ["write_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(
    frame: pd.DataFrame,
    path: Path,
    *,
    amount: Hashable | None = None,
    title: str | None = None,
    prefix: str = "",
) -> None:
    """Write an enriched frame's report as one HTML file, whole or not at all.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        path: where to write it; an existing file is replaced.
        amount: the column of amounts; by default the one that the tax was computed from.
        title: the report's title.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up, or has no such amounts.
        FileNotFoundError: the folder does not exist.
    """
    facts = facts_of(frame, amount=amount, title=title, prefix=prefix)
    columns = ReportColumns.of(frame, facts)
    with whole_file(path) as draft:
        draft.write_text(page(facts, columns, len(frame)), encoding="utf-8", newline="\n")


def page(facts: Facts, columns: ReportColumns, rows: int) -> str:
    """The whole page."""
    sections = [
        ("summary", "Summary", _summary(facts)),
        ("states", "Tax by state", _states(facts)),
        ("failures", "Rows without a tax or a whole rate", _failures(facts, columns)),
        ("review", "Rows to review", _review(facts, columns)),
        ("parts", "Parts of the tax", _parts(facts)),
        ("sources", "Sources and terms", _sources(facts)),
        ("lines", "Lines", lines_table(columns, rows)),
        ("words", "Columns and codes", _words(facts)),
    ]
    shown = [one for one in sections if one[2]]
    links = tag("nav", *(tag("a", name, href=f"#{key}") for key, name, _ in shown))
    body = [
        tag("header", tag("h1", facts.title), tag("p", _said(facts), class_="muted"), links),
        tag("main", *(tag("section", tag("h2", name), of, id=key) for key, name, of in shown)),
        tag("footer", tag("h2", "What these rates are and are not"), _notes(facts)),
    ]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        tag("title", facts.title),
        tag("style", Markup(STYLE)),
    ]
    whole = tag("html", tag("head", *head), tag("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _said(facts: Facts) -> str:
    summary = facts.summary
    places = "" if summary.places is None else f", {summary.places:,} distinct places"
    service = "" if summary.service is None else f", asked of: {summary.service}"
    return f"{summary.rows:,} rows{places}{service}"


def _summary(facts: Facts) -> Markup:
    summary, money = facts.summary, facts.summary.money
    cards: list[tuple[str, str]] = []
    if money is not None:
        cards += [
            ("Tax computed", exact_dollars(money.tax)),
            ("Sales", exact_dollars(money.sales)),
            ("Sales with no tax", exact_dollars(money.untaxed_sales + money.open_sales)),
        ]
    if facts.stake is not None:
        cards.append(("At stake between several rates", exact_dollars(facts.stake.at_stake)))
    if facts.due is not None:
        cards.append(("Tax that the seller owes", exact_dollars(facts.due.tax)))
    if money is not None and money.partial_tax:
        cards.append(("Tax from partial rates, besides", exact_dollars(money.partial_tax)))
    cards += [
        ("Rows", f"{summary.rows:,}"),
        ("Rows that need a person", f"{summary.attention_rows:,}"),
    ]
    drawn = tag(
        "div",
        *(tag("div", tag("b", value), tag("span", name), class_="card") for name, value in cards),
        class_="cards",
    )
    said = (other_date_sentence(summary), stake_sentence(facts), facts.review.sentence)
    parts = [drawn, *(tag("p", text) for text in said if text is not None)]
    names = (
        ("Rows by status", "Status", summary.by_status),
        ("Answered rows by confidence", "Confidence", summary.by_confidence),
        ("Rows by advisory", "Advisory", summary.by_warning),
    )
    parts += [
        table(
            title,
            (name, Right("Rows"), "Meaning"),
            [(one.name, f"{one.rows:,}", MEANINGS.get(one.name, "")) for one in counts],
        )
        for title, name, counts in names
        if counts
    ]
    return joined(parts)


def _states(facts: Facts) -> Markup:
    money = facts.summary.money
    if money is None:
        return Markup("")
    most = max((abs(state.totals.tax) for state in facts.summary.states), default=Decimal(0))
    staked = bool(facts.stakes_by_state)
    heads = [
        "State",
        Right("Rows"),
        Right("Sales, whole rate"),
        Right("Tax"),
        "",
        Right("At stake"),
    ]
    heads += [
        Right("Partial rows"),
        Right("Sales, partial rate"),
        Right("Other rows, no tax"),
        Right("Their sales"),
    ]
    rows: list[list[object]] = []
    for state in facts.summary.states:
        of = state.totals
        rows.append(
            [
                state.state or "not known",
                f"{of.rows:,}",
                _dollars(of.taxed_sales) if of.whole_rows else None,
                _dollars(of.tax) if of.whole_rows else None,
                _bar(of.tax, most),
                _dollars(facts.stakes_by_state.get(state.state)),
                f"{of.partial_rows:,}" if of.partial_rows else None,
                _dollars(of.untaxed_sales) if of.partial_rows else None,
                f"{of.open_rows:,}" if of.open_rows else None,
                _dollars(of.open_sales) if of.open_rows else None,
            ]
        )
    total: list[object] = ["Total", f"{money.rows:,}", _dollars(money.taxed_sales)]
    total += [_dollars(money.tax), None, _dollars(facts.stake.at_stake if facts.stake else None)]
    total += [f"{money.partial_rows:,}", _dollars(money.untaxed_sales)]
    total += [f"{money.open_rows:,}", _dollars(money.open_sales)]
    if not staked:
        heads = [*heads[:5], *heads[6:]]
        total, *rows = ([*one[:5], *one[6:]] for one in (total, *rows))
    return joined(
        [svg_map(facts.summary), table("Tax by state, US dollars", heads, rows, total=total)]
    )


def _bar(tax: Decimal, most: Decimal) -> Markup:
    if not tax or not most:
        return Markup("")
    share = (abs(tax) / most * 100).quantize(Decimal("0.1"))
    look = "bar minus" if tax < 0 else "bar"
    bar = tag("span", class_=look, style=f"width:{share}%")
    return tag("div", bar, style="min-width:8rem")


def _failures(facts: Facts, columns: ReportColumns) -> Markup:
    groups = _groups(facts, failed=True)
    if not groups:
        return tag("p", "None.")
    return joined([groups, failed_table(facts, columns)])


def _review(facts: Facts, columns: ReportColumns) -> Markup:
    if not len(facts.reviewed):
        return tag("p", "None.")
    said = tag("p", facts.review.sentence)
    return joined([said, _groups(facts, failed=False), review_table(facts, columns)])


def _groups(facts: Facts, *, failed: bool) -> Markup:
    groups = [group for group in facts.summary.attention if group.failed == failed]
    if not groups:
        return Markup("")
    taxes = () if failed else (Right("Tax"), Right("At stake"))
    heads = ("Group", Right("Rows"), Right("Sales"), *taxes, "Meaning", "What to do")
    rows = [
        (
            group.kind,
            f"{group.rows:,}",
            _dollars(group.sales),
            *(() if failed else (_dollars(group.tax), _dollars(group.at_stake or None))),
            meaning_of(group.kind),
            group.to_do,
        )
        for group in groups
    ]
    title = "No tax, or no whole rate" if failed else "They have a rate, and it is in doubt"
    return table(title, heads, rows)


def _parts(facts: Facts) -> Markup:
    parts = []
    if facts.summary.tax_by_confidence:
        parts.append(
            table(
                "Tax by confidence of the rate, US dollars",
                ("Confidence", Right("Rows"), Right("Sales"), Right("Tax")),
                [
                    (one.confidence, f"{one.rows:,}", _dollars(one.sales), _dollars(one.tax))
                    for one in facts.summary.tax_by_confidence
                ],
            )
        )
    pairs = (
        ("Tax by level, US dollars", facts.levels),
        ("Further sums, US dollars", facts.figures),
    )
    parts += [
        table(
            title, ("", Right("US dollars")), [(name, _dollars(value)) for name, value in figures]
        )
        for title, figures in pairs
        if figures
    ]
    if facts.due is not None:
        due = [("due", facts.due.rows, facts.due.tax), *facts.due.not_due]
        rows = [
            (reason, f"{count:,}", _dollars(tax), meaning_of(reason)) for reason, count, tax in due
        ]
        title = "Tax that the seller owes, and why none is due"
        parts.append(table(title, ("", Right("Rows"), Right("Tax"), "Meaning"), rows))
    return joined(parts)


def _sources(facts: Facts) -> Markup:
    rows = [
        (one.source, one.edition, f"{one.rows:,}", _dollars(one.tax))
        for one in facts.summary.sources
    ]
    parts = [
        table("Sources of the rates", ("Source", "Edition", Right("Rows"), Right("Tax")), rows)
    ]
    for title, pairs in (
        ("How the rates were looked up", facts.lookup),
        ("How the tax was computed", facts.terms),
    ):
        if pairs:
            parts += [tag("h3", title), _pairs(pairs)]
    return joined(parts)


def _words(facts: Facts) -> Markup:
    heads = ("Column", "Code", Right("Rows"), "Meaning", "What to do")
    codes = [(one.column, one.code, f"{one.rows:,}", one.meaning, one.to_do) for one in facts.codes]
    return joined(
        [
            table("The codes that occur in the lines", heads, codes),
            tag("h3", "The columns that were added to the lines"),
            _pairs(facts.columns),
        ]
    )


def _pairs(pairs: Iterable[Sequence[str]]) -> Markup:
    return tag("dl", *(joined([tag("dt", name), tag("dd", text)]) for name, text in pairs))


def _notes(facts: Facts) -> Markup:
    return tag("ul", *(tag("li", note) for note in facts.notes), class_="notes")


def _dollars(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:,.2f}"
