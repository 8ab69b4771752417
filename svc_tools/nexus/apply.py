"""Apply a ticked plan, remove all records of a state, or restore what a receipt removed.

Each is a `Job` (SPEC 4.1).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.nexus.job import ItemProgress, Job
from svc_tools.nexus.requests import (
    ApplyError,
    Change,
    as_listed,
    mismatch,
    not_restored,
    requests_for,
    restorations,
    ticked_changes,
    with_listed_record,
)
from svc_tools.show.display import the_service
from svc_tools.tables.states import STATES, us_state

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import PlannedRequest, Receipt
    from svc_tools.nexus.register import Register


def preview(plan: Plan, *, listed: Register | None = None) -> tuple[PlannedRequest, ...]:
    """The requests that applying a plan would send, exactly, in order.

    Args:
        plan: the plan, ticked.
        listed: what the service lists; what is not there, or is another record there, is left out.

    Raises:
        PlanError: the ticks contradict each other.
    """
    on_service = None if listed is None else as_listed(listed)
    found: list[PlannedRequest] = []
    for change in ticked_changes(plan):
        if on_service is None:
            found += requests_for(change, change.expected)
        elif not mismatch(change, records := on_service.of(*change.key)):
            found += requests_for(with_listed_record(change, records), len(records))
    return tuple(found)


def apply_plan(
    plan: Plan,
    client: Svc,
    *,
    dry_run: bool = True,
    folder: str | Path | None = None,
    on_progress: ItemProgress | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """Remove what is ticked in a plan: one request for each state and type, each sent once.

    Where the service lists records, they are listed first: a record that is missing, or differs
    from the plan, is left alone. A lost response is settled by listing again, else reported as
    unknown. The same plan again continues: what is done is not sent again, and only what is ticked
    now is sent.

    Args:
        plan: the plan, ticked.
        client: a client of the plan's own account.
        dry_run: only list; nothing is removed, nothing is written.
        folder: where the receipt is written; the folder of receipts by default.
        on_progress: called with each item when it is done, how many are done, and of how many.
        stop: ends the run when it is set, after the request under way, as Ctrl+C does.

    Raises:
        PlanError: the ticks contradict each other.
        ApplyError: nothing was changed: the plan is of another account, nothing is ticked, the
            journal cannot be written or is damaged, or another process is applying.
        SvcError: nothing was changed: the service could not list its records.
    """
    changes = ticked_changes(plan)
    if not changes:
        raise ApplyError("Nothing is ticked in the plan; mark rows with x, and apply it again")
    account = config.account_of(client)
    _require_same_account(plan, account)
    job = Job("apply", f"plan {plan.plan_id}", plan.plan_id, account, changes)
    return job.do(client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop)


def remove_state(
    client: Svc,
    state: str,
    *,
    typed: str,
    dry_run: bool = True,
    folder: str | Path | None = None,
) -> Receipt:
    """Remove ALL records of a state, of every type; it has its own confirmation.

    Args:
        client: the client.
        state: the state, as its code.
        typed: the code of the state again, as the user typed it.
        dry_run: only list; nothing is removed, nothing is written.
        folder: where the receipt is written; the folder of receipts by default.

    Raises:
        ApplyError: nothing was changed: `typed` is not the code, there is no such state, the
            journal cannot be written, or another process is applying.
        SvcError: nothing was changed: the service could not list its records.
    """
    code = us_state(state)
    if code is None:
        raise ApplyError(f"{state!r} is not a US state. Nothing was sent")
    if typed.strip() != code:
        raise ApplyError(
            f"To remove every record of {STATES[code]}, type its code, {code}; {typed!r} was typed."
            " Nothing was sent"
        )
    changes = (Change(code, "", "remove_all", None),)
    job = Job("remove_state", f"state {code}", "", config.account_of(client), changes)
    return job.do(client, folder, dry_run=dry_run)


def preview_restore(receipt: Receipt) -> tuple[PlannedRequest, ...]:
    """The requests that a restore would send, unless records are there again by then."""
    requests: list[PlannedRequest] = []
    for change in restorations(receipt):
        with suppress(ValueError):  # the restore itself reports what cannot be sent
            requests += requests_for(change)
    return tuple(requests)


def restore(
    receipt: Receipt,
    client: Svc,
    *,
    dry_run: bool = True,
    on_progress: ItemProgress | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """Undo a receipt: add what was removed, put back what was edited, remove what was added.

    Only what is as the receipt left it is changed: a record that is there again as it was is left
    alone and counts as done, another one is left alone and reported (`changed`). A restore writes
    its own receipt into the same folder. Fields of the service that no request can set are not
    restored.

    Args:
        receipt: the receipt of a removal, an addition or an edit.
        client: a client of the same account.
        dry_run: only look; nothing is added, nothing is written.
        on_progress: as for `apply_plan`.
        stop: ends the run when it is set, after the request under way.

    Raises:
        ApplyError: nothing was changed: there is nothing to restore, the receipt is of another
            account, the service cannot list or add, or the journal cannot be written.
        SvcError: nothing was changed: the service could not list its records.
    """
    changes = restorations(receipt)
    account = config.account_of(client)
    path = receipt.path
    if receipt.dry_run or path is None:
        raise ApplyError("This is the receipt of a dry run: nothing was changed")
    if not changes:
        raise ApplyError("Nothing of this receipt is gone or changed: there is nothing to restore")
    if (receipt.service, receipt.account) != astuple(account):
        raise ApplyError(
            f"The receipt is of {the_service(receipt.service)}, account {receipt.account}; this is"
            f" {the_service(account.service)}, account {account.account}. Nothing was sent; use the"
            " client of that account"
        )
    ordered = receipt.kind == "edit"  # its parts need each other; several additions do not
    job = Job("restore", path.name, receipt.plan_id, account, changes, ordered)
    notes = tuple(not_restored(receipt, changes))
    return job.do(
        client, path.parent, dry_run=dry_run, on_progress=on_progress, stop=stop, notes=notes
    )


def _require_same_account(plan: Plan, account: Source) -> None:
    """Refuse a plan that was made for another service or account than the client's."""
    if not (plan.service or plan.account) or (plan.service, plan.account) == astuple(account):
        return
    if plan.service != account.service:
        raise ApplyError(
            f"The plan was made for {the_service(plan.service)}, and this is"
            f" {the_service(account.service)}. Nothing was sent;"
            " use the client of that service, or make a plan for this one"
        )
    raise ApplyError(
        f"The plan was made for account {plan.account}, and this is account {account.account}"
        " (another key, too, counts as another account). Nothing was sent; make a new plan for this"
        " one"
    )
