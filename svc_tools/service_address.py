"""Whether the address of a service is right.

A wrong address, such as one that ends in `/v1`, gives 404 for every place, as a service does that
knows none of them. The health check tells them apart: it has no place, so its 404 is the address's.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING
from weakref import WeakSet

import httpx

from svc_sdk import AsyncSvc, NotFoundError, ServiceError, Svc, SvcError, wire
from svc_sdk.wire import Reply
from svc_tools.config import EmbeddedAsyncSvc, EmbeddedSvc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_sdk.wire import Failure

NO_PATH = "PATH_NOT_FOUND"
"""The code with which the service of this toolkit says that a path does not exist."""
_REFUSED = range(400, 500)
_PREFIX = re.compile(r"/v1(?:/.*)?$")
_proven: WeakSet[Svc | AsyncSvc] = WeakSet()
"""The clients whose address is known to be right: they had a success, or a health check."""


class WrongAddressError(ServiceError):
    """No service is at the address: its health check is not there either."""


@contextmanager
def address_checked(client: Svc) -> Iterator[None]:
    """Around a single request: its 404 is its own only where the address is right.

    The health is requested once, where no request of the client has succeeded so far.

    Raises:
        WrongAddressError: a request within was a 404, and so is the health check.
    """
    try:
        yield
    except NotFoundError as error:
        if not is_right_address(client):
            health = wire.exchange_once(client, wire.HEALTH)
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
    return wrong_address(client, status) if status == HTTPStatus.NOT_FOUND or elsewhere else None


def wrong_address(client: Svc | AsyncSvc, status: int | None) -> WrongAddressError:
    """The error of an address at which there is no service; `status` is its health check's."""
    settings = wire.settings_of(client)  # a key in an address is hidden
    address = settings.hide(client.base_url)
    prefix = _PREFIX.search(httpx.URL(client.base_url).path)
    advice = f"leave out {settings.hide(prefix[0])} at its end" if prefix else "correct it"
    return WrongAddressError(
        f"The address of the service is wrong: {address} has no health check (/healthz); {advice}",
        status_code=status,
    )
