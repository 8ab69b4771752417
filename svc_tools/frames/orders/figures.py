"""The money of a table as whole cents, column by column.

Every amount is read to the cent or not at all. A price may have fractions of a cent; what it comes
to with its quantity is rounded to the cent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.orders.kinds import kind_of, may_be_money, names_money
from svc_tools.frames.values.money import whole_cents
from svc_tools.tables.cells import text_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from svc_tools.frames.orders.kinds import ColumnKind
    from svc_tools.frames.orders.sums import Sums, Term
    from svc_tools.frames.values.decimal_marks import Mark

_MOSTLY = 0.9
"""The share of the filled cells of a column of money that are money."""
_MOST = 10**13
"""The largest cents that take part: sums and products of them fit 64 bits."""
_FINE = 10**4
"""Prices and quantities are read with four decimals."""
_CENTS_OF_PRODUCT = 10**6
"""A product of two such numbers has eight decimals: so many of its units are a cent."""
_LARGEST_PRODUCT = 9 * 10**18
_DASHES = "-\u2013\u2014"
"""What stands in empty cells of some exports."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A column of money.

    Attributes:
        cents: whole cents, 0 where there is none.
        filled: the rows that have an amount.
        wrong: the rows with a cell that is no amount; `None` where there are none.
    """

    cents: np.ndarray
    filled: np.ndarray
    wrong: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class MoneyTable:
    """The columns of money of a table.

    Attributes:
        rows: how many rows it has.
        columns: the columns that are not zero throughout.
        kinds: the kind of every column of money, by the words of its name.
        zero: the columns that are zero or empty throughout, which take no part.
        unread: columns that are named as money, and hold other texts than amounts.
        fine: prices and quantities in ten-thousandths, from which products are computed.
        quantities: the columns of quantities.
    """

    rows: int
    columns: dict[Hashable, Figures]
    kinds: dict[Hashable, ColumnKind]
    zero: tuple[Hashable, ...] = ()
    unread: tuple[Hashable, ...] = ()
    fine: dict[Hashable, Figures] = field(default_factory=dict)
    quantities: tuple[Hashable, ...] = ()
    _products: dict[tuple[Hashable, ...], Figures] = field(default_factory=dict, repr=False)

    def of(self, term: Term) -> Figures:
        """The figures of a term's column, or of its price x quantity, without its sign.

        A column that is not there, or that is zero throughout, is 0.
        """
        if term.times is None:
            return self.columns.get(term.label) or self._nothing()
        price = self.fine.get(term.label)
        number = self.fine.get(term.times)
        if price is None or number is None:
            return self._nothing()
        if term.columns not in self._products:  # computed once: it is read again and again
            self._products[term.columns] = _product(price, number)
        return self._products[term.columns]

    def _nothing(self) -> Figures:
        return Figures(np.zeros(self.rows, np.int64), np.zeros(self.rows, bool))


def money_table(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    marks: Mapping[Hashable, Mark] | None = None,
    *,
    named: Iterable[Hashable] = (),
) -> MoneyTable:
    """The columns of money among these, as whole cents.

    A column is money where its name may be that of money, and nine in ten of its filled cells are
    amounts; one without a known word in its name also needs an amount that is not of whole dollars.

    Args:
        frame: the rows.
        labels: the columns to read; each is a label of one column.
        marks: the decimal mark of columns of text that have another than the point.
        named: columns that are money because the user says so, or an earlier chunk decided.
    """
    columns: dict[Hashable, Figures] = {}
    kinds: dict[Hashable, ColumnKind] = {}
    zero: list[Hashable] = []
    unread: list[Hashable] = []
    fine: dict[Hashable, Figures] = {}
    quantities: list[Hashable] = []
    certain = {*named}
    for label in labels:
        kind = kind_of(label)
        if kind == "quantity" and label not in certain:
            number = _fine(frame[label], marks)
            if _is_mostly_read(number):
                fine[label] = number
                quantities.append(label)
            continue
        if label not in certain and not may_be_money(label):
            continue
        figures, parts = _read(frame[label], marks, fractions=kind == "price")
        if label not in certain and not _is_money(label, figures, kind):
            if kind != "unknown" and (figures.filled.any() or figures.wrong is not None):
                unread.append(label)
            continue
        kinds[label] = kind
        if kind == "price":
            fine[label] = _fine_of(figures, parts)
        if figures.cents.any() or figures.wrong is not None or (parts is not None and parts.any()):
            columns[label] = figures
        else:
            zero.append(label)
    return MoneyTable(
        len(frame), columns, kinds, tuple(zero), tuple(unread), fine, tuple(quantities)
    )


def price_times(
    price: pd.Series, quantity: pd.Series, marks: Mapping[Hashable, Mark] | None = None
) -> Figures:
    """What a column of prices comes to with one of quantities, rounded half up to the cent."""
    return _product(_fine(price, marks), _fine(quantity, marks))


def terms_of(sums: Sums) -> list[tuple[str, Term]]:
    """The terms of sums, each with what it is a part of: "goods", "delivery", "tax", "others"."""
    return [
        (what, term)
        for what in ("goods", "delivery", "tax", "others")
        for term in getattr(sums, what)
    ]


@dataclass(frozen=True, slots=True)
class OrderAmounts:
    """What rows, or orders, come to by the sums of a file, in cents.

    Attributes:
        goods: the goods.
        delivery: the delivery.
        tax: the tax that was collected.
        rest: the total less everything that it is made of; 0 where nothing is a total.
        wrong: where a cell is no amount, or an order's column differs within the order.
    """

    goods: np.ndarray
    delivery: np.ndarray
    tax: np.ndarray
    rest: np.ndarray
    wrong: np.ndarray

    @property
    def adds_up(self) -> np.ndarray:
        """Where the figures can be used."""
        fits: np.ndarray = (self.rest == 0) & ~self.wrong
        return fits


def order_amounts(sums: Sums, figures: Sequence[tuple[str, Term, Figures]]) -> OrderAmounts:
    """Goods, delivery, tax and what is left of the total, from the figures of each term."""
    size = len(figures[0][2].cents)
    added = {what: np.zeros(size, np.int64) for what in ("goods", "delivery", "tax", "others")}
    wrong = np.zeros(size, bool)
    total: np.ndarray | None = None
    for what, term, figure in figures:
        if figure.wrong is not None:
            wrong |= figure.wrong
        if what == "total":
            total = with_sign_of(term, figure.cents)
        else:
            added[what] += with_sign_of(term, figure.cents)
    goods, delivery, tax, others = added.values()
    outside = sum(
        (
            with_sign_of(term, figure.cents)
            for what, term, figure in figures
            if term in sums.outside
        ),
        np.zeros(size, np.int64),
    )
    nothing = np.zeros(size, np.int64)
    rest = nothing if total is None else total - (goods + delivery + tax + others - outside)
    return OrderAmounts(goods, delivery, tax, rest, wrong)


def with_sign_of(term: Term, cents: np.ndarray) -> np.ndarray:
    """The cents with the sign of the term."""
    return term.sign * (np.abs(cents) if term.either_sign else cents)


def _is_mostly_read(figures: Figures) -> bool:
    read = int(figures.filled.sum())
    wrong = 0 if figures.wrong is None else int(figures.wrong.sum())
    return read > 0 and read >= _MOSTLY * (read + wrong)


def _is_money(label: Hashable, figures: Figures, kind: ColumnKind) -> bool:
    if not figures.filled.any() and figures.wrong is None:
        return names_money(label)
    if not _is_mostly_read(figures):
        return False
    return kind != "unknown" or bool((figures.cents % 100 != 0).any())


def _read(
    column: pd.Series, marks: Mapping[Hashable, Mark] | None, *, fractions: bool
) -> tuple[Figures, np.ndarray | None]:
    """A column as whole cents, and in ten-thousandths of a dollar where it has such fractions."""
    size = len(column)
    if pd.api.types.is_bool_dtype(column.dtype) or _holds_dates(column):
        return Figures(np.zeros(size, np.int64), np.zeros(size, bool), np.ones(size, bool)), None
    filled = _filled(column)
    places = np.flatnonzero(filled)
    there = column if len(places) == size else column.iloc[places]
    try:
        read, refused, _ = _cents_of(there, marks)
    except TypeError:  # truth values among objects
        return Figures(np.zeros(size, np.int64), np.zeros(size, bool), filled), None
    cents = np.zeros(size, np.int64)
    cents[places] = read
    fine: np.ndarray | None = None
    wrong = np.zeros(size, bool)
    beyond = places[np.abs(read) > _MOST]
    wrong[beyond] = True
    if refused:
        rows = places[np.fromiter(refused, np.int64, len(refused))]
        numbers, blank = _one_by_one(column.iloc[rows], marks, fractions=fractions)
        wrong[rows] = [number is None for number in numbers]
        wrong[rows[blank]] = False
        filled = filled.copy()
        filled[rows[blank]] = False
        fine = _with_fractions(cents, rows, numbers) if fractions else None
        cents[rows] = [0 if number is None else _rounded(number) for number in numbers]
    cents[beyond] = 0
    filled = filled & ~wrong
    return Figures(cents, filled, wrong if wrong.any() else None), fine


def _cents_of(
    column: pd.Series, marks: Mapping[Hashable, Mark] | None
) -> tuple[np.ndarray, dict[int, str], int]:
    """The one place where texts become cents."""
    mark = (marks or {}).get(column.name)
    return whole_cents(column, mark=mark or "point")


def _holds_dates(column: pd.Series) -> bool:
    return pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(
        column.dtype
    )


def _filled(column: pd.Series) -> np.ndarray:
    """The rows that are neither missing nor an empty text."""
    filled: np.ndarray = column.notna().to_numpy(bool)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        empty = (column == "").fillna(value=False).to_numpy(bool)
        filled = filled & ~empty
    return filled


def _one_by_one(
    column: pd.Series, marks: Mapping[Hashable, Mark] | None, *, fractions: bool
) -> tuple[list[Decimal | None], np.ndarray]:
    """Cells that are no whole cents as dollars (`None`: no amount), and which are blank."""
    comma = (marks or {}).get(column.name) == "comma"
    read: dict[object, tuple[Decimal | None, bool]] = {}
    found = []
    for value in column.tolist():
        key = value if isinstance(value, str) else repr(value)
        if key not in read:
            text = text_of(value)
            blank = text is None or not text.strip(_DASHES)
            number = _number(text, comma=comma) if fractions and text and not blank else None
            read[key] = (Decimal(0) if blank else number, blank)
        found.append(read[key])
    return [number for number, _ in found], np.array([blank for _, blank in found], bool)


def _number(text: str, *, comma: bool) -> Decimal | None:
    plain = text.replace("$", "").replace(" ", "")
    plain = plain.replace(".", "").replace(",", ".") if comma else plain.replace(",", "")
    try:
        number = Decimal(plain)
    except InvalidOperation:
        return None
    # compared as it is: arithmetic with an exponent of a million raises
    usable = number.is_finite() and number.copy_abs() <= _MOST // 100
    return number if usable else None


def _rounded(dollars: Decimal) -> int:
    """Dollars as the nearest whole cents."""
    return int((dollars * 100).to_integral_value())


def _with_fractions(
    cents: np.ndarray, rows: np.ndarray, numbers: Sequence[Decimal | None]
) -> np.ndarray:
    fine = cents * (_FINE // 100)
    fine[rows] = [
        0 if number is None else int((number * _FINE).to_integral_value()) for number in numbers
    ]
    return fine


def _fine_of(figures: Figures, fine: np.ndarray | None) -> Figures:
    values = figures.cents * (_FINE // 100) if fine is None else fine
    return Figures(values, figures.filled, figures.wrong)


def _fine(column: pd.Series, marks: Mapping[Hashable, Mark] | None) -> Figures:
    return _fine_of(*_read(column, marks, fractions=True))


def _product(price: Figures, number: Figures) -> Figures:
    """Price x quantity, rounded half up to the cent."""
    about = np.abs(price.cents.astype(np.float64) * number.cents.astype(np.float64))
    over = about > _LARGEST_PRODUCT
    units = np.where(over, 0, price.cents) * number.cents
    size = (np.abs(units) + _CENTS_OF_PRODUCT // 2) // _CENTS_OF_PRODUCT
    filled = price.filled & number.filled & ~over
    wrong = over
    for factor in (price, number):
        if factor.wrong is not None:
            wrong = wrong | factor.wrong
    return Figures(np.where(units < 0, -size, size), filled, wrong if wrong.any() else None)
