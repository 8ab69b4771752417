"""Waiting for what another process does, where it tells nobody."""

from __future__ import annotations

import time

from svc_tools.progress import NoProgress


class Steps(NoProgress):
    """Progress that calls a function for each place or row that is done, in the stages named."""

    def __init__(self, step, *stages):
        self.step, self.stages, self.name = step, stages, None

    def start(self, name, total, unit):  # noqa: ARG002 - the signature of a protocol
        self.name = name

    def advance(self, count=1):
        for _ in range(count if not self.stages or self.name in self.stages else 0):
            self.step()


def until(fits, *, seconds=30.0, what=""):
    """What `fits` returns, as soon as that is true of anything."""
    end = time.monotonic() + seconds
    while not (found := fits()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what or fits}")
        time.sleep(0.05)
    return found
