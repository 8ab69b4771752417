"""`df.svc`: the methods of a frame. It validates nothing itself; each method delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack, overload

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.analysis.breakdowns import ByMonth
from svc_tools.frames.analysis.filing import filing
from svc_tools.frames.analysis.reconcile import reconcile
from svc_tools.frames.lookup.enrich import LookupFailedError, enrich, frame_plan
from svc_tools.frames.lookup.freeze import freeze
from svc_tools.frames.options import (
    AmountArguments,
    AmountOptions,
    ExposureArguments,
    ExposureOptions,
    LookupArguments,
    LookupOptions,
    TaxArguments,
    TaxOptions,
    dates_of,
    options_of,
    takes,
)
from svc_tools.frames.plain import plain_frame
from svc_tools.frames.review.review import review
from svc_tools.frames.review.split import split
from svc_tools.frames.taxes.layouts import layout_of
from svc_tools.frames.taxes.tax import TaxFailedError, add_tax
from svc_tools.frames.values.odd_cells import Readable
from svc_tools.lookup.plan import price_of

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Hashable, Sequence
    from decimal import Decimal
    from pathlib import Path

    import pandas as pd

    from svc_tools.frames.analysis.filing import Filing
    from svc_tools.frames.analysis.periods import Period
    from svc_tools.frames.analysis.reconcile import Reconciliation
    from svc_tools.frames.charting.plots import Plots
    from svc_tools.frames.lookup.freeze import Frozen
    from svc_tools.frames.orders.saved_layout import SalesLayout
    from svc_tools.frames.review.review import Review
    from svc_tools.frames.review.split import Split
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.plan import Plan


class SvcAccessor:
    """Sales-tax rates for the rows of a frame: `df.svc.lookup(...)`, then `df.svc.tax(...)`."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    @property
    def _read(self) -> Readable:
        return Readable.of(Stamp.of(self._frame).on(self._frame))

    @property
    def _readable(self) -> pd.DataFrame:
        return self._read.frame

    @overload
    def lookup(self, *, dry_run: Literal[True], **arguments: Unpack[LookupArguments]) -> Plan: ...

    @overload
    def lookup(
        self, *, dry_run: Literal[False] = False, **arguments: Unpack[LookupArguments]
    ) -> pd.DataFrame: ...

    @takes(LookupArguments, LookupOptions)
    def lookup(
        self, *, dry_run: bool = False, **arguments: Unpack[LookupArguments]
    ) -> pd.DataFrame | Plan:
        """Look up the rate of every row's place, on its date; each distinct one once.

        An argument is a column's name, or one value for all rows; what is left out is found by
        the usual column names and reported, and `False` excludes a column. Row by row the mode is
        address, else ZIP, else coordinates, else place name (SPEC 4.4); `lat` and `lng` that are
        named here decide beside an address or a ZIP too, unless they cannot be exact
        (`point_not_used`; `point_coarse` where the row has nothing better). A city given with a ZIP
        is compared with the city found: a difference is the warning `place_input_mismatch`.

        Every requested result is cached before it is reported, and no cached one is requested
        again: run an interrupted lookup again, and it requests the rest. The embedded service
        computes its results here, without requests or a cache.

        Args:
            state: state codes or names; where missing, that of a ZIP that lies in one state, or the
                one that the address or the place name ends in.
            zip: ZIP or ZIP+4, also as spreadsheets mangle them.
            address: street address, or the whole address in one line.
            city: city of the address.
            location: place name.
            lat: latitude in degrees, with four decimals or more; named, the point decides. Found
                beside a ZIP or an address it is only reported.
            lng: longitude in degrees, likewise.
            country: country; rows outside the United States are `unsupported`, never requested.
            as_of: date of the sale; one obvious date column is found. Several, dates under another
                name or in the index, and months or quarters alone are an error that names them;
                "today" for today's rates.
            tz: the time zone whose date counts for all times with a zone, such as
                "America/Chicago". By default a time with an offset, or of a column in another zone,
                has the date that is written, and one in UTC that in the seller's zone (`SVC_TZ`),
                else that in UTC; a note says how many rows' month depends on it.
            date_format: "month first" or "day first" for a column whose dates could be either
                (03/04/2026), or the format of all its texts, such as "%m%d%Y". By default every
                unambiguous form is understood, and the other cells of the column decide.
            as_of_grain: "month" or "quarter" look up the first day of the row's month or quarter:
                fewer requests, and `as_of_status` is `unverified` where that is another day. It
                changes nothing where the embedded service computes the rates.
            client: the service to use; by default the configured one, else the embedded one.
            prefix: put before the names of the added columns.
            columns: "short" for the first ten (rate, status, review, reasons, confidence and the
                rate's parts; `tax` then adds few too), or a list such as `["combined_rate"]` or
                `["short", "warnings"]`; `lookup_status` and `lookup_error` are always added, so
                that no failure is hidden. Default: all.
            detail: request the detailed response, and add `lookup_jurisdictions`: JSON text with
                level, code, name and rate of each jurisdiction.
            review_below: the share of a ZIP's housing, from 0 to 0.98, below which its most likely
                rate requires review; by default that of `SVC_REVIEW_BELOW`, else 0.90. No level of
                confidence depends on it.
            errors: "raise" for an exception where a row has no usable result; it has the frame.
            progress: show how the columns were read, and a progress bar.
            rates: "decimal" (exact, decimal128(7, 5)), "string" (five decimals) or "float".
            cache: the path of the cache; `False` for no cache; by default as configured.
            locked: a lock file that `freeze` wrote: no request is made, every figure is as it was
                then, and what is not in it is `not_attempted`.
            geocode: "census" sends the street addresses of states where city limits decide to the
                geocoder of the US Census Bureau, and their positions decide; a geocoder of geopy,
                or a function from an address to latitude and longitude, finds them instead. "off"
                for none; by default as `SVC_GEOCODE` says, else none. See docs/GEOCODING.md.
            concurrency: how many requests may be in flight at once.
            deadline: the seconds that the requests may take; the rest is `not_attempted`.
            layout: a layout, or the path of one: the columns of place and date are read by it, and
                none is found by its name. Arguments that are given override it.
            dry_run: request nothing, and return the `Plan`: see `plan`.

        Returns:
            A new frame: same index, same order, and the columns that docs/COLUMNS.md explains, in
            the order in which they are read: the rate (a fraction: 0.08250 is 8.25%),
            `lookup_status` (ok, partial, unresolved, invalid, unsupported, failed, not_attempted),
            `needs_review` and why, confidence, the rate's parts and range, warnings, the place and
            the day they are for, source and time. Columns of an earlier lookup are replaced.

        Raises:
            ValueError: a column of yours has one of these names, or the arguments are ambiguous.
            ConfigurationError: a key without an address, or an address without a key.
            LookupFailedError: with `errors="raise"`; its `frame` is the result.
        """
        options = options_of(LookupOptions, "lookup", arguments)
        if dry_run:
            return frame_plan(self._readable, options)
        read = self._read
        try:
            return read.restored(enrich(read.frame, options))
        except LookupFailedError as error:
            error.frame = read.restored(error.frame)
            raise

    @takes(LookupArguments, LookupOptions)
    def plan(
        self, *, price: str | Decimal | None = None, **arguments: Unpack[LookupArguments]
    ) -> Plan:
        """Plan a `lookup` with these arguments: nothing is requested, no service is started.

        The plan counts rows, distinct places, how many of them are cached, the requests for the
        rest (for each `as_of_grain`), the rows that are never requested and why, and, where they
        are known, the price and the lookups that the account has left this month. Where the
        embedded service computes the rates, there is nothing to request.

        The arguments are those of `lookup`; `price` is dollars for one lookup, such as "0.004".

        Returns:
            A `Plan`; print it, or read its fields.

        Raises:
            ValueError: the arguments are ambiguous, as for `lookup`, or the price is not valid.
        """
        options = options_of(LookupOptions, "plan", arguments)
        return frame_plan(self._readable, options, price_of(price))

    def layout(self, *, prefix: str = "") -> SalesLayout:
        """What the columns were decided to mean, to read next month's rows by without a question.

        `frame.svc.layout().save("shop.toml")` keeps it in a file that people can read and edit;
        `layout=` of `lookup`, `tax` and `enrich_file` takes it, or the path. docs/ENRICH.md says
        what it holds, and what is said where columns are missing or new.

        Args:
            prefix: the prefix of the lookup.

        Raises:
            LayoutError: the frame does not know how its columns were read (a merged frame), or a
                column has a name that is no text.
        """
        return layout_of(Enriched(self._readable, prefix))

    def freeze(
        self,
        path: str | os.PathLike[str],
        *,
        prefix: str | None = None,
        cache: CacheChoice = None,
    ) -> Frozen:
        """Write every result that the rows used to a lock file, such as "2026-10.svclock".

        `lookup(..., locked=path)` computes with it again: nothing is requested, the figures are the
        same, and a place or date that is not in it is `not_attempted`. The file has places and
        rates in plain text, one a line, and no API key.

        Args:
            path: the file; an existing one is replaced, whole or not at all.
            prefix: freeze only the lookup whose columns have this prefix.
            cache: the cache that has the results of a frame that was read from a file: a path,
                `None` for the configured cache, or `False` for none.

        Returns:
            How many results are in it, and what is missing from it.

        Raises:
            ValueError: no lookup is stored with the frame (a merged frame, or one from a file), its
                places, dates or rates were changed since, or its lookups contradict each other.
            OSError: the file cannot be written.
        """
        return freeze(self._readable, path, prefix=prefix, cache=cache)

    @takes(TaxArguments, TaxOptions)
    def tax(
        self,
        amount: Hashable | None = None,
        *,
        progress: bool = True,
        **arguments: Unpack[TaxArguments],
    ) -> pd.DataFrame:
        """Add the tax at the destination, exact to the cent: whole cents times the rate.

        Rows without a whole rate have no tax: neither failed rows nor, unless `partial="use"`,
        rows whose rate is known to lack its local or district part. A missing tax is missing,
        never 0; `tax_error` says why. 4.00 at 8.625% is 0.345 exactly, so 0.35; its refund, -4.00,
        is -0.35. Rates are general ones: state what is exempt with `exempt`.

        Args:
            amount: the column of what the goods cost; by default as the export has it that the
                columns are recognized as (docs/SHOPS.md, which says the same of `shipping` and
                `channel`; `False` leaves those out), else `amount`, else the only column with a
                usual name such as subtotal. In dollars without tax; negative for
                refunds. Numbers, decimals and text ($1,234.50, (15.00)) are understood. A float
                within a millionth of a dollar of a whole cent is that cent; other fractions of a
                cent leave the row without a tax.
            shipping: separately stated delivery, a column or one amount for all rows. It is
                taxed like the goods where `freight_taxable` is true, and not where it is false;
                where that is not known, at a rate above 0, the row has no tax, and `tax_low` and
                `tax_high` are the tax without and with the delivery; where a warning says that it
                is in doubt, there is a tax, and the row is to review. Delivery of exempt
                goods is exempt; of partly exempt ones the share (amount - exempt) / amount of it,
                rounded to the cent, is taxable.
            exempt: what is not taxed. A column of truth values (or yes/no, true/false,
                exempt/taxable) exempts whole rows, delivery included; a column of dollars, from 0
                to the amount, a part of each row; `True` all rows; one amount that much of each
                row. Where it is missing, the row has no tax. A column such as "Taxable", which
                says the opposite, is refused.
            taxable: the opposite: a column that says what is taxable, as yes and no or as dollars.
                Of an export that marks its lines (Shopify, Squarespace) those that are not taxable
                are taken off without it; `False` taxes them, and gift cards and tips, too.
            rounding: how to round a fraction of a cent: "half_up" (half a cent away from zero),
                "half_even", "up" (away from zero) or "down" (toward zero). Refunds mirror sales.
            invoice: the column of invoice numbers: the tax of an invoice is rounded once and its
                lines add up to it; the cents left over go to the lines with the largest fractions
                of a cent. A row without a number is an invoice by itself.
            partial: "use" computes the tax of partial rows too, from the known parts of the rate.
            nexus: where you are registered: records with `state`, `nexus_type` (physical,
                economic, marketplace) and `registered_at` (may be blank: then always), as a frame,
                the path of a CSV file, or mappings. Adds `tax_due`: `tax`, or missing with its
                `tax_due_reason` where no record covers the sale.
            channel: a column (or one word for all rows) that says "direct" or "marketplace";
                tax of a facilitated marketplace sale is not due from you. Adds `tax_due` too.
            ship_from: the state that goods are shipped from, a column or one state; marks sales
                within states that tax those by their origin.
            delivery: whether your buyers can avoid the charge for delivery, which decides in the
                states that exempt delivery only then (Florida, Illinois, Colorado; warning
                `delivery_optional_unknown`): "optional" (they can pick the goods up, say) leaves it
                untaxed there, "only" (every order is shipped) taxes it. By default as
                `SVC_DELIVERY` says; unanswered, the tax is that of the result, `tax_low` and
                `tax_high` are without and with the delivery, and the row is to review.
            once: the columns of the whole order, such as `["Order Total"]`: where they stand on
                several rows of an order, they count once for it. Columns that are not named, and
                that the file leaves open, count on each row; `False`: all of those do.
            contains_tax: whether the amount contains the tax that stands in another column: `True`
                takes that tax off, `False` leaves the amount as it is.
            contains_shipping: the same of the delivery in another column, which is taxed as
                delivery either way.
            parts: what a column is, such as `{"Service Fee": "untaxed"}`: "goods" is taxed as the
                goods are, "delivery" as delivery is, a "discount" is taken off, "untaxed" is part
                of the total and not taxed, "none" is not part of it.
            refunds: what rows are that say refund and have an amount above 0: "subtract" takes them
                off, "add" takes them for sales, "leave" gives them an amount of 0.
            order: the column of the order's number; `False` where each row is a sale.
            currency: the column of the currency; rows in another one than US dollars have no tax.
                `False` where all rows are in US dollars.
            decimal: what "1.000" and "1,000" are in columns that leave it open: "point" for the
                decimal mark of the United States, or "comma".
            layout: a layout, or the path of one: the amounts are read by it, and nothing is asked
                that it decides. Where one of the arguments from `once` on, `amount` or `shipping`
                is given, the amounts are decided again, with the answers that the layout keeps.
            prefix: the prefix of the lookup.
            progress: print how many rows have no tax and why, and how many amounts snapped.
            errors: "raise" for an exception where a row has no tax; it has the frame.

        Returns:
            A new frame, money as decimal128(18, 2), with `tax` directly behind the rate,
            `tax_error`, `taxable_amount` and `exempt_amount` (together amount and shipping),
            `state_tax`, `county_tax`, `city_tax` and `combined_district_tax` (together `tax`;
            missing where the rate's parts are),
            `tax_low`, `tax_high` and `at_stake` (the same at the lowest and the highest rate of the
            places that fit, without and with delivery where it is in doubt whether that is taxed,
            and their difference), `tax_review` (codes, separated by "; ");
            of an export `sale_amount`, `sale_shipping` and `sale_taxable`; with shipping
            `shipping_tax` (its part of `tax`), with nexus or channel `tax_due` and
            `tax_due_reason`. After a lookup with `columns="short"` it adds few of them: no parts
            and no range. docs/TAX.md has the rule of each, docs/COLUMNS.md their order. Columns of
            an earlier tax of this prefix are replaced.

        Raises:
            ColumnAmbiguous: the columns leave open what the amounts are; it has all questions, and
                a line of the arguments that answer them.
            ValueError: the frame has not been looked up, a column is missing or would overwrite
                one of yours, or an argument is neither a column nor a valid value.
            TypeError: a column of amounts holds truth values.
            RegisterError: the registrations cannot be read; it lists every invalid record.
            TaxFailedError: with `errors="raise"`; its `frame` is the result.
        """
        options = options_of(TaxOptions, "tax", {"amount": amount, **arguments})
        read = self._read
        try:
            return read.restored(add_tax(read.frame, options, progress=progress))
        except TaxFailedError as error:
            error.frame = read.restored(error.frame)
            raise

    @takes(AmountArguments, AmountOptions)
    def reconcile(
        self,
        collected: Hashable = "tax_collected",
        *,
        tolerance: Decimal | str | int = "0.01",
        by: Hashable | list[Hashable] | None = None,
        period: Period | None = None,
        date: Hashable | None = None,
        tz: str | dt.tzinfo | None = None,
        date_format: str | None = None,
        worst: int = 20,
        prefix: str = "",
        **answers: Unpack[AmountArguments],
    ) -> Reconciliation:
        """Compare what was collected with the tax of each row, exact to the cent.

        The expected tax is `tax_due` where the tax was computed with registrations or a channel,
        else `tax`. A row without a tax has no expected tax: it is never compared, and never taken
        for 0. Each row that differs gets the first reason that its own figures prove (see
        `analysis.comparison.REASONS`): the tax collected equals the tax at the state's rate alone,
        for example, or on the exempt part too. Refunds are negative on both sides.

        Args:
            collected: the column of the tax collected, in dollars; read as amounts are.
            tolerance: the difference that is accepted in one row, in dollars.
            by: a column, or a list of columns, for a table of sums by their values.
            period: "month", "quarter" or "year" for a table of sums by the period of the date.
            date: the column of dates for `period`; by default the date of the lookup, or for
                months, where it was by quarter, the column of dates that it read.
            tz: as for `lookup`.
            date_format: as for `lookup`.
            worst: how many of the rows with the largest differences to list.
            prefix: the prefix of the lookup.

        Returns:
            A `Reconciliation`: totals, tables by state, by reason and by your columns, the worst
            rows, and all lines with their differences. The tables add up to the totals exactly.

        Raises:
            ValueError: the frame has no tax, a column is missing, or an argument is not valid.
            ColumnMissing: months of a lookup by quarter, whose column of dates is missing.
            TypeError: the column of the tax collected holds truth values.
        """
        return reconcile(
            Enriched(self._readable, prefix),
            collected,
            tolerance=tolerance,
            by=by,
            period=period,
            date=date,
            dates=dates_of(date_format, tz),
            worst=worst,
            options=options_of(AmountOptions, "reconcile", answers),
        )

    @takes(AmountArguments, AmountOptions)
    def filing(
        self,
        state: str,
        *,
        period: Period | None = None,
        date: Hashable | None = None,
        tz: str | dt.tzinfo | None = None,
        date_format: str | None = None,
        amount: Hashable | None = None,
        prefix: str = "",
        **answers: Unpack[AmountArguments],
    ) -> Filing:
        """Add up one state's return: taxable, exempt and tax by official jurisdiction code.

        Each line's tax is shared out over the jurisdictions of its rate: each gets taxable x rate
        without the fraction of a cent, the cents left over go to the largest fractions, so that
        the shares add up to the line's tax exactly (and within a level to its tax of that level).
        Lines whose rate names no jurisdictions are in a separate row; lines without a tax
        (or, with `tax_due`, without tax that is due) are left out and listed, never dropped.
        Washington's local parts are one row, under its location code. Refunds reduce.

        Args:
            state: a code or a name; one state per call.
            period: "month", "quarter" or "year" for rows by the period of the date.
            date: the column of dates for `period`; by default the date of the lookup, or for
                months, where it was by quarter, the column of dates that it read.
            tz: as for `lookup`.
            date_format: as for `lookup`.
            amount: the column of amounts, for the sales of the lines left out; by default that of
                the tax.
            prefix: the prefix of the lookup.

        Returns:
            A `Filing`: the table, the lines left out and why, the lines, totals, and `check()`,
            which adds up table and lines again.

        Raises:
            ValueError: the frame has no tax or was looked up without `detail=True`, or it has no
                row in the state, or there is no such state.
            ColumnMissing: months of a lookup by quarter, whose column of dates is missing.
            TypeError: several states.
        """
        return filing(
            Enriched(self._readable, prefix),
            state,
            period=period,
            date=date,
            dates=dates_of(date_format, tz),
            amount=amount,
            options=options_of(AmountOptions, "filing", answers),
        )

    @takes(AmountArguments, AmountOptions)
    def review(
        self,
        *,
        amount: Hashable | None = None,
        share: int = 90,
        prefix: str = "",
        **answers: Unpack[AmountArguments],
    ) -> Review:
        """List the rows that require review, the most dollars at stake first.

        These are the rows that the lookup (`needs_review`) or the tax (`tax_review`) marked, and
        those without a tax. At stake is `at_stake` where several rates fit the place, or it is in
        doubt whether delivery is taxed (where the share of the ZIP's housing at the rate is known,
        times the share that has another rate: an expected amount); else the whole tax; for a row
        without a tax the most it can be (`tax_high`), else an estimate: its sale at the highest
        rate that the frame has for its state. In a frame without a tax it is the sale itself. The
        rows are grouped by state and reason first, with what to do and where (the name of the
        state's own lookup page), then by place. Zero dollars come last.

        Args:
            amount: the column of amounts; by default that of the tax.
            share: the percentage of the dollars at stake that the sentence reports on.
            prefix: the prefix of the lookup.

        Returns:
            A `Review`: `by_state`, `groups` (by place), `rows`, totals and the sentence: how few
            rows account for most of the dollars at stake.

        Raises:
            ValueError: the frame has not been looked up, or a column is missing.
        """
        options = options_of(AmountOptions, "review", answers)
        rows = Enriched(self._readable, prefix)
        return review(rows, amount=amount, share=share, options=options)

    @takes(AmountArguments, AmountOptions)
    def split(
        self,
        *,
        amount: Hashable | None = None,
        prefix: str = "",
        **answers: Unpack[AmountArguments],
    ) -> Split:
        """Split the rows by what they can be used for: ready, to check, incomplete, no rate.

        Ready rows have a whole rate (with its tax, in a frame with taxes) and nothing to review;
        rows to check have a whole rate, and `review` lists why they require review; incomplete
        rows lack a part of the rate (`lookup_status` is `partial`); the others have no rate.

        Args:
            amount: the column of amounts; by default that of the tax, else `amount` if there is
                one. Without amounts the rows are counted only.
            prefix: the prefix of the lookup.

        Returns:
            A `Split`: the frames `ready`, `to_check`, `incomplete` and `no_rate`, in which each
            row is exactly once, and `parts` with the rows, sales and tax of each. Print it for the
            table; it is a mapping too.

        Raises:
            ValueError: the frame has not been looked up, or a column is missing.
        """
        options = options_of(AmountOptions, "split", answers)
        rows = Enriched(self._readable, prefix)
        return split(rows, self._frame, amount=amount, options=options)

    @takes(AmountArguments, AmountOptions)
    def by_month(
        self,
        *,
        amount: Hashable | None = None,
        date: Hashable | None = None,
        tz: str | dt.tzinfo | None = None,
        date_format: str | None = None,
        prefix: str = "",
        **answers: Unpack[AmountArguments],
    ) -> pd.DataFrame:
        """Add up rows, sales and tax by state and month, exact to the cent.

        Each row is in one line, and an order's amount counts once, so that the lines add up to the
        totals. Rows without a known state, or without a month, come last, with a missing one.

        Args:
            amount: the column of amounts; by default that of the tax, else `amount` if there is
                one. Without amounts the sales are missing.
            date: the column of dates; by default the date of the lookup.
            tz: as for `lookup`.
            date_format: as for `lookup`.
            prefix: the prefix of the lookup.

        Returns:
            A new frame: `state`, `month` (such as 2026-05), `rows`, `rows_with_tax`, `sales`,
            `taxable`, `exempt`, `tax`, `tax_due`, `rows_to_review`, `rows_without_tax`. A sum is
            missing where no row has a figure. `attrs["svc_by_month"]` has the notes on the dates.

        Raises:
            ValueError: the frame has not been looked up, or a column is missing; or the lookup was
                by quarter, and the dates of the sales are not known.
        """
        options = options_of(AmountOptions, "by_month", answers)
        made = ByMonth(date, dates_of(date_format, tz))
        return made.of_frame(Enriched(self._readable, prefix), amount, options)

    def plain(self) -> pd.DataFrame:
        """Return a copy in the standard types of pandas, for what takes no exact decimals.

        Rates and money become `float64`, days `datetime64` at midnight, times naive `datetime64` in
        UTC, categories text, flags `bool` (`boolean` where one is missing). `to_excel`, `to_sql`,
        `to_json`, `to_csv`, `to_parquet`, `describe`, `nlargest` and sums by group then work as
        usual. Floats are the nearest ones of the exact figures, so sums of them may be off in the
        last digits: file and reconcile from the exact frame. Works on any frame, such as the rows
        of a review.

        Returns:
            A new frame with the same rows and columns. Your own columns are as they were, unless
            they hold exact decimals: these become `float64` too. Attributes (`attrs`)
            that JSON cannot hold are left out.
        """
        return plain_frame(self._frame)

    @takes(ExposureArguments, ExposureOptions)
    def exposure(
        self,
        amount: Hashable | None = None,
        *,
        progress: bool = True,
        **arguments: Unpack[ExposureArguments],
    ) -> pd.DataFrame:
        """Compare your sales with every state's economic threshold; one row a state.

        Columns that are not named are found by their usual names and by what they hold, and it is
        an error where it could be two. Gross sales are goods and delivery, never the tax in them,
        read as `tax` reads them: an order's columns count once, canceled orders and rows of totals
        do not. Cents are exact. Refunds (negative amounts) reduce, but are no transactions, and
        the first day on which a threshold was met stays. Rows whose amount, date or state cannot be
        read are left out, counted and reported. docs/THRESHOLDS.md has the rule of each column.

        Args:
            amount: the column of sales in dollars, without tax: gross sales, delivery included. By
                default goods and delivery, as the columns prove them.
            date: the column of days of sale.
            state: the column of states that the sales went to, or one state for all rows.
            channel: a column (or one word for all rows) that says "direct" or "marketplace"; other
                words count as direct, and are reported. Without it all sales are direct.
            retail: the column of the part of the amount that is no sale for resale.
            taxable: the column of the part of the amount that is taxable.
            order: the column of order numbers: lines of one order on one day are one transaction,
                and an order's own columns count once for it; `False` where each row is a sale.
            transaction: the former name of `order`.
            once: as for `tax`, and so are the following.
            contains_tax: see there.
            contains_shipping: see there.
            parts: see there.
            refunds: see there.
            currency: see there.
            decimal: see there.
            as_of: the day of the comparison, or "today"; by default the last day with a sale.
            register: where you are registered, as for `tax(nexus=…)`: a state over its threshold
                without a record is "missing", and comes first.
            thresholds: a file that overrides rows of the shipped thresholds, or the result of
                `read_thresholds`.
            covers: the first and the last day that the sales are complete for, as dates or as texts
                such as "2026-05-01"; by default the first and last day with a sale, of those
                without a calendar month in between in which nothing was sold anywhere. What they do
                not cover is never reported as below.
            tz: as for `lookup`.
            date_format: as for `lookup`.
            country: the column of the countries shipped to: rows of another one are left out, and
                counted. `False` where there is none; an error asks where it is doubtful.
            progress: print which columns are used, and what was left out and why.

        Returns:
            A new frame: state, band ("missing", "over", "90-100", "70-90", "below 70", "no tax",
            "unknown"), the figures and the threshold that they were compared with, whether the
            state is below for the whole period and the trailing time (`below_all`), and in `why`
            the explanation. `attrs["svc_exposure"]` has the days of the sales and what was left
            out.

        Raises:
            ValueError: a column is missing or could be two, no row can be counted, or an argument
                is not valid.
            ThresholdsError: the file of thresholds cannot be read; it lists every problem.
            RegisterError: the registrations cannot be read; it lists every invalid record.
        """
        from svc_tools.frames.sales.exposure import exposure_of_frame  # noqa: PLC0415 - not for a lookup

        options = options_of(ExposureOptions, "exposure", {"amount": amount, **arguments})
        return exposure_of_frame(self._readable, options, progress=progress)

    @takes(AmountArguments, AmountOptions)
    def report(
        self,
        path: str | Path,
        *,
        amount: Hashable | None = None,
        title: str | None = None,
        prefix: str = "",
        columns: Sequence[Hashable] | None = None,
        **answers: Unpack[AmountArguments],
    ) -> Path:
        """Write a report that others can check: a workbook, or a page for the browser.

        Both hold a summary, the rows without a tax and the rows to review with what to do about
        them, the sources of the rates, the terms of the tax, and what each column and code means.
        `.xlsx` holds every line (on several sheets where one is too small) and adds them up again
        itself; `.html` is one file that needs no network and shows the first lines and how many
        more there are. The file is written whole or not at all; an existing one is replaced.

        Your columns with names, e-mails, phones, street addresses or IP addresses of persons, also
        as shops name them ("Shipping Name", "buyer-email"), are left out, which the report says.
        City, state, ZIP Code, country, numbers of orders and amounts stay.

        Args:
            path: the file; its suffix `.xlsx` or `.html` decides which of the two is written.
            amount: the column of amounts; by default the one that the tax was computed from.
            title: the report's title.
            prefix: the prefix of the lookup's columns.
            columns: your columns to show, in this order, personal ones too; the others are left
                out. The added columns always follow; name one of them to have it among yours.

        Returns:
            The path of the file.

        Raises:
            TypeError: `columns` is not a list.
            ValueError: another suffix; a frame that has not been looked up; no such amounts or
                columns.
            FileNotFoundError: the folder does not exist.
            ModuleNotFoundError: the extra `report` is not installed (`.xlsx`).
        """
        from svc_tools.frames.reports.report import write_report  # noqa: PLC0415  # not for a lookup

        return write_report(
            Enriched(self._readable, prefix),
            path,
            amount=amount,
            title=title,
            columns=columns,
            options=options_of(AmountOptions, "report", answers),
        )

    @property
    def plot(self) -> Plots:
        """Charts: `df.svc.plot.rates()`, `df.svc.plot.tax_map()`."""
        from svc_tools.frames.charting.plots import Plots  # noqa: PLC0415  # not for a lookup

        return Plots(self._readable)
