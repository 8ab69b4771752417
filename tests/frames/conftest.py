"""The embedded service, one for all tests of frames."""

from __future__ import annotations

import pytest

import svc_tools


@pytest.fixture(scope="session")
def embedded(_own_home):
    with svc_tools.connect("embedded") as client:
        yield client
