"""Columns as whole numbers: exact decimals, values copied to rows, and texts as codes.

Decimals of a fixed scale are read from Arrow's buffers, and written to them, as scaled whole
numbers without a binary float. `RowNumbers` copies the values of distinct queries to the rows, one
whole array for each column. `Coded` is a column of text by distinct values, so that rows are
counted in bulk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_sdk.rates import UNITS_PER_ONE, units_to_rate
from svc_tools.tables.cells import text_of_formula
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from datetime import datetime

    from pandas.api.extensions import ExtensionArray

    from svc_tools.lookup.options import RateForm
    from svc_tools.tables.tabular import Chunk

_Cell = TypeVar("_Cell")
RATE = pa.decimal128(7, 5)
MONEY = pa.decimal128(18, 2)
SHARE = pa.decimal128(5, 4)
_EXACT = 18
"""Decimals of up to so many digits fit the lower 64 bits; the upper half is only the sign."""
_SHORT = 16
"""Texts of one length up to this many bytes are copied as values of fixed size, without offsets."""
_TEXT = text_dtype()


class Decimals:
    """A decimal column that is filled block by block.

    Args:
        count: how many rows it has.
        kind: its type, of at most 18 digits.
    """

    def __init__(self, count: int, kind: pa.Decimal128Type) -> None:
        self._kind = kind
        self._words = np.zeros((count, 2), np.int64)  # what is never filled takes no memory
        self._missing = np.zeros(count, bool)

    def put(self, here: slice, values: np.ndarray, missing: np.ndarray) -> None:
        """Fill rows with scaled whole numbers (int64), missing where the mask is true."""
        if values.any():
            words = self._words[here]
            words[:, 0] = values
            np.right_shift(values, 63, out=words[:, 1])  # the sign fills the upper half
        self._missing[here] = missing

    def column(self) -> pd.arrays.ArrowExtensionArray:
        """The whole column."""
        valid = None
        if self._missing.any():
            valid = pa.py_buffer(np.packbits(~self._missing, bitorder="little").tobytes())
        words = pa.py_buffer(self._words)
        array = pa.Array.from_buffers(self._kind, len(self._missing), [valid, words])
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))


def decimals(
    values: np.ndarray, missing: np.ndarray, kind: pa.Decimal128Type
) -> pd.arrays.ArrowExtensionArray:
    """A decimal column from scaled whole numbers (int64), missing where the mask is true."""
    made = Decimals(len(values), kind)
    made.put(slice(None), values, missing)
    return made.column()


def units_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """An exact rate column as units of 10^-5 (int64), and where it is missing (0 there).

    Raises:
        TypeError: it is not `decimal128(…, 5)`.
    """
    return _whole(column, RATE.scale)


def shares_in(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """An exact column of shares as units of 10^-4 (int64), and where it is missing (0 there).

    Raises:
        TypeError: it is not `decimal128(…, 4)`.
    """
    return _whole(column, SHARE.scale)


def cents_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """An exact money column as whole cents (int64), and where it is missing (0 there).

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
    parts = [_short_decimals(chunk) for chunk in chunks_of(column.array.__arrow_array__())]
    if len(parts) == 1:
        return parts[0]
    values, missing = (np.concatenate(each) for each in zip(*parts, strict=True))
    return values, missing


def _short_decimals(chunk: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Decimals of few digits as scaled whole numbers, 0 where they are missing."""
    words = _words(chunk)
    values = words[:, 0].copy()  # such decimals fit the lower 64 bits
    missing = _null(chunk)
    if chunk.null_count:
        values[missing] = 0
    return values, missing


class Scaled(NamedTuple):
    """Decimals of one scale: `numbers` / 10**`scale`, where `fits` and not `missing`."""

    numbers: np.ndarray
    fits: np.ndarray
    """Whether the number fits 64 bits; otherwise `numbers` is not its value."""
    missing: np.ndarray
    scale: int


def chunks_of(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """The parts of an Arrow array, at least one."""
    if not isinstance(array, pa.ChunkedArray):
        return [array]
    return array.chunks or [pa.array([], array.type)]


def is_text(column: pd.Series) -> bool:
    """Whether a column is text by its type."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    return isinstance(column.dtype, pd.StringDtype) or (
        kind is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
    )


def is_number(column: pd.Series) -> bool:
    """Whether a column holds numbers or moments by its type, and so no words."""
    return pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(
        column.dtype
    )


def bytes_of(texts: pa.Array) -> bytes:
    """All texts of an Arrow array, one behind the other: what is not in it no text has."""
    data = texts.buffers()[2]
    if data is None or not len(texts):
        return b""
    ends = _offsets(texts)
    held: bytes = data[int(ends[0]) : int(ends[-1])].to_pybytes()
    return held


def ends_of(texts: pa.Array) -> np.ndarray:
    """Where each text ends in their bytes, with a 0 in front: where the first one begins."""
    if not len(texts):
        return np.zeros(1, np.int64)
    offsets = _offsets(texts)
    ends: np.ndarray = (offsets - offsets[0]).astype(np.int64, copy=False)
    return ends


def _offsets(texts: pa.Array) -> np.ndarray:
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    offsets = np.frombuffer(texts.buffers()[1], kind)
    return offsets[texts.offset : texts.offset + len(texts) + 1]


def scaled(chunk: pa.Array) -> Scaled:
    """An Arrow array of decimals as scaled whole numbers; a view where that is possible."""
    if not pa.types.is_decimal128(chunk.type):
        chunk = chunk.cast(pa.decimal128(38, chunk.type.scale))
    words = _words(chunk)
    values = np.ascontiguousarray(words[:, 0])
    return Scaled(values, words[:, 1] == values >> 63, _null(chunk), chunk.type.scale)


def _words(chunk: pa.Array) -> np.ndarray:
    """The lower and the upper 64 bits of each decimal; a view."""
    buffer = chunk.buffers()[1]
    if buffer is None:
        return np.zeros((len(chunk), 2), np.int64)
    return np.frombuffer(buffer, np.int64)[2 * chunk.offset :][: 2 * len(chunk)].reshape(-1, 2)


def _null(chunk: pa.Array) -> np.ndarray:
    """The mask of the missing cells."""
    if not chunk.null_count:
        return np.zeros(len(chunk), bool)
    mask: np.ndarray = chunk.is_null().to_numpy(zero_copy_only=False)
    return mask


class RowNumbers:
    """For each row the number of its value, to copy values to the rows as whole arrays.

    Args:
        codes: the numbers.
    """

    def __init__(self, codes: np.ndarray) -> None:
        self.count = len(codes)
        # narrow indices are read faster, and there is one array of them for all columns
        kind = np.min_scalar_type(int(codes.max(initial=0)))
        self._indices = pa.array(codes.astype(kind, copy=False))

    def gather(self, values: pa.Array) -> pa.Array:
        """The value of each row."""
        return pc.take(values, self._indices, boundscheck=False)

    def plain(self, values: np.ndarray) -> np.ndarray:
        """The value of each row, as a NumPy array that may be written to."""
        array = pa.array(values.view(np.uint8) if values.dtype == bool else values)
        return np.frombuffer(self.gather(array).buffers()[1], values.dtype)[: self.count]


class Texts:
    """Texts to copy to rows."""

    def __init__(self, values: Sequence[str | None]) -> None:
        # most often all are the same: no error
        self._same = not values or values.count(values[0]) == len(values)
        self._array = _text_array(values[:1] if self._same else values)
        self._length = 0
        if not self._same and not self._array.null_count:
            lengths = np.diff(_offsets(self._array))
            if 0 < lengths[0] <= _SHORT and (lengths == lengths[0]).all():
                self._length = int(lengths[0])

    def at(self, rows: RowNumbers) -> ExtensionArray:
        """The column of the rows."""
        column: ExtensionArray = _TEXT.__from_arrow__(self._at(rows))  # type: ignore[attr-defined]
        return column

    def _at(self, rows: RowNumbers) -> pa.Array:
        array, length = self._array, self._length
        if self._same:
            return _repeated(array[0].as_py() if len(array) else None, rows.count)
        if not length:
            return rows.gather(array)
        kind = pa.binary(length)
        short = pa.Array.from_buffers(kind, len(array), [None, array.buffers()[2]])
        return _of_one_length(rows.gather(short).buffers()[1], length, rows.count)


class Categories:
    """Few different texts to copy to rows, each stored once; the categories are sorted.

    Args:
        codes: for each value the number of its text.
        texts: the texts; several may be equal.
    """

    def __init__(self, codes: np.ndarray, texts: Sequence[str | None]) -> None:
        there = [texts[at] for at in np.flatnonzero(np.bincount(codes)).tolist()]
        names = sorted({text for text in there if text is not None})
        numbers = {name: number for number, name in enumerate(names)} | {None: -1}
        small = np.array(
            [numbers.get(text, -1) for text in texts], np.min_scalar_type(-len(names) - 1)
        )
        self._codes, self._names = small.take(codes), pd.Index(names, dtype=_TEXT)

    def at(self, rows: RowNumbers) -> pd.Categorical:
        """The column of the rows."""
        return pd.Categorical.from_codes(rows.plain(self._codes), categories=self._names)


class Fixed:
    """Values of a fixed width to copy to rows: rates, calendar dates, and moments in UTC."""

    def __init__(self, values: np.ndarray, missing: np.ndarray, kind: pa.DataType) -> None:
        self._values = pa.Array.from_buffers(kind, len(values), [None, _buffer(values)])
        self._present = ~missing if missing.any() else None

    @classmethod
    def rates(cls, units: Sequence[int | None]) -> Fixed:
        """Rates, from integers of 10^-5."""
        return cls._decimals(units, RATE)

    @classmethod
    def shares(cls, units: Sequence[int | None]) -> Fixed:
        """Shares, from integers of 10^-4."""
        return cls._decimals(units, SHARE)

    @classmethod
    def _decimals(cls, units: Sequence[int | None], kind: pa.DataType) -> Fixed:
        missing = _missing(units)
        # both halves of a decimal move together: the upper one, its sign, is 0 for all of these
        wide = np.zeros((len(units), 2), np.int64)
        wide[:, 0] = _units_whole(units, missing)
        return cls(wide, missing, kind)

    @classmethod
    def days(cls, ordinals: np.ndarray) -> Fixed:
        """Calendar dates, as `date.toordinal` counts them; 0 where there is none."""
        days = (ordinals - _FIRST_DAY).astype(np.int32)
        return cls(days, ordinals == 0, pa.date32())

    @classmethod
    def moments(cls, values: Sequence[datetime | None]) -> Fixed:
        """Moments in UTC."""
        array = pa.array(values, pa.timestamp("us", "UTC"))
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return cls(array.cast(pa.int64()).fill_null(0).to_numpy(), missing, array.type)

    def at(self, rows: RowNumbers) -> pd.arrays.ArrowExtensionArray:
        """The column of the rows; its mask is copied apart, which is twice as fast."""
        taken = rows.gather(self._values)
        if self._present is not None:
            present = np.packbits(rows.plain(self._present), bitorder="little")
            buffers = [pa.py_buffer(present), taken.buffers()[1]]
            taken = pa.Array.from_buffers(taken.type, rows.count, buffers)
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([taken]))


class Floats:
    """Rates to copy to rows as floating-point numbers, from integers of 10^-5."""

    def __init__(self, units: Sequence[int | None]) -> None:
        missing = _missing(units)
        self._values = _units_whole(units, missing) / UNITS_PER_ONE
        self._values[missing] = np.nan

    def at(self, rows: RowNumbers) -> np.ndarray:
        """The column of the rows."""
        return rows.plain(self._values)


class Truths:
    """True, false and missing to copy to rows; `codes` and `values` as in `Categories`."""

    def __init__(self, codes: np.ndarray, values: Sequence[bool | None]) -> None:
        self._yes = np.array([value is True for value in values], bool).take(codes)
        missing = np.array([value is None for value in values], bool)
        self._missing = missing.take(codes) if missing.any() else None

    def at(self, rows: RowNumbers) -> pd.arrays.BooleanArray:
        """The column of the rows."""
        missing = self._missing
        mask = np.zeros(rows.count, bool) if missing is None else rows.plain(missing)
        return pd.arrays.BooleanArray(rows.plain(self._yes), mask)


def rate_values(units: Sequence[int | None], form: RateForm) -> Fixed | Floats | Texts:
    """Rates in the form that was chosen, from integers of 10^-5."""
    if form == "string":
        return Texts([None if value is None else units_to_rate(value) for value in units])
    return Floats(units) if form == "float" else Fixed.rates(units)


_FIRST_DAY = 719_163
"""The number of the day that Arrow counts from, 1970-01-01."""


def _missing(values: Sequence[object]) -> np.ndarray:
    if None not in values:
        return np.zeros(len(values), bool)
    return np.array([value is None for value in values], bool)


def _units_whole(units: Sequence[int | None], missing: np.ndarray) -> np.ndarray:
    whole = [value or 0 for value in units] if missing.any() else units
    return np.array(whole, np.int64)


def _buffer(values: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values))


def _repeated(text: str | None, count: int) -> pa.Array:
    """One text for all rows, without a loop over them."""
    if text is None or not count:
        return pa.nulls(count, pa.large_string())
    data = _text_array([text])[0].as_buffer().to_pybytes()
    return _of_one_length(pa.py_buffer(data * count), len(data), count)


def _of_one_length(data: pa.Buffer, length: int, count: int) -> pa.Array:
    """Texts of one length in bytes, which may be 0."""
    offsets = np.arange(0, length * count + 1, length) if length else np.zeros(count + 1, np.int64)
    buffers = [None, _buffer(offsets.astype(np.int64, copy=False)), data]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)


def _text_array(values: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold and a text column cannot
        whole = [text and text.encode("utf-8", "backslashreplace").decode() for text in values]
        return pa.array(whole, pa.large_string())


class Coded(NamedTuple, Generic[_Cell]):
    """A column of few distinct values, such as texts or codes: row `i` has `values[codes[i]]`."""

    codes: np.ndarray
    values: tuple[_Cell, ...]

    def at(self, rows: np.ndarray) -> Coded[_Cell]:
        """The values of these rows."""
        return Coded(self.codes[rows], self.values)

    def where(self, is_meant: Callable[[_Cell], bool]) -> np.ndarray:
        """The mask of the rows whose value is meant."""
        meant = np.fromiter(map(is_meant, self.values), bool, len(self.values))
        rows: np.ndarray = meant[self.codes]
        return rows

    def having(self: Coded[tuple[str, ...]], *codes: str) -> np.ndarray:
        """The mask of the rows that have one of these codes."""
        return self.where(lambda cell: not {*codes}.isdisjoint(cell))

    def column(self: Coded[str]) -> ExtensionArray:
        """The texts as a column of a frame; an empty one is missing."""
        return text_column(self.values).take(self.codes)

    def counts(self, rows: np.ndarray | None = None) -> list[tuple[_Cell, int]]:
        """How many rows (of those in the mask) have each value; values of no row are left out."""
        codes = self.codes if rows is None else self.codes[rows]
        counted = np.bincount(codes, minlength=len(self.values)).tolist()
        return [(value, n) for value, n in zip(self.values, counted, strict=True) if n]


def text_column(texts: Iterable[str | None]) -> ExtensionArray:
    """Texts as a column of a frame; an empty one is missing."""
    column: ExtensionArray = pd.array([text or None for text in texts], dtype=_TEXT)
    return column


def coded(frame: pd.DataFrame, name: Hashable, missing: str = "") -> Coded[str]:
    """The first column of that name; `missing` is the text of missing values and of no column."""
    column = first_column(frame, name)
    if column is None:
        return Coded(np.zeros(len(frame), np.int64), (missing,))
    codes, distinct = _numbered(column)
    values = [str(value) for value in distinct]
    place = values.index(missing) if missing in values else len(values)
    if place == len(values):
        values.append(missing)
    if len(codes) and codes.min() < 0:
        codes = np.where(codes < 0, place, codes)
    return Coded(codes.astype(np.int64, copy=False), tuple(values))


def _numbered(column: pd.Series) -> tuple[np.ndarray, Iterable[Any]]:
    """The number of each row's value (-1 where it is missing), and the values as they appear."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories.tolist()
    elif isinstance(column.dtype, pd.BooleanDtype):
        truths = column.array
        codes = np.where(truths.isna(), -1, truths.to_numpy(bool, na_value=False)).astype(np.int8)
        values = [False, True]
    elif (pairs := _of_two_bytes(column)) is not None:
        codes, values = pairs
    else:
        return pd.factorize(column)
    if len(values) > _FEW or not len(codes):
        return pd.factorize(column)
    firsts = [int(np.argmax(codes == number)) for number in range(len(values))]
    there = [at for at, row in enumerate(firsts) if len(codes) and codes[row] == at]
    there.sort(key=firsts.__getitem__)
    numbers = np.full(len(values) + 1, -1, np.int64)
    numbers[there] = np.arange(len(there))
    return numbers[codes], [values[at] for at in there]


def _of_two_bytes(column: pd.Series) -> tuple[np.ndarray, list[str]] | None:
    """A column of texts of two bytes, such as states, by its distinct texts; else `None`."""
    if not is_text(column) or not len(column):
        return None
    chunks = chunks_of(pa.array(column.array))
    if len(chunks) > 1 or chunks[0].null_count:
        return None
    offsets = _offsets(chunks[0])
    if offsets[-1] - offsets[0] != 2 * len(column) or (np.diff(offsets) != 2).any():  # noqa: PLR2004 - two bytes
        return None
    held = np.frombuffer(chunks[0].buffers()[2], np.uint8)[int(offsets[0]) : int(offsets[-1])]
    pairs = held.view(np.uint16)
    seen = np.zeros(2**16, bool)
    seen[pairs] = True
    there, numbers = np.flatnonzero(seen), np.zeros(2**16, np.int16)
    numbers[there] = np.arange(len(there))
    return numbers[pairs], [pair.tobytes().decode() for pair in there.astype(np.uint16)]


_FEW = 64
"""So few values are looked for one by one, which is faster than to compare the cells."""


def first_column(frame: pd.DataFrame, name: Hashable) -> pd.Series | None:
    """The first column of that name; `None` where no column has it."""
    # not `items()`, which would make a Series, with a copy of `attrs`, of every column before it;
    # not one label after the other, which is slow where all of many columns are read
    labels = frame.columns
    if labels.is_unique and (labels.dtype == object or isinstance(labels.dtype, pd.StringDtype)):
        return frame[name] if name in labels else None
    place = next((at for at, label in enumerate(labels) if label == name), None)
    return None if place is None else frame.iloc[:, place]


def combined(columns: Sequence[Coded[Any]]) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
    """Several columns of one length as one: the code of each row, and the values of each code."""
    codes = columns[0].codes
    for column in columns[1:]:
        wide = codes * len(column.values) + column.codes
        codes = pd.factorize(wide)[0]  # dense again: the product never overflows
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return codes, [
        tuple(column.values[column.codes[row]] for column in columns)  # noqa: PD011 - no frame's
        for row in first.tolist()
    ]


def recoded(codes: np.ndarray, values: Iterable[_Cell]) -> Coded[_Cell]:
    """A column from codes of values of which several may be equal."""
    every = list(values)
    numbers = {value: number for number, value in enumerate(dict.fromkeys(every))}
    return Coded(np.array([numbers[value] for value in every], np.int64)[codes], tuple(numbers))


def frame_of(chunk: Chunk, positions: Sequence[int] | None = None) -> pd.DataFrame:
    """Columns of a file's rows as a frame, each in a type that keeps its values; by default all."""
    names = chunk.table.column_names
    positions = range(len(names)) if positions is None else positions
    index = pd.RangeIndex(chunk.table.num_rows)
    columns = [_series(chunk, position, index) for position in positions]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=index)
    frame.columns = pd.Index([names[position] for position in positions], dtype=object)
    return frame


def arrow_column(column: pd.Series) -> pa.ChunkedArray:
    """A column of a frame as a file holds it: categories as their texts."""
    array = pa.array(column.array)
    if isinstance(array, pa.Array):
        array = pa.chunked_array([array])
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.string())
    return array


def texts_of_formulas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with the texts of its cells that are written as formulas, `="02138"`."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    formulas = pc.starts_with(column, '="')
    if not pc.any(formulas, min_count=0).as_py():
        return column
    texts = [None if cell is None else text_of_formula(cell) for cell in column.to_pylist()]
    return pa.chunked_array([pa.array([text or None for text in texts], column.type)])


def _series(chunk: Chunk, position: int, index: pd.RangeIndex) -> pd.Series:
    if position in chunk.stored:
        return pd.Series(list(chunk.stored[position]), index, object)
    column = texts_of_formulas(chunk.table.column(position))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):  # pandas does not support these
        column = column.cast(pa.large_string())
    if pa.types.is_floating(column.type):  # NaN is missing
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return pd.Series(pd.arrays.ArrowExtensionArray(column), index)
