"""The places of rows, in words: rows of one place and one reason are cleared together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.frames.coded import Coded, coded, combined
from svc_tools.frames.row_states import inputs_of, states_of_rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["places_of_rows"]

_GIVEN = ("address", "city", "zip", "location", "lat", "lng")


def places_of_rows(frame: pd.DataFrame, *, prefix: str = "") -> Coded:
    """Each row's place as it was asked for, such as `1 Main St, Atlanta, GA 30303`.

    The columns are those that the lookup used, where the frame still says so; what was not given
    is what the answer resolved to. Empty where nothing names a place.
    """
    asked, _ = inputs_of(frame, prefix=prefix)
    columns = [states_of_rows(frame, prefix=prefix)]
    columns += [coded(frame, asked[name]) if name in asked else _empty(frame) for name in _GIVEN]
    columns += [coded(frame, f"{prefix}resolved_{name}") for name in ("zip", "city")]
    codes, cells = combined(columns)
    return Coded(codes, tuple(map(_label, cells)))


def _empty(frame: pd.DataFrame) -> Coded:
    return coded(frame, object())  # a column that no frame has


def _label(cells: tuple[str, ...]) -> str:
    state, address, city, zip_code, location, lat, lng, resolved_zip, resolved_city = cells
    point = f"{lat}, {lng}" if lat and lng and not address else ""
    town = city or location
    if not town and not address and not point:
        town = resolved_city
    where = f"{state} {resolved_zip or zip_code}".strip()
    return ", ".join(part.strip() for part in (address, point, town, where) if part.strip())
