"""Charts of an enriched frame, drawn without a display and without global state.

Every chart says what it shows in words, too: the figure's label (`figure.get_label()`) is its text
alternative, and `save_chart` writes it into the PNG.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.charting.chart_panels import described, headline_of, notes_of, panels_of
from svc_tools.frames.enriched import require_columns
from svc_tools.frames.reports.summary_words import exact_dollars
from svc_tools.frames.summary import Summary, summarize
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from svc_tools.frames.charting.chart_panels import Panel, Style

__all__ = ["describe_tax_by_state", "save_chart", "tax_by_state"]

_INK, _MUTED, _LINE = "#1b1f24", "#57606a", "#d0d7de"
_WIDTH, _ROW = 11.0, 0.29  # inches: the page, one bar
_LINE_OF_TEXT, _LEGEND_ROW, _AXIS = 0.19, 0.2, 0.72  # inches: heights
_LEFT, _GAP, _RIGHT = 0.75, 0.95, 0.35  # inches: beside and between the panels
_MARGIN, _LABELS = 0.2, 0.55  # inches: of the page, and for the names of the states
_CENTS_BELOW = 10  # dollars: smaller sums are labelled with their cents
_NOTE_LINE, _BETWEEN_NOTES, _NOTE_LETTER = 0.165, 0.07, 0.069  # inches: notes are set small
_TITLE_LINES, _ABOVE_NOTES = 1.4, 0.1  # their title, in lines of theirs; inches above it
_LINE_SPACING = 1.2
_DPI, _COLOURS = 150, 64


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
    panels, headline, notes = panels_of(summary), headline_of(summary), notes_of(summary)
    rows = max((len(panel.bars) for panel in panels), default=0)
    kinds = max((len(panel.styles) for panel in panels), default=0)
    head = 1.05 + _LINE_OF_TEXT * len(headline) + _LEGEND_ROW * kinds
    foot = head + _ROW * rows + (_AXIS if panels else 0)
    width = (_WIDTH - _LEFT - _RIGHT + _GAP) / max(len(panels), 1) - _GAP
    block = _note_block(panels, notes, width, rows)
    figure = Figure(figsize=(_WIDTH, foot + block.height_at_foot), facecolor="white")
    figure.set_label(described(summary))
    _write(figure, (_MARGIN, 0.24), "Sales tax by state", size=16, bold=True)
    _write(figure, (_MARGIN, 0.6), "\n".join(headline), size=10.5)
    for place, panel in enumerate(panels):
        _draw(_axes(figure, panel, _LEFT + place * (width + _GAP), head, width), panel, kinds)
    down = foot if block.at_foot else head + _ROW * block.bars_above + _AXIS + _ABOVE_NOTES
    _write_notes(figure, (block.left, down), block.notes)
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
    return described(_summary(frame, amount=amount, prefix=prefix))


def save_chart(figure: Figure, path: str | Path) -> None:
    """Write a figure as a PNG whose metadata carry its text alternative.

    Raises:
        FileNotFoundError: the folder does not exist.
        OSError: the file cannot be written.
    """
    from PIL import Image, PngImagePlugin  # noqa: PLC0415  # comes with matplotlib

    description = str(figure.get_label())
    words = PngImagePlugin.PngInfo()
    words.add_itxt("Title", description.partition(".")[0])
    words.add_itxt("Description", description)
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=_DPI)
    with Image.open(drawn) as image:
        # few colours are in it: a palette makes a third of the bytes
        small = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    with whole_file(Path(path)) as draft:
        small.save(draft, format="png", optimize=True, dpi=(_DPI, _DPI), pnginfo=words)


def _summary(frame: pd.DataFrame, *, amount: Hashable, prefix: str) -> Summary:
    require_columns(frame, (f"{prefix}tax",), "compute the tax first: df.svc.tax(amount='amount')")
    return summarize(frame, amount=amount, prefix=prefix)


class _NoteBlock(NamedTuple):
    """Where the notes stand: beneath the panel with room for them, else at the foot of the page."""

    notes: tuple[tuple[str, ...], ...]
    left: float
    bars_above: int
    at_foot: bool

    @property
    def height(self) -> float:
        """Inches, with the title above the notes."""
        lines = sum(len(note) for note in self.notes) + _TITLE_LINES
        return _NOTE_LINE * lines + _BETWEEN_NOTES * len(self.notes)

    @property
    def height_at_foot(self) -> float:
        """What the page must be longer for it."""
        return self.height + 0.1 if self.at_foot else 0.0


def _note_block(
    panels: Sequence[Panel], notes: Sequence[str], width: float, rows: int
) -> _NoteBlock:
    for place, panel in enumerate(panels):
        bars = len(panel.bars)
        left = _LEFT + place * (width + _GAP) - _LABELS
        block = _NoteBlock(_wrapped(notes, width + _LABELS), left, bars, at_foot=False)
        if block.height + _ABOVE_NOTES <= _ROW * (rows - bars):
            return block
    return _NoteBlock(_wrapped(notes, _WIDTH - 2 * _MARGIN), _MARGIN, rows, at_foot=True)


def _wrapped(notes: Sequence[str], width: float) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(wrap(note, int(width / _NOTE_LETTER))) for note in notes)


def _write_notes(
    figure: Figure, where: tuple[float, float], notes: Sequence[Sequence[str]]
) -> None:
    left, down = where
    _write(figure, where, "Notes", size=10, bold=True)
    down += _NOTE_LINE * _TITLE_LINES
    for lines in notes:
        _write(figure, (left, down), "\n".join(lines), size=8.5)
        down += _NOTE_LINE * len(lines) + _BETWEEN_NOTES


def _axes(figure: Figure, panel: Panel, left: float, top: float, width: float) -> Axes:
    """The axes of a panel, placed in inches from the page's left and top edge."""
    tall, height = _ROW * len(panel.bars), figure.get_figheight()
    box = (left / _WIDTH, 1 - (top + tall) / height, width / _WIDTH, tall / height)
    return figure.add_axes(box)


def _draw(axes: Axes, panel: Panel, kinds: int) -> None:
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


def _dress(axes: Axes, panel: Panel, *, title_pad: float) -> None:
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


def _legend(axes: Axes, styles: Sequence[Style], *, up: float) -> None:
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
    where: tuple[float, float],
    text: str,
    *,
    size: float,
    bold: bool = False,
    color: str = _INK,
) -> None:
    """Text, in inches from the left and the top; dollar signs are not formulas."""
    left, down = where
    figure.text(
        left / _WIDTH,
        1 - down / figure.get_figheight(),
        text,
        fontsize=size,
        fontweight="bold" if bold else "normal",
        color=color,
        va="top",
        linespacing=_LINE_SPACING,
        parse_math=False,
    )


def _short(value: Decimal) -> str:
    if abs(value) < _CENTS_BELOW:
        return exact_dollars(value)
    whole = value.quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return f"{'-' if whole < 0 else ''}${abs(whole):,}"
