"""The tax by level, its range and what is at stake, its rounding, and what requires review."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frames import dollars, found, rated, tax_of

from svc_tools.frames.arrow import cents_of
from svc_tools.frames.lookup_columns import LEVEL_TAX_COLUMNS
from svc_tools.frames.taxes.invoices import shared_out
from svc_tools.frames.taxes.rounding import ROUNDINGS, rounded_tax

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


@settings(max_examples=30)  # frames of 40 to 60 rows each
@given(st.integers(0, 2**32), st.sampled_from(ROUNDINGS), st.booleans())
def test_a_frame_adds_up_by_level_also_by_invoice(seed, rounding, by_invoice):
    random = np.random.default_rng(seed)
    rows = 60
    parts = [random.integers(0, 5_000, rows) for _ in range(4)]
    text = pd.ArrowDtype(pa.decimal128(7, 5))

    def rate(units):
        return pd.array([Decimal(int(unit)).scaleb(-5) for unit in units], dtype=text)

    names = ("state_rate", "county_rate", "city_rate", "combined_district_rate")
    result = tax_of(
        [Decimal(int(cents)).scaleb(-2) for cents in random.integers(-5_000, 90_000, rows)],
        {"rounding": rounding} | ({"invoice": "order"} if by_invoice else {}),
        combined_rate=rate(sum(parts)),
        order=random.integers(0, 20, rows),
        **{name: rate(part) for name, part in zip(names, parts, strict=True)},
    )
    levels = sum(cents_of(result[name])[0] for name in LEVEL_TAX_COLUMNS)
    assert levels.tolist() == cents_of(result["tax"])[0].tolist()


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


@settings(max_examples=30)  # frames of 40 to 60 rows each
@given(st.integers(0, 2**32), st.sampled_from(ROUNDINGS), st.sampled_from([None, "order"]))
def test_the_tax_never_lies_outside_of_its_range(seed, rounding, invoice):
    random = np.random.default_rng(seed)
    rate = random.integers(2_000, 9_000, 40)
    there = random.random(40) < 0.5

    def rates(units):
        texts = [f"{unit / 100_000:.5f}" for unit in units]
        return pd.Series(texts).where(pd.Series(there), None)

    result = tax_of(
        random.integers(-300, 900, 40) / 100,
        {"rounding": rounding, "invoice": invoice},
        combined_rate=[f"{unit / 100_000:.5f}" for unit in rate],
        rate_low=rates(rate - random.integers(0, 20, 40)),
        rate_high=rates(rate + random.integers(0, 20, 40)),
        order=random.integers(0, 9, 40),
    )
    low, tax, high = (result[name].astype(float).abs() for name in ("tax_low", "tax", "tax_high"))
    assert (low <= tax).all()
    assert (tax <= high).all()
    assert found(result, "at_stake") == [
        abs(a - b) for a, b in zip(found(result, "tax_high"), found(result, "tax_low"), strict=True)
    ]


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
    assert result.attrs["svc_tax_terms"][""]["rounding"] == rounding


def test_a_rounding_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="half_up, half_even, up, down"):
        rated(amount=[1]).svc.tax(rounding="bankers")


def test_amounts_over_a_cap_on_local_tax_are_marked_and_not_changed():
    result = tax_of(
        ["5000.00", "5000.01", "-5000.01", "1600.00", "1600.01", "9000.00", "5000.01"],
        resolved_state=["FL", "FL", "FL", "TN", "TN", "NY", "FL"],
        combined_rate=["0.07000"] * 6 + ["0.06000"],
        state_rate="0.06000",
        county_rate=["0.01000"] * 6 + ["0.00000"],
        city_rate="0.00000",
        combined_district_rate="0.00000",
    )
    over = "over_cap"
    assert found(result, "tax_review") == [None, over, over, None, over, None, None]
    assert found(result, "tax")[1] == dollars(["350.00"])[0]


def test_sales_within_a_state_that_sources_by_origin_are_marked():
    result = tax_of(
        ["10.00"] * 6,
        {"ship_from": "warehouse"},
        resolved_state=["TX", "TX", "NY", "CA", "TX", "NY"],
        warehouse=["Texas", "NY", "NY", "ca", None, None],
    )
    assert found(result, "tax_review") == [
        "origin_sourced",
        None,
        None,
        "origin_sourced",
        "origin_unknown",
        None,
    ]
    assert found(result, "tax") == dollars(["0.83"] * 6)


def test_one_origin_for_all_rows():
    result = tax_of(["10.00"] * 2, {"ship_from": "Ohio"}, resolved_state=["OH", "PA"])
    assert found(result, "tax_review") == ["origin_sourced", None]
    with pytest.raises(ValueError, match="ship_from: 'warehouse' is neither a column"):
        tax_of(["10.00"], {"ship_from": "warehouse"})


def test_goods_from_abroad_are_not_of_the_state():
    result = tax_of(
        ["10.00"] * 2, {"ship_from": "from"}, resolved_state="TX", **{"from": ["Ontario", "Mars"]}
    )
    assert found(result, "tax_review") == [None, "origin_unknown"]
