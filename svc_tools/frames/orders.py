"""The rows of a recognized export as sales: further rows of an order, addresses, amounts.

Nothing here changes what the user sees of a frame: `completed` fills the cells of a copy, from
which places, dates and amounts are read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.cells import text_of
from svc_tools.countries import is_abroad
from svc_tools.display import counted
from svc_tools.exports import PLACE_ROLES, Sum
from svc_tools.frames.money import dollars, whole_cents

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from svc_tools.exports import Export


def completed(frame: pd.DataFrame, export: Export, columns: Mapping[str, Hashable]) -> pd.DataFrame:
    """The frame with the place and the date of every row, as far as its export has them elsewhere.

    Where all columns of the place are empty, the billing address counts where the export has one
    that may; in a further row of an order, the place of the order's first row that has one. A date
    that is missing is that of the order.

    Args:
        frame: the rows; it is not changed.
        export: what they are an export of.
        columns: the column of each role that is read.
    """
    place = {role: columns[role] for role in PLACE_ROLES if role in columns}
    if not place or not all(label in frame.columns for label in place.values()):
        return frame
    empty = np.logical_and.reduce([blank_cells(frame[label]) for label in place.values()])
    done = frame
    billing = export.found_billing(frame.columns)
    if empty.any() and billing:
        done = done.copy(deep=False)
        for role, label in place.items():
            if role in billing:
                done[label] = _either(done[label], done[billing[role]], empty)
        empty &= np.logical_and.reduce([blank_cells(done[label]) for label in place.values()])
    orders = order_codes(frame, export)
    if orders is None:
        return done
    if empty.any():
        done = _of_order(done, [*place.values()], orders, empty)
    day = columns.get("as_of")
    if day is not None and day in frame.columns and (undated := blank_cells(frame[day])).any():
        done = _of_order(done, [day], orders, undated)
    return done


def rows_with_places(
    frame: pd.DataFrame, export: Export | None, columns: Mapping[str, Hashable]
) -> pd.DataFrame:
    """The frame without further rows of an order whose first row is not in it (after a filter)."""
    found = {} if export is None or not export.once else export.found(frame.columns)
    if export is None or "order" not in found:
        return frame
    alone = _without_place(completed(frame, export, columns), columns)
    alone &= ~blank_cells(frame[found["order"]])
    return frame[~alone] if alone.any() else frame


def _without_place(frame: pd.DataFrame, columns: Mapping[str, Hashable]) -> np.ndarray:
    """The rows of which every column of the place is empty."""
    place = [columns[role] for role in PLACE_ROLES if columns.get(role) in frame.columns]
    if not place:
        return np.zeros(len(frame), bool)
    empty: np.ndarray = np.logical_and.reduce([blank_cells(frame[label]) for label in place])
    return empty


def order_codes(frame: pd.DataFrame, export: Export) -> np.ndarray | None:
    """For each row the number of its order, -1 where it has none; `None` where all rows are sales.

    Two stores, or two years, may have one number: an order has one number and one date. A row
    without a date belongs to the order of its number above it.
    """
    found = export.found(frame.columns)
    if not export.once or "order" not in found:
        return None
    numbers = pd.factorize(frame[found["order"]])[0]
    if "as_of" not in found:
        return numbers
    day = frame[found["as_of"]]
    undated = blank_cells(day)
    days, each = pd.factorize(day)
    orders = pd.factorize(numbers * (len(each) + 1) + np.where(undated, len(each), days))[0]
    if undated.any():
        above = _nearest(numbers, ~undated)
        orders = np.where(undated & (above >= 0), orders[above], orders)
    return np.where(numbers >= 0, orders, -1)


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


def _of_order(
    frame: pd.DataFrame, labels: list[Hashable], orders: np.ndarray, empty: np.ndarray
) -> pd.DataFrame:
    """The frame with the empty rows' cells taken from the first row of their order that has any."""
    first = _first_rows(orders, ~empty)
    rows = np.flatnonzero(empty & (orders >= 0))
    rows = rows[first[orders[rows]] >= 0]
    take = np.arange(len(frame))
    take[rows] = first[orders[rows]]
    done = frame.copy(deep=False)
    for label in labels:
        done[label] = frame[label].array.take(take)
    return done


def _first_rows(orders: np.ndarray, there: np.ndarray) -> np.ndarray:
    """For each order the first of its rows that is in the mask; -1 where none is."""
    first = np.full(int(orders.max(initial=-1)) + 2, -1)
    rows = np.flatnonzero(there & (orders >= 0))[::-1]
    first[orders[rows]] = rows  # the first one is written last
    return first


def blank_cells(column: pd.Series) -> np.ndarray:
    """Which rows have no value, or one of the words for none."""
    codes, values = pd.factorize(column)
    blank = np.array([*(text_of(value) is None for value in list(values)), True], bool)
    return blank[codes]


def _either(column: pd.Series, other: pd.Series, rows: np.ndarray) -> pd.Series:
    """The column, with the other one's values in these rows."""
    return column.astype(object).where(~rows, other.astype(object))


class Dollars(NamedTuple):
    """An amount of each row in whole cents; 0 where there is a reason why it has none."""

    cents: np.ndarray
    wrong: dict[int, str]
    snapped: int


@dataclass(slots=True)
class Counts:
    """What is counted while the rows of an export are read as sales.

    Attributes:
        rows: rows that are no sale, by their column; refunds; orders that do not add up.
        refunded: the refunds in cents.
    """

    rows: Counter[str] = field(default_factory=Counter)
    refunded: int = 0

    def add(self, counted: Mapping[str, int]) -> None:
        """Add those of further rows, as `as_dict` gives them."""
        self.rows.update({name: rows for name, rows in counted.items() if name != "cents"})
        self.refunded += counted.get("cents", 0)

    def as_dict(self) -> dict[str, int]:
        """The counts as plain values."""
        return {**self.rows, "cents": self.refunded}

    def sentences(self, export: Export, columns: Iterable[Hashable]) -> list[str]:
        """The counts in sentences for the user."""
        found = export.found(columns)
        no_sale, _ = export.found_words(columns)
        said = []
        if rows := self.rows["no sale"]:
            named = " or ".join(map(repr, no_sale))
            said.append(f"{counted(rows, 'row')} cancelled or not paid by {named}: amount 0.00")
        if rows := self.rows["refunded"]:
            said.append(
                f"refunds are not taken off ({found['refunded']!r}: {counted(rows, 'row')},"
                f" ${dollars(self.refunded):,}): the export does not say when and of what; deduct"
                " them in the period of the refund"
            )
        if rows := self.rows["off"]:
            said.append(
                f"in {counted(rows, 'row')} amount, delivery and tax do not add up to"
                f" {found['total']!r}: tips, gift cards, other discounts, or tax inside the amount"
            )
        if rows := self.rows["currency"]:
            said.append(f"{counted(rows, 'row')} in another currency than US dollars: no tax")
        return said


class Sale(NamedTuple):
    """The rows of an export as sales.

    Attributes:
        amount: what the goods cost.
        shipping: the delivery that is charged; `None` where the export has none.
        counts: what was counted.
        no_sale: rows that are no sale; their amounts are 0.
        further: rows whose amounts count in another row of their order; here they are 0. None
            where the amount is that of each row.
    """

    amount: Dollars
    shipping: Dollars | None
    counts: Counts
    no_sale: np.ndarray
    further: np.ndarray

    @property
    def wrong(self) -> dict[int, str]:
        """Why rows have no amount or no delivery, by row."""
        return {**(self.shipping.wrong if self.shipping else {}), **self.amount.wrong}


def sale_of(frame: pd.DataFrame, export: Export, amount: Sum, shipping: Sum | None) -> Sale:
    """The amounts of an export's rows as whole cents, as its columns together give them."""
    labels = frame.columns
    found = export.found(labels)
    frame = _stated(frame, export)
    once = further_rows(frame, export)
    each = np.zeros(len(frame), bool)  # a column of the lines counts in each of them
    further = once if is_of_orders(amount, export, labels) else each
    goods = _added(frame, amount, "amount", further)
    delivery = None
    if shipping is not None:
        of_all = is_of_orders(shipping, export, labels)
        delivery = _added(frame, shipping, "shipping", once if of_all else each)
    _, delivery_words = export.found_words(labels)
    if delivery_words and shipping is None:
        of_delivery = _worded(frame, delivery_words)
        delivery = Dollars(np.where(of_delivery, goods.cents, 0), {}, 0)
        goods = goods._replace(cents=np.where(of_delivery, 0, goods.cents))
    no_sale = _no_sale(frame, export)
    counts = Counts()
    counts.rows["no sale"] = int(np.count_nonzero(no_sale & ~further & (goods.cents != 0)))
    for one in (goods, *filter(None, [delivery])):
        one.cents[no_sale] = 0
        for row in np.flatnonzero(no_sale).tolist():
            one.wrong.pop(row, None)
    foreign = _foreign(frame, found.get("currency")) if "currency" in found else {}
    foreign = {row: reason for row, reason in foreign.items() if not (no_sale | further)[row]}
    counts.rows["currency"] = len(foreign)
    goods.wrong.update(foreign)
    _count_refunds(frame, found, once | no_sale, counts)
    _count_off(frame, found, (goods, delivery), once | no_sale, counts)
    for one in (goods, *filter(None, [delivery])):
        if one.wrong:
            one.cents[np.fromiter(one.wrong, np.int64, len(one.wrong))] = 0
    return Sale(goods, delivery, counts, no_sale, further)


def _stated(frame: pd.DataFrame, export: Export) -> pd.DataFrame:
    """The frame with status and currency of the order in its further rows, where they are empty."""
    orders = order_codes(frame, export)
    labels = [*export.found_words(frame.columns)[0]]
    labels += [label for role, label in export.found(frame.columns).items() if role == "currency"]
    if orders is None or not labels:
        return frame
    empty = np.logical_and.reduce([blank_cells(frame[label]) for label in labels])
    return _of_order(frame, labels, orders, empty) if empty.any() else frame


def _added(frame: pd.DataFrame, one: Sum, named: str, once: np.ndarray) -> Dollars:
    """The sum of the columns in each row; 0 in rows whose amounts count elsewhere.

    Without a value in its first column a row has no amount; delivery may be missing.
    """
    needed = named == "amount"
    cents = np.zeros(len(frame), np.int64)
    wrong: dict[int, str] = {}
    snapped = 0
    for place, label in enumerate(one.all):
        of_column, reasons, near = whole_cents(frame[label], named)
        blank = blank_cells(frame[label]) if reasons else once
        for row, reason in reasons.items():
            if not once[row] and (not blank[row] or (needed and place == 0)):
                wrong.setdefault(row, f"{named}: missing" if blank[row] else reason)
        cents += of_column if place < len(one.plus) else -np.abs(of_column)
        snapped += near
    cents[once] = 0
    return Dollars(cents, wrong, snapped)


def further_rows(frame: pd.DataFrame, export: Export) -> np.ndarray:
    """The rows whose amounts count in another row of their order: empty there, or the same."""
    none = np.zeros(len(frame), bool)
    orders = order_codes(frame, export)
    if orders is None or not len(frame):
        return none
    money = order_columns(export, frame.columns)
    empty = np.logical_and.reduce([blank_cells(frame[label]) for label in money])
    first = _first_rows(orders, ~empty)[orders]
    # after a filter the first row of the order may not be there
    alone = (first < 0) & empty & _without_place(frame, export.found(frame.columns))
    same = np.ones(len(frame), bool)
    for label in money:
        codes = pd.factorize(frame[label])[0]
        same &= codes == codes[first]
    row = np.arange(len(frame))
    further: np.ndarray = (first >= 0) & (row != first) & (empty | same)
    further |= alone
    further &= orders >= 0
    return further


def parted_orders(
    frame: pd.DataFrame, export: Export, exempt: np.ndarray, rows: np.ndarray
) -> list[int]:
    """The first rows of orders of which others, among these rows, are exempt where it is not."""
    orders = order_codes(frame, export)
    if orders is None:
        return []
    head = _first_rows(orders, ~rows)[orders]
    parted: list[int] = np.unique(head[rows & (head >= 0) & (exempt != exempt[head])]).tolist()
    return parted


def hashes_of_orders(frame: pd.DataFrame, export: Export) -> tuple[np.ndarray, np.ndarray]:
    """For each row a hash of its order's number, date and amounts, and the rows that have these."""
    found = export.found(frame.columns)
    money = order_columns(export, frame.columns)
    named = [found[role] for role in ("order", "as_of") if role in found]
    hashes = row_hashes(frame[[*named, *money]])
    empty = np.logical_and.reduce([blank_cells(frame[label]) for label in money])
    return hashes, ~empty & ~blank_cells(frame[found["order"]])


def row_hashes(frame: pd.DataFrame) -> np.ndarray:
    """A hash of each row that is the same in every chunk of a file."""
    frame = frame.copy(deep=False)
    for label, dtype in frame.dtypes.items():
        if pd.api.types.is_integer_dtype(dtype):  # hashed as floats where a cell is missing
            frame[label] = frame[label].astype("string")
    hashes: np.ndarray = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashes


def foreign_rows(frame: pd.DataFrame, label: Hashable | None) -> np.ndarray:
    """The rows of other countries by the column of countries; none where there is no column."""
    if label is None:
        return np.zeros(len(frame), bool)
    codes, values = pd.factorize(frame[label])
    texts = [text_of(value) for value in list(values)]
    abroad = [text is not None and is_abroad(text) for text in texts]
    return np.array([*abroad, False], bool)[codes]


def order_columns(export: Export, columns: Iterable[Hashable]) -> list[Hashable]:
    """The columns of the amounts of a whole order, where the export has such."""
    labels = [*columns]
    sums = [export.found_amount(labels), export.found_shipping(labels)]
    named = [label for one in sums if one is not None for label in one.all]
    return [*dict.fromkeys(named)] if export.once else []


def is_of_orders(one: Sum, export: Export, columns: Iterable[Hashable]) -> bool:
    """Whether dollars are those of the whole order, and not of each of its rows."""
    return {*one.all} <= {*_amounts_of_orders(export, columns)}


def _amounts_of_orders(export: Export, columns: Iterable[Hashable]) -> list[Hashable]:
    """The columns of the amounts of a whole order, also of those that are only compared."""
    labels = [*columns]
    found = export.found(labels)
    others = [found[role] for role in ("collected", "refunded", "total") if role in found]
    return [*order_columns(export, labels), *others] if export.once else []


def _no_sale(frame: pd.DataFrame, export: Export) -> np.ndarray:
    words, _ = export.found_words(frame.columns)
    return _worded(frame, words)


def _worded(frame: pd.DataFrame, words: Mapping[Hashable, tuple[str, ...] | None]) -> np.ndarray:
    """The rows that have one of the words in the column that they belong to."""
    rows = np.zeros(len(frame), bool)
    for label, meant in words.items():
        codes, values = pd.factorize(frame[label])
        hits = [_is_meant(value, meant) for value in list(values)]
        rows |= np.array([*hits, False], bool)[codes]
    return rows


def _is_meant(value: object, meant: Sequence[str] | None) -> bool:
    text = text_of(value)
    if text is None or meant is None:
        return text is not None
    plain = " ".join(text.casefold().rpartition(":")[2].replace("-", " ").split())
    return plain.removeprefix("wc ") in {word.replace("-", " ") for word in meant}


def _foreign(frame: pd.DataFrame, label: Hashable) -> dict[int, str]:
    """Why the rows in another currency than US dollars have no amount, by row."""
    codes, values = pd.factorize(frame[label])
    reasons: dict[int, str] = {}
    for code, value in enumerate(list(values)):
        text = text_of(value)
        if text is not None and text.upper() not in {"USD", "US$", "$"}:
            reason = f"amount: in {text[:20]}, not in US dollars"
            reasons |= dict.fromkeys(np.flatnonzero(codes == code).tolist(), reason)
    return reasons


def _count_refunds(
    frame: pd.DataFrame, found: Mapping[str, Hashable], others: np.ndarray, counts: Counts
) -> None:
    if "refunded" in found:
        refunded = np.abs(whole_cents(frame[found["refunded"]])[0])
        refunded[others] = 0
        counts.rows["refunded"] = int(np.count_nonzero(refunded))
        counts.refunded = int(refunded.sum())


def _count_off(
    frame: pd.DataFrame,
    found: Mapping[str, Hashable],
    parts: tuple[Dollars, Dollars | None],
    others: np.ndarray,
    counts: Counts,
) -> None:
    """Count the rows whose amounts with the tax collected are not the total."""
    if "total" not in found:
        return
    total, wrong, _ = whole_cents(frame[found["total"]])
    known = ~others
    known[[*wrong, *(row for part in parts if part is not None for row in part.wrong)]] = False
    added = sum(part.cents for part in parts if part is not None)
    if "collected" in found:
        added = added + whole_cents(frame[found["collected"]])[0]
    counts.rows["off"] = int(np.count_nonzero(known & (added != total)))


class InOrder:
    """Completes the rows of a file slice by slice: an order may begin in the slice before.

    Attributes:
        further: the rows of the last slice whose amounts count in a row above.
    """

    def __init__(self, export: Export, columns: Mapping[str, Hashable]) -> None:
        self._export, self._columns = export, columns
        self._head: pd.DataFrame | None = None
        self._seen = np.zeros(0, np.uint64)
        self.further = np.zeros(0, bool)

    def take(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows with their places and dates; amounts that count in a row above are 0."""
        self.further = np.zeros(len(frame), bool)
        if not self._export.once:
            return completed(frame, self._export, self._columns)
        head = self._head
        whole = frame if head is None else pd.concat([head, frame], ignore_index=True)
        whole = _stated(completed(whole, self._export, self._columns), self._export)
        orders = order_codes(whole, self._export)
        if orders is None or not len(whole):
            return whole
        once = further_rows(whole, self._export)
        once |= self._seen_before(whole, once, 0 if head is None else 1)
        self.further = once[len(whole) - len(frame) :]
        done = whole.copy(deep=False)
        for label in _amounts_of_orders(self._export, whole.columns):
            numeric = pd.api.types.is_numeric_dtype(whole[label].dtype)
            done[label] = whole[label].where(~once, 0 if numeric else "0")
        last = orders[-1]
        self._head = done.iloc[[int(np.argmax(orders == last))]] if last >= 0 else None
        return done if head is None else done.iloc[1:].set_axis(frame.index)

    def _seen_before(self, frame: pd.DataFrame, once: np.ndarray, start: int) -> np.ndarray:
        """The rows from `start` on whose order was in an earlier slice, with the same amounts.

        Orders are compared by a hash, of eight bytes each.
        """
        hashes, rows = hashes_of_orders(frame, self._export)
        counts = rows & ~once
        counts[:start] = False
        before: np.ndarray = counts & np.isin(hashes, self._seen)
        new = np.unique(hashes[counts & ~before])
        self._seen = np.sort(np.concatenate([self._seen, new]), kind="stable")
        return before
