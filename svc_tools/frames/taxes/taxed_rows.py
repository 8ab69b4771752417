"""The rows of a taxed frame in whole cents: their tax, what is due, and why a tax is missing.

A tax is read back together with its terms: `changes_since` finds rows, amounts and rates that have
changed since it was computed.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.codes import NOT_DUE
from svc_tools.frames.arrow import Coded, coded, combined, recoded
from svc_tools.frames.columns import free_labels, is_label, propose
from svc_tools.frames.freeze import changed_rows
from svc_tools.frames.lookup.deciding import require_answers
from svc_tools.frames.lookup.named import read_named, reading_with_orders
from svc_tools.frames.lookup.orders import Orders
from svc_tools.frames.lookup_columns import rates_of, require_columns, require_one, statuses_of
from svc_tools.frames.money import Money, dollars, money, one_amount
from svc_tools.frames.options import AmountOptions, TaxOptions, answers_of
from svc_tools.frames.results import reading_of
from svc_tools.frames.taxes.amounts import sample_of
from svc_tools.frames.taxes.due import terms_of
from svc_tools.frames.taxes.invoices import invoice_codes, tax_by_invoice
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.tax_lines import read_lines
from svc_tools.lookup.options import names_where
from svc_tools.roles import ColumnMissing, single
from svc_tools.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from svc_tools.frames.lookup.sale import Amounts
    from svc_tools.frames.lookup.sums import Term


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
        why: empty where a tax is due; else `no_rate:` and the status, `no_tax` (with the argument
            at fault after a colon), or `not_due:` or `due_not_known:` and the code of
            `tax_due_reason`.
    """

    tax: Money
    due: Money
    says_due: bool
    nothing_due: np.ndarray
    taxable: Money
    exempt: Money
    why: Coded


class Due(NamedTuple):
    """What the seller owes of the tax of each row.

    Attributes:
        money: `tax_due` where the frame has that column, else the tax.
        computed: whether the frame has the column.
        nothing: rows of which the seller owes no tax, for a known reason.
    """

    money: Money
    computed: bool
    nothing: np.ndarray


def due_of(frame: pd.DataFrame, prefix: str) -> Due:
    """What is due on each row of a frame; missing throughout where it has no tax."""
    computed = f"{prefix}tax_due" in frame.columns
    due = money(frame, f"{prefix}{'tax_due' if computed else 'tax'}")
    reasons = coded(frame, f"{prefix}tax_due_reason")
    return Due(due, computed, due.missing & reasons.where(NOT_DUE.__contains__))


def taxed_rows(frame: pd.DataFrame, prefix: str) -> TaxedRows:
    """Read the money of a frame that `df.svc.tax()` returned.

    Raises:
        ValueError: it has not been looked up, or has no tax, or one of their columns twice.
    """
    status = f"{prefix}lookup_status"
    require_columns(frame, (status,), "look the rates up first: df.svc.lookup()")
    names = tuple(prefix + name for name in ("tax", "tax_error", "taxable_amount", "exempt_amount"))
    require_columns(frame, names, "compute the tax first: df.svc.tax(amount='…')")
    for name in (status, *names):
        require_one(frame, name, "tax")
    tax = money(frame, names[0])
    due, says_due, nothing = due_of(frame, prefix)
    codes, cells = combined(
        [
            statuses_of(frame, prefix),
            coded(frame, names[1]),
            coded(frame, f"{prefix}tax_due_reason"),
            coded(frame, f"{prefix}tax_review"),
            Coded(np.where(tax.missing, 0, np.where(due.missing, 1, 2)), ("tax", "due", "")),
        ]
    )
    partial_used = terms_of(frame, prefix).get("partial") == "use"
    why = recoded(codes, (_why(*cell, partial_used=partial_used) for cell in cells))
    return TaxedRows(
        tax,
        due,
        says_due,
        nothing,
        money(frame, names[2]),
        money(frame, names[3]),
        why,
    )


_TOPIC = re.compile(r"([a-z_]+):")


def _why(
    status: str, error: str, due_reason: str, review: str, lacks: str, *, partial_used: bool
) -> str:
    """Why no tax is known to be due on a row, as a code."""
    if not lacks:
        return ""
    if due_reason in NOT_DUE:  # also where the tax itself is not known
        return f"not_due:{due_reason}"
    if lacks == "due":
        return f"due_not_known:{due_reason or 'no_reason'}"
    if not Status.of(status).taxed(partial_used=partial_used):
        return f"no_rate:{status}"
    if "freight_taxable_unknown" in review:
        return "no_tax:freight_taxable_unknown"
    topic = _TOPIC.match(error)
    return f"no_tax:{topic[1]}" if topic else "no_tax"


def amount_label(frame: pd.DataFrame, prefix: str, given: Hashable | None) -> Hashable | None:
    """The column of amounts: the one named, else the one the tax was computed from, else none.

    Raises:
        ValueError: the column named is missing, or several have its name.
    """
    if given is not None:
        require_columns(frame, (given,), "name the column of amounts: amount='…'")
        require_one(frame, given, "amount")
        return given
    for label in (terms_of(frame, prefix).get("amount"), f"{prefix}sale_amount", "amount"):
        if isinstance(label, str | int) and sum(label == name for name in frame.columns) == 1:
            return label
    return None


class Goods(NamedTuple):
    """The amounts of the rows of a frame, as every output reads them.

    Attributes:
        label: their column; `None` where it is not known.
        money: the amounts: once for each order where they are the order's.
    """

    label: Hashable | None
    money: Money

    def of(self, rows: np.ndarray) -> Goods:
        """Those of these rows."""
        return Goods(self.label, Money(*(one[rows] for one in self.money)))


_PLAIN = AmountOptions()


def goods_of(
    frame: pd.DataFrame,
    prefix: str,
    amount: Hashable | Goods | None = None,
    options: AmountOptions = _PLAIN,
    *,
    call: str = "tax",
) -> Goods:
    """The amounts of the rows: as the tax has read them, or a column that is named.

    Args:
        frame: the rows: all of them, as only these show which columns are the order's.
        prefix: the prefix of the lookup.
        amount: the column, or its amounts where they are read already; `None` for those of the
            tax, else of a column `amount`.
        options: how it is read.
        call: the method that takes the answers.

    Raises:
        ColumnAmbiguous: the column leaves open how it is read; it has all questions.
        ColumnMissing: there are answers, and no column of the user's that they are about.
        ValueError: the column named is missing, or several have its name.
    """
    if isinstance(amount, Goods):
        return amount
    label = amount_label(frame, prefix, amount)
    of_tax = label is None or str(label) in {
        str(terms_of(frame, prefix).get("amount")),
        f"{prefix}sale_amount",
    }
    own = free_labels(frame)
    if (of_tax or label not in own) and options == _PLAIN:
        return Goods(label, money(frame, label))
    if label not in own:
        raise ColumnMissing("amount", own)
    return Goods(label, column_of(frame, prefix, label, options, call=call).read.money)


def goods_of_tax(frame: pd.DataFrame, prefix: str) -> Goods:
    """The amounts of some rows of a file, as its tax has read them; else a column `amount`."""
    label = amount_label(frame, prefix, None)
    return Goods(label, money(frame, label))


class ColumnRead(NamedTuple):
    """A column of money of the user's, read as an amount of sales.

    Attributes:
        read: its amounts.
        orders: the rows with what their columns mean.
        term: whether it is that of the whole order.
        notes: how it was read, in sentences.
    """

    read: Amounts
    orders: Orders
    term: Term
    notes: tuple[str, ...]


def column_of(
    frame: pd.DataFrame,
    prefix: str,
    label: Hashable,
    options: AmountOptions,
    *,
    call: str,
    named: str = "amount",
    of_sales: bool = True,
) -> ColumnRead:
    """Read a column of money of the user's as an amount of sales.

    Args:
        frame: all rows.
        prefix: the prefix of the lookup.
        label: the column.
        options: how it is read.
        call: the method that takes the answers.
        named: what it is, for the reasons why rows have no amount.
        of_sales: whether rows that are no sale by their status have 0.

    Raises:
        ColumnAmbiguous: the column leaves open how it is read; it has all questions.
        ColumnMissing: it is that of the whole order, and no column says which one.
    """
    answers = answers_of(options)
    require_answers(frame, answers)
    every = free_labels(frame)
    once = frozenset(single(every))
    labels = [one for one in every if one in once or one == label]
    reading = reading_of(frame, prefix)
    if reading.export is None:
        known = {} if reading.place else propose(frame).found
        reading = reading_with_orders(frame, labels, reading, known, options.order).within(labels)
    sample = sample_of(frame, reading)
    found = read_named(sample, labels, reading, [label], answers, of_sales=of_sales).checked(call)
    term, reading = found.terms[label], found.reading
    if term.once and reading.order is not None and reading.order not in frame.columns:
        advice = f"{label!r} counts once for each; keep the column {reading.order!r}"
        raise ColumnMissing("order", [*frame.columns], advice)
    orders = Orders(frame, reading)
    read = orders.amounts(term, named, of_sales=of_sales, beside=found.beside)
    notes = [*found.marks]
    if reading.export is None and (term.once or term.head) and reading.order is not None:
        notes.append(f"{label!r} is that of the whole order: once for each {reading.order!r}")
    return ColumnRead(read, orders, term, tuple(notes))


def sales_of(frame: pd.DataFrame, prefix: str, amount: Hashable | Goods | None = None) -> Money:
    """Each row's sale with its delivery charge; missing where the columns are not known."""
    goods = goods_of(frame, prefix, amount).money
    delivery = shipping_of_rows(frame, prefix)
    return Money(goods.cents + np.where(goods.missing, 0, delivery), goods.missing)


def shipping_of_rows(frame: pd.DataFrame, prefix: str) -> np.ndarray:
    """Each row's delivery charge in cents; 0 where it or its column is missing."""
    shipping = terms_of(frame, prefix).get("shipping", f"{prefix}sale_shipping")
    cents = np.zeros(len(frame), np.int64)
    if not isinstance(shipping, str | int):
        return cents
    if is_label(frame, shipping):
        return money(frame, shipping).cents
    with contextlib.suppress(ValueError):  # a column that the frame no longer has
        cents += one_amount(shipping, "shipping")
    return cents


def changes_since(frame: pd.DataFrame, rows: TaxedRows, prefix: str) -> tuple[str, ...]:
    """What has changed since the tax was computed and leaves its lines usable, in sentences.

    The comparison needs the terms of the tax, and the columns that they name.

    Raises:
        ValueError: amounts, deliveries or exemptions are no longer those of the tax.
    """
    terms = _stored_terms(frame, prefix)
    if terms is not None:
        _refuse_other_amounts(frame, rows, terms)
    changes = []
    if moved := changed_rows(frame, prefix):
        changes.append(
            "Rows whose place, date or rate is not that of their lookup any more, so look them up"
            f" again: {moved:,}."
        )
    changed = ~rows.tax.missing & ~is_product(frame, rows.tax.cents, rows.taxable.cents, prefix)
    changed |= ~rows.due.missing & (rows.due.cents != rows.tax.cents)
    if edited := int(np.count_nonzero(changed)):
        changes.append(
            "Rows whose tax is not the taxable amount times the rate, because one of the three was"
            f" changed since: {edited:,}."
        )
    elif terms is not None and (torn := _torn_invoices(frame, rows, terms)):
        changes.append(
            "Invoices that are not whole any more (rows were dropped since): the tax of their"
            f" lines is not that of their sum, rounded once: {torn:,}."
        )
    return tuple(changes)


def taxable_of_rows(frame: pd.DataFrame, prefix: str) -> Money | None:
    """The taxable amount of each row under the terms of the tax, even without a rate.

    Delivery counts where it is not known to be untaxed. `None` where the terms are not known.
    """
    terms = _stored_terms(frame, prefix)
    try:
        lines = None if terms is None else read_lines(frame, terms)
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


def _stored_terms(frame: pd.DataFrame, prefix: str) -> TaxOptions | None:
    """The terms that decide the figures; `None` where they are not stored with the frame."""
    # frames of earlier versions have neither of the first two
    stored = {"taxable": None, "delivery": None, **terms_of(frame, prefix)}
    try:
        deciding = {name: stored[name] for name in names_where(TaxOptions, "figures")}
        return TaxOptions(**deciding, prefix=prefix)
    except (KeyError, TypeError, ValueError):
        return None


def _refuse_other_amounts(frame: pd.DataFrame, rows: TaxedRows, terms: TaxOptions) -> None:
    try:
        lines = read_lines(frame, terms)
    except (TypeError, ValueError):
        return  # a column is missing
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


def _torn_invoices(frame: pd.DataFrame, rows: TaxedRows, terms: TaxOptions) -> int:
    """How many invoices do not add up to their tax, rounded once."""
    if terms.invoice is None:
        return 0
    try:
        codes, _ = invoice_codes(frame, terms.invoice)
    except (TypeError, ValueError):
        return 0
    taxed = np.flatnonzero(~rows.tax.missing)
    units = rates_of(frame, f"{terms.prefix}combined_rate").units[taxed]
    products = rows.taxable.cents[taxed] * units
    codes = np.unique(codes[taxed], return_inverse=True)[1]
    expected, _ = tax_by_invoice(products, units, codes, terms.rounding)
    off = np.bincount(codes, rows.tax.cents[taxed] - expected)
    return int(np.count_nonzero(off))
