"""Both clients behind one face."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import pytest

import svc_sdk.aio
import svc_sdk.client
from support.faults import KEY
from svc_sdk import AsyncSvc, Svc


@pytest.fixture(params=["sync", "async"])
def connect(request):
    """Make a client of either kind; all are closed after the test."""
    with connecting(request.param) as make:
        yield make


@pytest.fixture
def waits(monkeypatch):
    """The delays that the clients ask for; none is really waited."""
    return without_waiting(monkeypatch)


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
def connecting(kind):
    """Makes clients of one kind, `sync` or `async`; all are closed in the end."""
    with contextlib.ExitStack() as stack:
        runner = None if kind == "sync" else stack.enter_context(asyncio.Runner())

        def make(base_url, key=KEY, **options):
            client = (Svc if runner is None else AsyncSvc)(key, base_url=base_url, **options)
            both = Both(client, runner)
            stack.callback(both.close)
            return both

        make.kind = kind
        make.runner = runner
        yield make


@contextlib.contextmanager
def injecting(connect, injected, **options):
    """The options of a client, with an HTTP client of the user's where it is `injected`."""
    if not injected:
        yield {}
    elif connect.kind == "sync":
        with httpx.Client(**options) as http:
            yield {"http_client": http}
    else:
        http = httpx.AsyncClient(**options)
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
