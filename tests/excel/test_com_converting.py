"""Cells as COM hands them over, and results as it can carry them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.excel.com.converting import TEXT_LIMIT, cut, from_com, to_com
from svc_tools.excel.values import OMITTED, BadValueError, ErrorCell, NotAvailableError

FIRST_ERROR = -2146828288
NOON = datetime(2026, 5, 1, 12)  # noqa: DTZ001 - a cell's day has no zone


@pytest.mark.parametrize(
    ("number", "text"),
    [(2007, "#DIV/0!"), (2042, "#N/A"), (2045, "#SPILL!"), (2050, "#CALC!"), (2099, "#ERROR2099")],
)
def test_an_error_value_is_an_error_also_where_xlwings_does_not_know_it(number, text):
    assert from_com([[FIRST_ERROR + number]]) == ErrorCell(text)


def test_one_cell_is_a_scalar_and_several_are_rows():
    assert from_com([["TX"]]) == "TX"
    assert from_com([["TX", None]]) == [["TX", None]]
    assert from_com([["TX"], [94105.0]]) == [["TX"], [94105.0]]
    assert from_com(OMITTED) is OMITTED


def test_what_a_cell_holds_arrives_as_it_is():
    assert from_com([[True]]) is True
    assert from_com([[NOON]]) == NOON
    assert from_com([[7]]) == 7.0
    amount = from_com([[Decimal("19.9900")]])  # of a cell formatted as currency
    assert (amount, type(amount)) == (19.99, float)


def test_an_empty_cell_goes_out_as_an_empty_text_and_never_as_0():
    assert to_com(None) == ""
    assert to_com([[None, 0.0825]]) == [["", 0.0825]]


def test_errors_go_out_as_their_text():
    assert to_com(NotAvailableError("nothing found.", "UNRESOLVED")) == "#UNRESOLVED nothing found."
    assert to_com([[BadValueError("no state.")]]) == [["#INVALID no state."]]


def test_numbers_go_out_as_doubles_and_truth_values_as_they_are():
    assert [type(cell) for cell in to_com([[1, True, 2.5]])[0]] == [float, bool, float]


@pytest.mark.parametrize("value", [Decimal("0.08625"), NOON.date(), b"x"])
def test_what_com_would_change_is_refused(value):
    with pytest.raises(TypeError, match=type(value).__name__):
        to_com([[value]])


def test_a_long_text_is_cut_where_excel_would_refuse_it():
    assert to_com("a" * 300) == "a" * 300
    assert to_com([["a" * 300]]) == [["a" * 254 + "…"]]
    assert len(to_com("a" * 40_000)) == TEXT_LIMIT


@given(st.text(max_size=40), st.integers(1, 20))
def test_a_cut_text_has_at_most_as_many_characters_as_excel_counts(text, limit):
    found = cut(text, limit)
    assert len(found.encode("utf-16-le", "replace")) <= 2 * limit
    assert found == text or (found.endswith("…") and text.startswith(found[:-1]))
