"""Files of shops and marketplaces, as public reports show them, with the tax that is right."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from support.command import svc_tools

from svc_tools.frames import enrich_file
from svc_tools.tables.exports import recognized

DATA = Path(__file__).parents[1] / "data"
FILES = DATA / "sales_files"

# 10.55% in Seattle (98101) on 2026-08-14, where delivery is taxed, too
RIGHT = {
    "c02_squarespace_discount": ["9.28"],  # (100 - 20 + 8)
    "c02_squarespace_items": ["11.39", "0.00"],  # (100 + 8), of two items
    "c02_squarespace_refunded": ["5.28"],  # 50, with a note on the refund
    "c03_edd": ["10.55"],  # 110.55 contains 10.55
    "c03_tiktok": ["10.55", "0.00"],  # 110.55 on each of two rows
    "p07_ebay": ["6.33", "0.00", "0.00"],  # 60, of 40 and 20
    "p08_paypal": ["116.05", "-10.55", None],  # 1,100, a refund of 100, a withdrawal
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_has_the_right_tax_from_frame_and_command(embedded, tmp_path, name) -> None:
    done = svc_tools("enrich", FILES / f"{name}.csv", "-o", tmp_path / "out.csv", "--embedded")
    own = pd.read_csv(FILES / f"{name}.csv", dtype="str")
    rated = own.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)

    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert done.returncode == 0
    for tax in (written["tax"], taxed["tax"]):
        assert [None if pd.isna(one) else str(one) for one in tax] == RIGHT[name]
    statuses = ["ok" if tax else "invalid" for tax in RIGHT[name]]
    assert written["lookup_status"].tolist() == statuses
    assert ("refunds are not taken off" in done.stderr) == (name == "c02_squarespace_refunded")


@pytest.mark.parametrize("chunk", [1, 2])
@pytest.mark.parametrize("name", RIGHT)
def test_a_file_has_the_same_tax_however_it_is_parted(
    embedded, tmp_path, monkeypatch, name, chunk
) -> None:
    own = pd.read_csv(FILES / f"{name}.csv", dtype="str")
    own.to_parquet(tmp_path / "in.parquet")
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", chunk)

    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"), client=embedded, tax={}, cache=False
    )

    tax = pd.read_parquet(tmp_path / "out.parquet")["tax"]
    assert [None if pd.isna(one) else str(one) for one in tax] == RIGHT[name]


PAYPAL = {
    "Date": "08/14/2026",
    "Type": "Express Checkout Payment",
    "Status": "Completed",
    "Currency": "USD",
    "Gross": "119.39",
    "Fee": "-3.76",
    "Net": "115.63",
    "Transaction ID": "T1",
    "Shipping and Handling Amount": "8.00",
    "Sales Tax": "11.39",
    "Address Line 1": "12 Elm St",
    "Town/City": "Seattle",
    "State/Province/Region/County/Territory/Prefecture/Republic": "WA",
    "Zip/Postal Code": "98101",
    "Country": "United States",
}
KINDS = {
    "a payment": ({}, "100.00", "8.00"),
    "a payment that was refunded later": ({"Status": "Refunded"}, "100.00", "8.00"),
    # the parts of a refund are written without a minus
    "a refund of all": ({"Type": "Payment Refund", "Gross": "-119.39"}, "-100.00", "-8.00"),
    "what you paid yourself": ({"Gross": "-119.39"}, "0.00", "0.00"),
    "what was refunded to you": ({"Type": "Payment Refund"}, "0.00", "0.00"),
    "a fee": ({"Type": "Partner Fee", "Gross": "-1.00"}, "0.00", "0.00"),
    "a conversion": ({"Type": "General Currency Conversion"}, "0.00", "0.00"),
    "a payment that was denied": ({"Status": "Denied"}, "0.00", "0.00"),
    "a payment that is not complete": ({"Status": "Pending"}, "0.00", "0.00"),
    "euros": ({"Currency": "EUR"}, None, "8.00"),
}


def test_of_paypal_only_payments_and_refunds_are_sales(embedded, capsys) -> None:
    rows = [PAYPAL | changed for changed, _, _ in KINDS.values()]

    rated = pd.DataFrame(rows).svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax()

    for place, (name, (_, amount, shipping)) in enumerate(KINDS.items()):
        row = taxed.iloc[place]
        found = None if pd.isna(row["sale_amount"]) else str(row["sale_amount"])
        assert (found, str(row["sale_shipping"])) == (amount, shipping), name
    assert str(taxed["tax"][0]) == "11.39"  # 10.55% of 108
    assert str(taxed["tax"][2]) == "-11.39"
    assert taxed["tax_error"][9] == "amount: in EUR, not in US dollars"
    said = capsys.readouterr().err
    assert "4 rows of another kind than sales and refunds by 'Type': amount 0.00" in said
    assert "2 rows canceled or not paid by 'Status': amount 0.00" in said


EBAY = {
    "Sales Record Number": "1",
    "Order Number": "11-1",
    "Ship To State": "WA",
    "Ship To Zip": "98101",
    "Item Number": "5",
    "Item Title": "Cup",
    "Quantity": "1",
    "Sold For": "$20.00",
    "Sale Date": "Aug-14-26",
}


def test_of_an_ebay_order_the_row_of_the_sum_counts_and_rows_without_one_count_each(
    embedded,
) -> None:
    item = dict.fromkeys(["Ship To State", "Ship To Zip", "Sale Date"])
    rows = [
        EBAY | {"Item Number": None, "Item Title": None, "Sold For": "$40.00"},
        *(EBAY | item | {"Item Number": number} for number in ("6", "7")),  # of one price
        EBAY | {"Order Number": "11-2"},
        *(EBAY | {"Order Number": "11-3", "Item Number": number} for number in ("8", "9")),
    ]

    rated = pd.DataFrame(rows).svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)

    amounts = ["40.00", "0.00", "0.00", "20.00", "20.00", "20.00"]
    assert [str(one) for one in taxed["sale_amount"]] == amounts
    assert set(taxed["lookup_status"]) == {"ok"}


def test_an_order_of_tiktok_that_was_canceled_and_the_row_of_descriptions_are_no_sales(
    embedded,
) -> None:
    orders = pd.read_csv(FILES / "c03_tiktok.csv", dtype="str")
    described = orders.iloc[:1].assign(
        **{"Order ID": "Platform unique order ID.", "Order Status": "Current order status."},
        **{"Order Amount": "Total order amount.", "Taxes": None, "Zipcode": "Zip code"},
        **{"Created Time": "Order created time."},
    )
    canceled = orders.assign(**{"Order ID": "2\t", "Order Status": "Canceled"})
    every = pd.concat([described, orders, canceled], ignore_index=True)

    rated = every.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)

    assert [str(one) for one in taxed["sale_amount"]] == ["0.00", "100.00", *["0.00"] * 3]
    assert [None if pd.isna(one) else str(one) for one in taxed["tax"]] == [
        *(None, "10.55", "0.00", "0.00", "0.00"),
    ]


def test_an_ebay_file_as_it_is_downloaded_has_its_items_and_no_counts(embedded, tmp_path) -> None:
    sample = DATA / "exports" / "ebay.csv"
    with sample.open(encoding="utf-8", newline="") as file:
        own = [row for row in csv.reader(file) if len(row) > 1 and row[1].startswith("11-")]

    done = svc_tools("enrich", sample, "-o", tmp_path / "out.csv", "--embedded")

    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert "eBay orders with a title, headings and totals: left out" in done.stderr
    assert written["Sales Record Number"].tolist() == [row[0] for row in own]


def test_a_payment_refunded_without_a_sum_has_its_note(embedded, capsys) -> None:
    paid = pd.read_csv(FILES / "c03_edd.csv", dtype="str")
    refunded = pd.concat([paid, paid.assign(ID="78", Status="Refunded")], ignore_index=True)

    rated = refunded.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax()

    assert [str(one) for one in taxed["tax"]] == ["10.55", "10.55"]
    assert "1 row refunded by 'Status' and not taken off" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["US-WA", "WA", "Washington"])
def test_a_state_of_wix_with_its_country_is_read(embedded, state) -> None:
    orders = pd.read_csv(DATA / "exports" / "wix.csv", dtype="str").iloc[[0]]
    seattle = orders.assign(
        **{
            "Delivery state": state,
            "Delivery zip/postal code": "98101",
            "Delivery city": "Seattle",
        },
        **{"Delivery address": "12 Elm St", "Delivery country": "USA"},
        **{"Date created": "Aug 14, 2026", "Total": "119.39", "Total tax": "11.39"},
        **{"Shipping rate": "8.00"},
    )

    rated = seattle.svc.lookup(client=embedded, cache=False, progress=False)

    assert [str(one) for one in rated.svc.tax(progress=False)["tax"]] == ["11.39"]


# Of each sample, by hand, once for each order: number of orders, goods, delivery, tax collected
ONCE = {
    "squarespace.csv": (25, "13222.90", "103.35", "921.37"),
    "wix.csv": (24, "7456.82", "143.10", "459.98"),
    "tiktok.csv": (23, "16043.31", "119.25", "1357.76"),
    "ebay.csv": (20, "9382.98", "79.50", "522.23"),
    "woocommerce_meta.csv": (40, "46391.81", "143.10", "3206.79"),
}


@pytest.mark.parametrize("name", ONCE)
def test_the_columns_of_orders_count_once_and_add_up_to_the_sums_of_the_sample(
    embedded, name
) -> None:
    below = 1 if name == "ebay.csv" else 0
    own = pd.read_csv(DATA / "exports" / name, dtype="str", skiprows=below)
    export = recognized(own.columns)
    assert export is not None
    found = export.found(own.columns)
    own = own[own[found["as_of"]].notna() & own[found["order"]].str.contains(r"\d")]
    numbers = own[found["order"]].nunique()

    rated = own.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)

    orders = own[~own[found["order"]].duplicated()]
    no_sale, _ = export.found_words(own.columns)
    words = {word for of in no_sale.values() for word in of or ()}
    sold = orders[
        ~orders[[*no_sale]]
        .map(lambda cell: str(cell).lower().removeprefix("wc-"))
        .isin(words)
        .any(axis=1)
    ]
    collected = sum(
        (Decimal(str(cell).strip("$").replace(",", "")) for cell in sold[found["collected"]]),
        Decimal(0),
    )
    assert (
        numbers,
        str(taxed["sale_amount"].sum()),
        str(taxed["sale_shipping"].sum()),
        str(collected),
    ) == ONCE[name]
    assert found["collected"] in export.of_orders(own.columns)


def _tax_of(embedded, columns: dict[str, list[str]]) -> list[str | None]:
    place = {"State": "WA", "Zip": "98101", "Order Date": "2026-08-14"}
    rated = (
        pd.DataFrame(columns)
        .assign(**place)
        .svc.lookup(client=embedded, cache=False, progress=False)
    )
    tax = rated.svc.tax(progress=False)["tax"]
    return [None if pd.isna(one) else str(one) for one in tax]


@pytest.mark.parametrize("name", ["Amount (EUR)", "Total EUR", "CAD Amount", "Amount [GBP]"])
def test_an_amount_alone_in_another_currency_by_its_heading_has_no_tax(embedded, name) -> None:
    assert _tax_of(embedded, {name: ["100.00", "50.00"]}) == [None, None]


@pytest.mark.parametrize("name", ["Tax Included", "Included Tax", "Tax (included)", "VAT incl."])
def test_a_tax_that_is_included_by_its_name_is_the_tax(embedded, name) -> None:
    columns = {"Order Amount": ["110.55", "55.28"], name: ["10.55", "5.28"]}
    assert _tax_of(embedded, columns) == ["10.55", "5.28"]


def test_an_export_without_the_number_of_the_order_has_a_tax_for_each_row(embedded) -> None:
    own = pd.read_csv(DATA / "exports" / "woocommerce_meta.csv", dtype=str).head(10)
    rated, alike = (
        frame.svc.lookup(client=embedded, cache=False, progress=False).svc.tax(progress=False)
        for frame in (own, own.drop(columns="order_id"))
    )
    assert alike["tax"].tolist() == rated["tax"].tolist()
