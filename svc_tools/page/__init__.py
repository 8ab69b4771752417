"""The panel as a page for people without code, served on this machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.base.extras import needs, require
from svc_tools.base.operating_system import user_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["serve_page"]


def serve_page(
    *,
    port: int = 0,
    browser: bool = True,
    embedded: bool = False,
    register: Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the panel as a page on 127.0.0.1 until Ctrl+C.

    A request needs the token of the address that `say` prints, or the cookie that follows it.
    Each tab of the browser has its own process. A reload, or the address opened again within an
    hour after the tab was closed, finds everything as it was. The processes end with this one:
    results that the panel writes stay in the user's data folder; uploads are deleted.

    Args:
        port: the port; 0 takes a free one.
        browser: whether the browser is opened.
        embedded: whether it uses the embedded service, whatever is configured.
        register: a register of nexus registrations (CSV or XLSX) that the panel opens with.
        say: prints a line for the user.

    Raises:
        ConfigurationError: only one of key and address is configured.
        FileNotFoundError: there is no such register.
        ImportError: the extra `page`, or the requested embedded service, is not installed.
        OSError: the port is taken, or the user's data folder cannot be written.
    """
    if register is not None and not register.is_file():
        raise FileNotFoundError(f"There is no register {str(register)!r}; expected a CSV or XLSX")
    service = _service(embedded=embedded)
    require("The page", "page", "ipykernel")  # reported here, not only on each page
    with needs("The page", "page"):
        from svc_tools.page.app import serve_panel  # noqa: PLC0415 - loads Voila
    say(service)
    serve_panel(
        port=port,
        browser=browser,
        embedded=embedded,
        register=register,
        folder=user_folder("data") / "panel",
        say=say,
    )


def _service(*, embedded: bool) -> str:
    """A sentence that names the service of the page."""
    if embedded:
        # reported here, not on a page that cannot help
        config.require_embedded()
        return "The page uses the embedded service."
    account = config.configured()
    if account is None:
        return (
            f"No service is configured ({config.URL_VARIABLE} and {config.KEY_VARIABLE}): the page"
            " requests an address and a key, or offers the embedded service."
        )
    return f"The page uses the service at {account[1]}"
