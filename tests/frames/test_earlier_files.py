"""Enriched files, pickles, layouts and plans of earlier releases are read as they were then.

`tests/data/stored` has them, and `figures.json` what that release made of them. They are never
written again: where one of them is read in another way, the program is at fault.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from svc_tools import lookup_many
from svc_tools.frames import enrich_file
from svc_tools.frames.orders.saved_layout import SalesLayout
from svc_tools.lookup.columns import ADDED_COLUMNS, LOOKUP_COLUMNS
from svc_tools.nexus import read_plan, read_register

STORED = Path(__file__).parents[1] / "data" / "stored" / "0.3.0"
FIGURES = json.loads((STORED / "figures.json").read_text())
FRAMES = ("orders.pickle", "orders.parquet", "orders.csv", "file.parquet", "file.csv", "file.xlsx")
NEEDS_PANDAS_3 = pytest.mark.skipif(
    pd.__version__.startswith("2."), reason="pandas 2 reads no pickle of pandas 3"
)
of_each = pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[NEEDS_PANDAS_3] if one.endswith(".pickle") else [])
        for one in (*FRAMES, "short.csv")
    ],
)


def read(name):
    """An enriched frame as a user reads it, and the prefix of its lookup."""
    path, prefix = STORED / name, "svc_" if name == "short.csv" else ""
    if path.suffix == ".pickle":
        return pd.read_pickle(path), prefix
    if path.suffix == ".parquet":
        return pd.read_parquet(path), prefix
    return (pd.read_excel if path.suffix == ".xlsx" else pd.read_csv)(path, dtype=str), prefix


def figures_of(frame, prefix):
    """What is known of an enriched frame, as text."""
    review, split = frame.svc.review(prefix=prefix), frame.svc.split(prefix=prefix)
    reconciled = frame.svc.reconcile(collected="Taxes", prefix=prefix)
    return {
        "review": review.by_state[["state", "reason", "rows", "dollars"]].to_csv(index=False),
        "to review": review.rows["Name"].tolist(),
        "split": [[one.name, one.rows, str(one.sales), str(one.tax)] for one in split.parts],
        "columns": [*map(str, frame.columns)],
        "collected": {name: str(one) for name, one in vars_of(reconciled.totals).items()},
    }


def filed_in(frame):
    table = frame.svc.filing("NY", period="month").table
    return table[["code", "rate", "rows", "taxable", "exempt", "tax"]].to_csv(index=False)


def vars_of(value):
    return {one.name: getattr(value, one.name) for one in fields(value)}


@of_each
def test_an_enriched_file_of_an_earlier_release_has_its_figures(name):
    assert figures_of(*read(name)) == FIGURES[name]


@pytest.mark.parametrize("name", ["orders.csv", "orders.parquet"])
def test_its_jurisdictions_add_up_as_they_did(name):
    frame, _ = read(name)
    assert filed_in(frame) == FIGURES["filing"]


@pytest.mark.parametrize("name", ["orders.parquet", "orders.csv"])
def test_its_tax_is_computed_again_to_the_cent(name):
    frame, _ = read(name)
    again = frame.svc.tax(progress=False)
    assert [*again.columns] == [*frame.columns]
    assert cents(again["tax"]) == cents(frame["tax"])
    assert cents(again["city_tax"]) == cents(frame["city_tax"])


def cents(column):
    return [None if pd.isna(one) else str(one) for one in column]


@of_each
def test_a_further_lookup_replaces_its_columns_and_no_other(name, embedded):
    frame, prefix = read(name)
    own = pd.read_csv(STORED / "sales.csv", dtype=str).columns
    added = {prefix + one for one in ADDED_COLUMNS}
    assert [one for one in frame.columns if one not in added] == [*own]
    again = frame.svc.lookup(client=embedded, cache=False, progress=False, prefix=prefix)
    assert [one for one in again.columns if one not in added] == [*own]
    ours = [one for one in again.columns if one in added]
    assert ours == [prefix + one for one in LOOKUP_COLUMNS]


def test_outcomes_that_were_pickled_are_those_that_are_looked_up(embedded):
    with (STORED / "outcomes.pickle").open("rb") as file:
        former = pickle.load(file)
    assert [
        (str(one.status), one.error, one.found and one.found.combined) for _, one in former
    ] == [tuple(one) for one in FIGURES["outcomes"]]
    for query, outcome in former:
        ((_, now),) = lookup_many([query], client=embedded, cache=False)
        assert now.status == outcome.status
        assert repr(outcome).startswith(f"Outcome(status={str(outcome.status)!r}, ")


def test_a_plan_of_an_earlier_release_is_read_as_it_was_ticked():
    plan = read_plan(STORED / "plan.csv")
    rows = [[one.state, one.decision, one.action] for one in plan.rows]
    assert rows == FIGURES["plan"]


def test_the_next_file_is_read_by_its_layout(embedded, tmp_path):
    run = enrich_file(
        STORED / "sales.csv",
        tmp_path / "next.csv",
        layout=SalesLayout.read(STORED / "layout.toml"),
        tax={"nexus": read_register(STORED / "register.csv")},
        client=embedded,
        cache=False,
    )
    new_orleans = Decimal("25.00")  # partial by the rates of that release
    assert run.totals.sales == Decimal(FIGURES["sales"]) + new_orleans
