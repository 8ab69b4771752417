"""`svc-tools nexus ...`: the register, its cleanup plan, and removals that can be proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from svc_tools import config
from svc_tools.cli.client import client_of
from svc_tools.cli.nexus_plan import plan
from svc_tools.cli.nexus_removals import add_removals
from svc_tools.cli.nexus_service import listed_register, service_if_any
from svc_tools.cli.nexus_show import register_as_json, show_added, show_differences, show_register
from svc_tools.cli.running import explained
from svc_tools.nexus.adding import WouldChangeError, add_record
from svc_tools.nexus.listing import found_differences
from svc_tools.nexus.register_file import read_register
from svc_tools.printing import print_text

__all__ = ["nexus"]

nexus = typer.Typer(
    no_args_is_help=True,
    help="Your nexus records: list and add them, plan a cleanup, remove what you ticked, and undo"
    " it. A plan suggests; nothing is removed that you did not tick.",
)

_Embedded = Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")]
_BaseUrl = Annotated[str | None, typer.Option(help="Address of the service (else SVC_BASE_URL).")]
_Json = Annotated[
    bool, typer.Option("--json", help="JSON for a program; an error too, as an object.")
]
_OwnRegister = Annotated[
    Path | None,
    typer.Option(
        "--register", help="Your own register: a CSV or workbook with state and nexus_type."
    ),
]


@nexus.command("list")
def show_list(
    register: _OwnRegister = None,
    as_json: _Json = False,  # noqa: FBT002 - a flag
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Show the records that the service has; with --register yours, and where the two differ."""
    console = Console(highlight=False)
    with explained(as_json=as_json):
        mine = None if register is None else read_register(register)
        with service_if_any(embedded=embedded, base_url=base_url, needed=mine is None) as client:
            name = "" if client is None else config.service_name(client)
            listed, note = listed_register(client, needed=mine is None)
    shown = listed if mine is None else mine
    assert shown is not None  # noqa: S101 - without one's own the service's is needed, or an error
    found = None if mine is None or listed is None else found_differences(mine, listed)
    if as_json:
        typer.echo(json.dumps(register_as_json(shown, found, service=name, note=note), indent=2))
        return
    show_register(console, shown, of=name if mine is None else str(register))
    if found is not None:
        show_differences(console, found, service=name)
    if note:
        console.print()
        print_text(console, note)


@nexus.command("add")
def add(  # noqa: PLR0917 - Typer reads the signature
    state: Annotated[str, typer.Argument(help="State, such as TX or Texas.")],
    nexus_type: Annotated[str, typer.Option("--type", help="physical, economic or marketplace.")],
    registered_at: Annotated[
        str | None, typer.Option(help="Day of the registration, as 2024-05-01.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="The place that gives rise to it.")] = None,
    notes: Annotated[str | None, typer.Option(help="Free text.")] = None,
    update: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--update", help="Change the record that is there.")
    ] = False,
    embedded: _Embedded = False,  # noqa: FBT002 - a flag
    base_url: _BaseUrl = None,
) -> None:
    """Add a record to the service; one that is there is only changed with --update."""
    with explained(), client_of(embedded=embedded, base_url=base_url) as client:
        try:
            added = add_record(
                client,
                state,
                nexus_type=nexus_type,
                registered_at=registered_at,
                address=address,
                notes=notes,
                update=update,
            )
        except WouldChangeError as error:
            raise WouldChangeError(f"{error} (--update)") from None
        show_added(Console(highlight=False), added, service=config.service_name(client))


nexus.command("plan")(plan)
add_removals(nexus)
