"""SST rate files: every jurisdiction with its history, by the conventions of the states."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.reading import BrokenLine, FileRefused
from svc_tools.service.ratebook.imports.sst import rate_lines

NOW = date(2026, 5, 1)
KANSAS = """\
20,45,20,0.065,0.065,0.02,0.02,20150701,99991231
20,0,045,0.0125,0.0125,,,20190401,99991231
20,0,045,0.01,0.01,,,20120101,20190331
20,1,38900,0.0155,0.0155,0.0155,0.0155,20190401,29991231
20,02,17001,0.005,0.005,,,20200101,20211231
20,63,80008,.01,.01,.01,.01,20240101,20991231
"""


def test_a_county_decides_with_its_history_and_a_low_confidence(take, file, ask):
    (done,) = take(file("KSR2026Q2MAY1.csv", KANSAS))
    assert (done.edition.state, done.edition.edition, done.edition.rows) == ("KS", "2026Q2", 6)
    answer = ask("KS", location="Douglas County", day=NOW)
    assert answer.chosen.combined == 6500 + 1250
    assert answer.confidence == "low"
    assert answer.simple()["meta"]["effective_date"] == "2019-04-01"
    codes = [warning["code"] for warning in answer.advisories]
    assert "districts_not_covered" in codes
    assert "local_rates_not_covered" not in codes
    before = ask("KS", location="Douglas County", day=date(2018, 1, 1))
    assert before.chosen.combined == 6500 + 1000


def test_where_the_rows_are_from_is_reported(take, file, ask, own):
    take(file("KSR2026Q2MAY1.csv", KANSAS), today=date(2026, 5, 3))
    meta = ask("KS", location="Douglas County", day=NOW).simple()["meta"]
    assert meta["source"] == "Streamlined Sales Tax rate file of Kansas (KSR2026Q2MAY1.csv)"
    assert meta["edition"] == "2026Q2"
    book = load_book(own=own)
    (kansas,) = [entry for entry in book.freshness()["states"] if entry["state"] == "KS"]
    assert kansas["source"] == meta["source"]
    assert (kansas["edition"], kansas["loaded_at"]) == ("2026Q2", "2026-05-03")
    assert kansas["covered_until"] == "2026-06-30"
    assert "boundary file" in kansas["missing"]


def test_a_state_of_counties_alone_answers_high(take, file, ask):
    take(file("KSR2026Q2MAY1.csv", lines_of("45", "0")))
    answer = ask("KS", location="Douglas County", day=NOW)
    assert (answer.chosen.combined, answer.confidence) == (7750, "high")


def lines_of(*kinds):
    """The lines of the file of these types: a state, its counties, its cities."""
    return "".join(f"{line}\n" for line in KANSAS.splitlines() if line.split(",")[1] in kinds)


@pytest.mark.parametrize("query", [{"location": "Lawrence"}, {"zip": "66044"}])
def test_a_code_of_the_census_says_where_a_city_lies(take, file, ask, query):
    take(file("KSR2026Q2MAY1.csv", lines_of("45", "0", "1")))
    answer = ask("KS", **query, day=NOW)
    assert (answer.chosen.county, answer.chosen.city) == (1250, 1550)
    assert (answer.chosen.combined, answer.chosen.area.place) == (9300, "38900")


def test_a_city_in_several_counties_has_the_rate_of_each(take, file, ask):
    rows = (
        "40,45,40,0.045,0.045,,,19900101,29991231\n40,1,55000,0.04125,0.04125,,,20180101,29991231\n"
    )
    rows += "40,0,027,0.0025,0.0025,,,20180101,29991231\n"
    take(file("OKR2026Q2MAY1.csv", rows))
    for county, combined in (("Oklahoma County", 8625), ("Cleveland County", 8875)):
        answer = ask("OK", location=f"Oklahoma City, {county}", day=NOW)
        assert answer.chosen.combined == combined


def test_a_state_without_local_tax_stays_one(take, file, ask, own):
    take(file("INR2026Q2FEB1.csv", "18,45,18,0.07,0.07,0,0,20080401,29991231\n"))
    answer = ask("IN", zip="46204", day=NOW)
    assert (answer.chosen.combined, answer.confidence, answer.advisories) == (7000, "high", ())
    assert answer.simple()["meta"]["effective_date"] == "2008-04-01"
    assert load_book(own=own).states["IN"] == load_book().states["IN"]


def test_what_the_whole_file_gives_for_the_real_states(take, official, percent, own):
    names = ("GAR2026Q2FEB19.csv", "MNR2026Q2FEB18.csv", "WIR2026Q2FEB18.csv")
    done = take(*map(official, names))
    assert [one.edition.rows for one in done] == [449, 148, 1941]
    # the shipped book goes on where these files end
    newer = [change.since for one in done for change in one.changes.rates]
    assert [one.before for one in done] == ["2026Q4"] * 3
    assert min(newer) > date(2026, 6, 30)
    assert percent("WI", location="Milwaukee", day=NOW) == 7.9
    assert percent("MN", location="Minneapolis", day=NOW) == 9.025
    assert percent("GA", location="Atlanta", day=NOW) == 8.9
    shipped, mine = load_book(), load_book(own=own)
    for state in ("GA", "MN", "WI"):
        areas = [key for key, area in mine.areas.items() if area.state == state]
        assert shipped.areas.keys() >= set(areas)
        assert shipped.states[state] == mine.states[state]


NEVADA = """\
32,45,32,0,0,0,0,20090701,29991231
32,00,003,0.08375,0.08375,0,0,20170401,29991231
32,00,031,0.08265,0.08265,0,0,20170401,29991231
32,00,009,0.065,0.065,0,0,20030101,20090630
32,00,009,0.0685,0.0685,0,0,20090701,29991231
"""


def test_nevadas_counties_hold_the_states_part(take, file, ask):
    (done,) = take(file("NVR2026Q2FEB1.csv", NEVADA))
    clark = ask("NV", location="Clark County", day=NOW).chosen
    assert (clark.state, clark.county, clark.combined) == (6850, 1525, 8375)
    assert ask("NV", location="Esmeralda County", day=NOW).chosen.combined == 6850
    said = {finding.subject: finding.message for finding in done.findings}
    assert "below the 6850" in said["county 009"]


def test_a_county_of_nevada_below_the_states_part_is_refused(take, file):
    broken = NEVADA.replace("0.08265,0.08265", "0.0282,0.0282")
    with pytest.raises(FileRefused, match=r"county 031 has 2820 units .* below the 6850"):
        take(file("NVR2026Q2FEB1.csv", broken))


def test_districts_of_a_state_of_counties_hold_confidence_down(take, file, ask):
    text = NEVADA + "32,63,90001,0.0025,0.0025,0,0,20200101,29991231\n"
    take(file("NVR2026Q2FEB1.csv", text))
    answer = ask("NV", location="Clark County", day=NOW)
    assert (answer.chosen.combined, answer.confidence) == (8375, "low")
    (warning,) = answer.advisories
    assert warning["code"] == "districts_not_covered"


def test_tennessees_districts_repeat_the_county_and_are_dropped(take, file, ask, own):
    rows = (
        "47,45,47,0.07,0.07,0.04,0.04,20130701,29991231\n"
        "47,00,037,0.0225,0.0225,0.0225,0.0225,20020701,29991231\n"
        "47,63,37000,0.0225,0.0225,0.0225,0.0225,20020701,29991231\n"
    )
    (done,) = take(file("TNR2026Q2FEB1.csv", rows))
    assert ask("TN", location="Davidson County", day=NOW).chosen.combined == 9250
    assert "TN:district:37000" not in load_book(own=own).jurisdictions
    assert [f.message for f in done.findings] == ["1 rows repeat the rates of counties"]


WASHINGTON = """\
53,45,53,0.065,0.065,0,0,20260401,29991231
53,63,L1726,0.0405,0.0405,0,0,20260101,29991231
53,63,L0102,0.016,0.016,0,0,20260101,29991231
53,63,L0199,0.02,0.02,0,0,20260401,29991231
53,63,L9999,0.02,0.02,0,0,20260401,29991231
53,00,033,0.0385,0.0385,0,0,20260101,29991231
"""


def test_washingtons_location_codes_hold_the_whole_rate_and_the_table_rules(take, file, ask):
    (done,) = take(file("WAR2026Q2FEB1.csv", WASHINGTON))
    seattle = ask("WA", location="1726", day=NOW)
    assert seattle.chosen.combined == 10550  # the table's; 6.5 and 4.05 in both
    assert seattle.chosen.county == 0
    assert ask("WA", location="0102", day=NOW).chosen.combined == 8000
    said = {finding.subject: finding.message for finding in done.findings}
    assert said["Lind"] == "1600 units, the table of the Department has 1500: the table rules"
    assert "no location code" in said["type 00 033"]
    assert said["location code 9999"] == "is of no county"
    assert ask("WA", location="0199", day=NOW).chosen.combined == 8500
    assert ask("WA", location="1726", day=date(2024, 2, 1)).chosen.combined == 10250


def test_washingtons_codes_of_a_later_quarter_are_the_files(take, file, ask):
    (done,) = take(file("WAR2026Q4AUG1.csv", WASHINGTON.replace("20260401", "20261001")))
    assert ask("WA", location="0102", day=date(2026, 10, 1)).chosen.combined == 8100
    assert ask("WA", location="0102", day=NOW).chosen.combined == 8000
    assert not [f for f in done.findings if f.kind == "settled"]
    assert ask("WA", location="1726", day=date(2026, 10, 1)).chosen.combined == 10550


def test_washingtons_table_of_the_same_quarter_rules_where_it_was_imported(take, file, ask):
    table = (
        "Name,Code,State,Local,RTA,Rate,Effective Date,Expiration Date\n"
        "SEATTLE,1726,.065,.0415,.014,.1065,20261001,20261231\n"
    )
    rates = file("WAR2026Q4AUG1.csv", WASHINGTON.replace("20260401", "20261001"))
    (_, done) = take(file("Rates26Q4.csv", table), rates)
    seattle = ask("WA", location="1726", day=date(2026, 10, 1)).chosen
    assert (seattle.district, seattle.combined) == (1400, 10650)
    said = {finding.subject: finding.message for finding in done.findings}
    assert "the table rules" in said["Seattle"]


BROKEN = [
    (2, "20,00,045,0.0125,0.0125,,20190401,99991231", "8 columns; expected 9"),
    (2, "27,00,045,0.01,0.01,,,20190401,99991231", "column 1 (state) is '27'; expected 20"),
    (3, "20,county,045,0.01,0.01,,,20190401,99991231", "column 2 (type) is 'county'"),
    (4, "20,00,,0.01,0.01,,,20190401,99991231", "column 3 (code) is ''"),
    (2, "20,00,045,1.25%,0.01,,,20190401,99991231", "column 4 (rate) is '1.25%'"),
    (2, "20,00,045,6.5,0.01,,,20190401,99991231", "a fraction of 0 to 1, such as 0.0625"),
    (2, "20,00,045,0.01,-0.01,,,20190401,99991231", "column 5 (rate) is '-0.01'"),
    (2, "20,00,045,0.01,0.01,x,,20190401,99991231", "column 6 (rate) is 'x'"),
    (2, "20,00,045,0.01,0.01,,,2019-04-01,99991231", "begin and end as YYYYMMDD"),
    (2, "20,00,045,0.01,0.01,,,20190431,99991231", "'2019-04-31' is not a date"),
    (6, "20,00,045,0.01,0.01,,,20190401,20180101", "it ends on 2018-01-01, before it begins"),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda case: case[2][:30])
def test_a_broken_line_is_named_and_nothing_of_its_file_is_kept(take, file, own, broken):
    number, line, message = broken
    take(file("KSR2026Q1MAY1.csv", KANSAS))
    before = load_book(own=own)
    lines = KANSAS.splitlines()
    lines.insert(number - 1, line)
    with pytest.raises(BrokenLine) as caught:
        take(file("KSR2026Q2MAY1.csv", "\r\n".join(lines) + "\r\n"))
    assert caught.value.line == number
    assert f"KSR2026Q2MAY1.csv, line {number}: " in str(caught.value)
    assert message in str(caught.value)
    assert load_book(own=own) is before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("20,00,001,0.01,0.02,,,20190401,99991231", "intrastate 0.01 and interstate 0.02 differ"),
        ("20,00,001,0.0123456,0.0123456,,,20190401,99991231", "five decimals"),
        ("20,00,001,0.3,0.3,,,20190401,99991231", "outside 0 to 25%"),
    ],
)
def test_a_row_the_book_cannot_hold_is_left_out_with_its_line(take, file, line, message):
    (done,) = take(file("KSR2026Q2MAY1.csv", f"{KANSAS}\n{line}\n\n"))
    (said,) = [finding.message for finding in done.findings if finding.subject == "line 8"]
    assert message in said
    assert done.edition.rows == 6


@given(st.lists(st.text(max_size=12), max_size=12).map(",".join))
def test_any_line_is_a_row_or_broken(line):
    try:
        rate_lines(f"{KANSAS}{line}\n", "KSR2026Q2MAY1.csv", "20")
    except BrokenLine as broken:
        named, said = broken.line, str(broken)
    else:
        named, said = 7, "expected"
    assert named >= 7  # a line break in quotes makes one line two
    assert "expected" in said


def test_who_has_a_row_that_cannot_be_used_is_never_sure(take, file, ask):
    counties = "".join(f"{line}\n" for line in KANSAS.splitlines() if line[3:5] in {"45", "0,"})
    rows = (
        "20,00,001,0.01,0.02,,,20190401,99991231\n"  # Allen County has no other
        "20,00,003,0.01,0.01,,,20190401,20230101\n"
        "20,00,003,0.01,0.02,,,20230102,99991231\n"
    )
    take(file("KSR2026Q2MAY1.csv", counties + rows))
    for name in ("Allen County", "Anderson County"):  # the one it had has ended
        answer = ask("KS", location=name, day=NOW)
        assert (answer.chosen.combined, answer.confidence) == (6500, "low")
        partial, warning = answer.advisories
        assert (partial["code"], warning["code"]) == ("local_rates_not_covered", "source_conflict")
        assert "cannot be used" in warning["message"]


def test_a_county_the_state_does_not_have_is_reported_and_kept_by_its_code(take, file, own):
    (done,) = take(file("KSR2026Q2MAY1.csv", KANSAS + "20,00,999,0.01,0.01,,,20190401,99991231\n"))
    (said,) = [finding.message for finding in done.findings if finding.subject == "county 999"]
    assert "no county of the state" in said
    assert load_book(own=own).jurisdictions["KS:county:999"].name == "county 999"
