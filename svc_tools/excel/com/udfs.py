"""The functions of the registry as xlwings functions: `SVC_RATE` and the others, by name.

Excel calls one for each cell; xlwings makes a line of VBA for each from its signature. Three facts
of VBA decide what is here: some names of arguments are reserved; an error has to be a text, since
an exception would reach the cell as one; and a function may be passed the cell that calls it.
`call_in_wizard=False` is not used: where it ends early, the cell would show 0.

Excel waits for each cell before it computes the next. So the first cell whose place is not cached
reads the formulas of its column, and their places are looked up with its own.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections import defaultdict
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from svc_tools.base.extras import needs
from svc_tools.config import ConfigurationError
from svc_tools.excel.com.workbook import CellBlock, from_com, scalar_from_com, to_com
from svc_tools.excel.desk import the_desk
from svc_tools.excel.formulas import Book, Patience, Unknown, calls_in
from svc_tools.excel.functions import FunctionCall, evaluate, formula_places
from svc_tools.excel.registry import CATEGORY, FUNCTIONS
from svc_tools.excel.values import OMITTED, CellError, NotAvailableError

with needs("Excel through xlwings", "excel"):
    import xlwings as xw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from svc_tools.excel.com.workbook import ComResult
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.registry import Function
    from svc_tools.excel.values import Argument

# what `import *` of the workbook's module brings
__all__ = [definition.name for definition in FUNCTIONS]
_CALLER = "calling_cell"
_RESERVED = frozenset({"type", "range"})
"""Names that VBA reserves, or that its generated code uses."""
_IN_COLUMNS = {
    definition.name for definition in FUNCTIONS if not (definition.spills or definition.volatile)
}
_FIXED = re.compile(r"=.*!R[0-9]+C[0-9]+")
"""The reference of a workbook name that is the same cell everywhere."""
_MOST_ROWS = 50_000
"""How far above and below the calling cell its column is read."""
_patience: defaultdict[tuple[str, str, int], Patience] = defaultdict(partial(Patience, eager=True))
"""By book, sheet and column."""
refreshed_at: dict[str, datetime] = {}
"""When each workbook was refreshed, by its full name: its cells use nothing older."""
_log = logging.getLogger(__name__)


def _computed(
    definition: Function, arguments: tuple[object, ...], cell: xw.Range | None
) -> ComResult:
    """What a cell that calls a function shows; nothing is raised. A program has no cell."""
    try:
        given = [from_com(argument) for argument in arguments]
        while given and given[-1] is OMITTED:  # as in the text of a formula
            given.pop()
        call = FunctionCall(definition.name, tuple(given))
        desk = the_desk()
        alone = (
            definition.spills
            or definition.volatile
            or any(isinstance(it, list) for it in call.arguments)
        )
        if cell is not None and _may_hold_day(definition, call) and cell.sheet.book.api.Date1904:
            call = call._replace(from_1904=cell.sheet.book.name)
            alone = True  # the other rows of the column are refused as well
        since, ahead = _since_and_ahead(desk, call, cell, alone=alone)
        return to_com(evaluate(desk, [call], ahead=ahead, since=since)[0])
    except CellError as error:
        return to_com(error)
    except ConfigurationError as error:
        return to_com(NotAvailableError(str(error), "FAILED"))
    except Exception as error:  # noqa: BLE001 - VBA would show its text, whatever it holds
        _log.warning("%s could not be computed: %s", definition.name, type(error).__name__)
        return to_com(NotAvailableError(f"{definition.name} could not be computed.", "FAILED"))


def _may_hold_day(definition: Function, call: FunctionCall) -> bool:
    """Whether a number or a date is passed where days are expected."""
    taken = zip(definition.parameters, call.arguments, strict=False)
    days = [given for it, given in taken if it.name == "as_of" or definition.name == "SVC_LOOKUP"]
    blocks = [given if isinstance(given, list) else [[given]] for given in days]
    return any(isinstance(cell, float | date) for rows in blocks for row in rows for cell in row)


def _since_and_ahead(
    desk: Desk, call: FunctionCall, cell: xw.Range | None, *, alone: bool
) -> tuple[datetime | None, Sequence[FunctionCall]]:
    """When the cell's workbook was refreshed, and the calls that its column is certain to make.

    Excel is asked for neither where nothing would have to be looked up.
    """
    since = max(refreshed_at.values(), default=None)
    if cell is None or (alone and since is None):
        return None, ()
    places = formula_places(desk, call)
    if not desk.uncached(places, since):
        return None, ()
    found: Sequence[FunctionCall] = ()
    try:
        if since is not None:
            since = refreshed_at.get(cell.sheet.book.api.FullName)
        if alone or not desk.uncached(places, since):
            return since, ()
        patience = _patience[cell.sheet.book.name, cell.sheet.name, cell.column]
        if cell.shape == (1, 1) and patience.is_due():
            try:
                found = _Column(cell, call).others()
            finally:
                patience.read(helped=bool(found))
        patience.missed()
    except Exception as error:  # noqa: BLE001 - Excel may be busy; the cell itself still gets its value
        _log.info("a column was not read: %s", type(error).__name__)
    return since, found


class _Column(Book):
    """The column of a calling cell, and the constants of its sheet that its formulas refer to."""

    omitted = OMITTED

    def __init__(self, cell: xw.Range, call: FunctionCall) -> None:
        used = cell.sheet.used_range
        self._cell = cell
        self._call = call
        self._first = max(used.row, cell.row - _MOST_ROWS)
        self._last = min(used.row + used.shape[0] - 1, cell.row + _MOST_ROWS)
        self._columns: dict[int, tuple[Sequence[object], Sequence[object]]] = {}
        # what this cell was passed, by the text of the argument: also results of formulas
        self._passed: dict[str, Argument] = {}
        own = [found for found in calls_in(str(cell.api.Formula)) if found.name == call.name]
        if len(own) == 1:
            written = (text.replace("$", "") for text in own[0].arguments)
            self._passed.update(zip(written, call.arguments, strict=False))

    def others(self) -> list[FunctionCall]:
        """The calls of the other rows; none where this cell's own call is not among those read."""
        if not self._first < self._last:
            return []
        own, others = False, []
        for _, row, name, arguments in self.calls():
            call = FunctionCall(name, tuple(arguments))
            if row == self._cell.row and call == self._call:
                own = True
            elif name in _IN_COLUMNS:
                others.append(call)
        return others if own else []

    def formulas(self) -> Iterator[tuple[Any, int, str]]:
        """The formulas of the column."""
        texts, _ = self._read(self._cell.column)
        for row, text in enumerate(texts, self._first):
            if _is_formula(text):
                yield None, row, str(text)

    def cell(self, sheet: Any, column: int, row: int) -> Argument:  # noqa: ANN401, ARG002 - of one sheet
        """The value of a constant, or of what this cell was passed."""
        if self._first <= row <= self._last:
            texts, values = self._read(column)
            if self.shown or not _is_formula(texts[row - self._first]):
                return scalar_from_com(values[row - self._first])
        return self._passed_as(CellBlock(row, column).address)

    def amount(self, text: str, sheet: Any, row: int) -> Argument:  # noqa: ANN401 - the base's
        """The amount: a row whose formula shows a number now will need its rate."""
        self.shown = True
        try:
            return self.value(text, sheet, row)  # type: ignore[no-any-return]
        finally:
            self.shown = False

    def named(self, name: str) -> Argument:
        """What this cell was passed under a name, if that is one fixed cell."""
        refers = self._cell.sheet.book.api.Names(name).RefersToR1C1
        if not _FIXED.fullmatch(refers):
            raise Unknown
        return self._passed_as(name)

    def sheet(self, name: str) -> None:
        """No sheet but the own one is read."""
        if name != self._cell.sheet.name:
            raise Unknown

    def in_table(self, table: str, heading: str, sheet: Any, row: int) -> Argument:  # noqa: ANN401 - the base's
        """The value in a column of the table around the calling cell."""
        around = self._cell.api.ListObject
        if around is None or table not in {"", around.Name}:
            raise Unknown
        return self.cell(sheet, int(around.ListColumns(heading).Range.Column), row)

    def _passed_as(self, written: str) -> Argument:
        if written not in self._passed:
            raise Unknown
        return self._passed[written]

    def _read(self, column: int) -> tuple[Sequence[object], Sequence[object]]:
        """The formulas and the values of a column, from the first row to the last."""
        if column not in self._columns:
            cells = self._cell.sheet.range((self._first, column), (self._last, column))
            texts = [text for (text,) in cells.api.Formula]
            values = [value for (value,) in cells.options(ndim=2, err_to_str=True).value]
            self._columns[column] = texts, values
        return self._columns[column]


def _is_formula(text: object) -> bool:
    return isinstance(text, str) and text.startswith("=")


def _function(definition: Function) -> Callable[..., Any]:
    """A function with the signature, help and decorators from which xlwings makes VBA."""
    names = [f"{it.name}_" if it.name in _RESERVED else it.name for it in definition.parameters]
    wants_cell = definition.name == "SVC_LOOKUP" or any(
        it.name == "as_of" for it in definition.parameters
    )

    def function(*arguments: Any) -> ComResult:  # noqa: ANN401 - what xlwings passes
        cell = arguments[len(names)] if len(arguments) > len(names) else None
        return _computed(definition, arguments[: len(names)], cell)

    required = inspect.Parameter.empty
    defaults = [OMITTED if it.optional else required for it in definition.parameters]
    taken = dict(zip(names, defaults, strict=True)) | ({_CALLER: None} if wants_cell else {})
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind, default=default) for name, default in taken.items()]
    )
    function.__name__ = function.__qualname__ = definition.name
    function.__doc__ = definition.help
    function.__annotations__ = {}  # xlwings would take them for converters
    marked: Any = function
    for name, parameter in zip(names, definition.parameters, strict=True):
        marked = xw.arg(name, ndim=2, err_to_str=True, doc=parameter.help)(marked)
    if wants_cell:
        # not the argument `caller` of xlwings: that needs early binding, which is often broken
        marked = xw.arg(_CALLER, xw.Range, vba="Application.Caller")(marked)
    made: Callable[..., Any] = xw.func(category=CATEGORY, volatile=definition.volatile)(marked)
    return made


globals().update({definition.name: _function(definition) for definition in FUNCTIONS})
