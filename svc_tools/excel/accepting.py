"""Whether a service takes a key, found out without a billed request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk import ForbiddenError, SvcError, _requests, _responses
from svc_tools.lookup.stopping import is_foreign
from svc_tools.nexus.ability import ABSENT

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_sdk._responses import Read

__all__ = ["accepted"]


def accepted(client: Svc) -> None:
    """Return where the service is there and takes the client's key; nothing is changed or billed.

    The nexus records of one state are listed, once and without retries, as a person waits. A
    service that lists none (404, 405: WIRE) is asked for its health; one whose plan lacks nexus
    (403) has accepted the key.

    Raises:
        SvcError: the service does not take the key, or does not answer as it should.
    """
    try:
        _once(client, _requests.list_nexus("TX", None), _responses.nexus_list)
    except SvcError as error:
        if isinstance(error, ForbiddenError) and not is_foreign(error):
            return
        if error.status_code not in ABSENT:
            raise
        _once(client, _requests.HEALTH, _responses.health)


def _once(client: Svc, call: _requests.Call, read: Read[object]) -> None:
    try:
        read(client._exchange(call), 1)  # noqa: SLF001 - sent once: the methods try again
    except SvcError as error:
        settings = client._settings  # noqa: SLF001 - it alone knows what is to be hidden
        raise settings.hide_in(error).with_traceback(None) from None
