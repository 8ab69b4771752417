# ruff: noqa: UP006, UP035 - also shipped in Calc's extension, which runs on Python 3.8
"""The calls that the formulas of a workbook make, read from their text.

A spreadsheet computes cell after cell and waits for each. So the adapters for Excel (COM) and Calc
read the other formulas when a burst of computations begins, and look all of their places up in one
batch. Only values of cells without a formula are read: another might not be computed yet. Lookups
may cost money, so a call that a condition may prevent is left out, as is anything in doubt: such a
cell looks its own place up when it is computed. A mistake here costs time, never a figure.

A refresh reads a workbook that is computed, so there the values that all cells show are used.

Standard library alone. Formulas are in their English A1 form, with "," (Excel) or ";" (Calc)
between arguments.
"""

from __future__ import annotations

import re
import time
from datetime import date
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Tuple, TypeVar

_T = TypeVar("_T")
_Calls = List[Tuple[str, List[Any]]]

_PIECE = re.compile(
    r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|[(){}\[\];,]|[^\"'(){}\[\];,]+|.", re.DOTALL
)
_WORD = re.compile(r"([\w.\\]*)\s*$")
_FUNCTION = re.compile(r"(?:SVC\.TOOLS\.)?SVC[_.]([A-Z_]+)", re.IGNORECASE)
_TEXT = re.compile(r'"((?:[^"]|"")*)"')
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_TRUTH = re.compile(r"(TRUE|FALSE)(?:\(\))?", re.IGNORECASE)
_CELLS = re.compile(
    r"(?:\$?('(?:[^']|'')+'|[^\s$'.!;,()]+)[.!])?\$?([A-Z]{1,3})\$?(\d{1,7})"
    r"(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?"
)
_FIXED = re.compile(r"=(.+!\$[A-Z]{1,3}\$\d+(?::\$[A-Z]{1,3}\$\d+)?)")
"""The cells of a workbook name that are the same everywhere."""
_OF_TABLE = re.compile(
    r"(\w+)\[(?:(#All|#Data)|([^\[\]@#,:]+)|"
    r"(?:\[(#All|#Data)\][,;]\s*)?\[([^\[\]#']+)\](?::\[([^\[\]#']+)\])?)\]",
    re.IGNORECASE,
)
"""A table, with its headings or without, or its columns: T[#All], T[ZIP], T[[#All],[ZIP]:[Day]]."""
_NAME = re.compile(r"[^\W\d][\w.]*")
_THIS_ROW = re.compile(
    r"(\w+)?\[(?:@([^\[\]@#,:]+)|@\[([^\[\]#':]+)\]|\[#This Row\][;,]\[([^\[\]#':]+)\])\]",
    re.IGNORECASE,
)
_COMPARISON = re.compile(r'((?:"[^"]*"|[^"<>=])+)(=|<>|<=|>=|<|>)((?:"[^"]*"|[^"<>=])+)')
_FUNCTION_CALL = re.compile(r"(IF|AND|OR|NOT|DATE|TODAY)\((.*)\)", re.IGNORECASE | re.DOTALL)
_FIRST_DAY, _FIRST_YEAR = date(1899, 12, 30), 1900
NO_PLACES = {"SVC_SUM", "SVC_FIELDS", "SVC_NEXUS", "SVC_NEXUS_STATUS"}
"""Functions that look no place up."""
_CLOSING = {")": "(", "}": "{", "]": "["}
_CONDITIONAL = {"IF", "IFERROR", "IFNA", "IFS", "CHOOSE", "SWITCH"}
"""Functions that always compute their first argument, and perhaps the others."""
_COMPUTE_ALL = {
    *("ABS", "AVERAGE", "CONCAT", "CONCATENATE", "COUNT", "INT", "ISERROR", "ISNA", "ISNUMBER"),
    *("LEFT", "LEN", "LOWER", "MAX", "MID", "MIN", "N", "NOT", "PRODUCT", "RIGHT", "ROUND"),
    *("ROUNDDOWN", "ROUNDUP", "SUM", "T", "TEXT", "TRIM", "UPPER", "VALUE"),
}
"""Functions that compute all of their arguments."""
_COMPARED = {"=": eq, "<>": ne, "<": lt, ">": gt, "<=": le, ">=": ge}
_MOST_CELLS = 500_000
"""A larger range is not read."""
_BURST = 0.5
"""Seconds: a place that is not cached this soon after another belongs to a burst."""
_RAREST = 1_024


class Unknown(Exception):  # noqa: N818 - not an error: the cell looks its own place up
    """A value is not known without computing a cell."""


class GuardFormula(NamedTuple):
    """A function around a call that may prevent it: its first argument decides."""

    name: str
    condition: str
    position: int
    """The position of the argument with the call, from 0."""


class FormulaCall(NamedTuple):
    """A call of an SVC function in a formula: its arguments as written."""

    name: str
    arguments: Tuple[str, ...]
    guards: Tuple[GuardFormula, ...] = ()


class Table(NamedTuple):
    """A table: the first cell below its headings, counted from 1, how many rows, the headings."""

    sheet: Any
    row: int
    column: int
    height: int
    headings: List[str]

    def at(self, heading: str) -> int:
        """How many columns are before that of a heading, ignoring case."""
        try:
            return [text.casefold() for text in self.headings].index(heading.casefold())
        except ValueError:
            raise Unknown from None


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
            opening = opened.pop()
            function = _FUNCTION.fullmatch(opening.name)
            if function and mark == ")":
                name, arguments = function[1].upper(), _split(formula, opening, piece.start())
                call = FormulaCall(f"SVC_{name}", arguments, _guards(formula, opened))
                found.append((opening.start, call))
        elif mark == separator and opened and not in_heading:
            opened[-1].separators.append(piece.start())
        before = mark
    return [call for _, call in sorted(found)]


def truth_in(text: str) -> bool | None:
    """The truth value that is written as TRUE or FALSE(); `None` for any other text."""
    truth = _TRUTH.fullmatch(text)
    return truth[1].upper() == "TRUE" if truth else None


def _looks_up(call: FormulaCall) -> bool:
    return call.name not in NO_PLACES and bool(call.arguments)


def _split(formula: str, opening: _Opened, end: int) -> Tuple[str, ...]:
    starts = [opening.start, *(at + 1 for at in opening.separators)]
    parts = [formula[a:b].strip() for a, b in zip(starts, [*opening.separators, end])]  # noqa: B905 - as many
    return () if parts == [""] else tuple(parts)


def _guards(formula: str, opened: Iterable[_Opened]) -> Tuple[GuardFormula, ...]:
    guards = []
    for opening in opened:
        name = opening.name.upper()
        position = len(opening.separators)
        always = name in _COMPUTE_ALL or (name in _CONDITIONAL and not position)
        if name and not always and not _FUNCTION.fullmatch(name):
            first = formula[opening.start : opening.separators[0]].strip() if position else ""
            guards.append(GuardFormula(name, first, position))
    return tuple(guards)


def _parts(text: str, separator: str) -> Tuple[str, ...]:
    """The arguments of a function, from the text between its brackets."""
    found = calls_in(f"SVC_ANY({text}{separator}END)", separator)
    if not found or found[0].arguments[-1:] != ("END",):
        raise Unknown  # it is not one function: AND(A2="")+OR(B2="")
    return found[0].arguments[:-1]


def column_number(letters: str) -> int:
    """The number of a column, from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


class Book:
    """The cells of a workbook; a subclass reads them from its host, and raises `Unknown`."""

    shown = False
    """Whether the values that formulas show are used, not only those of cells without one."""
    ranges = False
    """Whether ranges are read although `shown` is not set: those of cells without a formula."""
    separator = ","
    empty: Any = None
    """An empty cell as the host passes it to a function."""
    omitted: Any = None
    """An argument that is left out."""

    def formulas(self) -> Iterator[Tuple[Any, int, str]]:
        """Sheet, row and text of every formula to read."""
        raise NotImplementedError

    def cell(self, sheet: Any, column: int, row: int) -> Any:  # noqa: ANN401 - the host's
        """The value of a cell; rows and columns count from 1. Unknown: see `shown`."""
        raise NotImplementedError

    def sheet(self, name: str) -> Any:  # noqa: ANN401 - the host's
        """The sheet of that name."""
        raise NotImplementedError

    def named(self, name: str) -> Any:  # noqa: ANN401 - the host's
        """The value of a workbook name for one fixed cell."""
        raise NotImplementedError

    def table(self, name: str) -> Table:  # noqa: ARG002 - the host's
        """The table of that name; only where values are `shown`."""
        raise Unknown

    def in_table(self, table: str, heading: str, sheet: Any, row: int) -> Any:  # noqa: ANN401 - the host's
        """The value under a heading of a table in that row; the table may be "": the own one."""
        raise NotImplementedError

    def calls(self) -> Iterator[Tuple[Any, int, str, List[Any]]]:
        """The calls that are certain: sheet, row, name, and arguments as the host passes them."""
        for sheet, row, formula in self.formulas():
            for name, arguments in self._calls(formula, sheet, row)[0]:
                yield sheet, row, name, arguments

    def in_use(self, make: Callable[[str, List[Any]], _T]) -> Tuple[List[List[_T]], int]:
        """For each cell of a computed workbook its calls, by the values that its cells show.

        `make` makes a call of its name and arguments. The number after them is that of the cells
        with other calls: those in doubt.
        """
        self.shown = True
        cells: List[List[_T]] = []
        unknown = 0
        for sheet, row, formula in self.formulas():
            found, in_doubt = self._calls(formula, sheet, row)
            cells.append([make(name, arguments) for name, arguments in found])
            unknown += in_doubt
        return cells, unknown

    def _calls(self, formula: str, sheet: Any, row: int) -> Tuple[_Calls, bool]:  # noqa: ANN401 - the host's
        """The calls of a formula, and whether others in doubt might look a place up."""
        found = []
        in_doubt = False
        for call in calls_in(formula, self.separator):
            try:
                if all(self._passes(guard, sheet, row) for guard in call.guards):
                    found.append((call.name, self._arguments(call, sheet, row)))
            except Unknown:
                in_doubt = in_doubt or _looks_up(call)
        return found, in_doubt

    def _arguments(self, call: FormulaCall, sheet: Any, row: int) -> List[Any]:  # noqa: ANN401 - the host's
        read = [self.amount if call.name == "SVC_TAX" else self.value]
        read += [self.value] * len(call.arguments)
        return [reader(text, sheet, row) for reader, text in zip(read, call.arguments)]  # noqa: B905 - enough

    def amount(self, text: str, sheet: Any, row: int) -> Any:  # noqa: ANN401 - the host's
        """The amount of a tax; it only decides whether a place is looked up."""
        return self.value(text, sheet, row)

    def value(self, text: str, sheet: Any, row: int) -> Any:  # noqa: ANN401, PLR0911 - one for each kind
        """The value of an argument as written in a formula in that row."""
        if not text:
            return self.omitted
        if _TEXT.fullmatch(text):
            return text[1:-1].replace('""', '"')
        if _NUMBER.fullmatch(text):
            return float(text)
        truth = truth_in(text)
        if truth is not None:
            return truth
        cells = _CELLS.fullmatch(text)
        if cells:
            return self._referred(cells, sheet)
        of_table = _THIS_ROW.fullmatch(text)
        if of_table:
            heading = of_table[2] or of_table[3] or of_table[4]
            return self.in_table(of_table[1] or "", heading, sheet, row)
        of_table = _OF_TABLE.fullmatch(text)
        if of_table and self.shown:
            name, whole, column, part, first, last = of_table.groups()
            return self._rows_of(name, column or first, last, (whole or part or "").casefold())
        function = _FUNCTION_CALL.fullmatch(text)
        if function and function[1].upper() in {"DATE", "TODAY"}:
            return self._day(function[2], sheet, row)
        if _NAME.fullmatch(text):
            return self.named(text)
        raise Unknown

    def _referred(self, found: re.Match[str], sheet: Any) -> Any:  # noqa: ANN401 - the host's
        """The value of a cell, or the rows of a range."""
        at, left, top, right, bottom = found.groups()
        if at is not None:
            sheet = self.sheet(at[1:-1].replace("''", "'") if at.startswith("'") else at)
        columns = range(column_number(left), column_number(right or left) + 1)
        rows = range(int(top), int(bottom or top) + 1)
        if len(columns) == len(rows) == 1:
            return self.cell(sheet, columns[0], rows[0])
        return self._block(sheet, columns, rows)

    def _rows_of(self, table: str, first: str = "", last: str = "", part: str = "") -> Any:  # noqa: ANN401 - the host's
        """The rows of a table, or of its columns from the first to the last."""
        found = self.table(table)
        wanted = [heading for heading in (first, last or first) if heading]
        left, right = sorted(map(found.at, wanted)) or (0, len(found.headings) - 1)
        rows = range(found.row - (part == "#all"), found.row + found.height)
        return self._block(found.sheet, range(found.column + left, found.column + right + 1), rows)

    def _block(self, sheet: Any, columns: range, rows: range) -> Any:  # noqa: ANN401 - the host's
        if not (self.shown or self.ranges) or len(columns) * len(rows) > _MOST_CELLS:
            raise Unknown
        lines = ([self.cell(sheet, column, row) for column in columns] for row in rows)
        return [["" if value is self.empty else value for value in line] for line in lines]

    def _day(self, arguments: str, sheet: Any, row: int) -> float:  # noqa: ANN401 - the host's
        """The number of a day: DATE of three values, or TODAY."""
        if not arguments:
            day = date.today()  # noqa: DTZ011 - the user's day
        else:
            given = [self.value(part, sheet, row) for part in _parts(arguments, self.separator)]
            try:
                day = date(*map(int, given))
            except (ValueError, TypeError):  # such as the month 13, which a sheet accepts
                raise Unknown from None
            if day.year < _FIRST_YEAR or any(isinstance(value, str) for value in given):
                raise Unknown  # 26 is 1926 there
        return float((day - _FIRST_DAY).days)

    def _passes(self, guard: GuardFormula, sheet: Any, row: int) -> bool:  # noqa: ANN401 - the host's
        """Whether a guard lets the call be made: an IF whose test is understood."""
        if guard.name != "IF" or guard.position not in {1, 2}:
            raise Unknown
        return self._holds(guard.condition, sheet, row) == (guard.position == 1)

    def _holds(self, condition: str, sheet: Any, row: int) -> bool:  # noqa: ANN401 - the host's
        """Whether a test holds: comparisons of values of one kind, joined by AND, OR and NOT.

        TRUE and FALSE are tests, too, and so is IF without a value for "else", where it is FALSE.
        """
        truth = truth_in(condition)
        if truth is not None:
            return truth
        function = _FUNCTION_CALL.fullmatch(condition)
        if function and function[1].upper() == "IF":
            test, *results = _parts(function[2], self.separator)
            if len(results) != 1 or self._holds(test, sheet, row):
                raise Unknown
            return False
        if function and function[1].upper() in {"AND", "OR", "NOT"}:
            name = function[1].upper()
            parts = [self._holds(part, sheet, row) for part in _parts(function[2], self.separator)]
            return all(parts) if name == "AND" else any(parts) == (name == "OR")
        comparison = _COMPARISON.fullmatch(condition)
        if comparison is None:
            raise Unknown
        texts = [comparison[1].strip(), comparison[3].strip()]
        left, right = values = [self.value(text, sheet, row) for text in texts]
        kinds = {type(value) for value in values}
        is_error = any(isinstance(value, str) and value.startswith("#") for value in values)
        if is_error or kinds - {str, int, float, bool, type(None)}:
            raise Unknown
        if '""' in texts:
            left, right = (not self._is_empty(value) for value in values)
        elif kinds == {str} and comparison[2] in {"=", "<>"}:
            left, right = left.casefold(), right.casefold()
        elif not kinds <= {int, float} and kinds != {bool}:
            raise Unknown
        return bool(_COMPARED[comparison[2]](left, right))

    def _is_empty(self, value: Any) -> bool:  # noqa: ANN401 - the host's
        return value is self.empty or value is None or value == ""


class Contents(Book):
    """A workbook that was read whole, with the values that its cells show.

    Args:
        sheets: blocks of cells, each {"name", "row", "column", "formulas", "values"}: the sheet,
            the first cell (counted from 1), and rows. A formula may be "" where it calls no
            SVC function.
        names: what each workbook name refers to, such as "=Start!$C$5".
        tables: the rows of each table below its heading, each {"name", "sheet", "row", "column",
            "height", "columns": headings}.
    """

    empty = ""

    def __init__(
        self,
        sheets: Iterable[Dict[str, Any]],
        names: Dict[str, str] | None = None,
        tables: Iterable[Dict[str, Any]] = (),
    ) -> None:
        """Index the sheets, defined names and tables by name; the arguments are not changed."""
        self.shown = True
        self._blocks: Dict[str, List[Dict[str, Any]]] = {}
        for sheet in sheets:
            self._blocks.setdefault(sheet["name"].casefold(), []).append(sheet)
        self._names = {name.casefold(): text for name, text in (names or {}).items()}
        # of names like =LAMBDA(zip, SVC_RATE("TX", zip)): their calls are known in no cell
        self._lookups = {
            name.rpartition("!")[2]
            for name, text in self._names.items()
            if any(map(_looks_up, calls_in(text)))
        }
        self._tables: Dict[str, Table] = {}
        for table in tables:
            at = table["sheet"].casefold(), table["row"], table["column"], table["height"]
            heads = [str(head).casefold() for head in table["columns"]]
            self._tables[table["name"].casefold()] = Table(*at, heads)

    def formulas(self) -> Iterator[Tuple[str, int, str]]:
        """Every formula with an SVC function; a text that only looks like one is left out."""
        for sheet, blocks in self._blocks.items():
            for block in blocks:
                rows = zip(block["formulas"], block["values"])  # noqa: B905 - as many
                for row, (texts, values) in enumerate(rows, block["row"]):
                    for text, value in zip(texts, values):  # noqa: B905 - as many
                        if not isinstance(text, str) or text[:1] != "=" or text == value:
                            continue
                        if "SVC" in text.upper() or self._has_lookup_name(text):
                            yield sheet, row, text

    def _calls(self, formula: str, sheet: Any, row: int) -> Tuple[_Calls, bool]:  # noqa: ANN401 - the base's
        found, in_doubt = super()._calls(formula, sheet, row)
        return found, in_doubt or self._has_lookup_name(formula)

    def _has_lookup_name(self, formula: str) -> bool:
        words = _NAME.findall(formula) if self._lookups else ()
        return not self._lookups.isdisjoint(map(str.casefold, words))

    def sheet(self, name: str) -> str:
        """The sheet of that name, ignoring case."""
        if name.casefold() not in self._blocks:
            raise Unknown
        return name.casefold()

    def cell(self, sheet: str, column: int, row: int) -> Any:  # noqa: ANN401 - the host's
        """The value of a cell."""
        for block in self._blocks.get(sheet, ()):
            down, across = row - block["row"], column - block["column"]
            if 0 <= down < len(block["values"]) and 0 <= across < len(block["values"][down]):
                return block["values"][down][across]
        return self.empty

    def named(self, name: str) -> Any:  # noqa: ANN401 - the host's
        """The value of a workbook name for fixed cells; the rows of a table of that name."""
        fixed = _FIXED.fullmatch(self._names.get(name.casefold(), ""))
        if fixed is None:
            return self._rows_of(name)
        return self.value(fixed[1], None, 0)

    def in_table(self, table: str, heading: str, sheet: str, row: int) -> Any:  # noqa: ANN401 - the base's
        """The value under a heading of a table in that row."""
        found = [
            (candidate.sheet, candidate.column + candidate.headings.index(heading.casefold()))
            for name, candidate in self._tables.items()
            if candidate.row <= row < candidate.row + candidate.height
            and heading.casefold() in candidate.headings
            if (name == table.casefold() if table else candidate.sheet == sheet)
        ]
        if len(found) != 1:
            raise Unknown
        return self.cell(*found[0], row)

    def table(self, name: str) -> Table:
        """The table of that name, ignoring case."""
        if name.casefold() not in self._tables:
            raise Unknown
        return self._tables[name.casefold()]


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
