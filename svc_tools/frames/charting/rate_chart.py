"""Charts of rates: a strip for each state, or how many rows have which rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from svc_tools.frames.charting.chart_page import INK, LINE, MUTED, Block, Page, SvcFigure
from svc_tools.frames.charting.rate_strips import Strip, percent
from svc_tools.frames.reports.rate_notes import RATE_NOTE_SHORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["draw_histogram", "draw_strips"]

_PER_CENT = 1_000  # units of 10^-5
_ROW = 0.28  # inches: one state
_LANES = (-0.17, 0.17, 0.0)
"""Where in its row a mark of each sureness lies: one rate may be both sure and in doubt."""
_MARGIN, _LEFT = 0.2, 0.62
_NARROW = 5.0
_SMALLEST, _LARGEST = 14.0, 105.0  # square points: a dot
_BIN = 250  # units: a quarter of a per cent
_PLOT = 2.6  # inches: the height of the histogram
_RANGE = "#c9cfd6"
_SIZES = "The larger a mark, the more rows."


class _Look(NamedTuple):
    name: str
    marker: str
    face: str
    edge: str
    hatch: str


_LOOKS = (
    _Look("whole rate", "o", "#0072b2", "#0072b2", ""),
    _Look("whole rate, to be reviewed", "D", "#ffffff", "#b35900", "////"),
    _Look("partial rate: a lower bound", ">", "#ffffff", "#57606a", "...."),
)


def draw_strips(
    strips: Sequence[Strip], *, title: str, width: float, notes: Sequence[str]
) -> SvcFigure:
    """A strip for each state on a page `width` inches wide."""
    narrow = width < _NARROW
    right = 0.95 if narrow else 1.75
    plot = width - _LEFT - right
    heading = Block([title], width, size=12.5 if narrow else 15, bold=True)
    head = Block([f"{_headline(strips)} {_SIZES}"], width, size=8.5 if narrow else 10)
    foot = Block([*notes, RATE_NOTE_SHORT], width, size=7.2 if narrow else 8, apart=0.06)
    legend = _legend(strips)
    legend_lines = len(legend) if narrow else -(-len(legend) // 3)
    top = 0.2 + heading.height + 0.06 + head.height + 0.1 + 0.18 * legend_lines + 0.3
    tall = _ROW * max(len(strips), 1)
    page = Page(width, top + tall + 0.62 + foot.height + 0.15)
    page.figure.set_label(_described(title, strips))
    down = heading.on(page, 0.2) + 0.06
    down = head.on(page, down) + 0.1
    axes = page.axes(_LEFT, top, plot, tall)
    most = max((dot.rows for strip in strips for dot in strip.dots), default=1)
    for row, strip in enumerate(strips):
        _draw(axes, strip, row, most)
        _count(page, strip, (_LEFT + plot + 0.12, top + _ROW * row), narrow=narrow)
    axes.set_ylim(max(len(strips), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(strips)), [strip.state or "none" for strip in strips])
    if not narrow:
        page.write((_LEFT + plot + 0.12, top - 0.19), "Median", size=8, color=MUTED)
        page.write((_LEFT + plot + 0.95, top - 0.19), "Rows", size=8, color=MUTED)
    else:
        page.write((_LEFT + plot + 0.12, top - 0.19), "Median", size=7, color=MUTED)
    page.write((_MARGIN, top - 0.19), "State", size=7 if narrow else 8, color=MUTED)
    _dress(axes, along="x")
    axes.set_xlabel("Combined rate, per cent", fontsize=8.5, color=MUTED, loc="left")
    axes.grid(axis="y", color="#eef0f2", linewidth=0.6)
    _keys(page, legend, down, 1 if narrow else 3)
    foot.on(page, top + tall + 0.62, color=MUTED)
    return page.figure


def draw_histogram(
    strips: Sequence[Strip], *, title: str, width: float, notes: Sequence[str]
) -> SvcFigure:
    """How many rows have which rate, over all states, on a page `width` inches wide."""
    narrow = width < _NARROW
    heading = Block([title], width, size=12.5 if narrow else 15, bold=True)
    head = Block([_headline(strips)], width, size=8.5 if narrow else 10)
    foot = Block([*notes, RATE_NOTE_SHORT], width, size=7.2 if narrow else 8, apart=0.06)
    present = [place for place in range(3) if any(strip.rows_of(place) for strip in strips)]
    legend = [
        Patch(
            facecolor=_LOOKS[place].face,
            edgecolor=_edge(place),
            hatch=_LOOKS[place].hatch,
            label=_LOOKS[place].name,
        )
        for place in present
    ]
    legend_lines = len(legend) if narrow else 1
    top = 0.2 + heading.height + 0.06 + head.height + 0.1 + 0.18 * legend_lines + 0.16
    page = Page(width, top + _PLOT + 0.62 + foot.height + 0.15)
    page.figure.set_label(_described(title, strips))
    down = heading.on(page, 0.2) + 0.06
    down = head.on(page, down) + 0.1
    axes = page.axes(0.8, top, width - 1.05, _PLOT)
    bottoms: dict[int, int] = {}
    for place in present:
        counted: dict[int, int] = {}
        for dot in (dot for strip in strips for dot in strip.dots if dot.sureness == place):
            step = dot.units // _BIN
            counted[step] = counted.get(step, 0) + dot.rows
        for step, rows in counted.items():
            axes.bar(
                step * _BIN / _PER_CENT,
                rows,
                width=_BIN / _PER_CENT,
                bottom=bottoms.get(step, 0),
                align="edge",
                facecolor=_LOOKS[place].face,
                edgecolor=_edge(place),
                hatch=_LOOKS[place].hatch,
                linewidth=0.7,
            )
            bottoms[step] = bottoms.get(step, 0) + rows
    _dress(axes, along="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(
        "Combined rate, per cent" + ("" if narrow else " (a bar: a quarter of a per cent)"),
        fontsize=8.5,
        color=MUTED,
        loc="left",
    )
    axes.set_ylabel("Rows", fontsize=8.5, color=MUTED)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    _keys(page, legend, down, 1 if narrow else 3)
    foot.on(page, top + _PLOT + 0.62, color=MUTED)
    return page.figure


def _edge(place: int) -> str:
    return _LOOKS[place].face if place == 0 else _LOOKS[place].edge


def _draw(axes: Axes, strip: Strip, row: int, most: int) -> None:
    if strip.low < strip.high:
        axes.plot(
            [strip.low / _PER_CENT, strip.high / _PER_CENT],
            [row, row],
            color=_RANGE,
            linewidth=4.5,
            solid_capstyle="round",
            zorder=1,
        )
    for dot in sorted(strip.dots, key=lambda dot: (-dot.rows, dot.units)):
        look = _LOOKS[dot.sureness]
        axes.scatter(
            dot.units / _PER_CENT,
            row + _LANES[dot.sureness],
            s=_SMALLEST + (_LARGEST - _SMALLEST) * dot.rows / most,
            marker=look.marker,
            facecolor=look.face,
            edgecolor=look.edge,
            linewidth=0.6 if dot.sureness == 0 else 1.0,
            zorder=3 + dot.sureness,
        )
    if strip.median is not None and _differ(strip):
        at = strip.median / _PER_CENT
        axes.plot([at, at], [row - 0.42, row + 0.42], color=INK, linewidth=1.4, zorder=8)


def _differ(strip: Strip) -> bool:
    return len({dot.units for dot in strip.whole}) > 1


def _count(page: Page, strip: Strip, where: tuple[float, float], *, narrow: bool) -> None:
    left, top = where
    median = "partial" if strip.median is None else percent(strip.median)
    size = 7.0 if narrow else 8.0
    down = top + _ROW / 2 - size / 72 * 0.62
    page.write((left, down), median, size=size, color=MUTED if strip.median is None else INK)
    if not narrow:
        page.write((left + 0.83, down), f"{strip.rows:,}", size=size, color=MUTED)


def _dress(axes: Axes, *, along: str) -> None:
    if along == "x":
        axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(labelsize=8, length=0, colors=MUTED)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.grid(axis=along, color=LINE, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _legend(strips: Sequence[Strip]) -> list[Any]:
    handles: list[Any] = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=look.marker,
            markersize=6.5,
            markerfacecolor=look.face,
            markeredgecolor=look.edge,
            label=look.name,
        )
        for place, look in enumerate(_LOOKS)
        if any(strip.rows_of(place) for strip in strips)
    ]
    if any(strip.low < strip.high for strip in strips):
        label = "from the lowest to the highest rate it may be"
        handles.append(Line2D([], [], color=_RANGE, linewidth=4.5, label=label))
    if any(strip.median is not None and _differ(strip) for strip in strips):
        handles.append(
            Line2D([], [], linestyle="", marker="|", markersize=10, color=INK, label="median row")
        )
    return handles


def _keys(page: Page, handles: Sequence[Any], down: float, columns: int) -> None:
    if not handles:
        return
    lines = -(-len(handles) // columns)
    axes = page.axes(_MARGIN, down, page.width - 2 * _MARGIN, 0.18 * lines)
    axes.axis("off")
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        fontsize=8 if columns > 1 else 7.2,
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        labelspacing=0.45,
        columnspacing=1.6,
        labelcolor=INK,
    )


def _headline(strips: Sequence[Strip]) -> str:
    rows = sum(strip.rows for strip in strips)
    if not rows:
        return "No row has a rate."
    doubtful = sum(strip.rows_of(1) for strip in strips)
    partial = sum(strip.rows_of(2) for strip in strips)
    known = {strip.state for strip in strips} - {""}
    states = len(known - {"DC"})
    places = f"{states} state{'' if states == 1 else 's'}" + (" and DC" if "DC" in known else "")
    parts = [f"{rows:,} rows with a rate in {places}"]
    parts += [f"{doubtful:,} to be reviewed"] if doubtful else []
    parts += [f"{partial:,} partial"] if partial else []
    return f"{'; '.join(parts)}."


def _described(title: str, strips: Sequence[Strip]) -> str:
    said = "; ".join(strip.described() for strip in strips)
    return f"{title}. {_headline(strips)} {said}{'.' if said else ''}".strip()
