"""Which rows of a file are sales: canceled, unpaid and test ones are not; refunds are found.

The columns of a status or type are found by their names and by what they hold (`find_kinds`), once;
`row_kinds` then reads the rows of a frame, or of a slice of a file.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from svc_tools.frames.orders.kinds import kind_of
from svc_tools.frames.orders.order_numbers import by_order, text_keys
from svc_tools.frames.values.money import dollars, sums_by
from svc_tools.show.display import counted, first_of
from svc_tools.tables.cells import text_of
from svc_tools.tables.questions import Question
from svc_tools.tables.roles import plain_name, single
from svc_tools.tables.states import state_code

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from svc_tools.frames.orders.order_numbers import Codes
    from svc_tools.lookup.options import RefundsAs

RowKind: TypeAlias = Literal["sale", "no sale", "void", "refund", "refunded"]
"""What a row is by a word: a sale; none; a voided one; a refund, which is a row of its own; a sale
that was refunded, in whole or in part."""
Reads: TypeAlias = Literal["status", "type", "flag", "moment", "quantity"]
"""How a column says it: the status or type of a row in words, yes or no, the moment of it, or by a
quantity below 0."""

_SAMPLE = 1_000
_MOST_WORDS = 40
"""More distinct texts in a sample than this are no words of a status."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class KindColumn:
    """A column that says which rows are sales.

    Attributes:
        label: the column.
        reads: how it says it.
        means: what a row is for which it says yes, or has a moment.
        invoices: whether it is the status of invoices: what is not paid yet is a sale then.
        ledger: whether it has the types of accounting, of which a payment is no further sale.
    """

    label: Hashable
    reads: Reads
    means: RowKind = "no sale"
    invoices: bool = False
    ledger: bool = False

    def judge(self, text: str) -> RowKind | None:
        """What a row with this text is; `None` where the text does not say it."""
        if self.reads == "flag":
            return self.means if text.casefold() in _YES else "sale"
        if self.reads == "moment":
            return self.means if _DATED.search(text) else "sale"
        if self.reads == "quantity":
            return self.means if _BELOW_0.match(text) else "sale"
        words = _without_accents(text).split("_")
        if self.ledger and " ".join(words) in _LEDGER_NO_SALE:
            return "no sale"
        return _judged(words, of_type=self.reads == "type", invoices=self.invoices)


@dataclass(frozen=True, slots=True)
class KindColumns:
    """The columns of a file that say which rows are sales.

    Attributes:
        used: those that are read.
        not_used: other columns of a status or type, each with why it is not read.
    """

    used: tuple[KindColumn, ...] = ()
    not_used: tuple[tuple[Hashable, str], ...] = ()

    @property
    def labels(self) -> list[Hashable]:
        """The columns that are read."""
        return [column.label for column in self.used]

    @property
    def words(self) -> KindColumns:
        """Those that say it in words, without quantities."""
        return replace(
            self, used=tuple(column for column in self.used if column.reads != "quantity")
        )

    def with_quantities(self, frame: pd.DataFrame, labels: Iterable[Hashable]) -> KindColumns:
        """The same with the quantities of further rows, of which some are below 0."""
        more = [label for label in labels if label not in self.labels and counts_pieces(label)]
        found = [_by_quantity(frame[label], label) for label in more]
        return replace(self, used=(*self.used, *filter(None, found)))

    def sentences(self) -> list[str]:
        """Which columns were not used, for the user."""
        return [f"{label!r} was not used: {why}" for label, why in self.not_used]


def find_kinds(frame: pd.DataFrame, labels: Iterable[Hashable] | None = None) -> KindColumns:
    """The columns of a status or a type, by name and by what they hold.

    Those of the order, payment, sale, transaction or invoice are used, and those that just say
    status or type; not those of customers, products, deliveries and so on, whose words may be the
    same. A column of another name is the status where every text in it is the word of one, and one
    of them says that there is no sale, or a refund. Quantities below 0 are those of refunds.

    Args:
        frame: the rows, or a sample of them.
        labels: the columns to look at; by default all.
    """
    once: list[Hashable] = single(frame.columns if labels is None else labels)
    of = _About.of(once)
    used, passed = [], []
    for label in once:
        named = _by_name(label)
        if named is None:
            found = _by_quantity(frame[label], label) or _by_words(frame[label], label)
        else:
            found = _by_content(named, _words_of(frame[label]), of)
        if isinstance(found, KindColumn):
            used.append(found)
        elif found is not None:
            passed.append((label, found))
    return KindColumns(tuple(used), tuple(passed))


@dataclass(slots=True)
class KindCounts:
    """What is counted while rows are read: rows by column and word, refunds in cents.

    Attributes:
        no_sale: rows that are no sale though they have an amount.
        refunds: refunds that are written with a positive amount.
        refunded: sales that were refunded, in whole or in part.
        unknown: rows whose word does not say what they are.
        repeated: refunded rows beside another row of their order number that is not.
        alike: those of them that have the amount of such a row.
        cents: the refunds written with a positive amount.
    """

    no_sale: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    refunds: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    refunded: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    unknown: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    repeated: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    alike: int = 0
    cents: int = 0

    def add(self, other: KindCounts) -> None:
        """Add those of further rows."""
        self.no_sale.update(other.no_sale)
        self.refunds.update(other.refunds)
        self.refunded.update(other.refunded)
        self.unknown.update(other.unknown)
        self.repeated.update(other.repeated)
        self.alike += other.alike
        self.cents += other.cents

    def question(self) -> Question | None:
        """What refunds with a positive amount are, where there are such; else `None`."""
        asked = self.refunds + self.repeated
        if not asked:
            return None
        rows = " and ".join(_lines(asked, "row"))
        likely = "subtract" if self.refunds or 2 * self.alike > self.repeated.total() else "add"
        beside = "" if self.refunds else ", and other rows have the same order number"
        why = (
            f"{rows}: refunds, but with a positive amount (${dollars(self.cents):,} in all){beside}"
        )
        labels = tuple(dict.fromkeys(label for label, _ in asked))
        values = ("subtract", "add", "leave")
        choices = (
            'they can be taken off ("subtract"), be sales ("add"), or have no amount ("leave")'
        )
        return Question("refunds", labels, values, likely, why, "refunds", choices=choices)

    def sentences(self, refunds: RefundsAs | None = None) -> list[str]:
        """The counts in sentences for the user.

        Args:
            refunds: what the user decided about refunds with a positive amount.
        """
        sentences = [f"{line}: amount 0.00" for line in _lines(self.no_sale, "row", _ENDED_BY)]
        sentences += [
            f"{line}: counted in full; deduct refunds in the period of the refund"
            for line in _lines(self.refunded, "sale")
        ]
        asked = self.refunds + self.repeated
        if refunds is not None:
            sentences += [f"{line}: {_REFUNDS_AS[refunds]}" for line in _lines(asked, "refund")]
        sentences += [
            f"{line}: counted as sales, as this does not say otherwise"
            for line in _lines(self.unknown, "row")
        ]
        return sentences


class RowKinds(NamedTuple):
    """What the rows of a frame are.

    Attributes:
        no_sale: rows that are no sale: their amount is 0.
        refund: refunds written with a positive amount (each refund, where no amounts are known):
            what they are is asked, see `signed`.
        counts: what was counted.
    """

    no_sale: np.ndarray
    refund: np.ndarray
    counts: KindCounts


def row_kinds(
    frame: pd.DataFrame,
    columns: KindColumns,
    cents: np.ndarray | None = None,
    *,
    orders: Codes | None = None,
    numbers: Codes | None = None,
    counts_in: np.ndarray | None = None,
) -> RowKinds:
    """Which rows are no sale, and which are refunds.

    Args:
        frame: the rows.
        columns: the columns that say it, as `find_kinds` gives them.
        cents: the amount of each row in cents; its sign says how refunds are written.
        orders: gives the order of each row, -1 where it has none, as `order_rows` does: an empty
            status is that of the first row of the order that has one.
        numbers: gives the number of each row's order as a code, no matter of which day: a row that
            is refunded beside one of its number that is not may be a row of its own.
        counts_in: the rows that are counted; others are further rows of an order.
    """
    size = len(frame)
    of = _Rows(np.ones(size, bool) if counts_in is None else counts_in, cents, numbers)
    no_sale, refund = np.zeros(size, bool), np.zeros(size, bool)
    read = [_read(frame[column.label], column, orders) for column in columns.used]
    for words in read:
        no_sale |= words.rows("no sale")
        void = words.rows("void")
        # a voided sale is none; a row of its own that takes it back is written with a minus
        no_sale |= void if cents is None else void & (cents >= 0)
        refund |= words.rows("refund")
    refund &= ~no_sale
    if cents is not None:
        refund &= cents > 0
    counts = KindCounts()
    repeated, counts.alike = _repeated(read, no_sale | refund, of)
    _count(counts, read, of, (no_sale, refund, repeated))
    refund |= repeated
    if cents is not None:
        counted_refunds = refund & of.counted
        (counts.cents,) = sums_by(
            np.zeros(int(counted_refunds.sum()), np.int64), cents[counted_refunds], 1
        )
    return RowKinds(no_sale, refund, counts)


def signed(cents: np.ndarray, kinds: RowKinds, refunds: RefundsAs) -> np.ndarray:
    """The amounts with rows that are no sale as 0, and refunds as the user decided."""
    done: np.ndarray = np.where(kinds.no_sale, 0, cents)
    if refunds == "subtract":
        return np.where(kinds.refund, -np.abs(done), done)
    return done if refunds == "add" else np.where(kinds.refund, 0, done)


class _Rows(NamedTuple):
    """The rows that are counted, their amounts, and the numbers of their orders."""

    counted: np.ndarray
    cents: np.ndarray | None
    numbers: Codes | None

    @property
    def with_amount(self) -> np.ndarray:
        return self.counted if self.cents is None else self.counted & (self.cents != 0)

    @property
    def positive(self) -> np.ndarray:
        return self.counted if self.cents is None else self.counted & (self.cents > 0)


class _Read(NamedTuple):
    """A column of words: the text of each row as a code (-1 where it is empty), and their kinds."""

    label: Hashable
    reads: Reads
    codes: np.ndarray
    texts: list[str]
    kinds: list[RowKind | None]

    def rows(self, kind: RowKind | None) -> np.ndarray:
        """The rows with a word of this kind."""
        of_texts = np.array([*(of_text == kind for of_text in self.kinds), False], bool)
        mask: np.ndarray = of_texts[self.codes]
        return mask

    def count_rows(self, into: Counter[tuple[Hashable, str]], rows: np.ndarray) -> None:
        """Count the rows by their word; those of a moment without it."""
        if rows.any():
            found = np.bincount(self.codes[rows], minlength=len(self.texts)).tolist()
            for text, many in zip(self.texts, found, strict=True):
                if many:
                    into[self.label, "" if self.reads == "moment" else text] += many


def _read(column: pd.Series, of: KindColumn, orders: Codes | None) -> _Read:
    """A column by its distinct texts, each judged once."""
    rows, distinct = text_keys(column)
    texts: list[str] = distinct.to_pylist()
    if orders is not None and of.reads not in {"flag", "quantity"}:
        rows = by_order(rows, orders)
    return _Read(of.label, of.reads, rows, texts, [of.judge(text) for text in texts])


def _count(
    counts: KindCounts,
    read: Sequence[_Read],
    of: _Rows,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Count each row once, by the first column that says what it is; unknown words by column."""
    no_sale, refund, repeated = found
    sales = ~(no_sale | refund | repeated)
    each: tuple[tuple[Counter[tuple[Hashable, str]], set[RowKind], np.ndarray], ...] = (
        (counts.no_sale, {"no sale", "void"}, no_sale & of.with_amount),
        (counts.refunds, {"refund"}, refund & of.counted),
        (counts.repeated, {"refunded"}, repeated & of.counted),
        (counts.refunded, {"refunded"}, sales & of.positive),
    )
    left = np.ones(len(sales), bool)
    for words in read:
        for into, kinds, rows in each:
            of_kinds = rows & left & np.logical_or.reduce([words.rows(kind) for kind in kinds])
            words.count_rows(into, of_kinds)
            left &= ~of_kinds
        words.count_rows(counts.unknown, words.rows(None) & sales & of.with_amount)


def _repeated(read: Sequence[_Read], others: np.ndarray, of: _Rows) -> tuple[np.ndarray, int]:
    """Refunded rows beside a row of their number that is not, each with an amount of its own.

    Returns:
        These rows, and how many of them have the amount of such a row.
    """
    none = np.zeros(len(others), bool)
    if of.numbers is None or of.cents is None or not read:
        return none, 0
    candidates = of.positive & ~others
    refunded = candidates & np.logical_or.reduce([words.rows("refunded") for words in read])
    numbers = of.numbers() if refunded.any() else None
    if numbers is None:
        return none, 0
    refunded &= numbers >= 0
    beside = candidates & (numbers >= 0) & ~refunded
    if not (refunded.any() and beside.any()):
        return none, 0
    has_both = np.zeros((2, int(numbers.max()) + 1), bool)
    has_both[0, numbers[refunded]] = True
    has_both[1, numbers[beside]] = True
    both = np.logical_and(*has_both)[numbers]
    repeated, beside = refunded & both, beside & both
    amounts = pd.MultiIndex.from_arrays([numbers[beside], of.cents[beside]])
    alike = pd.MultiIndex.from_arrays([numbers[repeated], of.cents[repeated]]).isin(amounts)
    return repeated, int(np.count_nonzero(alike))


def _lines(counts: Counter[tuple[Hashable, str]], noun: str, by: str = "") -> list[str]:
    """One line for each column: how many rows, by which column and which of its words."""
    lines = []
    for label in dict.fromkeys(label for label, _ in counts):
        words = {text: rows for (of, text), rows in counts.items() if of == label}
        rows, listed = counted(sum(words.values()), noun), _listed(filter(None, words))
        if by:
            lines.append(f"{rows} {by} {label!r}" + (f" ({listed})" if listed else ""))
        else:
            lines.append(f"{rows} with {listed} in {label!r}")
    return lines


_ENDED_BY = "canceled or not paid by"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(first_of([repr(text[:30]) for text in words], _SHOWN))


def _words_of(column: pd.Series) -> list[str] | None:
    """The distinct texts of a column; `None` where a sample has too many for a status."""
    step = max(len(column) // _SAMPLE, 1)
    if column.iloc[::step].nunique() > _MOST_WORDS:
        return None
    return [*dict.fromkeys(filter(None, map(text_of, list(pd.factorize(column)[1]))))]


class _Named(NamedTuple):
    """A column of a status or type by its name.

    Attributes:
        about: what it is about; `None` where that is the sale, "" where the name does not say it.
        scoped: whether the name says that it is about the sale.
        payment: whether it is the type of a payment, which may be a means of payment.
        weak: whether the name may be that of other columns too.
    """

    column: KindColumn
    about: str | None = None
    scoped: bool = False
    payment: bool = False
    weak: bool = False


def _by_name(label: Hashable) -> _Named | None:
    """What a column says about its row by its name; `None` where it is no such column."""
    words = plain_name(label).split("_")
    if flag := _flag(words, label):
        return flag
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words = words[:-1]
    if len(words) > 2 and words[0] in _READS and words[1] == "of":  # noqa: PLR2004 - type of …
        words = [*words[2:], words[0]]
    reads = _READS.get(words[-1])
    if reads is None or (words == ["state"]):
        return None
    nearest = next((word for word in reversed(words[:-1]) if word not in _NEUTRAL), None)
    column = KindColumn(label, reads, invoices=nearest in _INVOICE)
    weak = words[-1] not in _SURELY
    if nearest is None:
        return _Named(column, weak=weak)
    if nearest in _OF_SALES or nearest in _INVOICE:
        payment = reads == "type" and nearest in _PAYMENT
        return _Named(column, scoped=True, payment=payment, weak=weak)
    return _Named(column, _about(nearest), weak=weak)


def _about(word: str) -> str:
    """What columns are about that have this word; "" where it is not known."""
    return _OTHERS.get(word) or _OTHERS.get(word.removesuffix("s"), "")


def _flag(words: list[str], label: Hashable) -> _Named | None:
    """A column that says yes or no, or when: `is_canceled`, `Voided`, `Cancelled at`.

    A number in "Returned" or "Refund" may be one of pieces or dollars, where its name has no "is".
    """
    left = [word for word in words if word not in _OF_SALES | _SAYS_YES]
    if len(left) == 1 and left[0] in _FLAGS:
        means = _FLAGS[left[0]]
        surely = means == "no sale" or "?" in str(label) or not _SAYS_YES.isdisjoint(words)
        return _Named(KindColumn(label, "flag", means), weak=not surely)
    ended = [word for word in left if word not in _MOMENTS]
    if len(left) > 1 and len(ended) == 1 and ended[0] in _ENDED_AT:
        return _Named(KindColumn(label, "moment"))
    if len(left) > 1 and left[-1] in _WHY and left[-2] in _ENDED_AT:
        return _Named(KindColumn(label, "status"), about="cancellations")
    return None


class _About(NamedTuple):
    """What the rows of a file are by the names of its columns: invoices, or subscriptions too."""

    invoices: bool
    subscriptions: bool

    @classmethod
    def of(cls, labels: Iterable[Hashable]) -> _About:
        words = {word for label in labels for word in plain_name(label).split("_")}
        of_invoices = not words.isdisjoint(_INVOICE) and words.isdisjoint({"order", "orders"})
        return cls(of_invoices, not words.isdisjoint(_OF_SUBSCRIPTIONS))


def _by_content(named: _Named, texts: list[str] | None, of: _About) -> KindColumn | str | None:
    """The column as it is read, why it is not, or `None` where nothing is to be said about it."""
    if named.column.reads == "moment":
        return _MAY_BE_SUBSCRIPTIONS if of.subscriptions else named.column
    if named.column.reads == "flag":
        numbers = named.weak and any(text[:1].isdigit() for text in texts or ())
        return named.column if _are_flags(texts) and not numbers else None
    if texts == [] or _are_states(texts):
        return None
    if named.about:
        return f"it is about {named.about}" + _although(texts)
    if texts is None:
        return None if named.weak else "it has too many different texts"
    found = _worded(named, texts, of)
    return None if named.weak and isinstance(found, str) else found


_MAY_BE_SUBSCRIPTIONS = "it may be about subscriptions"


def _although(texts: list[str] | None) -> str:
    """The words of a column that is not used that would be no sales."""
    read = KindColumn(None, "status")
    words = [text for text in texts or () if read.judge(text) not in {None, "sale"}]
    return f" (it has {_listed(words)})" if words else ""


def _worded(named: _Named, texts: list[str], of: _About) -> KindColumn | str:
    """The column with what its words say about it, or why it is not read."""
    column = named.column
    plain = {_words(text) for text in texts}
    if of.subscriptions and not named.scoped and not plain.isdisjoint(_SUBSCRIBED):
        return _MAY_BE_SUBSCRIPTIONS + _although(texts)
    of_type = column.reads == "type"
    ledger = of_type and not named.payment and not _LEDGER.isdisjoint(plain)
    invoices = column.invoices or (of.invoices and not named.scoped)
    read = replace(column, invoices=invoices, ledger=ledger)
    kinds = {read.judge(text) for text in texts}
    doubtful: set[RowKind | None] = {None, "sale"} if named.payment else {None}
    doubtful |= {"no sale"} if of_type and not named.scoped else set()  # "Draft" may be a beer
    if kinds <= doubtful:
        return "none of its words says whether a row is a sale"
    if named.about == "" and None in kinds:
        return "its name does not say what it is about" + _although(texts)
    return read


def counts_pieces(label: Hashable) -> bool:
    """Whether a name is that of quantities sold; not of those in stock or sent back."""
    words = plain_name(label).split("_")
    sold = not any(map(_about, words)) and _ON_HAND.isdisjoint(words)
    return sold and kind_of(label) == "quantity"


def below_0(column: pd.Series) -> np.ndarray:
    """Which quantities are below 0, by row."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return (column < 0).fillna(value=False).to_numpy(bool)
    codes, texts = pd.factorize(column)
    below = [_BELOW_0.match(str(text)) is not None for text in texts]
    return np.array([*below, False], dtype=bool)[codes]


def _by_quantity(column: pd.Series, label: Hashable) -> KindColumn | None:
    """A column of quantities of which some are below 0."""
    if not counts_pieces(label) or not below_0(column).any():
        return None
    return KindColumn(label, "quantity", "refund")


def _by_words(column: pd.Series, label: Hashable) -> KindColumn | str | None:
    """A column whose name does not say that it is a status, by its words alone."""
    if not _holds_texts(column):
        return None
    texts = _words_of(column)
    read = KindColumn(label, "status")
    if not texts or all(text[:1].isdigit() for text in texts):
        return None
    kinds = [read.judge(text) for text in texts]
    if {*kinds} <= {None, "sale"}:
        return None
    plain = [*map(_words, texts)]
    known = [kind is not None or text in _OPEN for kind, text in zip(kinds, plain, strict=True)]
    if not all(known) and (_VOID | _REFUNDS | _REFUNDED).isdisjoint(plain):
        return None
    abouts = (_NOTES.get(word) or _about(word) for word in plain_name(label).split("_"))
    if about := next(filter(None, abouts), ""):
        why = f"it is about {about}"
    elif all(text in _OPEN | _SALES | _NO_SALES for text in plain):  # "Draft" may be a beer
        why = "its name does not say what it is about"
    else:
        why = "" if all(known) else "not all of its words are those of a status"
    return why + _although(texts) if why else read


def _holds_texts(column: pd.Series) -> bool:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    return pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype)


def _words(text: str) -> str:
    return " ".join(_without_accents(text).split("_"))


def _without_accents(text: str) -> str:
    """A text as names are compared, with the letters of other languages: "Annulé" is `annule`."""
    if text.isascii():
        return plain_name(text)
    apart = unicodedata.normalize("NFKD", text)
    return plain_name("".join(letter for letter in apart if not unicodedata.combining(letter)))


def _are_states(texts: list[str] | None) -> bool:
    """Whether at least half of the texts are states of an address."""
    return bool(texts) and 2 * sum(state_code(text) is not None for text in texts or ()) >= len(
        texts or ()
    )


def _are_flags(texts: list[str] | None) -> bool:
    return bool(texts) and all(text.casefold() in _YES | _NO for text in texts or ())


def _judged(words: list[str], *, of_type: bool, invoices: bool) -> RowKind | None:
    """What a row with these words is; `None` where they do not say it."""
    text = " ".join(words)
    if text.removeprefix("wc ") in _UNPAID:
        return "sale" if invoices else "no sale"
    left = [word for word in words if word not in _FILLERS]
    for phrase in (text, " ".join(left)):
        if kind := _of_phrase(phrase, of_type=of_type):
            return kind
    if not left:
        return None if _SALES.isdisjoint(words) else "sale"
    return None if {*left} & (_DOUBTFUL | _PARTLY) else _ended(left, of_type=of_type)


def _of_phrase(text: str, *, of_type: bool) -> RowKind | None:
    """What a row is by a whole phrase: a noun names a row of its own, a participle a sale."""
    if text in _SALES:
        return "sale"
    if text in _NO_SALES:
        return "no sale"
    whole = " ".join(word for word in text.split() if word not in _PARTLY)
    partly = whole != text
    if whole in _REFUNDS:
        return "refunded" if partly and not of_type else "refund"
    if whole in _REFUNDED:
        return "refund" if of_type and not partly else "refunded"
    return None


def _ended(left: list[str], *, of_type: bool) -> RowKind | None:
    """What a row with a word such as "canceled" or "failed" is.

    A refund that failed is no row, and leaves the sale as it was. Other words beside it in a type
    are those of something else: "Void Fill".
    """
    refund = not {*left}.isdisjoint(_REFUNDS)
    others = [word for word in left if word not in _ENDED]
    if not (left[0] in _ENDED or left[-1] in _ENDED) or (of_type and others and not refund):
        return None
    if refund:
        return "no sale" if of_type else "sale"
    return "void" if of_type and not _VOID.isdisjoint(left) else "no sale"


def _set(text: str) -> frozenset[str]:
    """The phrases of a text, which commas and line ends separate."""
    phrases = text.replace("\n", ",").split(",")
    return frozenset(" ".join(phrase.split()) for phrase in phrases) - {""}


_BELOW_0 = re.compile(r"\s*(?:[-\u2212]|\()\s*[0-9.,]*[1-9][0-9.,]*\)?\s*$")
_ON_HAND = _set("available, hand, change, adjusted, adjustment, balance, remaining, delta")
_DATED = re.compile("[1-9]")
_YES = _set("true, yes, y, t, 1, 1.0")
_NO = _set("false, no, n, f, 0, 0.0")
_READS: dict[str, Reads] = {
    "status": "status",
    "statuses": "status",
    "substatus": "status",
    "state": "status",
    "type": "type",
    "kind": "type",
    "event": "type",
    "action": "type",
    "mode": "type",
    "transaction": "type",
    **dict.fromkeys(("estado", "estatus", "zustand", "statut", "stato", "situacao"), "status"),
}
_SURELY = _set("status, statuses, substatus, type, kind")
_SUFFIXES = _set("code, name, label, text, description, desc, value, current, of")
_NEUTRAL = _set("current, latest, final, overall, main, last, the, my, our, display, sub, us, raw")
_INVOICE = _set("invoice, invoices, inv, bill")
_PAYMENT = _set("payment, payments")
_OF_SALES = _PAYMENT | _set(
    "order, orders, sale, sales, transaction, transactions, trans, tran, txn, trx, financial,"
    " purchase, purchases, checkout, charge, receipt, check, record, row, entry, document, doc"
)
_OTHERS = dict(
    pair.split("=")
    for pair in _set(
        """
        subscription=subscriptions, plan=subscriptions, membership=memberships, member=members
        customer=customers, client=customers, buyer=customers, account=accounts, user=users
        contact=contacts, lead=leads, company=companies, business=companies, attendee=attendees
        item=items, lineitem=items, line=lines, product=products, sku=products, variant=products
        goods=products, article=products, inventory=stock, stock=stock, category=products
        fulfillment=deliveries, fulfilment=deliveries, shipping=deliveries, shipment=deliveries
        ship=deliveries, delivery=deliveries, tracking=deliveries, package=deliveries
        carrier=deliveries, courier=deliveries, warehouse=deliveries, ticket=tickets
        tax=taxes, exemption=exemptions, email=emails, card=cards, method=means of payment
        tender=means of payment, gateway=means of payment, payout=payouts, settlement=payouts
        dispute=disputes, risk=fraud, fraud=fraud, marketing=marketing, consent=consent
        address=addresses, vendor=vendors, supplier=vendors, employee=employees, staff=employees
        discount=discounts, coupon=discounts, promotion=discounts, price=prices, device=devices
        sync=copies to other systems, export=copies to other systems, import=copies to other systems
        print=printing, review=reviews, refund=refunds, return=returns, cancellation=cancellations
        cancelation=cancellations, cancel=cancellations, store=stores, shop=stores, channel=channels
        location=places, region=places, license=licenses, entity=companies, service=services
        """
    )
)
_NOTES = {
    **dict.fromkeys(("note", "notes", "comment", "comments", "memo", "remarks"), "notes"),
    **dict.fromkeys(("description", "message", "reason", "tag", "tags"), "notes"),
    **dict.fromkeys(("name", "title"), "names"),
}
_FLAGS: dict[str, RowKind] = {
    **dict.fromkeys(
        ("canceled", "cancelled", "voided", "void", "deleted", "test", "abandoned"), "no sale"
    ),
    **dict.fromkeys(("refund", "return"), "refund"),
    **dict.fromkeys(("refunded", "returned", "disputed"), "refunded"),
}
_SAYS_YES = _set("is, was, flag, mode")
_WHY = _set("reason, by, note, comment")
_MOMENTS = _set("at, on, date, time, datetime, timestamp, day, utc")
_ENDED_AT = _set("canceled, cancelled, cancel, cancellation, voided, void")
_FILLERS = (
    _OF_SALES
    | _INVOICE
    | _set(
        "wc, status, by, the, a, customer, buyer, seller, merchant, admin, system, user, us, auto,"
        " automatically, manually, post, was, is, has, been, fully, full, in, and, due, to"
    )
)
_VOID = _set(
    "canceled, cancelled, cancel, cancellation, void, voided,"
    " cancelado, cancelada, cancelacion, anulado, anulada, anulacion, annule, annulee, annulation,"
    " storniert, storno, stornierung, abgebrochen, annulliert, annullato, annullata, geannuleerd"
)
_ENDED = _VOID | _set(
    "failed, declined, denied, expired, abandoned, rejected, deleted,"
    " rechazado, rechazada, fallido, fallida, refuse, refusee, echoue, echouee, abgelehnt,"
    " fehlgeschlagen, rifiutato"
)
_PARTLY = _set("partial, partially, partly, part")
_DOUBTFUL = _set(
    "not, never, non, no, requested, request, requests, pending, delivery, deliver, shipping,"
    " shipment, email, sync, print, label, notification, attempt"
)
"""Words with which another one does not say that there is no sale: "Cancellation requested"."""
_REFUNDS = _set(
    "refund, refunds, return, returns, reversal, reversals, chargeback, chargebacks, charge back,"
    " credit memo, credit memos, credit note, credit notes, creditmemo, creditnote,"
    " merchandise return, item return, product return, dispute,"
    " reembolso, reembolsos, devolucion, devoluciones, erstattung, erstattungen, ruckerstattung,"
    " gutschrift, retoure, rucksendung, remboursement, remboursements, avoir, rimborso, reso"
)
_REFUNDED = _set(
    "refunded, returned, reversed, charged back, disputed,"
    " reembolsado, reembolsada, devuelto, devuelta, erstattet, ruckerstattet, zuruckgegeben,"
    " rembourse, remboursee, retourne, retournee, rimborsato"
)
_UNPAID = _set(
    "unpaid, not paid, pending payment, payment pending, awaiting payment, waiting for payment,"
    " on hold awaiting payment, payment required, requires payment, requires payment method,"
    " requires confirmation, requires action, no payment, payment not received"
)
_NO_SALES = _set(
    "draft, test, test mode, testing, trash, trashed, abandoned cart, incomplete, incomplete"
    " expired, uncaptured, blocked, estimate, quote, quotation, proforma, pro forma, saved cart,"
    " payout, payouts, withdrawal, withdrawals, general withdrawal"
)
_SALES = _set(
    """
    sale, sales, order, orders, charge, purchase, invoice, transaction, sales receipt, cash sale
    payment
    completed, complete, paid, shipped, partially shipped, delivered, partially delivered
    fulfilled, partially fulfilled, processing, in process, processed, closed, approved, success
    succeeded, successful, captured, settled, cleared, ok, done, confirmed, received, sent, open
    active, finished, accepted, posted, final, ready, ready for pickup, picked up, in transit, new
    awaiting shipment, awaiting fulfillment, awaiting pickup, dispatched, invoiced, paid in full
    partially paid, overpaid, overdue, past due, live, unshipped, unfulfilled, archived
    venta, pedido, completado, completada, pagado, pagada, enviado, enviada, entregado, entregada
    en proceso, procesado, procesada, cerrado, cerrada, aprobado, aprobada, confirmado, confirmada
    verkauf, bestellung, abgeschlossen, bezahlt, versendet, versandt, geliefert, zugestellt
    erledigt, bestatigt, in bearbeitung, offen
    vente, commande, termine, terminee, paye, payee, expedie, expediee, livre, livree, en cours
    confirme, confirmee, validee, valide, completato, completata, pagato, spedito, consegnato
    """
)
_OPEN = _set(
    """
    pending, on hold, hold, backordered, back order, back ordered, backorder, preorder, pre order
    awaiting, waiting, queued, scheduled, in review, under review, review, in progress, started
    requested, cancellation requested, refund requested, return requested, partially canceled
    partially cancelled, pendiente, en espera, ausstehend, wartend, en attente, in attesa
    """
)
"""Words of a status that leave open whether there is a sale."""
_OF_SUBSCRIPTIONS = _set("subscription, subscriptions, plan, renewal, mrr, billing cycle")
_SUBSCRIBED = _set("active, inactive, trial, trialing, in trial, paused, past due, non renewing")
_LEDGER = _set("invoice, sales receipt, credit memo, journal entry, bill")
_LEDGER_NO_SALE = _set(
    "payment, deposit, estimate, transfer, bill, expense, check, purchase order, journal entry,"
    " statement, bill payment, vendor credit"
)
_REFUNDS_AS: dict[RefundsAs, str] = {
    "subtract": "taken off",
    "add": "counted as sales",
    "leave": "amount 0.00",
}
