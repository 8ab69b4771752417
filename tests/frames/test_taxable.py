"""What is not taxable: a column that says so, and the lines of an order that an export marks.

10.55% in Seattle (98101) on 2026-08-14, where delivery is taxed, too.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import svc_tools
from support.examples import examples, spread

from svc_tools.frames import enrich_file
from svc_tools.frames.orders.order_lines import is_gift_card
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.orders.reading import lines_of_export, reading_of_export
from svc_tools.tables.exports import recognized
from svc_tools.tables.roles import FlagsAmbiguous, SaysOpposite, says_of_tax

FILES = Path(__file__).parents[1] / "data" / "sales_files"
SHOPIFY = [
    *("Name", "Financial Status", "Currency", "Subtotal", "Shipping", "Discount Amount"),
    *("Created at", "Lineitem quantity", "Lineitem name", "Lineitem price", "Lineitem taxable"),
    *("Lineitem discount", "Shipping Zip", "Shipping Province", "Shipping Country"),
]
ADDED = ("sale_amount", "sale_shipping", "sale_taxable", "tax", "exempt_amount")
WORDS = {"yes": "true", "no": "false"}


def order(number: str, subtotal: object, *lines: tuple[str, str, str], **others: object) -> list:
    """Rows of an order: a line is a name, its quantity x price, and whether it is taxable."""
    rows = []
    for name, price, taxable in lines:
        quantity, _, each = price.rpartition("x")
        rows.append(
            {
                "Name": number,
                "Created at": "2026-08-14 10:00:00 -0700",
                "Lineitem name": name,
                "Lineitem quantity": quantity or "1",
                "Lineitem price": each,
                "Lineitem taxable": WORDS.get(taxable, taxable),
                "Lineitem discount": "0.00",
            }
        )
    rows[0] |= {
        "Financial Status": "paid",
        "Currency": "USD",
        "Subtotal": str(subtotal),
        "Shipping": "0.00",
        "Discount Amount": "0.00",
        "Shipping Zip": "98101",
        "Shipping Province": "WA",
        "Shipping Country": "US",
    }
    rows[0] |= others
    return rows


def frame(*orders: list) -> pd.DataFrame:
    return pd.DataFrame([row for one in orders for row in one], columns=SHOPIFY)


LAMP, BOOK = ("Lamp", "100.00", "yes"), ("Book", "2x25.00", "no")
CASES = {
    # name: rows, then of the first row: amount, delivery, taxable, tax, exempt
    "goods": (
        order("#1", "150.00", LAMP, BOOK),
        ("150.00", "0.00", "100.00", "10.55", "50.00"),
    ),
    "goods_with_delivery": (  # of the delivery 10 x 100/150 is taxable: 6.67
        order("#1", "150.00", LAMP, BOOK, Shipping="10.00"),
        ("150.00", "10.00", "100.00", "11.25", "53.33"),
    ),
    "all_of_it": (
        order("#1", "50.00", BOOK, Shipping="8.00"),
        ("50.00", "8.00", "0.00", "0.00", "58.00"),
    ),
    "a_discount": (  # 15 off 150: 10 of the lamp, 5 of the books
        order("#1", "135.00", LAMP, BOOK, **{"Discount Amount": "15.00"}),
        ("135.00", "0.00", "90.00", "9.50", "45.00"),
    ),
    "a_discount_to_the_cent": (  # a third of a cent is in both shares
        order(
            "#1",
            "29.99",
            ("A", "20.00", "yes"),
            ("B", "10.00", "no"),
            **{"Discount Amount": "0.01"},
        ),
        ("29.99", "0.00", "19.99", "2.11", "10.00"),
    ),
    "a_discount_that_is_not_on_the_goods": (  # on the delivery
        order("#1", "150.00", LAMP, BOOK, **{"Discount Amount": "8.00"}),
        ("150.00", "0.00", "100.00", "10.55", "50.00"),
    ),
    "a_discount_of_the_line": (
        [
            one | {"Lineitem discount": "10.00" if one["Lineitem name"] == "Book" else "0.00"}
            for one in order("#1", "140.00", LAMP, BOOK, **{"Discount Amount": "10.00"})
        ],
        ("140.00", "0.00", "100.00", "10.55", "40.00"),
    ),
    "discounts_of_the_line_and_of_the_order": (  # 10 of the books, 50 shared: 100 and 40 of 140
        [
            one | {"Lineitem discount": "10.00" if one["Lineitem name"] == "Book" else "0.00"}
            for one in order("#1", "90.00", LAMP, BOOK, **{"Discount Amount": "60.00"})
        ],
        ("90.00", "0.00", "64.29", "6.78", "25.71"),
    ),
    "a_gift_card": (
        order("#1", "150.00", LAMP, ("Gift Card", "50.00", "no")),
        ("100.00", "0.00", "100.00", "10.55", "0.00"),
    ),
    "a_gift_card_beside_a_discount": (  # which is on the lamp
        order(
            "#1",
            "140.00",
            LAMP,
            ("E-Gift Card - $50.00", "50.00", "no"),
            **{"Discount Amount": "10.00"},
        ),
        ("90.00", "0.00", "90.00", "9.50", "0.00"),
    ),
    "a_gift_card_alone": (
        order("#1", "50.00", ("Gift card", "50.00", "no"), Shipping="5.00"),
        ("0.00", "0.00", "0.00", "0.00", "0.00"),
    ),
    "a_holder_of_gift_cards": (
        order("#1", "50.00", ("Gift Card Holder", "50.00", "yes")),
        ("50.00", "0.00", "50.00", "5.28", "0.00"),
    ),
    "a_tip": (
        order("#1", "120.00", LAMP, ("Tip", "20.00", "no")),
        ("100.00", "0.00", "100.00", "10.55", "0.00"),
    ),
    "a_tip_outside_of_the_subtotal": (
        order("#1", "100.00", LAMP, ("Gratuity", "20.00", "no")),
        ("100.00", "0.00", "100.00", "10.55", "0.00"),
    ),
    "a_canceled_order": (
        order("#1", "150.00", LAMP, BOOK, **{"Financial Status": "voided"}),
        ("0.00", "0.00", "0.00", "0.00", "0.00"),
    ),
    "no_mark": (
        order("#1", "150.00", LAMP, ("Book", "2x25.00", "")),
        ("150.00", "0.00", "150.00", "15.83", "0.00"),
    ),
    "lines_that_do_not_add_up": (
        order("#1", "140.00", LAMP, BOOK),
        ("140.00", "0.00", None, None, None),
    ),
    "a_discount_that_may_be_a_tip": (  # either of them leads to 150.00
        order("#1", "150.00", LAMP, BOOK, ("Tip", "15.00", "no"), **{"Discount Amount": "15.00"}),
        ("150.00", "0.00", None, None, None),
    ),
    "a_mark_that_says_neither": (
        order("#1", "150.00", LAMP, ("Book", "2x25.00", "perhaps")),
        ("150.00", "0.00", None, None, None),
    ),
    "a_price_that_cannot_be_read": (
        order("#1", "150.00", ("Lamp", "a hundred", "yes"), BOOK),
        ("150.00", "0.00", None, None, None),
    ),
    "orders_that_add_up_whatever_is_marked": (
        order("#1", "7.00", ("Lamp", "100.00", "yes")),
        ("7.00", "0.00", "7.00", "0.74", "0.00"),
    ),
}


def texts(taxed: pd.DataFrame, names: tuple[str, ...] = ADDED) -> list[tuple[str | None, ...]]:
    rows = zip(*(taxed[name] for name in names), strict=True)
    return [tuple(None if pd.isna(one) else str(one) for one in row) for row in rows]


def taxed_of(embedded, own: pd.DataFrame, **arguments: object) -> pd.DataFrame:
    rated = own.svc.lookup(client=embedded, cache=False, progress=False, detail=True)
    return rated.svc.tax(progress=False, **arguments)


@pytest.mark.parametrize("name", CASES)
def test_what_an_export_marks_not_taxable_is_taken_off(embedded, name) -> None:
    rows, right = CASES[name]

    taxed = taxed_of(embedded, frame(rows))

    first, *further = texts(taxed)
    assert first == right
    assert all(one == ("0.00",) * len(ADDED) for one in further)
    codes = [one for one in taxed["tax_review"] if not pd.isna(one)]
    assert codes == ([] if right[3] is not None else ["amounts_do_not_add_up"])
    if right[3] is None:
        assert taxed["tax_error"][0].startswith("taxable: the lines of the order do not add up")
    again = taxed.svc.tax(progress=False)
    pd.testing.assert_frame_equal(again, taxed)


@pytest.fixture(scope="module")
def every_case() -> pd.DataFrame:
    orders = []
    for number, (rows, _) in enumerate(CASES.values()):
        orders.append([{**row, "Name": f"#{number}"} for row in rows])
    return frame(*orders)


@pytest.mark.parametrize("chunk", spread([1, 2, 3, 1000], 2))
def test_a_file_has_the_same_figures_however_its_orders_are_parted(
    embedded, tmp_path, monkeypatch, every_case, chunk
) -> None:
    own = every_case
    # rows of all first lines, then those of the further ones
    apart = own.iloc[np.argsort(own["Name"].duplicated().to_numpy(), kind="stable")]
    expected = taxed_of(embedded, own)
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", chunk)

    for parted in (own, apart):
        parted.to_parquet(tmp_path / "in.parquet", index=False)
        run = enrich_file(
            *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
            client=embedded,
            tax={},
            cache=False,
            force=True,
        )
        written = pd.read_parquet(tmp_path / "out.parquet").set_index(parted.index).sort_index()
        # a further row has no place where its order's first row is not in its chunk
        rows = own["Subtotal"].notna() | (parted is own)
        assert texts(written[rows]) == texts(expected[rows])
        (said,) = [note for note in run.notes if "taken off because" in note]
        assert said.startswith(
            "8 lines, $320.71 taken off because the export marks them not taxable (`--without"
            " taxable`, in Python `taxable=False`, taxes them)"
        )


@pytest.mark.parametrize("chunk", [1, 1000])
def test_orders_whose_lines_are_missing_are_said(embedded, tmp_path, monkeypatch, chunk) -> None:
    own = frame(order("#1", "150.00", LAMP, BOOK), order("#2", "100.00", LAMP))[::2]
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", chunk)
    own.to_parquet(tmp_path / "in.parquet", index=False)

    run = enrich_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", client=embedded, tax={}, cache=False
    )

    (said,) = [one for one in run.notes if "lines are missing" in one]
    assert said.startswith("in 1 order taxed whole the lines do not add up to the amount: ")


def test_two_orders_of_one_number_have_their_own_lines(embedded) -> None:
    later = [row | {"Created at": "2026-08-15"} for row in order("#1", "50.00", BOOK)]
    own = frame(order("#1", "150.00", LAMP, BOOK), later)

    taxed = taxed_of(embedded, own)

    assert [str(one) for one in taxed["tax"]] == ["10.55", "0.00", "0.00"]
    assert [str(one) for one in taxed["sale_taxable"]] == ["100.00", "0.00", "0.00"]


def test_an_order_with_two_amounts_is_to_check(embedded, tmp_path, monkeypatch) -> None:
    rows = order("#1", "100.00", LAMP) + order("#1", "50.00", BOOK)
    own = frame(rows)
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 1)
    own.to_parquet(tmp_path / "in.parquet")

    taxed = taxed_of(embedded, own)
    enrich_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", client=embedded, tax={}, cache=False
    )

    for one in (taxed, pd.read_parquet(tmp_path / "out.parquet")):
        assert one["tax"].isna().all()
        assert set(one["tax_review"]) == {"amounts_do_not_add_up"}


def test_the_command_says_what_was_taken_off_and_taxes_it_on_request(tmp_path) -> None:
    frame(
        *(rows for rows, _ in [CASES["goods"]]), order("#2", "50.00", ("Tip", "50.00", "no"))
    ).to_csv(tmp_path / "in.csv", index=False)

    done = svc_tools("enrich", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--embedded")
    whole = svc_tools(
        *("enrich", tmp_path / "in.csv", "-o", tmp_path / "all.csv", "--embedded"),
        *("--without", "taxable"),
    )

    assert (
        "1 line, $50.00 taken off because the export marks them not taxable (`--without taxable`,"
        " in Python `taxable=False`, taxes them)" in done.stderr
    )
    assert "1 line, $50.00 of gift cards or tips: no sales" in done.stderr
    assert "taken off" not in whole.stderr
    tax = pd.read_csv(tmp_path / "all.csv", dtype=str)["tax"].tolist()
    assert tax == ["15.83", "0.00", "5.28"]
    assert "sale_taxable" not in pd.read_csv(tmp_path / "all.csv", nrows=0)


def test_the_file_of_the_report_has_the_right_tax(embedded, tmp_path) -> None:
    path = FILES / "c04_shopify_nontaxable.csv"

    done = svc_tools("enrich", path, "-o", tmp_path / "out.csv", "--embedded")
    taxed = taxed_of(embedded, pd.read_csv(path, dtype="str"))
    whole = taxed_of(embedded, pd.read_csv(path, dtype="str"), taxable=False)

    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert done.returncode == 0
    for tax in (written["tax"], taxed["tax"]):
        assert [str(one) for one in tax] == ["10.55", "0.00", "0.00"]
    assert [str(one) for one in whole["tax"]] == ["15.83", "0.00", "5.28"]


@pytest.mark.parametrize(
    ("amount", "tax"),
    [
        ("Lineitem price", ["10.55", "0.00", "0.00"]),
        ("own", ["10.55", "0.00", "0.00"]),
        ("of_order", [None, None, "0.00"]),
    ],
)
def test_an_amount_of_the_line_is_taken_off_and_that_of_an_order_is_to_check(
    embedded, tmp_path, monkeypatch, amount, tax
) -> None:
    own = frame(order("#1", "150.00", LAMP, ("Book", "50.00", "no")), order("#2", "25.00", BOOK))
    own["own"] = ["100.00", "50.00", "25.00"]
    own["of_order"] = ["150.00", "0.00", "50.00"]
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 1)
    own.to_parquet(tmp_path / "in.parquet")

    taxed = taxed_of(embedded, own, amount=amount)
    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
        client=embedded,
        tax={"amount": amount},
        cache=False,
    )

    written = pd.read_parquet(tmp_path / "out.parquet")
    for one in (taxed, written):
        assert [None if pd.isna(cell) else str(cell) for cell in one["tax"]] == tax
        assert one["tax_review"].notna().sum() == tax.count(None)


def test_the_items_of_other_exports_are_gift_cards_by_their_whole_name(embedded) -> None:
    exports = Path(__file__).parents[1] / "data" / "exports"
    sold = pd.read_csv(exports / "quickbooks.csv", dtype="str", skiprows=4)
    sold = sold[sold["Transaction date"].notna()].head(3).reset_index(drop=True)
    name = next(one for one in sold if one.casefold().startswith("product"))
    sold[name] = ["Gift Card", "Gift Card Holder", "Tip"]

    taxed = taxed_of(embedded, sold)

    amounts = [str(one) for one in taxed["sale_amount"]]
    assert amounts[0] == amounts[2] == "0.00"
    assert amounts[1] != "0.00"
    assert "sale_taxable" not in taxed


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("Gift Card", "gift card", "E-Gift Card", "eGift Card")),
        *((name, True) for name in ("Gift Card - $50.00", "$25 Gift Card", "Digital Gift Card")),
        *((name, True) for name in ("Gift Certificate", "Gift Card / 100", "Gift Card ($25)")),
        *((name, False) for name in ("Gift Card Holder", "Gift Card Box - $5.00", "Card", "Gift")),
        *((name, False) for name in ("Gift Card Envelope", "50", "Gift Card - Red")),
    ],
)
def test_a_gift_card_is_known_by_its_whole_name(name, is_one) -> None:
    assert is_gift_card(name) == is_one


def test_partitions_of_dask_have_whole_orders(embedded) -> None:
    own = frame(
        order("#1", "150.00", LAMP, BOOK), order("#2", "100.00", LAMP, ("Tea", "0.00", "yes"))
    )
    own = own.astype("string")
    cut = dd.concat(
        [dd.from_pandas(own[:1], npartitions=1), dd.from_pandas(own[1:], npartitions=1)]
    )
    whole = dd.concat(
        [dd.from_pandas(own[:3], npartitions=1), dd.from_pandas(own[3:], npartitions=1)]
    )
    lookup = {"client": embedded, "cache": False, "progress": False}

    with pytest.raises(ValueError, match=r"order: 1 orders in column 'Name' have lines"):
        cut.svc.lookup(**lookup).svc.tax()
    taxed = whole.svc.lookup(**lookup).svc.tax().compute()
    untouched = cut.svc.lookup(**lookup).svc.tax(taxable=False).compute()

    assert str(taxed["tax"].iloc[0]) == "10.55"
    assert str(untouched["tax"].iloc[0]) == "15.83"


def test_every_runner_takes_off_what_is_marked(run) -> None:
    run.size = 4  # the parts of Dask have whole orders
    own, right = CASES["goods"]

    assert texts(run(frame(own), tax={}))[0] == right
    flags = pd.DataFrame(ROWS | {"Taxable": [True, False]})
    tax = texts(run(flags, tax={"taxable": "Taxable"}), ("tax",))
    assert tax == [("10.55",), ("0.00",)]
    with pytest.raises(SaysOpposite, match="write taxable='Taxable' instead"):
        run(flags, tax={"exempt": "Taxable"})


def test_a_state_of_mostly_marked_sales_is_one_line_of_the_review(embedded, tmp_path) -> None:
    texas = {"Shipping Zip": "77002", "Shipping Province": "TX"}
    own = frame(
        *(order(f"#{number}", "150.00", LAMP, BOOK) for number in range(3)),
        *(order(f"#9{number}", "50.00", BOOK, **texas) for number in range(2)),
    )
    own.to_parquet(tmp_path / "in.parquet")

    review = taxed_of(embedded, own).svc.review()
    run = enrich_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", client=embedded, tax={}, cache=False
    )

    assert review.totals.rows == len(review.rows) == run.totals.review.rows == 0
    for groups in (review.state_reasons, run.totals.review.groups()):
        (one,) = groups
        assert (one.state, one.reason, one.rows) == ("TX", "mostly_not_taxable", 2)
        assert str(one.dollars) == "8.26"  # 8.25% of 50.00 twice: 4.13 each
    assert "1 state as a whole" in str(review)
    assert "TX" in str(review)


def test_a_return_has_what_an_export_marks_as_exempt_sales(embedded) -> None:
    own = frame(
        order("#1", "150.00", LAMP, BOOK, Shipping="10.00"),
        order("#2", "50.00", ("Gift Card", "50.00", "no")),
    )

    filed = taxed_of(embedded, own).svc.filing("WA")

    filed.check()
    assert (str(filed.totals.taxable), str(filed.totals.exempt)) == ("106.67", "53.33")
    table = filed.exempt_by_reason
    assert table["reason"].tolist() == ["export", "other"]  # and the delivery that follows
    assert [str(one) for one in table["exempt"]] == ["50.00", "3.33"]
    assert "Exempt, by reason" in str(filed)


def test_an_exempt_customer_has_no_tax_beside_marked_lines(embedded) -> None:
    own = frame(order("#1", "150.00", LAMP, BOOK), order("#2", "150.00", LAMP, BOOK))
    own["Reseller"] = ["yes", "yes", "no", "no"]
    own["Dollars"] = ["20.00", "0.00", "50.00", "0.00"]

    flags, dollars = (taxed_of(embedded, own, exempt=name) for name in ("Reseller", "Dollars"))
    marks = taxed_of(embedded, own, exempt="Dollars", taxable=False)

    assert [str(one) for one in flags["tax"]] == ["0.00", "0.00", "10.55", "0.00"]
    assert [None if pd.isna(one) else str(one) for one in dollars["tax"]] == [
        None,
        "0.00",
        "10.55",
        "0.00",
    ]
    assert "taxable=False" in dollars["tax_error"][0]
    assert [str(one) for one in marks["tax"]] == ["13.72", "0.00", "10.55", "0.00"]


ROWS = {
    "State": ["WA", "WA"],
    "Zip": ["98101", "98101"],
    "Order Date": ["2026-08-14", "2026-08-14"],
    "Amount": ["100.00", "100.00"],
}


@pytest.mark.parametrize(
    "cells",
    [
        *(["true", "false"], ["Yes", "No"], ["TAXABLE", "Exempt"], ["taxable", "Non-taxable"]),
        *([True, False], ["100.00", "0.00"], ["y", "n"]),
    ],
)
def test_a_column_says_which_rows_are_taxable(embedded, tmp_path, cells) -> None:
    own = pd.DataFrame(ROWS | {"Taxable?": cells})
    own.to_parquet(tmp_path / "in.parquet")

    taxed = taxed_of(embedded, own, amount="Amount", taxable="Taxable?")
    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
        client=embedded,
        tax={"amount": "Amount", "taxable": "Taxable?"},
        cache=False,
    )

    for one in (taxed, pd.read_parquet(tmp_path / "out.parquet")):
        assert [str(cell) for cell in one["tax"]] == ["10.55", "0.00"]
        assert [str(cell) for cell in one["exempt_amount"]] == ["0.00", "100.00"]
    assert taxed.svc.reconcile("Amount").totals is not None


def test_dollars_that_are_taxable_leave_the_rest_exempt(embedded) -> None:
    own = pd.DataFrame(
        ROWS | {"Taxable amount": ["60.00", "120.00"], "Shipping": ["10.00", "0.00"]}
    )

    taxed = taxed_of(embedded, own, amount="Amount", taxable="Taxable amount", shipping="Shipping")

    # of the delivery 60% is taxable
    assert texts(taxed, ("taxable_amount", "exempt_amount")) == [("66.00", "44.00"), (None, None)]
    assert taxed["tax_error"][1] == "taxable: 120.00 is not between 0 and the amount, 100.00"


def test_a_cell_that_does_not_say_whether_a_row_is_taxable_is_a_reason(embedded) -> None:
    own = pd.DataFrame({name: [*cells, cells[0]] for name, cells in ROWS.items()})
    own["Taxable"] = ["yes", "perhaps", ""]

    taxed = taxed_of(embedded, own, amount="Amount", taxable="Taxable")

    assert taxed["tax_error"].tolist()[1:] == [
        "taxable: 'perhaps' says neither yes nor no",
        "taxable: missing",
    ]
    assert taxed["tax"].isna().tolist() == [False, True, True]
    with pytest.raises(FlagsAmbiguous, match="taxable: column 'Taxable' holds only 0 and 1"):
        taxed_of(embedded, own.assign(Taxable=["1", "0", "1"]), amount="Amount", taxable="Taxable")
    with pytest.raises(ValueError, match="taxable: 'Taxabel' is no column"):
        taxed_of(embedded, own, amount="Amount", taxable="Taxabel")


def test_an_order_whose_rows_differ_in_a_column_of_taxable_rows_has_no_tax(
    embedded, tmp_path, monkeypatch
) -> None:
    own = frame(order("#1", "150.00", ("Lamp", "100.00", ""), ("Book", "50.00", "")))
    own["Subject"] = ["yes", "no"]
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 1)
    own.to_parquet(tmp_path / "in.parquet")

    taxed = taxed_of(embedded, own, taxable="Subject")
    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
        client=embedded,
        tax={"taxable": "Subject"},
        cache=False,
    )

    for one in (taxed, pd.read_parquet(tmp_path / "out.parquet")):
        assert one["tax"].isna().tolist() == [True, False]
        assert one["tax_error"][0].startswith("taxable: differs among the rows of the order")


def test_the_mark_of_an_export_may_be_named(embedded) -> None:
    own = frame(*(rows for rows, _ in CASES.values()))

    named, found = taxed_of(embedded, own, taxable="Lineitem taxable"), taxed_of(embedded, own)

    assert texts(named) == texts(found)


SAYS = {
    "taxable": [
        *("Taxable", "Taxable?", "is_taxable", "isTaxable", "Lineitem taxable", "Taxable amount"),
        *("TAXABLE SALES", "Charge tax", "Subject to tax", "Non-exempt", "not exempt", "Is Taxed"),
    ],
    "exempt": [
        *("Exempt", "Tax exempt", "is_tax_exempt", "Non-taxable", "non_taxable", "Not taxable"),
        *("nontaxable", "Untaxed", "untaxed amount", "is_not_taxable", "Exemption", "Tax-free"),
        *("Not subject to sales tax", "NonTaxable"),
    ],
    None: ["Reseller", "Tax Status", "Taxable/Exempt", "Tax", "Amount", "Exemplary", "Tax code"],
}


@pytest.mark.parametrize(
    ("says", "name"), [(says, one) for says, names in SAYS.items() for one in names]
)
def test_a_name_says_what_is_taxable_or_what_is_exempt(says, name) -> None:
    assert says_of_tax(name) == says


@pytest.mark.parametrize(("role", "other"), [("exempt", "taxable"), ("taxable", "exempt")])
def test_a_column_that_says_the_opposite_is_refused(embedded, tmp_path, role, other) -> None:
    for name in SAYS[other]:
        own = pd.DataFrame(ROWS | {name: ["true", "false"]})
        with pytest.raises(SaysOpposite) as refused:
            taxed_of(embedded, own, amount="Amount", **{role: name})
        assert (refused.value.code, refused.value.role) == ("says_the_opposite", role)
        assert str(refused.value).endswith(f"write {other}={name!r} instead")
    own.to_csv(tmp_path / "in.csv", index=False)

    done = svc_tools(
        *("enrich", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--embedded"),
        *("--tax", "Amount", f"--{role}", name),
    )

    assert done.returncode == 2
    assert f"write --{other} " in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_exempt_and_taxable_together_are_refused(embedded, tmp_path) -> None:
    own = pd.DataFrame(ROWS | {"Reseller": ["no", "yes"], "Taxable": ["yes", "no"]})

    with pytest.raises(ValueError, match="exempt and taxable: 'Reseller' and 'Taxable' both"):
        taxed_of(embedded, own, amount="Amount", exempt="Reseller", taxable="Taxable")
    done = svc_tools(
        *("enrich", FILES / "c05_exempt_taxable.csv", "-o", tmp_path / "out.csv", "--embedded"),
        *("--exempt", "Reseller", "--taxable", "Taxable"),
    )

    assert done.returncode == 2
    assert "--exempt and --taxable both say what is not taxed; leave one out" in done.stderr


LINES = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from(["true", "false"])),
    min_size=1,
    max_size=5,
)


def dollars_of(cents: int) -> str:
    return str(Decimal(cents).scaleb(-2))


@examples(8, of=100)
@given(st.lists(st.tuples(LINES, st.floats(0, 1)), min_size=1, max_size=6), st.randoms())
def test_the_lines_add_up_to_the_order_and_share_its_discount_by_price(orders, random) -> None:
    rows, expected = [], {}
    for number, (lines, share) in enumerate(orders):
        of_goods = sum(price * quantity for price, quantity, _ in lines)
        untaxed = sum(price * quantity for price, quantity, mark in lines if mark == "false")
        less = int(of_goods * share)
        each = [
            (f"Item {at}", f"{quantity}x{dollars_of(price)}", mark)
            for at, (price, quantity, mark) in enumerate(lines)
        ]
        subtotal, discount = dollars_of(of_goods - less), dollars_of(less)
        rows += order(f"#{number}", subtotal, *each, **{"Discount Amount": discount})
        expected[f"#{number}"] = (of_goods, untaxed, less)
    own = frame(rows)
    own["Created at"] = "2026-08-14"
    own["Shipping Zip"] = own["Shipping Zip"].ffill()
    own["Shipping Province"] = own["Shipping Province"].ffill()
    own = own.sample(frac=1, random_state=random.randrange(2**32))
    export = recognized([*own.columns])
    lines = lines_of_export(export, own.columns)
    reading = replace(reading_of_export(export, own.columns), lines=lines)

    sale = Orders(own, reading).sale()

    assert not sale.lines_off
    taxable = pd.Series(sale.taxable.cents).groupby(own["Name"].to_numpy()).sum()
    amount = pd.Series(sale.amount.cents).groupby(own["Name"].to_numpy()).sum()
    for name, (of_goods, untaxed, less) in expected.items():
        assert amount[name] == of_goods - less
        left = amount[name] - taxable[name]
        assert 0 <= left <= untaxed
        if of_goods:  # to half a cent
            assert abs(2 * left * of_goods - 2 * untaxed * (of_goods - less)) <= of_goods
