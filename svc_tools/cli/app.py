"""The application: every command of `svc-tools`; here also `serve`, `panel` and `demo`.

A command reads its arguments, calls one function of the toolkit and shows the result.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from svc_sdk import DEFAULT_BASE_URL, __version__
from svc_tools import config
from svc_tools.cli.book import book
from svc_tools.cli.cache import cache
from svc_tools.cli.common import admin, explained
from svc_tools.cli.enrich import enrich
from svc_tools.cli.excel import excel
from svc_tools.cli.keys import keys, run_key
from svc_tools.cli.lookup import lookup
from svc_tools.cli.nexus import nexus

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


@app.command()
def panel(
    *,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    embedded: Annotated[bool, typer.Option("--embedded", help="Use the embedded service.")] = False,
    register: Annotated[
        Path | None,
        typer.Option(help="Nexus registrations (CSV or XLSX) that the panel opens with."),
    ] = None,
) -> None:
    """Serve the panel as a page on this machine until Ctrl+C, and open the browser.

    The key comes from SVC_API_KEY, or is typed on the page; never from an option.
    """
    with explained():
        from svc_tools.page import serve_page  # noqa: PLC0415 - of an extra

        serve_page(port=port, browser=browser, embedded=embedded, register=register, say=typer.echo)


@app.command()
def serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = (
        httpx.URL(DEFAULT_BASE_URL).port or 0
    ),
    db: Annotated[
        str | None,
        typer.Option(
            help="Database of keys and nexus records: a path, or a postgresql:// address; else"
            f" {config.DATABASE_VARIABLE}, else a file in the user's data folder."
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="A key that is valid for this run, and stored nowhere; - reads it from standard"
            f" input. The list of processes shows it: prefer {config.SERVE_KEY_VARIABLE} or"
            " --key-file."
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(help="A file that holds that key on one line; - is standard input."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that serve; they share keys, quotas and records.")
    ] = 1,
    faults: Annotated[
        str | None,
        typer.Option(help="Misbehave on purpose, such as 429:5%,503:3%,hang:1%,reset:1%."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides which requests the faults meet.")] = 0,
) -> None:
    """Serve the embedded service until Ctrl+C."""
    with explained():
        service = admin()
        try:
            service.serve(
                host,
                port,
                config.database(db),
                run_key(api_key, key_file),
                lambda line: print(line, flush=True),  # noqa: T201 - read line by line
                workers=workers,
                faults=faults,
                seed=seed,
            )
        except service.StartError as error:
            raise ValueError(str(error)) from None


def _version(wanted: bool) -> None:  # noqa: FBT001 - Typer's callback signature
    if wanted:
        typer.echo(f"svc-tools {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
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
