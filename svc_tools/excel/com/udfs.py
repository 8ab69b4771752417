"""The functions of the registry as xlwings functions: `SVC_RATE` and the others, by name.

Excel calls one for each cell; xlwings makes a line of VBA for each from its signature. Three facts
of VBA decide what stands here: some names of arguments are taken; an error has to be a text, for
an exception would reach the cell as one; and a function may be told the cell that calls it.
`call_in_wizard=False` is not used: where it ends early, the cell would show 0.
"""

# MERGED filled_down: A formula filled down a column: the places of all its rows are asked for at once.
#
# MERGED filled_down: Excel calls a function cell after cell, each waiting for the one before. So the first cell whose
# MERGED filled_down: place is not known yet looks at its column: the cells that hold the same formula (in R1C1 style,
# MERGED filled_down: the sign of filling down) are computed with it, in one request of the desk. Nothing is asked for
# MERGED filled_down: that no formula asks for: where a row might not come to ask (an IF, an argument that is a formula
# MERGED filled_down: itself and not computed yet), or anything else is in doubt, it is just the one place.
# MERGED formulas: Formulas as text: where they call our functions, and with which arguments. Pure.
#
# MERGED formulas: Excel gives every formula in its English form with commas. A formula that cannot be read with
# MERGED formulas: certainty holds no call: who reads one then does without.

from __future__ import annotations

import inspect
import logging
import re
import threading
import time
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import xlwings as xw

from svc_tools.config import ConfigurationError
from svc_tools.excel.com.converting import from_com, scalar_from_com, to_com
from svc_tools.excel.desk import the_desk
from svc_tools.excel.functions import Call, evaluate, unasked
from svc_tools.excel.registry import CATEGORY, FUNCTIONS
from svc_tools.excel.values import OMITTED, CellError, NotAvailableError, of_1904

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from svc_tools.excel.com.converting import ComResult
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.registry import Function
    from svc_tools.excel.values import Argument

__all__ = [one.name for one in FUNCTIONS]
_CALLER = "calling_cell"

_FALLBACKS = ("=IFERROR(", "=IFNA(")
"""These compute their first argument always."""
_AMOUNT = "amount"
_MOST_ROWS = 50_000
"""How far above and below the cell a column is looked at."""
_MOST_LOOKS = 5
_AGAIN_AFTER = 30.0
"""Seconds in which a column is looked at so often, and not again where a look was in vain."""

_QUOTED = {'"': '"', "'": "'"}
_OPEN = {"(": ")", "{": "}", "[": "]"}

_TAKEN = frozenset({"type", "range"})
"""Names that VBA keeps for itself, or that its generated code uses."""
_log = logging.getLogger(__name__)


def vba_name(name: str) -> str:
    """An argument's name in VBA: the registry's, with a "_" where VBA has taken it."""
    return f"{name}_" if name in _TAKEN else name


def answer(one: Function, arguments: tuple[object, ...], cell: xw.Range | None = None) -> ComResult:
    """What a cell shows that calls a function; nothing is raised.

    Args:
        one: the function.
        arguments: as xlwings hands them over; `OMITTED` for what the formula leaves out.
        cell: the calling cell, an `xlwings.Range`; `None` where a program calls.
    """
    try:
        call = Call(one.name, tuple(map(from_com, arguments)))
        desk = the_desk()
        if cell is not None and _may_hold_day(one, call) and cell.sheet.book.api.Date1904:
            call = Call(one.name, tuple(map(of_1904, call.arguments)))
            cell = None  # the other rows of the column are refused as well
        more = calls_filled_down(desk, one, call, cell)
        return to_com(evaluate(desk, [call, *more])[0])
    except CellError as error:
        return to_com(error)
    except ConfigurationError as error:
        return to_com(NotAvailableError(f"{error}", "FAILED"))
    except Exception as error:  # noqa: BLE001 - VBA would show its text, whatever it holds
        _log.warning("%s could not be computed: %s", one.name, type(error).__name__)
        return to_com(NotAvailableError(f"{one.name} could not be computed.", "FAILED"))


def _may_hold_day(one: Function, call: Call) -> bool:
    """Whether a number or a date is given where days are."""
    for parameter, given in zip(one.parameters, call.arguments, strict=False):
        if parameter.name == "as_of" or one.name == "SVC_LOOKUP":
            rows = given if isinstance(given, list) else [[given]]
            if any(isinstance(cell, float | date) for row in rows for cell in row):
                return True
    return False


def _wants_cell(one: Function) -> bool:
    """Whether a function looks at the calling cell: those that ask for a place on a day."""
    names = {parameter.name for parameter in one.parameters}
    return "as_of" in names or one.name == "SVC_LOOKUP"


def _function(one: Function) -> Callable[..., Any]:
    """One function, with the signature, the help and the marks from which xlwings makes VBA."""
    count = len(one.parameters)

    def function(*arguments: Any) -> ComResult:  # noqa: ANN401 - what xlwings hands over
        return answer(one, arguments[:count], *arguments[count:])

    parameters = [
        inspect.Parameter(
            vba_name(parameter.name),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=OMITTED if parameter.optional else inspect.Parameter.empty,
        )
        for parameter in one.parameters
    ]
    if _wants_cell(one):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(_CALLER, kind, default=None))
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = one.name
    function.__doc__ = one.help
    function.__annotations__ = {}  # xlwings would take them for converters
    marked: Any = function
    for parameter in one.parameters:
        name = vba_name(parameter.name)
        marked = xw.arg(name, ndim=2, err_to_str=True, doc=parameter.help)(marked)
    if _wants_cell(one):
        # not the argument `caller` of xlwings: that needs early binding, which often is broken
        marked = xw.arg(_CALLER, xw.Range, vba="Application.Caller")(marked)
    made: Callable[..., Any] = xw.func(category=CATEGORY, volatile=one.volatile)(marked)
    return made


_ALWAYS_COMPUTED = frozenset({"ROUND", "ROUNDUP", "ROUNDDOWN", "ABS", "N", "SUM", "T", "VALUE"})
"""Functions that compute all their arguments: a call within them is made in every row."""
_FIXED = re.compile(r"=.*!R[0-9]+C[0-9]+")
"""What a name refers to that is the same cell everywhere."""


@dataclass(slots=True)
class _Looks:
    """Which columns were looked at a short while ago, so that not every cell repeats it."""

    clock: Callable[[], float] = time.monotonic
    counts: dict[tuple[object, ...], tuple[float, int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may(self, column: tuple[object, ...]) -> bool:
        """Whether to look at a column now; it counts as a look."""
        now = self.clock()
        with self.lock:
            self.counts = {
                key: seen for key, seen in self.counts.items() if now - seen[0] < _AGAIN_AFTER
            }
            since, count = self.counts.get(column, (now, 0))
            self.counts[column] = (since, count + 1)
        return count < _MOST_LOOKS

    def in_vain(self, column: tuple[object, ...]) -> None:
        """A look at a column told nothing."""
        with self.lock:
            self.counts[column] = (self.clock(), _MOST_LOOKS)


_looks = _Looks()


def calls_filled_down(
    desk: Desk, one: Function, call: Call, cell: xw.Range | None
) -> Sequence[Call]:
    """The calls of the other rows that hold the same formula, where they certainly are made.

    Args:
        desk: what knows the places that were asked for.
        one: the function.
        call: the call of this cell.
        cell: the calling cell, an `xlwings.Range`, or `None`.
    """
    if cell is None or one.spills or one.volatile:
        return ()
    if any(isinstance(argument, list) for argument in call.arguments):
        return ()
    if not unasked(desk, call):
        return ()
    try:
        return _others(one, call, cell)
    except Exception as error:  # noqa: BLE001 - Excel may be busy; the cell itself is still answered
        _log.info("a column was not looked at: %s", type(error).__name__)
        return ()


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
            _looks.in_vain(column)
    return found


def _rows(
    one: Function, call: Call, cell: xw.Range, formula: str, parts: Sequence[str]
) -> Sequence[Call]:
    """The calls of the other rows with the formula of this one."""
    used = cell.sheet.used_range
    first = max(used.row, cell.row - _MOST_ROWS)
    last = min(used.row + used.shape[0] - 1, cell.row + _MOST_ROWS)
    if not first < last:
        return ()
    spoken = _column(cell.sheet, first, last, cell.column).api.FormulaR1C1
    rows = [first + at for at, (text,) in enumerate(spoken) if text == formula]
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
    """The arguments as the formula has them; `None` where a row might not make the call."""
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

    What does not change from row to row is what this cell was given.

    Args:
        part: the argument, as the formula has it.
        given: its value in this cell's call.
        cell: the calling cell.
        rows: the rows.
        computed: whether the argument may be formulas: an amount only decides whether a row asks,
            and a row whose formula shows a number now does.
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
    found = _read(cells)
    values = [found[row - rows[0]] for row in rows]
    # what is read must be what this cell was given, or the reading is wrong
    return values if values[rows.index(cell.row)] == given else None


def _column(sheet: xw.Sheet, first: int, last: int, column: int) -> xw.Range:
    return sheet.range((first, column), (last, column))


def _read(cells: xw.Range) -> list[Argument]:
    read = cells.options(ndim=2, err_to_str=True).value
    return [scalar_from_com(value) for (value,) in read]


def _is_fixed_name(part: str, cell: xw.Range) -> bool:
    """Whether it is a name of the workbook for one cell, wherever it is used."""
    if not part.isidentifier():
        return False
    refers = cell.sheet.book.api.Names(part).RefersToR1C1
    return _FIXED.fullmatch(refers) is not None


def _of_table(refers: Reference, cell: xw.Range) -> int:
    """The column of a heading of the table in which the cell stands; 0 where there is none."""
    table = cell.api.ListObject
    if table is None or refers.table not in {"", table.Name}:
        return 0
    return int(table.ListColumns(refers.field).Range.Column)


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


@dataclass(frozen=True, slots=True)
class FormulaCall:
    """One call of a function in a formula.

    Attributes:
        name: the function, in capitals.
        arguments: its arguments as they stand there, blanks around them taken away.
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
        """What an argument refers to; `None` for anything but one cell of the same sheet.

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


def calls_in(formula: str) -> tuple[FormulaCall, ...]:
    """The calls of our functions, also within one another, in order."""
    bare = _without_quoted(formula)
    found = []
    for match in _NAME.finditer(bare):
        name = match[1].rpartition("!")[2].upper()
        if name in _NAMES and (parts := _arguments(formula, bare, match.end())) is not None:
            found.append(FormulaCall(name, parts))
    return tuple(found)


def other_names(formula: str) -> frozenset[str]:
    """The other functions that a formula calls, in capitals."""
    names = {match[1].upper() for match in _NAME.finditer(_without_quoted(formula))}
    return frozenset(names - _NAMES)


def literal(text: str) -> str | float | bool | None:
    """The value of an argument that is written out; `None` for a reference or anything else."""
    if _TEXT.fullmatch(text):
        return text[1:-1].replace('""', '"')
    if _NUMBER.fullmatch(text):
        return float(text)
    return {"TRUE": True, "FALSE": False}.get(text.upper())


def _without_quoted(formula: str) -> str:
    """The formula with blanks for what is within quotes, at the same places."""
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


globals().update({one.name: _function(one) for one in FUNCTIONS})


def has_calls(formula: object) -> bool:
    """Whether a formula calls one of our functions."""
    if not isinstance(formula, str) or not formula.startswith("="):
        return False
    return "SVC_" in formula.upper() and bool(calls_in(formula))
