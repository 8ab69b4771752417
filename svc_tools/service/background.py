"""The app on a free loopback port, in a background thread with an event loop of its own."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from svc_tools.service.errors import StartError
from svc_tools.service.server import Server, address_of, bind

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["BackgroundServer"]

# Above the time that the last requests get to finish.
_STOP_SECONDS = 10.0


class BackgroundServer:
    """A running server; made, it is already listening.

    Args:
        app: what answers; made for loopback.

    Raises:
        StartError: it cannot start.
    """

    _failure: BaseException | None = None

    def __init__(self, app: FastAPI) -> None:
        self._listener = bind("127.0.0.1", 0)
        self.base_url = address_of(self._listener)
        self._settled = threading.Event()
        self._server = Server(app, on_started=self._settled.set)
        self._thread = threading.Thread(target=self._run, name="svc-tools-service", daemon=True)
        self._thread.start()
        self._settled.wait()
        if self._failure is not None:
            self._thread.join(_STOP_SECONDS)
            raise StartError(
                f"The service did not start in the background: {self._failure!r}"
            ) from self._failure

    @property
    def running(self) -> bool:
        """Whether it answers requests."""
        return self._thread.is_alive() and not self._server.should_exit

    def close(self) -> None:
        """Stop: requests under way are finished, then the port is free. Closing twice is fine."""
        self._server.should_exit = True
        self._thread.join(_STOP_SECONDS)

    def leave_to_parent(self) -> None:
        """In a forked child: give up the inherited socket; the parent's goes on listening."""
        self._server.should_exit = True
        descriptor = self._listener.detach()
        if descriptor >= 0:
            os.close(descriptor)

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except BaseException as error:  # noqa: BLE001 - told to whoever waits for the start
            self._failure = error
        finally:
            self._listener.close()
            self._settled.set()
