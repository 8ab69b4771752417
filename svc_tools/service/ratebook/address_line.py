"""Parsing an address written in one line into street, city, state and ZIP. Pure text.

First the whole line (`parse_line`), then which of its numbers is the ZIP, never that of a box, a
road, a store or an order (`_take_zip`), then the state or country that ends a place as people
write it, `Charlotte, N.C., USA` (`split_state`, `abroad`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.base.extras import needs, require
from svc_tools.service.ratebook.names import STATE_CODES, is_short_form, name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Known = Callable[[str, str], bool]
    """Whether a state (two-letter code) has a place that a text names."""

_STREET_WORDS = 2

_NUMBERED = (
    r"box|pob|pmb|drawer|suite|ste|apt|apartment|unit|room|rm|lot|space|spc|floor|building|bldg"
    r"|dept|department|division|div|mail ?stop|acct|account|customer|cust|client|vendor|member"
    r"|order|p\.?\s?o\.?|post office|invoice|inv|quote|job|project|proj|contract|permit|license"
    r"|licence|case|claim|file|ticket|item|sku|serial|batch|load|bol|tracking|shipment|delivery"
    r"|ref|reference|ein|tin|phone|tel|telephone|cell|fax|ext|attn|attention|no|number|num|store"
    r"|shop|branch|site|location|loc|terminal|warehouse|whse|dock|door|hangar|trailer|trlr|slip"
    r"|stop|code"
)
"""Words whose number is not a ZIP, as a pattern."""
_ROAD = r"hwy|highway|route|rte|rt|road|rd|sr|cr|fm|interstate|loop"
_EDGE = " ,./&-"

_SHORT = {
    "ala": "AL", "ariz": "AZ", "ark": "AR", "calif": "CA", "colo": "CO", "conn": "CT", "del": "DE",
    "fla": "FL", "ill": "IL", "ind": "IN", "kan": "KS", "kans": "KS", "mass": "MA", "mich": "MI",
    "minn": "MN", "miss": "MS", "mont": "MT", "neb": "NE", "nebr": "NE", "nev": "NV", "o": "OH",
    "okla": "OK", "ore": "OR", "oreg": "OR", "penn": "PA", "penna": "PA", "tenn": "TN",
    "tex": "TX", "wash": "WA", "wis": "WI", "wisc": "WI", "wyo": "WY",
}  # fmt: skip
"""Older short forms: states only behind a comma or with their full stop."""
_NORTH, _SOUTH = r"n(?:o|orth)?\.? ?", r"s(?:o|outh)?\.? ?"
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
_COUNTRIES = {"canada": "Canada", "mexico": "Mexico"}
_WITH_STREET = 3
_LONGEST_NAME = 5

_GLUED = re.compile(
    rf"(?:(?<=[a-z])|\b)({'|'.join(STATE_CODES.values())})(\d{{5}}(?:-\d{{4}})?)\b", re.ASCII
)
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_SEPARATORS = re.compile(r"[;|\t\r\n\"\u201c\u201d\u2022]|\s/\s")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
"""Invisible characters that copied text brings along."""
_AND_BEFORE = re.compile(r"(?:\s(?:and|or|&|\+)|/)\s*$", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|or|then|&|\+)\s", re.IGNORECASE)
_MILITARY = re.compile(
    r"(?:^|[\s,])([AFD]PO)(?:[\s,]+[A-Z]{2})?(?:[\s,]+\d{5}(?:-\d{4})?)?[\s,.]*$", re.IGNORECASE
)
_DIRECTION = re.compile(
    r"(?:[ns]\.?[ew]?|[ew]|north|south|east|west|old|new|upper|lower|the|avenida|calle|camino|paseo"
    r"|rue|via|\d\S*)\.?",
    re.IGNORECASE,
)
"""Words that begin a street's name: "1200 N Washington", "12 Camino Del Mar" name no city."""
_GRID = re.compile(r"\d+ [nsew]\.? \d+ [nsew]\.? ", re.IGNORECASE)
_HAWAII = re.compile("hawai(?:[^\\w\\s]|\N{MODIFIER LETTER TURNED COMMA})i", re.IGNORECASE)
_TAIL = re.compile(
    rf"(?<![\s,-])[\s,-]+(?:(?:(?:(?:{_NUMBERED})\b|#)[\s.:#]*+){{1,3}}(?:[\w-]*\d[\w-]*|\w)"
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
        abroad: a place outside the United States that is named instead of a state.
        unclear: why it does not name exactly one place of a state, as a clause.
        damaged: what is written where the ZIP belongs and is not a ZIP.
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


def parse_line(
    line: str,
    state: str = "",
    known: Known = _none_known,
    known_zip: Known = _none_known,
    *,
    has_street: bool = True,
) -> Parts:
    """City, state and ZIP of an address written in one line.

    Args:
        line: street, city, state ZIP, in nearly any writing.
        state: the requested state: its places are preferred to states of the same name.
        known: tells the places of a state; without it no name is known.
        known_zip: tells the ZIPs of a state; without it no number is known to be one.
        has_street: whether it may hold a street: behind the name of a place alone, a number is its
            ZIP, and the parser of addresses is not needed.
    """
    line = _SEPARATORS.sub(",", _UNSEEN.sub("", line))
    text = _DASHES.sub("-", unicodedata.normalize("NFKC", line))
    text = without_country(" ".join(_GLUED.sub(r" \1 \2", text).split()))
    text = _HAWAII.sub("Hawaii", text)
    text = _county_apart(text, state, known)
    county, text = county_of(text, state, known), without_county(text, state, known)
    if found := military(text):
        return Parts(unclear=found)
    outside = abroad(text, state, known)
    if outside:
        return Parts(abroad=outside)
    zip5, plus4, text, others, damaged = _take_zip(
        text, state, known, known_zip, has_street=has_street
    )
    if others:
        return Parts(unclear=f"it holds several addresses (ZIPs {', '.join(others)})")
    text = _without_tail(without_country(text))
    if not zip5 and len(cities := _cities(text, state, known)) > 1:
        return Parts(unclear=f"it holds several addresses (in {' and '.join(cities)})")
    text = text if zip5 else _LOOSE.sub("", text)
    text, named = split_state(text, state, known)
    other = _state_elsewhere(text, state, known) if named == state else ""
    # "Toronto, Ontario, CA": CA is Canada there
    outside = abroad(text, state, known) if named == "CA" and not zip5 else ""
    if other or outside:
        return Parts(abroad=outside) if not other else Parts(state=other, zip=zip5)
    city = _city(_without_tail(text), state, known, sure=bool(named), with_zip=bool(zip5))
    street = _before(text, city)
    other = _joined(street, state, known) if city and not zip5 else ""
    both = f"it names two places ({other} and {city})" if other else ""
    return Parts(city, named, zip5, plus4, street, unclear=both, damaged=damaged, county=county)


def _before(text: str, city: str) -> str:
    """What stands before the city of a line: its street, with suites and boxes."""
    return text[: text.rfind(city)].strip(" ,") if city else text.strip(" ,")


def _joined(before: str, state: str, known: Known) -> str:
    """The place named in addition to a city: "between Monroe and Wingate"."""
    found = _AND_BEFORE.search(before)
    return _known_end(before[: found.start()], state, known) if found else ""


def _cities(text: str, state: str, known: Known) -> list[str]:
    """The cities of a line that stand before the requested state, if a number is between them."""
    found: dict[str, str] = {}
    pieces = _pieces_of(_AND.sub(",", text))
    numbered = True
    for before, piece in zip(["", *pieces], pieces, strict=False):
        ending = _ending_state(piece)
        numbered = numbered or bool(re.search(r"\d", piece))
        if ending is None or ending.state != state or ending.named:
            continue
        city = _known_end(ending.head or before, state, known)
        if city and numbered:
            found.setdefault(name_key(city), city)
            numbered = False
    return list(found.values())


def military(text: str) -> str:
    """Why an address of the armed forces or a diplomatic post has no rate; `""` for any other."""
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


def _city(
    text: str, state: str, known: Known, *, sure: bool = False, with_zip: bool = False
) -> str:
    """The city of a line that its state (`sure`) and ZIP (`with_zip`) were taken from."""
    pieces = _pieces_of(re.sub(r"\([^)]*\)", " ", text)) or _pieces_of(text)
    if not pieces:
        return ""
    last = pieces[-1]
    if len(pieces) > 1 and known(state, pieces[-2]) and _says_more_than_the_city(last, state):
        return pieces[-2]
    if known(state, last) or (len(pieces) > 1 and not re.search(r"\d", last)):
        return last
    found = _known_end(last, state, known, after_street=True)
    if found:
        return found
    # a street without its usual last word: the longest place that leaves a street before it
    found = _known_end(last, state, known)
    found = _behind_grid(last, found, state, known)
    before = last[: len(last) - len(found)].split()
    named = [word for word in before if not _DIRECTION.fullmatch(word)]
    grid = sum(word[0].isdigit() for word in before) > 1  # "666 S 500 W Salt Lake City"
    if not with_zip and _STREET_END.search(found):
        named = []  # "12 Shady Oak Rdg" is a street, whatever Oak Ridge is
    return found if len(before) >= _STREET_WORDS and (sure or named or grid) else ""


def _behind_grid(last: str, city: str, state: str, known: Known) -> str:
    """The city behind a street of a grid, whose direction is not the city's: "9 S 500 W Fargo"."""
    rest = city.partition(" ")[2]
    of_street = _GRID.fullmatch(last[: len(last) - len(rest)]) if rest else None
    return rest if of_street and known(state, rest) else city


def _says_more_than_the_city(piece: str, state: str) -> bool:
    """Whether a piece behind a city is its county or its state: "Milwaukee, Milwaukee County"."""
    ending = _ending_state(piece)
    own_state = ending is not None and not ending.head and ending.state == state
    return own_state or re.search(r"\bcounty$", piece, re.IGNORECASE) is not None


def without_county(text: str, state: str, known: Known) -> str:
    """An address or a city without the county that stands behind the city."""
    pieces = text.split(",")
    dropped = _counties(pieces, state, known)
    return ",".join(piece for number, piece in enumerate(pieces) if number not in dropped)


def _county_apart(text: str, state: str, known: Known) -> str:
    """A line with commas around the county behind its city: "Austin Travis County TX"."""
    found = _COUNTY_AT_END.search(text)
    words = text[: found.start()].rsplit(",", 1)[-1].split() if found else []
    for count in range(1, min(len(words), _LONGEST_NAME)):
        name, before = " ".join(words[-count:]), text[: -len(found[0])] if found else ""
        before = before.rstrip()[: -len(name)].rstrip()
        if found and known(state, f"{name} County"):
            city = _city(before, state, known)
            street = before[: len(before) - len(city)].rstrip(" ,")
            parts = [street, city, f"{name} County", found[1].strip(" ,")]
            return ", ".join(part for part in parts if part) if city else text
    return text


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


_COUNTY_AT_END = re.compile(
    r"\s(?:county|cnty)\b\.?((?:[\s,]+[a-z]{2})?(?:[\s,]+\d{5}(?:-\d{4})?)?)$", re.IGNORECASE
)


def _is_state(piece: str, state: str) -> bool:
    ending = _ending_state(piece)
    return ending is not None and ending.state == state


_FIVE = re.compile(r"(?<![\w#-])(\d{5})(?:[-\s]?(\d{4}))?(?!-?\w)", re.ASCII)
_LABEL = re.compile(
    r"\b(?:zip[\s-]?code|zip\s?\+\s?4|zip|postal[\s-]?code|post[\s-]?code)\b[\s.:#=-]*"
    r"(\d{5})(?:[-\s]?(\d{4}))?(?!-?\w)",
    re.IGNORECASE | re.ASCII,
)
_BARRED = re.compile(rf"(?:(?:^|[\s,.(/-])({_NUMBERED}|{_ROAD})|#)[\s.:#-]*$", re.IGNORECASE)
_ROAD_NEXT = re.compile(rf"^\s*(?:{_ROAD})\b", re.IGNORECASE)
_NOT_A_STREET = (
    r"mile|st|street|ave?|avenue|rd|road|dr|drive|ln|lane|ct|court|hwy|highway|[ns]?[ew]|[ns]"
)
"""Words that make a number before them a street, not a house: 10 Mile Rd, 380 St, 500 E."""
_HOUSE = re.compile(
    rf"\d+[a-z]?(?:-\d+[a-z]?)?[\s]+(?!(?:{_NOT_A_STREET})\b[\s.]*(?:,|$))"
    r"(?!(?:mile|st|street|ave?|avenue|rd|road)\b)(?=[^\W\d]|\d+(?:st|nd|rd|th)\b)",
    re.IGNORECASE | re.ASCII,
)
"""A house number before its street."""
_HOUSE_IN = re.compile(rf"(?<![^\s,]){_HOUSE.pattern}", re.IGNORECASE | re.ASCII)
_DAMAGED = re.compile(
    r"[\s,.:-]((?P<short>\d{4})(?:-(?P<plus4>\d{4}))?|(?P<zip>\d{5})-\d{1,3}|\d{3,4}|\d{5,9}[-\d]+)"
    r"[\s,.-]*$",
    re.ASCII,
)
"""A whole number at the end that is written for a ZIP and is not one."""
_WITH_ZERO = frozenset({"CT", "MA", "ME", "NH", "NJ", "RI", "VT"})
"""States whose ZIPs begin with a zero, which spreadsheets drop."""


class _Taken(NamedTuple):
    """A ZIP and the text that is left of its line.

    Attributes:
        zip: five digits; empty where the line has none.
        plus4: the four digits behind them.
        text: what stands before the ZIP; the whole line where it has none.
        others: the ZIPs of further addresses in the line, where nothing tells which is meant.
        damaged: what is written where the ZIP belongs and is too short or too long.
    """

    zip: str
    plus4: str
    text: str
    others: tuple[str, ...] = ()
    damaged: str = ""


def _take_zip(text: str, state: str, known: Known, known_zip: Known, *, has_street: bool) -> _Taken:
    """The ZIP of an address line, and the line without it and without what follows.

    A number is the ZIP where it is called so, where a state or a known city stands directly
    before it, where nothing but a city and a state follows it, where it stands first and a house
    number follows, or where the parser of addresses takes it for one.
    """
    labelled = list(_LABEL.finditer(text))
    if len({found[1] for found in labelled}) == 1:
        found = labelled[0]
        before, after = text[: found.start()].strip(_EDGE + "("), text[found.end() :].strip(_EDGE)
        return _Taken(found[1], found[2] or "", before or after)
    numbers = _numbers(text, state, known)
    if numbers.after_state:
        return _of_several(text, numbers, state)
    none = _Taken("", "", text)
    if len(numbers.others) == 1:
        (found,) = numbers.others.values()
        return _behind_name(text, found, state, known, known_zip, has_street=has_street) or none
    if numbers.others:
        return none
    inside = (_before_city(text, found, state, known, known_zip) for found in numbers.inside)
    taken = next((reading for reading in inside if reading), None)
    return taken or _leading(text, state, known, known_zip) or _damaged(text, state, known) or none


class _Numbers(NamedTuple):
    """The numbers of a line that may be its ZIP.

    Attributes:
        after_state: those behind a state, by their five digits.
        states: the state before each of them.
        ends: where they end, in order, repeated ones too.
        others: those behind something else.
        inside: those that begin a piece of the line: house numbers, most of them.
    """

    after_state: dict[str, re.Match[str]]
    states: dict[str, str]
    ends: list[int]
    others: dict[str, re.Match[str]]
    inside: list[re.Match[str]]


def _numbers(text: str, state: str, known: Known) -> _Numbers:
    """The five-digit numbers of a line that may be its ZIP Code, by where they stand.

    House numbers and numbers of roads are left out.
    """
    numbers = _Numbers({}, {}, [], {}, [])
    for found in _FIVE.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        if _barred(before, state, known) or _ROAD_NEXT.search(after) or not before.strip(" ,."):
            continue
        ending = _ending_state(without_country(before.rstrip(" ,.:(-")))
        if ending and (ending.head or ending.state == state or not after.strip(_EDGE)):
            numbers.after_state.setdefault(found[1], found)
            numbers.states.setdefault(found[1], ending.state)
            numbers.ends.append(found.end())
        elif before.rstrip().endswith(",") and re.match(r"\s*[^\W\d]", after):
            numbers.inside.append(found)
        else:
            numbers.others[found[1]] = found
    return numbers


def _behind_name(
    text: str,
    found: re.Match[str],
    state: str,
    known: Known,
    known_zip: Known,
    *,
    has_street: bool,
) -> _Taken | None:
    """The only number of a line that no state stands before, if it is the ZIP."""
    before, after = text[: found.start()], text[found.end() :].strip(" ,.")
    city, follows = before.strip(_EDGE), _ending_state(after)
    if known(state, city) and _HOUSE.match(after):  # "Austin 78701, 5 Elm St"
        return _Taken(found[1], found[2] or "", f"{after}, {city}")
    if after and (follows is None or follows.head):
        return _before_city(text, found, state, known, known_zip)
    if not has_street or _known_end(before, state, known) or _parsed(text, found[1]):
        return _Taken(found[1], found[2] or "", f"{before.rstrip(' ,')}, {after}")
    return None


def _before_city(
    text: str, found: re.Match[str], state: str, known: Known, known_zip: Known
) -> _Taken | None:
    """A ZIP of the state behind a street, before the city that ends the line."""
    before, after = text[: found.start()].strip(_EDGE), text[found.end() :].strip(_EDGE)
    ending = _ending_state(after)
    city = ending.head if ending and ending.state == state else after
    if not known_zip(state, found[1]) or not known(state, city) or is_short_form(city):
        return None
    return _Taken(found[1], found[2] or "", f"{before}, {after}")


def _of_several(text: str, numbers: _Numbers, state: str) -> _Taken:
    """The one ZIP behind a state, or of two addresses the one in the requested state."""
    after_state, ends = numbers.after_state, numbers.ends
    here = [zip5 for zip5 in after_state if numbers.states[zip5] == state]
    chosen = [*after_state] if len(after_state) == 1 else here
    if len(chosen) != 1:
        return _Taken("", "", text, tuple(after_state))
    found = after_state[chosen[0]]
    start = max((end for end in ends if end < found.start()), default=0)
    start = start if len(after_state) > 1 else 0
    before, after = text[start : found.start()].strip(_EDGE + "("), text[found.end() :].strip(_EDGE)
    ending = _ending_state(without_country(before))
    if start and ending and not ending.head:  # "Austin, TX 78701, NJ 07102" is one address
        first = next(match for match in after_state.values() if match.end() == start)
        return _Taken(first[1], first[2] or "", text[: first.start()].strip(_EDGE + "("))
    if len(after_state) == 1 and after and ending and not ending.head:  # "NC 28202 Charlotte"
        before = f"{after}, {before}"
    return _Taken(found[1], found[2] or "", before)


def _leading(text: str, state: str, known: Known, known_zip: Known) -> _Taken | None:
    """A ZIP that stands first, before a city, a state or a house number.

    "28202 Charlotte NC", "94107 San Francisco 1 Main St", "78701, 600 Congress Ave, Austin": a
    house number of five digits is followed by its street instead.
    """
    text = text.lstrip(" ,.#")
    found = _FIVE.match(text)
    rest = without_country(text[found.end() :].strip(_EDGE)) if found else ""
    if not found or not rest:
        return None
    if _is_city(plain := _without_tail(rest), state, known):
        return _Taken(found[1], found[2] or "", plain)
    house = next(_HOUSE_IN.finditer(rest), None)
    city = rest[: house.start()].strip(_EDGE) if house else ""
    if house is None or re.fullmatch(_ROAD, city, re.IGNORECASE):
        return None
    street = rest[house.start() :].strip(_EDGE)
    elsewhere = _ending_state(city)  # "94107 San Francisco CA 1 Main St" leads to California
    sure = _is_city(city, state, known) or bool(elsewhere and elsewhere.head)
    if not (sure if city else known_zip(state, found[1])):
        return None
    ending = _ending_state(street)
    head, code = (ending.head, ending.state) if ending else (street, "")
    if city and not _city(head, state, known):
        street = f"{head}, {city}, {code}" if code else f"{street}, {city}"
    return _Taken(found[1], found[2] or "", street)


def _is_city(text: str, state: str, known: Known) -> bool:
    """Whether a text is a known city with or without its state, or the state alone."""
    ending = _ending_state(text)
    head = (ending.head if ending and ending.state == state else text).strip(_EDGE)
    return not head or (known(state, head) and not is_short_form(head))


def _damaged(text: str, state: str, known: Known) -> _Taken | None:
    """A number behind a known city and the requested state that is no ZIP: "Boston MA 2108"."""
    found = _DAMAGED.search(text)
    ending = _ending_state(text[: found.start()]) if found else None
    if not found or ending is None or ending.state != state:
        return None
    if not _known_end(ending.head, state, known):
        return None
    before = text[: found.start()].rstrip(_EDGE)
    if found["zip"]:  # only the four digits behind it are damaged
        return _Taken(found["zip"], "", before)
    if found["short"] and state in _WITH_ZERO:
        return _Taken(f"0{found['short']}", found["plus4"] or "", before)
    return _Taken("", "", before, damaged=found[1])


def _barred(before: str, state: str, known: Known) -> bool:
    """Whether a number belongs to the word before it; Green Bay and Olive Branch are cities."""
    found = _BARRED.search(before)
    if not found:
        return False
    if found[1] is None:
        return True
    if known(state, before.strip(_EDGE)) or _known_end(before, state, known, after_street=True):
        return False
    return len(_known_end(before, state, known)) <= len(found[1])


def _parsed(text: str, zip5: str) -> bool:
    """Whether the parser of addresses takes the number for a ZIP."""
    return any(label == "ZipCode" and word.startswith(zip5) for word, label in labelled(text))


_PARSER = ("A lookup by street address", "service")


@cache
def require_parser() -> None:
    """Refuse an address without the parser, also one that it is not needed for: few need it.

    Raises:
        ImportError: the extra for it is not installed.
    """
    require(*_PARSER, "usaddress")


def labelled(text: str) -> list[tuple[str, str]]:
    """The words of an address, with what the parser takes them for; raises as `require_parser`."""
    with needs(*_PARSER):
        import usaddress  # noqa: PLC0415 - loads its model: only where an address needs it
    words: list[tuple[str, str]] = usaddress.parse(text)
    return words


_COUNTRY = re.compile(
    r"[\s,]+(?:u\s?\.?\s?s\s?\.?(?:\s?a\s?\.?)?|u\.?s\.? of a(?:merica)?\.?"
    r"|(?:the )?united states(?: of america)?)[\s,.]*$",
    re.IGNORECASE,
)
_HALF_WRITTEN = {
    state: re.compile(rf"(?:^|[\s,])({name})[\s.]*$", re.IGNORECASE)
    for state, name in (
        ("NC", rf"{_NORTH}car(?:olina)?"), ("SC", rf"{_SOUTH}car(?:olina)?"),
        ("ND", rf"{_NORTH}dak(?:ota)?"), ("SD", rf"{_SOUTH}dak(?:ota)?"),
        ("WV", r"w(?:est)?\.? ?v(?:a|irginia)"), ("NM", r"n(?:ew)?\.? ?mex(?:ico)?"),
        ("NH", r"n(?:ew)?\.? ?hamp(?:shire)?"), ("NJ", r"n\.? ?jersey"), ("NY", r"n\.? ?york"),
    )
}  # fmt: skip
"""States of two words, one of them shortened; only where that state is requested: West Va."""
_CODES = frozenset(STATE_CODES.values())
_NAMES = {name_key(name): code for name, code in STATE_CODES.items()}
_END_NAME = re.compile(
    rf"(?:^|[\s,])({'|'.join(name.replace(' ', '[ ]+') for name in STATE_CODES)})[\s.]*$",
    re.IGNORECASE,
)
_END_CODE = re.compile(r"(?:^|[\s,.])([a-z])(?:\.[ ]?)?([a-z])\.?$", re.IGNORECASE | re.ASCII)
_END_APART = re.compile(r"(?:^|,)\s*([a-z]) ([a-z])$", re.IGNORECASE | re.ASCII)
_END_SHORT = re.compile(r"(?:(?:^|,)\s*([a-z]+)\.?|\s([a-z]+)\.)$", re.IGNORECASE | re.ASCII)
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
"""Cities of the provinces whose names towns of the United States share."""
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


_STREET_END = re.compile(
    r"\s(?:bnd|br|brk|cir|cv|crk|cres|crst|ct|dr|gln|grv|hl|hls|holw|knl|knls|ln|lndg|mdw|mdws|mnr"
    r"|pk|pl|pne|pnes|pt|rd|rdg|ter|trl|vis|vw|xing)\.?$",
    re.IGNORECASE,
)
"""Short forms that end streets far oftener than cities."""


class _Ending(NamedTuple):
    """A state at the end of a text: what stands before it, its code, whether by name or code."""

    head: str
    state: str
    named: bool


def without_country(text: str) -> str:
    """The text without the words for the United States at its end, and without loose stops."""
    return _COUNTRY.sub("", text).strip(" ,")


def _pieces_of(text: str) -> list[str]:
    """The parts between commas that hold anything."""
    return [piece.strip() for piece in text.split(",") if piece.strip(" .")]


@lru_cache(maxsize=4096)
def _ending_state(text: str) -> _Ending | None:
    """The state that a text ends in, by name, code (`NC`, `N.C.`) or older short form."""
    text = text.strip(" ,")
    found = _END_NAME.search(text)
    if found:
        return _Ending(text[: found.start()].strip(" ,"), _NAMES[name_key(found[1])], named=True)
    for pattern in (_END_CODE, _END_APART):
        found = pattern.search(text)
        if found and (code := f"{found[1]}{found[2]}".upper()) in _CODES:
            return _Ending(text[: found.start()].strip(" ,"), code, named=False)
    found = _END_SHORT.search(text)
    short = (found[1] or found[2]).casefold() if found else ""
    if found and short in _SHORT:
        return _Ending(text[: found.start()].strip(" ,"), _SHORT[short], named=True)
    return None


def split_state(text: str, state: str, known: Known) -> tuple[str, str]:
    """A text without the state at its end, and the code of that state; `""` without one.

    Indiana is a town in Pennsylvania, Washington a city in the District: the name of a state that
    is also a place of the requested state is that place, unless what stands before it reads as
    the city of an address.
    """
    ending = _ending_state(text)
    pieces = _pieces_of(text)
    if ending is None or not pieces or _before_half_written(text, state):
        return _without_short(text, state, known)
    last = pieces[-1]
    alone = _ending_state(last)
    if alone is None:  # the state's name runs over a comma
        return text, ""
    own_code = ending.state == state and not ending.named  # Denver CO is not Denver County
    cut = own_code and _known_end(alone.head, state, known)
    whole = alone.head and known(state, last) and not cut  # Port Washington, Orange Co
    if whole or (not ending.named and _is_a_place(pieces, alone, state, known)):
        return text, ""
    if alone.head and ending.state == "NE" != state and re.search(r"\d", last):
        return text, ""  # north-east, of a street
    if ending.named:
        place = last[len(alone.head) :].strip()
        before = alone.head or (pieces[-2] if len(pieces) > 1 else "")
        city_before = bool(_known_end(before, ending.state, known)) or (
            not alone.head and len(pieces) >= _WITH_STREET and not _NO_CITY.search(before)
        )
        longest = _known_end(last, state, known, after_street=True) if alone.head else ""
        if len(longest) > len(place) or (known(state, place) and not city_before):
            return text, ""
    return ending.head, ending.state


def _state_elsewhere(text: str, state: str, known: Known) -> str:
    """Another state that a text without a ZIP ends in, behind a city of it; `""`: none."""
    text = without_country(text)
    pieces, ending = _pieces_of(text), _ending_state(text)
    alone = _ending_state(pieces[-1]) if pieces else None
    if ending is None or alone is None or ending.state == state or known(state, pieces[-1]):
        return ""
    if alone.head and (ending.named or ending.state in _STREETS_TOO):
        return ""
    before = alone.head or (pieces[-2] if len(pieces) > 1 else "")
    return ending.state if _known_end(before, ending.state, known) else ""


_STREETS_TOO = frozenset({"CO", "CT", "FL", "KY", "MT", "NE"})
"""Codes that are short for a county, or for what a street ends in."""
_ZIP_LAST = re.compile(r"(?<![\w#-])(\d{5})(?:-\d{4})?[\s.,]*$", re.ASCII)


def whole_address(street: str, state: str, known: Known, known_zip: Known) -> tuple[str, str]:
    """The state and the ZIP of a street line that is an address in full; `""` where it has none.

    The ZIP counts behind a city of a state that it lies in, with or without that state.
    """
    text = without_country(street)
    found = _ZIP_LAST.search(text)
    if found is None:
        return _state_elsewhere(text, state, known), ""
    before = text[: found.start()].rstrip(" ,")
    ending = _ending_state(before)
    if ending and known_zip(ending.state, found[1]):
        return ending.state, found[1]
    if other := _state_elsewhere(before, state, known):
        return other, found[1]
    city = _pieces_of(before)[-1:] if "," in before else []
    named = city and not re.search(r"\d", city[0]) and not _BARRED.search(before)
    homes = [code for code in sorted(_CODES) if named and known_zip(code, found[1])]
    here = [code for code in homes if known(code, city[0])]
    return (here[0], found[1]) if len(here) == 1 else ("", "")


def _without_short(text: str, state: str, known: Known) -> tuple[str, str]:
    """Without a bare short form of the requested state behind its city: Seattle Wash.

    Any other bare word is not a state: Miss, Penn and Wash end streets and cities too.
    """
    if before := _before_half_written(text, state):
        return before, state
    head, _, last = text.rpartition(" ")
    own = _SHORT.get(last.casefold()) == state and _known_end(head, state, known)
    return (head.strip(" ,"), state) if own and not known(state, last) else (text, "")


def _before_half_written(text: str, state: str) -> str:
    """What stands before the requested state, where one of its two words is shortened."""
    half = _HALF_WRITTEN.get(state)
    found = half.search(text) if half else None
    return text[: found.start()].strip(" ,") if found else ""


def _is_a_place(pieces: Sequence[str], ending: _Ending, state: str, known: Known) -> bool:
    """Whether what reads as another state's code ends a place: LA is Los Angeles in California."""
    last = pieces[-1]
    place = _known_end(last, state, known)
    code = last[len(ending.head) :].strip(" .,")
    if ending.state == state or not place.endswith(code):
        return False
    before = ending.head or (pieces[-2] if len(pieces) > 1 else "")
    street = not before or (_NO_CITY.search(before) and not _known_end(before, ending.state, known))
    return place != code or bool(street)


def _known_end(text: str, state: str, known: Known, *, after_street: bool = False) -> str:
    """The longest known place that a text ends in; with `after_street`, only right behind one."""
    pieces = _pieces_of(text)
    words = pieces[-1].split() if pieces else []
    for count in range(min(len(words), _LONGEST_NAME), 0, -1):
        name = " ".join(words[-count:]).strip(" .-")
        if is_short_form(name):
            continue
        previous = words[-count - 1] if len(words) > count else ""
        if after_street and not _STREET_WORD.fullmatch(previous):
            continue
        if after_street and _is_saint(words[:-count], f"{previous} {name}", state, known):
            continue
        if known(state, name):
            return name
    return ""


def _is_saint(before: list[str], name: str, state: str, known: Known) -> bool:
    """Whether "St" before a name is a part of it: nothing else names a street in "100 St Paul"."""
    *street, last = before
    if last.strip(".").casefold() != "st" or not known(state, name):
        return False
    return not any(re.search(r"[a-z]{2}", word, re.IGNORECASE) for word in street)


def abroad(text: str, state: str, known: Known) -> str:
    """The Canadian province or the country that a text ends in, as a name; `""`: none.

    Ontario in California and New Brunswick in New Jersey stay places of their states, unless a
    Canadian city stands before them.
    """
    if _CANADIAN.search(text.rstrip(" .,")):
        return "Canada"
    pieces = _pieces_of(text)
    if not pieces:
        return ""
    key = name_key(pieces[-1])
    name = _COUNTRIES.get(key) or (f"{_PROVINCES[key]}, Canada" if key in _PROVINCES else "")
    if not name or len(pieces) == 1:
        return ""
    city_before = name_key(pieces[-2]) in _CANADIAN_CITIES
    return "" if known(state, pieces[-1]) and not city_before else name
