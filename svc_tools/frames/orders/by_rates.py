"""The rates as a witness: which reading of the amounts the collected tax is the rate of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.frames.orders.figures import OrderAmounts

_FEW_ARE_ENOUGH = 3
_HALF, _NEARLY_NONE = 0.5, 0.05
_ROOM = 9 * 10**12
"""Cents up to which a product with a rate fits 64 bits."""


@dataclass(frozen=True, slots=True)
class ByRates:
    """How many rows the rates prove of each reading.

    Attributes:
        best: the reading that the rates decide for; `None` where they do not.
        mixed: whether some rows fit one reading alone, and some another.
        taxed: the rows with a tax and a rate.
        fitting: the rows that fit each reading.
        alone: the rows that fit it alone.
    """

    best: int | None
    mixed: bool
    taxed: int
    fitting: tuple[int, ...]
    alone: tuple[int, ...]


def weigh_by_rates(
    readings: Sequence[OrderAmounts],
    rates: np.ndarray,
    freight: np.ndarray,
    parts: Sequence[np.ndarray] = (),
) -> ByRates:
    """Which reading the collected tax is the rate of, to the cent, however that cent is rounded.

    Args:
        readings: goods, delivery and tax of each row, by each way to read the file.
        rates: the rate of each row in units of 10^-5; 0 where none is known.
        freight: whether delivery is taxed there: 1, 0, or -1 where that is not known.
        parts: the rows with a discount, or another part that is not in every row: a reading must
            fit half of these too.
    """
    fits = np.array([_is_the_tax(reading, rates, freight) for reading in readings])
    taxed = np.any([(reading.tax != 0) & (rates > 0) for reading in readings], axis=0)
    fits &= taxed
    count = int(taxed.sum())
    fitting = fits.sum(axis=1)
    alike = [_alike(place, readings) for place in range(len(readings))]
    alone = np.array(
        [
            int((fits[place] & ~np.any(np.delete(fits, same, axis=0), axis=0)).sum())
            for place, same in enumerate(alike)
        ]
    )
    best = int(np.argmax(alone))
    others = [int(alone[place]) for place in range(len(readings)) if place not in alike[best]]
    elsewhere = max(others, default=0)
    decided = (
        count > 0
        and fitting[best] >= _HALF * count
        and (alone[best] >= _FEW_ARE_ENOUGH or _fits_nearly_all(fitting[best], alone[best], count))
        and elsewhere <= _NEARLY_NONE * alone[best]
        and all(_is_half_of(fits[best], taxed & rows) for rows in parts)
    )
    return ByRates(
        best if decided else None,
        not decided and int(alone[best]) > 0 and elsewhere > 0,
        count,
        tuple(map(int, fitting)),
        tuple(map(int, alone)),
    )


def _fits_nearly_all(fitting: int, alone: int, count: int) -> bool:
    """Whether a reading fits nearly all rows, so that a single one that fits no other is enough."""
    return alone > 0 and fitting >= (1 - _NEARLY_NONE) * count


def _is_half_of(fits: np.ndarray, rows: np.ndarray) -> bool:
    return int((fits & rows).sum()) >= _HALF * int(rows.sum())


def _is_the_tax(amounts: OrderAmounts, rates: np.ndarray, freight: np.ndarray) -> np.ndarray:
    """Whether the tax is the rate of the goods, with delivery where the state taxes it."""
    small = (np.abs(amounts.goods) + np.abs(amounts.delivery) <= _ROOM) & (
        np.abs(amounts.tax) <= _ROOM
    )

    def is_rate_of(amount: np.ndarray) -> np.ndarray:
        difference = np.where(small, amounts.tax, 0) * UNITS_PER_ONE
        difference -= np.where(small, amount, 0) * rates
        holds: np.ndarray = small & (np.abs(difference) < UNITS_PER_ONE) & (amount != 0)
        return holds

    alone, together = is_rate_of(amounts.goods), is_rate_of(amounts.goods + amounts.delivery)
    fits = ((freight != 1) & alone) | ((freight != 0) & together)
    usable: np.ndarray = fits & amounts.adds_up
    return usable


def _alike(place: int, readings: Sequence[OrderAmounts]) -> list[int]:
    """The readings with the figures of this one, itself too."""
    own = readings[place]
    return [
        other
        for other, rows in enumerate(readings)
        if np.array_equal(rows.goods, own.goods) and np.array_equal(rows.delivery, own.delivery)
    ]
