"""Exposure: each state's sales in its own period and base, held against its threshold.

Where a fact of the threshold is not known, the sales are read in every way that it may be: a band
is reported only where the highest and the lowest reading agree on it, and "below" never of a state
that may be over. The column `why` explains it in sentences. Pure; frames in and out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Literal, get_args

import pandas as pd

from svc_tools.nexus.measured_sales import (
    NOTHING_LOST,
    SALES,
    Window,
    covers_days,
    daily_of,
    earlier_windows,
    held_against,
    months_before,
    rolling_windows,
    window_since,
    windows,
)
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.nexus.thresholds import Base, Thresholds, read_thresholds
from svc_tools.show.display import counted
from svc_tools.tables.dates import one_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc_tools.nexus.measured_sales import (
        Daily,
        FirstAndLastDay,
        MeasuredWindow,
        Series,
        StateSales,
        Uncounted,
    )
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
    "far_below",
    "marketplace_only",
    "certainty",
    "checked_on",
    "source",
    "why",
)
"""The columns of an exposure, in order."""
_Band = Literal["missing", "over", "90-100", "70-90", "below 70", "no tax", "unknown"]
BANDS: tuple[_Band, ...] = get_args(_Band)
_ORDER = {"missing": 0, "over": 1, "90-100": 3, "70-90": 4, "below 70": 6, "no tax": 7}
_MAY_BE_OVER, _UNKNOWN = 2, 5
_LEAST: tuple[tuple[Decimal, _Band], ...] = ((Decimal("0.9"), "90-100"), (Decimal("0.7"), "70-90"))
FAR_BELOW = Decimal("0.5")
"""A state is far below, and shown in one line with the others, where it has no record, less than
this part of every threshold is used by the highest reading, in the period and since, and none was
met in the time that matters."""
_DAY = timedelta(days=1)

_MONTHS_SHOWN = 6

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
        that is used) are `Decimal`, dates `date`, what is not known is missing. `far_below`: see
        `FAR_BELOW`. `below_all` is true
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
    covered = totals.covered
    if covers is not None:
        first, last = (_day("covers", one, text=True) for one in covers)
        if last < first:
            raise ValueError(f"covers: {last} lies before {first}")
        covered = first, last
    records: dict[str, set[str]] = {}
    for record in () if register is None else register.records:
        records.setdefault(record.state, set()).add(record.nexus_type)
    cells = []
    for state in sorted(
        {row.state for row in thresholds.rows} | totals.states.keys() | set(records)
    ):
        found = _exposed(state, totals, thresholds, as_of, covered)
        types = records.get(state, ())
        registered = ", ".join(one for one in NEXUS_TYPES if one in types)
        cells.append(_cells(found, as_of, covered, None if register is None else registered))
    cells.sort(key=_place)
    counts = dict.fromkeys(("transactions", "threshold_transactions"), "Int64")
    flags = dict.fromkeys(("period_covered", "far_below", "marketplace_only"), "bool")
    kinds = dict.fromkeys(EXPOSURE_COLUMNS, "object") | counts | flags
    frame = pd.DataFrame(
        {name: pd.Series([one[name] for one in cells], dtype=kind) for name, kind in kinds.items()}
    )
    frame.attrs["svc_exposure"] = _about(daily, as_of, covered, totals, given=covers is not None)
    return frame


def _day(name: str, value: object, *, text: bool = False) -> date:
    """A day, also as text where that is allowed."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not text or not isinstance(value, str):
        raise TypeError(f"{name}: expected a datetime.date, not {type(value).__name__}")
    return one_day(name, value)


def _place(cells: dict[str, object]) -> tuple[int, Decimal, str]:
    used = cells["used"] if isinstance(cells["used"], Decimal) else Decimal(0)
    band = str(cells["band"])
    place = _ORDER.get(band, _MAY_BE_OVER if used >= 1 else _UNKNOWN)
    return place, -used, str(cells["state"])


def _about(
    daily: pd.DataFrame, as_of: date, covered: FirstAndLastDay, totals: Daily, *, given: bool
) -> dict[str, object]:
    """The days of the sales, and what was left out of them, in values that a file can hold."""
    noted = daily.attrs.get(SALES)
    about = dict(noted) if isinstance(noted, dict) else {}
    notes = [str(note) for note in about.get("notes", ())]
    first, last = covered
    if totals.later:
        notes.append(f"Sales after {as_of} do not count: {totals.later:,} transactions.")
    if totals.empty and not given:
        more = ", …" if len(totals.empty) > _MONTHS_SHOWN else ""
        months = ", ".join(totals.empty[:_MONTHS_SHOWN]) + more
        notes.append(
            f"Without any sale: {months}. Such a month is taken to be missing in what was given, so"
            f" the sales are taken to be complete from {first} to {last} only; where nothing was"
            " sold in it, give the first and the last day that they are complete for."
        )
    return {
        "as_of": str(as_of),
        "first_day": None if first is None else str(first),
        "last_day": None if last is None else str(last),
        "rows": about.get("rows"),
        "left_out": list(about.get("left_out", ())),
        "notes": notes,
    }


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to count the sales, where a fact of the threshold is not known.

    Attributes:
        base: which sales are added up.
        marketplace: whether those of marketplaces are among them.
        series: the sales.
        found: the windows of the period, the one that uses most of the threshold first.
    """

    base: str
    marketplace: bool
    series: Series
    found: tuple[MeasuredWindow, ...]

    @property
    def best(self) -> MeasuredWindow:
        """The window that uses most of the threshold."""
        return self.found[0]

    @property
    def band(self) -> _Band:
        """The band of this reading."""
        if self.best.met_on is not None:
            return "over"
        return next((band for least, band in _LEAST if self.best.used >= least), "below 70")


@dataclass(frozen=True, slots=True)
class _Exposed:
    """One state's sales, measured against its threshold.

    Attributes:
        state: the postal code.
        row: its threshold; `None` where the table has none for the day.
        band: the band of all readings; "unknown" where they differ.
        readings: every way to count the sales that the threshold leaves open, the highest first.
        first_crossed: the first day on which the threshold was met.
        marketplace_cents: marketplace sales in the window that is shown.
        base_missing: the sales do not have the base that the state counts: gross is shown.
        trailing: the time before the period in which the threshold must not be met either.
        trailing_cents: its sales; `None` where the trailing time is not known.
        running: a threshold met since the period's end, which counts from the next period on.
        met: a window of all that must be below in which the threshold was met.
        period_covered: whether the sales cover the period.
        covered: whether they cover it, the trailing time, and all days to the exposure's.
        below_all: below every threshold for all that time; `None`: not known.
        below_now: the same by the rule of the exposure's day alone: a test that was repealed in
            that time does not count.
        far_below: see `FAR_BELOW`, whatever the register has.
        marketplace_only: whether all sales of that time were a marketplace's.
        any_sales: whether there are any sales to the state.
        begin: the first day of all that must be below: the period, and the trailing time.
        uncounted: what else may have been sold there.
    """

    state: str
    row: Threshold | None
    band: _Band
    readings: tuple[_Reading, ...] = ()
    first_crossed: date | None = None
    marketplace_cents: int | None = None
    base_missing: bool = False
    trailing: Window | None = None
    trailing_cents: int | None = None
    running: MeasuredWindow | None = None
    met: Window | None = None
    period_covered: bool = False
    covered: bool = False
    below_all: bool | None = None
    below_now: bool | None = None
    far_below: bool = False
    marketplace_only: bool = False
    any_sales: bool = False
    begin: date | None = None
    uncounted: Uncounted = NOTHING_LOST


def _exposed(
    state: str, totals: Daily, thresholds: Thresholds, as_of: date, covered: FirstAndLastDay
) -> _Exposed:
    """Measure one state's sales against its threshold."""
    row = thresholds.of(state, as_of)
    if row is None:
        return _Exposed(state, None, "unknown")
    if row.logic == "none" or row.period is None or row.sales is None:
        return _Exposed(state, row, "no tax")
    sales, uncounted = totals.of(state)
    now = windows(row.period, as_of, state)
    since = window_since(row.period, as_of, state)
    must = [*now, *earlier_windows(row.period, as_of, row.trailing_months or 0, state)]
    begin = min(window.first for window in must)
    must += [since] if since is not None else []
    base_missing = row.base is not None and row.base not in sales.cents
    readings = _readings(sales, row, now)
    shown = readings[0]
    whole = Window(begin, as_of, "")
    trailing = _trailing(row, as_of, state, now)
    trailing_cents = 0 if trailing is None else shown.series.total(trailing)[0]
    running = None if since is None else held_against(shown.series, since, row)
    most: list[Series | None] = [reading.series for reading in readings]
    if base_missing:
        most = [sales.most(marketplace=row.marketplace_counts is not False)]
    of_state = (one for one in thresholds.rows if one.state == state and one.sales is not None)
    rules = [row, *(one for one in of_state if one is not row)]
    below: list[bool | None] = []
    for tests in (rules, [row]):
        met = [_met_in(reading.series, must, tests) for reading in readings]
        # no sale that was not given, or not counted, can make it met
        sure = covers_days(covered, begin, as_of) and not uncounted.unsized
        for one in most if sure else ():
            more = None if one is None else one.with_more(uncounted.cents, uncounted.rows)
            sure = sure and more is not None and _met_in(more, must, tests) is None
        below.append(_below(row, met, sure=sure, base_missing=base_missing))
    crossed = [found.met_on for found in shown.found]
    if row.period == "rolling_12_months" and len(shown.series.days):
        ends = rolling_windows(date.fromordinal(int(shown.series.days[0])), as_of)
        crossed.append(shown.series.first_end_met(ends, row))
    direct, both = (sales.series("gross", marketplace=each).total(whole) for each in (False, True))
    with_them, without = (
        sales.series(shown.base, marketplace=each).total(shown.best.window)[0]
        for each in (True, False)
    )
    first_crossed = min((day for day in crossed if day is not None), default=None)
    met_in, band = _met_in(shown.series, must, rules), _band(row, readings)
    most_used = max(one.used for one in (shown.best, running) if one is not None)
    never_met = first_crossed is None and met_in is None
    return _Exposed(
        state=state,
        row=row,
        band=band,
        readings=readings,
        first_crossed=first_crossed,
        marketplace_cents=with_them - without,
        base_missing=base_missing,
        trailing=trailing,
        trailing_cents=None if row.trailing_months is None else trailing_cents,
        running=running if running is not None and running.met_on is not None else None,
        met=met_in,
        period_covered=covers_days(covered, now[0].first, now[-1].last),
        covered=covers_days(covered, begin, as_of),
        below_all=below[0],
        below_now=below[1],
        far_below=band == "below 70" and never_met and most_used < FAR_BELOW,
        marketplace_only=direct == (0, 0) != both,
        begin=begin,
        uncounted=uncounted,
        any_sales=bool(sales.counts.any() or sales.cents["gross"].any()),
    )


def _readings(sales: StateSales, row: Threshold, now: tuple[Window, ...]) -> tuple[_Reading, ...]:
    """Every way to count the sales that the threshold leaves open, the highest first."""
    bases: tuple[str, ...] = ("gross",)
    if row.base is not None and row.base in sales.cents:
        bases = (row.base,)
    elif row.base is None:
        bases = tuple(base for base in get_args(Base) if base in sales.cents)
    choices: tuple[bool, ...] = (row.marketplace_counts is not False,)
    if row.marketplace_counts is None and (sales.counts[1].any() or sales.cents["gross"][1].any()):
        choices = (True, False)
    readings = []
    for base, marketplace in product(bases, choices):
        series = sales.series(base, marketplace=marketplace)
        found = [held_against(series, window, row) for window in reversed(now)]
        found.sort(key=lambda one: one.rank, reverse=True)  # of two equal ones the current first
        readings.append(_Reading(base, marketplace, series, tuple(found)))
    return tuple(sorted(readings, key=lambda one: one.best.rank, reverse=True))


def _band(row: Threshold, readings: tuple[_Reading, ...]) -> _Band:
    band = readings[0].band
    if band != readings[-1].band:
        return "unknown"
    sold = any(found.transactions for reading in readings for found in reading.found)
    doubtful = row.logic == "unknown" and band != "over" and sold
    return "unknown" if doubtful else band  # without a sale no test of transactions is met


def _trailing(row: Threshold, as_of: date, state: str, now: tuple[Window, ...]) -> Window | None:
    """The time before the period in which a duty may have begun that still lasts."""
    if not row.trailing_months or row.period is None:
        return None
    if row.period == "rolling_12_months":
        earlier = windows(row.period, months_before(as_of, row.trailing_months))
    else:
        earlier = earlier_windows(row.period, as_of, row.trailing_months, state)
    if not earlier:
        return None
    last = now[0].first - _DAY
    return Window(earlier[0].first, last, f"from {earlier[0].first} to {last}")


def _met_in(series: Series, must: Sequence[Window], rules: Sequence[Threshold]) -> Window | None:
    """A window in which a threshold was met, by the first rule or by those of the window's time."""
    for number, rule in enumerate(rules):
        begin, end = rule.effective_from or date.min, rule.effective_to or date.max
        own = [one for one in must if not number or (begin <= one.last and one.first <= end)]
        met = series.met_on(own, rule, until=end if number else None)
        for window, day in zip(own, met, strict=True):
            if day is not None:
                return window
    return None


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


def _cells(
    found: _Exposed, as_of: date, covered: FirstAndLastDay, registered: str | None
) -> dict[str, object]:
    """One row of the exposure."""
    row = found.row
    cells: dict[str, object] = dict.fromkeys(EXPOSURE_COLUMNS)
    cells |= {
        "state": found.state,
        "band": "missing" if found.band == "over" and registered == "" else found.band,
        "registered": registered,
        "marketplace_only": found.marketplace_only,
        "below_all": found.below_all,
        "below_now": found.below_now,
        "far_below": found.far_below and not registered,
        "period_covered": found.period_covered,
        "why": " ".join(_why(found, as_of, covered, registered)),
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
    if not found.readings or row.period is None:
        return cells
    shown = found.readings[0]
    window = shown.best.window
    several = len(shown.found) > 1
    cells |= {
        "period": f"{window.words} ({_PERIODS[row.period]})" if several else window.words,
        "period_from": window.first,
        "period_to": window.last,
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


def _dollar_text(cents: int) -> str:
    """Cents as dollars, such as $1,234.50."""
    sign = "-" if cents < 0 else ""
    return f"{sign}${Decimal(abs(cents)).scaleb(-2):,.2f}"


def _percent(found: MeasuredWindow) -> str:
    """The part used, rounded down: a threshold that is not met is never shown as 100%."""
    return f"{(found.used * 100).quantize(Decimal('0.1'), rounding='ROUND_DOWN')}%"


def _why(
    found: _Exposed, as_of: date, covered: FirstAndLastDay, registered: str | None
) -> Iterator[str]:
    """The sentences on a state's row."""
    row = found.row
    if row is None:
        yield f"The thresholds have no row for {found.state} on {as_of}."
        return
    if found.band == "no tax":
        yield "The state has no general sales tax."
        if registered:
            yield f"The register has a record: {registered}."
        return
    yield from _figures(found, row)
    yield from _past(found, row)
    yield from _coverage(found, row, as_of, covered)
    if registered is not None:
        yield f"In the register: {registered}." if registered else "The register has no record."


def _figures(found: _Exposed, row: Threshold) -> Iterator[str]:
    """What was sold in the period, and in which way it is counted."""
    shown = found.readings[0]
    yield _figure(shown.best, row)
    if found.first_crossed is not None:
        yield _crossed(found, found.first_crossed)
    yield from (
        f"In {other.window.words} it is {_percent(other)}."
        for other in shown.found[1:]
        if other.cents
    )
    if found.any_sales:
        yield from _reading_sentences(found, row)
    if row.logic == "unknown":
        yield (
            "Sources disagree on a test of transactions, so sales below the threshold do not rule"
            " out a duty."
        )


def _past(found: _Exposed, row: Threshold) -> Iterator[str]:
    """What was sold before and after the period."""
    dropped = row.transactions_dropped_on
    if row.transactions is None and dropped and found.begin and dropped >= found.begin:
        yield f"There is no test of transactions any more since {dropped}."
    if found.running is not None:
        yield (
            f"Sales from {found.running.window.words} meet the threshold already, since"
            f" {found.running.met_on}: they count from the next period on."
        )
    elif found.met is not None and found.first_crossed is None:
        yield f"The threshold of that time was met in {found.met.words}."
    if found.trailing is not None and found.trailing_cents is not None:
        yield (
            f"The duty lasts {row.trailing_months} months after the threshold is no longer met;"
            f" sales {found.trailing.words}: {_dollar_text(found.trailing_cents)}."
        )


def _figure(best: MeasuredWindow, row: Threshold) -> str:
    figure, test = _dollar_text(best.cents), f"${row.sales:,}"
    if row.transactions is not None and row.logic in {"and", "or"}:
        figure += f" and {counted(best.transactions, 'transaction')}"
        test += f" {row.logic} {row.transactions:,} transactions"
    return f"{figure} in {best.window.words}: {_percent(best)} of the threshold of {test}."


def _crossed(found: _Exposed, day: date) -> str:
    best = found.readings[0].best
    if best.met_on is None:
        return f"The 12 months to {day} met it; those to {best.window.last} do not."
    net = " Refunds have brought the total below it since." if best.used < 1 else ""
    return f"It was first met on {day}.{net}"


def _reading_sentences(found: _Exposed, row: Threshold) -> Iterator[str]:
    """What is not known of the way to count, and what the figure may be at least."""
    shown, least = found.readings[0], found.readings[-1]
    if found.base_missing:
        yield (
            f"The state counts {row.base} sales, which are not in what was given: these are gross"
            " sales, the most that it can be."
        )
    elif row.base is None:
        yield f"Which sales the state counts is not known: these are {shown.base} sales."
    if row.marketplace_counts is False and found.marketplace_cents:
        left_out = _dollar_text(found.marketplace_cents)
        yield f"Sales through marketplaces do not count here ({left_out} of them are left out)."
    if row.marketplace_counts is None and {one.marketplace for one in found.readings} != {True}:
        yield "Whether sales through marketplaces count is not known."
    if least is not shown:
        without = "" if least.marketplace else " without marketplaces"
        yield (
            f"Counted in the lowest way ({least.base} sales{without}), it is"
            f" {_percent(least.best)} ({_dollar_text(least.best.cents)})."
        )


def _coverage(
    found: _Exposed, row: Threshold, as_of: date, covered: FirstAndLastDay
) -> Iterator[str]:
    """What is not known of the sales, and of the threshold."""
    if None in covered:
        yield "No sales were given."
    elif not found.covered:
        yield (
            f"The sales given are of {covered[0]} to {covered[1]}, and {found.begin} to"
            f" {as_of} is needed: more may have been sold than is counted here."
        )
    lost = found.uncounted
    if lost.rows:
        some = f"{_dollar_text(lost.cents)}, and " if lost.cents and lost.unsized else ""
        sums = f"{some}amounts that cannot be read" if lost.unsized else _dollar_text(lost.cents)
        yield (
            f"Not counted: {counted(lost.rows, 'row')} that may be sales to the state ({sums});"
            " the list of what was left out gives the reasons."
        )
    if found.marketplace_only:
        yield "All sales were made through marketplaces."
    if row.trailing_months is None and found.below_all is None:
        yield "How long the duty lasts once sales have fallen is not known."
    if row.certainty == "low":
        yield "The threshold itself is uncertain."
