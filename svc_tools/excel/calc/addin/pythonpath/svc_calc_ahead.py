# ruff: noqa: INP001, UP035 - a file of the extension, for Python 3.8 as well
"""What the formulas of a document will ask, read from their texts and from plain cells.

Only cells without a formula are read: to read another would have Calc compute it, perhaps in the
middle of what it computes now. A call that cannot be understood so is left out: its cell asks for
itself when its turn comes. A mistake here costs time, never a figure. Lookups may cost money, so a
call that an IF keeps from being made is not foreseen: only guards such as A2="" are understood.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple

_CONSTANTS, _FORMULAS = 1 | 2 | 4, 16
"""Calc's kinds of cells: numbers, days and texts; formulas."""
_MOST_CELLS = 500_000
"""A document with more is not read."""

_CALL = re.compile(r'"(?:[^"]|"")*"|\bSVC\.TOOLS\.(SVC_[A-Z_]+)\(', re.IGNORECASE)
_PIECE = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|[(){}\[\];]|[^\"'(){}\[\];]+")
_TEXT = re.compile(r'"((?:[^"]|"")*)"')
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_TRUTH = re.compile(r"(TRUE|FALSE)\(\)", re.IGNORECASE)
_CELL = re.compile(r"(?:\$?('(?:[^']|'')+'|[^\s$'.!;()]+)\.)?\$?([A-Z]{1,3})\$?(\d{1,7})")
_NAME = re.compile(r"[^\W\d][\w.]*")
_ROW_OF_TABLE = re.compile(r"(\w+)\[\[#This Row\][;,]\[([^\[\]]+)\]\]", re.IGNORECASE)


_WORD = re.compile(r"[\w.]*$")
_DECIDING = {"IF", "IFERROR", "IFNA", "IFS", "CHOOSE", "SWITCH"}
_EMPTINESS = re.compile(r'(.+?)(=|<>)""')
_EMPTY = float("0.0")
"""An empty cell as Calc hands it over; this very object, so that it is told from a 0."""


class _Unknown(Exception):  # noqa: N818 - no error: the cell asks for itself
    """What an argument will be cannot be said."""


def calls_of(document: Any) -> Iterator[tuple[str, list[object]]]:  # noqa: ANN401 - UNO
    """The calls of our functions in a spreadsheet document: names, and arguments as Calc has them.

    Args:
        document: the document, as Calc hands it over.
    """
    book = _Book(document)
    for sheet, row, formula in book.formulas():
        for name, arguments, guards in _calls(formula):
            try:
                if all(book.lets(one, sheet, row) for one in guards):
                    yield name, [book.value(one, sheet, row) for one in arguments]
            except _Unknown:
                continue


class _Guard(NamedTuple):
    """A function around a call that decides whether it is made."""

    name: str
    condition: str
    position: int
    """Of the argument that holds the call, from 0."""


def _calls(formula: str) -> Iterator[tuple[str, list[str], list[_Guard]]]:
    """The calls in the text of a formula: names, texts of arguments, and what decides on them."""
    for found in _CALL.finditer(formula):
        if found[1]:
            arguments = _arguments(formula, found.end())
            if arguments is not None:
                yield found[1].upper(), arguments, list(_guards(formula, found.start()))


def _guards(formula: str, end: int) -> Iterator[_Guard]:
    """The deciding functions that are open where a call begins."""
    opened: list[tuple[str, int, list[int]]] = []  # name, where its arguments begin, its ";"
    before = ""
    for piece in _PIECE.finditer(formula, 0, end):
        mark = piece[0]
        if mark in "({[":
            word = _WORD.search(before)
            opened.append((word[0].upper() if word else "", piece.end(), []))
        elif mark in ")}]" and opened:
            opened.pop()
        elif mark == ";" and opened:
            opened[-1][2].append(piece.start())
        before = mark
    for name, begin, marks in opened:
        if name in _DECIDING and marks:
            yield _Guard(name, formula[begin : marks[0]].strip(), len(marks))


def _arguments(formula: str, begin: int) -> list[str] | None:
    depth, arguments, text = 0, [], ""
    for piece in _PIECE.finditer(formula, begin):
        mark = piece[0]
        if mark == ")" and depth == 0:
            arguments.append(text.strip())
            return [] if arguments == [""] else arguments
        if mark == ";" and depth == 0:
            arguments.append(text.strip())
            text = ""
            continue
        depth += (mark in "({[") - (mark in ")}]")
        text += mark
    return None


class _Book:
    """The cells of a document that hold no formula; sheets are read when they are needed."""

    def __init__(self, document: Any) -> None:  # noqa: ANN401 - UNO
        self._document = document
        self._sheets = [document.Sheets.getByIndex(at) for at in range(document.Sheets.Count)]
        self._names = [one.Name for one in self._sheets]
        self._computed: dict[int, set[tuple[int, int]]] = {}
        self._plain: dict[int, dict[tuple[int, int], object]] = {}
        self._cells = 0

    def formulas(self) -> Iterator[tuple[int, int, str]]:
        """Sheet, row and text of every formula."""
        found = []
        for at, sheet in enumerate(self._sheets):
            self._computed[at] = set()
            for left, top, rows in self._blocks(sheet, _FORMULAS, "getFormulaArray"):
                for down, row in enumerate(rows):
                    for right, text in enumerate(row):
                        self._computed[at].add((left + right, top + down))
                        if "SVC.TOOLS." in text.upper():
                            found.append((at, top + down, text))
        return iter(found)

    def value(self, text: str, sheet: int, row: int) -> object:
        """What Calc will hand over for the text of an argument, in a formula there."""
        if not text:
            return None
        literal = _literal(text)
        if literal is not None:
            return literal
        cell = _CELL.fullmatch(text)
        if cell:
            return self._at(self._sheet(cell[1], sheet), _column(cell[2]), int(cell[3]) - 1)
        table = _ROW_OF_TABLE.fullmatch(text)
        if table:
            return self._in_table(table[1], table[2], row)
        if _NAME.fullmatch(text):
            return self._named(text)
        raise _Unknown

    def lets(self, guard: _Guard, sheet: int, row: int) -> bool:
        """Whether a guard lets the call be made that it holds."""
        emptiness = _EMPTINESS.fullmatch(guard.condition)
        if guard.name != "IF" or emptiness is None:
            raise _Unknown
        value = self.value(emptiness[1].strip(), sheet, row)
        is_empty = value is _EMPTY or value == ""
        return (is_empty == (emptiness[2] == "=")) == (guard.position == 1)

    def _sheet(self, named: str | None, here: int) -> int:
        if named is None:
            return here
        plain = named[1:-1].replace("''", "'") if named.startswith("'") else named
        if plain not in self._names:
            raise _Unknown
        return self._names.index(plain)

    def _at(self, sheet: int, column: int, row: int) -> object:
        if (column, row) in self._computed[sheet]:
            raise _Unknown
        if sheet not in self._plain:
            cells: dict[tuple[int, int], object] = {}
            for left, top, rows in self._blocks(self._sheets[sheet], _CONSTANTS, "getDataArray"):
                for down, line in enumerate(rows):
                    for right, value in enumerate(line):
                        cells[left + right, top + down] = value
            self._plain[sheet] = cells
        return self._plain[sheet].get((column, row), _EMPTY)

    def _named(self, name: str) -> object:
        names = self._document.NamedRanges
        if not names.hasByName(name):
            raise _Unknown
        cells = names.getByName(name).getReferredCells()
        if cells is None:
            raise _Unknown
        return self._single(cells.RangeAddress)

    def _single(self, address: Any) -> object:  # noqa: ANN401 - UNO
        if (address.StartColumn, address.StartRow) != (address.EndColumn, address.EndRow):
            raise _Unknown
        return self._at(address.Sheet, address.StartColumn, address.StartRow)

    def _in_table(self, table: str, heading: str, row: int) -> object:
        tables = self._document.DatabaseRanges
        if not tables.hasByName(table):
            raise _Unknown
        area = tables.getByName(table).DataArea
        for column in range(area.StartColumn, area.EndColumn + 1):
            if self._at(area.Sheet, column, area.StartRow) == heading:
                return self._at(area.Sheet, column, row)
        raise _Unknown

    def _blocks(self, sheet: Any, kinds: int, read: str) -> Iterator[tuple[int, int, Any]]:  # noqa: ANN401 - UNO
        """The cells of some kinds: left, top and rows of each block of them."""
        for one in sheet.queryContentCells(kinds).RangeAddresses:
            area = (one.StartColumn, one.StartRow, one.EndColumn, one.EndRow)
            self._cells += (area[2] - area[0] + 1) * (area[3] - area[1] + 1)
            if self._cells > _MOST_CELLS:
                raise _Unknown
            yield (
                one.StartColumn,
                one.StartRow,
                getattr(sheet.getCellRangeByPosition(*area), read)(),
            )


def _literal(text: str) -> object:
    quoted = _TEXT.fullmatch(text)
    if quoted:
        return quoted[1].replace('""', '"')
    if _NUMBER.fullmatch(text):
        return float(text)
    truth = _TRUTH.fullmatch(text)
    return float(truth[1].upper() == "TRUE") if truth else None


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
