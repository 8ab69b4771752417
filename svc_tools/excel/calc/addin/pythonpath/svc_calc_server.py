# ruff: noqa: INP001 - a file of the extension, no module of a package
"""Requests of Calc's add-in to the local server, `svc-tools excel serve`.

Standard library alone, Python 3.8 and later: LibreOffice brings its own Python.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

_VARIABLE = "SVC_EXCEL"
"""The folder of the server's file, where it is not the user's own."""
_START = "Start it in a terminal: svc-tools excel serve"
_WAIT, _LONG_WAIT = 120.0, 900.0
"""Seconds for a response, and for that of a refresh with thousands of lookups. What comes too late
is cached by the server: the next recalculation shows it."""
_CALM = 2.0
"""Seconds after a failure in which no request is sent: each cell would wait for its own failure."""
_TRIES = 2
_OK, _UNAUTHORIZED = 200, 401


class ServerError(Exception):
    """There is no response of the server; the message says why, and what to do."""


class RefusedError(ServerError):
    """The server responds, but not with results: it refuses the request, or failed."""


def server_file() -> Path:
    """The file with the address of the server; the rule is that of `config.excel_folder`."""
    named = os.environ.get(_VARIABLE, "").strip()
    folder = Path(named).expanduser() if named else _own_folder() / "svc-tools" / "excel"
    return folder / "server.json"


def _own_folder() -> Path:
    """The folder of the user's settings on this system."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "").strip()
        return Path(local) if local else Path.home() / "AppData" / "Local"
    base = os.environ.get("XDG_CONFIG_HOME", "").strip()
    if base and Path(base).is_absolute():
        return Path(base)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path.home() / ".config"


class Server:
    """The running server; its file is read again whenever it changes."""

    def __init__(self) -> None:
        self._stamp: object = None
        self._url = ""
        self._token = ""
        self._certificate: str | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._failed: tuple[float, str] | None = None
        self.starts = 0

    def __repr__(self) -> str:
        """The address; never the token."""
        return f"Server({self._url!r})"

    def find(self) -> int:
        """Read the server's file if it changed; a number that grows with each change.

        Raises:
            ServerError: there is no such file, or it cannot be used.
        """
        path = server_file()
        try:
            about = path.stat()
            stamp = (about.st_mtime_ns, about.st_size, about.st_ino)
            if stamp != self._stamp:
                self._read(path)
                self._stamp = stamp
        except FileNotFoundError:
            raise ServerError(f"The local server was never started. {_START}") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise ServerError(f"{path} cannot be read. {_START}") from None
        return self.starts

    def request(self, method: str, path: str, content: Any = None, *, long: bool = False) -> Any:  # noqa: ANN401 - JSON
        """The JSON of the response to a request.

        Args:
            method: of HTTP.
            path: on the server.
            content: the body, as JSON.
            long: whether it may take minutes, and must not be sent twice.

        Raises:
            ServerError: there is no response.
        """
        if self._failed is not None and time.monotonic() - self._failed[0] < _CALM:
            before = self.starts
            if self.find() == before:
                raise ServerError(self._failed[1])
        try:
            response = self._response(method, path, content, long=long)
        except ServerError as error:
            self._failed = (time.monotonic(), str(error))
            raise
        self._failed = None
        return response

    def forget_failure(self) -> None:
        """Let the next request be sent, even right after a failure."""
        self._failed = None

    def _response(self, method: str, path: str, content: Any, *, long: bool) -> Any:  # noqa: ANN401 - JSON
        self.find()
        if long:
            self._close()
        body = None if content is None else json.dumps(content, allow_nan=False).encode()
        status, data = self._sent(method, path, body, _LONG_WAIT if long else _WAIT)
        if status == _UNAUTHORIZED:
            raise ServerError(f"The local server does not know this add-in's token. {_START}")
        if status != _OK:
            raise RefusedError(f"The local server refused the request: {_reason(status, data)}")
        try:
            return json.loads(data)
        except ValueError:
            raise ServerError(f"{self._url} is not a server of svc-tools. {_START}") from None

    def _sent(self, method: str, path: str, body: bytes | None, wait: float) -> tuple[int, bytes]:
        """Send it; once more where an open connection was closed meanwhile."""
        for _ in range(_TRIES):
            fresh = self._connection is None
            try:
                connection = self._connection or self._connected()
                self._connection = connection
                connection.timeout = wait
                if connection.sock is not None:
                    connection.sock.settimeout(wait)
                headers = {"Authorization": "Bearer " + self._token}
                if body is not None:
                    headers["Content-Type"] = "application/json"
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except ssl.SSLError as error:
                self._close()
                reason = getattr(error, "verify_message", "") or error.reason or "TLS failed"
                raise ServerError(f"{self._url} cannot be trusted: {reason}. {_START}") from None
            except socket.timeout:  # noqa: UP041 - another one than TimeoutError before 3.10
                self._close()
                raise ServerError(f"{self._url} did not respond in {wait:.0f} s.") from None
            except (OSError, http.client.HTTPException):
                self._close()
                if fresh:
                    break
        raise ServerError(f"The local server does not respond. {_START}")

    def _connected(self) -> http.client.HTTPConnection:
        parts = urllib.parse.urlsplit(self._url)
        host, port = parts.hostname or "localhost", parts.port
        if parts.scheme != "https":
            return http.client.HTTPConnection(host, port)
        trusted = ssl.create_default_context(cafile=self._certificate)
        if self._certificate is not None:  # that very certificate
            trusted.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return http.client.HTTPSConnection(host, port, context=trusted)

    def _read(self, path: Path) -> None:
        found = json.loads(path.read_text(encoding="utf-8"))
        url, token = str(found["url"]).rstrip("/"), str(found["token"])
        if found.get("pid", 0) is None:  # another program may listen there meanwhile
            raise ServerError(f"The local server was stopped. {_START}")
        if urllib.parse.urlsplit(url).hostname not in {"localhost", "127.0.0.1", "::1"}:
            raise ValueError
        self._url, self._token = url, token
        self._certificate = found.get("certificate") or None
        self._close()
        self._failed = None
        self.starts += 1

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _reason(status: int, data: bytes) -> str:
    """The server's own message, if it has one."""
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"status {status}."
