"""Sheets with what our functions give in place of their calls, for a real engine to compute.

Excel is on no machine of the tests, and LibreOffice alone does not have our functions: so each call
is replaced by its value, and totals, counts and sentences are left for LibreOffice.
"""

from __future__ import annotations

import re
from dataclasses import replace

from svc_tools.excel.workbook import computed
from svc_tools.excel.workbook.writing import Cell, Formula, Host

_CALL = re.compile(r"SVC_[A-Z_]+\([^()]*\)")


def worked_out(sheets, desk, *, real=False):
    """The sheets, with a value for each call of ours.

    Errors are texts, as in Excel through xlwings; with `real` they are errors of the spreadsheet.
    """
    return [_of_sheet(sheet, sheets, desk, real=real) for sheet in sheets]


def _of_sheet(sheet, sheets, desk, *, real):
    places = {}
    for cell in sheet.cells:
        if isinstance(cell.value, Formula):
            for call in _CALL.findall(cell.value.text):
                row = cell.at.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                places.setdefault((row, call), f"{'Z' * (len(places) + 2)}{row}")
    cells = [Cell(at, Formula(f"={call}")) for (_, call), at in places.items()]
    asked = [_typed(one) for one in sheets]
    asked[sheets.index(sheet)].cells += cells
    values = computed(asked, Host(is_excel=not real), desk)[sheet.name]

    def with_values(cell):
        row = cell.at.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

        def literal(call):
            # its range is computed by the engine, and has no error where the total is shown
            return call[0][4:] if "[Tax]" in call[0] else _literal(values[places[row, call[0]]])

        return replace(cell, value=Formula(_CALL.sub(literal, cell.value.text)))

    shown = [with_values(one) if isinstance(one.value, Formula) else one for one in sheet.cells]
    return replace(sheet, cells=shown)


def _typed(sheet):
    return replace(sheet, cells=[one for one in sheet.cells if not isinstance(one.value, Formula)])


def _literal(value):
    if value in {"#N/A", "#VALUE!"}:
        return "NA()"
    if isinstance(value, str):
        return '"{}"'.format(value.replace('"', '""'))
    return str(value).upper()
