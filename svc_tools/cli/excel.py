"""`svc-tools excel ...`: what spreadsheets need of this machine."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - Typer reads the annotation
from pathlib import Path
from typing import Annotated

import typer

from svc_tools.cli.excel_check import check
from svc_tools.cli.excel_install import install
from svc_tools.cli.running import explained

__all__ = ["excel"]

excel = typer.Typer(
    no_args_is_help=True,
    help="Rates and nexus as functions of a spreadsheet: Excel through xlwings (Windows) or an"
    " add-in of its own (Windows, macOS, web), and LibreOffice Calc. `install` sets it up,"
    " `check` says what is missing.",
)
excel.command()(install)
excel.command()(check)


@excel.command()
def workbook(
    path: Annotated[Path, typer.Argument(help="The workbook to make (.xlsm).")] = Path(
        "sales-tax.xlsm"
    ),
    empty: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--empty", help="Without the example orders.")
    ] = False,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            metavar="YYYY-MM-DD",
            help="The day in its cell SVC_AS_OF; today where left out.",
        ),
    ] = None,
    force: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--force", help="Replace the files, whatever was typed into them.")
    ] = False,
) -> None:
    """Make the workbook for Excel on Windows, and the module that it needs beside it."""
    with explained():
        from svc_tools.excel.workbook import write_workbook  # noqa: PLC0415 - of an extra

        day = None if as_of is None else as_of.date()
        for made in write_workbook(path, example=not empty, as_of=day, force=force):
            typer.echo(f"Made {made}")
        typer.echo("Open it in Excel on Windows; its sheet Start says what to do first.")


@excel.command()
def serve(
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on; that of the last run where left out; 0: a free one."),
    ] = None,
    cert: Annotated[
        Path | None, typer.Option(help="Certificate (PEM) for https, which Excel asks for.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The certificate's private key (PEM).")] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="Where the manifest for Excel is written; else in the user's own folder."
        ),
    ] = None,
    browser: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--open", help="Open the page that says how Excel loads the add-in.")
    ] = False,
) -> None:
    """Serve the add-in for Excel and Calc on this machine alone, until Ctrl+C."""
    with explained():
        from svc_tools.excel.officejs.serving import serve as run  # noqa: PLC0415 - of an extra

        run(port=port, cert=cert, key=key, manifest=manifest, browser=browser, say=typer.echo)


@excel.command("calc-addin")
def calc_addin(
    path: Annotated[Path, typer.Argument(help="The extension to make (.oxt).")] = Path(
        "svc-tools.oxt"
    ),
) -> None:
    """Build the add-in for LibreOffice Calc, and say how it is installed."""
    with explained():
        from svc_tools.excel.calc import write_addin  # noqa: PLC0415 - as its neighbours

        made = write_addin(path)
        typer.echo(f"Made {made}. Install it in LibreOffice: Tools > Extension Manager > Add.")
        typer.echo("Then start LibreOffice again, and the server: svc-tools excel serve")
