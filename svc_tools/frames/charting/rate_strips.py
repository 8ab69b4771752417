"""The rates of an enriched frame by state: which rates, in how many rows, and how sure. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_sdk.rates import units_to_rate
from svc_tools.frames.coded import coded, first_column
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.row_states import states_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

__all__ = ["SURENESS", "Dot", "Strip", "percent", "strips_of"]

SURENESS = ("sure", "in doubt", "partial")
"""Whole rates nobody need review, whole rates to be reviewed, rates known to lack a part."""
_DOUBTED = frozenset({"low", "none", ""})
_SUREST = 1


class Dot(NamedTuple):
    """A rate (units of 10^-5) of one sureness (a place in `SURENESS`), and its rows."""

    units: int
    sureness: int
    rows: int


class Strip(NamedTuple):
    """The rates of one state.

    Attributes:
        state: its code; empty where the rows name none.
        dots: its rates, ascending.
        low: the lowest rate that one of its rows may have (units of 10^-5).
        high: the highest.
    """

    state: str
    dots: tuple[Dot, ...]
    low: int
    high: int

    @property
    def rows(self) -> int:
        """All rows with a rate."""
        return sum(dot.rows for dot in self.dots)

    @property
    def whole(self) -> tuple[Dot, ...]:
        """The whole rates."""
        return tuple(dot for dot in self.dots if dot.sureness <= _SUREST)

    @property
    def median(self) -> int | None:
        """The median of the whole rates over their rows; `None` where all are partial."""
        half, seen = sum(dot.rows for dot in self.whole) / 2, 0
        for dot in sorted(self.whole):
            seen += dot.rows
            if seen >= half:
                return dot.units
        return None

    def rows_of(self, sureness: int) -> int:
        """The rows of one sureness."""
        return sum(dot.rows for dot in self.dots if dot.sureness == sureness)

    def described(self) -> str:
        """The strip in words."""
        median = "" if self.median is None else f", median {percent(self.median)}"
        lowest, highest = min(dot.units for dot in self.dots), max(dot.units for dot in self.dots)
        spread = (
            percent(lowest) if lowest == highest else f"{percent(lowest)} to {percent(highest)}"
        )
        counts = ", ".join(
            f"{self.rows_of(place):,} {name}"
            for place, name in enumerate(SURENESS)
            if self.rows_of(place)
        )
        return f"{self.state or 'no state'} {spread}{median} (rows: {counts})"


def strips_of(
    frame: pd.DataFrame, *, prefix: str = "", states: Iterable[str] | None = None
) -> tuple[Strip, ...]:
    """A strip for every state with a rate: the highest median first, partial rates only last."""
    rates = rates_of(frame, f"{prefix}combined_rate")
    of_state = states_of_rows(frame, prefix=prefix)
    shown = ~rates.missing
    if states is not None:
        shown &= of_state.where(frozenset(states).__contains__)
    sureness = _sureness(frame, prefix)
    keys = np.stack([of_state.codes, rates.units, sureness])[:, shown]
    distinct, counted = np.unique(keys, axis=1, return_counts=True)
    lows, highs = _ranges(frame, rates.units, prefix)
    dots: dict[int, list[Dot]] = {}
    for (code, units, sure), rows in zip(distinct.T.tolist(), counted.tolist(), strict=True):
        dots.setdefault(code, []).append(Dot(units, sure, rows))
    strips = []
    for code, of_code in dots.items():
        rows = shown & (of_state.codes == code)
        low, high = int(lows[rows].min()), int(highs[rows].max())
        state = of_state.values[code]  # noqa: PD011 - no frame's
        strips.append(Strip(state, tuple(of_code), low, high))
    return tuple(sorted(strips, key=_highest_first))


def _highest_first(strip: Strip) -> tuple[bool, bool, int, str]:
    median = strip.median
    highest = max(dot.units for dot in strip.dots)
    return not strip.state, median is None, -(highest if median is None else median), strip.state


def _sureness(frame: pd.DataFrame, prefix: str) -> np.ndarray:
    marked = first_column(frame, f"{prefix}needs_review")
    if marked is None or marked.isna().all():
        doubt = coded(frame, f"{prefix}confidence").where(_DOUBTED.__contains__)
    else:
        doubt = marked.fillna(value=False).to_numpy(bool)
    partial = coded(frame, f"{prefix}lookup_status").where(lambda value: value == "partial")
    return np.where(partial, 2, np.where(doubt, 1, 0)).astype(np.int64)


def _ranges(frame: pd.DataFrame, units: np.ndarray, prefix: str) -> Sequence[np.ndarray]:
    """The lowest and the highest rate of each row; its own where it has no other."""
    ranges = []
    for name in ("rate_low", "rate_high"):
        bound = rates_of(frame, f"{prefix}{name}")
        ranges.append(np.where(bound.missing, units, bound.units))
    return ranges


def percent(units: int) -> str:
    """A rate as per cent, two decimals or as many as it has: `8.00 %`, `9.025 %`."""
    whole, _, decimals = units_to_rate(units * 100).partition(".")
    return f"{whole}.{decimals.rstrip('0'):0<2} %"
