"""Run removals or a restore over their journal: look, record each step, take it once, look again.

A `Job` finds or starts the journal that goes with it, locks it and checks it; a `Run` does the
work. Every step is in the journal before it is taken, and again once its response is in. What a
response that was lost has done is settled by listing again: that says what is there, not who did
it.
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
from svc_tools.display import counted, printable
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
from svc_tools.nexus.notices import NO_UNDO_NOTE
from svc_tools.nexus.receipt import (
    ENDING,
    OPEN,
    STATUSES,
    Receipt,
    ReceiptItem,
    apply_event,
    receipt_folder,
    receipt_of,
    restore_file_of,
    tracks_of,
    write_records,
)
from svc_tools.nexus.register import FIELDS
from svc_tools.nexus.requests import (
    ApplyError,
    Verdict,
    addition,
    addition_verdict,
    exchange,
    extra_details,
    mismatch,
    planned,
    removal,
    removal_verdict,
    with_listed_record,
)
from svc_tools.nexus.service import abilities_given, compared, list_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc_sdk import Svc
    from svc_sdk._requests import Call
    from svc_tools.config import Source
    from svc_tools.nexus.journal import Event
    from svc_tools.nexus.receipt import Record, Track
    from svc_tools.nexus.requests import Change, RequestResult
    from svc_tools.nexus.service import Abilities, ListedRecords

Progress = Callable[[ReceiptItem, int, int], object]
"""Called with each item when it is done, how many are done, and of how many."""


def now() -> str:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done, for whom, and the journal that goes with it.

    Attributes:
        kind: apply, remove_state or restore.
        key: identifies the job: a second one with this key continues the journal of the first.
        plan_id: the plan; "" for none.
        account: the service and the account.
        changes: the changes to make, in order.
    """

    kind: str
    key: str
    plan_id: str
    account: Source
    changes: tuple[Change, ...]

    def do(
        self,
        client: Svc,
        folder: str | Path | None,
        *,
        dry_run: bool,
        on_progress: Progress | None = None,
        stop: threading.Event | None = None,
        notes: tuple[str, ...] = (),
    ) -> Receipt:
        """List the service's records, then make the changes; a dry run only lists.

        Args:
            client: a client of the account.
            folder: where the journal is; the folder of receipts by default.
            dry_run: send nothing, and write nothing.
            on_progress: see `Progress`.
            stop: ends the run when it is set, after the request under way.
            notes: further sentences for the receipt.

        Raises:
            ApplyError: nothing was sent: the service cannot do it, or the journal cannot be
                written, is damaged, or is in use.
            SvcError: nothing was sent: the service could not be asked for its records.
        """
        where = receipt_folder() if folder is None else Path(folder).expanduser().absolute()
        if dry_run:
            return self._dry_run(client, where)
        account = _digest(self.account.service, self.account.account)
        try:
            private_folder(where)
            with locked(where / f".{account}.lock", what="changes records of this account"):
                changes, there, can = self._checked(client)
                journal = self._journal(where)
                file = None if self.kind == "restore" else restore_file_of(journal.path)
                try:
                    run = Run(client, journal, changes, there, can, file, on_progress, stop, notes)
                    return run.go()
                finally:
                    journal.close()
        except JournalError as error:
            raise ApplyError(_nothing_sent(error)) from error

    def _dry_run(self, client: Svc, where: Path) -> Receipt:
        """What a run would do now, with regard to an earlier run."""
        changes, there, can = self._checked(client)
        earlier = self._earlier(where) if self.kind == "apply" else {}
        return Receipt(
            path=None,
            plan_id=self.plan_id,
            service=self.account.service,
            account=self.account.account,
            started=datetime.now(UTC),
            dry_run=True,
            finished=False,
            items=tuple(_dry_item(one, earlier.get(one.key), there) for one in changes),
            kind=self.kind,
            can_restore=can.restores,
            restore_note=can.note,
        )

    def _checked(self, client: Svc) -> tuple[tuple[Change, ...], ListedRecords | None, Abilities]:
        """The changes, what the service lists, and what it can do.

        Raises:
            ApplyError: it cannot make these changes.
        """
        there = list_records(client)
        can = abilities_given(client, there)
        if self.kind == "restore" and not can.restores:
            note = can.note if can.note.startswith(NO_UNDO_NOTE) else f"{NO_UNDO_NOTE} {can.note}"
            raise ApplyError(
                f"{note} Nothing was sent; the records as they were are in the file next to"
                " the receipt"
            )
        if any(one.action == "replace" for one in self.changes) and not can.adds:
            raise ApplyError(
                'The plan has rows marked "replace", and this service cannot add records: what is'
                " removed would not come back. Nothing was sent; untick these rows"
            )
        if self.kind != "remove_state" or there is None:
            return self.changes, there, can
        rows = {one.key: there.of(*one.key) for one in self.changes}
        changes = (
            replace(one, expected=len(rows[one.key]), rows=rows[one.key]) for one in self.changes
        )
        return tuple(changes), there, can

    def _journal(self, where: Path) -> Journal:
        """The journal to continue, else a new one, with its first line on disk."""
        paths = self._paths(where)
        for path in paths:
            try:
                journal = Journal(path)
            except JournalDamagedError:
                if path == paths[0]:
                    raise
                continue  # an old one; a newer one is intact
            try:
                last = journal.events[-1] if journal.events else {}
                ended = last.get("event") == "end" and bool(last.get("finished"))
                over = ended and self.kind != "apply"
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
        try:
            if not journal.events:
                journal.add(self._head())
        except BaseException:
            journal.close()
            raise
        return journal

    def _earlier(self, where: Path) -> dict[tuple[str, str], Track]:
        """The tracks of the journal that would be continued.

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
            raise ApplyError(_nothing_sent(error)) from error
        return tracks_of(events)

    @property
    def _named(self) -> str:
        digest = _digest(self.kind, self.key, self.account.service, self.account.account)
        return f"{self.kind}-{digest}"

    def _paths(self, where: Path) -> list[Path]:
        """The journals of this job, the newest by its name first."""
        # only names as `_free` makes them: a copy is not the journal, and what it lacks was sent
        found = where.glob(f"{_STAMP}*-{self._named}{ENDING}")
        return sorted(found, reverse=True)

    def _check(self, path: Path, events: Sequence[Event]) -> None:
        """Require that a journal is of this job, and can be read by this release.

        Raises:
            JournalError: it is another job's, or has content that this release does not know.
        """
        head = events[0]
        belongs_to = [head.get(name) for name in ("kind", "key", "service", "account")]
        if belongs_to != [self.kind, self.key, self.account.service, self.account.account]:
            raise JournalError(
                f"{path.name} is the journal of something else ({belongs_to[1]}, for account"
                f" {belongs_to[3]}): it was renamed or copied. Move it to another folder"
            )
        try:
            receipt_of(path, events)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise JournalError(
                f"{path.name} says what this release does not understand ({error!r}): use"
                " the release that wrote it, or a newer one"
            ) from error

    def _head(self) -> Event:
        return {
            "event": "journal",
            "format": FORMAT,
            "version": VERSION,
            "made_by": f"svc-tools {__version__}",
            "at": now(),
            "kind": self.kind,
            "key": self.key,
            "plan_id": self.plan_id,
            "service": self.account.service,
            "account": self.account.account,
        }


def _nothing_sent(error: Exception) -> str:
    """The message of an error, saying once that nothing was sent."""
    text = str(error)
    return text if "Nothing was sent" in text else f"{text}. Nothing was sent"


def _free(where: Path, named: str) -> Path:
    """A file name that is not in use; the caller holds the lock."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for more in ("", *"abcdefghijklmnopqrstuvwxyz"):
        path = where / f"{stamp}{more}-{named}{ENDING}"
        if not path.exists():
            return path
    raise JournalError(f"There are too many journals of this second in {where}")


def _digest(*parts: str) -> str:
    text = "\n".join(parts).encode()
    return hashlib.blake2b(text, digest_size=6, person=b"svc journal").hexdigest()


def _dry_item(one: Change, track: Track | None, there: ListedRecords | None) -> ReceiptItem:
    """What a run would do for one state and type."""
    if track is not None and (item := _continued_item(one, track, there)):
        return item
    removing = one.action != "restore"
    records = one.rows if there is None else there.of(*one.key)
    unfit = None if there is None else mismatch(one, records)
    requests = " and then ".join(request.line for request in planned([one], there))
    would = f"Would send {requests}." if removing else f"Would add {one.named} again."
    more = "" if there is None or not one.loose else extra_details(one, records)
    if more:
        would += f" The service says more of it than the plan: {more}."
    status, message = unfit or ("planned", would)
    return ReceiptItem(
        state=one.state,
        nexus_type=one.nexus_type,
        outcome=STATUSES[status][0],
        status=status,
        expected=one.expected if there is None or not removing else len(records),
        message=message,
        record=with_listed_record(one, records).record or next(iter(records), None),
        before=records if removing else one.rows,
        action=one.action,
    )


def _continued_item(one: Change, track: Track, there: ListedRecords | None) -> ReceiptItem | None:
    """What a run would do after an earlier one; `None` where it would do as a first one does."""
    item = track.item
    if item.status == "removed_only" and one.action == "replace":
        record = with_listed_record(one, track.before).record or {}
        line = f"Would send POST {addition(record).path}: the removal was done before."
        return replace(
            item, outcome="not_done", status="planned", message=line, record=record, action="add"
        )
    not_sent = item.status == "absent" and item.deleted == 0 and there is None
    unknown = item.status == "unknown" and (
        there is None
        or settled_verdict(track, there.of(*one.key), "an earlier run").status == "unknown"
    )
    if not (item.outcome == "done" or not_sent or unknown or item.status == "removed_only"):
        return None
    message = reappeared(one, track, there)
    return replace(
        item,
        message=message or f"{item.message} Nothing would be sent.",
        flagged=item.flagged or bool(message),
    )


_STAMP = "[0-9]" * 8 + "-" + "[0-9]" * 6
"""The time at the start of a journal's name, as a pattern of file names."""
_MOST_LOST = 3
"""Lost responses in a row after which the run ends: the service is in trouble."""
_UNKNOWN = (
    "The service does not list records, so whether the unknown removals were done can only be"
    " checked there. This plan does not send them again; for what is still there, make a new plan."
)
_NOT_COMPARED = "The service did not list its records at the end: what is there was not compared."
_NOT_ON_DISK = "The last step is in this receipt, and not in the journal on disk."
_TORN = "The last line of the journal was incomplete, from a program that ended, and was left out."


@dataclass(slots=True)
class Run:
    """The changes of a job, made one by one over its journal. The caller holds its lock.

    Attributes:
        client: the client; each request is sent once, whatever its number of retries.
        journal: every step is recorded in it before it is taken.
        changes: the changes to make, in order.
        there: what the service lists before the first request; `None` where it does not list.
        can: what the service can do.
        restore_file: the records are written to it before the first removal; `None` for a restore.
        on_progress: see `Progress`.
        stop: ends the run when it is set, after the request under way.
        notes: further sentences for the receipt.
    """

    client: Svc
    journal: Journal
    changes: Sequence[Change]
    there: ListedRecords | None
    can: Abilities
    restore_file: Path | None
    on_progress: Progress | None = None
    stop: threading.Event | None = None
    notes: tuple[str, ...] = ()
    _tracks: dict[tuple[str, str], Track] = field(default_factory=dict)
    _sent: set[tuple[str, str]] = field(default_factory=set)
    _why: str = ""
    _lost: int = 0

    def go(self) -> Receipt:
        """Make the changes, as far as possible; the receipt says how far that was.

        Raises:
            ApplyError: the journal, or the file to restore from, cannot be written; nothing was
                sent.
        """
        self._tracks = tracks_of(self.journal.events)
        stop = self.stop or threading.Event()
        try:
            self._begin()
        except JournalError as error:
            raise ApplyError(f"{error}. Nothing was sent") from error
        with _interrupts(stop):
            try:
                self._make_all(stop)
                self._compare_lists()
                self.journal.add(self._end())
            except JournalError as error:
                self._why = str(error)
                self.journal.events.append(self._end() | {"notes": [_NOT_ON_DISK]})
        path, events = self.journal.path, self.journal.events
        return receipt_of(path, events, restore_file=self.restore_file)

    def _begin(self) -> None:
        names = ("state", "nexus_type", "action", "expected")
        self._record(
            {
                "event": "run",
                "at": now(),
                "undo": asdict(self.can),
                "items": [{name: getattr(one, name) for name in names} for one in self.changes],
                "torn": self.journal.torn,
                "notes": [*self.notes, *([_TORN] if self.journal.torn else [])],
            }
        )
        if self.restore_file is not None:
            write_records(self.restore_file, self._records())

    def _records(self, lost: Sequence[Record] = ()) -> list[Record]:
        """Every record that a removal of this journal took, or may take."""
        records = [record for track in self._tracks.values() for record in track.before]
        for one in self.changes:
            before = self._tracks[one.key].before
            if not before:
                before = self._before(one)
                records += before
            if (record := with_listed_record(one, before).record) is not None:
                records.append(record)
        return [*records, *lost]

    def _make_all(self, stop: threading.Event) -> None:
        for track in list(self._tracks.values()):
            self._settle_earlier(track)
        for number, one in enumerate(self.changes, 1):
            if stop.is_set():
                self._why = self._why or "it was stopped"
            if self._why:
                break
            track = self._tracks[one.key]
            if self._is_open(one, track):
                self._make(one, track)
            self._report(track, number)

    def _report(self, track: Track, number: int) -> None:
        """Report progress; where that fails, nothing further is sent."""
        if self.on_progress is None:
            return
        try:
            self.on_progress(track.item, number, len(self.changes))
        except Exception as error:  # noqa: BLE001 - the receipt matters more than the display
            name = type(error).__name__
            reason = f"{name}: {error}" if str(error) else name
            self._why = self._why or f"the progress could not be shown ({reason})"

    def _settle_earlier(self, track: Track) -> None:
        """Settle what an earlier run left unknown, ticked now or not."""
        if self.there is not None and track.item.status == "unknown":
            self._settle(track, self.there, of="an earlier run")
        elif track.waiting:
            self._record_verdict(track, "settled", Verdict("unknown", track.item.message))

    def _is_open(self, one: Change, track: Track) -> bool:
        """Whether something is to be sent: what is done, or not known, is never sent again."""
        if track.status == "removed_only" and one.action == "remove":
            self._record_verdict(track, "settled", Verdict("removed", f"{one.named} was removed."))
        if STATUSES[track.status][0] == "done":
            if message := reappeared(one, track, self.there):
                self._record_verdict(track, "settled", Verdict(track.status, message, flagged=True))
            return False
        if track.status == "absent" and track.deleted == 0 and self.there is None:
            return False
        return track.status != "unknown"

    def _compare_lists(self) -> None:
        """List again at the end: what was removed must be gone, and nothing else."""
        if not self._sent or self.there is None or self.restore_file is None:
            return
        after = self._listed()
        if after is None:
            self._record({"event": "looked", "at": now(), "notes": [_NOT_COMPARED]})
            return
        whole = {state for state, kind in self._sent if not kind}
        lost = [
            record
            for key, records in self.there.records.items()
            for record in records
            if key not in self._sent and key[0] not in whole and not after.of(*key)
        ]
        gone = {key for key in self._sent if self._tracks[key].status in {"removed", "gone"}}
        still = sorted(key for key in gone if after.of(*key))
        if lost:
            write_records(self.restore_file, self._records(lost))
        self._record({"event": "seen", "at": now(), "still": still, "lost": lost})

    def _end(self) -> Event:
        tracks = [self._tracks[one.key] for one in self.changes]
        statuses = {track.item.status for track in tracks}
        unknown = self.there is None and "unknown" in statuses
        return {
            "event": "end",
            "at": now(),
            "finished": not (self._why or statuses & OPEN),
            "why": self._why,
            "notes": [_UNKNOWN] if unknown else [],
        }

    def _make(self, one: Change, track: Track) -> None:
        """Make one change, from comparing what is there to the last response.

        Raises:
            JournalError: the journal cannot be written; nothing was sent that is not in it.
        """
        half = track.status == "removed_only"
        restoring = one.action == "restore"
        there = () if self.there is None else self.there.of(*one.key)
        looked = self.there is not None and not half
        if looked and (unfit := mismatch(one, there)):
            flagged = restoring and unfit[0] != "restored"
            self._record_verdict(track, "skipped", Verdict(*unfit, flagged=flagged))
            return
        one = with_listed_record(one, track.before if half else self._before(one))
        if not (half or restoring):
            self._remove(one, track)
        if one.record is not None and (restoring or track.status == "removed_only"):
            self._add(one, track, one.record, done="restored" if restoring else "replaced")

    def _settle(self, track: Track, there: ListedRecords, *, of: str) -> None:
        """Record what the list shows of a request whose result is unknown; `of` names it."""
        self._record_verdict(
            track, "settled", settled_verdict(track, there.of(track.state, track.nexus_type), of)
        )

    def _listed(self) -> ListedRecords | None:
        """The records that are listed now; `None` where that cannot be known."""
        if self.there is None:
            return None
        try:
            return list_records(self.client)
        except SvcError:
            return None

    def _before(self, one: Change) -> tuple[Record, ...]:
        """The records that a removal takes: as the service lists them, else as the plan has."""
        there = () if self.there is None else self.there.of(*one.key)
        return there or one.rows

    def _record(self, event: Event) -> None:
        """Add a line to the journal."""
        self.journal.add(event)
        apply_event(self._tracks, event)

    def _record_verdict(self, track: Track, kind: str, verdict: Verdict, **facts: object) -> None:
        """Record the verdict on one item; this process knows it even where the disk does not.

        Raises:
            JournalError: it could not be written.
        """
        event: Event = {
            "event": kind,
            "at": now(),
            "item": [track.state, track.nexus_type],
            "status": verdict.status,
            "message": verdict.message,
            "deleted": verdict.deleted,
            "flagged": verdict.flagged,
            **facts,
        }
        try:
            self.journal.add(event)
        except JournalError:
            self.journal.events.append(event)
            raise
        finally:
            apply_event(self._tracks, event)

    def _remove(self, one: Change, track: Track) -> None:
        before = self._before(one)
        expected = one.expected if self.there is None else len(before)
        track.expected, track.before = expected, before
        track.record = one.record or (before[0] if before else None)
        result = self._send(track, "remove", removal(one))
        verdict = removal_verdict(one, expected, result)
        if one.action == "replace" and verdict.status == "removed":
            verdict = removed_only_verdict(track, verdict)
        self._conclude(track, "remove", result, verdict)

    def _add(self, one: Change, track: Track, record: Record, *, done: str) -> None:
        track.record, track.before = record, track.before or self._before(one)
        result = self._send(track, "add", addition(record))
        verdict = addition_verdict(one, record, result, done=done)
        if done == "replaced" and verdict.status == "refused":
            verdict = removed_only_verdict(track, verdict)
        self._conclude(track, "add", result, verdict)

    def _send(self, track: Track, step: str, call: Call) -> RequestResult:
        self._record(
            {
                "event": "sending",
                "at": now(),
                "item": [track.state, track.nexus_type],
                "step": step,
                "method": call.method,
                "path": call.path,
                "params": call.params,
                "json": call.json,
                "expected": track.expected,
                "record": track.record,
                "before": list(track.before),
            }
        )
        self._sent.add((track.state, track.nexus_type))
        return exchange(self.client, call)

    def _conclude(self, track: Track, step: str, result: RequestResult, verdict: Verdict) -> None:
        hide = self.client._settings.hide  # noqa: SLF001 - a service may send the key back
        message, stop = (printable(hide(text)) for text in (verdict.message, verdict.stop))
        verdict = replace(verdict, message=message, stop=stop)
        facts = {"http": result.http, "body": result.body, "reference": result.reference}
        self._record_verdict(track, "answer", verdict, step=step, **facts)
        self._why = self._why or verdict.stop
        if verdict.status != "unknown":
            self._lost = 0
            return
        self._lost += 1
        there = self._listed()
        if there is None:
            self._why = self._why or f"whether {track.named} is done is not known"
            return
        self._settle(track, there, of="the answer")
        if track.status == "unknown":
            self._why = self._why or f"whether {track.named} is done is not known"
        if self._lost >= _MOST_LOST:
            self._why = self._why or f"{_MOST_LOST} answers in a row were lost"


def reappeared(one: Change, track: Track, there: ListedRecords | None) -> str:
    """The sentence for a record that came back after it was removed; "" where none did."""
    if track.status not in {"removed", "gone"} or there is None or not there.of(*one.key):
        return ""
    new = "make a new plan" if one.nexus_type else "run it once more"
    return (
        f"{one.named} was removed in an earlier run, and a record is there again. It was left"
        f" alone; to remove it too, {new}."
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


def settled_verdict(track: Track, there: tuple[Record, ...], of: str) -> Verdict:
    """What the list shows of a request whose response was lost.

    Args:
        track: the request: its last step, and the records as they were before it.
        there: the records of its state and type that are listed now.
        of: what was lost, for the sentence.
    """
    if track.step == "add":
        return _settled_addition(track, there)
    if not there:
        gone = Verdict(
            "gone",
            f"{track.named} is gone: it is no longer listed. Whether this request removed it is"
            f" not known, for {of} did not say so.",
        )
        return removed_only_verdict(track, gone) if track.action == "replace" else gone
    if sorted(map(_compared, there)) == sorted(map(_compared, track.before)):
        return Verdict(
            "still_there", f"{track.named} is still listed as it was: it was not removed."
        )
    left, before = len(there), len(track.before)
    return Verdict(
        "unknown",
        f"Whether {track.named} was removed is not known: {counted(left, 'record')}"
        f" {'is' if left == 1 else 'are'} listed, and not as before ({counted(before, 'record')})."
        " Look on the service, and make a new plan.",
        flagged=True,
    )


def _settled_addition(track: Track, there: tuple[Record, ...]) -> Verdict:
    replacing = track.action == "replace"
    if not there:
        lost = Verdict("refused", f"{track.named} is not listed: it was not added.")
        return removed_only_verdict(track, lost) if replacing else lost
    same = track.record is not None and _compared(track.record) in map(_compared, there)
    if same and len(there) == 1:
        done = "replaced" if replacing else "restored"
        return Verdict(done, f"{track.named} is there as it should be.")
    if same:
        return Verdict(
            "unknown",
            f"Whether {track.named} was added is not known: {len(there)} records are listed, and"
            " the one that was to be added is among them. Look on the service.",
            flagged=True,
        )
    return Verdict(
        "changed",
        f"{track.named} is there as another record than was added: look on the service.",
        flagged=True,
    )


def removed_only_verdict(track: Track, verdict: Verdict) -> Verdict:
    """The verdict where only the first half of "remove, then add one" is done."""
    return replace(
        verdict,
        status="removed_only",
        message=f"{verdict.message} The record that was to stay is NOT there yet: {track.named} has"
        " no record now. Apply the same plan again, or add it from the file of records.",
    )


def _compared(record: Record) -> tuple[str, ...]:
    return tuple(compared(record, name) or "" for name in FIELDS)
