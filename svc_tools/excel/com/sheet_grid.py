"""What a sheet holds, read at once: its formulas, and the values they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from svc_tools.excel.com.areas import Area
from svc_tools.excel.com.formulas import Reference, calls_in, has_calls, literal
from svc_tools.excel.registry import function
from svc_tools.excel.values import OMITTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook
    from svc_tools.excel.values import Argument, Scalar

__all__ = ["Grid"]

_BY_ZIP: Final = ("state", "zip", "as_of")


class Grid:
    """The cells of a sheet as they are now: three reads, however many there are.

    Args:
        workbook: the workbook.
        sheet: the sheet.
    """

    def __init__(self, workbook: Workbook, sheet: Sheet) -> None:
        self.sheet = sheet
        self.name = sheet.name
        self.area = sheet.used
        self._workbook = workbook
        self._formulas = sheet.formulas(self.area)
        self._r1c1 = sheet.formulas_r1c1(self.area)
        self._values = sheet.values(self.area)
        self._tables = sheet.tables()
        self._named: dict[str, Argument | None] = {}

    def calling(self, within: Sequence[Area] | None = None) -> Iterator[tuple[Area, str]]:
        """The cells whose formula calls one of our functions, and the formula.

        A text that reads like a formula is none.

        Args:
            within: only cells in these blocks; everywhere where left out.
        """
        for down, row in enumerate(self._formulas):
            for across, formula in enumerate(row):
                if "SVC_" not in formula.upper() or not has_calls(formula):
                    continue
                if self._values[down][across] == formula:
                    continue
                cell = Area(self.area.row + down, self.area.column + across)
                if within is None or any(cell.within(block) for block in within):
                    yield cell, formula

    def values(self, area: Area) -> list[list[Scalar]]:
        """The values of a block of it."""
        top, left = area.row - self.area.row, area.column - self.area.column
        return [row[left : left + area.width] for row in self._values[top : top + area.height]]

    def value(self, row: int, column: int) -> Scalar:
        """The value of a cell; `None` outside."""
        inside = Area(row, column).within(self.area)
        return None if inside is None else self.values(inside)[0][0]

    def asked(self, cell: Area) -> tuple[Argument, ...] | None:
        """The state, ZIP and day that a formula asks about; `None` where that is not certain.

        It is where the formula calls one function that has these arguments.
        """
        formula = self._r1c1[cell.row - self.area.row][cell.column - self.area.column]
        calls = calls_in(formula)
        if len(calls) != 1:
            return None
        names = [parameter.name for parameter in function(calls[0].name).parameters]
        if not set(_BY_ZIP) <= set(names) or "address" in names:
            return None
        given = dict(zip(names, calls[0].arguments, strict=False))
        found = [self._argument(given.get(name, ""), cell) for name in _BY_ZIP]
        if any(one is None for one in found):
            return None
        return tuple(found)

    def _argument(self, text: str, cell: Area) -> Argument | None:
        """The value of an argument; `None` where it is not certain or empty."""
        if not text:
            return OMITTED
        written = literal(text)
        if written is not None:
            return written
        refers = Reference.read(text, cell.column)
        if refers is None:
            return self._name(text) if text.isidentifier() else None
        row = refers.row if refers.down is None else cell.row + refers.down
        column = refers.column or self._column(refers, cell)
        return self.value(row, column) if row > 0 and column > 0 else None

    def _column(self, refers: Reference, cell: Area) -> int:
        """The column of a heading of the table in which the cell stands; 0 where there is none."""
        for name, area in self._tables:
            if cell.within(area) and refers.table in {"", name}:
                headings = self.values(Area(area.row, area.column, 1, area.width))[0]
                if refers.field in headings:
                    return area.column + headings.index(refers.field)
        return 0

    def _name(self, name: str) -> Argument | None:
        if name not in self._named:
            found = self._workbook.named(name)
            one = found is not None and (found[1].height, found[1].width) == (1, 1)
            self._named[name] = found[0].value(found[1]) if found is not None and one else None
        return self._named[name]
