"""The rows of a return, added up from its lines: whole cents, nothing dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.analysis.filing_parts import (
    NO_CODE,
    Part,
    is_official,
    parts_of,
    shares_of,
    unnamed,
)
from svc_tools.frames.coded import Coded, coded, combined
from svc_tools.frames.enriched import LEVEL_TAX_COLUMNS
from svc_tools.frames.exact import RATE, decimals
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.taxes.changes import is_product
from svc_tools.frames.taxes.taxed_rows import taxed_rows
from svc_tools.frames.totals import dollars, money, money_column, sums_by

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from svc_tools.frames.taxes.taxed_rows import TaxedRows

__all__ = ["FILING_COLUMNS", "filing_table"]

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
