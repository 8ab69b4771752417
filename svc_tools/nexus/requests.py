"""The requests of a ticked plan: whether they still fit, each sent once, and what came back.

Only `exchange` uses the network; the rest is pure. A request is planned, shown and sent as the same
value.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from svc_sdk import (
    AuthError,
    ForbiddenError,
    PaymentRequiredError,
    RateLimitError,
    SvcError,
    wire,
)
from svc_sdk.wire import Call, Failure, Reply
from svc_tools.nexus.receipt import EDIT_KINDS, UNSETTLED, PlannedRequest
from svc_tools.nexus.register import DETAILS, FIELDS
from svc_tools.nexus.service import ABSENT, ListedRecords, compared
from svc_tools.show.display import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from svc_sdk import Svc
    from svc_sdk.models import NexusRecord, NexusRemoval
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Receipt, ReceiptItem
    from svc_tools.nexus.register import Record, Register, Registration

_LONGEST_BODY, _LONGEST_QUOTE, _DEEPEST = 4_000, 80, 20
_REDIRECTED, _REFUSED = 3, 4
"""The first digits of statuses after which a request is certainly not done."""
_DONE = frozenset({HTTPStatus.OK, HTTPStatus.NO_CONTENT})
"""The statuses that report a removal as done (SPEC 4.1); others, such as 202, accept it at most."""
_STOPS = (AuthError, PaymentRequiredError, ForbiddenError)


class ApplyError(ValueError):
    """Nothing was changed; the message has the reason, and what to do."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change to make of the records of a state and type.

    Attributes:
        state: the postal code.
        nexus_type: the type; "" for all types of the state.
        action: remove, replace, remove_all or restore; add, edit, or revert (undo an edit).
        expected: how many records the removal should delete; `None` where that is not known.
        rows: the records as they were when the user decided.
        record: the one to be added: by "add", again by "replace" or a restore, or as an edit, or
            its undo, leaves it.
        loose: whether a blank field of the rows matches anything: they are from the user's own
            register, and no service was listed when the plan was made.
    """

    state: str
    nexus_type: str
    action: str
    expected: int | None
    rows: tuple[Record, ...] = field(default=())
    record: Record | None = None
    loose: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The state and the type."""
        return self.state, self.nexus_type

    @property
    def named(self) -> str:
        """The state and the type, for sentences."""
        return f"{self.state} {self.nexus_type or '(all types)'}"


ADDED = {
    "replace": "replaced",
    "restore": "restored",
    "add": "added",
    "edit": "updated",
    "revert": "restored",
}
"""The actions that add or update a record, with the status of one that is done."""
_EDITS = frozenset({"edit", "revert"})
TWO_STEPS = _EDITS | {"replace"}
"""The actions that may remove first, and then add."""


def ticked_changes(plan: Plan) -> tuple[Change, ...]:
    """The changes that are ticked in a plan, in its order: one for each state and type.

    Raises:
        PlanError: the ticks contradict each other.
    """
    found = []
    loose = not (plan.service or plan.account)
    for removal in plan.removals:
        rows = tuple(_record_of(row.record) for row in removal.rows)
        keep = None if removal.keep is None else _record_of(removal.keep.record)
        action = "remove" if keep is None else "replace"
        found.append(
            Change(removal.state, removal.nexus_type, action, removal.expected, rows, keep, loose)
        )
    return tuple(found)


def restorations(receipt: Receipt) -> tuple[Change, ...]:
    """What puts back what a receipt's requests changed.

    Of a removal an addition for each record that may be gone; of several of one state and type, the
    first. Of an addition its removal, and of an edit the former record, in the opposite order.
    """
    if receipt.kind in EDIT_KINDS:
        return tuple(_reversal(item) for item in reversed(receipt.restorable))
    records: dict[tuple[str, str], Record] = {}
    for item in receipt.restorable:
        alone = item.action == "replace" and item.record is not None
        for record in (item.record,) if alone else item.before:
            if record is not None:
                key = (record["state"] or "", record["nexus_type"] or "")
                records.setdefault(key, dict(record))
    return tuple(
        Change(state, kind, "restore", None, (record,), record)
        for (state, kind), record in records.items()
    )


def _reversal(item: ReceiptItem) -> Change:
    """The change that undoes an addition, an edit, or the removal that is a part of one."""
    sent = dict(item.record or {})
    if item.action == "add":
        return Change(*item.key, "remove", 1, (sent,))
    before = dict(item.before[0]) if item.before else sent
    if item.action == "edit":
        return Change(*item.key, "revert", None, (sent,), before)
    return Change(*item.key, "restore", None, (before,), before)


def not_restored(receipt: Receipt, changes: Iterable[Change]) -> Iterator[str]:
    """Sentences on what a restore does not add again."""
    names = {
        name
        for change in changes
        for name, value in (change.record or {}).items()
        if value is not None and name not in {*FIELDS, "created_at", "updated_at"}
    }
    if names:
        listed = ", ".join(sorted(names))
        yield f"The service had more of the records ({listed}), which cannot be added again."
    if receipt.kind in EDIT_KINDS:
        return
    if doubtful := [item.named for item in receipt.restorable if item.status in UNSETTLED]:
        yield (
            f"Whether a removal was carried out, or will be, is not known: {', '.join(doubtful)}."
            " Look at the list again later; where a record is gone then, restore once more."
        )
    for item in receipt.restorable:
        kinds = Counter((record["state"], record["nexus_type"]) for record in item.before)
        for (state, kind), count in kinds.items():
            if count > 1 and item.status != "removed_only":
                yield (
                    f"{state} {kind} had {count} records, and one is added again; the others are in"
                    " the file next to the receipt."
                )


def _record_of(registration: Registration) -> Record:
    """A record of a register in the form of the wire format."""
    since = None if registration.registered_at is None else registration.registered_at.isoformat()
    return {
        "state": registration.state,
        "nexus_type": registration.nexus_type,
        "registered_at": since,
        "address": registration.address,
        "notes": registration.notes,
    }


def as_listed(register: Register) -> ListedRecords:
    """A register in the form in which a service lists."""
    records: dict[tuple[str, str], tuple[Record, ...]] = {}
    for registration in register.records:
        key = (registration.state, str(registration.nexus_type))
        records[key] = (*records.get(key, ()), _record_of(registration))
    return ListedRecords(records)


def requests_for(
    change: Change, expected: int | None = None, *, half: bool = False
) -> tuple[PlannedRequest, ...]:
    """The requests that make a change: a removal, an addition, or one after the other.

    A removal names its type, unless the change removes all types. An addition updates the record
    that is there (WIRE), and leaves what is not given as it was: an edit that clears a field
    removes the record first.

    Args:
        change: the change, with the record to be added as the service has it.
        expected: how many records a removal is expected to delete.
        half: the removal was done before.

    Raises:
        ValueError: a record cannot be added as it is.
        ApplyError: a removal without a type.
    """
    found = []
    removes = change.action not in ADDED or change.action == "replace" or clears(change)
    if not half and removes:
        if not change.nexus_type and change.action != "remove_all":
            raise ApplyError(f"{change.state}: a removal names its type; nothing was sent")
        every = "every" if change.action == "remove_all" else f"the {change.nexus_type}"
        count = f" ({counted(expected, 'record')})" if expected is not None and expected > 1 else ""
        call = wire.remove_nexus_call(change.state, change.nexus_type or None)
        purpose = f"Remove {every} record of {change.state}{count}."
        found.append(_planned(change, call, purpose, expected))
    if change.record is not None:
        purpose = _PURPOSES[change.action].format(change.named)
        if found:
            purpose = f"Then add this record of {change.named} again."
        found.append(_planned(change, _addition(change.record), purpose))
    return tuple(found)


_PURPOSES = {
    "replace": "Add the record of {} that is to stay.",
    "restore": "Add the record of {} again, as it was.",
    "add": "Add this record of {}.",
    "edit": "Change the record of {}.",
    "revert": "Put the record of {} back as it was.",
}


def clears(change: Change) -> bool:
    """Whether an edit, or its undo, leaves a field empty that has a value."""
    record = change.record
    return (
        change.action in _EDITS
        and record is not None
        and any(
            compared(row, name) is not None and compared(record, name) is None
            for row in change.rows
            for name in DETAILS
        )
    )


def _planned(
    change: Change, call: Call, purpose: str, expected: int | None = None
) -> PlannedRequest:
    state, kind = change.key
    return PlannedRequest(
        state, kind, call.method, call.path, call.params, call.json, purpose, expected
    )


def _addition(record: Record) -> Call:
    """The request that adds a record."""
    return wire.add_nexus_call(
        record["state"] or "",
        nexus_type=record["nexus_type"] or "",
        registered_at=record.get("registered_at") or None,
        address=record.get("address"),
        notes=record.get("notes"),
    )


def mismatch(change: Change, records: tuple[Record, ...]) -> tuple[str, str] | None:
    """Why nothing may be sent, given the records on the service: a status and a sentence.

    `None` where it may be sent. Every record on the service must be one that the user saw when
    deciding, each another one: a record that was added since is never removed along with them, and
    never overwritten by a restore.
    """
    alone = [record for record, row in _with_rows(change, records) if row is None]
    if change.action in ADDED and change.action != "replace":
        return _not_put(change, records, alone)
    if not records:
        return "absent", f"There is no {change.named} on the service (any more): nothing to remove."
    if change.action == "remove_all":
        return None
    if alone:
        return "changed", (
            f"{change.named} is another record on the service than expected"
            f" ({_differences(change, alone[0])}). It was left alone; to remove it, make a plan"
            " from what the service lists now."
        )
    if len(_staying(change, records)) > 1:
        return "changed", (
            f"{change.named} was left alone: several records on the service fit the one that is to"
            " stay, and the plan does not identify it. Make the plan from what the service"
            " lists now."
        )
    return _not_addable(change, with_listed_record(change, records).record)


def _not_restored(change: Change, alone: list[Record]) -> tuple[str, str]:
    if alone:
        return "changed", f"{change.named} is there again as another record; it was left alone."
    return "restored", f"{change.named} is there as it was; nothing was added."


def _not_put(
    change: Change, records: tuple[Record, ...], alone: list[Record]
) -> tuple[str, str] | None:
    """The same for a record that is to be added or changed."""
    if change.action == "restore":
        return _not_restored(change, alone) if records else _not_addable(change, change.record)
    record = change.record or {}
    if not record or (not records and change.action == "edit"):
        return "absent", f"There is no {change.named} on the service (any more): nothing to change."
    if len(records) == 1 and not _unlike(record, records[0], loose=False):
        return ADDED[change.action], f"{change.named} is there as it should be; nothing was sent."
    what = "; ".join(details_in_words(record) for record in records)
    if records and change.action == "add":
        return "changed", f"{change.named} is registered already ({what}): nothing was sent."
    if alone or len(records) > 1:
        return "changed", (
            f"{change.named} was left alone: another record than expected is on the service"
            f" ({what})."
        )
    return _not_addable(change, change.record)


def details_in_words(record: Record) -> str:
    """The details of a record, in a few words."""
    texts = [
        f"{name.replace('_', ' ')} {value}" for name in DETAILS if (value := compared(record, name))
    ]
    return ", ".join(texts) or "no details"


def _not_addable(change: Change, record: Record | None) -> tuple[str, str] | None:
    if problem := unaddable(record):
        return (
            "refused",
            f"{change.named} was left alone, for it could not be added again: {problem}.",
        )
    return None


def unaddable(record: Record | None) -> str:
    """Why no request can add a record again, such as a day in another form; "" where one can."""
    try:
        if record is not None:
            _addition(record)
    except ValueError as error:
        return str(error)
    return ""


def with_listed_record(change: Change, records: tuple[Record, ...]) -> Change:
    """The change with the record to be added again as the service has it.

    A ticked file may have fewer details of it, or write them in another way.
    """
    if change.action != "replace" or change.record is None:
        return change
    staying = _staying(change, records)
    return replace(change, record=staying[0]) if staying else change


def extra_details(change: Change, records: tuple[Record, ...]) -> str:
    """What the service has of the records and the plan has not, in words; "" for nothing."""
    return "; ".join(
        f"{name} {_quoted(compared(record, name))}"
        for record, row in _with_rows(change, records)
        for name in DETAILS
        if row is not None and compared(row, name) is None and compared(record, name) is not None
    )


def _unlike(row: Record, record: Record, *, loose: bool) -> list[str]:
    """The fields in which two records differ, in words."""
    triples = [(name, compared(row, name), compared(record, name)) for name in DETAILS]
    return [
        f"{name} {_quoted(is_there)} there, {_quoted(expected)} expected"
        for name, expected, is_there in triples
        if expected != is_there and not (loose and expected is None)
    ]


def _with_rows(change: Change, records: tuple[Record, ...]) -> list[tuple[Record, Record | None]]:
    """Each record that is there with the row of the plan most like it, each row for one record.

    A record that fits no row that is left has `None`.
    """
    left = [*change.rows]
    found: list[tuple[Record, Record | None]] = []
    for record in records:
        fits = [row for row in left if not _unlike(row, record, loose=change.loose)]
        row = min(fits, key=lambda row: len(_unlike(row, record, loose=False)), default=None)
        if row is not None:
            left.remove(row)
        found.append((record, row))
    return found


def _staying(change: Change, records: tuple[Record, ...]) -> list[Record]:
    """The records that the one to be added again may be, each once."""
    fitting: list[Record] = []
    for record, row in _with_rows(change, records):
        is_it = row is not None and row == change.record
        if is_it and all(_unlike(other, record, loose=False) for other in fitting):
            fitting.append(record)
    return fitting if change.action == "replace" else []


def _differences(change: Change, record: Record) -> str:
    """What differs from the most alike of the rows, in words."""
    found = [_unlike(row, record, loose=change.loose) for row in change.rows]
    fewest = min(found, key=len, default=["no such record"])
    return "; ".join(fewest) or "there are more of them"


def _quoted(value: str | None) -> str:
    if value is None:
        return "none"
    return repr(value if len(value) <= _LONGEST_QUOTE else f"{value[:_LONGEST_QUOTE]}\u2026")


@dataclass(frozen=True, slots=True)
class RequestResult:
    """What came back for one request.

    Attributes:
        outcome: the response, or the failure that prevented one.
        sent: whether the request can have reached the service.
        body: the response's parsed body, else its text (cut); without the key.
        reference: the response's support reference, if there is one.
    """

    outcome: Reply | Failure
    sent: bool = True
    body: Any = None
    reference: str | None = None

    @property
    def http(self) -> int | None:
        """The HTTP status; `None` where no response came."""
        return self.outcome.status if isinstance(self.outcome, Reply) else None


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """What a response means for one item.

    Attributes:
        status: one of `receipt.STATUSES`; "unknown" is to be settled by listing.
        message: a sentence.
        deleted: how many records the service reported as deleted, if it did.
        flagged: whether it requires review.
        stop: why nothing further may be sent, in a sentence; "" to go on.
        accepted: whether the service accepted a removal without reporting its result: the list is
            what shows it.
    """

    status: str
    message: str
    deleted: int | None = None
    flagged: bool = False
    stop: str = ""
    accepted: bool = False


def exchange(client: Svc, request: PlannedRequest) -> RequestResult:
    """Send a request once; nothing retries it, here or below."""
    call = Call(request.method, request.path, request.params, request.body)
    outcome = wire.exchange_once(client, call)
    if isinstance(outcome, Failure):
        return RequestResult(outcome, sent=outcome.sent)
    return _result_of(outcome)


def _result_of(reply: Reply) -> RequestResult:
    text = reply.body[: _LONGEST_BODY * 4].decode("utf-8", "replace")[:_LONGEST_BODY]
    body: Any = text
    with suppress(ValueError, RecursionError):
        parsed = json.loads(reply.body) if len(reply.body) <= _LONGEST_BODY else text
        body = parsed if _is_shallow(parsed, _DEEPEST) else text
    return RequestResult(reply, body=body, reference=_reference(reply, body))


def _is_shallow(value: object, levels: int) -> bool:
    """Whether JSON is nested so little that every reader of the journal can read it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(child, levels - 1) for child in inner)


def _reference(reply: Reply, body: object) -> str | None:
    inner = body.get("error") if isinstance(body, dict) else None
    reference = inner.get("support_reference") if isinstance(inner, dict) else None
    if not isinstance(reference, str):
        reference = reply.headers.get("x-request-id")
    return printable(reference) if reference else None


def removal_verdict(change: Change, expected: int | None, result: RequestResult) -> ItemVerdict:
    """What the response to a removal means (SPEC 4.1): never more than it states."""
    try:
        response = wire.parse_nexus_removal(result.outcome, 1)
    except SvcError as error:
        return _failed(change, result, error, done="removed")
    if about := _other_subject(change, response):
        return ItemVerdict(
            "unknown",
            f"The response is about {about}, not about {change.named}: look on the service which"
            " records are gone.",
            response.deleted,
            flagged=True,
            stop=f"the response for {change.named} is about {about}",
        )
    deleted = response.deleted
    accepted = deleted is None or result.http not in _DONE
    if deleted is None or (accepted and deleted == 0):
        done = f"The service accepted the removal of {change.named}, without a number of records."
        return ItemVerdict("removed", done, accepted=True)
    if deleted == 0:
        return ItemVerdict(
            "absent",
            f"The service removed nothing: {change.named} was not there (any more).",
            deleted,
            flagged=expected is not None and expected > 0,
        )
    removed = f"The service removed {counted(deleted, 'record')} of {change.named}"
    if expected is None or deleted == expected:
        return ItemVerdict("removed", f"{removed}.", deleted, accepted=accepted)
    message = f"{removed}, where {expected} {'was' if expected == 1 else 'were'} expected."
    stop = f"{change.named}: more records were removed than expected" if deleted > expected else ""
    return ItemVerdict("removed", message, deleted, flagged=True, stop=stop, accepted=accepted)


def accepted_verdict(
    item: ReceiptItem, verdict: ItemVerdict, http: int | None, records: tuple[Record, ...] | None
) -> ItemVerdict:
    """What a removal did that the service accepted without reporting its result.

    Args:
        item: the state and type.
        verdict: what its response means.
        http: the status of the response.
        records: the records of its state and type that are listed now; `None` where that is not
            known.
    """
    if records:
        return settled_verdict(item, records, "the number of records")
    if records is not None or http in _DONE:
        return verdict
    message = (
        f"The service accepted the removal of {item.named} (status {http}). Whether it was carried"
        " out is not known."
    )
    return ItemVerdict("unknown", message, verdict.deleted)


def addition_verdict(change: Change, result: RequestResult, *, done: str) -> ItemVerdict:
    """What the response to an addition means; `done` is the status where it is as it should be."""
    try:
        response = wire.parse_nexus_record(result.outcome, 1)
    except SvcError as error:
        return _failed(change, result, error, done="added")
    if differing := _differing(response, change.record or {}):
        return ItemVerdict(
            done,
            f"{change.named} was saved, but the service has another {differing} than was sent.",
            flagged=True,
        )
    words = {"add": "added", "edit": "changed", "revert": "put back as it was"}
    return ItemVerdict(done, f"{change.named} was {words.get(change.action, 'added again')}.")


def _other_subject(change: Change, response: NexusRemoval) -> str:
    """What a response is about, where it is not about the change; blanks do not contradict it."""
    state, kind = (compared(response.model_dump(), name) for name in ("state", "nexus_type"))
    has_kind = "nexus_type" in response.model_fields_set
    other_kind = has_kind and (kind or "") != change.nexus_type
    if state in {None, change.state} and not other_kind:
        return ""
    return f"{state or change.state} {(kind or 'of all types') if has_kind else ''}".strip()


def _differing(response: NexusRecord, record: Record) -> str:
    returned = response.model_dump()
    return ", ".join(name for name in FIELDS if compared(returned, name) != compared(record, name))


def _failed(change: Change, result: RequestResult, error: SvcError, *, done: str) -> ItemVerdict:
    """What a failure means: refused and so not done, or unknown."""
    reason = str(error).rstrip(".")
    if not result.sent:
        return ItemVerdict(
            "refused",
            f"{change.named} was not {done}: {reason}.",
            stop=f"the service cannot be reached: {error.message}",
        )
    status = result.http
    kind = None if status is None else status // 100
    if kind not in {_REDIRECTED, _REFUSED} or status == HTTPStatus.REQUEST_TIMEOUT:
        return ItemVerdict("unknown", f"Whether {change.named} was {done} is not known: {reason}.")
    message = f"{change.named} was not {done}; the service refused it: {reason}."
    if isinstance(error, RateLimitError):
        after = error.retry_after
        wait = f" for {after:g} seconds" if after else ""
        return ItemVerdict(
            "refused", message, stop=f"the service requires a pause{wait}; run it again after it"
        )
    if change.action in ADDED and done == "added" and status in ABSENT:
        stop = "this service does not add records"
        if change.action == "restore":
            stop += ", so the removal cannot be undone on it"
        return ItemVerdict("refused", message, stop=stop)
    if isinstance(error, _STOPS) or status == HTTPStatus.METHOD_NOT_ALLOWED or kind == _REDIRECTED:
        return ItemVerdict("refused", message, stop=error.message)
    return ItemVerdict("refused", message)


def settled_verdict(item: ReceiptItem, records: tuple[Record, ...], of: str) -> ItemVerdict:
    """What the list shows of a request whose response was lost.

    Args:
        item: the state and type: its last request, and the records as they were before it.
        records: the records of its state and type that are listed now.
        of: what was lost, for the sentence.
    """
    if item.step == "add":
        return _settled_addition(item, records)
    if not records and (item.deleted or item.accepted):
        by = "as the service reported" if item.deleted else "for the service had accepted that"
        gone = ItemVerdict("removed", f"{item.named} was removed, {by}.")
        return removed_only_verdict(item, gone) if item.action in TWO_STEPS else gone
    if not records:
        gone = ItemVerdict(
            "gone",
            f"{item.named} is gone: it is no longer listed. Whether this request removed it is"
            f" not known: {of} was lost.",
        )
        return removed_only_verdict(item, gone) if item.action in TWO_STEPS else gone
    if _as_before(item, records):
        return ItemVerdict(
            "still_there",
            f"{item.named} is still listed as it was: it was not removed, or not yet. Run it again"
            " to settle it.",
        )
    left, before = len(records), len(item.before)
    return ItemVerdict(
        "unknown",
        f"Whether {item.named} was removed is not known: {counted(left, 'record')}"
        f" {'is' if left == 1 else 'are'} listed, and not as before ({counted(before, 'record')})."
        " Look on the service, and make a new plan.",
        flagged=True,
    )


def doubted_verdict(item: ReceiptItem, verdict: ItemVerdict) -> ItemVerdict:
    """The verdict on a further removal, where the response to an earlier one was lost."""
    if verdict.status == "absent":
        message = f"{item.named} is gone. An earlier request may have removed it."
        gone = replace(verdict, status="gone", message=message, flagged=False)
        return removed_only_verdict(item, gone) if item.action in TWO_STEPS else gone
    return replace(verdict, status="still_there") if verdict.status == "refused" else verdict


def _settled_addition(item: ReceiptItem, records: tuple[Record, ...]) -> ItemVerdict:
    """The result of an addition or an edit, by the records that the service lists for its key."""
    if not records:
        lost = ItemVerdict("refused", f"{item.named} is not listed: it was not added.")
        return removed_only_verdict(item, lost) if item.action in TWO_STEPS else lost
    same = item.record is not None and _compared(item.record) in map(_compared, records)
    if same and len(records) == 1:
        return ItemVerdict(ADDED[item.action], f"{item.named} is there as it should be.")
    if item.action in _EDITS and _as_before(item, records):
        return ItemVerdict(
            "still_there",
            f"{item.named} is still listed as it was: it was not changed, or not yet. Run it again"
            " to settle it.",
        )
    if same:
        return ItemVerdict(
            "unknown",
            f"Whether {item.named} was added is not known: {len(records)} records are listed, and"
            " the one that was to be added is among them. Look on the service.",
            flagged=True,
        )
    return ItemVerdict(
        "changed",
        f"{item.named} is there as another record than was added: look on the service.",
        flagged=True,
    )


def _as_before(item: ReceiptItem, records: tuple[Record, ...]) -> bool:
    return sorted(map(_compared, records)) == sorted(map(_compared, item.before))


def unlike_sent(item: ReceiptItem, records: tuple[Record, ...]) -> str:
    """What is wrong where a record that was saved is not the only one listed, as it was sent."""
    if (
        len(records) == 1
        and item.record is not None
        and _compared(item.record) == _compared(records[0])
    ):
        return ""
    listed = "; ".join(map(details_in_words, records)) or "no record"
    return f"{item.message} The service lists {listed}: look there."


def removed_only_verdict(item: ReceiptItem, verdict: ItemVerdict) -> ItemVerdict:
    """The verdict where only the first half of "remove, then add one" is done."""
    return replace(
        verdict,
        status="removed_only",
        message=f"{verdict.message} The record that was to stay is NOT there yet: {item.named} has"
        " no record now. Run the same again, or add it from the file of records.",
    )


def _compared(record: Mapping[str, str | None]) -> tuple[str, ...]:
    return tuple(compared(record, name) or "" for name in FIELDS)
