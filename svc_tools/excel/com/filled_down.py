"""A formula filled down a column: the places of all its rows are asked for at once.

Excel calls a function cell after cell, each waiting for the one before. So the first cell whose
place is not known yet looks at its column: the cells that hold the same formula (in R1C1 style,
the sign of filling down) are computed with it, in one request of the desk. Nothing is asked for
that no formula asks for: where a row might not come to ask (an IF, an argument that is a formula
itself and not computed yet), or anything else is in doubt, it is just the one place.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc_tools.excel.com.converting import scalar_from_com
from svc_tools.excel.com.formulas import Reference, calls_in, literal, other_names
from svc_tools.excel.evaluating import Call, unasked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import xlwings as xw

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.registry import Function
    from svc_tools.excel.values import Argument

__all__ = ["calls_filled_down"]

_ALWAYS_COMPUTED = frozenset({"ROUND", "ROUNDUP", "ROUNDDOWN", "ABS", "N", "SUM", "T", "VALUE"})
"""Functions that compute all their arguments: a call within them is made in every row."""
_FALLBACKS = ("=IFERROR(", "=IFNA(")
"""These compute their first argument always."""
_FIXED = re.compile(r"=.*!R[0-9]+C[0-9]+")
"""What a name refers to that is the same cell everywhere."""
_AMOUNT = "amount"
_MOST_ROWS = 50_000
"""How far above and below the cell a column is looked at."""
_MOST_LOOKS = 5
_AGAIN_AFTER = 30.0
"""Seconds in which a column is looked at so often, and not again where a look was in vain."""

_log = logging.getLogger(__name__)


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
