"""What the service costs: a request, the book, a lookup in process, many requests."""

from __future__ import annotations

import contextlib
import itertools
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.load import KEY, Served, lookup, read_answer, serving
from benchmarks.measure import Finding, medians, scaled, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.service.ratebook import Book, Query

TODAY = date(2026, 11, 21)
REQUESTS = scaled(4_000)
FEW, MANY = scaled(20_000), scaled(200_000)
LOOKUPS = scaled(20_000, least=200)  # more than there are states
SLOW, OPEN_FILES, LOOKUPS_AMONG = 2_300, 1_024, scaled(100)  # more connections than open files

_LOADING = """
import json, time
from benchmarks.measure import resident
from svc_tools.service.ratebook import load_book
empty, start = resident(), time.process_time()
book = load_book()
print(json.dumps([time.process_time() - start, resident() - empty, resident()]))
"""


def known_zips(book: Book) -> list[tuple[str, str]]:
    """(state, ZIP) of every ZIP that has an answer, states mixed."""
    from svc_tools.service.ratebook import (  # noqa: PLC0415 - the client's benchmarks load none
        NotResolved,
        Query,
        resolve,
    )

    found = []
    for state in sorted(book.states):
        answered = []
        for zip5 in book.zips.zips(state):
            try:
                resolve(book, Query(state, zip=zip5), today=TODAY)
            except NotResolved:
                continue
            answered.append((state, zip5))
        found.append(answered)
    rows = itertools.zip_longest(*found)
    return [one for row in rows for one in row if one is not None]


def request_cost(zips: list[tuple[str, str]]) -> Iterator[Finding]:
    same = [lookup(*zips[0])] * REQUESTS
    different = itertools.cycle([lookup(*one) for one in zips])
    with (
        serving("-m", "benchmarks.server_process", "ours") as ours,
        serving("-m", "benchmarks.server_process", "empty") as empty,
    ):
        for served in (ours, empty):
            served.ask(same)
        ours.ask(list(itertools.islice(different, len(zips))))
        base, repeated, distinct = medians(
            lambda: empty.cpu_of(same),
            lambda: ours.cpu_of(same),
            lambda: ours.cpu_of(list(itertools.islice(different, REQUESTS))),
        )
    kinds = ("the same ZIP", "ever different ZIPs, each asked for once before,")
    for kind, cost in zip(kinds, (repeated, distinct), strict=True):
        yield Finding(
            f"a lookup of {kind} against an empty FastAPI route",
            f"{cost / base:.2f} x",
            "<= 1.6 x",
            f"{cost:.0f} us against {base:.0f} us of server CPU",
            "<= 1.25 x",
        )


def loading() -> Finding:
    told = [
        json.loads(subprocess.check_output([sys.executable, "-c", _LOADING]))  # noqa: S603 - ours
        for _ in range(3)
    ]
    seconds, more, whole = (sorted(column)[1] for column in zip(*told, strict=True))
    return Finding(
        "loading the rate book",
        f"{seconds:.2f} s of CPU, {more / 2**20:.0f} MB",
        "< 1 s, < 150 MB",
        f"{whole / 2**20:.0f} MB is the whole process then",
    )


def resolving(book: Book, zips: list[tuple[str, str]]) -> Iterator[Finding]:
    """Each ZIP for the first time, and again: a book remembers what it found out about one."""
    from svc_tools.service.ratebook import (  # noqa: PLC0415 - the client's benchmarks load none
        Query,
        resolve,
    )

    every = [Query(state, zip=zip5) for state, zip5 in zips[:LOOKUPS]]
    states = len({query.state for query in every})
    begun, queries = every[:states], every[states:]  # one of each state, then the others

    def ask(asked: Book, questions: list[Query]) -> None:
        for query in questions:
            resolve(asked, query, today=TODAY)

    def first() -> float:
        fresh = book.copy()
        fresh.index()
        ask(fresh, begun)
        return timed(lambda: ask(fresh, queries))

    ask(book, queries)
    once, again = (
        f"{seconds / len(queries) * 1e6:.1f} us"
        for seconds in medians(first, lambda: timed(lambda: ask(book, queries)))
    )
    known = f"{len(queries):,} different ZIPs"
    yield Finding(
        "a known ZIP, resolved in process for the first time",
        once,
        "reported",
        f"{known}; one other of each state was asked for before",
    )
    yield Finding(
        "a known ZIP, resolved in process again",
        again,
        "< 20 us",
        f"{known}, each asked for once before",
    )


def throughput(zips: list[tuple[str, str]]) -> Finding:
    """Requests a second with one worker and with two, the load from this process."""
    requests = [lookup(*one) for one in zips[: REQUESTS * 2]]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:

        def started(workers: int) -> Served:
            database = Path(folder) / f"{workers}.db"
            command = ("-m", "svc_tools", "serve", "--port", "0", "--db", str(database))
            options = ("--api-key", KEY, "--workers", str(workers))
            return stack.enter_context(serving(*command, *options))

        alone, both = started(1), started(2)
        for served in (alone, both):
            served.ask(requests)
        times = medians(lambda: alone.ask(requests), lambda: both.ask(requests), rounds=5)
    one, two = (len(requests) / seconds for seconds in times)
    return Finding(
        "requests a second with two workers against one",
        f"{two / one:.2f} x",
        "reported",
        f"{two:,.0f}/s against {one:,.0f}/s; the load itself takes a part of the cores",
    )


def memory(zips: list[tuple[str, str]]) -> Finding:
    """What the process holds after each question was asked once, and after ten times."""
    requests = [lookup(*one) for one in zips[:FEW]]
    with serving("-m", "benchmarks.server_process", "ours") as ours:
        ours.ask(requests)
        early = ours.used().memory
        for _ in range(MANY // FEW - 1):
            ours.ask(requests)
        late = ours.used().memory
    return Finding(
        f"memory after {MANY:,} lookups against after {FEW:,}, of {FEW:,} ZIPs",
        f"{late / early:.2f} x",
        "<= 1.10 x",
        f"{late / 2**20:.0f} MB against {early / 2**20:.0f} MB",
    )


def slow_connections(zips: list[tuple[str, str]]) -> Finding:
    """The slowest lookup over a connection of its own, while another program leaves many open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    seconds = []
    with (
        serving("-m", "benchmarks.server_process", "ours", str(OPEN_FILES)) as ours,
        contextlib.ExitStack() as stack,
    ):
        ours.ask([lookup(*one) for one in zips[:LOOKUPS_AMONG]])  # its book is read by then
        url = urlsplit(ours.address)
        address = url.hostname or "", url.port or 0

        def connected() -> socket.socket:
            return stack.enter_context(socket.create_connection(address, timeout=30))

        for place in range(SLOW):
            with contextlib.suppress(ConnectionError):
                connected().sendall(b"GET /v1/tax" if place % 2 else b"")
        for one in zips[:LOOKUPS_AMONG]:
            start = time.perf_counter()
            with socket.create_connection(address, timeout=30) as connection:
                connection.sendall(lookup(*one))
                read_answer(connection)
            seconds.append(time.perf_counter() - start)
    return Finding(
        f"the slowest of {LOOKUPS_AMONG} lookups beside {SLOW:,} slow connections",
        f"{max(seconds):.3f} s",
        "< 1 s",
        f"half of them silent, half with a part of a header; {OPEN_FILES:,} open files",
    )


def findings() -> Iterator[Finding]:
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - after it was timed

    yield loading()
    book = load_book()
    zips = known_zips(book)
    yield from resolving(book, zips)
    yield from request_cost(zips)
    yield throughput(zips)
    yield memory(zips)
    yield slow_connections(zips)
