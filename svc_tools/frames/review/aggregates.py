"""Aggregates of enriched rows: each adds up over the parts of a table, and a frame is one part.

An aggregate has `add(rows, goods)`, and its finished values. `summarize` makes those of a frame,
`FileTotals` those of a file that is read in chunks. Others stand with what they are about:
`PartSums` in `split`, `NotDueSums` in `taxes.not_due`, `ReviewCounts` in `review`, and the tables
that are made on request in `analysis.breakdowns`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.review.codes import on_shares, warnings_counted
from svc_tools.frames.taxes.not_due import not_due_reasons
from svc_tools.frames.taxes.taxed_rows import due_of, shipping_of
from svc_tools.frames.values.arrow import Coded, combined
from svc_tools.frames.values.money import Money, SumsBy, Totals, dollars
from svc_tools.lookup import STATUSES
from svc_tools.lookup.troubles import counted_alike
from svc_tools.show.codes import CONFIDENCES, unknown_warnings
from svc_tools.show.display import counted, exact_dollars
from svc_tools.tables.statuses import Meaning, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from decimal import Decimal

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.taxes.taxed_rows import Goods

_Key = TypeVar("_Key")
_Reason = TypeVar("_Reason", str, tuple[str, str])


class Aggregate(Protocol):
    """What is added up over the parts of a table."""

    def add(self, rows: Enriched, goods: Goods, /) -> None:
        """Add rows, with their amounts."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows have one value of a column."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class FailureCount:
    """A reason for rows without a rate, and the number of those rows."""

    status: str
    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class SourceCount:
    """Where rates came from: source and edition, with the number of their rows.

    `tax` is the tax computed from their whole rates; `None` when the frame has no tax column.
    """

    source: str
    edition: str
    rows: int
    tax: Decimal | None = None


@dataclass(frozen=True, slots=True)
class ConfidenceTax:
    """The rows of one confidence with a whole rate: how many, their sales and their tax."""

    confidence: str
    rows: int
    sales: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True)
class StateTotals:
    """The totals of one state; `state` is empty for rows whose state is not known."""

    state: str
    totals: Totals


def is_rated(status: Meaning) -> bool:
    """Whether a status has a rate, whole or partial."""
    return status.rated


def is_usable(status: Meaning) -> bool:
    """Whether a status has a whole rate."""
    return status.usable


class Statuses:
    """The rows by `lookup_status`.

    Attributes:
        rows: how many rows each status has.
    """

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()

    def add(self, rows: Enriched, _goods: Goods) -> None:
        """Add rows."""
        self.rows.update(dict(rows.status.counts()))

    @property
    def counts(self) -> tuple[Count, ...]:
        """The rows by status, in the order of `STATUSES`, the empty ones left out."""
        return _ordered(self.rows, STATUSES)

    def rows_where(self, is_meant: Callable[[Meaning], bool]) -> int:
        """How many rows have a status that is meant."""
        return sum(rows for name, rows in self.rows.items() if is_meant(Status.of(name)))


class ReasonCounts:
    """Why rows have no whole rate.

    Args:
        most: how many distinct reasons are counted before all but the most frequent are dropped;
            by default all are.

    Attributes:
        rows: the rows by status and reason, which is empty where it is missing.
    """

    def __init__(self, most: int | None = None) -> None:
        self.rows: Counter[tuple[str, str]] = Counter()
        self._most = most

    def add(self, rows: Enriched, _goods: Goods) -> None:
        """Add rows."""
        without = np.flatnonzero(~rows.where(is_usable))
        if not len(without):
            return
        codes, pairs = combined([rows.status.at(without), rows.coded("lookup_error").at(without)])
        for pair, count in zip(pairs, np.bincount(codes).tolist(), strict=True):
            self.rows[pair] += count
        self.rows = frequent(self.rows, self._most)

    @property
    def alike(self) -> list[tuple[str, str, int]]:
        """Status, reason and rows; reasons that differ only in the value quoted are one."""
        return counted_alike((*why, rows) for why, rows in self.rows.items())

    @property
    def failures(self) -> tuple[FailureCount, ...]:
        """Why rows have no rate at all, likewise; the most frequent reasons first."""
        found = [
            (status, why or "no reason given", rows)
            for (status, why), rows in self.rows.items()
            if not Status.of(status).rated
        ]
        found.sort(key=lambda failure: (-failure[2], *failure[:2]))
        return tuple(FailureCount(*failure) for failure in counted_alike(found))


FREQUENT = 1_000
"""So many reasons are kept where there are too many to count."""


def frequent(counted: Counter[_Reason], most: int | None) -> Counter[_Reason]:
    """The counts; the most frequent alone where there are more than `most`."""
    if most is None or len(counted) <= most:
        return counted
    return Counter(dict(counted.most_common(FREQUENT)))


class Warned:
    """The rows by the codes of their warnings; `most` as in `ReasonCounts`, of other codes.

    Attributes:
        rows: how many rows have each code.
    """

    def __init__(self, most: int | None = None) -> None:
        self.rows: Counter[str] = Counter()
        self._most = most

    def add(self, rows: Enriched, _goods: Goods) -> None:
        """Add rows."""
        for code, count in warnings_counted(rows.codes("warnings")):
            self.rows[code] += count
        unknown = Counter(dict(self.unknown))
        for code in unknown.keys() - frequent(unknown, self._most).keys():
            del self.rows[code]

    @property
    def counts(self) -> tuple[Count, ...]:
        """The rows by code, the most frequent first."""
        every = sorted(self.rows.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Count(*item) for item in every)

    @property
    def unknown(self) -> list[tuple[str, int]]:
        """The codes that are not known here, with their rows, the most frequent first."""
        return unknown_warnings(self.rows.items())


class Confidences:
    """The rows with a rate by its confidence; those with a whole rate with their sales and tax."""

    def __init__(self) -> None:
        self._rated: SumsBy[str] = SumsBy()
        self._whole: SumsBy[str] = SumsBy()

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add rows, with their amounts."""
        confidence, tax = rows.coded("confidence", "not stated"), rows.money("tax")
        self._rated.add(confidence, {}, rows.where(is_rated))
        whole = rows.where(is_usable) & ~tax.missing
        self._whole.add(confidence, {"sales": goods.money, "tax": tax}, whole)

    @property
    def counts(self) -> tuple[Count, ...]:
        """The rows with a rate, whole or partial, in the order of `CONFIDENCES`."""
        return _ordered(self._rated.rows, CONFIDENCES)

    @property
    def taxes(self) -> tuple[ConfidenceTax, ...]:
        """The rows with a whole rate and a tax, in the same order."""
        return tuple(
            ConfidenceTax(count.name, count.rows, *_sums(self._whole, count.name, "sales", "tax"))
            for count in _ordered(self._whole.rows, CONFIDENCES)
        )


class Sources:
    """The rows with a rate by its source and edition, with the tax of whole rates."""

    def __init__(self) -> None:
        self._sums: SumsBy[tuple[str, str]] = SumsBy()

    def add(self, rows: Enriched, _goods: Goods | None = None) -> None:
        """Add rows."""
        names = ("lookup_source", "lookup_edition")
        codes, values = combined([rows.coded(name, "not stated") for name in names])
        tax = rows.money("tax").where(rows.where(is_usable)) if rows.has("tax") else None
        self._sums.add(Coded(codes, tuple(values)), {"tax": tax}, rows.where(is_rated))

    @property
    def found(self) -> tuple[SourceCount, ...]:
        """The sources, the most rows first; without their taxes where there is none."""
        sums, taxed = self._sums, self._sums.has("tax")
        found = [
            SourceCount(*source, rows, *(_sums(sums, source, "tax") if taxed else ()))
            for source, rows in sums.rows.items()
        ]
        return tuple(
            sorted(found, key=lambda source: (-source.rows, source.source, source.edition))
        )


class StateSums:
    """The totals of sales and tax by state."""

    def __init__(self) -> None:
        self._sums: SumsBy[tuple[str, str]] = SumsBy()

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add rows, with their amounts."""
        tax = rows.money("tax")
        partial = rows.where(lambda status: status.partial)
        groups = np.select(
            [partial & ~tax.missing, partial, rows.where(is_usable) & ~tax.missing],
            [_GROUPS.index(name) for name in ("lower_bound", "untaxed", "whole")],
            _GROUPS.index("open"),
        )
        codes, values = combined([states_of(rows), Coded(groups, _GROUPS)])
        self._sums.add(Coded(codes, tuple(values)), {"sales": goods.money, "tax": tax})

    @property
    def total(self) -> Totals:
        """The totals of all rows."""
        return self._totals({state for state, _ in self._sums.rows})

    @property
    def states(self) -> tuple[StateTotals, ...]:
        """Those of each state by its code; rows without a known state come last."""
        states = sorted(
            {state for state, _ in self._sums.rows}, key=lambda state: (not state, state)
        )
        return tuple(StateTotals(state, self._totals({state})) for state in states)

    def _totals(self, states: Iterable[str]) -> Totals:
        """The rows and sums of these states together, by how far their tax is known."""

        def rows(*groups: str) -> int:
            return sum(self._sums.rows[state, group] for state in states for group in groups)

        def sum_of(name: str, *groups: str) -> Decimal:
            every = (
                _sums(self._sums, (state, group), name) for state in states for group in groups
            )
            return sum((added for (added,) in every), dollars(0))

        return Totals(
            rows=rows(*_GROUPS),
            taxed_sales=sum_of("sales", "whole"),
            tax=sum_of("tax", "whole"),
            partial_rows=rows("lower_bound", "untaxed"),
            partial_sales=sum_of("sales", "lower_bound", "untaxed"),
            partial_tax=sum_of("tax", "lower_bound"),
            untaxed_sales=sum_of("sales", "untaxed"),
            open_rows=rows("open"),
            open_sales=sum_of("sales", "open"),
        )


_GROUPS = ("whole", "lower_bound", "untaxed", "open")
"""What `Totals` keeps apart: partial rates with a tax, and without."""


class TaxSums:
    """The tax of a file.

    Args:
        meant: which statuses should have a tax.
        most: as in `ReasonCounts`.

    Attributes:
        rows: rows with a tax.
        sales: the amounts of those rows.
        delivery: their delivery; `None` where none is charged separately.
        tax: their tax.
        due: the part of it that the seller owes; `None` without a register and channels.
        at_stake: what lies between the lowest and the highest tax.
        untaxed: rows that should have a tax, by the reason why they have none.
    """

    def __init__(self, meant: Callable[[Meaning], bool], most: int) -> None:
        self._meant, self._most = meant, most
        self.rows = 0
        self.sales = self.tax = self.at_stake = dollars(0)
        self.delivery: Decimal | None = None
        self.due: Decimal | None = None
        self.untaxed: Counter[str] = Counter()

    def add(self, rows: Enriched, _goods: Goods) -> None:
        """Add rows."""
        tax = rows.money("tax")
        self.rows += int(np.count_nonzero(~tax.missing))
        self.tax += _total(tax)
        self.at_stake += _total(rows.money("at_stake"))
        for name in ("taxable_amount", "exempt_amount"):
            self.sales += _total(rows.money(name))
        if rows.has("shipping_tax"):
            delivery = _total(shipping_of(rows).where(~tax.missing))
            self.delivery = (self.delivery or dollars(0)) + delivery
            self.sales -= delivery
        if rows.has("tax_due"):
            self.due = (self.due or dollars(0)) + _total(rows.money("tax_due"))
        why = rows.coded("tax_error").counts(rows.where(self._meant))
        for reason, count in sorted(why, key=lambda pair: -pair[1]):
            if reason:
                self.untaxed[reason] += count
        self.untaxed = frequent(self.untaxed, self._most)

    @property
    def untaxed_alike(self) -> list[tuple[str, str, int]]:
        """Why rows have no tax; reasons that differ only in the value quoted are one."""
        return counted_alike(("", why, rows) for why, rows in self.untaxed.items())


@dataclass(frozen=True, slots=True)
class Resting:
    """Rows that rest on one kind of rate; sales and tax are `None` where they are not known."""

    rows: int = 0
    sales: Decimal | None = None
    tax: Decimal | None = None


class OnShares:
    """The rows whose rate less than 98% of their ZIP's housing is known to have.

    Attributes:
        found: how many, with their sales and the tax that is looked at: what is due where that was
            computed. A row of which none is due rests on no rate.
    """

    def __init__(self) -> None:
        self.found = Resting()

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add rows, with their amounts."""
        here, tax = on_shares(rows), None
        if rows.has("tax"):
            due = due_of(rows)
            here &= ~due.nothing
            tax = due.money.total(here) or dollars(0)
        sales, former = goods.money.total(here), self.found
        self.found = Resting(
            former.rows + int(here.sum()), _added(former.sales, sales), _added(former.tax, tax)
        )


def shares_sentence(found: Resting) -> str:
    """What uses the rate of less than 98% of a ZIP's housing; empty where nothing does."""
    if not found.rows:
        return ""
    known = [
        f"{exact_dollars(value)} of {name}"
        for name, value in (("sales", found.sales), ("tax", found.tax))
        if value is not None
    ]
    more = f" ({', '.join(known)})" if known else ""
    uses, their = ("uses", "its") if found.rows == 1 else ("use", "their")
    return (
        f"{counted(found.rows, 'row')}{more} {uses} a rate that covers less than 98% of the homes"
        f" in {their} ZIP Code."
    )


class Complete:
    """The rows that lack nothing.

    Args:
        taxed: whether they need a tax, too.

    Attributes:
        rows: rows with a whole rate, and with a tax where it is needed.
        not_due: further rows that have their outcome, and of which no tax is due.
    """

    def __init__(self, *, taxed: bool) -> None:
        self._taxed = taxed
        self.rows = self.not_due = 0

    def add(self, rows: Enriched, _goods: Goods) -> None:
        """Add rows."""
        whole = rows.where(is_usable)
        if self._taxed:
            whole &= ~rows.money("tax").missing
        settled = rows.where(lambda status: status.settled)
        self.rows += int(whole.sum())
        self.not_due += int((not_due_reasons(rows).where(bool) & ~whole & settled).sum())


def _sums(sums: SumsBy[_Key], value: _Key, *names: str) -> list[Decimal]:
    """Sums of a value; 0 where no row has a figure."""
    return [sums.dollars(name, value) or dollars(0) for name in names]


def _added(one: Decimal | None, more: Decimal | None) -> Decimal | None:
    return one if more is None else (one or dollars(0)) + more


def _total(of: Money) -> Decimal:
    return of.total() or dollars(0)


def _ordered(counted: Counter[str], order: Sequence[str]) -> tuple[Count, ...]:
    """The counts in a fixed order; values that are not in it come last, by name."""
    names = (*order, *sorted(counted.keys() - set(order)))
    return tuple(Count(name, counted[name]) for name in names if counted[name])
