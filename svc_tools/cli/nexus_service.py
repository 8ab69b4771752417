"""Which register a nexus command is about: the service's, one's own, or both."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.cli.client import client_of
from svc_tools.nexus.listing import NotListedError, list_register

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_sdk import Svc
    from svc_tools.nexus.register import Register

__all__ = ["listed_register", "service_if_any"]


@contextmanager
def service_if_any(*, embedded: bool, base_url: str | None, needed: bool) -> Iterator[Svc | None]:
    """The service where one is meant; with a register of one's own it may be left out."""
    if not needed and not embedded and config.configured(base_url=base_url) is None:
        yield None
        return
    with client_of(embedded=embedded, base_url=base_url) as client:
        yield client


def listed_register(client: Svc | None, *, needed: bool) -> tuple[Register | None, str]:
    """What the service lists; where it does not, and that is no error, a sentence that says so."""
    if client is None:
        return None, "No service was asked: the register is the file's alone."
    try:
        return list_register(client), ""
    except NotListedError as error:
        if needed:
            raise NotListedError(f"{error} (--register FILE)") from None
        return None, f"{str(error).partition(';')[0]}: the register is the file's alone."
