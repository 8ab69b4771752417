"""Apply a ticked plan, or remove all records of a state; each request is sent once (SPEC 4.1)."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.display import the_service
from svc_tools.nexus.requests import (
    ApplyError,
    Change,
    PlannedRequest,
    as_listed,
    changes_of,
    planned,
)
from svc_tools.nexus.run import Job
from svc_tools.places import STATES, state_code

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Receipt
    from svc_tools.nexus.register import Register
    from svc_tools.nexus.run import Progress


def preview(plan: Plan, *, listed: Register | None = None) -> tuple[PlannedRequest, ...]:
    """The requests that applying a plan would send, exactly, in order.

    Args:
        plan: the plan, ticked.
        listed: what the service lists; what is not there, or is another record there, is left out.

    Raises:
        PlanError: the ticks contradict each other.
    """
    return planned(changes_of(plan), None if listed is None else as_listed(listed))


def apply_plan(
    plan: Plan,
    client: Svc,
    *,
    dry_run: bool = True,
    folder: str | Path | None = None,
    on_progress: Progress | None = None,
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
        ApplyError: nothing was sent: the plan is of another account, nothing is ticked, the
            journal cannot be written or is damaged, or another process is applying.
        SvcError: nothing was sent: the service could not be asked for its records.
    """
    changes = changes_of(plan)
    if not changes:
        raise ApplyError("Nothing is ticked in the plan; mark rows with x, and apply it again")
    account = config.account_of(client)
    _require_same_account(plan, account)
    job = Job("apply", f"plan {plan.plan_id}", plan.plan_id, account, changes)
    return job.do(client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop)


def requests_of(dry: Receipt) -> tuple[PlannedRequest, ...]:
    """The requests that a dry run would have sent."""
    changes = [
        Change(
            item.state,
            item.nexus_type,
            item.action,
            item.expected,
            tuple(map(dict, item.before)),
            dict(item.record)
            if item.record and item.action in {"replace", "add", "restore"}
            else None,
        )
        for item in dry.items
        if item.status == "planned"
    ]
    return planned(changes, None)


def preview_state(state: str) -> tuple[PlannedRequest, ...]:
    """The request that removes every record of a state; `state` is its code."""
    return planned((Change(state, "", "remove_all", None),), None)


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
        ApplyError: nothing was sent: `typed` is not the code, there is no such state, the journal
            cannot be written, or another process is applying.
        SvcError: nothing was sent: the service could not be asked for its records.
    """
    code = state_code(state)
    if not isinstance(code, str) or code not in STATES:
        raise ApplyError(f"{state!r} is no US state. Nothing was sent")
    if typed.strip() != code:
        raise ApplyError(
            f"To remove every record of {STATES[code]}, type its code, {code}; {typed!r} was typed."
            " Nothing was sent"
        )
    changes = (Change(code, "", "remove_all", None),)
    job = Job("remove_state", f"state {code}", "", config.account_of(client), changes)
    return job.do(client, folder, dry_run=dry_run)


def _require_same_account(plan: Plan, account: Source) -> None:
    """Refuse a plan that was made for another service or account than the client's.

    Raises:
        ApplyError: it was.
    """
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
