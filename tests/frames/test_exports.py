"""The exports of shops: recognized by their columns, and read as sales."""

from __future__ import annotations

import pandas as pd
import pytest

from svc_tools import tabular
from svc_tools.exports import EXPORTS, PLACE_ROLES, recognized
from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.frames.lookup_columns import NOTE
from svc_tools.roles import plain_name

SHOPIFY = [
    *("Name", "Email", "Financial Status", "Paid at", "Currency", "Subtotal", "Shipping", "Taxes"),
    *("Total", "Created at", "Lineitem quantity", "Lineitem name", "Lineitem price"),
    *("Billing Zip", "Billing Province", "Shipping Zip", "Shipping Province", "Shipping Country"),
    *("Cancelled at", "Refunded Amount"),
]


def test_an_export_is_recognized_whatever_the_case_the_order_and_further_columns() -> None:
    written = ["\ufeffName", *(name.upper() for name in reversed(SHOPIFY[1:])), "My own column"]

    export = recognized(written)

    assert export is not None
    assert export.name == "Shopify orders"
    assert export.found(written) == {
        "state": "SHIPPING PROVINCE",
        "zip": "SHIPPING ZIP",
        "country": "SHIPPING COUNTRY",
        "as_of": "CREATED AT",
        "order": "\ufeffName",
        "currency": "CURRENCY",
        "collected": "TAXES",
        "refunded": "REFUNDED AMOUNT",
        "total": "TOTAL",
    }


@pytest.mark.parametrize(
    "columns",
    [
        ["order_id", "order_date", "zip", "amount"],
        ["Date", "Amount", "Currency", "Status", "Shipping Zip"],
        [name for name in SHOPIFY if name != "Financial Status"],
        [*SHOPIFY, "subtotal"],  # which of the two is not known
        [],
        [1, 2, 3],
    ],
)
def test_a_table_that_lacks_what_tells_an_export_is_none(columns: list[object]) -> None:
    assert recognized(columns) is None  # type: ignore[arg-type]  # labels may be numbers


def test_the_table_is_consistent() -> None:
    roles = {
        *PLACE_ROLES,
        "as_of",
        "order",
        "channel",
        "currency",
        "collected",
        "refunded",
        "total",
    }
    for one in EXPORTS:
        names = [
            *one.known_by,
            *(
                name
                for several in (*one.columns.values(), *one.billing.values())
                for name in several
            ),
            *(
                str(name)
                for sums in (*one.amount, *one.shipping)
                for name in (*sums.plus, *sums.minus)
            ),
            *one.no_sale,
            *one.delivery,
        ]
        assert [plain_name(name) for name in names] == names, one.name
        assert one.columns.keys() <= roles, one.name
        assert one.billing.keys() <= {*PLACE_ROLES}, one.name
        assert {"as_of", "order"} <= one.columns.keys(), one.name
        assert one.amount, one.name
        assert one.amounts, one.name
        assert recognized([*one.known_by]) is one, one.name
    assert len({one.name for one in EXPORTS}) == len(EXPORTS)


ORDERS = [
    {
        "Name": "#1001",
        "Financial Status": "paid",
        "Subtotal": 100.0,
        "Created at": "2026-05-01",
        "Paid at": "2026-05-03",
        "Shipping Zip": "'02134",
        "Shipping Province": "MA",
        "Billing Zip": "'78701",
        "Billing Province": "TX",
        "Shipping Country": "US",
    },
    {"Name": "#1001", "Lineitem name": "Tea"},
    {
        "Name": "#1002",
        "Created at": "2026-05-02",
        "Shipping Zip": "10115",
        "Shipping Country": "DE",
    },
    {"Name": "#1003", "Created at": "2026-05-02", "Lineitem name": "Pickup in the store"},
]


def test_a_further_row_of_an_order_has_its_place_and_date(embedded) -> None:
    orders = pd.DataFrame(ORDERS, columns=SHOPIFY)

    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)

    assert rated["lookup_status"].tolist() == ["ok", "ok", "unsupported", "invalid"]
    assert rated["resolved_state"].tolist()[:2] == ["MA", "MA"]
    assert [str(day) for day in rated["lookup_as_of"][:2]] == ["2026-05-01", "2026-05-01"]
    pd.testing.assert_frame_equal(rated[SHOPIFY], orders)  # your own columns are unchanged
    said = rated.attrs[NOTE]["notes"][0]
    assert said.startswith("Shopify orders, recognized by their columns: state from column")
    assert "as_of from column 'Created at'" in said


def test_an_argument_overrides_only_itself(embedded) -> None:
    orders = pd.DataFrame(ORDERS[:1], columns=SHOPIFY)

    rated = orders.svc.lookup(
        client=embedded,
        cache=False,
        progress=False,
        as_of="Paid at",
        zip="Billing Zip",
        state=False,
    )

    assert rated["resolved_state"].tolist() == ["TX"]
    assert str(rated["lookup_as_of"][0]) == "2026-05-03"


SOLD = pd.DataFrame(
    [
        ORDERS[0] | {"Shipping": 10.0, "Taxes": 6.25, "Total": 116.25, "Currency": "USD"},
        ORDERS[1],
        ORDERS[0] | {"Name": "#2", "Subtotal": 50.0, "Refunded Amount": 20.0, "Total": 61.0},
        ORDERS[0] | {"Name": "#3", "Financial Status": "voided", "Subtotal": 70.0},
        ORDERS[0] | {"Name": "#4", "Currency": "CAD"},
        ORDERS[0] | {"Name": "#5", "Subtotal": None},
    ],
    columns=SHOPIFY,
)


def test_a_tax_without_arguments_takes_the_amounts_of_the_export(embedded, capsys) -> None:
    rated = SOLD.svc.lookup(client=embedded, cache=False, progress=False)

    taxed = rated.svc.tax()

    amounts = [None if pd.isna(one) else str(one) for one in taxed["sale_amount"]]
    assert amounts == ["100.00", "0.00", "50.00", "0.00", None, None]
    assert [str(one) for one in taxed["sale_shipping"]][:2] == ["10.00", "0.00"]
    # Massachusetts: 6.25%, delivery is not taxed
    assert [None if pd.isna(one) else str(one) for one in taxed["tax"]] == [
        *("6.25", "0.00", "3.13", "0.00"),
        *(None, None),
    ]
    assert taxed["tax_error"].tolist()[4:] == [
        "amount: in CAD, not in US dollars",
        "amount: missing",
    ]
    said = capsys.readouterr().err
    assert "amount from 'Subtotal' (after discounts, before shipping and tax)" in said
    assert "1 row cancelled or not paid" in said
    assert "'Refunded Amount': 1 row, $20.00" in said
    assert "in 1 row amount, delivery and tax do not add up to 'Total'" in said
    again = taxed.svc.tax(progress=False)
    pd.testing.assert_frame_equal(again, taxed)
    assert taxed.svc.review().rows is not None


def test_an_argument_of_the_tax_overrides_only_itself(embedded) -> None:
    rated = SOLD[:3].svc.lookup(client=embedded, cache=False, progress=False)

    lines = rated.assign(**{"Lineitem price": [40.0, 60.0, 50.0]})
    taxed = lines.svc.tax("Lineitem price", progress=False)
    plain = rated.svc.tax(shipping=False, progress=False)

    assert [str(one) for one in taxed["sale_amount"]] == ["40.00", "60.00", "50.00"]
    assert "shipping_tax" in taxed
    assert "shipping_tax" not in plain


@pytest.mark.parametrize(
    ("columns", "used"),
    [
        (["zip", "subtotal"], "subtotal"),
        (["zip", "amount", "net_amount"], "amount"),
        (["zip", "subtotal", "net_amount"], "several columns could hold the amount"),
        (["zip", "price"], "the frame has no column 'amount'"),
    ],
)
def test_the_amount_of_another_table_is_found_by_its_usual_name(embedded, columns, used) -> None:
    frame = pd.DataFrame([["02134", 10.0, 20.0][: len(columns)]], columns=columns)
    rated = frame.svc.lookup(client=embedded, cache=False, progress=False, as_of="2026-05-01")
    if used not in columns:
        with pytest.raises(ValueError, match=used):
            rated.svc.tax(progress=False)
        return

    taxed = rated.svc.tax(progress=False)

    assert taxed.attrs["svc_tax_terms"][""]["amount"] == used
    assert str(taxed["tax"][0]) == "0.63"  # 10.00 at 6.25%


@pytest.mark.parametrize("block", [200, 8 << 20], ids=["of a few rows", "of the file"])
def test_a_file_is_read_as_a_frame_is_also_where_an_order_lies_in_two_chunks(
    embedded, tmp_path, monkeypatch, block
) -> None:
    monkeypatch.setattr(tabular, "_BLOCK_BYTES", block)
    items = [{"Name": "#1001", "Lineitem name": f"Item {number}"} for number in range(20)]
    repeated = [ORDERS[0] | {"Name": "#9", "Subtotal": 80.0}] * 3
    rows = [ORDERS[0] | {"Shipping": 10.0}, *items, *repeated, ORDERS[0] | {"Name": "#10"}]
    orders = pd.DataFrame(rows, columns=SHOPIFY)
    orders.to_csv(tmp_path / "orders.csv", index=False)

    run = enrich_file(
        *(tmp_path / "orders.csv", tmp_path / "out.csv"), client=embedded, tax={}, cache=False
    )
    taxed = orders.svc.lookup(client=embedded, cache=False, progress=False).svc.tax(progress=False)

    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    for name in ("sale_amount", "sale_shipping", "tax", "lookup_status", "resolved_state"):
        assert written[name].tolist() == [str(one) for one in taxed[name]], name
    assert run.totals.rows == len(rows)
    assert float(taxed["sale_amount"].sum()) == 100 + 80 + 100
    assert any("amount from 'Subtotal'" in note for note in run.notes)


@pytest.mark.parametrize("as_file", [False, True], ids=["frame", "file"])
def test_sales_of_an_export_are_measured_by_state(tmp_path, as_file) -> None:
    sold = pd.concat([SOLD, pd.DataFrame([ORDERS[2] | {"Subtotal": 30.0}], columns=SHOPIFY)])
    if as_file:
        sold.to_csv(tmp_path / "orders.csv", index=False)
        found = exposure_of_file(tmp_path / "orders.csv", as_of="2026-06-01", progress=False)
    else:
        found = sold.svc.exposure(as_of="2026-06-01", progress=False)

    massachusetts = found.set_index("state").loc["MA"]
    # 100.00 with 10.00 of delivery, and 50.00; the further row and what was voided count nothing
    assert (str(massachusetts["sales"]), massachusetts["transactions"]) == ("160.00", 2)
    notes = " ".join(found.attrs["svc_exposure"]["notes"])
    assert "amount from 'Subtotal' with the delivery, 'Shipping'" in notes
    assert "left out, cancelled or not paid: 1 row" in notes
    assert "left out, shipped to another country: 1 row" in notes
    assert "left out, amount: not in US dollars: 1 row" in notes
    assert "channel" in notes
