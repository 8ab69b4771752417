"""`df.svc`: all that a frame can be asked for. It validates nothing itself; it delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc_tools.frames.enrich import enrich
from svc_tools.frames.money_methods import MoneyMethods
from svc_tools.frames.report_methods import ReportMethods

if TYPE_CHECKING:
    from collections.abc import Hashable
    from datetime import date

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.frames.exact import RateForm

__all__ = ["SvcAccessor"]


class SvcAccessor(MoneyMethods, ReportMethods):
    """Sales-tax rates for the rows of a frame: `df.svc.lookup(...)`, then `df.svc.tax(...)`."""

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
        client: Svc | None = None,
        prefix: str = "",
        errors: Literal["coerce", "raise"] = "coerce",
        progress: bool = True,
        rates: RateForm = "decimal",
    ) -> pd.DataFrame:
        """Look up the rate of every row's place, on its date. Distinct places are asked for once.

        An argument is a column's name, or one value for all rows; what is left out is found by
        the usual column names and said so, and `False` keeps a column out. Row by row the mode is
        address, else coordinates, else ZIP, else place name (SPEC 4.4). A city beside a ZIP is
        compared with the answer: a difference is the warning `place_input_mismatch`.

        Args:
            state: state codes or names; where missing, taken from a ZIP that lies in one state.
            zip: ZIP or ZIP+4, also as spreadsheets mangle them.
            address: street address, or the whole address in one line.
            city: city of the address.
            location: place name.
            lat: latitude in degrees.
            lng: longitude in degrees.
            country: country; rows outside the United States are `unsupported`, never asked.
            as_of: date of the sale; one obvious date column is found, several are an error;
                "today" for today's rates.
            client: the service to ask; by default the configured one, else the embedded one.
            prefix: put before the names of the added columns.
            errors: "raise" for an exception where a row has no usable answer; it carries the frame.
            progress: show what was decided, and a progress bar.
            rates: "decimal" (exact, decimal128(7, 5)), "string" (five decimals) or "float".

        Returns:
            A new frame: same index, same order, and the columns `combined_rate`, `state_rate`,
            `county_rate`, `city_rate`, `combined_district_rate` (fractions: 0.08250 is 8.25 %),
            `freight_taxable`, `confidence`, `warnings` (codes, separated by "; "),
            `resolved_via`, `effective_date`, `effective_date_basis`, `resolved_state`,
            `resolved_zip`, `resolved_city`, `resolved_county`, `lookup_as_of` (the day that was
            asked about), and `lookup_status` (ok, partial,
            unresolved, invalid, unsupported, failed, not_attempted) with `lookup_error`,
            `lookup_source`, `lookup_edition`. Columns of an earlier lookup are replaced.

        Raises:
            ValueError: a column of yours has one of these names, or the arguments are not clear.
            ConfigurationError: a key without an address, or the other way round.
            LookupFailedError: with `errors="raise"`; its `frame` is the result.
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
        return enrich(
            self._frame,
            given,
            client=client,
            prefix=prefix,
            errors=errors,
            progress=progress,
            rates=rates,
        )
