"""ZIPs as spreadsheets mangle them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from svc_tools.places import STATES, Elsewhere, normal_zip, states_of


@pytest.mark.parametrize(
    ("cell", "state", "zip_code"),
    [
        ("78701", "TX", "78701"),
        (94105.0, "CA", "94105"),
        (94105, "CA", "94105"),
        ("94105.0", "CA", "94105"),
        ("94105.00", "CA", "94105"),
        ("2134", "MA", "02134"),
        (2134, "MA", "02134"),
        (2134.0, "MA", "02134"),
        ("501", "NY", "00501"),
        (" 02134 ", "MA", "02134"),
        ("94105-1804", "CA", "94105-1804"),
        ("941051804", "CA", "94105-1804"),
        (941051804, "CA", "94105-1804"),
        ("94105 1804", "CA", "94105-1804"),
        ("94105\N{EN DASH}1804", "CA", "94105-1804"),
        ("21341804", "MA", "02134-1804"),
        ("2134-1804", "MA", "02134-1804"),
        ("94105-0000", "CA", "94105"),
        ("94105-", "CA", "94105"),
        ("'02134", "MA", "02134"),
        ("06390", "NY", "06390"),
    ],
)
def test_a_mangled_zip_is_understood(cell, state, zip_code):
    assert normal_zip(cell, state) == zip_code


@pytest.mark.parametrize(
    ("cell", "state", "said"),
    [
        ("2134", "CA", "02134.*lies in MA, not in CA"),
        ("2134", None, "no state is given"),
        ("1910", "PA", "01910"),
        ("9410", "CA", "09410"),
        ("941050", "CA", "not a ZIP"),
        ("9410A", "CA", "not a ZIP"),
        ("94105-18", "CA", "not a ZIP"),
        ("94", "CA", "not a ZIP"),
        ("", "CA", "not a ZIP"),
        (94105.5, "CA", "not a ZIP"),
        (float("inf"), "CA", "not a ZIP"),
        (-94105, "CA", "not a ZIP"),
        ("see notes", "CA", "see notes"),
        ("x" * 5000, "CA", "not a ZIP"),
        ("٩٤١٠٥", "CA", "not a ZIP"),
    ],
)
def test_what_cannot_be_a_zip_is_refused_with_the_reason(cell, state, said):
    with pytest.raises(ValueError, match=said) as caught:
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


def test_states_of_a_zip():
    assert states_of("78701") == {"TX"}
    assert states_of("78701-1234") == {"TX"}
    assert states_of("06390") == {"NY"}  # the rest of 063 is Connecticut
    assert states_of("42223") == {"KY", "TN"}
    assert states_of("00000") == set()


@pytest.fixture(scope="module")
def published():
    """Every ZIP of the `zipcodes` package with its state."""
    zipcodes = pytest.importorskip("zipcodes")
    return {entry["zip_code"]: entry["state"] for entry in zipcodes.list_all()}


def test_every_published_zip_lies_in_its_state(published):
    assert len(published) > 42_000
    assert [z for z, state in published.items() if state not in states_of(z)] == []


def test_a_zip_that_lies_in_one_state_lies_in_the_published_one(published):
    wrong = [
        z for z, state in published.items() if len(states_of(z)) == 1 and states_of(z) != {state}
    ]
    assert wrong == []


@given(st.integers(0, 99_999), st.sampled_from(sorted(STATES)))
def test_a_lost_zero_comes_back_only_where_the_state_confirms_it(number, state):
    assume(number < 10_000)
    padded = f"{number:05d}"
    try:
        found = normal_zip(number, state)
    except ValueError:
        assert state not in states_of(padded) or number < 100
    else:
        assert found == padded
        assert state in states_of(padded)


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
