"""The journal of removals: JSON lines, append-only, each on disk before the next step.

Each line has its number (`seq`) and a CRC over the rest of it, so that a line that was changed,
lost or moved by accident is detected. A process that is killed while it writes leaves a torn last
line, which is dropped: the step it records did not happen, or its result is unknown.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from svc_tools.base.extras import needs
from svc_tools.base.operating_system import BINARY, sync, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


Event = dict[str, Any]
"""One line, without its number and its CRC."""

ENDING = ".jsonl"
FORMAT = "svc-nexus-journal"
JOURNAL_VERSION = 2
_BEGIN = b'{"seq": 1, "event": "journal"'
_CRC = b', "crc": "'
WHAT_TO_DO = (
    "It is not continued. Look on the service what is there, move the file to another folder, and"
    " start again, with a new plan where there was one"
)
_STAMP = "[0-9]" * 8 + "-" + "[0-9]" * 6
"""The time at the start of a journal's name, as a pattern of file names."""


class JournalError(Exception):
    """The journal cannot be written or is in use; the message says why."""


class JournalDamagedError(JournalError):
    """The journal is damaged, or of a format that this release does not read: never continued."""


@dataclass(frozen=True, slots=True)
class JournalContent:
    """A journal as it was read.

    Attributes:
        events: its lines.
        torn: the text of a last line that was cut off, if any.
        size: the bytes of its whole lines.
    """

    events: tuple[Event, ...] = ()
    torn: str = ""
    size: int = 0


def read_journal(path: Path) -> JournalContent:
    """The lines of a journal, all of them checked.

    Raises:
        JournalDamagedError: a line was changed, lost or moved, or the file is not a journal.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    if not _BEGIN.startswith(data[: len(_BEGIN)]):
        raise JournalDamagedError(f"{path.name} is no journal of removals that this release reads")
    *lines, torn = data.split(b"\n")
    events = []
    for number, line in enumerate(lines, 1):
        event = _event(line)
        if event is None:
            raise JournalDamagedError(
                f"{path.name}, line {number}, is damaged or was changed. {WHAT_TO_DO}"
            )
        if (seq := event.pop("seq")) != number:
            raise JournalDamagedError(
                f"{path.name}, line {number}, has the number {seq}: a line before it was lost or"
                f" moved. {WHAT_TO_DO}"
            )
        events.append(event)
    if events:
        _check_head(path, events[0])
    return JournalContent(tuple(events), torn.decode("utf-8", "replace"), len(data) - len(torn))


def journals(folder: Path, named: str) -> list[Path]:
    """The journals of a job, newest first.

    Only names as `new_journal` makes them: a copy is not the journal, and what it lacks was sent.
    """
    return sorted(folder.glob(f"{_STAMP}*-{named}{ENDING}"), reverse=True)


def new_journal(folder: Path, named: str) -> Path:
    """A file name that is not in use, for the journal of a job; the caller holds the lock.

    Raises:
        JournalError: there are too many journals of this second.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for more in ("", *"abcdefghijklmnopqrstuvwxyz"):
        path = folder / f"{stamp}{more}-{named}{ENDING}"
        if not path.exists():
            return path
    raise JournalError(f"There are too many journals of this second in {folder}")


def _check_head(path: Path, event: Event) -> None:
    if (event.get("format"), event.get("version")) != (FORMAT, JOURNAL_VERSION):
        raise JournalDamagedError(
            f"{path.name} is of {event.get('format')}, version {event.get('version')}; this release"
            f" reads {FORMAT}, version {JOURNAL_VERSION}: use the release that wrote it, or a newer"
            " one"
        )


def _event(line: bytes) -> Event | None:
    """The event of a line; `None` where the line is damaged."""
    text, _, crc = line.rpartition(_CRC)
    if crc != _crc(text):
        return None
    try:
        event: Event = json.loads(text + b"}")
    except RecursionError:  # of an earlier release, with a body that is nested without end
        return None
    return event


def _crc(text: bytes) -> bytes:
    return b'%08x"}' % zlib.crc32(text)


class Journal:
    """A journal that is open for adding lines. The caller holds its lock (`locked`).

    Args:
        path: the file; it is created if missing, else continued after all of it was checked.

    Attributes:
        events: its lines, those of this process too.
        torn: the text of a torn last line that was found, and cut off, when it was opened.

    Raises:
        JournalError: it cannot be written; `JournalDamagedError` where it must not be continued.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            read = read_journal(path) if path.exists() else JournalContent()
            created = not path.exists()
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
            try:
                if read.torn:
                    os.ftruncate(self._file, read.size)
                if created:
                    sync_folder(path.parent)
            except BaseException:
                os.close(self._file)
                raise
        except OSError as error:
            raise JournalError(_not_written(path, error)) from error
        self.events: list[Event] = [*read.events]
        self.torn = read.torn
        self._seq = len(read.events)

    def add(self, event: Event) -> None:
        """Add a line; when this returns, it is on disk.

        Raises:
            JournalError: it is not, and the event is not in `events`.
        """
        text = json.dumps({"seq": self._seq + 1, **event})[:-1].encode()
        line = text + _CRC + _crc(text) + b"\n"
        try:
            _write(self._file, line)
            sync(self._file)
        except OSError as error:
            raise JournalError(_not_written(self.path, error)) from error
        self._seq += 1
        self.events.append(event)

    def close(self) -> None:
        """Close the file; what was added stays."""
        os.close(self._file)


def _write(file: int, line: bytes) -> None:
    """Write all of a line: one write may take only a part of it."""
    while line:
        line = line[os.write(file, line) :]


def _not_written(path: Path, error: OSError) -> str:
    return f"The journal {path} cannot be written: {error.strerror or error}"


def private_folder(folder: Path) -> Path:
    """The folder, created for this user only if missing.

    An existing one keeps its permissions: it may be shared on purpose.

    Raises:
        JournalError: it cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise JournalError(f"The folder {folder} for receipts cannot be used: {why}") from error
    return folder


@contextmanager
def locked(path: Path, *, what: str) -> Iterator[None]:
    """Hold a lock against every other process and window while the block runs.

    Args:
        path: the file of the lock; it stays, and is empty.
        what: what another holder would be doing, for the message.

    Raises:
        JournalError: another one holds it, or no lock is possible here.
        ImportError: the extra for nexus is not installed.
    """
    with needs("Changing nexus records", "nexus"):
        from filelock import FileLock, Timeout  # noqa: PLC0415 - of an extra
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
