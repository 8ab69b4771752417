"""What is wanted of a file: which columns say the place, which taxes, which columns to add."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pandas as pd

from svc_tools.frames.columns import Inputs, find_inputs
from svc_tools.frames.distinct_values import is_label
from svc_tools.frames.enriched import (
    DETAIL_COLUMNS,
    LOOKUP_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
    require_columns,
    require_one,
)
from svc_tools.frames.ownership import free_columns, without_tax
from svc_tools.places import GRAINS, time_zone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from svc_tools.places import Grain

__all__ = ["Layout", "Terms", "layout_of", "sale_dates", "tax_columns"]

_ALWAYS = ("lookup_status", "lookup_error")
"""What is added whatever was chosen: nothing that failed may hide."""
_TAX_COLUMN_ARGUMENTS = ("amount", "shipping", "exempt", "invoice", "channel", "ship_from")


@dataclass(frozen=True, slots=True)
class Terms:
    """What is wanted.

    Attributes:
        lookup: the arguments of `df.svc.lookup()` that say where the place and the date are.
        tax: the arguments of `df.svc.tax()`; `None` for no tax.
        prefix: put before the names of the added columns.
        detail: ask for the jurisdictions too.
        columns: which of the lookup's columns to add; `None` for all of them.
        date_format: how the dates of the column `as_of` are written, as in `%m/%d/%Y`.
        tz: the time zone whose calendar decides the date of a moment.
        grain: ask for the day, or for the first day of its month or quarter.
    """

    lookup: Mapping[str, object] = field(default_factory=dict)
    tax: Mapping[str, Any] | None = None
    prefix: str = ""
    detail: bool = False
    columns: Sequence[str] | None = None
    date_format: str | None = None
    tz: str | None = None
    grain: Grain = "day"

    def added(self) -> list[str]:
        """The names of the columns that are added by the lookup, without their prefix.

        Raises:
            ValueError: a name that was chosen is none of them.
        """
        known = [*LOOKUP_COLUMNS, *(DETAIL_COLUMNS if self.detail else ())]
        if self.columns is None:
            return known
        unknown = [name for name in self.columns if name not in known]
        if unknown:
            raise ValueError(
                f"columns: {unknown[0]!r} is none of the columns that a lookup adds:"
                f" {', '.join(known)}"
            )
        return [name for name in known if name in {*self.columns, *_ALWAYS}]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a file are read, and which are kept.

    Attributes:
        inputs: what answers each argument of the lookup.
        used: positions of the columns that the lookup and the tax read.
        kept: positions of the columns that are passed on.
        replaced: names of columns of an earlier run, which give way to the new ones.
        notes: what was decided, in sentences.
    """

    inputs: Inputs
    used: tuple[int, ...]
    places: tuple[int, ...]
    kept: tuple[int, ...]
    replaced: tuple[str, ...]
    notes: tuple[str, ...]


def layout_of(schema: pa.Schema, first: pd.DataFrame, terms: Terms) -> Layout:
    """Decide on a file's columns by its names and its first rows.

    Raises:
        ValueError: as `df.svc.lookup()` and `df.svc.tax()` raise it.
    """
    if terms.grain not in GRAINS:
        raise ValueError(
            f"as_of_grain: {terms.grain!r} is not known; expected day, month or quarter"
        )
    terms.added()  # a wrong choice is said before anything is read
    _check_format(terms)
    inputs = find_inputs(
        first, terms.lookup, None if terms.tz is None else time_zone(terms.tz), terms.grain
    )
    if terms.date_format and "as_of" not in inputs.columns:
        raise ValueError("date_format: no column is the date of the sale; name it with as_of")
    names = list(schema.names)
    rest = free_columns(pd.DataFrame(columns=pd.Index(names, dtype=object)), terms.prefix)
    if terms.tax is not None:
        rest = without_tax(rest, terms.prefix)
    left = Counter(rest.columns.tolist())
    former = {position for position, name in enumerate(names) if not left[name]}
    former |= _options_of(names, former, terms.prefix)
    kept = tuple(position for position in range(len(names)) if position not in former)
    replaced = tuple(names[position] for position in sorted(former))
    tax = _tax_columns(first, terms)
    places = tuple(sorted({names.index(str(label)) for label in inputs.columns.values()}))
    # where one place is given for all rows, any column still counts them
    used = tuple(sorted({*places, *(names.index(label) for label in tax)})) or (0,)
    notes = list(inputs.notes)
    if replaced:
        notes.append(f"columns of an earlier run are replaced: {len(replaced)}")
    return Layout(inputs, used, places, kept, replaced, tuple(notes))


def _options_of(names: list[str], former: set[int], prefix: str) -> set[int]:
    """The optional tax columns of an earlier run: they stand right behind its other ones.

    Their names alone could be a user's own; a file does not say in which form they were.
    """
    whole = [prefix + name for name in TAX_COLUMNS]
    if not all(name in names for name in whole):
        return set()
    last = max(names.index(name) for name in whole)
    optional = {prefix + name for name in TAX_OPTION_COLUMNS}
    behind = range(last + 1, len(names)) if last in former else ()
    return set(takewhile(lambda position: names[position] in optional, behind))


def _tax_columns(first: pd.DataFrame, terms: Terms) -> list[str]:
    """The columns that the tax reads."""
    if terms.tax is None:
        return []
    amount = terms.tax.get("amount", "amount")
    require_columns(first, (amount,), "name the column of amounts")
    # what is no column is one value for all rows, or the tax refuses it by name
    others = [terms.tax.get(name) for name in _TAX_COLUMN_ARGUMENTS if name != "amount"]
    labels = [amount, *(str(one) for one in others if is_label(first, one))]
    for label in labels:
        require_one(first, label, "tax")
    return labels


def _check_format(terms: Terms) -> None:
    if terms.date_format is None:
        return
    sample = datetime(2026, 12, 31)  # noqa: DTZ001  # a day, to try the format on
    try:
        back = datetime.strptime(sample.strftime(terms.date_format), terms.date_format)  # noqa: DTZ007  # as above
    except ValueError:
        back = None
    if back is None or back.date() != sample.date():
        raise ValueError(
            f"date_format: {terms.date_format!r} does not tell year, month and day; expected one"
            " such as %m/%d/%Y"
        )


def sale_dates(frame: pd.DataFrame, layout: Layout, terms: Terms) -> pd.DataFrame:
    """The frame with its dates of sale as dates, where the terms say how they are written.

    A cell that is not written so stays as it is: its row is then invalid, and says why.
    """
    label = layout.inputs.columns.get("as_of")
    if terms.date_format is None or label is None:
        return frame
    codes, uniques = pd.factorize(frame[label])
    read = [_day(cell, terms.date_format) for cell in uniques.tolist()]
    days = pd.Series([*read, None], dtype=object).take(codes)
    dated = frame.copy(deep=False)
    dated[label] = days.set_axis(frame.index)
    return dated


def _day(cell: object, form: str) -> object:
    if not isinstance(cell, str):
        return cell
    try:
        return datetime.strptime(cell.strip(), form).date()  # noqa: DTZ007  # a calendar date
    except ValueError:
        return cell


def tax_columns(terms: Terms, frame: pd.DataFrame) -> list[str]:
    """The columns that the tax added to a frame, without their prefix."""
    if terms.tax is None:
        return []
    there = set(frame.columns)
    every = (*TAX_COLUMNS, *TAX_OPTION_COLUMNS)
    return [name for name in every if terms.prefix + name in there]
