"""From cells to the question that they ask, or why they ask none.

ZIP Codes as spreadsheets mangle them are `places.zips`' matter and days `dates`'; what is an empty
row, an error to pass on, and what is no address is decided here.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from svc_tools.excel.cell_errors import BadValueError, NotAvailableError
from svc_tools.excel.dates import day_in
from svc_tools.excel.values import OMITTED, error_in, is_empty
from svc_tools.lookup import Outcome, refused
from svc_tools.places import Cells, Question, Refusal, on_day, where

if TYPE_CHECKING:
    from svc_tools.excel.values import Given

__all__ = ["Asked", "Row", "asked"]

Asked: TypeAlias = Question | Outcome | NotAvailableError | None
"""A question, or the outcome of cells that ask none, or an error cell's error, or an empty row."""

_NAMES = ("state", "zip", "address", "city", "place", "lat", "lng")
_UNFIT_ADDRESS = (
    'address: "{address}" has {count} characters, which is no address in one line; give street and'
    " city apart, or ask for the ZIP Code with SVC_RATE."
)
_NO_ADDRESS = (
    "address: the cell is empty; SVC_RATE answers for a ZIP Code alone, SVC_RATE_PLACE for a city."
)
_SHOWN = 40


class Row(NamedTuple):
    """The cells of one question; what its function does not ask for is empty.

    `as_of` left out means today, which an empty cell does not.
    """

    state: Given = None
    zip: Given = None
    address: Given = None
    city: Given = None
    place: Given = None
    lat: Given = None
    lng: Given = None
    as_of: Given = OMITTED


def asked(given: Row, *, by_address: bool = False) -> Asked:
    """What the cells ask.

    An error in one of them is passed on. Cells that name no place (a state alone is none) ask
    nothing, whatever the others hold.

    Args:
        given: the cells.
        by_address: the address must decide: a rate of the ZIP in its stead would look right.
    """
    found = _asked(*given, by_address)
    return error_in(*found) if isinstance(found, tuple) else found


# typed: TRUE, 1 and 1.0 are equal, and not the same
@lru_cache(maxsize=65_536, typed=True)
def _asked(*given: Given) -> Question | Outcome | tuple[str, Given] | None:
    """The same; of an error its name and its cell, for an exception is not to be kept."""
    *cells, as_of, by_address = given
    for named, cell in zip((*_NAMES, "as_of"), given, strict=False):
        if error_in(named, cell) is not None:
            return named, cell
    if all(map(is_empty, cells[1:])):
        return None
    try:
        state, zip_code, address, city, place, lat, lng = map(_plain, _NAMES, cells)
        if by_address and address is None:
            raise BadValueError(_NO_ADDRESS)  # noqa: TRY301 - one way out for all
        found = where(Cells(state, zip_code, address, city, place, lat, lng))
        if isinstance(found, Refusal):
            return refused(Refusal(found.status, found.reason.replace("location:", "place:", 1)))
        if by_address and found.place.mode != "address":
            raise BadValueError(_unfit(str(address)))  # noqa: TRY301 - the same
        return on_day(found, None if as_of is OMITTED else day_in(as_of))
    except BadValueError as error:
        return Outcome("invalid", error.message)


def _unfit(address: str) -> str:
    return _UNFIT_ADDRESS.format(address=address[:_SHOWN], count=len(address))


def _plain(named: str, cell: Given) -> str | float | None:
    """A cell as a text or a number; a whole number that should be a text as its digits."""
    if is_empty(cell):
        return None
    if isinstance(cell, bool | date):
        shown = str(cell).upper() if isinstance(cell, bool) else f"the date {cell}"
        raise BadValueError(f"{named}: the cell holds {shown}, which is none.")
    if isinstance(cell, float) and cell.is_integer() and named not in {"lat", "lng"}:
        return str(int(cell))
    return cell if isinstance(cell, str | int | float) else None
