"""`ddf.svc`: lookup, plan and tax of a Dask frame.

The distinct places of all partitions are looked up once, in this process, and joined by partition.
Importing this module makes `ddf.svc` available; `import svc_tools` does so where Dask's frames are
loaded, before or after it.
"""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Unpack

import numpy as np
import pandas as pd

from svc_tools.base.extras import needs
from svc_tools.tables.exports import recognized
from svc_tools.tables.text_dtype import text_dtype

with needs("ddf.svc", "dask"):
    from dask.base import compute
    from dask.dataframe.extensions import make_scalar, register_dataframe_accessor
    from dask.delayed import delayed
from pandas.api.types import is_integer_dtype, is_object_dtype, is_string_dtype

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.added.names import free_columns, names_of_lookup, require_columns, require_one
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.lookup.columns import free_labels, inputs_by
from svc_tools.frames.lookup.enrich import (
    LookupFailedError,
    enrich_rows,
    make_plan_of,
    with_columns,
)
from svc_tools.frames.lookup.queries import distinct_rows
from svc_tools.frames.lookup.survey import Survey
from svc_tools.frames.options import (
    LookupArguments,
    LookupOptions,
    TaxArguments,
    TaxOptions,
    check_layout,
    options_of,
    takes,
)
from svc_tools.frames.orders.order_lines import LineColumns, marked_lines
from svc_tools.frames.orders.order_numbers import OrderColumns, order_hashes
from svc_tools.frames.orders.orders import Orders, blank_cells
from svc_tools.frames.orders.reading import Reading
from svc_tools.frames.taxes.amounts import amounts_of_tax
from svc_tools.frames.taxes.tax import Tax, amounts_of_frame
from svc_tools.frames.values.odd_cells import Readable
from svc_tools.lookup.plan import price_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import dask.dataframe as dd

    from svc_tools.frames.taxes.amounts import AmountsOfTax
    from svc_tools.lookup.plan import Plan

_MERGED = 8
"""How many partitions' distinct combinations are merged at a time."""
_VALUES = 20
"""Values enough to recognize a column of dates, as text or as numbers such as 20260501."""
_LEVEL = 1
"""The level of zlib: the table is so repetitive that a higher one gains nothing."""


class ChangedDataError(RuntimeError):
    """A partition has a place that was not there when the places were collected."""


@register_dataframe_accessor("svc")
class DaskSvcAccessor:
    """Sales-tax rates for the rows of a Dask frame; every argument means what it does in `df.svc`.

    `lookup` and `plan` collect the distinct places when they are called; what they return, and
    `tax`, is lazy. See docs/DASK.md.
    """

    def __init__(self, frame: dd.DataFrame) -> None:
        self._frame = frame

    @takes(LookupArguments, LookupOptions)
    def lookup(self, **arguments: Unpack[LookupArguments]) -> dd.DataFrame:
        """Look up the rate of every row's place, on its date; see `df.svc.lookup`.

        Now: one pass over the columns of places and dates collects the distinct ones of all
        partitions, and this process looks each up once. Later, when the result is computed,
        however often: each partition is joined with the results, without a request.

        The arguments are those of `df.svc.lookup`. The key of `client`, the cache and a lock file
        stay in this process; with `errors="raise"` the exception comes now, and its `frame` is
        the lazy result.

        Returns:
            A lazy frame with the same partitions, index and divisions, and the columns that
            `df.svc.lookup` adds.

        Raises:
            ValueError: a column has one of the added names, or the arguments are ambiguous.
            ConfigurationError: a key without an address, or the other way round.
            LookupFailedError: with `errors="raise"`.
        """
        return _look_up(self._frame, options_of(LookupOptions, "lookup", arguments))

    @takes(LookupArguments, LookupOptions)
    def plan(
        self, *, price: str | Decimal | None = None, **arguments: Unpack[LookupArguments]
    ) -> Plan:
        """What `lookup` with these arguments will take; see `df.svc.plan`. Sends no request.

        One pass over the columns of places and dates counts the distinct ones.

        The arguments are those of `lookup`, and `price`: dollars for one lookup, such as "0.004".

        Returns:
            A `Plan`; print it, or read its fields.

        Raises:
            ValueError: the arguments are ambiguous, as for `lookup`, or the price is not an amount.
        """
        options = options_of(LookupOptions, "plan", arguments)
        found = _collected(self._frame, options)
        return make_plan_of(found.survey, options, price_of(price))

    @takes(TaxArguments, TaxOptions)
    def tax(
        self, amount: Hashable | None = None, **arguments: Unpack[TaxArguments]
    ) -> dd.DataFrame:
        """Add the tax, exact to the cent, partition by partition and lazily; see `df.svc.tax`.

        The arguments are those of `df.svc.tax`. Each `invoice` must lie within one partition, which
        is checked now, by one pass over its column.

        Returns:
            A lazy frame with the columns that `df.svc.tax` adds.

        Raises:
            ValueError: the frame has not been looked up, a column is missing or not one of its
                added columns, or an invoice has rows in several partitions.
        """
        options = options_of(TaxOptions, "tax", {"amount": amount, **arguments})
        return _tax_frame(self._frame, options)

    def __getattr__(self, name: str) -> NoReturn:
        """Explain the methods of `df.svc` that need all rows in one place."""
        if hasattr(SvcAccessor, name) and not name.startswith("_"):
            raise AttributeError(
                f"ddf.svc.{name}: this needs all rows in one place; compute what it is about"
                f" first, for instance ddf.compute().svc.{name}(…)"
            )
        raise AttributeError(f"ddf.svc has no attribute {name!r}")


@make_scalar.register(Decimal)  # type: ignore[untyped-decorator]  # Dask has no types
def _a_decimal(_: Decimal) -> Decimal:
    """Dask's example of a sum of decimals, without which it cannot name such a sum."""
    return Decimal(1)


def _look_up(ddf: dd.DataFrame, options: LookupOptions) -> dd.DataFrame:
    found = _collected(ddf, options)
    rows = pd.DataFrame(index=found.frame.index)  # the results alone: the places are in the table
    rows.attrs = found.attrs
    try:
        results = enrich_rows(rows, found.survey, options)
    except LookupFailedError as error:
        lazy: Any = _mapped(ddf, found, error.frame, options)
        error.frame = lazy
        raise
    return _mapped(ddf, found, results, options)


@dataclass(frozen=True, slots=True)
class _Collected:
    """The queries of a Dask frame.

    Attributes:
        frame: the distinct combinations of the columns that the queries are made of.
        survey: the query of each row of `frame`, and the rows of all partitions that have it.
        attrs: the attributes that earlier lookups left on the Dask frame.
    """

    frame: pd.DataFrame
    survey: Survey
    attrs: dict[Hashable, Any]


def _collected(ddf: dd.DataFrame, options: LookupOptions) -> _Collected:
    kept = free_columns(ddf._meta, options.prefix, options.names)  # noqa: SLF001 - Dask's empty frame
    check_layout(options, free_labels(ddf._meta))  # noqa: SLF001 - as above
    found = inputs_by(options, _first_values(ddf), rows=partial(_some_rows, ddf))
    # further rows of an order may be in another partition
    inputs = replace(found, reading=Reading())
    frame, counted = distinct(ddf, list(dict.fromkeys(inputs.columns.values())))
    return _Collected(frame, Survey.of(frame, inputs, counted), kept.attrs)


_PARTS, _ROWS = 4, 500
"""So many partitions, spread over the frame, are read to compare columns, and rows of each."""


def _some_rows(ddf: dd.DataFrame, labels: Sequence[Hashable]) -> list[tuple[object, ...]]:
    """The cells of some rows of these columns."""
    narrow, last = ddf[list(labels)], ddf.npartitions - 1
    places = sorted({at * last // (_PARTS - 1) for at in range(_PARTS)})
    parts = [narrow.partitions[at].to_delayed()[0] for at in places]
    heads = compute(*[delayed(pd.DataFrame.head)(part, _ROWS) for part in parts])
    read = [Readable.of(head).frame for head in heads]
    return [row for head in read for row in head.itertuples(index=False, name=None)]


def _first_values(ddf: dd.DataFrame) -> pd.DataFrame:
    """A small frame with the names, types and first values that columns are recognized by.

    Dates are recognized by values, too. They are read from the first partition, and from further
    ones only for columns of text or whole numbers that have fewer values there.
    """
    typical: pd.DataFrame = ddf._meta_nonempty  # noqa: SLF001 - Dask's example of the frame
    if not typical.columns.is_unique:
        return typical  # refused where the columns are found
    labels = [label for label in typical.columns if _may_be_dates(typical[label].dtype)]
    known: dict[Hashable, pd.Series] = {}
    begin, count = 0, 1
    while begin < ddf.npartitions and labels:
        parts = ddf[labels].partitions[begin : begin + count].to_delayed()
        for firsts in compute(*[delayed(_firsts)(part) for part in parts]):
            for label, values in firsts.items():
                # an empty column's type must not change that of the others
                both = [
                    cells
                    for cells in (known.get(label), values)
                    if cells is not None and len(cells)
                ]
                known[label] = pd.concat(both or [values], ignore_index=True).iloc[:_VALUES]
        labels = [label for label in labels if len(known[label]) < _VALUES]
        begin, count = begin + count, 2 * count
    sample = typical.iloc[[0] * _VALUES].copy()
    for label, values in known.items():
        sample[label] = values.reindex(range(_VALUES)).array
    return sample


def _firsts(partition: pd.DataFrame) -> dict[Hashable, pd.Series]:
    partition = Readable.of(partition).frame
    return {
        label: partition[label].dropna().iloc[:_VALUES].reset_index(drop=True)
        for label in partition.columns
    }


def _may_be_dates(dtype: Any) -> bool:  # noqa: ANN401 - what pandas calls a dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    return bool(is_object_dtype(dtype) or is_string_dtype(dtype) or is_integer_dtype(dtype))


Distinct = tuple[pd.DataFrame, np.ndarray]
"""The distinct combinations of a frame's columns, and the number of rows of each (int64)."""


def distinct(ddf: dd.DataFrame, labels: Sequence[Hashable]) -> Distinct:
    """The distinct combinations of these columns, in one pass over these columns alone.

    The combinations of the partitions are merged as a tree: no worker ever holds more than those of
    `_MERGED` partitions, and this process gets each combination once.
    """
    of_partition, merged = delayed(_of_partition, pure=True), delayed(_merged, pure=True)
    # a projection of no column still has an index, which counts the rows
    level = [of_partition(part, list(labels)) for part in ddf[list(labels)].to_delayed()]
    while len(level) > 1:
        groups = [level[start : start + _MERGED] for start in range(0, len(level), _MERGED)]
        level = [merged(group, list(labels)) for group in groups]
    (only,) = level
    result: Distinct = only.compute()
    return result


def _of_partition(frame: pd.DataFrame, labels: list[Hashable]) -> Distinct:
    return _distinct(Readable.of(frame).frame, np.ones(len(frame), np.int64), labels)


def _merged(parts: list[Distinct], labels: list[Hashable]) -> Distinct:
    # an empty partition's columns may have any type: it must not change that of the others
    filled = [part for part in parts if len(part[0])] or parts[:1]
    frame = pd.concat([part[0] for part in filled], ignore_index=True)
    return _distinct(frame, np.concatenate([part[1] for part in filled]), labels)


def _distinct(frame: pd.DataFrame, rows: np.ndarray, labels: list[Hashable]) -> Distinct:
    codes, first = distinct_rows(frame, labels)
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, codes, rows)
    return frame.iloc[first].reset_index(drop=True), counts


def _mapped(
    ddf: dd.DataFrame, found: _Collected, results: pd.DataFrame, options: LookupOptions
) -> dd.DataFrame:
    """The lazy frame: each partition joined with the results, which go to the workers once."""
    meta = ddf._meta  # noqa: SLF001 - Dask's empty frame, which knows what a lookup added
    former = meta.columns.difference(free_columns(meta, options.prefix, options.names).columns)
    table = _Table(_keys(found.frame), options.prefix, results, former)
    meta = _joined(meta, table)
    broadcast = delayed(table, traverse=False)
    mapped: dd.DataFrame = ddf.map_partitions(_joined, broadcast, meta=meta)
    return mapped


class _Key(NamedTuple):
    """One column of places: its distinct values, and their combinations with those before it.

    Values are objects, because partitions may have text or numbers in different types.
    """

    label: Hashable
    values: pd.Index
    combinations: pd.Index


@dataclass(frozen=True)
class _Table:
    """The results of a lookup by place: one row of `results` for each distinct combination.

    They replace the columns `former` of an earlier lookup.
    """

    keys: list[_Key]
    prefix: str
    results: pd.DataFrame
    former: pd.Index

    def __reduce__(self) -> tuple[Any, ...]:
        """Compress the table: Dask warns of a graph of more than 10 MB."""
        return _unpacked, (zlib.compress(pickle.dumps(vars(self), protocol=5), _LEVEL),)


def _unpacked(packed: bytes) -> _Table:
    # a graph has code as well as data, so unpickling adds no risk
    return _Table(**pickle.loads(zlib.decompress(packed)))  # noqa: S301


def _keys(frame: pd.DataFrame) -> list[_Key]:
    """The keys of a table whose rows are those of `frame`, in their order.

    Combinations are numbered column by column, so that no product of counts overflows.
    """
    codes = np.zeros(len(frame), np.int64)
    keys = []
    for label in frame.columns:
        column, uniques = pd.factorize(frame[label])
        column = np.where(column < 0, len(uniques), column)
        codes, combinations = pd.factorize(codes * (len(uniques) + 1) + column)
        keys.append(_Key(label, _objects(uniques), pd.Index(combinations)))
    return keys


def _objects(values: Any) -> pd.Index:  # noqa: ANN401 - any array of a column
    index: pd.Index = pd.Index(np.asarray(values, dtype=object), dtype=object)
    return index


def _joined(partition: pd.DataFrame, table: _Table) -> pd.DataFrame:
    """A partition with the columns of its results.

    Raises:
        ChangedDataError: the partition has a place that is not in the table.
    """
    codes = np.zeros(len(partition), np.int64)
    read = Readable.of(partition).frame
    for label, values, combinations in table.keys:
        column, uniques = pd.factorize(read[label])
        positions = values.get_indexer(_objects(uniques))
        if (positions < 0).any():
            raise _changed(label, uniques[int(np.argmin(positions))])
        # the last one is for what is missing, whose code is -1
        combined = codes * (len(values) + 1) + np.append(positions, len(values))[column]
        codes = combinations.get_indexer(pd.Index(combined))
        if (codes < 0).any():
            raise _changed(label, read[label].iloc[int(np.argmin(codes))])
    prefix, results = table.prefix, table.results
    added = {str(name)[len(prefix) :]: results[name].array.take(codes) for name in results}
    joined = with_columns(partition.drop(columns=table.former), prefix, added)
    joined.attrs |= results.attrs
    return joined


def _changed(label: Hashable, value: object) -> ChangedDataError:
    return ChangedDataError(
        f"column {label!r} now holds {str(value)[:40]!r} in a row whose place was not there when"
        " the places were collected: the data behind the frame changed, or are generated at random"
        " each time. Look up again, or persist() the frame first"
    )


def _tax_frame(ddf: dd.DataFrame, options: TaxOptions) -> dd.DataFrame:
    if options.invoice is not None:
        _require_whole_invoices(ddf, options.invoice)
    source = _amounts(ddf, options)
    _require_whole_orders(ddf, source.reading)
    _require_whole_lines(ddf, source.reading)
    empty = ddf._meta  # noqa: SLF001 - Dask's empty frame
    # here, once: an iterator of registrations can be read once, and the workers lack a file of them
    tax = Tax.of(source, names_of_lookup(empty, options.prefix))
    meta = _taxed(empty, tax, {})
    stamp = Stamp.of(meta)
    same = {"columns": stamp.columns[options.prefix], "terms": stamp.terms[options.prefix]}
    taxed: dd.DataFrame = ddf.map_partitions(_taxed, tax, same, meta=meta)
    return taxed


def _taxed(partition: pd.DataFrame, tax: Tax, same: Mapping[str, Any]) -> pd.DataFrame:
    """A partition with its tax; `same` is what all partitions remember of it."""
    read = Readable.of(partition)
    taxed = read.restored(tax.add(read.frame))
    Stamp.of(taxed).put(tax.terms.prefix, **same).write(taxed)
    return taxed


def _require_whole_invoices(ddf: dd.DataFrame, invoice: Hashable) -> None:
    """Refuse invoices that lie in several partitions: each part would be rounded separately.

    One pass, which sends eight bytes for each invoice of a partition to this process.
    """
    meta = ddf._meta  # noqa: SLF001 - Dask's empty frame
    require_columns(meta, (invoice,), "name the column of invoices: ddf.svc.tax(invoice='…')")
    require_one(meta, invoice, "invoice")
    if ddf.npartitions == 1:
        return
    numbers = delayed(_invoice_hashes, pure=True)
    found = compute(*[numbers(part, invoice) for part in ddf[[invoice]].to_delayed()])
    _, times = np.unique(np.concatenate(found), return_counts=True)
    split = int(np.count_nonzero(times > 1))
    if split:
        raise ValueError(
            f"invoice: {split:,} of {len(times):,} invoices in column {invoice!r} have rows in"
            " several partitions, and cents cannot be spread over what another worker holds."
            f" Before the lookup bring each into one: ddf = ddf.shuffle({invoice!r}), or"
            f" ddf.set_index({invoice!r}, drop=False) (after it, a shuffle would make objects of"
            " the exact columns)"
        )


def _amounts(ddf: dd.DataFrame, options: TaxOptions) -> AmountsOfTax:
    """Where the tax finds its amounts: by the table of an export, else by the first rows."""
    meta = ddf._meta  # noqa: SLF001 - Dask's empty frame
    labels = free_labels(meta)
    if recognized(labels) is not None or (
        options.amount is not None and options.amount not in meta
    ):
        return amounts_of_tax(meta, labels, options)
    parts = []
    for at in range(ddf.npartitions):
        parts.append(ddf.partitions[at].compute())
        if sum(map(len, parts)) >= _ROWS:
            break
    first = Readable.of(pd.concat(parts) if len(parts) > 1 else parts[0]).frame
    source = amounts_of_frame(first, options)
    return source if len(parts) == ddf.npartitions else source.of_some_rows()


def _require_whole_orders(ddf: dd.DataFrame, reading: Reading) -> None:
    """Refuse orders whose amounts stand in several partitions: they would count in each.

    One pass, which sends eight bytes for each order of a partition to this process.
    """
    sums, order = reading.sums, reading.order
    if sums is None or order is None or ddf.npartitions == 1:
        return
    if not any(term.once for term in (*sums.goods, *sums.delivery)):
        return
    numbers = delayed(_order_hashes, pure=True)
    used = ddf[[order, *filter(None, [reading.orders.day]), *reading.orders.place, *reading.once]]
    found = compute(*[numbers(part, reading) for part in used.to_delayed()])
    _, times = np.unique(np.concatenate(found), return_counts=True)
    split = int(np.count_nonzero(times > 1))
    if split:
        name = "this file" if reading.export is None else reading.export.name
        raise ValueError(
            f"order: {split:,} of {len(times):,} orders in column {order!r} have amounts in several"
            f" partitions, and would count more than once ({name} repeat the amounts of an"
            f" order in its rows). Before the lookup bring each into one: ddf ="
            f" ddf.shuffle({order!r})"
        )


def _require_whole_lines(ddf: dd.DataFrame, reading: Reading) -> None:
    """Refuse orders in several partitions of which a line is not taxable, or no sale.

    One pass, which sends eight bytes for each order of a partition to this process, and eight more
    where a line is marked.
    """
    lines, order = reading.lines, reading.order
    if lines is None or order is None or ddf.npartitions == 1:
        return
    used = ddf[[*dict.fromkeys([order, *filter(None, [lines.taxable, lines.name])])]]
    numbers = delayed(_marked_orders, pure=True)
    found = compute(*[numbers(part, reading) for part in used.to_delayed()])
    every, times = np.unique(np.concatenate([of for of, _ in found]), return_counts=True)
    marked = np.unique(np.concatenate([of for _, of in found]))
    split = int(np.count_nonzero(np.isin(marked, every[times > 1])))
    if split:
        raise ValueError(
            f"order: {split:,} orders in column {order!r} have lines that are not taxable, gift"
            " cards or tips, and rows in several partitions, so that none has all lines. Before the"
            f" lookup bring each into one: ddf = ddf.shuffle({order!r}); or tax these lines, too:"
            " taxable=False"
        )


def _marked_orders(partition: pd.DataFrame, reading: Reading) -> tuple[np.ndarray, np.ndarray]:
    """A 64-bit hash of the number of each order of a partition; and of those with marked lines."""
    hashes, _ = order_hashes(partition, OrderColumns(reading.order))
    there = ~blank_cells(partition[reading.order])
    marked = there & marked_lines(partition, reading.lines or LineColumns()).any
    return np.unique(hashes[there]), np.unique(hashes[marked])


def _order_hashes(partition: pd.DataFrame, reading: Reading) -> np.ndarray:
    """A 64-bit hash for each order of a partition that has amounts there."""
    hashes, rows = Orders(Readable.of(partition).frame, reading).hashes()
    return np.unique(hashes[rows])


def _invoice_hashes(partition: pd.DataFrame, invoice: Hashable) -> np.ndarray:
    """A 64-bit hash for each invoice of a partition."""
    distinct = pd.Series(Readable.of(partition[[invoice]]).frame[invoice].dropna().unique()).astype(
        text_dtype()
    )
    return pd.util.hash_array(distinct.to_numpy(object), categorize=False)
