"""The ways to read an amount with tax, delivery, discounts and gift wrap next to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc_tools.frames.orders.sums import Sums, Term


@dataclass(frozen=True, slots=True)
class PossibleReading:
    """One way to read the money of a file, and the answers with which it is the one.

    Attributes:
        sums: the goods, delivery and tax.
        answers: whether the amount contains the tax and the delivery, by argument.
        parts: what is done with further columns: "discount", "goods" or "none".
        alone: whether the rates alone may decide for it.
    """

    sums: Sums
    answers: Mapping[str, bool]
    parts: Mapping[object, str]
    alone: bool = True


def readings_of(
    sums: Sums,
    tax: Sequence[Term],
    delivery: Sequence[Term],
    further: Sequence[tuple[Term, str]] = (),
) -> tuple[PossibleReading, ...]:
    """The readings of an amount; the first one contains nothing of what stands next to it.

    Args:
        sums: the amount, and its total where it adds up to one without the others.
        tax: tax that the amount may contain.
        delivery: delivery that it may contain.
        further: discounts, gift wrap, tips and fees that may be still to be taken off or added,
            and what the column is then.
    """
    of = {"contains_tax": tuple(tax), "contains_shipping": tuple(delivery)}
    named = [name for name, terms in of.items() if terms]
    found = []
    for contained in product((False, True), repeat=len(named)):
        with_parts = sums
        for name, inside in zip(named, contained, strict=True):
            with_parts = _with_part(with_parts, name, of[name], contained=inside)
        answers = dict(zip(named, contained, strict=True))
        for used in product((False, True), repeat=len(further)):
            chosen = list(zip(further, used, strict=True))
            terms = [term for (term, _), is_used in chosen if is_used]
            parts = {term.label: what if on else "none" for (term, what), on in chosen}
            found.append(PossibleReading(_with_further(with_parts, terms), answers, parts))
    return tuple(found)


def readings_of_few(sums: Sums) -> tuple[PossibleReading, ...]:
    """Sums that hardly a row proves, and the amount with what it may contain after all."""
    argument = "contains_tax" if sums.tax else "contains_shipping"
    parts = sums.tax or sums.delivery
    if not parts:
        return (PossibleReading(sums, {}, {}, alone=False),)
    less = [replace(term, sign=-term.sign) for term in parts]
    other = _with_goods(replace(sums, others=(), total=None), less)
    return (
        PossibleReading(sums, {argument: False}, {}),
        PossibleReading(other, {argument: True}, {}, alone=False),
    )


def _with_further(sums: Sums, terms: Sequence[Term]) -> Sums:
    """The sums with discounts and gift wrap, which are not in a total that does without them."""
    outside = () if sums.total is None else tuple(terms)
    return replace(_with_goods(sums, terms), outside=(*sums.outside, *outside))


def _with_goods(sums: Sums, terms: Sequence[Term]) -> Sums:
    by_order = sums.by_order or any(term.once or term.head for term in terms)
    return replace(sums, goods=(*sums.goods, *terms), by_order=by_order)


def _with_part(sums: Sums, name: str, terms: tuple[Term, ...], *, contained: bool) -> Sums:
    """The sums with a tax or a delivery that the amount contains, or not."""
    if name == "contains_tax":
        sums = replace(sums, tax=(*sums.tax, *terms))
    else:
        sums = replace(sums, delivery=(*sums.delivery, *terms))
    if contained:
        return _with_goods(sums, [replace(term, sign=-term.sign) for term in terms])
    by_order = sums.by_order or any(term.once or term.head for term in terms)
    outside = sums.outside if sums.total is None else (*sums.outside, *terms)
    return replace(sums, outside=outside, by_order=by_order)
