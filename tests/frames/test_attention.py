"""Which rows need a person, and why."""

from decimal import Decimal

import pandas as pd
import pytest
from support.enriched import enriched, partial, row

from svc_tools.frames.attention import attention, grouped_flags

BEFORE, AFTER = "as_of_before_history", "as_of_after_edition"
ASK_FOR_DATE = "Check the rate for this date with the state."
ASK_FOR_PLACE = "Find out in which of them the address lies: the ZIP Code alone does not tell."


def test_whole_confident_rows_need_nobody():
    frame = enriched(
        row(),
        row(confidence="medium"),
        row(confidence="exact"),
        row(warnings="address_not_matched"),
        row(confidence="medium", warnings="zip_spans_jurisdictions"),
    )
    assert attention(frame) == ()


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        (row(rate=None, lookup_error="no such ZIP"), "unresolved", "no such ZIP"),
        (row(rate=None, lookup_status="failed", lookup_error="timeout"), "failed", "timeout"),
        (row(rate=None, lookup_status="invalid", lookup_error=None), "invalid", "no reason given"),
        (row(rate=None, lookup_status="odd", lookup_error="?!"), "odd", "?!"),
        (row(rate=None, lookup_status=None), "not_attempted", "no such place"),
        (partial(), "partial", "not covered"),
        (row(confidence="low"), "low_confidence", "Confidence is low"),
        (row(warnings="place_input_mismatch"), "place_mismatch", "city given"),
        (row(warnings="source_conflict"), "source_conflict", "sources disagree"),
        (row(confidence="low", warnings=BEFORE), "other_date", "before the oldest"),
        (row(confidence="medium", warnings=AFTER), "other_date", "after what"),
        (row(amount=None), "no_tax", "amount: missing"),
    ],
)
def test_a_row_that_needs_a_person_says_why_and_what_to_do(cells, kind, reason):
    (flag,) = attention(enriched(row(), cells))
    assert (flag.position, flag.kind) == (1, kind)
    assert reason in flag.reason
    assert flag.to_do.endswith(".")


@pytest.mark.parametrize(
    ("cells", "to_do"),
    [
        (
            row(confidence="low", warnings=f"address_not_matched; {BEFORE}"),
            ASK_FOR_DATE,
        ),
        (row(confidence="low", warnings="source_conflict"), "Check the rate with the state."),
        (row(warnings="place_input_mismatch"), "Check the place against the order."),
        (
            row(warnings=f"place_input_mismatch; {AFTER}"),
            f"Check the place against the order. {ASK_FOR_DATE}",
        ),
        (
            row(confidence="low", warnings=f"zip_spans_jurisdictions; {AFTER}"),
            f"{ASK_FOR_DATE} {ASK_FOR_PLACE}",
        ),
        (row(rate=None, lookup_status="failed"), "Run the lookup again."),
    ],
)
def test_the_advice_is_that_of_the_fault(cells, to_do):
    (flag,) = attention(enriched(cells))
    assert flag.to_do == to_do


def test_a_city_that_is_not_the_rates_is_told_with_the_one_it_is_for():
    cells = row(warnings="place_input_mismatch", resolved_city="Hoboken")
    (flag,) = attention(enriched(cells))
    assert flag.reason == "The city given is not the place the rate is for: Hoboken."


def test_a_partial_row_is_one_of_its_kind_unless_its_place_is_in_doubt():
    dated = partial() | {"warnings": f"local_rates_not_covered; {BEFORE}"}
    elsewhere = partial() | {"warnings": "local_rates_not_covered; place_input_mismatch"}
    flags = attention(enriched(dated, elsewhere))
    assert [flag.kind for flag in flags] == ["place_mismatch", "partial"]
    assert "before the oldest" in flags[1].reason


def test_in_a_kind_the_largest_amounts_come_first_refunds_too_and_unknown_ones_last():
    amounts = ("5.00", None, "-80.00", "20.00")
    flags = attention(enriched(*(row(amount=one, rate=None) for one in amounts)))
    assert [flag.position for flag in flags] == [2, 3, 0, 1]


def test_groups_add_up_rows_sales_and_tax_exactly():
    dated = {"confidence": "low", "warnings": BEFORE}
    groups = grouped_flags(
        attention(
            enriched(
                row("NJ", "100.00", "0.06625", **dated),
                row("NJ", "0.10", "0.06625", **dated),
                partial("TX", "7.00"),
                row(amount=None, rate=None),
                row(),
            )
        )
    )
    assert [(one.kind, one.rows, one.sales, one.tax) for one in groups] == [
        ("unresolved", 1, None, None),
        ("other_date", 2, Decimal("100.10"), Decimal("6.64")),
        ("partial", 1, Decimal("7.00"), None),
    ]
    assert all(one.to_do for one in groups)


def test_the_pressing_kinds_come_first_and_partial_rows_last():
    flags = attention(
        enriched(
            partial(),
            row(confidence="low", warnings=BEFORE),
            row(rate=None),
            partial(),
            row(rate=None, lookup_status="failed"),
            row(warnings="place_input_mismatch"),
            row(rate=None, lookup_status="invalid"),
        )
    )
    assert [flag.position for flag in flags] == [4, 6, 2, 5, 1, 0, 3]


def test_a_frame_without_tax_is_judged_by_its_rates():
    assert attention(enriched(row(amount=None), taxed=False)) == ()


def test_a_prefix_is_followed():
    (flag,) = attention(enriched(row(amount=None), row(), prefix="p_"), prefix="p_")
    assert flag.kind == "no_tax"


def test_a_frame_that_was_not_looked_up_is_refused():
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\(\)"):
        attention(pd.DataFrame({"zip": ["78701"]}))
