"""`df.svc.plain()`: standard types, which everything in pandas takes."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.frames import half, line, looked_up, lost, money, taxed, units

from svc_tools.lookup.columns import LOOKUP_COLUMNS, TAX_COLUMNS
from svc_tools.tables.text_dtype import text_dtype

MOMENT = datetime(2026, 8, 3, 14, 30, 15, 250_000, UTC)
LINES = [
    line(
        needs_review=True,
        lookup_review_reason="several_rates",
        rate_low=units(4000),
        rate_high=units(8900),
    ),
    half(),
    lost(),
    line(),
]
STANDARD = {"float64", "datetime64[us]", "str", "bool", "boolean"}


def made(**columns):
    """A taxed frame as a lookup leaves it: decimals, categories, dates and moments of Arrow."""
    frame = taxed(LINES, ["100.10", "300.00", "5.00", "-20.05"], **columns)
    frame["looked_up_at"] = pd.array(
        [MOMENT, MOMENT, None, MOMENT], dtype=pd.ArrowDtype(pa.timestamp("us", "UTC"))
    )
    frame["confidence"] = frame["confidence"].astype("category")
    return frame


def test_what_was_added_is_in_standard_types_and_what_is_yours_is_as_it_was(embedded):
    own = {
        "kind": pd.Categorical(["a", "b", "a"]),
        "count": pd.array([1, None, 3], dtype="Int64"),
        "day": pd.array([date(2026, 8, 3)] * 3, dtype=pd.ArrowDtype(pa.date32())),
        "state": ["WA", "TX", "ZZ"],
        "zip": ["98101", "78701", "1"],
        "amount": money(["10.00", "20.10", None]),
    }
    frame = pd.DataFrame(own, index=[7, 7, 9])
    given = {"client": embedded, "cache": False, "progress": False, "as_of": "day"}
    exact = frame.svc.lookup(**given, detail=True).svc.tax(progress=False)
    plain = exact.svc.plain()
    assert list(plain.columns) == list(exact.columns)
    assert list(plain.index) == [7, 7, 9]
    added = plain.drop(columns=list(own))
    assert {str(dtype) for dtype in added.dtypes} <= STANDARD
    for name in set(own) - {"amount"}:
        pd.testing.assert_series_equal(plain[name], frame[name])
    assert plain["amount"].dtype == plain["tax"].dtype == "float64"
    assert plain["needs_review"].dtype == "bool"
    assert str(exact["tax"].dtype) == "decimal128(18, 2)[pyarrow]"  # it is a copy
    again = plain.svc.lookup(**given)
    assert list(again.columns) == [*own, *LOOKUP_COLUMNS]


@pytest.mark.parametrize("prefix", ["", "svc_"])
def test_figures_are_the_nearest_floats_and_times_are_naive_utc(prefix):
    exact = taxed(LINES, ["100.10", "300.00", "5.00", "-20.05"], prefix=prefix)
    exact[f"{prefix}looked_up_at"] = made()["looked_up_at"]
    plain = exact.svc.plain()
    for name in ("combined_rate", "state_rate", "tax", "tax_high"):
        expected = [np.nan if pd.isna(one) else float(one) for one in exact[prefix + name]]
        np.testing.assert_array_equal(plain[prefix + name], expected)
    assert plain[f"{prefix}combined_rate"].iloc[0] == 0.089
    moment = plain[f"{prefix}looked_up_at"]
    assert moment.iloc[0] == pd.Timestamp("2026-08-03 14:30:15.25")
    assert moment.isna().tolist() == [False, False, True, False]
    day = plain[f"{prefix}lookup_as_of"]
    assert (day == day.dt.normalize()).all()
    assert plain[f"{prefix}confidence"].isna().tolist() == [False, False, True, False]


def test_pandas_takes_it_everywhere(tmp_path):
    frame = made()
    frame.attrs["mine"] = object()  # what no file can hold
    plain = frame.svc.plain()
    plain.to_excel(tmp_path / "plain.xlsx", index=False)
    read = pd.read_excel(tmp_path / "plain.xlsx")
    assert read["tax"].tolist()[0] == 8.91
    assert read["looked_up_at"].iloc[0] == pd.Timestamp("2026-08-03 14:30:15.25")
    with sqlite3.connect(":memory:") as base:
        plain.to_sql("orders", base, index=False)
        (rows,) = base.execute("select count(*) from orders where tax > 1 and not needs_review")
        assert rows == (0,)
        (total,) = base.execute("select round(sum(tax), 2) from orders")
        assert total == (7.13,)
    plain.to_json(tmp_path / "plain.json", orient="records", date_format="iso")
    assert pd.read_json(tmp_path / "plain.json")["tax"].iloc[0] == 8.91
    plain.to_parquet(tmp_path / "plain.parquet")
    read = pd.read_parquet(tmp_path / "plain.parquet")  # texts as objects under pandas 2.3
    pd.testing.assert_frame_equal(read.astype(plain.dtypes), plain)
    plain.to_csv(tmp_path / "plain.csv", index=False)
    assert pd.read_csv(tmp_path / "plain.csv")["combined_rate"].tolist()[0] == 0.089
    assert plain.describe().loc["count", "tax"] == 2
    assert plain.nlargest(1, "tax").index.tolist() == [0]
    assert plain.groupby("resolved_state")["tax"].sum().round(2).to_dict() == {"GA": 7.13, "TX": 0}


def test_review_split_and_the_rest_work_on_it_as_on_the_exact_frame():
    exact = made(tax_collected=["8.91", "0.00", "0.00", "-1.00"])
    plain = exact.svc.plain()
    assert plain.svc.split().parts == exact.svc.split().parts
    assert plain.svc.review().sentence == exact.svc.review().sentence
    assert plain.svc.reconcile().totals == exact.svc.reconcile().totals
    again = plain.svc.tax(progress=False)
    assert again["tax"].dropna().tolist() == exact["tax"].dropna().tolist()
    assert list(again.columns) == list(exact.columns)


def test_optional_columns_of_a_tax_and_rates_as_text_are_recognized_too():
    terms = {"shipping": "1.00", "channel": "channel"}
    exact = taxed(LINES, ["1", "2", "3", "4"], terms=terms, channel=["direct"] * 4)
    plain = exact.svc.plain()
    assert plain["tax_due"].dtype == plain["shipping_tax"].dtype == "float64"
    bare = plain.svc.tax(progress=False)
    assert not {"tax_due", "shipping_tax"} & set(bare.columns)
    text = looked_up(LINES).astype({"combined_rate": text_dtype()}).svc.plain()
    assert text["combined_rate"].dropna().tolist() == [0.089, 0.0625, 0.089]


def test_what_is_derived_of_a_frame_is_made_plain_too():
    exact = made()
    rows = exact.svc.review().rows.svc.plain()
    assert rows["review_dollars"].dtype == "float64"
    groups = exact.svc.review().by_state.svc.plain()
    assert groups["dollars"].dtype == "float64"
    bare = pd.DataFrame({"a": [Decimal("1.10"), None], "b": ["x", "y"]}).svc.plain()
    assert bare["a"].tolist()[0] == 1.1
    assert bare["b"].tolist() == ["x", "y"]
    assert bare["b"].dtype == pd.Series(["x"]).dtype
    wide = pd.array([Decimal("12345678901234567890.12"), None], pd.ArrowDtype(pa.decimal128(38, 2)))
    assert pd.DataFrame({"a": wide}).svc.plain()["a"].iloc[0] == pytest.approx(
        1.2345678901234567e19
    )


def test_twice_is_once_and_the_columns_are_those_of_a_lookup():
    plain = made().svc.plain()
    pd.testing.assert_frame_equal(plain.svc.plain(), plain)
    assert {*LOOKUP_COLUMNS, *TAX_COLUMNS} <= set(plain.columns)


def test_what_is_changed_in_a_result_stays_as_it_was_in_the_frame_that_it_is_of():
    taxes = taxed(
        LINES[:2], ["100.00", "10.00"], tax_collected=[8.9, 0.0], sku=pd.array(["a", "b"])
    )
    before = taxes.copy()
    compared = taxes.svc.reconcile()
    parts = taxes.svc.split()
    results = [
        taxes.svc.plain(),
        taxes.svc.tax("amount", progress=False),
        taxes.svc.review().rows,
        compared.lines,
        compared.worst,
        *parts.values(),
    ]
    for result in results:
        for name in ("sku", "tax_collected"):
            result.iloc[:, result.columns.get_loc(name)] = before[name].iloc[::-1].iloc[0]
    pd.testing.assert_frame_equal(taxes, before)
