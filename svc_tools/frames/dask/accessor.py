"""`ddf.svc`: what a Dask frame can be asked for. It decides nothing itself; it delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NoReturn

from svc_sdk import Svc
from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.dask.lookup import look_up_frame, plan_frame
from svc_tools.frames.dask.money import tax_frame
from svc_tools.frames.options import Options
from svc_tools.lookup.plan import price_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from datetime import date, tzinfo
    from decimal import Decimal
    from pathlib import Path

    import dask.dataframe as dd

    from svc_tools.frames.exact import RateForm
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.plan import Plan
    from svc_tools.places import Grain

__all__ = ["DaskSvcAccessor"]


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
        client: Svc | Callable[[], Svc] | None = None,
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

        Now: one pass over the columns of places and dates collects the distinct ones of the whole
        cluster, and each is asked for once, by the workers in turn. Later, when the result is
        computed, however often: each partition is joined with what was found, without a request.

        Args:
            state: as all arguments down to `as_of`, a column's name or one value for all rows;
                what is left out is found by the usual names and said so, `False` keeps it out.
            zip: ZIP or ZIP+4, also as spreadsheets mangle them.
            address: street address, or the whole address in one line.
            city: city of the address.
            location: place name.
            lat: latitude in degrees.
            lng: longitude in degrees.
            country: rows outside the United States are `unsupported`, never asked.
            as_of: date of the sale; "today" for today's rates.
            tz: the zone that times with a zone are converted to, for their calendar date.
            as_of_grain: ask for the first day of each date's month or quarter: fewer requests.
            detail: ask for the full answer: adds `lookup_jurisdictions`.
            columns: which of the columns to add; `lookup_status` and `lookup_error` always.
            client: a client: asked from this process, which its key never leaves. A function that
                makes one: called on the workers. Nothing: the workers' own configuration.
            cache: nothing: the configured cache of whoever asks, and of this process; `False`:
                none; or a path, on the workers too.
            locked: a lock file of `df.svc.freeze`, read here: nothing is asked.
            concurrency: requests under way at once, by all workers together.
            deadline: seconds for all requests together; the rest is `not_attempted`.
            prefix: put before the names of the added columns.
            errors: "raise" for an exception, now, where a row has no usable answer; its `frame`
                is the lazy result.
            progress: show what was decided, and a progress bar.
            rates: "decimal" (exact, decimal128(7, 5)), "string" (five decimals) or "float".

        Returns:
            A lazy frame with the same partitions, index and divisions, and the columns that
            `df.svc.lookup` adds.

        Raises:
            ValueError: a column of yours has one of these names, or the arguments are not clear.
            ConfigurationError: the workers and this process are configured for different services.
            LookupFailedError: with `errors="raise"`.
        """
        given = {
            "state": state,
            "zip": zip,
            "address": address,
            "city": city,
            "location": location,
            "lat": lat,
            "lng": lng,
            "country": country,
            "as_of": as_of,
        }
        made_here, factory = _asked(client)
        options = Options(
            prefix=prefix,
            errors=errors,
            progress=progress,
            rates=rates,
            tz=tz,
            as_of_grain=as_of_grain,
            detail=detail,
            columns=columns,
            client=made_here,
            cache=cache,
            locked=locked,
            concurrency=concurrency,
            deadline=deadline,
        )
        return look_up_frame(self._frame, given, options, factory)

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
        client: Svc | Callable[[], Svc] | None = None,
        detail: bool = False,
        cache: CacheChoice = None,
        price: str | Decimal | None = None,
    ) -> Plan:
        """What `lookup` with these arguments will take; see `df.svc.plan`. Asks for nothing.

        One pass over the columns of places and dates counts the distinct ones of the cluster.

        Args:
            state: as all arguments but `price`: see `lookup`.
            zip: see `lookup`.
            address: see `lookup`.
            city: see `lookup`.
            location: see `lookup`.
            lat: see `lookup`.
            lng: see `lookup`.
            country: see `lookup`.
            as_of: see `lookup`.
            tz: see `lookup`.
            as_of_grain: see `lookup`.
            client: see `lookup`.
            detail: see `lookup`.
            cache: see `lookup`; what counts is what this process finds there.
            price: dollars for one lookup, such as "0.004".

        Returns:
            A `Plan`; print it, or read its fields.

        Raises:
            ValueError: the arguments are not clear, as for `lookup`, or the price is none.
        """
        made_here, factory = _asked(client)
        options = Options(
            tz=tz, as_of_grain=as_of_grain, client=made_here, detail=detail, cache=cache
        )
        given = {
            "state": state,
            "zip": zip,
            "address": address,
            "city": city,
            "location": location,
            "lat": lat,
            "lng": lng,
            "country": country,
            "as_of": as_of,
        }
        return plan_frame(self._frame, given, options, factory, price_of(price))

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

        Args:
            amount: as all the arguments down to `ship_from`: see `df.svc.tax`.
            shipping: separately stated delivery.
            exempt: what is exempt.
            rounding: how a fraction of a cent becomes a cent.
            invoice: the column of invoices: each must lie within one partition, which is checked
                now, by one pass over the column.
            partial: "use" computes the tax of partial rows too.
            nexus: the register of the seller's nexus.
            channel: how each row was sold.
            ship_from: the state that each row was shipped from.
            prefix: the prefix that the lookup was given.
            errors: "raise" for an exception where an amount cannot be used, when it is computed.

        Returns:
            A lazy frame with the columns that `df.svc.tax` adds.

        Raises:
            ValueError: the frame has not been looked up, a column is not there or not ours, or
                an invoice has rows in several partitions.
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
        return tax_frame(self._frame, invoice=invoice, arguments=arguments)

    def __getattr__(self, name: str) -> NoReturn:
        """What `df.svc` can do with a frame as a whole needs that frame in one place."""
        if hasattr(SvcAccessor, name) and not name.startswith("_"):
            raise AttributeError(
                f"ddf.svc.{name}: this needs all rows in one place; compute what it is about"
                f" first, for instance ddf.compute().svc.{name}(…)"
            )
        raise AttributeError(f"ddf.svc has no attribute {name!r}")


def _asked(
    client: Svc | Callable[[], Svc] | None,
) -> tuple[Svc | None, Callable[[], Svc] | None]:
    """A client that was made here, or what makes one on the workers."""
    if client is None or isinstance(client, Svc):
        return client, None
    if callable(client):
        return None, client
    raise TypeError(
        f"client: expected svc_sdk.Svc, or a function that makes one, not {type(client).__name__}"
    )
