"""The columns of a report: the user's, without personal ones unless named, then the added ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from svc_tools.frames.added.names import require_columns
from svc_tools.frames.lookup.row_states import inputs_of
from svc_tools.frames.reports.xlsx import Column, column_kind, is_missing
from svc_tools.frames.values.arrow import MONEY, Coded, coded, combined, decimals
from svc_tools.frames.values.money import dollars, money
from svc_tools.lookup.columns import ADDED_COLUMNS, COLUMNS, RATES, SALE_COLUMNS
from svc_tools.show.display import plain
from svc_tools.tables.exports import recognized
from svc_tools.tables.roles import is_personal

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.added.enriched import Enriched

_MAIN = tuple(
    name
    for name in ADDED_COLUMNS
    if name in {"combined_rate", "tax", "tax_due", "lookup_status", "confidence", *SALE_COLUMNS}
    or name in {"at_stake", "warnings"}
)
"""The added columns that follow the user's on the sheet Lines, and are printed."""
_MONEY = tuple(column.name for column in COLUMNS if column.form == "money")
_MOST_NAMED = 40
"""Columns left out that are named; of the others the number is."""


class Choice(NamedTuple):
    """The user's columns that a report shows, and those that it leaves out.

    Attributes:
        shown: the labels of columns, and names of levels of the index, in order; added columns are
            among them where they were named.
        left_out: the user's others.
        private: the personal ones among those.
        named: whether the columns were named.
    """

    shown: tuple[Hashable, ...]
    left_out: tuple[Hashable, ...]
    private: frozenset[Hashable]
    named: bool

    @classmethod
    def of(cls, rows: Enriched, columns: Sequence[Hashable] | None) -> Choice:
        """The columns named; without, all of the user's that are not personal.

        Raises:
            TypeError: the columns are not a list.
            ValueError: there is no such column.
        """
        frame, added = rows.frame, {*map(rows.label, ADDED_COLUMNS)}
        every = (*_index_names(frame), *frame.columns)
        own = [label for label in dict.fromkeys(every) if label not in added]
        personal = _personal_of(rows, own)
        if columns is None:
            shown = tuple(label for label in own if label not in personal)
        elif isinstance(columns, str) or not isinstance(columns, Iterable):
            raise TypeError(
                f"columns: expected a list of columns, such as ['order_id', 'amount'], not"
                f" {columns!r}"
            )
        else:
            shown = tuple(dict.fromkeys(columns))
            of_frame = tuple(label for label in shown if label not in every[: -len(frame.columns)])
            require_columns(frame, of_frame, "name columns of the frame: columns=['…', '…']")
        left_out = tuple(label for label in own if label not in shown)
        return cls(shown, left_out, personal.difference(shown), columns is not None)

    @property
    def sentence(self) -> str:
        """Which columns are left out, and how to include them; empty where none is."""
        if not self.left_out:
            return ""
        names = ", ".join(plain(label) for label in self.left_out[:_MOST_NAMED])
        more = len(self.left_out) - _MOST_NAMED
        listed = f"{names} and {more:,} more" if more > 0 else names
        if self.named:
            return f"Columns left out, as requested: {listed}."
        return (
            f"Columns left out as personal: {listed}. To show one, name every column to show:"
            " report(…, columns=[…]), or --report-columns on the command line."
        )


def _personal_of(rows: Enriched, labels: Iterable[Hashable]) -> frozenset[Hashable]:
    """The personal ones among these columns, and the street address that the lookup used."""
    columns = rows.frame.columns
    export = recognized(columns)
    order = None if export is None else export.found(columns).get("order")
    street = _street(rows)
    return frozenset(
        label for label in labels if label == street or (is_personal(label) and label != order)
    )


def _street(rows: Enriched) -> Hashable | None:
    return inputs_of(rows).columns.get("address")


_QUOTED = re.compile(r"""(['"])(.+?)\1""")
_SHORTEST = 4
"""Characters of an address from which on a quotation is recognized as one of it."""


def without_quotes(rows: Enriched, choice: Choice) -> Enriched:
    """The rows, without the street addresses that `lookup_error` quotes if they are left out."""
    street = _street(rows)
    if street not in choice.private or not rows.has("lookup_error"):
        return rows
    codes, cells = combined([rows.coded("lookup_error"), coded(rows.frame, street)])
    texts = [_without(error, address) for error, address in cells]
    if texts == [error for error, _ in cells]:
        return rows
    return rows.with_texts("lookup_error", Coded(codes, tuple(texts)))


def _without(error: str, address: str) -> str:
    """An error without its quotations of an address, whole or shortened."""
    plain_address = " ".join(address.split())

    def shown(found: re.Match[str]) -> str:
        quoted = " ".join(found[2].removesuffix("\u2026").split())
        same = min(len(quoted), len(plain_address))
        quotes = same >= _SHORTEST and quoted[:same] == plain_address[:same]
        return "(not shown)" if quotes else found[0]

    return _QUOTED.sub(shown, error)


class ReportColumns(NamedTuple):
    """The frame's columns as the sheets show them: the main ones first."""

    main: list[Column]
    details: list[Column]
    choice: Choice

    @classmethod
    def of(cls, rows: Enriched, choice: Choice, *, amount: Hashable | None) -> ReportColumns:
        """The columns chosen followed by the main added ones; and the other added ones.

        Args:
            rows: the rows.
            choice: the columns chosen.
            amount: the column of amounts; `None` without a tax.
        """
        frame, prefix = rows.frame, rows.prefix
        kinds, sums = _kinds(prefix), _sums(rows) | {amount}
        zips = inputs_of(rows).columns.get("zip")
        columns: dict[Hashable, list[Column]] = {}
        for label, data in (*_index_levels(frame), *_items(frame)):
            kind = kinds.get(str(label))
            numbers = _as_dollars(data) if label in sums or kind == "money" else None
            if numbers is not None or label == amount:
                kind = "money"
            shown = data if numbers is None else numbers
            if label == zips:
                shown = _as_zips(data)
            columns.setdefault(label, []).append(_column(str(label), shown, kind))
        first = [column for label in choice.shown for column in columns.pop(label)]
        main = [column for name in _MAIN for column in columns.pop(f"{prefix}{name}", ())]
        left = columns.keys() - {*choice.left_out}
        details = [column for label, some in columns.items() if label in left for column in some]
        return cls([*first, *main], details, choice)

    def named(self, name: Hashable) -> int | None:
        """The position of a column on the sheet Lines."""
        names = [column.name for column in self.every]
        return names.index(str(name)) if str(name) in names else None

    @property
    def every(self) -> list[Column]:
        """The columns of the sheet Lines."""
        return [*self.main, *self.details]


def _items(frame: pd.DataFrame) -> Iterable[tuple[Hashable, pd.Series]]:
    return ((label, frame.iloc[:, place]) for place, label in enumerate(frame.columns))


def _index_names(frame: pd.DataFrame) -> tuple[Hashable, ...]:
    """The levels of an index, unless it only numbers the rows."""
    if isinstance(frame.index, pd.RangeIndex):
        return ()
    return tuple("index" if name is None else name for name in frame.index.names)


def _index_levels(frame: pd.DataFrame) -> Iterable[tuple[Hashable, pd.Series]]:
    for level, name in enumerate(_index_names(frame)):
        yield name, pd.Series(frame.index.get_level_values(level).array)


def _kinds(prefix: str) -> Mapping[str, str]:
    return (
        {f"{prefix}{name}": "rate" for name in RATES}
        | {f"{prefix}{name}": "money" for name in _MONEY}
        | {f"{prefix}warnings": "wrapped", f"{prefix}looked_up_at": "utc"}
        | {f"{prefix}lookup_status": "indented"}  # it follows a number
    )


def _sums(rows: Enriched) -> set[Hashable]:
    """The columns of dollars beside the amounts: those of the tax, and those of an export."""
    frame, terms = rows.frame, rows.terms
    labels = {terms.get("shipping"), terms.get("exempt")} - {None}
    if export := recognized(frame.columns):
        found = export.found(frame.columns)
        labels |= {found.get(role) for role in ("collected", "refunded", "total")}
        for summed in (export.found_amount(frame.columns), export.found_shipping(frame.columns)):
            labels |= set() if summed is None else {*summed.plus, *summed.minus}
    return labels


def _as_zips(data: pd.Series) -> pd.Series:
    """ZIP Codes that were read as numbers, with the zeros that they lost."""
    if not pd.api.types.is_numeric_dtype(data.dtype):
        return data
    values = [None if is_missing(value) else str(value).removesuffix(".0") for value in data]
    return pd.Series([value and value.zfill(5 if len(value) <= 5 else 9) for value in values])  # noqa: PLR2004 - ZIP and ZIP+4


def _as_dollars(data: pd.Series) -> pd.Series | None:
    """Amounts as numbers, also those written as text; `None` where the column has none.

    A text that is no amount stays as it is.
    """
    if pd.api.types.is_numeric_dtype(data.dtype):
        return None if pd.api.types.is_bool_dtype(data.dtype) else data
    read = money(data.to_frame("amount"), "amount")
    if read.missing.all():
        return None
    values = data.tolist()
    amounts = zip(values, read.cents.tolist(), read.missing.tolist(), strict=True)
    if all(is_missing(value) for value, _, gone in amounts if gone):
        return pd.Series(decimals(read.cents, read.missing, MONEY))
    amounts = zip(values, read.cents.tolist(), read.missing.tolist(), strict=True)
    return pd.Series(
        [value if gone else dollars(cents) for value, cents, gone in amounts], dtype=object
    )


def _column(name: str, data: pd.Series, kind: str | None) -> Column:
    kind = kind or column_kind(data)
    return Column(name, data, kind, 48 if kind == "wrapped" else 64)
