"""The command line, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys


def svc_tools(*arguments, **environment):
    """One command in 80 columns, with changes to the environment."""
    return subprocess.run(
        [sys.executable, "-m", "svc_tools", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"COLUMNS": "80"} | environment,
    )
