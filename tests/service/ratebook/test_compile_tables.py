"""Compiling the states where some cities are known only: what adds up, what is whole."""

from __future__ import annotations

import csv
from datetime import date

import pytest
from compile_book.listed import read_listed
from compile_book.tables import add_listed_cities, read_tables

from svc_tools.service.ratebook.imports.draft import Draft, Report
from svc_tools.service.ratebook.schema import County, Source

DAY = date(2026, 9, 15)
BEGIN = date(2026, 7, 1)
STATES = {"AK": 0, "AL": 4_000, "AZ": 5_600, "CO": 2_900, "ID": 6_000}
STATES |= {"IL": 6_250, "MO": 4_225, "NM": 4_875, "TX": 6_250}
COUNTIES = """
    AK 110 Juneau City and Borough|AK 122 Kenai Peninsula Borough
    AL 001 Autauga County|AL 123 Tallapoosa County|AZ 005 Coconino County|AZ 013 Maricopa County
    AZ 021 Pinal County|CO 001 Adams County|CO 005 Arapahoe County|CO 031 Denver County
    ID 013 Blaine County|ID 017 Bonner County|IL 031 Cook County|IL 043 DuPage County
    IL 197 Will County|IL 113 McLean County|MO 095 Jackson County|MO 047 Clay County
    MO 510 St. Louis city|NM 001 Bernalillo County|NM 049 Santa Fe County|TX 201 Harris County
    TX 157 Fort Bend County|TX 027 Bell County|TX 141 El Paso County|TX 029 Bexar County
"""
PLACES = {
    ("AL", "prattville"): [("62328", "001", "001")],
    ("AL", "dadeville"): [("19336", "123", "123")],
    ("AZ", "phoenix"): [("55000", "013", "013")],
    ("AZ", "santanvalley"): [("64210", "021", "021")],
    ("IL", "chicago"): [("14000", "031", "031 043")],
    ("MO", "kansascity"): [("38000", "095", "047 095")],
    ("NM", "albuquerque"): [("00001", "049", "049"), ("02000", "001", "001")],
    ("TX", "houston"): [("35000", "201", "157 201")],
    ("TX", "belton"): [("07492", "027", "027 157")],
}
COLUMNS = (
    "state,level,county_fips,county_name,place_fips,place_name,place_type,effective_from,"
    "effective_to,combined_rate,state_rate,from_kind,basis,use,source_id,principal,note"
)
LATER = "state,target,name,action,was_pct,should_be_pct,effective_from,certainty,source_id,source"
NOTICE = "(3.5 before): a notice; add Tallapoosa County"
CHANGED = "a list; effective 2026-08-01, before that the old value"


def write(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return path


def place(area, name, rate, kind="whole", *, since="2026-07-01", principal="y"):
    """A line of a state's list; without a code that of the rest of a county."""
    state, county, code = area.split() if name else (*area.split(), "")
    how = "change" if since == "2026-08-01" else "edition"
    head = [state, "place" if code else "county_rest", county, "", code, name, "city"]
    return [*head, since, "", rate, "", how, "exact", kind, "list", principal, "why"]


@pytest.fixture
def build(tmp_path):
    """Compiles rows of the table, corrections, members, doubts and lists; the draft."""

    def build(rows=(), fixes=(), *, later=(), members=(), doubts=(), lists=()):
        draft = Draft(Report())
        for key in ("states", "list", "audit"):
            draft.sources[key] = Source(key, "", "", "", "", "official", None, DAY, DAY)
        for state, units in STATES.items():
            draft.add_rate(state, units, "states", begin=date(2015, 1, 1))
        for line in COUNTIES.replace("\n", "|").split("|"):
            if line.strip():
                state, fips, name = line.split(maxsplit=2)
                draft.counties[state, fips] = County(state, fips, name.strip())
        tables = read_tables(
            write(tmp_path / "t.csv", "state,table,name,parents,rate_pct,zips", rows),
            [
                write(tmp_path / "c1.csv", "state,table,name,was_pct,should_be_pct,source", fixes),
                write(tmp_path / "c2.csv", LATER, [line.split(", ") for line in later]),
            ],
            write(tmp_path / "m.csv", "state,district,locality,note", members),
            write(tmp_path / "d.csv", "state,table,name,advice", doubts),
            draft.report,
        )
        listed = {}
        if lists:
            areas = read_listed(write(tmp_path / "l.csv", COLUMNS, lists))
            listed = {state: [a for a in areas if a.state == state] for state in STATES}
        add_listed_cities(tables, listed, PLACES, draft)
        return draft

    return build


def combined(draft, key, day=DAY):
    """The rate of an area on a day, and why it is not whole."""
    area = draft.areas[key]
    rows = [
        row
        for part in (area.state, *area.components)
        for row in draft.rates[part]
        if (row.begin is None or row.begin <= day) and (row.end is None or day <= row.end)
    ]
    reasons = {row.use for row in rows} | {area.lacks}
    return sum(row.units for row in rows), " ".join(sorted(filter(None, reasons)))


def found(draft, kind):
    return [f"{f.subject}: {f.message}" for f in draft.report.findings if f.kind == kind]


def test_a_city_of_the_table_is_whole_and_its_county_is_not(build):
    draft = build(
        [
            ("AZ", "AZ_COUNTY_RATE_PCT", "Maricopa County", "", "0.700", ""),
            ("AZ", "AZ_COUNTY_RATE_PCT", "No Such County", "", "0.500", ""),
            ("AZ", "AZ_CITIES", "Phoenix", "Maricopa County", "2.800", "85001"),
            ("AZ", "AZ_CITIES", "Nowhere", "", "2.800", "85001"),
            ("FL", "FL_CITIES", "Miami", "Miami-Dade County", "1.000", ""),
            ("NM", "NM_LOCATION_RATES", "Albuquerque", "Bernalillo County", "2.750", ""),
            ("NM", "NM_LOCATION_RATES", "Santa Fe", "Santa Fe County", "3.3125", ""),
        ]
    )
    assert combined(draft, "AZ:city:55000") == (9_100, "")
    assert combined(draft, "AZ:county:013") == (6_300, "districts")
    assert combined(draft, "AZ:county:021") == (5_600, "local")
    assert combined(draft, "NM:city:02000") == (7_625, "")
    assert combined(draft, "NM:city:santa-fe") == (8_187, "partial")  # 8.1875 does not fit
    assert combined(draft, "NM:county:001") == (4_875, "local")
    phoenix = draft.areas["AZ:city:55000"]
    assert (phoenix.place, phoenix.cities, phoenix.counties) == ("55000", ("Phoenix",), ("013",))
    assert found(draft, "left_out") == [
        "AZ No Such County: the state has no such county",
        "AZ Nowhere: its county is not known",
    ]
    assert not any(area.state in {"FL", "TX"} for area in draft.areas.values())


def test_doubtful_rows_are_lower_bounds(build):
    draft = build(
        [
            ("MO", "MO_COUNTY_RATE_PCT", "Jackson County", "", "1.500", ""),
            ("MO", "MO_CITIES", "Kansas City", "Jackson County", "3.250", ""),
            ("MO", "MO_CITIES", "Kansas City (Clay)", "Clay County", "3.250", ""),
            ("NM", "NM_LOCATION_RATES", "Albuquerque", "Bernalillo County", "2.750", ""),
        ],
        doubts=[
            ("MO", "MO_COUNTY_RATE_PCT", "Jackson County", ""),
            ("NM", "NM_LOCATION_RATES", "Albuquerque", ""),
        ],
    )
    assert combined(draft, "MO:city:38000") == (8_975, "partial")
    assert combined(draft, "MO:county:095") == (5_725, "districts partial")
    assert combined(draft, "NM:city:02000") == (7_625, "partial")
    clay = draft.areas["MO:city:38000-047"]  # the table has the city in both counties
    assert (clay.name, clay.cities, clay.rank) == ("Kansas City (Clay County)", ("Kansas City",), 1)


def test_corrections_apply_to_the_figure_they_name_from_their_day(build):
    draft = build(
        [
            ("AL", "AL_COUNTY_RATE_PCT", "Autauga County", "", "2.000", ""),
            ("AL", "AL_CITIES", "Prattville", "Autauga County", "3.500", ""),
            ("AZ", "AZ_CITIES", "Phoenix", "Maricopa County", "2.800", ""),
            ("AZ", "AZ_CITIES", "Vail", "Pinal County", "2.600", ""),
            ("MO", "MO_CITIES", "Kansas City", "Jackson County", "3.250", ""),
        ],
        fixes=[
            ("MO", "MO_CITIES", "Kansas City", "9", "3", "a list"),
            ("MO", "MO_CITIES", "Nowhere", "1", "2", "a list"),
            ("FL", "FL_CITIES", "Miami", "1", "2", "a list"),
        ],
        later=[
            "AL, t.csv AL_COUNTY_RATE_PCT, Autauga County, set, 2, 2.5, 2026-09-01, , audit, law",
            "AL, t.csv AL_CITIES, Dadeville, add, , 4, 2026-10-01, , audit, " + NOTICE,
            "AZ, t.csv AZ_CITIES, San Tan Valley, add, , 2.25, 2026-10-01, , audit, new",
            "AZ, t.csv AZ_CITIES, Phoenix, set, 2.8, 2.9, , , audit, a table",
            "AZ, t.csv AZ_CITIES, Vail, drop, 2.6, , , , audit, is no city",
            "GA, book GA areas, College Park, set, 7, 7.75, , , audit, elsewhere",
        ],
    )
    assert combined(draft, "AL:city:62328", date(2026, 8, 31)) == (9_500, "")
    assert combined(draft, "AL:city:62328", date(2026, 9, 1)) == (10_000, "")
    row = draft.rates["AL:county:001"][-1]
    assert (row.effective, row.source) == (date(2026, 9, 1), "audit")
    assert combined(draft, "AL:city:19336", date(2026, 9, 30)) == (7_500, "")
    assert combined(draft, "AL:city:19336", date(2026, 10, 1)) == (8_000, "")
    assert combined(draft, "AZ:city:64210", date(2026, 9, 30)) == (5_600, "unknown")
    assert combined(draft, "AZ:city:64210", date(2026, 10, 1)) == (7_850, "")
    assert combined(draft, "AZ:city:55000", BEGIN) == (8_500, "")
    assert "AZ:city:vail" not in draft.areas
    assert found(draft, "conflict") == [
        "MO Kansas City: corrects 9%, the table has 3.250: not applied",
        "MO Nowhere: corrects 1%, the table has none: not applied",
    ]
    assert combined(draft, "MO:city:38000") == (7_475, "")


def test_a_city_of_texas_is_whole_at_the_cap(build):
    cities = [
        ("Houston", "Harris County|Houston MTA (METRO)", "1.000"),
        ("Belton", "Bell County", "2.000"),
        ("El Paso", "El Paso County|El Paso MTA (Sun Metro)", "1.000"),
        ("Killeen", "Bell County", "1.750"),
        ("Temple", "Bell County", "2.250"),
        ("Crosby", "Harris County", "2.000"),
    ]
    draft = build(
        [
            ("TX", "TX_COUNTY_RATE_PCT", "Harris County", "", "0.000", ""),
            ("TX", "TX_COUNTY_RATE_PCT", "Bell County", "", "0.000", ""),
            ("TX", "TX_COUNTY_RATE_PCT", "El Paso County", "", "0.500", ""),
            ("TX", "TX_TRANSIT_DISTRICTS", "Houston MTA (METRO)", "", "1.000", ""),
            ("TX", "TX_TRANSIT_DISTRICTS", "El Paso MTA (Sun Metro)", "", "0.500", ""),
            *(("TX", "TX_CITIES", *city, "") for city in cities),
        ],
        fixes=[("TX", "TX_COUNTY_RATE_PCT", "Bell County", "0", "0.5", "the Comptroller's list")],
    )
    assert combined(draft, "TX:city:35000") == (8_250, "")
    assert combined(draft, "TX:city:07492") == (8_250, "")  # with the share of its county
    assert combined(draft, "TX:city:el-paso") == (8_250, "")  # the county's comes on top
    assert combined(draft, "TX:city:killeen") == (8_000, "partial")
    assert combined(draft, "TX:county:027") == (6_750, "districts")
    assert draft.areas["TX:city:35000"].components == ("TX:district:houston-mta", "TX:city:35000")
    assert draft.areas["TX:city:35000"].counties == ("201", "157")  # at the cap without a county
    assert draft.areas["TX:city:07492"].counties == ("027",)
    assert found(draft, "left_out") == [
        "TX Temple: 8.50% in all is more than the law allows",
        "TX Crosby: is no city: a district in part of it has the rate",
    ]


def test_the_list_of_texas_goes_before_the_table(build):
    draft = build(
        [
            ("TX", "TX_COUNTY_RATE_PCT", "Harris County", "", "0.000", ""),
            ("TX", "TX_TRANSIT_DISTRICTS", "Houston MTA (METRO)", "", "1.000", ""),
            ("TX", "TX_CITIES", "Houston", "Harris County|Houston MTA (METRO)", "1.000", ""),
            ("TX", "TX_CITIES", "Belton", "Bell County", "2.000", ""),
        ],
        lists=[
            place("TX 48201 35000", "Houston", "0.08250"),
            place("TX 48027 07492", "Belton", "0.07750", "partial"),
            place("TX 48201 00010", "Spring", "0.08250", "partial"),
            place("TX 48029 00011", "Over", "0.08375"),
            place("TX 48157 00012", "Part", "0.07250", "partial"),
        ],
    )
    houston = draft.areas["TX:city:35000"]
    assert (combined(draft, houston.id), len(houston.components)) == ((8_250, ""), 2)
    assert draft.rates["TX:city:35000"][0].source == "list"
    assert combined(draft, "TX:city:07492") == (8_250, "")
    assert draft.rates["TX:city:07492"][0].source == "local-tables"
    assert combined(draft, "TX:city:00012") == (7_250, "partial")
    assert found(draft, "left_out") == [
        "TX Spring: The list does not give it as the whole rate.",
        "TX Over: 8.375% in all is more than the law allows",
    ]
    assert not found(draft, "conflict")


RTA = [
    ("IL", "IL_RTA_DISTRICTS", "RTA (Cook County)", "", "1.000", ""),
    ("IL", "IL_COUNTY_RATE_PCT", "Cook County", "", "1.750", ""),
    ("IL", "IL_CITIES", "Chicago", "Cook County|RTA (Cook County)", "1.250", "60601"),
    ("IL", "IL_CITIES", "Skokie", "Cook County|RTA (Cook County)", "1.250", "60076"),
    ("IL", "IL_COUNTY_RATE_PCT", "McLean County", "", "1.000", ""),
]
RISE = [("IL", "IL_RTA_DISTRICTS", "RTA (Cook County)", "1", "1.25", CHANGED)]
MEMBERS = [("IL", "RTA (Cook County)", "Cook County", "")]


def test_the_parts_of_illinois_and_the_rise_of_the_rta(build):
    draft = build(
        RTA,
        RISE,
        members=[*MEMBERS, ("IL", "RTA (Cook County)", "Atlantis County", "")],
        lists=[
            place("IL 17031", "", "0.09250", since="2026-08-01"),
            place("IL 17031 14000", "Chicago", "0.10500", since="2026-08-01"),
            place("IL 17043 14000", "Chicago", "0.08500", principal="n"),
            place("IL 17197", "", "0.07250", "partial"),
            place("IL 17197 00001", "Joliet", "0.08500"),
            place("IL 17031 00002", "Island", "0.08000", since="2026-08-01"),
        ],
    )
    for day, chicago, rest in ((date(2026, 7, 31), 10_250, 9_000), (DAY, 10_500, 9_250)):
        assert combined(draft, "IL:city:14000", day) == (chicago, "")
        assert combined(draft, "IL:county:031", day) == (rest, "districts")
    parts = draft.areas["IL:city:14000"].components
    assert parts == ("IL:county:031", "IL:district:rta-cook-county", "IL:city:14000")
    assert [draft.rates[part][-1].units for part in parts] == [1_750, 1_250, 1_250]
    assert draft.rates[parts[1]][-1].effective == date(2026, 8, 1)
    assert {draft.rates[part][-1].source for part in parts} == {"list"}
    sliver = draft.areas["IL:city:14000-043"]
    assert (combined(draft, sliver.id), sliver.cities) == ((8_500, ""), ())
    assert combined(draft, "IL:city:skokie") == (10_500, "partial")  # not in the list
    assert combined(draft, "IL:county:113") == (7_250, "districts")  # by the table
    # the county's rate is a lower bound: all of a whole city's local part is its own
    assert combined(draft, "IL:city:00001") == (8_500, "")
    assert draft.areas["IL:city:00001"].components == ("IL:city:00001",)
    assert combined(draft, "IL:city:00002") == (8_000, "partial")
    assert found(draft, "conflict") == [
        "IL Island: the list has less than for the rest of its county: a lower bound"
    ]
    assert "IL Atlantis County: the state has no such county" in found(draft, "left_out")


def test_figures_of_the_table_and_the_list_that_differ_are_a_lower_bound(build):
    draft = build(
        RTA,
        RISE,
        members=MEMBERS,
        lists=[
            place("IL 17031", "", "0.09500", since="2026-08-01"),
            place("IL 17031 14000", "Chicago", "0.11000", since="2026-08-01"),
        ],
    )
    assert combined(draft, "IL:city:14000") == (10_750, "partial")
    assert draft.rates["IL:city:14000"][0].conflict_cap == "low"
    assert found(draft, "conflict") == [
        "IL Cook County: has another rate by the list, which is used",
        "IL Chicago: 10.75% by the table, 11.00% by the list: a lower bound",
    ]
