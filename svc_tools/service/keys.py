"""API keys: made from random bytes, kept as SHA-256 hashes, remembered once verified (SPEC 5)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc_tools.service.errors import StartError
from svc_tools.service.plans import UNLIMITED, Overrides, Terms, terms_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.service.key_store import KeyStore

__all__ = ["LOCAL_ACCOUNT", "Grant", "KeyRing", "Known", "checked_key", "hash_key", "new_key"]

LOCAL_ACCOUNT = "local"
"""The account of whoever runs the service on this machine."""

_VALID_SECONDS = 4.0
"""A key that is revoked, or changed, is refused, or treated so, within this time everywhere."""

_INVALID_SECONDS = 1.0
"""How long a key that was not valid stays so without asking: it may just have been made."""

_MOST_REMEMBERED = 4096
_MOST_REFUSED = 1024


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


@dataclass(frozen=True, slots=True)
class Grant:
    """What a valid key stands for.

    Attributes:
        account: whose nexus records it reaches.
        key_id: its id in the database; `None` for the key of a run.
        terms: what it may do.
        past_due: whether its bills are unpaid.
        free: whether there is nothing to check or to count.
    """

    account: str
    key_id: str | None
    terms: Terms
    past_due: bool
    free: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a key for a while; `grant` is `None` where the key is not valid."""

    grant: Grant | None
    until: float


class KeyRing:
    """What a key stands for: asked of the database once, and remembered for a few seconds.

    Args:
        store: where lasting keys are.
        run_key: a key that is valid for the local account while this ring lives, without any
            limit, and is never stored.
        now: seconds that never go back.
        today: seconds since 1970.
    """

    def __init__(
        self,
        store: KeyStore,
        run_key: SecretStr | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        today: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self._now = now
        self._today = today
        self._known: dict[str, Known] = {}
        self._refused: dict[str, Known] = {}
        self._change = threading.Lock()
        if run_key is not None:
            terms = terms_of(UNLIMITED.name, Overrides())
            grant = Grant(LOCAL_ACCOUNT, None, terms, past_due=False, free=True)
            self._known[hash_key(run_key)] = Known(grant, inf)

    def recall(self, key: bytes) -> Known | None:
        """What was found out about a key a moment ago, or `None`; never blocks.

        Looked up by hash: what the time of this could tell is about a hash, not about a key.
        """
        digest = hash_key(key)
        known = self._known.get(digest) or self._refused.get(digest)
        return known if known is not None and self._now() < known.until else None

    def verify(self, key: bytes) -> Known:
        """What the database says of a key. Blocks: call it in a worker thread.

        Raises:
            StoreError: it says nothing at present.
        """
        digest = hash_key(key)
        asked = self._now()
        found = self.store.find(digest)
        if found is not None and hmac.compare_digest(found[0], digest):
            row = found[1]
            seconds = _VALID_SECONDS
            if row.expires_at is not None:
                ends = datetime.fromisoformat(row.expires_at).timestamp()
                seconds = min(seconds, ends - self._today())
            if row.revoked_at is None and seconds > 0:
                terms = row.terms
                free = terms.unlimited and not row.past_due
                grant = Grant(row.account, row.id, terms, row.past_due, free)
                known = Known(grant, asked + seconds)
                self._remember(self._known, digest, known, _MOST_REMEMBERED)
                return known
        known = Known(None, asked + _INVALID_SECONDS)
        with self._change:
            self._known.pop(digest, None)
        self._remember(self._refused, digest, known, _MOST_REFUSED)
        return known

    def _remember(self, where: dict[str, Known], digest: str, known: Known, most: int) -> None:
        with self._change:
            if where is self._known:
                self._refused.pop(digest, None)
            where.pop(digest, None)  # a key that is used goes to the end, away from the next line
            while len(where) >= most:
                oldest = next(other for other, one in where.items() if one.until != inf)
                del where[oldest]
            where[digest] = known
