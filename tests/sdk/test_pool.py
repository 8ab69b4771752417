"""The connections of `AsyncSvc`: lookups that are canceled leave them whole, many share them."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from support.both import OLD_HTTPCORE
from support.counting import counting
from support.faults import KEY, echo

from svc_sdk import AsyncSvc, SvcError, TransportError

pytestmark = pytest.mark.skipif(
    OLD_HTTPCORE, reason="httpcore before 1.0 loses connections of canceled requests by itself"
)

END = 40
"""Seconds after which a test that would wait for ever ends."""


def run(scenario):
    """What a scenario returns, unless it takes too long."""
    return asyncio.run(asyncio.wait_for(scenario, END))


async def rates(client, count, zip_code="78701"):
    found = await asyncio.gather(*(client.lookup("TX", zip=zip_code) for _ in range(count)))
    return {one.combined_rate_string for one in found}


async def two_hundred(client, refused):
    async with asyncio.TaskGroup() as group:
        for number in range(200):
            place = {} if number == refused else {"zip": "78701"}
            group.create_task(client.lookup("TX", **place))


@pytest.mark.parametrize("refused", [0, 50])
@pytest.mark.parametrize("most", [None, 5])
def test_lookups_that_are_canceled_early_leave_the_client_whole(faults, refused, most):
    """One of 200 is refused before it is sent, which cancels the others while they connect."""

    async def scenario():
        limits = httpx.Limits(max_connections=most)
        async with httpx.AsyncClient(limits=limits) as http:
            injected = {} if most is None else {"http_client": http}
            async with AsyncSvc(KEY, base_url=faults.base_url, timeout=10, **injected) as client:
                for _ in range(3):
                    with pytest.raises(BaseExceptionGroup) as caught:
                        await two_hundred(client, refused)
                    assert caught.group_contains(ValueError)
                return await rates(client, 2 * (most or 100))

    assert run(scenario()) == {"0.08250"}


def test_a_cancellation_at_any_moment_leaves_no_connection_behind(faults):
    async def scenario():
        for ticks in range(60):
            limits = httpx.Limits(max_connections=2)
            async with (
                httpx.AsyncClient(limits=limits) as http,
                AsyncSvc(KEY, base_url=faults.base_url, max_retries=0, http_client=http) as client,
            ):
                calls = [asyncio.create_task(client.lookup("TX", zip="78701")) for _ in range(5)]
                for _ in range(ticks):
                    await asyncio.sleep(0)
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
                assert await rates(client, 3) == {"0.08250"}, ticks

    run(scenario())


def test_a_pool_whose_connections_others_use_is_a_timeout(faults):
    async def scenario():
        limits = httpx.Limits(max_connections=1)
        async with (
            httpx.AsyncClient(limits=limits) as http,
            AsyncSvc(
                KEY, base_url=faults.base_url, timeout=0.3, max_retries=0, http_client=http
            ) as client,
        ):
            async with http.stream("GET", f"{faults.base_url}/v1/lookup/TX?zip=78701"):
                with pytest.raises(TransportError) as caught:
                    await client.lookup("TX", zip="78701")
            return caught.value.status_code, await rates(client, 3)

    assert run(scenario()) == (None, {"0.08250"})


def test_two_thousand_lookups_begun_at_once_all_get_a_rate():
    async def scenario(url):
        # each takes a small part of the timeout, and all of them far more than one
        async with AsyncSvc(KEY, base_url=url, timeout=4, max_retries=0) as client:
            return await rates(client, 2_000)

    with counting({"slow": 1.0}) as (url, counts):
        assert run(scenario(url)) == {"0.08250"}
        assert counts()["kinds"] == {"slow": 2_000}


def test_a_client_in_a_second_event_loop_has_all_its_connections(faults):
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    http = httpx.AsyncClient(limits=limits)
    client = AsyncSvc(KEY, base_url=faults.base_url, http_client=http)
    assert [run(rates(client, 4)) for _ in range(2)] == [{"0.08250"}] * 2


def test_lookups_that_wait_while_the_client_is_closed_end(faults):
    def late(seen):
        faults.over.wait(0.5)
        return echo(seen)

    async def scenario():
        client = AsyncSvc(KEY, base_url=faults.base_url, max_retries=0)
        calls = [asyncio.create_task(client.lookup("TX", zip="78701")) for _ in range(150)]
        await asyncio.to_thread(faults.asked.wait, 10)
        await client.aclose()
        return await asyncio.gather(*calls, return_exceptions=True)

    faults.will(late)
    ended = run(scenario())
    assert sum(isinstance(one, SvcError) for one in ended) >= 50
    assert all(isinstance(one, SvcError) or one.combined_rate for one in ended)
