"""The exports of shops, read as sales: further rows of an order, amounts, samples of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import make_sample_exports
import pandas as pd
import pytest
from support.command import svc_tools
from support.shops import MARKETPLACES

from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.tables import tabular
from svc_tools.tables.exports import EXPORTS

SHOPIFY = [
    *("Name", "Email", "Financial Status", "Paid at", "Currency", "Subtotal", "Shipping", "Taxes"),
    *("Total", "Created at", "Lineitem quantity", "Lineitem name", "Lineitem price"),
    *("Billing Zip", "Billing Province", "Shipping Zip", "Shipping Province", "Shipping Country"),
    *("Cancelled at", "Refunded Amount"),
]


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
    said = rated.attrs["svc"]["lookups"][""]["notes"][0]
    assert said.startswith("Shopify orders, recognized by the column names: state from column")
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
    assert "1 row canceled or not paid" in said
    assert "'Refunded Amount': 1 row, $20.00" in said
    assert "in 1 row amount, delivery and tax do not add up to 'Total'" in said
    again = taxed.svc.tax(progress=False)
    pd.testing.assert_frame_equal(again, taxed)
    assert taxed.svc.review().rows is not None


def test_an_amount_that_was_added_to_an_export_counts(embedded) -> None:
    own = SOLD[:1].assign(amount=[40.0])

    rated = own.svc.lookup(client=embedded, cache=False, progress=False)

    assert [str(one) for one in rated.svc.tax(progress=False)["tax"]] == ["2.50"]
    payments = read("stripe.csv")[:1].rename(columns={"Amount": "amount"})  # the export's own
    rated = payments.svc.lookup(client=embedded, cache=False, progress=False)
    assert rated.svc.tax(progress=False).attrs["svc"]["terms"][""]["amount"] == "sale_amount"


def test_a_table_of_your_own_is_no_export_of_a_marketplace(embedded) -> None:
    columns = ["sale_date", "order_id", "order_value", "order_total", "zip", "amount"]
    own = pd.DataFrame([["2026-05-01", 1, 90.0, 100.0, "02134", 80.0]], columns=columns)

    rated = own.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax("amount", progress=False)

    assert str(taxed["tax"][0]) == "5.00"
    assert "tax_due_reason" not in taxed


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
        (["zip", "price"], "price"),
        (["zip", "total"], "total"),  # whatever it is called, where nothing stands beside it
        (["zip", "amount", "net_amount"], "'amount' and 'net_amount' are different amounts"),
        (["zip", "subtotal", "net_amount"], "'subtotal' and 'net_amount' are different amounts"),
        (["zip", "sku"], "no column holds the amount"),
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

    assert taxed.attrs["svc"]["terms"][""]["amount"] == used
    assert str(taxed["tax"][0]) == "0.63"  # 10.00 at 6.25%


def test_a_file_is_read_as_a_frame_is_also_where_an_order_lies_in_two_chunks(
    embedded, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(tabular, "_BLOCK_BYTES", 200)
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


def test_a_further_row_is_of_the_order_of_its_number_and_its_date(embedded) -> None:
    first = [one | {"Created at": "2026-05-01", "Lineitem price": 10.0} for one in ORDERS[:2]]
    second = [one | {"Created at": "2026-06-01", "Lineitem price": 20.0} for one in ORDERS[:2]]
    second[0] |= {"Shipping Zip": "'77002", "Shipping Province": "TX"}
    undated = second[1] | {"Created at": None}
    lost = first[1] | {"Created at": "2026-07-01"}  # its first row is not there
    stores = pd.DataFrame([*first, *second, undated, lost], columns=SHOPIFY)

    rated = stores.svc.lookup(client=embedded, cache=False, progress=False)

    assert rated["lookup_status"].tolist() == ["ok"] * 5 + ["invalid"]
    assert rated["resolved_state"].tolist()[:5] == ["MA", "MA", "TX", "TX", "TX"]
    assert [str(day) for day in rated["lookup_as_of"][3:5]] == ["2026-06-01"] * 2


def test_amounts_of_lines_count_in_each_row_and_not_in_orders_that_are_no_sale(embedded) -> None:
    lines = [ORDERS[0] | {"Lineitem price": 10.0}, ORDERS[1] | {"Lineitem price": 20.0}]
    cancelled = [one | {"Name": "#2"} for one in lines]
    cancelled[0] |= {"Cancelled at": "2026-05-02"}
    canadian = [one | {"Name": "#3"} for one in lines]
    canadian[0] |= {"Currency": "CAD"}
    orders = pd.DataFrame([*lines, *cancelled, *canadian], columns=SHOPIFY)

    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax("Lineitem price", progress=False)
    measured = orders.svc.exposure(amount="Lineitem price", as_of="2026-06-01", progress=False)

    amounts = [None if pd.isna(one) else str(one) for one in taxed["sale_amount"]]
    assert amounts == ["10.00", "20.00", "0.00", "0.00", None, None]
    massachusetts = measured.set_index("state").loc["MA"]
    assert (str(massachusetts["sales"]), massachusetts["transactions"]) == ("30.00", 1)


def test_an_order_of_which_some_lines_are_exempt_has_no_tax_of_the_whole(embedded) -> None:
    lines = [ORDERS[0] | {"Lineitem price": 60.0}, ORDERS[1] | {"Lineitem price": 40.0}]
    orders = pd.DataFrame(
        [
            *lines,
            *(one | {"Name": "#2"} for one in lines),
            *(one | {"Name": "#3"} for one in lines),
        ],
        columns=SHOPIFY,
    ).assign(untaxed=["yes", "no", "yes", "Y", "no", "no"])
    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)

    whole = rated.svc.tax(exempt="untaxed", progress=False)
    dollars = rated.assign(untaxed=["40.00", "0.00"] * 3).svc.tax(exempt="untaxed", progress=False)
    lined = rated.svc.tax("Lineitem price", exempt="untaxed", progress=False)

    assert [None if pd.isna(one) else str(one) for one in whole["tax"]] == [
        *(None, "0.00", "0.00", "0.00", "6.25", "0.00"),
    ]
    assert whole["tax_error"][0].startswith("exempt: differs among the rows of the order")
    assert [str(one) for one in lined["tax"]] == ["0.00", "2.50", "0.00", "0.00", "3.75", "2.50"]
    assert [str(one) for one in dollars["tax"]] == ["3.75", "0.00"] * 3


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_an_order_partly_exempt_has_no_tax_however_a_file_is_parted(
    embedded, tmp_path, monkeypatch, chunk
) -> None:
    first, further = (one | {"Lineitem price": 10.0} for one in ORDERS[:2])
    numbers = [(1, "yes", "no"), (2, "no", "yes"), (3, "Y", ""), (4, "no", "no")]
    orders = pd.DataFrame(
        [
            *(first | {"Name": name, "untaxed": flag} for name, flag, _ in numbers),
            {"untaxed": "no"},  # some part of the file has a number that is missing
            # not next to the order's first row, as in a file that was sorted
            *(further | {"Name": name, "untaxed": flag} for name, _, flag in numbers),
        ],
        columns=[*SHOPIFY, "untaxed"],
    )
    orders["Name"] = orders["Name"].astype("Int64")
    orders.to_parquet(tmp_path / "in.parquet")
    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(exempt="untaxed", progress=False)
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", chunk)

    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
        client=embedded,
        tax={"exempt": "untaxed"},
        cache=False,
    )
    written = pd.read_parquet(tmp_path / "out.parquet")
    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "lined.parquet"),
        client=embedded,
        tax={"amount": "Lineitem price", "exempt": "untaxed"},
        cache=False,
    )

    for of in (taxed, written):
        assert [None if pd.isna(one) else str(one) for one in of["tax"][:4]] == [
            *(None, None, "0.00", "6.25"),
        ]
        assert of["tax_error"].str.startswith("exempt: differs among the rows")[:2].all()
    assert written["untaxed"].tolist() == orders["untaxed"].tolist()
    lined = pd.read_parquet(tmp_path / "lined.parquet")
    assert [str(one) for one in lined["tax"][:4]] == ["0.00", "0.63", "0.00", "0.63"]


@pytest.mark.parametrize(
    ("name", "amount"), [("shopify.csv", "Total"), ("square.csv", "Order Total")]
)
def test_a_total_of_the_order_counts_once_where_it_is_named(embedded, name, amount) -> None:
    orders = read(name)
    own = orders["Order" if "Order" in orders else "Name"]
    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)

    taxed = rated.svc.tax(amount, shipping=False, progress=False)

    assert set(taxed["tax_error"].dropna()) == {"no rate: unsupported"}
    each = orders[amount].where(~own.duplicated(), 0.0)
    statuses = orders.get("Financial Status", orders.get("Fulfillment Status"))
    each = each.where(~statuses.str.lower().isin(["voided", "expired", "canceled"]), 0.0)
    each = each.where(orders["Cancelled at"].isna(), 0.0) if "Cancelled at" in orders else each
    assert float(taxed["sale_amount"].sum()) == pytest.approx(each.sum())


@pytest.mark.parametrize("name", ["square.csv", "woocommerce.csv"])
def test_an_order_counts_once_where_its_rows_are_sorted_into_several_chunks(
    embedded, tmp_path, monkeypatch, name
) -> None:
    monkeypatch.setattr(tabular, "_BLOCK_BYTES", 6_000)
    read(name).sort_values("Item Name").to_csv(tmp_path / "sorted.csv", index=False)

    run = enrich_file(
        *(tmp_path / "sorted.csv", tmp_path / "out.csv"), client=embedded, tax={}, cache=False
    )
    measured = exposure_of_file(tmp_path / "sorted.csv", as_of="2026-10-31", progress=False)
    as_written = exposure_of_file(FOLDER / name, as_of="2026-10-31", progress=False)

    assert str(run.totals.tax) == SAMPLES[name].tax
    assert measured["sales"].sum() == as_written["sales"].sum()
    assert measured["transactions"].sum() == as_written["transactions"].sum()


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
    assert (
        "1 row canceled or not paid by 'Financial Status' or 'Cancelled at': amount 0.00" in notes
    )
    assert "left out, shipped to another country: 1 row" in notes
    assert "left out, amount: not in US dollars: 1 row" in notes
    assert "channel" in notes


FOLDER = Path(__file__).parents[1] / "data" / "exports"


class Sample(NamedTuple):
    """What is known of a sample: rows with a rate, rows of other countries, totals, lines."""

    name: str
    rated: int
    abroad: int
    amount: str
    tax: str
    lines: dict[int, tuple[str, str | None, str]]
    """Amount, delivery and tax of some rows, worked out by hand.

    Massachusetts 6.25% and Oregon 0 without delivery; New Jersey 6.625%, Connecticut 6.35% and
    Rhode Island 7% with it.
    """
    unplaced: int = 0
    """Rows without a place: withdrawals, the row that describes the columns."""


SAMPLES = {
    "shopify.csv": Sample(
        *("Shopify orders", 193, 7, "72207.06", "5231.37"),
        {9: ("33.75", "7.95", "2.76"), 95: ("13.00", "7.95", "0.81")},
    ),
    "amazon.txt": Sample(
        *("Amazon orders", 193, 7, "74948.56", "5250.63"),
        {40: ("267.00", "0.00", "17.69"), 102: ("37.50", "7.95", "2.89")},
    ),
    "stripe.csv": Sample(
        *("Stripe payments", 192, 8, "132538.91", "9466.91"),
        {39: ("28.15", None, "1.79"), 90: ("14.86", None, "0.93")},
    ),
    "quickbooks.csv": Sample(
        *("QuickBooks sales report", 192, 8, "25521.22", "1704.04"),
        {26: ("178.00", "0.00", "11.79"), 43: ("18.99", "0.00", "1.19")},
    ),
    "etsy.csv": Sample(
        *("Etsy sold orders", 192, 8, "109769.66", "7798.94"),
        {16: ("18.99", "7.95", "1.71"), 24: ("58.48", "7.95", "4.40")},
    ),
    "woocommerce.csv": Sample(
        *("WooCommerce orders", 193, 7, "75848.49", "4983.45"),
        {6: ("12.50", "7.95", "1.35"), 81: ("19.50", "7.95", "1.22")},
    ),
    "square.csv": Sample(
        *("Square orders", 194, 6, "78343.88", "5517.08"),
        {40: ("12.50", "7.95", "1.35"), 46: ("183.47", "7.95", "13.40")},
    ),
    "bigcommerce.csv": Sample(
        *("BigCommerce orders", 192, 8, "125492.37", "8275.04"),
        {19: ("34.19", "7.95", "2.79"), 51: ("42.00", "7.95", "3.17")},
    ),
    "squarespace.csv": Sample(
        *("Squarespace orders", 39, 1, "13222.90", "928.30"),
        {5: ("2098.00", "0.00", "146.86"), 33: ("17.10", "7.95", "1.07")},
    ),
    "wix.csv": Sample(
        *("Wix orders", 38, 2, "7456.82", "468.50"),
        {8: ("56.97", "7.95", "4.12"), 10: ("39.00", "7.95", "3.29")},
    ),
    "tiktok.csv": Sample(
        *("TikTok Shop orders", 38, 1, "16043.31", "1375.57"),
        {1: ("108.50", "7.95", "7.39"), 8: ("12.50", "7.95", "0.78")},
        unplaced=1,
    ),
    "ebay.csv": Sample(
        *("eBay orders", 39, 1, "9382.98", "528.53"),
        {22: ("19.00", "7.95", "1.89"), 37: ("1144.50", "0.00", "75.82")},
    ),
    "paypal.csv": Sample(
        *("PayPal activity", 33, 1, "20072.43", "1386.46"),
        {11: ("-14.00", "0.00", "-0.89"), 13: ("12.50", "7.95", "1.43")},
        unplaced=6,
    ),
    "edd.csv": Sample(
        *("Easy Digital Downloads payments", 38, 2, "26273.45", "1617.49"),
        {7: ("17.55", None, "1.23"), 10: ("311.00", None, "20.60")},
    ),
    "woocommerce_meta.csv": Sample(
        *("WooCommerce orders (post meta)", 38, 2, "46391.81", "3232.95"),
        {0: ("14.00", "7.95", "0.88"), 2: ("37.98", "7.95", "3.04")},
    ),
}
WITHOUT_SAMPLE = {"WooCommerce orders (Import Export Suite)": "woocommerce.csv has its amounts"}


def read(name: str) -> pd.DataFrame:
    """A sample as an analyst reads it, with the types that pandas infers."""
    if name == "quickbooks.csv":  # a report: with a title, headings and totals
        report = pd.read_csv(FOLDER / name, skiprows=4)
        return report[report["Transaction date"].notna()]
    if name == "ebay.csv":  # rows of commas around the names, and the number of records below
        report = pd.read_csv(FOLDER / name, skiprows=1)
        return report[report["Order Number"].str.startswith("11-", na=False)]
    return pd.read_csv(FOLDER / name, sep="\t" if name.endswith(".txt") else ",")


def test_every_export_has_a_sample() -> None:
    assert {*SAMPLES} == {*make_sample_exports.SAMPLES}
    named = [*(one.name for one in SAMPLES.values()), *WITHOUT_SAMPLE]
    assert sorted(named) == sorted(one.name for one in EXPORTS)


def test_the_samples_are_what_the_script_writes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*make_sample_exports.SAMPLES}
    for name, made in make_sample_exports.SAMPLES.items():
        assert (FOLDER / name).read_bytes() == made().encode(), name


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_gets_its_tax_without_an_argument_from_frame_and_command(
    embedded, tmp_path, name
) -> None:
    sample = SAMPLES[name]

    rated = read(name).svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)
    done = svc_tools("enrich", FOLDER / name, "-o", tmp_path / "out.csv", "--embedded")

    statuses = taxed["lookup_status"].value_counts().to_dict()
    unplaced = {"invalid": sample.unplaced} if sample.unplaced else {}
    assert statuses == {"ok": sample.rated, "unsupported": sample.abroad, **unplaced}
    assert str(taxed["sale_amount"].sum()) == sample.amount
    assert str(taxed["tax"].sum()) == sample.tax
    shipping = "sale_shipping" in taxed
    for row, figures in sample.lines.items():
        line = taxed.iloc[row]
        delivery = str(line["sale_shipping"]) if shipping else None
        assert (str(line["sale_amount"]), delivery, str(line["tax"])) == figures
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert re.search(
        rf"distinct places and dates {re.escape(sample.name)}: state .*, amount '[^.]*\(.*\)", said
    )
    known = taxed[taxed["tax"].notna()]
    charged = f" and ${known['sale_shipping'].sum():,.2f} of delivery" if shipping else ""
    assert f"${known['sale_amount'].sum():,.2f} of sales{charged}, " in said
    for twice in ("recognized", "amount from", "ZIP"):  # no ZIP of a sample lacks a digit
        assert twice not in done.stderr
    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    added = ("lookup_status", "lookup_as_of", "sale_amount", "taxable_amount", "tax", "tax_error")
    for column in added:
        of_frame = [None if pd.isna(one) else str(one) for one in taxed[column]]
        assert [None if pd.isna(one) else one for one in written[column]] == of_frame, column


@pytest.mark.parametrize("name", sorted(MARKETPLACES))
def test_sales_of_a_marketplace_are_not_due_from_the_seller(embedded, name) -> None:
    rated = read(name).svc.lookup(client=embedded, cache=False, progress=False)
    register = [{"state": state, "nexus_type": "economic"} for state in ("MA", "NJ", "TX")]

    taxed = rated.svc.tax(nexus=register, progress=False)

    own = taxed.get("sales-channel", pd.Series("", taxed.index)).eq("Non-Amazon US")
    assert taxed.loc[~own, "tax_due"].isna().all()
    assert set(taxed.loc[~own, "tax_due_reason"]) == {"marketplace_facilitated"}
    registered = own & taxed["resolved_state"].isin(["MA", "NJ", "TX"])
    assert taxed.loc[registered, "tax_due"].notna().all()


def test_an_empty_text_is_no_amount(embedded) -> None:
    orders = pd.read_csv(FOLDER / "amazon.txt", sep="\t", dtype=str, keep_default_na=False)
    orders.loc[0, "item-price"] = ""

    rated = orders.svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)

    missing = pd.read_csv(FOLDER / "amazon.txt", sep="\t").assign(
        **{"item-price": lambda frame: frame["item-price"].where(frame.index > 0)}
    )
    rated = missing.svc.lookup(client=embedded, cache=False, progress=False)
    assert taxed["tax"].sum() == rated.svc.tax(progress=False)["tax"].sum() > 4_900
    assert taxed["tax_error"][0] == "amount: missing"


def test_a_download_is_taxed_where_it_is_billed(embedded) -> None:
    payments = read("stripe.csv")
    nothing_shipped = payments["Shipping Address Line1"].isna()
    assert 0 < nothing_shipped.sum() < len(payments)

    rated = payments.svc.lookup(client=embedded, cache=False, progress=False)

    here = nothing_shipped & payments["Card Address Country"].eq("US")
    assert (rated.loc[here, "resolved_state"] == payments.loc[here, "Card Address State"]).all()
    assert "the place is that of 'Card Address State'" in " ".join(
        rated.attrs["svc"]["lookups"][""]["notes"]
    )


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_report_of_quickbooks_has_its_customers_and_no_totals(embedded, tmp_path, kind) -> None:
    report = tmp_path / f"report.{kind}"
    if kind == "csv":
        report.write_bytes((FOLDER / "quickbooks.csv").read_bytes())
    else:
        cells = pd.read_csv(FOLDER / "quickbooks.csv", header=None, names=range(14), dtype=str)
        cells.to_excel(report, index=False, header=False)

    run = enrich_file(report, tmp_path / "out.csv", client=embedded, tax={}, cache=False)

    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert (len(written), run.totals.statuses["ok"]) == (200, 192)
    assert written["Customer"].str.match(r"Customer \d+$").all()
    assert sum(map(float, written["tax"].dropna())) == pytest.approx(1704.04)
    returned = written[written["Transaction type"].eq("Credit Memo")]
    assert (
        returned["sale_amount"].astype(float) + returned["sale_shipping"].astype(float) < 0
    ).all()


@pytest.mark.parametrize("name", SAMPLES)
def test_sales_of_a_sample_are_measured_without_an_argument(name) -> None:
    found = exposure_of_file(FOLDER / name, as_of="2026-10-31", progress=False)

    measured = found.attrs["svc_exposure"]
    notes = " ".join(measured["notes"])
    assert f"{SAMPLES[name].name}, recognized by the column names: date from column" in notes
    marketplace = found["marketplace_sales"].sum()
    sales = found["sales"].sum()
    assert (marketplace > 0) == (name in MARKETPLACES)
    assert sales + marketplace > 0


def test_rows_that_were_chosen_after_the_lookup_are_unchanged(embedded, recwarn) -> None:
    rated = read("shopify.csv").svc.lookup(client=embedded, cache=False, progress=False)
    taxed = rated.svc.tax(progress=False)
    lamps = taxed[taxed["Lineitem name"].eq("Lamp")]
    assert lamps["Subtotal"].isna().any()  # a further row whose order's first row is not there

    again = lamps.svc.tax(progress=False)

    assert not recwarn.list
    pd.testing.assert_frame_equal(again, lamps)
    backwards = taxed.iloc[::-1].svc.tax(progress=False)
    assert backwards["tax"].sum() == taxed["tax"].sum()


def test_the_day_of_a_sale_is_as_its_export_writes_it(embedded) -> None:
    orders = read("amazon.txt").iloc[:1].assign(**{"purchase-date": "2026-09-01T03:30:00+00:00"})
    own = read("shopify.csv").iloc[:1].assign(**{"Created at": "2026-08-31 22:30:00 -0500"})

    def day(frame, **arguments):
        rated = frame.svc.lookup(client=embedded, cache=False, progress=False, **arguments)
        return str(rated["lookup_as_of"].iloc[0])

    assert day(orders) == "2026-09-01"  # Amazon writes UTC
    assert day(orders, tz="America/Chicago") == "2026-08-31"
    assert day(own) == "2026-08-31"  # Shopify the day of the store
    # dates alone are no times in UTC, also where one is missing
    dates = pd.concat([orders, orders]).assign(**{"purchase-date": ["2026-09-01", None]})
    parsed = dates.assign(**{"purchase-date": pd.to_datetime(dates["purchase-date"])})
    assert day(parsed, tz="America/Chicago") == day(dates, tz="America/Chicago") == "2026-09-01"
