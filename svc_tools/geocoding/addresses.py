"""The street addresses that may be sent to a geocoder, and what it found for them. Pure."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from svc_tools.base.positions import Position
from svc_tools.tables.states import state_code, states_of_zip

if TYPE_CHECKING:
    from svc_tools.tables.places import Place

CITY_STATES = frozenset(
    {
        *("AK", "AL", "AR", "AZ", "CA", "CO", "GA", "IA", "ID", "IL", "KS", "LA", "MN", "MO"),
        *("ND", "NE", "NM", "NY", "OK", "SC", "SD", "TN", "TX", "UT", "WA", "WV", "WY"),
    }
)
"""The states in which city limits decide the rate: addresses of others are not sent.

Vermont is none of them: its towns tax, and no map of the rate book has their limits."""

MatchKind: TypeAlias = Literal["exact", "similar", "tie", "none"]
"""How an address matched: exactly, one much like it, several equally well, or none."""
MATCHES: tuple[MatchKind, ...] = ("exact", "similar", "tie", "none")


class StreetAddress(NamedTuple):
    """A street address, normalized: all that a geocoder gets. Empty where a part is missing."""

    street: str
    city: str
    state: str
    zip: str

    def __str__(self) -> str:
        """On one line, as mail has it."""
        behind = " ".join(part for part in (self.state, self.zip) if part)
        return ", ".join(part for part in (self.street, self.city, behind) if part)


class AddressMatch(NamedTuple):
    """What a geocoder found for an address.

    Attributes:
        match: how the address matched.
        lat: latitude in degrees; `None` without a match.
        lng: longitude in degrees, likewise.
        zip: the ZIP of the matched address, where the geocoder names it.
        city: its city, likewise.
        state: the code of its state, likewise.
    """

    match: MatchKind
    lat: float | None = None
    lng: float | None = None
    zip: str = ""
    city: str = ""
    state: str = ""

    @property
    def position(self) -> Position | None:
        """The position; `None` for a tie and where nothing matched."""
        if self.lat is None or self.lng is None or self.match not in {"exact", "similar"}:
            return None
        return Position(self.lat, self.lng, self.match, self.zip, self.city, self.state)


def _any(words: str) -> str:
    """The pattern of any of these words."""
    return f"(?:{'|'.join(words.split())})"


_TYPE = _any(
    "ST STR STREET AVE AV AVENUE RD ROAD DR DRIVE LN LANE BLVD BOULEVARD CT COURT CIR CIRCLE PL"
    " PLACE TER TERR TERRACE WAY PKWY PKY PARKWAY HWY HIGHWAY TRL TRAIL PIKE ALY ALLEY SQ SQUARE"
    " FWY FREEWAY EXPY EXPRESSWAY TPKE TURNPIKE LOOP CV COVE PLZ PLAZA XING CROSSING CSWY CAUSEWAY"
)
"""Types of streets: no word of a street's name stands behind one."""
_SOFT_TYPE = _any(
    "BEND BND BLUFF BLF BLUFFS BYPASS BYP CENTER CTR CHASE CLOSE COMMON COMMONS CMN CORNER COR"
    " CORNERS CREEK CRK CREST CRST CRESCENT CRES CURVE DALE ESTATE EST ESTATES ESTS FALLS FLS FIELD"
    " FLD FIELDS FLDS FOREST FRST GARDEN GDN GARDENS GDNS GATEWAY GTWY GLEN GLN GREEN GRN GROVE GRV"
    " HARBOR HBR HAVEN HVN HEIGHTS HTS HILL HL HILLS HLS HOLLOW HOLW ISLAND ISLE JUNCTION JCT KNOLL"
    " KNL KNOLLS KNLS LAKE LK LAKES LKS LANDING LNDG MALL MANOR MNR MEADOW MDW MEADOWS MDWS MEWS"
    " MILL ML MILLS MLS MOUNTAIN MTN OVAL PARK PASS PATH POINT PT POINTE RANCH RNCH RIDGE RDG RIVER"
    " RIV ROW RUN SHORE SHR SHORES SHRS SPRING SPG SPRINGS SPGS SPUR STATION STA SUMMIT SMT TRACE"
    " TRCE TRACK VALLEY VLY VIEW VW VILLAGE VLG VISTA VIS WALK WOODS WDS"
)
"""Types that are also surnames and words of streets' names."""
_TYPE_FIRST = _any("AVENUE AVE CALLE AVENIDA CAMINO VIA PASEO RUE")
_UNIT = _any(
    "APT APARTMENT UNIT STE SUITE RM ROOM FL FLR FLOOR BLDG BUILDING LOT TRLR TRAILER SPC SPACE OFC"
    " OFFICE PH PENTHOUSE BSMT BASEMENT FRNT FRONT LBBY LOBBY LOWR LOWER UPPR UPPER REAR SIDE SLIP"
    " HNGR HANGAR"
)
_NO_NAME = _any(
    "APT APARTMENT UNIT STE SUITE RM ROOM FL FLR FLOOR BLDG TRLR PO POB POBOX BOX PMB FOR CALL"
    " PLEASE MR MRS MS MISS"
)
"""Words that no street's name has."""
_WAY = _any("N S E W NE NW SE SW NORTH SOUTH EAST WEST NORTHEAST NORTHWEST SOUTHEAST SOUTHWEST")
_ORDINAL = r"[0-9]{0,3}(?:1ST|2ND|3RD|[0-9]TH)"
_ALONE = _any("BROADWAY BOWERY MAIN")
"""Streets that are written without a type."""
_WORD = r"""(?:["']?[^\W\d_](?:[^\W\d_]|['-]){0,24}["']?|&)"""
_FIRST = rf"(?!(?:{_NO_NAME}|{_TYPE_FIRST})\b){_WORD}"
_NEXT = rf"(?!(?:{_NO_NAME}|{_TYPE})\b){_WORD}"
_MORE = rf"(?!{_ALONE}\b)(?!{_TYPE_FIRST}\b){_NEXT}"
_HOUSE = (
    r"(?:[0-9]{1,6}(?:-?[A-Z])?|[0-9]{1,3}-[0-9]{1,3}[A-Z]?|[0-9]{4}-[0-9]{4}|[0-9]{5}-[0-9]{5}"
    r"|[NSEW][0-9]{1,5}|[0-9]{1,3}[NSEW][0-9]{1,5})"
    r"(?:\ 1/[234])?"
)
_ROUTE = (
    r"(?:(?:OLD\ |BUSINESS\ )?(?:(?:US|STATE|COUNTY|CO|FARM|RANCH|PRIVATE|TOWNSHIP|[A-Z]{2})\ )?"
    r"(?:HIGHWAY|HWY|ROUTE|RTE|RT|ROAD|RD|LOOP|SPUR)|US|INTERSTATE|I|CR|FM|RM|SH|SR"
    r"|FARM\ TO\ MARKET(?:\ ROAD|\ RD)?)"
)
_STREET = re.compile(
    rf"""(?P<street>{_HOUSE}\ (?:
      (?:{_WAY}\ )?{_ROUTE}[ -](?:NO\ )?(?:[0-9]{{1,4}}[A-Z]?|(?P<letter>[A-Z])(?P=letter)?)
      (?:\ (?:BUSINESS|BUS|ALT))?
    | (?:{_WAY}\ )?{_FIRST}\ {_TYPE}(?:\ EXT)?
    | (?!{_ALONE}\b){_FIRST}(?:\ {_NEXT}){{1,3}}\ {_TYPE}(?:\ EXT)?
    | {_WAY}\ {_MORE}(?:\ {_NEXT}){{1,3}}\ {_TYPE}(?:\ EXT)?
    | (?:{_WAY}\ )?(?:(?:DR|DOCTOR)\ )?(?:MARTIN|M)\ (?:LUTHER|L)\ KING(?:\ (?:JR|JUNIOR))?
      (?:\ {_TYPE})?
    | (?:{_WAY}\ )?{_MORE}(?:\ {_NEXT})?\ {_SOFT_TYPE}
    | (?:{_WAY}\ )?(?:{_ORDINAL}|[0-9]{{1,3}}(?=\ {_TYPE}))(?:\ {_WAY})?(?:\ {_TYPE})?
    | (?:{_WAY}\ )?[0-9]{{1,3}}\ MILE\ {_TYPE}
    | {_WAY}\ [0-9]{{1,5}}(?=\ {_WAY})
    | (?:{_WAY}\ )?(?:AVENUE|AVE)\ (?:[A-Z]|OF\ (?:THE\ )?{_WORD})
    | (?:{_WAY}\ )?(?:EL\ )?{_TYPE_FIRST}(?:\ (?:DE|DEL|LA|EL|LOS|LAS))*\ {_FIRST}
    | (?:{_WAY}\ )?{_ALONE}
    )(?:\ {_WAY})?)
    (?:\ ?\#.*|\ (?:-\ )?(?:(?:{_ORDINAL}|GROUND|FIRST|SECOND|THIRD)\ )?{_UNIT}\b.*)?""",
    re.VERBOSE,
)
"""A street address that is one beyond doubt, and its unit with all that follows it."""
_NUMBERED = re.compile(rf"(?!{_ORDINAL}\b)[NSEW]?[0-9]\S* ")
_UNIT_ALONE = re.compile(rf"(?:\#|(?:{_ORDINAL} )?{_UNIT}\b).*")
_CITY = re.compile(rf"{_WORD}(?:[ -]{_WORD}){{0,4}}")
_NOTE = re.compile(r"\(.*?(?:\)|$)")
_EMAIL = re.compile(r"(?<![^\s,;])[^\s,;@]*@[^\s,;]*")
_PHONE = re.compile(
    r"(?<![0-9])(?:\+?1[ .-]?)?(?:[0-9]{3}[ ./-]?)?[0-9]{3}[ .-]?[0-9]{4}(?![0-9-])"
)
_RECIPIENT = re.compile(
    r"(?:^|(?<=[ ,;]))(?:ATTN|ATTENTION|ATN|C/O|C\\O|CARE OF|DEPT|DEPARTMENT|FAO|FBO|DBA)\b[^,;]*"
)
_ZIP = re.compile(r"[ ,]*\b([0-9]{5})(?:-[0-9]{4})?$")
_COUNTRY = re.compile(r"[ ,]+(?:USA|US|UNITED STATES(?: OF AMERICA)?)$")


@functools.lru_cache(maxsize=65536)
def street_address(place: Place) -> StreetAddress | None:
    """The street address of a place; `None` for a place that is not to be sent.

    Sent are addresses of states in which city limits decide, and only what is street, city, state
    and ZIP beyond doubt: of an address that may hold something else, such as a name, nothing is.
    Units are left out, which share the position of their house.
    """
    if place.mode != "address" or place.state not in CITY_STATES or place.position is not None:
        return None
    line, named = _line(place.address or "", place.state), _line(place.city or "", place.state)
    at = next((at for at, piece in enumerate(line.pieces) if _NUMBERED.match(piece)), None)
    found = None if at is None else _STREET.fullmatch(line.pieces[at])
    if at is None or found is None:
        return None
    zip5 = (place.zip or "")[:5] or named.zip or line.zip
    city = _city(named.pieces)
    if not city and not zip5 and line.ends_in_state and line.is_clean:
        behind = line.pieces[at + 1 :]
        city = _city([piece for piece in behind if not _UNIT_ALONE.fullmatch(piece)])
    return StreetAddress(found["street"], city, place.state, zip5) if city or zip5 else None


class _Line(NamedTuple):
    """A line of an address, taken apart.

    Attributes:
        pieces: what stands between commas, without state, ZIP and country at its end.
        zip: the ZIP behind its state.
        ends_in_state: whether the state stood there.
        is_clean: whether it had no recipient, note, email address or phone number.
    """

    pieces: list[str]
    zip: str
    ends_in_state: bool
    is_clean: bool


def _line(text: str, state: str) -> _Line:
    """Take a line apart, and leave out what is about the recipient."""
    plain = re.sub(r"(?<=[^\W\d_])\.", "", " ".join(text.upper().split()).replace("\u2019", "'"))
    bare = plain
    for pattern in (_NOTE, _EMAIL, _PHONE, _RECIPIENT):
        bare = pattern.sub(" ", bare)
    bare = _COUNTRY.sub("", bare.strip(" ,;"))
    found = _ZIP.search(bare)
    head, zip5 = (bare[: found.start()], found[1]) if found else (bare, "")
    pieces, ends_in_state = _without_state(_pieces(head), state)
    if not (ends_in_state and state in states_of_zip(zip5)):
        # five digits that are no ZIP of the state may be anything
        zip5 = ""
        pieces, ends_in_state = _without_state(_pieces(bare), state)
    return _Line(pieces, zip5, ends_in_state, bare == plain)


def _pieces(text: str) -> list[str]:
    """What stands between commas, with single blanks."""
    return [piece for part in re.split("[,;]", text) if (piece := " ".join(part.split()))]


def _without_state(pieces: list[str], state: str) -> tuple[list[str], bool]:
    """The pieces without the state at their end; and whether it was there."""
    if len(pieces) > 1 and state_code(pieces[-1]) == state:
        return pieces[:-1], True
    if pieces and pieces[-1].endswith(f" {state}") and not _NUMBERED.match(pieces[-1]):
        return [*pieces[:-1], pieces[-1].removesuffix(state).strip()], True
    return pieces, False


def _city(pieces: list[str]) -> str:
    """The only piece, where it can be the name of a city; else empty."""
    return pieces[0] if len(pieces) == 1 and _CITY.fullmatch(pieces[0]) else ""
