"""The tables of the database, the same on every engine."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["accounts", "api_keys", "metadata", "nexus", "schema_version", "usage"]

metadata = sa.MetaData()

schema_version = sa.Table(
    "schema_version", metadata, sa.Column("version", sa.Integer, primary_key=True)
)

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("created_at", sa.Text, nullable=False),
    # active, or past_due: then every request is refused with 402
    sa.Column("status", sa.Text, nullable=False, server_default="active"),
)

# A column of limits that is NULL leaves the matter to the plan.
api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    # what a person calls the key by; the key itself is nowhere
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("account", sa.ForeignKey("accounts.account"), nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("plan", sa.Text, nullable=False, server_default="unlimited"),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Text),
    sa.Column("revoked_at", sa.Text),
    sa.Column("status", sa.Text),
    sa.Column("rate_per_minute", sa.BigInteger),
    sa.Column("burst", sa.BigInteger),
    sa.Column("monthly_quota", sa.BigInteger),
    sa.Column("features", sa.Text),
)

# The lookups of a key with a quota, by calendar month.
usage = sa.Table(
    "usage",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("month", sa.Text, primary_key=True),
    sa.Column("used", sa.BigInteger, nullable=False, server_default="0"),
)

nexus = sa.Table(
    "nexus",
    metadata,
    sa.Column("account", sa.ForeignKey("accounts.account"), primary_key=True),
    sa.Column("state", sa.Text, primary_key=True),
    sa.Column("nexus_type", sa.Text, primary_key=True),
    sa.Column("registered_at", sa.Text),
    sa.Column("address", sa.Text),
    sa.Column("notes", sa.Text),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("updated_at", sa.Text, nullable=False),
)
