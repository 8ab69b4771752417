"""The links of LibreOffice Calc: the program, and the add-in where LibreOffice unpacked it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools.excel.calc.names import IDENTIFIER
from svc_tools.excel.finding import find_calc
from svc_tools.excel.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.excel.machine import Machine

__all__ = ["calc_lines"]

_CALC = "calc"
_ADD = "svc-tools excel calc-addin. In LibreOffice: Tools > Extension Manager > Add"
_UNPACKED = "uno_packages/cache/uno_packages"
_VERSION = re.compile(r'<version value="([^"]*)"')


def calc_lines(machine: Machine) -> Iterator[Line]:
    """Whether LibreOffice is here, and has the add-in of this version."""
    program = find_calc(machine.registry)
    if program is None:
        yield Line(_CALC, "LibreOffice", "not set up", "it was not found")
        return
    yield Line(_CALC, "LibreOffice", "ok", str(program))
    version = _installed(program)
    if version is None:
        yield Line(
            _CALC, "Add-in", "not set up", "it is not installed for you", f"Build it: {_ADD}"
        )
    elif version != __version__:
        said = f"version {version} is installed, and the toolkit is {__version__}"
        yield Line(_CALC, "Add-in", "wrong", said, f"Build it anew: {_ADD}")
    else:
        yield Line(_CALC, "Add-in", "ok", f"version {version} is installed")


def _installed(program: Path) -> str | None:
    """The version of our extension, for this user or for all; `None` where neither has it."""
    import platformdirs  # noqa: PLC0415 - of the extra

    own = Path(platformdirs.user_config_dir("libreoffice", appauthor=False, roaming=True))
    for layer in (own / "4" / "user", program.resolve().parents[1] / "share"):
        for path in sorted((layer / _UNPACKED).glob("*/*/description.xml")):
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                found = _VERSION.search(text)
                if f'"{IDENTIFIER}"' in text and found is not None:
                    return found[1]
    return None
