"""Cells as exports and spreadsheets write them: formulas of text, ZIPs with a state, countries."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools import nexus
from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.tables.cells import text_of, text_of_formula
from svc_tools.tables.country_codes import country_code
from svc_tools.tables.dates import DateStyle, read_one
from svc_tools.tables.places import Cells, PlaceQuery, where
from svc_tools.tables.roles import DatesAmbiguous
from svc_tools.tables.states import STATES, Elsewhere, state_code

CASES = Path(__file__).parents[1] / "data" / "sales_files"


def enriched(source, tmp_path, client, **arguments):
    output = tmp_path / f"{source.stem}-out.csv"
    run = enrich_file(source, output, client=client, **{"tax": {}, **arguments})
    return run, pd.read_csv(output, dtype=str, keep_default_na=False)


def read(**cells):
    """State and ZIP of a row that can be looked up, else its status and reason."""
    found = where(Cells(**cells))
    if isinstance(found, PlaceQuery):
        return found.place.state, found.place.zip
    return found.status, found.reason


def test_zips_of_every_spelling_have_the_tax_that_is_right(embedded, tmp_path):
    _, rows = enriched(CASES / "p01_zips.csv", tmp_path, embedded)
    assert rows["tax"].tolist() == rows["expected_tax"].tolist()


def test_military_addresses_and_territories_have_no_tax_and_are_unsupported(embedded, tmp_path):
    _, rows = enriched(CASES / "p02_military.csv", tmp_path, embedded)
    assert set(rows["tax"]) == {""}
    assert rows["lookup_status"].tolist() == ["unsupported"] * 12 + ["unresolved"]
    assert "Armed Forces Americas is a military address" in rows["lookup_error"][11]


def test_text_of_excel_in_two_bytes_a_letter_is_read(embedded, tmp_path):
    _, rows = enriched(CASES / "p04_unicode_text.txt", tmp_path, embedded)
    assert rows["tax"].tolist() == ["77.16", "-1.32"]


def test_a_date_beside_one_of_day_first_is_day_first_and_alone_is_asked_for(embedded, tmp_path):
    _, rows = enriched(CASES / "p06_day_first.csv", tmp_path, embedded)
    assert rows["lookup_as_of"].tolist() == ["2026-09-10", "2026-09-30"]
    with pytest.raises(DatesAmbiguous) as refused:
        enriched(CASES / "p06_undecided.csv", tmp_path, embedded)
    assert refused.value.kind == "either"


FORMULAS = '''="Order",="State",="Zip",="Order Date",="Amount",="Country"
="0071",="MA",="02138",="2026-08-14",="100.00",="US"
"=""0072""","=""WA""","=""98101""","=""8/14/2026""","=""1,234.50""","=""840"""
="0073",="WA",="98101",="2026-08-30",="",="US"
'''


@pytest.fixture
def formulas(tmp_path):
    path = tmp_path / "formulas.csv"
    path.write_text(FORMULAS, encoding="utf-8")
    return path


def test_every_cell_of_a_csv_that_is_a_formula_of_text_is_its_text(embedded, tmp_path, formulas):
    _, rows = enriched(formulas, tmp_path, embedded, tax={"amount": "Amount"})
    assert rows["tax"].tolist() == ["6.25", "130.24", ""]
    assert rows["lookup_as_of"].tolist() == ["2026-08-14", "2026-08-14", "2026-08-30"]
    assert rows["Zip"].tolist() == ['="02138"', '="98101"', '="98101"']  # as the file has them
    assert view_of_file(formulas).rows[0][:3] == ("0071", "MA", "02138")
    daily = exposure_of_file(formulas, as_of="2026-12-31", progress=False)
    washington = daily[daily["state"] == "WA"].iloc[0]
    assert str(washington["sales"]) == "1234.50"


def test_a_sheet_gets_the_texts_and_amounts_of_such_cells(scripted, tmp_path, formulas):
    enrich_file(formulas, tmp_path / "out.xlsx", tax={}, client=scripted)
    cells = [*openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(values_only=True)]
    assert cells[0][:5] == ("Order", "State", "Zip", "Order Date", "Amount")
    assert [row[2] for row in cells[1:]] == ["02138", "98101", "98101"]
    assert [row[4] for row in cells[1:]] == [100, 1234.5, None]


def test_cells_of_frames_and_registers_that_are_formulas_of_text_are_their_texts(
    embedded, tmp_path
):
    frame = pd.DataFrame({"State": ['="MA"'], "Zip": ['="02138"'], "Date": ['="2026-08-14"']})
    found = frame.svc.lookup(client=embedded, progress=False)
    assert found["combined_rate"].astype(str).tolist() == ["0.06250"]
    path = tmp_path / "register.csv"
    rows = '="state",="nexus_type",="registered_at",notes\n="WA",="physical",="2026-08-14",\'="a"\n'
    path.write_text(rows, encoding="utf-8")
    (record,) = nexus.read_register(path).records
    assert (record.state, record.registered_at) == ("WA", date(2026, 8, 14))
    assert record.notes == '="a"'  # behind the apostrophe it is a text


@given(st.text(max_size=12))
def test_the_text_of_a_formula_is_what_a_spreadsheet_shows(text):
    doubled = text.replace('"', '""')
    assert text_of_formula(f'="{doubled}"') == text
    assert text_of(f'="{doubled}"') == text_of(text)
    assert read_one(f'="{date(2026, 8, 14)}"', DateStyle()) == date(2026, 8, 14)


@pytest.mark.parametrize("cell", ['="a"b"', "=A1", '="a"&"b"', '="', '="a', "=TODAY()", 'x="a"'])
def test_other_formulas_stay_what_they_are(cell):
    assert text_of_formula(cell) == cell


ONE_ZIP = "CA 94105;ca 94105;California 94105;94105 CA;94105, CA;CA-94105;US-CA 94105;CA 94105 USA"


@pytest.mark.parametrize("cell", [*ONE_ZIP.split(";"), "US 94105", "94105, United States"])
def test_a_state_or_the_country_may_stand_with_the_zip(cell):
    assert read(zip=cell) == read(zip=cell, state="CA") == ("CA", "94105")
    found = where(Cells(zip=cell))
    assert (found.state_from_zip, found.zip_repaired) == (True, False)
    assert not where(Cells(zip=cell, state="CA")).state_from_zip


@pytest.mark.parametrize("cell", ONE_ZIP.split(";"))
def test_a_state_with_the_zip_that_contradicts_the_rows_state_is_a_conflict(cell):
    reason = "state: the ZIP cell names CA, but the state given is WA"
    assert read(zip=cell, state="WA") == ("invalid", reason)


@pytest.mark.parametrize(
    ("cells", "result"),
    [
        ({"zip": "MA 2138"}, ("MA", "02138")),
        ({"zip": "CA 941051804"}, ("CA", "94105-1804")),
        ({"zip": "KY 42223"}, ("KY", "42223")),  # alone it lies in two states
        ({"zip": "Washington 20001"}, "the ZIP cell names WA, but ZIP 20001 lies in DC"),
        ({"zip": "DE 10115"}, "the ZIP cell names DE, but ZIP 10115 lies in NY"),  # or Germany
        ({"zip": "CA 94105", "address": "1 Pike St, Seattle, WA"}, "the address names WA"),
        ({"zip": "AE 09012"}, "military"),
        ({"zip": "PR 00901"}, "territory"),
        ({"zip": "D-10115"}, "not a ZIP"),
        ({"zip": "Zip 94105"}, "not a ZIP"),
        ({"zip": "9021O", "state": "CA"}, "not a ZIP"),
    ],
)
def test_what_stands_with_a_zip_is_read_or_refused(cells, result):
    found = read(**cells)
    assert found == result if isinstance(result, tuple) else result in found[1]


@given(
    st.sampled_from(sorted(STATES)),
    st.integers(1, 99_999),
    st.sampled_from(["", " ", ", ", "-"]),
)
def test_a_zip_with_a_state_never_leads_to_another_one(state, number, between):
    alone = read(zip=f"{number:05d}", state=state)
    together = read(zip=f"{state}{between}{number:05d}")
    if together[0] in STATES:
        assert together == alone == (state, f"{number:05d}")


def test_a_file_of_zips_with_states_needs_no_column_of_states(embedded, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("Zip,Order Date,Amount\nMA 02138,2026-08-14,100\nWA 98101,2026-08-14,100\n")
    run, rows = enriched(path, tmp_path, embedded)
    assert rows["tax"].tolist() == ["6.25", "10.55"]
    assert "rows whose state was taken from the ZIP: 2" in run.notes


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("Armed Forces Americas (except Canada)", "Americas"),
        ("Armed Forces Europe, the Middle East, and Canada", "Europe"),
        ("AE - Armed Forces Africa/Canada/Europe/Middle East", "Europe"),
        ("Armed Forces Canada", "Europe"),
        ("Armed Forces Pacific", "Pacific"),
        ("U.S. Armed Forces - Pacific", "Pacific"),
        ("Armed Forces (AA)", "Americas"),
        ("ARMED FORCES AP", "Pacific"),
    ],
)
def test_the_states_of_the_armed_forces_are_military_addresses(state, code):
    found = state_code(state)
    assert isinstance(found, Elsewhere)
    assert found.reason.startswith(f"Armed Forces {code} is a military address")
    assert read(state=state, zip="34002")[0] == "unsupported"


def test_a_street_of_the_armed_forces_is_no_state():
    assert state_code("Armed Forces Blvd") is None
    assert read(address="100 Armed Forces Dr", city="Tampa", state="FL")[0] == "FL"


HERE = (
    "US;USA;840;840.0;U.S.;U.S.A.;US - United States;US-United States;USA, United States;"
    "United States of America (the);The United States;United States (US);US (Texas);"
    "Vereinigte Staaten;Vereinigte Staaten von Amerika;États-Unis;ETATS-UNIS;Estados Unidos;"
    "EE. UU.;EEUU;Estados Unidos da América;EUA;Stati Uniti;"
    "États-Unis d\N{RIGHT SINGLE QUOTATION MARK}Amérique"
)
ABROAD = (
    "DE;DEU;276;276.0;40;DE - Germany;Germany;Deutschland;Alemania;Allemagne;Alemanha;Germania;"
    "Kanada;México;Messico;Royaume-Uni;England;PR;Puerto Rico;US Virgin Islands;CA;"
    "Korea, Republic of"
)
UNKNOWN = "Untied States;US - Germany;US (Germany);US/CA;XX;999;1;日本国;Texas;?;US?Canada;South"


@pytest.mark.parametrize("country", [*HERE.split(";"), 840, 840.0])
def test_the_united_states_are_known_by_every_usual_name_code_and_number(country):
    assert read(country=country, zip="94105") == ("CA", "94105")


@pytest.mark.parametrize("country", [*ABROAD.split(";"), 276, 276.0])
def test_other_countries_are_unsupported(country):
    assert read(country=country, zip="94105") == (
        "unsupported",
        f"{str(country)!r} is not the United States",
    )


@pytest.mark.parametrize("country", UNKNOWN.split(";"))
def test_a_country_that_is_not_known_is_never_taken_for_the_united_states(country):
    status, reason = read(country=country, zip="94105", state="CA")
    assert status == "unsupported"
    assert reason.startswith(f"{country!r} is not a country that is known")


def test_the_code_of_namibia_is_no_country_only_where_a_state_says_so():
    assert read(country="NA", zip="10005") == (
        "unsupported",
        "'NA' is the code of Namibia, and no state says that it means no country",
    )
    assert read(country="NA", zip="94105", state="CA") == ("CA", "94105")
    assert read(country="N/A", zip="94105") == read(country=None, zip="94105") == ("CA", "94105")


def test_rows_of_a_file_are_read_by_their_country(embedded, tmp_path):
    countries = ["840", "US - United States", "Vereinigte Staaten", "276", "Alemania", "Untied"]
    path = tmp_path / "in.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Zip", "Country", "Order Date", "Amount"])
        rows.writerows(["98101", country, "2026-08-14", "100"] for country in countries)
    _, found = enriched(path, tmp_path, embedded)
    assert found["tax"].tolist() == ["10.55"] * 3 + [""] * 3
    assert found["lookup_status"].tolist() == ["ok"] * 3 + ["unsupported"] * 3


@given(st.text(max_size=30))
def test_any_text_is_a_country_or_none(text):
    assert country_code(text) in {None, country_code(f" {text} ")}


def test_the_names_of_countries_are_those_of_the_cldr():
    locales = pytest.importorskip("babel").Locale
    known = {}
    for language in ("en", "es", "fr", "de", "pt", "it"):
        for code, name in locales.parse(language).territories.items():
            if country_code(code) == code:
                known[language, code] = (country_code(name), country_code(name.upper()))
    assert len(known) > 6 * 245
    assert {key: found for key, found in known.items() if set(found) != {key[1]}} == {}
