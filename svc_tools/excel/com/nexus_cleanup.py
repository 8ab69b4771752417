"""A register is listed on the sheet, ticked there, previewed, removed and restored.

The plan, its checks, the journal and the receipt are those of `svc_tools.nexus`; here is only what
the macros ask and where they write. Nothing is sent before the number of requests was typed in.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.excel.com.nexus_rows import NexusRows
from svc_tools.excel.workbook.layout import NEXUS
from svc_tools.nexus import (
    NotListedError,
    apply_plan,
    list_register,
    make_plan,
    read_receipt,
    read_register,
    restore,
)
from svc_tools.nexus.apply import requests_of
from svc_tools.nexus.words import BEFORE_REMOVING, NOT_TICKED_NOTE
from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.com.workbook import Workbook
    from svc_tools.excel.desk import Desk
    from svc_tools.nexus import PlannedRequest, Receipt, Register

__all__ = ["list_records", "preview", "remove", "undo"]

_NOTHING_SENT = "Nothing was sent."
_SHOWN = 20


def list_records(workbook: Workbook, desk: Desk) -> str:
    """Fill the sheet with the account's records and what a plan suggests for each.

    Rows that a person filled in are taken as the register, and compared with the service's list.

    Raises:
        ValueError: the sheet has no place for it, or the register cannot be read.
        SvcError: the service does not answer.
    """
    rows = NexusRows(workbook)
    there = rows.rows
    if rows.are_planned:
        ticked = sum(bool(row["remove"]) for row in there)
        told = f"The sheet has {counted(len(there), 'row')}, {ticked:,} of them ticked."
        if not workbook.confirmed(f"{told} List the records anew, and replace these rows?"):
            return "Nothing was changed."
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
    told = f"{plan.sentence} {NOT_TICKED_NOTE}"
    rows.say(told)
    return told


def preview(workbook: Workbook, desk: Desk) -> str:
    """Say what the ticks would send, row by row and as requests; nothing is sent but questions.

    Raises:
        ValueError: the rows are no plan, the ticks contradict one another, or nothing is ticked.
        SvcError: the service does not answer.
    """
    rows = NexusRows(workbook)
    dry = apply_plan(rows.plan(), desk.client)
    told = _before(dry, requests_of(dry), removing=True)
    rows.outcomes(dry.items)
    rows.say(told)
    return told


def remove(workbook: Workbook, desk: Desk) -> str:
    """Remove what is ticked, once the number of requests was typed in.

    Raises:
        ValueError: see `preview`; nothing was sent.
        SvcError: the service does not answer; nothing was sent.
    """
    rows = NexusRows(workbook)
    plan = rows.plan()
    dry = apply_plan(plan, desk.client)
    requests = requests_of(dry)
    rows.outcomes(dry.items)
    if not requests:
        rows.say(dry.sentence)
        return dry.sentence
    rows.say(_before(dry, requests, removing=True))
    if not _typed(workbook, _before(dry, requests, removing=True), len(requests), "remove them"):
        return _NOTHING_SENT
    return _after(workbook, desk, rows, apply_plan(plan, desk.client, dry_run=False))


def undo(workbook: Workbook, desk: Desk) -> str:
    """Add the records of a receipt again that are gone, once their number was typed in.

    The receipt is that of the selected row, else the only one that the rows name.

    Raises:
        ValueError: there is no receipt, or it cannot be restored; nothing was sent.
        SvcError: the service does not answer; nothing was sent.
    """
    rows = NexusRows(workbook)
    paths = rows.receipts
    if not paths:
        raise ValueError(
            f"No row of the sheet {NEXUS} names a receipt. svc-tools nexus receipts shows them all."
        )
    if len(paths) > 1:
        raise ValueError(
            f"The rows name {len(paths)} receipts. {_NOTHING_SENT} Select a cell in a row whose"
            " receipt is to be undone, then run SVC_NEXUS_RESTORE again."
        )
    removed = read_receipt(paths[0])
    dry = restore(removed, desk.client)
    requests = requests_of(dry)
    if not requests:
        rows.say(dry.sentence)
        return dry.sentence
    told = _before(dry, requests, removing=False)
    rows.say(told)
    if not _typed(workbook, told, len(requests), "add them again"):
        return _NOTHING_SENT
    return _after(workbook, desk, rows, restore(removed, desk.client, dry_run=False))


def _before(dry: Receipt, requests: Sequence[PlannedRequest], *, removing: bool) -> str:
    """What would be sent, exactly, and what to know before."""
    lines = [one.line for one in requests[:_SHOWN]]
    more = len(requests) - len(lines)
    lines += [f"and {more:,} more"] if more else []
    notes = [dry.restore_note, *BEFORE_REMOVING] if removing and requests else []
    return "\n".join([dry.sentence, *lines, *(note for note in notes if note)])


def _typed(workbook: Workbook, told: str, count: int, doing: str) -> bool:
    """Whether a person read it and typed the number of requests."""
    if not workbook.confirmed(f"{told}\n\nGo on?"):
        return False
    typed = workbook.type_in(f"{counted(count, 'request')}. To {doing}, type the number: {count}")
    return typed == str(count)


def _after(workbook: Workbook, desk: Desk, rows: NexusRows, receipt: Receipt) -> str:
    """What was done; also where the sheet cannot be written any more."""
    path = "" if receipt.path is None else str(receipt.path)
    told = "\n".join([receipt.sentence, *receipt.advice])
    told += f"\nReceipt: {path}" if path else ""
    with suppress(Exception):  # what was done is done, and has to be said
        rows.outcomes(receipt.items, path)
        rows.say(told)
        desk.renew_register()
        workbook.calculate()
    return told
