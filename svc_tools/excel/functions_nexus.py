"""SVC_NEXUS and SVC_NEXUS_STATUS: the account's registrations, read and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.cell_errors import BadValueError, CellError, NotAvailableError
from svc_tools.excel.values import OMITTED, aligned, error_in, is_empty, rows_of, shaped
from svc_tools.excel.work import Work, done
from svc_tools.nexus.register import FIELDS, NEXUS_TYPES
from svc_tools.places import Elsewhere, state_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Cell, Given, Result
    from svc_tools.nexus.register import Register

__all__ = ["svc_nexus", "svc_nexus_status"]

_EVERY = "leave it out of the formula for {of}"


def svc_nexus(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The registrations, under a heading."""
    (argument,) = arguments
    state: str | None = None
    if argument is not OMITTED:
        ((cell, *more), *others) = rows_of(names[0], argument)
        if more or others:
            raise BadValueError("state: expected one state, not a range.")
        if is_empty(cell):
            raise BadValueError(f"state is an empty cell; {_EVERY.format(of='all states')}.")
        state = _state(cell)

    def finish() -> Result:
        rows: list[list[Cell]] = [
            [text or None for text in one.texts]
            for one in desk.register().records
            if state in {None, one.state}
        ]
        return [[*FIELDS], *rows]

    return done(finish)


def svc_nexus_status(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """Whether there is a registration, for each cell."""
    shape, rows = aligned(names, arguments)
    keys = [_key(*row) for row in rows]

    def finish() -> Result:
        asks = any(isinstance(one, tuple) for one in keys)
        register = desk.register() if asks else None
        return shaped(shape, [_status(one, register) for one in keys])

    return done(finish)


def _key(state: Given, kind: Given) -> tuple[str, str | None] | CellError | None:
    """What a row asks: a state, and a type or any; nothing where its state is empty."""
    try:
        for named, cell in (("state", state), ("type", kind)):
            if (error := error_in(named, cell)) is not None:
                return error
        return None if is_empty(state) else (_state(state), _type(kind))
    except CellError as error:
        return error


def _status(key: tuple[str, str | None] | CellError | None, register: Register | None) -> Cell:
    if register is None or not isinstance(key, tuple):
        return key if isinstance(key, CellError) else None
    state, kind = key
    kinds = {one.nexus_type for one in register.records if one.state == state}
    there = bool(kinds) if kind is None else kind in kinds
    return "registered" if there else "not registered"


def _state(cell: Given) -> str:
    if (error := error_in("state", cell)) is not None:
        raise error
    code = state_code(cell) if isinstance(cell, str) else None
    if isinstance(code, Elsewhere):
        raise NotAvailableError(f"{code.reason}.", "UNSUPPORTED")
    if code is None:
        raise BadValueError(f'state: "{str(cell)[:40]}" is not a US state; expected TX or Texas.')
    return code


def _type(cell: Given) -> str | None:
    if cell is OMITTED:
        return None
    wanted = cell.strip().casefold() if isinstance(cell, str) else ""
    if wanted in NEXUS_TYPES:
        return wanted
    if is_empty(cell):
        raise BadValueError(f"type is an empty cell; {_EVERY.format(of='any type')}.")
    raise BadValueError(f'type: expected {", ".join(NEXUS_TYPES)}, not "{str(cell)[:40]}".')
