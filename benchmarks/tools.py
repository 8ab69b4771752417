"""Programs that benchmarks and tests start: each is found, or an error says how to install it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolError(Exception):
    """A program is missing, or does not work on this machine."""


def soffice() -> str:
    """LibreOffice: a real spreadsheet engine."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        raise ToolError(
            "LibreOffice is missing: apt-get install --no-install-recommends libreoffice-calc"
        )
    return found


def node() -> str:
    """Node.js: our JavaScript, run as it is shipped."""
    found = shutil.which("node")
    if found is None:
        raise ToolError("Node.js is missing: apt-get install --no-install-recommends nodejs")
    return found


def python_with_uno() -> str:
    """A Python that knows LibreOffice: that of the system, not the one that runs this."""
    for name in ("/usr/bin/python3", "python3"):
        found = shutil.which(name)
        if found and works(found, "-c", "import uno", env=clean_environment()):
            return found
    raise ToolError(
        "python3-uno is missing: apt-get install --no-install-recommends libreoffice-calc"
        " python3-uno"
    )


def works(*command: str, env: Mapping[str, str] | None = None) -> bool:
    """Whether a command ends well."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=60, env=env)  # noqa: S603 - our own
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def clean_environment(**more: str) -> dict[str, str]:
    """The variables for LibreOffice, which runs a Python of its own; `more` goes on top.

    A virtual environment, found through `PATH` or a variable, would give that Python the modules
    of another one: `unopkg` ends in `bad_alloc`. The service's settings are left out too.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SVC_", "PYTHON", "CONDA_", "VIRTUAL_ENV", "__PYVENV"))
    }
    office = shutil.which("soffice") or shutil.which("libreoffice")
    own = [str(Path(office).parent)] if office else []
    kept["PATH"] = os.pathsep.join([*own, *os.defpath.split(os.pathsep)])
    return kept | more
