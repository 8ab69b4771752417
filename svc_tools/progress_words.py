"""How far something is, in words. Pure."""

from __future__ import annotations

__all__ = ["STAGES", "duration", "how_far"]

STAGES = {
    "reading": ("Reading", "rows"),
    "asking": ("Asking", "places"),
    "writing": ("Writing", "rows"),
}
"""What is done at each stage of a file's way, and what is counted."""
_MINUTE, _HOUR = 60, 3_600


def how_far(done: int, total: float | None, speed: float | None, unit: str) -> str:
    """`4,000 of 10,000 places, 133/s, 45 s left`; without a speed only the first part."""
    of = f"{done:,} {unit}" if total is None else f"{done:,} of {int(total):,} {unit}"
    if not speed:
        return of
    rate = f"{speed:,.0f}/s" if speed >= 1 else f"{speed * _MINUTE:,.0f}/min"
    left = "" if total is None else f", {duration((total - done) / speed)} left"
    return f"{of}, {rate}{left}"


def duration(seconds: float) -> str:
    """A length of time as one reads it: 0.4 s, 45 s, 3 min 20 s, 2 h 05 min."""
    if seconds < 10:  # noqa: PLR2004  # tenths are of interest
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"
