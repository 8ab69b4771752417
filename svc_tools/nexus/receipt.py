"""A receipt: what removals or a restore did, did not do, and what of it is not known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from svc_tools.nexus.words import PERMIT_NOTE
from svc_tools.shown import NOTHING, Table, as_html, as_text, counted, near, plain, the_service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

__all__ = ["OUTCOMES", "RESTORABLE", "STATUSES", "Outcome", "Receipt", "ReceiptItem", "Record"]

Outcome = Literal["done", "not_done", "unknown"]
OUTCOMES: tuple[Outcome, ...] = ("done", "not_done", "unknown")
Record = dict[str, str | None]
"""A record: state, nexus_type, registered_at (ISO), address, notes; and what a service adds."""

STATUSES: dict[str, tuple[Outcome, str]] = {
    "removed": ("done", "removed"),
    "gone": ("done", "gone: it is no longer listed; the answer to the removal was lost"),
    "replaced": ("done", "removed, and the chosen record added again"),
    "restored": ("done", "there again as it was"),
    "absent": ("not_done", "not on the service: there was nothing to remove"),
    "changed": ("not_done", "another record than expected is on the service: left alone"),
    "refused": ("not_done", "refused by the service"),
    "still_there": ("not_done", "still on the service"),
    "removed_only": ("not_done", "REMOVED, BUT NOT ADDED AGAIN"),
    "not_attempted": ("not_done", "not attempted"),
    "planned": ("not_done", "nothing was sent: this is a dry run"),
    "unknown": ("unknown", "not known: the answer was lost"),
    "lost": ("unknown", "WAS NOT TICKED, and is gone since"),
}
"""What can be said of one request: whether it is done, and in words."""
RESTORABLE = frozenset({"removed", "gone", "removed_only", "unknown", "lost"})
"""The statuses after which a record may have to be added again."""
_NOTHING_REMOVED = frozenset({"absent", "changed"})
"""The statuses of what was looked at, and nothing was sent."""
_SAID = {
    "removed": "removed",
    "replaced": "replaced",
    "restored": "there again",
    "gone": "gone (the answer was lost)",
    "removed_only": "REMOVED BUT NOT ADDED AGAIN",
    "unknown": "not known",
}
"""What a sentence tells apart; it never says "removed" of what the service did not say."""
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """What became of one state and type.

    Attributes:
        state: the postal code.
        nexus_type: the type; "" for all types of the state.
        outcome: done, not_done or unknown.
        status: more closely; see `STATUSES`.
        expected: how many records the removal was to delete; `None` where that was not known.
        deleted: how many the service said it deleted; `None` where it did not say.
        flagged: whether a person should look: another count than expected, an answer about
            something else, a record that is gone although it was not ticked.
        reference: the support reference of the last answer, if there was one.
        message: what happened, in a sentence.
        record: the record as it was before, which a restore adds; `None` where there was none.
        before: all records that a removal of this state and type takes, as they were.
        action: remove, replace, remove_all or restore; "" for a record that was not ticked.
        at: when the last was heard of it (UTC); "" where nothing was sent.
    """

    state: str
    nexus_type: str
    outcome: Outcome
    status: str
    expected: int | None = None
    deleted: int | None = None
    flagged: bool = False
    reference: str | None = None
    message: str = ""
    record: Mapping[str, str | None] | None = None
    before: tuple[Mapping[str, str | None], ...] = ()
    action: str = "remove"
    at: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The state and the type."""
        return self.state, self.nexus_type


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """What was done, what was not, and what is not known, as the journal on disk has it.

    Attributes:
        path: the journal; `None` for a dry run, which writes nothing.
        plan_id: the plan; "" where there was none.
        service: the service that was asked.
        account: the fingerprint of the account, never the key.
        started: when (UTC).
        dry_run: whether nothing was sent but questions.
        finished: whether nothing is left to do or to find out.
        items: one per state and type.
        kind: apply, remove_state or restore.
        ended: when the last run ended; `None` where it was cut off.
        stopped: why the last run ended before its end, in a sentence; "" where it did not.
        can_restore: whether the service can list and add, so that a removal can be undone.
        restore_note: the sentence that says so.
        restore_file: the records as they were before, to be read as a register; if there is one.
        notes: what else a person should know, in sentences.
        of: of a restore, the name of the receipt whose records it adds again.
    """

    path: Path | None
    plan_id: str
    service: str
    account: str
    started: datetime
    dry_run: bool
    finished: bool
    items: tuple[ReceiptItem, ...]
    kind: str = "apply"
    ended: datetime | None = None
    stopped: str = ""
    can_restore: bool = False
    restore_note: str = ""
    restore_file: Path | None = None
    notes: tuple[str, ...] = field(default=())
    of: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """How many are done, not done and unknown; `flagged` are among these."""
        found = Counter(item.outcome for item in self.items)
        flagged = sum(item.flagged for item in self.items)
        return {**{outcome: found[outcome] for outcome in OUTCOMES}, "flagged": flagged}

    @property
    def sentence(self) -> str:
        """The counts in words, and why it ended early where it did."""
        if self.dry_run:
            planned = sum(item.status == "planned" for item in self.items)
            other = len(self.items) - planned
            left = f"; for {other} nothing would be sent" if other else ""
            if not planned:
                return "Dry run: nothing would be sent."
            would = f"{counted(planned, 'request')} would be sent{left}"
            return f"Dry run: {would}. Nothing was sent."
        asked = [item for item in self.items if item.action]
        noun, done = ("record", "restored") if self.kind == "restore" else ("removal", "removed")
        found = Counter(item.status for item in asked)
        said = [f"{found[status]} {words}" for status, words in _SAID.items() if found[status]]
        not_done = sum(item.outcome == "not_done" and item.status not in _SAID for item in asked)
        said += [f"{not_done} not {done}"] if not_done else []
        parts = [f"{counted(len(asked), noun)}: {', '.join(said) or 'nothing to do'}."]
        if lost := [f"{item.state} {item.nexus_type}" for item in self.items if not item.action]:
            parts.append(f"NOT TICKED, AND NO LONGER LISTED: {', '.join(lost)}.")
        if flagged := self.counts["flagged"]:
            parts.append(f"To look at: {flagged}.")
        if self.stopped:
            parts.append(f"It ended early: {self.stopped.rstrip('.')}.")
        return " ".join(parts)

    @property
    def restorable(self) -> tuple[ReceiptItem, ...]:
        """What a restore would look at: records that are gone, or may be."""
        if self.dry_run or self.kind == "restore":
            return ()
        return tuple(item for item in self.items if item.status in RESTORABLE and item.record)

    @property
    def undoable(self) -> bool:
        """Whether there is something to undo, and the service can list and add."""
        return self.can_restore and bool(self.restorable)

    @property
    def undo_note(self) -> str:
        """`restore_note` of a removal; "" where there is nothing that it could speak of."""
        spoken_of = any(item.status not in _NOTHING_REMOVED for item in self.items)
        return self.restore_note if spoken_of and self.kind != "restore" else ""

    def frame(self) -> pd.DataFrame:
        """One row per state and type: the attributes of `ReceiptItem`, and the record's fields."""
        import pandas as pd  # noqa: PLC0415 - a receipt is read without it

        plain_fields = ("state", "nexus_type", "outcome", "status", "expected", "deleted")
        rows = [
            {name: getattr(item, name) for name in plain_fields}
            | {"flagged": item.flagged, "message": item.message, "reference": item.reference}
            | {
                name: (item.record or {}).get(name)
                for name in ("registered_at", "address", "notes")
            }
            | {"at": item.at or None}
            for item in self.items
        ]
        columns = [*plain_fields, "flagged", "message", "reference"]
        columns += ["registered_at", "address", "notes", "at"]
        frame = pd.DataFrame(rows, columns=columns)
        counts: dict[str, str] = {"expected": "Int64", "deleted": "Int64", "flagged": "bool"}
        texts = dict.fromkeys((name for name in columns if name not in counts), "str")
        return frame.astype({**texts, **counts})

    def __str__(self) -> str:
        """The receipt as text: the sentence, what to know, a row per state and type."""
        return as_text(self.sentence, self.sentences, self._tables)

    def __repr__(self) -> str:
        """One line: the sentence."""
        return f"<Receipt: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(self.sentence, self.sentences, self._tables)

    @property
    def advice(self) -> Sequence[str]:
        """What a reader should do, or know beside the rows, in sentences."""
        said = []
        if any(item.status == "unknown" for item in self.items):
            said.append(
                "What is not known may be done or not. Where the service lists records, the same"
                " call again looks before it sends anything, and settles it."
            )
        if not self.dry_run and not self.finished:
            said.append(
                "It is not finished: the same call again goes on where it ended; what is done is"
                " not sent again."
            )
        removed = self.kind != "restore" and self.counts["done"]
        return [*said, *self.notes, *([PERMIT_NOTE] if removed else [])]

    @property
    def sentences(self) -> Sequence[str]:
        """Whose receipt it is, the advice, whether there is an undo, and where the files are."""
        plan = f"; plan {self.plan_id}" if self.plan_id else ""
        begun = f"begun {self.started:%Y-%m-%d %H:%M:%S} UTC"
        said = [
            f"On {the_service(self.service)}, account {self.account}; {begun}{plan}.",
            *self.advice,
        ]
        if self.undo_note:
            said.append(self.undo_note)
        if self.restore_file is not None:
            said.append(f"The records as they were: {near(self.restore_file)}")
        if self.path is not None:
            said.append(f"This receipt: {near(self.path)}")
        return said

    @property
    def _tables(self) -> Sequence[Table]:
        rows = tuple(
            (
                item.state,
                item.nexus_type or "all types",
                ("! " if item.flagged else "") + item.status.replace("_", " "),
                NOTHING if item.expected is None else str(item.expected),
                NOTHING if item.deleted is None else str(item.deleted),
                item.message or STATUSES.get(item.status, ("", item.status))[1],
                plain(item.reference) if item.reference else NOTHING,
            )
            for item in self.items[:_SHOWN]
        )
        heads = ("State", "Type", "Status", ">Expected", ">Deleted", "~What happened", "Reference")
        left = len(self.items) - len(rows)
        more = f"and {left:,} more" if left else None
        return (Table("By state and type", heads, rows, more),)
