"""Reading an address written in one line: its city, its state, its ZIP. Pure text."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.fips import STATE_CODES
from svc_tools.service.ratebook.state_ending import (
    abroad,
    ending_state,
    known_end,
    pieces_of,
    split_state,
    without_country,
)

if TYPE_CHECKING:
    from svc_tools.service.ratebook.state_ending import Known

__all__ = ["Parts", "parse_line"]

_FIVE = re.compile(r"(?<![\w#-])(\d{5})(?:[-\s]?\d{4})?(?!-?\w)", re.ASCII)
_GLUED = re.compile(rf"\b({'|'.join(STATE_CODES.values())})(\d{{5}}(?:-\d{{4}})?)\b", re.ASCII)
_NUMBERED = (
    r"(?:p\.?\s*o\.?\s*)?box|pmb|suite|ste|apt|apartment|unit|room|rm|lot|space|spc|floor|building"
    r"|bldg|dept|mail ?stop|acct|account|order|invoice|ref|phone|tel|fax|attn|attention|no|number"
)
_ROAD = r"hwy|highway|route|rte|rt|road|rd|sr|cr|fm|interstate|loop"
_BARRED = re.compile(rf"(?:(?:^|[\s,.(/-])(?:{_NUMBERED}|{_ROAD})|#)[\s.:#-]*$", re.IGNORECASE)
_ROAD_NEXT = re.compile(rf"^\s*(?:{_ROAD})\b", re.IGNORECASE)
_STREET_WORDS = 2
_HAWAII = re.compile("hawai(?:[^\\w\\s]|\N{MODIFIER LETTER TURNED COMMA})i", re.IGNORECASE)
_TAIL = re.compile(
    rf"[\s,-]+(?:(?:(?:{_NUMBERED})\b|#)[\s.:#]*(?:[\w-]*\d[\w-]*|\w)"
    r"|(?:attn|attention|phone|tel|fax|c/o)\b[^,]*)$",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"(?:[\s,]+\d{5}(?:-\d{4})?)+$", re.ASCII)
"""Numbers at the end that are not taken for the ZIP: the city before them decides."""


class Parts(NamedTuple):
    """What an address line says of its place; empty where it says nothing.

    `state` is one read with certainty; `abroad` names a place outside the United States.
    """

    city: str
    state: str
    zip: str
    abroad: str = ""


def _none_known(_state: str, _text: str) -> bool:
    return False


def parse_line(line: str, state: str = "", known: Known = _none_known) -> Parts:
    """City, state and ZIP of an address written in one line.

    A number is its ZIP where a state or a known city stands directly before it, or where the
    parser of addresses takes it for one; never the number of a box, a suite, a road or an account.

    Args:
        line: street, city, state ZIP, in nearly any writing.
        state: the state asked for: its places are preferred to states of the same name.
        known: tells the places of a state; without it no name is known.
    """
    text = re.sub(r"[;\r\n]", ",", unicodedata.normalize("NFKC", line))
    text = without_country(" ".join(_GLUED.sub(r"\1 \2", text).split()))
    text = without_county(_HAWAII.sub("Hawaii", text), state, known)
    outside = abroad(text, state, known)
    if outside:
        return Parts("", "", "", outside)
    zip5, text = _take_zip(text, state, known)
    text = _without_tail(without_country(text))
    text = text if zip5 else _LOOSE.sub("", text)
    text, named = split_state(text, state, known)
    if named == "CA" and not zip5 and (outside := abroad(text, state, known)):
        return Parts("", "", "", outside)  # "Toronto, Ontario, CA": CA is Canada here
    return Parts(_city(_without_tail(text), state, known), named, zip5)


def _take_zip(text: str, state: str, known: Known) -> tuple[str, str]:
    """The ZIP, and the text without it and what follows; `""` and the whole text without one."""
    beside: dict[str, re.Match[str]] = {}
    others: dict[str, re.Match[str]] = {}
    for found in _FIVE.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        if _BARRED.search(before) or _ROAD_NEXT.search(after) or not before.strip(" ,."):
            continue
        if ending_state(without_country(before.rstrip(" ,.:(-"))):
            beside.setdefault(found[1], found)
        elif not (before.rstrip().endswith(",") and re.match(r"\s*[^\W\d]", after)):
            others[found[1]] = found  # not the house number that begins a piece
    if len(beside) == 1:
        ((zip5, found),) = beside.items()
        return zip5, text[: found.start()].rstrip(" ,(-")
    if beside or len(others) != 1:
        return "", text
    ((zip5, found),) = others.items()
    before, after = text[: found.start()], text[found.end() :].strip(" ,.")
    follows = ending_state(after)
    if after and (follows is None or follows.head):
        return "", text
    if known_end(before, state, known) or _labelled(text, zip5):
        return zip5, f"{before.rstrip(' ,')}, {after}"
    return "", text


def _labelled(text: str, zip5: str) -> bool:
    """Whether the parser of addresses takes the number for a ZIP."""
    return any(label == "ZipCode" and token.startswith(zip5) for token, label in _tokens(text))


def _tokens(text: str) -> list[tuple[str, str]]:
    import usaddress  # noqa: PLC0415 - loads its model: only where an address needs it

    return list(usaddress.parse(text))


def _without_tail(text: str) -> str:
    """The text without suites, boxes and notes at its end."""
    while found := _TAIL.search(text):
        if not text[: found.start()].strip(" ,"):
            break
        text = text[: found.start()]
    return text.strip(" ,")


def _city(text: str, state: str, known: Known) -> str:
    """The city of a line that its state and ZIP were taken from."""
    pieces = pieces_of(re.sub(r"\([^)]*\)", " ", text)) or pieces_of(text)
    if not pieces:
        return ""
    last = pieces[-1]
    if len(pieces) > 1 and known(state, pieces[-2]) and _says_more_than_the_city(last, state):
        return pieces[-2]
    if known(state, last) or (len(pieces) > 1 and not re.search(r"\d", last)):
        return last
    found = known_end(last, state, known, after_street=True)
    if found:
        return found
    # a street without its usual last word: the longest place that leaves a street before it
    found = known_end(last, state, known)
    return found if len(last.split()) - len(found.split()) >= _STREET_WORDS else ""


def _says_more_than_the_city(piece: str, state: str) -> bool:
    """Whether a piece behind a city is its county or its state: "Milwaukee, Milwaukee County"."""
    ending = ending_state(piece)
    own_state = ending is not None and not ending.head and ending.state == state
    return own_state or re.search(r"\bcounty$", piece, re.IGNORECASE) is not None


def without_county(text: str, state: str, known: Known) -> str:
    """An address or a city without the county that stands behind the city."""
    pieces = text.split(",")
    kept = [
        piece
        for number, piece in enumerate(pieces)
        if not (
            number
            and re.search(r"\bcounty\s*$", piece, re.IGNORECASE)
            and (known(state, pieces[number - 1].strip()) or _is_state(pieces[number - 1], state))
        )
    ]
    return ",".join(kept)


def _is_state(piece: str, state: str) -> bool:
    ending = ending_state(piece)
    return ending is not None and ending.state == state
