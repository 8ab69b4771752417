"""What of a row is taxable: exemptions, and delivery that follows the goods."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.looked_up import dollars, found, looked_up, taxed

from svc_tools.frames.arrow import cents_of
from svc_tools.frames.taxes.tax_lines import Exempt, taxable_shipping

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
    result = taxed(["10.00", "20.00"], {"exempt": "resale"}, resale=exempt)
    assert found(result, "tax") == dollars(["0.00", "1.65"])
    assert found(result, "taxable_amount") == dollars(["0.00", "20.00"])
    assert found(result, "exempt_amount") == dollars(["10.00", "0.00"])


def test_a_part_of_a_row_is_exempt_in_dollars():
    result = taxed(
        ["10.00", "10.00", "10.00", "-10.00"],
        {"exempt": "food"},
        food=["4.00", "0.00", "10.00", "-4.00"],
    )
    assert found(result, "taxable_amount") == dollars(["6.00", "10.00", "0.00", "-6.00"])
    assert found(result, "exempt_amount") == dollars(["4.00", "0.00", "10.00", "-4.00"])
    assert found(result, "tax") == dollars(["0.50", "0.83", "0.00", "-0.50"])  # 0.495


def test_one_exemption_for_all_rows():
    everything = taxed(["10.00", "-5.00"], {"exempt": True})
    assert found(everything, "tax") == dollars(["0.00", "0.00"])
    nothing = taxed(["10.00", "-5.00"], {"exempt": False})
    assert found(nothing, "exempt_amount") == dollars(["0.00", "0.00"])
    some = taxed(["10.00", "-5.00", "1.00"], {"exempt": "2.00"})
    assert found(some, "taxable_amount") == dollars(["8.00", "-3.00", None])


def test_an_exemption_that_is_not_known_leaves_no_tax():
    unknown = taxed(["10.00"] * 2, {"exempt": "e"}, e=pd.Series([None, True], dtype="boolean"))
    assert found(unknown, "tax") == dollars([None, "0.00"])
    assert unknown["tax_error"].iloc[0] == "exempt: missing"
    all_unknown = taxed(["10.00"], {"exempt": "e"}, e=pd.Series([None], dtype=object))
    assert all_unknown["tax_error"].iloc[0] == "exempt: missing"
    beyond = taxed(
        ["10.00", "10.00", "-10.00", "10.00", "ten"],
        {"exempt": "e"},
        e=["10.01", "-1.00", "1.00", "some", "5.00"],
    )
    assert beyond["tax"].isna().all()
    assert list(beyond["tax_error"].str.split(":").str[0]) == ["exempt"] * 4 + ["amount"]
    assert "10.01 is not between 0 and the amount, 10.00" in beyond["tax_error"].iloc[0]
    assert beyond["taxable_amount"].isna().all()
    assert beyond["tax_high"].isna().all()


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int8"])
def test_zeros_and_ones_could_be_either_and_are_refused(dtype):
    with pytest.raises(ValueError, match="only 0 and 1"):
        taxed(["10.00"] * 2, {"exempt": "e"}, e=pd.Series([0, 1], dtype=dtype))
    nothing = taxed(["10.00"] * 2, {"exempt": "e"}, e=pd.Series([0, 0], dtype=dtype))
    assert found(nothing, "tax") == dollars(["0.83"] * 2)


def test_the_way_out_that_the_refusal_of_zeros_and_ones_names():
    frame = looked_up(amount=["10.00"] * 3, e=pd.Series([0.0, 1.0, None]))
    with pytest.raises(ValueError, match="only 0 and 1") as refused:
        frame.svc.tax(exempt="e")
    way_out = "df['e'].astype('boolean')"
    assert way_out in str(refused.value)
    frame["e"] = eval(way_out, {"df": frame})  # noqa: S307 - our own words
    assert found(frame.svc.tax(exempt="e", progress=False), "tax") == dollars(
        ["0.83", "0.00", None]
    )


@pytest.mark.parametrize("said", [["1", "0"], ["1.0", "0.0"], ["1", " "], ["1", None]])
def test_zeros_and_ones_written_as_text_are_refused_too(said):
    with pytest.raises(ValueError, match="only 0 and 1"):
        taxed(["10.00"] * 2, {"exempt": "e"}, e=pd.Series(said, dtype="str"))
    assert found(taxed(["10.00"], {"exempt": "e"}, e=["1.00"]), "taxable_amount") == dollars(
        ["9.00"]
    )
    with pytest.raises(ValueError, match="a truth value or dollars"):
        taxed(["10.00"], {"exempt": 1})


def test_a_word_that_says_neither_loses_only_its_own_row():
    said = ["exempt", "no", " ", None, "N/A", "1.00"]
    result = taxed(["10.00"] * 6, {"exempt": "e"}, e=pd.Series(said, dtype=object))
    assert found(result, "tax") == dollars(["0.00", "0.83", None, None, None, None])
    assert found(result, "tax_error")[2:] == [
        "exempt: missing",
        "exempt: missing",
        "exempt: 'N/A' says neither yes nor no",
        "exempt: '1.00' says neither yes nor no",
    ]


def test_what_is_no_exemption_is_refused():
    with pytest.raises(ValueError, match="exempt: 'resale' is neither a column"):
        looked_up(amount=[1]).svc.tax(exempt="resale")


def test_delivery_is_taxed_where_the_state_taxes_it():
    result = taxed(
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
    result = taxed(
        ["10.00", "10.00", "-10.00", "10.00"],
        {"shipping": "delivery", "exempt": "resale"},
        delivery=["5.00", "5.00", "-5.00", "5.00"],
        resale=[False, False, False, True],
        combined_rate=["0.08250", "0.00000", "0.08250", "0.08250"],
        freight_taxable=pd.Series([None] * 4, dtype="boolean"),
    )
    # at a rate of 0, and with exempt goods, it does not matter
    assert found(result, "tax") == dollars([None, "0.00", None, "0.00"])
    assert found(result, "tax_review") == [
        "freight_taxable_unknown",
        None,
        "freight_taxable_unknown",
        None,
    ]
    assert "freight_taxable" in result["tax_error"].iloc[0]
    assert found(result, "tax_low") == dollars(["0.83", "0.00", "-0.83", "0.00"])
    assert found(result, "tax_high") == dollars(["1.24", "0.00", "-1.24", "0.00"])
    assert found(result, "at_stake") == dollars(["0.41", "0.00", "0.41", "0.00"])
    assert result["shipping_tax"].isna().tolist() == [True, False, True, False]


def test_delivery_follows_the_exemption_of_the_goods():
    result = taxed(
        ["10.00", "10.00", "9.00", "-9.00", "0.00"],
        {"shipping": "delivery", "exempt": "food"},
        delivery=["5.00", "5.00", "0.10", "-0.10", "5.00"],
        food=["10.00", "4.00", "3.00", "-3.00", "0.00"],
    )
    # 5.00 x 6/10 = 3.00; 0.10 x 6/9 = 0.0667
    assert found(result, "taxable_amount") == dollars(["0.00", "9.00", "6.07", "-6.07", "5.00"])
    assert found(result, "exempt_amount") == dollars(["15.00", "6.00", "3.03", "-3.03", "0.00"])


def test_free_goods_that_are_exempt_have_exempt_delivery():
    result = taxed(["0.00"], {"shipping": "5.00", "exempt": True})
    assert found(result, "taxable_amount") == dollars(["0.00"])
    assert found(result, "exempt_amount") == dollars(["5.00"])


def test_a_delivery_that_is_missing_leaves_no_tax():
    result = taxed(["10.00"] * 2, {"shipping": "delivery"}, delivery=[None, "0.00"])
    assert found(result, "tax") == dollars([None, "0.83"])
    assert result["tax_error"].iloc[0] == "shipping: missing"


def test_what_shipping_needs_is_said():
    with pytest.raises(ValueError, match="shipping: 'delivry' is neither a column"):
        looked_up(amount=[1], delivery=[1]).svc.tax(shipping="delivry")
    with pytest.raises(ValueError, match="freight_taxable"):
        looked_up(amount=[1]).drop(columns="freight_taxable").svc.tax(shipping="1.00")
    twice = looked_up(amount=[1], delivery=[1], other=[1]).rename(columns={"other": "delivery"})
    with pytest.raises(ValueError, match="several columns 'delivery'"):
        twice.svc.tax(shipping="delivery")


@given(
    st.integers(-(10**16), 10**16).filter(bool),
    st.fractions(0, 1),
    st.integers(-(10**16), 10**16),
)
def test_the_share_of_delivery_is_exact_at_any_size(goods, part, shipping):
    exempt = int(goods * part)
    one = Exempt(np.array([exempt]), np.array([exempt == goods]), 0)
    share = taxable_shipping(np.array([goods]), one, np.array([shipping]))
    with decimal.localcontext(prec=60):
        exact = Decimal(shipping) * (goods - exempt) / goods
        assert int(share[0]) == int(exact.quantize(Decimal(1), decimal.ROUND_HALF_UP))


@settings(max_examples=30)  # frames of 40 to 60 rows each
@given(st.integers(0, 2**32), st.sampled_from([None, "order"]))
def test_taxable_and_exempt_are_amount_and_shipping(seed, invoice):
    random = np.random.default_rng(seed)
    amounts = random.integers(-5_000, 50_000, 50)
    result = looked_up(
        amount=[Decimal(int(cents)).scaleb(-2) for cents in amounts],
        delivery=[Decimal(int(cents)).scaleb(-2) for cents in random.integers(0, 2_000, 50)],
        food=[
            Decimal(int(cents * part)).scaleb(-2)
            for cents, part in zip(amounts, random.random(50), strict=True)
        ],
        freight_taxable=pd.array(random.choice([True, False, None], 50), dtype="boolean"),
        order=random.integers(0, 10, 50),
    ).svc.tax(shipping="delivery", exempt="food", invoice=invoice, progress=False)
    there = ~result["tax"].isna()
    taxable, none = cents_of(result["taxable_amount"])
    assert none.tolist() == (~there).tolist()
    both = taxable + cents_of(result["exempt_amount"])[0]
    given_cents = amounts + np.array([int(one.scaleb(2)) for one in result["delivery"]])
    assert (both == given_cents)[there].all()
    untaxed = there & ~result["freight_taxable"].fillna(value=True)
    assert (cents_of(result["shipping_tax"])[0][untaxed] == 0).all()


@pytest.mark.parametrize("argument", ["exempt", "invoice", "channel", "ship_from"])
def test_a_column_of_lists_is_no_argument(argument):
    frame = looked_up(amount=[1, 2], lists=[[1], [2]])
    with pytest.raises(TypeError, match=f"{argument}: column 'lists' holds values"):
        frame.svc.tax(**{argument: "lists"})


@pytest.mark.parametrize("name", ["resolved_state", "freight_taxable", "lookup_as_of"])
def test_a_column_of_the_lookup_that_is_there_twice_is_named(name):
    frame = looked_up(amount=["10.00"])
    twice = pd.concat([frame, frame[[name]]], axis=1)
    with pytest.raises(ValueError, match=f"several columns '{name}'"):
        twice.svc.tax(shipping="1.00", progress=False)
