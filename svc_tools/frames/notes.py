"""What a person sees of a lookup: what was decided, how far it is, and how the rows ended."""

# MERGED lookup_note: What a frame says of its last lookup: plain values that a file can keep, too.

from __future__ import annotations

import contextlib
import sys
import warnings
from collections import Counter
from datetime import date
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

from svc_tools.lookup import STATUSES
from svc_tools.lookup.outcomes import counted_alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.queries import Asked
    from svc_tools.lookup import Outcome, Run

_WITH_RATE = {"ok", "partial"}


def say(notes: Iterable[str]) -> None:
    """Print notes beside the progress bar, on standard error: the output stays the caller's.

    On a terminal they are wrapped at words; in a log each is one line.
    """
    width = get_terminal_size().columns if sys.stderr.isatty() else None
    for note in notes:
        print(_wrapped(f"svc: {note}", width), file=sys.stderr)  # noqa: T201 - said to the person, as tqdm does


def _wrapped(line: str, width: int | None) -> str:
    if width is None:
        return line
    indent = " " * len("svc: ")
    return fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def repairs(asked: Asked) -> list[str]:
    """How many rows were understood only after something was mended."""
    told = {
        "state_from_zip": "rows whose state was taken from the ZIP",
        "zip_repaired": "rows whose ZIP was tidied up (such as 2134 for 02134)",
    }
    counted = ((text, asked.count(attribute)) for attribute, text in told.items())
    return [f"{text}: {count:,}" for text, count in counted if count]


def ending(
    asked: Asked, outcomes: Iterable[Outcome], run: Run, kept: str = "the cache"
) -> list[str]:
    """How many rows ended how, the most frequent reason of those without a rate, and the cost.

    `kept` is what gave the answers that were not asked for.
    """
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for outcome, rows in zip(outcomes, asked.rows.tolist(), strict=True):
        statuses[outcome.status] += rows
        if outcome.status not in _WITH_RATE:
            reasons[outcome.error or outcome.status] += rows
    rows = ", ".join(f"{statuses[name]:,} {name}" for name in STATUSES if statuses[name])
    lines = [f"rows: {rows}"] if rows else []
    if reasons:
        every = [("", reason, count) for reason, count in reasons.items()]
        _, reason, count = counted_alike(every)[0]
        lines.append(f"most frequent reason: {reason} (rows: {count:,})")
    if run.cached:
        lines.append(f"places: {run.cached:,} answered from {kept}, {run.asked:,} asked for")
    return lines


@contextlib.contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[Outcome], object] | None]:
    """A progress bar where there is somebody to see it; text where the notebook has no widgets.

    Yields what is to be called with each outcome; `None` where nothing is shown.
    """
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
        yield lambda _outcome: bar.update()


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
