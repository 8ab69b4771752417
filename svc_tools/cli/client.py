"""The service that a command asks: the one that is configured, or the embedded one where named."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from svc_sdk import Svc
from svc_tools import config

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["client_of"]


@contextmanager
def client_of(*, embedded: bool, base_url: str | None) -> Iterator[Svc]:
    """The client that was asked for; the embedded service only where it was named."""
    if embedded:
        if base_url:
            raise ValueError("--embedded brings its own address; leave --base-url out")
        client = config.connect("embedded")
    else:
        account = config.configured(base_url=base_url)
        if account is None:
            raise config.ConfigurationError(
                f"No service is configured: set {config.URL_VARIABLE} and {config.KEY_VARIABLE},"
                " or ask the embedded service with --embedded"
            )
        client = Svc(account[0], base_url=account[1])
    with client:
        yield client
