"""The sheets of the workbook: Start, Lookup, Orders and Nexus, for any host.

Start explains the workbook: first steps, the meaning of cells, macros and functions. Lookup shows
one place with all that is known of its rate. Orders has a rate, tax and warnings for each line, and
totals next to the number of lines without tax. Nexus shows the register and, for hosts with macros,
its cleanup in steps that the user takes.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import PARTIAL
from svc_tools.excel.workbook.writing import (
    ADD,
    AS_OF,
    FROZEN,
    LOOKUP,
    NEXUS,
    NEXUS_COLUMNS,
    NEXUS_HEADINGS,
    NEXUS_MARKS,
    NEXUS_MESSAGE,
    ORDERS,
    ORDERS_TABLE,
    ROUNDING,
    START,
    TAB,
    Button,
    Choice,
    Formula,
    Rule,
    Sheet,
    Table,
    error_rule,
    partial_rule,
    state_choice,
    type_choice,
)
from svc_tools.frames.lookup_columns import COLUMN_MEANINGS
from svc_tools.nexus.notices import BEFORE_REMOVING, NOT_TICKED_NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.excel.workbook.writing import Host


def start_sheet(host: Host) -> Sheet:
    """The sheet that explains the workbook."""
    sheet = Sheet(START, (5, 27, 92), TAB[START])
    sheet.heights |= {1: 34, 2: 36}
    sheet.put("A1", "Sales tax in this workbook", "title")
    example = '=SVC_RATE("NY", 10001, SVC_AS_OF)'
    sheet.put(
        "A2",
        f"Rates and tax come from formulas such as {example}. Each place is looked up once,"
        " however many cells use it, and its rate stays the same until you refresh. Each rate has"
        " its day; a cell without one shows why, and no total skips it silently.",
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


def _text(sheet: Sheet, row: int, text: str, *, least: int = 1, look: str = "wrapped") -> None:
    sheet.put(f"C{row}", text, look)
    sheet.heights[row] = 6 + 15 * max(least, _lines(text))


def _lines(text: str, width: int = 104) -> int:
    """An upper bound for the number of lines of a wrapped text."""
    return -(-len(text) // width)


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
        (LOOKUP, "One place on one day: its rate, the parts, the confidence, and warnings."),
        (
            ORDERS,
            "Order lines with rate and tax, and totals next to the number of lines without tax.",
        ),
        (NEXUS, "Where the account is registered, and the cleanup of the register."),
    ):
        sheet.put(f"B{row}", f"internal:'{name}'!A1|{name}", "link")
        _text(sheet, row, text)
        row += 1
    return row


def _sources(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "Source of the figures")
    for label, formula, look in (
        ("Service", "=SVC_SOURCE()", "fact"),
        ("Oldest lookup (UTC)", "=SVC_ASOF()", "fact"),
        ("The day, SVC_AS_OF", f"={AS_OF}", "fact_day"),
    ):
        sheet.put(f"B{row}", label, "strong_top")
        sheet.put(f"C{row}", Formula(formula), look)
        sheet.rules.append(error_rule(f"C{row}", f"$C${row}"))
        row += 1
    _text(
        sheet,
        row,
        f"Only {host.refresh} looks rates up again. In a viewer that does not compute, or"
        " before the first computation, the cells of formulas are empty.",
    )
    return row + 1


def _meanings(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "What the cells show")
    errors = _ERROR_TEXTS if host.macros else _ERROR_VALUES
    for value, look, text in (*_SAMPLES, *errors, _NOT_LOADED):
        sheet.put(f"B{row}", value, look)
        _text(sheet, row, text, look="explained")
        sheet.heights[row + 1] = 3
        row += 2
    return row


class _Sample(NamedTuple):
    """What a cell may show, and its meaning; `look` is a key of `LOOKS`."""

    shown: str | float
    look: str
    text: str


_SAMPLES = (
    _Sample("Texas", "typed_sample", "Yellow: a cell for you to type in."),
    _Sample(
        0.08625,
        "rate_sample",
        "A rate with all its digits: 8.625% is the fraction 0.08625. 0.000% is a rate of zero; an"
        " unknown rate never looks like one.",
    ),
    _Sample("(empty)", "muted_sample", "The line is empty: nothing was looked up."),
    _Sample(
        PARTIAL,
        "partial_sample",
        "The result lacks the local or district part of the rate. A street address may give the"
        ' complete rate; "partial" as the last argument accepts the known part.',
    ),
    _Sample(
        "review",
        "partial_sample",
        "There is a rate, and it requires review: another date, several rates, a low confidence.",
    ),
    _Sample("low", "low_sample", "A low confidence: check the line before you rely on its rate."),
)
"""What cells may show in every host."""
_ERROR_TEXTS = (
    _Sample(
        "#UNRESOLVED …",
        "error_sample",
        "The service does not know the place, or not in that state. The text says more.",
    ),
    _Sample(
        "#INVALID …",
        "error_sample",
        "An argument cannot be used: a date with two meanings, an amount with a fraction of a cent."
        " The text says what is expected.",
    ),
    _Sample("#UNSUPPORTED …", "error_sample", "The service does not cover it."),
    _Sample(
        "#FAILED …",
        "error_sample",
        "No response: the network, the key, the plan. Compute again in a minute, or refresh.",
    ),
    _Sample(
        "#NOT_ATTEMPTED …",
        "error_sample",
        "Not looked up yet, because an earlier failure concerns all of them. Compute again in a"
        " minute, or refresh.",
    ),
)
"""Errors of hosts where they are texts."""
_ERROR_VALUES = (
    _Sample("#N/A", "error_sample", "There is no result. =SVC_STATUS(…) shows the status."),
    _Sample(
        "#VALUE!",
        "error_sample",
        "An argument cannot be used. =SVC_WARNINGS(…) says what is expected.",
    ),
    _Sample("Err:504", "error_sample", "An argument is an error itself: fix that cell first."),
)
"""Errors of hosts where they are error values."""
_NOT_LOADED = _Sample("#NAME?", "error_sample", "The functions are not set up here yet: see above.")


def _macros(sheet: Sheet, row: int) -> int:
    row = _section(sheet, row, "The macros")
    sheet.put(
        f"B{row}",
        "Run them with the buttons on the sheets, or with Alt+F8. They never run by themselves.",
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


MACROS = {
    "SVC_REFRESH": "Looks up every place in use again, recalculates the workbook and reports how"
    " many rates changed. Recalculation alone looks nothing up twice.",
    "SVC_FREEZE": "Replaces the formulas of the selected cells, or of the whole workbook, by their"
    f" values; the sheet {FROZEN} notes their source and date. Cells without a rate stay formulas"
    " and are listed. The formulas do not come back: keep a copy of the workbook.",
    "SVC_NEXUS_LIST": f"Fills the sheet {NEXUS} with the register and the suggestions of a plan.",
    "SVC_NEXUS_PREVIEW": "Shows the exact requests for the marked rows. Sends none of them.",
    "SVC_NEXUS_REMOVE": "Removes the ticked records after your confirmation; each request is"
    " recorded in a receipt.",
    "SVC_NEXUS_ADD": f"Adds the rows marked {ADD} after your confirmation, with a receipt, too.",
    "SVC_NEXUS_RESTORE": "Undoes a receipt: adds what was removed, removes what was added.",
}
"""The macros of the workbook and what each does."""


def _functions(sheet: Sheet, row: int) -> int:
    row = _section(sheet, row, "The functions")
    for one in FUNCTIONS:
        sheet.put(f"B{row}", one.name, "code")
        arguments = one.signature.removeprefix(one.name)
        _text(sheet, row, f"{arguments}  {one.help}")
        row += 1
    return row


_QUERY_COLUMNS = ("state", "zip", "address", "city", "place", "as_of")
_FIELDS = (
    "state_rate",
    "county_rate",
    "city_rate",
    "combined_district_rate",
    "rate_low",
    "rate_high",
    "confidence",
    "warnings",
    "lookup_review_reason",
    "as_of_status",
    "resolved_via",
    "resolved_city",
    "resolved_county",
    "effective_date",
    "lookup_source",
    "lookup_edition",
    "looked_up_at",
)
_TALL_FIELDS = {"warnings", "lookup_review_reason", "lookup_source"}
_PLACES = (("NC", "27601"), ("NJ", "07030"), ("LA", "70112"))
_EMPTY_LOOKUP_ROWS = 4
_QUERY_CELLS = "$A$5:$F$6"
_FIRST_FIELD = 12


def lookup_sheet(host: Host, as_of: date) -> Sheet:
    """The sheet for one place, with the given day in the cell SVC_AS_OF."""
    sheet = Sheet(LOOKUP, (27, 15, 34, 20, 24, 16), TAB[LOOKUP], pages=1, as_text=["B1:B60"])
    sheet.put("A1", "Look a place up", "title")
    sheet.put(
        "A2",
        "Type into the yellow cells: a state, and a ZIP, or a street address with its city or ZIP,"
        " or the name of a city or county. The cell of the day is named SVC_AS_OF; every formula"
        " without another date uses it. Keep it, and a closed month stays as it was.",
        "lead",
        to="F2",
    )
    sheet.heights |= {1: 30, 2: 36, 4: 24, 5: 20, 6: 22, 9: 34, 11: 20}
    sheet.put("A4", "The place and the day", "section", to="F4")
    for column, heading in zip("ABCDEF", _QUERY_COLUMNS, strict=True):
        sheet.put(f"{column}5", heading, "head")
    for column, value in zip("ABCDEF", ("NY", "10001", None, None, None, as_of), strict=True):
        sheet.put(f"{column}6", value, "typed_day" if column == "F" else "typed_text")
    sheet.names[AS_OF] = "F6"
    _result(sheet)
    _places(sheet)
    if host.macros:
        sheet.buttons += [
            Button("E1", "Refresh rates", "SVC_REFRESH", shift=20),
            Button("E1", "Freeze cells", "SVC_FREEZE", shift=150),
        ]
    return sheet


def _result(sheet: Sheet) -> None:
    sheet.put("A8", "Combined rate", "label")
    sheet.put("C8", "Status", "label")
    sheet.put("A9", Formula(f'=SVC_LOOKUP({_QUERY_CELLS},"combined_rate")'), "big_rate", to="B9")
    sheet.put("C9", Formula(f'=SVC_LOOKUP({_QUERY_CELLS},"lookup_status")'), "status")
    sheet.put("D9", Formula(f'=SVC_LOOKUP({_QUERY_CELLS},"lookup_error")'), "lead", to="F9")
    sheet.rules += [
        error_rule("A9:C9", "$A$9"),
        Rule("C9", '=$C$9="ok"', "is_good"),
        Rule("C9", '=$C$9="partial"', "is_partial"),
    ]
    sheet.put("A11", "Field", "head")
    sheet.put("B11", "Value", "head", to="C11")
    sheet.put("D11", "Meaning", "head", to="F11")
    last = _FIRST_FIELD + len(_FIELDS) - 1
    for row, field in enumerate(_FIELDS, _FIRST_FIELD):
        sheet.put(f"A{row}", field, "field_name")
        value = Formula(f"=SVC_LOOKUP({_QUERY_CELLS},$A{row})")
        sheet.put(f"B{row}", value, "field_rate" if "rate" in field else "field", to=f"C{row}")
        sheet.put(f"D{row}", COLUMN_MEANINGS[field], "field_meaning", to=f"F{row}")
        sheet.heights[row] = 34 if field in _TALL_FIELDS else 19
    sheet.put(
        f"A{last + 1}",
        "Any other field can be named in the first column; =SVC_FIELDS() lists them all.",
        "muted",
    )
    sheet.rules += [
        error_rule(f"B{_FIRST_FIELD}:C{last}", f"$B{_FIRST_FIELD}"),
        Rule(f"B{_FIRST_FIELD}:C{last}", f'=$B{_FIRST_FIELD}="low"', "is_low"),
    ]


def _places(sheet: Sheet) -> None:
    """The rates of more places on the same day."""
    top = _FIRST_FIELD + len(_FIELDS) + 2
    sheet.put(f"A{top}", "Rates of more places on that day", "section", to=f"F{top}")
    head = top + 1
    for column, heading in zip("ABCD", ("State", "ZIP", "Rate", "Warnings"), strict=True):
        sheet.put(f"{column}{head}", heading, "head", to=f"F{head}" if column == "D" else "")
    sheet.heights |= {top: 24, head: 20}
    first, last = head + 1, head + len(_PLACES) + _EMPTY_LOOKUP_ROWS
    for row in range(first, last + 1):
        place = _PLACES[row - first] if row - first < len(_PLACES) else (None, None)
        sheet.put(f"A{row}", place[0], "typed_text")
        sheet.put(f"B{row}", place[1], "typed_text")
        query = f"$A{row},$B{row},{AS_OF}"
        sheet.put(f"C{row}", Formula(f"=SVC_RATE({query})"), "field_rate")
        sheet.put(f"D{row}", Formula(f"=SVC_WARNINGS({query})"), "field", to=f"F{row}")
        sheet.heights[row] = 30
    sheet.rules += [
        partial_rule(f"C{first}:C{last}", f"$C{first}"),
        error_rule(f"C{first}:D{last}", f"C{first}"),
    ]
    sheet.choices += [state_choice("A6"), state_choice(f"A{first}:A{last}")]


_MARK = "EX-"
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
    ("EX-1011", date(2026, 8, 12), "LA", "70112", Decimal("212.00")),
    ("EX-1012", date(2026, 8, 12), "CA", "98101", Decimal("75.00")),
)
"""Made-up lines with what real ones have: a ZIP that lost its leading zero, a state by its name, a
credit, a state without sales tax, a partial rate, and a ZIP of another state."""
_EMPTY_ORDER_ROWS = 8
_ORDER_HEAD = 8
_ORDER_LOOKS = {
    "Order": "typed_text",
    "Date": "typed_day",
    "State": "typed_text",
    "ZIP": "typed_text",
    "Amount": "typed_money",
    "Rate": "shown_rate",
    "Tax": "shown_money",
    "Status": "shown",
    "Confidence": "shown",
    "Warnings": "shown",
}
_ORDER_COLUMNS = tuple(_ORDER_LOOKS)
_RIGHT = {"Amount", "Rate", "Tax"}


def _column(heading: str) -> str:
    return f"{ORDERS_TABLE}[{heading}]"


def _this_row(heading: str) -> str:
    return f"{ORDERS_TABLE}[[#This Row],[{heading}]]"


_PLACE = f"{_this_row('State')},{_this_row('ZIP')},{_this_row('Date')}"
_ORDER_FORMULAS = {
    "Rate": Formula(f"=SVC_RATE({_PLACE})"),
    "Tax": Formula(f"=SVC_TAX({_this_row('Amount')},{_PLACE},{ROUNDING})"),
    "Status": Formula(f"=SVC_STATUS({_PLACE})"),
    "Confidence": Formula(f"=SVC_CONFIDENCE({_PLACE})"),
    "Warnings": Formula(f"=SVC_WARNINGS({_PLACE})"),
}
# amounts without a tax formula: in a row where it was cleared, or below the table
_BARE = f"SUMPRODUCT(--NOT(ISBLANK({_column('Amount')})),--ISBLANK({_column('Tax')}))"
_BELOW = f"(COUNTA($E${_ORDER_HEAD}:$E$1048576)-1-COUNTA({_column('Amount')}))"
# neither a number nor empty: errors, both texts and error values
_WRONG = f"ROWS({_column('Tax')})-COUNT({_column('Tax')})-COUNTBLANK({_column('Tax')})"
_NO_TAX = f"{_WRONG}+{_BARE}+{_BELOW}"
# Calc shows Err:504 where a function of an add-in reads an error in a range: test for errors first
_TOTAL = f"=IF(H5>0,NA(),SVC_SUM({_column('Tax')}))"
_AMOUNT = f"=IF(SUMPRODUCT(--ISERROR({_column('Amount')}))>0,NA(),SVC_SUM({_column('Amount')}))"
_PARTIAL = f'COUNTIF({_column("Tax")},"#PARTIAL")'
_UNTAXED = f'SUMPRODUCT(--({_column("ZIP")}<>""),--({_column("Amount")}=""))'
# unlike SUM, SUMIF skips error values; the sentence around it says so
_WITH_TAX = f'TEXT(ROUND(SUMIF({_column("Tax")},">=-1E+99"),2),"#,##0.00")'
_TO_REVIEW = f'COUNTIF({_column("Status")},"review")'
_VERDICT = (
    f'=IF(H5=0,IF(COUNT({_column("Tax")})=0,"No lines yet.","Every amount has its tax."),'
    'H5&IF(H5=1," line has"," lines have")&" no tax, so there is no total of the tax. The others'
    f' come to "&{_WITH_TAX}&": a part, not the total. See the column Warnings.")'
    f'&IF({_BARE}>0," "&{_BARE}&IF({_BARE}=1," line has"," lines have")'
    '&" an amount but no formula: fill the formulas down.","")'
    f'&IF({_BELOW}>0," "&{_BELOW}&IF({_BELOW}=1," amount stands"," amounts stand")'
    '&" below the table: move the lines into it.","")'
    '&IF(I5>0," "&I5&IF(I5=1," rate lacks"," rates lack")&" a local part (#PARTIAL).","")'
    '&IF(F5>0," "&F5&IF(F5=1," rate requires"," rates require")&" review: see Warnings.","")'
    f'&IF({_UNTAXED}>0," "&{_UNTAXED}&IF({_UNTAXED}=1," line has"," lines have")'
    '&" a ZIP but no amount.","")'
    f'&IF(COUNTIF({_column("Order")},"{_MARK}*")>0," Examples are still among the lines.","")'
)


def orders_sheet(host: Host, *, example: bool) -> Sheet:
    """The sheet of order lines, with the example lines or empty."""
    lines = EXAMPLES if example else ()
    formulas = _order_formulas(host)
    last = _ORDER_HEAD + len(lines) + _EMPTY_ORDER_ROWS
    sheet = Sheet(
        ORDERS,
        (13, 13, 13, 13, 14, 14, 14, 14, 14, 88),
        TAB[ORDERS],
        frozen=f"A{_ORDER_HEAD + 1}",
        repeated=_ORDER_HEAD,
        landscape=True,
        as_text=[f"A{_ORDER_HEAD + 1}:D{last}"],
    )
    _totals(sheet, host)
    if host.macros:
        sheet.buttons += [
            Button("J1", "Refresh rates", "SVC_REFRESH"),
            Button("J1", "Freeze cells", "SVC_FREEZE", shift=130),
        ]
    for column, heading in zip("ABCDEFGHIJ", _ORDER_COLUMNS, strict=True):
        sheet.put(f"{column}{_ORDER_HEAD}", heading, "head_right" if heading in _RIGHT else "head")
    for row in range(_ORDER_HEAD + 1, last + 1):
        place = row - _ORDER_HEAD - 1
        _order_line(sheet, row, lines[place] if place < len(lines) else (), formulas)
    area = f"A{_ORDER_HEAD}:J{last}"
    sheet.tables.append(Table(ORDERS_TABLE, area, _ORDER_COLUMNS, formulas))
    _order_rules(sheet, last)
    return sheet


def _order_formulas(host: Host) -> dict[str, Formula]:
    if not host.empty_is_zero:
        return _ORDER_FORMULAS
    amount, taxed = _this_row("Amount"), _ORDER_FORMULAS["Tax"].text.removeprefix("=")
    return _ORDER_FORMULAS | {"Tax": Formula(f'=IF({amount}="","",{taxed})')}


def _totals(sheet: Sheet, host: Host) -> None:
    """The title, and the totals, each above its column."""
    more = "Type or paste below the last line: the table and its totals grow."
    if not host.spills:  # where tables do not grow by themselves
        more = "For more lines insert rows above the last one, and fill the formulas down."
    sheet.put("A1", "Orders", "title")
    sheet.put(
        "A2",
        "One line each: type into the yellow cells, the others are computed. A line has the rate of"
        f" its date. {more}",
        "muted",
    )
    sheet.heights |= {1: 30, 5: 22, 6: 36, _ORDER_HEAD: 20}
    for at, label in (("A4", "Lines"), ("C4", "Rounding"), ("H4", "Without tax")):
        sheet.put(at, label, "label_right" if at == "H4" else "label")
    sheet.put("E4", "Amount", "label_right")
    sheet.put("F4", "To review", "label_right")
    sheet.put("G4", "Tax", "label_right")
    sheet.put("I4", "of them partial", "label_right")
    sheet.put("J4", "Source of the rates", "label")
    sheet.put("A5", Formula(f"=COUNTA({_column('Amount')})"), "total_count_left")
    sheet.put("B5", None, "total")
    sheet.put("C5", "half_up", "typed_text")
    sheet.put("D5", None, "total")
    sheet.put("E5", Formula(_AMOUNT), "total_money")
    sheet.put("F5", Formula(f"={_TO_REVIEW}"), "total_count")
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
            "half_up, half_even, up or down is expected. Use it anyway?",
        )
    )


def _order_line(
    sheet: Sheet, row: int, given: tuple[object, ...], formulas: Mapping[str, Formula]
) -> None:
    for place, (column, heading) in enumerate(zip("ABCDEFGHIJ", _ORDER_COLUMNS, strict=True)):
        value = given[place] if place < len(given) else None
        if heading in formulas:
            value = formulas[heading]
        elif isinstance(value, Decimal):
            value = float(value)
        sheet.put(f"{column}{row}", value, _ORDER_LOOKS[heading])  # type: ignore[arg-type]


def _order_rules(sheet: Sheet, last: int) -> None:
    first = _ORDER_HEAD + 1
    sheet.rules += [
        partial_rule(f"F{first}:G{last}", f"F{first}"),
        error_rule(f"E5:G{last}", "E5"),
        Rule("F5", "=IF(ISERROR(F5),FALSE,F5>0)", "is_partial"),
        Rule("H5:I5", "=IF(ISERROR(H5),TRUE,H5>0)", "is_error"),
        Rule("A6:J6", "=IF(ISERROR($H$5),TRUE,$H$5>0)", "is_error"),
        Rule("A6:J6", '=NOT(ISERROR(SEARCH("no amount",$A$6)))', "is_partial"),
        Rule("A6:J6", "=COUNT($G$5)>0", "is_good"),
        Rule(
            f"H{first}:H{last}",
            f'=OR($H{first}="partial",$H{first}="review")',
            "is_partial",
        ),
        error_rule(f"H{first}:I{last}", f"H{first}"),
        Rule(
            f"H{first}:H{last}",
            f'=AND($H{first}<>"",$H{first}<>"ok")',
            "is_error",
        ),
        Rule(f"I{first}:I{last}", f'=$I{first}="low"', "is_low"),
    ]
    sheet.choices.append(state_choice(f"C{first}:C{last}"))


_NEXUS_ROWS = 40
_MOST_NEXUS_ROWS = 500
_LISTED_ROWS = 199  # each state with each type, and some twice
_NEXUS_HEAD = 14
_WIDTHS = {
    "remove": 9,
    "state": 8,
    "type": 13,
    "registered_at": 14,
    "address": 25,
    "notes": 20,
    "decision": 12,
    "reason": 38,
    "evidence": 38,
    "outcome": 24,
    "receipt": 24,
}
_REGISTER_WIDTHS = (8, 13, 14, 26, 26)
_NEXUS_BUTTONS = (
    ("1 List the records", "SVC_NEXUS_LIST"),
    ("2 Preview", "SVC_NEXUS_PREVIEW"),
    ("3 Remove …", "SVC_NEXUS_REMOVE"),
    ("4 Add …", "SVC_NEXUS_ADD"),
    ("Undo …", "SVC_NEXUS_RESTORE"),
)
_STATUS = '=IF(C6="",SVC_NEXUS_STATUS(A6),SVC_NEXUS_STATUS(A6,C6))'
_NEXUS_LOOKS = {"remove": "typed_center", "registered_at": "shown_day"}
_OUTCOMES = {
    "is_error": (
        *("REMOVED ONLY", "refused", "still there", "not attempted", "unknown", "changed"),
        *("cannot be added", "there already"),
    ),
    "is_good": ("removed", "replaced", "restored", "gone", "absent", "added"),
    "is_partial": ("planned", "not marked"),
}
"""The looks of outcomes, by the words that they begin with (case matters)."""


def nexus_sheet(host: Host) -> Sheet:
    """The sheet of the nexus register; with its cleanup for hosts with macros."""
    widths: tuple[float, ...] = (9, 14, 15, 30, 30)
    if host.macros:
        widths = (*_WIDTHS.values(), 8, 8, 8, 8, 3, *_REGISTER_WIDTHS)
    sheet = Sheet(NEXUS, widths, TAB[NEXUS], landscape=True)
    sheet.heights |= {1: 30, 4: 24, 6: 20}
    sheet.put("A1", "Nexus", "title")
    sheet.put(
        "A2",
        "The account's register. Formulas only read it"
        + ("; nothing is removed unless you tick it and confirm." if host.macros else "."),
        "muted",
    )
    _status_of_state(sheet)
    if host.macros:
        _cleanup(sheet)
        _register(sheet, "QRSTU", _NEXUS_HEAD)
        sheet.printed = f"A1:K{_NEXUS_HEAD + _NEXUS_ROWS}"
    else:
        sheet.put(
            "A8",
            f"Records are removed with `svc-tools nexus` or on the panel, never in {host.name}.",
            "muted",
        )
        _register(sheet, "ABCDE", 12)
    return sheet


def _status_of_state(sheet: Sheet) -> None:
    """The registration status in one state."""
    sheet.put("A4", "Registered there?", "section", to="E4")
    for at, label in (("A5", "State"), ("C5", "Type (empty: any)"), ("E5", "Status")):
        sheet.put(at, label, "label")
    sheet.put("A6", "TX", "typed_text", to="B6")
    sheet.put("C6", None, "typed_text", to="D6")
    sheet.put("E6", Formula(_STATUS), "shown")
    sheet.choices += [
        state_choice("A6"),
        type_choice("C6"),
    ]
    sheet.rules.append(error_rule("E6", "$E$6"))


def _cleanup(sheet: Sheet) -> None:
    """The buttons, the message and the rows of the cleanup."""
    sheet.put("A8", "Clean up", "section", to="K8")
    for place, (caption, macro) in enumerate(_NEXUS_BUTTONS):
        sheet.buttons.append(Button("A9", caption, macro, shift=160 * place + 2, width=150))
    sheet.put(
        "A10",
        f"{NOT_TICKED_NOTE} Put an x next to the records to remove. To add one, type it into the"
        f" row below the last, with {ADD} in the first column. Then preview the exact requests, and"
        " send them. Each is recorded in a receipt that survives a crash.",
        to="K10",
        look="lead",
    )
    sheet.put("A11", " ".join(BEFORE_REMOVING), "warned", to="K11")
    sheet.put("A12", None, "message", to="K12")
    sheet.heights |= {9: 28, 10: 36, 11: 20, 12: 110}
    letters = "ABCDEFGHIJK"
    for column, heading in zip(letters, NEXUS_COLUMNS, strict=True):
        sheet.put(f"{column}{_NEXUS_HEAD}", heading, "head")
    for column, heading in zip("LMNO", NEXUS_MARKS, strict=True):
        sheet.put(f"{column}{_NEXUS_HEAD}", heading, "head_mark")
    first, last = _NEXUS_HEAD + 1, _NEXUS_HEAD + _NEXUS_ROWS
    for row in range(first, last + 1):
        for column, heading in zip(letters, NEXUS_COLUMNS, strict=True):
            sheet.put(f"{column}{row}", None, _NEXUS_LOOKS.get(heading, "shown_wrapped"))
    sheet.names |= {NEXUS_HEADINGS: f"A{_NEXUS_HEAD}:K{_NEXUS_HEAD}", NEXUS_MESSAGE: "A12"}
    last = _NEXUS_HEAD + _MOST_NEXUS_ROWS  # a register may have more rows than are formatted
    sheet.choices.append(
        Choice(
            f"A{first}:A{last}",
            ("x", "replace", ADD),
            "Remove or add",
            "x removes all records of this state and type; replace removes them and adds this one"
            f" again; {ADD} adds the record that you typed. Use what you typed anyway?",
        )
    )
    sheet.choices += [state_choice(f"B{first}:B{last}"), type_choice(f"C{first}:C{last}")]
    sheet.rules += [
        Rule(f"A{first}:F{last}", f'=$A{first}="{ADD}"', "is_good"),
        Rule(f"A{first}:C{last}", f'=$A{first}<>""', "is_ticked"),
        Rule(f"G{first}:G{last}", f'=$G{first}="candidate"', "is_good"),
        Rule(f"G{first}:G{last}", f'=OR($G{first}="review",$G{first}="missing")', "is_partial"),
        *(
            Rule(f"J{first}:J{last}", _begins(f"$J{first}", words), look)
            for look, words in _OUTCOMES.items()
        ),
    ]


def _begins(cell: str, words: tuple[str, ...]) -> str:
    tests = (f'EXACT(LEFT({cell},{len(word)}),"{word}")' for word in words)
    return f"=OR({','.join(tests)})"


def _register(sheet: Sheet, letters: str, head: int) -> None:
    """The register, listed with its headings by a formula."""
    left, right = letters[0], letters[-1]
    sheet.put(f"{left}{head - 2}", "The register now", "section", to=f"{right}{head - 2}")
    sheet.put(f"{left}{head - 1}", "Listed by =SVC_NEXUS(). Nothing here is removed.", "muted")
    area = f"{left}{head}:{right}{head + _LISTED_ROWS}"
    sheet.put(f"{left}{head}", Formula("=SVC_NEXUS()", area=area), "listed")
    sheet.rules += [
        Rule(area, f"=ISNA({left}{head})", "is_left_over"),
        error_rule(f"{left}{head}", f"{left}{head}"),
        Rule(f"{left}{head}:{right}{head}", "=TRUE", "is_head"),
    ]
