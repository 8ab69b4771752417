"""Write samples of the exports that are recognized: `python scripts/make_sample_exports.py FOLDER`.

The layouts are the real ones (columns, delimiters, how dates and amounts are written, further rows
of an order); the orders are invented, and nobody is named in them. The same files every time: a
test compares those in `tests/data/exports` with what this script writes.
"""

# ruff: noqa: PLR2004 - which of the orders is unusual is a number

from __future__ import annotations

import csv
import io
import sys
from datetime import UTC, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import sample_further_exports as further
from sample_orders import COUNTRIES, ROWS, Row, dollars, grouped, orders, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FOLDER = Path(__file__).parents[1] / "tests" / "data" / "exports"

_SHOPIFY = (
    "Name,Email,Financial Status,Paid at,Fulfillment Status,Fulfilled at,Accepts Marketing,"
    "Currency,Subtotal,Shipping,Taxes,Total,Discount Code,Discount Amount,Shipping Method,"
    "Created at,Lineitem quantity,Lineitem name,Lineitem price,Lineitem compare at price,"
    "Lineitem sku,Lineitem requires shipping,Lineitem taxable,Lineitem fulfillment status,"
    "Billing Name,Billing Street,Billing Address1,Billing Address2,Billing Company,Billing City,"
    "Billing Zip,Billing Province,Billing Country,Billing Phone,Shipping Name,Shipping Street,"
    "Shipping Address1,Shipping Address2,Shipping Company,Shipping City,Shipping Zip,"
    "Shipping Province,Shipping Country,Shipping Phone,Notes,Note Attributes,Cancelled at,"
    "Payment Method,Payment Reference,Refunded Amount,Vendor,Outstanding Balance,Employee,"
    "Location,Device ID,Id,Tags,Risk Level,Source,Lineitem discount,Tax 1 Name,Tax 1 Value,"
    "Tax 2 Name,Tax 2 Value,Tax 3 Name,Tax 3 Value,Tax 4 Name,Tax 4 Value,Tax 5 Name,Tax 5 Value,"
    "Phone,Receipt Number,Duties,Billing Province Name,Shipping Province Name,Payment ID,"
    "Payment Terms Name,Next Payment Due At,Payment References"
)


def _shopify() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(1):
            day = order.placed.strftime("%Y-%m-%d %H:%M:%S %z")
            place = {
                f"{kind} {name}": value
                for kind in ("Billing", "Shipping")
                for name, value in {
                    "Name": f"Customer {order.customer}",
                    "Street": order.street,
                    "Address1": order.street,
                    "City": order.city,
                    "Zip": f"'{order.zip}" if order.zip else "",
                    "Province": order.state,
                    "Country": order.country,
                    "Province Name": order.state_name,
                }.items()
            }
            whole = {
                "Financial Status": "voided" if order.cancelled else "paid",
                "Paid at": "" if order.cancelled else day,
                "Fulfillment Status": "unfulfilled" if order.cancelled else "fulfilled",
                "Accepts Marketing": "no",
                "Currency": "USD",
                "Subtotal": dollars(order.goods - order.discount),
                "Shipping": dollars(order.shipping),
                "Taxes": dollars(order.tax),
                "Total": dollars(order.total),
                "Discount Code": "TEN" if order.discount else "",
                "Discount Amount": dollars(order.discount),
                "Shipping Method": "Standard",
                "Cancelled at": day if order.cancelled else "",
                "Payment Method": "Shopify Payments",
                "Refunded Amount": dollars(order.refunded),
                "Id": 6_000_000_000_000 + order.number,
                "Risk Level": "Low",
                "Source": "web",
                "Outstanding Balance": "0.00",
                **place,
            }
            for first, (name, sku, price, pieces) in zip([True, False, False], order.items):  # noqa: B905 - up to three
                yield {
                    "Name": f"#{order.number}",
                    "Email": f"customer{order.customer}@example.com",
                    "Created at": day,
                    "Lineitem quantity": pieces,
                    "Lineitem name": name,
                    "Lineitem price": dollars(price),
                    "Lineitem sku": sku,
                    "Lineitem requires shipping": "true",
                    "Lineitem taxable": "true",
                    "Lineitem fulfillment status": "pending" if order.cancelled else "fulfilled",
                    "Vendor": "Sample Store",
                    "Lineitem discount": "0.00",
                } | (whole if first else {})

    return text(_SHOPIFY, rows())


_AMAZON = (
    "amazon-order-id,merchant-order-id,purchase-date,last-updated-date,order-status,"
    "fulfillment-channel,sales-channel,order-channel,url,ship-service-level,product-name,sku,asin,"
    "item-status,quantity,currency,item-price,item-tax,shipping-price,shipping-tax,gift-wrap-price,"
    "gift-wrap-tax,item-promotion-discount,ship-promotion-discount,ship-city,ship-state,"
    "ship-postal-code,ship-country,promotion-ids,is-business-order,purchase-order-number,"
    "price-designation"
)


def _amazon() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(2):
            day = order.placed.astimezone(UTC).isoformat(timespec="seconds")
            for number, (name, sku, price, pieces) in enumerate(order.items):
                whole = price * pieces
                own = order.discount if number == 0 else 0
                status = "Cancelled" if order.cancelled else "Shipped"
                yield {
                    "amazon-order-id": f"111-{order.number:07}-{order.customer:07}",
                    "merchant-order-id": f"M-{order.number}",
                    "purchase-date": day,
                    "last-updated-date": day,
                    "order-status": status,
                    "fulfillment-channel": "Amazon",
                    "sales-channel": "Non-Amazon US" if order.number % 25 == 2 else "Amazon.com",
                    "ship-service-level": "Standard",
                    "product-name": name.replace('"', " in"),
                    "sku": sku,
                    "asin": f"B0SAMPLE{number}",
                    "item-status": status,
                    "quantity": 0 if order.cancelled else pieces,
                    "currency": "" if order.cancelled else "USD",
                    "item-price": "" if order.cancelled else dollars(whole),
                    "item-tax": "" if order.cancelled else dollars(order.tax if number == 0 else 0),
                    "shipping-price": dollars(order.shipping) if number == 0 else "",
                    "gift-wrap-price": "4.99" if order.number % 25 == 12 and number == 0 else "",
                    "item-promotion-discount": dollars(own) if own else "",
                    "ship-city": order.city.upper(),
                    "ship-state": order.state,
                    "ship-postal-code": order.zip,
                    "ship-country": order.country,
                    "is-business-order": "false",
                }

    names = _AMAZON.split(",")
    lines = [names, *([str(row.get(name, "")) for name in names] for row in islice(rows(), ROWS))]
    return "".join("\t".join(line) + "\n" for line in lines)  # not quoted, as Amazon writes it


_STRIPE = (
    "id,Created date (UTC),Amount,Amount Refunded,Currency,Captured,Converted Amount,"
    "Converted Amount Refunded,Converted Currency,Decline Reason,Description,Fee,Is Link,"
    "Link Funding,Mode,PaymentIntent ID,Payment Source Type,Refunded date (UTC),"
    "Statement Descriptor,Status,Seller Message,Taxes On Fee,Card ID,Card Name,Card Address Line1,"
    "Card Address Line2,Card Address City,Card Address State,Card Address Country,Card Address Zip,"
    "Card AVS Line1 Status,Card AVS Zip Status,Card Brand,Card CVC Status,Card Exp Month,"
    "Card Exp Year,Card Fingerprint,Card Funding,Card Issue Country,Card Last4,"
    "Card Tokenization Method,Customer ID,Customer Description,Customer Email,Customer Phone,"
    "Shipping Name,Shipping Address Line1,Shipping Address Line2,Shipping Address City,"
    "Shipping Address State,Shipping Address Country,Shipping Address Postal Code,Disputed Amount,"
    "Dispute Date (UTC),Dispute Evidence Due (UTC),Dispute Reason,Dispute Status,Invoice ID,"
    "Invoice Number,Checkout Session ID,Transfer,Transfer Group"
)


def _stripe() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(3):
            day = order.placed.astimezone(UTC)
            paid, refunded = dollars(order.total), dollars(order.refunded)
            place = {
                "Line1": order.street,
                "City": order.city,
                "State": order.state,
                "Country": order.country,
            }
            ships = order.number % 3 != 0  # a download has a card's address only
            shipping = {f"Shipping Address {name}": value for name, value in place.items() if ships}
            yield {
                "id": f"py_sample{order.number}",
                "Created date (UTC)": day.strftime("%Y-%m-%d %H:%M:%S"),
                "Amount": paid,
                "Amount Refunded": refunded,
                "Currency": "usd",
                "Captured": str(not order.cancelled).lower(),
                "Converted Amount": paid,
                "Converted Amount Refunded": refunded,
                "Converted Currency": "usd",
                "Description": f"Order {order.number}",
                "Fee": dollars(order.total * 29 // 1000 + 30),
                "Is Link": "false",
                "Mode": "Live",
                "PaymentIntent ID": f"pi_sample{order.number}",
                "Payment Source Type": "card",
                "Refunded date (UTC)": (
                    (day + timedelta(days=3)).strftime("%Y-%m-%d %H:%M:%S")
                    if order.refunded
                    else ""
                ),
                "Status": "Failed" if order.cancelled else "Paid",
                "Taxes On Fee": "0.00",
                "Card Name": f"Customer {order.customer}",
                **{f"Card Address {name}": value for name, value in place.items()},
                "Card Address Zip": order.zip,
                "Card Brand": "Visa",
                "Card Last4": "4242",
                "Customer ID": f"cus_sample{order.customer}",
                "Customer Email": f"customer{order.customer}@example.com",
                "Shipping Name": f"Customer {order.customer}" if ships else "",
                **shipping,
                "Shipping Address Postal Code": order.zip if ships else "",
                "Invoice Number": f"SAMPLE-{order.number}",
            }

    return text(_STRIPE, rows())


_QUICKBOOKS = [
    *("", "Transaction date", "Transaction type", "Num", "Product/Service full name"),
    *("Description", "Quantity", "Sales price", "Amount", "Balance"),
    *("Shipping address", "Shipping city", "Shipping state", "Shipping zip"),
]


def _quickbooks() -> str:
    by_customer: dict[int, list[list[str]]] = {}
    rows = 0
    for order in orders(4):
        lines = [(name, pieces, price, price * pieces) for name, _, price, pieces in order.items]
        if order.discount:
            lines.append(("Discount", 1, -order.discount, -order.discount))
        if order.shipping:
            lines.append(("Services:Shipping", 1, order.shipping, order.shipping))
        kind = "Credit Memo" if order.refunded else "Estimate" if order.cancelled else "Invoice"
        sign = -1 if order.refunded else 1
        for name, pieces, price, whole in lines[: ROWS - rows]:
            by_customer.setdefault(order.customer, []).append(
                [
                    *("", f"{order.placed:%m/%d/%Y}", kind, str(order.number), name, name),
                    *(f"{pieces}.00", grouped(sign * price), grouped(sign * whole), ""),
                    *(order.street, order.city, order.state, order.zip),
                ]
            )
            rows += 1
        if rows == ROWS:
            break
    width = len(_QUICKBOOKS)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for title in ("Sample Store, LLC", "Sales by Customer Detail", "August 1-October 31, 2026"):
        writer.writerow([title, *[""] * (width - 1)])
    file.write("\n")
    writer.writerow(_QUICKBOOKS)
    every = 0
    for customer in sorted(by_customer):
        writer.writerow([f"Customer {customer}", *[""] * (width - 1)])
        balance = 0
        for line in by_customer[customer]:
            balance += round(float(line[8].replace(",", "")) * 100)
            line[9] = grouped(balance)
            writer.writerow(line)
        total = [f"Total for Customer {customer}", *[""] * 7, f"${grouped(balance)}"]
        writer.writerow([*total, *[""] * (width - len(total))])
        every += balance
    writer.writerow(["TOTAL", *[""] * 7, f"${grouped(every)}", *[""] * (width - 9)])
    file.write('\n\n"Accrual Basis Monday, November 02, 2026 09:12 AM GMT-06:00"\n')
    return file.getvalue()


_ETSY = (
    "Sale Date,Order ID,Buyer User ID,Full Name,First Name,Last Name,Number of Items,"
    "Payment Method,Date Shipped,Street 1,Street 2,Ship City,Ship State,Ship Zipcode,Ship Country,"
    "Currency,Order Value,Coupon Code,Coupon Details,Discount Amount,Shipping Discount,Shipping,"
    "Sales Tax,Order Total,Status,Card Processing Fees,Order Net,Adjusted Order Total,"
    "Adjusted Card Processing Fees,Adjusted Net Order Amount,Buyer,Order Type,Payment Type,"
    "InPerson Discount,InPerson Location,SKU"
)


def _etsy() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(5):
            fee = order.total * 3 // 100 + 25
            yield {
                "Sale Date": f"{order.placed:%m/%d/%y}",
                "Order ID": 3_300_000_000 + order.number,
                "Buyer User ID": f"buyer{order.customer}",
                "Full Name": f"Customer {order.customer}",
                "First Name": "Customer",
                "Last Name": order.customer,
                "Number of Items": sum(pieces for *_, pieces in order.items),
                "Payment Method": "Credit Card",
                "Street 1": order.street,
                "Ship City": order.city,
                "Ship State": order.state,
                "Ship Zipcode": order.zip,
                "Ship Country": COUNTRIES[order.country],
                "Currency": "USD",
                "Order Value": dollars(order.goods),
                "Coupon Code": "TEN" if order.discount else "",
                "Discount Amount": dollars(order.discount),
                "Shipping Discount": "0.00",
                "Shipping": dollars(order.shipping),
                "Sales Tax": dollars(order.tax),
                "Order Total": dollars(order.total),
                "Status": "Canceled" if order.cancelled else "Completed",
                "Card Processing Fees": dollars(fee),
                "Order Net": dollars(order.total - fee),
                "Adjusted Order Total": "0.00",
                "Buyer": f"buyer{order.customer}",
                "Order Type": "online",
                "Payment Type": "online_cc",
                "SKU": ",".join(sku for _, sku, _, _ in order.items),
            }

    return text(_ETSY, rows())


_WOOCOMMERCE = (
    "Order Number,Order Status,Order Date,Customer Note,First Name (Billing),Last Name (Billing),"
    "Company (Billing),Address 1&2 (Billing),City (Billing),State Code (Billing),"
    "Postcode (Billing),Country Code (Billing),Email (Billing),Phone (Billing),"
    "First Name (Shipping),Last Name (Shipping),Address 1&2 (Shipping),City (Shipping),"
    "State Code (Shipping),Postcode (Shipping),Country Code (Shipping),Payment Method Title,"
    "Cart Discount Amount,Order Subtotal Amount,Shipping Method Title,Order Shipping Amount,"
    "Order Refund Amount,Order Total Amount,Order Total Tax Amount,SKU,Item #,Item Name,"
    "Quantity (- Refund),Item Cost,Coupon Code,Discount Amount,Discount Amount Tax"
)


def _woocommerce() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(6):
            download = order.number % 4 == 0  # nothing is shipped: no shipping address
            whole = {
                "Order Number": order.number,
                "Order Status": "Cancelled" if order.cancelled else "Completed",
                "Order Date": f"{order.placed:%Y-%m-%d %H:%M}",
                "Payment Method Title": "Credit Card",
                "Cart Discount Amount": dollars(order.discount),
                "Order Subtotal Amount": dollars(order.goods),
                "Shipping Method Title": "Flat rate",
                "Order Shipping Amount": dollars(order.shipping),
                "Order Refund Amount": dollars(order.refunded),
                "Order Total Amount": dollars(order.total),
                "Order Total Tax Amount": dollars(order.tax),
                "Coupon Code": "ten" if order.discount else "",
                "Email (Billing)": f"customer{order.customer}@example.com",
            }
            place = {
                "First Name": "Customer",
                "Last Name": order.customer,
                "Address 1&2": order.street,
                "City": order.city,
                "State Code": order.state,
                "Postcode": order.zip,
                "Country Code": order.country,
            }
            for kind in ("Billing", "Shipping")[: 1 if download else 2]:
                whole |= {f"{name} ({kind})": value for name, value in place.items()}
            for number, (name, sku, price, pieces) in enumerate(order.items, 1):
                yield whole | {
                    "SKU": sku,
                    "Item #": number,
                    "Item Name": name,
                    "Quantity (- Refund)": pieces,
                    "Item Cost": dollars(price),
                }

    return text(_WOOCOMMERCE, rows())


_SQUARE = (
    "Order,Order Name,Order Date,Currency,Order Subtotal,Order Shipping Price,Order Tax Total,"
    "Order Total,Order Refunded Amount,Fulfillment Date,Fulfillment Type,Fulfillment Status,"
    "Channels,Fulfillment Location,Fulfillment Notes,Recipient Name,Recipient Email,"
    "Recipient Phone,Recipient Address,Recipient Address 2,Recipient Postal Code,Recipient City,"
    "Recipient Region,Recipient Country,Item Quantity,Item Name,Item SKU,Item Variation,"
    "Item Modifiers,Item Price,Item Options Total Price,Item Total Price"
)


def _square() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(7):
            for name, sku, price, pieces in order.items:
                yield {
                    "Order": f"Square Online {order.number}",
                    "Order Date": f"{order.placed:%Y/%m/%d}",
                    "Currency": "USD",
                    "Order Subtotal": dollars(order.goods - order.discount),
                    "Order Shipping Price": dollars(order.shipping),
                    "Order Tax Total": dollars(order.tax),
                    "Order Total": dollars(order.total),
                    "Order Refunded Amount": dollars(order.refunded) if order.refunded else "",
                    "Fulfillment Date": f"{order.placed:%m/%d/%Y}, {order.placed:%I:%M %p}",
                    "Fulfillment Type": "Shipment",
                    "Fulfillment Status": "Canceled" if order.cancelled else "Completed",
                    "Channels": "Square Online",
                    "Fulfillment Location": "Sample Store",
                    "Recipient Name": f"Customer {order.customer}",
                    "Recipient Email": f"customer{order.customer}@example.com",
                    "Recipient Address": order.street,
                    "Recipient Postal Code": order.zip,
                    "Recipient City": order.city,
                    "Recipient Region": order.state,
                    "Recipient Country": order.country,
                    "Item Quantity": pieces,
                    "Item Name": name,
                    "Item SKU": sku,
                    "Item Variation": "Regular",
                    "Item Price": dollars(price),
                    "Item Options Total Price": "0.00",
                    "Item Total Price": dollars(price * pieces),
                }

    return text(_SQUARE, rows())


_BIGCOMMERCE = (
    "Order ID,Customer ID,Customer Name,Customer Email,Customer Phone,Order Date,Order Status,"
    "Subtotal (inc tax),Subtotal (ex tax),Tax Total,Shipping Cost (inc tax),Shipping Cost (ex tax),"
    "Ship Method,Handling Cost (inc tax),Handling Cost (ex tax),Store Credit Redeemed,"
    "Gift Certificate Amount Redeemed,Gift Certificate Code,Gift Certificate Expiration Date,"
    "Coupon Details,Order Total (inc tax),Order Total (ex tax),Payment Method,Total Quantity,"
    "Total Shipped,Date Shipped,Order Currency Code,Exchange Rate,Order Notes,Customer Message,"
    "Billing First Name,Billing Last Name,Billing Company,Billing Street 1,Billing Street 2,"
    "Billing Suburb,Billing State,Billing Zip,Billing Country,Billing Phone,Billing Email,"
    "Shipping First Name,Shipping Last Name,Shipping Company,Shipping Street 1,Shipping Street 2,"
    "Shipping Suburb,Shipping State,Shipping Zip,Shipping Country,Shipping Phone,Shipping Email,"
    "Product Details,Refund Amount,Channel ID,Channel Name"
)


def _bigcommerce() -> str:
    def rows() -> Iterator[Row]:
        for order in orders(8):
            handling = 150 if order.number % 25 == 7 else 0
            place = {
                f"{kind} {name}": value
                for kind in ("Billing", "Shipping")
                for name, value in {
                    "First Name": "Customer",
                    "Last Name": order.customer,
                    "Street 1": order.street,
                    "Suburb": order.city,
                    "State": order.state_name,
                    "Zip": order.zip,
                    "Country": COUNTRIES[order.country],
                    "Email": f"customer{order.customer}@example.com",
                }.items()
            }
            details = "|".join(
                f"Product Qty: {pieces}, Product SKU: {sku}, Product Name: {name},"
                f" Product Total Price: {dollars(price * pieces)}"
                for name, sku, price, pieces in order.items
            )
            yield {
                "Order ID": order.number,
                "Customer ID": order.customer,
                "Customer Name": f"Customer {order.customer}",
                "Customer Email": f"customer{order.customer}@example.com",
                "Order Date": f"{order.placed:%m/%d/%Y}",
                "Order Status": "Cancelled" if order.cancelled else "Completed",
                "Subtotal (inc tax)": dollars(order.goods + order.tax),
                "Subtotal (ex tax)": dollars(order.goods),
                "Tax Total": dollars(order.tax),
                "Shipping Cost (inc tax)": dollars(order.shipping),
                "Shipping Cost (ex tax)": dollars(order.shipping),
                "Ship Method": "Flat Rate",
                "Handling Cost (inc tax)": dollars(handling),
                "Handling Cost (ex tax)": dollars(handling),
                "Store Credit Redeemed": "0.00",
                "Gift Certificate Amount Redeemed": "0.00",
                "Coupon Details": "Coupon Code: TEN" if order.discount else "",
                "Order Total (inc tax)": dollars(order.total + handling),
                "Order Total (ex tax)": dollars(order.total + handling - order.tax),
                "Payment Method": "Credit Card",
                "Total Quantity": sum(pieces for *_, pieces in order.items),
                "Order Currency Code": "USD",
                "Exchange Rate": "1.0000000000",
                **place,
                "Product Details": details,
                "Refund Amount": dollars(order.refunded),
                "Channel ID": 1,
                "Channel Name": "Sample Store",
            }

    return text(_BIGCOMMERCE, rows(), quoting=csv.QUOTE_ALL)


SAMPLES: dict[str, Callable[[], str]] = {
    "shopify.csv": _shopify,
    "amazon.txt": _amazon,
    "stripe.csv": _stripe,
    "quickbooks.csv": _quickbooks,
    "etsy.csv": _etsy,
    "woocommerce.csv": _woocommerce,
    "square.csv": _square,
    "bigcommerce.csv": _bigcommerce,
    "squarespace.csv": further.squarespace,
    "wix.csv": further.wix,
    "tiktok.csv": further.tiktok,
    "ebay.csv": further.ebay,
    "paypal.csv": further.paypal,
    "edd.csv": further.edd,
    "woocommerce_meta.csv": further.woocommerce_meta,
}
"""What makes each file."""


def main(folder: Path) -> None:
    """Write every sample into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in SAMPLES.items():
        (folder / name).write_text(made(), encoding="utf-8", newline="")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _FOLDER)
