"""The sheet of what was frozen: one row per cell, with the formula, the value and their source.

A row is written before its cell changes, and is what puts the formula back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.excel.com.areas import Area
from svc_tools.excel.workbook.layout import FROZEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook
    from svc_tools.excel.values import Scalar

__all__ = ["COLUMNS", "FrozenCell", "Log"]

COLUMNS = (
    "sheet",
    "cell",
    "formula",
    "value",
    "source",
    "answered",
    "frozen at",
    "put back at",
)
_WIDTHS = (14, 8, 44, 14, 40, 27, 27, 27)
_PROOF = COLUMNS.index("formula") + 1
"""The first cells of a row, without which no formula comes back."""
_PUT_BACK = COLUMNS.index("put back at") + 1


@dataclass(frozen=True, slots=True)
class FrozenCell:
    """A row of the sheet.

    Attributes:
        sheet: the sheet of the cell.
        cell: its address.
        formula: its formula; "{=…}" for an array formula, "spilled from B2" or "array of B2" for
            the other cells of an array.
        value: what it showed.
        source: who answered.
        answered: when (UTC); "" where that is not known for this cell.
        frozen_at: when it was frozen (UTC).
        put_back_at: when the formula was put back; "" while the cell is frozen.
        row: the row of the sheet, where it is there already.
    """

    sheet: str
    cell: str
    formula: str
    value: Scalar
    source: str
    answered: str
    frozen_at: str
    put_back_at: str = ""
    row: int = 0

    @property
    def cells(self) -> tuple[Scalar, ...]:
        """The row as it is written."""
        return (
            self.sheet,
            self.cell,
            self.formula,
            self.value,
            self.source,
            self.answered,
            self.frozen_at,
            self.put_back_at,
        )


class Log:
    """The sheet, which is made when it is first needed.

    Args:
        workbook: the workbook.
    """

    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook

    def append(self, cells: Sequence[FrozenCell]) -> list[int]:
        """Write rows below what is there; gives their numbers.

        Raises:
            ValueError: a sheet of that name is there, and it is another one; or it did not take
                the rows, as a filtered sheet may not.
        """
        sheet = self._sheet() or self._made()
        first = sheet.used.row + sheet.used.height
        area = Area(first, 1, len(cells), len(COLUMNS))
        sheet.put(area, [one.cells for one in cells])
        if [tuple(row[:_PROOF]) for row in sheet.values(area)] != [
            one.cells[:_PROOF] for one in cells
        ]:
            raise ValueError(
                f'The sheet "{FROZEN}" did not take what was written to it (is it filtered?). No'
                " formula was changed; show all of its rows, and run the macro again."
            )
        return list(range(first, first + len(cells)))

    def read(self) -> list[FrozenCell]:
        """All rows, in order; none where there is no such sheet.

        Raises:
            ValueError: see `append`.
        """
        sheet = self._sheet()
        if sheet is None:
            return []
        last = sheet.used.row + sheet.used.height - 1
        rows = sheet.values(Area(2, 1, last - 1, len(COLUMNS))) if last > 1 else []
        return [_read(number, row) for number, row in enumerate(rows, 2) if row[0] and row[1]]

    def put_back(self, row: int, at: str) -> None:
        """Note that the cell of a row is frozen no longer."""
        sheet = self._sheet()
        if sheet is not None:
            sheet.put(Area(row, _PUT_BACK), [[at]])

    def _sheet(self) -> Sheet | None:
        sheet = self._workbook.sheet(FROZEN)
        if sheet is None:
            return None
        heads = sheet.values(Area(1, 1, 1, len(COLUMNS)))[0]
        if tuple(str(head or "").casefold() for head in heads) != COLUMNS:
            raise ValueError(
                f'The sheet "{FROZEN}" has other headings than {", ".join(COLUMNS)}. Nothing was'
                " changed; rename that sheet, and run the macro again."
            )
        return sheet

    def _made(self) -> Sheet:
        sheet = self._workbook.add_sheet(FROZEN)
        heading = Area(1, 1, 1, len(COLUMNS))
        sheet.put(heading, [COLUMNS])
        sheet.dress(heading, _WIDTHS)
        return sheet


def _read(number: int, row: Sequence[Scalar]) -> FrozenCell:
    sheet, cell, formula = (str(one or "") for one in row[:3])
    source, answered, frozen_at, put_back_at = (str(one or "") for one in row[4:8])
    return FrozenCell(
        sheet, cell, formula, row[3], source, answered, frozen_at, put_back_at, number
    )
