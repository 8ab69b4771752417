"""Files are known by what they hold; the name only says what the content does not."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.importer import FORMS, recognise, recognise_text
from svc_tools.service.ratebook.imports.reading import FileRefused, named_quarter, read_quarter

FIPS = {row.fips: state for state, row in load_book().states.items()}

RATE = "27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231\n"
BLANK_FOOD = "27,0,053,0.0015,0.0015,,,20070101,99991231\n"
BOUNDARY = "z,20161001,20190331" + "," * 14 + ",55012,,55013,,,27,27,025" + "," * 64 + "\n"
CDTFA = "Location,Rate,County,Type\nAdelanto,0.0775,San Bernardino,City\n"
WA = (
    "Name,Code,State,Local,RTA,Rate,Effective Date,Expiration Date\n"
    "HATTON,0101,.065,.015,.000,.080,20260701,20260930\n"
)
WA_TABLE = (
    "effective,expiration,location_code,location,state_rate,local_rate,rta,total_rate\n"
    "20260401,20260630,100,ADAMS COUNTY,0.065,0.015,0,0.08\n"
)
TX = "1\t20263\t202609\t2026 - 3rd\t0.0625\t0\t3715\tnotice text\nDallas \t2057207\t0.01\n"

EXAMPLES = [
    ("MNR2026Q2FEB18.csv", RATE, ("sst_rates", "MN", "2026Q2")),
    ("rates of 2026 q3.txt", BLANK_FOOD, ("sst_rates", "MN", "2026Q3")),
    ("MNB2026Q2FEB18.csv", BOUNDARY, ("sst_boundary", "MN", "2026Q2")),
    ("boundary-2026Q3.csv", BOUNDARY.upper(), ("sst_boundary", "MN", "2026Q3")),
    ("SalesTaxRates4-1-26.csv", CDTFA, ("cdtfa", "CA", "2026Q2")),
    ("cdtfa_2026-07-01.csv", "California rates\n\n" + CDTFA, ("cdtfa", "CA", "2026Q3")),
    ("download.csv", WA, ("wa_dor", "WA", "2026Q3")),
    ("download.csv", WA.replace("20260701", "7/1/2026"), ("wa_dor", "WA", "2026Q3")),
    ("table.csv", WA_TABLE, ("wa_dor_table", "WA", "2026Q2")),
    ("taxrates.txt", TX, ("tx_taxrates", "TX", "2026Q3")),
]


@pytest.mark.parametrize(("name", "text", "expected"), EXAMPLES)
@pytest.mark.parametrize(
    "encoded",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.replace("\n", "\r\n").encode(),
    ],
    ids=["utf-8", "byte order mark", "CRLF"],
)
def test_every_form_is_known_in_every_encoding(file, name, text, expected, encoded):
    found = recognise(file(name, encoded(text)), FIPS)
    assert (found.form, found.state, found.edition) == expected


def test_text_of_the_older_windows_set_is_known_too(file):
    text = CDTFA + "La Ca\xf1ada Flintridge,0.1,Los Angeles,City\n"
    assert recognise(file("2026-04-01.csv", text.encode("cp1252")), FIPS).form == "cdtfa"


def test_a_damaged_first_line_does_not_hide_what_the_file_is(file):
    found = recognise(file("MNR2026Q2FEB18.csv", "27,00\n" + RATE), FIPS)
    assert found.form == "sst_rates"


def test_a_quarter_that_nothing_says_is_asked_for(file):
    path = file("rates.csv", RATE)
    with pytest.raises(FileRefused, match="--edition 2026Q3"):
        recognise(path, FIPS)
    assert recognise(path, FIPS, edition="20261").edition == "2026Q1"


def test_a_quarter_that_contradicts_the_content_is_refused(file):
    with pytest.raises(FileRefused, match="is of 2026Q3 by its own first line, not of 2026Q2"):
        recognise(file("taxrates.txt", TX), FIPS, edition="2026Q2")


def test_a_quarter_that_contradicts_the_name_is_refused(file):
    path = file("MNR2026Q2FEB18.csv", RATE)
    assert recognise(path, FIPS, edition="2026Q2").edition == "2026Q2"
    with pytest.raises(FileRefused, match="is of 2026Q2 by its name, not of 2026Q3"):
        recognise(path, FIPS, edition="2026Q3")


def test_a_name_of_one_state_on_rows_of_another_is_refused(file):
    with pytest.raises(FileRefused, match="its name says WI, its rows are of MN"):
        recognise(file("WIR2026Q2FEB18.csv", RATE), FIPS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected one of"),
        (b"\n\n", "is empty"),
        (b"PK\x03\x04....", "a ZIP archive or a spreadsheet"),
        (b"%PDF-1.7", "a PDF"),
        (gzip.compress(RATE.encode(), mtime=0), "compressed (gzip): unpack it"),
        (RATE.encode("utf-16"), "text in UTF-16: save it as UTF-8"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"name,price\napple,1\n", "It begins 'name,price'; expected"),
        (b"x" * 500, "It begins '" + "x" * 80 + "...'"),
        (b"99,00,053,0.1,0.1,,,20070101,29991231\n", "the state 99, which is no state's FIPS"),
        (b"\xff\xfd\x00\x01" * 100, "none of the known forms"),
    ],
)
def test_what_is_none_of_the_forms_is_refused_with_its_first_line(file, content, message):
    with pytest.raises(FileRefused) as refused:
        recognise(file("some.file", content), FIPS)
    assert message in str(refused.value)
    assert "some.file" in str(refused.value)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(FileRefused, match="cannot be read: No such file"):
        recognise(tmp_path / "absent.csv", FIPS)


@settings(deadline=None)  # other work on the machine is no fault
@given(st.text())
def test_any_text_is_a_form_or_is_refused(text):
    try:
        found = recognise_text(text, "some.csv", FIPS)
    except FileRefused:
        found = None
    assert found is None or (found[0] in FORMS and found[1] in FIPS.values())


@pytest.mark.parametrize(
    ("name", "quarter"),
    [
        ("WIR2026Q2FEB18.csv", "2026Q2"),
        ("ca_cdtfa_2026-01-01.csv", "2026Q1"),
        ("SalesTaxRates10-1-25.csv", "2025Q4"),
        ("rates_20260401.txt", "2026Q2"),
        ("taxrates.txt", None),
        ("99-99-2026.csv", None),
        ("20261301.csv", None),
    ],
)
def test_quarters_in_names(name, quarter):
    assert named_quarter(name) == quarter


@settings(deadline=None)  # other work on the machine is no fault
@given(st.integers(1900, 2099), st.integers(1, 4), st.sampled_from(["{}Q{}", "{}{}", "{} q{}"]))
def test_a_quarter_however_it_is_written(year, number, form):
    assert read_quarter(form.format(year, number)) == f"{year}Q{number}"


@pytest.mark.parametrize("text", ["", "2026", "2026Q5", "Q3 2026", "3026Q1", "26Q1"])
def test_what_is_no_quarter(text):
    with pytest.raises(ValueError, match="expected one such as 2026Q3"):
        read_quarter(text)
