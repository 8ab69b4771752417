"""The local server of the spreadsheets, as a thread or a program, and Excel's stand-in in Node."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from support.tools import node
from svc_tools.excel.officejs.app import make_app
from svc_tools.excel.officejs.guard import origin_of
from svc_tools.loopback import LocalGuard, listen_on_localhost, serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

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
    running = serve_in_thread(make_app(desk, guard), sockets)
    try:
        yield LocalServer(origin_of(guard), TOKEN, running.close)
    finally:
        running.close()


@contextlib.contextmanager
def excel_serve(*options, **environment):
    """`svc-tools excel serve` as a program, for the length of the block: process and its words."""
    command = [sys.executable, "-m", "svc_tools", "excel", "serve", *map(str, options)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
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
        [node(), str(HOST)],
        input=json.dumps({"script": script, "bursts": bursts}),
        capture_output=True,
        text=True,
        timeout=120,
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
