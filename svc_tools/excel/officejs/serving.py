"""`svc-tools excel serve`: the process of the local server."""

from __future__ import annotations

import logging
import secrets
import signal
import threading
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
from pydantic import SecretStr

from svc_tools import config
from svc_tools.base.extras import needs
from svc_tools.base.loopback import LocalGuard, listen_on_localhost, make_server
from svc_tools.excel import settings, setup
from svc_tools.excel.desk import the_desk
from svc_tools.excel.officejs.guard import ROOT, origin_of
from svc_tools.excel.officejs.pages import manifest

with needs("The spreadsheets' server", "excel"):
    from filelock import FileLock, Timeout

    from svc_tools.excel.officejs.app import addin_app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_DEFAULT_PORT = 8643
"""The port of the first run; then that of the last run."""


def serve_addins(
    *,
    port: int | None,
    cert: Path | None,
    key: Path | None,
    say: Callable[[str], None],
    https: bool | None = None,
    confirm: Callable[[], bool] | None = None,
    browser: bool = False,
) -> None:
    """Serve the add-ins of Excel and Calc on this machine alone, until Ctrl+C.

    Token, port, certificate and manifest stay the same from run to run. Where this user already
    runs a server, only a message says so.

    Args:
        port: the port; that of the last run where left out, 0 for a free one.
        cert: the certificate for https (PEM); as `setup.choose_certificate` where left out.
        key: its private key (PEM).
        say: receives each line of output.
        https: whether to serve https; what was chosen last where left out.
        confirm: whether a certificate may be made; `None` where nobody can be asked.
        browser: whether to open the page with instructions.

    Raises:
        ValueError: the certificate cannot be used, or there is none for https.
        OSError: the port is taken.
        ConfigurationError: what is stored cannot be used, or a file cannot be written.
    """
    config.excel_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with FileLock(settings.lock_path(), timeout=1):  # `excel check` holds it for a moment
            pair = setup.choose_certificate(cert, key, https=https, say=say, confirm=confirm)
            _serve_alone(port, pair, say, browser=browser)
    except Timeout:
        running = settings.read_server()
        where = f"on {running.url} (process {running.pid})" if running else "at the moment"
        say(f"A server already runs {where}; it serves Excel and Calc alike.")
        say("To change its options, stop it with Ctrl+C first.")


def _serve_alone(
    port: int | None, pair: tuple[Path, ...], say: Callable[[str], None], *, browser: bool
) -> None:
    """Serve the add-ins on this machine until Ctrl+C or SIGTERM.

    With https it writes the manifest; while it runs, its address and token are in the settings'
    folder. Replaces the handler of SIGTERM. `say` gets each line for the user.
    """
    cert, private_key = pair or (None, None)
    before = settings.read_server()
    if port is None:
        port = (before and httpx.URL(before.url).port) or _DEFAULT_PORT
    sockets = listen_on_localhost(port)
    # the same token, so that manifests stay valid
    token = before.token if before else SecretStr(secrets.token_urlsafe(24))
    guard = LocalGuard(sockets[0].getsockname()[1], "https" if cert else "http", token)
    origin = origin_of(guard)
    path, moved = setup.manifest_path(), False
    if cert:  # Excel loads nothing over http: a manifest that it has stays as it is
        moved = path.exists() and f"{origin}/" not in path.read_text(encoding="utf-8")
        settings.write_private(path, manifest(guard))

    def started() -> None:
        """Publish the address, and print how the server is used; opens a browser where wanted."""
        settings.publish_server(origin, token, cert)
        say(f"Serving the add-ins on {origin} (this machine only)")
        described = settings.describe()
        say(f"Service: {described.problem or described.service}")
        if cert is None:
            say(f"This is plain http, which Calc accepts; Excel requires https: {setup.HTTPS}")
        else:
            if moved:
                say("The address has changed: load the manifest into Excel again.")
            say(f"Certificate: {cert}")
            say(f"Manifest for Excel: {path}")
            say("To load it into Excel, in another terminal: svc-tools excel install")
            say("The manifest contains the token of this server: do not share it.")
        say(f"How everything is used: {origin}{ROOT}")
        say("Stop with Ctrl+C.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(f"{origin}{ROOT}",), daemon=True).start()

    app = addin_app(the_desk(), guard)
    server = make_server(app, started, ssl_certfile=cert, ssl_keyfile=private_key)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl+C: all is cleaned up
    try:
        with suppress(KeyboardInterrupt):
            server.run(sockets)
        # no errors of lookups that end with it
        logging.getLogger("svc_tools").setLevel(logging.CRITICAL)
    finally:
        settings.withdraw_server()
    say("The server has stopped; cells cannot look anything up until it runs again.")
