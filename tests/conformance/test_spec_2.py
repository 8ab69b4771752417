"""SPEC section 2: what is in an answer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pandas as pd
import pytest
from conformance.rows import MILWAUKEE, row, rows
from support.faults import KEY

import svc_tools  # noqa: F401 - registers df.svc
from svc_sdk import Svc, ValidationError, rate_to_float
from svc_sdk.models import (
    RATE_FIELDS,
    Advisory,
    Freshness,
    HealthResponse,
    NexusList,
    NexusRecord,
    NexusRemoval,
    StateFreshness,
    TaxResponse,
    ValidationDetail,
)

LEVELS = {"exact", "high", "medium", "low", "none"}


@row("SPEC-2.1-rate")
def test_the_rate(spec, body):
    assert body["rate"]["combined_rate"] == "0.07900"


@row("SPEC-2.1-meta")
def test_the_meta(spec, body):
    assert body["meta"]["resolved_via"] == "place"


@rows(
    {
        "SPEC-2.1-combined_rate": ("combined_rate", 0.079),
        "SPEC-2.1-combined_rate_string": ("combined_rate_string", "0.07900"),
    }
)
def test_accessors_of_the_total(spec, expected, client):
    name, value = expected
    found = getattr(client.lookup("WI", **MILWAUKEE), name)
    assert (found, type(found)) == (value, type(value))


@row("SPEC-2.1-confidence")
def test_the_accessor_of_confidence(spec, client):
    answered = client.lookup("WI", **MILWAUKEE)
    assert answered.confidence == answered.meta.confidence
    assert answered.confidence in LEVELS


@pytest.fixture
def row_of(faults):
    """The row of a lookup in a frame, and of its tax, where the service sends a response."""

    def row_of(response):
        faults.will(response)
        frame = pd.DataFrame({"state": ["TX"], "zip": "78701", "amount": "100", "shipping": "10"})
        with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
            found = frame.svc.lookup(client=client, progress=False)
        taxed = found.svc.tax("amount", shipping="shipping", progress=False)
        return taxed.astype(object).where(taxed.notna(), None).iloc[0]

    return row_of


@row("SPEC-2.1-confidence-review")
def test_a_confidence_that_is_not_known(spec, row_of, changed):
    for level in (None, "", "certain", 0.9):
        found = row_of(changed(confidence=level))
        assert (found["needs_review"], found["lookup_review_reason"]) == (
            True,
            "confidence_unknown",
        )
    assert not row_of(changed(confidence="high"))["needs_review"]


@row("SPEC-2.1-warnings")
def test_the_accessor_of_warnings(spec, client):
    answered = client.lookup("WI", location="Milwaukee", as_of="1990-01-01")
    assert "as_of_before_history" in [warning.code for warning in answered.warnings]


@row("SPEC-2.2-five_decimals")
def test_rates_are_five_decimal_strings_on_the_wire(spec, http):
    text = http.get("/v1/tax/WI", params=MILWAUKEE).text
    for field in RATE_FIELDS:
        written = text.partition(f'"{field}":')[2][:10].lstrip()
        assert written[0] == '"', written
        assert written[2] == "."
        assert written[1] + written[3:8] == "".join(filter(str.isdecimal, written))
        assert written[8] == '"'


@rows(
    {
        "SPEC-2.2-state": "WI",
        "SPEC-2.2-zip": "53202",
        "SPEC-2.2-city": "Milwaukee",
        "SPEC-2.2-county": "Milwaukee County",
        "SPEC-2.2-country": "US",
    }
)
def test_the_place_of_a_rate(spec, expected, ask):
    found = ask("WI", zip="53202", as_of="2026-05-01")
    assert found["rate"][spec.removeprefix("SPEC-2.2-")] == expected


@rows(
    {
        "SPEC-2.2-country_rate": ("WI", "Milwaukee", "0.00000"),
        "SPEC-2.2-state_rate": ("WI", "Milwaukee", "0.05000"),
        "SPEC-2.2-county_rate": ("WI", "Milwaukee", "0.00900"),
        "SPEC-2.2-city_rate": ("WI", "Milwaukee", "0.02000"),
        "SPEC-2.2-combined_district_rate": ("VA", "Williamsburg", "0.01700"),
    }
)
def test_the_parts_of_a_rate(spec, expected, ask):
    state, place, part = expected
    found = ask(state, location=place, as_of="2026-08-01")
    assert found["rate"][spec.removeprefix("SPEC-2.2-")] == part


@row("SPEC-2.2-combined_rate")
def test_the_parts_add_up_to_the_total(spec, ask):
    for state, place in [("WI", "Milwaukee"), ("VA", "Williamsburg"), ("WA", "Seattle")]:
        rate = ask(state, location=place, as_of="2026-05-01")["rate"]
        assert sum(Decimal(rate[part]) for part in RATE_FIELDS[:-1]) == Decimal(
            rate["combined_rate"]
        )


@row("SPEC-2.2-combined_rate-review")
def test_a_total_that_cannot_be(spec, row_of, changed):
    for rate, why in [
        ({"combined_rate": "0.20001", "state_rate": "0.18001"}, "rate_too_high"),
        ({"combined_rate": "0.08000"}, "parts_do_not_add_up"),
        ({"combined_rate": "0.06000", "county_rate": None}, "parts_do_not_add_up"),
        ({"combined_rate": "8.25000"}, "failed"),
        ({"combined_rate": "-0.08250"}, "failed"),
        ({"combined_rate": None}, "failed"),
    ]:
        found = row_of(changed(rate=rate))
        assert (found["needs_review"], found["lookup_review_reason"]) == (True, why)
        assert (found["tax"] is None) is (why == "failed")


@row("SPEC-2.2-freight_taxable")
def test_freight(spec, ask):
    told = [ask(state, zip=zip5)["rate"]["freight_taxable"] for state, zip5 in FREIGHT]
    assert told == [True, False, None]


FREIGHT = [("NJ", "07030"), ("FL", "33130"), ("OR", "97201")]


@row("SPEC-2.2-freight_taxable-words")
def test_freight_as_a_word(spec, scripted, faults, changed):
    read = {"false": False, "no": False, "Y": True, 1: True, "maybe": "maybe"}
    for sent, meant in read.items():
        faults.will(changed(rate={"freight_taxable": sent}))
        assert scripted.lookup("TX", zip="78701").rate.freight_taxable == meant


@row("SPEC-2.2-freight_taxable-tax")
def test_the_tax_of_delivery(spec, row_of, changed):
    for sent, tax in [(True, "9.08"), ("no", "8.25"), ("maybe", None), (None, None), (2, None)]:
        found = row_of(changed(rate={"freight_taxable": sent}))
        assert found["tax"] == (tax and Decimal(tax))
        assert found["tax_review"] == (None if tax else "freight_taxable_unknown")


@row("SPEC-2.2-as_float")
def test_every_rate_field_has_a_float(spec, client):
    rate = client.lookup("WI", **MILWAUKEE).rate
    for field in RATE_FIELDS:
        assert getattr(rate, f"{field}_as_float")() == float(getattr(rate, field))


@row("SPEC-2.2-rate_to_float")
def test_the_helper_of_a_rate_string(spec):
    assert rate_to_float("0.08625") == 0.08625


@row("SPEC-2.3-resolved_via")
def test_how_a_place_was_resolved(spec, body):
    assert isinstance(body["meta"]["resolved_via"], str)


@row("SPEC-2.3-confidence")
def test_confidence_in_the_meta(spec, body):
    assert body["meta"]["confidence"] == TaxResponse.model_validate(body).confidence
    assert body["meta"]["confidence"] in LEVELS


@row("SPEC-2.3-effective_date")
def test_the_date_of_effect(spec, body):
    assert body["meta"]["effective_date"] == "2024-01-01"
    assert date.fromisoformat(body["meta"]["effective_date"])


@row("SPEC-2.3-effective_date-null")
def test_no_date_of_effect(spec, ask):
    meta = ask("CA", location="San Francisco", as_of="2026-02-01")["meta"]
    assert meta["effective_date"] is None


@row("SPEC-2.3-effective_date_basis")
def test_what_the_date_of_effect_rests_on(spec, ask, body):
    undated = ask("CA", location="San Francisco", as_of="2026-02-01")["meta"]
    assert body["meta"]["effective_date_basis"] == "publisher_effective_date"
    assert undated["effective_date_basis"] in {"edition_only", "no_published_date"}


@row("SPEC-2.3-period")
def test_the_period(spec, ask, body):
    assert body["meta"]["period"] is None
    assert ask("WI", location="Milwaukee", period="20262")["meta"]["period"] == "20262"


@row("SPEC-2.3-warnings")
def test_the_warnings(spec, body):
    assert body["meta"]["warnings"] == []


@row("SPEC-2.4-items")
def test_a_warning_is_a_string_or_an_object_with_a_code(spec, ask, scripted, faults, changed):
    for warning in ask("WI", location="Milwaukee", as_of="1990-01-01")["meta"]["warnings"]:
        assert isinstance(warning, str) or isinstance(warning["code"], str)
    faults.will(changed(warnings=["plain", {"code": "known"}]))
    plain, coded = scripted.lookup("TX", zip="78701").warnings
    assert (plain, coded.code) == ("plain", "known")


@row("SPEC-2.4-place_input_mismatch")
def test_a_city_that_is_not_the_zips(spec, client):
    answered = client.lookup("NJ", address="1 Main St", city="Trenton", zip="07030")
    found = [one for one in answered.warnings if one.code == "place_input_mismatch"]
    assert [one.customer_input_place for one in found] == ["Trenton"]
    assert "Hoboken" in found[0].resolved_place_name


@row("SPEC-2.4-other_shapes")
def test_an_advisory_of_another_shape(spec, scripted, faults, changed):
    for odd in ({"message": "careful"}, 7, None, ["careful"], {"code": 7}, True):
        faults.will(changed(warnings=["plain", odd]))
        answered = scripted.lookup("TX", zip="78701")
        assert answered.combined_rate_string == "0.08250"
        assert [type(one).__name__ for one in answered.warnings] == ["str", "Advisory"]


@row("SPEC-2.4-review")
def test_an_advisory_that_cannot_be_read(spec, row_of, changed):
    for odd in ({"message": "careful"}, 7, None, ["careful"], {"code": " "}, True):
        found = row_of(changed(warnings=["plain", odd]))
        assert found["combined_rate"] == Decimal("0.08250")
        assert (found["needs_review"], found["lookup_review_reason"]) == (True, "uncoded_warning")


@row("SPEC-2.5-full")
def test_the_verbose_body(spec, ask):
    full = ask("WI", mode="full", **MILWAUKEE)
    rates = [Decimal(one["rate"]) for one in full["components"]]
    assert sum(rates) == Decimal(full["rate"]["combined_rate"])
    assert [str(rate) for rate in rates if rate] == ["0.05000", "0.00900", "0.02000"]
    assert [one["chosen"] for one in full["candidates"]][:1] == [True]
    assert full["resolved_place"]["state"] == "WI"


@row("SPEC-2.6-status")
def test_the_status(spec, stranger):
    assert HealthResponse.model_validate(stranger.get("/healthz").json()).status


@row("SPEC-2.7-identity")
def test_a_record_is_told_by_state_and_type(spec, http, nexus):
    for kind in ("physical", "economic", "physical"):
        assert http.post(nexus, json={"state": "TX", "nexus_type": kind}).status_code == 200
    told = http.get(nexus).json()["nexus"]
    assert [(one["state"], one["nexus_type"]) for one in told] == [
        ("TX", "economic"),
        ("TX", "physical"),
    ]


@row("SPEC-2.7-types")
def test_the_types_of_nexus(spec, client, nexus):
    for kind in ("physical", "marketplace", "economic"):
        assert client.add_nexus("TX", nexus_type=kind).nexus_type == kind
    with pytest.raises(ValidationError):
        client.add_nexus("TX", nexus_type="digital")


@row("SPEC-2.8-extra")
def test_unknown_fields_are_kept(spec, body):
    told = {**body, "new": 1, "rate": body["rate"] | {"newer": [2]}}
    assert TaxResponse.model_validate(told).model_dump()["new"] == 1
    assert TaxResponse.model_validate(told).model_dump()["rate"]["newer"] == [2]
    record = {"state": "TX", "nexus_type": "economic", "new": 1}
    for model, given in [
        (HealthResponse, {"status": "ok", "new": 1}),
        (NexusRecord, record),
        (NexusList, {"nexus": [record], "new": 1}),
        (NexusRemoval, {"deleted": 1, "new": 1}),
        (Freshness, {"states": [{"state": "TX", "new": 2}], "new": 1}),
        (StateFreshness, {"state": "TX", "new": 1}),
        (Advisory, {"code": "x", "new": 1}),
        (ValidationDetail, {"loc": [], "msg": "x", "type": "x", "new": 1}),
    ]:
        assert model.model_validate(given).model_dump()["new"] == 1
