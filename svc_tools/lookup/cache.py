"""The cache of results: read before every lookup, written during it, listed and cleared.

It is one SQLite file (`cache_store`) for all notebooks and processes of a user. What is stored,
and for how long, is the table of `expiry.keeps_until`. Where the file cannot be used, a lookup
continues without it, with a note. Other processes may use the file while it is listed or cleared.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from svc_tools.base.memory import all_stay
from svc_tools.base.operating_system import lock_bytes, unlock_bytes
from svc_tools.config import EmbeddedAsyncSvc, EmbeddedSvc, cache_hours, cache_path
from svc_tools.lookup.cache_store import (
    COMPANIONS,
    NO_PROFILE,
    CacheFile,
    DamageError,
    NotUsableError,
    Profile,
    bodies_of,
    checksum,
    outcomes_of,
    place_key,
    profile_of,
    read_profile,
    row_of,
    text_checksum,
    write_profile,
)
from svc_tools.lookup.expiry import CLOCK_SKEW, FOR_EVER, LocalDays, keeps_until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from svc_sdk import AsyncSvc, Svc
    from svc_tools.config import Source
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.tables.places import Place

    _Entry = tuple[Place, Outcome, Profile | None, datetime, int]

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AT_ONCE = 20_000
"""How many keys are in one query."""
_DAY = 86_400
_FIND = """
SELECT query.key, answer.detail, answer.expires, answer.body, answer.sum
FROM json_each(?) AS query CROSS JOIN answer
ON answer.source = ? AND answer.place = query.value
WHERE answer.expires > ? AND answer.detail >= ?
"""
_AT = """
CASE WHEN json_valid(CAST(answer.body AS TEXT))
THEN CAST(json_extract(CAST(answer.body AS TEXT), '$[1]') AS INTEGER) ELSE 1 << 62 END
"""
"""When a result was received, in microseconds; far in the future where it is damaged."""
# a full result serves simple queries too, so a simple one replaces it only where it is not used
_KEEP = f"""
INSERT INTO answer (source, place, detail, expires, body, sum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (source, place) DO UPDATE SET
    detail = excluded.detail, expires = excluded.expires, body = excluded.body, sum = excluded.sum
WHERE excluded.detail >= answer.detail OR answer.expires <= ? OR {_AT} > ?
"""  # noqa: S608 - our own text
_MOST = 100_000
"""Results in memory for one source: about 60 MB."""


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

    def forget(self, source: Source, places: Collection[Place]) -> None:
        """Remove the results of places, so that no later lookup uses them. Raises nothing."""

    def quota(self, source: Source) -> int | None:
        """How many lookups the account had left this month by the last report."""

    def store_quota(self, source: Source, remaining: int) -> None:
        """Store how many lookups the account has left this month."""


CacheChoice = Path | str | Literal[False] | ResultStore | None
"""The choice of a cache: a path, `False` for none, `None` for the configured one."""

_T = TypeVar("_T")


@contextmanager
def opened_cache(
    choice: CacheChoice = None, *, of: Svc | AsyncSvc | None = None
) -> Iterator[ResultStore | None]:
    """The chosen cache, for one run; `None` where results are not to be stored.

    Args:
        choice: `None` for the configured one (`SVC_CACHE`, `SVC_CACHE_HOURS`), `False` for none,
            the path of another, or one that is open already.
        of: the client whose results they are. Those of the embedded service, which computes them
            faster than they are read, are not stored.

    Raises:
        TypeError: the choice is something else.
        ConfigurationError: `SVC_CACHE_HOURS` cannot be used.
    """
    if not (choice is None or choice is False or isinstance(choice, str | Path | ResultStore)):
        raise TypeError(
            "cache: expected a path, False for none, or None for the configured one, not"
            f" {type(choice).__name__}"
        )
    if choice is False or isinstance(of, EmbeddedSvc | EmbeddedAsyncSvc):
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
    else:
        yield choice


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

    def claim(self, source: Source, places: Sequence[Place]) -> dict[Place, int]:
        """Those of the places that no other process looks up now; until `release`, none does.

        Returns:
            The number of the claim of each.
        """
        return _stores.at(self.path).claim(source, places)

    def release(self, claims: Collection[int]) -> None:
        """Leave the places of claims to other processes."""
        _stores.at(self.path).release(claims)

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

    def forget(self, source: Source, places: Collection[Place]) -> None:
        """Remove the results of places, in one transaction; see `ResultStore`."""
        if places:
            self._write(lambda store: store.forget(source, places))

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
        self._write(CacheAtPath.flush)

    def _write(self, work: Callable[[CacheAtPath], None]) -> None:
        """Write to the file; once that failed nothing further is written in this run."""

        def done(store: CacheAtPath) -> bool:
            work(store)
            return True

        if self._writes and self._try(done) is None:
            self._writes = False

    def _try(self, work: Callable[[CacheAtPath], _T]) -> _T | None:
        """The result of work on the file; `None`, and a note, where the file cannot be used."""
        store = _stores.at(self.path)
        with store.lock:
            try:
                return store.with_repair(work)
            except Exception as error:  # noqa: BLE001 - a lookup never fails because of its cache
                self._note(_reason(error))
            finally:
                self.notes += store.take_notes()
        return None

    def _note(self, why: str) -> None:
        note = f"the cache {self.path} cannot be used: {why}; the run continues without it"
        if note not in self.notes:
            self.notes.append(note)


def _reason(error: Exception) -> str:
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return "another process has been writing to it for too long"
    if kind == sqlite3.SQLITE_FULL:
        return "the disk is full"
    return str(error) or type(error).__name__


def _now() -> datetime:
    return datetime.now(UTC)


class CacheAtPath:
    """The file at a path, opened when it is first needed. Callers hold `lock`.

    Attributes:
        path: the file.
        lock: one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._file: CacheFile | None = None
        self._memory: dict[tuple[Source, bool], _Layer] = {}
        self._profiles: dict[int, Profile] = {}
        self._days = LocalDays()
        self._quotas: dict[Source, tuple[int, int]] = {}
        self._notes: list[str] = []
        self._claims: int | None = None
        self._claimed: set[int] = set()

    def with_repair(self, work: Callable[[CacheAtPath], _T]) -> _T:
        """The result of work; where the file proves to be damaged, on a new one.

        Raises:
            NotUsableError: the file cannot be used, and is left as it is.
            sqlite3.Error: busy for too long, a full disk, no permission to write.
        """
        try:
            return work(self)
        except Exception as error:
            file, why = self._file, f"is damaged ({error})"
            if file is None or not file.is_damaged_by(error):
                raise
        # the error is gone here: it refers to cursors, which keep the file open, so that Windows
        # could not move it
        self._file = None
        self.close()
        file.set_aside(why)
        return work(self)

    def take_notes(self) -> list[str]:
        """The notes on the file since the last call."""
        notes = self._notes.copy()
        self._notes.clear()
        return notes

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._file is not None:
            self._file.close()
        self._file = None
        self._memory.clear()
        self._profiles.clear()

    def claim(self, source: Source, places: Sequence[Place]) -> dict[Place, int]:
        """Lock a byte of a file for each place; those whose byte no other process has.

        The system releases those of a process that ends, however it ends.
        """
        claims = {_byte_of(source, place): place for place in places}
        with self.lock:
            if self._claims is None:
                name = self.path.with_name(f".{self.path.name}.claims")
                try:
                    self._claims = os.open(name, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
                except OSError:  # nothing can be written there: nor can others share it
                    return {place: claim for claim, place in claims.items()}
            # another run of this process may have it: a lock is of the whole process
            free = [claim for claim in claims if claim not in self._claimed]
            locked = lock_bytes(self._claims, free)
            self._claimed.update(locked)
        return {claims[claim]: claim for claim in locked}

    def release(self, claims: Collection[int]) -> None:
        """Unlock the bytes of claims."""
        with self.lock:
            if self._claims is not None:
                unlock_bytes(self._claims, claims)
                self._claimed.difference_update(claims)

    def known(
        self, source: Source, places: Collection[Place], *, detail: bool, now: datetime
    ) -> dict[Place, Outcome]:
        """The outcomes that are valid at a moment."""
        file = self.opened()
        moment = int(now.timestamp())
        stored = self._layer(source, detail, file.changes(), moment).outcomes
        found = {place: stored[place] for place in places if place in stored} if stored else {}
        if len(found) < len(places):
            missing = [place for place in places if place not in found]
            with all_stay():
                read = self._read(file, source, missing, detail=detail, now=moment)
                found |= {place: read[place] for place in missing if place in read}
        return found

    def write(
        self,
        source: Source,
        outcomes: Sequence[tuple[Place, Outcome]],
        *,
        detail: bool,
        now: datetime,
        hours: float | None,
    ) -> None:
        """Write those of the outcomes that may be stored, in one transaction."""
        entries: list[_Entry] = []
        for place, outcome in outcomes:
            at = outcome.looked_up_at or now
            today, ends = self._days.of(at)
            until = keeps_until(
                outcome, place.as_of, responded_at=at, today=today, day_ends=ends, hours=hours
            )
            if until is not None and until > now:
                entries.append((place, outcome, profile_of(outcome), at, int(until.timestamp())))
        if not entries:
            return
        file = self.opened()
        self._insert(file, source, entries, detail=detail, now=now)
        if not file.is_there:  # another process set it aside meanwhile: the results with it
            self._insert(self.opened(), source, entries, detail=detail, now=now)
        self._quotas.clear()
        for full in (False, True):
            if (layer := self._memory.get((source, full))) is not None:
                for place, *_ in entries:
                    layer.outcomes.pop(place, None)

    def _insert(
        self, file: CacheFile, source: Source, entries: list[_Entry], *, detail: bool, now: datetime
    ) -> None:
        with file.transaction(write=True) as connection:
            number = _source_number(connection, source)
            profiles = _profile_numbers(connection, {entry[2] for entry in entries})
            moment = int(now.timestamp())
            with all_stay():
                rows = _rows(entries, profiles, number, detail=detail, now=now)
            connection.executemany(_KEEP, rows)
            connection.execute("UPDATE source SET told = ? WHERE id = ?", (moment, number))
            self._write_quotas(connection)
            _remove_expired(connection, moment)

    def forget(self, source: Source, places: Collection[Place]) -> None:
        """Remove the results of places."""
        keys = json.dumps(list(map(place_key, places)))
        with self.opened().transaction(write=True) as connection:
            connection.execute(
                "DELETE FROM answer WHERE source = ? AND place IN (SELECT value FROM json_each(?))",
                (_number_of(connection, source), keys),
            )
        self._memory.clear()

    def quota(self, source: Source, *, now: datetime) -> int | None:
        """What is left of this month's quota by the last report; a new month's is not known."""
        quota = self._quotas.get(source)
        if quota is None:
            rows = self.opened().connection.execute(
                "SELECT quota, quota_told FROM source WHERE service = ? AND account = ?",
                (source.service, source.account),
            )
            quota = rows.fetchone()
        if quota is None or not isinstance(quota[0], int):
            return None
        return quota[0] if quota[1] == _quota_seal(source, quota[0], now) else None

    def write_quota(self, source: Source, remaining: int, *, now: datetime) -> None:
        """Store the quota; written with the next results, at once where nothing is left."""
        self._quotas[source] = (remaining, _quota_seal(source, remaining, now))
        if remaining <= 0:
            self.flush()

    def flush(self) -> None:
        """Write the quotas that were not written yet."""
        if self._quotas:
            with self.opened().transaction(write=True) as connection:
                self._write_quotas(connection)
            self._quotas.clear()

    def _write_quotas(self, connection: sqlite3.Connection) -> None:
        for source, quota in self._quotas.items():
            connection.execute(
                "UPDATE source SET quota = ?, quota_told = ? WHERE id = ?",
                (*quota, _source_number(connection, source)),
            )

    def _read(
        self, file: CacheFile, source: Source, places: Sequence[Place], *, detail: bool, now: int
    ) -> dict[Place, Outcome]:
        """The outcomes in the file; they are put into memory too."""
        found: dict[Place, Outcome] = {}
        soonest: int | None = None
        with file.transaction(write=False) as connection:
            changes = file.changes()
            number = _number_of(connection, source)
            if number is None:
                return {}
            pairs = list(zip(map(place_key, places), places, strict=True))
            if len(pairs) > _AT_ONCE:
                # in the order in which they stand in the file: half the time
                pairs.sort(key=itemgetter(0))
            for start in range(0, len(pairs), _AT_ONCE):
                keys, part = zip(*pairs[start : start + _AT_ONCE], strict=True)
                rows = connection.execute(
                    _FIND, (json.dumps(keys), number, now, int(detail))
                ).fetchall()
                if not rows:
                    continue
                _check(rows, keys, number)
                soonest = min([row[2] for row in rows] + ([soonest] if soonest else []))
                self._load_profiles(connection)
                outcomes = outcomes_of([row[3] for row in rows], self._profiles)
                found |= zip([part[row[0]] for row in rows], outcomes, strict=True)
        if soonest is None:
            return found
        latest = max(map(_DATED, found.values()))
        if latest > (limit := _latest(now)):
            return {place: outcome for place, outcome in found.items() if _DATED(outcome) <= limit}
        self._layer(source, detail, changes, now).add(found, soonest, latest)
        return found

    def _layer(self, source: Source, detail: bool, changes: int, now: int) -> _Layer:  # noqa: FBT001 - as a key
        """The results in memory; empty where the file changed, or one of them is not used now."""
        layer = self._memory.get((source, detail))
        if (
            layer is None
            or layer.changes != changes
            or layer.until <= now
            or layer.latest > _latest(now)
        ):
            layer = self._memory[source, detail] = _Layer(changes)
        return layer

    def _load_profiles(self, connection: sqlite3.Connection) -> None:
        """Load the profiles that were added since; a number is never reused."""
        newest = max(self._profiles, default=NO_PROFILE)
        rows = connection.execute("SELECT id, text, sum FROM profile WHERE id > ?", (newest,))
        for number, text, seal in rows.fetchall():
            if not isinstance(text, str) or text_checksum(number, text) != seal:
                raise DamageError("a part of a result in it was changed by something else")
            try:
                self._profiles[number] = read_profile(text)
            except (ValueError, TypeError, LookupError) as error:
                raise DamageError(f"a part of a result cannot be read ({error!r})") from error

    def opened(self) -> CacheFile:
        """The file; opened again where another one stands at its path."""
        if self._file is not None and not self._file.is_there:
            self.close()
        if self._file is None:
            self._file = CacheFile(self.path, self._notes)
        return self._file


def _byte_of(source: Source, place: Place) -> int:
    """Where the byte of a place is in the file of claims: by chance nowhere near another one."""
    text = f"{source.service} {source.account} {place_key(place)}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def _check(rows: Sequence[tuple[Any, ...]], keys: Sequence[str], source: int) -> None:
    """Compare the checksums of rows.

    Raises:
        DamageError: a row is not what was written.
    """
    try:
        same = all(
            checksum(source, full, expires, keys[index], body) == seal
            for index, full, expires, body, seal in rows
        )
    except (TypeError, ValueError, OverflowError):  # a value of another type
        same = False
    if not same:
        raise DamageError("a result in it was changed by something else")


_DATED: Callable[[Outcome], datetime] = attrgetter("looked_up_at")


def _latest(now: int) -> datetime:
    """The latest date that a stored result may have to be used."""
    return datetime.fromtimestamp(now, UTC) + CLOCK_SKEW


def _rows(
    entries: Sequence[_Entry],
    profiles: Mapping[Profile | None, int],
    source: int,
    *,
    detail: bool,
    now: datetime,
) -> list[tuple[object, ...]]:
    """The rows of results, and from when on one that is stored already is replaced."""
    moment = int(now.timestamp())
    latest = int(_latest(moment).timestamp()) * 10**6
    bodies = bodies_of(
        [row_of(outcome, profiles[shared], at) for _, outcome, shared, at, _ in entries]
    )
    rows: list[tuple[object, ...]] = []
    for (place, *_, expires), body in zip(entries, bodies, strict=True):
        key = place_key(place)
        seal = checksum(source, detail, expires, key, body)
        rows.append((source, key, detail, expires, body, seal, moment, latest))
    return rows


def _number_of(connection: sqlite3.Connection, source: Source) -> int | None:
    row = connection.execute(
        "SELECT id FROM source WHERE service = ? AND account = ?", (source.service, source.account)
    ).fetchone()
    if row is None:
        return None
    # the one above is from the index, which a damaged number would make another account's
    stored = connection.execute("SELECT service, account FROM source WHERE id = ?", row).fetchone()
    if stored != (source.service, source.account):
        raise DamageError("its list of services was changed by something else")
    return int(row[0])


def _source_number(connection: sqlite3.Connection, source: Source) -> int:
    """The number of a source; a new one is written."""
    number = _number_of(connection, source)
    if number is None:
        insert = "INSERT INTO source (service, account) VALUES (?, ?) RETURNING id"
        (number,) = connection.execute(insert, (source.service, source.account)).fetchone()
    return number


def _profile_numbers(
    connection: sqlite3.Connection, profiles: Iterable[Profile | None]
) -> dict[Profile | None, int]:
    """The numbers of profiles; new ones are written."""
    numbers: dict[Profile | None, int] = {None: NO_PROFILE}
    for profile in profiles:
        if profile is None:
            continue
        text = write_profile(profile)
        row = connection.execute("SELECT id FROM profile WHERE text = ?", (text,)).fetchone()
        if row is None:  # its checksum is over its number too
            insert = "INSERT INTO profile (text, sum) VALUES (?, 0) RETURNING id"
            row = connection.execute(insert, (text,)).fetchone()
            seal = text_checksum(row[0], text)
            connection.execute("UPDATE profile SET sum = ? WHERE id = ?", (seal, row[0]))
        numbers[profile] = row[0]
    return numbers


def _remove_expired(connection: sqlite3.Connection, now: int) -> None:
    """Once a day, remove what expired."""
    (cleaned,) = connection.execute("SELECT max(cleaned) FROM upkeep").fetchone()
    if not isinstance(cleaned, int):
        raise DamageError("its date of cleaning is missing")
    if abs(now - cleaned) < _DAY:
        return
    connection.execute("DELETE FROM answer WHERE expires <= ?", (now,))
    connection.execute("UPDATE upkeep SET cleaned = ?", (now,))


def _quota_seal(source: Source, remaining: int, now: datetime) -> int:
    """A number by which a stored quota is known to be this source's, whole, and of this month."""
    text = f"{source.service} {source.account} {remaining} {now.year}-{now.month}"
    return zlib.crc32(text.encode())


@dataclass(slots=True)
class _Layer:
    """The results of one source in memory, simple or full ones.

    They are valid until the first of them expires, or another process changes the file; and not
    where the clock is set back to before the last of them.
    """

    changes: int
    until: int = int(FOR_EVER.timestamp())
    latest: datetime = _EPOCH
    outcomes: dict[Place, Outcome] = field(default_factory=dict)

    def add(self, outcomes: Mapping[Place, Outcome], until: int, latest: datetime) -> None:
        """Add results; too many of them replace the former ones."""
        if len(outcomes) > _MOST:
            return
        if len(self.outcomes) + len(outcomes) > _MOST:
            self.outcomes, self.until = {}, int(FOR_EVER.timestamp())
        self.outcomes.update(outcomes)
        self.until = min(self.until, until)
        self.latest = max(self.latest, latest)


class _Stores:
    """The open files of this process, by path. A forked child opens its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, CacheAtPath] = {}
        # What a child inherited is the parent's: referenced, so that no finalizer of it runs.
        self._inherited: list[CacheAtPath] = []

    def at(self, path: Path) -> CacheAtPath:
        with self._lock:
            store = self._open.get(path)
            if store is None:
                store = self._open[path] = CacheAtPath(path)
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


_COUNT = f"""
SELECT
    source.service, source.account,
    count(*) AS answers,
    sum(answer.detail) AS "full",
    sum(answer.expires >= :ever) AS for_ever,
    sum(answer.expires > :now AND answer.expires < :ever) AS for_a_time,
    sum(answer.expires <= :now) AS expired,
    min({_AT}) AS oldest,
    max({_AT}) AS newest
FROM source JOIN answer ON answer.source = source.id
GROUP BY source.id
ORDER BY source.service, source.account
"""  # noqa: S608 - our own text


def cache_info(path: Path, *, now: datetime | None = None) -> CacheInfo:
    """What is in the cache; a missing file is not made.

    Raises:
        ValueError: the file cannot be used.
    """
    if not path.exists():
        return CacheInfo(path, None)
    values = {"now": _seconds(now), "ever": int(FOR_EVER.timestamp())}

    def count(store: CacheAtPath) -> tuple[SourceInfo, ...]:
        cursor = store.opened().connection.cursor()
        cursor.row_factory = sqlite3.Row
        return tuple(map(_source, cursor.execute(_COUNT, values).fetchall()))

    sources, notes = _with_file(path, count)
    return CacheInfo(path, _size(path), sources, tuple(notes))


def _source(row: sqlite3.Row) -> SourceInfo:
    values: dict[str, Any] = dict(row)
    try:
        moments = {name: _moment(values.pop(name)) for name in ("oldest", "newest")}
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise DamageError(f"a result in it has no date that can be read ({error})") from error
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
    until = _seconds(now) if expired else int(FOR_EVER.timestamp())

    def remove(store: CacheAtPath) -> int:
        """Remove what was chosen from an open cache, and give its room on the disk back."""
        file = store.opened()
        file.connection.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
        removed = 0
        with file.transaction(write=True) as connection:
            numbers = [
                number
                for number, name in connection.execute("SELECT id, service FROM source").fetchall()
                if service is None or is_of_service(name, service)
            ]
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

    return _with_file(path, remove)[0]


def is_of_service(name: str, wanted: str) -> bool:
    """Whether a source's service is the one that a user names: its address, or "embedded"."""
    if wanted.casefold() == "embedded":
        return name.startswith("embedded:")
    return name == wanted.strip().rstrip("/")


def _with_file(path: Path, work: Callable[[CacheAtPath], _T]) -> tuple[_T, list[str]]:
    """The result of work on a file, and notes."""
    store = CacheAtPath(path)
    try:
        return store.with_repair(work), store.take_notes()
    except (NotUsableError, DamageError, sqlite3.Error) as error:
        raise ValueError(f"the cache {path} cannot be used: {_reason(error)}") from error
    finally:
        store.close()


def _size(path: Path) -> int:
    files = (Path(f"{path}{ending}") for ending in ("", *COMPANIONS))
    return sum(file.stat().st_size for file in files if file.exists())


def _seconds(now: datetime | None) -> int:
    return int((now or datetime.now(UTC)).timestamp())


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds // 10**6, UTC)
