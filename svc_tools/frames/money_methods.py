"""The part of `df.svc` that is about money: tax, what was collected, what is filed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc_tools.frames.analysis.filing import filing
from svc_tools.frames.analysis.reconcile import reconcile
from svc_tools.frames.analysis.review import review
from svc_tools.frames.on_frame import OnFrame
from svc_tools.frames.taxes.tax import add_tax
from svc_tools.frames.taxes.tax_terms import TaxTerms

if TYPE_CHECKING:
    from collections.abc import Hashable
    from decimal import Decimal

    import pandas as pd

    from svc_tools.frames.analysis.filed import Filing
    from svc_tools.frames.analysis.periods import Period
    from svc_tools.frames.analysis.reconciliation import Reconciliation
    from svc_tools.frames.analysis.reviewed import Review
    from svc_tools.frames.taxes.due import Nexus
    from svc_tools.frames.taxes.rounding import Rounding

__all__ = ["MoneyMethods"]


class MoneyMethods(OnFrame):
    """Tax of an enriched frame, exact to the cent, and the questions that follow."""

    def tax(
        self,
        amount: Hashable = "amount",
        *,
        shipping: Hashable | None = None,
        exempt: Hashable | None = None,
        rounding: Rounding = "half_up",
        invoice: Hashable | None = None,
        partial: Literal["use"] | None = None,
        nexus: Nexus | None = None,
        channel: Hashable | None = None,
        ship_from: Hashable | None = None,
        prefix: str = "",
        progress: bool = True,
        errors: Literal["coerce", "raise"] = "coerce",
    ) -> pd.DataFrame:
        """Add the tax at the destination, exact to the cent: whole cents times the rate.

        Rows without a whole rate have no tax: neither failed rows nor, unless `partial="use"`,
        rows whose rate is known to lack its local or district part. A missing tax is missing,
        never 0; `tax_error` says why. 4.00 at 8.625 % is 0.345 exactly, so 0.35; its refund, -4.00,
        is -0.35. Rates are general ones: what is exempt, you say with `exempt`.

        Args:
            amount: the column of what the goods cost, in dollars without tax; negative for
                refunds. Numbers, decimals and text ($1,234.50, (15.00)) are understood. A float
                within a millionth of a dollar of a whole cent is that cent; other fractions of a
                cent leave the row without a tax.
            shipping: separately stated delivery, a column or one amount for all rows. It is
                taxed like the goods where `freight_taxable` is true, and not where it is false;
                where that is not known, at a rate above 0, the row has no tax, and `tax_low` and
                `tax_high` say what it would be without and with the delivery. Delivery of exempt
                goods is exempt; of partly exempt ones the share (amount - exempt) / amount of it,
                rounded to the cent, is taxable.
            exempt: what is not taxed. A column of truth values (or yes/no, true/false,
                exempt/taxable) exempts whole rows, delivery included; a column of dollars, from 0
                to the amount, a part of each row; `True` all rows; one amount that much of each
                row. Where it is missing, the row has no tax.
            rounding: of a fraction of a cent: "half_up" (half a cent away from zero), "half_even",
                "up" (away from zero) or "down" (toward zero). Refunds mirror their sales.
            invoice: the column that says which rows make up one invoice: its tax is rounded
                once and its lines add up to it; the cents left over go to the lines with the
                largest fractions of a cent. A row that names no invoice is one by itself.
            partial: "use" computes the tax of partial rows too, from what is known of the rate.
            nexus: where you are registered: records with `state`, `nexus_type` (physical,
                economic, marketplace) and `registered_at` (may be blank: then always), as a frame,
                the path of a CSV file, or mappings. Adds `tax_due`: `tax`, or missing with its
                `tax_due_reason` where no record covers the sale.
            channel: a column (or one word for all rows) that says "direct" or "marketplace";
                tax of a facilitated marketplace sale is not due from you. Adds `tax_due` too.
            ship_from: the state that goods are shipped from, a column or one state; marks sales
                within states that tax those by their origin.
            prefix: the prefix that the lookup was given.
            progress: say how many rows have no tax and why, and how many amounts snapped.
            errors: "raise" for an exception where a row has no tax; it carries the frame.

        Returns:
            A new frame, money as decimal128(18, 2), with `tax`, `tax_error`, `taxable_amount` and
            `exempt_amount` (together amount and shipping), `state_tax`, `county_tax`, `city_tax`
            and `combined_district_tax` (together `tax`; missing where the rate's parts are),
            `tax_low`, `tax_high` and `at_stake` (the same at the lowest and the highest rate that
            the answer allows, and their difference), `tax_review` (codes, separated by "; ");
            with shipping `shipping_tax` (its part of `tax`), with nexus or channel `tax_due` and
            `tax_due_reason`. docs/TAX.md has the rule of each. Columns of an earlier tax of
            this prefix are replaced.

        Raises:
            ValueError: the frame has not been looked up, a column is missing or is not ours, or an
                argument is neither a column nor a value that is understood.
            TypeError: a column of amounts holds truth values.
            RegisterError: the register of nexus cannot be read; it lists every faulty record.
            TaxFailedError: with `errors="raise"`; its `frame` is the result.
        """
        terms = TaxTerms(
            amount=amount,
            shipping=shipping,
            exempt=exempt,
            rounding=rounding,
            invoice=invoice,
            partial=partial,
            nexus=nexus,
            channel=channel,
            ship_from=ship_from,
        )
        return add_tax(self._frame, terms, prefix=prefix, progress=progress, errors=errors)

    def reconcile(
        self,
        collected: Hashable = "tax_collected",
        *,
        tolerance: Decimal | str | int = "0.01",
        by: Hashable | list[Hashable] | None = None,
        period: Period | None = None,
        date: Hashable | None = None,
        worst: int = 20,
        prefix: str = "",
    ) -> Reconciliation:
        """Compare what was collected with the tax of each row, exact to the cent.

        What is expected is `tax_due` where the tax was computed with a register or a channel, else
        `tax`. A row without a tax expects nothing that is known: it is never compared, and never
        taken for 0. Each row that differs gets the first reason that its own figures prove (see
        `analysis.difference_reasons.REASONS`): what was collected equals the tax at the
        state's rate alone, say, or on the exempt part too. Refunds are negative on both sides.

        Args:
            collected: the column of what was collected, in dollars; read as amounts are.
            tolerance: the difference that is let pass in one row, in dollars.
            by: a column, or a list of columns, for a table of sums by their values.
            period: "month", "quarter" or "year" for a table of sums by the period of the date.
            date: the column of dates for `period`; by default the day that was asked about.
            worst: how many of the rows with the largest differences to list.
            prefix: the prefix that the lookup was given.

        Returns:
            A `Reconciliation`: totals, tables by state, by reason and by your columns, the worst
            rows, and all lines with their differences. The tables add up to the totals exactly.

        Raises:
            ValueError: the frame has no tax, a column is not there, or a word is not understood.
            TypeError: the column of what was collected holds truth values.
        """
        return reconcile(
            self._frame,
            collected,
            tolerance=tolerance,
            by=by,
            period=period,
            date=date,
            worst=worst,
            prefix=prefix,
        )

    def filing(
        self,
        state: str,
        *,
        period: Period | None = None,
        date: Hashable | None = None,
        amount: Hashable | None = None,
        prefix: str = "",
    ) -> Filing:
        """Add up one state's return: taxable, exempt and tax by official jurisdiction code.

        Each line's tax is shared out over the jurisdictions of its rate: each gets taxable x rate
        without the fraction of a cent, the cents left over go to the largest fractions, so that
        the shares add up to the line's tax exactly (and within a level to its tax of that level).
        Lines whose answers name no jurisdictions stand in a row of their own; lines without a tax
        (or, with `tax_due`, without tax that is due) are left out and listed, never dropped.
        Washington's local parts are one row, under its location code. Refunds reduce.

        Args:
            state: a code or a name; one state per call.
            period: "month", "quarter" or "year" for rows by the period of the date.
            date: the column of dates for `period`; by default the day that was asked about.
            amount: the column of amounts, for the sales of what is left out; by default that of
                the tax.
            prefix: the prefix that the lookup was given.

        Returns:
            A `Filing`: the table, what is left out and why, the lines, totals, and `check()`,
            which adds table and lines up again.

        Raises:
            ValueError: the frame has no tax or was looked up without `detail=True`, or it has no
                row in the state, or there is no such state.
            TypeError: several states.
        """
        return filing(self._frame, state, period=period, date=date, amount=amount, prefix=prefix)

    def review(
        self, *, amount: Hashable | None = None, share: int = 90, prefix: str = ""
    ) -> Review:
        """List the rows that need a person, the most dollars at stake first.

        These are the rows that the lookup (`needs_review`) or the tax (`tax_review`) marked, and
        those without a tax. At stake is `at_stake` where the answer allows several rates; else the
        whole tax; for a row without a tax the most it can be (`tax_high`), else an estimate: its
        sale at the highest rate that the frame has for its state. In a frame without a tax it is
        the sale itself. Rows of one place and one set of reasons are also listed as one group.

        Args:
            amount: the column of amounts; by default that of the tax.
            share: the percentage of the dollars that the sentence speaks of.
            prefix: the prefix that the lookup was given.

        Returns:
            A `Review`: rows, groups, reasons, totals and the sentence: how few rows carry most
            of what is at stake.

        Raises:
            ValueError: the frame has not been looked up, or a column is not there.
        """
        return review(self._frame, amount=amount, share=share, prefix=prefix)
