"""A run in the background loop, driven by a thread that waits for it."""

from __future__ import annotations

import queue
import time
from functools import partial
from typing import TYPE_CHECKING

from svc_tools.lookup.loop import in_background, soon
from svc_tools.lookup.running import GRACE, Lookups
from svc_tools.lookup.stopping import STOPPED

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from svc_sdk import Svc
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.lookup.terms import Terms
    from svc_tools.lookup.writing import Burst, Keeper
    from svc_tools.places import Place

__all__ = ["Driver"]

_LISTEN = 0.5
"""Seconds after which a waiting thread looks up: not every system wakes it for a Ctrl+C."""
_LISTEN_FOR_STOP = 0.1
"""The same, where somebody may stop the run: no queue can be waited for together with an event."""
_COMMIT = 10.0
"""Seconds that the last burst gets to be committed after an interrupt."""


class Driver:
    """Feeds a run, and takes its bursts, from a thread that is not the loop's.

    Args:
        client: how the service is reached.
        terms: how the run is to be done.
        keep: commits a burst; `None` where there is no cache.
        remember: whether `outcomes` is filled.
        stop: ends the run when it is set, as a Ctrl+C does.

    Attributes:
        lookups: the run.
        outcomes: all that was committed. It is filled by the loop's thread, so that no Ctrl+C at an
            unlucky moment loses a burst on its way.
    """

    def __init__(
        self,
        client: Svc,
        terms: Terms,
        keep: Keeper | None,
        *,
        remember: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        self._mailbox: queue.SimpleQueue[Burst | None] = queue.SimpleQueue()
        self._future: Future[None] | None = None
        self._over = False
        self._remember = remember
        self._stop = stop
        self._listen = _LISTEN if stop is None else _LISTEN_FOR_STOP
        self.lookups = Lookups(client, terms, self._committed, keep)
        self.outcomes: dict[Place, Outcome] = {}

    def start(self) -> None:
        """Begin to ask, unless the run was stopped before it began."""
        if self._is_stopped():
            self.lookups.stopped = STOPPED
            return
        self._future = in_background(self._run())

    def feed(self, places: Iterable[Place]) -> None:
        """Hand over distinct places."""
        if self._future is None:
            self.lookups.feed(places)
        else:
            soon(partial(self.lookups.feed, list(places)))

    def close_feed(self) -> None:
        """No further places come."""
        if self._future is None:
            self.lookups.close_feed()
        else:
            soon(self.lookups.close_feed)

    def bursts(self) -> Iterator[Burst]:
        """What is committed, as it comes, until the run is over."""
        while (burst := self.burst()) is not None:
            yield burst

    def burst(self) -> Burst | None:
        """What was committed next; `None` where the run is over, or was stopped.

        Raises:
            ImportError: the extra for bulk lookups is not installed.
        """
        while self._future is not None:
            if self._is_stopped():
                self.interrupt(STOPPED)
                break
            try:
                burst = self._mailbox.get(timeout=self._listen)
            except queue.Empty:
                if not self._future.done():
                    continue
                burst = None
            if burst is not None:
                return burst
            self._finish()
        return None

    def ready(self) -> Iterator[Burst]:
        """What was committed by now, without waiting. Raises as `burst`."""
        while not self._mailbox.empty():
            burst = self._mailbox.get()
            if burst is None:
                self._finish()
            else:
                yield burst

    @property
    def over(self) -> bool:
        """Whether the run has begun and ended."""
        return self._over

    def _is_stopped(self) -> bool:
        return self._stop is not None and self._stop.is_set()

    def _finish(self) -> None:
        future, self._future = self._future, None
        self._over = True
        if future is not None:
            future.result()

    def interrupt(self, cause: str = "interrupted", grace: float | None = None) -> None:
        """Stop: what is under way gets some time, and what has come is committed.

        A further Ctrl+C ends the waiting for what is under way.

        Args:
            cause: why.
            grace: seconds for what is under way.
        """
        grace = GRACE if grace is None else grace
        end = time.monotonic() + grace + _COMMIT
        future = self._future
        soon(partial(self.lookups.stop, cause, grace))
        while future is not None and self._future is not None and time.monotonic() < end:
            try:
                if self._mailbox.get(timeout=_LISTEN) is None:
                    self._future = None
            except queue.Empty:
                if future.done():
                    self._future = None
            except KeyboardInterrupt:
                soon(partial(self.lookups.stop, cause, 0.0))
        self._future = None
        self.lookups.stopped = self.lookups.stopped or cause

    def end(self, grace: float = 0.0) -> None:
        """Leave nothing behind that still asks; for a run that is over this does nothing."""
        if self._future is not None:
            self.interrupt("nobody waits for the answers any more", grace)

    def _committed(self, burst: Burst) -> None:
        if self._remember:
            self.outcomes.update(burst)
        self._mailbox.put(burst)

    async def _run(self) -> None:
        try:
            await self.lookups.run()
        finally:
            self._mailbox.put(None)
