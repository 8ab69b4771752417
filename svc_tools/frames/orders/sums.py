"""What a sale is made of, as sums of columns: goods, delivery, tax, and their total."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from svc_tools.lookup.options import MoneyPart

Witness: TypeAlias = Literal["export", "sum", "rates", "name", "given"]
"""What decided: the table of an export, the file's own arithmetic, the rates of its places, a
usual name, or the user."""


@dataclass(frozen=True, slots=True)
class Term:
    """A column of money in a sum.

    Attributes:
        label: the column.
        sign: 1 where it is added, -1 where it is taken off.
        times: a column of quantities that it is multiplied by, of a price.
        once: whether it is that of the whole order, and counts once for each.
        either_sign: whether it is taken off (or added) whether it is written with a minus or not.
        head: whether one row of an order holds the sum of its other rows: that row alone counts.
    """

    label: Hashable
    sign: int = 1
    times: Hashable | None = None
    once: bool = False
    either_sign: bool = False
    head: bool = False

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns that it reads."""
        return (self.label,) if self.times is None else (self.label, self.times)


@dataclass(frozen=True, slots=True)
class Sums:
    """Goods, delivery and tax of a sale.

    goods + delivery + tax + others = total, where there is a total; without what is `outside`.

    Attributes:
        goods: what is taxed by the rate: prices after discounts, before delivery and tax.
        delivery: what is charged for delivery; empty where nothing is known to be.
        tax: the tax that was collected; empty where it is not known.
        others: what else the total has: tips, fees, gift cards sold, refunds.
        total: what they add up to; `None` where nothing is.
        by_order: whether they add up order by order; else row by row.
        witness: what decided.
        outside: terms of delivery and tax that are charged outside of the total.
    """

    goods: tuple[Term, ...]
    delivery: tuple[Term, ...] = ()
    tax: tuple[Term, ...] = ()
    others: tuple[Term, ...] = ()
    total: Term | None = None
    by_order: bool = False
    witness: Witness = "name"
    outside: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user decided about the money of a file; `None` where it is left to the file.

    Attributes:
        once: the columns of the whole order, which count once for each; `False` for none.
        contains_tax: whether the amount contains the tax that stands beside it.
        contains_shipping: whether the amount contains the delivery that stands beside it.
        parts: what a column is: "goods" (taxed as goods are), "delivery", "discount", "untaxed"
            (in the total, and not taxed), or "none" (not in the total).
    """

    once: tuple[Hashable, ...] | Literal[False] | None = None
    contains_tax: bool | None = None
    contains_shipping: bool | None = None
    parts: Mapping[Hashable, MoneyPart] = field(default_factory=dict)
