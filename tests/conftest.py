"""Nothing of the person who runs the tests is read or written."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory):
    """The user's folders and configuration are the tests' own, also in subprocesses."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):
            patch.setenv(name, str(home))
        for name in [name for name in os.environ if name.startswith("SVC_") and "TEST" not in name]:
            patch.delenv(name)
        yield
