"""Sales files of every kind from their rows to the tax: the right figure, or a question."""

from __future__ import annotations

import csv
import shlex
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import svc_tools
from support.examples import examples
from support.sales_files import dollars, shop

from svc_tools.frames import enrich_file
from svc_tools.tables import tabular
from svc_tools.tables.roles import ColumnAmbiguous

DATA = Path(__file__).parents[1] / "data"
FILES, EXPORTS = DATA / "sales_files", DATA / "exports"
DEMO = Path(__file__).parents[2] / "svc_tools" / "demo" / "orders.csv"
SEEDS = st.integers(0, 2**32 - 1)


def texts(values) -> list[str | None]:
    return [None if pd.isna(one) else str(one) for one in values]


def cents(values) -> np.ndarray:
    """Dollars of any kind as whole cents; 0 where missing."""
    exact = [Decimal(0) if one is None else Decimal(one) for one in texts(values)]
    return np.array([int(one.scaleb(2)) for one in exact])


def read_frame(path) -> pd.DataFrame:
    """A file as an analyst reads it, with its cells as texts."""
    if path.suffix == ".txt":
        return pd.read_csv(path, sep="\t", encoding="utf-16", dtype=str)
    return pd.read_csv(path, sep=None, engine="python", dtype=str)


def taxed(embedded, frame, *, lookup=None, **tax) -> pd.DataFrame:
    rated = frame.svc.lookup(client=embedded, cache=False, progress=False, **(lookup or {}))
    return rated.svc.tax(progress=False, **tax)


class Case(NamedTuple):
    """A file with its right tax, and what the command is told of it."""

    name: str
    tax: list[str | None]
    options: tuple[str, ...] = ()
    statuses: str = ""
    """Rows that are not "ok": their letters are i (invalid), u (unsupported), n (unresolved)."""
    says: str = ""


CASES = [
    Case("c01_woo_items.csv", ["9.28", "0.00"]),  # (100 - 20 + 8), of two items
    Case("c02_squarespace_discount.csv", ["9.28"]),
    Case("c02_squarespace_items.csv", ["11.39", "0.00"]),
    Case("c02_squarespace_refunded.csv", ["5.28"], says="refunds are not taken off"),
    Case("c03_edd.csv", ["10.55"]),  # 110.55 contains 10.55
    Case("c03_invoice_amount.csv", ["10.55"], says="amount from 'Goods'"),
    Case("c03_tiktok.csv", ["10.55", "0.00"], ("--as-of", "Created Time")),
    Case(
        "c07_currency.csv",
        ["10.55", None, None],
        says="2 rows in another currency than US dollars: no tax",
    ),
    Case("c08_country_iso.csv", ["10.55", None], statuses=" u"),
    Case("c08_country_region.csv", ["10.55", None, None], statuses=" uu"),
    Case("c10_generic_discount.csv", ["9.28"], says="amount from 'Subtotal' - 'Discount'"),
    Case("c12_cancelled.csv", ["10.55", "0.00"], says="1 row canceled or not paid"),
    Case(
        "p01_zips.csv",
        ["6.25"] * 6 + ["8.75"] + [None] * 7,
        ("--tax", "Amount"),
        statuses="       iiiiiin",
    ),
    Case("p02_military.csv", [None] * 13, statuses="u" * 12 + "n"),
    Case(
        "p03_money.csv",
        [
            *("130.24", "-1.32", "-1.32", "-1.32", "-1.32", "-1.32", "-1.32", "1.32", "130.19"),
            *("0.05", None, None, None, None, None, None, None),
        ],
        ("--tax", "Amount"),
    ),
    Case("p04_unicode_text.txt", ["77.16", "-1.32"]),
    Case("p06_day_first.csv", ["10.55", "10.55"]),
    Case("p07_ebay.csv", ["6.33", "0.00", "0.00"]),  # 60, of 40 and 20
    Case("p08_paypal.csv", ["116.05", "-10.55", None], statuses="  i"),
    *(
        Case(f"c09_1904_{name}.xlsx", ["10.55"], says="counted from 1904-01-01")
        for name in ("number", "time", "formatted")
    ),
]
STATUS = {" ": "ok", "i": "invalid", "u": "unsupported", "n": "unresolved"}


class TestCases:
    """Small files that people have: each has its right tax, or is asked about."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_a_file_has_the_right_tax_from_the_command(self, tmp_path, case) -> None:
        out = tmp_path / "out.csv"

        done = svc_tools("enrich", FILES / case.name, "-o", out, "--embedded", *case.options)

        assert done.returncode in {0, 1}, done.stderr
        written = pd.read_csv(out, dtype=str)
        statuses = [STATUS[one] for one in case.statuses.ljust(len(case.tax))]
        assert written["lookup_status"].tolist() == statuses
        assert texts(written["tax"]) == case.tax
        assert written["tax_error"].isna().tolist() == [tax is not None for tax in case.tax]
        assert case.says in " ".join((done.stdout + done.stderr).split())
        if case.name.startswith("c09"):
            assert written["lookup_as_of"].tolist() == ["2026-08-14"]
        if case.name.startswith("p06"):
            assert written["lookup_as_of"].tolist() == ["2026-09-10", "2026-09-30"]

    @pytest.mark.parametrize(
        "case", [one for one in CASES if "xlsx" not in one.name], ids=lambda case: case.name
    )
    def test_a_file_has_the_right_tax_as_a_frame(self, embedded, case) -> None:
        options = dict(zip(case.options[::2], case.options[1::2], strict=True))
        named = {"amount": options["--tax"]} if "--tax" in options else {}

        found = taxed(embedded, read_frame(FILES / case.name), **named)

        assert texts(found["tax"]) == case.tax
        if {"expected", "expected_tax"} & {*found}:
            column, mine = ("expected", "sale_amount"), ("expected_tax", "tax")
            name, own = column if "expected" in found else mine
            right = [None if one is None else Decimal(one) for one in texts(found[name])]
            got = [None if one is None else Decimal(one) for one in texts(found[own])]
            assert got == right

    def test_whole_numbers_with_dots_between_semicolons_are_thousands(
        self, embedded, tmp_path
    ) -> None:
        source, out = FILES / "c06_eu_whole.csv", tmp_path / "out.csv"
        right = ["105.50", "263.75", "100.23"]

        done = svc_tools("enrich", source, "-o", out, "--embedded")

        assert done.returncode == 0
        assert texts(pd.read_csv(out, dtype=str)["tax"]) == right
        assert "'1.000' is 1,000.00" in " ".join(done.stderr.split())
        own = pd.read_csv(source, sep=";", dtype=str)  # a frame does not know what separated it
        with pytest.raises(ColumnAmbiguous) as caught:
            taxed(embedded, own)
        (question,) = caught.value.questions
        assert (question.role, question.argument) == ("decimal", "decimal")
        assert texts(taxed(embedded, own, decimal=question.likely)["tax"]) == right

    def test_a_refund_written_as_a_sale_is_asked_about_and_the_printed_line_answers(
        self, embedded, tmp_path
    ) -> None:
        source, out = FILES / "c12_refund_type.csv", tmp_path / "out.csv"

        with pytest.raises(ColumnAmbiguous) as caught:
            taxed(embedded, read_frame(source))
        asked = svc_tools("enrich", source, "-o", out, "--embedded")

        (question,) = caught.value.questions
        assert (question.role, question.argument) == ("refunds", "refunds")
        likely, choices = question.likely, question.values  # noqa: PD011 - a question's, no array
        assert (choices, likely) == (("subtract", "add", "leave"), "subtract")
        assert caught.value.role == "refunds"
        assert (asked.returncode, out.exists()) == (2, False)
        answered = svc_tools("enrich", source, "-o", out, "--embedded", *printed_line(asked))
        assert answered.returncode == 0
        assert texts(pd.read_csv(out, dtype=str)["tax"]) == ["10.55", "-10.55"]
        for refunds, tax in {"subtract": "-10.55", "add": "10.55", "leave": "0.00"}.items():
            found = taxed(embedded, read_frame(source), refunds=refunds)
            assert texts(found["tax"]) == ["10.55", tax]

    @pytest.mark.parametrize("name", ["p06_undecided.csv", "p09_two_headers.xlsx"])
    def test_what_cannot_be_read_is_refused_and_nothing_is_written(self, tmp_path, name) -> None:
        done = svc_tools("enrich", FILES / name, "-o", tmp_path / "out.csv", "--embedded")

        assert (done.returncode, [*tmp_path.iterdir()]) == (2, [])
        said = " ".join(done.stderr.split())
        assert ("--date-format" in said) if "p06" in name else ("stand in row 2" in said)


def printed_line(done) -> list[str]:
    """The line to copy of a command that asked."""
    _, _, line = done.stderr.partition("What seems likeliest:\n")
    return shlex.split(line)


def figures(found, sale) -> tuple[np.ndarray, np.ndarray]:
    """Goods and delivery of each row in cents; those of the file where they stand as they are."""
    own = {"sale_amount": "Subtotal", "sale_shipping": "Shipping"}
    plain = "sale_amount" not in found
    columns = [sale.frame.get(own[name]) if plain else found.get(name) for name in own]
    goods, delivery = (np.zeros(len(found), int) if one is None else cents(one) for one in columns)
    return goods, delivery


def orders_to_check(found, sale) -> np.ndarray:
    marked = found["tax_review"].fillna("").str.contains("amounts_do_not_add_up").to_numpy(bool)
    return np.bincount(sale.orders[marked], minlength=len(sale.goods)) > 0


def wrong(found, sale) -> list[int]:
    """The orders with other figures than theirs, or another tax, that are not to check."""
    goods, delivery = figures(found, sale)
    tax, missing = cents(found["tax"]), found["tax"].isna().to_numpy(bool)
    checked, foreign = orders_to_check(found, sale), sale.rate < 0
    size = len(sale.goods)
    bad = np.bincount(sale.orders, goods, size) != sale.goods
    bad |= np.bincount(sale.orders, delivery, size) != sale.delivery
    each = goods + delivery * sale.delivery_taxed[sale.orders]
    due = np.sign(each) * ((np.abs(each) * sale.rate[sale.orders] + 50_000) // 100_000)
    bad[sale.orders[missing | (tax != due)]] = True
    bad[foreign | checked] = False  # these have no tax at all
    of_none = (foreign | checked)[sale.orders]
    bad[sale.orders[of_none & (tax != 0)]] = True
    return np.flatnonzero(bad).tolist()


def shuffled(sale, seed):
    mixed = np.random.default_rng(seed).permutation(len(sale.frame))
    frame = sale.frame.iloc[mixed].reset_index(drop=True)
    return replace(sale, frame=frame, orders=sale.orders[mixed])


def as_dtype(column, kind) -> pd.Series:
    if kind in {"category", "object"}:
        return column.replace("", None).astype(kind)
    numbers = [None if one == "" else Decimal(one) for one in column]
    if kind == "float":
        return pd.Series([np.nan if one is None else float(one) for one in numbers], dtype=float)
    decimals = pd.Series(numbers, dtype=object)
    return decimals.astype(pd.ArrowDtype(pa.decimal128(18, 2))) if kind == "arrow" else decimals


KINDS = ("float", "decimal", "arrow", "category", "object")
MONEY = ("Unit Price", "Subtotal", "Discount", "Shipping", "Sales Tax", "Tip", "Order Total")
PROVEN = {"subtotal": "before discount", "total": True, "collected": True, "delivery": True}
"""A file with these columns proves by its own sums what they are."""


def outcome(embedded, sale) -> tuple[str, list[int]]:
    """What becomes of a file: "asked", or "read" with the orders to check; never wrong."""
    try:
        found = taxed(embedded, sale.frame)
    except ColumnAmbiguous as error:
        return ("asked" if error.questions else "refused without a question"), []
    assert wrong(found, sale) == [], (sale.chosen, found.attrs)
    return "read", np.flatnonzero(orders_to_check(found, sale)).tolist()


class TestShops:
    """Files of shops of which the truth of each order is known."""

    @examples(5, of=18)
    @given(SEEDS)
    def test_a_file_has_the_right_figures_or_is_asked_about(self, embedded, seed) -> None:
        sale = shop(seed)

        how, checked = outcome(embedded, sale)

        if how == "read":
            assert len(checked) <= len(sale.goods) / 4

    @examples(5, of=10)
    @given(SEEDS, st.sampled_from(["one", "repeated", "first"]))
    def test_what_the_sums_prove_is_not_asked(self, embedded, seed, rows) -> None:
        pieces = rows == "repeated" or seed % 2 == 0

        how, _ = outcome(embedded, shop(seed, 40, rows=rows, pieces=pieces, **PROVEN))

        assert how == "read"

    @examples(2, of=4)
    @given(SEEDS)
    def test_an_order_without_its_lines_on_several_rows_is_asked_about_once(
        self, embedded, seed
    ) -> None:
        sale = shop(seed, 40, rows="repeated", pieces=False, **PROVEN)

        with pytest.raises(ColumnAmbiguous) as caught:
            taxed(embedded, sale.frame)

        (question,) = caught.value.questions
        assert (question.role, question.argument) == ("amount", "once")
        assert {"Subtotal", "Order Total", "Sales Tax"} <= {*question.columns}
        found = taxed(embedded, sale.frame, once=question.likely)
        assert wrong(found, sale) == []

    @examples(5, of=12)
    @given(SEEDS, st.sampled_from([0.03, 0.08, 0.2, 0.5, 1.0]))
    def test_tips_that_have_no_column_are_to_check_or_asked_about(
        self, embedded, seed, hidden
    ) -> None:
        sale = shop(seed, hidden=hidden, **PROVEN)

        how, checked = outcome(embedded, sale)

        if how == "read":
            assert set(np.flatnonzero(sale.hidden)) <= {*checked, *np.flatnonzero(sale.no_sale)}

    @examples(5, of=10)
    @given(SEEDS, st.sampled_from(KINDS))
    def test_neither_order_nor_types_nor_further_columns_change_a_figure(
        self, embedded, seed, kind
    ) -> None:
        sale = shop(seed)
        mixed = shuffled(sale, seed)
        frame = mixed.frame.assign(
            **{"Customer ID": "7", "Phone": "2065550100", "Weight": "1.5", "Notes": ""}
        )
        for label in MONEY:
            if label in frame:
                frame[label] = as_dtype(frame[label], kind)

        assert outcome(embedded, replace(mixed, frame=frame)) == outcome(embedded, sale)

    @pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
    @pytest.mark.parametrize("shop_of", [(1, "repeated"), (2, "first"), (3, "repeated")])
    def test_a_file_has_the_figures_of_the_frame_however_it_is_parted(
        self, embedded, tmp_path, monkeypatch, kind, shop_of
    ) -> None:
        seed, rows = shop_of
        sale = shuffled(shop(seed, 12, rows=rows, pieces=seed != 2, **PROVEN), seed)
        source, out = tmp_path / f"in.{kind}", tmp_path / "out.csv"
        WRITE[kind](sale.frame, source)

        monkeypatch.setattr(tabular, "_BLOCK_BYTES", 100)  # about a row
        monkeypatch.setattr(tabular, "_PARQUET_ROWS", 1)
        run = enrich_file(source, out, client=embedded, cache=False, tax={})
        found = taxed(embedded, sale.frame)

        written = pd.read_csv(out, dtype=str)
        assert wrong(written, sale) == []
        for name in ("sale_amount", "sale_shipping", "tax", "tax_error", "tax_review"):
            assert (name in written) == (name in found)
            if name in written:
                assert texts(written[name]) == texts(found[name]), name
        known = found["tax"].notna()
        assert run.totals.tax == sum(found["tax"][known], Decimal(0))
        assert run.totals.sales == sum(found["sale_amount"][known], Decimal(0))

    @pytest.mark.parametrize("rows", ["repeated", "first"])
    def test_lines_of_orders_in_another_currency_have_no_tax(self, embedded, rows) -> None:
        """The lines are added up, and the discount is that of the order."""
        fixed = {"subtotal": "none", "discount": True, "pieces": True, "currency": True}
        sale = shop(41, 40, rows=rows, **{**PROVEN, **fixed})

        found = taxed(embedded, sale.frame)

        foreign = (sale.rate < 0)[sale.orders]
        assert foreign.sum() > 5
        assert found.loc[foreign, "tax"].isna().all()
        assert set(found.loc[foreign, "tax_error"]) == {"amount: in EUR, not in US dollars"}
        assert wrong(found, sale) == []

    @pytest.mark.parametrize("as_file", [False, True], ids=["frame", "file"])
    def test_an_order_of_added_lines_that_is_partly_exempt_has_no_tax(
        self, embedded, tmp_path, monkeypatch, as_file
    ) -> None:
        """How much of the order's discount the exempt lines have is not known."""
        fixed = {"subtotal": "none", "discount": True, "pieces": True}
        sale = shop(41, 20, rows="first", **{**PROVEN, **fixed}, status=False, currency=False)
        first = ~sale.frame["Order ID"].duplicated()
        partly = np.bincount(sale.orders) > 1
        frame = sale.frame.assign(exempt=np.where(first, "yes", "no"))
        if as_file:
            monkeypatch.setattr(tabular, "_PARQUET_ROWS", 1)
            source, out = tmp_path / "in.parquet", tmp_path / "out.csv"
            frame.to_parquet(source)
            enrich_file(source, out, client=embedded, cache=False, tax={"exempt": "exempt"})
            found = pd.read_csv(out, dtype=str)
        else:
            found = taxed(embedded, frame, exempt="exempt")

        assert found["tax"].isna().tolist() == partly[sale.orders].tolist()
        assert set(found["tax_error"].dropna().str[:26]) == {"exempt: differs among the r"[:26]}


WRITE = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
}


def seattle(**columns) -> pd.DataFrame:
    """Sales in Seattle on one day, as texts; cents are dollars, "_" in a name is a blank."""
    size = len(next(iter(columns.values())))
    made = {name.replace("_", " "): values for name, values in columns.items()}
    placed = {"Ship State": ["WA"] * size, "Ship Zip": ["98101"] * size}
    return pd.DataFrame({"Order Date": ["2026-08-14"] * size} | placed | made, dtype=str)


PRICES = ["19.99", "45.50", "120.25", "88.99", "230.50"]
TAXES = ["2.11", "4.80", "12.69", "9.39", "24.32"]  # 10.55 %
INNOCENT = {
    "a total that is the goods": (seattle(Subtotal=PRICES, Total=PRICES), PRICES),
    "two items of one price": (
        seattle(Order_ID=["1", "1", "2", "2"], Amount=["20.00", "20.00", "35.50", "20.00"]),
        ["20.00", "20.00", "35.50", "20.00"],
    ),
    "order numbers that begin anew each year": (
        seattle(Order_ID=["1", "2", "3", "1", "2"], Amount=PRICES).assign(
            **{"Order Date": ["2025-08-14"] * 3 + ["2026-08-14"] * 2}
        ),
        PRICES,
    ),
    "a subscription on three days": (
        seattle(Subscription_ID=["7"] * 3, Amount=["29.00"] * 3).assign(
            **{"Order Date": ["2026-06-14", "2026-07-14", "2026-08-14"]}
        ),
        ["29.00"] * 3,
    ),
    "product types of returns": (
        seattle(Product_Type=["Return Labels", "Mugs", "Cancelled stamps"], Amount=PRICES[:3]),
        PRICES[:3],
    ),
    "a country of origin": (
        seattle(Country_of_Origin=["China", "DE", "US"], Amount=PRICES[:3]),
        PRICES[:3],
    ),
    "a customer named Total Fitness": (
        seattle(
            Order_ID=["1", "2", "3"],
            Customer=["Ann Roe", "Total Fitness", "Sum 41"],
            Amount=["10.00", "10.00", "20.00"],
        ),
        ["10.00", "10.00", "20.00"],
    ),
    "statuses of items and of their delivery": (
        seattle(
            Fulfillment_Status=["Canceled", "Returned", "Shipped"],
            Item_Status=["Returned", "OK", "Cancelled"],
            Amount=PRICES[:3],
        ),
        PRICES[:3],
    ),
}


def tax_of(amounts) -> list[str]:
    """10.55 % of each, half a cent up."""
    return dollars((int(Decimal(one) * 100) * 10550 + 50_000) // 100_000 for one in amounts)


class TestInnocentFiles:
    """Files that look as if something were wrong: never asked about, and right."""

    @pytest.mark.parametrize("name", INNOCENT)
    def test_it_is_not_asked_about(self, embedded, tmp_path, name) -> None:
        frame, amounts = INNOCENT[name]
        right = tax_of(amounts)
        if "each year" in name:
            right = texts(taxed(embedded, frame.drop(columns="Order ID"))["tax"])
            assert right[3:] == tax_of(amounts[3:])
        frame.to_csv(tmp_path / "in.csv", index=False)

        enrich_file(
            *(tmp_path / "in.csv", tmp_path / "out.csv"), client=embedded, cache=False, tax={}
        )

        assert texts(taxed(embedded, frame)["tax"]) == right
        assert texts(pd.read_csv(tmp_path / "out.csv", dtype=str)["tax"]) == right

    def test_whole_dollars_between_semicolons_are_dollars(self, embedded, tmp_path) -> None:
        frame = seattle(Amount=["10", "25", "120"])
        frame.to_csv(tmp_path / "in.csv", index=False, sep=";")

        enrich_file(
            *(tmp_path / "in.csv", tmp_path / "out.csv"), client=embedded, cache=False, tax={}
        )

        found = pd.read_csv(tmp_path / "out.csv", dtype=str, sep=None, engine="python")
        assert texts(found["tax"]) == tax_of(["10", "25", "120"])

    def test_the_demo_is_not_asked_about(self, embedded) -> None:
        found = taxed(embedded, pd.read_csv(DEMO, dtype=str).iloc[:400])

        amounts = found["sale_amount"] if "sale_amount" in found else found["amount"]
        lines = [Decimal(one) * int(many) for one, many in zip(
            found["unit_price"], found["quantity"], strict=True)]  # fmt: skip
        assert [Decimal(str(one)) for one in amounts] == lines
        assert "amounts_do_not_add_up" not in " ".join(found["tax_review"].dropna())


class ByHand(NamedTuple):
    """How a sample is added up by hand, and what that comes to."""

    order: str | None
    goods: str
    collected: str | None
    total: str | None
    refunded: str | None
    no_sale: dict[str, tuple[str, ...]]
    sums: tuple[int, str, str, str, str]
    """Orders; goods of those that are sales; collected and total of all, refunded of the sales."""


HAND: dict[str, ByHand] = {
    "shopify.csv": ByHand(
        *("Name", "Subtotal", "Taxes", "Total", "Refunded Amount"),
        {"Financial Status": ("voided",)},
        (120, "72207.06", "5278.75", "79715.66", "3161.00"),
    ),
    "amazon.txt": ByHand(
        *(None, "item-price + gift-wrap-price - item-promotion-discount", "item-tax", None, None),
        {"order-status": ("Cancelled",)},
        (200, "74948.56", "5179.66", "", ""),
    ),
    "stripe.csv": ByHand(
        *(None, "Amount", None, None, "Amount Refunded"),
        {"Status": ("Failed",)},
        (200, "132538.91", "", "", "1283.99"),
    ),
    "etsy.csv": ByHand(
        *("Order ID", "Order Value - Discount Amount", "Sales Tax", "Order Total", None),
        {"Status": ("Canceled",)},
        (200, "109769.66", "7739.66", "119063.98", ""),
    ),
    "woocommerce.csv": ByHand(
        *("Order Number", "Order Subtotal Amount - Cart Discount Amount"),
        *("Order Total Tax Amount", "Order Total Amount", "Order Refund Amount"),
        {"Order Status": ("Cancelled",)},
        (130, "75848.49", "5362.17", "88232.41", "148.49"),
    ),
    "square.csv": ByHand(
        *("Order", "Order Subtotal", "Order Tax Total", "Order Total", "Order Refunded Amount"),
        {"Fulfillment Status": ("Canceled",)},
        (133, "78343.88", "5538.93", "85761.76", "1075.00"),
    ),
    "bigcommerce.csv": ByHand(
        "Order ID",
        "Order Total (ex tax) - Shipping Cost (ex tax) - Handling Cost (ex tax)",
        *("Tax Total", "Order Total (inc tax)", "Refund Amount"),
        {"Order Status": ("Cancelled",)},
        (200, "125492.37", "8195.44", "134909.22", "332.99"),
    ),
    "squarespace.csv": ByHand(
        *("Order ID", "Subtotal - Discount Amount", "Taxes", "Total", "Amount Refunded"),
        {"Financial Status": ("VOIDED", "CANCELED", "CANCELLED", "EXPIRED", "PENDING")},
        (25, "13222.90", "924.04", "14300.24", "18.99"),
    ),
    "wix.csv": ByHand(
        *("Order number", "Total - Total tax - Shipping rate"),
        *("Total tax", "Total", "Refunded amount"),
        {"Payment status": ("Voided", "Declined", "Canceled", "Cancelled")},
        (24, "7456.82", "461.98", "8094.85", "6.50"),
    ),
    "tiktok.csv": ByHand(
        "Order ID",
        "Order Amount - Taxes - Shipping Fee After Discount - Retail Delivery Fee",
        *("Taxes", "Order Amount", "Order Refund Amount"),
        {"Order Status": ("Canceled", "Cancelled", "Current order status.")},
        (24, "16043.31", "1688.96", "21052.08", "12.50"),
    ),
    "edd.csv": ByHand(
        *("ID", "Amount ($) - Tax ($)", "Tax ($)", "Amount ($)", None),
        {"Status": ("Abandoned", "Failed", "Pending")},
        (40, "26273.45", "1601.71", "27932.13", ""),
    ),
    "woocommerce_meta.csv": ByHand(
        *("order_id", "_order_total - _order_tax - _order_shipping - _order_shipping_tax"),
        *("_order_tax", "_order_total", None),
        {"order_status": ("wc-cancelled", "wc-failed", "wc-pending")},
        (40, "46391.81", "3208.01", "49770.84", ""),
    ),
}


def dollars_in(cell) -> Decimal:
    try:
        return Decimal(cell.strip().lstrip("$").replace(",", "") or "0")
    except ArithmeticError:  # a row that describes the columns
        return Decimal(0)


def by_hand(name) -> tuple[int, str, str, str, str]:
    """The sums of a sample with nothing but a pencil: the first row of each order counts."""
    how = HAND[name]
    text = (EXPORTS / name).read_text("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t" if "txt" in name else ","))
    seen: dict[str, dict[str, str]] = {}
    for place, row in enumerate(rows):
        seen.setdefault(str(place) if how.order is None else row[how.order], row)
    orders = list(seen.values())
    sold = [
        row
        for row in orders
        if not any(row[label] in words for label, words in how.no_sale.items())
    ]
    plus, *minus = how.goods.split(" - ")
    goods = sum(dollars_in(row[one]) for row in sold for one in plus.split(" + "))
    # Amazon writes some discounts with a minus
    goods -= sum(abs(dollars_in(row[one])) for row in sold for one in minus)
    of = ((how.collected, orders), (how.total, orders), (how.refunded, sold))
    sums = (sum(dollars_in(row[one]) for row in rows) if one else "" for one, rows in of)
    return (len(orders), *map(str, (goods, *sums)))


class TestSamples:
    """The sample exports, added up by hand once for each order."""

    @pytest.mark.parametrize("name", HAND)
    def test_its_columns_come_to_what_they_do_by_hand(self, embedded, capsys, name) -> None:
        how = HAND[name]
        assert by_hand(name) == how.sums
        separator = "\t" if name.endswith("txt") else ","
        frame = pd.read_csv(EXPORTS / name, sep=separator, dtype=str)

        rated = frame.svc.lookup(client=embedded, cache=False, progress=False)
        found = rated.svc.tax()

        _, goods, collected, _, refunded = how.sums
        assert str(found["sale_amount"].sum()) == goods
        if how.collected is not None:
            own = found.drop(columns=["tax_due", "tax_due_reason"], errors="ignore")
            totals = own.svc.reconcile(collected=how.collected).totals
            assert str(totals.collected) == collected
        said = " ".join(capsys.readouterr().err.split())
        if how.refunded is not None:
            assert f"${Decimal(refunded):,}): the file does not say when" in said


LAST = {
    "a word": ["", "Total", "", "", "", "505.23"],
    "a word in the place of the number": ["Total", "", "", "", "", "505.23"],
    "a sum without a word": ["", "", "", "", "", "505.23"],
}


def many(rows, share=0.0, seed=0) -> pd.DataFrame:
    """Sales in Seattle, of which a share has a tip in the total that has no column."""
    rng = np.random.default_rng(seed)
    goods = rng.integers(500, 20_000, rows)
    tax = (goods * 10550 + 50_000) // 100_000
    hidden = np.where(rng.permutation(rows) < round(share * rows), 300, 0)
    return seattle(
        Order_ID=[f"A{row}" for row in range(rows)],
        Subtotal=dollars(goods),
        Sales_Tax=dollars(tax),
        Total=dollars(goods + tax + hidden),
    ).assign(hidden=(hidden != 0).astype(str).tolist())


def in_chunks(embedded, frame, folder, **tax):
    """A file in chunks of a quarter of a megabyte, enriched; nothing is written where it asks."""
    frame.to_csv(folder / "in.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabular, "_BLOCK_BYTES", 1 << 18)
        enrich_file(*(folder / "in.csv", folder / "out.csv"), client=embedded, cache=False, tax=tax)
    return pd.read_csv(folder / "out.csv", dtype=str)


class TestHostileFiles:
    """Files in which something is wrong that is easily passed over."""

    @pytest.mark.parametrize("kind", ["frame", *WRITE])
    @pytest.mark.parametrize("last", LAST)
    def test_a_row_of_totals_is_no_sale(self, embedded, tmp_path, monkeypatch, last, kind) -> None:
        frame = seattle(
            Order_ID=["1", "2", "3", "4", "5"],
            Customer=["Ann Roe", "Total Fitness", "Bo Li", "Cy Oz", "Di Fu"],
            Amount=PRICES,
        )[["Order ID", "Customer", "Order Date", "Ship State", "Ship Zip", "Amount"]]
        frame.loc[5] = LAST[last]
        found = None
        if kind == "frame":
            found = taxed(embedded, frame)
        else:
            monkeypatch.setattr(tabular, "_BLOCK_BYTES", 40)
            monkeypatch.setattr(tabular, "_PARQUET_ROWS", 1)
            source, out = tmp_path / f"in.{kind}", tmp_path / "out.csv"
            WRITE[kind](frame, source)
            run = enrich_file(source, out, client=embedded, cache=False, tax={})
            found = pd.read_csv(out, dtype=str)
            assert "1 row of totals: no sales" in run.notes
            assert str(run.totals.sales) == "505.23"

        assert texts(found["tax"])[:5] == TAXES
        assert texts(found["tax"])[5] in {None, "0.00"}
        assert texts(found["sale_amount"]) == [*PRICES, "0.00"]

    @pytest.mark.parametrize("as_file", [False, True], ids=["frame", "file"])
    def test_orders_that_do_not_add_up_are_to_check_and_the_others_are_right(
        self, embedded, tmp_path, as_file
    ) -> None:
        frame = many(300, 0.08)
        hidden = frame.pop("hidden").eq("True")

        found = in_chunks(embedded, frame, tmp_path) if as_file else taxed(embedded, frame)

        assert texts(found["tax"]) == [
            None if off else tax for tax, off in zip(frame["Sales Tax"], hidden, strict=True)
        ]
        marked = found["tax_review"].fillna("").str.contains("amounts_do_not_add_up")
        assert marked.tolist() == hidden.tolist()
        if not as_file:
            groups = found.svc.split()
            assert set(groups.to_check.index) == {*np.flatnonzero(hidden)}
            assert len(groups.ready) == 300 - hidden.sum()

    def test_the_command_says_what_decided_the_amounts(self, tmp_path) -> None:
        many(20).drop(columns="hidden").to_csv(tmp_path / "in.csv", index=False)

        done = svc_tools("enrich", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--embedded")

        assert done.returncode == 0
        said = " ".join(done.stderr.split())
        assert "amount from 'Subtotal': they add up to 'Total'" in said

    def test_the_whole_order_of_a_line_that_does_not_add_up_is_to_check(self, embedded) -> None:
        frame = many(60)
        lines = frame.assign(**{"Order ID": [f"A{row // 2}" for row in range(60)]})
        lines.loc[7, "Total"] = "999.99"

        found = taxed(embedded, lines.drop(columns="hidden"))

        marked = found["tax_review"].fillna("").str.contains("amounts_do_not_add_up")
        assert np.flatnonzero(marked).tolist() == [6, 7]
        assert np.flatnonzero(found["tax"].isna()).tolist() == [6, 7]

    @pytest.mark.parametrize("as_file", [False, True], ids=["frame", "file"])
    def test_a_file_in_which_many_do_not_add_up_is_asked_about(
        self, embedded, tmp_path, as_file
    ) -> None:
        frame = many(300, 0.15).drop(columns="hidden")

        with pytest.raises(ColumnAmbiguous) as caught:
            _ = in_chunks(embedded, frame, tmp_path) if as_file else taxed(embedded, frame)

        assert caught.value.questions
        assert {*caught.value.questions[0].columns} & {"Subtotal", "Total"}
        assert not (tmp_path / "out.csv").exists()

    @pytest.mark.parametrize(("share", "asks"), [(0.05, False), (0.9, True)])
    def test_later_rows_that_do_not_add_up_are_marked_or_asked_about(
        self, embedded, tmp_path, share, asks
    ) -> None:
        frame = pd.concat([many(25_000), many(5_000, share, seed=1)], ignore_index=True)
        frame["Order ID"] = [f"A{row}" for row in range(len(frame))]
        hidden = frame.pop("hidden").eq("True")
        assert not hidden[:25_000].any()
        if asks:
            with pytest.raises(ColumnAmbiguous, match="and not in"):
                in_chunks(embedded, frame, tmp_path)
            assert not (tmp_path / "out.csv").exists()
            return

        found = in_chunks(embedded, frame, tmp_path)

        assert found["tax"].isna().tolist() == hidden.tolist()
        marked = found["tax_review"].fillna("").str.contains("amounts_do_not_add_up")
        assert marked.tolist() == hidden.tolist()
        assert found.loc[~hidden, "tax"].tolist() == frame.loc[~hidden, "Sales Tax"].tolist()

    def test_refunds_of_later_rows_with_a_positive_amount_are_asked_about(
        self, embedded, tmp_path
    ) -> None:
        frame = many(25_200).drop(columns=["hidden", "Sales Tax", "Total"])
        frame["Transaction Type"] = ["Sale"] * 25_100 + ["Refund"] * 100

        with pytest.raises(ColumnAmbiguous) as caught:
            in_chunks(embedded, frame, tmp_path)

        (question,) = caught.value.questions
        assert (question.role, question.likely) == ("refunds", "subtract")
        assert "100 rows" in question.why
        assert not (tmp_path / "out.csv").exists()
        found = in_chunks(embedded, frame, tmp_path, refunds="subtract")
        amounts = cents(found["sale_amount"])
        assert (amounts[:25_100] > 0).all()
        assert (amounts[25_100:] < 0).all()
