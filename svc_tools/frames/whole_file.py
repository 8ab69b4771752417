"""A file of ours appears whole or not at all, and never breaks the one it replaces."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name `path` once all went well.

    If the block raises, the temporary file is removed and `path` is as it was before.

    Raises:
        FileNotFoundError: the folder of `path` does not exist.
        OSError: the file cannot be moved into place (it is open in a spreadsheet on Windows).
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name}: the folder {path.parent} does not exist; create it first"
        )
    draft = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield draft
        _on_disk(draft)
        os.replace(draft, path)  # noqa: PTH105  # the one that is atomic on every system
        _on_disk(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _on_disk(path: Path) -> None:
    """Have the disk hold it before anything relies on it: power may fail between two steps."""
    if path.is_dir() and os.name == "nt":
        return  # there a folder cannot be opened
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
