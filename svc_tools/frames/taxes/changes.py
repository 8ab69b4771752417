"""Whether a tax still is that of its frame: rows and figures may have changed since."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.changed import changed_rows
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.taxes.invoices import invoice_codes, tax_by_invoice
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.tax_lines import read_lines
from svc_tools.frames.taxes.tax_terms import TaxTerms, terms_of
from svc_tools.frames.totals import Money, dollars

if TYPE_CHECKING:
    import pandas as pd

    from svc_tools.frames.taxes.taxed_rows import TaxedRows

__all__ = ["changes_since", "is_product", "taxable_of_rows"]


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
