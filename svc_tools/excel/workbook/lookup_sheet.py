"""The sheet on which one place is looked up, with all that is known of its rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.workbook.cells import Button, Formula, Rule, Sheet
from svc_tools.excel.workbook.layout import AS_OF, LOOKUP
from svc_tools.excel.workbook.looks import TAB
from svc_tools.excel.workbook.rules import error_rule, partial_rule, state_choice
from svc_tools.frames.reports.column_words import COLUMN_MEANINGS

if TYPE_CHECKING:
    from datetime import date

    from svc_tools.excel.workbook.hosts import Host

__all__ = ["lookup_sheet"]

_ASKED = ("state", "zip", "address", "city", "place", "as_of")
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
_LONG = {"warnings", "lookup_review_reason", "lookup_source"}
_FIRST = ("NY", "10001")
_PLACES = (("NC", "27601"), ("NJ", "07030"), ("CO", "80202"))
_EMPTY_ROWS = 4
_QUESTION = "$A$5:$F$6"
_FIRST_FIELD = 12


def lookup_sheet(host: Host, as_of: date) -> Sheet:
    """The sheet, with that day in the cell of the day."""
    sheet = Sheet(LOOKUP, (27, 15, 34, 20, 24, 16), TAB[LOOKUP], pages=1, as_text=["B1:B60"])
    sheet.put("A1", "Look a place up", "title")
    sheet.put(
        "A2",
        "Type into the yellow cells: a state, and a ZIP, or a street address with its city or ZIP,"
        " or the name of a city or county. The day is passed on by every formula that has no date"
        " of its own: the cell is named SVC_AS_OF. Keep it, and a closed month stays as it was.",
        "lead",
        to="F2",
    )
    sheet.heights |= {1: 30, 2: 36, 4: 24, 5: 20, 6: 22, 9: 34, 11: 20}
    sheet.put("A4", "The place and the day", "section", to="F4")
    for column, heading in zip("ABCDEF", _ASKED, strict=True):
        sheet.put(f"{column}5", heading, "head")
    for column, value in zip("ABCDEF", (*_FIRST, None, None, None, as_of), strict=True):
        sheet.put(f"{column}6", value, "typed_day" if column == "F" else "typed_text")
    sheet.names[AS_OF] = "F6"
    _answer(sheet)
    _places(sheet)
    if host.macros:
        sheet.buttons += [
            Button("E1", "Refresh rates", "SVC_REFRESH", shift=20),
            Button("E1", "Freeze cells", "SVC_FREEZE", shift=150),
        ]
    return sheet


def _answer(sheet: Sheet) -> None:
    sheet.put("A8", "Combined rate", "label")
    sheet.put("C8", "Status", "label")
    sheet.put("A9", Formula(f'=SVC_LOOKUP({_QUESTION},"combined_rate")'), "big_rate", to="B9")
    sheet.put("C9", Formula(f'=SVC_LOOKUP({_QUESTION},"lookup_status")'), "status")
    sheet.put("D9", Formula(f'=SVC_LOOKUP({_QUESTION},"lookup_error")'), "lead", to="F9")
    sheet.rules += [
        error_rule("A9:C9", "$A$9"),
        Rule("C9", '=$C$9="ok"', "is_good"),
        Rule("C9", '=$C$9="partial"', "is_partial"),
    ]
    sheet.put("A11", "Field", "head")
    sheet.put("B11", "Value", "head", to="C11")
    sheet.put("D11", "What it is", "head", to="F11")
    last = _FIRST_FIELD + len(_FIELDS) - 1
    for row, field in enumerate(_FIELDS, _FIRST_FIELD):
        sheet.put(f"A{row}", field, "field_name")
        value = Formula(f"=SVC_LOOKUP({_QUESTION},$A{row})")
        sheet.put(f"B{row}", value, "field_rate" if "rate" in field else "field", to=f"C{row}")
        sheet.put(f"D{row}", COLUMN_MEANINGS[field], "field_meaning", to=f"F{row}")
        sheet.heights[row] = 34 if field in _LONG else 19
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
    """Rates of some places on the same day."""
    top = _FIRST_FIELD + len(_FIELDS) + 2
    sheet.put(f"A{top}", "Rates of more places on that day", "section", to=f"F{top}")
    head = top + 1
    for column, heading in zip("ABCD", ("State", "ZIP", "Rate", "What to know"), strict=True):
        sheet.put(f"{column}{head}", heading, "head", to=f"F{head}" if column == "D" else "")
    sheet.heights |= {top: 24, head: 20}
    first, last = head + 1, head + len(_PLACES) + _EMPTY_ROWS
    for row in range(first, last + 1):
        place = _PLACES[row - first] if row - first < len(_PLACES) else (None, None)
        sheet.put(f"A{row}", place[0], "typed_text")
        sheet.put(f"B{row}", place[1], "typed_text")
        asked = f"$A{row},$B{row},{AS_OF}"
        sheet.put(f"C{row}", Formula(f"=SVC_RATE({asked})"), "field_rate")
        sheet.put(f"D{row}", Formula(f"=SVC_WARNINGS({asked})"), "field", to=f"F{row}")
        sheet.heights[row] = 30
    sheet.rules += [
        partial_rule(f"C{first}:C{last}", f"$C{first}"),
        error_rule(f"C{first}:D{last}", f"C{first}"),
    ]
    sheet.choices += [state_choice("A6"), state_choice(f"A{first}:A{last}")]
