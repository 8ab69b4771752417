"""The nexus macros of the workbook: the register on the sheet Nexus.

Records are listed, ticked, previewed, removed and restored. The plan, its checks, the journal and
the receipt are those of `svc_tools.nexus`, and nothing is changed before the user has typed the
number of requests.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.display import counted
from svc_tools.excel.com.macros import NOTHING_CHANGED, macro
from svc_tools.excel.com.workbook import Area
from svc_tools.excel.values import FIRST_DAY, FROM_1904
from svc_tools.excel.workbook.writing import NEXUS, NEXUS_COLUMNS, NEXUS_MARKS, NEXUS_MESSAGE
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar
    from svc_tools.nexus import Plan, PlannedRequest, Receipt, ReceiptItem, Register

__all__ = [  # what `import *` of the workbook's module brings
    "SVC_NEXUS_LIST",
    "SVC_NEXUS_PREVIEW",
    "SVC_NEXUS_REMOVE",
    "SVC_NEXUS_RESTORE",
]
_REQUESTS_SHOWN = 20


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
            return NOTHING_CHANGED
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
        return NOTHING_CHANGED
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
            f"The rows name {len(paths)} receipts. {NOTHING_CHANGED} Select a cell in a row whose"
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
        return NOTHING_CHANGED
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


SVC_NEXUS_LIST = macro(
    "SVC_NEXUS_LIST", list_records, "List the account's records, with the suggestions of a plan."
)
SVC_NEXUS_PREVIEW = macro(
    "SVC_NEXUS_PREVIEW", preview, "Show the requests for the ticked rows; none of them is sent."
)
SVC_NEXUS_REMOVE = macro("SVC_NEXUS_REMOVE", remove, "Remove the ticked records once confirmed.")
SVC_NEXUS_RESTORE = macro("SVC_NEXUS_RESTORE", undo, "Add the records of a receipt again.")
