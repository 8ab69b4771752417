"""The part of `df.svc` that others get to see: reports and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.frames.on_frame import OnFrame

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from svc_tools.frames.charting.plots import Plots

__all__ = ["ReportMethods"]


class ReportMethods(OnFrame):
    """Reports and charts of an enriched frame."""

    def report(
        self,
        path: str | Path,
        *,
        amount: Hashable | None = None,
        title: str | None = None,
        prefix: str = "",
    ) -> Path:
        """Write a report that somebody else can check: a workbook, or a page for the browser.

        Both hold a summary, the rows without a tax and the rows to review with what to do about
        them, the sources of the rates, the terms of the tax, and what each column and code means.
        `.xlsx` holds every line (on several sheets where one is too small) and adds them up again
        itself; `.html` is one file that needs no network and shows the first lines, and says how
        many it leaves out. The file appears whole or not at all; an existing one is replaced.

        Args:
            path: where to write it; the suffix `.xlsx` or `.html` decides what.
            amount: the column of amounts; by default the one that the tax was computed from.
            title: the report's title.
            prefix: the prefix of the lookup's columns.

        Returns:
            The path of the file.

        Raises:
            ValueError: another suffix; a frame that has not been looked up; no such amounts.
            FileNotFoundError: the folder does not exist.
            ModuleNotFoundError: the extra `report` is not installed (`.xlsx`).
        """
        from svc_tools.frames.reports.report import write_report  # noqa: PLC0415  # not for a lookup

        return write_report(self._frame, path, amount=amount, title=title, prefix=prefix)

    @property
    def plot(self) -> Plots:
        """Charts: `df.svc.plot.rates()`, `df.svc.plot.tax_map()`."""
        from svc_tools.frames.charting.plots import Plots  # noqa: PLC0415  # not for a lookup

        return Plots(self._frame)
