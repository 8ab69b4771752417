"""Which column of a table of sales says what: as it is named, else by the usual names.

Where it could be two, it is an error that lists them: sales added up from the wrong column look
right.
"""

# MERGED dates: The days of sales as whole numbers, for columns of any kind; what is no day has a reason.
# MERGED orders: Orders counted once, however many lines they have, in bounded memory: by hashes.
#
# MERGED orders: An order counts once for each state, day and channel that its lines lie in. Eight bytes are kept for
# MERGED orders: each order (up to 24 for a moment, when duplicates are removed). Of an order 41 bits are compared:
# MERGED orders: among 50,000 orders of one state, day and channel two are taken for one with a chance of 1 in 1,700.
# MERGED left_out: Rows that cannot be counted: each with its first reason, counted, with an example.

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.columns import date_kind, is_label, one_value, place_role, preferred
from svc_tools.frames.lookup_columns import ours, require_one
from svc_tools.frames.queries import factorized
from svc_tools.places import day_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import tzinfo

ROLES = ("amount", "date", "state", "channel", "retail", "taxable", "transaction")
_ORDER = r"(?:order|invoice|sale|transaction|receipt|document)"
_NEEDED = ("amount", "date", "state")
_SHOWN = 20

_SECONDS = 86_400
_PLAIN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)?$"
"""ISO dates, and times without a zone: their first ten characters are the day."""
_ISO_DAY = 10
_MISSING = "date: missing"
_ODD = "date: not between 2000 and 2099"
_NO_DATE = "date: not an ISO date such as 2026-05-01"
_ZONED = "date: a moment in a time zone (say whose date counts: tz='America/Chicago', for one)"

_HASH_BITS = 41
_LEAST = 1 << 20
"""So many keys are waited for before duplicates are removed."""

_TEXT_SHOWN = 40

_USUAL = {
    "amount": re.compile(
        r"(?:amount|sales?|sales?_amount|(?:order|line|item|invoice|net|gross)_amount"
        r"|gross(?:_sales?)?|net_sales?|sub_?total|revenue|extended_price)(?:_usd)?"
    ),
    "channel": re.compile(r"(?:sales?_)?channel"),
    "retail": re.compile(r"retail(?:_(?:sales?|amount))?"),
    "taxable": re.compile(r"taxable(?:_(?:sales?|amount))?"),
    "transaction": re.compile(
        rf"{_ORDER}(?:_?(?:id|no|nr|number|num|key))|{_ORDER}_name|txn_id|order"
    ),
}


@dataclass(frozen=True, slots=True)
class SalesColumns:
    """What says each thing of a sale.

    Attributes:
        columns: labels of columns, by role.
        values: one value for all rows, by role.
        notes: what was decided without being told, in sentences.
    """

    columns: Mapping[str, Hashable]
    values: Mapping[str, object]
    notes: tuple[str, ...]


def find_sales_columns(frame: pd.DataFrame, given: Mapping[str, object]) -> SalesColumns:
    """Decide what says the amount, the date, the state and what else there is.

    Args:
        frame: the sales, or the first rows of them.
        given: by role a column's label, or for state and channel one value for all rows; `None`
            looks for a column of a usual name, `False` for none.

    Raises:
        ValueError: a column is not there, several could be meant, or what is needed is not found.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise TypeError(
            "the frame has MultiIndex columns; flatten them first, for instance with"
            " df.columns = ['_'.join(map(str, c)) for c in df.columns]"
        )
    columns, values = _as_named(frame, given)
    open_roles = tuple(role for role in ROLES if given.get(role) is None)
    added = ours(frame)
    free: list[Hashable] = [
        label for label in frame.columns if label not in added and label not in columns.values()
    ]
    columns |= _found(frame, free, open_roles)
    if "state" in open_roles and "state" not in columns and "resolved_state" in added:
        columns["state"] = "resolved_state"  # that of our own lookup
    for role in _NEEDED:
        if role not in columns and role not in values:
            raise ValueError(
                f"{role}: no column of a usual name says it; say which with {role}='…'"
                f" (the columns: {_there(frame)})"
            )
    for role, label in columns.items():
        require_one(frame, label, role)
    return SalesColumns(columns, values, _notes(columns, values))


def _as_named(
    frame: pd.DataFrame, given: Mapping[str, object]
) -> tuple[dict[str, Hashable], dict[str, object]]:
    """The columns and the values for all rows that were named."""
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
            raise ValueError(f"{role}: there is no column {value!r}; the columns: {_there(frame)}")
    return columns, values


def _found(frame: pd.DataFrame, free: list[Hashable], roles: Sequence[str]) -> dict[str, Hashable]:
    """The columns of usual names: one each."""
    found: dict[str, Hashable] = {}
    for role in roles:
        if role == "date":
            candidates = _dates(frame, free)
        elif role == "state":
            named = [label for label in free if (place_role(label) or ("",))[0] == role]
            candidates = preferred(named)
        else:
            candidates = [label for label in free if _USUAL[role].fullmatch(_plain(label))]
        if len(candidates) > 1 and role == "transaction":
            continue  # then rows are counted, and that is said
        if len(candidates) > 1:
            raise ValueError(
                f"{role}: several columns could be meant: {', '.join(map(repr, candidates))};"
                f" say which with {role}='…'"
                + ("" if role in _NEEDED else f", or {role}=False for none")
            )
        if candidates:
            found[role] = candidates[0]
    return found


def _dates(frame: pd.DataFrame, free: list[Hashable]) -> list[Hashable]:
    kinds = {
        label: date_kind(label, column)
        for label, column in frame.items()
        if label in free and isinstance(column, pd.Series)
    }
    sales = [label for label, kind in kinds.items() if kind == "sale"]
    return sales or [label for label, kind in kinds.items() if kind == "other"]


def _notes(columns: Mapping[str, Hashable], values: Mapping[str, object]) -> tuple[str, ...]:
    used = [f"{role} from column {label!r}" for role, label in columns.items()]
    used += [f"{role}={value!s} for all rows" for role, value in values.items()]
    notes = [", ".join(used)]
    if "channel" not in columns and "channel" not in values:
        notes.append(
            "no column says the channel: all sales are taken as direct ones; name the column of"
            " channels if there is one"
        )
    if "transaction" not in columns:
        notes.append(
            "each row counts as one transaction; name the column of order numbers if there is one"
        )
    return tuple(notes)


def _plain(label: Hashable) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(label))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _there(frame: pd.DataFrame) -> str:
    labels = [str(label) for label in frame.columns]
    more = ", …" if len(labels) > _SHOWN else ""
    return (", ".join(labels[:_SHOWN]) or "none") + more


_EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (date(2000, 1, 1) - _EPOCH).days, (date(2099, 12, 31) - _EPOCH).days
"""Days outside of these are taken for mistakes."""
_NONE = int(np.iinfo(np.int64).min)


def days_of_rows(column: pd.Series, tz: tzinfo | None) -> tuple[np.ndarray, Unread]:
    """Days since 1970-01-01 (0 where a row has none), and why rows have none.

    Args:
        column: dates, times, or ISO texts of them.
        tz: the time zone in which a moment of a column of such moments has its date.

    Raises:
        ValueError: the column has times in a time zone, and `tz` is not given.
    """
    unread = Unread(len(column))
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    zone = getattr(column.dtype, "tz", None) or getattr(kind, "tz", None)
    if zone is not None:
        if tz is None:
            raise ValueError(
                f"date: column {column.name!r} has times in {zone}, so its calendar date depends"
                " on the place; say whose date counts, for instance with tz='America/Chicago'"
            )
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
    return np.where(seconds == _NONE, _NONE, seconds // _SECONDS)


def _of_cells(column: pd.Series, tz: tzinfo | None, unread: Unread) -> np.ndarray:
    """Texts and objects: plain ISO texts all at once by their days, the rest by distinct values."""
    days = np.full(len(column), _NONE)
    rest = np.arange(len(column))
    text = _text(column)
    if text is not None:
        plain = pc.match_substring_regex(text, _PLAIN).fill_null(False)  # noqa: FBT003 - Arrow's
        is_plain = plain.to_numpy(zero_copy_only=False)
        shortened = pc.utf8_slice_codeunits(text.filter(plain), 0, _ISO_DAY).dictionary_encode()
        read = [_iso(day) for day in shortened.dictionary.to_pylist()]
        rows = np.flatnonzero(is_plain)
        days[rows] = np.array([*read, _NONE])[shortened.indices.to_numpy(zero_copy_only=False)]
        rest = np.flatnonzero(days == _NONE)
    if not len(rest):
        return days
    codes, values = factorized(column.iloc[rest], column.name)
    found = [_one(value, tz) for value in values]
    days[rest] = np.array([*(_NONE if isinstance(one, str) else one for one in found), _NONE])[
        codes
    ]
    for reason in (_NO_DATE, _ZONED):
        mine = np.array([*(one == reason for one in found), False])[codes]
        unread.add_rows(rest[mine], reason, column.iloc)
    return days


def _text(column: pd.Series) -> pa.Array | None:
    """The column as Arrow text; nothing where it holds other things."""
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


def _iso(text: str) -> int:
    try:
        return (date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        return _NONE


def _one(value: object, tz: tzinfo | None) -> int | str:
    """The day of one cell, or why it has none."""
    try:
        day = day_of(value, tz)
    except ValueError as error:
        return _ZONED if "moment in a time zone" in str(error) else _NO_DATE
    return _NONE if day is None else (day - _EPOCH).days


def hashes_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row's order (uint64), equal for equal names, and which rows name none."""
    if pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
        return _mixed(column.to_numpy(np.int64).view(np.uint64)), np.zeros(len(column), bool)
    codes, values = factorized(column, column.name)
    names = ["" if isinstance(one, float) and one != one else _name(one) for one in values]  # noqa: PLR0124 - NaN
    hashed = pd.util.hash_array(np.array([*names, ""], dtype=object), categorize=False)
    unnamed = np.array([*(not name for name in names), True])
    return hashed[codes], unnamed[codes]


def _name(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # as a missing cell makes of whole numbers
    return str(value).strip()


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers spread over 64 bits (the finaliser of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    spread: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return spread


class Orders:
    """The distinct orders of each group; a group is a number below 2 to the 23rd."""

    def __init__(self) -> None:
        self._keys: list[np.ndarray] = []
        self._waiting = 0
        self._settled = 0

    def see(self, groups: np.ndarray, hashes: np.ndarray) -> None:
        """Take rows in."""
        keys = groups.astype(np.uint64) << np.uint64(_HASH_BITS)
        keys |= hashes >> np.uint64(64 - _HASH_BITS)
        self._keys.append(keys)
        self._waiting += len(keys)
        if self._waiting > max(self._settled, _LEAST):
            self._settle()

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """The groups that have orders, and how many each has."""
        self._settle()
        groups = (self._keys[0] >> np.uint64(_HASH_BITS)).astype(np.int64)
        return np.unique(groups, return_counts=True)

    def _settle(self) -> None:
        every = _joined(self._keys)
        every.sort()
        first = np.ones(len(every), bool)
        np.not_equal(every[1:], every[:-1], out=first[1:])
        self._keys = [every[first]]
        self._waiting, self._settled = 0, len(self._keys[0])


def _joined(arrays: Iterable[np.ndarray]) -> np.ndarray:
    found = list(arrays)
    return np.concatenate(found) if found else np.empty(0, np.uint64)


class _ByRow(Protocol):
    def __getitem__(self, row: int, /) -> object: ...


class Unread:
    """Which rows of a slice one column leaves unread, and why."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int8)
        """For each row 0, or the number of its reason, from 1."""
        self.reasons: list[tuple[str, str]] = []
        """Each reason, with an example."""

    @property
    def rows(self) -> np.ndarray:
        """The rows that are unread, as a mask."""
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
        self.reasons.append((reason, example[:_TEXT_SHOWN]))
        self.codes[rows] = len(self.reasons)


class LeftOut:
    """The rows that are not counted, over all slices."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    @property
    def total(self) -> int:
        """How many rows are left out; each is counted once."""
        return self._rows.total()

    def take(self, columns: list[Unread], rows: int) -> np.ndarray:
        """Count what a slice leaves out; the rows that stay, as a mask."""
        kept = np.ones(rows, bool)
        for unread in columns:
            counted = np.bincount(unread.codes[kept], minlength=len(unread.reasons) + 1).tolist()
            for (reason, example), count in zip(unread.reasons, counted[1:], strict=True):
                if count:
                    self._rows[reason] += count
                    self._examples.setdefault(reason, example)
            kept &= ~unread.rows
        return kept

    def told(self) -> list[dict[str, object]]:
        """The reasons with their numbers of rows, the most frequent first, in plain values."""
        return [
            {"reason": reason, "rows": rows, "example": self._examples[reason]}
            for reason, rows in self._rows.most_common()
        ]

    def sentences(self) -> list[str]:
        """The same in words."""
        said = []
        for reason, rows in self._rows.most_common():
            example = self._examples[reason]
            said.append(
                f"left out, {reason}: {rows:,} row{'' if rows == 1 else 's'}"
                + (f", for instance {example!r}" if example else "")
            )
        return said
