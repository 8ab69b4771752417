"""Desks and formulas for the tests of what cells show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.values import CellError

NOON = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, at=NOON):
        self.at = at

    def __call__(self):
        return self.at

    def move(self, **by):
        self.at += timedelta(**by)


def desk_of(client, **options):
    """A desk that keeps nothing on the disk, unless it is told to."""
    return Desk(client, **{"cache": False} | options)


def shown(desk, name, *arguments):
    """What a cell shows, errors as their text ("#INVALID zip: ..."), also inside of rows."""
    (result,) = evaluate(desk, [Call(name, arguments)])
    return as_shown(result)


def as_shown(result):
    if isinstance(result, list):
        return [[as_shown(cell) for cell in row] for row in result]
    return result.text if isinstance(result, CellError) else result


def cells_of(result):
    """The cells of a result, of rows one after the other."""
    return [cell for row in result for cell in row] if isinstance(result, list) else [result]


def zips_asked(faults):
    """The ZIPs that were asked for over the wire, in the order of the requests."""
    return [one.target.partition("zip=")[2][:5] for one in faults.seen]
