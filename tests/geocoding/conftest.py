"""The runners of frames, with the embedded service."""

from __future__ import annotations

import pytest
from support.faults import KEY
from support.runners import run

import svc_tools
from svc_sdk import Svc

__all__ = ["run"]


@pytest.fixture(scope="session")
def embedded(_own_home):
    with svc_tools.connect("embedded") as client:
        yield client


@pytest.fixture
def served(service):
    with Svc(KEY, base_url=service) as client:
        yield client
