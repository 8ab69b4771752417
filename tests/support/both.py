"""Both clients behind one face, over their own HTTP client or over one of httpx2."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from importlib import metadata

import httpx
import pytest

import svc_sdk.aio
import svc_sdk.client
from support.faults import KEY
from svc_sdk import AsyncSvc, Svc

OLD_HTTPCORE = metadata.version("httpcore").startswith("0.")
"""Whether what httpx stands on is of before its first stable release."""


@pytest.fixture(params=["sync", "async", "sync, httpx2", "async, httpx2"])
def connect(request):
    """Make a client of either kind; all are closed after the test."""
    kind, _, injected = request.param.partition(", ")
    with connecting(kind, httpx2() if injected else None) as make:
        yield make


own_http = pytest.mark.parametrize("connect", ["sync", "async"], indirect=True)
"""For a test about the HTTP client of the library itself."""


@pytest.fixture(params=["httpx", "httpx2"])
def library(request):
    """A library whose HTTP clients may be given."""
    return httpx if request.param == "httpx" else httpx2()


def httpx2():
    """The continuation of httpx, which users may bring."""
    return pytest.importorskip("httpx2", reason="httpx2 is missing: pip install httpx2")


@pytest.fixture
def waits(monkeypatch):
    """The delays that the clients ask for; none is really waited."""
    return without_waiting(monkeypatch)


_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For http: to read the certificates that are trusted would take longer than most tests."""


class Both:
    """One face for both clients: an awaitable result is awaited on the test's own loop."""

    def __init__(self, client, runner):
        self.client = client
        self.runner = runner

    def __getattr__(self, name):
        method = getattr(self.client, name)
        if self.runner is None:
            return method
        return lambda *args, **kwargs: self.runner.run(method(*args, **kwargs))

    def close(self):
        if self.runner is None:
            self.client.close()
        else:
            self.runner.run(self.client.aclose())


@contextlib.contextmanager
def connecting(kind, library=None):
    """Makes clients of one kind, `sync` or `async`; all are closed in the end.

    With a library, one is given an HTTP client of it where the test gives it none.
    """
    with contextlib.ExitStack() as stack:
        runner = None if kind == "sync" else stack.enter_context(asyncio.Runner())

        def make(base_url, key=KEY, **options):
            if library is not None and "http_client" not in options:
                options |= stack.enter_context(injecting(make, injected=True, verify=_NO_TLS))
            client = (Svc if runner is None else AsyncSvc)(key, base_url=base_url, **options)
            both = Both(client, runner)
            stack.callback(both.close)
            return both

        make.kind = kind
        make.library = library or httpx
        make.http = make.library.Client if runner is None else make.library.AsyncClient
        make.runner = runner
        yield make


@contextlib.contextmanager
def injecting(connect, injected, **options):
    """The options of a client, with an HTTP client of the user's where it is `injected`."""
    if not injected:
        yield {}
    elif connect.kind == "sync":
        with connect.http(**options) as http:
            yield {"http_client": http}
    else:
        http = connect.http(**options)
        yield {"http_client": http}
        connect.runner.run(http.aclose())


def without_waiting(monkeypatch):
    """The delays that the clients ask for from now on; none is really waited."""
    asked = []

    async def asleep(seconds):
        asked.append(seconds)

    monkeypatch.setattr(svc_sdk.client, "sleep", asked.append)
    monkeypatch.setattr(svc_sdk.aio, "sleep", asleep)
    return asked
