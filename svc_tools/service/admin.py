"""What the command line does with the service: run it, manage its keys and its rate book.

Imported when such a command runs; what loads the rates is imported only by what needs it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_tools.service.database import Database, utc_now
from svc_tools.service.errors import ANOTHER, StoreError
from svc_tools.service.errors import StartError as StartError  # noqa: PLC0414 - commands catch it
from svc_tools.service.keys import KeyRow, KeyStore
from svc_tools.service.start import default_path, is_address, new_key
from svc_tools.service.store import LimitStore, month_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    import pandas as pd
    from pydantic import SecretStr

    from svc_tools.base.progress import Progress
    from svc_tools.service.ratebook.imports.database import Edition
    from svc_tools.service.ratebook.imports.importer import Imported


def serve(
    host: str,
    port: int,
    db: Path | SecretStr | None,
    api_key: SecretStr | None,
    echo: Callable[[str], None],
    *,
    workers: int = 1,
    faults: str | None = None,
    seed: int = 0,
) -> None:
    """Run the service in the foreground until it is interrupted (Ctrl+C, SIGTERM).

    Prints where it listens, where the database is, and, where the database holds no key yet, the
    key that was made: once, because only its hash is stored.

    Args:
        host: the address to listen on; anything but loopback brings a warning.
        port: the port to listen on; 0 takes a free one.
        db: the path of a database, a `postgresql://` address, or `None` for the user's own.
        api_key: a key that is valid for this run, and stored nowhere.
        echo: prints one line.
        workers: how many processes serve; more than one on Linux and macOS only.
        faults: what goes wrong on purpose and how often, as text for `faults.FaultPlan.read`.
        seed: decides which requests fail.

    Raises:
        StoreError: the database cannot be used.
        StartError: its base, for any other reason, such as a port in use.
    """
    from svc_tools.service import serving  # noqa: PLC0415 - loads all of the service
    from svc_tools.service.faults import FaultPlan  # noqa: PLC0415 - as above

    plan = None if faults is None else FaultPlan.read(faults, seed)
    serving.serve(host, port, db, api_key, echo, workers=workers, faults=plan)


def coverage() -> dict[str, object]:
    """What the rate book covers in each state: the facts of `GET /v1/freshness`, as plain data.

    The user's own imported files lie over the shipped book, as in the service.

    Raises:
        ValueError: the user's own book is damaged or of another version.
    """
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - loads the rates
    from svc_tools.service.ratebook.own import own_book_path  # noqa: PLC0415 - as above

    return load_book(own=own_book_path()).freshness()


def check_book(rows: pd.DataFrame, unreadable: pd.DataFrame, day: date) -> dict[str, Any]:
    """Compare the book with known rates; return plain data, as for JSON.

    The user's own imported files lie over the shipped book, as in the service.

    Args:
        rows: the known rates: `line`, `state`, `city`, `zip`, `expected` and `as_of`.
        unreadable: the `line` and `reason` of rows that could not be read.
        day: the day of a row without a date.

    Raises:
        ValueError: the user's own book was changed meanwhile.
    """
    from svc_tools.service.ratebook import accuracy, load_book  # noqa: PLC0415 - loads the rates
    from svc_tools.service.ratebook.own import (  # noqa: PLC0415 - as above
        OwnBookChanged,
        own_book_path,
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
    progress: Progress,
) -> Iterator[Imported]:
    """Import official files into the user's own book, one after the other; see the importer."""
    from svc_tools.service.ratebook.imports import importer  # noqa: PLC0415 - loads the readers
    from svc_tools.service.ratebook.own import own_book_path  # noqa: PLC0415 - as above

    return importer.import_files(
        paths,
        own_book_path(),
        today=today,
        edition=edition,
        force=force,
        fewer=force,
        progress=progress,
    )


def own_editions() -> list[tuple[Edition, str | None]]:
    """The files in the user's own book, and the shipped book's edition where that is newer.

    Raises:
        ValueError: the own book is damaged or of another version.
    """
    from svc_tools.service.ratebook import own  # noqa: PLC0415 - as above
    from svc_tools.service.ratebook.imports import database, importer  # noqa: PLC0415 - loads rates

    found = database.list_editions(own.own_book_path())
    return [(edition, importer.newer_shipped(edition)) for edition in found]


def remove_own(state: str, kind: str | None) -> list[Edition]:
    """Remove a state's files from the user's own book; return those that were removed.

    Args:
        state: two-letter code.
        kind: `rates`, `boundary`, or `None` for both.

    Raises:
        ValueError: another kind was named, boundaries would be left without their rates, or the
            own book is damaged or of another version.
    """
    from svc_tools.service.ratebook import own  # noqa: PLC0415 - as above
    from svc_tools.service.ratebook.imports import database  # noqa: PLC0415 - loads the database

    return database.remove_editions(own.own_book_path(), state, kind)


class KeyAdmin(KeyStore):
    """The keys of one database, with what commands need beyond the service.

    Args:
        target: the path of a database or a `postgresql://` address (a password may be in it), or
            `None` for the user's own.
        make: whether a file that is not there is created.

    Raises:
        StoreError: the database cannot be used, or is not there.
    """

    def __init__(self, target: SecretStr | None, *, make: bool) -> None:
        where = target.get_secret_value() if target else str(default_path())
        if not make and not is_address(where) and not Path(where).exists():
            raise StoreError(
                f"There is no database {where}; `svc-tools serve` and `svc-tools keys create`"
                f" make one, or {ANOTHER}"
            )
        super().__init__(Database(where))

    def issue(self, **given: Any) -> tuple[KeyRow, SecretStr]:  # noqa: ANN401 - as `create` has them
        """Make a key by `create`: what is stored of it, and the key, which is stored nowhere."""
        key = new_key()
        return self.create(key, **given), key

    def describe(self) -> list[dict[str, Any]]:
        """Every key in plain values: its limits, overrides included, and its use this month."""
        month = month_of(datetime.now(UTC))
        uses = LimitStore(self.database).uses(month.name)
        now = utc_now()
        return [
            {
                "id": row.id,
                "account": row.account,
                "name": row.name,
                "plan": row.plan,
                "rate_per_minute": row.terms.rate.per_minute if row.terms.rate else None,
                "burst": row.terms.rate.burst if row.terms.rate else None,
                "monthly_quota": row.terms.monthly_quota,
                "used": uses.get(row.id, 0),
                "left": _left(row.terms.monthly_quota, uses.get(row.id, 0)),
                "month": month.name,
                "features": sorted(row.terms.features),
                "status": row.status(now),
                "created_at": row.created_at,
                "expires_at": row.expires_at,
                "revoked_at": row.revoked_at,
            }
            for row in self.list()
        ]


def _left(quota: int | None, used: int) -> int | None:
    return None if quota is None else max(0, quota - used)
