"""Where cells are: blocks of rows and columns, and their addresses. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Area"]

_LETTERS = 26


class Area(NamedTuple):
    """A block of cells of a sheet; rows and columns count from 1."""

    row: int
    column: int
    height: int = 1
    width: int = 1

    @classmethod
    def around(cls, areas: Iterable[Area]) -> Area:
        """The smallest block that holds all of them."""
        rows, columns, bottoms, rights = zip(
            *((one.row, one.column, one.row + one.height, one.column + one.width) for one in areas),
            strict=True,
        )
        top, left = min(rows), min(columns)
        return cls(top, left, max(bottoms) - top, max(rights) - left)

    @property
    def address(self) -> str:
        """The address: B2, or B2:C9."""
        first = f"{_name(self.column)}{self.row}"
        if (self.height, self.width) == (1, 1):
            return first
        last = f"{_name(self.column + self.width - 1)}{self.row + self.height - 1}"
        return f"{first}:{last}"

    def cells(self) -> Iterator[Area]:
        """Its cells, row after row."""
        for row in range(self.row, self.row + self.height):
            for column in range(self.column, self.column + self.width):
                yield Area(row, column)

    def within(self, other: Area) -> Area | None:
        """The part of it that is in another; `None` where there is none."""
        top, left = max(self.row, other.row), max(self.column, other.column)
        bottom = min(self.row + self.height, other.row + other.height)
        right = min(self.column + self.width, other.column + other.width)
        if bottom <= top or right <= left:
            return None
        return Area(top, left, bottom - top, right - left)


def _name(column: int) -> str:
    name = ""
    while column:
        column, rest = divmod(column - 1, _LETTERS)
        name = chr(ord("A") + rest) + name
    return name
