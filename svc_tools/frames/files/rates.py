"""What is decided of a file before its rows are joined: terms, columns, schema, attributes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.added.names import (
    added_positions,
    free_columns,
    require_columns,
    require_one,
    without_tax,
)
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.lookup.columns import Inputs, free_labels, inputs_by, is_label, used_notes
from svc_tools.frames.lookup.results import UsedLookup, record_of
from svc_tools.frames.options import LookupOptions, TaxOptions, check_layout, options_of
from svc_tools.frames.orders.saved_layout import as_layout, filled
from svc_tools.frames.taxes.amounts import amounts_of_tax
from svc_tools.frames.taxes.due import register_of
from svc_tools.frames.taxes.tax import Tax
from svc_tools.frames.values.arrow import MONEY, RATE, SHARE, arrow_column
from svc_tools.lookup.columns import COLUMNS, lookup_columns, tax_columns
from svc_tools.lookup.options import names_where
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from svc_tools.frames.lookup.sources import Results
    from svc_tools.frames.orders.deciding import RatesOfRows
    from svc_tools.frames.orders.reading import Reading
    from svc_tools.frames.taxes.amounts import AmountsOfTax
    from svc_tools.lookup.columns import CellForm


@dataclass(frozen=True, slots=True)
class Terms:
    """The options of a file's lookup and tax.

    Attributes:
        lookup: the options of the lookup.
        tax: the arguments of `df.svc.tax()`; `None` for no tax. Without any there is a tax where
            the column of amounts is found.
        in_shell: whether notes name the options of a command, and not arguments.
    """

    lookup: LookupOptions = field(default_factory=LookupOptions)
    tax: Mapping[str, Any] | None = None
    in_shell: bool = False

    @classmethod
    def of(
        cls,
        method: str,
        lookup: Mapping[str, Any],
        tax: Mapping[str, Any] | None,
        layout: object = None,
    ) -> Self:
        """The terms of these arguments, with the layout for both.

        Raises:
            ValueError: an argument of the lookup cannot be used, or the layout is none.
        """
        kept = None if layout is None else as_layout(layout)
        nexus = None if tax is None else tax.get("nexus")
        if nexus is not None and not isinstance(nexus, str | Path):
            tax = {**(tax or {}), "nexus": register_of(nexus)}  # an iterator gives its records once
        options = options_of(LookupOptions, method, {**lookup, "layout": kept})
        return cls(options, tax if tax is None or kept is None else {**tax, "layout": kept})


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a file are read, and which are passed on.

    Attributes:
        inputs: the column or value for each argument of the lookup.
        used: positions of the columns that the lookup and the tax read.
        passed: positions of the columns that are passed on.
        amounts: positions of the columns that the tax reads as amounts.
        read: which export the file was recognized as, if any, and its columns by what they are.
        notes: what was decided, in sentences.
        on_columns: the sentences that say what `read` says, one for each argument.
        source: where the tax finds its amounts; `None` without a tax.
        tax: the tax, decided but for the figures of the rows; `None` without one.
        added: the names of the added columns with their types, in their order.
    """

    inputs: Inputs
    used: tuple[int, ...]
    passed: tuple[int, ...]
    amounts: tuple[int, ...]
    read: str
    notes: tuple[str, ...]
    on_columns: tuple[str, ...]
    source: AmountsOfTax | None = None
    tax: Tax | None = None
    added: tuple[pa.Field, ...] = ()

    @property
    def reading(self) -> Reading:
        """What the columns mean, with the amounts of the tax."""
        source = self.source
        return self.inputs.reading if source is None or not source.computed else source.reading


_NO_AMOUNT = "no tax is added, because no column holds amounts; name the column of amounts"


def settled(
    first: pd.DataFrame,
    terms: Terms,
    reading: Reading,
    *,
    rates: RatesOfRows | None = None,
    final: bool,
    semicolons: bool = False,
) -> tuple[Terms, AmountsOfTax | None, list[str]]:
    """The terms with the amounts of the tax, or without a tax; and what was decided, in sentences.

    Args:
        first: the first rows, with all columns.
        terms: the terms as given.
        reading: which rows are sales.
        rates: the rates of the rows, where they are known.
        final: whether no more will be known of the rates.
        semicolons: whether semicolons separate the cells of the file.

    Raises:
        ValueError: no column has the amounts, and arguments of a tax were given; or it is open
            what the amounts are.
    """
    if terms.tax is None:
        return terms, None, []
    kept = terms.tax.get("layout")
    wanted = any(name != "layout" for name in terms.tax) or (kept and kept.has_amounts)
    terms = replace(terms, tax=filled(terms.tax, of_tax=True))
    options = options_of(TaxOptions, "tax", terms.tax or {})
    labels = free_labels(first)
    try:
        source = amounts_of_tax(
            *(first, labels, options, reading, rates), final=final, semicolons=semicolons
        )
    except ColumnAmbiguous as error:
        raise ColumnAmbiguous.of(error.questions, call="tax=") from error
    except ColumnMissing as error:
        if wanted:
            raise
        return replace(terms, tax=None), None, [_NO_AMOUNT, *error.passed]
    amount = source.terms.amount
    if source.computed or not is_label(first, amount):
        return terms, source, [*source.notes]
    return replace(terms, tax={**(terms.tax or {}), "amount": amount}), source, [*source.notes]


def _from_column(amount: object) -> str:
    return f"amount from column {amount!r}"


def file_inputs(first: pd.DataFrame, terms: Terms) -> Inputs:
    """The column or the value of each argument of the lookup, by the first rows of a file.

    Raises:
        ValueError: as `df.svc.lookup()` raises it.
    """
    options = terms.lookup
    free_columns(first, options.prefix)
    check_layout(options, free_labels(first))
    return inputs_by(options, first, call="lookup=", in_shell=terms.in_shell)


def file_layout(
    schema: pa.Schema,
    first: pd.DataFrame,
    inputs: Inputs,
    terms: Terms,
    source: AmountsOfTax | None,
) -> Layout:
    """Decide on a file's columns by its names and its first rows.

    Raises:
        ValueError: as `df.svc.tax()` raises it.
    """
    names = list(schema.names)
    former = {*added_positions(first).get(terms.lookup.prefix, ())}
    passed = tuple(position for position in range(len(names)) if position not in former)
    amounts, others = _tax_columns(first, source)
    labels = [*map(str, inputs.columns.values()), *amounts, *others]
    reading = source.reading if source is not None and source.computed else inputs.reading
    labels += map(str, reading.columns)
    if inputs.export is not None:
        labels += map(str, inputs.export.used(free_labels(first)))
    # where one place is given for all rows, any column serves to count them
    used = tuple(sorted({names.index(label) for label in labels})) or (0,)
    notes = list(inputs.notes)
    if former:
        notes.append(f"columns of an earlier run are replaced: {len(former)}")
    read, on_columns = _read_as(first, inputs, terms, source)
    tax = None if source is None else _tax_of(first, source, terms)
    if tax is not None:
        without_tax(first.iloc[:, [*passed]], terms.lookup.prefix, tax.added)
    return Layout(
        inputs=inputs,
        used=used,
        passed=passed,
        amounts=tuple(map(names.index, amounts)),
        read=read,
        notes=tuple(notes),
        on_columns=on_columns,
        source=source,
        tax=tax,
        added=_added(terms.lookup, () if tax is None else tax.added),
    )


def _tax_of(first: pd.DataFrame, source: AmountsOfTax, terms: Terms) -> Tax:
    """The tax of a file by its terms; arguments that no row can be computed with are refused."""
    options = options_of(TaxOptions, "tax", {**(terms.tax or {}), "prefix": terms.lookup.prefix})
    without_tax(first, options.prefix)
    tax = Tax.of(source.under(options), lookup_columns(detail=terms.lookup.detail))
    tax.check(first)
    return tax


_TYPES: dict[CellForm, pa.DataType] = {
    "rate": RATE,
    "share": SHARE,
    "money": MONEY,
    "truth": pa.bool_(),
    "text": pa.string(),
    "category": pa.string(),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
}
"""What a file holds of each form of cells."""


def _added(lookup: LookupOptions, of_tax: Collection[str]) -> tuple[pa.Field, ...]:
    """The columns that are added to a file: of a short lookup a short tax, too."""
    names = {*lookup.names, *({*tax_columns(lookup.names)} & {*of_tax})}
    some = (column for column in COLUMNS if column.name in names)
    return tuple(pa.field(lookup.prefix + column.name, _TYPES[column.form]) for column in some)


def _read_as(
    first: pd.DataFrame, inputs: Inputs, terms: Terms, source: AmountsOfTax | None
) -> tuple[str, tuple[str, ...]]:
    """`Layout.read`, and the sentences that say the same."""
    used: dict[str, object] = {**inputs.used}
    on_columns = used_notes(inputs.used, {}, inputs.export)
    sums: dict[str, str] = {}
    if terms.tax is not None and source is not None:
        goods, delivery = source.reading.in_words() if source.computed else ("", "")
        used |= {"amount": source.terms.amount, "shipping": source.terms.shipping}
        how = source.notes[:1] or [_from_column(used["amount"])]
        on_columns += [] if source.proven else how
        if goods and terms.tax.get("amount") is None and source.reading.meant:
            goods += f" ({source.reading.meant})"
        sums = {"amount": goods, "shipping": delivery} if goods else {}
        used |= {name: getattr(source.terms, name) for name in names_where(TaxOptions, "column")}
    named = [
        f"{_IN_WORDS.get(name, name)} {sums.get(name) or repr(label)}"
        for name, label in used.items()
        if sums.get(name) or is_label(first, label)
    ]
    what = "Columns" if inputs.export is None else inputs.export.name
    read = f"{what}: {', '.join(named) or 'none, the place is that of all rows'}"
    return read, tuple(on_columns)


_IN_WORDS = {"as_of": "date", "zip": "ZIP", "ship_from": "sent from"}


def _tax_columns(first: pd.DataFrame, source: AmountsOfTax | None) -> tuple[list[str], list[str]]:
    """The columns that the tax reads as amounts, and the others that it reads."""
    if source is None:
        return [], []
    if not source.computed:
        require_columns(first, (source.terms.amount,), "name the column of amounts")
    amounts = source.columns
    others = [getattr(source.terms, name) for name in names_where(TaxOptions, "column")]
    # anything but a column is one value for all rows, or the tax refuses it by name
    read = [[str(label) for label in some if is_label(first, label)] for some in (amounts, others)]
    for label in (*read[0], *read[1]):
        require_one(first, label, "tax")
    return read[0], read[1]


def added_columns(enriched: pd.DataFrame, layout: Layout) -> pa.Table:
    """The columns that are added to the file, in their order."""
    labels = [added.name for added in layout.added]
    return pa.table([arrow_column(enriched[label]) for label in labels], labels)


class SplitInvoices:
    """Finds the invoices whose lines lie in more than one chunk, at eight bytes an invoice.

    They are compared by hash. Two invoices with one hash may be taken for a split one, which costs
    time but changes no figure: split invoices are computed with all their lines, by real names.
    """

    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []
        self._split: np.ndarray | None = None

    def see(self, keys: pd.Series) -> None:
        """Record the invoices of a chunk."""
        hashes, missing = _hashes(keys)
        self._seen.append(np.unique(hashes[~missing]))

    def rows(self, keys: pd.Series) -> np.ndarray:
        """The rows of a chunk whose invoice is split, as a mask, once all chunks were seen."""
        hashes, missing = _hashes(keys)
        rows: np.ndarray = np.isin(hashes, self._all()) & ~missing
        return rows

    def any(self) -> bool:
        """Whether any invoice is split."""
        return bool(len(self._all()))

    def _all(self) -> np.ndarray:
        if self._split is None:
            every = np.concatenate(self._seen) if self._seen else np.empty(0, np.uint64)
            hashes, chunks = np.unique(every, return_counts=True)
            self._split = hashes[chunks > 1]
            self._seen = []
        return self._split


def _hashes(keys: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row, equal for equal names up to blanks, and which rows have no name."""
    codes, uniques = pd.factorize(keys)
    names = [name.strip() if isinstance(name, str) else name for name in uniques.tolist()]
    each = np.fromiter(map(hash, names), np.int64, len(names))
    blank = np.array([name == "" for name in names], bool)  # 0 is a name
    return np.append(each, 0)[codes].view(np.uint64), np.append(blank, True)[codes]


def stamp_of(
    layout: Layout,
    terms: Terms,
    results: Results,
    *,
    rows: int,
    notes: list[str],
    before: Mapping[bytes, bytes] | None = None,
) -> Stamp:
    """What `df.svc.lookup()` and `df.svc.tax()` leave on a frame of these rows.

    Args:
        layout: what was decided of the file.
        terms: the terms.
        results: what was found.
        rows: how many rows there are.
        notes: what was decided, in sentences.
        before: the metadata of the file: what it remembers of other lookups stays.
    """
    prefix = terms.lookup.prefix
    former = Stamp.of_attributes(attributes_in(before))
    lookup = UsedLookup.by(prefix, layout.inputs, results, detail=terms.lookup.detail)
    stamp = former.without(prefix, *former).put(
        prefix,
        lookup,
        lookups=record_of(lookup, results, rows=rows, notes=notes, below=terms.lookup.below),
        columns={field.name: str(pd.ArrowDtype(field.type)) for field in layout.added},
    )
    return stamp if layout.tax is None else layout.tax.stamped(stamp)


_PANDAS_ATTRS = b"PANDAS_ATTRS"
"""Where pandas keeps a frame's attributes in a Parquet file."""


def attributes_in(metadata: Mapping[bytes, bytes] | None) -> dict[Hashable, Any]:
    """The attributes of the frame that a file holds; none where they are another program's."""
    try:
        found = json.loads((metadata or {}).get(_PANDAS_ATTRS, b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def with_stamp(before: Mapping[bytes, bytes] | None, stamp: Stamp) -> dict[bytes, bytes]:
    """A file's metadata with the stamp of this run instead of an earlier one."""
    metadata, rows = dict(before or {}), pd.DataFrame()
    rows.attrs = attributes_in(before)
    stamp.write(rows)
    metadata[_PANDAS_ATTRS] = json.dumps(rows.attrs, default=str).encode()
    if b"pandas" in metadata:  # Arrow stores them there, too
        pandas = json.loads(metadata[b"pandas"])
        if isinstance(pandas, dict) and pandas.pop("attributes", None):
            metadata[b"pandas"] = json.dumps(pandas).encode()
    return metadata
