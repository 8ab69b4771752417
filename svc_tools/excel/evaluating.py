"""Formulas of one burst computed together: their places are asked for in one run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from svc_tools.excel.cell_errors import BadValueError, CellError, NotAvailableError
from svc_tools.excel.functions import COMPUTED
from svc_tools.excel.registry import FUNCTIONS, function
from svc_tools.excel.values import OMITTED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Argument, Result
    from svc_tools.excel.work import Answers, Work

__all__ = ["Call", "evaluate", "run", "unasked"]

_T = TypeVar("_T")
_ARGUMENTS = {
    one.name: (
        tuple(parameter.name for parameter in one.parameters),
        sum(not parameter.optional for parameter in one.parameters),
    )
    for one in FUNCTIONS
}
"""The names of each function's arguments, and how many of them, the first, are needed."""
_log = logging.getLogger(__name__)


class Call(NamedTuple):
    """One formula: the name of its function, and its arguments in the order of the registry.

    Arguments at the end may be missing, which is the same as `OMITTED`.
    """

    name: str
    arguments: tuple[Argument, ...] = ()


def evaluate(desk: Desk, calls: Sequence[Call]) -> list[Result]:
    """What each formula gives: a value, rows of values, or a `CellError`. Raises nothing.

    The places of all of them are asked for in one run, each once.
    """
    works = [_read(desk, call) for call in calls]
    places = dict.fromkeys(
        place for work in works if not isinstance(work, CellError) for place in work.places
    )
    answers = desk.ask(places) if places else {}
    return [
        work if isinstance(work, CellError) else _finished(work, answers, call.name)
        for work, call in zip(works, calls, strict=True)
    ]


def run(desk: Desk, name: str, *arguments: Argument) -> Result:
    """What one formula gives.

    Raises:
        CellError: it has no value.
    """
    (result,) = evaluate(desk, [Call(name, arguments)])
    if isinstance(result, CellError):
        raise result
    return result


def unasked(desk: Desk, call: Call) -> int:
    """For how many places a formula would have to wait; nothing is asked."""
    work = _read(desk, call)
    return 0 if isinstance(work, CellError) else desk.unasked(work.places)


def _read(desk: Desk, call: Call) -> Work | CellError:
    return _guarded(lambda: _works(desk, call), call.name)


def _works(desk: Desk, call: Call) -> Work:
    computed = COMPUTED.get(call.name)
    if computed is None:
        raise BadValueError(f"There is no function {call.name[:40]}.")
    names, needed = _ARGUMENTS[call.name]
    given = tuple(call.arguments)
    if len(given) > len(names):
        raise BadValueError(
            f"{call.name} has {len(names)} arguments at most, not {len(given)}:"
            f" {function(call.name).signature}."
        )
    given += (OMITTED,) * (len(names) - len(given))
    if OMITTED in given[:needed]:
        name = names[given.index(OMITTED)]
        raise BadValueError(f"{name} is left out: {function(call.name).signature}.")
    return computed(desk, names, given)


def _finished(work: Work, answers: Answers, name: str) -> Result:
    return _guarded(lambda: work.finish(answers), name)


def _guarded(compute: Callable[[], _T], name: str) -> _T | CellError:
    try:
        return compute()
    except CellError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a cell shows a sentence, and the log the kind
        _log.error("%s could not be computed: %s", name, type(error).__name__)
        return NotAvailableError(
            f"{name} could not be computed ({type(error).__name__}).", "FAILED"
        )
