"""Cells that cannot be read as they are: they are read as a text, and given back unchanged.

One such cell is a fault of its row. Halves of characters have no bytes, lists no hash, a signaling
NaN compares to nothing, and any object may raise where it is compared or shown: without a text in
their place each of them would end a whole frame somewhere. `SvcAccessor` reads frames through here,
and so do the partitions of Dask.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal
from operator import is_
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.values.arrow import frame_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.tables.tabular import Chunk

_FINE = frozenset(
    (
        *(bool, float, type(None), type(pd.NA), type(pd.NaT), pd.Timestamp, dt.date, dt.datetime),
        *(np.bool_, np.float64, np.int64, np.int32),
    )
)
"""Types of which each cell can be read."""
_PLAIN = frozenset((str, int, Decimal))
"""Types of which only some values cannot be read; their subclasses may do anything."""
_MOST_BITS = 4_096
"""Python makes no text of a whole number that is far larger."""


class Shown(str):
    """The text of a cell that is no text itself."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Readable:
    """A frame in which every cell and every label can be read.

    Attributes:
        frame: the frame.
        own: the columns of which a cell was replaced, as they were, by their position.
        labels: the labels that were replaced, as they were, by what stands in their place.
    """

    frame: pd.DataFrame
    own: Mapping[int, pd.Series]
    labels: Mapping[str, Hashable] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Readable:
        """The frame itself where all of its cells can be read, else a copy."""
        own: dict[int, pd.Series] = {}
        made = frame
        for place, dtype in enumerate(frame.dtypes):
            column = frame.iloc[:, place]
            cells = _cells_in_doubt(column, dtype)
            if cells is None:
                continue
            if not own:
                made = frame.copy(deep=False)
            own[place] = column
            read = [_text_of_odd(cell) if _is_odd(cell) else cell for cell in cells]
            _put(made, place, pd.Series(read, frame.index, object))
        labels = _labels_in_place(frame.columns)
        if labels:
            standing = iter(labels)
            names = [next(standing) if _is_missing(label) else label for label in frame.columns]
            made = made.set_axis(pd.Index(names, dtype=object), axis=1)
        return cls(made, own, labels)

    def restored(self, result: pd.DataFrame) -> pd.DataFrame:
        """A frame that was made of it row by row, with the cells and labels as they were.

        A column that was written anew stays, also where it has the name of a replaced one.
        """
        free = 0
        for place, column in self.own.items():
            label, read = self.frame.columns[place], self.frame.iloc[:, place].tolist()
            for at in range(free, result.shape[1]):
                if result.columns[at] == label and _is_the_same(result.iloc[:, at], read):
                    _put(result, at, column.set_axis(result.index))
                    free = at + 1
                    break
        if self.labels:
            names = [self.labels.get(label, label) for label in result.columns]
            result.columns = pd.Index(names, dtype=object, tupleize_cols=False)
        return result


def rows_of(chunk: Chunk, positions: Sequence[int] | None = None) -> pd.DataFrame:
    """Columns of a file's rows as a frame in which every cell can be read; by default all."""
    return Readable.of(frame_of(chunk, positions)).frame


def _cells_in_doubt(column: pd.Series, dtype: object) -> list[object] | None:
    """The cells of a column with some that cannot be read."""
    if isinstance(dtype, pd.ArrowDtype):
        if not _is_odd_kind(dtype.pyarrow_dtype):
            return None
        values: list[object] = column.array.__arrow_array__().to_pylist()
        return values
    if not (isinstance(dtype, np.dtype) and dtype.kind == "O"):
        return None
    cells: list[object] = column.tolist()
    return cells if _has_odd(cells) else None


def _is_odd_kind(kind: pa.DataType) -> bool:
    """Whether Arrow cannot tell which values of a type are equal: lists, structs, newer types."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return False
    try:
        pa.array([], kind).dictionary_encode()
    except (pa.ArrowException, NotImplementedError):
        return True
    return isinstance(kind, pa.BaseExtensionType) or "view" in str(kind)


def _labels_in_place(columns: pd.Index) -> dict[str, Hashable]:
    """The missing labels, which are not equal to themselves or stop a comparison, by a text."""
    found: dict[str, Hashable] = {}
    if isinstance(columns, pd.MultiIndex) or not columns.hasnans:
        return found
    taken = {label for label in columns if isinstance(label, str)}
    for label in columns:
        if _is_missing(label):
            name = str(label)
            while name in taken:
                name += "_"
            taken.add(name)
            found[name] = label
    return found


def _is_missing(label: Hashable) -> bool:
    if isinstance(label, float):
        return math.isnan(label)
    return label is None or label is pd.NA or label is pd.NaT


def _is_the_same(column: pd.Series, cells: list[object]) -> bool:
    """Whether a column still has these very cells."""
    return column.dtype == object and all(map(is_, column.tolist(), cells))


def _has_odd(cells: list[object]) -> bool:
    kinds = {*map(type, cells)} - _FINE
    if kinds == {str}:  # most often: without a call for each cell
        texts = [cell for cell in cells if isinstance(cell, str)]
        return not all(map(str.isascii, texts)) and any(map(_has_half, texts))
    return bool(kinds) and any(map(_is_odd, cells))


def _put(frame: pd.DataFrame, place: int, column: pd.Series) -> None:
    frame.isetitem(place, column)  # type: ignore[arg-type]  # an array would be made text


def _is_odd(cell: object) -> bool:
    """Whether a cell cannot be hashed, compared or written as text, as factorizing requires."""
    kind = type(cell)
    if kind in _FINE:
        return False
    if (
        (isinstance(cell, str) and _has_half(cell))
        or (isinstance(cell, int) and cell.bit_length() > _MOST_BITS)
        or (isinstance(cell, Decimal) and cell.is_snan())
        or _is_missing_number(cell)
    ):
        return True
    if kind in _PLAIN:
        return False
    try:
        hash(cell)
        str(cell)
        bool(cell != cell)  # noqa: PLR0124 - what tells a missing value
        bool(cell == cell)  # noqa: PLR0124 - as above
        bool(cell == "")
    except Exception:  # noqa: BLE001 - an object of any kind
        return True
    return False


def _has_half(text: str) -> bool:
    if str.isascii(text):
        return False
    try:
        str.encode(text)
    except UnicodeEncodeError:
        return True
    return False


def _is_missing_number(cell: object) -> bool:
    """Whether it is NaN as a float of another size, which Arrow knows as no missing cell."""
    return isinstance(cell, np.floating) and bool(np.isnan(cell))


def _text_of_odd(cell: object) -> str | None:
    """A text that is no amount, place or date, whatever the cell is; `None` where it is missing."""
    if _is_missing_number(cell):
        return None
    try:
        if isinstance(cell, str):
            return str.encode(cell, "utf-8", "backslashreplace").decode()
        return Shown(repr(cell).encode("utf-8", "backslashreplace").decode())
    except Exception:  # noqa: BLE001 - as above
        return Shown(f"<{type(cell).__name__}>")
