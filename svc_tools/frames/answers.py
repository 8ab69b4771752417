"""From outcomes to columns: one value for each distinct question, taken onto the rows."""

from __future__ import annotations

import contextlib
from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from svc_tools.config import EmbeddedSvc, service_name
from svc_tools.frames.exact import RateForm, rate_column, texts
from svc_tools.lookup import Outcome, refused
from svc_tools.places import Question, Refusal, same_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from pandas.api.extensions import ExtensionArray

    from svc_sdk import Svc
    from svc_tools.frames.questions import Asked
    from svc_tools.lookup import Found
    from svc_tools.places import Place

__all__ = ["answer_columns"]

MISMATCH = "place_input_mismatch"


def answer_columns(
    asked: Asked, outcomes: Mapping[Place, Outcome], client: Svc, rates: RateForm
) -> dict[str, Any]:
    """The columns of `LOOKUP_COLUMNS`, without their prefix, in the order of the rows."""
    results = [_result(one, outcomes) for one in asked.questions]
    found = [outcome.found for outcome in results]
    mismatch = [_mismatch(*pair) for pair in zip(asked.questions, found, strict=True)]
    codes = asked.codes

    def each(name: str) -> list[Any]:
        return [None if one is None else getattr(one, name) for one in found]

    def units(name: str) -> ExtensionArray | np.ndarray:
        return rate_column(each(name), codes, rates)

    def text(values: list[str | None]) -> ExtensionArray:
        return texts(values, codes)

    def field(name: str) -> ExtensionArray:
        return texts(each(name), codes)

    return {
        "combined_rate": units("combined"),
        "state_rate": units("state"),
        "county_rate": units("county"),
        "city_rate": units("city"),
        "combined_district_rate": units("districts"),
        "freight_taxable": pd.array(each("freight_taxable"), dtype="boolean").take(codes),
        "confidence": field("confidence"),
        "warnings": text([_warnings(*pair) for pair in zip(found, mismatch, strict=True)]),
        "resolved_via": field("resolved_via"),
        "effective_date": _dates(each("effective_date")).take(codes),
        "effective_date_basis": field("effective_date_basis"),
        "resolved_state": field("resolved_state"),
        "resolved_zip": field("resolved_zip"),
        "resolved_city": field("resolved_city"),
        "resolved_county": field("resolved_county"),
        "lookup_as_of": _days([_asked_for(one) for one in asked.questions]).take(codes),
        "lookup_status": text([outcome.status for outcome in results]),
        "lookup_error": text([outcome.error for outcome in results]),
        "lookup_source": text([_source(one, client) for one in found]),
        "lookup_edition": text([_edition(one, client) for one in found]),
    }


def _result(one: Question | Refusal, outcomes: Mapping[Place, Outcome]) -> Outcome:
    return refused(one) if isinstance(one, Refusal) else outcomes[one.place]


def _mismatch(one: Question | Refusal, found: Found | None) -> bool:
    """Whether the row's city, which was not sent, is another than the answer's (SPEC 2.4)."""
    if isinstance(one, Refusal) or found is None or not one.named_city or not found.resolved_city:
        return False
    known = (found.resolved_city, *found.accepted_places)
    return not any(same_place(one.named_city, name) for name in known)


def _warnings(found: Found | None, mismatch: bool) -> str | None:  # noqa: FBT001 - private
    codes = dict.fromkeys(found.warnings if found else ())
    if mismatch:
        codes[MISMATCH] = None
    return "; ".join(codes) or None


def _asked_for(one: Question | Refusal) -> date | None:
    """The day that was asked about: the row's own, else today."""
    if isinstance(one, Refusal):
        return None
    return one.place.as_of or date.today()  # noqa: DTZ011 - the person's own day


def _days(values: list[date | None]) -> pd.arrays.ArrowExtensionArray:
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, pa.date32())]))


def _dates(values: list[str | None]) -> pd.arrays.ArrowExtensionArray:
    return _days([_date(value) for value in values])


def _date(value: str | None) -> date | None:
    with contextlib.suppress(ValueError):
        return date.fromisoformat(value) if value else None
    return None


def _source(found: Found | None, client: Svc) -> str:
    """Who answered, and from what, where the service says so."""
    name = service_name(client)
    return f"{name}: {found.source}" if found and found.source else name


def _edition(found: Found | None, client: Svc) -> str | None:
    if found and found.edition:
        return found.edition
    return client.book_edition if isinstance(client, EmbeddedSvc) else None
