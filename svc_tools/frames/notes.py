"""Notes of a lookup, printed on standard error, and the note stored with the frame."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import date
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

from svc_tools.frames.lookup_columns import WITH_RATE
from svc_tools.lookup import STATUSES
from svc_tools.lookup.outcomes import counted_alike

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.queries import Asked
    from svc_tools.lookup import Outcome, Run


def say(notes: Iterable[str]) -> None:
    """Print notes on standard error, as the progress bar: standard output is the caller's.

    On a terminal they are wrapped at words; in a log each is one line.
    """
    width = get_terminal_size().columns if sys.stderr.isatty() else None
    for note in notes:
        print(_wrapped(f"svc: {note}", width), file=sys.stderr)  # noqa: T201 - for the user, as tqdm does


def _wrapped(line: str, width: int | None) -> str:
    if width is None:
        return line
    indent = " " * len("svc: ")
    return fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


REPAIRS = {
    "state_from_zip": "rows whose state was taken from the ZIP",
    "state_from_address": "rows whose state was taken from the end of the address or place name",
    "zip_repaired": "rows whose ZIP was normalized (such as 2134 to 02134)",
}
"""The corrections that are reported, by the attribute of a place that names them."""


def repairs(asked: Asked) -> list[str]:
    """How many rows were understood only after a correction."""
    counted = ((text, asked.count(attribute)) for attribute, text in REPAIRS.items())
    return [f"{text}: {count:,}" for text, count in counted if count]


def ending(asked: Asked, outcomes: Iterable[Outcome], run: Run, store: str) -> list[str]:
    """The rows by status, the most frequent reason for no rate, and the number of requests.

    `store` is where the results came from that were not requested: the cache or a lock file.
    """
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for outcome, rows in zip(outcomes, asked.rows.tolist(), strict=True):
        statuses[outcome.status] += rows
        if outcome.status not in WITH_RATE:
            reasons[outcome.error or outcome.status] += rows
    rows = ", ".join(f"{statuses[name]:,} {name}" for name in STATUSES if statuses[name])
    lines = [f"rows: {rows}"] if rows else []
    if reasons:
        every = [("", reason, count) for reason, count in reasons.items()]
        _, reason, count = counted_alike(every)[0]
        lines.append(f"most frequent reason: {reason} (rows: {count:,})")
    if run.cached:
        lines.append(f"places: {run.cached:,} answered from {store}, {run.asked:,} asked for")
    return lines


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
    """The value of the frame's attribute `svc_lookup`: the lookup as JSON can hold it."""
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
