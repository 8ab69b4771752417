"""The cache of results: read before every lookup, written during it, listed and cleared.

It is one SQLite file (`cache_store`) for all notebooks and processes of a user. What is stored,
and for how long, is the table of `cache_rows.keeps_until`. Where the file cannot be used, a lookup
goes on without it, with a note. Other processes may use the file while it is listed or cleared.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from svc_tools.config import cache_hours, cache_path
from svc_tools.lookup.cache_rows import FOR_EVER
from svc_tools.lookup.cache_store import COMPANIONS, CacheFile, NotUsableError, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from svc_tools.config import Source
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place


@runtime_checkable
class ResultStore(Protocol):
    """A store of results that a lookup reads before it sends requests, and writes to.

    Attributes:
        notes: sentences for the user.
    """

    notes: list[str]

    def known(
        self, source: Source, places: Collection[Place], *, detail: bool
    ) -> dict[Place, Outcome]:
        """The stored outcomes, `cached` set. A full result also serves a simple query."""

    def store(
        self, source: Source, outcomes: Sequence[tuple[Place, Outcome]], *, detail: bool
    ) -> None:
        """Store those that may be stored; on the disk when it returns. Raises nothing."""

    def quota(self, source: Source) -> int | None:
        """How many lookups the account had left this month by the last report."""

    def store_quota(self, source: Source, remaining: int) -> None:
        """Store how many lookups the account has left this month."""


CacheChoice = Path | str | Literal[False] | ResultStore | None
"""The choice of a cache: a path, `False` for none, `None` for the configured one."""

_T = TypeVar("_T")


@contextmanager
def opened_cache(choice: CacheChoice = None) -> Iterator[ResultStore | None]:
    """The chosen cache, for one run; `None` where results are not to be stored.

    Args:
        choice: `None` for the configured one (`SVC_CACHE`, `SVC_CACHE_HOURS`), `False` for none,
            the path of another, or one that is open already.

    Raises:
        TypeError: the choice is something else.
        ConfigurationError: `SVC_CACHE_HOURS` cannot be used.
    """
    if choice is False:
        yield None
    elif choice is None or isinstance(choice, str | Path):
        path = cache_path() if choice is None else Path(choice)
        if path is None:
            yield None
            return
        cache = Cache(path, hours=cache_hours())
        try:
            yield cache
        finally:
            cache.flush()
    elif isinstance(choice, ResultStore):
        yield choice
    else:
        raise TypeError(
            "cache: expected a path, False for none, or None for the configured one, not"
            f" {type(choice).__name__}"
        )


class Cache:
    """`ResultStore` over a file, which is opened, or made, at the first use.

    There is one for each run; all of them in a process share the open file. Safe to use from
    several threads.

    Args:
        path: the file.
        hours: how long rates of today and of later dates are stored, where that is to be longer
            than until the end of the local day.
        clock: the time (aware); the machine's where left out.

    Attributes:
        path: the file.
        notes: sentences for the user: a damaged file was set aside, a full disk.
    """

    def __init__(
        self,
        path: Path,
        *,
        hours: float | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.path = path.expanduser().absolute()
        self.notes: list[str] = []
        self._hours = hours
        self._clock = clock or _now
        self._reads = self._writes = True

    def known(
        self, source: Source, places: Collection[Place], *, detail: bool
    ) -> dict[Place, Outcome]:
        """The stored outcomes; see `ResultStore`."""
        if not self._reads or not places:
            return {}
        now = self._clock()
        found = self._try(lambda store: store.known(source, places, detail=detail, now=now))
        if found is None:
            self._reads = False
            return {}
        return found

    def store(
        self, source: Source, outcomes: Sequence[tuple[Place, Outcome]], *, detail: bool
    ) -> None:
        """Store those that may be stored, in one transaction; see `ResultStore`."""
        if not outcomes:
            return
        now = self._clock()
        self._write(
            lambda store: store.write(source, outcomes, detail=detail, now=now, hours=self._hours)
        )

    def quota(self, source: Source) -> int | None:
        """What is left of this month's quota by the last report; see `ResultStore`."""
        if not self._reads:
            return None
        now = self._clock()
        return self._try(lambda store: store.quota(source, now=now))

    def store_quota(self, source: Source, remaining: int) -> None:
        """Store what is left of this month's quota; written with the next results."""
        now = self._clock()
        self._write(lambda store: store.write_quota(source, remaining, now=now))

    def flush(self) -> None:
        """Write the quotas that were reported and not written yet."""
        self._write(Store.flush)

    def _write(self, work: Callable[[Store], None]) -> None:
        """Write to the file; once that failed nothing further is written in this run."""

        def done(store: Store) -> bool:
            work(store)
            return True

        if self._writes and self._try(done) is None:
            self._writes = False

    def _try(self, work: Callable[[Store], _T]) -> _T | None:
        """The result of work on the file; `None`, and a note, where the file cannot be used."""
        store = _stores.at(self.path)
        with store.lock:
            try:
                return store.with_repair(work)
            except NotUsableError as error:
                self._note(str(error))
            except (sqlite3.Error, OSError) as error:
                self._note(_reason(error))
            finally:
                self.notes += store.take_notes()
        return None

    def _note(self, why: str) -> None:
        note = f"the cache {self.path} cannot be used: {why}; the run goes on without it"
        if note not in self.notes:
            self.notes.append(note)


def _reason(error: Exception) -> str:
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return "another process has been writing to it for too long"
    if kind == sqlite3.SQLITE_FULL:
        return "the disk is full"
    return str(error)


def _now() -> datetime:
    return datetime.now(UTC)


class _Stores:
    """The open files of this process, by path. A forked child opens its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, Store] = {}
        # What a child inherited is the parent's: referenced, so that no finalizer of it runs.
        self._inherited: list[Store] = []

    def at(self, path: Path) -> Store:
        with self._lock:
            store = self._open.get(path)
            if store is None:
                store = self._open[path] = Store(path)
            return store

    def close(self) -> None:
        with self._lock:
            for store in self._open.values():
                with store.lock:
                    store.close()

    def leave_to_parent(self) -> None:
        self._lock = threading.Lock()  # a thread that is not here may hold the parent's
        self._inherited += self._open.values()
        self._open = {}


_stores = _Stores()
atexit.register(_stores.close)
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_stores.leave_to_parent)


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """The results of one service for one account.

    Attributes:
        service: the address; of the embedded service the digest of its rate book and the release.
        account: the fingerprint of the account's key.
        answers: how many there are.
        full: how many of them are full results.
        for_ever: how many are stored for good.
        for_a_time: how many are valid now, and will expire.
        expired: how many have expired.
        oldest: when the service sent the oldest.
        newest: when it sent the newest.
    """

    service: str
    account: str
    answers: int
    full: int
    for_ever: int
    for_a_time: int
    expired: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The cache at a path.

    Attributes:
        path: the file.
        size: bytes on the disk; `None` where there is no file.
        sources: what it holds, by service and account.
        notes: sentences about the file for the user.
    """

    path: Path
    size: int | None
    sources: tuple[SourceInfo, ...] = ()
    notes: tuple[str, ...] = ()


_COUNT = """
SELECT
    source.service, source.account,
    count(*) AS answers,
    sum(answer.detail) AS "full",
    sum(answer.expires >= :ever) AS for_ever,
    sum(answer.expires > :now AND answer.expires < :ever) AS for_a_time,
    sum(answer.expires <= :now) AS expired,
    min(json_extract(CAST(answer.body AS TEXT), '$[1]')) AS oldest,
    max(json_extract(CAST(answer.body AS TEXT), '$[1]')) AS newest
FROM source JOIN answer ON answer.source = source.id
GROUP BY source.id
ORDER BY source.service, source.account
"""


def cache_info(path: Path, *, now: datetime | None = None) -> CacheInfo:
    """What is in the cache; a missing file is not made.

    Raises:
        ValueError: the file cannot be used.
    """
    if not path.exists():
        return CacheInfo(path, None)
    values = {"now": _seconds(now), "ever": int(FOR_EVER.timestamp())}
    with _opened(path) as file:
        file.connection.row_factory = sqlite3.Row
        rows = file.connection.execute(_COUNT, values).fetchall()
        sources = tuple(_source(row) for row in rows)
        return CacheInfo(path, _size(path), sources, tuple(file.notes))


def _source(row: sqlite3.Row) -> SourceInfo:
    values: dict[str, Any] = dict(row)
    moments = {name: _moment(values.pop(name)) for name in ("oldest", "newest")}
    return SourceInfo(**(values | moments))


def clear_cache(
    path: Path, *, service: str | None = None, expired: bool = False, now: datetime | None = None
) -> int:
    """Remove results; other processes notice at their next lookup. The file stays.

    Args:
        path: the file.
        service: only those of this service; "embedded" for all rate books of the embedded one.
        expired: only those that expired.
        now: the time (aware); the machine's where left out.

    Returns:
        How many results were removed.

    Raises:
        ValueError: the file cannot be used.
    """
    if not path.exists():
        return 0
    with _opened(path) as file:
        file.connection.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
        with file.transaction(write=True) as connection:
            numbers = [
                number
                for number, name in connection.execute("SELECT id, service FROM source").fetchall()
                if service is None or is_of_service(name, service)
            ]
            removed = 0
            until = _seconds(now) if expired else int(FOR_EVER.timestamp())
            for number in numbers:
                removed += connection.execute(
                    "DELETE FROM answer WHERE source = ? AND expires <= ?", (number, until)
                ).rowcount
                if not expired:
                    connection.execute("DELETE FROM source WHERE id = ?", (number,))
            if connection.execute("SELECT 1 FROM answer LIMIT 1").fetchone() is None:
                connection.execute("DELETE FROM profile")
        with suppress(sqlite3.OperationalError):  # busy elsewhere: the room is used again later
            file.connection.execute("VACUUM")
            file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed


def is_of_service(name: str, wanted: str) -> bool:
    """Whether a source's service is the one that a user names: its address, or "embedded"."""
    if wanted.casefold() == "embedded":
        return name.startswith("embedded:")
    return name == wanted.strip().rstrip("/")


@contextmanager
def _opened(path: Path) -> Iterator[CacheFile]:
    try:
        file = CacheFile(path)
        try:
            yield file
        finally:
            file.close()
    except NotUsableError as error:
        raise ValueError(f"the cache {path} cannot be used: {error}") from error
    except sqlite3.Error as error:
        raise ValueError(
            f"the cache {path} cannot be used: {error}; the next lookup repairs it, or goes"
            " on without it"
        ) from error


def _size(path: Path) -> int:
    files = (Path(f"{path}{ending}") for ending in ("", *COMPANIONS))
    return sum(one.stat().st_size for one in files if one.exists())


def _seconds(now: datetime | None) -> int:
    return int((now or datetime.now(UTC)).timestamp())


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds // 10**6, UTC)
