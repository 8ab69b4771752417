"""What tests need of the operating system: those that need what Windows lacks skip there."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path

import pytest

posix = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs signals, modes of files, forks or terminals of POSIX"
)
linux = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="reads /proc of Linux")


def _module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# `None` on Windows; what uses them is marked `posix`
pty = _module("pty")
resource = _module("resource")


def homes(folder):
    """The variables by which programs find the folders of the user, all of which are `folder`."""
    return dict.fromkeys(_HOMES, str(folder))


_HOMES = (
    *("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
    # Windows; platformdirs asks the system there, unless the last two say otherwise
    *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    *("WIN_PD_OVERRIDE_APPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"),
)


def interrupt(process):
    """Press Ctrl+C for a process; on Windows, where none can be sent to it, end it."""
    if hasattr(os, "fork"):
        process.send_signal(signal.SIGINT)
    else:
        process.terminate()
