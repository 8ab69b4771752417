"""The distinct values of a column, and which row has which. ZIPs and states take a short way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["combined", "factorized", "numbered"]

_SHORT = 2
_DIGITS = (3, 6)
"""So many digits make a number that a table can have a place for."""
_ZERO, _NINE = b"09"
_BLOCK = 65_536
"""Rows that are numbered at once: what is new among them is found while they are at hand."""
_DENSE_SPAN = 4
"""A table of this many entries per row is still cheaper than hashing, and small beside a frame."""
_SMALL_SPAN = 4_194_304
_INT32 = 2**31
_WORTH_IT = 10_000
"""Below so many rows the tables cost more than they save."""


def factorized(column: pd.Series, label: Hashable) -> tuple[np.ndarray, list[object]]:
    """For each row the number of its value (-1: missing), and the values. In no certain order.

    Raises:
        TypeError: the column holds lists, or other values that are no single ones.
    """
    numbers = _numbers(column)
    if numbers is not None:
        codes, first = numbers
        return codes, column.take(first).tolist()
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        odd = next((value for value in column.array if not _is_hashable(value)), None)
        if odd is None:
            raise
        raise TypeError(
            f"column {label!r} holds values that are no text, number or date, such as {odd!r}"
        ) from None
    return codes, values.tolist()


def numbered(keys: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys from 0 up to `span` by their distinct values, numbered as they appear.

    A table with a place for every possible key: faster than hashing while it is small.

    Returns:
        For each row the number of its key, and for each number the first row.
    """
    kind = np.int32 if len(keys) < 2**31 else np.int64
    table: np.ndarray[tuple[int], np.dtype[np.int64]] = np.full(span, -1, kind)
    firsts = [np.empty(0, np.intp)]
    known = 0
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        new = np.flatnonzero(table.take(block) < 0)
        if not len(new):
            continue
        unknown = block[new]
        order = np.arange(len(unknown), dtype=kind)
        table[unknown[::-1]] = order[::-1]  # the first row of a key is written last
        is_first = np.flatnonzero(table[unknown] == order)
        table[unknown[is_first]] = np.arange(known, known + len(is_first), dtype=kind)
        firsts.append(new[is_first] + start)
        known += len(is_first)
    codes = pc.take(pa.array(table), pa.array(keys), boundscheck=False)
    return codes.to_numpy(), np.concatenate(firsts)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _numbers(column: pd.Series) -> tuple[np.ndarray, np.ndarray] | None:
    """Codes and a row of each for texts that read as small numbers: six times faster.

    That is where every row has a text, all are of one length, and they are two bytes at most or
    three to six digits. `None` for every other column.
    """
    if not isinstance(column.dtype, pd.StringDtype) or len(column) < _WORTH_IT:
        return None
    array = pa.array(column.array)
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks != 1:
            return None
        array = array.chunk(0)
    if not pa.types.is_large_string(array.type) or array.null_count:
        return None
    offsets = np.frombuffer(array.buffers()[1], np.int64)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    length = int(offsets[1] - offsets[0])
    digits = _DIGITS[0] <= length <= _DIGITS[1]
    if not (digits or 0 < length <= _SHORT) or (np.diff(offsets) != length).any():
        return None
    text = np.frombuffer(array.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    if digits and (text.min() < _ZERO or text.max() > _NINE):
        return None
    base = 10 if digits else 256
    by_place = text.reshape(-1, length)
    keys = by_place[:, 0].astype(np.int32)
    for place in range(1, length):
        keys *= base
        keys += by_place[:, place]
    if digits:
        keys -= int(_ZERO) * int("1" * length)
    return numbered(keys, base**length)


def combined(columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """One dense code for each combination of codes, and the first row of each.

    Args:
        columns: for each column the number of each row's value, -1 where it is missing.
        count: the number of rows.
    """
    if not columns:
        return np.zeros(count, np.intp), np.zeros(min(count, 1), np.intp)
    limit = max(_DENSE_SPAN * count, _SMALL_SPAN)
    kind = np.int32 if limit < _INT32 else np.int64
    codes: np.ndarray | None = None
    span = 1
    for column in columns:
        size = int(column.max(initial=-1)) + 2
        if codes is None:
            codes = column.astype(kind)
            codes += 1  # 0: missing
        else:
            if span * size > limit:
                codes, first = _by_hash(codes)
                span = len(first)
                if span * size > limit:
                    codes = codes.astype(np.int64)
            np.multiply(codes, size, out=codes)
            codes += column.astype(codes.dtype, copy=False)
            codes += 1
        span *= size
    assert codes is not None  # noqa: S101 - there are columns
    return _by_hash(codes) if span > limit else numbered(codes, span)


def _by_hash(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dense, uniques = pd.factorize(codes)
    first = np.empty(len(uniques), np.intp)
    first[dense[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return dense.astype(codes.dtype, copy=False), first
