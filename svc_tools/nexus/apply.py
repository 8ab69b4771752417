"""Apply what was ticked in a plan: look, say, send each removal once, keep a receipt (SPEC 4.1)."""

from __future__ import annotations

from dataclasses import astuple, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.nexus.ability import able, listed
from svc_tools.nexus.apply_job import Job, dry_receipt
from svc_tools.nexus.apply_requests import (
    ApplyError,
    PlannedRequest,
    Wanted,
    addition,
    as_listed,
    beyond,
    fitted,
    misfit,
    planned,
    wanted_of,
)
from svc_tools.nexus.apply_run import Run, there_again
from svc_tools.nexus.apply_settle import settled
from svc_tools.nexus.receipt import Receipt, ReceiptItem
from svc_tools.nexus.receipt_files import restore_file_of
from svc_tools.places import STATES, state_code
from svc_tools.shown import the_service

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.ability import Abilities, Listed
    from svc_tools.nexus.apply_run import Progress
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt_fold import Track
    from svc_tools.nexus.register import Register

__all__ = [
    "ApplyError",
    "PlannedRequest",
    "apply_plan",
    "preview",
    "preview_state",
    "remove_state",
    "requests_of",
]


def preview(plan: Plan, *, listed: Register | None = None) -> tuple[PlannedRequest, ...]:
    """The requests that applying a plan would send, exactly, in order.

    Args:
        plan: the plan, ticked.
        listed: what the service lists; what is not there, or is another record there, is left out.

    Raises:
        PlanError: the ticks contradict each other.
    """
    return planned(wanted_of(plan), None if listed is None else as_listed(listed))


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

    Where the service lists, it looks first: a record that is not there, or differs from the plan,
    is left alone. A lost answer is settled by another look, else said to be unknown. The same
    plan again continues: what is done is not sent again, and only what is ticked now is sent.

    Args:
        plan: the plan, ticked.
        client: a client of the plan's own account.
        dry_run: only look; nothing is removed, nothing is written.
        folder: where the receipt goes; the folder of receipts by default.
        on_progress: called with each item when it is through, how many are, and of how many.
        stop: ends the run when it is set, after the request under way, as Ctrl+C does.

    Raises:
        PlanError: the ticks contradict each other.
        ApplyError: nothing was sent: the plan is of another account, nothing is ticked, the
            journal cannot be written or is damaged, or another process is applying.
        SvcError: nothing was sent: the service does not let itself be looked at.
    """
    wanted = wanted_of(plan)
    if not wanted:
        raise ApplyError("Nothing is ticked in the plan; mark rows with x, and apply it again")
    who = config.account_of(client)
    _same_account(plan, who)
    job = Job("apply", f"plan {plan.plan_id}", plan.plan_id, who, wanted)
    if dry_run:
        there = listed(client)
        can = able(client, there)
        _can_replace(job, can)
        return _dry(job, can, there, job.earlier(folder))
    with job.begun(client, folder, check=_can_replace) as (journal, there, can):
        file = restore_file_of(journal.path)
        return Run(client, journal, wanted, there, can, file, on_progress, stop).go()


def _after(one: Wanted, track: Track, there: Listed | None) -> ReceiptItem | None:
    """What a run would do after an earlier one, where that differs from what a first one does."""
    item = track.item
    if item.status == "removed_only" and one.action == "replace":
        record = fitted(one, track.before).record or {}
        line = f"Would send POST {addition(record).path}: the removal was done before."
        return replace(
            item, outcome="not_done", status="planned", message=line, record=record, action="add"
        )
    not_sent = item.status == "absent" and item.deleted == 0 and there is None
    unknown = item.status == "unknown" and (
        there is None or settled(track, there.of(*one.key), "an earlier run").status == "unknown"
    )
    if not (item.outcome == "done" or not_sent or unknown or item.status == "removed_only"):
        return None
    message = there_again(one, track, there)
    return replace(
        item,
        message=message or f"{item.message} Nothing would be sent.",
        flagged=item.flagged or bool(message),
    )


def requests_of(dry: Receipt) -> tuple[PlannedRequest, ...]:
    """The requests that a dry run of a removal found that it would send."""
    wanted = [
        Wanted(
            item.state,
            item.nexus_type,
            item.action,
            item.expected,
            tuple(map(dict, item.before)),
            dict(item.record) if item.record and item.action in {"replace", "add"} else None,
        )
        for item in dry.items
        if item.status == "planned"
    ]
    return planned(wanted, None)


def preview_state(state: str) -> tuple[PlannedRequest, ...]:
    """The request that removes every record of a state; `state` is its code."""
    return planned((Wanted(state, "", "remove_all", None),), None)


def remove_state(
    client: Svc,
    state: str,
    *,
    typed: str,
    dry_run: bool = True,
    folder: str | Path | None = None,
) -> Receipt:
    """Remove ALL records of a state, of every type: an act of its own, with its own confirmation.

    Args:
        client: the client.
        state: the state, as its code.
        typed: the code of the state again, as a person typed it.
        dry_run: only look; nothing is removed, nothing is written.
        folder: where the receipt goes; the folder of receipts by default.

    Raises:
        ApplyError: nothing was sent: `typed` is not the code, it is no state, the journal cannot
            be written, or another process is applying.
        SvcError: nothing was sent: the service does not let itself be looked at.
    """
    code = state_code(state)
    if not isinstance(code, str) or code not in STATES:
        raise ApplyError(f"{state!r} is no US state. Nothing was sent")
    if typed.strip() != code:
        raise ApplyError(
            f"To remove every record of {STATES[code]}, type its code, {code}; {typed!r} was typed."
            " Nothing was sent"
        )
    who = config.account_of(client)

    def wanted(there: Listed | None) -> tuple[Wanted, ...]:
        records = () if there is None else there.of(code, "")
        return (Wanted(code, "", "remove_all", None if there is None else len(records), records),)

    job = Job("remove_state", f"state {code}", "", who, wanted(None))
    if dry_run:
        there = listed(client)
        return _dry(job.of(wanted(there)), able(client, there), there)
    with job.begun(client, folder) as (journal, there, can):
        file = restore_file_of(journal.path)
        return Run(client, journal, wanted(there), there, can, file).go()


def _same_account(plan: Plan, who: Source) -> None:
    """Refuse a plan that was made for another service or account than the client's.

    Raises:
        ApplyError: it was.
    """
    if not (plan.service or plan.account) or (plan.service, plan.account) == astuple(who):
        return
    if plan.service != who.service:
        raise ApplyError(
            f"The plan was made for {the_service(plan.service)}, and this is"
            f" {the_service(who.service)}. Nothing was sent;"
            " use the client of that service, or make a plan for this one"
        )
    raise ApplyError(
        f"The plan was made for account {plan.account}, and this is account {who.account} (another"
        " key, too, counts as another account). Nothing was sent; make a new plan for this one"
    )


def _can_replace(job: Job, can: Abilities) -> None:
    if any(one.action == "replace" for one in job.wanted) and not can.adds:
        raise ApplyError(
            'The plan has rows marked "replace", and this service cannot add records: what is'
            " removed would not come back. Nothing was sent; untick these rows"
        )


def _dry(
    job: Job,
    can: Abilities,
    there: Listed | None,
    earlier: Mapping[tuple[str, str], Track] = MappingProxyType({}),
) -> Receipt:
    """What a run would do now, after an earlier run too; nothing is written."""
    items = []
    for one in job.wanted:
        track = earlier.get(one.key)
        if track is not None and (item := _after(one, track, there)):
            items.append(item)
            continue
        records = one.rows if there is None else there.of(*one.key)
        unfit = None if there is None else misfit(one, records)
        requests = planned([one], there)
        would = f"Would send {' and then '.join(request.line for request in requests)}"
        more = "" if there is None or not one.loose else beyond(one, records)
        told = f" The service says more of it than the plan: {more}." if more else ""
        status, message = unfit or ("planned", f"{would}.{told}")
        items.append(
            ReceiptItem(
                state=one.state,
                nexus_type=one.nexus_type,
                outcome="not_done",
                status=status,
                expected=one.expected if there is None else len(records),
                message=message,
                record=fitted(one, tuple(records)).record or next(iter(records), None),
                before=tuple(records),
                action=one.action,
            )
        )
    return dry_receipt(job, can, items)
