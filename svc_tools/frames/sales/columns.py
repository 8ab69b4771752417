"""Which column of a table of sales says what: as it is named, else by the usual names.

Where it could be two, it is an error that lists them: sales added up from the wrong column look
right.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.distinct_values import is_label
from svc_tools.frames.enriched import require_one
from svc_tools.frames.one_value import one_value
from svc_tools.frames.ownership import ours
from svc_tools.frames.usual_names import date_kind, place_role, preferred

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ROLES", "SalesColumns", "find_sales_columns"]

ROLES = ("amount", "date", "state", "channel", "retail", "taxable", "transaction")
_ORDER = r"(?:order|invoice|sale|transaction|receipt|document)"
_USUAL = {
    "amount": re.compile(
        r"(?:amount|sales?|sales?_amount|(?:order|line|item|invoice|net|gross)_amount"
        r"|gross(?:_sales?)?|net_sales?|sub_?total|revenue|extended_price)(?:_usd)?"
    ),
    "channel": re.compile(r"(?:sales?_)?channel"),
    "retail": re.compile(r"retail(?:_(?:sales?|amount))?"),
    "taxable": re.compile(r"taxable(?:_(?:sales?|amount))?"),
    "transaction": re.compile(
        rf"{_ORDER}(?:_?(?:id|no|nr|number|num|key))|{_ORDER}_name|txn_id|order"
    ),
}
_NEEDED = ("amount", "date", "state")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class SalesColumns:
    """What says each thing of a sale.

    Attributes:
        columns: labels of columns, by role.
        values: one value for all rows, by role.
        notes: what was decided without being told, in sentences.
    """

    columns: Mapping[str, Hashable]
    values: Mapping[str, object]
    notes: tuple[str, ...]


def find_sales_columns(frame: pd.DataFrame, given: Mapping[str, object]) -> SalesColumns:
    """Decide what says the amount, the date, the state and what else there is.

    Args:
        frame: the sales, or the first rows of them.
        given: by role a column's label, or for state and channel one value for all rows; `None`
            looks for a column of a usual name, `False` for none.

    Raises:
        ValueError: a column is not there, several could be meant, or what is needed is not found.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise TypeError(
            "the frame has MultiIndex columns; flatten them first, for instance with"
            " df.columns = ['_'.join(map(str, c)) for c in df.columns]"
        )
    columns, values = _as_named(frame, given)
    open_roles = tuple(role for role in ROLES if given.get(role) is None)
    added = ours(frame)
    free: list[Hashable] = [
        label for label in frame.columns if label not in added and label not in columns.values()
    ]
    columns |= _found(frame, free, open_roles)
    if "state" in open_roles and "state" not in columns and "resolved_state" in added:
        columns["state"] = "resolved_state"  # that of our own lookup
    for role in _NEEDED:
        if role not in columns and role not in values:
            raise ValueError(
                f"{role}: no column of a usual name says it; say which with {role}='…'"
                f" (the columns: {_there(frame)})"
            )
    for role, label in columns.items():
        require_one(frame, label, role)
    return SalesColumns(columns, values, _notes(columns, values))


def _as_named(
    frame: pd.DataFrame, given: Mapping[str, object]
) -> tuple[dict[str, Hashable], dict[str, object]]:
    """The columns and the values for all rows that were named."""
    columns: dict[str, Hashable] = {}
    values: dict[str, object] = {}
    for role in ROLES:
        value = given.get(role)
        if value is None or value is False:
            continue
        if isinstance(value, Hashable) and is_label(frame, value):
            columns[role] = value
        elif role == "state":
            values[role] = one_value(role, value, frame)
        elif role == "channel":
            values[role] = value
        else:
            raise ValueError(f"{role}: there is no column {value!r}; the columns: {_there(frame)}")
    return columns, values


def _found(frame: pd.DataFrame, free: list[Hashable], roles: Sequence[str]) -> dict[str, Hashable]:
    """The columns of usual names: one each."""
    found: dict[str, Hashable] = {}
    for role in roles:
        if role == "date":
            candidates = _dates(frame, free)
        elif role == "state":
            named = [label for label in free if (place_role(label) or ("",))[0] == role]
            candidates = preferred(named)
        else:
            candidates = [label for label in free if _USUAL[role].fullmatch(_plain(label))]
        if len(candidates) > 1 and role == "transaction":
            continue  # then rows are counted, and that is said
        if len(candidates) > 1:
            raise ValueError(
                f"{role}: several columns could be meant: {', '.join(map(repr, candidates))};"
                f" say which with {role}='…'"
                + ("" if role in _NEEDED else f", or {role}=False for none")
            )
        if candidates:
            found[role] = candidates[0]
    return found


def _dates(frame: pd.DataFrame, free: list[Hashable]) -> list[Hashable]:
    kinds = {
        label: date_kind(label, column)
        for label, column in frame.items()
        if label in free and isinstance(column, pd.Series)
    }
    sales = [label for label, kind in kinds.items() if kind == "sale"]
    return sales or [label for label, kind in kinds.items() if kind == "other"]


def _notes(columns: Mapping[str, Hashable], values: Mapping[str, object]) -> tuple[str, ...]:
    used = [f"{role} from column {label!r}" for role, label in columns.items()]
    used += [f"{role}={value!s} for all rows" for role, value in values.items()]
    notes = [", ".join(used)]
    if "channel" not in columns and "channel" not in values:
        notes.append(
            "no column says the channel: all sales are taken as direct ones; name the column of"
            " channels if there is one"
        )
    if "transaction" not in columns:
        notes.append(
            "each row counts as one transaction; name the column of order numbers if there is one"
        )
    return tuple(notes)


def _plain(label: Hashable) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(label))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _there(frame: pd.DataFrame) -> str:
    labels = [str(label) for label in frame.columns]
    more = ", …" if len(labels) > _SHOWN else ""
    return (", ".join(labels[:_SHOWN]) or "none") + more
