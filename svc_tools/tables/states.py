"""The state of a place: from a code or name, from a ZIP, or from the end of an address. Pure."""

from __future__ import annotations

import csv
import functools
import math
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from svc_tools.tables.cells import text_of_formula
from svc_tools.tables.country_codes import country_code

STATES = {
    "AL": "Alabama",
    "AK": "Alaska",
    "AZ": "Arizona",
    "AR": "Arkansas",
    "CA": "California",
    "CO": "Colorado",
    "CT": "Connecticut",
    "DE": "Delaware",
    "DC": "District of Columbia",
    "FL": "Florida",
    "GA": "Georgia",
    "HI": "Hawaii",
    "ID": "Idaho",
    "IL": "Illinois",
    "IN": "Indiana",
    "IA": "Iowa",
    "KS": "Kansas",
    "KY": "Kentucky",
    "LA": "Louisiana",
    "ME": "Maine",
    "MD": "Maryland",
    "MA": "Massachusetts",
    "MI": "Michigan",
    "MN": "Minnesota",
    "MS": "Mississippi",
    "MO": "Missouri",
    "MT": "Montana",
    "NE": "Nebraska",
    "NV": "Nevada",
    "NH": "New Hampshire",
    "NJ": "New Jersey",
    "NM": "New Mexico",
    "NY": "New York",
    "NC": "North Carolina",
    "ND": "North Dakota",
    "OH": "Ohio",
    "OK": "Oklahoma",
    "OR": "Oregon",
    "PA": "Pennsylvania",
    "RI": "Rhode Island",
    "SC": "South Carolina",
    "SD": "South Dakota",
    "TN": "Tennessee",
    "TX": "Texas",
    "UT": "Utah",
    "VT": "Vermont",
    "VA": "Virginia",
    "WA": "Washington",
    "WV": "West Virginia",
    "WI": "Wisconsin",
    "WY": "Wyoming",
}
"""The 50 states and the District of Columbia, by postal code."""

ONE_RATE_STATES = frozenset(
    {"CT", "DC", "DE", "IN", "KY", "MA", "MD", "ME", "MI", "MT", "NH", "NJ", "OR", "RI"}
)
"""States without local general sales taxes: one rate, which may be 0, holds in all of the state."""

_TERRITORIES = {
    "AS": "American Samoa",
    "FM": "Federated States of Micronesia",
    "GU": "Guam",
    "MH": "Marshall Islands",
    "MP": "Northern Mariana Islands",
    "PR": "Puerto Rico",
    "PW": "Palau",
    "VI": "Virgin Islands",
}
_MILITARY = {
    "AA": "Armed Forces Americas",
    "AE": "Armed Forces Europe",
    "AP": "Armed Forces Pacific",
}
_PROVINCES = {
    "AB": "Alberta",
    "BC": "British Columbia",
    "MB": "Manitoba",
    "NB": "New Brunswick",
    "NL": "Newfoundland and Labrador",
    "NS": "Nova Scotia",
    "NT": "Northwest Territories",
    "NU": "Nunavut",
    "ON": "Ontario",
    "PE": "Prince Edward Island",
    "QC": "Quebec",
    "SK": "Saskatchewan",
    "YT": "Yukon",
}
# The abbreviations of the press and of old address books, where they are not postal codes.
_ABBREVIATIONS = """
    ala=AL, ariz=AZ, ark=AR, calif=CA, colo=CO, conn=CT, del=DE, fla=FL, ill=IL, ind=IN, kan=KS,
    kans=KS, mass=MA, mich=MI, minn=MN, miss=MS, mont=MT, neb=NE, nebr=NE, nev=NV, okla=OK,
    ore=OR, penn=PA, penna=PA, tenn=TN, tex=TX, wash=WA, wis=WI, wisc=WI, wyo=WY,
    washington dc=DC, washington d c=DC, d c=DC, n carolina=NC, s carolina=SC, n dakota=ND,
    s dakota=SD, w virginia=WV, n h=NH, n j=NJ, n m=NM, n y=NY, n c=NC, n d=ND, r i=RI, s c=SC,
    s d=SD, w va=WV, us virgin islands=VI, u s virgin islands=VI
"""
_ABBREVIATED = dict(one.strip().split("=") for one in _ABBREVIATIONS.split(","))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A place outside the states and DC: a territory, a military post, abroad."""

    reason: str


@functools.cache
def _spellings() -> dict[str, str]:
    known = {name.lower(): code for code, name in (STATES | _TERRITORIES | _MILITARY).items()}
    known |= {name.lower(): code for code, name in _PROVINCES.items()}
    known |= {code.lower(): code for code in STATES | _TERRITORIES | _MILITARY | _PROVINCES}
    return known | _ABBREVIATED


_REGIONS = "africa|americas|canada|europe|middle east|pacific|except|other than|of|the|and"
_ARMED_FORCES = re.compile(rf"(?:(?:us|u s|a[aep]) )?armed forces(?: (?:{_REGIONS}|a[aep]))*")


def _military(plain: str) -> str | None:
    """The military "state" of "Armed Forces Europe, the Middle East, and Canada"."""
    if _ARMED_FORCES.fullmatch(plain) is None:
        return None
    if re.search(r"\b(?:americas|aa)\b", plain):
        return "AA"
    return "AP" if re.search(r"\b(?:pacific|ap)\b", plain) else "AE"


def _both_forms(text: str) -> str | None:
    """The code of "CA - California" or "California (CA)": both halves must mean the same."""
    halves = [half.strip() for half in re.split(r"[-(/]", text.rstrip(") "), maxsplit=1)]
    codes = {_spellings().get(half) for half in halves}
    return codes.pop() if len(halves) > 1 and len(codes) == 1 else None


def state_code(value: object) -> str | Elsewhere | None:
    """The postal code of a state, however written: "tx", "Texas", "Tex.", "US-TX".

    Returns:
        The code; `Elsewhere` for a territory, a military "state" or a Canadian province; `None`
        for anything else: unknown text is never guessed at.
    """
    return _state_code(value) if isinstance(value, str) else None


@functools.lru_cache(maxsize=4096)
def _state_code(text: str) -> str | Elsewhere | None:
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z]+", " ", bare).strip()
    plain = re.sub(r"^us (?=[a-z]{2}$)| (?:usa|us|united states)$", "", plain)
    plain = re.sub(r"^([a-z]) ([a-z])$", r"\1\2", plain)  # C.A.
    plain = re.sub(r" state$", "", plain)
    code = _spellings().get(plain) or _both_forms(bare) or _military(plain)
    if code is None or code in STATES:
        return code
    if code in _TERRITORIES:
        return Elsewhere(f"{_TERRITORIES[code]} is a territory with its own tax system")
    if code in _MILITARY:
        return Elsewhere(f"{_MILITARY[code]} is a military address: no state's rate applies")
    return Elsewhere(f"{_PROVINCES[code]} is in Canada")


def us_state(value: object) -> str | None:
    """The postal code of the state (of the 50 and DC) that a value names; `None` for anything else.

    `state_code` says of a text what else it is.
    """
    code = state_code(value)
    return code if isinstance(code, str) else None


class ElsewhereError(Exception):
    """A row is of a place outside the states and DC."""

    def __init__(self, elsewhere: Elsewhere) -> None:
        super().__init__(elsewhere.reason)
        self.reason = elsewhere.reason


_ZIP = re.compile(r"([0-9]{5})(?:[-\s]*([0-9]{4}))?-?")
_SHORT = re.compile(r"([0-9]{3,4})(?:-([0-9]{4}))?|([0-9]{3,4})([0-9]{4})")
_WITH_WORDS = re.compile(
    r"(?:(?P<before>[^\W\d_][^\d]{0,40}?)[\s,-]*)?(?P<digits>[0-9]{3,5}(?:[-\s]*[0-9]{4})?)"
    r"(?:[\s,]+(?P<after>[^\W\d_][^\d]{0,40}))?"
)
"""A ZIP behind or before words: CA 94105; 94105, USA."""
_CANADIAN = re.compile(r"[A-Z][0-9][A-Z][\s-]*[0-9][A-Z][0-9]", re.IGNORECASE)
_DASHES = str.maketrans({"\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{NON-BREAKING HYPHEN}": "-"})
_EXPECTED = "expected five digits such as 78701, or ZIP+4 such as 78701-1234"


def states_of_zip(zip_code: str) -> frozenset[str]:
    """The codes of the states (or territories) in which a ZIP lies; empty where unknown."""
    table = _table()
    return table.get(zip_code[:5]) or table.get(zip_code[:3]) or frozenset()


@functools.cache
def _table() -> dict[str, frozenset[str]]:
    """States by ZIP where it differs from its neighbors, else by its first three digits."""
    source = Path(__file__).with_name("zip_states.csv")
    with source.open(encoding="ascii") as file:
        return {row["zip"]: frozenset(row["states"].split()) for row in csv.DictReader(file)}


def normal_zip(value: object, state: str | None) -> str | Elsewhere:
    """A cell as a ZIP: "94105", or "94105-1804" with its add-on.

    Understands what spreadsheets make of ZIPs: numbers (94105.0), blanks around them, a
    ZIP+4 without its dash, a zero lost in front. The zero comes back only where the padded ZIP
    belongs to the row's state.

    Args:
        value: the cell: text or a number.
        state: the row's state code, `None` where it is not known.

    Returns:
        The ZIP, or `Elsewhere` for a military, territorial or foreign one.

    Raises:
        ValueError: it cannot be a ZIP; the message names the value and what is expected.
    """
    named, text = zip_of_cell(value)
    if isinstance(named, Elsewhere):
        return named
    if named and state and named != state:
        raise ValueError(f"state: the ZIP cell names {named}, but the state given is {state}")
    if _CANADIAN.fullmatch(text):
        return Elsewhere(f"{text!r} is a Canadian postal code")
    match = _ZIP.fullmatch(text)
    if match is None:
        return _padded(text, named or state)
    if named and (lies_in := states_of_zip(match[1])) and named not in lies_in:
        raise ValueError(_elsewhere("ZIP cell", named, match[1]))
    return _checked(match[1], match[2], named or state)


class ZipCell(NamedTuple):
    """What a cell of a column of ZIPs holds: the digits, and the state, if it names one."""

    state: str | Elsewhere | None
    digits: str


def zip_of_cell(value: object) -> ZipCell:
    """The parts of a cell such as "CA 94105" or "94105, USA"; of any other its whole text.

    Raises:
        ValueError: it is a number with a fraction.
    """
    text = _digits(value)
    found = _WITH_WORDS.fullmatch(text)
    words = [word for word in (found["before"], found["after"]) if word] if found else []
    codes = [state_code(word) for word in words if country_code(word) != "US"]
    if found is None or not words or len(codes) > 1 or None in codes:
        return ZipCell(None, text)
    return ZipCell(codes[0] if codes else None, found["digits"])


def lacks_digits(value: object, zip_code: str) -> bool:
    """Whether a cell has not the five digits of its ZIP, such as 2134 for 02134."""
    return not zip_of_cell(value).digits.startswith(zip_code[:5])


def _digits(value: object) -> str:
    if isinstance(value, float):
        if not (math.isfinite(value) and value.is_integer()):
            raise ValueError(f"zip: {value} is not a ZIP; {_EXPECTED}")
        value = int(value)
    text = text_of_formula(str(value).strip()).translate(_DASHES).strip().lstrip("'").strip()
    return re.sub(r"(?<=[0-9])\.0+$", "", text)


def _padded(text: str, state: str | None) -> str | Elsewhere:
    """A ZIP whose leading zeros were lost, where the row's state confirms it."""
    match = _SHORT.fullmatch(text)
    if match is None:
        raise ValueError(f"zip: {text[:40]!r} is not a ZIP; {_EXPECTED}")
    zip5, extra = (match[1] or match[3]).zfill(5), match[2] or match[4]
    lies_in = states_of_zip(zip5)
    if state is None:
        raise ValueError(
            f"zip: {text!r} has lost a leading zero, perhaps, but no state is given that"
            f" would confirm it; {_EXPECTED}"
        )
    if state not in lies_in:
        where = f"which lies in {' or '.join(sorted(lies_in))}" if lies_in else "which is no ZIP"
        raise ValueError(
            f"zip: {text!r} is too short, and padded it would be {zip5}, {where}, not in {state};"
            f" {_EXPECTED}"
        )
    return _checked(zip5, extra, state)


def _checked(zip5: str, extra: str | None, state: str | None) -> str | Elsewhere:
    lies_in = states_of_zip(zip5)
    if lies_in and lies_in <= _MILITARY.keys():
        return Elsewhere(f"{zip5!r} is a military ZIP: no state's rate applies")
    if lies_in and lies_in <= _TERRITORIES.keys() and state is None:
        return Elsewhere(f"{zip5!r} lies in a territory ({' or '.join(sorted(lies_in))})")
    # 0000 is a filler, not an add-on
    return zip5 if extra in {None, "0000"} else f"{zip5}-{extra}"


_ZIP_AT_END = re.compile(r"(?<![0-9-])([0-9]{5}(?:-[0-9]{4})?)\s*$")
_ZIP_FIRST = re.compile(
    r"(?P<zip>[0-9]{5})(?:-[0-9]{4})?(?:\s*,|(?P<city>\s+[^\W\d][^,\d]*),)\s*[0-9]+[a-z]?\s+[^\W\d]",
    re.IGNORECASE,
)
"""A ZIP, with or without its city, before a house number."""
_COUNTRY_AT_END = re.compile(
    r"[\s,]+(?:u\.? ?s\.?(?: ?a\.?)?|(?:the )?united states(?: of america)?)[\s,.]*$",
    re.IGNORECASE,
)
_CANADIAN_AT_END = re.compile(
    r"(?:^|[\s,])([abceghj-nprstvxy][0-9][a-z][ -]?[0-9][a-z][0-9])$", re.IGNORECASE
)
_NO_CITY = re.compile(
    r"(?:^|\s)(?:(?:st|street|ave|avenue|rd|road|blvd|boulevard|dr|drive|ln|lane|way|loop)\.?$"
    r"|(?:hwy|highway|route|rte|rt|sr|cr|fm|interstate|box|pob|pmb|drawer|suite|ste|apt|apartment"
    r"|unit|room|rm|lot|space|floor|fl|bldg|building|dept|store|shop|order|invoice|no|number|ref"
    r"|acct|account|ext|phone|tel|dock|door|attn|attention|job|project"
    r"|contract|permit|customer|cust|client|quote|site|loc|location|terminal|warehouse|whse"
    r"|trailer|fax|case|claim|ticket)\b[\s.:#]*(?:\w+\s*)?$)|#",
    re.IGNORECASE,
)
"""Words that a street ends in, and those whose number is not a ZIP."""
_ROAD_AT_END = re.compile(
    r"(?:^|\s)(?:(?:county|co|cnty|state|us|private|ranch|farm|forest|service|park|township)\s+"
    r"(?:rd|road|st|street|loop|way)|\d+\s+(?:rd|road|loop)|calle)\.?$",
    re.IGNORECASE,
)
"""Roads that have a number behind them: County Road 98101."""
_STREET_AT_END = re.compile(
    r"[^\W\d]\s+(?:st|street|ave|avenue|rd|road|blvd|boulevard|dr|drive|ln|lane|way|loop)\.?$",
    re.IGNORECASE,
)
_NUMBERED_AT_END = re.compile(
    r"(?:^|[\s,])[\s,]*(?:(?:(?:p\.?\s?o\.?\s?)?box|suite|ste|apt|apartment|unit|room|rm|floor|fl"
    r"|bldg|building|hwy|highway|route|rte|rt|sr|cr|fm|interstate)\b|#)[\s.:#]*\d[\w-]*$",
    re.IGNORECASE,
)
"""A box, a suite or a road that has its number: the next one is the ZIP."""
_HOUSE_FIRST = re.compile(r"\d+[a-z]?(?:-\d+)?\s+\S", re.IGNORECASE)
_QUARTERS = frozenset(
    {"east", "west", "north", "south", "new", "old", "upper", "lower", "central", "lake", "mount"}
    | {"mt", "port", "fort", "ft", "little", "the", "of", "n", "s", "e", "w"}
)
"""Words that make a name of the state behind them: East Texas is a town in Pennsylvania."""
_DIGIT = re.compile(r"\d").search
_CODE = 2
_FULL_NAMES = frozenset(name.lower() for name in STATES.values())
_CITIES_TOO = frozenset(
    {"washington", "new york", "virginia", "nevada", "oregon", "indiana", "delaware"}
)
"""States that are names of cities, or the last word of one, as likely: Port Washington."""
_STREETS_TOO = frozenset({"CT", "FL", "KY", "MT", "NE"})
"""Codes that are short for what a street ends in: Court, Floor, Key, Mount, north-east."""
_WORDS = "al co ct de fl hi id in la ma me mt ne oh ok or pa"
_WORDS_TOO = frozenset(_WORDS.split())
"""Codes that in lowercase are words or short forms of other things."""


def named_state(address: str | None, *names: str | None) -> str | None:
    """The state that the first of a row's texts ends in that ends in one."""
    found = _state_at_end(address, street=True) if address else None
    for name in filter(None, names):
        found = found or _state_at_end(name, street=False)
    return found


def _state_at_end(text: str, *, street: bool) -> str | None:
    """The state that an address or the name of a place ends in, with or without its ZIP.

    A five-digit number at the end counts behind a state, a city or a street; not behind a word
    whose number it is: a box, a suite, a road. At the beginning it counts before a house number.

    Raises:
        ValueError: its ZIP lies in several states, or in another one than it names.
        ElsewhereError: it ends in a territory, a Canadian province or postal code.
    """
    text = _COUNTRY_AT_END.sub("", text).strip(" ,.")
    if found := _CANADIAN_AT_END.search(text):
        raise ElsewhereError(Elsewhere(f"{found[1]!r} is a Canadian postal code"))
    if found := _ZIP_AT_END.search(text):
        return _state_of_end(text[: found.start()].rstrip(" ,"), found[1], street=street)
    if named := _state_named(text):
        return named
    first = _ZIP_FIRST.match(text)
    if first and not _NO_CITY.search(first["city"] or ""):
        return state_of(first["zip"])
    return None


def _state_of_end(before: str, zip_code: str, *, street: bool) -> str | None:
    """The state of a text that ends in a ZIP, from the ZIP and what stands before it."""
    lies_in = states_of_zip(zip_code)
    if not before:
        return None if street else state_of(zip_code)
    words = re.split(r"[\s,]+", before)
    for count in (1, 2, 3):
        code = state_code(" ".join(words[-count:]))
        if isinstance(code, str) and code in lies_in:
            return code
        if isinstance(code, Elsewhere) and lies_in and not lies_in & STATES.keys():
            raise ElsewhereError(code)
    city = before.rpartition(",")[2].strip()
    if not lies_in or not _may_precede_zip(before):
        return None
    code = state_code(words[-1])
    if isinstance(code, str) and not _DIGIT(city):
        raise ValueError(_elsewhere("address" if street else "place", code, zip_code))
    return state_of(zip_code)


def _may_precede_zip(before: str) -> bool:
    """Whether a number behind this text is a ZIP, and not that of a box, a suite or a road."""
    rest = _NUMBERED_AT_END.sub("", before).rstrip(" ,")
    if not rest:
        return bool(before)
    last = rest.rpartition(",")[2].strip()
    if _ROAD_AT_END.search(last):
        return False
    if _NO_CITY.search(last) and not _STREET_AT_END.search(last):
        return False
    return not _DIGIT(before) or _HOUSE_FIRST.match(before) is not None


def _elsewhere(what: str, state: str, zip_code: str) -> str:
    """The reason of a row whose ZIP does not lie in the state that one of its texts names."""
    lies_in = " and ".join(sorted(states_of_zip(zip_code)))
    return f"state: the {what} names {state}, but ZIP {zip_code[:5]} lies in {lies_in}"


def _state_named(text: str) -> str | None:
    """The state in words or letters that a text without a ZIP ends in, behind something else."""
    if is_washington_dc(text):
        return "DC"
    pieces = [piece.strip(" .") for piece in text.split(",")]
    last = pieces[-1]
    code = state_code(last)
    if len(pieces) > 1 and code is not None:
        if isinstance(code, Elsewhere):
            raise ElsewhereError(code)
        return None if last.lower() == "washington" else code
    words = last.split()
    for count in (3, 2, 1):
        written = " ".join(words[-count:])
        code = state_code(written) if len(words) >= count else None
        if isinstance(code, str):
            sure = _is_written_out(written) or _is_code(written, behind_street=bool(_DIGIT(last)))
            return code if sure and len(words) > count else None
    return None


class _Says(NamedTuple):
    """The state and the ZIP that a text names beyond doubt."""

    state: str | Elsewhere | None = None
    zip: str | None = None


def agreed_state(
    given: str | None,
    zip_code: str | None,
    *,
    address: str | None = None,
    city: str | None = None,
    location: str | None = None,
) -> str | None:
    """The state that a row's texts name beyond doubt; `None` where they name none.

    Args:
        given: the code of the row's state.
        zip_code: its ZIP, normalized.
        address: its address.
        city: its city.
        location: its place name.

    Raises:
        ValueError: it is not the state given, that of the ZIP or that of another text; or the
            text has another ZIP.
        ElsewhereError: a text of a row without a state ends in a territory or in Canada.
    """
    agreed, by = None, ""
    lies_in = states_of_zip(zip_code) if zip_code else frozenset()
    for what, text in (("address", address), ("city", city), ("place", location)):
        if not text:
            continue
        state, own_zip = _says(text, street=text is address)
        if isinstance(state, Elsewhere):
            if given is None:
                raise ElsewhereError(state)
            continue  # the service judges
        if state and zip_code and lies_in and state not in lies_in:
            raise ValueError(_elsewhere(what, state, zip_code))
        if state and given and state != given:
            raise ValueError(f"state: the {what} names {state}, but the state given is {given}")
        if state and agreed and state != agreed:
            raise ValueError(f"state: the {by} names {agreed}, but the {what} names {state}")
        if own_zip and zip_code and own_zip != zip_code[:5]:
            raise ValueError(f"zip: the {what} has ZIP {own_zip}, but the ZIP given is {zip_code}")
        if state and not agreed:
            agreed, by = state, what
    return agreed


@functools.lru_cache(maxsize=65536)
def _says(text: str, *, street: bool) -> _Says:
    """What a text names beyond doubt: a row that contradicts it is not requested.

    Where a state may as well be a city or a street (Nevada, Missouri; 1400 Georgia), it is in
    doubt, and the service decides.
    """
    text = _COUNTRY_AT_END.sub("", text).strip(" ,.")
    if found := _CANADIAN_AT_END.search(text):
        return _Says(Elsewhere(f"{found[1]!r} is a Canadian postal code"))
    if found := _ZIP_AT_END.search(text):
        before, zip5 = text[: found.start()].rstrip(" ,"), found[1][:5]
        if not states_of_zip(zip5):
            return _Says(_sure_state(before))
        state = _sure_state(before) or _state_alone(before)
        is_zip = state is not None or (not before and not street) or _may_precede_zip(before)
        return _Says(state, zip5 if is_zip else None)
    first = _ZIP_FIRST.match(text) if street else None
    if first and (_NO_CITY.search(first["city"] or "") or not states_of_zip(first["zip"])):
        first = None
    return _Says(_sure_state(text), first["zip"] if first else None)


def _state_alone(text: str) -> str | None:
    """The state that is all of a text before a ZIP: "TX 78701"; Washington may be the city."""
    code = state_code(text)
    return code if isinstance(code, str) and text.lower() not in _CITIES_TOO else None


def _sure_state(text: str) -> str | Elsewhere | None:
    """The state that a text without a ZIP ends in, where it is neither a city nor a street."""
    if is_washington_dc(text):
        return "DC"
    *before, last = (piece.strip(" .") for piece in text.split(","))
    code = state_code(last)
    if code is not None:
        return _last_piece(before[-1] if before else "", last, code)
    return _last_words(last)


def _last_piece(city: str, last: str, code: str | Elsewhere) -> str | Elsewhere | None:
    """The state that the last piece of a text is, behind a city or a street."""
    short = last.replace(".", "").replace(" ", "")
    if not city:
        return None
    if isinstance(code, Elsewhere):  # Ontario is a city in California
        return code if short.isupper() and len(short) == _CODE else None
    behind_street = bool(_DIGIT(city) or _NO_CITY.search(city))
    if not behind_street:
        return code
    return code if len(short) == _CODE and _is_code(short, behind_street=True) else None


def _last_words(last: str) -> str | None:
    """The state that the last words of a piece are, behind a city or a street."""
    words = last.split()
    for count in (3, 2, 1):
        head, written = words[:-count], " ".join(words[-count:])
        code = state_code(written)
        if not head or not isinstance(code, str):
            continue
        quarter = len(head) == 1 and head[0].lower() in _QUARTERS
        county = written == "CO" and last.isupper()  # a county as likely
        if quarter or county or _NO_CITY.search(" ".join(head)):
            return None
        street = bool(_DIGIT(last))  # "1400 Georgia" is a street; "12 VIA DE LA" too
        sure = _is_code(written, behind_street=street)
        if street:
            sure = sure and not (last.isupper() and written.lower() in _WORDS_TOO)
        return code if sure or (not street and _is_written_out(written)) else None
    return None


def is_washington_dc(text: str) -> bool:
    """Whether a text is the city of Washington with its state: "Washington, D.C."."""
    return " ".join(re.sub(r"[^a-z]+", " ", text.lower()).split()) in {
        "washington dc",
        "washington d c",
        "washington district of columbia",
    }


def state_and_zip(text: str) -> tuple[str | None, str] | None:
    """A text that is a ZIP, alone or behind a state that it lies in: "TX 78701"."""
    found = _ZIP_AT_END.search(text)
    if found is None or not states_of_zip(found[1]):
        return None
    before = text[: found.start()].strip(" ,.")
    code = state_code(before) if before else None
    if before and (not isinstance(code, str) or code not in states_of_zip(found[1])):
        return None
    return (code if isinstance(code, str) else None), found[1]


def _is_written_out(state: str) -> bool:
    """Whether a state is written in full, and no city that ends a name: Port Washington."""
    full = state.lower().replace(".", "")
    return full == "washington dc" or (full in _FULL_NAMES and full not in _CITIES_TOO)


def _is_code(state: str, *, behind_street: bool) -> bool:
    """Whether a word is the code of a state: not a court (Ct), a direction (NE) or "in"."""
    code = state.replace(".", "")
    if len(code) != _CODE or (behind_street and code.upper() in _STREETS_TOO):
        return False
    return code.isupper() or code.lower() not in _WORDS_TOO


def state_of(zip_code: str | None, named: str | None = None) -> str:
    """The state of a row without one: that of its ZIP, or the one that its address names."""
    lies_in = states_of_zip(zip_code or "") & STATES.keys()
    if named is not None and (named in lies_in or not lies_in):
        return named
    if zip_code is None:
        raise ValueError(
            "state: it is missing, and neither a ZIP nor the end of the address names one"
        )
    if len(lies_in) != 1:
        where = f"lies in {' and '.join(sorted(lies_in))}" if lies_in else "is in no state's range"
        raise ValueError(f"state: it is missing, and ZIP {zip_code} {where}")
    return next(iter(lies_in))
