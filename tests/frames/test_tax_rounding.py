"""Rounding of a tax: by line, shared out by level, once per invoice."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import dollars, found, rated, tax_of

from svc_tools.frames.taxes.invoices import shared_out, tax_by_invoice
from svc_tools.frames.values.rounding import rounded_tax
from svc_tools.lookup.options import ROUNDINGS

MODES = {
    "half_up": decimal.ROUND_HALF_UP,
    "half_even": decimal.ROUND_HALF_EVEN,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
}


ROWS = st.lists(
    st.tuples(st.integers(-(10**9), 10**9), st.tuples(*[st.integers(0, 9_000) | st.just(0)] * 4)),
    min_size=1,
    max_size=40,
)


@given(ROWS, st.sampled_from(ROUNDINGS))
def test_levels_add_up_and_are_neighbours_of_their_exact_figure(rows, rounding):
    cents = np.array([row[0] for row in rows], np.int64)
    levels = [np.array([row[1][level] for row in rows], np.int64) for level in range(4)]
    parts = [cents * level for level in levels]
    tax = rounded_tax(cents, sum(levels), rounding)
    shares = shared_out(tax, parts)
    assert sum(shares).tolist() == tax.tolist()
    for share, part in zip(shares, parts, strict=True):
        assert (np.abs(share * 100_000 - part) < 100_000).all()
        assert (share[part == 0] == 0).all()  # nothing for a level without a rate
    mirrored = shared_out(-tax, [-part for part in parts])
    assert [(-share).tolist() for share in mirrored] == [share.tolist() for share in shares]


def test_several_candidates_put_dollars_at_stake():
    result = tax_of(
        ["100.00", "100.00", "-100.00"],
        combined_rate="0.08000",
        rate_low=["0.06000", None, "0.06000"],
        rate_high=["0.08500", None, "0.08500"],
    )
    assert found(result, "tax_low") == dollars(["6.00", "8.00", "-6.00"])
    assert found(result, "tax_high") == dollars(["8.50", "8.00", "-8.50"])
    assert found(result, "at_stake") == dollars(["2.50", "0.00", "2.50"])


CENT = Decimal("1e5")  # in units of 10^-7 dollars


PRODUCTS = st.tuples(st.integers(-(10**13), 10**13), st.integers(0, 99_999))


@pytest.fixture(scope="module")
def many():
    """Two hundred thousand rows with ties (whole dollars and halves at round rates) and refunds."""
    random = np.random.default_rng(20_261)
    cents = random.integers(-3_000_000, 20_000_000, 200_000)
    cents[::3] = cents[::3] // 100 * 100 + 50
    units = random.integers(0, 100_000, 200_000)
    units[::3] = units[::3] // 125 * 125
    products = cents * units
    assert np.count_nonzero(np.abs(products) % 100_000 == 50_000) > 3_000
    assert np.count_nonzero(products < 0) > 20_000
    return cents, units, [Decimal(product) for product in products.tolist()]


@pytest.mark.parametrize("rounding", MODES)
def test_many_rows_with_ties_and_refunds_are_what_decimal_says(many, rounding):
    cents, units, products = many
    mode = MODES[rounding]
    expected = [int(product.quantize(CENT, mode)) for product in products]
    assert (rounded_tax(cents, units, rounding) * 100_000).tolist() == expected


@given(st.lists(PRODUCTS, min_size=1, max_size=40), st.sampled_from(sorted(MODES)))
def test_any_row_is_what_decimal_says(pairs, rounding):
    cents, units = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    expected = [
        int((Decimal(one) * Decimal(rate)).quantize(CENT, MODES[rounding])) // 100_000
        for one, rate in pairs
    ]
    assert rounded_tax(cents, units, rounding).tolist() == expected
    assert (-rounded_tax(-cents, units, rounding)).tolist() == expected  # refunds mirror sales


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("half_up", ["0.35", "0.18", "0.01", "0.01", "-0.35", "-0.18", "-0.01", "-0.01"]),
        ("half_even", ["0.34", "0.18", "0.01", "0.01", "-0.34", "-0.18", "-0.01", "-0.01"]),
        ("up", ["0.35", "0.18", "0.02", "0.01", "-0.35", "-0.18", "-0.02", "-0.01"]),
        ("down", ["0.34", "0.17", "0.01", "0.00", "-0.34", "-0.17", "-0.01", "0.00"]),
    ],
)
def test_each_mode_in_a_frame(rounding, expected):
    # exactly 0.345, 0.175, 0.011, 0.0086 and their refunds
    amounts = ["4.00", "1.75", "0.11", "0.10", "-4.00", "-1.75", "-0.11", "-0.10"]
    rates = ["0.08625", "0.10000", "0.10000", "0.08600"] * 2
    result = tax_of(amounts, {"rounding": rounding}, combined_rate=rates)
    assert found(result, "tax") == dollars(expected)
    assert result.attrs["svc"]["terms"][""]["rounding"] == rounding


def test_a_rounding_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="rounding") as refused:
        rated(amount=[1]).svc.tax(rounding="bankers")
    assert all(repr(one) in str(refused.value) for one in ("bankers", *ROUNDINGS))


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
    assert result.attrs["svc"]["terms"][""]["invoice"] == "order"


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


def test_an_invoice_column_must_be_there():
    with pytest.raises(ValueError, match="invoice='…'"):
        rated(amount=[1]).svc.tax(invoice="order")
