"""From the lines of a journal to a receipt. Pure: what no line says is not claimed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from svc_tools.nexus.receipt import STATUSES, Receipt, ReceiptItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from svc_tools.nexus.journal import Event
    from svc_tools.nexus.receipt import Record

__all__ = ["OPEN", "Track", "follow", "receipt_of", "tracks_of"]

OPEN = frozenset({"not_attempted", "unknown", "removed_only"})
"""The statuses that leave something to be done, or to be found out."""
_CUT_OFF = (
    "A request for {named} was about to be sent, or was sent, when the program ended: whether it"
    " was done is not known."
)
_NOT_BEGUN = "Nothing was sent for {named}."
_CUT_SHORT = "the program ended in the middle"


@dataclass(slots=True)
class Track:
    """What the journal says of one state and type so far: a `ReceiptItem` that still changes.

    Attributes: those of `ReceiptItem`, but for the outcome;
        step: the request that was sent last: remove or add; "" for none.
        waiting: whether its answer is not in the journal.
    """

    state: str
    nexus_type: str
    action: str = "remove"
    status: str = "not_attempted"
    step: str = ""
    waiting: bool = False
    expected: int | None = None
    deleted: int | None = None
    flagged: bool = False
    reference: str | None = None
    message: str = ""
    record: Record | None = None
    before: tuple[Record, ...] = ()
    at: str = ""

    @property
    def named(self) -> str:
        """The state and the type, for sentences."""
        return f"{self.state} {self.nexus_type or '(all types)'}"

    @property
    def item(self) -> ReceiptItem:
        """The same for a receipt."""
        facts = asdict(self)
        del facts["step"], facts["waiting"]
        if self.waiting:
            facts |= {"status": "unknown", "message": _CUT_OFF.format(named=self.named)}
        facts["flagged"] = self.flagged or self.status == "removed_only"
        facts["message"] = facts["message"] or _NOT_BEGUN.format(named=self.named)
        return ReceiptItem(outcome=STATUSES[facts["status"]][0], **facts)


def tracks_of(events: Iterable[Event]) -> dict[tuple[str, str], Track]:
    """What the lines say of each state and type, in the order in which they name them."""
    tracks: dict[tuple[str, str], Track] = {}
    for event in events:
        follow(tracks, event)
    return tracks


def follow(tracks: dict[tuple[str, str], Track], event: Event) -> None:
    """Take one more line in."""
    if event["event"] == "run":
        _begin(tracks, event)
    elif event["event"] == "seen":
        _seen(tracks, event)
    elif "item" in event:
        _follow(tracks, event)


def _begin(tracks: dict[tuple[str, str], Track], event: Event) -> None:
    """A run begins: what it is about; what nothing happened to and is not ticked now, goes."""
    about = {(one["state"], one["nexus_type"]): one for one in event["items"]}
    for key in [key for key, track in tracks.items() if _untouched(track) and key not in about]:
        del tracks[key]
    for key, one in about.items():
        track = tracks.setdefault(key, Track(*key))
        track.action = one["action"]
        if _untouched(track):
            track.expected = one["expected"]


def _untouched(track: Track) -> bool:
    return track.status == "not_attempted" and not track.waiting


def _follow(tracks: dict[tuple[str, str], Track], event: Event) -> None:
    state, kind = event["item"]
    track = tracks.setdefault((state, kind), Track(state, kind))
    track.at = event["at"]
    if event["event"] == "sending":
        track.step, track.waiting = event["step"], True
        if event["step"] == "remove":
            track.expected, track.deleted, track.flagged = event["expected"], None, False
        track.record, track.before = event["record"], tuple(event["before"])
        return
    track.waiting = False
    track.status, track.message = event["status"], event["message"]
    track.flagged = track.flagged or bool(event.get("flagged"))
    track.reference = event.get("reference") or track.reference
    if event.get("deleted") is not None:
        track.deleted = event["deleted"]


def _seen(tracks: dict[tuple[str, str], Track], event: Event) -> None:
    """The look at the end: what should be gone and is not, and what should not be and is."""
    for state, kind in event["still"]:
        track = tracks[state, kind]
        track.status, track.flagged = "still_there", True
        track.message = f"{track.message} But it is still listed: look on the service."
    for record in event["lost"]:
        state, kind = record["state"], record["nexus_type"]
        tracks[state, kind] = Track(
            state,
            kind,
            action="",
            status="lost",
            flagged=True,
            message=f"{state} {kind} was not ticked, and is no longer listed after the removals."
            " Whether a removal took it, or somebody else, is not known.",
            record=record,
            before=(record,),
            at=event["at"],
        )


def receipt_of(
    path: Path | None, events: Sequence[Event], *, restore_file: Path | None = None, torn: str = ""
) -> Receipt:
    """The receipt that the lines of a journal make.

    Args:
        path: the journal.
        events: its lines, at least the first.
        restore_file: the file with the records as they were, where it is there.
        torn: the text of a torn last line.
    """
    head = events[0]
    runs = [event for event in events if event["event"] == "run"]
    end = events[-1] if events[-1]["event"] == "end" else None
    undo = runs[-1]["undo"] if runs else {}
    last = [*events].index(runs[-1]) if runs else 0
    notes = [note for event in events[last:] for note in event.get("notes", ())]
    if torn:
        notes.append("The last line was not written to its end, and is left out.")
    return Receipt(
        path=path,
        plan_id=head["plan_id"],
        service=head["service"],
        account=head["account"],
        started=datetime.fromisoformat(head["at"]).astimezone(UTC),
        dry_run=False,
        finished=end is not None and end["finished"],
        items=tuple(track.item for track in tracks_of(events).values()),
        kind=head["kind"],
        ended=None if end is None else datetime.fromisoformat(end["at"]).astimezone(UTC),
        stopped=_CUT_SHORT if end is None else end["why"],
        can_restore=bool(undo.get("lists") and undo.get("adds")),
        restore_note=undo.get("note", ""),
        restore_file=restore_file,
        notes=tuple(notes),
        of=head["key"] if head["kind"] == "restore" else "",
    )
