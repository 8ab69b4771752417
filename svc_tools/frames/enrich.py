"""Rates onto rows: same index, same order, one outcome each."""

from __future__ import annotations

import contextlib
import warnings
from datetime import date
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.answers import answer_columns, results
from svc_tools.frames.asking import asking
from svc_tools.frames.columns import find_inputs
from svc_tools.frames.notes import ending, progress_bar, repairs, say
from svc_tools.frames.ownership import free_columns, remember_columns
from svc_tools.frames.questions import ask
from svc_tools.frames.used_answers import remember

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from svc_tools.frames.asking import Asking
    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.options import Options
    from svc_tools.lookup import Run

__all__ = ["LookupFailedError", "enrich", "plain_inputs", "warn_of_early_end", "with_columns"]

_REASONS_SHOWN = 3
_CALLER = 3
"""How far from `enrich` the line is that called `df.svc.lookup`, where 1 is `enrich` itself."""


class LookupFailedError(Exception):
    """Rows have no usable answer, and `errors="raise"` asked for an exception.

    Attributes:
        frame: the enriched frame, with everything that was found: nothing is lost.
    """

    def __init__(self, message: str, frame: pd.DataFrame) -> None:
        super().__init__(message)
        self.frame = frame

    def __reduce__(self) -> tuple[type[LookupFailedError], tuple[str, pd.DataFrame]]:
        """Between processes the frame is not lost either."""
        return type(self), (str(self), self.frame)


def enrich(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    options: Options,
    answering: Asking | None = None,
) -> pd.DataFrame:
    """Look every row up; see `SvcAccessor.lookup` for the meaning of the arguments.

    Args:
        frame: the rows.
        given: what answers each argument that names a place or a date.
        options: everything else.
        answering: who is asked instead of the one that the options name.
    """
    kept = free_columns(frame, options.prefix, options.names)
    inputs = find_inputs(frame, given, options.zone, options.as_of_grain)
    asked = ask(frame, inputs)
    places = dict.fromkeys(asked.places())
    with contextlib.ExitStack() as stack:
        asker = answering or stack.enter_context(asking(options, stacklevel=_CALLER))
        notes = [*inputs.notes, *repairs(asked), *asker.notes]
        if options.progress:
            say(notes)
        with progress_bar(len(places), shown=options.progress) as on_outcome:
            run = asker.ask(places, on_outcome)
        later = [note for note in asker.notes if note not in notes]
    columns = answer_columns(
        asked,
        run.outcomes,
        asker.who,
        options.rates,
        names=options.names,
        detail=options.detail,
        today=asker.today,
    )
    enriched = with_columns(kept, options.prefix, columns)
    remember_columns(enriched, options.prefix, columns)
    enriched.attrs["svc_lookup"] = {
        "prefix": options.prefix,
        "rows": len(frame),
        "asked": run.asked,
        "cached": run.cached,
        "requests": run.requests,
        "service": asker.who.name,
        "notes": [*notes, *later],
        "stopped": run.stopped,
        "detail": options.detail,
        "grain": options.as_of_grain,
        "inputs": plain_inputs(inputs),
    }
    remember(
        enriched,
        prefix=options.prefix,
        inputs=inputs,
        outcomes=run.outcomes,
        source=asker.source,
        answerer=asker.who,
        detail=options.detail,
    )
    if options.progress:
        say([*later, *ending(asked, results(asked, run.outcomes), run, asker.kept)])
    if options.errors == "raise":
        _raise_for(enriched, options.prefix)
    elif run.stopped:
        warn_of_early_end(run, enriched)
    return enriched


def with_columns(frame: pd.DataFrame, prefix: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with further columns; nothing of the frame itself is copied or changed."""
    enriched = frame.copy(deep=False)
    with warnings.catch_warnings():
        # each column is an array of its own: a frame of them is not the fragmented one it warns of
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        for name, column in columns.items():
            enriched[prefix + name] = column
    return enriched


def plain_inputs(inputs: Inputs) -> dict[str, object]:
    """What answered each argument, as JSON can hold it."""
    return {
        "columns": {role: _json(label) for role, label in inputs.columns.items()},
        "scalars": {role: _json(value) for role, value in inputs.scalars.items()},
        "tz": None if inputs.tz is None else str(inputs.tz),
    }


def _json(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool) else str(value)


def warn_of_early_end(run: Run, enriched: pd.DataFrame) -> None:
    """Say why a lookup ended early; where warnings are errors, the exception carries the frame."""
    message = (
        f"The lookup ended early: {run.stopped}. What was found is in the frame; the other rows are"
        " not_attempted. Run it again: what is in the cache is not asked for again."
    )
    try:
        warnings.warn(message, UserWarning, stacklevel=_CALLER + 1)
    except UserWarning as error:  # warnings are errors here: the frame must not be lost
        raise LookupFailedError(message, enriched) from error


def _raise_for(frame: pd.DataFrame, prefix: str) -> None:
    status, error = frame[f"{prefix}lookup_status"], frame[f"{prefix}lookup_error"]
    bad = ~status.isin(["ok", "partial"])
    if not bad.any():
        return
    reasons = (status[bad] + ": " + error[bad].fillna("")).value_counts()
    shown = "; ".join(f"{count} x {text}" for text, count in reasons[:_REASONS_SHOWN].items())
    more = f" and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    raise LookupFailedError(
        f"{int(bad.sum()):,} of {len(frame):,} rows have no usable answer:"
        f" {shown}{more}. The frame with everything that was found is in the exception's `frame`.",
        frame,
    )
