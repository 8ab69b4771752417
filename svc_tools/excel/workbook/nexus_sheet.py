"""The sheet of the nexus register: what it says, and its cleanup in steps that a person takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.workbook.cells import Button, Choice, Formula, Rule, Sheet
from svc_tools.excel.workbook.layout import (
    NEXUS,
    NEXUS_COLUMNS,
    NEXUS_HEADINGS,
    NEXUS_MARKS,
    NEXUS_MESSAGE,
)
from svc_tools.excel.workbook.looks import TAB
from svc_tools.excel.workbook.rules import error_rule, state_choice
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.nexus.words import BEFORE_REMOVING, NOT_TICKED_NOTE

if TYPE_CHECKING:
    from svc_tools.excel.workbook.hosts import Host

__all__ = ["nexus_sheet"]

_ROWS = 40
_MOST = 500
_LISTED_ROWS = 199  # each state with each type, and some twice
_STEPS = (
    ("1 List the records", "SVC_NEXUS_LIST"),
    ("2 Preview", "SVC_NEXUS_PREVIEW"),
    ("3 Remove …", "SVC_NEXUS_REMOVE"),
    ("Undo …", "SVC_NEXUS_RESTORE"),
)
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
_LISTED = (8, 13, 14, 26, 26)
_NARROW = (9, 14, 15, 30, 30)
_HEAD = 14
_STATUS = '=IF(C6="",SVC_NEXUS_STATUS(A6),SVC_NEXUS_STATUS(A6,C6))'
_LOOKS = {"remove": "typed_centre", "registered_at": "shown_day"}
_OUTCOMES = {
    "is_error": ("REMOVED ONLY", "refused", "still there", "not attempted", "unknown", "changed"),
    "is_good": ("removed", "replaced", "restored", "gone", "absent"),
    "is_partial": ("planned",),
}
"""How outcomes look, by the words that they begin with; capitals matter."""


def nexus_sheet(host: Host) -> Sheet:
    """The sheet; the cleanup only where there are macros for it."""
    sheet = Sheet(
        NEXUS,
        (*_WIDTHS.values(), 8, 8, 8, 8, 3, *_LISTED) if host.macros else _NARROW,
        TAB[NEXUS],
        landscape=True,
    )
    sheet.heights |= {1: 30, 4: 24, 6: 20}
    sheet.put("A1", "Nexus", "title")
    sheet.put(
        "A2",
        "What the account's register says. Formulas only read it"
        + ("; nothing is removed unless you tick it and confirm." if host.macros else "."),
        "muted",
    )
    _asked(sheet)
    if host.macros:
        _cleanup(sheet)
        _listed(sheet, "QRSTU", _HEAD)
        sheet.printed = f"A1:K{_HEAD + _ROWS}"
    else:
        sheet.put(
            "A8",
            f"Records are removed with `svc-tools nexus` or on the panel, never in {host.name}.",
            "muted",
        )
        _listed(sheet, "ABCDE", 12)
    return sheet


def _asked(sheet: Sheet) -> None:
    """Whether the account is registered in one state."""
    sheet.put("A4", "Registered there?", "section", to="E4")
    for at, label in (("A5", "State"), ("C5", "Type (empty: any)"), ("E5", "Status")):
        sheet.put(at, label, "label")
    sheet.put("A6", "TX", "typed_text", to="B6")
    sheet.put("C6", None, "typed_text", to="D6")
    sheet.put("E6", Formula(_STATUS), "shown")
    sheet.choices += [
        state_choice("A6"),
        Choice("C6", NEXUS_TYPES, "Type", f"{', '.join(NEXUS_TYPES)} or nothing. Keep it?"),
    ]
    sheet.rules.append(error_rule("E6", "$E$6"))


def _cleanup(sheet: Sheet) -> None:
    """The steps, the message and the rows of the cleanup."""
    sheet.put("A8", "Clean up", "section", to="K8")
    for place, (caption, macro) in enumerate(_STEPS):
        sheet.buttons.append(Button("A9", caption, macro, shift=160 * place + 2, width=150))
    sheet.put(
        "A10",
        f"{NOT_TICKED_NOTE} List the records, put an x beside those to remove, preview the exact"
        " requests, then remove. Each removal is noted in a receipt that survives a crash.",
        to="K10",
        look="lead",
    )
    sheet.put("A11", " ".join(BEFORE_REMOVING), "warned", to="K11")
    sheet.put("A12", None, "message", to="K12")
    sheet.heights |= {9: 28, 10: 20, 11: 20, 12: 110}
    letters = "ABCDEFGHIJK"
    for column, heading in zip(letters, NEXUS_COLUMNS, strict=True):
        sheet.put(f"{column}{_HEAD}", heading, "head")
    for column, heading in zip("LMNO", NEXUS_MARKS, strict=True):
        sheet.put(f"{column}{_HEAD}", heading, "head_mark")
    first, last = _HEAD + 1, _HEAD + _ROWS
    for row in range(first, last + 1):
        for column, heading in zip(letters, NEXUS_COLUMNS, strict=True):
            sheet.put(f"{column}{row}", None, _LOOKS.get(heading, "shown_wrapped"))
    sheet.names |= {NEXUS_HEADINGS: f"A{_HEAD}:K{_HEAD}", NEXUS_MESSAGE: "A12"}
    last = _HEAD + _MOST  # a register may be longer than the rows that are drawn
    sheet.choices.append(
        Choice(
            f"A{first}:A{last}",
            ("x", "replace"),
            "Remove",
            "x removes all records of this state and type; replace removes them and adds this one"
            " again. Keep what you typed?",
        )
    )
    sheet.rules += [
        Rule(f"A{first}:C{last}", f'=$A{first}<>""', "is_ticked"),
        Rule(f"G{first}:G{last}", f'=$G{first}="candidate"', "is_good"),
        Rule(f"G{first}:G{last}", f'=OR($G{first}="review",$G{first}="missing")', "is_partial"),
        *(
            Rule(f"J{first}:J{last}", _begins(f"$J{first}", words), look)
            for look, words in _OUTCOMES.items()
        ),
    ]


def _listed(sheet: Sheet, letters: str, head: int) -> None:
    """The register as a formula lists it, with the headings that it brings."""
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


def _begins(cell: str, words: tuple[str, ...]) -> str:
    tests = (f'EXACT(LEFT({cell},{len(word)}),"{word}")' for word in words)
    return f"=OR({','.join(tests)})"
