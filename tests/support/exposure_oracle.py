"""Exposure as a person would work it out by hand: day by day, in Decimals, with nothing of ours.

It knows thresholds whose facts are all known; what is not known is tested one by one.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

ONE = timedelta(days=1)
ENDS = {"NY": (2, 5, 8, 11)}
BANDS = [(Decimal("0.9"), "90-100"), (Decimal("0.7"), "70-90"), (Decimal(-1), "below 70")]


class Sale(NamedTuple):
    """One sale; `base` names the amounts by base."""

    day: date
    channel: str
    base: dict[str, Decimal]


class Expected(NamedTuple):
    """What is expected of one state."""

    band: str
    used: Decimal
    sales: Decimal
    transactions: int
    first: date
    last: date
    crossed: date | None
    below: bool


def year_before(day: date) -> date:
    """The same day a year before; 28 February of a 29th."""
    try:
        return day.replace(year=day.year - 1)
    except ValueError:
        return day.replace(year=day.year - 1, day=28)


def months_back(day: date, months: int) -> date:
    keep = day.day
    for _ in range(months):
        before = day.replace(day=1) - ONE
        day = before.replace(day=min(keep, before.day))
    return day


def is_month_end(day: date) -> bool:
    return (day + ONE).day == 1


def spans(period: str, day: date, state: str) -> list[tuple[date, date]]:
    """The first and last days of what counts on a day."""
    this = (date(day.year, 1, 1), day)
    last = (date(day.year - 1, 1, 1), date(day.year - 1, 12, 31))
    if period == "current_or_previous_year":
        return [last, this]
    if period == "previous_year":
        return [last]
    if period == "rolling_12_months":
        return [(year_before(day) + ONE, day)]
    ends = (9,) if period == "twelve_months_to_september" else ENDS.get(state, (3, 6, 9, 12))
    end = day
    while not (is_month_end(end) and end.month in ends):
        end -= ONE
    # a quarter's or September's end lies at a month's end, and so does that of a year before
    begin = (end + ONE).replace(year=end.year + (end.month == 12) - 1)
    return [(begin, end)]


def expected(sales: list[Sale], row, as_of: date) -> Expected:
    """The oracle's own answer; the threshold is taken as the plain record that it is."""
    counted = [
        sale
        for sale in sales
        if sale.day <= as_of and (row.marketplace_counts or sale.channel == "direct")
    ]

    by_day: dict[date, list[Sale]] = {}
    for sale in counted:
        by_day.setdefault(sale.day, []).append(sale)

    def run(first: date, last: date) -> tuple[Decimal, int, date | None]:
        """Sums of a span, and the day on which they first met the threshold."""
        total, count, met = Decimal(0), 0, None
        for day in sorted(day for day in by_day if first <= day <= last):
            for sale in by_day[day]:
                total += sale.base[row.base]
                count += sale.base["gross"] >= 0
            if met is None and is_met(total, count, row):
                met = day
        return total, count, met

    found = [(*run(*span), span) for span in spans(row.period, as_of, row.state)]
    best = max(reversed(found), key=lambda one: (one[2] is not None, used(one[0], one[1], row)))
    crossed = [one[2] for one in found if one[2]]
    below = all(run(*span)[2] is None for span in all_spans(row, as_of))
    if row.period == "rolling_12_months" and counted:
        begin = min(months_back(as_of, row.trailing_months), quarter_end(as_of))
        crossed += rolling(counted, row, as_of)
        # the duty lasts from each day on which the 12 months to it had met the threshold, and a
        # later refund does not undo that
        below &= all(run(year_before(day) + ONE, day)[2] is None for day in days(begin, as_of))
    part = used(best[0], best[1], row)
    band = "over" if best[2] else next(name for least, name in BANDS if part >= least)
    return Expected(band, part, best[0], best[1], *best[3], min(crossed, default=None), below)


def rolling(counted: list[Sale], row, as_of: date) -> list[date]:
    """The days on which the 12 months that ended on them met the threshold."""
    met = []
    for day in days(min(sale.day for sale in counted), as_of):
        total, count = Decimal(0), 0
        for sale in counted:
            if year_before(day) < sale.day <= day:
                total += sale.base[row.base]
                count += sale.base["gross"] >= 0
        if is_met(total, count, row):
            met.append(day)
    return met


def days(first: date, last: date) -> list[date]:
    return [first + ONE * number for number in range((last - first).days + 1)]


def all_spans(row, as_of: date) -> list[tuple[date, date]]:
    """All that must be below: what counts, has counted in the trailing time, and will count."""
    now = spans(row.period, as_of, row.state)
    found = set(now)
    for months in range(1, row.trailing_months + 1):
        for first, last in spans(row.period, months_back(as_of, months), row.state):
            whole = (first, last)
            if row.period == "current_or_previous_year":
                whole = (first, min(date(first.year, 12, 31), as_of))
            if row.period != "rolling_12_months":
                found.add(whole)
    if row.period == "four_quarters":
        found.add((year_before(as_of) + ONE, as_of))
    elif now[-1][1] < as_of:
        found.add((now[-1][1] + ONE, as_of))
    return sorted(found)


def quarter_end(day: date) -> date:
    while not (is_month_end(day) and day.month in {3, 6, 9, 12}):
        day -= ONE
    return day


def is_met(total: Decimal, count: int, row) -> bool:
    by_sales = total >= row.sales
    if row.logic == "sales":
        return by_sales
    by_count = count >= row.transactions
    return (by_sales and by_count) if row.logic == "and" else (by_sales or by_count)


def used(total: Decimal, count: int, row) -> Decimal:
    by_sales = max(total, Decimal(0)) / row.sales
    if row.logic == "sales":
        return by_sales
    by_count = Decimal(count) / row.transactions
    return min(by_sales, by_count) if row.logic == "and" else max(by_sales, by_count)
