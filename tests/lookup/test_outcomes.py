"""What is taken out of an answer: its range, its components, and what support needs; no more."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import GOOD, KEY

from svc_sdk import NotFoundError, ServiceError, Svc, TaxResponse, TransportError
from svc_tools.lookup import STATUSES, Component, Found, Outcome
from svc_tools.lookup.many import lookup_many
from svc_tools.lookup.outcomes import (
    NO_SUM,
    as_of_status,
    counted_alike,
    failed,
    of_response,
    review_reasons,
    warnings_of,
)
from svc_tools.places import Place

PLACE = Place("TX", "zip", zip="78701")
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def outcome(*, warnings=(), **extra):
    body = json.loads(GOOD) | extra
    body["meta"]["warnings"] = list(warnings)
    return of_response(PLACE, TaxResponse.model_validate(body), at=AT)


def spans(low, high, code="zip_spans_jurisdictions"):
    return {"code": code, "lowest_combined_rate": low, "highest_combined_rate": high}


def span_of(**answer):
    found = outcome(**answer).found
    return found.low, found.high


def test_an_answer_with_one_candidate_has_no_range():
    assert span_of() == (None, None)
    assert span_of(candidates=[{"combined_rate": "0.08250"}]) == (None, None)


def test_equal_rates_say_nothing_of_another_city_whose_rate_is_not_given():
    same = [{"combined_rate": "0.08250"}] * 2
    for code in ("place_input_mismatch", "zip_not_used"):
        assert span_of(warnings=[spans("0.08250", "0.08250", code)]) == (8250, 8250)
        assert span_of(warnings=[code], candidates=same) == (None, None)
        assert span_of(warnings=[{"code": code}, spans("0.06250", "0.08250")]) == (6250, 8250)
    assert span_of(candidates=same) == (8250, 8250)


def test_the_range_is_that_of_the_warnings_and_of_the_candidates():
    assert span_of(warnings=[spans("0.06250", "0.08250")]) == (6250, 8250)
    assert span_of(warnings=[spans("0.08250", "0.08250")]) == (8250, 8250)
    both = [spans("0.07000", "0.08250"), spans("0.08000", "0.09000", "address_not_matched")]
    assert span_of(warnings=both) == (7000, 9000)
    rates = ["0.08250", "0.06250", "0.10000"]
    assert span_of(candidates=[{"combined_rate": rate} for rate in rates]) == (6250, 10000)


def test_the_range_includes_the_rate_that_was_chosen():
    assert span_of(warnings=[spans("0.09000", "0.09500")]) == (8250, 9500)


@pytest.mark.parametrize(
    "odd", [None, 0.06, "6%", "", "-0.01000", "1.50000", "0.0625001", [], {}, True]
)
def test_what_is_no_rate_in_a_range_says_nothing_and_spoils_nothing(odd):
    found = outcome(warnings=[spans(odd, "0.09000")]).found
    assert (found.combined, found.low, found.high) == (8250, 8250, 9000)
    assert span_of(warnings=[spans(odd, odd)]) == (None, None)
    assert span_of(candidates=[{"combined_rate": odd}, {"combined_rate": "0.07"}]) == (7000, 8250)


@pytest.mark.parametrize("odd", [None, 1, "x", {}, [1, None], [[]]])
def test_odd_candidates_and_components_are_left_out(odd):
    found = outcome(candidates=odd, components=odd).found
    assert (found.combined, found.low, found.high, found.components) == (8250, None, None, ())


def test_components_keep_level_name_code_and_rate():
    parts = [
        {"level": "state", "name": "Texas", "code": 48, "rate": "0.06250", "trust": "official"},
        {"level": "city", "name": "Austin", "code": None, "rate": "0.02000"},
    ]
    assert outcome(components=parts).found.components == (
        Component("state", "Texas", "48", 6250),
        Component("city", "Austin", None, 2000),
    )


@pytest.mark.parametrize("change", [{"rate": "much"}, {"rate": None}, {"name": None}, {"level": 3}])
def test_components_with_a_hole_are_none_because_they_would_look_whole(change):
    whole = {"level": "state", "name": "Texas", "code": "48", "rate": "0.06250"}
    assert outcome(components=[whole, whole | change]).found.components == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(_JSON, _JSON, _JSON)
def test_nothing_that_explains_an_answer_can_make_it_fail(candidates, components, low):
    result = outcome(warnings=[spans(low, low)], candidates=candidates, components=components)
    assert result.status == "ok"
    assert result.found.combined == 8250
    assert (result.found.low is None) == (result.found.high is None)
    if result.found.low is not None:
        assert result.found.low <= 8250 <= result.found.high


def test_when_it_was_answered_is_kept_also_where_there_is_no_rate():
    assert outcome().looked_up_at == AT
    assert outcome(rate={"combined_rate": None}).looked_up_at == AT
    gone = NotFoundError("gone", status_code=404, error_code="NOT_FOUND", support_reference="r-1")
    result = failed(gone, at=AT)
    assert (result.status, result.error, result.looked_up_at) == ("unresolved", "gone", AT)
    assert (result.support_reference, result.error_code) == ("r-1", "NOT_FOUND")
    assert failed(TransportError("no connection"), at=AT).looked_up_at is None


def test_equal_failures_read_equally_whatever_their_reference():
    told = [
        failed(ServiceError("down", status_code=503, support_reference=reference)).error
        for reference in ("req_1", "req_2", None)
    ]
    assert told == ["down (status 503, 1 attempt)"] * 3


@pytest.fixture(scope="module")
def outcomes(service):
    queries = {"NJ": "07030", "LA": "70112", "TX": "75703", "CA": "10001"}
    places = [{"state": state, "zip": queries[state], "as_of": "2026-08-03"} for state in queries]
    with Svc(KEY, base_url=service) as client:
        return {item["state"]: one for item, one in lookup_many(places, client=client)}


def cells(outcome):
    lines = re.sub(r"<[^>]+>", "\n", outcome._repr_html_()).split("\n")
    return [line.strip() for line in lines if line.strip()]


def after(outcome, head):
    shown = cells(outcome)
    return shown[shown.index(head) + 1]


def test_a_notebook_shows_the_exact_rate_its_parts_and_its_source(outcomes):
    whole, partial = outcomes["NJ"], outcomes["LA"]
    assert cells(whole)[0] == f"ok: 6.625%, confidence {whole.found.confidence}"
    assert (after(whole, "Combined"), after(whole, "City")) == ("6.625%", "0.00%")
    assert after(whole, "Source") == whole.found.source
    assert cells(partial)[0] == "partial: 5.00% is known, and lacks a part of the rate"
    assert cells(partial)[1] == "local_rates_not_covered"
    assert after(outcomes["TX"], "Range") == "6.75% to 8.25%"
    unknown = replace(whole, found=replace(whole.found, districts=None), cached=True)
    assert after(unknown, "Districts") == "\u2013"  # never 0
    assert "From the cache" in cells(unknown)[1]


def test_a_notebook_shows_why_there_is_no_rate_and_the_support_reference(outcomes):
    shown = " ".join(cells(outcomes["CA"]))
    assert shown.startswith("unresolved: no rate ZIP 10001 is not in California")
    assert outcomes["CA"].support_reference in shown


@given(st.text(max_size=30))
def test_nothing_of_an_answer_becomes_markup(text):
    shown = Outcome("failed", f"<script>{text}", support_reference=f"<b>{text}")._repr_html_()
    empty = Outcome("failed", "", support_reference="")._repr_html_()
    assert shown.count("<") == empty.count("<")


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


def test_one_value_is_told_as_it_is():
    reason = "zip: 'O8101' is not a ZIP; expected five digits such as 78701"
    assert counted_alike([("invalid", reason, 5)]) == [("invalid", reason, 5)]


def test_the_same_words_under_another_status_stay_apart():
    reasons = [("invalid", "zip: 'a' is bad", 1), ("failed", "zip: 'b' is bad", 2)]
    assert counted_alike(reasons) == [reasons[1], reasons[0]]


def test_what_is_not_quoted_at_the_beginning_stays_apart():
    reasons = [("unresolved", f"ZIP {zip5} is not in Florida", 1) for zip5 in ("30705", "30301")]
    assert counted_alike(reasons) == reasons


@given(st.lists(st.tuples(st.text(max_size=9), st.integers(1, 99)), min_size=1))
def test_any_cells_are_one_reason_and_no_row_is_lost(cells):
    told = dict(cells)
    ((_, reason, rows),) = counted_alike(
        ("invalid", f"zip: {value!r} is not a ZIP", count) for value, count in told.items()
    )
    assert rows == sum(told.values())
    most = max(told, key=told.__getitem__)
    assert reason.startswith(f"zip: {most!r}")
    assert (f"(and {len(told) - 1:,} other value" in reason) is (len(told) > 1)
