"""The workbook: sheets of formulas that look places up, tax orders and list the nexus register."""

from __future__ import annotations

from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.atomic import whole_file
from svc_tools.excel.workbook import writing
from svc_tools.excel.workbook.writing import Host, Sheet, Step
from svc_tools.extras import needs

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["write_example", "write_workbook"]

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
XLWINGS = "0.37.8"
"""The version of xlwings whose VBA the workbook has: another one does not work with it."""


def write_workbook(
    path: str | Path, *, example: bool = True, as_of: date | None = None, force: bool = False
) -> list[Path]:
    """Write the workbook for Excel on Windows, and the Python module that it needs in its folder.

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
        _refuse_to_replace(book, module, MODULE_TEXT)
    host = excel()
    sheets = [*_sheets(host, as_of, example=example), _xlwings_settings()]
    vba = files(__name__).joinpath("vbaProject.bin").read_bytes()
    writing.write_sheets(book, sheets, host, vba=vba)
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
    host = calc(naming)
    writing.write_sheets(path, _sheets(host, as_of, example=True), host)
    return path


def _refuse_to_replace(book: Path, module: Path, content: str) -> None:
    """Refuse to replace files that the user may have worked on.

    Raises:
        FileExistsError: the workbook exists, or a module with other content.
    """
    if book.exists():
        raise FileExistsError(
            f"{book} exists, and may contain your work; choose another name, or --force to"
            " replace it"
        )
    if module.exists() and module.read_text(encoding="utf-8", errors="replace") != content:
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
    sheet.put("A1", "UDF Modules", "code")
    sheet.put("B1", writing.MODULE, "code")
    sheet.put(
        "C1",
        "Read by xlwings: where the functions are. Other settings are those"
        " that `svc-tools excel install` writes.",
        "muted",
    )
    return sheet


_LAST_STEP = Step(
    "Then work",
    "Look a place up, replace the example orders by your own lines, and check your nexus register."
    " Type into yellow cells; all others are computed.",
)


def excel() -> Host:
    """Excel on Windows with xlwings."""
    return Host(
        name="Excel",
        naming=str,
        macros=True,
        spills=True,
        empty_is_zero=False,
        steps=(
            Step(
                "Once on this computer",
                "Run `svc-tools excel install` in a terminal; `svc-tools excel check` shows any"
                " problem. Then in Excel, under File > Options > Trust Center >"
                " Trust Center Settings > Macro Settings, tick “Trust access to the VBA project"
                " object model”: the import of step 2 needs it.",
            ),
            Step(
                "Once in this workbook",
                "Enable the content if Excel asks, press the button, then Ctrl+Alt+F9. Until then"
                " cells with SVC functions show #NAME?. Keep the file svc_udfs.py in the folder of"
                " the workbook; a copy of the workbook needs a copy of it. The workbook"
                f" is made for xlwings {XLWINGS}: `svc-tools excel check` says whether that is"
                " what you have.",
                ("Import functions", "ImportPythonUDFs"),
            ),
            _LAST_STEP,
        ),
        refresh="the macro SVC_REFRESH",
    )


def calc(naming: Callable[[str], str]) -> Host:
    """LibreOffice Calc with the add-in; functions have the names they have in its files."""
    return Host(
        name="LibreOffice Calc",
        naming=naming,
        macros=False,
        spills=False,
        empty_is_zero=True,
        steps=(
            Step(
                "Once on this computer",
                "Run `svc-tools excel calc-addin` in a terminal: it writes the extension. Install"
                " it under Tools > Extension Manager > Add, and start LibreOffice again.",
            ),
            Step(
                "Before you open this file",
                "Run `svc-tools excel serve` in a terminal and leave it running: the cells need it."
                " Then compute everything once with Ctrl+Shift+F9.",
            ),
            _LAST_STEP,
        ),
        refresh="the menu of the extension",
    )
