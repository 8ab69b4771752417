"""Serving the page until Ctrl+C."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from tornado.netutil import bind_sockets

from svc_tools.page.app import FILES_URL, RESULTS, UPLOAD_LIMIT, PageApp

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

_LOOPBACK = "127.0.0.1"
_LOCK = ".lock"
_TITLE = "US sales tax: rates and registrations"

_CELL = """\
import html, os, tempfile
from IPython.display import HTML, display

os.chdir({start!r})  # a path that a person types counts from where the page was started
try:
    import svc_tools

    folder = tempfile.mkdtemp(prefix="", dir={folder!r})  # each page its own
    display(
        svc_tools.panel(
            svc_tools.connect("embedded") if {embedded!r} else None,
            register={register!r},
            folder=folder,
            upload_limit={upload_limit!r},
            files_url={files_url!r} + os.path.basename(folder) + "/",
        )
    )
except Exception as error:
    what = html.escape(str(error) or type(error).__name__)
    display(HTML("<div class='svc-page-trouble' role='alert'><h1>The panel cannot open</h1><p>"
        + what + "</p><p>Mend that, end the page with Ctrl+C and start it again.</p></div>"))
"""


def serve(
    *,
    port: int,
    browser: bool,
    embedded: bool,
    register: Path | None,
    kept: Path,
    say: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl+C.

    Args:
        port: the port; 0 takes a free one.
        browser: whether the browser is opened.
        embedded: whether the panel asks the embedded service, whatever is configured.
        register: a register of nexus registrations that the panel opens with.
        kept: the folder in which the folder of this run is made.
        say: takes each line that a person reads.

    Raises:
        OSError: the port is taken, or `kept` cannot be written.
    """
    sockets = _bound(port)
    work = _made_in(kept)
    with FileLock(work / _LOCK), tempfile.TemporaryDirectory(prefix="svc-panel-") as run:
        notebook = Path(run) / "panel.ipynb"
        notebook.write_text(_notebook(work, register, embedded=embedded), encoding="utf-8")
        app = PageApp(notebook, work=work)
        with suppress(KeyboardInterrupt):  # Windows knows no other end
            asyncio.run(_until_stopped(app, sockets, browser=browser, say=say))
    left = _without_uploads(work)
    say("The page is closed." + (f" Its results are kept in {left}" if left else ""))


async def _until_stopped(
    app: PageApp,
    sockets: list[socket.socket],
    *,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    stopped = asyncio.Event()
    app.open(sockets)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, stopped.set)
    try:
        say(f"Open {app.address}")
        say("Whoever has this address can use the page. Press Ctrl+C to end it.")
        if browser:
            # in a thread, as a browser of the terminal returns only when it is closed
            threading.Thread(
                target=webbrowser.open, args=(app.launch_address,), daemon=True
            ).start()
        await stopped.wait()
    finally:
        await app.close()


def _notebook(folder: Path, register: Path | None, *, embedded: bool) -> str:
    """The notebook behind the page: one cell, which opens the panel."""
    source = _CELL.format(
        start=str(Path.cwd()),
        embedded=embedded,
        register=None if register is None else str(register.absolute()),
        folder=str(folder),
        upload_limit=UPLOAD_LIMIT,
        files_url=FILES_URL,
    )
    cell: dict[str, object] = {
        "cell_type": "code",
        "id": "panel",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"title": _TITLE, "kernelspec": kernel},
            "cells": [cell],
        }
    )


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
