"""When a call is tried again, and after how long (SPEC 7 and 8)."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from support.both import injecting
from support.faults import HANG, PAUSE, RESET, answer, certified, dripping, echo, serving

from svc_sdk import AsyncSvc, RateLimitError, ServiceError, Svc, SvcError, TransportError
from svc_sdk.wire import Failure, Reply, Settings, decide


def failing(status, **headers):
    return answer(status, b'{"error": {"code": "X", "message": "no"}}', **headers)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 507])
def test_429_and_every_5xx_are_tried_again_with_growing_waits(connect, faults, waits, status):
    faults.will(failing(status), failing(status), failing(status), answer())
    assert connect(faults.base_url).lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert waits == [0.5, 1.0, 2.0]
    assert len(faults.seen) == 4


@pytest.mark.parametrize(
    ("status", "kind"), [(429, RateLimitError), (500, ServiceError), (503, ServiceError)]
)
def test_the_last_error_is_raised_with_the_number_of_attempts(connect, faults, waits, status, kind):
    faults.will(failing(500), failing(500), failing(500), failing(status))
    with pytest.raises(kind, match="4 attempts") as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert (caught.value.status_code, caught.value.attempts) == (status, 4)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 418, 422])
def test_other_4xx_are_raised_at_once(connect, faults, waits, status):
    faults.will(failing(status))
    with pytest.raises(SvcError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert (len(faults.seen), caught.value.attempts, waits) == (1, 1, [])


def test_the_wait_is_capped_at_thirty_seconds(connect, faults, waits):
    faults.will(failing(500))
    with pytest.raises(ServiceError):
        connect(faults.base_url, max_retries=8).lookup("TX", zip="78701")
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def http_date(**distance):
    return format_datetime(datetime.now(UTC) + timedelta(**distance), usegmt=True)


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"retry_after": "7"}, 7.0),
        (503, {"retry_after": "120"}, 120.0),
        (429, {"retry_after": "0"}, 0.0),
        # the service's clock is two days off: only the distance between its two dates counts
        (503, {"date": http_date(days=-2), "retry_after": http_date(days=-2, seconds=90)}, 90.0),
        (429, {"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_honored(connect, faults, waits, status, headers, wait):  # noqa: PLR0917
    faults.will(failing(status, **headers), answer())
    connect(faults.base_url).lookup("TX", zip="78701")
    assert waits == [pytest.approx(wait, abs=1 if "date" in headers else 0)]
    faults.will(failing(status, **headers))
    with pytest.raises(SvcError) as caught:
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
    assert (caught.value.retry_after, len(waits)) == (waits[0], 1)


def test_retry_after_as_a_date_without_the_services_clock(connect, faults, waits):
    faults.will(failing(429, retry_after=http_date(seconds=600)), answer())
    connect(faults.base_url).lookup("TX", zip="78701")
    assert waits == [pytest.approx(600, abs=60)]


@pytest.mark.parametrize("value", ["soon", "-5", "", "1e3", "٣", "nan", "Wed, 99 Foo 2015"])
def test_an_unreadable_retry_after_is_as_none(connect, faults, waits, value):
    faults.will(failing(429, retry_after=value) if value.isascii() else failing(429), answer())
    connect(faults.base_url).lookup("TX", zip="78701")
    assert waits == [0.5]


def test_the_bodys_retry_after_sets_the_attribute_but_no_delay(connect, faults, waits):
    body = b'{"error": {"code": "RATE_LIMITED", "message": "slow", "retry_after_seconds": 42}}'
    faults.will(answer(429, body))
    with pytest.raises(RateLimitError) as caught:
        connect(faults.base_url, max_retries=1).lookup("TX", zip="78701")
    assert (caught.value.retry_after, waits) == (42.0, [0.5])


@pytest.mark.parametrize(
    ("kind", "retried"),
    [
        (httpx.ConnectTimeout, True),
        (httpx.ReadTimeout, True),
        (httpx.WriteTimeout, True),
        (httpx.PoolTimeout, True),
        (httpx.ConnectError, True),
        (httpx.ReadError, False),
        (httpx.RemoteProtocolError, False),
        (httpx.DecodingError, False),
    ],
)
def test_timeouts_and_failures_to_connect_are_what_is_tried_again(kind, retried):
    settings = Settings.checked(SecretStr("key"), "https://rates.example", 1, 3)
    assert settings.failure(kind("so it was")).retryable is retried


@pytest.mark.parametrize("status", [503, 429])
@pytest.mark.parametrize(
    "broken",
    [
        b"HTTP/1.1 %d X\r\nretry-after: 4\r\nconnection: close\r\ncontent-length: 900\r\n\r\n{",
        b"HTTP/1.1 %d X\r\nretry-after: 4\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\na",
    ],
    ids=["half a body", "no gzip"],
)
def test_a_status_counts_even_where_its_body_breaks(connect, faults, waits, status, broken):
    faults.will(broken % status, answer())
    assert connect(faults.base_url).lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert waits == [4.0]


@pytest.mark.parametrize("location", ["mailto:x", "http://xn--/", "//[", "http://" + "a" * 70_000])
def test_an_odd_redirect_is_an_svc_error(connect, faults, location):
    faults.will(answer(307, b"", location=location))
    with pytest.raises(SvcError):
        connect(faults.base_url).lookup("TX", zip="78701")


STATUS_LINE = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("client", ["own", "injected", "reused connection"])
@pytest.mark.parametrize(
    "begin",
    [
        b"",
        STATUS_LINE + b"x-slow: ",
        STATUS_LINE + b"content-length: 462\r\n\r\n",
        STATUS_LINE + b"transfer-encoding: chunked\r\n\r\n5; slow=",
    ],
    ids=["status line", "headers", "body", "chunk"],
)
def test_a_response_that_drips_ends_at_the_timeout(connect, faults, waits, begin, client):
    dripped = []
    with injecting(connect, client != "own") as options:
        if client == "reused connection":
            connect(faults.base_url, **options).lookup("TX", zip="78701")
        faults.will(dripping(begin, dripped))
        with pytest.raises(TransportError, match=r"0\.3 s") as caught:
            connect(faults.base_url, timeout=0.3, max_retries=1, **options).health()
    assert (caught.value.attempts, waits) == (2, [0.5])
    assert len(dripped) < 200  # of 600


@pytest.mark.parametrize("injected", [False, True])
def test_a_status_counts_though_its_body_drips(connect, faults, waits, injected):
    dripped = []
    slow = dripping(b"HTTP/1.1 503 X\r\nretry-after: 4\r\ncontent-length: 462\r\n\r\n", dripped)
    faults.will(slow, answer())
    with injecting(connect, injected) as options:
        client = connect(faults.base_url, timeout=1, **options)
        assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert (waits, len(dripped) < 200) == ([4.0], True)


def test_a_transport_that_reports_nothing_is_bounded_once_it_responds(connect):
    class Dripping(connect.library.SyncByteStream, connect.library.AsyncByteStream):
        def __iter__(self):
            for _ in range(300):
                sent.append(1)
                PAUSE.wait(0.05)
                yield b"x"

        async def __aiter__(self):
            for _ in range(300):
                sent.append(1)
                await asyncio.sleep(0.05)
                yield b"x"

    sent = []
    make = connect.library.Response
    transport = connect.library.MockTransport(lambda _request: make(200, stream=Dripping()))
    with injecting(connect, injected=True, transport=transport) as options:
        client = connect("http://127.0.0.1:9", timeout=0.3, max_retries=0, **options)
        with pytest.raises(TransportError, match=r"0\.3 s"):
            client.lookup("TX", zip="78701")
    assert len(sent) < 200


def test_the_users_own_requests_are_not_bounded(faults, library):
    with library.Client() as http, Svc("key", base_url=faults.base_url, http_client=http) as client:
        client.lookup("TX", zip="78701")
        assert http.get(faults.base_url, timeout=None).status_code == 200  # over that connection


def test_a_response_over_tls_ends_at_the_timeout(connect, tmp_path, waits):
    tls, certificate = certified(tmp_path)
    verify, dripped = ssl.create_default_context(cafile=certificate), []
    with serving(tls) as faults, injecting(connect, injected=True, verify=verify) as options:
        found = connect(faults.base_url, **options).lookup("TX", zip="78701")
        assert found.combined_rate_string == "0.08250"
        faults.will(dripping(STATUS_LINE, dripped))
        with pytest.raises(TransportError, match=r"0\.3 s"):
            connect(faults.base_url, timeout=0.3, max_retries=1, **options).health()
    assert len(dripped) < 200


def test_a_handshake_that_hangs_ends_at_the_timeout(connect):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TransportError, match=r"0\.3 s"):
            connect(url, timeout=0.3, max_retries=0).lookup("TX", zip="78701")
        gc.collect()  # a connection that was left open would be reported


def test_waiting_for_a_connection_is_no_timeout_of_the_service(faults, library):
    def slow(seen):
        """A response that takes a good part of the timeout: five of them take more than all."""
        faults.over.wait(0.5)
        return echo(seen)

    async def scenario():
        async with library.AsyncClient(limits=library.Limits(max_connections=1)) as http:
            options = {"timeout": 2, "max_retries": 0, "http_client": http}
            clients = [AsyncSvc(key, base_url=faults.base_url, **options) for key in ("one", "two")]
            calls = [client.lookup("TX", zip="78701") for client in clients * 3]
            return await asyncio.gather(*calls)

    faults.will(slow)
    assert len(asyncio.run(scenario())) == len(faults.seen) == 6


@pytest.mark.parametrize(("seconds", "lines"), [(7_200, 1), (3_600, 1), (60, 0)])
def test_a_very_long_retry_after_is_honored_and_logged(  # noqa: PLR0917
    connect, faults, waits, caplog, seconds, lines
):
    faults.will(failing(429, retry_after=str(seconds)), answer())
    connect(faults.base_url).lookup("TX", zip="78701")
    assert waits == [seconds]
    logged = [one for one in caplog.records if one.name == "svc_sdk"]
    assert [one.levelname for one in logged] == ["WARNING"] * lines
    for one in logged:
        assert str(timedelta(seconds=seconds)) in one.getMessage()
        until = datetime.fromisoformat(one.getMessage()[-25:])
        assert abs(until - datetime.now(UTC) - timedelta(seconds=seconds)) < timedelta(minutes=5)


def test_a_used_up_quota_has_no_retry_after(connect, faults, waits):
    faults.will(answer(429, b'{"error": {"code": "QUOTA_EXCEEDED", "message": "used up"}}'))
    with pytest.raises(RateLimitError) as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert (caught.value.error_code, caught.value.retry_after) == ("QUOTA_EXCEEDED", None)
    assert len(waits) == 3


def test_a_timeout_is_tried_again_and_then_a_transport_error(connect, faults, waits):
    faults.will(HANG, answer())
    client = connect(faults.base_url, timeout=0.2)
    assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert waits == [0.5]
    faults.will(HANG)
    with pytest.raises(TransportError, match=r"0\.2 s") as caught:
        connect(faults.base_url, timeout=0.2, max_retries=1).lookup("TX", zip="78701")
    assert (caught.value.status_code, caught.value.attempts) == (None, 2)


def test_a_failure_to_connect_is_tried_again(connect, waits):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = taken.getsockname()[1]
        with pytest.raises(TransportError, match=rf"127\.0\.0\.1:{port}") as caught:
            connect(f"http://127.0.0.1:{port}").lookup("TX", zip="78701")
    assert (caught.value.attempts, waits) == (4, [0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    "fault",
    [
        RESET,
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 900\r\n\r\n{",
        b"no http, connection: close\r\n\r\n",
    ],
    ids=["reset", "half a body", "not HTTP"],
)
def test_a_broken_connection_is_a_transport_error(connect, faults, waits, fault):
    faults.will(fault)
    with pytest.raises(TransportError, match="broke"):
        connect(faults.base_url, timeout=5).lookup("TX", zip="78701")
    assert waits == []


@pytest.mark.parametrize("service", [failing(429, retry_after="3600"), HANG])
def test_cancelling_stops_at_once_while_waiting(faults, service, library):
    async def scenario():
        async with (
            library.AsyncClient() as http,
            AsyncSvc("k", base_url=faults.base_url, timeout=3600, http_client=http) as client,
        ):
            faults.will(service)
            call = asyncio.create_task(client.lookup("TX", zip="78701"))
            await asyncio.to_thread(faults.asked.wait, 10)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(call, 10)

    asyncio.run(scenario())
    assert len(faults.seen) == 1


def test_gathered_lookups_fail_one_by_one(faults):
    async def scenario():
        async with AsyncSvc("k", base_url=faults.base_url) as client:
            faults.will(answer(), failing(404), answer())
            calls = (client.lookup("TX", zip="78701") for _ in range(5))
            return await asyncio.gather(*calls, return_exceptions=True)

    got = asyncio.run(scenario())
    assert sum(isinstance(one, SvcError) for one in got) == 1
    assert sum(getattr(one, "combined_rate_string", "") == "0.08250" for one in got) == 4


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(100, 599))
def test_a_retry_never_exceeds_what_is_allowed(attempt, allowed, status):
    wait = decide(attempt, allowed, Reply(status, {}, b""))
    retried = attempt < allowed and (status == 429 or status >= 500)
    assert wait == (min(2 ** min(attempt, 60) * 0.5, 30) if retried else None)


def test_a_failure_that_is_not_retryable_stops():
    assert decide(0, 3, Failure("broke", retryable=False)) is None
    assert decide(0, 3, Failure("slow", retryable=True)) == 0.5
