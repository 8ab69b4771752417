"""What the sums of a file prove: which of those that add up counts, and what it leaves open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from svc_tools.frames.orders.adding import (
    Columns,
    TooManyColumnsError,
    nearly_adds_up,
    sums_that_fit,
)
from svc_tools.frames.orders.figures import with_sign_of
from svc_tools.frames.orders.kinds import NO_GOODS, SIGNS, are_one_part, is_paid_by_seller
from svc_tools.frames.orders.sums import Sums, Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from svc_tools.frames.orders.adding import Fit
    from svc_tools.frames.orders.figures import Figures
    from svc_tools.frames.orders.kinds import ColumnKind

ROWS_THAT_PROVE = 3
"""Distinct rows that must add up before a sum is proven."""
_WHOLE_ROWS_THAT_PROVE = 5
"""The same where all figures of a sum are whole dollars, which add up by chance more often."""
_ROWS_OF_A_PART = 2
_FIRST_ROWS = 1_000
"""Rows in which distinct ones are looked for before all are."""
_NEARLY_ALL = 0.95
_MOST_APART = 8
_LIST_OF_BASES: tuple[ColumnKind, ...] = ("amount", "quantity", "unknown", "price", "payment")
"""The kinds that a sum can start from, the best first; price x quantity has that of a quantity."""

_Proof: TypeAlias = Literal["proven", "few", "outside", "rivals", "none", "crowded"]


@dataclass(frozen=True, eq=False)
class View:
    """The figures of a table row by row, or order by order.

    Attributes:
        figures: those of each column and of each price x quantity, none of them 0 throughout.
        kinds: their kinds; a price x quantity has the kind "quantity".
        tax_named: whether the table has a column of tax, even if it is 0 throughout.
    """

    figures: Mapping[Term, Figures]
    kinds: Mapping[Term, ColumnKind]
    tax_named: bool

    def of_kinds(self, *kinds: ColumnKind) -> list[Term]:
        """The terms of these kinds."""
        return [term for term in self.figures if self.kinds[term] in kinds]

    @cached_property
    def sale(self) -> np.ndarray:
        """1 for a sale and -1 for what is taken back, by the first amount that is not 0."""
        size = len(next(iter(self.figures.values())).cents)
        sale = np.ones(size, np.int64)
        for amount in self.of_kinds("amount", "quantity", "price")[::-1]:
            own = np.sign(self.figures[amount].cents)
            sale = np.where(own != 0, own, sale)
        return sale

    @property
    def tax_is_zero(self) -> bool:
        """Whether there is a column of tax, and nothing in it."""
        return self.tax_named and not self.of_kinds("tax")


@dataclass(frozen=True, eq=False)
class Proof:
    """The best sum of a view, and what is open about it.

    Attributes:
        outcome: "proven"; "few" where fewer than three distinct rows prove it; "outside" where it
            adds up without a tax or a delivery; "rivals" where others give other figures;
            "none"; "crowded" where there are too many columns to try.
        sums: the sum; `None` where there is none.
        fits: the rows that add up, without those that alone prove a part.
        rows: the rows in which the total or the base is not 0.
        weak: the rows that alone prove a part.
        distinct: how many distinct rows prove it; no more than are needed are counted.
        outside: the terms of tax and delivery that it does without.
        rivals: the other sums.
        odd: the columns in the total of which it is not known what they are.
        unexplained: the amounts that no sum has, or is.
        near: amounts that are a sum in half of the rows or more, and less in most of the others.
    """

    outcome: _Proof
    sums: Sums | None
    fits: np.ndarray
    rows: np.ndarray
    weak: np.ndarray
    distinct: int = 0
    outside: tuple[Term, ...] = ()
    rivals: tuple[Sums, ...] = ()
    odd: tuple[Term, ...] = ()
    unexplained: tuple[Term, ...] = ()
    near: tuple[Term, ...] = ()


def best_sum(view: View, goods: AbstractSet[object] = frozenset()) -> Proof:
    """What the sums of a view prove.

    Args:
        view: the figures.
        goods: the columns of which the user says that they are goods.
    """
    size = len(next(iter(view.figures.values())).cents) if view.figures else 0
    nothing = np.zeros(size, bool)
    columns, totals = _columns(view, goods)
    try:
        all_fits = sums_that_fit(columns, totals)
    except TooManyColumnsError:
        return Proof("crowded", None, nothing, nothing, nothing)
    contained = _totals(all_fits, view)
    fits = [fit for fit in all_fits if fit.base not in contained and _says_something(fit, view)]
    fits.sort(key=lambda fit: _rank(fit, view))
    if not fits:
        return Proof("none", None, nothing, nothing, nothing)
    missing = {id(fit): _outside(fit, view) for fit in fits}
    valid = _outermost([fit for fit in fits if not missing[id(fit)]], all_fits, view)
    best = valid[0] if valid else min(fits, key=lambda fit: len(missing[id(fit)]))
    unexplained = _unexplained(best, all_fits, totals, view)
    nearly = {term: nearly_adds_up(columns, term) for term in unexplained}
    return replace(
        _proof(best, view, valid[1:], missing[id(best)]),
        unexplained=tuple(term for term, how in nearly.items() if how is None),
        near=tuple(term for term, how in nearly.items() if how == "short"),
    )


def _proof(best: Fit, view: View, others: Sequence[Fit], outside: Sequence[Term]) -> Proof:
    """The best sum with what is open about it."""
    rivals = tuple(_sums(fit, view) for fit in others if _differs(best, fit, view))
    odd = tuple(
        part
        for part, sign in best.parts
        if view.kinds[part] in {"fee", "other", "unknown"} and _adds(view.figures[part], sign)
    )
    weak = _proven_by_one(best, view)
    needed = _WHOLE_ROWS_THAT_PROVE if _is_whole(best, view) else ROWS_THAT_PROVE
    proven = _distinct(best, view, best.fits & ~weak, needed) >= needed
    outcome: _Proof = "proven" if proven else "few"
    if outside or rivals:
        outcome = "outside" if outside else "rivals"
    return Proof(
        outcome,
        _sums(best, view),
        best.fits & ~weak,
        best.rows,
        weak,
        _distinct(best, view, best.fits, needed),
        tuple(outside),
        rivals,
        odd,
    )


def _outermost(valid: list[Fit], fits: Sequence[Fit], view: View) -> list[Fit]:
    """The sums without those of amounts from which a discount is still taken."""
    before = {
        fit.base
        for fit in fits
        if any(view.kinds[part] in {"discount", "wrap"} for part, _ in fit.parts)
    }
    after = [fit for fit in valid if fit.total not in before]
    return after or valid


def _unexplained(best: Fit, fits: Sequence[Fit], totals: Sequence[Term], view: View) -> list[Term]:
    """The amounts that no sums connect with the best one, or with price x quantity."""
    known: set[Term] = {best.total, best.base, *view.of_kinds("quantity")}
    for _ in fits:
        known |= {
            term for fit in fits if known & {fit.total, fit.base} for term in (fit.total, fit.base)
        }
    return [term for term in totals if term not in known and view.kinds[term] == "amount"]


def _columns(view: View, goods: AbstractSet[object]) -> tuple[Columns, list[Term]]:
    """What sums can be made of, and their totals; of amounts with the same figures one is tried."""
    amounts = _different(view, view.of_kinds("amount", "unknown", "payment", "wrap"), goods)
    priced = _different(view, view.of_kinds("quantity", "price"), goods)
    signs = {
        term: _signs(view.kinds[term], _written(view, term))
        for term in view.figures
        if view.kinds[term] in SIGNS
    }
    columns = Columns(
        {term: figures.cents for term, figures in view.figures.items()},
        [term for term in (*amounts, *priced) if view.kinds[term] != "payment"],
        {term: options for term, options in signs.items() if options},
        {
            term: figures.wrong
            for term, figures in view.figures.items()
            if figures.wrong is not None
        },
    )
    return columns, [term for term in amounts if view.kinds[term] != "wrap"]


def _different(view: View, terms: list[Term], goods: AbstractSet[object]) -> list[Term]:
    """The terms without those that have the figures of one before them; the fuller one first."""
    usable = [term for term in terms if view.kinds[term] != "wrap" or term.label in goods]
    usable.sort(
        key=lambda term: (
            _base_rank(view.kinds[term]),
            -np.count_nonzero(view.figures[term].filled),
        )
    )
    kept: dict[int, list[Term]] = {}
    for term in usable:
        cents = view.figures[term].cents
        alike = kept.setdefault(int(cents.sum()), [])
        if not any(np.array_equal(view.figures[term].cents, cents) for term in alike):
            alike.append(term)
    different = {term for alike in kept.values() for term in alike}
    return [term for term in terms if term in different]


def _base_rank(kind: ColumnKind) -> int:
    return _LIST_OF_BASES.index(kind) if kind in _LIST_OF_BASES else len(_LIST_OF_BASES)


def _signs(kind: ColumnKind, written: int) -> tuple[int, ...]:
    """With which signs a column can stand in a total, by how the file writes it on sales.

    What is added to a sale is not written with a minus; what is taken off may be.
    """
    return SIGNS[kind] if written > 0 else (1,) if -1 in SIGNS[kind] else ()


def _written(view: View, term: Term) -> int:
    """-1 where a column is written with a minus on sales, else 1."""
    signs = np.sign(view.figures[term].cents) * view.sale
    return -1 if np.count_nonzero(signs < 0) > np.count_nonzero(signs > 0) else 1


def _adds(figures: Figures, sign: int) -> bool:
    """Whether a part makes the total larger."""
    signs = np.sign(figures.cents)
    return sign * int(signs.sum()) > 0


def _totals(fits: list[Fit], view: View) -> set[Term]:
    """The amounts that have more in them than goods."""
    return {
        fit.total
        for fit in fits
        for part, sign in fit.parts
        if view.kinds[part] in NO_GOODS and _adds(view.figures[part], sign)
    }


def _says_something(fit: Fit, view: View) -> bool:
    """Whether a sum is more than two equal columns, or amounts less their fees."""
    if view.kinds[fit.base] == "quantity":
        return True
    kinds = {view.kinds[part] for part, _ in fit.parts}
    if not kinds:
        return view.tax_is_zero
    return view.tax_named or not kinds <= {"fee", "refund", "discount"}


def _rank(fit: Fit, view: View) -> tuple[int, int, int]:
    return -fit.fitting, _base_rank(view.kinds[fit.base]), len(fit.parts)


def _outside(fit: Fit, view: View) -> list[Term]:
    """The columns of tax and delivery that a sum does without, and that it does not explain."""
    missing: list[Term] = []
    for kind in ("tax", "delivery"):
        inside = [part for part, _ in fit.parts if view.kinds[part] == kind]
        others = [
            term
            for term in view.of_kinds(kind)
            if term not in inside and (view.figures[term].cents[fit.rows] != 0).any()
        ]
        if not others:
            continue
        if not inside:
            missing += whole_of(others, view)
            continue
        missing += [
            term
            for term in others
            if not (is_paid_by_seller(term.label) or _explained(term, fit, inside, others, view))
        ]
    return missing


def whole_of(terms: Sequence[Term], view: View) -> list[Term]:
    """The terms without those that are parts of another one."""
    for whole in terms:
        others = [term for term in terms if term != whole]
        for apart in _subsets(others):
            added = sum(view.figures[term].cents for term in apart)
            if _same(view.figures[whole].cents, np.asarray(added)):
                return [term for term in terms if term not in apart]
    return list(terms)


def _explained(
    term: Term, fit: Fit, inside: Sequence[Term], others: Sequence[Term], view: View
) -> bool:
    """Whether a tax or a delivery is contained in those that are in the sum."""
    reductions = view.of_kinds("delivery_discount") if view.kinds[term] == "delivery" else []
    if any(are_one_part(term.label, other.label) for other in inside):
        return True
    own = view.figures[term].cents[fit.fits]
    parts = {other: view.figures[other].cents[fit.fits] for other in inside}
    whole = np.sum([*parts.values()], axis=0)
    there = own != 0  # a tax of some rows may be all the tax that these have
    if any(_same(own[there], part[there]) for part in (whole, *parts.values())):
        return True
    rest = {other: view.figures[other].cents[fit.fits] for other in others if other != term}
    for apart in _subsets([*rest]):
        if apart and _same(own + np.sum([rest[other] for other in apart], axis=0), whole):
            return True
    less = {reduction: np.abs(view.figures[reduction].cents[fit.fits]) for reduction in reductions}
    return any(
        apart and _same(own - np.sum([less[reduction] for reduction in apart], axis=0), whole)
        for apart in _subsets([*less])
    )


def _subsets(terms: Sequence[Term]) -> list[tuple[Term, ...]]:
    """The sets of some of these, the smallest first; of too many only all of them."""
    if len(terms) > _MOST_APART:
        return [tuple(terms)]
    return [subset for size in range(1, len(terms) + 1) for subset in combinations(terms, size)]


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two figures are the same in nearly all rows in which one of them is not 0."""
    there = (one != 0) | (other != 0)
    return bool(there.any()) and bool((one == other)[there].mean() >= _NEARLY_ALL)


def _sums(fit: Fit, view: View) -> Sums:
    """What is goods, delivery and tax by a sum."""
    found: dict[str, list[Term]] = {"goods": [fit.base], "delivery": [], "tax": [], "others": []}
    for part, sign in fit.parts:
        found[PART_OF.get(view.kinds[part], "others")].append(replace(part, sign=sign))
    terms = [fit.base, fit.total, *(part for part, _ in fit.parts)]
    return Sums(
        **{name: tuple(each) for name, each in found.items()},
        total=fit.total,
        by_order=any(term.once or term.head for term in terms),
        witness="sum",
    )


PART_OF: dict[ColumnKind, str] = {
    "discount": "goods",
    "wrap": "goods",
    "delivery": "delivery",
    "delivery_discount": "delivery",
    "tax": "tax",
}
"""What a part of each kind belongs to; else to the others of a total."""


def _differs(one: Fit, other: Fit, view: View) -> bool:
    """Whether two sums give other goods, delivery or tax in a row where both add up."""
    both = one.fits & other.fits
    if not both.any():
        return True
    for part in ("goods", "delivery", "tax"):
        first, second = (
            _added(getattr(_sums(fit, view), part), view, both) for fit in (one, other)
        )
        if (first != second).any():
            return True
    return False


def _added(terms: Iterable[Term], view: View, rows: np.ndarray) -> np.ndarray:
    added = np.zeros(int(rows.sum()), np.int64)
    for term in terms:
        added += with_sign_of(term, view.figures[replace(term, sign=1)].cents[rows])
    return added


def _proven_by_one(fit: Fit, view: View) -> np.ndarray:
    """The rows in which a part is not 0 that hardly another row proves."""
    weak = np.zeros(len(fit.fits), bool)
    main = [view.figures[term].cents for term in (fit.total, fit.base)]
    for term in view.figures:
        if view.kinds[term] in {"refund", "payment"} or view.kinds[term] not in SIGNS:
            continue
        cents = view.figures[term].cents
        on = fit.fits & (cents != 0)
        if (
            term not in (fit.total, fit.base)
            and _count_distinct([*main, cents], on) < _ROWS_OF_A_PART
        ):
            weak |= on
    return weak


def _is_whole(fit: Fit, view: View) -> bool:
    """Whether all figures of a sum are whole dollars."""
    terms = (fit.total, fit.base, *(part for part, _ in fit.parts))
    return all(not (view.figures[term].cents % 100).any() for term in terms)


def _distinct(fit: Fit, view: View, on: np.ndarray, most: int) -> int:
    """How many distinct rows prove a sum: rows in which its parts come to something."""
    total, base = view.figures[fit.total].cents, view.figures[fit.base].cents
    if fit.parts:
        on = on & (total != base)
    columns = [total, base, *(view.figures[part].cents for part, _ in fit.parts)]
    return _count_distinct(columns, on, most)


def _count_distinct(
    columns: Sequence[np.ndarray], rows: np.ndarray, most: int = ROWS_THAT_PROVE
) -> int:
    """How many distinct rows there are, counted no further than needed."""
    left = np.flatnonzero(rows)
    few = _distinct_of(columns, left[:_FIRST_ROWS], most)
    return few if few == most else _distinct_of(columns, left, most)


def _distinct_of(columns: Sequence[np.ndarray], left: np.ndarray, most: int) -> int:
    for count in range(most):
        if not len(left):
            return count
        other = np.zeros(len(left), bool)
        for column in columns:
            other |= column[left] != column[left[0]]
        left = left[other]
    return most
