"""The column `tax_review`: which rows a person should look at before their tax is used, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.distinct_values import distinct_values, is_label
from svc_tools.frames.taxes.special_rules import ORIGIN_SOURCED, of_states, over_cap
from svc_tools.frames.taxes.tax_codes import TAX_REVIEW
from svc_tools.places import Elsewhere, state_code

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.taxes.tax_lines import Lines

__all__ = ["above_cap", "origins", "review_column"]


def review_column(marks: Mapping[str, np.ndarray], rows: int) -> ExtensionArray:
    """A column of codes separated by "; ", in the order of `TAX_REVIEW`; missing where none."""
    bits = np.zeros(rows, np.int64)
    codes = tuple(TAX_REVIEW)
    for code, marked in marks.items():
        bits[marked] |= 1 << codes.index(code)
    there = np.flatnonzero(np.bincount(bits)).tolist()
    cells = [
        "; ".join(code for place, code in enumerate(codes) if combined >> place & 1) or None
        for combined in there
    ]
    number = np.zeros(1 << len(codes), np.int64)
    number[there] = np.arange(len(there))
    texts: ExtensionArray = pd.array(cells, dtype="str")
    return texts.take(number[bits])


def above_cap(lines: Lines, states: tuple[np.ndarray, Sequence[str]]) -> np.ndarray:
    """Which rows are above their state's cap on local tax, and are taxed by a local part."""
    local = lines.rates.units > lines.levels[0].units  # a part that is missing counts 0
    return over_cap(*states, lines.goods, local & (lines.taxable_goods != 0))


def origins(
    frame: pd.DataFrame, ship_from: Hashable, states: tuple[np.ndarray, Sequence[str]]
) -> tuple[np.ndarray, np.ndarray]:
    """Which sales stay within a state that sources by origin, and whose origin is not known there.

    Raises:
        ValueError: `ship_from` is neither a column nor a state.
    """
    codes, names = states
    sourced = of_states(codes, names, ORIGIN_SOURCED)
    if not is_label(frame, ship_from):
        code = _origin(ship_from)
        if code is None:
            raise ValueError(
                f"ship_from: {ship_from!r} is neither a column of the frame nor a US state"
            )
        return sourced & of_states(codes, names, {code}), np.zeros(len(frame), bool)
    from_codes, values = distinct_values(frame, ship_from, "ship_from")
    origin = np.array([*map(_origin, values), None], object)[from_codes]
    destination = np.array([*names, None], object)[codes]
    unknown = pd.isna(origin)
    return sourced & ~unknown & (origin == destination), sourced & unknown


def _origin(value: object) -> str | None:
    """A state's code, a word for a place that is no state, or nothing where it cannot be read."""
    code = state_code(value) if isinstance(value, str) else None
    return "elsewhere" if isinstance(code, Elsewhere) else code
