"""Cells that cannot be read as they are: they are read as a text, and given back unchanged.

One such cell is a fault of its row. Halves of characters have no bytes, lists no hash, a signaling
NaN compares to nothing, and any object may raise where it is compared or shown: without a text in
their place each of them would end a whole frame somewhere. `SvcAccessor` reads frames through here,
and so do the partitions of Dask.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

_FINE = frozenset(
    (
        *(bool, float, type(None), type(pd.NA), type(pd.NaT), pd.Timestamp, dt.date, dt.datetime),
        *(np.bool_, np.float64, np.float32, np.int64, np.int32),
    )
)
"""Types of which each cell can be read."""
_MOST_BITS = 4_096
"""Python makes no text of a whole number that is far larger."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A frame in which every cell can be read.

    Attributes:
        frame: the frame.
        own: the columns of which a cell was replaced, as they were, by their position.
    """

    frame: pd.DataFrame
    own: Mapping[int, pd.Series]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Readable:
        """The frame itself where all of its cells can be read, else a copy."""
        own: dict[int, pd.Series] = {}
        made = frame
        for place, dtype in enumerate(frame.dtypes):
            if not (isinstance(dtype, np.dtype) and dtype.kind == "O"):
                continue
            column = frame.iloc[:, place]
            cells = column.tolist()
            if not _has_odd(cells):
                continue
            if not own:
                made = frame.copy(deep=False)
            own[place] = column
            read = [_text_of_odd(cell) if _is_odd(cell) else cell for cell in cells]
            _put(made, place, pd.Series(read, frame.index, object))
        return cls(made, own)

    def restored(self, result: pd.DataFrame) -> pd.DataFrame:
        """A frame that was made of it row by row, with the cells as they were."""
        for place, column in self.own.items():
            label = self.frame.columns[place]
            before = sum(other == label for other in self.frame.columns[:place])
            here = np.flatnonzero(result.columns == label)
            if before < len(here):
                _put(result, int(here[before]), column.set_axis(result.index))
        return result


def _has_odd(cells: list[object]) -> bool:
    kinds = {*map(type, cells)} - _FINE
    if kinds == {str}:  # most often: without a call for each cell
        texts = [cell for cell in cells if isinstance(cell, str)]
        return not all(map(str.isascii, texts)) and any(map(_has_half, texts))
    return bool(kinds) and any(map(_is_odd, cells))


def _put(frame: pd.DataFrame, place: int, column: pd.Series) -> None:
    frame.isetitem(place, column)  # type: ignore[arg-type]  # an array would be made text


def _is_odd(cell: object) -> bool:
    kind = type(cell)
    if kind in _FINE:
        return False
    if isinstance(cell, str):
        return not cell.isascii() and _has_half(cell)
    if isinstance(cell, int):
        return cell.bit_length() > _MOST_BITS
    if isinstance(cell, Decimal):
        return cell.is_snan()
    try:
        hash(cell)
        str(cell)
        bool(cell != cell)  # noqa: PLR0124 - what tells a missing value
    except Exception:  # noqa: BLE001 - an object of any kind
        return True
    return False


def _has_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _text_of_odd(cell: object) -> str:
    """A text that is no amount, place or date, whatever the cell is."""
    try:
        text = cell if isinstance(cell, str) else repr(cell)
        return text.encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - as above
        return f"<{type(cell).__name__}>"
