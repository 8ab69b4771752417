"""Notices shown before a record is removed, and the meanings of a plan's reasons.

The command line, the panel, Excel and the receipts show the same texts.
"""

from __future__ import annotations

PERMIT_NOTE = (
    "Removing a record here does not cancel the permit at the state: the state still expects"
    " returns until you close the account with it."
)
_NO_NEXUS_NOTE = "Sales to the state will be treated as if you had no nexus there."
_TRAILING_NOTE = (
    "The duty to collect can last after sales have fallen (trailing nexus); how long is"
    " for the state to decide."
)
BEFORE_REMOVING = (PERMIT_NOTE, _NO_NEXUS_NOTE, _TRAILING_NOTE)
"""The notices before anything is removed, in this order."""

ADDING_NOTE = (
    "Adding a record here does not register you with the state; apply for the permit there."
)
"""The notice before a record is added."""

UNDO_NOTE = "This can be undone: the service lists and adds records."
NO_UNDO_NOTE = "This cannot be undone on this service."
UNKNOWN_UNDO_NOTE = (
    "Whether this can be undone on this service is not known: the service does not describe"
    " whether it adds records. The first restore will show it."
)
ALL_TYPES_NOTE = (
    "This removes the records of every type of the state: physical, economic and marketplace."
)
NOT_TICKED_NOTE = (
    "A plan suggests; nothing is ticked in advance, and only what you tick is removed."
)

DECISION_WORDS = {
    "missing": "no record, and above the threshold",
    "candidate": "could be removed",
    "review": "look at it first",
    "keep": "keep",
}
"""What each decision of a plan means."""

BAND_WORDS = {
    "missing": "At or over the threshold, no record",
    "over": "At or over the threshold",
    "90-100": "90-100% of the threshold",
    "70-90": "70-90% of the threshold",
    "below 70": "Below 70% of the threshold",
    "no tax": "No general sales tax",
    "unknown": "Not certain: a fact is not known",
}
"""What each band of an exposure means."""

REASONS = {
    # for a candidate
    "no_sales_tax": "The state has no general sales tax.",
    "below_all": (
        "Sales were below every threshold of the state for the whole period and the trailing"
        " period."
    ),
    "repealed_test": (
        "The record dates from when the state had a transaction test, which it has dropped since;"
        " by the test of today sales were below for the whole period and the trailing period."
    ),
    # for a review, whatever else holds
    "duplicate": (
        "There are several records of this state and type, and a removal takes them all; where the"
        " service can add, mark the one that is to stay with replace."
    ),
    "only_service": "The service has this record and your register does not.",
    "only_mine": "Your register has this record and the service does not: nothing to remove there.",
    "differs": (
        "Your register and the service differ in the details of this record; to remove it, make the"
        " plan from what the service lists."
    ),
    "physical_without_address": (
        "A physical record without an address: sales do not show whether the place still exists."
    ),
    "marketplace_only": (
        "All sales there went through a marketplace: no threshold settles who collects on them,"
        " and whether you must stay registered."
    ),
    "no_threshold": "No threshold of this state is known for the day of the plan.",
    "low_certainty": "The state's threshold has certainty low: nothing is suggested from it.",
    "stale_threshold": (
        "The state's threshold was last checked more than 12 months before the day of the plan."
    ),
    "unknown_base": "Which sales the state counts (gross, retail, taxable) is not known.",
    "unknown_marketplace": "Whether the state counts sales through a marketplace is not known.",
    "unknown_trailing": "How long the duty lasts after sales have fallen is not known.",
    "not_covered": (
        "The sales that were given do not settle it, for the whole period and the trailing period."
    ),
    "no_sales_of_state": "The exposure has no row for this state.",
    "maybe_repealed": (
        "The record dates from when the state had a transaction test, which it has dropped since;"
        " give sales to see whether anything still holds the record."
    ),
    "near": "At least 90% of the threshold is used: it may soon be crossed again.",
    # for keeping
    "over": "Sales are at or above the state's threshold.",
    "still_trailing": (
        "Sales are below the threshold now, and were not in the trailing period: the duty may last."
    ),
    "physical": "A physical record rests on a place and not on sales.",
    "sales_not_given": "No sales were given, so nothing is known of the threshold.",
    # in addition to another reason
    "watch": "At least 70% of the threshold is used.",
    "alaska": (
        "Alaska has no sales tax of the state, and many of its places have one: the record is about"
        " theirs."
    ),
}
"""The sentence of each reason. It ends with a full stop and has none before its end."""
