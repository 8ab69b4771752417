"""`ddf.svc.tax`: each partition's tax is computed by itself, lazily, as `df.svc.tax` does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from dask.base import compute
from dask.delayed import delayed

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.enriched import TERMS, require_columns, require_one
from svc_tools.frames.ownership import TAXED
from svc_tools.frames.taxes.due import register_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import dask.dataframe as dd

__all__ = ["tax_frame"]


def tax_frame(
    ddf: dd.DataFrame, *, invoice: Hashable | None, arguments: Mapping[str, Any]
) -> dd.DataFrame:
    """Add the tax; see `DaskSvcAccessor.tax`."""
    if invoice is not None:
        _require_whole_invoices(ddf, invoice)
    given = {**arguments, "invoice": invoice, "progress": False}
    if given["nexus"] is not None and not isinstance(given["nexus"], str | Path):
        given["nexus"] = register_of(given["nexus"])  # an iterator gives its records once
    # wrong arguments are refused now, by Dask's empty frame
    meta = _taxed(ddf._meta, given, {})  # noqa: SLF001 - as above
    if given["nexus"] is not None:
        given["nexus"] = register_of(given["nexus"])  # the workers need no file of it
    told = {name: meta.attrs[name] for name in (TAXED, TERMS) if name in meta.attrs}
    taxed: dd.DataFrame = ddf.map_partitions(_taxed, given, told, meta=meta)
    return taxed


def _taxed(
    partition: pd.DataFrame, given: Mapping[str, Any], told: Mapping[str, Any]
) -> pd.DataFrame:
    taxed = SvcAccessor(partition).tax(**given)
    taxed.attrs.update(told)
    return taxed


def _require_whole_invoices(ddf: dd.DataFrame, invoice: Hashable) -> None:
    """Refuse invoices that lie in several partitions: each would round its part by itself.

    Computes: one pass that brings eight bytes for each invoice here.
    """
    meta = ddf._meta  # noqa: SLF001 - Dask's empty frame
    require_columns(meta, (invoice,), "name the column of invoices: ddf.svc.tax(invoice='…')")
    require_one(meta, invoice, "invoice")
    if ddf.npartitions == 1:
        return
    numbers = delayed(_numbers, pure=True)
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


def _numbers(partition: pd.DataFrame, invoice: Hashable) -> np.ndarray:
    """A number of 64 bits for each invoice of a partition."""
    distinct = pd.Series(partition[invoice].dropna().unique()).astype("str")
    return pd.util.hash_array(distinct.to_numpy(object), categorize=False)
