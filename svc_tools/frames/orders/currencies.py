"""In which currency the rows of a file are: those not in US dollars have no tax, with the reason.

The column of the currency is found by its name and by what it holds (`find_currency`), once;
`rows_abroad` then reads the rows of a frame, or of a slice of a file. The heading of a column of
money may name a currency too (`heading_currency`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.orders.iso_4217 import CURRENCIES
from svc_tools.frames.orders.order_numbers import by_order, text_keys
from svc_tools.show.display import counted, first_of
from svc_tools.tables.cells import text_of
from svc_tools.tables.questions import Question
from svc_tools.tables.roles import plain_name, single

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import pandas as pd

    from svc_tools.frames.orders.order_numbers import Codes

_SAMPLE = 1_000
_MOST_CURRENCIES = 40
"""More distinct texts in a sample than this are no currencies."""
_UNKNOWN = 0.1
"""The most rows with another text that a column may have whose name does not say what it is."""
_SHOWN = 5
_DIGITS = 3


def currency_of(text: str) -> str | None:
    """The currency of a code, number, name or symbol: `EUR` of "EUR", "978", "Euro" and "€"."""
    plain = " ".join(text.replace(".", "").casefold().split())
    found = _KNOWN.get(plain) or _KNOWN.get(plain.removesuffix("s"))
    if found:
        return found
    number = _WHOLE.fullmatch(text)
    if number:
        return _NUMBERS.get(number[1].zfill(3))
    words = [word for word in _BETWEEN.split(text) if word]
    codes = [word for word in words if word in _CODES]
    if len(codes) != 1 or len(words) == 1:
        return None
    others = " ".join(word for word in words if word != codes[0])
    return codes[0] if others == "$" or currency_of(others) == codes[0] else None


def heading_currency(label: Hashable) -> str | None:
    """The currency that the heading of a column of money names: `EUR` of "Amount (EUR)"."""
    text = str(label)
    for inside in _BRACKETS.findall(text):
        found = currency_of(inside.strip())
        if found and inside.strip() not in _ENGLISH and not inside.strip().isdigit():
            return found
    words = [
        word for word in _HEADING_WORDS.split(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)) if word
    ]
    for word in (words[-1:] + words[:1]) if len(words) > 1 else []:
        if word in _CODES and word not in _ENGLISH:
            return word
        if word.casefold() in _SMALL:
            return word.upper()
        if not word.isascii() or word.endswith("$"):
            return currency_of(word)
    return None


def heading_unit(label: Hashable) -> str | None:
    """The unit that a heading names instead of dollars: `cents` of "amount_cents"."""
    text = str(label)
    words = " ".join(plain_name(text).split("_"))
    for unit, in_words, as_written in _UNITS:
        if in_words.search(words) or as_written.search(text):
            return unit
    return None


def names_dollars(label: Hashable) -> bool:
    """Whether a heading says US dollars, and not just `$`, which many currencies have."""
    return heading_currency(label) == "USD" and _US.search(str(label)) is not None


@dataclass(frozen=True, slots=True)
class CurrencyColumns:
    """The column of the currency.

    Attributes:
        used: the one that is read; `None` where there is none.
        not_used: others that hold currencies, each with why they are not read.
        question: which one counts, where that is open; `used` is then the likeliest.
    """

    used: Hashable | None = None
    not_used: tuple[tuple[Hashable, str], ...] = ()
    question: Question | None = None

    def sentences(self) -> list[str]:
        """Which columns were not used, for the user."""
        return [f"{label!r} was not used: {why}" for label, why in self.not_used]


def find_currency(
    frame: pd.DataFrame, amount: Hashable | None = None, *, given: Hashable | None = None
) -> CurrencyColumns:
    """The column of the currency, under any name.

    Of two that differ, the one whose name has a word of the amount's counts ("Converted Currency"
    for "Converted Amount"), then the one of the order before that of the settlement or payout; else
    it is a question.

    Args:
        frame: the rows, or a sample of them.
        amount: the column of the amount, where it is known.
        given: the column, where the user named it; `False` for none.
    """
    if given is not None:
        return CurrencyColumns(None if given is False else given)
    found = [
        candidate
        for label in single(frame.columns)
        if (candidate := _candidate(frame[label], label)) is not None
    ]
    known = [candidate for candidate in found if not candidate.why_not]
    known = [candidate for candidate in known if not candidate.empty] or known[:1]
    passed = tuple((candidate.label, candidate.why_not) for candidate in found if candidate.why_not)
    if not known:
        return CurrencyColumns(None, passed)
    if len(known) == 1:
        (candidate,) = known
        question = None if candidate.sure else _question_if(candidate)
        return CurrencyColumns(candidate.label, passed, question)
    return _chosen(frame, known, passed, amount)


@dataclass(slots=True)
class CurrencyCounts:
    """What is counted while currencies are read.

    Attributes:
        foreign: rows not in US dollars, by column and text.
        missing: rows without a currency, by column.
    """

    foreign: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    missing: Counter[Hashable] = field(default_factory=Counter)

    def add(self, other: CurrencyCounts) -> None:
        """Add those of further rows."""
        self.foreign.update(other.foreign)
        self.missing.update(other.missing)

    def sentences(self) -> list[str]:
        """The counts in sentences for the user."""
        sentences = []
        for label in dict.fromkeys(label for label, _ in self.foreign):
            texts = {text: rows for (of, text), rows in self.foreign.items() if of == label}
            rows = counted(sum(texts.values()), "row")
            sentences.append(
                f"{rows} in another currency than US dollars by {label!r} ({_listed(texts)}):"
                " no tax"
            )
            if missing := self.missing[label]:
                sentences.append(
                    f"{counted(missing, 'row')} without a value in {label!r}: US dollars"
                )
        return sentences


class Foreign(NamedTuple):
    """The rows that are not in US dollars.

    Attributes:
        codes: for each row the index of its reason, -1 where it is in US dollars.
        reasons: why rows have no tax.
        counts: what was counted.
    """

    codes: np.ndarray
    reasons: tuple[str, ...]
    counts: CurrencyCounts

    @property
    def rows(self) -> np.ndarray:
        """The rows that are not in US dollars."""
        rows: np.ndarray = self.codes >= 0
        return rows

    @property
    def wrong(self) -> dict[int, str]:
        """The reason by row."""
        rows = np.flatnonzero(self.codes >= 0).tolist()
        return {row: self.reasons[self.codes[row]] for row in rows}


def rows_abroad(
    frame: pd.DataFrame,
    columns: CurrencyColumns,
    amounts: Iterable[Hashable] = (),
    *,
    orders: Codes | None = None,
    counts_in: np.ndarray | None = None,
) -> Foreign:
    """The rows whose amounts are not in US dollars.

    A currency in the heading of an amount counts before the column: "Amount (USD)" beside a column
    of the currency paid in is in US dollars, "Amount (EUR)" is not. "Amount ($)" does not decide.

    Args:
        frame: the rows.
        columns: the column of the currency, as `find_currency` gives it.
        amounts: the columns of money that the amount is read from.
        orders: gives the order of each row, -1 where it has none: an empty cell has the currency of
            the first row of the order that has one. Without one it is in US dollars.
        counts_in: the rows that are counted.
    """
    labels = [*amounts]
    counted_rows = np.ones(len(frame), bool) if counts_in is None else counts_in
    for label in labels:
        named = heading_currency(label)
        if named not in {None, "USD"}:
            counts = CurrencyCounts(
                Counter({(label, str(named)): int(np.count_nonzero(counted_rows))})
            )
            return Foreign(np.zeros(len(frame), np.int64), (_reason(str(named)),), counts)
    if columns.used is None or (labels and all(map(names_dollars, labels))):
        return Foreign(np.full(len(frame), -1, np.int64), (), CurrencyCounts())
    codes, distinct = text_keys(frame[columns.used])
    texts: list[str] = distinct.to_pylist()
    if orders is not None:
        codes = by_order(codes, orders)
    abroad = [at for at, text in enumerate(texts) if currency_of(text) != "USD"]
    onto = np.full(len(texts) + 1, -1, np.int64)
    onto[abroad] = np.arange(len(abroad))
    rows = onto[codes]
    shown = [_shown(texts[at]) for at in abroad]
    many = np.bincount(rows[counted_rows & (rows >= 0)], minlength=len(shown)).tolist()
    counts = CurrencyCounts()
    for text, number in zip(shown, many, strict=True):
        counts.foreign[columns.used, text] += number
    counts.foreign += Counter()
    counts.missing[columns.used] = int(np.count_nonzero(counted_rows & (codes < 0)))
    return Foreign(rows, tuple(map(_reason, shown)), counts)


def _reason(text: str) -> str:
    return f"amount: in {text}, not in US dollars"


def _shown(text: str) -> str:
    """A currency as it is named to the user: an ISO number by its code."""
    return (currency_of(text) or text) if _WHOLE.fullmatch(text) else text[:20]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(first_of([repr(text) for text in texts], _SHOWN))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A column that may be that of the currency.

    Attributes:
        words: the words of its name.
        sure: whether it is one by its name, or has US dollars beside others.
        foreign: whether it has other currencies than US dollars.
        empty: whether it has no value at all.
        why_not: why it is not read; empty where it may be.
    """

    label: Hashable
    words: frozenset[str]
    sure: bool
    foreign: bool
    empty: bool = False
    why_not: str = ""

    @property
    def rank(self) -> int:
        """How likely it is that of the amounts, by its name: 0 the likeliest."""
        if not _OF_PAYOUTS.isdisjoint(self.words):
            return 2
        return 0 if self.named and _OF_BUYERS.isdisjoint(self.words) else 1

    @property
    def named(self) -> bool:
        """Whether its name says that it is a currency."""
        return not _NAMED.isdisjoint(self.words)


def _candidate(column: pd.Series, label: Hashable) -> _Candidate | None:
    """The column where its name and content make it one of currencies; looks at a sample."""
    texts = _sample(column)
    if texts is None:
        return None
    parts = plain_name(label).split("_")
    words = frozenset(parts)
    known = {text: currency_of(text) for text in texts}
    foreign = any(code != "USD" for code in known.values())
    if not _NAMED.isdisjoint(words) and parts[-1] not in _NO_CURRENCY:
        odd = known and not any(known.values()) and not all(map(_CODE_LIKE.fullmatch, known))
        why_not = "none of its values is a known currency" if odd else ""
        return _Candidate(
            label, words, sure=True, foreign=foreign, empty=not known, why_not=why_not
        )
    rows = sum(texts.values())
    unknown = sum(texts[text] for text, code in known.items() if code is None)
    if not rows or unknown > _UNKNOWN * rows or not _may_be(known, words):
        return None
    return _Candidate(label, words, sure="USD" in known.values(), foreign=foreign)


def _may_be(known: Mapping[str, str | None], words: frozenset[str]) -> bool:
    """Whether texts under a name that says nothing are currencies, and not sizes or amounts."""
    found = {*known.values()}
    if all(map(_WHOLE.fullmatch, known)):  # also numbers of countries, pieces and dollars
        long = all(len(text.partition(".")[0]) == _DIGITS for text in known)
        return long and found >= {"USD", "EUR"} and words.isdisjoint(_COUNTRY | _AMOUNTS)
    usual = any(
        text.upper() in _USUAL or not text.isalpha() for text, code in known.items() if code
    )
    return "USD" in found or (usual and None not in found)


def _sample(column: pd.Series) -> Counter[str] | None:
    """The texts of a sample, or of all rows where it has none; `None` where they are too many."""
    sample = column.iloc[:: max(len(column) // _SAMPLE, 1)]
    for some in (sample, column):
        try:
            if some.nunique() > _MOST_CURRENCIES:
                return None
        except TypeError:  # lists and the like, which have no hash
            return None
        counts = some.value_counts()
        texts: Counter[str] = Counter()
        for value, rows in zip(counts.index.tolist(), counts.tolist(), strict=True):
            if text := text_of(value):
                texts[text] += rows
        if texts:
            return texts
    return Counter()


def _question_if(candidate: _Candidate) -> Question | None:
    """Whether a column that has no US dollars is that of the currency."""
    if not candidate.foreign:
        return None
    why = f"{candidate.label!r} seems to hold currencies, and none of its rows may be in US dollars"
    return Question(
        "currency", (candidate.label,), (candidate.label, False), candidate.label, why, "currency"
    )


def _chosen(
    frame: pd.DataFrame,
    known: Sequence[_Candidate],
    passed: tuple[tuple[Hashable, str], ...],
    amount: Hashable | None,
) -> CurrencyColumns:
    """The one of several columns of currencies that counts for the amounts."""
    of_amount = {*plain_name(amount).split("_")} - _GENERIC if amount is not None else set()
    sharing = [candidate for candidate in known if not of_amount.isdisjoint(candidate.words)]
    ranked = sorted(known, key=lambda candidate: (not candidate.sure, candidate.rank))
    first = sharing[0] if len(sharing) == 1 else ranked[0]
    in_words = _in_words(frame[first.label])
    differ = [
        candidate
        for candidate in known
        if candidate is not first
        and not np.array_equal(_in_words(frame[candidate.label]), in_words)
    ]
    alike = [
        candidate.label
        for candidate in differ
        if len(sharing) != 1 and (candidate.sure, candidate.rank) == (first.sure, first.rank)
    ]
    why = f"the currency is that of {first.label!r}"
    others = [(candidate.label, why) for candidate in differ if candidate.label not in alike]
    question = None
    if alike:
        listed = " and ".join(map(repr, (first.label, *alike)))
        question = Question(
            "currency",
            (first.label, *alike),
            (first.label, *alike, False),
            first.label,
            f"{listed} name different currencies in the same row",
            "currency",
        )
    elif not first.sure:
        question = _question_if(first)
    return CurrencyColumns(first.label, (*passed, *others), question)


def _in_words(column: pd.Series) -> np.ndarray:
    """The currency of each row as a number: the same ones for the same currency."""
    codes, texts = text_keys(column)
    order = {"USD": 0, **{currency.code: at for at, currency in enumerate(CURRENCIES, 1)}}
    of_texts = [order.get(currency_of(text) or "", len(order) + 1) for text in texts.to_pylist()]
    rows: np.ndarray = np.array([*of_texts, -1], np.int64)[codes]
    return rows


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CODES = frozenset(currency.code for currency in CURRENCIES)
_NUMBERS = {currency.number: currency.code for currency in CURRENCIES}
_ALIASES = {
    "USD": "dollar,usa dollar,united states dollar,american dollar,$,us$,usd$,$us,u$s,$usd",
    "CAD": "c$,ca$,cad$,cdn,cdn$,$cad,canadian",
    "AUD": "a$,au$,aud$,$aud",
    "NZD": "nz$,nzd$",
    "HKD": "hk$",
    "SGD": "s$,sg$",
    "TWD": "nt$,taiwan dollar,taiwanese dollar",
    "BRL": "r$,real,brazilian reais",
    "MXN": "mx$,mex$,mxn$,peso mexicano,mexican new peso",
    "EUR": "€,eur€,€eur",
    "GBP": "£,gbp£,pound sterling,sterling,uk pound,great british pound,great britain pound",
    "JPY": "¥,jp¥,yen,円",
    "CNY": "cn¥,rmb,cnh,renminbi,yuan,chinese renminbi,元",
    "INR": "₹,rs",
    "KRW": "₩",
    "RUB": "₽",
    "TRY": "₺",
    "VND": "₫",
    "PHP": "₱",
    "THB": "฿",
    "ILS": "₪,nis,israeli shekel,shekel",
    "PLN": "zł,złoty,zloty",
    "CZK": "kč",
    "HUF": "ft",
    "CHF": "sfr,fr",
    "UAH": "₴",
    "NGN": "₦",
}
_KNOWN = (
    {currency.name.casefold().replace(".", ""): currency.code for currency in CURRENCIES}
    | {code.casefold(): code for code in _CODES}
    | {name: code for code, names in _ALIASES.items() for name in names.split(",")}
)
_ENGLISH = _set("ALL TOP TRY CUP PEN LAK MOP GEL SOS MAD BOB RON COP BAM ERN DOP PAB ANG STD")
"""Codes that are English words, names or short forms too."""
_SMALL = _set("usd eur cad gbp aud jpy chf mxn cny inr nzd sek nok dkk brl hkd sgd pln")
"""Codes that a heading may have in small letters."""
_USUAL = frozenset(code.upper() for code in _SMALL)
_NAMED = _set("currency currencies curr ccy currencycode devise moneda valuta")
_NO_CURRENCY = _set(
    "rate rates factor amount total value gain loss date exchange fx conversion id format"
)
_OF_PAYOUTS = _set(
    "settlement settled settle payout payouts converted conversion base reporting home local"
    " functional fee fees cost tax store shop balance bank deposit disbursement target supplier"
    " discount refund tip account"
)
_OF_BUYERS = _set("presentment customer buyer original charge charged display card")
_GENERIC = _set("amount total value price currency code net gross sum usd sub of the in")
_COUNTRY = _set("country nation origin destination region ship shipping billing")
_AMOUNTS = _set("amount total subtotal price cost tax sales qty quantity units pieces weight zip")
_WHOLE = re.compile(r"([0-9]{1,3})(?:\.0+)?")
_US = re.compile(r"\bus ?dollars?\b|us\$|u\.s\.|usd", re.IGNORECASE)
_CODE_LIKE = re.compile(r"[A-Za-z]{3,5}")
_BETWEEN = re.compile(r"[\s()\[\]/:,;\u2013\u2014-]+")
_BRACKETS = re.compile(r"[(\[]([^)\]]*)[)\]]")
_HEADING_WORDS = re.compile(r"[\s()\[\]/:,;._\u2013\u2014-]+")
_UNITS = (
    (
        "cents",
        re.compile(r"(?<!per )\b(?:cents|pennies|minor units?|(?:amount|total|price) minor)\b"),
        re.compile("[\u00a2\uffe0]"),
    ),
    (
        "thousands",
        re.compile(r"\bthousands?\b|\b000s\b|\bin 000\b"),
        re.compile(r"\(\s*\$?\s*(?:[kK]|000|'000)(?:\s*(?:USD|\$))?\s*\)|\$\s*(?:000|[kK])\b"),
    ),
    ("millions", re.compile(r"\bmillions?\b"), re.compile(r"\(\s*\$?\s*(?:mm?|MM?)\s*\)")),
)
"""Units with how headings name them: in plain words, and as it is written."""
