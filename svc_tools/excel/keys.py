"""API keys in the operating system's keyring: in no file of ours, and never in a plain one.

Windows keeps them in its Credential Manager, macOS in its Keychain, a Linux desktop in its Secret
Service or KWallet. A keyring that would write them down readable, or forget them, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc_tools.config import KEY_VARIABLE, URL_VARIABLE, ConfigurationError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

__all__ = ["forget_key", "keyring_name", "store_key", "stored_key"]

_SERVICE = "svc-tools"
"""The name that the keyring shows the keys under; the address of the service is beside it."""

_NO_KEYRING = (
    "There is no safe place for a key here: {why}. Windows and macOS always have one; that of"
    f" Linux is the desktop's (Secret Service or KWallet). Or set {URL_VARIABLE} and"
    f" {KEY_VARIABLE} in the environment"
)
_MISSING = 'keyring is not installed. Install it with: pip install "svc-tax-tools[excel]"'


def store_key(address: str, key: SecretStr) -> None:
    """Keep the key of the service at an address; it takes the place of an earlier one.

    Raises:
        ConfigurationError: there is no safe keyring, it refuses, or the key is empty.
        ImportError: the package that reaches the keyring is not installed.
    """
    secret = SecretStr(key.get_secret_value().strip())
    if not secret.get_secret_value():
        raise ConfigurationError("The API key is empty; give the key of your account")
    backend = _keyring()
    try:
        backend.set_password(_SERVICE, _user(address), secret.get_secret_value())
        kept = backend.get_password(_SERVICE, _user(address))
    except Exception as error:  # noqa: BLE001 - each system's keyring has errors of its own
        raise ConfigurationError(_refusal("keep", error)) from None
    if kept != secret.get_secret_value():
        raise ConfigurationError(_NO_KEYRING.format(why=f"{_named(backend)} keeps nothing"))


def stored_key(address: str) -> SecretStr | None:
    """The key that is kept for the service at an address; `None` where there is none.

    Raises:
        ConfigurationError: there is no safe keyring, or it does not open.
        ImportError: the package that reaches the keyring is not installed.
    """
    backend = _keyring()
    try:
        kept = backend.get_password(_SERVICE, _user(address))
    except Exception as error:  # noqa: BLE001 - the same
        raise ConfigurationError(_refusal("give", error)) from None
    return SecretStr(kept) if kept else None


def forget_key(address: str) -> bool:
    """Remove the key of the service at an address; whether there was one.

    Raises:
        ConfigurationError: there is no safe keyring, or it does not open.
        ImportError: the package that reaches the keyring is not installed.
    """
    if stored_key(address) is None:
        return False
    backend = _keyring()
    try:
        backend.delete_password(_SERVICE, _user(address))
    except Exception as error:  # noqa: BLE001 - the same
        raise ConfigurationError(_refusal("remove", error)) from None
    return True


def keyring_name() -> str:
    """Which keyring keeps the keys, in words.

    Raises:
        ConfigurationError: there is no safe one.
        ImportError: the package that reaches it is not installed.
    """
    return _named(_keyring())


def _keyring() -> KeyringBackend:
    """The keyring of the operating system, or the sentence why there is none to rely on."""
    try:
        import keyring  # noqa: PLC0415 - of an extra, and it loads the system's libraries
        from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        raise ImportError(f"{_MISSING} ({error})") from error
    try:
        backend = keyring.get_keyring()
    except Exception as error:  # noqa: BLE001 - one that a configuration names may not load
        why = f"the keyring that is configured does not load ({type(error).__name__})"
        raise ConfigurationError(_NO_KEYRING.format(why=why)) from None
    if isinstance(backend, ChainerBackend):  # several: none but a safe one of them
        backend = next(iter(backend.backends), backend)
    if not _is_safe(backend):
        raise ConfigurationError(_NO_KEYRING.format(why=_why_not(backend)))
    return backend


def _is_safe(backend: KeyringBackend) -> bool:
    """Whether keyring itself recommends it, and it does not come from the collection of others.

    The packages `keyrings.alt` and the like keep keys in files, some of them readable by anyone.
    """
    from keyring.core import recommended  # noqa: PLC0415 - as above

    return recommended(backend) and not type(backend).__module__.startswith("keyrings.")


def _named(backend: KeyringBackend) -> str:
    known = {
        "keyring.backends.Windows": "the Windows Credential Manager",
        "keyring.backends.macOS": "the macOS Keychain",
        "keyring.backends.SecretService": "the desktop's Secret Service",
        "keyring.backends.libsecret": "the desktop's Secret Service",
        "keyring.backends.kwallet": "KWallet",
    }
    module = type(backend).__module__
    return known.get(module, f"the keyring {module}.{type(backend).__qualname__}")


def _why_not(backend: KeyringBackend) -> str:
    known = {
        "keyring.backends.fail": "no keyring was found",
        "keyring.backends.chainer": "no keyring was found",
        "keyring.backends.null": "the keyring is set to keep nothing (null)",
    }
    return known.get(type(backend).__module__, f"{_named(backend)} does not keep keys safely")


def _refusal(wanted: str, error: Exception) -> str:
    # what the error says may hold what it was given: its kind is enough
    return (
        f"The keyring does not {wanted} the key ({type(error).__name__}): unlock it and try again,"
        f" or set {URL_VARIABLE} and {KEY_VARIABLE} in the environment"
    )


def _user(address: str) -> str:
    return address.strip().rstrip("/")
