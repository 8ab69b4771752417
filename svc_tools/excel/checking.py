"""`svc-tools excel check`: what is wrong between a cell and the service, and what to do.

Nothing is changed and nothing is billed.
"""

from __future__ import annotations

import platform
import ssl
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Literal

import httpx

from svc_sdk import SvcError, __version__
from svc_tools.config import ConfigurationError, EmbeddedSvc
from svc_tools.excel import installing, server_file, settings
from svc_tools.lookup.errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.excel.server_file import Server
    from svc_tools.excel.settings import Description


_PACKAGES = ("xlwings", "xlsxwriter", "fastapi", "uvicorn", "keyring", "platformdirs", "filelock")
_SERVER = "Server"
_INSTALL = 'Install what is missing: pip install "svc-tax-tools[excel]"'
_SERVICE_SECONDS, _SERVER_SECONDS = 5.0, 30.0
"""Seconds for a response; the local server sends a request, too, and may have to start the embedded
service."""
_FROM = {
    "environment": "as the environment says",
    "settings": "as it was set up",
    "nothing": "as no other was named",
}
_SEEN = (
    "Excel sees the variables that Windows keeps for you (Settings > Edit environment variables),"
    " not those of this terminal"
)
_START = "Start it: svc-tools excel serve"
_FILES = " --cert FILE --key FILE"
_AGAIN = "Stop it with Ctrl+C, then start it again: svc-tools excel serve"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Line:
    """The check of one part between a cell and the service.

    Attributes:
        name: what was checked.
        mark: whether it works; `not set up` is not an error: that adapter is not used here.
        said: what was found; never a key.
        todo: what to do; `None` for nothing.
    """

    name: str
    mark: Literal["ok", "wrong", "not set up"]
    said: str
    todo: str | None = None


def check(*, windows: bool = sys.platform == "win32") -> Iterator[Line]:
    """Check this machine, and yield each line once it is known."""
    yield _packages(windows=windows)
    if windows:
        yield _python_of_excel()
    described = settings.describe()
    yield _service(described, windows=windows)
    if described.problem is None:
        yield _answer()
    yield _server()


def _packages(*, windows: bool) -> Line:
    missing = [name for name in (*_PACKAGES, *["pywin32"] * windows) if not _is_installed(name)]
    if missing:
        return Line("Packages", "wrong", f"missing: {', '.join(missing)}", _INSTALL)
    said = f"svc-tax-tools {__version__}, Python {platform.python_version()}: {sys.executable}"
    return Line("Packages", "ok", said)


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _python_of_excel() -> Line:
    name = "Excel's Python"
    try:
        python, is_this = installing.python_of_excel()
    except (ImportError, OSError) as error:
        return Line(name, "wrong", f"xlwings cannot be used: {error}", _INSTALL)
    if is_this:
        return Line(name, "ok", f"Excel starts {python}, which is this Python")
    said = f"Excel starts {python}, not {sys.executable}"
    return Line(name, "wrong", said, "Run: svc-tools excel install")


def _service(described: Description, *, windows: bool) -> Line:
    if described.problem is not None:
        return Line("Service", "wrong", described.problem)
    how = _FROM[described.known_from]
    if described.service == settings.EMBEDDED:
        said = f"the embedded service and its own rate book, {how}"
        todo = "For your account: svc-tools excel install --base-url ADDRESS"
        return Line("Service", "ok", said, todo if described.known_from == "nothing" else None)
    seen = _SEEN if windows and described.known_from == "environment" else None
    return Line("Service", "ok", f"{described.service}, {how}", seen)


def _answer() -> Line:
    """Whether the service responds and accepts the key, by one unbilled request."""
    name = "Answers"
    try:
        with settings.client(timeout=_SERVICE_SECONDS, max_retries=0) as client:
            if isinstance(client, EmbeddedSvc):
                client.health()
                said = f"it answers, from the rate book of edition {client.book_edition}"
                return Line(name, "ok", said)
            settings.check_key(client)
            return Line(name, "ok", "it answers, and accepts the key")
    except SvcError as error:
        trouble = explained(error)
        return Line(name, "wrong", f"{trouble.title}: {trouble.text}", trouble.what_to_do)
    except (ConfigurationError, ImportError, ValueError) as error:
        return Line(name, "wrong", str(error))


def _server() -> Line:
    """Whether the local server responds, which Calc and Excel's add-in need."""
    try:
        server = server_file.read()
    except ConfigurationError as error:
        return Line(_SERVER, "wrong", str(error))
    if server is None:
        said = "it never ran here; Excel's add-in and Calc need it"
        return Line(_SERVER, "not set up", said, _START)
    # after a crash another program may listen there, and would be sent the token
    if not server_file.is_running():
        said = f"it does not run now; it ran at {server.url}"
        return Line(_SERVER, "not set up", said, _START + _FILES * _is_secure(server))
    wrong = _wrong_with(server)
    if wrong:
        return Line(_SERVER, "wrong", wrong, _AGAIN)
    said = f"it answers at {server.url} (process {server.pid})"
    if _is_secure(server):
        return Line(_SERVER, "ok", f"{said}; this computer has to trust its certificate")
    todo = f"Calc takes plain http; for Excel's add-in: {_START}{_FILES}"
    return Line(_SERVER, "ok", said, todo)


def _is_secure(server: Server) -> bool:
    return httpx.URL(server.url).scheme == "https"


def _wrong_with(server: Server) -> str:
    """Why the server does not respond as it should; "" where it does."""
    if httpx.URL(server.url).host not in _LOOPBACK:
        path = server_file.server_path()
        return f"{path} names {server.url}, which is not this machine: remove that file"
    try:
        status = _status_of(server)
    except (httpx.HTTPError, OSError, ValueError) as error:
        return f"it runs, and gives no answer at {server.url}: {type(error).__name__}"
    if status in {401, 403}:
        return f"what answers at {server.url} does not know our token (status {status})"
    return (
        ""
        if status == httpx.codes.OK
        else f"at {server.url} another program answers (status {status})"
    )


def _status_of(server: Server) -> int:
    """The status of its response; only the certificate in its file is trusted."""
    verify: ssl.SSLContext | bool = True
    if server.certificate is not None:
        verify = ssl.create_default_context(cafile=server.certificate)
        verify.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    token = server.token.get_secret_value()
    with httpx.Client(verify=verify, timeout=_SERVER_SECONDS, trust_env=False) as http:
        return http.get(
            f"{server.url}/excel/status", headers={"Authorization": f"Bearer {token}"}
        ).status_code
