"""Codes of places: the states and territories, and counties whose code changed."""

from __future__ import annotations

__all__ = ["COUNTY_CHANGES", "OUTSIDE", "STATE_CODES", "present_county"]

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

_TERRITORY = "is a territory with a tax of its own, outside the states' sales taxes"
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
"""Codes that mail uses like states and that are none, and why there is no rate for them."""

COUNTY_CHANGES = {"02270": "02158", "46113": "46102", "51515": "51019"}
"""Counties of the 2009 boundaries under their present code: Shannon County is Oglala Lakota
County and Wade Hampton is Kusilvak since 2015, Bedford city is a part of Bedford County since
2013."""


def present_county(fips: str) -> str:
    """The five-digit code a county of the boundary set has today."""
    return COUNTY_CHANGES.get(fips, fips)
