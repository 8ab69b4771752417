"""What `svc-tools nexus` prints: registers, plans, requests and receipts, as text and as JSON."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from svc_tools.cli.common import INTERRUPTED, NO_RESULT
from svc_tools.nexus.notices import NOT_TICKED_NOTE
from svc_tools.nexus.plan import tables_of
from svc_tools.nexus.receipt import ITEM_STATUSES, RUN_STOPPED
from svc_tools.nexus.register import FIELDS
from svc_tools.show.display import (
    NOTHING,
    Note,
    Table,
    capital,
    counted,
    plain,
    print_line,
    print_table,
    print_text,
    printable,
    prose,
    show,
    the_service,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd

    from svc_tools.cli.common import Service
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Receipt, ReceiptItem
    from svc_tools.nexus.register import Register, Registration
    from svc_tools.nexus.service import Difference
    from svc_tools.nexus.standings import ExposureSummary


def show_differences(console: Console, found: list[Difference], *, service: str) -> None:
    """Print where the user's register and the service's differ."""
    console.print()
    if not found:
        print_text(console, f"The service ({service}) has the same records.")
        return
    rows = [
        (
            difference.state,
            difference.nexus_type,
            _DIFFERENCE_KINDS.get(difference.difference, difference.difference),
            plain(difference.mine or "") or NOTHING,
            plain(difference.service or "") or NOTHING,
        )
        for difference in found
    ]
    differ = counted(len(found), "difference")
    title = f"{differ} between your register and the service ({service})"
    columns = ("State", "Type", "Difference", prose("Yours"), prose("The service's"))
    show(console, Table(columns, rows, title))


def register_as_json(
    register: Register, found: list[Difference] | None, *, service: str, note: str
) -> dict[str, object]:
    """The records and, where two registers were compared, their differences."""
    fields: dict[str, object] = {
        "service": service or None,
        "records": [_record(record) for record in register.records],
        "duplicates": [list(key) for key in register.duplicates()],
    }
    if found is not None:
        fields["differences"] = [
            dict(zip(type(difference)._fields[:5], difference[:5], strict=True))
            for difference in found
        ]
    return fields | ({"note": note} if note else {})


_DIFFERENCE_KINDS = {"only_mine": "only in your register", "only_service": "only on the service"}


def show_plan(
    console: Console,
    plan: Plan,
    path: Path,
    *,
    notes: list[str],
    tables: list[Table],
    service: Service,
) -> None:
    """Print the plan: states without a record first, then each record, and why; then `tables`."""
    title = Note("Cleanup plan", [plan.sentence, *map(capital, notes)])
    show(console, title, *tables_of(plan), *tables)
    console.print()
    print_text(console, f"Written to {path}. {NOT_TICKED_NOTE}")
    print_text(console, "Put an x into its column remove, then see what would be sent:")
    # to be copied in one piece
    print_line(console, f"  {_again(['apply', str(path)], service)}")


def plan_as_json(
    plan: Plan, path: Path, *, notes: list[str], summary: ExposureSummary | None
) -> dict[str, object]:
    """The plan, with the codes of its reasons and its figures."""
    far = () if summary is None else summary.far_below
    return {
        "plan_id": plan.plan_id,
        "path": str(path),
        "service": plan.service or None,
        "account": plan.account or None,
        "as_of": plan.as_of.isoformat(),
        "counts": plan.counts,
        "missing": [
            {"state": missing.state, "sentence": missing.sentence}
            for missing in plan.missing_states
        ],
        "rows": [
            {
                "number": row.number,
                **_record(row.record),
                "decision": row.decision,
                "reasons": list(row.reasons),
                "why": list(row.why),
                "evidence": row.evidence,
            }
            for row in plan.rows
        ],
        "far_below": sorted(row["state"] for row in far),
        "notes": notes,
    }


def _record(record: Registration) -> dict[str, str | None]:
    return {name: text or None for name, text in zip(FIELDS, record.texts, strict=True)}


def _again(words: Sequence[str], service: Service) -> str:
    """A command with the same service, to be typed next."""
    return shlex.join(["svc-tools", "nexus", *words, *service.typed])


def show_result(
    found: Receipt,
    words: Sequence[str],
    *,
    as_json: bool,
    service: Service,
    before: Sequence[str] = (),
) -> None:
    """Print the receipt; the exit code is 1 where not all is done, known and as expected.

    Args:
        found: the receipt.
        words: the command and its arguments, as they are typed to do it.
        as_json: print it for a program.
        service: the service.
        before: notices that are shown before it is done.
    """
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps(receipt_as_json(found), indent=2))
    elif found.dry_run:
        _show_dry(console, found, before)
        if any(item.status == "planned" for item in found.items):
            again = _again(words, service)
            print_line(console, f"\nTo send it: {again} --yes")
    else:
        console.print()
        show_receipt(console, found)
        if found.undoable and found.path is not None:
            undo = _again(["restore", found.path.name], service)
            print_line(console, f"\nTo undo it, see first: {undo}")
    wanted = {"planned", "done"} if found.dry_run else {"done"}
    if words[0] == "remove-state":
        wanted |= {"absent"}  # no record is left of the state
    good = all({item.status, item.outcome} & wanted for item in found.items)
    if found.stopped == RUN_STOPPED:
        raise typer.Exit(INTERRUPTED)
    if not good or found.counts["flagged"]:
        raise typer.Exit(NO_RESULT)


_OUTCOME_COLORS = {"done": "green", "not_done": "yellow", "unknown": "red"}
_RECEIPT_KINDS = {
    "apply": "removals of a plan",
    "remove_state": "removal of all types of a state",
    "add": "addition",
    "edit": "edit",
    "restore": "restore",
}
_RECEIPT_HEADS = ("Record", "Status", prose("What happened"))
_LABEL = len("Service")


def show_progress(console: Console) -> Callable[[ReceiptItem, int, int], None]:
    """A callback that prints each record as soon as it is done."""

    def show(item: ReceiptItem, done: int, total: int) -> None:
        try:
            print_text(console, f"{done}/{total}  {_named(item)}: {_status(item)}")
        except SystemExit:  # of Rich, at a closed pipe: the run is to end with its receipt
            raise BrokenPipeError("the output was closed") from None

    return show


def _show_dry(console: Console, receipt: Receipt, before: Sequence[str]) -> None:
    """Print the requests, exact but for the key, what they remove, and the notices before it."""
    print_text(console, (receipt.sentence, "bold"))
    items = {item.key: item for item in receipt.items}
    for request in receipt.requests:
        console.print()
        print_line(console, f"  {request.line}", "bold")
        for name, value in (request.body or {}).items():
            print_text(console, f"{name}: {plain(value)}", indent=6)
        item = items[request.key]
        for record in item.before if request.method == "DELETE" else ():
            print_text(console, f"removes {_record_text(record)}", indent=6)
        for text in _changed_fields(item) if request.method == "POST" else ():
            print_text(console, text, indent=6)
    console.print()
    rows = [
        _receipt_row(item, references=False) for item in receipt.items if item.status != "planned"
    ]
    if rows:
        print_table(console, _RECEIPT_HEADS, rows)
        console.print()
    _show_facts(console, receipt)
    if before and any(item.status == "planned" for item in receipt.items):
        console.print()
        print_text(console, ("Before you go on", "bold"))
        print_table(console, ("", prose()), [("-", sentence) for sentence in before])


def show_receipt(console: Console, receipt: Receipt, *, references: bool = False) -> None:
    """Print the sentence, a row per record, and the facts.

    Args:
        console: where to.
        receipt: the receipt.
        references: whether to show all support references, not only of what to look at.
    """
    print_text(console, (receipt.sentence, "bold"))
    console.print()
    rows = [_receipt_row(item, references=references) for item in receipt.items]
    if rows:
        print_table(console, _RECEIPT_HEADS, rows)
        console.print()
    _show_facts(console, receipt)


def _show_facts(console: Console, receipt: Receipt) -> None:
    """Print the service and account, the advice, and where the files are."""
    facts = [
        ("Service", receipt.service),
        ("Account", receipt.account),
        ("Begun", f"{receipt.started:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if receipt.plan_id:
        facts.append(("Plan", receipt.plan_id))
    if receipt.undo_note:
        facts.append(("Undo", receipt.undo_note))
    print_table(console, ("", prose()), facts)
    if receipt.advice:
        print_table(
            console,
            ("", prose()),
            [("Note".ljust(_LABEL), sentence) for sentence in receipt.advice],
        )
    for name, path in (("Records", receipt.restore_file), ("Receipt", receipt.path)):
        if path is not None:
            print_line(console, f"{name}   {path}")


def _changed_fields(item: ReceiptItem) -> Iterator[str]:
    """What an edit changes: each field with its value before and after."""
    if item.action in {"edit", "revert"} and item.before and item.record:
        for name in FIELDS:
            before, after = item.before[0].get(name), item.record.get(name)
            if before != after:
                yield f"changes {name}: {plain(before or 'empty')} -> {plain(after or 'empty')}"


def _record_text(record: Mapping[str, str | None]) -> str:
    """A record in a line."""
    head = f"{record.get('state')} {record.get('nexus_type')}"
    facts = [f"registered {record['registered_at']}" if record.get("registered_at") else ""]
    facts += [plain(record[name]) for name in ("address", "notes") if record.get(name)]
    return ", ".join([head, *filter(None, facts)])


def show_receipts(console: Console, frame: pd.DataFrame) -> None:
    """Print all receipts, newest first; those that cannot be trusted are marked."""
    if frame.empty:
        print_text(console, "There are no receipts yet.")
        return
    for place, row in enumerate(frame.to_dict("records")):
        if place:
            console.print()
        started = row["started"]
        when = f"{started:%Y-%m-%d %H:%M:%S} UTC" if isinstance(started, datetime) else ""
        broken = not isinstance(row["finished"], bool)
        open_ = "" if broken or row["finished"] else ", NOT FINISHED"
        undo = ", can be undone" if row["undoable"] is True else ""
        style = "bold red" if broken else "bold"
        print_line(console, str(row["file"]), style)
        kind = _RECEIPT_KINDS.get(row["kind"], "")
        of = "NOT TO BE BELIEVED" if broken else f"{kind} on {the_service(str(row['service']))}"
        print_text(console, f"{when}  {of}{open_}{undo}", indent=2)
        print_text(console, str(row["said"]), indent=2)


def receipt_as_json(receipt: Receipt) -> dict[str, Any]:
    """The receipt for a program: its attributes, the counts, the sentence."""
    fields = {name: _plain(value) for name, value in asdict(receipt).items() if name != "items"}
    fields |= {"sentence": receipt.sentence, "undoable": receipt.undoable}
    items = [
        {name: _plain(value) for name, value in asdict(item).items()} for item in receipt.items
    ]
    return {**fields, "counts": receipt.counts, "items": items}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def _receipt_row(item: ReceiptItem, *, references: bool) -> tuple[str | Text, ...]:
    happened = item.message or ITEM_STATUSES[item.status][1]
    wanted = item.reference and (references or item.outcome != "done" or item.flagged)
    if wanted and str(item.reference) not in happened:
        happened = f"{happened} (support reference {item.reference})"
    mark = "! " if item.flagged else ""
    status = Text(mark + _status(item), _OUTCOME_COLORS[item.outcome])
    return _named(item), status, printable(happened)


def _named(item: ReceiptItem) -> str:
    return f"{item.state} {item.nexus_type or 'all types'}"


def _status(item: ReceiptItem) -> str:
    return item.status.replace("_", " ")
