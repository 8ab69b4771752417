"""`svc-tools nexus apply|receipts|restore|remove-state`: what changes records, and its proof."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from svc_tools.cli.client import client_of
from svc_tools.cli.nexus_receipts import (
    receipt_as_json,
    show_progress,
    show_receipt,
    show_receipts,
    show_requests,
)
from svc_tools.cli.running import NO_ANSWER, explained
from svc_tools.nexus.apply import apply_plan, preview, remove_state
from svc_tools.nexus.plan_file import read_plan
from svc_tools.nexus.receipt_files import read_receipt, receipts
from svc_tools.nexus.restoring import preview_restore, restore
from svc_tools.nexus.words import ALL_TYPES_NOTE, BEFORE_REMOVING

if TYPE_CHECKING:
    from svc_tools.nexus.receipt import Receipt

__all__ = ["add_removals"]

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
    """Remove the ticked records of a plan; without --yes only show what would be sent.

    Each request is sent once. The same plan again goes on where it ended. The exit code is 0
    where all that is ticked is done (or, without --yes, could be sent), else 1.
    """
    console = Console(highlight=False)
    with explained():
        ticked = read_plan(plan)
        with client_of(embedded=embedded, base_url=base_url) as client:
            found = apply_plan(
                ticked,
                client,
                dry_run=not yes,
                on_progress=None if as_json else show_progress(console),
            )
        if not (yes or as_json):
            planned = {item.key for item in found.items if item.status == "planned"}
            requests = preview(ticked)
            show_requests(console, [one for one in requests if one.key in planned])
    _shown(console, found, as_json=as_json, before=() if yes else BEFORE_REMOVING)
    if not (yes or as_json):
        console.print(f"To send it: svc-tools nexus apply {plan} --yes", markup=False)
    _exit(found)


def show_all(
    receipt: Annotated[
        str | None, typer.Argument(help="One receipt, by its path or name; else all of them.")
    ] = None,
    as_json: _Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show the receipts of removals and restores, newest first; or all of one."""
    console = Console(highlight=False)
    with explained():
        if receipt is not None:
            _shown(console, read_receipt(receipt), as_json=as_json, references=True)
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
    """Add the removed records of a receipt again; without --yes only show what would be sent.

    Only what is gone is added: a record that is there again is left alone.
    """
    console = Console(highlight=False)
    with explained():
        removed = read_receipt(receipt)
        with client_of(embedded=embedded, base_url=base_url) as client:
            found = restore(
                removed,
                client,
                dry_run=not yes,
                on_progress=None if as_json else show_progress(console),
            )
        if not (yes or as_json):
            planned = {item.key for item in found.items if item.status == "planned"}
            show_requests(console, [one for one in preview_restore(removed) if one.key in planned])
    _shown(console, found, as_json=as_json)
    if not (yes or as_json):
        console.print(f"To send it: svc-tools nexus restore {receipt} --yes", markup=False)
    _exit(found)


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
    """Remove ALL records of a state, of every type; its code has to be typed in.

    To remove one type, tick it in a plan. Without --yes only show what would be sent.
    """
    console = Console(highlight=False)
    with explained():
        if typed is None and sys.stdin.isatty():
            console.print(ALL_TYPES_NOTE, markup=False)
            typed = typer.prompt(f"Type the code of the state to remove all of {state}")
        with client_of(embedded=embedded, base_url=base_url) as client:
            found = remove_state(client, state, typed=typed or "", dry_run=not yes)
    notes = () if yes else (ALL_TYPES_NOTE, *BEFORE_REMOVING)
    _shown(console, found, as_json=as_json, before=notes)
    _exit(found)


def _shown(
    console: Console,
    found: Receipt,
    *,
    as_json: bool,
    before: tuple[str, ...] = (),
    references: bool = False,
) -> None:
    if as_json:
        typer.echo(json.dumps(receipt_as_json(found), indent=2))
    else:
        show_receipt(console, found, before=before, references=references)


def _exit(found: Receipt) -> None:
    """1 where something that was asked for is not done, not known, or to be looked at."""
    wanted = {"planned"} if found.dry_run else {"done"}
    good = all({item.status, item.outcome} & wanted for item in found.items)
    if not good or found.counts["flagged"]:
        raise typer.Exit(NO_ANSWER)
