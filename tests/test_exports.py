"""Exports of shops are recognized by their columns, and none is taken for another."""

from __future__ import annotations

import csv
import random
import re
from itertools import combinations, permutations
from pathlib import Path

import pytest
from support.shops import COLUMNS, columns_of

from svc_tools.tables.exports import EXPORTS, PLACE_ROLES, Lines, fitting, recognized
from svc_tools.tables.roles import plain_name

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "tests" / "data" / "exports"
OWN = {
    "shopify": "Shopify orders",
    "amazon": "Amazon orders",
    "stripe": "Stripe payments",
    "stripe_older": "Stripe payments",
    "quickbooks": "QuickBooks sales report",
    "etsy": "Etsy sold orders",
    "woocommerce": "WooCommerce orders",
    "woocommerce_suite": "WooCommerce orders (Import Export Suite)",
    "woocommerce_meta": "WooCommerce orders (post meta)",
    "square": "Square orders",
    "bigcommerce": "BigCommerce orders",
    "squarespace": "Squarespace orders",
    "wix": "Wix orders",
    "tiktok": "TikTok Shop orders",
    "ebay": "eBay orders",
    "paypal": "PayPal activity",
    "edd": "Easy Digital Downloads payments",
}
HEADERS = {shop: columns_of(shop)[0] for shop in COLUMNS}
BY_NAME = {one.name: one for one in EXPORTS}
SHOPIFY = HEADERS["shopify"]


def names_of(columns) -> list[str]:
    return [one.name for one in fitting(columns)]


def test_the_header_of_every_export_is_known() -> None:
    assert OWN.keys() == HEADERS.keys()
    assert {*OWN.values()} == BY_NAME.keys()


@pytest.mark.parametrize("shop", HEADERS)
def test_a_header_is_its_export_in_any_case_and_order_and_with_further_columns(shop) -> None:
    header = HEADERS[shop]
    shuffled = random.Random(shop).sample(header, len(header))  # noqa: S311 - an order of columns

    for columns in (
        header,
        shuffled,
        [name.upper() for name in header],
        ["\ufeff" + header[0], *header[1:]],
        [*header, "My own column", "amount_checked", "Region", "Note 2"],
        [*shuffled, "combined_rate", "tax_due", "lookup_status", "sale_amount"],
    ):
        assert names_of(columns) == [OWN[shop]]
        assert recognized(columns) is BY_NAME[OWN[shop]]


@pytest.mark.parametrize("shop", HEADERS)
def test_a_header_that_lacks_a_column_is_its_export_or_none(shop) -> None:
    export = BY_NAME[OWN[shop]]

    for place, name in enumerate(HEADERS[shop]):
        lacking = HEADERS[shop][:place] + HEADERS[shop][place + 1 :]
        needed = plain_name(name) in export.known_by
        assert names_of(lacking) == ([] if needed else [export.name]), name


@pytest.mark.parametrize("shop", HEADERS)
def test_a_header_with_a_column_of_another_export_is_none_of_the_others(shop) -> None:
    foreign = {name for other in HEADERS.values() for name in other} - {*HEADERS[shop]}

    for name in sorted(foreign):
        assert {*names_of([*HEADERS[shop], name])} <= {OWN[shop]}, name


@pytest.mark.parametrize(("one", "other"), [*combinations(HEADERS, 2)])
def test_the_columns_of_two_exports_are_neither(one, other) -> None:
    both = {plain_name(name): name for name in (*HEADERS[one], *HEADERS[other])}.values()

    fit = names_of(both)

    if OWN[one] != OWN[other]:
        assert recognized(both) is None
        assert len(fit) != 1
    assert {*fit} <= {OWN[one], OWN[other]}


def test_of_several_exports_that_fit_the_one_that_knows_most_columns_is_the_first() -> None:
    few = [*BY_NAME["Stripe payments"].known_by, "note"]

    for shop in ("paypal", "etsy"):
        both = [*dict.fromkeys(map(plain_name, (*HEADERS[shop], *few)))]
        assert names_of(both) == [OWN[shop], "Stripe payments"]
        assert recognized(both) is None


@pytest.mark.parametrize(("export", "other"), [*permutations(EXPORTS, 2)], ids=lambda one: one.name)
def test_what_tells_an_export_is_not_what_tells_another(export, other) -> None:
    assert not {*export.known_by} <= {*other.known_by}


def test_an_export_finds_its_columns_whatever_their_case_and_order() -> None:
    written = ["\ufeffName", *(name.upper() for name in reversed(SHOPIFY[1:])), "My own column"]

    export = recognized(written)

    assert export is not None
    assert export.name == "Shopify orders"
    assert export.found(written) == {
        "state": "SHIPPING PROVINCE",
        "zip": "SHIPPING ZIP",
        "address": "SHIPPING ADDRESS1",
        "city": "SHIPPING CITY",
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
def test_a_table_that_lacks_what_tells_an_export_is_none(columns) -> None:
    assert recognized(columns) is None


ROLES = {*PLACE_ROLES, "as_of", "order", "channel", "currency", "collected", "refunded", "total"}


@pytest.mark.parametrize("one", EXPORTS, ids=lambda one: one.name)
def test_the_table_is_consistent(one) -> None:
    lines = [name for names in one.lines.by_part().values() for name in names]
    sums = [str(name) for each in (*one.amount, *one.shipping) for name in each.all]
    names = [
        *(*one.known_by, *one.unlike, *lines, *sums, *one.in_total, *one.of_order, *one.of_line),
        *(name for some in (*one.columns.values(), *one.billing.values()) for name in some),
        *(*one.no_sale, *one.delivery, *one.sale, *one.refund, *one.refunded, *one.head),
        *filter(None, [one.signed]),
    ]
    assert [plain_name(name) for name in names] == names
    assert one.columns.keys() <= ROLES
    assert one.billing.keys() <= {*PLACE_ROLES}
    assert {"as_of", "order"} <= one.columns.keys()
    assert one.amount
    assert one.amounts
    assert recognized([*one.known_by]) is one
    assert {*one.known_by}.isdisjoint(one.unlike)
    if one.once:  # a column is either the order's or the line's
        assert {*sums, *one.of_order, *one.in_total}.isdisjoint({*one.lines.money, *one.of_line})
    else:
        assert (one.of_order, one.of_line, one.head) == ((), (), ())
    assert one.refund.keys() <= one.sale.keys()
    words = [one.sale, one.refund, one.refunded, one.delivery, one.no_sale]
    meant = [word for each in words for of in each.values() for word in of or ()]
    assert [word.casefold() for word in meant] == meant
    for column, of in one.refund.items():
        assert {*of}.isdisjoint(one.sale[column])


def contains_tax(export):
    return any({*one.minus} & {*export.columns.get("collected", ())} for one in export.amount)


BRAND = re.compile(r"(.+?)(?: sold)? (?:orders|payments|sales report|activity)\b")
LISTS = {
    "docs/index.md": [(r"Read the exports of (.+?) as they are", lambda _: True)],
    "docs/SHOPS.md": [
        (r"marks not taxable \((.+?):", lambda one: one.lines.taxable),
        (r"may have a billing address \((.+?)\)", lambda one: one.billing),
        (r"contains tax and delivery \((.+?)\)", contains_tax),
        (r"(An? \w+ report is read .+?) - ", lambda one: one.report),
        (r"Where dates are in UTC \((.+?)\)", lambda one: one.zone == "UTC"),
    ],
    "docs/TAX.md": [(r"not taxable (\w+ and \w+) say of each line", lambda one: one.lines.taxable)],
    "svc_tools/frames/accessor.py": [
        (r"export that marks its lines \((.+?)\)", lambda one: one.lines.taxable)
    ],
}
"""The texts that name exports of a kind, by the page, and the kind."""


@pytest.mark.parametrize(
    ("page", "words", "fits"),
    [(page, *one) for page, some in LISTS.items() for one in some],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_text_that_names_exports_names_all_of_their_kind(page, words, fits) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    (listed,) = re.findall(words, text)
    for one in EXPORTS:
        assert BRAND.match(one.name), f"{one.name}: end it in orders, payments, or extend BRAND"
    brands = {BRAND.match(one.name)[1]: False for one in EXPORTS}
    brands |= {BRAND.match(one.name)[1]: True for one in EXPORTS if fits(one)}

    named = {brand: bool(re.search(rf"\b{re.escape(brand)}\b", listed)) for brand in brands}

    assert named == brands


def test_the_names_of_exports_differ() -> None:
    assert len(BY_NAME) == len(EXPORTS)


OF_ORDERS = {
    "woocommerce": "Cart Discount Amount|Order Subtotal Amount|Order Shipping Amount|"
    "Order Refund Amount|Order Total Amount|Order Total Tax Amount",
    "square": "Order Subtotal|Order Shipping Price|Order Tax Total|Order Total|"
    "Order Refunded Amount",
    "squarespace": "Subtotal|Shipping|Taxes|Amount Refunded|Total|Discount Amount",
    "tiktok": "Shipping Fee After Discount|Original Shipping Fee|Shipping Fee Seller Discount|"
    "Co-Funded Shipping Fee Discount|Shipping Fee Platform Discount|Payment platform discount|"
    "Retail Delivery Fee|Taxes|Order Amount|Order Refund Amount",
    "wix": "Gift card amount|Shipping rate|Total tax|Total|Refunded amount|Net amount|"
    "Additional fees",
    "amazon": "",
    "stripe": "",
}
OF_LINES = {
    "woocommerce": "Item Cost",
    "square": "Item Price|Item Options Total Price|Item Total Price",
    "squarespace": "Lineitem price",
    "tiktok": "SKU Unit Original Price|SKU Subtotal Before Discount|SKU Platform Discount|"
    "SKU Seller Discount|SKU Subtotal After Discount",
    "wix": "Price|Deposit amount",
    "amazon": "",
    "stripe": "",
}


@pytest.mark.parametrize("shop", OF_ORDERS)
def test_a_column_of_dollars_is_the_order_s_or_the_line_s(shop) -> None:
    export, header = BY_NAME[OWN[shop]], HEADERS[shop]

    assert export.of_orders(header) == [*filter(None, OF_ORDERS[shop].split("|"))]
    assert export.of_lines(header) == [*filter(None, OF_LINES[shop].split("|"))]


@pytest.mark.parametrize("shop", ["shopify", "squarespace"])
def test_lines_that_are_not_taxable_are_told_by_a_column(shop) -> None:
    found = BY_NAME[OWN[shop]].found_lines(HEADERS[shop])

    discount = {"discount": "Lineitem discount"} if shop == "shopify" else {}
    assert found == {
        "price": "Lineitem price",
        "quantity": "Lineitem quantity",
        "taxable": "Lineitem taxable",
        "name": "Lineitem name",
        "shared": "Discount Amount",
        **discount,
    }
    assert Lines().by_part().keys() >= found.keys()


@pytest.mark.parametrize(
    ("shop", "without", "amount"),
    [
        ("squarespace", "", "'Subtotal' - 'Discount Amount'"),
        ("wix", "", "'Total' - 'Total tax' - 'Shipping rate'"),
        (
            "tiktok",
            "",
            "'Order Amount' - 'Taxes' - 'Shipping Fee After Discount' - 'Retail Delivery Fee'",
        ),
        (
            "tiktok",
            "Retail Delivery Fee",
            "'Order Amount' - 'Taxes' - 'Shipping Fee After Discount'",
        ),
        (
            "tiktok",
            "Shipping Fee After Discount",
            "'Order Amount' - 'Taxes' - 'Retail Delivery Fee'",
        ),
        ("edd", "", "'Amount ($)' - 'Tax ($)'"),
        ("ebay", "", "'Sold For'"),
        (
            "paypal",
            "Insurance Amount",
            "'Gross' - 'Sales Tax' - 'Shipping and Handling Amount'",
        ),
        ("woocommerce_meta", "_order_shipping_tax", "'_order_total' - '_order_tax' - "),
    ],
)
def test_tax_and_delivery_are_taken_off_an_amount_that_contains_them(shop, without, amount) -> None:
    header = [name for name in HEADERS[shop] if name != without]

    found = BY_NAME[OWN[shop]].found_amount(header)

    assert str(found).startswith(amount)


def test_the_card_s_address_is_the_place_where_a_file_has_no_other() -> None:
    older = BY_NAME["Stripe payments"].found(HEADERS["stripe_older"])
    newer = BY_NAME["Stripe payments"].found(HEADERS["stripe"])

    assert (older["zip"], older["as_of"]) == ("Card Address Zip", "Created (UTC)")
    assert newer["zip"] == "Shipping Address Postal Code"


@pytest.mark.parametrize(
    ("name", "lacking", "says"),
    [
        (
            "tiktok.csv",
            "Shipping Fee After Discount",
            "the file lacks 'Shipping Fee After Discount', which is otherwise taken off",
        ),
        (
            "woocommerce.csv",
            "Cart Discount Amount",
            "the file lacks 'Cart Discount Amount', which is otherwise taken off",
        ),
        (
            "bigcommerce.csv",
            "Order Total (ex tax)",
            (
                "the goods without tax, shipping and handling, before coupons: the file lacks"
                " 'Order Total (ex tax)' or 'Shipping Cost (ex tax)'"
            ),
        ),
        (
            "bigcommerce.csv",
            "Handling Cost (ex tax)",
            "the file lacks 'Handling Cost Ex Tax', which is otherwise taken off",
        ),
    ],
)
def test_what_the_amount_is_says_which_column_the_file_lacks(name, lacking, says):
    header = next(csv.reader((SAMPLES / name).read_text("utf-8-sig").splitlines()))
    assert lacking in header
    whole, shorter = recognized(header), recognized([one for one in header if one != lacking])
    assert whole is not None
    assert shorter is whole
    assert whole.amounts_among(header) == whole.amounts
    assert whole.amounts_among([one for one in header if one != lacking]) == says
