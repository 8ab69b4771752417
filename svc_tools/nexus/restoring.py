"""Undo a removal: add the records of a receipt again, where no other record has come since."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.display import the_service
from svc_tools.nexus.register import FIELDS
from svc_tools.nexus.requests import ApplyError, Change, planned
from svc_tools.nexus.run import Job

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from svc_sdk import Svc
    from svc_tools.nexus.receipt import Receipt, Record
    from svc_tools.nexus.requests import PlannedRequest
    from svc_tools.nexus.run import Progress


def preview_restore(receipt: Receipt) -> tuple[PlannedRequest, ...]:
    """The requests that a restore would send, if none of the records is there again by then."""
    requests: list[PlannedRequest] = []
    for change in _changes_of(receipt):
        with suppress(ValueError):  # the restore itself reports what cannot be sent
            requests += planned([change], None)
    return tuple(requests)


def restore(
    receipt: Receipt,
    client: Svc,
    *,
    dry_run: bool = True,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """Add the removed records of a receipt again, as they were.

    Only what is gone is added: a record that is there again as it was is left alone and counts as
    done, another one is left alone and reported (`changed`). A restore writes its own receipt into
    the same folder. Fields of the service that no request can set are not restored.

    Args:
        receipt: the receipt of a removal.
        client: a client of the same account.
        dry_run: only look; nothing is added, nothing is written.
        on_progress: as for `apply_plan`.
        stop: ends the run when it is set, after the request under way.

    Raises:
        ApplyError: nothing was sent: there is nothing to restore, the receipt is of another
            account, the service cannot list or add, or the journal cannot be written.
        SvcError: nothing was sent: the service could not be asked for its records.
    """
    changes = _changes_of(receipt)
    account = config.account_of(client)
    path = receipt.path
    if receipt.dry_run or path is None:
        raise ApplyError("This is the receipt of a dry run: nothing was removed")
    if not changes:
        raise ApplyError("Nothing of this receipt is gone: there is nothing to restore")
    if (receipt.service, receipt.account) != astuple(account):
        raise ApplyError(
            f"The receipt is of {the_service(receipt.service)}, account {receipt.account}; this is"
            f" {the_service(account.service)}, account {account.account}. Nothing was sent; use the"
            " client of that account"
        )
    job = Job("restore", path.name, receipt.plan_id, account, changes)
    notes = (*_not_restorable(changes), *_several(receipt))
    return job.do(
        client, path.parent, dry_run=dry_run, on_progress=on_progress, stop=stop, notes=notes
    )


def _changes_of(receipt: Receipt) -> tuple[Change, ...]:
    """An addition for each record that may be gone; of several of one state and type, the first."""
    records: dict[tuple[str, str], Record] = {}
    for item in receipt.restorable:
        alone = item.action == "replace" and item.record is not None
        for record in (item.record,) if alone else item.before:
            if record is not None:
                key = (record["state"] or "", record["nexus_type"] or "")
                records.setdefault(key, dict(record))
    return tuple(
        Change(state, kind, "restore", None, (record,), record)
        for (state, kind), record in records.items()
    )


def _not_restorable(changes: Iterable[Change]) -> tuple[str, ...]:
    """A sentence on the fields of the records that no request can set."""
    names = {
        name
        for one in changes
        for name, value in (one.record or {}).items()
        if value is not None and name not in {*FIELDS, "created_at", "updated_at"}
    }
    if not names:
        return ()
    listed = ", ".join(sorted(names))
    return (f"The service kept more of the records ({listed}), which cannot be added again.",)


def _several(receipt: Receipt) -> Iterable[str]:
    """A sentence for each state and type that had more records than a restore adds."""
    for item in receipt.restorable:
        if item.action == "remove" and len(item.before) > 1:
            yield (
                f"{item.state} {item.nexus_type} had {len(item.before)} records, and one is added"
                " again; the others are in the file next to the receipt."
            )
