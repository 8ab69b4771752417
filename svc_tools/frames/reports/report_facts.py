"""What a report of an enriched frame says, as plain values for the workbook and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.display import exact_dollars
from svc_tools.frames.analysis.review import reviewed
from svc_tools.frames.analysis.review_stakes import BASES
from svc_tools.frames.attention import Attention, attention
from svc_tools.frames.coded import coded, first_column
from svc_tools.frames.enriched import LEVEL_TAX_COLUMNS, require_columns
from svc_tools.frames.reports.column_words import COLUMN_MEANINGS
from svc_tools.frames.reports.rate_notes import notes_under
from svc_tools.frames.reports.report_terms import lookup_facts, tax_terms
from svc_tools.frames.row_states import states_of_rows
from svc_tools.frames.summary import Summary, summarize
from svc_tools.frames.taxes.tax_terms import terms_of
from svc_tools.frames.taxes.taxed_rows import amount_label
from svc_tools.frames.totals import Money, dollars, money, sums_by
from svc_tools.frames.what_to_do import codes_in, meaning_of, what_to_do
from svc_tools.lookup.review import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from decimal import Decimal

    import pandas as pd

    from svc_tools.frames.analysis.reviewed import Review

__all__ = ["Code", "Due", "Facts", "Stake", "amount_column", "facts_of", "stake_sentence"]

_CODE_COLUMNS = (
    "lookup_status",
    "confidence",
    "warnings",
    "lookup_review_reason",
    "tax_review",
    "tax_due_reason",
)
_SHARE = 90
"""Per cent: how few rows carry that much of the dollars at stake."""
_OF_ANSWERS = frozenset({"confidence", "warnings"})
"""Columns whose words are the service's: what they ask for is said by those of ours."""


@dataclass(frozen=True, slots=True)
class Stake:
    """What the tax may differ by where places could not be told apart, US dollars.

    `low` and `high` are what the tax of these rows comes to at the lowest and the highest rate.
    """

    rows: int
    low: Decimal
    high: Decimal
    at_stake: Decimal


@dataclass(frozen=True, slots=True)
class Due:
    """The tax that the seller owes, and why none is due on other rows (reason, rows, their tax)."""

    rows: int
    tax: Decimal
    not_due: tuple[tuple[str, int, Decimal], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A code that occurs in the lines: in how many rows, what it means, what to do about it."""

    column: str
    code: str
    rows: int
    meaning: str
    to_do: str


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What a report says.

    Attributes:
        title: its title.
        prefix: the prefix of the lookup's columns.
        amount: the column of amounts; `None` in a frame without taxes.
        summary: counts and totals.
        need: the rows that need a person, and why.
        review: the same rows as `df.svc.review()` lists them, the most dollars first.
        reviewed: where these stand in the frame, counted from 0.
        figures: further sums by name, US dollars (taxable and exempt amounts, tax on delivery).
        levels: the tax of whole rows by level of jurisdiction, and what no level is known for;
            empty where the frame does not tell.
        stake: what the tax may differ by; `None` where the frame does not tell.
        stakes_by_state: the same in dollars, by state; states where nothing is at stake left out.
        due: what the seller owes; `None` where the frame does not tell.
        lookup: how the rates were looked up, as names and texts.
        terms: how the tax was computed, as names and texts.
        notes: what these rates are and are not.
        columns: the columns of ours on the frame, each with its meaning.
        codes: the codes that occur, by column, the most frequent first.
    """

    title: str
    prefix: str
    amount: Hashable | None
    summary: Summary
    need: Attention
    review: Review
    reviewed: np.ndarray
    figures: tuple[tuple[str, Decimal], ...]
    levels: tuple[tuple[str, Decimal], ...]
    stake: Stake | None
    stakes_by_state: Mapping[str, Decimal]
    due: Due | None
    lookup: tuple[tuple[str, str], ...]
    terms: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    codes: tuple[Code, ...]


def facts_of(
    frame: pd.DataFrame,
    *,
    amount: Hashable | None = None,
    title: str | None = None,
    prefix: str = "",
    summary: Summary | None = None,
) -> Facts:
    """Gather what a report says.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        amount: the column of amounts; by default the one that the tax was computed from.
        title: the report's title.
        prefix: the prefix of the lookup's columns.
        summary: what `summarize(frame)` said, if you have it; otherwise it is made here.

    Raises:
        ValueError: the frame has not been looked up, or has a tax and no such amounts.
    """
    require_columns(frame, (f"{prefix}lookup_status",), "look the rates up first: df.svc.lookup()")
    taxed = f"{prefix}tax" in frame.columns
    column = amount_column(frame, amount, prefix)
    if taxed:
        require_columns(frame, (column,), "name the column of amounts: amount='…'")
    need = attention(frame, amount=column, prefix=prefix)
    summary = summary or summarize(frame, amount=column, prefix=prefix, need=need)
    whole = coded(frame, f"{prefix}lookup_status").where(lambda value: value == "ok")
    whole &= ~need.tax.missing
    stake, stakes_by_state = _stake(frame, need, prefix)
    known = column if column in frame.columns else None
    review, places = reviewed(frame, amount=known, share=_SHARE, prefix=prefix)
    return Facts(
        title=title or "Sales-tax rates",
        prefix=prefix,
        amount=column if taxed else None,
        summary=summary,
        need=need,
        review=review,
        reviewed=places,
        figures=_figures(frame, prefix) if taxed else (),
        levels=_levels(frame, need.tax, whole, prefix) if taxed else (),
        stake=stake,
        stakes_by_state=stakes_by_state,
        due=_due(frame, need.tax, prefix) if taxed else None,
        lookup=lookup_facts(frame, prefix),
        terms=tax_terms(frame, prefix) if taxed else (),
        notes=notes_under(terms_of(frame, prefix)),
        columns=tuple(
            (f"{prefix}{name}", meaning)
            for name, meaning in COLUMN_MEANINGS.items()
            if f"{prefix}{name}" in frame.columns
        ),
        codes=(*_codes(frame, prefix), *_bases(review)),
    )


def amount_column(frame: pd.DataFrame, amount: Hashable | None, prefix: str) -> Hashable:
    """The column of amounts: the one named, else the one that the tax was computed from."""
    label = amount_label(frame, prefix, amount)
    if label is not None:
        return label
    known = str(terms_of(frame, prefix).get("amount", "amount"))
    # the terms hold a label that is no text as it reads
    same = [name for name in frame.columns if str(name) == known]
    return same[0] if len(same) == 1 else known


def _figures(frame: pd.DataFrame, prefix: str) -> tuple[tuple[str, Decimal], ...]:
    with_delivery = ", delivery included" if f"{prefix}shipping_tax" in frame.columns else ""
    names = {
        "taxable_amount": f"Taxable amounts{with_delivery}",
        "exempt_amount": f"Exempt amounts{with_delivery}",
        "shipping_tax": "Tax on delivery (in the tax)",
    }
    sums = [(label, money(frame, f"{prefix}{name}").total()) for name, label in names.items()]
    return tuple((label, total) for label, total in sums if total is not None)


def _levels(
    frame: pd.DataFrame, tax: Money, whole: np.ndarray, prefix: str
) -> tuple[tuple[str, Decimal], ...]:
    if f"{prefix}{LEVEL_TAX_COLUMNS[0]}" not in frame.columns:
        return ()
    labels = ("State", "County", "City", "Districts")
    parts = [
        (label, money(frame, f"{prefix}{name}").total(whole) or dollars(0))
        for label, name in zip(labels, LEVEL_TAX_COLUMNS, strict=True)
    ]
    rest = (tax.total(whole) or dollars(0)) - sum(part for _, part in parts)
    return (*parts, ("Not told by level", rest)) if rest else tuple(parts)


def _stake(
    frame: pd.DataFrame, need: Attention, prefix: str
) -> tuple[Stake | None, Mapping[str, Decimal]]:
    if f"{prefix}at_stake" not in frame.columns:
        return None, {}
    open_ = need.at_stake.cents != 0
    low, high = (money(frame, f"{prefix}{name}") for name in ("tax_low", "tax_high"))
    none = dollars(0)
    states = states_of_rows(frame, prefix=prefix)
    sums = sums_by(states.codes, need.at_stake.cents, len(states.values))
    return (
        Stake(
            int(open_.sum()),
            low.total(open_) or none,
            high.total(open_) or none,
            need.at_stake.total(open_) or none,
        ),
        {state: dollars(cents) for state, cents in zip(states.values, sums, strict=True) if cents},
    )


def _due(frame: pd.DataFrame, tax: Money, prefix: str) -> Due | None:
    if f"{prefix}tax_due" not in frame.columns:
        return None
    due = money(frame, f"{prefix}tax_due")
    reasons = coded(frame, f"{prefix}tax_due_reason")
    size = len(reasons.values)
    sums = sums_by(reasons.codes, tax.cents, size)
    rows = np.bincount(reasons.codes, minlength=size).tolist()
    not_due = [
        (reason, counted, dollars(cents))
        for reason, counted, cents in zip(reasons.values, rows, sums, strict=True)
        if reason and counted
    ]
    return Due(
        int((~due.missing).sum()),
        due.total() or dollars(0),
        tuple(sorted(not_due, key=lambda one: (-one[1], one[0]))),
    )


def _codes(frame: pd.DataFrame, prefix: str) -> tuple[Code, ...]:
    found = []
    for name in _CODE_COLUMNS:
        if first_column(frame, f"{prefix}{name}") is None:
            continue
        counted: dict[str, int] = {}
        for cell, rows in coded(frame, f"{prefix}{name}").counts():
            for code in codes_in(cell):
                counted[code] = counted.get(code, 0) + rows
        often_first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        found += [
            Code(f"{prefix}{name}", code, rows, _meaning(name, code), _advice(name, code))
            for code, rows in often_first
        ]
    return tuple(found)


def _bases(review: Review) -> list[Code]:
    """What the dollars of the review rest on."""
    name = f"{review.prefix}review_basis"
    counts = coded(review.rows, name).counts()
    often_first = sorted(counts, key=lambda item: (-item[1], item[0]))
    return [Code(name, code, rows, BASES[code], "") for code, rows in often_first if code]


def _meaning(column: str, code: str) -> str:
    return MEANINGS.get(code, "") if column in _OF_ANSWERS else meaning_of(code)


def _advice(column: str, code: str) -> str:
    silent = column in _OF_ANSWERS or code == "ok"
    return "" if silent else what_to_do(code)


def stake_sentence(facts: Facts) -> str | None:
    """What the tax may differ by where places were not told apart; `None` where nothing does."""
    stake = facts.stake
    if stake is None or not stake.rows:
        return None
    low, high, between = map(exact_dollars, (stake.low, stake.high, stake.at_stake))
    refunds = "" if stake.high - stake.low == stake.at_stake else ", refunds without their sign"
    return (
        f"In {stake.rows:,} rows the place fits several rates: their tax comes to {low} at the"
        f" lowest of them and to {high} at the highest, and {between} is at stake{refunds}."
    )
