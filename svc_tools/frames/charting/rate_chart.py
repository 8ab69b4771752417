"""The chart of combined rates, by state or as a histogram; importing it loads matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from svc_sdk.rates import rate_to_decimal, units_to_rate
from svc_tools.frames.charting.chart_page import INK, LINE, MUTED, ChartPage
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.review.summary import RATE_NOTE_SHORT
from svc_tools.frames.values.arrow import first_column
from svc_tools.lookup.columns import RANGE_COLUMNS
from svc_tools.show.codes import SURE, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.charting.chart_page import SvcFigure

_CERTAINTY = ("sure", "in doubt", "partial")
"""Whole rates that need no review, whole rates to review, rates known to lack a part."""


class Dot(NamedTuple):
    """A rate (units of 10^-5) of one certainty (a place in `_CERTAINTY`), and its rows."""

    units: int
    certainty: int
    rows: int


class Strip(NamedTuple):
    """The rates of one state.

    Attributes:
        state: its code; empty where the rows name none.
        dots: its rates, ascending.
        low: the lowest rate that one of its rows may have (units of 10^-5).
        high: the highest.
    """

    state: str
    dots: tuple[Dot, ...]
    low: int
    high: int

    @property
    def rows(self) -> int:
        """All rows with a rate."""
        return sum(dot.rows for dot in self.dots)

    @property
    def whole(self) -> tuple[Dot, ...]:
        """The whole rates."""
        return tuple(dot for dot in self.dots if _CERTAINTY[dot.certainty] != "partial")

    @property
    def median(self) -> int | None:
        """The median of the whole rates over their rows; `None` where all are partial."""
        half, seen = sum(dot.rows for dot in self.whole) / 2, 0
        for dot in sorted(self.whole):
            seen += dot.rows
            if seen >= half:
                return dot.units
        return None

    def rows_of(self, certainty: int) -> int:
        """The rows of one certainty."""
        return sum(dot.rows for dot in self.dots if dot.certainty == certainty)

    def described(self) -> str:
        """The strip in words."""
        median = "" if self.median is None else f", median {_percent(self.median)}"
        lowest, highest = min(dot.units for dot in self.dots), max(dot.units for dot in self.dots)
        spread = (
            _percent(lowest) if lowest == highest else f"{_percent(lowest)} to {_percent(highest)}"
        )
        counts = ", ".join(
            f"{self.rows_of(place):,} {name}"
            for place, name in enumerate(_CERTAINTY)
            if self.rows_of(place)
        )
        return f"{self.state or 'no state'} {spread}{median} (rows: {counts})"


def strips_of(rows: Enriched, *, states: Iterable[str] | None = None) -> tuple[Strip, ...]:
    """A strip for every state with a rate: the highest median first, partial rates only last."""
    rates, of_state = rows.rates("combined_rate"), states_of(rows)
    shown = ~rates.missing
    if states is not None:
        shown &= of_state.where(frozenset(states).__contains__)
    certainty = _certainty(rows)
    keys = np.stack([of_state.codes, rates.units, certainty])[:, shown]
    distinct, counted = np.unique(keys, axis=1, return_counts=True)
    lows, highs = _ranges(rows, rates.units)
    dots: dict[int, list[Dot]] = {}
    for (code, units, sure), count in zip(distinct.T.tolist(), counted.tolist(), strict=True):
        dots.setdefault(code, []).append(Dot(units, sure, count))
    strips = []
    for code, of_code in dots.items():
        of_rows = shown & (of_state.codes == code)
        low, high = int(lows[of_rows].min()), int(highs[of_rows].max())
        state = of_state.values[code]
        strips.append(Strip(state, tuple(of_code), low, high))
    return tuple(sorted(strips, key=_highest_first))


def _highest_first(strip: Strip) -> tuple[bool, bool, int, str]:
    median = strip.median
    highest = max(dot.units for dot in strip.dots)
    return not strip.state, median is None, -(highest if median is None else median), strip.state


def _certainty(rows: Enriched) -> np.ndarray:
    marked = first_column(rows.frame, rows.label("needs_review"))
    doubt = rows.truths("needs_review", missing=False)
    if doubt is None or marked is None or marked.isna().all():
        doubt = ~rows.coded("confidence").where(SURE.__contains__)
    partial = rows.where(lambda status: status.partial)
    return np.where(partial, 2, np.where(doubt, 1, 0)).astype(np.int64)


def _ranges(rows: Enriched, units: np.ndarray) -> Sequence[np.ndarray]:
    """The lowest and the highest rate of each row; its rate where it has no range."""
    bounds = map(rows.rates, RANGE_COLUMNS)
    return [np.where(bound.missing, units, bound.units) for bound in bounds]


def _percent(units: int) -> str:
    return percent(rate_to_decimal(units_to_rate(units)))


# the charts

_PER_CENT = 1_000  # units of 10^-5
_ROW = 0.28  # inches: one state
_LANES = (-0.17, 0.17, 0.0)
"""The offset of a mark of each certainty in its row: a rate may be both sure and in doubt."""
_SMALLEST, _LARGEST = 14.0, 105.0  # square points: a dot
_BIN = 250  # units: a quarter of a per cent
_MEDIAN = 52.0  # points from the axes to the right end of the medians
_RANGE_BAR: dict[str, Any] = {"color": "#c9cfd6", "linewidth": 4.5}


class _Look(NamedTuple):
    name: str
    marker: str
    face: str
    edge: str
    hatch: str


_LOOKS = (
    _Look("whole rate", "o", "#0072b2", "#0072b2", ""),
    _Look("whole rate, to review", "D", "#ffffff", "#b35900", "////"),
    _Look("partial rate: a lower bound", ">", "#ffffff", "#57606a", "...."),
)


def draw_strips(
    strips: Sequence[Strip], *, title: str, width: float, notes: Sequence[str]
) -> SvcFigure:
    """A strip for each state on a page `width` inches wide."""
    headline = _headline(strips) + (" The larger a mark, the more rows." if strips else "")
    page = _page(strips, headline, title=title, width=width, notes=notes)
    axes = page.axes
    most = max((dot.rows for strip in strips for dot in strip.dots), default=1)
    for row, strip in enumerate(strips):
        _draw(axes, strip, row, most)
    axes.set_ylim(max(len(strips), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(strips)), [strip.state or "none" for strip in strips])
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel("Combined rate, per cent", fontsize=8.5, color=MUTED, loc="left")
    axes.grid(axis="x", color=LINE, linewidth=0.6)
    axes.grid(axis="y", color="#eef0f2", linewidth=0.6)
    if strips:
        _columns(page, strips)
    return page.finish(_ROW * max(len(strips), 1), keys=_strip_keys(strips))


def draw_histogram(
    strips: Sequence[Strip], *, title: str, width: float, notes: Sequence[str]
) -> SvcFigure:
    """How many rows have which rate, over all states, on a page `width` inches wide."""
    page = _page(strips, _headline(strips), title=title, width=width, notes=notes)
    axes = page.axes
    bottoms: dict[int, int] = {}
    keys = []
    for place, look in enumerate(_LOOKS):
        counted: dict[int, int] = {}
        for dot in (dot for strip in strips for dot in strip.dots if dot.certainty == place):
            step = dot.units // _BIN
            counted[step] = counted.get(step, 0) + dot.rows
        style: dict[str, Any] = {"facecolor": look.face, "edgecolor": look.edge}
        style |= {"hatch": look.hatch, "linewidth": 0.7}
        for step, rows in counted.items():
            left, bottom = step * _BIN / _PER_CENT, bottoms.get(step, 0)
            axes.bar(left, rows, _BIN / _PER_CENT, bottom, align="edge", **style)
            bottoms[step] = bottom + rows
        if counted:
            keys.append(Patch(**style, label=look.name))
    axes.set_xlim(left=0)
    words = "Combined rate, per cent" + ("" if page.narrow else " (a bar: a quarter of a per cent)")
    axes.set_xlabel(words, fontsize=8.5, color=MUTED, loc="left")
    axes.set_ylabel("Rows", fontsize=8.5, color=MUTED)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(axis="y", color=LINE, linewidth=0.6)
    return page.finish(2.6, keys=keys)


def _page(
    strips: Sequence[Strip], headline: str, *, title: str, width: float, notes: Sequence[str]
) -> ChartPage:
    """The page, with axes of rates from left to right."""
    page = ChartPage(width, title=title, headline=[headline], notes=[*notes, RATE_NOTE_SHORT])
    words = "; ".join(strip.described() for strip in strips)
    label = f"{title}. {_headline(strips)} {words}{'.' if words else ''}"
    page.figure.set_label(label.strip())
    page.axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    page.axes.tick_params(labelsize=8, length=0, colors=MUTED)
    page.axes.tick_params(axis="y", labelcolor=INK)
    page.axes.set_axisbelow(True)
    page.axes.spines[:].set_visible(False)
    return page


def _draw(axes: Axes, strip: Strip, row: int, most: int) -> None:
    """Draw the rates of one group into `axes`, at the height `row`: range, dots and median."""
    if strip.low < strip.high:
        ends = [strip.low / _PER_CENT, strip.high / _PER_CENT]
        axes.plot(ends, [row, row], **_RANGE_BAR, solid_capstyle="round", zorder=1)
    for dot in sorted(strip.dots, key=lambda dot: (-dot.rows, dot.units)):
        look = _LOOKS[dot.certainty]
        axes.scatter(
            dot.units / _PER_CENT,
            row + _LANES[dot.certainty],
            s=_SMALLEST + (_LARGEST - _SMALLEST) * dot.rows / most,
            marker=look.marker,
            facecolor=look.face,
            edgecolor=look.edge,
            linewidth=0.6 if dot.certainty == 0 else 1.0,
            zorder=3 + dot.certainty,
        )
    if strip.median is not None and _differ(strip):
        at = strip.median / _PER_CENT
        axes.plot([at, at], [row - 0.42, row + 0.42], color=INK, linewidth=1.4, zorder=8)


def _differ(strip: Strip) -> bool:
    return len({dot.units for dot in strip.whole}) > 1


def _columns(page: ChartPage, strips: Sequence[Strip]) -> None:
    """The medians and, on a page that has room for them, the rows, to the right of the strips."""
    medians = ["partial" if strip.median is None else _percent(strip.median) for strip in strips]
    columns = [(0, -3.5, ["State"]), (1, _MEDIAN, ["Median", *medians])]
    if not page.narrow:
        rows = ["Rows", *(f"{strip.rows:,}" for strip in strips)]
        columns.append((1, _MEDIAN + 14 + 5.2 * max(map(len, rows)), rows))
    for side, points, texts in columns:
        for row, text in enumerate(texts, -1):
            page.axes.annotate(
                text,
                (side, row),
                xycoords=("axes fraction", "data"),
                xytext=(points, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=7 if page.narrow else 8,
                color=INK if text.endswith("%") else MUTED,
                annotation_clip=False,
            )


def _strip_keys(strips: Sequence[Strip]) -> list[Artist]:
    """The keys of the legend, of the marks that the groups have only."""
    keys: list[Artist] = [
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
        keys.append(
            Line2D([], [], **_RANGE_BAR, label="from the lowest to the highest rate it may be")
        )
    if any(strip.median is not None and _differ(strip) for strip in strips):
        style: dict[str, Any] = {"marker": "|", "markersize": 10, "color": INK}
        keys.append(Line2D([], [], linestyle="", **style, label="median row"))
    return keys


def _headline(strips: Sequence[Strip]) -> str:
    rows = sum(strip.rows for strip in strips)
    if not rows:
        return "No row has a rate."
    doubtful = sum(strip.rows_of(1) for strip in strips)
    partial = sum(strip.rows_of(2) for strip in strips)
    known = {strip.state for strip in strips} - {""}
    states = len(known - {"DC"})
    places = f"{states} state{'' if states == 1 else 's'}" + (" and DC" if "DC" in known else "")
    parts = [f"{rows:,} row{'' if rows == 1 else 's'} with a rate in {places}"]
    parts += [f"{doubtful:,} to review"] if doubtful else []
    parts += [f"{partial:,} partial"] if partial else []
    return f"{'; '.join(parts)}."
