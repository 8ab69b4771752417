"""What a lookup came to: counts and exact totals."""

from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.frames import enriched, partial, row

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.aggregates import ConfidenceTax, Count, FailureCount, SourceCount
from svc_tools.frames.review.split import Part
from svc_tools.frames.review.summary import Resting
from svc_tools.frames.review.summary import summarize as summarized
from svc_tools.frames.taxes.taxed_rows import goods_of


def summarize(frame, amount=None):
    rows = Enriched(frame)
    return summarized(rows, goods=goods_of(rows, amount))


def test_every_row_is_counted_by_its_status_in_a_fixed_order():
    summary = summarize(
        enriched(
            row(rate=None, lookup_status="invalid"),
            partial(),
            row(),
            row(),
            row(rate=None, lookup_status="odd"),
        )
    )
    assert summary.by_status == (
        Count("ok", 2),
        Count("partial", 1),
        Count("invalid", 1),
        Count("odd", 1),
    )
    assert summary.rows == 5


def test_confidence_is_counted_for_rows_with_a_rate_only():
    summary = summarize(enriched(row(), partial(), row(rate=None), row(confidence=None)))
    assert summary.by_confidence == (Count("high", 1), Count("low", 1), Count("not stated", 1))


def test_the_reasons_for_missing_rates_come_most_frequent_first_and_the_rest_as_a_number():
    rows = [row(rate=None, lookup_error=f"reason {number:02}") for number in range(12)]
    summary = summarize(enriched(*rows, row(rate=None, lookup_error="reason 11"), row()))
    assert summary.failures[0] == FailureCount("unresolved", "reason 11", 2)
    assert summary.failures[1] == FailureCount("unresolved", "reason 00", 1)
    assert len(summary.failures) == 10
    assert summary.other_failures == 2


def test_sources_and_editions_are_those_of_rows_with_a_rate():
    summary = summarize(enriched(row(), row(), row(lookup_edition=None), row(rate=None)))
    assert summary.sources == (
        SourceCount("embedded service: state table", "2026-11", 2, Decimal("13.26")),
        SourceCount("embedded service: state table", "not stated", 1, Decimal("6.63")),
    )


def test_places_and_service_come_from_the_note_on_the_frame():
    frame = enriched(row(), row(), row(), asked=2)
    assert (summarize(frame).places, summarize(frame).service) == (2, "embedded service")


def test_a_note_that_no_longer_fits_the_frame_is_not_used():
    cut = enriched(row(), row(), asked=2).iloc[:1]
    assert (summarize(cut).places, summarize(cut).service) == (None, None)
    bare = enriched(row())
    bare.attrs.clear()
    assert summarize(bare).places is None


def test_the_totals_keep_whole_partial_and_open_rows_apart():
    summary = summarize(
        enriched(
            row("NJ", "100.00", "0.06625"),
            row("OR", "50.00", "0.00000"),
            partial("TX", "200.00"),
            row("NJ", "10.00", None),
            row("NJ", None, "0.06625"),
        )
    )
    money = summary.money
    assert money.rows == 5
    assert money.tax == Decimal("6.63")
    assert money.taxed_sales == Decimal("150.00")
    assert (money.partial_rows, money.untaxed_sales) == (1, Decimal("200.00"))
    assert money.partial_tax == 0
    assert (money.open_rows, money.open_sales) == (2, Decimal("10.00"))
    assert money.whole_rows == 2
    assert money.sales == Decimal("360.00")
    assert [state.state for state in summary.states] == ["NJ", "OR", "TX"]
    nj = summary.states[0].totals
    assert (nj.rows, nj.tax, nj.open_rows) == (3, Decimal("6.63"), 2)


def test_the_tax_is_told_by_the_confidence_of_its_rate():
    summary = summarize(
        enriched(row(), row("WA", "10.00", "0.10000", confidence="low"), partial(), row(rate=None))
    )
    assert summary.tax_by_confidence == (
        ConfidenceTax("high", 1, Decimal("100.00"), Decimal("6.63")),
        ConfidenceTax("low", 1, Decimal("10.00"), Decimal("1.00")),
    )
    assert summarize(enriched(row(), taxed=False)).tax_by_confidence == ()


DATED = (
    row("NJ", "100.00", "0.06625"),
    row("WA", "10.00", "0.10000", confidence="low", warnings="as_of_before_history"),
    row(
        "OH",
        "0.10",
        "0.08000",
        confidence="medium",
        warnings="address_not_matched; as_of_after_edition",
    ),
    partial("TX", "300.00") | {"warnings": "local_rates_not_covered; as_of_before_history"},
    row(rate=None, warnings="as_of_before_history"),
)


def test_what_rests_on_the_rate_of_another_date_is_counted_and_added_up_exactly():
    part = summarize(enriched(*DATED)).rests_on
    assert (part.rated_rows, part.tax) == (4, Decimal("7.64"))
    assert part.other_date == Resting(2, Decimal("10.10"), Decimal("1.01"))
    assert (part.incomplete.rows, part.both) == (0, 0)
    assert part.untaxed == Resting(1, Decimal("300.00"), None)
    assert "$1.01 of the $7.64 tax" in part.sentence
    assert "(2 rows, $10.10 of sales)" in part.sentence


def test_a_tax_from_an_incomplete_rate_is_told_apart_from_one_of_another_date():
    part = summarize(enriched(*DATED, use_partial=True)).rests_on
    assert part.tax == Decimal("26.39")
    assert part.other_date == Resting(3, Decimal("310.10"), Decimal("19.76"))
    assert part.incomplete == Resting(1, Decimal("300.00"), Decimal("18.75"))
    assert (part.both, part.untaxed.rows) == (1, 0)


def test_without_a_tax_the_rows_at_rates_in_doubt_are_counted_with_their_sales():
    part = summarize(enriched(*DATED, taxed=False)).rests_on
    assert (part.tax, part.rated_rows) == (None, 4)
    assert part.other_date == Resting(3, Decimal("310.10"), None)
    assert part.incomplete == Resting(1, Decimal("300.00"), None)


def test_rates_of_another_date_are_found_by_the_reason_where_the_warnings_are_not_there():
    frame = enriched(*DATED)
    part = summarize(frame.drop(columns="warnings")).rests_on
    assert part == summarize(frame).rests_on
    neither = summarize(frame.drop(columns=["warnings", "lookup_review_reason"])).rests_on
    assert not neither.dates_known
    assert "not known" in neither.sentence


def test_where_nothing_is_in_doubt_that_is_said_and_where_no_rate_is_known_nothing():
    part = summarize(enriched(row())).rests_on
    assert part.nothing
    assert part.sentence == "No rate is marked as that of another date or as incomplete."
    assert part.brief == ""
    assert summarize(enriched(row(rate=None))).rests_on.sentence == ""


def test_the_summary_leads_with_what_can_be_used():
    summary = summarize(enriched(*DATED))
    assert summary.by_use == (
        Part("ready", 1, Decimal("100.00"), Decimal("6.63")),
        Part("check", 2, Decimal("10.10"), Decimal("1.01")),
        Part("incomplete", 1, Decimal("300.00")),
        Part("none", 1, Decimal("100.00")),
    )
    assert summary.review.totals.rows == 4


def test_without_a_tax_there_are_no_totals_rather_than_zeros():
    summary = summarize(enriched(row(), taxed=False))
    assert summary.money is None
    assert summary.states == ()


def test_a_frame_that_was_not_looked_up_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"'lookup_status'.*there are: zip.*df\.svc\.lookup\(\)"):
        summarize(pd.DataFrame({"zip": ["78701"]}))


def test_an_unknown_amount_column_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"'total'.*amount="):
        summarize(enriched(row()), amount="total")


CENTS = st.integers(-10_000_000, 10_000_000).map(lambda cents: Decimal(cents).scaleb(-2))
UNITS = st.integers(0, 25_000).map(lambda units: Decimal(units).scaleb(-5))


@st.composite
def any_row(draw):
    amount = draw(st.none() | CENTS)
    kind = draw(st.sampled_from(["whole", "partial", "open"]))
    state = draw(st.sampled_from(["NJ", "TX", "WA", None]))
    if kind == "open":
        return row(state, amount, None, zip=None)
    make = row if kind == "whole" else partial
    return make(state, amount, draw(UNITS), zip=None)


@given(st.lists(any_row(), max_size=20), st.booleans())
def test_the_sums_are_exact_and_no_row_counts_twice(rows, use_partial):
    for at, one in enumerate(rows):  # one without a place and with the sum above is a total
        above = sum((row["amount"] or 0 for row in rows[:at]), Decimal(0))
        assume(one["state"] is not None or not one["amount"] or one["amount"] != above)
    summary = summarize(enriched(*rows, use_partial=use_partial))
    money = summary.money
    expected = sum(
        (
            (Decimal(one["amount"]) * one["rate"]).quantize(Decimal("0.01"), ROUND_HALF_UP)
            for one in rows
            if one["lookup_status"] == "ok" and one["amount"] is not None
        ),
        Decimal(0),
    )
    assert money.tax == expected
    assert money.sales == sum(one["amount"] for one in rows if one["amount"] is not None)
    assert money.whole_rows + money.partial_rows + money.open_rows == len(rows)
    for name in ("rows", "tax", "partial_tax", "taxed_sales", "untaxed_sales", "open_sales"):
        assert sum(getattr(state.totals, name) for state in summary.states) == getattr(money, name)
