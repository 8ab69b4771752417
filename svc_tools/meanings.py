"""What the words of an answer and of an enriched frame mean, one line each, for readers."""

from __future__ import annotations

__all__ = ["CONFIDENCE_MEANINGS", "MEANINGS"]

_STATUS = {
    "ok": "a whole rate: state + county + city + districts",
    "partial": "a rate that lacks its local or district part; no tax computed",
    "unresolved": "the service knows no rate for this place",
    "invalid": "not asked: the row names no usable place",
    "unsupported": "not asked: a territory, military or foreign address",
    "failed": "asked, but no answer came; run again",
    "not_attempted": "not asked: the run ended before; run again",
}

CONFIDENCE_MEANINGS = {
    "exact": "decided by an official code or boundary record",
    "high": "one published rate fits the place",
    "medium": "city limits are not known, several rates fit, or figures are second hand",
    "low": "uncertain, dated or incomplete: check before use",
    "none": "no rate",
}
"""Meaning of a `confidence` (SPEC 2.1)."""

_WARNING = {
    "place_input_mismatch": "the city given is not the place the rate is for",
    "zip_spans_jurisdictions": "the ZIP Code lies in several jurisdictions; rates may differ",
    "local_rates_not_covered": "the rate is the state's part alone",
    "districts_not_covered": "special-district rates may come on top",
    "as_of_before_history": "the sale is before the oldest rate known: that one is used",
    "as_of_after_edition": "the sale is after what is covered: the newest rate is used",
    "address_not_matched": "decided by the ZIP Code or place, not by the street address",
    "source_conflict": "published sources disagree on this rate",
    "seasonal_rates": "some towns there have other rates in summer and in winter",
    "zip_not_used": "the ZIP Code leads to no rate: the city decided",
    "zip_of_another_state": "only a part of the ZIP Code lies in this state",
    "zip_crosses_state_line": "a part of the ZIP Code lies in another state",
    "near_state_line": "within about a kilometre of another state",
    "near_map_edge": "within about a kilometre of the sea or another country",
    "point_off_map": "the point lies in no county of the map: the nearest answers",
    "parts_do_not_add_up": "the parts of the rate are not its sum",
}

MEANINGS = _STATUS | CONFIDENCE_MEANINGS | _WARNING
"""Meaning of a `lookup_status`, of a `confidence` (SPEC 2.1) or of an advisory code (SPEC 2.4)."""
