"""The nexus macros of the workbook: the register on the sheet Nexus.

Records are listed, marked, previewed, removed, added and restored. The plan, its checks, the
journal and the receipt are those of `svc_tools.nexus`, and nothing is changed before the user has
typed the number of requests. Errors are `ValueError` and `SvcError`; then nothing was changed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from svc_tools import config, nexus
from svc_tools.excel.com.macros import NOTHING_CHANGED, macro
from svc_tools.excel.com.workbook import CellBlock, shown_text
from svc_tools.excel.values import FIRST_DAY, CellError, pass_on_error, refusal_of_1904
from svc_tools.excel.workbook.writing import (
    ADD,
    NEXUS_COLUMNS,
    NEXUS_HEADINGS,
    NEXUS_MARKS,
    NEXUS_MESSAGE,
)
from svc_tools.nexus.edit import new_record
from svc_tools.nexus.notices import ADDING_NOTE, BEFORE_REMOVING, NOT_TICKED_NOTE
from svc_tools.nexus.plan import plan_header, plan_of, plan_rows
from svc_tools.nexus.register import FIELDS, nexus_type_of
from svc_tools.show.display import counted, first_of
from svc_tools.tables.states import us_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.excel.com.workbook import Workbook
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar
    from svc_tools.nexus import Plan, Receipt, ReceiptItem

__all__ = [  # what `import *` of the workbook's module brings
    "SVC_NEXUS_ADD",
    "SVC_NEXUS_LIST",
    "SVC_NEXUS_PREVIEW",
    "SVC_NEXUS_REMOVE",
    "SVC_NEXUS_RESTORE",
]
_LINES_SHOWN = 20
_COLUMNS = NEXUS_COLUMNS + NEXUS_MARKS
_DATE_CELLS = range(30_000, 70_000)
"""The numbers of date cells, 1982 to 2091; other numbers are read as text, such as 20260501."""
_HOW_TO_ADD = f"to add a row that you typed, mark it {ADD} in the first column"


def list_records(workbook: Workbook, desk: Desk) -> str:
    """List the account's records on the sheet, with what a plan suggests for each.

    Rows that the user typed before the first list are taken as the register, and compared with the
    service's list. Rows that are to be added, or were typed below a list, stay below the new one.
    """
    rows = _Rows(workbook)
    if rows.is_list:
        text = f"{counted(len(rows.all) - len(rows.stay), 'row')} of the list will be replaced"
        if not workbook.confirmed(f"{text} (ticked: {len(rows.ticked):,}). List again?"):
            return NOTHING_CHANGED
    own = [] if rows.is_list else [row for at, row in rows.all.items() if at not in rows.stay]
    try:
        listed = nexus.list_register(desk.client)
    except nexus.NotListedError as error:
        if not own:
            return f"{error}. Type the records below the headings, and run SVC_NEXUS_LIST again."
        listed = None
    fields = [{name: row[name] for name in FIELDS} for row in map(rows.fields, own)]
    register = nexus.read_register(fields) if own else listed
    who = config.account_of(desk.client)
    plan = nexus.make_plan(register, listed=listed, service=who.service, account=who.account)
    rows.fill(plan)
    return rows.show(f"{plan.sentence} {NOT_TICKED_NOTE}")


def preview(workbook: Workbook, desk: Desk) -> str:
    """Show what the marks would send, by row and as requests; nothing is changed."""
    rows = _Rows(workbook)
    if rows.is_list:
        rows.put("outcome", dict.fromkeys(rows.unmarked, f"not marked: {_HOW_TO_ADD}"))
    changes = [rows.removals()] if rows.ticked or not rows.to_add else []
    changes += [rows.additions()] if rows.to_add else []
    return rows.show("\n\n".join(_before(_dry(rows, desk, change)) for change in changes))


def remove(workbook: Workbook, desk: Desk) -> str:
    """Remove what is ticked, once the user has typed the number of requests."""
    rows = _Rows(workbook)
    return _make(rows, desk, rows.removals(), "remove them")


def add(workbook: Workbook, desk: Desk) -> str:
    """Add the rows that are marked so, once the user has typed the number of requests."""
    rows = _Rows(workbook)
    return _make(rows, desk, rows.additions(), "add them")


def undo(workbook: Workbook, desk: Desk) -> str:
    """Undo a receipt: that of the selected row, else the only one that the rows name."""
    rows = _Rows(workbook)
    paths = rows.receipts
    if len(paths) != 1:
        raise ValueError(
            f"The rows name {len(paths) or 'no'} receipts. {NOTHING_CHANGED} Select a cell in a row"
            " whose receipt is to be undone; svc-tools nexus receipts shows all receipts."
        )
    return _make(rows, desk, partial(nexus.restore, nexus.read_receipt(paths[0])), "undo it")


def _dry(rows: _Rows, desk: Desk, change: partial[Receipt]) -> Receipt:
    """What a change would send, shown in its rows; or there, why a row cannot be added."""
    try:
        dry = change(desk.client)
    except ValueError as error:
        if change.func is nexus.add_registrations:
            rows.put("outcome", dict.fromkeys(rows.to_add, f"cannot be added: {error}"))
        raise
    if dry.kind != "restore":  # those rows show what was done
        rows.show_items(dry)
    return dry


def _before(dry: Receipt) -> str:
    """The requests that would be sent, exactly, what is left alone, and what to know first."""
    requests = [request.text for request in dry.requests]
    left_alone = [item.message for item in dry.items if item.status != "planned"]
    notes = [*dry.notes, dry.undo_note]
    if any(request.method == "DELETE" for request in dry.requests):
        notes += BEFORE_REMOVING
    if requests and dry.kind == "add":
        notes.append(ADDING_NOTE)
    lines = first_of(requests, _LINES_SHOWN) + first_of(left_alone, _LINES_SHOWN)
    return "\n".join([dry.sentence, *lines, *filter(None, notes)])


def _make(rows: _Rows, desk: Desk, change: partial[Receipt], doing: str) -> str:
    """Make a change, once the user has seen its requests and typed their number.

    Where nothing is to be sent, nothing is confirmed, unless a run that broke off has sent it: then
    its receipt is finished.
    """
    dry = _dry(rows, desk, change)
    text = rows.show(_before(dry))
    count = len(dry.requests)
    broke_off = any(item.step for item in dry.items) and not (dry.kind == "apply" and rows.receipts)
    if not count and not broke_off:
        return text
    doing = doing if count else "finish the receipt of a run that broke off"
    number = f"{counted(count, 'request')}. To {doing}, type the number: {count}"
    confirmed = rows.workbook.confirmed(f"{text}\n\nGo on?")
    if not confirmed or rows.workbook.prompt(number) != str(count):
        return NOTHING_CHANGED
    receipt = change(desk.client, dry_run=False)
    text = "\n".join([receipt.sentence, *receipt.advice, f"Receipt: {receipt.path}"])
    with suppress(Exception):  # the requests were sent: that has to be shown in any case
        rows.show_items(receipt)
        rows.show(text)
        desk.refresh_register()
        rows.workbook.api.Application.CalculateFull()
    return text


class _Rows:
    """The rows below the headings of the sheet Nexus, as they were when it was made.

    Attributes:
        all: the rows by their number on the sheet: up to the first without a state, and those
            further down that are to be added.
        is_list: whether there are rows of a list.
        to_add, ticked: the rows that are marked so.
        unmarked: the rows that the user typed, without a mark, and not sent yet.
        stay: those that a new list leaves, below it.
    """

    def __init__(self, workbook: Workbook) -> None:
        """Read the rows of the sheet and their marks, once; no cell is changed.

        Raises:
            ValueError: no sheet has the headings under their name.
        """
        self.workbook = workbook
        found = workbook.named(NEXUS_HEADINGS)
        if found is None or tuple(map(shown_text, found[0].values(found[1])[0])) != NEXUS_COLUMNS:
            raise ValueError(
                f"There is no sheet with the headings {', '.join(NEXUS_COLUMNS)}, named"
                f" {NEXUS_HEADINGS}. svc-tools excel workbook makes one."
            )
        self.sheet, (self._head, self._left, *_) = found
        used = self.sheet.used
        below = self._block(max(1, used.row + used.height - 1 - self._head))
        self.all: dict[int, dict[str, Scalar]] = {}
        marks, ended = {}, False
        for at, cells in enumerate(self.sheet.values(below), below.row):
            row = dict(zip(_COLUMNS, cells, strict=True))
            ended = ended or not shown_text(row["state"])
            mark = shown_text(row["remove"]).casefold()
            if not ended or mark == ADD:
                self.all[at], marks[at] = row, mark
        self.is_list = any(shown_text(row["plan"]) for row in self.all.values())
        self.to_add = [at for at, mark in marks.items() if mark == ADD]
        self.ticked = [at for at, mark in marks.items() if mark not in {"", ADD}]
        sent_or_listed = {at for at, row in self.all.items() if row["plan"] or row["receipt"]}
        self.unmarked = [at for at, mark in marks.items() if not mark and at not in sent_or_listed]
        self.stay = [*self.to_add, *(self.unmarked if self.is_list else [])]

    def fill(self, plan: Plan) -> None:
        """Write a plan over the rows, and below it those that stay, unless there is no room."""
        marks = {"plan": plan_header(plan), "outcome": "", "receipt": ""}
        lines = [row | marks | {"type": row["nexus_type"]} for row in plan_rows(plan)]
        lines += [self.fields(self.all[at]) for at in self.stay]
        if lines:
            block = self._block(len(lines))
            for at, cells in enumerate(self.sheet.values(block), block.row):
                if at not in self.all and any(map(shown_text, cells)):
                    raise ValueError(
                        f"The records need {len(lines):,} rows, and something else stands in row"
                        f" {at}. {NOTHING_CHANGED} Clear that row, or move it."
                    )
            marks_at = CellBlock(self._head, self._left + len(NEXUS_COLUMNS), 1, len(NEXUS_MARKS))
            self.sheet.put(marks_at, [NEXUS_MARKS])
            self.sheet.put(block, [[line[name] for name in _COLUMNS] for line in lines])
        for at in self.all:  # last: rows that the user typed stay until the plan is written
            if at > self._head + len(lines):
                self.sheet.put(
                    CellBlock(at, self._left, 1, len(_COLUMNS)), [[None] * len(_COLUMNS)]
                )

    def removals(self) -> partial[Receipt]:
        """The removal of what is ticked in the plan."""
        fields = [
            (at, self.fields(row))
            for at, row in self.all.items()
            if at in self.ticked or (row["plan"] and at not in self.to_add)
        ]
        plans = {row["plan"] for _, row in fields}
        if len(plans) != 1 or "" in plans:
            raise nexus.PlanError([f"the rows are not of one plan: list again; {_HOW_TO_ADD}"])
        return partial(nexus.apply_plan, plan_of("".join(plans), fields, name="The sheet Nexus"))

    def additions(self) -> partial[Receipt]:
        """The addition of the rows that are to be added; each that cannot be read shows why."""
        problems, records = {}, []
        for at in self.to_add:
            row = self.all[at]
            try:
                for name in NEXUS_COLUMNS:
                    pass_on_error(name, row[name])
                records.append(new_record(self.fields(row)))
            except (ValueError, CellError) as error:
                problems[at] = f"cannot be added: {error}"
        self.put("outcome", problems)
        if problems:
            sentences = [f"Row {at} {text}" for at, text in problems.items()]
            raise ValueError("\n".join([*first_of(sentences, _LINES_SHOWN), NOTHING_CHANGED]))
        if not records:
            raise ValueError(f"No row is marked {ADD}: {_HOW_TO_ADD}. {NOTHING_CHANGED}")
        return partial(nexus.add_registrations, rows=records)

    def fields(self, row: dict[str, Scalar]) -> dict[str, str]:
        """The texts of a row, its type under both names; a date cell is a day, unless of 1904."""
        texts = {name: shown_text(cell) for name, cell in row.items()}
        since = row["registered_at"]
        if isinstance(since, float):
            if self.workbook.from_1904:
                raise ValueError(refusal_of_1904(self.workbook.from_1904))
            if int(since) in _DATE_CELLS:
                texts["registered_at"] = str(FIRST_DAY + timedelta(days=int(since)))
        return texts | {"nexus_type": texts["type"]}

    def show_items(self, receipt: Receipt) -> None:
        """Write outcomes to their rows, and where the receipt is; what was added is unmarked."""
        items = {item.key: item for item in receipt.items}
        for at, row in self.all.items():
            state, kind = shown_text(row["state"]), shown_text(row["type"])
            item = items.get((us_state(state) or state, nexus_type_of(kind) or kind))
            if item is None or (item.action == ADD) is not (at in self.to_add):
                continue
            self.put("outcome", {at: _outcome(item)})
            if receipt.path is not None:
                self.put("receipt", {at: str(receipt.path)})
                if item.action == ADD and item.outcome == "done":
                    self.put("remove", {at: ""})

    @property
    def receipts(self) -> list[str]:
        """The distinct receipts that the selected rows name; else those that any row names."""
        chosen = self.workbook.selected()
        areas = chosen[1] if chosen is not None and chosen[0].name == self.sheet.name else []
        paths = {at: path for at, row in self.all.items() if (path := shown_text(row["receipt"]))}
        spans = [range(area.row, area.row + area.height) for area in areas]
        selected = [path for at, path in paths.items() if any(at in span for span in spans)]
        return [*dict.fromkeys(selected or paths.values())]

    def show(self, text: str) -> str:
        """Show a text in the message cell."""
        if (cells := self.workbook.named(NEXUS_MESSAGE)) is not None:
            cells[0].put(cells[1]._replace(height=1, width=1), [[text]])
        return text

    def put(self, name: str, texts: Mapping[int, str]) -> None:
        """Write texts to a column, by row."""
        for at, text in texts.items():
            self.sheet.put(CellBlock(at, self._left + _COLUMNS.index(name)), [[text]])

    def _block(self, height: int) -> CellBlock:
        return CellBlock(self._head + 1, self._left, height, len(_COLUMNS))


def _outcome(item: ReceiptItem) -> str:
    word = item.status.upper() if item.status == "removed_only" else item.status
    if (item.action, item.status) == (ADD, "changed"):
        word = "there already"
    return f"{word.replace('_', ' ')}: {item.message}" if item.message else word


SVC_NEXUS_LIST = macro("SVC_NEXUS_LIST", list_records)
SVC_NEXUS_PREVIEW = macro("SVC_NEXUS_PREVIEW", preview)
SVC_NEXUS_REMOVE = macro("SVC_NEXUS_REMOVE", remove)
SVC_NEXUS_ADD = macro("SVC_NEXUS_ADD", add)
SVC_NEXUS_RESTORE = macro("SVC_NEXUS_RESTORE", undo)
