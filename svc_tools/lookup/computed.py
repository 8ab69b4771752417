"""Lookups of the embedded service, computed in this process: each place once for a span of days.

The outcomes are those of requests, with nothing in between: rates stay whole numbers from the rate
book to the result.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import unquote

from svc_sdk import TaxResponse
from svc_tools.config import EmbeddedAsyncSvc, EmbeddedSvc
from svc_tools.lookup.outcomes import (
    STOPPED,
    Outcome,
    Units,
    deadline_reached,
    failed,
    of_sent,
    rate_units,
)
from svc_tools.lookup.transport import request_of
from svc_tools.lookup.troubles import SERVER_ERRORS
from svc_tools.show.codes import code_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from svc_sdk import AsyncSvc, Svc
    from svc_sdk.wire import Call
    from svc_tools.base.positions import Position
    from svc_tools.config import Computation, Located
    from svc_tools.tables.places import Place

_ALWAYS = 1, 10_000_000
"""From the first day that there is to behind the last, as by `date.toordinal`."""
_AT_ONCE = 16_384
"""For how many places the maps are looked at together."""
_REMEMBERED = 50_000
"""How many places are remembered between two runs: every ZIP of the country; about 1 KB each."""


def computed_by(client: Svc | AsyncSvc, *, detail: bool) -> Computed | None:
    """A run of the embedded service; `None` where a client's lookups are requests."""
    if isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc) and client.is_here:
        with suppress(ValueError):  # it was closed meanwhile
            return Computed(client, detail=detail)
    return None


class Ends:
    """What ends a run before its time: the deadline, in seconds from now, or the event."""

    def __init__(self, deadline: float | None, stop: threading.Event | None = None) -> None:
        self._stop, self._deadline = stop, deadline
        self._until = math.inf if deadline is None else time.monotonic() + deadline

    def why(self) -> str | None:
        """Why the run ends now; `None` where it goes on."""
        if self._stop is not None and self._stop.is_set():
            return STOPPED
        if self._deadline is not None and time.monotonic() >= self._until:
            return deadline_reached(self._deadline)
        return None


class Computed:
    """One run over one state of the rate book. A context manager; safe to use from any thread.

    Args:
        client: a client of the embedded service, whose lookups are computed in this process.
        detail: whether `Found.components` is filled, as by a full response.

    Attributes:
        at: the moment of the run (UTC).
        today: the day of queries without one.
        edition: the edition of the rate book.
        digest: its SHA-256, in hex.

    Raises:
        ValueError: its lookups are not computed in this process.
    """

    def __init__(self, client: EmbeddedSvc | EmbeddedAsyncSvc, *, detail: bool) -> None:
        """Begin a computation with the client's rate book; if that is damaged, no place has a rate.

        Raises:
            ValueError: the client sends requests.
        """
        self._client = client
        self._detail = detail
        self._run: Computation | None = None
        self._broken: _Span | None = None
        self._remembered: dict[object, object] = {}
        self.at = datetime.now(UTC)
        self.today = self.at.astimezone().date()
        try:
            self._run = client.computation()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is why no place has a rate
            self._broken = self._failed("", error)  # once: the log has a line for it
            self.edition, self.digest = client.book_edition, client.book_digest
            return
        if self._run is None:
            raise ValueError("client: its lookups are not computed in this process")
        self.today, self._remembered = self._run.today, self._run.remembered
        self.edition, self.digest = self._run.edition, self._run.digest

    def __enter__(self) -> Self:
        """The run."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            self._run.close()

    def outcome(self, place: Place) -> Outcome:
        """The outcome of a place on its day, or on the day of now."""
        now = datetime.now(UTC)
        day = place.as_of
        if day is not None and type(day) is not date:
            try:
                given = dict(request_of(place, detail=self._detail).params)
            except (ValueError, TypeError) as error:  # as in `_located`
                return Outcome("failed", f"{type(error).__name__}: {error}")
            day = date.fromisoformat(given["as_of"])
        # of a point the day is no part of what is remembered, and a copy takes time
        undated = place if day is None or place.lat is not None else replace(place, as_of=None)
        _, (found,) = self.spans(undated, ((day or now.astimezone().date()).toordinal(),))
        return replace(found, looked_up_at=now)

    def surveyed(self, places: Iterable[Place]) -> Iterator[Place]:
        """The same places, a few thousand at a time after `survey`."""
        each = iter(places)
        while some := list(islice(each, _AT_ONCE)):
            self.survey(some)
            yield from some

    def survey(self, places: Iterable[Place]) -> None:
        """Look at the maps for the next places at once, which takes a tenth of the time.

        No outcome depends on it.
        """
        points = [
            (sent.state, sent.lat, sent.lng)
            for sent in (place.as_sent() for place in places)
            if sent.lat is not None and sent.lng is not None
        ]
        if points and self._run is not None:
            with suppress(Exception):  # the outcome of each says what is wrong
                self._run.survey(points)

    def spans(self, place: Place, days: Sequence[int]) -> tuple[list[int], list[Outcome]]:
        """The outcomes of a place on days: one for each span of them in which it is the same.

        Args:
            place: the place, without a day.
            days: days as by `date.toordinal`, ascending, each once; empty for today.

        Returns:
            Where in `days` each span begins, and its outcome, without `looked_up_at`: it is `at`.
        """
        days = days or (self.today.toordinal(),)
        located: Located | _Span | None = None
        key: tuple[object, bool] = place, self._detail
        if place.mode == "coordinates":
            located = self._at_point(place)
            if located is not None and (same := located.same):
                key = same, self._detail
        found = self._remembered.get(key)
        known = lasts = found if isinstance(found, _Known) else _Known((), (), ())
        if len(days) == 1:  # as in each row of a lookup of today: nothing is put together
            span = bisect_right(known.begins, days[0]) - 1
            if span >= 0 and days[0] < known.ends[span]:
                return [0], [known.outcomes[span]]
        begins: list[int] = []
        outcomes: list[Outcome] = []
        at = 0
        while at < len(days):
            day = days[at]
            span = bisect_right(known.begins, day) - 1
            if span < 0 or known.ends[span] <= day:
                located = located or self._located(place)
                new = located if isinstance(located, _Span) else self._on(place, located, day)
                before = known
                known, span = known.with_span(new, day)
                if new.lasts:
                    lasts = known if lasts is before else lasts.with_span(new, day)[0]
            outcome = known.outcomes[span]
            if not outcomes or outcome != outcomes[-1]:
                begins.append(at)
                outcomes.append(outcome)
            at = bisect_left(days, known.ends[span], at + 1)
        if lasts.begins and lasts is not found:
            self._remember(key, lasts)
        return begins, outcomes

    def _at_point(self, place: Place) -> Located | None:
        """A point that `surveyed` has looked at; `None` for any other place."""
        if self._run is None or place.lat is None or place.lng is None:
            return None
        return self._run.at_point(place.state, place.lat, place.lng)

    def _located(self, place: Place) -> Located | _Span:
        """The place in the book, or its outcome on every day."""
        if self._run is None:
            assert self._broken is not None  # noqa: S101 - there is no run
            return self._broken
        try:
            if located := _in_zip(self._run, place):
                return located
            call = request_of(place, detail=self._detail)
        except (ValueError, TypeError) as error:  # the client would refuse it as well
            return _Span(*_ALWAYS, Outcome("failed", f"{type(error).__name__}: {error}"))
        try:
            state = unquote(call.path.rpartition("/")[2])
            return self._run.place(state, call.params, place.position)
        except Exception as error:  # noqa: BLE001 - as in `__init__`
            return self._failed(place.state, error)

    def _on(self, place: Place, located: Located, day: int) -> _Span:
        begin, end, answer, error = located.on(day)
        try:
            if answer is not None:
                sent = _Answer(answer.full(Units) if self._detail else answer.simple(Units))
                return _Span(begin, end, of_sent(place, sent))
        except Exception as raised:  # noqa: BLE001 - as in `__init__`
            error = raised
        return self._failed(place.state, error, begin, end)

    def _failed(
        self,
        state: str,
        error: Exception | None,
        begin: int = _ALWAYS[0],
        end: int = _ALWAYS[1],
    ) -> _Span:
        refusal = self._client.refusal(error or LookupError(state), f"/v1/tax/{state}")
        if refusal.status_code in SERVER_ERRORS:  # the log has it by its reference
            return _Span(begin, end, failed(refusal), lasts=False)
        outcome = replace(failed(refusal), support_reference=None)
        return _Span(begin, end, outcome, lasts=end - begin > 1)  # else its text names the day

    def _remember(self, key: tuple[object, bool], known: _Known) -> None:
        if len(self._remembered) >= _REMEMBERED:
            self._remembered.clear()
        self._remembered[key] = known


def response_at(
    client: EmbeddedSvc, call: Call, position: Position, day: date | None = None
) -> TaxResponse:
    """The response to a lookup of the embedded service whose place has a position.

    Args:
        client: the client; its lookups are computed in this process.
        call: the request, which cannot hold the position.
        position: that of its ZIP or address.
        day: the day of the request; today where left out.

    Raises:
        SvcError: as `client.lookup` of the same place.
    """
    try:
        run = client.computation()
        assert run is not None  # noqa: S101 - its lookups are computed in this process
        with closing(run):
            located = run.place(unquote(call.path.rpartition("/")[2]), call.params, position)
            _, _, answer, error = located.on((day or run.today).toordinal())
    except Exception as raised:
        raise client.refusal(raised, call.path) from raised
    if answer is None:
        raise client.refusal(error or LookupError(call.path), call.path)
    full = ("mode", "full") in call.params
    return TaxResponse.model_validate(answer.full() if full else answer.simple())


class _Span(NamedTuple):
    """An outcome from a day on until before another; `lasts`: whether it is remembered."""

    begin: int
    end: int
    outcome: Outcome
    lasts: bool = True


class _Known(NamedTuple):
    """The outcomes of a place that are known, by the first days and those behind the last."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    outcomes: tuple[Outcome, ...]

    def with_span(self, new: _Span, day: int) -> tuple[_Known, int]:
        """These and a further span, whose day is in none of them; and its position."""
        at = bisect_right(self.begins, day)
        begin = max([new.begin, *self.ends[:at][-1:]])
        end = min([new.end, *self.begins[at:][:1]])
        begins = (*self.begins[:at], begin, *self.begins[at:])
        ends = (*self.ends[:at], end, *self.ends[at:])
        return _Known(begins, ends, (*self.outcomes[:at], new.outcome, *self.outcomes[at:])), at


def _in_zip(run: Computation, place: Place) -> Located | None:
    """The place where a ZIP alone names it, as nearly every place of a year of orders."""
    others = place.address, place.city, place.location, place.lat, place.lng, place.position
    if others == _NONE and isinstance(place.state, str) and isinstance(place.zip, str):
        return run.in_zip(place.state, place.zip)
    return None


_NONE = (None,) * 6


class _Answer:
    """The rate that was computed, with whole numbers for rates; see `outcomes.Sent`."""

    unreadable = ()

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self.confidence: str | None = body["meta"]["confidence"]
        self._warnings: list[dict[str, Any]] = body["meta"]["warnings"]
        self.codes = tuple([code_of(warning["code"]) for warning in self._warnings])

    def get(self, part: str, name: str) -> object:
        value = self._body[part].get(name)
        return None if value == "" else value

    def units(self, field: str) -> int | None:
        return rate_units(field, self._body["rate"][field])

    def warnings(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        return zip(self.codes, self._warnings, strict=True)

    def rows(self, name: str) -> Iterable[Mapping[str, object]]:
        rows: list[Mapping[str, object]] = self._body.get(name, [])
        return rows
