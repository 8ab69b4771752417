"""A report as one HTML page without scripts: it contains all it needs and fetches nothing.

Text from the data is always escaped: only `Markup` is written as it is.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.atomic import whole_file
from svc_tools.codes import meaning_of
from svc_tools.display import RANGE_LABEL, exact_dollars
from svc_tools.frames.charting.tile_map import (
    COLUMNS,
    DARK_FROM,
    KEY_WORDS,
    LACKING_WORDS,
    ROWS,
    tile_map,
)
from svc_tools.frames.reports.facts import ReportColumns, facts_of, stake_sentence
from svc_tools.frames.reports.xlsx import is_missing
from svc_tools.frames.summary import other_date_sentence

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from pathlib import Path

    import pandas as pd

    from svc_tools.frames.charting.tile_map import Tile, TileMap
    from svc_tools.frames.reports.facts import Facts
    from svc_tools.frames.reports.xlsx import Column
    from svc_tools.frames.summary import Count, Summary

MOST_LINES, MOST_FLAGGED = 500, 100
_ALL = "a report as .xlsx has them all"


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


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


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
        tag("header", tag("h1", facts.title), tag("p", _subtitle(facts), class_="muted"), links),
        tag("main", *(tag("section", tag("h2", name), of, id=key) for key, name, of in shown)),
        tag(
            "footer",
            tag("h2", "What these rates are and are not"),
            tag("ul", *(tag("li", note) for note in facts.notes), class_="notes"),
        ),
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


def _subtitle(facts: Facts) -> str:
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
        cards.append((RANGE_LABEL, exact_dollars(facts.stake.at_stake)))
    if facts.due is not None:
        cards.append(("Tax that the seller owes", exact_dollars(facts.due.tax)))
    if money is not None and money.partial_tax:
        cards.append(("Tax from partial rates, besides", exact_dollars(money.partial_tax)))
    cards += [
        ("Rows", f"{summary.rows:,}"),
        ("Rows to review", f"{facts.review.totals.rows:,}"),
    ]
    drawn = tag(
        "div",
        *(tag("div", tag("b", value), tag("span", name), class_="card") for name, value in cards),
        class_="cards",
    )
    texts = (other_date_sentence(summary), stake_sentence(facts), facts.review.sentence)
    counts = (
        ("Rows by status", "Status", summary.by_status),
        ("Rows with a result by confidence", "Confidence", summary.by_confidence),
        ("Rows by advisory", "Advisory", summary.by_warning),
    )
    return joined(
        [
            _counts("What can be used", "Use", summary.by_use),
            drawn,
            *(tag("p", text) for text in texts if text is not None),
            *(_counts(*one) for one in counts),
        ]
    )


def _counts(title: str, name: str, counts: Sequence[Count]) -> Markup:
    """A table of counts; nothing where there are none."""
    if not counts:
        return Markup("")
    rows = [(one.name, f"{one.rows:,}", meaning_of(one.name)) for one in counts]
    return table(title, (name, Right("Rows"), "Meaning"), rows)


def _states(facts: Facts) -> Markup:
    money = facts.summary.money
    if money is None:
        return Markup("")
    most = max((abs(state.totals.tax) for state in facts.summary.states), default=Decimal(0))
    heads = [
        "State",
        Right("Rows"),
        Right("Sales, whole rate"),
        Right("Tax"),
        "",
        Right("Lowest to highest rate"),
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
    failed = np.flatnonzero(facts.reviewed.failed)
    return flagged_table(failed, facts, columns) if len(failed) else tag("p", "None.")


def _review(facts: Facts, columns: ReportColumns) -> Markup:
    review = facts.review
    if not review.totals.rows:
        return tag("p", "None.")
    heads = ("State", "Reason", Right("Rows"), Right("Dollars"), "Meaning", "What to do", "Where")
    rows = [
        (
            one.state or "not known",
            one.reason,
            f"{one.rows:,}",
            _dollars(one.dollars),
            one.meaning,
            one.to_do,
            one.where,
        )
        for one in review.state_reasons
    ]
    groups = table("Rows to review by state and reason", heads, rows)
    every = flagged_table(np.arange(review.totals.rows), facts, columns)
    return joined([tag("p", review.sentence), groups, every])


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


def _dollars(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:,.2f}"


def lines_table(columns: ReportColumns, rows: int) -> Markup:
    """The first lines with their main columns, and how many are left out."""
    count = min(rows, MOST_LINES)
    texts = [f"The first {count:,} of {rows:,} lines; {_ALL}."]
    if rows <= count:
        texts = [f"All {rows:,} lines."]
    if columns.details:
        texts.append(f"{len(columns.details)} further columns are in a report as .xlsx.")
    heads = [Right("Line"), *map(_head, columns.main)]
    cells = [
        [shown(value, column.kind) for value in column.block(0, count).tolist()]
        for column in columns.main
    ]
    body = [(number, *line) for number, line in enumerate(zip(*cells, strict=True), start=1)]
    return _folded(" ".join(texts), "Lines", heads, body)


def flagged_table(listed: np.ndarray, facts: Facts, columns: ReportColumns) -> Markup:
    """The first of these rows of the review, with their dollars, reason and advice."""
    count, prefix = min(len(listed), MOST_FLAGGED), facts.prefix
    text = f"All {count:,}, the most dollars first."
    if count < len(listed):
        text = f"The first {count:,} of {len(listed):,} rows, the most dollars first; {_ALL}."
    review = facts.review.rows.iloc[listed[:count]]
    taken = facts.reviewed.positions[listed[:count]]
    in_words = {f"{prefix}{name}" for name in ("warnings", "lookup_status")}
    shown_columns = [column for column in columns.main if column.name not in in_words]
    first = {
        Right("Dollars"): ("dollars", "money"),
        "Basis": ("basis", "plain"),
        Wide("Reason"): ("why", "plain"),
        Wide("What to do"): ("to_do", "plain"),
    }
    cells = [
        [f"{position + 1}" for position in taken.tolist()],
        *(
            [shown(value, kind) for value in review[f"{prefix}review_{name}"].tolist()]
            for name, kind in first.values()
        ),
        *(
            [shown(value, column.kind) for value in column.data.iloc[taken].tolist()]
            for column in shown_columns
        ),
    ]
    heads = [Right("Line"), *first, *map(_head, shown_columns)]
    return _folded(text, "Rows", heads, list(zip(*cells, strict=True)))


def _folded(text: str, name: str, heads: Sequence[str], body: Sequence[Sequence[object]]) -> Markup:
    """A text, and a table that can be folded; on paper it gets wide pages."""
    rows = tag("summary", f"{name}: {len(body):,}")
    whole = tag("details", rows, table(name, heads, body, captioned=False), open=True)
    return tag("div", tag("p", text), whole, class_="lines")


def _head(column: Column) -> str:
    figures = column.stands_right or column.kind == "row"
    return Right(column.name) if figures else column.name


def shown(value: object, kind: str) -> str:
    """A value as the page shows it; a rate or an amount that is not a number is unchanged."""
    if is_missing(value):
        return ""
    if kind in {"rate", "money"}:
        number = _number(value)
        if number is not None:
            return f"{number * 100:f}%" if kind == "rate" else f"{number:,.2f}"
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


class Markup(str):
    """Text that is already markup: the only kind that is not escaped."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element; children and the attributes' values are escaped unless they are `Markup`.

    `class_` is written `class`, other underscores as dashes; an attribute that is `None` or
    `False` is left out, one that is `True` has no value.
    """
    given = {
        key.removesuffix("_").replace("_", "-"): value
        for key, value in attributes.items()
        if value is not None and value is not False
    }
    written = "".join(
        f" {key}" if value is True else f' {key}="{_text(value)}"' for key, value in given.items()
    )
    if name in _EMPTY_TAGS and not children:
        return Markup(f"<{name}{written}>" if name in {"meta", "br"} else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[object]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(map(_text, parts)))


_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_EMPTY_TAGS = frozenset({"meta", "rect", "circle", "path", "br"})


def _text(value: object) -> Markup:
    if isinstance(value, Markup):
        return value
    whole = str(value).encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair
    return Markup(escape(_NOT_IN_HTML.sub("\ufffd", whole), quote=True))


class Right(str):
    """The head of a column of figures, which are aligned right."""

    __slots__ = ()


class Wide(str):
    """The head of a column of sentences, which need room."""

    __slots__ = ()


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    total: Sequence[object] | None = None,
    captioned: bool = True,
) -> Markup:
    """A table in a box that scrolls sideways; columns with `Right` heads are aligned right.

    Without a visible caption, the box still has it for a screen reader.
    """
    looks = [
        "n" if isinstance(head, Right) else "w" if isinstance(head, Wide) else None
        for head in heads
    ]

    def line(cells: Sequence[object]) -> Markup:
        return tag(
            "tr",
            *(
                tag("td", "" if cell is None else cell, class_=look)
                for cell, look in zip(cells, looks, strict=True)
            ),
        )

    head = tag(
        "tr",
        *(
            tag("th", text, scope="col", class_=look)
            for text, look in zip(heads, looks, strict=True)
        ),
    )
    parts = [
        tag("caption", caption) if captioned else "",
        tag("thead", head),
        tag("tbody", *map(line, rows)),
    ]
    if total is not None:
        parts.append(tag("tfoot", line(total)))
    whole = tag("table", *parts)
    return tag("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")


_SIDE, _GAP = 80, 4


def svg_map(summary: Summary) -> Markup:
    """The map of tax by state with its legend; its label has every figure in words.

    Drawn in SVG, so that the page's style colors it on screen, in the dark and on paper.
    """
    tiles = tile_map(summary)
    drawn = tag(
        "svg",
        _patterns(),
        *(_drawn(tile, tiles.shade(tile.level)) for tile in tiles.tiles),
        viewBox=f"0 0 {COLUMNS * _SIDE} {ROWS * _SIDE}",
        class_="map",
        role="img",
        aria_label=tiles.described(),
    )
    return joined([drawn, _legend(tiles)])


def _patterns() -> Markup:
    hatch = tag("path", d="M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", class_="hatch")
    dots = tag("circle", cx="3", cy="3", r="1.3", class_="dots")
    patterns = (("hatch", hatch, 8), ("dots", dots, 7))
    return tag(
        "defs",
        *(
            tag("pattern", drawn, id=name, width=size, height=size, patternUnits="userSpaceOnUse")
            for name, drawn, size in patterns
        ),
    )


def _box(kind: str, place: int, box: tuple[float, float, float, float]) -> Markup:
    left, top, width, height = box
    fill = {"partial": "url(#hatch)", "none": "url(#dots)"}.get(kind)
    return tag(
        "rect",
        x=left,
        y=top,
        width=width,
        height=height,
        class_=f"t{place}" if kind == "tax" else kind,
        fill=fill,
    )


def _drawn(tile: Tile, place: int) -> Markup:
    left, top = tile.column * _SIDE + _GAP / 2, tile.row * _SIDE + _GAP / 2
    size, middle = _SIDE - _GAP, (tile.column + 0.5) * _SIDE
    parts = [_box(tile.kind, place, (left, top, size, size))]
    if tile.lacking:
        right = left + size
        parts.append(tag("path", d=f"M{right},{top} h-20 L{right},{top + 20} z", class_="corner"))
    tone = ("dark" if place >= DARK_FROM else "light") if tile.kind == "tax" else ""
    if not tile.says:
        parts.append(tag("text", tile.state, x=middle, y=top + 44, class_="faint"))
    else:
        if tile.kind in {"partial", "none"}:  # no text on hatching
            parts.append(
                tag("rect", x=middle - 31, y=top + 13, width=62, height=52, class_="plate")
            )
        parts.append(tag("text", tile.state, x=middle, y=top + 34, class_=f"code {tone}".strip()))
        parts.append(tag("text", tile.says, x=middle, y=top + 57, class_=tone or None))
    return tag("g", *parts)


def _legend(tiles: TileMap) -> Markup:
    keys = [("tax", tiles.shade(level), words) for level, words in enumerate(tiles.ranges())]
    keys += [(kind, 0, words) for kind, words in KEY_WORDS.items() if kind in tiles.kinds]
    drawn = [
        tag("li", _key(_box(kind, place, (1, 1, 26, 14))), words) for kind, place, words in keys
    ]
    if any(tile.lacking for tile in tiles.tiles):
        box = _box("empty", 0, (1, 1, 26, 14))
        corner = tag("path", d="M27,1 h-13 L27,14 z", class_="corner")
        drawn.append(tag("li", _key(joined([box, corner])), LACKING_WORDS))
    return tag("ul", *drawn, class_="keys")


def _key(drawn: Markup) -> Markup:
    return tag("svg", drawn, viewBox="0 0 28 16", aria_hidden="true")


STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --muted: #57606a; --line: #d0d7de; --paper: #fff; --card: #f6f8fa;
  --bar: #2b77b5; --doubt: #b35900; --link: #0b5394;
  --t0: #dbe9f6; --t1: #a9cde8; --t2: #67a9d6; --t3: #2b77b5; --t4: #0a3f78;
  --on-light: #1b1f24; --on-dark: #fff; --empty: #f0f2f4; --refund: #fdf0d5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6edf3; --muted: #9aa5b1; --line: #3a424b; --paper: #0f1419; --card: #181f27;
    --bar: #4b9cd9; --doubt: #f0a35c; --link: #8cc4f2; --empty: #1b222a; --refund: #4a3413;
    --t0: #15304a; --t1: #1d4a74; --t2: #2a6ba6; --t3: #67a9d6; --t4: #b9daf0;
    --on-light: #fff; --on-dark: #0f1419;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.75rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 {
  font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .6rem;
  border-top: 1px solid var(--line);
}
p { max-width: 48rem; margin: .4rem 0; }
.muted { color: var(--muted); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .75rem 0 1.25rem; }
a { color: var(--link); }
.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem;
  margin-bottom: .9rem;
}
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .7rem .9rem;
}
.card b {
  display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
.card span { color: var(--muted); font-size: .85rem; }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem; }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; min-width: 40%; font-size: .87rem; }
caption { text-align: left; padding: 0 0 .35rem; font-weight: 600; font-size: .95rem; }
h3 { font-size: .95rem; margin: 1.4rem 0 .3rem; }
th, td {
  text-align: left; vertical-align: top; padding: .28rem .7rem .28rem 0;
  border-bottom: 1px solid var(--line);
}
th { border-bottom: 2px solid var(--muted); white-space: nowrap; }
td { overflow-wrap: break-word; min-width: 3.2rem; max-width: 26rem; }
th.n, td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th.w, td.w { min-width: 15rem; }
tfoot td { font-weight: 600; border-top: 2px solid var(--muted); }
.bar {
  display: block; height: .7rem; margin-top: .3rem; min-width: 1px; background: var(--bar);
  border-radius: 1px;
}
.bar.minus { background: var(--doubt); }
td.wide { min-width: 9rem; }
.lines table { white-space: nowrap; font-size: .8rem; }
.lines td { white-space: normal; max-width: 18rem; }
.map { width: 100%; max-width: 46rem; height: auto; display: block; margin: .75rem 0; }
.map text { text-anchor: middle; font-size: 15px; fill: var(--ink); }
.map .code { font-weight: 700; font-size: 18px; }
.map .plate { fill: var(--paper); }
.t0 { fill: var(--t0); } .t1 { fill: var(--t1); } .t2 { fill: var(--t2); }
.t3 { fill: var(--t3); } .t4 { fill: var(--t4); }
.map .light { fill: var(--on-light); } .map .dark { fill: var(--on-dark); }
.zero { fill: var(--paper); stroke: var(--bar); stroke-width: 2; }
.refund { fill: var(--refund); stroke: var(--doubt); stroke-width: 2; }
.empty { fill: var(--empty); } .map .faint { fill: var(--muted); font-size: 16px; }
.hatch { stroke: var(--muted); stroke-width: 2; fill: none; } .dots { fill: var(--muted); }
.partial, .none { stroke: var(--muted); }
.corner { fill: var(--doubt); stroke: var(--paper); }
.keys {
  display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: 0; margin: .25rem 0 1rem;
  list-style: none; font-size: .87rem;
}
.keys svg { width: 1.7rem; height: 1rem; vertical-align: -.15rem; margin-right: .4rem; }
dl {
  display: grid; grid-template-columns: minmax(9rem, 15rem) 1fr; gap: .25rem 1rem;
  margin: .5rem 0 1.25rem; font-size: .9rem;
}
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin: .5rem 0 1rem; } summary { cursor: pointer; font-weight: 600; }
ul.notes { padding-left: 1.1rem; max-width: 52rem; }
footer { padding-bottom: 3rem; }
@media (max-width: 34rem) {
  body { font-size: 14px; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
  h1 { font-size: 1.4rem; } main, header, footer { padding-left: .9rem; padding-right: .9rem; }
}
@page { margin: 14mm 12mm; }
@page wide { size: landscape; }
@media print {
  :root {
    --ink: #000; --muted: #444; --line: #bbb; --paper: #fff; --card: #fff; --bar: #2b77b5;
    --doubt: #b35900; --link: #000; --empty: #f0f2f4; --refund: #fdf0d5;
    --t0: #dbe9f6; --t1: #a9cde8; --t2: #67a9d6; --t3: #2b77b5; --t4: #0a3f78;
    --on-light: #1b1f24; --on-dark: #fff;
  }
  body { font-size: 10pt; } nav { display: none; } .scroll { overflow: visible; }
  main, header, footer { max-width: none; padding: 0; }
  /* the head on every page, the total on the last alone */
  thead { display: table-header-group; } tfoot { display: table-row-group; }
  tr, .card, .map { break-inside: avoid; }
  h2 { break-after: avoid; }
  .lines, #lines { page: wide; }
  .lines table { font-size: 6.5pt; width: 100%; }
  .lines th, .lines td { white-space: normal; overflow-wrap: anywhere; min-width: 0; }
  .lines th.w, .lines td.w { min-width: 9rem; }
  .bar, .map * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
"""The whole style sheet, without any address: nothing is fetched."""
