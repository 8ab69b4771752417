"""The real service, the fault server, and both clients behind one face."""

from __future__ import annotations

import pytest
from support.both import connecting, without_waiting


@pytest.fixture(params=["sync", "async"])
def connect(request):
    """Make a client of either kind; all are closed after the test."""
    with connecting(request.param) as make:
        yield make


@pytest.fixture
def waits(monkeypatch):
    """The delays that the clients asked for; none is really waited."""
    return without_waiting(monkeypatch)
