"""Every output reads the same sales of a file: in a frame, in any order, and chunk by chunk."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import pytest
from support.examples import spread

from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.options import AmountOptions, ExposureOptions, FileOptions
from svc_tools.frames.reports.facts import facts_of
from svc_tools.frames.review.codes import figures_of
from svc_tools.frames.review.summary import summarize
from svc_tools.frames.sales.exposure import daily_sales, daily_sales_of_file
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).parents[1] / "data"
SALES = DATA / "sales_files"

ORDERS = pd.DataFrame(
    {
        "Order": ["A1", "A1", "A2", "A3", "A3", "A4", "A4", "A4"],
        "State": "WA",
        "Zip": "98101",
        "Order Date": "2026-08-14",
        "Qty": ["1", "2", "1", "1", "3", "2", "1", "1"],
        "Price": ["60.00", "20.00", "50.00", "30.00", "10.00", "5.00", "7.00", "3.00"],
        "Subtotal": ["100.00", "100.00", "50.00", "60.00", "60.00", "20.00", "20.00", "20.00"],
        "Shipping": ["8.00", "8.00", "5.00", "0.00", "0.00", "8.00", "8.00", "8.00"],
        "Sales Tax": ["11.39", "11.39", "5.80", "6.33", "6.33", "2.95", "2.95", "2.95"],
        "Total": ["119.39", "119.39", "60.80", "66.33", "66.33", "30.95", "30.95", "30.95"],
    }
)
"""Four orders: goods of 230.00, delivery of 21.00, tax of 26.47; their columns on every row."""
LINES = ORDERS.assign(
    **{
        "Subtotal": ["60.00", "40.00", "50.00", "30.00", "30.00", "10.00", "7.00", "3.00"],
        "Shipping": ["8.00", "", "5.00", "0.00", "", "8.00", "", ""],
        "Sales Tax": ["11.39", "", "5.80", "6.33", "", "2.95", "", ""],
        "Total": ["119.39", "", "60.80", "66.33", "", "30.95", "", ""],
    }
)
"""The same: goods by line, the other columns on the first row of each order."""
ENDED = pd.concat(
    [
        ORDERS.assign(Status="Completed"),
        ORDERS[:2].assign(Order="A5", Status="Cancelled"),
        pd.DataFrame(
            {"Order": [""], "Qty": [""], "Subtotal": ["630.00"], "Shipping": ["61.00"]}
            | {"Sales Tax": ["72.87"], "Total": ["763.87"]}
        ),
    ],
    ignore_index=True,
).fillna("")
"""The same with a canceled order, and with a row of the totals of all rows."""


class Case(NamedTuple):
    """A file, and the dollars of its sales in the United States.

    `tax` holds the arguments of the tax, `sales` is goods and delivery.
    """

    file: str | pd.DataFrame
    goods: str
    sales: str
    tax: Mapping[str, object] = MappingProxyType({})
    collected: tuple[str, str] | None = None
    over: str = "0.00"

    def frame(self) -> pd.DataFrame:
        if isinstance(self.file, pd.DataFrame):
            return self.file.copy()
        separator = ";" if self.file == "c06_eu_whole.csv" else ","
        return pd.read_csv(SALES / self.file, dtype="str", sep=separator, encoding="utf-8-sig")


CASES = {
    "woo": Case("c01_woo_items.csv", "80.00", "88.00", {}, ("Order Total Tax Amount", "9.28")),
    "squarespace": Case("c02_squarespace_discount.csv", "80.00", "88.00", {}, ("Taxes", "9.28")),
    "squarespace items": Case(
        "c02_squarespace_items.csv", "100.00", "108.00", {}, ("Taxes", "11.39")
    ),
    "refunded": Case("c02_squarespace_refunded.csv", "50.00", "50.00", {}, ("Taxes", "5.28")),
    "edd": Case("c03_edd.csv", "100.00", "100.00", {}, ("Tax ($)", "10.55")),
    "tiktok": Case("c03_tiktok.csv", "100.00", "100.00"),
    "whole": Case("c06_eu_whole.csv", "4450.00", "4450.00", {"decimal": "comma"}),
    "currency": Case("c07_currency.csv", "100.00", "100.00"),
    "country": Case("c08_country_region.csv", "100.00", "100.00"),
    "cancelled": Case("c12_cancelled.csv", "100.00", "100.00"),
    "refund": Case("c12_refund_type.csv", "0.00", "0.00", {"refunds": "subtract"}),
    "ebay": Case("p07_ebay.csv", "60.00", "60.00"),
    "paypal": Case("p08_paypal.csv", "1000.00", "1000.00"),
    "orders": Case(ORDERS, "230.00", "251.00", {}, ("Sales Tax", "26.47")),
    "lines": Case(LINES, "230.00", "251.00", {}, ("Sales Tax", "26.47")),
    "ended": Case(ENDED, "230.00", "251.00", {}, ("Sales Tax", "37.86"), "11.39"),
}
GENERIC = ("orders", "lines", "ended")


def arranged(frame: pd.DataFrame, how: str) -> pd.DataFrame:
    if how == "shuffled":
        return frame.sample(frac=1, random_state=3)
    return pd.concat([frame.iloc[::2], frame.iloc[1::2]]) if how == "apart" else frame


def dollars_of(column: pd.Series) -> Decimal:
    return sum(map(Decimal, column.dropna().astype(str)), Decimal("0.00"))


def taxed_of(frame, embedded, **terms):
    rated = frame.svc.lookup(client=embedded, cache=False, progress=False, detail=True)
    return rated.svc.tax(progress=False, **terms)


def measured(frame, **terms) -> Decimal:
    daily = daily_sales(frame, ExposureOptions(**terms))
    return Decimal(int(daily["gross_cents"].sum())) / 100


HOW = ("as written", "shuffled", "apart")
FILES = [
    (name, how)
    for name in CASES
    for how in HOW
    # there nothing but the rows above says what a row belongs to
    if how == "as written" or name not in {"ebay", "ended"}
]


@pytest.mark.parametrize(("name", "how"), spread(FILES, 9, kind=lambda one: one[0], start=2))
def test_every_output_has_the_same_sales(embedded, name, how) -> None:
    case = CASES[name]
    frame = arranged(case.frame(), how)

    taxed = taxed_of(frame, embedded, **case.tax)

    sold = taxed["lookup_status"] == "ok"
    label = taxed.attrs["svc"]["terms"][""]["amount"]
    goods, sales = Decimal(case.goods), Decimal(case.sales)
    assert dollars_of(taxed[label][sold]) == goods
    assert measured(frame, **case.tax) == sales
    assert measured(taxed, **case.tax) == sales
    abroad = Decimal("200.00") if name == "country" else 0
    assert summarize(Enriched(taxed)).money.sales == goods + abroad
    assert facts_of(Enriched(taxed)).summary.money.sales == goods + abroad
    assert sum(part.sales or 0 for part in taxed.svc.split().parts) == goods + abroad
    filed = [taxed.svc.filing(state).totals for state in taxed["resolved_state"].dropna().unique()]
    assert sum(one.taxable + one.exempt + (one.left_out_sales or 0) for one in filed) == sales
    if case.collected is not None:
        column, collected = case.collected
        made = taxed.svc.reconcile(column)
        assert made.totals.collected == Decimal(collected)
        assert made.totals.expected == dollars_of(taxed["tax"])
        assert dollars_of(made.by_state["collected"]) == Decimal(collected)
        assert dollars_of(made.by_reason["collected"]) == Decimal(collected)
        assert dollars_of(made.lines["collected_tax"]) == Decimal(collected)
        assert (made.totals.over, made.totals.under) == (Decimal(case.over), Decimal("0.00"))


@pytest.mark.parametrize("name", spread(CASES, 6, start=1))
def test_chunks_of_one_row_have_the_sales_of_the_frame(
    embedded, tmp_path, monkeypatch, name
) -> None:
    case = CASES[name]
    case.frame().to_parquet(tmp_path / "in.parquet")
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 1)

    found = exposure_of_file(
        tmp_path / "in.parquet", as_of="2026-10-31", progress=False, **case.tax
    )
    run = enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
        client=embedded,
        tax=case.tax,
        cache=False,
    )

    assert found["sales"].sum() == Decimal(case.sales)
    parts = [part.sales for part in run.totals.by_use if part.sales is not None]
    abroad = Decimal("200.00") if name == "country" else 0
    assert sum(parts) == Decimal(case.goods) + abroad


@pytest.mark.parametrize("name", GENERIC)
def test_a_column_that_is_named_counts_once_for_each_order(embedded, tmp_path, name) -> None:
    frame = CASES[name].frame()
    rated = frame.svc.lookup(client=embedded, cache=False, progress=False, detail=True)
    taxed = rated.svc.tax(progress=False)
    total = Decimal("277.47")  # 119.39 + 60.80 + 66.33 + 30.95, without the one canceled

    # without a tax all rows are read by the column itself, which cannot show whose it is
    once = {} if name == "lines" else {"once": ["Total"]}
    assert taxed.svc.split(amount="Total").ready is not None
    assert sum(part.sales or 0 for part in taxed.svc.split(amount="Total").parts) == total
    rows = Enriched(taxed)
    assert summarize(rows, goods=goods_of(rows, "Total")).money.sales == total
    assert sum(part.sales or 0 for part in rated.svc.split(amount="Total", **once).parts) == total
    rows = Enriched(rated)
    stakes = figures_of(rows, goods_of(rows, "Total", _as(once)))
    assert stakes.own.total() == total
    report = taxed.svc.report(tmp_path / "report.html", amount="Total").read_text("utf-8")
    assert "$277.47" in report
    broken = taxed.assign(tax=None, tax_error="x")  # of rows without a tax the sales are listed
    left_out = broken.svc.filing("WA", amount="Total").totals.left_out_sales
    assert left_out == total + Decimal("21.00")  # with the delivery of the tax


def _as(once):
    return AmountOptions(**once)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["woo", "orders", "lines", "ended"])
def test_a_frame_that_was_read_back_from_a_file_is_reconciled_alike(
    embedded, tmp_path, name, form
) -> None:
    column, collected = CASES[name].collected
    taxed = taxed_of(CASES[name].frame(), embedded)
    if form == "csv":
        taxed.to_csv(tmp_path / "taxed.csv", index=False)
        back = pd.read_csv(tmp_path / "taxed.csv", dtype="str")
    else:
        taxed.to_parquet(tmp_path / "taxed.parquet")
        back = pd.read_parquet(tmp_path / "taxed.parquet")

    once = {"once": [column]} if form == "csv" and name in {"orders", "ended"} else {}
    made = back.svc.reconcile(column, **once)

    assert made.totals.collected == Decimal(collected)
    assert (made.totals.over, made.totals.under) == (Decimal(CASES[name].over), Decimal("0.00"))


def test_a_column_that_leaves_open_whose_it_is_is_a_question(embedded) -> None:
    frame = ORDERS.drop(columns=["Qty", "Price", "Subtotal", "Shipping", "Total"])
    frame["Amount"] = LINES["Subtotal"]
    taxed = taxed_of(frame, embedded, amount="Amount")

    with pytest.raises(ColumnAmbiguous, match="that of the order or that of each line") as asked:
        taxed.svc.reconcile("Sales Tax")
    (question,) = asked.value.questions
    of_orders = taxed.svc.reconcile("Sales Tax", once=["Sales Tax"])
    of_lines = taxed.svc.reconcile("Sales Tax", once=False)

    assert (question.argument, question.likely) == ("once", ("Sales Tax",))
    assert of_orders.totals.collected == Decimal("26.47")
    assert of_lines.totals.collected == Decimal("50.09")
    # shared out over the lines: the tax of an order is not over in one line and under in another
    first = [str(one) for one in of_orders.lines["collected_tax"][:2]]
    assert first == ["6.83", "4.56"]
    assert "shared out over the lines of 3 orders" in " ".join(of_orders.notes)


def test_exposure_asks_what_the_columns_leave_open(tmp_path) -> None:
    two = pd.read_csv(SALES / "c10_generic_discount.csv", dtype="str")
    refund = pd.read_csv(SALES / "c12_refund_type.csv", dtype="str")

    with pytest.raises(ColumnAmbiguous) as few:
        two.svc.exposure(progress=False)
    with pytest.raises(ColumnAmbiguous) as kinds:
        refund.svc.exposure(progress=False)
    with pytest.raises(ColumnAmbiguous):
        exposure_of_file(SALES / "c12_refund_type.csv", progress=False)

    assert [one.argument for one in few.value.questions] == ["contains_tax"]
    assert [one.argument for one in kinds.value.questions] == ["refunds"]
    assert measured(two, contains_tax=False) == Decimal("88.00")
    added = {"subtract": "0.00", "add": "200.00", "leave": "100.00"}
    for refunds, sales in added.items():
        assert measured(refund, refunds=refunds) == Decimal(sales)


def test_what_only_later_rows_show_is_asked_too(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("svc_tools.frames.sales.exposure.DECIDING_ROWS", 40)
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 20)
    rows = {"State": "WA", "Order Date": "2026-08-14", "Type": "Sale"}
    sold = pd.DataFrame([rows | {"Order": f"A{number}"} for number in range(100)])
    sold["Subtotal"] = [f"{100 + number}.00" for number in range(100)]
    sold["Sales Tax"] = [f"{number % 9}.50" for number in range(100)]
    sold["Total"] = [f"{100 + number + number % 9}.50" for number in range(100)]
    path = tmp_path / "sales.parquet"

    sold.to_parquet(path)
    whole = exposure_of_file(path, as_of="2026-08-31", progress=False)
    sold.assign(Type=["Sale"] * 90 + ["Refund"] * 10).to_parquet(path)
    with pytest.raises(ColumnAmbiguous, match="refunds, but with a positive amount"):
        exposure_of_file(path, progress=False)
    sold.assign(Total=[*sold["Total"][:80], *["1.00"] * 20]).to_parquet(path)
    with pytest.raises(ColumnAmbiguous, match="and not in 20 of 100"):
        exposure_of_file(path, progress=False)
    sold.assign(Total=[*sold["Total"][:95], *["1.00"] * 5]).to_parquet(path)
    few = exposure_of_file(path, as_of="2026-08-31", progress=False)

    assert whole["sales"].sum() == Decimal("14950.00")
    assert few["sales"].sum() == Decimal("13965.00")
    assert few.attrs["svc_exposure"]["left_out"] == [
        {
            "reason": "amount: the amounts of the order do not add up",
            "rows": 5,
            "example": "195.00",
        }
    ]


@pytest.mark.parametrize("orders", [ORDERS, LINES], ids=["of orders", "of lines"])
@pytest.mark.parametrize("size", [1, 2, 500_000])
def test_parts_of_the_amount_count_once_where_they_are_the_orders(
    monkeypatch, size, orders
) -> None:
    monkeypatch.setattr("svc_tools.frames.sales.exposure.SLICE", size)
    taxable = ["90.00", "90.00", "50.00", "60.00", "60.00", "5.00", "5.00", "5.00"]
    frame = orders.assign(**{"Taxable Amount": taxable})

    with pytest.raises(ColumnAmbiguous, match="Taxable Amount"):
        daily_sales(frame, ExposureOptions(taxable="Taxable Amount"))
    once = ["Taxable Amount", *(_OF_ORDERS if orders is ORDERS else ())]
    options = ExposureOptions(taxable="Taxable Amount", once=once)
    daily = daily_sales(frame, options)

    assert daily["taxable_cents"].sum() == 20_500
    assert daily["gross_cents"].sum() == 25_100


_OF_ORDERS = ("Subtotal", "Shipping", "Sales Tax", "Total")


def test_the_former_name_of_order_is_still_accepted() -> None:
    with pytest.warns(DeprecationWarning, match="is called order= now"):
        daily = daily_sales(LINES, ExposureOptions(transaction="Order"))
    assert daily["count"].sum() == 4
    with pytest.raises(ValueError, match="the former name of order"):
        ExposureOptions(transaction="Order", order="Order")


def test_an_answer_about_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="once"):
        ORDERS.svc.exposure(once=["Totall"], progress=False)
    with pytest.raises(ValueError, match="the columns are those of WooCommerce"):
        CASES["woo"].frame().svc.exposure(once=["Order Total Amount"], progress=False)


def test_the_column_of_the_order_must_stay_where_amounts_are_the_orders(embedded) -> None:
    taxed = taxed_of(ORDERS, embedded).drop(columns="Order")

    with pytest.raises(ColumnMissing, match="keep the column 'Order'"):
        taxed.svc.reconcile("Sales Tax")


EXPORTS = sorted(path.name for path in (DATA / "exports").iterdir())


@pytest.mark.parametrize("name", spread(EXPORTS, 5, start=1))
def test_sample_exports_have_the_same_sales_in_every_output(embedded, tmp_path, name) -> None:
    run = enrich_file(
        *(DATA / "exports" / name, tmp_path / "out.parquet"),
        client=embedded,
        detail=True,
        tax={},
        cache=False,
    )
    assert run.written is not None
    taxed = pd.read_parquet(tmp_path / "out.parquet")
    at_home = taxed["lookup_status"] != "unsupported"
    goods = dollars_of(taxed["sale_amount"])

    daily = daily_sales_of_file(DATA / "exports" / name, ExposureOptions(), FileOptions())

    columns = [one for one in ("sale_amount", "sale_shipping") if one in taxed]
    home = sum(dollars_of(taxed[one][at_home]) for one in columns)
    assert Decimal(int(daily["gross_cents"].sum())) / 100 == home
    assert summarize(Enriched(taxed)).money.sales == goods
    assert sum(part.sales or 0 for part in taxed.svc.split().parts) == goods
    states = [state for state in taxed["resolved_state"].dropna().unique() if len(state) == 2]
    filed = [taxed.svc.filing(state).totals for state in states]
    of_states = sum(one.taxable + one.exempt + (one.left_out_sales or 0) for one in filed)
    assert of_states == home
