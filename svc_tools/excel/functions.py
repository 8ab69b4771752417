"""What the functions of the registry compute, from plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from svc_tools.excel.asking import Row, asked
from svc_tools.excel.functions_lookup import svc_fields, svc_lookup
from svc_tools.excel.functions_nexus import svc_nexus, svc_nexus_status
from svc_tools.excel.functions_tax import svc_sum, svc_tax
from svc_tools.excel.functions_told import (
    of_zip,
    svc_asof,
    svc_confidence,
    svc_field,
    svc_source,
    svc_warnings,
)
from svc_tools.excel.telling import accepts_partial, rate_cell, units_or_error
from svc_tools.excel.work import each_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc_tools.excel.asking import Asked
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Cell, Given
    from svc_tools.excel.work import Told, Work

__all__ = ["COMPUTED", "Computed"]

Computed: TypeAlias = "Callable[[Desk, Sequence[str], Sequence[object]], Work]"
"""Reads a formula: the desk, the names of its arguments, and what they are. Raises `CellError`."""


def _of_address(
    state: Given, address: Given, city: Given, zip_code: Given, as_of: Given, *_: Given
) -> Asked:
    return asked(Row(state, zip_code, address, city, as_of=as_of), by_address=True)


def _of_place(state: Given, place: Given, as_of: Given, *_: Given) -> Asked:
    return asked(Row(state, place=place, as_of=as_of))


def _of_point(state: Given, lat: Given, lng: Given, as_of: Given, *_: Given) -> Asked:
    return asked(Row(state, lat=lat, lng=lng, as_of=as_of))


def _rate(one: Told, *cells: Given) -> Cell:
    """The last of the cells is `accept`."""
    units = units_or_error(one.outcome, partial=accepts_partial(cells[-1]))
    return rate_cell(units) if isinstance(units, int) else units


def _status(one: Told, *_: Given) -> Cell:
    return one.outcome.status


def _cells(ask: Callable[..., Asked], tell: Callable[..., Cell]) -> Computed:
    return lambda _, names, arguments: each_cell(names, arguments, ask, tell)


COMPUTED: Mapping[str, Computed] = {
    "SVC_RATE": _cells(of_zip, _rate),
    "SVC_RATE_ADDRESS": _cells(_of_address, _rate),
    "SVC_RATE_PLACE": _cells(_of_place, _rate),
    "SVC_RATE_GEO": _cells(_of_point, _rate),
    "SVC_TAX": svc_tax,
    "SVC_SUM": svc_sum,
    "SVC_LOOKUP": svc_lookup,
    "SVC_FIELD": svc_field,
    "SVC_CONFIDENCE": svc_confidence,
    "SVC_WARNINGS": svc_warnings,
    "SVC_STATUS": _cells(of_zip, _status),
    "SVC_FIELDS": svc_fields,
    "SVC_ASOF": svc_asof,
    "SVC_SOURCE": svc_source,
    "SVC_NEXUS": svc_nexus,
    "SVC_NEXUS_STATUS": svc_nexus_status,
}
"""What each function of the registry computes."""
