"""A real LibreOffice Calc with the add-in, or the test skips; and the add-in's own modules."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from pathlib import Path

from benchmarks import calc as running
from support import tools
from svc_tools.excel import calc, formulas

_ADDIN = Path(calc.__file__).parent / "addin" / "pythonpath"


@contextmanager
def running_calc(folder, addin, server_folder):
    """Install the add-in as a person does, and start Calc."""
    tools.soffice()
    tools.python_with_uno()
    with running.running_calc(folder, addin, server_folder) as found:
        yield found


def addin_module(name):
    """A module of the extension, as LibreOffice's Python finds it."""
    if name not in sys.modules:
        sys.modules.setdefault("svc_formulas", formulas)
        sys.path.append(str(_ADDIN))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(_ADDIN))
    return sys.modules[name]
