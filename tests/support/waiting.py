"""Waiting for what another process does, where it tells nobody."""

from __future__ import annotations

import time


def until(fits, *, seconds=30.0, what=""):
    """What `fits` returns, as soon as that is true of anything."""
    end = time.monotonic() + seconds
    while not (found := fits()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what or fits}")
        time.sleep(0.05)
    return found
