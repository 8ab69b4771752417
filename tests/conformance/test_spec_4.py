"""SPEC section 4: the endpoints, and the contract of the client library."""

from __future__ import annotations

import asyncio
import inspect
from datetime import date
from importlib import metadata

import httpx
import pytest
from conformance.rows import row, rows
from support.both import own_http
from support.faults import KEY, answer, dripping, echo
from support.serving import serving_service
from support.waiting import until

import svc_sdk
from svc_sdk import AsyncSvc, NotFoundError, Svc, SvcError, TaxResponse, TransportError
from svc_sdk.models import HealthResponse

MALFORMED = {"nexus-type": "economic"}


@pytest.fixture
def texas(http, nexus):
    """Where Texas' records are removed: there is one of each type, and one elsewhere."""
    for kind in ("physical", "economic", "marketplace"):
        http.post(nexus, json={"state": "TX", "nexus_type": kind})
    http.post(nexus, json={"state": "CA"})
    return f"{nexus}/TX"


def listed(http, nexus):
    return [(one["state"], one["nexus_type"]) for one in http.get(nexus).json()["nexus"]]


@row("SPEC-4.1-all")
def test_all_records_of_a_state_go(spec, http, texas, nexus):
    assert http.delete(texas).json()["deleted"] == 3
    assert listed(http, nexus) == [("CA", "physical")]


@row("SPEC-4.1-of_type")
def test_only_the_records_of_a_type_go(spec, http, texas, nexus):
    assert http.delete(texas, params={"nexus_type": "economic"}).json()["deleted"] == 1
    assert listed(http, nexus) == [
        ("CA", "physical"),
        ("TX", "marketplace"),
        ("TX", "physical"),
    ]


@row("SPEC-4.1-state")
def test_the_state_is_in_the_path(spec, http, nexus):
    assert http.delete(f"{nexus}/WY").json()["state"] == "WY"
    assert http.delete(nexus).status_code == 405


@row("SPEC-4.1-nexus_type")
def test_each_nexus_type_is_taken(spec, http, texas):
    for kind in ("physical", "economic", "marketplace"):
        assert http.delete(texas, params={"nexus_type": kind}).json()["deleted"] == 1


@row("SPEC-4.1-key")
def test_removal_needs_the_key(spec, stranger, http, texas, nexus):
    assert stranger.delete(texas).status_code == 401
    assert len(listed(http, nexus)) == 4


@row("SPEC-4.1-200")
def test_what_a_removal_tells(spec, http, texas):
    told = http.delete(texas, params={"nexus_type": "economic"}).json()
    assert told == {"deleted": 1, "state": "TX", "nexus_type": "economic"}
    assert http.delete(texas).json() == {"deleted": 2, "state": "TX", "nexus_type": None}


@row("SPEC-4.1-204")
def test_how_a_removal_is_counted(spec, scripted, faults):
    bodies = {b'{"deleted": "2"}': 2, b'{"count": 2}': 2, b"": None}
    for body, deleted in bodies.items():
        faults.will(answer(200 if body else 204, body))
        assert scripted.remove_nexus("TX", "economic").deleted == deleted


@row("SPEC-4.1-400")
def test_a_removal_that_names_nothing_known(spec, http, texas, nexus):
    for url in (f"{nexus}/ZZ", f"{texas}?nexus_type=digital"):
        refused = http.delete(url)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert len(listed(http, nexus)) == 4


@row("SPEC-4.1-401")
def test_a_removal_without_a_valid_key(spec, stranger, texas):
    for headers in ({}, {"X-API-Key": "wrong"}):
        refused = stranger.delete(texas, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHORIZED")


@row("SPEC-4.1-422")
def test_malformed_input(spec, http, texas, nexus):
    for url in (f"{texas}?nexus-type=economic", f"{texas}?nexus_type=economic&nexus_type=physical"):
        refused = http.delete(url)
        assert (refused.status_code, list(refused.json())) == (422, ["detail"])
    assert len(listed(http, nexus)) == 4


@rows(
    {
        "SPEC-4.1-422-loc": ["query", "nexus-type"],
        "SPEC-4.1-422-msg": "Unknown parameter, expected no parameter but nexus_type. Nothing was"
        " removed: a misspelt nexus_type that was ignored would remove the records of every type",
        "SPEC-4.1-422-type": "extra_forbidden",
        "SPEC-4.1-422-input": "economic",
        "SPEC-4.1-422-ctx": {"expected": "no parameter but nexus_type"},
    }
)
def test_an_item_of_the_validation_body(spec, expected, http, texas):
    (item,) = http.delete(texas, params=MALFORMED).json()["detail"]
    assert item[spec.rpartition("-")[2]] == expected


@row("SPEC-4.2-healthz")
def test_health(spec, stranger):
    told = stranger.get("/healthz")
    assert (told.status_code, told.json()) == (200, {"status": "ok"})


@row("SPEC-4.2-damaged")
def test_a_damaged_database_is_not_alive(spec, tmp_path):
    database = tmp_path / "service.db"
    with serving_service(database) as (_, url):
        whole = database.read_bytes()
        for content, status in ((whole[:-4096] + bytes(4096), 503), (whole, 200)):
            database.write_bytes(content)
            told = until(lambda: _healthz(url, status))  # noqa: B023 - called here
            assert ("status" in told.json()) is (status == 200)


def _healthz(url, status):
    told = httpx.get(f"{url}/healthz", trust_env=False)
    return told if told.status_code == status else None


@row("SPEC-4.3-any_date")
def test_every_date_has_a_response(spec, ask):
    for when in (
        {"as_of": "0001-01-01"},
        {"as_of": "9999-12-31"},
        {"period": "00011"},
        {"period": "99994"},
    ):
        for place in ({"zip": "07030"}, {"location": "Hoboken"}):
            codes = {one["code"] for one in ask("NJ", **place, **when)["meta"]["warnings"]}
            assert codes & {"as_of_before_history", "as_of_after_edition"}


@row("SPEC-4.3-inputs")
def test_the_inputs_of_a_lookup(spec, ask):
    for given in (
        {"address": "1 Main St, Hoboken, NJ 07030"},
        {"street": "1 Main St", "city": "Hoboken"},
        {"street": "1 Main St", "city": "Hoboken", "zip": "07030"},
        {"zip": "07030"},
        {"location": "Hoboken"},
        {"lat": 40.7433, "lng": -74.0324},
        {"zip": "07030", "as_of": "2026-05-01"},
        {"zip": "07030", "period": "20262"},
    ):
        assert ask("NJ", **given)["rate"]["combined_rate"] == "0.06625"


@row("SPEC-4.3-mode")
def test_the_mode_of_a_lookup(spec, ask):
    assert "components" in ask("NJ", zip="07030", mode="full")
    assert "components" not in ask("NJ", zip="07030")


@row("SPEC-4.4-names")
def test_the_names_of_the_library(spec):
    assert [svc_sdk.Svc.__name__, svc_sdk.AsyncSvc.__name__] == ["Svc", "AsyncSvc"]
    assert issubclass(svc_sdk.SvcError, Exception)


@row("SPEC-4.4-dependencies")
def test_what_the_library_needs(spec):
    needed = [one for one in metadata.requires("svc-tax-tools") if "extra ==" not in one]
    assert sorted(needed) == ["httpx>=0.24", "pydantic>=2.0"]


@row("SPEC-4.4-surface")
def test_both_clients_take_the_same_arguments(spec):
    for name in ("__init__", "lookup", "health", "remove_nexus"):
        ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (Svc, AsyncSvc))
        assert str(ours).replace(".Client", ".AsyncClient") == str(theirs)


@row("SPEC-4.4-api_key")
def test_an_empty_key_is_rejected(spec, connect, faults):
    for empty in ("", "  "):
        with pytest.raises(ValueError, match="api_key"):
            connect(faults.base_url, empty)
    assert inspect.signature(Svc).parameters["api_key"].default is inspect.Parameter.empty


@row("SPEC-4.4-base_url")
def test_a_trailing_slash_is_stripped(spec, connect, faults):
    client = connect(f"{faults.base_url}/")
    client.lookup("TX", zip="78701")
    assert faults.seen[0].target.startswith("/v1/tax/TX?")


@rows({"SPEC-4.4-timeout": ("timeout", 10.0), "SPEC-4.4-max_retries": ("max_retries", 3)})
def test_defaults_of_the_constructor(spec, expected, connect, faults):
    name, default = expected
    kind = AsyncSvc if connect.kind == "async" else Svc
    assert inspect.signature(kind).parameters[name].default == default
    with pytest.raises(ValueError, match=name):
        connect(faults.base_url, **{name: -1})


@row("SPEC-4.4-timeout-attempt")
def test_the_timeout_is_that_of_the_attempt(spec, connect, faults, waits):
    dripped = []
    faults.will(dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 462\r\n\r\n", dripped))
    with pytest.raises(TransportError, match=r"0\.3 s"):
        connect(faults.base_url, timeout=0.3, max_retries=0).lookup("TX", zip="78701")
    assert len(dripped) < 200


@row("SPEC-4.4-http_client")
def test_an_injected_client_stays_open(spec, connect, faults):
    injected = connect.http()
    client = connect(faults.base_url, http_client=injected)
    client.lookup("TX", zip="78701")
    client.close()
    assert not injected.is_closed
    connect.runner.run(injected.aclose()) if connect.kind == "async" else injected.close()


@rows(
    {
        "SPEC-4.4-lookup-address": [
            {"address": "1 Main St, Hoboken"},
            {"address": "1 Main St", "city": "Hoboken"},
            {"address": "1 Main St", "zip": "07030"},
            {"address": "1 Main St", "city": "Hoboken", "zip": "07030"},
        ],
        "SPEC-4.4-lookup-zip": [{"zip": "07030"}, {"zip": "07030-1234"}],
        "SPEC-4.4-lookup-place": [{"location": "Hoboken"}],
        "SPEC-4.4-lookup-coordinates": [{"lat": 40.7433, "lng": -74.0324}],
    }
)
def test_a_mode_of_the_clients_lookup(spec, expected, client):
    for arguments in expected:
        answered = client.lookup("NJ", **arguments)
        assert isinstance(answered, TaxResponse)
        assert answered.combined_rate_string == "0.06625"


@row("SPEC-4.4-lookup-one_mode")
def test_exactly_one_mode(spec, scripted, faults):
    for arguments in (
        {},
        {"zip": "78701", "location": "Austin"},
        {"address": "1 Main St", "lat": 30.0, "lng": -97.0},
        {"lat": 30.0},
        {"city": "Austin"},
    ):
        with pytest.raises(ValueError, match=r"give|missing"):
            scripted.lookup("TX", **arguments)
    assert faults.seen == []


@row("SPEC-4.4-lookup-as_of")
def test_a_historical_lookup(spec, client):
    then, now = date(2023, 12, 31), date(2024, 1, 1)
    rates = [client.lookup("WI", location="Milwaukee", as_of=day) for day in (then, now)]
    assert [one.combined_rate_string for one in rates] == ["0.05500", "0.07900"]


@row("SPEC-4.4-lookup-period")
def test_a_lookup_pinned_to_a_period(spec, client):
    rates = [client.lookup("WI", location="Milwaukee", period=p) for p in ("20234", "20241")]
    assert [one.combined_rate_string for one in rates] == ["0.05500", "0.07900"]


@row("SPEC-4.4-lookup-period-form")
def test_a_quarter_as_it_is_written(spec, client):
    for period in ("2026Q3", "2026-Q3", "2026q3"):
        assert client.lookup("WI", location="Milwaukee", period=period).meta.period == "20263"


@row("SPEC-4.4-health")
def test_the_health_method(spec, scripted, faults):
    faults.will(answer(body=b'{"status": "ok"}'))
    assert isinstance(scripted.health(), HealthResponse)
    assert [(one.method, one.target) for one in faults.seen] == [("GET", "/healthz")]


@own_http
@row("SPEC-4.4-context")
def test_leaving_the_context_closes(spec, connect, faults):
    client = connect(faults.base_url).client

    async def asynchronously():
        async with client as entered:
            return entered._http

    if connect.kind == "async":
        owned = connect.runner.run(asynchronously())
    else:
        with client as entered:
            owned = entered._http
    assert owned.is_closed


@own_http
@row("SPEC-4.4-closed")
def test_a_closed_client(spec, connect, faults):
    client = connect(faults.base_url)
    client.close()
    with pytest.raises(SvcError, match="closed"):
        client.lookup("TX", zip="78701")


@row("SPEC-4.4-awaitable")
def test_input_and_output_is_awaitable(spec):
    names = ("lookup", "health", "freshness", "list_nexus", "add_nexus", "remove_nexus", "aclose")
    assert all(inspect.iscoroutinefunction(getattr(AsyncSvc, name)) for name in names)


@row("SPEC-4.4-gather")
def test_gathered_lookups(spec, faults):
    faults.will(lambda seen: answer(404, b"{}") if "00000" in seen.target else echo(seen))

    async def gather():
        async with AsyncSvc(KEY, base_url=faults.base_url) as client:
            zips = ("78701", "00000", "78702")
            calls = [client.lookup("TX", zip=zip5) for zip5 in zips]
            return await asyncio.gather(*calls, return_exceptions=True)

    first, failed, last = asyncio.run(gather())
    assert [first.rate.zip, last.rate.zip] == ["78701", "78702"]
    assert isinstance(failed, NotFoundError)
