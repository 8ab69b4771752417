"""The rows of a taxed frame in whole cents: their tax, what is due, and why a tax is missing.

A tax is read back together with its terms: `changes_since` finds rows, amounts and rates that have
changed since it was computed.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.added.enriched import TAX_FIRST, Enriched, fact, fact_of_all
from svc_tools.frames.added.names import require_columns, require_one
from svc_tools.frames.lookup.columns import free_labels, is_label, propose
from svc_tools.frames.lookup.freeze import changed_rows
from svc_tools.frames.lookup.results import reading_of
from svc_tools.frames.options import AmountOptions, TaxOptions, answers_of
from svc_tools.frames.orders.deciding import require_answers
from svc_tools.frames.orders.named import read_named, reading_with_orders
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.taxes.amounts import sample_of
from svc_tools.frames.taxes.invoices import invoice_codes, tax_by_invoice
from svc_tools.frames.taxes.tax_lines import TaxLines, read_lines
from svc_tools.frames.values.arrow import Coded, combined, recoded
from svc_tools.frames.values.money import Money, dollars, money, one_amount
from svc_tools.frames.values.rounding import ROOM
from svc_tools.lookup.options import names_where
from svc_tools.show.codes import NOT_DUE
from svc_tools.tables.roles import ColumnMissing, single
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Hashable

    from svc_tools.frames.orders.sale import Amounts
    from svc_tools.frames.orders.sums import Term


class TaxedRows(NamedTuple):
    """The money of every row of a taxed frame.

    Attributes:
        tax: the tax at the destination.
        due: what the seller owes of it; see `Due`.
        taxable: the amount that the tax was computed on.
        exempt: the amount left untaxed.
        why: empty where a tax is due; else `no_rate:` and the status, `no_tax` (with the argument
            at fault after a colon), or `not_due:` or `due_not_known:` and the code of
            `tax_due_reason`.
    """

    tax: Money
    due: Money
    taxable: Money
    exempt: Money
    why: Coded[str]

    def at(self, rows: np.ndarray) -> TaxedRows:
        """The money of these rows."""
        tax, due, taxable, exempt = (part.at(rows) for part in self[:4])
        return TaxedRows(tax, due, taxable, exempt, self.why.at(rows))


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

    def at(self, rows: np.ndarray) -> Due:
        """What is due on these rows."""
        return Due(self.money.at(rows), self.computed, self.nothing[rows])


@fact
def due_of(rows: Enriched) -> Due:
    """What is due on each row of a frame; missing throughout where it has no tax."""
    computed = rows.has("tax_due")
    due = rows.money("tax_due" if computed else "tax")
    reasons = rows.coded("tax_due_reason")
    return Due(due, computed, due.missing & reasons.where(NOT_DUE.__contains__))


@fact
def taxed_rows(rows: Enriched) -> TaxedRows:
    """The money of a frame that `df.svc.tax()` returned.

    Raises:
        ValueError: it has not been looked up, or has no tax, or one of their columns twice.
    """
    names = ("tax", "tax_error", "taxable_amount", "exempt_amount")
    rows.require("lookup_status", argument="tax")
    rows.require(*names, remedy=TAX_FIRST, argument="tax")
    tax, due = rows.money("tax"), due_of(rows).money
    codes, cells = combined(
        [
            rows.status,
            rows.coded("tax_error"),
            rows.coded("tax_due_reason"),
            rows.coded("tax_review"),
            Coded(np.where(tax.missing, 0, np.where(due.missing, 1, 2)), ("tax", "due", "")),
        ]
    )
    partial_used = rows.terms.get("partial") == "use"
    why = recoded(codes, (_why(*cell, partial_used=partial_used) for cell in cells))
    taxable, exempt = rows.money("taxable_amount"), rows.money("exempt_amount")
    return TaxedRows(tax, due, taxable, exempt, why)


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


def amount_label(rows: Enriched, given: Hashable | None) -> Hashable | None:
    """The column of amounts: the one named, else the one the tax was computed from, else none.

    Raises:
        ValueError: the column named is missing, or several have its name.
    """
    frame = rows.frame
    if given is not None:
        require_columns(frame, (given,), "name the column of amounts: amount='…'")
        require_one(frame, given, "amount")
        return given
    for label in (rows.terms.get("amount"), rows.label("sale_amount"), "amount"):
        if isinstance(label, str | int) and sum(label == name for name in frame.columns) == 1:
            return label
    # the terms have a label that is not text in its text form
    known = rows.terms.get("amount", "amount")
    same = [label for label in frame.columns if str(label) == known]
    return same[0] if len(same) == 1 else None


class Goods(NamedTuple):
    """The amounts of the rows of a frame, as every output reads them.

    Attributes:
        label: their column; `None` where it is not known.
        money: the amounts: once for each order where they are the order's.
    """

    label: Hashable | None
    money: Money

    def at(self, rows: np.ndarray) -> Goods:
        """Those of these rows."""
        return Goods(self.label, self.money.at(rows))


_PLAIN = AmountOptions()


def goods_of(
    rows: Enriched,
    amount: Hashable | Goods | None = None,
    options: AmountOptions = _PLAIN,
    *,
    call: str = "tax",
) -> Goods:
    """The amounts of the rows: as the tax has read them, or a column that is named.

    Args:
        rows: the rows: all of them, as only these show which columns are the order's.
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
    label = amount_label(rows, amount)
    of_tax = label is None or str(label) in {
        str(rows.terms.get("amount")),
        rows.label("sale_amount"),
    }
    own = free_labels(rows.frame)
    if (of_tax or label not in own) and options == _PLAIN:
        return Goods(label, money(rows.frame, label))
    if label not in own:
        raise ColumnMissing("amount", own)
    return Goods(label, column_of(rows, label, options, call=call).read.money)


@fact
def goods_of_tax(rows: Enriched) -> Goods:
    """The amounts of some rows of a file, as its tax has read them; else a column `amount`."""
    label = amount_label(rows, None)
    return Goods(label, money(rows.frame, label))


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
    rows: Enriched,
    label: Hashable,
    options: AmountOptions,
    *,
    call: str,
    named: str = "amount",
    of_sales: bool = True,
) -> ColumnRead:
    """Read a column of money of the user's as an amount of sales.

    Args:
        rows: all rows.
        label: the column.
        options: how it is read.
        call: the method that takes the answers.
        named: what it is, for the reasons why rows have no amount.
        of_sales: whether rows that are no sale by their status have 0.

    Raises:
        ColumnAmbiguous: the column leaves open how it is read; it has all questions.
        ColumnMissing: it is that of the whole order, and no column says which one.
    """
    answers, frame = answers_of(options), rows.frame
    require_answers(frame, answers)
    every = free_labels(frame)
    once = frozenset(single(every))
    labels = [column for column in every if column in once or column == label]
    reading = reading_of(rows)
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


def sales_of(rows: Enriched, goods: Goods) -> Money:
    """Each row's sale with its delivery charge; missing where the columns are not known."""
    amounts, delivery = goods.money, shipping_of(rows).cents
    return Money(amounts.cents + np.where(amounts.missing, 0, delivery), amounts.missing)


@fact
def shipping_of(rows: Enriched) -> Money:
    """Each row's delivery charge; 0 cents where its column is missing."""
    frame, shipping = rows.frame, rows.terms.get("shipping", rows.label("sale_shipping"))
    cents = np.zeros(len(rows), np.int64)
    nothing = np.zeros(len(rows), bool)
    if not isinstance(shipping, str | int):
        return Money(cents, nothing)
    if is_label(frame, shipping):
        return money(frame, shipping)
    with contextlib.suppress(ValueError):  # a column that the frame no longer has
        cents += one_amount(shipping, "shipping")
    return Money(cents, nothing)


@fact_of_all
def changes_since(rows: Enriched) -> tuple[str, ...]:
    """What has changed since the tax was computed and leaves its lines usable, in sentences.

    The comparison needs the terms of the tax, and the columns that they name.

    Raises:
        ValueError: amounts, deliveries or exemptions are no longer those of the tax.
    """
    taxed, terms = taxed_rows(rows), _terms_of(rows)
    _refuse_other_amounts(rows)
    changes = []
    if moved := changed_rows(rows):
        changes.append(
            "Rows whose place, date or rate is not that of their lookup any more, so look them up"
            f" again: {moved:,}."
        )
    changed = ~taxed.tax.missing & ~is_product(rows, taxed.tax, taxed.taxable)
    changed |= ~taxed.due.missing & (taxed.due.cents != taxed.tax.cents)
    if edited := int(np.count_nonzero(changed)):
        changes.append(
            "Rows whose tax is not the taxable amount times the rate, because one of the three was"
            f" changed since: {edited:,}."
        )
    elif terms is not None and (torn := _torn_invoices(rows, terms)):
        changes.append(
            "Invoices that are not whole any more (rows were dropped since): the tax of their"
            f" lines is not that of their sum, rounded once: {torn:,}."
        )
    return tuple(changes)


def taxable_of_rows(rows: Enriched) -> Money | None:
    """The taxable amount of each row under the terms of the tax, even without a rate.

    Delivery counts where it is not known to be untaxed. `None` where the terms are not known.
    """
    return _taxable_of_all(rows) if rows.knows(_lines_of) else _taxable(_lines(rows))


@fact
def _taxable_of_all(rows: Enriched) -> Money | None:
    return _taxable(_lines_of(rows))


def _taxable(lines: TaxLines | None) -> Money | None:
    return None if lines is None else Money(lines.taxable, lines.inputs.given)


def is_product(rows: Enriched, tax: Money, taxable: Money) -> np.ndarray:
    """Where a tax is less than a cent from the taxable amount times the rate."""
    rates = rows.rates("combined_rate").units
    small = (np.abs(tax.cents) < ROOM) & (np.abs(taxable.cents) < ROOM)
    off = np.where(small, tax.cents, 0) * UNITS_PER_ONE
    off -= np.where(small, taxable.cents, 0) * rates
    near: np.ndarray = small & (np.abs(off) < UNITS_PER_ONE)
    return near


@fact_of_all
def _terms_of(rows: Enriched) -> TaxOptions | None:
    """The terms that decide the figures; `None` where they are not stored with the frame."""
    # frames of earlier versions have neither of the first two
    stored = {"taxable": None, "delivery": None, **rows.terms}
    try:
        deciding = {name: stored[name] for name in names_where(TaxOptions, "figures")}
        return TaxOptions(**deciding, prefix=rows.prefix)
    except (KeyError, TypeError, ValueError):
        return None


def _lines(rows: Enriched) -> TaxLines | None:
    """The rows as whole numbers, by the terms; `None` where the terms or a column are missing."""
    terms = _terms_of(rows)
    try:
        return None if terms is None else read_lines(rows, terms)
    except (TypeError, ValueError):
        return None


@fact_of_all
def _lines_of(rows: Enriched) -> TaxLines | None:
    return _lines(rows)


def _refuse_other_amounts(rows: Enriched) -> None:
    """Compare the amounts in the frame with those that the tax was computed from; changes nothing.

    Raises:
        ValueError: a row has other amounts, deliveries or exemptions now.
    """
    lines, taxed = _lines_of(rows), taxed_rows(rows)
    if lines is None:
        return
    given = lines.inputs.given
    before = taxed.taxable.cents + taxed.exempt.cents
    now = lines.goods + lines.shipping
    other = given | (before != now) | (taxed.taxable.cents != lines.taxable)
    other &= ~taxed.tax.missing
    count = int(np.count_nonzero(other))
    if not count:
        return
    first = int(np.argmax(other))
    figures = (
        f"sale {dollars(int(before[first]))}, taxable {dollars(int(taxed.taxable.cents[first]))}"
    )
    today = (
        "not readable"
        if given[first]
        else f"sale {dollars(int(now[first]))}, taxable {dollars(int(lines.taxable[first]))}"
    )
    raise ValueError(
        f"the tax of {count:,} of {len(rows):,} rows is that of other amounts, deliveries or"
        f" exemptions than stand in the frame now (first at the index {rows.frame.index[first]!r}:"
        f" {figures} then; {today} now); compute the tax again: df.svc.tax(…)"
    )


def _torn_invoices(rows: Enriched, terms: TaxOptions) -> int:
    """How many invoices do not add up to their tax, rounded once."""
    if terms.invoice is None:
        return 0
    try:
        codes, _ = invoice_codes(rows.frame, terms.invoice)
    except (TypeError, ValueError):
        return 0
    amounts = taxed_rows(rows)
    taxed = np.flatnonzero(~amounts.tax.missing)
    units = rows.rates("combined_rate").units[taxed]
    products = amounts.taxable.cents[taxed] * units
    codes = np.unique(codes[taxed], return_inverse=True)[1]
    expected, _ = tax_by_invoice(products, units, codes, terms.rounding)
    off = np.bincount(codes, amounts.tax.cents[taxed] - expected)
    return int(np.count_nonzero(off))
