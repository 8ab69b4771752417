"""The rows of a recognized export as sales: further rows of an order, addresses, amounts.

Nothing here changes what the user sees of a frame: `completed` fills the cells of a copy, from
which places, dates and amounts are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.exports import PLACE_ROLES
from svc_tools.places.place import text_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from svc_tools.exports import Export


def completed(frame: pd.DataFrame, export: Export, columns: Mapping[str, Hashable]) -> pd.DataFrame:
    """The frame with the place and the date of every row, as far as its export has them elsewhere.

    Where all columns of the place are empty, the billing address counts where the export has one
    that may; in a further row of an order, the place of the order's first row that has one. A date
    that is missing is that of the order.

    Args:
        frame: the rows; it is not changed.
        export: what they are an export of.
        columns: the column of each role that is read.
    """
    place = {role: columns[role] for role in PLACE_ROLES if role in columns}
    if not place or not all(label in frame.columns for label in place.values()):
        return frame
    empty = np.logical_and.reduce([_blank(frame[label]) for label in place.values()])
    done = frame
    billing = export.found_billing(frame.columns)
    if empty.any() and billing:
        done = done.copy(deep=False)
        for role, label in place.items():
            if role in billing:
                done[label] = _either(done[label], done[billing[role]], empty)
        empty &= np.logical_and.reduce([_blank(done[label]) for label in place.values()])
    order = export.found(frame.columns).get("order") if export.once else None
    if order is None:
        return done
    orders = pd.factorize(frame[order])[0]
    if empty.any():
        done = _of_order(done, [*place.values()], orders, empty)
    day = columns.get("as_of")
    if day is not None and day in frame.columns and (undated := _blank(frame[day])).any():
        done = _of_order(done, [day], orders, undated)
    return done


def _of_order(
    frame: pd.DataFrame, labels: list[Hashable], orders: np.ndarray, empty: np.ndarray
) -> pd.DataFrame:
    """The frame with the empty rows' cells taken from the first row of their order that has any."""
    first = _first_rows(orders, ~empty)
    rows = np.flatnonzero(empty & (orders >= 0))
    rows = rows[first[orders[rows]] >= 0]
    take = np.arange(len(frame))
    take[rows] = first[orders[rows]]
    done = frame.copy(deep=False)
    for label in labels:
        done[label] = frame[label].array.take(take)
    return done


def _first_rows(orders: np.ndarray, there: np.ndarray) -> np.ndarray:
    """For each order the first of its rows that is in the mask; -1 where none is."""
    first = np.full(int(orders.max(initial=-1)) + 2, -1)
    rows = np.flatnonzero(there & (orders >= 0))[::-1]
    first[orders[rows]] = rows  # the first one is written last
    return first


def _blank(column: pd.Series) -> np.ndarray:
    """Which rows have no value, or one of the words for none."""
    codes, values = pd.factorize(column)
    blank = np.array([*(text_of(value) is None for value in list(values)), True], bool)
    return blank[codes]


def _either(column: pd.Series, other: pd.Series, rows: np.ndarray) -> pd.Series:
    """The column, with the other one's values in these rows."""
    return column.astype(object).where(~rows, other.astype(object))
