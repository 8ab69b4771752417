"""The rows of an enriched frame as whole numbers: amounts, taxable parts and rates of each line.

What is taxable are the goods less what is exempt, and the delivery that follows them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.added.names import require_columns, require_one
from svc_tools.frames.lookup.columns import distinct_values, is_label
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.values.arrow import RowNumbers, Texts
from svc_tools.frames.values.money import LARGEST_WHOLE, one_amount, whole_cents
from svc_tools.lookup.columns import LOOKUP_COLUMNS, RANGE_COLUMNS, RATE_COLUMNS
from svc_tools.show.codes import DELIVERY_WARNINGS, meaning_of
from svc_tools.tables.roles import FlagsAmbiguous
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Mapping

    import pandas as pd
    from pandas.api.extensions import ExtensionArray

    from svc_tools.config import DeliveryAs
    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.added.rates import Rates
    from svc_tools.frames.options import TaxOptions

_SURE = LARGEST_WHOLE // UNITS_PER_ONE // 2 - 1
"""Cents up to which goods plus delivery, at any rate below 1, and half a cent more fit 64 bits."""
_CENTS = 100
_FREIGHT = (
    "shipping: whether delivery is taxable there is not known (freight_taxable is missing);"
    " tax_low is without it, tax_high with it"
)

_YES, _NO = {"yes", "y", "true", "t"}, {"no", "n", "false", "f"}
_EXEMPT = {"exempt", "tax exempt", "not taxable", "non taxable", "nontaxable", "untaxed"}
_TAXABLE = {"taxable", "taxed"}
"""Words that say the same in a column of what is exempt and in one of what is taxable."""
_SHOWN = 40


class RowReasons:
    """The reason of each row, as the number of its text; 0 is no reason. The first one counts."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int32)
        self._texts: list[str | None] = [None]
        self._numbers: dict[str, int] = {}

    def add(self, rows: np.ndarray, text: str) -> None:
        """Give rows (a mask) a reason if they have none yet."""
        self.codes[rows & (self.codes == 0)] = self._number(text)

    def add_each(self, reasons: Mapping[int, str]) -> None:
        """Give rows a reason each, by position, if they have none yet."""
        if not reasons:
            return
        rows = np.fromiter(reasons.keys(), np.int64, len(reasons))
        numbers = np.fromiter(map(self._number, reasons.values()), np.int32, len(reasons))
        free = self.codes[rows] == 0
        self.codes[rows[free]] = numbers[free]

    def merge(self, later: RowReasons) -> None:
        """Give rows another's reasons if they have none yet."""
        numbers = [0 if text is None else self._number(text) for text in later._texts]
        if not any(numbers):
            return
        free = self.codes == 0
        self.codes[free] = np.array(numbers, np.int32)[later.codes[free]]

    def block(self, here: slice) -> RowReasons:
        """Those of some rows that follow each other."""
        part = copy.copy(self)
        part.codes = self.codes[here]
        return part

    @property
    def given(self) -> np.ndarray:
        """The mask of the rows that have one."""
        return self.codes > 0

    def are(self, texts: Container[str]) -> np.ndarray:
        """The mask of the rows that have one of these reasons."""
        meant = [text is not None and text in texts for text in self._texts]
        rows: np.ndarray = np.array(meant, bool)[self.codes]
        return rows

    def column(self) -> ExtensionArray:
        """The reasons as a column of text, missing without one."""
        return Texts(self._texts).at(RowNumbers(self.codes))

    def most_frequent(self) -> tuple[str, int] | None:
        """The most frequent reason and its number of rows; of equally frequent ones the first."""
        counts = np.bincount(self.codes, minlength=len(self._texts))
        counts[0] = 0
        most = int(counts.argmax())
        text = self._texts[most]
        return None if text is None else (text, int(counts[most]))

    def _number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return number


@dataclass(slots=True)
class TaxLines:
    """Rows as arrays; cents are whole, rates in units of 10^-5, 0 where they are missing."""

    goods: np.ndarray
    shipping: np.ndarray
    taxable_goods: np.ndarray
    taxable_shipping: np.ndarray
    """Where `delivery.unknown`, what it would be if delivery is taxable."""
    shipping_if_taxed: np.ndarray
    """The delivery that follows the goods, whether the state taxes it or not."""
    delivery: Delivery
    rates: Rates
    levels: tuple[Rates, ...]
    low: Rates
    high: Rates
    partial: np.ndarray
    """Whether the rate is known to lack a part."""
    inputs: RowReasons
    """Why a row has no tax because of its own figures, not its rate."""
    reasons: RowReasons
    """Why a row has no tax, because of its own figures or its rate."""
    snapped: int
    """How many floats were read as the nearest whole cent."""

    def block(self, here: slice) -> TaxLines:
        """Some rows that follow each other; nothing is copied."""
        arrays = {
            name: getattr(self, name)[here]
            for name in (
                *("goods", "shipping", "taxable_goods", "taxable_shipping", "shipping_if_taxed"),
            )
        }
        return replace(
            self,
            **arrays,
            partial=self.partial[here],
            delivery=self.delivery.block(here),
            rates=self.rates.block(here),
            levels=tuple(level.block(here) for level in self.levels),
            low=self.low.block(here),
            high=self.high.block(here),
            inputs=self.inputs.block(here),
            reasons=self.reasons.block(here),
        )

    @property
    def in_doubt(self) -> np.ndarray:
        """Rows of which it is in doubt whether their delivery is taxed."""
        found: np.ndarray = np.logical_or.reduce(
            [self.delivery.unknown, *self.delivery.doubts.values()]
        )
        return found

    @property
    def taxable(self) -> np.ndarray:
        """What the rate applies to."""
        both: np.ndarray = self.taxable_goods + self.taxable_shipping
        return both

    def refuse(self, row: int, why: str) -> None:
        """Leave one row without a tax because of its own figures."""
        self.inputs.add_each({row: why})
        self.reasons.add_each({row: why})


def read_lines(
    rows: Enriched, terms: TaxOptions, wrong: Mapping[int, str] | None = None
) -> TaxLines:
    """Read every row; a row that cannot be read has a reason.

    Args:
        rows: the rows.
        terms: the terms of the tax; amounts are in one column each.
        wrong: why rows have no amounts, by row, where that is known better than from the columns.

    Raises:
        ValueError: a column is missing, or an argument is neither a column nor a value.
        TypeError: a column of amounts holds truth values.
    """
    rows.require("lookup_status", "combined_rate")
    for name in LOOKUP_COLUMNS:
        require_one(rows.frame, rows.label(name), "lookup")
    inputs = RowReasons(len(rows))
    inputs.add_each(wrong or {})
    goods, exempt, shipping, snapped = _figures(rows.frame, terms, inputs)
    rates = rows.rates("combined_rate")
    levels = tuple(map(rows.rates, RATE_COLUMNS[1:]))
    low, high = map(rows.rates, RANGE_COLUMNS)
    _refuse_too_large(inputs, goods, shipping, (rates, low, high))
    if (unread := inputs.given).any():
        for cents in (goods, exempt.cents, shipping):
            cents[unread] = 0
    following = taxable_shipping(goods, exempt, shipping)
    delivery = Delivery.of_nothing(len(rows))
    if terms.shipping is not None:
        matters = (following != 0) & (rates.units > 0)
        delivery = delivery_of(rows, terms.delivery).where(matters)
    reasons, partial = _without_rate(rows, rates, terms)
    reasons.merge(inputs)
    reasons.add(delivery.unknown, _FREIGHT)
    return TaxLines(
        goods=goods,
        shipping=shipping,
        taxable_goods=goods - exempt.cents if exempt.cents.any() else goods,
        taxable_shipping=following
        if terms.shipping is None
        else np.where(delivery.untaxed, 0, following),
        shipping_if_taxed=following,
        delivery=delivery,
        rates=rates,
        levels=levels,
        low=low,
        high=high,
        partial=partial,
        inputs=inputs,
        reasons=reasons,
        snapped=snapped,
    )


def check_figures(frame: pd.DataFrame, terms: TaxOptions) -> None:
    """Refuse arguments by which no row's own figures could be read; without an amount the others.

    Raises:
        ValueError: as `read_lines`.
        TypeError: as `read_lines`.
    """
    if terms.amount is None:
        frame = frame.assign(**{_NO_AMOUNTS: 0})
        terms = replace(terms, amount=_NO_AMOUNTS)
    _figures(frame, terms, RowReasons(len(frame)))


_NO_AMOUNTS = "svc_no_amounts"


def _figures(
    frame: pd.DataFrame, terms: TaxOptions, inputs: RowReasons
) -> tuple[np.ndarray, Exempt, np.ndarray, int]:
    """Goods, what of them is exempt, and delivery, in cents, and how many floats were snapped."""
    require_columns(frame, (terms.amount,), "name the column of amounts: df.svc.tax(amount='…')")
    require_one(frame, terms.amount, "amount")
    goods, unread, snapped = whole_cents(frame[terms.amount])
    inputs.add_each(unread)
    exempt = _exempt(frame, terms.exempt, goods, inputs)
    if terms.taxable is not None and terms.taxable is not False:
        exempt = _either(exempt, _beyond_taxable(frame, terms.taxable, goods, inputs), inputs)
    snapped += exempt.snapped
    if terms.shipping is None:
        return goods, exempt, np.zeros_like(goods), snapped
    shipping, more = _shipping(frame, terms.shipping, inputs)
    return goods, exempt, shipping, snapped + more


def rows_of_states(rows: Enriched) -> tuple[np.ndarray, list[str]]:
    """The number of each row's state (-1: not known), and the states' codes by number."""
    # a lookup of some columns: the states are those given
    states = rows.coded("resolved_state") if rows.has("resolved_state") else states_of(rows)
    return np.where(states.where(bool), states.codes, -1), list(states.values)


def _refuse_too_large(
    inputs: RowReasons, goods: np.ndarray, shipping: np.ndarray, rates: tuple[Rates, ...]
) -> None:
    """Refuse rows whose products of cents and units do not fit 64 bits: they overflow silently.

    The row's own rates decide, so that its tax does not depend on the other rows.
    """
    for name, cents in (("amount", goods), ("shipping", shipping)):
        if not len(cents) or (cents.max() <= _SURE and cents.min() >= -_SURE):
            continue
        for row in np.flatnonzero((cents > _SURE) | (cents < -_SURE)).tolist():
            steepest = max(1, *(int(rate.units[row]) for rate in rates))
            if abs(int(cents[row])) > (LARGEST_WHOLE - UNITS_PER_ONE) // steepest // 2:
                dollars = f"{cents[row] / _CENTS:,.2f}"
                inputs.add_each({row: f"{name}: {dollars} is too large for exact tax"})


class Delivery(NamedTuple):
    """How delivery is taxed, by row.

    Attributes:
        untaxed: where it is not taxed.
        unknown: where the result does not say whether it is.
        doubts: where the result says so and has a warning that it may be otherwise, by its code.
        warned: whether the frame has the warnings; else nothing shows what is in doubt.
    """

    untaxed: np.ndarray
    unknown: np.ndarray
    doubts: Mapping[str, np.ndarray]
    warned: bool = True

    @staticmethod
    def of_nothing(rows: int) -> Delivery:
        """That of rows without a delivery."""
        none = np.zeros(rows, bool)
        return Delivery(none, none, {})

    def block(self, here: slice) -> Delivery:
        """That of some rows that follow each other."""
        doubts = {code: marked[here] for code, marked in self.doubts.items()}
        return self._replace(untaxed=self.untaxed[here], unknown=self.unknown[here], doubts=doubts)

    def where(self, rows: np.ndarray) -> Delivery:
        """The same, with nothing unknown or in doubt in other rows."""
        doubts = {code: marked & rows for code, marked in self.doubts.items()}
        return self._replace(unknown=self.unknown & rows, doubts=doubts)


def delivery_of(rows: Enriched, answer: DeliveryAs | None) -> Delivery:
    """How delivery is taxed by the results of the rows, and by the seller's answer.

    Args:
        rows: the rows.
        answer: whether buyers can avoid the charge, for the states where that decides.

    Raises:
        ValueError: the column `freight_taxable` is missing.
    """
    remedy = "shipping= needs it: look the rates up with all columns, or with this one"
    if not rows.has("freight_taxable"):  # to look up again: what is in doubt, too
        rows.require("freight_taxable", "warnings", remedy=remedy)
    words = rows.coded("freight_taxable")
    untaxed = words.where(lambda word: word.casefold() in {"false", "0", "0.0"})
    unknown = ~(untaxed | words.where(lambda word: word.casefold() in {"true", "1", "1.0"}))
    if not rows.has("warnings"):
        return Delivery(untaxed, unknown, {}, warned=False)
    warnings = rows.codes("warnings")
    doubts = {code: warnings.having(code) for code in DELIVERY_WARNINGS}
    if answer is not None:
        decided = doubts.pop(_OPTIONAL)
        untaxed = np.where(decided, answer == "optional", untaxed)
        unknown &= ~decided
    return Delivery(untaxed, unknown, {code: rows & ~unknown for code, rows in doubts.items()})


_OPTIONAL = "delivery_optional_unknown"


def _without_rate(rows: Enriched, rates: Rates, terms: TaxOptions) -> tuple[RowReasons, np.ndarray]:
    """Why rows have no rate to compute from; and which rows have a partial one."""
    reasons, partial = RowReasons(len(rows)), np.zeros(len(rows), bool)
    codes, names = rows.coded("lookup_status")
    for code, name in enumerate(names):
        if not name:
            reasons.add(codes == code, "no rate: the row was not looked up")
        elif Status.of(name).partial:
            partial = codes == code
            if terms.partial is None:
                reasons.add(partial, meaning_of("partial"))
        elif not Status.of(name).usable:
            reasons.add(codes == code, f"no rate: {name}")
    reasons.add_each(rates.wrong)
    reasons.add(rates.missing, "the row has no rate")
    return reasons, partial


class Exempt(NamedTuple):
    """The exempt part of each row's goods."""

    cents: np.ndarray
    wholly: np.ndarray
    """Rows of which nothing is taxable, delivery included."""
    snapped: int


def _exempt(
    frame: pd.DataFrame, exempt: Hashable | None, goods: np.ndarray, reasons: RowReasons
) -> Exempt:
    """Read `exempt=`; rows whose exemption is not known get a reason.

    Raises:
        ValueError: it is neither a column nor an amount, or the column holds only 0 and 1.
    """
    if exempt is None or exempt is False:
        return Exempt(np.zeros_like(goods), np.zeros(len(goods), bool), 0)
    if exempt is True:
        return Exempt(goods.copy(), np.ones(len(goods), bool), 0)
    if not is_label(frame, exempt):
        if isinstance(exempt, int | float | np.bool_) and exempt == 1:
            raise ValueError(
                f"exempt: is {exempt!r} a truth value or dollars? Say True or False, or dollars as"
                " text, '1.00'"
            )
        cents = _one(exempt, "exempt", "True, or dollars that are exempt") * np.sign(goods)
        return _within(goods, cents, 0, reasons)
    flags = flags_of(frame, exempt, "exempt")
    if flags is None:
        cents, wrong, snapped = whole_cents(frame[exempt], "exempt")
        reasons.add_each(wrong)
        return _within(goods, cents, snapped, reasons)
    reasons.add_each(flags.odd)
    reasons.add(flags.unknown, "exempt: missing")
    return Exempt(np.where(flags.yes, goods, 0), flags.yes, 0)


def _beyond_taxable(
    frame: pd.DataFrame, taxable: Hashable, goods: np.ndarray, reasons: RowReasons
) -> Exempt:
    """Read `taxable=`: what of the goods is not in it is exempt.

    Raises:
        ValueError: it is no column, or the column holds only 0 and 1.
    """
    if not is_label(frame, taxable):
        raise ValueError(
            f"taxable: {taxable!r} is no column; expected a column of yes and no, or of dollars"
            " that are taxable, or False for an export whose own marks do not count"
        )
    flags = flags_of(frame, taxable, "taxable")
    if flags is None:
        cents, wrong, snapped = whole_cents(frame[taxable], "taxable")
        reasons.add_each(wrong)
        within = _within(goods, cents, snapped, reasons, "taxable")
        exempt = np.where(reasons.given, 0, goods - within.cents)
        return Exempt(exempt, (exempt == goods) & (goods != 0), snapped)
    reasons.add_each(flags.odd)
    reasons.add(flags.unknown, "taxable: missing")
    return Exempt(np.where(flags.yes, goods, 0), flags.yes, 0)


def _either(exempt: Exempt, marked: Exempt, reasons: RowReasons) -> Exempt:
    """What is exempt as the user says, and what an export marks; both of whole rows, or alone."""
    unclear = (exempt.cents != 0) & (marked.cents != 0) & (exempt.cents != marked.cents)
    unclear &= ~(exempt.wholly | marked.wholly)
    reasons.add(unclear, _TWICE_EXEMPT)
    larger = np.where(np.abs(exempt.cents) > np.abs(marked.cents), exempt.cents, marked.cents)
    cents = np.where(reasons.given, 0, larger)
    return Exempt(cents, exempt.wholly | marked.wholly, exempt.snapped + marked.snapped)


_TWICE_EXEMPT = (
    "exempt: the export marks other dollars of the order as not taxable; if yours contain them, say"
    " taxable=False (--without taxable)"
)


def exempt_or_taxable(terms: TaxOptions) -> tuple[Literal["exempt", "taxable"], Hashable | None]:
    """The argument that says which rows are not taxed, and its value; `None` for neither."""
    if terms.taxable is None or terms.taxable is False:
        return "exempt", terms.exempt
    return "taxable", terms.taxable


class Flags(NamedTuple):
    """Which rows are exempt."""

    yes: np.ndarray
    unknown: np.ndarray
    odd: dict[int, str]
    """Why a value is neither, by row."""


def flags_of(
    frame: pd.DataFrame, label: Hashable, role: Literal["exempt", "taxable"]
) -> Flags | None:
    """The rows that are exempt by a column of yes and no; `None` where it holds dollars.

    Args:
        frame: the rows.
        label: the column.
        role: whether its yes says that a row is exempt, or taxable.
    """
    codes, values = distinct_values(frame, label, role)
    words = [_is_exempt(value, role) for value in values]
    blank = [isinstance(value, str) and not value.strip() for value in values]
    if all(blank):
        return Flags(np.zeros(len(codes), bool), np.ones(len(codes), bool), {})
    if not any(word is not None for word in words):
        if _only_flags_as_numbers(
            [value for value, gone in zip(values, blank, strict=True) if not gone]
        ):
            raise FlagsAmbiguous(label, role)
        return None
    neither = {
        code: f"{role}: {str(value)[:_SHOWN]!r} says neither yes nor no"
        for code, (value, word) in enumerate(zip(values, words, strict=True))
        if word is None and not blank[code]
    }
    odd = {
        row: neither[codes[row]] for row in np.flatnonzero(np.isin(codes, list(neither))).tolist()
    }
    yes = np.array([*(word is True for word in words), False], bool)
    unknown = np.array([*(word is None for word in words), True], bool)
    return Flags(yes[codes], unknown[codes], odd)


def _is_exempt(value: object, role: str) -> bool | None:
    """Whether a cell says that its row is exempt; `None` where it says neither yes nor no."""
    if isinstance(value, bool | np.bool_):
        return bool(value) == (role == "exempt")
    if not isinstance(value, str):
        return None
    word = " ".join(value.replace("-", " ").split()).casefold()
    if word in _EXEMPT or word in _TAXABLE:
        return word in _EXEMPT
    return None if word not in _YES | _NO else (word in _YES) == (role == "exempt")


def _only_flags_as_numbers(values: list[object]) -> bool:
    """Whether all are 0 or 1, without cents, and some are 1."""
    written = [
        value.strip() if isinstance(value, str) else value
        for value in values
        if isinstance(value, str | int | float | np.integer | np.floating)
    ]
    zeros, ones = {0, "0", "0.0"}, {1, "1", "1.0"}
    return (
        len(written) == len(values)
        and set(written) <= zeros | ones
        and not ones.isdisjoint(written)
    )


def _within(
    goods: np.ndarray, cents: np.ndarray, snapped: int, reasons: RowReasons, role: str = "exempt"
) -> Exempt:
    """Refuse exempt or taxable dollars that are not between 0 and the amount."""
    beyond = (np.abs(cents) > np.abs(goods)) | (np.sign(cents) * np.sign(goods) < 0)
    beyond &= ~reasons.given
    reasons.add_each(
        {
            row: f"{role}: {cents[row] / _CENTS:,.2f} is not between 0 and the amount,"
            f" {goods[row] / _CENTS:,.2f}"
            for row in np.flatnonzero(beyond).tolist()
        }
    )
    inside = np.where(reasons.given, 0, cents)
    return Exempt(inside, (inside == goods) & (goods != 0), snapped)


def _one(value: object, argument: str, expected: str) -> int:
    try:
        return one_amount(value, argument)
    except ValueError as error:
        raise ValueError(
            f"{argument}: {value!r} is neither a column nor {expected} ({error})"
        ) from None


def _shipping(
    frame: pd.DataFrame, shipping: Hashable, reasons: RowReasons
) -> tuple[np.ndarray, int]:
    """Read `shipping=`: the delivery of each row in cents, and how many floats snapped.

    Raises:
        ValueError: it is neither a column nor an amount.
    """
    if not is_label(frame, shipping):
        amount = _one(shipping, "shipping", "an amount for all rows")
        return np.full(len(frame), amount, np.int64), 0
    require_one(frame, shipping, "shipping")
    cents, wrong, snapped = whole_cents(frame[shipping], "shipping")
    reasons.add_each(wrong)
    return cents, snapped


def taxable_shipping(goods: np.ndarray, exempt: Exempt, shipping: np.ndarray) -> np.ndarray:
    """The delivery that follows the taxable goods, in cents.

    All of it where nothing is exempt, none where all is; for a partly exempt row the share
    shipping x (goods - exempt) / goods, rounded to the cent, half a cent away from zero. This
    does not check whether delivery is taxable there.
    """
    out = np.where(exempt.wholly, 0, shipping)
    split = np.flatnonzero((exempt.cents != 0) & ~exempt.wholly & (shipping != 0))
    if not len(split):
        return out
    whole, taxed, cost = goods[split], goods[split] - exempt.cents[split], shipping[split]
    sign = np.sign(cost)
    whole, taxed, cost = np.abs(whole), np.abs(taxed), np.abs(cost)
    if int(cost.max()) * int(taxed.max()) * 2 + int(whole.max()) <= LARGEST_WHOLE:
        out[split] = sign * ((2 * cost * taxed + whole) // (2 * whole))
    else:  # more than 64 bits hold
        big = (2 * cost.astype(object) * taxed + whole) // (2 * whole.astype(object))
        out[split] = sign * big.astype(np.int64)
    return out
