# ruff: noqa: INP001 - a file of the extension, no module of a package
"""The components of the extension: the functions that Calc calls, and the menu.

What is not LibreOffice's own is in `pythonpath/`, beside this file. Standard library and UNO
alone, Python 3.8 and later: LibreOffice brings its own Python.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import uno  # type: ignore[import-not-found]
import unohelper  # type: ignore[import-not-found]
from com.sun.star.awt.MessageBoxButtons import BUTTONS_OK  # type: ignore[import-not-found]
from com.sun.star.awt.MessageBoxType import INFOBOX  # type: ignore[import-not-found]
from com.sun.star.lang import XServiceInfo  # type: ignore[import-not-found]
from com.sun.star.sheet import ResultEvent, XVolatileResult  # type: ignore[import-not-found]
from com.sun.star.task import XJobExecutor  # type: ignore[import-not-found]
from svc_calc_ahead import calls_of  # type: ignore[import-not-found]
from svc_calc_cells import BadValue, Cells, functions_of  # type: ignore[import-not-found]
from svc_calc_server import Server, ServerError  # type: ignore[import-not-found]

_INTERFACE = "svc.tools.XSalesTax"
_ADDIN, _ADDIN_SERVICES = "svc.tools", ("svc.tools.SalesTax", "com.sun.star.sheet.AddIn")
_MENU, _MENU_SERVICES = "svc.tools.Menu", ("svc.tools.Menu", "com.sun.star.task.Job")
_TITLE = "Sales tax"
_SPREADSHEET = "com.sun.star.sheet.SpreadsheetDocument"
_MOST_ROWS = 1_000
_FIRST_DAY = (1899, 12, 30)
"""The day 0 of the numbers that the server reads as days."""

_FUNCTIONS = functions_of(
    Path(__file__).with_name("functions.json").read_text(encoding="utf-8"),
)
_server = Server()
"""One for all documents of this LibreOffice."""


def _post(calls: list[dict[str, Any]]) -> list[Any]:
    results: list[Any] = _server.ask("POST", "/excel/batch", {"calls": calls})["results"]
    _unanswered.clear()
    return results


_cells = Cells(_FUNCTIONS, _post, _server.find)
_rows: dict[Any, Any] = {}
_unanswered: list[str] = []
"""Why the last cells got no answer, if so: a cell itself shows #N/A alone, the menu says this."""


class Rows(unohelper.Base, XVolatileResult):  # type: ignore[misc] # UNO's classes have no types
    """Rows of cells: no method that gives `any` can give them from Python but in this way.

    The same rows are the same object, so that Calc listens to each but once.
    """

    def __init__(self, rows: Any) -> None:  # noqa: ANN401 - cells
        self._event = ResultEvent()
        self._event.Value = uno.Any("[][]any", rows)

    def addResultListener(self, listener: Any) -> None:  # noqa: ANN401, N802 - UNO's name
        """Tell the rows at once; they never change."""
        listener.modified(self._event)

    def removeResultListener(self, listener: Any) -> None:  # noqa: ANN401, N802 - UNO's name
        """Nobody is remembered."""


class _Named(unohelper.Base, XServiceInfo):  # type: ignore[misc] # UNO's classes have no types
    """A component by its names."""

    name = ""
    services: tuple[str, ...] = ()

    def __init__(self, context: Any, *_: object) -> None:  # noqa: ANN401 - UNO
        self.context = context

    def getImplementationName(self) -> str:  # noqa: N802 - UNO's name
        """The component's name."""
        return self.name

    def supportsService(self, name: str) -> bool:  # noqa: N802 - UNO's name
        """Whether it is what somebody looks for."""
        return name in self.services

    def getSupportedServiceNames(self) -> tuple[str, ...]:  # noqa: N802 - UNO's name
        """What it is."""
        return self.services


class AddIn(_Named):
    """The functions: one method for each, made below from their list."""

    name = _ADDIN
    services = _ADDIN_SERVICES

    def getTypes(self) -> tuple[Any, ...]:  # noqa: N802 - UNO's name
        """The interfaces, by name: while the extension is installed their library is unknown."""
        names = (_INTERFACE, "com.sun.star.lang.XServiceInfo", "com.sun.star.lang.XTypeProvider")
        return tuple(uno.getTypeByName(name) for name in names)


def _from_1904(document: Any) -> bool:  # noqa: ANN401 - UNO
    """Whether the document's numbers would be other days to the server, which refuses them."""
    if not document:
        return False
    first = document.NullDate
    return (first.Year, first.Month, first.Day) != _FIRST_DAY


def _computed(name: str, document: Any, arguments: tuple[object, ...]) -> Any:  # noqa: ANN401 - UNO
    """What a cell shows; nothing is #N/A, an exception #VALUE!."""
    try:
        foreseen = partial(calls_of, document) if document else None
        value = _cells.value(name, arguments, foreseen, from_1904=_from_1904(document))
    except ServerError as error:
        _unanswered[:] = [str(error)]
        return None
    except BadValue as error:
        raise RuntimeError(str(error)) from None
    if not isinstance(value, tuple):
        return value
    if len(_rows) > _MOST_ROWS:
        _rows.clear()
    return _rows.setdefault(value, Rows(value))


def _method(name: str) -> Any:  # noqa: ANN401 - a method
    def method(_: AddIn, document: Any, *arguments: object) -> Any:  # noqa: ANN401 - UNO
        return _computed(name, document, arguments)

    return method


for _name in _FUNCTIONS:
    setattr(AddIn, _name, _method(_name))


class Menu(_Named, XJobExecutor):  # type: ignore[misc] # UNO's classes have no types
    """What the menu does."""

    name = _MENU
    services = _MENU_SERVICES

    def trigger(self, event: str) -> None:
        """Do what was chosen, and say what came of it."""
        _server.forget_failure()
        try:
            told = self._refreshed() if event == "refresh" else _status()
        except ServerError as error:
            told = str(error)
        self._say(told)

    def _refreshed(self) -> str:
        told: str = _server.ask("POST", "/excel/refresh", long=True)["said"]
        _cells.forget()
        _rows.clear()
        documents = self._desktop().Components.createEnumeration()
        while documents.hasMoreElements():
            document = documents.nextElement()
            if hasattr(document, "supportsService") and document.supportsService(_SPREADSHEET):
                document.calculateAll()
        return told

    def _say(self, text: str) -> None:
        frame = self._desktop().getCurrentFrame()
        if frame is None:  # nobody looks: LibreOffice works for a program
            return
        window = frame.getContainerWindow()
        box = window.getToolkit().createMessageBox(window, INFOBOX, BUTTONS_OK, _TITLE, text)
        box.execute()

    def _desktop(self) -> Any:  # noqa: ANN401 - UNO
        manager = self.context.ServiceManager
        return manager.createInstanceWithContext("com.sun.star.frame.Desktop", self.context)


def _status() -> str:
    """Who answers, and what is kept."""
    found = _server.ask("GET", "/excel/status")
    lines = [f"{found['words']}", f"Answers kept: {found['kept']}"]
    if found["oldest"]:
        lines.append(f"The oldest is of {found['oldest']}")
    trouble = found["trouble"]
    if trouble:
        lines += ["", trouble["title"], trouble["text"], trouble["what_to_do"]]
    if _unanswered:
        lines += ["", f"The last cells got no answer. {_unanswered[0]}", "Recalculate them."]
    return "\n".join(lines)


g_ImplementationHelper = unohelper.ImplementationHelper()  # noqa: N816 - the loader's name
g_ImplementationHelper.addImplementation(AddIn, _ADDIN, _ADDIN_SERVICES)
g_ImplementationHelper.addImplementation(Menu, _MENU, _MENU_SERVICES)
