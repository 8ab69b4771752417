"""A desk over the real service, and one over a server that answers as a test says."""

from __future__ import annotations

import pytest
from support.com_stand_ins import Excel, windows
from support.desks import desk_of
from support.faults import KEY

from svc_sdk import Svc
from svc_tools.excel import desk as desks


@pytest.fixture(scope="session")
def client(service):
    with Svc(KEY, base_url=service) as found:
        yield found


@pytest.fixture(scope="session")
def desk(client):
    """The desk of the embedded service; it answers alike for every test."""
    return desk_of(client)


@pytest.fixture
def scripted_desk(scripted):
    return desk_of(scripted)


@pytest.fixture(scope="module")
def com(tmp_path_factory):
    """xlwings' own COM code, which only Windows has, over stand-ins for Windows."""
    with windows(tmp_path_factory) as real:
        yield real


@pytest.fixture
def excel(com, scripted_desk, monkeypatch):
    """A small Excel whose functions and macros ask a server that answers as a test says."""
    monkeypatch.setattr(desks, "_desks", [scripted_desk])
    return Excel(com)
