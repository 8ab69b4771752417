"""Whether a state's threshold was met at all: now, since the period's end, or lately. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from svc_tools.nexus.exposure_sums import held_against, rolling_met
from svc_tools.nexus.periods import Window, earlier_windows, last_end, months_before, windows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from svc_tools.nexus.exposure_sums import Found, Series
    from svc_tools.nexus.thresholds import Threshold, Thresholds

__all__ = ["Past"]

_DAY = timedelta(days=1)


class Past:
    """Whether the threshold was met at all: in the period, since its end, or in the trailing time.

    Each window is held against the rule of the day asked about, and against those of its own time.
    """

    def __init__(self, state: str, row: Threshold, thresholds: Thresholds, as_of: date) -> None:
        self._state, self._row, self._thresholds, self._as_of = state, row, thresholds, as_of

    @property
    def first_end(self) -> date:
        """The first day on which the 12 months of a rolling time may have ended, to be below."""
        day = months_before(self._as_of, self._row.trailing_months or 0)
        return min(day, last_end(self._as_of))

    @property
    def begin(self) -> date:
        """The first day of all sales that must be below."""
        period, months = self._row.period, self._row.trailing_months or 0
        assert period is not None  # noqa: S101 - a state with a tax has one
        if period == "rolling_12_months":
            return windows(period, self.first_end)[0].first
        every = (
            *windows(period, self._as_of, self._state),
            *earlier_windows(period, self._as_of, months, self._state),
        )
        return min(window.first for window in every)

    def met_in(self, series: Series, *, today_only: bool = False) -> Window | None:
        """A window in which the threshold was met; `None` where there is none.

        Args:
            series: the sales, read in one way.
            today_only: by the rule of the day asked about alone.
        """
        row, period = self._row, self._row.period
        assert period is not None  # noqa: S101 - a state with a tax has one
        every = [
            *windows(period, self._as_of, self._state),
            *earlier_windows(period, self._as_of, row.trailing_months or 0, self._state),
        ]
        since = self._since()
        if since is not None:
            every.append(since)
        for window in every:
            for rule, part in self._rules(window, today_only=today_only):
                if held_against(series, part, rule).met_on is not None:
                    return window
        if period == "rolling_12_months":
            ends = Window(self.first_end, self._as_of, "")
            for rule, part in self._rules(ends, today_only=today_only):
                if met := rolling_met(series, part.first, part.last, rule):
                    return Window(part.first, met, f"the 12 months to {met}")
        return None

    def running(self, series: Series) -> Found | None:
        """What was sold since the period's end, where that alone meets the threshold."""
        since = self._since()
        found = None if since is None else held_against(series, since, self._row)
        return found if found is not None and found.met_on is not None else None

    def is_below(self, most: Series | None, *, today_only: bool = False) -> bool:
        """Whether the most that may have been sold never met it; not where that is not known."""
        return most is not None and self.met_in(most, today_only=today_only) is None

    def _since(self) -> Window | None:
        period, as_of = self._row.period, self._as_of
        assert period is not None  # noqa: S101 - as above
        last = windows(period, as_of, self._state)[-1].last
        if last >= as_of:
            return None
        if period == "four_quarters":
            return windows("rolling_12_months", as_of)[0]
        return Window(last + _DAY, as_of, f"{last + _DAY} to {as_of}")

    def _rules(self, window: Window, *, today_only: bool) -> Iterator[tuple[Threshold, Window]]:
        """The rule of the day asked about, and those of the window's own time, each to its end."""
        yield self._row, window
        for rule in () if today_only else self._thresholds.rows:
            if rule.state != self._state or rule is self._row or rule.sales is None:
                continue
            ended = rule.effective_to is not None and rule.effective_to < window.first
            begun = rule.effective_from is None or rule.effective_from <= window.last
            if begun and not ended:
                last = min(window.last, rule.effective_to or window.last)
                yield rule, replace(window, last=last)
