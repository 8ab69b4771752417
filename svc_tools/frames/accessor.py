"""`df.svc`: all that a frame can be asked for. It validates nothing itself; it delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from svc_tools.frames.enrich import enrich
from svc_tools.frames.freeze import freeze
from svc_tools.frames.money_methods import MoneyMethods
from svc_tools.frames.nexus_methods import NexusMethods
from svc_tools.frames.options import Options
from svc_tools.frames.planning import make_plan
from svc_tools.frames.report_methods import ReportMethods
from svc_tools.lookup.plan import price_of

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Sequence
    from datetime import date, tzinfo
    from decimal import Decimal
    from pathlib import Path

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.frames.exact import RateForm
    from svc_tools.frames.freeze import Frozen
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.plan import Plan
    from svc_tools.places import Grain

__all__ = ["SvcAccessor"]


class SvcAccessor(MoneyMethods, NexusMethods, ReportMethods):
    """Sales-tax rates for the rows of a frame: `df.svc.lookup(...)`, then `df.svc.tax(...)`."""

    @overload
    def lookup(self, *, dry_run: Literal[True], **arguments: Any) -> Plan: ...  # noqa: ANN401 - as below

    @overload
    def lookup(
        self,
        *,
        state: Hashable | None = None,
        zip: Hashable | None = None,
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
        prefix: str = "",
        columns: Sequence[str] | None = None,
        detail: bool = False,
        errors: Literal["coerce", "raise"] = "coerce",
        progress: bool = True,
        rates: RateForm = "decimal",
        cache: CacheChoice = None,
        locked: str | Path | None = None,
        concurrency: int = 16,
        deadline: float | None = None,
        dry_run: Literal[False] = False,
    ) -> pd.DataFrame: ...

    def lookup(  # type: ignore[misc]  # a dry run takes what the lookup takes
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
        prefix: str = "",
        columns: Sequence[str] | None = None,
        detail: bool = False,
        errors: Literal["coerce", "raise"] = "coerce",
        progress: bool = True,
        rates: RateForm = "decimal",
        cache: CacheChoice = None,
        locked: str | Path | None = None,
        concurrency: int = 16,
        deadline: float | None = None,
        dry_run: bool = False,
    ) -> pd.DataFrame | Plan:
        """Look up the rate of every row's place, on its date. Distinct places are asked for once.

        An argument is a column's name, or one value for all rows; what is left out is found by
        the usual column names and said so, and `False` keeps a column out. Row by row the mode is
        address, else coordinates, else ZIP, else place name (SPEC 4.4). A city beside a ZIP is
        compared with the answer: a difference is the warning `place_input_mismatch`.

        Every answer is in the cache before it is reported, and no answer that is there is asked for
        again: run an interrupted lookup again, and it asks for the rest.

        Args:
            state: state codes or names; where missing, taken from a ZIP that lies in one state.
            zip: ZIP or ZIP+4, also as spreadsheets mangle them.
            address: street address, or the whole address in one line.
            city: city of the address.
            location: place name.
            lat: latitude in degrees.
            lng: longitude in degrees.
            country: country; rows outside the United States are `unsupported`, never asked.
            as_of: date of the sale; one obvious date column is found. Several, dates under another
                name or in the index, and months or quarters alone are an error that names them;
                "today" for today's rates.
            tz: the time zone whose calendar date counts where dates are moments in a time zone,
                such as "America/Chicago". Dates without a zone are taken as they stand.
            as_of_grain: "month" or "quarter" ask about the first day of the row's month or quarter:
                fewer requests, and `as_of_status` is `unverified` where that is another day.
            client: the service to ask; by default the configured one, else the embedded one.
            prefix: put before the names of the added columns.
            columns: which of the columns to add, such as `["combined_rate"]`; `lookup_status` and
                `lookup_error` come always, so that nothing that failed hides. Default: all.
            detail: ask for the full answer, and add `lookup_jurisdictions`: JSON text with level,
                code, name and rate of each jurisdiction.
            errors: "raise" for an exception where a row has no usable answer; it carries the frame.
            progress: show what was decided, and a progress bar.
            rates: "decimal" (exact, decimal128(7, 5)), "string" (five decimals) or "float".
            cache: where answers are kept: a path; `False` for nowhere; by default as configured.
            locked: a lock file that `freeze` wrote: no service is asked, every figure is as it was
                then, and what is not in it is `not_attempted`.
            concurrency: how many requests may be under way at once.
            deadline: the seconds that the asking may take; the rest is `not_attempted`.
            dry_run: ask nothing, and return the `Plan`: see `plan`.

        Returns:
            A new frame: same index, same order, and the columns that docs/COLUMNS.md explains:
            rates (fractions: 0.08250 is 8.25 %) and their range, confidence and warnings, the
            place and the day they are for, `needs_review` and why, `lookup_status` (ok, partial,
            unresolved, invalid, unsupported, failed, not_attempted) with `lookup_error`, and who
            answered, when and from what. Columns of an earlier lookup are replaced.

        Raises:
            ValueError: a column of yours has one of these names, or the arguments are not clear.
            ConfigurationError: a key without an address, or the other way round.
            LookupFailedError: with `errors="raise"`; its `frame` is the result.
        """
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
        if dry_run:
            return make_plan(self._frame, given, options, None)
        return enrich(self._frame, given, options)

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
        """What `lookup` with these arguments will take: nothing is asked, no service is started.

        It counts rows, distinct places, how many of them the cache answers, the requests for the
        rest (for each `as_of_grain`), the rows that are never asked and why, and, where they are
        known, the price and the lookups that the account has left this month.

        Args:
            state: see `lookup`.
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
            cache: see `lookup`.
            price: dollars for one lookup, such as "0.004".

        Returns:
            A `Plan`; print it, or read its fields.

        Raises:
            ValueError: the arguments are not clear, as for `lookup`, or the price is none.
        """
        options = Options(tz=tz, as_of_grain=as_of_grain, client=client, detail=detail, cache=cache)
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
        return make_plan(self._frame, given, options, price_of(price))

    def freeze(
        self,
        path: str | os.PathLike[str],
        *,
        prefix: str | None = None,
        cache: CacheChoice = None,
    ) -> Frozen:
        """Write every answer that the rows used to a lock file, such as "2026-10.svclock".

        `lookup(..., locked=path)` computes with it again: nothing is asked, the figures are the
        same, and a place or date that is not in it is `not_attempted`. The file has places and
        rates in plain text, one a line, and no API key.

        Args:
            path: the file; one that is there is replaced, whole or not at all.
            prefix: freeze only the lookup whose columns have this prefix.
            cache: where the answers of a frame that was read from a file are found again:
                `None` for the configured cache, a path, or `False` for nowhere.

        Returns:
            How many answers are in it, and what is not.

        Raises:
            ValueError: the frame remembers no lookup (frames that were put together, files), its
                places, dates or rates were changed since, or its lookups contradict each other.
            OSError: the file cannot be written.
        """
        return freeze(self._frame, path, prefix=prefix, cache=cache)
