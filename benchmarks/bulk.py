"""What many lookups at once cost, against the least that they can cost, and against the usual way.

The server is a process of its own that answers from bytes (`benchmarks.answering`); CPU times are
those of this process, the client's.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import httpx

from benchmarks.measure import Finding, medians, scaled
from svc_sdk import Svc
from svc_tools.lookup import look_up
from svc_tools.lookup.cache import Cache
from svc_tools.tables.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLACES = scaled(10_000, least=10)  # a tenth of them is measured too
IN_FLIGHT = 64
LATENCY = 0.02
ROUNDS = 5
KEY = "benchmark-key-0123456789"
HEADERS = {"X-API-Key": KEY, "Accept": "application/json"}


@contextlib.contextmanager
def answering(latency: float = 0.0) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.answering", str(latency)]
    with subprocess.Popen(  # noqa: S603 - our own
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def places(count: int = PLACES) -> list[Place]:
    return [Place("TX", "zip", zip=f"{10_000 + number}") for number in range(count)]


def urls(base: str, count: int = PLACES) -> list[str]:
    return [f"{base}/v1/tax/TX?zip={10_000 + number}" for number in range(count)]


def ours(base: str, in_flight: int, asked: list[Place], cache: Cache | None = None) -> None:
    with Svc(KEY, base_url=base) as client:
        run = look_up(client, asked, concurrency=in_flight, cache=cache)
    assert [one.status for one in run.outcomes.values()] == ["ok"] * len(asked)


def raw(base: str, in_flight: int) -> None:
    """The same requests by aiohttp alone, their bodies read and dropped."""

    async def run() -> None:
        waiting = iter(urls(base))
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session:

            async def work() -> None:
                for url in waiting:
                    async with session.get(url) as response:
                        assert await response.read()

            await asyncio.gather(*(work() for _ in range(in_flight)))

    asyncio.run(run())


def stock(base: str, in_flight: int, count: int) -> None:
    """What one would write first: every request gathered over an httpx.AsyncClient."""

    async def run() -> None:
        limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
        async with httpx.AsyncClient(limits=limits, headers=HEADERS, timeout=None) as client:  # noqa: S113 - gathered requests wait for each other

            async def get(url: str) -> None:
                response = await client.get(url)
                assert response.json()["rate"]

            await asyncio.gather(*map(get, urls(base, count)))

    asyncio.run(run())


def used(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def elapsed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def against_raw() -> Finding:
    asked = places()
    with answering() as base, tempfile.TemporaryDirectory() as folder:
        files = (Path(folder, f"{number}.db") for number in itertools.count())
        mine, least, uncached = medians(
            lambda: used(lambda: ours(base, IN_FLIGHT, asked, Cache(next(files)))),
            lambda: used(lambda: raw(base, IN_FLIGHT)),
            lambda: used(lambda: ours(base, IN_FLIGHT, asked)),
            rounds=ROUNDS,
        )
    return Finding(
        f"{PLACES:,} lookups into a cache file, {IN_FLIGHT} in flight, against the same GETs by"
        " aiohttp alone (CPU)",
        f"{mine / least:.2f} x",
        "<= 1.9 x",
        f"{mine / PLACES * 1e6:.0f} us a lookup against {least / PLACES * 1e6:.0f};"
        f" {uncached / least:.2f} x without a cache",
        "<= 1.8 x",
    )


def against_gathering() -> Finding:
    """The stock way gets slower the more is gathered at once, so it gets a tenth of the places."""
    count = PLACES // 10
    asked = places()
    with answering() as base:
        mine, theirs = medians(
            lambda: elapsed(lambda: ours(base, IN_FLIGHT, asked)) / PLACES,
            lambda: elapsed(lambda: stock(base, IN_FLIGHT, count)) / count,
            rounds=ROUNDS,
        )
    return Finding(
        f"lookups, {IN_FLIGHT} in flight, against asyncio.gather over httpx (time)",
        f"{theirs / mine:.1f} x faster",
        ">= 8 x faster",
        f"{mine * 1e6:.0f} us a lookup against {theirs * 1e6:.0f} (its {count:,} gathered at once)",
        ">= 15 x faster",
    )


def share_of_ideal() -> Finding:
    asked = places()
    ideal = PLACES / IN_FLIGHT * LATENCY
    with answering(LATENCY) as base:
        (mine,) = medians(lambda: elapsed(lambda: ours(base, IN_FLIGHT, asked)), rounds=ROUNDS)
    return Finding(
        f"share of the ideal rate at {LATENCY * 1000:.0f} ms latency, {IN_FLIGHT} in flight",
        f"{ideal / mine:.0%}",
        ">= 80%",
        f"{PLACES / mine:,.0f} lookups a second of {PLACES / ideal:,.0f}; {os.cpu_count()} cores,"
        " the server on one of them",
        ">= 90%",
    )


def at_many() -> Finding:
    asked = places()
    with answering() as base:
        many, few = medians(
            lambda: used(lambda: ours(base, 256, asked)),
            lambda: used(lambda: ours(base, 16, asked)),
            rounds=ROUNDS,
        )
    return Finding(
        "CPU of a lookup, 256 in flight against 16",
        f"{many / few:.2f} x",
        "<= 1.5 x",
        f"{many / PLACES * 1e6:.0f} us against {few / PLACES * 1e6:.0f}",
        "<= 1.2 x",
    )


def findings() -> Iterator[Finding]:
    yield against_raw()
    yield against_gathering()
    yield share_of_ideal()
    yield at_many()
