"""WIRE: requests and answers where the specification is silent."""

from __future__ import annotations

import gzip
import json
import pickle
import socket
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from conformance.rows import MILWAUKEE, row, rows
from support.faults import ALIVE, GOOD, HANG, KEY, RESET, answer, echo

from svc_sdk import (
    DEFAULT_BASE_URL,
    AsyncSvc,
    RateLimitError,
    ServiceError,
    Svc,
    SvcError,
    TransportError,
    __version__,
    rate_to_float,
)
from svc_sdk.models import RATE_FIELDS
from svc_tools.lookup import look_up
from svc_tools.nexus import NotListedError, list_register
from svc_tools.tables.places import Place


@row("WIRE-request-lookup")
def test_the_address_of_a_lookup(spec, ask):
    assert ask("nj", zip="07030") == ask("NJ", zip="07030")
    assert ask("n%6A", zip="07030") == ask("NJ", zip="07030")


@row("WIRE-request-segment")
def test_the_state_is_one_segment(spec, scripted, faults):
    for state, segment in [("T/X", "T%2FX"), ("..", "%2E%2E"), ("a?b#c", "a%3Fb%23c")]:
        faults.will(answer())
        scripted.lookup(state, zip="78701")
        assert faults.seen[-1].target == f"/v1/tax/{segment}?zip=78701"


LINE = "1 Main St, Hoboken"


@row("WIRE-request-sent")
def test_what_each_mode_sends(spec, scripted, faults):
    for given, sent in [
        ({"address": LINE}, {"address": LINE}),
        ({"address": LINE, "zip": "07030"}, {"address": f"{LINE}, NJ 07030"}),
        ({"address": f"{LINE}, NJ", "zip": "07030"}, {"address": f"{LINE}, NJ 07030"}),
        ({"address": f"{LINE} 07030", "zip": "07030"}, {"address": f"{LINE} 07030"}),
        ({"address": "1 Main St", "city": "Hoboken"}, {"street": "1 Main St", "city": "Hoboken"}),
        (
            {"address": "1 Main St", "city": "Hoboken", "zip": "07030"},
            {"street": "1 Main St", "city": "Hoboken", "zip": "07030"},
        ),
        ({"zip": "07030-1234"}, {"zip": "07030-1234"}),
        ({"location": "Hoboken"}, {"location": "Hoboken"}),
        ({"lat": 40.5, "lng": -74}, {"lat": "40.5", "lng": "-74"}),
        ({"zip": "07030", "as_of": date(2026, 5, 1)}, {"zip": "07030", "as_of": "2026-05-01"}),
        ({"zip": "07030", "period": "20263"}, {"zip": "07030", "period": "20263"}),
        ({"zip": "07030", "mode": "full"}, {"zip": "07030", "mode": "full"}),
    ]:
        scripted.lookup("NJ", **given)
        target = urlsplit(faults.seen[-1].target)
        assert (target.path, dict(parse_qsl(target.query))) == ("/v1/tax/NJ", sent)


@rows(
    {
        "WIRE-request-address": ({"address": "1 Main St, Hoboken, NJ"}, {"address": "1 Main"}),
        "WIRE-request-street": ({"street": "1 Main St", "city": "Hoboken"}, {"street": "1 Main"}),
        "WIRE-request-zip": ({"zip": "07030-1234"}, {"zip": "7030"}),
        "WIRE-request-location": ({"location": "Hoboken"}, {"location": "H" * 65}),
        "WIRE-request-coordinates": ({"lat": "40.7433", "lng": "-74.0324"}, {"lat": "91"}),
        "WIRE-request-as_of": (
            {"zip": "07030", "as_of": "2026-05-01"},
            {"zip": "07030", "as_of": "5/1/2026"},
        ),
        "WIRE-request-period": (
            {"zip": "07030", "period": "20262"},
            {"zip": "07030", "period": "2026Q2"},
        ),
        "WIRE-request-mode": (
            {"zip": "07030", "mode": "simple"},
            {"zip": "07030", "mode": "verbose"},
        ),
    }
)
def test_a_parameter_is_taken_in_its_form_only(spec, expected, http):
    good, bad = expected
    answered = http.get("/v1/tax/NJ", params=good)
    assert (answered.status_code, answered.json()["rate"]["combined_rate"]) == (200, "0.06625")
    refused = http.get("/v1/tax/NJ", params=bad)
    assert (refused.status_code, refused.json()["error"]["code"]) in {
        (400, "INVALID_INPUT"),
        (400, "MISSING_INPUT"),
    }


@row("WIRE-request-key")
def test_where_the_key_stands(spec, stranger, connect, scripted, faults):
    for headers in ({"X-API-Key": KEY}, {"Authorization": f"Bearer {KEY}"}):
        assert stranger.get("/v1/tax/NJ?zip=07030", headers=headers).status_code == 200
    injected = connect.http()
    for client in (scripted, connect(faults.base_url, http_client=injected)):
        faults.will(echo, answer(body=b'{"nexus": []}'), answer(body=b'{"status": "ok"}'))
        client.lookup("TX", zip="78701")
        client.list_nexus("TX")
        client.health()
    assert [one.headers["x-api-key"] for one in faults.seen] == [KEY] * 6
    assert not any(KEY in one.target for one in faults.seen)
    connect.runner.run(injected.aclose()) if connect.kind == "async" else injected.close()


@row("WIRE-request-identity")
def test_who_the_client_says_it_is(spec, scripted, faults):
    scripted.lookup("TX", zip="78701")
    headers = faults.seen[0].headers
    assert headers["user-agent"] == f"svc-tools/{__version__}"
    assert headers["accept"] == "application/json"


@row("WIRE-request-nexus-post")
def test_a_record_is_added_then_updated(spec, client, nexus):
    client.add_nexus("TX", registered_at="2024-05-01", notes="first")
    again = client.add_nexus("TX", notes="second")
    assert (again.nexus_type, again.registered_at, again.notes) == (
        "physical",
        "2024-05-01",
        "second",
    )
    assert client.list_nexus().count == 1


@row("WIRE-request-nexus-get")
def test_records_are_listed(spec, client, nexus):
    for state, kind in [("WA", "physical"), ("CA", "physical"), ("CA", "economic")]:
        client.add_nexus(state, nexus_type=kind)
    told = client.list_nexus()
    assert [(one.state, one.nexus_type) for one in told.nexus] == [
        ("CA", "economic"),
        ("CA", "physical"),
        ("WA", "physical"),
    ]
    assert (told.count, client.list_nexus("CA", "economic").count) == (3, 1)


@row("WIRE-request-nexus-get-absent")
def test_a_service_without_a_list(spec, faults):
    faults.health = ALIVE  # else the address is wrong
    with Svc(KEY, base_url=faults.base_url) as client:
        for status in (404, 405):
            faults.will(answer(status, b'{"detail": "Not Found"}'))
            with pytest.raises(NotListedError):
                list_register(client)


@row("WIRE-request-nexus-delete")
def test_removing_what_is_not_there(spec, client, nexus):
    told = client.remove_nexus("TX", nexus_type="economic")
    assert (told.deleted, told.state, told.nexus_type) == (0, "TX", "economic")


@row("WIRE-request-health")
def test_health_needs_no_key(spec, stranger):
    assert stranger.get("/healthz").json()["status"] == "ok"


@row("WIRE-request-freshness")
def test_the_age_of_the_data(spec, client):
    states = client.freshness().states
    assert len(states) == 51
    for one in states:
        assert one.source
        assert one.edition
        assert one.loaded_at
        assert one.model_extra["covers"]


@row("WIRE-client-methods")
def test_the_methods_of_the_clients(spec):
    shared = {"lookup", "health", "list_nexus", "add_nexus", "remove_nexus", "freshness"}
    for kind, closing in ((Svc, "close"), (AsyncSvc, "aclose")):
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public == shared | {closing, "base_url"}


@row("WIRE-client-timeout")
def test_the_timeout_of_an_injected_client(spec, connect, faults, waits):
    faults.will(HANG)
    injected = connect.http(timeout=60)
    client = connect(faults.base_url, http_client=injected, timeout=0.2, max_retries=0)
    with pytest.raises(TransportError, match=r"0\.2 s"):
        client.lookup("TX", zip="78701")
    connect.runner.run(injected.aclose()) if connect.kind == "async" else injected.close()


@row("WIRE-client-limit")
def test_a_body_beyond_the_limit(spec, scripted, faults):
    bomb = gzip.compress(bytes(32 * 1024**2))
    for sent, packed in ((bomb, {"content_encoding": "gzip"}), (bytes(17 * 1024**2), {})):
        faults.will(answer(200, sent, **packed))
        with pytest.raises(TransportError, match="16 MB"):
            scripted.lookup("TX", zip="78701")


@row("WIRE-client-list")
def test_a_list_of_records(spec, client, nexus):
    for state in ("TX", "CA"):
        client.add_nexus(state)
    listed = client.list_nexus()
    assert [one.state for one in listed] == ["CA", "TX"]
    assert len(listed) == listed.count == 2


@row("WIRE-client-base_url")
def test_the_default_address(spec):
    with Svc(KEY) as client:
        assert client.base_url == DEFAULT_BASE_URL == "http://127.0.0.1:8642"


@row("WIRE-client-no_address")
def test_no_address(spec, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        default = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr("svc_sdk._settings.DEFAULT_BASE_URL", default)
        said = pytest.raises(TransportError, match=r"No address .*base_url=.*svc-tools serve")
        with Svc(KEY, base_url=default, max_retries=0) as client, said:
            client.lookup("TX", zip="78701")


@row("WIRE-client-transport")
def test_failures_to_connect(spec, connect, waits):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        client = connect(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(TransportError) as caught:
            client.lookup("TX", zip="78701")
    assert (caught.value.status_code, caught.value.attempts, len(waits)) == (None, 4, 3)


BROKEN = answer(body=GOOD, content_length="4000", connection="close")


@row("WIRE-client-reset")
def test_what_is_not_tried_again(spec, scripted, faults, waits):
    for step in (RESET, BROKEN):
        faults.seen.clear()
        faults.will(step, answer())
        with pytest.raises(TransportError) as caught:
            scripted.lookup("TX", zip="78701")
        assert (caught.value.status_code, caught.value.attempts) == (None, 1)
        assert (len(faults.seen), waits) == (1, [])


@row("WIRE-client-bulk")
def test_bulk_lookups_try_these_again(spec, faults):
    places = [Place("TX", "zip", zip=f"{78701 + number}") for number in range(4)]
    for step in (RESET, BROKEN):
        with Svc(KEY, base_url=faults.base_url, max_retries=1) as client:
            faults.will(step, echo)
            run = look_up(client, places)
            assert {one.status for one in run.outcomes.values()} == {"ok"}
            assert run.requests == len(places) + 1
            faults.seen.clear()
            faults.will(step)
            run = look_up(client, places)
            assert {one.status for one in run.outcomes.values()} == {"failed"}
            assert max(Counter(one.target for one in faults.seen).values()) <= 2


@row("WIRE-client-quota")
def test_a_used_up_quota_is_retried(spec, scripted, faults, waits):
    faults.will(answer(429, b'{"error": {"code": "QUOTA_EXCEEDED", "message": "no"}}'))
    with pytest.raises(RateLimitError) as caught:
        scripted.lookup("TX", zip="78701")
    assert (caught.value.error_code, caught.value.retry_after) == ("QUOTA_EXCEEDED", None)
    assert len(waits) == 3


@row("WIRE-client-retry_after")
def test_only_the_header_decides_the_delay(spec, connect, faults, waits):
    told = {"code": "RATE_LIMITED", "message": "no", "retry_after_seconds": 42}
    faults.will(answer(429, json.dumps({"error": told}).encode()))
    with pytest.raises(RateLimitError) as caught:
        connect(faults.base_url, max_retries=1).lookup("TX", zip="78701")
    assert (caught.value.retry_after, waits) == (42.0, [0.5])


@row("WIRE-client-redirect")
def test_redirects_are_not_followed(spec, connect, faults):
    faults.will(answer(302, b"", location=f"{faults.base_url}/elsewhere"), answer())
    injected = connect.http(follow_redirects=True)
    with pytest.raises(SvcError) as caught:
        connect(faults.base_url, http_client=injected).lookup("TX", zip="78701")
    assert (caught.value.status_code, len(faults.seen)) == (302, 1)
    connect.runner.run(injected.aclose()) if connect.kind == "async" else injected.close()


@row("WIRE-client-other")
def test_other_statuses(spec, scripted, faults):
    for status in (405, 410, 418):
        faults.will(answer(status, b"{}"))
        with pytest.raises(SvcError) as caught:
            scripted.lookup("TX", zip="78701")
        assert type(caught.value) is SvcError


@row("WIRE-client-reference")
def test_the_support_reference(spec, scripted, faults):
    for told, expected in [({"support_reference": "body"}, "body"), ({}, "head")]:
        refusal = json.dumps({"error": {"code": "X", "message": "no", **told}}).encode()
        faults.will(answer(400, refusal, x_request_id="head"))
        with pytest.raises(SvcError) as caught:
            scripted.lookup("TX", zip="78701")
        assert caught.value.support_reference == expected


@row("WIRE-client-body")
def test_the_body_of_a_response(spec, connect, faults):
    client = connect(faults.base_url, max_retries=0)
    for body, kept in [
        (b'{"anything": [1]}', {"anything": [1]}),
        (b"[]", []),
        (b"gone", "gone"),
    ]:
        faults.will(answer(404, body))
        with pytest.raises(SvcError) as caught:
            client.lookup("TX", zip="78701")
        assert caught.value.response_body == kept
    faults.will(answer(404, b"x" * 1_000_000))
    with pytest.raises(SvcError) as caught:
        client.lookup("TX", zip="78701")
    assert set(caught.value.response_body) >= {"x"}
    assert len(caught.value.response_body) < 10_000


@row("WIRE-client-pickle")
def test_errors_pickle(spec, client):
    with pytest.raises(SvcError) as caught:
        client.lookup("ZZ", zip="78701")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), vars(again)) == (type(caught.value), vars(caught.value))


@row("WIRE-client-required")
def test_what_an_answer_must_have(spec, scripted, faults):
    for body in (b'{"rate": {}}', b'{"rate": {}, "meta": null}', b'{"rate": {}, "meta": {}}'):
        faults.will(answer(body=body))
        found = scripted.lookup("TX", zip="78701")
        assert (found.combined_rate, found.confidence, found.warnings) == (None, None, [])
    for body in (b'{"meta": {}}', b'{"rate": null, "meta": {}}', b'{"rate": "0.08250"}'):
        faults.will(answer(body=body))
        with pytest.raises(ServiceError):
            scripted.lookup("TX", zip="78701")


@row("WIRE-client-malformed")
def test_a_rate_that_is_none(spec, scripted, faults, changed):
    for rate in ("high", True, [0.1], "0,08", "8.25%", "NaN", "1e-2", {"rate": "0.08250"}):
        faults.will(changed({"combined_rate": rate}))
        with pytest.raises(ServiceError) as caught:
            scripted.lookup("TX", zip="78701")
        assert caught.value.status_code == 200
        assert caught.value.response_body["rate"]["combined_rate"] == rate


@row("WIRE-client-verbatim")
def test_a_rate_string_stays(spec, scripted, faults, changed):
    for rate in ("0.0825", "0.082500001", "0.08250"):
        faults.will(changed({"combined_rate": rate}))
        assert scripted.lookup("TX", zip="78701").combined_rate_string == rate


@row("WIRE-client-number")
def test_a_rate_as_a_number(spec, scripted, faults):
    for number, rate in [
        (b"0.0825", "0.08250"),
        (b"0.082500001", "0.082500001"),
        (b"0", "0.00000"),
    ]:
        faults.will(answer(body=GOOD.replace(b'"0.08250"', number)))
        assert scripted.lookup("TX", zip="78701").combined_rate_string == rate


@row("WIRE-client-both_dates")
def test_the_service_judges_two_dates(spec, client):
    both = {"as_of": "2024-01-01", "period": "20241"}
    assert client.lookup("WI", location="Milwaukee", **both).combined_rate_string == "0.07900"
    with pytest.raises(SvcError) as caught:
        client.lookup("WI", location="Milwaukee", **both | {"period": "20242"})
    assert caught.value.error_code == "INPUT_CONFLICT"


@row("WIRE-answer-missing")
def test_a_missing_rate(spec, scripted, faults, changed):
    faults.will(changed({"city_rate": None}), answer(body=b'{"rate": {"state": "TX"}}'))
    rate = scripted.lookup("TX", zip="78701").rate
    assert (rate.city_rate, rate.city_rate_as_float()) == (None, None)
    absent = scripted.lookup("TX", zip="78701").rate
    for field in RATE_FIELDS:
        assert getattr(absent, field) is getattr(absent, f"{field}_as_float")() is None
    assert rate_to_float(None) is None


@row("WIRE-answer-resolved_via")
def test_what_decided(spec, ask):
    for state, given, via in [
        ("WI", {"zip": "53202"}, "zip5"),
        ("WI", {"location": "Milwaukee"}, "place"),
        ("WI", {"lat": 43.0389, "lng": -87.9065}, "coordinates"),
        ("NJ", {"zip": "07030"}, "state"),
    ]:
        assert ask(state, **given)["meta"]["resolved_via"] == via


@rows(
    {
        "WIRE-answer-codes": {
            "place_input_mismatch": (
                {"street": "1 Main St", "city": "Madison", "zip": "53202"},
                {"customer_input_place", "resolved_place_name"},
            ),
            "zip_spans_jurisdictions": (
                {"zip": "53017"},
                {"candidates", "lowest_combined_rate", "highest_combined_rate"},
            ),
            "as_of_before_history": (
                {"location": "Milwaukee", "as_of": "1960-01-01"},
                {"as_of", "oldest"},
            ),
            "as_of_after_edition": (
                {"location": "Milwaukee", "as_of": "2099-01-01"},
                {"as_of", "edition_end"},
            ),
            "address_not_matched": (
                {"street": "1 No Such St", "city": "Milwaukee", "zip": "53202"},
                {"used"},
            ),
        }
    }
)
def test_our_warnings_carry_codes(spec, expected, ask):
    for code, (given, fields) in expected.items():
        warnings = ask("WI", **given)["meta"]["warnings"]
        (found,) = [one for one in warnings if one["code"] == code]
        assert fields | {"message"} <= set(found)
    elsewhere = {
        "local_rates_not_covered": ("LA", {"zip": "70601"}),
        "districts_not_covered": ("TX", {"location": "Waller County"}),
        "address_districts_not_covered": ("IL", {"location": "Chicago"}),
        "stale_rate": ("IA", {"location": "Adair County"}),
        "source_conflict": ("DC", {"zip": "20001"}),
    }
    for code, (state, given) in elsewhere.items():
        assert code in [one["code"] for one in ask(state, **given)["meta"]["warnings"]]


@row("WIRE-answer-full")
def test_the_fields_of_the_full_body(spec, ask):
    full = ask("WI", mode="full", zip="53017", as_of="2026-05-01")
    assert len(full["candidates"]) > 1
    for one in full["candidates"]:
        assert {"name", "combined_rate", "chosen", "why"} <= set(one)
    for one in full["components"]:
        assert {"level", "name", "code", "rate", "effective_date", "source"} <= set(one)
    assert full["resolved_place"]["state"] == "WI"


@row("WIRE-answer-subset")
def test_the_simple_body_is_a_part_of_the_full_one(spec, ask, body):
    full = ask("WI", mode="full", **MILWAUKEE)
    assert full == {**full, **body}
    assert set(full) - set(body) == {"candidates", "components", "resolved_place"}


@row("WIRE-answer-request_id")
def test_every_answer_has_its_id(spec, http, stranger):
    answered = [
        stranger.get("/healthz"),
        stranger.get("/nowhere"),
        http.get("/v1/tax/NJ?zip=07030"),
        http.get("/v1/tax/NJ"),
    ]
    assert len({one.headers["x-request-id"] for one in answered}) == len(answered)


@row("WIRE-error-envelope")
def test_the_envelope(spec, http):
    for refused in (
        http.get("/v1/tax/NJ"),
        http.get("/v1/tax/NJ?zip=00000"),
        http.get("/v1/freshness", headers={"X-API-Key": "wrong"}),
        http.get("/nowhere"),
        http.put("/v1/freshness"),
    ):
        assert refused.is_error
        error = refused.json()["error"]
        assert list(refused.json()) == ["error"]
        assert error["support_reference"] == refused.headers["x-request-id"]
        assert isinstance(error["message"], str)
        assert isinstance(error["code"], str)


@rows(
    {
        "WIRE-error-MISSING_INPUT": (400, "NJ", {}),
        "WIRE-error-INVALID_INPUT": (400, "NJ", {"zip": "0703"}),
        "WIRE-error-INPUT_CONFLICT": (400, "NJ", {"zip": "07030", "location": "Hoboken"}),
        "WIRE-error-STATE_NOT_SUPPORTED": (404, "ZZ", {"zip": "07030"}),
        "WIRE-error-NOT_FOUND": (404, "NJ", {"zip": "00000"}),
    }
)
def test_an_error_of_a_lookup(spec, expected, http):
    status, state, given = expected
    refused = http.get(f"/v1/tax/{state}", params=given)
    assert (refused.status_code, refused.json()["error"]["code"]) == (
        status,
        spec.removeprefix("WIRE-error-"),
    )


@row("WIRE-error-UNAUTHORIZED")
def test_an_unknown_key(spec, stranger):
    refused = stranger.get("/v1/tax/NJ?zip=07030")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHORIZED")


@row("WIRE-error-UPSTREAM_ERROR")
def test_an_upstream_error(spec, connect, faults):
    faults.will(answer(502, b'{"error": {"code": "UPSTREAM_ERROR", "message": "no"}}'))
    with pytest.raises(ServiceError) as caught:
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
    assert caught.value.error_code == "UPSTREAM_ERROR"


@row("WIRE-error-retry_after")
def test_both_forms_of_retry_after(spec, scripted, faults, waits):
    now = datetime.now(UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    at = format_datetime(now, usegmt=True)
    faults.will(
        answer(429, b"{}", retry_after=later, date=at),
        answer(503, b"{}", retry_after="5"),
        answer(),
    )
    scripted.lookup("TX", zip="78701")
    assert waits == [90.0, 5.0]


@rows({"WIRE-error-no_json": b"<html>", "WIRE-error-wrong_shape": b'{"rates": []}'})
def test_a_200_that_is_no_answer(spec, expected, scripted, faults):
    faults.will(answer(body=expected))
    with pytest.raises(ServiceError) as caught:
        scripted.lookup("TX", zip="78701")
    kept = caught.value.response_body
    assert kept == ("<html>" if spec.endswith("json") else {"rates": []})
    assert caught.value.status_code == 200
