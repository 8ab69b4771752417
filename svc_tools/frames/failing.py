"""How a lookup says that rows have no answer, or that it ended early: the frame is never lost."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

from svc_tools.frames.answers import results

if TYPE_CHECKING:
    import pandas as pd

    from svc_tools.frames.questions import Asked
    from svc_tools.lookup import Run

__all__ = ["LookupFailedError", "raise_for", "warn_of_early_end"]

_REASONS_SHOWN = 3
_CALLER_OF_WARNING = 5
"""How far from `warn_of_early_end` the line is that called `df.svc.lookup`."""


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


def raise_for(asked: Asked, run: Run, enriched: pd.DataFrame) -> None:
    """Raise where rows have no usable answer; the most frequent reasons are named.

    Raises:
        LookupFailedError: as said.
    """
    reasons: Counter[str] = Counter()
    for outcome, rows in zip(results(asked, run.outcomes), asked.rows.tolist(), strict=True):
        if outcome.status not in {"ok", "partial"}:
            reasons[f"{outcome.status}: {outcome.error or ''}"] += rows
    if not reasons:
        return
    shown = "; ".join(f"{rows} x {text}" for text, rows in reasons.most_common(_REASONS_SHOWN))
    more = f" and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    raise LookupFailedError(
        f"{reasons.total():,} of {int(asked.rows.sum()):,} rows have no usable answer:"
        f" {shown}{more}. The frame with everything that was found is in the exception's `frame`.",
        enriched,
    )


def warn_of_early_end(run: Run, enriched: pd.DataFrame) -> None:
    """Say why a lookup ended early; where warnings are errors, the exception carries the frame."""
    message = (
        f"The lookup ended early: {run.stopped}. What was found is in the frame; the other rows are"
        " not_attempted. Run it again: what is in the cache is not asked for again."
    )
    try:
        warnings.warn(message, UserWarning, stacklevel=_CALLER_OF_WARNING)
    except UserWarning as error:  # warnings are errors here: the frame must not be lost
        raise LookupFailedError(message, enriched) from error
