"""The sheet of order lines: each with rate, tax and what to know; totals beside what they lack."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.excel.workbook.cells import Button, Choice, Formula, Rule, Sheet, Table
from svc_tools.excel.workbook.layout import ORDERS, ORDERS_TABLE, ROUNDING
from svc_tools.excel.workbook.looks import TAB
from svc_tools.excel.workbook.rules import error_rule, partial_rule, state_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.excel.workbook.hosts import Host

__all__ = ["EXAMPLES", "orders_sheet"]

EXAMPLES: tuple[tuple[str, date, str, str | int, Decimal], ...] = (
    ("EX-1001", date(2026, 3, 5), "CA", "94105", Decimal("1240.00")),
    ("EX-1002", date(2026, 3, 6), "OH", "43215", Decimal("89.99")),
    ("EX-1003", date(2026, 5, 12), "GA", "30303", Decimal("430.50")),
    ("EX-1004", date(2026, 6, 2), "MN", "55401", Decimal("1999.95")),
    ("EX-1005", date(2026, 8, 5), "NC", "27601", Decimal("56.40")),
    ("EX-1006", date(2026, 8, 11), "NY", "10001", Decimal("310.00")),
    ("EX-1007", date(2026, 8, 11), "MA", 2134, Decimal("4.00")),
    ("EX-1008", date(2026, 8, 11), "OR", "97201", Decimal("120.00")),
    ("EX-1009", date(2026, 8, 11), "New Jersey", "07030-5802", Decimal("18.75")),
    ("EX-1010", date(2026, 8, 12), "PA", "19103", Decimal("-45.00")),
    ("EX-1011", date(2026, 8, 12), "CO", "80202", Decimal("212.00")),
    ("EX-1012", date(2026, 8, 12), "CA", "98101", Decimal("75.00")),
)
"""Made-up lines with what real ones have: a ZIP that lost its zero, a state by its name, a credit,
a state without a sales tax, a rate that lacks its local part, and a ZIP of another state."""
_MARK = "EX-"
_EMPTY_ROWS = 8

_LOOKS = {
    "Order": "typed_text",
    "Date": "typed_day",
    "State": "typed_text",
    "ZIP": "typed_text",
    "Amount": "typed_money",
    "Rate": "shown_rate",
    "Tax": "shown_money",
    "Status": "shown",
    "Confidence": "shown",
    "What to know": "shown",
}
_HEADINGS = tuple(_LOOKS)
_HEAD_ROW = 8
_RIGHT = {"Amount", "Rate", "Tax"}


def _cell(heading: str) -> str:
    return f"{ORDERS_TABLE}[[#This Row],[{heading}]]"


def _all(heading: str) -> str:
    return f"{ORDERS_TABLE}[{heading}]"


_PLACE = f"{_cell('State')},{_cell('ZIP')},{_cell('Date')}"
_FORMULAS = {
    "Rate": Formula(f"=SVC_RATE({_PLACE})"),
    "Tax": Formula(f"=SVC_TAX({_cell('Amount')},{_PLACE},{ROUNDING})"),
    "Status": Formula(f"=SVC_STATUS({_PLACE})"),
    "Confidence": Formula(f"=SVC_CONFIDENCE({_PLACE})"),
    "What to know": Formula(f"=SVC_WARNINGS({_PLACE})"),
}
# amounts that no formula taxes: in a row without any, or below the table, where no total looks
_BARE = f"SUMPRODUCT(--NOT(ISBLANK({_all('Amount')})),--ISBLANK({_all('Tax')}))"
_BELOW = f"(COUNTA($E${_HEAD_ROW}:$E$1048576)-1-COUNTA({_all('Amount')}))"
# neither a figure nor empty: errors, whether they are texts or the spreadsheet's own
_WRONG = f"ROWS({_all('Tax')})-COUNT({_all('Tax')})-COUNTBLANK({_all('Tax')})"
_NO_TAX = f"{_WRONG}+{_BARE}+{_BELOW}"
_TOTAL = f"=IF({_BARE}+{_BELOW}>0,NA(),SVC_SUM({_all('Tax')}))"
_PARTIAL = f'COUNTIF({_all("Tax")},"#PARTIAL")'
_UNTAXED = f'SUMPRODUCT(--({_all("ZIP")}<>""),--({_all("Amount")}=""))'
# SUM of real errors is one; SUMIF passes over them, as the sentence around it says
_WITH_TAX = f'TEXT(ROUND(SUMIF({_all("Tax")},">=-1E+99"),2),"#,##0.00")'
_LOW = f'COUNTIF({_all("Confidence")},"low")'
_VERDICT = (
    f'=IF(H5=0,IF(COUNT({_all("Tax")})=0,"No lines yet.","Every amount has its tax."),'
    'H5&IF(H5=1," line has"," lines have")&" no tax, so there is no total of the tax. The others'
    f' come to "&{_WITH_TAX}&": a part, not the total. See the column What to know.")'
    f'&IF({_BARE}>0," "&{_BARE}&IF({_BARE}=1," line has"," lines have")'
    '&" an amount but no formula: fill the formulas down.","")'
    f'&IF({_BELOW}>0," "&{_BELOW}&IF({_BELOW}=1," amount stands"," amounts stand")'
    '&" below the table: move the lines into it.","")'
    '&IF(I5>0," "&I5&IF(I5=1," rate lacks"," rates lack")&" a local part (#PARTIAL).","")'
    f'&IF({_LOW}>0," "&{_LOW}&IF({_LOW}=1," rate has"," rates have")'
    '&" a low confidence: look at the line.","")'
    f'&IF({_UNTAXED}>0," "&{_UNTAXED}&IF({_UNTAXED}=1," line has"," lines have")'
    '&" a ZIP but no amount.","")'
    f'&IF(COUNTIF({_all("Order")},"{_MARK}*")>0," Examples are still among the lines.","")'
)


def _formulas(host: Host) -> dict[str, Formula]:
    if not host.empty_is_zero:
        return _FORMULAS
    amount, taxed = _cell("Amount"), _FORMULAS["Tax"].text.removeprefix("=")
    return _FORMULAS | {"Tax": Formula(f'=IF({amount}="","",{taxed})')}


def orders_sheet(host: Host, *, example: bool) -> Sheet:
    """The sheet, with the example lines or without any."""
    lines = EXAMPLES if example else ()
    formulas = _formulas(host)
    last = _HEAD_ROW + len(lines) + _EMPTY_ROWS
    sheet = Sheet(
        ORDERS,
        (13, 13, 13, 13, 14, 14, 14, 14, 14, 88),
        TAB[ORDERS],
        frozen=f"A{_HEAD_ROW + 1}",
        repeated=_HEAD_ROW,
        landscape=True,
        as_text=[f"A{_HEAD_ROW + 1}:D{last}"],
    )
    _top(sheet, host)
    if host.macros:
        sheet.buttons += [
            Button("J1", "Refresh rates", "SVC_REFRESH"),
            Button("J1", "Freeze cells", "SVC_FREEZE", shift=130),
        ]
    for column, heading in zip("ABCDEFGHIJ", _HEADINGS, strict=True):
        sheet.put(f"{column}{_HEAD_ROW}", heading, "head_right" if heading in _RIGHT else "head")
    for row in range(_HEAD_ROW + 1, last + 1):
        place = row - _HEAD_ROW - 1
        _line(sheet, row, lines[place] if place < len(lines) else (), formulas)
    area = f"A{_HEAD_ROW}:J{last}"
    sheet.tables.append(Table(ORDERS_TABLE, area, _HEADINGS, formulas))
    _rules(sheet, last)
    return sheet


def _top(sheet: Sheet, host: Host) -> None:
    """The totals, each above its column."""
    more = "Type or paste below the last line: formulas and totals come along."
    if not host.spills:  # a table that does not grow by itself
        more = "For more lines insert rows above the last one, and fill the formulas down."
    sheet.put("A1", "Orders", "title")
    sheet.put(
        "A2",
        "One line each: yellow cells are yours, the others are computed. A line takes the rate of"
        f" its own date. {more}",
        "muted",
    )
    sheet.heights |= {1: 30, 5: 22, 6: 36, _HEAD_ROW: 20}
    for at, label in (("A4", "Lines"), ("C4", "Rounding"), ("H4", "Without tax")):
        sheet.put(at, label, "label_right" if at == "H4" else "label")
    sheet.put("E4", "Amount", "label_right")
    sheet.put("G4", "Tax", "label_right")
    sheet.put("I4", "of them partial", "label_right")
    sheet.put("J4", "Where the rates are from", "label")
    sheet.put("A5", Formula(f"=COUNTA({_all('Amount')})"), "total_count_left")
    sheet.put("B5", None, "total")
    sheet.put("C5", "half_up", "typed_text")
    sheet.put("D5", None, "total")
    sheet.put("E5", Formula(f"=SVC_SUM({_all('Amount')})"), "total_money")
    sheet.put("F5", None, "total")
    sheet.put("G5", Formula(_TOTAL), "total_money")
    sheet.put("H5", Formula(f"={_NO_TAX}"), "total_count")
    sheet.put("I5", Formula(f"={_PARTIAL}"), "total_count")
    sheet.put("J5", Formula("=SVC_SOURCE()"), "total_text")
    sheet.put("A6", Formula(_VERDICT), "verdict", to="J6")
    sheet.names[ROUNDING] = "C5"
    sheet.choices.append(
        Choice(
            "C5",
            ("half_up", "half_even", "up", "down"),
            "Rounding",
            "half_up, half_even, up or down is expected. Keep it as it is?",
        )
    )


def _line(
    sheet: Sheet, row: int, given: tuple[object, ...], formulas: Mapping[str, Formula]
) -> None:
    for place, (column, heading) in enumerate(zip("ABCDEFGHIJ", _HEADINGS, strict=True)):
        value = given[place] if place < len(given) else None
        if heading in formulas:
            value = formulas[heading]
        elif isinstance(value, Decimal):
            value = float(value)
        sheet.put(f"{column}{row}", value, _LOOKS[heading])  # type: ignore[arg-type]


def _rules(sheet: Sheet, last: int) -> None:
    first = _HEAD_ROW + 1
    sheet.rules += [
        partial_rule(f"F{first}:G{last}", f"F{first}"),
        error_rule(f"E5:G{last}", "E5"),
        Rule("H5:I5", "=IF(ISERROR(H5),TRUE,H5>0)", "is_error"),
        Rule("A6:J6", "=IF(ISERROR($H$5),TRUE,$H$5>0)", "is_error"),
        Rule("A6:J6", '=NOT(ISERROR(SEARCH("no amount",$A$6)))', "is_partial"),
        Rule("A6:J6", "=COUNT($G$5)>0", "is_good"),
        Rule(f"H{first}:H{last}", f'=$H{first}="partial"', "is_partial"),
        error_rule(f"H{first}:I{last}", f"H{first}"),
        Rule(
            f"H{first}:H{last}",
            f'=AND($H{first}<>"",$H{first}<>"ok")',
            "is_error",
        ),
        Rule(f"I{first}:I{last}", f'=$I{first}="low"', "is_low"),
    ]
    sheet.choices.append(state_choice(f"C{first}:C{last}"))
