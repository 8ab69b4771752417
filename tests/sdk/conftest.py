"""The real service, the fault server, and both clients behind one face."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from support.both import Both, without_waiting
from support.faults import KEY

from svc_sdk import AsyncSvc, Svc


@pytest.fixture(params=["sync", "async"])
def connect(request):
    """Make a client of either kind; all are closed after the test."""
    with contextlib.ExitStack() as stack:
        runner = None if request.param == "sync" else stack.enter_context(asyncio.Runner())

        def make(base_url, key=KEY, **options):
            client = (Svc if runner is None else AsyncSvc)(key, base_url=base_url, **options)
            both = Both(client, runner)
            stack.callback(both.close)
            return both

        make.kind = request.param
        make.runner = runner
        yield make


@pytest.fixture
def waits(monkeypatch):
    """The delays that the clients asked for; none is really waited."""
    return without_waiting(monkeypatch)
