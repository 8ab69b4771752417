"""The workbook: sheets of formulas that look places up, tax orders and list the nexus register."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.excel.workbook.build import Host
    from svc_tools.excel.workbook.writing import Sheet

__all__ = ["write_example", "write_workbook"]


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
        ImportError: xlwings or XlsxWriter is not installed.
        OSError: they cannot be written (the workbook is open in Excel).
    """
    from svc_tools.atomic import whole_file  # noqa: PLC0415 - when a workbook is made
    from svc_tools.excel.workbook import build, writing  # noqa: PLC0415 - as above

    book = Path(path).expanduser()
    if book.suffix.lower() != ".xlsm":
        raise ValueError(
            f"the workbook has macros, so that its name ends in .xlsm; {book.name!r} does not"
        )
    module = book.with_name(f"{writing.MODULE}.py")
    if not force:
        _refuse_to_replace(book, module, build.MODULE_TEXT)
    host = build.excel(build.xlwings_version())
    sheets = [*_sheets(host, as_of, example=example), _xlwings_settings()]
    writing.write_sheets(book, sheets, host, vba=build.vba_project())
    with whole_file(module) as draft:
        draft.write_text(build.MODULE_TEXT, encoding="utf-8")
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
    from svc_tools.excel.workbook.build import calc  # noqa: PLC0415 - when a workbook is made
    from svc_tools.excel.workbook.writing import write_sheets  # noqa: PLC0415 - as above

    path = Path(path).expanduser()
    host = calc(naming)
    write_sheets(path, _sheets(host, as_of, example=True), host)
    return path


def _refuse_to_replace(book: Path, module: Path, content: str) -> None:
    """Refuse to replace files that the user may have worked on.

    Raises:
        FileExistsError: the workbook exists, or a module with other content.
    """
    if book.exists():
        raise FileExistsError(
            f"{book} is there, and may hold somebody's work; give another name, or --force to"
            " replace it"
        )
    if module.exists() and module.read_text(encoding="utf-8", errors="replace") != content:
        raise FileExistsError(
            f"{module} is there and is another one than this workbook's; choose another folder, or"
            " --force to replace it"
        )


def _sheets(host: Host, as_of: date | None, *, example: bool) -> list[Sheet]:
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
    from svc_tools.excel.workbook.writing import CONFIG, MODULE, Sheet  # noqa: PLC0415 - as above

    sheet = Sheet(CONFIG, (20, 20, 90))
    sheet.put("A1", "UDF Modules", "code")
    sheet.put("B1", MODULE, "code")
    sheet.put(
        "C1",
        "Read by xlwings: where the functions are. What is not said here is taken from the settings"
        " that `svc-tools excel install` writes.",
        "muted",
    )
    return sheet
