# ruff: noqa: UP006, UP035 - also shipped in Calc's extension, which runs on Python 3.8
"""The calls that the formulas of a workbook are certain to make, read from their text.

A spreadsheet computes cell after cell and waits for each. So the adapters for Excel (COM) and Calc
read the other formulas when a burst of computations begins, and look all of their places up in one
batch. Only values of cells without a formula are read: another might not be computed yet. Lookups
may cost money, so a call that a condition may prevent is left out, as is anything in doubt: such a
cell looks its own place up when it is computed. A mistake here costs time, never a figure.

Standard library alone. Formulas are in their English A1 form, with "," (Excel) or ";" (Calc)
between arguments.
"""

from __future__ import annotations

import re
import time
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Tuple

_PIECE = re.compile(
    r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|[(){}\[\];,]|[^\"'(){}\[\];,]+|.", re.DOTALL
)
_WORD = re.compile(r"([\w.\\]*)\s*$")
_FUNCTION = re.compile(r"(?:SVC\.TOOLS\.)?(SVC_[A-Z_]+)", re.IGNORECASE)
_TEXT = re.compile(r'"((?:[^"]|"")*)"')
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_TRUTH = re.compile(r"(TRUE|FALSE)(?:\(\))?", re.IGNORECASE)
_CELL = re.compile(r"(?:\$?('(?:[^']|'')+'|[^\s$'.!;,()]+)[.!])?\$?([A-Z]{1,3})\$?(\d{1,7})")
_NAME = re.compile(r"[^\W\d][\w.]*")
_THIS_ROW = re.compile(
    r"(\w+)?\[(?:@([^\[\]@#,:]+)|@\[([^\[\]#':]+)\]|\[#This Row\][;,]\[([^\[\]#':]+)\])\]",
    re.IGNORECASE,
)
_EMPTINESS = re.compile(r'(.+?)(=|<>)""')
_CLOSING = {")": "(", "}": "{", "]": "["}
_CONDITIONAL = {"IF", "IFERROR", "IFNA", "IFS", "CHOOSE", "SWITCH"}
"""Functions that always compute their first argument, and perhaps the others."""
_COMPUTE_ALL = {
    *("ABS", "AVERAGE", "CONCAT", "CONCATENATE", "COUNT", "INT", "ISERROR", "ISNA", "ISNUMBER"),
    *("LEFT", "LEN", "LOWER", "MAX", "MID", "MIN", "N", "NOT", "PRODUCT", "RIGHT", "ROUND"),
    *("ROUNDDOWN", "ROUNDUP", "SUM", "T", "TEXT", "TRIM", "UPPER", "VALUE"),
}
"""Functions that compute all of their arguments."""
_BURST = 0.5
"""Seconds: a place that is not cached this soon after another belongs to a burst."""
_RAREST = 1_024


class Unknown(Exception):  # noqa: N818 - not an error: the cell looks its own place up
    """A value is not known without computing a cell."""


class Guard(NamedTuple):
    """A function around a call that may prevent it: its first argument decides."""

    name: str
    condition: str
    position: int
    """The position of the argument with the call, from 0."""


class FormulaCall(NamedTuple):
    """A call of an SVC function in a formula: its arguments as written."""

    name: str
    arguments: Tuple[str, ...]
    guards: Tuple[Guard, ...] = ()


class _Opened(NamedTuple):
    bracket: str
    name: str
    start: int
    separators: List[int]


def calls_in(formula: str, separator: str = ",") -> List[FormulaCall]:
    """The calls of SVC functions in a formula, nested ones too, in order."""
    found = []
    opened: List[_Opened] = []
    before = ""
    for piece in _PIECE.finditer(formula):
        mark = piece[0]
        in_heading = bool(opened) and opened[-1].bracket == "["  # which may contain any mark
        if mark == "[" or (mark in ("(", "{") and not in_heading):
            word = _WORD.search(before)
            opened.append(_Opened(mark, word[1] if word else "", piece.end(), []))
        elif opened and _CLOSING.get(mark) == opened[-1].bracket:
            one = opened.pop()
            function = _FUNCTION.fullmatch(one.name)
            if function and mark == ")":
                arguments = _split(formula, one, piece.start())
                call = FormulaCall(function[1].upper(), arguments, _guards(formula, opened))
                found.append((one.start, call))
        elif mark == separator and opened and not in_heading:
            opened[-1].separators.append(piece.start())
        before = mark
    return [call for _, call in sorted(found)]


def _split(formula: str, one: _Opened, end: int) -> Tuple[str, ...]:
    starts = [one.start, *(at + 1 for at in one.separators)]
    parts = [formula[a:b].strip() for a, b in zip(starts, [*one.separators, end])]  # noqa: B905 - as many
    return () if parts == [""] else tuple(parts)


def _guards(formula: str, opened: Iterable[_Opened]) -> Tuple[Guard, ...]:
    guards = []
    for one in opened:
        name = one.name.upper()
        position = len(one.separators)
        always = name in _COMPUTE_ALL or (name in _CONDITIONAL and not position)
        if name and not always and not _FUNCTION.fullmatch(name):
            first = formula[one.start : one.separators[0]].strip() if position else ""
            guards.append(Guard(name, first, position))
    return tuple(guards)


def literal(text: str) -> Any:  # noqa: ANN401 - text, a number or a truth value
    """The value of a constant; `None` for anything else."""
    if _TEXT.fullmatch(text):
        return text[1:-1].replace('""', '"')
    if _NUMBER.fullmatch(text):
        return float(text)
    truth = _TRUTH.fullmatch(text)
    return truth[1].upper() == "TRUE" if truth else None


def column_number(letters: str) -> int:
    """The number of a column, from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


class Book:
    """The cells of a workbook; a subclass reads them from its host, and raises `Unknown`."""

    separator = ","
    empty: Any = None
    """An empty cell as the host passes it to a function."""
    omitted: Any = None
    """An argument that is left out."""

    def formulas(self) -> Iterator[Tuple[Any, int, str]]:
        """Sheet, row and text of every formula to read."""
        raise NotImplementedError

    def cell(self, sheet: Any, column: int, row: int) -> Any:  # noqa: ANN401 - the host's
        """The value of a cell without a formula; rows and columns count from 1."""
        raise NotImplementedError

    def sheet(self, name: str) -> Any:  # noqa: ANN401 - the host's
        """The sheet of that name."""
        raise NotImplementedError

    def named(self, name: str) -> Any:  # noqa: ANN401 - the host's
        """The value of a workbook name for one fixed cell."""
        raise NotImplementedError

    def in_table(self, table: str, heading: str, sheet: Any, row: int) -> Any:  # noqa: ANN401 - the host's
        """The value under a heading of a table in that row; the table may be "": the own one."""
        raise NotImplementedError

    def calls(self) -> Iterator[Tuple[Any, int, str, List[Any]]]:
        """The calls that are certain: sheet, row, name, and arguments as the host passes them."""
        for sheet, row, formula in self.formulas():
            for call in calls_in(formula, self.separator):
                try:
                    if all(self._passes(guard, sheet, row) for guard in call.guards):
                        yield sheet, row, call.name, self._arguments(call, sheet, row)
                except Unknown:
                    continue

    def _arguments(self, call: FormulaCall, sheet: Any, row: int) -> List[Any]:  # noqa: ANN401 - the host's
        first = self.amount if call.name == "SVC_TAX" else self.value
        return [
            (self.value if at else first)(text, sheet, row)
            for at, text in enumerate(call.arguments)
        ]

    def amount(self, text: str, sheet: Any, row: int) -> Any:  # noqa: ANN401 - the host's
        """The amount of a tax; it only decides whether a place is looked up."""
        return self.value(text, sheet, row)

    def value(self, text: str, sheet: Any, row: int) -> Any:  # noqa: ANN401 - the host's
        """The value of an argument as written in a formula in that row."""
        if not text:
            return self.omitted
        constant = literal(text)
        if constant is not None:
            return constant
        cell = _CELL.fullmatch(text)
        if cell:
            at = cell[1]
            if at is not None:
                sheet = self.sheet(at[1:-1].replace("''", "'") if at.startswith("'") else at)
            return self.cell(sheet, column_number(cell[2]), int(cell[3]))
        of_table = _THIS_ROW.fullmatch(text)
        if of_table:
            heading = of_table[2] or of_table[3] or of_table[4]
            return self.in_table(of_table[1] or "", heading, sheet, row)
        if _NAME.fullmatch(text):
            return self.named(text)
        raise Unknown

    def _passes(self, guard: Guard, sheet: Any, row: int) -> bool:  # noqa: ANN401 - the host's
        """Whether a guard lets the call be made: only tests such as A2="" are understood."""
        emptiness = _EMPTINESS.fullmatch(guard.condition)
        if guard.name != "IF" or emptiness is None:
            raise Unknown
        value = self.value(emptiness[1].strip(), sheet, row)
        is_empty = value is self.empty or value == ""
        return (is_empty == (emptiness[2] == "=")) == (guard.position == 1)


class Patience:
    """When to read a workbook: within a burst, ever more rarely where that found nothing.

    Args:
        eager: whether the first cell of a burst reads it, not only the second.
        clock: seconds.
    """

    def __init__(self, *, eager: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._eager = eager
        self._clock = clock
        self._missed_at = float("-inf")
        self._every = 1
        self._waited = 0

    def is_due(self) -> bool:
        """Whether to read the workbook for a cell that is not cached."""
        if self._clock() - self._missed_at > _BURST:
            self._every, self._waited = 1, int(self._eager)
        else:
            self._waited += 1
        return self._waited >= self._every

    def read(self, *, helped: bool) -> None:
        """Note that it was read, and whether that found other calls."""
        self._every = 1 if helped else min(2 * self._every, _RAREST)
        self._waited = 0

    def missed(self) -> None:
        """Note that a cell was looked up."""
        self._missed_at = self._clock()
