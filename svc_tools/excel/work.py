"""A formula in two steps: which places it asks about, and what it shows once they are answered.

All formulas of a burst take the first step before one of them takes the second, so that their
places are asked for together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from svc_tools.excel.cell_errors import CellError
from svc_tools.excel.values import aligned, shaped
from svc_tools.lookup import Outcome
from svc_tools.places import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from svc_tools.excel.asking import Asked
    from svc_tools.excel.values import Cell, Result
    from svc_tools.places import Place

__all__ = ["Answers", "Told", "Work", "done", "each_cell", "places_of", "told"]

Answers: TypeAlias = "Mapping[Place, Outcome]"


class Told(NamedTuple):
    """What became of the cells of one question.

    Attributes:
        outcome: the outcome; of cells that ask nothing, why.
        question: the question; `None` where the cells ask none.
    """

    outcome: Outcome
    question: Question | None = None


class Work(NamedTuple):
    """A formula that was read.

    Attributes:
        places: what it asks about.
        finish: what it shows, from the outcomes of its places. Raises `CellError`.
    """

    places: Sequence[Place]
    finish: Callable[[Answers], Result]


def done(finish: Callable[[], Result]) -> Work:
    """A formula that asks about no place."""
    return Work((), lambda _: finish())


def places_of(asked: Iterable[Asked]) -> list[Place]:
    """The places of what is a question."""
    return [one.place for one in asked if isinstance(one, Question)]


def told(asked: Asked, answers: Answers) -> Told | CellError | None:
    """What became of one question; an error to pass on, or an empty row, as it is."""
    if isinstance(asked, Question):
        return Told(answers[asked.place], asked)
    return Told(asked) if isinstance(asked, Outcome) else asked


def each_cell(
    names: Sequence[str],
    arguments: Sequence[object],
    ask: Callable[..., Asked],
    tell: Callable[..., Cell],
) -> Work:
    """A formula that gives one cell for each cell of its ranges.

    Args:
        names: its arguments.
        arguments: what they are.
        ask: from the cells to the question.
        tell: from a `Told` and the cells to what the cell shows. May raise `CellError`.
    """
    shape, cells = aligned(names, arguments)
    asked = [ask(*row) for row in cells]

    def finish(answers: Answers) -> Result:
        return shaped(
            shape,
            [_shown(told(one, answers), row, tell) for one, row in zip(asked, cells, strict=True)],
        )

    return Work(places_of(asked), finish)


def _shown(one: Told | CellError | None, row: tuple[Any, ...], tell: Callable[..., Cell]) -> Cell:
    if not isinstance(one, Told):
        return one
    try:
        return tell(one, *row)
    except CellError as error:
        return error
