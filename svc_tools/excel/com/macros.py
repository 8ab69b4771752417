"""The macros of the workbook: what Alt+F8 and its buttons run.

Each acts on the active workbook and ends with a message on the result; no formula runs one.
`SVC_REFRESH` reports the cells that changed. `SVC_FREEZE` replaces formulas by their values, each
read from the cell that it is written to, so that a freeze that stops halfway loses nothing; a log
sheet notes source and date first, and a cell without a value stays a formula. `com.nexus` has the
macros of the register.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from svc_sdk import SvcError
from svc_tools.base.extras import needs
from svc_tools.excel.com.udfs import refreshed_at
from svc_tools.excel.com.workbook import CellBlock, Sheet, Workbook, shown_text
from svc_tools.excel.desk import the_desk
from svc_tools.excel.functions import FunctionCall, evaluate, refresh_plan
from svc_tools.excel.results import lasting
from svc_tools.excel.values import CellError, error_in
from svc_tools.excel.workbook.writing import FROZEN
from svc_tools.show.display import counted, first_of

with needs("Excel through xlwings", "excel"):
    import xlwings as xw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar

__all__ = ["SVC_FREEZE", "SVC_REFRESH"]  # what `import *` of the workbook's module brings
NOTHING_CHANGED = "Nothing was changed."
FROZEN_COLUMNS = ("sheet", "range", "source", "oldest result", "frozen at")
"""The headings of the log: one row per sheet and freeze. The task pane writes the same."""
_FROZEN_WIDTHS = (14, 12, 40, 27, 27)
_LISTED = 10
"""How many cells a message lists."""
_log = logging.getLogger(__name__)


def refresh(workbook: Workbook, desk: Desk) -> str:
    """Look every place of the workbook up again once the user agrees, then compute its cells.

    Returns:
        What was looked up and what changed, with the first cells whose value changed.
    """
    if not workbook.is_calculated:
        return f"Excel has not computed everything yet; press F9, then refresh. {NOTHING_CHANGED}"
    from_1904 = workbook.from_1904
    cells, unknown = workbook.contents().in_use(
        lambda name, given: FunctionCall(name, tuple(given), from_1904)
    )
    plan = refresh_plan(desk, cells, unknown)
    if (plan.places or unknown) and not workbook.confirmed(f"{plan.sentence} Refresh now?"):
        return NOTHING_CHANGED
    before = _shown(workbook)
    report = desk.refresh(plan.places)
    if not report.happened:
        return report.sentence
    refreshed_at[workbook.api.FullName] = report.since
    try:
        workbook.api.Application.CalculateFull()
    except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
        _log.warning("the workbook could not be computed: %s", type(error).__name__)
        return f"{report.sentence} Excel could not compute the workbook; press Ctrl+Alt+F9."
    after = _shown(workbook)
    lines = [
        f"{where}: {shown_text(before[where]) or '(empty)'} -> {shown_text(now) or '(empty)'}"
        for where, now in after.items()
        if where in before and lasting(before[where]) != lasting(now)
    ]
    if not lines:
        return f"{report.sentence} No cell changed."
    return _listed(f"{report.sentence} {counted(len(lines), 'cell')} changed:", lines)


def _listed(text: str, lines: Sequence[str]) -> str:
    """A text with the first of its lines below it."""
    return "\n".join([text, *first_of(lines, _LISTED)])


def _shown(workbook: Workbook) -> dict[str, Scalar]:
    """The values of the formulas that call our functions, by sheet and cell."""
    return {
        f"{sheet.name}!{cell.address}": value
        for sheet in workbook.sheets
        for cell, value in sheet.calls().items()
    }


def freeze(book: Workbook, desk: Desk) -> str:
    """Replace formulas by their values once the user agrees: the selected ones, else all.

    Returns:
        How many cells are values now, and which stay formulas and why.

    Raises:
        ValueError: the log sheet has other headings; no cell was changed.
    """
    if not book.is_calculated:
        return f"Excel has not computed everything yet; press F9, then freeze. {NOTHING_CHANGED}"
    chosen = book.selected()
    where, found = "the selected cells", [] if chosen is None else _blocks(*chosen)
    if not found:
        where, found = "the whole workbook", [block for at in book.sheets for block in _blocks(at)]
    if not found:
        return f"No formula of the workbook has an SVC function. {NOTHING_CHANGED}"
    blocks = [block for block in found if not block.why]
    left = [f"{block.address}: {block.why}" for block in found if block.why]
    stay = f" {counted(len(left), 'formula')} without a value will stay." if left else ""
    question = (
        f"Freeze {counted(sum(block.size for block in blocks), 'cell')} of {where}?{stay} The"
        " formulas do not come back: keep a copy of the workbook."
    )
    if blocks and not book.confirmed(question):
        return NOTHING_CHANGED
    done: list[Block] = []
    manual = book.app.properties(calculation="manual")
    with manual, book.app.properties(screen_updating=False):  # the screen comes back first
        if blocks:
            _note_source(book, desk, blocks)
        for block in blocks:
            try:
                block.sheet.put(block.area, block.values)
                done.append(block)
            except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
                left.append(f"{block.address}: Excel refused it ({type(error).__name__})")
    cells, sheets = sum(block.size for block in done), {block.sheet.name for block in done}
    text = f"Frozen: {counted(cells, 'cell')} on {counted(len(sheets), 'sheet')}."
    if cells:
        text += f' The sheet "{FROZEN}" has their source and date.'
    stay = "stays a formula" if len(left) == 1 else "stay formulas"
    return _listed(f"{text} {counted(len(left), 'cell')} {stay}:", left) if left else text


class Block(NamedTuple):
    """The cells with the result of one formula: a single cell, or those of an array."""

    sheet: Sheet
    area: CellBlock
    values: Sequence[Sequence[Scalar]]
    why: str
    """Why they cannot become values; "" where they can."""

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.area.height * self.area.width

    @property
    def address(self) -> str:
        """Sheet and cells."""
        return f"{self.sheet.name}!{self.area.address}"


def _blocks(sheet: Sheet, within: Sequence[CellBlock] | None = None) -> list[Block]:
    """Each formula of a sheet, or of some cells, once, with all cells of its result."""
    calls = sheet.calls()
    arrays = bool(calls) and sheet.has_arrays()
    taken: set[CellBlock] = set()
    found = []
    for cell, value in calls.items():
        inside = within is None or any(block.holds(cell) for block in within)
        if cell in taken or not inside:
            continue
        array = sheet.array(cell) if arrays else None
        area, values = (cell, [[value]]) if array is None else (array, sheet.values(array))
        found.append(Block(sheet, area, values, _no_value(sheet, area, values)))
        taken.update(area.cells())
    return found


def _no_value(sheet: Sheet, area: CellBlock, values: Sequence[Sequence[Scalar]]) -> str:
    """Why cells cannot become values; "" where they can."""
    if sheet.api.ProtectContents:
        return "the sheet is protected"
    for value in (value for row in values for value in row):
        if error_in("", value) is not None:
            return shown_text(value)
    if sheet.is_text(area):
        return "the cell is formatted as text, in which a number would become a text"
    return ""


def _note_source(workbook: Workbook, desk: Desk, blocks: Sequence[Block]) -> None:
    """Add a row for each sheet to the log, whose sheet is added where it is missing."""
    source, oldest = (
        "" if isinstance(value, CellError) or value is None else str(value)
        for value in evaluate(desk, [FunctionCall("SVC_SOURCE"), FunctionCall("SVC_ASOF")])
    )
    at = datetime.now(UTC).isoformat(timespec="seconds")
    areas: dict[str, list[CellBlock]] = {}
    for block in blocks:
        areas.setdefault(block.sheet.name, []).append(block.area)
    rows = [
        (name, CellBlock.around(some).address, source, oldest, at) for name, some in areas.items()
    ]
    heading = CellBlock(1, 1, 1, len(FROZEN_COLUMNS))
    named = (sheet for sheet in workbook.sheets if sheet.name.casefold() == FROZEN.casefold())
    log = next(named, None)
    if log is None:
        log = workbook.add_sheet(FROZEN)
        log.put(heading, [FROZEN_COLUMNS])
        log.format_heading(heading, _FROZEN_WIDTHS)
    elif tuple(str(head or "").casefold() for head in log.values(heading)[0]) != FROZEN_COLUMNS:
        raise ValueError(
            f'The sheet "{FROZEN}" has other headings than {", ".join(FROZEN_COLUMNS)}. Nothing was'
            " changed; rename that sheet, and run the macro again."
        )
    used = log.used
    log.put(CellBlock(used.row + used.height, 1, len(rows), len(FROZEN_COLUMNS)), rows)


def macro(name: str, act: Callable[[Workbook, Desk], str]) -> Callable[[], None]:
    """A macro without arguments, as xlwings finds it; its name is what Alt+F8 shows.

    It runs on the active workbook and shows its message, or why it failed.
    """

    def run() -> None:
        book = Workbook(xw.Book.caller())
        try:
            text = act(book, the_desk())
        except (ValueError, OSError, ImportError, SvcError, CellError) as error:
            text = str(error)
        except Exception as error:  # noqa: BLE001 - a readable message, and no more
            _log.warning("%s failed: %s", name, type(error).__name__)
            text = f"{name} could not be finished ({type(error).__name__})."
        book.show(text)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = str(act.__doc__).partition("\n")[0]
    run.__annotations__ = {}  # xlwings reads them
    made: Callable[[], None] = xw.sub(run)
    return made


SVC_REFRESH = macro("SVC_REFRESH", refresh)
SVC_FREEZE = macro("SVC_FREEZE", freeze)
