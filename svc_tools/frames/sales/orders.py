"""Orders counted once, however many lines they have, in bounded memory: by hashes.

An order counts once for each state, day and channel that its lines lie in. Eight bytes are kept for
each order (up to 24 for a moment, when duplicates are removed). Of an order 41 bits are compared:
among 50,000 orders of one state, day and channel two are taken for one with a chance of 1 in 1,700.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.factorizing import factorized

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Orders", "hashes_of"]

_HASH_BITS = 41
_LEAST = 1 << 20
"""So many keys are waited for before duplicates are removed."""


def hashes_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A hash for each row's order (uint64), equal for equal names, and which rows name none."""
    if pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
        return _mixed(column.to_numpy(np.int64).view(np.uint64)), np.zeros(len(column), bool)
    codes, values = factorized(column, column.name)
    names = ["" if isinstance(one, float) and one != one else _name(one) for one in values]  # noqa: PLR0124 - NaN
    hashed = pd.util.hash_array(np.array([*names, ""], dtype=object), categorize=False)
    unnamed = np.array([*(not name for name in names), True])
    return hashed[codes], unnamed[codes]


def _name(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # as a missing cell makes of whole numbers
    return str(value).strip()


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers spread over 64 bits (the finaliser of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    spread: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return spread


class Orders:
    """The distinct orders of each group; a group is a number below 2 to the 23rd."""

    def __init__(self) -> None:
        self._keys: list[np.ndarray] = []
        self._waiting = 0
        self._settled = 0

    def see(self, groups: np.ndarray, hashes: np.ndarray) -> None:
        """Take rows in."""
        keys = groups.astype(np.uint64) << np.uint64(_HASH_BITS)
        keys |= hashes >> np.uint64(64 - _HASH_BITS)
        self._keys.append(keys)
        self._waiting += len(keys)
        if self._waiting > max(self._settled, _LEAST):
            self._settle()

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """The groups that have orders, and how many each has."""
        self._settle()
        groups = (self._keys[0] >> np.uint64(_HASH_BITS)).astype(np.int64)
        return np.unique(groups, return_counts=True)

    def _settle(self) -> None:
        every = _joined(self._keys)
        every.sort()
        first = np.ones(len(every), bool)
        np.not_equal(every[1:], every[:-1], out=first[1:])
        self._keys = [every[first]]
        self._waiting, self._settled = 0, len(self._keys[0])


def _joined(arrays: Iterable[np.ndarray]) -> np.ndarray:
    found = list(arrays)
    return np.concatenate(found) if found else np.empty(0, np.uint64)
