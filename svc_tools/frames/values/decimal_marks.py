"""Decimal marks: whether the amounts of a column are written with a decimal point or a comma.

    cells                                                 what they show
    12.50; .5; 1,234.50; 1,000,000; 0.125; 1'234.50       a decimal point
    12,50; ,5; 1.234,56; 1.000.000; 0,125; 1 234,56       a decimal comma
    1.000; 1,234                                          either: the other cells decide
    950; 1200                                             nothing

The cells of a column decide together, then the columns of money of a file together, then what
separates the cells of the file. What is left open is a question; no cell is guessed.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.values.arrow import chunks_of
from svc_tools.lookup.options import DecimalMark
from svc_tools.tables.questions import Question

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

Mark: TypeAlias = Literal["point", "comma", "either", "none", "both"]
"""How the amounts of a column are written: with a decimal point, with a decimal comma, so that it
could be either, so that it does not matter (no cell depends on it), or so that cells contradict
each other."""

_Kind: TypeAlias = Literal[
    "point",
    "point 3",
    "comma",
    "comma 3",
    "thousands",
    "dots",
    "dots 0",
    "commas",
    "commas 0",
    "apostrophes",
    "blanks",
    "short",
    "long",
]
"""What a cell shows: a decimal mark (or one with three decimals), commas between thousands, one
mark before three digits (or three of which the last is 0), another mark between thousands, a whole
number below 1,000, or one above without separators."""

_BLANK = "[ \u00a0\u2007\u2009\u202f]"
_APOSTROPHE = "['\u2019]"
_FIRST = "[1-9][0-9]{0,2}"
"""The digits before the first thousands separator: 0,125 has no thousands."""


def _grouped(separator: str, groups: str = "+") -> str:
    return f"{_FIRST}(?:{separator}[0-9]{{3}}){groups}"


_BLANKS, _APOSTROPHES = _grouped(_BLANK), _grouped(_APOSTROPHE)
_INDIAN = "[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
"""12,34,567: it shows that commas stand between digits, and is not read."""


def _proofs(mark: str, thousands: str, others: str) -> tuple[str, str]:
    """The numbers that have this decimal mark, and those of them with three decimals."""
    parted = f"(?:{thousands}|{_BLANKS}|{_APOSTROPHES})"
    three = f"(?:{parted}|0[0-9]*|[0-9]{{4,}})?{mark}[0-9]{{3}}"
    fewer_or_more = f"(?:{parted}|[0-9]*){mark}(?:[0-9]{{1,2}}|[0-9]{{4,}})"
    return f"(?:{fewer_or_more}|{others})", three


_WITH_POINT, _POINT_THREE = _proofs(
    r"\.", f"{_grouped(',')}|{_INDIAN}", f"{_grouped(',', '{2,}')}|{_INDIAN}"
)
_WITH_COMMA, _COMMA_THREE = _proofs(",", _grouped(r"\."), _grouped(r"\.", "{2,}"))
_SHOWS: Mapping[_Kind, str] = {
    "point": _WITH_POINT,
    "point 3": _POINT_THREE,
    "comma": _WITH_COMMA,
    "comma 3": _COMMA_THREE,
    "thousands": rf"{_grouped(',')}\.[0-9]+|{_grouped(',', '{2,}')}",
    "dots 0": rf"{_FIRST}\.[0-9]{{2}}0",
    "dots": rf"{_FIRST}\.[0-9]{{2}}[1-9]",
    "commas 0": f"{_FIRST},[0-9]{{2}}0",
    "commas": f"{_FIRST},[0-9]{{2}}[1-9]",
    "apostrophes": rf"{_APOSTROPHES}(?:[.,][0-9]+)?",
    "blanks": rf"{_BLANKS}(?:[.,][0-9]+)?",
    "short": "[0-9]{1,3}",
    "long": "[0-9]{4,}",
}
_OPEN: tuple[_Kind, ...] = ("dots", "dots 0", "commas", "commas 0")
_DOLLARS_OR_NONE = ("", "$", "USD")
"""The currencies of `Written` that are dollars, or not named."""
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _SHOWS.items()}
_QUICK: tuple[tuple[tuple[_Kind, ...], str], ...] = (
    (("point",), rf"(?:[0-9]+|{_grouped(',')})\.[0-9]{{1,2}}"),
    (("comma",), rf"(?:[0-9]+|{_grouped('[.]')}),[0-9]{{1,2}}"),
    (("short",), "[0-9]{1,3}"),
    (("long",), "[0-9]{4,}"),
    (("comma", "blanks"), _BLANKS + ",[0-9]{1,2}"),
    (("point", "apostrophes"), _APOSTROPHES + r"\.[0-9]{1,2}"),
    *(((kind,), _SHOWS[kind]) for kind in _OPEN),
    (("point 3",), _POINT_THREE),
    (("comma 3",), _COMMA_THREE),
)
"""The usual forms, which are looked for in all cells at once."""


@dataclass(frozen=True, slots=True)
class MarkEvidence:
    """What the cells of a column show of their decimal mark; that of parts is combined with `|`.

    Attributes:
        kinds: what was seen.
        shown: a cell for each of it.
    """

    kinds: frozenset[_Kind] = frozenset()
    shown: Mapping[_Kind, str] = field(default_factory=dict, compare=False)

    def __or__(self, other: MarkEvidence) -> MarkEvidence:
        """The evidence of two parts of a column, or of two columns."""
        return MarkEvidence(self.kinds | other.kinds, {**other.shown, **self.shown})

    def has(self, *kinds: _Kind) -> bool:
        """Whether any of these was seen."""
        return not self.kinds.isdisjoint(kinds)

    @property
    def proves(self) -> frozenset[DecimalMark]:
        """The decimal marks of which there is a proof."""
        proofs: dict[DecimalMark, tuple[_Kind, _Kind]] = {
            "point": ("point", "point 3"),
            "comma": ("comma", "comma 3"),
        }
        return frozenset(mark for mark, kinds in proofs.items() if self.has(*kinds))

    @property
    def mark(self) -> Mark:
        """How the column is written, by its own cells alone."""
        proves = self.proves
        dots, commas = self.has("dots", "dots 0"), self.has("commas", "commas 0")
        parted = self.has("apostrophes", "blanks")
        if proves:
            (mark, *others) = proves
            return "both" if others or self._has_odd_cells(mark) else mark
        if dots or commas:
            mixed = dots and commas and self.has("dots 0", "commas 0")
            return "both" if parted or mixed else "either"
        if parted:
            return "comma" if self.has("blanks") else "point"
        return "none"

    def _has_odd_cells(self, mark: DecimalMark) -> bool:
        """Whether cells could be read with this mark, but no program writes them beside the others.

        Such are 1.000 beside 12.50, 1,000 beside 12,50, and 1,000 beside 1'234.50.
        """
        if mark == "comma":
            return self.has("commas 0") and not self.has("comma 3")
        thousands = self.has("apostrophes", "blanks") and not self.has("thousands")
        return (self.has("dots 0") and not self.has("point 3")) or (
            thousands and self.has("commas", "commas 0")
        )

    def example(self, *kinds: _Kind) -> str:
        """A cell that shows one of these, the first of them that there is; else empty."""
        return next((self.shown[kind] for kind in kinds if kind in self.shown), "")


def evidence_of(column: pd.Series) -> MarkEvidence:
    """What the cells of a column, or of a part of it, show of their decimal mark.

    Only texts show any; numbers and missing cells do not.
    """
    text = _texts(column)
    shown: dict[_Kind, str] = {}
    for kinds, pattern in _QUICK:
        if not len(text):
            break
        hits = pc.match_substring_regex(text, rf"^-?\$?{pattern}$")
        found = _first(text, hits)
        if found is not None:
            shown |= {kind: found for kind in kinds if kind not in shown}
            if "point" in kinds and (grouped := _first(text, _with_commas(text, hits))):
                shown.setdefault("thousands", grouped)
            text = text.filter(pc.invert(hits))
    for cell in text.unique().to_pylist():
        number = written(cell)
        if number is not None:
            kinds_of = _kinds_of(number.digits)
            if number.currency not in _DOLLARS_OR_NONE:  # it is refused, however it is read
                kinds_of = [kind for kind in kinds_of if kind not in _OPEN]
            shown |= {kind: cell for kind in kinds_of if kind not in shown}
    return MarkEvidence(frozenset(shown), shown)


def _texts(column: pd.Series) -> pa.Array:
    """The texts among the cells, without the missing ones; of categories each one once."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _texts(pd.Series(column.cat.remove_unused_categories().cat.categories))
    if isinstance(dtype, pd.ArrowDtype):
        return _texts_of_arrow(pa.array(column.array))
    if not isinstance(dtype, pd.StringDtype):
        if not pd.api.types.is_object_dtype(dtype):
            return pa.array([], pa.large_string())
        if pd.api.types.infer_dtype(column, skipna=True) != "string":
            return pa.array([cell for cell in column if isinstance(cell, str)], pa.large_string())
    return pa.array(column, pa.large_string(), from_pandas=True).drop_null()


def _texts_of_arrow(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _texts_of_arrow(pc.cast(array.unique(), kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.concat_arrays(chunks_of(array)).drop_null()
    return pa.array([], pa.large_string())


def _first(text: pa.Array, hits: pa.Array) -> str | None:
    """The first of the texts that is hit."""
    place = pc.index(hits, pa.scalar(True)).as_py()  # noqa: FBT003 - Arrow's own argument
    return text[place].as_py() if place >= 0 else None


def _with_commas(text: pa.Array, hits: pa.Array) -> pa.Array:
    return pc.and_(hits, pc.match_substring(text, ","))


def _kinds_of(number: str) -> list[_Kind]:
    return [kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(number)]


@dataclass(frozen=True, slots=True)
class Marks:
    """How the columns of money of a file are written.

    Attributes:
        of: the mark with which each column is read; `either` where that is not decided.
        evidence: what the cells of each column show.
        semicolons: whether semicolons separate the cells of the file.
    """

    of: Mapping[Hashable, Mark]
    evidence: Mapping[Hashable, MarkEvidence]
    semicolons: bool

    @property
    def undecided(self) -> tuple[Hashable, ...]:
        """The columns about which the user is asked."""
        return tuple(label for label, mark in self.of.items() if mark == "either")

    def question(self) -> Question | None:
        """What is asked about the undecided columns; `None` where all are decided."""
        if not self.undecided:
            return None
        seen = MarkEvidence()
        for label in self.undecided:
            seen |= self.evidence[label]
        cell = seen.example("dots 0", "commas 0", "dots", "commas")
        listed = ", ".join(map(repr, self.undecided))
        why = f"in {listed} {cell!r} could be {_either(cell)} dollars"
        return Question(
            "decimal", self.undecided, ("point", "comma"), self._likely(seen), why, "decimal"
        )

    def _likely(self, seen: MarkEvidence) -> DecimalMark:
        """The mark that makes thousands of the groups, unless 1200 is written without one."""
        thousands: DecimalMark = "comma" if seen.has("dots", "dots 0") else "point"
        decimals: DecimalMark = "point" if thousands == "comma" else "comma"
        if seen.has("dots", "dots 0") and seen.has("commas", "commas 0"):
            return "comma" if self.semicolons else "point"
        return decimals if seen.has("long") else thousands

    def notes(self) -> list[str]:
        """How the columns are read, in sentences, where that is not plain from each cell."""
        notes = []
        for label, mark in self.of.items():
            seen = self.evidence[label]
            own = seen.mark
            if mark == "comma" and own != "none":
                cell = seen.example("dots 0", "dots", "comma", "comma 3", "commas 0", "commas")
                read = f": {cell!r} is {_in_dollars(cell, mark)}" if cell else ""
                notes.append(f"{label!r} is read with a decimal comma{read}")
            elif mark == "point" and own != "point" and seen.has("dots", "dots 0"):
                cell = seen.example("dots 0", "dots")
                read = f"{cell!r} is {_in_dollars(cell, mark)}"
                notes.append(f"{label!r} is read with a decimal point: {read}")
            elif mark == "both":
                example = seen.example("dots 0", "comma", "comma 3", "commas 0")
                other = seen.example("point", "point 3", "blanks", "apostrophes", "commas 0")
                notes.append(
                    f"{label!r}: cells such as {example!r} and {other!r} contradict each other on"
                    " the decimal mark; those that could be meant otherwise are not read"
                )
        return notes


def marks_of(
    columns: Mapping[Hashable, pd.Series | MarkEvidence],
    *,
    semicolons: bool = False,
    decimal: DecimalMark | None = None,
) -> Marks:
    """How the columns of money of a file are written, decided for all of them together.

    A column whose own cells leave it open is read as the other columns are. Where none of them
    decides, semicolons between the cells of the file make thousands of 1.000, and without them
    1,000 is a thousand, as in the United States.

    Args:
        columns: the columns of money, or what their cells show, where they are read in parts.
        semicolons: whether semicolons separate the cells of the file.
        decimal: what the user says of the columns whose cells leave it open or contradict.
    """
    evidence = {
        label: column if isinstance(column, MarkEvidence) else evidence_of(column)
        for label, column in columns.items()
    }
    proofs = frozenset[DecimalMark]().union(*(seen.proves for seen in evidence.values()))
    shared: DecimalMark | None = next(iter(proofs)) if len(proofs) == 1 else None
    open_ = MarkEvidence()
    for seen in evidence.values():
        open_ |= seen if seen.mark == "either" else MarkEvidence()
    by_file = _by_delimiter(open_, semicolons=semicolons) if not proofs else None
    marks: dict[Hashable, Mark] = {}
    for label, seen in evidence.items():
        mark = seen.mark
        if mark == "none":
            mark = decimal or shared or "point"
        elif mark == "both":
            mark = decimal or "both"
        elif mark == "either":
            mark = decimal or shared or by_file or "either"
            if (
                mark == "either"
                and not proofs
                and not semicolons
                and not seen.has("dots", "dots 0")
            ):
                mark = "point"
        marks[label] = mark
    return Marks(marks, evidence, semicolons)


def _by_delimiter(open_: MarkEvidence, *, semicolons: bool) -> DecimalMark | None:
    """What the separator of a file says of the columns that nothing else decides."""
    dots, commas = open_.has("dots", "dots 0"), open_.has("commas", "commas 0")
    return "comma" if semicolons and dots and not commas else None


class Written(NamedTuple):
    """An amount as it is written: its digits with their marks, its sign, and its currency.

    The currency is `$` or `USD` (also for US$) for dollars, and empty where none is named.
    """

    digits: str
    negative: bool
    currency: str


_AMOUNT = re.compile(
    rf"(?P<before>[^0-9]*?)(?P<digits>[.,]?[0-9](?:(?:[0-9.,]|{_APOSTROPHE}|\s)*[0-9])?)"
    r"(?P<after>[^0-9]*)"
)
_SIGNS = {("", ""): False, ("-", ""): True, ("", "-"): True, ("(", ")"): True}
_NO_SIGN = re.compile(r"[^-()]+")
_DOLLARS = ("$", "USD", "US$", "$US")


def written(text: str) -> Written | None:
    """The parts of an amount as accountants write it: $1,234.50, (15.00), 15.00-, USD 12.50.

    Returns:
        `None` where the text is no number with a sign and a currency.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    around = _around(found["before"], found["after"])
    return around and Written(found["digits"], *around)


@lru_cache(256)
def _around(before: str, after: str) -> tuple[bool, str] | None:
    """Whether what stands around a number makes it negative, and the currency that it names."""
    around = ["".join(side.split()) for side in (before, after)]
    negative = _SIGNS.get((_NO_SIGN.sub("", around[0]), _NO_SIGN.sub("", around[1])))
    if negative is None:
        return None
    words = [re.sub(r"[-()]", "", word) for word in around]
    foreign = [word for word in words if word and word.upper() not in _DOLLARS]
    if foreign:
        return (negative, foreign[0]) if _is_currency(foreign[0]) else None
    if all(words) and words[1].upper() != "USD":
        return None  # $12.50$, unlike $12.50 USD
    named = "".join(words)
    return negative, named if named in {"", "$"} else "USD"


_FOREIGN = re.compile(
    "AED|ARS|AUD|BDT|BGN|BHD|BRL|CAD|CHF|CLP|CNY|COP|CRC|CZK|DKK|DOP|EGP|EUR|GBP|GEL|GHS|GTQ|HKD"
    "|HRK|HUF|IDR|ILS|INR|ISK|JMD|JOD|JPY|KES|KRW|KWD|KZT|LBP|LKR|MAD|MXN|MYR|NGN|NOK|NZD|OMR|PEN"
    "|PHP|PKR|PLN|PYG|QAR|RMB|RON|RSD|RUB|SAR|SEK|SGD|THB|TND|TRY|TTD|TWD|TZS|UAH|UGX|UYU|VND|ZAR"
    r"|EUROS?|S?FR\.?|KR\.?|RS\.?|KČ|ZŁ|FT|LEI|[A-Z]{1,3}\$|\$[A-Z]{1,3}"
)
"""Codes and words of other currencies in capitals; symbols are known by their kind of character."""


def _is_currency(word: str) -> bool:
    symbols = {letter for letter in word if unicodedata.category(letter) == "Sc"} - {"$"}
    return bool(symbols) or _FOREIGN.fullmatch(word.upper()) is not None


class Unread(NamedTuple):
    """Why a text is no amount of dollars."""

    why: str


_READ: Mapping[DecimalMark, re.Pattern[str]] = {
    "point": re.compile(rf"(?:{_grouped(',')}|{_APOSTROPHES}|[0-9]+)?(?:\.[0-9]+)?"),
    "comma": re.compile(rf"(?:{_grouped('[.]')}|{_BLANKS}|{_APOSTROPHES}|[0-9]+)?(?:,[0-9]+)?"),
}
_PLAIN = re.compile(rf"(?:{_grouped(',')}|[0-9]+)?(?:\.[0-9]+)?")
_SHOWN = 40


def plain_number(text: str, mark: Mark) -> str | Unread:
    """The number of dollars in a text that is written so, with a decimal point and no separators.

    Where the mark is not decided, only what has one meaning in whole cents is read.
    """
    number = written(text)
    shown = text[:_SHOWN]
    if number is not None and number.currency not in _DOLLARS_OR_NONE:
        return Unread(f"in {number.currency[:20]}, not in US dollars")
    if mark in {"either", "both"}:
        return _of_doubtful(text, number)
    read: DecimalMark = "comma" if mark == "comma" else "point"
    if number is None or not _READ[read].fullmatch(number.digits):
        example = "12,50" if mark == "comma" else "12.50"
        return Unread(f"{shown!r} is not a number of dollars such as {example}")
    return _signed(number, read)


def _of_doubtful(text: str, number: Written | None) -> str | Unread:
    """A cell of a column whose decimal mark is not decided."""
    shown = text[:_SHOWN]
    kinds = frozenset(_kinds_of(number.digits)) if number else frozenset[_Kind]()
    if number is None or not kinds:
        return Unread(f"{shown!r} is not a number of dollars such as 12.50")
    if kinds & {"dots", "dots 0", "commas 0"}:
        return Unread(
            f"{shown!r} could be {_either(number.digits)}; say whether it has a decimal point or a"
            " decimal comma (decimal)"
        )
    plain = number.currency != "USD" and _PLAIN.fullmatch(number.digits)
    if not plain or kinds & {"comma", "comma 3"}:
        return Unread(
            f"{shown!r} stands in a column whose cells contradict each other on the decimal mark;"
            " write them alike, or say which one it is (decimal)"
        )
    return _signed(number, "point")


def _signed(number: Written, mark: DecimalMark) -> str:
    digits = re.sub(
        rf"{_BLANK}|{_APOSTROPHE}|{'[.]' if mark == 'comma' else ','}", "", number.digits
    )
    return f"{'-' if number.negative else ''}{digits.replace(',', '.')}"


def _either(cell: str) -> str:
    """What an amount is with either mark, in words."""
    return " or ".join(_in_dollars(cell, mark) for mark in get_args(DecimalMark))


def _in_dollars(cell: str, mark: DecimalMark) -> str:
    """The dollars of a cell that can be read with either mark, to the cent where it has cents."""
    number = written(cell)
    exact = Decimal(_signed(number, mark) if number else 0)
    cents = exact.quantize(Decimal("0.01"))
    return f"{cents if cents == exact else exact:,}"
