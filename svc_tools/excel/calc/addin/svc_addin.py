# ruff: noqa: ANN401, INP001, N802, UP035 - a file of the extension; UNO's objects, names, and Python 3.8
"""The components of the extension: the functions that Calc calls, and the menu.

What does not need LibreOffice is in `pythonpath/`. Standard library and UNO alone, Python 3.8 and
later: LibreOffice brings its own Python.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Iterator

import uno  # type: ignore[import-not-found]
import unohelper  # type: ignore[import-not-found]
from com.sun.star.awt.MessageBoxButtons import BUTTONS_OK  # type: ignore[import-not-found]
from com.sun.star.awt.MessageBoxType import INFOBOX  # type: ignore[import-not-found]
from com.sun.star.lang import XServiceInfo  # type: ignore[import-not-found]
from com.sun.star.sheet import ResultEvent, XVolatileResult  # type: ignore[import-not-found]
from com.sun.star.task import XJobExecutor  # type: ignore[import-not-found]
from svc_calc_cells import BadValue, Cells, functions_of, request_arguments  # type: ignore[import-not-found]
from svc_calc_server import Server, ServerError  # type: ignore[import-not-found]
from svc_formulas import Book, Unknown  # type: ignore[import-not-found]

_INTERFACE = "svc.tools.XSalesTax"
_ADDIN, _ADDIN_SERVICES = "svc.tools", ("svc.tools.SalesTax", "com.sun.star.sheet.AddIn")
_MENU, _MENU_SERVICES = "svc.tools.Menu", ("svc.tools.Menu", "com.sun.star.task.Job")
_TITLE = "Sales tax"
_SPREADSHEET = "com.sun.star.sheet.SpreadsheetDocument"
_CONSTANTS, _FORMULAS = 1 | 2 | 4, 16
"""Calc's kinds of cells: numbers, days and texts; formulas."""
_MOST_CELLS = 500_000
"""A larger document is not read."""
_MOST_ROWS = 1_000
_FIRST_DAY = (1899, 12, 30)
"""The day 0 of the numbers that the server reads as days."""

_FUNCTIONS = functions_of(Path(__file__).with_name("functions.json").read_text(encoding="utf-8"))
_server = Server()
"""One for all documents of this LibreOffice."""
_problem: list[str] = []
"""Why the last cells got no result: a cell shows #N/A alone, the menu shows the reason."""


def _post(calls: list[dict[str, Any]]) -> list[Any]:
    results: list[Any] = _server.request("POST", "/excel/batch", {"calls": calls})["results"]
    _problem.clear()
    return results


_cells = Cells(_FUNCTIONS, _post, _server.find)
_rows: dict[Any, Any] = {}


class Document(Book):  # type: ignore[misc] # not found above
    """The cells of a document that have no formula; a sheet is read when it is needed."""

    separator = ";"
    empty = float("0.0")
    """An empty cell as Calc passes it; this very object, to tell it from a 0."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._sheets = [document.Sheets.getByIndex(at) for at in range(document.Sheets.Count)]
        self._names = [one.Name for one in self._sheets]
        self._computed: dict[int, set[tuple[int, int]]] = {}
        self._constants: dict[int, dict[tuple[int, int], object]] = {}
        self._count = 0

    def formulas(self) -> Iterator[tuple[int, int, str]]:
        """Every formula with an SVC function, once all formulas are known."""
        found = []
        for at, sheet in enumerate(self._sheets):
            self._computed[at] = set()
            for column, row, text in self._read(sheet, _FORMULAS, "getFormulaArray"):
                self._computed[at].add((column, row))
                if "SVC.TOOLS." in text.upper():
                    found.append((at, row, text))
        return iter(found)

    def value(self, text: str, sheet: int, row: int) -> object:
        """As the base class; Calc passes a truth value as a number."""
        found = super().value(text, sheet, row)
        return float(found) if isinstance(found, bool) else found

    def sheet(self, name: str) -> int:
        """The number of a sheet."""
        if name not in self._names:
            raise Unknown
        return self._names.index(name)

    def cell(self, sheet: int, column: int, row: int) -> object:
        """The value of a cell, or only of a constant."""
        if not self.shown and (column, row) in self._computed[sheet]:
            raise Unknown
        if sheet not in self._constants:
            kinds = _CONSTANTS | _FORMULAS if self.shown else _CONSTANTS
            cells = self._read(self._sheets[sheet], kinds, "getDataArray")
            self._constants[sheet] = {(column, row): value for column, row, value in cells}
        return self._constants[sheet].get((column, row), self.empty)

    def named(self, name: str) -> object:
        """The value of a name for one cell."""
        names = self._document.NamedRanges
        cells = names.getByName(name).getReferredCells() if names.hasByName(name) else None
        if cells is None:
            raise Unknown
        area = cells.RangeAddress
        if (area.StartColumn, area.StartRow) != (area.EndColumn, area.EndRow):
            raise Unknown
        return self.cell(area.Sheet, area.StartColumn + 1, area.StartRow + 1)

    def in_table(self, table: str, heading: str, sheet: int, row: int) -> object:  # noqa: ARG002 - of the table
        """The value under a heading of a named table."""
        tables = self._document.DatabaseRanges
        if not tables.hasByName(table):
            raise Unknown
        area = tables.getByName(table).DataArea
        for column in range(area.StartColumn + 1, area.EndColumn + 2):
            if self.cell(area.Sheet, column, area.StartRow + 1) == heading:
                return self.cell(area.Sheet, column, row)
        raise Unknown

    def _read(self, sheet: Any, kinds: int, method: str) -> Iterator[tuple[int, int, Any]]:
        """The cells of some kinds: column, row and content."""
        for one in sheet.queryContentCells(kinds).RangeAddresses:
            width, height = one.EndColumn - one.StartColumn + 1, one.EndRow - one.StartRow + 1
            self._count += width * height
            if self._count > _MOST_CELLS:
                raise Unknown
            block = (one.StartColumn, one.StartRow, one.EndColumn, one.EndRow)
            for row, line in enumerate(getattr(sheet.getCellRangeByPosition(*block), method)()):
                for column, content in enumerate(line):
                    yield one.StartColumn + column + 1, one.StartRow + row + 1, content


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


class _Named(unohelper.Base, XServiceInfo):  # type: ignore[misc] # UNO's classes have no types
    """A component with its names."""

    name = ""
    services: tuple[str, ...] = ()

    def __init__(self, context: Any, *_: object) -> None:
        self.context = context

    def getImplementationName(self) -> str:
        """The component's name."""
        return self.name

    def supportsService(self, name: str) -> bool:
        """Whether it is a service of that name."""
        return name in self.services

    def getSupportedServiceNames(self) -> tuple[str, ...]:
        """Its services."""
        return self.services


class AddIn(_Named):
    """The functions: one method for each, made below from their list."""

    name = _ADDIN
    services = _ADDIN_SERVICES

    def getTypes(self) -> tuple[Any, ...]:
        """The interfaces, by name: while the extension is installed their library is unknown."""
        names = (_INTERFACE, "com.sun.star.lang.XServiceInfo", "com.sun.star.lang.XTypeProvider")
        return tuple(uno.getTypeByName(name) for name in names)


def _from_1904(document: Any) -> bool:
    """Whether the document's numbers would be other days to the server, which refuses them."""
    if not document:
        return False
    first = document.NullDate
    return (first.Year, first.Month, first.Day) != _FIRST_DAY


def _calls_of(document: Any) -> Iterator[tuple[str, list[object]]]:
    return ((name, arguments) for _, _, name, arguments in Document(document).calls())


def _computed(name: str, document: Any, arguments: tuple[object, ...]) -> Any:
    """What a cell shows; nothing is #N/A, an exception #VALUE!."""
    try:
        ahead = partial(_calls_of, document) if document else None
        value = _cells.value(name, arguments, ahead, from_1904=_from_1904(document))
    except ServerError as error:
        _problem[:] = [str(error)]
        return None
    except BadValue as error:
        raise RuntimeError(str(error)) from None
    if not isinstance(value, tuple):
        return value
    if len(_rows) > _MOST_ROWS:
        _rows.clear()
    return _rows.setdefault(value, Rows(value))


def _method(name: str) -> Any:
    def method(_: AddIn, document: Any, *arguments: object) -> Any:
        return _computed(name, document, arguments)

    return method


for _name in _FUNCTIONS:
    setattr(AddIn, _name, _method(_name))


class Menu(_Named, XJobExecutor):  # type: ignore[misc] # UNO's classes have no types
    """The entries of the menu."""

    name = _MENU
    services = _MENU_SERVICES

    def trigger(self, event: str) -> None:
        """Run the chosen entry and show its result."""
        _server.forget_failure()
        try:
            text = self._refresh() if event == "refresh" else _status()
        except ServerError as error:
            text = str(error)
        self._show(text)

    def _refresh(self) -> str:
        cells, unknown = [], 0
        documents = list(self._documents())
        for document in documents:
            of_document, in_doubt = Document(document).in_use(
                lambda name, given: {"f": name, "a": request_arguments(_FUNCTIONS[name], given)}
            )
            cells += of_document
            unknown += in_doubt
        content = {"cells": cells, "unknown": unknown, "confirmed": True}
        message: str = _server.request("POST", "/excel/refresh", content, long=True)["message"]
        _cells.forget()
        _rows.clear()
        for document in documents:
            document.calculateAll()
        return message

    def _documents(self) -> Iterator[Any]:
        found = self._desktop().Components.createEnumeration()
        while found.hasMoreElements():
            one = found.nextElement()
            if hasattr(one, "supportsService") and one.supportsService(_SPREADSHEET):
                yield one

    def _show(self, text: str) -> None:
        frame = self._desktop().getCurrentFrame()
        if frame is None:  # LibreOffice runs without a window
            return
        window = frame.getContainerWindow()
        box = window.getToolkit().createMessageBox(window, INFOBOX, BUTTONS_OK, _TITLE, text)
        box.execute()

    def _desktop(self) -> Any:
        manager = self.context.ServiceManager
        return manager.createInstanceWithContext("com.sun.star.frame.Desktop", self.context)


def _status() -> str:
    """The service, and what is cached."""
    found = _server.request("GET", "/excel/status")
    lines = [f"{found['words']}", f"Cached results: {found['cached']}"]
    if found["oldest"]:
        lines.append(f"Oldest: {found['oldest']}")
    problem = found["problem"]
    if problem:
        lines += ["", problem["title"], problem["text"], problem["what_to_do"]]
    if _problem:
        lines += ["", f"The last cells got no result. {_problem[0]}", "Recalculate them."]
    return "\n".join(lines)


g_ImplementationHelper = unohelper.ImplementationHelper()  # noqa: N816 - the loader's name
g_ImplementationHelper.addImplementation(AddIn, _ADDIN, _ADDIN_SERVICES)
g_ImplementationHelper.addImplementation(Menu, _MENU, _MENU_SERVICES)
