"""The map of tax by state, drawn: one tile a state, all of one size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.patches import Polygon, Rectangle

from svc_tools.frames.charting.chart_page import INK, MUTED, Block, Page, SvcFigure
from svc_tools.frames.charting.chart_panels import headline_of, notes_of
from svc_tools.frames.charting.tile_map import COLUMNS, ROWS, Tile, TileMap, tile_map
from svc_tools.frames.summary import source_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from svc_tools.frames.summary import Summary

__all__ = ["draw_tile_map"]

_MARGIN = 0.2
_INNER = 0.06  # of a tile: the gap between two
_BLUES = ("#dbe9f6", "#a9cde8", "#67a9d6", "#2b77b5", "#0a3f78")
_LIGHT_TEXT_FROM = 3
_LEGEND_LINE, _LEGEND_STEP = 0.24, 1.78  # inches: one line of it, one entry at least
_MOST_TILE = 0.95
_LACKING = "#b35900"
_OF_BARS = ("other:", "Tax of 0.00")
"""Notes that explain a chart of bars."""


class _Look(NamedTuple):
    fill: str
    edge: str
    hatch: str
    text: str


def draw_tile_map(summary: Summary, *, title: str, width: float) -> SvcFigure:
    """The map of a summary's taxes on a page `width` inches wide."""
    tiles = tile_map(summary)
    heading = Block([title], width, size=15 if width > 5 else 12.5, bold=True)  # noqa: PLR2004
    head = Block(headline_of(summary), width, size=10 if width > 5 else 8.5)  # noqa: PLR2004
    small = 8 if width > 5 else 7.2  # noqa: PLR2004
    notes = Block(_notes(summary, tiles), width, size=small, apart=0.06)
    side = min((width - 2 * _MARGIN) / COLUMNS, _MOST_TILE)
    legend = _legend_of(tiles)
    in_a_line = max(1, int((width - 2 * _MARGIN) / _LEGEND_STEP))
    lines = -(-len(legend) // in_a_line)
    top = 0.2 + heading.height + 0.06 + head.height + 0.12
    grid = top + side * ROWS + 0.14
    page = Page(width, grid + _LEGEND_LINE * lines + 0.1 + notes.height + 0.15)
    page.figure.set_label(" ".join([f"{title}.", *headline_of(summary), tiles.described()]))
    down = heading.on(page, 0.2) + 0.06
    head.on(page, down)
    axes = page.axes((width - side * COLUMNS) / 2, top, side * COLUMNS, side * ROWS)
    axes.set_xlim(0, COLUMNS)
    axes.set_ylim(ROWS, 0)
    axes.axis("off")
    for tile in tiles.tiles:
        _draw(axes, tile, side, len(tiles.bounds))
    _draw_legend(page, legend, grid, in_a_line)
    notes.on(page, grid + _LEGEND_LINE * lines + 0.1, color=MUTED)
    return page.figure


def _look(kind: str, level: int) -> _Look:
    if kind == "tax":
        light = level >= _LIGHT_TEXT_FROM
        return _Look(
            _BLUES[level], _BLUES[min(level + 1, len(_BLUES) - 1)], "", "white" if light else INK
        )
    return {
        "zero": _Look("white", "#2b77b5", "", INK),
        "refund": _Look("#fdf0d5", _LACKING, "", INK),
        "partial": _Look("white", "#8c959f", "////", INK),
        "none": _Look("white", "#8c959f", "....", INK),
        "empty": _Look("#f3f4f6", "#f3f4f6", "", "#8c959f"),
    }[kind]


def _shade(level: int, classes: int) -> int:
    """Which blue a class has: few classes lie as far apart as many."""
    return round(level * (len(_BLUES) - 1) / (classes - 1)) if classes > 1 else _LIGHT_TEXT_FROM


def _draw(axes: Axes, tile: Tile, side: float, classes: int) -> None:
    look = _look(tile.kind, _shade(tile.level, classes))
    left, top, size = tile.column + _INNER / 2, tile.row + _INNER / 2, 1 - _INNER
    axes.add_patch(
        Rectangle(
            (left, top),
            size,
            size,
            facecolor=look.fill,
            edgecolor=look.edge,
            hatch=look.hatch,
            linewidth=1.1 if tile.kind in {"zero", "refund"} else 0.7,
        )
    )
    if tile.lacking:
        axes.add_patch(_corner(left, top, size))
    points = side * 72
    plate: dict[str, Any] | None = None
    if look.hatch:  # words do not stand on hatching
        plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    middle = left + size / 2
    style: dict[str, Any] = {"ha": "center", "color": look.text, "bbox": plate, "parse_math": False}
    if not tile.says:
        axes.text(middle, top + size / 2, tile.state, va="center", fontsize=points * 0.22, **style)
        return
    axes.text(
        middle,
        top + size * 0.36,
        tile.state,
        va="center",
        fontsize=points * 0.25,
        fontweight="bold",
        **style,
    )
    axes.text(
        middle,
        top + size * 0.72,
        tile.says,
        va="center",
        fontsize=points * (0.185 if len(tile.says) < 7 else 0.165),  # noqa: PLR2004
        **style,
    )


def _corner(left: float, top: float, size: float) -> Polygon:
    part = size * 0.26
    return Polygon(
        [(left + size, top), (left + size - part, top), (left + size, top + part)],
        facecolor=_LACKING,
        edgecolor="white",
        linewidth=0.6,
    )


def _legend_of(tiles: TileMap) -> list[tuple[str, int, str]]:
    """Kind, level and words of each look that occurs."""
    ranges = tiles.ranges()
    legend = [("tax", _shade(level, len(ranges)), words) for level, words in enumerate(ranges)]
    words = {
        "zero": "$0: rate of 0, or no sales",
        "refund": "below $0: refunds",
        "partial": "partial rates only: no tax",
        "none": "no rate: no tax",
        "empty": "no rows",
    }
    legend += [(kind, 0, said) for kind, said in words.items() if kind in tiles.kinds]
    if any(tile.lacking for tile in tiles.tiles):
        legend.append(("lacking", 0, "some rows have no tax"))
    return legend


def _draw_legend(
    page: Page, legend: Sequence[tuple[str, int, str]], down: float, in_a_line: int
) -> None:
    step = (page.width - 2 * _MARGIN) / in_a_line
    for place, (kind, level, words) in enumerate(legend):
        left = _MARGIN + step * (place % in_a_line)
        top = down + _LEGEND_LINE * (place // in_a_line)
        key = page.axes(left, top, 0.26, 0.16)
        key.set_xlim(0, 1)
        key.set_ylim(1, 0)
        key.axis("off")
        look = _look("empty" if kind == "lacking" else kind, level)
        key.add_patch(
            Rectangle(
                (0.03, 0.04),
                0.94,
                0.92,
                facecolor=look.fill,
                edgecolor=look.edge if kind != "empty" else "#d0d7de",
                hatch=look.hatch,
                linewidth=0.8,
            )
        )
        if kind == "lacking":
            key.add_patch(Polygon([(0.97, 0.04), (0.5, 0.04), (0.97, 0.8)], facecolor=_LACKING))
        page.write((left + 0.32, top + 0.015), words, size=7.6 if step > 2 else 7)  # noqa: PLR2004  # inches


def _notes(summary: Summary, tiles: TileMap) -> list[str]:
    """What must be known to read the map: sales left out, sources, what the rates are."""
    without = [tile for tile in tiles.tiles if tile.untaxed]
    notes = []
    if any(not state.state for state in summary.states):
        notes.append("Rows whose state is not known have no tile; the totals above count them.")
    if without:
        notes.append("Tax of whole rates only; sales without a tax are in no tile's figure.")
    source = source_sentence(summary.sources)
    notes += [source] if source else []
    return [*notes, *(note for note in notes_of(summary) if not note.startswith(_OF_BARS))]
