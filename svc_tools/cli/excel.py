"""`svc-tools excel ...`: set up spreadsheets, check them, and make and serve their files."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from svc_tools.base.extras import needs, require
from svc_tools.cli.common import NO_RESULT, day_given, explained
from svc_tools.show.display import print_table, print_text, prose

if TYPE_CHECKING:
    from svc_tools.excel.setup import Line


excel = typer.Typer(
    no_args_is_help=True,
    help="Rates and nexus as functions of a spreadsheet: Excel through xlwings (Windows) or a"
    " separate add-in (Windows, macOS, web), and LibreOffice Calc. `install` sets it up,"
    " `check` shows what is missing.",
)
_STYLES = {"ok": "green", "wrong": "bold red", "not set up": "yellow"}
_WAYS = (
    ("svc-tools excel workbook", "the workbook for Excel on Windows"),
    ("svc-tools excel serve", "the add-in for Excel on Windows, macOS and the web"),
    ("svc-tools excel calc-addin", "the add-in for LibreOffice Calc"),
    ("svc-tools excel check", "shows any problem"),
)


@excel.command()
def install(
    *,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Address of the service for the cells. It prompts for the key, which is stored in"
            " the operating system's keyring."
        ),
    ] = None,
    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read the key from standard input.")
    ] = False,
    embedded: Annotated[bool, typer.Option("--embedded", help="Use the embedded service.")] = False,
    forget_key: Annotated[
        bool, typer.Option("--forget-key", help="Remove the key from the keyring.")
    ] = False,
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Take the add-in out of Excel, and remove the key.")
    ] = False,
) -> None:
    """Set up this machine: the service for the cells, Excel's Python, and its add-in.

    Run it again at any time. Excel's security settings are never changed; the
    add-in is loaded once `svc-tools excel serve` has made it.
    """
    with explained():
        with needs("Working with spreadsheets", "excel"):
            from svc_tools.excel import settings, setup  # noqa: PLC0415 - of an extra
        require("Working with spreadsheets", "excel", "xlwings")
        if (base_url is not None) + embedded + forget_key + uninstall > 1:
            raise ValueError(
                "--base-url, --embedded, --forget-key and --uninstall exclude each other: give one"
            )
        if key_stdin and base_url is None:
            raise ValueError("--key-stdin needs --base-url: the key is stored for one address")
        if base_url is not None:
            address = settings.checked_address(base_url)
            text = setup.use_account(address, _key(address, from_stdin=key_stdin))
        elif embedded:
            text = setup.use_embedded()
        elif uninstall:
            typer.echo(setup.load_addin(remove=True))
            typer.echo(setup.forget_key())
            return
        elif forget_key:
            text = setup.forget_key()
        else:
            text = setup.current_service()
        console = Console(highlight=False)
        print_text(console, text)
        for step in setup.install():
            print_text(console, step)
        console.print()
        print_text(console, ("Next", "bold"))
        rows = [(Text(command, "cyan"), what) for command, what in _WAYS]
        print_table(console, ("", prose()), rows, indent=2)


def _key(address: str, *, from_stdin: bool) -> SecretStr:
    """The key: from standard input, typed unseen, or the one that is stored."""
    from svc_tools.excel import settings  # noqa: PLC0415 - of an extra

    if from_stdin:
        key = SecretStr(sys.stdin.readline().strip())
        if not key.get_secret_value():
            raise ValueError("--key-stdin: standard input has no key; expected it on one line")
        return key
    stored = settings.stored_key(address)
    if not sys.stdin.isatty():
        if stored is None:
            raise ValueError(f"There is no key yet for {address}: give it with --key-stdin")
        return stored
    default = " (Enter keeps the one that is stored)" if stored is not None else ""
    typed = typer.prompt(
        f"API key of your account{default}",
        hide_input=True,
        default="" if stored is not None else None,
        show_default=False,
    )
    return SecretStr(typed.strip()) if typed.strip() or stored is None else stored


@excel.command()
def check(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,
) -> None:
    """Look at each part between a cell and the service; show what is wrong, and what to do.

    Nothing is changed, nothing is billed, no key is shown. Exit code 1 where
    something is wrong; a part that is not set up is not an error.
    """
    with explained(as_json=as_json):
        with needs("Working with spreadsheets", "excel"):
            from svc_tools.excel import setup  # noqa: PLC0415 - of an extra
        lines = list(setup.check())
    wrong = sum(line.mark == "wrong" for line in lines)
    if as_json:
        result = {"ok": not wrong, "lines": [asdict(line) for line in lines]}
        typer.echo(json.dumps(result, indent=2))
    else:
        console = Console(highlight=False)
        rows = [
            (Text(line.mark.ljust(len("not set up")), _STYLES[line.mark]), _described(line))
            for line in lines
        ]
        print_table(console, ("", prose()), rows)
        print_text(console, f"Wrong: {wrong}." if wrong else "Nothing is wrong.")
    if wrong:
        raise typer.Exit(NO_RESULT)


def _described(line: Line) -> Text:
    """What was found, and on a separate line what to do."""
    todo = "" if line.todo is None else f"\n{line.todo}"
    return Text.assemble((line.name, "bold"), f": {line.said}{todo}")


@excel.command()
def workbook(
    path: Annotated[Path, typer.Argument(help="The workbook to make (.xlsm).")] = Path(
        "sales-tax.xlsm"
    ),
    *,
    empty: Annotated[bool, typer.Option("--empty", help="Without the example orders.")] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="YYYY-MM-DD", help="The day in its cell SVC_AS_OF; today where left out."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the files, whatever was typed into them.")
    ] = False,
) -> None:
    """Make the workbook for Excel on Windows, and the module that it needs next to it."""
    with explained():
        with needs("Working with spreadsheets", "excel"):
            from svc_tools.excel.workbook import write_workbook  # noqa: PLC0415 - of an extra
        day = day_given(as_of)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            files = write_workbook(path, example=not empty, as_of=day, force=force)
        for made in files:
            typer.echo(f"Made {made}")
        for warning in caught:
            typer.echo(str(warning.message))
        typer.echo("Open it in Excel on Windows; its sheet Start has the first steps.")


@excel.command()
def serve(
    *,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on; that of the last run where left out; 0: a free one."),
    ] = None,
    cert: Annotated[Path | None, typer.Option(help="Certificate (PEM) for localhost.")] = None,
    key: Annotated[Path | None, typer.Option(help="The certificate's private key (PEM).")] = None,
    https: Annotated[
        bool | None,
        typer.Option(
            "--https/--http", help="https, which Excel requires, or http, which Calc accepts."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Make and trust a certificate without confirmation.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--open", help="Open the page on how to load the add-in in Excel.")
    ] = False,
    at_logon: Annotated[
        bool,
        typer.Option(
            "--at-logon",
            help="Serve nothing now: write the file by which Windows or macOS starts this server at"
            " each logon, and show the commands for it.",
        ),
    ] = False,
) -> None:
    """Serve the add-in for Excel and Calc on this machine alone, until Ctrl+C.

    Port, certificate and choice of https stay the same from run to run. Where
    there is no certificate, mkcert or npx can make one, after you confirm;
    without them the commands are shown.
    """
    with explained():
        with needs("Working with spreadsheets", "excel"):
            from svc_tools.excel import setup  # noqa: PLC0415 - of an extra
            from svc_tools.excel.officejs.serving import serve_addins as run  # noqa: PLC0415 - the same
        if at_logon:
            if (port, cert, key, https, yes, browser) != (None, None, None, None, False, False):
                raise ValueError(
                    "--at-logon takes no other option: the server starts with the choices of its"
                    " last run. Start it once with those that you want, then run this again"
                )
            for line in setup.start_at_logon():
                typer.echo(line)
            return
        asked = "Run it now? (No: plain http, for Calc alone.)"
        confirm = functools.partial(typer.confirm, asked)
        run(
            port=port,
            cert=cert,
            key=key,
            https=https,
            confirm=(lambda: True) if yes else confirm if sys.stdin.isatty() else None,
            browser=browser,
            say=typer.echo,
        )


@excel.command("calc-addin")
def calc_addin(
    path: Annotated[Path, typer.Argument(help="The extension to make (.oxt).")] = Path(
        "svc-tools.oxt"
    ),
) -> None:
    """Build the add-in for LibreOffice Calc, and show how to install it."""
    with explained():
        with needs("Working with spreadsheets", "excel"):
            from svc_tools.excel.calc import start_command, write_addin  # noqa: PLC0415 - of an extra

            made = write_addin(path)
        typer.echo(f"Made {made}. Install it in LibreOffice: Tools > Extension Manager > Add.")
        typer.echo("Then start LibreOffice again, and the server: svc-tools excel serve")
        if command := start_command():
            typer.echo(
                "Do not start LibreOffice from this terminal alone: a virtual environment or a"
                " variable of Python is active; LibreOffice would load the modules of that Python,"
                f" and close. Start it from the desktop, or with this command:\n{command}"
            )
