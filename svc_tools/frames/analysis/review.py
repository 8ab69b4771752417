"""The rows that need a person, the most dollars first, and what to do about them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.analysis.added import without_added
from svc_tools.frames.analysis.review_places import places_of_rows
from svc_tools.frames.analysis.review_stakes import stakes_of
from svc_tools.frames.analysis.reviewed import Review, ReviewTotals
from svc_tools.frames.coded import Coded, coded, combined
from svc_tools.frames.enriched import require_columns, require_one
from svc_tools.frames.exact import MONEY, decimals
from svc_tools.frames.review_codes import advice_on, codes_of_rows
from svc_tools.frames.taxes.changes import changes_since
from svc_tools.frames.taxes.taxed_rows import amount_label, taxed_rows
from svc_tools.frames.totals import Money, dollars, dollars_by, money_column, sums_by
from svc_tools.frames.what_to_do import codes_in, meaning_of, what_to_do

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.frames.analysis.review_stakes import Stakes

__all__ = ["REVIEW_COLUMNS", "review", "reviewed"]

REVIEW_COLUMNS = (
    "review_dollars",
    "review_basis",
    "review_reasons",
    "review_to_do",
    "review_place",
    "review_group",
)
"""The columns that `Review.rows` adds, without the prefix."""
_PERCENT = 100


def review(frame: pd.DataFrame, *, amount: Hashable | None, share: int, prefix: str) -> Review:
    """List the rows; see `MoneyMethods.review` for the meaning of the arguments."""
    if isinstance(share, bool) or not isinstance(share, int) or not 0 < share <= _PERCENT:
        raise ValueError(f"share: expected a percentage from 1 to 100, not {share!r}")
    names = tuple(prefix + name for name in ("lookup_status", "needs_review"))
    require_columns(frame, names, "look the rates up first: df.svc.lookup()")
    for name in names:
        require_one(frame, name, "lookup")
    amount_label(frame, prefix, amount)  # a column that was named has to be there
    taxed = f"{prefix}tax" in frame.columns
    notes = changes_since(frame, taxed_rows(frame, prefix), prefix) if taxed else ()
    made, _ = reviewed(frame, amount=amount, share=share, prefix=prefix)
    return replace(made, notes=notes)


def reviewed(
    frame: pd.DataFrame, *, amount: Hashable | None, share: int, prefix: str
) -> tuple[Review, np.ndarray]:
    """A review, and where its rows stand in the frame, counted from 0."""
    source = without_added(frame, [prefix + name for name in REVIEW_COLUMNS], "a review")
    status = coded(frame, f"{prefix}lookup_status", "not_attempted")
    codes, cells = codes_of_rows(frame, status, prefix)
    listed = np.flatnonzero(np.array([bool(cell) for cell in cells], bool)[codes])
    stakes = stakes_of(frame, status, prefix=prefix, amount=amount)
    own = Money(stakes.dollars.cents[listed], stakes.dollars.missing[listed])
    places = places_of_rows(frame.iloc[listed], prefix=prefix)
    reasons = Coded(codes[listed], cells)
    group_codes, pairs = combined([places, reasons])
    group_codes, pairs = _merged(group_codes, pairs)
    sizes = np.bincount(group_codes, minlength=len(pairs))
    groups = _groups(pairs, sizes, own, group_codes)
    rank = np.empty(len(pairs), np.int64)
    rank[groups.index] = np.arange(len(pairs))
    order = np.lexsort((listed, rank[group_codes], -own.cents, own.missing))
    groups.index = pd.RangeIndex(1, len(groups) + 1, name="review_group")
    rows = source.iloc[listed[order]].copy(deep=False)
    columns = (
        decimals(own.cents[order], own.missing[order], MONEY),
        _taken(stakes.basis.values, stakes.basis.codes[listed[order]]),
        _taken(cells, reasons.codes[order]),
        _taken([advice_on(cell) for cell in cells], reasons.codes[order]),
        _taken(places.values, places.codes[order]),
        rank[group_codes[order]] + 1,
    )
    for name, column in zip(REVIEW_COLUMNS, columns, strict=True):
        rows[prefix + name] = column
    made = Review(
        rows=rows,
        groups=groups,
        by_reason=_by_reason(cells, reasons.codes, own),
        totals=_totals(frame, own, stakes, listed, share),
        prefix=prefix,
    )
    return made, listed[order]


def _merged(
    codes: np.ndarray, pairs: Sequence[tuple[str, ...]]
) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Groups whose places read the same are one."""
    distinct = list(dict.fromkeys(pairs))
    number = {pair: place for place, pair in enumerate(distinct)}
    return np.array([number[pair] for pair in pairs], np.int64)[codes], distinct


def _groups(
    pairs: Sequence[tuple[str, ...]], sizes: np.ndarray, own: Money, codes: np.ndarray
) -> pd.DataFrame:
    """Place and reasons with rows and dollars: the most dollars first, then the most rows."""
    stakes = dollars_by(codes, own, len(pairs))
    groups = pd.DataFrame(
        {
            "place": _taken([place for place, _ in pairs], np.arange(len(pairs))),
            "reasons": _taken([cell for _, cell in pairs], np.arange(len(pairs))),
            "rows": sizes,
            "dollars": money_column(stakes),
            "to_do": _taken([advice_on(cell) for _, cell in pairs], np.arange(len(pairs))),
        }
    )

    def order(one: int) -> tuple[bool, Decimal, int, int]:
        stake = stakes[one]
        return stake is None, -(stake or Decimal()), -int(sizes[one]), one

    return groups.iloc[sorted(range(len(pairs)), key=order)]


def _by_reason(cells: Sequence[str], codes: np.ndarray, own: Money) -> pd.DataFrame:
    """Rows and dollars by code; a row with several codes is in each of them."""
    counts = np.bincount(codes, minlength=len(cells)).tolist()
    known = np.bincount(codes[~own.missing], minlength=len(cells)).tolist()
    sums = sums_by(codes, own.cents, len(cells))
    found: dict[str, list[int]] = {}
    for cell, *figures in zip(cells, counts, known, sums, strict=True):
        for code in codes_in(cell):
            found[code] = [a + b for a, b in zip(found.get(code, [0, 0, 0]), figures, strict=True)]
    there = sorted((code for code in found if found[code][0]), key=lambda one: -found[one][2])
    return pd.DataFrame(
        {
            "reason": pd.array(there, dtype="str"),
            "rows": np.array([found[code][0] for code in there], np.int64),
            "dollars": money_column(
                [dollars(found[code][2]) if found[code][1] else None for code in there]
            ),
            "meaning": pd.array([meaning_of(code) for code in there], dtype="str"),
            "to_do": pd.array([what_to_do(code) for code in there], dtype="str"),
        }
    )


def _totals(
    frame: pd.DataFrame, own: Money, stakes: Stakes, listed: np.ndarray, share: int
) -> ReviewTotals:
    basis = Coded(stakes.basis.codes[listed], stakes.basis.values)
    estimated = basis.where(lambda one: one == "estimate")
    total = own.total()
    sizes = np.sort(own.cents[~own.missing])[::-1].tolist()
    return ReviewTotals(
        frame_rows=len(frame),
        rows=len(listed),
        dollars=total,
        of_sales=any(rows for name, rows in basis.counts() if name == "sale"),
        share=share,
        carrying_rows=_carrying(sizes, share * sum(sizes)),
        estimated_rows=int(estimated.sum()),
        estimated=own.total(estimated),
        unknown_rows=int(own.missing.sum()),
    )


def _carrying(sizes: Sequence[int], wanted: int) -> int:
    """How many of the largest figures add up to `wanted` hundredths; 0 where there is nothing."""
    reached, rows = 0, 0
    for size in sizes:
        if reached * _PERCENT >= wanted:
            break
        reached += size
        rows += 1
    return rows


def _taken(values: Sequence[str], codes: np.ndarray) -> pd.api.extensions.ExtensionArray:
    return pd.array([value or None for value in values], dtype="str").take(codes)
