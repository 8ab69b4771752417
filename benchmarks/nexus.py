"""Exposure of five million sales: a frame's beside a plain groupby, and a file's in a process."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from benchmarks.measure import Finding, in_a_process, medians, most_held, scaled, timed
from svc_tools.frames import SvcAccessor
from svc_tools.frames.sales.exposure import daily_sales
from svc_tools.tables.states import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = scaled(5_000_000)
AS_OF = "2026-11-21"
DAYS = 780
ROUNDS = 5


def sales(rows: int = ROWS) -> pd.DataFrame:
    """Two years of order lines to all states, three to an order, refunds among them."""
    random = np.random.default_rng(6)
    states = pd.array(sorted(STATES), dtype="str")
    channels = pd.array(["direct", "marketplace"], dtype="str")
    order = np.sort(random.integers(0, rows // 3, rows))
    day = (np.datetime64(AS_OF) - DAYS) + order * DAYS // (rows // 3)
    return pd.DataFrame(
        {
            "order_id": order,
            "state": states.take(random.integers(0, len(states), rows)),
            "order_date": day.astype("datetime64[s]"),
            "amount": random.integers(-2_000, 20_000, rows) / 100,
            "channel": channels.take((random.random(rows) < 0.3).astype(int)),
        }
    )


def exposure(frame: pd.DataFrame, *, transaction: str | bool = "order_id") -> pd.DataFrame:
    return SvcAccessor(frame).exposure(as_of=AS_OF, progress=False, transaction=transaction)


def of_a_frame() -> Iterator[Finding]:
    frame = sales()
    keys = ["state", "order_date", "channel"]

    def grouped() -> pd.DataFrame:
        return frame.groupby(keys)["amount"].agg(["sum", "count"])

    def orders() -> pd.Series:
        return frame.groupby(keys)["order_id"].nunique()

    plain = frame.assign(amount=np.rint(frame["amount"] * 100).astype(np.int64)).groupby(keys)
    daily = daily_sales(frame, {}).set_index(["state", "day", "channel"]).sort_index()
    assert (daily["gross_cents"].to_numpy() == plain["amount"].sum().to_numpy()).all()
    named = frame[frame["amount"] >= 0].groupby(keys)["order_id"].nunique()
    assert (daily["count"][daily["count"] > 0].to_numpy() == named.to_numpy()).all()
    rows, rows_grouped, lines, orders_grouped = medians(
        lambda: timed(lambda: exposure(frame, transaction=False)),
        lambda: timed(grouped),
        lambda: timed(lambda: exposure(frame)),
        lambda: timed(lambda: (grouped(), orders())),
        rounds=ROUNDS,
    )
    yield Finding(
        f"df.svc.exposure() of {ROWS:,} rows against a groupby of sums and counts",
        f"{rows:.2f} s, {rows / rows_grouped:.2f} x its time",
        "< 5 s, <= 1.5 x",
        f"{ROWS / rows / 1e6:.1f} million rows a second; the groupby {rows_grouped:.2f} s: floats,"
        " no thresholds; every cent and count is that of a groupby of whole cents",
    )
    yield Finding(
        "the same, orders of several lines counted once, against a groupby with nunique()",
        f"{lines:.2f} s, {lines / orders_grouped:.2f} x its time",
        "< 10 s, <= 1.5 x",
        f"{ROWS / lines / 1e6:.1f} million rows a second; {ROWS // 3:,} orders; the groupby"
        f" {orders_grouped:.2f} s",
    )


def of_a_file() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.csv"
        frame = sales()
        table = pa.Table.from_pandas(frame.assign(order_date=frame["order_date"].dt.date))
        csv.write_csv(table, path)
        size = path.stat().st_size // 1024**2
        found = in_a_process(measured, str(path))
        yield Finding(
            f"exposure_of_file() of a CSV of {ROWS:,} rows ({size:,} MB)",
            f"{found['cpu']:.1f} s of CPU, {found['peak'] / 2**20:,.0f} MB",
            "< 30 s, < 1,000 MB",
            "orders counted once; a process of its own, one run",
        )


def measured(path: str) -> dict[str, float]:
    """CPU seconds, and the most bytes held."""
    from svc_tools.frames import exposure_of_file  # noqa: PLC0415 - what is loaded counts

    start = time.process_time()
    found = exposure_of_file(path, as_of=AS_OF, progress=False)
    assert found.attrs["svc_exposure"]["rows"] == ROWS
    return {"cpu": time.process_time() - start, "peak": most_held()}


def findings() -> Iterator[Finding]:
    yield from of_a_frame()
    yield from of_a_file()
