"""`svc-tools excel install`: which service the cells use, and which Python Excel starts.

Each step returns a sentence on the current state. Excel's own settings are never changed.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from svc_sdk import AuthError, Svc, SvcError
from svc_tools.config import KEY_VARIABLE, URL_VARIABLE, ConfigurationError
from svc_tools.excel import settings

if TYPE_CHECKING:
    from pydantic import SecretStr


_TIMEOUT = 5.0
"""Seconds for the check of a key."""
_STARTED = "Excel and `svc-tools excel serve` use it once they are started again."
_INTERPRETER, _CONDA = "interpreter_win", "conda env"
"""Settings of xlwings, as named in the content of its file."""


def current_service() -> str:
    """The service that the cells use; nothing is changed.

    Raises:
        ConfigurationError: the configuration cannot be used.
    """
    found = settings.describe()
    if found.problem is not None:
        raise ConfigurationError(found.problem)
    if found.known_from == "environment":
        return f"{found.service} answers the cells, as {URL_VARIABLE} and {KEY_VARIABLE} say."
    if found.service != settings.EMBEDDED:
        return f"{found.service} answers the cells; its key is in {settings.keyring_name()}."
    return (
        "The embedded service answers the cells, from its own rate book. For your account:"
        " svc-tools excel install --base-url ADDRESS"
    )


def use_account(address: str, key: SecretStr | None) -> str:
    """Use the service at an address, with a key or with the one that is stored.

    Raises:
        ConfigurationError: the service does not accept the key, there is none, or it cannot be
            stored; nothing was changed.
        ImportError: the package that reaches the keyring is not installed.
    """
    secret = key or settings.stored_key(address)
    if secret is None:
        raise ConfigurationError(f"There is no key yet for {address}: give it with --key-stdin")
    checked = _check(address, secret)
    settings.remember(address, secret)
    stored = f"{address} answers the cells; its key is in {settings.keyring_name()}."
    return f"{stored} {checked} {_STARTED}{_overruled()}"


def use_embedded() -> str:
    """Use the embedded service.

    Raises:
        ConfigurationError: the settings cannot be written.
    """
    settings.choose_embedded()
    return (
        f"The embedded service answers the cells, from its own rate book. {_STARTED}{_overruled()}"
    )


def forget_key() -> str:
    """Remove the key from the keyring.

    Raises:
        ConfigurationError: the keyring cannot be changed.
        ImportError: the package that reaches it is not installed.
    """
    address = settings.forget_key()
    if address is None:
        return "The keyring has no key of ours."
    return (
        f"The key of {address} was removed. Cells say so until there is another, or --embedded."
        f" {_STARTED}"
    )


def use_this_python(*, windows: bool = sys.platform == "win32") -> str:
    """Have Excel start this Python, by the file of xlwings; an existing one is not changed.

    Raises:
        ConfigurationError: the file names another Python.
        ImportError: xlwings is not installed.
    """
    if not windows:
        return "Functions through xlwings need Excel on Windows: nothing was written for it here."
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
    """The Python that Excel starts, in words, and whether it is this one.

    Raises:
        ImportError: xlwings is not installed.
    """
    from xlwings.cli import get_conda_settings  # noqa: PLC0415 - as above
    from xlwings.utils import read_user_config  # noqa: PLC0415 - as above

    found = read_user_config()  # type: ignore[no-untyped-call]
    python = found.get(_INTERPRETER)
    if python is not None:
        return python, PureWindowsPath(python) == PureWindowsPath(sys.executable)
    if _CONDA in found:
        _, current = get_conda_settings()  # type: ignore[no-untyped-call]
        return f"the conda environment {found[_CONDA]}", current == found[_CONDA]
    return "a Python of its own choice", False


def _check(address: str, key: SecretStr) -> str:
    """Whether the service accepts the key, in a sentence; raises where it rejects it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client = Svc(key, base_url=address, timeout=_TIMEOUT, max_retries=0)
    with client:
        try:
            settings.check_key(client)
            result = "The service accepts the key."
        except AuthError:
            raise ConfigurationError(
                f"{address} does not accept the key: nothing was changed. Check the address and"
                " the key, then try again"
            ) from None
        except SvcError as error:
            result = f"Whether it accepts the key is not known: {error.message}."
    return " ".join([result, *(f"{one.message}." for one in caught)])


def _overruled() -> str:
    """A sentence where the environment overrides the settings."""
    if settings.describe().known_from != "environment":
        return ""
    return f" But {URL_VARIABLE} or {KEY_VARIABLE} is set in the environment, which comes first."
