"""One state's exposure: its sales in its own period and base, against its threshold. Pure.

Where a fact of the threshold is not known, the sales are read in every way that it may be: a band
is said only where all readings agree on it, and "below" is never said of a state that may be over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from svc_tools.nexus.exposure_past import Past
from svc_tools.nexus.exposure_sums import Found, Uncounted, held_against, rolling_met
from svc_tools.nexus.periods import Window, earlier_windows, windows

if TYPE_CHECKING:
    from datetime import date

    from svc_tools.nexus.exposure_sums import Series, StateSales
    from svc_tools.nexus.thresholds import Base, Threshold, Thresholds

__all__ = ["BANDS", "Band", "Covered", "Exposed", "Reading", "exposed"]

Band = Literal["missing", "over", "90-100", "70-90", "below 70", "no tax", "unknown"]
BANDS: tuple[Band, ...] = ("missing", "over", "90-100", "70-90", "below 70", "no tax", "unknown")
_OVER: Band = "over"
_DAY = timedelta(days=1)
_BANDS: tuple[tuple[Decimal, Band], ...] = ((Decimal("0.9"), "90-100"), (Decimal("0.7"), "70-90"))


@dataclass(frozen=True, slots=True)
class Covered:
    """The days that the sales are complete for; both are missing where there are no sales."""

    first: date | None
    last: date | None

    def holds(self, first: date, last: date) -> bool:
        """Whether all days from first to last are among them."""
        if self.first is None or self.last is None:
            return False
        return self.first <= first and last <= self.last


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the sales, where a fact of the threshold may be several things.

    Attributes:
        base: which sales are added up.
        marketplace: whether those of marketplaces are among them.
        best: the window that says most.
        other: the other windows of the period.
    """

    base: Base
    marketplace: bool
    best: Found
    other: tuple[Found, ...]

    @property
    def band(self) -> Band:
        """The band of this reading."""
        if self.best.met_on is not None:
            return _OVER
        return next((band for least, band in _BANDS if self.best.used >= least), "below 70")

    @property
    def met_on(self) -> date | None:
        """The first day on which the threshold was met in one of the period's windows."""
        days = [found.met_on for found in (self.best, *self.other) if found.met_on is not None]
        return min(days, default=None)


@dataclass(frozen=True, slots=True)
class Exposed:
    """What is known of one state's exposure.

    Attributes:
        state: its code.
        row: its threshold on the day that is asked about; `None` where the table has none.
        band: without regard to the register.
        readings: the ways to read the sales, the one that uses most of the threshold first.
        first_crossed: see `Reading.met_on`; of a rolling time the first day of all that are given
            on which the 12 months to it met the threshold.
        marketplace_cents: marketplace sales in the window that is shown.
        base_missing: the state counts sales of a base that the sales do not have: gross is shown.
        trailing: the time before the period in which the threshold must not be met either.
        trailing_cents: its sales; `None` where the trailing time is not known.
        running: a threshold met since the period's end, which counts from the next period on.
        earlier: a threshold met in the trailing time.
        period_covered: whether the sales cover the period.
        covered: whether they cover it, the trailing time, and all days to the one asked about.
        below_all: below every threshold for all that time; `None`: it cannot be said.
        below_now: the same by the rule of the day asked about alone: a test that was dropped in
            that time does not count.
        marketplace_only: whether all sales of that time were a marketplace's.
        any_sales: whether there are any sales to the state.
        begin: the first day of all that must be below: the period, and the trailing time.
        uncounted: what else may have been sold there.
    """

    state: str
    row: Threshold | None
    band: Band
    readings: tuple[Reading, ...] = ()
    first_crossed: date | None = None
    marketplace_cents: int | None = None
    base_missing: bool = False
    trailing: Window | None = None
    trailing_cents: int | None = None
    running: Found | None = None
    earlier: Window | None = None
    period_covered: bool = False
    covered: bool = False
    below_all: bool | None = None
    below_now: bool | None = None
    marketplace_only: bool = False
    any_sales: bool = False
    begin: date | None = None
    uncounted: Uncounted = Uncounted()  # noqa: RUF009 - it is frozen

    @property
    def dropped_within(self) -> bool:
        """Whether the test of transactions was dropped in that time."""
        dropped = None if self.row is None else self.row.transactions_dropped_on
        return dropped is not None and self.begin is not None and dropped >= self.begin


def exposed(
    state: str,
    sales: StateSales,
    thresholds: Thresholds,
    as_of: date,
    covered: Covered,
    *,
    uncounted: Uncounted,
) -> Exposed:
    """Hold one state's sales against its threshold."""
    row = thresholds.of(state, as_of)
    if row is None:
        return Exposed(state, None, "unknown")
    if row.logic == "none" or row.period is None or row.sales is None:
        return Exposed(state, row, "no tax")
    now = windows(row.period, as_of, state)
    base_missing = row.base is not None and row.base not in sales.cents
    readings = _readings(sales, row, now)
    shown = readings[0]
    trailing = _trailing(row, as_of, state, now)
    series = sales.series(shown.base, marketplace=shown.marketplace)
    past = Past(state, row, thresholds, as_of)
    begin = past.begin
    read = [sales.series(one.base, marketplace=one.marketplace) for one in readings]
    met = [past.met_in(one) for one in read]
    met_now = [past.met_in(one, today_only=True) for one in read]
    crossed = [shown.met_on]
    if row.period == "rolling_12_months":
        crossed.append(rolling_met(series, series.first, as_of, row))
    most = sales.most(marketplace=row.marketplace_counts is not False) if base_missing else None
    may_be = [_with(uncounted, one) for one in ([most] if base_missing else read)]

    def is_sure(*, today_only: bool) -> bool:
        """Whether nothing that was not given, or not counted, can make it met."""
        below = (past.is_below(one, today_only=today_only) for one in may_be)
        return covered.holds(begin, as_of) and not uncounted.unsized and all(below)

    sure, sure_now = is_sure(today_only=False), is_sure(today_only=True)
    return Exposed(
        state=state,
        row=row,
        band=_band(row, readings),
        readings=readings,
        first_crossed=min((day for day in crossed if day is not None), default=None),
        marketplace_cents=_marketplace(sales, shown),
        base_missing=base_missing,
        trailing=trailing,
        trailing_cents=_trailing_cents(row, series, trailing),
        running=past.running(series),
        earlier=met[0],
        period_covered=covered.holds(now[0].first, now[-1].last),
        covered=covered.holds(begin, as_of),
        below_all=_below(row, met, sure=sure, base_missing=base_missing),
        below_now=_below(row, met_now, sure=sure_now, base_missing=base_missing),
        marketplace_only=_marketplace_only(sales, begin, as_of),
        begin=begin,
        uncounted=uncounted,
        any_sales=bool(sales.counts.any() or sales.cents["gross"].any()),
    )


def _readings(sales: StateSales, row: Threshold, now: tuple[Window, ...]) -> tuple[Reading, ...]:
    """Every way to read the sales that the threshold leaves open, the highest first."""
    bases: tuple[Base, ...] = ("gross",)
    if row.base is not None and row.base in sales.cents:
        bases = (row.base,)
    elif row.base is None:
        bases = tuple(sales.cents)
    some = bool(sales.counts[1].any()) or bool(sales.cents["gross"][1].any())
    if row.marketplace_counts is None and some:
        choices: tuple[bool, ...] = (True, False)
    else:
        choices = (row.marketplace_counts is not False,)
    readings = []
    for base in bases:
        for marketplace in choices:
            series = sales.series(base, marketplace=marketplace)
            found = [held_against(series, window, row) for window in now]
            best = max(reversed(found), key=lambda one: one.rank)  # of two equal ones the current
            others = tuple(one for one in found if one is not best)
            readings.append(Reading(base, marketplace, best, others))
    return tuple(sorted(readings, key=lambda one: one.best.rank, reverse=True))


def _band(row: Threshold, readings: tuple[Reading, ...]) -> Band:
    bands = {one.band for one in readings}
    if len(bands) > 1:
        return "unknown"
    band = bands.pop()
    sold = any(found.transactions for one in readings for found in (one.best, *one.other))
    doubtful = row.logic == "unknown" and band != _OVER and sold
    return "unknown" if doubtful else band  # without a sale no test of transactions is met


def _with(uncounted: Uncounted, series: Series | None) -> Series | None:
    """The series if all that was not counted was sold too, wherever it hurts most."""
    return None if series is None else replace(series, more=(uncounted.cents, uncounted.rows))


def _marketplace(sales: StateSales, shown: Reading) -> int:
    window = shown.best.window
    both, direct = (
        sales.series(shown.base, marketplace=marketplace).total(window.first, window.last)[0]
        for marketplace in (True, False)
    )
    return both - direct


def _trailing(row: Threshold, as_of: date, state: str, now: tuple[Window, ...]) -> Window | None:
    if not row.trailing_months or row.period is None:
        return None
    earlier = earlier_windows(row.period, as_of, row.trailing_months, state)
    if not earlier:
        return None
    last = now[0].first - _DAY
    return Window(earlier[0].first, last, f"from {earlier[0].first} to {last}")


def _below(
    row: Threshold, met: list[Window | None], *, sure: bool, base_missing: bool
) -> bool | None:
    """Whether the threshold was never met, by any reading; `None` where it cannot be said."""
    if all(one is not None for one in met):
        return None if base_missing or row.base is None else False
    if any(one is not None for one in met) or not sure:
        return None
    known = None not in (row.base, row.marketplace_counts, row.trailing_months)
    return True if known and row.logic != "unknown" and row.certainty != "low" else None


def _marketplace_only(sales: StateSales, first: date, last: date) -> bool:
    direct, both = (
        sales.series("gross", marketplace=marketplace).total(first, last)
        for marketplace in (False, True)
    )
    return direct == (0, 0) != both


def _trailing_cents(row: Threshold, series: Series, trailing: Window | None) -> int | None:
    if row.trailing_months is None:
        return None
    return 0 if trailing is None else series.total(trailing.first, trailing.last)[0]
