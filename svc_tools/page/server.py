"""Serving the page until Ctrl+C."""

from __future__ import annotations

import asyncio
import signal
import tempfile
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from tornado.netutil import bind_sockets

from svc_tools.page.app import FILES_URL, UPLOAD_LIMIT, PageApp
from svc_tools.page.gate import Gate
from svc_tools.page.handlers import RESULTS
from svc_tools.page.notebook import Opened, page_notebook

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

__all__ = ["serve"]

_LOOPBACK = "127.0.0.1"
_LOCK = ".lock"


def serve(
    *,
    port: int,
    browser: bool,
    embedded: bool,
    register: Path | None,
    kept: Path,
    prewarmed: int,
    say: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl+C.

    Args:
        port: the port; 0 takes a free one.
        browser: whether the browser is opened.
        embedded: whether the panel asks the embedded service, whatever is configured.
        register: a register of nexus registrations that the panel opens with.
        kept: the folder in which the folder of this run is made.
        prewarmed: how many kernels stand ready.
        say: takes each line that a person reads.

    Raises:
        OSError: the port is taken, or `kept` cannot be written.
    """
    sockets = _bound(port)
    gate = Gate(port=sockets[0].getsockname()[1])
    work = _made_in(kept)
    opened = Opened(
        embedded=embedded,
        register=None if register is None else register.absolute(),
        start=Path.cwd(),
        folder=work,
        upload_limit=UPLOAD_LIMIT,
        files_url=FILES_URL,
    )
    with FileLock(work / _LOCK), tempfile.TemporaryDirectory(prefix="svc-panel-") as run:
        notebook = Path(run) / "panel.ipynb"
        notebook.write_text(page_notebook(opened), encoding="utf-8")
        app = PageApp(notebook, work=work, prewarmed=prewarmed)
        with suppress(KeyboardInterrupt):  # Windows knows no other end
            asyncio.run(_until_stopped(app, sockets, gate, browser=browser, say=say))
    left = _without_uploads(work)
    say("The page is closed." + (f" Its results are kept in {left}" if left else ""))


async def _until_stopped(
    app: PageApp,
    sockets: list[socket.socket],
    gate: Gate,
    *,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    stopped = asyncio.Event()
    app.open(sockets, gate)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, stopped.set)
    try:
        say(f"Open {gate.address_with(gate.token)}")
        say("Whoever has this address can use the page. Press Ctrl+C to end it.")
        if browser:
            address = gate.address_with(gate.launch)
            # a browser of the terminal returns when it is closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        await stopped.wait()
    finally:
        await app.close()


def _bound(port: int) -> list[socket.socket]:
    try:
        return bind_sockets(port, _LOOPBACK)
    except OSError as error:
        raise OSError(
            f"Port {port} cannot be opened ({error.strerror}); leave --port out for a free one"
        ) from error


def _made_in(kept: Path) -> Path:
    try:
        kept.mkdir(parents=True, exist_ok=True, mode=0o700)
        _tidy_what_crashed(kept)
        return Path(tempfile.mkdtemp(prefix="panel-", dir=kept))
    except OSError as error:
        raise OSError(
            f"The folder for results, {kept}, cannot be written ({error.strerror});"
            " make it writable for yourself"
        ) from error


def _tidy_what_crashed(kept: Path) -> None:
    """Uploads of runs that ended without a word are deleted; runs that go on hold their lock."""
    for work in kept.glob("panel-*"):
        with suppress(Timeout, OSError), FileLock(work / _LOCK, timeout=0):
            _without_uploads(work)


def _without_uploads(work: Path) -> Path | None:
    """Delete all that is no result; the folder where results are left."""
    for path in sorted(work.rglob("*"), reverse=True):
        if RESULTS in path.relative_to(work).parts[:-1] and path.is_file():
            continue
        with suppress(OSError):  # a folder that holds a result
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    with suppress(OSError):
        work.rmdir()
    return work if work.exists() else None
