"""Why rows have no tax: a reason by row, as the number of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pandas.api.extensions import ExtensionArray


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
