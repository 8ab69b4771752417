"""`svc-tools nexus apply|receipts|restore|remove-state`: what changes records, and its proof."""

# MERGED nexus_receipts: Receipts for a person to read, in 80 columns, and for a program.

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from svc_tools.cli.common import NO_ANSWER, client_of, explained
from svc_tools.display import plain, printable, the_service
from svc_tools.nexus.apply import apply_plan, remove_state, requests_of
from svc_tools.nexus.plan import read_plan
from svc_tools.nexus.receipt import STATUSES, read_receipt, receipts
from svc_tools.nexus.restoring import restore
from svc_tools.nexus.notices import ALL_TYPES_NOTE, BEFORE_REMOVING
from svc_tools.places import state_code
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from svc_tools.nexus.receipt import Receipt, ReceiptItem

_COLOURS = {"done": "green", "not_done": "yellow", "unknown": "red"}
_KINDS = {
    "apply": "removals of a plan",
    "remove_state": "removal of all types of a state",
    "restore": "restore",
}
_HEADS = ("Record", "Status", "~What happened")

_Plan = Annotated[Path, typer.Argument(help="The plan, with your ticks in the column remove.")]
_Yes = Annotated[
    bool, typer.Option("--yes", help="Do it; without this nothing is sent but questions.")
]
_Embedded = Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")]
_BaseUrl = Annotated[str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")]
_Json = Annotated[bool, typer.Option("--json", help="JSON for a program.")]


def add_removals(nexus: typer.Typer) -> None:
    """Add the commands to the group `nexus`."""
    nexus.command("apply")(apply)
    nexus.command("receipts")(show_all)
    nexus.command("restore")(undo)
    nexus.command("remove-state")(remove_all)


def apply(
    plan: _Plan,
    yes: _Yes = False,  # noqa: FBT002 - a flag
    as_json: _Json = False,  # noqa: FBT002 - a flag
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Remove the ticked records of a plan; without --yes only show it.

    Each request is sent once. The same plan again goes on where it ended.
    The exit code is 0 where all that is ticked is done, and as expected
    (without --yes: could be sent), else 1.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json):
        ticked = read_plan(plan)
        with client_of(embedded=embedded, base_url=base_url) as client:
            found = apply_plan(
                ticked,
                client,
                dry_run=not yes,
                on_progress=None if as_json else show_progress(console),
            )
    _shown(
        found,
        "apply",
        str(plan),
        as_json=as_json,
        embedded=embedded,
        base_url=base_url,
        before=BEFORE_REMOVING,
    )


def show_all(
    receipt: Annotated[
        str | None, typer.Argument(help="One receipt, by its path or name; else all of them.")
    ] = None,
    as_json: _Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show the receipts of removals and restores, newest first; or one."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        if receipt is not None:
            one = read_receipt(receipt)
            if as_json:
                typer.echo(json.dumps(receipt_as_json(one), indent=2))
            else:
                show_receipt(console, one, references=True)
            return
        frame = receipts()
        if as_json:
            typer.echo(frame.to_json(orient="records", date_format="iso", indent=2))
            return
        show_receipts(console, frame)


def undo(
    receipt: Annotated[str, typer.Argument(help="The receipt of a removal: its path or name.")],
    yes: _Yes = False,  # noqa: FBT002 - a flag
    as_json: _Json = False,  # noqa: FBT002 - a flag
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Add the removed records of a receipt again; without --yes only show it.

    Only what is gone is added: a record that is there again is left alone.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json):
        removed = read_receipt(receipt)
        with client_of(embedded=embedded, base_url=base_url) as client:
            found = restore(
                removed,
                client,
                dry_run=not yes,
                on_progress=None if as_json else show_progress(console),
            )
    _shown(
        found,
        "restore",
        receipt,
        as_json=as_json,
        embedded=embedded,
        base_url=base_url,
    )


def remove_all(  # noqa: PLR0917 - Typer reads the signature
    state: Annotated[str, typer.Argument(help="The state, such as TX.")],
    typed: Annotated[
        str | None, typer.Option(help="The code of the state again; else you are asked for it.")
    ] = None,
    yes: _Yes = False,  # noqa: FBT002 - a flag
    as_json: _Json = False,  # noqa: FBT002 - a flag
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Remove ALL records of a state, of every type; its code is to be typed in.

    To remove one type, tick it in a plan. Without --yes only show it.
    The exit code is 0 where no record of the state is left (without --yes:
    could be sent, or there is none), else 1.
    """
    console = Console(highlight=False)
    with explained(as_json=as_json):
        if not yes:
            typed = str(state_code(state))  # it only looks
        elif typed is None and sys.stdin.isatty():
            print_text(console, ALL_TYPES_NOTE)
            typed = typer.prompt(f"Type the code of the state to remove all of {state}")
        with client_of(embedded=embedded, base_url=base_url) as client:
            found = remove_state(client, state, typed=typed or "", dry_run=not yes)
    _shown(
        found,
        "remove-state",
        state,
        as_json=as_json,
        embedded=embedded,
        base_url=base_url,
        before=(ALL_TYPES_NOTE, *BEFORE_REMOVING),
    )


def _again(command: str, about: str, *, embedded: bool, base_url: str | None) -> str:
    """The command as it was typed, to be typed again."""
    service = ["--embedded"] if embedded else ["--base-url", base_url] if base_url else []
    return shlex.join(["svc-tools", "nexus", command, about, *service])


def _shown(
    found: Receipt,
    command: str,
    about: str,
    *,
    as_json: bool,
    embedded: bool,
    base_url: str | None,
    before: Sequence[str] = (),
) -> None:
    """Show it; the exit code is 1 where not all is done, known and as expected."""
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps(receipt_as_json(found), indent=2))
    elif found.dry_run:
        show_dry(console, found, before)
        if any(item.status == "planned" for item in found.items):
            again = _again(command, about, embedded=embedded, base_url=base_url)
            console.print(f"\nTo send it: {again} --yes", markup=False, soft_wrap=True)
    else:
        console.print()
        show_receipt(console, found)
        if found.undoable and found.path is not None:
            undo = _again("restore", found.path.name, embedded=embedded, base_url=base_url)
            console.print(f"\nTo undo it, see first: {undo}", markup=False, soft_wrap=True)
    wanted = {"planned", "done"} if found.dry_run else {"done"}
    if command == "remove-state":
        wanted |= {"absent"}  # no record is left of the state
    good = all({item.status, item.outcome} & wanted for item in found.items)
    if not good or found.counts["flagged"]:
        raise typer.Exit(NO_ANSWER)


_LABEL = len("Service")


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
