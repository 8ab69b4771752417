"""Which column of a frame answers which argument of a lookup.

Where it could be two, it is an error that lists them: a place or a date picked wrongly gives a
rate that looks right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import require_one
from svc_tools.frames.one_value import one_value
from svc_tools.frames.ownership import ours
from svc_tools.frames.usual_names import (
    date_kind,
    dated_levels,
    names_a_place,
    names_shipping,
    place_role,
    preferred,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping
    from datetime import tzinfo

    from svc_tools.places import Grain

__all__ = ["Inputs", "Proposal", "find_inputs", "propose"]

_PLACES = {"zip", "address", "city", "location", "lat"}


@dataclass(frozen=True, slots=True)
class Inputs:
    """What answers each argument: a column's label, or one value for all rows."""

    columns: Mapping[str, Hashable]
    scalars: Mapping[str, object]
    notes: tuple[str, ...]
    """What was decided without being told, in sentences."""
    tz: tzinfo | None = None
    """Where the calendar date of a moment in a time zone is read."""
    grain: Grain = "day"
    """Whether the day itself is asked about, or the first one of its month or quarter."""

    @property
    def dated(self) -> bool:
        """Whether rows carry dates: a row without one is then refused."""
        return "as_of" in self.columns


def find_inputs(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    tz: tzinfo | None = None,
    grain: Grain = "day",
) -> Inputs:
    """Decide what answers each argument.

    An argument is a column label, else a value for all rows; `False` keeps columns out. What is
    not given is found by the usual names ("zip", "zip_code", "postal_code"…). `tz` and `grain` say
    how dates are read.

    Raises:
        ValueError: several columns have usual names for one argument or belong to different
            parties, several look like a date, none names a place, a date column has time zones
            and `tz` is not given, or labels are not unique.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise TypeError(
            "the frame has MultiIndex columns; flatten them first, for instance with"
            " df.columns = ['_'.join(map(str, c)) for c in df.columns]"
        )
    columns: dict[str, Hashable] = {}
    scalars: dict[str, object] = {}
    asked = {role: value for role, value in given.items() if value is not None}
    for role, value in asked.items():
        if _is_label(frame, value):
            columns[role] = value
        elif value is not False:
            scalars[role] = one_value(role, value, frame, tz)
    added = ours(frame)
    free = [label for label in frame.columns if label not in added]
    columns |= _usual([label for label in free if label not in set(columns.values())], asked)
    _check_index(frame, columns.keys() | asked.keys())
    if not _PLACES & (columns.keys() | scalars.keys()):
        there = ", ".join(map(str, frame.columns)) or "none"
        raise ValueError(
            f"no column names a place; the columns are: {there}."
            " Say which: zip=…, or address= and city=, or location=, or lat= and lng="
        )
    note = _date(frame, [label for label in free if label not in set(columns.values())], asked)
    if isinstance(note, _Found):
        columns["as_of"] = note.label
    if scalars.get("as_of") == "today":
        del scalars["as_of"]
    for role, label in columns.items():
        _check_column(frame, role, label, tz)
    midnight = _at_midnight(frame, columns.get("as_of"), tz)
    used = ", ".join(f"{role} from column {label!r}" for role, label in columns.items())
    fixed = ", ".join(f"{role}={value!s} for all rows" for role, value in scalars.items())
    period = ""
    if grain != "day" and (columns.keys() | scalars.keys()) & {"as_of"}:
        period = f"rates as of the first day of each {grain}, as asked"
    said = [
        part for part in (used, fixed, note, period, midnight) if isinstance(part, str) and part
    ]
    return Inputs(columns, scalars, tuple(said), tz, grain)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a lookup would find by the usual names, and what a person has to decide."""

    found: Mapping[str, Hashable]
    """The column that answers each argument without doubt."""
    unclear: Mapping[str, tuple[Hashable, ...]]
    """The columns that could answer an argument; a single one may be another party's."""


def propose(frame: pd.DataFrame) -> Proposal:
    """What `find_inputs` would decide of itself, and where it would ask.

    Raises:
        TypeError: the columns are a MultiIndex.
    """
    added = ours(frame)
    free: list[Hashable] = [label for label in frame.columns if label not in added]
    named: dict[str, list[Hashable]] = {}
    for label in free:
        if (role := place_role(label)) is not None:
            named.setdefault(role[0], []).append(label)
    best = {role: tuple(preferred(labels)) for role, labels in named.items()}
    unclear = {role: labels for role, labels in best.items() if len(labels) > 1}
    try:
        found = _usual(free, dict.fromkeys(unclear, False))
    except ValueError:  # of two parties, perhaps
        found, unclear = {}, best
    taken = set(found.values())
    left = [label for label in free if label not in taken]
    try:
        note = _date(frame, left, {})
    except ValueError:
        known = set(left)
        dated = (label for label, column in frame.items() if date_kind(label, column))
        unclear["as_of"] = tuple(label for label in dated if label in known)
    else:
        found |= {"as_of": note.label} if isinstance(note, _Found) else {}
    return Proposal(found, unclear)


def _usual(free: list[Hashable], asked: Mapping[str, object]) -> dict[str, Hashable]:
    """What the usual names answer: one column each, of one party, coordinates as a pair."""
    named: dict[str, list[Hashable]] = {}
    shipping: dict[Hashable, bool] = {}
    for label in free:
        found = place_role(label)
        if found is not None and found[0] not in asked:
            named.setdefault(found[0], []).append(label)
            shipping[label] = found[1]
    for role, candidates in named.items():
        labels = named[role] = preferred(candidates)
        if len(labels) > 1:
            raise ValueError(
                f"several columns look like {role}: {', '.join(map(repr, labels))};"
                f" say which one with {role}=…, or {role}=False for none"
            )
    known = named.keys() | {role for role, value in asked.items() if value is not False}
    pair = {"lat", "lng"}
    usable = {
        role: labels[0] for role, labels in named.items() if role not in pair or pair <= known
    }
    used = set(usable.values())
    others = [label for label in free if label not in used and names_a_place(label)]
    mixed = bool(others) and len({shipping[label] for label in used}) > 1
    passed_over = any(map(names_shipping, others)) and not all(shipping[label] for label in used)
    if mixed or passed_over:
        listed = ", ".join(f"{role}={label!r}" for role, label in usable.items())
        raise ValueError(
            f"the columns found may be of two parties ({listed}; there are also"
            f" {', '.join(map(repr, others))}): where was it shipped to? Name the columns in the"
            " call, and False for one that is not to be used"
        )
    return usable


@dataclass(frozen=True, slots=True)
class _Found:
    label: Hashable


def _date(frame: pd.DataFrame, free: list[Hashable], asked: Mapping[str, object]) -> _Found | str:
    """The one column that is the date of the sale, or a note that the rates are today's."""
    if "as_of" in asked:
        today = asked["as_of"] is False or _is_text(asked["as_of"], "today")
        return "rates as of today, as asked" if today else ""
    # by place, not by label: several columns may have one label, and none is passed over
    known = set(free)
    of_free = ((label, column) for label, column in frame.items() if label in known)
    kinds = [(label, kind) for label, column in of_free if (kind := date_kind(label, column))]
    levels = dated_levels(frame)
    dated = [label for label, kind in kinds if kind != "period"]
    if not dated and not levels:
        dated = [label for label, _ in kinds]
        if not dated:
            return "no date column: rates as of today"
    if not levels and [kind for _, kind in kinds if kind != "period"] == ["sale"]:
        return _Found(dated[0])
    listed = ", ".join([*map(repr, dated), *levels])
    how = " (make the index a column with df.reset_index())" if levels else ""
    raise ValueError(
        f"which is the date of the sale? It could be {listed}; say so with"
        f" as_of='…'{how}, or as_of='today' for today's rates"
    )


def _check_index(frame: pd.DataFrame, answered: Collection[str]) -> None:
    """Refuse a part of the place that stands in the index: only columns are read.

    Raises:
        ValueError: it names the level and the argument that it would answer.
    """
    for name in frame.index.names:
        found = None if name is None else place_role(name)
        if found is not None and found[0] not in answered:
            raise ValueError(
                f"the index {name!r} names the {found[0]} of the place, and only columns are read;"
                f" make it a column with df.reset_index(), or say {found[0]}=False"
            )


def _is_text(value: object, text: str) -> bool:
    return isinstance(value, str) and value == text


def _is_label(frame: pd.DataFrame, value: object) -> bool:
    try:
        return not isinstance(value, bool) and value in frame.columns
    except TypeError:
        return False


def _at_midnight(frame: pd.DataFrame, label: Hashable | None, tz: tzinfo | None) -> str:
    """A note where all moments of a zone are midnights there: they are dates, perhaps."""
    column = None if label is None or tz is None else frame[label]
    if column is None or _zone(column.dtype) is None or str(_zone(column.dtype)) == str(tz):
        return ""
    moments = column.dropna()
    try:
        dates = not moments.empty and bool((moments.dt.normalize() == moments).all())
    except (ValueError, OverflowError):  # the first day that there is has no midnight
        dates = False
    if not dates:
        return ""
    return (
        f"as_of: all times of column {label!r} are midnight in {_zone(column.dtype)}, so they may"
        f" be dates rather than moments, and in {tz} many are the day before or after; for the"
        f" dates as they stand use df[{label!r}].dt.tz_localize(None)"
    )


def _zone(dtype: object) -> object:
    """The time zone of a column's moments; `None` where they have none."""
    if isinstance(dtype, pd.CategoricalDtype):
        return None
    return getattr(dtype, "tz", None) or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)


def _check_column(frame: pd.DataFrame, role: str, label: Hashable, tz: tzinfo | None) -> None:
    require_one(frame, label, role)
    dtype = frame[label].dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    zone = _zone(dtype)
    if role == "as_of" and zone is not None and tz is None:
        raise ValueError(
            f"as_of: column {label!r} has times in {zone}, so its calendar date depends on the"
            " place; say whose date counts, for instance with tz='America/Chicago', or convert it"
            f" first: df[{label!r}].dt.tz_convert('America/Chicago').dt.date"
        )
