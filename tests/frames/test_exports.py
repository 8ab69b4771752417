"""The exports of shops: recognized by their columns, and read as sales."""

from __future__ import annotations

import pandas as pd
import pytest

from svc_tools.exports import EXPORTS, PLACE_ROLES, recognized
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
