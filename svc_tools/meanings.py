"""What the words of an answer and of an enriched frame mean, one line each, for readers."""

from __future__ import annotations

from svc_sdk._reading import CONFIDENCE_MEANINGS
from svc_tools.lookup.review import REVIEW_REASONS

__all__ = ["CONFIDENCE_MEANINGS", "MEANINGS"]

_NO_REASON_TO_REVIEW = {
    "ok": "a whole rate: state + county + city + districts",
    "local_rates_not_covered": "the rate is the state's part alone",
    "districts_not_covered": "special-district rates may come on top",
    "address_not_matched": "decided by the ZIP Code or place, not by the street address",
}

_SPANS_MEANING = {
    "zip_spans_jurisdictions": "the ZIP lies in several jurisdictions; rates may differ"
}
"""As a warning; as a reason to review a rate it says more: that nothing tells the rates."""

MEANINGS = (
    _NO_REASON_TO_REVIEW
    | CONFIDENCE_MEANINGS
    | {code: meaning for code, (meaning, _) in REVIEW_REASONS.items()}
    | _SPANS_MEANING
)
"""Meaning of a `lookup_status`, of a `confidence` (SPEC 2.1) or of an advisory code (SPEC 2.4).

What is a reason to review a rate as well means the same in every column (`REVIEW_REASONS`).
"""
