"""States of whose sales an export marks more than half as not taxable: a file may get that wrong.

Such a state is one line of a review, in a frame and in a file that is read in parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.lookup.row_states import states_of
from svc_tools.frames.review.codes import taxed_up
from svc_tools.frames.taxes.not_due import not_due_reasons
from svc_tools.frames.values.money import sums_by

if TYPE_CHECKING:
    from svc_tools.frames.added.enriched import Enriched


class UntaxedState(NamedTuple):
    """A state of whose sales most are marked as not taxable.

    Attributes:
        state: its code.
        rows: how many rows have such sales.
        cents: the tax that they would have.
    """

    state: str
    rows: int
    cents: int


class UntaxedStates:
    """Adds up sales, and what of them is marked as not taxable, by state."""

    def __init__(self) -> None:
        self._sums: dict[str, list[int]] = {}

    def add(self, rows: Enriched) -> None:
        """Add enriched rows; nothing where no export marks its lines."""
        if not rows.has("sale_amount", "sale_taxable") or not len(rows):
            return
        states, sales, taxable = states_of(rows), *map(rows.money, ("sale_amount", "sale_taxable"))
        known = ~(sales.missing | taxable.missing)
        known &= not_due_reasons(rows).where(lambda reason: not reason)
        sold = np.where(known, sales.cents, 0)
        untaxed = np.where(known, sold - taxable.cents, 0)
        tax = taxed_up(untaxed, rows.rates("combined_rate").units)
        marked, size = (untaxed != 0).astype(np.int64), len(states.values)
        each = [sums_by(states.codes, column, size) for column in (sold, untaxed, marked, tax)]
        for state, *sums in zip(states.values, *each, strict=True):
            added = self._sums.setdefault(state, [0, 0, 0, 0])
            self._sums[state] = [before + more for before, more in zip(added, sums, strict=True)]

    def found(self) -> list[UntaxedState]:
        """The states of whose sales more than half are marked."""
        return [
            UntaxedState(state, rows, tax)
            for state, (sold, untaxed, rows, tax) in self._sums.items()
            if state and sold > 0 and 2 * untaxed > sold
        ]
