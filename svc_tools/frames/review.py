"""The rows that require review: which, why, what to do, where, and the dollars at stake.

`codes_of_rows` decides it: the status of a row without a whole rate, what the lookup and the tax
marked, and taxes that are missing. `reviewed` lists and groups those rows, for `df.svc.review()`,
summaries and reports; `ReviewCounts` groups those of a file that is read in parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.display import NOTHING, Table, as_html, as_text, capital, counted, exact_dollars
from svc_tools.frames.analysis.comparison import without_added
from svc_tools.frames.arrow import MONEY, Coded, coded, combined, decimals, first_column, recoded
from svc_tools.frames.lookup_columns import WITH_RATE, rates_of, require_columns, require_one
from svc_tools.frames.meanings import codes_in, meaning_of, urgency, what_to_do, where_to_do
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
    from collections.abc import Hashable, Mapping, Sequence

REVIEW_COLUMNS = (
    "review_dollars",
    "review_basis",
    "review_reasons",
    "review_why",
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


def rows_by_use(rows: int, to_review: int, statuses: Mapping[str, int]) -> dict[str, int]:
    """How many rows can be used: ready, to check, incomplete, and none (they have no rate).

    Args:
        rows: all rows.
        to_review: those that require review; every row without a whole rate is one of them.
        statuses: rows by `lookup_status`.
    """
    whole, incomplete = statuses.get("ok", 0), statuses.get("partial", 0)
    ready = rows - to_review
    return {
        "ready": ready,
        "check": whole - ready,
        "incomplete": incomplete,
        "none": rows - whole - incomplete,
    }


@dataclass(frozen=True, slots=True)
class StateReason:
    """The rows of one state that require review for one reason, the most urgent of each.

    Attributes:
        state: its code; empty where it is not known.
        reason: a status or a code.
        rows: how many.
        dollars: at stake in them; `None` where no row has a figure.
    """

    state: str
    reason: str
    rows: int
    dollars: Decimal | None

    @property
    def meaning(self) -> str:
        """What the reason means."""
        return meaning_of(self.reason)

    @property
    def to_do(self) -> str:
        """What to do about it."""
        return what_to_do(self.reason)

    @property
    def where(self) -> str:
        """Where to do it: the state's own lookup page by its name; empty where that is no help."""
        return where_to_do(self.reason, self.state)

    @property
    def advice(self) -> str:
        """What to do, and where."""
        return f"{self.to_do} Where: {self.where}." if self.where else self.to_do


@dataclass(slots=True)
class ReviewCounts:
    """The rows that require review by state and reason, added up over the parts of a file.

    Attributes:
        figures: by state and reason: rows, those with a figure, and their cents at stake.
    """

    figures: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows require review."""
        return sum(rows for rows, *_ in self.figures.values())

    def add(self, frame: pd.DataFrame, prefix: str) -> None:
        """Add the rows of an enriched frame that require review.

        A row without a tax has no figure: an estimate would depend on the other rows of the part.
        """
        status = coded(frame, f"{prefix}lookup_status", "not_attempted")
        codes, cells = codes_of_rows(frame, status, prefix)
        listed = np.flatnonzero(np.array([bool(cell) for cell in cells], bool)[codes])
        if not len(listed):
            return
        part = frame.iloc[listed]
        own = money(part, None)
        if f"{prefix}tax" in frame.columns:
            taken = Coded(status.codes[listed], status.values)
            own = _stakes_of(part, taken, prefix=prefix, amount=None, estimated=False).dollars
        self.put(states_of_rows(part, prefix=prefix), Coded(codes[listed], cells), own)

    def put(self, states: Coded, reasons: Coded, own: Money) -> None:
        """Add rows: their states, their reasons, and the dollars at stake in them."""
        first = recoded(reasons.codes, [_first(cell) for cell in reasons.values])  # noqa: PD011 - no frame's
        codes, pairs = combined([states, first])
        figures = (
            np.bincount(codes, minlength=len(pairs)).tolist(),
            np.bincount(codes[~own.missing], minlength=len(pairs)).tolist(),
            sums_by(codes, own.cents, len(pairs)),
        )
        for (state, reason), *added in zip(pairs, *figures, strict=True):
            there = self.figures.setdefault((state, reason), [0, 0, 0])
            self.figures[state, reason] = [a + b for a, b in zip(there, added, strict=True)]

    def groups(self) -> tuple[StateReason, ...]:
        """The groups: the most dollars first, then those without a figure, zero dollars last."""
        groups = [
            StateReason(state, reason, rows, dollars(cents) if known else None)
            for (state, reason), (rows, known, cents) in self.figures.items()
            if rows
        ]

        def order(one: StateReason) -> tuple[object, ...]:
            return *_by_dollars(one.dollars), -one.rows, urgency(one.reason), one.state

        return tuple(sorted(groups, key=order))


def _by_dollars(stake: Decimal | None) -> tuple[int, Decimal]:
    """A sort key: the most dollars first, then what has no figure, zero dollars last."""
    return (1 if stake is None else 0 if stake else 2), -(stake or Decimal())


def state_reason_table(
    title: str, groups: Sequence[StateReason], most: int, *, in_words: bool = False
) -> Table:
    """Groups of rows to review as a table.

    Args:
        title: the table's title.
        groups: the groups.
        most: how many are shown; of the others the rows are counted.
        in_words: show the meaning of a reason rather than its code.
    """
    rows = tuple(
        (
            one.state or NOTHING,
            (capital(one.meaning) if in_words else "") or one.reason,
            f"{one.rows:,}",
            NOTHING if one.dollars is None else exact_dollars(one.dollars),
            one.advice,
        )
        for one in groups[:most]
    )
    rest = groups[most:]
    heads = ("State", "~Reason" if in_words else "Reason", ">Rows", ">Dollars")
    more = f"and {counted(sum(one.rows for one in rest), 'row')} in {len(rest):,} more groups"
    return Table(title, (*heads, "~What to do, and where"), rows, more if rest else None)


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
        rows: those rows of the frame, with the labels of its index, the most dollars first (then
            those without a figure, zero dollars last), and the added columns `review_dollars` (at
            stake), `review_basis` (what that figure is: see `BASES`), `review_reasons` (codes,
            separated by "; "), `review_why` (in sentences), `review_to_do`, `review_place` and
            `review_group` (the number in `groups`).
        state_reasons: the same by state and most urgent reason, each row in one group.
        groups: the same by place and reasons, each to be cleared once: `state`, `reason` (the most
            urgent), `place`, `reasons`, `rows`, `dollars`, `to_do`; numbered from 1.
        totals: see `ReviewTotals`.
        prefix: the prefix of the columns.
        notes: what has changed in the frame since its tax was computed, in sentences.
    """

    rows: pd.DataFrame
    state_reasons: tuple[StateReason, ...]
    groups: pd.DataFrame
    totals: ReviewTotals
    prefix: str = ""
    notes: tuple[str, ...] = ()

    @property
    def by_state(self) -> pd.DataFrame:
        """The rows by state and reason, with dollars, what to do about them, and where."""
        groups = self.state_reasons

        def texts(name: str) -> pd.api.extensions.ExtensionArray:
            return pd.array([getattr(one, name) or None for one in groups], dtype="str")

        return pd.DataFrame(
            {
                "state": texts("state"),
                "reason": texts("reason"),
                "rows": np.array([one.rows for one in groups], np.int64),
                "dollars": money_column([one.dollars for one in groups]),
                **{name: texts(name) for name in ("meaning", "to_do", "where")},
            }
        )

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
            f"{counted(sums.carrying_rows, 'row')} {carry} at least {sums.share}% of the"
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
            state_reason_table("By state and reason", self.state_reasons, 12),
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


class Reviewed(NamedTuple):
    """A review, and where its rows are in the frame.

    Attributes:
        review: the review.
        positions: the position of each of its rows in the frame, from 0.
        failed: which of them have no whole rate, or no tax (in a frame with taxes); the others
            have one that is in doubt.
    """

    review: Review
    positions: np.ndarray
    failed: np.ndarray


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
    made = reviewed(frame, amount=amount, share=share, prefix=prefix)
    return replace(made.review, notes=notes)


def reviewed(
    frame: pd.DataFrame, *, amount: Hashable | None, share: int = 90, prefix: str
) -> Reviewed:
    """A review, and the positions of its rows in the frame."""
    source = without_added(frame, [prefix + name for name in REVIEW_COLUMNS], "a review")
    status = coded(frame, f"{prefix}lookup_status", "not_attempted")
    codes, cells = codes_of_rows(frame, status, prefix)
    listed = np.flatnonzero(np.array([bool(cell) for cell in cells], bool)[codes])
    stakes = _stakes_of(frame, status, prefix=prefix, amount=amount)
    own = Money(stakes.dollars.cents[listed], stakes.dollars.missing[listed])
    part = frame.iloc[listed]
    states, places = states_of_rows(part, prefix=prefix), places_of_rows(part, prefix=prefix)
    reasons = Coded(codes[listed], cells)
    counts = ReviewCounts()
    counts.put(states, reasons, own)
    group_codes, keys = combined([states, places, reasons])
    sizes = np.bincount(group_codes, minlength=len(keys))
    groups = _groups(keys, sizes, own, group_codes)
    rank = np.empty(len(keys), np.int64)
    rank[groups.index] = np.arange(len(keys))
    zero = ~own.missing & (own.cents == 0)
    order = np.lexsort((listed, rank[group_codes], -own.cents, own.missing, zero))
    groups.index = pd.RangeIndex(1, len(groups) + 1, name="review_group")
    failed = _failed(part, Coded(status.codes[listed], status.values), prefix)
    why = _why(part, Coded(status.codes[listed], status.values), reasons, failed, prefix)
    rows = source.iloc[listed[order]].copy(deep=False)
    columns = (
        decimals(own.cents[order], own.missing[order], MONEY),
        _taken(stakes.basis.values, stakes.basis.codes[listed[order]]),
        _taken(cells, reasons.codes[order]),
        _taken(why.values, why.codes[order]),
        _taken([_advice_on(cell) for cell in cells], reasons.codes[order]),
        _taken(places.values, places.codes[order]),
        rank[group_codes[order]] + 1,
    )
    for name, column in zip(REVIEW_COLUMNS, columns, strict=True):
        rows[prefix + name] = column
    made = Review(
        rows=rows,
        state_reasons=counts.groups(),
        groups=groups,
        totals=_totals(frame, own, stakes, listed, share),
        prefix=prefix,
    )
    return Reviewed(made, listed[order], failed[order])


def _failed(frame: pd.DataFrame, status: Coded, prefix: str) -> np.ndarray:
    """Which rows have no rate, and no tax where the frame has taxes, else no whole rate."""
    tax = first_column(frame, f"{prefix}tax")
    lacks = status.where(lambda one: one == "partial") if tax is None else tax.isna().to_numpy()
    failed: np.ndarray = ~status.where(WITH_RATE.__contains__) | lacks
    return failed


def _groups(
    keys: Sequence[tuple[str, ...]], sizes: np.ndarray, own: Money, codes: np.ndarray
) -> pd.DataFrame:
    """Place and reasons with rows and dollars: the most dollars first, then the most rows."""
    stakes = dollars_by(codes, own, len(keys))
    every = np.arange(len(keys))
    groups = pd.DataFrame(
        {
            "state": _taken([state for state, *_ in keys], every),
            "reason": _taken([_first(cell) for *_, cell in keys], every),
            "place": _taken([place for _, place, _ in keys], every),
            "reasons": _taken([cell for *_, cell in keys], every),
            "rows": sizes,
            "dollars": money_column(stakes),
            "to_do": _taken([_advice_on(cell) for *_, cell in keys], every),
        }
    )

    def order(one: int) -> tuple[int, Decimal, int, int]:
        return *_by_dollars(stakes[one]), -int(sizes[one]), one

    return groups.iloc[sorted(range(len(keys)), key=order)]


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
    frame: pd.DataFrame,
    status: Coded,
    *,
    prefix: str,
    amount: Hashable | None,
    estimated: bool = True,
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
        ("estimate", ~has_none & estimated, np.maximum(estimate, at_least)),
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


def _city_of_mismatch(frame: pd.DataFrame, reasons: Coded, prefix: str) -> Coded:
    """The city that a rate is for, where it is not the one that was given."""
    cities = coded(frame, f"{prefix}resolved_city")
    differs = reasons.where(lambda cell: "place_input_mismatch" in codes_in(cell))
    place = cities.values.index("")  # noqa: PD011 - no frame's
    return Coded(np.where(differs, cities.codes, place), cities.values)


def _why(
    frame: pd.DataFrame, status: Coded, reasons: Coded, failed: np.ndarray, prefix: str
) -> Coded:
    """Why each row requires review, a sentence for each of its reasons."""
    columns = (
        status,
        coded(frame, f"{prefix}lookup_error"),
        coded(frame, f"{prefix}tax_error"),
        reasons,
        _city_of_mismatch(frame, reasons, prefix),
        Coded(failed.astype(np.int64), ("", "failed")),
    )
    codes, rows = combined(columns)
    return recoded(codes, (_why_of(*row) for row in rows))


def _why_of(  # noqa: PLR0917 - a row's cells
    status: str, error: str, tax_error: str, cell: str, city: str, failed: str
) -> str:
    if status not in WITH_RATE:
        return error or f"No rate ({status}), and no reason given."
    codes, sentences = codes_in(cell), []
    if failed and "partial" not in codes:
        sentences.append(f"No tax: {tax_error.removesuffix('.') or 'no reason given'}.")
    sentences += [_sentence(code, city) for code in codes if code != "no_tax"]
    return " ".join(sentences)


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


def _first(cell: str) -> str:
    """The most urgent of the codes of a row."""
    return next(iter(codes_in(cell)), "")


def _advice_on(cell: str) -> str:
    """What to do about the codes of a row, each sentence once."""
    return " ".join(dict.fromkeys(what_to_do(code) for code in codes_in(cell)))
