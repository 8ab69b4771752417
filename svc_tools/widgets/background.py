"""Background jobs of the panel: a thread for each, results delivered in order, one at a time.

Nothing here waits in the thread that handles the page, so a job that hangs does not block it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")

_PATIENCE = 0.5
"""Seconds that a result waits for a busy event loop (a cell runs) before its thread delivers."""

_log = logging.getLogger(__name__)


class Job:
    """Work that was started.

    `cancel()` drops its result and further progress: the page is free at once. The thread itself
    cannot be stopped; it ends when its request does (the client's timeout).
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._cancelled = False
        self._over = False

    @property
    def cancelled(self) -> bool:
        """Whether its result is dropped."""
        return self._cancelled

    @property
    def running(self) -> bool:
        """Whether its result is still to come."""
        return not (self._cancelled or self._over)

    def cancel(self) -> None:
        """Drop the result. To cancel a job that is over, or twice, does nothing."""
        if not self._over:
            self._cancelled = True
            self._background._changed()  # noqa: SLF001 - the two classes work together

    def _finish(self) -> None:
        self._over = True
        self._background._changed()  # noqa: SLF001 - as above


class Background:
    """Starts jobs, and delivers their progress and results.

    Delivery is on the event loop of the thread that started the job (the kernel's), where one runs;
    without one, in the job's own thread. A loop that is busy because a cell runs does not delay it:
    the job's thread delivers then. All come in order, one at a time.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._jobs: set[Job] = set()
        self._waiting: deque[tuple[Callable[[], object], float]] = deque()  # each with its moment
        self._delivering = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broken: list[BaseException] = []
        self._current: contextvars.ContextVar[Job | None] = contextvars.ContextVar(
            "svc_job", default=None
        )

    def start(
        self,
        work: Callable[[], T],
        *,
        done: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> Job:
        """Start work in a thread, and return at once.

        Args:
            work: the work; it must touch no widget.
            done: called with its result, unless the job was cancelled.
            failed: called with what it raised instead.
        """
        job = Job(self)
        with self._condition:
            self._jobs.add(job)
        loop = _running_loop()
        if loop is not None:
            self._loop = loop
        # the context of the click: what the thread sends to the page then belongs to it
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run,
            args=(self._run, job, work, done, failed),
            name="svc-tools panel",
            daemon=True,
        )
        thread.start()
        return job

    def tell(self, function: Callable[..., object], *args: Any) -> None:  # noqa: ANN401 - as given
        """Call `function(*args)` where results are delivered: progress of running work.

        May be called from any thread. Progress of a cancelled job is dropped.
        """
        self._add(self._current.get(), lambda: function(*args))

    def settle(self, timeout: float = 30) -> None:
        """Wait until no job runs and everything is delivered; for tests and scripts.

        Raises:
            TimeoutError: that takes more than `timeout` seconds.
            BaseException: the error of a delivery: a defect of the page.
        """
        with self._condition:
            if not self._condition.wait_for(self._settled, timeout):
                raise TimeoutError(f"jobs still run after {timeout:g} s")
            if self._broken:
                raise self._broken.pop(0)

    def _run(
        self,
        job: Job,
        work: Callable[[], T],
        done: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        self._current.set(job)
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - shown on the page, whatever it is
            raised = error
            self._add(job, lambda: failed(raised), last=True)
        else:
            self._add(job, lambda: done(result), last=True)
        self._wait_for_delivery()

    def _add(self, job: Job | None, call: Callable[[], object], *, last: bool = False) -> None:
        def deliver() -> None:
            try:
                if job is None or not job.cancelled:
                    if last and job is not None:
                        job._over = True  # noqa: SLF001 - so that `done` finds it not running
                    call()
            finally:
                if last and job is not None:
                    job._finish()  # noqa: SLF001 - as above

        with self._condition:
            self._waiting.append((deliver, monotonic()))
            overdue = monotonic() - self._waiting[0][1] > _PATIENCE
        if overdue or not self._call_soon():
            self._deliver()

    def _call_soon(self) -> bool:
        """Have the event loop deliver; whether there is one."""
        loop = self._loop
        if loop is None or not loop.is_running():
            return False
        try:
            loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # it has just been closed
            return False
        return True

    def _wait_for_delivery(self) -> None:
        """Deliver from this thread where the loop does not in time."""
        with self._condition:
            if self._condition.wait_for(lambda: not (self._waiting or self._delivering), _PATIENCE):
                return
        self._deliver()

    def _settled(self) -> bool:
        return not (self._jobs or self._waiting or self._delivering)

    def _deliver(self) -> None:
        """Deliver what waits; a thread that delivers already goes on with what comes meanwhile."""
        with self._condition:
            if self._delivering:
                return
            self._delivering = True
        while True:
            with self._condition:
                if not self._waiting:
                    self._delivering = False
                    self._condition.notify_all()
                    return
                deliver, _ = self._waiting.popleft()
            try:
                deliver()
            except BaseException as error:  # noqa: BLE001 - a panel must go on; it is logged
                _log.exception("the panel could not show the result of a job")
                self._broken.append(error)

    def _changed(self) -> None:
        with self._condition:
            self._jobs = {job for job in self._jobs if job.running}
            self._condition.notify_all()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
