"""What a frame says of its last lookup: plain values that a file can keep, too."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.frames.columns import Inputs
    from svc_tools.lookup import Run

__all__ = ["note_of"]


def note_of(
    run: Run,
    inputs: Inputs,
    *,
    prefix: str,
    rows: int,
    service: str,
    notes: Iterable[str],
    detail: bool,
    grain: str,
) -> dict[str, object]:
    """The value of the frame's attribute `svc_lookup`, as JSON can hold it.

    Args:
        run: what came of the places.
        inputs: what answered each argument.
        prefix: that of the lookup's columns.
        rows: how many rows were looked up.
        service: who was asked, by name.
        notes: what was decided without being told.
        detail: whether full answers were asked for.
        grain: the `as_of_grain` of the dates.
    """
    return {
        "prefix": prefix,
        "rows": rows,
        "asked": run.asked,
        "cached": run.cached,
        "requests": run.requests,
        "service": service,
        "notes": list(notes),
        "stopped": run.stopped,
        "detail": detail,
        "grain": grain,
        "inputs": {
            "columns": {role: _json(label) for role, label in inputs.columns.items()},
            "scalars": {role: _json(value) for role, value in inputs.scalars.items()},
            "tz": None if inputs.tz is None else str(inputs.tz),
        },
    }


def _json(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool) else str(value)
