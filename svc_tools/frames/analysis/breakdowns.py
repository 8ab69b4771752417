"""Breakdowns: rows, sales and tax by the values of some columns, such as state and month.

A breakdown is an aggregate: a frame is added whole, a file chunk by chunk. A further one is a class
with its row in `BREAKDOWNS`, an option of `FileOptions` (from which the command, `enrich_file` and
the documents have it), and a method of `df.svc`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from svc_tools.frames.analysis.periods import periods_of
from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.review.codes import review_codes
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.frames.values.arrow import Coded, combined, text_column
from svc_tools.frames.values.money import SumsBy, dollars, money_column
from svc_tools.frames.values.tables import plain_rows, table_of
from svc_tools.show.display import number
from svc_tools.tables.dates import DateTerms

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from decimal import Decimal
    from typing import Any

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.options import AmountOptions
    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.show.display import Head, Table

_ADDED = {
    "taxable": "taxable_amount",
    "exempt": "exempt_amount",
    "tax": "tax",
    "tax_due": "tax_due",
}
"""The sums of added columns, and their columns."""
_DOLLARS = ("sales", *_ADDED)
_PLAIN = DateTerms()


class Breakdown(ABC):
    """Rows and dollars by the values of some columns.

    Attributes:
        name: its method of `df.svc`, and its option of a file.
        title: what is above it.
        keys: the names of its first columns.
        needs: the added columns that a file needs for it.
        notes: how the rows were read, in sentences.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._sums: SumsBy[tuple[Any, ...]] = SumsBy()
        self._notes: dict[str, None] = {}

    @abstractmethod
    def keys_of(self, rows: Enriched) -> Sequence[Coded[str]]:
        """The value of each row for each of `keys`; empty where it is not known.

        Raises:
            ValueError: the frame lacks a column.
        """

    def of_frame(
        self, rows: Enriched, amount: Hashable | None, options: AmountOptions
    ) -> pd.DataFrame:
        """The table of a frame; the arguments are those of `goods_of`."""
        self.add(rows, goods_of(rows, amount, options, call=self.name))
        return self.table()

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add rows, with their amounts.

        Raises:
            ValueError: the frame has not been looked up, or lacks a column.
        """
        rows.require("lookup_status")
        known = {
            name: rows.money(column) if rows.has(column) else None
            for name, column in _ADDED.items()
        }
        flags = (rows.money("tax").missing, review_codes(rows).where(bool))
        untaxed, to_review = (Coded(flag.astype(np.int64), (False, True)) for flag in flags)
        codes, values = combined([*self.keys_of(rows), untaxed, to_review])
        sales = None if goods.label is None else goods.money
        self._sums.add(Coded(codes, tuple(values)), {"sales": sales, **known})

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows were read, in sentences."""
        return tuple(self._notes)

    def table(self) -> pd.DataFrame:
        """A row for each group, those of missing values last; dollars are exact.

        A sum is missing where no row of the group has a figure. `attrs` has the notes.
        """
        groups: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for value in self._sums.rows:
            groups.setdefault(value[:-2], []).append(value)
        order = sorted(groups, key=lambda group: [(not text, text) for text in group])
        parts = [groups[group] for group in order]
        made = pd.DataFrame(
            {
                **{
                    name: text_column(group[at] for group in order)
                    for at, name in enumerate(self.keys)
                },
                "rows": self._rows(parts),
                "rows_with_tax": self._rows(
                    [[key for key in some if not key[-2]] for some in parts]
                ),
                **{
                    name: money_column([self._total(name, some) for some in parts])
                    for name in _DOLLARS
                },
                "rows_to_review": self._rows([[key for key in some if key[-1]] for some in parts]),
                "rows_without_tax": self._rows(
                    [[key for key in some if key[-2]] for some in parts]
                ),
            }
        )
        made.attrs[f"svc_{self.name}"] = {"notes": [*self.notes]}
        return made

    def _rows(self, parts: Sequence[Iterable[tuple[Any, ...]]]) -> np.ndarray:
        return np.array([sum(self._sums.rows[key] for key in some) for some in parts], np.int64)

    def _total(self, name: str, values: Iterable[tuple[Any, ...]]) -> Decimal | None:
        sums = (self._sums.dollars(name, key) for key in values)
        known = [amount for amount in sums if amount is not None]
        return sum(known, dollars(0)) if known else None

    def shown(self, width: int | None = None) -> Table:
        """The table for display, without the columns that have no figure.

        Where that is wider than `width`, as many as fit; a line says which ones are left out.
        """
        made = self.table()
        heads: dict[str, Head] = {name: name.capitalize() for name in self.keys}
        heads |= {name: number(head) for name, head in _SHOWN.items() if made[name].notna().any()}
        if not self._sums.has("tax"):
            del heads["rows_without_tax"]
        full = table_of(self.title, made, [*heads.items()])
        left_out: list[str] = []
        for name in _DISPENSABLE if width is not None else ():
            if name in heads and _width(full) > (width or 0):
                left_out.append(_SHOWN[name].lower())
                del heads[name]
                full = table_of(self.title, made, [*heads.items()])
        if left_out:
            full.more = f"Not shown for lack of room: {', '.join(left_out)}; --json has all."
        return full

    def as_json(self) -> list[dict[str, object]]:
        """The rows of the table in plain values; dollars as text with two decimals."""
        return plain_rows(self.table())


_SHOWN = {
    "rows": "Rows",
    "sales": "Sales",
    "tax": "Tax",
    "tax_due": "Tax due",
    "rows_to_review": "To review",
    "rows_without_tax": "No tax",
}
_DISPENSABLE = ("rows_without_tax", "rows", "rows_to_review", "tax")
"""What a narrow table lacks first; of the taxes that which is due stays."""


def _width(table: Table) -> int:
    """The characters of a line of a table whose heads are wrapped."""
    cells = [
        [*column.head.split(), *(row[at] for row in table.rows)]
        for at, column in enumerate(table.columns)
    ]
    return 2 * len(cells) + sum(max(map(len, column)) for column in cells)


class ByMonth(Breakdown):
    """The rows by state and month.

    Args:
        date: the column of dates; by default the date that was looked up.
        dates: what is specified about how it is read.
    """

    name, title, keys = "by_month", "By state and month", ("state", "month")
    needs = ("lookup_as_of",)

    def __init__(self, date: Hashable | None = None, dates: DateTerms = _PLAIN) -> None:
        super().__init__()
        self._date, self._dates = date, dates

    def keys_of(self, rows: Enriched) -> Sequence[Coded[str]]:
        """The state and the month of each row."""
        months, notes = periods_of(rows, "month", self._date, self._dates)
        self._notes |= dict.fromkeys(notes)
        return states_of(rows), months


BREAKDOWNS: Mapping[str, type[Breakdown]] = {breakdown.name: breakdown for breakdown in (ByMonth,)}
"""The breakdowns by name."""
