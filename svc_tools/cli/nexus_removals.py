"""`svc-tools nexus apply|receipts|restore|remove-state`: what changes records, and its proof."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from svc_tools.cli.client import client_of
from svc_tools.cli.nexus_receipts import (
    receipt_as_json,
    show_dry,
    show_progress,
    show_receipt,
    show_receipts,
)
from svc_tools.cli.running import NO_ANSWER, explained
from svc_tools.nexus.apply import apply_plan, remove_state
from svc_tools.nexus.plan_file import read_plan
from svc_tools.nexus.receipt_files import read_receipt, receipts
from svc_tools.nexus.restoring import restore
from svc_tools.nexus.words import ALL_TYPES_NOTE, BEFORE_REMOVING
from svc_tools.places import state_code
from svc_tools.printing import print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

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
