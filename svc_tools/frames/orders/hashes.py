"""Sets of 64-bit hashes, and cents by hash, that grow chunk by chunk."""

from __future__ import annotations

import numpy as np

NO_HASHES = np.zeros(0, np.uint64)


class Hashes:
    """A set of hashes that grows chunk by chunk."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []

    def add(self, *hashes: np.ndarray) -> None:
        """Add hashes."""
        self._parts += map(np.unique, hashes)

    @property
    def all(self) -> np.ndarray:
        """The hashes, sorted."""
        if len(self._parts) != 1:
            self._parts = [np.unique(np.concatenate([NO_HASHES, *self._parts]))]
        return self._parts[0]

    def has(self, hashes: np.ndarray) -> np.ndarray:
        """Which of these are in the set."""
        found: np.ndarray = np.isin(hashes, self.all)
        return found


class CentsByHash:
    """Cents by hash, of which those that come to nothing are forgotten."""

    def __init__(self) -> None:
        self._keys, self._cents = NO_HASHES, np.zeros(0, np.int64)

    def add(self, keys: np.ndarray, cents: np.ndarray) -> None:
        """Add cents to their keys."""
        self._keys, codes = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        added = np.zeros(len(self._keys), np.int64)
        np.add.at(added, codes, np.concatenate([self._cents, cents]))
        self._keys, self._cents = self._keys[added != 0], added[added != 0]

    def has(self, keys: np.ndarray) -> np.ndarray:
        """Which of these keys come to something."""
        found: np.ndarray = np.isin(keys, self._keys)
        return found


class MostByHash:
    """The largest cents by hash."""

    def __init__(self) -> None:
        self._keys, self._cents = NO_HASHES, np.zeros(0, np.int64)

    def add(self, keys: np.ndarray, cents: np.ndarray) -> None:
        """Take cents with their keys into account."""
        self._keys, codes = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        most = np.zeros(len(self._keys), np.int64)
        np.maximum.at(most, codes, np.concatenate([self._cents, cents]))
        self._cents = most

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The largest cents of each key; 0 where it is not known."""
        if not len(self._keys):
            return np.zeros(len(keys), np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._cents[at], 0)
