"""Sales as states measure them: daily totals, measurement periods, sums against a threshold.

Cents and counts are whole numbers throughout. The sales of a window are added up day by day: a
threshold is met on the first day on which the sum since the window's first day reaches it, and
refunds of later days do not undo that. Sales after the day of the exposure are in no window. Pure.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import pandas as pd

from svc_tools.base.extras import not_pandas
from svc_tools.nexus.thresholds import Base
from svc_tools.tables.states import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.nexus.thresholds import Measured, Threshold

_CHANNELS = ("direct", "marketplace")
_DAILY = ("state", "day", "channel", "gross_cents", "retail_cents", "taxable_cents", "count")
"""The columns of daily totals; `refund_cents` (the part of gross below 0) is optional."""
SALES = "svc_sales"
"""The attribute of a table of daily totals that describes it."""
_MOST = 4 * 10**18
"""Cents, without regard to sign, that can be added up in 64 bits."""
_DAY = timedelta(days=1)
_YEAR, _QUARTER = 12, 3
_MARCH, _SEPTEMBER = 3, 9
_QUARTER_ENDS = {"NY": 2}
"""The month in which a state's first sales-tax quarter of the year ends, if not March."""
_CENTS = 100
_FRACTION = Decimal("0.0001")
_EPOCH = date(1970, 1, 1).toordinal()


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
    first = months_before(as_of, _YEAR) + _DAY
    return (Window(first, as_of, f"the 12 months to {as_of}"),)


def rolling_windows(first_end: date, last_end: date) -> list[Window]:
    """The 12 months that end on each day from the first to the last of these."""
    ends = (first_end + _DAY * number for number in range((last_end - first_end).days + 1))
    return [window for end in ends for window in windows("rolling_12_months", end)]


def earlier_windows(
    period: Measured, as_of: date, months: int, state: str = ""
) -> tuple[Window, ...]:
    """The windows that counted on days of the last `months` before a day, and no longer count.

    For a rolling period they end on each day of that time, and on each since the last quarter's
    end: states that measure 12 months let them end with a day, a month or a quarter.
    """
    if period == "rolling_12_months":
        begin = min(months_before(as_of, months), _four_quarters(as_of, _MARCH).last)
        return tuple(rolling_windows(begin, as_of - _DAY))
    now = set(windows(period, as_of, state))
    found: dict[Window, None] = {}
    for month in range(1, months + 1):
        for window in windows(period, months_before(as_of, month), state):
            yearly = period in {"current_or_previous_year", "previous_year"}
            whole = _calendar_year(window.first.year) if yearly else window
            if whole.last < as_of and whole not in now:
                found[whole] = None
    return tuple(sorted(found, key=lambda window: window.first))


def window_since(period: Measured, as_of: date, state: str = "") -> Window | None:
    """The sales that will count in the next period; `None` where the current one holds them."""
    last = windows(period, as_of, state)[-1].last
    if last >= as_of:
        return None
    if period == "four_quarters":
        return windows("rolling_12_months", as_of)[0]
    return Window(last + _DAY, as_of, f"{last + _DAY} to {as_of}")


def months_before(day: date, months: int) -> date:
    """The same day so many months before; the month's last one where it has none of that number."""
    year, month = divmod(day.year * _YEAR + day.month - 1 - months, _YEAR)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


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


@dataclass(frozen=True, slots=True)
class Series:
    """Running totals of sales by day.

    Attributes:
        days: the days with sales, as day ordinals, in order.
        cents: the cents before each of these days, and after the last one.
        counts: the number of sales, likewise.
        more: what may have been sold in addition, on any day: cents, and number.
    """

    days: np.ndarray
    cents: np.ndarray
    counts: np.ndarray
    more: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, days: np.ndarray, cents: np.ndarray, counts: np.ndarray) -> Series:
        """The series of the totals of each day."""
        sums, numbers = (np.concatenate(([0], each.cumsum())) for each in (cents, counts))
        return cls(days, sums, numbers)

    def with_more(self, cents: int, counts: int) -> Series:
        """The series with further sales that may be of any day."""
        return replace(self, more=(cents, counts))

    def total(self, window: Window) -> tuple[int, int]:
        """Cents and number of sales of a window."""
        begin, end = (int(at[0]) for at in self._places([window]))
        return int(self.cents[end] - self.cents[begin]), int(self.counts[end] - self.counts[begin])

    def met_on(
        self, among: Sequence[Window], row: Threshold, *, until: date | None = None
    ) -> list[date | None]:
        """The first day of each window on which its sales had reached the threshold, if any.

        Args:
            among: the windows.
            row: the threshold.
            until: a day after which nothing counts.
        """
        begin, end = self._places(among)
        if until is not None:
            end = np.minimum(end, np.searchsorted(self.days, until.toordinal(), side="right"))
        size = int((end - begin).max(initial=0))
        at = begin[:, None] + np.arange(max(size, 0) + 1)
        inside = at <= np.maximum(end, begin)[:, None]
        at = np.minimum(at, len(self.days))
        met = inside & self._is_met(
            self.cents[at] - self.cents[begin][:, None],
            self.counts[at] - self.counts[begin][:, None],
            row,
        )
        found: list[date | None] = []
        for window, has, place in zip(among, met.any(axis=1), met.argmax(axis=1), strict=True):
            day = self.days[begin[len(found)] + place - 1] if place else window.last.toordinal()
            found.append(date.fromordinal(int(day)) if has else None)
        return found

    def first_end_met(self, among: Sequence[Window], row: Threshold) -> date | None:
        """The last day of the first window whose sales reach the threshold as a whole."""
        begin, end = self._places(among)
        cents, counts = (of[end] - of[begin] for of in (self.cents, self.counts))
        met = np.flatnonzero(self._is_met(cents, counts, row))
        return among[int(met[0])].last if len(met) else None

    def _places(self, among: Sequence[Window]) -> tuple[np.ndarray, np.ndarray]:
        """For each window where its days begin and end in the series."""
        firsts = np.array([window.first.toordinal() for window in among], np.int64)
        lasts = np.array([window.last.toordinal() for window in among], np.int64)
        return np.searchsorted(self.days, firsts), np.searchsorted(self.days, lasts, side="right")

    def _is_met(self, cents: np.ndarray, counts: np.ndarray, row: Threshold) -> np.ndarray:
        """Where the test is met; exactly at the threshold it is."""
        assert row.sales is not None  # noqa: S101 - only a state without a tax has none
        sales: np.ndarray = cents + self.more[0] >= row.sales * _CENTS
        if row.transactions is None or row.logic not in {"and", "or"}:
            return sales
        number = counts + self.more[1] >= row.transactions
        both: np.ndarray = sales & number if row.logic == "and" else sales | number
        return both


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
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


def held_against(series: Series, window: Window, row: Threshold) -> MeasuredWindow:
    """Add up a window, and find the day on which it met the threshold."""
    cents, transactions = series.total(window)
    (met_on,) = series.met_on([window], row)
    return MeasuredWindow(window, cents, transactions, _used(cents, transactions, row), met_on)


def _used(cents: int, transactions: int, row: Threshold) -> Decimal:
    """The part of the threshold that is used: of both tests the lower one where both are needed."""
    assert row.sales is not None  # noqa: S101 - only a state without a tax has none
    used = Decimal(max(cents, 0)) / (row.sales * _CENTS)
    if row.transactions is not None and row.logic in {"and", "or"}:
        number = Decimal(transactions) / row.transactions
        used = min(used, number) if row.logic == "and" else max(used, number)
    return used.quantize(_FRACTION, rounding=ROUND_DOWN)


FirstAndLastDay = tuple[date | None, date | None]
"""The first and last day that the sales are complete for; missing where there are no sales."""


def covers_days(covered: FirstAndLastDay, first: date, last: date) -> bool:
    """Whether the sales are complete for all days from first to last."""
    begin, end = covered
    return begin is not None and end is not None and begin <= first and last <= end


class Uncounted(NamedTuple):
    """Rows that are, or may be, sales of a state, and could not be counted.

    Attributes:
        rows: how many.
        cents: the amounts of those that have one, without refunds.
        unsized: how many have no amount that can be read.
    """

    rows: int = 0
    cents: int = 0
    unsized: int = 0


NOTHING_LOST = Uncounted()


@dataclass(frozen=True, slots=True)
class StateSales:
    """One state's sales: the days that have any, and by channel and day the cents and counts."""

    days: np.ndarray
    cents: dict[str, np.ndarray]
    """By base; "refund" is the part of gross that is below 0, where that is known."""
    counts: np.ndarray

    def series(self, base: str, *, marketplace: bool) -> Series:
        """Sales of a base, with those of marketplaces or without."""
        return self._series(self.cents[base], marketplace=marketplace)

    def most(self, *, marketplace: bool) -> Series | None:
        """Gross sales without any refund: no base can have more. `None` where not known."""
        if "refund" not in self.cents:
            return None
        return self._series(self.cents["gross"] - self.cents["refund"], marketplace=marketplace)

    def _series(self, cents: np.ndarray, *, marketplace: bool) -> Series:
        channels = slice(None) if marketplace else slice(1)
        return Series.of(self.days, cents[channels].sum(axis=0), self.counts[channels].sum(axis=0))


@dataclass(frozen=True, slots=True)
class Daily:
    """Daily totals by state.

    Attributes:
        bases: the bases that the sales have, and "refund".
        states: each state's sales, up to the day of the exposure.
        covered: the first and last day of the sales that lead up to that day, without a calendar
            month in between in which nothing was sold anywhere: such a month is rather one that is
            missing in the file.
        empty: such months, as "2026-03", between the first sale and the last one.
        later: how many sales are after the day of the exposure.
        uncounted: rows that could not be counted, by state; "" for any.
    """

    bases: tuple[str, ...]
    states: dict[str, StateSales]
    covered: FirstAndLastDay
    empty: tuple[str, ...]
    later: int
    uncounted: dict[str, Uncounted]

    def of(self, state: str) -> tuple[StateSales, Uncounted]:
        """A state's sales, and what else may have been sold there."""
        none = np.zeros((len(_CHANNELS), 0), np.int64)
        sales = self.states.get(state) or StateSales(none[0], dict.fromkeys(self.bases, none), none)
        parts = (self.uncounted.get(one, NOTHING_LOST) for one in (state, ""))
        return sales, Uncounted(*map(sum, zip(*parts, strict=True)))


def daily_of(daily: pd.DataFrame, as_of: date) -> Daily:
    """Check a table of daily totals, and divide it by state.

    Raises:
        ValueError: columns are missing, or cells are not valid.
        TypeError: it is not a frame, or its cents are not whole numbers.
    """
    if not isinstance(daily, pd.DataFrame):
        raise TypeError(f"daily: expected a pandas.DataFrame, not {not_pandas(daily)}")
    absent = [name for name in _DAILY if name not in daily.columns]
    if absent:
        raise ValueError(
            f"daily: no column {', '.join(map(repr, absent))}; expected {', '.join(_DAILY)}, totals"
            " by state, day and channel (df.svc.exposure() makes them of your sales)"
        )
    for name, known in (("state", set(STATES)), ("channel", set(_CHANNELS))):
        odd = [value for value in daily[name].unique().tolist() if value not in known]
        if odd:
            expected = "the codes of states" if name == "state" else " or ".join(_CHANNELS)
            raise ValueError(f"daily: column {name!r} has {odd[0]!r}; expected {expected}")
    moments = pd.to_datetime(daily["day"])
    if moments.isna().any() or getattr(moments.dtype, "tz", None) is not None:
        raise ValueError("daily: column 'day' has missing days, or times in a time zone")
    whole: dict[str, np.ndarray] = {}
    for base in (*get_args(Base), "refund"):
        cents = _whole(daily, f"{base}_cents")
        if cents is not None:
            whole[base] = cents
    counts = _whole(daily, "count")
    if counts is None or (counts < 0).any():
        raise ValueError("daily: column 'count' has missing or negative numbers")
    if "gross" not in whole:
        raise ValueError("daily: column 'gross_cents' has missing cells")
    days = moments.to_numpy().astype("datetime64[D]")
    known_days = days <= np.datetime64(as_of)
    keys = [daily["state"].to_numpy(), daily["channel"].to_numpy(), days]
    summed = pd.DataFrame(whole | {"count": counts})[known_days].groupby(
        [key[known_days] for key in keys]
    )
    sums = pd.DataFrame(summed.sum())
    states = {str(state): _sales_of(of, [*whole]) for state, of in sums.groupby(level=0)}
    covered, empty = _continuous_days(np.unique(days), np.datetime64(as_of))
    later = int(counts[~known_days].sum())
    return Daily(tuple(whole), states, covered, empty, later, _uncounted(daily))


def _sales_of(sums: pd.DataFrame, bases: Sequence[str]) -> StateSales:
    """One state's sums by channel and day."""
    since_epoch = sums.index.get_level_values(2).to_numpy("datetime64[D]").astype(np.int64)
    days, place = np.unique(since_epoch + _EPOCH, return_inverse=True)
    channels = (sums.index.get_level_values(1) == _CHANNELS[1]).astype(np.int64)
    tables = {}
    for name in (*bases, "count"):
        tables[name] = np.zeros((len(_CHANNELS), len(days)), np.int64)
        tables[name][channels, place] = sums[name]
    return StateSales(days, {base: tables[base] for base in bases}, tables["count"])


def _continuous_days(
    days: np.ndarray, as_of: np.datetime64
) -> tuple[FirstAndLastDay, tuple[str, ...]]:
    """The first and last day of the sales around a day, and the months without any."""
    if not len(days):
        return (None, None), ()
    months = days.astype("datetime64[M]").astype(np.int64)
    runs = np.split(days, np.flatnonzero(np.diff(months, prepend=months[0]) > 1))
    run = [one for one in runs if one[0] <= as_of or one is runs[0]][-1]
    empty = np.setdiff1d(np.arange(months[0], months[-1]), months).astype("datetime64[M]")
    return (run[0].item(), run[-1].item()), tuple(empty.astype(str).tolist())


def _uncounted(daily: pd.DataFrame) -> dict[str, Uncounted]:
    """The rows that `frames.sales` could not count, by state."""
    noted = daily.attrs.get(SALES)
    found: dict[str, Uncounted] = {}
    for one in noted.get("uncounted", ()) if isinstance(noted, dict) else ():
        before = found.get(one["state"], NOTHING_LOST)
        more = (one[name] for name in Uncounted._fields)
        found[one["state"]] = Uncounted(*map(sum, zip(before, more, strict=True)))
    return found


def _whole(daily: pd.DataFrame, name: str) -> np.ndarray | None:
    """A column of whole numbers; `None` where it, or a cell of it, is missing."""
    if name not in daily.columns or daily[name].isna().any():
        return None
    column = daily[name]
    if len(column) and not pd.api.types.is_integer_dtype(column.dtype):
        raise TypeError(f"daily: column {name!r} is {column.dtype}; expected whole numbers (int64)")
    cents = column.to_numpy(np.int64)
    if np.abs(cents.astype(np.float64)).sum() > _MOST:
        raise ValueError(f"daily: column {name!r} adds up to more than can be held")
    return cents
