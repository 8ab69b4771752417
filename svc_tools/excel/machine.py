"""What of this machine decides how spreadsheets reach Python; tests make one up."""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from svc_tools.excel import finding, xlwings_file

if TYPE_CHECKING:
    from svc_tools.excel.finding import Excel, Registry

__all__ = ["Machine", "version_of"]


def version_of(package: str) -> str | None:
    """The version of an installed package; `None` where it is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _startup() -> Path | None:
    """Excel's folder of add-ins that it opens by itself, on Windows."""
    if sys.platform == "win32":
        import platformdirs  # noqa: PLC0415 - of the extra

        own = platformdirs.user_data_dir("Microsoft", appauthor=False, roaming=True)
        return Path(own) / "Excel" / "XLSTART"
    return None


def _beside() -> Path | None:
    """The folder that a Python which does not have svc_tools installed needs to be told of."""
    if version_of("svc-tax-tools") is not None:
        return None
    return Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, as far as Excel through xlwings goes.

    Attributes:
        system: as `sys.platform`: win32, darwin, linux.
        python: the Python that runs this, and that Excel is to start.
        registry: the Windows registry; `None` on other systems.
        conf: the file that tells xlwings which Python that is.
        startup: Excel's folder of add-ins that it opens by itself; `None` on other systems.
        beside: the folder of `svc_tools` where it is not installed, such as an unpacked copy.
        xlwings: the version of xlwings; `None` where it is not installed.
        python_bits: 32 or 64.
    """

    system: str = sys.platform
    python: Path = field(default_factory=lambda: Path(sys.executable))
    registry: Registry | None = field(default_factory=finding.this_registry)
    conf: Path = field(default_factory=xlwings_file.conf_path)
    startup: Path | None = field(default_factory=_startup)
    beside: Path | None = field(default_factory=_beside)
    xlwings: str | None = field(default_factory=lambda: version_of("xlwings"))
    python_bits: int = 8 * struct.calcsize("P")

    @property
    def is_windows(self) -> bool:
        """Whether functions through xlwings can be there at all."""
        return self.system == "win32"

    def excel(self) -> Excel | None:
        """The Excel for Windows of this machine."""
        return None if self.registry is None else finding.find_excel(self.registry)

    def library(self, excel: Excel) -> tuple[str, Path | None]:
        """The library that Excel loads to reach Python: its name, and where it is.

        Excel's own bits decide which, not Python's: they talk across processes. It is looked for
        beside the Python and one folder up, as a virtual environment has it.
        """
        name = f"xlwings{excel.bits or self.python_bits}-{self.xlwings}.dll"
        for folder in (self.python.parent, self.python.parent.parent):
            if (folder / name).is_file():
                return name, folder / name
        return name, None

    def names_this_python(self, told: str | None) -> bool:
        """Whether a path of the configuration is the Python that runs this."""
        if not told:
            return False
        if self.is_windows:
            return PureWindowsPath(told) == PureWindowsPath(self.python)
        return Path(told) == self.python
