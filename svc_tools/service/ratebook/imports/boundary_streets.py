"""Streets and house numbers as boundary records and callers write them, made comparable.

Both sides pass through the same functions, so that `North Main Street` meets `N MAIN ST` and
`County Road C West` meets a record whose name, suffix and direction stand in their own columns.
Short forms are those of the post office (Publication 28). Pure text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

__all__ = ["House", "Street", "Unit", "house_number", "join_street", "split_street", "unit_kind"]

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
