# ruff: noqa: ANN001, ANN003, ANN201, ANN202, ANN204, FBT002, FBT003 - UNO has no types and no names
"""Runs under LibreOffice's Python: does what a headless Calc is told, a line of JSON each.

Started by `benchmarks.calc`. An order is {"do": name, "order": number, ...}, its
result {"order": number, "is": ...} or {"order": number, "failed": ...}.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import Locale
from com.sun.star.table import CellAddress
from com.sun.star.util import Date
from com.sun.star.util.NumberFormat import LOGICAL

_PATIENCE = 60.0


class Calc:
    """A LibreOffice that listens at a pipe."""

    def __init__(self, pipe):
        here = uno.getComponentContext()
        resolver = here.ServiceManager.createInstanceWithContext(
            "com.sun.star.bridge.UnoUrlResolver", here
        )
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.context = resolver.resolve(
                    f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext"
                )
                break
            except NoConnectException:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        self.desktop = self.make("com.sun.star.frame.Desktop")
        self.document = None

    def make(self, name):
        return self.context.ServiceManager.createInstanceWithContext(name, self.context)

    def open(self, url="private:factory/scalc", hidden=True):
        """Open a document in place of the one before."""
        if self.document is not None:
            self.document.close(True)
        self.document = self.desktop.loadComponentFromURL(url, "_blank", 0, _named(Hidden=hidden))
        return list(self.document.Sheets.ElementNames)

    def insert(self, sheet, names):
        """Add a sheet, and names for cells."""
        self.document.Sheets.insertNewByName(sheet, self.document.Sheets.Count)
        for name, cell in names.items():
            self.document.NamedRanges.addNewByName(name, cell, CellAddress(), 0)

    def count_from(self, year, month, day):
        """Count days from another day than the end of 1899."""
        self.document.NullDate = Date(day, month, year)

    def fill(self, cells, sheet=0):
        """Put numbers, texts, formulas ("=...") and array formulas ("{=...}", over a range).

        A truth value is a number with its format, as when it is typed.
        """
        for address, content in cells.items():
            cell = self._sheet(sheet).getCellRangeByName(address)
            if isinstance(content, bool):
                formats = self.document.NumberFormats
                cell.NumberFormat = formats.getStandardFormat(LOGICAL, Locale())
            if isinstance(content, (int, float)):
                cell.Value = content
            elif content.startswith("{="):
                cell.setArrayFormula(content[1:-1])
            elif content.startswith("="):
                cell.Formula = content
            else:
                cell.String = content

    def fill_rows(self, address, rows):
        """Put a block of formulas or numbers at once."""
        block = self._sheet().getCellRangeByName(address)
        block.setFormulaArray(tuple(tuple(row) for row in rows))

    def shown(self, addresses, sheet=0):
        """What cells show: number or text, or {"error": text} where there is an error."""
        return [self._shown(sheet, one) for one in addresses]

    def block(self, address, sheet=0):
        """What a block shows, rows of texts."""
        cells = self._sheet(sheet).getCellRangeByName(address)
        area = cells.RangeAddress
        return [
            [
                cells.getCellByPosition(column, row).String
                for column in range(area.EndColumn - area.StartColumn + 1)
            ]
            for row in range(area.EndRow - area.StartRow + 1)
        ]

    def column(self, address):
        """What a column holds, numbers and texts; errors are nothing."""
        return [row[0] for row in self._sheet().getCellRangeByName(address).DataArray]

    def typed(self, address):
        """A formula as a person sees it."""
        return self._sheet().getCellRangeByName(address).FormulaLocal

    def calculate(self):
        """Compute everything again."""
        self.document.calculateAll()

    def choose(self, entry, press=("ok",)):
        """Choose an entry of the extension's menu and press a button of each message; the texts."""
        menu = threading.Thread(target=self.make("svc.tools.Menu").trigger, args=(entry,))
        menu.start()
        texts = []
        for button in press:
            box = self._message()
            texts.append(self._text())
            box.getChild(button).executeAction("CLICK", ())
        menu.join(_PATIENCE)
        if menu.is_alive():
            raise TimeoutError(f"another message is shown after {texts}")
        return texts

    def _message(self):
        """The message that waits for a button."""
        screen = self.make("com.sun.star.ui.test.UITest")
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            window = screen.getTopFocusWindow()
            if "ok" in window.getChildren() and _state(window)["ReallyVisible"] == "true":
                return window
            time.sleep(0.02)
        raise TimeoutError("no message is shown")

    def _text(self):
        """The text of the message, and of its buttons."""
        box = self.make("com.sun.star.awt.Toolkit").getActiveTopWindow().getAccessibleContext()
        parts = (box.getAccessibleChild(at) for at in range(box.AccessibleChildCount))
        return " ".join(one.getAccessibleContext().AccessibleName for one in parts)

    def help(self, name):
        """What the assistant for functions shows of one: texts, and its arguments."""
        functions = self.make("com.sun.star.sheet.FunctionDescriptions")
        for at in range(functions.Count):
            found = {one.Name: one.Value for one in functions.getByIndex(at)}
            if found["Name"] == name:
                arguments = [[one.Name, one.Description] for one in found["Arguments"] or ()]
                return {"help": found["Description"], "arguments": arguments}
        return None

    def save(self, url, kind):
        """Write the document as a file of some kind."""
        self.document.storeToURL(url, _named(FilterName=kind))

    def _sheet(self, at=0):
        return self.document.Sheets.getByIndex(at)

    def _shown(self, sheet, address):
        cell = self._sheet(sheet).getCellRangeByName(address)
        if cell.getError():
            return {"error": cell.String}
        is_number = (
            cell.FormulaResultType2 == 1
            if cell.Formula.startswith(("=", "{="))
            else (cell.Type.value == "VALUE")
        )
        return cell.Value if is_number else cell.String


def _state(window):
    return {one.Name: one.Value for one in window.getState()}


def _named(**values):
    return tuple(PropertyValue(Name=name, Value=value) for name, value in values.items())


def main():
    """Do one order after another."""
    calc = Calc(sys.argv[1])
    print(json.dumps({"is": "ready"}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        name, number = order.pop("do"), order.pop("order", None)
        if name == "end":
            break
        try:
            answer = {"is": getattr(calc, name)(**order)}
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps({"order": number, **answer}), flush=True)
    with contextlib.suppress(Exception):  # it is gone, and the bridge with it
        if calc.document is not None:  # which may ask whether it is saved
            calc.document.close(True)
        calc.desktop.terminate()


if __name__ == "__main__":
    main()
