"""The same formulas in every host: plain Python, Excel over COM, Office.js in Node, Calc.

A formula is the name of its function and its arguments: constants, what `cell` marks as the content
of a cell, or rows of contents for a range. What it shows is a value, rows, or an error by its word:
as plain Python has it ("#INVALID"), or as the spreadsheet has it ("#VALUE!"). Each host also takes
what is expected: Calc fills an area that is chosen before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from openpyxl.utils.cell import get_column_letter

from support.com_excel import Cell as ComCell
from support.com_excel import serial
from support.com_stand_ins import Excel
from support.spreadsheets import called, in_excel, local_server, shown
from svc_tools.excel import desk as desks
from svc_tools.excel.officejs.pages import function_id
from svc_tools.excel.values import OMITTED, ErrorCell

_WIDTH = 60
"""Columns of Calc's sheet from which arguments stand, and the columns for each formula's."""
_CODES = {"#DIV/0!": -2146826281, "#N/A": -2146826246}
_MAKES = {"#DIV/0!": "=1/0", "#N/A": "=NA()"}


@dataclass(frozen=True)
class InCell:
    """The content of a cell that a formula refers to; `None` for an empty one."""

    value: object


def cell(value):
    """An argument that refers to a cell with this content."""
    return InCell(value)


def _bare(argument):
    return argument.value if isinstance(argument, InCell) else argument


def in_python(desk, _request, calls, _shows):
    """As `evaluate` gives it."""
    return [_words(shown(desk, name, *map(_bare, given))) for name, *given in calls]


def through_xlwings(desk, request, calls, _shows):
    """As Excel shows it with xlwings: contents come from cells, through its own converters."""
    request.getfixturevalue("monkeypatch").setattr(desks, "_desks", [desk])
    excel = Excel(request.getfixturevalue("com"))
    sheet = excel.book.add("Cells")

    def passed(argument, row, column):
        if not isinstance(argument, InCell | list):
            return argument
        rows = argument if isinstance(argument, list) else [[argument.value]]
        for down, line in enumerate(rows):
            for across, value in enumerate(line):
                sheet.cells[row + down, column + across] = _of_com(value)
        last = (row + len(rows) - 1, column + len(rows[0]) - 1)
        return sheet.Range(sheet.Cells(row, column), sheet.Cells(*last))

    found = []
    for at, (name, *given) in enumerate(calls):
        own = [passed(one, 20 * at + 1, 10 * column + 2) for column, one in enumerate(given)]
        result = excel.call(name, *_without_omitted(own), cell=sheet.Range(f"A{20 * at + 1}"))
        found.append(_words(_scalar(result)))
    return found


def _of_com(value):
    if isinstance(value, date):
        return ComCell(serial(value), style="date")
    if isinstance(value, ErrorCell):
        return ComCell(_CODES[value.text])
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return ComCell(float(value) if is_number else value)


def through_office_js(desk, _request, calls, _shows):
    """As the shipped JavaScript gives it in Node, over the local server."""
    asked = [called(function_id(name), *map(_of_office, given)) for name, *given in calls]
    with local_server(desk) as server:
        found = in_excel(server.script, asked)["shown"][0]
    return [_words(_scalar(one)) for one in found]


def _of_office(argument):
    if argument is OMITTED:
        return None
    rows = argument if isinstance(argument, list) else [[_bare(argument)]]
    return [[_office_value(value) for value in row] for row in rows]


def _office_value(value):
    if isinstance(value, ErrorCell):
        return {"$error": value.text}
    if isinstance(value, date):
        return serial(value)
    return "" if value is None else float(value) if isinstance(value, Decimal) else value


def through_calc(_desk, request, calls, shows):
    """As a real LibreOffice Calc shows it, with the extension: formulas over cells of a sheet."""
    calc = request.getfixturevalue("calc")
    shapes = [(1, 1) if not isinstance(one, list) else (len(one), len(one[0])) for one in shows]
    cells, formulas, read = {}, {}, []
    row = 1
    for (name, *given), (height, width) in zip(calls, shapes, strict=True):
        written, used = [], height
        for at, argument in enumerate(_without_omitted(given)):
            if not isinstance(argument, InCell | list):
                written.append(_constant(argument))
                continue
            rows = argument if isinstance(argument, list) else [[argument.value]]
            left = _WIDTH + 10 * at
            block = [[_calc_value(value) for value in line] for line in rows]
            cells |= {
                f"{get_column_letter(left + across)}{row + down}": value
                for down, line in enumerate(block)
                for across, value in enumerate(line)
                if value is not None
            }
            first = f"{get_column_letter(left)}{row}"
            last = f"{get_column_letter(left + len(rows[0]) - 1)}{row + len(rows) - 1}"
            written.append(first if first == last else f"{first}:{last}")
            used = max(used, len(rows))
        text = f"={name}({';'.join(written)})"
        if height * width == 1:
            formulas[f"A{row}"] = text
        else:
            formulas[f"A{row}:{get_column_letter(width)}{row + height - 1}"] = f"{{{text}}}"
        read.append((row, (height, width)))
        row += used + 1
    calc.do("open")
    calc.do("fill", cells=cells)
    calc.do("fill", cells=formulas)
    found = []
    for top, (height, width) in read:
        addresses = [
            [f"{get_column_letter(across + 1)}{top + down}" for across in range(width)]
            for down in range(height)
        ]
        flat = iter(calc.do("shown", addresses=[one for line in addresses for one in line]))
        rows = [[next(flat) for _ in line] for line in addresses]
        found.append(_words(_scalar(rows)))
    return found


def _constant(argument):
    if argument is OMITTED or argument is None:
        return ""
    if isinstance(argument, bool):
        return f"{str(argument).upper()}()"
    if isinstance(argument, str):
        doubled = argument.replace('"', '""')
        return f'"{doubled}"'
    return f"{argument:.15g}"


def _calc_value(value):
    if isinstance(value, ErrorCell):
        return _MAKES[value.text]
    if isinstance(value, bool):
        return f"={str(value).upper()}()"
    if value == "":
        return '=""'
    if isinstance(value, date):
        return serial(value)
    return float(value) if isinstance(value, Decimal) else value


def _without_omitted(given):
    given = list(given)
    while given and given[-1] is OMITTED:
        given.pop()
    return given


def _scalar(result):
    while isinstance(result, list | tuple) and len(result) == 1:
        result = result[0]
    return result


def _words(result):
    """A result with errors as their first word; rows as lists, and an empty cell as ""."""
    if isinstance(result, list | tuple):
        return [_words(one) for one in result]
    if isinstance(result, dict):
        return result["error"]
    if isinstance(result, str) and result.startswith("#"):
        return result.partition(" ")[0]
    if isinstance(result, float | int) and not isinstance(result, bool):
        return float(f"{result:.15g}")
    return "" if result is None else result


HOSTS = [in_python, through_xlwings, through_office_js, through_calc]
REAL_ERRORS = {through_office_js, through_calc}
"""The hosts whose cells hold errors of the spreadsheet, instead of texts."""
