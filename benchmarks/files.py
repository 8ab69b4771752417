"""A file of a million rows, enriched in a process of its own: its CPU time and what it holds.

With the results in a cache, reading, joining, tax and writing are what counts. The first time it is
measured against what pandas does with the same file.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.load import KEY, serving
from benchmarks.measure import Finding, in_a_process, medians, most_held, scaled, size_of
from benchmarks.service import known_zips

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS, PLACES = scaled(1_000_000), scaled(10_000)
FIRST_PLACES, FIRST_ROUNDS = scaled(30_000), 3
_DAY = date(2026, 2, 1)
_YEAR = [date(2025, 11, 1) + timedelta(number) for number in range(365)]


def orders(
    path: Path,
    places: list[tuple[str, str]],
    rows: int = ROWS,
    days: Sequence[date] = (_DAY,),
) -> None:
    """Write order lines as a shop exports them, every fifth with a cell in quotation marks."""
    chance = random.Random(4)
    with path.open("w", encoding="utf-8") as file:
        file.write("order_id,state,zip,order_date,sku,quantity,amount,note\n")
        for number in range(rows):
            state, zip_code = chance.choice(places)
            note = '"gift, wrapped"' if number % 5 == 0 else ""
            amount = f"{chance.randrange(100, 1_000_000) / 100:.2f}"
            sold = f"{number:08},{state},{zip_code},{chance.choice(days)},SKU-{number % 5_000}"
            file.write(f"{sold},{1 + number % 9},{amount},{note}\n")


def measured(
    source: str, output: str, target: Literal["embedded"] | None = None
) -> dict[str, float]:
    """CPU seconds of all threads, and bytes: at the most, and in the folder of the cache."""
    from svc_tools.config import cache_path, connect  # noqa: PLC0415 - what is loaded counts
    from svc_tools.frames import enrich_file  # noqa: PLC0415 - as above

    start = time.process_time()
    with connect(target) as client:
        run = enrich_file(source, output, tax={"amount": "amount"}, client=client, force=True)
    took = time.process_time() - start
    assert run.totals.taxed
    cache = cache_path()
    return {"cpu": took, "peak": most_held(), "cache": size_of(cache.parent) if cache else 0}


def measured_plain(source: str, enriched: str, output: str) -> dict[str, float]:
    """CPU seconds of pandas: the file read, joined with dated rates, and written.

    The rates, and the tax with them, are those of a file that we enriched, as they stand there.
    """
    import pandas as pd  # noqa: PLC0415 - as above

    from benchmarks.frames import KEYS, dated_rates  # noqa: PLC0415 - as above

    own = pd.read_csv(source, nrows=0).columns
    found = pd.read_csv(enriched, dtype="str").drop_duplicates(KEYS)
    rates = dated_rates(found.drop(columns=own.difference(KEYS)))
    start = time.process_time()
    read = pd.read_csv(source, dtype={"zip": "str"}, parse_dates=["order_date"])
    left = read.reset_index().sort_values("order_date")
    joined = pd.merge_asof(left, rates, on="order_date", by=KEYS)
    joined.set_index("index").sort_index().to_csv(output, index=False)
    return {"cpu": time.process_time() - start, "columns": len(joined.columns) - 1}


def cached(folder: Path, known: list[tuple[str, str]]) -> Iterator[Finding]:
    """The second time, over HTTP."""
    source = folder / "orders.csv"
    orders(source, known[:PLACES])
    command = ("-m", "svc_tools", "serve", "--port", "0", "--api-key", KEY)
    with serving(*command, "--db", str(folder / "service.db")) as served:
        environment = {
            "SVC_API_KEY": KEY,
            "SVC_BASE_URL": served.address,
            "SVC_CACHE": str(folder / "results.db"),
        }

        def run(output: str) -> dict[str, float]:
            return in_a_process(measured, str(source), str(folder / output), **environment)

        run("first.parquet")  # its results are in the cache now
        for kind, target in (("csv", "< 15 s, < 1,000 MB"), ("parquet", "< 10 s, < 1,000 MB")):
            found = run(f"out.{kind}")
            yield Finding(
                f"enrich {ROWS:,} rows, all columns and tax, results cached: CSV to {kind}",
                f"{found['cpu']:.1f} s of CPU, {found['peak'] / 2**20:,.0f} MB",
                target,
                f"{PLACES:,} places; a process of its own, one run",
            )


def first(folder: Path, known: list[tuple[str, str]]) -> Finding:
    """The first time, on the embedded service, beside pandas."""
    source, enriched, plain = (str(folder / f"{name}.csv") for name in ("year", "ours", "plain"))
    orders(Path(source), known[:FIRST_PLACES], days=_YEAR)
    runs: list[dict[str, float]] = []
    columns = 0

    def ours() -> float:
        runs.append(in_a_process(measured, source, enriched, "embedded"))
        return runs[-1]["cpu"]

    def pandas() -> float:
        nonlocal columns
        found = in_a_process(measured_plain, source, enriched, plain)
        columns = int(found["columns"])
        return found["cpu"]

    mine, theirs = medians(ours, pandas, rounds=FIRST_ROUNDS)
    peak = statistics.median(run["peak"] for run in runs)
    return Finding(
        f"first enrich of {ROWS:,} rows, {FIRST_PLACES:,} ZIPs and {len(_YEAR)} days, embedded, all"
        " columns and tax, CSV to CSV, against pandas",
        f"{mine / theirs:.2f} x, {peak / 2**20:,.0f} MB",
        "<= 1.5 x, <= 700 MB",
        f"{mine:.1f} s of CPU against {theirs:.1f} s to read it, one merge_asof with dated rates,"
        f" rows in their order, and the same {columns} columns written, rates and tax as texts;"
        f" {max(run['cache'] for run in runs) / 1e6:,.1f} MB in the folder of the cache; processes"
        " of their own, imports apart",
    )


def findings() -> Iterator[Finding]:
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - big; only here

    known = known_zips(load_book())
    with tempfile.TemporaryDirectory() as folder:
        yield from cached(Path(folder), known)
        yield first(Path(folder), known)
