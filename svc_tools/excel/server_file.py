"""`server.json`: where the local server of the spreadsheets listens, and the token it expects.

Calc's add-in reads it, and so does the next run of the server: address and token stay the same, so
that the manifest in Excel stays valid. Only its owner can read the file. Where it cannot be read or
written, a `ConfigurationError` says what to do.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from pydantic import SecretStr

from svc_tools import config
from svc_tools.config import ConfigurationError
from svc_tools.excel.settings import read_object, write_object
from svc_tools.extras import needs


@dataclass(frozen=True, slots=True)
class Server:
    """The content of the file.

    Attributes:
        url: the address, such as `https://localhost:8643`, without a path.
        token: the token that requests need.
        pid: its process while it runs; `None` once it was stopped.
        certificate: the file of its certificate, where it serves https: callers on this machine
            trust only that one.
    """

    url: str
    token: SecretStr
    pid: int | None
    certificate: Path | None = None


def server_path() -> Path:
    """The path of the file."""
    return config.excel_folder() / "server.json"


def lock_path() -> Path:
    """The path of the lock that a server holds while it runs, however it ends."""
    return config.excel_folder() / "serve.lock"


def is_running() -> bool:
    """Whether a server of this user runs.

    The file does not show that: after a crash another program may listen at its address, and would
    be sent the token.
    """
    with needs("The spreadsheets' server", "excel"):
        from filelock import FileLock, Timeout  # noqa: PLC0415 - of an extra
    if not lock_path().exists():
        return False
    try:
        with FileLock(lock_path(), timeout=0):
            return False
    except Timeout:
        return True


def read() -> Server | None:
    """The server that runs, or ran last; `None` without one."""
    found = read_object(server_path())
    url, token, pid = found.get("url"), found.get("token"), found.get("pid")
    if not (isinstance(url, str) and isinstance(token, str) and url and token):
        return None
    certificate = found.get("certificate")
    return Server(
        url,
        SecretStr(token),
        pid if isinstance(pid, int) else None,
        Path(certificate) if isinstance(certificate, str) and certificate else None,
    )


def publish(url: str, token: SecretStr, certificate: Path | None = None) -> None:
    """Write the address of this process, and its certificate, if any."""
    path = None if certificate is None else certificate.absolute()
    _write(Server(url.rstrip("/"), token, os.getpid(), path))


def renew() -> None:
    """Rewrite the file of this process, whereupon Calc drops its cached results."""
    with suppress(ConfigurationError):  # Calc caches them for a minute at most
        if (server := _own()) is not None:
            _write(server)


def withdraw() -> None:
    """Note that this process has stopped, unless another has taken over; address and token stay."""
    if (server := _own()) is not None:
        _write(replace(server, pid=None))


def last_token() -> SecretStr:
    """The token of the last run, so that manifests stay valid; else a new one."""
    server = read()
    return SecretStr(secrets.token_urlsafe(24)) if server is None else server.token


def last_port() -> int | None:
    """The port of the last run; `None` without one."""
    server = read()
    return None if server is None else httpx.URL(server.url).port


def _own() -> Server | None:
    server = read()
    return server if server is not None and server.pid == os.getpid() else None


def _write(server: Server) -> None:
    content = {
        "url": server.url,
        "token": server.token.get_secret_value(),
        "pid": server.pid,
        "certificate": None if server.certificate is None else str(server.certificate),
    }
    write_object(server_path(), content)
