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
from svc_tools.nexus.journal import FORMAT, VERSION, Journal, JournalError, locked, private_folder
from svc_tools.nexus.receipt import Receipt
from svc_tools.nexus.receipt_files import ENDING, receipt_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.ability import Abilities, Listed
    from svc_tools.nexus.apply_requests import Wanted
    from svc_tools.nexus.receipt import ReceiptItem

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
        where = receipt_folder() if folder is None else Path(folder).expanduser().absolute()
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
        named = _digest(self.kind, self.key, self.who.service, self.who.account)
        earlier = sorted(where.glob(f"*-{self.kind}-{named}{ENDING}"))
        journal = Journal(earlier[-1]) if earlier else None
        if journal is not None and self.kind != "apply" and _is_over(journal):
            journal.close()
            journal = None
        if journal is None:
            journal = Journal(_free(where, f"{self.kind}-{named}"))
        if not journal.events:
            self._head(journal)
        return journal

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


def _is_over(journal: Journal) -> bool:
    last = journal.events[-1] if journal.events else {}
    return last.get("event") == "end" and bool(last.get("finished"))


def _free(where: Path, named: str) -> Path:
    """A name that sorts after all earlier ones; the caller holds the lock."""
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
