"""SPEC sections 7 to 9: errors, limits, versions."""

from __future__ import annotations

import json

import pytest
from conformance.rows import row, rows
from support.faults import HANG, answer

import svc_sdk
from svc_sdk import (
    AuthError,
    ForbiddenError,
    NotFoundError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TransportError,
    ValidationError,
)

REFUSAL = {"error": {"code": "SOME_CODE", "message": "So.", "support_reference": "ref-1"}}
UNPROCESSABLE = {"detail": [{"loc": ["body", "state"], "msg": "missing", "type": "missing"}]}
NAMED = {
    400: ValidationError,
    401: AuthError,
    402: PaymentRequiredError,
    403: ForbiddenError,
    404: NotFoundError,
    422: ValidationError,
    429: RateLimitError,
    500: ServiceError,
    502: ServiceError,
    503: ServiceError,
    504: ServiceError,
}


def failing(status, **headers):
    told = UNPROCESSABLE if status == 422 else REFUSAL
    return answer(status, json.dumps(told).encode(), **headers)


@pytest.fixture
def fail(connect, faults, waits):
    """The exception of a lookup that is answered with a status."""

    def fail(status, **headers):
        faults.will(failing(status, **headers))
        with pytest.raises(SvcError) as caught:
            connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
        return caught.value

    return fail


@rows(
    {
        "SPEC-7-401": (401, AuthError),
        "SPEC-7-402": (402, PaymentRequiredError),
        "SPEC-7-403": (403, ForbiddenError),
        "SPEC-7-404": (404, NotFoundError),
        "SPEC-7-429": (429, RateLimitError),
        "SPEC-7-400": (400, ValidationError),
        "SPEC-7-422": (422, ValidationError),
        "SPEC-7-5xx": (507, ServiceError),
    }
)
def test_the_exception_of_a_status(spec, expected, fail):
    status, kind = expected
    error = fail(status, retry_after="7")
    assert type(error) is kind
    if status == 429:
        assert error.retry_after == 7.0


@row("SPEC-7-base")
def test_every_exception_is_an_svc_error(spec):
    kinds = {*NAMED.values(), TransportError}
    assert all(issubclass(kind, SvcError) for kind in kinds)


@rows(
    {
        "SPEC-7-status_code": lambda status: status,
        "SPEC-7-error_code": lambda status: None if status == 422 else "SOME_CODE",
        "SPEC-7-support_reference": lambda status: "req-9" if status == 422 else "ref-1",
        "SPEC-7-response_body": lambda status: UNPROCESSABLE if status == 422 else REFUSAL,
    }
)
def test_what_every_exception_carries(spec, expected, fail):
    for status in NAMED:
        error = fail(status, x_request_id="req-9")
        assert getattr(error, spec.rpartition("-")[2]) == expected(status)


@row("SPEC-7-shapes")
def test_the_usual_bodies_of_errors(spec, scripted, faults):
    error = {"code": "SOME_CODE", "message": "So.", "support_reference": "ref-1"}
    flat = {"error_code": "SOME_CODE", "message": "So.", "support_reference": "ref-1"}
    problem = {"title": "So.", "code": "SOME_CODE", "support_reference": "ref-1"}
    for body in ({"error": error}, {"detail": error}, error, flat, problem):
        faults.will(answer(404, json.dumps(body).encode()))
        with pytest.raises(NotFoundError) as caught:
            scripted.lookup("TX", zip="78701")
        found = caught.value
        assert (found.message, found.error_code, found.support_reference) == (
            "So.",
            "SOME_CODE",
            "ref-1",
        )
    for body, message in ((b"So.", "So."), (b"<p>So.</p>", "without a message")):
        faults.will(answer(404, body))
        with pytest.raises(NotFoundError, match=message):
            scripted.lookup("TX", zip="78701")


@row("SPEC-7.1")
def test_a_refusal_is_raised_at_once(spec, connect, faults, waits):
    for status in (400, 401, 402, 403, 404, 405, 409, 422):
        faults.will(failing(status))
        with pytest.raises(SvcError) as caught:
            connect(faults.base_url).lookup("TX", zip="78701")
        assert caught.value.attempts == 1
    assert waits == []


@row("SPEC-7.2")
def test_429_and_5xx_are_retried_before_they_are_raised(spec, connect, faults, waits):
    for status in (429, 500, 502, 503, 504):
        faults.seen.clear()
        faults.will(failing(status))
        with pytest.raises(NAMED[status]) as caught:
            connect(faults.base_url).lookup("TX", zip="78701")
        assert caught.value.attempts == len(faults.seen) == 4


@row("SPEC-7.3-400")
def test_a_removal_that_names_nothing_known(spec, client):
    for state, kind in [("ZZ", None), ("TX", "digital")]:
        with pytest.raises(ValidationError) as caught:
            client.remove_nexus(state, nexus_type=kind)
        assert caught.value.status_code == 400


@row("SPEC-7.3-422")
def test_malformed_input(spec, connect, service, http, nexus):
    # the clients send nothing malformed themselves: a parameter of the injected client does
    http.post(nexus, json={"state": "TX"})
    injected = connect.http(params={"nexus-type": "economic"}, trust_env=False)
    try:
        with pytest.raises(ValidationError) as caught:
            connect(service, http_client=injected).remove_nexus("TX")
    finally:
        connect.runner.run(injected.aclose()) if connect.kind == "async" else injected.close()
    assert (caught.value.status_code, caught.value.attempts) == (422, 1)
    (item,) = caught.value.detail
    assert (item.loc, item.type) == (("query", "nexus-type"), "extra_forbidden")
    assert http.get(nexus).json()["count"] == 1


@row("SPEC-8-timeout")
def test_the_default_timeout(spec, connect, faults):
    settings = connect(faults.base_url).client._settings
    assert settings.timeout == 10.0


@row("SPEC-8-max_retries")
def test_the_default_number_of_retries(spec, connect, faults, waits):
    faults.will(failing(500))
    with pytest.raises(ServiceError):
        connect(faults.base_url).lookup("TX", zip="78701")
    assert len(waits) == 3


@rows(
    {
        "SPEC-8-retried-429": failing(429),
        "SPEC-8-retried-5xx": failing(503),
        "SPEC-8-retried-timeout": HANG,
    }
)
def test_what_is_retried(spec, expected, connect, faults, waits):
    faults.will(expected, answer())
    client = connect(faults.base_url, timeout=0.3)
    assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert waits == [0.5]


@row("SPEC-8-backoff")
def test_the_growing_delays(spec, connect, faults, waits):
    faults.will(failing(500))
    with pytest.raises(ServiceError):
        connect(faults.base_url, max_retries=8).lookup("TX", zip="78701")
    assert waits == [min(2**attempt * 0.5, 30) for attempt in range(8)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@row("SPEC-8-retry_after")
def test_the_delay_that_the_service_asks_for(spec, connect, faults, waits):
    faults.will(failing(429, retry_after="7"), failing(503, retry_after="40"), answer())
    connect(faults.base_url).lookup("TX", zip="78701")
    assert waits == [7.0, 40.0]


@row("SPEC-8-retry_after-long")
def test_a_very_long_delay(spec, connect, faults, waits, caplog):
    faults.will(failing(429, retry_after="7200"), answer())
    connect(faults.base_url).lookup("TX", zip="78701")
    assert waits == [7_200.0]
    assert [one.levelname for one in caplog.records if one.name == "svc_sdk"] == ["WARNING"]


@row("SPEC-9.1")
def test_paths_carry_the_major_version(spec, stranger):
    paths = stranger.get("/openapi.json").json()["paths"]
    assert "/v1/portability/nexus/{state}" in paths
    assert [path for path in paths if not path.startswith("/v1/")] == ["/healthz"]


@row("SPEC-9.2")
def test_the_version_of_the_library(spec):
    assert [part.isdecimal() for part in svc_sdk.__version__.split(".")] == [True] * 3


@row("SPEC-9.3")
def test_rates_stay_strings(spec, scripted):
    rate = scripted.lookup("TX", zip="78701").rate
    assert rate.model_dump()["combined_rate"] == "0.08250"


@row("SPEC-9.4")
def test_effective_date_stands_beside_period(spec, body):
    assert {"period", "effective_date", "effective_date_basis"} <= set(body["meta"])


@row("SPEC-9.5")
def test_new_fields_do_not_break_the_client(spec, scripted, faults, changed):
    faults.will(changed({"new_rate": "0.1"}, newer=[1]))
    assert scripted.lookup("TX", zip="78701").combined_rate_string == "0.08250"
