"""Undo: add the records again that a receipt says are gone, where nothing else has come since."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.display import the_service
from svc_tools.nexus.register import FIELDS
from svc_tools.nexus.requests import ApplyError, Wanted, planned
from svc_tools.nexus.run import Job

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from svc_sdk import Svc
    from svc_tools.nexus.receipt import Receipt, Record
    from svc_tools.nexus.requests import PlannedRequest
    from svc_tools.nexus.run import Progress


_MADE_BY_SERVICE = {"created_at", "updated_at"}


def preview_restore(receipt: Receipt) -> tuple[PlannedRequest, ...]:
    """The requests that a restore would send, where nothing is there by then."""
    found: list[PlannedRequest] = []
    for one in _wanted(receipt):
        with suppress(ValueError):  # what cannot be sent is said then
            found += planned([one], None)
    return tuple(found)


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
    done, another one is left alone and said (`changed`). It writes a receipt of its own beside
    the first. What a service keeps beyond the fields that can be added, it makes anew.

    Args:
        receipt: the receipt of a removal.
        client: a client of the same account.
        dry_run: only look; nothing is added, nothing is written.
        on_progress: as for `apply_plan`.
        stop: ends the run when it is set, after the request under way.

    Raises:
        ApplyError: nothing was sent: there is nothing to restore, the receipt is of another
            account, the service cannot list or add, or the journal cannot be written.
        SvcError: nothing was sent: the service does not let itself be looked at.
    """
    wanted = _wanted(receipt)
    who = config.account_of(client)
    _refuse(receipt, who=astuple(who), any_wanted=bool(wanted))
    if receipt.path is None:  # a dry run, which has nothing to restore and was refused
        raise ApplyError("A dry run has nothing to restore")
    job = Job("restore", receipt.path.name, receipt.plan_id, who, wanted)
    notes = (*_lacking(wanted), *_several(receipt))
    folder = receipt.path.parent
    return job.done(
        client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop, notes=notes
    )


def _wanted(receipt: Receipt) -> tuple[Wanted, ...]:
    """One for each record that may be gone; of several of one state and type, the first."""
    records: dict[tuple[str, str], Record] = {}
    for item in receipt.restorable:
        alone = item.action == "replace" and item.record is not None
        for record in (item.record,) if alone else item.before:
            if record is not None:
                key = (record["state"] or "", record["nexus_type"] or "")
                records.setdefault(key, dict(record))
    return tuple(
        Wanted(state, kind, "restore", None, (record,), record)
        for (state, kind), record in records.items()
    )


def _refuse(receipt: Receipt, *, who: tuple[str, str], any_wanted: bool) -> None:
    if receipt.dry_run:
        raise ApplyError("This is the receipt of a dry run: nothing was removed")
    if not any_wanted:
        raise ApplyError("Nothing of this receipt is gone: there is nothing to restore")
    if (receipt.service, receipt.account) != who:
        raise ApplyError(
            f"The receipt is of {the_service(receipt.service)}, account {receipt.account}; this is"
            f" {the_service(who[0])}, account {who[1]}. Nothing was sent; use the client of"
            " that account"
        )


def _lacking(wanted: Iterable[Wanted]) -> tuple[str, ...]:
    """What of the records no request can add again, in a sentence."""
    beyond = {
        name
        for one in wanted
        for name, value in (one.record or {}).items()
        if value is not None and name not in {*FIELDS} | _MADE_BY_SERVICE
    }
    if not beyond:
        return ()
    names = ", ".join(sorted(beyond))
    return (f"The service kept more of the records ({names}), which cannot be added again.",)


def _several(receipt: Receipt) -> Iterable[str]:
    """Of which states and types more was there than a restore adds."""
    for item in receipt.restorable:
        if item.action == "remove" and len(item.before) > 1:
            yield (
                f"{item.state} {item.nexus_type} had {len(item.before)} records, and one is added"
                " again; the others are in the file beside the receipt."
            )
