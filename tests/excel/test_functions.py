"""What the functions show: rates, fields, status, source and nexus."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal

import pandas as pd
import pytest
from support.cards import DOUBTFUL, doubtful
from support.faults import ALIVE, HANG, KEY, LISTED, answer, echoing
from support.spreadsheets import cells_of, desk_of, shown

import svc_tools  # noqa: F401 - registers df.svc
from svc_tools.excel.registry import EXAMPLES
from svc_tools.excel.values import OMITTED, ErrorCell
from svc_tools.lookup.columns import LOOKUP_COLUMNS
from svc_tools.show.codes import codes_of
from svc_tools.tables.statuses import STATUSES

DAY = "2026-07-01"


@pytest.mark.parametrize("state", ["ID", "LA"])
def test_a_rate_that_lacks_a_part_is_no_number_unless_the_formula_takes_it(state, desk):
    zip_code = {"ID": "83672", "LA": "70601"}[state]
    assert shown(desk, "SVC_STATUS", state, zip_code, DAY) == "partial"
    assert shown(desk, "SVC_RATE", state, zip_code, DAY) == "#PARTIAL"
    assert shown(desk, "SVC_TAX", 100.0, state, zip_code, DAY) == "#PARTIAL"
    for name in ("combined_rate", "rate_low", "rate_high", "combined_district_rate"):
        assert shown(desk, "SVC_FIELD", name, state, zip_code, DAY) == "#PARTIAL"
    rate = shown(desk, "SVC_RATE", state, zip_code, DAY, " Partial")
    assert rate >= 0.05
    tax = shown(desk, "SVC_TAX", 100.0, state, zip_code, DAY, OMITTED, "partial")
    assert tax == round(rate * 100, 2)
    assert shown(desk, "SVC_RATE", state, zip_code, DAY, None) == "#PARTIAL"
    assert shown(desk, "SVC_FIELD", "state_rate", state, zip_code, DAY) == rate
    assert shown(desk, "SVC_WARNINGS", state, zip_code, DAY)


def test_a_rate_that_may_be_wrong_requires_review_in_a_cell(scripted_desk, faults):
    faults.will(doubtful)
    for zip5, (_, _, status, why) in DOUBTFUL.items():
        place = ("NY", zip5, DAY)
        rate = shown(scripted_desk, "SVC_RATE", *place)
        word = "review" if status == "ok" and why else status
        assert shown(scripted_desk, "SVC_STATUS", *place) == word, zip5
        assert isinstance(rate, float) if status == "ok" else rate.startswith(f"#{status.upper()} ")
        if status == "ok":
            assert shown(scripted_desk, "SVC_FIELD", "lookup_review_reason", *place) == why
            assert bool(shown(scripted_desk, "SVC_WARNINGS", *place)) is bool(why)


def test_a_rate_of_another_country_is_an_error_that_names_both(scripted_desk, faults):
    faults.will(echoing(rate={"country": "Canada"}))
    place = ("TX", "78701", DAY)
    for name, cells in (("SVC_RATE", place), ("SVC_TAX", (100.0, *place))):
        told = shown(scripted_desk, name, *cells)
        assert told.startswith("#FAILED ")
        assert "Canada (CA)" in told
        assert "the United States (US)" in told
    assert shown(scripted_desk, "SVC_STATUS", *place) == "failed"


@pytest.mark.parametrize("accept", ["yes", True, 1.0, "partially"])
def test_accept_takes_one_word_alone(accept, desk):
    assert shown(desk, "SVC_RATE", "TX", "78701", DAY, accept).startswith("#INVALID accept")


def test_a_place_that_the_service_does_not_know_is_an_error_with_its_reason(desk):
    told = shown(desk, "SVC_RATE", "TX", "99999", DAY)
    assert told.startswith("#UNRESOLVED ZIP 99999 is unknown")
    assert "Support reference req_" in told
    assert shown(desk, "SVC_WARNINGS", "TX", "99999", DAY) == told.removeprefix("#UNRESOLVED ")
    assert shown(desk, "SVC_STATUS", "TX", "99999", DAY) == "unresolved"
    for name in ("SVC_CONFIDENCE", "SVC_SOURCE"):
        assert shown(desk, name, "TX", "99999", DAY) == told
    assert shown(desk, "SVC_TAX", 0.0, "TX", "99999", DAY) == told  # no 0 for what is not known


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (("TX", "x"), "invalid"),
        (("TX", "90210", None), "invalid"),
        (("PR", "00901"), "unsupported"),
        (("NJ", "07030", DAY), "ok"),
        (("TX", None), None),
    ],
)
def test_status_is_one_word_to_branch_on(cells, word, desk):
    assert shown(desk, "SVC_STATUS", *cells) == word


BY_ITSELF = {
    "rate_too_high": {"rate": {"combined_rate": "0.20001", "city_rate": "0.12751"}},
    "parts_do_not_add_up": {"rate": {"country_rate": None, "city_rate": "0.02000"}},
    "confidence_unknown": {"confidence": "certain"},
    "low_confidence": {"confidence": "low"},
    "several_rates": {
        "warnings": [
            {
                "code": "zip_spans_jurisdictions",
                "lowest_combined_rate": "0.06250",
                "highest_combined_rate": "0.08250",
            }
        ]
    },
    "effective_after_sale": {
        "effective_date": "2026-07-02",
        "effective_date_basis": "publisher_effective_date",
    },
    "uncoded_warning": {"warnings": [{"text": "careful"}]},
}
"""Responses that require review for a reason that is not one of their warnings."""


@pytest.mark.parametrize("reason", [one for one in codes_of("review") if one not in STATUSES])
def test_every_reason_to_review_makes_the_status_review(scripted_desk, faults, reason):
    faults.will(echoing(**BY_ITSELF.get(reason, {"warnings": [{"code": reason}]})))
    place = ("TX", "75001", DAY)
    shows = [
        shown(scripted_desk, "SVC_FIELD", name, *place)
        for name in ("lookup_review_reason", "needs_review", "lookup_status")
    ]
    assert shows == [reason, True, "ok"]
    assert shown(scripted_desk, "SVC_STATUS", *place) == "review"
    assert shown(scripted_desk, "SVC_WARNINGS", *place)


@pytest.mark.parametrize(
    ("answer", "word", "review"),
    [
        ({}, "ok", False),
        ({"warnings": [{"code": "address_districts_not_covered"}]}, "ok", False),
        # most publishers give no date: that alone is no reason
        ({"effective_date_basis": "edition_only", "confidence": "medium"}, "ok", False),
        # a rate that lacks a part is no rate yet, whatever else is to be reviewed
        ({"warnings": ["districts_not_covered", "as_of_after_edition"]}, "partial", True),
    ],
)
def test_status_is_ok_only_where_nothing_requires_review(
    scripted_desk, faults, answer, word, review
):
    faults.will(echoing(**answer))
    assert shown(scripted_desk, "SVC_STATUS", "TX", "75001", DAY) == word
    needs = shown(scripted_desk, "SVC_FIELD", "needs_review", "TX", "75001", DAY)
    assert needs is review


@pytest.mark.parametrize("day", ["1990-01-01", "2050-01-01"])
def test_a_day_outside_coverage_is_not_fine(desk, day):
    for place in (("CA", "94105"), ("TX", "78701"), ("NY", "10001"), ("MA", "02134")):
        assert shown(desk, "SVC_STATUS", *place, day) == "review"
        assert shown(desk, "SVC_LOOKUP", [[*place, day]], "needs_review") == [[True]]


def test_a_service_that_does_not_respond_is_an_error(scripted, faults):
    desk = desk_of(scripted, patience=0.1)
    faults.will(answer(503, b"busy"))
    assert shown(desk, "SVC_RATE", "TX", "75001", DAY).startswith("#FAILED ")
    assert shown(desk, "SVC_STATUS", "TX", "75001", DAY) == "failed"
    faults.will(HANG)
    assert shown(desk, "SVC_STATUS", "TX", "75002", DAY) in {"failed", "not_attempted"}


def test_the_four_ways_to_name_a_place_have_their_own_requests(faults, scripted_desk):
    for name, cells, asked in [
        ("SVC_RATE", ("TX", "78701"), "zip=78701"),
        ("SVC_RATE_ADDRESS", ("TX", "1100 Congress Ave", "Austin", 78701.0), "street=1100"),
        ("SVC_RATE_PLACE", ("TX", "Austin"), "location=Austin"),
        ("SVC_RATE_GEO", ("TX", 30.2672, -97.7431), "lat=30.2672"),
    ]:
        assert shown(scripted_desk, name, *cells) == 0.0825
        assert asked in faults.seen[-1].target


def test_warnings_are_sentences_and_empty_where_there_is_nothing_to_know(faults, scripted_desk):
    assert shown(scripted_desk, "SVC_WARNINGS", "TX", "75001", DAY) is None
    doubt = {
        "code": "zip_spans_jurisdictions",
        "lowest_combined_rate": "0.06250",
        "highest_combined_rate": "0.08250",
    }
    faults.will(echoing(warnings=["source_conflict", "something_new", "source_conflict", doubt]))
    spans, conflict, new = shown(scripted_desk, "SVC_WARNINGS", "TX", "75002", DAY).split(". ")
    assert spans.endswith(": 6.25% to 8.25%")
    assert "disagree" in conflict
    assert new == "Something_new."


def test_a_share_of_housing_is_a_fraction_and_decides_as_the_environment_says(
    faults, scripted_desk, monkeypatch
):
    spans = {"code": "zip_spans_jurisdictions", "message": "several", "share": "0.9300"}
    ends = {"lowest_combined_rate": "0.06250", "highest_combined_rate": "0.08250"}
    faults.will(echoing(warnings=[spans | ends], confidence="medium"))
    place = ("TX", "78701", DAY)
    assert shown(scripted_desk, "SVC_FIELD", "lookup_share", *place) == 0.93
    assert shown(scripted_desk, "SVC_FIELD", "needs_review", *place) is False
    assert shown(scripted_desk, "SVC_STATUS", *place) == "ok"
    monkeypatch.setenv("SVC_REVIEW_BELOW", "0.98")
    assert shown(scripted_desk, "SVC_FIELD", "needs_review", *place) is True
    assert shown(scripted_desk, "SVC_STATUS", *place) == "review"
    assert "93.00% of the ZIP's housing" in shown(scripted_desk, "SVC_WARNINGS", *place)
    fields = dict(row[:2] for row in shown(scripted_desk, "SVC_FIELDS"))
    assert fields["lookup_share"] == "fraction: 0.93 is 93%"


def test_source_and_time_of_one_cell_and_of_the_session(faults, scripted, scripted_desk):
    assert shown(scripted_desk, "SVC_SOURCE") == faults.base_url
    assert shown(scripted_desk, "SVC_ASOF") is None
    assert shown(scripted_desk, "SVC_STATUS", "TX", "75001", DAY) == "ok"
    at = shown(scripted_desk, "SVC_ASOF", "TX", "75001", DAY)
    assert at == shown(scripted_desk, "SVC_ASOF")
    assert at[10] == "T"
    assert at[-1] == "Z"
    faults.will(echoing(source="State list", edition="2026Q2"))
    told = shown(scripted_desk, "SVC_SOURCE", "TX", "75002", DAY)
    assert told == f"{faults.base_url}: State list, edition 2026Q2"
    assert shown(scripted_desk, "SVC_ASOF", "TX").startswith("#INVALID Give state and zip")
    assert shown(scripted_desk, "SVC_ASOF", "TX", "bad").startswith("#INVALID zip: ")


def test_a_key_is_in_no_cell(faults, scripted_desk):
    faults.will(answer(401, json.dumps({"error": {"code": "X", "message": KEY}}).encode()))
    for name in ("SVC_RATE", "SVC_WARNINGS", "SVC_SOURCE"):
        assert KEY not in str(shown(scripted_desk, name, "TX", "75001", DAY))
    assert KEY not in str(shown(scripted_desk, "SVC_NEXUS"))


NEXUS = {
    "nexus": [
        {"state": "TX", "nexus_type": "economic", "registered_at": "2024-01-01"},
        {"state": "TX", "nexus_type": "physical", "address": "1 Elm St", "notes": "depot"},
        {"state": "CA", "nexus_type": "marketplace"},
    ],
    "count": 3,
}


@pytest.fixture
def registered(faults, scripted):
    faults.will(answer(body=json.dumps(NEXUS).encode()))
    return desk_of(scripted)


def test_the_register_is_listed_once_under_its_headings(faults, registered):
    rows = shown(registered, "SVC_NEXUS")
    assert rows == [
        ["state", "nexus_type", "registered_at", "address", "notes"],
        ["TX", "economic", "2024-01-01", None, None],
        ["TX", "physical", None, "1 Elm St", "depot"],
        ["CA", "marketplace", None, None, None],
    ]
    assert shown(registered, "SVC_NEXUS", "Texas") == rows[:3]
    assert shown(registered, "SVC_NEXUS", "NY") == rows[:1]
    assert len(faults.seen) == 1


def test_a_status_of_nexus_is_that_of_the_state_and_the_type(faults, registered):
    states = [["TX"], ["ca"], ["NY"], [None], ["XX"], ["PR"], [ErrorCell("#N/A")]]
    cells = [one for (one,) in shown(registered, "SVC_NEXUS_STATUS", states)]
    assert cells[:4] == ["registered", "registered", "not registered", None]
    words = [one.partition(" ")[0] for one in cells[4:]]
    assert words == ["#INVALID", "#UNSUPPORTED", "#N/A"]
    assert shown(registered, "SVC_NEXUS_STATUS", "TX", "Physical") == "registered"
    assert shown(registered, "SVC_NEXUS_STATUS", "CA", "physical") == "not registered"
    assert len(faults.seen) == 1


@pytest.mark.parametrize(
    ("name", "cells", "argument"),
    [
        ("SVC_NEXUS", (None,), "state"),
        ("SVC_NEXUS", ([["TX"], ["CA"]],), "state"),
        ("SVC_NEXUS", ("XX",), "state"),
        ("SVC_NEXUS", (48.0,), "state"),
        ("SVC_NEXUS_STATUS", ("TX", None), "type"),
        ("SVC_NEXUS_STATUS", ("TX", "click"), "type"),
    ],
)
def test_what_would_be_read_as_all_of_them_is_refused(name, cells, argument, registered):
    assert shown(registered, name, *cells).startswith(f"#INVALID {argument}")


@pytest.mark.parametrize(
    ("heads", "cells", "sent"),
    [
        (("state", "Location"), ("TX", "Austin"), "location=Austin"),
        (("state", "Location", "Place"), ("TX", "Dallas", "Austin"), "location=Austin"),
        (("state", "Location", "ZIP"), ("TX", "Dallas", "78701"), "zip=78701"),
        (("state", "ZIP", "lat", "lng"), ("TX", "78701", 30.2672, -97.7431), "zip=78701"),
        (
            ("state", "ZIP", "lat", "lng"),
            ("TX", None, 30.2672, -97.7431),
            "lat=30.2672&lng=-97.7431",
        ),
    ],
)
def test_a_table_is_looked_up_by_the_headings_that_count(faults, scripted_desk, heads, cells, sent):
    shown(scripted_desk, "SVC_LOOKUP", [heads, cells], "combined_rate", True)  # noqa: FBT003
    assert [seen.target.partition("?")[2] for seen in faults.seen] == [sent]


def test_a_register_that_cannot_be_listed_is_an_error_and_no_status(faults, scripted_desk):
    faults.health = ALIVE
    faults.will(answer(404, b'{"error": {"code": "NOT_FOUND", "message": "none"}}'))
    cell = shown(scripted_desk, "SVC_NEXUS_STATUS", "TX")
    assert cell.startswith("#UNSUPPORTED ")
    assert shown(scripted_desk, "SVC_NEXUS") == cell
    assert len(faults.seen) == 2  # with a health check; it is valid for a minute


def test_a_register_at_a_wrong_address_names_the_address(faults, scripted_desk):
    faults.will(answer(404, b"{}"))
    cell = shown(scripted_desk, "SVC_NEXUS_STATUS", "TX")
    assert cell.startswith("#FAILED The address of the service is wrong")


def test_refresh_lists_the_register_again_and_keeps_it_where_that_fails(faults, registered):
    before = shown(registered, "SVC_NEXUS")
    faults.will(answer(503, b"busy"))
    assert "503" in registered.refresh(()).register
    assert shown(registered, "SVC_NEXUS") == before
    faults.will(LISTED)
    assert registered.refresh_register() is None
    assert shown(registered, "SVC_NEXUS") == before[:1]


def test_an_unforeseen_error_in_a_formula_is_a_sentence(scripted_desk, monkeypatch, caplog):
    def breaks(*_):
        raise ZeroDivisionError(KEY)

    monkeypatch.setattr("svc_tools.excel.functions.COMPUTED", {"SVC_RATE": breaks})
    told = shown(scripted_desk, "SVC_RATE", "TX", "75001", DAY)
    assert told == "#FAILED SVC_RATE could not be computed (ZeroDivisionError)."
    assert KEY not in caplog.text
    assert "SVC_RATE could not be computed: ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_each_function_gives_a_value(name, desk):
    for cell in cells_of(shown(desk, name, *EXAMPLES[name])):
        assert not str(cell).startswith("#"), cell


def test_no_formula_writes(faults, scripted_desk):
    listed = answer(body=json.dumps(NEXUS).encode())
    faults.will(lambda seen: listed if "nexus" in seen.target else echoing()(seen))
    for name, given in EXAMPLES.items():
        shown(scripted_desk, name, *given)
    assert {one.method for one in faults.seen} == {"GET"}
    assert {one.target.split("/")[2].partition("?")[0] for one in faults.seen} == {
        "tax",
        "portability",
    }


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


def test_fields_are_listed_with_form_and_meaning(desk):
    heads, *rows = shown(desk, "SVC_FIELDS")
    assert heads == ["field", "form", "meaning"]
    assert [row[0] for row in rows] == list(LOOKUP_COLUMNS)
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


def test_a_row_without_a_result_still_has_its_status(desk):
    fields = "combined_rate, lookup_status, needs_review, lookup_error"
    rows = [["TX", "99999", DAY], ["TX", None, DAY], ["CA", "94105", None], ["TX", "#N/A", DAY]]
    unknown, empty, undated, error = shown(desk, "SVC_LOOKUP", rows, fields)
    assert unknown[0].startswith("#UNRESOLVED ")
    assert unknown[1:3] == ["unresolved", True]
    assert "99999" in unknown[3]
    assert empty == [None] * 4
    assert undated[0].startswith("#INVALID as_of")
    assert undated[1:3] == ["invalid", True]
    assert all(cell.startswith("#N/A zip") for cell in error)


def test_a_part_that_a_result_lacks_is_marked_and_one_that_is_whole_is_shown(desk):
    fields = [["state_rate", "county_rate", "combined_district_rate", "combined_rate"]]
    louisiana, idaho = shown(desk, "SVC_LOOKUP", [["LA", "70601"], ["ID", "83672"]], fields)
    assert louisiana == [0.05, "#PARTIAL", "#PARTIAL", "#PARTIAL"]
    assert idaho == [0.06, 0.0, "#PARTIAL", "#PARTIAL"]


@pytest.mark.parametrize(("rate", "cell"), [("0.01500", 0.015), ("0.00000", "#PARTIAL")])
def test_a_city_rate_that_is_known_is_shown_where_districts_are_not(
    faults, scripted_desk, rate, cell
):
    fields = [["city_rate", "combined_district_rate"]]
    faults.will(echoing(rate={"city_rate": rate}, warnings=[{"code": "districts_not_covered"}]))
    found = shown(scripted_desk, "SVC_LOOKUP", [["TX", "75001", DAY]], fields)
    assert found == [[cell, "#PARTIAL"]]


def test_a_part_that_the_response_lacks_is_an_error_and_an_optional_one_is_empty(
    faults, scripted_desk
):
    faults.will(echoing(rate={"county_rate": None}))
    cells = [
        shown(scripted_desk, "SVC_FIELD", name, "TX", "75001", DAY)
        for name in ("county_rate", "rate_low", "effective_date")
    ]
    assert cells == ["#N/A The response has no county_rate.", None, None]


@pytest.mark.parametrize(
    ("name", "shows"),
    [
        ("county rat", "#INVALID .*county_rate"),
        ("xyz", "#INVALID .*SVC_FIELDS"),
        (None, "#INVALID field"),
        (3.0, "#INVALID field"),
        ("#REF!", "#REF! field"),
    ],
)
def test_an_unknown_field_names_the_nearest(name, shows, scripted_desk):
    assert re.match(shows, shown(scripted_desk, "SVC_FIELD", name, "TX", "75001", DAY))


@pytest.mark.parametrize(
    "fields",
    [
        "lookup_status,combined_rate",
        "lookup_status; Combined Rate;",
        [["lookup_status"], [None], [" COMBINED-RATE "]],
    ],
)
@pytest.mark.parametrize(
    ("headers", "is_on"),
    [
        *((one, True) for one in (True, 1.0, "true")),
        *((one, False) for one in (OMITTED, None, False, 0.0, "FALSE", [[None]])),
    ],
)
def test_fields_are_named_in_one_text_or_in_a_range(fields, headers, is_on, scripted_desk):
    rows = shown(scripted_desk, "SVC_LOOKUP", [["TX", "75001"]], fields, headers)
    assert rows == [["lookup_status", "combined_rate"]] * is_on + [["ok", 0.0825]]


ORDERS = [
    ["Order no", "Order date", "Customer", "Ship to Address 1", "Ship to City", "Ship to State",
     "Ship to ZIP", "Amount"],
    ["1001", "02/15/2026", "Ada", "1 Elm St", "Dallas", "TX", "75001", 46100.0],
    ["1002", 46174.0, "Bob", None, None, "Texas", 75002.0, 12.5],
    [None] * 8,
]  # fmt: skip


def test_a_table_is_read_by_its_headings_and_other_columns_do_not_matter(faults, scripted_desk):
    rows = shown(scripted_desk, "SVC_LOOKUP", ORDERS, "lookup_as_of, combined_rate", True)  # noqa: FBT003 - a cell
    heads, first, second, empty = rows
    assert heads == ["lookup_as_of", "combined_rate"]
    assert (first, second) == (["2026-02-15", 0.0825], ["2026-06-01", 0.0825])
    assert empty == [None, None]
    by_address, by_zip = sorted(one.target for one in faults.seen)
    assert "street=1" in by_address
    assert "zip=75002" in by_zip
    assert all("as_of=2026-0" in one.target for one in faults.seen)


@pytest.mark.parametrize(
    ("heads", "named"),
    [
        (["State", "Zip", "Postal code", "Date"], ["'Zip'", "'Postal code'"]),
        (["State", "Zip", "zip", "Date"], ["'Zip'", "'zip'"]),
        (["State", "Zip", "Order date", "Invoice date"], ["'Order date'", "'Invoice date'"]),
        (["State", "Zip", "Order date", "Due date"], ["'Order date'", "'Due date'"]),
        (["State", "Zip", "Total", "Ship date"], ["'Ship date'"]),
        (["State", "Zip", "Total", "Last seen"], ["'Last seen'"]),  # it holds days
        (["State", "Ship to ZIP", "Bill to ZIP", "Date"], ["'State'", "'Bill to ZIP'"]),
        (["Region", "Code", "Total", "Date"], ["Region", "Code", "Total"]),  # no place
    ],
)
def test_columns_that_are_not_clear_are_named(heads, named, faults, scripted_desk):
    given = [heads, ["TX", "75001", 12.5, DAY]]
    told = shown(scripted_desk, "SVC_LOOKUP", given)
    assert told.startswith("#INVALID range: ")
    assert all(one in told for one in named), told
    assert faults.seen == []


def test_a_country_abroad_gets_no_rate_and_a_doubtful_one_is_named(faults, scripted_desk):
    heads = ["State", "Zip", "Country/Region"]
    given = [heads, ["TX", "75001", "United States"], ["", "10115", "Germany"]]
    rows = shown(scripted_desk, "SVC_LOOKUP", given, "combined_rate")
    assert rows[1][0].startswith("#UNSUPPORTED")
    assert [seen.target for seen in faults.seen] == ["/v1/tax/TX?zip=75001"]
    told = shown(scripted_desk, "SVC_LOOKUP", [heads, ["TX", "75001", "China"]])
    assert told.startswith("#INVALID range: column 'Country/Region' has another country beside")


@pytest.mark.parametrize(("region", "state"), [("TX", "TX"), ("Midwest", "OH")])
def test_a_region_is_the_state_where_its_cells_are_states(region, state, faults, scripted_desk):
    shown(scripted_desk, "SVC_LOOKUP", [["Region", "Zip"], [region, "43215"]], "combined_rate")
    assert [seen.target for seen in faults.seen] == [f"/v1/tax/{state}?zip=43215"]


@pytest.mark.parametrize(
    "days",
    [[46054.0, DAY, "n/a"], [46054.0, 46060.0, ErrorCell("#N/A")], [46054.0, 46060.0, 0.0]],
)
def test_days_under_another_heading_are_noticed_among_other_cells(days, faults, scripted_desk):
    given = [["State", "Zip", "Last seen"], *(["TX", "75001", one] for one in days)]
    told = shown(scripted_desk, "SVC_LOOKUP", given)
    assert told.startswith("#INVALID range: ")  # else the rates would be those of today
    assert "'Last seen'" in told
    assert faults.seen == []


def test_the_columns_of_a_shops_export_are_known(faults, scripted_desk):
    heads = [
        "Name",
        "Financial Status",
        "Paid at",
        "Created at",
        "Subtotal",
        "Shipping",
        "Taxes",
        "Total",
        "Currency",
    ]
    heads += ["Lineitem quantity", "Lineitem price", "Lineitem name", "Billing Zip"]
    heads += ["Billing Province", "Shipping Zip", "Shipping Province", "Shipping Country"]
    row = [
        "#1001",
        "paid",
        "2026-05-02 10:00:00 -0400",
        "2026-05-01 23:30:00 -0400",
        10.0,
        0.0,
        0.83,
    ]
    row += [10.83, "USD", 1.0, 10.0, "Pen", "10001", "NY", "'75001", "TX", "US"]
    rows = shown(scripted_desk, "SVC_LOOKUP", [heads, row], "lookup_as_of, lookup_status")
    assert rows == [["2026-05-01", "ok"]]
    assert "zip=75001" in faults.seen[0].target


@pytest.mark.parametrize("first", [["Nowhere", "1"], ["n/a", "n/a"], [None, None], ["TX", "bad"]])
def test_a_first_row_of_data_is_not_taken_for_headings(first, scripted_desk):
    rows = shown(scripted_desk, "SVC_LOOKUP", [first, ["TX", "75001"]], "combined_rate")
    assert len(rows) == 2
    assert rows[1] == [0.0825]


@pytest.mark.parametrize(
    ("fields", "headers", "shows"),
    [
        ("nothing", OMITTED, '#INVALID There is no field "nothing"'),
        (5.0, OMITTED, "#INVALID fields: "),
        ("#N/A", OMITTED, "#N/A fields: "),
        (OMITTED, "maybe", "#INVALID headers: "),
        (OMITTED, [[True, True]], "#INVALID headers: "),
        (OMITTED, 2.0, "#INVALID headers: "),
    ],
)
def test_options_that_cannot_be_meant_are_refused(fields, headers, shows, scripted_desk):
    rows = shown(scripted_desk, "SVC_LOOKUP", [["TX", "75001"]], fields, headers)
    assert rows.startswith(shows)
