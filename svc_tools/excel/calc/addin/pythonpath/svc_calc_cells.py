# ruff: noqa: INP001, UP006, UP035 - a file of the extension, for Python 3.8 as well
"""What Calc's cells ask and get: values in and out, answers kept for a moment, bursts foreseen.

Calc computes cell after cell and waits for each. So a second question soon after the first begins
a burst: all formulas of the document are read, and what they will ask is asked in one request.
"""

from __future__ import annotations

import json
import struct
import time
from collections import OrderedDict
from datetime import date
from typing import Any, Callable, Iterable, List, NamedTuple, Tuple

_KEPT = 60.0
"""Seconds for which an answer serves identical calls. The server keeps answers until refresh: this
is for a recalculation of many cells, and short enough that a change over there is soon seen."""
_KEPT_ERRORS = 20.0
_MOST = 100_000
"""The most answers that are kept."""
_MOST_CALLS = 50_000
"""The most calls of one request."""
_BURST = 0.5
"""Seconds between two questions within which the second belongs to a burst."""
_SPILLED = 200
"""Rows of what would spill elsewhere: in a range that is larger, Calc repeats a single row, and
shows #N/A below several."""
_MOST_PATIENCE = 1_024
_NOT_AVAILABLE, _NO_VALUE = 32767, 519
"""Calc's numbers of #N/A and #VALUE!."""


Foreseen = Callable[[], Iterable[Tuple[str, List[object]]]]
"""Reads the calls of a document: names, and arguments as Calc hands them over."""


class BadValue(Exception):  # noqa: N818 - what the cell shows is #VALUE!
    """An argument cannot be used; the message says why."""


class Function(NamedTuple):
    """What the add-in has to know of a function; the registry says it."""

    name: str
    zeros: tuple[int, ...]
    """Positions of arguments where a 0 is a number, and no empty cell."""
    volatile: bool
    spills: bool


def functions_of(content: str) -> dict[str, Function]:
    """The functions by name, from `functions.json`."""
    return {
        one["name"]: Function(one["name"], tuple(one["zeros"]), one["volatile"], one["spills"])
        for one in json.loads(content)
    }


def error_number(code: int) -> float:
    """An error inside rows: Calc has it as a number that is none, with the error's number in it."""
    number: float = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 | code))[0]
    return number


_IN_ROWS = {"na": error_number(_NOT_AVAILABLE), "value": error_number(_NO_VALUE)}


def asked(function: Function, arguments: Iterable[object]) -> list[Any]:
    """The arguments as the server reads them: null is left out, "" an empty cell.

    Calc hands a reference to one empty cell over as the number 0, and cells of a range that are
    empty as "". No state, ZIP, day or name is 0; beside an empty one of them an amount of 0 is an
    empty cell as well.
    """
    told: list[Any] = []
    for at, one in enumerate(arguments):
        if isinstance(one, tuple):
            told.append([list(row) for row in one])
        elif one == 0 and at not in function.zeros:
            told.append("")
        else:
            told.append(one)
    while told and told[-1] is None:
        told.pop()
    if len(told) > 1 and "" in told[1:3]:
        told = ["" if at in function.zeros and one == 0 else one for at, one in enumerate(told)]
    return told


class _Kept(NamedTuple):
    result: Any
    until: float
    day: date


class Cells:
    """Answers to cells, from memory or from the server.

    Args:
        functions: by name.
        post: sends `{"calls": ...}` and gives the results; raises what the cell cannot show.
        source: a number that changes when another server answers.
        clock: seconds.
    """

    def __init__(
        self,
        functions: dict[str, Function],
        post: Callable[[list[dict[str, Any]]], list[Any]],
        source: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._functions = functions
        self._post = post
        self._source = source
        self._clock = clock
        self._memory: OrderedDict[str, _Kept] = OrderedDict()
        self._from = 0
        self._missed = float("-inf")
        self._from_1904 = False
        self._patience = 1
        self._waited = 0
        self._read = float("-inf")

    def forget(self) -> None:
        """Ask anew for everything."""
        self._memory.clear()

    def value(
        self,
        name: str,
        arguments: Iterable[object],
        foreseen: Foreseen | None = None,
        *,
        from_1904: bool = False,
    ) -> Any:  # noqa: ANN401 - a cell's value, or rows of them
        """What a cell shows: a value, `None` for #N/A, or rows with errors as Calc has them.

        Args:
            name: of the function.
            arguments: as Calc hands them over.
            foreseen: reads the calls of the document; used when a burst begins.
            from_1904: whether the document counts dates from 1904; the server refuses its dates.

        Raises:
            BadValue: the cell shows #VALUE!.
        """
        function = self._functions[name]
        given = asked(function, arguments)
        self._from_1904 = from_1904
        source = self._source()
        if source != self._from:
            self.forget()
            self._from = source
        call = self._call(name, given)
        key = _key(call)
        found = self._kept(key)
        if found is None:
            of_session = function.volatile and not given
            found = (self._ask_last if of_session else self._ask)(key, call, foreseen)
        return _shown(function, found.result)

    def _call(self, name: str, given: list[Any]) -> dict[str, Any]:
        call: dict[str, Any] = {"f": name, "a": given}
        if self._from_1904:
            call["from_1904"] = True
        return call

    def _kept(self, key: str) -> _Kept | None:
        found = self._memory.get(key)
        if found is None or self._clock() > found.until or found.day != date.today():  # noqa: DTZ011 - the person's day
            return None
        return found

    def _ask(self, key: str, call: dict[str, Any], foreseen: Foreseen | None) -> _Kept:
        """Ask for a cell, and in a burst for what the document will ask next."""
        calls = {key: call}
        if self._clock() - self._missed > _BURST:
            self._patience, self._waited = 1, 0
        elif foreseen is not None:
            self._waited += 1
            if self._waited >= self._patience:
                self._look_ahead(calls, foreseen)
                # where reading the document found nothing, it is read again ever more seldom
                self._patience = 1 if len(calls) > 1 else min(2 * self._patience, _MOST_PATIENCE)
                self._waited = 0
        self._sent(calls)
        self._missed = self._clock()
        return self._memory[key]

    def _ask_last(self, key: str, call: dict[str, Any], foreseen: Foreseen | None) -> _Kept:
        """Ask what is true of the whole session: after all that the document will ask."""
        calls: dict[str, dict[str, Any]] = {}
        if foreseen is not None and self._clock() - self._read > _BURST:
            self._look_ahead(calls, foreseen)
        self._sent({**calls, key: call})
        return self._memory.pop(key)

    def _sent(self, calls: dict[str, dict[str, Any]]) -> None:
        results = self._post(list(calls.values()))
        now, day = self._clock(), date.today()  # noqa: DTZ011 - the person's day
        for one, result in zip(calls, results):  # noqa: B905 - as many, by the contract
            kept = _KEPT_ERRORS if "e" in result else _KEPT
            self._memory.pop(one, None)
            self._memory[one] = _Kept(result, now + kept, day)
        while len(self._memory) > _MOST:
            self._memory.popitem(last=False)

    def _look_ahead(
        self,
        calls: dict[str, dict[str, Any]],
        foreseen: Foreseen,
    ) -> None:
        try:
            for name, arguments in foreseen():
                function = self._functions.get(name)
                if function is None:
                    continue
                given = asked(function, arguments)
                if function.volatile and not given:
                    continue
                call = self._call(name, given)
                key = _key(call)
                if self._kept(key) is None:
                    calls.setdefault(key, call)
                if len(calls) >= _MOST_CALLS:
                    break
        except Exception:  # noqa: BLE001, S110 - cells that were not foreseen ask for themselves
            pass
        self._read = self._clock()


def _key(call: dict[str, Any]) -> str:
    return json.dumps(call, allow_nan=False)


def _shown(function: Function, result: Any) -> Any:  # noqa: ANN401 - JSON
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
