"""Which columns of a frame are ours: a lookup replaces its own and never a user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.enriched import (
    DETAIL_COLUMNS,
    LOOKUP_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
    TERMS,
)
from svc_tools.frames.exact import MONEY

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

__all__ = ["TAXED", "free_columns", "ours", "remember_columns", "without_tax"]

_MARK = "lookup_status"
_SIGNATURE = ("combined_rate", "lookup_as_of", "lookup_error", "lookup_source", "lookup_edition")
"""What must stand beside a status before columns of these names are taken for ours."""
_LOOKED_UP = (*LOOKUP_COLUMNS, *DETAIL_COLUMNS)
_TAXES = (*TAX_COLUMNS, *TAX_OPTION_COLUMNS)
_WORDS = frozenset({"tax_error", "tax_review", "tax_due_reason"})
ADDED = "svc_columns"
"""The frame's attribute that names, by prefix, the columns that a lookup added, with their form."""
TAXED = "svc_tax"
"""The frame's attribute that names the prefixes of the taxes we computed."""


def remember_columns(frame: pd.DataFrame, prefix: str, names: Iterable[str]) -> None:
    """Note which columns a lookup added: where they are not all of them, names alone cannot say."""
    added = frame.attrs.get(ADDED)
    forms = {prefix + name: str(frame[prefix + name].dtype) for name in names}
    frame.attrs[ADDED] = {**(added if isinstance(added, dict) else {}), prefix: forms}


def ours(frame: pd.DataFrame) -> frozenset[Hashable]:
    """The columns that earlier lookups added, whatever their prefixes."""
    labels = {label for label in frame.columns if isinstance(label, str)}
    prefixes = [label.removesuffix(_MARK) for label in labels if label.endswith(_MARK)]
    found: set[Hashable] = set()
    for prefix in prefixes:
        signed = all(prefix + name in labels for name in _SIGNATURE)
        remembered = _remembered(frame, prefix, whatever_form=signed)
        if not (signed or remembered):
            continue
        # a lookup of some columns leaves the names of the others to the user
        found.update(remembered or [prefix + name for name in _LOOKED_UP])
        found.update(_tax(frame, prefix))
    return frozenset(found & labels)


def _remembered(frame: pd.DataFrame, prefix: str, *, whatever_form: bool) -> list[str]:
    """The columns that the frame remembers; one that was replaced has another form since.

    So has every column that went through a file: where enough others stand beside it
    (`whatever_form`), its form does not count.
    """
    added = frame.attrs.get(ADDED)
    forms = added.get(prefix) if isinstance(added, dict) else None
    if not isinstance(forms, dict):
        return []
    return [name for name, form in forms.items() if whatever_form or _form(frame, name) == form]


def _form(frame: pd.DataFrame, name: str) -> str | None:
    column = frame[name] if name in frame.columns else None
    return str(column.dtype) if isinstance(column, pd.Series) else None


def _tax(frame: pd.DataFrame, prefix: str) -> list[str]:
    """Our tax columns: all of them, or what is left of those that the frame remembers."""
    names = [prefix + name for name in _TAXES if prefix + name in frame.columns]
    whole = [prefix + name for name in TAX_COLUMNS]
    if all(name in names for name in whole):
        # what is optional may be a user's own: only in our form it is ours
        return whole + [
            name
            for name in names
            if name not in whole
            and (
                f"{prefix}tax_due" in names
                if name.endswith("_reason")
                else _is_money(frame, name) or _is_remembered(frame, prefix, name)
            )
        ]
    remembered = frame.attrs.get(TAXED)
    if isinstance(remembered, list) and prefix in remembered:
        # the memory outlives the column: a user's own of the same name has another form
        return [
            name for name in names if name.removeprefix(prefix) in _WORDS or _is_money(frame, name)
        ]
    return []


def _is_remembered(frame: pd.DataFrame, prefix: str, name: str) -> bool:
    """Whether an optional column was computed, and has the form that a file brings it back in."""
    known = frame.attrs.get(TERMS)
    terms = known.get(prefix) if isinstance(known, dict) else None
    if not isinstance(terms, dict):
        return False
    asked = ("shipping",) if name == f"{prefix}shipping_tax" else ("nexus", "channel")
    column = frame[name]
    return (
        any(terms.get(argument) is not None for argument in asked)
        and isinstance(column, pd.Series)
        and pd.api.types.infer_dtype(column, skipna=True) in {"decimal", "empty"}
    )


def _is_money(frame: pd.DataFrame, name: str) -> bool:
    column = frame[name]
    return isinstance(column, pd.Series) and column.dtype == pd.ArrowDtype(MONEY)


def free_columns(
    frame: pd.DataFrame, prefix: str, names: Iterable[str] = _LOOKED_UP
) -> pd.DataFrame:
    """The frame without an earlier lookup's columns of this prefix, ready for new ones.

    A tax computed from the former rates goes too: beside new rates it would look right.

    Args:
        frame: the frame.
        prefix: the prefix of the new columns.
        names: the new columns.

    Raises:
        ValueError: a column that is not ours has one of the names.
        TypeError: the prefix is no string.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"prefix: expected a string, not {type(prefix).__name__}")
    every = (*_LOOKED_UP, *_TAXES)
    mixed = [prefix + name for name in every if prefix and prefix + name in every]
    if mixed:
        raise ValueError(
            f"prefix: {prefix!r} makes the name {mixed[0]!r}, which is one of ours without a"
            " prefix; choose another, for instance prefix='svc_'"
        )
    former = {prefix + name for name in every}
    rest = frame.drop(columns=[name for name in ours(frame) if name in former])
    _forget_tax(rest, prefix)
    if isinstance(rest.attrs.get(ADDED), dict):
        rest.attrs[ADDED].pop(prefix, None)
    taken = [prefix + name for name in names if prefix + name in rest.columns]
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
    _forget_tax(rest, prefix)
    taken = [prefix + name for name in TAX_COLUMNS if prefix + name in rest.columns]
    if taken:
        raise ValueError(
            f"the frame has a column {taken[0]!r} that is not ours; rename it,"
            " or look up with a prefix, for instance prefix='svc_'"
        )
    return rest


def _forget_tax(frame: pd.DataFrame, prefix: str) -> None:
    """The tax of this prefix went: so does what the frame remembers of it."""
    if isinstance(frame.attrs.get(TAXED), list):
        frame.attrs[TAXED] = [one for one in frame.attrs[TAXED] if one != prefix]
    if isinstance(frame.attrs.get(TERMS), dict):
        frame.attrs[TERMS] = {
            one: terms for one, terms in frame.attrs[TERMS].items() if one != prefix
        }
