"""Amounts, deliveries and exemptions of lines as whole cents."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import dollars, found, rated, tax_of

from svc_tools.frames.taxes.tax_lines import Exempt, taxable_shipping
from svc_tools.frames.values.money import whole_cents

CENTS = st.integers(-(10**13), 10**13)


def decimals_of(values, precision, scale):
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
    array = pa.array([None if one is None else Decimal(one) for one in values], kind)
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


@pytest.mark.parametrize(
    ("precision", "scale"),
    [(18, 2), (9, 0), (5, 1), (12, 3), (38, 5), (38, 20), (38, 30), (60, 2), (76, 40), (7, -2)],
)
def test_decimals_of_every_scale(precision, scale):
    values = ["1200", None, "-300"]
    cents, wrong, snapped = whole_cents(decimals_of(values, precision, scale))
    assert cents.tolist() == [120_000, 0, -30_000]
    assert wrong == {1: "amount: missing"}
    assert snapped == 0


def test_decimals_with_fractions_of_a_cent_or_too_many_digits_lose_only_their_own_row():
    column = decimals_of(["1.001", "1.010", "-0.009", "99999999999999999999.000"], 38, 3)
    cents, wrong, _ = whole_cents(column)
    assert cents.tolist() == [0, 101, 0, 0]
    assert wrong == {
        0: "amount: 1.001 is not a whole number of cents; round it to the cent before",
        2: "amount: -0.009 is not a whole number of cents; round it to the cent before",
        3: "amount: 99999999999999999999.000 is out of range",
    }


KINDS = {
    "int64[pyarrow]": ([10, None, -5], [1_000, None, -500]),
    "uint8": ([10, 20, 255], [1_000, 2_000, 25_500]),
    "Int16": ([10, None, -5], [1_000, None, -500]),
    "double[pyarrow]": ([10.0, None, -5.5], [1_000, None, -550]),
    "Float32": ([10.0, None, -5.5], [1_000, None, -550]),
    "string[pyarrow]": (["10.00", None, "(5.50)"], [1_000, None, -550]),
    "large_string[pyarrow]": (["10.00", None, "5.50-"], [1_000, None, -550]),
    "str": (["$10", None, "1,000.50"], [1_000, None, 100_050]),
    "category": (["10.00", None, "-5.50"], [1_000, None, -550]),
    "object": ([Decimal("10.00"), None, Decimal("-5.50")], [1_000, None, -550]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_money_in_every_kind_of_column(kind):
    values, expected = KINDS[kind]
    cents, wrong, _ = whole_cents(pd.Series(values, dtype=kind))
    assert cents.tolist() == [0 if one is None else one for one in expected]
    assert set(wrong) == {row for row, one in enumerate(expected) if one is None}


@pytest.mark.parametrize("values", [["10.00", None], [3 * 1.1, 0.5], [Decimal(1), Decimal(2)]])
def test_arrow_dictionaries_and_categories_of_every_kind(values):
    plain, _, snapped = whole_cents(pd.Series(values, dtype=object))
    category = whole_cents(pd.Series(values * 2).astype("category"))
    assert category[0].tolist() == [*plain, *plain]
    assert category[2] == 2 * snapped
    array = pa.array(values).dictionary_encode()
    coded = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))
    assert whole_cents(coded)[0].tolist() == plain.tolist()


def test_truth_values_are_no_amounts():
    for kind in ("bool", "boolean", "bool[pyarrow]"):
        with pytest.raises(TypeError, match="truth values"):
            whole_cents(pd.Series([True], dtype=kind))
    _, wrong, _ = whole_cents(pd.Series([True, 1], dtype=object))
    assert list(wrong) == [0]


@given(st.lists(CENTS, min_size=1))
def test_every_way_of_writing_money_is_read_the_same(cents):
    exact = [Decimal(one).scaleb(-2) for one in cents]
    forms = [
        pd.Series(exact, dtype=object),
        decimals_of(exact, 18, 2),
        decimals_of(exact, 38, 4),
        pd.Series([float(one) for one in exact]),
        pd.Series([f"{one:,}" for one in exact]),
        pd.Series([f"({-one:,})" if one < 0 else f"${one:,}" for one in exact]),
        pd.Series([*exact, None], dtype=object).iloc[:-1],
    ]
    for form in forms:
        read, wrong, snapped = whole_cents(form)
        assert read.tolist() == cents
        assert (wrong, snapped) == ({}, 0)


@given(st.text(max_size=12))
def test_no_text_breaks_the_reading(text):
    cents, wrong, _ = whole_cents(pd.Series([text], dtype=object))
    if not wrong:
        assert any(character.isdigit() for character in text)
    assert len(cents) == 1


@pytest.mark.parametrize(
    "amounts",
    [
        pd.Series([2**63 - 1, 1]),
        pd.Series([2**64 - 1, 1], dtype="uint64"),
        pd.Series([-(2**63), 1]),
        pd.Series([9e18, 1.0]),
        pd.Series(["1e30", "1.00"]),
        decimals_of(["92233720368547758.07", "1.00"], 38, 2),
        decimals_of(["-92233720368547758.08", "1.00"], 38, 2),
    ],
    ids=lambda one: f"{one.dtype} {one[0]}",
)
def test_amounts_beyond_exact_arithmetic_lose_only_their_own_row(amounts):
    for rate in ("0.99999", "0.00000"):
        result = tax_of(amounts, combined_rate=rate)
        assert result["tax"].isna().tolist() == [True, False]
        assert result["tax_error"].iloc[0].startswith("amount:")
        assert result["taxable_amount"].isna().tolist() == [True, False]


def test_amount_and_delivery_that_only_together_are_too_large():
    half = "500000000000000.00"
    result = tax_of(
        [half] * 2, {"shipping": "delivery"}, delivery=[half, "0.00"], combined_rate="0.00001"
    )
    assert found(result, "taxable_amount")[0] == 2 * Decimal(half)
    much = "800000000000.00"  # either alone would fit
    steep = tax_of([much], {"shipping": much}, combined_rate="0.99999")
    assert steep["tax_error"].iloc[0].startswith("amount:")
    most = "9000000000000000.00"  # a column of money holds 18 digits
    untaxed = tax_of([most], combined_rate="0.00000")
    assert found(untaxed, "tax") == [None]
    assert untaxed["tax_error"].iloc[0] == "amount: 9,000,000,000,000,000.00 is out of range"
    with pytest.raises(ValueError, match=r"shipping: .* is out of range"):
        tax_of(["1.00"], {"shipping": most})


def test_a_user_frame_is_never_changed():
    frame = rated(amount=np.array([10.0, np.nan]), delivery=decimals_of(["1.00", None], 9, 2))
    before = frame.copy(deep=True)
    frame.svc.tax(shipping="delivery", exempt="5.00", progress=False)
    pd.testing.assert_frame_equal(frame, before)
    assert frame.attrs == before.attrs


def test_the_largest_amounts_and_one_cent_more():
    cents = (2**63 - 1 - 10**5) // 99_999 // 2
    amounts = [Decimal(one).scaleb(-2) for one in (cents, -cents, cents + 1, -cents - 1)]
    result = tax_of(amounts, {"shipping": "delivery"}, delivery=amounts, combined_rate="0.99999")
    exact = round(Fraction(2 * cents * 99_999, 10**5) + Fraction(1, 10**9))
    assert found(result, "tax") == [
        Decimal(exact).scaleb(-2),
        Decimal(-exact).scaleb(-2),
        None,
        None,
    ]
    assert result["tax_error"].iloc[2].endswith("is too large for exact tax")


@pytest.mark.parametrize("text", ["12 50", "1 234.50", "1,234 .50", "12\u00a050"])
def test_numbers_parted_by_blanks_are_not_put_together(text):
    result = tax_of([text, " $ 12.50 "])
    assert found(result, "tax") == dollars([None, "1.03"])
    assert result["tax_error"].iloc[0].startswith(f"amount: {text!r} is not a number of dollars")


def test_not_a_number_is_missing_in_arrow_columns_too():
    column = pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([1.0, float("nan"), None])])),
        name="amount",
    )
    assert whole_cents(column)[1] == {1: "amount: missing", 2: "amount: missing"}
    orders = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([float("nan")] * 2 + [7.0])))
    result = tax_of(
        ["0.06"] * 3, {"invoice": "order"}, order=orders, combined_rate="0.10000"
    )  # three invoices of 0.006, none of 0.012
    assert found(result, "tax") == dollars(["0.01", "0.01", "0.01"])


YES_NO = [
    pd.Series([True, False]),
    pd.Series([True, False], dtype="boolean"),
    pd.Series([True, False], dtype=object),
    pd.Series([True, False]).convert_dtypes(dtype_backend="pyarrow"),
    pd.Series(["Yes", " no "]),
    pd.Series(["exempt", "taxable"], dtype="category"),
    pd.Series(["TRUE", "f"], dtype="string[pyarrow]"),
]


@pytest.mark.parametrize("exempt", YES_NO, ids=lambda one: f"{one.dtype}")
def test_whole_rows_are_exempt(exempt):
    result = tax_of(["10.00", "20.00"], {"exempt": "resale"}, resale=exempt)
    assert found(result, "tax") == dollars(["0.00", "1.65"])
    assert found(result, "taxable_amount") == dollars(["0.00", "20.00"])
    assert found(result, "exempt_amount") == dollars(["10.00", "0.00"])


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int8", "str"])
def test_zeros_and_ones_could_be_either_and_are_refused(dtype):
    cells = ["1", "0"] if dtype == "str" else [0, 1]
    with pytest.raises(ValueError, match="only 0 and 1"):
        tax_of(["10.00"] * 2, {"exempt": "e"}, e=pd.Series(cells, dtype=dtype))
    nothing = ["0.00", "0.00"] if dtype == "str" else [0, 0]
    zeros = tax_of(["10.00"] * 2, {"exempt": "e"}, e=pd.Series(nothing, dtype=dtype))
    assert found(zeros, "tax") == dollars(["0.83"] * 2)
    with pytest.raises(ValueError, match="a truth value or dollars"):
        tax_of(["10.00"], {"exempt": 1})


def test_a_word_that_says_neither_loses_only_its_own_row():
    said = ["exempt", "no", " ", None, "N/A", "1.00"]
    result = tax_of(["10.00"] * 6, {"exempt": "e"}, e=pd.Series(said, dtype=object))
    assert found(result, "tax") == dollars(["0.00", "0.83", None, None, None, None])
    assert found(result, "tax_error")[2:] == [
        "exempt: missing",
        "exempt: missing",
        "exempt: 'N/A' says neither yes nor no",
        "exempt: '1.00' says neither yes nor no",
    ]


def test_delivery_is_taxed_where_the_state_taxes_it():
    result = tax_of(
        ["10.00"] * 3,
        {"shipping": "delivery"},
        delivery=["5.00", "5.00", "0.00"],
        freight_taxable=[True, False, None],
    )
    assert found(result, "tax") == dollars(["1.24", "0.83", "0.83"])  # 1.2375
    assert found(result, "shipping_tax") == dollars(["0.41", "0.00", "0.00"])
    assert found(result, "taxable_amount") == dollars(["15.00", "10.00", "10.00"])
    assert found(result, "exempt_amount") == dollars(["0.00", "5.00", "0.00"])
    assert result["tax_review"].isna().all()


def test_where_it_is_not_known_whether_delivery_is_taxable_there_is_no_tax():
    result = tax_of(
        ["10.00", "10.00"],
        {"shipping": "5.00"},
        combined_rate=["0.08250", "0.00000"],  # at a rate of 0 it does not matter
        rate_low=[None, None],
        rate_high=[None, None],
        freight_taxable=pd.Series([None] * 2, dtype="boolean"),
    )
    assert found(result, "tax") == dollars([None, "0.00"])
    assert found(result, "tax_review") == ["freight_taxable_unknown", None]
    assert found(result, "tax_low") == dollars(["0.83", "0.00"])
    assert found(result, "tax_high") == dollars(["1.24", "0.00"])


def test_what_shipping_needs_is_said():
    with pytest.raises(ValueError, match="shipping: 'delivry' is neither a column"):
        rated(amount=[1], delivery=[1]).svc.tax(shipping="delivry")
    with pytest.raises(ValueError, match="freight_taxable"):
        rated(amount=[1]).drop(columns="freight_taxable").svc.tax(shipping="1.00")
    twice = rated(amount=[1], delivery=[1], other=[1]).rename(columns={"other": "delivery"})
    with pytest.raises(ValueError, match="several columns 'delivery'"):
        twice.svc.tax(shipping="delivery")


@given(
    st.integers(-(10**16), 10**16).filter(bool), st.fractions(0, 1), st.integers(-(10**16), 10**16)
)
def test_the_share_of_delivery_is_exact_at_any_size(goods, part, shipping):
    exempt = int(goods * part)
    one = Exempt(np.array([exempt]), np.array([exempt == goods]), 0)
    share = taxable_shipping(np.array([goods]), one, np.array([shipping]))
    with decimal.localcontext(prec=60):
        exact = Decimal(shipping) * (goods - exempt) / goods
        assert int(share[0]) == int(exact.quantize(Decimal(1), decimal.ROUND_HALF_UP))


@pytest.mark.parametrize("argument", ["exempt", "invoice", "channel", "ship_from"])
def test_lists_in_a_column_that_an_argument_names_are_as_unreadable_as_texts(argument):
    lists = rated(amount=[1, 2], named=[[1], [2]]).svc.tax(**{argument: "named"})
    texts = rated(amount=[1, 2], named=["[1]", "[2]"]).svc.tax(**{argument: "named"})
    own = ["named"]
    pd.testing.assert_frame_equal(lists.drop(columns=own), texts.drop(columns=own))
    assert lists["named"].tolist() == [[1], [2]]


@pytest.mark.parametrize("name", ["resolved_state", "freight_taxable", "lookup_as_of"])
def test_a_column_of_the_lookup_that_is_there_twice_is_named(name):
    frame = rated(amount=["10.00"])
    twice = pd.concat([frame, frame[[name]]], axis=1)
    with pytest.raises(ValueError, match=f"several columns '{name}'"):
        twice.svc.tax(shipping="1.00", progress=False)


@pytest.mark.parametrize("name", ["qty", "unit_price"])
@pytest.mark.parametrize("odd", ["1e999999", "-1e999999999", Decimal("1E+999999")])
def test_a_quantity_or_a_price_beyond_all_numbers_costs_no_other_row(name, odd):
    parts = {"qty": ["1", "1"], "unit_price": ["1.00", "1.00"]}
    parts[name][1] = odd
    taxed = rated(amount=["1.00", "1.00"], **parts).svc.tax(amount="amount", progress=False)
    assert taxed["tax"].iloc[0] == Decimal("0.08")
    assert taxed[name].tolist() == parts[name]
