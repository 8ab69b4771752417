"""What an order is in a file that is no known export: its number, its day and its place.

`find_order` finds the column of the number, once; `order_rows` gives each row its order, and
`order_hashes` the same across the slices of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.values.arrow import is_text
from svc_tools.tables.cells import MISSING_WORDS, text_of
from svc_tools.tables.questions import Question
from svc_tools.tables.roles import plain_name, single

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

_SAMPLE = 1_000
_MOST = 2**62
"""Codes stay below this where several are one number."""
_MOSTLY = 0.8
"""The share of numbers in a column of numbers: exports have other texts among them."""


@dataclass(frozen=True, slots=True)
class OrderColumns:
    """The columns that together say which order a row belongs to.

    Attributes:
        number: the order's number; `None` where no column has it.
        day: the day of the sale, where there is one.
        place: where it was made or delivered: all columns of it.
        not_used: columns that could be the number, each with why they are not.
        question: which column is the number, where that is open; `number` is then the likeliest.
    """

    number: Hashable | None = None
    day: Hashable | None = None
    place: tuple[Hashable, ...] = ()
    not_used: tuple[tuple[Hashable, str], ...] = ()
    question: Question | None = None

    def sentences(self) -> list[str]:
        """How orders were found, for the user."""
        not_used = [f"{label!r} was not used: {why}" for label, why in self.not_used]
        if self.number is None:
            return ["no column holds the number of an order: each row is a sale", *not_used]
        parts = [self.number, *([] if self.day is None else [self.day]), *self.place]
        same = ", ".join(map(repr, parts))
        return [f"rows with the same {same} are one order", *not_used]


def find_order(
    frame: pd.DataFrame,
    day: Hashable | None = None,
    place: Sequence[Hashable] = (),
    *,
    given: Hashable | None = None,
) -> OrderColumns:
    """The column of the order's number, by its name and by what it holds.

    Args:
        frame: the rows.
        day: the column of the day of the sale.
        place: the columns of its place; columns of the store are added by their names.
        given: the column of the number, where the user named it; `False` for none.
    """
    labels: list[Hashable] = single(frame.columns)
    stores = [label for label in labels if _names_a_store(label) and label not in {day, *place}]
    stores = [
        label for label in stores if 2 * len(_texts_in(frame[label])) >= len(_sample(frame[label]))
    ]
    columns = OrderColumns(None, day, (*place, *stores))
    if given is not None:
        return columns if given is False else replace(columns, number=given)
    ranks = {label: rank for label in labels if (rank := _rank(label)) is not None}
    ranks = {label: rank for label, rank in ranks.items() if _holds_numbers(frame[label])}
    if not ranks:
        return columns
    if min(ranks.values()) < _LAST:  # others count where nothing else is there
        ranks = {label: rank for label, rank in ranks.items() if rank < _LAST}
    return _decided(frame, columns, dict(sorted(ranks.items(), key=lambda pair: pair[1])))


def order_rows(
    frame: pd.DataFrame, columns: OrderColumns, numbers: Keys | None = None
) -> np.ndarray | None:
    """For each row the code of its order, -1 where it has no number.

    A row without a day or a place belongs to the order of its number above it, else below.

    Args:
        frame: the rows.
        columns: the columns that say which order a row belongs to.
        numbers: the column of the number, where it was read already.

    Returns:
        `None` where no number repeats, so that each row is an order.
    """
    if columns.number is None:
        return None
    numbers = numbers or text_keys(frame[columns.number])
    if len(numbers.texts) == np.count_nonzero(numbers.codes >= 0):
        return None
    orders = numbers.codes
    if columns.day is not None:
        orders = _within(orders, _day_keys(frame[columns.day]).codes)
    if columns.place:
        orders = _within(orders, _place_codes(frame, columns.place))
    return np.where(numbers.codes >= 0, pd.factorize(orders)[0], -1)


def order_hashes(frame: pd.DataFrame, columns: OrderColumns) -> tuple[np.ndarray, np.ndarray]:
    """A hash of each row's order that is the same in every slice of a file, whatever its types.

    Returns:
        The hashes, and the rows that have a number, and a day and a place where there are columns
        of them: another row belongs to the order of its number above it, which `order_rows` knows.
    """
    if columns.number is None:
        return np.zeros(len(frame), np.uint64), np.zeros(len(frame), bool)
    numbers = text_keys(frame[columns.number])
    hashes, whole = _hashes(numbers), numbers.codes >= 0
    if columns.day is not None:
        days = _day_keys(frame[columns.day])
        hashes, whole = _mixed(hashes, _hashes(days)), whole & (days.codes >= 0)
    there = np.zeros(len(frame), bool)
    for label in columns.place:
        part = text_keys(frame[label])
        hashes, there = _mixed(hashes, _hashes(part)), there | (part.codes >= 0)
    return hashes, whole & there if columns.place else whole


Codes: TypeAlias = Callable[[], np.ndarray | None]
"""Gives a code for each row, where it is needed: a million numbers take their time."""


def by_order(codes: np.ndarray, orders_of: Codes) -> np.ndarray:
    """Codes of cells, where -1 (empty) becomes that of the first row of the order with another."""
    orders = orders_of() if (codes < 0).any() else None
    if orders is None:
        return codes
    empty = (codes < 0) & (orders >= 0)
    if not empty.any():
        return codes
    first = np.full(int(orders.max(initial=-1)) + 1, -1, np.int64)
    there = np.flatnonzero((codes >= 0) & (orders >= 0))[::-1]
    first[orders[there]] = codes[there]  # the first one is written last
    return np.where(empty, first[orders], codes)


class Keys(NamedTuple):
    """A column by its distinct texts: the code of each row, -1 where it is missing."""

    codes: np.ndarray
    texts: pa.Array


def text_keys(column: pd.Series) -> Keys:
    """The distinct texts of a column, no matter how they are written: 12 and 12.0 are one."""
    try:
        codes, values = pd.factorize(column)
    except TypeError:  # lists and the like, which have no hash
        codes, values = pd.factorize(column.map(str))
    written = pd.Series(values)
    texts = _plain_texts(written)
    if is_text(written) and texts.equals(_array(pa.array(written, pa.large_string()))):
        return Keys(codes.astype(np.int64, copy=False), texts)  # as in most columns
    return _by_text(codes, texts)


def _decided(
    frame: pd.DataFrame, columns: OrderColumns, ranks: dict[Hashable, int]
) -> OrderColumns:
    """The first column whose numbers repeat, and a question where another parts the rows otherwise.

    A number that no other row has is that of a row: it is asked about only where its name says
    more that it is the order's than that of the one that repeats, or as much.
    """
    labels = [*ranks]
    if len(labels) == 1:
        return replace(columns, number=labels[0])
    rows = {label: order_rows(frame, replace(columns, number=label)) for label in labels}
    repeating = [label for label in labels if rows[label] is not None]
    if not repeating:
        return replace(columns, number=labels[0])
    first = repeating[0]
    others = [label for label in repeating[1:] if not _part_alike(rows[first], rows[label])]
    single = [label for label in labels if rows[label] is None]
    if ranks[first] < _LAST:
        others += [label for label in single if ranks[label] <= ranks[first]]
    passed = tuple((label, _OF_ROWS) for label in single if label not in others)
    question = _question(first, others) if others else None
    return replace(columns, number=first, not_used=passed, question=question)


_OF_ROWS = "each row has another one, so it is not the number of an order of several rows"


def _question(first: Hashable, others: Sequence[Hashable]) -> Question:
    listed = " or ".join(map(repr, (first, *others)))
    why = f"{listed} could be the number of the order, and each puts other rows into one order"
    return Question("order", (first, *others), (first, *others, False), first, why, "order")


def _part_alike(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two codes of rows put the same rows together, where both have one."""
    if one is None or other is None:
        return one is other
    both = (one >= 0) & (other >= 0)
    left, right = pd.factorize(one[both])[0], pd.factorize(other[both])[0]
    return bool(np.array_equal(left, right))  # both count from the first row on


def _rank(label: Hashable) -> int | None:
    """How likely a name is that of the order's number, 0 the likeliest; `None` where it is not."""
    words = _split(plain_name(label))
    if not _NEVER.isdisjoint(words):
        return None
    numbered = "#" in str(label) or not _NUMBER.isdisjoint(words)
    of_order, of_sale = not _ORDER.isdisjoint(words), not _SALE.isdisjoint(words)
    bare = " ".join(words) in _ALONE
    if not numbered and not bare:
        return None
    if of_order or of_sale:
        return 0 if of_order else 1
    return _LAST if " ".join(words) in _BARE else None


_LAST = 2
"""The rank of a number that says no more, which counts where nothing else is there."""


def _split(plain: str) -> list[str]:
    """The words of a name, also of one such as `orderno`."""
    words: list[str] = []
    for word in plain.split("_"):
        glued = _GLUED.fullmatch(word)
        words += [*glued.groups()] if glued else [word]
    return words


def _names_a_store(label: Hashable) -> bool:
    words = [word for word in plain_name(label).split("_") if word not in _NUMBER]
    return len(words) == 1 and words[0] in _STORES


def _sample(column: pd.Series) -> list[object]:
    """Some values of a column, spread over all of it."""
    return list(column.iloc[:: max(len(column) // _SAMPLE, 1)])


def _texts_in(column: pd.Series) -> list[str]:
    return [text for value in _sample(column) if (text := text_of(value)) is not None]


def _holds_numbers(column: pd.Series) -> bool:
    """Whether a sample is mostly filled, and mostly with texts with digits or whole numbers."""
    texts = _texts_in(column)
    fits = sum(_NUMBER_LIKE.fullmatch(text) is not None for text in texts)
    return 2 * len(texts) >= len(_sample(column)) and fits >= max(_MOSTLY * len(texts), 1)


def _within(orders: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The orders parted by a code; a row without one belongs to the nearest row of its order."""
    size = int(parts.max(initial=-1)) + 2
    if int(orders.max(initial=0)) >= _MOST // size:
        orders = pd.factorize(orders)[0]
    parted: np.ndarray = orders * size + parts + 1
    without = (parts < 0) & (orders >= 0)
    if not without.any():
        return parted
    nearest = _nearest(orders, parts >= 0)
    return np.where(without & (nearest >= 0), parted[nearest], parted)


def _nearest(orders: np.ndarray, there: np.ndarray) -> np.ndarray:
    """For each row the nearest one of its order above that is in the mask, else below; else -1."""
    rows = np.argsort(orders, kind="stable")
    place = np.arange(len(rows))
    of = orders[rows]
    above = np.maximum.accumulate(np.where(there[rows], place, -1))
    below = np.minimum.accumulate(np.where(there[rows], place, len(rows))[::-1])[::-1]
    below = np.where(below < len(rows), below, -1)
    found = np.where((above >= 0) & (of[above] == of), above, below)
    nearest = np.full(len(rows), -1)
    nearest[rows] = np.where((found >= 0) & (of[found] == of), rows[found], -1)
    return nearest


def _place_codes(frame: pd.DataFrame, labels: Sequence[Hashable]) -> np.ndarray:
    """The distinct places as codes, -1 where each column of the place is missing."""
    codes = np.zeros(len(frame), np.int64)
    there = np.zeros(len(frame), bool)
    for label in labels:
        part = text_keys(frame[label])
        there |= part.codes >= 0
        codes = pd.factorize(codes * (len(part.texts) + 1) + part.codes + 1)[0]
    return np.where(there, codes, -1)


def _day_keys(column: pd.Series) -> Keys:
    """The distinct days of a column of dates, moments, or texts of them."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dtype = column.dtype
        dates = isinstance(dtype, pd.ArrowDtype) and pa.types.is_date(dtype.pyarrow_dtype)
        moments = column if dates else column.dt.tz_localize(None)
        days = moments.to_numpy("datetime64[ns]").astype("datetime64[D]")
        codes, each = pd.factorize(days)
        return Keys(codes, pa.array(np.datetime_as_string(each), pa.large_string()))
    codes, values = pd.factorize(column)
    texts = _plain_texts(pd.Series(values))
    texts = pc.replace_substring_regex(texts, _TIME, "")
    return _by_text(codes, pc.replace_substring_regex(texts, _DAY_NUMBER, r"\1"))


def _plain_texts(values: pd.Series) -> pa.Array:
    """Distinct values as texts, null where they are missing: a whole number without decimals."""
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "string":
        texts = pa.array(values, pa.large_string(), from_pandas=True)
    elif kind == "integer" and pd.api.types.is_integer_dtype(values.dtype):
        return _array(pa.array(values).cast(pa.large_string()))
    else:
        texts = pa.array([text_of(value) for value in list(values)], pa.large_string())
    texts = pc.utf8_trim_whitespace(_array(texts))
    missing = pc.is_in(pc.utf8_lower(texts), pa.array([*MISSING_WORDS], pa.large_string()))
    texts = pc.if_else(missing, pa.scalar(None, pa.large_string()), texts)
    if pc.any(pc.ends_with(texts, ".0")).as_py():
        texts = pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0+$", r"\1")
    return texts


def _array(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def _by_text(codes: np.ndarray, texts: pa.Array) -> Keys:
    """The rows by texts of which several may be one, and some missing."""
    distinct = texts.dictionary_encode()
    onto = distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return Keys(np.append(onto, -1)[codes], distinct.dictionary)


def _hashes(keys: Keys) -> np.ndarray:
    texts = keys.texts.to_numpy(zero_copy_only=False).astype(object)
    of_texts = pd.util.hash_array(texts, categorize=False)
    hashes: np.ndarray = np.append(of_texts, np.uint64(0))[keys.codes]
    return hashes


def _mixed(hashes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Two hashes of each row as one, which depends on their order."""
    mixed: np.ndarray = hashes * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= others + (hashes >> np.uint64(7))
    return mixed


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ORDER = _words("order")
_SALE = _words("sale sales transaction transactions trans tran txn trx receipt check chk")
_ALONE = _words("order transaction txn trx receipt") | {"order name"}
"""Names that are those of numbers as they stand."""
_BARE = _words("id number num ref reference")
_NUMBER = _words("number no num nr id ids ref reference code uuid")
_NEVER = _words(
    "of date time day month year status state type kind total subtotal amount value price cost tax"
    " discount fee tip qty quantity count customer client buyer user member account company contact"
    " email phone first last item items line lineitem row product sku variant subscription plan"
    " fulfillment fulfilment shipment shipping tracking ship delivery country city zip address"
    " original parent related previous linked return refund exchange rate currency channel source"
    " method note notes comment coupon gift loyalty cashier employee session cart batch payout"
    " deposit settlement journal invoice inv document doc bill payment charge intent processor"
    " gateway stripe paypal auth authorization card bank po purchase confirmation external"
)
_STORES = _words("store shop outlet branch register terminal location site pos")
_GLUED = re.compile(r"(order|transaction|sale|sales|receipt|invoice)(number|num|no|nr|id|ref)")
_NUMBER_LIKE = re.compile(
    r"(?![0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|$))"  # no date
    r"(?![0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}(?: |$))"
    r"(?!-?\$? ?[0-9,]*\.(?!0+$)[0-9]{1,2}$)"  # no dollars and cents
    r"(?=.*[0-9]).{1,60}"
)
_TIME = r"(?:T|,? +)[0-9]{1,2}:[0-9]{2}.*$"
"""The time behind a day."""
_DAY_NUMBER = r"^([0-9]{5})\.[0-9]+$"
"""The number of a day in a workbook, with the time behind the point."""
