"""`svc-tools excel serve`: the process, sockets and certificate of the local server.

It listens on `localhost` in both address families: a browser may try ::1 or 127.0.0.1, and another
user of the machine could take a free one and be sent the token. The certificate is tried before
anything starts, by a handshake in memory: a browser inside Excel shows no reason where one does not
fit, the add-in just does not load.
"""

from __future__ import annotations

import errno
import logging
import signal
import socket
import ssl
import sys
import threading
import webbrowser
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

import uvicorn
from filelock import FileLock, Timeout

from svc_tools import config
from svc_tools.excel import server_file, settings
from svc_tools.excel.desk import the_desk
from svc_tools.excel.officejs.app import make_app
from svc_tools.excel.officejs.gate import ROOT, Gate
from svc_tools.excel.officejs.pages import write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp

DEFAULT_PORT = 8643
"""The port of the first run; then that of the last run."""


def manifest_path() -> Path:
    """The default path of the manifest."""
    return config.excel_folder() / "svc-tools-manifest.xml"


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
    lock = FileLock(server_file.lock_path())
    try:
        lock.acquire(timeout=1)  # `excel check` holds it for a moment
    except Timeout:
        _say_running(say)
        return
    try:
        _serve_alone(port, cert, key, manifest or manifest_path(), say, browser=browser)
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
    before = server_file.read()
    wanted = (server_file.known_port() or DEFAULT_PORT) if port is None else port
    scheme: Literal["http", "https"] = "http" if cert is None else "https"
    sockets = bound(wanted)
    try:
        gate = Gate(sockets[0].getsockname()[1], server_file.known_token(), scheme)
        write_manifest(manifest, gate)

        def started() -> None:
            server_file.publish(gate.origin, gate.token, cert)
            _say_started(gate, manifest, say, "" if before is None else before.url)
            if browser:
                page = f"{gate.origin}{ROOT}"
                threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

        server = _Server(make_app(the_desk(), gate), cert, key, started)
        with _interruptible(), suppress(KeyboardInterrupt):
            server.run(sockets)
        logging.getLogger("svc_tools").setLevel(
            logging.CRITICAL
        )  # no errors of lookups that end with it
    finally:
        server_file.withdraw()
        for one in sockets:
            one.close()
    say("The server has ended; cells show #N/A until it runs again.")


class _Server(uvicorn.Server):
    """A server without access log, since addresses contain the token; it calls `started`."""

    def __init__(
        self, app: ASGIApp, cert: Path | None, key: Path | None, started: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # the app logs its failures, without what the user typed
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=2,
                ssl_certfile=cert,
                ssl_keyfile=key,
            )
        )
        self._on_started = started
        self._failure: BaseException | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until stopped."""
        super().run(sockets)
        if self._failure is not None:
            raise self._failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then call `started`."""
        await super().startup(sockets)
        try:
            self._on_started()
        except BaseException as error:  # noqa: BLE001 - raised again once all is shut down
            self._failure = error
            self.should_exit = True


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


def _say_started(gate: Gate, manifest: Path, say: Callable[[str], None], before: str) -> None:
    say(f"Serving the add-ins on {gate.origin} (this machine only)")
    described = settings.describe()
    say(f"Who answers: {described.problem or _named(described.service)}")
    if before != gate.origin and before.startswith("https:"):  # Excel may know it
        todo = "load the manifest into Excel again"
        if gate.scheme == "http":
            todo = "for Excel start it with that certificate, --cert and --key, as then"
        say(f"The last run served on {before}: {todo}.")
    say(f"Manifest for Excel: {manifest}")
    say(f"How it is loaded, and how https is set up: {gate.origin}{ROOT}")
    if gate.scheme == "http":
        say("This is plain http: Calc takes it; Excel asks for https (--cert and --key).")
    say("The manifest holds the token of this server: give it to nobody. Stop with Ctrl+C.")


def _say_running(say: Callable[[str], None]) -> None:
    running = server_file.read()
    where = f"on {running.url} (process {running.pid})" if running else "in this moment"
    say(f"A server runs already {where}; it serves Excel and Calc alike, so none is started.")
    say("Stop that one with Ctrl+C where other options are to hold.")


def _named(service: str | None) -> str:
    return "the embedded service" if service == settings.EMBEDDED else str(service)


def bound(port: int) -> list[socket.socket]:
    """Listening sockets on one port of loopback; port 0 takes a free one.

    Raises:
        OSError: the port is taken, or does not exist.
    """
    if not 0 <= port < 2**16:
        raise OSError(f"The port {port} does not exist; ports go from 1 to 65535")
    tries = 1 if port else 20
    while True:
        first = _listening(socket.AF_INET, "127.0.0.1", port)
        found: int = first.getsockname()[1]
        try:
            return [first, _listening(socket.AF_INET6, "::1", found)]
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                return [first]  # this machine has no IPv6
            first.close()
            tries -= 1
            if not tries:
                raise _taken(found) from None


def _listening(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "win32":  # there, another program could share the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(socket.SOMAXCONN)
    except OSError as error:
        made.close()
        if family == socket.AF_INET and error.errno in {errno.EADDRINUSE, errno.EACCES}:
            raise _taken(port) from None
        raise
    return made


def _taken(port: int) -> OSError:
    return OSError(
        f"Port {port} on this machine is used by another program; stop it, or choose another with"
        " --port (Excel then needs the new manifest)"
    )


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
            f"The key {key} asks for a password; give one without, readable by you alone"
        ) from None
    except (ssl.SSLError, OSError) as error:
        why = (
            "they do not belong together"
            if "MISMATCH" in str(error).upper()
            else "PEM files are expected"
        )
        raise ValueError(f"{cert} and {key} cannot be used: {why}") from None
    client = ssl.create_default_context(cafile=cert)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # its issuer is not checked
    try:
        _shake_hands(server, client)
    except ssl.SSLCertVerificationError as error:
        raise ValueError(_why_not(cert, error.verify_code)) from None
    except ssl.SSLError:
        raise ValueError(f"{cert} cannot be used for https by a server") from None


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


def _why_not(cert: Path, code: int) -> str:
    if code == _WRONG_NAME:
        return f"{cert} is not for {_HOST}: make one whose subjectAltName names DNS:{_HOST}"
    if code in {_EXPIRED, _NOT_YET_VALID}:
        return f"{cert} is not valid today: make a new one"
    return f"{cert} cannot be used for https by a server"
