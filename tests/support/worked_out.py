"""Sheets with what our functions give in place of their formulas, as a spreadsheet would show it.

Excel is on no machine of the tests: so the formulas of ours are read and evaluated here, and those
of the spreadsheet (totals, counts, sentences) are left for a real engine to compute.
"""

from __future__ import annotations

import re
from dataclasses import replace

from svc_tools.excel.formulas import calls_in
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.values import OMITTED, CellError, ErrorCell
from svc_tools.excel.workbook.writing import Formula

_CALL = re.compile(r"=(SVC_\w+)\((.*)\)")
_GUARDED = re.compile(r"(=IF\(.*,NA\(\),)(SVC_SUM\([^()]*\))\)")
_CELL = re.compile(r"\$?([A-Z]+)\$?(\d+)")


def worked_out(sheets, desk, *, real=False):
    """The sheets, with values for every formula that is one call of ours; SVC_SUM last.

    Errors are texts, as in Excel through xlwings; with `real` they are errors of the spreadsheet.
    """
    book = _Book(sheets)
    for late in (False, True):
        calls = [
            (sheet, cell, match)
            for sheet in sheets
            for cell in sheet.cells
            if isinstance(cell.value, Formula)
            and (match := _CALL.fullmatch(_bare(cell.value.text)))
            and (match[1] == "SVC_SUM") is late
        ]
        asked = [
            Call(
                match[1],
                tuple(book.argument(sheet, cell, one) for one in calls_in(match[0])[0].arguments),
            )
            for sheet, cell, match in calls
        ]
        for (sheet, cell, _), result in zip(calls, evaluate(desk, asked), strict=True):
            shown = _guarded(cell.value.text, _shown(result, real=real))
            sheet.cells[sheet.cells.index(cell)] = replace(cell, value=shown)
            book.values[sheet.name, cell.at] = shown
    return sheets


class _Book:
    def __init__(self, sheets):
        self.values = {(sheet.name, one.at): one.value for sheet in sheets for one in sheet.cells}
        self.names = {name: (sheet, area) for sheet in sheets for name, area in sheet.names.items()}
        self.tables = {table.name: (sheet, table) for sheet in sheets for table in sheet.tables}

    def argument(self, sheet, cell, text):
        if not text:
            return OMITTED
        if text.startswith('"'):
            return text[1:-1]
        if text in self.names:
            there, area = self.names[text]
            return self._at(there, area)
        if match := re.fullmatch(r"(\w+)\[(.+)\]", text):
            return self._of_table(cell, *self.tables[match[1]], match[2])
        ends = [_CELL.fullmatch(one) for one in text.split(":")]
        if len(ends) == 1:
            return self._at(sheet, text.replace("$", ""))
        columns = [chr(one) for one in range(ord(ends[0][1]), ord(ends[1][1]) + 1)]
        rows = range(int(ends[0][2]), int(ends[1][2]) + 1)
        return [[self._at(sheet, f"{column}{row}") for column in columns] for row in rows]

    def _of_table(self, cell, sheet, table, column):
        if match := re.fullmatch(r"\[#This Row\],\[(.+)\]", column):
            return self._at(sheet, f"{_column(table, match[1])}{_CELL.match(cell.at)[2]}")
        first, last = (int(_CELL.match(one)[2]) for one in table.area.split(":"))
        letter = _column(table, column)
        return [[self._at(sheet, f"{letter}{row}")] for row in range(first + 1, last + 1)]

    def _at(self, sheet, at):
        value = self.values.get((sheet.name, at))
        return ErrorCell("#N/A") if isinstance(value, Formula) else value


def _column(table, heading):
    return chr(ord(table.area[0]) + table.headings.index(heading))


def _bare(formula):
    """A total that a condition guards, as the call alone."""
    guarded = _GUARDED.fullmatch(formula)
    return f"={guarded[2]}" if guarded else formula


def _guarded(formula, shown):
    """The same with its condition again, which is for the real engine."""
    guarded = _GUARDED.fullmatch(formula)
    if guarded is None:
        return shown
    if isinstance(shown, Formula):
        value = shown.text.removeprefix("=")
    else:
        value = '"{}"'.format(shown.replace('"', '""')) if isinstance(shown, str) else repr(shown)
    return Formula(f"{guarded[1]}{value})")


def _shown(result, *, real):
    """What Excel shows with xlwings: one value, errors as text, an empty cell as empty text."""
    while isinstance(result, list):
        result = result[0]
    if isinstance(result, CellError):
        return Formula("=NA()") if real else result.text
    if isinstance(result, bool):
        return str(result).upper()
    return "" if result is None else result
