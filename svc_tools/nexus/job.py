"""A job: its changes made one by one over its journal; apart from what users call, for its size.

Every step is in the journal before it is taken, and again once its response is in; each request is
sent once. What a lost response has done is settled by listing again: that shows what is there, not
who did it. A dry run takes the same way, over a journal in memory, and sends nothing but GET.
"""

from __future__ import annotations

import hashlib
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svc_sdk import SvcError, __version__
from svc_tools.nexus.journal import (
    FORMAT,
    JOURNAL_VERSION,
    Journal,
    JournalContent,
    JournalDamagedError,
    JournalError,
    journals,
    locked,
    new_journal,
    private_folder,
)
from svc_tools.nexus.receipt import (
    EDIT_KINDS,
    OPEN_STATUSES,
    RUN_STOPPED,
    UNSETTLED,
    Receipt,
    ReceiptItem,
    apply_event,
    as_shown,
    fold,
    journal_of,
    receipt_folder,
    receipt_of,
    restore_file_of,
    write_records,
)
from svc_tools.nexus.register import RegisterError, read_register
from svc_tools.nexus.requests import (
    ADDED,
    TWO_STEPS,
    ApplyError,
    Change,
    ItemVerdict,
    accepted_verdict,
    addition_verdict,
    as_listed,
    clears,
    doubted_verdict,
    exchange,
    extra_details,
    mismatch,
    removal_verdict,
    removed_only_verdict,
    requests_for,
    settled_verdict,
    unaddable,
    unlike_sent,
    with_listed_record,
)
from svc_tools.nexus.service import ListedRecords, abilities_given, list_records
from svc_tools.show.display import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.nexus.journal import Event
    from svc_tools.nexus.receipt import Key, PlannedRequest
    from svc_tools.nexus.register import Record
    from svc_tools.nexus.requests import RequestResult
    from svc_tools.nexus.service import Abilities

ItemProgress = Callable[[ReceiptItem, int, int], object]
"""Called with each item when it is done, how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done, for whom, and the journal that goes with it.

    Attributes:
        kind: apply, remove_state, add, edit or restore.
        key: identifies the job: a second one with this key continues the journal of the first.
        plan_id: the plan; "" for none.
        account: the service and the account.
        changes: the changes to make, in order.
        ordered: whether each needs the ones before it: the first that is not done ends the run.
        refusal: why nothing is to be done, unless an earlier run is continued; "" for nothing.
    """

    kind: str
    key: str
    plan_id: str
    account: Source
    changes: tuple[Change, ...]
    ordered: bool = False
    refusal: str = ""

    def do(
        self,
        client: Svc,
        folder: str | Path | None,
        *,
        dry_run: bool,
        on_progress: ItemProgress | None = None,
        stop: threading.Event | None = None,
        notes: tuple[str, ...] = (),
    ) -> Receipt:
        """List the service's records, then make the changes; a dry run only lists."""
        where = receipt_folder() if folder is None else Path(folder).expanduser().absolute()
        try:
            if dry_run:
                checked = self._checked(client)
                path, earlier = self._earlier(where)
                self._require_work(earlier)
                run = JobRun(
                    client, self, None, earlier, *checked, self._records(path), notes=notes
                )
                return run.dry()
            private_folder(where)
            lock = where / f".{_digest(self.account.service, self.account.account)}.lock"
            with locked(lock, what="changes records of this account"):
                checked = self._checked(client)
                path, earlier = self._earlier(where)
                self._require_work(earlier)
                journal = Journal(path or new_journal(where, self._named))
                try:
                    if not journal.events:
                        journal.add(self._head())
                    earlier = JournalContent(tuple(journal.events), journal.torn)
                    found = (earlier, *checked, self._records(journal.path))
                    run = JobRun(client, self, journal, *found, on_progress, stop, notes)
                    return run.go()
                finally:
                    journal.close()
        except JournalError as error:
            raise ApplyError(f"{error}. Nothing was changed") from error

    def _require_work(self, earlier: JournalContent) -> None:
        """Refuse what there is no reason to do, unless an earlier run is continued."""
        if self.refusal and not earlier.events:
            raise ApplyError(f"{self.refusal}. Nothing was changed")

    def _checked(self, client: Svc) -> tuple[tuple[Change, ...], ListedRecords | None, Abilities]:
        """The changes, what the service lists, and what it can do.

        Raises:
            ApplyError: it cannot make these changes.
        """
        listed = list_records(client)
        can = abilities_given(client, listed)
        if self.kind == "restore" and can.restores is False:
            raise ApplyError(
                f"{can.note} Nothing was changed; the records as they were are in the file next to"
                " the receipt"
            )
        if self.kind in EDIT_KINDS and can.adds is False:
            raise ApplyError(
                "This service does not add or change nexus records; it says so in its OpenAPI"
                " document. Nothing was changed"
            )
        # what an undo clears, this service has saved: it can add
        if self.kind != "restore" and any(map(clears, self.changes)) and not can.adds:
            raise ApplyError(
                "To clear a field a record is removed and added again, and this service does not"
                " say that it can add. Nothing was changed; leave the field as it is"
            )
        if any(change.action == "replace" for change in self.changes) and not can.adds:
            lacks = "cannot add records" if can.adds is False else "does not say that it can add"
            raise ApplyError(
                f'The plan has rows marked "replace", and this service {lacks}: what is removed'
                " might not come back. Nothing was changed; untick these rows"
            )
        if self.kind != "remove_state" or listed is None:
            return self.changes, listed, can
        rows = {change.key: listed.of(*change.key) for change in self.changes}
        changes = (
            replace(change, expected=len(rows[change.key]), rows=rows[change.key])
            for change in self.changes
        )
        return tuple(changes), listed, can

    def _earlier(self, where: Path) -> tuple[Path | None, JournalContent]:
        """The journal to continue, and its lines: the newest that is of this job and not over.

        Raises:
            JournalError: it is damaged, cannot be read, or is another job's.
        """
        found = journals(where, self._named)
        for path in found:
            try:
                read = journal_of(path)
            except JournalDamagedError:
                if path == found[0]:
                    raise
                continue  # an old one; a newer one is intact
            except OSError as error:
                raise JournalError(f"{path} cannot be read: {error.strerror or error}") from error
            over = bool(read.events) and bool(read.events[-1].get("finished"))
            if not over or self.kind == "apply":
                self._check(path, read.events)
                return path, read
        return None, JournalContent()

    def _records(self, journal: Path | None) -> Path | None:
        """The file of the records as they are before; an addition and a restore have none."""
        if journal is None or self.kind in {"restore", "add"}:
            return None
        return restore_file_of(journal)

    @property
    def _named(self) -> str:
        digest = _digest(self.kind, self.key, self.account.service, self.account.account)
        return f"{self.kind}-{digest}"

    def _check(self, path: Path, events: Sequence[Event]) -> None:
        """Require that a journal is of this job, and can be read by this release."""
        if not events:
            return
        belongs_to = [events[0].get(name) for name in ("kind", "key", "service", "account")]
        if belongs_to != [self.kind, self.key, self.account.service, self.account.account]:
            raise JournalError(
                f"{path.name} is the journal of something else ({belongs_to[1]}, for account"
                f" {belongs_to[3]}): it was renamed or copied. Move it to another folder"
            )
        try:
            receipt_of(path, events)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise JournalError(
                f"{path.name} has a line that this release does not understand ({error!r}): use"
                " the release that wrote it, or a newer one"
            ) from error

    def _head(self) -> Event:
        return {
            "event": "journal",
            "format": FORMAT,
            "version": JOURNAL_VERSION,
            "made_by": f"svc-tools {__version__}",
            "at": _now(),
            "kind": self.kind,
            "key": self.key,
            "plan_id": self.plan_id,
            "service": self.account.service,
            "account": self.account.account,
        }


def _now() -> str:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _digest(*parts: str) -> str:
    text = "\n".join(parts).encode()
    return hashlib.blake2b(text, digest_size=6, person=b"svc journal").hexdigest()


_MOST_LOST = 3
"""Lost responses in a row after which the run ends: the service is in trouble."""
_UNKNOWN = (
    "The service does not list records, so whether the unknown removals were done can only be"
    " checked there. This plan does not send them again; for what is still there, make a new plan."
)
_UNKNOWN_STATE = (
    "The service does not list records, so whether those of the state were removed can only be"
    " checked there. This request is not sent again. What is still there can be removed by its"
    " type: make a plan from your own register, and tick it."
)
_UNTICKED = (
    "No longer ticked, and done by an earlier run: {}. Unticking does not bring a record back; the"
    " undo of the receipt does."
)
_MISSED = (
    "{} is gone: it was there when an earlier run began, and the journal of that run breaks off."
    " Whether that run removed it is not known."
)
_NOT_COMPARED = "The service did not list its records at the end: what is there was not compared."
_NOT_ON_DISK = "The last step is in this receipt, and not in the journal on disk."
_TORN = "The last line of the journal was incomplete, from a program that ended, and was left out."


@dataclass(slots=True)
class JobRun:
    """The changes of a job, made one by one over its journal. The caller holds its lock.

    Attributes:
        client: the client; each request is sent once, whatever its number of retries.
        job: what is to be done, for whom.
        journal: every step is recorded in it before it is taken; `None` for a dry run.
        earlier: what the journal that is continued had.
        changes: the changes to make, in order.
        listed: what the service lists before the first request; `None` where it does not list.
        can: what the service can do.
        file: where the records are written before the first removal; `None` for none.
        on_progress: see `ItemProgress`.
        stop: ends the run when it is set, after the request under way.
        notes: further sentences for the receipt.
        _doubtful: where a response was lost: the request may have been carried out, or may be yet.
        _stored: the records as they were before earlier runs.
        _complete: of what the journal certainly has every request.
    """

    client: Svc
    job: Job
    journal: Journal | None
    earlier: JournalContent
    changes: Sequence[Change]
    listed: ListedRecords | None
    can: Abilities
    file: Path | None = None
    on_progress: ItemProgress | None = None
    stop: threading.Event | None = None
    notes: tuple[str, ...] = ()
    _items: dict[Key, ReceiptItem] = field(default_factory=dict)
    _requests: list[PlannedRequest] = field(default_factory=list)
    _sent: set[Key] = field(default_factory=set)
    _doubtful: set[Key] = field(default_factory=set)
    _stored: ListedRecords = field(default_factory=lambda: ListedRecords({}))
    _complete: set[Key] = field(default_factory=set)
    _why: str = ""
    _lost: int = 0

    def dry(self) -> Receipt:
        """What the run would do now, after an earlier one."""
        self._begin()
        self._make_all(threading.Event())
        return Receipt(
            path=None,
            plan_id=self.job.plan_id,
            service=self.job.account.service,
            account=self.job.account.account,
            started=datetime.now(UTC),
            dry_run=True,
            finished=False,
            items=tuple(as_shown(self._items[change.key]) for change in self.changes),
            kind=self.job.kind,
            can_restore=self.can.restores,
            restore_note=self.can.note,
            notes=(*self.notes, *self._way_out()),
            requests=tuple(self._requests),
        )

    def go(self) -> Receipt:
        """Make the changes, as far as possible; the receipt has what was done and what was not.

        Raises:
            JournalError: the journal, or the file to restore from, cannot be written; nothing was
                sent.
        """
        assert self.journal is not None  # noqa: S101 - only a dry run has none
        self._begin()
        if self.file is not None:
            write_records(self.file, self._records())
        stop = self.stop or threading.Event()
        with _interrupts(stop):
            try:
                self._make_all(stop)
                self._compare_lists()
                self._record(self._end())
            except JournalError as error:
                self._why = str(error)
                self.journal.events.append(self._end() | {"notes": [_NOT_ON_DISK]})
        return receipt_of(self.journal.path, self.journal.events, restore_file=self.file)

    def _begin(self) -> None:
        """Read the steps of earlier runs from the journal, and add that this one starts."""
        earlier, torn = self.earlier.events, self.earlier.torn
        self._items = fold(earlier)
        self._stored = self._records_of_earlier_runs()
        ended = bool(earlier) and earlier[-1]["event"] == "end" and not torn
        self._complete = {*self._items} if ended else set()
        for event in earlier:
            if event.get("status") in UNSETTLED:
                self._doubtful.add((event["item"][0], event["item"][1]))
            self._doubtful.update((state, kind) for state, kind in event.get("still", ()))
        self.notes += (*self._no_longer_ticked(), *self._not_addable())
        names = ("state", "nexus_type", "action", "expected")
        self._record(
            {
                "event": "run",
                "at": _now(),
                "undo": asdict(self.can),
                "items": [
                    {name: getattr(change, name) for name in names} for change in self.changes
                ],
                "torn": torn,
                "notes": [*self.notes, *([_TORN] if torn else [])],
            }
        )

    def _no_longer_ticked(self) -> tuple[str, ...]:
        """A sentence on what an earlier run did, and is not ticked any more."""
        ticked = {change.key for change in self.changes}
        done = [item for item in self._items.values() if item.action and item.outcome == "done"]
        names = ", ".join(item.named for item in done if item.key not in ticked)
        return (_UNTICKED.format(names),) if names and self.job.kind == "apply" else ()

    def _not_addable(self) -> Iterator[str]:
        """A sentence for each record that a restore could not add, before it is removed."""
        if self.can.restores is False or self.job.kind == "restore":
            return
        for change in self.changes:
            for record in () if change.action == "replace" else self._before(change):
                if problem := unaddable(record):
                    of = f"{record['state']} {record['nexus_type']}"
                    yield f"{of} could not be added again as it is: {problem}."

    def _records_of_earlier_runs(self) -> ListedRecords:
        """The records as they were before earlier runs of this journal.

        Their file was written before the first request. So a record that it has and the service has
        not may have been removed, where the journal was cut off before the request for it.
        """
        if not self.earlier.events or self.file is None or not self.file.exists():
            return ListedRecords({})
        try:
            return as_listed(read_register(self.file))
        except (RegisterError, OSError):
            return ListedRecords({})  # the user has changed the file

    def _records(self, lost: Sequence[Record] = ()) -> list[Record]:
        """Every record that a removal of this journal took, or may take."""
        records = [dict(record) for item in self._items.values() for record in item.before]
        for change in self.changes:
            before: tuple[Record, ...] = tuple(map(dict, self._items[change.key].before))
            if not before:
                before = self._before(change)
                records += before
            record = with_listed_record(change, before).record
            if record is not None and change.action == "replace":
                records.append(record)
        return [*records, *lost]

    def _make_all(self, stop: threading.Event) -> None:
        """Settle what an earlier run left open, and make the changes in order until `stop` is set.

        Sends requests, writes each to the journal, and reports progress.
        """
        for item in list(self._items.values()):
            if self.listed is not None and item.status in UNSETTLED:
                self._settle(item.key, self.listed, of="the response to an earlier run")
        for number, change in enumerate(self.changes, 1):
            if stop.is_set():
                self._why = self._why or RUN_STOPPED
            if self._why:
                break
            if self._is_open(change, self._items[change.key]):
                self._make(change, self._items[change.key])
            item = self._items[change.key]
            self._report(as_shown(item), number)
            done = item.outcome == "done" or item.status == "planned"
            if self.job.ordered and not done and number < len(self.changes):
                self._why = self._why or f"{item.named} was not done, and the rest needs it"

    def _report(self, item: ReceiptItem, number: int) -> None:
        """Report progress; where that fails, nothing further is sent."""
        if self.on_progress is None:
            return
        try:
            self.on_progress(item, number, len(self.changes))
        except Exception as error:  # noqa: BLE001 - the receipt matters more than the display
            name = type(error).__name__
            reason = f"{name}: {error}" if str(error) else name
            self._why = self._why or f"the progress could not be shown ({reason})"

    def _is_open(self, change: Change, item: ReceiptItem) -> bool:
        """Whether something is to be sent: what is done, or not known, is never sent again."""
        if item.status == "lost":
            return self.listed is not None and bool(self.listed.of(*change.key))
        if item.status == "removed_only" and change.action == "remove":
            self._conclude(
                change.key, "settled", ItemVerdict("removed", f"{change.named} was removed.")
            )
            return False
        if item.outcome == "done":
            if message := _reappeared(change, item, self.listed) or _changed_tick(change, item):
                self._conclude(
                    change.key, "settled", ItemVerdict(item.status, message, flagged=True)
                )
            return False
        if item.status == "absent" and item.deleted == 0 and self.listed is None:
            return False
        return item.status != "unknown"

    def _make(self, change: Change, item: ReceiptItem) -> None:
        """Make one change, from comparing what is there to the last response.

        Raises:
            JournalError: the journal cannot be written; nothing was sent that is not in it.
        """
        half = item.status == "removed_only"
        if change.record is None and change.action in ADDED:  # as an earlier run had it
            change = replace(
                change, record=dict(item.record or {}) or None, rows=tuple(map(dict, item.before))
            )
        removes = change.action not in ADDED or change.action == "replace"
        records = () if self.listed is None else self.listed.of(*change.key)
        if self.listed is not None and not half and (unfit := mismatch(change, records)):
            lacks = removes and not records and change.key not in self._complete
            missed = self._stored.of(*change.key) if lacks else ()
            if missed:
                facts = {"record": missed[0], "before": [*missed]}
                gone = ItemVerdict("gone", _MISSED.format(change.named), flagged=True)
                self._conclude(change.key, "skipped", gone, **facts)
                return
            if unfit[0] == "added" and not item.step:  # no run of this journal sent it
                unfit = (
                    "changed",
                    f"{change.named} is registered already, as given: nothing was sent.",
                )
            flagged = change.action in {"restore", "revert"} and unfit[0] != "restored"
            verdict = ItemVerdict(*unfit, flagged=flagged)
            self._conclude(change.key, "skipped", self._doubted(change.key, verdict))
            return
        before = tuple(map(dict, item.before)) if half else self._before(change)
        more = extra_details(change, records) if change.loose else ""
        change = with_listed_record(change, before)
        expected = change.expected if self.listed is None else len(before)
        if not removes and not clears(change):
            expected = None
        half = half or (change.action == "revert" and not records)
        requests = requests_for(change, expected, half=half)
        if self.journal is None:
            self._plan(change, requests, expected, before, more=more)
            return
        for request in requests:
            self._send(change, request, expected, before or change.rows)
            if self._items[change.key].status != "removed_only":
                break

    def _plan(
        self,
        change: Change,
        requests: Sequence[PlannedRequest],
        expected: int | None,
        before: tuple[Record, ...],
        *,
        more: str,
    ) -> None:
        """Note the requests of a dry run."""
        self._requests += requests
        message = f"Would send {' and then '.join(request.line for request in requests)}."
        if more:
            message += f" The service has more of it than the plan: {more}."
        self._items[change.key] = replace(
            self._items[change.key],
            status="planned",
            message=message,
            expected=expected,
            record=change.record or next(iter(before), None),
            before=before,
        )

    def _send(
        self,
        change: Change,
        request: PlannedRequest,
        expected: int | None,
        before: tuple[Record, ...],
    ) -> None:
        """Send a request, once it is in the journal, and record what its response means."""
        step = "remove" if request.method == "DELETE" else "add"
        was_half = self._items[change.key].status == "removed_only"
        self._record(
            {
                "event": "sending",
                "at": _now(),
                "item": [*change.key],
                "action": change.action,
                "step": step,
                "method": request.method,
                "path": request.path,
                "params": request.params,
                "json": request.body,
                "expected": expected,
                "record": change.record or next(iter(before), None),
                "before": list(before),
            }
        )
        self._sent.add(change.key)
        result = exchange(self.client, request)
        item = self._items[change.key]
        if step == "remove":
            verdict = removal_verdict(change, expected, result)
            half = change.action in TWO_STEPS and verdict.status == "removed"
        else:
            verdict = addition_verdict(change, result, done=ADDED[change.action])
            half = was_half and verdict.status == "refused"
        self._weigh(
            change.key, step, result, removed_only_verdict(item, verdict) if half else verdict
        )

    def _weigh(self, key: Key, step: str, result: RequestResult, verdict: ItemVerdict) -> None:
        """Record a verdict, and settle a lost response by listing again."""
        message, stop = printable(verdict.message), printable(verdict.stop)
        verdict = replace(verdict, message=message, stop=stop)
        facts = {"http": result.http, "body": result.body, "reference": result.reference}
        accepted = verdict.accepted
        if step == "remove":
            verdict = self._doubted(key, self._looked(key, verdict, result.http))
            facts["accepted"] = accepted
        self._conclude(key, "answer", verdict, step=step, **facts)
        self._why = self._why or verdict.stop
        if verdict.status != "unknown":
            self._lost = 0
            return
        self._lost += not accepted
        self._doubtful.add(key)
        listed = self._listed()
        if listed is not None:
            self._settle(key, listed, of="the response")
        if self._items[key].status == "unknown":
            self._why = self._why or f"the result for {self._items[key].named} was not known"
        if self._lost >= _MOST_LOST:
            self._why = self._why or f"{_MOST_LOST} responses in a row were lost"

    def _looked(self, key: Key, verdict: ItemVerdict, http: int | None) -> ItemVerdict:
        """The verdict; after listing again where the service accepted a removal without a result.

        What is still listed was not removed, or not all of it, or not yet.
        """
        if not verdict.accepted:
            return verdict
        listed = self._listed()
        records = None if listed is None else listed.of(*key)
        if records:
            self._doubtful.add(key)
        return accepted_verdict(self._items[key], verdict, http, records)

    def _doubted(self, key: Key, verdict: ItemVerdict) -> ItemVerdict:
        """The verdict, given that an earlier removal may have been carried out, or may be yet."""
        return doubted_verdict(self._items[key], verdict) if key in self._doubtful else verdict

    def _settle(self, key: Key, listed: ListedRecords, *, of: str) -> None:
        """Record what the list shows of a request whose result is unknown; `of` was lost."""
        verdict = settled_verdict(self._items[key], listed.of(*key), of)
        self._doubtful.add(key)
        if verdict.status != self._items[key].status or verdict.status == "unknown":
            self._conclude(key, "settled", verdict)

    def _conclude(self, key: Key, event: str, verdict: ItemVerdict, **facts: object) -> None:
        """Record the verdict on one item; this process knows it even where the disk does not.

        Raises:
            JournalError: it could not be written.
        """
        line: Event = {
            "event": event,
            "at": _now(),
            "item": [*key],
            "status": verdict.status,
            "message": verdict.message,
            "deleted": verdict.deleted,
            "flagged": verdict.flagged,
            **facts,
        }
        try:
            self._record(line)
        except JournalError:
            if self.journal is not None:
                self.journal.events.append(line)
            apply_event(self._items, line)
            raise

    def _record(self, event: Event) -> None:
        """Add a line to the journal, if there is one, and fold it into the items."""
        if self.journal is not None:
            self.journal.add(event)
        apply_event(self._items, event)

    def _before(self, change: Change) -> tuple[Record, ...]:
        """The records that a removal takes: as the service lists them, else as the plan has."""
        records = () if self.listed is None else self.listed.of(*change.key)
        return records or change.rows

    def _listed(self) -> ListedRecords | None:
        """The records that are listed now; `None` where that cannot be known."""
        if self.listed is None:
            return None
        try:
            return list_records(self.client)
        except SvcError:
            return None

    def _compare_lists(self) -> None:
        """List again at the end: what was removed must be gone, and nothing else.

        A service may carry out a request long after its response was lost: that is seen here too.
        """
        quiet = self.job.kind == "restore" and not self._doubtful
        if not self._sent or self.listed is None or quiet:
            return
        after = self._listed()
        if after is None:
            self._record({"event": "looked", "at": _now(), "notes": [_NOT_COMPARED]})
            return
        for key in sorted(self._sent if self.job.kind in EDIT_KINDS else ()):
            item = self._items[key]
            saved = item.step == "add" and item.outcome == "done"
            listed = after.of(*key)
            if saved and (wrong := unlike_sent(item, listed)):
                # a service may fill in more than was sent: an undo compares with what it has
                facts = {"record": listed[0]} if len(listed) == 1 else {}
                verdict = ItemVerdict(item.status, wrong, flagged=True)
                self._conclude(key, "settled", verdict, **facts)
        for key in sorted(self._doubtful):
            item = self._items[key]
            is_done = bool(after.of(*key)) is (item.step == "add")
            if item.status in UNSETTLED or (is_done and item.outcome != "done"):
                self._settle(key, after, of="the response")
        if self.file is None:
            return
        sent = {key for key, item in self._items.items() if item.step}
        whole = {state for state, kind in sent if not kind}
        lost = [
            record
            for key, records in self.listed.records.items()
            for record in records
            if key not in sent and key[0] not in whole and not after.of(*key)
        ]
        gone = {key for key in self._sent if self._items[key].status in {"removed", "gone"}}
        still = sorted(key for key in gone if after.of(*key))
        if lost:
            write_records(self.file, self._records(lost))
        self._record({"event": "seen", "at": _now(), "still": still, "lost": lost})

    def _end(self) -> Event:
        statuses = {self._items[change.key].status for change in self.changes}
        return {
            "event": "end",
            "at": _now(),
            "finished": not (self._why or statuses & OPEN_STATUSES),
            "why": self._why,
            "notes": self._way_out(),
        }

    def _way_out(self) -> list[str]:
        """What to do about what cannot be settled, as the service does not list."""
        statuses = {self._items[change.key].status for change in self.changes}
        if self.listed is not None or "unknown" not in statuses:
            return []
        return [_UNKNOWN_STATE if self.job.kind == "remove_state" else _UNKNOWN]


def _reappeared(change: Change, item: ReceiptItem, listed: ListedRecords | None) -> str:
    """The sentence for a record that came back after it was removed; "" where none did."""
    if item.status not in {"removed", "gone"} or listed is None or not listed.of(*change.key):
        return ""
    new = "make a new plan" if change.nexus_type else "run it once more"
    return (
        f"{change.named} was removed in an earlier run, and a record is there again. It was left"
        f" alone; to remove it too, {new}."
    )


def _changed_tick(change: Change, item: ReceiptItem) -> str:
    """The sentence for a tick that was changed after it was done; "" where it was not."""
    if item.action == change.action:
        return ""
    return (
        f"The tick at {change.named} was changed to {change.action} after an earlier run had done"
        f" {item.action}: nothing more is sent for it. The undo of the receipt brings back what was"
        " removed; to remove what is there, make a new plan."
    )


@contextmanager
def _interrupts(stop: threading.Event) -> Iterator[None]:
    """A first Ctrl+C ends the run after the request under way; a second one ends it at once."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield  # only the main thread receives Ctrl+C
        return

    def on_signal(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
