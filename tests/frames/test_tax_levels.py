"""Tax by level of jurisdiction: it adds up to the tax of the row, exactly."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from support.looked_up import dollars, found, taxed

from svc_tools.frames.arrow import cents_of
from svc_tools.frames.lookup_columns import LEVEL_TAX_COLUMNS
from svc_tools.frames.taxes.invoices import shared_out
from svc_tools.frames.taxes.rounding import ROUNDINGS, rounded_tax

ROWS = st.lists(
    st.tuples(
        st.integers(-(10**9), 10**9),
        st.tuples(*[st.integers(0, 9_000) | st.just(0)] * 4),
    ),
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


def test_the_largest_fraction_gets_the_cent_and_of_equal_ones_the_first():
    result = taxed(
        ["10.00", "10.00", "-10.00", "2.00"],
        combined_rate=["0.08875", "0.00200", "0.08875", "0.00500"],
        state_rate=["0.04000", "0.00050", "0.04000", "0.00250"],
        county_rate=["0.00000", "0.00050", "0.00000", "0.00250"],
        city_rate=["0.04500", "0.00050", "0.04500", "0.00000"],
        combined_district_rate=["0.00375", "0.00050", "0.00375", "0.00000"],
    )
    by_row = list(zip(*(found(result, name) for name in LEVEL_TAX_COLUMNS), strict=True))
    assert by_row == [
        tuple(dollars(["0.40", "0.00", "0.45", "0.04"])),  # 0.8875: 0.89
        tuple(dollars(["0.01", "0.01", "0.00", "0.00"])),  # half a cent each, 0.02 in all
        tuple(dollars(["-0.40", "0.00", "-0.45", "-0.04"])),
        tuple(dollars(["0.01", "0.00", "0.00", "0.00"])),
    ]


def test_levels_are_missing_where_the_parts_are_or_do_not_add_up():
    rate = ["0.08000", "0.08000", "0.08000"]
    result = taxed(
        ["10.00"] * 3,
        combined_rate=rate,
        state_rate=["0.06000", "0.06000", "0.06000"],
        county_rate=["0.02000", "0.01000", None],
        city_rate="0.00000",
        combined_district_rate="0.00000",
    )
    assert found(result, "state_tax") == dollars(["0.60", None, None])
    for name in LEVEL_TAX_COLUMNS:
        assert result[name].isna().tolist() == [False, True, True]
    assert found(result, "tax") == dollars(["0.80"] * 3)


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
    result = taxed(
        [Decimal(int(cents)).scaleb(-2) for cents in random.integers(-5_000, 90_000, rows)],
        {"rounding": rounding} | ({"invoice": "order"} if by_invoice else {}),
        combined_rate=rate(sum(parts)),
        order=random.integers(0, 20, rows),
        **{name: rate(part) for name, part in zip(names, parts, strict=True)},
    )
    levels = sum(cents_of(result[name])[0] for name in LEVEL_TAX_COLUMNS)
    assert levels.tolist() == cents_of(result["tax"])[0].tolist()
