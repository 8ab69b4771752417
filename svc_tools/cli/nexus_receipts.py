"""Receipts for a person to read, in 80 columns, and for a program."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from svc_tools.nexus.apply import requests_of
from svc_tools.nexus.receipt import STATUSES
from svc_tools.printing import print_table, print_text
from svc_tools.shown import plain, printable, the_service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from rich.console import Console

    from svc_tools.nexus.receipt import Receipt, ReceiptItem

__all__ = ["receipt_as_json", "show_dry", "show_progress", "show_receipt", "show_receipts"]

_LABEL = len("Service")
_COLOURS = {"done": "green", "not_done": "yellow", "unknown": "red"}
_KINDS = {
    "apply": "removals of a plan",
    "remove_state": "removal of all types of a state",
    "restore": "restore",
}
_HEADS = ("Record", "Status", "~What happened")


def show_progress(console: Console) -> Callable[[ReceiptItem, int, int], None]:
    """What tells each record as soon as it is through."""

    def tell(item: ReceiptItem, done: int, total: int) -> None:
        print_text(console, f"{done}/{total}  {_named(item)}: {_status(item)}")

    return tell


def show_dry(console: Console, receipt: Receipt, before: Sequence[str]) -> None:
    """What would be sent, exactly but for the key; what it would remove; what to know before."""
    print_text(console, (receipt.sentence, "bold"))
    items = {item.key: item for item in receipt.items}
    for one in requests_of(receipt):
        console.print()
        _unbroken(console, f"  {one.line}", "bold")
        for name, value in (one.body or {}).items():
            print_text(console, f"{name}: {plain(value)}", indent=6)
        for record in items[one.key].before if one.method == "DELETE" else ():
            print_text(console, f"removes {_told(record)}", indent=6)
    console.print()
    rows = [_row(item, references=False) for item in receipt.items if item.status != "planned"]
    if rows:
        print_table(console, _HEADS, rows)
        console.print()
    _show_facts(console, receipt)
    if before and any(item.status == "planned" for item in receipt.items):
        console.print()
        print_text(console, ("Before you go on", "bold"))
        print_table(console, ("", "~"), [("-", sentence) for sentence in before])


def show_receipt(console: Console, receipt: Receipt, *, references: bool = False) -> None:
    """The sentence, a row per record, and what to know.

    Args:
        console: where to.
        receipt: the receipt.
        references: whether to show all support references, not only of what to look at.
    """
    print_text(console, (receipt.sentence, "bold"))
    console.print()
    rows = [_row(item, references=references) for item in receipt.items]
    if rows:
        print_table(console, _HEADS, rows)
        console.print()
    _show_facts(console, receipt)


def _show_facts(console: Console, receipt: Receipt) -> None:
    """Whose it is and when, what to know and do, where the files are."""
    facts = [
        ("Service", receipt.service),
        ("Account", receipt.account),
        ("Begun", f"{receipt.started:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if receipt.plan_id:
        facts.append(("Plan", receipt.plan_id))
    if receipt.undo_note:
        facts.append(("Undo", receipt.undo_note))
    print_table(console, ("", "~"), facts)
    if receipt.advice:
        print_table(console, ("", "~"), [("Note".ljust(_LABEL), one) for one in receipt.advice])
    for name, path in (("Records", receipt.restore_file), ("Receipt", receipt.path)):
        if path is not None:
            _unbroken(console, f"{name}   {path}")


def _unbroken(console: Console, line: str, style: str = "") -> None:
    """A line to be copied: wider than the terminal where it has to be."""
    console.print(Text(line, style), soft_wrap=True)


def _told(record: Mapping[str, str | None]) -> str:
    """A record in a line."""
    head = f"{record.get('state')} {record.get('nexus_type')}"
    facts = [f"registered {record['registered_at']}" if record.get("registered_at") else ""]
    facts += [plain(record[name]) for name in ("address", "notes") if record.get(name)]
    return ", ".join([head, *filter(None, facts)])


def show_receipts(console: Console, frame: pd.DataFrame) -> None:
    """All receipts, newest first; what cannot be believed says so."""
    if frame.empty:
        print_text(console, "There are no receipts yet.")
        return
    for number, row in enumerate(frame.to_dict("records")):
        if number:
            console.print()
        started = row["started"]
        when = f"{started:%Y-%m-%d %H:%M:%S} UTC" if isinstance(started, datetime) else ""
        broken = not isinstance(row["finished"], bool)
        open_ = "" if broken or row["finished"] else ", NOT FINISHED"
        undo = ", can be undone" if row["undoable"] is True else ""
        style = "bold red" if broken else "bold"
        _unbroken(console, str(row["file"]), style)
        kind = _KINDS.get(row["kind"], "")
        of = "NOT TO BE BELIEVED" if broken else f"{kind} on {the_service(str(row['service']))}"
        print_text(console, f"{when}  {of}{open_}{undo}", indent=2)
        print_text(console, str(row["said"]), indent=2)


def receipt_as_json(receipt: Receipt) -> dict[str, Any]:
    """The receipt for a program: its attributes, the counts, the sentence."""
    told = {name: _plain(value) for name, value in asdict(receipt).items() if name != "items"}
    told |= {"sentence": receipt.sentence, "undoable": receipt.undoable}
    items = [{name: _plain(value) for name, value in asdict(one).items()} for one in receipt.items]
    return {**told, "counts": receipt.counts, "items": items}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def _row(item: ReceiptItem, *, references: bool) -> tuple[str | Text, ...]:
    happened = item.message or STATUSES[item.status][1]
    wanted = item.reference and (references or item.outcome != "done" or item.flagged)
    if wanted and str(item.reference) not in happened:
        happened = f"{happened} (support reference {item.reference})"
    mark = "! " if item.flagged else ""
    status = Text(mark + _status(item), _COLOURS[item.outcome])
    return _named(item), status, printable(happened)


def _named(item: ReceiptItem) -> str:
    return f"{item.state} {item.nexus_type or 'all types'}"


def _status(item: ReceiptItem) -> str:
    return item.status.replace("_", " ")
