"""The file of what geocoders found: by address, for good, beside the cache.

It is an SQLite file as that of the cache, made, opened and set aside in the same way. A row has the
geocoder, the address, the day, the kind of match and the position, and a checksum over them.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from svc_tools.config import cache_path
from svc_tools.geocoding.addresses import MATCHES, AddressMatch, StreetAddress
from svc_tools.lookup.cache_store import COMPANIONS, CacheFile, DamageError, FileKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import date
    from typing import Self

    from svc_tools.lookup.cache import CacheChoice

_T = TypeVar("_T")

_FIRST = """
CREATE TABLE address (
    geocoder TEXT NOT NULL,
    address TEXT NOT NULL,
    day TEXT NOT NULL,
    match TEXT NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (geocoder, address)
) WITHOUT ROWID;
"""
_KIND = FileKind(
    "file of addresses",
    0x53564747,  # "SVGG"
    (_FIRST,),
    (("address", "geocoder, address, day, match, body, sum"),),
)
_AT_ONCE = 20_000
"""How many addresses are in one query."""
_FIND = """
SELECT query.value, address.day, address.match, address.body, address.sum
FROM json_each(?) AS query CROSS JOIN address
ON address.geocoder = ? AND address.address = query.value
"""
_UNMATCHED = ("tie", "none")
_write = json.JSONEncoder(separators=(",", ":")).encode


def addresses_path(cache: CacheChoice = None) -> Path | None:
    """The file beside a cache, `None` for the configured one; `None` where nothing is stored."""
    path = cache_path() if cache is None else getattr(cache, "path", cache)
    if not isinstance(path, str | Path):
        return None
    beside = Path(path).expanduser().absolute()
    return beside.with_name(f"{beside.stem}.addresses{beside.suffix}")


class AddressStore:
    """What one geocoder has found so far; a context manager, for one run.

    A file that cannot be used is noted, and the run goes on without it.

    Args:
        path: the file, made at the first use; `None` for none.
        geocoder: the name that the results are stored under.

    Attributes:
        notes: sentences for the user.
    """

    def __init__(self, path: Path | None, geocoder: str) -> None:
        self.path, self.geocoder = path, geocoder
        self.notes: list[str] = []
        self._file: CacheFile | None = None
        self._usable = path is not None

    def __enter__(self) -> Self:
        """The store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def known(self, addresses: Collection[StreetAddress]) -> dict[StreetAddress, AddressMatch]:
        """What was found of these addresses before."""
        if self.path is None or not addresses or not self.path.exists():
            return {}
        return self._try(lambda file: self._known(file, addresses)) or {}

    def put(self, found: Mapping[StreetAddress, AddressMatch], day: date) -> None:
        """Store what was found on a day, in one transaction: on the disk when it returns."""
        rows = [self._row(address, one, day.isoformat()) for address, one in found.items()]

        def put(file: CacheFile) -> bool:
            with file.transaction(write=True) as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO address VALUES (?, ?, ?, ?, ?, ?)", rows
                )
            return True

        if rows:
            self._try(put)

    def _row(self, address: StreetAddress, one: AddressMatch, day: str) -> tuple[str | int, ...]:
        key, body = _write(address), _write(one[1:])
        parts = self.geocoder, key, day, one.match, body
        return *parts, _sum(*parts)

    def _known(
        self, file: CacheFile, addresses: Collection[StreetAddress]
    ) -> dict[StreetAddress, AddressMatch]:
        keys = {_write(address): address for address in addresses}
        every, found = list(keys), {}
        for start in range(0, len(every), _AT_ONCE):
            some = json.dumps(every[start : start + _AT_ONCE])
            for key, day, match, body, checksum in file.connection.execute(
                _FIND, (some, self.geocoder)
            ):
                if _sum(self.geocoder, key, day, match, body) != checksum or match not in MATCHES:
                    raise DamageError("an address in it is not what was written")
                found[keys[key]] = AddressMatch(match, *json.loads(body))
        return found

    def _try(self, work: Callable[[CacheFile], _T]) -> _T | None:
        """The result of work on the file; `None`, and a note, where it cannot be used."""
        if self.path is None or not self._usable:
            return None
        try:
            try:
                return work(self._opened(self.path))
            except Exception as error:
                file = self._file
                if file is None or not file.is_damaged_by(error):
                    raise
                file.set_aside(f"is damaged ({error})")
                self._file = None
            return work(self._opened(self.path))
        except Exception as error:  # noqa: BLE001 - a lookup never fails because of its file
            self._usable = False
            self.notes.append(
                f"the file of addresses {self.path} cannot be used: {error}; the run continues"
                " without it, and what is found now is requested again by the next one"
            )
        return None

    def _opened(self, path: Path) -> CacheFile:
        if self._file is not None and not self._file.is_there:
            self._file.close()
            self._file = None
        if self._file is None:
            self._file = CacheFile(path, self.notes, _KIND)
        return self._file


def _sum(*parts: str) -> int:
    """The checksum of a row, over all that it depends on."""
    return zlib.crc32("\0".join(parts).encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class GeocoderInfo:
    """The addresses that one geocoder was sent.

    Attributes:
        geocoder: its name.
        addresses: how many there are.
        exact: how many matched exactly.
        similar: how many matched a similar address.
        ties: how many matched several equally well.
        unmatched: how many matched none.
        oldest: the first day, ISO.
        newest: the last one.
    """

    geocoder: str
    addresses: int
    exact: int
    similar: int
    ties: int
    unmatched: int
    oldest: str
    newest: str


@dataclass(frozen=True, slots=True)
class AddressesInfo:
    """The file of addresses at a path.

    Attributes:
        path: the file.
        size: bytes on the disk; `None` where there is no file.
        geocoders: what it holds, by geocoder.
        notes: sentences about the file for the user.
    """

    path: Path
    size: int | None
    geocoders: tuple[GeocoderInfo, ...] = ()
    notes: tuple[str, ...] = ()


_COUNT = """
SELECT geocoder, count(*), sum(match = 'exact'), sum(match = 'similar'), sum(match = 'tie'),
       sum(match = 'none'), min(day), max(day)
FROM address GROUP BY geocoder ORDER BY geocoder
"""


def addresses_info(path: Path) -> AddressesInfo:
    """What is in the file of addresses; a missing file is not made.

    Raises:
        ValueError: the file cannot be used.
    """
    if not path.exists():
        return AddressesInfo(path, None)
    notes: list[str] = []
    rows = _with_file(path, notes, lambda file: file.connection.execute(_COUNT).fetchall())
    files = (path.with_name(path.name + ending) for ending in ("", *COMPANIONS))
    size = sum(file.stat().st_size for file in files if file.exists())
    return AddressesInfo(path, size, tuple(GeocoderInfo(*row) for row in rows), tuple(notes))


def clear_addresses(path: Path, *, geocoder: str | None = None, unmatched: bool = False) -> int:
    """Remove addresses, so that they are sent again; the file stays.

    Args:
        path: the file.
        geocoder: only those of this one.
        unmatched: only those without a match, and ties.

    Returns:
        How many were removed.

    Raises:
        ValueError: the file cannot be used.
    """
    if not path.exists():
        return 0
    given = (geocoder, geocoder, *(_UNMATCHED if unmatched else MATCHES))
    places = ", ".join("?" * (len(given) - 2))

    def remove(file: CacheFile) -> int:
        """Remove the rows, and give their room on the disk back."""
        file.connection.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
        with file.transaction(write=True) as connection:
            removed: int = connection.execute(
                f"DELETE FROM address WHERE (? IS NULL OR geocoder = ?) AND match IN ({places})",  # noqa: S608 - our own text
                given,
            ).rowcount
        with suppress(sqlite3.OperationalError):  # busy elsewhere: the room is used again later
            file.connection.execute("VACUUM")
            file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed

    return _with_file(path, [], remove)


def _with_file(path: Path, notes: list[str], work: Callable[[CacheFile], _T]) -> _T:
    file: CacheFile | None = None
    try:
        file = CacheFile(path, notes, _KIND)
        return work(file)
    except Exception as error:
        raise ValueError(f"the file of addresses {path} cannot be used: {error}") from error
    finally:
        if file is not None:
            file.close()
