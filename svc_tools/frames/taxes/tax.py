"""Exact tax: whole cents times whole units of 10^-5, rounded in whole numbers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from svc_tools.frames.changed import changed_rows
from svc_tools.frames.enriched import (
    LEVEL_TAX_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
    require_columns,
)
from svc_tools.frames.exact import MONEY, decimals
from svc_tools.frames.notes import say
from svc_tools.frames.ownership import TAXED, without_tax
from svc_tools.frames.taxes.due import (
    Sales,
    channel_of,
    marketplace_only,
    sale_dates,
    why_not_due,
)
from svc_tools.frames.taxes.invoices import invoice_codes, tax_by_invoice
from svc_tools.frames.taxes.rounding import rounded_tax
from svc_tools.frames.taxes.shares import shared_out
from svc_tools.frames.taxes.tax_lines import Lines, read_lines, rows_of_states
from svc_tools.frames.taxes.tax_range import tax_range
from svc_tools.frames.taxes.tax_review import above_cap, origins, review_column
from svc_tools.frames.taxes.tax_terms import TaxTerms, remember

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.taxes.due import Channel

__all__ = ["TaxFailedError", "add_tax"]

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
