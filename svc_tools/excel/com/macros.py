"""The macros of the workbook: what Alt+F8 and its buttons run.

Each acts on the active workbook and ends with a message on the result; no formula runs one.
`SVC_REFRESH` reports the cells that changed. `SVC_FREEZE` replaces formulas by their values, each
read from the cell that it is written to, so that a freeze that stops halfway loses nothing; a log
sheet notes source and date first, and a cell without a value stays a formula. The nexus macros list
the register on the sheet Nexus, where rows are ticked, previewed, removed and restored: the plan,
its checks, the journal and the receipt are those of `svc_tools.nexus`, and nothing is changed
before the user has typed the number of requests.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_tools import config
from svc_tools.display import counted
from svc_tools.excel.com.workbook import Area, Workbook
from svc_tools.excel.desk import the_desk
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.values import FIRST_DAY, FROM_1904, CellError, ErrorCell, error_in
from svc_tools.excel.workbook.writing import (
    FROZEN,
    NEXUS,
    NEXUS_COLUMNS,
    NEXUS_MARKS,
    NEXUS_MESSAGE,
)
from svc_tools.extras import needs
from svc_tools.nexus import (
    NotListedError,
    PlanError,
    apply_plan,
    list_register,
    make_plan,
    read_receipt,
    read_register,
    restore,
)
from svc_tools.nexus.notices import BEFORE_REMOVING, NOT_TICKED_NOTE
from svc_tools.nexus.plan import plan_header, plan_of, plan_rows
from svc_tools.nexus.register import cell_of

with needs("Excel through xlwings", "excel"):
    import xlwings as xw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svc_tools.excel.com.workbook import Sheet
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar
    from svc_tools.nexus import Plan, PlannedRequest, Receipt, ReceiptItem, Register

__all__ = [  # what `import *` of the workbook's module brings
    "SVC_FREEZE",
    "SVC_NEXUS_LIST",
    "SVC_NEXUS_PREVIEW",
    "SVC_NEXUS_REMOVE",
    "SVC_NEXUS_RESTORE",
    "SVC_REFRESH",
]
_NOTHING_CHANGED = "Nothing was changed."
_REQUESTS_SHOWN = 20
_CHANGES_SHOWN = 10
FROZEN_COLUMNS = ("sheet", "range", "source", "oldest result", "frozen at")
"""The headings of the log: one row per sheet and freeze. The task pane writes the same."""
_FROZEN_WIDTHS = (14, 12, 40, 27, 27)
_LISTED = 10
"""How many of the cells that stay formulas a message lists."""
_log = logging.getLogger(__name__)


def refresh(workbook: Workbook, desk: Desk) -> str:
    """Look every place of this session up again, then recalculate the workbook.

    Returns:
        What was looked up and what changed, with the first cells whose value changed.
    """
    before = _shown(workbook)
    report = desk.refresh()
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
    lines = [
        f"{where}: {_cell_text(was)} -> {_cell_text(now)}"
        for where, was, now in changed[:_CHANGES_SHOWN]
    ]
    more = len(changed) - len(lines)
    lines += [f"and {more:,} more"] if more else []
    return "\n".join([f"{report.sentence} {counted(len(changed), 'cell')} changed:", *lines])


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
        return f"Excel has not computed everything yet; press F9, then freeze. {_NOTHING_CHANGED}"
    chosen = book.selected()
    blocks, left = _find_formulas(book, chosen) if chosen is not None else ([], [])
    where = "the selected cells"
    if not blocks and not left:
        blocks, left = _find_formulas(book)
        where = "the whole workbook"
    if not blocks and not left:
        return f"No formula of the workbook has an SVC function. {_NOTHING_CHANGED}"
    cells = sum(block.size for block in blocks)
    stay = f" {counted(len(left), 'formula')} without a value will stay." if left else ""
    question = (
        f"Freeze {counted(cells, 'cell')} of {where}?{stay} The formulas do not come back: keep a"
        " copy of the workbook."
    )
    if blocks and not book.confirmed(question):
        return _NOTHING_CHANGED
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
        more = len(self.left) - _LISTED
        lines = [*self.left[:_LISTED], *([f"and {more:,} more"] if more > 0 else [])]
        stay = "stays a formula" if len(self.left) == 1 else "stay formulas"
        return "\n".join([f"{text} {counted(len(self.left), 'cell')} {stay}:", *lines])


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


def list_records(workbook: Workbook, desk: Desk) -> str:
    """List the account's records on the sheet, with what a plan suggests for each.

    Rows that the user typed are taken as the register, and compared with the service's list.

    Raises:
        ValueError: the sheet has no room, or the register cannot be read.
        SvcError: the service does not respond.
    """
    rows = _NexusRows(workbook)
    there = rows.rows
    if rows.are_planned:
        ticked = sum(bool(row["remove"]) for row in there)
        text = f"The sheet has {counted(len(there), 'row')}, {ticked:,} of them ticked."
        if not workbook.confirmed(f"{text} List the records again, and replace these rows?"):
            return _NOTHING_CHANGED
    try:
        listed: Register | None = list_register(desk.client)
    except NotListedError as error:
        if not there or rows.are_planned:
            return f"{error}. Type the records below the headings, and run SVC_NEXUS_LIST again."
        listed = None
    own = read_register(rows.register) if there and not rows.are_planned else listed
    who = config.account_of(desk.client)
    plan = make_plan(own, listed=listed, service=who.service, account=who.account)
    rows.fill(plan)
    text = f"{plan.sentence} {NOT_TICKED_NOTE}"
    rows.show(text)
    return text


def preview(workbook: Workbook, desk: Desk) -> str:
    """Show what the ticks would send, by row and as requests; nothing is changed.

    Raises:
        ValueError: the rows are not a plan, the ticks contradict each other, or nothing is ticked.
        SvcError: the service does not respond.
    """
    rows = _NexusRows(workbook)
    dry = apply_plan(rows.plan(), desk.client)
    text = _before(dry, dry.requests, removing=True)
    rows.outcomes(dry.items)
    rows.show(text)
    return text


def remove(workbook: Workbook, desk: Desk) -> str:
    """Remove what is ticked, once the user has typed the number of requests.

    Raises:
        ValueError: see `preview`; nothing was changed.
        SvcError: the service does not respond; nothing was changed.
    """
    rows = _NexusRows(workbook)
    plan = rows.plan()
    dry = apply_plan(plan, desk.client)
    requests = dry.requests
    rows.outcomes(dry.items)
    if not requests:
        rows.show(dry.sentence)
        return dry.sentence
    text = _before(dry, requests, removing=True)
    rows.show(text)
    if not _typed(workbook, text, len(requests), "remove them"):
        return _NOTHING_CHANGED
    return _after(workbook, desk, rows, apply_plan(plan, desk.client, dry_run=False))


def undo(workbook: Workbook, desk: Desk) -> str:
    """Restore the records of a receipt that are gone, once the user has typed their number.

    The receipt is that of the selected row, else the only one that the rows name.

    Raises:
        ValueError: there is no receipt, or it cannot be restored; nothing was changed.
        SvcError: the service does not respond; nothing was changed.
    """
    rows = _NexusRows(workbook)
    paths = rows.receipts
    if not paths:
        raise ValueError(
            f"No row of the sheet {NEXUS} names a receipt. svc-tools nexus receipts shows them all."
        )
    if len(paths) > 1:
        raise ValueError(
            f"The rows name {len(paths)} receipts. {_NOTHING_CHANGED} Select a cell in a row whose"
            " receipt is to be undone, then run SVC_NEXUS_RESTORE again."
        )
    removed = read_receipt(paths[0])
    dry = restore(removed, desk.client)
    requests = dry.requests
    if not requests:
        rows.show(dry.sentence)
        return dry.sentence
    text = _before(dry, requests, removing=False)
    rows.show(text)
    if not _typed(workbook, text, len(requests), "add them again"):
        return _NOTHING_CHANGED
    return _after(workbook, desk, rows, restore(removed, desk.client, dry_run=False))


def _before(dry: Receipt, requests: Sequence[PlannedRequest], *, removing: bool) -> str:
    """The requests that would be sent, and what to know first."""
    lines = [one.line for one in requests[:_REQUESTS_SHOWN]]
    more = len(requests) - len(lines)
    lines += [f"and {more:,} more"] if more else []
    notes = [*dry.notes, dry.undo_note, *(BEFORE_REMOVING if removing and requests else ())]
    return "\n".join([dry.sentence, *lines, *filter(None, notes)])


def _typed(workbook: Workbook, text: str, count: int, doing: str) -> bool:
    """Whether the user confirmed and typed the number of requests."""
    if not workbook.confirmed(f"{text}\n\nGo on?"):
        return False
    typed = workbook.prompt(f"{counted(count, 'request')}. To {doing}, type the number: {count}")
    return typed == str(count)


def _after(workbook: Workbook, desk: Desk, rows: _NexusRows, receipt: Receipt) -> str:
    """The message on what was done, even where the sheet cannot be written any more."""
    path = "" if receipt.path is None else str(receipt.path)
    text = "\n".join([receipt.sentence, *receipt.advice])
    text += f"\nReceipt: {path}" if path else ""
    with suppress(Exception):  # the requests were sent: that has to be shown in any case
        rows.outcomes(receipt.items, path)
        rows.show(text)
        desk.refresh_register()
        workbook.calculate()
    return text


class _NexusRows:
    """The rows below the headings of the sheet Nexus, up to the first without a state.

    Raises:
        ValueError: there are no such headings.
    """

    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook
        self.sheet, self._head, self._left = _found(workbook)
        self.all = NEXUS_COLUMNS + NEXUS_MARKS

    @property
    def rows(self) -> list[dict[str, Scalar]]:
        """The rows, by heading, in order."""
        used = self.sheet.used
        last = used.row + used.height - 1
        if last <= self._head:
            return []
        block = self.sheet.values(self._block(last - self._head))
        found: list[dict[str, Scalar]] = []
        for cells in block:
            row = dict(zip(self.all, cells, strict=True))
            if cell_of(row["state"]) is None:
                break
            found.append(row)
        return found

    def fill(self, plan: Plan) -> None:
        """Write a plan over the current rows.

        Raises:
            ValueError: there is something else in the way; nothing was changed.
        """
        marks = {"plan": plan_header(plan)}
        lines = [
            row | marks | {"type": row["nexus_type"], "outcome": "", "receipt": ""}
            for row in plan_rows(plan)
        ]
        old = len(self.rows)
        self._require_room(old, len(lines))
        if lines:
            marks_at = Area(self._head, self._left + len(NEXUS_COLUMNS), 1, len(NEXUS_MARKS))
            self.sheet.put(marks_at, [NEXUS_MARKS])
            cells = [[line[name] for name in self.all] for line in lines]
            self.sheet.put(self._block(len(lines)), cells)
        if old > len(lines):  # last: rows that the user typed stay until the plan is written
            first = self._head + 1 + len(lines)
            self.sheet.clear(Area(first, self._left, old - len(lines), len(self.all)))

    def plan(self) -> Plan:
        """The plan, as ticked on the sheet.

        Raises:
            PlanError: rows were changed, are of no plan, or the ticks contradict each other.
        """
        rows = self.rows
        plans = {_number_text(row["plan"]) for row in rows}
        if len(plans) != 1 or "" in plans:
            raise PlanError([f"the rows of the sheet {NEXUS} are not of one plan; list them again"])
        cells = [
            {name: _number_text(cell) for name, cell in row.items()}
            | {"nexus_type": row["type"], "registered_at": self._day(row["registered_at"])}
            for row in rows
        ]
        lines = enumerate(cells, self._head + 1)
        return plan_of("".join(plans), lines, name=f"The sheet {NEXUS}")

    @property
    def register(self) -> list[dict[str, object]]:
        """The rows as records, as `read_register` takes them."""
        fields = ("state", "registered_at", "address", "notes")
        return [
            {
                name: self._day(row[name]) if name == "registered_at" else row[name]
                for name in fields
            }
            | {"nexus_type": row["type"]}
            for row in self.rows
        ]

    @property
    def are_planned(self) -> bool:
        """Whether the rows are those of a plan."""
        return any(cell_of(row["plan"]) is not None for row in self.rows)

    def outcomes(self, items: Iterable[ReceiptItem], receipt: str = "") -> None:
        """Write the outcome of each row that an item is about."""
        by_key = {item.key: item for item in items}
        for number, row in enumerate(self.rows, self._head + 1):
            item = by_key.get((_number_text(row["state"]), _number_text(row["type"])))
            if item is not None:
                self._put(number, "outcome", _outcome(item))
                if receipt:
                    self._put(number, "receipt", receipt)

    @property
    def receipts(self) -> list[str]:
        """The distinct receipts that the selected rows name; else those that any row names."""
        chosen = self._workbook.selected()
        rows = self.rows
        of_selected = [
            _number_text(row["receipt"])
            for number, row in enumerate(rows, self._head + 1)
            if chosen is not None
            and chosen[0].name == self.sheet.name
            and any(area.row <= number < area.row + area.height for area in chosen[1])
        ]
        of_any = [_number_text(row["receipt"]) for row in rows]
        return [path for path in dict.fromkeys(of_selected if any(of_selected) else of_any) if path]

    def show(self, text: str) -> None:
        """Show a text in the message cell."""
        cells = self._workbook.named(NEXUS_MESSAGE)
        if cells is not None:
            sheet, area = cells
            sheet.put(Area(area.row, area.column), [[text]])

    def _block(self, height: int) -> Area:
        return Area(self._head + 1, self._left, height, len(self.all))

    def _day(self, value: Scalar) -> object:
        """A day on the sheet; a date cell is a number.

        Raises:
            ValueError: the workbook uses the 1904 date system.
        """
        if isinstance(value, float):
            if self._workbook.counts_from_1904:
                raise ValueError(FROM_1904)
            return FIRST_DAY + timedelta(days=int(value))
        return value

    def _put(self, row: int, name: str, text: str) -> None:
        self.sheet.put(Area(row, self._left + self.all.index(name)), [[text]])

    def _require_room(self, old: int, wanted: int) -> None:
        """Refuse to overwrite what is not a row of the register.

        Raises:
            ValueError: there is something else in the way; nothing was changed.
        """
        if wanted <= old:
            return
        first = self._head + 1 + old
        below = self.sheet.values(Area(first, self._left, wanted - old, len(self.all)))
        for row, cells in enumerate(below, first):
            if any(cell_of(cell) is not None for cell in cells):
                raise ValueError(
                    f"The records need {wanted:,} rows of the sheet {NEXUS}, and something else"
                    f" stands in row {row}. Nothing was changed; clear that row, or move it."
                )


def _found(workbook: Workbook) -> tuple[Sheet, int, int]:
    """The sheet, and the row and first column of its headings."""
    sheet = workbook.sheet(NEXUS)
    if sheet is not None:
        used = sheet.used
        for down, cells in enumerate(sheet.values(used)):
            heads = ["" if cell is None else str(cell).strip().casefold() for cell in cells]
            for across in range(len(heads) - len(NEXUS_COLUMNS) + 1):
                if tuple(heads[across : across + len(NEXUS_COLUMNS)]) == NEXUS_COLUMNS:
                    return sheet, used.row + down, used.column + across
    raise ValueError(
        f'There is no sheet "{NEXUS}" with the headings {", ".join(NEXUS_COLUMNS)} side by side.'
        " The workbook that svc-tools makes has one: svc-tools excel workbook"
    )


def _outcome(item: ReceiptItem) -> str:
    word = item.status.replace("_", " ")
    shown = word.upper() if item.status == "removed_only" else word
    return f"{shown}: {item.message}" if item.message else shown


def _number_text(value: Scalar) -> str:
    if isinstance(value, float):
        return f"{value:g}" if value != int(value) else str(int(value))
    return "" if value is None else str(value)


def _macro(name: str, act: Callable[[Workbook, Desk], str], help_text: str) -> Callable[[], None]:
    """A macro without arguments, as xlwings finds it; its name is what Alt+F8 shows."""

    def macro() -> None:
        _run(name, act)

    macro.__name__ = macro.__qualname__ = name
    macro.__doc__ = help_text
    macro.__annotations__ = {}  # xlwings reads them
    made: Callable[[], None] = xw.sub(macro)
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


SVC_REFRESH = _macro(
    "SVC_REFRESH", refresh, "Refresh every rate of this session and recalculate the workbook."
)
SVC_FREEZE = _macro(
    "SVC_FREEZE", _freeze, "Replace formulas by their values: the selected ones, else all."
)
SVC_NEXUS_LIST = _macro(
    "SVC_NEXUS_LIST", list_records, "List the account's records, with the suggestions of a plan."
)
SVC_NEXUS_PREVIEW = _macro(
    "SVC_NEXUS_PREVIEW", preview, "Show the requests for the ticked rows; none of them is sent."
)
SVC_NEXUS_REMOVE = _macro("SVC_NEXUS_REMOVE", remove, "Remove the ticked records once confirmed.")
SVC_NEXUS_RESTORE = _macro("SVC_NEXUS_RESTORE", undo, "Add the records of a receipt again.")
