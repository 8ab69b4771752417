"""What is taken out of an answer: its range, its components, and what support needs; no more."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import found as found_as
from support.faults import GOOD, KEY

from svc_sdk import NotFoundError, ServiceError, Svc, TaxResponse, TransportError
from svc_tools.lookup import Component, Outcome, Status
from svc_tools.lookup.many import lookup_many
from svc_tools.lookup.outcomes import NO_SUM, failed, of_response
from svc_tools.lookup.reviewing import as_of_status, review_reasons, warnings_of
from svc_tools.lookup.troubles import counted_alike
from svc_tools.tables.places import Place

PLACE = Place("TX", "zip", zip="78701")
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def outcome(*, warnings=(), **extra):
    body = json.loads(GOOD) | extra
    body["meta"]["warnings"] = list(warnings)
    return of_response(PLACE, TaxResponse.model_validate(body), at=AT)


_OURS = ["US", "us", "USA", "840", 840, "United States", "U.S.", "united states of america", " US "]


@pytest.mark.parametrize("country", [*_OURS, "", "  ", None])
def test_a_rate_of_the_united_states_is_one_however_its_country_is_written(country):
    rate = json.loads(GOOD)["rate"] | {"country": country}
    assert outcome(rate=rate).status == "ok"


@pytest.mark.parametrize(
    ("country", "named"),
    [
        *((one, "Canada (CA)") for one in ("CA", "ca", "CAN", "Canada", "124", 124)),
        ("Deutschland", "Germany (DE)"),
        ("Atlantis", "'Atlantis'"),
        ("PR", "Puerto Rico (PR)"),
    ],
)
@pytest.mark.parametrize("confidence", ["high", "none"])
def test_a_rate_of_another_country_is_no_rate_and_both_are_named(country, named, confidence):
    body = json.loads(GOOD)
    body["rate"] |= {"country": country}
    body["meta"] |= {"confidence": confidence}
    response = TaxResponse.model_validate(body)
    for place in (PLACE, None):
        found = of_response(place, response, at=AT)
        assert (found.status, found.found, found.looked_up_at) == ("failed", None, AT)
        assert f"a rate of {named}," in found.error
        assert "the United States (US)" in found.error


def spans(low, high, code="zip_spans_jurisdictions"):
    return {"code": code, "lowest_combined_rate": low, "highest_combined_rate": high}


def candidates(*rates):
    return {"candidates": [{"combined_rate": rate} for rate in rates]}


def warned(*warnings):
    return {"warnings": warnings}


NO_RATES = [None, 0.06, "6%", "", "-0.01000", "1.50000", "0.20001", "0.0625001", [], {}, True]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, (None, None)),
        (candidates("0.08250"), (None, None)),
        (candidates("0.08250", "0.08250"), (8250, 8250)),
        (candidates("0.08250", "0.06250", "0.10000"), (6250, 10000)),
        (warned(spans("0.06250", "0.08250")), (6250, 8250)),
        (warned(spans("0.08250", "0.08250")), (8250, 8250)),
        (warned(spans("0.09000", "0.09500")), (8250, 9500)),  # with the rate that was chosen
        (
            warned(spans("0.07000", "0.08250"), spans("0.08000", "0.09000", "address_not_matched")),
            (7000, 9000),
        ),
        # equal rates say nothing of another city whose rate is not given
        *(
            case
            for code in ("place_input_mismatch", "zip_not_used")
            for case in [
                (warned(spans("0.08250", "0.08250", code)), (8250, 8250)),
                (warned(code) | candidates("0.08250", "0.08250"), (None, None)),
                (warned({"code": code}, spans("0.06250", "0.08250")), (6250, 8250)),
            ]
        ),
        # what is no rate says nothing and spoils nothing
        *((warned(spans(odd, "0.09000")), (8250, 9000)) for odd in NO_RATES),
        *((warned(spans(odd, odd)), (None, None)) for odd in NO_RATES),
        *((candidates(odd, "0.07"), (7000, 8250)) for odd in NO_RATES),
        *(({"candidates": odd}, (None, None)) for odd in (None, 1, "x", {}, [1, None], [[]])),
    ],
)
def test_the_range_is_that_of_the_warnings_and_of_the_candidates(extra, expected):
    found = outcome(**extra).found
    assert (found.combined, found.low, found.high) == (8250, *expected)


TEXAS = {"level": "state", "name": "Texas", "code": 48, "rate": "0.06250", "trust": "official"}
AUSTIN = {"level": "city", "name": "Austin", "code": None, "rate": "0.02000"}


@pytest.mark.parametrize(
    ("given_parts", "expected"),
    [
        (
            [TEXAS, AUSTIN],
            (Component("state", "Texas", "48", 6250), Component("city", "Austin", None, 2000)),
        ),
        # with a hole they would look whole
        *(
            ([TEXAS, TEXAS | hole], ())
            for hole in ({"rate": "much"}, {"rate": None}, {"name": None}, {"level": 3})
        ),
        *((odd, ()) for odd in (None, 1, "x", {}, [1, None], [[]])),
    ],
)
def test_components_have_level_name_code_and_rate(given_parts, expected):
    assert outcome(components=given_parts).found.components == expected


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


def test_the_time_of_a_response_is_stored_also_where_there_is_no_rate():
    assert outcome().looked_up_at == AT
    assert outcome(rate={"combined_rate": None}).looked_up_at == AT
    gone = NotFoundError("gone", status_code=404, error_code="NOT_FOUND", support_reference="r-1")
    result = failed(gone, at=AT)
    assert (result.status, result.error, result.looked_up_at) == ("unresolved", "gone", AT)
    assert (result.support_reference, result.error_code) == ("r-1", "NOT_FOUND")
    assert failed(TransportError("no connection"), at=AT).looked_up_at is None
    downs = [ServiceError("down", status_code=503, support_reference=one) for one in ("a", None)]
    assert len({failed(error).error for error in downs}) == 1  # equal failures read equally


@pytest.fixture(scope="module")
def outcomes(service):
    queries = {"NJ": "07030", "LA": "70601", "TX": "75703", "CA": "10001"}
    places = [{"state": state, "zip": queries[state], "as_of": "2026-08-03"} for state in queries]
    with Svc(KEY, base_url=service) as client:
        return {item["state"]: one for item, one in lookup_many(places, client=client)}


def cells(outcome):
    lines = re.sub(r"<[^>]+>", "\n", outcome._repr_html_()).split("\n")
    return [line.strip() for line in lines if line.strip()]


def test_a_notebook_shows_the_exact_rate_its_parts_and_its_source(outcomes):
    whole, partial = outcomes["NJ"], outcomes["LA"]
    unknown = replace(whole, found=replace(whole.found, districts=None), cached=True)
    for outcome, head, value in (
        (whole, "Combined", "6.625%"),
        (whole, "City", "0.00%"),
        (whole, "Source", whole.found.source),
        (outcomes["TX"], "Range", "6.75% to 8.25%"),
        (unknown, "Districts", "\u2013"),  # never 0
    ):
        shown = cells(outcome)
        assert shown[shown.index(head) + 1] == value
    assert cells(whole)[0].startswith("ok: 6.625%")
    assert cells(partial)[0].startswith("partial: 5.00%")
    assert "local_rates_not_covered" in cells(partial)[1]
    failed = " ".join(cells(outcomes["CA"]))
    assert failed.startswith("unresolved")
    assert outcomes["CA"].support_reference in failed


@given(st.text(max_size=30))
def test_nothing_of_an_answer_becomes_markup(text):
    shown = Outcome("failed", f"<script>{text}", support_reference=f"<b>{text}")._repr_html_()
    empty = Outcome("failed", "", support_reference="")._repr_html_()
    assert shown.count("<") == empty.count("<")


DAY = date(2026, 5, 1)
UNPROVEN = f"""
as_of_before_history local_rates_not_covered districts_not_covered source_conflict
seasonal_rates stale_rate {NO_SUM}
"""
FOUND = found_as(effective_date="2026-01-01")


REVIEWED = f"""
place_input_mismatch zip_not_used zip_of_another_state zip_crosses_state_line near_state_line
near_map_edge point_off_map source_conflict as_of_before_history as_of_after_edition stale_rate
seasonal_rates {NO_SUM}
"""


def reasons(*warnings, status="ok", **changes):
    found = replace(FOUND, warnings=warnings, **changes)
    return review_reasons(Outcome(status, None, found), warnings, DAY)


def test_a_sure_result_with_one_rate_requires_no_review():
    for confidence in ("exact", "high", "medium"):
        assert reasons(confidence=confidence) == ()
    assert reasons(effective_date=None, effective_date_basis="edition_only") == ()
    assert reasons("address_not_matched", "as the service likes it") == ()
    assert reasons("address_districts_not_covered") == ()
    assert reasons("failed", "several_rates", "low_confidence") == ()  # warnings, no statuses


@pytest.mark.parametrize(
    ("warnings", "changes", "expected"),
    [
        *(("", {"confidence": confidence}, "low_confidence") for confidence in ("low", "none")),
        ("", {"confidence": None}, "confidence_unknown"),
        ("", {"combined": 20_001}, "rate_too_high"),
        ("stale_rate", {"confidence": "sure"}, "stale_rate confidence_unknown"),
        # no further reason where another explains it
        ("as_of_before_history", {"confidence": "low"}, "as_of_before_history"),
        ("address_not_matched", {"confidence": "low"}, "low_confidence"),
        *((code, {}, code) for code in REVIEWED.split()),
        ("zip_spans_jurisdictions", {"low": 6250, "high": 8250}, "several_rates"),
        ("zip_spans_jurisdictions", {"low": 8250, "high": 8250}, ""),
        ("zip_spans_jurisdictions", {}, "zip_spans_jurisdictions"),
        # another city, only where its rate may be another
        *(
            case
            for code in ("place_input_mismatch", "zip_not_used")
            for case in [
                (code, {"low": 8250, "high": 8250}, ""),
                (code, {"low": 6250, "high": 8250}, f"{code} several_rates"),
                (code, {"resolved_state": "CT"}, ""),
                (code, {"resolved_state": "CT", "confidence": "low"}, "low_confidence"),
                (f"{code} source_conflict", {"low": 8250, "high": 8250}, "source_conflict"),
            ]
        ),
        # a rate that is law only after the sale
        ("", {"effective_date": "2026-05-02"}, "effective_after_sale"),
        ("", {"effective_date": "2026-05-01"}, ""),
        ("", {"effective_date": "2026-05-02", "effective_date_basis": "edition_only"}, ""),
        ("", {"effective_date": "soon"}, ""),
        # the most pressing first
        (
            "as_of_before_history place_input_mismatch",
            {"confidence": "low", "low": 1, "high": 2},
            "place_input_mismatch several_rates as_of_before_history",
        ),
    ],
)
def test_what_requires_review(warnings, changes, expected):
    assert reasons(*warnings.split(), **changes) == tuple(expected.split())


@pytest.mark.parametrize("status", [one.text for one in Status if one.review])
def test_a_row_without_a_whole_rate_requires_review(status):
    found = FOUND if status == "partial" else None
    assert review_reasons(Outcome(status, "why", found), (), DAY) == (status,)


def test_a_city_that_was_compared_here_has_no_known_rate():
    found = replace(FOUND, warnings=(), low=8250, high=8250)  # of the candidates of the ZIP
    outcome = Outcome("ok", None, found)
    warnings = warnings_of(found, "Dallas")
    assert review_reasons(outcome, warnings, DAY) == ("place_input_mismatch",)
    connecticut = replace(found, resolved_state="CT", low=None, high=None)
    outcome = Outcome("ok", None, connecticut)
    assert review_reasons(outcome, warnings_of(connecticut, "Dallas"), DAY) == ()


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "verified"),
        ({"effective_date": "2026-05-01"}, "verified"),
        ({"effective_date": "2026-05-02"}, "unverified"),
        ({"effective_date": None}, "unverified"),
        ({"effective_date": "01/01/2026"}, "unverified"),
        ({"effective_date_basis": "edition_only"}, "unverified"),
        ({"effective_date_basis": None}, "unverified"),
        ({"warnings": ("x", "as_of_after_edition")}, "unverified"),
        *(({"warnings": (code,)}, "unverified") for code in UNPROVEN.split()),
    ],
)
def test_a_date_is_verified_only_by_the_publishers_own_day(changes, status):
    assert as_of_status(replace(FOUND, **changes), DAY, DAY) == status


def test_the_first_day_of_a_period_and_a_day_to_come_prove_nothing():
    assert as_of_status(None, DAY, DAY) is None
    assert as_of_status(FOUND, DAY, date(2026, 5, 2)) == "unverified"
    before = datetime(2026, 4, 30, 9, tzinfo=UTC)  # the day has not begun anywhere
    assert as_of_status(FOUND, DAY, DAY, before) == "unverified"
    assert as_of_status(FOUND, DAY, DAY, before.replace(hour=10)) == "verified"


@pytest.mark.parametrize(
    "found",
    [
        [("invalid", "zip: 'O8101' is not a ZIP; expected five digits such as 78701", 5)],
        [("failed", "zip: 'b' is bad", 2), ("invalid", "zip: 'a' is bad", 1)],
        [("unresolved", f"ZIP {zip5} is not in Florida", 1) for zip5 in ("30705", "30301")],
    ],
)
def test_reasons_that_are_not_alike_stay_separate(found):
    assert counted_alike(found) == found


@pytest.mark.parametrize(
    "reason",
    [
        "zip: '{0}' has lost a leading zero, perhaps, but no state would confirm 0{0}",
        "lat: {0} is not within -90 to 90 degrees",
    ],
)
def test_reasons_that_differ_in_a_number_are_one(reason):
    found = [("invalid", reason.format(number), number) for number in (3765, 4123, 5001)]
    ((_, told, rows),) = counted_alike(found)
    assert rows == 3765 + 4123 + 5001
    assert "5001" in told
    assert "(and 2 other values)" in told


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


def test_a_result_shows_the_share_of_the_housing_that_has_its_rate():
    shown = Outcome("ok", None, found_as(share=9300))._repr_html_()
    assert "Share of the ZIP" in shown
    assert "93.00%" in shown
