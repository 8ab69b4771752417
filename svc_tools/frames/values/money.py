"""Amounts of dollars as whole cents: read from columns of any kind, and added up exactly.

Whole numbers, decimals, floats and text are understood, in NumPy, pandas and Arrow columns and in
categories of them. An amount is read exactly or refused, never rounded; only a float within a
millionth of a dollar of a whole cent is that cent. `Totals` are a frame's sums of sales and tax.
Whether a text has a decimal point or a decimal comma is decided by its column, in `decimal_marks`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.values.arrow import (
    MONEY,
    bytes_of,
    cents_of,
    chunks_of,
    decimals,
    ends_of,
    first_column,
    scaled,
)
from svc_tools.frames.values.decimal_marks import Unread, plain_number

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.values.arrow import Coded
    from svc_tools.frames.values.decimal_marks import Mark

_Key = TypeVar("_Key")
LARGEST_WHOLE = 2**63 - 1
"""The largest whole number that the arithmetic holds."""
_MOST_CENTS = 10**17
"""The largest amount that is read: a sum of several still fits a money column of 18 digits."""
_SNAP = 1e-6
"""How far from a whole cent, in dollars, a float may lie and still be meant as that cent."""
_WITH_POINT = r"^-?\$?(?:[1-9][0-9]{0,2}(?:,[0-9]{3}){0,4}|[0-9]{1,15})(?:\.[0-9]{1,2})?$"
_WITH_COMMA = (
    r"^-?\$?(?:[1-9][0-9]{0,2}(?:(?:\.[0-9]{3}){0,4}|(?:[ \x{a0}\x{2009}\x{202f}][0-9]{3}){0,4}"
    r"|(?:['\x{2019}][0-9]{3}){0,4})|[0-9]{1,15})(?:,[0-9]{1,2})?$"
)
_EITHER = r"^-?\$?(?:[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4}\.[0-9]{1,2}|[0-9]{1,15}(?:\.[0-9]{1,2})?)$"
_WRITTEN: Mapping[Mark, str] = {
    "point": _WITH_POINT,
    "comma": _WITH_COMMA,
    "none": _WITH_POINT,
    "either": _EITHER,
    "both": _EITHER,
}
"""Amounts as they are mostly written with each mark: 1234.5, -12.50, $1,234.50; 1.234,50."""
_THOUSANDS = r"[.' \x{a0}\x{2009}\x{202f}\x{2019}]"
_CENTS, _CENT_DIGITS, _DIGITS = 100, 2, 18
_LONGEST = 16
"""So many digits, in cents, fit 64 bits."""
_SHOWN = 40
_FRACTION = "is not a whole number of cents; round it to the cent before"


@dataclass(frozen=True, slots=True)
class Totals:
    """Sales and tax in US dollars, exact to the cent, each row in exactly one of three groups.

    Whole rows have a whole rate (status ok), partial rows one that is known to lack a part, open
    rows none. `sales` = `taxed_sales` + `partial_sales` + `open_sales`.

    Attributes:
        rows: all rows.
        taxed_sales: sales of the whole rows that have a tax (which may be 0.00: the rate is 0).
        tax: the tax of those rows.
        partial_rows: rows with a partial rate.
        partial_sales: their sales.
        partial_tax: the tax of partial rows, where the user requested it: a lower bound.
        untaxed_sales: sales of partial rows for which no tax was computed.
        open_rows: rows without a rate, and whole rows without a tax (their amount has no cents).
        open_sales: their sales, as far as the amounts can be read.
    """

    rows: int = 0
    taxed_sales: Decimal = Decimal("0.00")
    tax: Decimal = Decimal("0.00")
    partial_rows: int = 0
    partial_sales: Decimal = Decimal("0.00")
    partial_tax: Decimal = Decimal("0.00")
    untaxed_sales: Decimal = Decimal("0.00")
    open_rows: int = 0
    open_sales: Decimal = Decimal("0.00")

    @property
    def whole_rows(self) -> int:
        """Rows with a whole rate and a tax computed from it."""
        return self.rows - self.partial_rows - self.open_rows

    @property
    def sales(self) -> Decimal:
        """All sales whose amount can be read."""
        return self.taxed_sales + self.partial_sales + self.open_sales


class Money(NamedTuple):
    """A column of money: whole cents, and a mask of the rows that have none (their cents are 0)."""

    cents: np.ndarray
    missing: np.ndarray

    def at(self, rows: np.ndarray) -> Money:
        """The money of these rows."""
        return Money(self.cents[rows], self.missing[rows])

    def where(self, rows: np.ndarray) -> Money:
        """The money of the rows in the mask; missing in the others."""
        return Money(self.cents, self.missing | ~rows)

    def total(self, rows: np.ndarray | None = None) -> Decimal | None:
        """The exact sum in dollars (of the rows in the mask); `None` where no row has a value."""
        there = ~self.missing if rows is None else ~self.missing & rows
        if not there.any():
            return None
        (cents,) = sums_by(np.zeros(int(there.sum()), np.int64), self.cents[there], 1)
        return dollars(cents)


def money(frame: pd.DataFrame, name: Hashable) -> Money:
    """A column of dollars in whole cents; missing where there is no amount, or no whole cent."""
    column = first_column(frame, name)
    if column is None:
        return Money(np.zeros(len(frame), np.int64), np.ones(len(frame), bool))
    if column.dtype == pd.ArrowDtype(MONEY):
        return Money(*cents_of(column))
    cents, wrong, _ = whole_cents(column)
    missing = np.zeros(len(frame), bool)
    missing[list(wrong)] = True
    return Money(cents, missing)


_HALF = 31
"""Sums are computed in two parts of so many bits: exact for any number of rows in memory."""


def sums_by(codes: np.ndarray, cents: np.ndarray, size: int) -> list[int]:
    """The exact sum of `cents` for each code from 0 to `size` - 1."""
    halves = []
    for part in (cents >> _HALF, cents & ((1 << _HALF) - 1)):  # neither sum can overflow
        sums = np.zeros(size, np.int64)
        np.add.at(sums, codes, part)
        halves.append(sums.tolist())
    return [(high << _HALF) + low for high, low in zip(*halves, strict=True)]


def dollars_by(codes: np.ndarray, of: Money, size: int) -> list[Decimal | None]:
    """The exact sum in dollars for each code; `None` where no row of it has a value."""
    there = codes[~of.missing]
    known = np.bincount(there, minlength=size).tolist()
    sums = sums_by(there, of.cents[~of.missing], size)
    return [dollars(total) if n else None for total, n in zip(sums, known, strict=True)]


class SumsBy(Generic[_Key]):
    """Rows and dollars by a value, added up exactly over the parts of a table.

    Attributes:
        rows: how many rows each value has, in the order in which the values first occur.
    """

    def __init__(self) -> None:
        self.rows: Counter[_Key] = Counter()
        self._cents: dict[str, dict[_Key, int]] = {}

    def add(
        self,
        values: Coded[_Key],
        columns: Mapping[str, Money | None],
        rows: np.ndarray | None = None,
    ) -> None:
        """Add a part.

        Args:
            values: the value of each row.
            columns: columns of dollars by name; `None` for one that is not known.
            rows: which rows count, as a mask; by default all.
        """
        for value, count in values.counts(rows):
            self.rows[value] += count
        size = len(values.values)
        for name, of in columns.items():
            if of is None:
                continue
            known = ~of.missing if rows is None else ~of.missing & rows
            codes, sums = values.codes[known], self._cents.setdefault(name, {})
            counts = np.bincount(codes, minlength=size).tolist()
            cents = sums_by(codes, of.cents[known], size)
            for value, count, added in zip(values.values, counts, cents, strict=True):
                if count:
                    sums[value] = sums.get(value, 0) + added

    def has(self, name: str) -> bool:
        """Whether a column of dollars is known."""
        return name in self._cents

    def dollars(self, name: str, value: _Key) -> Decimal | None:
        """The sum of a column over the rows of a value; `None` where none of them has a figure."""
        cents = self._cents.get(name, {}).get(value)
        return None if cents is None else dollars(cents)


def dollars(whole_cents: int) -> Decimal:
    """Whole cents as dollars with two decimals."""
    return Decimal(whole_cents).scaleb(-2)


_HOLDS = 10**18
"""The smallest number of cents that `decimal128(18, 2)` cannot hold."""


def money_column(values: Sequence[Decimal | None]) -> pd.arrays.ArrowExtensionArray:
    """Dollars as an exact column; wider than `decimal128(18, 2)` where a sum needs it."""
    cents = [0 if value is None else int(value.scaleb(2)) for value in values]
    if any(abs(amount) >= _HOLDS for amount in cents):
        wide = pa.array(values, pa.decimal128(38, 2))
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([wide]))
    missing = np.array([value is None for value in values], bool)
    return decimals(np.array(cents, np.int64), missing, MONEY)


_USUAL = pa.decimal128(38, 9)


@dataclass(slots=True)
class _Read:
    """Cents by row, why a row has none, and which rows snapped."""

    cents: np.ndarray
    wrong: dict[int, str]
    snapped: np.ndarray | None = None


def whole_cents(
    column: pd.Series, named: str = "amount", mark: Mark = "point"
) -> tuple[np.ndarray, dict[int, str], int]:
    """Amounts as whole cents (int64), the reason by row where one cannot be, and how many snapped.

    A float off a whole cent by more than a millionth of a dollar is refused, never rounded; so is
    a decimal or a text with a fraction of a cent.

    Args:
        column: dollars, also as accountants write them: $1,234.50, (15.00), 15.00-.
        named: the argument's name, with which the reasons start.
        mark: how its texts are written, as `decimal_marks` decides it for a column; a cell that is
            written otherwise is refused.

    Raises:
        TypeError: the column holds truth values.
    """
    read = _cents(column, named, mark)
    if len(read.cents) and max(int(read.cents.max()), -int(read.cents.min())) > _MOST_CENTS:
        for row in np.flatnonzero(np.abs(read.cents) > _MOST_CENTS).tolist():
            dollars = f"{read.cents[row] / _CENTS:,.2f}"
            read.wrong.setdefault(row, f"{named}: {dollars} is out of range")
    if read.wrong:
        read.cents[np.fromiter(read.wrong, np.int64, len(read.wrong))] = 0
    return read.cents, read.wrong, 0 if read.snapped is None else int(read.snapped.sum())


def one_amount(value: object, named: str) -> int:
    """One amount of dollars in cents.

    Raises:
        ValueError: it is not an amount, or has a fraction of a cent.
    """
    cents, wrong, _ = whole_cents(pd.Series([value], dtype=object), named)
    if wrong:
        raise ValueError(wrong[0])
    return int(cents[0])


def _cents(column: pd.Series, named: str, mark: Mark) -> _Read:
    """The cents of a column, read by its dtype; `column` itself stays as it is."""
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        raise TypeError(f"{named}: column {column.name!r} holds truth values, not amounts")
    if isinstance(dtype, pd.CategoricalDtype):
        categories = pd.Series(column.cat.categories, name=column.name)
        return _taken(_cents(categories, named, mark), column.cat.codes.to_numpy(), named)
    if isinstance(dtype, pd.ArrowDtype):
        return _of_arrow(column, dtype.pyarrow_dtype, named, mark)
    missing = column.isna().to_numpy()
    if pd.api.types.is_float_dtype(dtype):
        return _of_floats(column.to_numpy(np.float64, na_value=np.nan), missing, named)
    if pd.api.types.is_integer_dtype(dtype):
        return _of_integers(column, missing, named)
    if isinstance(dtype, pd.StringDtype):
        return _of_texts(_as_text(column), missing, named, mark)
    return _of_objects(column, missing, named, mark)


def _of_arrow(column: pd.Series, kind: pa.DataType, named: str, mark: Mark) -> _Read:
    """The cents of a column whose dtype is one of Arrow, as decimals, numbers or texts."""
    array = pa.array(column.array)
    if pa.types.is_dictionary(kind):
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        distinct = pd.Series(array.dictionary.to_pandas(types_mapper=pd.ArrowDtype))
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return _taken(_cents(distinct, named, mark), codes, named)
    if pa.types.is_decimal(kind) and not pa.types.is_decimal256(kind):
        return _of_decimals(array, named)
    missing = column.isna().to_numpy()
    if pa.types.is_floating(kind):
        floats = column.to_numpy(np.float64, na_value=np.nan)
        return _of_floats(floats, np.isnan(floats), named)  # Arrow does not count NaN as missing
    if pa.types.is_integer(kind):
        return _of_integers(column, missing, named)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _of_texts(array, missing, named, mark)
    return _of_objects(column.astype(object), missing, named, mark)


def _gone(missing: np.ndarray, named: str) -> dict[int, str]:
    return dict.fromkeys(np.flatnonzero(missing).tolist(), f"{named}: missing")


def _taken(distinct: _Read, codes: np.ndarray, named: str) -> _Read:
    """The amounts of the distinct values, by row; a code of -1 is missing."""
    gone = codes < 0
    wrong = _gone(gone, named)
    for row in np.flatnonzero(np.isin(codes, list(distinct.wrong))).tolist():
        wrong[row] = distinct.wrong[codes[row]]
    with_none = np.append(distinct.cents, 0)
    snapped = None if distinct.snapped is None else np.append(distinct.snapped, [False])[codes]
    return _Read(with_none[codes], wrong, snapped)


def _of_integers(column: pd.Series, missing: np.ndarray, named: str) -> _Read:
    plain = (column.fillna(0) if missing.any() else column).to_numpy()
    largest = LARGEST_WHOLE // _CENTS
    if len(plain) and (int(plain.max()) >= largest or int(plain.min()) <= -largest):
        return _of_objects(column, missing, named, "none")
    return _Read(plain.astype(np.int64) * _CENTS, _gone(missing, named))


def _of_floats(amounts: np.ndarray, missing: np.ndarray, named: str) -> _Read:
    """The cents of floats: exact, or the nearest whole cent where that is within `_SNAP`."""
    cents, snapped = np.empty(len(amounts), np.int64), np.empty(len(amounts), bool)
    wrong = _gone(missing, named)
    for start in range(0, len(amounts), _BLOCK):  # blocks that fit the processor's cache
        here = slice(start, start + _BLOCK)
        block, gone = amounts[here], missing[here]
        usable = np.isfinite(block) & (np.abs(block) < LARGEST_WHOLE / _CENTS / 2)
        safe = np.where(usable, block, 0.0)
        whole = np.rint(safe * _CENTS)
        nearest = whole / _CENTS
        exact = nearest == safe
        near = np.abs(nearest - safe) <= _SNAP
        for row in np.flatnonzero(~usable & ~gone).tolist():
            wrong[start + row] = f"{named}: {float(block[row])!r} is out of range"
        for row in np.flatnonzero(usable & ~(exact | near)).tolist():
            wrong[start + row] = f"{named}: {float(block[row])!r} {_FRACTION}"
        cents[here], snapped[here] = whole, usable & near & ~exact
    return _Read(cents, wrong, snapped)


_BLOCK = 65_536


def _of_decimals(array: pa.Array | pa.ChunkedArray, named: str) -> _Read:
    """Arrow decimals, from their buffers; those that do not fit 64 bits are read one by one."""
    parts = [_of_decimal_chunk(chunk, named) for chunk in chunks_of(array)]
    if len(parts) == 1:
        return parts[0]
    wrong: dict[int, str] = {}
    start = 0
    for part in parts:
        wrong |= {start + row: reason for row, reason in part.wrong.items()}
        start += len(part.cents)
    return _Read(np.concatenate([part.cents for part in parts]), wrong)


def _of_decimal_chunk(chunk: pa.Array, named: str) -> _Read:
    values, fits, missing, scale = scaled(chunk)
    larger, smaller = (10 ** max(by, 0) for by in (_CENT_DIGITS - scale, scale - _CENT_DIGITS))
    fits &= (values < LARGEST_WHOLE // larger) & (values > -LARGEST_WHOLE // larger)
    if smaller > LARGEST_WHOLE:  # so many digits: only one by one
        fits, smaller = np.zeros_like(fits), 1
    cents, rest = np.divmod(values, smaller) if smaller > 1 else (values * larger, 0)
    wrong = _gone(missing, named)
    for row in np.flatnonzero((~fits | (rest != 0)) & ~missing).tolist():
        read = _one(chunk[row].as_py(), named, "none")
        if isinstance(read, str):
            wrong[row] = read
        else:
            cents[row] = read
    return _Read(cents, wrong)


def _as_text(column: pd.Series) -> pa.Array:
    return pa.array(column, pa.large_string(), from_pandas=True)


def _of_texts(
    array: pa.Array | pa.ChunkedArray, missing: np.ndarray, named: str, mark: Mark
) -> _Read:
    """Text: amounts as they are mostly written all at once, the rest one by one."""
    text = pa.concat_arrays(chunks_of(array))
    plain = _of_digits(text.drop_null()) if mark in {"point", "none"} else None
    if plain is not None:
        cents = np.zeros(len(text), np.int64)
        cents[slice(None) if len(plain) == len(text) else ~missing] = plain
        return _Read(cents, _gone(missing, named))
    money = pc.match_substring_regex(text, _WRITTEN[mark])
    digits = pc.if_else(money, text, pa.scalar(None, text.type))
    if mark == "comma":
        digits = _with_point(digits)
    if {*b"$,"} & {*bytes_of(digits)}:
        digits = pc.replace_substring_regex(digits, "[$,]", "")
    read = _of_decimal_chunk(pc.cast(digits, pa.decimal128(_DIGITS, _CENT_DIGITS)), named)
    read.wrong = _gone(missing, named)
    read_already = pc.coalesce(money, pa.scalar(True)).to_numpy(zero_copy_only=False)  # noqa: FBT003
    rows = np.flatnonzero(~read_already)
    if len(rows):
        codes, distinct = pd.factorize(text.take(pa.array(rows)).to_numpy(zero_copy_only=False))
        others = _taken(_one_by_one(distinct.tolist(), named, mark), codes, named)
        read.cents[rows] = others.cents
        read.wrong |= {int(rows[place]): reason for place, reason in others.wrong.items()}
    return read


def _of_digits(texts: pa.Array) -> np.ndarray | None:
    """Texts of digits with at most two behind a point, as in most columns, in cents.

    The digits of all texts are read as whole numbers, without the points. `None` where a text has
    something else.
    """
    held, ends = bytes_of(texts), ends_of(texts)
    size = np.diff(ends)
    if not held or held.translate(None, b"0123456789.-") or size.max() > _LONGEST:
        return None
    letters = np.frombuffer(held, np.uint8)
    one, two = (
        (size > behind) & (letters.take(ends[1:] - behind - 1, mode="clip") == ord("."))
        for behind in (1, 2)
    )
    points, signs = one | two, letters.take(ends[:-1], mode="clip") == ord("-")
    if held.count(b".") != np.count_nonzero(points) or held.count(b"-") != np.count_nonzero(signs):
        return None
    ends[1:] -= np.cumsum(points)
    digits = pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(ends), pa.py_buffer(held.translate(None, b"."))
    )
    try:
        numbers = pc.cast(digits, pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # an empty text, or a sign alone
        return None
    cents: np.ndarray = numbers * np.where(two, 1, np.where(one, 10, _CENTS))
    return cents


def _with_point(text: pa.Array) -> pa.Array:
    """Numbers with a decimal comma, as they are with a decimal point and no thousands."""
    if pc.any(pc.match_substring_regex(text, _THOUSANDS)).as_py():
        text = pc.replace_substring_regex(text, _THOUSANDS, "")
    return pc.replace_substring(text, ",", ".")


def _of_objects(column: pd.Series, missing: np.ndarray, named: str, mark: Mark) -> _Read:
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind == "string":
        return _of_texts(_as_text(column), missing, named, mark)
    if kind == "decimal" and (quick := _of_plain_decimals(column, named)) is not None:
        return quick
    values = column.tolist()
    floats = np.array([isinstance(value, float) for value in values], bool) & ~missing
    plain = [value if known else 0.0 for value, known in zip(values, floats, strict=True)]
    read = _of_floats(np.array(plain, np.float64), missing, named)
    rows = np.flatnonzero(~floats & ~missing).tolist()
    others = _one_by_one([values[row] for row in rows], named, mark)
    read.cents[rows] = others.cents
    read.wrong |= {rows[place]: reason for place, reason in others.wrong.items()}
    return read


def _of_plain_decimals(column: pd.Series, named: str) -> _Read | None:
    """Decimals of usual length all at once; `None` where one is longer or NaN."""
    try:
        return _of_decimals(pa.array(column, _USUAL, from_pandas=True), named)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def _one_by_one(values: Sequence[object], named: str, mark: Mark) -> _Read:
    """Values of any kind; equal ones of a kind are read once."""
    read: dict[tuple[type, str], int | str] = {}
    cents = np.zeros(len(values), np.int64)
    wrong: dict[int, str] = {}
    for row, value in enumerate(values):
        key = (type(value), str(value))
        if key not in read:
            read[key] = _one(value, named, mark)
        amount = read[key]
        if isinstance(amount, str):
            wrong[row] = amount
        else:
            cents[row] = amount
    return _Read(cents, wrong)


def _one(value: object, named: str, mark: Mark) -> int | str:
    """One amount in cents, or why it cannot be read."""
    shown = str(value)[:_SHOWN]
    plain = plain_number(value, mark) if isinstance(value, str) else _number_of(value)
    if isinstance(plain, Unread):
        return f"{named}: {plain.why}"
    try:
        exact = Decimal(plain) * _CENTS
    except ArithmeticError:
        return f"{named}: {shown!r} is not a number of dollars such as 12.50"
    if not exact.is_finite() or abs(exact) > LARGEST_WHOLE // 2:
        return f"{named}: {shown} is out of range"
    if exact != int(exact):
        return f"{named}: {shown} {_FRACTION}"
    return int(exact)


def _number_of(value: object) -> str:
    """The digits of a value that is no text; none of a truth value."""
    return "" if isinstance(value, bool | np.bool_) else str(value)
