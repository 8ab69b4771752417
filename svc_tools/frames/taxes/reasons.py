"""Why rows have no tax, no tax due, or a tax that requires review: codes and reasons by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pandas.api.extensions import ExtensionArray

TAX_REVIEW = {
    "partial_rate": (
        "the tax was computed from a rate that lacks its local or district part: a lower bound"
    ),
    "freight_taxable_unknown": (
        "whether delivery is taxable there is not known: `tax_low` is without, `tax_high` with it"
    ),
    "over_cap": (
        "the amount is above what the local tax of that state applies to on one item (Florida"
        " $5,000, Tennessee $1,600): if this is one item, the local part is too high, and"
        " Tennessee has a state tax on single articles besides"
    ),
    "origin_sourced": (
        "shipped within a state that taxes such sales, in whole or in part, by where they are"
        " shipped from; the tax is that of where they are shipped to"
    ),
    "origin_unknown": (
        "the state that taxes sales within it by their origin is known, where this one was"
        " shipped from is not"
    ),
    "invoice_incomplete": (
        "other lines of the same invoice have no tax: it was rounded without them"
    ),
    "channel_unknown": "the sale's channel says neither direct nor marketplace",
    "marketplace_record_only": (
        "on the day of the sale the register covers the state by a marketplace record only, and"
        " the sale is not said to be a marketplace's: whether you owe its tax is to be decided"
    ),
}
"""The codes of `tax_review` and their meanings, in the order in which a cell lists them."""
TAX_DUE_REASONS = {
    "marketplace_facilitated": "the marketplace collects and pays the tax of this sale",
    "no_nexus": "the register has no record for the state of the sale",
    "not_registered_yet": "the sale is before the first record of its state begins",
    "registered_in_period": (
        "the state's first record begins within the period that was asked about"
        " (`as_of_grain`): whether the sale came before is not known"
    ),
    "state_unknown": "the answer names no state, so the register cannot be asked",
    "date_unknown": "the state's first record has a date, the sale has none",
    "channel_unknown": "whether a marketplace pays the tax is not known",
    "no_tax": "the tax itself is not known: `tax_error` says why",
}
"""The codes of `tax_due_reason`, why `tax_due` is missing; the first that applies counts."""


class Reasons:
    """The reason of each row, as the number of its text; 0 is no reason. The first one counts."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int32)
        self._texts: list[str | None] = [None]
        self._numbers: dict[str, int] = {}

    def add(self, rows: np.ndarray, text: str) -> None:
        """Give rows (a mask) a reason if they have none yet."""
        self.codes[rows & (self.codes == 0)] = self._number(text)

    def add_each(self, reasons: Mapping[int, str]) -> None:
        """Give rows a reason each, by position, if they have none yet."""
        if not reasons:
            return
        rows = np.fromiter(reasons.keys(), np.int64, len(reasons))
        numbers = np.fromiter(map(self._number, reasons.values()), np.int32, len(reasons))
        free = self.codes[rows] == 0
        self.codes[rows[free]] = numbers[free]

    def merge(self, later: Reasons) -> None:
        """Give rows another's reasons if they have none yet."""
        numbers = [0 if text is None else self._number(text) for text in later._texts]
        free = self.codes == 0
        self.codes[free] = np.array(numbers, np.int32)[later.codes[free]]

    @property
    def given(self) -> np.ndarray:
        """The mask of the rows that have one."""
        return self.codes > 0

    def column(self) -> ExtensionArray:
        """The reasons as a column of text, missing where there is none."""
        distinct: ExtensionArray = pd.array(self._texts, dtype="str")
        return distinct.take(self.codes)

    def most_frequent(self) -> tuple[str, int] | None:
        """The most frequent reason and its number of rows; of equally frequent ones the first."""
        counts = np.bincount(self.codes, minlength=len(self._texts))
        counts[0] = 0
        most = int(counts.argmax())
        text = self._texts[most]
        return None if text is None else (text, int(counts[most]))

    def _number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return number
