"""The time as the database keeps it: texts for people, whole microseconds for arithmetic."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["microseconds", "utc_now"]


def utc_now() -> str:
    """The time in UTC, ISO 8601, in milliseconds, ending in Z; such texts sort as the times do."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def microseconds() -> int:
    """The time in microseconds since 1970."""
    return time.time_ns() // 1000
