"""What the columns of a sales file mean: which rows are sales, and what their amounts are.

A recognized export fills a `Reading` from its table; any other file by names and by what its
columns hold.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from svc_tools.frames.orders.currencies import CurrencyColumns, heading_currency
from svc_tools.frames.orders.order_lines import LineColumns
from svc_tools.frames.orders.order_numbers import OrderColumns, order_rows
from svc_tools.frames.orders.row_kinds import KindColumn, KindColumns
from svc_tools.frames.orders.sums import Sums, Term
from svc_tools.tables.exports import PLACE_ROLES, named_export

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import pandas as pd

    from svc_tools.frames.values.decimal_marks import Mark
    from svc_tools.lookup.options import DecimalMark, RefundsAs
    from svc_tools.tables.exports import Export, Sum


@dataclass(frozen=True, slots=True)
class Reading:
    """What the columns of a sales file mean.

    Attributes:
        export: the export that the columns were recognized as.
        orders: the columns that say which order a row belongs to; without a number each row is
            a sale.
        place: the column of each role of the place.
        billing: that of the place where nothing is shipped.
        no_sale: by column the words (in small letters) with which a row is no sale; `None` where
            any word is one.
        sale: by column the words with which a row is a sale, where a file has rows that are none.
        refund: by column the words with which a row is a refund, with a negative amount.
        charges: by column the words with which a row is a charge for delivery.
        signed: the column whose sign the amounts of a row have.
        refunded_by: by column the words with which a sale was refunded, without saying how much.
        items: columns of the item, empty in the first row of an order, which has the sums of the
            others.
        kinds: the columns of a status or a type that say which rows are sales.
        currencies: the column of currencies; `None` while it was not looked for.
        country: the column of countries.
        refunded: a column of refunds that stand only as a sum of the order.
        once: the amounts of a whole order, by which its further rows are known.
        of_order: all columns of the whole order: those, and those that are only compared.
        sums: what goods, delivery, tax and total are; `None` while that is not decided.
        marks: how columns of money are written that have no decimal point.
        refunds: what refunds written with a positive amount are.
        lines: the columns of the lines, where they say what is not taxable or no sale.
        decimal: the decimal mark that columns of money show, or that the user named; `None` where
            no cell depends on it.
        weak: parts that hardly a row proves: rows in which they are not 0 are to check.
        meant: what the amount is, in words.
    """

    export: Export | None = None
    orders: OrderColumns = field(default_factory=OrderColumns)
    place: Mapping[str, Hashable] = field(default_factory=dict)
    billing: Mapping[str, Hashable] = field(default_factory=dict)
    no_sale: Mapping[Hashable, tuple[str, ...] | None] = field(default_factory=dict)
    sale: Mapping[Hashable, tuple[str, ...]] = field(default_factory=dict)
    refund: Mapping[Hashable, tuple[str, ...]] = field(default_factory=dict)
    charges: Mapping[Hashable, tuple[str, ...]] = field(default_factory=dict)
    signed: Hashable | None = None
    refunded_by: Mapping[Hashable, tuple[str, ...]] = field(default_factory=dict)
    items: tuple[Hashable, ...] = ()
    kinds: KindColumns = field(default_factory=KindColumns)
    currencies: CurrencyColumns | None = None
    country: Hashable | None = None
    refunded: Hashable | None = None
    once: tuple[Hashable, ...] = ()
    of_order: tuple[Hashable, ...] = ()
    sums: Sums | None = None
    marks: Mapping[Hashable, Mark] = field(default_factory=dict)
    refunds: RefundsAs | None = None
    lines: LineColumns | None = None
    decimal: DecimalMark | None = None
    weak: tuple[Hashable, ...] = ()
    meant: str = ""

    @property
    def order(self) -> Hashable | None:
        """The column of the order's number, where rows of one order belong together."""
        return self.orders.number

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns that it is read from."""
        sums, orders = self.sums, self.orders
        terms = [] if sums is None else [*sums.goods, *sums.delivery, *sums.tax, *sums.others]
        terms += [] if sums is None or sums.total is None else [sums.total]
        named = [orders.number, orders.day, self.currency, self.refunded, self.country]
        named += [*orders.place, *self.kinds.labels, *self.weak]
        named += [] if self.export is not None else [*self.no_sale, *self.charges]
        named += [] if self.lines is None else self.lines.columns
        named += [label for term in terms for label in term.columns]
        return tuple(label for label in dict.fromkeys(named) if label is not None)

    @property
    def of_whole_orders(self) -> bool:
        """Whether the amount is that of the whole order, not of each row."""
        return self.sums is not None and any(term.once or term.head for term in self.sums.goods)

    @property
    def currency(self) -> Hashable | None:
        """The column of the currency."""
        return self.currencies_or_none.used

    @property
    def currencies_or_none(self) -> CurrencyColumns:
        """The column of the currency; none where it was not looked for."""
        return self.currencies or CurrencyColumns()

    @property
    def is_plain(self) -> bool:
        """Whether the amount of each row is that of one column as it stands."""
        sums = self.sums
        if sums is None or self.export is not None:
            return False
        terms = (*sums.goods, *sums.delivery)
        abroad = any(heading_currency(term.label) not in {None, "USD"} for term in terms)
        protected = abroad or self.kinds.used or self.currency or self.marks or self.weak
        protected = protected or self.no_sale or self.charges
        alone = len(sums.goods) == 1 and len(sums.delivery) <= 1
        plain = all(not (term.once or term.head or term.times) and term.sign == 1 for term in terms)
        return alone and plain and not protected and sums.total is None

    def asks_for_order(self, frame: pd.DataFrame) -> bool:
        """Whether it matters which column is the number of the order."""
        return self.orders.question is not None and order_rows(frame, self.orders) is not None

    @property
    def total(self) -> Hashable | None:
        """The column of the total, where there is one."""
        return None if self.sums is None or self.sums.total is None else self.sums.total.label

    @property
    def contains_tax(self) -> bool:
        """Whether the amount is what is left of a column after the tax in it is taken off."""
        if self.sums is None:
            return False
        taken = {term.label for term in self.sums.goods if term.sign < 0}
        return bool(taken & {term.label for term in self.sums.tax})

    def as_plain(self) -> dict[str, Any]:
        """The reading in plain values, which JSON and TOML can hold."""
        plain = {
            "export": self.export and self.export.name,
            "orders": [self.orders.number, self.orders.day, *self.orders.place],
            **{name: getattr(self, name) for name in _LABELS},
            **{name: list(getattr(self, name)) for name in _SEVERAL},
            **{name: [[*pair] for pair in getattr(self, name).items()] for name in _SINGLE},
            **{name: _plain_words(getattr(self, name)) for name in _WORDS},
            "currency": self.currency,
            "kinds": [asdict(column) for column in self.kinds.used],
            "sums": None if self.sums is None else _plain_sums(self.sums),
            "lines": None if self.lines is None else asdict(self.lines),
            "meant": self.meant,
        }
        return {name: value for name, value in plain.items() if value not in (None, [], "")}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The reading that `as_plain` gave.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        known = {name: plain[name] for name in (*_LABELS, "meant") if name in plain}
        known |= {name: tuple(plain[name]) for name in _SEVERAL if name in plain}
        for name in (*_SINGLE, *_WORDS):
            pairs = plain.get(name, [])
            known[name] = {
                label: tuple(words) if isinstance(words, list) else words for label, words in pairs
            }
        sums, lines = plain.get("sums"), plain.get("lines")
        number, day, *places = plain.get("orders", (None, None))
        return cls(
            orders=OrderColumns(number, day, tuple(places)),
            export=named_export(plain.get("export")),
            currencies=CurrencyColumns(plain.get("currency")),
            kinds=KindColumns(tuple(KindColumn(**column) for column in plain.get("kinds", []))),
            sums=None if sums is None else _sums_from(sums),
            lines=None if lines is None else LineColumns(**lines),
            **known,
        )

    def within(self, labels: Iterable[Hashable]) -> Reading:
        """The reading without the columns that a frame no longer has; the order's number stays."""
        there = {*labels}
        orders = replace(
            self.orders,
            day=self.orders.day if self.orders.day in there else None,
            place=tuple(label for label in self.orders.place if label in there),
        )
        kinds = tuple(column for column in self.kinds.used if column.label in there)
        used = self.currencies is None or self.currency is None or self.currency in there
        return replace(
            self,
            orders=orders,
            kinds=self.kinds if kinds == self.kinds.used else KindColumns(kinds),
            currencies=self.currencies if used else CurrencyColumns(),
        )

    def term(self, label: Hashable) -> Term:
        """A column of money by itself: once for each order where it is the order's."""
        return Term(label, once=label in self.of_order)

    def in_words(self) -> tuple[str, str]:
        """The columns of goods and of delivery with their signs; empty without any."""
        if self.sums is None:
            return "", ""
        return in_words(self.sums.goods), in_words(self.sums.delivery)

    def with_sums(self, sums: Sums | None) -> Reading:
        """The reading with these sums; their columns of the whole order count once."""
        if sums is None:
            return replace(self, sums=None)
        terms = (*sums.goods, *sums.delivery, *sums.tax, *sums.others)
        terms = (*terms, *([] if sums.total is None else [sums.total]))
        once = tuple(dict.fromkeys(term.label for term in terms if term.once or term.head))
        return replace(self, sums=sums, once=once, of_order=once)

    def with_amounts(
        self, goods: Hashable | None = None, delivery: Hashable | None = None
    ) -> Reading:
        """The reading with other columns as amount or delivery; `False` for no delivery."""
        if self.sums is None:
            return self
        sums = self.sums
        if goods is not None:
            sums = replace(sums, goods=(self.term(goods),), witness="given")
        if delivery is not None:
            terms = () if delivery is False else (self.term(delivery),)
            sums = replace(sums, delivery=terms)
        return replace(self, sums=sums)


def reading_of_export(export: Export, labels: Iterable[Hashable]) -> Reading:
    """What the columns of a recognized export mean, as its table says."""
    labels = [*labels]
    found = export.found(labels)
    no_sale, charges = export.found_words(labels)
    amount, shipping = export.found_amount(labels), export.found_shipping(labels)
    once = [label for summed in (amount, shipping) if summed is not None for label in summed.all]
    sale, refund = export.found_kinds(labels)
    reading = Reading(
        export=export,
        orders=OrderColumns(found.get("order") if export.once else None, found.get("as_of")),
        place={role: found[role] for role in PLACE_ROLES if role in found},
        billing=export.found_billing(labels),
        no_sale=no_sale,
        sale=sale,
        refund=refund,
        charges=charges,
        signed=export.found_signed(labels),
        refunded_by=export.found_refunded(labels),
        items=tuple(export.found_head(labels)),
        currencies=CurrencyColumns(found.get("currency")),
        country=found.get("country"),
        refunded=found.get("refunded"),
        once=tuple(dict.fromkeys(once)) if export.once else (),
        of_order=tuple(export.of_orders(labels)),
        meant=export.amounts_among(labels),
    )
    if amount is None:
        return reading

    def terms(summed: Sum | None) -> tuple[Term, ...]:
        if summed is None:
            return ()
        added = (reading.term(label) for label in summed.plus)
        less = (replace(reading.term(label), sign=-1, either_sign=True) for label in summed.minus)
        return (*added, *less)

    sums = Sums(
        goods=terms(amount),
        delivery=terms(shipping),
        tax=(reading.term(found["collected"]),) if "collected" in found else (),
        others=tuple(map(reading.term, export.found_in_total(labels))),
        total=reading.term(found["total"]) if "total" in found else None,
        witness="export",
    )
    return replace(reading, sums=sums)


def lines_of_export(
    export: Export, labels: Iterable[Hashable], *, taxable: bool = True
) -> LineColumns | None:
    """The columns of an export's lines, where they say what is not taxable or no sale.

    Args:
        export: the export.
        labels: the columns of the table.
        taxable: whether its own mark of taxable lines counts.
    """
    found = export.found_lines(labels)
    lines = LineColumns(**{part: found[part] for part in found if taxable or part != "taxable"})
    of_rows = not export.once or not ({"price", "total"}.isdisjoint(found))
    return lines if lines.decide and (of_rows or lines.taxable is not None) else None


def in_words(terms: Sequence[Term], *, quoted: bool = True) -> str:
    """Columns with their signs, such as 'Subtotal' - 'Discount'."""
    shown = repr if quoted else str
    text = ""
    for term in terms:
        joined = (" - " if text else "-") if term.sign < 0 else (" + " if text else "")
        times = "" if term.times is None else f" x {shown(term.times)}"
        text += f"{joined}{shown(term.label)}{times}"
    return text


_LABELS = ("country", "refunded", "signed", "refunds", "decimal")
_SEVERAL = ("once", "of_order", "items", "weak")
_SINGLE = ("place", "billing", "marks")
_WORDS = ("no_sale", "sale", "refund", "charges", "refunded_by")
"""By role or column: one value each, and several words each."""


def _plain_words(words: Mapping[Hashable, tuple[str, ...] | None]) -> list[list[Any]]:
    """Words by column, with lists for tuples, as they are read from a file: the two are equal."""
    return [[label, None if some is None else [*some]] for label, some in words.items()]


def _plain_sums(sums: Sums) -> dict[str, Any]:
    """Sums, likewise."""
    return {
        name: [*value] if isinstance(value, tuple) else value
        for name, value in asdict(sums).items()
    }


def _sums_from(plain: Mapping[str, Any]) -> Sums:
    parts: dict[str, Any] = {
        name: tuple(Term(**term) for term in plain.get(name, []))
        for name in ("goods", "delivery", "tax", "others", "outside")
    }
    if plain.get("total") is not None:
        parts["total"] = Term(**plain["total"])
    return Sums(**parts, by_order=plain["by_order"], witness=plain["witness"])
