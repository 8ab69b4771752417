"""The macros of the workbook: what Alt+F8 and its buttons run.

Each acts on the active workbook and ends with a message on the result; no formula runs one.
`SVC_REFRESH` reports the cells that changed. `SVC_FREEZE` replaces formulas by their values, each
read from the cell that it is written to, so that a freeze that stops halfway loses nothing; a log
sheet notes source and date first, and a cell without a value stays a formula. `com.nexus` has the
macros of the register.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_tools.display import counted, first_of
from svc_tools.excel.com.udfs import refreshed_at
from svc_tools.excel.com.workbook import Area, Workbook
from svc_tools.excel.desk import the_desk
from svc_tools.excel.functions import Call, evaluate, refresh_plan
from svc_tools.excel.values import CellError, ErrorCell, error_in, of_1904
from svc_tools.excel.workbook.writing import FROZEN
from svc_tools.extras import needs

with needs("Excel through xlwings", "excel"):
    import xlwings as xw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.excel.com.workbook import Sheet
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar

__all__ = [  # what `import *` of the workbook's module brings
    "SVC_FREEZE",
    "SVC_REFRESH",
]
NOTHING_CHANGED = "Nothing was changed."
_CHANGES_SHOWN = 10
FROZEN_COLUMNS = ("sheet", "range", "source", "oldest result", "frozen at")
"""The headings of the log: one row per sheet and freeze. The task pane writes the same."""
_FROZEN_WIDTHS = (14, 12, 40, 27, 27)
_LISTED = 10
"""How many of the cells that stay formulas a message lists."""
_log = logging.getLogger(__name__)


def refresh(workbook: Workbook, desk: Desk) -> str:
    """Look every place of the workbook up again once the user agrees, then compute its cells.

    Returns:
        What was looked up and what changed, with the first cells whose value changed.
    """
    if not workbook.is_calculated:
        return f"Excel has not computed everything yet; press F9, then refresh. {NOTHING_CHANGED}"
    from_1904 = workbook.counts_from_1904
    cells, unknown = workbook.contents().in_use(
        lambda name, given: Call(name, tuple(map(of_1904, given) if from_1904 else given))
    )
    plan = refresh_plan(desk, cells, unknown)
    if (plan.places or unknown) and not workbook.confirmed(f"{plan.sentence} Refresh now?"):
        return NOTHING_CHANGED
    before = _shown(workbook)
    report = desk.refresh(plan.places)
    if not report.happened:
        return report.sentence
    refreshed_at[workbook.full_name] = report.since
    try:
        workbook.calculate()
    except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
        _log.warning("the workbook could not be computed: %s", type(error).__name__)
        return f"{report.sentence} Excel could not compute the workbook; press Ctrl+Alt+F9."
    after = _shown(workbook)
    changed = [(where, before[where], now) for where, now in after.items() if where in before]
    changed = [one for one in changed if one[1] != one[2]]
    if not changed:
        return f"{report.sentence} No cell changed."
    lines = [f"{where}: {_cell_text(was)} -> {_cell_text(now)}" for where, was, now in changed]
    heading = f"{report.sentence} {counted(len(changed), 'cell')} changed:"
    return "\n".join([heading, *first_of(lines, _CHANGES_SHOWN)])


def _shown(workbook: Workbook) -> dict[str, Scalar]:
    """The values of the formulas that call our functions, by sheet and cell."""
    return {
        f"{sheet.name}!{cell.address}": value
        for sheet in workbook.sheets
        for cell, value in sheet.calls().items()
    }


def _cell_text(value: Scalar) -> str:
    if isinstance(value, ErrorCell):
        return value.text
    if value is None:
        return "(empty)"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _freeze(book: Workbook, desk: Desk) -> str:
    if not book.is_calculated:
        return f"Excel has not computed everything yet; press F9, then freeze. {NOTHING_CHANGED}"
    chosen = book.selected()
    blocks, left = _find_formulas(book, chosen) if chosen is not None else ([], [])
    where = "the selected cells"
    if not blocks and not left:
        blocks, left = _find_formulas(book)
        where = "the whole workbook"
    if not blocks and not left:
        return f"No formula of the workbook has an SVC function. {NOTHING_CHANGED}"
    cells = sum(block.size for block in blocks)
    stay = f" {counted(len(left), 'formula')} without a value will stay." if left else ""
    question = (
        f"Freeze {counted(cells, 'cell')} of {where}?{stay} The formulas do not come back: keep a"
        " copy of the workbook."
    )
    if blocks and not book.confirmed(question):
        return NOTHING_CHANGED
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return freeze(book, desk, blocks, left, at=now).sentence


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
        stay = "stays a formula" if len(self.left) == 1 else "stay formulas"
        heading = f"{text} {counted(len(self.left), 'cell')} {stay}:"
        return "\n".join([heading, *first_of(self.left, _LISTED)])


def _find_formulas(
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
        left: what stays a formula, as `_find_formulas` returned it.
        at: the time to note (UTC).

    Raises:
        ValueError: the log sheet has other headings; no cell was changed.
    """
    failed: list[str] = []
    done: list[Block] = []
    with workbook.suspended():
        if blocks:
            _note_source(workbook, desk, blocks, at)
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


def _note_source(workbook: Workbook, desk: Desk, blocks: Sequence[Block], at: str) -> None:
    source, oldest = (
        "" if isinstance(one, CellError) or one is None else str(one)
        for one in evaluate(desk, [Call("SVC_SOURCE"), Call("SVC_ASOF")])
    )
    areas: dict[str, list[Area]] = {}
    for block in blocks:
        areas.setdefault(block.sheet.name, []).append(block.area)
    rows = [(name, Area.around(some).address, source, oldest, at) for name, some in areas.items()]
    log = _frozen_sheet(workbook)
    used = log.used
    log.put(Area(used.row + used.height, 1, len(rows), len(FROZEN_COLUMNS)), rows)


def _frozen_sheet(workbook: Workbook) -> Sheet:
    """The log sheet, added where it is missing.

    Raises:
        ValueError: a sheet of that name has other headings.
    """
    heading = Area(1, 1, 1, len(FROZEN_COLUMNS))
    sheet = workbook.sheet(FROZEN)
    if sheet is None:
        sheet = workbook.add_sheet(FROZEN)
        sheet.put(heading, [FROZEN_COLUMNS])
        sheet.format_heading(heading, _FROZEN_WIDTHS)
    elif tuple(str(head or "").casefold() for head in sheet.values(heading)[0]) != FROZEN_COLUMNS:
        raise ValueError(
            f'The sheet "{FROZEN}" has other headings than {", ".join(FROZEN_COLUMNS)}. Nothing was'
            " changed; rename that sheet, and run the macro again."
        )
    return sheet


def macro(name: str, act: Callable[[Workbook, Desk], str], help_text: str) -> Callable[[], None]:
    """A macro without arguments, as xlwings finds it; its name is what Alt+F8 shows."""

    def run() -> None:
        _run(name, act)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = help_text
    run.__annotations__ = {}  # xlwings reads them
    made: Callable[[], None] = xw.sub(run)
    return made


def _run(name: str, act: Callable[[Workbook, Desk], str]) -> None:
    """Run a macro on the active workbook and show its message, or why it failed."""
    book = Workbook(xw.Book.caller())
    try:
        text = act(book, the_desk())
    except (ValueError, OSError, ImportError, SvcError, CellError) as error:
        text = str(error)
    except Exception as error:  # noqa: BLE001 - a readable message, and no more
        _log.warning("%s failed: %s", name, type(error).__name__)
        text = f"{name} could not be finished ({type(error).__name__})."
    book.show(text)


SVC_REFRESH = macro(
    "SVC_REFRESH", refresh, "Look every place of the workbook up again, and compute its cells."
)
SVC_FREEZE = macro(
    "SVC_FREEZE", _freeze, "Replace formulas by their values: the selected ones, else all."
)
