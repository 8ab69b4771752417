"""States of whose sales an export marks more than half as not taxable: a file may get that wrong.

Such a state is one line of a review, in a frame and in a file that is read in parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.added.rates import rates_of
from svc_tools.frames.money import money, sums_by
from svc_tools.frames.review_rows import taxed_up
from svc_tools.frames.taxes.not_due import not_due_of_rows

if TYPE_CHECKING:
    import pandas as pd

    from svc_tools.frames.arrow import Coded


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

    def add(self, frame: pd.DataFrame, states: Coded[str], prefix: str) -> None:
        """Add the rows of an enriched frame; nothing where no export marks its lines.

        Args:
            frame: the rows.
            states: the state of each.
            prefix: the prefix of the lookup.
        """
        names = (f"{prefix}sale_amount", f"{prefix}sale_taxable")
        if not {*names} <= {*frame.columns} or not len(frame):
            return
        sales, taxable = (money(frame, name) for name in names)
        known = ~(sales.missing | taxable.missing)
        known &= not_due_of_rows(frame, prefix).where(lambda reason: not reason)
        sold = np.where(known, sales.cents, 0)
        untaxed = np.where(known, sold - taxable.cents, 0)
        tax = taxed_up(untaxed, rates_of(frame, f"{prefix}combined_rate").units)
        rows, size = (untaxed != 0).astype(np.int64), len(states.values)
        each = [sums_by(states.codes, column, size) for column in (sold, untaxed, rows, tax)]
        for state, *sums in zip(states.values, *each, strict=True):
            added = self._sums.setdefault(state, [0, 0, 0, 0])
            self._sums[state] = [one + more for one, more in zip(added, sums, strict=True)]

    def found(self) -> list[UntaxedState]:
        """The states of whose sales more than half are marked."""
        return [
            UntaxedState(state, rows, tax)
            for state, (sold, untaxed, rows, tax) in self._sums.items()
            if state and sold > 0 and 2 * untaxed > sold
        ]
