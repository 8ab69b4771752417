"""The layout of an enriched frame, or of a file that was enriched."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from svc_tools.frames.lookup.columns import free_labels
from svc_tools.frames.lookup.results import lookup_of
from svc_tools.frames.orders.reading import Reading
from svc_tools.frames.orders.saved_layout import (
    FURTHER,
    MONEY_ARGUMENTS,
    LayoutError,
    layout_of_file,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import pandas as pd

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.lookup.columns import Inputs
    from svc_tools.frames.orders.saved_layout import SalesLayout
    from svc_tools.frames.taxes.amounts import AmountsOfTax


def layout_of(rows: Enriched) -> SalesLayout:
    """The layout of an enriched frame; see `df.svc.layout`.

    Raises:
        LayoutError: the frame does not know how its columns were read.
    """
    lookup, frame = lookup_of(rows), rows.frame
    if lookup is None:
        raise LayoutError(
            "layout: the frame does not know how its columns were read: call it on what"
            " df.svc.lookup() or df.svc.tax() returned"
        )
    return layout_by(frame, free_labels(frame), lookup.inputs, rows.stamp.layouts.get(rows.prefix))


def layout_by(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    inputs: Inputs,
    of_tax: Mapping[str, Any] | None,
    zero: Iterable[Hashable] | None = None,
) -> SalesLayout:
    """The layout by what a lookup and a tax have read.

    Args:
        frame: the rows; those of a part of the file where `zero` is given.
        labels: the columns that are the user's own.
        inputs: the columns of the lookup.
        of_tax: what `of_tax_for_layout` gave; `None` without a tax.
        zero: the columns of money that are 0 throughout.
    """
    reading, tax = inputs.reading, {}
    if of_tax is not None:
        reading, tax = Reading.from_plain(of_tax["reading"]), of_tax["tax"]
    columns = dict(inputs.columns)
    if inputs.export is not None:  # its table says the others
        found = {**inputs.export.found(labels), **inputs.reading.place}
        columns = {role: label for role, label in columns.items() if found.get(role) != label}
    if reading.sums is None or inputs.export is not None or tax.get("amount") is not None:
        zero = ()  # nothing else takes part
    dates = inputs.style.as_json()
    written = dates["date_format"] or (None if inputs.export else dates["order"])
    lookup = {**columns, "date_format": written, "tz": getattr(inputs.style.terms.tz, "key", None)}
    values = {role: value for role, value in inputs.scalars.items() if not isinstance(value, date)}
    return layout_of_file(*(frame, labels, lookup, values), tax=tax, reading=reading, zero=zero)


def of_tax_for_layout(source: AmountsOfTax) -> dict[str, Any] | None:
    """What a layout keeps of a tax, in plain values; `None` where it is not known."""
    if source.given is None:
        return None
    reading = source.reading
    given = {name: getattr(source.given, name, None) for name in (*MONEY_ARGUMENTS, *FURTHER)}
    tax: dict[str, Any] = {
        name: str(value) if isinstance(value, Decimal) else value for name, value in given.items()
    }
    if tax["amount"] is not None and reading.export is None:
        # next month's rows may not show it
        tax["once"] = [*dict.fromkeys((*(tax["once"] or ()), *reading.once))] or False
    if reading.export is None and tax["decimal"] is None:
        tax["decimal"] = reading.decimal
    return {"reading": reading.as_plain(), "tax": tax}
