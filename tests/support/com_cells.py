"""Cells as COM shows them: an error value is an integer, one cell is a scalar, several are rows.

Only what this project touches, and as Excel does it.
"""

# ruff: noqa: N802 - the names are Excel's

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.com_excel import Sheet

RANGE_IID = "{00020846-0000-0000-C000-000000000046}"
MISSING = -2147352572
NOT_AVAILABLE = -2146826246
SPILL = -2146828288 + 2045
A1 = re.compile(r"(\$?)([A-Z]{1,3})(\$?)([0-9]+)")
_REFERENCE = re.compile(r"(?<![A-Za-z0-9_.])\$?[A-Z]{1,3}\$?[0-9]+(?![A-Za-z0-9_(])")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - a cell's day has no zone
_NULL = None


class ComError(Exception):
    """pywintypes.com_error: Excel refuses."""

    hresult = -2146827284


def letters(column):
    name = ""
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def number(name):
    total = 0
    for letter in name:
        total = total * 26 + ord(letter) - 64
    return total


@dataclass
class Cell:
    """What a cell holds; `style` is "date", "currency" or "text" where it is formatted so."""

    value: object = None
    formula: str = ""
    style: str = ""
    spills: tuple | None = None
    anchor: tuple | None = None
    legacy: bool = False


@dataclass
class Range:
    """Cells of a sheet: rows and columns from 1."""

    sheet: Sheet
    row: int
    column: int
    height: int = 1
    width: int = 1
    Areas: list = field(default_factory=list)

    def __post_init__(self):
        attributes = SimpleNamespace(iid=RANGE_IID)
        info = SimpleNamespace(GetTypeAttr=lambda: attributes)
        self._oleobj_ = SimpleNamespace(GetTypeInfo=lambda: info)
        self.Areas = self.Areas or [self]
        self.Font = SimpleNamespace()

    Worksheet = property(lambda self: self.sheet)
    Parent = property(lambda self: self.sheet)
    Application = property(lambda self: self.sheet.book.app)
    Row = property(lambda self: self._counted("Row", self.row))
    Column = property(lambda self: self.column)
    Count = property(lambda self: self.height * self.width)
    Rows = property(lambda self: SimpleNamespace(Count=self.height))
    Columns = property(lambda self: SimpleNamespace(Count=self.width))

    @property
    def Address(self):
        first = f"${letters(self.column)}${self.row}"
        if (self.height, self.width) == (1, 1):
            return first
        last = f"${letters(self.column + self.width - 1)}${self.row + self.height - 1}"
        return f"{first}:{last}"

    def _counted(self, name, value):
        self.sheet.book.app.reads.append((name, self.Address if name != "Row" else ""))
        return value

    def _keys(self):
        return [
            [(self.row + down, self.column + across) for across in range(self.width)]
            for down in range(self.height)
        ]

    def _get(self, name, read):
        self._counted(name, None)
        cells = self.sheet.cells
        rows = tuple(
            tuple(read(cells.get(key) or Cell(), key) for key in row) for row in self._keys()
        )
        return rows[0][0] if (self.height, self.width) == (1, 1) else rows

    def _put(self, values, write):
        if self.sheet.protected:
            raise ComError("the sheet is protected")
        for row, keys in enumerate(self._keys()):
            for column, key in enumerate(keys):
                value = values[row][column] if isinstance(values, tuple | list) else values
                self.sheet.book.app.written(self.sheet, key)
                write(key, value)

    @property
    def Value(self):
        return self._get("Value", lambda cell, _: self.sheet.shown(cell))

    @property
    def Value2(self):
        return self._get("Value2", lambda cell, _: cell.value)

    @Value2.setter
    def Value2(self, values):
        self._put(values, self.sheet.type)

    @property
    def Formula(self):
        return self._get("Formula", lambda cell, _: cell.formula or self.sheet.typed(cell))

    @Formula.setter
    def Formula(self, values):
        self._put(values, self.sheet.type)

    @property
    def Formula2(self):
        if not self.sheet.book.app.dynamic:
            raise AttributeError("Formula2")
        return self.Formula

    @property
    def FormulaR1C1(self):
        return self._get(
            "FormulaR1C1",
            lambda cell, key: in_r1c1(cell.formula, *key) or self.sheet.typed(cell),
        )

    @property
    def NumberFormat(self):
        return {True: "@", False: "General"}.get(self._each(lambda cell: cell.style == "text"))

    @property
    def HasFormula(self):
        self._counted("HasFormula", None)
        return self._each(lambda cell: cell.formula)

    def _each(self, test):
        cells = self.sheet.cells
        found = {bool(test(cells.get(key) or Cell())) for row in self._keys() for key in row}
        return found.pop() if len(found) == 1 else _NULL

    @property
    def HasSpill(self):
        if not self.sheet.book.app.dynamic:
            raise AttributeError("HasSpill")
        return self._each(lambda cell: not cell.legacy and (cell.spills or cell.anchor))

    @property
    def HasArray(self):
        return self._each(lambda cell: cell.legacy)

    @property
    def SpillParent(self):
        cell = self.sheet.cells[self.row, self.column]
        return Range(self.sheet, *(cell.anchor or (self.row, self.column)))

    @property
    def SpillingToRange(self):
        cell = self.sheet.cells[self.row, self.column]
        if cell.spills is None:
            raise ComError("not the cell that spills")
        return Range(self.sheet, self.row, self.column, *cell.spills)

    @property
    def CurrentArray(self):
        parent = self.SpillParent
        shape = self.sheet.cells[parent.row, parent.column].spills
        return Range(self.sheet, parent.row, parent.column, *shape)

    @property
    def ListObject(self):
        for table in self.sheet.tables:
            if table.holds(self.row, self.column):
                return table
        return None

    def ClearContents(self):
        self._put(None, self.sheet.type)


@dataclass
class Table:
    """An Excel table: headings in its first row."""

    sheet: Sheet
    Name: str
    row: int
    column: int
    headings: tuple
    height: int

    def holds(self, row, column):
        across = column - self.column
        return 0 <= row - self.row <= self.height and 0 <= across < len(self.headings)

    @property
    def Range(self):
        return Range(self.sheet, self.row, self.column, self.height + 1, len(self.headings))

    def ListColumns(self, heading):
        if heading not in self.headings:
            raise ComError("no such column")
        at = self.column + self.headings.index(heading)
        return SimpleNamespace(Range=Range(self.sheet, self.row, at, self.height + 1))


def in_r1c1(formula, row, column):
    """The formula in R1C1 style, as it looks from a cell; texts are left alone."""

    def one(match):
        fixed_column, name, fixed_row, line = A1.fullmatch(match[0]).groups()
        down, across = int(line) - row, number(name) - column
        rows = f"R{line}" if fixed_row else f"R[{down}]" if down else "R"
        columns = f"C{number(name)}" if fixed_column else f"C[{across}]" if across else "C"
        return rows + columns

    parts = re.split(r'("[^"]*")', formula)
    return "".join(part if part.startswith('"') else _REFERENCE.sub(one, part) for part in parts)
