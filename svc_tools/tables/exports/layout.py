"""The layout of an export: which column is what, and what the amounts of its rows mean."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from svc_tools.tables.roles import plain_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

PLACE_ROLES = ("state", "zip", "address", "city", "country")
"""The roles of the columns of a place."""
Zone = Literal["UTC", "offset", "seller"]
"""The time zone in which dates are written: UTC, that of the offset behind each time, or the
seller's own without saying so."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Dollars of a row: columns that are added, and others that are taken off.

    Attributes:
        plus: the columns that are added; without a value in the first one there is no amount.
        minus: discounts, or parts that a total contains, such as tax; taken off whether they are
            written with a minus or without.
        meant: what it is in words, where that differs from what the export says of its amounts.
    """

    plus: tuple[Hashable, ...]
    minus: tuple[Hashable, ...] = ()
    meant: str = ""

    @property
    def all(self) -> tuple[Hashable, ...]:
        """The columns that are added and taken off."""
        return (*self.plus, *self.minus)

    def __str__(self) -> str:
        """The columns with their signs, such as 'item-price' - 'item-promotion-discount'."""
        added = " + ".join(map(repr, self.plus))
        return added + "".join(f" - {name!r}" for name in self.minus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The columns of a single line (item) of an order; of each the first one that there is counts.

    Attributes:
        price: the price of one piece.
        quantity: how many pieces.
        discount: the discount of the line.
        total: what the line comes to, after its discount.
        taxable: whether the line is taxable, as words or as true and false.
        name: what was sold.
        shared: a discount of the whole order, which its lines share by their prices.
    """

    price: tuple[str, ...] = ()
    quantity: tuple[str, ...] = ()
    discount: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    taxable: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    def by_part(self) -> dict[str, tuple[str, ...]]:
        """The names of the columns by what they hold."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def money(self) -> tuple[str, ...]:
        """The names of the columns of dollars."""
        return (*self.price, *self.discount, *self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One layout of an export.

    Attributes:
        name: whose export it is, as its users call it.
        known_by: columns that together no other export has.
        unlike: columns that this export never has: with one of them it is another one.
        columns: the columns of each role, the first one that there is counts. Roles: those of the
            place (`state`, `zip`, `address`, `city`, `country`), `as_of` (date of the sale),
            `order` (its number), `channel`, `currency`, and what is only compared or counted:
            `collected` (tax), `refunded`, `total`.
        billing: columns of the place that count for rows of which all columns of the place are
            empty: an address to which nothing is shipped.
        amount: what goods cost, after discounts and before delivery and tax; the first sum of which
            all columns are there counts.
        shipping: delivery that is charged separately; as `amount`.
        once: whether the amounts are those of the whole order and count on its first row only:
            further rows of an order add nothing, and what is empty in their place and date is that
            of the row above.
        head: columns of the item, all of them empty in the first row of an order of several rows:
            the amounts of that row are the sums of those of the others, which count nothing.
        lines: the columns of a line of the order, also where `once` is true.
        of_order: further columns of dollars that are the whole order's where `once` is true.
        of_line: further columns of dollars that are the line's where `once` is true.
        in_total: columns that the total contains besides amount, delivery and `collected`.
        signed: the column whose sign the amounts of a row have: all are taken off where it is
            negative, also those that are written without a minus.
        sale: words (in small letters) by column with which a row is a sale, where a file has rows
            of other kinds, which are none.
        refund: words by column with which a row is a refund, with a negative amount.
        no_sale: words by column with which a row is no sale; `None` where any word is one.
        refunded: words by column with which a sale was refunded, where no column says how much.
        delivery: words by column with which a row is a charge for delivery instead of goods.
        month_first: whether 03/04/2026 is March 4; `None` where no date is written so, or where it
            depends on the seller: then the dates of the file decide.
        zone: the time zone in which dates are written.
        marketplace: whether every sale is a marketplace's, which collects and remits the tax.
        report: whether a title may stand above the names of the columns, and headings and totals
            among the rows: what has no date is no row then.
        amounts: what the amount is, in words.
        note: what is not certain, or what to mind.
        seen: the kind of public place in which the layout was seen.
    """

    name: str
    known_by: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    amount: tuple[Sum, ...]
    unlike: tuple[str, ...] = ()
    shipping: tuple[Sum, ...] = ()
    billing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    once: bool = False
    head: tuple[str, ...] = ()
    lines: Lines = field(default_factory=Lines)
    of_order: tuple[str, ...] = ()
    of_line: tuple[str, ...] = ()
    in_total: tuple[str, ...] = ()
    signed: str = ""
    sale: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refund: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    no_sale: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    refunded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    delivery: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    month_first: bool | None = None
    zone: Zone = "seller"
    marketplace: bool = False
    report: bool = False
    amounts: str = ""
    note: str = ""
    seen: str = ""

    def fits(self, names: AbstractSet[str]) -> bool:
        """Whether a table whose columns have these plain names may be this export."""
        return names >= {*self.known_by} and names.isdisjoint(self.unlike)

    def found(self, columns: Iterable[Hashable]) -> dict[str, Hashable]:
        """The column of each role among these.

        Without any column of the place to which was shipped, the place is the other one.
        """
        known = by_name(columns)
        found = _first(self.columns, known)
        return found if found.keys() & {*PLACE_ROLES} else found | _first(self.billing, known)

    def found_billing(self, columns: Iterable[Hashable]) -> dict[str, Hashable]:
        """The column of each role of the other place among these."""
        return _first(self.billing, by_name(columns))

    def found_lines(self, columns: Iterable[Hashable]) -> dict[str, Hashable]:
        """The columns of a line of the order among these, by what they hold."""
        return _first(self.lines.by_part(), by_name(columns))

    def used(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns among these that tell the export, or that it is read from."""
        known = by_name(columns)
        several = (*self.columns.values(), *self.billing.values(), self.known_by, self.in_total)
        names = {name for names in several for name in names}
        names |= {
            *map(str, (name for summed in (*self.amount, *self.shipping) for name in summed.all))
        }
        names |= {*self.no_sale, *self.delivery, *self.sale, *self.refund, *self.refunded}
        return [label for name, label in known.items() if name in {*names, self.signed, *self.head}]

    def known(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns among these of which the export knows what they are, used or not."""
        several = (*self.lines.by_part().values(), self.of_order, self.of_line)
        names = {name for names in several for name in names}
        used = {*self.used(columns)}
        return [label for name, label in by_name(columns).items() if name in names or label in used]

    def found_words(
        self, columns: Iterable[Hashable]
    ) -> tuple[dict[Hashable, tuple[str, ...] | None], dict[Hashable, tuple[str, ...]]]:
        """The words of `no_sale` and of `delivery` by the columns that are among these."""
        known = by_name(columns)
        no_sale = {known[name]: words for name, words in self.no_sale.items() if name in known}
        return no_sale, _by_label(self.delivery, known)

    def found_kinds(
        self, columns: Iterable[Hashable]
    ) -> tuple[dict[Hashable, tuple[str, ...]], dict[Hashable, tuple[str, ...]]]:
        """The words of `sale` and of `refund` by the columns that are among these."""
        known = by_name(columns)
        return _by_label(self.sale, known), _by_label(self.refund, known)

    def found_refunded(self, columns: Iterable[Hashable]) -> dict[Hashable, tuple[str, ...]]:
        """The words of `refunded` by the columns that are among these."""
        return _by_label(self.refunded, by_name(columns))

    def found_signed(self, columns: Iterable[Hashable]) -> Hashable | None:
        """The column whose sign the amounts have; `None` where they have their own."""
        return by_name(columns).get(self.signed)

    def found_head(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns among these that are empty in a first row that is the sum of the others."""
        known = by_name(columns)
        return [known[name] for name in self.head if name in known]

    def found_in_total(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns among these that the total contains besides the usual parts."""
        known = by_name(columns)
        return [known[name] for name in self.in_total if name in known]

    def of_orders(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns of dollars among these that are the whole order's, and count once."""
        if not self.once:
            return []
        sums = (name for summed in (*self.amount, *self.shipping) for name in summed.all)
        roles = (
            name
            for role in ("collected", "refunded", "total")
            for name in self.columns.get(role, ())
        )
        names = {*map(str, sums), *roles, *self.in_total, *self.of_order}
        names -= {*self.lines.money, *self.of_line}
        return [label for name, label in by_name(columns).items() if name in names]

    def of_lines(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns of dollars among these that are the line's, where others are the order's."""
        names = {*self.lines.money, *self.of_line} if self.once else set()
        return [label for name, label in by_name(columns).items() if name in names]

    def found_amount(self, columns: Iterable[Hashable]) -> Sum | None:
        """The columns of the amount among these; `None` where they are not there."""
        return _sum(self.amount, by_name(columns))

    def amounts_among(self, columns: Iterable[Hashable]) -> str:
        """What the amount is in words, with the columns that are there.

        A column that is missing cannot be added or taken off, and is named.
        """
        known = by_name(columns)
        found = _sum(self.amount, known)
        if found is None or found.meant:
            return self.amounts if found is None else found.meant
        whole = self.amount[0]
        texts = [
            f"the file lacks {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'}"
            f" otherwise {what}"
            for names, what in ((whole.plus, "added"), (whole.minus, "taken off"))
            if (missing := [_shown(name) for name in names if name not in known])
        ]
        return "; ".join(texts) or self.amounts

    def found_shipping(self, columns: Iterable[Hashable]) -> Sum | None:
        """The columns of the delivery among these; `None` where they are not there."""
        return _sum(self.shipping, by_name(columns))


def _shown(name: Hashable) -> str:
    """A plain name as headings are written: 'Cart Discount Amount'."""
    return repr(" ".join(word.capitalize() for word in str(name).split("_")))


def by_name(columns: Iterable[Hashable]) -> dict[str, Hashable]:
    """The columns by their plain names; without names that several have."""
    named = [(plain_name(label), label) for label in columns]
    several = Counter(name for name, _ in named)
    return {name: label for name, label in named if several[name] == 1}


def _first(
    columns: Mapping[str, tuple[str, ...]], known: Mapping[str, Hashable]
) -> dict[str, Hashable]:
    there = {
        role: [known[name] for name in names if name in known] for role, names in columns.items()
    }
    return {role: labels[0] for role, labels in there.items() if labels}


def _sum(sums: tuple[Sum, ...], known: Mapping[str, Hashable]) -> Sum | None:
    for candidate in sums:
        if known.keys() >= {*candidate.all}:
            return Sum(
                tuple(known[str(name)] for name in candidate.plus),
                tuple(known[str(name)] for name in candidate.minus),
                candidate.meant,
            )
    return None


def _by_label(
    words: Mapping[str, tuple[str, ...]], known: Mapping[str, Hashable]
) -> dict[Hashable, tuple[str, ...]]:
    return {known[name]: of for name, of in words.items() if name in known}
