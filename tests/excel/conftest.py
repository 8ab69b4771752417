"""A desk over the real service, one over a scripted server, Excel over COM, and Calc."""

from __future__ import annotations

import os

import pytest
from support.com_stand_ins import Excel, com
from support.faults import KEY
from support.spreadsheets import desk_of, excel_serve, running_calc

from svc_sdk import Svc
from svc_tools.excel import desk as desks
from svc_tools.excel.calc import write_addin

__all__ = ["com"]


@pytest.fixture(scope="session")
def client(service):
    with Svc(KEY, base_url=service) as found:
        yield found


@pytest.fixture(scope="session")
def desk(client):
    """The desk of the embedded service; the same results for every test."""
    return desk_of(client)


@pytest.fixture
def scripted_desk(scripted):
    return desk_of(scripted)


@pytest.fixture
def excel(com, scripted_desk, monkeypatch):
    """A small Excel whose functions and macros use a scripted server."""
    monkeypatch.setattr(desks, "_desks", [scripted_desk])
    return Excel(com)


@pytest.fixture
def batches(monkeypatch):
    """How many places each run of lookups requested."""
    found = []
    look_up = desks.look_up

    def counted(*arguments, **options):
        found.append(len(arguments[1]))
        return look_up(*arguments, **options)

    monkeypatch.setattr(desks, "look_up", counted)
    return found


@pytest.fixture(scope="session")
def calc_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("calc")


@pytest.fixture(scope="session")
def server_file(calc_folder, _own_home):
    """Where Calc's add-in finds the server: `svc-tools excel serve`, a program of its own."""
    settings = calc_folder / "settings"
    with excel_serve("--port", 0, **os.environ | {"SVC_EXCEL": str(settings)}):
        yield settings / "server.json"


@pytest.fixture(scope="session")
def calc(calc_folder, server_file):
    """One LibreOffice Calc with the add-in, for all tests that compute in it."""
    addin = write_addin(calc_folder / "svc-tools.oxt")
    with running_calc(calc_folder, addin, server_file.parent) as found:
        yield found
