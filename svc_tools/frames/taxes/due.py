"""The terms of a tax, and what of it the seller owes under them.

What is due depends on where the seller is registered (`nexus=`), on the day of the sale, and on who
made it (`channel=`). The frame stores the terms, the arguments of `df.svc.tax()`, with its tax, and
`Enriched.terms` reads them back.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.lookup.columns import distinct_values, is_label
from svc_tools.frames.lookup.queries import DateColumn
from svc_tools.frames.taxes.tax_lines import RowReasons
from svc_tools.lookup.options import TaxOptions, names_where
from svc_tools.nexus import Register, read_register
from svc_tools.tables.dates import DateTerms

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

    from svc_tools.frames.added.enriched import Enriched


_MARKETPLACE = {
    "marketplace",
    "marketplace facilitator",
    "marketplace facilitated",
    "facilitated",
    "facilitator",
    "mpf",
    "amazon",
    "amazon.com",
}
_DIRECT = {
    "direct",
    "direct sale",
    "own",
    "own store",
    "own site",
    "own website",
    "web",
    "webshop",
    "web store",
    "webstore",
    "website",
    "online store",
    "store",
    "retail",
    "pos",
    "phone",
    "d2c",
    "dtc",
    "non amazon",
    "non amazon us",
}
_MONTHS = {"month": 1, "quarter": 3}
_NO_DAY, _NEVER = np.iinfo(np.int32).min, np.iinfo(np.int32).max
"""The first day of a record without a date, and of a state without a record."""
_EPOCH = date(1970, 1, 1)


def terms_stored(terms: TaxOptions, register: Register | None) -> dict[str, object]:
    """The terms as the stamp of a frame has them, in plain values that a file can hold."""
    answers = names_where(TaxOptions, "answer")  # the reading has them
    noted: dict[str, object] = {
        field.name: None if field.name == "nexus" else _as_stored(getattr(terms, field.name))
        for field in fields(terms)
        if field.name not in {"prefix", "errors", "layout", *answers}
    }
    if register is not None:
        file = Path(terms.nexus).name if isinstance(terms.nexus, str | Path) else None
        noted["nexus"] = {
            "file": file,
            "records": len(register.records),
            "states": sorted(register.states),
        }
    return noted


def _as_stored(value: object) -> object:
    return value if value is None or isinstance(value, str | bool | int) else str(value)


class Channel(NamedTuple):
    """Who made each sale."""

    marketplace: np.ndarray
    unknown: np.ndarray
    odd: tuple[str, ...]
    """The distinct values that are neither channel."""

    @property
    def direct(self) -> np.ndarray:
        """Which sales are known to be direct."""
        direct: np.ndarray = ~(self.marketplace | self.unknown)
        return direct


class SaleDays(NamedTuple):
    """The first and the last day that each sale may have, in days since 1970-01-01."""

    first: np.ndarray
    last: np.ndarray
    missing: np.ndarray


class Sales(NamedTuple):
    """What decides whether the tax of each sale is due."""

    states: tuple[np.ndarray, list[str]]
    """The number of each row's state (-1: not known), and the states by number."""
    dates: SaleDays | None
    channel: Channel | None
    untaxed: np.ndarray


def register_of(nexus: object) -> Register:
    """The register that `nexus=` names.

    Raises:
        RegisterError: it cannot be read.
        ValueError: it has no records.
        FileNotFoundError: there is no such file.
    """
    register = nexus if isinstance(nexus, Register) else read_register(nexus)
    if not register.records:
        raise ValueError(
            "nexus: the register has no records, so tax would be due nowhere; leave nexus= out, or"
            " give records with state and nexus_type"
        )
    return register


def channel_of(frame: pd.DataFrame, channel: Hashable) -> Channel:
    """Read `channel=`: a column, or `direct` or `marketplace` for all rows.

    Raises:
        ValueError: it is neither.
    """
    if not is_label(frame, channel):
        marketplace = _is_marketplace(channel)
        if marketplace is None:
            raise ValueError(
                f"channel: {channel!r} is neither a column nor 'direct' or 'marketplace'"
            )
        return Channel(np.full(len(frame), marketplace), np.zeros(len(frame), bool), ())
    codes, values = distinct_values(frame, channel, "channel")
    words = [_is_marketplace(value) for value in values]
    known = np.array([*(word is not None for word in words), False], bool)
    facilitated = np.array([*(word is True for word in words), False], bool)
    odd = tuple(str(value) for value, word in zip(values, words, strict=True) if word is None)
    return Channel(facilitated[codes], ~known[codes], odd)


def _is_marketplace(value: object) -> bool | None:
    """Whether a word means a marketplace's sale; `None` if it means neither channel."""
    if not isinstance(value, str):
        return None
    word = " ".join(value.casefold().replace("_", " ").replace("-", " ").split())
    return True if word in _MARKETPLACE else False if word in _DIRECT else None


def sale_dates(rows: Enriched) -> SaleDays:
    """The days that were looked up, with the period that each stands for (`as_of_grain`).

    Raises:
        ValueError: the frame has no such column.
    """
    rows.require("lookup_as_of", remedy="nexus= needs it: look the rates up with all columns")
    days, missing = _days(rows.frame[rows.label("lookup_as_of")])
    grain = grain_of(rows)
    if grain not in _MONTHS:
        return SaleDays(days, days, missing)
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    start = months - (months.astype(np.int64) % _MONTHS[str(grain)])
    end = (start + _MONTHS[str(grain)]).astype("datetime64[D]") - 1
    return SaleDays(start.astype("datetime64[D]").astype(np.int64), end.astype(np.int64), missing)


def grain_of(rows: Enriched) -> object:
    """Whether the lookup was of days, or of the first days of months or quarters.

    Where that is not stored for its prefix, it is that of the frame's last lookup.
    """
    lookups = rows.stamp.lookups
    record = lookups.get(rows.prefix) or next(reversed([*lookups.values()]), {})
    return record.get("grain")


def _days(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The days of a lookup's column, which may come from a file, and which rows have none."""
    style = DateTerms("month first").style()
    read = DateColumn.of(column, style).days(style)
    known = [day if isinstance(day, date) else None for day in read.each]
    days = np.array([0 if day is None else _since(day) for day in known], np.int64)
    return days[read.codes], np.array([day is None for day in known])[read.codes]


def why_not_due(sales: Sales, register: Register | None) -> RowReasons:
    """The reason (a code) for each row of which no tax is due, or it is not known what is."""
    reasons = RowReasons(len(sales.untaxed))
    if sales.channel is not None:
        reasons.add(sales.channel.marketplace, "marketplace_facilitated")
    if register is not None and sales.dates is not None:
        _by_register(reasons, sales.states, sales.dates, register)
    if sales.channel is not None:
        reasons.add(sales.channel.unknown, "channel_unknown")
    reasons.add(sales.untaxed, "no_tax")
    return reasons


def marketplace_only(sales: Sales, dates: SaleDays, register: Register) -> np.ndarray:
    """The sales of a day on which only a marketplace's record covers their state.

    Not those that a marketplace made itself, or may have made.
    """
    facilitated = _begins(sales.states, register.begins("marketplace"))
    own = _begins(sales.states, register.begins("physical", "economic"))
    first = np.where(dates.missing, _NO_DAY, dates.first)
    last = np.where(dates.missing, _NO_DAY, dates.last)
    only: np.ndarray = (facilitated <= last) & (own > first)
    return only if sales.channel is None else only & sales.channel.direct


def _by_register(
    reasons: RowReasons, states: tuple[np.ndarray, list[str]], dates: SaleDays, register: Register
) -> None:
    begin = _begins(states, register.begins())
    unknown = states[0] < 0
    reasons.add((begin == _NEVER) & ~unknown, "no_nexus")
    dated = (begin != _NO_DAY) & ~unknown
    reasons.add(dated & ~dates.missing & (dates.last < begin), "not_registered_yet")
    reasons.add(dated & ~dates.missing & (dates.first < begin), "registered_in_period")
    reasons.add(unknown, "state_unknown")
    reasons.add(dated & dates.missing, "date_unknown")


def _begins(states: tuple[np.ndarray, list[str]], begins: Mapping[str, date | None]) -> np.ndarray:
    """The day from which records cover each row's state, in days since 1970-01-01."""
    codes, names = states
    days = [_since(begins[name]) if name in begins else _NEVER for name in names]
    of_rows: np.ndarray = np.array([*days, _NEVER], np.int64)[codes]
    return of_rows


def _since(day: date | None) -> int:
    return _NO_DAY if day is None else (day - _EPOCH) // timedelta(days=1)
