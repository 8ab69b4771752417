"""What a list says of a request whose answer is not known: what is, not who did it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.nexus.ability import compared
from svc_tools.nexus.apply_exchange import Verdict
from svc_tools.nexus.apply_requests import FIELDS
from svc_tools.shown import counted

if TYPE_CHECKING:
    from svc_tools.nexus.receipt import Record
    from svc_tools.nexus.receipt_fold import Track

__all__ = ["half_done", "settled"]


def settled(track: Track, there: tuple[Record, ...], of: str) -> Verdict:
    """What is known after a look at the list.

    Args:
        track: the request: its last step, and the records as they were before it.
        there: the records of its state and type that are listed now.
        of: whose answer was lost, for the sentence.
    """
    if track.step == "add":
        return _added(track, there)
    if not there:
        gone = Verdict(
            "gone",
            f"{track.named} is gone: it is no longer listed. Whether this request removed it is"
            f" not known, for {of} did not say so.",
        )
        return half_done(track, gone) if track.action == "replace" else gone
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


def _added(track: Track, there: tuple[Record, ...]) -> Verdict:
    replacing = track.action == "replace"
    if not there:
        lost = Verdict("refused", f"{track.named} is not listed: it was not added.")
        return half_done(track, lost) if replacing else lost
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


def half_done(track: Track, verdict: Verdict) -> Verdict:
    """Of "remove, then add one" only the first half is done."""
    return replace(
        verdict,
        status="removed_only",
        message=f"{verdict.message} The record that was to stay is NOT there yet: {track.named} has"
        " no record now. Apply the same plan again, or add it from the file of records.",
    )


def _compared(record: Record) -> tuple[str, ...]:
    names = ("state", "nexus_type", *FIELDS)
    return tuple(compared(record, name) or "" for name in names)
