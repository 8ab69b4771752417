"""Make the files of the folder `excel` that are workbooks, and the module beside them.

    python scripts/make_excel_files.py excel

They follow from the code, the template of xlwings and the day below alone; a test compares them.
"""

from __future__ import annotations

import sys
import zipfile
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from svc_tools.excel import workbook
from svc_tools.excel.calc import calc_name
from svc_tools.excel.workbook import XLWINGS, write_example, write_workbook

DAY = date(2026, 8, 31)
VBA = Path(workbook.__file__).with_name("vbaProject.bin")
_TEMPLATE = "quickstart_standalone.xlsm"
_NAME = 'Attribute VB_Name = "Module1"\r\n'
_COMMENT = "' Functions and macros are in svc_udfs.py; the button on the sheet Start imports them."
_CACHE = 1119
"""The bytes before the source of Module1: a cache of what was compiled, which Excel ignores in a
project of version 0xFFFF as this one (MS-OVBA 2.3.4.3)."""


def write(folder: Path) -> None:
    """Write them, in place of those that are there."""
    VBA.write_bytes(vba_project())
    write_workbook(folder / "sales-tax.xlsm", as_of=DAY, force=True)
    write_example(folder / "sales-tax-calc.xlsx", calc_name, as_of=DAY)


def vba_project() -> bytes:
    """The VBA of xlwings' template, with a comment in place of the sample macro in Module1.

    The comment has the size of the macro, so that all else stays where it is. The source of a
    module is compressed (MS-OVBA 2.4.1): a signature, then a header with the size of what follows.

    Raises:
        ValueError: another xlwings is installed than the one whose VBA the workbook has.
    """
    found = find_spec("xlwings")
    if found is None or found.origin is None or version("xlwings") != XLWINGS:
        raise ValueError(f"the VBA is that of xlwings {XLWINGS}: install that version")
    with zipfile.ZipFile(Path(found.origin).with_name(_TEMPLATE)) as template:
        project = template.read("xl/vbaProject.bin")
    source = project.index(literals(f"{_NAME}S")[:-1])
    start = source - 3
    size = (int.from_bytes(project[start + 1 : source], "little") & 0xFFF) + 1
    characters = size * 8 // 9
    comment = literals(f"{_NAME}{_COMMENT}".ljust(characters - 2) + "\r\n")
    if len(comment) != size:
        raise ValueError(f"a comment of {size} bytes is needed, this one has {len(comment)}")
    before = project[: start - _CACHE] + bytes(_CACHE) + project[start:source]
    return before + comment + project[source + size :]


def literals(text: str) -> bytes:
    """A text in the compression of MS-OVBA: a byte of flags before each eight characters."""
    plain = text.encode("ascii")
    return b"".join(b"\0" + plain[at : at + 8] for at in range(0, len(plain), 8))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
