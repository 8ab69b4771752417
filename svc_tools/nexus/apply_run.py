"""One run over a journal: look, say what comes, take each step once, look again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from svc_tools.nexus.apply_exchange import Verdict
from svc_tools.nexus.apply_requests import ApplyError, fitted
from svc_tools.nexus.apply_steps import Steps, now
from svc_tools.nexus.journal import JournalError
from svc_tools.nexus.receipt import STATUSES, ReceiptItem
from svc_tools.nexus.receipt_files import write_records
from svc_tools.nexus.receipt_fold import OPEN, receipt_of, tracks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.nexus.ability import Abilities, Listed
    from svc_tools.nexus.apply_requests import Wanted
    from svc_tools.nexus.journal import Event, Journal
    from svc_tools.nexus.receipt import Receipt, Record
    from svc_tools.nexus.receipt_fold import Track

__all__ = ["Progress", "Run", "there_again"]

Progress = Callable[[ReceiptItem, int, int], object]
"""Told each state and type when it is through, how many are, and of how many."""

STOPPED = "it was stopped"
_UNKNOWN = (
    "The service does not list records, so only somebody who can look there knows what became of"
    " what is unknown. This plan does not send it again; for what is still there, make a new plan."
)
_NOT_LOOKED = "The service did not list its records at the end: what is there was not compared."
_NOT_KEPT = "What came last is told here, and is not in the journal on disk."
_TORN = "A line that was not written to its end, when a program ended, was left out."


@dataclass(slots=True)
class Run:
    """What is wanted, over one journal. The caller holds its lock.

    Attributes:
        client: the client; each request is sent once, whatever its number of retries.
        journal: where every step is said before it is taken.
        wanted: what is to become of which state and type, in order.
        there: what the service lists before the first request; `None` where it does not list.
        can: what the service can do.
        restore_file: where the records go before the first removal; `None` for a restore.
        on_progress: see `Progress`.
        stop: ends the run when it is set, after the request under way.
        notes: what the receipt should say beside.
    """

    client: Svc
    journal: Journal
    wanted: Sequence[Wanted]
    there: Listed | None
    can: Abilities
    restore_file: Path | None
    on_progress: Progress | None = None
    stop: threading.Event | None = None
    notes: tuple[str, ...] = ()

    def go(self) -> Receipt:
        """Do it, as far as it goes; the receipt says how far that was.

        Raises:
            ApplyError: the journal, or the file to restore from, cannot be written; nothing was
                sent.
        """
        steps = Steps(self.client, self.journal, self.there, tracks_of(self.journal.events))
        stop = self.stop or threading.Event()
        try:
            self._begin(steps)
        except JournalError as error:
            raise ApplyError(f"{error}. Nothing was sent") from error
        with _interrupts(stop):
            try:
                self._all(steps, stop)
                self._look(steps)
                self.journal.add(self._end(steps))
            except JournalError as error:
                steps.why = str(error)
                self.journal.events.append(self._end(steps) | {"notes": [_NOT_KEPT]})
        path, events = self.journal.path, self.journal.events
        return receipt_of(path, events, restore_file=self.restore_file)

    def _begin(self, steps: Steps) -> None:
        names = ("state", "nexus_type", "action", "expected")
        steps.say(
            {
                "event": "run",
                "at": now(),
                "undo": asdict(self.can),
                "items": [{name: getattr(one, name) for name in names} for one in self.wanted],
                "torn": self.journal.torn,
                "notes": [*self.notes, *([_TORN] if self.journal.torn else [])],
            }
        )
        if self.restore_file is not None:
            write_records(self.restore_file, self._records(steps))

    def _records(self, steps: Steps, lost: Sequence[Record] = ()) -> list[Record]:
        """Every record that a removal of this journal took, or may take."""
        records = [record for track in steps.tracks.values() for record in track.before]
        for one in self.wanted:
            before = steps.tracks[one.key].before
            if not before:
                before = steps.before(one)
                records += before
            if (record := fitted(one, before).record) is not None:
                records.append(record)
        return [*records, *lost]

    def _all(self, steps: Steps, stop: threading.Event) -> None:
        for track in list(steps.tracks.values()):
            self._settle_earlier(steps, track)
        for number, one in enumerate(self.wanted, 1):
            if stop.is_set():
                steps.why = steps.why or STOPPED
            if steps.why:
                break
            track = steps.tracks[one.key]
            if self._is_open(steps, one, track):
                steps.take(one, track)
            self._tell(steps, track, number)

    def _tell(self, steps: Steps, track: Track, number: int) -> None:
        """Tell how far it is; where nobody can be told any more, nothing further is sent."""
        if self.on_progress is None:
            return
        try:
            self.on_progress(track.item, number, len(self.wanted))
        except Exception as error:  # noqa: BLE001 - the receipt is worth more than its reason
            told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            steps.why = steps.why or f"the progress could not be shown ({told})"

    def _settle_earlier(self, steps: Steps, track: Track) -> None:
        """What an earlier run left unknown, ticked now or not: is it there?"""
        if self.there is not None and track.item.status == "unknown":
            steps.settle(track, self.there, of="an earlier run")
        elif track.waiting:
            steps.tell(track, "settled", Verdict("unknown", track.item.message))

    def _is_open(self, steps: Steps, one: Wanted, track: Track) -> bool:
        """Whether something is to be sent: what is done, or not known, is never sent again."""
        if track.status == "removed_only" and one.action == "remove":
            steps.tell(track, "settled", Verdict("removed", f"{one.named} was removed."))
        if STATUSES[track.status][0] == "done":
            if message := there_again(one, track, self.there):
                steps.tell(track, "settled", Verdict(track.status, message, flagged=True))
            return False
        if track.status == "absent" and track.deleted == 0 and self.there is None:
            return False
        return track.status != "unknown"

    def _look(self, steps: Steps) -> None:
        """Look at the end: what is said to be gone is gone, and nothing else is."""
        if not steps.sent or self.there is None or self.restore_file is None:
            return
        after = steps.listed()
        if after is None:
            steps.say({"event": "looked", "at": now(), "notes": [_NOT_LOOKED]})
            return
        whole = {state for state, kind in steps.sent if not kind}
        lost = [
            record
            for key, records in self.there.records.items()
            for record in records
            if key not in steps.sent and key[0] not in whole and not after.of(*key)
        ]
        gone = {key for key in steps.sent if steps.tracks[key].status in {"removed", "gone"}}
        still = sorted(key for key in gone if after.of(*key))
        if lost:
            write_records(self.restore_file, self._records(steps, lost))
        steps.say({"event": "seen", "at": now(), "still": still, "lost": lost})

    def _end(self, steps: Steps) -> Event:
        tracks = [steps.tracks[one.key] for one in self.wanted]
        statuses = {track.item.status for track in tracks}
        unknown = self.there is None and "unknown" in statuses
        return {
            "event": "end",
            "at": now(),
            "finished": not (steps.why or statuses & OPEN),
            "why": steps.why,
            "notes": [_UNKNOWN] if unknown else [],
        }


def there_again(one: Wanted, track: Track, there: Listed | None) -> str:
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
        yield  # only the main thread is told of a Ctrl+C
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
