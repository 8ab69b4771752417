"""`svc-tools excel install` and `check`: the service and the Python of the cells; what is wrong.

Each step of `install` returns a sentence on the current state, or raises what `settings` does.
`check` changes nothing, and nothing is billed. Excel's own settings are never changed.
"""

from __future__ import annotations

import platform
import ssl
import sys
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Literal

import httpx

from svc_sdk import AuthError, Svc, SvcError, __version__
from svc_tools.config import KEY_VARIABLE, URL_VARIABLE, ConfigurationError, EmbeddedSvc
from svc_tools.excel import settings
from svc_tools.excel.workbook import XLWINGS
from svc_tools.extras import install_command, needs
from svc_tools.lookup.key_check import check_key
from svc_tools.lookup.outcomes import explained
from svc_tools.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import SecretStr

    from svc_tools.excel.settings import Description, Server

_TIMEOUT = 5.0
"""Seconds for a response of the service."""
_SERVER_TIMEOUT = 30.0
"""That of the local server: it sends a request, too, and may have to start the embedded service."""
_RESTART = "Excel and `svc-tools excel serve` use it once they are started again."
_PACKAGES = ("xlwings", "xlsxwriter", "fastapi", "uvicorn", "keyring", "platformdirs", "filelock")
_ACCOUNT = "For your account: svc-tools excel install --base-url ADDRESS"
_START, _FILES = "Start it: svc-tools excel serve", " --cert FILE --key FILE"
_ORIGINS = {
    "environment": "from the environment",
    "settings": "from `svc-tools excel install`",
    "nothing": "because no other is set up",
}


def current_service() -> str:
    """The service that the cells use; nothing is changed."""
    found = settings.describe()
    if found.problem is not None:
        raise ConfigurationError(found.problem)
    if found.known_from == "environment":
        return f"The cells use {found.service}, from {URL_VARIABLE} and {KEY_VARIABLE}."
    if found.service != settings.EMBEDDED:
        return f"The cells use {found.service}; its key is in {settings.keyring_name()}."
    return f"The cells use the embedded service with its own rate book. {_ACCOUNT}"


def use_account(address: str, key: SecretStr | None) -> str:
    """Use the service at an address, with a key or with the one that is stored.

    Raises:
        ConfigurationError: the service does not accept the key, it is missing, or it cannot be
            stored; nothing was changed.
        ImportError: the package that reaches the keyring is not installed.
    """
    secret = key or settings.stored_key(address)
    if secret is None:
        raise ConfigurationError(f"There is no key yet for {address}: give it with --key-stdin")
    checked = _check_key(address, secret)
    settings.remember(address, secret)
    stored = f"The cells use {address}; its key is in {settings.keyring_name()}."
    return f"{stored} {checked} {_RESTART}{_overridden()}"


def use_embedded() -> str:
    """Use the embedded service."""
    settings.choose_embedded()
    return f"The cells use the embedded service with its own rate book. {_RESTART}{_overridden()}"


def forget_key() -> str:
    """Remove the key from the keyring."""
    address = settings.forget_key()
    if address is None:
        return "The keyring has no key of svc-tools."
    return (
        f"The key of {address} was removed. Cells show an error until there is another, or"
        f" --embedded. {_RESTART}"
    )


def _check_key(address: str, key: SecretStr) -> str:
    """Whether the service accepts the key, in a sentence; raises where it rejects it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client = Svc(key, base_url=address, timeout=_TIMEOUT, max_retries=0)
    with client:
        try:
            check_key(client)
            result = "The service accepts the key."
        except AuthError:
            raise ConfigurationError(
                f"{address} does not accept the key: nothing was changed. Check the address and"
                " the key, then try again"
            ) from None
        except SvcError as error:
            result = f"The key could not be checked: {error.message}."
    return " ".join([result, *(f"{one.message}." for one in caught)])


def _overridden() -> str:
    """A sentence where the environment overrides the settings."""
    if settings.describe().known_from != "environment":
        return ""
    return f" But {URL_VARIABLE} or {KEY_VARIABLE} is set in the environment, which comes first."


def use_this_python(*, windows: bool = sys.platform == "win32") -> str:
    """Have Excel start this Python, by the file of xlwings; an existing one is not changed.

    Raises:
        ConfigurationError: the file names another Python.
        ImportError: xlwings is not installed.
    """
    if not windows:
        return "Functions through xlwings need Excel on Windows: nothing was written for it here."
    with needs("Excel through xlwings", "excel"):
        import xlwings  # noqa: PLC0415 - of the extra, and it takes most of a second
        from xlwings.cli import config_create  # noqa: PLC0415 - the same
    path = Path(xlwings.USER_CONFIG_FILE)
    if not path.exists():
        config_create(None)  # type: ignore[no-untyped-call]  # as `xlwings config create` does, also for conda
    python, is_this = python_of_excel()
    if not is_this:
        raise ConfigurationError(
            f"Excel starts {python}, not {sys.executable}. Write this line in {path}:"
            f' "INTERPRETER_WIN","{sys.executable}"'
        )
    return f"Excel starts {python}, as {path} says."


def python_of_excel() -> tuple[str, bool]:
    """The name of the Python that Excel starts, and whether it is this one."""
    from xlwings.cli import get_conda_settings  # noqa: PLC0415 - as above
    from xlwings.utils import read_user_config  # noqa: PLC0415 - as above

    found = read_user_config()  # type: ignore[no-untyped-call]
    if (python := found.get("interpreter_win")) is not None:
        return python, PureWindowsPath(python) == PureWindowsPath(sys.executable)
    if (environment := found.get("conda env")) is not None:
        _, current = get_conda_settings()  # type: ignore[no-untyped-call]
        return f"the conda environment {environment}", current == environment
    return "another Python", False


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
        yield _python()
    described = settings.describe()
    yield _service(described, windows=windows)
    if described.problem is None:
        yield _response()
    yield _server()


def _packages(*, windows: bool) -> Line:
    installed = {one.metadata["Name"].lower() for one in metadata.distributions()}
    missing = [one for one in (*_PACKAGES, *["pywin32"] * windows) if one not in installed]
    if missing:
        return Line("Packages", "wrong", f"missing: {', '.join(missing)}", _install())
    if (xlwings := metadata.version("xlwings")) != XLWINGS:
        unlike = f"xlwings {xlwings}; the macros of the workbook are those of xlwings {XLWINGS}"
        return Line("Packages", "wrong", unlike, f"Run: pip install xlwings=={XLWINGS}")
    found = f"svc-tax-tools {__version__}, Python {platform.python_version()}: {sys.executable}"
    return Line("Packages", "ok", found)


def _install() -> str:
    return f"Install what is missing: {install_command('excel')}"


def _python() -> Line:
    name = "Excel's Python"
    try:
        python, is_this = python_of_excel()
    except (ImportError, OSError) as error:
        return Line(name, "wrong", f"xlwings cannot be used: {error}", _install())
    if is_this:
        return Line(name, "ok", f"Excel starts {python}, which is this Python")
    found = f"Excel starts {python}, not {sys.executable}"
    return Line(name, "wrong", found, "Run: svc-tools excel install")


def _service(described: Description, *, windows: bool) -> Line:
    if described.problem is not None:
        return Line("Service", "wrong", described.problem)
    origin = _ORIGINS[described.known_from]
    if described.service == settings.EMBEDDED:
        found = f"the embedded service and its own rate book, {origin}"
        return Line("Service", "ok", found, _ACCOUNT if described.known_from == "nothing" else None)
    seen = None
    if windows and described.known_from == "environment":
        seen = (
            "Excel sees the variables that Windows stores for you (Settings > Edit environment"
            " variables), not those of this terminal"
        )
    return Line("Service", "ok", f"{described.service}, {origin}", seen)


def _response() -> Line:
    """Whether the service responds and accepts the key, by one unbilled request."""
    name = "Response"
    try:
        with settings.client(timeout=_TIMEOUT, max_retries=0) as client:
            if isinstance(client, EmbeddedSvc):
                client.health()
                return Line(name, "ok", f"rate book of edition {client.book_edition}")
            check_key(client)
            return Line(name, "ok", "the service accepts the key")
    except SvcError as error:
        trouble = explained(error)
        return Line(name, "wrong", f"{trouble.title}: {trouble.text}", trouble.what_to_do)
    except (ConfigurationError, ImportError, ValueError) as error:
        return Line(name, "wrong", str(error))


def _server() -> Line:
    """Whether the local server responds, which Calc and Excel's add-in need."""
    name = "Server"
    try:
        server = settings.read_server()
    except ConfigurationError as error:
        return Line(name, "wrong", str(error))
    if server is None:
        return Line(name, "not set up", "not started yet; Excel's add-in and Calc need it", _START)
    is_secure = httpx.URL(server.url).scheme == "https"
    # after a crash another program may listen there, and would be sent the token
    if not settings.is_server_running():
        found = f"it is not running; it last ran at {server.url}"
        return Line(name, "not set up", found, _START + _FILES * is_secure)
    wrong = _wrong_with(server)
    if wrong:
        todo = "Stop it with Ctrl+C, then start it again: svc-tools excel serve"
        return Line(name, "wrong", wrong, todo)
    found = f"running at {server.url} (process {server.pid})"
    if is_secure:
        return Line(name, "ok", f"{found}; this computer has to trust its certificate")
    return Line(name, "ok", found, f"Calc accepts plain http; for Excel's add-in: {_START}{_FILES}")


def _wrong_with(server: Server) -> str:
    """Why the server does not respond as it should; "" where it does."""
    if not is_loopback(httpx.URL(server.url).host):
        path = settings.server_path()
        return f"{path} names {server.url}, which is not this machine: remove that file"
    verify: ssl.SSLContext | bool = True
    token = server.token.get_secret_value()
    try:
        if server.certificate is not None:  # only that one is trusted
            verify = ssl.create_default_context(cafile=server.certificate)
            verify.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        with httpx.Client(verify=verify, timeout=_SERVER_TIMEOUT, trust_env=False) as http:
            status = http.get(
                f"{server.url}/excel/status", headers={"Authorization": f"Bearer {token}"}
            ).status_code
    except (httpx.HTTPError, OSError, ValueError) as error:
        return f"it runs, and does not respond at {server.url}: {type(error).__name__}"
    if status in {401, 403}:
        return f"the server at {server.url} does not accept the token (status {status})"
    if status == httpx.codes.OK:
        return ""
    return f"another program responds at {server.url} (status {status})"
