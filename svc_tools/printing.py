"""Text and tables on a terminal or into a pipe: readable when narrow, and nothing is ever cut.

No line ends in blanks, no digit is coloured by itself, and what comes from data is never read as
markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, RenderableType


_BETWEEN = 3
"""Columns of the terminal between two columns of a table."""
_NARROWEST, _LONGEST_WORD = 12, 24
"""The least that a column of running text is given; a word up to that length is not broken."""


def print_text(console: Console, *parts: str | tuple[str, str], indent: int = 0) -> None:
    """Print one paragraph, wrapped; a part is text, or text with a Rich style."""
    _print(console, Text.assemble(*parts), indent=indent, width=console.width)


def print_table(
    console: Console,
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    total: Sequence[str | Text] | None = None,
    indent: int = 0,
) -> None:
    """Print a table, wider than the terminal where it cannot be made to fit.

    Args:
        console: where to.
        heads: the columns' heads; `>` before one makes a column of numbers, `~` one of running
            text that may be wrapped. Without any words there is no head line.
        rows: the cells.
        total: a last row, set apart.
        indent: blanks before each line.
    """
    body = [*rows, *([total] if total else [])]
    named = any(head.strip(">~") for head in heads)
    table = Table(box=SIMPLE_HEAD if named else None, show_header=named, show_edge=False)
    table.pad_edge = False
    table.padding = (0, 1) if named else (0, _BETWEEN, 0, 0)
    columns = [*zip(*body, strict=True)] if body else [()] * len(heads)
    room = console.width - indent - _BETWEEN * (len(heads) - 1)
    widths = _widths([*map(_need, heads, columns)], room)
    for head, width in zip(heads, widths, strict=True):
        table.add_column(
            Text(head.lstrip(">~")),
            justify="right" if head.startswith(">") else "left",
            no_wrap=not head.startswith("~"),
            overflow="fold",
            width=width,
        )
    for row in body:
        if row is total:
            table.add_section()
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    needed = indent + _BETWEEN * (len(heads) - 1) + sum(widths)
    _print(console, table, indent=indent, width=max(console.width, needed))


class _Need(NamedTuple):
    """The width that a column cannot do without, and the one that it would take."""

    least: int
    most: int


def _need(head: str, cells: Sequence[str | Text]) -> _Need:
    texts = [head.lstrip(">~"), *map(str, cells)]
    most = max(cell_len(line) for text in texts for line in text.split("\n"))
    if not head.startswith("~"):
        return _Need(most, most)
    longest = max((cell_len(word) for text in texts for word in text.split()), default=0)
    return _Need(min(most, max(_NARROWEST, min(longest, _LONGEST_WORD))), most)


def _widths(needs: Sequence[_Need], room: int) -> list[int]:
    """What each column gets: what it needs, and of the rest an even share of what it would take."""
    widths = [need.least for need in needs]
    spare = max(0, room - sum(widths))
    hungry = sorted(range(len(needs)), key=lambda one: needs[one].most - needs[one].least)
    for served, place in enumerate(hungry):
        more = min(needs[place].most - needs[place].least, spare // (len(hungry) - served))
        widths[place] += more
        spare -= more
    return widths


def _print(console: Console, renderable: RenderableType, *, indent: int, width: int) -> None:
    options = console.options.update(width=width)
    lines = console.render_lines(Padding(renderable, (0, 0, 0, indent)), options, pad=False)
    stripped = [segment for line in lines for segment in (*_stripped(line), Segment.line())]
    console.print(Segments(stripped), end="", crop=False)


def _stripped(line: list[Segment]) -> list[Segment]:
    """The line without the blanks at its end."""
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        text, style, control = kept[-1]
        kept[-1] = Segment(text.rstrip(), style, control)
    return kept
