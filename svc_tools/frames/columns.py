"""Which column of a frame answers which argument of a lookup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import LOOKUP_COLUMNS, TAX_COLUMNS, require_one
from svc_tools.places import state_code

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["ROLES", "Inputs", "find_inputs", "free_columns"]

ROLES = ("state", "zip", "address", "city", "location", "lat", "lng", "as_of")
"""The arguments of a lookup that a column may answer."""

_SHIP = r"(?:ship(?:ping|_?to)?|deliver(?:y|_?to)|destination|dest|customer)?_?"
_USUAL = {
    "state": re.compile(rf"{_SHIP}(?:state(?:_?(?:code|name|abbr(?:eviation)?))?|province)"),
    "zip": re.compile(rf"{_SHIP}(?:zip(?:_?(?:code|5|4|plus4))?|post(?:al)?_?code|postal)"),
    "address": re.compile(
        rf"{_SHIP}(?:street_?address|address(?:_?line)?_?1?|street(?:_?line)?_?1?)"
    ),
    "city": re.compile(rf"{_SHIP}(?:city(?:_?name)?|town)"),
    "lat": re.compile(rf"{_SHIP}lat(?:itude)?"),
    "lng": re.compile(rf"{_SHIP}(?:lng|lon|long|longitude)"),
}
_DATE_NAME = re.compile(r"(?:.*_)?(?:date|day|as_?of|sold_(?:at|on)|ordered_(?:at|on))(?:_utc)?")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What answers each argument: a column's label, or one value for all rows."""

    columns: Mapping[str, Hashable]
    scalars: Mapping[str, object]
    notes: tuple[str, ...]
    """What was decided without being told, in sentences."""

    @property
    def dated(self) -> bool:
        """Whether rows carry dates: a row without one is then refused."""
        return "as_of" in self.columns


def find_inputs(frame: pd.DataFrame, given: Mapping[str, object], *, prefix: str = "") -> Inputs:
    """Decide what answers each argument.

    An argument is a column label, else a value for all rows; `False` keeps a column out. What is
    not given is found by the usual names ("zip", "zip_code", "postal_code"…).

    Raises:
        ValueError: several columns have usual names for one argument, or several look like the
            date; a date column has time zones; labels are not unique.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise TypeError(
            "the frame has MultiIndex columns; flatten them first, for instance with"
            " df.columns = ['_'.join(map(str, c)) for c in df.columns]"
        )
    columns: dict[str, Hashable] = {}
    scalars: dict[str, object] = {}
    for role in ROLES:
        value = given.get(role)
        if value is None or value is False:
            continue
        if _is_label(frame, value):
            columns[role] = value
        else:
            scalars[role] = _scalar(role, value, frame)
    notes = _find_usual(frame, given, columns, scalars, prefix)
    notes += _find_date(frame, given, columns, scalars, prefix)
    for role, label in columns.items():
        _check_column(frame, role, label)
    used = ", ".join(f"{role} from column {label!r}" for role, label in columns.items())
    fixed = ", ".join(f"{role}={value!r} for all rows" for role, value in scalars.items())
    said = "; ".join(part for part in (used, fixed) if part)
    return Inputs(columns, scalars, (*([said] if said else []), *notes))


def _find_usual(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    columns: dict[str, Hashable],
    scalars: Mapping[str, object],
    prefix: str,
) -> list[str]:
    """Fill in what the usual names answer; coordinates only as a pair."""
    taken = set(columns.values())
    found: dict[str, Hashable] = {}
    for role, usual in _USUAL.items():
        if role in columns or role in scalars or given.get(role) is False:
            continue
        named = [
            label
            for label in _own_free(frame, prefix)
            if label not in taken and usual.fullmatch(_plain(label))
        ]
        if len(named) > 1:
            raise ValueError(
                f"several columns look like {role}: {', '.join(map(repr, named))};"
                f" say which one with {role}=…, or {role}=False for none"
            )
        if named:
            found[role] = named[0]
    pair = {"lat", "lng"}
    known = found.keys() | columns.keys() | scalars.keys()
    if pair & found.keys() and not pair <= known:
        for role in pair:
            found.pop(role, None)
    columns.update(found)
    return []


def _find_date(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    columns: dict[str, Hashable],
    scalars: dict[str, object],
    prefix: str,
) -> list[str]:
    """Take the one obvious date column, or say that the rates are today's."""
    if "as_of" in columns:
        return []
    if "as_of" in scalars:
        if scalars["as_of"] == "today":
            del scalars["as_of"]
            return ["rates as of today, as asked"]
        return []
    taken = set(columns.values())
    dates = [
        label
        for label in _own_free(frame, prefix)
        if label not in taken and (_is_date(frame[label]) or _DATE_NAME.fullmatch(_plain(label)))
    ]
    if given.get("as_of") is not False:
        if len(dates) > 1:
            raise ValueError(
                f"several columns could be the date of the sale: {', '.join(map(repr, dates))};"
                " say which one with as_of='…', or as_of='today' for today's rates"
            )
        if dates:
            columns["as_of"] = dates[0]
            return []
    return ["no date column: rates as of today"]


def _is_label(frame: pd.DataFrame, value: object) -> bool:
    try:
        return value in frame.columns
    except TypeError:
        return False


def _scalar(role: str, value: object, frame: pd.DataFrame) -> object:
    if isinstance(value, pd.Series | pd.Index) or hasattr(value, "__array__"):
        raise TypeError(f"{role}: expected a column's name or one value, not a whole column")
    there = ", ".join(map(str, frame.columns[:12]))
    if role == "state" and (not isinstance(value, str) or state_code(value) is None):
        raise ValueError(f"state: {value!r} is neither a column ({there}) nor a state")
    if role == "zip" and not any(character.isdigit() for character in str(value)):
        raise ValueError(f"zip: {value!r} is neither a column ({there}) nor a ZIP")
    if role == "as_of":
        return _scalar_date(value, there)
    if role in {"lat", "lng"} and (
        isinstance(value, str | bool) or not isinstance(value, int | float)
    ):
        raise ValueError(f"{role}: {value!r} is neither a column ({there}) nor degrees")
    return value


def _scalar_date(value: object, there: str) -> object:
    expected = "a column's name, a date such as '2026-05-01', or 'today'"
    if value == "today":
        return value
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        raise TypeError(f"as_of: expected {expected}, not {type(value).__name__}")
    try:
        return datetime.fromisoformat(value).date()
    except ValueError:
        raise ValueError(f"as_of: {value!r} is not {expected}; the columns: {there}") from None


def _check_column(frame: pd.DataFrame, role: str, label: Hashable) -> None:
    require_one(frame, label, role)
    dtype = frame[label].dtype
    zone = getattr(dtype, "tz", None) or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)
    if role == "as_of" and zone is not None:
        raise ValueError(
            f"as_of: column {label!r} has times in {zone}, so its calendar date depends on the"
            f" place; convert it first: df[{label!r}].dt.tz_convert('America/Chicago').dt.date"
        )


def _is_date(column: object) -> bool:
    if not isinstance(column, pd.Series):
        return False
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return True
    return str(column.dtype).startswith(("date32", "date64", "timestamp"))


def _plain(label: Hashable) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(label))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _own_free(frame: pd.DataFrame, prefix: str) -> list[Hashable]:
    """The labels that an earlier run did not add."""
    return [label for label in frame.columns if label not in set(ours(frame, prefix))]


def ours(frame: pd.DataFrame, prefix: str) -> list[str]:
    """The columns that an earlier lookup with this prefix added, by their full set of names."""
    names = [prefix + name for name in LOOKUP_COLUMNS]
    if not {prefix + "lookup_status", prefix + "lookup_source"} <= set(frame.columns):
        return []
    taxed = [prefix + name for name in TAX_COLUMNS]
    added = names + (taxed if set(taxed) <= set(frame.columns) else [])
    return [name for name in added if name in frame.columns]


def free_columns(frame: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """The frame without an earlier lookup's columns, ready for new ones.

    Raises:
        ValueError: a column that is not ours has one of the names.
    """
    rest = frame.drop(columns=ours(frame, prefix))
    taken = [prefix + name for name in LOOKUP_COLUMNS if prefix + name in rest.columns]
    if taken:
        raise ValueError(
            f"the frame already has columns that a lookup adds: {', '.join(map(repr, taken))};"
            " rename them, or choose a prefix, for instance prefix='svc_'"
        )
    return rest
