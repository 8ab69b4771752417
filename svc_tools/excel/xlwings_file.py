"""`xlwings.conf`: which Python Excel starts. Lines of other things stay as they are.

Excel's side reads it as pairs of quoted texts in the Windows code page, the first of a name wins,
and an empty line puts all pairs after it out of step: so xlwings drops empty lines, and so do we.
"""

from __future__ import annotations

import locale
import re
from pathlib import Path

from svc_tools.config import ConfigurationError
from svc_tools.whole_file import whole_file

__all__ = ["INTERPRETER", "conf_path", "keep_backup", "pairs_in", "with_pair", "write_conf"]

INTERPRETER = "INTERPRETER_WIN"

_PAIR = re.compile(r'\s*"([^"]*)"\s*,\s*"([^"]*)"')
_BOM = b"\xef\xbb\xbf"


def conf_path() -> Path:
    """The user's own file, where xlwings and its VBA look for it on Windows."""
    return Path.home() / ".xlwings" / "xlwings.conf"


def pairs_in(content: bytes) -> dict[str, str]:
    """The settings by their names in capitals, as the VBA reads them: the first of a name wins."""
    found: dict[str, str] = {}
    for line in content.removeprefix(_BOM).decode(locale.getencoding(), "replace").splitlines():
        pair = _PAIR.match(line)
        if pair is not None:
            found.setdefault(pair[1].upper(), pair[2])
    return found


def with_pair(content: bytes, name: str, value: str) -> bytes:
    """The file with one setting, in place of an earlier one of that name.

    Raises:
        ConfigurationError: the value cannot be written so that Excel's side reads it.
    """
    try:
        new = f'"{name}","{value}"'.encode(locale.getencoding())
    except UnicodeEncodeError:
        new = b""
    if not new or '"' in value:
        raise ConfigurationError(
            f"xlwings.conf cannot name {value}: Excel's side reads it in the code page"
            f" {locale.getencoding()}, which lacks one of these letters. Install Python in a folder"
            " with a plain name"
        )
    lines, written = [], False
    for line in content.removeprefix(_BOM).splitlines():
        pair = _PAIR.match(line.decode("latin-1"))
        if pair is not None and pair[1].upper() == name:
            lines += [] if written else [new]
            written = True
        elif line.strip():
            lines.append(line)
    lines += [] if written else [new]
    return b"".join(line + b"\r\n" for line in lines)


def keep_backup(path: Path) -> Path | None:
    """A copy of a file beside it, under a name that nothing has; `None` where there is no file.

    Raises:
        OSError: it cannot be read or written.
    """
    if not path.exists():
        return None
    content = path.read_bytes()
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.before-{number}")
        try:
            with backup.open("xb") as file:
                file.write(content)
        except FileExistsError:
            number += 1
        else:
            return backup


def write_conf(path: Path, content: bytes) -> None:
    """Write the file, whole or not at all; its folder is made where missing.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        draft.write_bytes(content)
