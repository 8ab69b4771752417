"""Files with a header: their rows by the names of the columns, whatever stands before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.errors import BrokenLine
from svc_tools.service.ratebook.imports.lines import csv_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["column_name", "rows_by_column"]


def column_name(text: str) -> str:
    """A column's name without its case and punctuation: `Effective_Date` is `effective date`."""
    return " ".join(re.split(r"[\s_]+", text.strip().casefold()))


def rows_by_column(
    text: str, name: str, needed: Collection[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Number and fields of every row behind the header.

    Args:
        text: the file.
        name: its name, for messages.
        needed: the columns the header must have, as `column_name` gives them.

    Raises:
        BrokenLine: a row has another number of columns than the header.
    """
    header: list[str] = []
    for number, fields in csv_lines(text, name):
        if not header:
            columns = [column_name(field) for field in fields]
            header = columns if set(needed) <= set(columns) else []
            continue
        extra = [field for field in fields[len(header) :] if field.strip()]
        if len(fields) < len(header) or extra:
            raise BrokenLine(name, number, f"{len(fields)} columns", f"{len(header)}")
        yield number, dict(zip(header, (field.strip() for field in fields), strict=False))
