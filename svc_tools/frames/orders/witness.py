"""What the amounts of a file contain, by its own arithmetic, then by the rates of its places.

`weigh` decides what the sums prove, and says what is open; `settle` lets the known rates decide
what the sums do not, and then a usual name. What is still open is a question.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from svc_tools.frames.orders.by_rates import weigh_by_rates
from svc_tools.frames.orders.doubts import Doubt
from svc_tools.frames.orders.figures import Figures, order_amounts, terms_of
from svc_tools.frames.orders.kinds import (
    SIGNS,
    is_a_total,
    is_before_parts,
    is_kept_by_others,
    is_paid_by_seller,
    is_with_tax,
    names_a_cost,
    often_contains_tax,
)
from svc_tools.frames.orders.levels import Groups, holds_heads, level_of, patterns, products
from svc_tools.frames.orders.proofs import PART_OF, View, best_sum, whole_of
from svc_tools.frames.orders.readings import PossibleReading, readings_of, readings_of_few
from svc_tools.frames.orders.sums import Answers, Sums, Term

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.orders.by_rates import ByRates
    from svc_tools.frames.orders.doubts import AmountArgument, Reason
    from svc_tools.frames.orders.figures import MoneyTable, OrderAmounts
    from svc_tools.frames.orders.kinds import ColumnKind
    from svc_tools.frames.orders.levels import Level, Pattern
    from svc_tools.frames.orders.proofs import Proof

_KIND_OF_ANSWER: dict[str, ColumnKind] = {
    "goods": "wrap",
    "delivery": "delivery",
    "discount": "discount",
    "untaxed": "other",
}
_MOST_FURTHER = 4
"""Discounts, gift wrap, tips and fees next to an amount of which every combination is read."""
_NEARLY = 0.9
_MOST_ALIKE = 8
"""So many questions of one kind are asked one by one; more are one."""


@dataclass(frozen=True, eq=False)
class _File:
    """A table of money with its orders and the user's answers."""

    table: MoneyTable
    groups: Groups | None
    answers: Answers
    seen: dict[Hashable, Pattern]
    levels: dict[Hashable, Level]
    heads: frozenset[Hashable]

    def term(self, label: Hashable, sign: int = 1) -> Term:
        """A column as it counts in its orders."""
        once = self.groups is not None and self.levels.get(label) != "line"
        head = once and label in self.heads
        return Term(label, sign, once=once and not head, head=head)

    def filled(self, *kinds: ColumnKind) -> list[Hashable]:
        """The columns of these kinds that are not 0 throughout."""
        table = self.table
        return [
            label
            for label, column in table.columns.items()
            if table.kinds[label] in kinds and column.cents.any()
        ]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the figures of a file prove, and what they leave open.

    Attributes:
        file: what was weighed.
        sums: goods, delivery and tax; `None` while something is open.
        doubts: what is open.
        unused: the columns of money that take no part, each with the reason.
        readings: the ways to read the file between which the rates may decide.
        refunds: the columns of refunds that stand only as a sum, and are not taken off.
        by_name: whether the name of the amount decides what the rates do not.
        weak: the rows, or orders, that alone prove a part.
    """

    file: _File = field(repr=False)
    sums: Sums | None
    doubts: tuple[Doubt, ...] = ()
    unused: tuple[tuple[Hashable, str], ...] = ()
    readings: tuple[PossibleReading, ...] = ()
    refunds: tuple[Hashable, ...] = ()
    by_name: bool = False
    weak: np.ndarray | None = field(default=None, repr=False)

    @property
    def levels(self) -> Mapping[Hashable, Level]:
        """Whether each column is the order's or the line's."""
        return self.file.levels

    @property
    def weak_parts(self) -> tuple[Hashable, ...]:
        """The columns that are part of a total in hardly a row that proves it."""
        if self.weak is None or not self.weak.any():
            return ()
        table, groups = self.file.table, self.file.groups
        by_row = groups is None or len(self.weak) == table.rows
        weak = self.weak if by_row or groups is None else self.weak[groups.codes]
        answers = self.file.answers
        answered = {"tax": answers.contains_tax, "delivery": answers.contains_shipping}
        return tuple(
            label
            for label, column in table.columns.items()
            if table.kinds[label] in SIGNS and column.cents.any() and weak[column.cents != 0].all()
            # what the user says of a part needs no row that proves it
            if label not in answers.parts and answered.get(table.kinds[label]) is None
        )

    @property
    def likeliest(self) -> Sums | None:
        """The sums; while something is open, those that seem likeliest."""
        return self.sums or (self.readings[0].sums if self.readings else None)

    @property
    def to_check(self) -> np.ndarray:
        """The rows of orders that do not add up, or that alone prove a part."""
        if self.likeliest is None:
            return np.zeros(self.file.table.rows, bool)
        return _rows_to_check(self.file, self.likeliest, self.weak)


def weigh(table: MoneyTable, orders: np.ndarray | None, answers: Answers | None = None) -> Verdict:
    """What the sums of a file prove.

    Args:
        table: the money of the rows that are sales in US dollars.
        orders: the number of the order of each row, -1 where it has none; `None` where no number
            repeats.
        answers: what the user decided.
    """
    answers = answers or Answers()
    lines: frozenset[Hashable] = frozenset()
    while True:  # what the user does not name as the order's is the line's, where it would be asked
        verdict = _weighed(_file(table, orders, answers, lines))
        open_ = {
            label for doubt in verdict.doubts if doubt.argument == "once" for label in doubt.columns
        }
        if answers.once is None or not open_:
            return verdict
        lines |= open_


def _weighed(file: _File) -> Verdict:
    """What the sums of a file prove, with the levels of its columns as they are known.

    In a file without tax, amounts that stand there with tax and without it are sums of their own,
    one beside the other: those without tax count, where they are proven.
    """
    verdict = _weighed_whole(file)
    with_tax = _with_tax(file) if verdict.sums is None else {}
    if not with_tax:
        return verdict
    columns = {label: of for label, of in file.table.columns.items() if label not in with_tax}
    less = _weighed_whole(replace(file, table=replace(file.table, columns=columns)))
    if less.sums is None or less.sums.total is None:
        return verdict
    why = ((label, f"{other!r} with tax") for label, other in with_tax.items())
    return replace(less, unused=(*less.unused, *why))


def _with_tax(file: _File) -> dict[Hashable, Hashable]:
    """The columns that are others with tax in them, by their names and figures."""
    columns = file.table.columns
    if file.filled("tax"):
        return {}
    return {
        label: other
        for label, own in columns.items()
        for other, base in columns.items()
        if is_with_tax(label, other) and bool((np.abs(own.cents) >= np.abs(base.cents)).all())
    }


def _weighed_whole(file: _File) -> Verdict:
    """What the sums of all columns of a file prove."""
    goods = frozenset(label for label, what in file.answers.parts.items() if what == "goods")
    by_row = best_sum(_row_view(file), goods)
    by_order = None if file.groups is None else best_sum(_order_view(file, file.groups), goods)
    proof, sums = _chosen(file, by_row, by_order)
    if sums is None or (proof.outcome == "few" and not _takes_apart(sums)):
        return _finished(_by_name(file, crowded=proof.outcome == "crowded"))
    return _finished(_by_sum(file, proof, sums))


def settle(verdict: Verdict, rates: np.ndarray, freight: np.ndarray) -> Verdict:
    """Decide by the rates, then by the name of the amount, what the sums left open.

    Args:
        verdict: what the sums prove.
        rates: the rate of each row in units of 10^-5; 0 where none is known.
        freight: whether delivery is taxed there: 1, 0, or -1 where that is not known.
    """
    if verdict.sums is not None or not verdict.readings:
        return verdict
    file, readings = verdict.file, verdict.readings
    groups = file.groups if any(reading.sums.by_order for reading in readings) else None
    if groups is not None:
        rates, freight = _of_orders(groups, rates, freight)
    by_rates = weigh_by_rates(
        [_rows(file, reading.sums, groups) for reading in readings],
        rates,
        freight,
        [_nonzero_of(file, term, groups) for term, _ in _next_to(file, readings[0].sums)],
    )
    best = None if by_rates.best is None else readings[by_rates.best]
    if best is not None and best.alone:
        rest = tuple(doubt for doubt in verdict.doubts if not doubt.by_rates)
        return _closed(verdict, best, replace(best.sums, witness="rates"), rest)
    if best is not None or by_rates.mixed:
        return replace(
            verdict,
            doubts=tuple(_with_counts(doubt, verdict, by_rates) for doubt in verdict.doubts),
        )
    first = readings[0]
    if not verdict.by_name or often_contains_tax(first.sums.goods[0].label):
        return verdict
    named = {"contains_tax", "contains_shipping"}
    return _closed(
        verdict,
        first,
        first.sums,
        tuple(doubt for doubt in verdict.doubts if doubt.argument not in named),
    )


def _file(
    table: MoneyTable,
    orders: np.ndarray | None,
    answers: Answers,
    lines: frozenset[Hashable] = frozenset(),
) -> _File:
    """The table with its orders, and the kinds of columns as the user says them.

    Args:
        table: the money of the rows.
        orders: the number of the order of each row.
        answers: what the user decided.
        lines: the columns that are the line's, as the user does not name them as the order's.
    """
    out = {label for label, what in answers.parts.items() if what == "none"}
    kinds = {
        label: _KIND_OF_ANSWER.get(answers.parts.get(label, ""), kind)
        for label, kind in table.kinds.items()
        if label not in out
    }
    columns = {label: column for label, column in table.columns.items() if label not in out}
    fine = {label: column for label, column in table.fine.items() if label not in out}
    table = replace(table, columns=columns, kinds=kinds, fine=fine)
    groups = None if orders is None else Groups.of(orders)
    if groups is None or groups.size == table.rows:
        return _File(table, None, answers, {}, dict.fromkeys(columns, "line"), frozenset())
    seen = patterns(table, groups)
    found = {label: level_of(label, table, groups, seen) for label in columns}
    if answers.once is not None:
        found |= dict.fromkeys(found.keys() & set(answers.once or ()), "order")
        found |= dict.fromkeys(found.keys() & lines, "line")
    heads = {
        label
        for label in columns
        if seen[label] == "differs" and holds_heads(columns[label], groups) and label not in lines
    }
    return _File(table, groups, answers, seen, found, frozenset(heads))


def _row_view(file: _File) -> View:
    """The figures row by row."""
    table = file.table
    terms = [*map(Term, table.columns), *products(table)]
    return _view(file, {term: table.of(term) for term in terms})


def _order_view(file: _File, groups: Groups) -> View:
    """The figures order by order."""
    table = file.table
    terms = [*map(file.term, table.columns), *products(table)]
    return _view(file, {term: groups.taken(term, table.of(term)) for term in terms})


def _view(file: _File, figures: dict[Term, Figures]) -> View:
    kinds = file.table.kinds
    return View(
        {term: of_term for term, of_term in figures.items() if of_term.cents.any()},
        {term: kinds[term.label] if term.times is None else "quantity" for term in figures},
        tax_named="tax" in kinds.values(),
    )


def _chosen(file: _File, by_row: Proof, by_order: Proof | None) -> tuple[Proof, Sums | None]:
    """The proof that counts, row by row or order by order, with its sums."""
    if by_order is None or file.groups is None:
        return by_row, by_row.sums
    if by_row.sums is None:
        return by_order, by_order.sums
    if _has_lines(file, by_row.sums):
        better = by_order.sums is not None and _is_better(file.groups, by_order, by_row)
        return (by_order, by_order.sums) if better else (by_row, by_row.sums)
    if by_order.sums is not None and (by_order.outcome == "proven" or by_row.outcome != "proven"):
        return by_order, by_order.sums
    return by_row, _counted_once(file, by_row.sums)


def _has_lines(file: _File, sums: Sums) -> bool:
    """Whether what the sums are of differs from line to line.

    Where a total is the same on all rows of each order, and so are the goods, a discount of one of
    its lines does not make them those of the line.
    """
    goods = [term for term in sums.goods if term.sign > 0]
    terms = _terms(sums) if sums.total is None else [*goods, sums.total]
    return any(term.times is not None or file.seen.get(term.label) == "differs" for term in terms)


def _is_better(groups: Groups, by_order: Proof, by_row: Proof) -> bool:
    """Whether more orders of several rows add up as orders than do row by row."""
    if (by_order.outcome == "proven") != (by_row.outcome == "proven"):
        return by_order.outcome == "proven"
    several = groups.rows > 1
    bad = groups.count(by_row.rows & ~by_row.fits) > 0
    as_rows = several & ~bad & (groups.count(by_row.rows) > 0)
    return int((several & by_order.fits).sum()) > int(as_rows.sum())


def _counted_once(file: _File, sums: Sums) -> Sums:
    """Sums of columns that are equal on all rows of an order, as those of the order."""

    def each(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(file.term(term.label, term.sign) for term in terms)

    return replace(
        sums,
        goods=each(sums.goods),
        delivery=each(sums.delivery),
        tax=each(sums.tax),
        others=each(sums.others),
        total=None if sums.total is None else file.term(sums.total.label),
        by_order=any(file.term(label).once for label in _labels(sums)),
    )


def _terms(sums: Sums) -> list[Term]:
    return [*(term for _, term in terms_of(sums)), *([sums.total] if sums.total else [])]


def _labels(sums: Sums) -> list[Hashable]:
    """The columns of money of the sums, without those that are multiplied."""
    return [*dict.fromkeys(term.label for term in _terms(sums) if term.times is None)]


def _takes_apart(sums: Sums) -> bool:
    """Whether sums are more than price x quantity."""
    return bool(sums.tax or sums.delivery or sums.others or len(sums.goods) > 1)


def _by_sum(file: _File, proof: Proof, sums: Sums) -> Verdict:
    """The verdict of a sum that adds up, with everything that is open about it."""
    doubts = _level_doubts(file, sums, (*proof.outside, *proof.near))
    if proof.near:
        doubts.append(_near_doubt(proof, sums))
        return Verdict(file, None, tuple(doubts))
    doubts += [_odd_doubt(part.label, sums, file) for part in proof.odd]
    doubts += _none_of_them("unexplained", proof.unexplained, sums)
    readings: tuple[PossibleReading, ...] = (PossibleReading(sums, {}, {}, alone=False),)
    weak: np.ndarray | None = proof.weak
    further = [] if sums.tax or sums.delivery else _next_to(file, sums)[:_MOST_FURTHER]
    if proof.outcome == "rivals":
        doubts.append(_rival_doubt(proof, sums))
    elif proof.outcome == "outside":
        second = [term for term in proof.outside if getattr(sums, _part_of(file, term))]
        doubts += _none_of_them("second_part", second, sums)
        beside = [term for term in proof.outside if term not in second]
        tax = [term for term in beside if _part_of(file, term) == "tax"]
        readings = readings_of(sums, tax, [term for term in beside if term not in tax], further)
        doubts += _doubts_between(readings, "outside")
    elif proof.outcome == "proven" and further:
        readings = readings_of(sums, (), (), further)
        doubts += _doubts_between(readings, "outside")
    elif proof.outcome == "few":
        readings, weak = readings_of_few(sums), None  # what confirms the row confirms its parts
        doubts += _doubts_between(readings, "few", distinct=proof.distinct)
        if not (sums.tax or sums.delivery):
            doubts += _doubts_of_few(file, sums, proof.distinct)
    return _answered(Verdict(file, sums, tuple(doubts), readings=readings, weak=weak))


def _part_of(file: _File, term: Term) -> str:
    return PART_OF[file.table.kinds[term.label]]


def _by_name(file: _File, *, crowded: bool) -> Verdict:
    """The verdict on amounts that no sum proves: what stands next to them is open."""
    amounts = _amounts(file)
    if not amounts:
        return Verdict(file, None)
    doubt = _which_amount(file, amounts, crowded=crowded)
    base = amounts[0]
    sums = Sums((base,), by_order=base.once or base.head)
    if doubt is not None:
        levels = _level_doubts(file, sums, [file.term(label) for label in doubt.columns])
        only = (PossibleReading(sums, {}, {}, alone=False),)
        return Verdict(file, None, (*levels, doubt), readings=only)
    parts = file.answers.parts
    untaxed = [
        file.term(label, -1) for label in file.filled("other") if parts.get(label) == "untaxed"
    ]
    goods = (base, *untaxed)
    sums = Sums(goods, by_order=any(term.once or term.head for term in goods))
    delivery = _whole(file, "delivery")
    if delivery:
        delivery += [_taken_off(file, label) for label in file.filled("delivery_discount")]
    tax = _whole(file, "tax")
    beside = _next_to(file, sums)
    # what is not answered is read in and out first
    beside.sort(key=lambda pair: pair[0].label in parts)
    further, more = beside[:_MOST_FURTHER], beside[_MOST_FURTHER:]
    readings = readings_of(sums, tax, delivery, further)
    doubts = _level_doubts(file, sums, (*tax, *delivery, *(term for term, _ in beside)))
    doubts += _doubts_between(readings, "beside")
    doubts += [_part_doubt(term.label, what, sums, by_rates=False) for term, what in more]
    alone = len(file.filled("amount")) <= 1  # of two equal ones, one is a total without the others
    return _answered(Verdict(file, sums, tuple(doubts), readings=readings, by_name=alone))


def _next_to(file: _File, sums: Sums) -> list[tuple[Term, str]]:
    """Parts that are not in the sums and may be in the amount, and what they would be in them.

    Those that are no price of goods are taken off an amount that contains them; of a total that
    adds up without them they are no part.
    """
    used = _labels(sums)
    off = [(_taken_off(file, label), "discount") for label in file.filled("discount")]
    wrap = [(file.term(label), "goods") for label in file.filled("wrap")]
    found = [*off, *wrap]
    if sums.total is None:
        untaxed = file.filled("tip", "gift_cards_sold", "other", "fee")
        found += [
            (file.term(label, -1), "untaxed") for label in untaxed if not is_kept_by_others(label)
        ]
    return [(term, what) for term, what in found if term.label not in used]


def _whole(file: _File, kind: Literal["tax", "delivery"]) -> list[Term]:
    """The columns of tax or delivery, without those that are parts of another one."""
    view = _row_view(file)
    return [file.term(term.label) for term in whole_of(view.of_kinds(kind), view)]


def _which_amount(file: _File, amounts: Sequence[Term], *, crowded: bool) -> Doubt | None:
    """The question which column is the amount, where that is open."""
    table = file.table
    labels = tuple(dict.fromkeys(term.label for term in amounts))
    likely = max(labels, key=lambda label: int((table.columns[label].cents != 0).sum()))
    if len(labels) > 1 or crowded:
        return Doubt("several_amounts", "amount", labels, labels, likely)
    if table.kinds[labels[0]] == "unknown":
        return Doubt("no_known_name", "amount", labels, labels, likely)
    fees = file.filled("fee")
    if fees and "tax" not in table.kinds.values():
        return Doubt("payments", "amount", (*labels, *fees), labels, likely)
    if amounts[0].times is None:
        for line in products(table):
            if not names_a_cost(line.label) and _differ(file, amounts[0], line):
                return Doubt("several_amounts", "amount", (*labels, line.label), labels, likely)
    return None


def _differ(file: _File, amount: Term, line: Term) -> bool:
    """Whether an amount is neither price x quantity of its row nor that of its order."""
    table, groups = file.table, file.groups
    own, lines = table.of(amount), table.of(line)
    if not lines.cents.any():
        return False
    same = bool((own.cents == lines.cents).mean() >= _NEARLY)
    if groups is not None and not same:
        whole, added = groups.taken(amount, own), groups.summed(lines)
        same = bool((whole.cents == added.cents).mean() >= _NEARLY)
    return not same


def _amounts(file: _File) -> list[Term]:
    """The amounts of a file, without those that have the figures of another one."""
    table = file.table
    kinds: tuple[ColumnKind, ...] = ("amount", "price", "unknown")
    for kind in kinds:
        labels = file.filled(kind)
        labels.sort(key=lambda label: -int(table.columns[label].filled.sum()))
        terms = [file.term(label) for label in labels]
        if kind == "price":
            terms = [term for term in products(table) if table.of(term).cents.any()] or terms
        found: list[Term] = []
        for term in terms:
            cents = table.of(term).cents
            if not any(np.array_equal(cents, table.of(other).cents) for other in found):
                found.append(term)
        if found:
            return found
    parts = file.answers.parts
    return [file.term(label) for label in file.filled("wrap") if parts.get(label) == "goods"][:1]


def _taken_off(file: _File, label: Hashable) -> Term:
    """A discount, taken off as the file writes it: with a minus, or without."""
    cents = file.table.columns[label].cents
    return file.term(label, 1 if int((cents < 0).sum()) > int((cents > 0).sum()) else -1)


def _answered(verdict: Verdict) -> Verdict:
    """The verdict with the user's answers: what is answered is not asked."""
    answers = verdict.file.answers
    answered = {
        "contains_tax": answers.contains_tax,
        "contains_shipping": answers.contains_shipping,
    }
    readings = tuple(
        reading
        for reading in verdict.readings
        if all(answered[name] in {None, value} for name, value in reading.answers.items())
        and all(answers.parts.get(label, what) == what for label, what in reading.parts.items())
    )
    doubts = tuple(
        doubt
        for doubt in verdict.doubts
        if answered.get(doubt.argument) is None
        and not (doubt.argument == "parts" and doubt.columns[0] in answers.parts)
    )
    if doubts or not readings:
        return replace(verdict, sums=None, doubts=doubts, readings=readings or verdict.readings)
    sums = readings[0].sums
    if len(verdict.doubts) > len(doubts):
        sums = replace(sums, witness="given")
    return replace(verdict, sums=sums, doubts=(), readings=())


def _level_doubts(file: _File, sums: Sums, beside: Sequence[Term]) -> list[Doubt]:
    """The question which columns are the order's, where that is open.

    Where one column of a sum is that of the order, the others of it are too, as they add up row by
    row. What adds up with lines that differ is proven by the sum itself. What stands beside a sum
    is proven by nothing.
    """
    if file.groups is None:
        return []
    labels = _labels(sums)
    named = set(file.answers.once or ())
    open_ = [term.label for term in beside if file.levels.get(term.label) == "unclear"]
    proven = any(file.levels[label] == "order" and file.seen[label] == "equal" for label in labels)
    if sums.total is None or not (_has_lines(file, sums) or proven):
        open_ = [*(label for label in labels if file.levels[label] == "unclear"), *open_]
    open_ = [*dict.fromkeys(open_)]
    heads = [label for label in labels if label in file.heads and label not in named]
    by_total = sums.total is not None and sums.by_order and sums.total.label not in file.heads
    if heads and not by_total:
        alike = tuple(dict.fromkeys((*heads, *open_)))
        return [Doubt("heads", "once", alike, (alike, False), alike, sums)]
    return [Doubt("level", "once", (*open_,), ((*open_,), False), (*open_,), sums)] if open_ else []


def _odd_doubt(label: Hashable, sums: Sums, file: _File) -> Doubt:
    likely = "untaxed" if file.table.kinds[label] == "fee" else "goods"
    values = tuple({label: what} for what in ("goods", "delivery", "untaxed"))
    return Doubt("odd_part", "parts", (label,), values, {label: likely}, sums)


def _doubts_of_few(file: _File, sums: Sums, distinct: int) -> list[Doubt]:
    """The question what the parts of a sum are that hardly a row proves."""
    answer: dict[ColumnKind, str] = {"discount": "discount", "wrap": "goods"}
    doubts = []
    for term in (*sums.goods[1:], *sums.others):
        what = answer.get(file.table.kinds[term.label], "untaxed")
        values = ({term.label: what}, {term.label: "none"})
        counts = {"rows": distinct}
        doubts.append(Doubt("few_rows", "parts", (term.label,), values, values[0], sums, counts))
    return doubts


def _none_of_them(reason: Reason, terms: Sequence[Term], sums: Sums) -> list[Doubt]:
    """The question about each of these, or one about many, whether they are no part."""
    labels = [term.label for term in terms]
    together = [tuple(labels)] if len(labels) > _MOST_ALIKE else [(label,) for label in labels]
    none = [(each, dict.fromkeys(each, "none")) for each in together]
    return [Doubt(reason, "parts", each, (parts,), parts, sums) for each, parts in none]


def _near_doubt(proof: Proof, sums: Sums) -> Doubt:
    """The question about an amount that is a sum of the others in many rows, but not in most."""
    labels = (sums.goods[0].label, *(term.label for term in proof.near))
    return Doubt("near", "amount", labels, labels, labels[-1], sums)


def _rival_doubt(proof: Proof, sums: Sums) -> Doubt:
    labels = tuple(dict.fromkeys(possible.goods[0].label for possible in (sums, *proof.rivals)))
    return Doubt("rivals", "amount", labels, labels, labels[0], sums)


_REASONS: dict[tuple[str, str], Reason] = {
    ("outside", "contains_tax"): "tax_outside",
    ("outside", "contains_shipping"): "delivery_outside",
    ("beside", "contains_tax"): "tax_beside",
    ("beside", "contains_shipping"): "delivery_beside",
}
_OPEN_PARTS: dict[str, Reason] = {
    "discount": "discount_beside",
    "goods": "wrap_beside",
    "untaxed": "tip_beside",
}


def _doubts_between(
    readings: Sequence[PossibleReading], where: str, distinct: int = 0
) -> list[Doubt]:
    """What is to be answered so that one of the readings is left."""
    first, last = readings[0], readings[-1]
    sums, base = first.sums, first.sums.goods[0].label
    doubts = []
    for name in first.answers:
        argument: AmountArgument = "contains_tax" if name == "contains_tax" else "contains_shipping"
        terms = sums.tax if name == "contains_tax" else sums.delivery
        about = tuple(term.label for term in terms if where == "few" or term not in sums.others)
        likely = where == "beside" and often_contains_tax(base)
        reason = _REASONS.get((where, argument), "few_rows")
        counts = {"rows": distinct} if distinct else {}
        columns = (base, *about)
        # of a total without the delivery, the rates do not tell delivery in the goods from
        # delivery that is charged outside, and that no tax was collected on
        by_rates = reason != "delivery_outside"
        doubts.append(
            Doubt(reason, argument, columns, (True, False), likely, sums, counts, by_rates=by_rates)
        )
    doubts += [_part_doubt(*part, sums, by_rates=True) for part in last.parts.items()]
    return doubts


def _part_doubt(label: Hashable, what: str, sums: Sums, *, by_rates: bool) -> Doubt:
    """The question whether a part is still to be taken off an amount, or added to it."""
    base = sums.goods[0].label
    used, not_used = values = ({label: what}, {label: "none"})
    out = (what == "discount" and is_a_total(base)) or (what == "untaxed" and is_before_parts(base))
    likely = not_used if out else used
    return Doubt(_OPEN_PARTS[what], "parts", (label, base), values, likely, sums, by_rates=by_rates)


def _closed(
    verdict: Verdict, reading: PossibleReading, sums: Sums, rest: tuple[Doubt, ...]
) -> Verdict:
    """The verdict decided for one reading, as far as nothing else is open."""
    if rest:
        kept = (replace(reading, sums=sums),)
        return _finished(replace(verdict, doubts=rest, readings=kept))
    return _finished(replace(verdict, sums=sums, doubts=(), readings=()))


def _with_counts(doubt: Doubt, verdict: Verdict, by_rates: ByRates) -> Doubt:
    """A question with how many rows fit each of its values alone."""
    if not doubt.by_rates or doubt.argument == "parts":
        return doubt
    counts = {"taxed": by_rates.taxed, "yes": 0, "no": 0}
    for reading, alone in zip(verdict.readings, by_rates.alone, strict=True):
        counts["yes" if reading.answers.get(doubt.argument) else "no"] += alone
    return replace(doubt, reason="mixed_rates", counts=counts, likely=counts["yes"] > counts["no"])


def _rows(file: _File, sums: Sums, groups: Groups | None) -> OrderAmounts:
    """What each row, or each order, comes to."""
    terms = [*terms_of(sums), *([("total", sums.total)] if sums.total else [])]
    figures = [(what, term, file.table.of(term)) for what, term in terms]
    if groups is not None:
        figures = [(what, term, groups.taken(term, of_term)) for what, term, of_term in figures]
    return order_amounts(sums, figures)


def _rows_to_check(file: _File, sums: Sums, weak: np.ndarray | None) -> np.ndarray:
    """The rows of orders of which the figures cannot be used."""
    groups = file.groups
    bad = ~_rows(file, sums, groups if sums.by_order else None).adds_up
    if groups is None:
        return bad if weak is None else bad | weak
    orders = bad if sums.by_order else groups.count(bad) > 0
    if weak is not None:
        orders = orders | (weak if len(weak) == groups.size else groups.count(weak) > 0)
    marked: np.ndarray = orders[groups.codes]
    return marked


def _nonzero_of(file: _File, term: Term, groups: Groups | None) -> np.ndarray:
    """The rows, or the orders, in which a column is not 0."""
    there: np.ndarray = file.table.of(term).cents != 0
    return there if groups is None else groups.count(there) > 0


def _of_orders(
    groups: Groups, rates: np.ndarray, freight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The rate of each order and whether it taxes delivery, where its rows agree."""
    known = rates > 0
    rate = groups.once(Figures(rates.astype(np.int64), known))
    taxed = groups.once(Figures(freight.astype(np.int64), known))
    differs = np.zeros(groups.size, bool) if rate.wrong is None else rate.wrong
    unsure = ~taxed.filled if taxed.wrong is None else taxed.wrong | ~taxed.filled
    return np.where(differs, 0, rate.cents), np.where(unsure, -1, taxed.cents)


def _finished(verdict: Verdict) -> Verdict:
    """The verdict with what takes no part, and why."""
    file, sums = verdict.file, verdict.likeliest
    table = file.table
    used = set() if sums is None else {name for term in _terms(sums) for name in term.columns}
    asked = {label for doubt in verdict.doubts for label in doubt.columns}
    out = [label for label, what in file.answers.parts.items() if what == "none"]
    left = [label for label in table.columns if label not in used | asked]
    unused = [
        *((label, "0.00 throughout") for label in table.zero),
        *((label, "it holds other texts than amounts") for label in table.unread),
        *((label, "left out by parts") for label in out),
        *((label, _why_unused(label, file, sums)) for label in left),
    ]
    refunds = tuple(label for label in file.filled("refund") if label not in used)
    return replace(verdict, unused=tuple(unused), refunds=refunds)


def _why_unused(label: Hashable, file: _File, sums: Sums | None) -> str:
    """The reason, for the user, why a column of money is no part of the sums."""
    table, kind = file.table, file.table.kinds[label]
    own = table.columns[label].cents
    fixed = {
        "payment": "a payment",
        "refund": "refunds are not taken off",
        "price": "the price of one piece",
    }
    if kind in fixed:
        return fixed[kind]
    if sums is None:
        return "nothing shows what it is part of"
    for term in _terms(sums):
        if term.times is None and np.array_equal(table.of(term).cents, own):
            return f"the same figures as {term.label!r}"
    goods = sums.goods[0].label
    if sums.total is None:
        return f"no sum shows whether it is in {goods!r}"
    inside = {"tax": sums.tax, "delivery": sums.delivery}.get(kind)
    if inside:
        paid = f"{sums.total.label!r} adds up without it, and by its name the seller pays it"
        return paid if is_paid_by_seller(label) else f"contained in {inside[0].label!r}"
    return {
        "discount": f"the discount is in {goods!r} already",
        "delivery_discount": "the discount is in the delivery already",
        "amount": "another amount of the same sale",
    }.get(kind, f"not part of {sums.total.label!r}")
