"""Which rows require review, why, and what to do."""

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
from svc_tools.frames.review import ReviewCounts, reviewed
from svc_tools.frames.taxes.reasons import TAX_DUE_REASONS, TAX_REVIEW
from svc_tools.lookup.review import REVIEW_REASONS
from svc_tools.places import lookup_page

BEFORE, AFTER = "as_of_before_history", "as_of_after_edition"
ASK_FOR_DATE = "Check the rate for this date with the state."


def listed(frame, prefix=""):
    """(position, first code, why, what to do, failed) of each row of the review, in order."""
    made = reviewed(frame, amount="amount", prefix=prefix)
    names = ("review_reasons", "review_why", "review_to_do")
    columns = [made.review.rows[prefix + name].tolist() for name in names]
    return [
        (position, reasons.split("; ")[0], why, to_do, failed)
        for position, reasons, why, to_do, failed in zip(
            made.positions.tolist(), *columns, made.failed.tolist(), strict=True
        )
    ]


def positions(frame):
    return [one[0] for one in listed(frame)]


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
    ((position, code, why, to_do, _),) = listed(enriched(row(), cells))
    assert (position, code) == (1, kind)
    assert reason in why
    assert to_do.endswith(".")


def test_the_advice_is_that_of_the_faults_each_sentence_once():
    cells = row(confidence="low", warnings=f"place_input_mismatch; source_conflict; {AFTER}")
    ((*_, to_do, _),) = listed(enriched(cells))
    assert to_do == (
        f"Check the place against the order. Check the rate with the state. {ASK_FOR_DATE}"
    )


def test_a_city_that_is_not_the_rates_is_told_with_the_one_it_is_for():
    cells = row(warnings="place_input_mismatch", resolved_city="Hoboken")
    ((_, _, why, _, _),) = listed(enriched(cells))
    assert why == "The city given is not the place the rate is for: Hoboken."


def test_what_the_tax_marked_for_review_is_listed():
    frame = enriched(row(), row())
    frame["tax_review"] = pd.array([None, "over_cap; origin_sourced"], dtype="str")
    ((position, code, why, _, failed),) = listed(frame)
    assert (position, code, failed) == (1, "over_cap", False)
    assert "above what the local tax" in why
    assert "Shipped within a state" in why


def test_the_lookups_own_reasons_are_used_where_the_frame_has_them():
    frame = enriched(row(confidence="low"), row())
    frame["needs_review"] = pd.array([False, True], dtype="boolean")
    frame["lookup_review_reason"] = pd.array([None, "several_rates"], dtype="category")
    ((position, code, *_),) = listed(frame)
    assert (position, code) == (1, "several_rates")


def test_a_frame_of_few_columns_is_judged_by_what_it_has():
    frame = enriched(row(), row(confidence="low", warnings="place_input_mismatch"))
    few = frame.drop(columns=["needs_review", "lookup_review_reason"])
    assert listed(few) == listed(frame)
    assert positions(few.drop(columns=["warnings"])) == [1]


def test_a_partial_row_that_was_taxed_on_request_is_to_review_not_failed():
    (without,) = listed(enriched(partial()))
    (taxed,) = listed(enriched(partial(), use_partial=True))
    assert (without[-1], taxed[-1]) == (True, False)
    assert taxed[1] == "partial"


def test_the_most_dollars_come_first_refunds_too_then_unknown_ones_and_zero_last():
    amounts = ("5.00", None, "-80.00", "0.00", "20.00")
    frame = enriched(row(), *(row(amount=one, rate=None) for one in amounts))
    assert positions(frame) == [3, 5, 1, 2, 4]


def test_rows_group_by_state_and_reason_with_their_exact_dollars():
    dated = {"confidence": "low", "warnings": BEFORE}
    frame = enriched(
        row("NJ", "100.00", "0.06625", **dated),
        row("NJ", "0.10", "0.06625", **dated),
        partial("TX", "7.00"),
        row("TX", amount=None, rate=None, zip=None),
        row("TX", "0.00", "0.08250", confidence="low"),
        row(),
    )
    made = reviewed(frame, amount="amount", prefix="").review
    groups = [(one.state, one.reason, one.rows, one.dollars) for one in made.state_reasons]
    assert groups == [
        ("NJ", BEFORE, 2, Decimal("6.64")),
        ("TX", "partial", 1, Decimal("0.58")),
        ("TX", "unresolved", 1, None),
        ("TX", "low_confidence", 1, Decimal("0.00")),
    ]
    table = made.by_state
    assert list(table.columns) == [
        *("state", "reason", "rows", "dollars", "meaning", "to_do", "where")
    ]
    assert table["where"].tolist()[:2] == [lookup_page("NJ"), lookup_page("TX")]
    assert "Sales Tax Rate Locator" in table["where"].tolist()[1]
    assert table["rows"].sum() == made.totals.rows


def test_a_row_is_in_the_group_of_its_most_urgent_reason():
    both = row("TX", warnings="source_conflict; place_input_mismatch")
    (group,) = reviewed(enriched(both), amount="amount", prefix="").review.state_reasons
    assert (group.state, group.reason) == ("TX", "place_input_mismatch")


def test_what_another_run_settles_is_not_looked_up_on_a_states_page():
    (group,) = reviewed(
        enriched(row("TX", rate=None, lookup_status="failed")), amount="amount", prefix=""
    ).review.state_reasons
    assert (group.reason, group.where, group.advice) == ("failed", "", group.to_do)


def test_the_parts_of_a_file_add_up_to_its_groups():
    rows = [
        row("TX", "100.00", rate_low="0.06000", rate_high="0.08000"),
        row("TX", "50.00", rate_low="0.06000", rate_high="0.07000"),
        row("NJ", "10.00", confidence="low"),
        row(),
    ]
    whole = reviewed(enriched(*rows), amount="amount", prefix="").review
    counts = ReviewCounts()
    for one in rows:
        counts.add(enriched(one), "")
    assert counts.groups() == whole.state_reasons
    assert counts.rows == whole.totals.rows


def test_without_a_tax_the_parts_of_a_file_have_no_dollars():
    counts = ReviewCounts()
    counts.add(enriched(row("NJ", "10.00", confidence="low"), taxed=False), "")
    assert [one.dollars for one in counts.groups()] == [None]


def test_a_frame_without_tax_is_judged_by_its_rates():
    assert listed(enriched(row(amount=None), taxed=False)) == []
    ((*_, failed),) = listed(enriched(partial(), taxed=False))
    assert failed


def test_a_prefix_is_followed():
    ((_, code, *_),) = listed(enriched(row(amount=None), row(), prefix="p_"), prefix="p_")
    assert code == "no_tax"


def test_an_empty_frame_needs_nobody():
    made = reviewed(enriched(), amount="amount", prefix="")
    assert (made.positions.tolist(), made.review.state_reasons) == ([], ())
    assert len(made.review.by_state) == 0


@pytest.mark.parametrize("code", [*REVIEW_REASONS, *TAX_REVIEW, *TAX_DUE_REASONS])
def test_every_code_says_what_it_means_and_what_to_do(code):
    assert WHAT_TO_DO[code].endswith(".")
    assert meaning_of(code)


def test_every_column_of_ours_has_its_meaning_and_no_other():
    ours = (*LOOKUP_COLUMNS, *DETAIL_COLUMNS, *TAX_COLUMNS, *TAX_OPTION_COLUMNS)
    assert set(COLUMN_MEANINGS) == set(ours)
