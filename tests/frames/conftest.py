"""The embedded service, and one that answers as it is told."""

from __future__ import annotations

import pytest
from support.faults import KEY, serving

import svc_tools
from svc_sdk import Svc


@pytest.fixture(scope="session")
def embedded(_own_home):
    with svc_tools.connect("embedded") as client:
        yield client


@pytest.fixture
def faults():
    with serving() as state:
        yield state


@pytest.fixture
def scripted(faults):
    with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        yield client
