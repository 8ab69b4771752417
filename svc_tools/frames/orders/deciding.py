"""What the columns of a file that is no known export mean: decided by what they hold, or asked.

`rows_of_file` finds what an order is and which rows are sales; `money_of_file` decides what goods,
delivery, tax and total are, by the file's own sums, then by the rates of its places, then by a
usual name. What is open after that are questions.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.added.names import require_columns
from svc_tools.frames.orders.currencies import find_currency, heading_unit, rows_abroad
from svc_tools.frames.orders.doubts import Doubt, question_of_doubt
from svc_tools.frames.orders.figures import money_table, terms_of
from svc_tools.frames.orders.kinds import kind_of, may_be_money, names_money
from svc_tools.frames.orders.levels import levels
from svc_tools.frames.orders.order_lines import find_item_words
from svc_tools.frames.orders.order_numbers import find_order, order_rows
from svc_tools.frames.orders.reading import Reading, in_words
from svc_tools.frames.orders.row_kinds import find_kinds, row_kinds
from svc_tools.frames.orders.sums import Answers, Sums, Term
from svc_tools.frames.orders.total_rows import total_rows
from svc_tools.frames.orders.witness import settle, weigh
from svc_tools.frames.values.decimal_marks import marks_of
from svc_tools.frames.values.money import Money
from svc_tools.tables.questions import Question
from svc_tools.tables.roles import plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc_tools.frames.orders.doubts import Doubt
    from svc_tools.frames.orders.figures import MoneyTable
    from svc_tools.frames.orders.witness import Verdict
    from svc_tools.frames.values.decimal_marks import Marks
    from svc_tools.lookup.options import DecimalMark, RefundsAs

NO_AMOUNTS = "it holds other texts than amounts"
_ROWS_TRIED = 1_000
DECIDING_ROWS = 20_000
"""So many rows, of whole orders, decide what the columns mean; the sums are checked on all."""


@dataclass(frozen=True, slots=True)
class SalesAnswers:
    """What the user says of a file of sales; `None` is left to the file.

    Attributes:
        amount: the column of the amount.
        shipping: that of the delivery; `False` for none.
        order: that of the order's number; `False` where each row is a sale.
        currency: that of the currency; `False` for none.
        refunds: what refunds written with a positive amount are.
        decimal: the decimal mark of columns that leave it open.
        money: what the columns of money are.
        others: columns that are named for something else.
        read: columns of money, as a layout says.
    """

    amount: Hashable | None = None
    shipping: Hashable | None = None
    order: Hashable | None = None
    currency: Hashable | None = None
    refunds: RefundsAs | None = None
    decimal: DecimalMark | None = None
    money: Answers = field(default_factory=Answers)
    others: tuple[Hashable, ...] = ()
    read: tuple[Hashable, ...] = ()


class RatesOfRows(NamedTuple):
    """The rate of each row in units of 10^-5 (0: not known), and whether delivery is taxed there.

    Delivery: 1 taxed, 0 not taxed, -1 not known.
    """

    units: np.ndarray
    freight: np.ndarray


@dataclass(frozen=True, slots=True)
class Decided:
    """What the columns of a file mean, how that was found, and what is open.

    Attributes:
        reading: what they mean; without sums where that is open, or no column holds money.
        notes: what was decided, and which columns were not used, in sentences.
        questions: what is open.
        waits: whether the rates, which are not known yet, may decide what the sums leave open; the
            reading is then the likeliest one.
        unused: those of the sentences that say which columns were not used.
        passed: the columns of money that were not used, each with why.
        is_plain: whether the amount of each row is that of one column as it stands. Quantities do
            not change it where all rows were seen, and none of them is a refund.
    """

    reading: Reading
    notes: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    waits: bool = False
    unused: tuple[str, ...] = ()
    passed: tuple[tuple[Hashable, str], ...] = ()
    is_plain: bool = False


def require_answers(frame: pd.DataFrame, answers: SalesAnswers) -> None:
    """Refuse answers about columns that are not there: what is misspelled would answer nothing.

    Raises:
        ValueError: there is no such column.
    """
    named = {
        "once": [*(answers.money.once or ())],
        "parts": [*answers.money.parts],
        "order": [answers.order],
        "currency": [answers.currency],
    }
    for argument, labels in named.items():
        absent = [label for label in labels if label is not None and label is not False]
        require_columns(frame, (*absent,), f"{argument}: name it as the file has it")


def rows_of_file(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    columns: Mapping[str, Hashable],
    order: Hashable | None = None,
) -> Reading:
    """Which rows belong to one order, and which are sales, by names and by what columns hold.

    Args:
        frame: the rows, or the first of them.
        labels: the columns that are the user's own.
        columns: the column of each role that the lookup reads.
        order: the column of the order's number, where it is named; `False` for none.
    """
    plain = [label for label in labels if is_plain_column(frame[label])]
    sample = frame[plain].iloc[:DECIDING_ROWS]
    place = {role: label for role, label in columns.items() if role != "as_of" and label in plain}
    own = [label for label in plain if label not in columns.values()]
    day = columns.get("as_of") if columns.get("as_of") in plain else None
    found = find_order(sample, day, tuple(place.values()), given=order)
    others = [label for label in own if label != found.number]
    kinds, items = find_kinds(sample, others), find_item_words(sample, others)
    read = {*items.no_sale, *items.charges} - {*kinds.labels}
    kinds = replace(
        kinds, not_used=tuple(unused for unused in kinds.not_used if unused[0] not in read)
    )
    return Reading(
        no_sale=items.no_sale,
        charges=items.charges,
        orders=found,
        place=place,
        country=columns.get("country"),
        kinds=kinds,
        currencies=None,
    )


def is_plain_column(column: pd.Series | pd.DataFrame) -> bool:
    """Whether a label is that of one column, and its cells are no lists or tables."""
    if isinstance(column, pd.DataFrame):
        return False
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is not None and pa.types.is_nested(kind):
        return False
    if not pd.api.types.is_object_dtype(column.dtype):
        return True
    return all(isinstance(cell, Hashable) for cell in column.iloc[:_ROWS_TRIED].tolist())


def money_of_file(
    sample: pd.DataFrame,
    labels: Sequence[Hashable],
    reading: Reading,
    answers: SalesAnswers,
    *,
    rates: RatesOfRows | None = None,
    final: bool = True,
    semicolons: bool = False,
    saved: Sums | None = None,
) -> Decided:
    """What the columns of money of a file are.

    Args:
        sample: rows of whole orders; all rows of a small file.
        labels: the columns that are the user's own.
        reading: which rows are sales.
        answers: what the user says.
        rates: the rates of the rows, where they are known.
        final: whether no more will be known of the rates.
        semicolons: whether semicolons separate the cells of the file.
        saved: the sums of a layout, which are not decided again.
    """
    plain = [label for label in labels if is_plain_column(sample[label])]
    currencies = find_currency(sample[plain], answers.amount, given=answers.currency)
    kinds = reading.kinds.with_quantities(sample, plain)  # the lookup saw the first rows alone
    reading = replace(reading, currencies=currencies, refunds=answers.refunds, kinds=kinds)
    may_be = _candidates(labels, reading, answers)
    candidates = [label for label in may_be if is_plain_column(sample[label])]
    marks = marks_of(
        {label: sample[label] for label in candidates},
        semicolons=semicolons,
        decimal=answers.decimal,
    )
    written = {label: mark for label, mark in marks.of.items() if mark != "point"}
    reading = replace(reading, marks=written, decimal=answers.decimal or _shown(marks))
    answered = (answers.amount, answers.shipping, *answers.read)
    named = [label for label in answered if label in candidates]
    table = money_table(sample, candidates, marks.of, named=named)
    if not named and "amount" not in table.kinds.values():  # cells of it may be no amounts
        named = [label for label in table.unread if kind_of(label) == "amount"][:1]
        table = money_table(sample, candidates, marks.of, named=named) if named else table
    rows = _sales(sample, reading, table, named or list(table.columns))
    there = sample if rows.all() else sample[rows]
    if there is not sample:
        table = money_table(there, candidates, marks.of, named=[*named, *table.columns])
    orders = order_rows(there, reading.orders)
    known = None if rates is None else RatesOfRows(*(column[rows] for column in rates))
    if saved is not None:
        found = _Found(
            saved, refunds=(reading.refunded,) * bool(reading.refunded), weak=reading.weak
        )
    elif answers.amount is None:
        found = _as_found(table, orders, answers, known, candidates=may_be, final=final)
    else:
        found = _as_named(table, orders, answers, known, final=final)
    refunded = found.refunds[0] if found.refunds else None
    reading = replace(reading, refunded=refunded, weak=found.weak).with_sums(found.sums)
    if reading.of_whole_orders:  # an item says nothing about the amount of its order
        reading = replace(reading, no_sale={}, charges={})
    asked = _questions(reading, marks, sample, found, table)
    passed = [*_in_other_units(labels, reading, answers), *_passed(found, sample)]
    unused = _unused(reading, passed)
    notes = (*_notes(reading, marks, found, answers), *unused)
    signed = reading
    if len(sample) < DECIDING_ROWS and answers.refunds is None:
        signed = replace(reading, kinds=reading.kinds.words)  # a refund among them would be asked
    return Decided(
        *(reading, notes, tuple(asked), found.waits, unused, tuple(passed)),
        is_plain=signed.is_plain,
    )


def _shown(marks: Marks) -> DecimalMark | None:
    """The decimal mark that the columns are read with, where cells depend on it."""
    depends = {label for label, evidence in marks.evidence.items() if evidence.mark != "none"}
    read = {mark for label, mark in marks.of.items() if label in depends}
    return "comma" if read == {"comma"} else "point" if read == {"point"} else None


class _Found(NamedTuple):
    """What the columns of money are, with what is open."""

    sums: Sums | None
    doubts: tuple[Question, ...] = ()
    unused: tuple[tuple[Hashable, str], ...] = ()
    refunds: tuple[Hashable, ...] = ()
    weak: tuple[Hashable, ...] = ()
    waits: bool = False
    on_each_row: tuple[Hashable, ...] = ()


def _candidates(
    labels: Iterable[Hashable], reading: Reading, answers: SalesAnswers
) -> list[Hashable]:
    """The columns that may hold money."""
    taken = {reading.orders.number, reading.orders.day, *reading.orders.place, reading.country}
    taken |= {
        *reading.place.values(),
        *reading.kinds.words.labels,
        reading.currency,
        *answers.others,
    }
    named = {answers.amount, answers.shipping, *answers.money.parts, *answers.read}
    return [
        label
        for label in labels
        if label in named
        or (
            label not in taken
            and heading_unit(label) is None
            and (may_be_money(label) or kind_of(label) == "quantity")
        )
    ]


def likely_money(
    labels: Iterable[Hashable],
    reading: Reading,
    answers: SalesAnswers,
    named: Iterable[Hashable] = (),
) -> list[Hashable]:
    """The columns that may hold money, and those that the user names."""
    known = {*named}
    labels = [*labels]
    found = {*_candidates(labels, reading, answers)}
    return [label for label in labels if label in found or label in known]


def _sales(
    frame: pd.DataFrame, reading: Reading, table: MoneyTable, amounts: Sequence[Hashable]
) -> np.ndarray:
    """The rows that are sales in US dollars: the others prove nothing."""
    money = {label: Money(column.cents, ~column.filled) for label, column in table.columns.items()}
    totals = total_rows(reading.orders).find(frame, money)
    kinds = row_kinds(frame, reading.kinds)
    abroad = rows_abroad(frame, reading.currencies_or_none, amounts[:1]).rows
    rows: np.ndarray = ~(totals | kinds.no_sale | abroad)
    return rows


def _as_found(
    table: MoneyTable,
    orders: np.ndarray | None,
    answers: SalesAnswers,
    rates: RatesOfRows | None,
    *,
    candidates: Sequence[Hashable],
    final: bool,
) -> _Found:
    """What the sums prove, then the rates, then a usual name."""
    verdict = weigh(table, orders, answers.money)
    waits = not final and verdict.sums is None and bool(verdict.readings)
    # what else is open is asked with what the rates then leave open, all at once
    waits = waits and (not verdict.doubts or any(doubt.by_rates for doubt in verdict.doubts))
    if verdict.sums is None and not waits:
        none = np.zeros(table.rows, np.int64)
        verdict = settle(verdict, *(rates or RatesOfRows(none, none - 1)))
    sums = verdict.likeliest if waits else verdict.sums
    if sums is None and not verdict.doubts:
        sums = _by_its_name(candidates, empty=not table.columns and not table.unread)
    sums = _as_it_stands(sums)
    if sums is not None and answers.shipping is not None:
        sums = _with_delivery(sums, answers.shipping, verdict)
    return _Found(
        sums,
        () if waits else tuple(map(question_of_doubt, verdict.doubts)),
        verdict.unused,
        verdict.refunds,
        verdict.weak_parts,
        waits,
    )


def _as_it_stands(sums: Sums | None) -> Sums | None:
    """The amount of a line instead of its price x quantity, where nothing else is in it."""
    if sums is None or sums.total is None or sums.delivery or sums.tax or sums.others:
        return sums
    if len(sums.goods) > 1 or sums.goods[0].times is None or sums.by_order:
        return sums
    return replace(sums, goods=(sums.total,), total=None, witness="name")


def _by_its_name(candidates: Sequence[Hashable], *, empty: bool) -> Sums | None:
    """The one column that is named as an amount, though no cell of it is one.

    Of several the usual one where none has any cell but 0: no figure depends on it.
    """
    named = [label for label in candidates if kind_of(label) == "amount"]
    if len({*named}) < len(named):
        return None
    for usual in ("amount", *_USUAL) if empty else ("amount",):
        exact = [label for label in named if plain_name(label) == usual]
        if len(exact) == 1:
            return Sums((Term(exact[0]),))
    return Sums((Term(named[0]),)) if named and (empty or len(named) == 1) else None


_USUAL = ("subtotal", "sub_total", "order_subtotal", "order_amount", "line_total", "order_total")


def _with_delivery(sums: Sums, shipping: Hashable, verdict: Verdict) -> Sums:
    if shipping is False:
        return replace(sums, delivery=())
    once = verdict.levels.get(shipping) == "order"
    return replace(sums, delivery=(Term(shipping, once=once),), witness="given")


def _as_named(
    table: MoneyTable,
    orders: np.ndarray | None,
    answers: SalesAnswers,
    rates: RatesOfRows | None,
    *,
    final: bool,
) -> _Found:
    """The amount that the user named, unless something proves that it contains the tax."""
    amount = answers.amount
    of = levels(
        table, orders, [label for label in (amount, answers.shipping) if label in table.columns]
    )
    of |= {label: "order" for label in of if label in (answers.money.once or ())}
    if of.get(amount) == "order" and of.get(answers.shipping) == "unclear":
        of[answers.shipping] = "order"
    open_ = answers.money.once is None
    on_each_row = tuple(label for label, level in of.items() if level == "unclear" and open_)
    goods = Term(amount, once=of.get(amount) == "order")
    delivery: tuple[Term, ...] = ()
    if answers.shipping not in {None, False}:
        delivery = (Term(answers.shipping, once=of.get(answers.shipping) == "order"),)
    plain = Sums((goods,), delivery, witness="given")
    inside = answers.money.contains_shipping
    if inside and delivery:
        less = replace(delivery[0], sign=-1)
        plain = replace(plain, goods=(goods, less), by_order=goods.once or less.once)
    found = _contained(table, orders, answers, rates)
    unused = tuple(
        (label, "not named as an amount")
        for label in table.columns
        if label not in {amount, answers.shipping} and table.kinds[label] != "price"
    )
    if found is None or answers.money.contains_tax is False:
        if inside is None and delivery and _has_delivery_in_it(table, orders, answers):
            return _Found(None, (_delivery_question(amount, answers.shipping),), unused)
        may_be = answers.money.contains_tax is None and "tax" in table.kinds.values()
        waits = may_be and not final
        return _Found(plain, (), unused, waits=waits, on_each_row=on_each_row)
    without, doubts = found
    if answers.money.contains_tax and doubts:
        return _Found(None, tuple(map(question_of_doubt, doubts)), unused)
    if answers.money.contains_tax:
        return _Found(replace(without, witness="given"), (), unused)
    tax = ", ".join(repr(term.label) for term in without.tax) or "the tax"
    proof = "the file's own sums" if without.total is not None else "the rates"
    why = f"{amount!r} contains {tax} by {proof}, so no tax is computed from it"
    columns = (amount, *(term.label for term in without.tax))
    asked = Question(
        "amount", columns, (True, False), likely=True, why=why, argument="contains_tax"
    )
    return _Found(None, (*map(question_of_doubt, doubts), asked), unused)


def _has_delivery_in_it(
    table: MoneyTable, orders: np.ndarray | None, answers: SalesAnswers
) -> bool:
    """Whether the file's own sums prove that a named amount contains the delivery named with it."""
    amount, shipping = answers.amount, answers.shipping
    if not {amount, shipping} <= table.columns.keys():
        return False
    open_ = replace(answers.money, contains_tax=None, contains_shipping=None)
    sums = weigh(table, orders, open_).likeliest
    if sums is None or sums.total is None or sums.total.label != amount:
        return False
    return shipping in {term.label for term in sums.delivery if term not in sums.outside}


def _delivery_question(amount: Hashable, shipping: Hashable) -> Question:
    why = f"{amount!r} contains {shipping!r} by the file's own sums, which would count it twice"
    return Question(
        "amount",
        (amount, shipping),
        (True, False),
        likely=True,
        why=why,
        argument="contains_shipping",
    )


def _contained(
    table: MoneyTable,
    orders: np.ndarray | None,
    answers: SalesAnswers,
    rates: RatesOfRows | None,
) -> tuple[Sums, tuple[Doubt, ...]] | None:
    """The sums by which a named amount contains the tax; `None` where nothing proves it.

    With what is open about which columns are those of the whole order.
    """
    amount = answers.amount
    if "tax" not in table.kinds.values() or amount not in table.columns:
        return None
    verdict = weigh(table, orders, replace(answers.money, contains_tax=None))
    sums = verdict.likeliest
    if sums is not None and sums.total is not None and sums.total.label == amount and sums.tax:
        proven = verdict.sums is not None or answers.money.contains_tax
        if proven:
            return sums, _of_once(verdict)
    wanted = {"tax", "delivery", "delivery_discount"}
    few = {label for label, kind in table.kinds.items() if kind in wanted or label == amount}
    few_table = replace(
        table,
        columns={label: of for label, of in table.columns.items() if label in few},
        kinds={label: "amount" if label == amount else table.kinds[label] for label in few},
        fine={},
        quantities=(),
    )
    verdict = weigh(few_table, orders, answers.money)
    if answers.money.contains_tax and verdict.likeliest is not None:
        return verdict.likeliest, _of_once(verdict)
    if rates is None or verdict.sums is not None:
        return None
    by_rates = settle(verdict, *rates).sums
    if by_rates is None or by_rates.witness != "rates":
        return None
    taken = {term.label for term in by_rates.goods if term.sign < 0}
    contained = taken & {term.label for term in by_rates.tax}
    return (by_rates, _of_once(verdict)) if contained else None


def _of_once(verdict: Verdict) -> tuple[Doubt, ...]:
    return tuple(doubt for doubt in verdict.doubts if doubt.argument == "once")


def _questions(
    reading: Reading,
    marks: Marks,
    sample: pd.DataFrame,
    found: _Found,
    table: MoneyTable,
) -> list[Question]:
    """Everything that is open, each once."""
    asked = [reading.orders.question if reading.asks_for_order(sample) else None]
    asked += [reading.currencies_or_none.question, marks.question()]
    asked.append(_about_refunds(reading, sample, found, table))
    return [*(question for question in asked if question is not None), *found.doubts]


def _about_refunds(
    reading: Reading, sample: pd.DataFrame, found: _Found, table: MoneyTable
) -> Question | None:
    """What refunds with a positive amount are; an amount of price x quantity has a sign."""
    terms = found.sums.goods if found.sums else [*map(Term, table.columns)]
    if reading.refunds is not None or not reading.kinds.used or not terms:
        return None
    term = terms[0]
    of = money_table(sample, term.columns, reading.marks, named=[term.label])
    if term.label not in of.columns:
        return None
    number = replace(reading.orders, day=None, place=())
    by_price = term.times is None and of.kinds[term.label] == "price"
    columns = reading.kinds.words if by_price or reading.of_whole_orders else reading.kinds
    kinds = row_kinds(sample, columns, of.of(term).cents, orders=lambda: order_rows(sample, number))
    return kinds.counts.question()


def _notes(reading: Reading, marks: Marks, found: _Found, answers: SalesAnswers) -> tuple[str, ...]:
    """What was decided about the money, in sentences; without the columns that were not used."""
    sums, notes = found.sums, list[str]()
    if sums is not None:
        goods, delivery = in_words(sums.goods), in_words(sums.delivery)
        parts = f"amount from {goods}" + (f", delivery from {delivery}" if delivery else "")
        once = [label for label in reading.once if label in {t.label for t in sums.goods}]
        parts += f" (once for each {reading.order!r})" if once else ""
        how = {
            "sum": f": they add up to {reading.total!r}",
            "rates": ": the tax collected is that of this amount at the rates of the places",
            "name": ", by its name" if answers.amount is None else "",
        }.get(sums.witness, "")
        notes.append(parts + how)
        if reading.charges and not delivery:
            notes.append(f"delivery from the rows that are one by {_named(reading.charges)}")
        elif reading.charges:
            named = _named(reading.charges)
            notes.append(f"rows that are a delivery by {named} count as goods, beside {delivery}")
    notes += marks.notes()
    notes += [
        f"{label!r} is the same on all rows of an order and counts on each of them, as it is"
        f" named: once=[{label!r}] counts it once for each order"
        for label in found.on_each_row
    ]
    return tuple(notes)


def _named(labels: Iterable[Hashable]) -> str:
    return " or ".join(map(repr, labels))


def _in_other_units(
    labels: Iterable[Hashable], reading: Reading, answers: SalesAnswers
) -> list[tuple[Hashable, str]]:
    """The columns of money that are not in dollars by their headings."""
    named = {answers.amount, answers.shipping, *answers.money.parts, *answers.read}
    named |= {*reading.kinds.labels, reading.currency, reading.order}
    return [
        (label, f"it is in {unit} by its name, not in dollars")
        for label in labels
        if label not in named and may_be_money(label) and (unit := heading_unit(label)) is not None
    ]


def _passed(found: _Found, sample: pd.DataFrame) -> list[tuple[Hashable, str]]:
    """The other columns of money that are not used, without those that only seem to be money."""
    terms = [] if found.sums is None else [term for _, term in terms_of(found.sums)]
    terms += [] if found.sums is None or found.sums.total is None else [found.sums.total]
    used = {label for term in terms for label in term.columns}
    left = [(label, why) for label, why in found.unused if label not in used]
    return [(label, why) for label, why in left if why != NO_AMOUNTS or _is_money(sample, label)]


def _is_money(sample: pd.DataFrame, label: Hashable) -> bool:
    """Whether a column is named as money, or some of its cells are amounts."""
    if names_money(plain_name(label).rpartition("_")[2]):  # not "Sales Rep"
        return True
    read = money_table(sample, [label], named=[label]).columns.get(label)
    return read is not None and bool(read.filled.any())


def _unused(reading: Reading, passed: Sequence[tuple[Hashable, str]]) -> tuple[str, ...]:
    """The columns of money, status and currency that were not used, in sentences."""
    by_reason: dict[str, list[Hashable]] = {}
    for label, why in passed:
        by_reason.setdefault(why, []).append(label)
    notes = [_not_used(labels, why) for why, labels in by_reason.items()]
    return (*notes, *reading.kinds.sentences(), *reading.currencies_or_none.sentences())


def _not_used(labels: Sequence[Hashable], why: str) -> str:
    """One sentence for all columns that are not used for one reason."""
    *others, last = map(repr, labels)
    if not others:
        return f"{last} was not used: {why}"
    return f"{', '.join(others)} and {last} were not used: {_OF_SEVERAL.get(why, why)}"


_OF_SEVERAL = {"a payment": "payments", "the price of one piece": "prices of one piece"}
_OF_SEVERAL[NO_AMOUNTS] = "they hold other texts than amounts"
