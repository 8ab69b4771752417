"""API keys: made from random bytes, kept as SHA-256 hashes, remembered once verified (SPEC 5)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc_tools.service.errors import StartError

if TYPE_CHECKING:
    from svc_tools.service.store import Store

__all__ = ["LOCAL_ACCOUNT", "KeyRing", "checked_key", "hash_key", "new_key"]

LOCAL_ACCOUNT = "local"
"""The account of whoever runs the service on this machine."""


def new_key() -> SecretStr:
    """A fresh key with 256 random bits; that is why a plain hash of it is safe to store."""
    return SecretStr(f"svc_{secrets.token_urlsafe(32)}")


def hash_key(key: SecretStr | bytes) -> str:
    """The SHA-256 of a key in hex: the only form in which a key is stored."""
    raw = key if isinstance(key, bytes) else key.get_secret_value().encode()
    return hashlib.sha256(raw).hexdigest()


def checked_key(key: str) -> SecretStr:
    """A key that a person chose, fit to stand in a header.

    Raises:
        StartError: it is empty, or holds characters that a header cannot carry.
    """
    if not key.strip():
        raise StartError("The API key is empty; give one, or leave the option out")
    if not (key.isascii() and key.isprintable()) or key != key.strip():
        raise StartError(
            "The API key cannot stand in an HTTP header; use visible ASCII characters,"
            " with no space around them"
        )
    return SecretStr(key)


class KeyRing:
    """Which account a key belongs to.

    Args:
        store: where the hashes of lasting keys are.
        run_key: a key that is valid for the local account while this ring lives, and is
            never stored.
    """

    def __init__(self, store: Store, run_key: SecretStr | None = None) -> None:
        self._store = store
        self._known: dict[str, str] = {}
        if run_key is not None:
            self._known[hash_key(run_key)] = LOCAL_ACCOUNT

    def recall(self, key: bytes) -> str | None:
        """The account of a key that was verified before; never blocks.

        Looked up by hash: what the time of this could tell is about a hash, not about a key.
        """
        return self._known.get(hash_key(key))

    def verify(self, key: bytes) -> str | None:
        """The account of a key by the store, or `None`. Blocks: call it in a worker thread.

        Every stored hash is compared, each in constant time, wherever the match stands.
        """
        digest = hash_key(key)
        found = None
        for stored, account in self._store.key_hashes():
            if hmac.compare_digest(stored, digest):
                found = account
        if found is not None:
            self._known[digest] = found
        return found
