"""A cell that cannot be read is a fault of its row: the other rows are looked up and taxed."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from svc_tools.frames.files.enriching import enrich_file
from svc_tools.tables.roles import NoUsableRows


class Raises:
    """An object that raises whatever it is asked."""

    def __eq__(self, other):
        raise RuntimeError

    __ne__ = __bool__ = __str__ = __repr__ = __eq__
    __hash__ = object.__hash__


class WithoutHash:
    __hash__ = None

    def __eq__(self, other):
        return False


ODD = {
    "half a character": "12.50\ud800",
    "only half a character": "\udc80",
    "a signaling NaN": Decimal("sNaN"),
    "a huge number": Decimal("1e999999"),
    "a tiny number": Decimal("1e-999999"),
    "infinity": Decimal("-Infinity"),
    "a whole number of 5,000 digits": 10**5_000,
    "a complex number": 1 + 2j,
    "bytes": b"12.50",
    "a byte array": bytearray(b"12.50"),
    "a list": [12.5],
    "a dictionary": {"a": 1},
    "an array": np.array([1, 2]),
    "a column": pd.Series([1]),
    "a table": pd.DataFrame({"a": [1]}),
    "an object that raises": Raises(),
    "an object without a hash": WithoutHash(),
}
PLACE = {"state": "state", "zip": "zip", "city": "city", "as_of": "date", "country": "country"}
GOOD = [0, len(ODD) + 1]
COLUMNS = {
    "order": "1",
    "state": "TX",
    "zip": "78701",
    "city": "Austin",
    "date": "2026-03-05",
    "country": "US",
    "currency": "USD",
    "amount": "10.00",
    "shipping": "1.00",
    "exempt": "no",
    "collected": "0.91",
    "note": "a",
}
PLACES = {"state", "zip", "date", "country"}
AMOUNTS = {"amount": "amount", "shipping": "shipping", "exempt": "exempt"}


def frame_with(role):
    """A frame of which all cells of a column are odd, but for the first and the last one."""
    count = len(ODD) + 2
    columns = {name: np.full(count, cell, object) for name, cell in COLUMNS.items()}
    columns["order"] = np.array([str(number) for number in range(count)], object)
    for number, odd in enumerate(ODD.values(), 1):
        columns[role][number] = odd
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


@pytest.mark.timeout(180)  # all that a frame can do, for a frame with messages of each row
@pytest.mark.parametrize("role", COLUMNS)
def test_odd_cells_cost_their_own_rows_at_most(embedded, tmp_path, role):
    frame = frame_with(role)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns that are not used
        found = frame.svc.lookup(client=embedded, detail=True, progress=False, **PLACE)
        taxed = found.svc.tax(**AMOUNTS, order="order", currency="currency", progress=False)
        reconciled = taxed.svc.reconcile("collected")
    statuses, tax = found["lookup_status"], taxed["tax"]
    assert {*statuses[GOOD]} == {"ok"}
    assert {*tax[GOOD]} == {Decimal("0.91")}
    if role in PLACES:
        assert {*statuses.drop(GOOD)} <= {"invalid", "unsupported"}
    if role in {*PLACES, *AMOUNTS, "currency"}:
        assert tax.drop(GOOD).isna().all()
    else:
        assert tax.notna().all()
    assert len(reconciled.lines) == len(frame)
    for made in (found, taxed, taxed.svc.plain()):
        for number, odd in enumerate(ODD.values(), 1):
            assert made[role].iloc[number] is odd
    assert [*taxed.columns[: len(COLUMNS)]] == [*COLUMNS]

    assert frame.svc.plan(client=embedded, **PLACE).rows == len(frame)
    assert str(taxed.svc.review())
    assert str(taxed.svc.split())
    assert not taxed.svc.filing("TX").table.empty
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exposure = {"amount": "amount", "date": "date", "state": "state", "order": "order"}
        assert not frame.svc.exposure(**exposure, progress=False).empty
    assert taxed.svc.report(tmp_path / "report.html").stat().st_size
    assert taxed.svc.report(tmp_path / "report.xlsx").stat().st_size


def test_columns_of_one_name_keep_their_own_cells(embedded):
    """The cells of each are given back to it, also where the result has a column before it."""
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"], "a": [[1]], "b": [[2]]})
    frame.columns = pd.Index(["state", "zip", "note", "note"], dtype=object)
    found = frame.svc.lookup(client=embedded, progress=False)
    assert found["note"].iloc[0].tolist() == [[1], [2]]
    assert found["lookup_status"].tolist() == ["ok"]


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan"), pd.NaT], ids=repr)
@pytest.mark.parametrize("cell", ["b", ["b"]], ids=repr)
def test_a_column_without_a_name_is_as_it_was(embedded, missing, cell):
    cells = pd.Series(["a", cell], dtype=object)
    frame = pd.DataFrame({"state": ["TX", "TX"], "zip": ["78701", "78701"], "note": cells})
    frame.columns = pd.Index(["state", "zip", missing], dtype=object)
    found = frame.svc.lookup(client=embedded, progress=False)
    for made in (found, found.assign(amount="10.00").svc.tax("amount", progress=False)):
        assert made.columns[2] is missing
        assert made.iloc[:, 2].tolist() == ["a", cell]
        assert made["lookup_status"].tolist() == ["ok", "ok"]


def raises(*_):
    raise RuntimeError


ODD_TEXT = type("OddText", (str,), {"__eq__": raises, "__hash__": str.__hash__})
ODD_NUMBER = type("OddNumber", (int,), {"__eq__": raises, "__hash__": int.__hash__})


@pytest.mark.parametrize("cell", [ODD_TEXT("a few"), ODD_NUMBER(12)], ids=type)
@pytest.mark.parametrize("role", ["zip", "amount", "note"])
def test_a_text_or_a_number_that_raises_costs_its_own_row_at_most(embedded, cell, role):
    frame = pd.DataFrame(
        {"state": "TX", "zip": "78701", "amount": "10.00", "note": ["a", "b"]}, dtype=object
    )
    frame[role] = pd.Series([frame[role][0], cell], dtype=object)
    found = frame.svc.lookup(client=embedded, progress=False)
    taxed = found.svc.tax("amount", progress=False)
    assert taxed["tax"][0] == Decimal("0.83")
    assert taxed[role].iloc[1] is cell


NESTED = {
    "list": pa.array([None, ["94105"]]),
    "list of one": pa.array([None, ["94105"]], pa.list_(pa.string(), 1)),
    "struct": pa.array([None, {"zip": "94105"}]),
    "map": pa.array([None, [("zip", "94105")]], pa.map_(pa.string(), pa.string())),
}


@pytest.mark.parametrize("role", ["state", "zip", "date", "amount", "note"])
@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("through", ["pandas", "polars", "file"])
def test_lists_and_structs_of_arrow_cost_their_own_rows(embedded, tmp_path, role, kind, through):
    columns = {
        one: pa.array([COLUMNS[one]] * 3) for one in ("state", "zip", "city", "date", "amount")
    }
    columns["note"] = pa.array(["a", "b", "c"])
    own = pa.concat_arrays([NESTED[kind], NESTED[kind][:1]])
    table = pa.table(columns | {role: own})
    place = {"state": "state", "zip": "zip", "city": "city", "as_of": "date"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns that are not used
        if through == "file":
            parquet.write_table(table, tmp_path / "in.parquet")
            output = tmp_path / "out.parquet"
            given = {"lookup": place, "tax": {"amount": "amount"}, "client": embedded}
            if role == "date":
                with pytest.raises(NoUsableRows, match="no row can be used"):
                    enrich_file(tmp_path / "in.parquet", output, **given)
                return
            enrich_file(tmp_path / "in.parquet", output, **given)
            made = parquet.read_table(output)
        elif through == "polars":
            found = pl.from_arrow(table).svc.lookup(client=embedded, progress=False, **place)
            made = found.svc.tax("amount", progress=False).to_arrow()
        else:
            frame = table.to_pandas(types_mapper=pd.ArrowDtype)
            found = frame.svc.lookup(client=embedded, progress=False, **place)
            made = pa.table(found.svc.tax("amount", progress=False).to_dict("series"))
    assert made[role].to_pylist() == own.to_pylist()
    statuses, tax = made["lookup_status"].to_pylist(), made["tax"].to_pylist()
    if role in PLACES:
        assert statuses == (["invalid"] * 3 if role == "date" else ["ok", "invalid", "ok"])
    if role in {*PLACES, "amount"}:
        assert tax[1] is None
    else:
        assert tax == [Decimal("0.83")] * 3


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("role", ["amount", "shipping"])
def test_a_missing_number_of_any_size_costs_its_own_row(embedded, kind, role):
    parts = {"amount": ["10.00", "20.00"], "shipping": ["1.00", "1.00"]}
    parts[role][1] = kind("nan")
    frame = pd.DataFrame(
        {"state": "TX", "zip": "78701", "date": "2026-03-05", **parts}, dtype=object
    )
    taxed = frame.svc.lookup(client=embedded).svc.tax(amount="amount", shipping="shipping")
    assert taxed["tax"].iloc[0] == Decimal("0.91")
    assert taxed["tax"].isna().tolist() == [False, True]
    assert taxed[role].iloc[1] is parts[role][1]
