"""`svc-tools excel install`: each step, and what became of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from svc_tools import config
from svc_tools.cli.running import NO_ANSWER, explained
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from svc_tools.excel.steps import Step

__all__ = ["install"]

_STYLES = {
    "done": "green",
    "already so": "green",
    "would do": "cyan",
    "by hand": "bold yellow",
    "failed": "bold red",
}
_WAYS = (
    ("svc-tools excel serve", "the add-in for Excel on Windows, macOS and the web"),
    ("svc-tools excel calc-addin", "the add-in for LibreOffice Calc"),
    ("svc-tools excel check", "what is set up, and what is missing"),
)
_WORKBOOK = ("svc-tools excel workbook", 'the workbook: open it, press "Import functions" once')


def install(  # noqa: PLR0917 - Typer reads the signature
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Address of the service that answers the cells. Its key is asked for, and kept in"
            " the operating system's keyring."
        ),
    ] = None,
    key_stdin: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--key-stdin", help="Read the key from standard input.")
    ] = False,
    embedded: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--embedded", help="The embedded service answers the cells.")
    ] = False,
    forget_key: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--forget-key", help="Remove the key from the keyring.")
    ] = False,
    addin: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option("--addin", help="xlwings' own ribbon, too; our workbook needs none."),
    ] = False,
    dry_run: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
    ] = False,
) -> None:
    """Set up this machine: who answers the cells, and which Python Excel starts.

    Run it again at any time: what is right stays. Excel's security settings
    are named, never changed. Exit code 1 where a step failed, 2 where the
    options cannot be used.
    """
    with explained():
        from svc_tools.excel import installing, settings  # noqa: PLC0415 - of an extra

        _refuse_contradictions(base_url, key_stdin, embedded=embedded, forget_key=forget_key)
        address = None if base_url is None else settings.checked_address(base_url)
        key = None
        if address is not None and not dry_run:
            key = _key(address, from_stdin=key_stdin)
        wish = installing.Wish(
            address=address,
            key=key,
            embedded=embedded,
            forget_key=forget_key,
            addin=addin,
            dry_run=dry_run,
        )
        console = Console(highlight=False)
        taken = []
        for step in installing.install(wish):
            _show(console, step)
            taken.append(step)
        _show_ways(console, taken)
    if any(step.state == "failed" for step in taken):
        raise typer.Exit(NO_ANSWER)


def _refuse_contradictions(
    base_url: str | None,
    key_stdin: bool,  # noqa: FBT001 - as Typer hands it over
    *,
    embedded: bool,
    forget_key: bool,
) -> None:
    if (base_url is not None) + embedded + forget_key > 1:
        raise ValueError("--base-url, --embedded and --forget-key exclude each other: give one")
    if key_stdin and base_url is None:
        raise ValueError("--key-stdin needs --base-url: the key is kept for one address")


def _key(address: str, *, from_stdin: bool) -> SecretStr | None:
    """The key: from a program, or typed unseen; `None` for the one that is stored."""
    from svc_tools.excel import keys  # noqa: PLC0415 - of an extra

    if from_stdin:
        key = SecretStr(sys.stdin.readline().strip())
        if not key.get_secret_value():
            raise ValueError("--key-stdin: standard input has no key; expected it on one line")
        return key
    try:
        stored = keys.stored_key(address)
    except config.ConfigurationError:
        return None  # the step says it, and those after it go on
    if not sys.stdin.isatty():
        if stored is None:
            raise ValueError(f"There is no key yet for {address}: give it with --key-stdin")
        return None
    kept = " (Enter keeps the one that is stored)" if stored is not None else ""
    typed = typer.prompt(
        f"API key of your account{kept}",
        hide_input=True,
        default="" if stored is not None else None,
        show_default=False,
    )
    return SecretStr(typed.strip()) if typed.strip() else None


def _show(console: Console, step: Step) -> None:
    print_text(console, (step.name, "bold"), ": ", (step.state, _STYLES.get(step.state, "dim")))
    print_text(console, step.said, indent=2)


def _show_ways(console: Console, taken: list[Step]) -> None:
    """What to run next; the workbook where there is an Excel that opens it."""
    excel = any(step.name == "Excel" and step.state != "not here" for step in taken)
    console.print()
    print_text(console, ("Next", "bold"))
    rows = [(Text(command, "cyan"), what) for command, what in (*[_WORKBOOK][:excel], *_WAYS)]
    print_table(console, ("", "~"), rows, indent=2)
