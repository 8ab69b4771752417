"""Keys for tests, made as `svc-tools keys create` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_tools.service.keys import Overrides, hash_key, new_key

if TYPE_CHECKING:
    from svc_tools.service.keys import KeyRow, KeyStore

_SET = ("rate_per_minute", "burst", "monthly_quota", "features")


def make_key(
    keys: KeyStore, *, plan: str = "unlimited", account: str = "local", **given: Any
) -> tuple[KeyRow, dict[str, str]]:
    """A new key's row, and the headers of a request that carries it."""
    key = new_key()
    overrides = Overrides(**{name: given.pop(name) for name in _SET if name in given})
    row = keys.create(hash_key(key), account=account, plan=plan, overrides=overrides, **given)
    return row, {"X-API-Key": key.get_secret_value()}
