"""The steps of a run for one state and type: each said in the journal, taken once, answered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_tools.nexus.ability import listed
from svc_tools.nexus.apply_exchange import Verdict, exchange, judge_addition, judge_removal
from svc_tools.nexus.apply_requests import addition, fitted, misfit, removal
from svc_tools.nexus.apply_settle import half_done, settled
from svc_tools.nexus.journal import JournalError
from svc_tools.nexus.receipt_fold import follow
from svc_tools.shown import printable

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_sdk._requests import Call
    from svc_tools.nexus.ability import Listed
    from svc_tools.nexus.apply_exchange import Heard
    from svc_tools.nexus.apply_requests import Wanted
    from svc_tools.nexus.journal import Event, Journal
    from svc_tools.nexus.receipt import Record
    from svc_tools.nexus.receipt_fold import Track

__all__ = ["Steps", "now"]

_TROUBLED = 3
"""How many lost answers in a row mean that the service is better left alone."""


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(slots=True)
class Steps:
    """What is sent, and what is heard and said of it.

    Attributes:
        client: the client; each request is sent once, whatever its number of retries.
        journal: where every step is said before it is taken.
        there: what the service listed before the first request; `None` where it does not list.
        tracks: what the journal says of each state and type.
        sent: the states and types that this run sent something for.
        why: why nothing further may be sent; "" to go on.
    """

    client: Svc
    journal: Journal
    there: Listed | None
    tracks: dict[tuple[str, str], Track]
    sent: set[tuple[str, str]] = field(default_factory=set)
    why: str = ""
    _troubled: int = 0

    def take(self, one: Wanted, track: Track) -> None:
        """All of one state and type, from the look at what is there to the last answer.

        Raises:
            JournalError: the journal cannot be written; nothing was sent that it does not say.
        """
        half = track.status == "removed_only"
        restoring = one.action == "restore"
        there = () if self.there is None else self.there.of(*one.key)
        looked = self.there is not None and not half
        if looked and (unfit := misfit(one, there)):
            flagged = restoring and unfit[0] != "restored"
            self.tell(track, "skipped", Verdict(*unfit, flagged=flagged))
            return
        one = fitted(one, track.before if half else self.before(one))
        if not (half or restoring):
            self._remove(one, track)
        if one.record is not None and (restoring or track.status == "removed_only"):
            self._add(one, track, one.record, done="restored" if restoring else "replaced")

    def settle(self, track: Track, there: Listed, *, of: str) -> None:
        """Say what a list says of a request whose answer is not known; `of` is whose answer."""
        self.tell(track, "settled", settled(track, there.of(track.state, track.nexus_type), of))

    def listed(self) -> Listed | None:
        """What is there now, where that can be known."""
        if self.there is None:
            return None
        try:
            return listed(self.client)
        except SvcError:
            return None

    def before(self, one: Wanted) -> tuple[Record, ...]:
        """The records that a removal takes, as the service has them, else as the person did."""
        there = () if self.there is None else self.there.of(*one.key)
        return there or one.rows

    def say(self, event: Event) -> None:
        """Add a line to the journal."""
        self.journal.add(event)
        follow(self.tracks, event)

    def tell(self, track: Track, kind: str, verdict: Verdict, **facts: object) -> None:
        """Say what became of one item; this process knows it even where the disk does not.

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
            follow(self.tracks, event)

    def _remove(self, one: Wanted, track: Track) -> None:
        before = self.before(one)
        expected = one.expected if self.there is None else len(before)
        track.expected, track.before = expected, before
        track.record = one.record or (before[0] if before else None)
        heard = self._send(track, "remove", removal(one))
        verdict = judge_removal(one, expected, heard)
        if one.action == "replace" and verdict.status == "removed":
            verdict = half_done(track, verdict)
        self._answered(track, "remove", heard, verdict)

    def _add(self, one: Wanted, track: Track, record: Record, *, done: str) -> None:
        track.record, track.before = record, track.before or self.before(one)
        heard = self._send(track, "add", addition(record))
        verdict = judge_addition(one, record, heard, done=done)
        if done == "replaced" and verdict.status == "refused":
            verdict = half_done(track, verdict)
        self._answered(track, "add", heard, verdict)

    def _send(self, track: Track, step: str, call: Call) -> Heard:
        self.say(
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
        self.sent.add((track.state, track.nexus_type))
        return exchange(self.client, call)

    def _answered(self, track: Track, step: str, heard: Heard, verdict: Verdict) -> None:
        hide = self.client._settings.hide  # noqa: SLF001 - a service may send the key back
        message, stop = (printable(hide(text)) for text in (verdict.message, verdict.stop))
        verdict = replace(verdict, message=message, stop=stop)
        facts = {"http": heard.http, "body": heard.body, "reference": heard.reference}
        self.tell(track, "answer", verdict, step=step, **facts)
        self.why = self.why or verdict.stop
        if verdict.status != "unknown":
            self._troubled = 0
            return
        self._troubled += 1
        there = self.listed()
        if there is None:
            self.why = self.why or f"whether {track.named} is done is not known"
            return
        self.settle(track, there, of="the answer")
        if track.status == "unknown":
            self.why = self.why or f"whether {track.named} is done is not known"
        if self._troubled >= _TROUBLED:
            self.why = self.why or f"{_TROUBLED} answers in a row were lost"
