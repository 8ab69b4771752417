"""The door for tools: one attempt on the wire, and what decides and reads it (SPEC 4.4, 7 and 8).

The methods of a client try again, and raise. A tool that paces, counts or journals its requests
sends each by itself:

    call = lookup_call("CA", zip="94105")
    outcome = exchange_once(client, call)  # a Reply or a Failure: nothing is raised
    wait = decide(0, 3, outcome)  # when to try again; None for no more
    response = parse_lookup(outcome, 1)  # the model, or the SvcError of the status

Requests and outcomes are values. What takes no client is pure; what takes one sends (two
functions), reads it, or gives it a local service. The door has what `svc_tools` needs and may
change in any release, unlike the names of `svc_sdk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk._attempt import UnreadableError, checked_body, unpacked_body
from svc_sdk._process import LocalClient, LocalService
from svc_sdk._requests import (
    HEALTH,
    Call,
    add_nexus_call,
    list_nexus_call,
    lookup_call,
    remove_nexus_call,
)
from svc_sdk._responses import (
    Failure,
    Reply,
    parse_health,
    parse_lookup,
    parse_nexus_list,
    parse_nexus_record,
    parse_nexus_removal,
)
from svc_sdk._retry import backoff, decide
from svc_sdk._route import UnusableVariableError
from svc_sdk._settings import Settings, checked_url

if TYPE_CHECKING:
    import httpx

    from svc_sdk.aio import AsyncSvc
    from svc_sdk.client import Svc

__all__ = [
    "HEALTH",
    "Call",
    "Failure",
    "LocalClient",
    "LocalService",
    "Reply",
    "Settings",
    "UnreadableError",
    "UnusableVariableError",
    "add_nexus_call",
    "aexchange_once",
    "attach_local",
    "backoff",
    "checked_body",
    "checked_url",
    "decide",
    "exchange_once",
    "http_request",
    "is_direct",
    "list_nexus_call",
    "lookup_call",
    "parse_health",
    "parse_lookup",
    "parse_nexus_list",
    "parse_nexus_record",
    "parse_nexus_removal",
    "remove_nexus_call",
    "settings_of",
    "unpacked_body",
]


def exchange_once(client: Svc, call: Call) -> Reply | Failure:
    """Send a request once: one attempt, within the client's timeout (SPEC 8).

    Args:
        client: whose key, address and HTTP client are used.
        call: the request.

    Returns:
        The response, whatever its status, or why there is none; no key is in either.
    """
    return client._exchange(call)  # noqa: SLF001 - this is the door to it


async def aexchange_once(client: AsyncSvc, call: Call) -> Reply | Failure:
    """As `exchange_once`, for an `AsyncSvc`, in its event loop."""
    return await client._exchange(call)  # noqa: SLF001 - as above


def settings_of(client: Svc | AsyncSvc) -> Settings:
    """The checked settings of a client, with the address of its local service, if any.

    See SPEC 4.4 and 5.

    The key is a `SecretStr`; `Settings.hide` and `Settings.without_key` remove it from what others
    send, and `Settings.failure` is the failure of an exception.
    """
    return client._settings  # noqa: SLF001 - as above


def is_direct(client: Svc | AsyncSvc) -> bool:
    """Whether a client connects to its service by itself, as a tool may then do as well.

    False where an HTTP client was given to it, or a proxy is between them.
    """
    return client._owns_http and client._settings.route.proxy is None  # noqa: SLF001 - as above


def http_request(client: Svc | AsyncSvc, call: Call) -> httpx.Request:
    """The HTTP request that a client sends for a call, with every header; the key is one."""
    return client._settings.request(client._http, call)  # noqa: SLF001 - as above


def attach_local(client: Svc | AsyncSvc, service: LocalService) -> None:
    """Have a service in this process serve a client's requests before they are sent.

    Args:
        client: a client that is used by nobody yet.
        service: what it does not serve is sent to its address. A key in its responses is hidden.
    """
    client._attach(service)  # noqa: SLF001 - as above
