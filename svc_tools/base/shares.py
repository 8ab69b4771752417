"""Shares of a ZIP's housing: the part of it that has a rate, which says how sure the rate is.

They are whole numbers of ten-thousandths, and texts with four decimals where they are sent and
stored.
"""

from __future__ import annotations

import re
from decimal import Decimal

SHARES_PER_ONE = 10_000
"""The units of shares: ten-thousandths."""
SURE_SHARE = 9_800
"""From this share of a ZIP's housing on a rate is as sure as the only one of a ZIP."""
LIKELY_SHARE = 9_000
"""From this share on a rate is right so often that `medium` keeps its word; below it is `low`."""
_SHARE = re.compile(r"(?:0|1)(?:\.[0-9]{1,20})?", re.ASCII)


def share_units(value: object) -> int | None:
    """A share as it is sent or stored, in units of 10^-4, never rounded up.

    `None` where it is not a number from 0 to 1, or the text of one.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if isinstance(value, int | float) and not 0 <= value <= 1:
        return None
    text = value.strip() if isinstance(value, str) else f"{Decimal(str(value)):f}"
    if not _SHARE.fullmatch(text):
        return None
    share = Decimal(text)
    return int(share * SHARES_PER_ONE) if share <= 1 else None


def share_text(units: int) -> str:
    """A share of units of 10^-4 as text with four decimals: `9312` gives `"0.9312"`."""
    whole, part = divmod(units, SHARES_PER_ONE)
    return f"{whole}.{part:04}"
