"""What the money columns of a file leave open, as questions in plain English."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from svc_tools.frames.orders.figures import terms_of
from svc_tools.tables.questions import Question

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from svc_tools.frames.orders.sums import Sums, Term

AmountArgument: TypeAlias = Literal["once", "contains_tax", "contains_shipping", "parts", "amount"]
"""The arguments that answer a question about money."""
Reason: TypeAlias = Literal[
    "level",
    "heads",
    "tax_outside",
    "delivery_outside",
    "tax_beside",
    "delivery_beside",
    "discount_beside",
    "few_rows",
    "odd_part",
    "second_part",
    "rivals",
    "several_amounts",
    "payments",
    "mixed_rates",
    "no_known_name",
    "near",
    "unexplained",
    "wrap_beside",
    "tip_beside",
]
"""Why something is asked."""
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Doubt:
    """One thing that the figures of a file leave open.

    Attributes:
        reason: why it is asked.
        argument: the argument that answers it.
        columns: the columns that it is about.
        values: the values of the argument that answer it.
        likely: the likeliest one; `None` where none is.
        sums: the sums that were found, where there are some.
        counts: rows that speak for one value or another, by what they are.
        by_rates: whether the rates of the file's places may still decide it.
    """

    reason: Reason
    argument: AmountArgument
    columns: tuple[Hashable, ...]
    values: tuple[object, ...]
    likely: object
    sums: Sums | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    by_rates: bool = False


def question_of_doubt(doubt: Doubt) -> Question:
    """What is open, as a question to the user."""
    return Question(
        role="amount",
        columns=doubt.columns,
        values=doubt.values,
        likely=doubt.likely,
        why=_why(doubt),
        argument=doubt.argument,
    )


def sums_in_words(sums: Sums) -> str:
    """Sums in words: "'Total' = 'Subtotal' - 'Discount' + 'Shipping' + 'Sales Tax'"."""
    terms = [term for _, term in terms_of(sums) if term not in sums.outside]
    if sums.total is None:
        terms = list(sums.goods)
    made = " ".join(_named(term, first=place == 0) for place, term in enumerate(terms))
    return made if sums.total is None else f"{sums.total.label!r} = {made}"


def _named(term: Term, *, first: bool) -> str:
    name = repr(term.label) if term.times is None else f"{term.label!r} x {term.times!r}"
    if first:
        return name if term.sign > 0 else f"-{name}"
    return f"{'+' if term.sign > 0 else '-'} {name}"


def _why(doubt: Doubt) -> str:
    """What was seen, as a sentence without a full stop."""
    first = doubt.columns[0]
    shown, more = doubt.columns[:_MOST_NAMED], len(doubt.columns) - _MOST_NAMED
    names = " and ".join(map(repr, shown)) + (f" and {more} more" if more > 0 else "")
    other = repr(doubt.columns[-1])
    total = repr(doubt.sums.total.label) if doubt.sums and doubt.sums.total else ""
    sums = "" if doubt.sums is None else sums_in_words(doubt.sums)
    rows = doubt.counts.get("rows", 0)
    is_or_are = "is" if len(doubt.columns) == 1 else "are"
    sentences: dict[Reason, str] = {
        "level": f"{names} {is_or_are} the same on all rows of an order, and the file does not show"
        " whether the figure is that of the order or that of each line",
        "heads": f"in {names} one row of an order holds the sum of its other rows, so adding them"
        " up would count the order twice",
        "tax_outside": f"{total} adds up without the tax in {other} ({sums}): the tax is either"
        f" contained in {first!r}, or was charged outside of {total}",
        "delivery_outside": f"{total} adds up without the delivery in {other} ({sums}): it is"
        f" either contained in {first!r}, or was charged outside of {total}",
        "tax_beside": f"the file does not show whether {first!r} contains the tax in {other}",
        "delivery_beside": "the file does not show whether"
        f" {first!r} contains the delivery in {other}",
        "discount_beside": f"the file does not show whether the discount in {first!r} is still to"
        f" be taken off {other}",
        "tip_beside": f"the file does not show whether {other} contains {first!r}, which is not"
        " taxed",
        "wrap_beside": f"the file does not show whether {other} contains {first!r}",
        "no_known_name": f"no column is named as an amount, and {first!r} holds amounts",
        "near": f"{other} adds up in most rows, and not in enough to be certain: something that has"
        f" no column is in it, such as a discount, and may be in {first!r} or not",
        "unexplained": f"no sum shows what {names} {is_or_are} made of",
        "few_rows": f"only {rows} distinct row{'s' * (rows != 1)} show that {sums}",
        "odd_part": f"{first!r} is part of {total}, and its name does not say whether it is taxed",
        "second_part": f"{total} adds up without {names} ({sums})",
        "rivals": f"more than one sum adds up to {total}, with different figures",
        "several_amounts": f"{names} are different amounts, and no sum shows which one is that of"
        " the goods",
        "payments": f"{first!r} stands beside fees and no tax, as payments do, which may contain"
        " tax and delivery",
        "mixed_rates": f"by the rates, {doubt.counts.get('yes', 0):,} rows of {first!r} contain"
        f" {other} and {doubt.counts.get('no', 0):,} do not",
    }
    return sentences[doubt.reason]
