"""`df.svc.tax`: exact to the cent, and missing where it is not known."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import line, looked_up, lost, rated, tax_of

import svc_tools  # noqa: F401 - registers df.svc
from svc_tools.frames.taxes.tax import TaxFailedError
from svc_tools.frames.values.money import whole_cents
from svc_tools.lookup.columns import (
    ADDED_COLUMNS,
    DETAIL_COLUMNS,
    SALE_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
)
from svc_tools.tables.text_dtype import text_dtype


@pytest.mark.parametrize(
    ("amount", "rate", "tax"),
    [
        ("10.00", "0.08250", "0.83"),
        ("4.00", "0.08625", "0.35"),  # 0.345 exactly: half a cent goes up
        ("-4.00", "0.08625", "-0.35"),  # and a refund mirrors its sale
        ("0.06", "0.08250", "0.00"),
        ("0.00", "0.08250", "0.00"),
        ("100.00", "0.00000", "0.00"),
        ("999999999.99", "0.10250", "102500000.00"),
    ],
)
def test_tax_is_exact_and_half_a_cent_goes_away_from_zero(amount, rate, tax):
    result = tax_of([amount], combined_rate=[rate])
    assert result["tax"].iloc[0] == Decimal(tax)
    assert result["tax_error"].isna().all()
    assert str(result["tax"].dtype) == "decimal128(18, 2)[pyarrow]"


@pytest.mark.parametrize("form", ["decimal", "string", "float"])
def test_rates_of_every_form_give_the_same_tax(embedded, form):
    frame = pd.DataFrame({"state": "CA", "zip": "94105", "amount": [4.0, 19.99, 3 * 19.99]})
    looked = frame.svc.lookup(client=embedded, as_of="2026-02-01", rates=form, progress=False)
    assert list(looked.svc.tax(progress=False)["tax"]) == [
        Decimal("0.35"),
        Decimal("1.72"),
        Decimal("5.17"),
    ]


@pytest.mark.parametrize(
    "status", ["unresolved", "invalid", "unsupported", "failed", "not_attempted"]
)
def test_a_row_without_a_rate_has_no_tax_and_says_why(status):
    result = tax_of(
        ["10.00", "10.00"], lookup_status=["ok", status], combined_rate=["0.08250", None]
    )
    assert result["tax"].iloc[0] == Decimal("0.83")
    assert pd.isna(result["tax"].iloc[1])
    assert status in result["tax_error"].iloc[1]
    assert result["tax"].sum() == Decimal("0.83")


def test_a_partial_rate_gives_no_tax_unless_it_is_asked_for():
    frame = rated(amount=["10.00", "10.00"], lookup_status=["ok", "partial"])
    result = frame.svc.tax(progress=False)
    assert list(result["tax"].isna()) == [False, True]
    assert result["tax_error"].iloc[1] == "the rate lacks its local or district part"
    used = frame.svc.tax(partial="use", progress=False)
    assert list(used["tax"]) == [Decimal("0.83")] * 2
    with pytest.raises(ValueError, match="partial"):
        frame.svc.tax(partial="yes")


def test_floats_near_a_whole_cent_snap_and_are_counted(capsys):
    result = rated(amount=[1.1 * 3, 0.1 + 0.2, 1.005, 19.99, float("inf"), np.nan]).svc.tax()
    assert list(result["tax"][:2]) == [Decimal("0.27"), Decimal("0.02")]
    assert result["tax"].isna().tolist() == [False, False, True, False, True, True]
    assert "1.005 is not a whole number of cents" in result["tax_error"].iloc[2]
    assert "inf" in result["tax_error"].iloc[4]
    assert "missing" in result["tax_error"].iloc[5]
    assert "that cent: 2" in capsys.readouterr().err


@given(st.integers(-(10**13), 10**13))
def test_the_float_nearest_to_a_cent_is_that_cent(cents):
    found, wrong, snapped = whole_cents(pd.Series([cents / 100]))
    assert (found.tolist(), wrong, snapped) == ([cents], {}, 0)


@given(st.integers(-(10**9), 10**9), st.integers(1, 99))
def test_a_fraction_of_a_cent_is_refused_never_rounded(cents, thousandths):
    amount = (Decimal(cents) + Decimal(thousandths) / 100) / 100
    _, wrong, _ = whole_cents(pd.Series([float(amount)]))
    assert list(wrong) == [0]
    _, wrong, _ = whole_cents(pd.Series([amount], dtype=object))
    assert list(wrong) == [0]


@pytest.mark.parametrize(
    "odd",
    [
        *("$", "1,00.00", "(5.00", "-(5)", "(-5)", "10 EUR", "ten", "", "-", "NaN", "1e400"),
        *("0.005", "1_000", [1], {"a": 1}, True, None, object(), Decimal("1e999999")),
    ],
)
def test_an_odd_amount_loses_only_its_own_row(odd):
    result = tax_of(pd.Series([odd, 1, "10.00"], dtype=object))
    assert result["tax"].isna().tolist() == [True, False, False]
    assert result["tax_error"].iloc[0].startswith("amount:")


def test_an_amount_too_large_for_exact_arithmetic_loses_only_its_own_row():
    for huge in (["40000000000000000.00", "1.00"], [2**62, 1], [4e16, 1.0], [10**17, 1]):
        result = tax_of(huge)
        assert result["tax"].isna().tolist() == [True, False]
        assert result["tax_error"].iloc[0].startswith("amount:")
    largest = tax_of(["900000000000.00"], combined_rate=["0.10250"])
    assert largest["tax"].iloc[0] == Decimal("92250000000.00")


def test_what_stands_in_the_way_is_named():
    with pytest.raises(ValueError, match="lookup"):
        pd.DataFrame({"amount": [1]}).svc.tax()
    with pytest.raises(ValueError, match="'price'"):
        rated(amount=[1]).svc.tax("price")
    with pytest.raises(ValueError, match=r"'tax' of your columns has the name"):
        rated(amount=[1], tax=[1]).svc.tax()
    with pytest.raises(TypeError, match="truth values"):
        rated(amount=[True]).svc.tax()


def test_what_is_no_rate_loses_only_its_own_row():
    result = tax_of(["10.00"] * 5, combined_rate=["0.08250", "", "6.625%", "6.62500", "-0.05000"])
    assert result["tax"].isna().tolist() == [False, True, True, True, True]
    assert "no rate" in result["tax_error"].iloc[1]
    assert result["tax_error"].iloc[2:].str.startswith("combined_rate: ").all()


def test_rows_added_since_the_lookup_are_said_to_be_new():
    looked = rated(amount=["10.00"]).drop(columns="lookup_as_of")  # pandas converts no date32
    joined = pd.concat([looked, pd.DataFrame({"amount": ["5.00"]})], ignore_index=True)
    for frame in (joined, joined.convert_dtypes(), joined.convert_dtypes(dtype_backend="pyarrow")):
        result = frame.svc.tax(progress=False)
        assert result["tax"].isna().tolist() == [False, True]
        assert "not looked up" in result["tax_error"].iloc[1]


@pytest.mark.parametrize(("off", "fits"), [(9e-7, True), (-9e-7, True), (2e-6, False)])
def test_where_a_float_stops_being_a_rounding_error(off, fits):
    assert tax_of([10.0 + off])["tax"].notna().iloc[0] == fits


def test_a_tax_of_yours_in_place_of_ours_stays(embedded):
    frame = pd.DataFrame({"state": ["CA"], "zip": ["94105"], "amount": ["10.00"]})
    taxed = frame.svc.lookup(client=embedded, progress=False).svc.tax(progress=False)
    collected = taxed.drop(columns=["tax", "tax_error"]).assign(tax=["9.99"])
    with pytest.raises(ValueError, match="'tax' of your columns has the name"):
        collected.svc.tax()
    again = collected.svc.lookup(client=embedded, progress=False)
    assert list(again["tax"]) == ["9.99"]
    exact = again.astype({"tax": pd.ArrowDtype(pa.decimal128(18, 2))})
    with pytest.raises(ValueError, match="'tax' of your columns has the name"):
        exact.svc.tax()


ADDED = [name for name in ADDED_COLUMNS if name not in {*DETAIL_COLUMNS, *SALE_COLUMNS}]


@pytest.mark.parametrize("prefix", ["", "svc_"])
def test_a_tax_stands_behind_the_rate_and_its_columns_where_they_are_read(prefix):
    frame = looked_up([line(), lost()], prefix=prefix, detail=False, amount=["10.00", "1.00"])
    frame["mine"] = ["a", "b"]  # a user's columns stay where they are
    terms = {"shipping": "1.00", "channel": "direct"}
    taxed = frame.svc.tax(**terms, prefix=prefix, progress=False)
    assert list(taxed.columns) == ["amount", *(prefix + name for name in ADDED), "mine"]
    texts = {"tax_error", "tax_review", "tax_due_reason"}
    of_tax = {*TAX_COLUMNS, *TAX_OPTION_COLUMNS} - {*SALE_COLUMNS} - texts
    money = [prefix + name for name in of_tax]
    assert {str(taxed[name].dtype) for name in money} == {"decimal128(18, 2)[pyarrow]"}
    again = taxed.svc.tax(prefix=prefix, progress=False)
    there = [prefix + name for name in ADDED if name not in TAX_OPTION_COLUMNS]
    assert list(again.columns) == ["amount", *there, "mine"]


def test_a_tax_of_a_frame_in_another_order_is_behind_its_rate_too():
    frame = rated(amount=["10.00"], freight_taxable=True)
    names = [name for name in frame.columns if name != "combined_rate"]
    frame = frame[[*names, "combined_rate"]]  # as earlier versions and other programs leave it
    taxed = frame.svc.tax(progress=False)
    assert list(taxed.columns).index("tax") == list(taxed.columns).index("combined_rate") + 1
    assert [name for name in taxed.columns if name in frame.columns] == list(frame.columns)
    pd.testing.assert_frame_equal(taxed.svc.tax(progress=False), taxed)


def test_an_exception_only_where_it_was_asked_for():
    frame = rated(amount=["10.00", "ten", "1.005", "ten"])
    with pytest.raises(TaxFailedError, match=r"3 of 4 rows have no tax.*'ten'.*rows: 2") as failed:
        frame.svc.tax(errors="raise", progress=False)
    assert failed.value.frame["tax"].iloc[0] == Decimal("0.83")
    whole = frame.iloc[:1].svc.tax(errors="raise", progress=False)
    assert whole["tax"].iloc[0] == Decimal("0.83")
    with pytest.raises(ValueError, match="'coerce' or 'raise'"):
        frame.svc.tax(errors="ignore")


def test_rows_keep_their_index_whatever_it_is():
    for index in (
        pd.Index([7, 7, 7]),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)]),
        pd.to_datetime(["2026-05-03", "2026-05-01", "2026-05-02"]),
    ):
        frame = rated(amount=["1.00", "2.00", "3.00"], order=[1, 1, 2]).set_axis(index)
        taxed = frame.svc.tax(invoice="order", progress=False)
        assert taxed.index.equals(index)
        assert list(taxed["tax"]) == [Decimal("0.08"), Decimal("0.17"), Decimal("0.25")]


def test_an_empty_frame_has_every_column_on_every_term():
    frame = rated(
        amount=pd.Series([], dtype=object),
        combined_rate=pd.Series([], dtype=object),
        order=pd.Series([], dtype=object),
        resolved_state=pd.Series([], dtype=text_dtype()),
        freight_taxable=pd.Series([], dtype="boolean"),
        lookup_as_of=pd.Series([], dtype="datetime64[ns]"),
    )
    taxed = frame.svc.tax(
        shipping="1.00",
        exempt="order",
        invoice="order",
        nexus=[{"state": "NY", "nexus_type": "physical"}],
        channel="order",
        ship_from="order",
    )
    assert len(taxed) == 0
    assert {*TAX_COLUMNS, "shipping_tax", "tax_due"} <= set(taxed.columns)


def test_a_tax_on_other_terms_replaces_the_former_one():
    frame = rated(amount=["10.00"], freight_taxable=True)
    first = frame.svc.tax(shipping="1.00", channel="direct", progress=False)
    again = first.svc.tax(rounding="down", progress=False)
    assert set(again.columns) == {*frame.columns, *TAX_COLUMNS}
    assert again["tax"].iloc[0] == Decimal("0.82")
    assert first["tax"].iloc[0] == Decimal("0.91")


@pytest.mark.parametrize("name", ["shipping_tax", "tax_due", "tax_due_reason"])
def test_an_optional_column_of_yours_is_not_overwritten(name):
    frame = rated(amount=["10.00"], freight_taxable=True, **{name: ["mine"]})
    with pytest.raises(ValueError, match=f"'{name}' of your columns has the name"):
        frame.svc.tax(shipping="1.00", channel="direct", progress=False)
    assert list(frame.svc.tax(progress=False)[name]) == ["mine"]


def test_the_terms_are_remembered_by_prefix_and_survive_a_file(tmp_path):
    frame = rated(amount=["10.00"]).add_prefix("svc_").rename(columns={"svc_amount": "amount"})
    frame["svc_freight_taxable"] = True
    taxed = frame.svc.tax(shipping="1.00", prefix="svc_", rounding="up", progress=False)
    terms = taxed.attrs["svc"]["terms"]
    assert terms == json.loads(json.dumps(terms))
    assert terms["svc_"] == {
        "amount": "amount",
        "shipping": "1.00",
        "exempt": None,
        "rounding": "up",
        "invoice": None,
        "partial": None,
        "nexus": None,
        "channel": None,
        "ship_from": None,
        "taxable": None,
        "delivery": None,
    }
    taxed.to_parquet(tmp_path / "taxed.parquet")
    back = pd.read_parquet(tmp_path / "taxed.parquet")
    assert back.attrs["svc"]["terms"] == terms
    again = back.svc.tax(prefix="svc_", progress=False)  # what a file brings back has other forms
    assert again["svc_tax"].iloc[0] == Decimal("0.83")
    assert "svc_shipping_tax" not in again


def test_a_file_of_text_gives_the_same_tax(tmp_path, embedded):
    frame = pd.DataFrame(
        {
            "state": ["CA", "TX", "NY", "OR", "CA"],
            "zip": ["94105", "78701", "10001", "97201", "94105"],
            "amount": ["10.00", "19.99", "0.05", "100.00", "-4.00"],
            "delivery": ["5.00", "0.00", "1.00", "2.00", "0.00"],
        }
    )
    looked = frame.svc.lookup(client=embedded, as_of="2026-02-01", progress=False)
    looked.to_csv(tmp_path / "looked.csv", index=False)
    text = pd.read_csv(tmp_path / "looked.csv", dtype="str")
    terms = {"shipping": "delivery", "nexus": [{"state": "CA", "nexus_type": "physical"}]}
    expected = looked.svc.tax(**terms, progress=False)
    found = text.svc.tax(**terms, progress=False)
    for name in (*TAX_COLUMNS, "shipping_tax", "tax_due", "tax_due_reason"):
        assert found[name].isna().tolist() == expected[name].isna().tolist()
        assert found[name].dropna().tolist() == expected[name].dropna().tolist()
