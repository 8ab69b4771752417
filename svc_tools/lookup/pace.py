"""The pace of a run: how many requests may be in flight, when the next one starts. Pure.

One pace serves a whole run: what one request learns of the service holds for all.

- A 429 halves the number of requests in flight; so do responses that take far longer than before.
  Only requests that began after the last such cut count, so one burst counts once.
- `Retry-After`, on a 429 or a 5xx, keeps every request back until then (SPEC 8).
- 429s in a row, with no good response between them, pause the run as the backoff of SPEC 8 does,
  and end it where that does not help.
- After a pause a single request goes first; each good response then lets one more be in flight.
  Where the last pause came after so many responses, only one goes at a time from there: each pause
  costs one place one attempt. Random delays only spread these first requests.
- `RateLimit-Remaining`, with `-Limit` and `-Reset`: where a limit is used up, requests start one by
  one as fast as it lets them in.
- Good responses let the number grow again step by step: from one to all in two seconds at best.
- Requests that hang are no load: after a while they no longer count as in flight.

`Pauses` logs long pauses, and finds those that a run cannot outlast. `Health` says whether it is
worth continuing at all.
"""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from svc_sdk import RateLimitError, ServiceError, SvcError, TransportError
from svc_sdk.wire import backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_log = logging.getLogger("svc_tools.lookup")
"""Where logging is not set up, Python writes warnings to standard error."""

_GROWS_AFTER = 0.1
"""Seconds between two steps of growth ..."""
_STEPS = 16
"""... and how many of them lead from nothing to all."""
_REFUSED = 3
"""How many rounds of 429s in a row pause the run, whether or not they have a `Retry-After`."""
_MOST_REFUSED = 7
"""How many such pauses a run that had responses takes, 61.5 s of backoff together."""
_OFTEN = 0.3
"""The share of 429s without a delay among the last responses that pauses the run, too ..."""
_LAST = 16
"""... about so many of them."""
_SETTLED = 256
"""So many responses more than twice what was expected after a pause mean that it is history."""
_CUT_AFTER = 1.0
"""Seconds between two cuts for 429s: a few of them among many good answers slow nothing down."""
_WINDOW = 32
"""How many responses make one measurement of latency, at least."""
_SLOWER = 4.0
"""Responses are slow when they take this many times the best mean of the run ..."""
_SLOW = 0.5
"""... and more than this many seconds."""
_HANGS = 0.5
"""A request hangs after this many seconds and `_SLOWER` times the mean of the others."""
_FEWEST = 4
"""Slow responses alone leave this many requests in flight."""
_RAMP = 0.1
"""The share of a pause over which the first requests after it are spread ..."""
_LONGEST_RAMP = 1.0
"""... and the most seconds of it."""
_DIGITS = 6
"""More digits than a number of seconds has: eleven days."""

_LOGGED = 5.0
"""Pauses of at least so many seconds are logged, so that the run does not seem to hang."""
_LONGEST = 3600.0
"""A run ends, rather than pause for so many seconds because the service asks for it."""


class Pace:
    """The pace of one run.

    Args:
        most: how many requests may be in flight at most.
        chance: a random number from 0 to 1.

    Attributes:
        limit: how many requests may be in flight now.
        ready_at: when the next request may start.
        paused_until: when the last pause ends, or ended.
        pause: its seconds as they were given: `paused_until` is rounded, so that the difference to
            its begin may be less.
        asked_until: until when the service asked for no request; what is longer is a backoff.
        asked: the seconds of the longest pause that it asked for and that is not over, as given.
    """

    def __init__(self, most: int, chance: Callable[[], float] = random.random) -> None:
        """Begin with the most requests in flight, and with no pause."""
        self.limit = most
        self.ready_at = 0.0
        self._most = most
        self._allowed = most
        self._chance = chance
        self.paused_until = 0.0
        self.pause = 0.0
        self.asked_until = 0.0
        self.asked = 0.0
        self._length = 0.0
        self._window: _Window | None = None
        self._spacing = 0.0
        self._paused = 0.0
        self._cut_at = -_CUT_AFTER
        self._grew_at = 0.0
        self._good = 0
        self._responsive = False
        self._misled = False
        self._share = 0.0
        self._refusals = 0
        self._refused_at = 0.0
        self._backoffs = 0
        self._best: float | None = None
        self._mean: float | None = None
        self._before_cut: float | None = None
        self._sum = 0.0
        self._count = 0

    @property
    def confident(self) -> bool:
        """Whether the next request is likely to be admitted: a place's last attempt may be it."""
        if self._window is None:
            return True
        if not self._window.admitted:  # the first one after a pause: was it long enough before?
            return not self._window.sent and self._refusals <= 1 and not self._misled
        return self._window.admits_one

    def started(self, now: float) -> None:
        """Note that a request starts; the first ones after a pause start one by one."""
        if self._window is not None:
            self._window.sent += 1
        if self._spacing:
            self.ready_at = max(self.ready_at, now + self._spacing)
        elif now < self.paused_until + (ramp := min(_RAMP * self.pause, _LONGEST_RAMP)):
            self.ready_at = now + 2 * (ramp / self._allowed) * self._chance()

    def responded(self, began: float, now: float) -> None:
        """Note a good response to a request that began then."""
        if self._window is not None and began >= self.paused_until:
            if not self._window.admitted:
                self._misled &= self._refusals > 1
            self._window.admitted += 1
            self._adjust()
        self._responsive = True
        self._refusals = self._backoffs = 0
        self._share -= self._share / _LAST
        self._good += 1
        if began >= self._cut_at:
            self._measure(began, now)
        grown = now - self._grew_at >= _GROWS_AFTER and self._good >= self._allowed
        if grown and self._allowed < self._most:
            self._allowed = min(self._allowed + max(self._most // _STEPS, 1), self._most)
            self._good = 0
            self._grew_at = now
            self._adjust()

    def refused(self, began: float, now: float, retry_after: float | None) -> None:
        """Note that the service rate limited a request (429)."""
        window, later = self._window, began >= self._refused_at
        expected = window is not None and window.is_used
        if later and window is not None and not window.admitted:
            self._misled = True
        if retry_after is not None:
            self.wait(now, retry_after)
        if not retry_after:
            self._share += (1 - self._share) / _LAST
            if self._share > _OFTEN:
                self._pause(now, backoff(0))
        if later:  # else it is of the same round: one burst counts once
            self._refused_at = now
            self._refusals += 1
            silent = retry_after is None and not self._responsive
            if self._refusals >= (1 if silent else _REFUSED):
                self._pause(now, backoff(self._backoffs))
                self._backoffs += 1
        if began >= self._cut_at and now - self._cut_at >= _CUT_AFTER and not expected:
            self._cut(now, 1)

    def is_shut(self, max_retries: int, retry_after: float | None) -> bool:
        """Whether the service refuses everything: the pauses between did not help.

        One that never gave a response, and asks for no pause, is as one place is for the client;
        but it has a second round: a refusal may arrive before the good responses.
        """
        silent = not retry_after and not self._responsive
        return self._backoffs > max(max_retries, 1 if silent else _MOST_REFUSED)

    def limited(self, now: float, left: int, under_way: int, interval: float) -> None:
        """Note how many requests the service admits at once, and the interval for one more.

        Where no more are left than are in flight already, requests start at that interval, until
        there is room for all again: no 429 has to come first.
        """
        if left <= under_way or (self._spacing and left <= self._most):
            # whole seconds are given, rounded up: the shortest interval is the most exact
            self._spacing = min(interval, self._spacing or interval)
        else:
            self._spacing = 0.0
        if left == 0:
            self._note_asked(now, interval)
            self._keep_back(now, interval)

    def wait(self, now: float, seconds: float) -> None:
        """Start no request for so long: the service asks for it."""
        self._note_asked(now, seconds)
        self._pause(now, seconds)

    def repeat(self, now: float) -> bool:
        """Pause as after the last 429, where one more request would probably meet the next."""
        if self._window is None or not self._window.admitted:
            return False
        self.wait(now, self._length)
        return True

    def _note_asked(self, now: float, seconds: float) -> None:
        """Note that the service asks for no request for so long."""
        is_over = now >= self.asked_until
        self.asked = seconds if is_over else max(self.asked, seconds)
        self.asked_until = max(self.asked_until, now + seconds)

    def _pause(self, now: float, seconds: float) -> None:
        """Start no request for so long, then a single one."""
        is_over = now >= self.paused_until
        if not self._keep_back(now, seconds):
            return
        if is_over:
            window, self._length = self._window, seconds
            self._window = _Window(window.admitted or window.expected if window else 0)
        self._adjust()

    def _keep_back(self, now: float, seconds: float) -> bool:
        """Start no request for so long; whether that is longer than so far."""
        until = now + seconds
        if seconds <= 0 or until <= self.paused_until:
            return False
        self._paused += until - max(now, self.paused_until)
        self.paused_until = self.ready_at = until
        self.pause = seconds
        return True

    def hangs_after(self) -> float:
        """The seconds after which a request in flight counts as one that hangs."""
        return _HANGS + _SLOWER * (self._mean or 0.0)

    def waited(self, now: float) -> float:
        """The seconds for which no request might start, until now."""
        return self._paused - max(self.paused_until - now, 0.0)

    def _adjust(self) -> None:
        """Apply what the requests since the last pause found to the number in flight."""
        room = self._most if self._window is None else self._window.room
        self.limit = min(self._allowed, room)

    def _cut(self, now: float, fewest: int) -> None:
        self._allowed = max(self._allowed // 2, min(fewest, self._most), 1)
        self._adjust()
        self._cut_at = self._grew_at = now
        self._good = 0
        self._sum = self._count = 0

    def _measure(self, began: float, now: float) -> None:
        """Compare the mean latency of a window of responses with the best one so far."""
        self._sum += now - began
        self._count += 1
        if self._count < max(_WINDOW, self._allowed):
            return
        mean = self._mean = self._sum / self._count
        self._sum = self._count = 0
        if self._best is None or mean < self._best:
            self._best = mean
        if mean <= max(_SLOW, _SLOWER * self._best):
            self._before_cut = None
        elif self._before_cut is not None and mean > self._before_cut / 2:
            # fewer requests did not make it faster: the service is slow, not overrun
            self._best, self._before_cut = mean, None
        elif self._allowed > _FEWEST:
            self._before_cut = mean
            self._cut(now, _FEWEST)


@dataclass(slots=True)
class _Window:
    """The requests since a pause.

    Attributes:
        expected: how many were admitted between earlier pauses; 0 where there were none.
        admitted: how many were admitted.
        sent: how many were sent.
    """

    expected: int
    admitted: int = 0
    sent: int = 0

    @property
    def room(self) -> int:
        """How many may be in flight: few, where it is not known that they are admitted."""
        left = self.expected - self.admitted
        return max(min(self.admitted + 1, max(left, 1 - left)), 1)

    @property
    def admits_one(self) -> bool:
        """Whether the next one is of the first half of those that are expected to be admitted."""
        return 2 * self.sent < self.expected or self.admitted >= 2 * self.expected + _SETTLED

    @property
    def is_used(self) -> bool:
        """Whether about as many were admitted as before: the end of them was expected."""
        return 0 < self.expected <= 2 * self.admitted


def rate_limit(headers: Mapping[str, str]) -> tuple[int, float] | None:
    """How many more requests are admitted at once, and the seconds until one more is.

    `RateLimit-Reset` is when all of `RateLimit-Limit` are available again: they become so one by
    one. What is not a number of seconds, such as a time of day, is ignored.
    """
    names = ("ratelimit-remaining", "ratelimit-limit", "ratelimit-reset")
    values = [headers.get(name, "") for name in names]
    if not all(value.isascii() and value.isdecimal() and len(value) <= _DIGITS for value in values):
        return None
    left, limit, reset = map(int, values)
    return left, reset / max(limit - left, 1)


class Pauses:
    """The long pauses of one run.

    Attributes:
        ends_at: when the run ends at the latest, by the clock of `time.monotonic`.
    """

    def __init__(self) -> None:
        self.ends_at: float | None = None
        self._logged_until = 0.0

    def check(self, now: float, pace: Pace) -> str | None:
        """Log a long pause, once.

        Returns:
            Why the run ends now, where it cannot outlast the pause, or should not.
        """
        until = pace.paused_until
        if pace.pause < _LOGGED or now >= until:
            return None
        asked = until <= pace.asked_until
        why = "the service requires a pause" if asked else "the service refuses every request (429)"
        pause = f"{why}{' of' if asked else ', a pause of'} {pace.pause:,.0f} s"
        if self.ends_at is not None and until >= self.ends_at:
            return f"{pause}, which is beyond the deadline"
        if pace.asked >= _LONGEST and now < pace.asked_until:
            again = _in_seconds(pace.asked_until - now)
            return (
                f"the service requires a pause of {pace.asked:,.0f} s; run it again after {again}"
            )
        if until > self._logged_until + 1.0:
            self._logged_until = until
            text = "%s: the lookup continues at %s; Ctrl+C ends it and returns the results"
            _log.warning(text, pause, _in_seconds(until - now))
        return None


def _in_seconds(seconds: float) -> str:
    """The time of day after so many seconds."""
    moment = datetime.now().astimezone() + timedelta(seconds=seconds)
    return moment.isoformat(" ", "seconds")


_NEVER_REACHED = 8
"""How many failures mean that a service that never responded is not there."""
_GIVE_UP = 40
"""How many failures in a row, retries spent, mean that a service that did respond is gone."""
_DOUBTFUL = 32
"""How many requests in a row may fail before no further places are begun for now."""


class Health:
    """Whether the service is likely to respond."""

    def __init__(self) -> None:
        self._alive = False
        self._bad_requests = 0
        self._failures = 0
        self._unreadable = 0

    @property
    def good(self) -> bool:
        """Whether new places may be begun while others wait for their next attempt."""
        return self._alive and self._bad_requests < _DOUBTFUL

    def responded(self) -> None:
        """Note a response, be it that the service does not know a place."""
        self._alive = True
        self._bad_requests = 0
        self._failures = 0

    def read(self, *, usable: bool) -> bool:
        """Note whether a response was the service's; whether too many in a row were not.

        Separate from the rest, because good responses are parsed later than they come.
        """
        self._unreadable = 0 if usable else self._unreadable + 1
        return self._unreadable >= _GIVE_UP

    def troubled(self) -> None:
        """Note a request that failed and may be tried again."""
        self._bad_requests += 1

    def is_gone(self, error: SvcError) -> bool:
        """Whether the service failed so many places in a row that it will fail the rest."""
        if isinstance(error, RateLimitError):
            return False  # the pace finds that out
        if not isinstance(error, TransportError | ServiceError):
            self.responded()
            return False
        self._failures += 1
        return self._failures >= (_GIVE_UP if self._alive else _NEVER_REACHED)
