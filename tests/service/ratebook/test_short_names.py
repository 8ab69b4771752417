"""Short forms of place names: every usual one leads where the name in full leads."""

from __future__ import annotations

from collections import defaultdict
from datetime import date

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.gazetteer import place_names
from svc_tools.service.ratebook.names import name_key, name_keys

DAY = date(2026, 6, 30)

# The standard forms of the Postal Service (Publication 28, Appendices C1 and B), and those that
# letters and orders use for the words that begin a name.
STANDARD = {
    "Beach": "Bch", "Bend": "Bnd", "Bluff": "Blf", "Bluffs": "Blfs", "Bottom": "Btm",
    "Branch": "Br", "Bridge": "Brg", "Brook": "Brk", "Brooks": "Brks", "Camp": "Cp",
    "Canyon": "Cyn", "Cape": "Cpe", "Center": "Ctr", "Circle": "Cir", "Cliff": "Clf",
    "Cliffs": "Clfs", "Club": "Clb", "Common": "Cmn", "Corner": "Cor", "Corners": "Cors",
    "Court": "Ct", "Cove": "Cv", "Creek": "Crk", "Crescent": "Cres", "Crest": "Crst",
    "Crossing": "Xing", "Crossroad": "Xrd", "Crossroads": "Xrds", "Dale": "Dl", "Dam": "Dm",
    "Divide": "Dv", "Estate": "Est", "Estates": "Ests", "Falls": "Fls", "Ferry": "Fry",
    "Field": "Fld", "Fields": "Flds", "Flat": "Flt", "Flats": "Flts", "Ford": "Frd",
    "Forest": "Frst", "Forge": "Frg", "Fork": "Frk", "Forks": "Frks", "Fort": "Ft",
    "Garden": "Gdn", "Gardens": "Gdns", "Gateway": "Gtwy", "Glen": "Gln", "Glens": "Glns",
    "Green": "Grn", "Greens": "Grns", "Grove": "Grv", "Groves": "Grvs", "Harbor": "Hbr",
    "Haven": "Hvn", "Heights": "Hts", "Hill": "Hl", "Hills": "Hls", "Hollow": "Holw",
    "Inlet": "Inlt", "Island": "Is", "Islands": "Iss", "Junction": "Jct", "Key": "Ky",
    "Keys": "Kys", "Knoll": "Knl", "Knolls": "Knls", "Lake": "Lk", "Lakes": "Lks",
    "Landing": "Lndg", "Light": "Lgt", "Loaf": "Lf", "Lock": "Lck", "Locks": "Lcks",
    "Lodge": "Ldg", "Manor": "Mnr", "Manors": "Mnrs", "Meadow": "Mdw", "Meadows": "Mdws",
    "Mill": "Ml", "Mills": "Mls", "Mission": "Msn", "Mount": "Mt", "Mountain": "Mtn",
    "Mountains": "Mtns", "Neck": "Nck", "Orchard": "Orch", "Park": "Pk", "Pine": "Pne",
    "Pines": "Pnes", "Place": "Pl", "Plain": "Pln", "Plains": "Plns", "Plaza": "Plz",
    "Point": "Pt", "Points": "Pts", "Port": "Prt", "Ports": "Prts", "Prairie": "Pr",
    "Ranch": "Rnch", "Rapid": "Rpd", "Rapids": "Rpds", "Rest": "Rst", "Ridge": "Rdg",
    "Ridges": "Rdgs", "River": "Riv", "Road": "Rd", "Roads": "Rds", "Saint": "St",
    "Sainte": "Ste", "Santa": "Sta", "Shoal": "Shl", "Shoals": "Shls", "Shore": "Shr",
    "Shores": "Shrs", "Spring": "Spg", "Springs": "Spgs", "Square": "Sq", "Station": "Stn",
    "Stream": "Strm", "Summit": "Smt", "Terrace": "Ter", "Town": "Town", "Township": "Twp",
    "Trail": "Trl", "Union": "Un", "University": "Univ", "Valley": "Vly", "View": "Vw",
    "Views": "Vws", "Village": "Vlg", "Ville": "Vl", "Vista": "Vis", "Well": "Wl",
    "Wells": "Wls", "North": "N", "South": "S", "East": "E", "West": "W", "Northeast": "NE",
    "Northwest": "NW", "Southeast": "SE", "Southwest": "SW",
}  # fmt: skip
OTHER = {
    "Port": "Pt", "Mountain": "Mt", "North": "No", "South": "So", "City": "Cty", "Station": "Sta",
    "Isle": "Is", "Islands": "Is", "Bridge": "Brg", "Springs": "Spg", "Corners": "Cor",
    "Estates": "Est", "Rapids": "Rds", "Village": "Vl", "Great": "Gt", "Little": "Ltl",
    "Center": "Centre", "Point": "Pointe", "Park": "Prk", "Heights": "Hgts", "Harbor": "Harbour",
}  # fmt: skip
"""Forms with another meaning, or that the Postal Service does not count among its own."""

NAMESAKES = {
    ("IN", "Lake Village"): "Lakeville",
    ("NY", "Middle Village"): "Middleville",
    ("PA", "Mill Village"): "Millville",
}
"""Cities whose short form with "Vl" spells another city of the state, which it then means."""


def cities(state):
    return {place.city for place in load_book().zips.state(state).values()}


def shortened(name, forms):
    words = [forms.get(word, word) for word in name.split()]
    return " ".join(words)


def every(forms):
    """Every city of the postal table with such a word, by state, and how it is written short."""
    for state in load_book().states:
        for city in sorted(cities(state)):
            short = shortened(city, forms)
            if short != city:
                yield state, city, short


def test_the_standard_form_of_every_city_has_its_key():
    found = list(every(STANDARD))
    assert len(found) > 4_000
    assert [one for one in found if name_key(one[1]) != name_key(one[2])] == []


def test_a_form_with_two_meanings_is_tried_in_both():
    found = list(every(OTHER))
    assert len(found) > 1_500
    assert [one for one in found if name_key(one[1]) not in name_keys(one[2])] == []


def test_no_two_cities_of_a_state_have_one_key():
    spellings = {"NC": [{"Winston-salem", "Winston Salem"}]}
    spellings["NY"] = [{"Rockville Centre", "Rockville Center"}]
    for state in load_book().states:
        by_key = defaultdict(set)
        for city in cities(state):
            by_key[name_key(city)].add(city)
        shared = [names for names in by_key.values() if len(names) > 1]
        assert shared == spellings.get(state, []), state


def test_the_short_forms_that_spell_another_city_of_the_state():
    # "Cty" is a county where the state has one of the name: "Baltimore Cty" is no city
    clashes = {}
    for state, city, short in every(OTHER):
        names = place_names(load_book(), state)
        first = next((key for key in name_keys(short) if key in names.preferred), "")
        if first != name_key(city) and "Cty" not in short:
            clashes[state, city] = names.spelled[first]
    assert clashes == NAMESAKES


@pytest.mark.parametrize(
    ("state", "short", "city", "units"),
    [
        ("CA", "Signal Hl", "Signal Hill", 10_500),
        ("CA", "S San Francisco", "South San Francisco", 9_875),
        ("CA", "So. San Francisco", "South San Francisco", 9_875),
        ("CA", "Sta Monica", "Santa Monica", 10_750),
        ("CA", "Mt View", "Mountain View", 9_750),
        ("CA", "Huntington Bch", "Huntington Beach", 7_750),
        ("GA", "E Point", "East Point", 8_750),
        ("WA", "Pt Angeles", "Port Angeles", 8_900),
        ("WA", "Pt Townsend", "Port Townsend", 9_500),
        ("WA", "Mountlake Ter", "Mountlake Terrace", 10_500),
    ],
)
def test_a_short_form_leads_where_the_name_leads(ask, state, short, city, units):
    full = ask(state, location=city, as_of=DAY)
    assert full.chosen.combined == units
    for written in (
        {"location": short},
        {"location": f"{short}, {state}"},
        {"street": "100 Main St", "city": short},
        {"address": f"100 Main St, {short}, {state}"},
        {"address": f"100 Main St {short} {state}"},
        {"address": f"100 Main St {short}"},
    ):
        answer = ask(state, as_of=DAY, **written)
        assert answer.chosen.combined == units, written
        assert answer.location.city == full.location.city


@pytest.mark.parametrize(
    ("state", "zip5", "city"),
    [
        ("CA", "90755", "Signal Hl"),
        ("TX", "76102", "Ft Worth"),
        ("TX", "76102", "Ft. Worth"),
        ("NY", "10550", "Mt Vernon"),
        ("NV", "89030", "N Las Vegas"),
        ("MO", "63101", "Saint Louis"),
        ("MO", "63101", "St Louis"),
        ("MO", "63101", "St. Louis"),
        ("CA", "94080", "S San Francisco"),
        ("GA", "30344", "E Point"),
        ("FL", "33401", "W Palm Bch"),
        ("TX", "77640", "Pt Arthur"),
        ("OH", "44118", "Cleveland Hts"),
        ("CO", "80903", "Colorado Spgs"),
        ("CO", "80903", "Colo Spgs"),
        ("TX", "77840", "College Sta"),
        ("MI", "48230", "Grosse Pt"),
        ("MN", "55346", "Eden Pr"),
        ("IL", "60007", "Elk Grove Vlg"),
    ],
)
def test_a_short_form_beside_a_zip_is_no_mismatch(ask, state, zip5, city):
    for written in (
        {"street": "100 Main St", "city": city, "zip": zip5},
        {"address": f"100 Main St, {city}, {state} {zip5}"},
        {"address": f"100 Main St {city} {zip5}"},
    ):
        answer = ask(state, as_of=DAY, **written)
        assert answer.location.zip == zip5
        codes = [warning["code"] for warning in answer.advisories]
        assert "place_input_mismatch" not in codes, written


@settings(max_examples=80, deadline=None)  # the first example reads tables
@given(
    state=st.sampled_from(["CA", "FL", "GA", "MN", "NC", "NY", "OH", "PA", "TX", "WA", "WI"]),
    forms=st.sampled_from([STANDARD, OTHER]),
    data=st.data(),
)
def test_any_city_is_found_by_its_short_form(state, forms, data):
    names = [city for city in sorted(cities(state)) if shortened(city, forms) != city]
    city = data.draw(st.sampled_from(names))
    short = shortened(city, forms)
    assume((state, city) not in NAMESAKES and "Cty" not in short)

    def answer(name):
        try:
            found = resolve(load_book(), Query(state=state, location=name, as_of=DAY), today=DAY)
        except NotResolved as refused:
            return refused.code
        rate = found.simple()["rate"]
        return {name: rate[name] for name in rate if name != "city"}  # some keep it as typed

    assert answer(short) == answer(city)


@pytest.mark.parametrize("line", ["12 Elm Rdg", "100 Lone Pk", "9 N Shore Hl", "7 Oak Fls"])
def test_a_short_form_alone_ends_a_street_and_names_no_city(refused, line):
    for state in ("AR", "MD", "NY", "WV"):
        reason = refused(state, address=line)
        assert reason.code == "NOT_FOUND"
        assert "no ZIP and no city could be read" in reason.message
