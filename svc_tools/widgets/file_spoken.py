"""What the tools say of a file, in the words of the tab "File": its fields, not Python's. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_tools.lookup.trouble import Trouble
from svc_tools.shown import capital
from svc_tools.widgets.trouble import told

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIELDS", "file_trouble", "spoken"]

FIELDS: Mapping[str, str] = {
    "state": "State",
    "zip": "ZIP Code",
    "address": "Street address",
    "city": "City",
    "location": "Place name",
    "lat": "Latitude",
    "lng": "Longitude",
    "country": "Country",
    "as_of": "Date of the sale",
    "amount": "Amount",
}
"""The fields that name a column, by the argument that they stand for."""

_OTHERS: Mapping[str, str] = {
    "date_format": "How dates are written",
    "tz": "Time zone of the dates",
    "prefix": "Prefix of added columns",
    "sheet": "Sheet of a workbook",
    "delimiter": "Between the cells of a CSV",
    "encoding": "Encoding of a CSV",
}
_READ = "under “How the file is read”"
_ROLE = "|".join(FIELDS)
_LABELS = {**FIELDS, **_OTHERS}
_ARGUMENT = re.compile(rf"^({'|'.join(_LABELS)}): ")
_USED = re.compile(rf"\b({_ROLE}) from column (?=['\"\d])")
_FIXED = re.compile(rf"\b({_ROLE})=(.{{1,40}}?) for all rows")

_SAID: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(said), instead)
    for said, instead in (
        (r"with --(?:sheet|delimiter|encoding) \([^()]*\)", _READ),
        (r"say so with --encoding ([\w-]+) \([^()]*\)", rf"choose \1 {_READ}"),
        (r"or name the delimiter$", f"or say what lies between the cells, {_READ}"),
        (r", or replace it with --force \(force=True\)", ""),
        (r"run the same command again", "show the plan again"),
        (r"so the same command will", "so another run will"),
        (
            r"convert the column first, for instance with pd\.to_datetime\(\.\.\., format='(.*)'\)",
            r"say how they are written under “How dates are written”, for instance \1",
        ),
        (
            r"convert the column first, for instance with pd\.to_datetime\(\.\.\., unit.*\)",
            "it is a spreadsheet's number: give the cells of the column the form 2026-05-01 there",
        ),
        (
            r"for instance with tz='([\w/]+)'(, or convert it first: .*)?",
            r"under “Time zone of the dates”, for instance \1",
        ),
        (
            r"Say which: zip=…, or address= and city=, or location=, or lat= and lng=",
            "Choose a ZIP Code, or street address and city, or a place name, or both coordinates",
        ),
        (
            rf"several columns look like ({_ROLE}): (.*); say which one with .*",
            r"several columns could be meant: \2; choose one, or “Not used”",
        ),
        (
            r"Name the columns in the call, and False for one that is not to be used",
            "Choose the columns, and “Not used” for what is not of that place",
        ),
        (
            r"say so with as_of='…'.*, or as_of='today' for today's rates",
            "choose it, or “Rates of today”",
        ),
        (
            r"(or choose a prefix|or look up with a prefix), for instance prefix='(\w+)'",
            r"or put \2 under “Prefix of added columns”",
        ),
        (r"choose another, for instance prefix='(\w+)'", r"choose another, for instance \1"),
        (r"; name it with as_of$", "; choose it under “Date of the sale”"),
        (r"^((?:\w+: )?)(the|a) frame\b", r"\1\2 file"),
    )
)
"""What is said to those who write Python or commands, and what the panel says instead."""


def spoken(text: str, name: str = "") -> str:
    """A message about a file as a sentence that speaks of the panel's own fields.

    Args:
        text: the message.
        name: the name of the file, which keeps its letters where the sentence begins with it.
    """
    line = " ".join(text.split())
    for said, instead in _SAID:
        line = said.sub(instead, line)
    line = _ARGUMENT.sub(lambda found: f"{_LABELS[found[1]]}: ", line)
    line = _USED.sub(lambda found: f"{FIELDS[found[1]]} from column ", line)
    line = _FIXED.sub(lambda found: f"{FIELDS[found[1]]} {found[2]} for all rows", line)
    if not (name and line.startswith(name)):
        line = capital(line)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def file_trouble(error: BaseException, name: str = "") -> Trouble:
    """What to say of an error of this tab; `name` is that of the file."""
    said = told(error)
    if isinstance(error, SvcError) or not isinstance(error, ValueError):
        return said
    return replace(said, text=spoken(str(error), name))
