"""The command line, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys

from support.warm import Commands

COMMANDS = Commands()
AT_THE_START = ("PYTHON", "TZ", "LC_", "LANG")
"""How the variables begin that Python reads before any command does."""


def svc_tools(*arguments, folder=None, **environment):
    """One command in 80 columns, with changes to the environment; where it runs, if not here."""
    changed = os.environ | {"COLUMNS": "80"} | environment
    # a forked child of macOS may not use the libraries of the system, and a Windows has no fork
    if sys.platform == "linux" and not any(name.startswith(AT_THE_START) for name in environment):
        return COMMANDS.run(arguments, changed, folder)
    return subprocess.run(
        [sys.executable, "-m", "svc_tools", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=folder,
        env=changed,
    )
