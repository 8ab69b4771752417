"""The table of added columns is whole: `Found`, the frame, the spreadsheet and the pages follow it.

Each test prints the lines that are missing.
"""

from __future__ import annotations

import dataclasses
from datetime import date

import pytest
from support.answers import NOW, ok

from svc_sdk import TaxResponse
from svc_tools.excel import results as excel_results
from svc_tools.frames.lookup import joining
from svc_tools.lookup import lock_file
from svc_tools.lookup.cache_store import bodies_of, profile_of, row_of, write_profile
from svc_tools.lookup.columns import COLUMNS, FACTS, LOOKUP_COLUMNS, SHORT_COLUMNS, TAXES
from svc_tools.lookup.outcomes import FIRST_FIELDS, Component, Found, Outcome, of_response
from svc_tools.tables.places import Place

FIRST = [
    *("combined", "state", "county", "city", "districts", "freight_taxable", "confidence"),
    *("warnings", "resolved_via", "effective_date", "effective_date_basis", "resolved_state"),
    *("resolved_zip", "resolved_city", "resolved_county", "source", "edition"),
    *("accepted_places", "low", "high", "components"),
]
"""The fields of `Found` of the first release, in the order of its files."""
TYPES = {"rate": "int", "share": "int", "truth": "bool"}
FIELDS = {field.name: field for field in dataclasses.fields(Found)}


def test_found_has_every_fact_of_the_table():
    lines = [
        f"    {one.fact}: {TYPES.get(one.form, 'str')} | None = None"
        for one in FACTS
        if one.fact not in FIELDS
    ]
    assert not lines, "add to Found in svc_tools/lookup/outcomes.py:\n" + "\n".join(lines)


def test_the_table_has_every_fact_of_found():
    shown = {"accepted_places", *(one.fact for one in FACTS)}
    lines = [
        f'    Column("{name}", "text", "…", "meta.{name}", "{name}"),'
        for name in FIELDS
        if name not in shown
    ]
    assert not lines, "add to COLUMNS in svc_tools/lookup/columns.py:\n" + "\n".join(lines)


def test_the_facts_of_found_have_the_types_of_their_forms():
    own = {"combined", "warnings", "components"}
    typed = {one.fact: f"{TYPES.get(one.form, 'str')} | None" for one in FACTS}
    wrong = [
        f"    {name}: {kind}"
        for name, kind in typed.items()
        if name in FIELDS and name not in own and FIELDS[name].type != kind
    ]
    assert not wrong, "Found in svc_tools/lookup/outcomes.py should say:\n" + "\n".join(wrong)


def test_what_earlier_files_hold_stands_first_in_found():
    """The cache and lock files hold the fields in this order, and what was added behind them."""
    assert list(FIRST_FIELDS) == FIRST
    later = [name for name in FIELDS if name not in FIRST]
    assert list(FIELDS) == [*FIRST, *later], f"move to the end of Found: {', '.join(later)}"
    lacking = [name for name in later if FIELDS[name].default is not None]
    assert not lacking, f"give a default of None: {', '.join(lacking)}"


def test_every_fact_that_a_response_has_is_read_from_it():
    parts = [(one, *one.sent.split(".")) for one in FACTS if "." in one.sent]
    sent = {"rate": {}, "meta": {}}
    for one, part, name in parts:
        sent[part][name] = {"rate": "0.01000", "truth": False}.get(one.form, "a text")
    found = of_response(None, TaxResponse.model_validate(sent)).found
    lines = [
        f"        {one.fact}=…,"
        for one, _, _ in parts
        if one.fact in FIELDS and getattr(found, one.fact) is None
    ]
    assert not lines, "add to _found in svc_tools/lookup/outcomes.py:\n" + "\n".join(lines)


def test_the_frame_and_the_spreadsheet_compute_what_is_no_fact():
    plain = {one.name for one in COLUMNS if one.fact or one.outcome}
    computed = {*LOOKUP_COLUMNS, "lookup_jurisdictions"} - plain
    frame = {*joining._FEW, *joining._OTHERS}
    lines = [f'    "{name}": lambda values: …,' for name in sorted(computed - frame)]
    assert not lines, "add to _FEW or _OTHERS in svc_tools/frames/lookup/joining.py:\n" + "\n".join(
        lines
    )
    cells = computed - {*excel_results._COMPUTED}
    lines = [f'    "{name}": lambda one: …,' for name in sorted(cells)]
    assert not lines, "add to _COMPUTED in svc_tools/excel/results.py:\n" + "\n".join(lines)


def test_a_column_is_of_the_response_or_of_the_outcome_and_a_tax_is_of_neither():
    for one in COLUMNS:
        assert bool(one.sent) == bool(one.fact), one.name
        assert not (one.fact and one.outcome), one.name
        assert not (one.name in TAXES and (one.fact or one.outcome)), one.name
        assert not (one.shared and not one.fact), one.name
        assert one.outcome in {"", *(field.name for field in dataclasses.fields(Outcome))}, one.name
    assert len({one.name for one in COLUMNS}) == len(COLUMNS)


def test_the_ends_of_the_table_stay():
    """By them the columns of a file are told from the user's: put a further one between them."""
    ends = (COLUMNS[0].name, SHORT_COLUMNS[-1], COLUMNS[-1].name)
    assert ends == ("combined_rate", "combined_district_rate", "support_reference")


FULL = ok(
    low=7000,
    high=8250,
    warnings=("zip_spans_jurisdictions",),
    accepted_places=("A", "B"),
    components=(Component("state", "Texas", "48", 6250),),
)
AT = "2026-05-20T17:30:01.234567+00:00"


BODY = '[7,1779298201234567,8250,6250,0,1000,1000,"78701","Austin","Travis",'
FURTHER = {
    "warnings": ["zip_spans_jurisdictions"],
    "accepted_places": ["A", "B"],
    "rate_low": "0.07000",
    "rate_high": "0.08250",
    "components": [{"level": "state", "name": "Texas", "code": "48", "rate": "0.06250"}],
}
MORE = '7000,8250,["A","B"],[["state","Texas","48",6250]],null,null'


@pytest.mark.parametrize(
    ("outcome", "body", "line"),
    [(ok(), f"{BODY}null,null", {}), (FULL, f"{BODY}{MORE}", FURTHER)],
)
def test_what_is_stored_is_what_every_release_has_stored(outcome, body, line):
    """The bytes and names of today's facts; a further fact stands behind them, or is left out."""
    assert bodies_of([row_of(outcome, 7, NOW)])[0].startswith(body.encode())
    warnings = '["zip_spans_jurisdictions"]' if outcome is FULL else "[]"
    assert write_profile(profile_of(outcome)).startswith(
        f'["ok",null,true,"high",{warnings},"zip5","2024-01-01","publisher_effective_date","TX",'
        '"the publisher","2026-04"'
    )
    place = Place("TX", "zip", zip="78701", as_of=date(2024, 5, 1))
    written = lock_file.line_of(place, outcome, detail=False)
    answer = {
        "combined_rate": "0.08250",
        "state_rate": "0.06250",
        "county_rate": "0.00000",
        "city_rate": "0.01000",
        "combined_district_rate": "0.01000",
        "freight_taxable": True,
        "confidence": "high",
        "resolved_via": "zip5",
        "effective_date": "2024-01-01",
        "effective_date_basis": "publisher_effective_date",
        "resolved_state": "TX",
        "resolved_zip": "78701",
        "resolved_city": "Austin",
        "resolved_county": "Travis",
        "source": "the publisher",
        "edition": "2026-04",
    }
    assert (written["status"], written["looked_up_at"]) == ("ok", AT)
    read = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in written["answer"].items()
    }
    assert read == answer | line
