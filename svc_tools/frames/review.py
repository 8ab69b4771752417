"""The rows that require review: which, why, what to do, where, and the dollars at stake.

`codes_of_rows` decides it: the status of a row without a whole rate, what the lookup and the tax
marked, and taxes that are missing. `reviewed` lists and groups those rows, for `df.svc.review()`,
summaries and reports; `ReviewCounts` groups those of a file that is read in parts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.codes import (
    codes_in,
    codes_of,
    meaning_of,
    urgency,
    what_to_do,
    where_to_do,
)
from svc_tools.display import (
    NOTHING,
    Note,
    Table,
    as_html,
    as_text,
    capital,
    counted,
    exact_dollars,
    number,
    prose,
)
from svc_tools.frames.analysis.comparison import without_added
from svc_tools.frames.arrow import MONEY, Coded, coded, combined, decimals, first_column, recoded
from svc_tools.frames.lookup_columns import (
    WITH_RATE,
    rates_of,
    require_columns,
    require_one,
    truths_of,
)
from svc_tools.frames.money import Money, dollars, dollars_by, money, money_column, sums_by
from svc_tools.frames.row_states import places_of_rows, states_of_rows
from svc_tools.frames.tables import table_of
from svc_tools.frames.taxes.due import terms_of
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.taxed_rows import (
    amount_label,
    changes_since,
    sales_of,
    taxable_of_rows,
    taxed_rows,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.codes import AddressGiven

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
_BASES = (*codes_of("stake"), "")
_BASIS_CODES = {basis: code for code, basis in enumerate(_BASES)}
_PERCENT = 100
_REVIEWED_WARNINGS = frozenset(codes_of("review")) - {"zip_spans_jurisdictions"}


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
        address: whether they have a street address that did not decide the rate.
    """

    state: str
    reason: str
    rows: int
    dollars: Decimal | None
    address: AddressGiven = "no"

    @property
    def meaning(self) -> str:
        """What the reason means."""
        return meaning_of(self.reason)

    @property
    def to_do(self) -> str:
        """What to do about it."""
        return what_to_do(self.reason, self.state, address=self.address)

    @property
    def where(self) -> str:
        """Where to do it: the state's own lookup page by its name; empty where that is no help."""
        return where_to_do(self.reason, self.state)

    @property
    def advice(self) -> str:
        """What to do, and where."""
        named = not self.where or self.where in self.to_do
        return self.to_do if named else f"{self.to_do} Where: {self.where}."


@dataclass(slots=True)
class _Sums:
    """The rows of one group, added up so that the sum does not depend on the parts of a file.

    An estimate is rounded row by row, at a rate that is known only at the end. It is that rate
    times the whole multiples of `UNITS_PER_ONE` cents of the sale, and the rounded tax of the rest.

    Attributes:
        rows: how many.
        unmatched: those with a street address that did not decide the rate.
        known: those with a figure, and their `cents`.
        multiples: the sum of the whole multiples in the sales to be estimated.
        rests: how many of those sales have which rest.
        bounded: how many of the others have which sale, and which tax as the least.
    """

    rows: int = 0
    unmatched: int = 0
    known: int = 0
    cents: int = 0
    multiples: int = 0
    rests: Counter[int] = field(default_factory=Counter)
    bounded: Counter[tuple[int, int]] = field(default_factory=Counter)

    @property
    def address(self) -> AddressGiven:
        """Whether the rows have a street address that did not decide the rate."""
        return _given(self.unmatched, self.rows)

    def estimate(self, units: int) -> tuple[int, int]:
        """The rows with an estimate at a rate, and its cents; a rate below 0 gives none."""
        if units < 0:
            return 0, 0
        cents = self.multiples * units
        cents += sum(_taxed(rest, units) * rows for rest, rows in self.rests.items())
        for (sale, least), rows in self.bounded.items():
            cents += max(_taxed(sale, units), least) * rows
        return self.rests.total() + self.bounded.total(), cents


@dataclass(slots=True)
class ReviewCounts:
    """The rows that require review by state and reason, added up over the parts of a file.

    The groups are those of `review()` of the whole file, whatever its parts.

    Attributes:
        sums: by state and reason.
        highest: the highest rate found for each state, in units.
    """

    sums: dict[tuple[str, str], _Sums] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows require review."""
        return sum(one.rows for one in self.sums.values())

    @property
    def estimated(self) -> tuple[int, Decimal]:
        """How many rows have no tax but an estimate, and its dollars."""
        found = [one.estimate(self._units(state)) for (state, _), one in self.sums.items()]
        return sum(rows for rows, _ in found), dollars(sum(cents for _, cents in found))

    def add(self, frame: pd.DataFrame, prefix: str) -> None:
        """Add the rows of an enriched frame: its rates, and those rows that require review."""
        status = coded(frame, f"{prefix}lookup_status", "not_attempted")
        codes, cells = codes_of_rows(frame, status, prefix)
        states = states_of_rows(frame, prefix=prefix)
        for state, units in zip(states.values, _highest(frame, states, prefix), strict=True):
            self.highest[state] = max(units, self.highest.get(state, -1))
        listed = np.flatnonzero(np.array([bool(cell) for cell in cells], bool)[codes])
        if not len(listed):
            return
        part, here = frame.iloc[listed], Coded(states.codes[listed], states.values)
        figures = _figures_of(
            part, Coded(status.codes[listed], status.values), prefix=prefix, amount=None
        )
        groups = self.put(here, Coded(codes[listed], cells), _unmatched(part, prefix), figures.own)
        self._put_open(here, groups, figures)

    def put(
        self, states: Coded, reasons: Coded, unmatched: np.ndarray, own: Money
    ) -> tuple[np.ndarray, list[_Sums]]:
        """Add rows: their states, their reasons, and the dollars at stake in them.

        Returns:
            The group of each row.
        """
        first = recoded(reasons.codes, [_first(cell) for cell in reasons.values])  # noqa: PD011 - no frame's
        codes, pairs = combined([states, first])
        groups = [self.sums.setdefault((state, reason), _Sums()) for state, reason in pairs]
        size = len(pairs)
        added = zip(
            groups,
            np.bincount(codes, minlength=size).tolist(),
            np.bincount(codes[unmatched], minlength=size).tolist(),
            np.bincount(codes[~own.missing], minlength=size).tolist(),
            sums_by(codes, own.cents, size),
            strict=True,
        )
        for group, rows, without, known, cents in added:
            group.rows += rows
            group.unmatched += without
            group.known += known
            group.cents += cents
        return codes, groups

    def _put_open(
        self, states: Coded, groups: tuple[np.ndarray, list[_Sums]], figures: _Figures
    ) -> None:
        """Add the sales of rows whose figure is an estimate."""
        rows = np.flatnonzero(figures.open)
        if not len(rows):
            return
        codes, sales, least = groups[0][rows], figures.sales[rows], figures.least[rows]
        # the rate at the end is at least this one
        lowest = np.array([max(self.highest.get(one, -1), 0) for one in states.values], np.int64)  # noqa: PD011 - no frame's
        bounded = least > _taxed(sales, lowest[states.codes[rows]])
        for code, sale, one in zip(
            codes[bounded].tolist(), sales[bounded].tolist(), least[bounded].tolist(), strict=True
        ):
            groups[1][code].bounded[sale, one] += 1
        codes, sales = codes[~bounded], sales[~bounded]
        multiples, rests = sales // UNITS_PER_ONE, sales % UNITS_PER_ONE
        for group, more in zip(groups[1], sums_by(codes, multiples, len(groups[1])), strict=True):
            group.multiples += more
        keys, counts = np.unique(codes * UNITS_PER_ONE + rests, return_counts=True)
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            code, rest = divmod(key, UNITS_PER_ONE)
            groups[1][code].rests[rest] += count

    def _units(self, state: str) -> int:
        """The highest rate found for a state, else the highest of all; below 0 where none is."""
        own = self.highest.get(state, -1)
        return own if own >= 0 else max(self.highest.values(), default=-1)

    def groups(self) -> tuple[StateReason, ...]:
        """The groups: the most dollars first, then those without a figure, zero dollars last."""
        groups = []
        for (state, reason), one in self.sums.items():
            rows, cents = one.estimate(self._units(state))
            stake = dollars(one.cents + cents) if one.known + rows else None
            groups.append(StateReason(state, reason, one.rows, stake, one.address))

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
    heads = ("State", prose("Reason") if in_words else "Reason", number("Rows"), number("Dollars"))
    more = f"and {counted(sum(one.rows for one in rest), 'row')} in {len(rest):,} more groups"
    return Table((*heads, prose("What to do, and where")), rows, title, more if rest else None)


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
            stake), `review_basis` (what that figure is), `review_reasons` (codes separated by
            "; "), `review_why` (in sentences), `review_to_do`, `review_place` and
            `review_group` (the number in `groups`).
        state_reasons: the same by state and most urgent reason, each row in one group.
        groups: the same by place and reasons, each to be cleared once: `state`, `reason` (the most
            urgent), `place`, `reasons`, `rows`, `dollars`, `to_do`, `where`; numbered from 1.
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
        if sums.dollars is None:
            return f"{need}; no dollars are known to be at stake."
        if not sums.dollars:
            part = "" if not sums.unknown_rows else "as far as it is known, "
            return f"{need}; {part}{exact_dollars(sums.dollars)} is at stake."
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
        return as_text(Note(self.sentence, self._sentences), *self._tables)

    def __repr__(self) -> str:
        """One line: the sentence."""
        return f"<Review: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(Note(self.sentence, self._sentences), *self._tables)

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
        figures = (("rows", number("Rows")), ("dollars", number("Dollars")))
        of_rows = (
            ("review_dollars", number("Dollars")),
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
    unmatched = _unmatched(part, prefix)
    counts = ReviewCounts()
    counts.put(states, reasons, unmatched, own)
    group_codes, keys = combined([states, places, reasons])
    sizes = np.bincount(group_codes, minlength=len(keys))
    of_groups = np.bincount(group_codes[unmatched], minlength=len(keys))
    advice = [
        _advice_on(cell, state, _given(int(of), int(rows)))
        for (state, _, cell), of, rows in zip(keys, of_groups, sizes, strict=True)
    ]
    groups = _groups(keys, sizes, own, group_codes, advice)
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
        _advice_of_rows(reasons, states, unmatched, order),
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
    keys: Sequence[tuple[str, ...]],
    sizes: np.ndarray,
    own: Money,
    codes: np.ndarray,
    advice: Sequence[str],
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
            "to_do": _taken(advice, every),
            "where": _taken([where_to_do(_first(cell), state) for state, _, cell in keys], every),
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


class _Figures(NamedTuple):
    """What is known of the dollars at stake by row without the rates of other rows.

    Attributes:
        own: the dollars; missing where there is no figure, or only an estimate.
        basis: what they are, by their codes.
        open: the rows whose figure is an estimate, if any rate is found.
        sales: what is taxable of those, in cents without their sign.
        least: their tax_low, which the estimate is not below; 0 where there is none.
    """

    own: Money
    basis: np.ndarray
    open: np.ndarray
    sales: np.ndarray
    least: np.ndarray


def _figures_of(
    frame: pd.DataFrame, status: Coded, *, prefix: str, amount: Hashable | None
) -> _Figures:
    """The dollars at stake in every row, by the first basis that applies."""
    sales = sales_of(frame, prefix, amount)
    if f"{prefix}tax" not in frame.columns:
        basis = np.where(sales.missing, _BASIS_CODES[""], _BASIS_CODES["sale"])
        none = np.zeros(len(frame), np.int64)
        own = Money(np.abs(sales.cents), sales.missing)
        return _Figures(own, basis, none.astype(bool), none, none)
    tax, at_stake, low, high = (
        money(frame, prefix + name) for name in ("tax", "at_stake", "tax_low", "tax_high")
    )
    of_tax = amount is None or str(amount) == str(terms_of(frame, prefix).get("amount"))
    taxable = taxable_of_rows(frame, prefix) if of_tax else None
    if taxable is not None:  # nothing is at stake in sales that are wholly exempt
        known = ~taxable.missing
        sales = Money(np.where(known, taxable.cents, sales.cents), sales.missing & ~known)
    least = np.where(low.missing, 0, np.abs(low.cents))
    chosen = [
        ("range", ~tax.missing & ~at_stake.missing & (at_stake.cents != 0), at_stake.cents),
        ("tax", ~tax.missing, np.abs(tax.cents)),
        ("tax_high", ~high.missing, np.maximum(np.abs(high.cents), least)),
    ]
    conditions = [rows for _, rows, _ in chosen]
    cents = np.select(conditions, [cents for *_, cents in chosen], 0)
    basis = np.select(conditions, [_BASIS_CODES[name] for name, *_ in chosen], _BASIS_CODES[""])
    missing = basis == _BASIS_CODES[""]
    estimable = ~sales.missing & (np.abs(sales.cents) < ROOM)
    estimable &= ~status.where(lambda one: one == "unsupported")
    open_ = missing & estimable
    return _Figures(
        Money(cents, missing), basis, open_, np.where(open_, np.abs(sales.cents), 0), least
    )


def _stakes_of(
    frame: pd.DataFrame, status: Coded, *, prefix: str, amount: Hashable | None
) -> _Stakes:
    """The dollars at stake in every row of a whole frame, with their estimates."""
    found = _figures_of(frame, status, prefix=prefix, amount=amount)
    states = states_of_rows(frame, prefix=prefix)
    highest = np.array(_highest(frame, states, prefix), np.int64)
    units = np.where(highest < 0, highest.max(initial=-1), highest)[states.codes]
    open_ = found.open & (units >= 0)
    estimates = np.maximum(_taxed(found.sales, np.maximum(units, 0)), found.least)
    cents = np.where(open_, estimates, found.own.cents)
    basis = np.where(open_, _BASIS_CODES["estimate"], found.basis)
    return _Stakes(Money(cents, found.own.missing & ~open_), Coded(basis, _BASES))


def _highest(frame: pd.DataFrame, states: Coded, prefix: str) -> list[int]:
    """The highest rate found for each of the states, in units; -1 where none is found."""
    highest = np.full(len(states.values), -1, np.int64)
    for name in ("combined_rate", "rate_high"):
        rates = rates_of(frame, prefix + name)
        np.maximum.at(highest, states.codes[~rates.missing], rates.units[~rates.missing])
    units: list[int] = highest.tolist()
    return units


_Whole = TypeVar("_Whole", int, np.ndarray)


def _taxed(cents: _Whole, units: _Whole) -> _Whole:
    """The tax of sales in cents at rates in units, half a cent up."""
    tax: _Whole = (cents * units + UNITS_PER_ONE // 2) // UNITS_PER_ONE
    return tax


def _unmatched(frame: pd.DataFrame, prefix: str) -> np.ndarray:
    """The rows with a street address that did not decide their rate."""
    warnings = coded(frame, f"{prefix}warnings")
    unmatched: np.ndarray = warnings.where(lambda cell: "address_not_matched" in codes_in(cell))
    return unmatched


def _given(unmatched: int, rows: int) -> AddressGiven:
    return "no" if not unmatched else "all" if unmatched == rows else "some"


def _advice_of_rows(
    reasons: Coded, states: Coded, unmatched: np.ndarray, order: np.ndarray
) -> pd.api.extensions.ExtensionArray:
    """What to do about each row, in this order."""
    given = Coded(unmatched.astype(np.int64), ("no", "all"))
    codes, rows = combined([reasons, states, given])
    texts = [_advice_on(cell, state, "all" if one == "all" else "no") for cell, state, one in rows]
    return _taken(texts, codes[order])


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
    marked = truths_of(frame, f"{prefix}needs_review", missing=True)
    marks = (
        Coded(status.codes * 0, ("unknown",))
        if marked is None
        else Coded(marked.astype(np.int64), ("", "marked"))
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


def _advice_on(cell: str, state: str, address: AddressGiven) -> str:
    """What to do about the codes of a row, each sentence once."""
    codes = codes_in(cell)
    return " ".join(dict.fromkeys(what_to_do(code, state, address=address) for code in codes))
