"""The sockets of the local server: `localhost`, in both families of addresses.

A browser asks `localhost` at ::1 or at 127.0.0.1. If only one were ours, another user of the
machine could take the other, and be sent the token.
"""

from __future__ import annotations

import errno
import socket
import sys

__all__ = ["bound"]

_LAST_PORT = 65_535
_TRIES = 20


def bound(port: int) -> list[socket.socket]:
    """Listening sockets on one port of loopback; port 0 takes a free one.

    Raises:
        OSError: the port is taken, or does not exist.
    """
    if not 0 <= port <= _LAST_PORT:
        raise OSError(f"The port {port} does not exist; ports go from 1 to {_LAST_PORT}")
    tries = 1 if port else _TRIES
    while True:
        first = _listening(socket.AF_INET, "127.0.0.1", port)
        found: int = first.getsockname()[1]
        try:
            return [first, _listening(socket.AF_INET6, "::1", found)]
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                return [first]  # this machine has no IPv6, so nobody listens there
            first.close()
            tries -= 1
            if not tries:
                raise _taken(found) from None


def _listening(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "win32":  # there, another program could share the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(socket.SOMAXCONN)
    except OSError as error:
        made.close()
        if family == socket.AF_INET and error.errno in {errno.EADDRINUSE, errno.EACCES}:
            raise _taken(port) from None
        raise
    return made


def _taken(port: int) -> OSError:
    return OSError(
        f"Port {port} on this machine is used by another program; stop it, or choose another with"
        " --port (Excel then needs the manifest anew)"
    )
