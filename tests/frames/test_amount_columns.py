"""Which columns of a file are its amounts, what is said of the others, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from svc_tools.frames.orders.currencies import heading_unit
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing

RATED = {"State": "WA", "Zip": "98101", "Order Date": "2026-08-14"}
RATED |= {"combined_rate": "0.10550", "lookup_status": "ok"}


def rated(own: pd.DataFrame) -> pd.DataFrame:
    """The rows as a lookup leaves them: a tenth and 0.55 percent."""
    return own.assign(**RATED)


def taxes(own: pd.DataFrame, **arguments: object) -> list[str]:
    taxed = rated(own).svc.tax(progress=False, **arguments)
    return taxed["tax"].astype(str).tolist()


def notes(capsys: pytest.CaptureFixture[str], own: pd.DataFrame, **arguments: object) -> list[str]:
    rated(own).svc.tax(progress=True, **arguments)
    return [line.removeprefix("svc: ") for line in capsys.readouterr().err.splitlines()]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("amount_cents", "cents"),
        ("Amount (cents)", "cents"),
        ("amountInCents", "cents"),
        ("Total (\u00a2)", "cents"),
        ("amount_minor", "cents"),
        ("Sales (in thousands)", "thousands"),
        ("Revenue (000s)", "thousands"),
        ("Sales ($K)", "thousands"),
        ("Sales (in millions)", "millions"),
        ("Amount", None),
        ("Amount (USD)", None),
        ("Ten Percent Discount", None),
        ("Discount per cent", None),
        ("Amount 2000", None),
        ("Order Total", None),
    ],
)
def test_a_heading_may_name_another_unit_than_dollars(name, unit):
    assert heading_unit(name) == unit


@pytest.mark.parametrize("name", ["amount_cents", "Amount (cents)", "Sales (in thousands)"])
def test_an_amount_in_another_unit_is_never_taken_for_dollars(capsys, name):
    alone = pd.DataFrame({name: ["10000", "5000"]})
    with pytest.raises(ColumnMissing, match=r"by its name, not in dollars") as caught:
        taxes(alone)
    assert repr(name) in str(caught.value)
    with pytest.raises(ValueError, match=r"rename the column if it is in dollars"):
        taxes(alone, amount=name)
    beside = alone.assign(Amount=["100.00", "50.00"])
    assert taxes(beside) == ["10.55", "5.28"]
    assert any(
        line.startswith(f"{name!r} was not used: it is in ") for line in notes(capsys, beside)
    )


def test_columns_that_are_not_used_for_one_reason_are_one_sentence(capsys):
    own = pd.DataFrame({"Amount": ["100.50"], "Cash": ["7"], "Card": ["8"], "Gift Card": ["6"]})
    assert "'Cash', 'Card' and 'Gift Card' were not used: payments" in notes(capsys, own)


def test_texts_in_columns_that_only_seem_to_be_money_are_passed_over(capsys):
    own = pd.DataFrame({"Amount": ["100.50", "7"], "Ship Via X": ["UPS", "DHL"]})
    own["Sales Rep"] = ["Ann", "Bob"]
    assert notes(capsys, own) == ["amount from 'Amount', by its name"]
    own = pd.DataFrame({"Amount": ["100.50", "7"], "Tax Amount": ["none yet", "later"]})
    assert "'Tax Amount' was not used: it holds other texts than amounts" in notes(capsys, own)


@pytest.mark.parametrize(
    "own",
    [
        pd.DataFrame({"Amount (EUR)": ["100.50"]}),
        pd.DataFrame({"Subtotal": [None]}, dtype=object),
        pd.DataFrame({"Subtotal": ["0", "0"]}),
    ],
)
def test_a_column_that_is_used_is_not_said_to_be_not_used(capsys, own):
    said = notes(capsys, own)
    assert said[0] == f"amount from {own.columns[0]!r}, by its name"
    assert not any("not used" in line for line in said)


def test_two_columns_of_one_name_are_to_be_renamed():
    own = pd.DataFrame([["100.50", "1.50"]], columns=["Amount", "Amount"])
    with pytest.raises(ColumnAmbiguous, match=r"2 columns are named 'Amount'.*rename all but one"):
        taxes(own)


@pytest.mark.parametrize("name", ["Amount Paid", "Total Paid"])
def test_a_column_that_may_be_the_amount_is_asked_about(name):
    own = pd.DataFrame({name: ["100", "50"]})
    with pytest.raises(ColumnAmbiguous) as caught:
        taxes(own)
    (asked,) = caught.value.questions
    assert asked.argument == "amount"
    assert asked.columns == (name,)
    assert taxes(own, amount=name) == ["10.55", "5.28"]


@pytest.mark.parametrize("name", ["Betrag", "Importe", "Montant", "Importo"])
def test_an_amount_is_found_by_its_name_in_another_language(name):
    assert taxes(pd.DataFrame({name: ["100", "50"]})) == ["10.55", "5.28"]


@pytest.mark.parametrize("name", ["Subtotal", "Amount", "Order Total"])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([], dtype=object),
        pd.Series([], dtype="float64"),
        pd.Series([], dtype="string"),
        pd.Series([np.nan, np.nan]),
        pd.Series([None, None], dtype=object),
    ],
    ids=["no rows", "no numbers", "no texts", "only NaN", "only None"],
)
def test_an_empty_amount_is_found_by_its_name(name, column):
    own = pd.DataFrame({name: column})
    more = own.assign(**{"Tax": None, "Total Sales": None})
    for frame in (own, more):
        taxed = rated(frame).svc.tax(progress=False)
        assert taxed["tax"].isna().all()


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"amount": "Amount", "parts": {"Discount": "discount"}}, ValueError, "parts: beside"),
        ({"contains_tax": True}, ColumnMissing, "no column holds the tax"),
        ({"amount": "Amount", "contains_tax": True}, ColumnMissing, "no column holds the tax"),
    ],
)
def test_an_argument_without_effect_is_refused(arguments, kind, says):
    own = pd.DataFrame({"Amount": ["100", "50"], "Discount": ["10", "5"], "Shipping": ["1", "2"]})
    with pytest.raises(kind, match=says) as caught:
        taxes(own, **arguments)
    assert "leave" in str(caught.value)


def test_a_delivery_that_no_column_holds_cannot_be_contained():
    with pytest.raises(ColumnMissing, match="no column holds the delivery"):
        taxes(pd.DataFrame({"Amount": ["100", "50"]}), contains_shipping=True)


def test_arguments_that_change_nothing_and_are_true_are_taken():
    own = pd.DataFrame({"Amount": ["100", "50"], "Discount": ["10", "5"]})
    assert taxes(own, amount="Amount", parts={"Discount": "none"}) == ["10.55", "5.28"]
    assert taxes(own, amount="Amount", contains_tax=False) == ["10.55", "5.28"]


LINES = {"Order ID": ["1", "1", "1", "2"], "Amount": ["100", "10.55", "8", "50"]}


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("Item Name", ["Lamp", "Sales Tax", "Shipping", "Lamp"]),
        ("Line Type", ["Product", "Tax", "Freight", "Product"]),
        ("Item Type", ["product", "TIP", "delivery fee", "product"]),
        ("Product", ["Lamp", "Gift Card - $10.55", "Shipping & Handling", "Tip Jar"]),
    ],
)
def test_lines_of_a_tax_a_tip_or_a_gift_card_are_no_sales_and_those_of_a_delivery_delivery(
    capsys, name, items
):
    own = pd.DataFrame({**LINES, name: items, "freight_taxable": False})
    taxed = rated(own).svc.tax(progress=False)
    assert taxed["tax"].astype(str).tolist() == ["10.55", "0.00", "0.00", "5.28"]
    assert taxed["sale_amount"].astype(str).tolist() == ["100.00", "0.00", "0.00", "50.00"]
    assert taxed["sale_shipping"].astype(str).tolist() == ["0.00", "0.00", "8.00", "0.00"]
    said = notes(capsys, own)
    assert f"delivery from the rows that are one by {name!r}" in said
    assert f"1 row that is a tax, a tip or a gift card by {name!r}: no sale" in said
    assert not any("not used" in line for line in said)


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("Item Name", ["Lamp", "Tax Guide 2026", "Shipping Box", "Gift Card Holder"]),
        ("Item Tax Code", ["Tax", "Tax", "Tax", "Non"]),
        ("Line Type", ["Delivery", "Pickup", "Delivery", "Pickup"]),
        ("Product", ["Tax", "Tax", "Tax", "Tax"]),
        ("Customer", ["Ann", "Tip", "Tax", "Shipping"]),
    ],
)
def test_other_items_are_goods(name, items):
    assert taxes(pd.DataFrame({**LINES, name: items})) == ["10.55", "1.11", "0.84", "5.28"]


def test_lines_of_a_delivery_beside_a_column_of_it_are_said_to_be_goods(capsys):
    items = {"Item": ["Lamp", "Mug", "Shipping", "Lamp"], "Shipping": ["5", "", "", "3"]}
    own = pd.DataFrame({**LINES, **items, "freight_taxable": True})
    said = "rows that are a delivery by 'Item' count as goods, beside 'Shipping'"
    assert said in notes(capsys, own)


def test_an_item_says_nothing_of_the_amount_of_its_order():
    items = ["Gift Card", "Lamp", "Lamp", "Mug"]
    whole = ["100.50", None, None, "50"]
    own = pd.DataFrame({"Order ID": LINES["Order ID"], "Item Name": items, "Order Total": whole})
    assert taxes(own) == ["10.60", "0.00", "0.00", "5.28"]
