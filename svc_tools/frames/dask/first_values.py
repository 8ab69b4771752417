"""A small pandas frame that a Dask frame's columns are recognised by: names, types, first values.

The arguments of a lookup are found by names and types, and a date also by a column's first
values. Those are read from the first partition, and from further ones only for columns of text or
whole numbers that have fewer values there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from dask.base import compute
from dask.delayed import delayed
from pandas.api.types import is_integer_dtype, is_object_dtype, is_string_dtype

if TYPE_CHECKING:
    from collections.abc import Hashable

    import dask.dataframe as dd

__all__ = ["first_values"]

_VALUES = 20
"""As many values as tell whether a column holds dates, as text or as numbers such as 20260501."""


def first_values(ddf: dd.DataFrame) -> pd.DataFrame:
    """Rows that look like the frame's. Computes the first values of what may be dates."""
    typical: pd.DataFrame = ddf._meta_nonempty  # noqa: SLF001 - Dask's example of the frame
    if not typical.columns.is_unique:
        return typical  # refused by those who see it
    texts = [label for label in typical.columns if _may_be_dates(typical[label].dtype)]
    found: dict[Hashable, pd.Series] = {}
    begin, count = 0, 1
    while begin < ddf.npartitions and texts:
        parts = ddf[texts].partitions[begin : begin + count].to_delayed()
        for firsts in compute(*[delayed(_firsts)(part) for part in parts]):
            for label, values in firsts.items():
                before = [found[label]] if label in found else []
                together = [*before, values] if len(values) or not before else before
                found[label] = pd.concat(together, ignore_index=True).iloc[:_VALUES]
        texts = [label for label in texts if len(found[label]) < _VALUES]
        begin, count = begin + count, 2 * count
    sample = typical.iloc[[0] * _VALUES].copy()
    for label, values in found.items():
        sample[label] = values.reindex(range(_VALUES)).array
    return sample


def _firsts(partition: pd.DataFrame) -> dict[Hashable, pd.Series]:
    return {
        label: partition[label].dropna().iloc[:_VALUES].reset_index(drop=True)
        for label in partition.columns
    }


def _may_be_dates(dtype: Any) -> bool:  # noqa: ANN401 - what pandas calls a dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    return bool(is_object_dtype(dtype) or is_string_dtype(dtype) or is_integer_dtype(dtype))
