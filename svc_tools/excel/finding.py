"""Where Excel and LibreOffice are, and what Excel allows; reads this machine, changes nothing.

The Windows registry is handed in, so that all that follows from it is tested without Windows.
"""

from __future__ import annotations

import shutil
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from typing import Literal, Protocol

__all__ = ["Excel", "Registry", "bits_of", "find_calc", "find_excel", "mac_excel", "this_registry"]

Root = Literal["HKCU", "HKLM"]

_APP_PATHS = r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths"
_CURRENT = r"SOFTWARE\Classes\Excel.Application\CurVer"
_CLICK_TO_RUN = r"SOFTWARE\Microsoft\Office\ClickToRun\Configuration"
_NEWEST = "16.0"
"""What every Excel since 2016 calls itself in the registry."""

_MACHINES = {0x014C: 32, 0x8664: 64, 0xAA64: 64}
"""The processor that a Windows program is for, in its header: x86, x64, ARM64."""
_PE_OFFSET = 0x3C
_MAC_EXCEL = Path("/Applications/Microsoft Excel.app")
_MAC_CALC = Path("/Applications/LibreOffice.app/Contents/MacOS/soffice")


class Registry(Protocol):
    """The Windows registry, to read."""

    def value(self, root: Root, path: str, name: str) -> str | int | None:
        """The value of that name ("" is the key's own); `None` where there is none."""


@dataclass(frozen=True, slots=True)
class Excel:
    """An Excel for Windows and what it allows.

    Attributes:
        path: its program.
        version: as the registry knows it, such as 16.0.
        build: its full version; `None` where the registry does not say.
        bits: 32 or 64; `None` where nothing says.
        trusts_import: whether "Trust access to the VBA project object model" is on: the import of
            functions writes their VBA into the workbook.
        import_by_policy: whether the organisation decides that.
        macros: 1 all macros run, 2 Excel asks (as it does by itself), 3 signed ones alone, 4 none.
    """

    path: PureWindowsPath
    version: str
    build: str | None
    bits: int | None
    trusts_import: bool
    import_by_policy: bool
    macros: int


def this_registry() -> Registry | None:
    """The registry of this machine; `None` where it runs no Windows."""
    return _WindowsRegistry() if sys.platform == "win32" else None


def find_excel(registry: Registry) -> Excel | None:
    """The Excel that opens a workbook here; `None` where there is none."""
    path = _first(registry, _APP_PATHS + r"\excel.exe", "")
    if not isinstance(path, str) or not path.strip():
        return None
    program = PureWindowsPath(path.strip().strip('"'))
    current = _first(registry, _CURRENT, "")
    major = current.rpartition(".")[2] if isinstance(current, str) else ""
    version = f"{major}.0" if major.isdigit() else _NEWEST
    build = registry.value("HKLM", _CLICK_TO_RUN, "VersionToReport")
    trusted, by_policy = _security(registry, version, "AccessVBOM")
    macros, _ = _security(registry, version, "VBAWarnings")
    return Excel(
        path=program,
        version=version,
        build=build if isinstance(build, str) else None,
        bits=bits_of(program) or _told_bits(registry, version),
        trusts_import=trusted == 1,
        import_by_policy=by_policy,
        macros=macros if isinstance(macros, int) and macros in range(1, 5) else 2,
    )


def bits_of(program: PurePath) -> int | None:
    """32 or 64, from the header of a Windows program; `None` where it cannot be read."""
    with suppress(OSError, struct.error), Path(program).open("rb") as file:
        file.seek(_PE_OFFSET)
        (header,) = struct.unpack("<I", file.read(4))
        file.seek(header)
        if file.read(4) == b"PE\0\0":
            return _MACHINES.get(struct.unpack("<H", file.read(2))[0])
    return None


def mac_excel() -> Path | None:
    """Excel for macOS, which knows the add-in of its own but no functions through xlwings."""
    return _MAC_EXCEL if sys.platform == "darwin" and _MAC_EXCEL.exists() else None


def find_calc(registry: Registry | None) -> Path | None:
    """The program of LibreOffice; `None` where there is none."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None and registry is not None:
        told = _first(registry, _APP_PATHS + r"\soffice.exe", "")
        found = told if isinstance(told, str) and told else None
    if found is None and sys.platform == "darwin" and _MAC_CALC.exists():
        return _MAC_CALC
    return None if found is None else Path(found)


def _security(registry: Registry, version: str, name: str) -> tuple[str | int | None, bool]:
    """A setting of Excel's Trust Center, and whether a policy decides it."""
    below = rf"Microsoft\Office\{version}\Excel\Security"
    for root in ("HKCU", "HKLM"):
        decided = registry.value(root, rf"SOFTWARE\Policies\{below}", name)
        if decided is not None:
            return decided, True
    return _first(registry, rf"SOFTWARE\{below}", name), False


def _told_bits(registry: Registry, version: str) -> int | None:
    """As the registry tells it, in one of two places."""
    told = registry.value("HKLM", _CLICK_TO_RUN, "Platform") or registry.value(
        "HKLM", rf"SOFTWARE\Microsoft\Office\{version}\Outlook", "Bitness"
    )
    return {"x86": 32, "x64": 64}.get(str(told))


def _first(registry: Registry, path: str, name: str) -> str | int | None:
    """The user's own value, else the machine's."""
    own = registry.value("HKCU", path, name)
    return registry.value("HKLM", path, name) if own is None else own


class _WindowsRegistry:
    """The real one."""

    def value(self, root: Root, path: str, name: str) -> str | int | None:
        if sys.platform == "win32":
            import winreg  # noqa: PLC0415 - of Windows alone

            roots = {"HKCU": winreg.HKEY_CURRENT_USER, "HKLM": winreg.HKEY_LOCAL_MACHINE}
            for view in (winreg.KEY_WOW64_64KEY, winreg.KEY_WOW64_32KEY):
                with suppress(OSError):
                    with winreg.OpenKey(roots[root], path, 0, winreg.KEY_READ | view) as key:
                        found, _ = winreg.QueryValueEx(key, name)
                    if isinstance(found, str | int):
                        return found
        return None
