"""ZIPs as spreadsheets and databases write them; places as keys."""

from __future__ import annotations

import ast
import contextlib
import copy
import datetime as dt
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import svc_tools
from svc_tools.tables.places import Place, first_day
from svc_tools.tables.states import (
    STATES,
    Elsewhere,
    normal_zip,
    state_code,
    states_of_zip,
    us_state,
)


@pytest.mark.parametrize(
    ("zip_code", "state", "cells"),
    [
        ("78701", "TX", ["78701"]),
        ("94105", "CA", [94105.0, 94105, "94105.0", "94105.00", "94105-0000", "94105-"]),
        ("02134", "MA", ["2134", 2134, 2134.0, " 02134 ", "'02134"]),
        ("00501", "NY", ["501"]),
        ("94105-1804", "CA", ["94105-1804", "941051804", 941051804, "94105 1804"]),
        ("94105-1804", "CA", ["94105\N{EN DASH}1804"]),
        ("02134-1804", "MA", ["21341804", "2134-1804"]),
        ("06390", "NY", ["06390"]),
    ],
)
def test_a_mangled_zip_is_understood(zip_code, state, cells):
    assert {normal_zip(cell, state) for cell in cells} == {zip_code}


NO_ZIPS = ["941050", "9410A", "94105-18", "94", "", 94105.5, float("inf"), -94105, "x" * 5000]


@pytest.mark.parametrize(
    ("cell", "state", "reason"),
    [
        ("2134", "CA", "02134.*lies in MA, not in CA"),
        ("2134", None, "no state is given"),
        ("1910", "PA", "01910"),
        ("9410", "CA", "09410"),
        ("see notes", "CA", "see notes"),
        *((cell, "CA", "not a ZIP") for cell in [*NO_ZIPS, "٩٤١٠٥"]),
    ],
)
def test_what_cannot_be_a_zip_is_refused_with_the_reason(cell, state, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        normal_zip(cell, state)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("cell", "state", "said"),
    [
        ("K1A 0B1", None, "Canadian"),
        ("k1a0b1", "NY", "Canadian"),
        ("09021", None, "military"),
        ("96338", "NY", "military"),
        ("34002", None, "military"),
        ("00901", None, "territory"),
        ("96910", None, "territory"),
    ],
)
def test_a_zip_elsewhere_says_where(cell, state, said):
    found = normal_zip(cell, state)
    assert isinstance(found, Elsewhere)
    assert said in found.reason


@pytest.fixture(scope="module")
def published():
    """Every ZIP of the `zipcodes` package with its state."""
    zipcodes = pytest.importorskip("zipcodes")
    return {entry["zip_code"]: entry["state"] for entry in zipcodes.list_all()}


def test_every_published_zip_lies_in_its_state(published):
    assert len(published) > 42_000
    assert [z for z, state in published.items() if state not in states_of_zip(z)] == []
    one = {z: states_of_zip(z) for z in published if len(states_of_zip(z)) == 1}
    assert {z: states for z, states in one.items() if states != {published[z]}} == {}
    assert states_of_zip("78701-1234") == {"TX"}
    assert states_of_zip("06390") == {"NY"}  # the rest of 063 is Connecticut
    assert states_of_zip("42223") == {"KY", "TN"}
    assert states_of_zip("00000") == set()


@given(st.integers(0, 99_999), st.sampled_from(sorted(STATES)))
def test_a_lost_zero_comes_back_only_where_the_state_confirms_it(number, state):
    assume(number < 10_000)
    padded = f"{number:05d}"
    try:
        found = normal_zip(number, state)
    except ValueError:
        assert state not in states_of_zip(padded) or number < 100
    else:
        assert found == padded
        assert state in states_of_zip(padded)


@given(st.integers(10_000, 99_999), st.integers(1, 9_999))
def test_every_spelling_of_a_zip_is_the_same_zip(zip5, extra):
    plain = normal_zip(str(zip5), None)
    assume(isinstance(plain, str))
    assert normal_zip(float(zip5), None) == plain
    assert normal_zip(f" {zip5} ", None) == plain
    long = f"{zip5}-{extra:04d}"
    assert normal_zip(long, None) == long
    assert normal_zip(int(f"{zip5}{extra:04d}"), None) == long
    assert normal_zip(normal_zip(long, None), None) == long


@given(st.text(max_size=30), st.sampled_from([None, *sorted(STATES)]))
def test_any_text_is_a_zip_or_elsewhere_or_refused(text, state):
    with contextlib.suppress(ValueError):
        found = normal_zip(text, state)
        assert isinstance(found, Elsewhere) or (len(found) in {5, 10} and found[:5].isdecimal())


@given(st.dates())
def test_the_first_day_of_a_period_lies_in_it_and_not_after_the_day(day):
    assert first_day(day, "day") == day
    month, quarter = first_day(day, "month"), first_day(day, "quarter")
    assert quarter <= month <= day
    assert (month.year, month.month, month.day) == (day.year, day.month, 1)
    assert quarter.month in {1, 4, 7, 10}
    assert (day.month - 1) // 3 == (quarter.month - 1) // 3


_PLACES = st.builds(
    Place,
    st.sampled_from(["TX", "CA"]),
    st.sampled_from(["zip", "place"]),
    zip=st.none() | st.sampled_from(["78701", "94105"]),
    location=st.none() | st.sampled_from(["Austin", "78701"]),
    as_of=st.none() | st.sampled_from([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
)


@given(_PLACES, _PLACES)
def test_equal_places_and_only_those_are_one_key(one, other):
    fields = [(p.state, p.mode, p.zip, p.location, p.as_of) for p in (one, other)]
    assert (one == other) == (fields[0] == fields[1])
    assert len({one, other}) == (1 if one == other else 2)
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert {one: 1}[copied] == 1


def test_a_place_from_another_process_is_the_same_key_here():
    place = Place("TX", "zip", zip="78701")
    hash(place)
    code = (
        "import pickle, sys; from svc_tools.tables.places import Place;"
        " p = Place('TX', 'zip', zip='78701'); hash(p);"
        " sys.stdout.buffer.write(pickle.dumps(p))"
    )
    sent = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert {place: 1}[pickle.loads(sent)] == 1


@pytest.mark.parametrize(
    ("given", "code"),
    [
        *((spelling, "TX") for spelling in ("TX", "tx", "Texas", " Tex. ", "US-TX", "Texas (TX)")),
        *((other, None) for other in ("PR", "Ontario", "AE", "ZZ", "", "-", "nan")),
        *((other, None) for other in (None, 5, float("nan"), True, dt.date(2026, 5, 1), ["TX"])),
    ],
)
def test_one_function_says_whether_something_names_a_state(given, code):
    assert us_state(given) == code
    if not isinstance(given, str):
        assert state_code(given) is None


def test_a_state_for_all_rows_that_is_none_is_said_to_be_outside():
    sales = pd.DataFrame({"date": ["2026-01-05"], "amount": ["5.00"]})
    with pytest.raises(ValueError, match=r"outside of the 50 states and DC: 1 row.*'PR'"):
        svc_tools.svc(sales).exposure(state="PR", progress=False)


APART = {
    "tables/states.py": "it is the one place",
    "nexus/measured_sales.py": "totals have the exact codes: 'Texas' is a fault there",
}
ELSEWHERE = {
    "cli/lookup.py": "a ZIP of elsewhere is refused with its reason",
    "excel/functions.py": "a cell gets the reason of the place, and an error of its own",
    "frames/sales/exposure.py": "rows outside of the states are counted apart",
    "frames/taxes/tax.py": "a sale shipped from elsewhere is from no state of the destination",
}
"""Who may ask whether something is outside of the states, and why."""
PLACES = {"tables/places.py", "tables/states.py", "tables/country_codes.py"}


def test_nobody_else_decides_what_a_state_is():
    source = Path(svc_tools.__file__).parent
    found, elsewhere = {}, {}
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if name.startswith("service/"):  # it is behind its wall, and has its own table of codes
            continue
        text = path.read_text(encoding="utf-8")
        if not re.search("STATES|state_code|Elsewhere", text):
            continue
        tree = ast.parse(text)
        if lines := [*decisions(tree)]:
            found[name] = lines
        if name not in PLACES and (lines := [*asked_of_elsewhere(tree)]):
            elsewhere[name] = lines
    assert {name: lines for name, lines in found.items() if name not in APART} == {}
    assert found.keys() == APART.keys()
    assert {name: lines for name, lines in elsewhere.items() if name not in ELSEWHERE} == {}
    assert {name: len(lines) for name, lines in elsewhere.items()} == dict.fromkeys(ELSEWHERE, 1)


def asked_of_elsewhere(tree):
    """Where a module asks whether something is `Elsewhere`."""
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and ast.unparse(node.func)
        tested = ast.unparse(node) if called == "isinstance" else ""
        matched = ast.unparse(node.cls) if isinstance(node, ast.MatchClass) else ""
        if re.match(r"isinstance\(.*\bElsewhere\b", tested) or matched == "Elsewhere":
            yield node.lineno if isinstance(node, ast.Call) else node.cls.lineno


def decisions(tree):
    """Where a module compares with the table of states, or asks of what `state_code` gave."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"set", "frozenset"}:
            compared = node.args
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            compared = node.comparators
        else:
            compared = []
        if any(ast.unparse(one) in {"STATES", "STATES.keys()"} for one in compared):
            yield node.lineno
        if isinstance(node, ast.FunctionDef):
            body = [*ast.walk(node)]
            read = {
                target.id
                for one in body
                if isinstance(one, ast.Assign) and "state_code(" in ast.unparse(one.value)
                for target in one.targets
                if isinstance(target, ast.Name)
            }
            asked = {f"isinstance({one}, str)" for one in read}
            calls = (one for one in body if asked and isinstance(one, ast.Call))
            yield from (one.lineno for one in calls if ast.unparse(one) in asked)
            yield from (one.lineno for one in body if guards_state_code(one))


def guards_state_code(node):
    """Whether a value is checked to be text before `state_code`, which does that itself."""
    text = ast.unparse(node) if isinstance(node, ast.IfExp | ast.BoolOp) else ""
    either = (
        r"state_code\((.+)\) if isinstance\(\1, str\)",
        r"isinstance\((.+), str\) and state_code\(\1\)",
    )
    return any(re.match(one, text) for one in either)
