"""The workbook: sheets of formulas that look places up, tax orders and list the nexus register."""

from __future__ import annotations

import warnings
from datetime import date
from importlib.resources import files
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from svc_tools.atomic import whole_file
from svc_tools.config import ConfigurationError, connect
from svc_tools.excel.formulas import Book, calls_in
from svc_tools.excel.values import FIRST_DAY, OMITTED, BadValueError, CellError
from svc_tools.excel.workbook import writing
from svc_tools.excel.workbook.writing import AS_OF, ORDERS, TEXTS, XLWINGS, Formula, Host, Sheet
from svc_tools.extras import needs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.functions import Call
    from svc_tools.excel.workbook.writing import Value, Values

__all__ = ["XLWINGS", "write_example", "write_workbook"]

MODULE_TEXT = '''\
"""The functions and macros of this workbook: SVC_RATE, SVC_TAX, SVC_REFRESH and the others.

Keep this file next to the workbook, under this name; nothing in it needs to be changed. Excel reads
it when the functions are imported: once, and again after an update of svc-tools.
"""

from svc_tools.excel.com.macros import *  # noqa: F403 - what Alt+F8 shows
from svc_tools.excel.com.nexus import *  # noqa: F403 - and the macros of the sheet Nexus
from svc_tools.excel.com.udfs import *  # noqa: F403 - what a formula can call
'''
"""The module in the workbook's folder: it brings the functions and the macros."""


def write_workbook(
    path: str | Path, *, example: bool = True, as_of: date | None = None, force: bool = False
) -> list[Path]:
    """Write the workbook for Excel on Windows, and the Python module that it needs in its folder.

    Its cells hold values already: those of the embedded service, which computes them here. Where it
    is not installed, they are empty until they are computed, and a warning says so.

    Args:
        path: the workbook, an `.xlsm`.
        example: with made-up orders in it, marked as such.
        as_of: the day in the cell SVC_AS_OF; today where left out.
        force: replace existing files. What was typed into them is lost.

    Returns:
        The files written: the workbook and the module.

    Raises:
        FileExistsError: one of them exists, and `force` was not given; nothing is written.
        ValueError: the file has another ending than `.xlsm`.
        ImportError: XlsxWriter is not installed.
        OSError: they cannot be written (the workbook is open in Excel).
    """
    book = Path(path).expanduser()
    if book.suffix.lower() != ".xlsm":
        raise ValueError(
            f"the workbook has macros, so that its name ends in .xlsm; {book.name!r} does not"
        )
    module = book.with_name(f"{writing.MODULE}.py")
    if not force:
        _refuse_to_replace(book, module)
    host = Host(is_excel=True)
    sheets = [*_sheets(host, as_of, example=example), _xlwings_settings()]
    vba = files(__name__).joinpath("vbaProject.bin").read_bytes()
    writing.write_sheets(book, sheets, host, _values(sheets, host), vba=vba)
    with whole_file(module) as draft:
        draft.write_text(MODULE_TEXT, encoding="utf-8")
    return [book, module]


def write_example(
    path: str | Path, naming: Callable[[str], str], *, as_of: date | None = None
) -> Path:
    """Write the same sheets for LibreOffice Calc with the add-in: no macros, no module.

    Args:
        path: the file, an `.xlsx`; an existing one is replaced.
        naming: gives the name of a function of the registry in Calc's files.
        as_of: the day in the cell SVC_AS_OF; today where left out.

    Raises:
        ImportError: XlsxWriter is not installed.
        OSError: it cannot be written.
    """
    path = Path(path).expanduser()
    host = Host(is_excel=False, naming=naming)
    sheets = _sheets(host, as_of, example=True)
    writing.write_sheets(path, sheets, host, _values(sheets, host))
    return path


def _refuse_to_replace(book: Path, module: Path) -> None:
    """Refuse to replace files that the user may have worked on.

    Raises:
        FileExistsError: the workbook exists, or a module with other content.
    """
    if book.exists():
        raise FileExistsError(
            f"{book} exists, and may contain your work; choose another name, or --force to"
            " replace it"
        )
    if module.exists() and module.read_text(encoding="utf-8", errors="replace") != MODULE_TEXT:
        raise FileExistsError(
            f"{module} exists and differs from the module of this workbook; choose another folder,"
            " or --force to replace it"
        )


def _sheets(host: Host, as_of: date | None, *, example: bool) -> list[Sheet]:
    with needs("A workbook for spreadsheets", "excel"):
        from svc_tools.excel.workbook import sheets  # noqa: PLC0415 - when a workbook is made
    day = as_of or date.today()  # noqa: DTZ011 - the local day
    return [
        sheets.start_sheet(host),
        sheets.lookup_sheet(host, day),
        sheets.orders_sheet(host, example=example),
        sheets.nexus_sheet(host),
    ]


def _xlwings_settings() -> Sheet:
    """The sheet with the workbook's own settings of xlwings; all others are the computer's."""
    sheet = Sheet(writing.CONFIG, (20, 20, 90))
    sheet.put("A1", TEXTS["settings"]["module"], "code")
    sheet.put("B1", writing.MODULE, "code")
    sheet.put("C1", TEXTS["settings"]["note"], "muted")
    return sheet


def _values(sheets: Sequence[Sheet], host: Host) -> Values:
    """The values of the formulas; none where the embedded service cannot compute them."""
    from svc_tools.excel.desk import Desk  # noqa: PLC0415 - when a workbook is made

    try:
        client = connect("embedded")
    except (ImportError, ConfigurationError) as error:
        empty = "The cells of the workbook are empty until they are computed"
        warnings.warn(f"{empty}: {error}", stacklevel=3)
        return {}
    with client:
        return computed(sheets, host, Desk(client, cache=False))


def computed(sheets: Sequence[Sheet], host: Host, desk: Desk) -> Values:
    """The value of each formula, as the host shows it, by sheet and cell.

    The calls of our functions are evaluated together, and the values of other formulas follow.
    """
    from svc_tools.excel.functions import evaluate  # noqa: PLC0415 - as above

    book = _SheetCells(sheets)
    formulas = {
        (sheet.name, one.at): one.value
        for sheet in sheets
        for one in sheet.cells
        if isinstance(one.value, Formula)
    }
    calls = {at: call for at, one in formulas.items() if (call := book.call(*at, one))}
    for at, result in zip(calls, evaluate(desk, [*calls.values()]), strict=True):
        book.values[at] = _shown(result, host)
    found: dict[str, dict[str, Value]] = {sheet.name: {} for sheet in sheets}
    for (sheet, cell), one in formulas.items():
        shown: Value
        if callable(one.value):
            shown = one.value({at: v for (name, at), v in book.values.items() if name == sheet})
        elif one.text == f"={AS_OF}":
            shown = (book.named(AS_OF) - FIRST_DAY).days
        else:
            shown = book.values.get((sheet, cell), one.value)
        found[sheet][cell] = shown
    return found


class _SheetCells(Book):
    """The cells of sheets that are being made, by sheet and address."""

    shown = True
    omitted = OMITTED

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        self.values: dict[tuple[str, str], Value] = {
            (sheet.name, one.at): one.value
            for sheet in sheets
            for one in sheet.cells
            if not isinstance(one.value, Formula)
        }
        self._names = {
            name: (sheet.name, at) for sheet in sheets for name, at in sheet.names.items()
        }
        self._tables = {one.name: one for sheet in sheets for one in sheet.tables}

    def call(self, sheet: str, at: str, formula: Formula) -> Call | None:
        """The call of a function of ours with the value of the formula, if there is one."""
        from svc_tools.excel.functions import Call  # noqa: PLC0415 - as above

        text = formula.value or formula.text
        if not isinstance(text, str) or not text.startswith("="):
            return None
        row = int(at.lstrip(ascii_uppercase))
        for one in calls_in(text):
            if all(self._passes(guard, sheet, row) for guard in one.guards):
                return Call(one.name, tuple(self._arguments(one, sheet, row)))
        return None

    def cell(self, sheet: str, column: int, row: int) -> object:
        """The value of a cell; no sheet has more columns than there are letters."""
        return self.values.get((sheet, f"{ascii_uppercase[column - 1]}{row}"))

    def named(self, name: str) -> Any:  # noqa: ANN401 - a cell's value
        """The value of a workbook name for one fixed cell."""
        return self.values[self._names[name]]

    def in_table(self, table: str, heading: str, sheet: str, row: int) -> object:
        """The value under a heading of a table in that row."""
        return self.cell(sheet, self._tables[table].headings.index(heading) + 1, row)

    def table_column(self, table: str, heading: str) -> object:
        """The values of a table's column."""
        one = self._tables[table]
        first, last = (int(at.lstrip(ascii_uppercase)) for at in one.area.split(":"))
        return [[self.in_table(table, heading, ORDERS, row)] for row in range(first + 1, last + 1)]


def _shown(result: Any, host: Host) -> Value:  # noqa: ANN401 - of any function
    """A result as a cell of the host shows it; of several the first."""
    while isinstance(result, list):
        result = result[0]
    if isinstance(result, CellError):
        if host.is_excel:
            return result.text
        return "#VALUE!" if isinstance(result, BadValueError) else "#N/A"
    return "" if result is None else result
