"""Values by question, taken onto the rows: one whole array for each column, no loop over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_sdk.rates import UNITS_PER_ONE, units_to_rate
from svc_tools.frames.exact import RATE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.exact import RateForm

__all__ = ["OntoRows"]

_TEXT = pd.StringDtype(na_value=np.nan)
_MOMENT = pa.timestamp("us", "UTC")


class OntoRows:
    """Takes values by question onto rows.

    Args:
        codes: for each row the index of its question.
    """

    def __init__(self, codes: np.ndarray) -> None:
        self._codes = codes
        self._indices = pa.array(codes)

    def texts(self, values: Sequence[str | None]) -> ExtensionArray:
        """A column of text."""
        count = len(self._codes)
        distinct = set(values) if len(values) else {None}
        if len(distinct) == 1:  # most often: no error, no support reference
            (only,) = distinct
            array = _repeated(only, count)
        else:
            array = pc.take(pa.array(values, pa.large_string()), self._indices, boundscheck=False)
        column: ExtensionArray = _TEXT.__from_arrow__(array)  # type: ignore[attr-defined]
        return column

    def categories(self, values: Sequence[str | None]) -> pd.Categorical:
        """A column of few different texts, each kept once; the categories are sorted."""
        names = sorted({value for value in values if value is not None})
        numbers = {name: number for number, name in enumerate(names)} | {None: -1}
        small = np.array([numbers[value] for value in values], np.min_scalar_type(-len(names) - 1))
        return pd.Categorical.from_codes(
            self._taken(small), categories=pd.Index(names, dtype=_TEXT)
        )

    def rates(self, units: Sequence[int | None], form: RateForm) -> ExtensionArray | np.ndarray:
        """A column of rates, from integers of 10^-5."""
        if form == "string":
            return self.texts([units_to_rate(value) for value in units])
        if form == "float":
            floats = [np.nan if value is None else value / UNITS_PER_ONE for value in units]
            return np.array(floats, np.float64).take(self._codes)
        missing = _missing(units)
        # both halves of a decimal move together: the upper one, its sign, is 0 for every rate
        wide = np.zeros(len(units), np.complex128)
        whole = [value or 0 for value in units] if missing.any() else units
        wide.view(np.int64)[::2] = np.array(whole, np.int64)
        return self._arrow(wide, missing, RATE)

    def days(self, values: Sequence[date | None]) -> ExtensionArray:
        """A column of calendar dates."""
        numbers = [0 if day is None else day.toordinal() - _EPOCH for day in values]
        missing = _missing(values)
        return self._arrow(np.array(numbers, np.int32), missing, pa.date32())

    def moments(self, values: Sequence[datetime | None]) -> ExtensionArray:
        """A column of moments, to the microsecond, in UTC."""
        array = pa.array(values, _MOMENT)
        missing = np.asarray(array.is_null())
        return self._arrow(np.asarray(array.cast(pa.int64()).fill_null(0)), missing, _MOMENT)

    def truths(self, values: Sequence[bool | None]) -> pd.arrays.BooleanArray:
        """A column of yes, no and not known."""
        missing = _missing(values)
        plain = np.array([bool(value) for value in values], bool)
        return pd.arrays.BooleanArray(self._taken(plain), self._taken(missing))

    def _arrow(
        self, values: np.ndarray, missing: np.ndarray, kind: pa.DataType
    ) -> pd.arrays.ArrowExtensionArray:
        """An Arrow column of a fixed width, its values and its mask taken from numpy's arrays."""
        valid = None
        if missing.any():
            present = np.packbits((~missing).take(self._codes), bitorder="little")
            valid = pa.py_buffer(present)
        taken = pa.py_buffer(self._taken(values))
        array = pa.Array.from_buffers(kind, len(self._codes), [valid, taken])
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))

    def _taken(self, values: np.ndarray) -> np.ndarray:
        """Values by row, in memory of Arrow's pool: it keeps what it frees for the next lookup."""
        count = len(self._codes)
        if not count:
            return values[:0]
        out = np.frombuffer(pa.allocate_buffer(count * values.itemsize), values.dtype)
        values.take(self._codes, out=out, mode="clip")  # no code is out of range; nothing is copied
        return out


def _missing(values: Sequence[object]) -> np.ndarray:
    if None not in values:
        return np.zeros(len(values), bool)
    return np.array([value is None for value in values], bool)


def _repeated(text: str | None, count: int) -> pa.Array:
    """One text for all rows, without a loop over them."""
    if text is None or not count:
        return pa.nulls(count, pa.large_string())
    data = _text_array([text])[0].as_buffer().to_pybytes()
    offsets = np.arange(0, len(data) * (count + 1), len(data)) if data else np.zeros(count + 1, int)
    buffers = [None, pa.py_buffer(offsets.astype(np.int64, copy=False)), pa.py_buffer(data * count)]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)


def _text_array(values: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:  # half a character, as JSON may carry it: no text column can
        whole = [one and one.encode("utf-8", "backslashreplace").decode() for one in values]
        return pa.array(whole, pa.large_string())


_EPOCH = 719_163
"""The ordinal of 1970-01-01, from which Arrow counts days."""
