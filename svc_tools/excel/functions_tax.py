"""SVC_TAX and SVC_SUM: money, exact to the cent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.excel.asking import Row, asked
from svc_tools.excel.cell_errors import BadValueError, CellError
from svc_tools.excel.money import cents_of, dollars_cell, exact_sum
from svc_tools.excel.telling import accepts_partial, units_or_error
from svc_tools.excel.values import aligned, error_in, is_empty, rows_of, shaped
from svc_tools.excel.work import Told, Work, done, places_of, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.asking import Asked
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Cell, Given, Result
    from svc_tools.excel.work import Answers
    from svc_tools.frames.taxes.rounding import Rounding

__all__ = ["svc_sum", "svc_tax"]


def svc_sum(_: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The exact sum of a range."""
    return done(lambda: exact_sum(rows_of(names[0], arguments[0])))


def svc_tax(_: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The tax on amounts: all cells of a range are rounded at once."""
    shape, rows = aligned(names, arguments)
    lines = [_line(*row) for row in rows]

    def finish(answers: Answers) -> Result:
        shown: list[Cell] = [_untaxed(one, answers) for one in lines]
        taxed: dict[Rounding, list[tuple[int, int, int]]] = {}
        for at, line in enumerate(lines):
            units = shown[at]
            if isinstance(line, _Line) and isinstance(units, int):
                taxed.setdefault(line.rounding, []).append((at, line.cents, units))
        for rounding, factors in taxed.items():
            for (at, _, _), cents in zip(factors, _rounded(factors, rounding), strict=True):
                shown[at] = dollars_cell(cents)
        return shaped(shape, shown)

    return Work(places_of(one.asked for one in lines if isinstance(one, _Line)), finish)


@dataclass(frozen=True, slots=True)
class _Line:
    asked: Asked
    cents: int
    rounding: Rounding
    partial: bool


def _line(amount: Given, *others: Given) -> _Line | CellError | None:
    """A row as it was read; why it cannot be, or nothing where it has no amount."""
    state, zip_code, as_of, rounding, accept = others
    if (error := error_in("amount", amount)) is not None:
        return error
    found = asked(Row(state, zip_code, as_of=as_of))
    if isinstance(found, CellError):
        return found
    if is_empty(amount):
        return None
    try:
        if found is None:
            raise BadValueError("zip: there is an amount and no ZIP Code, so no tax can be said.")
        return _Line(found, cents_of(amount), _rounding(rounding), accepts_partial(accept))
    except CellError as error:
        return error


def _untaxed(line: _Line | CellError | None, answers: Answers) -> Cell:
    """What a line shows that has no rate; else the rate in units of 10^-5, a whole number."""
    if not isinstance(line, _Line):
        return line
    one = told(line.asked, answers)
    return units_or_error(one.outcome, partial=line.partial) if isinstance(one, Told) else one


def _rounding(cell: Given) -> Rounding:
    if is_empty(cell):
        return "half_up"
    if (error := error_in("rounding", cell)) is not None:
        raise error
    from svc_tools.frames.taxes.rounding import ROUNDINGS  # noqa: PLC0415 - loads pandas

    wanted = cell.strip().casefold() if isinstance(cell, str) else None
    for one in ROUNDINGS:
        if one == wanted:
            return one  # type: ignore[return-value] # one of its words
    raise BadValueError(f"rounding: expected {', '.join(ROUNDINGS)}, not {str(cell)[:40]}.")


def _rounded(factors: Sequence[tuple[int, int, int]], rounding: Rounding) -> list[int]:
    """Tax in cents, by the one home of rounding."""
    import numpy as np  # noqa: PLC0415 - few formulas need it

    from svc_tools.frames.taxes.rounding import rounded_tax  # noqa: PLC0415 - loads pandas

    _, cents, units = zip(*factors, strict=True)
    tax = rounded_tax(np.array(cents, np.int64), np.array(units, np.int64), rounding)
    return [int(one) for one in tax]
