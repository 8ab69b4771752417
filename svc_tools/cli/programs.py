"""`svc-tools panel`, `serve` and `demo`: commands that run a program of the toolkit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from svc_sdk import DEFAULT_BASE_URL
from svc_tools import config
from svc_tools.cli.common import admin, explained
from svc_tools.cli.keys import run_key


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
