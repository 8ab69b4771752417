"""The table of confidence, row by row, and its copy in the book's SOURCES.md."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook.rating import LEVELS, LIMITS, STARTS, Grounds, confidence

BEST = Grounds("B", "county")

STARTING = [
    ("boundary_record", Grounds("E", "address"), "exact"),
    ("boundary_record", Grounds("A", "zip4"), "exact"),
    ("boundary_street", Grounds("B", "street"), "high"),
    ("boundary_zip", Grounds("D", "boundary_zip"), "high"),
    ("state_alone", Grounds("A", "state"), "high"),
    ("state_part_only", Grounds("E", "state"), "low"),
    ("official_code", Grounds("C", "code"), "exact"),
    ("county_decides", Grounds("B", "county"), "high"),
    ("city_named", Grounds("C", "named_city"), "medium"),
    ("city_named", Grounds("C", "named_county"), "medium"),
    ("city_is_county", Grounds("C", "county"), "medium"),
    ("city_of_zip", Grounds("C", "zip_city"), "low"),
    ("city_of_zip", Grounds("C", "guessed_place"), "low"),
    ("main_cities", Grounds("D", "named_city"), "low"),
    ("main_cities", Grounds("D", "county"), "low"),
    ("towns_of_a_table", Grounds("none", "named_city"), "low"),
    ("towns_of_a_table", Grounds("none", "zip_city"), "low"),
]
LIMITING = [
    ("several_areas", {"several": True}, "medium"),
    ("no_crosswalk", {"no_crosswalk": True}, "medium"),
    ("zip_of_another_state", {"across": True}, "medium"),
    ("place_mismatch", {"mismatch": "same"}, "medium"),
    ("place_mismatch_rate", {"mismatch": "differs"}, "low"),
    ("zip_not_used", {"zip_not_used": True}, "medium"),
    ("transit_overlay", {"overlay": True}, "medium"),
    ("near_boundary", {"near_boundary": True}, "medium"),
    ("off_map", {"off_map": True}, "low"),
    ("third_hand", {"third_hand": True}, "medium"),
    ("conflict_medium", {"conflict_cap": "medium"}, "medium"),
    ("conflict_low", {"conflict_cap": "low"}, "low"),
    ("unknown_code", {"unknown_code": True}, "medium"),
    ("ambiguous_name", {"ambiguous": True}, "medium"),
    ("after_edition", {"after_edition": True}, "medium"),
    ("districts_unplaced", {"districts_unplaced": True}, "low"),
    ("state_part_there", {"state_part": True}, "low"),
    ("before_history", {"before_history": True}, "low"),
]


@pytest.mark.parametrize(("name", "grounds", "level"), STARTING)
def test_where_it_starts(name, grounds, level):
    assert next(rule.name for rule in STARTS if rule.applies(grounds)) == name
    assert confidence(grounds) == level


@pytest.mark.parametrize(("name", "changed", "level"), LIMITING)
def test_what_holds_it_down(name, changed, level):
    grounds = BEST._replace(**changed)
    also = ["place_mismatch"] if name == "place_mismatch_rate" else []
    assert [rule.name for rule in LIMITS if rule.applies(grounds)] == [*also, name]
    assert confidence(grounds) == level


def test_every_rule_is_tested():
    assert {name for name, *_ in STARTING} == {rule.name for rule in STARTS}
    assert [name for name, *_ in LIMITING] == [rule.name for rule in LIMITS]


def test_steps_add_up_and_end_at_low():
    assert confidence(BEST._replace(ambiguous=True, after_edition=True)) == "low"
    assert confidence(Grounds("E", "state", after_edition=True)) == "low"
    assert confidence(Grounds("A", "state", no_crosswalk=True)) == "high"
    assert confidence(Grounds("A", "state", zip_not_used=True)) == "high"


@given(
    st.builds(
        Grounds,
        st.sampled_from(["A", "B", "C", "D", "E", "none"]),
        st.sampled_from(
            ["state", "code", "named_city", "county", "zip_city", "zip4", "boundary_zip"]
        ),
        *[st.booleans()] * 3,
        st.sampled_from(["", "same", "differs"]),
        *[st.booleans()] * 6,
        st.sampled_from(["", "low", "medium"]),
        *[st.booleans()] * 5,
    )
)
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
