"""Sales as states measure them: daily totals, measurement periods, sums against a threshold.

Cents and counts are whole numbers throughout. The sales of a window are added up day by day: a
threshold is met on the first day on which the sum since the window's first day reaches it, and
refunds of later days do not make it unmet. A rolling period has a window for each day that it may
end on; the other periods' windows start with a month. Sales after the day of the exposure are never
part of a window. Pure.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, get_args

import numpy as np
import pandas as pd

from svc_tools.nexus.thresholds import Base
from svc_tools.places import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.nexus.thresholds import Measured, Threshold, Thresholds

CHANNELS = ("direct", "marketplace")
DAILY = ("state", "day", "channel", "gross_cents", "retail_cents", "taxable_cents", "count")
"""The columns of daily totals; `refund_cents` (the part of gross below 0) is optional."""
SALES = "svc_sales"
"""The attribute of a table of daily totals that describes it."""
_MOST = 4 * 10**18
"""Cents, without regard to sign, that can be added up in 64 bits."""

_DAY = timedelta(days=1)
_YEAR, _QUARTER = 12, 3
_SEPTEMBER = 9
_QUARTER_ENDS = {"NY": 2}
"""The month in which a state's first sales-tax quarter of the year ends, if not March."""
_MARCH = 3

_CENTS = 100

_EPOCH = date(1970, 1, 1)


def day_number(day: date) -> int:
    """Days since 1970-01-01, as NumPy counts them."""
    return (day - _EPOCH).days


@dataclass(frozen=True, slots=True)
class Series:
    """Cents and number of sales by day, from `start` (days since 1970-01-01) without gaps.

    `more` is what may have been sold in addition, on any day: cents, and number.
    """

    start: int
    cents: np.ndarray
    counts: np.ndarray
    more: tuple[int, int] = (0, 0)

    @property
    def first(self) -> date:
        """The first day."""
        return _EPOCH + timedelta(days=self.start)

    def between(self, first: date, last: date) -> tuple[int, np.ndarray, np.ndarray]:
        """The days of a window, as far as there are any: the first one's number, cents, counts."""
        begin = min(max(day_number(first) - self.start, 0), len(self.cents))
        end = max(min(day_number(last) - self.start + 1, len(self.cents)), begin)
        return self.start + begin, self.cents[begin:end], self.counts[begin:end]

    def total(self, first: date, last: date) -> tuple[int, int]:
        """Cents and number of sales of a window."""
        _, cents, counts = self.between(first, last)
        return int(cents.sum()), int(counts.sum())


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Rows that are, or may be, sales of a state, and could not be counted.

    Attributes:
        rows: how many.
        cents: the amounts of those that have one, without refunds.
        unsized: how many have no amount that can be read.
    """

    rows: int = 0
    cents: int = 0
    unsized: int = 0

    def __add__(self, other: Uncounted) -> Uncounted:
        """Both together."""
        return Uncounted(
            self.rows + other.rows, self.cents + other.cents, self.unsized + other.unsized
        )


@dataclass(frozen=True, slots=True)
class StateSales:
    """One state's sales by day; the first row of each array is direct, the second marketplace.

    Attributes:
        start: the first day, in days since 1970-01-01.
        cents: for each base that the sales have, cents by channel and day.
        refunds: the part of gross that is below 0, by channel and day; `None` if not known.
        counts: number of sales by channel and day.
    """

    start: int
    cents: dict[Base, np.ndarray]
    refunds: np.ndarray | None
    counts: np.ndarray

    def series(self, base: Base, *, marketplace: bool) -> Series:
        """Sales of a base, with those of marketplaces or without."""
        return self._series(self.cents[base], marketplace=marketplace)

    def most(self, *, marketplace: bool) -> Series | None:
        """Gross sales without any refund: no base can have more. `None` where not known."""
        if self.refunds is None:
            return None
        return self._series(self.cents["gross"] - self.refunds, marketplace=marketplace)

    def _series(self, cents: np.ndarray, *, marketplace: bool) -> Series:
        if marketplace:
            return Series(self.start, cents.sum(axis=0), self.counts.sum(axis=0))
        return Series(self.start, cents[0], self.counts[0])


@dataclass(frozen=True, slots=True)
class Daily:
    """Daily totals by state.

    Attributes:
        states: each state's sales, up to the day of the exposure.
        first: the first day of the sales that lead up to that day, without a calendar month in
            between in which nothing was sold anywhere: such a month is rather one that is missing
            in the file. `None` where there are no sales.
        last: the last day of these sales, which may be after the day of the exposure.
        empty: such months, as "2026-03", between the first sale and the last one.
        uncounted: rows that could not be counted, by state; "" for any.
        later: how many sales are after the day of the exposure.
    """

    states: dict[str, StateSales]
    first: date | None
    last: date | None
    later: int
    empty: tuple[str, ...]
    uncounted: dict[str, Uncounted]


def daily_of(daily: pd.DataFrame, as_of: date) -> Daily:
    """Check a table of daily totals, and divide it by state.

    Raises:
        ValueError: columns are missing, or cells are not valid.
        TypeError: it is not a frame, or its cents are not whole numbers.
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
    first, last, empty = _continuous_days(np.unique(days), day_number(as_of))
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


def _continuous_days(
    days: np.ndarray, as_of: int
) -> tuple[date | None, date | None, tuple[str, ...]]:
    """The first and last day of the sales around a day, and the months without any."""
    if not len(days):
        return None, None, ()
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    begins = np.flatnonzero(np.diff(months, prepend=months[0]) > 1)
    runs = np.split(days, begins)
    run = [one for one in runs if one[0] <= as_of or one is runs[0]][-1]
    empty = np.setdiff1d(np.arange(months[0], months[-1]), months).astype("datetime64[M]")
    return _date(run[0]), _date(run[-1]), tuple(empty.astype(str).tolist())


def _uncounted(daily: pd.DataFrame) -> dict[str, Uncounted]:
    """The rows that `frames.sales` could not count, by state."""
    noted = daily.attrs.get(SALES)
    found: dict[str, Uncounted] = {}
    for one in noted.get("uncounted", ()) if isinstance(noted, dict) else ():
        more = Uncounted(one["rows"], one["cents"], one["unsized"])
        found[one["state"]] = found.get(one["state"], Uncounted()) + more
    return found


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
    """A column of whole numbers; `None` where a cell is missing."""
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


@dataclass(frozen=True, slots=True)
class Window:
    """A time over which sales are added up.

    Attributes:
        first: its first day.
        last: its last day.
        words: its name in a sentence.
    """

    first: date
    last: date
    words: str


def windows(period: Measured, as_of: date, state: str = "") -> tuple[Window, ...]:
    """The windows that count on a day, the current one last.

    Args:
        period: how the state measures; for "current_or_previous_year" there are two windows.
        as_of: the day, which counts itself.
        state: its code; New York's quarters end with February, May, August and November.
    """
    year = as_of.year
    if period == "current_or_previous_year":
        return (_calendar_year(year - 1), _calendar_year(year, as_of))
    if period == "previous_year":
        return (_calendar_year(year - 1),)
    if period == "four_quarters":
        return (_four_quarters(as_of, _QUARTER_ENDS.get(state, _MARCH)),)
    if period == "twelve_months_to_september":
        end = year if as_of >= date(year, _SEPTEMBER, 30) else year - 1
        last = date(end, _SEPTEMBER, 30)
        return (Window(date(end - 1, _SEPTEMBER + 1, 1), last, f"the 12 months to {last}"),)
    first = months_before(as_of, _YEAR) + timedelta(days=1)
    return (Window(first, as_of, f"the 12 months to {as_of}"),)


def earlier_windows(
    period: Measured, as_of: date, months: int, state: str = ""
) -> tuple[Window, ...]:
    """The windows that counted on days of the last `months` before a day, and no longer count.

    For a rolling period it is the one that ended so many months before; all that end between that
    one and the day count, too.
    """
    now = set(windows(period, as_of, state))
    if period == "rolling_12_months":
        return windows(period, months_before(as_of, months)) if months else ()
    found: dict[Window, None] = {}
    for month in range(1, months + 1):
        for window in windows(period, months_before(as_of, month), state):
            whole = _calendar_year(window.first.year) if _is_year(period) else window
            if whole.last < as_of and whole not in now:
                found[whole] = None
    return tuple(sorted(found, key=lambda window: window.first))


def months_before(day: date, months: int) -> date:
    """The same day so many months before; the month's last one where it has none of that number."""
    year, month = divmod(day.year * _YEAR + day.month - 1 - months, _YEAR)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def last_end(as_of: date) -> date:
    """The last day of the calendar quarter that was completed last.

    States that measure 12 months let them end with a day, a month or a quarter. What is below for
    each 12 months that end between this day and the one asked about is below for all of them.
    """
    return _four_quarters(as_of, _MARCH).last


def rolling_firsts(days: np.ndarray) -> np.ndarray:
    """The first day of the 12 months that end on each day, both as `datetime64[D]`."""
    months = days.astype("datetime64[M]")
    of_month = days - months.astype("datetime64[D]")
    before = months - _YEAR
    longest = (before + 1).astype("datetime64[D]") - before.astype("datetime64[D]") - 1
    same = before.astype("datetime64[D]") + np.minimum(of_month, longest)
    firsts: np.ndarray = same + 1
    return firsts


def _is_year(period: Measured) -> bool:
    return period in {"current_or_previous_year", "previous_year"}


def _calendar_year(year: int, to: date | None = None) -> Window:
    last = date(year, 12, 31)
    if to is None or to >= last:
        return Window(date(year, 1, 1), last, f"calendar year {year}")
    return Window(date(year, 1, 1), to, f"calendar year {year} to {to}")


def _four_quarters(as_of: date, first_end: int) -> Window:
    """The last four quarters that have ended; a quarter has ended on its last day."""
    month = as_of.year * _YEAR + as_of.month  # the number of months that have begun
    if as_of.day < monthrange(as_of.year, as_of.month)[1]:
        month -= 1
    month -= (month - first_end) % _QUARTER
    year, end = divmod(month - 1, _YEAR)
    last = date(year, end + 1, monthrange(year, end + 1)[1])
    year, begin = divmod(month - _YEAR, _YEAR)
    return Window(date(year, begin + 1, 1), last, f"the four quarters to {last}")


_FRACTION = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Found:
    """The sales of a window, measured against a threshold.

    Attributes:
        window: the window.
        cents: its sales, less refunds.
        transactions: its number of sales.
        used: the part of the threshold that is used; down to four decimals, never below 0.
        met_on: the first day on which the threshold was met.
    """

    window: Window
    cents: int
    transactions: int
    used: Decimal
    met_on: date | None

    @property
    def rank(self) -> tuple[bool, Decimal]:
        """The order of windows: the one that uses most of the threshold is the highest."""
        return self.met_on is not None, self.used


def held_against(series: Series, window: Window, row: Threshold) -> Found:
    """Add up a window, and find the day on which it met the threshold."""
    start, cents, counts = series.between(window.first, window.last)
    sums, numbers = cents.cumsum(), counts.cumsum()
    total, number = (int(of[-1]) if len(of) else 0 for of in (sums, numbers))
    days = np.flatnonzero(_met(sums + series.more[0], numbers + series.more[1], row))
    met_on = _EPOCH + timedelta(days=start + int(days[0])) if len(days) else None
    if met_on is None and _met(np.array(series.more[:1]), np.array(series.more[1:]), row).any():
        met_on = window.last
    return Found(window, total, number, used_of(total, number, row), met_on)


def rolling_met(series: Series, first_end: date, last_end: date, row: Threshold) -> date | None:
    """The first day of these on which the 12 months that end on it meet the threshold."""
    ends = np.arange(day_number(first_end), day_number(last_end) + 1)
    firsts = rolling_firsts(ends.astype("datetime64[D]")).astype(np.int64)
    size = len(series.cents)
    begin = np.clip(firsts - series.start, 0, size)
    end = np.clip(ends + 1 - series.start, 0, size)
    sums, numbers = (
        np.concatenate(([0], of.cumsum()))[end] - np.concatenate(([0], of.cumsum()))[begin]
        for of in (series.cents, series.counts)
    )
    days = np.flatnonzero(_met(sums + series.more[0], numbers + series.more[1], row))
    return _EPOCH + timedelta(days=int(ends[days[0]])) if len(days) else None


def used_of(cents: int, transactions: int, row: Threshold) -> Decimal:
    """The part of the threshold that is used: of both tests the lower one where both are needed."""
    assert row.sales is not None  # noqa: S101 - only a state without a tax has none
    sales = Decimal(max(cents, 0)) / (row.sales * _CENTS)
    used = sales
    if row.transactions is not None and row.logic in {"and", "or"}:
        number = Decimal(transactions) / row.transactions
        used = min(sales, number) if row.logic == "and" else max(sales, number)
    return used.quantize(_FRACTION, rounding=ROUND_DOWN)


def _met(cents: np.ndarray, transactions: np.ndarray, row: Threshold) -> np.ndarray:
    """Where the test is met; exactly at the threshold it is."""
    assert row.sales is not None  # noqa: S101 - as above
    sales: np.ndarray = cents >= row.sales * _CENTS
    if row.transactions is None or row.logic not in {"and", "or"}:
        return sales
    number = transactions >= row.transactions
    both: np.ndarray = sales & number if row.logic == "and" else sales | number
    return both


class Past:
    """Whether the threshold was met at all: in the period, since its end, or in the trailing time.

    Each window is measured by the rule of the exposure's day, and by those of its own time.
    """

    def __init__(self, state: str, row: Threshold, thresholds: Thresholds, as_of: date) -> None:
        self._state, self._row, self._thresholds, self._as_of = state, row, thresholds, as_of

    @property
    def first_end(self) -> date:
        """The first day on which the 12 months of a rolling time may have ended, to be below."""
        day = months_before(self._as_of, self._row.trailing_months or 0)
        return min(day, last_end(self._as_of))

    @property
    def begin(self) -> date:
        """The first day of all sales that must be below."""
        period, months = self._row.period, self._row.trailing_months or 0
        assert period is not None  # noqa: S101 - a state with a tax has one
        if period == "rolling_12_months":
            return windows(period, self.first_end)[0].first
        every = (
            *windows(period, self._as_of, self._state),
            *earlier_windows(period, self._as_of, months, self._state),
        )
        return min(window.first for window in every)

    def met_in(self, series: Series, *, today_only: bool = False) -> Window | None:
        """A window in which the threshold was met; `None` where there is none.

        Args:
            series: the sales, read in one way.
            today_only: by the rule of the exposure's day alone.
        """
        row, period = self._row, self._row.period
        assert period is not None  # noqa: S101 - a state with a tax has one
        every = [
            *windows(period, self._as_of, self._state),
            *earlier_windows(period, self._as_of, row.trailing_months or 0, self._state),
        ]
        since = self._since()
        if since is not None:
            every.append(since)
        for window in every:
            for rule, part in self._rules(window, today_only=today_only):
                if held_against(series, part, rule).met_on is not None:
                    return window
        if period == "rolling_12_months":
            ends = Window(self.first_end, self._as_of, "")
            for rule, part in self._rules(ends, today_only=today_only):
                if met := rolling_met(series, part.first, part.last, rule):
                    return Window(part.first, met, f"the 12 months to {met}")
        return None

    def running(self, series: Series) -> Found | None:
        """What was sold since the period's end, where that alone meets the threshold."""
        since = self._since()
        found = None if since is None else held_against(series, since, self._row)
        return found if found is not None and found.met_on is not None else None

    def is_below(self, most: Series | None, *, today_only: bool = False) -> bool:
        """Whether the most that may have been sold never met it; false where that is not known."""
        return most is not None and self.met_in(most, today_only=today_only) is None

    def _since(self) -> Window | None:
        period, as_of = self._row.period, self._as_of
        assert period is not None  # noqa: S101 - as above
        last = windows(period, as_of, self._state)[-1].last
        if last >= as_of:
            return None
        if period == "four_quarters":
            return windows("rolling_12_months", as_of)[0]
        return Window(last + _DAY, as_of, f"{last + _DAY} to {as_of}")

    def _rules(self, window: Window, *, today_only: bool) -> Iterator[tuple[Threshold, Window]]:
        """The rule of the exposure's day, and those of the window's own time, each to its end."""
        yield self._row, window
        for rule in () if today_only else self._thresholds.rows:
            if rule.state != self._state or rule is self._row or rule.sales is None:
                continue
            ended = rule.effective_to is not None and rule.effective_to < window.first
            begun = rule.effective_from is None or rule.effective_from <= window.last
            if begun and not ended:
                last = min(window.last, rule.effective_to or window.last)
                yield rule, replace(window, last=last)
