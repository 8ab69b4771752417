"""`svc-tools panel`: the panel as a page in the browser."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the signature
from typing import Annotated

import typer

from svc_tools.cli.running import explained

__all__ = ["panel"]


def panel(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,  # noqa: FBT002 - a flag
    embedded: Annotated[bool, typer.Option("--embedded", help="Ask the embedded service.")] = False,  # noqa: FBT002 - a flag
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
