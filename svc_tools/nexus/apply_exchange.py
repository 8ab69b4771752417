"""One request, sent once, and what its answer means. Only `exchange` touches the network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from svc_sdk import (
    AuthError,
    ForbiddenError,
    PaymentRequiredError,
    RateLimitError,
    SvcError,
    _responses,
)
from svc_sdk._responses import Failure, Reply
from svc_tools.nexus.ability import compared
from svc_tools.nexus.apply_requests import FIELDS
from svc_tools.shown import counted, printable

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_sdk._requests import Call
    from svc_sdk.models import NexusRecord, NexusRemoval
    from svc_tools.nexus.apply_requests import Wanted
    from svc_tools.nexus.receipt import Record

__all__ = ["Heard", "Verdict", "exchange", "judge_addition", "judge_removal"]

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_LONGEST = 4_000
_TIMEOUT, _METHOD, _TOO_MANY = 408, 405, 429
_SUCCESS = range(200, 300)
_CLIENT = range(400, 500)
_REDIRECT = range(300, 400)
_STOPS = (AuthError, PaymentRequiredError, ForbiddenError)


@dataclass(frozen=True, slots=True)
class Heard:
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


def exchange(client: Svc, call: Call) -> Heard:
    """Send a request once: nothing in here, and nothing below, sends it a second time."""
    settings = client._settings  # noqa: SLF001 - what no public method does: one try, and headers
    http = client._http  # noqa: SLF001
    try:
        response = http.send(settings.request(http, call), stream=True, follow_redirects=False)
    except httpx.HTTPStatusError as error:  # an event hook of an injected client
        return _heard(client, settings.reply(error.response, b""))
    except (httpx.RequestError, httpx.InvalidURL, UnicodeError) as error:
        return Heard(settings.failure(error), sent=not isinstance(error, _NOT_SENT))
    try:
        body = response.read()
    except httpx.RequestError as error:
        if response.is_success:
            return Heard(settings.failure(error))
        body = b""  # the status alone decides
    finally:
        response.close()
    return _heard(client, settings.reply(response, body))


def _heard(client: Svc, reply: Reply) -> Heard:
    hide = client._settings.hide  # noqa: SLF001 - the key, which a body may write with escapes
    text = reply.body[: _LONGEST * 4].decode("utf-8", "replace")[:_LONGEST]
    try:
        body = hide(json.loads(reply.body)) if len(reply.body) <= _LONGEST else text
        json.dumps(body)  # the journal must be able to hold it
    except (ValueError, RecursionError):
        body = text
    return Heard(reply, body=body, reference=_reference(reply, body))


def _reference(reply: Reply, body: object) -> str | None:
    inner = body.get("error") if isinstance(body, dict) else None
    told = inner.get("support_reference") if isinstance(inner, dict) else None
    told = told if isinstance(told, str) else reply.headers.get("x-request-id")
    return printable(told) if told else None


def judge_removal(wanted: Wanted, expected: int | None, heard: Heard) -> Verdict:
    """What the answer to a removal says (SPEC 4.1): never more than it does."""
    try:
        answer = _responses.nexus_removal(heard.outcome, 1)
    except SvcError as error:
        return _failed(wanted, heard, error, done="removed")
    if about := _about_else(wanted, answer):
        return Verdict(
            "unknown",
            f"The service answered about {about}, not about {wanted.named}: look on the service"
            " which records are gone.",
            answer.deleted,
            flagged=True,
            stop=f"the answer for {wanted.named} is about {about}",
        )
    deleted = answer.deleted
    if deleted == 0:
        return Verdict(
            "absent",
            f"The service removed nothing: {wanted.named} was not there (any more).",
            deleted,
            flagged=expected is not None and expected > 0,
        )
    said = f"The service removed {counted(deleted, 'record')} of {wanted.named}"
    if expected is None or deleted == expected:
        return Verdict("removed", f"{said}.", deleted)
    said = f"{said}, where {expected} {'was' if expected == 1 else 'were'} expected."
    stop = f"{wanted.named}: more records were removed than expected" if deleted > expected else ""
    return Verdict("removed", said, deleted, flagged=True, stop=stop)


def judge_addition(wanted: Wanted, record: Record, heard: Heard, *, done: str) -> Verdict:
    """What the answer to an addition says; `done` is the status where it is as it should be."""
    try:
        answer = _responses.nexus_record(heard.outcome, 1)
    except SvcError as error:
        return _failed(wanted, heard, error, done="added")
    if differing := _differing(answer, record):
        return Verdict(
            done,
            f"{wanted.named} was added, but the service keeps another {differing} than was sent.",
            flagged=True,
        )
    return Verdict(done, f"{wanted.named} was added again.")


def _about_else(wanted: Wanted, answer: NexusRemoval) -> str:
    """What else an answer is about than what was asked; what it leaves out is no contradiction."""
    state, kind = answer.state, answer.nexus_type
    other = state is not None and state.strip().upper() != wanted.state
    said_kind = "nexus_type" in answer.model_fields_set
    other_kind = said_kind and (kind or "").strip().lower() != wanted.nexus_type
    if not (other or other_kind):
        return ""
    of = (state or wanted.state).strip().upper()
    return f"{of} {(kind or 'of all types') if said_kind else ''}".strip()


def _differing(answer: NexusRecord, record: Record) -> str:
    there = answer.model_dump()
    names = ("state", "nexus_type", *FIELDS)
    return ", ".join(name for name in names if compared(there, name) != compared(record, name))


def _failed(wanted: Wanted, heard: Heard, error: SvcError, *, done: str) -> Verdict:
    """What a failure means: refused and so not done, or not known."""
    told = str(error).rstrip(".")
    if not heard.sent:
        return Verdict(
            "refused",
            f"{wanted.named} was not {done}: {told}.",
            stop=f"the service cannot be reached: {error.message}",
        )
    status = heard.http
    certain = status is not None and (status in _CLIENT or status in _REDIRECT)
    if not certain or status == _TIMEOUT:
        return Verdict("unknown", f"Whether {wanted.named} was {done} is not known: {told}.")
    message = f"{wanted.named} was not {done}; the service refused it: {told}."
    if isinstance(error, RateLimitError):
        after = error.retry_after
        wait = f" for {after:g} seconds" if after else ""
        return Verdict(
            "refused", message, stop=f"the service asks to wait{wait}, then run it again"
        )
    if isinstance(error, _STOPS) or status == _METHOD or status in _REDIRECT:
        return Verdict("refused", message, stop=error.message)
    return Verdict("refused", message)
