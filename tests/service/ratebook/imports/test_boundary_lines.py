"""One line of a boundary file: every form that real files have, and every fault by its column."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.boundary_files import METRO, generated_lines, line

from svc_tools.service.ratebook.imports.boundary_import import (
    LAST_HOUSE,
    OPEN_END,
    AddressRecord,
    Plus4Record,
    ZipRecord,
    read_line,
)
from svc_tools.service.ratebook.imports.reading import BrokenLine
from svc_tools.service.ratebook.imports.sst_rows import Composition
from svc_tools.service.ratebook.imports.streets import UNSURE, Street


def fields(text):
    return next(csv.reader([text]))


def read(text, number=7):
    return read_line("MNB2026Q2FEB18.csv", number, fields(text), "27")


STATE_ALONE = Composition("27", "", "", ())


def test_a_zip_record_is_a_range_of_whole_zips():
    assert read(line("z", zips="55012-55013", county="025")) == ZipRecord(
        20160101, OPEN_END, 55012, 55013, Composition("27", "025", "", ())
    )


def test_a_plus4_record_may_reach_over_several_zips():
    record = read(line("4", zips="55075-55077", plus4="5929-7401", ends="20190331"))
    assert record == Plus4Record(20160101, 20190331, 55075, 5929, 55077, 7401, STATE_ALONE)


def test_an_address_record_is_a_side_of_a_street():
    record = read(
        line("A", zip5="55401", street="n|main|street|", numbers="101-199", side="o", place="43000")
    )
    assert isinstance(record, AddressRecord)
    assert record.street == Street("N", "MAIN", "ST", "")
    assert (record.zip, record.low, record.high, record.parity) == (55401, 101, 199, "O")
    assert record.composition == Composition("27", "", "43000", ())


def test_an_address_record_may_hold_some_suites_only():
    record = read(
        line("A", zip5="55401", street="|OAK|AVE|", numbers="10", unit="apt|100-198|E", side="E")
    )
    assert (record.unit, record.unit_low, record.unit_high, record.unit_parity) == (
        "",
        "100",
        "198",
        "E",
    )


@pytest.mark.parametrize("kind", ["Z", "z", "4", "A", "a", " z "])
def test_the_type_in_any_case(kind):
    made = {"zips": "55401", "plus4": "1-2", "zip5": "55401", "street": "|OAK||", "numbers": "1"}
    assert read(line(kind, **made))


@pytest.mark.parametrize(("written", "low"), [("1-2", 1), ("0001-0002", 1), ("0-9999", 0)])
def test_plus4_may_be_unpadded(written, low):
    assert read(line("4", zips="55401", plus4=written)).low == low


@pytest.mark.parametrize("end", ["29991231", "99991231", "20991231", "21001231", "99999999"])
def test_the_ends_that_mean_open(end):
    assert read(line("Z", zips="55401", ends=end)).ends == OPEN_END


def test_new_englands_zips_may_have_lost_their_zero():
    assert read(line("Z", zips="2801-2802")).low == 2801


@pytest.mark.parametrize("columns", [29, 32, 38, 89, 90])
def test_the_widths_of_real_files(columns):
    text = line("Z", zips="55401", county="053", columns=columns)
    assert read(text).composition.county == "053"


def test_the_ninetieth_column_is_not_read():
    assert read(line("Z", zips="55401", columns=90).rstrip("\n") + "anything\n")


def test_special_districts_keep_their_type_and_stand_once():
    text = line("Z", zips="55401", specials=["80004", "79:ab-1", "80004"])
    assert read(text).composition.specials == ("63:80004", "79:AB-1")


def test_codes_are_padded():
    found = read(line("Z", zips="55401", county="53", place="720")).composition
    assert (found.county, found.place) == ("053", "00720")


FAULTS = [
    ("column 1 (record type) holds 'X'; expected Z, 4 or A", {"kind": "X"}),
    ("column 2 (begin) holds '20260230'; expected a day", {"begins": "20260230"}),
    ("column 2 (begin) holds '2026-01-01'; expected a day", {"begins": "2026-01-01"}),
    ("column 2 (begin) holds '18000101'; expected a day", {"begins": "18000101"}),
    ("column 2 (begin) holds ''", {"begins": ""}),
    ("column 3 (end) holds '20150101'; expected a day on or after", {"ends": "20150101"}),
    ("column 23 (state FIPS) holds '55'; expected 27, the state of this file", {"state": "55"}),
    ("column 24 (state indicator) holds '55'; expected 27", {"indicator": "55"}),
    ("column 25 (county FIPS) holds '1234'; expected 3 digits", {"county": "1234"}),
    ("column 26 (place FIPS) holds 'abc'; expected 5 digits", {"place": "abc"}),
    ("column 18 (ZIP low) holds '554'; expected a ZIP of five digits", {"zips": "554"}),
    ("column 18 (ZIP low) holds ''; expected a ZIP", {"zips": ""}),
    ("column 20 (ZIP high) holds '55400'; expected a ZIP not below", {"zips": "55401-55400"}),
    ("column 31 (special district 1, code) holds 'a b'; expected the code", {"specials": ["a b"]}),
    (
        "column 35 (special district 2, authority type) holds 'x'; expected the type",
        {"specials": ["80004", "x:80008"]},
    ),
    ("column 19 (+4 low) holds '12345'; expected the four", {"kind": "4", "plus4": "12345-1"}),
    ("column 21 (+4 high) holds '1'; expected a +4 not below", {"kind": "4", "plus4": "2-1"}),
    ("column 16 (ZIP) holds ''; expected a ZIP", {"kind": "A", "zip5": ""}),
    ("column 8 (street) holds ''; expected the name of a street", {"kind": "A", "street": "N|||"}),
]
VAGUE = [
    ("column 4 (low address) holds 'x'; expected a house number", {"numbers": "x"}),
    ("column 4 (low address) holds ''; expected a house number", {"numbers": "-9"}),
    ("column 5 (high address) holds '1'; expected a number not", {"numbers": "3-1"}),
    ("column 5 (high address) holds 'N9'; expected a number wr", {"numbers": "3-N9"}),
    ("column 6 (odd/even) holds ''; expected O (odd), E (even)", {"side": ""}),
    ("column 14 (secondary odd/even) holds 'X'", {"unit": "APT|1-2|X"}),
    ("column 12 (secondary low) holds ''; expected both", {"unit": "APT|-2|"}),
]
"""What a record may be vague about: whoever publishes hundreds of thousands has some of these."""
GOOD = {"kind": "Z", "zips": "55401", "plus4": "1-2", "zip5": "55401", "street": "|OAK||"}


@pytest.mark.parametrize(("message", "changed"), FAULTS)
def test_a_broken_line_says_where_what_and_what_instead(message, changed):
    made = GOOD | {"numbers": "1"} | changed
    row = fields(line(made.pop("kind"), **made))
    with pytest.raises(BrokenLine) as caught:
        read_line("MNB2026Q2FEB18.csv", 7, row, "27")
    assert str(caught.value).startswith(f"MNB2026Q2FEB18.csv, line 7: {message}")
    assert (caught.value.file, caught.value.line) == ("MNB2026Q2FEB18.csv", 7)


@pytest.mark.parametrize(("message", "changed"), VAGUE)
def test_a_record_without_its_houses_holds_any_house_of_its_street_and_says_why(message, changed):
    found = read(line(**(GOOD | {"kind": "A", "numbers": "1"} | changed)))
    assert (found.street, found.zip) == (Street("", "OAK", "", ""), 55401)
    assert (found.low, found.high, found.parity) == (0, LAST_HOUSE, UNSURE)
    assert found.fault.startswith(message)


@pytest.mark.parametrize("count", [0, 1, 9, 28, 91])
def test_a_line_of_another_width(count):
    with pytest.raises(BrokenLine, match=f"{count} columns; expected 29 columns and up to 20"):
        read_line("f.csv", 1, ["x"] * count, "27")


@pytest.mark.parametrize("commas", [1, 2, 5])
@pytest.mark.parametrize("columns", [29, 32, 89, 90])
def test_commas_at_the_end_of_a_line(columns, commas):
    specials = [] if columns == 29 else ["80004"]
    text = line("Z", zips="55401", columns=columns, specials=specials)
    assert read(text.rstrip("\n") + "," * commas) == read(text)


@pytest.mark.parametrize(
    ("code", "kind", "kept"), [("", "63", "63:?"), ("80004", "", "?:80004"), ("", "", "?:?")]
)
def test_a_district_that_is_not_named_in_full_is_none_that_has_a_rate(code, kind, kept):
    row = fields(line("Z", zips="55401", specials=["1"]))
    row[29:32] = "ST", code, kind
    assert read_line("f", 1, row, "27").composition.specials == (kept,)


def test_a_long_field_is_cut_in_the_message():
    with pytest.raises(BrokenLine) as caught:
        read(line("Z" * 5000))
    assert len(str(caught.value)) < 200


def test_whatever_the_generator_writes_is_a_record():
    for number, text in enumerate(generated_lines(3000), 1):
        assert read(text, number)


ANY_FIELD = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "Z", "4", "A", "20260101", "29991231", "55401", "27", "053", "O", "63"]),
)


def outcome(row):
    """The record in a row, or what is said of it."""
    try:
        return read_line("f", 1, row, "27")
    except BrokenLine as error:
        return str(error)


@given(st.lists(ANY_FIELD, max_size=92))
def test_any_fields_are_a_record_or_a_broken_line(row):
    found = outcome(row)
    assert isinstance(found, (ZipRecord, Plus4Record, AddressRecord)) or "; expected" in found


@given(
    kind=st.sampled_from(["Z", "4", "A"]),
    changed=st.dictionaries(st.integers(0, 88), ANY_FIELD, max_size=3),
)
def test_a_good_line_with_odd_fields_is_a_record_or_a_broken_line(kind, changed):
    made = {**GOOD, "kind": kind, "numbers": "1-9", "specials": METRO}
    row = fields(line(made.pop("kind"), **made))
    for column, text in changed.items():
        row[column] = text
    found = outcome(row)
    if isinstance(found, str):
        assert "column" in found
        return
    assert found.begins <= found.ends
    assert found.low <= found.high or found.zip_low < found.zip_high
