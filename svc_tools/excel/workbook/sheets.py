"""The sheets of the workbook: Start, Lookup, Orders and Nexus, for any host.

Start explains the workbook: first steps, the meaning of cells, macros and functions. Lookup shows
one place with all that is known of its rate. Orders has a rate, tax and warnings for each line, and
totals next to the number of lines without tax. Nexus shows the register and, in Excel, its changes
in steps that the user takes. What they say is in `sheets.toml`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import PARTIAL
from svc_tools.excel.workbook.writing import (
    ADD,
    AS_OF,
    LOOKUP,
    NEXUS,
    NEXUS_COLUMNS,
    NEXUS_HEADINGS,
    NEXUS_MARKS,
    NEXUS_MESSAGE,
    NOTHING,
    ORDERS,
    ORDERS_TABLE,
    ROUNDING,
    START,
    TEXTS,
    Button,
    Choice,
    Formula,
    Rule,
    Sheet,
    Table,
    error_rule,
    state_choice,
    type_choice,
)
from svc_tools.frames.lookup_columns import COLUMN_MEANINGS
from svc_tools.nexus.notices import BEFORE_REMOVING, NOT_TICKED_NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from svc_tools.excel.workbook.writing import Host, Value

MACROS: Mapping[str, str] = TEXTS["macros"]
"""The macros of the workbook and what each does."""
_REFRESH_AND_FREEZE = (("Refresh rates", "SVC_REFRESH"), ("Freeze cells", "SVC_FREEZE"))


def start_sheet(host: Host) -> Sheet:
    """The sheet that explains the workbook."""
    sheet = Sheet(START, (5, 27, 92))
    sheet.heights |= {1: 34, 2: 36}
    sheet.put("A1", TEXTS["title"], "title")
    sheet.put("A2", TEXTS["lead"], "lead", to="C2")
    row = _steps(sheet, host, 4)
    row = _section(sheet, row + 1, "The sheets")
    for name, text in TEXTS["sheets"].items():
        sheet.put(f"B{row}", f"internal:'{name}'!A1|{name}", "link")
        row = _text(sheet, row, text)
    row = _sources(sheet, host, row + 1)
    row = _meanings(sheet, host, row + 1)
    if host.is_excel:
        row = _section(sheet, row + 1, "The macros")
        run = (
            "Run them with the buttons on the sheets, or with Alt+F8. They never run by themselves."
        )
        sheet.put(f"B{row}", run, "muted")
        row = _listed(sheet, row + 1, MACROS)
    row = _section(sheet, row + 1, "The functions")
    _listed(
        sheet,
        row,
        {one.name: f"{one.signature.removeprefix(one.name)}  {one.help}" for one in FUNCTIONS},
    )
    return sheet


def _section(sheet: Sheet, row: int, title: str) -> int:
    sheet.put(f"A{row}", title, "section", to=f"C{row}")
    sheet.heights |= {row: 24, row + 1: 6}
    return row + 2


def _text(sheet: Sheet, row: int, text: str, *, least: int = 1, look: str = "wrapped") -> int:
    sheet.put(f"C{row}", text, look)
    lines = -(-len(text) // 104)  # at most so many characters fit into a line
    sheet.heights[row] = 6 + 15 * max(least, lines)
    return row + 1


def _listed(sheet: Sheet, row: int, texts: Mapping[str, str]) -> int:
    for name, text in texts.items():
        sheet.put(f"B{row}", name, "code")
        row = _text(sheet, row, text)
    return row


def _steps(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "Three steps")
    for number, step in enumerate(host.texts["steps"], 1):
        sheet.put(f"A{row}", number, "number")
        sheet.put(f"B{row}", step["title"], "strong_top")
        if "button" in step:
            caption, macro = step["button"]
            sheet.buttons.append(Button(f"B{row}", caption, macro, shift=4, width=150, drop=24))
        row = _text(sheet, row, host.said(step["text"]), least=3 if "button" in step else 1)
    return row


def _sources(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "Source of the figures")
    for label, formula, look in (
        ("Service", Formula("=SVC_SOURCE()"), "fact"),
        ("Oldest lookup (UTC)", Formula("=SVC_ASOF()"), "fact"),
        ("The day, SVC_AS_OF", Formula(f"={AS_OF}"), "fact_day"),
    ):
        sheet.put(f"B{row}", label, "strong_top")
        sheet.put(f"C{row}", formula, look)
        sheet.rules.append(error_rule(f"C{row}", f"$C${row}"))
        row += 1
    return _text(sheet, row, host.said(TEXTS["not_computed"]))


def _meanings(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "What the cells show")
    for one in TEXTS["meanings"]:
        if one.get("host", host.key) == host.key:
            sheet.put(f"B{row}", one["shown"], one["look"])
            _text(sheet, row, one["text"], look="explained")
            sheet.heights[row + 1] = 3
            row += 2
    return row


_QUERY = "$A$5:$F$6"
_FIELDS: tuple[str, ...] = tuple(TEXTS["lookup"]["fields"])
_PLACES: list[list[str]] = TEXTS["lookup"]["places"]
_EMPTY_LOOKUP_ROWS = 4
_FIRST_FIELD = 12


def lookup_sheet(host: Host, as_of: date) -> Sheet:
    """The sheet for one place, with the given day in the cell SVC_AS_OF."""
    sheet = Sheet(LOOKUP, (27, 15, 34, 20, 24, 16), pages=1, as_text=["B1:B60"])
    sheet.put("A1", "Look a place up", "title")
    sheet.put("A2", TEXTS["lookup"]["lead"], "lead", to="F2")
    sheet.heights |= {1: 30, 2: 36, 4: 24, 5: 20, 6: 22, 9: 34, 11: 20}
    sheet.put("A4", "The place and the day", "section", to="F4")
    for column, heading in zip("ABCDEF", TEXTS["lookup"]["columns"], strict=True):
        sheet.put(f"{column}5", heading, "head")
    for column, value in zip("ABCDEF", ("NY", "10001", None, None, None, as_of), strict=True):
        sheet.put(f"{column}6", value, "typed_day" if column == "F" else "typed_text")
    sheet.names[AS_OF] = "F6"
    _result(sheet)
    _places(sheet)
    if host.is_excel:
        for place, (caption, macro) in enumerate(_REFRESH_AND_FREEZE):
            sheet.buttons.append(Button("E1", caption, macro, shift=20 + 130 * place))
    return sheet


def _result(sheet: Sheet) -> None:
    status, review, error = (
        f'SVC_LOOKUP({_QUERY},"{field}")'
        for field in ("lookup_status", "needs_review", "lookup_error")
    )
    sheet.put("A8", "Combined rate", "label")
    sheet.put("C8", "Status", "label")
    sheet.put("A9", Formula(f'=SVC_LOOKUP({_QUERY},"combined_rate")'), "big_rate", to="B9")
    # the word of SVC_STATUS, which takes no addresses
    word = f'=IF({status}="ok",IF({review},"review","ok"),{status})'
    sheet.put("C9", Formula(word, value=f"=SVC_STATUS($A$6,$B$6,{AS_OF})"), "status")
    sheet.put("D9", Formula(f"={error}"), "lead", to="F9")
    sheet.rules += [
        error_rule("A9:C9", "$A$9"),
        Rule("C9", '=$C$9="ok"', "is_good"),
        Rule("A9:C9", '=OR($C$9="partial",$C$9="review")', "is_partial"),
    ]
    sheet.put("A11", "Field", "head")
    sheet.put("B11", "Value", "head", to="C11")
    sheet.put("D11", "Meaning", "head", to="F11")
    last = _FIRST_FIELD + len(_FIELDS) - 1
    for row, field in enumerate(_FIELDS, _FIRST_FIELD):
        sheet.put(f"A{row}", field, "field_name")
        value = Formula(f"=SVC_LOOKUP({_QUERY},$A{row})")
        sheet.put(f"B{row}", value, "field_rate" if "rate" in field else "field", to=f"C{row}")
        sheet.put(f"D{row}", COLUMN_MEANINGS[field], "field_meaning", to=f"F{row}")
        sheet.heights[row] = 34 if field in TEXTS["lookup"]["tall"] else 19
    other = "Any other field can be named in the first column; =SVC_FIELDS() lists them all."
    sheet.put(f"A{last + 1}", other, "muted")
    sheet.rules += [
        error_rule(f"B{_FIRST_FIELD}:C{last}", f"$B{_FIRST_FIELD}"),
        Rule(f"B{_FIRST_FIELD}:C{last}", f'=$B{_FIRST_FIELD}="low"', "is_low"),
    ]


def _places(sheet: Sheet) -> None:
    """The rates of more places on the same day."""
    top = _FIRST_FIELD + len(_FIELDS) + 2
    sheet.put(f"A{top}", "Rates of more places on that day", "section", to=f"F{top}")
    head = top + 1
    headings = {"A": "State", "B": "ZIP", "C": "Rate", "D": "Status", "E": "Warnings"}
    for column, heading in headings.items():
        sheet.put(f"{column}{head}", heading, "head", to=f"F{head}" if column == "E" else "")
    sheet.heights |= {top: 24, head: 20}
    first, last = head + 1, head + len(_PLACES) + _EMPTY_LOOKUP_ROWS
    for row in range(first, last + 1):
        state, zip_code = _PLACES[row - first] if row - first < len(_PLACES) else (None, None)
        query = f"$A{row},$B{row},{AS_OF}"
        sheet.put(f"A{row}", state, "typed_text")
        sheet.put(f"B{row}", zip_code, "typed_text")
        sheet.put(f"C{row}", Formula(f"=SVC_RATE({query})"), "field_rate")
        sheet.put(f"D{row}", Formula(f"=SVC_STATUS({query})"), "field")
        sheet.put(f"E{row}", Formula(f"=SVC_WARNINGS({query})"), "field", to=f"F{row}")
        sheet.heights[row] = 32
    sheet.rules += _line_rules("C", "D", first, last)
    sheet.choices += [state_choice("A6"), state_choice(f"A{first}:A{last}")]


def _line_rules(left: str, status: str, first: int, last: int) -> list[Rule]:
    """What to look at in a row: amber where it requires review or is partial, red for an error."""
    area, at = f"{left}{first}:{status}{last}", f"${status}{first}"
    return [
        Rule(area, f'=OR({at}="partial",{at}="review")', "is_partial"),
        error_rule(area, f"{left}{first}"),
        Rule(f"{status}{first}:{status}{last}", f'=AND(LEN({at})>1,{at}<>"ok")', "is_error"),
    ]


_MARK = "EX-"
EXAMPLES: tuple[tuple[str, date, str, str | int, Decimal], ...] = tuple(
    (*line[:4], Decimal(line[4])) for line in TEXTS["orders"]["examples"]
)
"""The made-up lines: order, date, state, ZIP and amount."""
_EMPTY_ORDER_ROWS = 8
_ORDER_HEAD = 8
_ORDER_LOOKS: Mapping[str, str] = TEXTS["orders"]["looks"]
_ORDER_COLUMNS = dict(zip("ABCDEFGHIJ", _ORDER_LOOKS, strict=True))
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
_BLANK = f'COUNTBLANK({_column("Tax")})-COUNTIF({_column("Tax")},"{NOTHING}")'
_WRONG = f"ROWS({_column('Tax')})-COUNT({_column('Tax')})-{_BLANK}"
# Calc shows Err:504 where a function of an add-in reads an error in a range: test for errors first
_TOTAL = f"=IF(H5>0,NA(),SVC_SUM({_column('Tax')}))"
_AMOUNT = f"=IF(SUMPRODUCT(--ISERROR({_column('Amount')}))>0,NA(),SVC_SUM({_column('Amount')}))"
_UNTAXED = f'SUMPRODUCT(--({_column("ZIP")}<>""),--({_column("Amount")}=""))'
# unlike SUM, SUMIF skips error values; the sentence around it says so
_WITH_TAX = f'TEXT(ROUND(SUMIF({_column("Tax")},">=-1E+99"),2),"#,##0.00")'
_DONE, _NONE_YET = "Every amount has its tax.", "No lines yet."
_PART = " The others come to {}: a part, not the total. See the column Warnings."
_COUNTED = (
    ("H5", "line has", "lines have", "no tax, so there is no total of the tax."),
    (_BARE, "line has", "lines have", "an amount but no formula: fill the formulas down."),
    (_BELOW, "amount stands", "amounts stand", "below the table: move the lines into it."),
    ("I5", "rate lacks", "rates lack", "a local part (#PARTIAL)."),
    ("F5", "rate requires", "rates require", "review: see Warnings."),
    (_UNTAXED, "line has", "lines have", "a ZIP but no amount."),
)
"""What the verdict says of how many lines: the cell or formula that counts them, and the words."""
_STILL = "Examples are still among the lines."


def _verdict() -> str:
    """The formula of the sentence above the table."""
    done = f'IF(COUNT({_column("Tax")})=0,"{_NONE_YET}","{_DONE}")'
    part = '"{}"'.format(_PART.format(f'"&{_WITH_TAX}&"'))
    counted = [
        f'IF({count}>0," "&{count}&IF({count}=1," {one}"," {several}")&" {rest}"'
        f'{"&" + part if count == "H5" else ""},"")'
        for count, one, several, rest in _COUNTED
    ]
    examples = f'IF(COUNTIF({_column("Order")},"{_MARK}*")>0," {_STILL}","")'
    return f'=TRIM(IF(H5=0,{done},"")&{"&".join([*counted, examples])})'


def _totals_of(cells: Mapping[str, Value], lines: int) -> dict[str, Value]:
    """The totals of so many lines as they are written; see `_totals` for their formulas."""
    rows = range(_ORDER_HEAD + 1, _ORDER_HEAD + 1 + lines)
    taxes = [cells[f"G{row}"] for row in rows]
    exact = sum((Decimal(repr(one)) for one in taxes if isinstance(one, float)), Decimal())
    counts = {
        "H5": sum(isinstance(one, str) for one in taxes),
        "I5": taxes.count(PARTIAL),
        "F5": [cells[f"H{row}"] for row in rows].count("review"),
    }
    said = [] if counts["H5"] else [_DONE if lines else _NONE_YET]
    for count, one, several, rest in _COUNTED:
        if number := counts.get(count):
            part = _PART.format(f"{exact:,.2f}") if count == "H5" else ""
            said.append(f"{number} {one if number == 1 else several} {rest}{part}")
    return {
        **counts,
        "A5": lines,
        "E5": float(sum(Decimal(repr(cells[f"E{row}"])) for row in rows)),
        "G5": "#N/A" if counts["H5"] else float(exact),
        "A6": " ".join([*said, *[_STILL] * bool(lines)]),
    }


def orders_sheet(host: Host, *, example: bool) -> Sheet:
    """The sheet of order lines, with the example lines or empty."""
    lines = EXAMPLES if example else ()
    formulas = dict(_ORDER_FORMULAS)
    if not host.is_excel:  # Calc passes an empty cell as 0
        amount, taxed = _this_row("Amount"), formulas["Tax"].text.removeprefix("=")
        formulas["Tax"] = Formula(f'=IF({amount}="","",{taxed})')
    last = _ORDER_HEAD + len(lines) + _EMPTY_ORDER_ROWS
    sheet = Sheet(
        ORDERS,
        (13, 13, 13, 13, 14, 14, 14, 14, 14, 88),
        frozen=f"A{_ORDER_HEAD + 1}",
        repeated=_ORDER_HEAD,
        landscape=True,
        as_text=[f"A{_ORDER_HEAD + 1}:D{last}"],
    )
    sheet.put("A1", "Orders", "title")
    texts = TEXTS["orders"]
    sheet.put("A2", texts["lead"] + texts["grows" if host.is_excel else "fixed"], "muted")
    _totals(sheet, len(lines))
    if host.is_excel:
        for place, (caption, macro) in enumerate(_REFRESH_AND_FREEZE):
            sheet.buttons.append(Button("J1", caption, macro, shift=130 * place))
    for column, heading in _ORDER_COLUMNS.items():
        sheet.put(f"{column}{_ORDER_HEAD}", heading, "head_right" if heading in _RIGHT else "head")
    for row in range(_ORDER_HEAD + 1, last + 1):
        place = row - _ORDER_HEAD - 1
        given = dict(zip(_ORDER_LOOKS, lines[place] if place < len(lines) else (), strict=False))
        for column, heading in _ORDER_COLUMNS.items():
            value = formulas.get(heading) or given.get(heading)
            shown = float(value) if isinstance(value, Decimal) else value
            sheet.put(f"{column}{row}", shown, _ORDER_LOOKS[heading])
    area = f"A{_ORDER_HEAD}:J{last}"
    sheet.tables.append(Table(ORDERS_TABLE, area, tuple(_ORDER_LOOKS), formulas))
    _order_rules(sheet, last)
    return sheet


def _totals(sheet: Sheet, lines: int) -> None:
    """The totals, each above its column, and what they lack."""

    def total(at: str, label: str, formula: str, look: str) -> None:
        value = Formula(formula, value=lambda cells: _totals_of(cells, lines)[at])
        sheet.put(f"{at[0]}4", label, "label" if at == "A5" else "label_right")
        sheet.put(at, value, look)

    sheet.heights |= {1: 30, 5: 22, 6: 36, _ORDER_HEAD: 20}
    total("A5", "Lines", f"=COUNTA({_column('Amount')})", "total_count_left")
    total("E5", "Amount", _AMOUNT, "total_money")
    total("F5", "To review", f'=COUNTIF({_column("Status")},"review")', "total_count")
    total("G5", "Tax", _TOTAL, "total_money")
    total("H5", "Without tax", f"={_WRONG}+{_BARE}+{_BELOW}", "total_count")
    total("I5", "of them partial", f'=COUNTIF({_column("Tax")},"{PARTIAL}")', "total_count")
    sheet.put("C4", "Rounding", "label")
    sheet.put("C5", "half_up", "typed_text")
    sheet.put("J4", "Source of the rates", "label")
    sheet.put("J5", Formula("=SVC_SOURCE()"), "total_text")
    for at in ("B5", "D5"):
        sheet.put(at, None, "total")
    verdict = Formula(_verdict(), value=lambda cells: _totals_of(cells, lines)["A6"])
    sheet.put("A6", verdict, "verdict", to="J6")
    sheet.names[ROUNDING] = "C5"
    modes = ("half_up", "half_even", "up", "down")
    expected = "half_up, half_even, up or down is expected. Use it anyway?"
    sheet.choices.append(Choice("C5", modes, "Rounding", expected))


def _order_rules(sheet: Sheet, last: int) -> None:
    first = _ORDER_HEAD + 1
    sheet.rules += [
        *_line_rules("F", "H", first, last),
        error_rule(f"I{first}:I{last}", f"I{first}"),
        Rule(f"I{first}:I{last}", f'=$I{first}="low"', "is_low"),
        error_rule("E5:G5", "E5"),
        Rule("F5", "=F5>0", "is_partial"),
        Rule("H5:I5", "=IF(ISERROR(H5),TRUE,H5>0)", "is_error"),
        Rule("A6:J6", "=IF(ISERROR($H$5),TRUE,$H$5>0)", "is_error"),
        Rule("A6:J6", '=OR($F$5>0,NOT(ISERROR(SEARCH("no amount",$A$6))))', "is_partial"),
        Rule("A6:J6", "=COUNT($G$5)>0", "is_good"),
    ]
    sheet.choices.append(state_choice(f"C{first}:C{last}"))


_NEXUS_ROWS = 40
_MOST_NEXUS_ROWS = 500
_LISTED_ROWS = 199  # each state with each type, and some twice
_NEXUS_HEAD = 14
_REGISTER_WIDTHS = (8, 13, 14, 26, 26)
_NEXUS_LOOKS = {"remove": "typed_center", "registered_at": "shown_day"}
_NOT_LISTED = "not listed yet"
"""What is stored for the register, which is that of an account."""


def nexus_sheet(host: Host) -> Sheet:
    """The sheet of the nexus register; with its changes in Excel."""
    widths: tuple[float, ...] = (9, 14, 15, 30, 30)
    if host.is_excel:
        widths = (*TEXTS["nexus"]["widths"].values(), 8, 8, 8, 8, 3, *_REGISTER_WIDTHS)
    sheet = Sheet(NEXUS, widths, landscape=True)
    sheet.heights |= {1: 30, 4: 24, 6: 20}
    sheet.put("A1", "Nexus", "title")
    changes = "; nothing is changed unless you mark it and confirm." if host.is_excel else "."
    sheet.put("A2", f"The account's register. Formulas only read it{changes}", "muted")
    _status_of_state(sheet)
    if host.is_excel:
        _cleanup(sheet)
        _register(sheet, host, "QRSTU", _NEXUS_HEAD)
        sheet.printed = f"A1:K{_NEXUS_HEAD + _NEXUS_ROWS}"
    else:
        elsewhere = "The register is changed with `svc-tools nexus` or on the panel, never in Calc."
        sheet.put("A8", elsewhere, "muted")
        _register(sheet, host, "ABCDE", 12)
        sheet.printed = f"A1:E{12 + _NEXUS_ROWS}"
    return sheet


def _status_of_state(sheet: Sheet) -> None:
    """The registration status in one state."""
    sheet.put("A4", "Registered there?", "section", to="E4")
    for at, label in (("A5", "State"), ("C5", "Type (empty: any)"), ("E5", "Status")):
        sheet.put(at, label, "label")
    sheet.put("A6", "TX", "typed_text", to="B6")
    sheet.put("C6", None, "typed_text", to="D6")
    status = '=IF(C6="",SVC_NEXUS_STATUS(A6),SVC_NEXUS_STATUS(A6,C6))'
    sheet.put("E6", Formula(status, value=_NOT_LISTED), "shown")
    sheet.choices += [state_choice("A6"), type_choice("C6")]
    sheet.rules.append(error_rule("E6", "$E$6"))


def _cleanup(sheet: Sheet) -> None:
    """The buttons, the message and the rows of the register's changes."""
    texts = TEXTS["nexus"]
    sheet.put("A8", "Change the register", "section", to="K8")
    for place, (caption, macro) in enumerate(texts["buttons"]):
        sheet.buttons.append(Button("A9", caption, macro, shift=160 * place + 2, width=150))
    sheet.put("A10", f"{NOT_TICKED_NOTE} {texts['lead']}", "lead", to="K10")
    sheet.put("A11", " ".join(BEFORE_REMOVING), "warned", to="K11")
    sheet.put("A12", None, "message", to="K12")
    sheet.heights |= {9: 28, 10: 36, 11: 36, 12: 110}
    columns = dict(zip("ABCDEFGHIJK", NEXUS_COLUMNS, strict=True))
    for column, heading in columns.items():
        sheet.put(f"{column}{_NEXUS_HEAD}", heading, "head")
    for column, heading in zip("LMNO", NEXUS_MARKS, strict=True):
        sheet.put(f"{column}{_NEXUS_HEAD}", heading, "head_mark")
    first, last = _NEXUS_HEAD + 1, _NEXUS_HEAD + _NEXUS_ROWS
    for row in range(first, last + 1):
        for column, heading in columns.items():
            sheet.put(f"{column}{row}", None, _NEXUS_LOOKS.get(heading, "shown_wrapped"))
    sheet.names |= {NEXUS_HEADINGS: f"A{_NEXUS_HEAD}:K{_NEXUS_HEAD}", NEXUS_MESSAGE: "A12"}
    last = _NEXUS_HEAD + _MOST_NEXUS_ROWS  # a register may have more rows than are formatted
    sheet.choices += [
        Choice(f"A{first}:A{last}", ("x", "replace", ADD), "Remove or add", texts["ticks"]),
        state_choice(f"B{first}:B{last}"),
        type_choice(f"C{first}:C{last}"),
    ]
    sheet.rules += [
        Rule(f"A{first}:F{last}", f'=$A{first}="{ADD}"', "is_good"),
        Rule(f"A{first}:C{last}", f'=$A{first}<>""', "is_ticked"),
        Rule(f"G{first}:G{last}", f'=$G{first}="candidate"', "is_good"),
        Rule(f"G{first}:G{last}", f'=OR($G{first}="review",$G{first}="missing")', "is_partial"),
        *(
            Rule(f"J{first}:J{last}", _begins(f"$J{first}", words), look)
            for look, words in texts["outcomes"].items()
        ),
    ]


def _begins(cell: str, words: list[str]) -> str:
    tests = (f'EXACT(LEFT({cell},{len(word)}),"{word}")' for word in words)
    return f"=OR({','.join(tests)})"


def _register(sheet: Sheet, host: Host, letters: str, head: int) -> None:
    """The register, listed with its headings by a formula."""
    left, right = letters[0], letters[-1]
    sheet.put(f"{left}{head - 2}", "The register now", "section", to=f"{right}{head - 2}")
    sheet.put(f"{left}{head - 1}", host.texts["register"], "muted")
    # in Calc the cells that a list does not fill, and all without the server, hold an error
    formula = "=SVC_NEXUS()" if host.is_excel else '=IFERROR(SVC_NEXUS(),"")'
    area = f"{left}{head}:{right}{head + _LISTED_ROWS}"
    sheet.put(f"{left}{head}", Formula(formula, area, _NOT_LISTED), "listed")
    sheet.rules += [
        error_rule(f"{left}{head}", f"{left}{head}"),
        Rule(f"{left}{head}:{right}{head}", "=TRUE", "is_head"),
    ]
