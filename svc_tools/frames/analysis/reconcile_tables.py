"""The tables of a reconciliation: its sums by state, by reason and by the user's own columns."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.analysis.compared import CLASSES, sum_columns, sums_of
from svc_tools.frames.analysis.difference_reasons import REASONS, reason_meaning
from svc_tools.frames.coded import Coded, combined
from svc_tools.frames.totals import dollars_by, money_column

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from svc_tools.frames.analysis.compared import Compared

__all__ = ["by_group", "by_reason", "by_state", "worst_rows"]


def by_state(compared: Compared, states: Coded) -> pd.DataFrame:
    """The sums by state, in the order of the codes; the rows of no known state come last."""
    sums = sums_of(compared, states.codes, len(states.values))
    there = [(state, one) for state, one in zip(states.values, sums, strict=True) if one.rows]
    there.sort(key=lambda pair: (not pair[0], pair[0]))
    names = pd.array([state or None for state, _ in there], dtype="str")
    return pd.DataFrame({"state": names, **sum_columns([one for _, one in there])})


def by_group(compared: Compared, keys: Mapping[Hashable, pd.Series]) -> pd.DataFrame:
    """The sums by the values of the keys; rows where a key is missing are a group, too."""
    factorized = [_factorized(column) for column in keys.values()]
    coded = [
        Coded(codes.astype(np.int64), tuple(map(str, range(len(values)))))
        for codes, values in factorized
    ]
    codes, cells = combined(coded)
    groups = pd.DataFrame(
        {
            label: pd.Series(values).take([int(cell[place]) for cell in cells]).array
            for place, (label, (_, values)) in enumerate(zip(keys, factorized, strict=True))
        }
    )
    sums = pd.DataFrame(sum_columns(sums_of(compared, codes, len(cells))))
    return pd.concat([groups, sums], axis=1)


def _factorized(column: pd.Series) -> tuple[np.ndarray, pd.Index | np.ndarray]:
    try:
        return pd.factorize(column, sort=True, use_na_sentinel=False)
    except TypeError:  # values of several kinds have no order: as they appear
        return pd.factorize(column, use_na_sentinel=False)


def by_reason(compared: Compared, reasons: Coded) -> pd.DataFrame:
    """Rows and dollars by class and reason: what differs first, the largest difference first."""
    size = len(CLASSES)
    of_rows, values = reasons
    codes = of_rows.astype(np.int64) * size + compared.classes
    wanted = len(values) * size
    rows = np.bincount(codes, minlength=wanted).tolist()
    sums = {
        name: dollars_by(codes, of, wanted)
        for name, of in (
            ("expected", compared.expected),
            ("collected", compared.collected),
            ("difference", compared.difference),
        )
    }
    place = {reason: number for number, reason in enumerate(REASONS)}
    differs = {CLASSES.index("over"), CLASSES.index("under")}

    def order(code: int) -> tuple[bool, Decimal, int, int, str]:
        reason, kind = divmod(code, size)
        known = place.get(values[reason].partition(":")[0], len(place))
        difference = sums["difference"][code] if kind in differs else None
        return kind not in differs, -abs(difference or Decimal()), kind, known, values[reason]

    there = sorted((code for code in range(wanted) if rows[code]), key=order)
    names = [values[code // size] for code in there]
    return pd.DataFrame(
        {
            "class": pd.array([CLASSES[code % size] for code in there], dtype="str"),
            "reason": pd.array(names, dtype="str"),
            "rows": np.array([rows[code] for code in there], np.int64),
            **{name: money_column([of[code] for code in there]) for name, of in sums.items()},
            "meaning": pd.array([reason_meaning(name) for name in names], dtype="str"),
        }
    )


def worst_rows(lines: pd.DataFrame, compared: Compared, count: int) -> pd.DataFrame:
    """The rows with the most dollars wrong; of equal ones the first."""
    weight = np.abs(np.where(compared.rows_of("over", "under"), compared.difference.cents, 0))
    weight += np.abs(np.where(compared.rows_of("not_due"), compared.collected.cents, 0))
    order = np.argsort(-weight, kind="stable")[:count]
    return lines.iloc[order[weight[order] > 0]]
