"""The columns of a table of sales: which one means what, and how dates and order numbers are read.

A column that is not named is found by the usual names. Where several fit, it is an error that
lists them: sales summed from the wrong column look right.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.added.names import columns_of_lookups, require_one
from svc_tools.frames.lookup.columns import (
    country_of_frame,
    date_kind_of,
    free_labels,
    is_label,
    one_value,
    propose,
    require_flat,
    used_notes,
)
from svc_tools.frames.lookup.queries import factorized
from svc_tools.frames.lookup.results import reading_of
from svc_tools.frames.options import answers_of
from svc_tools.frames.orders.deciding import (
    Decided,
    SalesAnswers,
    money_of_file,
    require_answers,
    rows_of_file,
)
from svc_tools.frames.orders.named import read_named, reading_with_orders
from svc_tools.frames.orders.reading import Reading, lines_of_export, reading_of_export
from svc_tools.frames.orders.sums import Sums
from svc_tools.frames.taxes.amounts import rates_known, refuse_answers, sample_of
from svc_tools.frames.values.arrow import is_text
from svc_tools.tables.countries import Country
from svc_tools.tables.dates import NoDate
from svc_tools.tables.exports import recognized
from svc_tools.tables.roles import PLACES, ColumnAmbiguous, ColumnMissing, Role, find, single

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_tools.frames.lookup.queries import Days
    from svc_tools.frames.options import ExposureOptions
    from svc_tools.frames.orders.sums import Term
    from svc_tools.tables.dates import Day
    from svc_tools.tables.exports import Export

_ROLES = ("amount", "date", "state", "channel", "retail", "taxable", "order", "country")
AMOUNT_PARTS = ("retail", "taxable")
"""Parts of the amount of a sale."""
_ORDER = r"(?:order|invoice|sale|transaction|receipt|document)"
_USUAL = [
    Role(name, re.compile(usual))
    for name, usual in {
        "amount": r"(?:amount|sales?|sales?_amount|(?:order|line|item|invoice|net|gross)_amount"
        r"|gross(?:_sales?)?|net_sales?|sub_?total|revenue|extended_price)(?:_usd)?",
        "channel": r"(?:sales?_)?channel",
        "retail": r"retail(?:_(?:sales?|amount))?",
        "taxable": r"taxable(?:_(?:sales?|amount))?",
        "order": rf"{_ORDER}(?:_?(?:id|no|nr|number|num|key))|{_ORDER}_name|txn_id|order",
    }.items()
]
_AMOUNT = _USUAL[0]
_NEEDED = ("date", "state")


@dataclass(frozen=True, slots=True)
class SalesColumns:
    """The columns and values of a table of sales.

    Attributes:
        columns: labels of columns, by role.
        values: one value for all rows, by role.
        notes: what was decided by default, in sentences.
        reading: what the columns mean.
        read: the labels of all columns that are read.
        parts: the columns of parts of the amount, by role.
    """

    columns: Mapping[str, Hashable]
    values: Mapping[str, object]
    notes: tuple[str, ...]
    reading: Reading = field(default_factory=Reading)
    read: tuple[Hashable, ...] = ()
    parts: Mapping[str, Term] = field(default_factory=dict)


def find_sales_columns(
    frame: pd.DataFrame, options: ExposureOptions, *, semicolons: bool = False
) -> SalesColumns:
    """Find the columns of the date, the state and the optional roles, and what the amounts are.

    Args:
        frame: the sales, or the first rows of them.
        options: what is named. Of a role it is a column's label, or for state and channel one
            value for all rows; `None` looks for a column of a usual name, `False` means none.
        semicolons: whether semicolons separate the cells of the file.

    Raises:
        ValueError: a column is missing, several could be meant, or a required one is not found.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
        ColumnAmbiguous: the columns leave open what the amounts are; it has all questions.
    """
    require_flat(frame)
    given = {role: getattr(options, role) for role in _ROLES}
    columns, values = _as_named(frame, given)
    labels = free_labels(frame)
    export = recognized(labels)
    open_roles = {role for role in _ROLES if given.get(role) is None}
    if export is not None:
        columns |= _of_export(export, labels, open_roles)
        if "channel" in open_roles and export.marketplace:
            values["channel"] = "marketplace"
        open_roles -= {*columns, *values, *AMOUNT_PARTS}
    free = [label for label in labels if label not in columns.values()]
    columns |= _found(frame, free, open_roles)
    country = _country(frame, columns) if "country" in open_roles else Country()
    columns |= country.found
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
    money = _money(frame, labels, columns, options, semicolons=semicolons)
    columns["amount"] = money.amount
    read = [*columns.values(), *(() if export is None else export.used(labels))]
    read += [label for label in money.reading.columns if label in frame.columns]
    notes = (
        *_notes(columns, values, money.reading),
        *money.notes,
        *_default_notes(columns, values),
        *(() if export else country.notes),
    )
    return SalesColumns(
        columns, values, notes, money.reading, tuple(dict.fromkeys(read)), money.parts
    )


class _Money(NamedTuple):
    """What the amounts of a table of sales are."""

    amount: Hashable
    reading: Reading
    parts: dict[str, Term]
    notes: tuple[str, ...] = ()


def _money(
    frame: pd.DataFrame,
    labels: list[Hashable],
    columns: dict[str, Hashable],
    options: ExposureOptions,
    *,
    semicolons: bool,
) -> _Money:
    """Gross sales: the amount named, else goods and delivery as they are decided.

    Raises:
        ColumnAmbiguous: something is open; it has all questions.
        ColumnMissing: no column holds amounts.
    """
    named = {role: columns[role] for role in AMOUNT_PARTS if role in columns}
    others = [label for role, label in columns.items() if role not in {"amount", "order"}]
    answers = answers_of(options, others)
    export = recognized(labels)
    if export is not None and (options.amount is not None or export.found_amount(labels)):
        refuse_answers(export, options)
        reading = _reading_of(export, labels, options.amount)
        decided = Decided(replace(reading, refunds=options.refunds))
    else:
        decided = _decided(frame, labels, columns, answers, semicolons=semicolons)
    reading, asked = decided.reading, [*decided.questions]
    terms: dict[Hashable, Term] = {}
    if named:
        sample = sample_of(frame, reading)
        found = read_named(
            sample, labels, reading, [*named.values()], answers, semicolons=semicolons
        )
        reading, terms = found.reading, found.terms
        known = {question.argument for question in asked}
        asked += [
            question for question in found.questions if question.argument not in known | {"refunds"}
        ]
    if asked:
        raise ColumnAmbiguous.of(asked, call="exposure")
    if reading.order is not None and "order" not in columns and options.order is None:
        columns["order"] = reading.order
    if reading.sums is None:
        raise ColumnMissing("amount", list(frame.columns))
    parts = {role: terms[label] for role, label in named.items()}
    return _Money(reading.sums.goods[0].label, reading, parts, decided.notes)


def _decided(
    frame: pd.DataFrame,
    labels: list[Hashable],
    columns: dict[str, Hashable],
    answers: SalesAnswers,
    *,
    semicolons: bool,
) -> Decided:
    """What the amounts of a file are that is no known export.

    Raises:
        ColumnMissing: an answer names a column that is not there.
    """
    once = single(labels)
    free = frozenset(once)
    twice = [label for label in labels if label not in free and _AMOUNT.fits(label)]
    if twice and answers.amount is None:
        raise ColumnAmbiguous("amount", twice)
    require_answers(frame, answers)
    labels = once
    rows = _looked_up(frame)
    reading = Reading() if rows is None else reading_of(rows)
    if reading.sums is not None and answers == SalesAnswers(others=answers.others):
        return Decided(reading, (_AS_TAXED,))  # as its tax has read them
    roles = {"state": "state", "country": "country", "date": "as_of"}
    named = {to: columns[of] for of, to in roles.items() if columns.get(of) in labels}
    if not reading.place:
        place = {role: label for role, label in propose(frame).found.items() if role != "as_of"}
        reading = rows_of_file(frame, labels, {**place, **named}, order=answers.order)
    elif answers.order is not None:
        reading = reading_with_orders(frame, labels, reading, named, answers.order)
    reading = replace(reading, country=columns.get("country"))
    sample = sample_of(frame, reading)
    rates = None if rows is None else rates_known(Enriched(sample, rows.prefix))
    decided = money_of_file(sample, labels, reading, answers, rates=rates, semicolons=semicolons)
    if decided.reading.sums is None and not decided.questions and answers.amount is None:
        usual = [label for label in _AMOUNT.candidates(labels) if label not in answers.others]
        if len(usual) > 1:
            raise ColumnAmbiguous("amount", usual)
        if usual:  # nothing in it can be read, which its rows say
            answers = replace(answers, amount=usual[0])
            decided = money_of_file(sample, labels, reading, answers, semicolons=semicolons)
    return decided


def _looked_up(frame: pd.DataFrame) -> Enriched | None:
    """The rows with the columns of their first lookup; `None` without one."""
    added, ending = columns_of_lookups(frame), "lookup_status"
    status = (
        str(label) for label in frame.columns if str(label).endswith(ending) and label in added
    )
    first = next(status, None)
    return None if first is None else Enriched(frame, first.removesuffix(ending))


_AS_TAXED = "the amounts are read as the tax of the frame has read them"


def _of_export(export: Export, labels: list[Hashable], wanted: set[str]) -> dict[str, Hashable]:
    """The column of each wanted role, as the export has it."""
    found = export.found(labels)
    roles = {"date": "as_of", "state": "state", "channel": "channel", "order": "order"}
    roles["country"] = "country"
    return {role: found[name] for role, name in roles.items() if role in wanted and name in found}


def _reading_of(export: Export, labels: list[Hashable], given: Hashable | None) -> Reading:
    """Gross sales: the amount given, else that of the export with the delivery."""
    reading = reading_of_export(export, labels)
    if given is None:  # lines of gift cards and tips are no sales; the others are, taxable or not
        reading = replace(reading, lines=lines_of_export(export, labels))
    if given is not None and reading.sums is None:
        return replace(reading, sums=Sums((reading.term(given),), witness="given"))
    return reading if given is None else reading.with_amounts(given, delivery=False)


def _as_named(
    frame: pd.DataFrame, given: Mapping[str, object]
) -> tuple[dict[str, Hashable], dict[str, object]]:
    """The columns and the values for all rows that are given."""
    columns: dict[str, Hashable] = {}
    values: dict[str, object] = {}
    for role in _ROLES:
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
    wanted = wanted - {"amount"}
    roles = [role for role in (*_USUAL, PLACES["state"]) if role.name in wanted]
    usual = find(free, roles)
    for problem in usual.problems:
        if problem.role != "order":  # then rows are counted, as a note explains
            raise problem
    found = usual.columns
    if "date" in wanted:
        dates = _dates(frame, free)
        if len(dates) > 1:
            raise ColumnAmbiguous("date", dates)
        found |= dict(zip(["date"], dates, strict=False))
    return {role: found[role] for role in _ROLES if role in found}


def _country(frame: pd.DataFrame, columns: Mapping[str, Hashable]) -> Country:
    """The column of countries; a lookup that was made before has asked about it already."""
    labels = free_labels(frame)
    place = {"state": columns["state"]} if columns.get("state") in labels else {}
    zips = PLACES["zip"].candidates(labels)
    place |= {"zip": zips[0]} if len(zips) == 1 else {}
    country = country_of_frame(frame, labels, place)
    if country.problem is not None and "lookup_status" not in columns_of_lookups(frame):
        raise country.problem
    return country


def _dates(frame: pd.DataFrame, free: list[Hashable]) -> list[Hashable]:
    kinds = {
        label: date_kind_of(label, column)
        for label, column in frame.items()
        if label in free and isinstance(column, pd.Series)
    }
    sales = [label for label, kind in kinds.items() if kind == "sale"]
    return sales or [label for label, kind in kinds.items() if kind == "other"]


def _notes(
    columns: Mapping[str, Hashable], values: Mapping[str, object], reading: Reading
) -> tuple[str, ...]:
    goods, delivery = reading.in_words()
    plain = {role: label for role, label in columns.items() if role != "amount"}
    notes = used_notes(plain, values, reading.export)
    if reading.export is not None:
        of_delivery = f" with the delivery, {delivery}" if delivery else ""
        notes.append(f"amount from {goods}{of_delivery}")
    return tuple(notes)


def _default_notes(columns: Mapping[str, Hashable], values: Mapping[str, object]) -> list[str]:
    """What counts where no column says it."""
    notes = []
    if "channel" not in columns and "channel" not in values:
        notes.append(
            "no column has the channel: all sales count as direct sales; name the column of"
            " channels if there is one"
        )
    if "order" not in columns:
        notes.append(
            "each row counts as one transaction; name the column of order numbers if there is one"
        )
    return notes


_EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = (day.toordinal() - _EPOCH for day in (date(2000, 1, 1), date(2099, 12, 31)))
"""Days outside this range are taken for mistakes."""
_MISSING = "date: missing"
_ODD = "date: not between 2000 and 2099"


def days_of_rows(column: pd.Series, read: Days) -> tuple[np.ndarray, UnreadCells]:
    """Days since 1970-01-01 (0 where a row has none), and why rows have none."""
    days, reasons = np.zeros(len(read.each), np.int64), list[str]()
    why_of = np.zeros(len(days), np.int64)
    for at, day in enumerate(read.each):
        if isinstance(day, date):
            days[at] = day.toordinal() - _EPOCH
        why = _why(day)
        if why:
            if why not in reasons:
                reasons.append(why)
            why_of[at] = reasons.index(why) + 1
    unread, of_rows = UnreadCells(len(column)), why_of[read.codes]
    for number, why in enumerate(reasons, 1):
        rows = np.flatnonzero(of_rows == number)
        unread.add_rows(rows, why, None if why == _MISSING else column.iloc)
    return np.where(why_of == 0, days, 0)[read.codes], unread


def _why(day: Day) -> str:
    """Why a cell's sale cannot be counted; empty where it can."""
    if isinstance(day, NoDate):
        return f"date: {day.why}"
    if day is None:
        return _MISSING
    return "" if FIRST_DAY <= day.toordinal() - _EPOCH <= LAST_DAY else _ODD


def hashes_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row's order (uint64), equal for equal names, and which rows have none."""
    if pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
        return _mixed(column.to_numpy(np.int64).view(np.uint64)), np.zeros(len(column), bool)
    if is_text(column):
        texts = pa.array(column, pa.large_string(), from_pandas=True)
        names = pc.fill_null(pc.utf8_trim_whitespace(texts), "")
        unnamed = pc.equal(names, "").to_numpy(zero_copy_only=False)
        return pd.util.hash_array(names.to_numpy(zero_copy_only=False), categorize=False), unnamed
    codes, values = factorized(column)
    names = [
        "" if isinstance(value, float) and value != value else _name(value)  # noqa: PLR0124 - NaN
        for value in values
    ]
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


class UnreadCells:
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
