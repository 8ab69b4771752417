"""From a place name: spellings, short forms, counties, cities, ambiguity."""

from __future__ import annotations

from collections import defaultdict
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.cases import cases, codes
from support.examples import examples

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.gazetteer import place_names
from svc_tools.service.ratebook.names import NICKNAMES, name_key, name_keys
from svc_tools.service.ratebook.rating import Absent, rate_area

NEW = date(2026, 5, 1)


@pytest.mark.parametrize(
    ("state", "spellings"),
    cases("""
    FL  St. Petersburg ~ SAINT PETERSBURG ~ st petersburg ~ Saint  Petersburg, FL
    FL  DeSoto County ~ De Soto County ~ desoto county, Florida
    FL  Port Saint Lucie ~ Pt St Lucie ~ Port St. Lucie
    FL  Miami-Dade County ~ Miami-Dade Co ~ Dade County ~ miami dade county
    FL  West Palm Beach ~ W Palm Bch ~ West Palm Bch.
    CA  La Cañada Flintridge ~ LA CANADA FLINTRIDGE | City of Industry ~ Industry
    CA  Signal Hill ~ Signal Hl ~ City of Signal Hill ~ Signal Hl.
    CA  South San Francisco ~ So San Francisco ~ S. San Francisco
    CA  San Francisco ~ San Francisco city ~ SF ~ City & County of San Francisco
    CA  Mountain View ~ Mtn View ~ Mt View
    CA  Los Angeles County ~ Los Angeles Co. ~ County of Los Angeles ~ LA County
    WA  Seattle ~ SEATTLE ~ seattle, wa ~ City of Seattle ~ Seattle WA
    WA  Coulee City ~ COULEE ~ Coulee | Spokane Valley ~ Spokane Vly ~ City of Spokane Valley
    WA  Mercer Island ~ Mercer Is
    VA  Richmond city ~ RICHMOND CITY
    VT  Rutland City ~ City of Rutland | Rutland Town ~ Town of Rutland ~ Rutland Town, VT
    VT  Barre Town ~ Town of Barre ~ Washington County
    NV  Las Vegas ~ Las Vegas, Nevada ~ Vegas
    NV  North Las Vegas ~ N Las Vegas ~ N. Las Vegas, NV ~ No Las Vegas ~ NLV
    NV  Carson City ~ City of Carson ~ CARSON CITY, NV
    PA  Philadelphia ~ Phila ~ Philly
    MO  St. Louis city ~ Saint Louis City ~ City of St. Louis
    MO  St. Louis County ~ Saint Louis Co ~ County of St Louis
    MO  Ste. Genevieve ~ Sainte Genevieve ~ STE GENEVIEVE
    GA  Richmond County ~ Augusta-Richmond County
    MN  Minneapolis ~ Mpls ~ City of Minneapolis
    SC  Mount Pleasant ~ Mt Pleasant ~ Town of Mt. Pleasant
    NY  New York ~ NYC ~ New York City ~ City of New York
    NY  New York County ~ Manhattan ~ Borough of Manhattan ~ Harlem
    NY  Queens County ~ Queens ~ Borough of Queens | Bronx County ~ The Bronx
    NY  Kings County ~ Williamsburg ~ Park Slope
    IL  Chicago ~ Chgo ~ City of Chicago ~ Chicago, Cook County
    """),
)
def test_spellings_of_one_place_agree(ask, state, spellings):
    found = {ask(state, location=one).chosen.area.id for one in spellings.split(" ~ ")}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("name", "code", "rate"), [("Bellevue", "1704", 10_300), ("Bellevue Non-RTA", "4004", 8_900)]
)
def test_a_part_outside_the_transit_authority_is_found_by_its_full_name(ask, name, code, rate):
    answer = ask("WA", location=name, as_of=date(2026, 6, 1))
    ((rated, _),) = answer.rated
    assert (rated.area.code, rated.combined) == (code, rate)


def test_tribal_land_is_found_by_its_own_name_only(ask):
    assert ask("WA", location="Puyallup Tribe - Fife").chosen.area.code == "2735"
    assert ask("WA", location="Fife", as_of=NEW).chosen.area.code == "2706"
    assert all(rated.area.kind != "named" for rated, _ in ask("WA", zip="98424").rated)


def test_nothing_is_answered_where_nothing_decides(refused):
    reason = refused("NC", location="Hurdle Mills")  # its ZIP lies in three counties
    assert reason.code == "NOT_FOUND"
    rates = {c["name"]: c["combined_rate"] for c in reason.detail["candidates"]}
    assert rates == {
        "Person County": "0.06750",
        "Caswell County": "0.06750",
        "Orange County": "0.07500",
    }


@pytest.mark.parametrize(
    ("state", "name", "units", "missing"),
    cases("""
    OK  Bushyhead = 6000 = nothing
    SD  Bath = 4200 = nothing
    ND  Absaraka = 5500 = nothing
    NC  Huntersville = 8250 = nothing
    IL  Savoy = 7500 = districts_not_covered
    ID  Weiser = 6000 = districts_not_covered
    MO  Branson = 6350 = districts_not_covered as_of_after_edition
    """),
)
def test_a_place_without_a_row_has_its_countys_rest_which_is_partial_in_tier_d(
    ask, state, name, units, missing
):
    answer, partial = ask(state, location=name), missing != "nothing"
    assert answer.chosen.combined == int(units)
    of_delivery = ["delivery_optional_unknown"] if state in {"CO", "FL", "IL"} else []
    assert codes(answer) == missing.split() * partial + of_delivery
    assert answer.confidence == ("low" if partial else "high")


def test_every_official_location_name_leads_to_its_code(book, ask):
    for area in book.areas.values():
        if not area.code or isinstance(rate_area(book, "WA", area, NEW), Absent):
            continue
        for name in (area.name, area.name.upper(), area.name.replace(" County)", ")")):
            found = ask("WA", location=name, as_of=NEW)
            assert area.id in {rated.area.id for rated, _ in found.rated}


@pytest.mark.parametrize(
    ("state", "name", "code"),
    cases("""
    WA  AUBURN/KING RTA = 1702 | Auburn (King County) RTA = 1702 | BELLEVUE RTA = 1704
    WA  BOTHELL/KING = 1706 | EVERETT NON-RTA = 4205 | Unincorporated King County = 1700
    WA  King County (unincorporated area) = 1700 | 100 = 0100 | WA 1726 = 1726 | 1726, WA = 1726
    WA  location code 1726 = 1726 | Location Code: 1726 = 1726 | LOC #1726 = 1726 | #100 = 0100
    """),
)
def test_official_names_and_codes_of_washington(ask, state, name, code):
    assert ask(state, location=name, as_of=NEW).chosen.area.code == code


@pytest.mark.parametrize(
    ("state", "name", "city"),
    cases("""
    DC  Washington, D.C. = Washington
    NC  Charlotte North Carolina = Charlotte | Charlotte, N. C., United States = Charlotte
    MI  Detroit Michigan = Detroit
    PA  Indiana = Indiana
    OH  Delaware, Ohio = Delaware
    NY  New York, New York = New York
    """),
)
def test_a_place_with_its_state_behind_it(ask, state, name, city):
    assert ask(state, location=name).location.city == city


@pytest.mark.parametrize(
    ("state", "name", "says"),
    cases("""
    OH  Wilmington Delaware = names DE
    VA  Fairfx = did you mean Fairfax? | Seattle, WA = names WA
    NJ  Nowhere at all = not a city or county
    TX  !!! = not a city or county
    """),
)
def test_a_name_that_leads_nowhere(refused, state, name, says):
    reason = refused(state, location=name)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message


@pytest.mark.parametrize(("state", "name"), [("NJ", "Hoboken"), ("NJ", "New Jersey"), ("DC", "DC")])
def test_the_state_alone_decides(ask, state, name):
    assert ask(state, location=name).location.via == "state"


@pytest.mark.parametrize(
    "written", ["Charlotte 28202", "Charlotte, NC 28202", "zip 28202", "28202 Charlotte NC"]
)
def test_a_place_with_its_zip_is_that_zip(ask, written):
    assert ask("NC", location=written).simple() == ask("NC", zip="28202").simple()


def test_a_location_code_that_is_not_there_says_so(refused):
    assert "no location code 9999 of WA" in refused("WA", location="9999").message
    assert "not a city" in refused("NC", location="1726").message


def test_an_independent_city_and_the_county_of_its_name(ask):
    for state, city, county in (
        ("VA", "City of Richmond", "Richmond County"),
        ("VA", "Franklin city", "Franklin County"),
        ("MO", "St. Louis city", "St. Louis County"),
    ):
        one = ask(state, location=city, as_of=NEW)
        other = ask(state, location=county, as_of=NEW)
        assert len(one.rated) == len(other.rated) == 1
        assert one.chosen.combined > other.chosen.combined


def test_every_nickname_means_a_place_of_the_book(book):
    for state, nicknames in NICKNAMES.items():
        names = place_names(book, state)
        known = (names.cities, names.counties, names.preferred)
        for meant in nicknames.values():
            assert any(name_key(meant) in table for table in known), (state, meant)


@given(state=st.sampled_from(["CA", "NC", "OH", "VA", "WA", "WI"]), data=st.data())
def test_any_known_name_in_any_case_gives_the_same(ask, state, data):
    names = place_names(load_book(), state)
    name = data.draw(st.sampled_from(sorted(names.spelled.values())))
    written = [name, name.upper(), f"  {name.lower()} ", f"{name}, {state}"]
    found = set()
    for text in written:
        try:
            found.add(ask(state, location=text).chosen.combined)
        except NotResolved as reason:
            found.add(reason.code)
    assert len(found) == 1


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
    cases("""
    CA  Signal Hl = Signal Hill = 10500 | S San Francisco = South San Francisco = 9875
    CA  So. San Francisco = South San Francisco = 9875 | Sta Monica = Santa Monica = 10750
    CA  Mt View = Mountain View = 9750 | Huntington Bch = Huntington Beach = 7750
    GA  E Point = East Point = 8750
    WA  Pt Angeles = Port Angeles = 8900 | Pt Townsend = Port Townsend = 9500
    WA  Mountlake Ter = Mountlake Terrace = 10500
    """),
)
def test_a_short_form_leads_where_the_name_leads(ask, state, short, city, units):
    full = ask(state, location=city, as_of=DAY)
    assert full.chosen.combined == int(units)
    for written in (
        {"location": short},
        {"location": f"{short}, {state}"},
        {"street": "100 Main St", "city": short},
        {"address": f"100 Main St, {short}, {state}"},
        {"address": f"100 Main St {short} {state}"},
        {"address": f"100 Main St {short}"},
    ):
        answer = ask(state, as_of=DAY, **written)
        assert answer.chosen.combined == int(units), written
        assert answer.location.city == full.location.city


@pytest.mark.parametrize(
    ("state", "zip5", "city"),
    cases("""
    CA  90755 = Signal Hl | 94080 = S San Francisco
    TX  76102 = Ft Worth | 76102 = Ft. Worth | 77640 = Pt Arthur | 77840 = College Sta
    NY  10550 = Mt Vernon
    NV  89030 = N Las Vegas
    MO  63101 = Saint Louis | 63101 = St Louis | 63101 = St. Louis
    GA  30344 = E Point
    FL  33401 = W Palm Bch
    OH  44118 = Cleveland Hts
    CO  80903 = Colorado Spgs | 80903 = Colo Spgs
    MI  48230 = Grosse Pt
    MN  55346 = Eden Pr
    IL  60007 = Elk Grove Vlg
    """),
)
def test_a_short_form_beside_a_zip_is_no_mismatch(ask, state, zip5, city):
    for written in (
        {"street": "100 Main St", "city": city, "zip": zip5},
        {"address": f"100 Main St, {city}, {state} {zip5}"},
        {"address": f"100 Main St {city} {zip5}"},
    ):
        answer = ask(state, as_of=DAY, **written)
        assert answer.location.zip == zip5
        assert "place_input_mismatch" not in codes(answer), written


@examples(20, of=80)
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
