"""The range of a tax: the tax at the lowest and at the highest rate that an answer allows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from support.looked_up import dollars, found, taxed

from svc_tools.frames.taxes.rounding import ROUNDINGS


def test_several_candidates_put_dollars_at_stake():
    result = taxed(
        ["100.00", "100.00", "-100.00"],
        combined_rate="0.08000",
        rate_low=["0.06000", None, "0.06000"],
        rate_high=["0.08500", None, "0.08500"],
    )
    assert found(result, "tax_low") == dollars(["6.00", "8.00", "-6.00"])
    assert found(result, "tax_high") == dollars(["8.50", "8.00", "-8.50"])
    assert found(result, "at_stake") == dollars(["2.50", "0.00", "2.50"])


def test_a_frame_without_a_range_has_nothing_at_stake():
    result = taxed(["100.00", "ten"])
    assert found(result, "tax_low") == found(result, "tax_high") == found(result, "tax")
    assert found(result, "at_stake") == dollars(["0.00", None])


def test_of_a_partial_rate_only_the_low_tax_is_known():
    columns = {"lookup_status": ["partial", "partial"], "rate_low": [None, "0.05000"]}
    columns |= {"rate_high": [None, "0.09000"]}
    without = taxed(["100.00"] * 2, **columns)
    assert found(without, "tax") == [None, None]
    assert found(without, "tax_low") == dollars(["8.25", "5.00"])
    assert found(without, "tax_high") == found(without, "at_stake") == [None, None]
    used = taxed(["100.00"] * 2, {"partial": "use"}, **columns)
    assert found(used, "tax") == dollars(["8.25", "8.25"])
    assert found(used, "tax_low") == dollars(["8.25", "5.00"])
    assert found(used, "tax_high") == [None, None]
    assert found(used, "tax_review") == ["partial_rate"] * 2


def test_a_row_without_any_rate_has_no_range_unless_the_answer_has_one():
    result = taxed(
        ["100.00"] * 2,
        combined_rate=[None, None],
        lookup_status="unresolved",
        rate_low=[None, "0.05000"],
        rate_high=[None, "0.06000"],
    )
    assert found(result, "tax_low") == dollars([None, "5.00"])
    assert found(result, "at_stake") == dollars([None, "1.00"])


@settings(max_examples=30)  # frames of 40 to 60 rows each
@given(st.integers(0, 2**32), st.sampled_from(ROUNDINGS), st.sampled_from([None, "order"]))
def test_the_tax_never_lies_outside_of_its_range(seed, rounding, invoice):
    random = np.random.default_rng(seed)
    rate = random.integers(2_000, 9_000, 40)
    there = random.random(40) < 0.5

    def rates(units):
        texts = [f"{unit / 100_000:.5f}" for unit in units]
        return pd.Series(texts).where(pd.Series(there), None)

    result = taxed(
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
