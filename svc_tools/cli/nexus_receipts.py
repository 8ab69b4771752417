"""Receipts for a person to read, in 80 columns, and for a program."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from svc_tools.nexus.receipt import STATUSES
from svc_tools.printing import print_table, print_text
from svc_tools.shown import counted, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from rich.console import Console

    from svc_tools.nexus.apply_requests import PlannedRequest
    from svc_tools.nexus.receipt import Receipt, ReceiptItem

__all__ = ["receipt_as_json", "show_progress", "show_receipt", "show_receipts", "show_requests"]

_COLOURS = {"done": "green", "not_done": "yellow", "unknown": "red"}
_HEADS = ("Record", "Status", "~What happened")


def show_progress(console: Console) -> Callable[[ReceiptItem, int, int], None]:
    """What tells each record as soon as it is through."""

    def tell(item: ReceiptItem, done: int, total: int) -> None:
        print_text(console, f"{done}/{total}  {_named(item)}: {_status(item)}")

    return tell


def show_requests(console: Console, requests: Sequence[PlannedRequest]) -> None:
    """The requests exactly as they would be sent, but for the key."""
    if not requests:
        print_text(console, "No request would be sent.")
        return
    print_text(console, (f"{counted(len(requests), 'request')}, in this order:", "bold"))
    for one in requests:
        print_text(console, one.line, indent=2)
        for name, value in (one.body or {}).items():
            print_text(console, f"{name}: {plain(value)}", indent=6)
    console.print()


def show_receipt(
    console: Console, receipt: Receipt, *, before: Sequence[str] = (), references: bool = False
) -> None:
    """The sentence, a row per record, and what to know.

    Args:
        console: where to.
        receipt: the receipt.
        before: what a person has to know before she goes on.
        references: whether to show all support references, not only of what to look at.
    """
    print_text(console, (receipt.sentence, "bold"))
    console.print()
    rows = [_row(item, references=references) for item in receipt.items]
    if rows:
        print_table(console, _HEADS, rows)
        console.print()
    for sentence in (*receipt.sentences, *before):
        print_text(console, sentence)


def show_receipts(console: Console, frame: pd.DataFrame) -> None:
    """All receipts, newest first; what cannot be believed says so."""
    if frame.empty:
        print_text(console, "There are no receipts yet.")
        return
    for row in frame.to_dict("records"):
        started = row["started"]
        when = f"{started:%Y-%m-%d %H:%M:%S} UTC" if isinstance(started, datetime) else ""
        broken = not isinstance(row["finished"], bool)
        open_ = "" if broken or row["finished"] else ", NOT FINISHED"
        undo = ", can be undone" if row["undoable"] is True else ""
        style = "bold red" if broken else "bold"
        print_text(console, (str(row["file"]), style))
        of = "NOT TO BE BELIEVED" if broken else f"{row['kind']} on {row['service']}"
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
    return _named(item), status, happened


def _named(item: ReceiptItem) -> str:
    return f"{item.state} {item.nexus_type or 'all types'}"


def _status(item: ReceiptItem) -> str:
    return item.status.replace("_", " ")
