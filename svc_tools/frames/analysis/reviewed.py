"""The result of a review, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.display import as_html, as_text, counted, exact_dollars
from svc_tools.frames.analysis.shown import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    import pandas as pd

    from svc_tools.display import Table

__all__ = ["Review", "ReviewTotals"]

_REASONS, _GROUPS, _ROWS = 12, 10, 10


@dataclass(frozen=True, slots=True)
class ReviewTotals:
    """How much there is to look at; dollars are exact to the cent, without the sign of refunds.

    Attributes:
        frame_rows: the rows of the frame.
        rows: those that need a person.
        dollars: what is at stake in them; `None` where no row has a figure.
        of_sales: whether these are dollars of sales, because the frame has no tax.
        share: a percentage.
        carrying_rows: the fewest rows that carry that percentage of `dollars`.
        estimated_rows: rows without a tax whose figure is an estimate.
        estimated: their part of `dollars`; `None` where there is none.
        unknown_rows: rows without a figure: in no sum.
    """

    frame_rows: int
    rows: int
    dollars: Decimal | None
    of_sales: bool
    share: int
    carrying_rows: int
    estimated_rows: int
    estimated: Decimal | None
    unknown_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Review:
    """The rows that need a person, by dollars at stake.

    Attributes:
        rows: those rows of the frame, with the labels of its index, the most dollars first, and
            the added columns `review_dollars` (what is at stake), `review_basis` (what that rests
            on: see `review_stakes.BASES`), `review_reasons` (codes, separated by "; "),
            `review_to_do`, `review_place` and `review_group` (the number in `groups`).
        groups: the same by place and reasons, each to be cleared once: `place`, `reasons`, `rows`,
            `dollars`, `to_do`; numbered from 1.
        by_reason: rows and dollars by code, with what it means and what to do; a row with several
            codes is in each, so these do not add up to the totals.
        totals: see `ReviewTotals`.
        prefix: the prefix of the columns of ours.
        notes: what has changed in the frame since its tax was computed, in sentences.
    """

    rows: pd.DataFrame
    groups: pd.DataFrame
    by_reason: pd.DataFrame
    totals: ReviewTotals
    prefix: str = ""
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """How few rows carry most of what is at stake."""
        sums = self.totals
        if not sums.rows:
            return f"None of {counted(sums.frame_rows, 'row')} needs a person."
        needs = "needs" if sums.rows == 1 else "need"
        need = f"{sums.rows:,} of {counted(sums.frame_rows, 'row')} {needs} a person"
        if not sums.dollars:
            return f"{need}; no dollars are known to be at stake."
        what = "of sales" if sums.of_sales else "at stake"
        carry = "carries" if sums.carrying_rows == 1 else "carry"
        estimated = ""
        if sums.estimated:
            rows = counted(sums.estimated_rows, "row")
            estimated = f" (of it {exact_dollars(sums.estimated)} an estimate for {rows})"
        return (
            f"{counted(sums.carrying_rows, 'row')} {carry} at least {sums.share} % of the"
            f" {exact_dollars(sums.dollars)} {what}{estimated}; {need}."
        )

    def __str__(self) -> str:
        """The review as text: the sentence, reasons, places, rows."""
        return as_text(self.sentence, self._sentences, self._tables)

    def __repr__(self) -> str:
        """One line: the sentence."""
        return f"<Review: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(self.sentence, self._sentences, self._tables)

    @property
    def _sentences(self) -> Sequence[str]:
        sums, said = self.totals, []
        if sums.estimated_rows and sums.estimated is not None:
            said.append(
                f"The estimate of {exact_dollars(sums.estimated)} is what is taxable of the sales"
                f" of {counted(sums.estimated_rows, 'row')} without a tax, at the highest rate"
                " that the frame has for their state: more than their tax is likely to be."
            )
        if sums.unknown_rows and sums.dollars:
            said.append(f"In no sum: {counted(sums.unknown_rows, 'row')} without a figure.")
        return [*said, *self.notes]

    @property
    def _tables(self) -> Sequence[Table]:
        if not self.totals.rows:
            return ()
        figures = (("rows", ">Rows"), ("dollars", ">Dollars"))
        of_rows = (
            ("review_dollars", ">Dollars"),
            ("review_basis", "Basis"),
            ("review_place", "Place"),
            ("review_reasons", "Reasons"),
        )
        return (
            table_of(
                "By reason (a row counts for each of its own)",
                self.by_reason,
                (("reason", "Reason"), *figures, ("to_do", "~What to do")),
                rows=_REASONS,
            ),
            table_of(
                "By place and reasons: each is cleared once",
                self.groups,
                (("place", "Place"), *figures, ("reasons", "Reasons")),
                rows=_GROUPS,
            ),
            table_of(
                "Rows, the most dollars first",
                self.rows,
                [(self.prefix + name, head) for name, head in of_rows],
                rows=_ROWS,
                labelled="Index",
            ),
        )
