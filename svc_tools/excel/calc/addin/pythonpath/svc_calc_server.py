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

_START = "Start it in a terminal: svc-tools excel serve"
_WAIT, _LONG_WAIT = 120.0, 900.0
"""Seconds for a response, and for that of a refresh with thousands of lookups. What comes too late
is cached by the server: the next recalculation shows it."""
_CALM, _SHARE = 2.0, 0.1
"""Seconds after a failure in which no request is sent: each cell would wait for its own failure.
After a long wait it is this share of that, as thousands of cells take longer to compute."""
_OK, _UNAUTHORIZED = 200, 401
_THIS_CERTIFICATE = 0x80000
"""Trust that very certificate: `ssl.VERIFY_X509_PARTIAL_CHAIN`, which Python 3.8 lacks."""
_SETTINGS = {"win32": "AppData/Local", "darwin": "Library/Application Support"}
"""The folder of settings within the user's own, where it is not `.config`."""


class ServerError(Exception):
    """There is no response of the server; the message says why, and what to do."""


class RefusedError(ServerError):
    """The server responds, but not with results: it refuses the request, or failed."""


def server_file() -> Path:
    """The file with the address of the server; the rule is that of `config.excel_folder`."""
    folder = os.environ.get("SVC_EXCEL", "").strip()
    if folder:
        return Path(folder).expanduser() / "server.json"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    base = Path(os.environ.get(variable, "").strip())
    if not base.is_absolute():
        base = Path.home() / _SETTINGS.get(sys.platform, ".config")
    return base / "svc-tools" / "excel" / "server.json"


class Server:
    """The running server; its file is read again whenever it changes."""

    def __init__(self) -> None:
        self._stamp: object = None
        self._url = ""
        self._token = ""
        self._trusted: ssl.SSLContext | None = None
        self._connection = self._connected(_WAIT)
        self._failure: ServerError | None = None
        self._calm_until = 0.0

    def __repr__(self) -> str:
        """The address; never the token."""
        return f"Server({self._url!r})"

    def find(self) -> object:
        """Read the server's file if it changed; the same value until it changes.

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
        except (OSError, ValueError, KeyError, TypeError):
            if path.exists():
                raise ServerError(f"{path} cannot be read. {_START}") from None
            raise ServerError(f"The local server was never started. {_START}") from None
        return self._stamp

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
        self.find()
        if self._failure is not None and time.monotonic() < self._calm_until:
            raise self._failure.with_traceback(None)
        body = None if content is None else json.dumps(content, allow_nan=False).encode()
        connection = self._connected(_LONG_WAIT) if long else self._connection
        sent_at = time.monotonic()
        try:
            return self._response(connection, method, path, body)
        except RefusedError:
            raise  # other cells may request what it accepts
        except ServerError as error:
            failed_at = time.monotonic()
            self._failure = error
            self._calm_until = failed_at + max(_CALM, _SHARE * (failed_at - sent_at))
            raise
        finally:
            if long:
                connection.close()

    def forget_failure(self) -> None:
        """Let the next request be sent, even right after a failure."""
        self._failure = None

    def _response(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> Any:  # noqa: ANN401 - JSON
        """Send a request; once more where an open connection was closed meanwhile."""
        is_open = connection.sock is not None
        headers = {"Authorization": "Bearer " + self._token, "Content-Type": "application/json"}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if isinstance(error, ssl.SSLError):
                reason = getattr(error, "verify_message", "") or error.reason or "TLS failed"
                raise ServerError(f"{self._url} cannot be trusted: {reason}. {_START}") from None
            if isinstance(error, socket.timeout):  # no TimeoutError before Python 3.10
                waited = f"{connection.timeout:.0f} s"
                raise ServerError(f"{self._url} did not respond in {waited}.") from None
            if is_open:
                return self._response(connection, method, path, body)
            raise ServerError(f"The local server does not respond. {_START}") from None
        if response.status == _UNAUTHORIZED:
            raise ServerError(f"The local server does not know this add-in's token. {_START}")
        if response.status != _OK:
            reason = _reason(response.status, data)
            raise RefusedError(f"The local server refused the request: {reason}")
        try:
            return json.loads(data)
        except ValueError:
            raise ServerError(f"{self._url} is not a server of svc-tools. {_START}") from None

    def _connected(self, wait: float) -> http.client.HTTPConnection:
        """A connection to the server, opened by its first request."""
        parts = urllib.parse.urlsplit(self._url)
        host = parts.hostname or "localhost"
        if self._trusted is None:
            return http.client.HTTPConnection(host, parts.port, timeout=wait)
        return http.client.HTTPSConnection(host, parts.port, timeout=wait, context=self._trusted)

    def _read(self, path: Path) -> None:
        found = json.loads(path.read_text(encoding="utf-8"))
        url, token = str(found["url"]).rstrip("/"), str(found["token"])
        if found.get("pid", 0) is None:  # another program may listen there meanwhile
            raise ServerError(f"The local server was stopped. {_START}")
        parts = urllib.parse.urlsplit(url)
        if parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
            raise ValueError
        certificate, trusted = found.get("certificate"), None
        if parts.scheme == "https":
            trusted = ssl.create_default_context(cafile=certificate)
            if certificate is not None:
                trusted.verify_flags |= _THIS_CERTIFICATE
        self._url, self._token, self._trusted = url, token, trusted
        self._connection.close()
        self._connection = self._connected(_WAIT)
        self._failure = None


def _reason(status: int, data: bytes) -> str:
    """The server's own message, if it has one."""
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"status {status}."
