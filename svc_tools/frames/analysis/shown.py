"""Small tables of results for a terminal (`str`) and a notebook (`_repr_html_`).

Nothing of the data becomes markup or a terminal's control sequence, and no row is cut silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from svc_tools.frames.reports.summary_words import exact_dollars

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["Table", "as_html", "as_text", "counted", "plain", "table_of", "written"]

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


def written(value: Any) -> str:  # noqa: ANN401 - a cell of any column
    """A cell: dollars with cents, counts with separators, what is missing as a dash."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return NOTHING
    if isinstance(value, Decimal):
        return exact_dollars(value) if value.as_tuple().exponent == -2 else str(value)  # noqa: PLR2004  # cents
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(value)


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain(value: object) -> str:
    """A value of the data on one line: nothing unprintable, and not endless."""
    text = "".join(one if one.isprintable() else "\ufffd" for one in str(value).strip())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


def table_of(
    title: str,
    frame: pd.DataFrame,
    columns: Sequence[tuple[Hashable, str]],
    *,
    rows: int | None = None,
    labelled: str | None = None,
) -> Table:
    """Columns of a frame as a table.

    Args:
        title: the table's title.
        frame: the rows; the first `rows` of them are shown, and how many are not.
        columns: label in the frame, head in the table; with `~`, for words of ours, uncut.
        rows: how many rows to show; all by default.
        labelled: the head of a first column with the index labels; none by default.
    """
    shown = frame if rows is None else frame.iloc[:rows]
    cells = [
        [str(value) if head.startswith("~") else written(value) for value in shown[label].tolist()]
        for label, head in columns
    ]
    if labelled is not None:
        cells.insert(0, [plain(label) for label in shown.index.tolist()])
    heads = [*([labelled] if labelled is not None else []), *(head for _, head in columns)]
    left_out = len(frame) - len(shown)
    return Table(
        title,
        tuple(heads),
        tuple(zip(*cells, strict=True)),
        f"and {left_out:,} more" if left_out else None,
    )


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


_TABLE = "border-collapse:collapse;margin:.2em 0 .9em;font-size:inherit"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit;padding:.2em 0"
_CELL = "padding:.15em .9em .15em 0;vertical-align:top"
_RIGHT = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_LEFT = "text-align:left;white-space:nowrap"
_PROSE = "text-align:left;min-width:20em"
_RULE = "border-bottom:1px solid currentColor"


def as_html(title: str, sentences: Sequence[str], tables: Sequence[Table]) -> str:
    """The same as HTML that takes the notebook's own colours; all text is escaped."""
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in sentences]
    for table in tables:
        none = f"<p><strong>{escape(table.title)}</strong></p><p>none</p>"
        parts.append(_html(table) if table.rows else none)
        if table.more:
            parts.append(f"<p>{escape(table.more)}</p>")
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def _html(table: Table) -> str:
    looks = {">": _RIGHT, "~": _PROSE}
    styles = [f"{_CELL};{looks.get(head[:1], _LEFT)}" for head in table.heads]
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
    caption = f'<caption style="{_CAPTION}">{escape(table.title)}</caption>'
    head = f"<thead><tr>{heads}</tr></thead>"
    return f'<table style="{_TABLE}">{caption}{head}<tbody>{rows}</tbody></table>'
