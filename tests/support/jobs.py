"""Work for workers that cannot start: in a module of its own, which their processes can import."""

from __future__ import annotations

import os

from svc_tools.service.errors import StartError


class RefusingJob:
    """Says why it cannot start."""

    def app(self):
        raise StartError("the database of this job is on the moon")


class CrashingJob:
    """Ends without a word."""

    def app(self):
        os._exit(7)
