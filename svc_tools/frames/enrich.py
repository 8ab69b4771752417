"""Rates onto rows: same index, same order, one outcome each."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.answers import answer_columns, results
from svc_tools.frames.asking import asking
from svc_tools.frames.columns import find_inputs
from svc_tools.frames.enriched import NOTE
from svc_tools.frames.failing import raise_for, warn_of_early_end
from svc_tools.frames.lookup_note import note_of
from svc_tools.frames.notes import ending, progress_bar, repairs, say
from svc_tools.frames.ownership import free_columns, remember_columns
from svc_tools.frames.questions import ask
from svc_tools.frames.used_answers import remember

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.options import Options
    from svc_tools.frames.questions import Asked

__all__ = ["enrich", "enrich_asked", "with_columns"]

_CALLER = 4
"""How far from `enrich_asked` the line is that called `df.svc.lookup`; 1 is `enrich_asked`."""


def enrich(frame: pd.DataFrame, given: Mapping[str, object], options: Options) -> pd.DataFrame:
    """Look every row up; see `SvcAccessor.lookup` for the meaning of the arguments.

    Args:
        frame: the rows.
        given: what answers each argument that names a place or a date.
        options: everything else.
    """
    kept = free_columns(frame, options.prefix, options.names)
    inputs = find_inputs(frame, given, options.zone, options.as_of_grain)
    return enrich_asked(kept, inputs, ask(frame, inputs), options)


def enrich_asked(
    frame: pd.DataFrame, inputs: Inputs, asked: Asked, options: Options
) -> pd.DataFrame:
    """Look up the queries of a frame's rows, and add the columns.

    Args:
        frame: the rows, without the columns of an earlier lookup.
        inputs: which columns and values the queries were made of.
        asked: the queries, and how many rows have each.
        options: those of the lookup.
    """
    places = dict.fromkeys(asked.places())
    with asking(options, stacklevel=_CALLER) as asker:
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
    enriched = with_columns(frame, options.prefix, columns)
    remember_columns(enriched, options.prefix, columns)
    enriched.attrs[NOTE] = note_of(
        run,
        inputs,
        prefix=options.prefix,
        rows=int(asked.rows.sum()),
        service=asker.who.name,
        notes=[*notes, *later],
        detail=options.detail,
        grain=options.as_of_grain,
    )
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
        raise_for(asked, run, enriched)
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
