"""Many places over one client: asked once each, an outcome for every one."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.faults import RESET, answer, echo, echoing
from support.waiting import Steps

from svc_tools.lookup import Run, look_up, many
from svc_tools.places import Place

LIMITED = answer(429, b'{"error": {"code": "RATE_LIMITED", "message": "slow down"}}')


@pytest.fixture
def client(scripted):
    return scripted


def places(count):
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


def statuses(run):
    return Counter(outcome.status for outcome in run.outcomes.values())


def only(client):
    (outcome,) = look_up(client, places(1)).outcomes.values()
    return outcome


def test_distinct_places_are_asked_once_and_every_one_has_an_outcome(client, faults):
    asked = places(50)
    seen = []
    run = look_up(client, asked * 3, progress=Steps(lambda: seen.append(1)))
    assert run.stopped is None
    assert list(run.outcomes) == asked
    assert statuses(run) == {"ok": 50}
    assert (run.asked, run.cached, run.requests, run.waited) == (50, 0, 50, 0)
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


@pytest.mark.parametrize(("rate", "known"), [("0.00000", None), ("0.02000", 2_000)])
def test_a_city_rate_is_known_where_districts_are_not_unless_it_is_zero(
    client, faults, rate, known
):
    faults.will(echoing(rate={"city_rate": rate}, warnings=[{"code": "districts_not_covered"}]))
    assert only(client).found.city == known


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
    ("status", "outcome_status"), [(404, "unresolved"), (400, "failed"), (503, "failed")]
)
def test_a_refusal_of_one_place_leaves_the_others(client, faults, status, outcome_status):
    error = b'{"error": {"code": "X", "message": "it is gone", "support_reference": "ref-7"}}'
    faults.will(answer(status, error), echo)
    run = look_up(client, places(20))
    assert run.stopped is None
    assert statuses(run) == {outcome_status: 1, "ok": 19}
    (refused,) = (one for one in run.outcomes.values() if one.status == outcome_status)
    assert "it is gone" in refused.error
    assert (refused.support_reference, refused.error_code) == ("ref-7", "X")


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
    run = look_up(client, places(500))
    assert code in run.stopped
    # the cause is said once: at the place that was refused, and as that of the others
    assert statuses(run) == {"ok": 5, "failed": 1, "not_attempted": 494}
    assert len(faults.seen) <= 5 + 16
    assert {o.error for o in run.outcomes.values() if o.status == "not_attempted"} == {run.stopped}


def test_a_limit_that_passes_fails_no_place_and_does_not_end_the_run(client, faults):
    faults.will(*[echo] * 5, LIMITED, echo)
    run = look_up(client, places(20))
    assert run.stopped is None
    assert statuses(run) == {"ok": 20}
    assert run.requests == len(faults.seen) == 21


def test_an_interrupt_keeps_what_was_found(client, faults, monkeypatch):
    monkeypatch.setattr(many, "GRACE", 20.0)  # a busy machine takes its time
    seen = []

    def interrupt():
        seen.append(1)
        if len(seen) == 10:
            raise KeyboardInterrupt

    run = look_up(client, places(2000), progress=Steps(interrupt))
    assert run.stopped == "interrupted"
    found = statuses(run)
    assert found["ok"] >= 10
    assert found["not_attempted"] > 1000
    assert found["ok"] == len(faults.seen)  # answers on their way count too


def test_something_odd_at_one_place_does_not_lose_the_others(client, faults):
    odd = Place("", "zip", zip="78701")  # the client refuses an empty state
    run = look_up(client, [*places(5), odd])
    assert run.outcomes[odd].status == "failed"
    assert "state" in run.outcomes[odd].error
    assert statuses(run) == {"ok": 5, "failed": 1}
    assert (run.asked, len(faults.seen)) == (5, 5)


def test_parts_that_add_up_to_something_else_are_said(client, faults):
    faults.will(echoing(rate={"combined_rate": "0.08000"}))
    outcome = only(client)
    assert outcome.status == "ok"
    assert outcome.found.warnings == ("parts_do_not_add_up",)


def test_a_service_that_was_never_reached_ends_the_run(client, faults):
    faults.will(RESET)
    run = look_up(client, places(300))
    assert "broke" in run.stopped
    assert statuses(run)["not_attempted"] > 250
    assert len(faults.seen) < 40


def test_a_service_that_answers_is_not_given_up(client, faults):
    faults.will(*[echo] * 30, *[RESET] * 20, echo)
    run = look_up(client, places(150))
    assert run.stopped is None
    assert statuses(run) == {"failed": 20, "ok": 130}


def test_a_service_that_dies_on_the_way_is_given_up(client, faults):
    faults.will(*[echo] * 30, answer(503, b""))
    run = look_up(client, places(500))
    assert "503" in run.stopped
    found = statuses(run)
    assert found["ok"] == 30
    assert found["failed"] < 80


def test_a_service_that_answers_nothing_that_can_be_read_is_given_up(client, faults):
    faults.will(answer(200, b"<html>It works!</html>"))
    run = look_up(client, places(2000))
    assert "not JSON" in run.stopped
    assert statuses(run)["not_attempted"] > 1000


def test_nothing_to_ask_is_no_request(client, faults):
    assert look_up(client, []) == Run({}, None, 0, 0, 0, 0.0)
    assert faults.seen == []
