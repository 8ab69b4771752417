"""Many lookups with one state of the rate book: each place once for a span of days.

No request is made, no JSON written, and nothing waits for another lookup.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.params import read_lookup, read_params
from svc_tools.service.problems import NO_SUCH_PATH, PATH_NOT_FOUND, Problem
from svc_tools.service.ratebook import NotResolved, Query
from svc_tools.service.ratebook.own import OwnBookChanged
from svc_tools.service.ratebook.resolver import days_of_change, is_dated, locate, rate
from svc_tools.service.ratebook.spans import EVER, span_of
from svc_tools.service.rates import LOOKUP_PARAMS, local_day, no_rate_problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.base.positions import Position
    from svc_tools.service.books import BookKeeper
    from svc_tools.service.ratebook import Book, ResolvedRate
    from svc_tools.service.ratebook.by_boundary import BoundaryStore
    from svc_tools.service.ratebook.by_point import Spot
    from svc_tools.service.ratebook.query import Location

_ATTEMPTS = 5
"""How often the book is loaded again where files are imported in between."""
_STATE = re.compile("[A-Z]{2}")
_ZIP = re.compile("[0-9]{5}(-[0-9]{4})?", re.ASCII)


class ResultSpan(NamedTuple):
    """The result of a place from a day on, which is the same until before another.

    Attributes:
        begin: the first day, as by `date.toordinal`.
        end: the day behind the last.
        answer: the rate; `None` where there is none.
        error: why there is none.
    """

    begin: int
    end: int
    answer: ResolvedRate | None
    error: Exception | None = None


class Computation:
    """One run over one state of the book, however long it takes; to be closed.

    Attributes:
        today: the day of a query without one.
        edition: the edition of the book.
        digest: its SHA-256, in hex.
        remembered: what callers remember of this state of the book, for the next run over it.

    Raises:
        BookUnavailableError: the book cannot be read.
        OwnBookChanged: files are imported all the time.
        OwnBookError: the user's own files cannot be read.
    """

    def __init__(self, books: BookKeeper, memories: Memories) -> None:
        self._book, self._records = _pinned(books)
        self.today = local_day()
        self.edition, self.digest = self._book.edition, self._book.digest
        self.remembered = memories.of(self._book)
        self._spots: dict[tuple[str, float, float], Spot] = {}

    def close(self) -> None:
        """Close the records of the user's own files."""
        if self._records is not None:
            self._records.close()

    def in_zip(self, state: str, zip_code: str) -> Located | None:
        """The place that is a ZIP or ZIP+4; `None` where one of the two is written otherwise."""
        if _STATE.fullmatch(state) and _ZIP.fullmatch(zip_code):
            return Located(self._book, Query(state, zip=zip_code))
        return None

    def survey(self, points: Iterable[tuple[str, float, float]]) -> None:
        """Look at the maps for many points at once, which `at_point` and `place` then need not do.

        What was found for other points before is forgotten.

        Args:
            points: the state of the lookup, latitude and longitude of each.
        """
        from svc_tools.service.ratebook.by_point import survey  # noqa: PLC0415 - heavy, for points

        self._spots = {}
        by_state: dict[str, list[tuple[float, float]]] = {}
        for state, lat, lng in points:
            if state in self._book.states:
                by_state.setdefault(state, []).append((lat, lng))
        for state, found in by_state.items():
            for point, spot in zip(found, survey(self._book, state, found), strict=True):
                self._spots[state, *point] = spot

    def at_point(self, state: str, lat: float, lng: float) -> Located | None:
        """The place at a point that `survey` has looked at; `None` for any other."""
        spot = self._spots.get((state, lat, lng))
        return spot and Located(self._book, Query(state, lat=lat, lng=lng), spot)

    def place(
        self,
        state: str,
        params: Iterable[tuple[str, str]],
        position: Position | None = None,
    ) -> Located:
        """The place of a request.

        Args:
            state: the last segment of its path, decoded.
            params: its query string, decoded.
            position: where its ZIP or address is on the map: no request can say.

        Raises:
            Problem: 400 for what was given, 404 for a path that is not that of a lookup.
        """
        if "/" in state:
            raise Problem(404, PATH_NOT_FOUND, NO_SUCH_PATH)
        query = read_lookup(state, read_params(params, *LOOKUP_PARAMS)).query
        if position is not None:
            query = query._replace(position=position)
        return Located(self._book, query, self._spot_of(query))

    def _spot_of(self, query: Query) -> Spot | None:
        lat, lng, match = query.position[:3] if query.position else (query.lat, query.lng, "given")
        if lat is None or lng is None or match != "given":  # others look further around
            return None
        return self._spots.get((query.state, lat, lng))


class Memories:
    """What callers remember of the book in use, which goes with it."""

    def __init__(self) -> None:
        self._current: tuple[object, dict[object, object]] = None, {}

    def of(self, book: Book) -> dict[object, object]:
        """What is remembered of a book; copies of it share its memo."""
        current = self._current
        if current[0] is not book.memo:
            current = self._current = book.memo, {}
        return current[1]


class Located:
    """A place, located once for all days where the day does not matter."""

    def __init__(self, book: Book, query: Query, spot: Spot | None = None) -> None:
        self._book, self._query, self._spot = book, query, spot
        self._dated = is_dated(book, query.state)
        self._location: Location | None = None
        self._changes: tuple[int, ...] | None = None

    @property
    def same(self) -> tuple[object, ...] | None:
        """What all that is returned depends on but the point itself; `None`: on it, too.

        Places with the same have the same result on every day, but for the words of its warnings,
        and for `lat`, `lng` and `nearest_zip`.
        """
        query = self._query
        if self._spot is None or self._dated or query.lat is None or query.lng is None:
            return None
        from svc_tools.service.ratebook.by_point import key_of  # noqa: PLC0415 - as above

        return key_of(self._book, query.state, (query.lat, query.lng), self._spot)

    def on(self, day: int) -> ResultSpan:
        """The result on a day, and the days around it on which it is the same. Raises nothing."""
        book, query, asked = self._book, self._query, date.fromordinal(day)
        try:
            if self._location is None or self._dated:
                self._location = locate(book, query, asked, self._spot)
            if self._changes is None or self._dated:
                self._changes = days_of_change(book, query.state, self._location)
        except NotResolved as error:
            return ResultSpan(*span_of(sorted(error.changes), day), None, no_rate_problem(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is why there is no rate
            return ResultSpan(*((day, day + 1) if self._dated else EVER), None, error)
        begin, end = span_of(self._changes, day)
        # the same day for all places of a kind, which share what is found for it
        found = self._rated(begin, end, date.fromordinal(begin if begin > EVER[0] else end - 1))
        named = isinstance(found.error, Problem) and "as_of" in (found.error.extra or {})
        return self._rated(day, day + 1, asked) if named else found  # its text names the day

    def _rated(self, begin: int, end: int, day: date) -> ResultSpan:
        assert self._location is not None  # noqa: S101 - it was located
        try:
            return ResultSpan(begin, end, rate(self._book, self._query, self._location, day))
        except NotResolved as error:
            return ResultSpan(begin, end, None, no_rate_problem(error))
        except Exception as error:  # noqa: BLE001 - as above
            return ResultSpan(begin, end, None, error)


def _pinned(books: BookKeeper) -> tuple[Book, BoundaryStore | None]:
    """The book of now, with the records of the user's own files as they are now."""
    for attempt in range(_ATTEMPTS):
        books.refresh()
        book = books.book
        if all(edition.kind != "boundary" for edition in book.own_editions):
            break
        from svc_tools.service.ratebook.by_boundary import pinned  # noqa: PLC0415 - few have own files

        try:
            records = pinned(book)
        except OwnBookChanged:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        book = book.copy()
        book.records = records
        return book, records
    return book, None
