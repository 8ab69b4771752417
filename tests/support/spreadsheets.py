"""Desks and formulas, the local server, Excel in Node, Calc, and the task pane."""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from benchmarks import calc as running
from support import tools
from support.browser import new_page
from support.command import start_python
from svc_tools.base.loopback import LocalGuard, listen_on_localhost, serve_in_thread
from svc_tools.excel import calc, formulas
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import FunctionCall, evaluate
from svc_tools.excel.officejs.app import addin_app
from svc_tools.excel.officejs.guard import origin_of
from svc_tools.excel.values import CellError

if TYPE_CHECKING:
    from collections.abc import Callable

NOON = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, at=NOON):
        self.at = at

    def __call__(self):
        return self.at

    def move(self, **by):
        self.at += timedelta(**by)


def desk_of(client, **options):
    """A desk that keeps nothing on the disk, unless it is told to."""
    return Desk(client, **{"cache": False} | options)


def shown(desk, name, *arguments):
    """What a cell shows, errors as their text ("#INVALID zip: ..."), also inside of rows."""
    (result,) = evaluate(desk, [FunctionCall(name, arguments)])
    return as_shown(result)


def as_shown(result):
    if isinstance(result, list):
        return [[as_shown(cell) for cell in row] for row in result]
    return result.text if isinstance(result, CellError) else result


def cells_of(result):
    """The cells of a result, of rows one after the other."""
    return [cell for row in result for cell in row] if isinstance(result, list) else [result]


def zips_asked(faults):
    """The ZIPs that were asked for over the wire, in the order of the requests."""
    return [one.target.partition("zip=")[2][:5] for one in faults.seen]


TOKEN = "token-of-the-tests"
HOST = Path(__file__).parents[2] / "benchmarks" / "excel_stand_in.mjs"


@dataclass
class LocalServer:
    """A running server.

    Attributes:
        origin: its address, without a path.
        token: what it expects.
        stop: ends it, if it runs.
    """

    origin: str
    token: str
    stop: Callable[[], None]

    @property
    def script(self):
        return f"{self.origin}/excel/functions.js?token={self.token}"

    @property
    def headers(self):
        return {"authorization": f"Bearer {self.token}"}


@contextlib.contextmanager
def local_server(desk):
    """The app over a desk in a thread, for the length of the block."""
    sockets = listen_on_localhost(0)
    guard = LocalGuard(sockets[0].getsockname()[1], token=SecretStr(TOKEN))
    running = serve_in_thread(addin_app(desk, guard), sockets)
    try:
        yield LocalServer(origin_of(guard), TOKEN, running.close)
    finally:
        running.close()


@contextlib.contextmanager
def excel_serve(*options, **environment):
    """`svc-tools excel serve` as a program, for the length of the block: process and its words."""
    command = ("-m", "svc_tools", "excel", "serve", *options)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with start_python(*command, **pipes, env=environment) as process:
        said = []
        try:
            for line in process.stdout:
                said.append(line.rstrip("\n"))
                if "Ctrl+C" in line:
                    break
            yield process, said
        finally:
            process.terminate()


def in_excel(script, *bursts):
    """What Excel's stand-in shows and sends, where the functions come from an address or a text."""
    done = subprocess.run(
        [tools.node(), str(HOST)],
        input=json.dumps({"script": script, "bursts": bursts}),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def called(name, *args, **more):
    """A call of a function as a sheet makes it; a constant is a matrix of one."""
    matrices = [
        one if one is None or isinstance(one, list) or "$undefined" in str(one) else [[one]]
        for one in args
    ]
    return {"id": name, "args": matrices, **more}


_ADDIN = Path(calc.__file__).parent / "addin" / "pythonpath"


@contextlib.contextmanager
def running_calc(folder, addin, server_folder):
    """Install the add-in as a person does, and start Calc."""
    tools.soffice()
    tools.python_with_uno()
    with running.running_calc(folder, addin, server_folder) as found:
        yield found


def addin_module(name):
    """A module of the extension, as LibreOffice's Python finds it."""
    if name not in sys.modules:
        sys.modules.setdefault("svc_formulas", formulas)
        sys.path.append(str(_ADDIN))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(_ADDIN))
    return sys.modules[name]


STAND_IN = (Path(__file__).parent / "excel_stand_in.js").read_text(encoding="utf-8")
"""A workbook as Office.js shows it; what it holds is in `standIn`."""


@contextlib.contextmanager
def pane_page(running, served, *, width=320, height=900, colours="light", script=None):
    """The pane on a page of its own, its service asked; and what happens in it."""
    with new_page(running, width=width, height=height, colours=colours) as (page, seen):
        if script is not None:
            page.add_init_script(script)
        page.goto(f"{served.origin}/excel/taskpane.html?token={served.token}")
        page.locator(".source[aria-busy=false]").wait_for()
        yield page, seen
