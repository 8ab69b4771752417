"""The lines of an order: what of its amount an export marks not taxable, and what is no sale.

What a line comes to is its price x quantity less its discount; a discount of the whole order is
shared out over its lines by what they come to. Gift cards and tips bear none of it, as shops grant
none on them. The lines must add up to the amount of their order to the cent, else nothing is known
of it. Amounts are whole cents.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.frames.orders.figures import price_times
from svc_tools.frames.orders.hashes import NO_HASHES, Hashes
from svc_tools.frames.values.money import dollars, whole_cents
from svc_tools.show.display import counted
from svc_tools.tables.cells import text_of
from svc_tools.tables.roles import plain_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from svc_tools.frames.values.decimal_marks import Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class LineColumns:
    """The columns of an export's lines; `None` where it has none.

    Attributes:
        price: the price of one piece.
        quantity: how many pieces.
        discount: the discount of the line.
        total: what the line comes to, after its discount.
        taxable: whether the line is taxable.
        name: what was sold.
        shared: a discount of the whole order, which its lines share.
    """

    price: Hashable | None = None
    quantity: Hashable | None = None
    discount: Hashable | None = None
    total: Hashable | None = None
    taxable: Hashable | None = None
    name: Hashable | None = None
    shared: Hashable | None = None

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns that there are."""
        return tuple(label for label in asdict(self).values() if label is not None)

    @property
    def decide(self) -> bool:
        """Whether they say of any line that it is not taxable or no sale."""
        return self.taxable is not None or self.name is not None


class Marked(NamedTuple):
    """The lines that are not simply taxable, as masks.

    Attributes:
        untaxed: lines that the export marks not taxable.
        cards: gift cards.
        tips: tips.
        odd: lines whose mark says neither yes nor no.
    """

    untaxed: np.ndarray
    cards: np.ndarray
    tips: np.ndarray
    odd: np.ndarray

    @property
    def any(self) -> np.ndarray:
        """The lines that are one of these."""
        every: np.ndarray = self.untaxed | self.cards | self.tips | self.odd
        return every


def marked_lines(frame: pd.DataFrame, columns: LineColumns) -> Marked:
    """What the columns say of each row as a line; a blank mark says nothing."""
    cards, tips = (_each(frame, columns.name, is_it) for is_it in (is_gift_card, _is_tip))
    no_sale = cards | tips
    untaxed, odd = (
        _each(frame, columns.taxable, says) & ~no_sale for says in (_says_no, _says_neither)
    )
    return Marked(untaxed, cards, tips, odd)


_GIFT_CARDS = frozenset(
    f"{kind}{what}{plural}"
    for kind in ("", "e ", "e", "digital ", "electronic ", "virtual ", "online ")
    for what in ("gift card", "giftcard", "gift certificate")
    for plural in ("", "s")
)
_AMOUNT = r"(?:us|usd)? ?\$? ?[0-9][0-9,]*(?:\.[0-9]{2})? ?(?:us|usd|dollars?)?"
_OF_AN_AMOUNT = re.compile(rf"^{_AMOUNT} (?=[a-z])|[ :/(-]+{_AMOUNT}\)?$")
"""The amount that stands before or behind the name of a gift card, as "Gift Card - $50.00"."""
_TIPS = frozenset({"tip", "tips", "gratuity", "gratuities"})
_NO = frozenset({"false", "f", "no", "n", "0", "0.0", "not taxable", "non taxable", "nontaxable"})
_NO |= {"exempt", "tax exempt", "non"}
_YES = frozenset({"true", "t", "yes", "y", "1", "1.0", "taxable", "tax"})


def is_gift_card(text: str) -> bool:
    """Whether this, the whole name of an item, is that of a gift card, of whatever amount."""
    plain = " ".join(text.casefold().split())
    named = _OF_AN_AMOUNT.sub("", plain, count=1)
    return bool({_spaced(plain), _spaced(named)} & _GIFT_CARDS)


class ItemWords(NamedTuple):
    """The words of a column of items with which a row is no goods.

    Attributes:
        no_sale: by column those of a tax, a tip or a gift card.
        charges: by column those of a delivery.
    """

    no_sale: dict[Hashable, tuple[str, ...]]
    charges: dict[Hashable, tuple[str, ...]]


def find_item_words(frame: pd.DataFrame, labels: Iterable[Hashable]) -> ItemWords:
    """The rows of a file with one item each that are a tax, a tip, a gift card or a delivery.

    Only the whole name of an item says it, and only where other rows have other items.

    Args:
        frame: the rows, or a sample of them.
        labels: the columns to look at.
    """
    found = ItemWords({}, {})
    for label in labels:
        if not _names_items(label) or pd.api.types.is_numeric_dtype(frame[label].dtype):
            continue
        texts = [text for value in pd.factorize(frame[label])[1] if (text := text_of(value))]
        plain = {" ".join(text.casefold().replace("-", " ").split()) for text in texts}
        cards = {name for name in plain if is_gift_card(name) or _is_tip(name)}
        no_sale, charges = cards | (plain & _TAXES), plain & _DELIVERIES
        if not plain - no_sale - charges or not plain.isdisjoint(_FETCHED):
            continue
        if no_sale:
            found.no_sale[label] = tuple(sorted(no_sale | _TAXES | _TIPS | _GIFT_CARDS))
        if charges:
            found.charges[label] = tuple(sorted(_DELIVERIES))
    return found


def _names_items(label: Hashable) -> bool:
    words = plain_name(label).split("_")
    if not _NOT_OF_ITEMS.isdisjoint(words):
        return False
    return words == ["description"] or not _OF_ITEMS.isdisjoint(words)


_OF_ITEMS = frozenset({"item", "items", "product", "products", "line", "lineitem", "article"})
_NOT_OF_ITEMS = frozenset(
    {"tax", "taxes", "taxable", "status", "ship", "shipping", "delivery", "fulfillment", "method"}
    | {"code", "discount", "price", "amount", "total", "qty", "quantity", "vendor", "refund"}
    | {"return", "id", "sku", "number", "address", "phone", "tags", "exempt", "option", "options"}
)
_TAXES = frozenset(
    f"{of}{tax}"
    for of in ("", "sales ", "state ", "county ", "city ", "local ")
    for tax in ("tax", "taxes")
)
_DELIVERIES = frozenset(
    {"shipping & handling", "shipping and handling", "s&h", "handling"}
    | {
        f"{what}{charge}"
        for what in ("shipping", "delivery", "freight", "postage")
        for charge in ("", " charge", " charges", " fee", " fees", " cost", " costs")
    }
)
_FETCHED = frozenset(
    {"pickup", "pick up", "in store", "dine in", "takeout", "take out", "download"}
)
"""Words beside which a delivery is a way to get the goods, not a charge."""


def _is_tip(text: str) -> bool:
    return _spaced(text.casefold()) in _TIPS


def _spaced(text: str) -> str:
    return " ".join(text.replace("-", " ").split())


def _says_no(text: str) -> bool:
    return _spaced(text.casefold()) in _NO


def _says_neither(text: str) -> bool:
    return _spaced(text.casefold()) not in _NO | _YES


def _each(frame: pd.DataFrame, label: Hashable | None, is_it: Callable[[str], bool]) -> np.ndarray:
    """For each row what is found of its cell in a column; false where it has none."""
    if label is None or label not in frame.columns:
        return np.zeros(len(frame), bool)
    codes, values = pd.factorize(frame[label])
    texts = [text_of(value) for value in list(values)]
    found = np.array([*(text is not None and is_it(text) for text in texts), False], bool)
    return found[codes]


class _Net(NamedTuple):
    """What each row comes to as a line, its discount, and where that cannot be read."""

    cents: np.ndarray
    discount: np.ndarray
    wrong: np.ndarray


def _net(frame: pd.DataFrame, columns: LineColumns, marks: Mapping[Hashable, Mark]) -> _Net:
    """What the lines come to after their own discount; a blank cell comes to nothing."""
    nothing, nowhere = np.zeros(len(frame), np.int64), np.zeros(len(frame), bool)
    if columns.total is not None:
        cents, wrong = _cents(frame, columns.total, marks)
        return _Net(cents, nothing, wrong)
    if columns.price is None:
        return _Net(nothing, nothing, ~nowhere)
    if columns.quantity is None:
        cents, wrong = _cents(frame, columns.price, marks)
    else:
        of = price_times(frame[columns.price], frame[columns.quantity], marks)
        cents, wrong = of.cents, _filled(frame, columns.price) & ~of.filled
    discount = nothing
    if columns.discount is not None:
        discount, unread = _cents(frame, columns.discount, marks)
        discount, wrong = np.abs(discount), wrong | unread
    return _Net(cents - discount, discount, wrong)


def _cents(
    frame: pd.DataFrame, label: Hashable, marks: Mapping[Hashable, Mark]
) -> tuple[np.ndarray, np.ndarray]:
    """A column as whole cents, 0 where it is blank; and the rows that cannot be read."""
    cents, reasons, _ = whole_cents(frame[label], "line", marks.get(label, "point"))
    wrong = np.zeros(len(cents), bool)
    wrong[[*reasons]] = True
    return cents, wrong & _filled(frame, label)


def _filled(frame: pd.DataFrame, label: Hashable) -> np.ndarray:
    return _each(frame, label, lambda _: True)


SUMS = ("amount", "taxed", "untaxed", "cards", "tips", "discount", "shared")
"""The sums of an order's lines, in cents."""
_COUNTS = ("untaxed_lines", "no_sale_lines", "odd_lines", "wrong_lines")
_FIRST_COUNT = len(SUMS)
WIDTH = len(SUMS) + len(_COUNTS)
"""How many figures an order has: these sums, and numbers of lines."""
WRONG = WIDTH - 1
"""Where the number of lines stands that cannot be read."""


def line_figures(
    frame: pd.DataFrame,
    columns: LineColumns,
    amounts: np.ndarray,
    further: np.ndarray,
    marks: Mapping[Hashable, Mark],
) -> np.ndarray:
    """The figures that each row adds to those of its order: rows x `WIDTH`.

    Args:
        frame: the rows.
        columns: those of the lines.
        amounts: the amount of the order, 0 in further rows.
        further: the rows whose order's amounts count in another row.
        marks: how columns of money are written.
    """
    marked, net = marked_lines(frame, columns), _net(frame, columns, marks)
    goods = ~(marked.untaxed | marked.cards | marked.tips)
    shared = np.zeros(len(frame), np.int64)
    wrong = net.wrong
    if columns.shared is not None:
        shared, unread = _cents(frame, columns.shared, marks)
        shared, wrong = np.where(further, 0, np.abs(shared)), wrong | (unread & ~further)
    of = [net.cents * rows for rows in (goods, marked.untaxed, marked.cards, marked.tips)]
    counts = [marked.untaxed, marked.cards | marked.tips, marked.odd, wrong]
    return np.column_stack([amounts, *of, net.discount, shared, *counts]).astype(np.int64)


def need_no_more(figures: np.ndarray) -> np.ndarray:
    """Which orders have nothing marked, nothing left and no discount: their lines add up so far."""
    amount, taxed, untaxed, cards, tips, discount, shared, *counts = figures.T
    quiet: np.ndarray = (amount == taxed + untaxed + cards + tips) & (discount == 0) & (shared == 0)
    for number in counts:
        quiet &= number == 0
    return quiet


class TakenOff(NamedTuple):
    """What is taken off the amount of each row.

    Attributes:
        untaxed: what is not taxable, in cents.
        no_sale: what is no sale: gift cards and tips.
        off: rows of orders with such lines, which do not add up to their amount.
        untaxed_lines: how many lines are not taxable.
        no_sale_lines: how many are no sales.
        short: rows of orders without such lines, which do not add up either: some may be missing.
    """

    untaxed: np.ndarray
    no_sale: np.ndarray
    off: np.ndarray
    untaxed_lines: np.ndarray
    no_sale_lines: np.ndarray
    short: np.ndarray

    @classmethod
    def nothing(cls, rows: int) -> TakenOff:
        """Nothing of so many rows."""
        cents = np.zeros((4, rows), np.int64)
        off, short = np.zeros((2, rows), bool)
        return cls(cents[0], cents[1], off, cents[2], cents[3], short)

    def only(self, rows: np.ndarray) -> TakenOff:
        """What is taken off these rows, and nothing of the others."""
        return TakenOff(*(np.where(rows, cents, np.zeros((), cents.dtype)) for cents in self))


def taken_off(figures: np.ndarray, heads: np.ndarray) -> TakenOff:
    """What is taken off orders, by the figures of all lines of the order of each row.

    Args:
        figures: the figures of each row's order: rows x `WIDTH`.
        heads: the rows that have the amount of their order.
    """
    whole = TakenOff.nothing(len(figures))
    marked = figures[:, _FIRST_COUNT : _FIRST_COUNT + 3].any(axis=1)
    rows = np.flatnonzero(marked | heads)
    if len(rows):
        for everywhere, here in zip(whole, _decided(figures[rows]), strict=True):
            everywhere[rows] = here
    return whole.only(heads)._replace(off=whole.off & marked, short=whole.short & heads & ~marked)


def _decided(figures: np.ndarray) -> TakenOff:
    """What is taken off orders, each of which has a row here; `off` where they do not add up."""
    amount, taxed, untaxed, cards, tips, discount, shared, *counts = figures.T
    untaxed_lines, no_sale_lines, odd, wrong = counts
    fits, several = np.zeros((2, len(figures)), bool)
    off_goods, off_sale = np.zeros((2, len(figures)), np.int64)
    bearing = taxed + untaxed
    for tipped in (tips, np.zeros_like(tips)):  # a tip may be outside of the amount
        whole = bearing + cards + tipped
        for rest in (np.zeros_like(shared), shared, shared - discount):
            sound = (taxed >= 0) & (untaxed >= 0) & (bearing >= rest)
            only_cards = (bearing == 0) & (cards >= rest)
            here = (amount == whole - rest) & (rest >= 0) & ((rest == 0) | sound | only_cards)
            left = _shared_out(untaxed, bearing, np.where(here & (bearing != 0), rest, 0))
            no_sale = cards + tipped - np.where(bearing == 0, rest, 0)
            several |= fits & here & ((off_goods != left) | (off_sale != no_sale))
            new = here & ~fits
            off_goods, off_sale = np.where(new, left, off_goods), np.where(new, no_sale, off_sale)
            fits |= here
    good = fits & ~several & (wrong == 0) & (odd == 0)
    good &= (amount != 0) | ((off_goods == 0) & (off_sale == 0))
    of_all = TakenOff(off_goods, off_sale, ~good, untaxed_lines, no_sale_lines, ~fits)
    return of_all.only(good)._replace(off=~good, short=~fits)


def _shared_out(untaxed: np.ndarray, bearing: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """What is left of the untaxed goods after their share of a discount, to the cent.

    The taxed goods have the other share: together both are what bears the discount less all of it.
    Half a cent stays with the taxed goods.
    """
    left = untaxed.copy()
    for row in np.flatnonzero(
        (rest != 0) & (untaxed != 0)
    ).tolist():  # whole numbers of Python do not overflow
        whole, part, less = int(bearing[row]), int(untaxed[row]), int(rest[row])
        taxed = (2 * (whole - part) * (whole - less) + whole) // (2 * whole)
        left[row] = whole - less - taxed
    return left


def taken_off_rows(
    frame: pd.DataFrame,
    columns: LineColumns,
    amounts: np.ndarray,
    marks: Mapping[Hashable, Mark],
    *,
    checked: bool,
) -> TakenOff:
    """What is taken off rows that each have an amount: all of it.

    Args:
        frame: the rows.
        columns: those of the lines.
        amounts: the amount of each row.
        marks: how columns of money are written.
        checked: whether an amount must be what its line comes to, or its price.
    """
    marked = marked_lines(frame, columns)
    no_sale = marked.cards | marked.tips
    off = marked.odd
    if checked and marked.any.any():
        off = off | marked.any & ~_are_lines(frame, columns, amounts, marks)
    return TakenOff(
        np.where(marked.untaxed & ~off, amounts, 0),
        np.where(no_sale & ~off, amounts, 0),
        off,
        (marked.untaxed & ~off).astype(np.int64),
        (no_sale & ~off).astype(np.int64),
        np.zeros(len(frame), bool),
    )


def _are_lines(
    frame: pd.DataFrame,
    columns: LineColumns,
    amounts: np.ndarray,
    marks: Mapping[Hashable, Mark],
) -> np.ndarray:
    """Where an amount is what its line comes to, before or after its discount, or its price."""
    net = _net(frame, columns, marks)
    alike: np.ndarray = (net.cents == amounts) | (net.cents + net.discount == amounts)
    alike &= ~net.wrong
    if columns.price is not None:
        price, wrong = _cents(frame, columns.price, marks)
        alike |= (price == amounts) & ~wrong
    return alike


LINES_OFF = (
    "the lines of the order do not add up to its amount, and some of them are not taxable, gift"
    " cards or tips"
)
_TAXED_WHOLE = "`--without taxable`, in Python `taxable=False`"


@dataclass(slots=True)
class LineCounts:
    """Lines that are taken off the amount of their order.

    Attributes:
        untaxed: how many are not taxable.
        untaxed_cents: what they come to.
        no_sale: how many are gift cards or tips.
        no_sale_cents: what these come to.
        off: orders whose lines do not add up.
        short: orders without such lines that do not add up.
    """

    untaxed: int = 0
    untaxed_cents: int = 0
    no_sale: int = 0
    no_sale_cents: int = 0
    off: int = 0
    short: int = 0

    def count(self, taken: TakenOff) -> None:
        """Add what is taken off rows."""
        self.untaxed += int(taken.untaxed_lines.sum())
        self.untaxed_cents += int(taken.untaxed.sum())
        self.no_sale += int(taken.no_sale_lines.sum())
        self.no_sale_cents += int(taken.no_sale.sum())
        self.off += int(np.count_nonzero(taken.off))
        self.short += int(np.count_nonzero(taken.short))

    def add(self, other: LineCounts) -> None:
        """Add those of further rows."""
        for name, number in asdict(other).items():
            setattr(self, name, getattr(self, name) + number)

    def sentences(self) -> list[str]:
        """The counts in sentences for the user."""
        sentences = []
        if self.untaxed:
            sentences.append(
                f"{counted(self.untaxed, 'line')}, ${dollars(self.untaxed_cents):,} taken off"
                f" because the export marks them not taxable ({_TAXED_WHOLE}, taxes them)"
            )
        if self.no_sale:
            sentences.append(
                f"{counted(self.no_sale, 'line')}, ${dollars(self.no_sale_cents):,} of gift cards"
                " or tips: no sales"
            )
        if self.off:
            sentences.append(
                f"{counted(self.off, 'row')} without a tax because {LINES_OFF}: compare the order"
                f" with the shop, or tax all of it ({_TAXED_WHOLE})"
            )
        if self.short:
            sentences.append(
                f"in {counted(self.short, 'order')} taxed whole the lines do not add up to the"
                " amount: where lines are missing, so are perhaps some that are not taxable"
            )
        return sentences


class LineIndex:
    """The lines of the orders of a file, whose rows may lie in several chunks.

    An order needs eight bytes, and 96 more while its lines do not add up to its amount, or where
    some of them are marked or bear a discount.
    """

    def __init__(self) -> None:
        self._keys, self._figures = NO_HASHES, np.zeros((0, WIDTH), np.int64)
        self._heads, self._twice, self._unlike = Hashes(), Hashes(), Hashes()

    def see(self, keys: np.ndarray, figures: np.ndarray, heads: np.ndarray) -> None:
        """Record the rows of a chunk.

        Args:
            keys: a hash of each row's order.
            figures: what each row adds to the figures of its order.
            heads: the rows with the amount of their order.
        """
        new, codes = np.unique(keys, return_inverse=True)
        of_new = np.zeros((len(new), WIDTH), np.int64)
        np.add.at(of_new, codes, figures)
        every, codes = np.unique(np.concatenate([self._keys, new]), return_inverse=True)
        added = np.zeros((len(every), WIDTH), np.int64)
        np.add.at(added, codes, np.concatenate([self._figures, of_new]))
        needed = ~need_no_more(added)
        self._keys, self._figures = every[needed], added[needed]
        of_heads, times = np.unique(keys[heads], return_counts=True)
        self._twice.add(of_heads[(times > 1) | self._heads.has(of_heads)])
        self._heads.add(of_heads)

    def see_unlike(self, keys: np.ndarray) -> None:
        """Record orders of which a marked line has an amount that is not its own."""
        self._unlike.add(keys)

    def figures(self, numbers: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The figures of the order of each row: rows x `WIDTH`.

        Args:
            numbers: a hash of the number of each row's order, by which lines without a date or a
                place are known.
            keys: a hash of each row's order.
        """
        by_number = np.where((keys == numbers)[:, None], 0, self._of(numbers))
        figures = self._of(keys) + by_number
        figures[self._twice.has(keys) | self._twice.has(numbers), WRONG] += 1
        return figures

    def unlike(self, numbers: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The rows of orders that were recorded as unlike."""
        found: np.ndarray = self._unlike.has(numbers) | self._unlike.has(keys)
        return found

    def _of(self, keys: np.ndarray) -> np.ndarray:
        found = np.zeros((len(keys), WIDTH), np.int64)
        if len(self._keys):
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            there = self._keys[places] == keys
            found[there] = self._figures[places[there]]
        return found
