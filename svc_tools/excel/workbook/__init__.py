"""The workbook: sheets of formulas that look places up, tax orders and list the nexus register."""

from __future__ import annotations

import warnings
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_tools.base.atomic import whole_file
from svc_tools.base.extras import needs
from svc_tools.config import ConfigurationError, connect
from svc_tools.excel.formulas import Contents, column_number
from svc_tools.excel.values import FIRST_DAY, BadValueError, CellError
from svc_tools.excel.workbook import writing
from svc_tools.excel.workbook.writing import AS_OF, TEXTS, XLWINGS, Formula, Host, Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.workbook.writing import Value, Values

__all__ = ["XLWINGS", "write_example", "write_workbook"]

MODULE_TEXT: str = TEXTS["settings"]["text"]
"""The module in the workbook's folder: it brings the functions and the macros."""
_FIRST = date(1900, 3, 1)
"""Before it Excel counts a day that was none, February 29."""


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
        ValueError: the file has another ending than `.xlsm`, or the day is before March 1900.
        ImportError: XlsxWriter is not installed.
        OSError: they cannot be written (the workbook is open in Excel).
    """
    book = Path(path).expanduser()
    if book.suffix.lower() != ".xlsm":
        raise ValueError(
            f"the workbook has macros, so that its name ends in .xlsm; {book.name!r} does not"
        )
    if as_of is not None and as_of < _FIRST:
        raise ValueError(f"Excel has no cell for the day {as_of}; give one from {_FIRST} on")
    module = book.with_name(f"{writing.MODULE}.py")
    if not force and book.exists():
        raise FileExistsError(
            f"{book} exists, and may contain your work; choose another name, or --force to"
            " replace it"
        )
    if not force and module.exists() and module.read_text("utf-8", "replace") != MODULE_TEXT:
        raise FileExistsError(
            f"{module} exists and differs from the module of this workbook; choose another folder,"
            " or --force to replace it"
        )
    host = Host(is_excel=True)
    settings = Sheet(writing.CONFIG, (20, 20, 90))  # all others are the computer's
    settings.put_all(TEXTS["settings"]["cells"])
    settings.set("hide")  # it is for xlwings, and not to be printed
    sheets = [*_sheets(host, as_of, example=example), settings]
    vba = Path(__file__).with_name("vbaProject.bin").read_bytes()
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
    from svc_tools.excel.functions import FunctionCall, evaluate  # noqa: PLC0415 - as above

    contents = {(sheet.name, cell.at): cell.value for sheet in sheets for cell in sheet.cells}
    formulas = {at: value for at, value in contents.items() if isinstance(value, Formula)}
    values = {at: value for at, value in contents.items() if not isinstance(value, Formula)}
    book = Contents(
        [block for sheet in sheets for block in _blocks(sheet)],
        {name: sheet.refers_to(name) for sheet in sheets for name in sheet.names},
        [table for sheet in sheets for table in _tables(sheet)],
    )
    cells, _ = book.in_use(lambda name, given: FunctionCall(name, tuple(given)))
    read = [at for at, formula in formulas.items() if _text_with_call(formula)]
    calls = {at: found[0] for at, found in zip(read, cells, strict=True) if found}
    for at, result in zip(calls, evaluate(desk, [*calls.values()]), strict=True):
        values[at] = _shown(result, host)
    found: dict[str, dict[str, Value]] = {sheet.name: {} for sheet in sheets}
    for (sheet, cell), formula in formulas.items():
        if callable(formula.value):
            of_sheet = {at: value for (name, at), value in values.items() if name == sheet}
            found[sheet][cell] = formula.value(of_sheet)
        elif formula.text == f"={AS_OF}":
            found[sheet][cell] = (book.named(AS_OF) - FIRST_DAY).days
        else:
            found[sheet][cell] = values.get((sheet, cell), formula.value)
    return found


def _text_with_call(formula: Formula) -> str:
    """The text with the call that gives the value of a formula; "" where there is none."""
    text = formula.value or formula.text
    return text if isinstance(text, str) and text.startswith("=") and "SVC_" in text else ""


def _blocks(sheet: Sheet) -> Iterator[dict[str, Any]]:
    """A sheet as `Contents` takes it: all cells without a formula, then each with one."""
    cells = [(*_row_and_column(cell.at), cell.value) for cell in sheet.cells]
    constants = {(r, c): value for r, c, value in cells if not isinstance(value, Formula)}
    height, width = (range(1, max(numbers) + 1) for numbers in zip(*constants, strict=True))
    values = [[constants.get((row, column)) for column in width] for row in height]
    yield {"name": sheet.name, "row": 1, "column": 1, "formulas": [], "values": values}
    for row, column, value in cells:
        if isinstance(value, Formula):
            at = {"name": sheet.name, "row": row, "column": column}
            yield {**at, "formulas": [[_text_with_call(value)]], "values": [[None]]}


def _tables(sheet: Sheet) -> Iterator[dict[str, Any]]:
    """The tables of a sheet as `Contents` takes them."""
    for table in sheet.tables:
        (head, left), (last, _) = map(_row_and_column, table.area.split(":"))
        at = {"name": table.name, "sheet": sheet.name, "row": head + 1, "column": left}
        yield {**at, "height": last - head, "columns": table.headings}


def _row_and_column(at: str) -> tuple[int, int]:
    letters = at.rstrip("0123456789")
    return int(at.removeprefix(letters)), column_number(letters)


def _shown(result: Any, host: Host) -> Value:  # noqa: ANN401 - of any function
    """A result as a cell of the host shows it; of several the first."""
    while isinstance(result, list):
        result = result[0]
    if isinstance(result, CellError):
        if host.is_excel:
            return result.text
        return "#VALUE!" if isinstance(result, BadValueError) else "#N/A"
    return "" if result is None else result
