"""What is wanted of a file: which columns say the place, which taxes, which columns to add."""

# MERGED file_rates: Rates and tax onto the rows of one chunk: from answers that are there, nothing is asked.
# MERGED file_invoices: Invoices whose lines lie in several chunks of a file: found by hashes, eight bytes an invoice.
# MERGED file_memory: What a file's rows remember of their lookup, as a frame does: for its report, and in Parquet.

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.answers import Answerer, answer_columns
from svc_tools.frames.columns import Inputs, find_inputs, is_label
from svc_tools.frames.files.chunk import Chunk
from svc_tools.frames.lookup_columns import (
    DETAIL_COLUMNS,
    LOOKUP_COLUMNS,
    NOTE,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
    free_columns,
    require_columns,
    require_one,
    without_tax,
)
from svc_tools.frames.notes import note_of
from svc_tools.frames.provenance import remember
from svc_tools.frames.queries import ask
from svc_tools.frames.taxes.due import register_of
from svc_tools.places import GRAINS, time_zone

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from datetime import date

    from svc_tools.config import Source
    from svc_tools.frames.queries import Asked
    from svc_tools.lookup import Outcome, Run
    from svc_tools.places import Grain, Place

_ALWAYS = ("lookup_status", "lookup_error")
"""What is added whatever was chosen: nothing that failed may hide."""
_TAX_COLUMN_ARGUMENTS = ("amount", "shipping", "exempt", "invoice", "channel", "ship_from")

_OF_PANDAS = b"PANDAS_ATTRS"
"""Where pandas keeps a frame's attributes in a Parquet file."""
_OURS = "svc_"


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


class Crossing:
    """Finds the invoices that lie in more than one chunk.

    Two invoices of one hash may be taken for one that crosses: that costs time, never a figure,
    because what crosses is computed with all its lines by their real names.
    """

    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []
        self._crossing: np.ndarray | None = None

    def see(self, keys: pd.Series) -> None:
        """Take the invoices of a chunk in."""
        hashes, missing = _hashes(keys)
        self._seen.append(np.unique(hashes[~missing]))

    def rows(self, keys: pd.Series) -> np.ndarray:
        """Which rows of a chunk belong to an invoice that crosses; ask when all chunks are seen."""
        hashes, missing = _hashes(keys)
        crossing: np.ndarray = np.isin(hashes, self._all()) & ~missing
        return crossing

    def any(self) -> bool:
        """Whether any invoice crosses."""
        return bool(len(self._all()))

    def _all(self) -> np.ndarray:
        if self._crossing is None:
            every = np.concatenate(self._seen) if self._seen else np.empty(0, np.uint64)
            hashes, chunks = np.unique(every, return_counts=True)
            self._crossing = hashes[chunks > 1]
            self._seen = []
        return self._crossing


def _hashes(keys: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row, equal where the names could be meant as equal, and which have none."""
    codes, uniques = pd.factorize(keys)
    names = [_plain(name) for name in uniques.tolist()]
    each = np.fromiter(map(hash, names), np.int64, len(names))
    blank = np.array([name == "" for name in names], bool)  # 0 is a name
    return np.append(each, 0)[codes].view(np.uint64), np.append(blank, True)[codes]


def _plain(name: Hashable) -> Hashable:
    return name.strip() if isinstance(name, str) else name


def memory_of(
    layout: Layout,
    terms: Terms,
    answered: Answered,
    run: Run,
    *,
    rows: int,
    source: Source | None,
    notes: list[str],
    of_tax: Mapping[Hashable, object],
) -> dict[Hashable, object]:
    """The attributes that `df.svc.lookup()` and `df.svc.tax()` leave on a frame of these rows."""
    frame = pd.DataFrame()
    frame.attrs = {
        **of_tax,
        NOTE: note_of(
            run,
            layout.inputs,
            prefix=terms.prefix,
            rows=rows,
            service=answered.who.name,
            notes=notes,
            detail=terms.detail,
            grain=terms.grain,
        ),
    }
    # dates that are not written as ISO cannot be asked again from the rows alone
    if source is not None and terms.date_format is None:
        remember(
            frame,
            prefix=terms.prefix,
            inputs=layout.inputs,
            outcomes=answered.outcomes,
            source=source,
            answerer=answered.who,
            detail=terms.detail,
        )
    return frame.attrs


def with_memory(
    before: Mapping[bytes, bytes] | None, memory: Mapping[Hashable, object]
) -> dict[bytes, bytes]:
    """A file's own metadata, with what its rows remember now instead of an earlier run's."""
    told = dict(before or {})
    kept = _attributes(told.get(_OF_PANDAS))
    told[_OF_PANDAS] = json.dumps(kept | dict(memory), default=str).encode()
    if b"pandas" in told:  # Arrow keeps them once more, there
        pandas = json.loads(told[b"pandas"])
        if isinstance(pandas, dict) and pandas.pop("attributes", None):
            told[b"pandas"] = json.dumps(pandas).encode()
    return told


def _attributes(text: bytes | None) -> dict[Hashable, object]:
    """A frame's attributes but ours."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if not str(name).startswith(_OURS)}
