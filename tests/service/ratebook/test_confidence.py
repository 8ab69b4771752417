"""The table of confidence, row by row, and its copy in the book's SOURCES.md."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook.rating import DOUBTS, LEVELS, LIMITS, STARTS, Grounds, confidence

BEST = Grounds("B", "named")

STARTING = [
    ("boundary_record", Grounds("E", "address"), "exact"),
    ("boundary_record", Grounds("A", "zip4"), "exact"),
    ("boundary_street", Grounds("B", "street"), "high"),
    ("boundary_zip", Grounds("D", "boundary_zip"), "high"),
    ("state_alone", Grounds("A", "state"), "high"),
    ("state_part_only", Grounds("E", "state"), "low"),
    ("official_code", Grounds("C", "code"), "exact"),
    ("listed_area", Grounds("B", "county"), "high"),
    ("listed_area", Grounds("C", "zip"), "high"),
    ("listed_area", Grounds("C", "nearest"), "high"),
    ("listed_cities", Grounds("D", "named"), "medium"),
    ("towns_of_a_table", Grounds("none", "zip", third_hand=True), "low"),
    ("known_borough", Grounds("none", "zip"), "high"),
]
LIMITING = [
    ("several_rates", {"several": True}, "medium"),
    ("several_rates", {"several": True, "decided": "zip", "land": 500}, "medium"),
    ("several_rates", {"several": True, "decided": "zip", "land": 0}, "medium"),  # not known
    ("several_rates", {"several": True, "share": 9_799}, "medium"),
    ("several_rates", {"several": True, "share": 9_000}, "medium"),
    ("housing_elsewhere", {"several": True, "share": 8_999}, "low"),
    ("housing_elsewhere", {"several": True, "decided": "zip", "share": 0}, "low"),
    ("land_elsewhere", {"several": True, "decided": "zip", "land": 499}, "low"),
    ("land_elsewhere", {"several": True, "decided": "postal", "land": 1}, "low"),
    ("nearest_place", {"several": True, "decided": "nearest"}, "low"),
    ("further_name", {"several": True, "further": True}, "low"),
    ("no_crosswalk", {"no_crosswalk": True}, "medium"),
    ("zip_outside_its_city", {"outside": True}, "medium"),
    ("zip_of_another_state", {"across": True}, "medium"),
    ("place_mismatch", {"mismatch": "same"}, "medium"),
    ("place_mismatch_rate", {"mismatch": "differs"}, "low"),
    ("zip_not_used", {"zip_not_used": True}, "medium"),
    ("city_for_zip", {"tier": "C", "zip_not_used": True}, "low"),
    ("near_boundary", {"near_boundary": True}, "medium"),
    ("limit_close", {"limit": "close"}, "low"),
    ("limit_near", {"limit": "near"}, "medium"),
    ("limit_growing", {"limit": "growing"}, "low"),
    ("limit_inexact", {"limit": "inexact"}, "medium"),
    ("limit_far", {"limit": "far"}, "medium"),
    ("new_place", {"limit": "new"}, "low"),
    ("limits_unplaced", {"limit": "unplaced"}, "low"),
    ("similar_address", {"similar": True}, "medium"),
    ("off_map", {"off_map": True}, "low"),
    ("third_hand", {"third_hand": True}, "medium"),
    ("likely", {"likely": True}, "medium"),
    ("stale", {"stale": True}, "medium"),
    ("conflict_medium", {"conflict_cap": "medium"}, "medium"),
    ("conflict_low", {"conflict_cap": "low"}, "low"),
    ("unknown_code", {"unknown_code": True}, "medium"),
    ("ambiguous_name", {"ambiguous": True}, "medium"),
    ("after_edition", {"after_edition": True}, "medium"),
    ("agreed_since", {"after_edition": True, "agreed_since": True}, "medium"),
    ("long_after", {"long_after": True}, "low"),
    ("districts_unplaced", {"districts_unplaced": True}, "low"),
    ("partial", {"partial": True}, "low"),
    ("before_history", {"before_history": True}, "low"),
]
SILENT = [
    {"share": 1, "decided": "zip"},
    {"land": 1, "decided": "zip"},
    {"decided": "nearest"},
    {"further": True},
    {"several": True, "share": 9_800},
    {"several": True, "share": 10_000},
]
"""What says nothing: while only one rate is possible, or nearly all housing has it."""


@pytest.mark.parametrize(("name", "grounds", "level"), STARTING)
def test_where_it_starts(name, grounds, level):
    assert next(rule.name for rule in STARTS if rule.applies(grounds)) == name
    assert confidence(grounds) == level


@pytest.mark.parametrize(("name", "changed", "level"), LIMITING)
def test_what_holds_it_down(name, changed, level):
    grounds = BEST._replace(**changed)
    also = {
        "place_mismatch": "mismatch",
        "several_rates": "several",
        "zip_not_used": "zip_not_used",
    }
    before = [rule for rule, field in also.items() if field in changed and rule != name]
    before += ["limit_near"] if name == "limit_growing" else []
    assert [rule.name for rule in LIMITS if rule.applies(grounds)] == [*before, name]
    assert confidence(grounds) == level


def test_every_rule_is_tested():
    assert {name for name, *_ in STARTING} == {rule.name for rule in STARTS}
    assert list(dict.fromkeys(name for name, *_ in LIMITING)) == [rule.name for rule in LIMITS]


@pytest.mark.parametrize("changed", SILENT)
def test_one_possible_rate_is_not_held_down(changed):
    assert confidence(BEST._replace(**changed)) == "high"


def test_steps_add_up_and_end_at_low():
    assert confidence(BEST._replace(ambiguous=True, after_edition=True)) == "low"
    assert confidence(Grounds("E", "state", after_edition=True)) == "low"
    for field in ("no_crosswalk", "zip_not_used", "outside"):
        assert confidence(Grounds("A", "state")._replace(**{field: True})) == "high"
    assert confidence(Grounds("A", "state", mismatch="same")) == "high"


FIELDS = {field: st.booleans() for field in Grounds._fields} | {
    "share": st.none() | st.integers(0, 10_000),
    "land": st.integers(0, 1_000),
    "tier": st.sampled_from(["A", "B", "C", "D", "E", "none"]),
    "decided": st.sampled_from(
        ["state", "code", "named", "zip", "postal", "nearest", "limits", "zip4"]
    ),
    "mismatch": st.sampled_from(["", "same", "differs"]),
    "conflict_cap": st.sampled_from(["", "low", "medium"]),
    "limit": st.sampled_from(DOUBTS),
}


@given(st.builds(Grounds, **FIELDS))
def test_no_circumstance_ever_raises_it(grounds):
    level = LEVELS.index(confidence(grounds))
    clean = Grounds(grounds.tier, grounds.decided)
    assert level <= LEVELS.index(confidence(clean))
    if grounds.third_hand:
        assert level <= LEVELS.index("medium")


def rules_table():
    """The rules as the Markdown table that SOURCES.md has to hold."""
    lines = ["| rule | confidence | because |", "| --- | --- | --- |"]
    lines += [f"| `{rule.name}` | starts at {rule.level} | {rule.reason} |" for rule in STARTS]
    for rule in LIMITS:
        effect = "one step less" if rule.level == "down" else f"at most {rule.level}"
        lines.append(f"| `{rule.name}` | {effect} | {rule.reason} |")
    return "\n".join(lines) + "\n"


def test_the_documented_table_is_the_one_in_force():
    text = resources.files("svc_tools.service.ratebook").joinpath("data", "SOURCES.md").read_text()
    assert rules_table() in text
