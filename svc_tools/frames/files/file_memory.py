"""What a file's rows remember of their lookup, as a frame does: for its report, and in Parquet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import NOTE
from svc_tools.frames.lookup_note import note_of
from svc_tools.frames.used_answers import remember

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from svc_tools.config import Source
    from svc_tools.frames.files.file_rates import Answered
    from svc_tools.frames.files.file_terms import Layout, Terms
    from svc_tools.lookup import Run

__all__ = ["memory_of", "with_memory"]

_OF_PANDAS = b"PANDAS_ATTRS"
"""Where pandas keeps a frame's attributes in a Parquet file."""
_OURS = "svc_"


def memory_of(
    layout: Layout,
    terms: Terms,
    answered: Answered,
    run: Run,
    *,
    rows: int,
    source: Source | None,
    notes: list[str],
    of_tax: Mapping[Hashable, object],
) -> dict[Hashable, object]:
    """The attributes that `df.svc.lookup()` and `df.svc.tax()` leave on a frame of these rows."""
    frame = pd.DataFrame()
    frame.attrs = {
        **of_tax,
        NOTE: note_of(
            run,
            layout.inputs,
            prefix=terms.prefix,
            rows=rows,
            service=answered.who.name,
            notes=notes,
            detail=terms.detail,
            grain=terms.grain,
        ),
    }
    # dates that are not written as ISO cannot be asked again from the rows alone
    if source is not None and terms.date_format is None:
        remember(
            frame,
            prefix=terms.prefix,
            inputs=layout.inputs,
            outcomes=answered.outcomes,
            source=source,
            answerer=answered.who,
            detail=terms.detail,
        )
    return frame.attrs


def with_memory(
    before: Mapping[bytes, bytes] | None, memory: Mapping[Hashable, object]
) -> dict[bytes, bytes]:
    """A file's own metadata, with what its rows remember now instead of an earlier run's."""
    told = dict(before or {})
    kept = _attributes(told.get(_OF_PANDAS))
    told[_OF_PANDAS] = json.dumps(kept | dict(memory), default=str).encode()
    if b"pandas" in told:  # Arrow keeps them once more, there
        pandas = json.loads(told[b"pandas"])
        if isinstance(pandas, dict) and pandas.pop("attributes", None):
            told[b"pandas"] = json.dumps(pandas).encode()
    return told


def _attributes(text: bytes | None) -> dict[Hashable, object]:
    """A frame's attributes but ours."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if not str(name).startswith(_OURS)}
