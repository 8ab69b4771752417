"""Rates onto rows: same index, same order, one outcome each."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from svc_sdk import Svc
from svc_tools.config import configured, connect, service_name, unconfigured
from svc_tools.frames.answers import answer_columns
from svc_tools.frames.columns import find_inputs
from svc_tools.frames.notes import progress_bar, say
from svc_tools.frames.ownership import free_columns
from svc_tools.frames.questions import Asked, ask
from svc_tools.lookup import STATUSES, look_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from svc_tools.frames.exact import RateForm

__all__ = ["LookupFailedError", "enrich"]

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
        with progress_bar(len(places), shown=progress) as advance:
            outcomes, stopped = look_up(service, places, on_outcome=advance)
        enriched = kept.copy(deep=False)
        for name, column in answer_columns(asked, outcomes, service, rates).items():
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
    if errors == "raise":
        _raise_for(enriched, prefix)
    elif stopped:
        _warn_of_early_end(stopped, enriched)
    return enriched


def _warn_of_early_end(stopped: str, enriched: pd.DataFrame) -> None:
    message = (
        f"The lookup ended early: {stopped}. What was found is in the frame; the other rows are"
        " not_attempted."
    )
    try:
        warnings.warn(message, UserWarning, stacklevel=4)
    except UserWarning as error:  # warnings are errors here: the frame must not be lost
        raise LookupFailedError(message, enriched) from error


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
