"""The door for the command line: run the service as a program, keys, the rate book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_tools.service.errors import PortInUseError, StartError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date
    from pathlib import Path

    from pydantic import SecretStr

    from svc_tools.service.key_desk import KeyDesk
    from svc_tools.service.ratebook.imports.database import Edition
    from svc_tools.service.ratebook.imports.importer import Imported

__all__ = [
    "PortInUseError",
    "StartError",
    "StoreError",
    "check_book",
    "coverage",
    "import_files",
    "key_desk",
    "own_editions",
    "remove_own",
    "serve",
]


def serve(
    host: str,
    port: int,
    db: Path | SecretStr | None,
    api_key: str | None,
    echo: Callable[[str], None],
    *,
    workers: int = 1,
    faults: str | None = None,
    seed: int = 0,
) -> None:
    """Run the service in the foreground until it is interrupted (Ctrl+C, SIGTERM).

    Says where it listens, where the database is, and, where the database holds no key yet, the
    key that was made: once, because only its hash is stored.

    Args:
        host: the address to listen on; anything but loopback brings a warning.
        port: the port to listen on; 0 takes a free one.
        db: the path of a database, a `postgresql://` address, or `None` for the user's own.
        api_key: a key that is valid for this run, and stored nowhere.
        echo: prints one line.
        workers: how many processes serve; more than one on Linux and macOS only.
        faults: what goes wrong on purpose and how often, as `faults.FaultPlan` reads it.
        seed: decides which requests that are.

    Raises:
        PortInUseError: another program has the port.
        StoreError: the database cannot be used.
        StartError: the base of both, and whatever else keeps the service from starting.
    """
    from svc_tools.service import serving  # noqa: PLC0415 - loads all of the service
    from svc_tools.service.faults import FaultPlan  # noqa: PLC0415 - as above

    plan = None if faults is None else FaultPlan.read(faults, seed)
    serving.serve(host, port, db, api_key, echo, workers=workers, faults=plan)


def key_desk(target: SecretStr | None, *, make: bool) -> KeyDesk:
    """The keys of a database; see `KeyDesk`."""
    from svc_tools.service.key_desk import KeyDesk  # noqa: PLC0415 - loads SQLAlchemy

    return KeyDesk(target, make=make)


def coverage() -> dict[str, object]:
    """What the rate book claims for each state: the facts of `GET /v1/freshness`, as plain data.

    The user's own imported files lie over the shipped book, as in the service.

    Raises:
        ValueError: the user's own book is damaged or of another version.
    """
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - loads the rates
    from svc_tools.service.ratebook.imports.database import own_book_path  # noqa: PLC0415 - as above

    return load_book(own=own_book_path()).freshness()


def check_book(path: Path, day: date) -> dict[str, Any]:
    """Compare the book with a CSV file of rates that are known: plain data, as for JSON.

    The user's own imported files lie over the shipped book, as in the service.

    Args:
        path: rows of state, city, zip, expected rate and maybe a date.
        day: the day of a row without a date.

    Raises:
        ImportError: pandas is not installed.
        OSError: the file cannot be read.
        ValueError: it is not such a file, or no row of it can be read.
    """
    from svc_tools.service.ratebook import accuracy, load_book  # noqa: PLC0415 - loads the rates
    from svc_tools.service.ratebook.imports.common import OwnBookChanged  # noqa: PLC0415 - as above
    from svc_tools.service.ratebook.imports.database import own_book_path  # noqa: PLC0415 - as above

    rows, unreadable = accuracy.read_rates(path)
    if rows.empty:
        reasons = [f"line {one.line}: {one.reason}" for one in unreadable.itertuples()]
        raise ValueError(
            f"{path.name}: no row can be read; {(reasons or ['there is none below the header'])[0]}"
        )
    try:
        results = accuracy.compare(load_book(own=own_book_path()), rows, day=day)
    except OwnBookChanged:
        raise ValueError("Your own book was changed meanwhile; check the file again") from None
    return accuracy.summary(results, unreadable)


def import_files(
    paths: Sequence[Path],
    *,
    today: date,
    edition: str | None,
    force: bool,
    told: Callable[[Path, int, int], object],
) -> Iterator[Imported]:
    """Import official files into the user's own book, one after the other; see the importer."""
    from svc_tools.service.ratebook.imports import importer  # noqa: PLC0415 - loads the readers
    from svc_tools.service.ratebook.imports.database import own_book_path  # noqa: PLC0415 - as above

    return importer.import_files(
        paths, own_book_path(), today=today, edition=edition, force=force, fewer=force, told=told
    )


def own_editions() -> list[tuple[Edition, str | None]]:
    """The files in the user's own book, and the shipped book's edition where that is newer.

    Raises:
        ValueError: the own book is damaged or of another version.
    """
    from svc_tools.service.ratebook.imports import database, importer  # noqa: PLC0415 - loads rates

    found = database.list_editions(database.own_book_path())
    return [(one, importer.newer_shipped(one)) for one in found]


def remove_own(state: str, kind: str | None) -> list[Edition]:
    """Take a state's files out of the user's own book; those that were taken out.

    Args:
        state: two-letter code.
        kind: `rates`, `boundary`, or `None` for both.

    Raises:
        ValueError: another kind was named, boundaries would be left without their rates, or the
            own book is damaged or of another version.
    """
    from svc_tools.service.ratebook.imports import database  # noqa: PLC0415 - loads the database

    return database.remove_editions(database.own_book_path(), state, kind)
