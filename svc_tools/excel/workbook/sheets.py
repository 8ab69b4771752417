"""The sheets of the workbook: Start, Lookup, Orders and Nexus, for any host.

Start explains the workbook: first steps, the meaning of cells, macros and functions. Lookup shows
one place with all that is known of its rate. Orders has a rate, tax and warnings for each line, and
totals next to the number of lines without tax. Nexus shows the register and, in Excel, its changes
in steps that the user takes. Texts, looks and the cells that never move are in `sheets.toml`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from svc_tools.excel.company import ADVICE
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
    ORDERS,
    ROUNDING,
    START,
    TEXTS,
    Formula,
    Rule,
    Sheet,
    Table,
    error_by,
    error_rule,
)
from svc_tools.lookup.columns import COLUMN_MEANINGS
from svc_tools.nexus.notices import BEFORE_REMOVING, NOT_TICKED_NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from svc_tools.excel.workbook.writing import Host, Value

MACROS: Mapping[str, str] = TEXTS["macros"]
"""The macros of the workbook and what each does."""


def start_sheet(host: Host) -> Sheet:
    """The sheet that explains the workbook."""
    sheet = Sheet(START, (5, 27, 92))
    sheet.heights |= {1: 34, 2: 36}
    sheet.put("A1", TEXTS["title"], "title")
    sheet.put("A2:C2", TEXTS["lead"], "lead")
    row = _steps(sheet, host, 4)
    row = _section(sheet, row + 1, "The sheets")
    for name, text in TEXTS["sheets"].items():
        sheet.put(f"B{row}", f"internal:'{name}'!A1|{name}", "link")
        row = _text(sheet, row, text)
    row = _sources(sheet, host, row + 1)
    row = _meanings(sheet, host, row + 1)
    row = _section(sheet, row + 1, "On a company computer")
    for advice in ADVICE.values():
        if host.key in advice.hosts:
            sheet.put(f"B{row}", advice.name, "strong_top")
            row = _text(sheet, row, f"{advice.seen} {advice.means} {advice.todo}")
    if host.is_excel:
        row = _section(sheet, row + 1, "The macros")
        sheet.put(f"B{row}", TEXTS["run"], "muted")
        row = _listed(sheet, row + 1, MACROS)
    row = _section(sheet, row + 1, "The functions")
    texts = {
        function.name: f"{function.signature.removeprefix(function.name)}  {function.help}"
        for function in FUNCTIONS
    }
    _listed(sheet, row, texts)
    return sheet


def _section(sheet: Sheet, row: int, title: str) -> int:
    sheet.put(f"A{row}:C{row}", title, "section")
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
            sheet.button(f"B{row}", *step["button"])
        row = _text(sheet, row, host.for_host(step["text"]), least=3 if "button" in step else 1)
    return row


def _sources(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "Source of the figures")
    for label, formula, look in (
        ("Service", "=SVC_SOURCE()", "fact"),
        ("Oldest lookup (UTC)", "=SVC_ASOF()", "fact"),
        ("The day, SVC_AS_OF", f"={AS_OF}", "fact_day"),
    ):
        sheet.put(f"B{row}", label, "strong_top")
        sheet.put(f"C{row}", formula, look)
        sheet.rules.append(error_rule(f"C{row}", f"$C${row}"))
        row += 1
    return _text(sheet, row, host.for_host(TEXTS["not_computed"]))


def _meanings(sheet: Sheet, host: Host, row: int) -> int:
    row = _section(sheet, row, "What the cells show")
    for meaning in TEXTS["meanings"]:
        if meaning.get("host", host.key) == host.key:
            sheet.put(f"B{row}", meaning["shown"], meaning["look"])
            _text(sheet, row, meaning["text"], look="explained")
            sheet.heights[row + 1] = 3
            row += 2
    return row


_QUERY, _STATUS = "$A$5:$F$6", "$C$9"
_EMPTY_LOOKUP_ROWS = 4
_FIRST_FIELD = 12


def lookup_sheet(host: Host, as_of: date) -> Sheet:
    """The sheet for one place, with the given day in the cell SVC_AS_OF."""
    sheet = Sheet(LOOKUP, (27, 15, 34, 20, 24, 16))
    sheet.set("fit_to_pages", 1, 1)
    sheet.set("ignore_errors", {"number_stored_as_text": "B1:B60"})
    sheet.heights |= {1: 30, 2: 36, 4: 24, 5: 20, 6: 22, 9: 34, 11: 20}
    sheet.put_all(TEXTS["lookup"]["cells"])
    sheet.put("A2:F2", TEXTS["lookup"]["lead"], "lead")
    sheet.put("F6", as_of, "typed_day")
    sheet.names[AS_OF] = "F6"
    sheet.choose("A6", "State")
    _result(sheet, host)
    last = _fields(sheet, host)
    _places(sheet, host, last + 3)
    for button in host.texts["lookup_buttons"]:
        sheet.button(*button)
    return sheet


def _result(sheet: Sheet, host: Host) -> None:
    rate = host.kept(f'=SVC_LOOKUP({_QUERY},"combined_rate")', error_by(_STATUS))
    sheet.put("A9:B9", rate, "big_rate")
    status, review = (
        f'SVC_LOOKUP({_QUERY},"{field}")' for field in ("lookup_status", "needs_review")
    )
    # the word of SVC_STATUS, which takes no addresses
    word = f'=IF({status}="ok",IF({review},"review","ok"),{status})'
    sheet.put("C9", Formula(word, value=f"=SVC_STATUS($A$6,$B$6,{AS_OF})"), "status")
    sheet.rules.append(error_rule("A9:C9", "$A$9"))
    sheet.rules += [Rule(*rule) for rule in TEXTS["lookup"]["rules"]]


def _fields(sheet: Sheet, host: Host) -> int:
    """A row for each field; gives the last."""
    fields = TEXTS["lookup"]["fields"]
    last = _FIRST_FIELD + len(fields) - 1
    for row, field in enumerate(fields, _FIRST_FIELD):
        look = "field_rate" if "rate" in field else "field"
        sheet.put(f"A{row}", field, "field_name")
        value = host.kept(f"=SVC_LOOKUP({_QUERY},$A{row})", error_by(_STATUS))
        sheet.put(f"B{row}:C{row}", value, look)
        sheet.put(f"D{row}:F{row}", COLUMN_MEANINGS[field], "field_meaning")
        sheet.heights[row] = 34 if field in TEXTS["lookup"]["tall"] else 19
    sheet.put(f"A{last + 1}", TEXTS["lookup"]["other"], "muted")
    area, first = f"B{_FIRST_FIELD}:C{last}", f"$B{_FIRST_FIELD}"
    sheet.rules += [error_rule(area, first), Rule(area, f'={first}="low"', "is_low")]
    return last


def _places(sheet: Sheet, host: Host, top: int) -> None:
    """The rates of more places on the same day."""
    head = top + 1
    sheet.put(f"A{top}:F{top}", "Rates of more places on that day", "section")
    for columns, heading in TEXTS["lookup"]["headings"].items():
        sheet.put(columns.format(row=head), heading, "head")
    sheet.heights |= {top: 24, head: 20}
    places = [*TEXTS["lookup"]["places"], *[(None, None)] * _EMPTY_LOOKUP_ROWS]
    first, last = head + 1, head + len(places)
    for row, (state, zip_code) in enumerate(places, first):
        query = f"$A{row},$B{row},{AS_OF}"
        sheet.put(f"A{row}", state, "typed_text")
        sheet.put(f"B{row}", zip_code, "typed_text")
        rate = host.kept(f"=SVC_RATE({query})", error_by(f"$D{row}"))
        sheet.put(f"C{row}", rate, "field_rate")
        sheet.put(f"D{row}", f"=SVC_STATUS({query})", "field")
        sheet.put(f"E{row}:F{row}", f"=SVC_WARNINGS({query})", "field")
        sheet.heights[row] = 44  # three lines of a warning
    sheet.rules += _line_rules("C", "D", first, last)
    sheet.choose(f"A{first}:A{last}", "State")


def _line_rules(left: str, status: str, first: int, last: int) -> list[Rule]:
    """What to look at in a row: amber where it requires review or is partial, red for an error."""
    area, at = f"{left}{first}:{status}{last}", f"${status}{first}"
    return [
        Rule(area, f'=OR({at}="partial",{at}="review")', "is_partial"),
        error_rule(area, f"{left}{first}"),
        Rule(f"{status}{first}:{status}{last}", f'=AND(LEN({at})>1,{at}<>"ok")', "is_error"),
    ]


_ORDERS: Any = TEXTS["orders"]
_VERDICT: Any = _ORDERS["verdict"]
EXAMPLE_LINES: tuple[tuple[str, date, str, str | int, Decimal], ...] = tuple(
    (*line[:4], Decimal(line[4])) for line in _ORDERS["examples"]
)
"""The made-up lines: order, date, state, ZIP and amount."""
_EMPTY_ORDER_ROWS = 8
_ORDER_HEAD = 8
_FIRST_ORDER = _ORDER_HEAD + 1


def orders_sheet(host: Host, *, example: bool) -> Sheet:
    """The sheet of order lines, with the example lines or empty."""
    lines = [(*line[:4], float(line[4])) for line in EXAMPLE_LINES] if example else []
    first, last = _FIRST_ORDER, _ORDER_HEAD + len(lines) + _EMPTY_ORDER_ROWS
    sheet = Sheet(ORDERS, (13, 13, 13, 13, 14, 14, 14, 14, 14, 88))
    sheet.set("freeze_panes", f"A{first}")
    sheet.set("repeat_rows", _ORDER_HEAD - 1)
    sheet.set("set_landscape")
    sheet.set("ignore_errors", {"number_stored_as_text": f"A{first}:D{last}"})
    sheet.put("A2", _ORDERS["lead"] + host.texts["more_orders"], "muted")
    _totals(sheet, len(lines))
    formulas = {}
    for place, (heading, column) in enumerate(_ORDERS["columns"].items()):
        letter, look = "ABCDEFGHIJ"[place], column["look"]
        if text := column.get("formula"):
            if error := column.get("error"):
                text = host.kept(text, error)
            if not host.is_excel and "unless_empty" in column:  # Calc passes an empty cell as 0
                text = f'=IF({column["unless_empty"]}="","",{text[1:]})'
            formulas[heading] = Formula(re.sub(r"\[@(\w+)\]", rf"{ORDERS}[[#This Row],[\1]]", text))
        right = "money" in look or "rate" in look
        sheet.put(f"{letter}{_ORDER_HEAD}", heading, "head_right" if right else "head")
        for row, line in enumerate([*lines, *[()] * _EMPTY_ORDER_ROWS], first):
            typed = line[place] if place < len(line) else None
            sheet.put(f"{letter}{row}", formulas.get(heading, typed), look)
    area = f"A{_ORDER_HEAD}:J{last}"
    sheet.tables.append(Table(ORDERS, area, tuple(_ORDERS["columns"]), formulas))
    sheet.rules += [
        *_line_rules("F", "H", first, last),
        error_rule(f"I{first}:I{last}", f"I{first}"),
        Rule(f"I{first}:I{last}", f'=$I{first}="low"', "is_low"),
        error_rule("E5:G5", "E5"),
        *(Rule(*rule) for rule in _ORDERS["rules"]),
    ]
    sheet.choose(f"C{first}:C{last}", "State")
    for button in host.texts["orders_buttons"]:
        sheet.button(*button)
    return sheet


def _totals(sheet: Sheet, lines: int) -> None:
    """The totals, each above its column, and the verdict: what they lack."""
    sheet.heights |= {1: 30, 5: 22, 6: 36, _ORDER_HEAD: 20}
    sheet.put_all(_ORDERS["cells"])
    totals = {**_ORDERS["totals"], "A6:J6": [_verdict(), "verdict"]}
    for area, (text, look) in totals.items():
        value = partial(_total, area.partition(":")[0], lines)
        sheet.put(area, Formula(text.format(**_VERDICT["parts"]), value=value), look)
    sheet.names[ROUNDING] = "C5"
    sheet.choose("C5", "Rounding")


def _verdict() -> str:
    """The formula of the sentence above the table, with names of its parts."""
    done = f'IF(COUNT({ORDERS}[Tax])=0,"{_VERDICT["none"]}","{_VERDICT["done"]}")'
    counted = [
        f'IF({count}>0," "&{count}&IF({count}=1," {singular}"," {several}")&" {rest}","")'
        for count, singular, several, rest in _VERDICT["counted"]
    ]
    examples = f'IF(COUNTIF({ORDERS}[Order],"EX-*")>0," {_VERDICT["examples"]}","")'
    return f'=TRIM(IF(H5=0,{done},"")&{"&".join([*counted, examples])})'


def _total(at: str, lines: int, cells: Mapping[str, Value]) -> Value:
    """A total of so many lines as they are written; see `sheets.toml` for its formula."""
    rows = range(_FIRST_ORDER, _FIRST_ORDER + lines)
    taxes = [cells[f"G{row}"] for row in rows]
    exact = sum((Decimal(repr(tax)) for tax in taxes if isinstance(tax, float)), Decimal())
    counts = {
        "H5": sum(isinstance(tax, str) for tax in taxes),
        "I5": taxes.count(PARTIAL),
        "F5": [cells[f"H{row}"] for row in rows].count("review"),
    }
    sentences = [] if counts["H5"] else [_VERDICT["done" if lines else "none"]]
    for count, singular, several, rest in _VERDICT["counted"]:
        if number := counts.get(count):
            text = rest.format(part=f"{exact:,.2f}")
            sentences.append(f"{number} {singular if number == 1 else several} {text}")
    totals: dict[str, Value] = {
        **counts,
        "A5": lines,
        "E5": float(sum(Decimal(repr(cells[f"E{row}"])) for row in rows)),
        "G5": "#N/A" if counts["H5"] else float(exact),
        "A6": " ".join([*sentences, *[_VERDICT["examples"]] * bool(lines)]),
    }
    return totals[at]


_NEXUS_ROWS = 40
_MOST_NEXUS_ROWS = 500
_LISTED_ROWS = 199  # each state with each type, and some twice
_NEXUS_HEAD = 14
_NEXUS_LOOKS = {"remove": "typed_center", "registered_at": "shown_day"}
_NOT_LISTED = "not listed yet"
"""What is stored for the register, which is that of an account."""


def nexus_sheet(host: Host) -> Sheet:
    """The sheet of the nexus register; with its changes in Excel."""
    texts = TEXTS["nexus"]
    columns = tuple(texts["widths"].values())
    widths = (*columns, 8, 8, 8, 8, 3, 8, 13, 14, 26, 26) if host.is_excel else (9, 14, 15, 30, 30)
    sheet = Sheet(NEXUS, widths)
    if host.is_excel:
        sheet.set("set_landscape")
    else:  # what a list leaves empty would be a blank page
        sheet.set("fit_to_pages", 1, 1)
    sheet.heights |= {1: 30, 4: 24, 6: 20}
    sheet.put_all([*texts["cells"], *host.texts["nexus_cells"]])
    status = '=IF(C6="",SVC_NEXUS_STATUS(A6),SVC_NEXUS_STATUS(A6,C6))'
    sheet.put("E6", Formula(status, value=_NOT_LISTED), "shown")
    sheet.choose("A6", "State")
    sheet.choose("C6", "Type")
    sheet.rules.append(error_rule("E6", "$E$6"))
    letters, head, right = ("QRSTU", _NEXUS_HEAD, "K") if host.is_excel else ("ABCDE", 12, "E")
    if host.is_excel:
        _changes(sheet)
    _register(sheet, host, letters, head)
    sheet.set("print_area", f"A1:{right}{head + _NEXUS_ROWS}")
    return sheet


def _changes(sheet: Sheet) -> None:
    """The buttons, the message and the rows of the register's changes."""
    texts = TEXTS["nexus"]
    for button in texts["buttons"]:
        sheet.button(*button)
    sheet.put("A10:K10", f"{NOT_TICKED_NOTE} {texts['lead']}", "lead")
    sheet.put("A11:K11", " ".join(BEFORE_REMOVING), "warned")
    sheet.put("A12:K12", None, "message")
    sheet.heights |= {9: 28, 10: 36, 11: 36, 12: 110}
    sheet.names |= {NEXUS_HEADINGS: f"A{_NEXUS_HEAD}:K{_NEXUS_HEAD}", NEXUS_MESSAGE: "A12"}
    first, last = _NEXUS_HEAD + 1, _NEXUS_HEAD + _NEXUS_ROWS
    for column, heading in zip("ABCDEFGHIJK", NEXUS_COLUMNS, strict=True):
        sheet.put(f"{column}{_NEXUS_HEAD}", heading, "head")
        for row in range(first, last + 1):
            sheet.put(f"{column}{row}", None, _NEXUS_LOOKS.get(heading, "shown_wrapped"))
    for column, heading in zip("LMNO", NEXUS_MARKS, strict=True):
        sheet.put(f"{column}{_NEXUS_HEAD}", heading, "head_mark")
    last = _NEXUS_HEAD + _MOST_NEXUS_ROWS  # a register may have more rows than are formatted
    sheet.choose(f"A{first}:A{last}", "Remove or add")
    sheet.choose(f"B{first}:B{last}", "State")
    sheet.choose(f"C{first}:C{last}", "Type")
    sheet.rules += [
        Rule(f"A{first}:F{last}", f'=$A{first}="{ADD}"', "is_good"),
        Rule(f"A{first}:C{last}", f'=$A{first}<>""', "is_ticked"),
        Rule(f"G{first}:G{last}", f'=$G{first}="candidate"', "is_good"),
        Rule(f"G{first}:G{last}", f'=OR($G{first}="review",$G{first}="missing")', "is_partial"),
    ]
    for look, words in texts["outcomes"].items():
        begins = (f'EXACT(LEFT($J{first},{len(word)}),"{word}")' for word in words)
        sheet.rules.append(Rule(f"J{first}:J{last}", f"=OR({','.join(begins)})", look))


def _register(sheet: Sheet, host: Host, letters: str, head: int) -> None:
    """The register, listed with its headings by a formula."""
    left, right, last = letters[0], letters[-1], head + _LISTED_ROWS
    sheet.put(f"{left}{head - 2}:{right}{head - 2}", "The register now", "section")
    sheet.put(f"{left}{head - 1}", host.texts["register"], "muted")
    area = f"{left}{head}:{right}{last}"
    sheet.put(f"{left}{head}", Formula(host.texts["listed"], area, _NOT_LISTED), "listed")
    if not host.is_excel:  # in place of the zeros that XlsxWriter writes to an array
        for row in range(head, last + 1):
            for letter in letters[row == head :]:
                sheet.put(f"{letter}{row}", None, "listed")
    sheet.rules += [
        error_rule(f"{left}{head}", f"{left}{head}"),
        Rule(f"{left}{head}:{right}{head}", "=TRUE", "is_head"),
    ]
