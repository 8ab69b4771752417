"""What an order is in a file that is no known export: its number, its day and its place."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.frames.orders.order_numbers import (
    OrderColumns,
    by_order,
    find_order,
    order_hashes,
    order_rows,
)

NUMBERS = ["A-1001", "A-1001", "A-1002", "A-1003"]


def codes(frame, columns):
    orders = order_rows(frame, columns)
    return None if orders is None else orders.tolist()


@pytest.mark.parametrize(
    "name",
    [
        *("Order ID", "Order Number", "Order #", "order_no", "OrderNo", "orderid", "Order"),
        *("Sales Order Number", "Sale ID", "Transaction ID", "Txn Ref", "Receipt Number"),
        *("Check #", "Amazon Order Id", "Order Reference", "Sales Receipt No", "Order Name"),
    ],
)
def test_the_number_of_an_order_sale_or_transaction_is_found(name):
    frame = pd.DataFrame({"Customer ID": ["C1"] * 4, "SKU": ["X1"] * 4, name: NUMBERS})
    assert find_order(frame).number == name


@pytest.mark.parametrize(
    "name",
    [
        *("Customer ID", "Subscription ID", "SKU", "Item #", "Line No", "Order Line ID", "Name"),
        *("Order Item ID", "Original Order ID", "Order Date", "Order Total", "Number of Orders"),
        *("Order Count", "Tracking Number", "Customer Order No", "Card Name", "#", "Order Notes"),
    ],
)
def test_the_number_of_something_else_is_never_that_of_an_order(name):
    assert find_order(pd.DataFrame({name: NUMBERS})).number is None


NOT_OF_ORDERS = [
    "Invoice Number",
    "Payment ID",
    "Stripe Charge ID",
    "PO Number",
    "Gateway Transaction ID",
]


@pytest.mark.parametrize("name", NOT_OF_ORDERS)
def test_the_number_of_an_invoice_or_payment_is_none_of_an_order(name):
    assert find_order(pd.DataFrame({name: NUMBERS})).number is None
    both = pd.DataFrame({name: NUMBERS, "Order ID": ["1", "1", "2", "2"]})
    found = find_order(both)
    assert (found.number, found.question) == ("Order ID", None)


@pytest.mark.parametrize(
    ("values", "is_number"),
    [
        ([1001, 1001, 1002, 1003], True),
        ([1001.0, 1001.0, None, 1003.0], True),
        (["#1001", "#1001", "#1002", None], True),
        (["first", "repeat", "repeat", "first"], False),
        ([12.5, 99.95, 12.5, 7.25], False),
        (["2026-08-14", "2026-08-14", "2026-08-15", "2026-08-16"], False),
        ([None, None, None, "7"], False),
        ([None] * 4, False),
    ],
)
def test_the_column_holds_numbers_in_most_rows(values, is_number):
    assert find_order(pd.DataFrame({"Order": values})).number == ("Order" if is_number else None)


def test_where_no_number_repeats_each_row_is_an_order():
    frame = pd.DataFrame({"Order ID": ["1", "2", None, None]})
    assert order_rows(frame, find_order(frame)) is None
    assert order_rows(frame, OrderColumns()) is None


def test_numbers_that_begin_anew_each_year_are_different_orders():
    frame = pd.DataFrame(
        {"Order ID": [1, 1, 1], "Date": ["2025-01-02 10:00", "2026-01-02", "2026-01-02 11:30"]}
    )
    assert codes(frame, find_order(frame, "Date")) == [0, 1, 1]


def test_a_subscription_of_one_price_on_three_days_is_three_sales():
    frame = pd.DataFrame(
        {
            "Order ID": ["S-1"] * 3,
            "Date": pd.to_datetime(["2026-08-01", "2026-09-01", "2026-10-01"]),
        }
    )
    assert codes(frame, find_order(frame, "Date")) == [0, 1, 2]


def test_one_number_in_two_stores_or_places_is_two_orders():
    frame = pd.DataFrame(
        {"Receipt Number": [7, 7, 7], "State": ["OH"] * 3, "Store": ["North", "South", "North"]}
    )
    found = find_order(frame, place=["State"])
    assert found.place == ("State", "Store")
    assert codes(frame, found) == [0, 1, 0]
    assert found.sentences() == [
        "rows with the same 'Receipt Number', 'State', 'Store' are one order"
    ]
    frame = pd.DataFrame({"Order ID": [7, 7, 8], "State": ["OH", "PA", "PA"]})
    assert codes(frame, find_order(frame, place=["State"])) == [0, 1, 2]


def test_a_row_without_day_or_place_belongs_to_the_order_of_its_number_above():
    frame = pd.DataFrame(
        {
            "Order ID": ["1", "1", "1", "1", "2", None, "2"],
            "Date": ["2025-08-14", None, "2026-08-14", " ", None, None, "2026-08-20"],
            "Zip": ["43215", None, "98101", None, None, None, "60601"],
        }
    )
    assert codes(frame, find_order(frame, "Date", ["Zip"])) == [0, 0, 1, 1, 2, -1, 2]


@pytest.mark.parametrize(
    "values",
    [
        [12, 12, 13],
        [12.0, 12.0, 13.0],
        ["12", " 12", "13"],
        ["12", 12.0, 13],
        [12, "12.0", Decimal(13)],
        pd.array([12, 12, 13], "Int64"),
        pd.array([12, 12, 13], "int64[pyarrow]"),
        pd.Categorical(["12", "12", "13"]),
        pd.array(["12", "12", "13"], "string"),
    ],
)
def test_a_number_is_one_however_it_is_written_and_hashed_alike(values):
    frame = pd.DataFrame({"Order ID": values})
    columns = OrderColumns("Order ID")
    assert codes(frame, columns) == [0, 0, 1]
    texts = pd.DataFrame({"Order ID": ["12", "12", "13"]})
    assert order_hashes(frame, columns)[0].tolist() == order_hashes(texts, columns)[0].tolist()


@pytest.mark.parametrize(
    "day",
    [
        "2026-08-14",
        "2026-08-14 10:15:00",
        "2026-08-14T10:15",
        dt.date(2026, 8, 14),
        pd.Timestamp("2026-08-14 10:15"),
        pd.Timestamp("2026-08-14 23:15", tz="America/New_York"),
    ],
)
def test_a_day_is_one_whatever_its_time_and_type(day):
    columns = OrderColumns("Order ID", "Date")
    frame = pd.DataFrame({"Order ID": ["1", "1"], "Date": [day, day]})
    plain = pd.DataFrame({"Order ID": ["1"], "Date": ["2026-08-14"]})
    hashes, whole = order_hashes(frame, columns)
    assert codes(frame, columns) == [0, 0]
    assert whole.all()
    assert {*hashes.tolist()} == {*order_hashes(plain, columns)[0].tolist()}


def test_a_day_number_of_a_workbook_is_one_whatever_its_time():
    frame = pd.DataFrame({"Order ID": [1, 1, 1], "Date": [46248.25, 46248.75, 46249.25]})
    assert codes(frame, OrderColumns("Order ID", "Date")) == [0, 0, 1]


def test_cells_that_hold_lists_are_compared_as_texts():
    frame = pd.DataFrame({"Order ID": [["1"], ["1"], ["2"]]})
    assert codes(frame, OrderColumns("Order ID")) == [0, 0, 1]


def test_only_rows_with_number_day_and_place_have_a_hash_that_counts():
    columns = OrderColumns("Order ID", "Date", ("State", "Zip"))
    frame = pd.DataFrame(
        {
            "Order ID": ["1", "1", None, "1"],
            "Date": ["2026-08-14", None, "2026-08-14", "2026-08-14"],
            "State": ["OH", "OH", "OH", None],
            "Zip": [None, "43215", "43215", None],
        }
    )
    assert order_hashes(frame, columns)[1].tolist() == [True, False, False, False]


def test_two_numbers_that_part_the_rows_differently_are_a_question():
    frame = pd.DataFrame(
        {
            "Order ID": [1, 1, 2, 2],
            "Transaction ID": ["T1", "T2", "T2", "T1"],
            "Amount": [1, 2, 3, 4],
        }
    )
    question = find_order(frame).question
    assert question.role == question.argument == "order"
    assert question.columns == ("Order ID", "Transaction ID")
    assert question.values == ("Order ID", "Transaction ID", False)  # noqa: PD011 - no frame
    assert question.likely == "Order ID"
    assert find_order(frame, given="Transaction ID") == OrderColumns("Transaction ID")
    assert find_order(frame, given=False).number is None


@pytest.mark.parametrize(
    ("orders", "transactions", "asked"),
    [
        ([1, 1, 2], ["a", "a", "b"], False),  # alike
        ([1, 1, 2, 3], ["a", "a", None, None], False),
        ([1, 1, 2], ["a", "b", "c"], False),  # each row has a transaction of its own
        ([1, 2, 3], ["a", "a", "b"], True),  # the order's number may be that of its line
        ([1, 2, 3], ["a", "b", "c"], False),
        ([1, 1, 1], ["a", "a", "b"], True),
    ],
)
def test_numbers_are_asked_about_only_where_it_matters(orders, transactions, asked):
    frame = pd.DataFrame(
        {"Order ID": orders, "Transaction ID": [t and f"T{t}1" for t in transactions]}
    )
    found = find_order(frame)
    assert (found.question is not None) == asked


def test_day_and_place_may_part_the_rows_alike_where_numbers_do_not():
    frame = pd.DataFrame(
        {
            "Order ID": [1, 1, 1],
            "Receipt Number": [8, 8, 9],
            "Date": ["2025-08-14", "2025-08-14", "2026-08-14"],
        }
    )
    assert find_order(frame).question is not None
    assert find_order(frame, "Date").question is None


def test_empty_cells_have_the_code_of_the_first_row_of_their_order():
    codes_of_cells = np.array([-1, 3, -1, 5, 4, -1, -1])
    orders = np.array([0, 0, 0, 0, 1, 1, -1])
    assert by_order(codes_of_cells, lambda: orders).tolist() == [3, 3, 3, 5, 4, 4, -1]


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "3", None]),
        st.sampled_from(["2025-08-14", "2026-08-14"]),
        st.sampled_from(["OH", "PA", None]),
    ),
    min_size=1,
    max_size=25,
)


@given(ROWS, st.integers(1, 8))
@examples(20, of=80)
def test_codes_and_hashes_say_the_same_in_every_slice(rows, size):
    frame = pd.DataFrame(rows, columns=["Order ID", "Date", "State"], dtype=object)
    columns = OrderColumns("Order ID", "Date", ("State",))
    orders = order_rows(frame, columns)
    parts = [order_hashes(frame.iloc[at : at + size], columns) for at in range(0, len(frame), size)]
    hashes = np.concatenate([part[0] for part in parts])
    whole = np.concatenate([part[1] for part in parts])
    assert whole.tolist() == [None not in row for row in rows]
    if orders is None:
        orders = np.array([-1 if row[0] is None else at for at, row in enumerate(rows)])
    assert (orders < 0).tolist() == [row[0] is None for row in rows]
    for left in np.flatnonzero(whole):
        for right in np.flatnonzero(whole):
            same = rows[left] == rows[right]
            assert (orders[left] == orders[right]) == same
            assert (hashes[left] == hashes[right]) == same


@given(ROWS, st.randoms(use_true_random=False))
@examples(12, of=50)
def test_the_order_of_whole_rows_does_not_matter(rows, random):
    whole = [row for row in rows if None not in row]
    shuffled = random.sample(range(len(whole)), len(whole))
    frame = pd.DataFrame(whole, columns=["Order ID", "Date", "State"], dtype=object)
    columns = OrderColumns("Order ID", "Date", ("State",))
    one, other = order_rows(frame, columns), order_rows(frame.iloc[shuffled], columns)
    assert (one is None) == (other is None)
    if one is not None:
        assert pd.factorize(one[shuffled])[0].tolist() == pd.factorize(other)[0].tolist()
