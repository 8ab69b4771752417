"""Charts of an enriched frame, drawn without a display and without global state.

Every chart says what it shows in words, too: the figure's label (`figure.get_label()`) is its text
alternative, and `save_chart` writes it into the PNG.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.enriched import require_columns
from svc_tools.frames.rate_notes import RATE_NOTE_SHORT
from svc_tools.frames.summary import Summary, summarize
from svc_tools.frames.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["describe_tax_by_state", "save_chart", "tax_by_state"]

_INK, _MUTED, _LINE = "#1b1f24", "#57606a", "#d0d7de"
_WIDTH, _ROW = 11.0, 0.29  # inches: the page, one bar
_LINE_OF_TEXT, _LEGEND_ROW, _AXIS = 0.19, 0.2, 0.72  # inches: heights
_LEFT, _GAP, _RIGHT = 0.75, 0.95, 0.35  # inches: beside and between the panels
_CENTS_BELOW = 10  # dollars: smaller sums are labelled with their cents
_OTHER = "other"
_SURE = ("exact", "high", "medium")
_OTHER_NOTE = (
    "other: no state of the 50 and DC is named (a territory, military, abroad, or missing)."
)


class _Style(NamedTuple):
    """How one kind of bar looks: told apart by hatch and by name, not by colour alone."""

    name: str
    fill: str
    edge: str
    hatch: str


_TAX = _Style("whole rate", "#0072b2", "#0072b2", "")
_PARTIAL_TAX = _Style("partial rate: a lower bound", "#ffffff", "#0072b2", "////")
_UNTAXED = _Style(
    "partial rate: its local or district part is not known", "#fdf0d5", "#b35900", "////"
)
_OPEN = _Style("no rate, or no usable amount", "#ffffff", "#57606a", "....")


class _Bar(NamedTuple):
    state: str
    parts: tuple[tuple[_Style, Decimal], ...]

    @property
    def total(self) -> Decimal:
        return sum((value for _, value in self.parts), Decimal(0))


class _Panel(NamedTuple):
    title: str
    axis: str
    bars: tuple[_Bar, ...]

    @property
    def styles(self) -> tuple[_Style, ...]:
        return tuple(dict.fromkeys(style for bar in self.bars for style, _ in bar.parts))


def tax_by_state(
    frame: pd.DataFrame,
    *,
    amount: Hashable = "amount",
    prefix: str = "",
) -> Figure:
    """Horizontal bars: the tax of each state and, apart from it, the sales without a tax.

    Panels from left to right, each on its own scale and only where it has something to show: the
    tax from whole rates; the tax from partial rates, if it was asked for (`partial="use"`); the
    sales for which no tax was computed, because their rate is partial or there is none. Nothing
    partial is ever added to a whole bar.

    Args:
        frame: a frame with rates and tax: `df.svc.lookup(...)`, then `.svc.tax(...)`.
        amount: the column of amounts that the tax was computed from.
        prefix: the prefix of the lookup's columns.

    Returns:
        A matplotlib figure; its label is the text alternative (`describe_tax_by_state`).

    Raises:
        ValueError: the frame has no rates, no tax or no such amounts.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # heavy, and an optional extra

    summary = _summary(frame, amount=amount, prefix=prefix)
    panels = _panels(summary)
    rows = max((len(panel.bars) for panel in panels), default=0)
    kinds = max((len(panel.styles) for panel in panels), default=0)
    headline, notes = _headline(summary), _notes(summary)
    head = 1.05 + _LINE_OF_TEXT * len(headline) + _LEGEND_ROW * kinds
    height = head + _ROW * rows + _AXIS + _LINE_OF_TEXT * len(notes)
    figure = Figure(figsize=(_WIDTH, height), facecolor="white")
    figure.set_label(_describe(summary))
    _write(figure, 0.24, "Sales tax by state", size=16, bold=True)
    _write(figure, 0.6, "\n".join(headline), size=10.5)
    width = (_WIDTH - _LEFT - _RIGHT + _GAP) / max(len(panels), 1) - _GAP
    for place, panel in enumerate(panels):
        tall = _ROW * len(panel.bars)
        left = _LEFT + place * (width + _GAP)
        box = (left / _WIDTH, 1 - (head + tall) / height, width / _WIDTH, tall / height)
        _draw(figure.add_axes(box), panel, kinds)
    down = height - 0.08 - _LINE_OF_TEXT * len(notes)
    _write(figure, down, "\n".join(notes), size=8.5, color=_MUTED)
    return figure


def describe_tax_by_state(
    frame: pd.DataFrame,
    *,
    amount: Hashable = "amount",
    prefix: str = "",
) -> str:
    """What `tax_by_state` shows, in words: every figure of the chart, exact to the cent.

    Takes the same arguments and raises as `tax_by_state`.
    """
    return _describe(_summary(frame, amount=amount, prefix=prefix))


def save_chart(figure: Figure, path: str | Path) -> None:
    """Write a figure as a PNG whose metadata carry its text alternative.

    Raises:
        FileNotFoundError: the folder does not exist.
        OSError: the file cannot be written.
    """
    description = str(figure.get_label())
    with whole_file(Path(path)) as draft:
        figure.savefig(
            draft,
            format="png",
            dpi=150,
            metadata={"Title": description.partition(".")[0], "Description": description},
        )


def _summary(frame: pd.DataFrame, *, amount: Hashable, prefix: str) -> Summary:
    require_columns(frame, (f"{prefix}tax",), "compute the tax first: df.svc.tax(amount='amount')")
    return summarize(frame, amount=amount, prefix=prefix)


def _panels(summary: Summary) -> tuple[_Panel, ...]:
    """The panels that have something to show."""
    panels = (
        _Panel(
            "Tax computed",
            "Tax, US dollars",
            _bars((state.state, ((_TAX, state.totals.tax),)) for state in summary.states),
        ),
        _Panel(
            "Tax from partial rates",
            "Tax, US dollars (own scale)",
            _bars(
                (state.state, ((_PARTIAL_TAX, state.totals.partial_tax),))
                for state in summary.states
            ),
        ),
        _Panel(
            "Sales with no tax computed",
            "Sales, US dollars (own scale)",
            _bars(
                (
                    state.state,
                    ((_UNTAXED, state.totals.untaxed_sales), (_OPEN, state.totals.open_sales)),
                )
                for state in summary.states
            ),
        ),
    )
    return tuple(panel for panel in panels if panel.bars)


def _bars(states: Iterable[tuple[str, tuple[tuple[_Style, Decimal], ...]]]) -> tuple[_Bar, ...]:
    """Bars from the largest to the smallest, rows of no state last; what is 0 has no bar."""
    bars = [
        _Bar(state or _OTHER, tuple(part for part in parts if part[1])) for state, parts in states
    ]
    shown = [bar for bar in bars if bar.parts]
    return tuple(sorted(shown, key=lambda bar: (bar.state == _OTHER, -bar.total, bar.state)))


def _draw(axes: Axes, panel: _Panel, kinds: int) -> None:
    for row, bar in enumerate(panel.bars):
        edges = {True: 0.0, False: 0.0}  # returns grow to the left of zero, sales to the right
        for style, value in bar.parts:
            width = float(value)  # a chart's edge: pixels, not money
            axes.barh(
                row,
                width,
                left=edges[width > 0],
                height=0.68,
                facecolor=style.fill,
                edgecolor=style.edge,
                hatch=style.hatch,
                linewidth=0.8,
            )
            edges[width > 0] += width
        left = bar.total < 0
        axes.annotate(
            _short(bar.total),
            (edges[not left], row),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=8.5,
            color=_INK,
            parse_math=False,
        )
    axes.set_yticks(range(len(panel.bars)), [bar.state for bar in panel.bars])
    axes.set_ylim(len(panel.bars) - 0.5, -0.5)  # the largest on top
    axes.margins(x=0.16)
    _dress(axes, panel, title_pad=10 + 72 * _LEGEND_ROW * kinds)
    _legend(axes, panel.styles, up=72 * _LEGEND_ROW * (kinds - len(panel.styles)))


def _dress(axes: Axes, panel: _Panel, *, title_pad: float) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415  # an optional extra

    axes.set_title(
        panel.title, loc="left", fontsize=11.5, fontweight="bold", color=_INK, pad=title_pad
    )
    axes.set_xlabel(panel.axis, fontsize=9, color=_MUTED, loc="left")
    axes.set_ylabel("State", fontsize=9, color=_MUTED, loc="top", rotation=0, labelpad=-12)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"-${-x:,.0f}" if x < 0 else f"${x:,.0f}")
    )
    axes.tick_params(axis="x", labelsize=8.5, colors=_MUTED, length=0)
    axes.tick_params(axis="y", labelsize=9, labelcolor=_INK, length=0)
    axes.grid(axis="x", color=_LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(0, color=_MUTED, linewidth=0.9)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _legend(axes: Axes, styles: Sequence[_Style], *, up: float) -> None:
    """The kinds of bars, between the title and the bars; `up` points above the bars."""
    from matplotlib.patches import Patch  # noqa: PLC0415  # an optional extra
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415  # an optional extra

    axes.legend(
        handles=[
            Patch(
                facecolor=style.fill,
                edgecolor=style.edge,
                hatch=style.hatch,
                linewidth=0.8,
                label=style.name,
            )
            for style in styles
        ],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=axes.transAxes + ScaledTranslation(0, up / 72, axes.figure.dpi_scale_trans),
        fontsize=8.5,
        frameon=False,
        borderpad=0,
        borderaxespad=0.25,
        labelcolor=_INK,
        handlelength=2.2,
        handleheight=1.1,
    )


def _write(
    figure: Figure,
    down: float,
    text: str,
    *,
    size: float,
    bold: bool = False,
    color: str = _INK,
) -> None:
    """Text at the left edge, `down` inches from the top; dollar signs are not formulas."""
    figure.text(
        0.2 / _WIDTH,
        1 - down / figure.get_figheight(),
        text,
        fontsize=size,
        fontweight="bold" if bold else "normal",
        color=color,
        va="top",
        parse_math=False,
    )


def _notes(summary: Summary) -> list[str]:
    notes = []
    free = _rate_zero(summary)
    if free:
        notes.append(f"Tax of 0.00, no bar: {', '.join(free)}.")
    if any(bar.state == _OTHER for panel in _panels(summary) for bar in panel.bars):
        notes.append(_OTHER_NOTE)
    return [*notes, RATE_NOTE_SHORT]


def _rate_zero(summary: Summary) -> list[str]:
    """States whose whole-rate rows come to no tax (most often those without a sales tax)."""
    return [
        state.state or _OTHER
        for state in summary.states
        if state.totals.whole_rows and not state.totals.tax
    ]


def _headline(summary: Summary) -> list[str]:
    totals = summary.money
    if totals is None or not totals.rows:
        return ["No rows."]
    lines = [f"{_exact(totals.tax)} tax on {_exact(totals.taxed_sales)} of sales at whole rates."]
    doubtful = sum(
        (part.tax for part in summary.tax_by_confidence if part.confidence not in _SURE), Decimal(0)
    )
    if doubtful:
        lines.append(f"Of this tax, {_exact(doubtful)} rests on rates of low confidence.")
    if totals.partial_tax:
        lines.append(
            f"{_exact(totals.partial_tax)} tax from partial rates, which is a lower bound."
        )
    if totals.partial_rows or totals.open_rows:
        without = totals.untaxed_sales + totals.open_sales
        lines.append(f"{_exact(without)} of sales has no tax computed.")
    return lines


def _describe(summary: Summary) -> str:
    """The text alternative: headline, each panel's figures, the notes."""
    lines = [" ".join(["Sales tax by state.", *_headline(summary)])]
    for panel in _panels(summary):
        for style in panel.styles:
            bars = ", ".join(
                f"{bar.state} {_exact(value)}"
                for bar in panel.bars
                for kind, value in bar.parts
                if kind == style
            )
            lines.append(f"{panel.title} ({style.name}): {bars}.")
    return "\n".join([*lines, *_notes(summary)])


def _exact(value: Decimal) -> str:
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def _short(value: Decimal) -> str:
    if abs(value) < _CENTS_BELOW:
        return _exact(value)
    whole = value.quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return f"{'-' if whole < 0 else ''}${abs(whole):,}"
