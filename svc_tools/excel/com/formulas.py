"""Formulas as text: where they call our functions, and with which arguments. Pure.

Excel gives every formula in its English form with commas. A formula that cannot be read with
certainty holds no call: who reads one then does without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FormulaCall", "Reference", "calls_in", "has_calls", "literal", "other_names"]

_NAMES = frozenset(one.name for one in FUNCTIONS)
_NAME = re.compile(r"([A-Za-z_\\][A-Za-z0-9_.\\]*)\s*\(")
_QUOTED = {'"': '"', "'": "'"}
_OPEN = {"(": ")", "{": "}", "[": "]"}
_REFERENCE = re.compile(
    r"R(?:(?P<row>[0-9]+)|\[(?P<down>-?[0-9]+)\])?C(?:(?P<column>[0-9]+)|\[(?P<across>-?[0-9]+)\])?"
)
_THIS_ROW = re.compile(
    r"(?P<table>[^\W\d]\w*)?\[(?:@(?P<plain>[^\[\]@#,:]+)|@\[(?P<quoted>[^\[\]#':]+)\]"
    r"|\[#This Row\],\[(?P<long>[^\[\]#':]+)\])\]"
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?", re.IGNORECASE)
_TEXT = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True, slots=True)
class FormulaCall:
    """One call of a function in a formula.

    Attributes:
        name: the function, in capitals.
        arguments: its arguments as they stand there, blanks around them taken away.
    """

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """One cell of the same sheet, as a formula in R1C1 style or a table's column names it.

    Attributes:
        down: how many rows below the formula; `None` where it is the same cell for every row.
        column: the number of its column, from 1; 0 where `field` names it.
        row: the number of its row, where it is the same for every formula; else 0.
        field: the heading of a column of the table in which the formula stands.
        table: the table, where the formula names it.
    """

    down: int | None
    column: int = 0
    row: int = 0
    field: str = ""
    table: str = ""

    @classmethod
    def read(cls, text: str, column: int) -> Reference | None:
        """What an argument refers to; `None` for anything but one cell of the same sheet.

        Args:
            text: the argument, in R1C1 style.
            column: the column of the formula, from 1.
        """
        if found := _REFERENCE.fullmatch(text):
            down = None if found["row"] else int(found["down"] or 0)
            at = int(found["column"]) if found["column"] else column + int(found["across"] or 0)
            return cls(down, at, int(found["row"] or 0))
        if found := _THIS_ROW.fullmatch(text):
            field = found["plain"] or found["quoted"] or found["long"]
            return cls(0, field=field, table=found["table"] or "")
        return None


def has_calls(formula: object) -> bool:
    """Whether a formula calls one of our functions."""
    if not isinstance(formula, str) or not formula.startswith("="):
        return False
    return "SVC_" in formula.upper() and bool(calls_in(formula))


def calls_in(formula: str) -> tuple[FormulaCall, ...]:
    """The calls of our functions, also within one another, in order."""
    bare = _without_quoted(formula)
    found = []
    for match in _NAME.finditer(bare):
        name = match[1].rpartition("!")[2].upper()
        if name in _NAMES and (parts := _arguments(formula, bare, match.end())) is not None:
            found.append(FormulaCall(name, parts))
    return tuple(found)


def other_names(formula: str) -> frozenset[str]:
    """The other functions that a formula calls, in capitals."""
    names = {match[1].upper() for match in _NAME.finditer(_without_quoted(formula))}
    return frozenset(names - _NAMES)


def literal(text: str) -> str | float | bool | None:
    """The value of an argument that is written out; `None` for a reference or anything else."""
    if _TEXT.fullmatch(text):
        return text[1:-1].replace('""', '"')
    if _NUMBER.fullmatch(text):
        return float(text)
    return {"TRUE": True, "FALSE": False}.get(text.upper())


def _without_quoted(formula: str) -> str:
    """The formula with blanks for what is within quotes, at the same places."""
    shown = []
    quote = ""
    for sign in formula:
        if quote:
            quote = "" if sign == quote else quote
            shown.append(" ")
        elif sign in _QUOTED:
            quote = sign
            shown.append(" ")
        else:
            shown.append(sign)
    return "".join(shown)


def _arguments(formula: str, bare: str, start: int) -> tuple[str, ...] | None:
    """The arguments from after the bracket at `start`; `None` where the bracket does not close."""
    parts, begun = [], start
    for at, closes in _marks(bare, start):
        parts.append(formula[begun:at].strip())
        begun = at + 1
        if closes:
            return () if parts == [""] else tuple(parts)
    return None


def _marks(bare: str, start: int) -> Iterator[tuple[int, bool]]:
    """The commas between the arguments, and the bracket that closes them."""
    open_: list[str] = []
    for at in range(start, len(bare)):
        sign = bare[at]
        if open_ and sign == open_[-1]:
            open_.pop()
        elif sign in _OPEN and not (open_ and open_[-1] == "]" and sign != "["):
            open_.append(_OPEN[sign])
        elif open_ and open_[-1] == "]":
            continue  # a heading of a table may hold anything
        elif sign == ")" and not open_:
            yield at, True
            return
        elif sign == "," and not open_:
            yield at, False
