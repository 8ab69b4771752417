"""A file of a million rows, enriched in a process of its own: its CPU time and what it holds.

The answers are in a cache, so that what counts is reading, joining, tax and writing.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.load import KEY, serving
from benchmarks.measure import Finding, most_held
from benchmarks.service import known_zips

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, PLACES = 1_000_000, 10_000
_DAY = "2026-02-01"


def orders(path: Path, places: list[tuple[str, str]], rows: int = ROWS) -> None:
    """Write order lines as a shop exports them, every fifth with a cell in quotation marks."""
    chance = random.Random(4)
    with path.open("w", encoding="utf-8") as file:
        file.write("order_id,state,zip,order_date,sku,quantity,amount,note\n")
        for number in range(rows):
            state, zip_code = chance.choice(places)
            note = '"gift, wrapped"' if number % 5 == 0 else ""
            amount = f"{chance.randrange(100, 1_000_000) / 100:.2f}"
            sold = f"{number:08},{state},{zip_code},{_DAY},SKU-{number % 5_000}"
            file.write(f"{sold},{1 + number % 9},{amount},{note}\n")


def enriched(source: str, output: str) -> str:
    """What one process took: seconds of CPU and megabytes at the most."""
    command = [sys.executable, "-m", "benchmarks.files", source, output]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return done.stdout.strip()


def measured(source: str, output: str) -> None:
    """In the process of its own."""
    from svc_tools.config import connect  # noqa: PLC0415 - what is loaded counts
    from svc_tools.frames import enrich_file  # noqa: PLC0415 - as above

    start = time.process_time()
    with connect() as client:
        run = enrich_file(source, output, tax={"amount": "amount"}, client=client, force=True)
    assert run.totals.taxed
    peak = most_held() // 1024**2
    print(f"{time.process_time() - start:.1f} s of CPU, {peak:,} MB")


def findings() -> Iterator[Finding]:
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - big; only here

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        source = str(here / "orders.csv")
        orders(Path(source), known_zips(load_book())[:PLACES])
        command = ("-m", "svc_tools", "serve", "--port", "0", "--api-key", KEY)
        with serving(*command, "--db", str(here / "service.db")) as served:
            os.environ |= {
                "SVC_API_KEY": KEY,
                "SVC_BASE_URL": served.address,
                "SVC_CACHE": str(here / "results.db"),
            }
            try:
                enriched(source, str(here / "first.parquet"))  # its answers are in the cache now
                for kind, target in (
                    ("csv", "< 15 s, < 1,000 MB"),
                    ("parquet", "< 10 s, < 1,000 MB"),
                ):
                    yield Finding(
                        f"enrich {ROWS:,} rows, all columns and tax, answers cached: CSV to {kind}",
                        enriched(source, str(here / f"out.{kind}")),
                        target,
                        f"{PLACES:,} places; a process of its own, one run",
                    )
            finally:
                for name in ("SVC_API_KEY", "SVC_BASE_URL", "SVC_CACHE"):
                    del os.environ[name]


if __name__ == "__main__":
    measured(*sys.argv[1:])
