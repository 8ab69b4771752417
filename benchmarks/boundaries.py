"""What a boundary file of the largest size costs: its import, and lookups by its records."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.boundary_files import RATES, write_boundary_file
from benchmarks.measure import Finding, scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = scaled(700_000)
LOOKUPS = scaled(2_000)
DAY = date(2026, 5, 1)

_IMPORTING = """
import json, resource, sys, time
from datetime import date
from pathlib import Path
from svc_tools.service.ratebook.imports.importer import import_files

start, cpu = time.perf_counter(), time.process_time()
own, *files = map(Path, sys.argv[1:])
list(import_files(files, own, today=date(2026, 5, 2), fewer=True, force=True))
took = [time.perf_counter() - start, time.process_time() - cpu]
status = Path("/proc/self/status")
if status.is_file():  # ru_maxrss counts the process before exec too
    most = int(status.read_text().split("VmHWM:")[1].split()[0])
else:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([*took, most * 1024]))
"""


def findings() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "book.db")
        rates = Path(folder, "MNR2026Q2FEB18.csv")
        rates.write_text(RATES, encoding="utf-8")
        records = Path(folder, "MNB2026Q2FEB18.csv")
        write_boundary_file(records, ROWS, quoted=True)
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", _IMPORTING, own, rates, records],
            capture_output=True,
            text=True,
            check=True,
        )
        took, busy, memory = json.loads(done.stdout)
        yield Finding(
            f"import of a boundary file of {ROWS:,} records",
            f"{memory / 1e6:.0f} MB of memory",
            "< 400 MB",
            f"{records.stat().st_size / 1e6:.0f} MB read in {took:.1f} s"
            f" ({busy:.1f} s of CPU), kept in {own.stat().st_size / 1e6:.0f} MB",
        )
        yield from lookups(own)


def lookups(own: Path) -> Iterator[Finding]:
    """Each place is asked for once: none is answered from memory but what its ZIP needs."""
    from svc_tools.service.ratebook import (  # noqa: PLC0415 - the client's benchmarks load none
        Query,
        load_book,
        resolve,
    )

    book = load_book(own=own)
    zips = [zip5 for zip5 in book.zips.zips("MN") if "55001" <= zip5 < "56751"]
    asked: dict[str, Iterator[dict[str, Any]]] = {
        "ZIP+4": ({"zip": f"{z}-{n * 37 % 9999 + 1:04}"} for n, z in enumerate(_cycle(zips))),
        "address": (
            {"street": f"{n % 900 + 1} Main St", "city": book.zips.state("MN")[z].city, "zip": z}
            for n, z in enumerate(_cycle([z for z in zips if z in book.zips.state("MN")]))
        ),
        "ZIP": ({"zip": zip5} for zip5 in _cycle(zips)),
    }
    for name, queries in asked.items():
        times = []
        exact = 0
        for query in itertools.islice(queries, LOOKUPS):
            start = time.thread_time()
            answer = resolve(book, Query("MN", as_of=DAY, **query), today=DAY)
            times.append(time.thread_time() - start)
            exact += answer.confidence == "exact"
        times.sort()
        yield Finding(
            f"lookup of {name} by boundary records, in process",
            f"{statistics.median(times) * 1e6:.0f} us",
            "< 1,000 us",
            f"99 of 100 within {times[len(times) * 99 // 100] * 1e6:.0f} us;"
            f" {exact:,} of {LOOKUPS:,} exact",
        )


def _cycle(zips: list[str]) -> Iterator[str]:
    return itertools.cycle(zips)
