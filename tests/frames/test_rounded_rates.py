"""Rates that are published with six decimals: the tax of the rounded rate."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

PUBLISHED = {"Santa Fe": "0.081875", "Roswell": "0.082708", "Artesia": "0.076458"}
CENTS = st.integers(1, 200_000)
CENT = Decimal("0.01")


@pytest.fixture(scope="module")
def rates(embedded):
    """The rates of the cities of New Mexico, in a frame that sales are put into."""
    frame = pd.DataFrame({"state": "NM", "city": list(PUBLISHED), "date": "2026-08-03"})
    return frame.svc.lookup(client=embedded, cache=False, progress=False)


@examples(10, of=60)
@given(st.lists(CENTS, min_size=3, max_size=3))
def test_up_to_2000_dollars_the_tax_is_within_a_cent_of_that_of_the_published_rate(rates, cents):
    amounts = [Decimal(one).scaleb(-2) for one in cents]
    taxed = rates.assign(amount=[str(one) for one in amounts]).svc.tax(progress=False)
    for amount, tax, published in zip(amounts, taxed["tax"], PUBLISHED.values(), strict=True):
        exact = (amount * Decimal(published)).quantize(CENT, ROUND_HALF_UP)
        assert abs(Decimal(str(tax)) - exact) <= CENT, (amount, published)


def test_such_a_rate_is_whole_and_its_rounding_is_no_reason_to_review(rates):
    assert rates["lookup_status"].tolist() == ["ok"] * 3
    assert rates["combined_rate"].astype(str).tolist() == ["0.08188", "0.08271", "0.07646"]
    assert rates["warnings"].str.contains("rate_rounded").all()
    assert not rates["lookup_review_reason"].astype("str").str.contains("rate_rounded").any()
    assert not rates["needs_review"].any()
