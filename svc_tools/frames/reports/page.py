"""A report as one HTML page without scripts: it contains all it needs and fetches nothing.

The page is the template `report.html`; this module fills it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from svc_tools.base.atomic import whole_file
from svc_tools.frames.charting.tile_map import (
    COLUMNS,
    DARK_FROM,
    KEY_WORDS,
    LACKING_WORDS,
    ROWS,
    tile_map,
)
from svc_tools.frames.reports.columns import Choice, ReportColumns, without_quotes
from svc_tools.frames.reports.facts import facts_of, stake_sentence
from svc_tools.frames.reports.xlsx import is_missing
from svc_tools.frames.review.aggregates import shares_sentence
from svc_tools.frames.review.split import parts_table
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.show.codes import meaning_of
from svc_tools.show.display import (
    FIRST_ROW,
    RANGE_LABEL,
    as_columns,
    counted,
    exact_dollars,
    from_template,
    number,
    places_and_dates,
    prose,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from pathlib import Path

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.charting.tile_map import Tile
    from svc_tools.frames.reports.facts import Facts
    from svc_tools.frames.reports.xlsx import Column as SheetColumn
    from svc_tools.frames.review.aggregates import Count
    from svc_tools.frames.review.summary import Summary
    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.show.display import Head, TableColumn

MOST_LINES, MOST_FLAGGED = 500, 100
_ALL = "a report as .xlsx has them all"


def write_page(
    rows: Enriched,
    path: Path,
    *,
    amount: Hashable | Goods | None = None,
    title: str | None = None,
    columns: Sequence[Hashable] | None = None,
) -> None:
    """Write an enriched frame's report as one HTML file, whole or not at all.

    Args:
        rows: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        path: where to write it; an existing file is replaced.
        amount: the column of amounts, or its amounts; by default those of the tax.
        title: the report's title.
        columns: the user's columns to show; by default those that are not personal.

    Raises:
        TypeError: the columns are not a list.
        ValueError: the frame has not been looked up, or has no such amounts or columns.
        FileNotFoundError: the folder does not exist.
    """
    facts, shown = contents_of(rows, amount=amount, title=title, columns=columns)
    with whole_file(path) as draft:
        draft.write_text(report_page(facts, shown, len(rows)), encoding="utf-8", newline="\n")


def contents_of(
    rows: Enriched,
    *,
    amount: Hashable | Goods | None,
    title: str | None,
    columns: Sequence[Hashable] | None,
    summary: Summary | None = None,
) -> tuple[Facts, ReportColumns]:
    """The contents of a report and its columns; see `write_page`."""
    choice = Choice.of(rows, columns)
    goods = goods_of(rows, amount, call="report")  # before cells are left out
    shown = without_quotes(rows, choice)
    facts = facts_of(shown, amount=goods, title=title, summary=summary, private=choice.private)
    label = None if facts.goods is None else facts.goods.label
    return facts, ReportColumns.of(shown, choice, amount=label)


class _Grid(NamedTuple):
    """A table of the page; one with a `text` can be folded. A cell may be a `_Bar`."""

    caption: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[object]]
    total: Sequence[object] = ()
    text: str = ""


class _Bar(NamedTuple):
    """A bar of a share of the width, in percent."""

    share: Decimal
    minus: bool


def report_page(facts: Facts, columns: ReportColumns, rows: int) -> str:
    """The whole page."""
    sections = [
        ("summary", "Summary", _summary(facts, columns)),
        ("states", "Tax by state", _states(facts)),
        ("failures", "Rows without a tax or a whole rate", _failures(facts, columns)),
        ("review", "Rows to review", _review(facts, columns)),
        ("parts", "Parts of the tax", _parts(facts)),
        ("sources", "Sources and terms", _sources(facts)),
        ("lines", "Lines", [_lines(columns, rows)]),
        ("words", "Columns and codes", _words(facts)),
    ]
    summary = facts.summary
    places = "" if summary.places is None else f", {places_and_dates(summary.places)}"
    service = "" if summary.service is None else f", rates from: {summary.service}"
    return from_template(
        "report.html",
        title=facts.title,
        subtitle=f"{summary.rows:,} rows{places}{service}",
        headline=summary.rests_on.sentence,
        sections=[section for section in sections if section[2]],
        notes=facts.notes,
    )


def _grid(
    caption: str,
    heads: Iterable[Head],
    rows: Iterable[Sequence[object]],
    total: Sequence[object] = (),
    text: str = "",
) -> _Grid:
    body = [*rows]
    columns = [
        prose(column.head)
        if column.kind == "text" and any(_is_long(cells[place]) for cells in body)
        else column
        for place, column in enumerate(as_columns(heads))
    ]
    return _Grid(caption, columns, body, total, text)


_SHORT = 24
"""Characters of a text that is not wrapped."""


def _is_long(cell: object) -> bool:
    return isinstance(cell, str) and len(cell) > _SHORT


def _summary(facts: Facts, columns: ReportColumns) -> list[object]:
    """The section with the main figures, the sentences, and the counts of rows by what they are."""
    summary, money = facts.summary, facts.summary.money
    cards: list[tuple[str, str]] = []
    if money is not None:
        cards += [
            ("Tax computed", exact_dollars(money.tax)),
            ("Sales", exact_dollars(money.sales)),
            ("Sales with no tax", exact_dollars(money.untaxed_sales + money.open_sales)),
        ]
    if facts.stake is not None:
        cards.append((RANGE_LABEL, exact_dollars(facts.stake.at_stake)))
    if facts.due is not None:
        cards.append(("Tax that the seller owes", exact_dollars(facts.due.tax)))
    if money is not None and money.partial_tax:
        cards.append(("Tax from partial rates, in addition", exact_dollars(money.partial_tax)))
    cards += [
        ("Rows", f"{summary.rows:,}"),
        ("Rows to review", f"{facts.review.totals.rows:,}"),
    ]
    texts = (
        stake_sentence(facts),
        facts.review.sentence,
        facts.review.expected_sentence,
        facts.review.not_due_sentence,
        shares_sentence(summary.on_shares),
        summary.unknown_warnings,
        columns.choice.sentence,
    )
    counts = (
        ("Rows by status", "Status", summary.by_status),
        ("Rows with a result by confidence", "Confidence", summary.by_confidence),
        ("Rows by advisory", "Advisory", summary.by_warning),
    )
    uses = parts_table(summary.by_use, "What can be used")
    return [
        *([_grid(uses.caption, uses.columns, uses.rows)] if summary.by_use else []),
        {"cards": cards},
        *(text for text in texts if text),
        *(table for about in counts for table in _counts(*about)),
    ]


def _counts(title: str, name: str, counts: Sequence[Count]) -> list[_Grid]:
    """A table of counts, if any."""
    rows = [(count.name, f"{count.rows:,}", meaning_of(count.name)) for count in counts]
    return [_grid(title, (name, number("Rows"), "Meaning"), rows)] if rows else []


def _states(facts: Facts) -> list[object]:
    """The section with the map and the table of tax by state; empty where no tax was computed."""
    money = facts.summary.money
    if money is None:
        return []
    most = max((abs(state.totals.tax) for state in facts.summary.states), default=Decimal(0))
    heads: list[Head] = [
        *("State", number("Rows"), number("Sales, whole rate"), number("Tax"), ""),
        *(number("Lowest to highest tax"), number("Partial rows"), number("Sales, partial rate")),
        *(number("Other rows, no tax"), number("Their sales")),
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
    total: list[object] = [
        "Total",
        f"{money.rows:,}",
        _dollars(money.taxed_sales),
        _dollars(money.tax),
        None,
        _dollars(facts.stake.at_stake if facts.stake else None),
        f"{money.partial_rows:,}",
        _dollars(money.untaxed_sales),
        f"{money.open_rows:,}",
        _dollars(money.open_sales),
    ]
    if not facts.stakes_by_state:
        heads = [*heads[:5], *heads[6:]]
        total, *rows = ([*cells[:5], *cells[6:]] for cells in (total, *rows))
    return [_map(facts.summary), _grid("Tax by state, US dollars", heads, rows, total)]


def _bar(tax: Decimal, most: Decimal) -> _Bar | None:
    if not tax or not most:
        return None
    return _Bar((abs(tax) / most * 100).quantize(Decimal("0.1")), tax < 0)


def _failures(facts: Facts, columns: ReportColumns) -> list[object]:
    failed = np.flatnonzero(facts.reviewed.failed)
    return [_flagged(failed, facts, columns) if len(failed) else "None."]


def _review(facts: Facts, columns: ReportColumns) -> list[object]:
    """The section of the rows to review: by state and reason, then row by row."""
    review = facts.review
    not_due = [*filter(None, (review.not_due_sentence, review.expected_sentence))]
    if not review.totals.rows:
        return ["None.", *not_due]
    heads = ("State", "Reason", number("Rows"), number("Dollars"), "Meaning", "What to do", "Where")
    rows = [
        (
            group.state or "not known",
            group.reason,
            f"{group.rows:,}",
            _dollars(group.dollars),
            group.meaning,
            group.to_do,
            group.where,
        )
        for group in review.state_reasons
    ]
    return [
        review.sentence,
        *not_due,
        _grid("Rows to review by state and reason", heads, rows),
        _flagged(np.arange(review.totals.rows), facts, columns),
    ]


def _parts(facts: Facts) -> list[object]:
    """The section with the tax by confidence, by level and by reason of not being due."""
    parts: list[object] = []
    if facts.summary.tax_by_confidence:
        heads = ("Confidence", number("Rows"), number("Sales"), number("Tax"))
        by_level = [
            (part.confidence, f"{part.rows:,}", _dollars(part.sales), _dollars(part.tax))
            for part in facts.summary.tax_by_confidence
        ]
        parts.append(_grid("Tax by confidence of the rate, US dollars", heads, by_level))
    for title, figures in (
        ("Tax by level, US dollars", facts.levels),
        ("Further sums, US dollars", facts.figures),
    ):
        if figures:
            rows = [(name, _dollars(value)) for name, value in figures]
            parts.append(_grid(title, ("", number("US dollars")), rows))
    if facts.due is not None:
        due = [("due", facts.due.rows, facts.due.tax), *facts.due.not_due]
        named = [
            (reason, f"{count:,}", _dollars(tax), meaning_of(reason)) for reason, count, tax in due
        ]
        title = "Tax that the seller owes, and why none is due"
        parts.append(_grid(title, ("", number("Rows"), number("Tax"), "Meaning"), named))
    return parts


def _sources(facts: Facts) -> list[object]:
    rows = [
        (source.source, source.edition, f"{source.rows:,}", _dollars(source.tax))
        for source in facts.summary.sources
    ]
    heads = ("Source", "Edition", number("Rows"), number("Tax"))
    pairs = (
        ("How the rates were looked up", facts.lookup),
        ("How the tax was computed", facts.terms),
    )
    return [
        _grid("Sources of the rates", heads, rows),
        *({"title": title, "pairs": found} for title, found in pairs if found),
    ]


def _words(facts: Facts) -> list[object]:
    heads = ("Column", "Code", number("Rows"), "Meaning", "What to do")
    codes = [
        (code.column, code.code, f"{code.rows:,}", code.meaning, code.to_do) for code in facts.codes
    ]
    return [
        _grid("The codes that occur in the lines", heads, codes),
        {"title": "The columns that were added to the lines", "pairs": facts.columns},
    ]


def _dollars(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:,.2f}"


def _lines(columns: ReportColumns, rows: int) -> _Grid:
    """The first lines with their main columns, and how many are left out."""
    count = min(rows, MOST_LINES)
    texts = [f"The first {count:,} of {rows:,} lines; {_ALL}."]
    if rows <= count:
        texts = [f"All {rows:,} lines."]
    texts.append("Rows are numbered as in a spreadsheet: the names of the columns are row 1.")
    shown_columns = _not_empty(columns)
    if empty := len(columns.main) - len(shown_columns):
        texts.append(f"{counted(empty, 'column')} of yours without any value: not shown here.")
    if columns.details:
        texts.append(f"{len(columns.details)} further columns are in a report as .xlsx.")
    cells = [
        [page_text(value, column.kind) for value in column.block(0, count).tolist()]
        for column in shown_columns
    ]
    body = [(place, *line) for place, line in enumerate(zip(*cells, strict=True), FIRST_ROW)]
    heads = (number("Row"), *map(_head, shown_columns))
    return _grid("Lines", heads, body, text=" ".join(texts))


def _flagged(listed: np.ndarray, facts: Facts, columns: ReportColumns) -> _Grid:
    """The first of these rows of the review, with their dollars, reason and advice."""
    count, prefix = min(len(listed), MOST_FLAGGED), facts.prefix
    text = f"All {count:,}, the most dollars first."
    if count < len(listed):
        text = f"The first {count:,} of {len(listed):,} rows, the most dollars first; {_ALL}."
    review = facts.review.rows.iloc[listed[:count]]
    taken = facts.reviewed.positions[listed[:count]]
    in_words = {f"{prefix}{name}" for name in ("warnings", "lookup_status")}
    shown_columns = [column for column in _not_empty(columns) if column.name not in in_words]
    first: tuple[tuple[Head, str, str], ...] = (
        (number("Dollars"), "dollars", "money"),
        ("Basis", "basis", "plain"),
        (prose("Reason"), "why", "plain"),
        (prose("What to do"), "to_do", "plain"),
    )
    cells = [
        [f"{position + FIRST_ROW}" for position in taken.tolist()],
        *(
            [page_text(value, kind) for value in review[f"{prefix}review_{name}"].tolist()]
            for _, name, kind in first
        ),
        *(
            [page_text(value, column.kind) for value in column.data.iloc[taken].tolist()]
            for column in shown_columns
        ),
    ]
    heads = (number("Row"), *(head for head, *_ in first), *map(_head, shown_columns))
    return _grid("Rows", heads, zip(*cells, strict=True), text=text)


def _not_empty(columns: ReportColumns) -> list[SheetColumn]:
    """The main columns without those of the user's that have no value, unless they were named."""
    own = set() if columns.choice.named else {str(label) for label in columns.choice.shown}
    return [
        column
        for column in columns.main
        if column.name not in own or not all(map(is_missing, column.data))
    ]


def _head(column: SheetColumn) -> Head:
    figures = column.stands_right or column.kind == "row"
    return number(column.name) if figures else column.name


def page_text(value: object, kind: str) -> str:
    """A value as the page shows it; a rate or an amount that is not a number is unchanged."""
    if is_missing(value):
        return ""
    if kind in {"rate", "money"}:
        exact = _exact(value)
        if exact is not None:
            return f"{exact * 100:f}%" if kind == "rate" else f"{exact:,.2f}"
    if isinstance(value, datetime):
        if value.tzinfo is not None and kind == "utc":
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return value.date().isoformat() if kind == "date" else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _exact(value: object) -> Decimal | None:
    if isinstance(value, float):
        value = repr(value)
    try:
        exact = Decimal(str(value))
    except InvalidOperation:
        return None
    cents = exact.as_tuple().exponent
    return exact if exact.is_finite() and isinstance(cents, int) else None


_SIDE, _GAP = 80, 4


def _map(summary: Summary) -> dict[str, Any]:
    """The map of tax by state with its legend; its label has every figure in words.

    Drawn in SVG, so that the page's style colors it on screen, in the dark and on paper.
    """
    tiles = tile_map(summary)
    keys = [("tax", tiles.shade(level), words) for level, words in enumerate(tiles.ranges())]
    keys += [(kind, 0, words) for kind, words in KEY_WORDS.items() if kind in tiles.kinds]
    if any(tile.lacking for tile in tiles.tiles):
        keys.append(("", 0, LACKING_WORDS))
    return {
        "width": COLUMNS * _SIDE,
        "height": ROWS * _SIDE,
        "size": _SIDE - _GAP,
        "label": tiles.described(),
        "tiles": [_tile(tile, tiles.shade(tile.level)) for tile in tiles.tiles],
        "legend": keys,
    }


def _tile(tile: Tile, place: int) -> dict[str, Any]:
    tone = ("dark" if place >= DARK_FROM else "light") if tile.kind == "tax" else ""
    return {
        "state": tile.state,
        "says": tile.says,
        "kind": tile.kind,
        "lacking": tile.lacking,
        "place": place,
        "left": tile.column * _SIDE + _GAP / 2,
        "top": tile.row * _SIDE + _GAP / 2,
        "middle": (tile.column + 0.5) * _SIDE,
        "tone": tone,
    }
