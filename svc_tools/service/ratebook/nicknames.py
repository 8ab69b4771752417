"""Names that people use and no table has: nicknames, short forms, joined counties."""

from __future__ import annotations

__all__ = ["BOROUGHS", "NEW_YORK_CITY", "NICKNAMES"]

NICKNAMES = {
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
    "OK": {"OKC": "Oklahoma City"},
    "PA": {"Phila": "Philadelphia", "Philly": "Philadelphia"},
    "TN": {"Nashville-Davidson": "Davidson County"},
    "UT": {"SLC": "Salt Lake City"},
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
