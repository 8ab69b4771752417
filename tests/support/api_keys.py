"""Keys for tests, made as `svc-tools keys create` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_tools.service.keys import new_key, signed_features

if TYPE_CHECKING:
    from svc_tools.service.keys import KeyRow, KeyStore

_LIMITS = ("rate_per_minute", "burst", "monthly_quota")


def make_key(
    keys: KeyStore, *, plan: str = "unlimited", account: str = "local", **given: Any
) -> tuple[KeyRow, dict[str, str]]:
    """A new key's row, and the headers of a request that carries it."""
    key = new_key()
    limits = {name: given.pop(name) for name in _LIMITS if name in given}
    features = signed_features(given.pop("features", None))
    row = keys.create(key, account=account, plan=plan, limits=limits, features=features, **given)
    return row, {"X-API-Key": key.get_secret_value()}
