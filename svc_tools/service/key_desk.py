"""What a person does with keys: make one, list them, change them. Used by the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_tools.service.clock import utc_now
from svc_tools.service.database import Database, default_path, is_address
from svc_tools.service.errors import ANOTHER, StoreError
from svc_tools.service.key_store import ACTIVE, PAST_DUE, KeyRow, KeyStore
from svc_tools.service.keys import hash_key, new_key
from svc_tools.service.limit_store import LimitStore
from svc_tools.service.limits import month_of
from svc_tools.service.plans import UNLIMITED, Overrides, feature_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

__all__ = ["KeyDesk"]


class KeyDesk:
    """The keys of one database.

    Args:
        target: the path of a database or a `postgresql://` address (a password may be in it), or
            `None` for the user's own.
        make: whether a file that is not there is made.

    Raises:
        StoreError: the database cannot be used, or is not there.
    """

    def __init__(self, target: SecretStr | None, *, make: bool) -> None:
        where = target.get_secret_value() if target else str(default_path())
        if not make and not is_address(where) and not Path(where).exists():
            raise StoreError(
                f"There is no database {where}; `svc-tools serve` and `svc-tools keys create`"
                f" make one, or {ANOTHER}"
            )
        self._store = KeyStore(Database(where))
        self._limits = LimitStore(self._store.database)

    def create(
        self,
        *,
        account: str,
        name: str | None,
        plan: str | None,
        limits: Mapping[str, int | None],
        features: Mapping[str, bool],
        expires_at: str | None,
        past_due: bool,
    ) -> tuple[KeyRow, SecretStr]:
        """A new key: what is stored of it, and the key itself, which is nowhere else.

        Raises:
            StartError: the plan or a limit is not possible.
        """
        key = new_key()
        row = self._store.create(
            hash_key(key),
            account=account,
            name=name,
            plan=plan or UNLIMITED.name,
            overrides=Overrides(**limits, features=feature_text(features)),
            expires_at=expires_at,
            past_due=past_due,
        )
        return row, key

    def describe(self) -> list[dict[str, Any]]:
        """Every key in plain values: its limits as they are in the end, its use this month."""
        month = month_of(datetime.now(UTC))
        uses = self._limits.uses(month.name)
        now = utc_now()
        return [
            {
                "id": row.id,
                "account": row.account,
                "name": row.name,
                "plan": row.plan,
                "rate_per_minute": row.terms.rate.per_minute if row.terms.rate else None,
                "burst": row.terms.rate.burst if row.terms.rate else None,
                "monthly_quota": row.terms.monthly_quota,
                "used": uses.get(row.id, 0),
                "left": _left(row.terms.monthly_quota, uses.get(row.id, 0)),
                "month": month.name,
                "features": sorted(row.terms.features),
                "status": row.status(now),
                "created_at": row.created_at,
                "expires_at": row.expires_at,
                "revoked_at": row.revoked_at,
            }
            for row in self._store.list()
        ]

    def revoke(self, key_id: str) -> KeyRow:
        """Make a key invalid for good; see `KeyStore.revoke`."""
        return self._store.revoke(key_id)

    def update(
        self,
        key_id: str,
        *,
        plan: str | None,
        limits: Mapping[str, int | None],
        features: Mapping[str, bool],
        past_due: bool | None,
    ) -> KeyRow:
        """Change what a key may do; see `KeyStore.update`."""
        return self._store.update(
            key_id, plan=plan, limits=limits, features=features, past_due=past_due
        )

    def set_account_past_due(self, account: str, *, past_due: bool) -> int:
        """Say whether an account has paid; how many keys it has."""
        return self._store.set_account_status(account, PAST_DUE if past_due else ACTIVE)


def _left(quota: int | None, used: int) -> int | None:
    return None if quota is None else max(0, quota - used)
