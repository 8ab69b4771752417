"""The columns of a table of sales: which one means what, and how dates and order numbers are read.

A column that is not named is found by the usual names. Where several fit, it is an error that
lists them: sales summed from the wrong column look right.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.columns import (
    PLACES,
    date_kind,
    free_labels,
    is_label,
    one_value,
    require_flat,
    used_notes,
)
from svc_tools.frames.lookup_columns import columns_of_lookups, require_one
from svc_tools.frames.queries import factorized
from svc_tools.places import day_of
from svc_tools.roles import ColumnAmbiguous, ColumnMissing, Role, TimeZoneMissing, find

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

ROLES = ("amount", "date", "state", "channel", "retail", "taxable", "transaction")
_ORDER = r"(?:order|invoice|sale|transaction|receipt|document)"
_USUAL = [
    Role(name, re.compile(usual))
    for name, usual in {
        "amount": r"(?:amount|sales?|sales?_amount|(?:order|line|item|invoice|net|gross)_amount"
        r"|gross(?:_sales?)?|net_sales?|sub_?total|revenue|extended_price)(?:_usd)?",
        "channel": r"(?:sales?_)?channel",
        "retail": r"retail(?:_(?:sales?|amount))?",
        "taxable": r"taxable(?:_(?:sales?|amount))?",
        "transaction": rf"{_ORDER}(?:_?(?:id|no|nr|number|num|key))|{_ORDER}_name|txn_id|order",
    }.items()
]
_NEEDED = ("amount", "date", "state")


@dataclass(frozen=True, slots=True)
class SalesColumns:
    """The columns and values of a table of sales.

    Attributes:
        columns: labels of columns, by role.
        values: one value for all rows, by role.
        notes: what was decided by default, in sentences.
    """

    columns: Mapping[str, Hashable]
    values: Mapping[str, object]
    notes: tuple[str, ...]


def find_sales_columns(frame: pd.DataFrame, given: Mapping[str, object]) -> SalesColumns:
    """Find the columns of the amount, the date, the state and the optional roles.

    Args:
        frame: the sales, or the first rows of them.
        given: by role a column's label, or for state and channel one value for all rows; `None`
            looks for a column of a usual name, `False` means no column.

    Raises:
        ValueError: a column is missing, several could be meant, or a required one is not found.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
    """
    require_flat(frame)
    columns, values = _as_named(frame, given)
    free = [label for label in free_labels(frame) if label not in columns.values()]
    columns |= _found(frame, free, {role for role in ROLES if given.get(role) is None})
    if (
        given.get("state") is None
        and "state" not in columns
        and "resolved_state" in columns_of_lookups(frame)
    ):
        columns["state"] = "resolved_state"  # added by the lookup
    for role in _NEEDED:
        if role not in columns and role not in values:
            raise ColumnMissing(role, list(frame.columns))
    for role, label in columns.items():
        require_one(frame, label, role)
    return SalesColumns(columns, values, _notes(columns, values))


def _as_named(
    frame: pd.DataFrame, given: Mapping[str, object]
) -> tuple[dict[str, Hashable], dict[str, object]]:
    """The columns and the values for all rows that are given."""
    columns: dict[str, Hashable] = {}
    values: dict[str, object] = {}
    for role in ROLES:
        value = given.get(role)
        if value is None or value is False:
            continue
        if isinstance(value, Hashable) and is_label(frame, value):
            columns[role] = value
        elif role == "state":
            values[role] = one_value(role, value, frame)
        elif role == "channel":
            values[role] = value
        else:
            advice = f"there is no column {value!r}"
            raise ColumnMissing(role, list(frame.columns), advice)
    return columns, values


def _found(frame: pd.DataFrame, free: list[Hashable], wanted: set[str]) -> dict[str, Hashable]:
    """The columns of usual names, one for each role."""
    roles = [role for role in (*_USUAL, PLACES["state"]) if role.name in wanted]
    usual = find(free, roles)
    for problem in usual.problems:
        if problem.role != "transaction":  # then rows are counted, as a note explains
            raise problem
    found = usual.columns
    if "date" in wanted:
        dates = _dates(frame, free)
        if len(dates) > 1:
            raise ColumnAmbiguous("date", dates)
        found |= dict(zip(["date"], dates, strict=False))
    return {role: found[role] for role in ROLES if role in found}


def _dates(frame: pd.DataFrame, free: list[Hashable]) -> list[Hashable]:
    kinds = {
        label: date_kind(label, column)
        for label, column in frame.items()
        if label in free and isinstance(column, pd.Series)
    }
    sales = [label for label, kind in kinds.items() if kind == "sale"]
    return sales or [label for label, kind in kinds.items() if kind == "other"]


def _notes(columns: Mapping[str, Hashable], values: Mapping[str, object]) -> tuple[str, ...]:
    notes = used_notes(columns, values)
    if "channel" not in columns and "channel" not in values:
        notes.append(
            "no column has the channel: all sales count as direct sales; name the column of"
            " channels if there is one"
        )
    if "transaction" not in columns:
        notes.append(
            "each row counts as one transaction; name the column of order numbers if there is one"
        )
    return tuple(notes)


_EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (date(2000, 1, 1) - _EPOCH).days, (date(2099, 12, 31) - _EPOCH).days
"""Days outside this range are taken for mistakes."""
_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)?$"
"""ISO dates, and times without a zone: their first ten characters are the day."""
_NONE = int(np.iinfo(np.int64).min)
_MISSING = "date: missing"
_ODD = "date: not between 2000 and 2099"
_NO_DATE = "date: not an ISO date such as 2026-05-01"
_ZONED = "date: a moment in a time zone, and no time zone was given for its calendar date"


def days_of_rows(column: pd.Series, tz: tzinfo | None) -> tuple[np.ndarray, Unread]:
    """Days since 1970-01-01 (0 where a row has none), and why rows have none.

    Args:
        column: dates, times, or ISO texts of them.
        tz: the time zone in which times with a zone have their date.

    Raises:
        ValueError: the column has times in a time zone, and `tz` is not given.
    """
    unread = Unread(len(column))
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    zone = getattr(column.dtype, "tz", None) or getattr(kind, "tz", None)
    if zone is not None:
        if tz is None:
            raise TimeZoneMissing("date", column.name, zone)
        column = column.dt.tz_convert(tz).dt.tz_localize(None)
        kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        days = _of_arrow(pa.array(column.array))
    elif pd.api.types.is_datetime64_dtype(column.dtype):
        days = column.to_numpy("datetime64[D]").astype(np.int64)
    else:
        days = _of_cells(column, tz, unread)
    missing = days == _NONE
    odd = ~missing & ((days < FIRST_DAY) | (days > LAST_DAY))
    unread.add(odd, _ODD, lambda row: np.datetime64(int(days[row]), "D"))
    unread.add(missing, _MISSING)
    return np.where(missing | odd, 0, days), unread


def _of_arrow(array: pa.Array | pa.ChunkedArray) -> np.ndarray:
    whole = array.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).fill_null(_NONE)
    seconds: np.ndarray = (
        whole.to_numpy(zero_copy_only=False) if isinstance(whole, pa.Array) else whole.to_numpy()
    )
    return np.where(seconds == _NONE, _NONE, seconds // 86_400)


def _of_cells(column: pd.Series, tz: tzinfo | None, unread: Unread) -> np.ndarray:
    """Days of texts and objects: plain ISO texts at once by their days, the rest by value."""
    days = np.full(len(column), _NONE)
    rest = np.arange(len(column))
    text = _text(column)
    if text is not None:
        plain = pc.match_substring_regex(text, _PLAIN).fill_null(False)  # noqa: FBT003 - Arrow's
        is_plain = plain.to_numpy(zero_copy_only=False)
        shortened = pc.utf8_slice_codeunits(text.filter(plain), 0, 10).dictionary_encode()
        read = [_iso_day(day) for day in shortened.dictionary.to_pylist()]
        rows = np.flatnonzero(is_plain)
        days[rows] = np.array([*read, _NONE])[shortened.indices.to_numpy(zero_copy_only=False)]
        rest = np.flatnonzero(days == _NONE)
    if not len(rest):
        return days
    codes, values = factorized(column.iloc[rest], column.name)
    found = [_day(value, tz) for value in values]
    days[rest] = np.array([*(_NONE if isinstance(one, str) else one for one in found), _NONE])[
        codes
    ]
    for reason in (_NO_DATE, _ZONED):
        of_reason = np.array([*(one == reason for one in found), False])[codes]
        unread.add_rows(rest[of_reason], reason, column.iloc)
    return days


def _text(column: pd.Series) -> pa.Array | None:
    """The column as Arrow text; `None` where it has values of other types."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    is_text = isinstance(column.dtype, pd.StringDtype) or (
        kind is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
    )
    if not is_text and not (
        column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "string"
    ):
        return None
    array = pa.array(column, pa.large_string(), from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _iso_day(text: str) -> int:
    try:
        return (date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        return _NONE


def _day(value: object, tz: tzinfo | None) -> int | str:
    """The day of a cell, or the reason why it has none."""
    try:
        day = day_of(value, tz)
    except ValueError as error:
        return _ZONED if "moment in a time zone" in str(error) else _NO_DATE
    return _NONE if day is None else (day - _EPOCH).days


def hashes_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row's order (uint64), equal for equal names, and which rows have none."""
    if pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
        return _mixed(column.to_numpy(np.int64).view(np.uint64)), np.zeros(len(column), bool)
    codes, values = factorized(column, column.name)
    names = ["" if isinstance(one, float) and one != one else _name(one) for one in values]  # noqa: PLR0124 - NaN
    hashed = pd.util.hash_array(np.array([*names, ""], dtype=object), categorize=False)
    unnamed = np.array([*(not name for name in names), True])
    return hashed[codes], unnamed[codes]


def _name(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # whole numbers in a column with missing cells
    return str(value).strip()


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers spread over 64 bits (the finaliser of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    spread: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return spread


class _ByRow(Protocol):
    def __getitem__(self, row: int, /) -> object: ...


class Unread:
    """The rows of a slice whose cell in one column cannot be read, and why."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int8)
        """For each row 0, or the number of its reason, from 1."""
        self.reasons: list[tuple[str, str]] = []
        """Each reason, with an example."""

    @property
    def rows(self) -> np.ndarray:
        """The unread rows, as a mask."""
        mask: np.ndarray = self.codes > 0
        return mask

    def add(
        self, mask: np.ndarray, reason: str, example: Callable[[int], object] | None = None
    ) -> None:
        """Give these rows a reason where they have none yet."""
        rows = np.flatnonzero(mask & (self.codes == 0))
        if len(rows):
            self._add(rows, reason, "" if example is None else str(example(int(rows[0]))))

    def add_rows(self, rows: np.ndarray, reason: str, cells: _ByRow | None = None) -> None:
        """The same by row numbers; the example is the first row's cell."""
        if len(rows):
            self._add(rows, reason, "" if cells is None else str(cells[int(rows[0])]))

    def _add(self, rows: np.ndarray, reason: str, example: str) -> None:
        self.reasons.append((reason, example[:40]))
        self.codes[rows] = len(self.reasons)
