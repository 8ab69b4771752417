"""The rows of a return, added up from its lines: whole cents, nothing dropped."""

# MERGED filing_parts: The parts of filed lines: which jurisdiction gets which share of a line's tax, to the cent.

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.answers import decode
from svc_tools.frames.arrow import RATE, Coded, coded, combined, decimals
from svc_tools.frames.lookup_columns import LEVEL_TAX_COLUMNS, rates_of
from svc_tools.frames.money import dollars, money, money_column, sums_by
from svc_tools.frames.taxes.invoices import shared_out
from svc_tools.frames.taxes.taxed_rows import is_product, taxed_rows
from svc_tools.places import STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from svc_tools.frames.taxes.taxed_rows import TaxedRows
    from svc_tools.lookup.outcomes import Component

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

FILING_COLUMNS = (
    "period",
    "level",
    "code",
    "official",
    "name",
    "rate",
    "rows",
    "taxable",
    "exempt",
    "tax",
    "tax_of_total",
)
"""The columns of a return; `period` only where it was asked for."""
_LEVELS = ("state", "location", "county", "city", "district")
_HALF = UNITS_PER_ONE // 2

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


class _Piece(NamedTuple):
    """One part of each of some lines: which lines, the number of the part, its cents."""

    lines: np.ndarray
    parts: np.ndarray
    tax: np.ndarray


class _Numbered:
    """Parts by number; those of one key are one."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._numbers: dict[tuple[str, str, int | None], int] = {}

    def number(self, part: Part) -> int:
        """The number of a part, given to it when it first comes."""
        number = self._numbers.setdefault(part.key, len(self.parts))
        if number == len(self.parts):
            self.parts.append(part)
        return number


def filing_table(
    lines: pd.DataFrame, state: str, periods: Coded, prefix: str
) -> tuple[pd.DataFrame, bool]:
    """The return of some lines, each of which has a tax that is due.

    Args:
        lines: the lines, all of one state.
        state: its code.
        periods: the period of each line.
        prefix: the prefix of the columns of ours.

    Returns:
        The rows, with the columns of `FILING_COLUMNS`; and whether every line was shared out
        level by level, so that each level adds up to its column of the lines.
    """
    rows = taxed_rows(lines, prefix)
    codes, shapes = _shapes(lines, rows, state, prefix)
    level_taxes = {name: money(lines, prefix + name) for name in LEVEL_TAX_COLUMNS}
    numbered, pieces, by_level = _Numbered(), list[_Piece](), True
    for levels, members in _alike(shapes).items():
        place = np.full(len(shapes), -1)
        place[members] = np.arange(len(members))
        here = np.flatnonzero(place[codes] >= 0)
        own = place[codes[here]]
        parts = list(zip(*(shapes[member] for member in members), strict=True))
        tax = rows.due.cents[here]
        if levels == (NO_CODE,):
            shares, by_level = [tax], False
        else:
            units = [np.array([part.units for part in each], np.int64)[own] for each in parts]
            taxes = {
                name: (one.cents[here], one.missing[here]) for name, one in level_taxes.items()
            }
            shares, whole = shares_of(levels, units, tax, rows.taxable.cents[here], taxes)
            by_level &= bool(whole.all())
        for each, share in zip(parts, shares, strict=True):
            numbers = np.array([numbered.number(part) for part in each], np.int64)
            pieces.append(_Piece(here, numbers[own], share))
    return _added_up(pieces, numbered.parts, rows, periods), by_level


def _shapes(
    lines: pd.DataFrame, rows: TaxedRows, state: str, prefix: str
) -> tuple[np.ndarray, list[tuple[Part, ...]]]:
    """The distinct parts of the lines, and the number of each line's."""
    rates = rates_of(lines, f"{prefix}combined_rate").units
    distinct, rate_codes = np.unique(rates, return_inverse=True)
    cells = coded(lines, f"{prefix}lookup_jurisdictions")
    of_rates = Coded(rate_codes, tuple(map(str, distinct.tolist())))
    codes, pairs = combined([cells, of_rates])
    shapes = [parts_of(cell or None, int(rate), state=state) for cell, rate in pairs]
    off = ~is_product(lines, rows.due.cents, rows.taxable.cents, prefix)
    if off.any():  # a tax that somebody wrote: it is no sum of the parts
        codes = np.where(off, len(shapes), codes)
        shapes.append(unnamed("the tax is not the taxable amount times the rate"))
    return codes, shapes


def _alike(shapes: Sequence[tuple[Part, ...]]) -> dict[tuple[str, ...], list[int]]:
    """The numbers of the shapes by the levels of their parts."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, shape in enumerate(shapes):
        alike.setdefault(tuple(part.level for part in shape), []).append(number)
    return alike


def _added_up(
    pieces: Sequence[_Piece], parts: Sequence[Part], rows: TaxedRows, periods: Coded
) -> pd.DataFrame:
    none = np.zeros(0, np.int64)
    lines = np.concatenate([none, *(piece.lines for piece in pieces)])
    which = np.concatenate([none, *(piece.parts for piece in pieces)])
    taxes = np.concatenate([none, *(piece.tax for piece in pieces)])
    of_lines, names = periods
    size = len(names) * len(parts)
    codes = of_lines[lines] * len(parts) + which
    counts = np.bincount(codes, minlength=size).tolist()
    taxable = sums_by(codes, rows.taxable.cents[lines], size)
    exempt = sums_by(codes, rows.exempt.cents[lines], size)
    tax = sums_by(codes, taxes, size)

    def order(code: int) -> tuple[bool, str, int, str, str, int]:
        period, part = names[code // len(parts)], parts[code % len(parts)]
        rank = _LEVELS.index(part.level) if part.level in _LEVELS else len(_LEVELS)
        rank += part.level == NO_CODE
        return not period, period, rank, part.code or "", part.name, part.units or 0

    there = sorted((code for code in range(size) if counts[code]), key=order)
    of = [parts[code % len(parts)] for code in there]
    units = [part.units for part in of]
    missing = np.array([one is None for one in units], bool)
    columns = (
        _texts([names[code // len(parts)] or None for code in there]),
        _texts([part.level for part in of]),
        _texts([part.code for part in of]),
        np.array([is_official(part.code) for part in of], bool),
        _texts([part.name for part in of]),
        decimals(np.array([one or 0 for one in units], np.int64), missing, RATE),
        np.array([counts[code] for code in there], np.int64),
        money_column([dollars(taxable[code]) for code in there]),
        money_column([dollars(exempt[code]) for code in there]),
        money_column([dollars(tax[code]) for code in there]),
        money_column(
            [_of_total(taxable[code], one) for code, one in zip(there, units, strict=True)]
        ),
    )
    return pd.DataFrame(dict(zip(FILING_COLUMNS, columns, strict=True)))


def _texts(values: Sequence[str | None]) -> pd.api.extensions.ExtensionArray:
    return pd.array(values, dtype="str")


def _of_total(taxable: int, units: int | None) -> Decimal | None:
    """The rate times the taxable total, rounded once, half a cent away from zero."""
    if units is None:
        return None
    cents = (abs(taxable) * units + _HALF) // UNITS_PER_ONE
    return dollars(-cents if taxable < 0 else cents)
