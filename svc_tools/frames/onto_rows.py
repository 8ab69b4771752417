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
    from datetime import date

    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.exact import RateForm

__all__ = ["OntoRows"]

_TEXT = pd.StringDtype(na_value=np.nan)
_MOMENT = pa.timestamp("us", "UTC")
_SHORT = 16
"""Texts of one length up to this are moved as they are, without their places being computed."""


class OntoRows:
    """Takes values by question onto rows.

    Args:
        codes: for each row the index of its question.
    """

    def __init__(self, codes: np.ndarray) -> None:
        self._codes = codes
        # narrow indices are read faster, and there is one array of them for all columns
        kind = np.min_scalar_type(int(codes.max(initial=0)))
        self._indices = pa.array(codes.astype(kind, copy=False))

    def texts(self, values: Sequence[str | None]) -> ExtensionArray:
        """A column of text."""
        column: ExtensionArray = _TEXT.__from_arrow__(self._texts(values))  # type: ignore[attr-defined]
        return column

    def categories(self, codes: np.ndarray, values: Sequence[str | None]) -> pd.Categorical:
        """A column of few different texts, each kept once; the categories are sorted.

        Args:
            codes: for each question the index of its text.
            values: the texts; several may be equal.
        """
        names = sorted({value for value in values if value is not None})
        numbers = {name: number for number, name in enumerate(names)} | {None: -1}
        small = np.array([numbers[value] for value in values], np.min_scalar_type(-len(names) - 1))
        return pd.Categorical.from_codes(
            self._taken(small.take(codes)), categories=pd.Index(names, dtype=_TEXT)
        )

    def rates(self, units: Sequence[int | None], form: RateForm) -> ExtensionArray | np.ndarray:
        """A column of rates, from integers of 10^-5."""
        if form == "string":
            return self.texts([units_to_rate(value) for value in units])
        missing = _missing(units)
        whole = [value or 0 for value in units] if missing.any() else units
        if form == "float":
            floats = np.array(whole, np.float64) / UNITS_PER_ONE
            floats[missing] = np.nan
            return self._taken(floats)
        # both halves of a decimal move together: the upper one, its sign, is 0 for every rate
        wide = np.zeros((len(units), 2), np.int64)
        wide[:, 0] = np.array(whole, np.int64)
        return self._arrow(wide, missing, RATE)

    def days(self, values: Sequence[date | None]) -> ExtensionArray:
        """A column of calendar dates."""
        array = pa.array(values, pa.date32())
        numbers = np.frombuffer(array.buffers()[1], np.int32)[: len(values)]
        return self._arrow(numbers, _missing(values), pa.date32())

    def moments(self, values: np.ndarray, missing: np.ndarray) -> ExtensionArray:
        """A column of moments in UTC, from microseconds since 1970."""
        return self._arrow(values, missing, _MOMENT)

    def truths(self, codes: np.ndarray, values: Sequence[bool | None]) -> pd.arrays.BooleanArray:
        """A column of yes, no and not known; `codes` as in `categories`."""
        yes = np.array([value is True for value in values], bool)
        missing = np.array([value is None for value in values], bool)
        return pd.arrays.BooleanArray(
            self._taken(yes.take(codes)),
            self._taken(missing.take(codes)) if missing.any() else np.zeros(len(self._codes), bool),
        )

    def _arrow(
        self, values: np.ndarray, missing: np.ndarray, kind: pa.DataType
    ) -> pd.arrays.ArrowExtensionArray:
        """An Arrow column of a fixed width; its mask is taken apart, which is twice as fast."""
        by_question = pa.Array.from_buffers(kind, len(values), [None, _buffer(values)])
        taken = pc.take(by_question, self._indices, boundscheck=False)
        if missing.any():
            present = np.packbits(self._taken(~missing), bitorder="little")
            buffers = [pa.py_buffer(present), taken.buffers()[1]]
            taken = pa.Array.from_buffers(kind, len(self._codes), buffers)
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([taken]))

    def _taken(self, values: np.ndarray) -> np.ndarray:
        """Values by row, as an array of numpy's that may be written to."""
        plain = pa.array(values.view(np.uint8) if values.dtype == bool else values)
        taken = pc.take(plain, self._indices, boundscheck=False).buffers()[1]
        return np.frombuffer(taken, values.dtype)[: len(self._codes)]

    def _texts(self, values: Sequence[str | None]) -> pa.Array:
        count = len(self._codes)
        if not values or values.count(values[0]) == len(values):  # most often: no error
            return _repeated(values[0] if values else None, count)
        array = _text_array(values)
        offsets = np.frombuffer(array.buffers()[1], np.int64)[: len(values) + 1]
        length = int(offsets[1] - offsets[0])
        if array.null_count or not 0 < length <= _SHORT or (np.diff(offsets) != length).any():
            return pc.take(array, self._indices, boundscheck=False)
        kind = pa.binary(length)
        short = pa.Array.from_buffers(kind, len(values), [None, array.buffers()[2]])
        data = pc.take(short, self._indices, boundscheck=False).buffers()[1]
        return _of_one_length(data, length, count)


def _missing(values: Sequence[object]) -> np.ndarray:
    if None not in values:
        return np.zeros(len(values), bool)
    return np.array([value is None for value in values], bool)


def _buffer(values: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values))


def _repeated(text: str | None, count: int) -> pa.Array:
    """One text for all rows, without a loop over them."""
    if text is None or not count:
        return pa.nulls(count, pa.large_string())
    data = _text_array([text])[0].as_buffer().to_pybytes()
    return _of_one_length(pa.py_buffer(data * count), len(data), count)


def _of_one_length(data: pa.Buffer, length: int, count: int) -> pa.Array:
    """Texts of one length, in bytes, which may be 0."""
    offsets = np.arange(0, length * count + 1, length) if length else np.zeros(count + 1, np.int64)
    buffers = [None, _buffer(offsets.astype(np.int64, copy=False)), data]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)


def _text_array(values: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:  # half a character, as JSON may carry it: no text column can
        whole = [one and one.encode("utf-8", "backslashreplace").decode() for one in values]
        return pa.array(whole, pa.large_string())
