"""Several processes that serve one socket, and the one that looks after them.

Each worker is a fresh process with a book and an app of its own; what they share is the socket and
the database. One that ends is replaced. They end with their parent, however that ends: a worker
that loses it stops, so no orphan keeps the port. Ctrl+C reaches the whole group of processes: the
workers leave it to the parent, which tells them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from svc_tools.service.errors import StartError
from svc_tools.service.request_log import log, logged_to_stderr
from svc_tools.service.server import LAST_REQUESTS_SECONDS, Server

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from multiprocessing.context import SpawnProcess

    from svc_tools.service.serving import Job

__all__ = ["MOST_WORKERS", "Workers", "can_have_workers", "pause_before_next"]

MOST_WORKERS = 64

_STOP_SECONDS = LAST_REQUESTS_SECONDS + 3.0
"""How long a worker that was told to stop may take before it is killed."""

_STEADY_SECONDS = 10.0
_LONGEST_PAUSE = 30.0
"""One that ends soon after it replaced another is replaced after a pause, longer each time."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def can_have_workers() -> bool:
    """Whether this system can share one socket among processes in the way that is used here."""
    return os.name == "posix"


@dataclass(slots=True)
class _Worker:
    """One worker, or the gap where one is to start."""

    process: SpawnProcess | None = None
    told: Connection | None = None
    started: float = 0.0
    start_at: float = 0.0
    pause: float | None = None


class Workers:
    """The parent of the workers.

    Args:
        job: what they do.
        listener: the socket that they serve; the caller's to close.
        count: how many there are.
    """

    def __init__(self, job: Job, listener: socket.socket, count: int) -> None:
        self._job = job
        self._listener = listener
        # a fresh interpreter each: a fork would share locks and event loops in unknown states
        self._context = multiprocessing.get_context("spawn")
        self._workers = [_Worker() for _ in range(count)]
        self._signals: list[int] = []

    def run(self, on_started: Callable[[str], None]) -> None:
        """Serve until SIGINT or SIGTERM; the latter is raised again once all have ended.

        Args:
            on_started: called with the edition of the rate book once all workers listen.

        Raises:
            StartError: a worker cannot start.
        """
        with self._signals_heard() as woken:
            try:
                for worker in self._workers:
                    self._start(worker)
                editions = [self._edition_of(worker, woken) for worker in self._workers]
                if not self._signals:
                    on_started(str(editions[0]))
                while not self._signals:
                    self._look_after(woken)
            finally:
                self._stop(woken)
        if signal.SIGTERM in self._signals:
            signal.raise_signal(signal.SIGTERM)

    def _start(self, worker: _Worker) -> None:
        worker.told, tell = self._context.Pipe(duplex=False)
        worker.process = self._context.Process(
            target=_work, args=(self._job, self._listener, tell), daemon=True
        )
        worker.process.start()
        worker.started = time.monotonic()
        tell.close()  # the worker's end: else its death would not be noticed here

    def _edition_of(self, worker: _Worker, woken: int) -> str | None:
        """Wait until a worker listens; `None` where a signal came first."""
        told, process = worker.told, worker.process
        while told is not None and process is not None and not self._signals:
            wait([told, woken])
            if not told.poll():
                continue
            with suppress(EOFError):
                word, text = told.recv()
                if word == "listens":
                    return str(text)
                raise StartError(text)
            process.join(_STOP_SECONDS)
            raise StartError(f"A worker ended before it listened ({_end_of(process)})")
        return None

    def _look_after(self, woken: int) -> None:
        """Wait for a signal or the end of a worker; start those that are due."""
        now = time.monotonic()
        sentinels = []
        timeout = None
        for worker in self._workers:
            if worker.process is None and worker.start_at <= now:
                self._start(worker)
            if worker.process is not None:
                sentinels.append(worker.process.sentinel)
            else:
                rest = worker.start_at - now
                timeout = rest if timeout is None else min(timeout, rest)
        ended = wait([*sentinels, woken], timeout)
        if self._signals:
            return
        for worker in self._workers:
            if worker.process is not None and worker.process.sentinel in ended:
                self._replace(worker, worker.process)

    def _replace(self, worker: _Worker, process: SpawnProcess) -> None:
        process.join()
        now = time.monotonic()
        worker.pause = pause = pause_before_next(worker.pause, now - worker.started)
        worker.start_at = now + pause
        reason = self._reason(worker)
        log.warning(
            "Worker %d ended (%s)%s; another one starts%s",
            process.pid,
            _end_of(process),
            f": {reason}" if reason else "",
            f" in {pause:.0f} s" if pause else "",
        )
        process.close()
        worker.process = None

    @staticmethod
    def _reason(worker: _Worker) -> str | None:
        """Why a worker could not start, in its own words."""
        if worker.told is None:
            return None
        with suppress(EOFError), worker.told:
            while True:
                word, text = worker.told.recv()
                if word == "failed":
                    return str(text)
        return None

    def _stop(self, woken: int) -> None:
        """End all workers: they finish what they are at; who takes too long is killed."""
        self._listener.close()
        there = [worker.process for worker in self._workers if worker.process is not None]
        for process in there:
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        heard = len(self._signals)
        left = [process.sentinel for process in there]
        while left and (rest := deadline - time.monotonic()) > 0:
            ended = wait([*left, woken], rest)
            left = [sentinel for sentinel in left if sentinel not in ended]
            if woken in ended:
                os.read(woken, 64)
                if len(self._signals) > max(heard, 1):
                    break  # told twice: now
        for process in there:
            if process.is_alive():
                process.kill()
            process.join()

    @contextmanager
    def _signals_heard(self) -> Iterator[int]:
        """Note the signals that come, and make a descriptor readable that `wait` looks at."""
        readable, writable = os.pipe()
        before: dict[int, Any] = {}

        def hear(number: int, _frame: object) -> None:
            self._signals.append(number)
            os.write(writable, b"x")

        try:
            if threading.current_thread() is threading.main_thread():
                before = {number: signal.signal(number, hear) for number in _SIGNALS}
            yield readable
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(readable)
            os.close(writable)


class _WorkerServer(Server):
    """A server that stops at SIGTERM, and leaves Ctrl+C to its parent."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to SIGTERM; once it is done the process ends of itself."""
        signal.signal(signal.SIGTERM, self.handle_exit)
        yield


def pause_before_next(before: float | None, lived: float) -> float:
    """How many seconds to wait before a worker is replaced.

    Args:
        before: the pause before the one that ended, `None` for the very first.
        lived: how many seconds that one lived.
    """
    if before is None or lived >= _STEADY_SECONDS:
        return 0.0
    return min(max(1.0, 2 * before), _LONGEST_PAUSE)


def _work(job: Job, listener: socket.socket, tell: Connection) -> None:
    """Be a worker: runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with tell, logged_to_stderr():
        try:
            app, edition = job.app()
        except StartError as error:
            tell.send(("failed", str(error)))
            return
        server = _WorkerServer(app, on_started=lambda: tell.send(("listens", edition)))
        server.run(sockets=[listener])


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_STOP_SECONDS)
    os._exit(1)


def _end_of(process: SpawnProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"signal {-code}"
    return f"exit code {code}"
