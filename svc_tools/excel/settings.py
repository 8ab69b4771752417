"""Who answers the cells: the environment's service, else the one that was set up, else our own.

Half a configuration is an error and never the embedded service: its rates would look like those of
the account that was meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc_sdk import Svc
from svc_sdk._settings import checked_url
from svc_tools import config
from svc_tools.config import ConfigurationError
from svc_tools.excel import keys
from svc_tools.excel.own_files import read_object, write_object

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import SecretStr

__all__ = [
    "EMBEDDED",
    "Description",
    "checked_address",
    "choose_embedded",
    "chosen",
    "client",
    "describe",
    "forget_key",
    "remember",
    "settings_path",
]

EMBEDDED = "embedded"
"""What stands in place of an address where the embedded service was chosen by name."""

_SERVICE = "service"
_NO_KEY = (
    "There is an address ({address}) but the keyring has no key for it: give it once with"
    " svc-tools excel install --base-url {address}, or choose the embedded service with"
    " svc-tools excel install --embedded"
)


@dataclass(frozen=True, slots=True)
class Description:
    """Who answers, and how that is known; no secret in it.

    Attributes:
        known_from: what decides: the environment, the settings, or nothing (then it is the
            embedded service).
        service: the address, or "embedded"; `None` where the configuration cannot be used.
        key: whether there is a key: "environment", "keyring", or "none needed".
        problem: why the configuration cannot be used, in a sentence.
    """

    known_from: Literal["environment", "settings", "nothing"]
    service: str | None
    key: Literal["environment", "keyring", "none needed"] | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A configuration with its key, for as long as a client is made."""

    known_from: Literal["environment", "settings", "nothing"]
    service: str
    key: SecretStr | None


def settings_path() -> Path:
    """The file that keeps the address of the service, and never a key."""
    return config.excel_folder() / "settings.json"


def client(*, timeout: float = 10.0, max_retries: int = 3) -> Svc:
    """A client of the service that answers the cells.

    The environment (`SVC_BASE_URL` with `SVC_API_KEY`) comes first, then the address that was set
    up with the key of the system's keyring, then the embedded service.

    Args:
        timeout: seconds, per request.
        max_retries: how often a 429, a 5xx or a timeout is tried again (SPEC 8).

    Raises:
        ConfigurationError: half of it is missing, the settings cannot be read, or the keyring does
            not open; the message says what to do.
        ImportError: something that is needed is not installed.
    """
    found = _found()
    if found.key is None:
        return config.connect("embedded")
    try:
        return Svc(found.key, base_url=found.service, timeout=timeout, max_retries=max_retries)
    except ValueError as error:  # an address or a key that no request can hold
        raise ConfigurationError(f"The configuration cannot be used: {error}") from None


def describe() -> Description:
    """Who would answer, without asking anybody; what is wrong becomes a sentence, not an error."""
    try:
        found = _found()
    except (ConfigurationError, ImportError) as error:
        return Description(_decider(), None, None, str(error))
    if found.key is None:
        return Description(found.known_from, found.service, "none needed")
    key: Literal["environment", "keyring"] = (
        "environment" if found.known_from == "environment" else "keyring"
    )
    return Description(found.known_from, found.service, key)


def remember(address: str, key: SecretStr) -> str:
    """Keep the address in the settings and the key in the keyring, from now on; the address.

    The key is kept first: without it the address would be half a configuration.

    Raises:
        ConfigurationError: the address or the key is not usable, or one of them cannot be kept.
        ImportError: the package that reaches the keyring is not installed.
    """
    address = checked_address(address)
    keys.store_key(address, key)
    _write(address)
    return address


def choose_embedded() -> None:
    """Have the embedded service answer; keys in the keyring stay.

    Raises:
        ConfigurationError: the settings cannot be written.
    """
    _write(EMBEDDED)


def forget_key() -> str | None:
    """Remove the key of the address that was set up; that address, or `None` without a key.

    The address stays: cells say that there is no key, and nobody else answers them unnoticed.

    Raises:
        ConfigurationError: the settings cannot be read, or the keyring not be changed.
        ImportError: the package that reaches the keyring is not installed.
    """
    address = chosen()
    if address is None or address == EMBEDDED:
        return None
    return address if keys.forget_key(address) else None


def chosen() -> str | None:
    """What the settings name: an address, "embedded", or `None` where nothing was set up.

    Raises:
        ConfigurationError: the settings cannot be read.
    """
    service = read_object(settings_path()).get(_SERVICE)
    if service is None:
        return None
    if not isinstance(service, str) or not service.strip():
        raise ConfigurationError(
            f'{settings_path()}: "{_SERVICE}" is {service!r}; expected an address, or'
            f' "{EMBEDDED}". Say it again with svc-tools excel install'
        )
    return service if service == EMBEDDED else checked_address(service)


def checked_address(address: str) -> str:
    """The address as clients use it.

    Raises:
        ConfigurationError: it is not an address of a service; the message says what is expected.
    """
    try:
        return str(checked_url(address)).rstrip("/")
    except ValueError as error:
        said = str(error).removeprefix("base_url: ")
        raise ConfigurationError(f"The address cannot be used: {said}") from None


def _found() -> _Found:
    account = config.configured()
    if account is not None:
        return _Found("environment", account[1], account[0])
    service = chosen()
    if service is None:
        return _Found("nothing", EMBEDDED, None)
    if service == EMBEDDED:
        return _Found("settings", EMBEDDED, None)
    key = keys.stored_key(service)
    if key is None:
        raise ConfigurationError(_NO_KEY.format(address=service))
    return _Found("settings", service, key)


def _decider() -> Literal["environment", "settings"]:
    """Which of the two is at fault."""
    try:
        config.configured()
    except ConfigurationError:
        return "environment"
    return "settings"


def _write(service: str) -> None:
    path = settings_path()
    write_object(path, read_object(path) | {_SERVICE: service})
