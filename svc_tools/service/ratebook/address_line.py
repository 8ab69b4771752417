"""Reading an address written in one line: its city, its state, its ZIP. Pure text."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.fips import STATE_CODES
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.state_ending import (
    abroad,
    ending_state,
    known_end,
    pieces_of,
    split_state,
    without_country,
)
from svc_tools.service.ratebook.zip_in_line import NUMBERED, take_zip

if TYPE_CHECKING:
    from svc_tools.service.ratebook.state_ending import Known

__all__ = ["Parts", "county_of", "military", "parse_line", "without_county"]

_GLUED = re.compile(
    rf"(?:(?<=[a-z])|\b)({'|'.join(STATE_CODES.values())})(\d{{5}}(?:-\d{{4}})?)\b", re.ASCII
)
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_SEPARATORS = re.compile(r"[;|\t\r\n\"\u201c\u201d\u2022]|\s/\s")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
"""Characters that copied text brings along and no one sees."""
_AND_BEFORE = re.compile(r"(?:\s(?:and|or|&|\+)|/)\s*$", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|or|then|&|\+)\s", re.IGNORECASE)
_MILITARY = re.compile(
    r"(?:^|[\s,])([AFD]PO)(?:[\s,]+[A-Z]{2})?(?:[\s,]+\d{5}(?:-\d{4})?)?[\s,.]*$", re.IGNORECASE
)
_STREET_WORDS = 2
_DIRECTION = re.compile(
    r"(?:[ns]\.?[ew]?|[ew]|north|south|east|west|old|new|upper|lower|the|\d+)\.?", re.IGNORECASE
)
"""Words that begin a street's name: "1200 N Washington" is a street, and no city is named."""
_HAWAII = re.compile("hawai(?:[^\\w\\s]|\N{MODIFIER LETTER TURNED COMMA})i", re.IGNORECASE)
_TAIL = re.compile(
    rf"(?<![\s,-])[\s,-]+(?:(?:(?:(?:{NUMBERED})\b|#)[\s.:#]*+){{1,3}}(?:[\w-]*\d[\w-]*|\w)"
    r"|(?:attn|attention|phone|tel|fax|c/o)\b[^,]*)$",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"(?:[\s,]+\d{5}(?:-\d{4})?)+$", re.ASCII)
"""Numbers at the end that are not taken for the ZIP: the city before them decides."""


class Parts(NamedTuple):
    """What an address says of its place; empty where it says nothing.

    Attributes:
        city: the city as written.
        state: two-letter code, where it was read with certainty.
        zip: five digits.
        plus4: the four digits behind them.
        street: what stands before the city, as written, with suites and boxes.
        abroad: a place outside the United States that is named in place of a state.
        unclear: why it names no one place of a state, as a clause.
        damaged: what stands in the place of a ZIP and is none.
        county: the county that stands behind the city, as written.
    """

    city: str = ""
    state: str = ""
    zip: str = ""
    plus4: str = ""
    street: str = ""
    abroad: str = ""
    unclear: str = ""
    damaged: str = ""
    county: str = ""


def _none_known(_state: str, _text: str) -> bool:
    return False


def parse_line(line: str, state: str = "", known: Known = _none_known) -> Parts:
    """City, state and ZIP of an address written in one line.

    Args:
        line: street, city, state ZIP, in nearly any writing.
        state: the state asked for: its places are preferred to states of the same name.
        known: tells the places of a state; without it no name is known.
    """
    line = _SEPARATORS.sub(",", _UNSEEN.sub("", line))
    text = _DASHES.sub("-", unicodedata.normalize("NFKC", line))
    text = without_country(" ".join(_GLUED.sub(r" \1 \2", text).split()))
    text = _HAWAII.sub("Hawaii", text)
    county, text = county_of(text, state, known), without_county(text, state, known)
    if found := military(text):
        return Parts(unclear=found)
    outside = abroad(text, state, known)
    if outside:
        return Parts(abroad=outside)
    zip5, plus4, text, others, damaged = take_zip(text, state, known)
    if others:
        return Parts(unclear=f"it holds several addresses (ZIPs {', '.join(others)})")
    text = _without_tail(without_country(text))
    if not zip5 and len(cities := _cities(text, state, known)) > 1:
        return Parts(unclear=f"it holds several addresses (in {' and '.join(cities)})")
    text = text if zip5 else _LOOSE.sub("", text)
    text, named = split_state(text, state, known)
    if named == "CA" and not zip5 and (outside := abroad(text, state, known)):
        return Parts(abroad=outside)  # "Toronto, Ontario, CA": CA is Canada here
    city = _city(_without_tail(text), state, known, sure=bool(named or zip5))
    street = _before(text, city)
    other = _joined(street, state, known) if city and not zip5 else ""
    both = f"it names two places ({other} and {city})" if other else ""
    return Parts(city, named, zip5, plus4, street, unclear=both, damaged=damaged, county=county)


def _before(text: str, city: str) -> str:
    """What stands before the city of a line: its street, with suites and boxes."""
    return text[: text.rfind(city)].strip(" ,") if city else text.strip(" ,")


def _joined(before: str, state: str, known: Known) -> str:
    """The place that is named beside a city as well: "between Monroe and Wingate"."""
    found = _AND_BEFORE.search(before)
    return known_end(before[: found.start()], state, known) if found else ""


def _cities(text: str, state: str, known: Known) -> list[str]:
    """The cities of a line that stand before the state asked for, if a number is between them."""
    found: dict[str, str] = {}
    pieces = pieces_of(_AND.sub(",", text))
    numbered = True
    for before, piece in zip(["", *pieces], pieces, strict=False):
        ending = ending_state(piece)
        numbered = numbered or bool(re.search(r"\d", piece))
        if ending is None or ending.state != state or ending.named:
            continue
        city = known_end(ending.head or before, state, known)
        if city and numbered:
            found.setdefault(name_key(city), city)
            numbered = False
    return list(found.values())


def military(text: str) -> str:
    """Why an address of the armed forces or a diplomatic post has no rate; `""`: it is none."""
    found = _MILITARY.search(text)
    if not found:
        return ""
    name = found[1].upper()
    return f"{name} is military or diplomatic mail, not a place in a state"


def _without_tail(text: str) -> str:
    """The text without suites, boxes and notes at its end."""
    while found := _TAIL.search(text):
        if not text[: found.start()].strip(" ,"):
            break
        text = text[: found.start()]
    return text.strip(" ,")


def _city(text: str, state: str, known: Known, *, sure: bool) -> str:
    """The city of a line that its state and ZIP were taken from; `sure`: it had one of them."""
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
    before = last[: len(last) - len(found)].split()
    named = [word for word in before[1:] if not _DIRECTION.fullmatch(word)]
    return found if len(before) >= _STREET_WORDS and (sure or named) else ""


def _says_more_than_the_city(piece: str, state: str) -> bool:
    """Whether a piece behind a city is its county or its state: "Milwaukee, Milwaukee County"."""
    ending = ending_state(piece)
    own_state = ending is not None and not ending.head and ending.state == state
    return own_state or re.search(r"\bcounty$", piece, re.IGNORECASE) is not None


def without_county(text: str, state: str, known: Known) -> str:
    """An address or a city without the county that stands behind the city."""
    pieces = text.split(",")
    dropped = _counties(pieces, state, known)
    return ",".join(piece for number, piece in enumerate(pieces) if number not in dropped)


def county_of(text: str, state: str, known: Known) -> str:
    """The county that stands behind the city of an address or a place, as written."""
    pieces = text.split(",")
    return next((pieces[n].strip() for n in _counties(pieces, state, known)), "")


def _counties(pieces: list[str], state: str, known: Known) -> list[int]:
    """Which pieces are a county behind a city or a state."""
    return [
        number
        for number, piece in enumerate(pieces)
        if number
        and re.search(r"\bcounty\s*$|\w\s+(?:co|cnty)\.?\s*$", piece, re.IGNORECASE)
        and (known(state, pieces[number - 1].strip()) or _is_state(pieces[number - 1], state))
    ]


def _is_state(piece: str, state: str) -> bool:
    ending = ending_state(piece)
    return ending is not None and ending.state == state
