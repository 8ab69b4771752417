"""A job over the journal that goes with it: found or begun, locked, and checked."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools.nexus.ability import able, listed
from svc_tools.nexus.apply_requests import ApplyError
from svc_tools.nexus.apply_steps import now
from svc_tools.nexus.journal import (
    FORMAT,
    VERSION,
    Journal,
    JournalDamagedError,
    JournalError,
    locked,
    private_folder,
    read_journal,
)
from svc_tools.nexus.receipt import Receipt
from svc_tools.nexus.receipt_files import ENDING, receipt_folder
from svc_tools.nexus.receipt_fold import receipt_of, tracks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.ability import Abilities, Listed
    from svc_tools.nexus.apply_requests import Wanted
    from svc_tools.nexus.journal import Event
    from svc_tools.nexus.receipt import ReceiptItem
    from svc_tools.nexus.receipt_fold import Track

__all__ = ["Job", "dry_receipt"]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done, for whom, and the journal that goes with it.

    Attributes:
        kind: apply, remove_state or restore.
        key: what makes two jobs the same one: the second continues the journal of the first.
        plan_id: the plan; "" for none.
        who: the service and the account.
        wanted: what is to become of which state and type.
    """

    kind: str
    key: str
    plan_id: str
    who: Source
    wanted: tuple[Wanted, ...]

    def of(self, wanted: tuple[Wanted, ...]) -> Job:
        """The same for what is wanted now."""
        return Job(self.kind, self.key, self.plan_id, self.who, wanted)

    @contextmanager
    def begun(
        self,
        client: Svc,
        folder: str | Path | None,
        *,
        check: Callable[[Job, Abilities], object] | None = None,
    ) -> Iterator[tuple[Journal, Listed | None, Abilities]]:
        """Its journal, locked and open, what the service lists, and what it can do.

        Args:
            client: a client of the account.
            folder: where the journal is; the folder of receipts by default.
            check: raises where the job cannot be done by a service that can this.

        Raises:
            ApplyError: the journal cannot be written, is damaged, or is in use.
            SvcError: the service does not let itself be looked at.
        """
        where = _folder(folder)
        account = _digest(self.who.service, self.who.account)
        try:
            private_folder(where)
            with locked(where / f".{account}.lock", what="changes records of this account"):
                there = listed(client)
                can = able(client, there)
                if check is not None:
                    check(self, can)
                journal = self._journal(where)
                try:
                    yield journal, there, can
                finally:
                    journal.close()
        except JournalError as error:
            raise ApplyError(_whole(error)) from error

    def _journal(self, where: Path) -> Journal:
        """The journal to continue, else a new one, with its first line on disk."""
        paths = self._paths(where)
        for path in paths:
            try:
                journal = Journal(path)
            except JournalDamagedError:
                if path == paths[0]:
                    raise
                continue  # an old one, with a whole one after it
            try:
                over = self.kind != "apply" and _is_over(journal)
                if journal.events and not over:
                    self._check(path, journal.events)
            except BaseException:
                journal.close()
                raise
            if not over:
                break
            journal.close()
        else:
            journal = Journal(_free(where, self._named))
        if not journal.events:
            self._head(journal)
        return journal

    def earlier(self, folder: str | Path | None) -> dict[tuple[str, str], Track]:
        """What the journal that would be continued says, for who only looks; nothing is written.

        Raises:
            ApplyError: it is damaged, or cannot be read.
        """
        paths = self._paths(_folder(folder))
        if not paths:
            return {}
        try:
            events = read_journal(paths[0]).events
            if events:
                self._check(paths[0], events)
        except (JournalError, OSError) as error:
            raise ApplyError(_whole(error)) from error
        return tracks_of(events)

    @property
    def _named(self) -> str:
        digest = _digest(self.kind, self.key, self.who.service, self.who.account)
        return f"{self.kind}-{digest}"

    def _paths(self, where: Path) -> list[Path]:
        """The journals of this job, the newest by its name first."""
        return sorted(where.glob(f"*-{self._named}{ENDING}"), reverse=True)

    def _check(self, path: Path, events: Sequence[Event]) -> None:
        """A journal is continued only where it is of this job, and can be understood.

        Raises:
            JournalError: it is another's, under this name, or says what this release does not know.
        """
        head = events[0]
        whose = [head.get(name) for name in ("kind", "key", "service", "account")]
        if whose != [self.kind, self.key, self.who.service, self.who.account]:
            raise JournalError(
                f"{path.name} is the journal of something else ({whose[1]}, for account"
                f" {whose[3]}): it was renamed or copied. Move it to another folder"
            )
        try:
            receipt_of(path, events)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise JournalError(
                f"{path.name} says what this release does not understand ({error!r}): use"
                " the release that wrote it, or a newer one"
            ) from error

    def _head(self, journal: Journal) -> None:
        try:
            journal.add(
                {
                    "event": "journal",
                    "format": FORMAT,
                    "version": VERSION,
                    "made_by": f"svc-tools {__version__}",
                    "at": now(),
                    "kind": self.kind,
                    "key": self.key,
                    "plan_id": self.plan_id,
                    "service": self.who.service,
                    "account": self.who.account,
                }
            )
        except BaseException:
            journal.close()
            raise


def _whole(error: Exception) -> str:
    """A message that says that nothing was sent, once."""
    told = str(error)
    return told if "Nothing was sent" in told else f"{told}. Nothing was sent"


def _folder(folder: str | Path | None) -> Path:
    return receipt_folder() if folder is None else Path(folder).expanduser().absolute()


def _is_over(journal: Journal) -> bool:
    last = journal.events[-1] if journal.events else {}
    return last.get("event") == "end" and bool(last.get("finished"))


def _free(where: Path, named: str) -> Path:
    """A name that is free; the caller holds the lock."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for more in ("", *"abcdefghijklmnopqrstuvwxyz"):
        path = where / f"{stamp}{more}-{named}{ENDING}"
        if not path.exists():
            return path
    raise JournalError(f"There are too many journals of this second in {where}")


def _digest(*parts: str) -> str:
    text = "\n".join(parts).encode()
    return hashlib.blake2b(text, digest_size=6, person=b"svc journal").hexdigest()


def dry_receipt(job: Job, can: Abilities, items: Iterable[ReceiptItem]) -> Receipt:
    """The receipt of a run that only looked."""
    return Receipt(
        path=None,
        plan_id=job.plan_id,
        service=job.who.service,
        account=job.who.account,
        started=datetime.now(UTC),
        dry_run=True,
        finished=False,
        items=tuple(items),
        kind=job.kind,
        can_restore=can.restores,
        restore_note=can.note,
    )
