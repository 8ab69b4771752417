"""Formulas that call the functions: reading their text, and the rows a formula was filled down.

Excel calls a function cell after cell, each waiting for the one before. So the first cell whose
place has no cached result looks at its column: the cells with the same formula (in R1C1 style, the
sign of filling down) are computed with it, in one burst. No lookup is made that no formula makes:
where a row might not make the call (an IF, an argument that is itself a formula and not computed
yet), or anything else is in doubt, only the one place is looked up.

Excel gives every formula in its English form with commas. A formula that cannot be read with
certainty counts as one without calls. Nothing here loads xlwings.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc_tools.excel.com.converting import scalar_from_com
from svc_tools.excel.functions import Call, uncached_places
from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import xlwings as xw

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.registry import Function
    from svc_tools.excel.values import Argument

_NAMES = frozenset(one.name for one in FUNCTIONS)
_NAME = re.compile(r"([A-Za-z_\\][A-Za-z0-9_.\\]*)\s*\(")
_REFERENCE = re.compile(
    r"R(?:(?P<row>[0-9]+)|\[(?P<down>-?[0-9]+)\])?C(?:(?P<column>[0-9]+)|\[(?P<across>-?[0-9]+)\])?"
)
_THIS_ROW = re.compile(
    r"(?P<table>[^\W\d]\w*)?\[(?:@(?P<plain>[^\[\]@#,:]+)|@\[(?P<quoted>[^\[\]#':]+)\]"
    r"|\[#This Row\],\[(?P<long>[^\[\]#':]+)\])\]"
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?", re.IGNORECASE)
_TEXT = re.compile(r'"(?:[^"]|"")*"')
_QUOTED = {'"': '"', "'": "'"}
_OPEN = {"(": ")", "{": "}", "[": "]"}

_FALLBACKS = ("=IFERROR(", "=IFNA(")
"""These always compute their first argument."""
_ALWAYS_COMPUTED = frozenset({"ROUND", "ROUNDUP", "ROUNDDOWN", "ABS", "N", "SUM", "T", "VALUE"})
"""Functions that compute all their arguments: a call within them is made in every row."""
_FIXED = re.compile(r"=.*!R[0-9]+C[0-9]+")
"""The reference of a name that is the same cell everywhere."""
_AMOUNT = "amount"
_MOST_ROWS = 50_000
"""How far above and below the cell a column is read."""
_MOST_LOOKS = 5
_AGAIN_AFTER = 30.0
"""Seconds in which a column is read so often, and not again where reading it was no use."""
_log = logging.getLogger(__name__)


def calls_filled_down(
    desk: Desk, one: Function, call: Call, cell: xw.Range | None
) -> Sequence[Call]:
    """The calls of the other rows with the same formula, where they are certain to be made.

    Args:
        desk: has the cached results.
        one: the function.
        call: the call of this cell.
        cell: the calling cell; `None` where a program calls.
    """
    if cell is None or one.spills or one.volatile:
        return ()
    if any(isinstance(argument, list) for argument in call.arguments):
        return ()
    if not uncached_places(desk, call):
        return ()
    try:
        return _others(one, call, cell)
    except Exception as error:  # noqa: BLE001 - Excel may be busy; the cell itself still gets its value
        _log.info("a column was not read: %s", type(error).__name__)
        return ()


def has_calls(formula: object) -> bool:
    """Whether a formula calls one of the registry's functions."""
    if not isinstance(formula, str) or not formula.startswith("="):
        return False
    return "SVC_" in formula.upper() and bool(calls_in(formula))


def calls_in(formula: str) -> tuple[FormulaCall, ...]:
    """The calls of the registry's functions, nested ones too, in order."""
    bare = _without_quoted(formula)
    found = []
    for match in _NAME.finditer(bare):
        name = match[1].rpartition("!")[2].upper()
        if name in _NAMES and (parts := _arguments(formula, bare, match.end())) is not None:
            found.append(FormulaCall(name, parts))
    return tuple(found)


def other_names(formula: str) -> frozenset[str]:
    """The other functions a formula calls, in capitals."""
    names = {match[1].upper() for match in _NAME.finditer(_without_quoted(formula))}
    return frozenset(names - _NAMES)


def literal(text: str) -> str | float | bool | None:
    """The value of a literal argument; `None` for a reference or anything else."""
    if _TEXT.fullmatch(text):
        return text[1:-1].replace('""', '"')
    if _NUMBER.fullmatch(text):
        return float(text)
    return {"TRUE": True, "FALSE": False}.get(text.upper())


@dataclass(frozen=True, slots=True)
class FormulaCall:
    """One call of a function in a formula.

    Attributes:
        name: the function, in capitals.
        arguments: its arguments as written, without blanks around them.
    """

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """One cell of the same sheet, as a formula in R1C1 style or a table's column names it.

    Attributes:
        down: how many rows below the formula; `None` where it is the same cell for every row.
        column: the number of its column, from 1; 0 where `field` names it.
        row: the number of its row, where it is the same for every formula; else 0.
        field: the heading of a column of the table in which the formula stands.
        table: the table, where the formula names it.
    """

    down: int | None
    column: int = 0
    row: int = 0
    field: str = ""
    table: str = ""

    @classmethod
    def read(cls, text: str, column: int) -> Reference | None:
        """The cell an argument refers to; `None` for anything but one cell of the same sheet.

        Args:
            text: the argument, in R1C1 style.
            column: the column of the formula, from 1.
        """
        if found := _REFERENCE.fullmatch(text):
            down = None if found["row"] else int(found["down"] or 0)
            at = int(found["column"]) if found["column"] else column + int(found["across"] or 0)
            return cls(down, at, int(found["row"] or 0))
        if found := _THIS_ROW.fullmatch(text):
            field = found["plain"] or found["quoted"] or found["long"]
            return cls(0, field=field, table=found["table"] or "")
        return None


def _without_quoted(formula: str) -> str:
    """The formula with quoted text blanked out, of the same length."""
    shown = []
    quote = ""
    for sign in formula:
        if quote:
            quote = "" if sign == quote else quote
            shown.append(" ")
        elif sign in _QUOTED:
            quote = sign
            shown.append(" ")
        else:
            shown.append(sign)
    return "".join(shown)


def _arguments(formula: str, bare: str, start: int) -> tuple[str, ...] | None:
    """The arguments from after the bracket at `start`; `None` where the bracket does not close."""
    parts, begun = [], start
    for at, closes in _marks(bare, start):
        parts.append(formula[begun:at].strip())
        begun = at + 1
        if closes:
            return () if parts == [""] else tuple(parts)
    return None


def _marks(bare: str, start: int) -> Iterator[tuple[int, bool]]:
    """The commas between the arguments, and the bracket that closes them."""
    open_: list[str] = []
    for at in range(start, len(bare)):
        sign = bare[at]
        if open_ and sign == open_[-1]:
            open_.pop()
        elif sign in _OPEN and not (open_ and open_[-1] == "]" and sign != "["):
            open_.append(_OPEN[sign])
        elif open_ and open_[-1] == "]":
            continue  # a heading of a table may hold anything
        elif sign == ")" and not open_:
            yield at, True
            return
        elif sign == "," and not open_:
            yield at, False


@dataclass(slots=True)
class _Looks:
    """Which columns were read recently, so that not every cell repeats it."""

    clock: Callable[[], float] = time.monotonic
    counts: dict[tuple[object, ...], tuple[float, int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may(self, column: tuple[object, ...]) -> bool:
        """Whether to read a column now; this counts as reading it."""
        now = self.clock()
        with self.lock:
            self.counts = {
                key: seen for key, seen in self.counts.items() if now - seen[0] < _AGAIN_AFTER
            }
            since, count = self.counts.get(column, (now, 0))
            self.counts[column] = (since, count + 1)
        return count < _MOST_LOOKS

    def useless(self, column: tuple[object, ...]) -> None:
        """Note that reading a column brought no calls."""
        with self.lock:
            self.counts[column] = (self.clock(), _MOST_LOOKS)


_looks = _Looks()


def _others(one: Function, call: Call, cell: xw.Range) -> Sequence[Call]:
    if cell.shape != (1, 1):
        return ()
    formula = cell.api.FormulaR1C1
    parts = _parts(formula, call)
    sheet = cell.sheet
    column = (sheet.book.name, sheet.name, cell.column, formula)
    if parts is None or not _looks.may(column):
        return ()
    found: Sequence[Call] = ()
    try:
        found = _rows(one, call, cell, formula, parts)
    finally:
        if not found:
            _looks.useless(column)
    return found


def _rows(
    one: Function, call: Call, cell: xw.Range, formula: str, parts: Sequence[str]
) -> Sequence[Call]:
    """The calls of the other rows with this row's formula."""
    used = cell.sheet.used_range
    first = max(used.row, cell.row - _MOST_ROWS)
    last = min(used.row + used.shape[0] - 1, cell.row + _MOST_ROWS)
    if not first < last:
        return ()
    formulas = _column(cell.sheet, first, last, cell.column).api.FormulaR1C1
    rows = [first + at for at, (text,) in enumerate(formulas) if text == formula]
    names = [parameter.name for parameter in one.parameters]
    columns = []
    for name, part, given in zip(names, parts, call.arguments, strict=False):
        values = _values(part, given, cell, rows, computed=name == _AMOUNT)
        if values is None:
            return ()
        columns.append(values)
    return [
        Call(call.name, tuple(arguments))
        for row, arguments in zip(rows, zip(*columns, strict=True), strict=True)
        if row != cell.row
    ]


def _parts(formula: object, call: Call) -> tuple[str, ...] | None:
    """The arguments as written; `None` where a row might not make the call."""
    if not isinstance(formula, str):
        return None
    calls = [found for found in calls_in(formula) if found.name == call.name]
    if len(calls) != 1 or len(calls[0].arguments) > len(call.arguments):
        return None
    others = other_names(formula)
    opening = next((start for start in _FALLBACKS if formula.startswith(start)), "")
    if opening:
        if not formula.startswith(f"{opening}{call.name}("):
            return None
        others -= {opening[1:-1]}
    return calls[0].arguments if others <= _ALWAYS_COMPUTED else None


def _values(
    part: str, given: Argument, cell: xw.Range, rows: list[int], *, computed: bool
) -> list[Argument] | None:
    """An argument in each of the rows; `None` where it is not certain.

    What does not change from row to row has the value that this cell was passed.

    Args:
        part: the argument, as written.
        given: its value in this cell's call.
        cell: the calling cell.
        rows: the rows.
        computed: whether the cells may be formulas. An amount only decides whether a row needs a
            lookup, and a row whose formula shows a number now needs one.
    """
    refers = Reference.read(part, cell.column)
    if refers is None:
        constant = not part or literal(part) is not None or _is_fixed_name(part, cell)
        return [given for _ in rows] if constant else None
    if refers.down is None:
        return [given for _ in rows]
    column = refers.column or _of_table(refers, cell)
    first, last = rows[0] + refers.down, rows[-1] + refers.down
    if not column or first < 1:
        return None
    cells = _column(cell.sheet, first, last, column)
    has_formulas = cells.api.HasFormula is not False  # None where some are: not computed, perhaps
    if has_formulas and not computed:
        return None
    found = cells.options(ndim=2, err_to_str=True).value
    values: list[Argument] = [scalar_from_com(found[row - rows[0]][0]) for row in rows]
    # what was read must be what this cell was passed, or the reading is wrong
    return values if values[rows.index(cell.row)] == given else None


def _is_fixed_name(part: str, cell: xw.Range) -> bool:
    """Whether it is a workbook name for one fixed cell."""
    if not part.isidentifier():
        return False
    refers = cell.sheet.book.api.Names(part).RefersToR1C1
    return _FIXED.fullmatch(refers) is not None


def _of_table(refers: Reference, cell: xw.Range) -> int:
    """The column under a heading of the table around the cell; 0 where there is none."""
    table = cell.api.ListObject
    if table is None or refers.table not in {"", table.Name}:
        return 0
    return int(table.ListColumns(refers.field).Range.Column)


def _column(sheet: xw.Sheet, first: int, last: int, column: int) -> xw.Range:
    return sheet.range((first, column), (last, column))
