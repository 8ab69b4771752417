"""Which rows need a person: the rules one by one, and that nobody is called for nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from svc_tools.lookup import STATUSES, Found, Outcome
from svc_tools.lookup.outcomes import NO_SUM
from svc_tools.lookup.review import (
    as_of_status,
    review_reasons,
    warnings_of,
)

DAY = date(2026, 5, 1)
FOUND = Found(
    combined=8250,
    state=6250,
    county=0,
    city=1000,
    districts=1000,
    freight_taxable=True,
    confidence="high",
    warnings=(),
    resolved_via="zip5",
    effective_date="2026-01-01",
    effective_date_basis="publisher_effective_date",
    resolved_state="TX",
    resolved_zip="78701",
    resolved_city="Austin",
    resolved_county="Travis",
    source="a table",
    edition="2026Q2",
)


def reasons(*warnings, status="ok", **changes):
    found = replace(FOUND, warnings=warnings, **changes)
    return review_reasons(Outcome(status, None, found), warnings, DAY)


def test_a_sure_answer_with_one_rate_needs_nobody():
    for confidence in ("exact", "high", "medium", None):
        assert reasons(confidence=confidence) == ()
    assert reasons(effective_date=None, effective_date_basis="edition_only") == ()
    assert reasons("address_not_matched", "as the service likes it") == ()
    assert reasons("address_districts_not_covered") == ()


@pytest.mark.parametrize("status", [one for one in STATUSES if one != "ok"])
def test_a_row_without_a_whole_rate_needs_a_person(status):
    found = FOUND if status == "partial" else None
    assert review_reasons(Outcome(status, "why", found), (), DAY) == (status,)


@pytest.mark.parametrize("confidence", ["low", "none"])
def test_little_confidence_needs_a_person(confidence):
    assert reasons(confidence=confidence) == ("low_confidence",)


def test_little_confidence_is_no_further_reason_where_another_explains_it():
    assert reasons("as_of_before_history", confidence="low") == ("as_of_before_history",)
    assert reasons("address_not_matched", confidence="low") == ("low_confidence",)


def test_several_rates_need_a_person_and_several_places_of_one_rate_do_not():
    assert reasons("zip_spans_jurisdictions", low=6250, high=8250) == ("several_rates",)
    assert reasons("zip_spans_jurisdictions", low=8250, high=8250) == ()
    assert reasons("zip_spans_jurisdictions") == ("zip_spans_jurisdictions",)


@pytest.mark.parametrize(
    "code",
    [
        "place_input_mismatch",
        "zip_not_used",
        "zip_of_another_state",
        "zip_crosses_state_line",
        "near_state_line",
        "near_map_edge",
        "point_off_map",
        "source_conflict",
        "as_of_before_history",
        "as_of_after_edition",
        "stale_rate",
        "seasonal_rates",
        NO_SUM,
    ],
)
def test_these_warnings_need_a_person(code):
    assert reasons(code) == (code,)


@pytest.mark.parametrize("code", ["place_input_mismatch", "zip_not_used"])
def test_another_city_needs_a_person_only_where_its_rate_may_be_another(code):
    assert reasons(code, low=8250, high=8250) == ()
    assert reasons(code, low=6250, high=8250) == (code, "several_rates")
    assert reasons(code, resolved_state="CT") == ()
    assert reasons(code, resolved_state="CT", confidence="low") == ("low_confidence",)
    assert reasons(code, "source_conflict", low=8250, high=8250) == ("source_conflict",)


def test_a_city_that_was_compared_here_has_no_known_rate():
    found = replace(FOUND, warnings=(), low=8250, high=8250)  # of the candidates of the ZIP
    outcome = Outcome("ok", None, found)
    warnings = warnings_of(found, "Dallas")
    assert review_reasons(outcome, warnings, DAY) == ("place_input_mismatch",)
    connecticut = replace(found, resolved_state="CT", low=None, high=None)
    outcome = Outcome("ok", None, connecticut)
    assert review_reasons(outcome, warnings_of(connecticut, "Dallas"), DAY) == ()


def test_a_rate_that_is_law_only_after_the_sale_is_that_of_another_date():
    assert reasons(effective_date="2026-05-02") == ("effective_after_sale",)
    assert reasons(effective_date="2026-05-01") == ()
    assert reasons(effective_date="2026-05-02", effective_date_basis="edition_only") == ()
    assert reasons(effective_date="soon") == ()


def test_the_most_pressing_reason_stands_first():
    found = reasons("as_of_before_history", "place_input_mismatch", confidence="low", low=1, high=2)
    assert found == ("place_input_mismatch", "several_rates", "as_of_before_history")


def test_a_warning_that_is_named_like_a_status_is_no_status():
    assert reasons("failed", "several_rates", "low_confidence") == ()


def test_a_date_is_verified_only_by_the_publishers_own_day():
    assert as_of_status(FOUND, DAY, DAY) == "verified"
    assert as_of_status(replace(FOUND, effective_date="2026-05-01"), DAY, DAY) == "verified"
    assert as_of_status(None, DAY, DAY) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"effective_date": "2026-05-02"},
        {"effective_date": None},
        {"effective_date": "01/01/2026"},
        {"effective_date_basis": "edition_only"},
        {"effective_date_basis": None},
        {"warnings": ("as_of_before_history",)},
        {"warnings": ("x", "as_of_after_edition")},
        {"warnings": ("local_rates_not_covered",)},
        {"warnings": ("districts_not_covered",)},
        {"warnings": ("source_conflict",)},
        {"warnings": ("seasonal_rates",)},
        {"warnings": ("stale_rate",)},
        {"warnings": (NO_SUM,)},
    ],
)
def test_everything_else_is_unverified(changes):
    assert as_of_status(replace(FOUND, **changes), DAY, DAY) == "unverified"


def test_the_rate_of_the_periods_first_day_does_not_prove_that_of_the_sales():
    assert as_of_status(FOUND, DAY, date(2026, 5, 2)) == "unverified"


def test_the_law_of_a_day_to_come_may_change_yet():
    before = datetime(2026, 4, 30, 9, tzinfo=UTC)  # the day has not begun anywhere
    assert as_of_status(FOUND, DAY, DAY, before) == "unverified"
    assert as_of_status(FOUND, DAY, DAY, before.replace(hour=10)) == "verified"
