"""The HTTP client of a client, one for each process.

A forked child shares the connections of its parent: it would read the parent's responses, and wait
for locks that threads of the parent hold.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

import httpx

from svc_sdk import _responses
from svc_sdk._responses import Failure

if TYPE_CHECKING:
    from svc_sdk._requests import Call
    from svc_sdk._responses import Reply
    from svc_sdk._settings import Settings

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

OTHER_PROCESS = Failure(
    "The HTTP client that was given (http_client=) belongs to another process: after a fork, make"
    " the HTTP client and this client in the process that uses them",
    retryable=False,
    sent=False,
    final=True,
)
"""The result of a request through an injected HTTP client in a forked child."""

_process = object()
"""Another object in each process; unlike a process ID it is never used again."""
_making = threading.Lock()
_inherited: list[httpx.Client | httpx.AsyncClient] = []
"""What a forked child inherited. Referenced, so that no finalizer of it runs in the child."""


def _begin() -> None:
    global _process, _making  # noqa: PLW0603 - one per process
    _process = object()
    _making = threading.Lock()  # a thread that is not here may hold the parent's


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_begin)


def _load(*modules: str) -> None:
    """Load what the first request needs.

    A child that is forked while a thread of its parent loads it waits for that thread forever.
    """
    for module in modules:
        with suppress(ImportError):  # another version has it elsewhere
            import_module(module)
    _responses.load_models()


class LocalService(Protocol):
    """A service in the client's own process, which serves requests without a connection."""

    @property
    def address(self) -> str | None:
        """Where it listens for the requests that are sent; `None` while it has no port."""

    def respond(self, call: Call) -> tuple[int, dict[str, str], bytes] | Failure | None:
        """The outcome of one attempt; `None` where the request is to be sent to `address`.

        A response is its status, its headers with names in lower case, and its body. It may block:
        an `AsyncSvc` calls it in a thread.
        """


def _close_in(process: object, http: httpx.Client) -> None:
    """Close an HTTP client in the process that made it, and in no forked child of it."""
    if process is _process:
        http.close()


class LocalClient:
    """Mixin of a client whose service is in its process: the HTTP client is made when needed."""

    _waits = True


class OfProcess(Generic[Http]):
    """Base class of both clients: holds the HTTP client, and replaces its own after a fork."""

    _at_first_request: tuple[str, ...]
    """The modules that the HTTP client would load at its first request."""
    _given: Settings
    """The settings as they were last: see `_settings`."""
    _owns_http: bool
    _used: tuple[object, Http | None]
    """The process that the HTTP client is of, and the client, once it is made."""
    _waits = False
    """Whether it is made when it is first needed: see `LocalClient`."""
    _ended = False
    """Whether this client was closed before that."""
    _local: LocalService | None = None
    """What serves requests before they are sent."""

    def _use(self, injected: object, kind: type[Http]) -> None:
        """Use an injected HTTP client, of httpx or of httpx2, or else one of our own.

        Raises:
            TypeError: it is another object.
            ValueError: ours cannot use a proxy or certificates that the environment names.
        """
        # one of httpx2 can only be there where the user has loaded it
        libraries = (httpx, sys.modules.get("httpx2"))
        kinds = tuple(getattr(library, kind.__name__, kind) for library in libraries)
        if not (injected is None or isinstance(injected, kinds)):
            raise TypeError(
                f"http_client: expected an httpx.{kind.__name__}, or one of httpx2, not"
                f" {type(injected).__name__}"
            )
        _load(*self._at_first_request)
        self._owns_http = injected is None
        if injected is not None:  # both libraries have the methods that are called here
            self._used = _process, cast("Http", injected)
            return
        self._given = self._given.routed()
        self._used = _process, None if self._waits else self._new_http()

    def _new_http(self) -> Http:
        raise NotImplementedError

    def _attach(self, local: LocalService) -> None:
        """Have a local service serve requests before they are sent."""
        self._local = local
        if self._used[1] is not None:
            self._end_with_client(self._http)

    def _ends_unmade(self) -> bool:
        """Whether this client ends before its HTTP client was made, which then is made closed."""
        with _making:  # another thread may be making it
            self._ended = self._ended or self._used[1] is None
            return self._used[1] is None

    def _end_with_client(self, http: Http) -> None:
        """Close an HTTP client with this client: one of a local service is rarely closed.

        One that was given to it is its owner's, and one of a parent process is the parent's.
        """
        # an asynchronous one can only be closed in its loop
        if self._owns_http and isinstance(http, httpx.Client):
            weakref.finalize(self, _close_in, _process, http)

    @property
    def _settings(self) -> Settings:
        """The settings, with the address of a local service once that has a port."""
        address = None if self._local is None else self._local.address
        if address is not None and address != self._given.base_url:
            self._given = replace(self._given, base_url=address)
        return self._given

    def _served(self, call: Call) -> Reply | Failure | None:
        """The outcome of an attempt of which nothing is sent; `None` where it is to be sent."""
        if self._is_foreign:
            return OTHER_PROCESS
        http = self._used[1]
        if self._local is None or self._ended or (http is not None and http.is_closed):
            return None
        outcome = self._local.respond(call)
        return self._settings.without_key(*outcome) if isinstance(outcome, tuple) else outcome

    @property
    def _http(self) -> Http:
        """The HTTP client of this process; an injected one as it is."""
        process, http = self._used
        if http is not None and (process is _process or not self._owns_http):
            return http
        with _making:
            process, http = self._used
            if http is None:
                http = self._new_http()
                self._end_with_client(http)
                if self._ended and isinstance(http, httpx.Client):
                    http.close()
                self._used = _process, http
            elif process is not _process:
                _inherited.append(http)
                if not http.is_closed:  # else this client stays closed
                    http = self._new_http()
                    if self._local is not None:
                        self._end_with_client(http)
                self._used = _process, http
        return http

    @property
    def _is_foreign(self) -> bool:
        """Whether the HTTP client was injected in another process."""
        return not self._owns_http and self._used[0] is not _process
