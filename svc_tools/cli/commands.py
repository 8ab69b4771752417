"""The commands: each reads its arguments, calls one function of the toolkit, shows the result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from svc_sdk import __version__
from svc_tools import config
from svc_tools.cli.book import book
from svc_tools.cli.cache import cache
from svc_tools.cli.enrich import enrich
from svc_tools.cli.excel import excel
from svc_tools.cli.keys import keys
from svc_tools.cli.lookup import lookup
from svc_tools.cli.nexus import nexus
from svc_tools.cli.panel import panel
from svc_tools.cli.running import explained
from svc_tools.cli.serve import serve

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="US sales-tax rates: look them up, serve them, see what the toolkit does.",
)
app.add_typer(book, name="book")
app.add_typer(cache, name="cache")
app.add_typer(excel, name="excel")
app.add_typer(keys, name="keys")
app.add_typer(nexus, name="nexus")
app.command()(lookup)
app.command()(enrich)
app.command()(panel)
app.command()(serve)


def _version(wanted: bool) -> None:  # noqa: FBT001 - Typer's callback signature
    if wanted:
        typer.echo(f"svc-tools {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """US sales-tax rates on the command line."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the files that are made.")] = Path(
        "demo-output"
    ),
) -> None:
    """See the main job done: orders with messy places, their rates and tax, three files."""
    with explained():
        from svc_tools.demo import run_demo  # noqa: PLC0415 - loads pandas

        with config.connect("embedded") as client:
            code = run_demo(output, client=client, console=Console(), progress=True)
    raise typer.Exit(code)
