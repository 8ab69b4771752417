# ruff: noqa: INP001, UP006, UP035 - a file of the extension, for Python 3.8 as well
"""Values between Calc's cells and the local server, results cached for a moment, and batches.

Calc computes cell after cell and waits for each. So the second request soon after the first begins
a burst: all formulas of the document are read, and their calls are sent in one request.
"""

from __future__ import annotations

import json
import struct
import time
from contextlib import suppress
from datetime import date
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

from svc_formulas import Patience

_CACHED = 60.0
"""Seconds for which a result serves identical calls: long enough for a recalculation of many cells,
and short enough that a change on the server, which caches until a refresh, is soon shown."""
_CACHED_ERRORS = 20.0
_MOST = 100_000
"""The most cached results."""
_MOST_CALLS = 50_000
"""The most calls of one request."""
_SPILLED = 200
"""Rows of what would spill elsewhere: in a range that is larger, Calc repeats a single row, and
shows #N/A below several."""
_IN_ROWS = {
    kind: struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 | number))[0]
    for kind, number in (("na", 32767), ("value", 519))
}
"""#N/A and #VALUE! inside rows: Calc has an error there as a NaN with the error's number in it."""

Call = Dict[str, Any]
"""A call as the server reads it."""


class BadValue(Exception):  # noqa: N818 - the cell shows #VALUE!
    """An argument cannot be used; the message says why."""


class Function(NamedTuple):
    """A function, as the registry describes it."""

    name: str
    place: int
    """How many of its arguments, the first, name a place on a day."""
    zeros: list[int]
    """Positions of arguments where a 0 is a number, and not an empty cell."""
    volatile: bool
    spills: bool

    def call(self, arguments: Iterable[object], *, from_1904: str = "") -> Call:
        """A call as the server reads it: null is left out, "" an empty cell.

        Calc passes a reference to one empty cell as the number 0, and empty cells of a range as "".
        No state, ZIP, day or name is 0. A truth value, which Calc passes as 1 or 0, stays one where
        it was read from the document.

        Args:
            arguments: as Calc passes them.
            from_1904: the document's name if it counts dates from 1904; the server refuses them.
        """
        given: list[Any] = []
        for at, one in enumerate(arguments):
            if isinstance(one, (tuple, list)):
                given.append(_as_number(one))
            else:
                is_empty = one == 0 and one is not False and at not in self.zeros
                given.append("" if is_empty else one)
        while given and given[-1] is None:
            given.pop()
        call = {"f": self.name, "a": given}
        return {**call, "from_1904": from_1904} if from_1904 else call


def functions_of(content: str) -> dict[str, Function]:
    """The functions by name, from `functions.json`."""
    return {one["name"]: Function(**one) for one in json.loads(content)}


class Cells:
    """Results of formulas, from the cache or from the server.

    Args:
        functions: by name.
        server: a `svc_calc_server.Server`.
        clock: seconds.

    Attributes:
        problem: why the last cells got no result, for the menu: a cell shows one word.
    """

    def __init__(
        self,
        functions: dict[str, Function],
        server: Any,  # noqa: ANN401 - a module of the extension that this one does not load
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.problem = ""
        self._functions = functions
        self._server = server
        self._clock = clock
        self._cache: dict[str, tuple[Any, float, str]] = {}
        self._cached_from: object = None
        self._patience = Patience(eager=False, clock=clock)
        self._session_patience = Patience(eager=True, clock=clock)

    def forget(self) -> None:
        """Request everything again."""
        self._cache.clear()

    def value(self, call: Call, ahead: Callable[[], Iterable[Call]], since: str = "") -> Any:  # noqa: ANN401 - or rows
        """What a cell shows: a value, `None` for #N/A, or rows with errors as Calc has them.

        Args:
            call: of a function, see `Function.call`.
            ahead: reads the calls of the document; used when a burst begins.
            since: when the document was refreshed (UTC, as the server gives it): nothing older is
                used.

        Raises:
            BadValue: the cell shows #VALUE!.
        """
        source = (self._server.find(), date.today())  # noqa: DTZ011 - the user's day
        if source != self._cached_from:
            self.forget()
            self._cached_from = source
        key = key_of(call)
        if not self._is_known(key, since):
            self._request(key, call, ahead, since)
        return shown(self._functions[call["f"]], self._cache[key][0])

    def _is_of_session(self, call: Call) -> bool:
        return self._functions[call["f"]].volatile and not call["a"]

    def _is_known(self, key: str, since: str) -> bool:
        if key not in self._cache:
            return False
        _, until, requested_since = self._cache[key]
        return self._clock() < until and since <= requested_since

    def _request(
        self, key: str, call: Call, ahead: Callable[[], Iterable[Call]], since: str
    ) -> None:
        """Request a call; in a burst with the other calls of the document that are not cached.

        What concerns the whole session goes last, after all that the document requests, and is not
        cached.
        """
        of_session = self._is_of_session(call)
        patience = self._session_patience if of_session else self._patience
        calls = {key: call}
        if patience.is_due():
            with suppress(Exception):  # the other cells request their own results
                for one in ahead():
                    named = key_of(one)
                    if not self._is_of_session(one) and not self._is_known(named, since):
                        calls[named] = one
                    if len(calls) >= _MOST_CALLS:
                        break
            patience.read(helped=len(calls) > 1)
        if of_session:
            calls[key] = calls.pop(key)
        content = {"calls": list(calls.values()), "since": since or None}
        results = self._server.request("POST", "/excel/batch", content)["results"]
        self.problem = ""
        if len(self._cache) > _MOST:
            self.forget()
        now = self._clock()
        for named, result in zip(calls, results):  # noqa: B905 - as many, by the contract
            valid = _CACHED_ERRORS if "e" in result else _CACHED
            until = now + (0 if of_session and named == key else valid)
            self._cache[named] = result, until, since
        patience.missed()


def truths_in(calls: Iterable[Tuple[Function, List[Any]]], from_1904: str) -> Dict[str, Call]:
    """The calls with truth values, by the keys of what Calc passes for them (`passed_key`).

    Where another call is passed in the same way without one (an empty cell is 0, as FALSE is), the
    two cannot be told apart: that key is left out.
    """
    found: Dict[str, Call] = {}
    others = set()
    for function, arguments in calls:
        key = passed_key(function.name, arguments)
        if any(isinstance(one, bool) for one in arguments):
            found[key] = function.call(arguments, from_1904=from_1904)
        else:
            others.add(key)
    return {key: call for key, call in found.items() if key not in others}


def passed_key(name: str, arguments: Iterable[object]) -> str:
    """What the calls for which Calc passes the same have in common: truth values as 1 and 0."""
    passed = [_as_number(one) for one in arguments]
    while passed and passed[-1] is None:
        passed.pop()
    return json.dumps([name, *passed])


def _as_number(value: Any) -> Any:  # noqa: ANN401 - a scalar, or rows of them
    if isinstance(value, (tuple, list)):
        return [list(map(_as_number, row)) for row in value]
    return float(value) if isinstance(value, bool) else value


def key_of(call: Call) -> str:
    """What identical calls have in common."""
    return json.dumps(call, allow_nan=False)


def shown(function: Function, result: Any) -> Any:  # noqa: ANN401 - JSON
    """A result as Calc takes it.

    Raises:
        BadValue: the cell shows #VALUE!.
    """
    if "e" in result:
        if result["e"] == "na":
            return None
        raise BadValue(result.get("m", ""))
    value = result["v"]
    if not isinstance(value, list):
        return _cell(value)
    rows = tuple(tuple(_cell(one) for one in row) for row in value)
    if len(rows) == len(rows[0]) == 1 and not isinstance(value[0][0], dict):
        return rows[0][0]  # Calc compares a text with it only where it is no row
    if function.spills:
        rows += (("",) * len(rows[0]),) * (_SPILLED - len(rows))
    return rows


def _cell(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return _IN_ROWS.get(value.get("e", ""), _IN_ROWS["value"])
    if isinstance(value, bool):
        return float(value)
    return "" if value is None else value
