"""What a lookup over a frame came to, counted and added up exactly.

`summarize` reads an enriched frame (see `enriched`) and returns a `Summary`: plain values that
a terminal, a workbook or a chart can show without looking at the rows again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from svc_tools.frames.enriched import (
    CONFIDENCES,
    STATUSES,
    require_columns,
    state_codes,
    texts,
)
from svc_tools.frames.tax import whole_cents

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd

__all__ = [
    "ConfidenceTax",
    "Count",
    "Failure",
    "Source",
    "StateTotals",
    "Summary",
    "Totals",
    "summarize",
]

ANSWERED = ("ok", "partial")
_TOP = 10
_FIELDS = 9


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
class Totals:
    """Sales and tax in US dollars, exact to the cent, each row in exactly one of three groups.

    Whole rows have a whole rate (status ok), partial rows one that is known to lack a part, open
    rows none. `sales` = `taxed_sales` + `partial_sales` + `open_sales`.

    Attributes:
        rows: all rows.
        taxed_sales: sales of the whole rows that have a tax (which may be 0.00: the rate is 0).
        tax: the tax of those rows.
        partial_rows: rows with a partial rate.
        partial_sales: their sales.
        partial_tax: the tax of partial rows, where the user asked for it: a lower bound.
        untaxed_sales: sales of partial rows for which no tax was computed.
        open_rows: rows without a rate, and whole rows without a tax (their amount has no cents).
        open_sales: their sales, as far as the amounts can be read.
    """

    rows: int = 0
    taxed_sales: Decimal = Decimal("0.00")
    tax: Decimal = Decimal("0.00")
    partial_rows: int = 0
    partial_sales: Decimal = Decimal("0.00")
    partial_tax: Decimal = Decimal("0.00")
    untaxed_sales: Decimal = Decimal("0.00")
    open_rows: int = 0
    open_sales: Decimal = Decimal("0.00")

    @property
    def whole_rows(self) -> int:
        """Rows with a whole rate and a tax computed from it."""
        return self.rows - self.partial_rows - self.open_rows

    @property
    def sales(self) -> Decimal:
        """All sales whose amount can be read."""
        return self.taxed_sales + self.partial_sales + self.open_sales


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
    failures: tuple[Failure, ...]
    other_failures: int
    sources: tuple[Source, ...]
    tax_by_confidence: tuple[ConfidenceTax, ...]
    money: Totals | None
    states: tuple[StateTotals, ...]

    def status_rows(self, status: str) -> int:
        """How many rows have this `lookup_status`."""
        return sum(count.rows for count in self.by_status if count.name == status)


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
    failures = _failures(status, answered, texts(frame, f"{prefix}lookup_error"))
    tax = f"{prefix}tax"
    confidence = [value or "not stated" for value in texts(frame, f"{prefix}confidence")]
    groups: dict[str, list[int]] = {}
    by_confidence: dict[str, list[int]] = {}
    if tax in frame.columns:
        require_columns(frame, (amount,), "name the column of amounts: amount='…'")
        rows = [
            _row_sums(*row)
            for row in zip(status, _cents(frame[amount]), _cents(frame[tax]), strict=True)
        ]
        groups = _grouped([code or "" for code in state_codes(frame, prefix=prefix)], rows)
        by_confidence = _grouped(confidence, rows)
    return Summary(
        rows=len(frame),
        places=places,
        service=service,
        by_status=_ordered(Counter(status), STATUSES),
        by_confidence=_ordered(
            Counter(value for value, known in zip(confidence, answered, strict=True) if known),
            CONFIDENCES,
        ),
        by_warning=_by_warning(texts(frame, f"{prefix}warnings")),
        failures=failures[:_TOP],
        other_failures=sum(failure.rows for failure in failures[_TOP:]),
        sources=_sources(frame, answered, prefix),
        tax_by_confidence=_tax_by_confidence(by_confidence),
        money=_totals(_add_up(groups.values())) if tax in frame.columns else None,
        # rows without a known state sort last, not first
        states=tuple(
            StateTotals(code, _totals(groups[code]))
            for code in sorted(groups, key=lambda code: (not code, code))
        ),
    )


def _cents(column: pd.Series[Any]) -> list[int | None]:
    """Money as whole cents; `None` where it is missing or not a whole number of cents."""
    values, wrong, _ = whole_cents(column)
    return [None if row in wrong else value for row, value in enumerate(values.tolist())]


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


def _by_warning(warnings: Iterable[str | None]) -> tuple[Count, ...]:
    return _most(
        Counter(
            code.strip()
            for text in warnings
            if text is not None
            for code in text.split(";")
            if code.strip()
        )
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


def _grouped(keys: Sequence[str], rows: Sequence[tuple[int, ...]]) -> dict[str, list[int]]:
    """The rows' sums (of `_row_sums`) by key."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for key, row in zip(keys, rows, strict=True):
        groups.setdefault(key, []).append(row)
    return {key: _add_up(group) for key, group in groups.items()}


def _add_up(rows: Iterable[Sequence[int]]) -> list[int]:
    columns = list(zip(*rows, strict=True))
    return [sum(column) for column in columns] or [0] * _FIELDS


def _tax_by_confidence(groups: dict[str, list[int]]) -> tuple[ConfidenceTax, ...]:
    totals = {name: _totals(sums) for name, sums in groups.items()}
    whole = Counter({name: total.whole_rows for name, total in totals.items()})
    return tuple(
        ConfidenceTax(
            count.name, count.rows, totals[count.name].taxed_sales, totals[count.name].tax
        )
        for count in _ordered(whole, CONFIDENCES)
    )


def _row_sums(status: str, amount: int | None, tax: int | None) -> tuple[int, ...]:
    """One row's share in `Totals`, in whole cents and in its order of fields."""
    sale, due = amount or 0, tax or 0
    if status == "partial":
        return (1, 0, 0, 1, sale, due, sale if tax is None else 0, 0, 0)
    if status == "ok" and tax is not None:
        return (1, sale, due, 0, 0, 0, 0, 0, 0)
    return (1, 0, 0, 0, 0, 0, 0, 1, sale)


def _totals(sums: Sequence[int]) -> Totals:
    rows, taxed, tax, partial_rows, partial, partial_tax, untaxed, open_rows, open_sales = sums
    return Totals(
        rows=rows,
        taxed_sales=_dollars(taxed),
        tax=_dollars(tax),
        partial_rows=partial_rows,
        partial_sales=_dollars(partial),
        partial_tax=_dollars(partial_tax),
        untaxed_sales=_dollars(untaxed),
        open_rows=open_rows,
        open_sales=_dollars(open_sales),
    )


def _dollars(whole_cents: int) -> Decimal:
    return Decimal(whole_cents).scaleb(-2)
