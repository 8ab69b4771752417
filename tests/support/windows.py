"""A Windows machine that is made up: its registry, and folders that stand for its disk."""

from __future__ import annotations

from svc_tools.excel.machine import Machine

EXCEL = r"C:\Program Files\Microsoft Office\root\Office16\EXCEL.EXE"
VERSION = "0.37.8"
_OFFICE = r"SOFTWARE\Microsoft\Office"
_SECURITY = r"Microsoft\Office\16.0\Excel\Security"

HERE = {
    ("HKLM", r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\excel.exe", ""): EXCEL,
    ("HKLM", r"SOFTWARE\Classes\Excel.Application\CurVer", ""): "Excel.Application.16",
    ("HKLM", rf"{_OFFICE}\ClickToRun\Configuration", "VersionToReport"): "16.0.17928.20114",
    ("HKLM", rf"{_OFFICE}\ClickToRun\Configuration", "Platform"): "x64",
}
"""A registry as an Excel of today leaves it."""
TRUSTED = {("HKCU", rf"SOFTWARE\{_SECURITY}", "AccessVBOM"): 1}
FORBIDDEN = {("HKCU", rf"SOFTWARE\Policies\{_SECURITY}", "AccessVBOM"): 0}
NO_MACROS = {("HKCU", rf"SOFTWARE\{_SECURITY}", "VBAWarnings"): 4}
OF_32_BITS = {("HKLM", rf"{_OFFICE}\ClickToRun\Configuration", "Platform"): "x86"}


class MadeRegistry:
    """A registry of the values that a test gives it."""

    def __init__(self, *values):
        self.values = {}
        for some in values:
            self.values |= some

    def value(self, root, path, name):
        return self.values.get((root, path, name))


def windows(tmp_path, *values, library="xlwings64", **changes):
    """A machine with Excel, whose Python is in a virtual environment; nothing of it is set up."""
    python = tmp_path / "venv" / "Scripts" / "python.exe"
    python.parent.mkdir(parents=True, exist_ok=True)
    if library:
        (python.parent.parent / f"{library}-{VERSION}.dll").touch()
    facts = {
        "system": "win32",
        "python": python,
        "registry": MadeRegistry(HERE, *values),
        "conf": tmp_path / "home" / ".xlwings" / "xlwings.conf",
        "startup": tmp_path / "XLSTART",
        "beside": None,
        "xlwings": VERSION,
        "python_bits": 64,
    }
    return Machine(**(facts | changes))


def as_excel_reads(content, encoding="utf-8"):
    """The settings as VBA's `Input #` takes them: two texts at a time, whatever the lines are.

    An empty line is an empty text there, and the first pair of a name is the one that counts.
    """
    texts = []
    for line in content.decode(encoding).splitlines():
        texts += [part.strip().strip('"') for part in line.split('","')] if line.strip() else [""]
    found = {}
    for name, value in zip(texts[::2], texts[1::2], strict=False):
        found.setdefault(name.upper(), value)
    return found
