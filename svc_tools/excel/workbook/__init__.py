"""The workbook: sheets of formulas to look places up, to tax orders and to read the register."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.excel.workbook.build import Host
    from svc_tools.excel.workbook.writing import Sheet

__all__ = ["write_example", "write_workbook"]

_ENDING = ".xlsm"


def write_workbook(
    path: str | Path, *, example: bool = True, as_of: date | None = None, force: bool = False
) -> list[Path]:
    """Write the workbook for Excel on Windows, and the module that it needs beside itself.

    Args:
        path: the workbook, an `.xlsm`.
        example: with made-up orders in it, marked as such.
        as_of: the day in the cell SVC_AS_OF; today where left out.
        force: replace files that are there. What a person has typed into them is lost.

    Returns:
        The files that were written: the workbook and the module.

    Raises:
        FileExistsError: one of them is there, and `force` was not given; nothing is written.
        ValueError: the file has another ending than `.xlsm`.
        ImportError: xlwings or XlsxWriter is not installed.
        OSError: they cannot be written (the workbook is open in Excel).
    """
    from svc_tools.atomic import whole_file  # noqa: PLC0415 - the same
    from svc_tools.excel.com.workbook import text  # noqa: PLC0415 - a light one of a heavy package
    from svc_tools.excel.workbook.build import (  # noqa: PLC0415 - the same
        excel,
        vba_project,
        xlwings_version,
    )
    from svc_tools.excel.workbook.writing import (
        MODULE,
        write_sheets,
    )

    book = Path(path).expanduser()
    if book.suffix.lower() != _ENDING:
        raise ValueError(
            f"the workbook has macros, so that its name ends in {_ENDING}; {book.name!r} does not"
        )
    module = book.with_name(f"{MODULE}.py")
    content = text()
    _refuse(book, module, content, force=force)
    host = excel(xlwings_version())
    sheets = [*_sheets(host, as_of, example=example), _settings()]
    write_sheets(book, sheets, host, vba=vba_project())
    with whole_file(module) as draft:
        draft.write_text(content, encoding="utf-8")
    return [book, module]


def write_example(
    path: str | Path, naming: Callable[[str], str], *, as_of: date | None = None
) -> Path:
    """Write the same sheets for LibreOffice Calc with the add-in: no macros, no module.

    Args:
        path: the file, an `.xlsx`; it is replaced if it is there.
        naming: gives the name by which Calc's files know a function of the registry.
        as_of: the day in the cell SVC_AS_OF; today where left out.

    Raises:
        ImportError: XlsxWriter is not installed.
        OSError: it cannot be written.
    """
    from svc_tools.excel.workbook.build import calc  # noqa: PLC0415 - when a workbook is made
    from svc_tools.excel.workbook.writing import write_sheets  # noqa: PLC0415 - the same

    path = Path(path).expanduser()
    host = calc(naming)
    write_sheets(path, _sheets(host, as_of, example=True), host)
    return path


def _refuse(book: Path, module: Path, content: str, *, force: bool) -> None:
    """Refuse to replace what a person may have worked on.

    Raises:
        FileExistsError: a file is there; the module only where it is another than ours.
    """
    if force:
        return
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
    from svc_tools.excel.workbook.sheets import (
        lookup_sheet,
        nexus_sheet,
        orders_sheet,
        start_sheet,
    )

    day = as_of or date.today()  # noqa: DTZ011 - the day of whoever makes it
    return [
        start_sheet(host),
        lookup_sheet(host, day),
        orders_sheet(host, example=example),
        nexus_sheet(host),
    ]


def _settings() -> Sheet:
    """The settings of xlwings that are the workbook's own; all others are the computer's."""
    from svc_tools.excel.workbook.writing import (  # noqa: PLC0415 - the same
        CONFIG,
        MODULE,
        Sheet,
    )

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
