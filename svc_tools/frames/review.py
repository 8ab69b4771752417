"""The rows that need a person, the most dollars first, and what to do about them."""

# MERGED review_places: The places of rows, in words: rows of one place and one reason are cleared together.
# MERGED review_stakes: What is at stake in a row that needs a person, in dollars of tax, and what that rests on.
# MERGED reviewed: The result of a review, and how it reads.

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.display import as_html, as_text, counted, exact_dollars
from svc_tools.frames.analysis.comparison import without_added
from svc_tools.frames.arrow import MONEY, Coded, coded, combined, decimals
from svc_tools.frames.lookup_columns import rates_of, require_columns, require_one
from svc_tools.frames.meanings import codes_in, meaning_of, what_to_do
from svc_tools.frames.money import Money, dollars, dollars_by, money, money_column, sums_by
from svc_tools.frames.row_states import advice_on, codes_of_rows, inputs_of, states_of_rows
from svc_tools.frames.tables import table_of
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.taxed_rows import (
    amount_label,
    changes_since,
    sales_of,
    taxable_of_rows,
    taxed_rows,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.display import Table

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

_GIVEN = ("address", "city", "zip", "location", "lat", "lng")

BASES = {
    "range": "the tax at the highest rate of the places that fit less that at the lowest",
    "tax": "the whole tax of the row",
    "tax_high": "no tax: the most that it can be (tax_high)",
    "estimate": (
        "no tax: what is taxable of the sale at the highest rate found for its state in the frame"
        " (of any state where its own has none), or tax_low where that is more"
    ),
    "sale": "the frame has no tax: the sale itself",
    "": "no figure: the sale is not known, or no state's sales tax applies",
}
"""What the dollars of a row are, by `review_basis`; the sign of a refund is dropped."""

_REASONS, _GROUPS, _ROWS = 12, 10, 10


def review(frame: pd.DataFrame, *, amount: Hashable | None, share: int, prefix: str) -> Review:
    """List the rows; see `SvcAccessor.review` for the meaning of the arguments."""
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


def places_of_rows(frame: pd.DataFrame, *, prefix: str = "") -> Coded:
    """Each row's place as it was asked for, such as `1 Main St, Atlanta, GA 30303`.

    The columns are those that the lookup used, where the frame still says so; what was not given
    is what the answer resolved to. Empty where nothing names a place.
    """
    asked, _ = inputs_of(frame, prefix=prefix)
    columns = [states_of_rows(frame, prefix=prefix)]
    columns += [coded(frame, asked[name]) if name in asked else _empty(frame) for name in _GIVEN]
    columns += [coded(frame, f"{prefix}resolved_{name}") for name in ("zip", "city")]
    codes, cells = combined(columns)
    return Coded(codes, tuple(map(_label, cells)))


def _empty(frame: pd.DataFrame) -> Coded:
    return coded(frame, object())  # a column that no frame has


def _label(cells: tuple[str, ...]) -> str:
    state, address, city, zip_code, location, lat, lng, resolved_zip, resolved_city = cells
    point = f"{lat}, {lng}" if lat and lng and not address else ""
    town = city or location
    if not town and not address and not point:
        town = resolved_city
    where = f"{state} {resolved_zip or zip_code}".strip()
    return ", ".join(part.strip() for part in (address, point, town, where) if part.strip())


_CODES = {basis: code for code, basis in enumerate(BASES)}


class Stakes(NamedTuple):
    """Dollars at stake by row (missing where there is no figure), and their basis."""

    dollars: Money
    basis: Coded


def stakes_of(
    frame: pd.DataFrame, status: Coded, *, prefix: str, amount: Hashable | None
) -> Stakes:
    """What is at stake in every row; the first basis of `BASES` that applies."""
    sales = sales_of(frame, prefix, amount)
    if f"{prefix}tax" not in frame.columns:
        basis = np.where(sales.missing, _CODES[""], _CODES["sale"])
        return Stakes(Money(np.abs(sales.cents), sales.missing), Coded(basis, tuple(BASES)))
    tax, at_stake, low, high = (
        money(frame, prefix + name) for name in ("tax", "at_stake", "tax_low", "tax_high")
    )
    taxable = taxable_of_rows(frame, prefix) if amount is None else None
    if taxable is not None:  # of wholly exempt sales nothing is at stake
        known = ~taxable.missing
        sales = Money(np.where(known, taxable.cents, sales.cents), sales.missing & ~known)
    estimate, has_none = _estimates(frame, sales, status, prefix)
    at_least = np.where(low.missing, 0, np.abs(low.cents))
    chosen = [
        ("range", ~tax.missing & ~at_stake.missing & (at_stake.cents != 0), at_stake.cents),
        ("tax", ~tax.missing, np.abs(tax.cents)),
        ("tax_high", ~high.missing, np.maximum(np.abs(high.cents), at_least)),
        ("estimate", ~has_none, np.maximum(estimate, at_least)),
    ]
    conditions = [rows for _, rows, _ in chosen]
    cents = np.select(conditions, [cents for *_, cents in chosen], 0)
    basis = np.select(conditions, [_CODES[name] for name, *_ in chosen], _CODES[""])
    return Stakes(Money(cents, basis == _CODES[""]), Coded(basis, tuple(BASES)))


def _estimates(
    frame: pd.DataFrame, sales: Money, status: Coded, prefix: str
) -> tuple[np.ndarray, np.ndarray]:
    """The sales at the highest rates found, in cents, and where there can be none."""
    codes, names = states_of_rows(frame, prefix=prefix)
    highest = np.full(len(names), -1, np.int64)
    for name in ("combined_rate", "rate_high"):
        rates = rates_of(frame, prefix + name)
        np.maximum.at(highest, codes[~rates.missing], rates.units[~rates.missing])
    highest = np.where(highest < 0, highest.max(initial=-1), highest)
    units = highest[codes]
    none = sales.missing | (units < 0) | (np.abs(sales.cents) >= ROOM)
    none |= status.where(lambda one: one == "unsupported")
    products = np.where(none, 0, np.abs(sales.cents)) * units
    return (products + UNITS_PER_ONE // 2) // UNITS_PER_ONE, none


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
