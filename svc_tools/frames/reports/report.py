"""A report of an enriched frame as a file: a workbook, or a page for the browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.frames.reports.report_page import write_page
from svc_tools.frames.reports.workbook import write_workbook

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

__all__ = ["write_report"]


def write_report(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    amount: Hashable | None = None,
    title: str | None = None,
    prefix: str = "",
) -> Path:
    """Write a report; see `SvcAccessor.report`."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in {".html", ".htm"}:
        write_page(frame, path, amount=amount, title=title, prefix=prefix)
    elif suffix == ".xlsx":
        if find_spec("xlsxwriter") is None:
            raise ModuleNotFoundError(
                "workbooks need more: pip install 'svc-tax-tools[report]' (there is no XlsxWriter);"
                " a report as .html does without"
            )
        write_workbook(frame, path, amount=amount, title=title, prefix=prefix)
    else:
        given = f"ends in {path.suffix!r}" if path.suffix else "has no suffix"
        raise ValueError(
            f"path: {path.name!r} {given}; a report is a workbook (.xlsx) or a page (.html)"
        )
    return path
