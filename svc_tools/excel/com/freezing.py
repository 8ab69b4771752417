"""Freezing: formulas are replaced by their values; a log sheet notes the source and the date.

Each value is read from the cell that it is written to, so a freeze that stops halfway loses
nothing. A cell with an error or #PARTIAL has no value: it stays a formula, and is listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.display import counted
from svc_tools.excel.com.workbook import Area
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.values import CellError, error_in
from svc_tools.excel.workbook.writing import FROZEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar


COLUMNS = ("sheet", "range", "source", "oldest result", "frozen at")
"""The headings of the log: one row per sheet and freeze. The task pane writes the same."""
_WIDTHS = (14, 12, 40, 27, 27)
_LISTED = 10
"""How many of the cells that stay formulas a message lists."""


@dataclass(frozen=True, slots=True)
class Block:
    """The cells with the result of one formula: a single cell, or those of an array."""

    sheet: Sheet
    area: Area
    values: Sequence[Sequence[Scalar]]

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.area.height * self.area.width


@dataclass(frozen=True, slots=True)
class Freeze:
    """Result of a freeze: how many cells are values now, and which stay formulas and why."""

    cells: int
    sheets: int
    left: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The result in words, with the first of the cells that stay formulas."""
        text = f"Frozen: {counted(self.cells, 'cell')} on {counted(self.sheets, 'sheet')}."
        if self.cells:
            text += f' The sheet "{FROZEN}" has their source and date.'
        if not self.left:
            return text
        more = len(self.left) - _LISTED
        lines = [*self.left[:_LISTED], *([f"and {more:,} more"] if more > 0 else [])]
        stay = "stays a formula" if len(self.left) == 1 else "stay formulas"
        return "\n".join([f"{text} {counted(len(self.left), 'cell')} {stay}:", *lines])


def find(
    workbook: Workbook, within: tuple[Sheet, Sequence[Area]] | None = None
) -> tuple[list[Block], list[str]]:
    """The formulas that can be frozen, and the cells that cannot with the reason.

    Args:
        workbook: the workbook.
        within: only formulas in these cells of this sheet.
    """
    found: list[Block] = []
    left: list[str] = []
    for sheet in workbook.sheets if within is None else [within[0]]:
        for block in _blocks(sheet, None if within is None else within[1]):
            why = "the sheet is protected" if sheet.protected else _no_value(block)
            if why:
                left.append(f"{sheet.name}!{block.area.address}: {why}")
            else:
                found.append(block)
    return found, left


def freeze(
    workbook: Workbook, desk: Desk, blocks: Sequence[Block], left: Sequence[str], *, at: str
) -> Freeze:
    """Write the source and the date to the log, then the values over the formulas.

    Args:
        workbook: the workbook.
        desk: names the source; no request is sent.
        blocks: the formulas.
        left: what stays a formula, as `find` returned it.
        at: the time to note (UTC).

    Raises:
        ValueError: the log sheet has other headings; no cell was changed.
    """
    failed: list[str] = []
    done: list[Block] = []
    with workbook.suspended():
        if blocks:
            _note(workbook, desk, blocks, at)
        for block in blocks:
            try:
                block.sheet.put(block.area, block.values)
                done.append(block)
            except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
                why = f"Excel refused it ({type(error).__name__})"
                failed.append(f"{block.sheet.name}!{block.area.address}: {why}")
    return Freeze(
        sum(block.size for block in done),
        len({block.sheet.name for block in done}),
        (*left, *failed),
    )


def _blocks(sheet: Sheet, within: Sequence[Area] | None) -> list[Block]:
    """Each formula once, with all cells of its result."""
    calls = sheet.calls()
    arrays = bool(calls) and sheet.has_arrays(sheet.used)
    taken: set[Area] = set()
    found = []
    for cell, value in calls.items():
        inside = within is None or any(cell.within(block) for block in within)
        if cell in taken or not inside:
            continue
        array = sheet.array(cell) if arrays else None
        found.append(
            Block(sheet, cell, [[value]])
            if array is None
            else Block(sheet, array, sheet.values(array))
        )
        taken.update(found[-1].area.cells())
    return found


def _no_value(block: Block) -> str:
    """Why the block cannot become values; "" where it can."""
    for row in block.values:
        for value in row:
            error = error_in("", value)
            if error is not None:
                return str(getattr(value, "text", value))
    if block.sheet.is_text(block.area):
        return "the cell is formatted as text, in which a number would become a text"
    return ""


def _note(workbook: Workbook, desk: Desk, blocks: Sequence[Block], at: str) -> None:
    source, oldest = (
        "" if isinstance(one, CellError) or one is None else str(one)
        for one in evaluate(desk, [Call("SVC_SOURCE"), Call("SVC_ASOF")])
    )
    areas: dict[str, list[Area]] = {}
    for block in blocks:
        areas.setdefault(block.sheet.name, []).append(block.area)
    rows = [(name, Area.around(some).address, source, oldest, at) for name, some in areas.items()]
    log = _log(workbook)
    used = log.used
    log.put(Area(used.row + used.height, 1, len(rows), len(COLUMNS)), rows)


def _log(workbook: Workbook) -> Sheet:
    """The log sheet, added where it is missing.

    Raises:
        ValueError: a sheet of that name has other headings.
    """
    heading = Area(1, 1, 1, len(COLUMNS))
    sheet = workbook.sheet(FROZEN)
    if sheet is None:
        sheet = workbook.add_sheet(FROZEN)
        sheet.put(heading, [COLUMNS])
        sheet.format_heading(heading, _WIDTHS)
    elif tuple(str(head or "").casefold() for head in sheet.values(heading)[0]) != COLUMNS:
        raise ValueError(
            f'The sheet "{FROZEN}" has other headings than {", ".join(COLUMNS)}. Nothing was'
            " changed; rename that sheet, and run the macro again."
        )
    return sheet
