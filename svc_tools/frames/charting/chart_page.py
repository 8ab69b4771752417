"""The page of a chart: title, headline, legend, axes and notes under constrained layout."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.legend import Legend

INK, MUTED, LINE = "#1b1f24", "#57606a", "#d0d7de"
_MARGIN, _EDGE, _GAP = 0.2, 0.12, 0.04  # inches: left and right, above and below, around a row
_NARROW = 5.0  # inches
_CHART = 3
"""The row of the chart."""
_THIN = 0.01
"""Inches: the given height of a row of text, for which constrained layout makes room."""


class SvcFigure(Figure):
    """A figure that a notebook shows by itself; its label is its text alternative."""

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=150)
        return drawn.getvalue(), {"alt": str(self.get_label())}


class ChartPage:
    """A figure with rows of text above and below the `axes` of a chart.

    Attributes:
        figure: the figure.
        axes: where the chart is drawn.
        narrow: whether the page has room for the essentials only.
        room: inches between the margins.
    """

    def __init__(
        self, width: float, *, title: str, headline: Sequence[str], notes: Sequence[str]
    ) -> None:
        """A white page of that width, in inches; `finish` sets its height."""
        self.narrow = width < _NARROW
        self.room = width - 2 * _MARGIN
        self._layout = ConstrainedLayoutEngine(w_pad=_MARGIN, h_pad=_GAP, wspace=0, hspace=0)
        self.figure = SvcFigure(figsize=(width, width), facecolor="white", layout=self._layout)
        self._lines = 0
        self._rows = rows = self.figure.add_gridspec(_CHART + 1 + len(notes), 1)
        self._write(rows[0], [title], size=12.5 if self.narrow else 15, bold=True)
        self._write(rows[1], headline, size=8.5 if self.narrow else 10)
        self._keys = self._row(rows[2])
        # a separate grid, so that its tick labels do not move the rows of text to the right
        self.axes = self.figure.add_subplot(rows[_CHART].subgridspec(1, 1)[0])
        for row, note in enumerate(notes, _CHART + 1):
            self._write(rows[row], [note], size=7.2 if self.narrow else 8, color=MUTED)

    def finish(self, height: float, *, keys: Sequence[Any]) -> SvcFigure:
        """Add the legend, and make the page as high as axes of `height` inches need."""
        if keys:
            self._add_legend(keys)
        heights = [_THIN] * self._rows.nrows
        heights[_CHART] = height
        self._rows.set_height_ratios(heights)
        high = height + 2 + self._lines * 0.3  # more than enough, to measure how much is needed
        for _ in range(8):  # the layout is not linear in the height: low charts take some steps
            self.figure.set_figheight(high)
            self._layout.set(rect=(0, _EDGE / high, 1, 1 - 2 * _EDGE / high))
            self._layout.execute(self.figure)
            lacking = height - self.axes.get_position(original=True).height * high
            high += lacking
            if abs(lacking) < _THIN:
                break
        return self.figure

    def _row(self, where: SubplotSpec) -> Axes:
        axes = self.figure.add_subplot(where)
        axes.axis("off")
        return axes

    def _write(
        self,
        where: SubplotSpec,
        paragraphs: Sequence[str],
        *,
        size: float,
        bold: bool = False,
        color: str = INK,
    ) -> None:
        """Write wrapped text; dollar signs do not start a formula."""
        lines = [line for text in paragraphs for line in _wrapped(text, self.room, size, bold=bold)]
        self._lines += len(lines)
        self._row(where).text(
            0,
            0,
            "\n".join(lines),
            fontsize=size,
            fontweight="bold" if bold else "normal",
            color=color,
            va="bottom",
            linespacing=1.3,
            parse_math=False,
        )

    def _add_legend(self, keys: Sequence[Any]) -> None:
        """The legend, in as many columns as fit."""
        for columns in range(len(keys), 0, -1):
            legend = self._legend(keys, columns)
            inches = legend.get_window_extent().width / self.figure.dpi
            if inches <= self.room:
                break

    def _legend(self, keys: Sequence[Any], columns: int) -> Legend:
        """A legend in so many columns, added to the page; it replaces an earlier one."""
        legend = self._keys.legend(
            handles=keys,
            loc="lower left",
            bbox_to_anchor=(0, 0),
            ncols=columns,
            fontsize=7.2 if self.narrow else 8,
            frameon=False,
            borderpad=0,
            borderaxespad=0,
            labelspacing=0.5,
            columnspacing=1.6,
            handletextpad=0.6,
            labelcolor=INK,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        return legend


def _wrapped(text: str, inches: float, size: float, *, bold: bool) -> list[str]:
    """A text in lines that fit into so many inches; a word that is too long is broken."""
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    room = inches * 72 * 0.96  # drawn in few pixels, letters are a little wider than measured

    def fits(line: str) -> bool:
        return bool(text_to_path.get_text_width_height_descent(line, font, False)[0] <= room)  # noqa: FBT003

    lines = [""]
    for word in text.split():
        rest = word
        if not fits(f"{lines[-1]} {rest}".strip()) and lines[-1]:
            lines.append("")
        while not fits(rest) and len(rest) > 1:
            part = max((n for n in range(1, len(rest)) if fits(rest[:n])), default=1)
            lines[-1:] = [rest[:part], ""]
            rest = rest[part:]
        lines[-1] = f"{lines[-1]} {rest}".strip()
    return lines
