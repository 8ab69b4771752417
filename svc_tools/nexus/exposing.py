"""`exposure`: sales against every state's threshold. Pure; frames in and out."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, get_args

import numpy as np
import pandas as pd

from svc_tools.nexus.daily import CHANNELS, SALES, daily_of
from svc_tools.nexus.exposure_state import Covered, exposed
from svc_tools.nexus.exposure_sums import StateSales, Uncounted, day_number
from svc_tools.nexus.exposure_words import period_words, why
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.nexus.thresholds import Base, Thresholds, read_thresholds

if TYPE_CHECKING:
    from svc_tools.nexus.daily import Daily
    from svc_tools.nexus.exposure_state import Exposed
    from svc_tools.nexus.register import Register

__all__ = ["EXPOSURE_COLUMNS", "exposure"]

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
_ATTRIBUTE = "svc_exposure"
_MONTHS = 6


def exposure(
    daily: pd.DataFrame,
    *,
    as_of: date,
    thresholds: Thresholds | None = None,
    register: Register | None = None,
    covers: tuple[date | str, date | str] | None = None,
) -> pd.DataFrame:
    """Hold daily totals against the thresholds: one row a state, those that need attention first.

    Sales count up to `as_of`. Exactly at the threshold it is met. The first day on which it was met
    is never undone by a refund of a later day. Where a fact of a threshold is blank, the sales are
    read in every way that it may be; where the readings' bands differ, the band is "unknown".

    Args:
        daily: totals by state, day and channel, as `df.svc.exposure()` makes them: `state` (code),
            `day`, `channel` ("direct", "marketplace"), `gross_cents`, `retail_cents`,
            `taxable_cents` (whole cents; one of the last two may be missing throughout), `count`,
            and where it is known `refund_cents`, the part of gross that is below 0.
        as_of: the day that is asked about.
        thresholds: what `read_thresholds` gives; by default the shipped ones.
        register: the records there are: a state over its threshold without one is "missing".
        covers: the first and last day that the sales are complete for, as dates or as texts such
            as "2026-05-01"; by default the first and last day with a sale, of those without a
            calendar month in between in which nothing was sold anywhere. A period that they do not
            cover is never said to be below.

    Returns:
        A frame with the columns `EXPOSURE_COLUMNS`. Dollars and `used` (the part of the threshold
        that is used) are `Decimal`, dates `date`, what is not known is missing. `below_all` is true
        only below every threshold, by every reading, for the whole period, the trailing time and
        since; missing where it cannot be said; `below_now` leaves out tests that were dropped in
        that time. `attrs["svc_exposure"]` says of which days the sales
        are, and what was left out of them.

    Raises:
        ValueError: `daily` is not such a table, or `covers` ends before it begins.
        TypeError: an argument is another kind of thing.
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
        sales, lost = totals.states.get(state, none), _lost(totals, state)
        found = exposed(state, sales, thresholds, as_of, covered, uncounted=lost)
        registered = None if register is None else records.get(state, "")
        cells.append(_cells(found, as_of, covered, registered))
    cells.sort(key=_place)
    frame = _frame(cells)
    frame.attrs[_ATTRIBUTE] = _about(daily, as_of, covered, totals, given=covers is not None)
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
        "why": why(found, as_of, covered, registered=registered),
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
        "period": period_words(found),
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


def _lost(totals: Daily, state: str) -> Uncounted:
    """What may have been sold to a state and was not counted."""
    return totals.uncounted.get(state, Uncounted()) + totals.uncounted.get("", Uncounted())


def _about(
    daily: pd.DataFrame, as_of: date, covered: Covered, totals: Daily, *, given: bool
) -> dict[str, object]:
    """What is to be known of the sales, in plain values that a file can hold."""
    noted = daily.attrs.get(SALES)
    told = dict(noted) if isinstance(noted, dict) else {}
    notes = [str(note) for note in told.get("notes", ())]
    if totals.later:
        notes.append(f"Sales behind {as_of} do not count: {totals.later:,} transactions.")
    if totals.empty and not given:
        months = ", ".join(totals.empty[:_MONTHS]) + (", …" if totals.empty[_MONTHS:] else "")
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
        "rows": told.get("rows"),
        "left_out": list(told.get("left_out", ())),
        "notes": notes,
    }
