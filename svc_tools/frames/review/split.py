"""The rows of a frame by what they can be used for: ready, to check, incomplete, no rate.

Each row is in exactly one group. `review_codes` decides which rows require review, here as in
`df.svc.review()`; the summary and the reports count the groups with `parts_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from svc_tools.frames.added.enriched import Enriched, fact
from svc_tools.frames.review.codes import review_codes
from svc_tools.frames.taxes.not_due import not_due_of, not_due_sentence
from svc_tools.frames.taxes.taxed_rows import goods_of
from svc_tools.frames.values.arrow import Coded, combined
from svc_tools.frames.values.money import SumsBy, dollars
from svc_tools.show.codes import codes_of, meaning_of
from svc_tools.show.display import (
    NOTHING,
    Note,
    Table,
    as_html,
    as_text,
    counted,
    exact_dollars,
    number,
    prose,
)
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from decimal import Decimal

    import pandas as pd

    from svc_tools.frames.options import AmountOptions
    from svc_tools.frames.taxes.not_due import NotDue
    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.show.display import Head

USES = codes_of("use")
"""What a row can be used for: ready, check, incomplete, none."""
_LABELS = {"check": "to check", "none": "no rate"}
USE_OF_GROUP = dict(zip(("ready", "to_check", "incomplete", "no_rate"), USES, strict=True))
"""The use of each group of a `Split`, by its name there."""


class Part(NamedTuple):
    """The rows that can be used alike; dollars are exact, `None` where none are known.

    Attributes:
        name: the use, one of `USES`.
        rows: how many.
        sales: the sum of their amounts, without delivery that is charged separately; `None` where
            the amounts are not known.
        tax: the sum of their tax, that of the delivery too; `None` where they have no tax.
        due: what of it is due from the seller; `None` where that was not computed.
    """

    name: str
    rows: int
    sales: Decimal | None = None
    tax: Decimal | None = None
    due: Decimal | None = None

    @property
    def label(self) -> str:
        """The use in words: ready, to check, incomplete, no rate."""
        return _LABELS.get(self.name, self.name)


@fact
def uses_of(rows: Enriched) -> Coded[str]:
    """The use of each row, one of `USES`, by its status and the codes of its review."""
    codes, cells = combined([rows.status, review_codes(rows)])
    return Coded(np.array([_use(*cell) for cell in cells], np.int64)[codes], USES)


def _use(status: str, reasons: tuple[str, ...]) -> int:
    known = Status.of(status)
    if known.usable:
        return USES.index("check" if reasons else "ready")
    return USES.index("incomplete" if known.partial else "none")


class PartSums:
    """The rows and dollars of each use, added up over the parts of a table."""

    def __init__(self) -> None:
        self._sums: SumsBy[str] | None = None

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add rows, with their amounts."""
        self._sums = self._sums or SumsBy()
        tax, due = (rows.money(name) if rows.has(name) else None for name in ("tax", "tax_due"))
        sales = None if goods.label is None else goods.money
        self._sums.add(uses_of(rows), {"sales": sales, "tax": tax, "due": due})

    @property
    def parts(self) -> tuple[Part, ...]:
        """The four groups, also those without rows; none where nothing was added."""
        sums = self._sums
        if sums is None:
            return ()
        return tuple(
            Part(use, sums.rows[use], *(_dollars_of(sums, name, use) for name in _DOLLARS))
            for use in USES
        )


_DOLLARS = ("sales", "tax", "due")


def _dollars_of(sums: SumsBy[str], name: str, use: str) -> Decimal | None:
    """The dollars of a use; 0 where it has no row, `None` where no row of it has a figure."""
    nothing = sums.has(name) and not sums.rows[use]
    return dollars(0) if nothing else sums.dollars(name, use)


def parts_of(rows: Enriched, goods: Goods) -> tuple[Part, ...]:
    """The rows and dollars of each use, also of one without rows."""
    sums = PartSums()
    sums.add(rows, goods)
    return sums.parts


def dollars_known(parts: Sequence[Part]) -> list[tuple[str, list[Decimal | None]]]:
    """The columns of dollars that are known, with their heads; a group without rows has none."""
    figures = [
        (head, [getattr(part, name) for part in parts])
        for head, name in (("Sales", "sales"), ("Tax", "tax"), ("Tax due", "due"))
    ]
    return [
        (head, [value if part.rows else None for part, value in zip(parts, column, strict=True)])
        for head, column in figures
        if any(value is not None for value in column)
    ]


def parts_table(parts: Sequence[Part], title: str = "", *, meanings: bool = True) -> Table:
    """The four groups as a table: rows, dollars as far as they are known, and what they mean."""
    shown = dollars_known(parts)
    heads: list[Head] = ["Use", number("Rows"), *(number(head) for head, _ in shown)]
    rows = [
        (
            part.label,
            f"{part.rows:,}",
            *(_dollars(column[place]) for _, column in shown),
            *([meaning_of(part.name)] if meanings else []),
        )
        for place, part in enumerate(parts)
    ]
    return Table([*heads, *([prose("Meaning")] if meanings else [])], rows, title)


def _dollars(value: Decimal | None) -> str:
    return NOTHING if value is None else exact_dollars(value)


def parts_sentence(parts: Sequence[Part]) -> str:
    """How much is ready to use, with its dollars."""
    ready, every = parts[0], sum(part.rows for part in parts)
    known = [
        f"{exact_dollars(value)} of {name}"
        for name, value in (("sales", ready.sales), ("tax", ready.tax))
        if value is not None and ready.rows
    ]
    dollars_ = f" ({', '.join(known)})" if known else ""
    are = "is" if ready.rows == 1 else "are"
    return f"{ready.rows:,} of {counted(every, 'row')} {are} ready to use{dollars_}."


@dataclass(frozen=True, slots=True, eq=False)
class Split(Mapping[str, "pd.DataFrame"]):
    """A frame's rows in four groups, each row in exactly one; they keep their order and labels.

    It prints as a table with counts and dollars, and is a mapping of the four frames by name:
    `for name, rows in split.items()`.

    Attributes:
        ready: rows with a whole rate and nothing to review; in a frame with taxes, with their
            tax, or of which no tax is due from the seller.
        to_check: rows with a whole rate that require review first, as `df.svc.review()` says.
        incomplete: rows whose rate lacks its local or district part: no tax unless requested.
        no_rate: rows without a rate; `lookup_error` says why.
        parts: the rows and dollars of each, in this order.
        not_due: the rows of which no tax is due from the seller, by reason: each is in the group
            of its rate, and none of them in `to_check`.
    """

    ready: pd.DataFrame
    to_check: pd.DataFrame
    incomplete: pd.DataFrame
    no_rate: pd.DataFrame
    parts: tuple[Part, ...]
    not_due: tuple[NotDue, ...] = ()

    def __getitem__(self, name: str) -> pd.DataFrame:
        """The rows of one group by its name."""
        if name not in USE_OF_GROUP:
            raise KeyError(f"{name!r}: expected {', '.join(USE_OF_GROUP)}")
        rows: pd.DataFrame = getattr(self, name)
        return rows

    def __iter__(self) -> Iterator[str]:
        """The names of the groups."""
        return iter(USE_OF_GROUP)

    def __len__(self) -> int:
        """Four."""
        return len(USE_OF_GROUP)

    @property
    def sentence(self) -> str:
        """How much is ready to use."""
        return parts_sentence(self.parts)

    def __str__(self) -> str:
        """The sentence, and the table of the four groups."""
        return as_text(*self._shown)

    def __repr__(self) -> str:
        """The same as the text: it is short."""
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(*self._shown)

    @property
    def _shown(self) -> tuple[Note, Table]:
        why = not_due_sentence(self.not_due)
        return Note(self.sentence, [why] if why else []), parts_table(self.parts)


def split(
    rows: Enriched, frame: pd.DataFrame, *, amount: Hashable | None, options: AmountOptions
) -> Split:
    """Split a frame; see `SvcAccessor.split` for the meaning of the arguments.

    Args:
        rows: the rows, in which every cell can be read.
        frame: the same rows as they are.
        amount: the column of amounts.
        options: how it is read.
    """
    rows.require("lookup_status", "needs_review")
    uses = uses_of(rows)
    goods = goods_of(rows, amount, options, call="split")
    groups: dict[str, Any] = {
        name: frame.iloc[np.flatnonzero(uses.codes == USES.index(use))]
        for name, use in USE_OF_GROUP.items()
    }
    return Split(**groups, parts=parts_of(rows, goods), not_due=not_due_of(rows, goods))
