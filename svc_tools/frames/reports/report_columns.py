"""The columns of an enriched frame as a report shows them: in which order, and in which form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from svc_tools.frames.enriched import (
    DETAIL_COLUMNS,
    LEVEL_TAX_COLUMNS,
    LOOKUP_COLUMNS,
    RANGE_COLUMNS,
    RATE_COLUMNS,
    TAX_COLUMNS,
    TAX_OPTION_COLUMNS,
)
from svc_tools.frames.reports.sheet_table import Column, column_kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from svc_tools.frames.reports.report_facts import Facts

__all__ = ["ReportColumns", "main_columns"]

_WIDEST, _WIDEST_WRAPPED = 64, 48  # characters
_MAIN = (
    "combined_rate",
    "tax",
    "at_stake",
    "tax_due",
    "lookup_status",
    "confidence",
    "warnings",
)
"""The columns of ours that stand first on the sheet Lines, and are printed."""
_MONEY = (
    *("tax", "taxable_amount", "exempt_amount", *LEVEL_TAX_COLUMNS),
    *("tax_low", "tax_high", "at_stake", "shipping_tax", "tax_due"),
)
_OURS = (*LOOKUP_COLUMNS, *DETAIL_COLUMNS, *TAX_COLUMNS, *TAX_OPTION_COLUMNS)


class ReportColumns(NamedTuple):
    """The frame's columns as the sheets show them: the main ones first."""

    main: list[Column]
    details: list[Column]

    @classmethod
    def of(cls, frame: pd.DataFrame, facts: Facts) -> ReportColumns:
        """The user's columns with the main ones of ours after them; and the details of ours."""
        prefix = facts.prefix
        kinds = _kinds(facts)
        ours = {f"{prefix}{name}": f"{prefix}{name}" in main_columns(prefix) for name in _OURS}
        columns = [
            _column(str(name), frame.iloc[:, place], kinds)
            for place, name in enumerate(frame.columns)
        ]
        first = [*_index_columns(frame), *(one for one in columns if one.name not in ours)]
        main = [one for name in main_columns(prefix) for one in columns if one.name == name]
        rest = [one for one in columns if ours.get(one.name) is False]
        return cls([*first, *main], rest)

    def named(self, name: Hashable) -> int | None:
        """The place of a column on the sheet Lines."""
        names = [column.name for column in (*self.main, *self.details)]
        return names.index(str(name)) if str(name) in names else None


def main_columns(prefix: str) -> list[str]:
    """The names of our main columns, in the order in which they are shown."""
    return [f"{prefix}{name}" for name in _MAIN]


def _kinds(facts: Facts) -> Mapping[str, str]:
    prefix = facts.prefix
    return (
        {f"{prefix}{name}": "rate" for name in (*RATE_COLUMNS, *RANGE_COLUMNS)}
        | {f"{prefix}{name}": "money" for name in _MONEY}
        | {f"{prefix}warnings": "wrapped", f"{prefix}looked_up_at": "utc"}
        | {f"{prefix}lookup_status": "indented"}  # it stands after a number
        | ({} if facts.amount is None else {str(facts.amount): "money"})
    )


def _index_columns(frame: pd.DataFrame) -> list[Column]:
    """The levels of an index that says something; one that only counts the rows does not."""
    if isinstance(frame.index, pd.RangeIndex):
        return []
    names = ["index" if name is None else str(name) for name in frame.index.names]
    return [
        _column(name, pd.Series(frame.index.get_level_values(level).array), {})
        for level, name in enumerate(names)
    ]


def _column(name: str, data: pd.Series, kinds: Mapping[str, str]) -> Column:
    kind = kinds.get(name) or column_kind(data)
    return Column(name, data, kind, _WIDEST_WRAPPED if kind == "wrapped" else _WIDEST)
