"""Why each row requires review, in codes and sentences, and the dollars at stake in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.codes import CONFIDENCES, DELIVERY_WARNINGS, codes_in, codes_of, meaning_of, urgency
from svc_tools.display import capital
from svc_tools.frames.added.rates import rates_of, truths_of
from svc_tools.frames.arrow import Coded, coded, combined, first_column, recoded
from svc_tools.frames.money import Money, money
from svc_tools.frames.queries import combined as distinct
from svc_tools.frames.taxes.due import terms_of
from svc_tools.frames.taxes.not_due import not_due_of_rows
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.taxed_rows import goods_of, sales_of, taxable_of_rows, taxed_rows
from svc_tools.lookup.columns import RANGE_COLUMNS
from svc_tools.lookup.outcomes import TOO_HIGH
from svc_tools.lookup.reviewing import law_since, parsed_day, reasons_of
from svc_tools.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from svc_tools.frames.taxes.taxed_rows import Goods

BASES = (*codes_of("stake"), "")
_DAY = len("2026-05-01")
"""Characters of a day that a file may have with a time behind it."""
BASIS_CODES = {basis: code for code, basis in enumerate(BASES)}
DECIDING = (
    *("lookup_status", "needs_review", "lookup_review_reason"),
    *("tax", "tax_error", "taxable_amount", "exempt_amount"),
    *("tax_review", "tax_due", "tax_due_reason"),
)
"""What `codes_of_rows` reads where the lookup noted which rows require review."""


def codes_of_rows(frame: pd.DataFrame, status: Coded[str], prefix: str) -> Coded[str]:
    """The codes for which each row requires review, separated by "; ", the most urgent first.

    Empty where a row requires none. They are the status of a row without a whole rate, what the
    lookup noted (`lookup_review_reason`, where `needs_review`), what the tax noted
    (`tax_review`), `no_tax`, and why it is not known whether a tax is due. A row of which no tax
    is due for a known reason requires none, whatever its rate is.
    """
    marked = truths_of(frame, f"{prefix}needs_review", missing=True)
    reasons = coded(frame, f"{prefix}lookup_review_reason")
    if marked is None:  # a lookup of some columns only
        reasons = _judged(frame, status, prefix)
        marked = reasons.where(bool)
    codes, rows = combined(
        [
            status,
            Coded(marked.astype(np.int64), ("", "marked")),
            reasons,
            coded(frame, f"{prefix}tax_review"),
            _why_no_tax(frame, status, prefix),
            not_due_of_rows(frame, prefix),
        ]
    )
    return recoded(codes, (_cell(*row) for row in rows))


def _judged(frame: pd.DataFrame, status: Coded[str], prefix: str) -> Coded[str]:
    """Why each rate requires review, by the rule of a single result and the columns there are.

    No column says whether the state of a row comes from its ZIP, so that another city than the one
    given is always a reason.
    """
    confidence = f"{prefix}confidence"
    # where it was not looked up, it says nothing
    unknown = "" if first_column(frame, confidence) is not None else CONFIDENCES[0]
    texts = [status, coded(frame, confidence, unknown)]
    names = ("warnings", "effective_date", "effective_date_basis", "lookup_as_of")
    texts += [coded(frame, prefix + name) for name in names]
    rates, low, high = (rates_of(frame, prefix + one) for one in ("combined_rate", *RANGE_COLUMNS))
    differ = low.units != high.units
    figures = [one.astype(np.int8) for one in (rates.units > TOO_HIGH, low.missing, differ)]
    codes, first = distinct([*(one.codes for one in texts), *figures], len(frame))
    cells = []
    for row in first.tolist():
        cell = [one.values[one.codes[row]] for one in texts]  # noqa: PD011 - no frame's
        text, sure, warned, effective, basis, day = cell
        reasons = reasons_of(
            text,
            codes_in(warned),
            sure,
            combined=rates.units[row],
            ends=(None if low.missing[row] else low.units[row], high.units[row]),
            since=law_since(effective[:_DAY], basis),
            day=parsed_day(day[:_DAY]),
        )
        cells.append("; ".join(reasons) if Status.of(text).rated else "")
    return recoded(codes, cells)


def _why_no_tax(frame: pd.DataFrame, status: Coded[str], prefix: str) -> Coded[str]:
    """The reasons of `taxed_rows`, also for a frame with only some of the columns of its tax."""
    tax = first_column(frame, f"{prefix}tax")
    if tax is None:
        return Coded(status.codes * 0, ("",))
    needed = ("tax_error", "taxable_amount", "exempt_amount")
    if {f"{prefix}{name}" for name in needed} <= set(frame.columns):
        return taxed_rows(frame, prefix).why
    lacks = status.where(lambda one: Status.of(one).usable) & money(frame, f"{prefix}tax").missing
    return Coded(lacks.astype(np.int64), ("", "no_tax"))


def _cell(  # noqa: PLR0917 - a row's cells
    status: str, marked: str, of_rate: str, of_tax: str, why: str, not_due: str
) -> str:
    if not_due:
        return ""
    found = list(codes_in(of_rate)) if marked else []
    if Status.of(status).review and status not in found:
        found.append(status)
    if marked and not found:  # a lookup without the column with the reason
        found.append("needs_review")
    found += codes_in(of_tax)
    if why.startswith("no_tax"):
        found.append(why.partition(":")[2] if why.endswith("freight_taxable_unknown") else "no_tax")
    if why.startswith("due_not_known:"):
        found.append(why.removeprefix("due_not_known:"))
    return "; ".join(sorted(dict.fromkeys(found), key=urgency))


def _city_of_mismatch(frame: pd.DataFrame, reasons: Coded[str], prefix: str) -> Coded[str]:
    """The city that a rate is for, where it is not the one that was given."""
    cities = coded(frame, f"{prefix}resolved_city")
    differs = reasons.where(lambda cell: "place_input_mismatch" in codes_in(cell))
    place = cities.values.index("")  # noqa: PD011 - no frame's
    return Coded(np.where(differs, cities.codes, place), cities.values)


def why_of_rows(
    frame: pd.DataFrame, status: Coded[str], reasons: Coded[str], failed: np.ndarray, prefix: str
) -> Coded[str]:
    """Why each row requires review, a sentence for each of its reasons."""
    columns = (
        status,
        coded(frame, f"{prefix}lookup_error"),
        coded(frame, f"{prefix}tax_error"),
        reasons,
        _city_of_mismatch(frame, reasons, prefix),
        Coded(failed.astype(np.int64), ("", "lacking")),
    )
    codes, rows = combined(columns)
    return recoded(codes, (_why_of(*row) for row in rows))


def _why_of(  # noqa: PLR0917 - a row's cells
    status: str, error: str, tax_error: str, cell: str, city: str, lacking: str
) -> str:
    if not Status.of(status).rated:
        return error or f"No rate ({status}), and no reason given."
    codes, sentences = codes_in(cell), []
    if lacking and not any(Status.of(code).partial for code in codes):
        sentences.append(f"No tax: {tax_error.removesuffix('.') or 'no reason given'}.")
    sentences += [_sentence(code, city) for code in codes if code != "no_tax"]
    return " ".join(sentences)


def _sentence(code: str, city: str) -> str:
    if code == "place_input_mismatch" and city:
        return f"The city given is not the place the rate is for: {city}."
    meaning = meaning_of(code)
    return f"{capital(meaning)}." if meaning else f"{code}."


class Figures(NamedTuple):
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


def figures_of(
    frame: pd.DataFrame,
    status: Coded[str],
    reasons: Coded[str],
    *,
    prefix: str,
    amount: Hashable | Goods | None,
) -> Figures:
    """The dollars at stake in every row, by the first basis that applies.

    What the delivery alone decides is all that is at stake only where nothing else is in doubt.
    """
    goods = goods_of(frame, prefix, amount)
    sales = sales_of(frame, prefix, goods)
    if f"{prefix}tax" not in frame.columns:
        basis = np.where(sales.missing, BASIS_CODES[""], BASIS_CODES["sale"])
        none = np.zeros(len(frame), np.int64)
        own = Money(np.abs(sales.cents), sales.missing)
        return Figures(own, basis, none.astype(bool), none, none)
    tax, at_stake, low, high = (
        money(frame, prefix + name) for name in ("tax", "at_stake", "tax_low", "tax_high")
    )
    of_tax = amount is None or str(goods.label) == str(terms_of(frame, prefix).get("amount"))
    taxable = taxable_of_rows(frame, prefix) if of_tax else None
    if taxable is not None:  # nothing is at stake in sales that are wholly exempt
        known = ~taxable.missing
        sales = Money(np.where(known, taxable.cents, sales.cents), sales.missing & ~known)
    least = np.where(low.missing, 0, np.abs(low.cents))
    lowest, highest = (rates_of(frame, f"{prefix}rate_{end}") for end in ("low", "high"))
    ranged = ~at_stake.missing & (at_stake.cents != 0)
    ranged &= (
        (lowest.units != highest.units)
        | reasons.where(of_delivery_alone)
        | (at_stake.cents > np.abs(tax.cents))  # goods of nothing
    )
    chosen = [
        ("range", ~tax.missing & ranged, at_stake.cents),
        ("tax", ~tax.missing, np.abs(tax.cents)),
        ("tax_high", ~high.missing, np.maximum(np.abs(high.cents), least)),
    ]
    conditions = [rows for _, rows, _ in chosen]
    cents = np.select(conditions, [cents for *_, cents in chosen], 0)
    basis = np.select(conditions, [BASIS_CODES[name] for name, *_ in chosen], BASIS_CODES[""])
    missing = basis == BASIS_CODES[""]
    estimable = ~sales.missing & (np.abs(sales.cents) < ROOM)
    estimable &= ~status.where(lambda one: Status.of(one).abroad)
    open_ = missing & estimable
    return Figures(
        Money(cents, missing), basis, open_, np.where(open_, np.abs(sales.cents), 0), least
    )


def of_delivery_alone(cell: str) -> bool:
    """Whether nothing but the tax on delivery is in doubt, which is so in all of a state."""
    return {*codes_in(cell)} <= {*DELIVERY_WARNINGS}


def highest_rates(frame: pd.DataFrame, states: Coded[str], prefix: str) -> list[int]:
    """The highest rate found for each of the states, in units; -1 where none is found."""
    highest = np.full(len(states.values), -1, np.int64)
    for name in ("combined_rate", "rate_high"):
        rates = rates_of(frame, prefix + name)
        usable = ~rates.missing & (rates.units <= TOO_HIGH)  # no estimate from what cannot be
        np.maximum.at(highest, states.codes[usable], rates.units[usable])
    units: list[int] = highest.tolist()
    return units


_Whole = TypeVar("_Whole", int, np.ndarray)


def taxed_up(cents: _Whole, units: _Whole) -> _Whole:
    """The tax of sales in cents at rates in units, half a cent up."""
    tax: _Whole = (cents * units + UNITS_PER_ONE // 2) // UNITS_PER_ONE
    return tax


def warnings_counted(warnings: Coded[str]) -> list[tuple[str, int]]:
    """The codes of a column of warnings with their rows; a code may occur several times."""
    counts = warnings.counts()
    return [(code, rows) for cell, rows in counts for code in dict.fromkeys(codes_in(cell))]


def unmatched_rows(frame: pd.DataFrame, prefix: str) -> np.ndarray:
    """The rows with a street address that did not decide their rate."""
    warnings = coded(frame, f"{prefix}warnings")
    unmatched: np.ndarray = warnings.where(lambda cell: "address_not_matched" in codes_in(cell))
    return unmatched
