"""The parts of filed lines: which jurisdiction gets which share of a line's tax, to the cent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.jurisdictions import decode
from svc_tools.frames.taxes.shares import shared_out
from svc_tools.places import STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc_tools.lookup.outcomes import Component

__all__ = [
    "LEVEL_COLUMNS",
    "LOCATION",
    "NO_CODE",
    "Part",
    "is_official",
    "parts_of",
    "shares_of",
    "unnamed",
]

NO_CODE = "no code"
"""The level of the rows that stand for lines whose answers name no jurisdictions."""
LOCATION = "location"
"""The level of Washington's location codes: all local parts together."""
LEVEL_COLUMNS = {
    "state": ("state_tax",),
    "county": ("county_tax",),
    "city": ("city_tax",),
    "district": ("combined_district_tax",),
    LOCATION: ("county_tax", "city_tax", "combined_district_tax"),
}
"""Which columns of a line's tax belong to the parts of a level."""
_ORDER = {level: place for place, level in enumerate(LEVEL_COLUMNS)}
_LOCATION_CODE = re.compile(r"L?([0-9]{4})", re.ASCII)
_NUMBER = re.compile(r"[A-Z]?[0-9]+", re.ASCII)


class Part(NamedTuple):
    """One row of a return: a jurisdiction at one rate (units of 10^-5), or why none is named."""

    level: str
    code: str | None
    name: str
    units: int | None

    @property
    def key(self) -> tuple[str, str, int | None]:
        """What makes it a row of its own: the code, where there is one, however it is named."""
        return self.level, f"name {self.name}" if self.code is None else self.code, self.units


def is_official(code: str | None) -> bool:
    """Whether a code is a number of the state's or the census, not a name made into a code.

    `L1726` and `053` are; `kansas-city` and `county-003` (all district taxes of a county) are not.
    """
    return code is not None and _NUMBER.fullmatch(code) is not None


def parts_of(cell: str | None, rate: int, *, state: str) -> tuple[Part, ...]:
    """The parts that a cell of `lookup_jurisdictions` names, the state's first.

    Args:
        cell: the cell, `None` where it is missing.
        rate: the combined rate of its row, which the parts must add up to.
        state: the state of the return; Washington's local parts become one, by location code.

    Returns:
        The parts, exactly one of them the state's; one part of the level `NO_CODE`, which says
        why, where the cell does not tell.
    """
    try:
        components = decode(cell)
    except ValueError:
        return unnamed("the answer's jurisdictions cannot be read")
    if not components:
        return unnamed("the answer names no jurisdictions")
    if sum(one.units for one in components) != rate:
        return unnamed("the jurisdictions' rates do not add up to the rate")
    local = _parts(one for one in components if one.level != "state")
    if len({part.key for part in local}) < len(local):
        return unnamed("the answer names a jurisdiction twice")
    if state == "WA":
        local = _by_location(local)
    local.sort(key=lambda part: _ORDER.get(part.level, len(_ORDER)))
    return (_state_part(components, state), *local)


def unnamed(reason: str) -> tuple[Part, ...]:
    """The one part of lines that no jurisdiction can be given to, for this reason."""
    return (Part(NO_CODE, None, reason, None),)


def _parts(components: Iterable[Component]) -> list[Part]:
    return [Part(one.level, one.code, one.name, one.units) for one in components]


def _state_part(components: Sequence[Component], state: str) -> Part:
    """The state's part; where the answer names none, the state has no tax of its own."""
    found = [one for one in components if one.level == "state"]
    if not found:
        return Part("state", None, STATES[state], 0)
    return Part("state", found[0].code, found[0].name, sum(one.units for one in found))


def _by_location(local: list[Part]) -> list[Part]:
    """Washington's local parts as one, under the location code that its return asks for."""
    coded = {}
    for part in local:
        found = _LOCATION_CODE.fullmatch(part.code or "")
        if found is not None:
            coded[found[1]] = part.name
    if len(coded) != 1:
        return local
    ((code, name),) = coded.items()
    return [Part(LOCATION, code, name, sum(part.units or 0 for part in local))]


def shares_of(
    levels: Sequence[str],
    units: Sequence[np.ndarray],
    tax: np.ndarray,
    taxable: np.ndarray,
    level_taxes: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> tuple[list[np.ndarray], np.ndarray]:
    """The tax of lines shared out over their parts: the shares add up to each line's tax.

    Each part gets taxable x rate without its fraction of a cent; the cents left over go to the
    largest fractions, of equal ones to the part that stands first. Where a line's tax by level is
    there and is that of its parts, this is done within each level, so that the parts of a level
    add up to it, too.

    Args:
        levels: the level of each part.
        units: the rate of each part, line by line.
        tax: the tax of each line in cents.
        taxable: its taxable amount in cents.
        level_taxes: cents of each tax column, and where it is missing.

    Returns:
        The cents of each part, line by line; and which lines were shared out by level.
    """
    exact = [taxable * rate for rate in units]
    by_level = np.ones(len(tax), bool)
    totals: dict[str, np.ndarray] = {}
    for level in dict.fromkeys(levels):
        columns = [level_taxes[name] for name in LEVEL_COLUMNS.get(level, ())]
        totals[level] = sum((cents for cents, _ in columns), np.zeros(len(tax), np.int64))
        here = sum(exact[place] for place, one in enumerate(levels) if one == level)
        for _, missing in columns:
            by_level &= ~missing
        by_level &= np.abs(totals[level] * UNITS_PER_ONE - here) < UNITS_PER_ONE * len(columns)
    by_level &= sum(totals.values(), np.zeros(len(tax), np.int64)) == tax
    shares = shared_out(np.where(by_level, 0, tax), [np.where(by_level, 0, one) for one in exact])
    for level, total in totals.items():
        places = [place for place, one in enumerate(levels) if one == level]
        within = [np.where(by_level, exact[place], 0) for place in places]
        whole = np.where(by_level, total, 0)
        shared = [whole] if len(places) == 1 else shared_out(whole, within)
        for place, share in zip(places, shared, strict=True):
            shares[place] += share
    return shares, by_level
