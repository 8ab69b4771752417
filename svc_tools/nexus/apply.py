"""Apply what was ticked in a plan: look, say, send each removal once, keep a receipt (SPEC 4.1)."""

# MERGED apply_job: A job over the journal that goes with it: found or begun, locked, and checked.

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools import config
from svc_tools.display import the_service
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
from svc_tools.nexus.receipt import (
    ENDING,
    STATUSES,
    Receipt,
    ReceiptItem,
    receipt_folder,
    receipt_of,
    restore_file_of,
    tracks_of,
)
from svc_tools.nexus.requests import (
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
from svc_tools.nexus.run import Run, now, settled, there_again
from svc_tools.nexus.service import able, listed
from svc_tools.nexus.words import NO_UNDO_NOTE
from svc_tools.places import STATES, state_code

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.journal import Event
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Track
    from svc_tools.nexus.register import Register
    from svc_tools.nexus.run import Progress
    from svc_tools.nexus.service import Abilities, Listed

_ADDING = frozenset({"replace", "add", "restore"})
"""The actions that add a record."""


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
    return job.done(client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop)


def requests_of(dry: Receipt) -> tuple[PlannedRequest, ...]:
    """The requests that a dry run found that it would send."""
    wanted = [
        Wanted(
            item.state,
            item.nexus_type,
            item.action,
            item.expected,
            tuple(map(dict, item.before)),
            dict(item.record) if item.record and item.action in _ADDING else None,
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
    wanted = (Wanted(code, "", "remove_all", None),)
    job = Job("remove_state", f"state {code}", "", config.account_of(client), wanted)
    return job.done(client, folder, dry_run=dry_run)


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

    def done(
        self,
        client: Svc,
        folder: str | Path | None,
        *,
        dry_run: bool,
        on_progress: Progress | None = None,
        stop: threading.Event | None = None,
        notes: tuple[str, ...] = (),
    ) -> Receipt:
        """Do it once the service was looked at; a dry run only looks.

        Args:
            client: a client of the account.
            folder: where the journal is; the folder of receipts by default.
            dry_run: send nothing, and write nothing.
            on_progress: see `Progress`.
            stop: ends the run when it is set, after the request under way.
            notes: what the receipt should say beside.

        Raises:
            ApplyError: nothing was sent: the service cannot do it, or the journal cannot be
                written, is damaged, or is in use.
            SvcError: nothing was sent: the service does not let itself be looked at.
        """
        where = receipt_folder() if folder is None else Path(folder).expanduser().absolute()
        if dry_run:
            return self._looked(client, where)
        account = _digest(self.who.service, self.who.account)
        try:
            private_folder(where)
            with locked(where / f".{account}.lock", what="changes records of this account"):
                wanted, there, can = self._seen(client)
                journal = self._journal(where)
                file = None if self.kind == "restore" else restore_file_of(journal.path)
                try:
                    run = Run(client, journal, wanted, there, can, file, on_progress, stop, notes)
                    return run.go()
                finally:
                    journal.close()
        except JournalError as error:
            raise ApplyError(_whole(error)) from error

    def _looked(self, client: Svc, where: Path) -> Receipt:
        """What a run would do now, after an earlier run too."""
        wanted, there, can = self._seen(client)
        earlier = self._earlier(where) if self.kind == "apply" else {}
        return Receipt(
            path=None,
            plan_id=self.plan_id,
            service=self.who.service,
            account=self.who.account,
            started=datetime.now(UTC),
            dry_run=True,
            finished=False,
            items=tuple(_foreseen(one, earlier.get(one.key), there) for one in wanted),
            kind=self.kind,
            can_restore=can.restores,
            restore_note=can.note,
        )

    def _seen(self, client: Svc) -> tuple[tuple[Wanted, ...], Listed | None, Abilities]:
        """What is wanted, what the service lists, and what it can do.

        Raises:
            ApplyError: it cannot do this.
        """
        there = listed(client)
        can = able(client, there)
        if self.kind == "restore" and not can.restores:
            note = can.note if can.note.startswith(NO_UNDO_NOTE) else f"{NO_UNDO_NOTE} {can.note}"
            raise ApplyError(
                f"{note} Nothing was sent; the records as they were are in the file beside the"
                " receipt"
            )
        if any(one.action == "replace" for one in self.wanted) and not can.adds:
            raise ApplyError(
                'The plan has rows marked "replace", and this service cannot add records: what is'
                " removed would not come back. Nothing was sent; untick these rows"
            )
        if self.kind != "remove_state" or there is None:
            return self.wanted, there, can
        rows = {one.key: there.of(*one.key) for one in self.wanted}
        wanted = (
            replace(one, expected=len(rows[one.key]), rows=rows[one.key]) for one in self.wanted
        )
        return tuple(wanted), there, can

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

    def _earlier(self, where: Path) -> dict[tuple[str, str], Track]:
        """What the journal that would be continued says.

        Raises:
            ApplyError: it is damaged, or cannot be read.
        """
        paths = self._paths(where)
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


def _foreseen(one: Wanted, track: Track | None, there: Listed | None) -> ReceiptItem:
    """What a run would do of one state and type."""
    if track is not None and (item := _after(one, track, there)):
        return item
    removing = one.action != "restore"
    records = one.rows if there is None else there.of(*one.key)
    unfit = None if there is None else misfit(one, records)
    requests = " and then ".join(request.line for request in planned([one], there))
    would = f"Would send {requests}." if removing else f"Would add {one.named} again."
    more = "" if there is None or not one.loose else beyond(one, records)
    told = f" The service says more of it than the plan: {more}." if more else ""
    status, message = unfit or ("planned", would + told)
    return ReceiptItem(
        state=one.state,
        nexus_type=one.nexus_type,
        outcome=STATUSES[status][0],
        status=status,
        expected=one.expected if there is None or not removing else len(records),
        message=message,
        record=fitted(one, records).record or next(iter(records), None),
        before=records if removing else one.rows,
        action=one.action,
    )


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
