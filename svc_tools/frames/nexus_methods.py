"""The part of `df.svc` that is about nexus: where sales have reached a state's threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.frames.on_frame import OnFrame

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Hashable
    from pathlib import Path

    import pandas as pd

    from svc_tools.frames.taxes.due import Nexus
    from svc_tools.nexus import Thresholds

__all__ = ["NexusMethods"]


class NexusMethods(OnFrame):
    """Sales by state against the states' economic thresholds."""

    def exposure(
        self,
        amount: Hashable | None = None,
        *,
        date: Hashable | None = None,
        state: Hashable | None = None,
        channel: Hashable | None = None,
        retail: Hashable | None = None,
        taxable: Hashable | None = None,
        transaction: Hashable | None = None,
        as_of: dt.date | str | None = None,
        register: Nexus | None = None,
        thresholds: Thresholds | str | Path | None = None,
        covers: tuple[dt.date | str, dt.date | str] | None = None,
        tz: str | dt.tzinfo | None = None,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Hold your sales against every state's economic threshold; one row a state.

        Columns that are not named are found by their usual names, and it is an error where it could
        be two. Cents are exact. Refunds (negative amounts) reduce, but are no transactions, and
        the first day on which a threshold was met stays. Rows whose amount, date or state cannot be
        read are left out, counted and said. docs/THRESHOLDS.md has the rule of each column.

        Args:
            amount: the column of sales in dollars, without tax: gross sales.
            date: the column of days of sale; of moments in a time zone, the day in `tz`.
            state: the column of states that the sales went to, or one state for all rows.
            channel: a column (or one word for all rows) that says "direct" or "marketplace"; other
                words count as direct, and are said. Without it all sales are direct.
            retail: the column of the part of the amount that is no sale for resale.
            taxable: the column of the part of the amount that is taxable.
            transaction: a column of order numbers: lines of one order on one day count once.
                Without it each row is a transaction.
            as_of: the day that is asked about, or "today"; by default the last day with a sale.
            register: where you are registered, as for `tax(nexus=…)`: a state over its threshold
                without a record is "missing", and comes first.
            thresholds: a file that overrides rows of the shipped thresholds, or what
                `read_thresholds` gave.
            covers: the first and the last day that the sales are complete for, as dates or as texts
                such as "2026-05-01"; by default the first and last day with a sale, of those
                without a calendar month in between in which nothing was sold anywhere. What they do
                not cover is never said to be below.
            tz: the time zone in which moments have their date, such as "America/Chicago".
            progress: say which columns are used, and what was left out and why.

        Returns:
            A new frame: state, band ("missing", "over", "90-100", "70-90", "below 70", "no tax",
            "unknown"), the figures and the threshold that they were held against, whether the state
            is below for the whole period and the trailing time (`below_all`), and in `why` all that
            is to be said. `attrs["svc_exposure"]` has the days of the sales and what was left out.

        Raises:
            ValueError: a column is missing or could be two, no row can be counted, or an argument
                is not understood.
            ThresholdsError: the file of thresholds cannot be read; it lists every problem.
            RegisterError: the register cannot be read; it lists every faulty record.
        """
        from svc_tools.frames.sales.exposing import exposure_of_frame  # noqa: PLC0415 - not for a lookup

        given = {
            "amount": amount,
            "date": date,
            "state": state,
            "channel": channel,
            "retail": retail,
            "taxable": taxable,
            "transaction": transaction,
        }
        return exposure_of_frame(
            self._frame,
            given,
            as_of=as_of,
            register=register,
            thresholds=thresholds,
            covers=covers,
            tz=tz,
            progress=progress,
        )
