"""Published facts that no table at hand carries: tiers, freight, counties that changed."""

from __future__ import annotations

from datetime import date

EDITION = date(2026, 11, 22)
"""The edition of the book: the day its sources were last read."""

STATES_UNTIL = date(2027, 6, 30)
"""The last day that an open row of the state history is good for."""

TIERS = {
    "A": "CT DC DE IN KY MA MD ME MI MT NH NJ OR RI",
    "B": "FL HI MS NC NV OH PA VA WI",
    "C": "AR CA GA IA KS MN ND NE NY OK SC SD TN UT VT WA WV WY",
    "D": "AL AZ CO ID IL MO NM TX",
    "E": "LA",
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
"""States without a sales tax of their own: whether freight is taxed has no answer there."""

FREIGHT_TAXED = (
    "AR CT DC GA HI IN KY LA MI MN MS NE NJ NM NY NC ND OH PA RI SC SD TN TX VT WA WV WI"
)
"""States that tax separately stated delivery charges on taxable goods."""

FREIGHT_CONFLICTS = frozenset(("DC", "IN", "LA", "MI"))
"""States where sources disagree whether separately stated delivery charges are taxed."""

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
