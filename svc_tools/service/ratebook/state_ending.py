"""The state or country that ends a place as people write it: `Charlotte, N.C., USA`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.fips import STATE_CODES
from svc_tools.service.ratebook.names import name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Known = Callable[[str, str], bool]
    """Whether a state (two-letter code) has a place that a text names."""

__all__ = [
    "Ending",
    "abroad",
    "ending_state",
    "known_end",
    "pieces_of",
    "split_state",
    "without_country",
]

_COUNTRY = re.compile(
    r"[\s,]+(?:u\s?\.?\s?s\s?\.?(?:\s?a\s?\.?)?|u\.?s\.? of a(?:merica)?\.?"
    r"|(?:the )?united states(?: of america)?)[\s,.]*$",
    re.IGNORECASE,
)
_SHORT = {
    "ala": "AL", "ariz": "AZ", "ark": "AR", "calif": "CA", "colo": "CO", "conn": "CT", "del": "DE",
    "fla": "FL", "ill": "IL", "ind": "IN", "kan": "KS", "kans": "KS", "mass": "MA", "mich": "MI",
    "minn": "MN", "miss": "MS", "mont": "MT", "neb": "NE", "nebr": "NE", "nev": "NV", "o": "OH",
    "okla": "OK", "ore": "OR", "oreg": "OR", "penn": "PA", "penna": "PA", "tenn": "TN",
    "tex": "TX", "wash": "WA", "wis": "WI", "wisc": "WI", "wyo": "WY",
}  # fmt: skip
"""Older short forms: states only behind a comma or with their full stop."""
_NORTH, _SOUTH = r"n(?:o|orth)?\.? ?", r"s(?:o|outh)?\.? ?"
_HALF_WRITTEN = {
    state: re.compile(rf"(?:^|[\s,])({name})[\s.]*$", re.IGNORECASE)
    for state, name in (
        ("NC", rf"{_NORTH}car(?:olina)?"), ("SC", rf"{_SOUTH}car(?:olina)?"),
        ("ND", rf"{_NORTH}dak(?:ota)?"), ("SD", rf"{_SOUTH}dak(?:ota)?"),
        ("WV", r"w(?:est)?\.? ?v(?:a|irginia)"), ("NM", r"n(?:ew)?\.? ?mex(?:ico)?"),
        ("NH", r"n(?:ew)?\.? ?hamp(?:shire)?"), ("NJ", r"n\.? ?jersey"), ("NY", r"n\.? ?york"),
    )
}  # fmt: skip
"""States of two words with one of them short; only where that state is asked for: West Va."""
_CODES = frozenset(STATE_CODES.values())
_NAMES = {name_key(name): code for name, code in STATE_CODES.items()}
_END_NAME = re.compile(
    rf"(?:^|[\s,])({'|'.join(name.replace(' ', '[ ]+') for name in STATE_CODES)})[\s.]*$",
    re.IGNORECASE,
)
_END_CODE = re.compile(r"(?:^|[\s,.])([a-z])(?:\.[ ]?)?([a-z])\.?$", re.IGNORECASE | re.ASCII)
_END_APART = re.compile(r"(?:^|,)\s*([a-z]) ([a-z])$", re.IGNORECASE | re.ASCII)
_END_SHORT = re.compile(r"(?:(?:^|,)\s*([a-z]+)\.?|\s([a-z]+)\.)$", re.IGNORECASE | re.ASCII)

_PROVINCES = {
    "alberta": "Alberta", "ab": "Alberta", "britishcolumbia": "British Columbia",
    "bc": "British Columbia", "manitoba": "Manitoba", "mb": "Manitoba",
    "newbrunswick": "New Brunswick", "nb": "New Brunswick", "newfoundland": "Newfoundland",
    "newfoundlandandlabrador": "Newfoundland", "nl": "Newfoundland",
    "northwestterritories": "Northwest Territories", "nt": "Northwest Territories",
    "novascotia": "Nova Scotia", "ns": "Nova Scotia", "nunavut": "Nunavut", "nu": "Nunavut",
    "ontario": "Ontario", "on": "Ontario", "princeedwardisland": "Prince Edward Island",
    "pe": "Prince Edward Island", "quebec": "Quebec", "qc": "Quebec",
    "saskatchewan": "Saskatchewan", "sk": "Saskatchewan", "yukon": "Yukon", "yt": "Yukon",
}  # fmt: skip
_CANADIAN = re.compile(
    r"(?:^|[\s,])[abceghj-nprstvxy]\d[a-z][ -]?\d[a-z]\d$", re.IGNORECASE | re.ASCII
)
_CANADIAN_CITIES = frozenset({
    "ajax", "barrie", "belleville", "brampton", "brantford", "brockville", "burlington",
    "cambridge", "chatham", "cornwall", "greatersudbury", "guelph", "hamilton", "kingston",
    "kitchener", "london", "markham", "milton", "mississauga", "newmarket", "niagarafalls",
    "northbay", "oakville", "orillia", "oshawa", "ottawa", "peterborough", "pickering",
    "richmondhill", "sainthomas", "saintcatharines", "sarnia", "saultsaintemarie",
    "scarborough", "stratford", "sudbury", "thunderbay", "timmins", "toronto", "vaughan",
    "waterloo", "welland", "whitby", "windsor", "woodstock", "bathurst", "dieppe", "edmundston",
    "fredericton", "miramichi", "moncton", "saintjohn",
})  # fmt: skip
"""Cities of the provinces that towns of the United States are called like."""
_COUNTRIES = {"canada": "Canada", "mexico": "Mexico"}
_NO_CITY = re.compile(
    r"\d|^(?:suite|ste|apt|unit|building|bldg|floor|room|attn)\b"
    r"|\b(?:st|street|ave|avenue|rd|road|blvd|boulevard|dr|drive|ln|lane|hwy|highway|way)\.?$",
    re.IGNORECASE,
)
_STREET_WORD = re.compile(
    r"(?:st|street|ave|avenue|rd|road|blvd|boulevard|dr|drive|ln|lane|ct|court|pl|place|pkwy"
    r"|parkway|hwy|highway|way|ter|terrace|cir|circle|[ns][ew])\.?",
    re.IGNORECASE,
)
_WITH_STREET = 3
_LONGEST_NAME = 5


class Ending(NamedTuple):
    """A state at the end of a text: what stands before it, its code, whether by name or code."""

    head: str
    state: str
    named: bool


def without_country(text: str) -> str:
    """The text without the words for the United States at its end, and without loose stops."""
    return _COUNTRY.sub("", text).strip(" ,")


def pieces_of(text: str) -> list[str]:
    """The parts between commas that hold anything."""
    return [piece.strip() for piece in text.split(",") if piece.strip(" .")]


@lru_cache(maxsize=4096)
def ending_state(text: str) -> Ending | None:
    """The state that a text ends in, by name, code (`NC`, `N.C.`) or older short form."""
    text = text.strip(" ,")
    found = _END_NAME.search(text)
    if found:
        return Ending(text[: found.start()].strip(" ,"), _NAMES[name_key(found[1])], named=True)
    for pattern in (_END_CODE, _END_APART):
        found = pattern.search(text)
        if found and (code := f"{found[1]}{found[2]}".upper()) in _CODES:
            return Ending(text[: found.start()].strip(" ,"), code, named=False)
    found = _END_SHORT.search(text)
    short = (found[1] or found[2]).casefold() if found else ""
    if found and short in _SHORT:
        return Ending(text[: found.start()].strip(" ,"), _SHORT[short], named=True)
    return None


def split_state(text: str, state: str, known: Known) -> tuple[str, str]:
    """A text without the state at its end, and the code of that state; `""` where it names none.

    Indiana is a town in Pennsylvania, Washington a city in the District: the name of a state that
    is also a place of the state asked for is that place, unless what stands before it reads as
    the city of an address.

    Args:
        text: an address or a place, without its ZIP and country.
        state: the state asked for.
        known: tells the places of a state.
    """
    ending = ending_state(text)
    pieces = pieces_of(text)
    if ending is None or not pieces or _before_half_written(text, state):
        return _without_short(text, state, known)
    last = pieces[-1]
    alone = ending_state(last)
    if alone is None:  # the state's name runs over a comma
        return text, ""
    own_code = ending.state == state and not ending.named  # Denver CO is not Denver County
    cut = own_code and known_end(alone.head, state, known)
    whole = alone.head and known(state, last) and not cut  # Port Washington, Orange Co
    if whole or (not ending.named and _is_a_place(pieces, alone, state, known)):
        return text, ""
    if alone.head and ending.state == "NE" != state and re.search(r"\d", last):
        return text, ""  # north-east, of a street
    if ending.named:
        place = last[len(alone.head) :].strip()
        before = alone.head or (pieces[-2] if len(pieces) > 1 else "")
        city_before = bool(known_end(before, ending.state, known)) or (
            not alone.head and len(pieces) >= _WITH_STREET and not _NO_CITY.search(before)
        )
        longest = known_end(last, state, known, after_street=True) if alone.head else ""
        if len(longest) > len(place) or (known(state, place) and not city_before):
            return text, ""
    return ending.head, ending.state


def _without_short(text: str, state: str, known: Known) -> tuple[str, str]:
    """Without a short form of the state asked for that stands bare behind its city: Seattle Wash.

    Any other bare word is no state: Miss, Penn and Wash end streets and cities too.
    """
    if before := _before_half_written(text, state):
        return before, state
    head, _, last = text.rpartition(" ")
    own = _SHORT.get(last.casefold()) == state and known_end(head, state, known)
    return (head.strip(" ,"), state) if own and not known(state, last) else (text, "")


def _before_half_written(text: str, state: str) -> str:
    """What stands before the state asked for, where one of its two words is in short."""
    half = _HALF_WRITTEN.get(state)
    found = half.search(text) if half else None
    return text[: found.start()].strip(" ,") if found else ""


def _is_a_place(pieces: Sequence[str], ending: Ending, state: str, known: Known) -> bool:
    """Whether what reads as another state's code ends a place: LA is Los Angeles in California."""
    last = pieces[-1]
    place = known_end(last, state, known)
    code = last[len(ending.head) :].strip(" .,")
    if ending.state == state or not place.endswith(code):
        return False
    before = ending.head or (pieces[-2] if len(pieces) > 1 else "")
    street = not before or (_NO_CITY.search(before) and not known_end(before, ending.state, known))
    return place != code or bool(street)


def known_end(text: str, state: str, known: Known, *, after_street: bool = False) -> str:
    """The longest known place that a text ends in; right behind a street's last word, if asked."""
    pieces = pieces_of(text)
    words = pieces[-1].split() if pieces else []
    for count in range(min(len(words), _LONGEST_NAME), 0, -1):
        name = " ".join(words[-count:]).strip(" .")
        previous = words[-count - 1] if len(words) > count else ""
        if after_street and not _STREET_WORD.fullmatch(previous):
            continue
        if known(state, name):
            return name
    return ""


def abroad(text: str, state: str, known: Known) -> str:
    """The Canadian province or the country that a text ends in, as a name; `""`: none.

    Ontario in California and New Brunswick in New Jersey stay places of their states, unless a
    Canadian city stands before them.
    """
    if _CANADIAN.search(text.rstrip(" .,")):
        return "Canada"
    pieces = pieces_of(text)
    if not pieces:
        return ""
    key = name_key(pieces[-1])
    name = _COUNTRIES.get(key) or (f"{_PROVINCES[key]}, Canada" if key in _PROVINCES else "")
    if not name or len(pieces) == 1:
        return ""
    city_before = name_key(pieces[-2]) in _CANADIAN_CITIES
    return "" if known(state, pieces[-1]) and not city_before else name
