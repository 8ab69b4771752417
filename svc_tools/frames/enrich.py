"""Rates onto rows: same index, same order, one outcome each."""

from __future__ import annotations

import contextlib
import warnings
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_sdk import Svc
from svc_tools.config import EmbeddedSvc, configured, connect, service_name, unconfigured
from svc_tools.frames.columns import find_inputs
from svc_tools.frames.exact import RateForm, rate_column, texts
from svc_tools.frames.notes import say
from svc_tools.frames.ownership import free_columns
from svc_tools.frames.questions import Asked, ask
from svc_tools.lookup import STATUSES, Outcome, look_up, refused
from svc_tools.places import Question, Refusal, same_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pandas.api.extensions import ExtensionArray

    from svc_tools.lookup import Found
    from svc_tools.places import Place

__all__ = ["LookupFailedError", "enrich"]

MISMATCH = "place_input_mismatch"
_REASONS_SHOWN = 3


class LookupFailedError(Exception):
    """Rows have no usable answer, and `errors="raise"` asked for an exception.

    Attributes:
        frame: the enriched frame, with everything that was found: nothing is lost.
    """

    def __init__(self, message: str, frame: pd.DataFrame) -> None:
        super().__init__(message)
        self.frame = frame


def enrich(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    *,
    client: Svc | None,
    prefix: str,
    errors: Literal["coerce", "raise"],
    progress: bool,
    rates: RateForm,
) -> pd.DataFrame:
    """Look every row up; see `SvcAccessor.lookup` for the meaning of the arguments."""
    if errors not in {"coerce", "raise"}:
        raise ValueError(f"errors: {errors!r} is not known; expected 'coerce' or 'raise'")
    if rates not in {"decimal", "string", "float"}:
        raise ValueError(f"rates: {rates!r} is not known; expected 'decimal', 'string' or 'float'")
    if client is not None and not isinstance(client, Svc):
        raise TypeError(f"client: expected svc_sdk.Svc, not {type(client).__name__}")
    kept = free_columns(frame, prefix)
    inputs = find_inputs(frame, given)
    asked = ask(frame, inputs)
    with contextlib.ExitStack() as stack:
        service = client
        if service is None:
            ready = connect() if configured() else unconfigured(stacklevel=4)
            service = stack.enter_context(ready)
        notes = [*inputs.notes, *_notes(asked)]
        if progress:
            say(notes)
        places = dict.fromkeys(asked.places())
        with _progress(len(places), shown=progress) as advance:
            outcomes, stopped = look_up(service, places, on_outcome=advance)
        enriched = kept.copy(deep=False)
        for name, column in _columns(asked, outcomes, service, rates).items():
            enriched[prefix + name] = column
        enriched.attrs["svc_lookup"] = {
            "rows": len(frame),
            "asked": len(places),
            "service": service_name(service),
            "notes": notes,
            "stopped": stopped,
        }
    if progress:
        say(_ending(enriched, prefix))
    if stopped:
        warnings.warn(
            f"The lookup ended early: {stopped}. What was found is in the frame; the other rows"
            " are not_attempted.",
            UserWarning,
            stacklevel=3,
        )
    if errors == "raise":
        _raise_for(enriched, prefix)
    return enriched


def _ending(frame: pd.DataFrame, prefix: str) -> list[str]:
    """How many rows ended how, and the most frequent reason of those without a rate."""
    status, error = frame[f"{prefix}lookup_status"], frame[f"{prefix}lookup_error"]
    counted = status.value_counts()
    rows = ", ".join(f"{counted[name]:,} {name}" for name in STATUSES if name in counted)
    without = error[~status.isin(["ok", "partial"])].value_counts()
    lines = [f"rows: {rows}"] if rows else []
    if len(without):
        lines.append(f"most frequent reason: {without.index[0]} (rows: {without.iloc[0]:,})")
    return lines


def _notes(asked: Asked) -> list[str]:
    told = {
        "state_from_zip": "rows whose state was taken from the ZIP",
        "zip_repaired": "rows whose ZIP was tidied up (94105.0, 2134, 941051804 …)",
    }
    counted = ((text, asked.count(attribute)) for attribute, text in told.items())
    return [f"{text}: {count:,}" for text, count in counted if count]


@contextlib.contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Callable[[], object] | None]:
    """A progress bar where there is somebody to see it; text where the notebook has no widgets."""
    if not shown or not total:
        yield None
        return
    try:
        from tqdm import TqdmWarning  # noqa: PLC0415 - only where a bar is shown
    except ModuleNotFoundError:
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TqdmWarning)  # "IProgress not found": the text bar serves
        from tqdm.auto import tqdm  # noqa: PLC0415 - as above

        # a bar of text belongs on a terminal, not in a log; a notebook draws its own
        shown_as_text = tqdm.__module__ == "tqdm.asyncio"
        bar = tqdm(
            total=total,
            desc="places",
            unit="place",
            leave=False,
            disable=None if shown_as_text else False,
        )
    with bar:
        yield bar.update


def _columns(
    asked: Asked, outcomes: Mapping[Place, Outcome], client: Svc, rates: RateForm
) -> dict[str, Any]:
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


def _raise_for(frame: pd.DataFrame, prefix: str) -> None:
    status, error = frame[f"{prefix}lookup_status"], frame[f"{prefix}lookup_error"]
    bad = ~status.isin(["ok", "partial"])
    if not bad.any():
        return
    reasons = (status[bad] + ": " + error[bad].fillna("")).value_counts()
    shown = "; ".join(f"{count} x {text}" for text, count in reasons[:_REASONS_SHOWN].items())
    more = f" and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    raise LookupFailedError(
        f"{int(np.count_nonzero(bad)):,} of {len(frame):,} rows have no usable answer:"
        f" {shown}{more}. The frame with everything that was found is in the exception's `frame`.",
        frame,
    )
