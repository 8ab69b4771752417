"""The columns of shops' order exports; a star marks those with names, addresses and contacts."""

COLUMNS = {
    "shopify": (
        "Name|Email*|Financial Status|Paid at|Fulfillment Status|Fulfilled at|"
        "Accepts Marketing|Currency|Subtotal|Shipping|Taxes|Total|Discount Code|"
        "Discount Amount|Shipping Method|Created at|Lineitem quantity|Lineitem name|"
        "Lineitem price|Lineitem compare at price|Lineitem sku|"
        "Lineitem requires shipping|Lineitem taxable|Lineitem fulfillment status|"
        "Billing Name*|Billing Street*|Billing Address1*|Billing Address2*|"
        "Billing Company*|Billing City|Billing Zip|Billing Province|Billing Country|"
        "Billing Phone*|Shipping Name*|Shipping Street*|Shipping Address1*|"
        "Shipping Address2*|Shipping Company*|Shipping City|Shipping Zip|"
        "Shipping Province|Shipping Country|Shipping Phone*|Notes|Note Attributes|"
        "Cancelled at|Payment Method|Payment Reference|Refunded Amount|Vendor|"
        "Outstanding Balance|Employee*|Location|Device ID|Id|Tags|Risk Level|"
        "Source|Lineitem discount|Tax 1 Name|Tax 1 Value|Phone*|Receipt Number|"
        "Duties|Billing Province Name|Shipping Province Name|Payment ID|"
        "Payment Terms Name|Next Payment Due At|Payment References"
    ),
    "amazon": (
        "amazon-order-id|merchant-order-id|purchase-date|last-updated-date|order-"
        "status|fulfillment-channel|sales-channel|order-channel|url|ship-service-"
        "level|product-name|sku|asin|item-status|quantity|currency|item-price|"
        "item-tax|shipping-price|shipping-tax|gift-wrap-price|gift-wrap-tax|item-"
        "promotion-discount|ship-promotion-discount|ship-city|ship-state|ship-postal-"
        "code|ship-country|promotion-ids|is-business-order|purchase-order-number|"
        "price-designation|buyer-email*|buyer-name*|buyer-phone-number*|recipient-"
        "name*|ship-address-1*|ship-address-2*|ship-address-3*|ship-phone-number*|"
        "bill-address-1*|bill-city|bill-state|bill-postal-code|bill-country|buyer-"
        "company-name*|delivery-Instructions*|ship-service-name"
    ),
    "stripe": (
        "id|Created date (UTC)|Amount|Amount Refunded|Currency|Captured|"
        "Converted Amount|Converted Currency|Decline Reason|Description|Fee|Is Link|"
        "Link Funding|Mode|PaymentIntent ID|Payment Source Type|Refunded date (UTC)|"
        "Statement Descriptor|Status|Seller Message|Taxes On Fee|Card ID|Card Name*|"
        "Card Address Line1*|Card Address Line2*|Card Address City|Card Address State|"
        "Card Address Country|Card Address Zip|Card AVS Line1 Status|"
        "Card AVS Zip Status|Card Brand|Card CVC Status|Card Exp Month|Card Exp Year|"
        "Card Fingerprint|Card Funding|Card Issue Country|Card Last4|"
        "Card Tokenization Method|Customer ID|Customer Description*|Customer Email*|"
        "Customer Phone*|Shipping Name*|Shipping Address Line1*|"
        "Shipping Address Line2*|Shipping Address City|Shipping Address State|"
        "Shipping Address Country|Shipping Address Postal Code|Disputed Amount|"
        "Invoice ID|Transfer|IP address*"
    ),
    "quickbooks": (
        "Date|Transaction Type|Num|Name*|Customer*|Customer Full Name*|"
        "Memo/Description|Product/Service|Product/Service full name|Qty|Sales Price|"
        "Amount|Balance|Shipping Address*|Shipping City|Shipping State|Shipping Zip|"
        "Billing Street*|Billing City|Ship To*|Bill To*|Customer Phone*|"
        "Customer Email*|Email*|Phone Numbers*|Full Name*|Class|Company name|"
        "Sales Rep*"
    ),
    "etsy": (
        "Sale Date|Order ID|Buyer User ID*|Full Name*|First Name*|Last Name*|"
        "Number of Items|Payment Method|Date Shipped|Street 1*|Street 2*|Ship City|"
        "Ship State|Ship Zipcode|Ship Country|Currency|Order Value|Coupon Code|"
        "Coupon Details|Discount Amount|Shipping Discount|Shipping|Sales Tax|"
        "Order Total|Status|Card Processing Fees|Order Net|Adjusted Order Total|"
        "Buyer*|Order Type|Payment Type|InPerson Discount|InPerson Location|SKU|"
        "Item Name|Ship Name*|Ship Address1*|Ship Address2*|Listing ID|Variations"
    ),
    "woocommerce": (
        "Order Number|Order Status|Order Date|Customer Note*|First Name (Billing)*|"
        "Last Name (Billing)*|Company (Billing)*|Address 1&2 (Billing)*|"
        "City (Billing)|State Code (Billing)|Postcode (Billing)|"
        "Country Code (Billing)|Email (Billing)*|Phone (Billing)*|"
        "First Name (Shipping)*|Last Name (Shipping)*|Address 1&2 (Shipping)*|"
        "City (Shipping)|State Code (Shipping)|State Name (Shipping)|"
        "Postcode (Shipping)|Country Code (Shipping)|Payment Method Title|"
        "Cart Discount Amount|Order Subtotal Amount|Shipping Method Title|"
        "Order Shipping Amount|Order Refund Amount|Order Total Amount|"
        "Order Total Tax Amount|SKU|Item #|Item Name|Quantity (- Refund)|Item Cost|"
        "Coupon Code|customer_ip_address*|customer_user|customer_email*|"
        "billing_first_name*|billing_company*|billing_address_1*|shipping_address_2*|"
        "billing_postcode|line_item_1|shipping_items|fee_items|customer_id|"
        "coupon_items|customer_note*|Customer Username*|Customer User Agent"
    ),
    "square": (
        "Order|Order Date|Currency|Order Subtotal|Order Shipping Price|"
        "Order Tax Total|Order Total|Order Refunded Amount|Fulfillment Date|"
        "Fulfillment Type|Fulfillment Status|Channels|Fulfillment Location|"
        "Fulfillment Notes|Recipient Name*|Recipient Email*|Recipient Phone*|"
        "Recipient Address*|Recipient Address 2*|Recipient Postal Code|Recipient City|"
        "Recipient Region|Recipient Country|Item Quantity|Item Name|Item SKU|"
        "Item Variation|Item Modifiers|Item Price|Item Options Total Price|"
        "Item Total Price|Device Name|Staff Name*|Staff ID|Price Point Name|"
        "Customer ID|Customer Name*|Customer Reference ID|Device Nickname|PAN Suffix|"
        "Card Brand|Team Member*|Event Type|Dining Option"
    ),
    "bigcommerce": (
        "Order ID|Customer ID|Customer Name*|Customer Email*|Customer Phone*|"
        "Order Date|Order Status|Subtotal (inc tax)|Subtotal (ex tax)|Tax Total|"
        "Shipping Cost (inc tax)|Shipping Cost (ex tax)|Ship Method|"
        "Handling Cost (ex tax)|Store Credit Redeemed|Gift Certificate Amount Redeemed|"
        "Gift Certificate Code|Gift Certificate Expiration Date|Coupon Details|"
        "Refund Amount|Order Total (inc tax)|Order Total (ex tax)|Customer Group ID|"
        "Customer Group Name|Payment Method|Total Quantity|Total Shipped|"
        "Date Shipped|Order Currency Code|Exchange Rate|Order Notes|"
        "Customer Message*|Billing Name*|Billing First Name*|Billing Last Name*|"
        "Billing Company*|Billing Street 1*|Billing Street 2*|Billing Suburb|"
        "Billing State|Billing State Abbreviation|Billing Zip|Billing Country|"
        "Billing Phone*|Billing Email*|Shipping Name*|Shipping First Name*|"
        "Shipping Company*|Shipping Street 1*|Shipping Suburb|Shipping Zip|"
        "Shipping Phone*|Shipping Email*|Combined Product Weight|Product Details|"
        "Peel ID|Staff Notes*|Checkout Staff"
    ),
}


def columns_of(shop):
    """The columns of an export, and the personal ones among them."""
    marked = COLUMNS[shop].split("|")
    names = [name.removesuffix("*") for name in marked]
    return names, [name for name, mark in zip(names, marked, strict=True) if mark.endswith("*")]
