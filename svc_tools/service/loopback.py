"""Which hosts and origins are this machine itself. Pure.

A web page elsewhere can make a browser send requests to 127.0.0.1 under the page's own name (DNS
rebinding). Its requests still have that name in `Host` or `Origin`: that is what is checked here.
"""

from __future__ import annotations

import functools
import ipaddress
import re

_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:/@]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(?P<authority>[^/]+)", re.IGNORECASE)


def is_loopback_host(host: str) -> bool:
    """Whether a host, without port, is this machine: 127.0.0.0/8, ::1 or localhost."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def is_loopback_authority(authority: str) -> bool:
    """Whether a `Host` header, with any port, names this machine."""
    form = _AUTHORITY.fullmatch(authority)
    if form is None:
        return False
    host = form["host"]
    bracketed = host.startswith("[")
    # an IPv6 address stands in brackets here, and nothing else does
    if bracketed != (":" in host):
        return False
    return is_loopback_host(host.strip("[]"))


@functools.lru_cache(maxsize=256)
def is_loopback_origin(origin: str) -> bool:
    """Whether an `Origin` header is a page that this machine itself serves."""
    form = _ORIGIN.fullmatch(origin)
    return form is not None and is_loopback_authority(form["authority"])
