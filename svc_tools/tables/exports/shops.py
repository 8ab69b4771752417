"""The order exports of shops, marketplaces and payment services, as data: which column is what.

An export is recognized by its columns, whatever their case, their order and further ones. What is
found here is a default: any argument overrides it. Columns are named as `roles.plain_name` gives
them ("Shipping Zip" is `shipping_zip`).
"""

from __future__ import annotations

from itertools import combinations

from svc_tools.tables.exports.layout import Export, Lines, Sum


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


def _left(total: str, needed: str, optional: str = "") -> tuple[Sum, ...]:
    """What is left of a total that contains other columns: the first ones are needed."""
    further = optional.split()
    return tuple(
        Sum((total,), (*needed.split(), *some))
        for size in range(len(further), -1, -1)
        for some in combinations(further, size)
    )


_UNPAID = ("cancelled", "canceled", "failed", "declined", "expired", "voided")
_WOO_STATUS = ("order_status", "post_status", "status")

EXPORTS: tuple[Export, ...] = (
    Export(
        name="Shopify orders",
        known_by=("name", "financial_status", "lineitem_quantity", "subtotal"),
        unlike=("lineitem_variant",),
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
        lines=Lines(
            price=("lineitem_price",),
            quantity=("lineitem_quantity",),
            discount=("lineitem_discount",),
            taxable=("lineitem_taxable",),
            name=("lineitem_name",),
            shared=("discount_amount",),
        ),
        of_order=(
            *("discount_amount", "outstanding_balance", "duties"),
            *(f"tax_{number}_value" for number in range(1, 6)),
        ),
        of_line=("lineitem_compare_at_price",),
        no_sale={"financial_status": ("voided", "expired"), "cancelled_at": None},
        zone="offset",
        amounts="after discounts, before shipping and tax",
        note="Orders without a shipping address (in the store, digital) have no place. Lines that"
        " are not taxable (Lineitem taxable) are taken off; gift cards and tips, which Subtotal"
        " contains where they were lines of the order, are no sales.",
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
        lines=Lines(quantity=("quantity",), name=("product_name",)),
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
        " column of amounts before tax. Older files have no shipping address: there the place is"
        " that of the card.",
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
        lines=Lines(
            price=("sales_price",),
            quantity=("quantity", "qty"),
            total=("amount",),
            name=("product_service_full_name", "product_service"),
        ),
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
        lines=Lines(
            price=("item_cost",),
            quantity=("quantity_refund",),
            name=("item_name",),
            shared=("cart_discount_amount",),
        ),
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
        of_order=(
            *("shipping_tax_total", "fee_total", "fee_tax_total"),
            *("cart_discount", "order_discount"),
        ),
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
        lines=Lines(
            price=("item_price",),
            quantity=("item_quantity",),
            total=("item_total_price",),
            name=("item_name",),
        ),
        of_line=("item_options_total_price",),
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
            Sum(
                ("subtotal_ex_tax",),
                meant="the goods without tax, shipping and handling, before coupons: the file"
                " lacks 'Order Total (ex tax)' or 'Shipping Cost (ex tax)'",
            ),
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
    Export(
        name="Squarespace orders",
        known_by=("order_id", "financial_status", "subtotal", "lineitem_variant"),
        unlike=("lineitem_compare_at_price",),
        columns={
            "state": ("shipping_province",),
            "zip": ("shipping_zip",),
            "address": ("shipping_address1",),
            "city": ("shipping_city",),
            "country": ("shipping_country",),
            "as_of": ("created_at",),
            "order": ("order_id",),
            "currency": ("currency",),
            "collected": ("taxes",),
            "refunded": ("amount_refunded",),
            "total": ("total",),
        },
        amount=_sums("subtotal", "discount_amount"),
        shipping=_sums("shipping"),
        once=True,
        lines=Lines(
            price=("lineitem_price",),
            quantity=("lineitem_quantity",),
            taxable=("lineitem_taxable",),
            name=("lineitem_name",),
            shared=("discount_amount",),
        ),
        no_sale={"financial_status": (*_UNPAID, "pending"), "cancelled_at": None},
        month_first=True,
        zone="offset",
        amounts="the subtotal less the discount, before shipping and tax",
        note="The layout is nearly that of Shopify, but its Subtotal is before the discount. A"
        " discount may have been on the shipping: orders that do not add up to their total are"
        " counted. Orders without a shipping address have no place. Lines that are not taxable"
        " (Lineitem taxable) are taken off.",
        seen="sample files and import scripts of public repositories",
    ),
    Export(
        name="Wix orders",
        known_by=(
            *("order_number", "date_created", "total_order_quantity"),
            *("shipping_rate", "total_tax", "total"),
        ),
        columns={
            "state": ("delivery_state", "delivery_state_name"),
            "zip": ("delivery_zip_postal_code",),
            "address": ("delivery_address",),
            "city": ("delivery_city",),
            "country": ("delivery_country",),
            "as_of": ("date_created",),
            "order": ("order_number",),
            "currency": ("currency",),
            "collected": ("total_tax",),
            "refunded": ("refunded_amount",),
            "total": ("total",),
        },
        billing={
            "state": ("billing_state", "billing_state_name"),
            "zip": ("billing_zip_postal_code",),
            "address": ("billing_address",),
            "city": ("billing_city",),
            "country": ("billing_country",),
        },
        amount=_left("total", "total_tax shipping_rate"),
        shipping=_sums("shipping_rate"),
        once=True,
        lines=Lines(price=("price",), quantity=("qty",), name=("item",)),
        of_order=("gift_card_amount", "net_amount", "additional_fees"),
        of_line=("deposit_amount",),
        no_sale={
            "payment_status": _UNPAID,
            "fulfillment_status": ("cancelled", "canceled"),
        },
        month_first=True,
        amounts="the total without tax and shipping, after coupons; additional fees are in it",
        note="Orders that are not paid yet (Unpaid) count as sales. Whether the total is before or"
        " after a gift card (which is a payment, no discount) is not documented, nor whether every"
        " row of an order repeats its total; both are read.",
        seen="import scripts and tests of public repositories",
    ),
    Export(
        name="TikTok Shop orders",
        known_by=(
            "order_id",
            "sku_id",
            "order_amount",
            "taxes",
            "created_time",
            "state",
            "zipcode",
        ),
        columns={
            "state": ("state",),
            "zip": ("zipcode",),
            "address": ("address_line_1",),
            "city": ("city",),
            "country": ("country",),
            "as_of": ("created_time",),
            "order": ("order_id",),
            "collected": ("taxes",),
            "refunded": ("order_refund_amount",),
            "total": ("order_amount",),
        },
        amount=_left("order_amount", "taxes", "shipping_fee_after_discount retail_delivery_fee"),
        shipping=_sums("shipping_fee_after_discount"),
        once=True,
        lines=Lines(
            price=("sku_unit_original_price",),
            quantity=("quantity",),
            discount=("sku_seller_discount",),
            total=("sku_subtotal_after_discount",),
            name=("product_name",),
        ),
        of_order=(
            *("original_shipping_fee", "shipping_fee_seller_discount"),
            *("shipping_fee_platform_discount", "co_funded_shipping_fee_discount"),
            "payment_platform_discount",
        ),
        of_line=("sku_subtotal_before_discount", "sku_platform_discount"),
        in_total=("retail_delivery_fee",),
        no_sale={"order_status": (*_UNPAID, "unpaid", "current order status.")},
        month_first=True,
        marketplace=True,
        amounts="the order amount without taxes, shipping and the retail delivery fee",
        note="The order amount stands on the row of each SKU and counts once. It is after discounts"
        " that TikTok pays for, on which tax may be due. TikTok collects and remits the tax of its"
        " sales. The second row of a file may describe the columns: it is no sale.",
        seen="import scripts of public repositories",
    ),
    Export(
        name="eBay orders",
        known_by=("sales_record_number", "order_number", "sold_for", "ship_to_zip"),
        columns={
            "state": ("ship_to_state",),
            "zip": ("ship_to_zip",),
            "address": ("ship_to_address_1",),
            "city": ("ship_to_city",),
            "country": ("ship_to_country",),
            "as_of": ("sale_date",),
            "order": ("order_number",),
            "collected": ("e_bay_collected_tax", "ebay_collected_tax"),
            "total": ("total_price",),
        },
        amount=_sums("sold_for"),
        shipping=_sums("shipping_and_handling"),
        once=True,
        head=("item_number", "item_title"),
        lines=Lines(quantity=("quantity",), name=("item_title",)),
        in_total=("seller_collected_tax", "e_bay_collected_charges", "ebay_collected_charges"),
        month_first=True,
        marketplace=True,
        report=True,
        amounts="what the items were sold for, before shipping and tax",
        note="The place is that to which is shipped, never the buyer's or the item's. An order of"
        " several items has a first row with their sum, which counts, and a row for each of them,"
        " which does not. Whether Sold For of several pieces is the price of one is not documented:"
        " orders that do not add up to Total Price are counted. eBay collects and remits the tax."
        " Refunds are not in it.",
        seen="headers and import scripts of public repositories",
    ),
    Export(
        name="PayPal activity",
        known_by=("type", "gross", "fee", "net", "transaction_id", "sales_tax"),
        columns={
            "state": (
                "state_province_region_county_territory_prefecture_republic",
                "state_province",
            ),
            "zip": ("zip_postal_code",),
            "address": ("address_line_1",),
            "city": ("town_city",),
            "country": ("country", "country_code"),
            "as_of": ("date",),
            "order": ("transaction_id",),
            "currency": ("currency",),
            "collected": ("sales_tax",),
        },
        amount=_left("gross", "sales_tax", "shipping_and_handling_amount insurance_amount"),
        shipping=_sums("shipping_and_handling_amount insurance_amount"),
        signed="gross",
        sale={
            "type": (
                *("express checkout payment", "general payment", "website payment"),
                *("mobile payment", "subscription payment", "ebay auction payment"),
                *("direct credit card payment", "virtual terminal payment"),
                *("express checkout payment received", "mobile payment received"),
                *("web accept payment received", "shopping cart payment received"),
                *("subscription payment received", "payment received"),
            )
        },
        refund={"type": ("payment refund", "refund", "payment reversal", "chargeback")},
        no_sale={"status": (*_UNPAID, "denied", "pending", "removed")},
        amounts="what was paid, without sales tax, shipping and insurance, before the fee",
        note="Payments received and refunds count; withdrawals, fees, conversions and payments that"
        " you made yourself do not. A refund is negative on its own day. Tax that you charged but"
        " did not tell PayPal as Sales Tax is in the amount. Whether 03/04/2026 is in March or in"
        " April depends on your account.",
        seen="headers and import scripts of public repositories",
    ),
    Export(
        name="Easy Digital Downloads payments",
        known_by=("purchase_key", "amount", "tax", "zip_code"),
        columns={
            "state": ("state",),
            "zip": ("zip_code",),
            "address": ("address",),
            "city": ("city",),
            "country": ("country",),
            "as_of": ("date",),
            "order": ("id", "payment_number"),
            "collected": ("tax",),
            "total": ("amount",),
        },
        amount=_left("amount", "tax"),
        no_sale={"status": (*_UNPAID, "pending", "abandoned", "processing")},
        refunded={"status": ("refunded", "partially refunded")},
        amounts="what was paid, without the tax that is in it",
        note="The address is that of the buyer: nothing is shipped.",
        seen="the source of the plugin in public repositories",
    ),
    Export(
        name="WooCommerce orders (post meta)",
        known_by=("order_total", "order_tax", "order_shipping", "shipping_postcode"),
        columns={
            "state": ("shipping_state",),
            "zip": ("shipping_postcode",),
            "address": ("shipping_address_1",),
            "city": ("shipping_city",),
            "country": ("shipping_country",),
            "as_of": ("order_date", "post_date", "date_created", "date"),
            "order": ("order_number", "order_id", "post_id", "id"),
            "currency": ("order_currency", "currency"),
            "collected": ("order_tax",),
            "total": ("order_total",),
        },
        billing={
            "state": ("billing_state",),
            "zip": ("billing_postcode",),
            "address": ("billing_address_1",),
            "city": ("billing_city",),
            "country": ("billing_country",),
        },
        amount=_left("order_total", "order_tax order_shipping", "order_shipping_tax"),
        shipping=_sums("order_shipping"),
        once=True,
        of_order=("cart_discount", "cart_discount_tax"),
        in_total=("order_shipping_tax",),
        no_sale=dict.fromkeys(
            _WOO_STATUS,
            (*_UNPAID, "pending payment", "pending", "draft", "checkout draft", "trash"),
        ),
        refunded=dict.fromkeys(_WOO_STATUS, ("refunded",)),
        month_first=True,
        amounts="the total without tax and shipping; fees are in it",
        note="What plugins export that write the fields of an order as WordPress keeps them, such"
        " as _order_total. The tax on shipping is in _order_shipping_tax; without that column"
        " it stays in the amount.",
        seen="the source of plugins and import scripts of public repositories",
    ),
)
"""Every export that is recognized."""
