"""The fields of an answer in cells: those of docs/COLUMNS.md, with the values that frames have."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from support.desks import desk_of, shown
from support.faults import echoing

import svc_tools  # noqa: F401 - registers df.svc
from svc_tools.excel.results import LOOKUP_FIELDS
from svc_tools.excel.values import OMITTED
from svc_tools.frames.lookup_columns import LOOKUP_COLUMNS

GUIDE = Path(__file__).parents[2] / "docs" / "COLUMNS.md"
DAY = "2026-07-01"
ROWS = [
    ("CA", "94105", "San Francisco", DAY),
    ("CA", "94105", "Oakland", DAY),
    ("WA", "98101", None, DAY),
    ("NY", "10001", None, DAY),
    ("TX", "99999", None, DAY),
    ("TX", "bad", None, DAY),
    ("PR", "00901", None, DAY),
    ("OR", "97201", None, DAY),
]


def test_the_fields_are_those_of_the_guide_and_of_an_enriched_frame():
    table = GUIDE.read_text(encoding="utf-8").partition("## Lookup")[2].partition("\n\n`")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(LOOKUP_FIELDS)
    assert list(LOOKUP_FIELDS) == list(LOOKUP_COLUMNS)


def test_fields_are_told_with_form_and_meaning(desk):
    heads, *rows = shown(desk, "SVC_FIELDS")
    assert heads == ["field", "form", "meaning"]
    assert [row[0] for row in rows] == list(LOOKUP_FIELDS)
    assert all(form and meaning for _, form, meaning in rows)


def test_fields_have_the_values_that_a_frame_has(client, desk):
    frame = pd.DataFrame(ROWS, columns=["state", "zip", "city", "as_of"])
    looked = frame.svc.lookup(client=client, cache=False, progress=False)
    looked = looked[list(LOOKUP_COLUMNS)]
    given = [["state", "zip", "city", "as_of"], *map(list, ROWS)]
    heads, *rows = shown(desk, "SVC_LOOKUP", given, OMITTED, True)  # noqa: FBT003 - a cell
    assert heads == list(LOOKUP_COLUMNS)
    for row, (_, expected) in zip(rows, looked.iterrows(), strict=True):
        for name, cell in zip(heads, row, strict=True):
            if name in {"support_reference", "looked_up_at"}:  # new with each request
                continue
            if isinstance(cell, str) and cell.startswith("#"):
                assert expected["lookup_status"] in cell.lower()
                assert pd.isna(expected[name]) or name == "warnings"
            else:
                assert cell == as_cell(expected[name]), (name, expected["lookup_status"])


def as_cell(value):
    """A value of a frame as a cell holds it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date | datetime) and not pd.isna(value):
        return value.isoformat()
    if pd.isna(value):
        return None
    return value if isinstance(value, str) else bool(value)


def test_a_row_without_an_answer_still_says_what_became_of_it(desk):
    fields = "combined_rate, lookup_status, needs_review, lookup_error"
    rows = [["TX", "99999", DAY], ["TX", None, DAY], ["CA", "94105", None], ["TX", "#N/A", DAY]]
    unknown, empty, undated, error = shown(desk, "SVC_LOOKUP", rows, fields)
    assert unknown[0].startswith("#UNRESOLVED ")
    assert unknown[1:3] == ["unresolved", True]
    assert unknown[3].startswith("ZIP 99999 is unknown")
    assert empty == [None] * 4
    assert undated[0].startswith("#INVALID as_of is an empty cell")
    assert undated[1:3] == ["invalid", True]
    assert all(cell.startswith("#N/A zip: the cell holds #N/A") for cell in error)


def test_a_part_that_an_answer_lacks_is_marked_and_one_that_is_whole_is_told(desk):
    fields = [["state_rate", "county_rate", "combined_district_rate", "combined_rate"]]
    louisiana, idaho = shown(desk, "SVC_LOOKUP", [["LA", "70112"], ["ID", "83702"]], fields)
    assert louisiana == [0.05, "#PARTIAL", "#PARTIAL", "#PARTIAL"]
    assert idaho == [0.06, 0.0, "#PARTIAL", "#PARTIAL"]


def test_a_city_rate_that_is_known_is_shown_where_districts_are_not(faults, scripted):
    lacking = [{"code": "districts_not_covered"}]
    fields = [["city_rate", "combined_district_rate"]]
    faults.will(echoing(rate={"city_rate": "0.01500"}, warnings=lacking))
    assert shown(desk_of(scripted), "SVC_LOOKUP", [["TX", "75001", DAY]], fields) == [
        [0.015, "#PARTIAL"]
    ]
    faults.will(echoing(rate={"city_rate": "0.00000"}, warnings=lacking))
    assert shown(desk_of(scripted), "SVC_LOOKUP", [["TX", "75002", DAY]], fields) == [
        ["#PARTIAL", "#PARTIAL"]
    ]


def test_a_part_that_the_answer_does_not_say_is_an_error_and_no_zero(faults, scripted):
    faults.will(echoing(rate={"county_rate": None}))
    told = shown(desk_of(scripted), "SVC_FIELD", "county_rate", "TX", "75001", DAY)
    assert told == "#N/A The response has no county_rate."


def test_a_range_that_the_answer_does_not_need_is_an_empty_cell(scripted_desk):
    assert shown(scripted_desk, "SVC_FIELD", "rate_low", "TX", "75001", DAY) is None
    assert shown(scripted_desk, "SVC_FIELD", "effective_date", "TX", "75001", DAY) is None


@pytest.mark.parametrize("name", ["combined_rate", "Combined Rate", " COMBINED-RATE "])
def test_a_field_is_found_however_it_is_written(name, scripted_desk):
    assert shown(scripted_desk, "SVC_FIELD", name, "TX", "75001", DAY) == 0.0825


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("county rat", '#INVALID There is no field "county rat". Did you mean "county_rate"?'),
        ("xyz", '#INVALID There is no field "xyz". SVC_FIELDS() shows which there are.'),
        (None, "#INVALID field: expected the name of a field"),
        (3.0, "#INVALID field: expected the name of a field"),
        ("#REF!", "#REF! field: the cell holds #REF!"),
    ],
)
def test_a_field_that_is_none_names_the_nearest(name, told, scripted_desk):
    assert shown(scripted_desk, "SVC_FIELD", name, "TX", "75001", DAY).startswith(told)


@pytest.mark.parametrize(
    "fields",
    [
        "lookup_status,combined_rate",
        "lookup_status; combined_rate;",
        [["lookup_status"], [None], ["combined_rate"]],
    ],
)
@pytest.mark.parametrize("headers", [True, 1.0, "true"])
def test_fields_are_named_in_one_text_or_in_a_range(fields, headers, scripted_desk):
    rows = shown(scripted_desk, "SVC_LOOKUP", [["TX", "75001"]], fields, headers)
    assert rows == [["lookup_status", "combined_rate"], ["ok", 0.0825]]


@pytest.mark.parametrize("headers", [OMITTED, None, False, 0.0, "FALSE", [[None]]])
def test_headings_come_only_where_they_are_asked_for(headers, scripted_desk):
    assert shown(scripted_desk, "SVC_LOOKUP", [["TX", "75001"]], "confidence", headers) == [
        ["high"]
    ]


def test_columns_under_headings_may_stand_in_any_order(faults, scripted_desk):
    given = [["As of", "City", "STATE", " zip "], [46174.0, "Dallas", "tx", 75001.0]]
    rows = shown(scripted_desk, "SVC_LOOKUP", given, "warnings, lookup_as_of")
    assert rows == [["place_input_mismatch", "2026-06-01"]]
    assert "zip=75001" in faults.seen[0].target


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([["TX"]], "#INVALID range: it has 1 columns and no headings; expected columns of state"),
        ([["TX", "75001", DAY, 5.0]], "#INVALID range: it has 4 columns and no headings"),
        (
            [["state", "zip", "order"], ["TX", "75001", 1.0]],
            '#INVALID range: "order" is no heading',
        ),
        ([["state", "zip", None], ["TX", "75001", 1.0]], "#INVALID range: an empty cell is no"),
        ([["state", "zip", "zip"], ["TX", "75001", 1.0]], "#INVALID range: several columns have"),
        ([["state", "zip"]], "#INVALID range: there is no row below the headings."),
        ([["state", "#REF!"], ["TX", "1"]], "#REF! range: the cell holds #REF!"),
    ],
)
def test_a_range_that_cannot_be_read_says_what_is_expected(given, told, faults, scripted_desk):
    assert shown(scripted_desk, "SVC_LOOKUP", given).startswith(told)
    assert faults.seen == []


@pytest.mark.parametrize(
    ("fields", "headers", "told"),
    [
        ("nothing", OMITTED, '#INVALID There is no field "nothing"'),
        (5.0, OMITTED, "#INVALID fields: expected names of fields, not 5.0."),
        ("#N/A", OMITTED, "#N/A fields: "),
        (OMITTED, "maybe", "#INVALID headers: expected TRUE or FALSE, not maybe."),
        (OMITTED, [[True, True]], "#INVALID headers: expected TRUE or FALSE, not a range."),
        (OMITTED, 2.0, "#INVALID headers: expected TRUE or FALSE, not 2.0."),
    ],
)
def test_options_that_cannot_be_meant_are_refused(fields, headers, told, scripted_desk):
    rows = shown(scripted_desk, "SVC_LOOKUP", [["TX", "75001"]], fields, headers)
    assert rows.startswith(told)
