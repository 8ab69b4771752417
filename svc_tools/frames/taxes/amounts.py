"""Where a tax finds its amounts: as named, as an export has them, or as the file itself proves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.exports import recognized
from svc_tools.frames.lookup.deciding import (
    MOST_ROWS,
    RatesOfRows,
    SalesAnswers,
    money_of_file,
    rows_of_file,
)
from svc_tools.frames.lookup.orders import Orders
from svc_tools.frames.lookup.reading import Reading, in_words, reading_of_export
from svc_tools.frames.lookup.sums import Answers
from svc_tools.frames.lookup_columns import rates_of
from svc_tools.frames.taxes.tax_lines import freight_of
from svc_tools.questions import Question
from svc_tools.roles import ColumnAmbiguous, ColumnMissing

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd

    from svc_tools.exports import Export
    from svc_tools.frames.lookup.deciding import Decided
    from svc_tools.frames.lookup.orders import Counts
    from svc_tools.frames.options import TaxOptions


@dataclass(frozen=True, slots=True)
class AmountsOfTax:
    """Where a tax finds its amounts.

    Attributes:
        terms: the terms, with the channel of the export.
        reading: what the columns mean; without sums where the amount is used as it stands.
        notes: what was decided, in sentences.
        waits: whether the rates, which are not known yet, may decide otherwise.
    """

    terms: TaxOptions
    reading: Reading = field(default_factory=Reading)
    notes: tuple[str, ...] = ()
    waits: bool = False

    @property
    def computed(self) -> bool:
        """Whether the amounts are computed from columns, and stand in columns of their own."""
        return self.reading.sums is not None

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns of money that are read."""
        sums = self.reading.sums
        if sums is None:
            return tuple(one for one in (self.terms.amount, self.terms.shipping) if one is not None)
        terms = (*sums.goods, *sums.delivery)
        return tuple(dict.fromkeys(label for term in terms for label in term.columns))

    def under(self, terms: TaxOptions) -> AmountsOfTax:
        """The same amounts under other terms."""
        mine = {name: getattr(self.terms, name) for name in _FOUND}
        return replace(self, terms=replace(terms, **mine))

    def terms_with(self, columns: Mapping[str, str]) -> TaxOptions:
        """The terms, with the columns that are added for the sale instead of the file's own."""
        return replace(
            self.terms,
            amount=columns.get("sale_amount", self.terms.amount),
            shipping=columns.get("sale_shipping", self.terms.shipping),
        )


_FOUND = ("amount", "shipping", "channel", "invoice")
_OFF_AT_MOST = 0.1
"""The share of the rows that may not add up where the sums decide."""
_OTHERS = ("exempt", "taxable", "invoice", "channel", "ship_from")


def amounts_of_tax(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    terms: TaxOptions,
    reading: Reading | None = None,
    rates: RatesOfRows | None = None,
    *,
    final: bool = True,
    semicolons: bool = False,
) -> AmountsOfTax:
    """Where a tax finds its amounts: as named, else as the export has them, else as they prove.

    A column `amount` that was added to an export counts before those of the export.

    Args:
        frame: the rows, or some of them: whole orders.
        labels: the columns that are the user's own.
        terms: the arguments of the tax.
        reading: which rows are sales, as a lookup has read it.
        rates: the rates of the rows, where they are known.
        final: whether no more will be known of the rates.
        semicolons: whether semicolons separate the cells of the file.

    Raises:
        ColumnAmbiguous: the columns leave open what the amounts are; it has all questions.
        ColumnMissing: no column holds amounts.
    """
    plain = replace(
        terms,
        shipping=_unless_off(terms.shipping),
        channel=_unless_off(terms.channel),
        invoice=_unless_off(terms.invoice),
    )
    if _is_value(terms.amount, labels):
        return AmountsOfTax(plain)  # refused by the tax, which says what is expected
    export = recognized(labels)
    if export is not None and export.found_amount(labels) is not None:
        return _of_export(export, labels, terms, plain)
    if reading is None or reading.export is not None:
        reading = rows_of_file(frame, labels, {}, order=terms.order)
    answers = _answers(terms, labels)
    decided = money_of_file(
        frame, labels, reading, answers, rates=rates, final=final, semicolons=semicolons
    )
    return _as_decided(decided, labels, plain)


def _of_export(
    export: Export, labels: Sequence[Hashable], terms: TaxOptions, plain: TaxOptions
) -> AmountsOfTax:
    """The amounts of a recognized export, as its table says, or as they are named."""
    reading = reading_of_export(export, labels)
    if terms.amount is None and "amount" in labels and "amount" not in export.used(labels):
        terms, plain = replace(terms, amount="amount"), replace(plain, amount="amount")
    delivery = False if _is_value(terms.shipping, labels) else terms.shipping
    reading = replace(reading.with_amounts(terms.amount, delivery), refunds=terms.refunds)
    if terms.channel is None:
        of_sales = "marketplace" if export.marketplace else export.found(labels).get("channel")
        plain = replace(plain, channel=of_sales)
    goods, shipping = reading.in_words()
    parts = f"amount from {goods} ({export.amounts})" if terms.amount is None else f"amount {goods}"
    parts += f", delivery from {shipping}" if shipping else ""
    notes = [f"{export.name}: {parts}"]
    if export.marketplace and terms.channel is None:
        notes.append(f"{export.name}: the marketplace collects and remits the tax, so none is due")
    return AmountsOfTax(plain, reading, tuple(notes))


def _answers(terms: TaxOptions, labels: Sequence[Hashable]) -> SalesAnswers:
    """What the arguments of a tax say of a file of sales."""
    return SalesAnswers(
        amount=terms.amount,
        shipping=False if _is_value(terms.shipping, labels) else terms.shipping,
        order=terms.order,
        currency=terms.currency,
        refunds=terms.refunds,
        decimal=terms.decimal,
        money=Answers(
            once=None if terms.once is None else tuple(terms.once or ()) or False,
            contains_tax=terms.contains_tax,
            contains_shipping=terms.contains_shipping,
            parts=terms.parts or {},
        ),
        others=tuple(one for name in _OTHERS if (one := getattr(terms, name)) in labels),
    )


def _as_decided(decided: Decided, labels: Sequence[Hashable], plain: TaxOptions) -> AmountsOfTax:
    """The amounts of a file that is no known export."""
    if decided.questions:
        raise ColumnAmbiguous.of(decided.questions, call="tax")
    sums = decided.reading.sums
    if sums is None:
        raise ColumnMissing("amount", [*labels], "name the column of amounts: amount='…'")
    if decided.reading.is_plain:
        named = sums.delivery[0].label if sums.delivery else plain.shipping
        plain = replace(plain, amount=sums.goods[0].label, shipping=named)
        reading = replace(decided.reading, sums=None)
        return AmountsOfTax(plain, reading, decided.notes, decided.waits)
    return AmountsOfTax(plain, decided.reading, decided.notes, decided.waits)


def refuse_if_open(counts: Counts, reading: Reading, *, call: str = "tax") -> None:
    """Refuse what the rows that decided did not show, and the whole file does.

    Args:
        counts: what was counted of all rows.
        reading: what their columns mean.
        call: the method that takes the answers.

    Raises:
        ColumnAmbiguous: more than a tenth of the rows do not add up, or there are refunds that are
            written with a positive amount.
    """
    sums, asked = reading.sums, list[Question]()
    if reading.refunds is None and (refunds := counts.kinds.question()) is not None:
        asked.append(refunds)
    off, rows = counts.rows["off"], counts.rows["counted"]
    proven = sums is not None and sums.witness == "sum"
    if sums is not None and proven and off > _OFF_AT_MOST * rows:
        why = (
            f"{in_words(sums.goods)} and the other columns add up to {reading.total!r} in some"
            f" rows, and not in {off:,} of {rows:,}"
        )
        columns = (sums.goods[0].label, reading.total)
        asked.append(Question("amount", columns, columns, columns[0], why, "amount"))
    if asked:
        raise ColumnAmbiguous.of(asked, call=call)


def _unless_off(given: Hashable | None) -> Hashable | None:
    """What is given; `None` for `False`."""
    return None if given is False else given


def _is_value(given: Hashable | None, labels: Sequence[Hashable]) -> bool:
    """Whether something else than a column is given."""
    return given is not None and (given is False or given not in labels)


def sample_of(frame: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """Rows of whole orders that decide what the columns mean; all of a small frame."""
    if len(frame) <= MOST_ROWS:
        return frame
    codes = Orders(frame, reading).codes if reading.order in frame.columns else None
    if codes is None:
        return frame.iloc[np.linspace(0, len(frame) - 1, MOST_ROWS).astype(np.int64)]
    picked = np.unique(np.linspace(0, int(codes.max(initial=0)), MOST_ROWS // 4).astype(np.int64))
    rows = np.flatnonzero(np.isin(codes, picked))
    return frame.iloc[rows[: 4 * MOST_ROWS]]


def rates_known(frame: pd.DataFrame, prefix: str) -> RatesOfRows | None:
    """The rates of the rows of an enriched frame, where they are whole; `None` without a lookup."""
    rate, status = f"{prefix}combined_rate", f"{prefix}lookup_status"
    freight_column = f"{prefix}freight_taxable"
    for name in (rate, status, freight_column):
        if (frame.columns == name).sum() > 1:
            return None  # refused by the tax, which names it
    if not {rate, status} <= {*frame.columns}:
        return None
    rates = rates_of(frame, rate)
    whole = frame[status].eq("ok").fillna(value=False).to_numpy(bool)
    units = np.where(whole & ~rates.missing, rates.units, 0)
    freight = np.full(len(frame), -1, np.int64)
    if freight_column in frame.columns:
        untaxed, unknown = freight_of(frame, freight_column)
        freight = np.where(unknown, -1, np.where(untaxed, 0, 1))
    return RatesOfRows(units, freight)
