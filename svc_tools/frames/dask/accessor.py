"""`ddf.svc`: lookup, plan and tax of a Dask frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import pandas as pd
from dask.base import compute
from dask.delayed import delayed

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.dask.lookup import look_up_frame, plan_frame
from svc_tools.frames.lookup_columns import TAXED, TERMS, require_columns, require_one
from svc_tools.frames.options import Options
from svc_tools.frames.taxes.due import register_of
from svc_tools.lookup.plan import price_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from datetime import date, tzinfo
    from decimal import Decimal

    import dask.dataframe as dd

    from svc_sdk import Svc
    from svc_tools.frames.arrow import RateForm
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.plan import Plan
    from svc_tools.places import Grain


class DaskSvcAccessor:
    """Sales-tax rates for the rows of a Dask frame; every argument means what it does in `df.svc`.

    `lookup` and `plan` collect the distinct places when they are called; what they return, and
    `tax`, is lazy. See docs/DASK.md.
    """

    def __init__(self, frame: dd.DataFrame) -> None:
        self._frame = frame

    def lookup(
        self,
        *,
        state: Hashable | None = None,
        zip: Hashable | None = None,  # noqa: A002 - the specification's name (SPEC 4.4)
        address: Hashable | None = None,
        city: Hashable | None = None,
        location: Hashable | None = None,
        lat: Hashable | None = None,
        lng: Hashable | None = None,
        country: Hashable | None = None,
        as_of: Hashable | date | None = None,
        tz: str | tzinfo | None = None,
        as_of_grain: Grain = "day",
        detail: bool = False,
        columns: Sequence[str] | None = None,
        client: Svc | None = None,
        cache: CacheChoice = None,
        locked: str | Path | None = None,
        concurrency: int = 16,
        deadline: float | None = None,
        prefix: str = "",
        errors: Literal["coerce", "raise"] = "coerce",
        progress: bool = True,
        rates: RateForm = "decimal",
    ) -> dd.DataFrame:
        """Look up the rate of every row's place, on its date; see `df.svc.lookup`.

        Now: one pass over the columns of places and dates collects the distinct ones of all
        partitions, and this process looks each up once. Later, when the result is computed,
        however often: each partition is joined with the results, without a request.

        Args:
            state: as all arguments down to `as_of`, a column's name or one value for all rows;
                missing ones are found by the usual names and reported, `False` keeps one out.
            zip: ZIP or ZIP+4, also as spreadsheets mangle them.
            address: street address, or the whole address in one line.
            city: city of the address.
            location: place name.
            lat: latitude in degrees.
            lng: longitude in degrees.
            country: rows outside the United States are `unsupported`, without a request.
            as_of: date of the sale; "today" for today's rates.
            tz: the zone that times with a zone are converted to, for their calendar date.
            as_of_grain: use the first day of each date's month or quarter: fewer requests.
            detail: request the full response: adds `lookup_jurisdictions`.
            columns: which of the columns to add; `lookup_status` and `lookup_error` always.
            client: the service; by default the configured one, else the embedded one. Its key
                stays in this process.
            cache: a path on this machine; `False` for none; by default as configured.
            locked: a lock file of `df.svc.freeze`, read here: no request is sent.
            concurrency: concurrent requests.
            deadline: seconds for all requests together; the rest is `not_attempted`.
            prefix: put before the names of the added columns.
            errors: "raise" for an exception, now, where a row has no usable result; its `frame`
                is the lazy result.
            progress: show what was decided, and a progress bar.
            rates: "decimal" (exact, decimal128(7, 5)), "string" (five decimals) or "float".

        Returns:
            A lazy frame with the same partitions, index and divisions, and the columns that
            `df.svc.lookup` adds.

        Raises:
            ValueError: a column has one of the added names, or the arguments are ambiguous.
            ConfigurationError: a key without an address, or the other way round.
            LookupFailedError: with `errors="raise"`.
        """
        roles = (state, zip, address, city, location, lat, lng, country, as_of)
        options = Options(
            prefix=prefix,
            errors=errors,
            progress=progress,
            rates=rates,
            tz=tz,
            as_of_grain=as_of_grain,
            detail=detail,
            columns=columns,
            client=client,
            cache=cache,
            locked=locked,
            concurrency=concurrency,
            deadline=deadline,
        )
        return look_up_frame(self._frame, _given(roles), options)

    def plan(
        self,
        *,
        state: Hashable | None = None,
        zip: Hashable | None = None,  # noqa: A002 - the specification's name (SPEC 4.4)
        address: Hashable | None = None,
        city: Hashable | None = None,
        location: Hashable | None = None,
        lat: Hashable | None = None,
        lng: Hashable | None = None,
        country: Hashable | None = None,
        as_of: Hashable | date | None = None,
        tz: str | tzinfo | None = None,
        as_of_grain: Grain = "day",
        client: Svc | None = None,
        detail: bool = False,
        cache: CacheChoice = None,
        price: str | Decimal | None = None,
    ) -> Plan:
        """What `lookup` with these arguments will take; see `df.svc.plan`. Sends no request.

        One pass over the columns of places and dates counts the distinct ones.

        The arguments are those of `lookup`, and `price`: dollars for one lookup, such as "0.004".

        Returns:
            A `Plan`; print it, or read its fields.

        Raises:
            ValueError: the arguments are ambiguous, as for `lookup`, or the price is not an amount.
        """
        options = Options(tz=tz, as_of_grain=as_of_grain, client=client, detail=detail, cache=cache)
        roles = (state, zip, address, city, location, lat, lng, country, as_of)
        return plan_frame(self._frame, _given(roles), options, price_of(price))

    def tax(
        self,
        amount: Hashable = "amount",
        *,
        shipping: Hashable | None = None,
        exempt: Hashable | None = None,
        rounding: Literal["half_up", "half_even", "up", "down"] = "half_up",
        invoice: Hashable | None = None,
        partial: Literal["use"] | None = None,
        nexus: object = None,
        channel: Hashable | None = None,
        ship_from: Hashable | None = None,
        prefix: str = "",
        errors: Literal["coerce", "raise"] = "coerce",
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
        arguments = {
            "amount": amount,
            "shipping": shipping,
            "exempt": exempt,
            "rounding": rounding,
            "partial": partial,
            "nexus": nexus,
            "channel": channel,
            "ship_from": ship_from,
            "prefix": prefix,
            "errors": errors,
        }
        return _tax_frame(self._frame, invoice, arguments)

    def __getattr__(self, name: str) -> NoReturn:
        """Explain the methods of `df.svc` that need all rows in one place."""
        if hasattr(SvcAccessor, name) and not name.startswith("_"):
            raise AttributeError(
                f"ddf.svc.{name}: this needs all rows in one place; compute what it is about"
                f" first, for instance ddf.compute().svc.{name}(…)"
            )
        raise AttributeError(f"ddf.svc has no attribute {name!r}")


def _given(values: Sequence[object]) -> dict[str, object]:
    roles = ("state", "zip", "address", "city", "location", "lat", "lng", "country", "as_of")
    return dict(zip(roles, values, strict=True))


def _tax_frame(
    ddf: dd.DataFrame, invoice: Hashable | None, arguments: Mapping[str, Any]
) -> dd.DataFrame:
    if invoice is not None:
        _require_whole_invoices(ddf, invoice)
    given = {**arguments, "invoice": invoice, "progress": False}
    if given["nexus"] is not None and not isinstance(given["nexus"], str | Path):
        given["nexus"] = register_of(given["nexus"])  # an iterator can be read once
    # wrong arguments are refused now, by Dask's empty frame
    meta = _taxed(ddf._meta, given, {})  # noqa: SLF001 - Dask's empty frame
    if given["nexus"] is not None:
        given["nexus"] = register_of(given["nexus"])  # the workers do not need its file
    remembered = {name: meta.attrs[name] for name in (TAXED, TERMS) if name in meta.attrs}
    taxed: dd.DataFrame = ddf.map_partitions(_taxed, given, remembered, meta=meta)
    return taxed


def _taxed(
    partition: pd.DataFrame, given: Mapping[str, Any], remembered: Mapping[str, Any]
) -> pd.DataFrame:
    taxed = SvcAccessor(partition).tax(**given)
    taxed.attrs.update(remembered)
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


def _invoice_hashes(partition: pd.DataFrame, invoice: Hashable) -> np.ndarray:
    """A 64-bit hash for each invoice of a partition."""
    distinct = pd.Series(partition[invoice].dropna().unique()).astype("str")
    return pd.util.hash_array(distinct.to_numpy(object), categorize=False)
