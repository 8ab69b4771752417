"""Sales and tax of rows, added up exactly: each row in one of three groups, whole cents inside."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.frames.tax import whole_cents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

__all__ = ["Totals", "add_up", "cents", "dollars", "grouped", "row_sums", "totals"]

_FIELDS = 9


@dataclass(frozen=True, slots=True)
class Totals:
    """Sales and tax in US dollars, exact to the cent, each row in exactly one of three groups.

    Whole rows have a whole rate (status ok), partial rows one that is known to lack a part, open
    rows none. `sales` = `taxed_sales` + `partial_sales` + `open_sales`.

    Attributes:
        rows: all rows.
        taxed_sales: sales of the whole rows that have a tax (which may be 0.00: the rate is 0).
        tax: the tax of those rows.
        partial_rows: rows with a partial rate.
        partial_sales: their sales.
        partial_tax: the tax of partial rows, where the user asked for it: a lower bound.
        untaxed_sales: sales of partial rows for which no tax was computed.
        open_rows: rows without a rate, and whole rows without a tax (their amount has no cents).
        open_sales: their sales, as far as the amounts can be read.
    """

    rows: int = 0
    taxed_sales: Decimal = Decimal("0.00")
    tax: Decimal = Decimal("0.00")
    partial_rows: int = 0
    partial_sales: Decimal = Decimal("0.00")
    partial_tax: Decimal = Decimal("0.00")
    untaxed_sales: Decimal = Decimal("0.00")
    open_rows: int = 0
    open_sales: Decimal = Decimal("0.00")

    @property
    def whole_rows(self) -> int:
        """Rows with a whole rate and a tax computed from it."""
        return self.rows - self.partial_rows - self.open_rows

    @property
    def sales(self) -> Decimal:
        """All sales whose amount can be read."""
        return self.taxed_sales + self.partial_sales + self.open_sales


def cents(column: pd.Series) -> list[int | None]:
    """Money as whole cents; `None` where it is missing or not a whole number of cents."""
    values, wrong, _ = whole_cents(column)
    return [None if row in wrong else value for row, value in enumerate(values.tolist())]


def grouped(keys: Sequence[str], rows: Sequence[tuple[int, ...]]) -> dict[str, list[int]]:
    """The rows' sums (of `row_sums`) by key."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for key, row in zip(keys, rows, strict=True):
        groups.setdefault(key, []).append(row)
    return {key: add_up(group) for key, group in groups.items()}


def add_up(rows: Iterable[Sequence[int]]) -> list[int]:
    """The column sums of rows of `row_sums`; those of no rows are zeros."""
    columns = list(zip(*rows, strict=True))
    return [sum(column) for column in columns] or [0] * _FIELDS


def row_sums(status: str, amount: int | None, tax: int | None) -> tuple[int, ...]:
    """One row's share in `Totals`, in whole cents and in its order of fields."""
    sale, due = amount or 0, tax or 0
    if status == "partial":
        return (1, 0, 0, 1, sale, due, sale if tax is None else 0, 0, 0)
    if status == "ok" and tax is not None:
        return (1, sale, due, 0, 0, 0, 0, 0, 0)
    return (1, 0, 0, 0, 0, 0, 0, 1, sale)


def totals(sums: Sequence[int]) -> Totals:
    """The totals of rows whose `row_sums` were added up."""
    rows, taxed, tax, partial_rows, partial, partial_tax, untaxed, open_rows, open_sales = sums
    return Totals(
        rows=rows,
        taxed_sales=dollars(taxed),
        tax=dollars(tax),
        partial_rows=partial_rows,
        partial_sales=dollars(partial),
        partial_tax=dollars(partial_tax),
        untaxed_sales=dollars(untaxed),
        open_rows=open_rows,
        open_sales=dollars(open_sales),
    )


def dollars(whole_cents: int) -> Decimal:
    """Whole cents as dollars with two decimals."""
    return Decimal(whole_cents).scaleb(-2)
