"""Names of places: the keys that compare them, and the names and codes no table has.

Case, accents, punctuation and the usual short forms do not count in a comparison. The tables here
are nicknames, joined counties, the codes of states and territories, and counties whose FIPS code
changed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from svc_tools.base.short_forms import WRITTEN_OUT, readings

_KINDS = {
    "city": "", "town": "", "village": "", "borough": "", "township": "", "municipality": "",
    "county": "county", "parish": "parish",
}  # fmt: skip
"""Words in "Town of Vienna", and what stands behind the bare name in the full one."""

NICKNAMES = {
    "AR": {"Hot Springs National Park": "Hot Springs"},
    "AZ": {"Lake Havasu": "Lake Havasu City"},
    "CA": {
        "LA": "Los Angeles",
        "SF": "San Francisco",
        "San Fran": "San Francisco",
        "LA County": "Los Angeles County",
        "City Industry": "City of Industry",
        "El Paso de Robles": "Paso Robles",
        "San Buenaventura": "Ventura",
        "City of Angels": "Angels Camp",
    },
    "DC": {
        "DC": "Washington",
        "Wash": "Washington",
        "Wash DC": "Washington",
        "Washington DC": "Washington",
    },
    "FL": {
        "Dade County": "Miami-Dade County",
        "Jax": "Jacksonville",
        "St Pete": "Saint Petersburg",
    },
    "GA": {
        "ATL": "Atlanta",
        "Athens-Clarke": "Clarke County",
        "Athens-Clarke County": "Clarke County",
        "Augusta-Richmond": "Richmond County",
        "Augusta-Richmond County": "Richmond County",
        "Columbus-Muscogee": "Muscogee County",
        "Macon-Bibb": "Bibb County",
        "Macon-Bibb County": "Bibb County",
    },
    "HI": {"Big Island": "Hawaii County", "Oahu": "Honolulu County", "Waikiki": "Honolulu"},
    "IL": {"Chgo": "Chicago", "Hyde Park": "Chicago", "Lincoln Park": "Chicago"},
    "IN": {"Indy": "Indianapolis"},
    "KY": {"Lexington-Fayette": "Fayette County", "Louisville-Jefferson": "Jefferson County"},
    "LA": {"NOLA": "New Orleans"},
    "MN": {"Mpls": "Minneapolis"},
    "MO": {"KC": "Kansas City", "KCMO": "Kansas City", "STL": "Saint Louis"},
    "NC": {"Charlotte-Mecklenburg": "Mecklenburg County"},
    "NM": {"ABQ": "Albuquerque"},
    "NV": {"NLV": "North Las Vegas", "Vegas": "Las Vegas"},
    "NY": {
        "NYC": "New York",
        "New York City": "New York",
        "City of New York": "New York",
        "Manhattan": "New York County",
        "Queens": "Queens County",
        "The Bronx": "Bronx County",
        "LIC": "Long Island City",
        "Harlem": "New York County",
        "SoHo": "New York County",
        "Tribeca": "New York County",
        "Bay Ridge": "Kings County",
        "Bedford-Stuyvesant": "Kings County",
        "Bushwick": "Kings County",
        "Coney Island": "Kings County",
        "Flatbush": "Kings County",
        "Park Slope": "Kings County",
        "Williamsburg": "Kings County",
    },
    "OK": {"OKC": "Oklahoma City", "Pryor": "Pryor Creek"},
    "PA": {"Phila": "Philadelphia", "Philly": "Philadelphia"},
    "TN": {"Nashville-Davidson": "Davidson County"},
    "UT": {"SLC": "Salt Lake City"},
    "VT": {
        "Barre Town": "Washington County",
        "Town of Barre": "Washington County",
        "Town of Rutland": "Rutland Town",
        "Town of St. Albans": "St. Albans Town",
    },
}
"""Names in use, by state, and the name of the book that each means."""
BOROUGHS = {
    "005": "Bronx",
    "047": "Brooklyn",
    "061": "Manhattan",
    "081": "Queens",
    "085": "Staten Island",
}
"""The boroughs of New York City by the FIPS code of their county."""
NEW_YORK_CITY = ("New York", "New York City")
"""Names of the city that are right for a place in any of its boroughs."""

STATE_CODES = {
    "Alabama": "AL", "Alaska": "AK", "Arizona": "AZ", "Arkansas": "AR", "California": "CA",
    "Colorado": "CO", "Connecticut": "CT", "Delaware": "DE", "District of Columbia": "DC",
    "Florida": "FL", "Georgia": "GA", "Hawaii": "HI", "Idaho": "ID", "Illinois": "IL",
    "Indiana": "IN", "Iowa": "IA", "Kansas": "KS", "Kentucky": "KY", "Louisiana": "LA",
    "Maine": "ME", "Maryland": "MD", "Massachusetts": "MA", "Michigan": "MI", "Minnesota": "MN",
    "Mississippi": "MS", "Missouri": "MO", "Montana": "MT", "Nebraska": "NE", "Nevada": "NV",
    "New Hampshire": "NH", "New Jersey": "NJ", "New Mexico": "NM", "New York": "NY",
    "North Carolina": "NC", "North Dakota": "ND", "Ohio": "OH", "Oklahoma": "OK", "Oregon": "OR",
    "Pennsylvania": "PA", "Rhode Island": "RI", "South Carolina": "SC", "South Dakota": "SD",
    "Tennessee": "TN", "Texas": "TX", "Utah": "UT", "Vermont": "VT", "Virginia": "VA",
    "Washington": "WA", "West Virginia": "WV", "Wisconsin": "WI", "Wyoming": "WY",
}  # fmt: skip
"""Full name -> two-letter code of the 50 states and the District of Columbia."""
_TERRITORY = "is a territory with its own tax, outside the states' sales taxes"
_MILITARY = "is a military mail region, not a place in a state: give the place the goods go to"
_FREE = "is a state in free association with the United States, not one of them"
OUTSIDE = {
    "PR": f"Puerto Rico {_TERRITORY}",
    "VI": f"the U.S. Virgin Islands: {_TERRITORY}",
    "GU": f"Guam {_TERRITORY}",
    "AS": f"American Samoa {_TERRITORY}",
    "MP": f"the Northern Mariana Islands: {_TERRITORY}",
    "FM": f"Micronesia {_FREE}",
    "MH": f"the Marshall Islands: {_FREE}",
    "PW": f"Palau {_FREE}",
    "AA": f"AA (armed forces, Americas) {_MILITARY}",
    "AE": f"AE (armed forces, Europe and elsewhere) {_MILITARY}",
    "AP": f"AP (armed forces, Pacific) {_MILITARY}",
}
"""Codes that mail uses like states but that are not states, and why they have no rate."""
_COUNTY_CHANGES = {"02270": "02158", "46113": "46102", "51515": "51019"}
"""Counties of the 2009 boundaries under their present code: Shannon County is Oglala Lakota
County and Wade Hampton is Kusilvak since 2015, Bedford city is a part of Bedford County since
2013."""

_WORD = re.compile(r"[a-z0-9]+")
_SUFFIXES = frozenset({"city", "town", "village", "borough", "cdp"})
_COUNTY_WORDS = frozenset({"county", "parish", "borough", "city"})


@lru_cache(maxsize=65_536)
def _raw(text: str) -> tuple[str, ...]:
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    plain = text.casefold()
    plain = plain.replace("'", "").replace("`", "").replace("&", " and ")
    return tuple(_WORD.findall(plain))


@lru_cache(maxsize=65_536)
def _words(text: str) -> tuple[str, ...]:
    return tuple([WRITTEN_OUT.get(word, word) for word in _raw(text)])


@lru_cache(maxsize=65_536)
def name_key(text: str) -> str:
    """One key for all the ways to write a name: `"St. Louis"` and `"SAINT LOUIS"` agree.

    Blanks are dropped too, so that `"De Soto"` meets `"DeSoto"`. Empty when the text has no
    letter or digit of the Latin alphabet.
    """
    return "".join(_words(text))


def is_short_form(text: str) -> bool:
    """Whether a text is nothing but one short form: `"Rdg"` ends a street as likely as a name."""
    words = _raw(text)
    return len(words) == 1 and words[0] in WRITTEN_OUT


def name_keys(text: str) -> list[str]:
    """The keys to try for what a caller wrote, the literal one first (`"City of Seattle"`)."""
    return list(_name_keys(text))


@lru_cache(maxsize=4096)
def _name_keys(text: str) -> tuple[str, ...]:
    """The keys under which a name is found: as written, without its kind, short forms in full."""
    words = _words(text)
    keys = ["".join(words)]
    if words[:1] == ("the",):
        keys.append("".join(words[1:]))
    if words[:4] == ("city", "and", "county", "of"):
        keys += ["".join(words[4:]) + "county", "".join(words[4:])]
    elif words[1:2] == ("of",) and words[0] in _KINDS:
        keys.append("".join(words[2:]) + _KINDS[words[0]])
    if "unincorporated" in words:  # "Unincorporated King County", "Kern (unincorporated area)"
        rest = tuple(word for word in words if word not in {"unincorporated", "area"})
        keys.append("".join(rest) + ("" if rest[-1:] == ("county",) else "county"))
    for other in readings(_raw(text))[1:]:  # "Pt St Lucie", "No Hollywood"
        keys.append("".join(other))
        if other[1:2] == ("of",) and other[0] in _KINDS:
            keys.append("".join(other[2:]))
    if len(words) > 1 and words[-1] in _SUFFIXES:  # "Charlotte city", as the census writes it
        keys.append("".join(words[:-1]))
    return tuple(dict.fromkeys(key for key in keys if key))


def bare_county(name: str) -> str:
    """The key of a county's name without its last word: `"Miami-Dade County"` -> `"miamidade"`."""
    words = _words(name)
    if len(words) > 1 and words[-1] in _COUNTY_WORDS:
        words = words[:-1]
    return "".join(words)


def title_name(text: str) -> str:
    """A name in capitals, as official tables write it, in title case: `"OAK HARBOR"`."""
    lowered = re.sub(
        r"[A-Za-z]+(?:'[A-Za-z]+)?", lambda found: found.group().capitalize(), text.strip()
    )
    for word in ("Rta", "Ptba", "Hbz", "Non-rta"):
        lowered = re.sub(rf"\b{word}\b", word.upper(), lowered)
    return re.sub(r"\b(Of|The|And)\b", lambda found: found.group().lower(), lowered)


def present_county(fips: str) -> str:
    """The five-digit code a county of the boundary set has today."""
    return _COUNTY_CHANGES.get(fips, fips)
