"""What the tests of several commands share."""

from __future__ import annotations

import pytest
from support.faults import KEY, serving


@pytest.fixture
def account(tmp_path):
    """A service that fails on request, and what connects a command to it."""
    with serving() as faults:
        yield (
            faults,
            {
                "SVC_API_KEY": KEY,
                "SVC_BASE_URL": faults.base_url,
                "SVC_CACHE": str(tmp_path / "cache" / "answers.db"),
            },
        )
