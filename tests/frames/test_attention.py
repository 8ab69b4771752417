"""Which rows need a person, and why."""

import pandas as pd
import pytest
from support.enriched import enriched, partial, row

from svc_tools.frames.attention import attention


def test_whole_confident_rows_need_nobody():
    assert attention(enriched(row(), row(confidence="medium"), row(confidence="exact"))) == []


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        (row(rate=None, lookup_error="no such ZIP"), "unresolved", "no such ZIP"),
        (row(rate=None, lookup_status="failed", lookup_error="timeout"), "failed", "timeout"),
        (row(rate=None, lookup_status="invalid", lookup_error=None), "invalid", "no reason given"),
        (row(rate=None, lookup_status="odd", lookup_error="?!"), "odd", "?!"),
        (row(rate=None, lookup_status=None), "not_attempted", "no such place"),
        (partial(), "partial", "local_rates_not_covered"),
        (row(confidence="low"), "low", "Confidence is low"),
        (row(warnings="place_input_mismatch"), "mismatch", "city"),
        (row(amount=None), "no_tax", "amount: missing"),
    ],
)
def test_a_row_that_needs_a_person_says_why_and_what_to_do(cells, kind, reason):
    (flag,) = attention(enriched(row(), cells))
    assert (flag.position, flag.kind) == (1, kind)
    assert reason in flag.reason
    assert flag.to_do.endswith(".")


def test_the_pressing_kinds_come_first_and_partial_rows_last():
    flags = attention(
        enriched(
            partial(),
            row(confidence="low"),
            row(rate=None),
            partial(),
            row(rate=None, lookup_status="failed"),
        )
    )
    assert [flag.position for flag in flags] == [4, 2, 1, 0, 3]


def test_a_frame_without_tax_is_judged_by_its_rates():
    assert attention(enriched(row(amount=None), taxed=False)) == []


def test_a_prefix_is_followed():
    (flag,) = attention(enriched(row(amount=None), row(), prefix="p_"), prefix="p_")
    assert flag.kind == "no_tax"


def test_a_frame_that_was_not_looked_up_is_refused():
    with pytest.raises(ValueError, match=r"df\.svc\.lookup\(\)"):
        attention(pd.DataFrame({"zip": ["78701"]}))
