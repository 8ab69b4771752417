"""Lookups: the response bodies of the rate book, for the web app and for lookups in process."""

from __future__ import annotations

import time
from datetime import date
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from svc_tools.service.params import LookupParams, read_lookup, read_params
from svc_tools.service.problems import Problem, json_bytes
from svc_tools.service.ratebook import NotResolved, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from svc_tools.service.ratebook import Book


def no_rate_problem(error: NotResolved) -> Problem:
    """The response where there is no rate."""
    return Problem(404, error.code, error.message, extra=error.detail)


LOOKUP_PARAMS = tuple(name for name in LookupParams.model_fields if name != "state")
"""The parameters of the query string of a lookup."""
_CACHED_RESPONSES = 16_384
"""How many simple responses to lookups are cached: about 1 KB each."""


def local_day() -> date:
    """Today by this machine's calendar."""
    now = time.localtime()
    return date(now.tm_year, now.tm_mon, now.tm_mday)


class RateResponses:
    """The responses of the book in use, over HTTP and in this process alike.

    Args:
        today: the date of a lookup without one.
    """

    def __init__(self, today: Callable[[], date] = local_day) -> None:
        self._today = today
        self._current: _BookResponses | None = None

    def look_up(self, state: str, params: Iterable[tuple[str, str]]) -> Callable[[Book], bytes]:
        """The response to a lookup, as a function of the book: its body.

        Args:
            state: the last segment of the path, decoded.
            params: the names and values of its query string, decoded.

        Raises:
            Problem: 400 for what was given, which the function raises, too; 404 where there is no
                rate.
            OwnBookChanged: the function, where files were imported meanwhile.
        """
        given = tuple(read_params(params, *LOOKUP_PARAMS).items())
        day = self._today()
        return lambda book: self.of(book).look_up(state, given, day)

    def of(self, book: Book) -> _BookResponses:
        """The responses of a book, cached while it is in use."""
        current = self._current
        if current is None or current.book is not book:
            current = self._current = _BookResponses(book)
        return current


class _BookResponses:
    """The response bodies of one book: it does not change, so the same query has the same body."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self._cached = lru_cache(_CACHED_RESPONSES)(self._resolve)

    @cached_property
    def freshness(self) -> bytes:
        """The body of `GET /v1/freshness`."""
        return json_bytes(self.book.freshness())

    def look_up(self, state: str, given: tuple[tuple[str, str], ...], day: date) -> bytes:
        """The body of a lookup.

        Args:
            state: the last segment of the path, decoded.
            given: the parameters of its query string, by `read_params`.
            day: today.

        Raises:
            Problem: 400 for what was given, 404 where there is no rate.
            OwnBookChanged: the user's own files changed meanwhile.
        """
        has_mode = any(name == "mode" for name, _ in given)
        return (self._resolve if has_mode else self._cached)(state, given, day)

    def _resolve(self, state: str, given: tuple[tuple[str, str], ...], day: date) -> bytes:
        lookup = read_lookup(state, dict(given))
        try:
            found = resolve(self.book, lookup.query, today=day)
        except NotResolved as error:
            raise no_rate_problem(error) from error
        return json_bytes(found.full() if lookup.full else found.simple())
