"""A place as one query: normalized, hashable, in exactly one input mode (SPEC 4.4)."""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import deque
from dataclasses import dataclass, fields, replace
from datetime import date  # noqa: TC003 - pydantic reads the annotations of `Place`
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from svc_tools.places.days import day_of, text_of
from svc_tools.places.states import STATES, Elsewhere, state_code
from svc_tools.places.zips import normal_zip, states_of
from svc_tools.short_forms import readings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

Mode = Literal["address", "coordinates", "zip", "place"]
_LINE = (10, 200)
"""How many characters a one-line address may have (WIRE)."""
_LONGEST_NAME = 64
_LONGEST = 4_000
"""How many characters of a text a request can carry: far above what any service reads."""
_UNITED_STATES = {"us", "usa", "unitedstates", "unitedstatesofamerica", "america"}

_KNOWN_AS = {
    "nyc": "new york",
    "washington dc": "washington",
    "washington d c": "washington",
    "new york city": "new york",
    "sf": "san francisco",
}
_ENDINGS = (" city", " town", " township", " village", " county")

_WHOLE_ZIP = re.compile(r"[0-9]{5}(?:-[0-9]{4})?")
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
_WORDS_TOO = frozenset(
    {
        "al",
        "co",
        "ct",
        "de",
        "fl",
        "hi",
        "id",
        "in",
        "la",
        "ma",
        "me",
        "mt",
        "ne",
        "oh",
        "ok",
        "or",
        "pa",
    }
)
"""Codes that in lowercase are words or short forms of other things."""


class _Hashed:
    """Holds a hash that is computed once: a place is a key in many dictionaries."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Place(_Hashed):
    """One query to the service. Equal places are requested once."""

    state: str
    mode: Mode
    address: str | None = None
    city: str | None = None
    zip: str | None = None
    location: str | None = None
    lat: float | None = None
    lng: float | None = None
    as_of: date | None = None

    def __hash__(self) -> int:
        """The hash of its fields, computed once per process: hashes of text differ between them."""
        try:
            return self._hash
        except AttributeError:
            value = hash((self.hash_apart_from_day(), self.as_of))
            object.__setattr__(self, "_hash", value)
            return value

    def hash_apart_from_day(self) -> int:
        """The hash without the day: the same for the same place on any day."""
        fields = (self.address, self.city, self.zip, self.location, self.lat, self.lng)
        return hash((self.state, self.mode, *fields))

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `Svc.lookup`, the state apart."""
        names = ("address", "city", "zip", "location", "lat", "lng", "as_of")
        values = ((name, getattr(self, name)) for name in names)
        return {name: value for name, value in values if value is not None}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that is not requested: `invalid`, or `unsupported` (elsewhere), and why."""

    status: Literal["invalid", "unsupported"]
    reason: str
    # the attributes of `Question`, so that a list of both can be read in one go
    state_from_zip: ClassVar[bool] = False
    state_from_address: ClassVar[bool] = False
    zip_repaired: ClassVar[bool] = False
    named_city: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class Cells:
    """One row's cells as they stand in the frame; `None` where there is no such column."""

    state: object = None
    zip: object = None
    address: object = None
    city: object = None
    location: object = None
    lat: object = None
    lng: object = None
    country: object = None
    as_of: object = None


@dataclass(frozen=True, slots=True)
class Question:
    """The query of a row: a place, and how the row's cells were understood."""

    place: Place
    state_from_zip: bool = False
    state_from_address: bool = False
    zip_repaired: bool = False
    named_city: str | None = None
    """The row's city where it is not sent: it is compared with the response instead."""


def question(cells: Cells, *, dated: bool, tz: tzinfo | None = None) -> Question | Refusal:
    """The query of a row: by address, else coordinates, else ZIP, else place name.

    Args:
        cells: the row.
        dated: whether the row must have a date: a missing one is then refused, because the
            rate of today would look right and be wrong.
        tz: the time zone of the calendar date of a moment with a time zone.
    """
    undated = where(cells)
    if isinstance(undated, Refusal):
        return undated
    try:
        day = day_of(cells.as_of, tz)
    except ValueError as error:
        return Refusal("invalid", str(error))
    return on_day(undated, day) if day or not dated else NO_DATE


def where(cells: Cells) -> Question | Refusal:
    """The query of a row without its date, which `on_day` adds."""
    try:
        return _question(cells)
    except ValueError as error:
        return Refusal("invalid", str(error))
    except _ElsewhereError as error:
        return Refusal("unsupported", error.reason)


def on_day(undated: Question, day: date | None) -> Question:
    """The same query on a day; `None` for today."""
    if day is None:
        return undated
    return replace(undated, place=replace(undated.place, as_of=day))


NO_DATE = Refusal("invalid", "as_of: the row has no date")
"""The refusal of a row without a date where the others have one."""


class _ElsewhereError(Exception):
    def __init__(self, elsewhere: Elsewhere) -> None:
        super().__init__(elsewhere.reason)
        self.reason = elsewhere.reason


def _question(cells: Cells) -> Question:
    _check_country(cells.country)
    address, city, location = text_of(cells.address), text_of(cells.city), text_of(cells.location)
    given = _state(cells.state)
    named = None
    if given is None and len(_states_of_cell(cells.zip)) != 1:
        named = _named_state(address, city, location)
    zip_code = _zip(cells, given or named)
    point = _point(cells.lat, cells.lng, alone=not (address or city or location or zip_code))
    if not (address or city or location or point or zip_code):
        raise ValueError("the row gives no address, coordinates, ZIP or place name")
    sure = agreed_state(given, zip_code, address=address, city=city, location=location)
    named = named or (sure if given is None else None)
    if point and not (given or named or zip_code):
        raise ValueError("state: give the state of the point, such as TX")
    state = given or _state_of(zip_code, named)
    repaired = zip_code is not None and zip_code != text_of(cells.zip)
    if zip_code is None and (bare := state_and_zip(address or "")):
        address, zip_code = None, bare[1]
    place, named_city = _place(
        state=state,
        address=address,
        city=city,
        location=location,
        point=point,
        zip_code=zip_code,
    )
    return Question(
        place,
        state_from_zip=given is None and state != named,
        state_from_address=given is None and state == named,
        zip_repaired=repaired,
        named_city=_bare_city(named_city, state),
    )


def _place(
    *,
    state: str,
    address: str | None,
    city: str | None,
    location: str | None,
    point: tuple[float, float] | None,
    zip_code: str | None,
) -> tuple[Place, str | None]:
    """The place in the first input mode that fits the row, and the city to compare."""
    unfit = ""
    if address:
        if city:
            _check_text("address", address)
            _check_text("city", city)
            return Place(state, "address", address, city, zip_code), None
        # the client appends ", ST 12345" to a line that has no ZIP
        length = len(address) + (len(zip_code) + 5 if zip_code else 0)
        if _LINE[0] <= length <= _LINE[1]:
            _check_text("address", address)
            return Place(state, "address", address, zip=zip_code), None
        unfit = (
            f"address: {address[:40]!r} has {length} characters; expected {_LINE[0]} to {_LINE[1]}"
        )
    if point:
        return Place(state, "coordinates", lat=point[0], lng=point[1]), city
    if zip_code:
        return Place(state, "zip", zip=zip_code), city or location
    name = location or city
    if not name:
        raise ValueError(unfit)
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"location: {name[:40]!r} has more than {_LONGEST_NAME} characters")
    _check_text("location", name)
    return Place(state, "place", location=name), None


def _check_text(role: str, text: str) -> None:
    """Refuse what no request can carry: it would fail every time."""
    if len(text) > _LONGEST:
        raise ValueError(
            f"{role}: {text[:40]!r} has {len(text)} characters; expected {_LONGEST} at most"
        )
    if not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text):
        raise ValueError(
            f"{role}: {text[:40]!r} holds half a character: the file was read with another"
            " encoding than it was written with"
        )


def _state(value: object) -> str | None:
    text = text_of(value)
    if text is None:
        return None
    code = state_code(text)
    if isinstance(code, Elsewhere):
        raise _ElsewhereError(code)
    if code is None:
        raise ValueError(f"state: {text[:40]!r} is not a US state; expected 'TX' or 'Texas'")
    return code


def _named_state(address: str | None, *names: str | None) -> str | None:
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
        _ElsewhereError: it ends in a territory, a Canadian province or postal code.
    """
    text = _COUNTRY_AT_END.sub("", text).strip(" ,.")
    if found := _CANADIAN_AT_END.search(text):
        raise _ElsewhereError(Elsewhere(f"{found[1]} is a Canadian postal code"))
    if found := _ZIP_AT_END.search(text):
        return _state_of_end(text[: found.start()].rstrip(" ,"), found[1], street=street)
    if named := _state_named(text):
        return named
    first = _ZIP_FIRST.match(text)
    if first and not _NO_CITY.search(first["city"] or ""):
        return _state_of(first["zip"])
    return None


def _state_of_end(before: str, zip_code: str, *, street: bool) -> str | None:
    """The state of a text that ends in a ZIP, from the ZIP and what stands before it."""
    lies_in = states_of(zip_code)
    if not before:
        return None if street else _state_of(zip_code)
    words = re.split(r"[\s,]+", before)
    for count in (1, 2, 3):
        code = state_code(" ".join(words[-count:]))
        if isinstance(code, str) and code in lies_in:
            return code
        if isinstance(code, Elsewhere) and lies_in and not lies_in & STATES.keys():
            raise _ElsewhereError(code)
    city = before.rpartition(",")[2].strip()
    if not lies_in or not _may_precede_zip(before):
        return None
    code = state_code(words[-1])
    if isinstance(code, str) and not _DIGIT(city):
        raise ValueError(_elsewhere("address" if street else "place", code, zip_code))
    return _state_of(zip_code)


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
    lies_in = " and ".join(sorted(states_of(zip_code)))
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
            raise _ElsewhereError(code)
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
        _ElsewhereError: a text of a row without a state ends in a territory or in Canada.
    """
    agreed, by = None, ""
    lies_in = states_of(zip_code) if zip_code else frozenset()
    for what, text in (("address", address), ("city", city), ("place", location)):
        if not text:
            continue
        state, own_zip = _says(text, street=text is address)
        if isinstance(state, Elsewhere):
            if given is None:
                raise _ElsewhereError(state)
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
        return _Says(Elsewhere(f"{found[1]} is a Canadian postal code"))
    if found := _ZIP_AT_END.search(text):
        before, zip5 = text[: found.start()].rstrip(" ,"), found[1][:5]
        if not states_of(zip5):
            return _Says(_sure_state(before))
        state = _sure_state(before) or _state_alone(before)
        is_zip = state is not None or (not before and not street) or _may_precede_zip(before)
        return _Says(state, zip5 if is_zip else None)
    first = _ZIP_FIRST.match(text) if street else None
    if first and (_NO_CITY.search(first["city"] or "") or not states_of(first["zip"])):
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
    if found is None or not states_of(found[1]):
        return None
    before = text[: found.start()].strip(" ,.")
    code = state_code(before) if before else None
    if before and (not isinstance(code, str) or code not in states_of(found[1])):
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


def _bare_city(city: str | None, state: str) -> str | None:
    """The city without the state after it: "Seattle, WA"."""
    head, comma, tail = (city or "").rpartition(",")
    return head.strip() if comma and state_code(tail) == state else city


def _check_country(value: object) -> None:
    text = text_of(value)
    plain = re.sub(r"\(.*?\)|[^a-z]|^the ", "", (text or "").lower())
    if text is not None and plain not in _UNITED_STATES:
        raise _ElsewhereError(Elsewhere(f"{text[:40]} is not the United States"))


def _state_of(zip_code: str | None, named: str | None = None) -> str:
    """The state of a row without one: that of its ZIP, or the one that its address names."""
    lies_in = states_of(zip_code or "") & STATES.keys()
    if named is not None and (named in lies_in or not lies_in):
        return named
    if zip_code is None:
        raise ValueError(
            "state: none is given, and neither a ZIP nor the end of the address names one"
        )
    if len(lies_in) != 1:
        where = f"lies in {' and '.join(sorted(lies_in))}" if lies_in else "is in no state's range"
        raise ValueError(f"state: none is given, and ZIP {zip_code} {where}")
    return next(iter(lies_in))


def _states_of_cell(zip_code: object) -> frozenset[str]:
    """The states of a ZIP that is written as one; empty for anything else."""
    found = _WHOLE_ZIP.fullmatch(text_of(zip_code) or "")
    return states_of(found[0]) if found else frozenset()


def _zip(cells: Cells, state: str | None) -> str | None:
    if text_of(cells.zip) is None:
        return None
    zip_code = normal_zip(cells.zip, state)
    if isinstance(zip_code, Elsewhere):
        raise _ElsewhereError(zip_code)
    return zip_code


def _point(lat: object, lng: object, *, alone: bool) -> tuple[float, float] | None:
    """The coordinates of a row; ignored where incomplete or 0,0, unless nothing else is given."""
    given = [value for value in (lat, lng) if text_of(value) is not None]
    if not given or (len(given) == 1 and not alone):
        return None
    point = _degrees("lat", lat, 90), _degrees("lng", lng, 180)
    return None if point == (0.0, 0.0) and not alone else point


def _degrees(name: str, value: object, limit: int) -> float:
    text = text_of(value)
    if text is None:
        raise ValueError(f"{name}: missing; lat and lng go together")
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{name}: {text[:40]!r} is not a number of degrees") from None
    if not (math.isfinite(number) and abs(number) <= limit):
        raise ValueError(f"{name}: {text[:40]} is not within -{limit} to {limit} degrees")
    return number or 0.0  # minus zero is the same point


def same_place(one: str, other: str) -> bool:
    """Whether two names differ only in spelling: case, accents, "St." for "Saint", "City"."""
    return not _plain(one).isdisjoint(_plain(other))


@functools.lru_cache(maxsize=65536)
def _plain(name: str) -> frozenset[str]:
    """The name without what does not count; several where a short form has several meanings."""
    bare = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", " ", bare.replace("'", "")).split()
    return frozenset(_without_kind(" ".join(reading)) for reading in readings(tuple(words)))


def _without_kind(text: str) -> str:
    text = _KNOWN_AS.get(text, text)
    for ending in _ENDINGS:
        text = text.removesuffix(ending)
    return text.replace(" ", "")


_PLACE = tuple(one.name for one in fields(Place) if one.name != "as_of")
_NOTES = tuple(one.name for one in fields(Question) if one.name != "place")


def on_days(undated: Sequence[Question], days: Sequence[date]) -> list[Question]:
    """`on_day` for each pair of a query and a day: nearly every row of a year of orders is one.

    They are made field by field, bypassing the guard of frozen classes: four times as fast as
    their constructors.
    """
    count = len(undated)
    places = list(map(attrgetter("place"), undated))
    dated = list(map(object.__new__, repeat(Place, count)))
    for name in _PLACE:
        _set(Place, name, dated, map(attrgetter(name), places))
    _set(Place, "as_of", dated, days)
    by_id = {id(one): one for one in places}
    known = {key: one.hash_apart_from_day() for key, one in by_id.items()}
    apart = map(known.__getitem__, map(id, places))
    _set(Place, "_hash", dated, map(hash, zip(apart, days, strict=True)))
    questions = list(map(object.__new__, repeat(Question, count)))
    _set(Question, "place", questions, dated)
    for name in _NOTES:
        _set(Question, name, questions, map(attrgetter(name), undated))
    return questions


def _set(kind: type, name: str, objects: Iterable[object], values: Iterable[Any]) -> None:
    deque(map(getattr(kind, name).__set__, objects, values), maxlen=0)
