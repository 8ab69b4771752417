"""The rows that require review: listed and grouped, with what to do, where, and the dollars.

`review_codes` decides which they are. `reviewed` lists and groups them, for `df.svc.review()`,
summaries and reports; `ReviewCounts` groups those of a file that is read in parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.added.names import without_added
from svc_tools.frames.lookup.row_states import places_of, states_of
from svc_tools.frames.review.codes import (
    BASES,
    BASIS_CODES,
    figures_of,
    highest_rates,
    of_delivery_alone,
    review_codes,
    taxed_up,
    unmatched_rows,
    why_review,
)
from svc_tools.frames.review.untaxed_states import UntaxedStates
from svc_tools.frames.taxes.not_due import not_due_of, not_due_sentence
from svc_tools.frames.taxes.taxed_rows import (
    changes_since,
    goods_of,
)
from svc_tools.frames.values.arrow import MONEY, Coded, combined, decimals, recoded, text_column
from svc_tools.frames.values.money import Money, dollars, dollars_by, money_column, sums_by
from svc_tools.frames.values.tables import plain_fields, plain_rows, table_of
from svc_tools.show.codes import meaning_of, urgency, what_to_do, where_to_do
from svc_tools.show.display import (
    NOTHING,
    Note,
    Table,
    as_html,
    as_text,
    capital,
    counted,
    exact_dollars,
    number,
    plain,
    prose,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from svc_tools.frames.options import AmountOptions
    from svc_tools.frames.taxes.not_due import NotDue
    from svc_tools.frames.taxes.taxed_rows import Goods
    from svc_tools.show.codes import AddressGiven
    from svc_tools.show.official_pages import OfficialPage

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
_PERCENT = 100
MOSTLY_UNTAXED = "mostly_not_taxable"
"""The reason of a line that stands for a whole state, and for none of its rows."""


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
    def page(self) -> OfficialPage | None:
        """Where to do it: the state's official page; `None` where that is no help."""
        return where_to_do(self.reason, self.state)

    @property
    def where(self) -> str:
        """The same as text, with its web address; empty where there is none."""
        return _where(self.reason, self.state)

    @property
    def advice(self) -> str:
        """What to do, and where by name."""
        page = self.page
        if page is None or page.name in self.to_do:
            return self.to_do
        return f"{self.to_do} Where: {page.name}."


@dataclass(slots=True)
class _Sums:
    """The rows of one group.

    Attributes:
        rows: how many.
        unmatched: those with a street address that did not decide the rate.
        known: those with their own figure, and their `cents`.
    """

    rows: int = 0
    unmatched: int = 0
    known: int = 0
    cents: int = 0


class _Held(NamedTuple):
    """Rows of one part of a file: their numbers and groups, and the figures of each."""

    numbers: np.ndarray
    groups: np.ndarray
    own: Money
    basis: np.ndarray
    open: np.ndarray
    sales: np.ndarray
    least: np.ndarray


class StakeOfRows(NamedTuple):
    """The dollars at stake in rows to review, with estimates; rows are numbered from 0.

    Attributes:
        numbers: their numbers, in their order.
        groups: the number of each one's group.
        dollars: at stake; missing where there is no figure.
        basis: what these dollars are, as a code into `BASES`.
    """

    numbers: np.ndarray
    groups: np.ndarray
    dollars: Money
    basis: np.ndarray


class RankedRows(NamedTuple):
    """Numbers of rows of a file, from 0, by dollars at stake: the order of `Review.rows`."""

    numbers: np.ndarray
    dollars: Money

    def part(self, start: int, stop: int) -> RankedRows:
        """Some of them, in their order."""
        rows = slice(start, stop)
        return RankedRows(self.numbers[rows], Money(*(column[rows] for column in self.dollars)))


class ReviewCounts:
    """The rows that require review by state and reason, added up over the parts of a file.

    A frame is one part: the groups of a file are those of `review()`, whatever its parts. An
    estimate needs the highest rate of its state, which is known only at the end: the sales of
    those rows are held until then.

    Args:
        ranked: whether the rows are listed by dollars too, for which each is held (39 bytes).
    """

    def __init__(self, *, ranked: bool = False) -> None:
        self._ranked, self._seen = ranked, 0
        self._sums: dict[tuple[str, str], _Sums] = {}
        self._highest: dict[str, int] = {}
        self._held: list[_Held] = []
        self._expected = [0, 0]
        self._untaxed = UntaxedStates()

    @property
    def rows(self) -> int:
        """How many rows require review."""
        return sum(stake.rows for stake in self._sums.values())

    @property
    def estimated(self) -> tuple[int, Decimal]:
        """How many rows have no tax but an estimate, and its dollars."""
        rows, cents = self._estimates()
        return sum(rows), dollars(sum(cents))

    @property
    def expected(self) -> tuple[int, Decimal]:
        """How many rows have an expected amount, by the share of housing, and its dollars."""
        rows, cents = self._expected
        return rows, dollars(cents)

    def add(self, rows: Enriched, goods: Goods) -> None:
        """Add enriched rows: their rates, and those of them that require review.

        Args:
            rows: the rows.
            goods: the amounts of the rows.
        """
        self._untaxed.add(rows)
        for state, units in zip(states_of(rows).values, highest_rates(rows), strict=True):
            self._highest[state] = max(units, self._highest.get(state, -1))
        listed = np.flatnonzero(review_codes(rows).where(bool))
        first, self._seen = self._seen, self._seen + len(rows)
        if not len(listed):
            return
        part = rows.at(listed)
        figures = figures_of(part, goods.at(listed))
        groups = self._put(part, figures.own)
        expected = figures.basis == BASIS_CODES["expected"]
        self._expected[0] += int(expected.sum())
        self._expected[1] += sum(figures.own.cents[expected].tolist())
        held = np.flatnonzero(figures.open | self._ranked)
        of_rows = (
            *(listed + first, groups, *figures.own, figures.basis.astype(np.int8)),
            *(figures.open, figures.sales, figures.least),
        )
        if len(held):
            numbers, groups, cents, missing, *rest = (column[held] for column in of_rows)
            self._held.append(_Held(numbers, groups, Money(cents, missing), *rest))

    def _put(self, rows: Enriched, own: Money) -> np.ndarray:
        """Add rows that require review, with the dollars at stake in them.

        Returns:
            The number of each row's group.
        """
        reasons, unmatched = review_codes(rows), unmatched_rows(rows)
        codes, pairs = combined(
            [states_of(rows), recoded(reasons.codes, map(_first, reasons.values))]
        )
        groups = [self._sums.setdefault((state, reason), _Sums()) for state, reason in pairs]
        size = len(pairs)
        added = zip(
            groups,
            np.bincount(codes, minlength=size).tolist(),
            np.bincount(codes[unmatched], minlength=size).tolist(),
            np.bincount(codes[~own.missing], minlength=size).tolist(),
            sums_by(codes, own.cents, size),
            strict=True,
        )
        for group, counted_, without, known, cents in added:
            group.rows += counted_
            group.unmatched += without
            group.known += known
            group.cents += cents
        place = {pair: number_ for number_, pair in enumerate(self._sums)}
        numbers = np.array([place[state, reason] for state, reason in pairs], np.int32)
        of_rows: np.ndarray = numbers[codes]
        return of_rows

    def _estimates(self) -> tuple[list[int], list[int]]:
        """The rows with an estimate in each group, and its cents."""
        size = len(self._sums)
        of_groups = self._highest_of_groups()
        rows, cents = [0] * size, [0] * size
        for held in self._held:
            estimated, estimates = _estimated(held, of_groups)
            here = held.groups[estimated]
            counted_rows = np.bincount(here, minlength=size).tolist()
            rows = [count + more for count, more in zip(rows, counted_rows, strict=True)]
            sums = sums_by(here, estimates, size)
            cents = [added + more for added, more in zip(cents, sums, strict=True)]
        return rows, cents

    def _highest_of_groups(self) -> np.ndarray:
        """The highest rate found for each group's state, else of all; below 0 where none is."""
        every = max(self._highest.values(), default=-1)
        units = [self._highest.get(state, -1) for state, _ in self._sums]
        return np.array([every if rate < 0 else rate for rate in units], np.int64)

    def ranked(self, reason: str | None = None) -> RankedRows:
        """The rows (with this most urgent reason) by dollars: known ones, none, then zero dollars.

        Raises:
            ValueError: the counts were made without `ranked`.
        """
        of_rows = self.stakes()
        wanted = np.array([reason in {None, why} for _, why in self._sums], bool)
        chosen = wanted[of_rows.groups]
        numbers = of_rows.numbers[chosen]
        cents, missing = (column[chosen] for column in of_rows.dollars)
        order = np.lexsort((numbers, -cents, missing, ~missing & (cents == 0)))
        return RankedRows(numbers[order], Money(cents[order], missing[order]))

    def stakes(self) -> StakeOfRows:
        """The dollars at stake in each row, in the order of the rows.

        Raises:
            ValueError: the counts were made without `ranked`.
        """
        if not self._ranked:
            raise ValueError("ranked: the rows were only counted")
        of_groups = self._highest_of_groups()
        none = np.zeros(0, np.int64)
        parts = [(none, none, none, none.astype(bool), none)]
        for held in self._held:
            estimated, estimates = _estimated(held, of_groups)
            cents, missing, basis = (part.copy() for part in (*held.own, held.basis))
            cents[estimated], missing[estimated] = estimates, False
            basis[estimated] = BASIS_CODES["estimate"]
            parts.append((held.numbers, held.groups, cents, missing, basis))
        numbers, groups, cents, missing, basis = map(np.concatenate, zip(*parts, strict=True))
        return StakeOfRows(numbers, groups, Money(cents, missing), basis)

    def groups(self) -> tuple[StateReason, ...]:
        """The groups: the most dollars first, then those without a figure, zero dollars last.

        A state of which most sales are marked as not taxable is one of them: its rows are counted,
        and are not among those to review.
        """
        groups = [
            StateReason(untaxed.state, MOSTLY_UNTAXED, untaxed.rows, dollars(untaxed.cents))
            for untaxed in self._untaxed.found()
        ]
        for ((state, reason), group), rows, cents in zip(
            self._sums.items(), *self._estimates(), strict=True
        ):
            stake = dollars(group.cents + cents) if group.known + rows else None
            address = _given(group.unmatched, group.rows)
            groups.append(StateReason(state, reason, group.rows, stake, address))

        def order(group: StateReason) -> tuple[object, ...]:
            return *_by_dollars(group.dollars), -group.rows, urgency(group.reason), group.state

        return tuple(sorted(groups, key=order))


def _estimated(held: _Held, highest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of these rows have an estimate, and its cents, at the highest rates by group."""
    rows = np.flatnonzero(held.open & (highest[held.groups] >= 0))
    tax = taxed_up(held.sales[rows], highest[held.groups[rows]])
    return rows, np.maximum(tax, held.least[rows])


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
            group.state or NOTHING,
            (capital(group.meaning) if in_words else "") or group.reason,
            f"{group.rows:,}",
            NOTHING if group.dollars is None else exact_dollars(group.dollars),
            group.advice,
        )
        for group in groups[:most]
    )
    rest = groups[most:]
    heads = ("State", prose("Reason") if in_words else "Reason", number("Rows"), number("Dollars"))
    more = f"and {counted(sum(group.rows for group in rest), 'row')} in {len(rest):,} more groups"
    return Table((*heads, prose("What to do, and where")), rows, title, more if rest else None)


def official_pages_of(groups: Iterable[StateReason]) -> dict[str, OfficialPage]:
    """The official pages with a web address that groups of rows to review name, by state."""
    return {group.state: group.page for group in groups if group.page and group.page.url}


def official_pages_note(groups: Iterable[StateReason]) -> Note | None:
    """The same as lines of text: a terminal has no other links."""
    lines = [f"{state}: {page.text}" for state, page in official_pages_of(groups).items()]
    return Note("Where to look up single addresses", lines) if lines else None


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
        estimated: their part of `dollars`; `None` without an estimate.
        expected_rows: rows whose figure is an expected amount: the range of their tax times the
            share of the ZIP's housing that has another rate.
        expected: their part of `dollars`; `None` without one.
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
    expected_rows: int = 0
    expected: Decimal | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Review:
    """The rows that require review, by dollars at stake.

    Attributes:
        rows: those rows of the frame, with the labels of its index, the most dollars first (then
            those without a figure, zero dollars last), and the added columns `review_dollars` (at
            stake), `review_basis` (what that figure is), `review_reasons` (codes separated by
            "; "), `review_why` (in sentences), `review_to_do`, `review_place` and
            `review_group` (the number in `groups`).
        state_reasons: the same by state and most urgent reason, each row in one group; and a line
            for each state of which an export marks most sales as not taxable, whose rows are not
            listed.
        groups: the same by place and reasons, each to be cleared once (reasons of a whole state
            are one group of it): `state`, `reason` (the most urgent), `place`, `reasons`, `rows`,
            `dollars`, `to_do`, `where`; numbered from 1.
        totals: see `ReviewTotals`.
        prefix: the prefix of the columns.
        notes: what has changed in the frame since its tax was computed, in sentences.
        not_due: the rows of which no tax is due from the seller, by reason; they are not listed.
    """

    rows: pd.DataFrame
    state_reasons: tuple[StateReason, ...]
    groups: pd.DataFrame
    totals: ReviewTotals
    prefix: str = ""
    notes: tuple[str, ...] = ()
    not_due: tuple[NotDue, ...] = ()

    @property
    def by_state(self) -> pd.DataFrame:
        """The rows by state and reason, with dollars, what to do about them, and where."""
        groups = self.state_reasons

        def texts(name: str) -> pd.api.extensions.ExtensionArray:
            return text_column(getattr(group, name) for group in groups)

        return pd.DataFrame(
            {
                "state": texts("state"),
                "reason": texts("reason"),
                "rows": np.array([group.rows for group in groups], np.int64),
                "dollars": money_column([group.dollars for group in groups]),
                **{name: texts(name) for name in ("meaning", "to_do", "where")},
            }
        )

    @property
    def sentence(self) -> str:
        """How few rows account for most of the dollars at stake."""
        sums = self.totals
        whole = sum(group.reason == MOSTLY_UNTAXED for group in self.state_reasons)
        if not sums.rows:
            a_state = f"; {counted(whole, 'state')} as a whole" if whole else ""
            return f"None of {counted(sums.frame_rows, 'row')} requires review{a_state}."
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

    @property
    def expected_sentence(self) -> str:
        """How much of the dollars is an expected amount; empty without."""
        sums = self.totals
        return expected_sentence(sums.expected_rows, sums.expected)

    @property
    def not_due_sentence(self) -> str:
        """How many rows are not listed because no tax is due from the seller; empty without."""
        return not_due_sentence(self.not_due)

    def __str__(self) -> str:
        """The review as text: the sentence, reasons, places, rows."""
        return as_text(*self.parts())

    def __repr__(self) -> str:
        """One line: the sentence."""
        return f"<Review: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(*self.parts())

    def parts(self) -> tuple[Note | Table, ...]:
        """The review for display: the sentence, reasons, places, rows."""
        pages = official_pages_note(self.state_reasons)
        return Note(self.sentence, self._sentences), *self._tables, *filter(None, (pages,))

    def as_json(self) -> dict[str, object]:
        """Plain values for a program; dollars as text with two decimals."""
        return {
            "sentence": self.sentence,
            "notes": [*self._sentences],
            "totals": plain_fields(self.totals),
            "by_state": plain_rows(self.by_state),
            "groups": plain_rows(self.groups),
            "not_due": [part.as_json() for part in self.not_due],
        }

    @property
    def _sentences(self) -> Sequence[str]:
        """What the dollars of the review rest on, and which rows are in no sum, in words."""
        sums = self.totals
        sentences = [*filter(None, (self.not_due_sentence, self.expected_sentence))]
        if sums.estimated_rows and sums.estimated is not None:
            sentences.append(
                f"The estimate of {exact_dollars(sums.estimated)} is what is taxable of the sales"
                f" of {counted(sums.estimated_rows, 'row')} without a tax, at the highest rate"
                " found for their state: it orders the rows, and is not their tax."
            )
            listed = Enriched(self.rows, self.prefix)
            basis = listed.coded("review_basis").where("estimate".__eq__)
            if rows := int((basis & listed.where(lambda status: status.partial)).sum()):
                sentences.append(
                    f"The rate of {counted(rows, 'row')} of them is partial: where no whole rate of"
                    " their state was found, the tax is at least that, and local tax comes on top."
                )
        if sums.unknown_rows and sums.dollars:
            sentences.append(f"In no sum: {counted(sums.unknown_rows, 'row')} without a figure.")
        return [*sentences, *self.notes]

    @property
    def _tables(self) -> Sequence[Table]:
        """The tables by state and reason, by place, and of single rows, as they are displayed."""
        by_state = state_reason_table("By state and reason", self.state_reasons, 12)
        if not self.totals.rows:
            return (by_state,) if self.state_reasons else ()
        figures = (("rows", number("Rows")), ("dollars", number("Dollars")))
        of_rows = (
            ("review_dollars", number("Dollars")),
            ("review_basis", "Basis"),
            ("review_place", "Place"),
            ("review_reasons", "Reasons"),
        )
        return (
            by_state,
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
                labelled=plain(self.rows.index.name or "Index"),
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


def review(
    rows: Enriched, *, amount: Hashable | None, share: int, options: AmountOptions
) -> Review:
    """Review a frame; see `SvcAccessor.review` for the meaning of the arguments."""
    if isinstance(share, bool) or not isinstance(share, int) or not 0 < share <= _PERCENT:
        raise ValueError(f"share: expected a percentage from 1 to 100, not {share!r}")
    rows.require("lookup_status", "needs_review")
    goods = goods_of(rows, amount, options, call="review")
    notes = changes_since(rows) if rows.has("tax") else ()
    return replace(reviewed(rows, goods, share=share).review, notes=notes)


def reviewed(rows: Enriched, goods: Goods, *, share: int = 90) -> Reviewed:
    """A review, and the positions of its rows in the frame."""
    prefix = rows.prefix
    source = without_added(rows.frame, [*map(rows.label, REVIEW_COLUMNS)], "a review")
    counts = ReviewCounts(ranked=True)
    counts.add(rows, goods)
    listed, _, own, basis = counts.stakes()
    part = rows.at(listed)
    reasons, states, places = review_codes(part), states_of(part), places_of(part)
    unmatched = unmatched_rows(part)
    group_codes, keys = combined([states, _grouped(places, reasons, states), reasons])
    sizes = np.bincount(group_codes, minlength=len(keys))
    of_groups = np.bincount(group_codes[unmatched], minlength=len(keys))
    advice = [
        _advice_on(codes, state, _given(int(of), int(size)))
        for (state, _, codes), of, size in zip(keys, of_groups, sizes, strict=True)
    ]
    groups = _groups(keys, sizes, own, group_codes, advice)
    rank = np.empty(len(keys), np.int64)
    rank[groups.index] = np.arange(len(keys))
    zero = ~own.missing & (own.cents == 0)
    order = np.lexsort((listed, rank[group_codes], -own.cents, own.missing, zero))
    groups.index = pd.RangeIndex(1, len(groups) + 1, name="review_group")
    failed = _failed(part)
    why = why_review(part, failed)
    made = source.iloc[listed[order]].copy(deep=False)
    columns = (
        decimals(own.cents[order], own.missing[order], MONEY),
        Coded(basis[order], BASES).column(),
        text_column(_joined(reasons.values)).take(reasons.codes[order]),
        why.at(order).column(),
        _advice_of_rows(reasons, states, unmatched).at(order).column(),
        places.at(order).column(),
        rank[group_codes[order]] + 1,
    )
    for name, column in zip(REVIEW_COLUMNS, columns, strict=True):
        made[prefix + name] = column
    found = Review(
        rows=made,
        state_reasons=counts.groups(),
        groups=groups,
        totals=_totals(len(rows), own, basis, share),
        prefix=prefix,
        not_due=not_due_of(rows, goods),
    )
    return Reviewed(found, listed[order], failed[order])


def _joined(every: Iterable[tuple[str, ...]]) -> list[str]:
    """Codes as they stand in a cell."""
    return ["; ".join(codes) for codes in every]


def _grouped(places: Coded[str], reasons: Coded[tuple[str, ...]], states: Coded[str]) -> Coded[str]:
    """The place of each row's group: its state, where its reasons are those of all of the state."""
    whole = reasons.where(of_delivery_alone)
    own, of_states = places.values, states.values  # noqa: PD011 - no frame's
    names = [f"{state}, all places" if state else "" for state in of_states]
    codes = np.where(whole, states.codes + len(own), places.codes)
    return recoded(codes, [*own, *names])


def _failed(rows: Enriched) -> np.ndarray:
    """Which rows have no rate, and no tax where the frame has taxes, else no whole rate."""
    lacks = (
        rows.money("tax").missing if rows.has("tax") else rows.where(lambda status: status.partial)
    )
    failed: np.ndarray = ~rows.where(lambda status: status.rated) | lacks
    return failed


def _groups(
    keys: Sequence[tuple[Any, ...]],
    sizes: np.ndarray,
    own: Money,
    codes: np.ndarray,
    advice: Sequence[str],
) -> pd.DataFrame:
    """Place and reasons with rows and dollars: the most dollars first, then the most rows."""
    stakes = dollars_by(codes, own, len(keys))
    groups = pd.DataFrame(
        {
            "state": text_column(state for state, *_ in keys),
            "reason": text_column(_first(codes) for *_, codes in keys),
            "place": text_column(place for _, place, _ in keys),
            "reasons": text_column(_joined(codes for *_, codes in keys)),
            "rows": sizes,
            "dollars": money_column(stakes),
            "to_do": text_column(advice),
            "where": text_column(_where(_first(codes), state) for state, _, codes in keys),
        }
    )

    def order(place: int) -> tuple[int, Decimal, int, int]:
        return *_by_dollars(stakes[place]), -int(sizes[place]), place

    return groups.iloc[sorted(range(len(keys)), key=order)]


def _totals(frame_rows: int, own: Money, basis: np.ndarray, share: int) -> ReviewTotals:
    estimated, expected = (basis == BASIS_CODES[name] for name in ("estimate", "expected"))
    total = own.total()
    sizes = np.sort(own.cents[~own.missing])[::-1].tolist()
    return ReviewTotals(
        frame_rows=frame_rows,
        rows=len(basis),
        dollars=total,
        of_sales=bool((basis == BASIS_CODES["sale"]).any()),
        share=share,
        carrying_rows=_carrying(sizes, share * sum(sizes)),
        estimated_rows=int(estimated.sum()),
        estimated=own.total(estimated),
        unknown_rows=int(own.missing.sum()),
        expected_rows=int(expected.sum()),
        expected=own.total(expected),
    )


def expected_sentence(rows: int, expected: Decimal | None) -> str:
    """How much of the dollars of a review is an expected amount; empty where nothing is."""
    if not rows or expected is None:
        return ""
    return (
        f"Of these dollars {exact_dollars(expected)} is an expected amount for"
        f" {counted(rows, 'row')}: the range of their tax times the share of the ZIP's housing that"
        " has another rate."
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


def _given(unmatched: int, rows: int) -> AddressGiven:
    return "no" if not unmatched else "all" if unmatched == rows else "some"


def _advice_of_rows(
    reasons: Coded[tuple[str, ...]], states: Coded[str], unmatched: np.ndarray
) -> Coded[str]:
    """What to do about each row."""
    given = Coded(unmatched.astype(np.int64), ("no", "all"))
    codes, rows = combined([reasons, states, given])
    texts = [
        _advice_on(cell, state, "all" if share == "all" else "no") for cell, state, share in rows
    ]
    return Coded(codes, tuple(texts))


def _where(code: str, state: str) -> str:
    page = where_to_do(code, state)
    return "" if page is None else page.text


def _first(codes: tuple[str, ...]) -> str:
    """The most urgent of the codes of a row."""
    return codes[0] if codes else ""


def _advice_on(codes: tuple[str, ...], state: str, address: AddressGiven) -> str:
    """What to do about the codes of a row, each sentence once."""
    return " ".join(dict.fromkeys(what_to_do(code, state, address=address) for code in codes))
