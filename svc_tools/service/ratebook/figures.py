"""Rates as text, written once: a book has a few hundred different ones."""

from __future__ import annotations

from functools import lru_cache

from svc_sdk.rates import units_to_rate

__all__ = ["rate_text"]


@lru_cache(maxsize=4096)
def rate_text(units: int) -> str:
    """The five-decimal string of a rate in units of 10^-5: `8250` gives `"0.08250"`."""
    return units_to_rate(units)
