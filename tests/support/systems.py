"""What tests need of the operating system: those that need what Windows lacks skip there."""

from __future__ import annotations

import contextlib
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
    # Windows; other packages ask the system there (platformdirs), unless the last two say otherwise
    *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    *("WIN_PD_OVERRIDE_APPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"),
)


def interrupt(process):
    """Press Ctrl+C for a process; on Windows, where none can be sent to it, end it."""
    if hasattr(os, "fork"):
        process.send_signal(signal.SIGINT)
    else:
        process.terminate()


class Registry:
    """The part of winreg that is used; the values of each key by its path, and by their names.

    Attributes:
        closed: the paths that an administrator closed.
    """

    HKEY_CURRENT_USER, HKEY_LOCAL_MACHINE, REG_SZ = "HKEY_CURRENT_USER", "HKEY_LOCAL_MACHINE", 1

    def __init__(self):
        self.values = {}
        self.closed = set()

    def put(self, path, **values):
        """Set values of a key, each of the kind that its Python type has."""
        self.values[path] = {name: (self.REG_SZ, data) for name, data in values.items()}

    @contextlib.contextmanager
    def CreateKey(self, root, path):  # noqa: N802 - of Windows
        yield self.values.setdefault(f"{root}\\{path}", {})

    @contextlib.contextmanager
    def OpenKey(self, root, path):  # noqa: N802 - of Windows
        whole = f"{root}\\{path}"
        if whole in self.closed:
            raise PermissionError(5, "Access is denied")
        within = {one for one in self.values if one.startswith(f"{whole}\\")}
        if whole not in self.values and not within:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        names = dict.fromkeys(one[len(whole) + 1 :].partition("\\")[0] for one in within)
        yield [*self.values.get(whole, {}).items()], [*names]

    def QueryInfoKey(self, key):  # noqa: N802 - of Windows
        values, keys = key
        return len(keys), len(values), 0

    def EnumValue(self, key, at):  # noqa: N802 - of Windows
        name, (kind, data) = key[0][at]
        return name, data, kind

    def EnumKey(self, key, at):  # noqa: N802 - of Windows
        return key[1][at]

    def SetValueEx(self, key, name, _reserved, kind, data):  # noqa: N802 - of Windows
        key[name] = (kind, data)

    def DeleteValue(self, key, name):  # noqa: N802 - of Windows
        if name not in key:
            raise FileNotFoundError(name)
        del key[name]
