"""Of which kinds the cells of a spreadsheet's columns are, and each column's one type."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Kinds", "cell_text"]

_WIDEST = 2**63
_BY_KIND: dict[frozenset[type], pa.DataType] = {
    frozenset(): pa.string(),
    frozenset({str}): pa.string(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset({date}): pa.date32(),
    frozenset({datetime}): pa.timestamp("us"),
    frozenset({date, datetime}): pa.timestamp("us"),
}


class Kinds:
    """What has been seen in each column. A moment at midnight is a date."""

    def __init__(self) -> None:
        self._seen: list[set[type]] = []

    @property
    def width(self) -> int:
        """How many columns hold anything."""
        used = [position + 1 for position, kinds in enumerate(self._seen) if kinds]
        return max(used, default=0)

    def see(self, row: Sequence[object]) -> bool:
        """Take a row in; whether it holds anything."""
        while len(self._seen) < len(row):
            self._seen.append(set())
        anything = False
        for kinds, cell in zip(self._seen, row, strict=False):
            if cell is not None:
                anything = True
                kinds.add(_kind(cell))
        return anything

    def mixed(self) -> list[int]:
        """Columns that have no type but text for cells of several kinds."""
        seen = enumerate(self._seen)
        return [position for position, kinds in seen if frozenset(kinds) not in _BY_KIND]

    def is_several(self, position: int) -> bool:
        """Whether the column has cells of more than one kind, be it whole numbers and others."""
        return len(self._seen[position]) > 1 if position < len(self._seen) else False

    def types(self, count: int) -> list[pa.DataType]:
        """One type for each of the first columns."""
        self._seen += [set() for _ in range(count - len(self._seen))]
        return [_BY_KIND.get(frozenset(kinds), pa.string()) for kinds in self._seen[:count]]

    def array(self, position: int, cells: Sequence[object], kind: pa.DataType) -> pa.Array:
        """Cells of a column as its type."""
        if pa.types.is_string(kind) and self._seen[position] != {str}:
            cells = [None if cell is None else cell_text(cell) for cell in cells]
        elif pa.types.is_floating(kind):
            cells = [None if cell is None else float(cell) for cell in cells]  # type: ignore[arg-type]
        elif pa.types.is_date(kind):
            cells = [cell.date() if isinstance(cell, datetime) else cell for cell in cells]
        return pa.array(cells, kind)


def _kind(cell: object) -> type:
    if isinstance(cell, datetime):
        return date if cell.time() == time() else datetime
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= _WIDEST:
        return float
    return type(cell)


def cell_text(cell: object) -> str:
    """A cell as text: dates in ISO, whole numbers without a point."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, datetime):
        return str(cell.date()) if cell.time() == time() else str(cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:  # noqa: PLR2004  # exact
        return str(int(cell))
    return str(cell)
