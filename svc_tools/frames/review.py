"""The rows that require review: which, why, what to do, and the dollars at stake.

`codes_of_rows` decides it: the status of a row without a whole rate, what the lookup and the tax
marked, and taxes that are missing. `attention` orders the rows by urgency, for summaries and
reports; `review` orders them by the dollars at stake, for `df.svc.review()`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.display import as_html, as_text, capital, counted, exact_dollars
from svc_tools.frames.analysis.comparison import without_added
from svc_tools.frames.arrow import MONEY, Coded, coded, combined, decimals, first_column, recoded
from svc_tools.frames.lookup_columns import WITH_RATE, rates_of, require_columns, require_one
from svc_tools.frames.meanings import codes_in, meaning_of, urgency, what_to_do
from svc_tools.frames.money import Money, dollars, dollars_by, money, money_column, sums_by
from svc_tools.frames.row_states import places_of_rows, states_of_rows
from svc_tools.frames.tables import table_of
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.taxed_rows import (
    amount_label,
    changes_since,
    sales_of,
    taxable_of_rows,
    taxed_rows,
)
from svc_tools.lookup.review import REVIEW_REASONS

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
_BASIS_CODES = {basis: code for code, basis in enumerate(BASES)}
_PERCENT = 100
_REVIEWED_WARNINGS = REVIEW_REASONS.keys() - {"zip_spans_jurisdictions"}


@dataclass(frozen=True, slots=True)
class ReviewTotals:
    """How much there is to review; dollars are exact to the cent, without the sign of refunds.

    Attributes:
        frame_rows: the rows of the frame.
        rows: those that require review.
        dollars: the dollars at stake in them; `None` where no row has a figure.
        of_sales: whether these are dollars of sales, because the frame has no tax.
        share: a percentage.
        carrying_rows: the fewest rows that add up to that percentage of `dollars`.
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
    """The rows that require review, by dollars at stake.

    Attributes:
        rows: those rows of the frame, with the labels of its index, the most dollars first, and
            the added columns `review_dollars` (at stake), `review_basis` (what that figure is:
            see `BASES`), `review_reasons` (codes, separated by "; "),
            `review_to_do`, `review_place` and `review_group` (the number in `groups`).
        groups: the same by place and reasons, each to be cleared once: `place`, `reasons`, `rows`,
            `dollars`, `to_do`; numbered from 1.
        by_reason: rows and dollars by code, with its meaning and what to do; a row with several
            codes is in each, so these do not add up to the totals.
        totals: see `ReviewTotals`.
        prefix: the prefix of the columns.
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
        """How few rows account for most of the dollars at stake."""
        sums = self.totals
        if not sums.rows:
            return f"None of {counted(sums.frame_rows, 'row')} requires review."
        requires = "requires" if sums.rows == 1 else "require"
        need = f"{sums.rows:,} of {counted(sums.frame_rows, 'row')} {requires} review"
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
        sums, sentences = self.totals, []
        if sums.estimated_rows and sums.estimated is not None:
            sentences.append(
                f"The estimate of {exact_dollars(sums.estimated)} is what is taxable of the sales"
                f" of {counted(sums.estimated_rows, 'row')} without a tax, at the highest rate"
                " that the frame has for their state: more than their tax is likely to be."
            )
        if sums.unknown_rows and sums.dollars:
            sentences.append(f"In no sum: {counted(sums.unknown_rows, 'row')} without a figure.")
        return [*sentences, *self.notes]

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
                rows=12,
            ),
            table_of(
                "By place and reasons: each is cleared once",
                self.groups,
                (("place", "Place"), *figures, ("reasons", "Reasons")),
                rows=10,
            ),
            table_of(
                "Rows, the most dollars first",
                self.rows,
                [(self.prefix + name, head) for name, head in of_rows],
                rows=10,
                labelled="Index",
            ),
        )


class Fault(NamedTuple):
    """Why rows require review.

    Attributes:
        failed: they have no rate, or no tax (in a frame with taxes); else the tax is in doubt.
        kind: the most urgent fault: a status, `no_tax`, or a code of a review.
        reason: a sentence for each fault.
        to_do: what to do about it, a sentence for each fault.
    """

    failed: bool
    kind: str
    reason: str
    to_do: str


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one kind of fault.

    `sales`, `tax` and `at_stake` (US dollars) add up what there is; they are `None` where no row
    of the kind has any.
    """

    kind: str
    failed: bool
    rows: int
    sales: Decimal | None
    tax: Decimal | None
    at_stake: Decimal | None
    to_do: str


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """The rows that require review: first those that failed, then the others.

    Failed rows come by the urgency of their fault, in each kind the largest sales first; the
    others by the dollars at stake, then by their tax.

    Attributes:
        rows: positions in the frame, from 0.
        codes: which of `faults` each of these rows has.
        faults: the distinct faults.
        failed: how many of `rows` failed: the first ones.
        sales: the sale of every row of the frame; missing in a frame without taxes.
        tax: the tax of every row of the frame.
        at_stake: what the tax of every row may differ by.
    """

    rows: np.ndarray
    codes: np.ndarray
    faults: tuple[Fault, ...]
    failed: int
    sales: Money
    tax: Money
    at_stake: Money

    def groups(self) -> tuple[Group, ...]:
        """The rows by kind: the failed ones first, the most urgent kinds first."""
        kinds = sorted(
            {(not fault.failed, *urgency(fault.kind)) for fault in self.faults},
        )
        return tuple(self._group(kind, failed=not passed) for passed, _, kind in kinds)

    def _group(self, kind: str, *, failed: bool) -> Group:
        of_kind = [fault.kind == kind and fault.failed == failed for fault in self.faults]
        rows = np.zeros(len(self.sales.cents), bool)
        rows[self.rows[np.array(of_kind, bool)[self.codes]]] = True
        return Group(
            kind,
            failed,
            int(rows.sum()),
            self.sales.total(rows),
            self.tax.total(rows),
            self.at_stake.total(rows),
            what_to_do(kind),
        )


def review(frame: pd.DataFrame, *, amount: Hashable | None, share: int, prefix: str) -> Review:
    """Review a frame; see `SvcAccessor.review` for the meaning of the arguments."""
    if isinstance(share, bool) or not isinstance(share, int) or not 0 < share <= _PERCENT:
        raise ValueError(f"share: expected a percentage from 1 to 100, not {share!r}")
    names = tuple(prefix + name for name in ("lookup_status", "needs_review"))
    require_columns(frame, names, "look the rates up first: df.svc.lookup()")
    for name in names:
        require_one(frame, name, "lookup")
    amount_label(frame, prefix, amount)  # refuses a column that is missing
    taxed = f"{prefix}tax" in frame.columns
    notes = changes_since(frame, taxed_rows(frame, prefix), prefix) if taxed else ()
    made, _ = reviewed(frame, amount=amount, share=share, prefix=prefix)
    return replace(made, notes=notes)


def reviewed(
    frame: pd.DataFrame, *, amount: Hashable | None, share: int, prefix: str
) -> tuple[Review, np.ndarray]:
    """A review, and the positions of its rows in the frame, from 0."""
    source = without_added(frame, [prefix + name for name in REVIEW_COLUMNS], "a review")
    status = coded(frame, f"{prefix}lookup_status", "not_attempted")
    codes, cells = codes_of_rows(frame, status, prefix)
    listed = np.flatnonzero(np.array([bool(cell) for cell in cells], bool)[codes])
    stakes = _stakes_of(frame, status, prefix=prefix, amount=amount)
    own = Money(stakes.dollars.cents[listed], stakes.dollars.missing[listed])
    places = places_of_rows(frame.iloc[listed], prefix=prefix)
    reasons = Coded(codes[listed], cells)
    group_codes, pairs = combined([places, reasons])
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
        _taken([_advice_on(cell) for cell in cells], reasons.codes[order]),
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
            "to_do": _taken([_advice_on(cell) for _, cell in pairs], np.arange(len(pairs))),
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
    frame: pd.DataFrame, own: Money, stakes: _Stakes, listed: np.ndarray, share: int
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


class _Stakes(NamedTuple):
    """Dollars at stake by row (missing where there is no figure), and their basis."""

    dollars: Money
    basis: Coded


def _stakes_of(
    frame: pd.DataFrame, status: Coded, *, prefix: str, amount: Hashable | None
) -> _Stakes:
    """The dollars at stake in every row, by the first basis of `BASES` that applies."""
    sales = sales_of(frame, prefix, amount)
    if f"{prefix}tax" not in frame.columns:
        basis = np.where(sales.missing, _BASIS_CODES[""], _BASIS_CODES["sale"])
        return _Stakes(Money(np.abs(sales.cents), sales.missing), Coded(basis, tuple(BASES)))
    tax, at_stake, low, high = (
        money(frame, prefix + name) for name in ("tax", "at_stake", "tax_low", "tax_high")
    )
    taxable = taxable_of_rows(frame, prefix) if amount is None else None
    if taxable is not None:  # nothing is at stake in sales that are wholly exempt
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
    basis = np.select(conditions, [_BASIS_CODES[name] for name, *_ in chosen], _BASIS_CODES[""])
    return _Stakes(Money(cents, basis == _BASIS_CODES[""]), Coded(basis, tuple(BASES)))


def _estimates(
    frame: pd.DataFrame, sales: Money, status: Coded, prefix: str
) -> tuple[np.ndarray, np.ndarray]:
    """The tax of the sales at the highest rates found, in cents; and rows without an estimate."""
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


def attention(frame: pd.DataFrame, *, amount: Hashable = "amount", prefix: str = "") -> Attention:
    """The rows that require review, the most urgent first.

    These are the rows without a whole rate, those without a tax (if the frame has taxes), and
    those that the lookup (`needs_review`) or the tax (`tax_review`) marked for review.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        amount: the column of amounts that the tax was computed from.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up.
    """
    status_column = f"{prefix}lookup_status"
    require_columns(frame, (status_column,), "look the rates up first: df.svc.lookup()")
    taxed = f"{prefix}tax" in frame.columns and amount in frame.columns
    sales, tax, at_stake = (
        money(frame, name if taxed else None)
        for name in (amount, f"{prefix}tax", f"{prefix}at_stake")
    )
    status = coded(frame, status_column, "not_attempted")
    cells = codes_of_rows(frame, status, prefix)
    answered = status.where(WITH_RATE.__contains__)
    failed = ~answered | (tax.missing if taxed else status.where(lambda one: one == "partial"))
    listed = np.flatnonzero(failed | cells.where(bool))
    columns = [
        status,
        coded(frame, f"{prefix}lookup_error"),
        coded(frame, f"{prefix}tax_error"),
        cells,
        _city_of_mismatch(frame, cells, prefix),
        Coded(failed.astype(np.int64), ("", "failed")),
    ]
    codes, rows = combined([Coded(column.codes[listed], column.values) for column in columns])
    faults = tuple(_fault(*row) for row in rows)
    ranks = _ranks(faults)[codes] if faults else codes
    size = np.abs(sales.cents[listed])
    keys = (  # the last one counts first
        listed,
        -size,
        sales.missing[listed],
        -np.abs(tax.cents[listed]) * ~failed[listed],
        -np.abs(at_stake.cents[listed]) * ~failed[listed],
        ranks * failed[listed],
        ~failed[listed],
    )
    order = np.lexsort(keys)
    return Attention(
        listed[order],
        codes[order],
        faults,
        int(failed[listed].sum()),
        sales,
        tax,
        at_stake,
    )


def _ranks(faults: tuple[Fault, ...]) -> np.ndarray:
    """The urgency of each fault's kind as a number."""
    kinds = sorted({fault.kind for fault in faults}, key=urgency)
    return np.array([kinds.index(fault.kind) for fault in faults], np.int64)


def _city_of_mismatch(frame: pd.DataFrame, reasons: Coded, prefix: str) -> Coded:
    """The city that a rate is for, where it is not the one that was given."""
    cities = coded(frame, f"{prefix}resolved_city")
    differs = reasons.where(lambda cell: "place_input_mismatch" in codes_in(cell))
    place = cities.values.index("")  # noqa: PD011 - no frame's
    return Coded(np.where(differs, cities.codes, place), cities.values)


def _fault(  # noqa: PLR0917 - a row's cells
    status: str, error: str, tax_error: str, cell: str, city: str, failed: str
) -> Fault:
    """What is wrong with a row, the most urgent fault first."""
    codes = codes_in(cell) or ("no_tax",)
    if status not in WITH_RATE:
        reason = error or f"No rate ({status}), and no reason given."
        return Fault(True, status, reason, _advice_on(cell))  # noqa: FBT003
    kinds = [code for code in ("partial", "no_tax") if code in codes]
    sentences: list[str] = []
    if failed and "partial" not in codes:
        kinds.append("no_tax")
        sentences.append(f"No tax: {tax_error.removesuffix('.') or 'no reason given'}.")
    sentences += [_sentence(code, city) for code in codes if code != "no_tax"]
    return Fault(
        bool(failed), kinds[0] if failed else codes[0], " ".join(sentences), _advice_on(cell)
    )


def _sentence(code: str, city: str) -> str:
    if code == "place_input_mismatch" and city:
        return f"The city given is not the place the rate is for: {city}."
    meaning = meaning_of(code)
    return f"{capital(meaning)}." if meaning else f"{code}."


def codes_of_rows(frame: pd.DataFrame, status: Coded, prefix: str) -> Coded:
    """The codes for which each row requires review, separated by "; ", the most urgent first.

    Empty where a row requires none. They are the status of a row without a whole rate, what the
    lookup noted (`lookup_review_reason`, where `needs_review`), what the tax noted
    (`tax_review`), `no_tax`, and why it is not known whether a tax is due.
    """
    marked = first_column(frame, f"{prefix}needs_review")
    marks = (
        Coded(status.codes * 0, ("unknown",))
        if marked is None
        else Coded(marked.fillna(value=True).to_numpy(bool).astype(np.int64), ("", "marked"))
    )
    names = ("lookup_review_reason", "confidence", "warnings", "tax_review")
    codes, rows = combined(
        [
            status,
            marks,
            *(coded(frame, f"{prefix}{name}") for name in names),
            _why_no_tax(frame, status, prefix),
        ]
    )
    return recoded(codes, (_cell(*row) for row in rows))


def _why_no_tax(frame: pd.DataFrame, status: Coded, prefix: str) -> Coded:
    """The reasons of `taxed_rows`, also for a frame with only some of the columns of its tax."""
    tax = first_column(frame, f"{prefix}tax")
    if tax is None:
        return Coded(status.codes * 0, ("",))
    needed = ("tax_error", "taxable_amount", "exempt_amount")
    if {f"{prefix}{name}" for name in needed} <= set(frame.columns):
        return taxed_rows(frame, prefix).why
    lacks = status.where(lambda one: one == "ok") & tax.isna().to_numpy()
    return Coded(lacks.astype(np.int64), ("", "no_tax"))


def _cell(  # noqa: PLR0917 - a row's cells
    status: str,
    marked: str,
    of_rate: str,
    confidence: str,
    warnings: str,
    of_tax: str,
    why: str,
) -> str:
    if marked == "unknown":  # a lookup of some columns only
        found = _judged(status, confidence, warnings)
    else:
        found = list(codes_in(of_rate)) if marked else []
    if status != "ok" and status not in found:
        found.append(status)
    if marked == "marked" and not found:  # a lookup without the column with the reason
        found.append("needs_review")
    found += codes_in(of_tax)
    if why.startswith("no_tax"):
        found.append(why.partition(":")[2] if why.endswith("freight_taxable_unknown") else "no_tax")
    if why.startswith("due_not_known:"):
        found.append(why.removeprefix("due_not_known:"))
    return "; ".join(sorted(dict.fromkeys(found), key=urgency))


def _judged(status: str, confidence: str, warnings: str) -> list[str]:
    """The reasons to review that follow from a row's status, confidence and warnings."""
    if status not in WITH_RATE:
        return []
    codes = [code for code in codes_in(warnings) if code in _REVIEWED_WARNINGS]
    codes += [status] if status != "ok" else []
    return codes or (["low_confidence"] if confidence in {"low", "none"} else [])


def _advice_on(cell: str) -> str:
    """What to do about the codes of a row, each sentence once."""
    return " ".join(dict.fromkeys(what_to_do(code) for code in codes_in(cell)))
