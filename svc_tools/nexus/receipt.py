"""Receipts: what removals or a restore did, did not do, and what is unknown.

A receipt is a view of the state that `fold` makes of a journal's lines, and claims nothing that no
line says. `read_receipt` reads one from disk, `receipts` all of a folder as a frame.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from svc_tools import config
from svc_tools.base.extras import needs
from svc_tools.nexus.journal import (
    ENDING,
    WHAT_TO_DO,
    JournalContent,
    JournalDamagedError,
    JournalError,
    read_journal,
)
from svc_tools.nexus.notices import PERMIT_NOTE
from svc_tools.nexus.register import DETAILS, FIELDS
from svc_tools.nexus.service import ABSENT
from svc_tools.show.display import (
    NOTHING,
    Note,
    Table,
    as_html,
    as_text,
    counted,
    near,
    number,
    plain,
    prose,
    the_service,
)
from svc_tools.tables.csv_files import guarded, write_rows
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from svc_tools.nexus.journal import Event
    from svc_tools.nexus.register import Record
ItemOutcome = Literal["done", "not_done", "unknown"]
OUTCOMES: tuple[ItemOutcome, ...] = ("done", "not_done", "unknown")
Key = tuple[str, str]
"""A state and a type; "" for all types of the state."""
ITEM_STATUSES: dict[str, tuple[ItemOutcome, str]] = {
    "removed": ("done", "removed"),
    "gone": ("done", "gone: it is no longer listed; the response to the removal was lost"),
    "replaced": ("done", "removed, and the chosen record added again"),
    "restored": ("done", "there again as it was"),
    "added": ("done", "added"),
    "updated": ("done", "changed as given"),
    "absent": ("not_done", "not on the service: there was nothing to remove"),
    "changed": ("not_done", "another record than expected is on the service: left alone"),
    "refused": ("not_done", "refused by the service"),
    "still_there": ("not_done", "still on the service"),
    "removed_only": ("not_done", "REMOVED, BUT NOT ADDED AGAIN"),
    "not_attempted": ("not_done", "not attempted"),
    "planned": ("not_done", "would be sent: this is a dry run"),
    "unknown": ("unknown", "not known: the response was lost, or does not say it"),
    "lost": ("unknown", "NO REMOVAL WAS SENT, and is gone since"),
}
"""The statuses of a request: whether it is done, and their meaning."""
_COUNTED = {
    "removed": "removed",
    "replaced": "replaced",
    "restored": "there again",
    "added": "added",
    "updated": "changed",
    "gone": "gone (the response was lost)",
    "removed_only": "REMOVED BUT NOT ADDED AGAIN",
    "unknown": "not known",
    "lost": "gone without a request",
}
"""The statuses that a sentence counts; "removed" only where the service reported it."""
UNSETTLED = frozenset({"unknown", "still_there"})
"""The statuses of a request that may have been carried out, or may be yet."""
OPEN_STATUSES = UNSETTLED | {"not_attempted", "removed_only"}
"""The statuses that leave something to be done, or to be found out."""
RUN_STOPPED = "it was stopped"
"""Why a run ended that Ctrl+C, or the caller, stopped."""
_RESTORABLE = UNSETTLED | {"removed", "gone", "removed_only", "lost"}
"""The statuses after which a record may have to be added again."""
_REVERSIBLE = _RESTORABLE | {"added", "updated", "replaced"}
"""The same of an addition or an edit: after these something may have to be put back."""
EDIT_KINDS = frozenset({"add", "edit"})
"""The kinds of runs that add or change a record."""
_NOUNS = {
    "restore": ("record", "restored"),
    "add": ("change", "made"),
    "edit": ("change", "made"),
}
_NAMED = 2
"""How many additions or edits a sentence names; more are counted."""
_BROKEN_OFF = "the program ended in the middle, or the end of the receipt was cut off"
_CUT_OFF = (
    "A request for {named} was about to be sent, or was sent, when the program ended: whether it"
    " was done is not known."
)


class ReceiptError(ValueError):
    """A receipt cannot be read, or must not be trusted."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request as it will be sent, but for the key and the address of the service.

    Attributes:
        state: the state that it is about.
        nexus_type: the type; "" for all types.
        method: DELETE or POST.
        path: the path.
        params: the parameters of the address.
        body: the JSON body; `None` for none.
        purpose: what it is for, in a sentence.
        expected: how many records a removal is expected to delete; `None` for other requests.
    """

    state: str
    nexus_type: str
    method: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    body: dict[str, str] | None = None
    purpose: str = ""
    expected: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The state and the type."""
        return self.state, self.nexus_type

    @property
    def line(self) -> str:
        """The method and the address, as they go over the wire."""
        query = f"?{urlencode(self.params)}" if self.params else ""
        return f"{self.method} {self.path}{query}"

    @property
    def text(self) -> str:
        """The line, with the JSON body where there is one."""
        return (
            f"{self.line} {json.dumps(self.body, ensure_ascii=False)}" if self.body else self.line
        )


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """The result for one state and type.

    Attributes:
        state: the postal code.
        nexus_type: the type; "" for all types of the state.
        outcome: done, not_done or unknown.
        status: in more detail; see `ITEM_STATUSES`.
        expected: how many records the removal was to delete; `None` where that was not known.
        deleted: how many the service reported as deleted; `None` where it did not report it.
        flagged: whether it requires review: another count than expected, a response about
            something else, a record that is gone although it was not ticked.
        reference: the support reference of the last response, if there was one.
        message: what happened, in a sentence.
        record: the record as it was before, which a restore adds; of an addition or an edit as it
            was saved. `None` where there was none.
        before: all records that a removal of this state and type takes, as they were.
        action: remove, replace, remove_all or restore; add, edit, or revert (undo an edit); "" for
            a record that was not ticked.
        step: the request that was sent last: remove or add; "" where none was.
        at: when its last event was (UTC); "" where nothing was sent.
        accepted: whether the service accepted the last removal without reporting its result.
    """

    state: str
    nexus_type: str
    outcome: ItemOutcome = field(init=False)
    status: str = "not_attempted"
    expected: int | None = None
    deleted: int | None = None
    flagged: bool = False
    reference: str | None = None
    message: str = ""
    record: Mapping[str, str | None] | None = None
    before: tuple[Mapping[str, str | None], ...] = ()
    action: str = "remove"
    step: str = ""
    at: str = ""
    accepted: bool = False

    def __post_init__(self) -> None:
        """Derive the outcome from the status."""
        object.__setattr__(self, "outcome", ITEM_STATUSES[self.status][0])

    @property
    def key(self) -> Key:
        """The state and the type."""
        return self.state, self.nexus_type

    @property
    def named(self) -> str:
        """The state and the type, for sentences."""
        return f"{self.state} {self.nexus_type or '(all types)'}"


def as_shown(item: ReceiptItem) -> ReceiptItem:
    """The item as a receipt has it: with a sentence, and flagged where a record is missing."""
    message = item.message or f"Nothing was sent for {item.named}."
    return replace(item, message=message, flagged=item.flagged or item.status == "removed_only")


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """What was done, what was not, and what is unknown, as the journal on disk has it.

    Attributes:
        path: the journal; `None` for a dry run, which writes nothing.
        plan_id: the plan; "" where there was none.
        service: the service.
        account: the fingerprint of the account, never the key.
        started: when (UTC).
        dry_run: whether nothing was changed on the service.
        finished: whether nothing is left to do or to find out.
        items: one per state and type.
        kind: apply, remove_state, add, edit or restore.
        ended: when the last run ended; `None` where it was cut off.
        stopped: why the last run ended before its end, in a sentence; "" where it did not.
        can_restore: whether the service can list and add, so that a removal can be undone; `None`
            where it lists, and does not describe whether it adds.
        restore_note: the same in a sentence.
        restore_file: the records as they were before, to be read as a register; if there is one.
        notes: further sentences for the user.
        of: of a restore, the name of the receipt whose records it adds again.
        requests: of a dry run, the requests that would be sent, in order.
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
    can_restore: bool | None = False
    restore_note: str = ""
    restore_file: Path | None = None
    notes: tuple[str, ...] = ()
    of: str = ""
    requests: tuple[PlannedRequest, ...] = ()

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
            would = f"{counted(len(self.requests), 'request')} would be sent{left}"
            return f"Dry run: {would}. Nothing was changed; only GET requests were sent."
        ticked = [item for item in self.items if item.action]
        noun, done = _NOUNS.get(self.kind, ("removal", "removed"))
        found = Counter(item.status for item in ticked)
        parts = [f"{found[status]} {words}" for status, words in _COUNTED.items() if found[status]]
        not_done = sum(
            item.outcome == "not_done" and item.status not in _COUNTED for item in ticked
        )
        parts += [f"{not_done} not {done}"] if not_done else []
        if self.kind in EDIT_KINDS and len(ticked) <= _NAMED:
            parts = [f"{one.named} {_COUNTED.get(one.status, 'not changed')}" for one in ticked]
        sentences = [f"{counted(len(ticked), noun)}: {', '.join(parts) or 'nothing to do'}."]
        if lost := [item.named for item in self.items if item.status == "lost"]:
            sentences.append(f"NO REMOVAL SENT, AND NO LONGER LISTED: {', '.join(lost)}.")
        if flagged := self.counts["flagged"]:
            sentences.append(f"Requires review: {flagged}.")
        if self.stopped:
            sentences.append(f"It ended early: {self.stopped.rstrip('.')}.")
        return " ".join(sentences)

    @property
    def restorable(self) -> tuple[ReceiptItem, ...]:
        """The items that a restore would check: their records are gone or changed, or may be."""
        if self.dry_run or self.kind == "restore":
            return ()
        if self.kind in EDIT_KINDS:
            sent = (item for item in self.items if item.step or item.status == "lost")
            return tuple(item for item in sent if item.status in _REVERSIBLE and item.record)
        return tuple(item for item in self.items if item.status in _RESTORABLE and item.record)

    @property
    def undoable(self) -> bool:
        """Whether there is something to undo, and nothing says that the service cannot do it."""
        return self.can_restore is not False and bool(self.restorable)

    @property
    def undo_note(self) -> str:
        """`restore_note` of a change, or of a restore that shows it; "" where nothing changes."""
        may_be_removed = any(item.status not in {"absent", "changed"} for item in self.items)
        shows_it = self.dry_run and self.can_restore is None
        asked = self.kind != "restore" or shows_it
        return self.restore_note if may_be_removed and asked else ""

    def frame(self) -> pd.DataFrame:
        """One row per state and type: the attributes of `ReceiptItem`, and the record's fields."""
        with needs("Receipts as a frame", "pandas"):
            import pandas as pd  # noqa: PLC0415 - a receipt is read without it
        plain_fields = ("state", "nexus_type", "outcome", "status", "expected", "deleted")
        rows = [
            {name: getattr(item, name) for name in plain_fields}
            | {"flagged": item.flagged, "message": item.message, "reference": item.reference}
            | {name: (item.record or {}).get(name) for name in DETAILS}
            | {"at": item.at or None}
            for item in self.items
        ]
        columns = [*plain_fields, "flagged", "message", "reference", *DETAILS, "at"]
        frame = pd.DataFrame(rows, columns=columns)
        counts: dict[str, str] = {"expected": "Int64", "deleted": "Int64", "flagged": "bool"}
        texts = dict.fromkeys((name for name in columns if name not in counts), text_dtype())
        return frame.astype({**texts, **counts})

    def __str__(self) -> str:
        """The receipt as text: the sentence, notes, a row per state and type."""
        return as_text(Note(self.sentence, self.sentences), *self._tables)

    def __repr__(self) -> str:
        """One line: the sentence."""
        return f"<Receipt: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(Note(self.sentence, self.sentences), *self._tables)

    @property
    def advice(self) -> Sequence[str]:
        """What to do or to know in addition to the rows, in sentences."""
        sentences = []
        if any(item.status == "unknown" for item in self.items):
            sentences.append(
                "What is not known may be done or not. Run it again: where the service lists its"
                " records, that is settled before anything is sent."
            )
        if not self.dry_run and not self.finished:
            sentences.append(
                "It is not finished. Run it again to continue where it ended; what is done is not"
                " sent again."
            )
        removed = self.kind in {"apply", "remove_state"} and self.counts["done"]
        return [*sentences, *self.notes, *([PERMIT_NOTE] if removed else [])]

    @property
    def sentences(self) -> Sequence[str]:
        """Service and account, the advice, whether it can be undone, and where the files are."""
        plan = f"; plan {self.plan_id}" if self.plan_id else ""
        begun = f"begun {self.started:%Y-%m-%d %H:%M:%S} UTC"
        sentences = [
            f"On {the_service(self.service)}, account {self.account}; {begun}{plan}.",
            *self.advice,
        ]
        if self.undo_note:
            sentences.append(self.undo_note)
        if self.restore_file is not None:
            sentences.append(f"The records as they were: {near(self.restore_file)}")
        if self.path is not None:
            sentences.append(f"This receipt: {near(self.path)}")
        return sentences

    @property
    def _tables(self) -> Sequence[Table]:
        rows = tuple(
            (
                item.state,
                item.nexus_type or "all types",
                ("! " if item.flagged else "") + item.status.replace("_", " "),
                NOTHING if item.expected is None else str(item.expected),
                NOTHING if item.deleted is None else str(item.deleted),
                item.message or ITEM_STATUSES.get(item.status, ("", item.status))[1],
                plain(item.reference) if item.reference else NOTHING,
            )
            for item in self.items[:200]
        )
        heads = (
            "State",
            "Type",
            "Status",
            number("Expected"),
            number("Deleted"),
            prose("What happened"),
            "Reference",
        )
        left = len(self.items) - len(rows)
        more = f"and {left:,} more" if left else None
        return (Table(heads, rows, "By state and type", more),)


def read_receipt(path: str | Path) -> Receipt:
    """Read a receipt from its journal; every line is checked.

    Args:
        path: the journal; a name alone is looked for in the folder of receipts too.

    Raises:
        ReceiptError: it was changed after it was written, is damaged, or is not a receipt.
        FileNotFoundError: there is no such file.
    """
    path = Path(path).expanduser()
    if not path.exists() and path.name == str(path):
        path = receipt_folder() / path.name
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no receipt {str(path)!r}; see `svc-tools nexus receipts`"
        )
    try:
        read = journal_of(path)
    except JournalDamagedError as error:
        raise ReceiptError(str(error)) from None
    if not read.events:
        raise ReceiptError(
            f"{path.name}: nothing was begun: the first line was not written to its end"
        )
    records = restore_file_of(path)
    try:
        return receipt_of(
            path.absolute(),
            read.events,
            restore_file=records.absolute() if records.exists() else None,
            torn=read.torn,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ReceiptError(f"{path.name} is no receipt that can be read: {error!r}") from error


def journal_of(path: Path) -> JournalContent:
    """The lines of a journal, none of them missing before the first removal.

    Raises:
        JournalDamagedError: see `read_journal`; or the records next to it, which are written after
            its first lines, show that it was cut.
        OSError: it cannot be read.
    """
    read = read_journal(path)
    begun = any(event["event"] == "run" for event in read.events)
    if not begun and restore_file_of(path).exists():
        raise JournalDamagedError(
            f"{path.name} was cut off: {restore_file_of(path).name} was written after lines that it"
            f" lacks. {WHAT_TO_DO}"
        )
    return read


def receipts(folder: str | Path | None = None) -> pd.DataFrame:
    """All receipts of a folder, newest first; one that cannot be trusted has a row too.

    Args:
        folder: the folder of receipts where none is given.

    Returns:
        A frame: file, started, kind, plan_id, service, account, finished, done, not_done, unknown,
        flagged, undoable (not once it was restored, or a restore showed that the service does not
        add records), said (the sentence, or what is wrong with the file), path.
    """
    with needs("Receipts as a frame", "pandas"):
        import pandas as pd  # noqa: PLC0415 - a receipt is read without it
    where = receipt_folder() if folder is None else Path(folder).expanduser()
    paths = sorted(where.glob(f"*{ENDING}"), reverse=True) if where.is_dir() else []
    rows = [_row(path) for path in paths]
    restored = {
        row["of"]: row["file"]
        for row in rows
        if row.get("of") and row["finished"] and not row["not_done"] and not row["unknown"]
    }
    refused = {row["of"] for row in rows if row.get("of") and row["can_restore"] is False}
    for row in rows:
        if row["file"] in refused:
            row["undoable"] = False
        if row["file"] in restored:
            row["undoable"] = False
            row["said"] = f"{row['said']} Restored: see {restored[row['file']]}."
    counts = (*OUTCOMES, "flagged")
    columns = ["file", "started", "kind", "plan_id", "service", "account", "finished"]
    columns += [*counts, "undoable", "said", "path"]
    frame = pd.DataFrame(rows, columns=columns)
    texts = ("file", "kind", "plan_id", "service", "account", "said", "path")
    kinds = dict.fromkeys(texts, text_dtype()) | dict.fromkeys(counts, "Int64")
    frame = frame.astype(kinds | {"finished": "boolean", "undoable": "boolean"})
    frame["started"] = pd.to_datetime(frame["started"], utc=True)
    return frame.sort_values("started", ascending=False, kind="stable", ignore_index=True)


def _row(path: Path) -> dict[str, object]:
    try:
        one = read_receipt(path)
    except (ReceiptError, OSError) as error:
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else None
        return {"file": path.name, "started": moment, "said": str(error), "path": str(path)}
    names = ("started", "kind", "plan_id", "service", "account", "finished", "undoable", "of")
    facts = {name: getattr(one, name) for name in (*names, "can_restore")}
    return {"file": path.name, **facts, **one.counts, "said": one.sentence, "path": str(path)}


def receipt_folder() -> Path:
    """The folder of receipts: `SVC_RECEIPTS`, else in the user's data folder.

    Raises:
        ConfigurationError: `SVC_RECEIPTS` is not a path.
    """
    return config.receipt_folder()


def restore_file_of(journal: Path) -> Path:
    """The file next to a journal with the records as they were."""
    return journal.with_name(f"{journal.name.removesuffix(ENDING)}-restore.csv")


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records as a register, whole or not at all, and on disk when this returns.

    Raises:
        JournalError: it cannot be written.
    """
    rows = dict.fromkeys(tuple(record.get(name) or "" for name in FIELDS) for record in records)
    cells = ([_cell(text) for text in row] for row in rows)
    try:
        write_rows(path, [FIELDS, *cells], private=True)
    except (OSError, UnicodeError) as error:  # half a character is no text that a file can hold
        raise JournalError(
            f"The file {path} with the records as they are cannot be written:"
            f" {getattr(error, 'strerror', None) or error}"
        ) from error


def _cell(text: str) -> str:
    """A text that a spreadsheet leaves alone: nothing from a service becomes a formula."""
    return text if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else guarded(text)


def receipt_of(
    path: Path | None, events: Sequence[Event], *, restore_file: Path | None = None, torn: str = ""
) -> Receipt:
    """The receipt that the lines of a journal make.

    Args:
        path: the journal.
        events: its lines, at least the first.
        restore_file: the file with the records as they were, where it is there.
        torn: the text of a last line that was cut off.
    """
    head = events[0]
    runs = [event for event in events if event["event"] == "run"]
    end = events[-1] if events[-1]["event"] == "end" else None
    undo = runs[-1]["undo"] if runs else {}
    newest = events[[*events].index(runs[-1]) if runs else 0 :]
    notes = [note for event in newest for note in event.get("notes", ())]
    # an addition shows what a service does not describe
    no_add = any(event.get("step") == "add" and event.get("http") in ABSENT for event in newest)
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
        items=tuple(map(as_shown, fold(events).values())),
        kind=head["kind"],
        ended=None if end is None else datetime.fromisoformat(end["at"]).astimezone(UTC),
        stopped=_BROKEN_OFF if end is None else end["why"],
        can_restore=undo.get("adds") if undo.get("lists") and not no_add else False,
        restore_note=undo.get("note", ""),
        restore_file=restore_file,
        notes=tuple(notes),
        of=head["key"] if head["kind"] == "restore" else "",
    )


def fold(events: Iterable[Event]) -> dict[Key, ReceiptItem]:
    """The items of all states and types, in the order in which the lines name them."""
    items: dict[Key, ReceiptItem] = {}
    for event in events:
        apply_event(items, event)
    return items


def apply_event(items: dict[Key, ReceiptItem], event: Event) -> None:
    """Update the items by one more line."""
    if event["event"] == "run":
        _begin_run(items, event)
    elif event["event"] == "seen":
        _compare_with_list(items, event)
    elif "item" in event:
        state, kind = event["item"]
        item = items.get((state, kind)) or ReceiptItem(state, kind)
        items[state, kind] = _after_step(item, event)


def _begin_run(items: dict[Key, ReceiptItem], event: Event) -> None:
    """A run starts: add its items; drop those that were never sent and are not ticked now."""
    about = {(one["state"], one["nexus_type"]): one for one in event["items"]}
    for key in [key for key, item in items.items() if item.status == "not_attempted"]:
        if key not in about:
            del items[key]
    for key, one in about.items():
        item = items.get(key) or ReceiptItem(*key)
        if not item.step and item.status != "lost":  # else as it was when the request was sent
            item = replace(item, action=one["action"])
        if item.status == "not_attempted":
            item = replace(item, expected=one["expected"])
        items[key] = item


def _after_step(item: ReceiptItem, event: Event) -> ReceiptItem:
    """An item after a request was recorded, or its response."""
    if event["event"] == "sending":
        item = replace(
            item,
            step=event["step"],
            action=event.get("action", item.action),
            record=event["record"],
            before=tuple(event["before"]),
            status="unknown",  # until its response is recorded
            message=_CUT_OFF.format(named=item.named),
            at=event["at"],
        )
        if event["step"] == "remove":
            facts = {"expected": event["expected"], "deleted": None, "flagged": False}
            item = replace(item, **facts, accepted=False)
        return item
    deleted = event.get("deleted")
    return replace(
        item,
        status=event["status"],
        message=event["message"],
        flagged=item.flagged or bool(event.get("flagged")),
        reference=event.get("reference") or item.reference,
        deleted=item.deleted if deleted is None else deleted,
        record=event.get("record", item.record),
        before=tuple(event.get("before", item.before)),
        at=event["at"],
        accepted=bool(event.get("accepted", item.accepted)),
    )


def _compare_with_list(items: dict[Key, ReceiptItem], event: Event) -> None:
    """The list at the end: what should be gone and is not, and what should not be and is."""
    for state, kind in event["still"]:
        item = items[state, kind]
        message = f"{item.message} But it is still listed: look on the service."
        items[state, kind] = replace(item, status="still_there", flagged=True, message=message)
    for record in event["lost"]:
        key = record["state"], record["nexus_type"]
        item = items.get(key) or ReceiptItem(*key, action="")
        others = item.before if item.status == "lost" else ()
        items[key] = replace(
            item,
            status="lost",
            flagged=True,
            record=item.record if others else record,
            before=(*others, record),
            message=(
                f"No removal of {item.named} was sent, and it is no longer listed after the others."
                " Whether one of them took it, or somebody else, is not known."
            ),
            at=event["at"],
        )
