"""Rows of totals in any file: no sales, found by a word or by the sums above them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.frames.orders.total_rows import TotalRows
from svc_tools.frames.values.money import Money

PLACE = ("Date", "Zip")
COLUMNS = ["Order ID", "Customer", "Date", "Zip", "Amount"]


def sale(number, cents, customer="Ann Roe"):
    return (number, customer, "2026-08-14", "98101", cents)


def extra(cents, number=None, customer=None, date=None, place=None):
    return (number, customer, date, place, cents)


def totals(rows, number="Order ID", others=PLACE, size=None, columns=COLUMNS):
    """The rows of totals among these, read in slices of a size."""
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    found, state = [], TotalRows(number, others)
    for start in range(0, len(frame), size or max(len(frame), 1)):
        part = frame.iloc[start : start + (size or len(frame))]
        missing = part["Amount"].isna().to_numpy()
        cents = np.array([0 if pd.isna(one) else one for one in part["Amount"]], np.int64)
        found += state.take(part, {"Amount": Money(cents, missing)}).tolist()
    assert state.found == sum(found)
    return [row for row, is_total in enumerate(found) if is_total]


@pytest.mark.parametrize(
    "word",
    [
        *("Total", "TOTAL", "Totals", "Total:", "Grand total", "Grand Total:", "Subtotal"),
        *("Sub-Total", "sub total", "Sum", "Report Total", "Net total"),
    ],
)
def test_a_word_as_the_whole_text_of_a_cell_is_a_total(word):
    rows = [sale("1", 100), sale("2", 200), extra(999, customer=word), sale("3", 50)]
    assert totals(rows) == [2]
    assert totals([*rows[:2], extra(999, number=word)]) == [2]  # in the column of the numbers


@pytest.mark.parametrize("word", ["Ohio Total", "1001 Total", "Total for August", "Subtotal of 1"])
def test_a_longer_text_is_a_total_where_it_stands_alone_or_the_amounts_add_up(word):
    rows = [sale("1", 100), sale("2", 200)]
    assert totals([*rows, extra(300, customer=word, place="43215")]) == [2]
    assert totals([*rows, extra(999, customer=word)]) == [2]
    assert totals([*rows, extra(999, customer=word, date="2026-08-14", place="43215")]) == []


@pytest.mark.parametrize(
    "word",
    [
        *(
            "Total WA",
            "TOTAL - WA",
            "Total Washington",
            "Total: Ohio",
            "Total (OH)",
            "Total Aug 14",
        ),
        *("Total August", "Total 2026-08-14", "WA Total Sales", "Total orders", "Daily Total"),
        *("Grand Total", "Total Q3", "Subtotal WA"),
    ],
)
def test_a_total_of_a_state_or_a_time_counts_with_day_and_place_where_the_amounts_add_up(word):
    rows = [sale("1", 100), sale("2", 200)]
    assert totals([*rows, sale(None, 300, word)]) == [2]
    assert totals([*rows, sale(word, 300)]) == [2]
    assert totals([*rows, sale(None, 299, word)]) == []
    assert totals([*rows, sale("3", 300, word)]) == []


def test_amounts_that_are_the_sum_of_the_rows_above_are_a_total():
    rows = [sale("1", 100), sale("2", 200), extra(300), sale("3", 50), sale("4", 7), extra(57)]
    assert totals(rows) == [2, 5]
    assert totals([*rows, extra(357)]) == [2, 5, 6]  # of all rows
    assert totals([*rows, extra(358)]) == [2, 5]


@pytest.mark.parametrize(
    "row",
    [
        sale("3", 300, "Total Fitness"),
        sale(None, 300, "Total Fitness"),
        sale(None, 300, "Total Wine"),
        sale("3", 300, "Total"),  # it has a number
        sale(None, 299, "Total"),  # a day and a place, and no sum
        extra(300, customer="Total Fitness"),
        extra(299, customer="Bob"),
        extra(300, customer="Lamp"),  # a further item of the order above
        extra(300, date="2026-08-14"),
        extra(300, place="98101"),
        extra(0),
        extra(None),
    ],
)
def test_innocent_rows_are_sales(row):
    assert totals([sale("1", 100), sale("2", 200), row]) == []


def test_a_file_without_numbers_has_totals_without_day_and_place():
    rows = [sale(None, 100), sale(None, 200)]
    assert totals([*rows, extra(300)], number=None) == [2]
    assert totals([*rows, extra(299, customer="Total")], number=None) == [2]
    assert totals([*rows, sale(None, 300, "Total")], number=None) == []


def test_a_file_with_neither_numbers_nor_days_nor_places_needs_word_and_sum():
    rows = [sale("1", 100), sale("2", 200)]
    for row, expected in (
        (extra(300, customer="Total"), [2]),
        (extra(299, customer="Total"), []),
        (extra(300), []),
        (extra(300, customer="Total Fitness"), []),
    ):
        assert totals([*rows, row], number=None, others=()) == expected


def test_all_amounts_of_the_row_must_add_up():
    frame = pd.DataFrame({"Order ID": ["1", "2", None], "Tax": [1, 2, 3], "Amount": [10, 20, 31]})
    for amount, expected in ((30, True), (31, False)):
        frame.loc[2, "Amount"] = amount
        money = {
            label: Money(frame[label].to_numpy("int64"), np.zeros(3, bool))
            for label in ("Tax", "Amount")
        }
        assert TotalRows("Order ID").take(frame, money)[2] == expected


def test_sums_are_exact_where_64_bits_are_not_enough():
    most = 9 * 10**16
    rows = [sale(str(at), most) for at in range(110)]
    wrapped = (110 * most) % 2**64
    frame = [*rows, extra(wrapped - 2**64 if wrapped >= 2**63 else wrapped)]
    assert totals(frame) == []


def test_cells_that_hold_lists_are_text():
    rows = [sale("1", 5), (None, ["Lamp"], None, None, 5), (None, ["Total"], None, None, 5)]
    assert totals(rows) == []


def test_it_says_how_many_there_were():
    frame = pd.DataFrame([sale("1", 5), sale("2", 7), extra(12)], columns=COLUMNS)
    state = TotalRows("Order ID", PLACE)
    assert state.sentences() == []
    state.take(frame, {"Amount": Money(np.array([5, 7, 12]), np.zeros(3, bool))})
    assert state.sentences() == ["1 row of totals: no sales"]


def test_what_one_sale_above_has_is_no_total():
    """Two sales of one price, and the second one lacks its number and place."""
    assert totals([sale("1", 5), extra(5)]) == []
    assert totals([sale("1", 5), sale("2", 0), extra(5)]) == []
    assert totals([sale("1", 5), extra(5, customer="Total")]) == [1]


def with_totals(groups, style):
    """Groups of sales, each with its total, and a grand total; and which rows are totals."""
    rows, expected = [], []
    for at, group in enumerate(groups):
        rows += [sale(f"{at}-{row}", cents) for row, cents in enumerate(group)]
        expected.append(len(rows))
        rows.append(extra(sum(group), customer="Subtotal" if style == "word" else None))
    expected.append(len(rows))
    rows.append(extra(sum(map(sum, groups)), customer="Total" if style == "word" else None))
    return rows, expected


@given(
    st.lists(st.lists(st.integers(1, 99_999), min_size=2, max_size=5), min_size=1, max_size=5),
    st.sampled_from(["word", "sum"]),
    st.integers(1, 6),
)
@examples(15, of=60)
def test_every_total_and_no_sale_is_found_in_every_slice(groups, style, size):
    rows, expected = with_totals(groups, style)
    assert totals(rows) == expected
    assert totals(rows, size=size) == expected


@given(st.lists(st.tuples(st.booleans(), st.integers(-50, 50)), max_size=20), st.integers(1, 6))
@examples(15, of=60)
def test_slices_give_what_the_whole_gives(drawn, size):
    rows = [extra(cents) if blank else sale("1", cents) for blank, cents in drawn]
    assert totals(rows, size=size) == totals(rows)
