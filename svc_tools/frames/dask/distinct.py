"""The distinct rows of a Dask frame over the whole cluster: a tree, bounded on the way.

Each partition keeps its distinct combinations of the columns that a place is made of, and how many
rows have each. They are merged eight at a time, so no worker ever holds more than eight partitions'
distinct combinations, and this process gets each combination once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from dask.delayed import delayed

from svc_tools.frames.questions import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import dask.dataframe as dd

__all__ = ["Distinct", "distinct"]

_MERGED = 8
"""How many partitions' distinct combinations are merged at a time."""
Distinct = tuple[pd.DataFrame, np.ndarray]
"""The distinct combinations of a frame's columns, and the number of rows of each (int64)."""


def distinct(ddf: dd.DataFrame, labels: Sequence[Hashable]) -> Distinct:
    """The distinct combinations of these columns. Computes: one pass over these columns alone."""
    found = delayed(_of_partition, pure=True)
    merged = delayed(_merged, pure=True)
    # a projection of no column still has an index, which counts the rows
    level = [found(part, list(labels)) for part in ddf[list(labels)].to_delayed()]
    while len(level) > 1:
        groups = [level[start : start + _MERGED] for start in range(0, len(level), _MERGED)]
        level = [merged(group, list(labels)) for group in groups]
    (only,) = level
    result: Distinct = only.compute()
    return result


def _of_partition(frame: pd.DataFrame, labels: list[Hashable]) -> Distinct:
    return _distinct(frame, np.ones(len(frame), np.int64), labels)


def _merged(parts: list[Distinct], labels: list[Hashable]) -> Distinct:
    # an empty partition's columns may have any type: it must not change that of the others
    there = [part for part in parts if len(part[0])] or parts[:1]
    frame = pd.concat([part[0] for part in there], ignore_index=True)
    return _distinct(frame, np.concatenate([part[1] for part in there]), labels)


def _distinct(frame: pd.DataFrame, rows: np.ndarray, labels: list[Hashable]) -> Distinct:
    codes, first = distinct_rows(frame, labels)
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, codes, rows)
    return frame.iloc[first].reset_index(drop=True), counts
