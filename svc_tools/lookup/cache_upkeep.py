"""What is in the cache, and how it is emptied, while others go on using it."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_tools.lookup.cache_file import BESIDE, CacheFile, NotUsableError
from svc_tools.lookup.cache_keeping import FOR_EVER

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CacheInfo", "SourceInfo", "cache_info", "clear_cache", "is_of_service"]

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


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """The answers of one service for one account.

    Attributes:
        service: the address; of the embedded service the digest of its rate book and the release.
        account: the fingerprint of the account's key.
        answers: how many there are.
        full: those of them that are full answers.
        for_ever: those that are kept for good.
        for_a_time: those that hold now, and will expire.
        expired: those that no lookup reads any more.
        oldest: when the service gave the oldest.
        newest: when it gave the newest.
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
        notes: what a person should know of the file.
    """

    path: Path
    size: int | None
    sources: tuple[SourceInfo, ...] = ()
    notes: tuple[str, ...] = ()


def cache_info(path: Path, *, now: datetime | None = None) -> CacheInfo:
    """What is in the cache; a file that is not there is not made.

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
    """Remove answers; other processes notice at their next lookup. The file stays.

    Args:
        path: the file.
        service: only those of this service; "embedded" for all rate books of the embedded one.
        expired: only those that expired.
        now: the time (aware); the machine's where left out.

    Returns:
        How many answers were removed.

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
    """Whether a source's service is the one that a person names: its address, or "embedded"."""
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
            f"the cache {path} cannot be used: {error}; the next lookup mends it, or goes on"
            " without it"
        ) from error


def _size(path: Path) -> int:
    beside = (Path(f"{path}{ending}") for ending in ("", *BESIDE))
    return sum(one.stat().st_size for one in beside if one.exists())


def _seconds(now: datetime | None) -> int:
    return int((now or datetime.now(UTC)).timestamp())


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds // 10**6, UTC)
