"""Why each row requires review, in codes and sentences, and the dollars at stake in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.base.shares import LIKELY_SHARE, SHARES_PER_ONE, SURE_SHARE, share_units
from svc_tools.frames.added.enriched import Enriched, fact
from svc_tools.frames.lookup.queries import combined_codes as distinct
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.taxes.not_due import not_due_reasons
from svc_tools.frames.taxes.taxed_rows import sales_of, taxable_of_rows, taxed_rows
from svc_tools.frames.values.arrow import Coded, combined, recoded
from svc_tools.frames.values.money import Money
from svc_tools.frames.values.rounding import ROOM
from svc_tools.lookup.columns import RANGE_COLUMNS
from svc_tools.lookup.options import review_threshold
from svc_tools.lookup.outcomes import TOO_HIGH
from svc_tools.lookup.reviewing import law_since, parsed_day, reasons_of
from svc_tools.show.codes import (
    CONFIDENCES,
    DELIVERY_WARNINGS,
    OF_DELIVERY,
    codes_of,
    meaning_of,
    urgency,
)
from svc_tools.show.display import capital
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from svc_tools.frames.taxes.taxed_rows import Goods

BASES = (*codes_of("stake"), "")
_DAY = len("2026-05-01")
"""Characters of a day that a file may have with a time behind it."""
BASIS_CODES = {basis: code for code, basis in enumerate(BASES)}
DECIDING_COLUMNS = (
    *("lookup_status", "needs_review", "lookup_review_reason"),
    *("tax", "tax_error", "taxable_amount", "exempt_amount"),
    *("tax_review", "tax_due", "tax_due_reason"),
)
"""What `review_codes` reads where the lookup noted which rows require review."""


@fact
def review_codes(rows: Enriched) -> Coded[tuple[str, ...]]:
    """The codes for which each row requires review, the most urgent first; none where it does not.

    They are the status of a row without a whole rate, what the lookup noted
    (`lookup_review_reason`, where `needs_review`), what the tax noted (`tax_review`), `no_tax`, and
    why it is not known whether a tax is due. A row of which no tax is due for a known reason
    requires none, whatever its rate is.
    """
    marked, reasons = rows.truths("needs_review", missing=True), rows.codes("lookup_review_reason")
    if marked is None:  # a lookup of some columns only
        reasons = _judged(rows)
        marked = reasons.where(bool)
    numbers, cells = combined(
        [
            rows.status,
            Coded(marked.astype(np.int64), (False, True)),
            reasons,
            rows.codes("tax_review"),
            _why_no_tax(rows),
            not_due_reasons(rows),
        ]
    )
    return recoded(numbers, (_codes_of(*cell) for cell in cells))


def _judged(rows: Enriched) -> Coded[tuple[str, ...]]:
    """Why each rate requires review, by the rule of a single result and the columns there are.

    No column says whether the state of a row comes from its ZIP, so that another city than the one
    given is always a reason.
    """
    # where it was not looked up, it says nothing
    unknown = "" if rows.has("confidence") else CONFIDENCES[0]
    below = _below(rows)
    warnings = rows.codes("warnings")
    names = ("effective_date", "effective_date_basis", "lookup_as_of")
    texts = [rows.status, rows.coded("confidence", unknown), *map(rows.coded, names)]
    rates, low, high = map(rows.rates, ("combined_rate", *RANGE_COLUMNS))
    differ, shares = low.units != high.units, rows.shares("lookup_share")
    sure = np.where(shares.missing, -1, shares.units)
    figures = [figure.astype(np.int8) for figure in (rates.units > TOO_HIGH, low.missing, differ)]
    figures.append(np.searchsorted(np.unique([0, below, LIKELY_SHARE]), sure, side="right"))
    every = [*(column.codes for column in texts), warnings.codes, *figures]
    codes, first = distinct(every, len(rows))
    cells = []
    for row in first.tolist():
        text, sure, effective, basis, day = (column.values[column.codes[row]] for column in texts)
        reasons = reasons_of(
            text,
            warnings.values[warnings.codes[row]],
            sure,
            combined=rates.units[row],
            ends=(None if low.missing[row] else low.units[row], high.units[row]),
            share=None if shares.missing[row] else int(shares.units[row]),
            below=below,
            since=law_since(effective[:_DAY], basis),
            day=parsed_day(day[:_DAY]),
        )
        cells.append(tuple(reasons) if Status.of(text).rated else ())
    return recoded(codes, cells)


def _below(rows: Enriched) -> int:
    """The share of a ZIP's housing below which its rate requires review, as at the lookup."""
    stored = share_units(rows.stamp.lookups.get(rows.prefix, {}).get("review_below"))
    return review_threshold() if stored is None else stored


def on_shares(rows: Enriched) -> np.ndarray:
    """The rows with a whole rate that less than 98% of their ZIP's housing is known to have."""
    shares = rows.shares("lookup_share")
    here: np.ndarray = ~shares.missing & (shares.units < SURE_SHARE)
    here &= rows.where(lambda status: status.usable)
    return here


def _why_no_tax(rows: Enriched) -> Coded[str]:
    """The reasons of `taxed_rows`, also for a frame with only some of the columns of its tax."""
    if not rows.has("tax"):
        return Coded(rows.status.codes * 0, ("",))
    if rows.has("tax_error", "taxable_amount", "exempt_amount"):
        return taxed_rows(rows).why
    lacks = rows.where(lambda status: status.usable) & rows.money("tax").missing
    return Coded(lacks.astype(np.int64), ("", "no_tax"))


def _codes_of(  # noqa: PLR0917 - a row's cells
    status: str,
    marked: bool,  # noqa: FBT001 - as above
    of_rate: tuple[str, ...],
    of_tax: tuple[str, ...],
    why: str,
    not_due: str,
) -> tuple[str, ...]:
    """The codes for which one row requires review, the most urgent first; none if no tax is due."""
    if not_due:
        return ()
    found = [*of_rate] if marked else []
    if Status.of(status).review and status not in found:
        found.append(status)
    if marked and not found:  # a lookup without the column with the reason
        found.append("needs_review")
    found += of_tax
    if why.startswith("no_tax"):
        found.append(why.partition(":")[2] if why.endswith("freight_taxable_unknown") else "no_tax")
    if why.startswith("due_not_known:"):
        found.append(why.removeprefix("due_not_known:"))
    return tuple(sorted(dict.fromkeys(found), key=urgency))


def _city_of_mismatch(rows: Enriched) -> Coded[str]:
    """The city that a rate is for, where it is not the one that was given."""
    cities = rows.coded("resolved_city")
    differs = review_codes(rows).having("place_input_mismatch")
    place = cities.values.index("")
    return Coded(np.where(differs, cities.codes, place), cities.values)


def why_review(rows: Enriched, failed: np.ndarray) -> Coded[str]:
    """Why each row requires review, a sentence for each of its reasons."""
    columns: tuple[Coded[Any], ...] = (
        rows.status,
        rows.coded("lookup_error"),
        rows.coded("tax_error"),
        review_codes(rows),
        _city_of_mismatch(rows),
        Coded(failed.astype(np.int64), ("", "lacking")),
    )
    codes, cells = combined(columns)
    return recoded(codes, (_why_of(*cell) for cell in cells))


def _why_of(  # noqa: PLR0917 - a row's cells
    status: str, error: str, tax_error: str, codes: tuple[str, ...], city: str, lacking: str
) -> str:
    if not Status.of(status).rated:
        return error or f"No rate ({status}), and no reason given."
    sentences = []
    if lacking and not any(Status.of(code).partial for code in codes):
        sentences.append(f"No tax: {tax_error.removesuffix('.') or 'no reason given'}.")
    sentences += [_sentence(code, city) for code in codes if code != "no_tax"]
    return " ".join(sentences)


def _sentence(code: str, city: str) -> str:
    if code == "place_input_mismatch" and city:
        return f"The city given is not the place the rate is for: {city}."
    meaning = meaning_of(code)
    return f"{capital(meaning)}." if meaning else f"{code}."


class StakeFigures(NamedTuple):
    """What is known of the dollars at stake by row without the rates of other rows.

    Attributes:
        own: the dollars; missing where there is no figure, or only an estimate.
        basis: what they are, by their codes.
        open: the rows whose figure is an estimate, if any rate is found.
        sales: what is taxable of those, in cents without their sign.
        least: their tax_low, which the estimate is not below; 0 where it is missing.
    """

    own: Money
    basis: np.ndarray
    open: np.ndarray
    sales: np.ndarray
    least: np.ndarray


def figures_of(rows: Enriched, goods: Goods) -> StakeFigures:
    """The dollars at stake in every row, by the first basis that applies.

    What the delivery alone decides is all that is at stake only where nothing else is in doubt.
    Where the share of the ZIP's housing at the rate is known, the range counts by the share that
    has another rate: an expected amount, unless the tax on delivery is in doubt, too.
    """
    sales = sales_of(rows, goods)
    if not rows.has("tax"):
        basis = np.where(sales.missing, BASIS_CODES[""], BASIS_CODES["sale"])
        none = np.zeros(len(rows), np.int64)
        own = Money(np.abs(sales.cents), sales.missing)
        return StakeFigures(own, basis, none.astype(bool), none, none)
    names = ("tax", "at_stake", "tax_low", "tax_high")
    tax, at_stake, low, high = map(rows.money, names)
    of_tax = goods.label is not None and str(goods.label) == str(rows.terms.get("amount"))
    taxable = taxable_of_rows(rows) if of_tax else None
    if taxable is not None:  # nothing is at stake in sales that are wholly exempt
        known = ~taxable.missing
        sales = Money(np.where(known, taxable.cents, sales.cents), sales.missing & ~known)
    least = np.where(low.missing, 0, np.abs(low.cents))
    lowest, highest = map(rows.rates, RANGE_COLUMNS)
    ranged = ~at_stake.missing & (at_stake.cents != 0)
    ranged &= (
        (lowest.units != highest.units)
        | review_codes(rows).where(of_delivery_alone)
        | (at_stake.cents > np.abs(tax.cents))  # goods of nothing
    )
    shares = rows.shares("lookup_share")
    other = np.where(shares.missing, 0, SHARES_PER_ONE - shares.units)
    weighted = ~tax.missing & ranged & ~shares.missing & (lowest.units != highest.units)
    weighted &= (np.abs(at_stake.cents) < ROOM) & ~review_codes(rows).having(*OF_DELIVERY)
    parts = np.where(weighted, at_stake.cents, 0) * other
    expected = (parts + SHARES_PER_ONE // 2) // SHARES_PER_ONE
    chosen = [
        ("expected", weighted, expected),
        ("range", ~tax.missing & ranged, at_stake.cents),
        ("tax", ~tax.missing, np.abs(tax.cents)),
        ("tax_high", ~high.missing, np.maximum(np.abs(high.cents), least)),
    ]
    conditions = [mask for _, mask, _ in chosen]
    cents = np.select(conditions, [cents for *_, cents in chosen], 0)
    basis = np.select(conditions, [BASIS_CODES[name] for name, *_ in chosen], BASIS_CODES[""])
    missing = basis == BASIS_CODES[""]
    estimable = ~sales.missing & (np.abs(sales.cents) < ROOM)
    estimable &= ~rows.where(lambda status: status.abroad)
    open_ = missing & estimable
    return StakeFigures(
        Money(cents, missing), basis, open_, np.where(open_, np.abs(sales.cents), 0), least
    )


def of_delivery_alone(codes: tuple[str, ...]) -> bool:
    """Whether nothing but the tax on delivery is in doubt, which is so in all of a state."""
    return {*codes} <= {*DELIVERY_WARNINGS}


def highest_rates(rows: Enriched) -> list[int]:
    """The highest rate found for each of the states, in units; -1 where none is found."""
    states = states_of(rows)
    highest = np.full(len(states.values), -1, np.int64)
    for name in ("combined_rate", "rate_high"):
        rates = rows.rates(name)
        usable = ~rates.missing & (rates.units <= TOO_HIGH)  # no estimate from what cannot be
        np.maximum.at(highest, states.codes[usable], rates.units[usable])
    units: list[int] = highest.tolist()
    return units


_Whole = TypeVar("_Whole", int, np.ndarray)


def taxed_up(cents: _Whole, units: _Whole) -> _Whole:
    """The tax of sales in cents at rates in units, half a cent up."""
    tax: _Whole = (cents * units + UNITS_PER_ONE // 2) // UNITS_PER_ONE
    return tax


def warnings_counted(warnings: Coded[tuple[str, ...]]) -> list[tuple[str, int]]:
    """The codes of a column of warnings with their rows; a code may occur several times."""
    return [(code, rows) for codes, rows in warnings.counts() for code in dict.fromkeys(codes)]


def unmatched_rows(rows: Enriched) -> np.ndarray:
    """The rows with a street address that did not decide their rate."""
    return rows.codes("warnings").having("address_not_matched")
