"""The contents of a report of an enriched frame, as plain values for the workbook and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.added.names import require_columns
from svc_tools.frames.lookup.row_states import inputs_of, places_of, states_of
from svc_tools.frames.review.review import reviewed
from svc_tools.frames.review.summary import Summary, notes_under, summarize
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.frames.values.arrow import coded, first_column
from svc_tools.frames.values.money import dollars, sums_by
from svc_tools.lookup.columns import COLUMN_MEANINGS, COLUMNS, LEVEL_TAX_COLUMNS, RANGE_COLUMNS
from svc_tools.show.codes import OF_DELIVERY, meaning_of, what_to_do
from svc_tools.show.display import counted, exact_dollars
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from decimal import Decimal

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.review.review import Review, Reviewed
    from svc_tools.frames.taxes.taxed_rows import Goods


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The contents of a report.

    Attributes:
        title: its title.
        prefix: the prefix of the lookup's columns.
        goods: the amounts with their column; `None` in a frame without taxes.
        summary: counts and totals.
        rows: the rows of the frame.
        reviewed: the rows that require review, as `df.svc.review()` lists them, and where they are.
        figures: further sums by name, US dollars (taxable and exempt amounts, tax on delivery).
        levels: the tax of whole rows by level of jurisdiction, and the rest without a level;
            empty where the frame has no tax by level.
        stake: the range of the tax; `None` where the frame has none.
        stakes_by_state: what lies between the lowest and the highest tax of the rows, by state,
            for states that have any.
        due: the tax that the seller owes; `None` where the frame has none.
        lookup: how the rates were looked up, as names and texts.
        terms: how the tax was computed, as names and texts.
        notes: what these rates are and are not.
        columns: the added columns of the frame, each with its meaning.
        codes: the codes that occur, by column, the most frequent first.
    """

    title: str
    prefix: str
    goods: Goods | None
    summary: Summary
    rows: int
    reviewed: Reviewed
    figures: tuple[tuple[str, Decimal], ...]
    levels: tuple[tuple[str, Decimal], ...]
    stake: Stake | None
    stakes_by_state: Mapping[str, Decimal]
    due: OwedTax | None
    lookup: tuple[tuple[str, str], ...]
    terms: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    codes: tuple[FoundCode, ...]

    @property
    def review(self) -> Review:
        """The review itself."""
        return self.reviewed.review


@dataclass(frozen=True, slots=True)
class Stake:
    """The range of the tax where it has one, US dollars.

    Attributes:
        rows: how many rows have one.
        of_places: those of them whose place has several candidate rates.
        of_delivery: those of them of which it is in doubt whether delivery is taxed.
        low: their lowest tax.
        high: their highest tax.
        at_stake: what lies between, refunds without their sign.
    """

    rows: int
    of_places: int
    of_delivery: int
    low: Decimal
    high: Decimal
    at_stake: Decimal


@dataclass(frozen=True, slots=True)
class OwedTax:
    """The tax that the seller owes, and the rows without (reason, number of rows, their tax)."""

    rows: int
    tax: Decimal
    not_due: tuple[tuple[str, int, Decimal], ...]


@dataclass(frozen=True, slots=True)
class FoundCode:
    """A code that occurs in the lines: its rows, its meaning, and what to do about it."""

    column: str
    code: str
    rows: int
    meaning: str
    to_do: str


def facts_of(
    rows: Enriched,
    *,
    amount: Hashable | Goods | None = None,
    title: str | None = None,
    summary: Summary | None = None,
    private: frozenset[Hashable] = frozenset(),
) -> Facts:
    """Gather the contents of a report.

    Args:
        rows: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        amount: the column of amounts, or its amounts where they are read already; by default the
            one that the tax was computed from.
        title: the report's title.
        summary: the result of `summarize(rows)`, if you have it.
        private: columns that no place in the report may quote.

    Raises:
        ValueError: the frame has not been looked up, or has a tax and no such amounts.
    """
    rows.require("lookup_status")
    taxed = rows.has("tax")
    goods = goods_of(rows, amount, call="report")
    if taxed and goods.label is None:
        column = str(rows.terms.get("amount", "amount"))
        require_columns(rows.frame, (column,), "name the column of amounts: amount='…'")
    listed = reviewed(rows, goods)
    review = listed.review
    if not private.isdisjoint(inputs_of(rows).columns.values()):
        places = places_of(rows.at(listed.positions), without=private)
        review.rows[rows.label("review_place")] = places.column()
    stake, stakes_by_state = _stake(rows)
    return Facts(
        title=title or "Sales-tax rates",
        prefix=rows.prefix,
        goods=goods if taxed else None,
        summary=summary or summarize(rows, goods=goods, review=review),
        rows=len(rows),
        reviewed=listed,
        figures=_figures(rows) if taxed else (),
        levels=_levels(rows) if taxed else (),
        stake=stake,
        stakes_by_state=stakes_by_state,
        due=_due(rows) if taxed else None,
        lookup=_lookup_facts(rows),
        terms=_tax_terms(rows) if taxed else (),
        notes=notes_under(rows.terms),
        columns=tuple(
            (rows.label(name), meaning)
            for name, meaning in COLUMN_MEANINGS.items()
            if rows.has(name)
        ),
        codes=(*_codes(rows), *_bases(review)),
    )


def stake_sentence(facts: Facts) -> str | None:
    """The range of the tax, and what it is the range of; `None` without one."""
    stake = facts.stake
    if stake is None or not stake.rows:
        return None
    low, high, between = map(exact_dollars, (stake.low, stake.high, stake.at_stake))
    refunds = "" if stake.high - stake.low == stake.at_stake else ", refunds without their sign"
    whose = "its" if stake.rows == 1 else "their"
    places, delivery = "the place fits several rates", "it is in doubt whether delivery is taxed"
    if not stake.of_delivery:
        why, at_low, at_high = places, "at the lowest of them", "at the highest"
    elif not stake.of_places:
        why, at_low, at_high = delivery, "without it", "with it"
    else:
        why = f"{places} (rows: {stake.of_places:,}), or {delivery} (rows: {stake.of_delivery:,})"
        at_low, at_high = "at the least", "at the most"
    return (
        f"In {counted(stake.rows, 'row')} {why}: {whose} tax comes to {low} {at_low} and to {high}"
        f" {at_high}, a difference of {between}{refunds}."
    )


def _figures(rows: Enriched) -> tuple[tuple[str, Decimal], ...]:
    with_delivery = ", delivery included" if rows.has("shipping_tax") else ""
    names = {
        "taxable_amount": f"Taxable amounts{with_delivery}",
        "exempt_amount": f"Exempt amounts{with_delivery}",
        "shipping_tax": "Tax on delivery (in the tax)",
    }
    sums = [(label, rows.money(name).total()) for name, label in names.items()]
    return tuple((label, total) for label, total in sums if total is not None)


def _levels(rows: Enriched) -> tuple[tuple[str, Decimal], ...]:
    if not rows.has(LEVEL_TAX_COLUMNS[0]):
        return ()
    tax = rows.money("tax")
    whole = rows.where(lambda status: status.usable) & ~tax.missing
    labels = ("State", "County", "City", "Districts")
    parts = [
        (label, rows.money(name).total(whole) or dollars(0))
        for label, name in zip(labels, LEVEL_TAX_COLUMNS, strict=True)
    ]
    rest = (tax.total(whole) or dollars(0)) - sum(part for _, part in parts)
    return (*parts, ("Not known by level", rest)) if rest else tuple(parts)


def _stake(rows: Enriched) -> tuple[Stake | None, Mapping[str, Decimal]]:
    """The sums over the rows whose tax is a range, and the amount at stake by state.

    `None` and no state where no row has such a column or a value in it.
    """
    at_stake = rows.money("at_stake")
    if at_stake.missing.all():
        return None, {}
    open_ = at_stake.cents != 0
    low, high = map(rows.money, ("tax_low", "tax_high"))
    lowest, highest = (
        np.where(end.missing, -1, end.units) for end in map(rows.rates, RANGE_COLUMNS)
    )
    of_places = open_ & (lowest != highest)
    doubted = rows.codes("tax_review").having(*OF_DELIVERY)
    none = dollars(0)
    codes, states = states_of(rows)
    sums = sums_by(codes, at_stake.cents, len(states))
    return (
        Stake(
            int(open_.sum()),
            int(of_places.sum()),
            int((open_ & (doubted | ~of_places)).sum()),
            low.total(open_) or none,
            high.total(open_) or none,
            at_stake.total(open_) or none,
        ),
        {state: dollars(cents) for state, cents in zip(states, sums, strict=True) if cents},
    )


def _due(rows: Enriched) -> OwedTax | None:
    """The tax that the seller owes, and the tax that is not due by reason, the most rows first."""
    if not rows.has("tax_due"):
        return None
    due, tax = rows.money("tax_due"), rows.money("tax")
    reasons = rows.coded("tax_due_reason")
    size = len(reasons.values)
    sums = sums_by(reasons.codes, tax.cents, size)
    counts = np.bincount(reasons.codes, minlength=size).tolist()
    not_due = [
        (reason, counted, dollars(cents))
        for reason, counted, cents in zip(reasons.values, counts, sums, strict=True)
        if reason and counted
    ]
    return OwedTax(
        int((~due.missing).sum()),
        due.total() or dollars(0),
        tuple(sorted(not_due, key=lambda row: (-row[1], row[0]))),
    )


_CODED = [column for column in COLUMNS if column.codes]
# the reasons follow what they rest on
_CODED.sort(key=lambda column: not (column.fact or column.outcome))


def _codes(rows: Enriched) -> tuple[FoundCode, ...]:
    """The codes that occur in the rows, by column, the most frequent first, with their meaning."""
    found = []
    for column in _CODED:
        name = column.name
        if not rows.has(name):
            continue
        counted: dict[str, int] = {}
        for codes, count in rows.codes(name).counts():
            for code in codes:
                counted[code] = counted.get(code, 0) + count
        often_first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        for code, count in often_first:
            # the advice on the service's own codes is with the codes of the review
            done = bool(column.fact) or Status.of(code).usable
            advice = "" if done else what_to_do(code)
            found.append(FoundCode(rows.label(name), code, count, meaning_of(code), advice))
    return tuple(found)


def _bases(review: Review) -> list[FoundCode]:
    """The codes of what the dollars of the review are based on."""
    name = f"{review.prefix}review_basis"
    counts = coded(review.rows, name).counts()
    often_first = sorted(counts, key=lambda item: (-item[1], item[0]))
    return [FoundCode(name, code, rows, meaning_of(code), "") for code, rows in often_first if code]


_NOTED = {
    "service": "Service",
    "asked": "Distinct places and dates requested or computed in this lookup",
    "cached": "Distinct places and dates found in the cache or lock file",
    "requests": "Requests made",
    "grain": "Dates looked up by",
    "stopped": "The lookup ended early",
}


def _lookup_facts(rows: Enriched) -> tuple[tuple[str, str], ...]:
    """How the rates were looked up, from the lookup's note on the frame.

    A frame that has since been filtered or joined still has the note: its counts are left out.
    """
    note = rows.stamp.lookups.get(rows.prefix, {})
    whole = note.get("rows") == len(rows)
    facts = [
        (label, _shown(note[name]))
        for name, label in _NOTED.items()
        if note.get(name) is not None and (whole or name in {"service", "grain"})
    ]
    facts += _looked_up_at(rows)
    if whole:
        street = inputs_of(rows).values.get("address")  # noqa: PD011 - no frame's
        facts += [
            ("Noted by the lookup", str(text).replace(f"address {street} for", "one address for"))
            for text in note.get("notes") or ()
        ]
    elif note:
        of_lookup = f"the lookup was over {_shown(note.get('rows'))} rows"
        facts.append(("Rows", f"{of_lookup}, these are {len(rows):,}"))
    return tuple(facts)


def _looked_up_at(rows: Enriched) -> list[tuple[str, str]]:
    column = first_column(rows.frame, rows.label("looked_up_at"))
    if column is None:
        return []
    times = pd.to_datetime(column.dropna(), utc=True, errors="coerce", format="ISO8601").dropna()
    if times.empty:
        return []
    first, last = times.min(), times.max()
    return [("Looked up", f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC")]


_ROUNDINGS = {
    "half_up": "to the cent, half a cent away from zero",
    "half_even": "to the cent, half a cent to the even cent",
    "up": "to the cent, away from zero",
    "down": "to the cent, toward zero",
}


def _tax_terms(rows: Enriched) -> tuple[tuple[str, str], ...]:
    """How the tax was computed, from the tax's note on the frame."""
    terms = rows.terms
    if not terms:
        return (("Terms of the tax", "not recorded on this frame"),)
    return (
        ("Amounts", f"column {terms.get('amount')!r}"),
        ("Delivery", _column_term(terms, "shipping", "not given: no tax on delivery")),
        ("Buyers can avoid delivery", _DELIVERIES.get(str(terms.get("delivery")), _NOT_SAID)),
        ("Exempt", _column_term(terms, "exempt", "not given: nothing is exempt")),
        ("Rounding", _ROUNDINGS.get(str(terms.get("rounding")), _shown(terms.get("rounding")))),
        ("Rounded", _per_invoice(terms)),
        (
            "Partial rates",
            "taxed from what is known of them, as requested"
            if terms.get("partial") == "use"
            else "not taxed",
        ),
        (
            "Register of nexus",
            _column_term(terms, "nexus", "not given: tax at the destination only"),
        ),
        ("Sales channel", _column_term(terms, "channel", "not given")),
        ("Shipped from", _column_term(terms, "ship_from", "not given")),
    )


_DELIVERIES = {
    "optional": "yes: delivery is not taxed in the states where that decides",
    "only": "no, every order is shipped: delivery is taxed in the states where that decides",
}


_NOT_SAID = "not said: where that decides, orders with delivery are to review"


def _per_invoice(terms: Mapping[str, object]) -> str:
    invoice = terms.get("invoice")
    return "each line on its own" if invoice is None else f"once an invoice (column {invoice!r})"


def _column_term(terms: Mapping[str, object], name: str, absent: str) -> str:
    value = terms.get(name)
    if value is None:
        return absent
    return f"column {value!r}" if isinstance(value, str) else _shown(value)


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
