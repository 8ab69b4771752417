"""`ddf.svc` on a cluster of two processes: the results of pandas, no key on the way."""

from __future__ import annotations

import os
import signal
from decimal import Decimal

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from support.dask_tasks import most_held, orders
from support.faults import KEY

import svc_tools
import svc_tools.frames.dask

QUIET = {
    "distributed.comm.timeouts.connect": "60s",
    "distributed.admin.tick.limit": "60s",  # a busy machine is no finding
    "distributed.worker.profile.enabled": False,
}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes that know no service and no key."""
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # with None a port in use is a warning
            memory_limit=0,
            silence_logs=50,
        ) as running,
        Client(running) as client,
    ):
        yield client


@pytest.fixture
def zips():
    """Orders of many places, in partitions that share them."""
    known = ["94105", "10001", "60601", "98101", "78701", "33101", "02134", "80202"]
    frame = pd.DataFrame(
        {
            "zip": [*(known * 6)[:45], None, "see notes", "00901"],
            "order_date": pd.to_datetime(["2026-02-01", "2026-02-02"] * 24),
            "amount": np.arange(48) * 100 / 7 // 0.01 / 100,
            "kind": pd.Categorical(["a", "b", "c"] * 16),
        }
    )
    return frame, dd.from_pandas(frame, npartitions=7, sort=False)


def test_every_column_is_that_of_pandas(cluster, service, zips, tmp_path):
    _, ddf = zips
    with svc_tools.connect(api_key=KEY, base_url=service) as client:
        asking = {"client": client, "cache": tmp_path / "answers.db", "progress": False}
        plain = ddf.compute().svc.lookup(**asking)
        looked = ddf.svc.lookup(**asking)
    pd.testing.assert_frame_equal(looked.compute(), plain)
    found = looked.compute().attrs["svc_lookup"]
    assert (found["rows"], found["asked"], found["requests"]) == (48, 0, 0)
    taxed = looked.svc.tax("amount")
    pd.testing.assert_frame_equal(taxed.compute(), plain.svc.tax("amount", progress=False))
    for part in dask.compute(*taxed.to_delayed()):
        pd.testing.assert_series_equal(part.dtypes, taxed.dtypes)


def test_each_place_is_requested_once_from_here_and_no_task_holds_the_key(
    cluster, faults, scripted, zips, monkeypatch
):
    _, ddf = zips
    monkeypatch.setattr("svc_tools.frames.dask._LEVEL", 0)  # packed, and legible
    looked = ddf.svc.lookup(client=scripted, as_of="2026-02-01", progress=False)
    assert len(faults.seen) == len({seen.target for seen in faults.seen}) == 8
    for carried in (looked, dict(looked.__dask_graph__())):
        packed = cloudpickle.dumps(carried)
        assert KEY.encode() not in packed
        assert b"confidence" in packed
    counted = looked.compute()["lookup_status"].value_counts()
    assert dict(counted) == {"ok": 45, "invalid": 2, "unsupported": 1}
    assert len(faults.seen) == 8


def test_a_worker_that_dies_costs_no_request(cluster, faults, scripted, zips):
    _, ddf = zips
    looked = ddf.svc.lookup(client=scripted, as_of="2026-02-01", progress=False)
    first = looked.compute()
    os.kill(min(cluster.run(os.getpid).values()), signal.SIGKILL)
    pd.testing.assert_frame_equal(looked.compute(), first)
    assert len(faults.seen) == 8
    cluster.wait_for_workers(2, timeout=120)


def test_the_plan_is_that_of_pandas(cluster, faults, scripted, zips):
    frame, ddf = zips
    planned = ddf.svc.plan(client=scripted, price="0.004")
    assert planned == frame.svc.plan(client=scripted, price="0.004")
    assert (planned.rows, planned.places, planned.to_ask) == (48, 8, 8)
    assert faults.seen == []


def test_two_hundred_thousand_rows_are_looked_up_by_place_and_fit(cluster, faults, scripted):
    places = [("TX", f"7{number:04}") for number in range(200)]
    parts = [dask.delayed(orders)(number, 25_000, places) for number in range(8)]
    ddf = dd.from_delayed(parts, meta=orders(0, 1, places).iloc[:0], verify_meta=False)
    taxed = ddf.svc.lookup(client=scripted, as_of="today", progress=False).svc.tax("amount")
    assert len(faults.seen) == 200
    sums = taxed.groupby("state")[["tax"]].sum().compute()["tax"]
    plain = pd.concat([orders(number, 25_000, places) for number in range(8)])
    cents = (plain["amount"] * 100).round().astype("int64")
    assert sums["TX"] == Decimal(int(((cents * 825 + 5_000) // 10_000).sum())).scaleb(-2)
    assert max(cluster.run(most_held).values()) < 1_000_000_000
