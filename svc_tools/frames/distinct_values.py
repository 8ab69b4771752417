"""The distinct values of a column that an argument names, and which row has which."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.enriched import require_columns, require_one

if TYPE_CHECKING:
    from collections.abc import Hashable

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
    found = list(values)
    if isinstance(frame[label].dtype, pd.ArrowDtype):  # where NaN is a value, and no gap
        gaps = [isinstance(value, float) and math.isnan(value) for value in found]
        codes = np.where(np.array([*gaps, False], bool)[codes], -1, codes)
    return codes, found
