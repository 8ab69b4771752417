"""What a person is told of a pause that the service wishes, and whether a run can outlast it."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

__all__ = ["Pauses"]

_SAID = 5.0
"""Pauses of so many seconds are said: nobody should wonder whether the run hangs."""

_log = logging.getLogger("svc_tools.lookup")
"""Where nobody has set logging up, Python writes its warnings to standard error."""


class Pauses:
    """The pauses of one run.

    Attributes:
        ends_at: when the run ends at the latest, by the clock of `time.monotonic`.
    """

    def __init__(self) -> None:
        self.ends_at: float | None = None
        self._said_until = 0.0

    def heed(self, now: float, until: float) -> str | None:
        """Say once that a pause is long.

        Returns:
            Why the run may as well end now, where the pause is longer than it lasts.
        """
        if until - now < _SAID or until <= self._said_until + 1.0:
            return None
        self._said_until = until
        wished = f"the service asks for a pause of {until - now:,.0f} s"
        if self.ends_at is not None and until >= self.ends_at:
            return f"{wished}, which is beyond the deadline"
        goes_on = datetime.now().astimezone() + timedelta(seconds=until - now)
        clock = goes_on.isoformat(" ", "seconds")
        _log.warning("%s: the lookup goes on at %s; Ctrl+C keeps what was found", wished, clock)
        return None
