"""Frozen cells become formulas again, from the sheet of what was frozen.

Only where a cell still holds what was frozen: what a person typed over it stays, and is listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.excel.com.areas import Area
from svc_tools.excel.com.formulas import has_calls
from svc_tools.excel.com.frozen_log import FrozenCell, Log
from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook

__all__ = ["Unfreeze", "frozen_now", "unfreeze"]

_PARTS = ("spilled from ", "array of ")
_SHOWN = 10
_EMPTY = (None, "")


@dataclass(frozen=True, slots=True)
class Unfreeze:
    """What came of it: how many formulas are back, and which cells were left alone."""

    formulas: int
    left: tuple[tuple[str, str], ...]

    @property
    def sentence(self) -> str:
        """It in words, with the first of the cells that were left."""
        is_are = "is" if self.formulas == 1 else "are"
        told = f"{counted(self.formulas, 'formula')} {is_are} back."
        if not self.left:
            return told
        lines = [f"{where}: {why}" for where, why in self.left[:_SHOWN]]
        more = len(self.left) - len(lines)
        lines += [f"and {more:,} more"] if more else []
        was = "was" if len(self.left) == 1 else "were"
        return "\n".join([f"{told} {counted(len(self.left), 'cell')} {was} left alone:", *lines])


def frozen_now(workbook: Workbook) -> list[list[FrozenCell]]:
    """What is frozen, the newest first: for each formula its row, then those of its other cells.

    Raises:
        ValueError: the sheet of what was frozen is another one.
    """
    groups: list[list[FrozenCell]] = []
    for one in Log(workbook).read():
        part = next((start for start in _PARTS if one.formula.startswith(start)), "")
        if part and groups and one.formula == part + groups[-1][0].cell and _together(one, groups):
            groups[-1].append(one)
        elif not part:
            groups.append([one])
    return [group for group in reversed(groups) if not group[0].put_back_at]


def unfreeze(workbook: Workbook, groups: Sequence[Sequence[FrozenCell]], *, at: str) -> Unfreeze:
    """Put the formulas back.

    Args:
        workbook: the workbook.
        groups: what `frozen_now` found.
        at: the time (UTC), as it is noted.
    """
    log = Log(workbook)
    sheets = {sheet.name.casefold(): sheet for sheet in workbook.sheets}
    back = 0
    left = []
    with workbook.at_rest():
        for group in groups:
            first = group[0]
            why = _put_back(sheets.get(first.sheet.casefold()), group)
            if why:
                left.append((f"{first.sheet}!{first.cell}", why))
                continue
            back += 1
            for one in group:
                log.put_back(one.row, at)
    return Unfreeze(back, tuple(left))


def _put_back(sheet: Sheet | None, group: Sequence[FrozenCell]) -> str:
    """Put one formula back; why not, "" where it is back."""
    if sheet is None:
        return "there is no such sheet any more"
    formula = group[0].formula
    array = formula.startswith("{")
    bare = formula[1:-1] if array else formula
    cells = [area for one in group if (area := Area.read(one.cell)) is not None]
    if len(cells) != len(group) or not has_calls(bare):
        return "its row of the log cannot be read"
    whole = _around(cells)
    if whole.height * whole.width != len(cells):
        return "rows of its other cells are missing in the log"
    if sheet.formulas(cells[0])[0][0] == bare:
        return ""  # it never was frozen, or its formula was put back by hand
    return _changed(sheet, group, cells) or _written(sheet, cells, bare, array=array)


def _together(one: FrozenCell, groups: Sequence[Sequence[FrozenCell]]) -> bool:
    """Whether a row of the log is of the same sheet and freeze as the formula above it."""
    first = groups[-1][0]
    return (one.sheet, one.frozen_at) == (first.sheet, first.frozen_at)


def _changed(sheet: Sheet, group: Sequence[FrozenCell], cells: Sequence[Area]) -> str:
    """Why cells cannot be written; "" where they hold what was frozen."""
    if sheet.protected:
        return "the sheet is protected"
    for one, cell in zip(group, cells, strict=True):
        if _differs(sheet, cell, one):
            return f"{cell.address} holds something else now"
    return ""


def _written(sheet: Sheet, cells: Sequence[Area], formula: str, *, array: bool) -> str:
    """Write the formula; what was there is put back where Excel refuses it."""
    whole = _around(cells)
    values = sheet.values(whole)
    try:
        if len(cells) > 1:
            sheet.clear(whole)
        sheet.put_formula(whole if array else cells[0], formula, array=array)
    except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
        sheet.put(whole, values)
        return f"Excel refused it ({type(error).__name__})"
    return ""


def _differs(sheet: Sheet, cell: Area, one: FrozenCell) -> bool:
    now = sheet.value(cell)
    if sheet.formulas(cell)[0][0].startswith("=") and not str(one.value).startswith("="):
        return True
    if now in _EMPTY and one.value in _EMPTY:
        return False
    return type(now) is not type(one.value) or now != one.value


def _around(cells: Sequence[Area]) -> Area:
    rows, columns = [cell.row for cell in cells], [cell.column for cell in cells]
    top, left = min(rows), min(columns)
    return Area(top, left, max(rows) - top + 1, max(columns) - left + 1)
