"""Amounts of cells as exact numbers, and exact results as numbers for cells.

A spreadsheet's number is a float of which 15 digits are meant: 0.1 + 0.2 is 0.3. An amount is read
so; what is then within a millionth of a dollar of a whole cent is that cent, as in frames (100.1 -
100 is 0.0999999999999943 in a cell), and a fraction of a cent is refused, never rounded.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from svc_tools.excel.cell_errors import BadValueError
from svc_tools.excel.values import error_in, is_empty

if TYPE_CHECKING:
    from svc_tools.excel.values import Given, Rows, Scalar

__all__ = ["MOST_DOLLARS", "cents_of", "dollars_cell", "exact_sum"]

MOST_DOLLARS = 9 * 10**11
"""Amounts below this keep their cents in 15 digits, and their tax fits 64 bits."""
_CENTS = 100
_SNAP = Decimal("1e-6")
"""How far from a whole cent, in dollars, an amount may lie and still be meant as that cent."""
_SHOWN = 40


def cents_of(amount: Given) -> int:
    """An amount of dollars in whole cents.

    Text is understood as people write amounts: $1,234.50, (15.00).

    Raises:
        CellError: it is no amount, an error, or has a fraction of a cent.
    """
    if (error := error_in("amount", amount)) is not None:
        raise error
    if isinstance(amount, str):
        return _of_text(amount)
    exact = _exact("amount", amount)
    cents = round(exact * _CENTS)
    if abs(exact - Decimal(cents) / _CENTS) > _SNAP:
        raise BadValueError(
            f"amount: {exact:f} has a fraction of a cent; round it first, with ROUND(..., 2)."
        )
    return cents


@lru_cache(maxsize=16_384)
def _of_text(text: str) -> int:
    from svc_tools.frames.taxes.amounts import one_amount  # noqa: PLC0415 - loads pandas

    try:
        cents = one_amount(text, "amount")
    except ValueError as error:
        raise BadValueError(f"{error}.") from None
    _check_size("amount", Decimal(cents) / _CENTS)
    return cents


def dollars_cell(cents: int) -> float:
    """Whole cents as a number of dollars: the float nearest to the exact amount."""
    return cents / _CENTS


def exact_sum(rows: Rows) -> float:
    """The sum of cells, exact; empty cells count as nothing.

    Raises:
        CellError: a cell holds an error, a text, a date or a truth value, which SUM would pass
            over or count; the message names the first one by its row and column.
    """
    total = Decimal(0)
    for number, row in enumerate(rows, 1):
        for place, cell in enumerate(row, 1):
            if not is_empty(cell):
                total += _summand(f"row {number}, column {place} of the range", cell)
    _check_size("the sum", total)
    return float(total)


def _summand(where: str, cell: Scalar) -> Decimal:
    if (error := error_in(where, cell)) is not None:
        raise error
    if isinstance(cell, str):
        raise BadValueError(
            f'{where}: the cell holds the text "{cell[:_SHOWN]}", which SUM would pass over; make'
            " it a number, for instance with VALUE."
        )
    return _exact(where, cell)


def _exact(named: str, cell: Given) -> Decimal:
    """A number at the 15 significant digits that a spreadsheet means."""
    if isinstance(cell, bool | date) or not isinstance(cell, int | float):
        shown = str(cell).upper() if isinstance(cell, bool) else str(cell)[:_SHOWN]
        raise BadValueError(f"{named}: the cell holds {shown}, which is no amount.")
    exact = Decimal(cell) if isinstance(cell, int) else Decimal(f"{cell:.15g}")
    _check_size(named, exact)
    return exact


def _check_size(named: str, dollars: Decimal) -> None:
    if abs(dollars) >= MOST_DOLLARS:
        raise BadValueError(
            f"{named}: {dollars:,f} is out of range; a spreadsheet keeps the cents of amounts below"
            f" {MOST_DOLLARS:,}."
        )
