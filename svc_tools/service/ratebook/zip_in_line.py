"""Which number of an address line is its ZIP: never that of a box, a road, a store or an order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.state_ending import ending_state, known_end, without_country

if TYPE_CHECKING:
    from svc_tools.service.ratebook.state_ending import Known

__all__ = ["NUMBERED", "Taken", "take_zip"]

NUMBERED = (
    r"box|pob|pmb|drawer|suite|ste|apt|apartment|unit|room|rm|lot|space|spc|floor|building|bldg"
    r"|dept|department|division|div|mail ?stop|acct|account|customer|cust|client|vendor|member"
    r"|order|p\.?\s?o\.?|post office|invoice|inv|quote|job|project|proj|contract|permit|license"
    r"|licence|case|claim|file|ticket|item|sku|serial|batch|load|bol|tracking|shipment|delivery"
    r"|ref|reference|ein|tin|phone|tel|telephone|cell|fax|ext|attn|attention|no|number|num|store"
    r"|shop|branch|site|location|loc|terminal|warehouse|whse|dock|door|hangar|trailer|trlr|slip"
    r"|stop|code"
)
"""What a number may belong to that is none of the ZIP's, as a pattern."""

_FIVE = re.compile(r"(?<![\w#-])(\d{5})(?:[-\s]?(\d{4}))?(?!-?\w)", re.ASCII)
_LABEL = re.compile(
    r"\b(?:zip[\s-]?code|zip\s?\+\s?4|zip|postal[\s-]?code|post[\s-]?code)\b[\s.:#=-]*"
    r"(\d{5})(?:[-\s]?(\d{4}))?(?!-?\w)",
    re.IGNORECASE | re.ASCII,
)
_ROAD = r"hwy|highway|route|rte|rt|road|rd|sr|cr|fm|interstate|loop"
_BARRED = re.compile(rf"(?:(?:^|[\s,.(/-])({NUMBERED}|{_ROAD})|#)[\s.:#-]*$", re.IGNORECASE)
_ROAD_NEXT = re.compile(rf"^\s*(?:{_ROAD})\b", re.IGNORECASE)
_EDGE = " ,./&-"
_DAMAGED = re.compile(
    r"[\s,.:-]((?P<short>\d{4})(?:-(?P<plus4>\d{4}))?|(?P<zip>\d{5})-\d{1,3}|\d{3,4}|\d{5,9}[-\d]+)"
    r"[\s,.-]*$",
    re.ASCII,
)
"""A number at the end that stands for a ZIP and is none, as a whole."""
_WITH_ZERO = frozenset({"CT", "MA", "ME", "NH", "NJ", "RI", "VT"})
"""States whose ZIPs begin with a zero, which spreadsheets drop."""


class Taken(NamedTuple):
    """A ZIP and the text that is left of its line.

    Attributes:
        zip: five digits; empty where the line has none.
        plus4: the four digits behind them.
        text: what stands before the ZIP; the whole line where it has none.
        others: the ZIPs of further addresses in the line, where nothing tells which is meant.
        damaged: what stands in the place of a ZIP and is none: too short or too long.
    """

    zip: str
    plus4: str
    text: str
    others: tuple[str, ...] = ()
    damaged: str = ""


def take_zip(text: str, state: str, known: Known) -> Taken:
    """The ZIP of an address line, and the line without it and without what follows.

    A number is the ZIP where it is called so, where a state or a known city stands directly
    before it, where nothing but a city and a state follows it, or where the parser of addresses
    takes it for one.

    Args:
        text: the line, without its country.
        state: the state asked for: of two addresses, the one in it is meant.
        known: tells the places of a state.
    """
    labelled = list(_LABEL.finditer(text))
    if len({found[1] for found in labelled}) == 1:
        found = labelled[0]
        before, after = text[: found.start()].strip(_EDGE + "("), text[found.end() :].strip(_EDGE)
        return Taken(found[1], found[2] or "", before or after)
    beside: dict[str, re.Match[str]] = {}
    states: dict[str, str] = {}
    others: dict[str, re.Match[str]] = {}
    ends: list[int] = []
    for found in _FIVE.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        if _barred(before, state, known) or _ROAD_NEXT.search(after) or not before.strip(" ,."):
            continue
        ending = ending_state(without_country(before.rstrip(" ,.:(-")))
        if ending and (ending.head or ending.state == state or not after.strip(_EDGE)):
            beside.setdefault(found[1], found)
            states.setdefault(found[1], ending.state)
            ends.append(found.end())
        elif not (before.rstrip().endswith(",") and re.match(r"\s*[^\W\d]", after)):
            others[found[1]] = found  # not the house number that begins a piece
    if beside:
        return _of_several(text, beside, [zip5 for zip5 in beside if states[zip5] == state], ends)
    if len(others) == 1:
        ((zip5, found),) = others.items()
        before, after = text[: found.start()], text[found.end() :].strip(" ,.")
        follows = ending_state(after)
        if after and (follows is None or follows.head):
            return Taken("", "", text)
        if known_end(before, state, known) or _parsed(text, zip5):
            return Taken(zip5, found[2] or "", f"{before.rstrip(' ,')}, {after}")
    read = None if others else _leading(text, state, known) or _damaged(text, state, known)
    return read or Taken("", "", text)


def _of_several(
    text: str, beside: dict[str, re.Match[str]], here: list[str], ends: list[int]
) -> Taken:
    """The one ZIP behind a state, or of two addresses the one in the state asked for."""
    chosen = [*beside] if len(beside) == 1 else here
    if len(chosen) != 1:
        return Taken("", "", text, tuple(beside))
    found = beside[chosen[0]]
    start = max((end for end in ends if end < found.start()), default=0)
    start = start if len(beside) > 1 else 0
    before, after = text[start : found.start()].strip(_EDGE + "("), text[found.end() :].strip(_EDGE)
    ending = ending_state(without_country(before))
    if len(beside) == 1 and after and ending and not ending.head:  # "NC 28202 Charlotte"
        before = f"{after}, {before}"
    return Taken(found[1], found[2] or "", before)


def _leading(text: str, state: str, known: Known) -> Taken | None:
    """A ZIP that stands first, before a city or a state and nothing else: "28202 Charlotte NC"."""
    found = _FIVE.match(text.lstrip(" ,.#"))
    if not found:
        return None
    rest = without_country(text.lstrip(" ,.#")[found.end() :].strip(_EDGE))
    ending = ending_state(rest)
    head = ending.head if ending and ending.state == state else rest
    if not rest or (head and not known(state, head.strip(_EDGE))):
        return None
    return Taken(found[1], found[2] or "", rest)


def _damaged(text: str, state: str, known: Known) -> Taken | None:
    """A number behind a known city and the state asked for that is no ZIP: "Boston MA 2108"."""
    found = _DAMAGED.search(text)
    ending = ending_state(text[: found.start()]) if found else None
    if not found or ending is None or ending.state != state:
        return None
    if not known_end(ending.head, state, known):
        return None
    before = text[: found.start()].rstrip(_EDGE)
    if found["zip"]:  # only the four digits behind it are damaged
        return Taken(found["zip"], "", before)
    if found["short"] and state in _WITH_ZERO:
        return Taken(f"0{found['short']}", found["plus4"] or "", before)
    return Taken("", "", before, damaged=found[1])


def _barred(before: str, state: str, known: Known) -> bool:
    """Whether a number belongs to the word before it; Green Bay and Olive Branch are cities."""
    found = _BARRED.search(before)
    if not found:
        return False
    if found[1] is None:
        return True
    if known(state, before.strip(_EDGE)) or known_end(before, state, known, after_street=True):
        return False
    return len(known_end(before, state, known)) <= len(found[1])


def _parsed(text: str, zip5: str) -> bool:
    """Whether the parser of addresses takes the number for a ZIP."""
    import usaddress  # noqa: PLC0415 - loads its model: only where an address needs it

    labels = usaddress.parse(text)
    return any(label == "ZipCode" and token.startswith(zip5) for token, label in labels)
