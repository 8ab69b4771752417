"""Rates and tax onto the rows of one chunk: from answers that are there, nothing is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.answers import Answerer, answer_columns
from svc_tools.frames.files.chunk import Chunk
from svc_tools.frames.files.file_terms import sale_dates, tax_columns
from svc_tools.frames.questions import ask
from svc_tools.frames.taxes.due import register_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from datetime import date

    import pandas as pd

    from svc_tools.frames.files.file_terms import Layout, Terms
    from svc_tools.frames.questions import Asked
    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

__all__ = ["Answered", "added_columns", "asked_of", "enriched_rows", "settled"]


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of the places.

    Attributes:
        outcomes: an outcome for each.
        who: who answered.
        today: the day that rows without a date were asked about; `None` for that of the answer.
    """

    outcomes: Mapping[Place, Outcome]
    who: Answerer
    today: date | None = None


def settled(
    schema: pa.Schema, layout: Layout, terms: Terms
) -> tuple[Terms, dict[Hashable, object]]:
    """The terms with the register of nexus read, and what a frame remembers of the tax on them.

    Computes on no rows what will be computed on all.

    Raises:
        ValueError: what `df.svc.tax()` raises for arguments that it does not understand.
    """
    if terms.tax is None:
        return terms, {}
    none = Chunk(schema.empty_table()).frame(layout.used)
    tax = dict(terms.tax)
    if tax.get("nexus") is not None and not isinstance(tax["nexus"], str | Path):
        tax["nexus"] = register_of(tax["nexus"])  # an iterator gives its records once
    empty = enriched_rows(none, layout, replace(terms, tax=tax), Answered({}, Answerer("")))
    if tax.get("nexus") is not None:
        tax["nexus"] = register_of(tax["nexus"])  # once, not for each chunk
    return replace(terms, tax=tax), dict(empty.attrs)


def asked_of(frame: pd.DataFrame, layout: Layout, terms: Terms) -> Asked:
    """What the rows of a chunk ask."""
    return ask(sale_dates(frame, layout, terms), layout.inputs)


def enriched_rows(
    frame: pd.DataFrame,
    layout: Layout,
    terms: Terms,
    answered: Answered,
) -> pd.DataFrame:
    """The rows of a chunk with all columns of ours: of the lookup, and of the tax if wanted."""
    asked = asked_of(frame, layout, terms)
    enriched = frame.copy(deep=False)
    for name, column in answer_columns(
        *(asked, answered.outcomes, answered.who), detail=terms.detail, today=answered.today
    ).items():
        enriched[terms.prefix + name] = column
    if terms.tax is not None:
        enriched = SvcAccessor(enriched).tax(**terms.tax, prefix=terms.prefix, progress=False)
    return enriched


def added_columns(enriched: pd.DataFrame, terms: Terms) -> pa.Table:
    """The columns that are added to the file, in the order of `LOOKUP_COLUMNS`, then the tax."""
    names = [*terms.added(), *tax_columns(terms, enriched)]
    labels = [terms.prefix + name for name in names if terms.prefix + name in enriched.columns]
    return pa.table([_column(enriched[label]) for label in labels], labels)


def _column(column: pd.Series) -> pa.ChunkedArray:
    array = pa.array(column.array)
    if isinstance(array, pa.Array):
        array = pa.chunked_array([array])
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.string())
    return array
