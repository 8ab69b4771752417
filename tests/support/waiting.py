"""Waiting for what another process does or writes, and not for ever."""

from __future__ import annotations

import os
import select
import time

from svc_tools.base.progress import NoProgress


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


def read_until(fits, file, process, *, seconds=45.0, what, again=None):
    """What a process writes to `file`, up to where that fits or the process ends.

    One that takes too long is ended; the error has what it wrote so far. `again` is done each
    second in which it writes nothing.
    """
    end = time.monotonic() + seconds
    seen = b""
    while not fits(seen):
        left = max(end - time.monotonic(), 0)
        if not select.select([file], [], [], min(left, 1.0) if again else left)[0]:
            if again and left:
                again()
                continue
            process.kill()
            raise AssertionError(f"not within {seconds} s: {what}; so far it wrote {seen!r}")
        try:
            piece = os.read(file if isinstance(file, int) else file.fileno(), 4_096)
        except OSError:  # how Linux says that nobody has the terminal open any more
            piece = b""
        if not piece:
            break
        seen += piece
    return seen
