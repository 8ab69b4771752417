"""Lines of SST boundary files: checked strictly, made records, their streets and codes read.

The layout has 29 columns and up to 20 triplets of special districts: 89 columns, 90 where a state
writes one more, which is not read. `Z` and `4` records say which ZIPs or ZIP+4 they hold in columns
18 to 21, `A` records their addresses in columns 4 to 17.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from svc_tools.service.ratebook.formats.sst import CITY, COUNTY, SPECIAL, STATE
from svc_tools.service.ratebook.imports.common import (
    BrokenLine,
    jurisdiction_id,
    without_blank_end,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area

COLUMNS = 29
"""Columns before the triplets."""

WIDEST = COLUMNS + 20 * 3 + 1
"""The most columns a line may have."""

OPEN_END = 99_991_231
"""The last day of a record without an end."""

UNSURE = "?"
"""Instead of a parity: the record may hold any house of its street, and none for sure."""

LAST_HOUSE = 9_999_999_999
"""No house number is above it."""

_OPEN_END = re.compile(r"20991231|2[1-9]\d{6}|[3-9]\d{7}", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_SHOWN = 40
_LAST_PLUS4 = 9999
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_CODE = re.compile(r"[A-Za-z0-9-]{1,10}", re.ASCII)
_NAMES = {
    1: "record type", 2: "begin", 3: "end", 4: "low address", 5: "high address", 6: "odd/even",
    8: "street", 12: "secondary low", 13: "secondary high", 14: "secondary odd/even", 16: "ZIP",
    18: "ZIP low", 19: "+4 low", 20: "ZIP high", 21: "+4 high", 23: "state FIPS",
    24: "state indicator", 25: "county FIPS", 26: "place FIPS",
}  # fmt: skip


class Composition(NamedTuple):
    """Whose rates add up where a record holds.

    Attributes:
        indicator: the state's FIPS code; empty where the record does not name the state.
        county: three digits, or empty.
        place: five digits, or empty.
        specials: special districts as `type:code`, in order.
    """

    indicator: str
    county: str
    place: str
    specials: tuple[str, ...]


class ZipRecord(NamedTuple):
    """A `Z` record: from ZIP `low` to ZIP `high`, both whole."""

    begins: int
    ends: int
    low: int
    high: int
    composition: Composition


class Plus4Record(NamedTuple):
    """A `4` record: from one ZIP+4 to another, ZIPs between them whole."""

    begins: int
    ends: int
    zip_low: int
    low: int
    zip_high: int
    high: int
    composition: Composition


class AddressRecord(NamedTuple):
    """An `A` record: house numbers of one street in one ZIP, perhaps only some suites.

    `parity` and `unit_parity` are `O`, `E` or `B` (both); the unit fields are empty where the
    record holds whole houses. `parity` is `UNSURE` where the file does not say which houses are
    meant: any of the street may be, and `fault` says what is wrong.
    """

    begins: int
    ends: int
    zip: int
    street: Street
    letters: str
    low: int
    high: int
    parity: str
    unit: str
    unit_low: str
    unit_high: str
    unit_parity: str
    composition: Composition
    fault: str = ""


BoundaryLine = ZipRecord | Plus4Record | AddressRecord


class _FieldError(ValueError):
    """A field of a line: its column, what was given, what was expected."""

    def __init__(self, column: int, given: str, expected: str) -> None:
        super().__init__(column, given, expected)
        self.column, self.given, self.expected = column, given, expected


def _refuse(column: int, given: str, expected: str) -> NoReturn:
    raise _FieldError(column, given, expected)


def day_number(day: date) -> int:
    """A day as records keep it: 20260401."""
    return day.year * 10_000 + day.month * 100 + day.day


def read_line(file: str, number: int, fields: Sequence[str], fips: str) -> BoundaryLine:
    """The record in a line of a boundary file.

    Args:
        file: the file's name, for messages.
        number: the line's number, for messages.
        fields: its columns.
        fips: two digits: the state that every line must be of.

    Raises:
        BrokenLine: a column does not hold what it should; says which, what and what instead.
    """
    try:
        return _read(fields, fips)
    except _FieldError as error:
        raise BrokenLine(file, number, _where(error), error.expected) from None


def _where(error: _FieldError) -> str:
    """The column of a fault and what it holds."""
    given = error.given if len(error.given) <= _SHOWN else f"{error.given[:_SHOWN]}..."
    if not error.column:
        return given
    name = _NAMES.get(error.column, _triplet_name(error.column))
    return f"column {error.column} ({name}) holds {given!r}"


def _triplet_name(column: int) -> str:
    if column <= COLUMNS:
        return "address"
    part = ("source", "code", "authority type")[(column - COLUMNS - 1) % 3]
    return f"special district {(column - COLUMNS - 1) // 3 + 1}, {part}"


def _read(fields: Sequence[str], fips: str) -> BoundaryLine:
    fields = without_blank_end(fields, WIDEST)
    count = len(fields)
    if not COLUMNS <= count <= WIDEST:
        _refuse(0, f"{count} columns", "29 columns and up to 20 groups of three behind them")
    kind = fields[0].strip().upper()
    if kind not in {"Z", "4", "A"}:
        _refuse(1, fields[0], "Z, 4 or A")
    begins, ends = _begin(fields[1]), _end(fields[2])
    if ends < begins:
        _refuse(3, fields[2], f"a day on or after the begin, {fields[1]}")
    if fields[22].strip().zfill(2) != fips:
        _refuse(23, fields[22], f"{fips}, the state of this file")
    composition = _composition(tuple(fields[23:26]), tuple(fields[29 : WIDEST - 1]), fips)
    if kind == "A":
        return _address(fields, begins, ends, composition)
    zip_low, zip_high = _zip(18, fields[17]), _zip(20, fields[19])
    if zip_high < zip_low:
        _refuse(20, fields[19], f"a ZIP not below the low one, {fields[17]}")
    if kind == "Z":
        return ZipRecord(begins, ends, zip_low, zip_high, composition)
    low, high = _plus4(19, fields[18]), _plus4(21, fields[20])
    if zip_low == zip_high and high < low:
        _refuse(21, fields[20], f"a +4 not below the low one, {fields[18]}")
    return Plus4Record(begins, ends, zip_low, low, zip_high, high, composition)


def _address(
    fields: Sequence[str], begins: int, ends: int, composition: Composition
) -> AddressRecord:
    name = fields[7].strip()
    if not name:
        _refuse(8, fields[7], "the name of a street")
    street = join_street(fields[6].strip(), name, fields[8].strip(), fields[9].strip())
    if not street.name:
        _refuse(8, fields[7], "the name of a street in Latin letters or digits")
    zip5 = _zip(16, fields[15])
    try:
        houses = _houses(fields, street)
    except _FieldError as error:
        return AddressRecord(
            begins,
            ends,
            zip5,
            street,
            "|",
            0,
            LAST_HOUSE,
            UNSURE,
            "",
            "",
            "",
            "",
            composition,
            f"{_where(error)}; expected {error.expected}",
        )
    return AddressRecord(begins, ends, zip5, street, *houses, composition)


def _houses(fields: Sequence[str], street: Street) -> tuple[str, int, int, str, str, str, str, str]:
    """Letters, numbers, parity and units of a record: the fields it may be vague about."""
    low, high = _house(4, fields[3]), _house(5, fields[4])
    if low.letters != high.letters:
        _refuse(5, fields[4], f"a number written as the low one, {fields[3]}")
    if high.number < low.number:
        _refuse(5, fields[4], f"a number not below the low one, {fields[3]}")
    letters = "|" if street.name == PO_BOX else low.letters
    unit_low, unit_high = fields[11].strip().upper(), fields[12].strip().upper()
    if bool(unit_low) != bool(unit_high):
        column = 13 if unit_low else 12
        _refuse(column, fields[column - 1], "both ends of the secondary range, or neither")
    return (
        letters,
        low.number,
        high.number,
        _parity(6, fields[5]),
        unit_kind(fields[10]) if unit_low else "",
        unit_low,
        unit_high,
        _parity(14, fields[13] or "B") if unit_low else "",
    )


@lru_cache(maxsize=4096)
def _begin(text: str) -> int:
    return _day(2, text)


@lru_cache(maxsize=4096)
def _end(text: str) -> int:
    return OPEN_END if _OPEN_END.fullmatch(text.strip()) else _day(3, text)


def _day(column: int, text: str) -> int:
    plain = text.strip()
    if len(plain) == len("YYYYMMDD") and _DIGITS.fullmatch(plain):
        try:
            day = date(int(plain[:4]), int(plain[4:6]), int(plain[6:]))
        except ValueError:
            _refuse(column, text, "a day of the calendar, YYYYMMDD")
        if _FIRST_YEAR <= day.year <= _LAST_YEAR:
            return int(plain)
    _refuse(column, text, f"a day YYYYMMDD of the years {_FIRST_YEAR} to {_LAST_YEAR}")


@lru_cache(maxsize=16_384)
def _zip(column: int, text: str) -> int:
    plain = text.strip()
    # a spreadsheet may have taken the zero that New England's ZIPs begin with
    if len(plain) not in {4, 5} or not _DIGITS.fullmatch(plain):
        _refuse(column, text, "a ZIP of five digits")
    return int(plain)


@lru_cache(maxsize=16_384)
def _plus4(column: int, text: str) -> int:
    plain = text.strip()
    if not 1 <= len(plain) <= len(str(_LAST_PLUS4)) or not _DIGITS.fullmatch(plain):
        _refuse(column, text, "the four digits behind a ZIP")
    return int(plain)


def _house(column: int, text: str) -> House:
    found = house_number(text)
    if found is None:
        _refuse(column, text, "a house number, such as 1201")
    return found


def _parity(column: int, text: str) -> str:
    plain = text.strip().upper()
    if plain not in {"O", "E", "B"}:
        _refuse(column, text, "O (odd), E (even) or B (both)")
    return plain


@lru_cache(maxsize=16_384)
def _composition(parts: tuple[str, ...], triplets: tuple[str, ...], fips: str) -> Composition:
    indicator, county, place = (part.strip() for part in parts)
    if indicator and indicator.zfill(2) != fips:
        _refuse(24, indicator, f"{fips}, the state of this file, or nothing")
    specials = []
    for start in range(0, len(triplets), 3):
        group = (*triplets[start : start + 3], "", "")
        source, code, kind = (part.strip() for part in group[:3])
        if not (source or code or kind):
            continue
        column = COLUMNS + 1 + start
        # a district whose code or type is not said has no rate: nothing there is exact
        if code and not _CODE.fullmatch(code):
            _refuse(column + 1, code, "the code of a special district, letters and digits")
        if kind and not (_DIGITS.fullmatch(kind) and len(kind) <= 2):  # noqa: PLR2004 - two digits
            _refuse(column + 2, kind, "the type of a taxing authority, two digits such as 63")
        specials.append(f"{kind.zfill(2) if kind else '?'}:{code.upper() or '?'}")
    return Composition(
        indicator and fips,
        _code(25, county, 3),
        _code(26, place, 5),
        tuple(dict.fromkeys(specials)),
    )


def _code(column: int, text: str, length: int) -> str:
    if text and (len(text) > length or not _DIGITS.fullmatch(text)):
        _refuse(column, text, f"{length} digits, or nothing")
    return text.zfill(length) if text else ""


LOCATION_CODES = "WA"
"""The state whose records name location codes; every book has their rates."""

_NO_STATE = "state indicator"
"""Stands among the unknown codes where a record does not say that the state's rate applies."""

_NO_LOCATION = "location code"
"""Likewise where a record of Washington names none: every place there has one."""

_LOCATION_CODE = re.compile(r"L(\d{4})", re.ASCII)


class Levied(NamedTuple):
    """Whose rates add up, besides the state's.

    Attributes:
        ids: jurisdictions of the book that have rates, on any day.
        area: the official area that holds them all (Washington), else `None`.
        unknown: special districts (`type:code`) that the book has no rate of.
        silent: the county or the place, where the book has no rate of it: it levies nothing.
    """

    ids: tuple[str, ...]
    area: Area | None
    unknown: tuple[str, ...]
    silent: tuple[str, ...] = ()


def levied(book: Book, state: str, composition: Composition) -> Levied:
    """Whose rates the codes of a record mean."""
    if state == LOCATION_CODES:
        for special in composition.specials:
            if found := _LOCATION_CODE.fullmatch(special.partition(":")[2]):
                area = book.areas.get(f"WA:{found[1]}")
                return Levied(area.components if area else (), area, () if area else (special,))
        return Levied((), None, (_NO_LOCATION,))
    named = ((COUNTY, composition.county), (CITY, composition.place))
    places = [jurisdiction_id(state, kind, code) for kind, code in named if code]
    ids = [key for key in places if key in book.rates]
    silent = tuple(key for key in places if key not in book.rates)
    unknown = [] if composition.indicator else [_NO_STATE]
    for special in composition.specials:
        kind, _, code = special.partition(":")
        key = jurisdiction_id(state, kind, code)
        if kind == STATE or (state == "TN" and kind == SPECIAL):
            continue
        if key in book.rates:
            ids.append(key)
        else:
            unknown.append(special)
    # a file may name the county or the place among the districts once more
    return Levied(tuple(dict.fromkeys(ids)), None, tuple(unknown), silent)


def codes_without_rate(book: Book, state: str, composition: Composition) -> tuple[str, ...]:
    """The special districts of a record that the book has no rate of."""
    return levied(book, state, composition).unknown


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
        """All of it in one line: equal for equal streets, however their parts were told apart."""
        return " ".join(part for part in self if part)


class House(NamedTuple):
    """A house number: what stands around its digits (`N64W|`, `|A`) and the digits."""

    letters: str
    number: int


class Unit(NamedTuple):
    """A suite, flat or floor: its kind, normalised, and its number or letter."""

    kind: str
    name: str


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
    """A street whose parts stand in columns of their own.

    Parts that a file leaves inside the name (`MAIN ST`, suffix blank) are told apart like a
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
    """A house number such as `1201`, `12A` or `N64W23760`; `None` where it is none.

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
