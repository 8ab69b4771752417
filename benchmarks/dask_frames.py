"""Twenty million rows over two workers: what they hold, how long it takes, how many requests.

The rows are made where they are needed, partition by partition, so nothing lies on a disk. The
embedded service runs in a process of its own, and this process sends it the requests.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.load import KEY, serving
from benchmarks.measure import Finding, most_held, scaled
from benchmarks.service import known_zips

if TYPE_CHECKING:
    from collections.abc import Iterator

    import dask.dataframe as dd

WORKERS, MEMORY = 2, "4GB"
PARTITION = scaled(250_000, least=25_000)  # a smaller one takes as long
ROWS, PLACES = scaled(20_000_000, least=WORKERS * PARTITION), scaled(10_000)
DAY = date(2026, 2, 1)


class Measured(NamedTuple):
    """What one run took and held."""

    lookup: float
    """Seconds until every distinct place was looked up."""
    tax: float
    """Seconds until the tax of every row was computed and added up by state."""
    peak: int
    """The most bytes that a worker ever held."""
    requests: int
    rows: int


def orders(number: int, places: list[tuple[str, str]]) -> pd.DataFrame:
    """One partition of orders: always the same ones for the same number."""
    random = np.random.default_rng(number)
    which = random.integers(0, len(places), PARTITION)
    states, zips = (np.array(column) for column in zip(*places, strict=True))
    return pd.DataFrame(
        {
            "order_id": np.arange(number * PARTITION, (number + 1) * PARTITION),
            "state": pd.array(states[which], dtype="string"),
            "zip": pd.array(zips[which], dtype="string"),
            "sku": pd.array(np.char.add("SKU-", which.astype(str)), dtype="string"),
            "quantity": random.integers(1, 9, PARTITION),
            "amount": random.integers(100, 1_000_000, PARTITION) / 100,
        }
    )


def all_orders(rows: int, places: list[tuple[str, str]]) -> dd.DataFrame:
    import dask  # noqa: PLC0415 - the other benchmarks need none
    import dask.dataframe as dd  # noqa: PLC0415 - as above

    shared = dask.delayed(places)  # once, not in each task
    parts = [dask.delayed(orders)(number, shared) for number in range(rows // PARTITION)]
    return dd.from_delayed(parts, meta=orders(0, places[:1]).iloc[:0], verify_meta=False)


def measured(rows: int, places: list[tuple[str, str]]) -> Measured:
    from distributed import Client, LocalCluster  # noqa: PLC0415 - the other benchmarks need none

    import svc_tools.frames.dask  # noqa: F401, PLC0415 - registers the accessor

    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            memory_limit=MEMORY,
            dashboard_address="127.0.0.1:0",  # with None a port in use is a warning
            local_directory=tempfile.gettempdir(),
        ) as cluster,
        Client(cluster) as client,
    ):
        begun = time.perf_counter()
        looked = all_orders(rows, places).svc.lookup(as_of=DAY, progress=False)
        looked_up = time.perf_counter()
        taxed = looked.svc.tax("amount")
        sums = taxed.groupby("state")[["tax"]].sum().compute()
        ended = time.perf_counter()
        assert len(sums) > 1
        assert sums["tax"].notna().any()
        found = looked._meta.attrs["svc"]["lookups"][""]  # noqa: SLF001 - where the frame keeps it
        peak = max(client.run(most_held).values())
        seconds = looked_up - begun, ended - looked_up
        return Measured(*seconds, peak, found["requests"], found["rows"])


def run(rows: int = ROWS) -> Measured:
    """One run against a service of its own, with a cache of its own."""
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - big; only here

    places = known_zips(load_book())[:PLACES]
    with tempfile.TemporaryDirectory() as folder:
        command = ("-m", "svc_tools", "serve", "--port", "0", "--api-key", KEY)
        with serving(*command, "--db", str(Path(folder) / "service.db")) as served:
            os.environ |= {
                "SVC_API_KEY": KEY,
                "SVC_BASE_URL": served.address,
                "SVC_CACHE": str(Path(folder) / "results.db"),
            }
            try:
                return measured(rows, places)
            finally:
                for name in ("SVC_API_KEY", "SVC_BASE_URL", "SVC_CACHE"):
                    del os.environ[name]


def findings() -> Iterator[Finding]:
    found = run()
    seconds = found.lookup + found.tax
    yield Finding(
        f"Dask, {WORKERS} workers: the most that one held, {found.rows:,} rows, all columns, tax",
        f"{found.peak / 2**30:.2f} GB",
        "<= 4 GB",
        f"{found.lookup:.0f} s until {PLACES:,} places were looked up, {found.tax:.0f} s until the"
        f" tax was added up by state ({found.rows / seconds:,.0f} rows/s, one run)",
    )
    yield Finding(
        f"Dask: requests made for {found.rows:,} rows of {PLACES:,} distinct places",
        f"{found.requests:,}",
        f"<= {PLACES:,}",
        "one for each distinct place",
    )


if __name__ == "__main__":
    print(json.dumps(run(int(os.environ.get("ROWS", ROWS)))._asdict()))
