"""Where cells are: addresses as people read them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Area"]

_ADDRESS = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]+)")
_LETTERS = 26


class Area(NamedTuple):
    """A block of cells of a sheet; rows and columns count from 1."""

    row: int
    column: int
    height: int = 1
    width: int = 1

    @classmethod
    def read(cls, address: str) -> Area | None:
        """The area of an address such as B2 or B2:C9; `None` for anything else."""
        ends = [_ADDRESS.fullmatch(part) for part in address.strip().upper().split(":")]
        corners = [(int(end[2]), _number(end[1])) for end in ends if end]
        if len(corners) != len(ends) or len(ends) not in {1, 2}:
            return None
        (top, left), (bottom, right) = corners[0], corners[-1]
        if bottom < top or right < left or not top:
            return None
        return cls(top, left, bottom - top + 1, right - left + 1)

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


def _number(name: str) -> int:
    total = 0
    for letter in name:
        total = total * _LETTERS + ord(letter) - ord("A") + 1
    return total
