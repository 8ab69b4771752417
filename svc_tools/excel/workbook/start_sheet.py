"""The first sheet: what the workbook is, three steps, what cells mean, macros and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.workbook.cells import Button, Formula, Sheet
from svc_tools.excel.workbook.layout import AS_OF, LOOKUP, NEXUS, ORDERS, START
from svc_tools.excel.workbook.looks import TAB
from svc_tools.excel.workbook.rules import error_rule
from svc_tools.excel.workbook.words import ERROR_SAMPLES, MACROS, REAL_ERRORS, SAMPLES, Sample

if TYPE_CHECKING:
    from svc_tools.excel.workbook.hosts import Host

__all__ = ["start_sheet"]


def start_sheet(host: Host) -> Sheet:
    """The sheet in the words of one spreadsheet."""
    sheet = Sheet(START, (5, 27, 92), TAB[START])
    sheet.heights |= {1: 34, 2: 36}
    sheet.put("A1", "Sales tax in this workbook", "title")
    example = '=SVC_RATE("NY", 10001, SVC_AS_OF)'
    sheet.put(
        "A2",
        f"Rates and tax come from formulas such as {example}. They are asked for once, however many"
        " cells use them, and stay the same until you refresh. Each rate has its day; a cell that"
        " has none says why, and no total passes over it in silence.",
        "lead",
        to="C2",
    )
    row = _steps(sheet, host, 4)
    row = _sheets(sheet, row + 1)
    row = _sources(sheet, host, row + 1)
    row = _meanings(sheet, host, row + 1)
    if host.macros:
        row = _macros(sheet, row + 1)
    _functions(sheet, row + 1)
    return sheet


def _section(sheet: Sheet, row: int, title: str) -> int:
    sheet.put(f"A{row}", title, "section", to=f"C{row}")
    sheet.heights |= {row: 24, row + 1: 6}
    return row + 2


def _lines(text: str, width: int = 104) -> int:
    """Into how many lines a text breaks, on the safe side."""
    return -(-len(text) // width)


def _text(sheet: Sheet, row: int, text: str, *, least: int = 1, look: str = "wrapped") -> None:
    sheet.put(f"C{row}", text, look)
    sheet.heights[row] = 6 + 15 * max(least, _lines(text))


def _steps(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "Three steps")
    for number, step in enumerate(host.steps, 1):
        sheet.put(f"A{row}", number, "number")
        sheet.put(f"B{row}", step.title, "strong_top")
        _text(sheet, row, step.text, least=3 if step.button else 1)
        if step.button:
            caption, macro = step.button
            sheet.buttons.append(Button(f"B{row}", caption, macro, shift=4, width=150, drop=24))
        row += 1
    return row


def _sheets(sheet: Sheet, row: int) -> int:
    row = _section(sheet, row, "The sheets")
    for name, text in (
        (LOOKUP, "One place on one day: its rate, the parts, how sure, what to know."),
        (ORDERS, "Order lines with rate and tax, totals beside the number of lines without a tax."),
        (NEXUS, "Where the account is registered, and the cleanup of the register."),
    ):
        sheet.put(f"B{row}", f"internal:'{name}'!A1|{name}", "link")
        _text(sheet, row, text)
        row += 1
    return row


def _sources(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "Where the figures are from")
    for label, formula, look in (
        ("Who answers", "=SVC_SOURCE()", "fact"),
        ("Oldest answer (UTC)", "=SVC_ASOF()", "fact"),
        ("The day, SVC_AS_OF", f"={AS_OF}", "fact_day"),
    ):
        sheet.put(f"B{row}", label, "strong_top")
        sheet.put(f"C{row}", Formula(formula), look)
        sheet.rules.append(error_rule(f"C{row}", f"$C${row}"))
        row += 1
    _text(
        sheet,
        row,
        f"Rates are asked for anew by {host.refresh} only. In a viewer that does not compute, or"
        " before the first computation, the cells of formulas are empty.",
    )
    return row + 1


def _meanings(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "What the cells say")
    unset = Sample(host.unset, "error_sample", "The functions are not known here yet: see above.")
    errors = ERROR_SAMPLES if host.macros else REAL_ERRORS
    for value, look, text in (*SAMPLES, *errors, unset):
        sheet.put(f"B{row}", value, look)
        _text(sheet, row, text, look="explained")
        sheet.heights[row + 1] = 3
        row += 2
    return row


def _macros(sheet: Sheet, row: int) -> int:
    row = _section(sheet, row, "The macros")
    sheet.put(
        f"B{row}",
        "Run them with the buttons on the sheets, or with Alt+F8. None runs by itself.",
        "muted",
    )
    row += 1
    for name, text in MACROS.items():
        sheet.put(f"B{row}", name, "code")
        _text(sheet, row, text)
        if name in {"SVC_REFRESH", "SVC_FREEZE"}:
            sheet.heights[row] = max(sheet.heights[row], 36)
        row += 1
    return row


def _functions(sheet: Sheet, row: int) -> int:
    row = _section(sheet, row, "The functions")
    for one in FUNCTIONS:
        sheet.put(f"B{row}", one.name, "code")
        arguments = one.signature.removeprefix(one.name)
        _text(sheet, row, f"{arguments}  {one.help}")
        row += 1
    return row
