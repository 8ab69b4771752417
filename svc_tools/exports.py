"""The order exports of shops, marketplaces and payment services, as data: which column is what.

An export is recognized by its columns, whatever their case, their order and further ones. What is
found here is a default: any argument overrides it. Columns are named as `roles.plain_name` gives
them ("Shipping Zip" is `shipping_zip`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from svc_tools.countries import find_country
from svc_tools.places import state_code
from svc_tools.roles import ColumnAmbiguous, Found, is_shipped_to, plain_name, usual_places

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from svc_tools.countries import Rows

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
        minus: discounts, taken off whether they are written with a minus or without.
    """

    plus: tuple[Hashable, ...]
    minus: tuple[Hashable, ...] = ()

    @property
    def all(self) -> tuple[Hashable, ...]:
        """The columns that are added and taken off."""
        return (*self.plus, *self.minus)

    def __str__(self) -> str:
        """The columns with their signs, such as 'item-price' - 'item-promotion-discount'."""
        added = " + ".join(map(repr, self.plus))
        return added + "".join(f" - {name!r}" for name in self.minus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One layout of an export.

    Attributes:
        name: whose export it is, as its users call it.
        known_by: columns that together no other export has.
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
        no_sale: words (in small letters) by column with which a row is no sale; `None` where any
            word is one.
        delivery: words by column with which a row is a charge for delivery instead of goods.
        month_first: whether 03/04/2026 is March 4; `None` where no date is written so.
        zone: the time zone in which dates are written.
        marketplace: whether every sale is a marketplace's, which collects and remits the tax.
        report: whether a title may stand above the names of the columns, and headings and totals
            among the rows: what has no date is no row then.
        amounts: what the amount is, in words.
        note: what is not certain, or what to mind.
    """

    name: str
    known_by: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    amount: tuple[Sum, ...]
    shipping: tuple[Sum, ...] = ()
    billing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    once: bool = False
    no_sale: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    delivery: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    month_first: bool | None = None
    zone: Zone = "seller"
    marketplace: bool = False
    report: bool = False
    amounts: str = ""
    note: str = ""

    def found(self, columns: Iterable[Hashable]) -> dict[str, Hashable]:
        """The column of each role among these."""
        return _first(self.columns, _by_name(columns))

    def found_billing(self, columns: Iterable[Hashable]) -> dict[str, Hashable]:
        """The column of each role of the other place among these."""
        return _first(self.billing, _by_name(columns))

    def used(self, columns: Iterable[Hashable]) -> list[Hashable]:
        """The columns among these that tell the export, or that it is read from."""
        known = _by_name(columns)
        several = (*self.columns.values(), *self.billing.values(), self.known_by)
        names = {name for names in several for name in names}
        names |= {*map(str, (name for one in (*self.amount, *self.shipping) for name in one.all))}
        names |= {*self.no_sale, *self.delivery}
        return [label for name, label in known.items() if name in names]

    def found_words(
        self, columns: Iterable[Hashable]
    ) -> tuple[dict[Hashable, tuple[str, ...] | None], dict[Hashable, tuple[str, ...]]]:
        """The words of `no_sale` and of `delivery` by the columns that are among these."""
        known = _by_name(columns)
        no_sale = {known[name]: words for name, words in self.no_sale.items() if name in known}
        delivery = {known[name]: words for name, words in self.delivery.items() if name in known}
        return no_sale, delivery

    def found_amount(self, columns: Iterable[Hashable]) -> Sum | None:
        """The columns of the amount among these; `None` where they are not there."""
        return _sum(self.amount, _by_name(columns))

    def found_shipping(self, columns: Iterable[Hashable]) -> Sum | None:
        """The columns of the delivery among these; `None` where they are not there."""
        return _sum(self.shipping, _by_name(columns))


def recognized(columns: Iterable[Hashable]) -> Export | None:
    """The export that a table with these columns is; `None` where it is none that is known."""
    names = _by_name(columns).keys()
    return next((one for one in EXPORTS if names >= {*one.known_by}), None)


DECIDING = frozenset({"zip", "address", "city", "location", "lat"})
"""The roles of which a place needs one."""


def usual_columns(
    export: Export | None,
    free: Sequence[Hashable],
    given: Mapping[str, object] | None = None,
    *,
    sample: Callable[[Hashable], Sequence[str | None]],
    rows: Rows | None = None,
    named: Mapping[str, Hashable] | None = None,
) -> Found:
    """The columns of place and date of an export, or else of the place by their usual names.

    Args:
        export: the export that the table is, where it is one that is known.
        free: the labels to choose from.
        given: by role the value of an argument that is given; its role is not looked for.
        sample: some values of a column as text. A column named just "Region" is that of the states
            where most of its values are states.
        rows: some rows of columns, which show whether a country is that of the place.
        named: the columns among the given values, by role.
    """
    given = {role: value for role, value in (given or {}).items() if value is not None}
    known = {} if export is None else export.found(free)
    of_export = {
        role: known[role] for role in (*PLACE_ROLES, "as_of") if role in known and role not in given
    }
    found = _places(free, given, of_export, sample)
    if "country" in {**given, **of_export}:
        return found
    columns = {**_likeliest(found), **found.columns, **(named or {})}
    country = find_country(
        free, columns, sample, rows, delivered=any(map(is_shipped_to, columns.values()))
    )
    problems = (*found.problems, *([country.problem] if country.problem else []))
    # the table of an export decides which columns count
    return Found({**found.columns, **country.found}, problems, () if known else country.notes)


def _likeliest(found: Found) -> dict[str, Hashable]:
    """The likeliest column of each role that is asked."""
    asked = (one for problem in found.problems for one in problem.questions)
    return {one.role: one.columns[0] for one in asked if one.likely is not False}


def _places(
    free: Sequence[Hashable],
    given: Mapping[str, object],
    of_export: Mapping[str, Hashable],
    sample: Callable[[Hashable], Sequence[str | None]],
) -> Found:
    """The columns of the place, the country apart, and of the date of an export."""
    if DECIDING & of_export.keys():
        return Found(dict(of_export), ())
    usual = usual_places([label for label in free if label not in of_export.values()], given)
    columns = {**usual.columns, **of_export}
    shipping = any(map(is_shipped_to, columns.values()))
    if shipping or usual.problems or "state" in {**columns, **given}:
        return Found(columns, usual.problems)
    named = [label for label in free if plain_name(label) in _REGION]
    regions = [label for label in named if _are_states(sample(label))]
    if len(regions) > 1:
        return Found(columns, (ColumnAmbiguous("state", regions),))
    return Found(columns | dict(zip(["state"], regions, strict=False)), ())


_REGION = {"region", "region_code", "region_name"}


def _are_states(texts: Sequence[str | None]) -> bool:
    there = [text for text in texts if text]
    return 2 * sum(state_code(text) is not None for text in there) >= max(len(there), 1)


def named_export(name: str | None) -> Export | None:
    """The export of this name; `None` where there is none."""
    return next((one for one in EXPORTS if one.name == name), None)


_TITLE_ROWS = 12
"""The rows among which the names of a report's columns are looked for."""


def report_of(first: Sequence[Sequence[object]]) -> tuple[Export, Sequence[object]] | None:
    """The report that a file is whose first rows these are, and the row with the names.

    `None` where the names stand in the first row that is not empty, as in other files.
    """
    filled = [row for row in first[:_TITLE_ROWS] if any(map(_is_filled, row))]
    for row in filled[1:]:
        export = recognized([cell for cell in row if _is_filled(cell)])
        if export is not None and export.report:
            return export, row
    return None


def lines_of(
    rows: Iterable[Sequence[object]], export: Export, names: Sequence[object]
) -> Iterator[list[object]]:
    """The names of a report's columns, then its lines, each with the heading above it.

    The heading goes into the first column, where that has no name: it is the customer's.
    """
    grouped = not _is_filled(names[0])
    dated = [*names].index(export.found(filter(_is_filled, names))["as_of"])
    below, heading = iter(rows), None
    for row in below:
        if [*row] == [*names]:
            break
    yield ["Customer", *names[1:]] if grouped else [*names]
    for row in below:
        if len(row) > dated and _is_filled(row[dated]):
            line = [*row, *[None] * (len(names) - len(row))]
            yield [heading, *line[1:]] if grouped and not _is_filled(line[0]) else line
        elif row and _is_filled(row[0]):
            heading = row[0]


def _is_filled(cell: object) -> bool:
    return cell is not None and str(cell).strip() != ""


def _by_name(columns: Iterable[Hashable]) -> dict[str, Hashable]:
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
    for one in sums:
        if known.keys() >= {*one.all}:
            return Sum(
                tuple(known[str(name)] for name in one.plus),
                tuple(known[str(name)] for name in one.minus),
            )
    return None


def _sums(plus: str, minus: str = "") -> tuple[Sum, ...]:
    """Sums from the most columns to the fewest: the first one is needed, the others are not."""
    first, *more = plus.split()
    less = minus.split()
    shorter = [
        Sum((first, *more[:added]), tuple(less[:taken]))
        for added in range(len(more), -1, -1)
        for taken in range(len(less), -1, -1)
    ]
    return tuple(shorter)


_UNPAID = ("cancelled", "canceled", "failed", "declined", "expired", "voided")

EXPORTS: tuple[Export, ...] = (
    Export(
        name="Shopify orders",
        known_by=("financial_status", "lineitem_quantity", "subtotal"),
        columns={
            "state": ("shipping_province",),
            "zip": ("shipping_zip",),
            "address": ("shipping_address1", "shipping_street"),
            "city": ("shipping_city",),
            "country": ("shipping_country",),
            "as_of": ("created_at",),
            "order": ("name",),
            "currency": ("currency",),
            "collected": ("taxes",),
            "refunded": ("refunded_amount",),
            "total": ("total",),
        },
        amount=_sums("subtotal"),
        shipping=_sums("shipping"),
        once=True,
        no_sale={"financial_status": ("voided", "expired"), "cancelled_at": None},
        zone="offset",
        amounts="after discounts, before shipping and tax",
        note="Orders without a shipping address (in the store, digital) have no place. Tips and"
        " gift cards are part of Subtotal where they were lines of the order. Lines that are not"
        " taxable (Lineitem taxable) are not taken off.",
    ),
    Export(
        name="Amazon orders",
        known_by=("amazon_order_id", "purchase_date", "item_price"),
        columns={
            "state": ("ship_state",),
            "zip": ("ship_postal_code",),
            "address": ("ship_address_1",),
            "city": ("ship_city",),
            "country": ("ship_country",),
            "as_of": ("purchase_date",),
            "order": ("amazon_order_id",),
            "channel": ("sales_channel",),
            "currency": ("currency",),
            "collected": ("item_tax",),
        },
        amount=_sums("item_price gift_wrap_price", "item_promotion_discount"),
        shipping=_sums("shipping_price", "ship_promotion_discount"),
        no_sale={"order_status": _UNPAID, "item_status": _UNPAID},
        zone="UTC",
        amounts="the price of all pieces with gift wrap, less the promotion",
        note="All Orders and fulfilled shipments. Amazon collects and remits the tax of its own"
        " sales; those of other channels (Non-Amazon) are yours. Pending orders have no price yet."
        " Discounts are read with and without a minus.",
    ),
    Export(
        name="Stripe payments",
        known_by=("amount", "amount_refunded", "currency", "status", "fee"),
        columns={
            "state": ("shipping_address_state",),
            "zip": ("shipping_address_postal_code", "shipping_address_zip"),
            "address": ("shipping_address_line1",),
            "city": ("shipping_address_city",),
            "country": ("shipping_address_country",),
            "as_of": ("created_date_utc", "created_utc"),
            "order": ("id",),
            "currency": ("currency",),
            "refunded": ("amount_refunded",),
        },
        billing={
            "state": ("card_address_state",),
            "zip": ("card_address_zip",),
            "address": ("card_address_line1",),
            "city": ("card_address_city",),
            "country": ("card_address_country",),
        },
        amount=_sums("amount"),
        no_sale={"status": (*_UNPAID, "incomplete", "blocked", "uncaptured")},
        zone="UTC",
        amounts="what was paid: tax and delivery are in it where you charged them",
        note="The export does not say how much tax is in an amount: where you charged tax, name a"
        " column of amounts before tax.",
    ),
    Export(
        name="QuickBooks sales report",
        known_by=("transaction_type", "num", "amount"),
        columns={
            "state": ("shipping_state", "ship_state", "ship_to_state", "billing_state"),
            "zip": (
                *("shipping_zip", "ship_zip", "ship_to_zip", "shipping_zip_code"),
                *("billing_zip", "billing_zip_code"),
            ),
            "address": (
                *("shipping_address", "ship_address", "shipping_street", "ship_to_address"),
                *("billing_address", "bill_address", "billing_street"),
            ),
            "city": ("shipping_city", "ship_city", "ship_to_city", "billing_city"),
            "country": ("shipping_country", "billing_country"),
            "as_of": ("transaction_date", "date"),
            "order": ("num",),
            "currency": ("currency",),
        },
        amount=_sums("amount"),
        no_sale={
            "transaction_type": (
                *("payment", "estimate", "deposit", "transfer", "bill", "expense", "check"),
                "purchase order",
            )
        },
        delivery={
            "product_service": ("shipping", "delivery", "freight"),
            "product_service_full_name": ("shipping", "delivery", "freight"),
        },
        month_first=True,
        report=True,
        amounts="each line before tax; credit memos are negative",
        note="The reports Sales by Customer Detail and Transaction List have no address unless you"
        " add its columns (Customize, Columns): their names are not documented, so address columns"
        " are found by several usual names. Lines whose product is Shipping, Delivery or Freight"
        " are delivery.",
    ),
    Export(
        name="Etsy sold orders",
        known_by=("sale_date", "order_id", "order_value", "ship_zipcode"),
        columns={
            "state": ("ship_state",),
            "zip": ("ship_zipcode",),
            "address": ("street_1",),
            "city": ("ship_city",),
            "country": ("ship_country",),
            "as_of": ("sale_date",),
            "order": ("order_id",),
            "currency": ("currency",),
            "collected": ("sales_tax",),
            "total": ("order_total",),
        },
        amount=_sums("order_value", "discount_amount"),
        shipping=_sums("shipping", "shipping_discount"),
        no_sale={"status": _UNPAID},
        month_first=True,
        marketplace=True,
        amounts="the order value less the discount",
        note="Etsy collects and remits the tax in the states that make marketplaces do so: all of"
        " those with a sales tax. The time zone of its dates is not documented. Refunds are not"
        " in it. The export of order items is another one, and not recognized.",
    ),
    Export(
        name="WooCommerce orders",
        known_by=("order_number", "order_date", "order_total_amount", "postcode_shipping"),
        columns={
            "state": ("state_code_shipping", "state_name_shipping"),
            "zip": ("postcode_shipping",),
            "address": ("address_1_shipping", "address_1_2_shipping"),
            "city": ("city_shipping",),
            "country": ("country_code_shipping", "country_name_shipping"),
            "as_of": ("order_date",),
            "order": ("order_number",),
            "currency": ("order_currency",),
            "collected": ("order_total_tax_amount",),
            "refunded": ("order_refund_amount",),
            "total": ("order_total_amount",),
        },
        billing={
            "state": ("state_code_billing", "state_name_billing"),
            "zip": ("postcode_billing",),
            "address": ("address_1_billing", "address_1_2_billing"),
            "city": ("city_billing",),
            "country": ("country_code_billing", "country_name_billing"),
        },
        amount=_sums("order_subtotal_amount", "cart_discount_amount"),
        shipping=_sums("order_shipping_amount"),
        once=True,
        no_sale={
            "order_status": (
                *_UNPAID,
                "pending payment",
                "pending",
                "draft",
                "checkout draft",
                "trash",
            )
        },
        month_first=True,
        amounts="the subtotal less the discount, before shipping and tax",
        note="The layout of the plugin Advanced Order Export; WooCommerce itself exports no"
        " addresses. Where prices were entered with tax, the subtotal may contain it.",
    ),
    Export(
        name="WooCommerce orders (Import Export Suite)",
        known_by=("order_date", "order_subtotal", "shipping_total", "shipping_postcode"),
        columns={
            "state": ("shipping_state",),
            "zip": ("shipping_postcode",),
            "address": ("shipping_address_1",),
            "city": ("shipping_city",),
            "country": ("shipping_country",),
            "as_of": ("order_date",),
            "order": ("order_number", "order_id"),
            "currency": ("order_currency",),
            "collected": ("tax_total",),
            "total": ("order_total",),
        },
        billing={
            "state": ("billing_state",),
            "zip": ("billing_postcode",),
            "address": ("billing_address_1",),
            "city": ("billing_city",),
            "country": ("billing_country",),
        },
        amount=_sums("order_subtotal", "discount_total"),
        shipping=_sums("shipping_total"),
        once=True,
        no_sale={"status": (*_UNPAID, "pending", "draft", "checkout-draft", "trash")},
        month_first=True,
        amounts="the subtotal less the discount, before shipping and tax",
        note="Where prices were entered with tax, the subtotal may contain it.",
    ),
    Export(
        name="Square orders",
        known_by=("order", "order_date", "order_subtotal", "recipient_postal_code"),
        columns={
            "state": ("recipient_region",),
            "zip": ("recipient_postal_code",),
            "address": ("recipient_address",),
            "city": ("recipient_city",),
            "country": ("recipient_country",),
            "as_of": ("order_date",),
            "order": ("order",),
            "currency": ("currency",),
            "collected": ("order_tax_total",),
            "refunded": ("order_refunded_amount",),
            "total": ("order_total",),
        },
        amount=_sums("order_subtotal"),
        shipping=_sums("order_shipping_price"),
        once=True,
        no_sale={"fulfillment_status": _UNPAID},
        amounts="before shipping and tax",
        note="Whether Order Subtotal is before or after discounts is not documented: orders that do"
        " not add up to their total are counted. Orders picked up in the store may have the store's"
        " address, or none.",
    ),
    Export(
        name="BigCommerce orders",
        known_by=("order_id", "order_date", "subtotal_ex_tax", "shipping_zip"),
        columns={
            "state": ("shipping_state",),
            "zip": ("shipping_zip",),
            "address": ("shipping_street_1",),
            "city": ("shipping_suburb", "shipping_city"),
            "country": ("shipping_country",),
            "as_of": ("order_date",),
            "order": ("order_id",),
            "currency": ("order_currency_code",),
            "collected": ("tax_total",),
            "refunded": ("refund_amount",),
            "total": ("order_total_inc_tax",),
        },
        billing={
            "state": ("billing_state",),
            "zip": ("billing_zip",),
            "address": ("billing_street_1",),
            "city": ("billing_suburb", "billing_city"),
            "country": ("billing_country",),
        },
        amount=(
            *_sums("order_total_ex_tax", "shipping_cost_ex_tax handling_cost_ex_tax")[:1],
            *_sums("order_total_ex_tax", "shipping_cost_ex_tax")[:1],
            Sum(("subtotal_ex_tax",)),
        ),
        shipping=_sums("shipping_cost_ex_tax handling_cost_ex_tax"),
        once=True,
        no_sale={"order_status": (*_UNPAID, "incomplete", "pending")},
        month_first=True,
        amounts="the order without tax, shipping and handling, after coupons",
        note="Whether the total of an order is before or after a gift certificate or store credit"
        " (which are payments, not discounts) is not documented. Without Order Total (ex tax) the"
        " amount is Subtotal (ex tax), which is before coupons.",
    ),
)
"""Every export that is recognized; of several that fit, the first."""
