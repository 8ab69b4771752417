"""Tax by state on a grid of tiles: the classes and texts of the tiles, and their chart."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.frames.review.summary import RATE_NOTE_SHORT, source_sentence
from svc_tools.show.codes import SURE
from svc_tools.show.display import exact_dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from svc_tools.frames.charting.chart_page import SvcFigure
    from svc_tools.frames.review.summary import Summary
    from svc_tools.frames.values.money import Totals

_GRID = """
AK .. .. .. .. .. .. .. .. .. ME
.. .. .. .. .. WI .. .. .. VT NH
WA ID MT ND MN IL MI .. NY MA ..
OR NV WY SD IA IN OH PA NJ CT RI
CA UT CO NE MO KY WV VA MD DE ..
.. AZ NM KS AR TN NC SC DC .. ..
.. .. .. OK LA MS AL GA .. .. ..
HI .. .. TX .. .. .. .. FL .. ..
"""
_PLACES = {
    state: (column, row)
    for row, line in enumerate(_GRID.split("\n")[1:-1])
    for column, state in enumerate(line.split())
    if state != ".."
}
COLUMNS, ROWS = 11, 8
SHADES, DARK_FROM = 5, 3
"""The shades of blue, and the first that has light text."""
KEY_WORDS = {
    "zero": "$0: rate of 0, or no sales",
    "refund": "below $0: refunds",
    "partial": "partial rates only: no tax",
    "none": "no rate: no tax",
    "empty": "no rows",
}
"""The legend of the kinds of tiles without a class."""
LACKING_WORDS = "some rows have no tax"


class Tile(NamedTuple):
    """One state: its position and its text.

    Attributes:
        state: its two-letter code.
        column: from the left, from 0.
        row: from the top, from 0.
        kind: `tax`, `zero` (a whole rate, and no tax), `refund` (less than nothing), `partial`
            (partial rates only), `none` (rows, and no usable rate) or `empty` (no rows).
        level: for `tax`, its class from 0, the least.
        tax: the tax of its whole rows; `None` where it has none.
        untaxed: its sales without a tax.
        lacking: whether some of its rows have no tax while others do.
    """

    state: str
    column: int
    row: int
    kind: str
    level: int
    tax: Decimal | None
    untaxed: Decimal
    lacking: bool

    @property
    def says(self) -> str:
        """The second line of the tile."""
        if self.kind == "partial":
            return "partial"
        if self.kind == "none":
            return "no rate"
        return "" if self.tax is None else short_dollars(self.tax)


class TileMap(NamedTuple):
    """All tiles, and the bounds of the classes (US dollars, ascending: each class its least)."""

    tiles: tuple[Tile, ...]
    bounds: tuple[Decimal, ...]
    most: Decimal

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of tiles that occur."""
        return frozenset(tile.kind for tile in self.tiles)

    def ranges(self) -> tuple[str, ...]:
        """Each class in words."""
        ends = (*self.bounds[1:], None)
        return tuple(
            # the last class may be of one figure
            " to ".join(dict.fromkeys((short_dollars(low), short_dollars(self.most))))
            if high is None
            else f"{short_dollars(low)} to under {short_dollars(high)}"
            for low, high in zip(self.bounds, ends, strict=False)
        )

    def shade(self, level: int) -> int:
        """The shade of a class: the classes span all shades, however few they are."""
        classes = len(self.bounds)
        return round(level * (SHADES - 1) / (classes - 1)) if classes > 1 else DARK_FROM

    def described(self) -> str:
        """Every figure of the map in words, exact to the cent."""
        taxed = [tile for tile in self.tiles if tile.tax is not None]
        taxes = ", ".join(
            f"{tile.state} {exact_dollars(tile.tax)}"
            for tile in sorted(taxed, key=lambda tile: (-(tile.tax or 0), tile.state))
            if tile.tax is not None
        )
        lines = [f"Tax by state: {taxes or 'none'}."]
        without = [tile for tile in self.tiles if tile.untaxed or tile.kind in {"partial", "none"}]
        if without:
            sales = ", ".join(f"{tile.state} {exact_dollars(tile.untaxed)}" for tile in without)
            lines.append(f"Sales without a tax: {sales}.")
        return " ".join(lines)


def tile_map(summary: Summary) -> TileMap:
    """The tiles of a summary's states; rows without a known state have no tile."""
    totals = {state.state: state.totals for state in summary.states}
    taxes = sorted(of.tax for state, of in totals.items() if state and of.tax > 0)
    bounds = _bounds(taxes)
    tiles = tuple(
        _tile(state, place, totals.get(state), bounds) for state, place in sorted(_PLACES.items())
    )
    return TileMap(tiles, bounds, taxes[-1] if taxes else Decimal(0))


def _tile(state: str, place: tuple[int, int], of: Totals | None, bounds: Sequence[Decimal]) -> Tile:
    if of is None:
        return Tile(state, *place, "empty", 0, None, Decimal(0), lacking=False)
    without = of.untaxed_sales + of.open_sales
    if not of.whole_rows:
        kind = "partial" if of.partial_rows else "none"
        return Tile(state, *place, kind, 0, None, without, lacking=False)
    level = sum(of.tax >= bound for bound in bounds) - 1
    kind = "tax" if of.tax > 0 else "zero" if of.tax == 0 else "refund"
    lacking = bool(of.partial_rows or of.open_rows)
    return Tile(state, *place, kind, max(level, 0), of.tax, without, lacking)


def _bounds(taxes: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """The least tax of each class, rounded; the classes have about equally many states."""
    if not taxes:
        return ()
    classes = min(5, len(taxes))
    marks = [taxes[len(taxes) * place // classes] for place in range(1, classes)]
    inner = sorted({_rounded(mark) for mark in marks} - {Decimal(0)})
    return (taxes[0], *(mark for mark in inner if taxes[0] < mark <= taxes[-1]))


def _rounded(value: Decimal) -> Decimal:
    """Down to two significant digits."""
    step = Decimal(1).scaleb(value.adjusted() - 1)
    return max((value // step) * step, Decimal("0.01"))


def short_dollars(value: Decimal) -> str:
    """An amount in a few letters: `$9.50`, `$340`, `$12.3k`, `-$1.2M`."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size < 10:  # noqa: PLR2004  # dollars: cents matter
        return f"{sign}${size.quantize(Decimal('0.01'), ROUND_HALF_UP)}" if size else "$0"
    for step, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if size >= step * Decimal("0.9995"):
            part = size / step
            digits = Decimal("0.1") if part < 100 else Decimal(1)  # noqa: PLR2004  # three digits
            return f"{sign}${part.quantize(digits, ROUND_HALF_UP)}{letter}"
    return f"{sign}${size.quantize(Decimal(1), ROUND_HALF_UP)}"


# the chart

_INNER = 0.06  # of a tile: the gap between two
_MOST_TILE = 0.95  # inches
_BLUES = ("#dbe9f6", "#a9cde8", "#67a9d6", "#2b77b5", "#0a3f78")
_INK, _FAINT, _ORANGE = "#1b1f24", "#6e7781", "#b35900"


class _Look(NamedTuple):
    fill: str
    edge: str
    hatch: str = ""
    text: str = _INK


_LOOKS = {
    "zero": _Look("white", "#2b77b5"),
    "refund": _Look("#fdf0d5", _ORANGE),
    "partial": _Look("white", "#8c959f", "////"),
    "none": _Look("white", "#8c959f", "...."),
    "empty": _Look("#f3f4f6", "#e4e7ea", "", _FAINT),
}


def draw_tile_map(summary: Summary, *, title: str, width: float) -> SvcFigure:
    """The map of a summary's taxes on a page `width` inches wide."""
    # heavy, and an optional extra that the page of a report does without
    from svc_tools.frames.charting.chart_page import ChartPage  # noqa: PLC0415

    tiles = tile_map(summary)
    headline = _headline(summary)
    page = ChartPage(width, title=title, headline=headline, notes=_notes(summary, tiles))
    page.figure.set_label(" ".join([f"{title}.", *headline, tiles.described()]))
    side = min(page.room / COLUMNS, _MOST_TILE)
    page.axes.set_xlim(0, COLUMNS)
    page.axes.set_ylim(ROWS, 0)
    page.axes.set_aspect("equal")
    page.axes.axis("off")
    for tile in tiles.tiles:
        _draw(page.axes, tile, _look(tile.kind, tiles.shade(tile.level)), side * 72)
    return page.finish(side * ROWS, keys=_keys(tiles))


def _look(kind: str, place: int) -> _Look:
    if kind != "tax":
        return _LOOKS[kind]
    edge = _BLUES[min(place + 1, SHADES - 1)]
    return _Look(_BLUES[place], edge, "", "white" if place >= DARK_FROM else _INK)


def _draw(axes: Axes, tile: Tile, look: _Look, points: float) -> None:
    from matplotlib.patches import Polygon, Rectangle  # noqa: PLC0415  # as above

    left, top, size = tile.column + _INNER / 2, tile.row + _INNER / 2, 1 - _INNER
    line = 1.1 if tile.kind in {"zero", "refund"} else 0.7
    style: dict[str, Any] = {"facecolor": look.fill, "edgecolor": look.edge, "hatch": look.hatch}
    axes.add_patch(Rectangle((left, top), size, size, linewidth=line, **style))
    if tile.lacking:
        part = size * 0.26
        corner = [(left + size, top), (left + size - part, top), (left + size, top + part)]
        axes.add_patch(Polygon(corner, facecolor=_ORANGE, edgecolor="white", linewidth=0.6))
    # no text on hatching
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.6} if look.hatch else None
    texts = [(tile.state, 0.5, 0.22, "normal")]
    if tile.says:
        small = 0.185 if len(tile.says) < 7 else 0.165  # noqa: PLR2004  # letters
        texts = [(tile.state, 0.36, 0.25, "bold"), (tile.says, 0.72, small, "normal")]
    for text, down, part, weight in texts:
        axes.text(
            left + size / 2,
            top + size * down,
            text,
            ha="center",
            va="center",
            color=look.text,
            bbox=plate,
            fontsize=points * part,
            fontweight=weight,
            parse_math=False,
        )


def _keys(tiles: TileMap) -> list[Artist]:
    """A key for each look that occurs."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  # as above
    from matplotlib.patches import Patch  # noqa: PLC0415  # as above

    looks = [(_look("tax", tiles.shade(at)), words) for at, words in enumerate(tiles.ranges())]
    looks += [(_LOOKS[kind], words) for kind, words in KEY_WORDS.items() if kind in tiles.kinds]
    keys: list[Artist] = [
        Patch(facecolor=fill, edgecolor=edge, hatch=hatch, linewidth=0.8, label=words)
        for (fill, edge, hatch, _), words in looks
    ]
    if any(tile.lacking for tile in tiles.tiles):
        corner: Any = [(1, 1), (-1, 1), (1, -1)]
        keys.append(Line2D([], [], ls="", marker=corner, ms=7, color=_ORANGE, label=LACKING_WORDS))
    return keys


def _headline(summary: Summary) -> list[str]:
    """The totals, line by line."""
    totals = summary.money
    if totals is None or not totals.rows:
        return ["No rows."]
    tax, sales = exact_dollars(totals.tax), exact_dollars(totals.taxed_sales)
    lines = [f"{tax} tax on {sales} of sales at whole rates."]
    doubtful = sum(
        (part.tax for part in summary.tax_by_confidence if part.confidence not in SURE),
        Decimal(0),
    )
    if doubtful:
        lines.append(f"Of this tax, {exact_dollars(doubtful)} rests on rates of low confidence.")
    if totals.partial_tax:
        lines.append(
            f"{exact_dollars(totals.partial_tax)} tax from partial rates, which is a lower bound."
        )
    if totals.partial_rows or totals.open_rows:
        without = totals.untaxed_sales + totals.open_sales
        lines.append(f"{exact_dollars(without)} of sales has no tax computed.")
    return lines


def _notes(summary: Summary, tiles: TileMap) -> list[str]:
    """The notes below the map: sales left out, sources, and what the rates are."""
    notes = []
    if any(not state.state for state in summary.states):
        notes.append("Rows whose state is not known have no tile; the totals above count them.")
    if any(tile.untaxed for tile in tiles.tiles):
        notes.append("Tax of whole rates only; sales without a tax are in no tile's figure.")
    doubt = "" if summary.rests_on.nothing else summary.rests_on.sentence
    sentences = (source_sentence(summary.sources), doubt)
    return [*notes, *(sentence for sentence in sentences if sentence), RATE_NOTE_SHORT]
