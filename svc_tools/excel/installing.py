"""`svc-tools excel install`: which service answers the cells, and which Python Excel starts.

Each step gives a sentence that says how things are now. Excel's own settings are never changed.
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


_ASKING = 5.0
"""Seconds that the service is given to say whether it takes a key."""
_STARTED = "Excel and `svc-tools excel serve` use it once they are started again."
_INTERPRETER, _CONDA = "interpreter_win", "conda env"
"""Settings of xlwings, as it names them when it reads its file."""


def current_service() -> str:
    """Which service answers the cells; nothing is changed.

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
    """Have the service at an address answer the cells, with a key or with the one that is stored.

    Raises:
        ConfigurationError: the service does not accept the key, there is none, or it cannot be
            stored; nothing was changed.
        ImportError: the package that reaches the keyring is not installed.
    """
    secret = key or settings.stored_key(address)
    if secret is None:
        raise ConfigurationError(f"There is no key yet for {address}: give it with --key-stdin")
    taken = _taken(address, secret)
    settings.remember(address, secret)
    kept = f"{address} answers the cells; its key is in {settings.keyring_name()}."
    return f"{kept} {taken} {_STARTED}{_overruled()}"


def use_embedded() -> str:
    """Have the embedded service answer the cells.

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
    """Have Excel start this Python, by the file of xlwings; one that is there stays as it is.

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
    """Which Python Excel starts, in words, and whether it is the one that runs this.

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


def _taken(address: str, key: SecretStr) -> str:
    """Whether the service takes the key, in a sentence; one that is refused is not kept."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        client = Svc(key, base_url=address, timeout=_ASKING, max_retries=0)
    with client:
        try:
            settings.check_key(client)
            said = "The service accepts the key."
        except AuthError:
            raise ConfigurationError(
                f"{address} does not accept the key: nothing was changed. Check the address and"
                " the key, then try again"
            ) from None
        except SvcError as error:
            said = f"Whether it accepts the key is not known: {error.message}."
    return " ".join([said, *(f"{one.message}." for one in noted)])


def _overruled() -> str:
    """A sentence where the environment decides all the same."""
    if settings.describe().known_from != "environment":
        return ""
    return f" But {URL_VARIABLE} or {KEY_VARIABLE} is set in the environment, which comes first."
