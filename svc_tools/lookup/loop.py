"""One event loop in the background, for callers that have none or may not block theirs."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

__all__ = ["in_background", "soon"]

T = TypeVar("T")

_END = 5.0
"""Seconds that runs get to commit what has come when the process ends."""


class _Loop:
    """An event loop in a daemon thread of its own; started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._works: set[asyncio.Task[object]] = set()
        # what a forked child inherited: kept, so that no finaliser of it runs in the child
        self._inherited: list[object] = []

    def submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="svc-lookup", daemon=True
                )
                self._thread.start()
                # at exit the last one registered goes first: runs end before their cache is closed
                atexit.unregister(self.end)
                atexit.register(self.end)
            return asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop)

    async def _tracked(self, work: Coroutine[object, object, T]) -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        self._works.add(task)
        try:
            return await work
        finally:
            self._works.discard(task)

    def soon(self, work: Callable[[], object]) -> None:
        with self._lock, suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            with suppress(RuntimeError):
                # the runs first: each ends its own tasks, once what has come is committed
                loop.run_until_complete(_ended(set(self._works)))
                loop.run_until_complete(_ended(asyncio.all_tasks(loop)))
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def end(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
            with suppress(KeyboardInterrupt):
                thread.join(_END + 1.0)

    def leave_to_parent(self) -> None:
        """In a forked child: the thread is not here, and the loop's files are the parent's."""
        self._lock = threading.Lock()  # a thread that is not here may hold the parent's
        self._inherited += [self._loop, self._thread, self._works]
        self._loop = self._thread = None
        self._works = set()


async def _ended(tasks: set[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_END)


_loop = _Loop()
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_loop.leave_to_parent)


def in_background(work: Coroutine[object, object, T]) -> Future[T]:
    """Run a coroutine in the background loop of this process.

    There is one such loop per process; a forked child starts its own. The caller's own event
    loop, such as a notebook's, is left alone.
    """
    return _loop.submit(work)


def soon(work: Callable[[], object]) -> None:
    """Call a function in the background loop, which is running; nothing happens where it is not."""
    _loop.soon(work)
