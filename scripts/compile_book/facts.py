"""Published facts that no table at hand carries: tiers, delivery, counties that changed."""

from __future__ import annotations

from datetime import date

from svc_tools.service.ratebook.schema import DeliveryRule

EDITION = date(2026, 11, 29)
"""The edition of the book: the day its sources were last read."""

STATES_READ = date(2026, 11, 22)
"""The day that the state rates were last read."""

LAYER = "2026-12"
"""The last folder of sources named by a month that the book is compiled from."""

STATES_UNTIL = date(2027, 6, 30)
"""The last day that an open row of the state history is good for."""

TIERS = {
    "A": "CT DC DE IN KY MA MD ME MI MT NH NJ OR RI",
    "B": "FL HI MS NC NV OH PA VA WI",
    "C": "AR CA GA IA KS MN ND NE NY OK SC SD TN UT VT WA WV WY",
    "D": "AL AZ CO ID IL LA MO NM TX",
    "none": "AK",
}
"""What the book covers: `A` state alone, `B` by county, `C` by city, `D` the listed cities only,
`E` the state part only, `none` nothing but the towns of a table."""

LOCAL_RULE = {
    "A": "none",
    "B": "county",
    "C": "city",
    "D": "city",
    "E": "unknown",
    "none": "city",
}
"""What decides the local part in a tier, where its local source is at hand."""

NO_TAX = frozenset(("AK", "DE", "MT", "NH", "OR"))
"""States without a sales tax of their own, which have no rule of delivery."""

DELIVERY_BEGINS = {
    ("MI", "exempt_if_separate"): (
        date(2023, 4, 26),
        "Public Acts 20 and 21 of 2023",
        (
            "Where the invoice and the seller's books show it separately; not of electricity or gas"
            " that a utility sells."
        ),
    )
}
"""First days of rules of delivery that their table lacks, with the acts and what to note."""

DELIVERY_DOUBTS = {
    "DC": "Sources disagree whether D.C. taxes separately stated delivery charges, and the text of"
    " its code was not read.",
}
"""What sources leave open about a rule of the table, by state."""

DELIVERY_BEFORE = (
    DeliveryRule(
        "MI",
        "follows_goods",
        None,
        date(2023, 4, 25),
        "two independent sources",
        "Mich. Comp. Laws 205.51 before Public Acts 20 and 21 of 2023",
        "House Fiscal Agency: House Bills 4039 and 4253 as enacted, analysis of 2023-07-26",
        "http://www.house.mi.gov/hfa",
        date(2026, 11, 27),
        "",
        "Delivery was part of the price, and taxed at the general rate; a firm's report of 2023-06"
        " says the same.",
    ),
    DeliveryRule(
        "LA",
        "follows_goods",
        None,
        date(2024, 12, 31),
        "none",
        "",
        "public summaries, which disagree",
        "",
        date(2026, 11, 23),
        "Whether Louisiana taxed separately stated delivery charges before 2025 is not settled:"
        " summaries disagree.",
        "",
    ),
)
"""Rules of delivery before those of the table."""

RENAMED = {
    "02158": "Kusilvak Census Area",
    "02195": "Petersburg Borough",
    "46102": "Oglala Lakota County",
}
"""Counties whose name changed since the boundary set was drawn, by five-digit code."""

ADDED = {
    "02063": "Chugach Census Area",
    "02066": "Copper River Census Area",
    "02230": "Skagway Municipality",
}
"""Counties made of parts of others since the boundary set was drawn, by five-digit code."""

NO_LIMITS = frozenset({("CA", "49582"), ("CO", "40550"), ("GA", "48288")})
"""Cities that the shapes of 2023 have as the larger or smaller places they were before: Mountain
House, Keystone, Mableton."""

SAME_LIMITS = frozenset({("MN", "67130")})
"""Places that are new by their code alone: Minnetonka Beach."""
