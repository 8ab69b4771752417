"""How far an answer may be trusted: one table of rules, each with its name and its reason.

The first rule of `STARTS` that applies gives the level to start from; then every rule of
`LIMITS` that applies holds it down, in order. `none` is not here: it comes with a 404.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LEVELS", "LIMITS", "STARTS", "Grounds", "Rule", "confidence"]

LEVELS = ("low", "medium", "high", "exact")
"""The levels an answer with a rate may have, the weakest first."""


class Grounds(NamedTuple):
    """What an answer rests on.

    Attributes:
        tier: the state's tier: `A`, `B`, `C`, `D`, `E`, or `none`.
        decided: what decided the rate: `state`, `code` (an official location code),
            `named_city`, `named_county`, `county` (of a ZIP or point), `zip_city` (the city name
            of a ZIP or of the nearest one), `guessed_place` (a name that is no taxing city).
        several: more than one area is possible.
        no_crosswalk: the ZIP is not in the crosswalk; its county is the postal table's.
        across: the ZIP is one of another state.
        mismatch: the city given is none of the ZIP's: `same` where it has the same rate or no
            known one, `differs` where it has another; empty without a mismatch.
        zip_not_used: the ZIP given is unknown or damaged, and the city decided in its place.
        overlay: a part of the county is under a further district whose limits are not known.
        near_boundary: the point lies near a boundary that matters.
        off_map: the point lies in no county of the map.
        ambiguous: the name leads to several areas with different rates.
        third_hand: a row that decides is third hand.
        conflict_cap: the most that rows in conflict allow; empty without any.
        districts_unplaced: districts had rates on that day that the book cannot place.
        before_history: the day lies before the oldest row.
        after_edition: the day lies after what the edition covers.
        unknown_code: a boundary record names a code that no rate is known for.
        state_part: only the state part is known there.
    """

    tier: str
    decided: str
    several: bool = False
    no_crosswalk: bool = False
    across: bool = False
    mismatch: str = ""
    zip_not_used: bool = False
    overlay: bool = False
    near_boundary: bool = False
    off_map: bool = False
    ambiguous: bool = False
    third_hand: bool = False
    conflict_cap: str = ""
    districts_unplaced: bool = False
    before_history: bool = False
    after_edition: bool = False
    unknown_code: bool = False
    state_part: bool = False


class Rule(NamedTuple):
    """One row of the table: `level` is a level, or `down` for one step less."""

    name: str
    applies: Callable[[Grounds], bool]
    level: str
    reason: str


STARTS = (
    Rule(
        "boundary_record",
        lambda g: g.decided in {"address", "zip4"},
        "exact",
        "a boundary record of the ZIP+4 or the address decides",
    ),
    Rule(
        "boundary_street",
        lambda g: g.decided == "street",
        "high",
        "a boundary record of the only street of that name with that number decides",
    ),
    Rule(
        "boundary_zip",
        lambda g: g.decided == "boundary_zip",
        "high",
        "boundary records of the ZIP decide",
    ),
    Rule("state_alone", lambda g: g.tier == "A", "high", "no local tax: the state decides"),
    Rule("state_part_only", lambda g: g.tier == "E", "low", "local rates are not covered"),
    Rule(
        "official_code",
        lambda g: g.decided == "code",
        "exact",
        "an official location code names the rate",
    ),
    Rule(
        "county_decides",
        lambda g: g.tier == "B",
        "high",
        "the county, or a taxing city named, decides",
    ),
    Rule(
        "city_named",
        lambda g: g.tier == "C" and g.decided in {"named_city", "named_county"},
        "medium",
        "the city or county is named; its limits are not known",
    ),
    Rule(
        "city_is_county",
        lambda g: g.tier == "C" and g.decided == "county",
        "medium",
        "the county decides: it is a city too, or no city of the name has a rate of its own",
    ),
    Rule(
        "city_of_zip",
        lambda g: g.tier == "C",
        "low",
        "only the city name of a ZIP, or a name that is no taxing city, decides",
    ),
    Rule(
        "main_cities",
        lambda g: g.tier == "D",
        "low",
        "counties and main cities of a transcribed table; further districts are not resolved",
    ),
    Rule(
        "towns_of_a_table",
        lambda g: g.tier == "none",
        "low",
        "a town of a transcribed table, with rates that change by season",
    ),
)
"""Where confidence starts: the first that applies."""

LIMITS = (
    Rule("several_areas", lambda g: g.several, "medium", "more than one area is possible"),
    Rule(
        "no_crosswalk",
        lambda g: g.no_crosswalk and g.tier != "A",
        "medium",
        "the county is the postal table's single one, or its city's",
    ),
    Rule("zip_of_another_state", lambda g: g.across, "medium", "a part of another state's ZIP"),
    Rule("place_mismatch", lambda g: bool(g.mismatch), "medium", "the city is not the ZIP's"),
    Rule(
        "place_mismatch_rate",
        lambda g: g.mismatch == "differs",
        "low",
        "the city is not the ZIP's and has another rate",
    ),
    Rule(
        "zip_not_used",
        lambda g: g.zip_not_used and g.tier != "A",
        "medium",
        "the ZIP given leads nowhere, and the city decides in its place",
    ),
    Rule(
        "transit_overlay",
        lambda g: g.overlay,
        "medium",
        "a part of the county has a transit tax, told only by the names of its cities",
    ),
    Rule(
        "near_boundary",
        lambda g: g.near_boundary,
        "medium",
        "within about a kilometre of a boundary that matters",
    ),
    Rule("off_map", lambda g: g.off_map, "low", "in no county of the map, beside the nearest"),
    Rule("third_hand", lambda g: g.third_hand, "medium", "a deciding row is third hand"),
    Rule("conflict_medium", lambda g: g.conflict_cap == "medium", "medium", "sources disagree"),
    Rule("conflict_low", lambda g: g.conflict_cap == "low", "low", "sources disagree"),
    Rule("unknown_code", lambda g: g.unknown_code, "medium", "a boundary code without a rate"),
    Rule("ambiguous_name", lambda g: g.ambiguous, "down", "the name has several rates"),
    Rule("after_edition", lambda g: g.after_edition, "down", "later than the edition covers"),
    Rule("districts_unplaced", lambda g: g.districts_unplaced, "low", "districts not placed"),
    Rule("state_part_there", lambda g: g.state_part, "low", "only the state part is known there"),
    Rule("before_history", lambda g: g.before_history, "low", "before the oldest row"),
)
"""What holds confidence down: every one that applies, in order."""


@lru_cache(maxsize=1024)
def confidence(grounds: Grounds) -> str:
    """The level an answer on these grounds may claim."""
    level = LEVELS.index(next(rule.level for rule in STARTS if rule.applies(grounds)))
    for rule in LIMITS:
        if rule.applies(grounds):
            level = max(level - 1, 0) if rule.level == "down" else min(level, _INDEX[rule.level])
    return LEVELS[level]


_INDEX = {level: index for index, level in enumerate(LEVELS)}
