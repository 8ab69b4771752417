"""Columns that a result adds to the user's rows, and that a second result replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["without_added"]


def without_added(frame: pd.DataFrame, names: Sequence[str], what: str) -> pd.DataFrame:
    """The frame without the columns that an earlier result of the same kind added.

    Args:
        frame: the rows.
        names: the columns that the result adds.
        what: the result, for the message: "a review".

    Raises:
        ValueError: some of the names are there, so they are the user's own.
    """
    there = [name for name in names if name in frame.columns]
    if len(there) == len(names):
        return frame.drop(columns=list(names))
    if there:
        raise ValueError(f"the frame has a column {there[0]!r}, which {what} adds; rename it")
    return frame
