"""Arrow decimals as the whole numbers they are made of, read from their buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

__all__ = ["Scaled", "chunks_of", "scaled"]


class Scaled(NamedTuple):
    """Decimals of one scale: `numbers` / 10**`scale`, where `fits` and not `missing`."""

    numbers: np.ndarray
    fits: np.ndarray
    """Whether the number fits 64 bits; its value here means nothing otherwise."""
    missing: np.ndarray
    scale: int


def chunks_of(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """The parts of an Arrow array, at least one."""
    if not isinstance(array, pa.ChunkedArray):
        return [array]
    return array.chunks or [pa.array([], array.type)]


def scaled(chunk: pa.Array) -> Scaled:
    """An Arrow array of decimals as scaled whole numbers; a view where that is possible."""
    if not pa.types.is_decimal128(chunk.type):
        chunk = chunk.cast(pa.decimal128(38, chunk.type.scale))
    missing = (
        chunk.is_null().to_numpy(zero_copy_only=False)
        if chunk.null_count
        else np.zeros(len(chunk), bool)
    )
    buffer = chunk.buffers()[1]
    if buffer is None:
        words = np.zeros((len(chunk), 2), np.int64)
    else:
        words = np.frombuffer(buffer, np.int64)[2 * chunk.offset :][: 2 * len(chunk)].reshape(-1, 2)
    values = np.ascontiguousarray(words[:, 0])
    return Scaled(values, words[:, 1] == values >> 63, missing, chunk.type.scale)
