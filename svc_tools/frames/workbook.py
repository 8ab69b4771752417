"""An enriched frame as an Excel workbook: a summary, every line, and what needs a person.

Cells hold values, never formulas that came from the data: a text that starts with `=`, `+`, `-`
or `@` stays text, also after somebody edits it. Missing is an empty cell, never 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.attention import attention
from svc_tools.frames.cells import Column, column_kind, open_book
from svc_tools.frames.enriched import (
    LOOKUP_COLUMNS,
    RATE_COLUMNS,
    TAX_COLUMNS,
    require_columns,
)
from svc_tools.frames.summary import summarize
from svc_tools.frames.summary_sheet import write_summary
from svc_tools.frames.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.attention import Flag
    from svc_tools.frames.summary import Summary

__all__ = ["write_workbook"]

_MOST_ROWS = 1_048_575  # a sheet's rows less the header
_MOST_COLUMNS = 16_384
_WIDEST, _WIDEST_WRAPPED = 64, 48  # characters
_MAIN = ("combined_rate", "tax", "lookup_status", "confidence", "warnings")
"""The columns of ours that stand first on the sheet Lines, and are printed."""


def write_workbook(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    summary: Summary | None = None,
    amount: Hashable = "amount",
    prefix: str = "",
) -> None:
    """Write an enriched frame as a workbook with the sheets Summary, Lines and Attention.

    The file appears whole or not at all. On the sheet Lines the user's columns come first, then
    rate, tax, status, confidence and warnings, then the details, which are not printed. Rates are
    numbers shown as per cent, money is shown with cents, dates are dates.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        path: where to write it, `.xlsx`; an existing file is replaced.
        summary: what `summarize(frame)` said, if you have it; otherwise it is made here.
        amount: the column of amounts that the tax was computed from.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up, does not fit on a sheet, or `path` does not
            end in `.xlsx`.
        FileNotFoundError: the folder does not exist.
    """
    path = Path(path)
    if path.suffix.lower() != ".xlsx":
        raise ValueError(f"path: {path.name!r} must end in .xlsx")
    if len(frame) > _MOST_ROWS or len(frame.columns) > _MOST_COLUMNS - 6:
        raise ValueError(
            f"a sheet holds {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns, the frame has"
            f" {len(frame):,} rows and {len(frame.columns):,} columns: write it in parts, or as"
            " CSV or Parquet"
        )
    require_columns(frame, (f"{prefix}lookup_status",), "look the rates up first: df.svc.lookup()")
    summary = summary or summarize(frame, amount=amount, prefix=prefix)
    flags = attention(frame, amount=amount, prefix=prefix)
    kinds = (
        {f"{prefix}{name}": "rate" for name in RATE_COLUMNS}
        | {f"{prefix}warnings": "wrapped"}
        | {f"{prefix}tax": "money", str(amount): "money"}
    )
    with whole_file(path) as draft, open_book(draft, title="Sales-tax rates") as book:
        write_summary(book.sheet("Summary"), summary)
        index = not isinstance(frame.index, pd.RangeIndex)  # which only counts the rows
        lines, details = _main_first(_columns(frame, kinds, index=index), prefix)
        book.sheet("Lines").table(
            [*lines, *details], len(frame), frozen_columns=1, printed=len(lines)
        )
        to_check = frame.iloc[[flag.position for flag in flags]]
        shown, _ = _main_first(_columns(to_check, kinds, index=index), prefix)
        shown = [column for column in shown if column.name != f"{prefix}warnings"]  # said in words
        book.sheet("Attention").table([*_flag_columns(flags), *shown], len(flags))


def _columns(frame: pd.DataFrame, kinds: Mapping[str, str], *, index: bool) -> list[Column]:
    """The frame's columns, after its index if that is wanted."""
    values: list[tuple[str, list[object]]] = []
    if index:
        for level in range(frame.index.nlevels):
            name = frame.index.names[level]
            label = "index" if name is None else str(name)
            values.append((label, frame.index.get_level_values(level).tolist()))
    for place, name in enumerate(frame.columns):
        values.append((str(name), frame.iloc[:, place].tolist()))
    return [_column(name, cells, kinds.get(name) or column_kind(cells)) for name, cells in values]


def _column(name: str, cells: Sequence[object], kind: str) -> Column:
    return Column(name, cells, kind, _WIDEST_WRAPPED if kind == "wrapped" else _WIDEST)


def _main_first(columns: Sequence[Column], prefix: str) -> tuple[list[Column], list[Column]]:
    """The user's columns with the main ones of ours after them; and the details of ours."""
    ours = {f"{prefix}{name}" for name in (*LOOKUP_COLUMNS, *TAX_COLUMNS)}
    main = [f"{prefix}{name}" for name in _MAIN]
    first = [column for column in columns if column.name not in ours]
    first += [column for name in main for column in columns if column.name == name]
    rest = ours.difference(main)
    return first, [column for column in columns if column.name in rest]


def _flag_columns(flags: Sequence[Flag]) -> list[Column]:
    return [
        _column("group", [flag.kind for flag in flags], "plain"),
        Column("needs_attention", [flag.reason for flag in flags], "wrapped", 50),
        Column("what_to_do", [flag.to_do for flag in flags], "wrapped", 40),
        # from 1, and 1 for the header
        _column("row_in_lines", [flag.position + 2 for flag in flags], "row"),
    ]
