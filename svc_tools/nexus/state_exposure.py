"""Exposure: each state's sales in its own period and base, held against its threshold.

Where a fact of the threshold is not known, the sales are read in every way that it may be: a band
is reported only where all readings agree on it, and "below" never of a state that may be over. The
column `why` says all of that in sentences. Pure; frames in and out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd

from svc_tools.display import counted
from svc_tools.nexus.measured_sales import (
    CHANNELS,
    SALES,
    Found,
    Past,
    StateSales,
    Uncounted,
    Window,
    daily_of,
    day_number,
    earlier_windows,
    held_against,
    rolling_met,
    windows,
)
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.nexus.thresholds import Base, Thresholds, read_thresholds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.nexus.measured_sales import Daily, Series
    from svc_tools.nexus.register import Register
    from svc_tools.nexus.thresholds import Threshold

EXPOSURE_COLUMNS = (
    "state",
    "band",
    "registered",
    "period",
    "period_from",
    "period_to",
    "base",
    "sales",
    "transactions",
    "marketplace_sales",
    "threshold_sales",
    "threshold_transactions",
    "logic",
    "used",
    "first_crossed",
    "trailing_sales",
    "trailing_from",
    "trailing_to",
    "period_covered",
    "below_all",
    "below_now",
    "marketplace_only",
    "certainty",
    "checked_on",
    "source",
    "why",
)
"""The columns of an exposure, in order."""
_ORDER = {"missing": 0, "over": 1, "90-100": 3, "70-90": 4, "below 70": 6, "no tax": 7}
_MAY_BE_OVER, _UNKNOWN = 2, 5

Band = Literal["missing", "over", "90-100", "70-90", "below 70", "no tax", "unknown"]
BANDS: tuple[Band, ...] = get_args(Band)

_PERIODS = {
    "current_or_previous_year": "the current or the previous calendar year",
    "previous_year": "the previous calendar year",
    "four_quarters": "the last four quarters",
    "rolling_12_months": "the last 12 months",
    "twelve_months_to_september": "the 12 months to 30 September",
}


def exposure(
    daily: pd.DataFrame,
    *,
    as_of: date,
    thresholds: Thresholds | None = None,
    register: Register | None = None,
    covers: tuple[date | str, date | str] | None = None,
) -> pd.DataFrame:
    """Measure daily totals against the thresholds: one row a state, urgent ones first.

    Sales count up to `as_of`. Exactly at the threshold it is met. The first day on which it was met
    is never undone by a refund of a later day. Where a fact of a threshold is blank, the sales are
    read in every way that it may be; where the readings' bands differ, the band is "unknown".

    Args:
        daily: totals by state, day and channel, as `df.svc.exposure()` makes them: `state` (code),
            `day`, `channel` ("direct", "marketplace"), `gross_cents`, `retail_cents`,
            `taxable_cents` (whole cents; one of the last two may be missing throughout), `count`,
            and where it is known `refund_cents`, the part of gross that is below 0.
        as_of: the day of the exposure.
        thresholds: what `read_thresholds` gives; by default the shipped ones.
        register: the records; a state over its threshold without one is "missing".
        covers: the first and last day that the sales are complete for, as dates or as texts such
            as "2026-05-01"; by default the first and last day with a sale, of those without a
            calendar month in between in which nothing was sold anywhere. A period that they do not
            cover is never reported as below.

    Returns:
        A frame with the columns `EXPOSURE_COLUMNS`. Dollars and `used` (the part of the threshold
        that is used) are `Decimal`, dates `date`, what is not known is missing. `below_all` is true
        only below every threshold, by every reading, for the whole period, the trailing time and
        since; missing where it is not known; `below_now` leaves out tests that were repealed in
        that time. `attrs["svc_exposure"]` has the days of the sales, and what was left out.

    Raises:
        ValueError: `daily` is not such a table, or `covers` ends before it begins.
        TypeError: an argument has another type.
    """
    as_of = _day("as_of", as_of)
    thresholds = read_thresholds() if thresholds is None else thresholds
    if not isinstance(thresholds, Thresholds):
        raise TypeError(
            f"thresholds: expected what read_thresholds() gives, not {type(thresholds).__name__}"
        )
    totals = daily_of(daily, as_of)
    covered = Covered(totals.first, totals.last)
    if covers is not None:
        first, last = (_read_day("covers", one) for one in covers)
        if last < first:
            raise ValueError(f"covers: {last} lies before {first}")
        covered = Covered(first, last)
    records = _records(register)
    states = {row.state for row in thresholds.rows} | totals.states.keys() | records.keys()
    none = _no_sales(totals.states, as_of)
    cells = []
    for state in sorted(states):
        sales, uncounted = totals.states.get(state, none), _uncounted_of(totals, state)
        found = exposed(state, sales, thresholds, as_of, covered, uncounted=uncounted)
        registered = None if register is None else records.get(state, "")
        cells.append(_cells(found, as_of, covered, registered))
    cells.sort(key=_place)
    frame = _frame(cells)
    frame.attrs["svc_exposure"] = _about(daily, as_of, covered, totals, given=covers is not None)
    return frame


def _day(name: str, value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    if not isinstance(value, date):
        raise TypeError(f"{name}: expected a datetime.date, not {type(value).__name__}")
    return value


def _read_day(name: str, value: object) -> date:
    if not isinstance(value, str):
        return _day(name, value)
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{name}: {value!r} is no date such as '2026-05-01'") from None


def _records(register: Register | None) -> dict[str, str]:
    """The types of each state's records, in words."""
    types: dict[str, set[str]] = {}
    for record in () if register is None else register.records:
        types.setdefault(record.state, set()).add(record.nexus_type)
    return {
        state: ", ".join(one for one in NEXUS_TYPES if one in found)
        for state, found in types.items()
    }


def _no_sales(states: dict[str, StateSales], as_of: date) -> StateSales:
    """A state without sales, of the bases that the others have."""
    bases = next(iter(states.values())).cents if states else get_args(Base)
    empty = np.zeros((len(CHANNELS), 0), np.int64)
    return StateSales(day_number(as_of), dict.fromkeys(bases, empty), empty, empty)


def _cells(
    found: Exposed, as_of: date, covered: Covered, registered: str | None
) -> dict[str, object]:
    row = found.row
    over = found.band == "over"
    cells: dict[str, object] = dict.fromkeys(EXPOSURE_COLUMNS)
    cells |= {
        "state": found.state,
        "band": "missing" if over and registered == "" else found.band,
        "registered": registered,
        "marketplace_only": found.marketplace_only,
        "below_all": found.below_all,
        "below_now": found.below_now,
        "period_covered": found.period_covered,
        "why": _why(found, as_of, covered, registered=registered),
    }
    if row is None:
        return cells
    cells |= {
        "logic": row.logic,
        "threshold_sales": None if row.sales is None else Decimal(row.sales),
        "threshold_transactions": row.transactions,
        "certainty": row.certainty,
        "checked_on": row.checked_on,
        "source": row.source,
    }
    if not found.readings:
        return cells
    shown = found.readings[0]
    cells |= {
        "period": _period_words(found),
        "period_from": shown.best.window.first,
        "period_to": shown.best.window.last,
        "base": shown.base,
        "sales": _dollars(shown.best.cents),
        "transactions": shown.best.transactions,
        "marketplace_sales": _dollars(found.marketplace_cents),
        "used": shown.best.used,
        "first_crossed": found.first_crossed,
        "trailing_sales": _dollars(found.trailing_cents),
    }
    if found.trailing is not None:
        cells |= {"trailing_from": found.trailing.first, "trailing_to": found.trailing.last}
    return cells


def _dollars(cents: int | None) -> Decimal | None:
    return None if cents is None else Decimal(cents).scaleb(-2)


def _place(cells: dict[str, object]) -> tuple[int, Decimal, str]:
    used = cells["used"] if isinstance(cells["used"], Decimal) else Decimal(0)
    band = str(cells["band"])
    place = _ORDER.get(band, _MAY_BE_OVER if used >= 1 else _UNKNOWN)
    return place, -used, str(cells["state"])


def _frame(cells: list[dict[str, object]]) -> pd.DataFrame:
    kinds = {"transactions": "Int64", "threshold_transactions": "Int64"}
    flags = dict.fromkeys(("period_covered", "marketplace_only"), "bool")
    columns = {
        name: pd.Series(
            [one[name] for one in cells], dtype=kinds.get(name, flags.get(name, object))
        )
        for name in EXPOSURE_COLUMNS
    }
    return pd.DataFrame(columns, columns=list(EXPOSURE_COLUMNS))


def _uncounted_of(totals: Daily, state: str) -> Uncounted:
    """What may have been sold to a state and was not counted."""
    return totals.uncounted.get(state, Uncounted()) + totals.uncounted.get("", Uncounted())


def _about(
    daily: pd.DataFrame, as_of: date, covered: Covered, totals: Daily, *, given: bool
) -> dict[str, object]:
    """The days of the sales, and what was left out of them, in values that a file can hold."""
    noted = daily.attrs.get(SALES)
    about = dict(noted) if isinstance(noted, dict) else {}
    notes = [str(note) for note in about.get("notes", ())]
    if totals.later:
        notes.append(f"Sales behind {as_of} do not count: {totals.later:,} transactions.")
    if totals.empty and not given:
        most = 6
        months = ", ".join(totals.empty[:most]) + (", …" if totals.empty[most:] else "")
        notes.append(
            f"Without any sale: {months}. Such a month is taken to be missing in what was given, so"
            f" the sales are taken to be complete from {covered.first} to {covered.last} only;"
            " where nothing was sold in it, give the first and the last day that they are complete"
            " for (covers)."
        )
    return {
        "as_of": str(as_of),
        "first_day": None if covered.first is None else str(covered.first),
        "last_day": None if covered.last is None else str(covered.last),
        "rows": about.get("rows"),
        "left_out": list(about.get("left_out", ())),
        "notes": notes,
    }


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
    """One way to count the sales, where a fact of the threshold is not known.

    Attributes:
        base: which sales are added up.
        marketplace: whether those of marketplaces are among them.
        best: the window that uses most of the threshold.
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
            return "over"
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
        row: its threshold on the day of the exposure; `None` where the table has none.
        band: without regard to the register.
        readings: the ways to read the sales, the one that uses most of the threshold first.
        first_crossed: see `Reading.met_on`; of a rolling time the first day of all that are given
            on which the 12 months to it met the threshold.
        marketplace_cents: marketplace sales in the window that is shown.
        base_missing: the sales do not have the base that the state counts: gross is shown.
        trailing: the time before the period in which the threshold must not be met either.
        trailing_cents: its sales; `None` where the trailing time is not known.
        running: a threshold met since the period's end, which counts from the next period on.
        earlier: a threshold met in the trailing time.
        period_covered: whether the sales cover the period.
        covered: whether they cover it, the trailing time, and all days to the exposure's.
        below_all: below every threshold for all that time; `None`: not known.
        below_now: the same by the rule of the exposure's day alone: a test that was repealed in
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
        """Whether the test of transactions was repealed in that time."""
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
    """Measure one state's sales against its threshold."""
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
        """Whether no sale that was not given, or not counted, can make it met."""
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
    """Every way to count the sales that the threshold leaves open, the highest first."""
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
    doubtful = row.logic == "unknown" and band != "over" and sold
    return "unknown" if doubtful else band  # without a sale no test of transactions is met


def _with(uncounted: Uncounted, series: Series | None) -> Series | None:
    """The series if everything not counted was sold too, on any day."""
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
    """Whether the threshold was never met, by any reading; `None` where that is not known."""
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


def _dollar_text(cents: int) -> str:
    """Cents as dollars, such as $1,234.50."""
    sign = "-" if cents < 0 else ""
    return f"{sign}${Decimal(abs(cents)).scaleb(-2):,.2f}"


def _period_words(exposed: Exposed) -> str:
    """Over which time the state measures, and which of its windows is shown."""
    row = exposed.row
    if row is None or row.period is None or not exposed.readings:
        return ""
    best = exposed.readings[0].best.window.words
    return best if not exposed.readings[0].other else f"{best} ({_PERIODS[row.period]})"


def _why(exposed: Exposed, as_of: date, covered: Covered, *, registered: str | None) -> str:
    """The sentences on a state's row."""
    row = exposed.row
    if row is None:
        return f"The thresholds have no row for {exposed.state} on {as_of}."
    if exposed.band == "no tax":
        record = f" The register has a record: {registered}." if registered else ""
        return f"The state has no general sales tax.{record}"
    return " ".join(_sentences(exposed, row, as_of, covered, registered))


def _sentences(
    exposed: Exposed, row: Threshold, as_of: date, covered: Covered, registered: str | None
) -> Iterator[str]:
    shown = exposed.readings[0]
    yield _figure(shown.best, row)
    if exposed.first_crossed is not None:
        yield _crossed(exposed, exposed.first_crossed)
    yield from (
        f"In {other.window.words} it is {_percent(other)}." for other in shown.other if other.cents
    )
    yield from _reading_sentences(exposed, row)
    if row.logic == "unknown":
        yield (
            "Sources disagree on a test of transactions, so sales below the threshold do not say"
            " that there is no duty."
        )
    if row.transactions is None and exposed.dropped_within:
        yield f"There is no test of transactions any more since {row.transactions_dropped_on}."
    if exposed.running is not None:
        yield (
            f"Sales from {exposed.running.window.words} meet the threshold already, since"
            f" {exposed.running.met_on}: they count from the next period on."
        )
    elif exposed.earlier is not None and exposed.first_crossed is None:
        yield f"The threshold of that time was met in {exposed.earlier.words}."
    if exposed.trailing is not None and exposed.trailing_cents is not None:
        yield (
            f"The duty lasts {row.trailing_months} months after the threshold is no longer met;"
            f" sales {exposed.trailing.words}: {_dollar_text(exposed.trailing_cents)}."
        )
    yield from _coverage(exposed, as_of, covered)
    if exposed.uncounted.rows:
        yield _uncounted_sentence(exposed.uncounted)
    if exposed.marketplace_only:
        yield "All sales were made through marketplaces."
    yield from _unknown(exposed, row)
    if registered is not None:
        yield f"In the register: {registered}." if registered else "The register has no record."


def _figure(found: Found, row: Threshold) -> str:
    assert row.sales is not None  # noqa: S101 - only a state without a tax has none
    figure = _dollar_text(found.cents)
    test = f"${row.sales:,}"
    if row.transactions is not None and row.logic in {"and", "or"}:
        figure += f" and {counted(found.transactions, 'transaction')}"
        test += f" {row.logic} {row.transactions:,} transactions"
    return f"{figure} in {found.window.words}: {_percent(found)} of the threshold of {test}."


def _crossed(exposed: Exposed, day: date) -> str:
    best = exposed.readings[0].best
    if best.met_on is None:
        return f"The 12 months to {day} met it; those to {best.window.last} do not."
    net = " Refunds have brought the total below it since." if best.used < 1 else ""
    return f"It was first met on {day}.{net}"


def _reading_sentences(exposed: Exposed, row: Threshold) -> Iterator[str]:
    """What the figure would be where a fact of the threshold is not known."""
    shown, *others = exposed.readings
    if not exposed.any_sales:
        return
    if exposed.base_missing:
        yield (
            f"The state counts {row.base} sales, which are not in what was given: these are gross"
            " sales, the most that it can be."
        )
    elif row.base is None:
        yield f"Which sales the state counts is not known: these are {shown.base} sales."
    alike = [one for one in others if one.base == shown.base]
    if row.marketplace_counts is None and alike:
        yield (
            "Whether sales through marketplaces count is not known:"
            f" {_channels(shown)} it is {_percent(shown.best)}, {_channels(alike[0])}"
            f" {_percent(alike[0].best)} ({_dollar_text(alike[0].best.cents)})."
        )
    elif row.marketplace_counts is False and exposed.marketplace_cents:
        yield (
            "Sales through marketplaces do not count here"
            f" ({_dollar_text(exposed.marketplace_cents)} of them are left out)."
        )
    bases = {one.base: one for one in others if one.base != shown.base and one.marketplace}
    if row.base is None and bases:
        bases_text = ", ".join(f"{base} sales {_percent(one.best)}" for base, one in bases.items())
        yield f"By other ways to count: {bases_text}."


def _coverage(exposed: Exposed, as_of: date, covered: Covered) -> Iterator[str]:
    if covered.first is None or covered.last is None:
        yield "No sales were given."
    elif not exposed.covered:
        yield (
            f"The sales given are of {covered.first} to {covered.last}, and {exposed.begin} to"
            f" {as_of} is needed: more may have been sold than is counted here."
        )


def _uncounted_sentence(lost: Uncounted) -> str:
    """What was left out and may be sales to this state."""
    some = f"{_dollar_text(lost.cents)}, and " if lost.cents and lost.unsized else ""
    sums = f"{some}amounts that cannot be read" if lost.unsized else _dollar_text(lost.cents)
    return (
        f"Not counted: {counted(lost.rows, 'row')} that may be sales to the state ({sums}); the"
        " list of what was left out says why."
    )


def _unknown(exposed: Exposed, row: Threshold) -> Iterator[str]:
    if row.trailing_months is None and exposed.below_all is None:
        yield "How long the duty lasts once sales have fallen is not known."
    if row.certainty == "low":
        yield "The threshold itself is uncertain."


def _channels(reading: Reading) -> str:
    return "with them" if reading.marketplace else "without them"


def _percent(found: Found) -> str:
    """The part used, rounded down: a threshold that is not met is never shown as 100 %."""
    percent = found.used * 100
    return f"{percent.quantize(Decimal('0.1'), rounding='ROUND_DOWN')} %"
