"""Columns of a frame as a table that `svc_tools.show.display` renders."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

from svc_tools.show.display import NOTHING, Table, TableColumn, exact_dollars, plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from _typeshed import DataclassInstance

    from svc_tools.show.display import Head


def table_of(
    title: str,
    frame: pd.DataFrame,
    columns: Sequence[tuple[Hashable, Head]],
    *,
    rows: int | None = None,
    labelled: str | None = None,
) -> Table:
    """Columns of a frame as a table.

    Args:
        title: the table's title.
        frame: the rows.
        columns: label in the frame and column of the table; prose is never cut.
        rows: how many rows to show, followed by the number of the others; all by default.
        labelled: the head of a first column with the index labels; none by default.
    """
    shown = frame if rows is None else frame.iloc[:rows]
    cells = [
        [str(value) if _is_prose(head) else _cell(value) for value in shown[label].tolist()]
        for label, head in columns
    ]
    if labelled is not None:
        cells.insert(0, [plain(label) for label in shown.index.tolist()])
    heads = [*([labelled] if labelled is not None else []), *(head for _, head in columns)]
    left_out = len(frame) - len(shown)
    return Table(
        heads,
        zip(*cells, strict=True),
        title,
        f"and {left_out:,} more" if left_out else None,
    )


def plain_rows(
    frame: pd.DataFrame, labels: Mapping[Hashable, str] | None = None
) -> list[dict[str, object]]:
    """Rows of a frame as plain values for a program; see `plain_value`.

    Args:
        frame: the rows.
        labels: by label, the name that each value has; by default all labels, as text.
    """
    names = {label: str(label) for label in frame.columns} if labels is None else labels
    columns = [map(plain_value, frame[label].tolist()) for label in names]
    return [dict(zip(names.values(), row, strict=True)) for row in zip(*columns, strict=True)]


def plain_fields(values: DataclassInstance) -> dict[str, object]:
    """The fields of a dataclass likewise, by name."""
    return {field.name: plain_value(getattr(values, field.name)) for field in fields(values)}


def plain_value(value: Any) -> object:  # noqa: ANN401 - a cell of any column
    """A value for a program: exact decimals are text, and what is missing is `None`."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return None
    return value if isinstance(value, str | int | bool) else str(value)


def _is_prose(head: Head) -> bool:
    return isinstance(head, TableColumn) and head.kind == "prose"


def _cell(value: Any) -> str:  # noqa: ANN401 - a cell of any column
    """The text of a cell: dollars with cents, counts with separators, a dash for missing."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return NOTHING
    if isinstance(value, Decimal):
        return exact_dollars(value) if value.as_tuple().exponent == -2 else str(value)  # noqa: PLR2004  # cents
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(value)
