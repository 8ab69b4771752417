# ruff: noqa: ANN401, INP001, N802, UP035 - a file of the extension; UNO's objects, names, and Python 3.8
"""The components of the extension: the functions that Calc calls, and the menu.

What does not need LibreOffice is in `pythonpath/`. Standard library and UNO alone, Python 3.8 and
later: LibreOffice brings its own Python.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import lru_cache, partial, partialmethod
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import uno
import unohelper
from com.sun.star.awt.MessageBoxButtons import BUTTONS_OK, BUTTONS_OK_CANCEL
from com.sun.star.awt.MessageBoxResults import OK
from com.sun.star.awt.MessageBoxType import INFOBOX, QUERYBOX
from com.sun.star.sheet import ResultEvent, XVolatileResult
from com.sun.star.task import XJobExecutor
from com.sun.star.util.NumberFormat import LOGICAL
from svc_calc_cells import Cells, functions_of, key_of, passed_key, shown, truths_in
from svc_calc_server import RefusedError, Server, ServerError
from svc_formulas import Book, Table, Unknown

_TITLE = "Sales tax"
_SPREADSHEET = "com.sun.star.sheet.SpreadsheetDocument"
_CONSTANTS, _FORMULAS = 1 | 2 | 4, 16
"""Calc's kinds of cells: numbers, days and texts; formulas."""
_MOST_CELLS = 500_000
"""A larger document is not read."""
_FIRST_DAY = (1899, 12, 30)
"""The day 0 of the numbers that the server reads as days."""
_OFFLINE = "#OFFLINE"
"""What a cell shows that is computed without the server."""
_WIDEST = 20
"""Columns of what would spill elsewhere; Calc repeats a single one."""
_ONE_CALL = re.compile(
    r'=(?:IF\([^()]*;"";)?(?:IFERROR\()?SVC\.TOOLS\.SVC_\w+\([^()]*\)'
    r'(?:;IF\((?:[^()]*="invalid";#VALUE!;NA\(\)|ISERROR\(([^()]*)\);\1;#VALUE!)\)\))?\)?',
    re.IGNORECASE,
)
"""A formula whose value is that of its only call, where this is made."""

_FUNCTIONS = functions_of(Path(__file__).with_name("functions.json").read_text(encoding="utf-8"))
_server = Server()
"""One for all documents of this LibreOffice."""
_cells = Cells(_FUNCTIONS, _server)
_refreshed: dict[str, str] = {}
"""By document the moment of its refresh: its cells use nothing older."""
_stored: dict[str, dict[str, Any]] = {}
"""By document the values in its file, of the one that was opened last without the server."""
_REST = 4.0
"""A document is read for truth values again after this many times of what that took."""


class Truths(NamedTuple):
    """The calls of a document with truth values, see `truths_in`, and when to read them again."""

    calls: dict[str, Any]
    until: float


_truths: dict[str, Truths] = {}
"""By document, of the one that was read last."""


class Document(Book):  # type: ignore[misc] # not found above
    """The cells of a document; a sheet is read when it is needed."""

    separator = ";"
    empty = float("0.0")
    """An empty cell as Calc passes it; this very object, to tell it from a 0."""

    def __init__(self, document: Any) -> None:
        sheets = document.Sheets
        self._document = document
        self._sheets = {name: sheets.getByName(name) for name in sheets.ElementNames}
        self._computed: dict[str, dict[tuple[int, int], str]] = {}
        self._values: dict[str, dict[tuple[int, int], object]] = {}
        self._from_1904 = _from_1904(document)
        self._count = 0

    def formulas(self) -> Iterator[tuple[str, int, str]]:
        """Every formula with an SVC function, once all formulas are known."""
        return ((sheet, row, text) for sheet, _, row, text in self._found())

    def _found(self) -> list[tuple[str, int, int, str]]:
        found = []
        for name, sheet in self._sheets.items():
            cells = list(self._read(sheet, _FORMULAS, "getFormulaArray"))
            self._computed[name] = {(column, row): text for column, row, text in cells}
            found += [(name, *cell) for cell in cells if "SVC.TOOLS." in cell[-1].upper()]
        return found

    def stored(self) -> dict[str, Any]:
        """The values in the file, by the calls that gave them: only while it is being opened.

        Later, a value may be that of other arguments: those before an edit.
        """
        self.shown = True
        found: dict[str, Any] = {}
        automatic = self._document.isAutomaticCalculationEnabled()
        self._document.enableAutomaticCalculation(False)  # noqa: FBT003 - reading computes nothing
        try:
            for sheet, column, row, text in self._found():
                value = self.cell(sheet, column, row)
                # an error in the file is read as 0, too
                if value != 0 and not isinstance(value, dict) and _ONE_CALL.fullmatch(text):
                    calls, _ = self._calls(text, sheet, row)
                    found.update((key_of(self.call(*one)), value) for one in calls)
        finally:
            self._document.enableAutomaticCalculation(automatic)
        return found

    def truths(self) -> dict[str, Any]:
        """The calls with truth values, except those that only a computation gives."""
        self.ranges = True
        calls = ((_FUNCTIONS[one], given) for _, _, one, given in self.calls() if one in _FUNCTIONS)
        found: dict[str, Any] = truths_in(calls, self._from_1904)
        return found

    def call(self, name: str, arguments: list[object]) -> Any:
        """A call as the server reads it."""
        if name not in _FUNCTIONS:
            return {"f": name, "a": []}  # of another release; the server looks nothing up
        return _FUNCTIONS[name].call(arguments, from_1904=self._from_1904)

    def sheet(self, name: str) -> str:
        """The name of a sheet that is there."""
        if name not in self._sheets:
            raise Unknown
        return name

    def cell(self, sheet: str, column: int, row: int) -> object:
        """The value of a cell, or only of a constant or a test: =FALSE(), =A2>5, =IF(A2>5;"TX")."""
        text = self._computed[sheet].get((column, row))
        if text is not None and not self.shown:
            self._computed[sheet][column, row] = ""  # a formula may refer to itself
            try:
                return self._holds(text[1:], sheet, row)
            finally:
                self._computed[sheet][column, row] = text
        if sheet not in self._values:
            kinds = _CONSTANTS | _FORMULAS if self.shown else _CONSTANTS
            cells = self._read(self._sheets[sheet], kinds, "getDataArray")
            self._values[sheet] = {(column, row): value for column, row, value in cells}
        found = self._values[sheet].get((column, row), self.empty)
        if found in (0, 1) and found is not self.empty and self._is_truth(sheet, column, row):
            return bool(found)
        return {"error": "#N/A"} if found is None else found

    def _is_truth(self, sheet: str, column: int, row: int) -> bool:
        """Whether the number in a cell is formatted as a truth value, as one that was typed is."""
        cell = self._sheets[sheet].getCellByPosition(column - 1, row - 1)
        return bool(self._document.NumberFormats.getByKey(cell.NumberFormat).Type & LOGICAL)

    def named(self, name: str) -> object:
        """The value of a name for cells."""
        names = self._document.NamedRanges
        cells = names.getByName(name).getReferredCells() if names.hasByName(name) else None
        if cells is None:
            raise Unknown
        return super().value(cells.AbsoluteName, 0, 0)

    def in_table(self, table: str, heading: str, sheet: str, row: int) -> object:  # noqa: ARG002 - of the table
        """The value under a heading of a named table."""
        found = self.table(table)
        return self.cell(found.sheet, found.column + found.at(heading), row)

    def table(self, name: str) -> Table:
        """The named table, with its headings in its first row."""
        tables = self._document.DatabaseRanges
        if not tables.hasByName(name):
            raise Unknown
        area = tables.getByName(name).DataArea
        at, top = list(self._sheets)[area.Sheet], area.StartRow + 1
        columns = range(area.StartColumn + 1, area.EndColumn + 2)
        heads = [str(self.cell(at, column, top)) for column in columns]
        return Table(at, top + 1, columns[0], area.EndRow - area.StartRow, heads)

    def _read(self, sheet: Any, kinds: int, method: str) -> Iterator[tuple[int, int, Any]]:
        """The cells of some kinds: column, row and content."""
        if self._count > _MOST_CELLS:
            raise Unknown  # the same as below, at once for the other formulas
        for one in sheet.queryContentCells(kinds).RangeAddresses:
            width, height = one.EndColumn - one.StartColumn + 1, one.EndRow - one.StartRow + 1
            self._count += width * height
            if self._count > _MOST_CELLS:
                raise Unknown
            block = (one.StartColumn, one.StartRow, one.EndColumn, one.EndRow)
            for row, line in enumerate(getattr(sheet.getCellRangeByPosition(*block), method)()):
                for column, content in enumerate(line):
                    yield one.StartColumn + column + 1, one.StartRow + row + 1, content


@lru_cache(maxsize=1_000)
class Rows(unohelper.Base, XVolatileResult):  # type: ignore[misc] # UNO's classes have no types
    """Rows of cells: the only way for a method that returns `any` to return them from Python.

    The same rows are the same object, so that Calc listens to each only once.
    """

    def __init__(self, rows: Any) -> None:
        self._event = ResultEvent()
        self._event.Value = uno.Any("[][]any", rows)

    def addResultListener(self, listener: Any) -> None:
        """Send the rows at once; they never change."""
        listener.modified(self._event)

    def removeResultListener(self, listener: Any) -> None:
        """Listeners are not stored."""


class AddIn(unohelper.Base):  # type: ignore[misc] # UNO's classes have no types
    """The functions: one method for each, made below from their list."""

    def __init__(self, *_: object) -> None:
        """Nothing to do with the context."""

    def getTypes(self) -> tuple[Any, ...]:
        """The interfaces, by name: while the extension is installed their library is unknown."""
        names = ("svc.tools.XSalesTax", "com.sun.star.lang.XTypeProvider")
        return tuple(uno.getTypeByName(name) for name in names)

    def computed(self, name: str, document: Any, *arguments: object) -> Any:
        """What a cell shows: a value, a word, nothing for #N/A; an exception is #VALUE!."""
        call = _FUNCTIONS[name].call(arguments, from_1904=_from_1904(document))
        if any(one in (0, 1) for one in arguments):
            call = _truths_of(document).get(passed_key(name, arguments), call)
        since = _refreshed.get(document.RuntimeUID, "") if _refreshed else ""
        try:
            value = _cells.value(call, partial(_calls_of, document), since)
        except ServerError as error:
            _cells.problem = str(error)
            value = None if isinstance(error, RefusedError) else _offline(call, document)
        return Rows(value) if isinstance(value, tuple) else value


for _name in _FUNCTIONS:
    setattr(AddIn, _name, partialmethod(AddIn.computed, _name))


def _from_1904(document: Any) -> str:
    """The name of a document whose numbers would be other days to the server; empty for others."""
    first = document.NullDate
    same = (first.Year, first.Month, first.Day) == _FIRST_DAY
    return "" if same else document.Title or "This document"


def _calls_of(document: Any) -> Iterator[dict[str, Any]]:
    book = Document(document)
    for _, _, name, arguments in book.calls():
        if name in _FUNCTIONS:
            yield book.call(name, arguments)


def _truths_of(document: Any) -> dict[str, Any]:
    """The calls of a document with truth values: Calc passes 1 and 0, and 0 for an empty cell."""
    known = _truths.get(document.RuntimeUID)
    began = time.monotonic()
    if known is None or began > known.until:
        found: dict[str, Any] = {}
        with suppress(Exception):  # it is too large, or cannot be read now
            found = Document(document).truths()
        now = time.monotonic()
        known = Truths(found, now + _REST * (now - began))
        _truths.clear()
        _truths[document.RuntimeUID] = known
    return known.calls


def _offline(call: dict[str, Any], document: Any) -> Any:
    """What a cell shows without the server: while its file is opened, the value in the file.

    Calc computes the functions of add-ins whenever it opens an .ods, whatever its settings say.
    An amount is #N/A, for SUM would pass over a word.
    """
    function = _FUNCTIONS[call["f"]]
    if function.place and all(one in ("", None) for one in call["a"][: function.place]):
        return ""
    row = [_OFFLINE, *[""] * (_WIDEST - 1)]
    word = None if function.zeros else shown(function, {"v": [row] if function.spills else row[0]})
    if document.getCurrentController() is not None:
        return word
    opened = document.RuntimeUID
    if opened not in _stored:
        _stored.clear()
        _stored[opened] = {}  # for the array formulas that are computed while the others are read
        with suppress(Unknown):  # it is too large
            _stored[opened] = Document(document).stored()
    return _stored[opened].get(key_of(call), word)


class Menu(unohelper.Base, XJobExecutor):  # type: ignore[misc] # UNO's classes have no types
    """The entries of the menu."""

    def __init__(self, context: Any, *_: object) -> None:
        manager = context.ServiceManager
        self._desktop = manager.createInstanceWithContext("com.sun.star.frame.Desktop", context)

    def trigger(self, event: str) -> None:
        """Run the chosen entry and show its result."""
        _server.forget_failure()
        try:
            text = self._refresh() if event == "refresh" else _status()
        except ServerError as error:
            text = str(error)
        if text:
            self._box(INFOBOX, BUTTONS_OK, text)

    def _refresh(self) -> str:
        """Look the places of the current spreadsheet up again, if the user confirms how many."""
        document = self._desktop.getCurrentComponent()
        if document is None or not document.supportsService(_SPREADSHEET):
            return "Open the spreadsheet to refresh first."
        try:
            book = Document(document)
            cells, unknown = book.in_use(book.call)
        except Unknown:
            return f"The spreadsheet is too large to refresh: over {_MOST_CELLS:,} cells."
        used = {"cells": cells, "unknown": unknown}
        plan = _server.request("POST", "/excel/refresh", used)
        question = f"{plan['message']} Refresh now?"
        if (plan["places"] or unknown) and self._box(QUERYBOX, BUTTONS_OK_CANCEL, question) != OK:
            return ""
        report = _server.request("POST", "/excel/refresh", {**used, "confirmed": True}, long=True)
        if report["happened"]:
            _refreshed[document.RuntimeUID] = report["since"]
            document.calculateAll()
        return str(report["message"])

    def _box(self, kind: Any, buttons: int, text: str) -> int:
        """Show a message; the button that was pressed."""
        frame = self._desktop.getCurrentFrame()
        if frame is None:  # LibreOffice runs without a window
            return 0
        window = frame.getContainerWindow()
        box = window.getToolkit().createMessageBox(window, kind, buttons, _TITLE, text)
        return int(box.execute())


def _status() -> str:
    """The service, and what is cached."""
    found = _server.request("GET", "/excel/status")
    lines = [f"{found['words']}", f"Cached results: {found['cached']}"]
    if found["oldest"]:
        lines.append(f"Oldest: {found['oldest']}")
    if problem := found["problem"]:
        lines += ["", problem["title"], problem["text"], problem["what_to_do"]]
    if _cells.problem:
        lines += ["", f"The last cells got no result. {_cells.problem}", "Recalculate them."]
    return "\n".join(lines)


g_ImplementationHelper = unohelper.ImplementationHelper()  # noqa: N816 - the loader's name
g_ImplementationHelper.addImplementation(AddIn, "svc.tools", ("com.sun.star.sheet.AddIn",))
g_ImplementationHelper.addImplementation(Menu, "svc.tools.Menu", ("com.sun.star.task.Job",))
