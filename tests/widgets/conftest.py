"""A folder for receipts of each test, and a nexus service whose abilities a test decides."""

from __future__ import annotations

import pytest
from support.nexus import FIVE, Nexus


@pytest.fixture(autouse=True)
def own_receipts(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    return tmp_path / "receipts"


@pytest.fixture
def lean(faults):
    """A service with five records."""
    return Nexus(faults, FIVE)
