"""What differs between Linux, macOS and Windows: files, locks, sockets, signals and terminals.

No other module asks Python for the system, except LibreOffice's extension, which runs in a Python
of LibreOffice. Tests set `NAME` to see what another system would do; CONTRIBUTING.md names what
they cannot show.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import signal
import socket
import stat
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TextIO

NAME = sys.platform
"""The system, as `sys.platform` names it: "linux", "darwin" (macOS) or "win32"."""


def is_windows() -> bool:
    """Whether this is Windows."""
    return NAME == "win32"


def _locks() -> Any | None:  # noqa: ANN401 - a module, whose functions Windows lacks
    """The module `fcntl`; `None` where the system has none."""
    try:
        return None if is_windows() else importlib.import_module("fcntl")
    except ImportError:
        return None


_UNLIMITED = 1 << 20
_SELECTED = 512
"""How many connections Windows can wait for at once, where Python uses `select`."""


def most_open_files() -> int:
    """How many files and connections this process may have open at once."""
    try:
        limits: Any = None if is_windows() else importlib.import_module("resource")
    except ImportError:
        limits = None
    if limits is None:
        return _SELECTED
    most, _ = limits.getrlimit(limits.RLIMIT_NOFILE)
    return _UNLIMITED if most == limits.RLIM_INFINITY else int(most)


# Files

_FOLDERS = {
    "data": ("XDG_DATA_HOME", ".local/share", "Library/Application Support"),
    "config": ("XDG_CONFIG_HOME", ".config", "Library/Application Support"),
    "cache": ("XDG_CACHE_HOME", ".cache", "Library/Caches"),
}
"""By kind: the variable that names the folder, and where it is within the home on Linux, macOS."""


def user_folder(kind: Literal["data", "config", "cache"]) -> Path:
    """The folder of this project's files of a kind, among the user's; it may not exist.

    The rule is that of the package platformdirs, which a lookup without any extra lacks: a file
    that the user imported is found whatever is installed.
    """
    variable, on_linux, on_macos = _FOLDERS[kind]
    variable = "LOCALAPPDATA" if is_windows() else variable
    base = Path(os.environ.get(variable, ""))
    if not base.is_absolute():
        within = "AppData/Local" if is_windows() else on_macos if NAME == "darwin" else on_linux
        base = Path.home() / within
    folder = base / "svc-tools"
    return folder / "Cache" if is_windows() and kind == "cache" else folder


BINARY: int = getattr(os, "O_BINARY", 0)
"""For `os.open`: Windows would rewrite the ends of lines."""


def make_private(path: Path) -> None:
    """Let only its owner read a file; on Windows the user's folders are private already."""
    if not is_windows() and path.stat().st_mode & 0o077:
        path.chmod(0o600)


def is_readable_by_others(mode: int) -> bool:
    """Whether other users can read a file of this mode; Windows has rights of another kind."""
    return not is_windows() and stat.S_ISREG(mode) and bool(mode & (stat.S_IRGRP | stat.S_IROTH))


_REPLACING = 10
_PAUSE = 0.05
"""Seconds between two tries to replace a file."""


def replace(draft: Path, path: Path) -> None:
    """Rename a file over another, all at once.

    On Windows a scanner for viruses or an indexer opens a new file for a moment, and what is open
    cannot be renamed: half a second of tries.

    Raises:
        OSError: it cannot be renamed (on Windows: a spreadsheet has `path` open).
    """
    for left in reversed(range(_REPLACING)):
        try:
            os.replace(draft, path)  # noqa: PTH105  # the one that is atomic on every system
        except PermissionError:
            if not (is_windows() and left):
                raise
            time.sleep(_PAUSE)
        else:
            return


def sync(handle: int) -> None:
    """Write an open file through to the disk, so that it survives a power cut."""
    locks = _locks()
    full = getattr(locks, "F_FULLFSYNC", None)
    if NAME == "darwin" and locks is not None and full is not None:
        with suppress(OSError):  # a disk, often of a network, that cannot
            locks.fcntl(handle, full)  # fsync of macOS leaves it in the cache of the drive
            return
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder through to the disk; Windows, which cannot open one, does."""
    if is_windows():
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def can_lock_open_files() -> bool:
    """Whether `lock` works, and a file that is open can be moved and removed: not on Windows."""
    return _locks() is not None


def lock(handle: int, *, wait: bool) -> None:
    """Lock an open file against every other process until it is closed or `unlock`ed.

    Raises:
        BlockingIOError: another one has it, and `wait` is false.
        OSError: the disk has no locks.
    """
    if locks := _locks():
        locks.flock(handle, locks.LOCK_EX | (0 if wait else locks.LOCK_NB))


def unlock(handle: int) -> None:
    """Release a lock, also for a child that was forked meanwhile and has the file open too."""
    if locks := _locks():
        locks.flock(handle, locks.LOCK_UN)


def lock_bytes(handle: int, numbers: Iterable[int]) -> list[int]:
    """Lock single bytes of a file, which need not be there; those that no other process has.

    The system releases them when this process ends, however it ends, or closes the file.
    """
    change = _byte_lock(handle, locked=True)
    locked = []
    for number in numbers:
        try:
            change(number)
        except OSError as error:
            if error.errno in {errno.EACCES, errno.EAGAIN, errno.EDEADLK}:
                continue
            # with another number the disk has no locks
        locked.append(number)
    return locked


def unlock_bytes(handle: int, numbers: Iterable[int]) -> None:
    """Release bytes that `lock_bytes` locked."""
    change = _byte_lock(handle, locked=False)
    for number in numbers:
        with suppress(OSError):
            change(number)


def _byte_lock(handle: int, *, locked: bool) -> Callable[[int], object]:
    """What locks or releases the byte of a number."""
    if locks := _locks():
        kind = locks.LOCK_EX | locks.LOCK_NB if locked else locks.LOCK_UN
        return partial(locks.lockf, handle, kind, 1)
    windows: Any = importlib.import_module("msvcrt")

    def change(number: int) -> None:
        os.lseek(handle, number, os.SEEK_SET)
        windows.locking(handle, windows.LK_NBLCK if locked else windows.LK_UNLCK, 1)

    return change


# Disks

_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs")
"""How the kinds of file systems of other machines begin, on Linux."""
_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNTED = re.compile(r"^.* on (?P<point>/.*) \((?P<kind>[^)]*)\)$")
_REMOTE = 4
"""What Windows says of a drive that is on another machine (`DRIVE_REMOTE`)."""


def is_on_network(path: Path, mounts: str | None = None) -> bool:
    """Whether a path is on a disk of another machine, as far as the system reports it.

    Args:
        path: an absolute path.
        mounts: the list of mounted disks, as Linux (`/proc/self/mountinfo`) or macOS (`mount`) has
            it; asked of the system where left out.
    """
    if is_windows():
        drive = PureWindowsPath(str(path)).drive
        return drive.startswith("\\\\") or _windows_drive(drive) == _REMOTE
    try:
        place = path.parent.resolve()
        listed = _mounts() if mounts is None else mounts
    except OSError:
        return False
    reader = _mounted_on_macos if NAME == "darwin" else _mounted_on_linux
    kind, longest = False, -1
    for line in listed.splitlines():
        point, is_remote = reader(line)
        if point and len(point) >= longest and place.is_relative_to(point):
            kind, longest = is_remote, len(point)
    return kind


def _mounts() -> str:
    if NAME == "darwin":
        import subprocess  # noqa: PLC0415 - rarely needed, and not quick to load

        done = subprocess.run(["/sbin/mount"], capture_output=True, check=False, timeout=10)
        return os.fsdecode(done.stdout)
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")


def _mounted_on_linux(line: str) -> tuple[str, bool]:
    mounted, _, source = line.partition(" - ")
    point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), " ".join(mounted.split(" ")[4:5]))
    return point, source.split(" ")[0].startswith(_NETWORK)


def _mounted_on_macos(line: str) -> tuple[str, bool]:
    found = _MOUNTED.match(line)
    return (found["point"], "local" not in found["kind"].split(", ")) if found else ("", False)


def _windows_drive(drive: str) -> int:
    """The kind of a drive such as C:; 0 where Windows does not say."""
    import ctypes  # noqa: PLC0415 - on Windows alone

    kernel = getattr(ctypes, "windll", None)
    return int(kernel.kernel32.GetDriveTypeW(f"{drive}\\")) if kernel and drive else 0


def database_uri(path: Path) -> str:
    r"""A path as the URI of a SQLite file; SQLite knows no host, as that of \\server\share."""
    return re.sub(r"^file://(?=[^/])", "file:////", path.as_uri())


# Sockets


def claim_address(listener: socket.socket) -> None:
    """Have no other program listen on the same port, which may be taken again at once.

    On Windows SO_REUSEADDR would let another program share the port.
    """
    if is_windows():
        exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", -5)
        listener.setsockopt(socket.SOL_SOCKET, exclusive, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def is_address_taken(error: OSError) -> bool:
    """Whether another program listens there; Windows calls that a lack of permission, too."""
    return error.errno == errno.EADDRINUSE or (is_windows() and error.errno == errno.EACCES)


# Signals, processes and terminals


def end_signals() -> list[int]:
    """The signals but Ctrl+C that ask a program to end.

    SIGTERM, SIGHUP (a terminal that closes); on Windows SIGBREAK (Ctrl+Break, and what a program
    sends to a group of processes), for which Windows never sends SIGTERM.
    """
    named = ("SIGTERM", "SIGBREAK") if is_windows() else ("SIGTERM", "SIGHUP")
    return [found for name in named if (found := getattr(signal, name, None)) is not None]


def is_closed_pipe(error: OSError) -> bool:
    """Whether the reader of an output is gone; Windows says that the argument is invalid."""
    return isinstance(error, BrokenPipeError) or (is_windows() and error.errno == errno.EINVAL)


def typed(words: Sequence[str]) -> str:
    """A command as it is typed into a terminal of this system."""
    if is_windows():
        import subprocess  # noqa: PLC0415 - rarely needed, and not quick to load

        return subprocess.list2cmdline(words)
    import shlex  # noqa: PLC0415 - the same

    return shlex.join(words)


def print_what_it_can(*streams: TextIO | None) -> None:
    """Print a "?" for what the encoding of an output lacks, instead of ending with an error.

    Windows writes into files and pipes in the encoding of its language, such as cp1252.
    """
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", "") == "strict":
            reconfigure(errors="replace")
