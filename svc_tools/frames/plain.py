"""A frame in the standard types of pandas, for what does not take exact decimals and categories."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.added.names import columns_of_lookups, remember_columns
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.values.arrow import chunks_of, scaled
from svc_tools.lookup.columns import RATES
from svc_tools.tables.text_dtype import text_dtype


def plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame in standard types; see `SvcAccessor.plain`."""
    added = columns_of_lookups(frame)
    made = frame.assign()  # a copy of its own under pandas 2.3 too
    for place, label in enumerate(frame.columns):
        column = frame.iloc[:, place]
        floats = _of_decimals(column)
        if floats is not None:
            made.isetitem(place, floats)
        elif label in added:
            made.isetitem(place, _of_added(column, str(label)).array)
    made.attrs = {name: value for name, value in frame.attrs.items() if _is_json(value)}
    for prefix, forms in Stamp.of(frame).columns.items():  # they have other types now
        names = [name.removeprefix(prefix) for name in forms if name in made.columns]
        remember_columns(made, prefix, names)
    return made


def _of_decimals(column: pd.Series) -> np.ndarray | None:
    """Exact decimals as floats, also a user's own: hardly anything takes them."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and pa.types.is_decimal(kind):
        return _floats(column)
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "decimal":
        missing = (pd.isna(cell) or cell.is_nan() for cell in column)  # also a signaling NaN
        pairs = zip(column, missing, strict=True)
        return np.array([np.nan if nan else float(cell) for cell, nan in pairs], np.float64)
    return None


def _of_added(column: pd.Series, name: str) -> pd.Series:
    """A column that a lookup or a tax added, in a standard type."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if name.endswith(RATES) and not pd.api.types.is_float_dtype(column.dtype):
        return pd.to_numeric(column).astype("float64")  # text: lookup(rates="string")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(text_dtype())
    if kind is not None and pa.types.is_date(kind):
        return column.astype("datetime64[us]")
    if kind is not None and pa.types.is_timestamp(kind):
        naive: pd.Series = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return naive.astype("datetime64[us]")
    all_known = isinstance(column.dtype, pd.BooleanDtype) and not column.hasnans
    return column.astype("bool") if all_known else column


def _floats(column: pd.Series) -> np.ndarray:
    """The nearest floats of exact decimals: one division each, so that 0.08250 is 0.0825."""
    parts = []
    for chunk in chunks_of(column.array.__arrow_array__()):
        read = scaled(chunk)
        floats = read.numbers / 10**read.scale
        if not read.fits.all():  # more digits than 64 bits hold
            floats = chunk.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).copy()
        floats[read.missing] = np.nan
        parts.append(floats)
    return np.concatenate(parts)


def _is_json(value: object) -> bool:
    """Whether an attribute can be written to a file, as `to_parquet` does with all of them."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
