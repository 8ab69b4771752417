"""Which rows need a person, and why."""

from decimal import Decimal

import pandas as pd
import pytest
from support.enriched import enriched, partial, row

from svc_tools.frames.lookup_columns import (
    COLUMN_MEANINGS,
    DETAIL_COLUMNS,
    LOOKUP_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
)
from svc_tools.frames.meanings import WHAT_TO_DO, meaning_of
from svc_tools.frames.review import attention
from svc_tools.frames.taxes.reasons import TAX_DUE_REASONS, TAX_REVIEW
from svc_tools.lookup.review import REVIEW_REASONS

BEFORE, AFTER = "as_of_before_history", "as_of_after_edition"
ASK_FOR_DATE = "Check the rate for this date with the state."


def listed(frame, **arguments):
    """(position, fault) of each row that needs a person, in order."""
    need = attention(frame, **arguments)
    return [
        (position, need.faults[code])
        for position, code in zip(need.rows.tolist(), need.codes.tolist(), strict=True)
    ]


def positions(frame):
    return attention(frame).rows.tolist()


def test_whole_confident_rows_need_nobody():
    frame = enriched(
        row(),
        row(confidence="medium"),
        row(confidence="exact"),
        row(warnings="address_not_matched"),
        row(confidence="medium", warnings="zip_spans_jurisdictions"),
    )
    assert listed(frame) == []


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        (row(rate=None, lookup_error="no such ZIP"), "unresolved", "no such ZIP"),
        (row(rate=None, lookup_status="failed", lookup_error="timeout"), "failed", "timeout"),
        (row(rate=None, lookup_status="invalid", lookup_error=None), "invalid", "no reason given"),
        (row(rate=None, lookup_status="odd", lookup_error="?!"), "odd", "?!"),
        (row(rate=None, lookup_status=None), "not_attempted", "no such place"),
        (partial(), "partial", "lacks its local or district part"),
        (row(confidence="low"), "low_confidence", "little confidence"),
        (row(warnings="place_input_mismatch"), "place_input_mismatch", "city given"),
        (row(warnings="source_conflict"), "source_conflict", "sources disagree"),
        (row(confidence="low", warnings=BEFORE), BEFORE, "before the oldest"),
        (row(confidence="medium", warnings=AFTER), AFTER, "after what"),
        (row(rate_low="0.06", rate_high="0.07"), "several_rates", "their rates differ"),
        (row(amount=None), "no_tax", "amount: missing"),
    ],
)
def test_a_row_that_needs_a_person_says_why_and_what_to_do(cells, kind, reason):
    ((position, fault),) = listed(enriched(row(), cells))
    assert (position, fault.kind) == (1, kind)
    assert reason in fault.reason
    assert fault.to_do.endswith(".")


def test_the_advice_is_that_of_the_faults_each_sentence_once():
    cells = row(confidence="low", warnings=f"place_input_mismatch; source_conflict; {AFTER}")
    ((_, fault),) = listed(enriched(cells))
    assert fault.to_do == (
        f"Check the place against the order. Check the rate with the state. {ASK_FOR_DATE}"
    )


def test_a_city_that_is_not_the_rates_is_told_with_the_one_it_is_for():
    cells = row(warnings="place_input_mismatch", resolved_city="Hoboken")
    ((_, fault),) = listed(enriched(cells))
    assert fault.reason == "The city given is not the place the rate is for: Hoboken."


def test_what_the_tax_marked_for_review_is_listed():
    frame = enriched(row(), row())
    frame["tax_review"] = pd.array([None, "over_cap; origin_sourced"], dtype="str")
    ((position, fault),) = listed(frame)
    assert (position, fault.kind, fault.failed) == (1, "over_cap", False)
    assert "above what the local tax" in fault.reason
    assert "Shipped within a state" in fault.reason


def test_the_lookups_own_reasons_are_used_where_the_frame_has_them():
    frame = enriched(row(confidence="low"), row())
    frame["needs_review"] = pd.array([False, True], dtype="boolean")
    frame["lookup_review_reason"] = pd.array([None, "several_rates"], dtype="category")
    ((position, fault),) = listed(frame)
    assert (position, fault.kind) == (1, "several_rates")


def test_a_frame_of_few_columns_is_judged_by_what_it_has():
    frame = enriched(row(), row(confidence="low", warnings="place_input_mismatch"))
    few = frame.drop(columns=["needs_review", "lookup_review_reason"])
    assert listed(few) == listed(frame)
    assert [position for position, _ in listed(few.drop(columns=["warnings"]))] == [1]


def test_a_partial_row_that_was_taxed_on_request_is_to_review_not_failed():
    ((_, without),) = listed(enriched(partial()))
    ((_, taxed),) = listed(enriched(partial(), use_partial=True))
    assert (without.failed, taxed.failed) == (True, False)
    assert taxed.kind == "partial"


def test_in_a_kind_the_largest_amounts_come_first_refunds_too_and_unknown_ones_last():
    amounts = ("5.00", None, "-80.00", "20.00")
    frame = enriched(*(row(amount=one, rate=None) for one in amounts))
    assert positions(frame) == [2, 3, 0, 1]


def test_rows_to_review_come_after_the_failed_by_dollars_at_stake_then_tax():
    ranged = {"rate_low": "0.06000", "rate_high": "0.07000", "warnings": "source_conflict"}
    frame = enriched(
        row(confidence="low", amount="900.00"),
        row(amount="100.00", **ranged),
        row(amount="-500.00", **ranged),
        row(rate=None, amount="1.00"),
        row(confidence="low", amount="-950.00"),
    )
    assert positions(frame) == [3, 2, 1, 4, 0]
    assert attention(frame).failed == 1


def test_groups_add_up_rows_sales_and_tax_exactly():
    dated = {"confidence": "low", "warnings": BEFORE}
    groups = attention(
        enriched(
            row("NJ", "100.00", "0.06625", **dated),
            row("NJ", "0.10", "0.06625", **dated),
            partial("TX", "7.00"),
            row(amount=None, rate=None),
            row(),
        )
    ).groups()
    assert [(one.kind, one.rows, one.sales, one.tax) for one in groups] == [
        ("unresolved", 1, None, None),
        ("partial", 1, Decimal("7.00"), None),
        (BEFORE, 2, Decimal("100.10"), Decimal("6.64")),
    ]
    assert all(one.to_do for one in groups)


def test_failed_rows_come_first_and_of_them_the_pressing_kinds():
    frame = enriched(
        partial(),
        row(confidence="low", warnings=BEFORE),
        row(rate=None),
        partial(),
        row(rate=None, lookup_status="failed"),
        row(warnings="place_input_mismatch"),
        row(rate=None, lookup_status="invalid"),
    )
    assert positions(frame)[:5] == [4, 6, 2, 0, 3]
    assert set(positions(frame)[5:]) == {1, 5}


def test_a_frame_without_tax_is_judged_by_its_rates():
    assert listed(enriched(row(amount=None), taxed=False)) == []
    ((_, fault),) = listed(enriched(partial(), taxed=False))
    assert fault.failed


def test_a_prefix_is_followed():
    ((_, fault),) = listed(enriched(row(amount=None), row(), prefix="p_"), prefix="p_")
    assert fault.kind == "no_tax"


def test_an_empty_frame_needs_nobody():
    need = attention(enriched())
    assert (need.rows.tolist(), need.groups(), need.failed) == ([], (), 0)


def test_a_frame_that_was_not_looked_up_is_refused():
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\(\)"):
        attention(pd.DataFrame({"zip": ["78701"]}))


@pytest.mark.parametrize("code", [*REVIEW_REASONS, *TAX_REVIEW, *TAX_DUE_REASONS])
def test_every_code_says_what_it_means_and_what_to_do(code):
    assert WHAT_TO_DO[code].endswith(".")
    assert meaning_of(code)


def test_every_column_of_ours_has_its_meaning_and_no_other():
    ours = (*LOOKUP_COLUMNS, *DETAIL_COLUMNS, *TAX_COLUMNS, *TAX_OPTION_COLUMNS)
    assert set(COLUMN_MEANINGS) == set(ours)
