"""Keys in the database: who they are and what they may do. Blocking calls."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from svc_tools.service.clock import utc_now
from svc_tools.service.errors import StartError
from svc_tools.service.plans import (
    UNLIMITED,
    Overrides,
    Terms,
    feature_text,
    signed_features,
    terms_of,
)
from svc_tools.service.tables import accounts, api_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.service.database import Database

__all__ = ["ACTIVE", "PAST_DUE", "KeyRow", "KeyStore"]

ACTIVE = "active"
PAST_DUE = "past_due"
"""What an account, or one key of it, can be by its payments."""

_ID_BYTES = 5
_LONGEST_ACCOUNT = 64
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as it is stored: everything about it, and never the key.

    Attributes:
        id: what a person calls the key by, such as `key_7f3a91c2d0`.
        account: whose it is.
        name: what it is for, as its maker said.
        plan: the name of its plan.
        overrides: what is set for this key beside the plan.
        created_at: when it was made (UTC, ISO 8601), as the two below.
        expires_at: when it ends to be valid, or `None`.
        revoked_at: when it was revoked, or `None`.
        past_due: whether the key itself, or its account, is past due.
    """

    id: str
    account: str
    name: str | None
    plan: str
    overrides: Overrides
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    past_due: bool

    @property
    def terms(self) -> Terms:
        """What the key may do."""
        return terms_of(self.plan, self.overrides)

    def status(self, now: str) -> str:
        """`revoked`, `expired`, `past_due` or `active` at a time (UTC, ISO 8601)."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return PAST_DUE if self.past_due else ACTIVE


_KEY = (
    api_keys.c.id,
    api_keys.c.account,
    api_keys.c.name,
    api_keys.c.plan,
    api_keys.c.created_at,
    api_keys.c.expires_at,
    api_keys.c.revoked_at,
    api_keys.c.rate_per_minute,
    api_keys.c.burst,
    api_keys.c.monthly_quota,
    api_keys.c.features,
    # what is said of the key itself wins over what is said of its account
    sa.func.coalesce(api_keys.c.status, accounts.c.status).label("billing"),
)
_KEYS = sa.select(*_KEY, api_keys.c.sha256).join(accounts)


class KeyStore:
    """The keys of a database. Safe to use from many threads; each method is one transaction.

    Args:
        database: where they are.

    Raises:
        StoreBusyError: (from every method) another process kept the database locked.
        StoreUnavailableError: (from every method) the database cannot be used at present.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def create(
        self,
        sha256: str,
        *,
        account: str,
        name: str | None = None,
        plan: str = UNLIMITED.name,
        overrides: Overrides | None = None,
        expires_at: str | None = None,
        past_due: bool = False,
    ) -> KeyRow:
        """Make a key valid; its account is made where it is new.

        Args:
            sha256: the hash of the key, as `keys.hash_key` makes it.
            account: whose nexus records it can reach.
            name: what it is for.
            plan: the name of its plan.
            overrides: what is set for this key beside the plan.
            expires_at: when it ends to be valid (UTC, as `clock.utc_now` writes it).
            past_due: whether it is past due from the start.

        Raises:
            StartError: the plan or an override does not exist, or the account or the name cannot
                be shown in a line.
        """
        given = overrides or Overrides()
        given.check(plan)
        _check_text("account", account, _LONGEST_ACCOUNT)
        name = name or None
        if name is not None:
            _check_text("name", name, _LONGEST_NAME)
        now = utc_now()
        key_id = f"key_{secrets.token_hex(_ID_BYTES)}"
        row = {
            "id": key_id,
            "sha256": sha256,
            "account": account,
            "name": name,
            "plan": plan,
            "created_at": now,
            "expires_at": expires_at,
            "status": PAST_DUE if past_due else None,
            **_columns(given),
        }
        with self.database.write() as connection:
            connection.execute(
                self.database.insert(accounts)
                .values(account=account, created_at=now)
                .on_conflict_do_nothing()
            )
            connection.execute(api_keys.insert().values(row))
            return _row(connection.execute(_KEYS.where(api_keys.c.id == key_id)).one())

    def find(self, sha256: str) -> tuple[str, KeyRow] | None:
        """The stored hash and the row of a key, or `None`.

        Found by the index over hashes: what its timing could tell is about a hash, and a hash
        leads to no key.
        """
        with self.database.read() as connection:
            row = connection.execute(_KEYS.where(api_keys.c.sha256 == sha256)).one_or_none()
        return None if row is None else (row.sha256, _row(row))

    def any(self) -> bool:
        """Whether there is a key at all."""
        with self.database.read() as connection:
            return connection.execute(sa.select(api_keys.c.id).limit(1)).first() is not None

    def list(self) -> list[KeyRow]:
        """Every key, the oldest first."""
        with self.database.read() as connection:
            rows = connection.execute(_KEYS.order_by(api_keys.c.created_at, api_keys.c.id))
            return [_row(row) for row in rows]

    def revoke(self, key_id: str) -> KeyRow:
        """Make a key invalid for good; revoked twice, the first time stands.

        Raises:
            StartError: there is no such key.
        """
        fresh = api_keys.c.revoked_at.is_(None)
        with self.database.write() as connection:
            self._one(connection, key_id)
            connection.execute(
                api_keys.update().where(api_keys.c.id == key_id, fresh).values(revoked_at=utc_now())
            )
            return self._one(connection, key_id)

    def update(
        self,
        key_id: str,
        *,
        plan: str | None = None,
        limits: Mapping[str, int | None] | None = None,
        features: Mapping[str, bool] | None = None,
        past_due: bool | None = None,
    ) -> KeyRow:
        """Change what a key may do; a running service follows within five seconds.

        Args:
            key_id: which key.
            plan: its new plan; what is set for the key stays set.
            limits: the new values of `rate_per_minute`, `burst` and `monthly_quota`, those that
                change; `None` goes back to the plan's, `NO_LIMIT` lifts it.
            features: which features it gets or loses beside its plan.
            past_due: whether the key is past due; `False` leaves the matter to its account.

        Raises:
            StartError: there is no such key, or it cannot be as wanted; then nothing is changed.
        """
        changes: dict[str, object] = dict(limits or {})
        if plan is not None:
            changes["plan"] = plan
        if past_due is not None:
            changes["status"] = PAST_DUE if past_due else None
        with self.database.write() as connection:
            row = sa.select(api_keys.c.id).where(api_keys.c.id == self._one(connection, key_id).id)
            # two that change one key at once take turns: each sees what the other said of features
            connection.execute(row.with_for_update())
            before = self._one(connection, key_id)
            if features:
                signed = signed_features(before.overrides.features) | dict(features)
                changes["features"] = feature_text(signed)
            if changes:
                connection.execute(api_keys.update().where(api_keys.c.id == key_id).values(changes))
            after = self._one(connection, key_id)
            after.overrides.check(after.plan)
            return after

    def set_account_status(self, account: str, status: str) -> int:
        """Say whether an account has paid; how many keys it has.

        Raises:
            StartError: there is no such account.
        """
        _check_text("account", account, _LONGEST_ACCOUNT)
        of_account = sa.select(sa.func.count()).where(api_keys.c.account == account)
        with self.database.write() as connection:
            changed = connection.execute(
                accounts.update().where(accounts.c.account == account).values(status=status)
            )
            if not changed.rowcount:
                there = connection.execute(sa.select(accounts.c.account)).scalars()
                raise StartError(
                    f"There is no account {account!r}; there are {', '.join(sorted(there))}"
                )
            return connection.execute(of_account).scalar_one()

    def _one(self, connection: sa.Connection, key_id: str) -> KeyRow:
        row = None
        if key_id.isascii():  # bytes that are no text cannot even be asked for
            row = connection.execute(_KEYS.where(api_keys.c.id == key_id)).one_or_none()
        if row is None:
            there = connection.execute(sa.select(api_keys.c.id).order_by(api_keys.c.created_at))
            known = ", ".join(there.scalars()) or "none; make one with `svc-tools keys create`"
            raise StartError(f"There is no key {key_id!r}; there are: {known}")
        return _row(row)


def _check_text(what: str, text: str, most: int) -> None:
    """Refuse what a list of keys could not show, such as line breaks and undecoded bytes."""
    if not 0 < len(text) <= most or not text.isprintable() or text != text.strip():
        raise StartError(
            f"The {what} is {text!r}; expected 1 to {most} visible characters, with no space around"
            " them"
        )


def _columns(overrides: Overrides) -> dict[str, object]:
    return {
        "rate_per_minute": overrides.rate_per_minute,
        "burst": overrides.burst,
        "monthly_quota": overrides.monthly_quota,
        "features": overrides.features,
    }


def _row(row: sa.Row[*tuple[Any, ...]]) -> KeyRow:
    return KeyRow(
        id=row.id,
        account=row.account,
        name=row.name,
        plan=row.plan,
        overrides=Overrides(row.rate_per_minute, row.burst, row.monthly_quota, row.features),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        past_due=row.billing == PAST_DUE,
    )
