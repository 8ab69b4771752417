"""The layout of a sales file: what its columns were decided to mean, kept for next month's file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from svc_tools.base.atomic import whole_file
from svc_tools.config import DeliveryAs
from svc_tools.frames.orders.currencies import find_currency
from svc_tools.frames.orders.figures import money_table
from svc_tools.frames.orders.kinds import kind_of, may_be_money
from svc_tools.frames.orders.reading import Reading
from svc_tools.frames.orders.row_kinds import Reads, RowKind, find_kinds
from svc_tools.frames.orders.sums import Sums, Term, Witness
from svc_tools.lookup.options import (
    ROLES,
    DecimalMark,
    MoneyPart,
    RefundsAs,
    TaxOptions,
    names_where,
)
from svc_tools.tables.exports import recognized
from svc_tools.tables.roles import place_role, plain_name

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd

LAYOUT_VERSION = 1
MONEY_ARGUMENTS = ("amount", "shipping", *names_where(TaxOptions, "table"))
"""The arguments of a tax that decide what the amounts are: one of them decides them anew."""
FURTHER = (*names_where(TaxOptions, "column"), "refunds", "delivery")
"""The other arguments of a tax that a layout keeps."""

_Column = StrictStr
_ColumnOrNot = StrictStr | Literal[False]


class LayoutError(ValueError):
    """A layout cannot be read or saved, or does not fit a file."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Lookup(_Part):
    """Where the place and the day are: a column, or `False` for none."""

    state: _ColumnOrNot | None = None
    zip: _ColumnOrNot | None = None
    address: _ColumnOrNot | None = None
    city: _ColumnOrNot | None = None
    location: _ColumnOrNot | None = None
    lat: _ColumnOrNot | None = None
    lng: _ColumnOrNot | None = None
    country: _ColumnOrNot | None = None
    as_of: _ColumnOrNot | None = None
    date_format: StrictStr | None = None
    tz: StrictStr | None = None


class _Tax(_Part):
    """The arguments of the tax, as they were given."""

    amount: _Column | None = None
    shipping: _ColumnOrNot | None = None
    exempt: StrictStr | StrictBool | None = None
    taxable: StrictStr | StrictBool | None = None
    invoice: _ColumnOrNot | None = None
    channel: _ColumnOrNot | None = None
    ship_from: StrictStr | None = None
    once: list[_Column] | Literal[False] | None = None
    contains_tax: StrictBool | None = None
    contains_shipping: StrictBool | None = None
    parts: dict[_Column, MoneyPart] | None = None
    refunds: RefundsAs | None = None
    delivery: DeliveryAs | None = None
    order: _ColumnOrNot | None = None
    currency: _ColumnOrNot | None = None
    decimal: DecimalMark | None = None


class _Term(_Part):
    """A column in a sum."""

    column: _Column
    sign: Literal[1, -1] = 1
    times: _Column | None = None
    once: StrictBool = False
    head: StrictBool = False
    either_sign: StrictBool = False

    @classmethod
    def of(cls, term: Term) -> Self:
        return cls(
            column=term.label,
            sign=1 if term.sign > 0 else -1,
            times=term.times,
            once=term.once,
            head=term.head,
            either_sign=term.either_sign,
        )

    def term(self) -> Term:
        return Term(
            self.column,
            self.sign,
            self.times,
            once=self.once,
            head=self.head,
            either_sign=self.either_sign,
        )


_SUMS = ("goods", "delivery", "tax", "others", "outside")


class _Sums(_Part):
    """Goods, delivery and tax, and the total that they add up to."""

    decided_by: Witness
    by_order: StrictBool = False
    goods: Annotated[list[_Term], Field(min_length=1)]
    delivery: list[_Term] = []
    tax: list[_Term] = []
    others: list[_Term] = []
    outside: list[_Term] = []
    total: _Term | None = None


class _KindColumn(_Part):
    """A column of a status or a type."""

    column: _Column
    reads: Reads
    means: RowKind = "no sale"
    invoices: StrictBool = False
    ledger: StrictBool = False


class _Reading(_Part):
    """What the columns mean."""

    order: _Column | None = None
    day: _Column | None = None
    order_place: list[_Column] = []
    country: _Column | None = None
    currency: _Column | None = None
    refunded: _Column | None = None
    decimal: DecimalMark | None = None
    weak: list[_Column] = []
    place: dict[StrictStr, _Column] = {}
    kinds: list[_KindColumn] = []
    sums: _Sums | None = None


class _Columns(_Part):
    """The columns that were there."""

    all: list[_Column]
    zero: list[_Column] = []


class _File(_Part):
    """A layout as it stands in a file."""

    version: StrictInt
    export: StrictStr | None = None
    lookup: _Lookup = _Lookup()
    for_all_rows: dict[StrictStr, StrictStr] = {}
    tax: _Tax = _Tax()
    reading: _Reading | None = None
    columns: _Columns


@dataclass(frozen=True, slots=True, repr=False)
class SalesLayout:
    """What the columns of a sales file were decided to mean, to read the next file by.

    `frame.svc.layout()` gives that of a frame; `save` writes it to a file that people can read and
    edit, `SalesLayout.read` reads it; `layout=` of `lookup`, `tax` and `enrich_file` takes both.
    """

    _held: _File

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SalesLayout:
        """The layout in a file.

        Raises:
            LayoutError: the file is none; it names the key.
            OSError: the file cannot be read.
        """
        name = Path(path).name
        try:
            plain = tomllib.loads(Path(path).read_bytes().decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LayoutError(f"{name} is no layout: {error}") from error
        version = plain.get("version")
        if isinstance(version, int) and version > LAYOUT_VERSION:
            raise LayoutError(
                f"{name} is a layout of version {version}, which a newer release wrote; this one"
                f" reads version {LAYOUT_VERSION}: update svc-tools, or save the layout again"
            )
        if version != LAYOUT_VERSION:
            raise LayoutError(
                f"{name} is no layout: version: expected {LAYOUT_VERSION}, not {version!r}"
            )
        return cls(_checked(plain, name))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the layout to a file, which replaces one of that name.

        Raises:
            OSError: the file cannot be written.
        """
        target = Path(path)
        with whole_file(target) as draft:
            draft.write_text(str(self), encoding="utf-8", newline="\n")
        return target

    def __str__(self) -> str:
        """The layout as it stands in a file."""
        return _HEAD + _written(self._held.model_dump(exclude_none=True, exclude_defaults=True))

    def __repr__(self) -> str:
        """The layout as it stands in a file."""
        return str(self)

    @property
    def export(self) -> str | None:
        """The export that the columns were recognized as."""
        return self._held.export

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were there."""
        return tuple(self._held.columns.all)

    @property
    def zero(self) -> tuple[str, ...]:
        """The columns of money that were 0.00 or empty throughout."""
        return tuple(self._held.columns.zero)

    @property
    def has_amounts(self) -> bool:
        """Whether it says what the amounts are."""
        reading = self._held.reading
        return self._held.tax.amount is not None or (reading is not None and bool(reading.sums))

    @property
    def reading(self) -> Reading:
        """What the columns mean."""
        return _reading_from(self._held.reading or _Reading())

    def of_lookup(self) -> dict[str, Any]:
        """The arguments of the lookup; `False` for what has no column."""
        held = self._held.lookup.model_dump(exclude_none=True)
        held |= self._held.for_all_rows
        if self.export is None:
            held = {role: False for role in ROLES if role != "as_of"} | held
        return held

    def of_tax(self) -> dict[str, Any]:
        """The arguments of the tax."""
        return self._held.tax.model_dump(exclude_none=True)

    def check(
        self, labels: Sequence[Hashable], used: Iterable[object] = (), *, amounts: bool
    ) -> None:
        """Refuse a file that lacks a column which the layout reads.

        Args:
            labels: the columns that are the user's own.
            used: the arguments, of the layout or instead of those: a column that none of them
                names is not needed.
            amounts: whether those of the amounts are read, too.

        Raises:
            LayoutError: it names the columns.
        """
        export = recognized([*labels])
        found = None if export is None else export.name
        if found != self.export:
            known = found or "no known export"
            raise LayoutError(
                f"the layout is of {self.export or 'a file that is no known export'}, and these"
                f" columns are those of {known}: leave the layout out, and save a new one"
            )
        there, read = {*labels}, [*used]
        needed = self._of_amounts() if amounts else self._of_places()
        missing = [label for label in needed if label not in there and (amounts or label in read)]
        if missing:
            named = ", ".join(map(repr, missing))
            raise LayoutError(
                f"the layout reads columns that are not in the file: {named}. Where they have other"
                " names now, change them in the layout; else leave the layout out, and save a new"
                " one"
            )

    def _of_places(self) -> list[str]:
        """The columns of the place and the date."""
        held = self._held.lookup.model_dump(include={*ROLES})
        return [label for label in dict.fromkeys(held.values()) if label in self.columns]

    def _of_amounts(self) -> list[str]:
        """The columns of the amounts, and the others that a tax reads."""
        tax, reading = self._held.tax, self.reading
        named: list[object] = [tax.amount, tax.shipping, tax.exempt, tax.taxable, tax.invoice]
        named += [tax.channel, tax.order, tax.currency, *(tax.once or ()), *(tax.parts or ())]
        places = {reading.country, reading.orders.day, *reading.orders.place}
        named += [label for label in reading.columns if label not in places]
        return [
            label
            for label in dict.fromkeys(named)
            if isinstance(label, str) and label in self.columns
        ]

    def new(self, frame: pd.DataFrame, labels: Iterable[Hashable]) -> list[str]:
        """Which columns that matter are new since it was saved, in sentences.

        Args:
            frame: the rows, or the first of them.
            labels: the columns that are the user's own.
        """
        there = {*self.columns}
        new = [label for label in labels if label not in there]
        kinds = find_kinds(frame, new)
        found: dict[Hashable, str] = {}
        if new:
            currencies = find_currency(frame[new])
            for label in (currencies.used, *(label for label, _ in currencies.not_used)):
                found |= {label: "a currency"} if label is not None else {}
        named = [label for label in new if "currency" in plain_name(label).split("_")]
        found |= dict.fromkeys(named, "a currency")
        found |= dict.fromkeys([*kinds.labels, *(label for label, _ in kinds.not_used)], "a status")
        money = money_table(frame, [label for label in new if label not in found])
        found |= dict.fromkeys([*money.columns, *money.zero], "money")
        places = [(label, of) for label in new if label not in found and (of := place_role(label))]
        found |= {label: f"a {_IN_WORDS.get(role, role)}" for label, (role, _) in places}
        return [
            f"{label!r} ({what}) is new since the layout was saved, and is not used"
            for label, what in found.items()
        ]

    def gone(self, labels: Iterable[Hashable]) -> list[str]:
        """Which columns of money that it does not need are missing, in sentences."""
        there, zero = {*labels}, {*self.zero}
        return [
            f"{label!r} of the layout is not in the file; it was 0.00 throughout"
            for label in self.columns
            if label in zero and label not in there
        ]

    def no_longer_zero(self, frame: pd.DataFrame) -> dict[Hashable, int]:
        """How many rows of the columns that were 0.00 throughout are not; only those with some."""
        there = [label for label in self.zero if label in frame.columns]
        marks = {} if self._held.reading is None else self.reading.marks
        table = money_table(frame, there, marks, named=there)
        return {
            label: int(np.count_nonzero(column.cents)) or int(column.filled.sum())
            for label, column in table.columns.items()
        }


_IN_WORDS = {"zip": "ZIP Code", "lat": "latitude", "lng": "longitude", "address": "street address"}
_HEAD = """\
# A layout of svc-tools: what the columns of a sales file mean. The next file is read by it with
#   svc-tools enrich FILE -o OUT --layout THIS_FILE
# Columns are named as the file names them. docs/ENRICH.md, "Layouts", says what each part holds.

"""


def as_layout(given: object) -> SalesLayout:
    """A layout that is given, or read from the file of this name.

    Raises:
        LayoutError: the file is none.
        OSError: the file cannot be read.
        TypeError: it is neither.
    """
    if isinstance(given, SalesLayout):
        return given
    if not isinstance(given, str | Path) and not hasattr(given, "__fspath__"):
        raise TypeError(
            "layout: expected the path of a layout, or what df.svc.layout() returns, not"
            f" {type(given).__name__}"
        )
    return SalesLayout.read(given)


def filled(arguments: Mapping[str, Any], *, of_tax: bool) -> dict[str, Any]:
    """Arguments of a lookup or a tax with those of their layout, which they override.

    What decides the amounts is not filled in here: `amounts_of_tax` reads that from the layout.
    """
    given = dict(arguments)
    if given.get("layout") is None:
        return given
    layout = given["layout"] = as_layout(given["layout"])
    held = layout.of_tax() if of_tax else layout.of_lookup()
    names = FURTHER if of_tax else held
    return given | {name: held[name] for name in names if name in held and given.get(name) is None}


def layout_of_file(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    lookup: Mapping[str, Any],
    values: Mapping[str, object],
    *,
    tax: Mapping[str, Any],
    reading: Reading,
    zero: Iterable[Hashable] | None = None,
) -> SalesLayout:
    """The layout of a file.

    Args:
        frame: the rows; those of a part of it where `zero` is given.
        labels: the columns that are the user's own.
        lookup: the columns of the lookup by role, `date_format` and `tz`.
        values: what of the lookup is one value for all rows.
        tax: the arguments of the tax that were given.
        reading: what the columns mean.
        zero: the columns of money that are 0 throughout.

    Raises:
        LayoutError: the name of a column is no text.
    """
    odd = [label for label in labels if not isinstance(label, str)]
    if odd:
        raise LayoutError(
            f"a layout holds the names of columns, and {odd[0]!r} is no text: give the columns"
            " names first"
        )
    if zero is None:
        zero = zero_columns(frame, labels, reading)
    kept = {
        name: _kept(value) for name, value in tax.items() if name in (*MONEY_ARGUMENTS, *FURTHER)
    }
    plain = {
        "version": LAYOUT_VERSION,
        "export": reading.export and reading.export.name,
        "lookup": dict(lookup),
        "for_all_rows": {role: str(value) for role, value in values.items()},
        "tax": {name: value for name, value in kept.items() if value is not None},
        "reading": None if reading.export is not None else _reading_of(reading),
        "columns": {"all": [*labels], "zero": [*zero]},
    }
    return SalesLayout(_checked(plain, "layout"))


def zero_columns(
    frame: pd.DataFrame, labels: Iterable[Hashable], reading: Reading
) -> tuple[Hashable, ...]:
    """The columns of money that are 0 or empty throughout, and take no part."""
    used = {*reading.columns}
    free = [label for label in labels if label not in used and may_be_money(label)]
    known = [label for label in free if kind_of(label) not in {"unknown", "quantity", "payment"}]
    return money_table(frame, known, reading.marks, named=known).zero


def _kept(value: object) -> object:
    """An argument as a file can hold it."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    return [*value] if isinstance(value, list | tuple) else str(value)


def _reading_of(reading: Reading) -> dict[str, Any]:
    """A reading as the plain values that a layout is saved as; `_reading_from` is its inverse."""
    sums, orders = reading.sums, reading.orders
    plain: dict[str, Any] = {
        "order": orders.number,
        "day": orders.day,
        "order_place": [*orders.place],
        "country": reading.country,
        "currency": reading.currency,
        "refunded": reading.refunded,
        "decimal": reading.decimal,
        "weak": [*reading.weak],
        "place": dict(reading.place),
        "kinds": [
            _KindColumn(
                column=column.label,
                reads=column.reads,
                means=column.means,
                invoices=column.invoices,
                ledger=column.ledger,
            )
            for column in reading.kinds.used
        ],
    }
    if sums is not None:
        terms = {name: [_Term.of(term) for term in getattr(sums, name)] for name in _SUMS}
        total = None if sums.total is None else _Term.of(sums.total)
        how = {"decided_by": sums.witness, "by_order": sums.by_order, "total": total}
        plain["sums"] = how | terms
    return plain


def _reading_from(held: _Reading) -> Reading:
    """The reading that a saved layout holds."""
    plain: dict[str, Any] = {
        "orders": [held.order, held.day, *held.order_place],
        "country": held.country,
        "currency": held.currency,
        "refunded": held.refunded,
        "decimal": held.decimal,
        "weak": held.weak,
        "place": [[*pair] for pair in held.place.items()],
        "kinds": [
            {"label": column.column, **column.model_dump(exclude={"column"})}
            for column in held.kinds
        ],
    }
    reading = Reading.from_plain(
        {name: value for name, value in plain.items() if value is not None}
    )
    if held.sums is None:
        return reading
    sums = held.sums
    terms = {name: tuple(term.term() for term in getattr(sums, name)) for name in _SUMS}
    total = None if sums.total is None else sums.total.term()
    made = Sums(**terms, total=total, by_order=sums.by_order, witness=sums.decided_by)
    return reading.with_sums(made)


def _checked(plain: Mapping[str, Any], name: str) -> _File:
    """What a file holds.

    Raises:
        LayoutError: it names the first key that is not as expected.
    """
    try:
        return _File.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise LayoutError(f"{name} is no layout: {key}: {first['msg'].lower()}") from error


def _written(plain: Mapping[str, Any]) -> str:
    """Plain values as TOML: values first, then tables, each with the names above it."""
    return "\n".join([*_lines(plain, ()), ""])


def _lines(plain: Mapping[str, Any], above: tuple[str, ...]) -> list[str]:
    lines = [
        f"{_key(name)} = {_value(value)}" for name, value in plain.items() if not _is_table(value)
    ]
    for name, value in plain.items():
        if _is_table(value):
            path = (*above, name)
            lines += ["", f"[{'.'.join(map(_key, path))}]", *_lines(value, path)]
    return lines


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _value(value: Any) -> str:  # noqa: ANN401 - whatever a file holds
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        each = [_value(item) for item in value]
        line = f"[{', '.join(each)}]"
        return (
            line if len(line) <= _WIDTH else "\n".join(["[", *(f"  {text}," for text in each), "]"])
        )
    # texts, truth values and whole numbers are in TOML as in JSON, which leaves DEL as it is
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_WIDTH = 90


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalnum() else _value(name)
