"""Many places over one client: asked once each, an outcome for every one."""

from __future__ import annotations

import json

import pytest
from support.faults import RESET, answer, echo, echoing

from svc_tools.lookup import look_up
from svc_tools.places import Place


@pytest.fixture
def client(scripted):
    return scripted


def places(count):
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


def only(client):
    (outcome,) = look_up(client, places(1))[0].values()
    return outcome


def test_distinct_places_are_asked_once_and_every_one_has_an_outcome(client, faults):
    asked = places(50)
    seen = []
    outcomes, stopped = look_up(client, asked * 3, on_outcome=lambda: seen.append(1))
    assert stopped is None
    assert list(outcomes) == asked
    assert {outcome.status for outcome in outcomes.values()} == {"ok"}
    assert len(faults.seen) == len(seen) == 50
    assert len({request.target for request in faults.seen}) == 50


def test_rates_are_whole_numbers_of_the_last_decimal(client):
    found = only(client).found
    assert (found.combined, found.state, found.city, found.districts) == (8250, 6250, 1000, 1000)
    assert (found.resolved_state, found.resolved_zip, found.freight_taxable) == (
        "TX",
        "78000",
        True,
    )


@pytest.mark.parametrize("code", ["local_rates_not_covered", "districts_not_covered"])
def test_an_answer_known_to_lack_a_part_is_partial(client, faults, code):
    faults.will(echoing(warnings=[{"code": code}, "look twice"]))
    outcome = only(client)
    assert (outcome.status, outcome.error) == ("partial", code)
    assert outcome.found.warnings == (code, "look twice")


def test_the_zero_of_a_part_that_is_not_covered_is_missing(client, faults):
    zero = {"county_rate": "0.00000", "city_rate": "0.00000", "combined_district_rate": "0.00000"}
    faults.will(echoing(rate=zero, warnings=[{"code": "local_rates_not_covered"}]))
    found = only(client).found
    assert (found.state, found.county, found.city, found.districts) == (6250, None, None, None)


def test_a_zero_that_is_covered_is_a_zero(client, faults):
    zero = {"county_rate": "0.00000", "combined_district_rate": "0.00000"}
    faults.will(echoing(rate=zero, warnings=[{"code": "districts_not_covered"}]))
    found = only(client).found
    assert (found.county, found.districts) == (0, None)


def test_an_answer_without_confidence_is_no_answer(client, faults):
    faults.will(echoing(confidence="none"))
    outcome = only(client)
    assert (outcome.status, outcome.found) == ("unresolved", None)


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ({"combined_rate": None}, "no combined_rate"),
        ({"combined_rate": "0.0825001"}, "five decimals"),
        ({"city_rate": "0.0100001"}, "five decimals"),
        ({"combined_rate": "-0.01000"}, "-0.01000"),
        ({"combined_rate": "1.00000"}, "fraction"),
        ({"combined_rate": "8.250"}, "fraction"),
        ({"combined_rate": 8.25}, "fraction"),
        ({"city_rate": "1.00000"}, "city_rate"),
        ({"state": "CA"}, "for CA, not for TX"),
        ({"zip": "75201"}, "for ZIP 75201, not for 78000"),
    ],
)
def test_a_rate_that_does_not_fit_is_never_rounded_or_zero(client, faults, rate, said):
    faults.will(echoing(rate=rate))
    outcome = only(client)
    assert (outcome.status, outcome.found) == ("failed", None)
    assert said in outcome.error


def test_a_part_that_is_missing_stays_missing(client, faults):
    faults.will(echoing(rate={"county_rate": None, "freight_taxable": None}))
    found = only(client).found
    assert (found.combined, found.county, found.freight_taxable) == (8250, None, None)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("status", "outcome_status", "said"),
    [(404, "unresolved", "gone"), (400, "failed", "ref-7"), (503, "failed", "ref-7")],
)
def test_a_refusal_of_one_place_leaves_the_others(client, faults, status, outcome_status, said):
    error = b'{"error": {"code": "X", "message": "it is gone", "support_reference": "ref-7"}}'
    faults.will(answer(status, error), echo)
    outcomes, stopped = look_up(client, places(20))
    assert stopped is None
    statuses = [outcome.status for outcome in outcomes.values()]
    assert statuses.count(outcome_status) == 1
    assert statuses.count("ok") == 19
    assert [said in o.error for o in outcomes.values() if o.status == outcome_status] == [True]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "UNAUTHORIZED"),
        (402, "BILLING_REQUIRED"),
        (403, "TIER_INSUFFICIENT"),
        (429, "QUOTA_EXCEEDED"),
    ],
)
def test_a_refused_key_plan_or_quota_ends_the_run(client, faults, status, code):
    body = json.dumps({"error": {"code": code, "message": "no more"}}).encode()
    faults.will(*[echo] * 5, answer(status, body))
    outcomes, stopped = look_up(client, places(500))
    assert code in stopped
    statuses = [outcome.status for outcome in outcomes.values()]
    assert statuses.count("ok") == 5
    assert statuses.count("not_attempted") > 450
    assert len(faults.seen) < 50
    assert {o.error for o in outcomes.values() if o.status == "not_attempted"} == {stopped}


def test_a_limit_that_passes_does_not_end_the_run(client, faults):
    body = b'{"error": {"code": "RATE_LIMITED", "message": "slow down"}}'
    faults.will(answer(429, body), echo)
    outcomes, stopped = look_up(client, places(20))
    assert stopped is None
    assert sum(outcome.status == "ok" for outcome in outcomes.values()) == 19


def test_an_interrupt_keeps_what_was_found(client, faults):
    seen = []

    def interrupt():
        seen.append(1)
        if len(seen) == 10:
            raise KeyboardInterrupt

    outcomes, stopped = look_up(client, places(200), on_outcome=interrupt)
    statuses = [outcome.status for outcome in outcomes.values()]
    assert stopped == "interrupted"
    assert statuses.count("ok") >= 10
    assert statuses.count("not_attempted") > 100
    assert statuses.count("ok") == len(faults.seen)  # answers on their way count too


def test_something_odd_at_one_place_does_not_lose_the_others(client):
    odd = Place("", "zip", zip="78701")  # the client refuses an empty state
    outcomes, _ = look_up(client, [*places(5), odd])
    assert outcomes[odd].status == "failed"
    assert "state" in outcomes[odd].error
    assert sum(outcome.status == "ok" for outcome in outcomes.values()) == 5


def test_parts_that_add_up_to_something_else_are_said(client, faults):
    faults.will(echoing(rate={"combined_rate": "0.08000"}))
    outcome = only(client)
    assert outcome.status == "ok"
    assert outcome.found.warnings == ("parts_do_not_add_up",)


def test_a_service_that_was_never_reached_ends_the_run(client, faults):
    faults.will(RESET)
    outcomes, stopped = look_up(client, places(300))
    assert "broke" in stopped
    statuses = [outcome.status for outcome in outcomes.values()]
    assert statuses.count("not_attempted") > 250


def test_a_service_that_answers_is_not_given_up(client, faults):
    faults.will(*[echo] * 30, *[RESET] * 20, echo)
    outcomes, stopped = look_up(client, places(150))
    assert stopped is None
    statuses = [outcome.status for outcome in outcomes.values()]
    assert (statuses.count("failed"), statuses.count("ok")) == (20, 130)


def test_a_service_that_dies_on_the_way_is_given_up(client, faults):
    faults.will(*[echo] * 30, answer(503, b""))
    outcomes, stopped = look_up(client, places(500))
    assert "503" in stopped
    statuses = [outcome.status for outcome in outcomes.values()]
    assert statuses.count("ok") == 30
    assert statuses.count("failed") < 80


def test_nothing_to_ask_is_no_request(client, faults):
    assert look_up(client, []) == ({}, None)
    assert faults.seen == []
