"""The map of tax by state for the page of a report: drawn in SVG, coloured by the page's style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.frames.charting.tile_map import (
    COLUMNS,
    DARK_FROM,
    KEY_WORDS,
    LACKING_WORDS,
    ROWS,
    tile_map,
)
from svc_tools.frames.reports.report_markup import Markup, joined, tag

if TYPE_CHECKING:
    from svc_tools.frames.charting.tile_map import Tile, TileMap
    from svc_tools.frames.summary import Summary

_SIDE, _GAP = 80, 4
_HATCHED = frozenset({"partial", "none"})


def svg_map(summary: Summary) -> Markup:
    """The map with its legend; every figure of it is in its label, too."""
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
    size = {"width": "8", "height": "8", "patternUnits": "userSpaceOnUse"}
    return tag(
        "defs",
        _pattern("hatch", hatch, size),
        _pattern("dots", dots, size | {"width": "7", "height": "7"}),
    )


def _pattern(name: str, drawn: Markup, size: dict[str, str]) -> Markup:
    said = "".join(f' {key}="{value}"' for key, value in size.items())
    return Markup(f'<pattern id="{name}"{said}>{drawn}</pattern>')


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
        if tile.kind in _HATCHED:  # words do not stand on hatching
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
