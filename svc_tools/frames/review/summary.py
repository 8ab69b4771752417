"""Summary of an enriched frame: its rows counted, its sales and tax added up exactly.

`summarize` returns a `Summary`: plain values that a terminal, a workbook or a chart can show
without reading the rows again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.frames.added.names import require_columns
from svc_tools.frames.review.aggregates import (
    Confidences,
    OnShares,
    ReasonCounts,
    Resting,
    Sources,
    StateSums,
    Statuses,
    Warned,
    is_rated,
)
from svc_tools.frames.review.review import reviewed
from svc_tools.frames.review.split import parts_of
from svc_tools.frames.taxes.taxed_rows import due_of, goods_of
from svc_tools.frames.values.money import dollars
from svc_tools.show.codes import OTHER_DATE
from svc_tools.show.display import counted, exact_dollars, unknown_warnings_sentence
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.review.aggregates import (
        Aggregate,
        ConfidenceTax,
        Count,
        FailureCount,
        SourceCount,
        StateTotals,
    )
    from svc_tools.frames.review.review import Review
    from svc_tools.frames.review.split import Part
    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.frames.values.money import Totals


_TOP = 10


@dataclass(frozen=True, slots=True)
class RestsOn:
    """How much rests on the rate of another date than the sale's, or on an incomplete rate.

    Attributes:
        rated_rows: rows with a rate, whole or incomplete.
        tax: all the tax that is looked at, which is what is due where that was computed; `None`
            without a tax: then all rated rows count.
        other_date: rows with a tax from the nearest rate known, that of another date.
        incomplete: rows with a tax from an incomplete rate, a lower bound.
        both: rows that are in both.
        untaxed: rows with an incomplete rate and therefore no tax.
        dates_known: whether the frame says which rates are those of another date.
        of_due: whether the tax is the part that is due.
    """

    rated_rows: int
    tax: Decimal | None
    other_date: Resting
    incomplete: Resting
    both: int
    untaxed: Resting
    dates_known: bool
    of_due: bool = False

    @property
    def nothing(self) -> bool:
        """Whether no row is known to have such a rate."""
        return not (self.other_date.rows or self.incomplete.rows or self.untaxed.rows)

    @property
    def sentence(self) -> str:
        """How much it is, for a headline; empty where no row has a rate."""
        if not self.rated_rows:
            return ""
        texts = [self._resting, self._untaxed]
        if not self.dates_known:
            texts.append(
                "Whether a rate is that of another date is not known: the frame has no column"
                " warnings."
            )
        elif self.nothing:
            texts.append("No rate is marked as that of another date or as incomplete.")
        return " ".join(text for text in texts if text)

    @property
    def brief(self) -> str:
        """The same in a few words, for the end of a line; empty where there is nothing to tell."""
        rows = self.other_date.rows + self.incomplete.rows - self.both + self.untaxed.rows
        return f"; {counted(rows, 'row')} at another date's or an incomplete rate" if rows else ""

    @property
    def _resting(self) -> str:
        """The sentence on rates of another date and partial rates; empty where no row has one."""
        kinds = (
            (self.other_date, "the rate of another date than the sale's"),
            (self.incomplete, "an incomplete rate, a lower bound"),
        )
        parts: list[str] = []
        for part, what in kinds:
            if not part.rows:
                continue
            sales = "" if part.sales is None else f"{exact_dollars(part.sales)} of sales"
            if self.tax is None or part.tax is None:
                of = f" of {counted(self.rated_rows, 'row')} with a rate"
                start = f"{part.rows:,}{'' if parts else of}"
                parts.append(f"{start} rest{'s' * (part.rows == 1)} on {what}{_bracketed(sales)}")
            else:
                due = " due" if self.of_due else ""
                of = "" if parts else f" of the {exact_dollars(self.tax)} tax{due} rests"
                more = _bracketed(counted(part.rows, "row"), sales)
                parts.append(f"{exact_dollars(part.tax)}{of} on {what}{more}")
        if not parts:
            return ""
        both = f"; {counted(self.both, 'row')} on both" if self.both else ""
        return f"{', and '.join(parts)}{both}: check before use."

    @property
    def _untaxed(self) -> str:
        part = self.untaxed
        if not part.rows:
            return ""
        sales = "" if part.sales is None else f"{exact_dollars(part.sales)} of sales"
        has = "has" if part.rows == 1 else "have"
        return (
            f"{counted(part.rows, 'row')}{_bracketed(sales)} {has} an incomplete rate and no tax."
        )


def _bracketed(*texts: str) -> str:
    there = ", ".join(text for text in texts if text)
    return f" ({there})" if there else ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The rows of an enriched frame, counted and added up.

    Attributes:
        rows: rows of the frame.
        places: distinct places and dates that were looked up; `None` when that is not known.
        service: the service; `None` when that is not known.
        by_use: what can be used, as `df.svc.split()` counts it, with sales and tax in a frame with
            taxes; empty for a frame without the column `needs_review`.
        by_status: rows by `lookup_status`, in the order of `STATUSES`, the empty ones left out.
        by_confidence: the rows with a rate (ok and partial) by `confidence`.
        by_warning: rows by warning code, most frequent first.
        unknown_warnings: those of them whose codes are not known, in a sentence; empty without.
        rests_on: what rests on the rate of another date, or on an incomplete one.
        on_shares: what rests on the rate of less than 98% of a ZIP's housing.
        review: the rows that require review, as `df.svc.review()` lists them.
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
    by_use: tuple[Part, ...]
    by_status: tuple[Count, ...]
    by_confidence: tuple[Count, ...]
    by_warning: tuple[Count, ...]
    unknown_warnings: str
    rests_on: RestsOn
    on_shares: Resting
    review: Review
    failures: tuple[FailureCount, ...]
    other_failures: int
    sources: tuple[SourceCount, ...]
    tax_by_confidence: tuple[ConfidenceTax, ...]
    money: Totals | None
    states: tuple[StateTotals, ...]

    @property
    def rated_rows(self) -> int:
        """Rows with a rate, whole or partial."""
        return sum(count.rows for count in self.by_status if Status.of(count.name).rated)


def summarize(
    rows: Enriched, *, goods: Goods | None = None, review: Review | None = None
) -> Summary:
    """Count the rows of an enriched frame and add up its sales and tax.

    Args:
        rows: what `df.svc.lookup()` returned, with the tax of `df.svc.tax()` if there is one.
        goods: the amounts; by default those of the tax, else of a column `amount`.
        review: the review of the frame, if you have it.

    Returns:
        The counts, and the totals when the frame has a tax column.

    Raises:
        ValueError: the frame has not been looked up, or has a tax but no such amounts.
    """
    rows.require("lookup_status")
    taxed = rows.has("tax")
    if goods is None:
        goods = goods_of(rows)
    if taxed and goods.label is None:
        require_columns(rows.frame, ("amount",), "name the column of amounts: amount='…'")
    if review is None:
        review = reviewed(rows, goods).review
    statuses, reasons, warned = Statuses(), ReasonCounts(), Warned()
    confidences, sources, sums = Confidences(), Sources(), StateSums()
    on_shares = OnShares()
    every: tuple[Aggregate, ...] = (statuses, reasons, warned, confidences, sources, on_shares)
    for aggregate in (*every, *([sums] if taxed else [])):
        aggregate.add(rows, goods)
    places, service = _asked(rows)
    listed = reasons.failures[:_TOP]
    return Summary(
        rows=len(rows),
        places=places,
        service=service,
        by_use=parts_of(rows, goods) if rows.has("needs_review") else (),
        by_status=statuses.counts,
        by_confidence=confidences.counts,
        by_warning=warned.counts,
        unknown_warnings=unknown_warnings_sentence(warned.unknown),
        rests_on=rests_on(rows, goods),
        on_shares=on_shares.found,
        review=review,
        failures=listed,
        other_failures=len(rows)
        - statuses.rows_where(is_rated)
        - sum(failure.rows for failure in listed),
        sources=sources.found,
        tax_by_confidence=confidences.taxes if taxed else (),
        money=sums.total if taxed else None,
        states=sums.states,
    )


def sources_of(rows: Enriched) -> tuple[SourceCount, ...]:
    """Where the rates of an enriched frame came from, the most rows first; without their taxes."""
    sources = Sources()
    sources.add(rows)
    return tuple(replace(source, tax=None) for source in sources.found)


def source_sentence(sources: Sequence[SourceCount]) -> str | None:
    """A source note for a chart; `None` where there is no source."""
    if not sources:
        return None
    first, *more = sources
    others = f", and {len(more)} more" if more else ""
    kind = "Source of most rates" if more else "Source of the rates"
    return f"{kind}: {first.source} ({first.edition}){others}."


def rests_on(rows: Enriched, goods: Goods) -> RestsOn:
    """What rests on the rate of another date, or on an incomplete one.

    The tax is what is due where that was computed, else all tax: on a row of which none is due,
    nothing rests on its rate.
    """
    rated, partial = map(rows.where, (is_rated, lambda status: status.partial))
    names = ("warnings", "lookup_review_reason")
    dated = np.zeros(len(rows), bool)
    for name in names:
        dated |= rows.codes(name).having(*OTHER_DATE)
    due = due_of(rows)
    if rows.has("tax"):
        total = due.money.total() or dollars(0)
        counts = rated & ~due.money.missing
        lacks = partial & rows.money("tax").missing & ~due.nothing
    else:
        total, counts, lacks = None, rated, np.zeros(len(rows), bool)

    def resting(some: np.ndarray) -> Resting:
        of_tax = None if total is None else due.money.total(some) or dollars(0)
        return Resting(int(some.sum()), goods.money.total(some), of_tax)

    return RestsOn(
        rated_rows=int(rated.sum()),
        tax=total,
        other_date=resting(dated & counts),
        incomplete=resting(partial & counts),
        both=int((dated & partial & counts).sum()),
        untaxed=Resting(int(lacks.sum()), goods.money.total(lacks)),
        dates_known=any(map(rows.has, names)),
        of_due=due.computed,
    )


def _asked(rows: Enriched) -> tuple[int | None, str | None]:
    """Distinct places and service, as the lookup stored them with the frame.

    They are not those of the frame if it has since been cut or joined.
    """
    record = rows.stamp.lookups.get(rows.prefix, {})
    if record.get("rows") != len(rows):
        return None, None
    asked, service = record.get("asked"), record.get("service")
    # a cached place was requested from the service before
    places = asked + record.get("cached", 0) if isinstance(asked, int) else None
    return places, None if service is None else str(service)


RATE_NOTE_SHORT = (
    "These are general rates at the destination: no product rules (exemptions, reduced rates,"
    " holidays, caps) are applied, and no rate is made up where none is known."
)
"""One sentence for a terminal or a caption."""
_NEXUS = "Whether you must collect at all (nexus) is not decided here."
_ROUNDED = (
    "Tax is rounded line by line, half up to the cent; an invoice that rounds its total may differ"
    " by a cent or more."
)
RATE_NOTES = (
    (
        "Rates are general sales-tax rates for the place and the date of each line; where the book"
        " does not cover that date, the nearest known rate is used and marked. They are a starting"
        " point for a return, not a return."
    ),
    (
        "Product rules are not applied: no exemptions or reduced rates for food, clothing,"
        " medicine or software, no sales-tax holidays, no caps (such as Florida's surtax above"
        " $5,000 an item or Tennessee's local tax above $1,600)."
    ),
    (
        "Each line is rated where it is shipped to. AZ, IL, MO, MS, OH, PA, TN, TX, UT, VA and, in"
        " part, CA source sales within the state at the seller's place: those lines may owe another"
        " local rate."
    ),
    _NEXUS,
    (
        "Status 'partial': the rate lacks local or district rates. It is a lower bound, so no tax"
        " is computed from it unless you choose to."
    ),
    "An empty cell is not zero: no rate is known, or no tax was computed.",
    _ROUNDED,
)
"""The full list, one point each, for a sheet or a page."""


def notes_under(terms: Mapping[str, object]) -> tuple[str, ...]:
    """`RATE_NOTES` without those that do not hold under the terms of a tax (see `terms_of`)."""
    settled = set()
    if terms.get("nexus") is not None:
        settled.add(_NEXUS)
    if terms.get("invoice") is not None or terms.get("rounding", "half_up") != "half_up":
        settled.add(_ROUNDED)
    return tuple(note for note in RATE_NOTES if note not in settled)
