"""Whether a service accepts a key: one request that bills nothing; for spreadsheets and panel."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

from svc_sdk import AuthError, ForbiddenError, Svc, SvcError, TransportError, wire
from svc_tools.config import EmbeddedSvc, note_right_address, wrong_address
from svc_tools.lookup.troubles import is_foreign

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSENT = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


def check_key(client: Svc) -> None:
    """Check that the service is up and accepts the client's key; nothing is changed or billed.

    The nexus records of one state are listed, once and without retries, since the user waits. Where
    the service has no such list (404, 405: WIRE), its health is requested instead; where the plan
    lacks nexus (403), the key was accepted. The embedded service has no key to check.

    Raises:
        SvcError: the service rejects the key, or does not respond as it should.
    """
    if isinstance(client, EmbeddedSvc):
        return  # and neither its database nor its port is needed for rates
    try:
        _once(client, wire.list_nexus_call("TX"), wire.parse_nexus_list)
    except SvcError as error:
        if isinstance(error, ForbiddenError) and not is_foreign(error):
            return
        if error.status_code not in _ABSENT:
            raise
        _require_health(client)


def _require_health(client: Svc) -> None:
    try:
        _once(client, wire.HEALTH, wire.parse_health)
    except SvcError as error:
        if error.status_code not in _ABSENT:
            raise
        # it has neither: something else responds, or the address has a wrong path
        raise wrong_address(client, error.status_code) from None
    note_right_address(client)


def field_at_fault(error: SvcError) -> Literal["address", "key"]:
    """What was probably typed wrong where `check_key` raised: the address, or the key."""
    foreign = is_foreign(error) and not isinstance(error, AuthError)
    return "address" if foreign or isinstance(error, TransportError) else "key"


def _once(
    client: Svc, call: wire.Call, parse: Callable[[wire.Reply | wire.Failure, int], object]
) -> None:
    try:
        parse(wire.exchange_once(client, call), 1)
    except SvcError as error:
        raise error.with_traceback(None) from None
