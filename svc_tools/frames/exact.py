"""Exact columns: whole numbers inside, decimals of a fixed scale at the end, no binary floats."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.buffers import chunks_of, scaled

__all__ = ["MONEY", "RATE", "RateForm", "cents_of", "decimals", "units_of"]

RATE = pa.decimal128(7, 5)
MONEY = pa.decimal128(18, 2)
_EXACT = 18
"""A decimal of so many digits fits the 64 bits that are read; the upper half is only its sign."""
RateForm = Literal["decimal", "string", "float"]


def decimals(
    values: np.ndarray, missing: np.ndarray, kind: pa.Decimal128Type
) -> pd.arrays.ArrowExtensionArray:
    """A decimal column from scaled whole numbers (int64), missing where the mask says so."""
    wide = np.empty((len(values), 2), np.int64)
    wide[:, 0] = values
    np.right_shift(values, 63, out=wide[:, 1])  # the sign fills the upper half
    valid = None
    if missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
    array = pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(wide)])
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))


def units_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A rate column of ours as units of 10^-5 (int64), and where it is missing (0 there).

    Raises:
        TypeError: it is not `decimal128(…, 5)`.
    """
    return _whole(column, RATE.scale)


def cents_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A money column of ours as whole cents (int64), and where it is missing (0 there).

    Raises:
        TypeError: it is not `decimal128(…, 2)`.
    """
    return _whole(column, MONEY.scale)


def _whole(column: pd.Series, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """The scaled whole numbers of a decimal column, read from its buffers: copies, no objects."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if not (
        isinstance(kind, pa.Decimal128Type) and kind.scale == scale and kind.precision <= _EXACT
    ):
        raise TypeError(
            f"column {column.name!r}: expected decimal128 with {scale} decimals (and at most"
            f" {_EXACT} digits), as a lookup or a tax adds it, not {column.dtype}"
        )
    parts = [scaled(chunk) for chunk in chunks_of(column.array.__arrow_array__())]
    values = np.concatenate([part.numbers for part in parts])
    missing = np.concatenate([part.missing for part in parts])
    values[missing] = 0
    return values, missing
