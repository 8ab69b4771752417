"""Streets, house numbers and suites in comparable parts, and the records an address falls in."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from svc_tools.service.ratebook.address_line import labelled

if TYPE_CHECKING:
    from collections.abc import Sequence


UNSURE = "?"
"""Instead of a parity: the record may hold any house of its street, and none for sure."""
PO_BOX = "PO BOX"
"""The street of a post-office box; its number is the house number."""


class Street(NamedTuple):
    """A street in comparable parts: `N`, `MAIN`, `ST`, and the direction behind it."""

    pre: str
    name: str
    suffix: str
    post: str

    @property
    def whole(self) -> str:
        """All of it in one line: equal for equal streets, however their parts were split."""
        return " ".join(part for part in self if part)


class House(NamedTuple):
    """A house number: what stands around its digits (`N64W|`, `|A`) and the digits."""

    letters: str
    number: int


class Unit(NamedTuple):
    """A suite, flat or floor: its kind, normalised, and its number or letter."""

    kind: str
    name: str


class CompositionSpan(NamedTuple):
    """A composition by its number, and the days it holds."""

    begins: int
    ends: int
    composite: int


class AddressRow(NamedTuple):
    """An address record whose ZIP, street name and range of numbers fit."""

    street: Street
    letters: str
    low: int
    high: int
    parity: str
    unit: str
    unit_low: str
    unit_high: str
    unit_parity: str
    span: CompositionSpan


_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")
_NOT_THE_STREET = ("Occupancy", "SubaddressType", "SubaddressIdentifier", "USPSBox", "Recipient")


class StreetLine(NamedTuple):
    """The street a caller names.

    Attributes:
        house: the house number.
        street: the street in comparable parts.
        unit: the suite, where one is named.
        last: the last number of several, such as 110 of "100-110 Main St".
    """

    house: House
    street: Street
    unit: Unit | None
    last: House | None = None

    @property
    def plain(self) -> House:
        """The house number without a letter behind it: 12A stands between 1 and 99.

        Letters before it stay: N64W150 is another house than 150.
        """
        lead, bar, _ = self.house.letters.partition("|")
        return House(lead + bar, self.house.number)


def read_street(text: str) -> StreetLine | None:
    """The house number, street and suite of a caller's street line; `None` without a number."""
    words = [(word.strip(","), label) for word, label in labelled(text)]
    if not any(label == "AddressNumber" for _, label in words):
        box = [word for word, label in words if label == "USPSBoxID"]
        house = house_number(box[0]) if box else None
        if house:
            return StreetLine(house, Street("", PO_BOX, "", ""), None)
        words = [(word, "") for word, _ in words]  # "7 Elm" is taken for a flat
    unit = _unit(words)
    rest = [word for word, label in words if not label.startswith(_NOT_THE_STREET)]
    while rest and not rest[0][:1].isdigit() and house_number(rest[0]) is None:
        rest.pop(0)  # a name of a house or a company before the number
    if not rest:
        return None
    first = rest.pop(0)
    several = _RANGE.fullmatch(first)
    house = house_number(several[1] if several else first)
    last = house_number(several[2]) if several else None
    if rest and re.fullmatch(r"\d/\d", rest[0]):
        rest.pop(0)
    street = split_street(" ".join(rest))
    return StreetLine(house, street, unit, last) if house and street.name else None


def _unit(words: Sequence[tuple[str, str]]) -> Unit | None:
    kinds = [word for word, label in words if label in {"OccupancyType", "SubaddressType"}]
    names = [
        word.strip("#")
        for word, label in words
        if label in {"OccupancyIdentifier", "SubaddressIdentifier"}
    ]
    names = [name for name in names if name]
    return Unit(unit_kind(kinds[0]) if kinds else "", names[0].upper()) if names else None


def matching(
    given: StreetLine, rows: Sequence[AddressRow]
) -> tuple[list[AddressRow], Literal["address", "street", "vague"]]:
    """The records an address falls into, and how sure that is.

    Records of exactly the street go before those that differ by a direction or a suffix which
    only one side has: "100 Main" may be on N Main St. Of the records of a house, those of the
    suite given go before those of the whole house.

    Returns:
        The records, and `address` where they are this address's; `street` where a part of the
        street is missing, or a suite of a house whose suites alone have records; `vague` where
        a record without its house numbers has another composition.
    """
    clear = [row for row in rows if row.parity != UNSURE]
    numbered = [row for row in clear if _holds_number(given.house, row)]
    if not numbered:
        numbered = [row for row in clear if _holds_number(given.plain, row)]
    numbered += [row for row in rows if row.parity == UNSURE]
    exact = [row for row in numbered if row.street.whole == given.street.whole]
    found = exact or [row for row in numbered if _compatible(given.street, row.street)]
    found = _of_unit(given.unit, found)
    sure = {row.span.composite for row in found if row.parity != UNSURE}
    if any(row.span.composite not in sure for row in found):
        return found, "vague"
    suites = given.unit is None and all(row.unit_low for row in found)
    return found, "address" if exact and not suites else "street"


def _holds_number(house: House, row: AddressRow) -> bool:
    return (
        house.letters == row.letters
        and row.low <= house.number <= row.high
        and _has_parity(house.number, row.parity)
    )


def _has_parity(number: int, parity: str) -> bool:
    return parity == "B" or (number % 2 == 1) == (parity == "O")


def _compatible(given: Street, row: Street) -> bool:
    """Whether two streets of one name differ only by parts that one of them does not say."""
    pairs = ((given.pre, row.pre), (given.suffix, row.suffix), (given.post, row.post))
    return given.name == row.name and all(a == b or not a or not b for a, b in pairs)


def _of_unit(unit: Unit | None, rows: list[AddressRow]) -> list[AddressRow]:
    """The records of the suite given, else those of the whole house; all without a suite."""
    if unit is None:
        return rows
    own = [row for row in rows if row.unit_low and _holds_unit(unit, row)]
    return own or [row for row in rows if not row.unit_low]


def _holds_unit(unit: Unit, row: AddressRow) -> bool:
    if unit.kind != row.unit:
        return False
    low, high, name = row.unit_low, row.unit_high, unit.name
    if low.isdecimal() and high.isdecimal():
        return (
            name.isdecimal()
            and int(low) <= int(name) <= int(high)
            and _has_parity(int(name), row.unit_parity)
        )
    return len(low) == len(name) == len(high) and low <= name <= high


_DIRECTIONS = {
    "NORTH": "N", "SOUTH": "S", "EAST": "E", "WEST": "W", "NORTHEAST": "NE", "NORTHWEST": "NW",
    "SOUTHEAST": "SE", "SOUTHWEST": "SW",
}  # fmt: skip
_DIRECTION = frozenset({"N", "S", "E", "W", "NE", "NW", "SE", "SW"})
_SUFFIX_FORMS = """
ALY ALLEE ALLEY ALLY|ANX ANEX ANNEX ANNX|ARC ARCADE|AVE AV AVEN AVENU AVENUE AVN AVNUE|BYU BAYOO
BAYOU|BCH BEACH|BND BEND|BLF BLUF BLUFF|BLFS BLUFFS|BTM BOT BOTTM BOTTOM|BLVD BOUL BOULEVARD BOULV
BV|BR BRNCH BRANCH|BRG BRDGE BRIDGE|BRK BROOK|BRKS BROOKS|BG BURG|BGS BURGS|BYP BYPA BYPAS BYPASS
BYPS|CP CAMP CMP|CYN CANYN CANYON CNYN|CPE CAPE|CSWY CAUSEWAY CAUSWA|CTR CEN CENT CENTER CENTR
CENTRE CNTER CNTR|CTRS CENTERS|CIR CIRC CIRCL CIRCLE CRCL CRCLE|CIRS CIRCLES|CLF CLIFF|CLFS CLIFFS
|CLB CLUB|CMN COMMON|CMNS COMMONS|COR CORNER|CORS CORNERS|CRSE COURSE|CT COURT|CTS COURTS|CV COVE
|CVS COVES|CRK CREEK|CRES CRESCENT CRSENT CRSNT|CRST CREST|XING CROSSING CRSSNG|XRD CROSSROAD|XRDS
CROSSROADS|CURV CURVE|DL DALE|DM DAM|DV DIV DIVIDE DVD|DR DRIV DRIVE DRV|DRS DRIVES|EST ESTATE|ESTS
ESTATES|EXPY EXP EXPR EXPRESS EXPRESSWAY EXPW|EXT EXTENSION EXTN EXTNSN|EXTS EXTENSIONS|FALL|FLS
FALLS|FRY FERRY FRRY|FLD FIELD|FLDS FIELDS|FLT FLAT|FLTS FLATS|FRD FORD|FRDS FORDS|FRST FOREST
FORESTS|FRG FORG FORGE|FRGS FORGES|FRK FORK|FRKS FORKS|FT FORT FRT|FWY FREEWAY FREEWY FRWAY FRWY
|GDN GARDEN GARDN GRDEN GRDN|GDNS GARDENS GRDNS|GTWY GATEWAY GATEWY GATWAY GTWAY|GLN GLEN|GLNS
GLENS|GRN GREEN|GRNS GREENS|GRV GROV GROVE|GRVS GROVES|HBR HARB HARBOR HARBR HRBOR|HBRS HARBORS|HVN
HAVEN|HTS HT HEIGHTS|HWY HIGHWAY HIGHWY HIWAY HIWY HWAY|HL HILL|HLS HILLS|HOLW HLLW HOLLOW HOLLOWS
HOLWS|INLT INLET|IS ISLAND ISLND|ISS ISLANDS ISLNDS|ISLE ISLES|JCT JCTION JCTN JUNCTION JUNCTN
JUNCTON|JCTS JUNCTIONS|KY KEY|KYS KEYS|KNL KNOL KNOLL|KNLS KNOLLS|LK LAKE|LKS LAKES|LAND|LNDG
LANDING LNDNG|LN LANE|LGT LIGHT|LGTS LIGHTS|LF LOAF|LCK LOCK|LCKS LOCKS|LDG LDGE LODG LODGE|LOOP
LOOPS|MALL|MNR MANOR|MNRS MANORS|MDW MEADOW|MDWS MEADOWS MEDOWS|MEWS|ML MILL|MLS MILLS|MSN MISSION
MISSN MSSN|MTWY MOTORWAY|MT MNT MOUNT|MTN MNTAIN MNTN MOUNTAIN MOUNTIN MTIN|MTNS MNTNS MOUNTAINS
|NCK NECK|ORCH ORCHARD ORCHRD|OVAL OVL|OPAS OVERPASS|PARK PRK PARKS|PKWY PARKWAY PARKWY PKWAY PKY
PARKWAYS PKWYS|PASS|PSGE PASSAGE|PATH PATHS|PIKE PIKES|PNE PINE|PNES PINES|PL PLACE|PLN PLAIN|PLNS
PLAINS|PLZ PLAZA PLZA|PT POINT|PTS POINTS|PRT PORT|PRTS PORTS|PR PRAIRIE PRR|RADL RAD RADIAL RADIEL
|RAMP|RNCH RANCH RANCHES RNCHS|RPD RAPID|RPDS RAPIDS|RST REST|RDG RDGE RIDGE|RDGS RIDGES|RIV RIVER
RIVR RVR|RD ROAD|RDS ROADS|RTE ROUTE RT|ROW|RUE|RUN|SHL SHOAL|SHLS SHOALS|SHR SHOAR SHORE|SHRS
SHOARS SHORES|SKWY SKYWAY|SPG SPNG SPRING SPRNG|SPGS SPNGS SPRINGS SPRNGS|SPUR SPURS|SQ SQR SQRE
SQU SQUARE|SQS SQRS SQUARES|STA STATION STATN STN|STRA STRAV STRAVEN STRAVENUE STRAVN STRVN|STRM
STREAM STREME|ST STREET STRT STR|STS STREETS|SMT SUMIT SUMITT SUMMIT|TER TERR TERRACE|TRWY
THROUGHWAY|TRCE TRACE TRACES|TRAK TRACK TRACKS TRK TRKS|TRFY TRAFFICWAY|TRL TRAIL TRAILS TRLS|TUNL
TUNEL TUNLS TUNNEL TUNNELS|TPKE TRNPK TURNPIKE TURNPK|UPAS UNDERPASS|UN UNION|UNS UNIONS|VLY VALLEY
VALLY VLLY|VLYS VALLEYS|VIA VDCT VIADCT VIADUCT|VW VIEW|VWS VIEWS|VLG VILL VILLAG VILLAGE VILLG
|VLGS VILLAGES|VL VILLE|VIS VIST VISTA VST VSTA|WALK WALKS|WALL|WAY WY|WAYS|WL WELL|WLS WELLS
"""
_SUFFIXES: dict[str, str] = {
    form: forms[0]
    for forms in (group.split() for group in _SUFFIX_FORMS.split("|"))
    for form in forms
}
_ORDINALS = {
    "FIRST": "1ST", "SECOND": "2ND", "THIRD": "3RD", "FOURTH": "4TH", "FIFTH": "5TH",
    "SIXTH": "6TH", "SEVENTH": "7TH", "EIGHTH": "8TH", "NINTH": "9TH", "TENTH": "10TH",
    "ELEVENTH": "11TH", "TWELFTH": "12TH",
}  # fmt: skip
_NAME_WORDS = {
    "SAINT": "ST", "SAINTE": "STE", "COUNTY": "CO", "CNTY": "CO", "CTY": "CO",
    "DOCTOR": "DR", "JUNIOR": "JR", "SENIOR": "SR",
}  # fmt: skip
_DOTTED = re.compile(r"(?<=\b[A-Z])\.(?=[A-Z]\b)")
_WORD = re.compile(r"[A-Z0-9]+(?:/[0-9]+)?")
_BOX = re.compile(r"^(?:P\s*O|POST\s+OFFICE|POB)?\s*BOX\b|^POB\b|^P\s*O\s+B\b")
_NUMBER = re.compile(
    r"(?P<lead>(?:[A-Z0-9 -]*[A-Z -])?)(?P<number>[0-9]{1,10})(?P<tail>[A-Z]{0,2})"
)


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").upper()
    plain = _DOTTED.sub("", plain).replace("'", "").replace("`", "")
    words = _WORD.findall(plain)
    return [_ORDINALS.get(word) or _NAME_WORDS.get(word, word) for word in words]


def _direction(word: str) -> str:
    """The short form of a direction; empty for any other word."""
    return word if word in _DIRECTION else _DIRECTIONS.get(word, "")


def _shortened(words: list[str]) -> str:
    """A name whose words are in their shortest form: both `HIGHWAY 61` and `HWY 61`."""
    return " ".join(_SUFFIXES.get(word, word) for word in words)


@lru_cache(maxsize=16_384)
def split_street(text: str) -> Street:
    """The parts of a street written in one piece, without house number and suite."""
    words = _words(text)
    if _BOX.match(" ".join(words)):
        return Street("", PO_BOX, "", "")
    pre = suffix = post = ""
    if len(words) > 1 and (post := _direction(words[-1])):
        words.pop()
    if len(words) > 1 and words[-1] in _SUFFIXES:
        suffix = _SUFFIXES[words.pop()]
    if len(words) > 1 and (pre := _direction(words[0])):
        words.pop(0)
    return Street(pre, _shortened(words), suffix, post)


@lru_cache(maxsize=16_384)
def join_street(pre: str, name: str, suffix: str, post: str) -> Street:
    """A street whose parts are in separate columns.

    Parts that a file leaves inside the name (`MAIN ST`, suffix blank) are split like a
    caller's.
    """
    if not (pre or suffix or post):
        return split_street(name)
    words = _words(name)
    if not suffix and len(words) > 1 and words[-1] in _SUFFIXES:
        suffix = words.pop()
    return Street(
        _direction("".join(_words(pre))) or "".join(_words(pre)),
        _shortened(words),
        _shortened(_words(suffix)),
        _direction("".join(_words(post))) or "".join(_words(post)),
    )


@lru_cache(maxsize=16_384)
def house_number(text: str) -> House | None:
    """A house number such as `1201`, `12A` or `N64W23760`; `None` for any other text.

    The number that counts along the street is the last one; a fraction behind it is dropped.
    """
    plain = re.sub(r"\s+\d/\d$", "", text.strip().upper())
    found = _NUMBER.fullmatch(plain)
    if found is None:
        return None
    lead = re.sub(r"[ -]", "", found["lead"])
    return House(f"{lead}|{found['tail']}", int(found["number"]))


_UNIT_KINDS = {
    "BUILDING": "BLDG", "BLDG": "BLDG", "FLOOR": "FL", "FL": "FL", "FLR": "FL", "LOT": "LOT",
    "SLIP": "SLIP", "TRAILER": "TRLR", "TRLR": "TRLR", "HANGAR": "HNGR", "HNGR": "HNGR",
    "PIER": "PIER", "DEPARTMENT": "DEPT", "DEPT": "DEPT", "SPACE": "SPC", "SPC": "SPC",
    "STOP": "STOP",
}  # fmt: skip


def unit_kind(text: str) -> str:
    """The kind of a suite; `""` for the many words for a room (`APT`, `STE`, `UNIT`, `#`)."""
    return _UNIT_KINDS.get("".join(_words(text)), "")
