"""What is stored in the user's folder: the service of the cells, the certificate, the local server.

The cells use the service of the environment, else the one set up, else the embedded. Half a
configuration is an error and never the embedded service: its rates would look like those of the
account that was meant. `settings.json` has the address, and the paths of the certificate; the key
is in the operating system's keyring (the Credential Manager of Windows, the Keychain of macOS, the
Secret Service or KWallet of a Linux desktop) and in no file. A keyring that would store it
readable, or not at all, is refused.

`server.json` has the address of the local server and the token it expects. Calc's add-in reads it,
and so does the next run: both stay the same, so that the manifest in Excel stays valid.

Only their owner can read the files. What reads or writes them or the keyring raises
`ConfigurationError` where they cannot be used, with what to do, and `ImportError` where a package
of the extra is not installed.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, ValidationError

from svc_sdk import Svc
from svc_sdk.wire import checked_url
from svc_tools import config
from svc_tools.base.atomic import whole_file
from svc_tools.base.extras import needs
from svc_tools.base.loopback import is_loopback
from svc_tools.config import KEY_VARIABLE, URL_VARIABLE, ConfigurationError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

EMBEDDED = "embedded"
"""Instead of an address, where the embedded service was chosen."""
LOCK_PATIENCE = 10.0
"""Seconds to wait for another program that stores a setting."""
_SETTINGS, _SERVER = "settings.json", "server.json"
_SERVICE, _CERTIFICATE, _HTTPS = "service", "certificate", "https"
_NO_KEY = (
    "There is an address ({address}) but the keyring has no key for it: store it once with"
    " svc-tools excel install --base-url {address}, or choose the embedded service with"
    " svc-tools excel install --embedded"
)
_KEYRING_SERVICE = "svc-tools"
"""The name of the keys in the keyring; the user name is the address of the service."""
_NO_KEYRING = (
    "There is no safe place for a key here: {why}. Windows and macOS always have one; that of"
    f" Linux is the desktop's (Secret Service or KWallet). Or set {URL_VARIABLE} and"
    f" {KEY_VARIABLE} in the environment"
)


@dataclass(frozen=True, slots=True)
class Description:
    """The configured service and where it is configured.

    Attributes:
        known_from: what names the service: the environment, the settings, or nothing (then it is
            the embedded service).
        service: the address, or "embedded"; `None` where neither can be read.
        key: the key, where there is an address.
        problem: why the configuration cannot be used, in a sentence.
    """

    known_from: Literal["environment", "settings", "nothing"]
    service: str | None
    key: SecretStr | None = field(default=None, repr=False)
    problem: str | None = None


def client(*, timeout: float = 10.0, max_retries: int = 3) -> Svc:
    """A client of the service that the cells use.

    Args:
        timeout: seconds, for each attempt as a whole.
        max_retries: how often a 429, a 5xx or a timeout is tried again (SPEC 8).
    """
    found = describe()
    if found.service is None or found.problem is not None:
        raise ConfigurationError(found.problem)
    if found.key is None:
        return config.connect("embedded")
    try:
        return Svc(found.key, base_url=found.service, timeout=timeout, max_retries=max_retries)
    except ValueError as error:  # an address or a key that no request can hold
        raise ConfigurationError(f"The configuration cannot be used: {error}") from None


def describe() -> Description:
    """The configured service, without a request; an error becomes a sentence."""
    origin: Literal["environment", "settings"] = "environment"
    service = None
    try:
        account = config.configured()
        if account is not None:
            return Description(origin, checked_address(account[1]), account[0])
        origin = "settings"
        service = chosen()
        if service in {None, EMBEDDED}:
            return Description("settings" if service else "nothing", EMBEDDED)
        key = stored_key(checked_address(service))
        problem = _NO_KEY.format(address=service) if key is None else None
        return Description(origin, service, key, problem)
    except (ConfigurationError, ImportError) as error:
        return Description(origin, service, problem=str(error))


def remember(address: str, key: SecretStr) -> None:
    """Store the address in the settings and the key, which replaces an earlier one, in the keyring.

    The key is stored first: without it the address would be half a configuration.
    """
    address, secret = checked_address(address), key.get_secret_value().strip()
    if not secret:
        raise ConfigurationError("The API key is empty; give the key of your account")
    _in_keyring("set_password", address, secret)
    if _in_keyring("get_password", address) != secret:
        raise ConfigurationError(_NO_KEYRING.format(why=f"{keyring_name()} stores nothing"))
    _store({_SERVICE: address})


def choose_embedded() -> None:
    """Use the embedded service; keys in the keyring stay."""
    _store({_SERVICE: EMBEDDED})


def remember_certificate(*pair: Path) -> tuple[Path, ...]:
    """Store, and return, the paths of a certificate and its private key; none for plain http."""
    pair = tuple(path.absolute() for path in pair)
    files = {_CERTIFICATE: list(map(str, pair))} if pair else {}
    _store(files | {_HTTPS: bool(pair)})
    return pair


def certificate() -> tuple[tuple[Path, ...], bool | None]:
    """The paths of the certificate and its private key, if any; whether https was chosen last."""
    found = _read(_SETTINGS)
    pair: Any = found.get(_CERTIFICATE)
    is_pair = isinstance(pair, list) and [*map(type, pair)] == [str, str]  # the file may be edited
    return tuple(map(Path, pair)) if is_pair else (), found.get(_HTTPS)


def _store(values: dict[str, object]) -> None:
    """Write values into the file of settings; all others in it stay. The file is locked meanwhile.

    Raises:
        ConfigurationError: the file cannot be written, or another program holds its lock.
    """
    with needs("The settings of the spreadsheets", "excel"):
        from filelock import FileLock, Timeout  # noqa: PLC0415 - of an extra
    folder = config.excel_folder()
    lock = folder / "settings.lock"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(lock, timeout=LOCK_PATIENCE):  # another process may store another value now
            _write(_SETTINGS, _read(_SETTINGS) | values)
    except Timeout:
        raise ConfigurationError(
            f"The settings in {folder} are in use: another program has held {lock} for"
            f" {LOCK_PATIENCE:g} s; close Excel and other terminals with svc-tools, and try again"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}") from None


def forget_key() -> str | None:
    """Remove the key of the address that was set up; that address, `None` where it had no key.

    The address stays: cells say that the key is missing, and no other service is used unnoticed.
    """
    address = chosen()
    if address in {None, EMBEDDED} or stored_key(address) is None:
        return None
    _in_keyring("delete_password", address)
    return address


def chosen() -> str | None:
    """The service in the settings: an address, "embedded", or `None` where nothing was set up.

    Raises:
        ConfigurationError: the settings cannot be read.
    """
    service = _read(_SETTINGS).get(_SERVICE)
    return _address(str(service)) if service not in (None, EMBEDDED) else service


def checked_address(address: str) -> str:
    """The address of a service, as clients use it, to which a key may be sent.

    Raises:
        ConfigurationError: it is not the address of a service, or a key would be sent unencrypted
            to another computer; the message says what is expected.
    """
    address = _address(address)
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ConfigurationError(
            "The address cannot be used: with http:// your API key would be sent unencrypted to"
            f" {parts.hostname}, where others may read it; give the address that begins with https://"
        )
    return address


def _address(address: str) -> str:
    try:
        return str(checked_url(address)).rstrip("/")
    except ValueError as error:
        why = str(error).removeprefix("base_url: ")
        raise ConfigurationError(f"The address cannot be used: {why}") from None


def stored_key(address: str) -> SecretStr | None:
    """The stored key of the service at an address, as `chosen` gives it; `None` without one."""
    stored = _in_keyring("get_password", address)
    return SecretStr(stored) if stored else None


def _in_keyring(method: str, address: str, *secret: str) -> str | None:
    """Call a method of the keyring for an address; errors become sentences without the key."""
    backend = _keyring()
    try:
        found: str | None = getattr(backend, method)(_KEYRING_SERVICE, address, *secret)
    except Exception as error:  # noqa: BLE001 - each keyring raises its own errors, perhaps with the key
        raise ConfigurationError(
            f"The keyring cannot be used ({type(error).__name__}): unlock it and try again, or set"
            f" {URL_VARIABLE} and {KEY_VARIABLE} in the environment"
        ) from None
    return found


def _keyring() -> KeyringBackend:
    """The keyring of the operating system; raises where there is no safe one."""
    with needs("A key in the keyring", "excel"):
        import keyring  # noqa: PLC0415 - of an extra, and it loads the system's libraries
        from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415 - as above
        from keyring.core import recommended  # noqa: PLC0415 - as above
    try:
        backend = keyring.get_keyring()
    except Exception as error:  # noqa: BLE001 - a configured one may not load
        why = f"the keyring that is configured does not load ({type(error).__name__})"
        raise ConfigurationError(_NO_KEYRING.format(why=why)) from None
    if isinstance(backend, ChainerBackend):  # of several, only a safe one
        backend = next(iter(backend.backends), backend)
    module, why = type(backend).__module__, f"{keyring_name(backend)} does not store keys safely"
    if module in {"keyring.backends.fail", "keyring.backends.chainer"}:
        why = "no keyring was found"
    # the packages keyrings.alt and the like store keys in files, some of them readable by anyone
    if not recommended(backend) or module.startswith("keyrings."):
        raise ConfigurationError(_NO_KEYRING.format(why=why))
    return backend


def keyring_name(backend: KeyringBackend | None = None) -> str:
    """The name of a keyring, that of this computer where none is given, for messages."""
    known = {
        "keyring.backends.Windows": "the Windows Credential Manager",
        "keyring.backends.macOS": "the macOS Keychain",
        "keyring.backends.SecretService": "the desktop's Secret Service",
        "keyring.backends.libsecret": "the desktop's Secret Service",
        "keyring.backends.kwallet": "KWallet",
    }
    backend = backend or _keyring()
    module = type(backend).__module__
    return known.get(module, f"the keyring {module}.{type(backend).__qualname__}")


class Server(BaseModel, frozen=True):
    """The local server that runs, or ran last.

    Attributes:
        url: the address, such as `https://localhost:8643`, without a path.
        token: the token that requests need.
        pid: its process while it runs; `None` once it was stopped.
        certificate: the file of its certificate, where it serves https: callers on this machine
            trust only that one.
        service: the service that its cells use: an address, or "embedded".
    """

    url: str = Field(min_length=1)
    token: SecretStr = Field(min_length=1)
    pid: int | None = None
    certificate: Path | None = None
    service: str | None = None


def lock_path() -> Path:
    """The path of the lock that a server holds while it runs, however it ends."""
    return config.excel_folder() / "serve.lock"


def is_server_running() -> bool:
    """Whether a server of this user runs.

    The file does not show that: after a crash another program may listen at its address, and would
    be sent the token.
    """
    with needs("The spreadsheets' server", "excel"):
        from filelock import FileLock, Timeout  # noqa: PLC0415 - of an extra
    try:
        with FileLock(lock_path(), timeout=0):
            return False
    except Timeout:
        return True


def read_server() -> Server | None:
    """The server that runs, or ran last; `None` without one."""
    try:
        return Server.model_validate(_read(_SERVER))
    except ValidationError:
        return None


def publish_server(url: str, token: SecretStr, certificate: Path | None = None) -> None:
    """Write the address of this process, its certificate, if any, and the service of its cells."""
    service = describe().service
    _write_server(
        Server(url=url, token=token, pid=os.getpid(), certificate=certificate, service=service)
    )


def renew_service() -> None:
    """Note that the cells of this process use the service of the settings from now on."""
    with suppress(ConfigurationError):
        _rewrite_server(pid=os.getpid(), service=describe().service)


def renew_server() -> None:
    """Rewrite the file of this process, whereupon Calc drops its cached results."""
    with suppress(ConfigurationError):  # Calc caches them for a minute at most
        _rewrite_server(pid=os.getpid())


def withdraw_server() -> None:
    """Note that this process has stopped; address and token stay."""
    _rewrite_server(pid=None)


def _rewrite_server(**values: int | str | None) -> None:
    server = read_server()
    if server is not None and server.pid == os.getpid():  # no other has taken over
        _write_server(server.model_copy(update=values))


def _write_server(server: Server) -> None:
    token = server.token.get_secret_value()
    _write(_SERVER, server.model_dump(mode="json") | {"token": token})


def _read(name: str) -> dict[str, Any]:
    """The object in a file; an empty one where there is no file."""
    path = config.excel_folder() / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        found = type(error).__name__
    if not isinstance(found, dict):
        raise ConfigurationError(
            f"{path} cannot be read ({found}; expected a JSON object). Rename it, then run"
            " again: svc-tools excel serve, and svc-tools excel install"
        )
    return found


def _write(name: str, content: dict[str, Any]) -> None:
    write_private(config.excel_folder() / name, json.dumps(content, indent=2) + "\n")


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, making its folder where missing."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as draft:
            draft.chmod(0o600)  # before anything is in it
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}" if error.strerror else str(error)
        raise ConfigurationError(why) from None
