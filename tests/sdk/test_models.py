"""The models: frozen, tolerant, and rates that convert without loss (SPEC 2)."""

from __future__ import annotations

from decimal import Decimal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_sdk import (
    Advisory,
    NexusRecord,
    Rate,
    TaxResponse,
    rate_to_decimal,
    rate_to_float,
    rate_to_units,
    units_to_rate,
)


def test_unknown_fields_are_kept_at_every_level():
    raw = {
        "rate": {"combined_rate": "0.08250", "school_district": "Eanes ISD"},
        "meta": {"confidence": "high", "warnings": ["plain", {"code": "x", "edition_end": "now"}]},
        "candidates": [{"combined_rate": "0.08250"}],
    }
    answered = TaxResponse.model_validate(raw)
    dumped = answered.model_dump()
    assert dumped["rate"]["school_district"] == "Eanes ISD"
    assert dumped["candidates"] == raw["candidates"]
    assert dumped["meta"]["warnings"][1]["edition_end"] == "now"
    plain, advisory = answered.warnings
    assert plain == "plain"
    assert isinstance(advisory, Advisory)
    assert (advisory.code, advisory.edition_end) == ("x", "now")


def test_a_mismatch_names_both_places():
    advisory = Advisory.model_validate(
        {
            "code": "place_input_mismatch",
            "customer_input_place": "Dallas",
            "resolved_place_name": "Austin",
        }
    )
    assert (advisory.customer_input_place, advisory.resolved_place_name) == ("Dallas", "Austin")


def test_answers_are_frozen():
    answered = TaxResponse(rate=Rate(combined_rate="0.08250"))
    with pytest.raises(pydantic.ValidationError):
        answered.rate.combined_rate = "0.00000"
    with pytest.raises(pydantic.ValidationError):
        answered.rate = Rate()


def test_codes_that_come_as_numbers_are_text():
    assert Rate.model_validate({"zip": 78701}).zip == "78701"


@pytest.mark.parametrize("value", [True, False, None, "partly"])
def test_freight_is_what_the_service_said(value):
    assert Rate.model_validate({"freight_taxable": value}).freight_taxable is value


def test_a_rate_given_as_a_float_in_python_keeps_its_shortest_digits():
    assert Rate(combined_rate=0.08625).combined_rate == "0.08625"


def test_a_nexus_record_keeps_what_the_service_adds():
    record = NexusRecord.model_validate({"state": "TX", "nexus_type": "economic", "id": 7})
    assert record.model_dump()["id"] == 7


@given(st.integers(-(10**12), 10**12))
def test_units_and_strings_are_two_forms_of_one_number(units):
    text = units_to_rate(units)
    assert rate_to_units(text) == units
    assert rate_to_decimal(text) == Decimal(units).scaleb(-5)
    assert len(text.partition(".")[2]) == 5


@given(st.from_regex(r"\A[0-9]{1,4}\.[0-9]{5}\Z"))
def test_any_five_decimal_string_survives_every_round_trip(text):
    canonical = f"{int(text.partition('.')[0])}.{text.partition('.')[2]}"
    assert units_to_rate(rate_to_units(text)) == canonical
    assert str(rate_to_decimal(text)) == canonical
    assert rate_to_float(text) == float(text)
    assert Rate(combined_rate=text).combined_rate == text
    assert (
        Rate.model_validate_json(Rate(combined_rate=text).model_dump_json()).combined_rate == text
    )


def test_missing_stays_missing_in_every_form():
    assert rate_to_float(None) is None
    assert rate_to_decimal(None) is None
    assert rate_to_units(None) is None
    assert units_to_rate(None) is None


@pytest.mark.parametrize(
    "text", ["", "x", "8.25%", " 0.1", "1e-2", "NaN", "0x1", "\u0660.\u0661", "1_0", ".5"]
)
def test_what_is_no_rate_is_refused(text):
    for convert in (rate_to_float, rate_to_decimal, rate_to_units):
        with pytest.raises(ValueError, match="rate"):
            convert(text)


@pytest.mark.parametrize("value", [0.0825, 1, True, b"0.1"])
def test_a_type_that_may_have_lost_digits_is_refused(value):
    for convert in (rate_to_float, rate_to_decimal, rate_to_units):
        with pytest.raises(TypeError, match="rate"):
            convert(value)


def test_a_sixth_decimal_is_refused_never_rounded():
    with pytest.raises(ValueError, match=r"0\.082505"):
        rate_to_units("0.082505")
    assert rate_to_units("0.0825000") == 8250
    assert rate_to_units("0.08") == 8000
    assert rate_to_units(Decimal("1E-5")) == 1
    with pytest.raises(ValueError, match="finite"):
        rate_to_units(Decimal("Infinity"))


@pytest.mark.parametrize("units", [1.0, "1", True])
def test_units_are_whole_numbers(units):
    with pytest.raises(TypeError, match="units"):
        units_to_rate(units)
