"""`ddf.svc`: every figure is that of `df.svc`, whatever the partitions and the workers."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import cloudpickle
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from support.faults import KEY
from support.frames import timeless
from support.systems import posix

import svc_tools
import svc_tools.frames.dask
from svc_tools.frames.dask import ChangedDataError
from svc_tools.lookup.columns import LOOKUP_COLUMNS
from svc_tools.tables.text_dtype import text_dtype

LATER = ["2026-02-01", "2026-03-01"]
MIXED = pd.DataFrame(
    {
        "order": [f"o{number}" for number in range(8)],
        "state": ["CA", "New Jersey", "la", "PR", "OR", None, "CA", "WA"],
        "zip": ["94105", "7030", "70601", "00901", "97201.0", "see notes", "94105", None],
        "city": [
            *("San Francisco", "Hoboken", "Lake Charles", "San Juan", "Seattle", None, "Oakland"),
            "",
        ],
        "sold": ["2026-02-01", "2026-02-01", "2026-01-31", None, "2026-02-01", "", *LATER],
        "amount": [10.0, 20.25, 0.07, 1.0, 3.0, 4.0, -12.5, 1.005],
    },
    index=[10, 10, 7, 5, 3, 1, 0, 0],
)


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads"):
        yield


def parted(frame, *sizes):
    """A Dask frame whose partitions are the next so many rows each; divisions are not known."""
    edges = np.cumsum([0, *sizes])
    parts = [frame.iloc[start:stop] for start, stop in itertools.pairwise(edges)]
    return dd.from_delayed(
        [dask.delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False
    )


def assert_same(ddf, plain):
    computed = ddf.compute()
    # under pandas 2.3 Dask itself makes its text of the caller's objects
    own = [name for name in plain if name in {*MIXED, "invoice"} and plain[name].dtype == object]
    plain = plain.astype({name: computed[name].dtype for name in own})
    pd.testing.assert_frame_equal(timeless(computed), timeless(plain))
    return computed


@pytest.mark.parametrize("rates", ["decimal", "string", "float"])
def test_every_column_has_the_type_and_the_index_of_pandas(embedded, rates):
    asking = {"client": embedded, "progress": False, "rates": rates}
    plain = MIXED.svc.lookup(**asking)
    computed = assert_same(parted(MIXED, 0, 1, 2, 0, 4, 1, 0).svc.lookup(**asking), plain)
    assert list(computed.columns) == [*MIXED.columns, *LOOKUP_COLUMNS]
    assert set(computed["lookup_status"]) >= {"ok", "partial", "unsupported", "invalid"}


@pytest.mark.parametrize("grain", ["day", "month"])
def test_what_a_service_looked_up_is_in_the_cache_of_both(served, tmp_path, grain):
    asking = {"client": served, "progress": False, "as_of_grain": grain}
    asking["cache"] = tmp_path / "answers.db"
    plain = MIXED.svc.lookup(**asking)
    computed = parted(MIXED, 3, 0, 5).svc.lookup(**asking).compute()
    assert_same(parted(MIXED, 3, 0, 5).svc.lookup(**asking), plain)
    assert computed["looked_up_at"].equals(plain["looked_up_at"])
    asked = computed.attrs["svc"]["lookups"][""]
    assert (asked["requests"], asked["cached"], asked["grain"]) == (0, 4, grain)


def test_partitions_are_what_the_frame_says_they_are(embedded):
    ddf = parted(MIXED, 3, 0, 5).svc.lookup(client=embedded, progress=False).svc.tax("amount")
    for part in dask.compute(*ddf.to_delayed()):
        pd.testing.assert_series_equal(part.dtypes, ddf.dtypes)
    assert [len(part) for part in dask.compute(*ddf.to_delayed())] == [3, 0, 5]


def test_known_divisions_are_kept(embedded):
    frame = MIXED.reset_index(drop=True)
    ddf = dd.from_pandas(frame, npartitions=3)
    looked = ddf.svc.lookup(client=embedded, progress=False)
    assert looked.divisions == ddf.divisions
    assert len(looked.loc[2:3].compute()) == 2


def test_categories_may_be_unknown_and_differ_by_partition(embedded):
    frame = MIXED.astype({"state": "category", "zip": "category"})
    parts = [MIXED.iloc[:3].astype({"zip": "category"}), MIXED.iloc[3:].astype({"zip": "category"})]
    ddf = dd.from_delayed([dask.delayed(part) for part in parts], verify_meta=False)
    asking = {"client": embedded, "progress": False}
    added = list(LOOKUP_COLUMNS)
    plain = frame.svc.lookup(**asking)[added]
    computed = ddf.svc.lookup(**asking).compute()[added]
    pd.testing.assert_frame_equal(timeless(computed), timeless(plain))
    known = dd.from_pandas(frame.reset_index(drop=True), npartitions=3)
    computed = known.svc.lookup(**asking).compute()[added]
    pd.testing.assert_frame_equal(timeless(computed), timeless(plain.reset_index(drop=True)))


def test_an_exception_counts_the_rows_and_carries_the_lazy_frame(embedded):
    with pytest.raises(svc_tools.LookupFailedError, match="3 of 8 rows") as caught:
        parted(MIXED, 3, 5).svc.lookup(client=embedded, progress=False, errors="raise")
    assert isinstance(caught.value.frame, dd.DataFrame)
    assert len(caught.value.frame.compute()) == 8


def test_the_columns_of_an_earlier_lookup_are_replaced_and_a_users_are_not(embedded):
    ddf = parted(MIXED, 3, 5)
    twice = ddf.svc.lookup(client=embedded, progress=False).svc.tax("amount")
    twice = twice.svc.lookup(client=embedded, progress=False)
    assert list(twice.columns) == list(twice.compute().columns) == [*MIXED.columns, *LOOKUP_COLUMNS]
    with pytest.raises(ValueError, match="'warnings'"):
        ddf.assign(warnings="mine").svc.lookup(client=embedded, progress=False)


def test_known_values_in_an_unknown_combination_are_never_taken_for_another(scripted):
    times = []
    cells = pd.DataFrame(
        {"state": ["TX", "TX"], "zip": ["78701", "75201"], "city": ["Austin", None]}
    )

    def moving(part):
        times.append(None)
        return part.assign(city=part["city"].tolist()[:: -1 if len(times) > 2 else 1])

    ddf = parted(cells, 2).map_partitions(moving, meta=cells.iloc[:0])
    looked = ddf.svc.lookup(client=scripted, progress=False, as_of="today")
    with pytest.raises(ChangedDataError, match="'city' now holds"):
        looked.compute()


def test_the_register_of_nexus_is_read_here_once(embedded, tmp_path):
    register = tmp_path / "nexus.csv"
    register.write_text("state,nexus_type,registered_at\nCA,physical,\nNJ,economic,2020-01-01\n")
    asking = {"client": embedded, "progress": False, "as_of": "sold"}
    plain = MIXED.svc.lookup(**asking).svc.tax("amount", nexus=register, progress=False)
    taxed = parted(MIXED, 3, 5).svc.lookup(**asking).svc.tax("amount", nexus=register)
    records = iter([{"state": "CA", "nexus_type": "physical", "registered_at": None}])
    from_records = parted(MIXED, 3, 5).svc.lookup(**asking).svc.tax("amount", nexus=records)
    register.unlink()  # as on a worker, which has no such file
    computed = assert_same(taxed, plain)
    assert computed.attrs["svc"]["terms"] == plain.attrs["svc"]["terms"]
    assert from_records.compute()["tax_due"].notna().sum() == 2


def test_tax_by_invoice_needs_an_invoice_in_one_partition(embedded):
    asking = {"client": embedded, "progress": False}
    frame = MIXED.assign(invoice=["a", "a", "b", "b", "b", None, "c", None])
    plain = frame.svc.lookup(**asking).svc.tax("amount", invoice="invoice", progress=False)
    whole = parted(frame, 2, 4, 2).svc.lookup(**asking).svc.tax("amount", invoice="invoice")
    assert_same(whole, plain)
    split = parted(frame, 1, 2, 5).svc.lookup(**asking)
    with pytest.raises(ValueError, match=r"2 of 3 invoices.*shuffle\('invoice'\)"):
        split.svc.tax("amount", invoice="invoice")


def test_what_needs_all_rows_in_one_place_says_so():
    with pytest.raises(AttributeError, match=r"ddf\.compute\(\)\.svc\.report"):
        _ = parted(MIXED, 8).svc.report
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = parted(MIXED, 8).svc.nonsense


@pytest.mark.parametrize(
    "first", ["import svc_tools, dask.dataframe", "import dask.dataframe, svc_tools"]
)
def test_the_accessor_is_there_in_either_order_of_imports(first):
    code = f"{first}; print(dask.dataframe.DataFrame.svc.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("DaskSvcAccessor", "")


def test_frames_of_pandas_load_no_dask():
    code = "import sys, pandas, svc_tools; pandas.DataFrame().svc; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


CELLS = st.sampled_from(
    ["78701", "78701.0", 78701, 78701.5, None, float("nan"), "", date(2026, 2, 1)]
)


@pytest.mark.filterwarnings("ignore:No row can be used")
@examples(6, of=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
)
def test_whatever_the_cells_and_the_cuts_each_row_gets_its_own_result(embedded, rows, cuts):
    frame = pd.DataFrame({"zip": [a for a, _ in rows], "city": [b for _, b in rows]}, dtype=object)
    sizes = np.diff(sorted({0, len(frame), *(cut for cut in cuts if cut < len(frame))}))
    with dask.config.set({"dataframe.convert-string": False}):
        ddf = parted(frame, *(sizes if len(sizes) else [0]))
        asking = {"client": embedded, "cache": False, "progress": False}
        columns = ["combined_rate", "warnings"]
        looked = ddf.svc.lookup(**asking, columns=columns).compute()
    plain = frame.svc.lookup(**asking, columns=columns)
    pd.testing.assert_frame_equal(looked, plain)


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


def test_every_column_is_that_of_pandas_cluster(cluster, service, zips, tmp_path):
    _, ddf = zips
    with svc_tools.connect(api_key=KEY, base_url=service) as client:
        asking = {"client": client, "cache": tmp_path / "answers.db", "progress": False}
        plain = ddf.compute().svc.lookup(**asking)
        looked = ddf.svc.lookup(**asking)
    pd.testing.assert_frame_equal(looked.compute(), plain)
    found = looked.compute().attrs["svc"]["lookups"][""]
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


@posix
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
    zips = np.array([f"7{number:04}" for number in range(200)])

    def orders(number, rows=25_000):
        random = np.random.default_rng(number)
        some = pd.array(zips[random.integers(0, len(zips), rows)], dtype=text_dtype())
        amounts = random.integers(100, 1_000_000, rows) / 100
        return pd.DataFrame({"state": "TX", "zip": some, "amount": amounts})

    def most_held():
        """The most bytes that this worker ever held; 0 where the system does not say."""
        status = Path("/proc/self/status")
        lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
        return max((int(one.split()[1]) * 1024 for one in lines if "VmHWM" in one), default=0)

    parts = [dask.delayed(orders)(number) for number in range(8)]
    ddf = dd.from_delayed(parts, meta=orders(0, 1).iloc[:0], verify_meta=False)
    taxed = ddf.svc.lookup(client=scripted, as_of="today", progress=False).svc.tax("amount")
    assert len(faults.seen) == 200
    sums = taxed.groupby("state")[["tax"]].sum().compute()["tax"]
    cents = (pd.concat(map(orders, range(8)))["amount"] * 100).round().astype("int64")
    assert sums["TX"] == Decimal(int(((cents * 825 + 5_000) // 10_000).sum())).scaleb(-2)
    assert max(cluster.run(most_held).values()) < 1_000_000_000


def test_orders_whose_amounts_are_in_several_partitions_are_refused(embedded) -> None:
    row = {"Order Date": "2026-05-01", "Recipient Postal Code": "02134", "Recipient Region": "MA"}
    items = [row | {"Order": name, "Order Subtotal": "10.00"} for name in ("1", "2", "2", "3")]
    split, whole = (
        dd.concat([dd.from_pandas(pd.DataFrame(some), npartitions=1) for some in parts])
        for parts in ((items[:2], items[2:]), (items[:3], items[3:]))
    )

    with pytest.raises(ValueError, match=r"order: 1 of 3 orders .*shuffle\('Order'\)"):
        split.svc.lookup(client=embedded, cache=False, progress=False).svc.tax()

    taxed = whole.svc.lookup(client=embedded, cache=False, progress=False).svc.tax().compute()
    assert [str(one) for one in taxed["tax"]] == ["0.63", "0.63", "0.00", "0.63"]
