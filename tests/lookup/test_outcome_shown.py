"""An outcome in a notebook: the rate and what it rests on, or why there is none."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import KEY

from svc_sdk import Svc
from svc_tools.lookup import Outcome
from svc_tools.lookup.many import lookup_many


@pytest.fixture(scope="module")
def outcomes(service):
    asked = {"NJ": "07030", "LA": "70112", "TX": "75703", "CA": "10001", "PR": "00901"}
    places = [{"state": state, "zip": asked[state], "as_of": "2026-08-03"} for state in asked]
    with Svc(KEY, base_url=service) as client:
        return {item["state"]: one for item, one in lookup_many(places, client=client)}


def cells(outcome):
    lines = re.sub(r"<[^>]+>", "\n", outcome._repr_html_()).split("\n")
    return [line.strip() for line in lines if line.strip()]


def after(outcome, head):
    told = cells(outcome)
    return told[told.index(head) + 1]


def test_a_whole_rate_is_shown_digit_for_digit_with_its_confidence(outcomes):
    answer = outcomes["NJ"]
    assert cells(answer)[0] == f"ok: 0.06625, confidence {answer.found.confidence}"
    assert after(answer, "Together") == "0.06625"
    assert after(answer, "Source") == answer.found.source


def test_a_partial_rate_is_never_shown_as_a_whole_one(outcomes):
    told = cells(outcomes["LA"])
    assert told[0] == "partial: 0.05000 is known, and lacks a part of the rate"
    assert told[1] == "local_rates_not_covered"


def test_a_rate_beside_others_is_shown_with_the_lowest_and_the_highest(outcomes):
    assert after(outcomes["TX"], "May lie between") == "0.06750 to 0.08250"


def test_a_part_that_is_not_known_is_a_dash_and_no_zero(outcomes):
    unknown = replace(outcomes["TX"], found=replace(outcomes["TX"].found, districts=None))
    assert after(unknown, "Districts") == "\u2013"
    assert after(outcomes["NJ"], "City") == "0.00000"


def test_no_answer_says_why_and_what_to_quote(outcomes):
    told = " ".join(cells(outcomes["CA"]))
    assert told.startswith("unresolved: no rate ZIP 10001 is not in California")
    assert outcomes["CA"].support_reference in told
    assert "Answered" in told
    assert "Answered" not in " ".join(cells(outcomes["PR"]))


def test_an_answer_from_the_cache_says_so(outcomes):
    assert "Answer from the cache" in replace(outcomes["NJ"], cached=True)._repr_html_()


@given(st.text(max_size=30))
def test_nothing_of_an_answer_becomes_markup(text):
    shown = Outcome("failed", f"<script>{text}", support_reference=f"<b>{text}")._repr_html_()
    empty = Outcome("failed", "", support_reference="")._repr_html_()
    assert shown.count("<") == empty.count("<")
