"""What was found, as it goes to the workers: a table of whole numbers and texts, taken by code.

It holds one row for each distinct combination of a frame's place columns. It is pickled once,
compressed, into the graph; a worker unpacks it once and joins every partition from it. Rates are
integers of 10^-5 in it: only a partition's finished columns are decimals.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from svc_tools.frames.exact import RATE, decimals, units_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pandas.api.extensions import ExtensionArray

__all__ = ["ChangedDataError", "Table"]

_LEVEL = 1
"""Of zlib: the columns repeat themselves so much that more effort gains nothing."""


class ChangedDataError(RuntimeError):
    """A partition holds a place that was not there when the places were collected."""


class Table:
    """The columns of an answer, one row for each distinct combination of the place columns."""

    def __init__(
        self,
        frame: pd.DataFrame,
        labels: Sequence[Hashable],
        prefix: str,
        columns: Mapping[str, Any],
    ) -> None:
        """Take the distinct combinations in `frame` and, for each, the finished `columns`."""
        self.prefix = prefix
        self.attrs: dict[Hashable, Any] = {}
        """What every partition is to remember of the lookup."""
        self._steps = _steps(frame, labels)
        self._columns = {name: _narrow(column) for name, column in columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, without the prefix."""
        return tuple(self._columns)

    def columns(self, partition: pd.DataFrame) -> dict[str, ExtensionArray | np.ndarray]:
        """The columns for the rows of a partition.

        Raises:
            ChangedDataError: the partition holds a place that the table does not know.
        """
        codes = self._codes(partition)
        return {name: _taken(column, codes) for name, column in self._columns.items()}

    def _codes(self, partition: pd.DataFrame) -> np.ndarray:
        """For each row of a partition its row in the table."""
        codes = np.zeros(len(partition), np.int64)
        for label, known, combinations in self._steps:
            column, uniques = pd.factorize(partition[label])
            positions = known.get_indexer(_values(uniques))
            if (positions < 0).any():
                raise _changed(label, uniques[int(np.argmin(positions))])
            # the last one is for what is missing, whose code is -1
            combined = codes * (len(known) + 1) + np.append(positions, len(known))[column]
            codes = combinations.get_indexer(pd.Index(combined))
            if (codes < 0).any():
                raise _changed(label, partition[label].iloc[int(np.argmin(codes))])
        return codes

    def _packed(self) -> bytes:
        return zlib.compress(pickle.dumps(vars(self), protocol=5), _LEVEL)

    def __reduce__(self) -> tuple[Any, ...]:
        """Small on its way to the workers."""
        return _unpacked, (self._packed(),)

    def __dask_tokenize__(self) -> str:
        """A name in a graph that no other table has."""
        return hashlib.blake2b(self._packed(), digest_size=16).hexdigest()

    def __sizeof__(self) -> int:
        """About the bytes it holds, for the workers' memory accounts."""
        steps = sum(known.memory_usage(deep=True) + c.nbytes for _, known, c in self._steps)
        return steps + sum(_size(column) for column in self._columns.values())

    def __repr__(self) -> str:
        """How much it holds, for a dashboard."""
        return f"Table({len(self._columns)} columns, {sys.getsizeof(self):,} bytes)"


def _unpacked(packed: bytes) -> Table:
    table = Table.__new__(Table)
    # what a graph carries is code as well as data: this adds no trust
    vars(table).update(pickle.loads(zlib.decompress(packed)))  # noqa: S301
    return table


def _steps(
    frame: pd.DataFrame, labels: Sequence[Hashable]
) -> list[tuple[Hashable, pd.Index, pd.Index]]:
    """For each column its distinct values, and the codes that they make with those before them.

    Column by column the combinations are numbered anew, so that no product of counts overflows.
    """
    codes = np.zeros(len(frame), np.int64)
    steps = []
    for label in labels:
        column, uniques = pd.factorize(frame[label])
        column = np.where(column < 0, len(uniques), column)
        codes, combinations = pd.factorize(codes * (len(uniques) + 1) + column)
        steps.append((label, _values(uniques), pd.Index(combinations)))
    return steps


def _values(uniques: Any) -> pd.Index:  # noqa: ANN401 - whatever a column's values are kept in
    """Distinct values as objects: one partition's text or number may be kept in another form."""
    index: pd.Index = pd.Index(np.asarray(uniques, dtype=object), dtype=object)
    return index


def _narrow(column: Any) -> Any:  # noqa: ANN401 - as above
    if isinstance(column, pd.arrays.ArrowExtensionArray) and column.dtype == pd.ArrowDtype(RATE):
        return units_of(pd.Series(column))
    return column


def _taken(column: Any, codes: np.ndarray) -> Any:  # noqa: ANN401 - as above
    if isinstance(column, tuple):
        units, missing = column
        return decimals(units[codes], missing[codes], RATE)
    return column.take(codes)


def _size(column: Any) -> int:  # noqa: ANN401 - as above
    return sum(part.nbytes for part in column) if isinstance(column, tuple) else column.nbytes


def _changed(label: Hashable, value: object) -> ChangedDataError:
    return ChangedDataError(
        f"column {label!r} now holds {str(value)[:40]!r} in a row whose place was not there when"
        " the places were collected: the data behind the frame changed, or are made anew at random"
        " each time. Look up again, or persist() the frame first"
    )
