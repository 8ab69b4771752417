"""Frame, file, Dask and polars take one road: the same rows of the embedded service on all of them.

A run that ends early, and runs of several threads at once, leave no row without its outcome.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.frames import timeless
from support.runners import Dask, Polars, by_rows
from support.systems import posix
from support.waiting import Steps

import svc_tools
import svc_tools.frames.dask
from svc_tools.frames import enrich_file
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.lookup.joining import ResultColumns
from svc_tools.frames.taxes.tax import Tax
from svc_tools.lookup.columns import SALE_COLUMNS
from svc_tools.lookup.computed import Computed
from svc_tools.tables import tabular
from svc_tools.tables.roles import ColumnAmbiguous, DatesAmbiguous

EXPORTS = Path(__file__).parents[1] / "data" / "exports"

PLACES = [
    *(("TX", "78701", "Austin"), ("TX", "78701", "Houston"), ("WA", "98101", None)),
    *(("NY", "10001", None), (None, "7030", None), ("LA", "70601", "Lake Charles")),
    *(("CA", "00000", None), ("PR", "00901", None), ("ZZ", "1", None), (None, None, None)),
    *(("CA", None, "San Francisco"), ("OR", "97201", None), ("KS", "66002", None)),
]
DAYS = ["2026-01-01", "2026-03-31", "2026-04-01", "2026-06-30", "2026-07-01", "2026-11-01", "", "?"]


def orders(count=120):
    """Rows of every kind: refused by their place, by their date, and by both."""
    return pd.DataFrame(
        {
            "order_id": [f"A{number}" for number in range(count)],
            "state": [PLACES[number % 13][0] for number in range(count)],
            "zip": [PLACES[number % 13][1] for number in range(count)],
            "city": [PLACES[number % 13][2] for number in range(count)],
            "sold": [DAYS[number * 5 % 8] for number in range(count)],
            "amount": [f"{number * 7919 % 5_000 / 100 - 3:.2f}" for number in range(count)],
        }
    )


LOOKUPS = {
    "dated": {"as_of": "sold"},
    "undated": {"as_of": False},
    "one day": {"as_of": date(2026, 3, 31)},
    "today": {"as_of": "today"},
    "by month": {"as_of": "sold", "as_of_grain": "month"},
    "one place": {"state": "WA", "zip": "98101", "city": False, "as_of": "sold"},
    "all refused but by place": {"state": "TX", "as_of": "sold"},
    "details": {"as_of": "sold", "detail": True, "prefix": "p_"},
    "short": {"as_of": "sold", "columns": "short"},
    "some columns": {"as_of": "sold", "columns": ["combined_rate", "needs_review"]},
    "without the city": {"as_of": "sold", "city": False},
}


@pytest.mark.parametrize("lookup", LOOKUPS.values(), ids=LOOKUPS)
def test_every_road_gives_the_rows_of_the_frame(by_frame, elsewhere, lookup):
    frame = orders()
    tax = {"amount": "amount", "contains_tax": False}
    tax = tax if isinstance(lookup.get("columns", ""), str) else None
    expected, got = (by_rows(run(frame, tax=tax, **lookup)) for run in (by_frame, elsewhere))
    assert [*got] == [*expected]
    for name, cells in expected.items():
        assert got[name] == cells, name
    status = Counter(expected[f"{lookup.get('prefix', '')}lookup_status"])
    assert status["ok"] > 10
    assert status["invalid"] > 5 or lookup != LOOKUPS["dated"]


TAXES = {
    "plain": ({}, 1),
    "rounded up": ({"rounding": "up", "partial": "use"}, None),
    "delivery": ({"shipping": "freight", "exempt": "exempt", "rounding": "half_even"}, 7),
    "invoices": (
        {"invoice": "invoice", "shipping": "freight", "partial": "use", "rounding": "up"},
        7,
    ),
    "a channel": (
        {"invoice": "invoice", "channel": "channel", "ship_from": "state", "exempt": "exempt"},
        1,
    ),
    "registrations": (
        {"nexus": [{"state": "TX", "nexus_type": "economic"}], "channel": "channel"},
        None,
    ),
    "one channel": ({"channel": "marketplace", "ship_from": "TX", "shipping": "2.00"}, 7),
}
"""The terms of a tax, and how many rows are read at once."""


def sales(count=60):
    """Rows with all that a tax may name; some cells cannot be read."""
    places = [("TX", "78701"), ("WA", "98101"), ("OR", "97201"), ("CA", "94105"), (None, "00901")]
    return pd.DataFrame(
        {
            "state": [places[n % 5][0] for n in range(count)],
            "zip": [places[n % 5][1] if n % 13 else None for n in range(count)],
            "sold": [f"2026-0{n % 3 + 1}-01" if n % 17 else "?" for n in range(count)],
            "amount": [
                f"{(n * 7919) % 2_000 / 100 - 4:.2f}" if n % 19 else "x" for n in range(count)
            ],
            "freight": [Decimal(n % 4) for n in range(count)],
            "exempt": [n % 6 == 0 for n in range(count)],
            "invoice": [f"I{n * 5 % 17}" if n % 4 else None for n in range(count)],
            "channel": ["direct" if n % 3 else "marketplace" for n in range(count)],
        }
    )


@pytest.mark.parametrize(("tax", "size"), TAXES.values(), ids=TAXES)
def test_every_road_gives_the_tax_of_the_frame(by_frame, elsewhere, tax, size):
    frame = sales(20 if size == 1 else 60)
    whole = "invoice" in tax and isinstance(elsewhere, Dask)  # its parts have whole invoices
    elsewhere.size = len(frame) if whole else size
    tax = {"amount": "amount", **tax}
    expected, got = (by_rows(run(frame, tax=tax, as_of="sold")) for run in (by_frame, elsewhere))
    assert got == expected
    assert len(set(got["tax"])) > len(frame) / 7


def test_every_road_refuses_a_column_that_is_not_there(run):
    with pytest.raises(ValueError, match="'amuont'"):
        run(orders(), as_of="sold", tax={"amount": "amuont"})


def test_dates_of_all_rows_decide_together_on_every_road(run):
    days = ["03/02/2026", "04/02/2026", "05/02/2026", "31/12/2025"]
    frame = pd.DataFrame({"state": "TX", "zip": "78701", "sold_at": days})
    run.size = 2
    assert by_rows(run(frame))["lookup_as_of"][:2] == ["2026-02-03", "2026-02-04"]
    either = frame.iloc[:3]
    with pytest.raises(DatesAmbiguous):
        run(either)
    told = by_rows(run(either, date_format="month first"))["lookup_as_of"]
    assert told == ["2026-03-02", "2026-04-02", "2026-05-02"]
    exchanged = frame.assign(sold_at=["2026-09-10"] * 3 + ["30/9/2026"])
    with pytest.raises(DatesAmbiguous, match="exchanges the two"):
        run(exchanged)


def test_a_country_is_left_out_or_asked_about_on_every_road(run):
    rows = {"State": ["WA", "", "NY"], "Zip": ["98101", "10115", "10011"]}
    frame = pd.DataFrame({**rows, "Country": ["US", "DE", "US"]})
    found = run(frame, as_of="2026-08-14")
    assert [*found["lookup_status"]] == ["ok", "unsupported", "ok"]
    with pytest.raises(ColumnAmbiguous, match="country=False"):
        run(frame.assign(Country="China"), as_of="2026-08-14")


OPTIONS = {
    "plain": ({}, {}),
    "none": ({}, None),
    "short": ({"columns": "short"}, {}),
    "some": ({"columns": ["combined_rate", "rate_low", "rate_high"]}, None),
    "detail": ({"detail": True}, {"shipping": "freight"}),
    "prefix": ({"prefix": "svc_"}, {"shipping": "5.00", "exempt": "exempt"}),
    "channel": ({}, {"channel": "channel", "ship_from": "TX"}),
    "nexus": ({}, {"nexus": [{"state": "TX", "nexus_type": "economic"}], "shipping": "freight"}),
    "both": (
        {"columns": "short", "prefix": "x_"},
        {"channel": "channel", "exempt": "exempt"},
    ),
}


@pytest.mark.parametrize(("lookup", "tax"), OPTIONS.values(), ids=OPTIONS)
def test_a_file_has_the_schema_and_the_record_of_its_frame(embedded, tmp_path, lookup, tax):
    frame = orders(30).assign(freight="1.50", exempt=False, channel="direct")
    tax = tax if tax is None else {"amount": "amount", "contains_tax": False, **tax}
    _schemas_are_equal(frame, embedded, tmp_path, lookup, tax)


@pytest.mark.parametrize("name", ["shopify.csv", "woocommerce.csv", "amazon.txt"])
def test_an_export_has_the_columns_of_its_sales_in_the_schema(embedded, tmp_path, name):
    frame = pd.read_csv(EXPORTS / name, dtype=str, sep="\t" if name.endswith("txt") else ",")
    whole = _schemas_are_equal(frame, embedded, tmp_path, {"tz": "America/Chicago"}, {}).schema
    assert {*SALE_COLUMNS} & {*whole.names}
    source, output = tmp_path / "in.parquet", tmp_path / "short.parquet"
    enrich_file(source, output, tax={}, client=embedded, tz="America/Chicago", columns="short")
    short = parquet.read_schema(output)
    assert [one for one in _kinds(whole) if one[0] in short.names] == _kinds(short)
    assert {*whole.names} - {*short.names} >= {"state_tax", "looked_up_at"}


def _schemas_are_equal(frame, embedded, folder, lookup, tax):
    prefix = lookup.get("prefix", "")
    whole = frame.svc.lookup(client=embedded, progress=False, **lookup)
    if tax is not None:
        whole = whole.svc.tax(progress=False, prefix=prefix, **tax)
    whole.to_parquet(folder / "whole.parquet", index=False)
    frame.to_parquet(folder / "in.parquet", index=False)
    enrich_file(folder / "in.parquet", folder / "out.parquet", tax=tax, client=embedded, **lookup)
    ours, theirs = (parquet.read_table(folder / f"{name}.parquet") for name in ("out", "whole"))
    assert _kinds(ours.schema) == _kinds(theirs.schema)
    back = pd.read_parquet(folder / "out.parquet")
    added = [name for name in ours.schema.names if name not in frame.columns]
    assert [*Stamp.of(back).columns] == [prefix]
    assert [*Stamp.of(back).columns[prefix]] == added
    assert {*added} == {*Stamp.of(whole).columns[prefix]}
    assert Stamp.of(back).columns[prefix] == {
        name: str(pd.ArrowDtype(ours.schema.field(name).type)) for name in added
    }
    assert Stamp.of(back).terms == Stamp.of(whole).terms
    assert {*back.attrs} == {*whole.attrs}
    for of, record in Stamp.of(whole).lookups.items():
        assert Stamp.of(back).lookups[of]["inputs"] == record["inputs"]
    return ours


def _kinds(schema):
    """The columns with what they hold, however a text is stored."""
    kinds = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        is_text = pa.types.is_large_string(kind) or pa.types.is_null(kind)
        kinds.append((field.name, pa.string() if is_text else kind))
    return kinds


@pytest.mark.parametrize("tax", [None, {"amount": "amount", "contains_tax": False}])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_is_read_twice_and_nothing_is_computed_without_rows(
    embedded, tmp_path, monkeypatch, tax, kind
):
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 1_000)
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(
        "svc_tools.frames.files.job.DECIDING_ROWS", 1
    )  # the layout is of the first rows
    frame = orders(9_000).drop(columns="city")
    frame["sold"] = "2026-04-01"
    source = tmp_path / f"in.{kind}"
    frame.to_parquet(source) if kind == "parquet" else frame.to_csv(source, index=False)
    read, computed = Counter(), []
    for table in (tabular._CsvTable, tabular._ParquetTable):
        monkeypatch.setattr(table, "chunks", _counted(table.chunks, read))
    for kind_of, name in ((ResultColumns, "rows"), (Tax, "add")):
        monkeypatch.setattr(kind_of, name, _sized(getattr(kind_of, name), computed))
    enrich_file(source, tmp_path / "out.parquet", tax=tax, client=embedded)
    assert read["whole"] == 2
    assert sum(computed) == 9_000 * (1 if tax is None else 2)
    assert min(computed) > 0


def _counted(chunks, read):
    def counting(self, *arguments):
        yield from chunks(self, *arguments)
        read["whole"] += 1  # not where the reader has left after the first rows

    return counting


def _sized(method, sizes):
    def counting(self, rows, **options):
        sizes.append(len(rows))
        return method(self, rows, **options)

    return counting


def test_several_threads_look_up_at_once(embedded):
    frames = [orders(400).sample(frac=0.7, random_state=seed) for seed in range(8)]
    options = {"client": embedded, "as_of": "sold", "progress": False}
    begin = threading.Barrier(4, timeout=60)

    def look_up(frame):
        begin.wait()
        return frame.svc.lookup(**options)

    with ThreadPoolExecutor(4) as pool:
        together = [*pool.map(look_up, frames)]
    for frame, found in zip(frames, together, strict=True):
        pd.testing.assert_frame_equal(timeless(found), timeless(frame.svc.lookup(**options)))


def interrupting(monkeypatch, at):
    """Ctrl+C while the place of this number is computed."""
    spans, seen = Computed.spans, []

    def interrupted(self, place, days):
        seen.append(place)
        if len(seen) == at:
            signal.raise_signal(signal.SIGINT)
        return spans(self, place, days)

    monkeypatch.setattr(Computed, "spans", interrupted)


@pytest.mark.parametrize("at", [1, 2, 5])
def test_ctrl_c_leaves_every_row_with_its_outcome(embedded, monkeypatch, at):
    frame = orders()
    whole = frame.svc.lookup(client=embedded, as_of="sold", progress=False)
    interrupting(monkeypatch, at)
    with pytest.warns(UserWarning, match="ended early: interrupted"):
        found = frame.svc.lookup(client=embedded, as_of="sold", progress=False)
    _is_part_of(found, whole, at_least=at - 1)
    assert found.attrs["svc"]["lookups"][""]["stopped"] == "interrupted"


FORKED = """
import os, signal
import pandas as pd
import svc_tools, svc_tools.frames
client = svc_tools.connect("embedded")
assert client.base_url  # the port is the parent's
frame = pd.DataFrame({"state": "LA", "zip": "70601", "as_of": ["2024-12-31", "2025-01-01"]})
child = os.fork()
if child == 0:
    signal.alarm(50)  # a child that hangs must end
else:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
found = frame.svc.lookup(client=client, as_of_grain="quarter", progress=False)
used = found.attrs["svc"]["lookups"][""]
print(*found["combined_rate"], used["grain"], used["requests"], flush=True)
os._exit(0)
"""


@posix
def test_a_forked_child_whose_parent_has_the_port_looks_up_the_same_days(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=55,
        check=True,
        env=os.environ | {"SVC_DATABASE_URL": str(tmp_path / "service.db")},
    )
    of_child, of_parent = (line.split() for line in done.stdout.splitlines())
    assert of_child == [*of_parent[:3], "2"]
    assert len({*of_parent[:2]}) == 2
    assert of_parent[2:] == ["day", "0"]


def _is_part_of(found, whole, *, at_least=0, places=("state", "zip", "city")):
    """Every row has the outcome of the whole run, or is not attempted, with the reason."""
    status = found["lookup_status"].astype(str)
    left = status == "not_attempted"
    assert left.any()
    done = found.loc[~left, [*places]].dropna(how="all").drop_duplicates()
    assert len(done) >= at_least
    assert found.loc[left, "lookup_error"].notna().all()
    assert found.loc[left, ["combined_rate", "looked_up_at"]].isna().all(axis=None)
    assert found.loc[left, "needs_review"].all()
    got, expected = (by_rows(one[~left]) for one in (found, whole))
    assert got == expected
    never = whole["lookup_status"].isin(["invalid", "unsupported"])
    assert (
        found.loc[never, "lookup_status"]
        .astype(str)
        .equals(whole.loc[never, "lookup_status"].astype(str))
    )


def test_a_deadline_leaves_every_row_with_its_outcome(embedded):
    frame = orders()
    whole = frame.svc.lookup(client=embedded, as_of="sold", progress=False)
    with pytest.warns(UserWarning, match="the deadline of"):
        found = frame.svc.lookup(client=embedded, as_of="sold", progress=False, deadline=1e-9)
    _is_part_of(found, whole)
    assert (
        found.attrs["svc"]["lookups"][""]["asked"] == 0 < whole.attrs["svc"]["lookups"][""]["asked"]
    )
    with pytest.raises(svc_tools.LookupFailedError, match="the deadline of") as caught:
        frame.svc.lookup(client=embedded, progress=False, deadline=1e-9, errors="raise")
    assert len(caught.value.frame) == len(frame)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        *(({"deadline": 0}, ValueError), ({"deadline": float("nan")}, ValueError)),
        *(({"deadline": "9"}, TypeError), ({"deadline": True}, TypeError)),
        *(({"concurrency": 0}, ValueError), ({"concurrency": "9"}, TypeError)),
        ({"cache": 5}, TypeError),
    ],
)
def test_options_that_change_nothing_here_are_refused_as_elsewhere(
    embedded, tmp_path, options, error
):
    frame = orders(3)
    with pytest.raises(error, match=next(iter(options))):
        frame.svc.lookup(client=embedded, progress=False, **options)
    frame.to_csv(tmp_path / "in.csv")
    with pytest.raises(error, match=next(iter(options))):
        enrich_file(tmp_path / "in.csv", tmp_path / "out.csv", client=embedded, **options)
    with pytest.raises(error, match=next(iter(options))):
        next(svc_tools.lookup_many([{"state": "TX"}], client=embedded, **options))
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]


def test_what_a_lookup_that_ended_early_says_to_do_is_no_cache(embedded):
    with pytest.warns(UserWarning, match="ended early") as caught:
        orders(9).svc.lookup(client=embedded, progress=False, deadline=1e-9)
    assert "with a cache" not in str(caught[0].message)


@pytest.mark.parametrize("elsewhere", [Dask, Polars], indirect=True)
def test_a_deadline_is_that_of_every_road(elsewhere):
    with pytest.warns(UserWarning, match="the deadline of"):
        found = elsewhere(orders(), as_of="sold", deadline=1e-9)
    status = Counter(found["lookup_status"].astype(str))
    assert set(status) == {"not_attempted", "invalid", "unsupported"}


def test_a_file_that_is_stopped_or_late_is_written_as_incomplete(embedded, tmp_path):
    frame = orders()
    whole = frame.svc.lookup(client=embedded, as_of="sold", progress=False)
    source = tmp_path / "in.parquet"
    frame.to_parquet(source)
    stop = threading.Event()
    ends = {
        "stopped": {"stop": stop, "progress": Steps(stop.set, "Looking up")},
        "late": {"deadline": 1e-9},
    }
    for name, options in ends.items():
        output = tmp_path / f"{name}.parquet"
        run = enrich_file(source, output, lookup={"as_of": "sold"}, client=embedded, **options)
        assert run.stopped
        assert run.written == tmp_path / f"{name}-incomplete.parquet"
        assert not output.exists()
        found = pd.read_parquet(run.written)
        _is_part_of(found, whole, at_least=name == "stopped")
    run = enrich_file(
        source, tmp_path / "stopped.parquet", client=embedded, lookup={"as_of": "sold"}
    )
    assert (run.stopped, run.cached, run.requests) == (None, 0, 0)


def test_a_file_that_is_interrupted_is_not_written(embedded, tmp_path, monkeypatch):
    orders().to_parquet(tmp_path / "in.parquet")
    interrupting(monkeypatch, 3)
    run = enrich_file(
        tmp_path / "in.parquet", tmp_path / "out.csv", lookup={"as_of": "sold"}, client=embedded
    )
    assert (run.stopped, run.interrupted, run.written) == ("interrupted", True, None)
    assert [one.name for one in tmp_path.iterdir()] == ["in.parquet"]


def test_a_column_of_categories_does_not_move_the_ends_of_the_parts(
    embedded, by_frame, tmp_path, monkeypatch
):
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 7)
    frame = orders(40).assign(note=pd.Categorical(["gift", "wrapped", None, "gift"] * 10))
    frame["bill"] = [f"B{number // 3}" for number in range(40)]
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    parquet.write_table(pa.Table.from_pandas(frame), source, row_group_size=5)
    tax = {"amount": "amount", "contains_tax": False, "invoice": "bill"}
    plain = by_frame(frame, tax=tax, as_of="sold")
    run = enrich_file(source, output, lookup={"as_of": "sold"}, tax=tax, client=embedded)
    assert run.totals.rows == 40
    assert by_rows(pd.read_parquet(output)) == by_rows(plain)


def test_a_column_of_few_texts_has_no_category_without_rows(embedded):
    frame = orders()[["zip", "sold"]].assign(sold="2026-04-01")
    found = frame.svc.lookup(client=embedded, as_of="sold", progress=False)
    for rows in (found, frame.assign(zip="78701").svc.lookup(client=embedded, progress=False)):
        few = rows.select_dtypes("category")
        assert {"as_of_status", "lookup_source", "lookup_edition"} <= {*few}
        for name in few:
            assert {*few[name].cat.categories} == {*few[name].dropna()}, name


def test_rows_that_are_never_looked_up_are_counted_in_their_order(embedded):
    days = ["", "x", "", "", "2026-04-01"]
    frame = pd.DataFrame({"zip": ["78701", "78701", "?", "1234567", "78701"], "sold": days})
    reasons = [one.reason for one in frame.svc.plan(client=embedded, as_of="sold").refused]
    found = frame.svc.lookup(client=embedded, as_of="sold", progress=False)
    assert reasons == found["lookup_error"].tolist()[:4]


@pytest.mark.parametrize("name", ["shopify.csv", "squarespace.csv", "paypal.csv", "amazon.txt"])
def test_a_block_of_a_csv_in_parts_gives_the_rows_of_the_whole(
    embedded, tmp_path, monkeypatch, name
):
    options = {"tax": {}, "client": embedded, "tz": "America/Chicago"}
    whole = enrich_file(EXPORTS / name, tmp_path / "whole.parquet", **options)
    monkeypatch.setattr("svc_tools.tables.tabular._MOST_ROWS", 16)
    parts = enrich_file(EXPORTS / name, tmp_path / "parts.parquet", **options)
    expected, got = (pd.read_parquet(tmp_path / f"{one}.parquet") for one in ("whole", "parts"))
    assert by_rows(got) == by_rows(expected)
    assert (parts.totals.rows, parts.notes) == (whole.totals.rows, whole.notes)
    assert parts.totals.statuses == whole.totals.statuses


def test_delivery_in_rows_of_its_own_is_taxed_as_delivery(embedded, tmp_path):
    source, output = EXPORTS / "quickbooks.csv", tmp_path / "out.parquet"
    enrich_file(source, output, tax={}, client=embedded)
    found = pd.read_parquet(output)
    delivery = found[found["sale_shipping"].notna() & (found["sale_shipping"] != 0)]
    first = delivery.iloc[0]
    assert [str(first[name]) for name in ("sale_amount", "sale_shipping")] == ["0.00", "7.95"]
    assert [str(first[name]) for name in ("taxable_amount", "tax")] == ["7.95", "0.64"]
    assert str(first["shipping_tax"]) == "0.64"
