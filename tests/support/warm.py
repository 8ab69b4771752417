"""The command line in processes that find its libraries and the rate book loaded.

Most of what a command takes is Python reading libraries and rates. Here one process reads them
once, and each command is a child of it (`fork`), with its own arguments, environment and folder, as
`python -m svc_tools` has them. What is loaded when cannot be tested here: `test_imports` starts
Python itself for that.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

TOO_LONG = 50
"""Seconds after which a command is ended by a signal: before the test that waits for it is."""

LIBRARIES = (
    *("aiohttp", "httpx", "numpy", "openpyxl", "pandas", "pyarrow", "pyarrow.csv"),
    *("sqlalchemy", "tqdm", "uvicorn.lifespan.on", "uvicorn.loops.auto", "xlsxwriter"),
    *("anyio._backends._asyncio", "h11", "httpcore", "pydantic.v1", "uvloop"),
    *("svc_tools.cli.app", "svc_tools.cli.enrich", "svc_tools.frames.files.job"),
    *("svc_tools.lookup.cache", "svc_tools.lookup.many", "svc_tools.service.serving"),
    "svc_tools.service.app",
)


class Commands:
    """The process whose children the commands are; started with the first one."""

    def __init__(self):
        self.lock = threading.Lock()
        self.process = None
        self.measured = {}

    def alone_are_measured(self):
        """Of all processes that tests start: measuring takes most of them half as long again."""
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]:
            self.measured[name] = os.environ.pop(name)

    def run(self, arguments, environment, folder=None):
        """One command: its exit code, and what it wrote."""
        with self.lock, tempfile.TemporaryDirectory() as said:
            if self.process is None:
                command = [sys.executable, "-P", __file__]  # this folder has modules of its own
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=os.environ | self.measured,
                )
            files = [str(Path(said) / name) for name in ("out", "err")]
            task = {
                "arguments": [*map(str, arguments)],
                "environment": environment,
                "folder": str(folder or Path.cwd()),
                "files": files,
            }
            try:
                self.process.stdin.write(json.dumps(task) + "\n")
                self.process.stdin.flush()
                code = int(self.process.stdout.readline())
            except (
                BaseException
            ):  # a test that is ended waits no longer: nor gets the next its code
                self.process.kill()
                self.end()
                raise
            out, err = (Path(file).read_text(encoding="utf-8") for file in files)
        if code == -signal.SIGALRM:
            command = " ".join(map(str, arguments))
            raise AssertionError(f"not within {TOO_LONG} s: {command}; it wrote {out!r}, {err!r}")
        return subprocess.CompletedProcess(arguments, code, out, err)

    def end(self):
        """End the process, if there is one."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(TOO_LONG)
            self.process.stdout.close()
            self.process = None


def serve():
    """Fork a child for each line; return in the child, or when there are no more lines."""
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            become(task)
            return True
        status = os.waitpid(child, 0)[1]
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return False


def become(task):
    """Be the process that a shell starts for a command."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in enumerate(task["files"], start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.chdir(task["folder"])
    os.environ.clear()
    os.environ.update(task["environment"])
    sys.argv = ["svc_tools", *task["arguments"]]
    signal.alarm(TOO_LONG)


def run_command():
    """`python -m svc_tools`; its exit code."""
    try:
        runpy.run_module("svc_tools", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")
        return 1
    except BaseException:  # noqa: BLE001 - as Python does with what nothing caught
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def end_with(code):
    """End as Python does, less taking apart everything that is loaded."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    for name in LIBRARIES:
        importlib.import_module(name)
    importlib.import_module("svc_tools.service.ratebook").load_book()
    gc.freeze()
    if serve():
        end_with(run_command())
