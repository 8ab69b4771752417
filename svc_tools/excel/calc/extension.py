"""The extension as one file: the same bytes whenever the same is built."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

from svc_tools.excel.calc.configuration import configuration
from svc_tools.excel.calc.idl import LIBRARY_FILE
from svc_tools.whole_file import whole_file

__all__ = ["addin_bytes", "write_addin"]

_ADDIN = Path(__file__).parent / "addin"
_FILES = (
    "svc_addin.py",
    "pythonpath/svc_calc_ahead.py",
    "pythonpath/svc_calc_cells.py",
    "pythonpath/svc_calc_server.py",
    "LICENSE",
)
_ENDING = ".oxt"
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the oldest that the format knows."""
_READABLE = 0o644 << 16


def write_addin(path: str | Path) -> Path:
    """Build the add-in for LibreOffice Calc.

    Args:
        path: the extension, an `.oxt`; it is replaced if it is there.

    Raises:
        ValueError: the file has another ending.
        OSError: it cannot be written.
    """
    path = Path(path).expanduser()
    if path.suffix.lower() != _ENDING:
        raise ValueError(
            f"LibreOffice knows extensions by their ending: {path.name!r} does not end in {_ENDING}"
        )
    content = addin_bytes()
    with whole_file(path) as draft:
        draft.write_bytes(content)
    return path


def addin_bytes() -> bytes:
    """The extension's content."""
    files = {name: text.encode() for name, text in configuration().items()}
    files |= {name: (_ADDIN / name).read_bytes() for name in _FILES}
    files[LIBRARY_FILE.name] = LIBRARY_FILE.read_bytes()
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _BEGINNING)
            entry.compress_type = zipfile.ZIP_STORED  # packers differ in their bytes
            entry.external_attr = _READABLE
            entry.create_system = 3  # as on Unix, wherever it is built
            archive.writestr(entry, files[name])
    return held.getvalue()
