"""Whether the key and the address of a service are right: one request that bills nothing.

A wrong address, such as one that ends in `/v1`, gives 404 for every place, as a service does that
knows none of them. The health check tells them apart: it has no place, so its 404 is the address's.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

import httpx

from svc_sdk import (
    AsyncSvc,
    AuthError,
    ForbiddenError,
    NotFoundError,
    Svc,
    SvcError,
    TransportError,
    _requests,
    _responses,
)
from svc_sdk._responses import Reply
from svc_tools.config import EmbeddedAsyncSvc, EmbeddedSvc
from svc_tools.lookup.outcomes import WrongAddressError, is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_sdk._responses import Failure, Read

NO_PATH = "PATH_NOT_FOUND"
"""The code with which the service of this toolkit says that a path does not exist."""
_REFUSED = range(400, 500)
_PREFIX = re.compile(r"/v1(?:/.*)?$")
_proven: WeakSet[Svc | AsyncSvc] = WeakSet()
"""The clients whose address is known to be right: they had a success, or a health check."""
_NOT_FOUND = HTTPStatus.NOT_FOUND
_ABSENT = {_NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


def check_key(client: Svc) -> None:
    """Check that the service is up and accepts the client's key; nothing is changed or billed.

    The nexus records of one state are listed, once and without retries, since the user waits. Where
    the service has no such list (404, 405: WIRE), its health is requested instead; where the plan
    lacks nexus (403), the key was accepted.

    Raises:
        SvcError: the service rejects the key, or does not respond as it should.
    """
    try:
        _once(client, _requests.list_nexus("TX", None), _responses.nexus_list)
    except SvcError as error:
        if isinstance(error, ForbiddenError) and not is_foreign(error):
            return
        if error.status_code not in _ABSENT:
            raise
        _require_health(client)


def _require_health(client: Svc) -> None:
    try:
        _once(client, _requests.HEALTH, _responses.health)
    except SvcError as error:
        if error.status_code not in _ABSENT:
            raise
        # it has neither: something else responds, or the address has a wrong path
        raise wrong_address(client, error.status_code) from None
    note_right_address(client)


@contextmanager
def address_checked(client: Svc) -> Iterator[None]:
    """Around a single lookup: its 404 is the place's only where the address is right.

    The health is requested once, where no request of the client has succeeded so far.

    Raises:
        WrongAddressError: a lookup within was a 404, and so is the health check.
    """
    try:
        yield
    except NotFoundError as error:
        if not is_right_address(client):
            health = client._exchange(_requests.HEALTH)  # noqa: SLF001 - as in `_once`
            if fault := address_fault(client, error, health):
                raise fault from None
        raise
    note_right_address(client)


def is_right_address(client: Svc | AsyncSvc) -> bool:
    """Whether a client's address is known to be right; that of the embedded service always is."""
    return isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc) or client in _proven


def note_right_address(client: Svc | AsyncSvc) -> None:
    """Note that a request of a client succeeded."""
    _proven.add(client)


def address_fault(
    client: Svc | AsyncSvc, error: SvcError, health: Reply | Failure
) -> WrongAddressError | None:
    """The fault of the address behind the 404 of a lookup; `None` where the place is not known.

    Args:
        client: the client.
        error: the 404 of the lookup.
        health: the response to the health check.
    """
    status = health.status if isinstance(health, Reply) else None
    if status == HTTPStatus.OK:
        note_right_address(client)
    # below another path of the service's own, such as /v1/tax, the health check is another 4xx
    elsewhere = error.error_code == NO_PATH and status in _REFUSED
    return wrong_address(client, status) if status == _NOT_FOUND or elsewhere else None


def wrong_address(client: Svc | AsyncSvc, status: int | None) -> WrongAddressError:
    """The error of an address at which there is no service; `status` is its health check's."""
    settings = client._settings  # noqa: SLF001 - a key in an address is hidden
    address = settings.hide(client.base_url)
    prefix = _PREFIX.search(httpx.URL(client.base_url).path)
    advice = f"leave out {settings.hide(prefix[0])} at its end" if prefix else "correct it"
    return WrongAddressError(
        f"The address of the service is wrong: {address} has no health check (/healthz); {advice}",
        status_code=status,
    )


def field_at_fault(error: SvcError) -> Literal["address", "key"]:
    """What was probably typed wrong where `check_key` raised: the address, or the key."""
    foreign = is_foreign(error) and not isinstance(error, AuthError)
    return "address" if foreign or isinstance(error, TransportError) else "key"


def _once(client: Svc, call: _requests.Call, read: Read[object]) -> None:
    try:
        read(client._exchange(call), 1)  # noqa: SLF001 - sent once: the methods try again
    except SvcError as error:
        raise error.with_traceback(None) from None
