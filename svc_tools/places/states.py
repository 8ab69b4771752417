"""The states as they are written in data, and the places that lie outside of them. Pure."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

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

TERRITORIES = {
    "AS": "American Samoa",
    "FM": "Federated States of Micronesia",
    "GU": "Guam",
    "MH": "Marshall Islands",
    "MP": "Northern Mariana Islands",
    "PR": "Puerto Rico",
    "PW": "Palau",
    "VI": "Virgin Islands",
}
MILITARY = {
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
_ABBREVIATED = {
    "ala": "AL",
    "ariz": "AZ",
    "ark": "AR",
    "calif": "CA",
    "colo": "CO",
    "conn": "CT",
    "del": "DE",
    "fla": "FL",
    "ill": "IL",
    "ind": "IN",
    "kan": "KS",
    "kans": "KS",
    "mass": "MA",
    "mich": "MI",
    "minn": "MN",
    "miss": "MS",
    "mont": "MT",
    "neb": "NE",
    "nebr": "NE",
    "nev": "NV",
    "okla": "OK",
    "ore": "OR",
    "penn": "PA",
    "penna": "PA",
    "tenn": "TN",
    "tex": "TX",
    "wash": "WA",
    "wis": "WI",
    "wisc": "WI",
    "wyo": "WY",
    "washington dc": "DC",
    "washington d c": "DC",
    "d c": "DC",
    "n carolina": "NC",
    "s carolina": "SC",
    "n dakota": "ND",
    "s dakota": "SD",
    "w virginia": "WV",
    "n h": "NH",
    "n j": "NJ",
    "n m": "NM",
    "n y": "NY",
    "n c": "NC",
    "n d": "ND",
    "r i": "RI",
    "s c": "SC",
    "s d": "SD",
    "w va": "WV",
    "us virgin islands": "VI",
    "u s virgin islands": "VI",
}


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A place outside the states and DC: a territory, a military post, abroad."""

    reason: str


@functools.cache
def _spellings() -> dict[str, str]:
    known = {name.lower(): code for code, name in (STATES | TERRITORIES | MILITARY).items()}
    known |= {name.lower(): code for code, name in _PROVINCES.items()}
    known |= {code.lower(): code for code in STATES | TERRITORIES | MILITARY | _PROVINCES}
    return known | _ABBREVIATED


def _both_forms(text: str) -> str | None:
    """The code of "CA - California" or "California (CA)": both halves must mean the same."""
    halves = [half.strip() for half in re.split(r"[-(/]", text.rstrip(") "), maxsplit=1)]
    codes = {_spellings().get(half) for half in halves}
    return codes.pop() if len(halves) > 1 and len(codes) == 1 else None


@functools.lru_cache(maxsize=4096)
def state_code(text: str) -> str | Elsewhere | None:
    """The postal code of a state, however written: "tx", "Texas", "Tex.", "US-TX".

    Returns:
        The code; `Elsewhere` for a territory, a military "state" or a Canadian province; `None`
        for anything else: unknown text is never guessed at.
    """
    bare = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z]+", " ", bare).strip()
    plain = re.sub(r"^us (?=[a-z]{2}$)| (?:usa|us|united states)$", "", plain)
    plain = re.sub(r"^([a-z]) ([a-z])$", r"\1\2", plain)  # C.A.
    plain = re.sub(r" state$", "", plain)
    code = _spellings().get(plain) or _both_forms(bare)
    if code is None or code in STATES:
        return code
    if code in TERRITORIES:
        return Elsewhere(f"{TERRITORIES[code]} is a territory with a tax system of its own")
    if code in MILITARY:
        return Elsewhere(f"{MILITARY[code]} is a military address: no state's rate applies")
    return Elsewhere(f"{_PROVINCES[code]} is in Canada")
