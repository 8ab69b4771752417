"""Whether a certificate and its key can serve https on this machine, said before anything starts.

A browser inside Excel shows no reason where a certificate does not fit: the add-in just does not
load. So it is tried here, by a handshake in memory.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_certificate"]

_HOST = "localhost"
_WRONG_NAME = 62
_EXPIRED = 10
_NOT_YET = 9
_ROUNDS = 10


def check_certificate(cert: Path, key: Path) -> None:
    """Say what is wrong with a certificate for `localhost`; nothing where all is well.

    Whether this machine trusts it is not asked: that is between Excel and the system.

    Raises:
        ValueError: a file is missing or unreadable, the two do not belong together, the key asks
            for a password, or the certificate is of another name or another time.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        server.load_cert_chain(cert, key, password=_no_password)
    except FileNotFoundError:
        missing = cert if not cert.exists() else key
        raise ValueError(
            f"{missing} does not exist; --cert and --key name PEM files, and the page of"
            " `svc-tools excel serve --open` says how they are made"
        ) from None
    except _PasswordError:
        raise ValueError(
            f"The key {key} asks for a password; give one without, readable by you alone"
        ) from None
    except (ssl.SSLError, OSError) as error:
        why = "they do not belong together" if _mismatched(error) else "PEM files are expected"
        raise ValueError(f"{cert} and {key} cannot be used: {why}") from None
    client = ssl.create_default_context(cafile=cert)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # whoever signed it is not asked
    try:
        _shake_hands(server, client)
    except ssl.SSLCertVerificationError as error:
        raise ValueError(_told(cert, error.verify_code)) from None
    except ssl.SSLError:
        raise ValueError(f"{cert} cannot be used for https by a server") from None


class _PasswordError(Exception):
    """The key is encrypted."""


def _no_password() -> str:
    """A server that starts must not stop to ask."""
    raise _PasswordError


def _mismatched(error: Exception) -> bool:
    return "MISMATCH" in str(error).upper()


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=_HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(_ROUNDS):
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)


def _told(cert: Path, code: int) -> str:
    if code == _WRONG_NAME:
        return f"{cert} is not for {_HOST}: make one whose subjectAltName names DNS:{_HOST}"
    if code in {_EXPIRED, _NOT_YET}:
        return f"{cert} is not valid today: make a new one"
    return f"{cert} cannot be used for https by a server"
