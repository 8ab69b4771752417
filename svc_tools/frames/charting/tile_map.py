"""Tax by state on a grid of tiles: which tile says what, and in which class it stands. Pure."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.reports.summary_words import exact_dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.frames.summary import Summary
    from svc_tools.frames.totals import Totals

__all__ = ["COLUMNS", "ROWS", "Tile", "TileMap", "short_dollars", "tile_map"]

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
_CLASSES = 5
_STEPS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
_CENTS_BELOW = 10


class Tile(NamedTuple):
    """One state: where it stands and what it says.

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

    def described(self) -> str:
        """Every figure of the map in words, exact to the cent."""
        taxed = [tile for tile in self.tiles if tile.tax is not None]
        said = ", ".join(
            f"{tile.state} {exact_dollars(tile.tax)}"
            for tile in sorted(taxed, key=lambda tile: (-(tile.tax or 0), tile.state))
            if tile.tax is not None
        )
        lines = [f"Tax by state: {said or 'none'}."]
        without = [tile for tile in self.tiles if tile.untaxed or tile.kind in {"partial", "none"}]
        if without:
            sales = ", ".join(f"{tile.state} {exact_dollars(tile.untaxed)}" for tile in without)
            lines.append(f"Sales without a tax: {sales}.")
        return " ".join(lines)


def tile_map(summary: Summary) -> TileMap:
    """The tiles of a summary's states; rows of no known state have no tile."""
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
    """The least tax of each class: classes of about as many states, at round figures."""
    if not taxes:
        return ()
    classes = min(_CLASSES, len(taxes))
    marks = [taxes[len(taxes) * place // classes] for place in range(1, classes)]
    inner = sorted({_rounded(mark) for mark in marks} - {Decimal(0)})
    return (taxes[0], *(mark for mark in inner if taxes[0] < mark <= taxes[-1]))


def _rounded(value: Decimal) -> Decimal:
    """Down to two digits that count."""
    step = Decimal(1).scaleb(value.adjusted() - 1)
    return max((value // step) * step, Decimal("0.01"))


def short_dollars(value: Decimal) -> str:
    """An amount in a few letters: `$9.50`, `$340`, `$12.3k`, `-$1.2M`."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size < _CENTS_BELOW:
        return f"{sign}${size.quantize(Decimal('0.01'), ROUND_HALF_UP)}" if size else "$0"
    for step, letter in _STEPS:
        if size >= step * Decimal("0.9995"):
            part = size / step
            digits = Decimal("0.1") if part < 100 else Decimal(1)  # noqa: PLR2004  # three digits
            return f"{sign}${part.quantize(digits, ROUND_HALF_UP)}{letter}"
    return f"{sign}${size.quantize(Decimal(1), ROUND_HALF_UP)}"
