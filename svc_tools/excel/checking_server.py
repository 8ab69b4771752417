"""The links of the add-in: the local server, and the manifest that Excel knows it by."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import httpx

from svc_tools.config import ConfigurationError
from svc_tools.excel import server_file
from svc_tools.excel.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.excel.server_file import Server

__all__ = ["server_lines"]

_ADDIN = "add-in"
_START = "Start it: svc-tools excel serve"
_FILES = " --cert FILE --key FILE"
_AGAIN = "Stop it with Ctrl+C, then start it again: svc-tools excel serve"
_ASKING = 30.0
"""Seconds for the server's answer: it asks the service, too, and may have to start our own."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_OK, _REFUSED = 200, {401, 403}


def server_lines() -> Iterator[Line]:
    """Whether the server of the last run answers, and whether Excel can load the add-in from it."""
    try:
        server = server_file.read()
    except ConfigurationError as error:
        yield Line(_ADDIN, "Server", "wrong", str(error))
        return
    if server is None:
        said = "it never ran here; Excel's add-in and Calc need it"
        yield Line(_ADDIN, "Server", "not set up", said, _START)
        return
    yield _server(server)
    yield _https(server)


def _server(server: Server) -> Line:
    if not server_file.is_running():
        said = f"it does not run now; it ran at {server.url}"
        is_secure = httpx.URL(server.url).scheme == "https"
        return Line(_ADDIN, "Server", "not set up", said, _START + _FILES * is_secure)
    who = f"{server.url} (process {server.pid})"
    if httpx.URL(server.url).host not in _LOOPBACK:
        said = f"{server_file.server_path()} names {server.url}, which is not this machine"
        return Line(_ADDIN, "Server", "wrong", said, f"Remove that file. {_START}")
    try:
        status = _asked(server)
    except (httpx.HTTPError, OSError, ValueError) as error:
        said = f"it runs, and gives no answer at {who}: {type(error).__name__}"
        return Line(_ADDIN, "Server", "wrong", said, _AGAIN)
    if status == _OK:
        return Line(_ADDIN, "Server", "ok", f"it answers at {who}")
    said = f"at {server.url} another program answers (status {status})"
    if status in _REFUSED:
        said = f"what answers at {server.url} does not know our token (status {status})"
    return Line(_ADDIN, "Server", "wrong", said, _AGAIN)


def _asked(server: Server) -> int:
    """The status that it answers with; the certificate has to be the one that it published."""
    verify: ssl.SSLContext | bool = True
    if server.certificate is not None:
        verify = ssl.create_default_context(cafile=server.certificate)
        verify.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    with httpx.Client(verify=verify, timeout=_ASKING, trust_env=False) as http:
        token = server.token.get_secret_value()
        answer = http.get(
            f"{server.url}/excel/status", headers={"Authorization": f"Bearer {token}"}
        )
    return answer.status_code


def _https(server: Server) -> Line:
    if httpx.URL(server.url).scheme == "https":
        said = f"{server.url} is https, as Excel asks; this computer has to trust its certificate"
        return Line(_ADDIN, "https", "ok", said)
    said = f"{server.url} is plain http: Calc takes it, Excel asks for https"
    todo = f"For Excel: svc-tools excel serve{_FILES}; see {server.url}/excel/"
    return Line(_ADDIN, "https", "not set up", said, todo)
