"""The time as the database keeps it."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["utc_now"]


def utc_now() -> str:
    """The time in UTC, ISO 8601, in milliseconds, ending in Z; such texts sort as the times do."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
