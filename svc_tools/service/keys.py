"""API keys and their plans: what a key may do, how fast, and how many lookups a month (SPEC 5).

plan       requests a minute  burst  lookups a month  history  full  nexus
free                      60     20            1 000       -     -      -
standard                 600    100          100 000     yes   yes    yes
unlimited                  -      -                -     yes   yes    yes

history: a lookup about a day before today, by `as_of` or by `period` (its first day).
full: a lookup with `mode=full`.
nexus: the addresses of nexus records.

Every figure and feature can be set for one key, and wins over the plan. Keys are made from random
bytes, stored as SHA-256 hashes, and cached for some seconds once verified.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from pydantic import SecretStr

from svc_tools.service.database import LOCAL_ACCOUNT, accounts, api_keys, utc_now
from svc_tools.service.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_tools.service.database import Database

FEATURES = ("history", "full", "nexus")
"""What a plan can include beyond lookups of today, in the order in which they are checked."""
NO_LIMIT = -1
"""An override that lifts the plan's limit."""
_MOST_PER_MINUTE = 60_000_000
_MOST_BURST = 1_000_000
_MOST_LOOKUPS = 10**12
_BURSTS_PER_MINUTE = 6
"""A rate that is set without a burst lets ten seconds' worth through at once."""
_SIGNED = re.compile(r"([+-])(\w+)")


@dataclass(frozen=True, slots=True)
class RequestRate:
    """How many requests a minute, and how many of them may come at once."""

    per_minute: int
    burst: int


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """One row of the table in this module's docstring; `None` is no limit."""

    name: str
    rate: RequestRate | None
    monthly_quota: int | None
    features: frozenset[str]


_FREE = KeyPlan("free", RequestRate(per_minute=60, burst=20), 1_000, frozenset())
_UNLIMITED = KeyPlan("unlimited", None, None, frozenset(FEATURES))
"""The plan of whoever runs the service on this machine."""
PLANS = {
    plan.name: plan
    for plan in (
        _FREE,
        KeyPlan("standard", RequestRate(per_minute=600, burst=100), 100_000, frozenset(FEATURES)),
        _UNLIMITED,
    )
}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is set for one key; `None` leaves the plan's, `NO_LIMIT` lifts it.

    Args:
        rate_per_minute: requests a minute.
        burst: how many requests may come at once.
        monthly_quota: lookups a calendar month (UTC).
        features: a text such as `+full,-history`: what is added to the plan, what is taken.
    """

    rate_per_minute: int | None = None
    burst: int | None = None
    monthly_quota: int | None = None
    features: str | None = None

    def check(self, plan: str) -> None:
        """Refuse impossible overrides.

        Raises:
            StartError: an unknown plan or feature, a figure out of range, or a burst for a key
                that has no rate limit.
        """
        if plan not in PLANS:
            raise StartError(f"The plan {plan!r} does not exist; there are {', '.join(PLANS)}")
        for what, value, least, most in (
            ("rate per minute", self.rate_per_minute, 1, _MOST_PER_MINUTE),
            ("burst", self.burst, 1, _MOST_BURST),
            ("monthly quota", self.monthly_quota, 0, _MOST_LOOKUPS),
        ):
            if value is not None and value != NO_LIMIT and not least <= value <= most:
                raise StartError(f"The {what} is {value}; expected {least} to {most}")
        if self.burst == NO_LIMIT:
            raise StartError("The burst cannot be lifted alone; lift the rate per minute instead")
        if self.burst is not None and key_terms(plan, self).rate is None:
            raise StartError("A burst needs a rate limit; give the rate per minute too")
        for name in signed_features(self.features):
            if name not in FEATURES:
                raise StartError(
                    f"The feature {name!r} does not exist; there are {', '.join(FEATURES)}"
                )


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """What one key may do: its plan with its overrides; `None` is no limit."""

    plan: str
    rate: RequestRate | None
    monthly_quota: int | None
    features: frozenset[str]

    @property
    def unlimited(self) -> bool:
        """Whether nothing has to be counted or checked."""
        return (
            self.rate is None and self.monthly_quota is None and self.features.issuperset(FEATURES)
        )


def signed_features(text: str | None) -> dict[str, bool]:
    """The features of an override by name: whether each is added or removed."""
    return {name: sign == "+" for sign, name in _SIGNED.findall(text or "")}


def _feature_text(signed: Mapping[str, bool]) -> str | None:
    """Features by name as an override is stored; `None` where nothing differs from the plan."""
    return (
        ",".join(f"{'+' if is_added else '-'}{name}" for name, is_added in signed.items()) or None
    )


def key_terms(plan: str, overrides: Overrides) -> KeyTerms:
    """A plan with what is set for one key.

    A plan that this release does not know (a database of another release) counts as the smallest:
    the operator can add to what was too little, but not take back what was too much.
    """
    base = PLANS.get(plan, _FREE)
    signed = signed_features(overrides.features)
    added = {name for name, is_added in signed.items() if is_added}
    return KeyTerms(
        plan=plan,
        rate=_rate(base.rate, overrides),
        monthly_quota=_limit(overrides.monthly_quota, base.monthly_quota),
        features=frozenset((base.features | added) - (signed.keys() - added)),
    )


def _rate(base: RequestRate | None, overrides: Overrides) -> RequestRate | None:
    per_minute = _limit(overrides.rate_per_minute, base.per_minute if base else None)
    if per_minute is None:
        return None
    if overrides.burst is not None:
        burst = overrides.burst
    elif base is not None and overrides.rate_per_minute is None:
        burst = base.burst
    else:
        burst = min(max(1, per_minute // _BURSTS_PER_MINUTE), _MOST_BURST)
    return RequestRate(per_minute=per_minute, burst=burst)


def _limit(override: int | None, base: int | None) -> int | None:
    if override is None:
        return base
    return None if override == NO_LIMIT else override


_ACTIVE = "active"
_PAST_DUE = "past_due"
"""The status of an account, or of one key of it."""
_ID_BYTES = 5
_LONGEST_ACCOUNT = 64
_LONGEST_NAME = 100


def hash_key(key: SecretStr | bytes) -> str:
    """The SHA-256 of a key in hex: the only form in which a key is stored."""
    raw = key if isinstance(key, bytes) else key.get_secret_value().encode()
    return hashlib.sha256(raw).hexdigest()


def checked_key(secret: SecretStr) -> SecretStr:
    """A key that the user chose, checked that a header can carry it.

    Raises:
        StartError: it is no `SecretStr`, empty, an address, or holds characters that a header
            cannot carry.
    """
    if not isinstance(secret, SecretStr):
        raise StartError(
            f"The API key is of type {type(secret).__name__}; expected a pydantic.SecretStr, which"
            " no message or log shows: SecretStr(...)"
        )
    key = secret.get_secret_value()
    if not key.strip():
        raise StartError("The API key is empty; give one, or leave the option out")
    if not (key.isascii() and key.isprintable()) or key != key.strip():
        raise StartError(
            "The API key cannot stand in an HTTP header; use visible ASCII characters,"
            " with no space around them"
        )
    if "://" in key:
        raise StartError("The API key is an address; give a key, or leave the option out")
    return secret


@dataclass(frozen=True, slots=True)
class Grant:
    """What a valid key may do.

    Attributes:
        account: whose nexus records it reaches.
        key_id: its id in the database; `None` for the key of a run.
        free: whether there is nothing to check or to count.
    """

    account: str
    key_id: str | None
    terms: KeyTerms
    past_due: bool
    free: bool


class Known(NamedTuple):
    """A cached result of verifying a key; `grant` is `None` where the key is not valid."""

    grant: Grant | None
    until: float


_VALID_SECONDS = 4.0
"""How long a valid key is cached: a change to it takes effect everywhere within this time."""
_INVALID_SECONDS = 1.0
"""How long a key that is not valid is cached: it may be created in the meantime."""
_MOST_VALID = 4096
_MOST_REFUSED = 1024


class KeyRing:
    """Verifies keys against the database, and caches the results for a few seconds.

    Args:
        store: the stored keys.
        run_key: a key that is valid for the local account while this process runs, without any
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
        """Accept the run's own key, if it has one, without a limit; the store is not read yet."""
        self.store = store
        self._now = now
        self._today = today
        self._known: dict[str, Known] = {}
        self._refused: dict[str, Known] = {}
        self._change = threading.Lock()
        if run_key is not None:
            terms = key_terms(_UNLIMITED.name, Overrides())
            grant = Grant(LOCAL_ACCOUNT, None, terms, past_due=False, free=True)
            self._known[hash_key(run_key)] = Known(grant, inf)

    def cached(self, key: bytes) -> Known | None:
        """The cached result for a key, or `None`; never blocks.

        Looked up by hash: the time it takes could reveal something about a hash, not about a key.
        """
        digest = hash_key(key)
        known = self._known.get(digest) or self._refused.get(digest)
        return known if known is not None and self._now() < known.until else None

    def verify(self, key: bytes) -> Known:
        """Look a key up in the database. Blocks: call it in a worker thread.

        Raises:
            StoreError: the database cannot be used.
        """
        digest = hash_key(key)
        started = self._now()
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
                known = Known(grant, started + seconds)
                self._cache(self._known, digest, known, _MOST_VALID)
                return known
        known = Known(None, started + _INVALID_SECONDS)
        with self._change:
            self._known.pop(digest, None)
        self._cache(self._refused, digest, known, _MOST_REFUSED)
        return known

    def _cache(self, where: dict[str, Known], digest: str, known: Known, most: int) -> None:
        with self._change:
            if where is self._known:
                self._refused.pop(digest, None)
            where.pop(digest, None)  # a key that is used moves to the end, so it is dropped last
            while len(where) >= most:
                oldest = next(other for other, entry in where.items() if entry.until != inf)
                del where[oldest]
            where[digest] = known


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as it is stored: everything about it, and never the key.

    Attributes:
        id: names the key in commands and messages, such as `key_7f3a91c2d0`.
        name: what it is for.
        overrides: what is set for this key over the plan.
        created_at: in UTC, ISO 8601, as `expires_at` and `revoked_at`.
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
    def terms(self) -> KeyTerms:
        """What the key may do."""
        return key_terms(self.plan, self.overrides)

    def status(self, now: str) -> str:
        """`revoked`, `expired`, `past_due` or `active` at a time (UTC, ISO 8601)."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return _PAST_DUE if self.past_due else _ACTIVE


# the status of the key itself wins over that of its account
_BILLING = sa.func.coalesce(api_keys.c.status, accounts.c.status).label("billing")
_KEYS = sa.select(api_keys, _BILLING).join(accounts)


class KeyStore:
    """The keys of a database; its methods are like those of `store.Store`."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def create(
        self,
        key: SecretStr,
        *,
        account: str,
        name: str | None = None,
        plan: str | None = None,
        limits: Mapping[str, int | None] | None = None,
        features: Mapping[str, bool] | None = None,
        expires_at: str | None = None,
        past_due: bool = False,
    ) -> KeyRow:
        """Store the hash of a key, and its account where that is new.

        Args:
            key: the key, by `new_key`.
            account: whose nexus records it can reach.
            name: what it is for.
            plan: the name of its plan; `None` is `unlimited`.
            limits: its own `rate_per_minute`, `burst` and `monthly_quota`, over the plan's.
            features: the features it gets or loses over its plan.
            expires_at: when it expires (UTC, as by `utc_now`).
            past_due: whether it is past due from the start.

        Raises:
            StartError: the plan, a limit or a feature does not exist, or the account or the name
                cannot be shown in a line.
        """
        plan = plan or _UNLIMITED.name
        given = Overrides(**(limits or {}), features=_feature_text(features or {}))
        given.check(plan)
        _check_text("account", account, _LONGEST_ACCOUNT)
        if name:
            _check_text("name", name, _LONGEST_NAME)
        now = utc_now()
        row = {
            "id": f"key_{secrets.token_hex(_ID_BYTES)}",
            "sha256": hash_key(key),
            "account": account,
            "name": name or None,
            "plan": plan,
            "created_at": now,
            "expires_at": expires_at,
            "status": _PAST_DUE if past_due else None,
            **asdict(given),
        }
        with self.database.write() as connection:
            connection.execute(
                self.database.insert(accounts)
                .values(account=account, created_at=now)
                .on_conflict_do_nothing()
            )
            connection.execute(api_keys.insert().values(row))
            return self._one(connection, str(row["id"]))

    def find(self, sha256: str) -> tuple[str, KeyRow] | None:
        """The stored hash and the row of a key, or `None`."""
        with self.database.read() as connection:
            row = connection.execute(_KEYS.where(api_keys.c.sha256 == sha256)).one_or_none()
        return None if row is None else (row.sha256, _row(row))

    def any(self) -> bool:
        """Whether any key is stored."""
        with self.database.read() as connection:
            return connection.execute(sa.select(api_keys.c.id).limit(1)).first() is not None

    def list(self) -> list[KeyRow]:
        """Every key, the oldest first."""
        with self.database.read() as connection:
            rows = connection.execute(_KEYS.order_by(api_keys.c.created_at, api_keys.c.id))
            return [_row(row) for row in rows]

    def revoke(self, key_id: str) -> KeyRow:
        """Make a key invalid for good; a second time changes nothing.

        Raises:
            StartError: there is no such key.
        """
        not_revoked = api_keys.c.revoked_at.is_(None)
        with self.database.write() as connection:
            self._one(connection, key_id)
            connection.execute(
                api_keys.update()
                .where(api_keys.c.id == key_id, not_revoked)
                .values(revoked_at=utc_now())
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
            features: which features it gets or loses over its plan.
            past_due: whether the key is past due; `False` leaves that to its account.

        Raises:
            StartError: there is no such key, or a value is impossible; then nothing is changed.
        """
        changes: dict[str, object] = dict(limits or {})
        if plan is not None:
            changes["plan"] = plan
        if past_due is not None:
            changes["status"] = _PAST_DUE if past_due else None
        with self.database.write() as connection:
            row = sa.select(api_keys.c.id).where(api_keys.c.id == self._one(connection, key_id).id)
            # two that change one key at once take turns: each sees the other's features
            connection.execute(row.with_for_update())
            before = self._one(connection, key_id)
            if features:
                signed = signed_features(before.overrides.features) | dict(features)
                changes["features"] = _feature_text(signed)
            if changes:
                connection.execute(api_keys.update().where(api_keys.c.id == key_id).values(changes))
            after = self._one(connection, key_id)
            after.overrides.check(after.plan)
            return after

    def set_account_past_due(self, account: str, *, past_due: bool) -> int:
        """Set whether an account is past due; return how many keys it has.

        Raises:
            StartError: there is no such account.
        """
        _check_text("account", account, _LONGEST_ACCOUNT)
        status = _PAST_DUE if past_due else _ACTIVE
        of_account = sa.select(sa.func.count()).where(api_keys.c.account == account)
        with self.database.write() as connection:
            changed = connection.execute(
                accounts.update().where(accounts.c.account == account).values(status=status)
            )
            if not changed.rowcount:
                known = connection.execute(sa.select(accounts.c.account)).scalars()
                raise StartError(
                    f"There is no account {account!r}; there are {', '.join(sorted(known))}"
                )
            return connection.execute(of_account).scalar_one()

    def _one(self, connection: sa.Connection, key_id: str) -> KeyRow:
        row = None
        if key_id.isascii():  # bytes that are no text cannot be in a query
            row = connection.execute(_KEYS.where(api_keys.c.id == key_id)).one_or_none()
        if row is None:
            ids = connection.execute(sa.select(api_keys.c.id).order_by(api_keys.c.created_at))
            known = ", ".join(ids.scalars()) or "none; make one with `svc-tools keys create`"
            # anything else may be a key
            given = repr(key_id) if key_id.startswith("key_") else "of that id"
            raise StartError(f"There is no key {given}; there are: {known}")
        return _row(row)


def _check_text(what: str, text: str, most: int) -> None:
    """Refuse what a list of keys could not show, such as line breaks and undecoded bytes."""
    if not 0 < len(text) <= most or not text.isprintable() or text != text.strip():
        raise StartError(
            f"The {what} is {text!r}; expected 1 to {most} visible characters, with no space around"
            " them"
        )


def _row(row: sa.Row[*tuple[Any, ...]]) -> KeyRow:
    return KeyRow(
        *(row.id, row.account, row.name, row.plan),
        Overrides(row.rate_per_minute, row.burst, row.monthly_quota, row.features),
        *(row.created_at, row.expires_at, row.revoked_at),
        past_due=row.billing == _PAST_DUE,
    )
