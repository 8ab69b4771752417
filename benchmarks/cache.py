"""What the cache costs: 10,000 answers written, found in the file, found in memory."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Finding, medians, scaled, timed
from svc_tools.config import Source
from svc_tools.lookup import Found, Outcome
from svc_tools.lookup.cache import Cache, CacheAtPath
from svc_tools.tables.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = scaled(10_000)
SOURCE = Source("https://rates.example", "0123456789abcdef")
FOUND = Found(
    combined=8250,
    state=6250,
    county=0,
    city=1000,
    districts=1000,
    freight_taxable=True,
    confidence="high",
    warnings=(),
    resolved_via="zip5",
    effective_date="2024-01-01",
    effective_date_basis="publisher_effective_date",
    resolved_state="TX",
    resolved_zip=None,
    resolved_city=None,
    resolved_county=None,
    source="the publisher of the rates",
    edition="2026-04",
)


def findings() -> Iterator[Finding]:
    places = [
        Place("TX", "zip", zip=f"{number:05d}", as_of=date(2024, 1 + number % 12, 1))
        for number in range(COUNT)
    ]
    now = datetime.now(UTC)
    answers = [
        (
            place,
            Outcome(
                "ok",
                None,
                replace(
                    FOUND,
                    combined=7000 + number % 900,
                    resolved_zip=place.zip,
                    resolved_city=f"City {number % 900}",
                    resolved_county=f"County {number % 254}",
                ),
                looked_up_at=now,
            ),
        )
        for number, place in enumerate(places)
    ]
    with tempfile.TemporaryDirectory() as folder:
        count = 0

        def write() -> float:
            nonlocal count
            count += 1
            cache = Cache(Path(folder, f"{count}.db"))
            cache.known(SOURCE, places[:1], detail=False)  # the file is made
            return timed(lambda: cache.store(SOURCE, answers, detail=False))

        def read() -> float:
            store = CacheAtPath(Path(folder, "1.db"))
            store.known(SOURCE, places[:1], detail=False, now=now)
            took = timed(lambda: found(store.known(SOURCE, places, detail=False, now=now)))
            store.close()
            return took

        warm = Cache(Path(folder, "1.db"))

        def remember() -> float:
            return timed(lambda: found(warm.known(SOURCE, places, detail=False)))

        def found(known: dict[Place, Outcome]) -> None:
            assert len(known) == COUNT

        write()
        remember()
        written, from_file, from_memory = (took * 1000 for took in medians(write, read, remember))
        size = sum(one.stat().st_size for one in Path(folder).glob("1.db*"))  # with its log
    yield Finding(
        f"cache: {COUNT:,} answers written in one transaction",
        f"{written:.0f} ms",
        "<= 74 ms",
        f"{written * 1000 / COUNT:.1f} us an answer, on the disk when it returns",
    )
    yield Finding(
        f"cache: {COUNT:,} answers found in the file",
        f"{from_file:.0f} ms",
        "<= 11 ms",
        f"{from_file * 1000 / COUNT:.1f} us an answer, each checked by its checksum and made whole"
        f" (the target is for rows of integers as they are stored); {size:,} bytes",
    )
    yield Finding(
        f"cache: {COUNT:,} answers found in memory",
        f"{from_memory:.1f} ms",
        "<= 5 ms",
        f"{from_memory * 1000 / COUNT:.2f} us an answer",
    )
