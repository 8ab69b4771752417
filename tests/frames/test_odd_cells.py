"""A cell that cannot be read is a fault of its row: the other rows are looked up and taxed."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest


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
