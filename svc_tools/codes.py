"""Meanings of codes in responses; known parts, percentages, and warnings as sentences. Pure."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from svc_sdk.models import Advisory
from svc_sdk.rates import rate_to_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_sdk.models import TaxResponse

PARTS = (
    ("State", "state_rate"),
    ("County", "county_rate"),
    ("City", "city_rate"),
    ("Districts", "combined_district_rate"),
)
"""The parts of a rate that are displayed, and their fields (SPEC 2.2)."""
PARTIAL_CODES = {
    "local_rates_not_covered": ("county_rate", "city_rate", "combined_district_rate"),
    "districts_not_covered": ("city_rate", "combined_district_rate"),
}
"""Warnings that a rate is incomplete, and the parts that it may lack (WIRE)."""
OTHER_CITY_CODES = frozenset({"place_input_mismatch", "zip_not_used"})
"""Warnings that another city may be meant; they may say what its rates are (WIRE)."""
CONFIDENCE_MEANINGS = {
    "exact": "decided by an official code or boundary record",
    "high": "one published rate fits the place",
    "medium": "likely, but unsure in one way: several rates, the place, the date, or the list",
    "low": "uncertain, dated or incomplete: check before use",
    "none": "no rate",
}
"""Meaning of a `confidence` (SPEC 2.1)."""
DECIDED_BY = {
    "address": "the street address",
    "zip4": "the ZIP+4",
    "zip5": "the ZIP Code",
    "place": "the name of the place",
    "coordinates": "the coordinates",
    "state": "the state alone",
}
"""What decided a rate, by `resolved_via` (WIRE)."""
BASES = {
    "publisher_effective_date": "the publisher gives this date",
    "edition_only": "the publisher gives an edition, and no date for the rate",
    "no_published_date": "no date is published",
}
"""The basis of an `effective_date`, by `effective_date_basis` (SPEC 2.3)."""
_RATE = re.compile(r"(?<![\d.])[01]\.\d{5}(?![\d.]\d|\d)")


def lacking(answer: TaxResponse) -> tuple[str, ...]:
    """The warnings of a response that its rate lacks a part."""
    codes = (one.code if isinstance(one, Advisory) else one for one in answer.warnings)
    return tuple(code for code in codes if code in PARTIAL_CODES)


def part_is_known(answer: TaxResponse, field: str) -> bool:
    """Whether a part of the rate is known; the zero of a part that is not covered is not."""
    rate = getattr(answer.rate, field)
    return rate is not None and not (
        rate_to_decimal(rate) == 0 and any(field in PARTIAL_CODES[code] for code in lacking(answer))
    )


def known_part(answer: TaxResponse, field: str) -> Decimal | None:
    """A part of the rate, exact; `None` where it is not known."""
    return answer.rate.as_decimal(field) if part_is_known(answer, field) else None


def percent(rate: Decimal) -> str:
    """A rate as a percentage with at least two decimals: 8.25 %, 8.625 %."""
    sign, digits, exponent = rate.as_tuple()
    # no arithmetic: a Decimal context would round a long number
    hundredfold = Decimal((sign, digits, int(exponent) + 2))
    whole, _, fraction = f"{hundredfold:f}".partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')} %"


def sentence(warning: str | Advisory, meanings: Mapping[str, str] | None = None) -> str:
    """A warning as a sentence, its rates as percentages.

    Args:
        warning: a text, or an object with a code (SPEC 2.4).
        meanings: what codes mean, for those that come without a message.
    """
    known = meanings or {}
    if isinstance(warning, str):
        return with_percentages(known.get(warning, warning))
    message = (warning.model_extra or {}).get("message")
    if not isinstance(message, str):
        message = known.get(warning.code)
        given, found = warning.customer_input_place, warning.resolved_place_name
        if given and found:
            message = f"The place given is {given}, and the rate is that of {found}"
    return f"{with_percentages(message)} ({warning.code})" if message else warning.code


def with_percentages(message: str) -> str:
    """A message with its rates as percentages."""
    return _RATE.sub(lambda found: percent(Decimal(found[0])), message)
