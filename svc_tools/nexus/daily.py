"""The table of daily totals that exposure is computed from: checked, and cut by state. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import get_args

import numpy as np
import pandas as pd

from svc_tools.nexus.exposure_sums import StateSales, Uncounted, day_number
from svc_tools.nexus.thresholds import Base
from svc_tools.places import STATES

__all__ = ["CHANNELS", "DAILY", "SALES", "Daily", "daily_of"]

CHANNELS = ("direct", "marketplace")
DAILY = (
    "state",
    "day",
    "channel",
    "gross_cents",
    "retail_cents",
    "taxable_cents",
    "count",
)
"""The columns of daily totals. `refund_cents` (the part of gross below 0) may stand beside them."""
SALES = "svc_sales"
"""The attribute in which a table of daily totals says what it is of."""
_EPOCH = date(1970, 1, 1)
_MOST = 4 * 10**18
"""Cents, without regard to sign, that are added up in 64 bits."""


@dataclass(frozen=True, slots=True)
class Daily:
    """Daily totals, cut by state.

    Attributes:
        states: each state's sales, up to the day that is asked about.
        first: the first day of the sales that lead up to the day that is asked about, without a
            calendar month in between in which nothing was sold anywhere: such a month is rather
            one that is missing in the file. `None` where there are no sales.
        last: the last one of them, which may lie behind the day that is asked about.
        empty: such months, as "2026-03", between the first sale and the last one.
        uncounted: rows that could not be counted, by the state that they are of; "" for any.
        later: how many sales lie behind it.
    """

    states: dict[str, StateSales]
    first: date | None
    last: date | None
    later: int
    empty: tuple[str, ...]
    uncounted: dict[str, Uncounted]


def daily_of(daily: pd.DataFrame, as_of: date) -> Daily:
    """Check a table of daily totals, and cut it.

    Raises:
        ValueError: columns are missing, or cells are not what the table says.
        TypeError: it is no frame, or its cents are no whole numbers.
    """
    if not isinstance(daily, pd.DataFrame):
        raise TypeError(f"daily: expected a pandas.DataFrame, not {type(daily).__name__}")
    absent = [name for name in DAILY if name not in daily.columns]
    if absent:
        raise ValueError(
            f"daily: no column {', '.join(map(repr, absent))}; expected {', '.join(DAILY)}, totals"
            " by state, day and channel (df.svc.exposure() makes them of your sales)"
        )
    states, channels = daily["state"].astype(object), daily["channel"].astype(object)
    _check("state", states, set(STATES))
    _check("channel", channels, set(CHANNELS))
    days = _days(daily["day"])
    bases: tuple[Base, ...] = get_args(Base)
    sums = {base: _whole(daily, f"{base}_cents") for base in bases}
    counts = _whole(daily, "count")
    if counts is None or (counts < 0).any():
        raise ValueError("daily: column 'count' has missing or negative numbers")
    if sums["gross"] is None:
        raise ValueError("daily: column 'gross_cents' has missing cells")
    refunds = _whole(daily, "refund_cents") if "refund_cents" in daily.columns else None
    known = days <= day_number(as_of)
    cells = _Cells(
        states=states.to_numpy()[known],
        days=days[known],
        channels=(channels == CHANNELS[1]).to_numpy()[known].astype(np.int64),
        sums={base: of[known] for base, of in sums.items() if of is not None},
        refunds=None if refunds is None else refunds[known],
        counts=counts[known],
    )
    cut = {state: cells.of(state) for state in sorted(set(cells.states.tolist()))}
    first, last, empty = _led_up_to(np.unique(days), day_number(as_of))
    return Daily(cut, first, last, int(counts[~known].sum()), empty, _uncounted(daily))


@dataclass(frozen=True, slots=True)
class _Cells:
    """The rows of the table as arrays."""

    states: np.ndarray
    days: np.ndarray
    channels: np.ndarray
    sums: dict[Base, np.ndarray]
    refunds: np.ndarray | None
    counts: np.ndarray

    def of(self, state: str) -> StateSales:
        """One state's sales by channel and day."""
        rows = np.flatnonzero(self.states == state)
        start = int(self.days[rows].min())
        shape = (len(CHANNELS), int(self.days[rows].max()) - start + 1)
        place = (self.channels[rows], self.days[rows] - start)

        def by_day(cells: np.ndarray) -> np.ndarray:
            table = np.zeros(shape, np.int64)
            np.add.at(table, place, cells[rows])
            return table

        return StateSales(
            start,
            {base: by_day(cents) for base, cents in self.sums.items()},
            None if self.refunds is None else by_day(self.refunds),
            by_day(self.counts),
        )


def _led_up_to(days: np.ndarray, as_of: int) -> tuple[date | None, date | None, tuple[str, ...]]:
    """The first and the last day of the sales around a day, and the months without any."""
    if not len(days):
        return None, None, ()
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    begins = np.flatnonzero(np.diff(months, prepend=months[0]) > 1)
    runs = np.split(days, begins)
    run = [one for one in runs if one[0] <= as_of or one is runs[0]][-1]
    empty = np.setdiff1d(np.arange(months[0], months[-1]), months).astype("datetime64[M]")
    return _date(run[0]), _date(run[-1]), tuple(empty.astype(str).tolist())


def _uncounted(daily: pd.DataFrame) -> dict[str, Uncounted]:
    """What `frames.sales` says of rows that it could not count."""
    noted = daily.attrs.get(SALES)
    told = noted.get("uncounted", ()) if isinstance(noted, dict) else ()
    lost: dict[str, Uncounted] = {}
    for one in told:
        more = Uncounted(one["rows"], one["cents"], one["unsized"])
        lost[one["state"]] = lost.get(one["state"], Uncounted()) + more
    return lost


def _check(name: str, column: pd.Series, known: set[str]) -> None:
    odd = [value for value in column.unique().tolist() if value not in known]
    if odd:
        expected = "the codes of states" if name == "state" else " or ".join(CHANNELS)
        raise ValueError(f"daily: column {name!r} has {odd[0]!r}; expected {expected}")


def _days(column: pd.Series) -> np.ndarray:
    moments = pd.to_datetime(column)
    if moments.isna().any() or getattr(moments.dtype, "tz", None) is not None:
        raise ValueError("daily: column 'day' has missing days, or times in a time zone")
    days: np.ndarray = moments.to_numpy().astype("datetime64[D]").astype(np.int64)
    return days


def _whole(daily: pd.DataFrame, name: str) -> np.ndarray | None:
    """A column of whole numbers; nothing where a cell is missing."""
    column = daily[name]
    if column.isna().any():
        return None
    if len(column) and not pd.api.types.is_integer_dtype(column.dtype):
        raise TypeError(f"daily: column {name!r} is {column.dtype}; expected whole numbers (int64)")
    cents = column.to_numpy(np.int64)
    if np.abs(cents.astype(np.float64)).sum() > _MOST:
        raise ValueError(f"daily: column {name!r} adds up to more than can be held")
    return cents


def _date(number: int) -> date:
    return _EPOCH + timedelta(days=int(number))
