"""Responses parsed into a model or an exception (SPEC 2, 4.1 and 7). Pure.

The models are loaded with the first client: defining them is half the cost of importing pydantic.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pydantic

from svc_sdk import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from svc_sdk import models

    Read = Callable[["Reply | Failure", int], "Answer"]
    """Parses the result of an outcome and a number of attempts, or raises."""


Answer = TypeVar("Answer")
Model = TypeVar("Model", bound="pydantic.BaseModel")
Json = Any
"""Parsed JSON: an object, array, string, number, boolean or null."""

_CUT = 2_000
"""How many characters of a body that is not JSON an error holds."""

_BY_STATUS: dict[int, type[errors.SvcError]] = {
    400: errors.ValidationError,
    401: errors.AuthError,
    402: errors.PaymentRequiredError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    422: errors.ValidationError,
    429: errors.RateLimitError,
}
# About three years: anything longer is nonsense, and a sleep must not overflow.
_LONGEST_RETRY_AFTER = 10.0**8
_CODE = re.compile("[A-Z][A-Z0-9_]*|[a-z0-9]+(?:_[a-z0-9]+)+")
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What moves the cursor of a terminal, colors, rings, breaks or reorders lines, or is no text."""
_BREAKS = re.compile("[\t\n\r]*[\t\n][\t\n\r]*")
_DEEPEST = 100
"""How deeply JSON may be nested: what is deeper can be read, but not written again."""
_TOO_DEEP = "(nested too deeply to be shown)"
_MESSAGE = 300
"""How many characters of a body that is not JSON may be the message."""
_ERRORS = ("error", "errors")
_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)
_SERVER = range(500, 600)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response as it came. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def says_nothing(self) -> bool:
        """Whether its body has no fields, such as `OK` or `[]`; no page, and nothing cut off."""
        text = self.body.strip()
        if text[:1] in {b"<", b"{"}:
            return False
        try:
            if text[:1] in {b"[", b'"'}:
                json.loads(text)
            return len(text.decode()) <= _MESSAGE
        except (ValueError, RecursionError):
            return False

    @property
    def retry_after(self) -> float | None:
        """The delay that `Retry-After` names, in seconds: a number or an HTTP date (RFC 9110).

        A date is measured from the response's `Date` where it has one, so that a wrong local
        clock does no harm; one in the past means now. `None`: the header is missing or invalid.
        """
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.replace(".", "", 1).isdecimal():
            return min(float(value), _LONGEST_RETRY_AFTER)
        until = _http_date(value)
        if until is None:
            return None
        now = _http_date(self.headers.get("date", "")) or datetime.now(UTC)
        return min(max((until - now).total_seconds(), 0.0), _LONGEST_RETRY_AFTER)


@dataclass(frozen=True, slots=True)
class Failure:
    """No response: what happened, and whether it is retried (SPEC 8).

    Attributes:
        message: what happened, and what to do.
        retryable: whether the request may be sent again.
        sent: whether the service may have received it; False where there was no connection.
        final: whether every other request of this client fails too: it is closed.
        code: what happened, for a program; `None` where the message alone says it.
    """

    message: str
    retryable: bool
    sent: bool = True
    final: bool = False
    code: str | None = None


def _http_date(value: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def parse_lookup(outcome: Reply | Failure, attempts: int) -> models.TaxResponse:
    """The result of a lookup (SPEC 2.1). Raises as `_result`."""
    result: models.TaxResponse = _result(outcome, _models().TaxResponse, attempts)
    return result


def parse_health(outcome: Reply | Failure, attempts: int) -> models.HealthResponse:
    """The liveness of the service (SPEC 2.6). Raises as `_result`."""
    result: models.HealthResponse = _result(outcome, _models().HealthResponse, attempts)
    return result


def parse_freshness(outcome: Reply | Failure, attempts: int) -> models.Freshness:
    """The age of the data, by state. Raises as `_result`."""
    result: models.Freshness = _result(outcome, _models().Freshness, attempts)
    return result


def parse_nexus_list(outcome: Reply | Failure, attempts: int) -> models.NexusList:
    """The nexus records that were listed. Raises as `_result`."""
    result: models.NexusList = _result(outcome, _models().NexusList, attempts)
    return result


def parse_nexus_record(outcome: Reply | Failure, attempts: int) -> models.NexusRecord:
    """The nexus record that was added or updated. Raises as `_result`."""
    result: models.NexusRecord = _result(outcome, _models().NexusRecord, attempts)
    return result


def parse_nexus_removal(outcome: Reply | Failure, attempts: int) -> models.NexusRemoval:
    """What a removal did (SPEC 4.1): any success is one, with a number of records or without.

    Raises as `_result`, also where a success reports an error instead.
    """
    if isinstance(outcome, Reply) and outcome.status in _SUCCESS and outcome.says_nothing:
        outcome = Reply(outcome.status, outcome.headers, b"{}")
    result: models.NexusRemoval = _result(outcome, _models().NexusRemoval, attempts)
    sent = result.model_extra or {}
    if isinstance(outcome, Reply) and result.deleted is None and any(map(sent.get, _ERRORS)):
        error = _error(outcome, attempts=attempts)
        raise errors.ServiceError(
            f"The service reports an error: {error.message}",
            status_code=outcome.status,
            error_code=error.error_code,
            support_reference=error.support_reference,
            response_body=error.response_body,
            attempts=attempts,
        )
    return result


def load_models() -> None:
    """Load and build the models, as the first response of each kind would."""
    models = _models()
    for name in models.__all__:
        getattr(models, name).model_rebuild()


def _models() -> ModuleType:
    from svc_sdk import models  # noqa: PLC0415 - loaded with the first client

    return models


def _result(outcome: Reply | Failure, model: type[Model], attempts: int) -> Model:
    """The model of a successful response.

    Raises:
        SvcError: of the class that SPEC 7 gives the status, or `TransportError` where there was no
            response, or `ServiceError` where it does not have the shape of `model`.
    """
    if isinstance(outcome, Failure):
        raise errors.TransportError(
            _shown(outcome.message), error_code=outcome.code, attempts=attempts
        )
    if outcome.status not in _SUCCESS:
        raise _error(outcome, attempts=attempts)
    try:
        return model.model_validate(_exact_json(outcome.body))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        reason = f"is not of the expected shape: {where}: {first['msg']}"
    except (ValueError, RecursionError):
        reason = "is not JSON"
    raise errors.ServiceError(
        _shown(f"The response of the service {reason}"),
        status_code=outcome.status,
        support_reference=_request_id(outcome),
        response_body=_readable(outcome.body),
        attempts=attempts,
    )


class _InexactError(Exception):
    """A number that is not whole: a float would not hold its digits."""


def _inexact(text: str) -> NoReturn:
    raise _InexactError(text)


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except ArithmeticError:  # an exponent of twenty digits: a float would make a zero of it
        return text


def _exact_json(body: bytes) -> Json:
    """Parsed JSON in which the rate fields of `rate` keep the digits that were sent."""
    try:
        return _parsed(body, _WHOLE_NUMBERS)
    except _InexactError:
        parsed = _parsed(body, _EXACT_NUMBERS)
    rate = parsed.get("rate") if isinstance(parsed, dict) else None
    exact = (
        {k: rate[k] for k in _models().RATE_FIELDS if k in rate} if isinstance(rate, dict) else {}
    )
    plain = _floats(parsed)
    if exact:
        plain["rate"] |= exact
    return plain


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


# made once: `json.loads` would make one for each response, which takes as long as the parsing
_WHOLE_NUMBERS = json.JSONDecoder(parse_float=_inexact, parse_constant=_no_constant)
_EXACT_NUMBERS = json.JSONDecoder(parse_float=_number, parse_constant=_no_constant)
_PLAIN = json.JSONDecoder()


def _parsed(body: bytes, decoder: json.JSONDecoder = _PLAIN) -> Json:
    """Parsed JSON that can be stored, compared and shown: what is nested too deeply is cut."""
    parsed = decoder.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    if body.count(b"[") + body.count(b"{") > _DEEPEST:
        level = [parsed]
        for _ in range(_DEEPEST):
            level = [container[key] for container, key in _inner(level)]
        for container, key in list(_inner(level)):
            container[key] = _TOO_DEEP
    return parsed


def _inner(values: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Each object or array within these values, as where it stands."""
    for value in values:
        if isinstance(value, dict | list):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(item, dict | list):
                    yield value, key


def _floats(value: Json) -> Json:
    """Parsed JSON with ordinary floats, which rates must not become; as text what none can hold."""
    if isinstance(value, Decimal):
        number = float(value)
        return number if math.isfinite(number) else str(value)
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return value


def _readable(body: bytes) -> Json:
    """The parsed body, else its text, shortened; `None` for an empty one."""
    try:
        return _parsed(body)
    except (ValueError, RecursionError):
        text = body[: _CUT * 4].decode("utf-8", "replace")
        return (text if len(text) <= _CUT else f"{text[:_CUT]}…") or None


def _error(reply: Reply, *, attempts: int) -> errors.SvcError:
    """The exception for a status that is no success, with all that the body says of the error."""
    body = _readable(reply.body)
    envelope = body if isinstance(body, dict) else {}
    objects = [*_nested(envelope), envelope]
    detail = next(filter(None, (_detail(part.get("detail")) for part in reversed(objects))), ())
    waits = reply.retry_after
    kind = errors.ServiceError if reply.status in _SERVER else errors.SvcError
    return _BY_STATUS.get(reply.status, kind)(
        _first(objects, "message")
        or _shown(
            "; ".join(f"{'.'.join(map(str, item.loc))}: {item.msg}" for item in detail)[:_CUT]
        )
        or _first(objects, "error_description", "detail", "title", "error")
        or _plain_message(reply, body),
        status_code=reply.status,
        error_code=_first(objects, "code", "error_code") or _code_as_error(objects),
        support_reference=_first(objects, "support_reference", "request_id") or _request_id(reply),
        response_body=body,
        detail=detail,
        retry_after=_seconds(objects) if waits is None else waits,
        attempts=attempts,
    )


def _nested(envelope: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The objects in which gateways and frameworks wrap an error, the innermost first."""
    for name in ("error", "detail", "errors"):
        inner = envelope.get(name)
        if isinstance(inner, list):  # of several the first one
            inner = next(iter(inner), None)
        if isinstance(inner, dict):
            yield from _nested(inner)
            yield inner


def _first(objects: list[dict[str, Json]], *names: str) -> str | None:
    """The first text among these fields."""
    return next(
        (text for part in objects for name in names if (text := _text(part.get(name)))), None
    )


def _code_as_error(objects: list[dict[str, Json]]) -> str | None:
    """The code in `{"error": "invalid_token", "message": …}`."""
    text = _first(objects, "error")
    described = _first(objects, "message", "error_description", "detail", "title")
    return text if text and described and _CODE.fullmatch(text) else None


def _plain_message(reply: Reply, body: Json) -> str:
    if reply.status in _REDIRECT:
        return "The service redirects the request, and redirects are not followed"
    text = " ".join(body.split()) if isinstance(body, str) else ""
    # a page, a log or binary data is in `response_body` alone
    if text and len(text) <= _MESSAGE and text.isprintable() and not {"<", "\ufffd"} & set(text):
        return text
    return "The service reported an error without a message"


def _detail(value: Json) -> tuple[models.ValidationDetail, ...]:
    """The items of a 422 body that can be read; the others are left out."""
    items = value if isinstance(value, list) else []
    read = []
    for item in items:
        with contextlib.suppress(pydantic.ValidationError):
            read.append(_models().ValidationDetail.model_validate(item))
    return tuple(read)


def _text(value: Json) -> str | None:
    """The text of a field, shortened; also of a code that is a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _shown(value[:_CUT]) if isinstance(value, str) and value.strip() else None


def _request_id(reply: Reply) -> str | None:
    value = reply.headers.get("x-request-id")
    return None if value is None else _shown(value)


def _shown(text: str) -> str:
    r"""Text of a service as it may be printed, logged and stored: an escape character is `\x1b`.

    Line feeds and tabs are blanks, so that a message is one line of a log.
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], _BREAKS.sub(" ", text))


def _seconds(objects: list[dict[str, Json]]) -> float | None:
    values = (part.get("retry_after_seconds") for part in objects)
    numbers = (
        float(min(seconds, _LONGEST_RETRY_AFTER))
        for seconds in values
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0
    )
    return next(numbers, None)
