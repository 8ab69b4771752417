"""The state and the place of each row, as it was looked up or found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.added.enriched import NO_LABEL, Enriched, fact, fact_of_all
from svc_tools.frames.lookup.columns import free_labels, is_label
from svc_tools.frames.lookup.results import lookup_of, reading_of
from svc_tools.frames.orders.orders import Orders, may_have_blanks
from svc_tools.frames.values.arrow import Coded, coded, combined, first_column, recoded
from svc_tools.tables.exports import PLACE_ROLES, recognized
from svc_tools.tables.places import Cells, PlaceQuery, where
from svc_tools.tables.roles import place_role
from svc_tools.tables.states import STATES, us_state

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    import pandas as pd


_NAMING = ("zip", "address", "city", "location")
"""The cells that may name the state of a row without one."""


def known_states(given: Iterable[str]) -> frozenset[str]:
    """The codes of states given by code or by name.

    Raises:
        ValueError: one of them is not one of the 50 states and DC.
    """
    names = [given] if isinstance(given, str) else list(given)
    codes = {name: us_state(name) for name in names}
    for name, code in codes.items():
        if code is None:
            raise ValueError(
                f"states: {name!r} is not one of the 50 states and DC; 'TX' or 'Texas'"
            )
    return frozenset(filter(None, codes.values()))


@fact
def states_of(rows: Enriched) -> Coded[str]:
    """The two-letter code of each row's state; empty where no state of the 50 and DC is named.

    That is the state that the rate is for. A row without a result has the state in the column that
    the lookup used (in one of a usual name where that is unknown), else that of its ZIP Code where
    that lies in one state only, else the one that its address or place name ends in. A further row
    of an order is where the order's first row is.
    """
    resolved_states = rows.coded("resolved_state")
    values = (*sorted(STATES), "")
    number = {code: place for place, code in enumerate(values)}
    distinct = resolved_states.values  # noqa: PD011 - no frame's
    known = np.array([number.get(code, -1) for code in distinct], np.int64)
    codes = known[resolved_states.codes]
    codes[resolved_states.codes == distinct.index("")] = -1
    rest = np.flatnonzero(codes < 0)
    if len(rest):
        named = [_naming(rows, role, rest) for role in ("state", *_NAMING)]
        places, cells = combined([resolved_states.at(rest), *named])
        codes[rest] = np.array([number[_state(*cell)] for cell in cells], np.int64)[places]
    return Coded(codes, values)


class Used(NamedTuple):
    """What a lookup used: columns that the frame still has, and values for all rows, by role."""

    columns: Mapping[str, Hashable]
    values: Mapping[str, object]


@fact_of_all
def inputs_of(rows: Enriched) -> Used:
    """What the lookup used.

    Where that is not stored with the frame, as after a merge or in a CSV, the columns are those of
    a recognized export; else there are neither.
    """
    lookup, frame = lookup_of(rows), rows.frame
    stored = rows.stamp.lookups.get(rows.prefix, {}).get("inputs")
    columns: object = None
    values: object = None
    if lookup is not None:
        columns, values = lookup.inputs.columns, lookup.inputs.scalars
    elif isinstance(stored, dict):
        columns, values = stored.get("columns"), stored.get("scalars")
    if columns is None and values is None:
        labels = free_labels(frame)
        export = recognized(labels)
        columns = {} if export is None else export.found(labels)
    named = columns if isinstance(columns, dict) else {}
    return Used(
        {role: label for role, label in named.items() if is_label(frame, label)},
        values if isinstance(values, dict) else {},
    )


@fact_of_all
def _completed(rows: Enriched) -> pd.DataFrame:
    """All rows, with the place of each as the lookup read it.

    An export may have the place of an order in its first row only: the further rows have it, too.
    """
    frame = rows.frame
    columns, values = inputs_of(rows)
    if not columns and not values:
        found = {role: _usual(frame, role) for role in PLACE_ROLES}
        columns = {role: label for role, label in found.items() if label is not None}
    place = {role: label for role, label in columns.items() if role in PLACE_ROLES}
    named = [*frame.columns]
    if not place or any(named.count(label) > 1 for label in place.values()):
        return frame  # of two columns of one name neither is known to be the one
    if not all(may_have_blanks(frame[label]) for label in place.values()):
        return frame
    return Orders(frame, reading_of(rows)).completed(place)


def places_of(rows: Enriched, *, without: Collection[Hashable] = ()) -> Coded[str]:
    """Each row's place as it was looked up, such as `1 Main St, Atlanta, GA 30303`.

    The columns are those that the lookup used, if they are stored with the frame; ZIP and city are
    otherwise those found. Empty where nothing names a place. `without` names columns that are not
    to be quoted.
    """
    every = _completed(rows)
    used = {role: label for role, label in inputs_of(rows).columns.items() if label not in without}
    frame = rows.part_of(
        every[[label for label in every.columns.unique() if label in used.values()]]
    )
    columns = [states_of(rows)]
    names = ("address", "city", "zip", "location", "lat", "lng")
    columns += [coded(frame, used.get(name, NO_LABEL)) for name in names]
    columns += [rows.coded(f"resolved_{name}") for name in ("zip", "city")]
    codes, cells = combined(columns)
    return recoded(codes, map(_label, cells))


def _label(cells: tuple[str, ...]) -> str:
    state, address, city, zip_code, location, lat, lng, resolved_zip, resolved_city = cells
    point = f"{lat}, {lng}" if lat and lng and not address else ""
    town = city or location
    if not town and not address and not point:
        town = resolved_city
    where = f"{state} {resolved_zip or zip_code}".strip()
    return ", ".join(part.strip() for part in (address, point, town, where) if part.strip())


def _naming(rows: Enriched, role: str, positions: np.ndarray) -> Coded[str]:
    """The cells of some rows that name the state or the ZIP Code, as text."""
    columns, values = inputs_of(rows)
    if role in values:
        return Coded(np.zeros(len(positions), np.int64), (str(values[role]),))
    frame = _completed(rows)
    label = columns.get(role) if columns or values else _usual(frame, role)
    column = None if label is None else first_column(frame, label)
    if column is None:
        return Coded(np.zeros(len(positions), np.int64), ("",))
    return coded(column.iloc[positions].to_frame(role), role)


def _usual(frame: pd.DataFrame, role: str) -> Hashable | None:
    """A column of a usual name: that of the destination rather than another."""
    found = [(name, of) for name in frame.columns if (of := place_role(name)) and of[0] == role]
    return max(found, key=lambda pair: pair[1][1])[0] if found else None


def _state(resolved: str, state: str, *cells: str) -> str:
    named = resolved or state
    if named.strip():
        return us_state(named) or ""
    found = where(Cells(**dict(zip(_NAMING, cells, strict=True))))
    return found.place.state if isinstance(found, PlaceQuery) else ""
