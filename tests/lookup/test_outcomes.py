"""What is taken out of an answer: its range, its components, and what support needs; no more."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import GOOD

from svc_sdk import NotFoundError, ServiceError, TaxResponse, TransportError
from svc_tools.lookup import Component
from svc_tools.lookup.outcomes import failed, of_answer
from svc_tools.places import Place

PLACE = Place("TX", "zip", zip="78701")
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def outcome(*, warnings=(), **extra):
    body = json.loads(GOOD) | extra
    body["meta"]["warnings"] = list(warnings)
    return of_answer(PLACE, TaxResponse.model_validate(body), at=AT)


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
