"""Formulas become their values, and the sheet of what was frozen says what they were.

What shows an error or #PARTIAL is no value: it stays a formula, and is listed. Rows of the log are
written before a cell changes, and what was written is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svc_tools.excel.cell_errors import CellError
from svc_tools.excel.com.areas import Area
from svc_tools.excel.com.frozen_log import FrozenCell, Log
from svc_tools.excel.com.sheet_grid import Grid
from svc_tools.excel.evaluating import Call, evaluate, unasked
from svc_tools.excel.values import error_in
from svc_tools.excel.workbook.layout import FROZEN
from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar

__all__ = ["Block", "Freeze", "NotFrozen", "find", "freeze"]

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Block:
    """A formula and the cells that show its result: one, or those of an array.

    Attributes:
        sheet: the sheet.
        area: the cells.
        kind: "" for one cell, "spilled" or "array" (a fixed array formula).
        formula: the formula.
        values: what the cells show.
        source: who answered.
        answered: when (UTC); "" where that is not known.
    """

    sheet: Sheet
    area: Area
    kind: str
    formula: str
    values: Sequence[Sequence[Scalar]]
    source: str = ""
    answered: str = ""

    @property
    def named(self) -> str:
        """Where it is, for sentences."""
        return f"{self.sheet.name}!{self.area.address}"

    def logged(self, at: str) -> list[FrozenCell]:
        """The rows of the log: the first has the formula, the others say whose part they are."""
        cells = list(self.area.cells())
        first = cells[0].address
        part = {"spilled": f"spilled from {first}", "array": f"array of {first}"}.get(self.kind, "")
        whole = f"{{{self.formula}}}" if self.kind == "array" else self.formula
        values = [value for row in self.values for value in row]
        return [
            FrozenCell(
                self.sheet.name,
                cell.address,
                part if place else whole,
                value,
                self.source,
                self.answered,
                at,
            )
            for place, (cell, value) in enumerate(zip(cells, values, strict=True))
        ]


@dataclass(frozen=True, slots=True)
class NotFrozen:
    """A cell that stays a formula, and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Freeze:
    """What came of it: how many cells are values now, and which stay formulas."""

    cells: int
    sheets: int
    left: tuple[NotFrozen, ...]

    @property
    def sentence(self) -> str:
        """It in words, with the first of the cells that stay."""
        told = f"Frozen: {counted(self.cells, 'cell')} on {counted(self.sheets, 'sheet')}."
        if self.cells:
            told += f' The sheet "{FROZEN}" has their formulas; SVC_UNFREEZE puts them back.'
        if not self.left:
            return told
        lines = [f"{one.where}: {one.why}" for one in self.left[:_SHOWN]]
        more = len(self.left) - len(lines)
        lines += [f"and {more:,} more"] if more else []
        stay = "stays a formula" if len(self.left) == 1 else "stay formulas"
        return "\n".join([f"{told} {counted(len(self.left), 'cell')} {stay}:", *lines])


def find(
    workbook: Workbook, desk: Desk, within: tuple[Sheet, Sequence[Area]] | None = None
) -> tuple[list[Block], list[NotFrozen]]:
    """The formulas that can be frozen, and those that cannot; nothing is changed.

    Args:
        workbook: the workbook.
        desk: what knows who answered; nothing is asked for.
        within: only formulas in these cells of this sheet.
    """
    found: list[Block] = []
    left: list[NotFrozen] = []
    for sheet in workbook.sheets if within is None else [within[0]]:
        if sheet.name.casefold() == FROZEN.casefold():
            continue
        grid = Grid(workbook, sheet)
        blocks = _blocks(grid, None if within is None else within[1])
        if blocks and sheet.protected:
            why = "the sheet is protected"
            left += [NotFrozen(block.named, why) for _, block in blocks]
            continue
        whole = []
        for cell, block in blocks:
            error = _shown_error(block)
            if error:
                left.append(NotFrozen(block.named, error))
            else:
                whole.append((cell, block))
        found += _sourced(desk, grid, whole)
    return found, left


def freeze(
    workbook: Workbook, blocks: Sequence[Block], left: Sequence[NotFrozen], *, at: str
) -> Freeze:
    """Write the log, then the values.

    Args:
        workbook: the workbook.
        blocks: the formulas.
        left: what was found that stays.
        at: the time (UTC), as it is noted.

    Raises:
        ValueError: the log cannot be written; no cell was changed.
    """
    if not blocks:
        return Freeze(0, 0, tuple(left))
    log = Log(workbook)
    with workbook.at_rest():
        cells = [block.logged(at) for block in blocks]
        numbers = iter(log.append([cell for of_block in cells for cell in of_block]))
        rows = [[next(numbers) for _ in of_block] for of_block in cells]
        failed = []
        for block, of_block in zip(blocks, rows, strict=True):
            why = _written(block)
            if why:
                failed.append((block, NotFrozen(block.named, why)))
                for row in of_block:
                    log.put_back(row, f"{at} (not frozen)")
    done = [block for block in blocks if block not in [one for one, _ in failed]]
    return Freeze(
        sum(block.area.height * block.area.width for block in done),
        len({block.sheet.name for block in done}),
        (*left, *(one for _, one in failed)),
    )


def _blocks(grid: Grid, within: Sequence[Area] | None) -> list[tuple[Area, Block]]:
    """Each formula once, with all cells that show its result."""
    arrays = grid.sheet.has_arrays(grid.area)
    taken: set[Area] = set()
    found = []
    for cell, formula in grid.calling(within):
        if cell in taken:
            continue
        kind, area = (grid.sheet.array(cell) if arrays else None) or ("", cell)
        first = Area(area.row, area.column)
        taken.update(area.cells())
        spoken = formula if first == cell else grid.sheet.formulas(first)[0][0]
        found.append((first, Block(grid.sheet, area, kind, spoken, grid.values(area))))
    return found


def _shown_error(block: Block) -> str:
    """The error that a cell of it shows; "" where all show values."""
    for row in block.values:
        for value in row:
            error = error_in("", value)
            if error is not None:
                return str(getattr(value, "text", value))
    return ""


def _sourced(desk: Desk, grid: Grid, blocks: list[tuple[Area, Block]]) -> list[Block]:
    """The formulas with who answered and when; nothing is asked for."""
    asked = [grid.asked(cell) for cell, _ in blocks]
    calls = [Call("SVC_SOURCE", given or ()) for given in asked]
    days = [Call("SVC_ASOF", given or ()) for given in asked]
    known = [
        given is not None and not unasked(desk, call)
        for given, call in zip(asked, calls, strict=True)
    ]
    one = [
        call if sure else Call("SVC_SOURCE", ()) for call, sure in zip(calls, known, strict=True)
    ]
    results = evaluate(
        desk, [*one, *(call for call, sure in zip(days, known, strict=True) if sure)]
    )
    sources, answered = results[: len(one)], iter(results[len(one) :])
    return [
        replace(block, source=_text(source), answered=_text(next(answered)) if sure else "")
        for (_, block), source, sure in zip(blocks, sources, known, strict=True)
    ]


def _text(result: object) -> str:
    return "" if isinstance(result, CellError) or result is None else str(result)


def _written(block: Block) -> str:
    """Write the values of a formula over it; why that did not work, "" where it did."""
    sheet, area = block.sheet, block.area
    try:
        if block.kind:
            sheet.clear(area if block.kind == "array" else Area(area.row, area.column))
        sheet.put(area, block.values)
        now = sheet.values(area)
    except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
        return _undone(block, f"Excel refused it ({type(error).__name__})")
    if _alike(now, block.values):
        return ""
    return _undone(block, "Excel made another value of it (is the cell formatted as text?)")


def _undone(block: Block, why: str) -> str:
    """Put the formula back that was being replaced."""
    array = block.kind == "array"
    area = block.area if array else Area(block.area.row, block.area.column)
    try:
        if block.sheet.formulas(area)[0][0] == block.formula:
            return why
        if block.kind:
            block.sheet.clear(block.area)
        block.sheet.put_formula(area, block.formula, array=array)
    except Exception:  # noqa: BLE001 - as above
        return f'{why}; its formula is in the sheet "{FROZEN}"'
    return f"{why}; its formula is back"


def _alike(now: Sequence[Sequence[Scalar]], then: Sequence[Sequence[Scalar]]) -> bool:
    """Whether the values are the same; an empty text is an empty cell."""

    def plain(rows: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        return [["" if one is None else one for one in row] for row in rows]

    return plain(now) == plain(then)
