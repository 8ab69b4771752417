"""Exact columns: whole numbers inside, decimals of a fixed scale at the end, no binary floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_sdk.rates import UNITS_PER_ONE, units_to_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pandas.api.extensions import ExtensionArray

__all__ = ["MONEY", "RATE", "RateForm", "decimals", "rate_column", "texts"]

RATE = pa.decimal128(7, 5)
MONEY = pa.decimal128(18, 2)
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


def texts(values: Sequence[str | None], codes: np.ndarray) -> ExtensionArray:
    """A column of text: one value per distinct question, taken onto the rows."""
    distinct: ExtensionArray = pd.array(values, dtype="str")
    return distinct.take(codes)


def rate_column(
    units: Sequence[int | None], codes: np.ndarray, form: RateForm
) -> ExtensionArray | np.ndarray:
    """A column of rates: one value per distinct question, taken onto the rows."""
    if form == "string":
        return texts([units_to_rate(value) for value in units], codes)
    if form == "float":
        floats = [np.nan if value is None else value / UNITS_PER_ONE for value in units]
        values: np.ndarray = np.array(floats, np.float64)[codes]
        return values
    missing = np.array([value is None for value in units], bool)
    whole = np.array([0 if value is None else value for value in units], np.int64)
    return decimals(whole[codes], missing[codes], RATE)
