"""Whether the service is worth asking: a sheet may compute thousands of cells one after the other.

Where it hangs, is not there or refuses the key, each of them would wait as long as the first, and
a refused key would be sent thousands of times. So the first failure speaks for all of them for a
minute. Not thread-safe by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.memory import CALM, is_answer

if TYPE_CHECKING:
    from datetime import datetime

    from svc_tools.excel.lookups import Heard

__all__ = ["Trouble"]


class Trouble:
    """The trouble that a service is in, as its last bursts told.

    Attributes:
        until: until when it is not asked for that.
    """

    def __init__(self) -> None:
        self._why = ""
        self.until: datetime | None = None
        self._answered_at: datetime | None = None

    def why(self, now: datetime) -> str | None:
        """Why the service is not to be asked now; `None` where it is."""
        return self._why if self.until is not None and now < self.until else None

    def heard(self, burst: Heard, asked_at: datetime, now: datetime) -> None:
        """Judge a burst: one answer to it, or since it began, and the service is worth asking.

        A place that it fails with a status of its own says nothing of the others.
        """
        told = [one for one in burst.outcomes.values() if not one.cached]
        if any(map(is_answer, told)):
            self.until, self._answered_at = None, now
            return
        if self._answered_at is not None and self._answered_at > asked_at:
            return
        unheard = (one.error for one in told if one.looked_up_at is None)
        why = burst.stopped or next((error for error in unheard if error), None)
        if why is not None:
            self._why, self.until = why, now + CALM
