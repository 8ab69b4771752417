"""Small tables of results for a terminal (`str`) and a notebook (`_repr_html_`).

Nothing of the data becomes markup or a terminal's control sequence, and no row is cut silently.
It needs no pandas: `frames.analysis.shown` makes such tables of frames.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

__all__ = [
    "NOTHING",
    "Table",
    "as_html",
    "as_text",
    "capital",
    "counted",
    "exact_dollars",
    "near",
    "plain",
    "printable",
    "the_service",
]

NOTHING = "\u2013"
"""What stands where there is no value: never a 0, and never nothing."""
_LONGEST = 60
_BETWEEN = "  "
_MARKS = ">~"


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of texts; a head with `>` is of a column of numbers, one with `~` of prose."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str | None = None
    """What is not shown, in words."""


def the_service(name: str) -> str:
    """A service within a sentence: "the embedded service", or its address."""
    return name if not name or "//" in name else f"the {name}"


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def printable(value: object) -> str:
    """A value of the data on one line: nothing that a terminal would obey."""
    return "".join(one if one.isprintable() else "\ufffd" for one in str(value).strip())


def near(path: Path) -> str:
    """A path for a reader: from the current folder or the home, where it is in one of them.

    A notebook is shown to others: the names of a machine's folders are no business of theirs.
    """
    for mark, folder in (("", Path.cwd), ("~/", Path.home)):
        with suppress(ValueError, OSError, RuntimeError):
            return f"{mark}{path.relative_to(folder()).as_posix()}"
    return str(path)


def capital(text: str) -> str:
    """A note as a sentence of its own: with a capital first."""
    return f"{text[:1].upper()}{text[1:]}"


def plain(value: object) -> str:
    """The same, and not endless: for a cell."""
    text = printable(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


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
    """The same as HTML that takes the notebook's own colours; all text is escaped."""
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


def _look(head: str, cells: Sequence[str]) -> str:
    if head.startswith(">"):
        return _RIGHT
    return _PROSE if head.startswith("~") or max(map(len, cells)) > _NARROW else _LEFT


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


def exact_dollars(value: Decimal) -> str:
    """An amount with its cents and the sign in front: `-$1,234.50`."""
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"
