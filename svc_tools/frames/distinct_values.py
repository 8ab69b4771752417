"""The distinct values of a column that an argument names, and which row has which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import require_columns, require_one

if TYPE_CHECKING:
    from collections.abc import Hashable

    import numpy as np

__all__ = ["distinct_values", "is_label"]


def is_label(frame: pd.DataFrame, value: object) -> bool:
    """Whether a value is the name of one of the frame's columns."""
    try:
        return not isinstance(value, bool) and value in frame.columns
    except TypeError:
        return False


def distinct_values(
    frame: pd.DataFrame, label: Hashable, argument: str
) -> tuple[np.ndarray, list[object]]:
    """The number of each row's value (-1: missing), and the values by number.

    Raises:
        ValueError: there is no such column, or several of that name.
        TypeError: the column holds values that cannot be told apart, such as lists.
    """
    require_columns(frame, (label,), f"say which with {argument}='…'")
    require_one(frame, label, argument)
    try:
        codes, values = pd.factorize(frame[label])
    except TypeError:
        raise TypeError(
            f"{argument}: column {label!r} holds values that are no text, number or date"
        ) from None
    return codes, list(values)
