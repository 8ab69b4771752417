"""Which columns of a frame are ours: a lookup replaces its own and never a user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import LOOKUP_COLUMNS, TAX_COLUMNS
from svc_tools.frames.exact import MONEY

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["TAXED", "free_columns", "ours", "without_tax"]

_MARK = "lookup_status"
_SIGNATURE = ("combined_rate", "lookup_as_of", "lookup_error", "lookup_source", "lookup_edition")
"""What must stand beside a status before columns of these names are taken for ours."""
TAXED = "svc_tax"
"""The frame's attribute that names the prefixes of the taxes we computed."""


def ours(frame: pd.DataFrame) -> frozenset[Hashable]:
    """The columns that earlier lookups added, whatever their prefixes."""
    labels = {label for label in frame.columns if isinstance(label, str)}
    prefixes = [label.removesuffix(_MARK) for label in labels if label.endswith(_MARK)]
    return frozenset(
        name
        for prefix in prefixes
        if all(prefix + name in labels for name in _SIGNATURE)
        for name in [*(prefix + name for name in LOOKUP_COLUMNS), *_tax(frame, prefix)]
        if name in labels
    )


def _tax(frame: pd.DataFrame, prefix: str) -> list[str]:
    """Our tax columns: both of them, or what is left of those that the frame remembers."""
    names = [prefix + name for name in TAX_COLUMNS if prefix + name in frame.columns]
    if len(names) == len(TAX_COLUMNS):
        return names
    remembered = frame.attrs.get(TAXED)
    if not isinstance(remembered, list) or prefix not in remembered:
        return []
    # the memory outlives the column: a user's own of the same name has another form
    return [name for name in names if name != f"{prefix}tax" or _is_money(frame, name)]


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
    if TAXED in rest.attrs:  # the tax went with them
        rest.attrs[TAXED] = [one for one in rest.attrs[TAXED] if one != prefix]
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
