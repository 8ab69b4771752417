"""The embedded service, one for all tests of frames, and the same rates over HTTP."""

from __future__ import annotations

import pytest
from support.faults import KEY
from support.runners import by_frame, elsewhere, run

import svc_tools
from svc_sdk import Svc

__all__ = ["by_frame", "elsewhere", "run"]


@pytest.fixture(scope="session")
def embedded(_own_home):
    with svc_tools.connect("embedded") as client:
        yield client


@pytest.fixture
def served(service):
    with Svc(KEY, base_url=service) as client:
        yield client
