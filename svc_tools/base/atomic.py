"""Atomic writing of files: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.base import operating_system

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETTLED = 5.0
"""Seconds after which a draft without a lock was left behind: a new one is locked at once."""
_ABANDONED = 86400.0
"""The same where drafts cannot be locked: no file takes a day to write."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path next to `path` to write to; it is renamed to `path` when the block ends.

    Where `path` is a symbolic link, the file that it leads to is written, and the link stays.
    If the block raises, the temporary file is removed and `path` is unchanged. One that a killed
    process left behind is removed by the next call for `path`. The permissions of a file that is
    replaced are preserved.

    Raises:
        FileNotFoundError: the folder of `path` does not exist.
        IsADirectoryError: `path` is a folder.
        PermissionError: the folder cannot be written, or the file is read-only (on Windows also
            where it is open in a spreadsheet); the message says what to do.
        OSError: `path` is a device or a link that leads in a circle, or the file cannot be written
            for another reason.
    """
    path = linked_file(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name}: the folder {path.parent} does not exist; create it first"
        )
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name the file to write")
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise PermissionError(
            f"cannot write {path}: it is read-only; permit writing in its properties, or choose"
            " another name"
        )
    _remove_left_drafts(path)
    draft = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        with _locked_draft(draft, like=path):
            yield draft
        _sync(draft)
        _move(draft, path)
        operating_system.sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def linked_file(path: Path) -> Path:
    """The file that is written where `path` is named: of a symbolic link, what it leads to.

    Raises:
        OSError: the link leads back to itself, or to a device.
    """
    # a path without a link stays as it was given, for the messages
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise OSError(
            f"cannot write {path}: it is a link that leads back to itself; name another file"
        )
    if target.exists() and not (target.is_file() or target.is_dir()):
        # a draft that is renamed to /dev/null would take its place, for every program
        raise OSError(f"cannot write {path}: it is a device or a pipe; name a file to write")
    return target


@contextmanager
def _locked_draft(draft: Path, *, like: Path) -> Iterator[None]:
    """Make the draft, with the permissions of the file it replaces, and lock it for the block."""
    try:
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except PermissionError:
        raise PermissionError(
            f"cannot write {like.name}: the permission to write in the folder {like.parent} is"
            " missing; choose another folder"
        ) from None
    try:
        if like.exists():
            draft.chmod(stat.S_IMODE(like.stat().st_mode))
        if is_locked := operating_system.can_lock_open_files():
            with contextlib.suppress(OSError):  # a file system without locks
                operating_system.lock(handle, wait=True)
            yield
    finally:
        os.close(handle)
    if not is_locked:  # Windows: what is open cannot be moved
        yield


def _move(draft: Path, path: Path) -> None:
    try:
        operating_system.replace(draft, path)
    except PermissionError:
        raise PermissionError(
            f"cannot write {path}: it is open in another program, or may not be replaced; close it"
            " there, or choose another name"
        ) from None


def _remove_left_drafts(path: Path) -> None:
    """Remove drafts of `path` whose processes are gone."""
    draft = re.compile(rf"\.{re.escape(path.stem)}-[0-9a-f]{{8}}{re.escape(path.suffix)}")
    for name in os.listdir(path.parent):  # noqa: PTH208  # names alone, of a folder of any size
        if draft.fullmatch(name):
            with contextlib.suppress(OSError):
                _remove_if_left(path.with_name(name))


def _remove_if_left(draft: Path) -> None:
    age = time.time() - draft.stat().st_mtime
    if not operating_system.can_lock_open_files():
        if age > _ABANDONED:
            draft.unlink()
        return
    if age < _SETTLED:
        return
    handle = os.open(draft, os.O_RDWR)
    try:
        operating_system.lock(handle, wait=False)  # raises where another process writes it
        draft.unlink()
    finally:
        os.close(handle)


def _sync(path: Path) -> None:
    """Sync a file to the disk: power may fail between two steps."""
    handle = os.open(path, os.O_RDWR)
    try:
        operating_system.sync(handle)
    finally:
        os.close(handle)
