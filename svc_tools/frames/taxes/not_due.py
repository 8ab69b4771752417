"""Rows of which no tax is due from the seller, for a known reason: none of them requires review.

Every output takes them out of what is to review with `not_due_reasons`, and says in one sentence
how many they are, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.added.enriched import Enriched, fact
from svc_tools.frames.lookup.columns import free_labels
from svc_tools.frames.lookup.results import lookup_of
from svc_tools.frames.taxes.due import channel_of
from svc_tools.frames.values.arrow import Coded, recoded
from svc_tools.frames.values.money import SumsBy, dollars
from svc_tools.show.codes import NOT_DUE
from svc_tools.show.display import counted, exact_dollars
from svc_tools.tables.exports import named_export, recognized

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.tables.exports import Export


class NotDue(NamedTuple):
    """Rows of which no tax is due from the seller for one reason.

    Attributes:
        reason: the code of `tax_due_reason`, one of `svc_tools.show.codes.NOT_DUE`.
        rows: how many.
        sales: the sum of their amounts; `None` where none is known.
    """

    reason: str
    rows: int
    sales: Decimal | None

    def as_json(self) -> dict[str, object]:
        """Plain values; dollars as text with two decimals."""
        return {**self._asdict(), "sales": None if self.sales is None else str(self.sales)}


@fact
def not_due_reasons(rows: Enriched) -> Coded[str]:
    """Why no tax is due from the seller of each row; empty where some may be.

    That is the row's `tax_due_reason`. In a frame without a tax, a recognized export may say it:
    that of a marketplace which collects and remits the tax, of every row or by its column of
    channels.
    """
    if not rows.has("tax_due_reason"):
        facilitated = np.zeros(len(rows), bool) if rows.has("tax") else _facilitated(rows)
        return Coded(facilitated.astype(np.int64), ("", "marketplace_facilitated"))
    codes, reasons = rows.coded("tax_due_reason")
    known = recoded(codes, (reason if reason in NOT_DUE else "" for reason in reasons))
    given = ~rows.money("tax_due").missing  # a figure that was put into the cell counts
    if not given.any():
        return known
    number_of, values = known
    return Coded(np.where(given, len(values), number_of), (*values, ""))


def _facilitated(rows: Enriched) -> np.ndarray:
    """Which rows are sales of a marketplace by the export that the frame was recognized as."""
    frame, export = rows.frame, _export_of(rows)
    if export is None or export.marketplace:
        return np.full(len(frame), export is not None)
    label = export.found(free_labels(frame)).get("channel")
    return np.zeros(len(frame), bool) if label is None else channel_of(frame, label).marketplace


def _export_of(rows: Enriched) -> Export | None:
    """The export that an enriched frame was recognized as."""
    reading = rows.stamp.readings.get(rows.prefix)
    if reading is not None:
        return named_export(reading.get("export"))
    if (lookup := lookup_of(rows)) is not None:
        return lookup.inputs.reading.export
    return recognized(free_labels(rows.frame))


class NotDueSums:
    """The rows of which no tax is due, added up over the parts of a table."""

    def __init__(self) -> None:
        self._sums: SumsBy[str] = SumsBy()

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add rows, with their amounts."""
        sales = None if goods.label is None else goods.money
        self._sums.add(not_due_reasons(rows), {"sales": sales})

    @property
    def found(self) -> tuple[NotDue, ...]:
        """Those rows by reason, the most rows first."""
        sums = self._sums
        found = [
            NotDue(reason, rows, sums.dollars("sales", reason))
            for reason, rows in sums.rows.items()
            if reason
        ]
        return tuple(sorted(found, key=lambda part: (-part.rows, part.reason)))


def not_due_of(rows: Enriched, goods: Goods) -> tuple[NotDue, ...]:
    """The rows of which no tax is due, by reason, the most rows first."""
    sums = NotDueSums()
    sums.add(rows, goods)
    return sums.found


def not_due_sentence(found: Iterable[NotDue]) -> str:
    """How many rows and dollars of sales are not due, and why; empty without such rows."""
    parts = [*found]
    if not parts:
        return ""
    rows = sum(part.rows for part in parts)
    known = [part.sales for part in parts if part.sales is not None]
    sales = f" ({exact_dollars(sum(known, dollars(0)))} of sales)" if known else ""
    several = len(parts) > 1
    why = ", ".join(
        f"{NOT_DUE[part.reason]}: {part.rows:,}" if several else NOT_DUE[part.reason]
        for part in parts
    )
    they = "it requires" if rows == 1 else "they require"
    return f"{counted(rows, 'row')}{sales}: no tax is due from you ({why}), so {they} no review."
