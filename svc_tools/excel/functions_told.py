"""What a cell tells of an answer besides its rate: field, confidence, warnings, when, from whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.asking import Row, asked
from svc_tools.excel.cell_errors import BadValueError
from svc_tools.excel.fields import Read, field_cell, field_named
from svc_tools.excel.telling import error_of, moment, sentences
from svc_tools.excel.values import OMITTED, error_in, is_empty
from svc_tools.excel.work import done, each_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.excel.asking import Asked
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Cell, Given
    from svc_tools.excel.work import Told, Work

__all__ = ["of_zip", "svc_asof", "svc_confidence", "svc_field", "svc_source", "svc_warnings"]


def of_zip(state: Given, zip_code: Given, as_of: Given, *_: Given) -> Asked:
    """What a state, a ZIP and a day ask."""
    return asked(Row(state, zip_code, as_of=as_of))


def svc_field(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """One field of each answer."""

    def ask(field: Given, *of: Given) -> Asked:
        return error_in("field", field) or of_zip(*of)

    def tell(one: Told, field: Given, *_: Given) -> Cell:
        if not isinstance(field, str) or is_empty(field):
            raise BadValueError("field: expected the name of a field; SVC_FIELDS() shows them.")
        return field_cell(field_named(field), Read(one, desk.who, desk.today))

    return each_cell(names, arguments, ask, tell)


def svc_confidence(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """How sure the service is of each rate."""
    return _read(desk, names, arguments, lambda read: field_cell("confidence", read))


def svc_warnings(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """What to know of each rate, or why there is none."""

    def tell(read: Read) -> Cell:
        return sentences(read.told.outcome, read.warnings, read.reasons)

    return _read(desk, names, arguments, tell)


def svc_asof(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """When each answer was given; without arguments the oldest of the session."""
    if _nothing_given(arguments):
        return done(lambda: moment(desk.oldest))

    def tell(read: Read) -> Cell:
        return moment(read.told.outcome.looked_up_at) or error_of(read.told.outcome)

    return _read(desk, names, arguments, tell)


def svc_source(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """Where each rate comes from; without arguments who answers."""
    if _nothing_given(arguments):
        return done(lambda: desk.who.words)

    def tell(read: Read) -> Cell:
        if read.told.outcome.found is None:
            return error_of(read.told.outcome)
        source, edition = (field_cell(f"lookup_{one}", read) for one in ("source", "edition"))
        return f"{source}, edition {edition}" if edition else source

    return _read(desk, names, arguments, tell)


def _read(
    desk: Desk, names: Sequence[str], arguments: Sequence[object], tell: Callable[[Read], Cell]
) -> Work:
    return each_cell(
        names, arguments, of_zip, lambda one, *_: tell(Read(one, desk.who, desk.today))
    )


def _nothing_given(arguments: Sequence[object]) -> bool:
    """Whether the formula has no arguments.

    Raises:
        BadValueError: it has some, but not both state and ZIP.
    """
    if all(one is OMITTED for one in arguments):
        return True
    if OMITTED in arguments[:2]:
        raise BadValueError("Give state and zip, or no argument at all.")
    return False
