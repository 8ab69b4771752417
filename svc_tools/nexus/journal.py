"""The journal of removals: lines of JSON, only ever added, each on disk before the next step.

Every line says the SHA-256 of the line before it (`line_before`) and its own (`sum`), so that one
that was changed, lost or moved is noticed; this finds damage, and is no signature. A process that
is killed while it writes leaves a torn last line: it is no line, and what it was to say did not
happen or is not known.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "BINARY",
    "FORMAT",
    "VERSION",
    "Event",
    "Journal",
    "JournalDamagedError",
    "JournalError",
    "Journaled",
    "locked",
    "private_folder",
    "read_journal",
    "sync_folder",
]

Event = dict[str, Any]
"""What one line says, without its two sums."""

FORMAT = "svc-nexus-journal"
VERSION = 1
_FIRST = "0" * 64
BINARY = getattr(os, "O_BINARY", 0)
"""Bytes as they are: Windows would write ends of lines in its own way."""
_BEGIN = b'{"event": "journal"'
_LINE = re.compile(rb'(?P<said>\{.*), "sum": "(?P<sum>[0-9a-f]{64})"\}\n', re.DOTALL)
_LOOK = (
    "It is not continued. Look on the service what is there; keep the file, in another folder, and"
    " go on with a new plan"
)


class JournalError(Exception):
    """The journal cannot be written or is in use; the message says why."""


class JournalDamagedError(JournalError):
    """The journal was changed after it was written, or is damaged: it is never continued."""


@dataclass(frozen=True, slots=True)
class Journaled:
    """A journal as it was read.

    Attributes:
        events: what its lines say.
        torn: the text of a last line that was not written to its end; "" where there is none.
        size: how many bytes its whole lines are.
        last: the sum of its last whole line.
    """

    events: tuple[Event, ...]
    torn: str
    size: int
    last: str


def read_journal(path: Path) -> Journaled:
    """The lines of a journal, all of them checked.

    Raises:
        JournalDamagedError: a line was changed, lost or moved, or it is no journal of ours.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    events: list[Event] = []
    last, size = _FIRST, 0
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        event = _event(line)
        if event is None:
            if number == len(lines) and not line.endswith(b"\n"):
                return Journaled(tuple(events), line.decode("utf-8", "replace"), size, last)
            if number == 1 and not line.startswith(_BEGIN):
                raise JournalDamagedError(f"{path.name} is no journal of removals")
            raise JournalDamagedError(
                f"{path.name}, line {number}, is damaged or was changed. {_LOOK}"
            )
        if event.pop("line_before") != last:
            raise JournalDamagedError(
                f"{path.name}: a line before line {number} was changed, lost or moved. {_LOOK}"
            )
        if not events:
            _check_head(path, event)
        last = _sum_of(line)
        size += len(line)
        events.append(event)
    return Journaled(tuple(events), "", size, last)


def _check_head(path: Path, event: Event) -> None:
    if event.get("format") != FORMAT:
        raise JournalDamagedError(f"{path.name} is no journal of removals")
    if event.get("version") != VERSION:
        raise JournalDamagedError(
            f"{path.name} is of version {event.get('version')}; this release reads {VERSION}:"
            " use the release that wrote it, or a newer one"
        )


def _event(line: bytes) -> Event | None:
    """What a line says, or nothing where it is not whole."""
    form = _LINE.fullmatch(line)
    if form is None or hashlib.sha256(form["said"]).hexdigest().encode() != form["sum"]:
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not isinstance(event.get("line_before"), str):
        return None
    del event["sum"]
    return event


def _sum_of(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


class Journal:
    """A journal that is open for adding lines. The caller holds its lock (`locked`).

    Args:
        path: where; it is begun where there is none, else continued after all of it was checked.

    Attributes:
        events: what its lines say, those of this process too.
        torn: the text of a torn last line that was found, and cut off, when it was opened.

    Raises:
        JournalError: it cannot be written; `JournalDamagedError` where it must not be continued.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            read = read_journal(path) if path.exists() else Journaled((), "", 0, _FIRST)
            made = not path.exists()
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
            try:
                if read.torn:
                    os.ftruncate(self._file, read.size)
                if made:
                    sync_folder(path.parent)
            except BaseException:
                os.close(self._file)
                raise
        except OSError as error:
            raise JournalError(_not_written(path, error)) from error
        self.events: list[Event] = [*read.events]
        self.torn = read.torn
        self._last = read.last

    def add(self, event: Event) -> None:
        """Add a line; when this returns, it is on disk.

        Raises:
            JournalError: it is not, and the event is not in `events`.
        """
        said = json.dumps({**event, "line_before": self._last})[:-1]
        digest = hashlib.sha256(said.encode()).hexdigest()
        line = f'{said}, "sum": "{digest}"}}\n'.encode()
        try:
            _write(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            raise JournalError(_not_written(self.path, error)) from error
        self._last = _sum_of(line)
        self.events.append(event)

    def close(self) -> None:
        """Close the file; what was added stays."""
        os.close(self._file)


def _write(file: int, line: bytes) -> None:
    """All of a line: the system may take it in parts."""
    while line:
        line = line[os.write(file, line) :]


def _not_written(path: Path, error: OSError) -> str:
    return f"The journal {path} cannot be written: {error.strerror or error}"


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, where a system knows how to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def private_folder(folder: Path) -> Path:
    """The folder, made where it is not there, for nobody else to read.

    One that is there keeps its rights: others may share it on purpose.

    Raises:
        JournalError: it cannot be made, or nothing can be written in it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise JournalError(f"The folder {folder} for receipts cannot be used: {why}") from error
    return folder


@contextmanager
def locked(path: Path, *, what: str) -> Iterator[None]:
    """Nobody else, in this process or another, while the block runs.

    Args:
        path: the file of the lock; it stays, and says nothing.
        what: what another one would be doing, for the message.

    Raises:
        JournalError: another one is at it, or there can be no lock here.
        ImportError: the extra for nexus is not installed.
    """
    try:
        from filelock import FileLock, Timeout  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        raise ImportError(
            f"This needs more: pip install 'svc-tax-tools[nexus]' ({error})"
        ) from error
    lock = FileLock(path, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise JournalError(
            f"Another process or window {what} at this moment; wait until it has ended"
        ) from None
    except (OSError, NotImplementedError) as error:
        why = getattr(error, "strerror", None) or error
        raise JournalError(f"{path.parent} cannot be locked: {why}") from error
    try:
        yield
    finally:
        lock.release()
