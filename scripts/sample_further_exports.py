"""Samples of the exports of further shops and marketplaces, of `make_sample_exports`.

Apart from it for their length. The layouts are real, the orders are invented.
"""

# ruff: noqa: PLR2004 - which of the orders is unusual is a number

from __future__ import annotations

import csv
from itertools import islice
from typing import TYPE_CHECKING

from sample_orders import COUNTRIES, Row, dollars, grouped, orders, text

if TYPE_CHECKING:
    from collections.abc import Iterator

_FEW = 40

_SQUARESPACE = (
    "Order ID,Email,Financial Status,Paid at,Fulfillment Status,Fulfilled at,Currency,Subtotal,"
    "Shipping,Taxes,Amount Refunded,Total,Discount Code,Discount Amount,Shipping Method,Created at,"
    "Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Lineitem variant,"
    "Lineitem requires shipping,Lineitem taxable,Lineitem fulfillment status,Billing Name,"
    "Billing Address1,Billing Address2,Billing City,Billing Zip,Billing Province,Billing Country,"
    "Billing Phone,Shipping Name,Shipping Address1,Shipping Address2,Shipping City,Shipping Zip,"
    "Shipping Province,Shipping Country,Shipping Phone,Cancelled at,Private Notes,Payment Method,"
    "Payment Reference"
)


def squarespace() -> str:
    """Further rows of an order have its number and the item only; Subtotal is before discounts."""

    def rows() -> Iterator[Row]:
        for order in orders(9):
            day = order.placed.strftime("%Y-%m-%d %H:%M:%S %z")
            place = {
                f"{kind} {name}": value
                for kind in ("Billing", "Shipping")
                for name, value in {
                    "Name": f"Customer {order.customer}",
                    "Address1": order.street,
                    "City": order.city,
                    "Zip": order.zip,
                    "Province": order.state,
                    "Country": order.country,
                }.items()
            }
            whole = {
                "Email": f"customer{order.customer}@example.com",
                "Financial Status": "CANCELED" if order.cancelled else "PAID",
                "Paid at": day,
                "Fulfillment Status": "FULFILLED",
                "Currency": "USD",
                "Subtotal": dollars(order.goods),
                "Shipping": dollars(order.shipping),
                "Taxes": dollars(order.tax),
                "Amount Refunded": dollars(order.refunded),
                "Total": dollars(order.total),
                "Discount Code": "TEN" if order.discount else "",
                "Discount Amount": dollars(order.discount),
                "Shipping Method": "Flat Rate",
                "Created at": day,
                "Cancelled at": day if order.cancelled else "",
                "Payment Method": "Stripe",
                **place,
            }
            for first, (name, sku, price, pieces) in zip([True, False, False], order.items):  # noqa: B905 - up to three
                yield {
                    "Order ID": order.number,
                    "Lineitem quantity": pieces,
                    "Lineitem name": name,
                    "Lineitem price": dollars(price),
                    "Lineitem sku": sku,
                    "Lineitem requires shipping": "TRUE",
                    "Lineitem taxable": "TRUE",
                } | (whole if first else {})

    return text(_SQUARESPACE, rows(), size=_FEW)


_WIX = (
    "Order number,Date created,Time,Fulfill by,Total order quantity,Contact email,"
    "Note from customer,Additional checkout info,Item,Variant,SKU,Qty,Quantity refunded,Price,"
    "Weight,Custom text,Deposit amount,Delivery method,Delivery time,Recipient name,"
    "Recipient phone,Recipient company name,Delivery country,Delivery state,Delivery state name,"
    "Delivery city,Delivery address,Delivery zip/postal code,Billing name,Billing phone,"
    "Billing company name,Billing country,Billing state,Billing state name,Billing city,"
    "Billing address,Billing zip/postal code,Payment status,Payment method,Coupon code,"
    "Gift card amount,Shipping rate,Total tax,Total,Currency,Refunded amount,Net amount,"
    "Additional fees,Fulfillment status,Tracking number,Fulfillment service,Shipping label"
)
_THREE_LETTERS = {"US": "USA", "CA": "CAN"}


def wix() -> str:
    """The columns of an order stand on the row of each item; a download has no delivery address."""

    def rows() -> Iterator[Row]:
        for order in orders(10):
            place = {
                "country": _THREE_LETTERS[order.country],
                "state": f"{order.country}-{order.state}",
                "state name": order.state_name,
                "city": order.city,
                "address": order.street,
                "zip/postal code": order.zip,
            }
            kinds = ("Billing",) if order.number % 4 == 0 else ("Billing", "Delivery")
            for name, sku, price, pieces in order.items:
                yield {
                    "Order number": order.number,
                    "Date created": f"{order.placed:%b} {order.placed.day}, {order.placed:%Y}",
                    "Time": f"{order.placed:%I:%M:%S %p}",
                    "Total order quantity": sum(count for *_, count in order.items),
                    "Contact email": f"customer{order.customer}@example.com",
                    "Item": name,
                    "SKU": sku,
                    "Qty": pieces,
                    "Quantity refunded": 0,
                    "Price": dollars(price),
                    "Delivery method": "Standard",
                    "Billing name": f"Customer {order.customer}",
                    **{f"{kind} {key}": value for kind in kinds for key, value in place.items()},
                    "Payment status": "Voided" if order.cancelled else "Paid",
                    "Payment method": "Credit Card",
                    "Coupon code": "TEN" if order.discount else "",
                    "Gift card amount": "0.00",
                    "Shipping rate": dollars(order.shipping),
                    "Total tax": dollars(order.tax),
                    "Total": dollars(order.total),
                    "Currency": "USD",
                    "Refunded amount": dollars(order.refunded),
                    "Net amount": dollars(order.total - order.refunded),
                    "Additional fees": "0.00",
                    "Fulfillment status": "Fulfilled",
                }

    return text(_WIX, rows(), size=_FEW)


_TIKTOK = (
    "Order ID,Order Status,Order Substatus,Cancelation/Return Type,Normal or Pre-order,SKU ID,"
    "Seller SKU,Product Name,Variation,Quantity,Sku Quantity of return,SKU Unit Original Price,"
    "SKU Subtotal Before Discount,SKU Platform Discount,SKU Seller Discount,"
    "SKU Subtotal After Discount,Shipping Fee After Discount,Original Shipping Fee,"
    "Shipping Fee Seller Discount,Shipping Fee Platform Discount,Payment platform discount,"
    "Retail Delivery Fee,Taxes,Order Amount,Order Refund Amount,Created Time,Paid Time,RTS Time,"
    "Shipped Time,Delivered Time,Cancelled Time,Cancel By,Cancel Reason,Fulfillment Type,"
    "Warehouse Name,Tracking ID,Delivery Option,Shipping Provider Name,Buyer Message,"
    "Buyer Username,Recipient,Phone #,Country,State,City,Zipcode,Address Line 1,Address Line 2,"
    "Payment Method,Weight(kg),Product Category,Package ID,Seller Note"
)
_DESCRIBED = {
    "Order ID": "Platform unique order ID.",
    "Order Status": "Current order status.",
    "Quantity": "SKU sold quantity in the order.",
    "Order Amount": "Total order amount.",
    "Created Time": "Order created time.",
    "Zipcode": "Recipient zip code.",
}


def tiktok() -> str:
    """The order's columns stand on each SKU's row, cells end in tabs, the first row describes."""

    def rows() -> Iterator[Row]:
        yield _DESCRIBED
        for order in orders(11):
            day = f"{order.placed:%m/%d/%Y %I:%M:%S %p}\t"
            fee = 28 if order.state == "CO" else 0
            for place, (name, sku, price, pieces) in enumerate(order.items):
                less = order.discount if place == 0 else 0
                yield {
                    "Order ID": f"{576_460_000_000_000_000 + order.number}\t",
                    "Order Status": "Canceled" if order.cancelled else "Completed",
                    "Normal or Pre-order": "Normal",
                    "SKU ID": f"{1_729_000_000_000_000_000 + price}\t",
                    "Seller SKU": sku,
                    "Product Name": name,
                    "Quantity": pieces,
                    "Sku Quantity of return": 0,
                    "SKU Unit Original Price": dollars(price),
                    "SKU Subtotal Before Discount": dollars(price * pieces),
                    "SKU Platform Discount": "0.00",
                    "SKU Seller Discount": dollars(less),
                    "SKU Subtotal After Discount": dollars(price * pieces - less),
                    "Shipping Fee After Discount": dollars(order.shipping),
                    "Original Shipping Fee": "7.95",
                    "Retail Delivery Fee": dollars(fee),
                    "Taxes": dollars(order.tax),
                    "Order Amount": dollars(order.total + fee),
                    "Order Refund Amount": dollars(order.refunded),
                    "Created Time": day,
                    "Paid Time": day,
                    "Buyer Username": f"buyer{order.customer}",
                    "Country": COUNTRIES[order.country],
                    "State": order.state_name,
                    "City": order.city,
                    "Zipcode": order.zip,
                    "Address Line 1": order.street,
                }

    return text(_TIKTOK, rows(), size=_FEW)


_EBAY = (
    "Sales Record Number,Order Number,Buyer Username,Buyer Name,Buyer Email,Buyer Note,"
    "Buyer Address 1,Buyer Address 2,Buyer City,Buyer State,Buyer Zip,Buyer Country,Ship To Name,"
    "Ship To Phone,Ship To Address 1,Ship To Address 2,Ship To City,Ship To State,Ship To Zip,"
    "Ship To Country,Item Number,Item Title,Custom Label,Sold Via Promoted Listings,Quantity,"
    "Sold For,Shipping And Handling,Item Location,Item Zip Code,Item Country,"
    "eBay Collect And Remit Tax Rate,eBay Collect And Remit Tax Type,Tax Status,"
    "Seller Collected Tax,eBay Collected Tax,Electronic Waste Recycling Fee,Additional Fee,"
    "eBay Collected Charges,Total Price,eBay Collected Tax and Fees Included in Total,"
    "Payment Method,Sale Date,Paid On Date,Ship By Date,Shipped On Date,Feedback Left,"
    "Feedback Received,My Item Note,PayPal Transaction ID,Shipping Service,Tracking Number,"
    "Transaction ID,Variation Details,eBay Plus,Tax City,Tax State,Tax Zip,Tax Country"
)


def ebay() -> str:
    """An order of several items has a first row that is their sum, and a row for each item.

    A row of commas stands above the names and one below; the last lines count the records.
    """

    def rows() -> Iterator[Row]:
        yield {}
        for order in orders(12):
            record = 10 * order.number
            day = f"{order.placed:%b-%d-%y}"
            items = [
                {"Item Number": 200_000 + price, "Item Title": name, "Custom Label": sku}
                | {"Quantity": 1, "Sold For": f"${grouped(price)}"}
                | {"Item Zip Code": "60601", "Item Country": "US"}
                for name, sku, price, _ in order.items
            ]
            goods = sum(price for _, _, price, _ in order.items)
            tax = order.tax * goods // (order.goods - order.discount)
            whole = {
                "Buyer City": "Portland",  # not where it is shipped to
                "Buyer State": "OR",
                "Buyer Zip": "97205",
                "Buyer Country": "United States",
                "Ship To Name": f"Customer {order.customer}",
                "Ship To Address 1": order.street,
                "Ship To City": order.city,
                "Ship To State": order.state,
                "Ship To Zip": order.zip,
                "Ship To Country": COUNTRIES[order.country],
                "Quantity": len(items),
                "Sold For": f"${grouped(goods)}",
                "Shipping And Handling": f"${grouped(order.shipping)}",
                "Seller Collected Tax": "$0.00",
                "eBay Collected Tax": f"${grouped(tax)}",
                "Total Price": f"${grouped(goods + order.shipping + tax)}",
                "eBay Collected Tax and Fees Included in Total": "Yes",
                "Payment Method": "Credit Card",
                "Sale Date": day,
                "Paid On Date": day,
            }
            each = [items[0] | whole] if len(items) == 1 else [whole, *items]
            for place, row in enumerate(each):
                number = {"Sales Record Number": record + place}
                yield number | {"Order Number": f"11-{order.number:05}-{order.customer:05}"} | row

    width = _EBAY.count(",")
    table = text(_EBAY, rows(), size=_FEW + 1)
    return f"{',' * width}\n{table}\n{_FEW},record(s) downloaded\nSeller ID : sample\n"


_PAYPAL = (
    "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,"
    "To Email Address,Transaction ID,Shipping Address,Address Status,Item Title,Item ID,"
    "Shipping and Handling Amount,Insurance Amount,Sales Tax,Option 1 Name,Option 1 Value,"
    "Option 2 Name,Option 2 Value,Reference Txn ID,Invoice Number,Custom Number,Quantity,"
    "Receipt ID,Balance,Address Line 1,Address Line 2/District/Neighborhood,Town/City,"
    "State/Province/Region/County/Territory/Prefecture/Republic,Zip/Postal Code,Country,"
    "Contact Phone Number,Subject,Note,Country Code,Balance Impact"
)


def paypal() -> str:
    """Payments and refunds, and in between withdrawals and what the seller paid."""

    def rows() -> Iterator[Row]:
        for order in islice(orders(13), 0, None, 3):  # of a whole month, which shows its order
            place = {
                "Name": f"Customer {order.customer}",
                "Address Line 1": order.street,
                "Town/City": order.city,
                _PAYPAL.split(",")[33]: order.state,
                "Zip/Postal Code": order.zip,
                "Country": COUNTRIES[order.country],
                "Country Code": order.country,
            }
            parts = [("Express Checkout Payment", order.total, order.tax, order.shipping, place)]
            if order.refunded:
                parts.append(("Payment Refund", -order.refunded, 0, 0, place))
            if order.number % 5 == 1:
                parts.append(("General Withdrawal", -100_000, 0, 0, {}))
            if order.number % 5 == 3:  # a label for parcels
                parts.append(("General Payment", -1299, 0, 0, place))
            for kind, gross, tax, shipping, address in parts:
                fee = -(gross * 29 // 1000 + 30) if kind.startswith("Express") else 0
                yield {
                    "Date": f"{order.placed:%m/%d/%Y}",
                    "Time": f"{order.placed:%H:%M:%S}",
                    "TimeZone": "CDT",
                    "Type": kind,
                    "Status": "Denied" if order.cancelled else "Completed",
                    "Currency": "USD",
                    "Gross": grouped(gross),
                    "Fee": grouped(fee),
                    "Net": grouped(gross + fee),
                    "Transaction ID": f"SAMPLE{order.number}{kind[0]}{kind[8]}",
                    "Shipping and Handling Amount": dollars(shipping),
                    "Sales Tax": dollars(tax),
                    "Balance Impact": "Credit" if gross > 0 else "Debit",
                    **address,
                }

    return text(_PAYPAL, rows(), size=_FEW, quoting=csv.QUOTE_ALL)


_EDD = (
    "ID,Payment Number,Email,First Name,Last Name,Address,Address (Line 2),City,State,Country,"
    "Zip Code,Products,SKUs,Amount ($),Tax ($),Discount Code,Payment Method,Transaction ID,"
    "Purchase Key,Date,User,Status"
)


def edd() -> str:
    """Payments for downloads: nothing is shipped."""

    def rows() -> Iterator[Row]:
        for order in orders(14):
            yield {
                "ID": order.number,
                "Payment Number": order.number,
                "Email": f"customer{order.customer}@example.com",
                "First Name": "Customer",
                "Last Name": order.customer,
                "Address": order.street,
                "City": order.city,
                "State": order.state,
                "Country": order.country,
                "Zip Code": order.zip,
                "Products": " / ".join(name for name, *_ in order.items),
                "Amount ($)": grouped(order.total - order.shipping),
                "Tax ($)": grouped(order.tax),
                "Discount Code": "TEN" if order.discount else "none",
                "Payment Method": "Stripe",
                "Purchase Key": f"sample{order.number}",
                "Date": f"{order.placed:%Y-%m-%d %H:%M:%S}",
                "User": "guest",
                "Status": (
                    "Abandoned" if order.cancelled else "Refunded" if order.refunded else "Complete"
                ),
            }

    return text(_EDD, rows(), size=_FEW)


_META = (
    "order_id,order_date,order_status,_order_key,_customer_user,_payment_method,"
    "_billing_first_name,_billing_last_name,_billing_company,_billing_email,_billing_phone,"
    "_billing_address_1,_billing_address_2,_billing_city,_billing_state,_billing_postcode,"
    "_billing_country,_shipping_first_name,_shipping_last_name,_shipping_company,"
    "_shipping_address_1,_shipping_address_2,_shipping_city,_shipping_state,_shipping_postcode,"
    "_shipping_country,_order_currency,_cart_discount,_cart_discount_tax,_order_shipping,"
    "_order_shipping_tax,_order_tax,_order_total,_prices_include_tax,_paid_date,_completed_date"
)


def woocommerce_meta() -> str:
    """Orders as WordPress keeps them; the tax on shipping has a column of its own."""

    def rows() -> Iterator[Row]:
        for order in orders(15):
            extra = order.shipping * 6 // 100 if order.state == "NJ" else 0
            place = {
                "first_name": "Customer",
                "last_name": order.customer,
                "address_1": order.street,
                "city": order.city,
                "state": order.state,
                "postcode": order.zip,
                "country": order.country,
            }
            kinds = ("billing",) if order.number % 4 == 0 else ("billing", "shipping")
            yield {
                "order_id": order.number,
                "order_date": f"{order.placed:%Y-%m-%d %H:%M:%S}",
                "order_status": "wc-cancelled" if order.cancelled else "wc-completed",
                "_payment_method": "stripe",
                **{f"_{kind}_{key}": value for kind in kinds for key, value in place.items()},
                "_order_currency": "USD",
                "_cart_discount": dollars(order.discount),
                "_cart_discount_tax": "0",
                "_order_shipping": dollars(order.shipping),
                "_order_shipping_tax": dollars(extra),
                "_order_tax": dollars(order.tax),
                "_order_total": dollars(order.total + extra),
                "_prices_include_tax": "no",
            }

    return text(_META, rows(), size=_FEW)
