"""`svc-tools excel serve`: the process and the certificate of the local server.

The certificate is tried before anything starts, by a handshake in memory: a browser inside Excel
shows no reason where one does not fit, the add-in just does not load.
"""

from __future__ import annotations

import logging
import signal
import ssl
import threading
import webbrowser
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from svc_tools import config
from svc_tools.excel import settings
from svc_tools.excel.desk import the_desk
from svc_tools.excel.officejs.guard import ROOT, origin_of
from svc_tools.excel.officejs.pages import write_manifest
from svc_tools.extras import needs
from svc_tools.loopback import LocalGuard, listen_on_localhost, make_server

with needs("The spreadsheets' server", "excel"):
    from filelock import FileLock, Timeout

    from svc_tools.excel.officejs.app import make_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_DEFAULT_PORT = 8643
"""The port of the first run; then that of the last run."""
_SHUTDOWN_SECONDS = 2


def serve(
    *,
    port: int | None,
    cert: Path | None,
    key: Path | None,
    say: Callable[[str], None],
    manifest: Path | None = None,
    browser: bool = False,
) -> None:
    """Serve the add-ins of Excel and Calc on this machine alone, until Ctrl+C.

    Token, port and manifest stay the same from run to run. Where this user already runs a server,
    only a message says so.

    Args:
        port: the port; that of the last run where left out, 0 for a free one.
        cert: the certificate for https (PEM).
        key: its private key (PEM).
        say: receives each line of output.
        manifest: the path of the manifest; else in the adapters' folder.
        browser: whether to open the page with instructions.

    Raises:
        ValueError: the certificate cannot be used, or only one of its two files was given.
        OSError: the port is taken, or a file cannot be written.
        ConfigurationError: the folder or the file of the last run cannot be used.
    """
    if (cert is None) != (key is None):
        raise ValueError("--cert and --key belong together: the certificate and its private key")
    if cert is not None and key is not None:
        check_certificate(cert, key)
    folder = config.excel_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(settings.lock_path())
    try:
        lock.acquire(timeout=1)  # `excel check` holds it for a moment
    except Timeout:
        running = settings.read_server()
        where = f"on {running.url} (process {running.pid})" if running else "at the moment"
        say(f"A server already runs {where}; it serves Excel and Calc alike.")
        say("To change its options, stop it with Ctrl+C first.")
        return
    try:
        path = manifest or folder / "svc-tools-manifest.xml"
        _serve_alone(port, cert, key, path, say, browser=browser)
    finally:
        lock.release()


def _serve_alone(
    port: int | None,
    cert: Path | None,
    key: Path | None,
    manifest: Path,
    say: Callable[[str], None],
    *,
    browser: bool,
) -> None:
    before = settings.read_server()
    wanted = (settings.last_port() or _DEFAULT_PORT) if port is None else port
    sockets = listen_on_localhost(wanted)
    try:
        token = settings.last_token()
        scheme: Literal["http", "https"] = "http" if cert is None else "https"
        guard = LocalGuard(sockets[0].getsockname()[1], scheme, token)
        write_manifest(manifest, guard)

        def started() -> None:
            settings.publish_server(origin_of(guard), token, cert)
            _say_started(guard, manifest, say, "" if before is None else before.url)
            if browser:
                page = f"{origin_of(guard)}{ROOT}"
                threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

        server = make_server(
            make_app(the_desk(), guard),
            started,
            ssl_certfile=cert,
            ssl_keyfile=key,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        with _interruptible(), suppress(KeyboardInterrupt):
            server.run(sockets)
        # no errors of lookups that end with it
        logging.getLogger("svc_tools").setLevel(logging.CRITICAL)
    finally:
        settings.withdraw_server()
        for one in sockets:
            one.close()
    say("The server has stopped; cells show #N/A until it runs again.")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Handle SIGTERM as Ctrl+C, so that everything is cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_started(
    guard: LocalGuard, manifest: Path, say: Callable[[str], None], before: str
) -> None:
    origin = origin_of(guard)
    say(f"Serving the add-ins on {origin} (this machine only)")
    described = settings.describe()
    embedded = described.service == settings.EMBEDDED
    say(f"Service: {described.problem or ('embedded' if embedded else described.service)}")
    if before != origin and before.startswith("https:"):  # Excel may know it
        todo = "load the manifest into Excel again"
        if guard.scheme == "http":
            todo = "for Excel start it with that certificate, --cert and --key, as then"
        say(f"The last run served on {before}: {todo}.")
    say(f"Manifest for Excel: {manifest}")
    say(f"How to load it, and how to set up https: {origin}{ROOT}")
    if guard.scheme == "http":
        say("This is plain http, which Calc accepts; Excel requires https (--cert and --key).")
    say("The manifest contains the token of this server: do not share it. Stop with Ctrl+C.")


_HOST = "localhost"
_NOT_YET_VALID, _EXPIRED, _WRONG_NAME = 9, 10, 62
"""Codes of OpenSSL."""


def check_certificate(cert: Path, key: Path) -> None:
    """Check a certificate for `localhost`; whether this machine trusts it is not checked.

    Raises:
        ValueError: a file is missing or unreadable, the two do not belong together, the key has a
            password, or the certificate is for another name or not valid today.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        server.load_cert_chain(cert, key, password=_no_password)
    except FileNotFoundError:
        missing = cert if not cert.exists() else key
        raise ValueError(
            f"{missing} does not exist; --cert and --key name PEM files, and the page of"
            " `svc-tools excel serve --open` says how they are made"
        ) from None
    except _PasswordError:
        raise ValueError(
            f"The key {key} has a password; give one without, readable by you alone"
        ) from None
    except (ssl.SSLError, OSError) as error:
        is_mismatch = "MISMATCH" in str(error).upper()
        why = "they do not belong together" if is_mismatch else "PEM files are expected"
        raise ValueError(f"{cert} and {key} cannot be used: {why}") from None
    client = ssl.create_default_context(cafile=cert)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # its issuer is not checked
    try:
        _shake_hands(server, client)
    except ssl.SSLError as error:
        code = getattr(error, "verify_code", None)
        why = "cannot be used for https by a server"
        if code == _WRONG_NAME:
            why = f"is not for {_HOST}: make one whose subjectAltName names DNS:{_HOST}"
        elif code in {_EXPIRED, _NOT_YET_VALID}:
            why = "is not valid today: make a new one"
        raise ValueError(f"{cert} {why}") from None


class _PasswordError(Exception):
    """The key is encrypted."""


def _no_password() -> str:
    """Keep OpenSSL from prompting for a password."""
    raise _PasswordError


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=_HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):  # more rounds than a handshake needs
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)
