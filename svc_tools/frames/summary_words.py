"""What the words of an enriched frame mean, one line each, for readers of a report."""

from __future__ import annotations

__all__ = ["MEANINGS"]

_STATUS = {
    "ok": "a whole rate",
    "partial": "a rate that lacks its local or district part; no tax computed",
    "unresolved": "the service knows no rate for this place",
    "invalid": "not asked: the row names no usable place",
    "unsupported": "not asked: a territory, military or foreign address",
    "failed": "asked, but no answer came; run again",
    "not_attempted": "not asked: the run ended before; run again",
}

_CONFIDENCE = {
    "exact": "decided by an official code or boundary record",
    "high": "one official rate fits the place",
    "medium": "several rates are possible, or the figures are not official",
    "low": "a best guess, or a part of the rate is missing: check before use",
    "none": "no rate",
}

_WARNING = {
    "place_input_mismatch": "the city given is not the place the rate is for",
    "zip_spans_jurisdictions": "the ZIP Code covers places with different rates",
    "local_rates_not_covered": "the rate is the state's part alone",
    "districts_not_covered": "special-district rates may come on top",
    "as_of_before_history": "the date is before the oldest figures: those are used",
    "as_of_after_edition": "the date is after the newest figures: those are used",
    "address_not_matched": "decided by the ZIP Code or place, not by the street address",
    "source_conflict": "published sources disagree on this rate",
}

MEANINGS = _STATUS | _CONFIDENCE | _WARNING
"""Meaning of a `lookup_status`, of a `confidence` (SPEC 2.1) or of an advisory code (SPEC 2.4)."""
