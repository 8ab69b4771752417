"""A folder for receipts of each test, and a nexus service whose abilities a test decides."""

from __future__ import annotations

import pytest
from support.nexus_service import NexusService
from support.nexus_tab import FIVE


@pytest.fixture(autouse=True)
def own_receipts(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    return tmp_path / "receipts"


@pytest.fixture
def lean(faults):
    """A service with five records."""
    made = NexusService(faults)
    for record in FIVE:
        made.put(**record)
    return made
