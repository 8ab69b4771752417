"""Make the files of the folder `excel` that are workbooks, and the module beside them.

    python scripts/make_excel_files.py excel

They follow from the code and from the day below alone; a test compares them.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

from svc_tools.excel.calc import calc_name
from svc_tools.excel.workbook import write_example, write_workbook

DAY = date(2026, 8, 31)


def write(folder: Path) -> None:
    """Write them, in place of those that are there."""
    write_workbook(folder / "sales-tax.xlsm", as_of=DAY, force=True)
    write_example(folder / "sales-tax-calc.xlsx", calc_name, as_of=DAY)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
