"""`svc-tools excel serve`: the local server of the add-ins, until Ctrl+C."""

from __future__ import annotations

import logging
import signal
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
from svc_tools.excel.officejs.certificate import check_certificate
from svc_tools.excel.officejs.gate import ROOT, Gate
from svc_tools.excel.officejs.manifest import write_manifest
from svc_tools.excel.officejs.sockets import bound

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp

__all__ = ["DEFAULT_PORT", "manifest_path", "serve"]

DEFAULT_PORT = 8643
"""Beside the embedded service's own; from then on it is that of the last run."""

_LAST_REQUESTS_SECONDS = 2
_KEEP_ALIVE_SECONDS = 75


def manifest_path() -> Path:
    """Where the manifest is written where no other place is said."""
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

    Token, port and manifest stay the same from run to run. Where a server of this user runs
    already, it is named, and nothing is started.

    Args:
        port: the port; that of the last run where left out, 0 for a free one.
        cert: the certificate for https (PEM).
        key: its private key (PEM).
        say: takes each line that a person reads.
        manifest: where the manifest is written, else in the adapters' folder.
        browser: whether the page with instructions is opened.

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
        logging.getLogger("svc_tools").setLevel(logging.CRITICAL)  # of lookups that end with it
    finally:
        server_file.withdraw()
        for one in sockets:
            one.close()
    say("The server has ended; cells show #N/A until it runs again.")


class _Server(uvicorn.Server):
    """A server without access log, for addresses hold the token; it says when it listens."""

    def __init__(
        self, app: ASGIApp, cert: Path | None, key: Path | None, started: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # the app logs its own failures, without what a person typed
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_LAST_REQUESTS_SECONDS,
                ssl_certfile=cert,
                ssl_keyfile=key,
            )
        )
        self._on_started = started
        self._failure: BaseException | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        super().run(sockets)
        if self._failure is not None:
            raise self._failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then say so."""
        await super().startup(sockets)
        try:
            self._on_started()
        except BaseException as error:  # noqa: BLE001 - raised again once all is shut down
            self._failure = error
            self.should_exit = True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Being told to end (SIGTERM) is as Ctrl+C: what follows is tidied up."""
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
