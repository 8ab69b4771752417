"""From a ticked plan to the requests that it means, and whether they still fit. Pure."""

# MERGED apply_exchange: One request, sent once, and what its answer means. Only `exchange` touches the network.

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx

from svc_sdk import (
    AuthError,
    ForbiddenError,
    PaymentRequiredError,
    RateLimitError,
    SvcError,
    _requests,
    _responses,
)
from svc_sdk._responses import Failure, Reply
from svc_tools.display import counted, printable
from svc_tools.nexus.register import DETAILS, FIELDS
from svc_tools.nexus.service import ListedRecords, compared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_sdk import Svc
    from svc_sdk._requests import Call
    from svc_sdk.models import NexusRecord, NexusRemoval
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Record
    from svc_tools.nexus.register import Register, Registration

_TOLD = 80

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_LONGEST = 4_000
_TIMEOUT, _METHOD, _TOO_MANY = 408, 405, 429
_STOPS = (AuthError, PaymentRequiredError, ForbiddenError)


class ApplyError(ValueError):
    """Nothing was sent; the message says why, and what to do."""


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


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of one state and type.

    Attributes:
        state: the postal code.
        nexus_type: the type; "" for all types of the state.
        action: remove, replace, remove_all or restore; add for the rest of a "replace".
        expected: how many records the removal should delete; `None` where nobody can say.
        rows: the records as they were when the person decided.
        record: the one to be added again: by "replace", or by a restore.
        loose: whether a blank field of the rows says nothing: they are of a person's own register,
            and no service was asked when the plan was made.
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


def changes_of(plan: Plan) -> tuple[Change, ...]:
    """What the ticks of a plan mean, in its order: one removal for each state and type.

    Raises:
        PlanError: the ticks contradict each other.
    """
    found = []
    loose = not (plan.service or plan.account)
    for one in plan.removals:
        rows = tuple(record_of(row.record) for row in one.rows)
        keep = None if one.keep is None else record_of(one.keep.record)
        action = "remove" if keep is None else "replace"
        found.append(Change(one.state, one.nexus_type, action, one.expected, rows, keep, loose))
    return tuple(found)


def record_of(one: Registration) -> Record:
    """A record of a register as the wire has it."""
    since = None if one.registered_at is None else one.registered_at.isoformat()
    return {
        "state": one.state,
        "nexus_type": one.nexus_type,
        "registered_at": since,
        "address": one.address,
        "notes": one.notes,
    }


def as_listed(register: Register) -> ListedRecords:
    """A register in the form in which a service lists."""
    records: dict[tuple[str, str], tuple[Record, ...]] = {}
    for one in register.records:
        key = (one.state, str(one.nexus_type))
        records[key] = (*records.get(key, ()), record_of(one))
    return ListedRecords(records)


def removal(change: Change) -> Call:
    """The request that removes: always of one type, unless all types are what was asked for.

    Raises:
        ApplyError: there is no type, and no act of its own that removes all types.
    """
    if not change.nexus_type and change.action != "remove_all":
        raise ApplyError(f"{change.state}: a removal names its type; nothing was sent")
    return _requests.remove_nexus(change.state, change.nexus_type or None)


def addition(record: Record) -> Call:
    """The request that adds a record."""
    return _requests.add_nexus(
        record["state"] or "",
        nexus_type=record["nexus_type"] or "",
        registered_at=record.get("registered_at"),
        address=record.get("address"),
        notes=record.get("notes"),
    )


def mismatch(change: Change, there: tuple[Record, ...]) -> tuple[str, str] | None:
    """Why nothing may be sent for what is on the service now: a status and a sentence; or nothing.

    Every record that is there has to be one that the person saw when she decided, each another
    one: what came since is never taken along, and never written over by a restore.
    """
    alone = [record for record, row in _with_rows(change, there) if row is None]
    if change.action == "restore":
        return _not_restored(change, alone) if there else _not_addable(change, change.record)
    if not there:
        return "absent", f"There is no {change.named} on the service (any more): nothing to remove."
    if change.action == "remove_all":
        return None
    if alone:
        return "changed", (
            f"{change.named} is another record on the service than in the plan"
            f" ({_differences(change, alone[0])}). It was left alone; to remove it, make the plan"
            " from what the service lists now."
        )
    if len(_staying(change, there)) > 1:
        return "changed", (
            f"{change.named} was left alone: several records on the service fit the one that is to"
            " stay, and the plan does not say which it is. Make the plan from what the service"
            " lists now."
        )
    return _not_addable(change, with_listed_record(change, there).record)


def _not_restored(change: Change, alone: list[Record]) -> tuple[str, str]:
    if alone:
        return "changed", f"{change.named} is there again as another record; it was left alone."
    return "restored", f"{change.named} is there as it was; nothing was sent."


def _not_addable(change: Change, record: Record | None) -> tuple[str, str] | None:
    try:
        if record is not None:
            addition(record)
    except ValueError as error:  # a day that another service wrote in another way
        told = f"{change.named} was left alone, for it could not be added again: {error}."
        return "refused", told
    return None


def with_listed_record(change: Change, there: tuple[Record, ...]) -> Change:
    """The same, where what is to be added again is the record as the service has it.

    A file that a person ticked may have less of it, or write it in another way.
    """
    if change.action != "replace" or change.record is None:
        return change
    staying = _staying(change, there)
    return replace(change, record=staying[0]) if staying else change


def extra_details(change: Change, there: tuple[Record, ...]) -> str:
    """What the service has of the records that the plan does not say, in words; "" for nothing."""
    return "; ".join(
        f"{name} {_said(compared(record, name))}"
        for record, row in _with_rows(change, there)
        for name in DETAILS
        if row is not None and compared(row, name) is None and compared(record, name) is not None
    )


def planned(changes: Iterable[Change], listed: ListedRecords | None) -> tuple[PlannedRequest, ...]:
    """The requests of what is wanted, in order, but for those that would not be sent."""
    found = []
    for one in changes:
        there = None if listed is None else listed.of(*one.key)
        if there is not None and mismatch(one, there):
            continue
        record = one.record if there is None else with_listed_record(one, there).record
        expected = one.expected if there is None else len(there)
        if one.action not in {"add", "restore"}:
            found.append(_removal_planned(one, expected))
        if record is not None:
            purpose = f"Then add this record of {one.named} again."
            if one.action == "restore":
                purpose = f"Add the record of {one.named} again, as it was."
            found.append(_as_planned(one, addition(record), purpose))
    return tuple(found)


def _removal_planned(one: Change, expected: int | None) -> PlannedRequest:
    every = "every record" if one.action == "remove_all" else f"the {one.nexus_type} record"
    purpose = f"Remove {every} of {one.state}"
    if expected is not None and expected > 1:
        purpose += f" ({counted(expected, 'record')})"
    return _as_planned(one, removal(one), f"{purpose}.", expected)


def _as_planned(
    one: Change, call: Call, purpose: str, expected: int | None = None
) -> PlannedRequest:
    """What a call is for, and how many records it should delete, beside what is sent."""
    return PlannedRequest(
        one.state,
        one.nexus_type,
        call.method,
        call.path,
        call.params,
        call.json,
        purpose,
        expected,
    )


def _unlike(row: Record, there: Record, *, loose: bool) -> list[str]:
    """The fields in which two records differ, in words."""
    triples = [(name, compared(row, name), compared(there, name)) for name in DETAILS]
    return [
        f"{name} {_said(is_there)} there, {_said(in_plan)} in the plan"
        for name, in_plan, is_there in triples
        if in_plan != is_there and not (loose and in_plan is None)
    ]


def _with_rows(change: Change, there: tuple[Record, ...]) -> list[tuple[Record, Record | None]]:
    """Each record that is there with the row of the plan most like it, each row for one record.

    A record that fits no row that is left has `None`.
    """
    left = [*change.rows]
    found: list[tuple[Record, Record | None]] = []
    for record in there:
        fits = [row for row in left if not _unlike(row, record, loose=change.loose)]
        row = min(fits, key=lambda row: len(_unlike(row, record, loose=False)), default=None)
        if row is not None:
            left.remove(row)
        found.append((record, row))
    return found


def _staying(change: Change, there: tuple[Record, ...]) -> list[Record]:
    """The records that the one to be added again may be, each once."""
    fitting: list[Record] = []
    for record, row in _with_rows(change, there):
        is_it = row is not None and row == change.record
        if is_it and all(_unlike(one, record, loose=False) for one in fitting):
            fitting.append(record)
    return fitting if change.action == "replace" else []


def _differences(change: Change, there: Record) -> str:
    """What differs from the most alike of the rows, in words."""
    found = [_unlike(row, there, loose=change.loose) for row in change.rows]
    fewest = min(found, key=len, default=["the plan has no such record"])
    return "; ".join(fewest) or "there are more of them"


def _said(value: str | None) -> str:
    if value is None:
        return "missing"
    return repr(value if len(value) <= _TOLD else f"{value[:_TOLD]}\u2026")


_SUCCESS = range(200, 300)
_CLIENT = range(400, 500)
_REDIRECT = range(300, 400)


@dataclass(frozen=True, slots=True)
class RequestResult:
    """What one request brought.

    Attributes:
        outcome: the answer, or what kept one from coming.
        sent: whether it can have reached the service.
        body: the answer's parsed body, else its text (cut); without the key.
        reference: the answer's support reference, if there is one.
    """

    outcome: Reply | Failure
    sent: bool = True
    body: Any = None
    reference: str | None = None

    @property
    def http(self) -> int | None:
        """The status of the answer; `None` where none came."""
        return self.outcome.status if isinstance(self.outcome, Reply) else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means for one item.

    Attributes:
        status: one of `receipt.STATUSES`; "unknown" is to be settled by listing.
        message: a sentence.
        deleted: how many records the service said it deleted, where it did.
        flagged: whether a person should look.
        stop: why nothing further may be sent, in a sentence; "" to go on.
    """

    status: str
    message: str
    deleted: int | None = None
    flagged: bool = False
    stop: str = ""


def exchange(client: Svc, call: Call) -> RequestResult:
    """Send a request once: nothing in here, and nothing below, sends it a second time."""
    settings = client._settings  # noqa: SLF001 - what no public method does: one try, and headers
    http = client._http  # noqa: SLF001
    try:
        response = http.send(settings.request(http, call), stream=True, follow_redirects=False)
    except httpx.HTTPStatusError as error:  # an event hook of an injected client
        return _result_of(client, settings.reply(error.response, b""))
    except (httpx.RequestError, httpx.InvalidURL, UnicodeError) as error:
        return RequestResult(settings.failure(error), sent=not isinstance(error, _NOT_SENT))
    try:
        body = response.read()
    except httpx.RequestError as error:
        if response.is_success:
            return RequestResult(settings.failure(error))
        body = b""  # the status alone decides
    finally:
        response.close()
    return _result_of(client, settings.reply(response, body))


def _result_of(client: Svc, reply: Reply) -> RequestResult:
    hide = client._settings.hide  # noqa: SLF001 - the key, which a body may write with escapes
    text = reply.body[: _LONGEST * 4].decode("utf-8", "replace")[:_LONGEST]
    try:
        body = hide(json.loads(reply.body)) if len(reply.body) <= _LONGEST else text
        json.dumps(body)  # the journal must be able to hold it
    except (ValueError, RecursionError):
        body = text
    return RequestResult(reply, body=body, reference=_reference(reply, body))


def _reference(reply: Reply, body: object) -> str | None:
    inner = body.get("error") if isinstance(body, dict) else None
    told = inner.get("support_reference") if isinstance(inner, dict) else None
    told = told if isinstance(told, str) else reply.headers.get("x-request-id")
    return printable(told) if told else None


def removal_verdict(change: Change, expected: int | None, result: RequestResult) -> Verdict:
    """What the answer to a removal says (SPEC 4.1): never more than it does."""
    try:
        answer = _responses.nexus_removal(result.outcome, 1)
    except SvcError as error:
        return _failed(change, result, error, done="removed")
    if about := _about_else(change, answer):
        return Verdict(
            "unknown",
            f"The service answered about {about}, not about {change.named}: look on the service"
            " which records are gone.",
            answer.deleted,
            flagged=True,
            stop=f"the answer for {change.named} is about {about}",
        )
    deleted = answer.deleted
    if deleted == 0:
        return Verdict(
            "absent",
            f"The service removed nothing: {change.named} was not there (any more).",
            deleted,
            flagged=expected is not None and expected > 0,
        )
    said = f"The service removed {counted(deleted, 'record')} of {change.named}"
    if expected is None or deleted == expected:
        return Verdict("removed", f"{said}.", deleted)
    said = f"{said}, where {expected} {'was' if expected == 1 else 'were'} expected."
    stop = f"{change.named}: more records were removed than expected" if deleted > expected else ""
    return Verdict("removed", said, deleted, flagged=True, stop=stop)


def addition_verdict(
    change: Change, record: Record, result: RequestResult, *, done: str
) -> Verdict:
    """What the answer to an addition says; `done` is the status where it is as it should be."""
    try:
        answer = _responses.nexus_record(result.outcome, 1)
    except SvcError as error:
        return _failed(change, result, error, done="added")
    if differing := _differing(answer, record):
        return Verdict(
            done,
            f"{change.named} was added, but the service keeps another {differing} than was sent.",
            flagged=True,
        )
    return Verdict(done, f"{change.named} was added again.")


def _about_else(change: Change, answer: NexusRemoval) -> str:
    """What else an answer is about than what was asked; what it leaves out is no contradiction."""
    state, kind = answer.state, answer.nexus_type
    other = state is not None and state.strip().upper() != change.state
    said_kind = "nexus_type" in answer.model_fields_set
    other_kind = said_kind and (kind or "").strip().lower() != change.nexus_type
    if not (other or other_kind):
        return ""
    of = (state or change.state).strip().upper()
    return f"{of} {(kind or 'of all types') if said_kind else ''}".strip()


def _differing(answer: NexusRecord, record: Record) -> str:
    there = answer.model_dump()
    return ", ".join(name for name in FIELDS if compared(there, name) != compared(record, name))


def _failed(change: Change, result: RequestResult, error: SvcError, *, done: str) -> Verdict:
    """What a failure means: refused and so not done, or not known."""
    told = str(error).rstrip(".")
    if not result.sent:
        return Verdict(
            "refused",
            f"{change.named} was not {done}: {told}.",
            stop=f"the service cannot be reached: {error.message}",
        )
    status = result.http
    certain = status is not None and (status in _CLIENT or status in _REDIRECT)
    if not certain or status == _TIMEOUT:
        return Verdict("unknown", f"Whether {change.named} was {done} is not known: {told}.")
    message = f"{change.named} was not {done}; the service refused it: {told}."
    if isinstance(error, RateLimitError):
        after = error.retry_after
        wait = f" for {after:g} seconds" if after else ""
        return Verdict(
            "refused", message, stop=f"the service asks to wait{wait}, then run it again"
        )
    if isinstance(error, _STOPS) or status == _METHOD or status in _REDIRECT:
        return Verdict("refused", message, stop=error.message)
    return Verdict("refused", message)
