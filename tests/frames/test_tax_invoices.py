"""Tax rounded once per invoice: the lines add up, whatever their order, refunds mirror sales."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import dollars, found, rated, tax_of

from svc_tools.frames.taxes.invoices import tax_by_invoice

MODES = {
    "half_up": decimal.ROUND_HALF_UP,
    "half_even": decimal.ROUND_HALF_EVEN,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
}
LINES = st.lists(
    st.tuples(
        st.integers(-40_000, 200_000) | st.integers(-20, 60).map(lambda nickel: 5 * nickel),
        st.sampled_from([0, 2_500, 5_000, 6_625, 8_250, 10_000, 12_345]),  # round: equal fractions
        st.integers(0, 6),  # invoice
    ),
    min_size=1,
    max_size=40,
)


def lines_tax(lines, rounding="half_up"):
    cents, units, codes = (np.array(side, np.int64) for side in zip(*lines, strict=True))
    tax, too_large = tax_by_invoice(cents * units, units, codes, rounding)
    assert not too_large.any()
    return tax.tolist()


@given(LINES, st.sampled_from(sorted(MODES)))
def test_the_lines_of_an_invoice_add_up_to_its_sum_rounded_once(lines, rounding):
    tax = lines_tax(lines, rounding)
    for invoice in {line[2] for line in lines}:
        exact = sum(cents * units for cents, units, code in lines if code == invoice)
        expected = int(Decimal(exact).quantize(Decimal("1e5"), MODES[rounding])) // 100_000
        assert sum(t for t, line in zip(tax, lines, strict=True) if line[2] == invoice) == expected
    for (cents, units, _), cent in zip(lines, tax, strict=True):
        assert abs(cent * 100_000 - cents * units) < 100_000  # a neighbouring cent


@given(LINES, st.sampled_from(sorted(MODES)))
def test_the_cents_left_over_go_to_the_largest_fractions(lines, rounding):
    tax = lines_tax(lines, rounding)
    for invoice in {line[2] for line in lines}:
        here = [place for place, line in enumerate(lines) if line[2] == invoice]
        exact = {place: lines[place][0] * lines[place][1] for place in here}
        sign = -1 if sum(exact.values()) < 0 else 1
        left = sum(tax[place] * sign - exact[place] * sign // 100_000 for place in here)
        ranked = sorted(
            here,
            key=lambda place: (
                -(exact[place] * sign % 100_000),
                -exact[place] * sign,
                -lines[place][1],
                place,
            ),
        )
        for rank, place in enumerate(ranked):
            share = exact[place] * sign // 100_000 + (rank < left)
            assert tax[place] == share * sign


@given(LINES, st.sampled_from(sorted(MODES)))
def test_refunded_invoices_mirror_their_sales_line_by_line(lines, rounding):
    sums = {}
    for cents, units, invoice in lines:
        sums[invoice] = sums.get(invoice, 0) + cents * units
    lines = [line for line in lines if sums[line[2]]]  # of nothing there is no refund
    if lines:
        refunds = [(-cents, units, invoice) for cents, units, invoice in lines]
        assert lines_tax(refunds, rounding) == [-cent for cent in lines_tax(lines, rounding)]


@given(LINES, st.randoms())
def test_the_order_of_the_rows_does_not_matter(lines, shuffled):
    order = list(range(len(lines)))
    shuffled.shuffle(order)
    mixed = [lines[place] for place in order]
    one = sorted(zip(lines, lines_tax(lines), strict=True))
    other = sorted(zip(mixed, lines_tax(mixed), strict=True))
    assert one == other


def test_an_invoice_is_rounded_once():
    amounts = ["1.00", "1.00", "1.00", "0.06"]
    by_row = tax_of(amounts, combined_rate="0.08500")
    assert found(by_row, "tax") == dollars(["0.09", "0.09", "0.09", "0.01"])  # 0.28
    result = tax_of(amounts, {"invoice": "order"}, combined_rate="0.08500", order="A1")
    assert found(result, "tax") == dollars(["0.09", "0.08", "0.08", "0.01"])  # 0.2601
    assert result.attrs["svc_tax_terms"][""]["invoice"] == "order"


def test_rows_that_name_no_invoice_are_invoices_of_their_own():
    order = ["A", None, " ", "A", None, " "]
    result = tax_of(["0.06"] * 6, {"invoice": "order"}, order=order)  # 0.00495 each
    assert found(result, "tax") == dollars(["0.01", "0.00", "0.00", "0.00", "0.00", "0.00"])
    assert result["tax_review"].isna().all()


def test_an_invoice_with_a_line_without_tax_says_so_on_its_other_lines():
    result = tax_of(
        ["10.00", "ten", "10.00", "1.00"],
        {"invoice": "order"},
        order=["A", "A", "B", None],
        lookup_status=["ok", "ok", "ok", "ok"],
    )
    assert found(result, "tax_review") == ["invoice_incomplete", None, None, None]
    assert found(result, "tax") == dollars(["0.83", None, "0.83", "0.08"])


@pytest.mark.parametrize(
    "order",
    [
        pd.Series([1, 1, 2]),
        pd.Series(["1", "1", "2"], dtype="category"),
        pd.Series(pd.to_datetime(["2026-05-01", "2026-05-01", "2026-05-02"])),
        pd.Series(["a", "a", "b"], dtype="string[pyarrow]"),
    ],
    ids=lambda order: str(order.dtype),
)
def test_invoices_of_every_kind(order):
    result = tax_of(["0.06", "0.06", "0.06"], {"invoice": "order"}, order=order)
    assert found(result, "tax") == dollars(["0.01", "0.00", "0.00"])


def test_an_invoice_too_large_to_add_up_loses_only_its_own_rows():
    rows = 300
    amounts = ["900000000000.00"] * rows + ["10.00"]
    result = tax_of(
        amounts, {"invoice": "order"}, order=["A"] * rows + ["B"], combined_rate="0.50000"
    )
    assert result["tax"].isna().tolist() == [True] * rows + [False]
    assert result["tax_error"].iloc[0] == "invoice: its lines are too large together for exact tax"


def test_an_invoice_column_must_be_there_and_be_plain():
    with pytest.raises(ValueError, match="invoice='…'"):
        rated(amount=[1]).svc.tax(invoice="order")
    with pytest.raises(TypeError, match="invoice: column 'order'"):
        rated(amount=[1, 2], order=[[1], [2]]).svc.tax(invoice="order")
