"""Exact tax: whole cents times whole units of 10^-5, rounded in whole numbers."""

# MERGED taxed_rows: A taxed frame as arrays of whole cents: the tax, what is due of it, and why there is none.
# MERGED changes: Whether a tax still is that of its frame: rows and figures may have changed since.
# MERGED tax_review: The column `tax_review`: which rows a person should look at before their tax is used, and why.
# MERGED tax_range: What is at stake: the tax at the lowest and at the highest rate that the answer allows.

from __future__ import annotations

import contextlib
import re
import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.arrow import MONEY, Coded, coded, combined, decimals
from svc_tools.frames.columns import distinct_values, is_label
from svc_tools.frames.lookup_columns import (
    LEVEL_TAX_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
    TAXED,
    rates_of,
    require_columns,
    require_one,
    without_tax,
)
from svc_tools.frames.money import Money, dollars, money, one_amount
from svc_tools.frames.notes import say
from svc_tools.frames.provenance import changed_rows
from svc_tools.frames.taxes.due import (
    ORIGIN_SOURCED,
    Sales,
    TaxTerms,
    channel_of,
    marketplace_only,
    of_states,
    over_cap,
    remember,
    sale_dates,
    terms_of,
    why_not_due,
)
from svc_tools.frames.taxes.invoices import invoice_codes, shared_out, tax_by_invoice
from svc_tools.frames.taxes.reasons import TAX_REVIEW
from svc_tools.frames.taxes.rounding import ROOM, rounded_tax
from svc_tools.frames.taxes.tax_lines import Lines, read_lines, rows_of_states
from svc_tools.places import Elsewhere, state_code

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.lookup_columns import Rates
    from svc_tools.frames.taxes.due import Channel
    from svc_tools.frames.taxes.rounding import Rounding

_SHOWN = 5


class TaxFailedError(Exception):
    """Rows have no tax, and `errors="raise"` asked for an exception.

    Attributes:
        frame: the frame with every tax that could be computed: nothing is lost.
    """

    def __init__(self, message: str, frame: pd.DataFrame) -> None:
        super().__init__(message)
        self.frame = frame

    def __reduce__(self) -> tuple[type[TaxFailedError], tuple[str, pd.DataFrame]]:
        """It survives the way from one process to another."""
        return type(self), (str(self), self.frame)


def add_tax(
    frame: pd.DataFrame,
    terms: TaxTerms,
    *,
    prefix: str = "",
    progress: bool = True,
    errors: Literal["coerce", "raise"] = "coerce",
) -> pd.DataFrame:
    """Add the columns of a tax; see `df.svc.tax` for the meaning of the terms."""
    if errors not in {"coerce", "raise"}:
        raise ValueError(f"errors: {errors!r} is not known; expected 'coerce' or 'raise'")
    register = terms.register()
    rest = without_tax(frame, prefix)
    _refuse_taken(rest, prefix, terms)
    lines = read_lines(frame, terms, prefix)
    if moved := changed_rows(frame, prefix):
        warnings.warn(
            f"{moved:,} of {len(frame):,} rows have another place, date or rate than their lookup"
            " gave them, and their tax is computed from the rate that stands there; look them up"
            " again: df.svc.lookup()",
            stacklevel=3,
        )
    tax, incomplete = _tax(frame, lines, terms)
    columns = _money(lines, tax, terms)
    sales = _sales(frame, lines, terms, prefix)
    marks = _marks(frame, lines, terms, sales)
    marks["invoice_incomplete"] = incomplete
    if register is not None and sales.dates is not None:
        marks["marketplace_record_only"] = marketplace_only(sales, sales.dates, register)
    columns["tax_review"] = review_column(marks, len(frame))
    if register is not None or sales.channel is not None:
        reasons = why_not_due(sales, register)
        columns["tax_due"] = decimals(tax, reasons.given, MONEY)
        columns["tax_due_reason"] = reasons.column()
    taxed = rest.copy(deep=False)
    for name in (*TAX_COLUMNS, *TAX_OPTION_COLUMNS):
        if name in columns:
            taxed[prefix + name] = columns[name]
    taxed.attrs[TAXED] = sorted({prefix, *taxed.attrs.get(TAXED, [])})
    remember(taxed, prefix, terms, register)
    if progress:
        say(_notes(lines, columns, sales.channel))
    if errors == "raise":
        _raise_for(lines, taxed)
    return taxed


def _refuse_taken(rest: pd.DataFrame, prefix: str, terms: TaxTerms) -> None:
    """A column of the user's own is not overwritten."""
    due = terms.nexus is not None or terms.channel is not None
    added = {"shipping_tax": terms.shipping is not None, "tax_due": due, "tax_due_reason": due}
    for name in TAX_OPTION_COLUMNS:
        if added[name] and prefix + name in rest.columns:
            raise ValueError(
                f"the frame has a column {prefix + name!r} that is not ours; rename it,"
                " or look up with a prefix, for instance prefix='svc_'"
            )


def _sales(frame: pd.DataFrame, lines: Lines, terms: TaxTerms, prefix: str) -> Sales:
    """Where, when and by whom each sale was made, as far as the terms ask for it."""
    for argument, value in (("nexus", terms.nexus), ("ship_from", terms.ship_from)):
        if value is not None:
            remedy = f"{argument}= needs it: look the rates up with all columns, or with this one"
            require_columns(frame, (f"{prefix}resolved_state",), remedy)
    return Sales(
        states=rows_of_states(frame, prefix),
        dates=None if terms.nexus is None else sale_dates(frame, f"{prefix}lookup_as_of"),
        channel=None if terms.channel is None else channel_of(frame, terms.channel),
        untaxed=lines.reasons.given,
    )


def _marks(
    frame: pd.DataFrame, lines: Lines, terms: TaxTerms, sales: Sales
) -> dict[str, np.ndarray]:
    """The rows that a person should look at, by the code of `tax_review`."""
    marks = {
        "partial_rate": lines.partial & ~lines.reasons.given,
        "freight_taxable_unknown": lines.freight_unknown & ~lines.inputs.given,
        "over_cap": above_cap(lines, sales.states),
    }
    if terms.ship_from is not None:
        sourced, unknown = origins(frame, terms.ship_from, sales.states)
        marks |= {"origin_sourced": sourced, "origin_unknown": unknown}
    if sales.channel is not None:
        marks["channel_unknown"] = sales.channel.unknown
    return marks


def _tax(frame: pd.DataFrame, lines: Lines, terms: TaxTerms) -> tuple[np.ndarray, np.ndarray]:
    """The tax of each row in cents, 0 where it has none; and rows of incomplete invoices."""
    units = lines.rates.units
    if terms.invoice is None:
        known = np.where(lines.reasons.given, 0, lines.taxable)
        return rounded_tax(known, units, terms.rounding), np.zeros(len(frame), bool)
    codes, named = invoice_codes(frame, terms.invoice)
    rows = np.flatnonzero(~lines.reasons.given)
    products = lines.taxable[rows] * units[rows]
    tax = np.zeros(len(frame), np.int64)
    tax[rows], too_large = tax_by_invoice(products, units[rows], codes[rows], terms.rounding)
    for row in rows[too_large].tolist():
        lines.refuse(row, "invoice: its lines are too large together for exact tax")
    untaxed = lines.reasons.given
    tax[untaxed] = 0
    lacking = np.zeros(int(codes.max(initial=0)) + 1, bool)
    lacking[codes[untaxed & named]] = True
    return tax, ~untaxed & named & lacking[codes]


def _money(lines: Lines, tax: np.ndarray, terms: TaxTerms) -> dict[str, ExtensionArray]:
    """The columns of money that are always there, and `shipping_tax`, where asked for."""
    untaxed = lines.reasons.given
    units, taxable = lines.rates.units, lines.taxable
    known = np.where(untaxed, 0, taxable)
    parts = [level.units for level in lines.levels]
    split = untaxed | (sum(parts) != units)
    for level in lines.levels:
        split |= level.missing
    levels = shared_out(
        np.where(split, 0, tax), [np.where(split, 0, known) * part for part in parts]
    )
    around = tax_range(lines, tax, terms.rounding)
    columns = {
        "tax": decimals(tax, untaxed, MONEY),
        "tax_error": lines.reasons.column(),
        "taxable_amount": decimals(known, untaxed, MONEY),
        "exempt_amount": decimals(lines.goods + lines.shipping - known, untaxed, MONEY),
    }
    for name, cents in zip(LEVEL_TAX_COLUMNS, levels, strict=True):
        columns[name] = decimals(cents, split, MONEY)
    columns["tax_low"] = decimals(around.low, around.no_low, MONEY)
    columns["tax_high"] = decimals(around.high, around.no_high, MONEY)
    columns["at_stake"] = decimals(
        np.abs(around.high - around.low), around.no_low | around.no_high, MONEY
    )
    if terms.shipping is not None:
        goods = np.where(untaxed, 0, lines.taxable_goods * units)
        delivery = np.where(untaxed, 0, lines.taxable_shipping * units)
        columns["shipping_tax"] = decimals(shared_out(tax, [goods, delivery])[1], untaxed, MONEY)
    return columns


def _notes(
    lines: Lines, columns: Mapping[str, ExtensionArray], channel: Channel | None
) -> list[str]:
    """What a person should hear of it, in sentences."""
    said = []
    if most := lines.reasons.most_frequent():
        count = int(np.count_nonzero(lines.reasons.given))
        said.append(
            f"rows without a tax: {count:,}; most frequent reason: {most[0]} (rows: {most[1]:,})"
        )
    if lines.snapped:
        said.append(
            f"floats off a whole cent by a rounding error, read as that cent: {lines.snapped:,}"
        )
    if marked := int((~columns["tax_review"].isna()).sum()):
        said.append(f"rows to review before the tax is used (tax_review): {marked:,}")
    if "tax_due" in columns:
        none = int(columns["tax_due"].isna().sum())
        said.append(f"rows for which no tax is due from you, or it cannot be said: {none:,}")
    if channel is not None and channel.odd:
        shown = ", ".join(map(repr, channel.odd[:_SHOWN]))
        more = f" and {len(channel.odd) - _SHOWN} more" if len(channel.odd) > _SHOWN else ""
        said.append(f"channels that are neither direct nor marketplace: {shown}{more}")
    return said


def _raise_for(lines: Lines, taxed: pd.DataFrame) -> None:
    most = lines.reasons.most_frequent()
    if most is None:
        return
    count = int(np.count_nonzero(lines.reasons.given))
    raise TaxFailedError(
        f"{count:,} of {len(taxed):,} rows have no tax; most frequent reason: {most[0]} (rows:"
        f" {most[1]:,}). The frame with every tax that could be computed is in the exception's"
        " `frame`.",
        taxed,
    )


NOTHING_DUE = frozenset({"no_nexus", "not_registered_yet", "marketplace_facilitated"})
"""The codes of `tax_due_reason` that say: the seller owes nothing on this sale."""
_TOPIC = re.compile(r"([a-z_]+):")
_RATED = frozenset({"ok", "partial"})


@dataclass(frozen=True, slots=True)
class TaxedRows:
    """The money of every row of a taxed frame.

    Attributes:
        tax: the tax at the destination.
        due: what the seller owes of it: `tax_due` where the frame has that column, else `tax`.
        says_due: whether the frame has the column.
        nothing_due: rows of which the seller owes no tax, for a known reason.
        taxable: the amount that the tax was computed on.
        exempt: the amount left untaxed.
        why: empty where something is due; else `no_rate:` and the status, `no_tax` (with what is
            wrong after a colon), `not_due:` or `due_not_known:` and the code of `tax_due_reason`.
    """

    tax: Money
    due: Money
    says_due: bool
    nothing_due: np.ndarray
    taxable: Money
    exempt: Money
    why: Coded


def taxed_rows(frame: pd.DataFrame, prefix: str) -> TaxedRows:
    """Read the money of a frame that `df.svc.tax()` returned.

    Raises:
        ValueError: it has not been looked up, or has no tax, or columns of ours appear twice.
    """
    status = f"{prefix}lookup_status"
    require_columns(frame, (status,), "look the rates up first: df.svc.lookup()")
    names = tuple(prefix + name for name in ("tax", "tax_error", "taxable_amount", "exempt_amount"))
    require_columns(frame, names, "compute the tax first: df.svc.tax(amount='…')")
    for name in (status, *names):
        require_one(frame, name, "tax")
    tax = money(frame, names[0])
    says_due = f"{prefix}tax_due" in frame.columns
    due = money(frame, f"{prefix}tax_due") if says_due else tax
    codes, cells = combined(
        [
            coded(frame, status, "not_attempted"),
            coded(frame, names[1]),
            coded(frame, f"{prefix}tax_due_reason"),
            coded(frame, f"{prefix}tax_review"),
            Coded(np.where(tax.missing, 0, np.where(due.missing, 1, 2)), ("tax", "due", "")),
        ]
    )
    partial_used = terms_of(frame, prefix).get("partial") == "use"
    reasons = [_why(*cell, partial_used=partial_used) for cell in cells]
    values = tuple(dict.fromkeys(reasons))
    place = {value: number for number, value in enumerate(values)}
    why = Coded(np.array([place[one] for one in reasons], np.int64)[codes], values)
    return TaxedRows(
        tax,
        due,
        says_due,
        why.where(lambda one: one.startswith("not_due:")),
        money(frame, names[2]),
        money(frame, names[3]),
        why,
    )


def _why(
    status: str, error: str, due_reason: str, review: str, lacks: str, *, partial_used: bool
) -> str:
    """Why a row owes no tax that is known, as a code."""
    if not lacks:
        return ""
    if due_reason in NOTHING_DUE:  # also where the tax itself is not known
        return f"not_due:{due_reason}"
    if lacks == "due":
        return f"due_not_known:{due_reason or 'no_reason'}"
    if status not in _RATED or (status == "partial" and not partial_used):
        return f"no_rate:{status}"
    if "freight_taxable_unknown" in review:
        return "no_tax:freight_taxable_unknown"
    topic = _TOPIC.match(error)
    return f"no_tax:{topic[1]}" if topic else "no_tax"


def amount_label(frame: pd.DataFrame, prefix: str, given: Hashable | None) -> Hashable | None:
    """The column of amounts: the one named, else the one the tax was computed from, else none.

    Raises:
        ValueError: the column named is not there, or several bear its name.
    """
    if given is not None:
        require_columns(frame, (given,), "name the column of amounts: amount='…'")
        require_one(frame, given, "amount")
        return given
    for label in (terms_of(frame, prefix).get("amount"), "amount"):
        if isinstance(label, str | int) and sum(label == name for name in frame.columns) == 1:
            return label
    return None


def sales_of(frame: pd.DataFrame, prefix: str, amount: Hashable | None = None) -> Money:
    """Each row's sale with its delivery charge, as far as the columns are known; else missing."""
    label = amount_label(frame, prefix, amount)
    goods = money(frame, label) if label is not None else _nothing(frame)
    delivery = shipping_of_rows(frame, prefix)
    return Money(goods.cents + np.where(goods.missing, 0, delivery), goods.missing)


def shipping_of_rows(frame: pd.DataFrame, prefix: str) -> np.ndarray:
    """Each row's delivery charge in cents; 0 where there is none, or it is not known any more."""
    said = terms_of(frame, prefix).get("shipping")
    cents = np.zeros(len(frame), np.int64)
    if not isinstance(said, str | int):
        return cents
    if is_label(frame, said):
        return money(frame, said).cents
    with contextlib.suppress(ValueError):  # the column is not in the frame any more
        cents += one_amount(said, "shipping")
    return cents


def _nothing(frame: pd.DataFrame) -> Money:
    return Money(np.zeros(len(frame), np.int64), np.ones(len(frame), bool))


def changes_since(frame: pd.DataFrame, rows: TaxedRows, prefix: str) -> tuple[str, ...]:
    """What has changed since the tax was computed and leaves its lines usable, in sentences.

    Only what the frame still tells is compared: the terms of the tax, and the columns they name.

    Raises:
        ValueError: amounts, deliveries or exemptions are not those of the tax any more.
    """
    terms = _noted(frame, prefix)
    if terms is not None:
        _refuse_other_amounts(frame, rows, terms, prefix)
    said = []
    if moved := changed_rows(frame, prefix):
        said.append(
            "Rows whose place, date or rate is not that of their lookup any more, so look them up"
            f" again: {moved:,}."
        )
    changed = ~rows.tax.missing & ~is_product(frame, rows.tax.cents, rows.taxable.cents, prefix)
    changed |= ~rows.due.missing & (rows.due.cents != rows.tax.cents)
    if edited := int(np.count_nonzero(changed)):
        said.append(
            "Rows whose tax is not the taxable amount times the rate, because one of the three was"
            f" changed since: {edited:,}."
        )
    elif terms is not None and (torn := _torn_invoices(frame, rows, terms, prefix)):
        said.append(
            "Invoices that are not whole any more (rows were dropped since): the tax of their"
            f" lines is not that of their sum, rounded once: {torn:,}."
        )
    return tuple(said)


def taxable_of_rows(frame: pd.DataFrame, prefix: str) -> Money | None:
    """What of each row is taxable on the terms of the tax, also where it has no rate.

    Delivery counts where it is not known to be untaxed. `None` where the frame does not tell.
    """
    terms = _noted(frame, prefix)
    try:
        lines = None if terms is None else read_lines(frame, terms, prefix)
    except (TypeError, ValueError):
        return None
    return None if lines is None else Money(lines.taxable, lines.inputs.given)


def is_product(
    frame: pd.DataFrame, tax: np.ndarray, taxable: np.ndarray, prefix: str
) -> np.ndarray:
    """Where a tax is less than a cent from the taxable amount times the rate (cents, int64)."""
    rates = rates_of(frame, f"{prefix}combined_rate").units
    small = (np.abs(tax) < ROOM) & (np.abs(taxable) < ROOM)
    off = np.where(small, tax, 0) * UNITS_PER_ONE - np.where(small, taxable, 0) * rates
    near: np.ndarray = small & (np.abs(off) < UNITS_PER_ONE)
    return near


def _noted(frame: pd.DataFrame, prefix: str) -> TaxTerms | None:
    """The terms that decide on the figures; `None` where the frame does not tell them."""
    noted = terms_of(frame, prefix)
    known = {field.name for field in fields(TaxTerms)} - {"nexus", "channel", "ship_from"}
    try:
        return TaxTerms(**{name: noted[name] for name in known})
    except (KeyError, TypeError, ValueError):
        return None


def _refuse_other_amounts(
    frame: pd.DataFrame, rows: TaxedRows, terms: TaxTerms, prefix: str
) -> None:
    try:
        lines = read_lines(frame, terms, prefix)
    except (TypeError, ValueError):
        return  # a column is not there any more
    given = lines.inputs.given
    before = rows.taxable.cents + rows.exempt.cents
    now = lines.goods + lines.shipping
    other = given | (before != now) | (rows.taxable.cents != lines.taxable)
    other &= ~rows.tax.missing
    count = int(np.count_nonzero(other))
    if not count:
        return
    first = int(np.argmax(other))
    figures = (
        f"sale {dollars(int(before[first]))}, taxable {dollars(int(rows.taxable.cents[first]))}"
    )
    today = (
        "not readable"
        if given[first]
        else f"sale {dollars(int(now[first]))}, taxable {dollars(int(lines.taxable[first]))}"
    )
    raise ValueError(
        f"the tax of {count:,} of {len(frame):,} rows is that of other amounts, deliveries or"
        f" exemptions than stand in the frame now (first at the index {frame.index[first]!r}:"
        f" {figures} then; {today} now); compute the tax again: df.svc.tax(…)"
    )


def _torn_invoices(frame: pd.DataFrame, rows: TaxedRows, terms: TaxTerms, prefix: str) -> int:
    """How many invoices do not add up to their tax, rounded once."""
    if terms.invoice is None:
        return 0
    try:
        codes, _ = invoice_codes(frame, terms.invoice)
    except (TypeError, ValueError):
        return 0
    taxed = np.flatnonzero(~rows.tax.missing)
    units = rates_of(frame, f"{prefix}combined_rate").units[taxed]
    products = rows.taxable.cents[taxed] * units
    codes = np.unique(codes[taxed], return_inverse=True)[1]
    expected, _ = tax_by_invoice(products, units, codes, terms.rounding)
    off = np.bincount(codes, rows.tax.cents[taxed] - expected)
    return int(np.count_nonzero(off))


def review_column(marks: Mapping[str, np.ndarray], rows: int) -> ExtensionArray:
    """A column of codes separated by "; ", in the order of `TAX_REVIEW`; missing where none."""
    bits = np.zeros(rows, np.int64)
    codes = tuple(TAX_REVIEW)
    for code, marked in marks.items():
        bits[marked] |= 1 << codes.index(code)
    there = np.flatnonzero(np.bincount(bits)).tolist()
    cells = [
        "; ".join(code for place, code in enumerate(codes) if combined >> place & 1) or None
        for combined in there
    ]
    number = np.zeros(1 << len(codes), np.int64)
    number[there] = np.arange(len(there))
    texts: ExtensionArray = pd.array(cells, dtype="str")
    return texts.take(number[bits])


def above_cap(lines: Lines, states: tuple[np.ndarray, Sequence[str]]) -> np.ndarray:
    """Which rows are above their state's cap on local tax, and are taxed by a local part."""
    local = lines.rates.units > lines.levels[0].units  # a part that is missing counts 0
    return over_cap(*states, lines.goods, local & (lines.taxable_goods != 0))


def origins(
    frame: pd.DataFrame, ship_from: Hashable, states: tuple[np.ndarray, Sequence[str]]
) -> tuple[np.ndarray, np.ndarray]:
    """Which sales stay within a state that sources by origin, and whose origin is not known there.

    Raises:
        ValueError: `ship_from` is neither a column nor a state.
    """
    codes, names = states
    sourced = of_states(codes, names, ORIGIN_SOURCED)
    if not is_label(frame, ship_from):
        code = _origin(ship_from)
        if code is None:
            raise ValueError(
                f"ship_from: {ship_from!r} is neither a column of the frame nor a US state"
            )
        return sourced & of_states(codes, names, {code}), np.zeros(len(frame), bool)
    from_codes, values = distinct_values(frame, ship_from, "ship_from")
    origin = np.array([*map(_origin, values), None], object)[from_codes]
    destination = np.array([*names, None], object)[codes]
    unknown = pd.isna(origin)
    return sourced & ~unknown & (origin == destination), sourced & unknown


def _origin(value: object) -> str | None:
    """A state's code, a word for a place that is no state, or nothing where it cannot be read."""
    code = state_code(value) if isinstance(value, str) else None
    return "elsewhere" if isinstance(code, Elsewhere) else code


class Range(NamedTuple):
    """Tax in cents, with the masks of the rows where it is not known."""

    low: np.ndarray
    high: np.ndarray
    no_low: np.ndarray
    no_high: np.ndarray


def tax_range(lines: Lines, tax: np.ndarray, rounding: Rounding) -> Range:
    """Lowest and highest tax of each row.

    Both are `tax` where one rate fits. Otherwise each is rounded for the row by itself (also where
    `tax` is rounded by invoice) and never lies inside of `tax`. Where only whether delivery is
    taxable is unknown, the low one is without delivery. Of a rate that lacks a part only the low
    one is known. Rows whose own figures cannot be read have neither.
    """
    untaxed, refused = lines.reasons.given, lines.inputs.given
    low, high = tax.copy(), tax.copy()
    bottom, top = _either(lines.low, lines.rates), _either(lines.high, lines.rates)
    no_low = (untaxed & bottom.missing) | refused
    no_high = (untaxed & top.missing) | refused | lines.partial
    several = (bottom.units != lines.rates.units) | (top.units != lines.rates.units)
    rows = np.flatnonzero((untaxed | several) & ~refused)
    if len(rows):
        without = lines.freight_unknown[rows]
        goods, delivery = lines.taxable_goods[rows], lines.taxable_shipping[rows]
        least = np.where(without, goods, goods + delivery)
        low[rows] = rounded_tax(least, bottom.units[rows], rounding)
        high[rows] = rounded_tax(goods + delivery, top.units[rows], rounding)
        sure = rows[~untaxed[rows]]
        below = lines.taxable[sure] < 0  # a refund: more is further below zero
        nearer, further = np.minimum(low[sure], tax[sure]), np.maximum(high[sure], tax[sure])
        low[sure] = np.where(below, np.maximum(low[sure], tax[sure]), nearer)
        high[sure] = np.where(below, np.minimum(high[sure], tax[sure]), further)
    return Range(low, high, no_low, no_high)


class _Bound(NamedTuple):
    units: np.ndarray
    missing: np.ndarray


def _either(bound: Rates, rates: Rates) -> _Bound:
    """The bound where there is one, else the rate itself."""
    if bound.missing.all():
        return _Bound(rates.units, rates.missing)
    units = np.where(bound.missing, rates.units, bound.units)
    return _Bound(units, bound.missing & rates.missing)
