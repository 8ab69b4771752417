"""Where a tax finds its amounts: as named, as an export has them, or as the file itself proves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from svc_tools.exports import recognized
from svc_tools.frames.lookup.reading import Reading, reading_of_export
from svc_tools.roles import ColumnAmbiguous, Role

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.options import TaxOptions

_AMOUNT = Role(
    "amount",
    re.compile(
        r"amount|(?:order|line|item|invoice|sales?|net|taxable)_amount|(?:order_|line_|item_)?sub_?total"
        r"|net_sales?|extended_price"
    ),
)
"""The usual names of amounts before tax; not those that may contain tax, or be the price of one."""


@dataclass(frozen=True, slots=True)
class AmountsOfTax:
    """Where a tax finds its amounts.

    Attributes:
        terms: the terms, with the channel of the export.
        reading: what the columns mean; without sums where the amount is used as it stands.
        notes: what was decided, in sentences.
    """

    terms: TaxOptions
    reading: Reading = field(default_factory=Reading)
    notes: tuple[str, ...] = ()

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


def amounts_of_tax(labels: Sequence[Hashable], terms: TaxOptions) -> AmountsOfTax:
    """Where a tax finds its amounts among columns: as named, else as the export has them.

    Without either, the amount is the column `amount`, or the only one with a usual name. A column
    `amount` beside those of an export was added by the user, and counts.

    Raises:
        ValueError: several columns have a usual name of the amount.
    """
    plain = replace(
        terms,
        shipping=_unless_off(terms.shipping),
        channel=_unless_off(terms.channel),
        invoice=_unless_off(terms.invoice),
    )
    export = recognized(labels)
    reading = Reading() if export is None else reading_of_export(export, labels)
    own = export is not None and "amount" in labels and "amount" not in export.used(labels)
    if own and terms.amount is None:  # a column that the user added
        terms, plain = replace(terms, amount="amount"), replace(plain, amount="amount")
    if export is None or reading.sums is None or _is_value(terms.amount, labels):
        named = _usual_amount(labels) if terms.amount is None else terms.amount
        return AmountsOfTax(replace(plain, amount=named))
    delivery = False if _is_value(terms.shipping, labels) else terms.shipping
    reading = reading.with_amounts(terms.amount, delivery)
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


def _unless_off(given: Hashable | None) -> Hashable | None:
    """What is given; `None` for `False`."""
    return None if given is False else given


def _is_value(given: Hashable | None, labels: Sequence[Hashable]) -> bool:
    """Whether something else than a column is given."""
    return given is not None and (given is False or given not in labels)


def _usual_amount(labels: Sequence[Hashable]) -> Hashable:
    """The column of amounts by its usual name; `amount` where there is none."""
    found = _AMOUNT.candidates(labels)
    if "amount" in found or not found:
        return "amount"
    if len(found) > 1:
        raise ColumnAmbiguous("amount", found, "say which one with amount='…'")
    return found[0]
