"""`svc-tools serve`: the embedded service as a program."""

from __future__ import annotations

import sys
from typing import Annotated

import httpx
import typer

from svc_sdk import DEFAULT_BASE_URL
from svc_tools import config
from svc_tools.cli.running import admin, explained

__all__ = ["serve"]


def serve(  # noqa: PLR0917 - Typer reads the signature
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
            " input, where the list of processes does not show it."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that serve; they share keys, limits and records.")
    ] = 1,
    faults: Annotated[
        str | None,
        typer.Option(help="Misbehave on purpose, such as 429:5%,503:3%,hang:1%,reset:1%."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides which requests the faults meet.")] = 0,
) -> None:
    """Serve the embedded service until Ctrl+C."""
    with explained():
        door = admin()
        try:
            door.serve(
                host,
                port,
                config.database(db),
                sys.stdin.readline().rstrip("\r\n") if api_key == "-" else api_key,
                lambda line: print(line, flush=True),  # noqa: T201 - read line by line
                workers=workers,
                faults=faults,
                seed=seed,
            )
        except door.StartError as error:
            raise ValueError(str(error)) from None
