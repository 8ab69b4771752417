"""Rounding: whole numbers against `decimal`, in every mode."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.looked_up import dollars, found, looked_up, taxed

from svc_tools.frames.taxes.rounding import ROUNDINGS, rounded_tax

MODES = {
    "half_up": decimal.ROUND_HALF_UP,
    "half_even": decimal.ROUND_HALF_EVEN,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
}
CENT = Decimal("1e5")  # in units of 10^-7 dollars
PRODUCTS = st.tuples(st.integers(-(10**13), 10**13), st.integers(0, 99_999))


@pytest.fixture(scope="module")
def million():
    """A million rows with ties (whole dollars and halves at round rates) and refunds."""
    random = np.random.default_rng(20_261)
    cents = random.integers(-3_000_000, 20_000_000, 1_000_000)
    cents[::3] = cents[::3] // 100 * 100 + 50
    units = random.integers(0, 100_000, 1_000_000)
    units[::3] = units[::3] // 125 * 125
    products = cents * units
    assert np.count_nonzero(np.abs(products) % 100_000 == 50_000) > 15_000
    assert np.count_nonzero(products < 0) > 100_000
    return cents, units, [Decimal(product) for product in products.tolist()]


@pytest.mark.parametrize("rounding", MODES)
def test_a_million_rows_with_ties_and_refunds_are_what_decimal_says(million, rounding):
    cents, units, products = million
    mode = MODES[rounding]
    expected = [int(product.quantize(CENT, mode)) for product in products]
    assert (rounded_tax(cents, units, rounding) * 100_000).tolist() == expected


def test_every_rounding_is_shown():
    assert set(MODES) == set(ROUNDINGS)


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
    result = taxed(amounts, {"rounding": rounding}, combined_rate=rates)
    assert found(result, "tax") == dollars(expected)
    assert result.attrs["svc_tax_terms"][""]["rounding"] == rounding


def test_a_rounding_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="half_up, half_even, up, down"):
        looked_up(amount=[1]).svc.tax(rounding="bankers")
