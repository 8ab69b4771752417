"""How results are shown: text for terminals (Rich), HTML for notebooks, and the card of a lookup.

Nothing of the data becomes markup or a control sequence of a terminal: all text is escaped, or made
printable. No row is cut silently, and nothing that is missing looks like 0. HTML comes without
JavaScript, its styles inline.

Rich is imported when something is printed: the package, frames and the panel work without it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.codes import (
    BASES,
    CONFIDENCE_MEANINGS,
    DECIDED_BY,
    PARTS,
    known_part,
    lacking,
    percent,
    sentence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    from svc_sdk.models import TaxResponse

RANGE_LABEL = "Between the lowest and highest rate of the place"
"""The name of the sum of `at_stake`, which is not all that is at stake in a review."""
NOTHING = "\u2013"
"""Shown where a value is missing: never 0, and never an empty cell."""
_BETWEEN = "  "
_MARKS = ">~"


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of texts.

    A head that begins with `>` is that of a column of numbers, one with `~` that of running text.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str | None = None
    """What the table leaves out, in words."""


def as_text(title: str, sentences: Sequence[str], tables: Sequence[Table]) -> str:
    """Title, sentences and tables as lines of plain text."""
    lines = [title, *(f"  {sentence}" for sentence in sentences)]
    for table in tables:
        lines += ["", table.title, *_lines(table)]
    return "\n".join(line.rstrip() for line in lines)


def _lines(table: Table) -> list[str]:
    if not table.rows:
        return ["  none"]
    numbers = [head.startswith(">") for head in table.heads]
    heads = [head.lstrip(_MARKS) for head in table.heads]
    widths = [max(map(len, column)) for column in zip(heads, *table.rows, strict=True)]
    drawn = [heads, ["-" * width for width in widths], *table.rows]
    lines = [
        "  "
        + _BETWEEN.join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        )
        for row in drawn
    ]
    return [*lines, f"  {table.more}"] if table.more else lines


_TABLE_STYLE = "border-collapse:collapse;margin:.7em 0 .4em;font-size:inherit"
_TABLE_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit;padding:.2em 0"
_TABLE_CELL = "padding:.15em .8em .15em 0;vertical-align:top"
_RIGHT = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_LEFT = "text-align:left;white-space:nowrap"
_PROSE = "text-align:left;min-width:9em;overflow-wrap:anywhere"
_NARROW = 32
"""A column whose longest cell is longer may be wrapped, so that none is pushed out of sight."""
_PARAGRAPH = "margin:.15em 0"
_RULE = "border-bottom:1px solid currentColor"
_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""JupyterLab sets what stands between two dollar signs as a formula, sums of money too."""


def as_html(title: str, sentences: Sequence[str], tables: Sequence[Table]) -> str:
    """Title, sentences and tables as HTML, in the colors of the notebook."""
    parts = [_paragraph(f"<strong>{escape(title)}</strong>")]
    parts += [_paragraph(escape(sentence)) for sentence in sentences]
    for table in tables:
        none = _paragraph(f"<strong>{escape(table.title)}</strong>") + _paragraph("none")
        parts.append(_html(table) if table.rows else none)
        if table.more:
            parts.append(_paragraph(escape(table.more)))
    return f'<div class="{_NO_FORMULAS}" style="overflow-x:auto">{"".join(parts)}</div>'


def _paragraph(markup: str) -> str:
    return f'<p style="{_PARAGRAPH}">{markup}</p>'


def _html(table: Table) -> str:
    columns = zip(table.heads, *table.rows, strict=True)
    styles = [f"{_TABLE_CELL};{_look(head, cells)}" for head, *cells in columns]
    heads = "".join(
        f'<th scope="col" style="{style};{_RULE}">{escape(head.lstrip(_MARKS))}</th>'
        for head, style in zip(table.heads, styles, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style}">{escape(cell)}</td>'
            for cell, style in zip(row, styles, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    caption = f'<caption style="{_TABLE_CAPTION}">{escape(table.title)}</caption>'
    head = f"<thead><tr>{heads}</tr></thead>"
    return f'<table style="{_TABLE_STYLE}">{caption}{head}<tbody>{rows}</tbody></table>'


def _look(head: str, cells: Sequence[str]) -> str:
    if head.startswith(">"):
        return _RIGHT
    return _PROSE if head.startswith("~") or max(map(len, cells)) > _NARROW else _LEFT


_GAP = 3
"""Characters between two columns of a table on the terminal."""
_NARROWEST, _LONGEST_WORD = 12, 24
"""The least width of a column of running text; words up to that length are not broken."""


def print_text(console: Console, *parts: str | tuple[str, str], indent: int = 0) -> None:
    """Print one paragraph, wrapped; a part is text, or text with a Rich style."""
    from rich.text import Text  # noqa: PLC0415 - see the module's docstring

    _print(console, Text.assemble(*parts), indent=indent, width=console.width)


def print_table(
    console: Console,
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    total: Sequence[str | Text] | None = None,
    indent: int = 0,
) -> None:
    """Print a table, wider than the terminal where it cannot be made to fit: nothing is cut.

    What comes from data is never read as markup, and no line ends in blanks.

    Args:
        console: where to print.
        heads: the heads of the columns, marked as in `Table`; where none has words, there is no
            head line.
        rows: the cells.
        total: a last row, set apart.
        indent: blanks before each line.
    """
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - see the module's docstring
    from rich.table import Table as Grid  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    body = [*rows, *([total] if total else [])]
    named = any(head.strip(_MARKS) for head in heads)
    table = Grid(box=SIMPLE_HEAD if named else None, show_header=named, show_edge=False)
    table.pad_edge = False
    table.padding = (0, 1) if named else (0, _GAP, 0, 0)
    columns = [*zip(*body, strict=True)] if body else [()] * len(heads)
    room = console.width - indent - _GAP * (len(heads) - 1)
    widths = _widths([*map(_need, heads, columns)], room)
    for head, width in zip(heads, widths, strict=True):
        table.add_column(
            Text(head.lstrip(_MARKS)),
            justify="right" if head.startswith(">") else "left",
            no_wrap=not head.startswith("~"),
            overflow="fold",
            width=width,
        )
    for row in body:
        if row is total:
            table.add_section()
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    needed = indent + _GAP * (len(heads) - 1) + sum(widths)
    _print(console, table, indent=indent, width=max(console.width, needed))


class _Need(NamedTuple):
    """The least width of a column, and the width at which nothing in it is wrapped."""

    least: int
    most: int


def _need(head: str, cells: Sequence[str | Text]) -> _Need:
    from rich.cells import cell_len  # noqa: PLC0415 - see the module's docstring

    texts = [head.lstrip(_MARKS), *map(str, cells)]
    most = max(cell_len(line) for text in texts for line in text.split("\n"))
    if not head.startswith("~"):
        return _Need(most, most)
    longest = max((cell_len(word) for text in texts for word in text.split()), default=0)
    return _Need(min(most, max(_NARROWEST, min(longest, _LONGEST_WORD))), most)


def _widths(needs: Sequence[_Need], room: int) -> list[int]:
    """The width of each column: its least, and an even share of the room that is left."""
    widths = [need.least for need in needs]
    spare = max(0, room - sum(widths))
    by_need = sorted(range(len(needs)), key=lambda one: needs[one].most - needs[one].least)
    for served, column in enumerate(by_need):
        more = min(needs[column].most - needs[column].least, spare // (len(by_need) - served))
        widths[column] += more
        spare -= more
    return widths


def _print(console: Console, renderable: RenderableType, *, indent: int, width: int) -> None:
    from rich.padding import Padding  # noqa: PLC0415 - see the module's docstring
    from rich.segment import Segment, Segments  # noqa: PLC0415 - as above

    options = console.options.update(width=width)
    lines = console.render_lines(Padding(renderable, (0, 0, 0, indent)), options, pad=False)
    stripped = [segment for line in lines for segment in (*_stripped(line), Segment.line())]
    console.print(Segments(stripped), end="", crop=False)


def _stripped(line: list[Segment]) -> list[Segment]:
    """The line without blanks at its end."""
    stripped = list(line)
    while stripped and not stripped[-1].text.strip():
        stripped.pop()
    if stripped:
        stripped[-1] = stripped[-1]._replace(text=stripped[-1].text.rstrip())
    return stripped


_CONFIDENCE_COLORS = {"exact": "#1a7f37", "high": "#1a7f37", "medium": "#8a5a00", "low": "#cf2f26"}
_ALERT = "#cf2f26"
_PART_COLORS = {
    "state_rate": "#1f5f99",
    "county_rate": "#6b4a94",
    "city_rate": "#146c66",
    "combined_district_rate": "#98470f",
}
_OTHER_COLOR = "#57606a"
_CARD_CELL = "padding:2px 16px 2px 0;vertical-align:top;background:transparent"
_CARD_CAPTION = "text-align:left;font-weight:bold;padding:0"
_CARD_TABLE = "border-collapse:collapse;margin:0 0 8px 0"
_ROOM_FOR_TEXT, _ROOM_FOR_RATE = Decimal(22), Decimal(9)
"""The share of the bar, in percent, that has room for a part's name and rate, or for its rate."""


def card(
    result: TaxResponse,
    *,
    day: str = "",
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> str:
    """The card of a lookup's result as HTML.

    Its styles are plain values, because notebooks that are not trusted keep no others; without any
    style it reads as text.

    Args:
        result: the result, of either mode.
        day: the day of the request, in words.
        facts: more about where the rate comes from: labels and values.
        notes: sentences that are shown before the service's own warnings.
        meanings: what the codes of warnings mean.
    """
    rate, headline = result.rate, rate_headline(result)
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    place = " ".join(part for part in (place, rate.zip) if part)
    what = "combined rate"
    if headline == "No rate":
        what = "the service gives none that it could stand by"
    if lacking(result):
        what = "known so far: not the whole rate"
    what = f"{what}, {day}" if day else what
    return (
        f'<div class="svc-card {_NO_FORMULAS}"'
        ' style="max-width:720px;overflow-wrap:anywhere">'
        f'<p style="margin:0;font-weight:bold">{escape(place)}</p>'
        '<p style="margin:4px 0 8px 0"><span class="svc-rate" data-svc="rate"'
        f' style="font-size:32px;font-weight:bold">{escape(headline)}</span>'
        f" <span>{escape(what)}</span></p>"
        f"{_card_partial(result, meanings)}{_card_bar(result)}"
        '<div style="display:flex;flex-wrap:wrap;align-items:flex-start;gap:0px 24px">'
        f"{_card_parts(result)}{_card_grounds(result, facts)}</div>"
        f"{_card_warnings(result, notes, meanings)}</div>"
    )


def rate_headline(result: TaxResponse) -> str:
    """The rate in a few words: "8.25 %", "At least 6.25 %" if a part is missing, or "No rate"."""
    total = result.rate.combined_rate_decimal
    if total is None or result.confidence == "none":
        return "No rate"
    return f"At least {percent(total)}" if lacking(result) else percent(total)


def _card_partial(result: TaxResponse, meanings: Mapping[str, str] | None) -> str:
    codes = lacking(result)
    if not codes:
        return ""
    missing = "; ".join((meanings or {}).get(code, code.replace("_", " ")) for code in codes)
    return (
        '<p class="svc-partial" style="margin:0 0 8px 0;padding:6px 10px;'
        f'border:2px solid {_ALERT}">'
        f"<strong>PARTIAL: a part of the rate is not known.</strong> {escape(capital(missing))}."
        " Compute no tax from it before the rest is known.</p>"
    )


def _card_known(result: TaxResponse) -> list[tuple[str, Decimal | None, str]]:
    """Name, rate and color of each part; a country's only where it has one."""
    parts = [
        (name, known_part(result, field), _PART_COLORS.get(field, _OTHER_COLOR))
        for name, field in (("Country", "country_rate"), *PARTS)
    ]
    return parts if parts[0][1] else parts[1:]


def _card_bar(result: TaxResponse) -> str:
    """The parts next to each other, as wide as their share of the rate; the table says the same."""
    parts = [(name, part, color) for name, part, color in _card_known(result) if part and part > 0]
    whole = sum((part for _, part, _ in parts), Decimal(0))
    if not whole or rate_headline(result) == "No rate":
        return ""
    partial = bool(lacking(result))
    room = Decimal(75) if partial else Decimal(100)
    style = (
        "padding:8px 0;overflow:hidden;text-align:center;box-sizing:border-box;white-space:nowrap"
    )
    pieces = ""
    for name, part, color in parts:
        share = (part / whole * room).quantize(Decimal("0.01"))
        label = percent(part) if share >= _ROOM_FOR_RATE else "&nbsp;"
        label = f"{name} {label}" if share >= _ROOM_FOR_TEXT else label
        pieces += (
            f'<div style="width:{share}%;background-color:{color};color:#ffffff;{style};'
            f'text-overflow:ellipsis;border-right:1px solid #ffffff">{label}</div>'
        )
    if partial:
        pieces += f'<div style="flex:1;border:2px dashed {_ALERT};{style}">not known</div>'
    label = ", ".join(f"{name} {percent(part)}" for name, part, _ in parts)
    rest = ", and a part that is not known" if partial else ""
    return (
        f'<div class="svc-bar" role="img" aria-label="Parts of the rate: {escape(label)}{rest}"'
        f' style="display:flex;width:100%;margin:0 0 8px 0;font-size:12px">{pieces}</div>'
    )


def _card_parts(result: TaxResponse) -> str:
    rows = [
        (
            f'<span style="color:{color}">&#9632;</span> {name}',
            "not known" if part is None else percent(part),
        )
        for name, part, color in _card_known(result)
    ]
    total = result.rate.combined_rate_decimal
    # a figure of confidence "none" must not look like a rate
    summed = "no rate" if total is None or result.confidence == "none" else percent(total)
    last = "Known so far" if lacking(result) else "Combined"
    rows.append((f"<strong>{last}</strong>", f"<strong>{summed}</strong>"))
    return (
        f'<table class="svc-parts" style="{_CARD_TABLE}">'
        f'<caption style="{_CARD_CAPTION}">Parts of the rate</caption>'
        '<thead><tr style="background:transparent">'
        f'<th scope="col" style="text-align:left;{_CARD_CELL}">Part</th>'
        f'<th scope="col" style="text-align:right;{_CARD_CELL}">Rate</th></tr></thead>'
        f"{_card_body(rows, 'right')}</table>"
    )


def _card_grounds(result: TaxResponse, facts: Sequence[tuple[str, str]]) -> str:
    meta, extra = result.meta, result.meta.model_extra or {}
    level = result.confidence or "not stated"
    badge = (
        '<span class="svc-confidence" style="color:#ffffff;padding:1px 8px;border-radius:3px;'
        f'background-color:{_CONFIDENCE_COLORS.get(level, _ALERT)}">{escape(level)}</span>'
        f" {escape(CONFIDENCE_MEANINGS.get(level, ''))}"
    )
    basis, via, freight = meta.effective_date_basis, meta.resolved_via, result.rate.freight_taxable
    in_force = meta.effective_date or "not published"
    delivery = "not known whether taxable"
    if isinstance(freight, bool):
        delivery = "taxable" if freight else "not taxable"
    texts = [
        ("Decided by", DECIDED_BY.get(via, via) if via else "not stated"),
        ("In force since", f"{in_force} ({BASES.get(basis, basis)})" if basis else in_force),
        ("Source", str(extra.get("source") or "not stated")),
        ("Edition", str(extra.get("edition") or "not stated")),
        ("Delivery charges", delivery),
        *facts,
    ]
    rows = [("Confidence", badge), *((escape(name), escape(value)) for name, value in texts)]
    return (
        f'<table class="svc-grounds" style="{_CARD_TABLE};max-width:440px">'
        f'<caption style="{_CARD_CAPTION}">What it rests on</caption>'
        f"{_card_body(rows, 'left')}</table>"
    )


def _card_body(rows: Iterable[tuple[str, str]], align: str) -> str:
    """Rows of a head and a cell, both of them markup."""
    head = f"text-align:left;{_CARD_CELL};font-weight:normal;white-space:nowrap"
    cells = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{head}">{name}</th>'
        f'<td style="text-align:{align};{_CARD_CELL}">{value}</td></tr>'
        for name, value in rows
    )
    return f"<tbody>{cells}</tbody>"


def _card_warnings(
    result: TaxResponse, notes: Sequence[str], meanings: Mapping[str, str] | None
) -> str:
    texts = [*notes, *(sentence(warning, meanings) for warning in result.warnings)]
    if not texts:
        return '<p style="margin:0">The service has no warnings.</p>'
    items = "".join(f"<li>{escape(capital(text))}</li>" for text in texts)
    return (
        '<p style="margin:0;font-weight:bold">Warnings</p>'
        f'<ul class="svc-warnings" style="margin:0;padding-left:20px">{items}</ul>'
    )


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def capital(text: str) -> str:
    """The text with a capital first, as a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def the_service(name: str) -> str:
    """A service within a sentence: "the embedded service", or its address."""
    return name if not name or "//" in name else f"the {name}"


def exact_dollars(value: Decimal) -> str:
    """An amount with its cents and the sign in front: `-$1,234.50`."""
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def printable(value: object) -> str:
    """A value of the data on one line, without control characters."""
    return "".join(one if one.isprintable() else "\ufffd" for one in str(value).strip())


_LONGEST = 60


def plain(value: object) -> str:
    """A value of the data for a cell: `printable`, and shortened."""
    text = printable(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


def near(path: Path) -> str:
    """A path for display: relative to the current folder or the home where it is in one of them.

    A notebook is shown to others, who need not see the names of a machine's folders.
    """
    for mark, folder in (("", Path.cwd), ("~/", Path.home)):
        with suppress(ValueError, OSError, RuntimeError):
            return f"{mark}{path.relative_to(folder()).as_posix()}"
    return str(path)


STAGES = {
    "reading": ("Reading", "rows"),
    "asking": ("Asking", "places"),
    "writing": ("Writing", "rows"),
}
"""The stages of an enriched file: what is done, and what is counted."""
_MINUTE, _HOUR = 60, 3_600


def how_far(done: int, total: float | None, speed: float | None, unit: str) -> str:
    """`4,000 of 10,000 places, 133/s, 45 s left`; without a speed only the first part."""
    of = f"{done:,} {unit}" if total is None else f"{done:,} of {int(total):,} {unit}"
    if not speed:
        return of
    rate = f"{speed:,.0f}/s" if speed >= 1 else f"{speed * _MINUTE:,.0f}/min"
    left = "" if total is None else f", {duration((total - done) / speed)} left"
    return f"{of}, {rate}{left}"


def duration(seconds: float) -> str:
    """A length of time: 0.4 s, 45 s, 3 min 20 s, 2 h 05 min."""
    if seconds < 10:  # noqa: PLR2004  # tenths are of interest
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"
