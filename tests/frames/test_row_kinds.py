"""Which rows of any file are sales: canceled and unpaid ones are not, refunds are asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.frames import enrich_file
from svc_tools.frames.orders.row_kinds import KindColumn, KindCounts, find_kinds, row_kinds, signed
from svc_tools.tables.roles import ColumnAmbiguous

CENTS = 100_00


def read(cents=None, **columns):
    """The kinds of rows of a frame with these columns; underscores are blanks in their names."""
    frame = pd.DataFrame({name.replace("_", " "): values for name, values in columns.items()})
    found = find_kinds(frame)
    amounts = np.full(len(frame), CENTS) if cents is None else np.array(cents)
    return found, row_kinds(frame, found, amounts)


@pytest.mark.parametrize(
    "word",
    [
        *("Canceled", "CANCELLED", "wc-cancelled", "Canceled by customer", "Order Cancelled"),
        *("Cancelled - out of stock", "Voided", "VOID", "Payment failed", "card declined"),
        *("Expired", "Draft", "checkout-draft", "Test", "Test order", "Abandoned cart", "Trash"),
        *("Unpaid", "Not paid", "Pending payment", "wc-pending_payment", "Awaiting payment"),
        *("Cancelado", "Anulada por el cliente", "Storniert", "Annulé", "ANNULÉE", "Abgebrochen"),
        *("requires_payment_method", "Rejected", "Estimate", "Canceled, refunded"),
    ],
)
def test_a_canceled_unpaid_or_test_row_is_no_sale(word):
    _, kinds = read(Order_Status=["Completed", word])
    assert kinds.no_sale.tolist() == [False, True]
    assert signed(np.array([CENTS, CENTS]), kinds, "add").tolist() == [CENTS, 0]
    assert kinds.counts.sentences() == [
        f"1 row canceled or not paid by 'Order Status' ({word!r}): amount 0.00"
    ]


@pytest.mark.parametrize(
    "word",
    [
        *("Pending", "On hold", "Cancellation requested", "Not cancelled", "Partially canceled"),
        *("Delivery failed", "Return requested", "Back order", "Shelved", "Canceled reversal"),
    ],
)
def test_a_word_that_does_not_say_it_leaves_the_row_a_sale_and_is_named(word):
    _, kinds = read(Order_Status=["Completed", word])
    assert not kinds.no_sale.any()
    assert not kinds.refund.any()
    said = kinds.counts.sentences()
    if word != "Canceled reversal":  # the money came back: a sale
        (line,) = said
        assert line.startswith(f"1 row with {word!r} in 'Order Status': counted as sales")


@pytest.mark.parametrize(
    "name", ["Stage", "Result", "Disposition", "Condition", "Outcome", "Estado", "Zustand"]
)
@pytest.mark.parametrize(
    ("gone", "sold"),
    [
        ("Cancelled", ["Completed", "Pending"]),
        ("Cancelado", ["Completado", "Enviado"]),
        ("Storniert", ["Abgeschlossen"]),
        ("Annulée", ["Payée", None]),
    ],
)
def test_a_column_in_which_every_text_is_a_word_of_a_status_is_the_status(name, gone, sold):
    _, kinds = read(**{name: [gone, *sold]})
    assert kinds.no_sale.tolist() == [True, *(False for _ in sold)]
    assert kinds.counts.sentences()[0] == (
        f"1 row canceled or not paid by {name!r} ({gone!r}): amount 0.00"
    )


@pytest.mark.parametrize("word", ["Refund", "Reembolso", "Devolución", "Erstattung"])
def test_refunds_in_a_column_of_any_name_are_asked_about(word):
    _, kinds = read(Stage=["Completed", word])
    assert kinds.refund.tolist() == [False, True]
    assert kinds.counts.question().argument == "refunds"


@pytest.mark.parametrize(
    ("name", "texts", "why"),
    [
        ("Item_Result", ["Completed", "Cancelled"], "it is about items (it has 'Cancelled')"),
        ("Ticket", ["Closed", "Cancelled"], "it is about tickets (it has 'Cancelled')"),
        ("Grade", ["Final", "Draft"], "its name does not say what it is about (it has 'Draft')"),
        ("Notes", ["Cancelled", None], "it is about notes (it has 'Cancelled')"),
        ("Product", ["Lamp", "Refund"], "it is about products (it has 'Refund')"),
        (
            "Stage",
            ["Negotiation", "Cancelled"],
            "not all of its words are those of a status (it has 'Cancelled')",
        ),
    ],
)
def test_a_column_with_other_words_or_about_something_else_is_named(name, texts, why):
    found, kinds = read(**{name: texts})
    assert not kinds.no_sale.any()
    assert found.sentences() == [f"{name.replace('_', ' ')!r} was not used: {why}"]


@pytest.mark.parametrize("texts", [["Lamp", "Void Fill"], ["Completed", "Pending"], ["1", "2"]])
def test_a_column_without_a_word_for_no_sale_is_no_status(texts):
    found, _ = read(Stage=texts)
    assert found == find_kinds(pd.DataFrame())


@pytest.mark.parametrize(
    "name",
    [
        *("Status", "Order Status", "Payment Status", "Financial Status", "Transaction Status"),
        *("order_status", "paymentStatus", "Sale Status", "Payment State", "Status of Order"),
        *("Current Status", "Order Status Name", "Invoice Status", "Checkout Status"),
    ],
)
def test_the_status_of_order_payment_sale_transaction_or_none_is_used(name):
    frame = pd.DataFrame({name: ["Paid", "Voided"]})
    found = find_kinds(frame)
    assert found.labels == [name]
    assert row_kinds(frame, found).no_sale.tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("Subscription Status", "subscriptions"),
        ("Customer Status", "customers"),
        ("Item Status", "items"),
        ("Order Item Status", "items"),
        ("Lineitem fulfillment status", "deliveries"),
        ("Fulfillment Status", "deliveries"),
        ("Shipping Status", "deliveries"),
        ("Ticket Status", "tickets"),
        ("Tax Status", "taxes"),
    ],
)
def test_the_status_of_something_else_is_named_and_not_used(name, about):
    frame = pd.DataFrame({name: ["Active", "Cancelled"]})
    found = find_kinds(frame)
    assert found.used == ()
    assert found.sentences() == [f"{name!r} was not used: it is about {about} (it has 'Cancelled')"]
    assert not row_kinds(frame, found, np.array([CENTS, CENTS])).no_sale.any()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Product Type", ["Return Labels", "Returns", "Refund"]),
        ("Type", ["Return Labels", "Mugs"]),
        ("Type", ["Bottle", "Draft"]),  # beer
        ("Type", ["Void Fill", "Boxes"]),  # packing material
        ("Type", ["Test kit", "Draft beer"]),
        ("Order Type", ["Online", "In store"]),
        ("Payment Type", ["Credit", "Check", "Deposit", "Transfer"]),
        ("Status", [1, 2]),
        ("State", ["OR", "OK"]),
        ("Order State", ["OK", "OR"]),
        ("Refunded", [0, 1]),  # dollars
        ("Transaction", ["T-1", "T-2"]),
        ("Returned", [0, 2]),
        ("Return", [0, 1]),  # pieces
        ("Notes", ["Cancelled", "Refund"]),
        ("Item Name", ["Cancelled", "Refund"]),
    ],
)
def test_innocent_columns_change_nothing(name, values):
    frame = pd.DataFrame({name: values})
    kinds = row_kinds(frame, find_kinds(frame), np.full(len(values), CENTS))
    assert not kinds.no_sale.any()
    assert not kinds.refund.any()
    assert kinds.counts == KindCounts()


@pytest.mark.parametrize(
    "word",
    [
        *("Refund", "refunds", "Return", "Sales Return", "Reversal", "Credit Memo", "credit_note"),
        *("Chargeback", "charge back", "Payment Refund", "Partial refund", "Refunded"),
    ],
)
def test_a_refund_with_a_positive_amount_is_asked_about(word):
    _, kinds = read(Transaction_Type=["Sale", word])
    assert kinds.refund.tolist() == [False, True]
    question = kinds.counts.question()
    assert (question.role, question.argument, question.columns) == (
        "refunds",
        "refunds",
        ("Transaction Type",),
    )
    assert question.values == ("subtract", "add", "leave")  # noqa: PD011 - no frame
    assert question.likely == "subtract"
    assert "($100.00 in all)" in question.why
    amounts = np.array([CENTS, CENTS])
    assert signed(amounts, kinds, "subtract").tolist() == [CENTS, -CENTS]
    assert signed(amounts, kinds, "add").tolist() == [CENTS, CENTS]
    assert signed(amounts, kinds, "leave").tolist() == [CENTS, 0]
    assert kinds.counts.sentences("subtract") == [
        f"1 refund with {word!r} in 'Transaction Type': taken off"
    ]


def test_a_refund_with_a_negative_amount_stays_as_it_is_unasked():
    _, kinds = read([CENTS, -CENTS], Transaction_Type=["Sale", "Refund"])
    assert kinds.counts.question() is None
    assert signed(np.array([CENTS, -CENTS]), kinds, "leave").tolist() == [CENTS, -CENTS]


@pytest.mark.parametrize(
    "word",
    [
        *("Refunded", "Partially refunded", "partially_refunded", "Partial refund", "Returned"),
        *("Charged back", "Reversed", "Fully refunded", "Refunded by seller"),
    ],
)
def test_a_refunded_order_stays_the_sale_that_it_was(word):
    _, kinds = read(Order_Status=["Completed", word])
    assert kinds.counts.question() is None
    for answer in ("subtract", "add", "leave"):
        assert signed(np.array([CENTS, CENTS]), kinds, answer).tolist() == [CENTS, CENTS]
    (line,) = kinds.counts.sentences()
    assert line.startswith(f"1 sale with {word!r} in 'Order Status': counted in full")


def test_a_partially_refunded_row_of_a_type_is_a_sale():
    _, kinds = read(Transaction_Type=["Sale", "Partially refunded"])
    assert kinds.counts.question() is None
    assert not kinds.refund.any()


@pytest.mark.parametrize(("amounts", "likely"), [([100, 100], "subtract"), ([100, 30], "add")])
def test_a_refunded_row_beside_a_paid_one_of_its_number_is_asked_about(amounts, likely):
    frame = pd.DataFrame({"Status": ["Paid", "Refunded"]})
    same, other = np.array([7, 7]), np.array([7, 8])
    found = find_kinds(frame)
    question = row_kinds(frame, found, np.array(amounts), numbers=lambda: same).counts.question()
    assert question.likely == likely
    assert "other rows have the same order number" in question.why
    assert (
        row_kinds(frame, found, np.array(amounts), numbers=lambda: other).counts.question() is None
    )


def test_a_failed_refund_is_no_row_of_its_own_and_leaves_the_order_a_sale():
    _, of_type = read(Transaction_Type=["Sale", "Refund failed"])
    assert of_type.no_sale.tolist() == [False, True]
    _, of_status = read(Order_Status=["Completed", "Refund failed"])
    assert not of_status.no_sale.any()
    assert not of_status.refund.any()


def test_a_void_that_takes_a_sale_back_keeps_its_minus():
    _, kinds = read([CENTS, -CENTS, CENTS], Transaction_Type=["Sale", "Void", "Void"])
    assert kinds.no_sale.tolist() == [False, False, True]
    _, kinds = read([CENTS, -CENTS], Order_Status=["Voided", "Voided"])
    assert kinds.no_sale.tolist() == [True, True]


def test_an_unpaid_invoice_is_a_sale_and_an_unpaid_order_is_not():
    _, kinds = read(Invoice_Status=["Paid", "Unpaid", "Void"])
    assert kinds.no_sale.tolist() == [False, False, True]
    _, kinds = read(Invoice_Number=["I1", "I2"], Status=["Paid", "Unpaid"])
    assert not kinds.no_sale.any()
    _, kinds = read(Invoice_Number=["I1", "I2"], Order_ID=["1", "2"], Status=["Paid", "Unpaid"])
    assert kinds.no_sale.tolist() == [False, True]


def test_a_payment_beside_invoices_is_no_further_sale():
    _, kinds = read(Type=["Invoice", "Payment", "Estimate", "Credit Memo"])
    assert kinds.no_sale.tolist() == [False, True, True, False]
    _, kinds = read(Type=["Payment", "Refund"])
    assert not kinds.no_sale.any()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("Voided", ["false", "true"], [False, True]),
        ("Is Cancelled", [0, 1], [False, True]),
        ("Test", ["No", "Yes"], [False, True]),
        ("is_test", [False, True], [False, True]),
        ("test_mode", [False, True], [False, True]),
        ("Cancelled at", [None, "2026-08-14 10:00"], [False, True]),
        ("Void Date", ["0000-00-00", "08/14/2026"], [False, True]),
        ("Voided", [0, 3], [False, False]),  # pieces
        ("Lineitem cancelled at", [None, "2026-08-14"], [False, False]),
    ],
)
def test_yes_and_the_moment_of_a_cancellation_say_it_too(name, values, expected):
    frame = pd.DataFrame({name: values})
    assert row_kinds(frame, find_kinds(frame)).no_sale.tolist() == expected


@pytest.mark.parametrize(
    ("name", "values"), [("Is Refund", [0, 1]), ("Return", ["N", "Y"]), ("refund", [False, True])]
)
def test_yes_in_a_column_of_refunds_is_a_refund(name, values):
    frame = pd.DataFrame({name: values})
    kinds = row_kinds(frame, find_kinds(frame), np.full(2, CENTS))
    assert kinds.refund.tolist() == [False, True]
    assert kinds.counts.question().columns == (name,)


@pytest.mark.parametrize(("name", "no", "yes"), [("Refunded", "no", "yes"), ("Refunded?", 0, 1)])
def test_yes_in_a_column_of_refunded_sales_leaves_them_sales(name, no, yes):
    frame = pd.DataFrame({"Type": ["Sale", "Sale"], name: [no, yes]})
    kinds = row_kinds(frame, find_kinds(frame), np.full(2, CENTS))
    assert kinds.counts.question() is None
    (line,) = kinds.counts.sentences()
    assert line.startswith(f"1 sale with '{yes}' in {name!r}")


def test_a_row_of_two_columns_that_say_refund_is_one_refund():
    _, kinds = read(Type=["Sale", "Refund"], Is_Refund=[0, 1], Status=["Paid", "Fully applied"])
    assert kinds.counts.sentences("add") == ["1 refund with 'Refund' in 'Type': counted as sales"]


def test_the_reason_of_a_cancellation_is_named_where_there_is_one():
    assert find_kinds(pd.DataFrame({"Cancel Reason": [None, "changed mind"]})).sentences() == [
        "'Cancel Reason' was not used: it is about cancellations"
    ]
    assert find_kinds(pd.DataFrame({"Cancel Reason": [None]})).sentences() == []


def test_the_end_of_a_subscription_is_not_that_of_its_sales():
    frame = pd.DataFrame(
        {
            "Subscription ID": ["S1", "S2", "S3"],
            "Status": ["active", "canceled", "trialing"],
            "Cancelled at": [None, "2026-09-01", None],
        }
    )
    found = find_kinds(frame)
    assert found.used == ()
    assert found.sentences() == [
        "'Status' was not used: it may be about subscriptions (it has 'canceled')",
        "'Cancelled at' was not used: it may be about subscriptions",
    ]


def test_a_name_of_another_subject_is_used_where_all_its_words_are_known():
    _, kinds = read(Shopify_Status=["paid", "voided"])
    assert kinds.no_sale.tolist() == [False, True]
    found, kinds = read(Shopify_Status=["paid", "voided", "blue"])
    assert not kinds.no_sale.any()
    assert found.sentences() == [
        "'Shopify Status' was not used: its name does not say what it is about (it has 'voided')"
    ]


def test_further_rows_of_an_order_have_its_status():
    frame = pd.DataFrame({"Status": ["Voided", None, "Paid", None, None]})
    orders = np.array([0, 0, 1, 1, -1])
    kinds = row_kinds(frame, find_kinds(frame), np.full(5, CENTS), orders=lambda: orders)
    assert kinds.no_sale.tolist() == [True, True, False, False, False]


def test_a_row_that_two_columns_cancel_is_counted_once_and_further_rows_are_not():
    frame = pd.DataFrame(
        {
            "Payment Status": ["voided", "voided", "paid"],
            "Cancelled at": ["2026-08-14"] * 2 + [None],
        }
    )
    first = np.array([True, False, True])
    kinds = row_kinds(frame, find_kinds(frame), np.full(3, CENTS), counts_in=first)
    assert kinds.no_sale.tolist() == [True, True, False]
    assert kinds.counts.sentences() == [
        "1 row canceled or not paid by 'Payment Status' ('voided'): amount 0.00"
    ]


@pytest.mark.parametrize("dtype", ["object", "category", "string", "string[pyarrow]"])
def test_the_type_of_the_column_does_not_matter(dtype):
    frame = pd.DataFrame({"Status": pd.Series(["paid", "VOID", None], dtype=dtype)})
    assert row_kinds(frame, find_kinds(frame)).no_sale.tolist() == [False, True, False]


def test_two_columns_of_one_name_are_not_read():
    frame = pd.DataFrame([["paid", "void"]], columns=["Status", "Status"])
    assert find_kinds(frame).used == ()


WORDS = ["paid", "voided", "Pending", "refunded", "Refund", None]


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.integers(-500, 500)), min_size=1, max_size=30),
    st.integers(1, 7),
    st.sampled_from(["subtract", "add", "leave"]),
)
@examples(15, of=60)
def test_slices_of_a_file_give_what_the_whole_gives(rows, size, answer):
    frame = pd.DataFrame({"Status": [word for word, _ in rows]}, dtype=object)
    cents = np.array([amount for _, amount in rows])
    found = find_kinds(frame)
    whole = row_kinds(frame, found, cents)
    counts, amounts = KindCounts(), []
    for start in range(0, len(frame), size):
        part = row_kinds(frame.iloc[start : start + size], found, cents[start : start + size])
        counts.add(part.counts)
        amounts += signed(cents[start : start + size], part, answer).tolist()
    assert amounts == signed(cents, whole, answer).tolist()
    assert counts == whole.counts
    assert counts.cents == sum(a for word, a in rows if word == "Refund" and a > 0)


@given(st.text(max_size=20))
def test_any_text_is_judged(text):
    for reads in ("status", "type", "flag", "moment"):
        KindColumn("x", reads).judge(text)


@pytest.mark.parametrize("quantities", [[-1, 1], ["-1", "1"], ["(1)", "1"], [-1.0, None]])
def test_a_negative_quantity_beside_a_positive_amount_is_asked_about(quantities):
    _, kinds = read(Qty=quantities)
    assert kinds.refund.tolist() == [True, False]
    assert kinds.counts.question().argument == "refunds"
    assert signed(np.array([CENTS, CENTS]), kinds, "subtract").tolist() == [-CENTS, CENTS]


def test_a_negative_quantity_with_a_negative_amount_changes_nothing():
    _, kinds = read([-CENTS, CENTS], Qty=[-1, 1])
    assert not kinds.refund.any()


@pytest.mark.parametrize(
    ("name", "quantities"),
    [("Qty", [1, 2]), ("Stock Qty", [-1, 2]), ("Qty change", [-1, 1]), ("Amount", [-1, 1])],
)
def test_other_quantities_are_no_refunds(name, quantities):
    found, kinds = read(**{name: quantities})
    assert not kinds.refund.any()
    assert not found.used


def test_a_return_by_its_quantity_is_a_question_of_the_tax_and_not_of_price_x_quantity():
    place = {"State": "WA", "Zip": "98101", "Order Date": "2026-08-14", "combined_rate": "0.10550"}
    place["lookup_status"] = "ok"
    own = pd.DataFrame({"Order": ["1", "2"], "Qty": ["-1", "1"], "Amount": ["100", "50"]})
    with pytest.raises(ColumnAmbiguous) as caught:
        own.assign(**place).svc.tax(progress=False)
    assert [one.argument for one in caught.value.questions] == ["refunds"]
    taxed = own.assign(**place).svc.tax(refunds="subtract", progress=False)
    assert taxed["tax"].astype(str).tolist() == ["-10.55", "5.28"]
    priced = pd.DataFrame({"Qty": ["-1", "1", "2"], "Unit Price": ["100.50", "50.40", "7.10"]})
    taxed = priced.assign(**place).svc.tax(progress=False)
    assert taxed["taxable_amount"].astype(str).tolist() == ["-100.50", "50.40", "14.20"]


def test_a_return_by_its_quantity_far_down_in_a_large_frame_is_asked_about_too():
    size = 60_000  # orders of two rows, of which a part decides what the columns mean
    frame = pd.DataFrame(
        {
            "Order": np.arange(size) // 2,
            "Qty": 1,
            "Amount": np.where(np.arange(size) % 2, 100, 50),
            "State": "WA",
            "Zip": "98101",
            "Order Date": "2026-08-14",
            "combined_rate": "0.10550",
            "lookup_status": "ok",
        }
    )
    for row in (12_346, 59_001):
        late = frame.assign(Qty=np.where(np.arange(size) == row, -1, 1))
        with pytest.raises(ColumnAmbiguous) as caught:
            late.svc.tax(progress=False)
        assert [one.argument for one in caught.value.questions] == ["refunds"]


@pytest.mark.parametrize("tax", [{}, {"amount": "Amount"}])
def test_a_return_by_its_quantity_far_down_in_a_file_is_asked_about_too(
    embedded, tmp_path, monkeypatch, tax
):
    monkeypatch.setattr("svc_tools.frames.files.job.DECIDING_ROWS", 5)
    monkeypatch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", 5)
    rows = pd.DataFrame(
        {
            "Order": np.arange(30).astype(str),
            "Qty": np.where(np.arange(30) == 22, "-1", "1"),
            "Amount": "100.00",
            "State": "WA",
            "Zip": "98101",
            "Order Date": "2026-08-14",
        }
    )
    rows.to_parquet(tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    run = {"client": embedded, "cache": False}
    with pytest.raises(ColumnAmbiguous) as caught:
        enrich_file(tmp_path / "in.parquet", out, tax=tax, **run)
    assert [one.argument for one in caught.value.questions] == ["refunds"]
    assert not out.exists()

    enrich_file(tmp_path / "in.parquet", out, tax={**tax, "refunds": "subtract"}, **run)

    taxed = pd.read_parquet(out)["tax"].astype(str)
    assert taxed[22] == f"-{taxed[0]}"


def test_two_columns_of_quantities_of_one_name_break_no_large_frame():
    size = 30_000
    frame = pd.DataFrame(
        {
            "Qty": 1,
            "Amount": 100,
            "State": "WA",
            "Zip": "98101",
            "combined_rate": "0.10550",
            "lookup_status": "ok",
        },
        index=range(size),
    )
    taxed = pd.concat([frame, frame[["Qty"]]], axis=1).svc.tax(progress=False)
    assert taxed["tax"].astype(str).unique().tolist() == ["10.55"]
