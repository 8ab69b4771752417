"""Which columns of a frame are ours: a lookup replaces its own and never a user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import LOOKUP_COLUMNS, TAX_COLUMNS
from svc_tools.frames.exact import MONEY

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["free_columns", "ours", "without_tax"]

_MARK, _BESIDE = "lookup_status", "lookup_source"


def ours(frame: pd.DataFrame) -> frozenset[Hashable]:
    """The columns that earlier lookups added, whatever their prefixes."""
    labels = {label for label in frame.columns if isinstance(label, str)}
    prefixes = [label.removesuffix(_MARK) for label in labels if label.endswith(_MARK)]
    return frozenset(
        name
        for prefix in prefixes
        if prefix + _BESIDE in labels
        for name in [*(prefix + name for name in LOOKUP_COLUMNS), *_tax(frame, prefix)]
        if name in labels
    )


def _tax(frame: pd.DataFrame, prefix: str) -> list[str]:
    """Our tax columns: both, or a lone tax in the exact form that only we give it."""
    names = [prefix + name for name in TAX_COLUMNS if prefix + name in frame.columns]
    if len(names) == len(TAX_COLUMNS):
        return names
    return [name for name in names if _is_money(frame, name)]


def _is_money(frame: pd.DataFrame, name: str) -> bool:
    column = frame[name]
    return isinstance(column, pd.Series) and column.dtype == pd.ArrowDtype(MONEY)


def free_columns(frame: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """The frame without an earlier lookup's columns of this prefix, ready for new ones.

    A tax computed from the former rates goes too: beside new rates it would look right.

    Raises:
        ValueError: a column that is not ours has one of the names.
        TypeError: the prefix is no string.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"prefix: expected a string, not {type(prefix).__name__}")
    names = {prefix + name for name in (*LOOKUP_COLUMNS, *TAX_COLUMNS)}
    rest = frame.drop(columns=[name for name in ours(frame) if name in names])
    taken = [prefix + name for name in LOOKUP_COLUMNS if prefix + name in rest.columns]
    if taken:
        raise ValueError(
            f"the frame already has columns that a lookup adds: {', '.join(map(repr, taken))};"
            " rename them, or choose a prefix, for instance prefix='svc_'"
        )
    return rest


def without_tax(frame: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """The frame without an earlier tax of ours.

    Raises:
        ValueError: a column that is not ours has one of the names.
    """
    rest = frame.drop(columns=_tax(frame, prefix))
    taken = [prefix + name for name in TAX_COLUMNS if prefix + name in rest.columns]
    if taken:
        raise ValueError(
            f"the frame has a column {taken[0]!r} that is not ours; rename it,"
            " or look up with a prefix, for instance prefix='svc_'"
        )
    return rest
