"""Charts of an enriched frame: `df.svc.plot.rates()` and `df.svc.plot.tax_map()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc_tools.base.extras import require
from svc_tools.frames.added.enriched import TAX_FIRST, Enriched
from svc_tools.frames.charting.tile_map import draw_tile_map
from svc_tools.frames.lookup.row_states import known_states
from svc_tools.frames.review.summary import source_sentence, sources_of, summarize
from svc_tools.frames.taxes.taxed_rows import goods_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    import pandas as pd
    from matplotlib.figure import Figure

_NARROWEST, _WIDEST = 3.5, 40.0  # inches


class Plots:
    """Charts of an enriched frame.

    Each is a separate matplotlib `Figure`: a notebook shows it, `fig.savefig(path)` writes it, and
    pyplot's state is not changed. `fig.get_label()` is its text alternative, with every number
    that it shows.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def rates(
        self,
        *,
        by: Literal["state"] | None = "state",
        states: Iterable[str] | None = None,
        title: str | None = None,
        width: float = 9.0,
        prefix: str = "",
    ) -> Figure:
        """The combined rates: by state, or how many rows have which rate.

        By state, each rate is a mark, the larger the more rows have it. Rates that require review
        (`needs_review`) and partial rates have different marks, a bar goes from the lowest to the
        highest rate that a place may have (`rate_low`, `rate_high`), and a line marks the median
        of the rows with a whole rate.

        Args:
            by: "state"; `None` for one histogram over all rows.
            states: codes or names of the states to show; by default all.
            title: the chart's title.
            width: inches, from 3.5 to 40; the height follows from what is shown.
            prefix: the prefix of the lookup's columns.

        Raises:
            ValueError: the frame has not been looked up, or an argument is not known.
            ModuleNotFoundError: matplotlib is not installed.
        """
        rows = Enriched(self._frame, prefix).require("lookup_status", "combined_rate")
        if by not in {"state", None}:
            raise ValueError(f"by: {by!r} is not known; expected 'state' or None")
        _check(width)
        _require_matplotlib()
        # heavy, and an optional extra
        from svc_tools.frames.charting.rate_chart import (  # noqa: PLC0415
            draw_histogram,
            draw_strips,
            strips_of,
        )

        chosen = None if states is None else known_states(states)
        strips = strips_of(rows, states=chosen)
        source = source_sentence(sources_of(rows))
        draw = draw_strips if by == "state" else draw_histogram
        default = "Combined sales-tax rates" + (" by state" if by == "state" else "")
        notes = [source] if source else []
        return draw(strips, title=title or default, width=width, notes=notes)

    def tax_map(
        self,
        *,
        amount: Hashable | None = None,
        title: str | None = None,
        width: float = 9.0,
        prefix: str = "",
    ) -> Figure:
        """The tax of each state on a grid of tiles, all of one size.

        The darker a tile, the more tax. States without a whole rate are hatched, and differ from
        those whose tax is 0; a corner marks a state of which some rows have no tax.

        Args:
            amount: the column of amounts; by default the one that the tax was computed from.
            title: the chart's title.
            width: inches, from 3.5 to 40; the height follows.
            prefix: the prefix of the lookup's columns.

        Raises:
            ValueError: the frame has no rates, no tax or no such amounts.
            ModuleNotFoundError: matplotlib is not installed.
        """
        rows = Enriched(self._frame, prefix).require("tax", remedy=TAX_FIRST, argument="tax")
        _check(width)
        summary = summarize(rows, goods=goods_of(rows, amount, call="tax_map"))
        _require_matplotlib()
        return draw_tile_map(summary, title=title or "Sales tax by state", width=width)


def _check(width: float) -> None:
    if not _NARROWEST <= width <= _WIDEST:
        raise ValueError(f"width: {width!r} is not from {_NARROWEST} to {_WIDEST:g} inches")


def _require_matplotlib() -> None:
    require("Drawing a chart", "report", "matplotlib")
