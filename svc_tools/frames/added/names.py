"""The columns that `df.svc.lookup()` and `df.svc.tax()` add to a frame: which ones they are.

Each name has a prefix of the user's choice. `columns_of_lookups` are the added ones: a
lookup replaces those of an earlier one, and never overwrites a column of the user's.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.api.types import infer_dtype, is_object_dtype

from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.values.odd_cells import Shown
from svc_tools.lookup.columns import (
    ADDED_COLUMNS,
    DETAIL_COLUMNS,
    FORMER_ORDER,
    LOOKED_UP,
    LOOKUP_COLUMNS,
    OF_EVERY_LOOKUP,
    OF_EVERY_SHORT_LOOKUP,
    OF_EVERY_TAX,
    RANGE_COLUMNS,
    SHORT_COLUMNS,
    TAX_COLUMNS,
    TAXES,
    is_short,
)
from svc_tools.tables.roles import ColumnBetween, ColumnTaken

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence


def require_columns(frame: pd.DataFrame, names: tuple[Hashable, ...], remedy: str) -> None:
    """Refuse a frame that lacks one of the columns `names`; `remedy` says what to do.

    Raises:
        ValueError: columns are missing; it names them, the columns there are, and the remedy.
    """
    absent = [name for name in names if name not in frame.columns]
    if absent:
        if (again := _left_out(frame, absent)) is not None:
            remedy = (
                f"its lookup added some columns only: look up again with {again}, or"
                " without columns="
            )
        elif (other := _other_prefix(frame, absent)) is not None:
            remedy = (
                f"the columns that its lookup added begin with {other!r}: use prefix={other!r}"
                if other
                else "the columns that its lookup added have no prefix: leave prefix= out"
            )
        there = ", ".join(str(name) for name in frame.columns[:12]) or "none"
        more = ", …" if len(frame.columns) > 12 else ""  # noqa: PLR2004  # as many as one reads
        raise ValueError(
            f"there is no column {', '.join(map(repr, absent))} (there are: {there}{more});"
            f" {remedy}"
        )


def _left_out(frame: pd.DataFrame, absent: list[Hashable]) -> str | None:
    """What to look up again with where all missing columns are those of a lookup of some."""
    names: list[str] = []
    short = False
    for label in map(str, absent):
        name = next((name for name in LOOKUP_COLUMNS if label.endswith(name)), "")
        prefix = label.removesuffix(name)
        if not name or f"{prefix}lookup_status" not in frame.columns:
            return None
        names.append(name)
        short = is_short(names_of_lookup(frame, prefix))
    return f"columns={['short', *names]}" if short else f"{names} in columns="


def _other_prefix(frame: pd.DataFrame, absent: list[Hashable]) -> str | None:
    """The prefix of the columns of a lookup, where a status of another prefix is missing."""
    ending = "lookup_status"
    if not any(str(name).endswith(ending) for name in absent):
        return None
    names = (str(name) for name in frame.columns)
    return next((name.removesuffix(ending) for name in names if name.endswith(ending)), None)


def require_one(frame: pd.DataFrame, label: Hashable, argument: str) -> None:
    """Refuse a label that several columns have: which one is meant cannot be known.

    Raises:
        ValueError: it names the argument and the label.
    """
    if not frame.columns.is_unique and sum(name == label for name in frame.columns) > 1:
        raise ValueError(f"{argument}: there are several columns {label!r}; rename all but one")


def names_of_lookup(frame: pd.DataFrame, prefix: str) -> list[str]:
    """The columns of a lookup that a frame has, without the prefix."""
    return [name for name in LOOKED_UP if prefix + name in frame.columns]


def placed(frame: pd.DataFrame, prefix: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with further added columns, each behind those that stand before it.

    Nothing of the frame itself is copied or moved: a user's columns stay where they are.
    """
    made, ours = frame.copy(deep=False), added_positions(frame).get(prefix)
    labels = [label if not ours or at in ours else None for at, label in enumerate(frame.columns)]
    with warnings.catch_warnings():
        # every column is a separate array: the frame is not fragmented as the warning says
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        for place, name in enumerate(ADDED_COLUMNS):
            if name not in columns:
                continue
            before = (prefix + earlier for earlier in reversed(ADDED_COLUMNS[:place]))
            last = next(
                (labels.index(label) for label in before if label in labels), len(labels) - 1
            )
            made.insert(last + 1, prefix + name, columns[name])
            labels.insert(last + 1, prefix + name)
    return made


def remember_columns(frame: pd.DataFrame, prefix: str, names: Iterable[str]) -> None:
    """Record with a frame which columns a lookup or a tax added, and their dtypes."""
    forms = {prefix + name: str(frame[prefix + name].dtype) for name in names}
    stamp = Stamp.of(frame)
    stamp.put(prefix, columns={**stamp.columns.get(prefix, {}), **forms}).write(frame)


def columns_of_lookups(frame: pd.DataFrame) -> frozenset[Hashable]:
    """The labels of the columns that lookups and taxes added, whatever their prefixes.

    A label that a column of the user's has, too, is not among them.
    """
    positions = {at for some in added_positions(frame).values() for at in some}
    own = {label for at, label in enumerate(frame.columns) if at not in positions}
    return frozenset({frame.columns[at] for at in positions} - own)


def added_positions(frame: pd.DataFrame) -> dict[str, list[int]]:
    """The positions of the columns that lookups and taxes added, by prefix.

    They are those that their run recorded with the frame. Without a record (a CSV, a workbook)
    they are the unbroken run of columns around `lookup_status` that have our names in our order:
    a column of such a name elsewhere is the user's.
    """
    stamp, labels, ending = Stamp.of(frame), list(frame.columns), "lookup_status"
    prefixes = [
        label.removesuffix(ending)
        for label in labels
        if isinstance(label, str) and label.endswith(ending)
    ]
    found: dict[str, list[int]] = {}
    for prefix in dict.fromkeys([*stamp.columns, *prefixes]):
        if stamp.columns.get(prefix):
            ours = _recorded(frame, prefix, stamp)
        else:
            ours = [*_runs(labels, prefix)]
        if ours:
            found[prefix] = sorted(ours)
    return found


def known_labels(frame: pd.DataFrame, prefix: str) -> frozenset[Hashable] | None:
    """The labels that a lookup and a tax of this prefix added; `None` where that is not known.

    Here the record alone decides, whatever is in the cells: they may have another type by now.
    Without one, the columns of a tax are those of ours wherever the user has moved them, as long as
    there is a tax: one of its columns beside those of the lookup, or all that every tax has.
    """
    stamp, labels = Stamp.of(frame), list(frame.columns)
    if record := stamp.columns.get(prefix):
        untold = prefix in stamp.terms and not any(prefix + name in record for name in TAXES)
        return frozenset(record).union(prefix + name for name in TAXES if untold)
    run = _runs(labels, prefix)
    if not run:
        return None
    ours = frozenset(labels[at] for at in run)
    every = {prefix + name for name in OF_EVERY_TAX}
    if TAXES.isdisjoint(run.values()) and not every.issubset(labels):
        return ours
    return ours.union(prefix + name for name in TAXES)


def _runs(labels: Sequence[Hashable], prefix: str) -> dict[int, str]:
    """The columns of every run of a prefix, with their names."""
    status = prefix + "lookup_status"
    every = [_run(labels, at, prefix) for at, label in enumerate(labels) if label == status]
    return {at: name for run in every for at, name in run.items()}


def _run(labels: Sequence[Hashable], at: int, prefix: str) -> dict[int, str]:
    """The run of our columns that holds the `lookup_status` at a position, with their names.

    Few columns may be the user's: the run has all columns of a lookup, of a short one or of a tax
    that no release lacks, or it begins and ends with ones that only we put there.
    """
    for order in (ADDED_COLUMNS, FORMER_ORDER):
        run = _in_order(labels, at, prefix, order)
        names = {*run.values()}
        if order is FORMER_ORDER and names >= OF_EVERY_LOOKUP and not names >= OF_EVERY_TAX:
            return {at: name for at, name in run.items() if name not in TAXES}
        if names >= OF_EVERY_LOOKUP:
            return run
        if names >= OF_EVERY_SHORT_LOOKUP and not names >= {*RANGE_COLUMNS}:
            # what stands behind them may be the user's
            ours = {*SHORT_COLUMNS, *DETAIL_COLUMNS}
            return {at: name for at, name in run.items() if name in ours}
        if ADDED_COLUMNS[0] in names and max(run.items())[1] in {ADDED_COLUMNS[-1], "lookup_error"}:
            return run
        if names >= OF_EVERY_TAX:
            return {at: name for at, name in run.items() if name in TAXES}
    return {}


def _in_order(
    labels: Sequence[Hashable], at: int, prefix: str, order: tuple[str, ...]
) -> dict[int, str]:
    """The unbroken columns around a position that have names of an order, in it."""
    ranks = _ranks(prefix, order)
    ends = []
    for step in (-1, 1):
        end: int = at
        rank = ranks[labels[at]]
        while 0 <= end + step < len(labels):
            following = ranks.get(labels[end + step])
            if following is None or (following - rank) * step <= 0:
                break
            end, rank = end + step, following
        ends.append(end)
    return {place: str(labels[place])[len(prefix) :] for place in range(ends[0], ends[1] + 1)}


@functools.lru_cache(maxsize=64)
def _ranks(prefix: str, order: tuple[str, ...]) -> dict[Hashable, int]:
    return {prefix + name: rank for rank, name in enumerate(order)}


def _recorded(frame: pd.DataFrame, prefix: str, stamp: Stamp) -> list[int]:
    """The positions of the columns of a record, as far as they are still those.

    A column of another kind is the user's who has put it in the place of ours. So is one alone: it
    has the name of a column that was dropped.
    """
    labels, record = list(frame.columns), stamp.columns[prefix]
    places = {at: str(label) for at, label in enumerate(labels) if label in record}
    taxes = {prefix + name for name in TAXES}
    untold = prefix in stamp.terms and taxes.isdisjoint(record)
    dtypes = list(frame.dtypes)
    ours, rounded = [], []
    for at, label in places.items():
        there, then = _kind_of(str(dtypes[at])), _kind_of(str(record[label]))
        if is_object_dtype(dtypes[at]):
            there = _kind_of_cells(frame.iloc[:_SAMPLE, at])
        if there == then or "" in {there, then}:
            ours.append(at)
        elif {there, then} == {"decimal", "number"}:
            rounded.append(at)
    if untold or rounded or len({*places.values()}) < len(places):
        run = _runs(labels, prefix)
        several = Counter(places.values())
        ours = [at for at in ours if several[places[at]] == 1 or at in run]
        ours += [at for at in rounded if at in run]
        if untold:  # an earlier release recorded the columns of the lookup only
            ours += [at for at in run if labels[at] in taxes]
    return ours if len(ours) > 1 else []


_KINDS = {
    "decimal": ("decimal",),
    "number": ("float", "double", "int", "uint"),
    "truth": ("bool",),
    "time": ("date", "time"),
    "text": ("str", "large_string", "category", "categorical", "dictionary"),
    "": ("object", "empty", "null"),
}
_SAMPLE = 1000
"""So many rows say what a column of Python objects holds."""


def _kind_of_cells(column: pd.Series) -> str:
    """The kind of a column of Python objects."""
    if any(isinstance(cell, Shown) for cell in column):
        return "mixed"
    return _kind_of(infer_dtype(column, skipna=True))


@functools.lru_cache(maxsize=256)
def _kind_of(dtype: str) -> str:
    """The kind of a dtype by its name, which changes in a file; "" where it can hold anything."""
    return next((kind for kind, names in _KINDS.items() if dtype.startswith(names)), dtype)


def free_columns(
    frame: pd.DataFrame, prefix: str, names: Iterable[str] = LOOKED_UP
) -> pd.DataFrame:
    """The frame without an earlier lookup of this prefix, ready for the new columns `names`.

    A tax computed from the former rates is removed too: next to new rates it would look right.

    Raises:
        ColumnTaken: a column of the user's has one of the names, or stands among ours.
        TypeError: the prefix is no string.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"prefix: expected a string, not {type(prefix).__name__}")
    every = ADDED_COLUMNS
    mixed = [prefix + name for name in every if prefix and prefix + name in every]
    if mixed:
        raise ValueError(
            f"prefix: {prefix!r} makes the name {mixed[0]!r}, which is reserved without a prefix;"
            " choose another prefix, such as svc_"
        )
    rest = _without(frame, prefix, every)
    taken = [prefix + name for name in names if prefix + name in rest.columns]
    if taken:
        _refuse_between(frame, prefix, taken)
        raise ColumnTaken(taken, _free_prefix(frame))
    return rest


def _refuse_between(frame: pd.DataFrame, prefix: str, taken: Sequence[str]) -> None:
    """Name the columns that stand among ours, where without them all that is taken were ours.

    Raises:
        ColumnBetween: there are such columns.
    """
    if Stamp.of(frame).columns.get(prefix):  # then their places say nothing
        return
    labels, names = list(frame.columns), _ranks(prefix, ADDED_COLUMNS)
    named = [at for at, label in enumerate(labels) if label in names]
    between = [at for at in range(named[0], named[-1]) if labels[at] not in names]
    rest = [label for at, label in enumerate(labels) if at not in {*between}]
    ours = {rest[at] for at in _runs(rest, prefix)}
    if between and ours.issuperset(taken):
        raise ColumnBetween([labels[at] for at in between], taken, _free_prefix(frame))


def _without(frame: pd.DataFrame, prefix: str, names: Collection[str]) -> pd.DataFrame:
    """The frame without those of `names` that a lookup or a tax of this prefix added to it."""
    labels = {prefix + name for name in names}
    ours = added_positions(frame).get(prefix, [])
    gone = [at for at in ours if frame.columns[at] in labels]
    left = [at for at in ours if at not in gone]
    # by position: the user may have a column of the same name
    rest = frame.set_axis(range(frame.shape[1]), axis=1).drop(columns=gone)
    rest.columns = frame.columns.delete(gone)
    stamp = Stamp.of(frame)
    former = stamp.columns.get(prefix, {})
    # recorded from now on, also those of a file without a record, in any form
    record = {label: former.get(label, "object") for label in frame.columns[left]}
    stamp.without(prefix, "columns", "terms").put(prefix, columns=record).write(rest)
    return rest


def _free_prefix(frame: pd.DataFrame) -> str:
    """A prefix with which no column has the name of one that is added."""
    labels = {*map(str, frame.columns)}
    tries = ("svc_", *(f"svc{number}_" for number in range(2, 100)))
    return next(
        prefix for prefix in tries if not any(prefix + name in labels for name in ADDED_COLUMNS)
    )


def without_tax(
    frame: pd.DataFrame, prefix: str, names: Iterable[str] = TAX_COLUMNS
) -> pd.DataFrame:
    """The frame without an earlier tax of this prefix, ready for the columns `names` of a new one.

    Raises:
        ColumnTaken: a column of the user's has one of the names, or stands among ours.
    """
    rest = _without(frame, prefix, TAXES)
    taken = [prefix + name for name in names if prefix + name in rest.columns]
    if taken:
        _refuse_between(frame, prefix, taken)
        raise ColumnTaken(taken, _free_prefix(frame), of_tax=True)
    return rest


def without_added(frame: pd.DataFrame, names: Sequence[str], what: str) -> pd.DataFrame:
    """The frame without the columns that an earlier result of this kind added.

    Args:
        frame: the rows.
        names: the columns that the result adds.
        what: the result, for the message: "a review".

    Raises:
        ValueError: only some of the names are present, so they are the user's.
    """
    present = [name for name in names if name in frame.columns]
    if len(present) == len(names):
        return frame.drop(columns=list(names))
    if present:
        raise ValueError(f"the frame has a column {present[0]!r}, which {what} adds; rename it")
    return frame
