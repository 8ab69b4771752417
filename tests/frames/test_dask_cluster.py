"""`ddf.svc` on a cluster of two processes: the answers of pandas, one pace, no key on the way."""

from __future__ import annotations

import functools
import itertools
import os
import signal
import threading
import time
from decimal import Decimal

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from support.dask_tasks import environment, in_turn, most_held, orders
from support.faults import HANG, KEY, answer, echo

import svc_tools
import svc_tools.frames.dask
from svc_sdk import Svc
from svc_tools.config import ConfigurationError
from svc_tools.frames.dask import asking
from svc_tools.lookup.cache import opened_cache

LEASE = {
    "distributed.scheduler.locks.lease-timeout": "2s",
    "distributed.scheduler.locks.lease-validation-interval": "200ms",
    "distributed.comm.timeouts.connect": "10s",
    "distributed.admin.tick.limit": "60s",  # a busy machine is no finding
    "distributed.worker.profile.enabled": False,
}


@pytest.fixture(scope="module")
def cluster(service):
    """Two worker processes that find the service and the key in their environment."""
    with (
        dask.config.set(LEASE),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=50,
            env={"SVC_BASE_URL": service, "SVC_API_KEY": KEY, "SVC_CACHE": "off"},
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
    kept = tmp_path / "answers.db"
    with svc_tools.connect(api_key=KEY, base_url=service) as client:
        plain = ddf.compute().svc.lookup(client=client, cache=kept, progress=False)
    looked = ddf.svc.lookup(cache=kept, progress=False)
    pd.testing.assert_frame_equal(looked.compute(), plain)
    told = looked.compute().attrs["svc_lookup"]
    assert (told["rows"], told["asked"], told["requests"]) == (48, 0, 0)
    taxed = looked.svc.tax("amount")
    pd.testing.assert_frame_equal(taxed.compute(), plain.svc.tax("amount", progress=False))
    for part in dask.compute(*taxed.to_delayed()):
        pd.testing.assert_series_equal(part.dtypes, taxed.dtypes)


def test_a_computed_frame_is_frozen_from_the_cache_and_a_lock_file_needs_no_service(
    cluster, zips, tmp_path
):
    _, ddf = zips
    kept, lock = tmp_path / "answers.db", tmp_path / "orders.svclock"
    first = ddf.svc.lookup(cache=kept, progress=False).compute()
    first.svc.freeze(lock, cache=kept)
    again = ddf.svc.lookup(locked=lock, progress=False)
    assert again.compute().attrs["svc_lookup"]["requests"] == 0
    pd.testing.assert_frame_equal(again.compute(), ddf.compute().svc.lookup(locked=lock))
    rates = ["combined_rate", "lookup_status", "looked_up_at"]
    pd.testing.assert_frame_equal(again.compute()[rates], first[rates])


def test_the_workers_ask_for_each_place_once(cluster, faults, zips):
    _, ddf = zips
    factory = functools.partial(Svc, "another-key", base_url=faults.base_url, max_retries=0)
    looked = ddf.svc.lookup(client=factory, as_of="2026-02-01", progress=False)
    assert len(faults.seen) == len({seen.target for seen in faults.seen}) == 8
    assert {seen.headers["x-api-key"] for seen in faults.seen} == {"another-key"}
    counted = looked.compute()["lookup_status"].value_counts()
    assert dict(counted) == {"ok": 45, "invalid": 2, "unsupported": 1}
    assert len(faults.seen) == 8


def test_a_client_of_this_process_asks_from_here(cluster, faults, scripted, zips, monkeypatch):
    _, ddf = zips
    monkeypatch.setattr("svc_tools.frames.dask.table._LEVEL", 0)  # packed, and legible
    looked = ddf.svc.lookup(client=scripted, as_of="2026-02-01", progress=False)
    assert len(faults.seen) == 8
    for carried in (looked, dict(looked.__dask_graph__())):
        assert KEY.encode() not in cloudpickle.dumps(carried)
    assert set(looked.compute()["lookup_status"]) == {"ok", "invalid", "unsupported"}


def test_the_key_is_in_no_task_of_the_workers(cluster, zips, monkeypatch):
    _, ddf = zips
    monkeypatch.setattr("svc_tools.frames.dask.table._LEVEL", 0)  # packed, and legible
    sent = []
    submit = Client.submit

    def seen(self, *args, **kwargs):
        sent.append(cloudpickle.dumps((args, kwargs)))
        future = submit(self, *args, **kwargs)
        sent.append(cloudpickle.dumps(future.result()))
        return future

    monkeypatch.setattr(Client, "submit", seen)
    looked = ddf.svc.lookup(progress=False)
    assert len(sent) == 4  # who answers, and one batch
    carried = b"".join([*sent, cloudpickle.dumps(dict(looked.__dask_graph__()))])
    assert KEY.encode() not in carried


def test_askers_take_turns(cluster):
    workers = list(cluster.scheduler_info()["workers"])

    def had(times, start):
        turns = [
            cluster.submit(in_turn, "a turn", times, start, workers=[worker], pure=False)
            for worker in workers
        ]
        return sorted(itertools.chain.from_iterable(cluster.gather(turns)))

    had(1, 0)  # both have imported what they need
    both = had(10, time.monotonic() + 0.5)
    assert len(both) == 20
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(both))


def test_a_worker_that_dies_costs_its_batch_alone_and_its_turn_passes_on(
    cluster, faults, monkeypatch
):
    monkeypatch.setattr(asking, "_BATCH", 2)
    frame = pd.DataFrame({"state": "TX", "zip": [f"7870{number}" for number in range(6)]})
    ddf = dd.from_pandas(frame, npartitions=2, sort=False)
    processes = cluster.run(os.getpid)
    killed = []

    def third(seen):
        """The second batch is under way, in its turn, when its worker dies."""
        if len(faults.seen) == 3:
            (worker,) = [name for name, tasks in cluster.processing().items() if tasks]
            killed.append(worker)
            os.kill(processes[worker], signal.SIGKILL)
        return echo(seen)

    faults.will(third)
    factory = functools.partial(Svc, "k", base_url=faults.base_url, max_retries=0)
    looked = ddf.svc.lookup(client=factory, as_of="today", concurrency=1, progress=False)
    assert len(killed) == 1
    asked = [seen.target.rpartition("zip=")[2] for seen in faults.seen]
    assert sorted(asked) == ["78700", "78701", "78702", "78702", "78703", "78704", "78705"]
    assert set(looked.compute()["lookup_status"]) == {"ok"}
    cluster.wait_for_workers(2, timeout=60)


def test_a_second_run_asks_only_for_the_rest_also_where_the_workers_share_no_disk(
    cluster, faults, tmp_path, monkeypatch
):
    monkeypatch.setattr(asking, "_BATCH", 2)
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "answers.db"))  # of this process alone
    frame = pd.DataFrame({"state": "TX", "zip": [f"7870{number}" for number in range(6)]})
    ddf = dd.from_pandas(frame, npartitions=2, sort=False)
    quota = answer(429, b'{"error": {"code": "QUOTA_EXCEEDED", "message": "used up"}}')
    faults.will(echo, echo, echo, quota)
    factory = functools.partial(Svc, "k", base_url=faults.base_url, max_retries=0)
    asking_for = {"client": factory, "as_of": "2026-02-01", "concurrency": 1, "progress": False}
    with pytest.warns(UserWarning, match="used up"):
        first = ddf.svc.lookup(**asking_for)
    assert list(first.compute()["lookup_status"].value_counts().sort_index().items()) == [
        ("failed", 1),
        ("not_attempted", 2),
        ("ok", 3),
    ]
    assert len(faults.seen) == 4
    faults.will(echo)
    second = ddf.svc.lookup(**asking_for)
    assert len(faults.seen) == 7
    assert set(second.compute()["lookup_status"]) == {"ok"}


def test_an_interrupt_keeps_what_was_found(cluster, faults, monkeypatch):
    monkeypatch.setattr(asking, "_BATCH", 2)

    def third(seen):
        if len(faults.seen) == 3:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return echo(seen)

    faults.will(third)
    frame = pd.DataFrame({"state": "TX", "zip": [f"7870{number}" for number in range(6)]})
    ddf = dd.from_pandas(frame, npartitions=2, sort=False)
    factory = functools.partial(Svc, "k", base_url=faults.base_url, max_retries=0)
    with pytest.warns(UserWarning, match="interrupted"):
        looked = ddf.svc.lookup(client=factory, as_of="today", concurrency=1, progress=False)
    statuses = list(looked.compute()["lookup_status"])
    assert statuses[:2] == ["ok", "ok"]
    assert statuses[4:] == ["not_attempted", "not_attempted"]


def test_workers_whose_account_changes_on_the_way_are_refused(cluster, faults, monkeypatch):
    monkeypatch.setattr(asking, "_BATCH", 2)

    def second(seen):
        if len(faults.seen) == 2:
            cluster.run(environment, SVC_API_KEY="the key of another account")
        return echo(seen)

    faults.will(second)
    frame = pd.DataFrame({"state": "TX", "zip": [f"7870{number}" for number in range(6)]})
    ddf = dd.from_pandas(frame, npartitions=2, sort=False)
    before = cluster.run(environment, SVC_BASE_URL=faults.base_url)
    try:
        with pytest.raises(ConfigurationError, match="do not ask the same service") as caught:
            ddf.svc.lookup(as_of="today", concurrency=1, progress=False)
        assert "another account" not in str(caught.value)
    finally:
        for worker, values in before.items():
            cluster.run(environment, workers=[worker], SVC_API_KEY=KEY, **values)


def test_a_deadline_ends_the_whole_run(cluster, faults, monkeypatch):
    monkeypatch.setattr(asking, "_BATCH", 2)
    faults.will(echo, echo, HANG)
    frame = pd.DataFrame({"state": "TX", "zip": [f"7870{number}" for number in range(6)]})
    ddf = dd.from_pandas(frame, npartitions=2, sort=False)
    factory = functools.partial(Svc, "k", base_url=faults.base_url, max_retries=0)
    with pytest.warns(UserWarning, match="the deadline of 4 s was reached"):
        looked = ddf.svc.lookup(client=factory, as_of="today", deadline=4, progress=False)
    computed = looked.compute()
    assert list(computed["lookup_status"][:2]) == ["ok", "ok"]
    rest = computed[computed["lookup_status"] == "not_attempted"]
    assert len(rest) >= 2
    assert set(rest["lookup_error"]) == {"the deadline of 4 s was reached"}


def test_workers_for_another_account_than_this_process_are_refused(
    cluster, service, zips, monkeypatch
):
    _, ddf = zips
    monkeypatch.setenv("SVC_BASE_URL", service)
    monkeypatch.setenv("SVC_API_KEY", "the key of another account")
    with pytest.raises(ConfigurationError, match=r"client=svc_tools\.connect\(\)") as caught:
        ddf.svc.lookup(progress=False)
    assert "another account" not in str(caught.value)


def test_workers_without_a_configuration_use_the_embedded_service_and_it_is_said(cluster, zips):
    _, ddf = zips
    before = cluster.run(environment, SVC_BASE_URL=None, SVC_API_KEY=None)
    try:
        with pytest.warns(UserWarning, match="EMBEDDED service there.*SVC_API_KEY") as warned:
            looked = ddf.svc.lookup(progress=False)
        assert warned[0].filename == __file__
        computed = looked.compute()
        with svc_tools.connect("embedded") as client:
            plain = ddf.compute().svc.lookup(client=client, progress=False)
        moment = ["looked_up_at"]
        pd.testing.assert_frame_equal(computed.drop(columns=moment), plain.drop(columns=moment))
    finally:
        for worker, values in before.items():
            cluster.run(environment, workers=[worker], **values)


def test_the_plan_is_that_of_pandas(cluster, faults, scripted, zips):
    frame, ddf = zips
    planned = ddf.svc.plan(client=scripted, price="0.004")
    assert planned == frame.svc.plan(client=scripted, price="0.004")
    assert (planned.rows, planned.places, planned.to_ask) == (48, 8, 8)
    factory = functools.partial(Svc, KEY, base_url=faults.base_url)
    assert ddf.svc.plan(client=factory).service == faults.base_url
    assert faults.seen == []


def test_an_open_cache_is_refused_because_it_stays_in_its_process(cluster, zips, tmp_path):
    _, ddf = zips
    with (
        opened_cache(tmp_path / "answers.db") as cache,
        pytest.raises(TypeError, match="expected a path that the workers can open"),
    ):
        ddf.svc.lookup(cache=cache, progress=False)


def test_two_hundred_thousand_rows_are_asked_for_by_place_and_fit(cluster, faults):
    places = [("TX", f"7{number:04}") for number in range(200)]
    parts = [dask.delayed(orders)(number, 25_000, places) for number in range(8)]
    ddf = dd.from_delayed(parts, meta=orders(0, 1, places).iloc[:0], verify_meta=False)
    factory = functools.partial(Svc, "k", base_url=faults.base_url, max_retries=0)
    taxed = ddf.svc.lookup(client=factory, as_of="today", progress=False).svc.tax("amount")
    assert len(faults.seen) == 200
    told = taxed.groupby("state")[["tax"]].sum().compute()["tax"]
    plain = pd.concat([orders(number, 25_000, places) for number in range(8)])
    cents = (plain["amount"] * 100).round().astype("int64")
    assert told["TX"] == Decimal(int(((cents * 825 + 5_000) // 10_000).sum())).scaleb(-2)
    assert max(cluster.run(most_held).values()) < 1_000_000_000
