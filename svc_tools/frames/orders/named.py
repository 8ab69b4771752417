"""A column of money that the user names: that of the order or of the line, and how it is written.

Every output reads such a column as an amount of sales: once for each order where it is the order's,
in the decimal mark of its column, in US dollars.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.orders.currencies import find_currency
from svc_tools.frames.orders.deciding import SalesAnswers, likely_money, rows_of_file
from svc_tools.frames.orders.doubts import Doubt, question_of_doubt
from svc_tools.frames.orders.figures import money_table
from svc_tools.frames.orders.levels import Groups, holds_heads, level_of, patterns
from svc_tools.frames.orders.order_numbers import order_rows
from svc_tools.frames.orders.orders import Orders, blank_cells
from svc_tools.frames.orders.row_kinds import row_kinds
from svc_tools.frames.orders.sums import Term
from svc_tools.frames.values.decimal_marks import marks_of
from svc_tools.tables.roles import ColumnAmbiguous

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd

    from svc_tools.frames.orders.doubts import Reason
    from svc_tools.frames.orders.figures import MoneyTable
    from svc_tools.frames.orders.reading import Reading
    from svc_tools.tables.questions import Question


class Named(NamedTuple):
    """Columns of money that the user names.

    Attributes:
        reading: what the columns of the file mean, with the marks of the named ones.
        terms: the named ones by label, each with whether it is that of the whole order.
        questions: what is open.
        marks: the notes about how they are written.
        beside: the other columns of money.
    """

    reading: Reading
    terms: dict[Hashable, Term]
    questions: tuple[Question, ...] = ()
    marks: tuple[str, ...] = ()
    beside: tuple[Hashable, ...] = ()

    def checked(self, call: str) -> Named:
        """The same where nothing is open.

        Raises:
            ColumnAmbiguous: something is; `call` takes the answers.
        """
        if self.questions:
            raise ColumnAmbiguous.of(self.questions, call=call)
        return self


def reading_with_orders(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    reading: Reading,
    columns: Mapping[str, Hashable],
    order: Hashable | None = None,
) -> Reading:
    """The reading, with the orders that the user names, or that a frame without one has.

    Args:
        frame: the rows.
        labels: the columns that are the user's own.
        reading: what is known of them; that of a lookup knows its orders.
        columns: the column of each role of the place and the date.
        order: the column of the order's number, where it is named; `False` for none.
    """
    known = reading.export is not None or reading.order is not None or reading.place
    if order is None and known:
        return reading
    if order is not None and order == (reading.order or False):
        return replace(reading, orders=replace(reading.orders, question=None))
    if reading.export is not None:
        return reading
    found = rows_of_file(frame, labels, columns or _columns_of(reading), order=order)
    return replace(reading, orders=found.orders, place=found.place, kinds=found.kinds)


def _columns_of(reading: Reading) -> dict[str, Hashable]:
    day = reading.orders.day
    return {**reading.place, **({} if day is None else {"as_of": day})}


def read_named(
    sample: pd.DataFrame,
    labels: Sequence[Hashable],
    reading: Reading,
    named: Sequence[Hashable],
    answers: SalesAnswers,
    *,
    semicolons: bool = False,
    of_sales: bool = True,
) -> Named:
    """Whether columns of money are those of the order or of the line, and how they are written.

    Args:
        sample: rows of whole orders; all rows of a small file.
        labels: the columns that are the user's own.
        reading: which rows are sales; what it has decided stays.
        named: the columns; they are money because the user says so.
        answers: what the user says.
        semicolons: whether semicolons separate the cells of the file.
        of_sales: whether they are amounts of sales, so that refunds are asked about.
    """
    if reading.currencies is None:
        found = find_currency(sample[[*labels]], named[0], given=answers.currency)
        reading = replace(reading, currencies=found)
    if answers.refunds is not None:
        reading = replace(reading, refunds=answers.refunds)
    of = {label: term for label in named if (term := _decided(reading, label, answers)) is not None}
    open_ = [label for label in named if label not in of]
    if not open_:
        return Named(reading, of)  # its sums show the rows of totals
    money = likely_money(labels, reading, answers, named)
    written = {label: reading.marks[label] for label in money if label in reading.marks}
    unread = {label: sample[label] for label in money if label not in written}
    marks = marks_of(unread, semicolons=semicolons, decimal=answers.decimal)
    found_marks = {**marks.of, **written}
    for column in open_:
        if found_marks[column] != "point":
            reading = replace(reading, marks={**reading.marks, column: found_marks[column]})
    table = money_table(sample, money, found_marks, named=named)
    found_levels = _levels(table, order_rows(sample, reading.orders), open_, sample)
    once = answers.money.once
    asked: list[Question | None] = [
        reading.orders.question if reading.asks_for_order(sample) else None,
        reading.currencies_or_none.question,
        marks.question() if {*marks.undecided} & {*open_} else None,
    ]
    for column, level in found_levels.items():
        is_once = level == "order" if once is None else column in (once or ())
        of[column] = Term(
            column, once=is_once and level != "heads", head=is_once and level == "heads"
        )
        if once is None and level in {"heads", "unclear"}:
            reason: Reason = "heads" if level == "heads" else "level"
            asked.append(
                question_of_doubt(Doubt(reason, "once", (column,), ((column,), False), (column,)))
            )
    if of_sales:
        asked.append(_of_refunds(sample, reading, open_[0]))
    beside = tuple(label for label in table.columns if label not in named)
    questions = tuple(question for question in asked if question is not None)
    return Named(reading, of, questions, (*marks.notes(),), beside)


def _levels(
    table: MoneyTable, orders: np.ndarray | None, labels: Sequence[Hashable], sample: pd.DataFrame
) -> dict[Hashable, str]:
    """The level of each column, or "heads" where one row of an order has the sum of the others."""
    found: dict[Hashable, str] = dict.fromkeys(labels, "line")
    if orders is None:
        return found
    groups = Groups.of(orders)
    seen = patterns(table, groups)
    for label in labels:
        if (figures := table.columns.get(label)) is not None:
            heads = seen[label] == "differs" and holds_heads(figures, groups)
            found[label] = "heads" if heads else level_of(label, table, groups, seen)
        elif _is_filled_once(sample[label], orders):  # with zeros, which have no pattern
            found[label] = "order"
    return found


def _is_filled_once(column: pd.Series, orders: np.ndarray) -> bool:
    """Whether a column has a value in one row at most of each order of several rows."""
    filled, numbered = ~blank_cells(column), orders >= 0
    several = np.bincount(orders[numbered]) > 1
    values = np.bincount(orders[numbered & filled], minlength=len(several))[several]
    return bool(values.any() and values.max() == 1)


def _decided(reading: Reading, label: Hashable, answers: SalesAnswers) -> Term | None:
    """The column as it was decided already; `None` where it was not."""
    if label in reading.of_order and reading.export is not None:
        return reading.term(label)
    sums = reading.sums
    if sums is None or answers.money.once is not None:
        return None
    terms = (*sums.goods, *sums.delivery, *sums.tax, *sums.others)
    terms = (*terms, *([] if sums.total is None else [sums.total]))
    for term in terms:
        if term.label == label and term.times is None:
            return Term(label, once=term.once, head=term.head)
    return None


def _of_refunds(sample: pd.DataFrame, reading: Reading, label: Hashable) -> Question | None:
    """What refunds with a positive amount are, where there are some and nobody has said it."""
    if reading.refunds is not None or not reading.kinds.used:
        return None
    cents = Orders(sample, reading).cents_of(Term(label), "amount")[0]
    number = replace(reading.orders, day=None, place=())
    kinds = row_kinds(sample, reading.kinds, cents, orders=lambda: order_rows(sample, number))
    return kinds.counts.question()
