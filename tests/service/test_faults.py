"""`--faults`: the service fails on purpose, repeatably, and clients can tell and recover."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.both import without_waiting
from support.serving import make_key

from svc_sdk import Svc, SvcError, TransportError
from svc_tools.service.errors import StartError
from svc_tools.service.faults import KINDS, FaultPlan

PLACE = {"zip": "07030"}
PATH = "/v1/tax/NJ"
BEFORE = {"400", "401", "402", "403", "404", "422", "429", "429q", "500", "502", "503", "504"}
STATES = ["TX", "CA", "NY", "WA", "OH"]


def always(kind):
    return FaultPlan.read(f"{kind}:100%")


def mixed(kinds):
    """A plan of all these kinds alike, with some requests that go well."""
    return FaultPlan.read(",".join(f"{kind}:{90 // len(kinds)}%" for kind in sorted(kinds)), seed=1)


def asked(service, times):
    """What each of some lookups came to: the kind of its fault, or `None`."""
    return [service.client.get(PATH, params=PLACE).headers.get("x-fault") for _ in range(times)]


def test_the_same_seed_fails_the_same_requests(run):
    plan = FaultPlan.read("429:20%,503:10%,404:5.5%", seed=7)
    first = asked(run(faults=plan), 60)
    assert asked(run(faults=plan), 60) == first == [plan.fault(number) for number in range(60)]
    assert set(first) == {None, "429", "503", "404"}
    other = FaultPlan.read(plan.text, seed=8)
    assert [other.fault(number) for number in range(60)] != first


@pytest.mark.parametrize("kind", ["404", "503", "malformed", "slow"])
def test_what_fails_on_purpose_is_in_no_quota(run, kind, monkeypatch):
    monkeypatch.setattr("svc_tools.service.faults._PIECE_SECONDS", 0.001)
    service = run(faults=FaultPlan.read(f"{kind}:50%", seed=7))
    _, headers = make_key(service.keys, monthly_quota=4)
    kinds, left = [], []
    while kinds.count(None) < 4:
        answer = service.anonymous("GET", PATH, params=PLACE, headers=headers)
        kinds.append(answer.headers.get("x-fault"))
        if kinds[-1] is None:
            left.append((answer.status_code, answer.headers["x-quota-remaining"]))
    assert kind in kinds
    assert left == [(200, "3"), (200, "2"), (200, "1"), (200, "0")]


def test_a_plan_keeps_its_shares():
    plan = FaultPlan.read("429:5%, 503:3%, hang:1%, reset:0.5%", seed=7)
    counted = Counter(plan.fault(number) for number in range(20_000))
    assert counted.keys() == {None, "429", "503", "hang", "reset"}
    for kind, share in (("429", 0.05), ("503", 0.03), ("hang", 0.01), ("reset", 0.005)):
        assert counted[kind] / 20_000 == pytest.approx(share, rel=0.25)


@given(seed=st.integers(), number=st.integers(0, 10**9))
def test_a_whole_share_fails_all_and_none_fails_none(seed, number):
    assert FaultPlan.read("503:100%", seed).fault(number) == "503"
    assert FaultPlan.read("503:0%", seed).fault(number) is None


def test_retries_of_the_client_recover(run, monkeypatch):
    waited = without_waiting(monkeypatch)
    plan = FaultPlan.read("429:20%,500:10%,502:10%,503:10%,504:5%,hang:2%", seed=7)
    service = run(faults=plan)
    with Svc(service.key, base_url=service.base_url, max_retries=12, timeout=0.3) as client:
        rates = {client.lookup("NJ", zip="07030").combined_rate_string for _ in range(50)}
    assert rates == {"0.06625"}
    # the first fifty requests that went well are the fifty answers; the others were retried
    kinds, number = [], 0
    while kinds.count(None) < 50:
        kinds.append(plan.fault(number))
        number += 1
    assert len(waited) == number - 50
    assert {plan.fault(asked) for asked in range(number)} == {None, *dict(plan.shares)}


def test_each_status_on_purpose_has_the_form_of_the_real_one(run):
    service = run(faults=mixed(BEFORE))
    seen = {}
    for _ in range(150):
        response = service.client.get(PATH, params=PLACE)
        seen[response.headers.get("x-fault")] = response
    assert seen.keys() - {None} == BEFORE
    for kind, response in seen.items():
        if kind is None:
            assert response.status_code == 200
            continue
        assert response.status_code == int(kind[:3])
        waits = kind in {"429", "503"}
        assert response.headers.get("retry-after") == ("1" if waits else None)
        if kind == "422":
            (item,) = response.json()["detail"]
            assert item.keys() == {"loc", "msg", "type"}
            continue
        error = response.json()["error"]
        assert error["support_reference"] == response.headers["x-request-id"]
        assert "on purpose" in error["message"]
        assert error.get("retry_after_seconds") == (1 if waits else None)
        codes = {"429": "RATE_LIMITED", "429q": "QUOTA_EXCEEDED", "402": "BILLING_REQUIRED"}
        assert error["code"] == codes.get(kind, error["code"])


def test_nothing_was_done_by_a_request_that_got_a_status_on_purpose(run):
    plan = mixed(BEFORE)
    service = run(faults=plan)
    for number in range(60):
        code = STATES[number % len(STATES)]
        service.store.remove_nexus("local", code)
        response = service.client.post("/v1/portability/nexus", json={"state": code})
        done = bool(service.store.list_nexus("local", code))
        assert done == response.is_success == (plan.fault(number) is None)


def test_a_hang_ends_with_the_client_s_patience(run):
    service = run(faults=always("hang"))
    with pytest.raises(httpx.ReadTimeout):
        service.client.post("/v1/portability/nexus", json={"state": "TX"}, timeout=0.2)
    assert service.store.list_nexus("local") == []
    # it holds up nothing else
    assert service.client.get("/healthz").json() == {"status": "ok"}


def broken(response):
    """The fault of a response whose connection ended too early, and the bytes of its body."""
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        response.read()
    return response.headers["x-fault"], response.num_bytes_downloaded


@pytest.mark.parametrize(("kind", "done"), [("reset", False), ("reset-after", True)])
def test_a_connection_that_ends_before_or_after_the_work(run, kind, done):
    service = run(faults=always(kind))
    body = {"json": {"state": "TX"}}
    with service.client.stream("POST", "/v1/portability/nexus", **body) as response:
        assert broken(response) == (kind, 0)
    assert bool(service.store.list_nexus("local")) == done


def test_an_answer_in_pieces_is_whole(run, monkeypatch):
    monkeypatch.setattr("svc_tools.service.faults._PIECE_SECONDS", 0.001)
    service = run(faults=always("slow"))
    response = service.client.get(PATH, params=PLACE)
    assert response.json()["rate"]["combined_rate"] == "0.06625"
    assert response.headers["x-fault"] == "slow"


def test_no_kind_touches_health_and_the_description(run):
    service = run(faults=mixed(KINDS))
    for path in ("/healthz", "/openapi.json") * 25:
        response = service.anonymous("GET", path)
        assert response.status_code == 200
        assert "x-fault" not in response.headers


def test_who_may_not_ask_is_refused_before_any_fault(run):
    response = run(faults=always("503")).anonymous("GET", PATH, params=PLACE)
    assert response.status_code == 401
    assert "x-fault" not in response.headers


def test_the_client_gives_each_kind_one_of_its_errors(run, monkeypatch):
    monkeypatch.setattr("svc_tools.service.faults._PIECE_SECONDS", 0.001)
    plan = mixed(KINDS)
    service = run(faults=plan)
    seen = set()
    with Svc(service.key, base_url=service.base_url, max_retries=0, timeout=0.3) as client:
        for number in range(100):
            kind = plan.fault(number)
            seen.add(kind)
            if kind in {None, "slow"}:
                assert client.lookup("NJ", zip="07030").combined_rate_string == "0.06625"
                continue
            with pytest.raises(SvcError) as caught:
                client.lookup("NJ", zip="07030")
            status = caught.value.status_code
            if kind in {"hang", "reset", "reset-after", "truncated"}:
                assert (status, type(caught.value)) == (None, TransportError)
            else:
                assert status == (200 if kind == "malformed" else int(kind[:3]))
    assert seen >= set(KINDS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "given ''"),
        ("429", "given '429', expected a kind, a colon and a percentage"),
        ("429:0.05", "given '429:0.05'"),
        ("429:5%,", "given ''"),
        ("429:0.00001%", "four decimals"),
        ("teapot:5%", "'teapot' is not a kind of fault; expected one of 400, 401"),
        ("429:5%,429:5%", "429 is given more than once"),
        ("429:60%,503:40.5%", r"add up to 100\.5%, expected 100% at most"),
    ],
)
def test_a_text_that_is_no_plan(text, said):
    with pytest.raises(StartError, match=said):
        FaultPlan.read(text)


@given(st.text(max_size=30))
def test_any_text_is_a_plan_or_a_clear_error(text):
    with suppress(StartError):
        assert FaultPlan.read(text).shares
