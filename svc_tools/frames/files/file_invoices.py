"""Invoices whose lines lie in several chunks of a file: found by hashes, eight bytes an invoice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Crossing"]


class Crossing:
    """Finds the invoices that lie in more than one chunk.

    Two invoices of one hash may be taken for one that crosses: that costs time, never a figure,
    because what crosses is computed with all its lines by their real names.
    """

    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []
        self._crossing: np.ndarray | None = None

    def see(self, keys: pd.Series) -> None:
        """Take the invoices of a chunk in."""
        hashes, missing = _hashes(keys)
        self._seen.append(np.unique(hashes[~missing]))

    def rows(self, keys: pd.Series) -> np.ndarray:
        """Which rows of a chunk belong to an invoice that crosses; ask when all chunks are seen."""
        hashes, missing = _hashes(keys)
        crossing: np.ndarray = np.isin(hashes, self._all()) & ~missing
        return crossing

    def any(self) -> bool:
        """Whether any invoice crosses."""
        return bool(len(self._all()))

    def _all(self) -> np.ndarray:
        if self._crossing is None:
            every = np.concatenate(self._seen) if self._seen else np.empty(0, np.uint64)
            hashes, chunks = np.unique(every, return_counts=True)
            self._crossing = hashes[chunks > 1]
            self._seen = []
        return self._crossing


def _hashes(keys: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row, equal where the names could be meant as equal, and which have none."""
    codes, uniques = pd.factorize(keys)
    names = [_plain(name) for name in uniques.tolist()]
    each = np.fromiter(map(hash, names), np.int64, len(names))
    blank = np.array([name == "" for name in names], bool)  # 0 is a name
    return np.append(each, 0)[codes].view(np.uint64), np.append(blank, True)[codes]


def _plain(name: Hashable) -> Hashable:
    return name.strip() if isinstance(name, str) else name
