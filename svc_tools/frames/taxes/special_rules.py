"""Rules of single states that a rate alone does not hold: origin sourcing, and caps on an item.

They mark rows for a person and never change a figure: the tax is that of the destination, on the
whole amount. The tables say how sure each row is; check with the state before you rely on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["CAPS", "ORIGIN_SOURCED", "Cap", "OriginSourcing", "of_states", "over_cap"]


class OriginSourcing(NamedTuple):
    """How a state sources sales that are shipped within it.

    `part` is what goes by the origin: `all` of the tax, or `some` of it.
    """

    part: Literal["all", "some"]
    note: str
    certainty: Literal["high", "medium", "low"]
    checked: str
    """The day on which published summaries were last read (ISO)."""


_READ = "2026-11-21"
ORIGIN_SOURCED = {
    "AZ": OriginSourcing("all", "sellers within the state", "medium", _READ),
    "CA": OriginSourcing(
        "some",
        "state, county and city parts by origin, district taxes by destination",
        "high",
        _READ,
    ),
    "IL": OriginSourcing("all", "sellers who sell from within the state", "medium", _READ),
    "MO": OriginSourcing("all", "sellers within the state", "medium", _READ),
    "MS": OriginSourcing("all", "summaries differ on whether it is listed", "low", _READ),
    "OH": OriginSourcing("all", "goods; some services by destination", "medium", _READ),
    "PA": OriginSourcing("all", "goods; services by destination", "medium", _READ),
    "TN": OriginSourcing("all", "local tax of sellers within the state", "medium", _READ),
    "TX": OriginSourcing(
        "some",
        "cities and counties by origin; destination districts may come on top",
        "high",
        _READ,
    ),
    "UT": OriginSourcing("all", "sellers within the state", "medium", _READ),
    "VA": OriginSourcing("all", "sellers within the state", "medium", _READ),
}
"""States that tax sales shipped within them by where they are shipped from.

Compiled from public summaries, none checked against a state's own page. New Mexico, which older
summaries list, sources by destination since 2021-07.
"""


class Cap(NamedTuple):
    """Local tax applies to the first `cents` of one item only."""

    cents: int
    note: str
    certainty: Literal["high", "medium", "low"]
    checked: str


CAPS = {
    "FL": Cap(500_000, "county surtax on the first $5,000 of a single item", "high", _READ),
    "TN": Cap(
        160_000,
        "local tax on the first $1,600 of a single article; the state has a tax of 2.75 % on"
        " the part from $1,600.01 to $3,200",
        "high",
        _READ,
    ),
}
"""States whose local tax applies to the first dollars of an item only."""


def of_states(codes: np.ndarray, states: Sequence[str], wanted: Collection[str]) -> np.ndarray:
    """Which rows lie in one of some states; a code of -1 is a state that is not known."""
    within = np.array([*(state in wanted for state in states), False], bool)
    rows: np.ndarray = within[codes]
    return rows


def over_cap(
    codes: np.ndarray, states: Sequence[str], goods: np.ndarray, local: np.ndarray
) -> np.ndarray:
    """Which rows are above the cap of their state.

    Args:
        codes: the number of each row's state.
        states: the states by number.
        goods: what the goods of the row cost, in cents.
        local: whether its rate has a part beside the state's, or may have one.
    """
    caps = [CAPS[state].cents if state in CAPS else 0 for state in states]
    cap = np.array([*caps, 0], np.int64)[codes]
    over: np.ndarray = (cap > 0) & (np.abs(goods) > cap) & local
    return over
