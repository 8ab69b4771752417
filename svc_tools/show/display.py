"""How results are shown: tables and notes as text (Rich) and as HTML (Jinja2), and a lookup's card.

Nothing of the data becomes markup or a control sequence of a terminal: all text is escaped, or made
printable. No row is cut silently, and nothing that is missing looks like 0. HTML comes without
JavaScript. Rich and Jinja2 are imported when something is shown.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from svc_tools.base.extras import needs
from svc_tools.show.codes import (
    CONFIDENCES,
    PARTIAL_CODES,
    RATE_PARTS,
    all_warnings,
    code_of,
    confidence_of,
    known_part,
    lacking,
    meaning_of,
    percent,
    sentence,
    total_rate,
)
from svc_tools.show.official_pages import linked_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jinja2 import Environment
    from rich.box import Box
    from rich.console import Console, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    from svc_sdk.models import TaxResponse

RANGE_LABEL = "Between the lowest and the highest tax"
"""The name of the sum of `at_stake`, which is not all that is at stake in a review."""
NOTHING = "\u2013"
"""Shown where a value is missing: never 0, and never an empty cell."""
_ColumnKind = Literal["text", "number", "prose"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: its head, and whether it holds short texts, numbers or prose."""

    head: str
    kind: _ColumnKind = "text"


Head = str | TableColumn
"""A column of a table; a head alone is that of a column of short texts."""


def number(head: str = "") -> TableColumn:
    """A column of numbers: aligned right."""
    return TableColumn(head, "number")


def prose(head: str = "") -> TableColumn:
    """A column of sentences, wrapped where there is no room."""
    return TableColumn(head, "prose")


def as_columns(heads: Iterable[Head]) -> tuple[TableColumn, ...]:
    """Heads as columns."""
    return tuple(head if isinstance(head, TableColumn) else TableColumn(head) for head in heads)


class Table:
    """A captioned table of texts.

    Attributes:
        columns: the columns.
        rows: the cells.
        caption: what the table is of.
        more: what the table leaves out, in words.
    """

    __slots__ = ("caption", "columns", "more", "rows")

    def __init__(
        self,
        columns: Iterable[Head],
        rows: Iterable[Sequence[object]],
        caption: str = "",
        more: str | None = None,
    ) -> None:
        self.columns = as_columns(columns)
        self.rows = tuple(tuple(map(str, row)) for row in rows)
        self.caption = caption
        self.more = more

    def kind_of(self, column: int, narrow: int) -> _ColumnKind:
        """The kind of a column; one of texts is prose where a cell is longer than `narrow`."""
        kind = self.columns[column].kind
        if kind != "text":
            return kind
        return "prose" if any(len(row[column]) > narrow for row in self.rows) else "text"


@dataclass(frozen=True, slots=True)
class Note:
    """A title and sentences."""

    title: str
    sentences: Sequence[str] = ()


def as_text(*parts: Note | Table) -> str:
    """Notes and tables as lines of plain text, as wide as they need to be."""
    with needs("Showing a table", "bulk"):
        from rich.console import Console  # noqa: PLC0415 - see the module's docstring
    file = io.StringIO()
    # in a notebook Rich would show the text instead of writing it to the file
    plain_text = Console(
        file=file, width=_UNLIMITED, color_system=None, legacy_windows=False, force_jupyter=False
    )
    show(plain_text, *parts)
    return file.getvalue().rstrip()


def show(console: Console, *parts: Note | Table) -> None:
    """Print notes and tables, as wide as the console."""
    for place, part in enumerate(parts):
        if isinstance(part, Note):
            if place and isinstance(parts[place - 1], Table):
                print_text(console)
            print_text(console, (part.title, "bold"))
            for text in part.sentences:
                _print_sentence(console, text)
            continue
        if place:
            print_text(console)
        if part.caption:
            print_text(console, (part.caption, "bold"))
        if part.rows:
            print_table(console, part.columns, part.rows, indent=2)
        else:
            print_text(console, "none", indent=2)
        if part.more:
            print_text(console, part.more, indent=2)


def _print_sentence(console: Console, text: str) -> None:
    """Print a sentence; a web address at its end that does not fit has a line to be copied."""
    before, colon, address = text.rpartition(": ")
    if len(text) + 2 > console.width and re.fullmatch(r"https?://\S+", address):
        print_text(console, f"{before}{colon}".rstrip(), indent=2)
        print_line(console, f"    {address}")
    else:
        print_text(console, text, indent=2)


def as_html(*parts: Note | Table) -> str:
    """Notes and tables as HTML with inline styles, in the colors of the notebook."""
    return from_template("parts.html", parts=parts, narrow=_NARROW)


def table_html(table: Table) -> str:
    """A table as HTML of the panel: with classes, and scrolling inside itself where it is wide."""
    return str(_environment().get_template("tables.html").module.classed_table(table))  # type: ignore[attr-defined]


def from_template(template: str, **values: Any) -> str:  # noqa: ANN401 - as Jinja2
    """A template of `svc_tools/show/templates` with its values, all of them escaped."""
    return _environment().get_template(template).render(no_formulas=_NO_FORMULAS, **values)


@cache
def _environment() -> Environment:
    with needs("Showing HTML", "bulk"):
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - see the top
    made = Environment(
        loader=PackageLoader("svc_tools.show"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_for_html,
    )
    made.filters["linked_parts"] = lambda text: linked_parts("" if text is None else str(text))
    return made


_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


def _for_html(value: object) -> object:
    """A value without what HTML cannot hold; nothing for a missing one."""
    if value is None:
        return ""
    if hasattr(value, "__html__"):
        return value
    whole = str(value).encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair
    return _NOT_IN_HTML.sub("\ufffd", whole)


_NARROW = 32
"""A column whose longest cell is longer may be wrapped, so that none is pushed out of sight."""
_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""JupyterLab sets what stands between two dollar signs as a formula, sums of money too."""
_UNLIMITED = 10_000
_LONGEST_WORD = 24
"""Words up to that length are not broken: rows become blocks instead."""


def print_text(console: Console, *parts: str | tuple[str, str], indent: int = 0) -> None:
    """Print one paragraph, wrapped; a part is text, or text with a Rich style."""
    from rich.text import Text  # noqa: PLC0415 - see the module's docstring

    shown = (
        visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts
    )
    _print(console, _lines(console, Text.assemble(*shown), indent=indent))


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print one line that is there to be copied: it is not wrapped, however long."""
    from rich.text import Text  # noqa: PLC0415 - see the module's docstring

    console.print(Text(visible(text), style), soft_wrap=True)


def print_table(
    console: Console,
    heads: Iterable[Head],
    rows: Iterable[Sequence[str | Text]],
    *,
    total: Sequence[str | Text] | None = None,
    indent: int = 0,
) -> None:
    """Print a table that fits the terminal: nothing is cut.

    Where its columns do not fit side by side, they stand closer or are wrapped between words, the
    widest first; where a word would be broken, each row becomes a block with a line for each
    column. What comes from data is never read as markup, and no line ends in blanks.

    Args:
        console: where to print.
        heads: the columns; where none has a head, there is no head line.
        rows: the cells.
        total: a last row, set apart.
        indent: blanks before each line.
    """
    from rich.table import Table as Grid  # noqa: PLC0415 - as above

    columns = as_columns(heads)
    body = [[*map(_cell, row)] for row in (*rows, *([total] if total else []))]
    named = any(column.head for column in columns)
    table = Grid(box=_box(console) if named else None, show_header=named, show_edge=False)
    table.pad_edge = False
    names = [_cell(column.head) for column in columns]
    for column, name in zip(columns, names, strict=True):
        right = column.kind == "number"
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for place, row in enumerate(body, 1):
        if total and place == len(body):
            table.add_section()
        table.add_row(*row)
    found: list[list[list[Segment]]] = []
    for left in (1, 0) if named else (2, 1):  # the box has one blank between columns
        table.padding = (0, 1, 0, left)
        lines = _lines(console, table, indent=indent)
        is_whole = len(lines) <= len(body) + 2 * named  # a line for each row: nothing is wrapped
        if is_whole or not _breaks_words(lines, [names, *body]):
            found.append(lines)
        if is_whole or (found and not named):
            break
    if named and not found:
        _print_blocks(console, columns, body, indent=indent)
        return
    if found:
        lines = min(found, key=len)
    _print(console, lines)


def _print_blocks(
    console: Console, columns: Sequence[TableColumn], body: Sequence[Sequence[Text]], *, indent: int
) -> None:
    """Print each row as a block: a line for each column, its head in front."""
    for place, row in enumerate(body):
        if place:
            print_text(console)
        lines = [(column.head, cell) for column, cell in zip(columns, row, strict=True)]
        print_table(console, ("", prose()), lines, indent=indent)


def _breaks_words(lines: Sequence[Sequence[Segment]], table: Sequence[Sequence[Text]]) -> bool:
    """Whether the lines lack a word of the table that is not very long."""
    shown = Counter(word for line in lines for word in "".join(part.text for part in line).split())
    words = Counter(word for row in table for cell in row for word in cell.plain.split())
    return any(len(word) <= _LONGEST_WORD for word in words - shown)


def _cell(cell: str | Text) -> Text:
    """A cell of the terminal's table, with nothing in it that would control the terminal."""
    from rich.text import Text  # noqa: PLC0415 - see the module's docstring

    if isinstance(cell, str):
        return Text(visible(cell))
    return Text(visible(cell.plain), cell.style) if _CONTROLS.search(cell.plain) else cell


def _box(console: Console) -> Box:
    """A line under the heads; of hyphens in plain text, which any encoding can print."""
    from rich.box import SIMPLE_HEAD, Box  # noqa: PLC0415 - see the module's docstring

    if console.width < _UNLIMITED:
        return SIMPLE_HEAD
    rows = ("    ", "    ", " -- ", "    ", "    ", " -- ", "    ", "    ")
    return Box("".join(f"{row}\n" for row in rows), ascii=True)


def _lines(console: Console, renderable: RenderableType, *, indent: int = 0) -> list[list[Segment]]:
    """The lines of what is printed, as wide as the console and without blanks at their ends."""
    from rich.padding import Padding  # noqa: PLC0415 - see the module's docstring

    lines = console.render_lines(Padding(renderable, (0, 0, 0, indent)), pad=False)
    return [_stripped(line) for line in lines]


def _print(console: Console, lines: Iterable[Sequence[Segment]]) -> None:
    from rich.segment import Segment, Segments  # noqa: PLC0415 - see the module's docstring

    printed = [segment for line in lines for segment in (*line, Segment.line())]
    if console.options.ascii_only:
        printed = [part._replace(text=part.text.replace(NOTHING, "-")) for part in printed]
    console.print(Segments(printed), end="", crop=False)


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
_ROOM_FOR_TEXT, _ROOM_FOR_RATE = Decimal(22), Decimal(9)
"""The share of the bar, in percent, that has room for a part's name and rate, or for its rate."""


def card(
    result: TaxResponse,
    *,
    day: str = "",
    amount: str = "",
    tax: str = "",
    facts: Sequence[tuple[str, str]] = (),
    warnings: Sequence[str] | None = None,
) -> str:
    """The card of a lookup's result as HTML; without any style it reads as text.

    Args:
        result: the result, of either mode.
        day: the day of the request, in words.
        amount: an amount of dollars whose tax is wanted, in words; empty for none.
        tax: its tax in words; empty where there is none.
        facts: more about where the rate comes from: labels and values.
        warnings: the sentences to show; those of the result's warnings where left out. One about a
            part that is missing is shown at the rate alone.
    """
    rate, headline = result.rate, rate_headline(result)
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    what = "combined rate"
    if headline == "No rate":
        what = "the service has no reliable rate"
    if lacking(result):
        what = "known so far: not the whole rate"
    missing = [
        sentence(warning) for warning in result.warnings if code_of(warning) in PARTIAL_CODES
    ]
    parts = _card_known(result)
    level = confidence_of(result) or "not stated"
    bar, bar_label = _card_bar(result, parts)
    shown = map(sentence, all_warnings(result)) if warnings is None else warnings
    return from_template(
        "card.html",
        place=" ".join(part for part in (place, rate.zip) if part),
        headline=headline,
        what=what,
        day=day,
        amount=amount,
        tax=tax,
        missing=[*map(capital, missing)],
        alert=_ALERT,
        bar=bar,
        bar_label=bar_label,
        rates=_card_rates(result, parts),
        level=level,
        level_color=_CONFIDENCE_COLORS.get(level, _ALERT),
        level_meaning=meaning_of(level) if level in CONFIDENCES else "",
        facts=[*_card_facts(result), *facts],
        warnings=[capital(warning) for warning in shown if warning not in missing],
    )


def rate_headline(result: TaxResponse) -> str:
    """The rate in a few words: "8.25%", "At least 6.25%" if a part is missing, or "No rate"."""
    total = total_rate(result)
    if total is None:
        return "No rate"
    return f"At least {percent(total)}" if lacking(result) else percent(total)


def _card_known(result: TaxResponse) -> list[tuple[str, Decimal | None, str]]:
    """Name, rate and color of each part; a country's only where it has one."""
    parts = [
        (name, known_part(result, field), _PART_COLORS.get(field, _OTHER_COLOR))
        for name, field in (("Country", "country_rate"), *RATE_PARTS)
    ]
    return parts if parts[0][1] else parts[1:]


def _card_bar(
    result: TaxResponse, known: Sequence[tuple[str, Decimal | None, str]]
) -> tuple[list[tuple[Decimal, str, str]], str]:
    """The pieces of the bar, as wide as their share of the rate, and its label."""
    parts = [(name, part, color) for name, part, color in known if part and part > 0]
    whole = sum((part for _, part, _ in parts), Decimal(0))
    if not whole or rate_headline(result) == "No rate":
        return [], ""
    partial = bool(lacking(result))
    room = Decimal(75) if partial else Decimal(100)
    pieces = []
    for name, part, color in parts:
        share = (part / whole * room).quantize(Decimal("0.01"))
        label = percent(part) if share >= _ROOM_FOR_RATE else ""
        pieces.append((share, color, f"{name} {label}" if share >= _ROOM_FOR_TEXT else label))
    named = ", ".join(f"{name} {percent(part)}" for name, part, _ in parts)
    rest = ", and a part that is not known" if partial else ""
    return pieces, f"Parts of the rate: {named}{rest}"


def _card_rates(
    result: TaxResponse, known: Iterable[tuple[str, Decimal | None, str]]
) -> list[tuple[str, str, str]]:
    """Color, name and rate of each part; without a color their sum."""
    rows = [
        (color, name, "not known" if part is None else percent(part)) for name, part, color in known
    ]
    # a figure that is none must not look like a rate
    total = total_rate(result)
    summed = "no rate" if total is None else percent(total)
    return [*rows, ("", "Known so far" if lacking(result) else "Combined", summed)]


def read_in(result: TaxResponse) -> str:
    """What the rule of delivery was read in, in brackets; empty where that is an official page."""
    certainty = (result.rate.model_extra or {}).get("freight_certainty")
    read = {
        "two independent sources": "two independent sources",
        "one source": "one source",
        "none": "not settled",
    }
    return f" ({read[certainty]})" if isinstance(certainty, str) and certainty in read else ""


def _card_facts(result: TaxResponse) -> list[tuple[str, str]]:
    meta, extra = result.meta, result.meta.model_extra or {}
    basis, via, freight = meta.effective_date_basis, meta.resolved_via, result.rate.freight_taxable
    in_force = meta.effective_date or "not published"
    delivery = "not known whether taxable"
    if isinstance(freight, bool):
        delivery = "taxable" if freight else "not taxable"
        delivery += read_in(result)
    return [
        ("Decided by", (meaning_of(via) or via) if via else "not stated"),
        ("In force since", f"{in_force} ({meaning_of(basis) or basis})" if basis else in_force),
        ("Source", str(extra.get("source") or "not stated")),
        ("Edition", str(extra.get("edition") or "not stated")),
        ("Delivery charges", delivery),
    ]


FIRST_ROW = 2
"""The row of a table's first line: rows are counted as in a spreadsheet, the names are row 1."""


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def places_and_dates(count: int) -> str:
    """How many lookups rows need: one place on two days is two of them."""
    return "1 distinct place and date" if count == 1 else f"{count:,} distinct places and dates"


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - most
    return [*lines[:most], *([f"and {more:,} more"] if more > 0 else [])]


def capital(text: str) -> str:
    """The text with a capital first, as a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def the_service(name: str) -> str:
    """A service within a sentence: "the embedded service", or its address."""
    return name if not name or "//" in name else f"the {name}"


def exact_dollars(value: Decimal) -> str:
    """An amount with its cents and the sign in front: `-$1,234.50`."""
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


_MOST_WARNINGS = 10


def unknown_warnings_sentence(found: Sequence[tuple[str, int]]) -> str:
    """The codes of a service's warnings that are not known, with their rows; empty without any."""
    if not found:
        return ""
    shown = [f"{plain(code)} ({counted(rows, 'row')})" for code, rows in found]
    named = ", ".join(first_of(shown, _MOST_WARNINGS))
    a_warning = "a warning that is" if len(found) == 1 else "warnings that are"
    they = "it alone requires" if len(found) == 1 else "they alone require"
    return f"The service sent {a_warning} not known here: {named}; {they} no review."


_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What moves the cursor of a terminal, colors, rings or reorders; tab and line feed are text."""


def visible(text: str) -> str:
    r"""Text from a service or a file for a terminal: an escape character is shown as `\x1b`."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def printable(value: object) -> str:
    """A value of the data on one line, without control characters."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in str(value).strip())


def plain(value: object, longest: int = 60) -> str:
    """A value of the data for a cell: `printable`, and shortened."""
    text = printable(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}\u2026"


def near(path: Path) -> str:
    """A path for display: relative to the current folder or the home where it is in one of them.

    A notebook is shown to others, who need not see the names of a machine's folders.
    """
    for mark, folder in (("", Path.cwd), ("~/", Path.home)):
        with suppress(ValueError, OSError, RuntimeError):
            return f"{mark}{path.relative_to(folder()).as_posix()}"
    return str(path)


_MINUTE, _HOUR = 60, 3_600


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
