"""A page for a chart: placed in inches, without a display and without global state."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["INK", "LINE", "MUTED", "Block", "Page", "SvcFigure", "wrapped"]

INK, MUTED, LINE = "#1b1f24", "#57606a", "#d0d7de"
_MARGIN = 0.2
_LINE_SPACING = 1.25
_POINTS = 72
_DPI = 150


class SvcFigure(Figure):
    """A figure that a notebook shows by itself; its label is its text alternative."""

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=_DPI)
        return drawn.getvalue(), {"alt": str(self.get_label())}


def wrapped(text: str, inches: float, size: float, *, bold: bool = False) -> list[str]:
    """A text in lines that fit into so many inches at a size in points; a long word is broken."""
    room = inches * _POINTS
    lines: list[str] = []
    line, used = "", 0.0
    for word in text.split():
        parts = _broken(word, room, size, bold=bold)
        lines += [part for part in ([line] if len(parts) > 1 and line else []) + parts[:-1] if part]
        if len(parts) > 1:
            line, used = "", 0.0
        wide = _width(parts[-1], size, bold=bold)
        space = _width("n", size, bold=bold) * 0.6
        if line and used + space + wide > room:
            lines.append(line)
            line, used = "", 0.0
        line, used = (f"{line} {parts[-1]}", used + space + wide) if line else (parts[-1], wide)
    return [*lines, line]


def _broken(word: str, room: float, size: float, *, bold: bool) -> list[str]:
    wide = _width(word, size, bold=bold)
    if wide <= room:
        return [word]
    letters = max(1, int(len(word) * room / wide * 0.85))
    return [word[start : start + letters] for start in range(0, len(word), letters)]


@lru_cache(maxsize=2048)
def _width(word: str, size: float, *, bold: bool) -> float:
    """How wide a word is drawn, in points."""
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    wide: float = text_to_path.get_text_width_height_descent(word, font, ismath=False)[0]
    return wide


class Page:
    """Text and axes from the top of a page downwards, all in inches."""

    def __init__(self, width: float, height: float) -> None:
        """An empty white page."""
        self.figure = SvcFigure(figsize=(width, height), facecolor="white")
        self.width, self.height = width, height

    def write(
        self,
        where: tuple[float, float],
        lines: str | Sequence[str],
        *,
        size: float,
        bold: bool = False,
        color: str = INK,
    ) -> None:
        """Text from a place, in inches from the left and the top; dollar signs are no formulas."""
        left, down = where
        self.figure.text(
            left / self.width,
            1 - down / self.height,
            lines if isinstance(lines, str) else "\n".join(lines),
            fontsize=size,
            fontweight="bold" if bold else "normal",
            color=color,
            va="top",
            linespacing=_LINE_SPACING,
            parse_math=False,
        )

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes in a box, in inches from the left and the top."""
        return self.figure.add_axes(
            (
                left / self.width,
                1 - (top + height) / self.height,
                width / self.width,
                height / self.height,
            )
        )


class Block:
    """Texts of one size, wrapped to the page, one below the other, and how high they are."""

    def __init__(
        self,
        texts: Sequence[str],
        width: float,
        *,
        size: float,
        bold: bool = False,
        apart: float = 0.0,
    ) -> None:
        """Wrap `texts` to a page of that width; they stand so many inches apart."""
        inner = width - 2 * _MARGIN
        self._texts = [wrapped(text, inner, size, bold=bold) for text in texts]
        self._size, self._bold, self._apart = size, bold, apart

    @property
    def height(self) -> float:
        """Inches."""
        return sum(map(self._height, self._texts)) + self._apart * max(0, len(self._texts) - 1)

    def on(self, page: Page, down: float, *, color: str = INK) -> float:
        """Write it at `down` inches from the top; where the next thing can stand."""
        end = down + self.height
        for lines in self._texts:
            page.write((_MARGIN, down), lines, size=self._size, bold=self._bold, color=color)
            down += self._height(lines) + self._apart
        return end

    def _height(self, lines: Sequence[str]) -> float:
        return len(lines) * self._size * _LINE_SPACING * 1.04 / _POINTS
