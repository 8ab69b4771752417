"""What a lookup over a frame came to, counted and added up exactly.

`summarize` reads an enriched frame (see `enriched`) and returns a `Summary`: plain values that
a terminal, a workbook or a chart can show without looking at the rows again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain, compress
from typing import TYPE_CHECKING

from svc_tools.frames.attention import Group, attention, grouped_flags
from svc_tools.frames.enriched import (
    CONFIDENCES,
    OTHER_DATE,
    STATUSES,
    require_columns,
    state_codes,
    texts,
    warning_codes,
)
from svc_tools.frames.totals import Totals, add_up, cents, grouped, row_sums, totals

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from decimal import Decimal

    import pandas as pd

__all__ = [
    "ConfidenceTax",
    "Count",
    "Failure",
    "OtherDate",
    "Source",
    "StateTotals",
    "Summary",
    "summarize",
]

ANSWERED = ("ok", "partial")
_TOP = 10


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows have one value of a column."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason for rows without a rate, with the number of rows it holds for."""

    status: str
    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class Source:
    """Where rates came from: source and edition, with the number of rows they answered."""

    source: str
    edition: str
    rows: int


@dataclass(frozen=True, slots=True)
class ConfidenceTax:
    """The whole rows of one confidence: how many, their sales, and the tax that rests on them."""

    confidence: str
    rows: int
    sales: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True)
class OtherDate:
    """What rests on rates of another date than the sale's: the nearest that the service knows.

    Attributes:
        rows: answered rows (ok and partial) with such a rate.
        sales: the sales of the whole ones among them; `None` when the frame has no tax column.
        tax: the tax of those rows, a part of `Totals.tax`; `None` as above.
    """

    rows: int
    sales: Decimal | None = None
    tax: Decimal | None = None


@dataclass(frozen=True, slots=True)
class StateTotals:
    """The totals of one state; `state` is empty for rows whose state is not known."""

    state: str
    totals: Totals


@dataclass(frozen=True, slots=True)
class Summary:
    """What a lookup over a frame came to.

    Attributes:
        rows: rows of the frame.
        places: distinct places that were asked for; `None` when the frame does not say so.
        service: the service that answered; `None` when the frame does not say so.
        by_status: rows by `lookup_status`, in the order of `STATUSES`, the empty ones left out.
        by_confidence: the answered rows (ok and partial) by `confidence`.
        by_warning: rows by warning code, most frequent first.
        other_date: what rests on rates of another date than the sale's.
        attention: the rows that need a person, by kind, the most pressing first.
        failures: the most frequent reasons for rows without a rate.
        other_failures: rows without a rate for other reasons than those listed.
        sources: rows by source and edition of the rate.
        tax_by_confidence: the tax of whole rows by the confidence of its rate.
        money: the totals of all rows; `None` when the frame has no tax column.
        states: the totals of each state, by code; rows without a known state come last.
    """

    rows: int
    places: int | None
    service: str | None
    by_status: tuple[Count, ...]
    by_confidence: tuple[Count, ...]
    by_warning: tuple[Count, ...]
    other_date: OtherDate
    attention: tuple[Group, ...]
    failures: tuple[Failure, ...]
    other_failures: int
    sources: tuple[Source, ...]
    tax_by_confidence: tuple[ConfidenceTax, ...]
    money: Totals | None
    states: tuple[StateTotals, ...]

    def status_rows(self, status: str) -> int:
        """How many rows have this `lookup_status`."""
        return sum(count.rows for count in self.by_status if count.name == status)

    @property
    def answered_rows(self) -> int:
        """Rows with a rate, whole or partial."""
        return sum(self.status_rows(status) for status in ANSWERED)

    @property
    def attention_rows(self) -> int:
        """How many rows need a person."""
        return sum(group.rows for group in self.attention)


def summarize(frame: pd.DataFrame, *, amount: Hashable = "amount", prefix: str = "") -> Summary:
    """Count the rows of an enriched frame and add up its sales and tax.

    Args:
        frame: what `df.svc.lookup()` returned, with the tax of `df.svc.tax()` if there is one.
        amount: the column of amounts that the tax was computed from (US dollars).
        prefix: the prefix that the lookup was asked to put before its columns.

    Returns:
        The counts, and the totals when the frame has a tax column.

    Raises:
        ValueError: the frame has not been looked up, or has a tax but no column `amount`.
    """
    status_column = f"{prefix}lookup_status"
    require_columns(frame, (status_column,), "look the rates up first: df.svc.lookup()")
    status = [value or "not_attempted" for value in texts(frame, status_column)]
    answered = [value in ANSWERED for value in status]
    places, service = _asked(frame)
    codes = [warning_codes(text) for text in texts(frame, f"{prefix}warnings")]
    of_other_date = [
        known and not OTHER_DATE.isdisjoint(row) for known, row in zip(answered, codes, strict=True)
    ]
    failures = _failures(status, answered, texts(frame, f"{prefix}lookup_error"))
    tax = f"{prefix}tax"
    confidence = [value or "not stated" for value in texts(frame, f"{prefix}confidence")]
    groups: dict[str, list[int]] = {}
    by_confidence: dict[str, list[int]] = {}
    other_date = OtherDate(sum(of_other_date))
    if tax in frame.columns:
        require_columns(frame, (amount,), "name the column of amounts: amount='…'")
        rows = [
            row_sums(*row)
            for row in zip(status, cents(frame[amount]), cents(frame[tax]), strict=True)
        ]
        groups = grouped([code or "" for code in state_codes(frame, prefix=prefix)], rows)
        by_confidence = grouped(confidence, rows)
        dated = totals(add_up(compress(rows, of_other_date)))
        other_date = OtherDate(other_date.rows, dated.taxed_sales, dated.tax)
    return Summary(
        rows=len(frame),
        places=places,
        service=service,
        by_status=_ordered(Counter(status), STATUSES),
        by_confidence=_ordered(
            Counter(value for value, known in zip(confidence, answered, strict=True) if known),
            CONFIDENCES,
        ),
        by_warning=_most(Counter(chain.from_iterable(codes))),
        other_date=other_date,
        attention=grouped_flags(attention(frame, amount=amount, prefix=prefix)),
        failures=failures[:_TOP],
        other_failures=sum(failure.rows for failure in failures[_TOP:]),
        sources=_sources(frame, answered, prefix),
        tax_by_confidence=_tax_by_confidence(by_confidence),
        money=totals(add_up(groups.values())) if tax in frame.columns else None,
        # rows without a known state sort last, not first
        states=tuple(
            StateTotals(code, totals(groups[code]))
            for code in sorted(groups, key=lambda code: (not code, code))
        ),
    )


def _asked(frame: pd.DataFrame) -> tuple[int | None, str | None]:
    """Distinct places and service, as the lookup noted them on the frame.

    A frame that has since been cut or joined carries the note along: it is not used then.
    """
    note = frame.attrs.get("svc_lookup")
    if not isinstance(note, dict) or note.get("rows") != len(frame):
        return None, None
    asked, service = note.get("asked"), note.get("service")
    return (asked if isinstance(asked, int) else None, None if service is None else str(service))


def _ordered(counted: Counter[str], order: Sequence[str]) -> tuple[Count, ...]:
    """The counts in a fixed order; values we do not know come last, by name."""
    unknown = sorted(set(counted) - set(order))
    return tuple(Count(name, counted[name]) for name in (*order, *unknown) if counted[name])


def _most(counted: Counter[str]) -> tuple[Count, ...]:
    return tuple(
        Count(name, rows)
        for name, rows in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )


def _failures(
    status: Sequence[str], answered: Sequence[bool], errors: Sequence[str | None]
) -> tuple[Failure, ...]:
    counted = Counter(
        (name, reason or "no reason given")
        for name, known, reason in zip(status, answered, errors, strict=True)
        if not known
    )
    return tuple(
        Failure(name, reason, rows)
        for (name, reason), rows in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )


def _sources(frame: pd.DataFrame, answered: Sequence[bool], prefix: str) -> tuple[Source, ...]:
    counted = Counter(
        (source or "not stated", edition or "not stated")
        for source, edition, known in zip(
            texts(frame, f"{prefix}lookup_source"),
            texts(frame, f"{prefix}lookup_edition"),
            answered,
            strict=True,
        )
        if known
    )
    return tuple(
        Source(source, edition, rows)
        for (source, edition), rows in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )


def _tax_by_confidence(groups: dict[str, list[int]]) -> tuple[ConfidenceTax, ...]:
    sums = {name: totals(group) for name, group in groups.items()}
    whole = Counter({name: group.whole_rows for name, group in sums.items()})
    return tuple(
        ConfidenceTax(count.name, count.rows, sums[count.name].taxed_sales, sums[count.name].tax)
        for count in _ordered(whole, CONFIDENCES)
    )
