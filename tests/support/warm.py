"""Python in processes that find the libraries of the toolkit and the rate book loaded.

Most of what a command takes is Python reading libraries and rates. Here one process reads them
once, and each command, service and script is a child of it (`fork`), with its own arguments,
environment and folder, as `python -m svc_tools` has them; another is the parent of the kernels of
notebooks. What is loaded when cannot be tested here: `test_imports` starts Python itself for that.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path

LIBRARIES = (
    *("aiohttp", "httpx", "numpy", "openpyxl", "pandas", "pyarrow", "pyarrow.csv"),
    *("sqlalchemy", "tqdm", "uvicorn.lifespan.on", "uvicorn.loops.auto", "xlsxwriter"),
    *("uvicorn.lifespan.off", "uvicorn.loops.uvloop", "uvicorn.protocols.http.auto"),
    *("anyio._backends._asyncio", "h11", "httpcore", "pydantic.v1", "uvloop"),
    *("svc_tools.cli.app", "svc_tools.cli.enrich", "svc_tools.frames.files.job"),
    *("svc_tools.lookup.cache", "svc_tools.lookup.many", "svc_tools.service.serving"),
    *("svc_tools.service.app", "svc_tools.service.admin", "svc_tools.service.computing"),
    *("svc_tools.service.embedded", "svc_tools.service.ratebook.imports.importer"),
    *("svc_tools.cli.book", "svc_tools.cli.cache", "svc_tools.cli.excel", "svc_tools.cli.keys"),
    *("svc_tools.cli.lookup", "svc_tools.cli.nexus", "svc_tools.cli.reconcile"),
    "svc_tools.cli.review",
    *("svc_tools.frames.files.enriched_file", "svc_tools.excel.officejs.serving", "filelock"),
)
OF_KERNELS = (
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipywidgets", "pandas", "pyarrow.parquet"),
    *("svc_tools.demo", "svc_tools.frames.files.job", "svc_tools.lookup.many", "svc_tools.nexus"),
    *("svc_tools.service.computing", "svc_tools.service.embedded", "svc_tools.widgets"),
)
TASK_BYTES = 1 << 17
"""Most bytes of a task; nearly all of them are the environment."""


class Warm:
    """The process whose children the commands are; started with the first one."""

    def __init__(self, libraries):
        self.libraries = libraries
        self.lock = threading.Lock()
        self.process = self.tasks = None
        self.measured = {}

    def alone_are_measured(self):
        """Of all processes that tests start: measuring takes most of them half as long again."""
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]:
            self.measured[name] = os.environ.pop(name)

    def fork(self, task, files):
        """A child that does the task with these as its first files; its id, and how it ends."""
        read, write = os.pipe()
        try:
            with self.lock:
                if self.process is None:
                    self._start()
            socket.send_fds(self.tasks, [json.dumps(task).encode()], [*files, write])
        finally:
            os.close(write)
        ended = os.fdopen(read, "rb", buffering=0)
        if not (line := ended.readline()):
            ended.close()
            raise RuntimeError("the process that forks commands has ended; its error is above")
        return int(line), ended

    def _start(self):
        self.tasks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                # this folder has modules of its own
                [sys.executable, "-P", __file__, str(theirs.fileno()), *self.libraries],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | self.measured,
            )

    def end(self):
        """End the process, if there is one."""
        if self.process is not None:
            self.tasks.close()
            self.process.wait(50)
            self.process = None


WARM = Warm(LIBRARIES)
WARM_KERNELS = Warm(OF_KERNELS)


def _all_of(stream):
    if stream is None or stream.closed:
        return None
    with stream:
        return stream.read()


def _raw(size, file, mode):
    return os.fdopen(file, f"{mode}b", size)


class Forked:
    """A child of the warm process: of `subprocess.Popen` what tests use of it."""

    def __init__(
        self,
        arguments,
        *,
        stdin=None,
        stdout=None,
        stderr=None,
        env=None,
        cwd=None,
        text=False,
        bufsize=-1,
        start_new_session=False,
        parent=WARM,
    ):
        self.args, self.returncode = arguments, None
        self.stdin = self.stdout = self.stderr = None
        task = {
            **read_arguments(arguments),
            "environment": dict(os.environ if env is None else env),
            "folder": os.fspath(cwd or Path.cwd()),
            "new_session": start_new_session,
        }
        open_pipe = partial(os.fdopen, encoding="utf-8") if text else partial(_raw, bufsize)
        files = []
        with contextlib.ExitStack() as theirs:
            for name, given in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
                if given == subprocess.PIPE:
                    read, write = os.pipe()
                    ours, own = (write, read) if name == "stdin" else (read, write)
                    setattr(self, name, open_pipe(ours, "w" if name == "stdin" else "r"))
                    theirs.callback(os.close, own)
                elif given == subprocess.DEVNULL:
                    own = os.open(os.devnull, os.O_RDWR)
                    theirs.callback(os.close, own)
                elif given == subprocess.STDOUT:
                    own = files[1]
                elif given is None:
                    own = len(files)
                else:
                    own = given if isinstance(given, int) else given.fileno()
                files.append(own)
            self.pid, self._ended = parent.fork(task, files)

    def poll(self):
        """Its exit code, once it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        """Its exit code, when it ended."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            with self._ended:
                self.returncode = int(self._ended.readline())
        return self.returncode

    def communicate(self, typed=None, timeout=None):
        """What it writes to its end, after this was typed; one that takes too long is ended."""
        if self.stdin is not None and not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError), self.stdin:
                if typed:
                    self.stdin.write(typed)
        with ThreadPoolExecutor(2) as readers:
            written = [readers.submit(_all_of, one) for one in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired as error:
                self.kill()
                error.output, error.stderr = (found.result() for found in written)
                raise
        return tuple(found.result() for found in written)

    def send_signal(self, number):
        """Send a signal, unless it ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        """End it as a system that shuts down does."""
        self.send_signal(signal.SIGTERM)

    def kill(self):
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.kill()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.wait()


def read_arguments(arguments):
    """What Python shall run: a module or some code, with arguments, and whether warnings fail."""
    words = [*map(str, arguments)]
    strict = words[:2] == ["-W", "error"]
    what, given, *rest = words[2:] if strict else words
    return {"strict": strict, {"-m": "module", "-c": "code"}[what]: given, "arguments": rest}


def warm_up(commands):
    """Load the rates, and what commands load when they first need it."""
    ratebook = importlib.import_module("svc_tools.service.ratebook")
    book, a_day = ratebook.load_book(), date(2026, 5, 1)
    for state, zip_code in (("TX", "78701"), ("NJ", "07030"), ("CA", "94105")):
        ratebook.resolve(book, ratebook.Query(state, zip=zip_code), today=a_day)
    if not commands:
        return
    app = importlib.import_module("svc_tools.cli.app").app
    before = os.environ.copy()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
        os.environ.update(dict.fromkeys(names, folder), SVC_CACHE="off")
        Path("in.csv").write_text("zip,state,amount\n78701,TX,10.00\n10001,NY,5.00\n")
        for command in (
            "lookup --help",
            "lookup NJ --zip 07030 --embedded",
            "enrich in.csv -o out.csv --embedded --tax amount",
            "review out.csv",
        ):
            with (
                warnings.catch_warnings(),  # they are told again in a child
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.suppress(SystemExit),
            ):
                app(command.split())  # not `main`, whose handlers of signals would stay
    os.environ.clear()
    os.environ.update(before)


def serve(tasks):
    """Fork a child for each task; return its task in the child, or `None` at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for those that work
    signal.signal(signal.SIGCHLD, lambda *_: None)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    running = {}
    while True:
        ready, _, _ = select.select([tasks, woken], [], [])
        if woken in ready:
            os.read(woken, 4_096)
            report_ended(running)
        if tasks not in ready:
            continue
        message, files, _, _ = socket.recv_fds(tasks, TASK_BYTES, 4)
        if not message:
            return None
        with warnings.catch_warnings():  # of threads: those of PyArrow, which knows of forks
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            tasks.close()
            for file in (woken, wakes, *running.values()):
                os.close(file)
            task, waiting = json.loads(message), files.pop()
            become(task, files)
            # now: who waits for it may signal its process group, which was this one's before
            os.write(waiting, f"{os.getpid()}\n".encode())
            os.close(waiting)
            return task
        running[child] = files.pop()
        for file in files:
            os.close(file)


def report_ended(running):
    """Tell those who wait for a child with which code it ended."""
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            break
        waiting = running.pop(child)
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(waiting, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(waiting)


def become(task, files):
    """Be the process that a shell starts for a command."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    if task["new_session"]:
        os.setsid()
    os.chdir(task["folder"])
    os.environ.clear()
    os.environ.update(task["environment"])
    if task["strict"]:
        sys.warnoptions.append("error")
        warnings.simplefilter("error")


def run_task(task):
    """`python -m` with a module, or `python -c` with code; its exit code."""
    try:
        if "module" in task:
            sys.argv = [task["module"], *task["arguments"]]
            runpy.run_module(task["module"], run_name="__main__", alter_sys=True)
        else:
            sys.argv = ["-c", *task["arguments"]]
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(task["code"], "<string>", "exec"), main.__dict__)  # noqa: S102
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")
        return 1
    except BaseException as error:  # noqa: BLE001 - as Python does with what nothing caught
        sys.excepthook(*sys.exc_info())
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def end_with(code):
    """End as Python does, less taking apart everything that is loaded."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = 120
        sys.stderr.write(f"Exception ignored in: {sys.stdout!r}\n{error!r}\n")
    sys.stderr.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code)


if __name__ == "__main__":
    number, *given_libraries = sys.argv[1:]
    for name in given_libraries:
        importlib.import_module(name)
    warm_up(given_libraries == [*LIBRARIES])
    gc.freeze()
    if (given_task := serve(socket.socket(fileno=int(number)))) is not None:
        end_with(run_task(given_task))
